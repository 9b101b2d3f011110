r"""Duals in closed form where every pair has its own two lengths, or all share them.

The error function, GELU, exponentials, waves and the bump, for arguments of lengths r
and o, correlation :math:`\rho = \cos t` and distance d of it from the nearer of +-1.
With :math:`a = r/\sqrt{1 + r^2}`, b likewise and :math:`z = \rho a b`, an angle of sine z
is the correlation of the arguments with unit noise; for the error function noise is half
as much.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from theory._cached import cached_property

Array = npt.NDArray[np.float64]


class Varying(Protocol):
    """Averages of s at pairs of lengths r and o."""

    def value(self) -> Array:
        """E s(u) s(v) / (r o)."""
        ...

    def varying(self) -> Array:
        """E s(u) s(v) - E s(u) E s(v), without cancellation."""
        ...

    def slope(self) -> Array:
        """E s'(u) s'(v)."""
        ...

    def lost(self) -> Array:
        """Integrate the slopes over correlations from rho to one, where d is 1 - rho."""
        ...


@dataclass(frozen=True)
class OfLengths:
    """The engine of a formula at one pair of variances."""

    formula: Callable[[Array, Array, Array, Array], Varying]
    var_x: float
    var_y: float

    @property
    def _size(self) -> float:
        return math.sqrt(self.var_x) * math.sqrt(self.var_y)

    def _at(self, rho: Array, d: Array) -> Varying:
        lengths = np.sqrt(np.array([self.var_x, self.var_y]))
        return self.formula(lengths[0], lengths[1], rho, d)

    def dual(self, rho: Array) -> Array:
        """Return E s(X) s(Y)."""
        return self._size * self._at(rho, 1.0 - np.abs(rho)).value()

    def covariance(self, rho: Array) -> Array:
        """Return E s(X) s(Y) - E s E s, without cancellation."""
        return self._at(rho, 1.0 - np.abs(rho)).varying()

    def slope(self, rho: Array, t: Array | None = None) -> Array:
        """Return the derivative in rho; `t` is arccos rho where better known."""
        d = 1.0 - np.abs(rho)
        if t is not None:
            d = np.where(rho > 0.0, 2.0 * np.sin(0.5 * t) ** 2, d)
        return self._size * self._at(rho, d).slope()

    def distance(self, delta: Array) -> Array:
        """Return the dual at 1 less that at 1 - delta."""
        return self._size * self._at(1.0 - delta, delta).lost()


@dataclass(frozen=True)
class Exponential:
    r"""E e^X e^Y = :math:`e^{(v + w)/2 + \rho \sqrt{vw}}` of variances v and w.

    Not of lengths, whose rounding the exponent would multiply.
    """

    var_x: float
    var_y: float

    @property
    def _root(self) -> float:
        same = self.var_x == self.var_y
        return self.var_x if same else math.sqrt(self.var_x * self.var_y)

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


@dataclass(frozen=True, eq=False)
class Noisy:
    """Arguments with noise of unit variance over `factor`, and sin^2 t.

    z, sqrt(1 - z^2), a b, and the shares 1 - a^2 and 1 - b^2 of the noise.
    """

    z: Array
    cosine: Array
    both: Array
    shares: tuple[Array, Array]

    @classmethod
    def of(
        cls, r: Array, other: Array, rho: Array, sine: Array, factor: float
    ) -> "Noisy":
        """Add the noise to arguments of lengths r and o; `sine` is sin^2 t."""
        p, q = 1.0 / (1.0 + factor * r * r), 1.0 / (1.0 + factor * other * other)
        # a^2 = factor r^2 p, without the cancellation of 1 - p.
        both = (factor * r * other) * (np.sqrt(p) * np.sqrt(q))
        # 1 - z^2 = p + q (1 - p) + a^2 b^2 sin^2 t, of positive terms.
        cosine = np.sqrt((p + q * (1.0 - p)) + np.square(both) * sine)
        return cls(both * rho, cosine, both, (p, q))


@dataclass(frozen=True, eq=False)
class ErrorFunctionPairs:
    r"""E erf(u) erf(v) / (r o) and E erf'(u) erf'(v).

    .. math:: \frac{2}{\pi\, r\, o} \arcsin z, \qquad
       \frac{4}{\pi} \sqrt{\frac{(1 - a^2)(1 - b^2)}{1 - z^2}}

    Williams (1997).
    """

    r: Array
    other: Array
    rho: Array
    d: Array

    @cached_property
    def _noisy(self) -> Noisy:
        sine = self.d * (2.0 - self.d)
        return Noisy.of(self.r, self.other, self.rho, sine, 2.0)

    def varying(self) -> Array:
        """Return E s(u) s(v)."""
        return (2.0 / math.pi) * np.arctan(self._noisy.z / self._noisy.cosine)

    def value(self) -> Array:
        """Return E s(u) s(v) / (r o)."""
        return self.varying() / (self.r * self.other)

    def slope(self) -> Array:
        """Return E s'(u) s'(v)."""
        p, q = self._noisy.shares
        return ((4.0 / math.pi) * (np.sqrt(p) * np.sqrt(q))) / self._noisy.cosine

    def lost(self) -> Array:
        """Integrate the slopes from rho to one."""
        u, (p, q) = self._noisy, self._noisy.shares
        end = np.sqrt(p + q * (1.0 - p))
        # The sine of the angles' difference, of positive terms; below zero they add.
        near = u.both * (self.d * (2.0 - self.d))
        near = near / (u.cosine + np.maximum(self.rho, 0.0) * end)
        apart = np.arctan(u.both / end) - np.arctan(u.z / u.cosine)
        out = np.where(self.rho < 0.0, apart, np.arcsin(np.minimum(near, 1.0)))
        return out * ((2.0 / math.pi) / (self.r * self.other))


@dataclass(frozen=True, eq=False)
class GeluPairs:
    r"""E s(u) s(v) / (r o) and E s'(u) s'(v) for s(x) = x Phi(x).

    .. math:: \rho P + J (e \rho^2 + \sin^2 t), \qquad P + \rho J
       \frac{e (1 - a^2 b^2) + (1 - a^2)(1 - b^2) + a^2 b^2 e \sin^2 t}{1 - z^2},

    with :math:`P = E\,\Phi(u) \Phi(v) = \frac14 + \frac{1}{2\pi} \arcsin z`,
    :math:`J = a b / (2 \pi \sqrt{1 - z^2})` and :math:`e = 2 - a^2 - b^2`
    by Stein's lemma: sums of positive terms, however long and close the arguments.
    """

    noisy: Noisy
    rho: Array
    sine: Array
    area: Array  # P
    density: Array  # J
    rest: Array  # e

    @classmethod
    def at(cls, r: Array, other: Array, rho: Array, sine: Array) -> "GeluPairs":
        """Take arguments of lengths r and o; `sine` is sin^2 t."""
        u = Noisy.of(r, other, rho, sine, 1.0)
        area = (0.5 / math.pi) * np.arctan2(u.cosine, -u.z)
        density = (u.both / (2.0 * math.pi)) / u.cosine
        return cls(u, rho, sine, area, density, u.shares[0] + u.shares[1])

    def value(self) -> Array:
        """Return E s(u) s(v) / (r o)."""
        return self.rho * self.area + self.density * (
            self.rest * np.square(self.rho) + self.sine
        )

    def slope(self) -> Array:
        """Return E s'(u) s'(v)."""
        u, e = self.noisy, self.rest
        p, q = u.shares
        part = np.square(u.both) * e * self.sine + (e * (p + q * (1.0 - p)) + p * q)
        return self.area + self.rho * self.density * (part / np.square(u.cosine))


@dataclass(frozen=True, eq=False)
class ExponentialPairs:
    r"""The same for the exponential.

    .. math:: E\,e^u e^v = e^{(r^2 + o^2)/2 + \rho r o}
    """

    top: Array  # the exponent at rho = 1
    size: Array  # r o
    gap: Array  # 1 - rho

    @classmethod
    def at(cls, r: Array, other: Array, rho: Array, d: Array) -> "ExponentialPairs":
        """Take arguments of lengths r and o."""
        gap = np.where(rho > 0.0, d, 2.0 - d)
        return cls(0.5 * np.square(r + other), r * other, gap)

    def value(self) -> Array:
        """Return E s(u) s(v) / (r o)."""
        return self.slope() / self.size

    def slope(self) -> Array:
        """Return E s'(u) s'(v)."""
        return np.exp(self.top - self.size * self.gap)

    def lost(self) -> Array:
        """Integrate the slopes from rho to one."""
        return -np.exp(self.top) * np.expm1(-self.size * self.gap) / self.size


@dataclass(frozen=True, eq=False)
class WavePairs:
    r"""The same for the sine if `odd`, else for the cosine.

    .. math:: e^{-(r^2 + o^2)/2} \sinh(\rho r o), \qquad e^{-(r^2 + o^2)/2} \cosh(\rho r o)

    one the slope of the other. The exponents are :math:`-(r - o)^2/2 - r o\,d` next to the
    nearer end, and 2 |rho| r o less beside it.
    """

    odd: bool
    r: Array
    other: Array
    rho: Array
    d: Array

    @property
    def _size(self) -> Array:
        return self.r * self.other

    @property
    def _apart(self) -> Array:
        """Half of e^(-(r - o)^2 / 2)."""
        return 0.5 * np.exp(-0.5 * np.square(self.r - self.other))

    def _end(self) -> Array:
        return self._apart * np.exp(-self._size * self.d)

    def _sine(self) -> Array:
        far = np.expm1(-2.0 * self._size * np.abs(self.rho))
        return np.sign(self.rho) * -far * self._end()

    def _cosine(self) -> Array:
        return (1.0 + np.exp(-2.0 * self._size * np.abs(self.rho))) * self._end()

    def value(self) -> Array:
        """Return E s(u) s(v) / (r o)."""
        return (self._sine() if self.odd else self._cosine()) / self._size

    def varying(self) -> Array:
        """Return E s(u) s(v) - E s(u) E s(v)."""
        if self.odd:
            return self._sine()
        return self._end() * np.expm1(-self._size * np.abs(self.rho)) ** 2

    def slope(self) -> Array:
        """Return E s'(u) s'(v)."""
        return self._cosine() if self.odd else self._sine()

    def lost(self) -> Array:
        """Integrate the slopes from rho to one."""
        far = -self._size * (2.0 - self.d)
        share = 1.0 + np.exp(far) if self.odd else -np.expm1(far)
        return (-self._apart / self._size) * np.expm1(-self._size * self.d) * share


@dataclass(frozen=True, eq=False)
class BumpPairs:
    r"""The same for exp(-x^2 / 2).

    .. math:: E\,s(u) s(v) = Q^{-1/2}, \qquad E\,s'(u) s'(v) = \rho\, r o\, Q^{-3/2}, \qquad
       Q = 1 + r^2 + o^2 + r^2 o^2 \sin^2 t
    """

    r: Array
    other: Array
    rho: Array
    d: Array

    def _root(self, sine: Array | float) -> Array:
        # No square of long rows, which leaves float64.
        apart = (self.r * self.other) * np.sqrt(sine)
        return np.hypot(np.hypot(1.0, apart), np.hypot(self.r, self.other))

    @property
    def _sine(self) -> Array:
        return self.d * (2.0 - self.d)

    def value(self) -> Array:
        """Return E s(u) s(v) / (r o)."""
        return 1.0 / self._root(self._sine) / (self.r * self.other)

    def varying(self) -> Array:
        """Return E s(u) s(v) - E s(u) E s(v)."""
        here, start = self._root(self._sine), self._root(1.0)
        product = self.r * self.other * self.rho
        return (product / here) * (product / start) / (here + start)

    def slope(self) -> Array:
        """Return E s'(u) s'(v)."""
        root = self._root(self._sine)
        return self.rho * (self.r / root) * (self.other / root) / root

    def lost(self) -> Array:
        """Integrate the slopes from rho to one."""
        here, end = self._root(self._sine), self._root(0.0)
        return (self.r / here) * (self.other / end) * (self._sine / (here + end))
