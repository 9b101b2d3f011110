"""What a layer does to pairs of rows, and the maps that do not depend on lengths."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from theory._rows import LogLengths
from theory.activations import Activation, pair
from theory.grids import CLOSE

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Homogeneous:
    """s(r x) = r^m s(x): correlations do not depend on lengths."""

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

    @cached_property
    def slopes(self) -> Array:
        """E s'(r Z)^2 of each row."""
        one = self.activation.derivative_second_moment
        return one * np.exp(2.0 * (self.m - 1) * self.before.high)

    def block(
        self, rows: slice, columns: slice, rho: Array, d: Array, *, tangent: bool
    ) -> tuple[Array, Array, Array | None]:
        """Return correlations, their distances from +-1, and E s'(u) s'(v)."""
        a = self.activation
        e, power = pair(a, a), a.second_moment
        after = np.clip(e.dual(rho) / power, -1.0, 1.0)
        gap = 1.0 - np.abs(after)
        near = np.flatnonzero((d < CLOSE) & (rho > 0.0))
        delta = e.distance(d.ravel()[near]) / power
        after.ravel()[near], gap.ravel()[near] = 1.0 - delta, delta
        if not tangent:
            return after, gap, None
        slope = e.slope(rho)
        slope.ravel()[near] = e.slope(
            rho.ravel()[near], 2.0 * np.arcsin(np.sqrt(0.5 * d.ravel()[near]))
        )
        if self.m != 1:
            r = np.exp((self.m - 1) * self.before.high)
            slope *= r[rows, None] * r[columns]
        return after, gap, slope
