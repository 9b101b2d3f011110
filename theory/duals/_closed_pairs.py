r"""Duals of pairs of lengths in closed form: the error function and GELU.

For arguments of lengths r and o and correlation :math:`\rho = \cos t`. With
:math:`a = r/\sqrt{1 + r^2}`, b likewise and :math:`z = \rho a b`, an angle of sine z is the
correlation of the arguments with unit noise; for the error function noise is half as much.
"""

import math

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def _noisy(
    r: Array, other: Array, rho: Array, sine: Array, factor: float
) -> tuple[Array, Array, Array, tuple[Array, Array]]:
    """Return z, sqrt(1 - z^2), a b, and the shares 1 - a^2 and 1 - b^2 of noise."""
    p, q = 1.0 / (1.0 + factor * r * r), 1.0 / (1.0 + factor * other * other)
    # a^2 = factor r^2 p, without the cancellation of 1 - p.
    both = (factor * r * other) * np.sqrt(p * q)
    # 1 - z^2 = p + q (1 - p) + a^2 b^2 sin^2 t, of positive terms.
    cosine = np.sqrt((p + q * (1.0 - p)) + np.square(both) * sine)
    return both * rho, cosine, both, (p, q)


def error_function(
    r: Array, other: Array, rho: Array, sine: Array
) -> tuple[Array, Array]:
    r"""Return E erf(u) erf(v) / (r o) and E erf'(u) erf'(v); `sine` is sin^2 t.

    .. math:: \frac{2}{\pi\, r\, o} \arcsin z, \qquad
       \frac{4}{\pi} \sqrt{\frac{(1 - a^2)(1 - b^2)}{1 - z^2}}

    Williams (1997).
    """
    z, cosine, _, (p, q) = _noisy(r, other, rho, sine, 2.0)
    value = np.arctan(z / cosine)
    value *= (2.0 / math.pi) / (r * other)
    return value, ((4.0 / math.pi) * np.sqrt(p * q)) / cosine


def gelu(r: Array, other: Array, rho: Array, sine: Array) -> tuple[Array, Array]:
    r"""Return E s(u) s(v) / (r o) and E s'(u) s'(v) for s(x) = x Phi(x).

    .. math:: \rho P + J (e \rho^2 + \sin^2 t), \qquad P + \rho J
       \frac{e (1 - a^2 b^2) + (1 - a^2)(1 - b^2) + a^2 b^2 e \sin^2 t}{1 - z^2},

    with :math:`P = E\,\Phi(u) \Phi(v) = \frac14 + \frac{1}{2\pi} \arcsin z`,
    :math:`J = a b / (2 \pi \sqrt{1 - z^2})` and :math:`e = 2 - a^2 - b^2`
    by Stein's lemma: sums of positive terms, however long and close the arguments.
    """
    z, cosine, both, (p, q) = _noisy(r, other, rho, sine, 1.0)
    e = p + q
    area = np.arctan(z / cosine)
    area *= 0.5 / math.pi
    area += 0.25
    density = (both / (2.0 * math.pi)) / cosine
    value = rho * area + density * (e * np.square(rho) + sine)
    rest = np.square(both) * e * sine
    rest += e * (p + q * (1.0 - p)) + p * q
    rest /= np.square(cosine)
    rest *= density
    rest *= rho
    rest += area
    return value, rest
