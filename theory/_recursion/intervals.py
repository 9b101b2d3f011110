"""Intervals of log lengths, and polynomials on them."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import gaussian
from theory._chebyshev import nodes

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """Log lengths on which functions are interpolated in Chebyshev polynomials."""

    low: float
    high: float

    def contains(self, other: "Interval") -> bool:
        """Whether another interval lies within this one."""
        return self.low <= other.low and other.high <= self.high

    def halves(self) -> "tuple[Interval, Interval]":
        """Return the two halves."""
        middle = 0.5 * (self.low + self.high)
        return Interval(self.low, middle), Interval(middle, self.high)

    def nodes(self, n: int) -> Array:
        """Return the n Chebyshev nodes, falling."""
        return 0.5 * (self.low + self.high) + 0.5 * (self.high - self.low) * nodes(n)

    def basis(self, logs: Array, n: int) -> Array:
        """Return the n polynomials at each log length, shape (len(logs), n)."""
        width = self.high - self.low
        y = ((logs - self.low) - (self.high - logs)) / width if width else 0.0 * logs
        y = np.clip(y, -1.0, 1.0)
        return np.asarray(np.polynomial.chebyshev.chebvander(y, n - 1), np.float64)

    def integrals(self, a: Array, b: Array, n: int) -> Array:
        """Return the integrals from a to b of the n polynomials, shape (len(a), n)."""
        y, w = gaussian.legendre(n // 2 + 1)
        at = a[:, None] + 0.5 * (b - a)[:, None] * (1.0 + y)
        each = self.basis(at.ravel(), n).reshape(*at.shape, n)
        return 0.5 * (b - a)[:, None] * np.einsum("k,mkn->mn", w, each)

    def rounded(self, least: float = 0.0) -> "Interval":
        """Return an interval of a fixed family around this one, at least this wide.

        Widths are powers of two and ends multiples of half of one: as lengths settle with
        depth, layers share an interval and its tables. Wide ones, that take the most
        nodes, begin at multiples of two and end at multiples of a half: a few serve all
        layers of lengths that grow, and the longest rows, whose series take the most
        orders, are little longer than they have to be.
        """
        width = max(self.high - self.low, least)
        step = 2.0 ** (math.ceil(math.log2(width)) - 1)
        if step >= 1.0:
            low, high = math.floor(0.5 * self.low), math.ceil(2.0 * self.high)
            return Interval(2.0 * low, 0.5 * high)
        low = step * math.floor(self.low / step)
        while self.high > low + 2.0 * step:
            step *= 2.0
            low = step * math.floor(self.low / step)
        return Interval(low, low + 2.0 * step)
