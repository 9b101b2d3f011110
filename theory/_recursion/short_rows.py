r"""Rows of one direction that are shorter than the kinks of a piecewise linear activation.

Without its kinks the activation would be linear on both sides of zero, and rows of one
direction stay of one: only :math:`w(z) = s(o z)/o - s(r z)/r`, which is nothing nearer to
zero than a kink of the longer row, takes them apart. With :math:`A = s(r z)/r` and B of the
other row,

.. math::

   \lambda (2 - \lambda) = \frac{|A|^2 |w|^2 - (A \cdot w)^2}{|A|^2 |B|^2},

where little is taken away, as w is on tails of the Gaussian alone: however small
:math:`\lambda` is, it keeps its digits.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import gaussian
from theory._recursion.tangents import slopes_at_zero
from theory.activations import Activation, PiecewisePolynomial
from theory.activations.affine import split

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

NODES = 40
"""Of a panel between kinks, which has at most `REACH` standard deviations."""

REACH = 90.0
"""The Gaussian is followed to this much of z^2 beyond the nearest kink: to 3e-20."""

TOGETHER = 1 << 16
"""Nodes evaluated together."""


@dataclass(frozen=True)
class Side:
    """s on one side of zero: ``slope x + sum jumps (x - kinks)_+`` for positive x."""

    slope: float
    kinks: tuple[float, ...]
    jumps: tuple[float, ...]


def sides(activation: Activation) -> tuple[Side, ...]:
    """Return s to the right of zero and to the left; none where the above is not so."""
    base, scale, shift = split(activation)
    if not isinstance(base, PiecewisePolynomial) or base.m != 1 or shift:
        return ()
    if float(base._value(np.zeros(1))[0]) != 0.0:
        return ()
    kinks, out = list(zip(base.kinks, base.jumps, strict=True)), list[Side]()
    left, right = slopes_at_zero(activation)
    for sign, slope in ((1.0, right), (-1.0, left)):
        beyond = [(abs(c), scale * a) for c, a in kinks if sign * c > 0.0]
        out.append(
            Side(sign * slope, tuple(c for c, _ in beyond), tuple(a for _, a in beyond))
        )
    return tuple(out) if any(s.slope and s.kinks for s in out) else ()


def short(activation: Activation, longer: Array) -> Mask:
    """Return which pairs, by the log length of the longer row, are before all kinks."""
    found = sides(activation)
    least = min((c for s in found for c in s.kinks), default=0.0)
    return longer <= (math.log(least) if least else -math.inf)


def turned(
    activation: Activation, low: Array, gap: Array, gains: tuple[Array, Array]
) -> Array:
    """Return lambda of log lengths `low` and ``low + gap``, (m,).

    `gains` are the logarithms of what both lengths are multiplied by.
    """
    change, along = np.zeros_like(low), np.zeros_like(low)
    for side in sides(activation):
        step = max(1, TOGETHER // (NODES * 2 * max(1, len(side.kinks))))
        for start in range(0, len(low) if side.kinks else 0, step):
            at = slice(start, start + step)
            square, product = _tails(side, low[at], gap[at])
            change[at] += square
            along[at] += product
    size, other = (np.exp(2.0 * g) for g in gains)
    q = np.maximum(size * change - np.square(along), 0.0) / (size * other)
    return q / (1.0 + np.sqrt(np.maximum(1.0 - q, 0.0)))


def _tails(side: Side, low: Array, gap: Array) -> tuple[Array, Array]:
    """Return the integrals of w^2 and of A w over one side."""
    # Kinks of both rows, and their distance without a cancellation.
    far = [c * np.exp(-low) for c in side.kinks]
    step = [-h * np.expm1(-gap) for h in far]
    near = [h - e for h, e in zip(far, step, strict=True)]
    first = np.min(near, axis=0)
    last = np.sqrt(np.square(first) + REACH)
    edges = np.minimum(np.sort([*near, *far, last], axis=0), last)
    x, weight = gaussian.legendre(NODES)
    square, product = np.zeros_like(low), np.zeros_like(low)
    for a, b in itertools.pairwise(edges):
        half = 0.5 * (b - a)
        z = a + half * (1.0 + x[:, None])
        own, change = side.slope * z, np.zeros_like(z)
        for h, k, e, jump in zip(far, near, step, side.jumps, strict=True):
            own += jump * np.maximum(z - h, 0.0)
            change += jump * np.clip(z - k, 0.0, e)
        density = half * weight[:, None] * gaussian.pdf(z)
        square += (density * change * change).sum(axis=0)
        product += (density * own * change).sum(axis=0)
    return square, product
