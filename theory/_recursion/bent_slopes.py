r"""Slopes that bend and jump away from zero, as pieces and a rest without kinks.

The slope is :math:`s' = P + R` with P linear between the kinks (`bent_pieces`), which
carries the jumps of s' and of s'', and R analytic. With Hermite coefficients of both,

.. math:: E\,s'(r X)\, s'(o Y) = E\,P(r X)\, P(o Y)
   + \sum_k \rho^k \left(R_k(r) (R_k(o) + P_k(o)) + P_k(r) R_k(o)\right),

and the series ends as soon as R's own does, up to :math:`\rho = \pm 1`.
"""

import itertools
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from theory._chebyshev import chebyshev, nodes
from theory._recursion import bent_pieces
from theory._recursion.bent_pieces import Pieces
from theory._recursion.intervals import Interval
from theory._recursion.reaches import rule_of
from theory._recursion.row_series import BLOCK, STEPS, projections
from theory._recursion.rows import Index, Mask, distinct
from theory.activations import Activation
from theory.activations._engines import PARSEVAL

Array = npt.NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)

BESIDE = 20
"""Nodes next to a kink from which the limits there are extrapolated,"""

WIDTH = 0.5
"""within this distance at most, halved"""

HALVINGS = 16
"""so often until the last coefficients are little more than rounding:"""

SMOOTH = 1e-12
"""over the largest."""

STRAIGHT = 1e-10
"""Bends over the size of s'' around them that are rounding, and left to the rest."""

LAST = 2e-15
"""Last coefficients of a rest, over the root of E s'^2: a hundred more are multiplied by
those of P, which fall like k^(-3/4)."""

LARGER = 100.0
"""Energy of the pieces over that of the slope, at most, for their difference to be R."""

ROUNDED = 1e-11
"""Rounding of coefficients of P over the root of E s'^2 from which distances lose digits:
that of rows so long that P is nearly a step, and bends cancel."""

CANCELLED = 32.0
"""Terms over what they leave of a distance, at most."""

NODES = (32, 64, 128)
"""In log length; the rows themselves where they are fewer."""

TOGETHER = 16384
"""Pairs summed together: their temporaries stay in cache."""


def _limits(f: Activation, c: float, wide: float) -> Array | None:
    """Return value and slope of f at c from the side of c + wide, and the sizes of both.

    None if no stretch from c to there is short enough for f to be smooth on it.
    """
    order = np.arange(BESIDE)
    y = nodes(BESIDE)
    for _ in range(HALVINGS):
        a = chebyshev(BESIDE) @ f._value(c + (0.5 * wide) * (1.0 - y))
        size = np.abs(a).max()
        if np.abs(a[-3:]).max() <= SMOOTH * size:
            # Beyond the last that is more than rounding derivatives magnify noise.
            kept = np.flatnonzero(np.abs(a) >= 4.0 * EPS * size)[-1] + 1
            a, rates = a[:kept], (-2.0 / wide) * np.square(order[:kept])
            return np.array([a.sum(), a @ rates, size, np.abs(a) @ np.abs(rates)])
        wide *= 0.5
    return None


@lru_cache(maxsize=64)
def pieces_of(activation: Activation) -> Pieces | None:
    """Return the steps and bends of the slope; None if it has no limits at a kink."""
    kinks = np.sort(activation.kinks)
    gaps = np.diff(kinks, prepend=-np.inf, append=np.inf)
    steps, bends = list[float](), list[float]()
    for c, *wide in zip(kinks.tolist(), gaps[:-1], gaps[1:], strict=True):
        left, right = (
            _limits(activation.derivative, c, sign * min(WIDTH, gap))
            for sign, gap in zip((-1.0, 1.0), wide, strict=True)
        )
        if left is None or right is None:
            return None
        step, bend = (right - left)[:2].tolist()
        size, steepness = np.maximum(left, right)[2:].tolist()
        steps.append(step if abs(step) > 8.0 * EPS * size else 0.0)
        bends.append(bend if abs(bend) > STRAIGHT * steepness else 0.0)
    if not any(steps) and not any(bends):
        return None
    return Pieces(tuple(kinks.tolist()), tuple(steps), tuple(bends))


@lru_cache(maxsize=256)
def orders(activation: Activation, r: float) -> int | None:
    """Return how many orders the rest's series has at a length, None if it does not end."""
    pieces = pieces_of(activation)
    found = None if pieces is None else _rest(activation, pieces, np.array([r]))
    return None if found is None else len(found[0])


def _rest(
    activation: Activation, pieces: Pieces, r: Array
) -> tuple[Array, float] | None:
    """Return E R(r Z) h_k(Z), (orders, n), and the root of the largest E s'(r Z)^2.

    None if the series does not end.
    """
    for order, step in STEPS:
        z, weight = rule_of(activation, np.array([r.min(), r.max()]), step)
        x = r[:, None] * z
        f, p = activation.derivative._value(x), pieces(x)
        rest = f - p
        rest[np.abs(rest) <= 16.0 * EPS * (np.abs(f) + np.abs(p))] = 0.0
        size, missed = (f * f) @ weight, (rest * rest) @ weight
        if np.any((p * p) @ weight > LARGER * size):
            return None

        def last(c: Array, size: Array = size, missed: Array = missed) -> bool:
            missed -= np.square(c).sum(axis=0)
            # Energy beyond a block of zeros is missing from the whole.
            ended = np.abs(c[-len(c) // 2 :]).max(axis=0) <= LAST * np.sqrt(size)
            return bool(np.all(ended & (np.abs(missed) <= PARSEVAL * size)))

        found, ended = projections(z, weight, rest, order, 0, last)
        if ended:
            return found, float(np.sqrt(size.max()))
    return None


@dataclass(frozen=True, eq=False)
class BentSlopes:
    """Slopes of one layer's rows of lengths r (n,), in pieces and a rest.

    The rest by Hermite coefficients (orders, m), and the rows' shares of these (m, n).
    """

    pieces: Pieces
    r: Array
    coefficients: Array
    basis: Array

    @classmethod
    def of(cls, activation: Activation, logs: Array) -> "BentSlopes | None":
        """Split the slope at log lengths (n,); None if it is not made of these two."""
        pieces = pieces_of(activation)
        if pieces is None:
            return None
        interval, r = Interval(float(logs.min()), float(logs.max())), np.exp(logs)
        for n in NODES:
            few = n >= len(logs)
            found = _rest(activation, pieces, r if few else np.exp(interval.nodes(n)))
            if found is None:
                return None
            c, size = found
            if few:
                return cls(pieces, r, c, np.eye(len(logs)))
            c = c @ chebyshev(n).T
            if np.abs(c[:, -3:]).max() <= LAST * size:
                return cls(pieces, r, c, interval.basis(logs, n).T)
        return None

    def integrals(
        self, i: Index, j: Index, rho: Array, d: Array, size: Array
    ) -> tuple[Array, Array, Array, Mask]:
        """Return integrals of S over [0, rho] and to the nearer end, S, and which hold.

        `size` is that of S. Those do not hold whose terms cancel, in the pieces or in their
        coefficients.
        """
        *parts, cancels = bent_pieces.integrals(
            self.pieces, self.r[i], self.r[j], rho, d
        )
        for start in range(0, len(rho), TOGETHER):
            at = slice(start, start + TOGETHER)
            more = self._summed(i[at], j[at], rho[at], d[at])
            for whole, part in zip(parts, more, strict=True):
                whole[at] += part
        inner, lost, slope = parts
        kept = np.where(rho > 0.0, np.abs(lost), d * size)
        # Coefficients of P are sums over kinks of its bends times r.
        bent = EPS * np.abs(self.pieces.bends).sum() * np.maximum(self.r[i], self.r[j])
        holds = (cancels <= CANCELLED * kept) & (bent <= ROUNDED * np.sqrt(size))
        return inner, lost, slope, holds

    def _summed(
        self, i: Index, j: Index, rho: Array, d: Array
    ) -> tuple[Array, Array, Array]:
        """Return the same of what the rest adds."""
        rows, (i, j) = distinct(len(self.r), i, j)
        basis, bents = self.basis[:, rows], self.pieces.orders(self.r[rows])
        inner, lost, slope = np.zeros((3, len(rho)))
        sign = np.where(rho < 0.0, -1.0, 1.0)
        power, ends, sums = np.ones_like(rho), np.ones_like(rho), np.zeros_like(rho)
        count = itertools.count(1)
        for start in range(0, len(self.coefficients), BLOCK):
            for rest in self.coefficients[start : start + BLOCK] @ basis:
                k, bent = next(count), next(bents)
                # 1 + |rho| + ... + |rho|^(k - 1) = (1 - |rho|^k) / d.
                sums *= 1.0 - d
                sums += 1.0
                theirs = rest[j]
                term = rest[i] * (theirs + bent[j]) + bent[i] * theirs
                slope += power * term
                term /= k
                lost += ends * sums * term
                power *= rho
                inner += power * term
                ends *= sign
        return inner, d * lost, slope
