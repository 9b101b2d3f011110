r"""Lengths after a power that may be shifted, :math:`s(x) = c\,b(x) + h` of degree m.

Over :math:`c\,r^m`, with :math:`b(r x) = r^m b(x)` and :math:`g = h / c`, the mean of s is
:math:`M = E\,b + g r^{-m}` and the deviation v that of b: rows of one direction stay in a
plane, and of two lengths they are apart by the angle :math:`\alpha`,

.. math:: \lambda = 1 - \cos \alpha, \qquad
   \sin \alpha = \frac{v\,(M_o - M_r)}{\sqrt{(M_r^2 + v^2)(M_o^2 + v^2)}}, \qquad
   M_o - M_r = g r^{-m} (e^{-m (l_o - l_r)} - 1) .

Without a shift, or of degree zero, they stay parallel.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory._cached import cached_property
from theory.activations import Activation
from theory.activations.affine import split

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PowerLengths:
    """Maps of lengths of c b(x) + h, b(r x) = r^m b(x); see `length_tables.Lengths`."""

    activation: Activation
    m: int

    @cached_property
    def _shift(self) -> float:
        """G, where rows are turned by it."""
        _, scale, shift = split(self.activation)
        return shift / scale if self.m else 0.0

    def _parts(self, logs: Array) -> tuple[Array, Array, Array, Array]:
        """Return the log of a size, and over it M, v and g r^-m; M^2 + v^2 is about one."""
        base = split(self.activation)[0]
        power = math.log(abs(self._shift)) - self.m * logs
        size = np.maximum(power, 0.5 * math.log(base.second_moment))
        turn = math.copysign(1.0, self._shift) * np.exp(power - size)
        mean, v = (f * np.exp(-size) for f in (base.mean, math.sqrt(base.variance)))
        return size, mean + turn, v, turn

    def gain(self, logs: Array) -> Array:
        """Return log r' - log r at log lengths of shape (m,)."""
        if not self._shift:
            own = 0.5 * math.log(self.activation.second_moment)
            return own + (self.m - 1) * logs
        size, mean, v, _ = self._parts(logs)
        own = math.log(abs(split(self.activation)[1])) + np.log(np.hypot(mean, v))
        return (self.m - 1) * logs + size + own

    def mean(self, logs: Array) -> Array:
        """Return E s(r Z) / r'."""
        a = self.activation
        if not self._shift:
            return np.full_like(logs, a.mean / math.sqrt(a.second_moment))
        _, mean, v, _ = self._parts(logs)
        return math.copysign(1.0, split(a)[1]) * mean / np.hypot(mean, v)

    def slope(self, logs: Array) -> Array:
        """Return E s'(r Z)^2."""
        one = self.activation.derivative_second_moment
        return one * np.exp(2.0 * (self.m - 1) * logs)

    def growth(self, logs: Array) -> Array:
        """Return the derivative of log r' in log r."""
        if not self._shift:
            return np.full_like(logs, self.m)
        _, mean, v, turn = self._parts(logs)
        return self.m * ((mean - turn) * mean + v * v) / (mean * mean + v * v)

    def turned(self, low: Array, gap: Array, _beside: Array | float = 0.0) -> Array:
        """Return lambda of pairs, from the shorter's log length and the gap, positive."""
        if not self._shift:
            return np.zeros_like(gap)
        _, mean, v, turn = self._parts(low)
        _, other, w, _ = self._parts(low + gap)
        size, both = np.hypot(mean, v), np.hypot(other, w)
        sine = (turn / size) * np.expm1(-self.m * gap) * (w / both)
        cosine = (mean / size) * (other / both) + (v / size) * (w / both)
        # Asked of near rows alone.
        return sine * sine / (1.0 + cosine)
