r"""Duals in closed form where every pair has its own two lengths.

The error function, GELU, exponentials, waves and the bump; `exponentials` and `series` have
engines of one pair of variances at all correlations.

For arguments of lengths r and o and correlation :math:`\rho = \cos t`. With
:math:`a = r/\sqrt{1 + r^2}`, b likewise and :math:`z = \rho a b`, an angle of sine z is the
correlation of the arguments with unit noise; for the error function noise is half as much.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


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

    noisy: Noisy
    size: Array  # r o

    @classmethod
    def at(
        cls, r: Array, other: Array, rho: Array, sine: Array
    ) -> "ErrorFunctionPairs":
        """Take arguments of lengths r and o; `sine` is sin^2 t."""
        return cls(Noisy.of(r, other, rho, sine, 2.0), r * other)

    def value(self) -> Array:
        """Return E s(u) s(v) / (r o)."""
        u = self.noisy
        return np.arctan(u.z / u.cosine) * ((2.0 / math.pi) / self.size)

    def slope(self) -> Array:
        """Return E s'(u) s'(v)."""
        p, q = self.noisy.shares
        return ((4.0 / math.pi) * (np.sqrt(p) * np.sqrt(q))) / self.noisy.cosine


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
        area = 0.25 + (0.5 / math.pi) * np.arctan(u.z / u.cosine)
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
    r"""The same for the exponential, d the distance of rho from the nearer of +-1.

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

    def slope(self) -> Array:
        """Return E s'(u) s'(v)."""
        return self._cosine() if self.odd else self._sine()

    def lost(self) -> Array:
        """Integrate the slopes from rho to one."""
        gap = np.where(self.rho > 0.0, self.d, 2.0 - self.d)
        far = np.exp(-self._size * (2.0 - gap))
        share = 1.0 + far if self.odd else -np.expm1(-self._size * (2.0 - gap))
        return -self._apart * np.expm1(-self._size * gap) * share / self._size


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
        r, o = self.r * self.r, self.other * self.other
        return np.sqrt((1.0 + r + o) + r * o * sine)

    @property
    def _sine(self) -> Array:
        return self.d * (2.0 - self.d)

    def value(self) -> Array:
        """Return E s(u) s(v) / (r o)."""
        return 1.0 / (self._root(self._sine) * (self.r * self.other))

    def slope(self) -> Array:
        """Return E s'(u) s'(v)."""
        return self.rho * (self.r * self.other) / self._root(self._sine) ** 3

    def lost(self) -> Array:
        """Integrate the slopes from |rho| to one."""
        here, end = self._root(self._sine), self._root(0.0)
        both = here * end
        return self.r * self.other * self._sine / (both * (here + end))


NoisyPairs = ErrorFunctionPairs | GeluPairs
