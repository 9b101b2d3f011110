r"""Duals of functions with one kink, at zero: the arc-cosine kernels.

With :math:`\rho = \cos\theta` and :math:`(x)_+^m` the step, the ramp or its square,

.. math::
    2\pi\,E[(X)_+^m (Y)_+^m] = J_m(\theta), \qquad
    J_0 = \pi - \theta, \quad
    J_1 = \sin\theta + (\pi - \theta)\cos\theta, \quad
    J_2 = 3\sin\theta\cos\theta + (\pi - \theta)(1 + 2\cos^2\theta)

(Cho, Saul 2009, equations 3 to 7: their kernels are :math:`J_m / \pi`.) ReLU's dual is
:math:`J_1 / 2\pi` and its slope :math:`J_0 / 2\pi`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Row = tuple[Array, float]
"""Hermite coefficients of a polynomial, and the jump of the m-th derivative at zero."""

ODD = 0.1875 - 0.5 / math.pi
"""Energy of the odd part ``x abs(x) / 4`` of the square above order one."""

CHUNK = 8192
"""Points evaluated together: temporaries stay in cache."""

_TWO_PI = 2.0 * math.pi
_DENSITY = 1.0 / math.sqrt(_TWO_PI)

RAMP = ((0.5,), (_DENSITY, 0.5), (0.25, _DENSITY, 0.25 * math.sqrt(2.0)))
"""Hermite coefficients a_0, ..., a_m of (x)_+^m / m!."""

WHOLE = (0.5, 0.5, 0.375)
"""Its second moment."""

REST = (0.25, 0.25 - 0.5 / math.pi, 0.1875 - 0.5 / math.pi)
"""Its energy above order m."""


@dataclass(frozen=True)
class ArcCosine:
    r"""E a(X) b(Y) for a = p + J (x)_+^m / m!, b = q + K (x)_+^m / m!, m = 0, 1, 2.

    .. math:: \sum_{k \le m} c_k \rho^k + \frac{J K}{2\pi\,m!^2} J_m(\theta), \qquad
              c_k = p_k q_k + (J q_k + K p_k) t_k

    with p_k, q_k, t_k the Hermite coefficients of p, q and :math:`(x)_+^m / m!`. Every
    form is a few roundings of the largest of its terms: distances from both ends, the
    covariance from rho = 0, values at -1 + d, however small those are.

    Examples
    --------
    >>> relu = ArcCosine.build(1, (np.zeros(2), 1.0), (np.zeros(2), 1.0))
    >>> relu.dual(np.array([0.0, 1.0])).round(15).tolist()  # 1 / 2 pi and 1/2
    [0.159154943091895, 0.5]
    >>> float(relu.opposite(np.array(2e-200))[1]) * np.pi  # the angle at -1 + d is 2e-100
    1e-100
    """

    m: int
    weight: float  # J K
    outer: tuple[float, ...]  # c_k
    low: tuple[float, ...]  # products of a_k and b_k

    @classmethod
    def build(cls, m: int, a: Row, b: Row) -> "ArcCosine":
        """Return the engine of two functions, each a polynomial and a jump."""
        (p, jump), (q, other) = a, b
        t = np.array(RAMP[m])
        c = p * q + (jump * q + other * p) * t
        low = (p + jump * t) * (q + other * t)
        return cls(m, jump * other, tuple(c.tolist()), tuple(low.tolist()))

    def dual(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)]."""

        def chunk(r: Array) -> Array:
            mirrored = np.arccos(-r)
            return self._outer(r) + self.weight * _kernel(
                self.m, mirrored, _sine(r), -r
            )

        return _by_chunks(chunk, rho)

    def covariance(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)] - E a E b, relative accuracy kept as rho -> 0."""

        def chunk(r: Array) -> Array:
            out = self.weight * _remainder(self.m, r)
            for k in range(self.m, 0, -1):
                out = out + self.low[k] * r**k
            return out

        return _by_chunks(chunk, rho)

    def slope(self, rho: Array, t: Array | None = None) -> Array:
        """Return E[a'(X) b'(Y)]; `t` is arccos rho where better known."""
        if t is not None:
            r, angle = np.ravel(rho), np.ravel(t)
            out = self._slope(r, _kernel(self.m - 1, np.pi - angle, np.sin(angle), -r))
            return out.reshape(np.shape(rho))

        def chunk(r: Array) -> Array:
            return self._slope(r, _kernel(self.m - 1, np.arccos(-r), _sine(r), -r))

        return _by_chunks(chunk, rho)

    def _slope(self, rho: Array, kernel: Array) -> Array:
        out = self.weight * kernel
        for k in range(1, self.m + 1):
            out = out + k * self.outer[k] * rho ** (k - 1)
        return out

    def distance(self, delta: Array) -> Array:
        """Return E a^2 - E[a(X) a(Y)] at rho = 1 - delta, without cancellation."""
        return _by_chunks(self._distance, delta)

    def _distance(self, delta: Array) -> Array:
        # The half of [0, 2] in which the distance to the end is known.
        d = np.minimum(delta, 2.0 - delta)
        left = self.weight * _kernel_series(self.m, _angle(d))
        c = (*self.outer, 0.0, 0.0)
        # From rho = 1: J_m(0) - J_m(theta) is a polynomial +- J_m(pi - theta).
        ahead = (c[1] + (0.5 * self.weight if self.m == 1 else 0.0)) * d
        if self.m == 2:
            ahead += (c[2] + 0.25 * self.weight) * d * (2.0 - d)  # 1 - rho^2
        # From rho = -1 the distance of an even function vanishes again.
        return np.where(delta < 1.0, ahead + (-1.0) ** self.m * left, self._beyond(d))

    def _beyond(self, d: Array) -> Array:
        left = self.weight * _kernel_series(self.m, _angle(d))
        out = self._odd - (self.outer[1] * d if self.m else 0.0) - left
        return out + self.outer[2] * d * (2.0 - d) if self.m == 2 else out

    @property
    def _odd(self) -> float:
        """The dual at 1 less that at -1: twice the energy of the odd parts.

        That of (x)_+^m / m! is half a sign, x / 2 or x |x| / 4, 0, 0 or ODD above order
        one.
        """
        linear = self.low[1] if self.m else 0.25 * self.weight
        return 2.0 * (linear + (ODD * self.weight if self.m == 2 else 0.0))

    def beyond(self, d: Array) -> Array:
        """Return E a^2 - E[a(X) a(Y)] at rho = -1 + d, d < 1, to a relative accuracy."""
        return _by_chunks(self._beyond, d)

    def opposite(self, d: Array) -> tuple[Array, Array]:
        """Return dual and slope at rho = -1 + d <= 0, relative accuracy kept as d -> 0."""
        shape, d = np.shape(d), np.ravel(d)
        angle, rho = _angle(d), d - 1.0
        value = self._outer(rho) + self.weight * _kernel_series(self.m, angle)
        slope = self._slope(rho, _kernel_series(self.m - 1, angle))
        return value.reshape(shape), slope.reshape(shape)

    def _outer(self, rho: Array) -> Array:
        out = np.full_like(rho, self.outer[-1])
        for c in self.outer[-2::-1]:
            out = out * rho + c
        return out


def _by_chunks(f: Callable[[Array], Array], x: Array) -> Array:
    x = np.asarray(x, dtype=np.float64)
    if x.size <= CHUNK:
        return f(x.ravel()).reshape(x.shape)
    parts = np.array_split(x.ravel(), -(-x.size // CHUNK))
    return np.concatenate([f(part) for part in parts]).reshape(x.shape)


def _sine(rho: Array) -> Array:
    return np.sqrt((1.0 - rho) * (1.0 + rho))


def _angle(d: Array) -> Array:
    """Return the angle whose cosine is 1 - d."""
    # The square root first: half of the least number is zero.
    angle = 2.0 * np.arcsin(0.5 * np.sqrt(2.0 * np.minimum(d, 1.0)))
    far = np.flatnonzero(d >= 1.0)
    angle[far] = np.arccos(1.0 - d[far])
    return angle


# sin w - w cos w = w^3 sum_n (-1)^n (2n + 2) / (2n + 3)! w^2n, and
# w (2 + cos 2w) - 3/2 sin 2w = u^5 / 2 sum_n (-1)^n (2n + 2) / (2n + 5)! u^2n, u = 2 w.
_FIRST = [(-1.0) ** n * (2 * n + 2) / math.factorial(2 * n + 3) for n in range(12)]
_SECOND = [(-1.0) ** n * (2 * n + 2) / math.factorial(2 * n + 5) for n in range(15)]
_SMALL = (0.0, 1.0, 1.25)
"""Angles below which the closed form has lost digits, and the series is used."""


def _kernel(m: int, w: Array, sine: Array, cosine: Array) -> Array:
    """J_m(pi - w) / (2 pi m!^2), relative accuracy kept as w -> 0; for -1 J_0's slope."""
    if m < 0:
        with np.errstate(divide="ignore"):
            return 1.0 / (_TWO_PI * sine)
    if m == 0:
        return w / _TWO_PI
    if m == 1:
        out = (sine - w * cosine) / _TWO_PI
    else:
        out = (w * (1.0 + 2.0 * cosine * cosine) - 3.0 * sine * cosine) / (
            4.0 * _TWO_PI
        )
    small = w < _SMALL[m]
    if small.any():
        out[small] = _kernel_series(m, w[small])
    return out


def _kernel_series(m: int, w: Array) -> Array:
    """Return the same for w <= pi/2, where terms left out are below 1e-18 of it."""
    if m <= 0:
        return _kernel(m, w, np.sin(w), w)
    # Products: a power of an array costs as much as the rest.
    v = m * w
    square = v * v
    if m == 1:
        return square * v * _series(_FIRST, square) / _TWO_PI
    return square * square * v * _series(_SECOND, square) / (8.0 * _TWO_PI)


# arcsin x - x = x^3 sum_n (2n + 1)!! / ((2n + 2)!! (2n + 3)) x^2n
_ARCSINE = [
    math.comb(2 * n + 2, n + 1) / (4.0 ** (n + 1) * (2 * n + 3)) for n in range(24)
]


def _remainder(m: int, rho: Array) -> Array:
    """int_0^rho (rho - r)^m / m! dr / (2 pi sqrt(1 - r^2)): the kernel above order m."""
    angle = np.arcsin(rho)
    if m == 0:
        return angle / _TWO_PI
    square = rho * rho
    versine = square / (1.0 + _sine(rho))  # 1 - cos
    if m == 1:
        return (rho * angle - versine) / _TWO_PI
    small = np.abs(rho) < 0.5
    excess = np.where(small, rho * square * _series(_ARCSINE, square), angle - rho)
    return (0.5 * excess + square * angle - 1.5 * rho * versine) / (2.0 * _TWO_PI)


def _series(c: list[float], x: Array) -> Array:
    out = np.full_like(x, c[-1])
    for v in c[-2::-1]:
        out *= x
        out += v
    return out
