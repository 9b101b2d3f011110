"""Kernels of nearly parallel inputs of a few lengths, of short ones beside a long one.

The pairs are rows of one matrix; the measured side knows each pair alone, by
`verify.claims.deep_conditioning.kernels._pairs` or by sums over a lattice in the plane.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from theory import activations as act
from theory import kernels
from verify.claim import numeric
from verify.claims._predictors import mistake, plus
from verify.claims.deep_conditioning._sources import quoted
from verify.claims.deep_conditioning._subjects import subject
from verify.claims.deep_conditioning.kernels import _pairs as pairs
from verify.compare import AgreesTo, Array

_TRIED = ((0, 1), (0, 2), (1, 4), (2, 5), (0, -1), (-2, -1))
"""Pairs of rows that are measured: of one length or two, and with the last row."""

# --- the measured side ------------------------------------------------------------------


@dataclass(frozen=True)
class _Lattice:
    """x / (1 + e^-x), summed over a lattice of independent standard Gaussians.

    Its poles are pi from the real line: pi / 14 of rows of length 14. Steps of 1/40 leave
    e^(-2 pi 40 pi / 14) = 1e-24.
    """

    step: float = 1 / 40
    reach: float = 9.0

    def _sum(self, p: Any, q: Any, k: Any) -> tuple[float, float]:
        one, two, both = float(p), float(q), float(k)
        z = np.arange(-self.reach, self.reach, self.step)
        weights = self.step * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        u = math.sqrt(one) * z[:, None]
        across = both / math.sqrt(one)
        v = across * z[:, None] + math.sqrt(max(two - across**2, 0.0)) * z
        each = zip(_silu(u), _silu(v), strict=True)
        value, slope = (float(weights @ (f * g) @ weights) for f, g in each)
        return value, slope

    def mean(self, p: Any) -> float:
        """E s(u)."""
        z = np.arange(-self.reach, self.reach, self.step)
        density = self.step * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        return float(density @ _silu(math.sqrt(float(p)) * z)[0])

    def one(self, p: Any) -> pairs.Moments:
        """E s(u)^2 and E s'(u)^2."""
        return self._sum(p, p, p)

    def two(self, p: Any, q: Any, k: Any) -> pairs.Moments:
        """E s(u) s(v) and E s'(u) s'(v)."""
        return self._sum(p, q, k)


def _silu(x: Array) -> tuple[Array, Array]:
    """Return the function and its slope."""
    share = 1.0 / (1.0 + np.exp(-x))
    return x * share, share + x * share * (1.0 - share)


@dataclass(frozen=True)
class _Affine:
    """A law of a multiple of a function and a constant."""

    law: pairs.Law
    scale: float
    shift: float

    def mean(self, p: Any) -> Any:
        """E s(u)."""
        return self.scale * self.law.mean(p) + self.shift

    def one(self, p: Any) -> pairs.Moments:
        """E s(u)^2 and E s'(u)^2."""
        return self.two(p, p, p)

    def two(self, p: Any, q: Any, k: Any) -> pairs.Moments:
        """E s(u) s(v) and E s'(u) s'(v)."""
        value, slope = self.law.one(p) if p == q == k else self.law.two(p, q, k)
        means, square = (
            self.scale * (self.law.mean(p) + self.law.mean(q)),
            self.scale**2,
        )
        return square * value + self.shift * (means + self.shift), square * slope


def _law(name: str, scale: float, shift: float) -> pairs.Law:
    law = _Lattice() if name == "silu" else pairs.LAWS[name]
    return _Affine(law, scale, shift) if (scale, shift) != (1.0, 0.0) else law


def _inputs(
    *,
    lengths: list[float],
    count: int,
    cone: float,
    far: list[float],
    mirrored: bool = False,
) -> Array:
    """Rows of lengths by turns, in a cone or its mirror image, and a fan across it."""
    rng = np.random.default_rng(31)
    rows = cone * rng.standard_normal((count, 3)) + np.array([1.0, 0.0, 0.0])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows *= np.resize(lengths, count)[:, None]
    if mirrored:
        rows[2::3] *= -1.0
    turns = enumerate(far)
    fan = [[v * math.sin(0.3 * k), v * math.cos(0.3 * k), 0.0] for k, v in turns]
    return np.vstack([rows, np.array(fan)])


@lru_cache(maxsize=32)
def _states(
    name: str, affine: tuple[float, float], depth: int, rows: Any
) -> list[pairs.State]:
    x, law = np.array(rows), _law(name, *affine)
    starts = (pairs.start(x[i].tolist(), x[j].tolist()) for i, j in _TRIED)
    return [pairs.recursion(law, s, depth)[-1] for s in starts]


def _measure(
    *,
    name: str,
    depth: int,
    scale: float = 1.0,
    shift: float = 0.0,
    **inputs: Any,
) -> list[Any]:
    rows = tuple(map(tuple, _inputs(**inputs).tolist()))
    found = _states(name, (scale, shift), depth, rows)
    every = [state[which] for which in (0, 1) for state in found]
    return [entry for products in every for entry in pairs.entries(*products)]


# --- the predicted side -----------------------------------------------------------------


def _predict(
    *,
    name: str,
    depth: int,
    scale: float = 1.0,
    shift: float = 0.0,
    **inputs: Any,
) -> list[Any]:
    a = subject(name)
    a = act.Affine(a, scale, shift) if (scale, shift) != (1.0, 0.0) else a
    both = kernels.nngp_ntk(_inputs(**inputs), a, depth)
    squares = (k[np.ix_([i, j], [i, j])] for k in both for i, j in _TRIED)
    return [entry for square in squares for entry in pairs.entries_of(square)]


# --- the claims -------------------------------------------------------------------------


def _case(name: str, lengths: list[float], **more: Any) -> dict[str, Any]:
    given = {"count": 40, "cone": 0.07, "far": lengths[:1], "depth": 1, **more}
    return {"name": name, "lengths": lengths, **given}


_CASES = (
    # A few lengths whose kinks meet at different places.
    _case("relu6", [20.0, 20.07, 20.13, 20.2], mirrored=True),
    _case("hard_tanh", [2.0, 2.007, 2.013, 2.02], mirrored=True),
    # All before the only kink, of a function that bends there.
    _case("ramp at 1/4", [0.1, 0.12], cone=0.25, count=6),
    # So close that both ends lose only a part of the whole.
    _case("relu6", [2.0, 2.2], cone=0.01, count=60, mirrored=True),
    # A constant that brings rows together: what they differ by takes an integral.
    _case("selu", [1.0, 1.1], shift=3.0, count=6, cone=0.25, depth=2),
    # Multiples of waves, off their middle: on both sides of length one, and so close that
    # a layer that loses digits of a distance shows ten layers later.
    *(
        _case(name, lengths, shift=0.5, count=6, far=[0.9], **more)
        for name in ("sin", "cos")
        for lengths, more in (
            ([0.9, 0.91, 1.1], {"scale": -1.5, "cone": 0.02, "depth": 2}),
            ([1.0, 1.0001], {"scale": 3.0, "cone": 1e-4, "depth": 10}),
        )
    ),
    # Slopes in pieces and a rest, of which nothing is left for rows far beyond the kinks.
    _case("hard_swish", [4.0, 5.0, 6.0], far=[4e3, 3e3], count=10, cone=0.01),
    # And of which rounding is left, next to nothing apart.
    _case("hard_swish", [4.0, 5.0, 6.0], far=[4e5, 3e5], count=10, cone=1e-6),
    # Slopes that tables of short rows know, and of a long one do not.
    _case("silu", np.linspace(7.0, 7.5, 30).tolist(), far=[14.0], cone=0.01, count=30),
    # Lengths that no single table resolves; those of neighbouring rows are decades apart.
    _case(
        "silu", np.geomspace(1e-12, 2.0, 10)[7 * np.arange(10) % 10].tolist(), count=10
    ),
)

FEW_LENGTHS = numeric(
    id="dc/eq1-few-lengths",
    items=("Eq1", "Eq7", "D.0"),
    title="Both kernels of nearly parallel inputs of a few lengths, also decades apart",
    statement=r"K_{ij} = \mathbb{E}[\sigma(u) \sigma(v)], \quad"
    r" T_{ij} = K_{ij} + x_i \cdot x_j\, \mathbb{E}[\sigma'(u) \sigma'(v)]",
    assumptions=(
        "one hidden layer; of more of them each does the same",
        "rows in a narrow cone or its mirror image, and a few across it",
    ),
    source=quoted("Equations 1 and 7, Appendix D"),
    cases=_CASES,
    predict=_predict,
    measure=_measure,
    # The library's promise: 1e-12 of the diagonal. Of opposite rows one more than the
    # entry between, over the diagonal, is near nothing: there it is absolute.
    compare=AgreesTo(relative=1e-12, absolute=1e-12),
    # Of fewer rows, which are the same.
    must_refute=mistake("One layer too many.", depth=plus(1), count=6),
    uses=("dc/eq1-crowd",),
    version=2,
)
