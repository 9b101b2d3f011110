"""Layers at any lengths by closed forms: erf, GELU, exponentials, waves, shifted powers."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import numpy.typing as npt

from theory import activations, gaussian
from theory._cached import cached_property
from theory._recursion.row_maps import Pairs, RowMap, settled
from theory._recursion.rows import Index
from theory._recursion.spheres import homogeneity
from theory.activations import Activation, pair
from theory.activations.affine import split
from theory.duals import ArcCosine, Engine
from theory.duals import _closed_pairs as closed_pairs
from theory.grids import CLOSE

Array = npt.NDArray[np.float64]


TOGETHER = 2048
"""Pairs integrated together: their slopes at the nodes stay in cache."""

NOTHING = 48.0
"""Octaves of the angle at most."""


class Formula(Protocol):
    """Averages of an activation at pairs of lengths r and o, of shape (m,)."""

    def value(self) -> Array:
        """E s(u) s(v) / (r o)."""
        ...

    def slope(self) -> Array:
        """E s'(u) s'(v)."""
        ...

    def lost(self) -> Array:
        """Integrate the slopes over correlations from 1 - d to 1."""
        ...


@dataclass(frozen=True, eq=False)
class Integrated:
    """GELU: slopes are integrated over angles."""

    r: Array
    other: Array
    rho: Array
    d: Array

    @cached_property
    def _here(self) -> closed_pairs.GeluPairs:
        sine = self.d * (2.0 - self.d)
        return closed_pairs.GeluPairs.at(self.r, self.other, self.rho, sine)

    def value(self) -> Array:
        """E s(u) s(v) / (r o)."""
        return self._here.value()

    def slope(self) -> Array:
        """E s'(u) s'(v)."""
        return self._here.slope()

    def lost(self) -> Array:
        """Integrate the slopes over correlations from 1 - d to 1."""
        t = 2.0 * np.arcsin(np.sqrt(0.5 * self.d))
        out = np.zeros_like(t)
        for start in range(0, len(t), TOGETHER):
            part = slice(start, start + TOGETHER)
            r, other, some = self.r[part], self.other[part], t[part]
            # The slope varies over an angle of one over the lengths, and grows towards
            # zero like one over it at most: to beyond the last octave there is nothing.
            layers = float((some * np.maximum(r, other)).max())
            octaves = min(2.0 + math.log2(max(layers, 0.5)), NOTHING)
            edges = [0.0, *(2.0 ** -np.arange(max(1.0, octaves))[::-1])]
            for low, high in itertools.pairwise(edges):
                x, w = gaussian.composite(np.array([low, high]))
                u = x[:, None] * some
                sine = np.sin(u)
                here = closed_pairs.GeluPairs.at(r, other, np.cos(u), sine * sine)
                out[part] += some * (w @ (sine * here.slope()))
        return out


@dataclass(frozen=True, eq=False)
class Power:
    """s(r x) = r^m s(x): the dual of equal lengths times (r o)^m."""

    activation: Activation
    m: int
    r: Array
    other: Array
    rho: Array
    d: Array

    @cached_property
    def _engine(self) -> Engine:
        return pair(self.activation, self.activation)

    @cached_property
    def _size(self) -> Array | float:
        return 1.0 if self.m == 1 else (self.r * self.other) ** (self.m - 1)

    def value(self) -> Array:
        """E s(u) s(v) / (r o)."""
        out = self._engine.dual(self.rho)
        far = np.flatnonzero((self.rho < 0.0) & (self.d < 0.25))
        if isinstance(self._engine, ArcCosine) and len(far):
            # That of a step goes like the root of d, which rho has rounded.
            out[far] = self._engine.opposite(self.d[far])[0]
        return self._size * out

    def slope(self) -> Array:
        """E s'(u) s'(v)."""
        t = 2.0 * np.arcsin(np.sqrt(0.5 * self.d))
        angle = np.where(self.rho < 0.0, math.pi - t, t)
        return self._size * self._engine.slope(self.rho, angle)

    def lost(self) -> Array:
        """Integrate the slopes over correlations from 1 - d to 1."""
        return self._size * self._engine.distance(self.d)


FORMULAS: dict[Activation, Callable[..., Formula]] = {
    activations.erf: closed_pairs.ErrorFunctionPairs,
    activations.gelu: Integrated,
    activations.exp: closed_pairs.ExponentialPairs.at,
    activations.sin: partial(closed_pairs.WavePairs, True),  # noqa: FBT003
    activations.cos: partial(closed_pairs.WavePairs, False),  # noqa: FBT003
    activations.gaussian_bump: closed_pairs.BumpPairs,
}


def _formula(base: Activation) -> Callable[..., Formula] | None:
    m = homogeneity(base)
    return FORMULAS.get(base) if m is None else partial(Power, base, m)


def closed(activation: Activation) -> bool:
    """Whether the dual at unequal lengths is written with elementary functions."""
    return _formula(split(activation)[0]) is not None


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """An activation whose dual is known at any two lengths."""

    alone: RowMap

    def pairs(
        self, i: Index, j: Index, rho: Array, d: Array, *, tangent: bool
    ) -> Pairs:
        """Return correlations, their distances from +-1, and E s'(u) s'(v)."""
        alone = self.alone
        base, scale, shift = split(alone.activation)
        formula = _formula(base)
        assert formula is not None
        here = formula(alone.sizes[i], alone.sizes[j], rho, d)
        after = alone.over(i, j, (scale * scale) * here.value())
        if shift:
            # Means are of the sum of both.
            share = shift * np.exp(-alone.rows.high)
            rest = alone.means - share
            after += share[i] * alone.means[j] + rest[i] * share[j]
        delta = np.full_like(after, math.inf)
        near = np.flatnonzero((rho > 0.0) & (after > 1.0 - CLOSE))
        p, q = i[near], j[near]
        lost = formula(alone.sizes[p], alone.sizes[q], rho[near], d[near]).lost()
        lost = alone.over(p, q, (scale * scale) * lost)
        delta[near] = lost + alone.turned(p, q, lost)
        return *settled(after, delta), here.slope() * scale**2 if tangent else None
