"""Duals of sine and cosine: products of exponentials."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Wave:
    r"""E sin X sin Y, or E cos X cos Y, of variances v and w.

    .. math:: e^{-(v + w)/2} \sinh(\sqrt{v w} \rho), \qquad
              e^{-(v + w)/2} \cosh(\sqrt{v w} \rho)

    No exponent below is positive, so that nothing overflows.
    """

    var_x: float
    var_y: float
    odd: bool

    @property
    def _root(self) -> float:
        return math.sqrt(self.var_x * self.var_y)

    @property
    def _apart(self) -> float:
        """Half the mean square of |X| - |Y| at rho = 1: (sqrt v - sqrt w)^2 / 2."""
        return 0.5 * (math.sqrt(self.var_x) - math.sqrt(self.var_y)) ** 2

    def _sinh(self, rho: Array) -> Array:
        size = np.abs(rho)
        top = np.exp(-self._root * (1.0 - size) - self._apart)
        return -0.5 * np.sign(rho) * top * np.expm1(-2.0 * self._root * size)

    def _cosh(self, rho: Array) -> Array:
        size = np.abs(rho)
        top = np.exp(-self._root * (1.0 - size) - self._apart)
        return 0.5 * top * (1.0 + np.exp(-2.0 * self._root * size))

    def dual(self, rho: Array) -> Array:
        """Return E[s(X) t(Y)]."""
        return self._sinh(rho) if self.odd else self._cosh(rho)

    def covariance(self, rho: Array) -> Array:
        """Return E[s(X) t(Y)] - E s E t, without cancellation."""
        if self.odd:
            return self._sinh(rho)
        # cosh - 1 = 2 sinh^2 of half the argument.
        size = np.abs(rho)
        top = np.exp(-self._root * (1.0 - size) - self._apart)
        return 0.5 * top * np.expm1(-self._root * size) ** 2

    def slope(self, rho: Array, t: Array | None = None) -> Array:  # noqa: ARG002
        """Return the derivative in rho."""
        return self._root * (self._cosh(rho) if self.odd else self._sinh(rho))

    def distance(self, delta: Array) -> Array:
        """Return the dual at 1 less that at 1 - delta, without cancellation."""
        near = -np.expm1(-self._root * delta)
        far = np.exp(-self._root * (2.0 - delta))
        both = 1.0 + far if self.odd else -np.expm1(-self._root * (2.0 - delta))
        return 0.5 * math.exp(-self._apart) * near * both
