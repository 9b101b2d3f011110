"""Angles between rows, between which kernels of all layers are polynomials."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory._chebyshev import nodes
from theory.grids import CLOSE

Array = npt.NDArray[np.float64]

CUTS = (math.acos(1.0 - CLOSE), 0.42, 1.0)
"""Angles between which pairs have tables of their own: the closer, the fewer they are in
many dimensions, and the more nodes they take."""


@dataclass(frozen=True)
class Angles:
    """Angles between which kernels are polynomials.

    With `folded`, kernels are odd in rho: angles are those of |rho|, up to pi / 2, and
    kernels over rho are even about there.
    """

    low: float
    high: float
    folded: bool

    def at(self, y: Array) -> Array:
        """Return the angles of places in [-1, 1]."""
        if self.folded and self.high == 0.5 * math.pi:
            return self.high - (self.high - self.low) * np.sqrt(0.5 * (1.0 + y))
        return 0.5 * (self.low + self.high) + 0.5 * (self.high - self.low) * y

    def nodes(self, degree: int) -> Array:
        """Return the angles at Chebyshev nodes."""
        return self.at(nodes(degree))

    def place(self, t: Array) -> Array:
        """Return the places of angles, in [-1, 1]."""
        if self.folded and self.high == 0.5 * math.pi:
            y = (self.high - t) * (1.0 / (self.high - self.low))
            y *= y
            y *= 2.0
            y -= 1.0
        else:
            y = (2.0 * t - (self.low + self.high)) * (1.0 / (self.high - self.low))
        return np.clip(y, -1.0, 1.0, out=y)
