r"""Wide kernels on the segment: the discrepancy as a series in the inverse bandwidth.

For the signed measure mu = law - uniform on [0, 1] with moments ``m_j`` about 1/2, so
that ``m_0 = 0``,

.. math:: \iint e^{-(p-q)^2/\gamma^2} d\mu\, d\mu = \sum_{k\ge1}
    \frac{(-1)^k}{k!\,\gamma^{2k}} \sum_{j=1}^{2k-1} (-1)^j \binom{2k}{j} m_j m_{2k-j}

What cancels in the closed form, ``1 - 2 + 1`` to start with, is absent here.
"""

import math

import numpy as np
import numpy.typing as npt

from theory import _twofold as two

Array = npt.NDArray[np.float64]

WIDE = 0.5
"""The least bandwidth the series is used for."""

TERMS = 36
"""At gamma = 1/2 the terms fall as 4^k / k!, and the last is below 1e-19."""


def deviations(c: Array) -> Array:
    """Return ``c^j - E c^j``, j < 2 TERMS, on a new first axis; c is p - 1/2."""
    out = np.empty((2 * TERMS, *c.shape))
    power = np.ones_like(c)
    for j in range(2 * TERMS):
        # The uniform law's moments about 1/2.
        out[j] = power - (0.0 if j % 2 else 0.5**j / (j + 1))
        power = power * c
    return out


def discrepancy(moments: Array, gamma: Array) -> Array:
    """Sum the series for moments on the first axis; other axes broadcast with `gamma`."""
    step = gamma**-2.0
    out = np.zeros(np.broadcast_shapes(moments.shape[1:], gamma.shape))
    for k in range(TERMS, 0, -1):
        out = _order(moments, k) - step / (k + 1.0) * out
    return -step * out


def gap(gamma: Array) -> Array:
    """Return 1 - E k(u, u') of two uniform points, from gamma = 1 on."""
    # E |u - u'|^(2k) = 1 / ((k + 1)(2k + 1)).
    step, out = gamma**-2.0, np.zeros_like(gamma)
    for k in range(20, 0, -1):
        out = 1.0 / ((k + 1) * (2 * k + 1)) - step / (k + 1) * out
    return step * out


def _order(moments: Array, k: int) -> Array:
    signs = [(-1) ** j * math.comb(2 * k, j) for j in range(1, 2 * k)]
    weights = np.array(signs, dtype=np.float64)
    left, right = moments[1 : 2 * k], moments[2 * k - 1 : 0 : -1]
    return np.tensordot(weights, left * right, axes=1)


def exp_minus_square(q: Array, gamma: Array) -> Array:
    """Return ``exp(-(q / gamma)^2)`` with a relative error of a few eps, tails too."""
    mantissa, power = np.frexp(gamma)
    with np.errstate(over="ignore"):
        part = np.ldexp(q, -power)
        # exp(-900) is 0; the exact products below stay in range.
        part = np.where(part > 30.0 * mantissa, 30.0 * mantissa, part)
    ratio = part / mantissa
    whole, error = two.multiply_exactly(ratio, mantissa)
    rest = ((part - whole) - error) / mantissa
    square, low = two.multiply_exactly(ratio, ratio)
    return np.exp(-square) * (1.0 - (low + 2.0 * ratio * rest))
