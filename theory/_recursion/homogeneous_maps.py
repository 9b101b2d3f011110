"""Layers of homogeneous activations, whose correlations do not depend on lengths."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import _one_layer
from theory._cached import cached_property
from theory._recursion.row_maps import Pairs, settled
from theory._recursion.rows import Index, LogLengths
from theory.activations import Activation, pair
from theory.grids import CLOSE

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PowerMap:
    """Rows by themselves: powers of their lengths."""

    activation: Activation
    before: LogLengths
    m: int

    @cached_property
    def rows(self) -> LogLengths:
        """Log lengths after the activation."""
        gain = 0.5 * math.log(self.activation.second_moment)
        high, low = self.before.start
        start = self.m * high, self.m * low
        return self.before.after(start, self.m * self.before.gaps, gain)

    @property
    def slopes(self) -> Array:
        """E s'(r Z)^2 of each row."""
        one = self.activation.derivative_second_moment
        return one * np.exp(2.0 * (self.m - 1) * self.before.high)


@dataclass(frozen=True, eq=False)
class Homogeneous:
    """s(r x) = r^m s(x): correlations do not depend on lengths."""

    alone: PowerMap

    @cached_property
    def parity(self) -> int:
        """-1, 1 or 0; see `_one_layer.parity_of`."""
        return _one_layer.parity_of(self.alone.activation)

    def pairs(
        self, i: Index, j: Index, rho: Array, d: Array, *, tangent: bool
    ) -> Pairs:
        """Return correlations, their distances from +-1, and E s'(u) s'(v).

        That is of square-integrable slopes: m > 0.
        """
        a, m = self.alone.activation, self.alone.m
        e = pair(a, a)
        far = np.full_like(rho, math.inf)
        after, gap = settled(e.dual(rho) / a.second_moment, far)
        # Next to either end all three are known from the distance.
        ends = np.flatnonzero(d < CLOSE)
        found = _one_layer.values(a, self.parity, rho[ends], d[ends])
        after[ends], gap[ends], share = found
        if not tangent:
            return after, gap, None
        slope = e.slope(rho)
        slope[ends] = a.derivative_second_moment * share
        if m != 1:
            r = np.exp((m - 1) * self.alone.before.high)
            slope *= r[i] * r[j]
        return after, gap, slope
