"""Layers of the error function and of GELU at any lengths, by their closed forms."""

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from theory import activations, gaussian
from theory._row_maps import Pairs, RowMap, settled
from theory._rows import Index, LogLengths
from theory.activations import Activation, Affine
from theory.duals import _closed_pairs as closed_pairs
from theory.grids import CLOSE

Array = npt.NDArray[np.float64]

FORMULAS: dict[Activation, closed_pairs.Formula] = {
    activations.erf: closed_pairs.ErrorFunction,
    activations.gelu: closed_pairs.Gelu,
}


def _split(activation: Activation) -> tuple[Activation, float, float]:
    """Return b, c and h of c b(x) + h."""
    a = activation
    return (a.base, a.scale, a.shift) if isinstance(a, Affine) else (a, 1.0, 0.0)


def closed(activation: Activation) -> bool:
    """Whether the dual at unequal lengths is written with elementary functions."""
    return _split(activation)[0] in FORMULAS


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """An activation whose dual is known at any two lengths."""

    activation: Activation
    before: LogLengths

    @cached_property
    def _alone(self) -> RowMap:
        return RowMap(self.activation, self.before)

    @property
    def rows(self) -> LogLengths:
        """Log lengths after the activation."""
        return self._alone.rows

    @property
    def slopes(self) -> Array:
        """E s'(r Z)^2 of each row."""
        return self._alone.slopes

    @cached_property
    def _formula(self) -> tuple[closed_pairs.Formula, float, float]:
        base, scale, shift = _split(self.activation)
        return FORMULAS[base], scale, shift

    def pairs(
        self, i: Index, j: Index, rho: Array, d: Array, *, tangent: bool
    ) -> Pairs:
        """Return correlations, their distances from +-1, and E s'(u) s'(v)."""
        formula, scale, shift = self._formula
        alone = self._alone
        r, o, sine = alone.sizes[i], alone.sizes[j], d * (2.0 - d)
        factor = (scale * scale) * (alone.factors[i] * alone.factors[j])
        after = factor * formula.value(r, o, rho, sine)
        if shift:
            # Means are of the sum of both.
            share = shift * np.exp(-alone.rows.high)
            rest = alone.means - share
            after += share[i] * alone.means[j] + rest[i] * share[j]
        delta = np.full_like(after, math.inf)
        near = np.flatnonzero((rho > 0.0) & (after > 1.0 - CLOSE))
        delta[near] = factor[near] * self._lost(r[near], o[near], d[near])
        delta[near] += alone.turned(i[near], j[near])
        slope = formula.slope(r, o, rho, sine) * scale**2 if tangent else None
        return *settled(after, delta), slope

    def _lost(self, r: Array, other: Array, d: Array) -> Array:
        """Integral of the slopes over correlations from 1 - d to 1."""
        if not len(d):
            return d
        t = 2.0 * np.arcsin(np.sqrt(0.5 * d))
        x, w = gaussian.legendre(16)
        # The slope varies over an angle of one over the lengths.
        layers = float((t * np.maximum(r, other)).max())
        octaves = np.arange(max(1.0, 2.0 + math.log2(max(layers, 0.5))))
        edges = [0.0, *(2.0 ** -octaves[::-1])]
        out = np.zeros_like(t)
        for low, high in itertools.pairwise(edges):
            for node, weight in zip(x, w, strict=True):
                u = t * (low + 0.5 * (high - low) * (1.0 + node))
                sine = np.sin(u)
                slope = self._formula[0].slope(r, other, np.cos(u), sine * sine)
                out += 0.5 * (high - low) * weight * t * sine * slope
        return out
