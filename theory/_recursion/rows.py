"""Lengths of rows, whose differences keep their digits however small they are."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import _twofold
from theory.matrices import dot

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


Start = tuple[float, float]
"""An unevaluated sum of two floats."""


def _plus(start: Start, gain: float) -> Start:
    """Return the sum, to twice the digits."""
    high, low = _twofold.add_exactly(np.array(start[0]), np.array(gain))
    high, low = _twofold.add_exactly(high, low + start[1])
    return float(high), float(low)


def distinct(n: int, *lists: Index) -> tuple[Index, list[Index]]:
    """Return which of n rows occur in the lists, rising, and the lists' places there."""
    found = np.zeros(n, dtype=bool)
    for rows in lists:
        found[rows] = True
    place = np.cumsum(found) - 1
    return np.flatnonzero(found), [place[rows] for rows in lists]


@dataclass(frozen=True, eq=False)
class LogLengths:
    """Logarithms of the lengths of rows, as unevaluated sums of two floats.

    Attributes
    ----------
    high, low : array, (n,)
    order : array, (n,)
        Rows in the order in which `gaps` are taken.
    gaps : array, (n - 1,)
        Differences of neighbours in that order, each with a relative error of a few ulp.
    """

    high: Array
    low: Array
    order: Index
    gaps: Array

    @classmethod
    def of_rows(cls, x: Array) -> "LogLengths":
        """Take the lengths of rows of shape (n, d), none of them zero."""
        # Each row by its own power of two: squares of all by one would leave float64.
        shift = np.round(np.log2(np.abs(x).max(axis=1)))
        unit = np.exp2(-shift)[:, None]
        q = dot(x * unit, x * unit)
        high, power = np.frexp(q[0])
        low, power = np.ldexp(q[1], -power), power + 2 * shift.astype(int)
        order = np.lexsort((low, high, power))
        high, low, power = high[order], low[order], power[order]
        rises = np.diff(power)
        shown = np.minimum(rises, 500)  # what is above that adds to the logarithm
        above = np.ldexp(high[1:], shown), np.ldexp(low[1:], shown)
        rise, _ = _twofold.add(above, (-high[:-1], -low[:-1]))
        gaps = 0.5 * (np.log1p(rise / high[:-1]) + (rises - shown) * np.log(2.0))
        start = 0.5 * float(np.log(np.ldexp(high[0], power[0])))
        return cls.from_gaps((start, 0.0), gaps, order)

    @classmethod
    def from_gaps(cls, start: Start, gaps: Array, order: Index) -> "LogLengths":
        """Add up neighbours' differences from the log length of the first."""
        high = np.concatenate([[start[0]], gaps])
        low = np.concatenate([[start[1]], np.zeros_like(gaps)])
        step = 1
        while step < len(high):  # prefix sums by doubling
            head = (high[step:], low[step:]), (high[:-step], low[:-step])
            more = _twofold.add(*head)
            high = np.concatenate([high[:step], more[0]])
            low = np.concatenate([low[:step], more[1]])
            step *= 2
        back = np.argsort(order)
        return cls(high[back], low[back], order, gaps)

    @property
    def start(self) -> Start:
        """Log length of the first row in the order of the gaps."""
        first = self.order[0]
        return float(self.high[first]), float(self.low[first])

    def after(self, start: Start, gaps: Array, gain: float = 0.0) -> "LogLengths":
        """Return other lengths of the same rows in the same order.

        `start` is the first's log length, to which `gain` is added without a rounding:
        through hundreds of layers it may grow to hundreds.
        """
        return LogLengths.from_gaps(_plus(start, gain), gaps, self.order)

    def differences(self, i: Index, j: Index) -> Array:
        """Return l_i - l_j."""
        return (self.high[i] - self.high[j]) + (self.low[i] - self.low[j])
