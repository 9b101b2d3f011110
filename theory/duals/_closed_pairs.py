r"""Duals of pairs of lengths in closed form: the error function and GELU.

For arguments of lengths r and o and correlation :math:`\rho = \cos t`. With
:math:`a = r/\sqrt{1 + r^2}`, b likewise and :math:`z = \rho a b`, an angle of sine z is the
correlation of the arguments with unit noise; for the error function noise is half as much.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Noisy:
    """Arguments with noise: z, sqrt(1 - z^2), a b, and the shares 1 - a^2 and 1 - b^2."""

    z: Array
    cosine: Array
    both: Array
    shares: tuple[Array, Array]

    @classmethod
    def of(
        cls, r: Array, other: Array, rho: Array, sine: Array, factor: float
    ) -> "_Noisy":
        """Add noise of unit variance over `factor`."""
        p, q = 1.0 / (1.0 + factor * r * r), 1.0 / (1.0 + factor * other * other)
        # a^2 = factor r^2 p, without the cancellation of 1 - p.
        both = (factor * r * other) * np.sqrt(p * q)
        # 1 - z^2 = p + q (1 - p) + a^2 b^2 sin^2 t, of positive terms.
        cosine = np.sqrt((p + q * (1.0 - p)) + np.square(both) * sine)
        return cls(both * rho, cosine, both, (p, q))


class ErrorFunction:
    r"""E erf(u) erf(v) / (r o) and E erf'(u) erf'(v).

    .. math:: \frac{2}{\pi\, r\, o} \arcsin z, \qquad
       \frac{4}{\pi} \sqrt{\frac{(1 - a^2)(1 - b^2)}{1 - z^2}}

    Williams (1997).
    """

    @staticmethod
    def value(r: Array, other: Array, rho: Array, sine: Array) -> Array:
        """Return the first; `sine` is sin^2 t."""
        u = _Noisy.of(r, other, rho, sine, 2.0)
        return np.arctan(u.z / u.cosine) * ((2.0 / math.pi) / (r * other))

    @staticmethod
    def slope(r: Array, other: Array, rho: Array, sine: Array) -> Array:
        """Return the second."""
        u = _Noisy.of(r, other, rho, sine, 2.0)
        return ((4.0 / math.pi) * np.sqrt(u.shares[0] * u.shares[1])) / u.cosine


class Gelu:
    r"""E s(u) s(v) / (r o) and E s'(u) s'(v) for s(x) = x Phi(x).

    .. math:: \rho P + J (e \rho^2 + \sin^2 t), \qquad P + \rho J
       \frac{e (1 - a^2 b^2) + (1 - a^2)(1 - b^2) + a^2 b^2 e \sin^2 t}{1 - z^2},

    with :math:`P = E\,\Phi(u) \Phi(v) = \frac14 + \frac{1}{2\pi} \arcsin z`,
    :math:`J = a b / (2 \pi \sqrt{1 - z^2})` and :math:`e = 2 - a^2 - b^2`
    by Stein's lemma: sums of positive terms, however long and close the arguments.
    """

    @staticmethod
    def _parts(u: "_Noisy") -> tuple[Array, Array, Array]:
        """Return P, J and e."""
        area = 0.25 + (0.5 / math.pi) * np.arctan(u.z / u.cosine)
        density = (u.both / (2.0 * math.pi)) / u.cosine
        return area, density, u.shares[0] + u.shares[1]

    @staticmethod
    def value(r: Array, other: Array, rho: Array, sine: Array) -> Array:
        """Return the first; `sine` is sin^2 t."""
        area, density, e = Gelu._parts(_Noisy.of(r, other, rho, sine, 1.0))
        return rho * area + density * (e * np.square(rho) + sine)

    @staticmethod
    def slope(r: Array, other: Array, rho: Array, sine: Array) -> Array:
        """Return the second."""
        u = _Noisy.of(r, other, rho, sine, 1.0)
        area, density, e = Gelu._parts(u)
        p, q = u.shares
        rest = np.square(u.both) * e * sine + (e * (p + q * (1.0 - p)) + p * q)
        return area + rho * density * (rest / np.square(u.cosine))


Formula = type[ErrorFunction] | type[Gelu]
