"""What evaluates a dual, and multiples of it."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Engine(Protocol):
    """Evaluation of the dual of a pair of activations, rho in [-1, 1]."""

    def dual(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)]."""
        ...

    def covariance(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)] - E a E b, without cancellation."""
        ...

    def slope(self, rho: Array, t: Array | None = None) -> Array:
        """Return E[a'(X) b'(Y)]; `t` is arccos rho where better known."""
        ...

    def distance(self, delta: Array) -> Array:
        """Return E a^2 - E[a(X) a(Y)] at rho = 1 - delta, without cancellation."""
        ...


@dataclass(frozen=True)
class Rescaled:
    """A multiple of another engine, with a mean product of its own."""

    base: Engine
    factor: float
    mean: float

    def covariance(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)] - E a E b, without cancellation."""
        return self.factor * self.base.covariance(rho)

    def dual(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)]."""
        return self.mean + self.covariance(rho)

    def slope(self, rho: Array, t: Array | None = None) -> Array:
        """Return E[a'(X) b'(Y)]; `t` is arccos rho where better known."""
        return self.factor * self.base.slope(rho, t)

    def distance(self, delta: Array) -> Array:
        """Return E a^2 - E[a(X) a(Y)] at rho = 1 - delta, without cancellation."""
        return self.factor * self.base.distance(delta)
