r"""Duals of exp, sine, cosine and the Gaussian bump at one pair of variances.

For variances v and w of the arguments and k = :math:`\rho \sqrt{vw}`, from
:math:`E\,e^{X + Y} = e^{(v + w)/2 + k}`.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory.duals.series import geometric_mean

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Exponential:
    r"""E e^X e^Y = :math:`e^{(v + w)/2 + k}`."""

    var_x: float
    var_y: float

    @property
    def _root(self) -> float:
        return geometric_mean(self.var_x, self.var_y)

    @property
    def _half(self) -> float:
        return 0.5 * (self.var_x + self.var_y)

    def dual(self, rho: Array) -> Array:
        """Return E s(X) s(Y)."""
        return np.exp(self._half + self._root * rho)

    def covariance(self, rho: Array) -> Array:
        """Return E s(X) s(Y) - E s E s, without cancellation."""
        return np.exp(self._half) * np.expm1(self._root * rho)

    def slope(self, rho: Array, t: Array | None = None) -> Array:  # noqa: ARG002
        """Return the derivative in rho; `t` is arccos rho where better known."""
        return self._root * self.dual(rho)

    def distance(self, delta: Array) -> Array:
        """Return the dual at 1 less that at 1 - delta."""
        return -np.exp(self._half + self._root) * np.expm1(-self._root * delta)


@dataclass(frozen=True)
class Trigonometric:
    r"""E s(X) s(Y) of the sine if `odd`, else of the cosine.

    .. math:: e^{-(v + w)/2} \sinh k, \qquad e^{-(v + w)/2} \cosh k

    Exponents are :math:`-(\sqrt v - \sqrt w)^2/2 - \sqrt{vw} (1 \mp \rho)`, of terms of
    one sign: at large variances all is in correlations next to 1 or -1.
    """

    var_x: float
    var_y: float
    odd: bool

    @property
    def _root(self) -> float:
        return geometric_mean(self.var_x, self.var_y)

    @property
    def _apart(self) -> float:
        """Half of e^(-(sqrt v - sqrt w)^2 / 2)."""
        whole = math.sqrt(self.var_x) + math.sqrt(self.var_y)
        gap = (self.var_x - self.var_y) / whole
        return 0.5 * math.exp(-0.5 * gap * gap)

    def _sum(self, rho: Array, t: Array | None = None) -> Array:
        """e^(-(v + w)/2) cosh k."""
        near = 1.0 - rho if t is None else 2.0 * np.sin(0.5 * t) ** 2
        # One of the two is a rounding of 2 less the other, and the other counts.
        ends = np.exp(-self._root * near) + np.exp(-self._root * (1.0 + rho))
        return self._apart * ends

    def _difference(self, rho: Array, t: Array | None = None) -> Array:
        """e^(-(v + w)/2) sinh k."""
        size = np.abs(rho)
        near = 1.0 - size
        if t is not None:
            near = np.where(rho > 0.0, 2.0 * np.sin(0.5 * t) ** 2, near)
        top = self._apart * np.exp(-self._root * near)
        return -np.sign(rho) * top * np.expm1(-2.0 * self._root * size)

    def dual(self, rho: Array) -> Array:
        """Return E s(X) s(Y)."""
        return self._difference(rho) if self.odd else self._sum(rho)

    def covariance(self, rho: Array) -> Array:
        """Return E s(X) s(Y) - E s E s, without cancellation."""
        if self.odd:
            return self._difference(rho)
        size = np.abs(rho)
        top = self._apart * np.exp(-self._root * (1.0 - size))
        return top * np.expm1(-self._root * size) ** 2

    def slope(self, rho: Array, t: Array | None = None) -> Array:
        """Return the derivative in rho; `t` is arccos rho where better known."""
        return self._root * (self._sum if self.odd else self._difference)(rho, t)

    def distance(self, delta: Array) -> Array:
        """Return the dual at 1 less that at 1 - delta."""
        other = self._root * (2.0 - delta)
        share = 1.0 + np.exp(-other) if self.odd else -np.expm1(-other)
        return -self._apart * np.expm1(-self._root * delta) * share


@dataclass(frozen=True)
class Bump:
    r"""E e^(-X^2/2) e^(-Y^2/2) = :math:`(1 + v + w + vw(1 - \rho^2))^{-1/2}`."""

    var_x: float
    var_y: float

    @property
    def _product(self) -> float:
        return self.var_x * self.var_y

    def _square(self, sine: Array) -> Array:
        """Return the dual to the power -2, from 1 - rho^2."""
        return (1.0 + self.var_x + self.var_y) + self._product * sine

    def dual(self, rho: Array) -> Array:
        """Return E s(X) s(Y)."""
        return self._square((1.0 - rho) * (1.0 + rho)) ** -0.5

    def covariance(self, rho: Array) -> Array:
        """Return E s(X) s(Y) - E s E s, without cancellation."""
        square, start = (
            self._square((1.0 - rho) * (1.0 + rho)),
            self._square(np.ones(())),
        )
        both = np.sqrt(square * start)
        return self._product * rho * rho / (both * (np.sqrt(square) + np.sqrt(start)))

    def slope(self, rho: Array, t: Array | None = None) -> Array:
        """Return the derivative in rho; `t` is arccos rho where better known."""
        sine = (1.0 - rho) * (1.0 + rho) if t is None else np.square(np.sin(t))
        square = self._square(sine)
        return self._product * rho / (square * np.sqrt(square))

    def distance(self, delta: Array) -> Array:
        """Return the dual at 1 less that at 1 - delta."""
        sine = delta * (2.0 - delta)
        square, start = self._square(sine), self._square(np.zeros(()))
        both = np.sqrt(square * start)
        return self._product * sine / (both * (np.sqrt(square) + np.sqrt(start)))
