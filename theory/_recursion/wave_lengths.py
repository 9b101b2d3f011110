r"""Lengths after a sine or a cosine, :math:`s(x) = c \sin x + h` or c cos x + h.

Over c, with :math:`g = h / c`, the mean of s is :math:`m = g`, or
:math:`e^{-r^2/2} + g`, the deviation f and the covariance k of two rows of one direction
are

.. math::

   f^2 = \tfrac12 (1 - e^{-2 r^2}), \quad
   k = \tfrac12 e^{-\delta^2/2} (1 - e^{-2 r o}) \qquad\text{or}\qquad
   f^2 = \tfrac12 (1 - e^{-r^2})^2, \quad
   k = \tfrac12 e^{-\delta^2/2} (1 - e^{-r o})^2,

:math:`\delta = o - r`; their distance is that of `exponential_lengths`.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory._recursion.exponential_lengths import apart, gram_of_short

Array = npt.NDArray[np.float64]


def _gram(r: Array, o: Array, delta: Array) -> Array:
    r"""f_r^2 f_o^2 - k^2 of the sine: sinh r^2 sinh o^2 - sinh^2 ro over exp(r^2 + o^2)."""
    across = np.exp(-r * r) * np.expm1(-delta * (r + o))
    both = np.expm1(-(4.0 * r * o + delta * delta)) * np.expm1(-delta * delta)
    return 0.25 * (both - across * across)


@dataclass(frozen=True)
class WaveLengths:
    """Maps of lengths of c sin x + h or c cos x + h; see `length_tables.Lengths`."""

    scale: float
    shift: float
    odd: bool

    @property
    def _ratio(self) -> float:
        return self.shift / self.scale

    def _mean(self, q: Array) -> Array:
        return self._ratio + (0.0 * q if self.odd else np.exp(-0.5 * q))

    def _deviation(self, q: Array) -> Array:
        if self.odd:
            return np.sqrt(-0.5 * np.expm1(-2.0 * q))
        return -np.sqrt(0.5) * np.expm1(-q)

    def _energy(self, q: Array) -> Array:
        return np.square(self._mean(q)) + np.square(self._deviation(q))

    def gain(self, logs: Array) -> Array:
        """Return log r' - log r at log lengths of shape (m,)."""
        q = np.exp(2.0 * logs)
        return 0.5 * np.log(self.scale**2 * self._energy(q)) - logs

    def mean(self, logs: Array) -> Array:
        """Return E s(r Z) / r'."""
        q = np.exp(2.0 * logs)
        return np.copysign(1.0, self.scale) * self._mean(q) / np.sqrt(self._energy(q))

    def slope(self, logs: Array) -> Array:
        """Return E s'(r Z)^2."""
        far = np.exp(-2.0 * np.exp(2.0 * logs))
        near = -np.expm1(-2.0 * np.exp(2.0 * logs))
        return (0.5 * self.scale**2) * (1.0 + far if self.odd else near)

    def growth(self, logs: Array) -> Array:
        """Return the derivative of log r' in log r."""
        q = np.exp(2.0 * logs)
        change = np.exp(-2.0 * q)
        if not self.odd:
            change = -(change + self._ratio * np.exp(-0.5 * q))
        return q * change / self._energy(q)

    def turned(self, low: Array, gap: Array, _beside: Array | float = 0.0) -> Array:
        """Return lambda of pairs, from the shorter's log length and the gap, positive."""
        r = np.exp(low)
        delta = r * np.expm1(gap)
        o = r + delta
        rise = 0.5 * delta * (r + o)  # (o^2 - r^2) / 2
        f, g = self._deviation(r * r), self._deviation(o * o)
        if self.odd:
            k = -0.5 * np.exp(-0.5 * delta * delta) * np.expm1(-2.0 * r * o)
            gram = _gram(r, o, delta)
            up = -0.5 * np.exp(-2.0 * r * r) * np.expm1(-4.0 * rise) / (f + g)
            down = np.zeros_like(r)
        else:
            # The cosine's f f' - k is the sine's f^2 f'^2 - k^2 at lengths over sqrt 2.
            k = 0.5 * np.exp(-0.5 * delta * delta) * np.square(np.expm1(-r * o))
            root = np.sqrt(0.5)
            gram = 2.0 * _gram(root * r, root * o, root * delta) * (f * g + k)
            up = -root * np.exp(-r * r) * np.expm1(-2.0 * rise)
            down = np.exp(-0.5 * r * r) * np.expm1(-rise)
        first = 1 if self.odd else 2
        gram = np.where(o < 1.0, gram_of_short(r, gap, first, 2), gram)
        m, other = self._mean(r * r), self._mean(o * o)
        return apart((m, other), (f, g), k, gram, m * up - f * down)
