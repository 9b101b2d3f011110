r"""Lengths after an exponential, :math:`s(x) = c e^x + h`, in closed form.

With :math:`g = h / c`, over :math:`|c|\,e^{r^2}`: the mean of s is
:math:`m = e^{-r^2/2} + g e^{-r^2}`, the deviation :math:`f = \sqrt{1 - e^{-r^2}}`, and two
rows of one direction have the covariance
:math:`k = e^{-\delta^2/2} (1 - e^{-r o})`, :math:`\delta = o - r`. Their distance is

.. math:: \lambda = \frac{\Delta}{n_r n_o (n_r n_o + m_r m_o + k)}, \qquad
   \Delta = (f_r^2 f_o^2 - k^2) + (m_r f_o - m_o f_r)^2 + 2 m_r m_o (f_r f_o - k),

:math:`n^2 = m^2 + f^2`: its terms are evaluated without the cancellation in
:math:`\delta`. Nothing overflows before the kernel itself.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

ORDER = 18
"""Hermite coefficients r^k / sqrt(k!) of rows shorter than one: 1/18! is rounding."""

TINY = 1e-150
"""Products of lengths whose squares are within float64."""

LEAST = 0.1
"""Distance from which a difference has its digits."""


def _gram(r: Array, o: Array, delta: Array) -> Array:
    """f_r^2 f_o^2 - k^2, an error of rounding over r o."""
    rise = 0.5 * delta * (r + o)
    half = np.expm1(0.5 * delta * delta) * np.cosh(rise)
    half += 2.0 * np.square(np.sinh(0.5 * rise))
    return -np.expm1(-delta * delta) - 2.0 * half * np.exp(r * o - r * r - o * o)


def gram_of_short(r: Array, gap: Array, first: int = 1, step: int = 1) -> Array:
    """Return the same as a sum of (a_j b_k - a_k b_j)^2 over Hermite coefficients.

    a_k = r^k e^(-r^2/2) / sqrt(k!) for k = first, first + step, ..., of lengths up to one.
    """
    r = np.minimum(r, 1.0)
    o = np.minimum(r * np.exp(gap), 1.0)
    out = np.zeros_like(r)
    for j, k in itertools.combinations(range(first, ORDER + 1, step), 2):
        turn = np.power(r * o, j) * np.power(o, k - j) * np.expm1((j - k) * gap)
        out += turn * turn / (math.factorial(j) * math.factorial(k))
    return out * np.exp(-r * r - o * o)


def apart(
    means: tuple[Array, Array],
    deviations: tuple[Array, Array],
    covariance: Array,
    gram: Array,
    across: Array,
) -> Array:
    """Return lambda from m, f, k, f_r^2 f_o^2 - k^2 and m_r f_o - m_o f_r."""
    (m, other), (f, g) = means, deviations
    size = np.sqrt(m * m + f * f) * np.sqrt(other * other + g * g)
    # Where squares leave float64 all but one power of the argument is gone.
    left = size > TINY
    size = np.where(left, size, 1.0)
    along, both = m * other + covariance, f * g + covariance
    lost = 2.0 * m * other * gram / np.where(both > 0.0, both, 1.0)
    lost += gram + across * across
    # Of far lengths the difference has its digits, and of opposite ones.
    far = 1.0 - along / size
    found = np.where(far > LEAST, far, lost / (size * (size + np.abs(along))))
    return np.where(left, found, 0.0)


@dataclass(frozen=True)
class ExponentialLengths:
    """Maps of lengths of c e^x + h; see `length_tables.Lengths`."""

    scale: float
    shift: float

    @property
    def _ratio(self) -> float:
        return self.shift / self.scale

    def _mean(self, q: Array) -> Array:
        return np.exp(-0.5 * q) + self._ratio * np.exp(-q)

    def _energy(self, q: Array) -> Array:
        return np.square(self._mean(q)) - np.expm1(-q)

    def gain(self, logs: Array) -> Array:
        """Return log r' - log r at log lengths of shape (m,)."""
        q = np.exp(2.0 * logs)
        return (q + math.log(abs(self.scale))) + (0.5 * np.log(self._energy(q)) - logs)

    def mean(self, logs: Array) -> Array:
        """Return E s(r Z) / r'."""
        q = np.exp(2.0 * logs)
        return math.copysign(1.0, self.scale) * self._mean(q) / np.sqrt(self._energy(q))

    def slope(self, logs: Array) -> Array:
        """Return E s'(r Z)^2."""
        return self.scale**2 * np.exp(2.0 * np.exp(2.0 * logs))

    def growth(self, logs: Array) -> Array:
        """Return the derivative of log r' in log r."""
        q = np.exp(2.0 * logs)
        return q * (2.0 + self._ratio * np.exp(-1.5 * q)) / self._energy(q)

    def turned(self, low: Array, gap: Array, _beside: Array | float = 0.0) -> Array:
        """Return lambda of pairs, from the shorter's log length and the gap, positive."""
        r = np.exp(low)
        delta = r * np.expm1(gap)
        o = r + delta
        rise = 0.5 * delta * (r + o)  # (o^2 - r^2) / 2
        m, other = self._mean(r * r), self._mean(o * o)
        f, g = (np.sqrt(-np.expm1(-v * v)) for v in (r, o))
        k = -np.exp(-0.5 * delta * delta) * np.expm1(-r * o)
        gram = np.where(o < 1.0, gram_of_short(r, gap), _gram(r, o, delta))
        # f_o - f_r and m_o - m_r.
        up = -np.exp(-r * r) * np.expm1(-2.0 * rise) / (f + g)
        down = np.exp(-0.5 * r * r) * np.expm1(-rise)
        down += self._ratio * np.exp(-r * r) * np.expm1(-2.0 * rise)
        across = m * up - f * down
        return apart((m, other), (f, g), k, gram, across)
