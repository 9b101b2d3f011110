r"""Slopes at pairs of a few lengths by Hermite series, away from rho = +-1.

With :math:`b_k(r) = E\,s'(r Z) h_k(Z)` and :math:`p_k = b_k(r)\, b_k(o)`,

.. math::

   S = \sum_k p_k \rho^k, \qquad
   \int_0^\rho S = \rho \sum_k \frac{p_k}{k + 1} \rho^k, \qquad
   \int_\rho^1 S = \frac{\mathrm{Cov}(s(r Z), s(o Z))}{r o} - \int_0^\rho S,

whatever the kinks: an order of 40 over :math:`-\log|\rho|` leaves nothing, and of the
difference at least 1/256 is left.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import gaussian
from theory._recursion.reaches import rule_of
from theory._recursion.rows import Index, Mask, distinct
from theory.activations import Activation
from theory.activations._engines import PARSEVAL

Array = npt.NDArray[np.float64]

CLASSES = ((0.23, 150), (0.06, 640), (0.0156, 2560), (0.0039, 10240))
"""Distances from +-1 and the order from which powers of rho are below 1e-17. The last is
for lengths at which no series ends: others have tables there."""

STEPS = ((640, 0.5), (2560, 0.25), (10240, 0.125))
"""Orders up to which panels of some width resolve the polynomials, which turn sqrt(order)
times in a unit."""

ROWS = 64
"""Lengths that share a quadrature, whose panels end at the kinks of all."""

ROUNDING = 1e-17
"""Coefficients that are left out."""

CANCELLED = 1e12
"""Energy of slopes times r^2, over that of the function, from which this is projected."""

ORDERS = 40.0
"""Over -log|rho|: the order from which powers of rho are below 1e-17."""

TOGETHER = 4096
"""Pairs summed together: their temporaries stay in cache."""


BLOCK = 64
"""Polynomials integrated together."""

NOTHING = 1e-19
"""Energy of a coefficient, over the whole, that counts as none."""


@dataclass(frozen=True, eq=False)
class RowSeries:
    """Coefficients of a few rows, b_k / sqrt(k + 1)."""

    activation: Activation
    r: Array
    coefficients: Array  # (order + 1, n)
    ended: Mask  # (n,): those that nothing follows

    @classmethod
    def none(cls, activation: Activation, r: Array) -> "RowSeries":
        """Rows of lengths r (n,) before anything is integrated."""
        return cls(activation, r, np.zeros((1, len(r))), np.zeros(len(r), dtype=bool))

    def raised(self, rows: Index, order: int) -> "RowSeries":
        """Return all with some rows up to an order, or to their end before it."""
        rows = rows[~self.ended[rows]]
        if not len(rows):
            return self
        found = [
            _series(self.activation, self.r[rows[start : start + ROWS]], order)
            for start in range(0, len(rows), ROWS)
        ]
        most = max(len(self.coefficients), *(len(c) for c, _ in found))
        out = np.zeros((most, len(self.r)))
        out[: len(self.coefficients)] = self.coefficients
        ended = self.ended.copy()
        for start, (c, end) in zip(range(0, len(rows), ROWS), found, strict=True):
            here = rows[start : start + ROWS]
            out[:, here] = 0.0
            out[: len(c), here] = c
            ended[here] = end
        return RowSeries(self.activation, self.r, out, ended)

    def whole(self, i: Index, j: Index) -> Array:
        """Return the integrals of S over [0, 1]."""
        out = np.empty(len(i))
        block = (i // ROWS) * len(self.r) + j // ROWS
        for k in np.unique(block):
            at = np.flatnonzero(block == k)
            rows, (p, q) = distinct(len(self.r), i[at], j[at])
            r = self.r[rows]
            z, w = rule_of(self.activation, r)
            s = self.activation._value(r[:, None] * z)
            s -= (s @ w)[:, None]
            both = ((s * w) @ s.T) / np.outer(r, r)
            out[at] = both[p, q]
        return out

    def integrals(
        self, i: Index, j: Index, rho: Array, d: Array
    ) -> tuple[Array, Array]:
        """Return the integrals of S over [0, rho], and S."""
        zero, slope = np.empty_like(rho), np.empty_like(rho)
        rest = np.argsort(d)
        for start in range(0, len(rest), TOGETHER):
            at = rest[start : start + TOGETHER]
            # The nearest pair needs most orders.
            most = math.ceil(ORDERS / -math.log1p(-min(float(d[at[0]]), 0.5)))
            zero[at], slope[at] = self._summed(i[at], j[at], rho[at], most)
        return zero, slope

    def _summed(self, i: Index, j: Index, rho: Array, most: int) -> tuple[Array, Array]:
        zero, slope = np.zeros_like(rho), np.zeros_like(rho)
        p, right = np.empty_like(rho), np.empty_like(rho)
        for k in range(min(len(self.coefficients), most) - 1, -1, -1):
            row = self.coefficients[k]
            row.take(i, out=p, mode="clip")
            row.take(j, out=right, mode="clip")
            p *= right
            zero *= rho
            zero += p
            p *= k + 1.0
            slope *= rho
            slope += p
        zero *= rho
        return zero, slope


def _series(activation: Activation, r: Array, order: int) -> tuple[Array, bool]:
    """Return b_k / sqrt(k + 1) of at most an order, and whether nothing follows."""
    c, ended = np.zeros((0, len(r))), False
    for most in sorted({min(most, order) for most, _ in STEPS}):
        # The series of a kink do not end.
        if not ended and (most == order or not activation.kinks):
            c, ended = _coefficients(activation, r, most)
    energy = np.square(c) * np.arange(1.0, len(c) + 1.0)[:, None]
    if not np.isfinite(energy).all():
        return c, ended
    # Of each row: those of a long one may end, and be far larger than a short one's.
    counts = energy > NOTHING * energy.max(axis=0, initial=1e-300)
    last = np.flatnonzero(counts.any(axis=1))
    return c[: int(last[-1]) + 1 if last.size else 1], ended


def _coefficients(activation: Activation, r: Array, order: int) -> tuple[Array, bool]:
    """Return b_k / sqrt(k + 1), (orders, n), and whether nothing follows."""
    step = next(step for most, step in STEPS if order <= most)
    z, weight = rule_of(activation, r, step)
    x = r[:, None] * z
    f = activation._value(x) / r[:, None]
    f -= (f @ weight)[:, None]
    smooth = math.isfinite(activation.derivative_second_moment)
    if smooth:
        slope = activation.derivative._value(x)
        # Of what falls at long lengths slopes cancel to little: they have its rounding.
        energy, own = ((v * v) @ weight for v in (slope, f))
        smooth = bool(np.all(energy <= CANCELLED * own))
        f = slope if smooth else f
    whole = (f * f) @ weight
    found = np.zeros(len(r))

    def last(c: Array) -> bool:
        energy = np.square(c)
        found[:] += energy.sum(axis=0)
        # Energy beyond a block of zeros is missing from the whole.
        missed = np.abs(whole - found) > PARSEVAL * whole
        nothing = np.all(energy[-BLOCK // 2 :] <= NOTHING * found)
        return bool(nothing) and not missed.any()

    out, ended = projections(z, weight, f, order, 0 if smooth else 1, last)
    if smooth:
        out /= np.sqrt(np.arange(1.0, len(out) + 1.0))[:, None]
    return out, ended


def projections(
    z: Array,
    weight: Array,
    f: Array,
    order: int,
    first: int,
    last: Callable[[Array], bool],
) -> tuple[Array, bool]:
    """Return E f h_k of order + 1 orders from the `first`, 0 or 1, and whether they ended.

    Of functions at the nodes z, (n, nodes). They end after the block of which `last` is
    true.
    """
    # Half of the density goes with the polynomials, half with the function.
    root = np.exp(-0.25 * z * z) / math.sqrt(gaussian.SQRT_TWO_PI)
    f = f * (weight / root)
    out = np.empty((order + 1, len(f)))
    low, high = (root, z * root) if first else (np.zeros_like(z), root)
    for start in range(0, order + 1, BLOCK):
        basis = np.empty((min(BLOCK, order + 1 - start), len(z)))
        for k, row in enumerate(basis, start=start + first):
            row[:] = high
            low, high = high, (z * high - math.sqrt(k) * low) / math.sqrt(k + 1)
        out[start : start + BLOCK] = basis @ f.T
        if last(out[start : start + BLOCK]):
            return out[: start + BLOCK], True
    return out, False
