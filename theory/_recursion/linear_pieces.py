r"""Piecewise linear activations at pairs of lengths, next to the ends of the angle.

With jumps :math:`J_k` of the slope at :math:`c_k`, arguments of lengths r and o and
correlation cos t,

.. math:: \frac{dS}{dt} = -w(t), \qquad w(t) = \frac{1}{2\pi} \sum_{k,l} J_k J_l
   \exp\left(-\frac{c^2 - 2 c d \cos t + d^2}{2 \sin^2 t}\right),
   \qquad c = c_k / r,\quad d = c_l / o,

for the mean product of slopes S. Kinks that nearly meet make w vanish like
:math:`e^{-(c-d)^2/2t^2}` at small angles: panels are octaves of the angle.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from theory import gaussian
from theory._recursion import orthants
from theory.activations import PiecewisePolynomial
from theory.duals.truncated import balanced

Array = npt.NDArray[np.float64]

NODES = 16

TOGETHER = 16384
"""Nodes of all pairs evaluated together."""

SMALLEST = 1e-16
"""Angles below which nothing is gained."""


def density(
    activation: PiecewisePolynomial, r: Array, other: Array, t: Array, sign: Array
) -> Array:
    """Return w at angles t (nodes, m) of pairs (m,) to the nearer end.

    `sign` is -1 where that is rho = -1.
    """
    out = np.zeros_like(t)
    with np.errstate(divide="ignore"):
        sine = 1.0 / np.sin(t)
    cosine = np.square(1.0 / np.cos(0.5 * t))
    kinks = tuple(zip(activation.kinks, activation.jumps, strict=True))
    # Slopes to both ends of bounded functions are the same.
    bounded = balanced(activation.jumps)
    less, largest = (np.zeros_like(t if bounded else 0.0) for _ in range(2))
    for c, a in kinks:
        for d, b in kinks:
            near, far = c / r, sign * d / other
            # Positive terms: (c - d)^2 / sin^2 t + c d / cos^2(t/2). Next to the end the
            # first is infinite, or nothing where kinks meet.
            with np.errstate(invalid="ignore", over="ignore"):
                each = np.square(np.where(near == far, 0.0, (near - far) * sine))
            each += (near * far) * cosine
            each *= -0.5
            if bounded:
                less += (a * b) * np.expm1(each)
                np.minimum(largest, each, out=largest)
            out += (a * b) * np.exp(each, out=each)
    if bounded:
        # Of long arguments the densities at all kinks are nearly the same.
        out = np.where(largest > -1.0, less, out)
    return out / (2.0 * np.pi)


def _tail(activation: PiecewisePolynomial, x: Array) -> Array:
    """Return P(Z > x), or what it is more than 1/2 where that makes no difference.

    Jumps that add up to zero lose a half of each; kinks of long arguments, near zero,
    then keep their digits.
    """
    if balanced(activation.jumps):
        from scipy.special import erf

        return -0.5 * erf(x / math.sqrt(2.0))
    return gaussian.cdf(-x)


def slope_at(activation: PiecewisePolynomial, r: Array, other: Array) -> Array:
    """Return E s'(r Z) s'(o Z): tail probabilities of the farther of two kinks."""
    low = activation._far_left
    total = np.full(np.shape(r), low * low)
    kinks = tuple(zip(activation.kinks, activation.jumps, strict=True))
    for c, a in kinks:
        total += low * a * (_tail(activation, c / r) + _tail(activation, c / other))
        for d, b in kinks:
            total += a * b * _tail(activation, np.maximum(c / r, d / other))
    return total


def mean_slope(activation: PiecewisePolynomial, r: Array) -> Array:
    """Return E s'(r Z)."""
    low = activation._far_left
    out = np.full(np.shape(r), low)
    for c, a in zip(activation.kinks, activation.jumps, strict=True):
        out += a * _tail(activation, c / r)
    return out


def angle_integrals(
    activation: PiecewisePolynomial, r: Array, other: Array, rho: Array, d: Array
) -> tuple[Array, Array, Array]:
    """Return, for pairs (m,), integrals of S over [0, rho] and over [rho, 1], and S.

    `d` is 1 - |rho|. The second is given for positive rho only.
    """
    out = np.empty((3, len(rho)))
    known = orthants.determined(activation, slope_at(activation, r, other), d)
    at = np.flatnonzero(known)
    out[:, at] = orthants.integrals(activation, r[at], other[at], rho[at], d[at])
    at = np.flatnonzero(~known)
    out[:, at] = _by_angles(activation, r[at], other[at], rho[at], d[at])
    return out[0], out[1], out[2]


def _by_angles(
    activation: PiecewisePolynomial, r: Array, other: Array, rho: Array, d: Array
) -> Array:
    """Integrate w from both ends of the angle, (3, m)."""
    out = np.empty((3, len(rho)))
    each = _octaves(activation.kinks, activation.kinks, r, other, d)
    # Pairs take as many octaves as the most of their group, to the end and to pi/2.
    wide = np.log2(0.5 * math.pi / np.maximum(np.sqrt(d), SMALLEST))
    group = np.ceil(np.log2(each)) + 8.0 * np.ceil(np.log2(np.maximum(wide, 1.0)))
    for k in np.unique(group):
        at = np.flatnonzero(group == k)
        most = int(each[at].max())
        out[:, at] = _together(activation, r[at], other[at], rho[at], d[at], most)
    return out


def _octaves(
    kinks: Sequence[float],
    others: Sequence[float],
    r: Array,
    other: Array,
    d: Array,
) -> Array:
    """Return octaves of the angle over which densities at kinks vary, of pairs (m,).

    At least one. The kinks of the second function are the `others`.

    Towards rho = 1: at the other end nothing is integrated from there.
    """
    t = 2.0 * np.arcsin(np.sqrt(0.5 * d))
    least = np.full_like(t, np.inf)
    for c in kinks:
        for e in others:
            gap = np.abs(c / r - e / other)
            least = np.minimum(least, np.where(gap > 0.0, gap, np.inf))
    # Kinks a distance g apart leave nothing below angles of g / 12.
    with np.errstate(divide="ignore"):
        return np.maximum(np.ceil(np.log2(12.0 * t / np.maximum(least, 1e-15))), 1.0)


def _together(
    activation: PiecewisePolynomial,
    r: Array,
    other: Array,
    rho: Array,
    d: Array,
    octaves: int,
) -> tuple[Array, Array, Array]:
    """Return what `angle_integrals` does, all by panels of so many octaves."""
    sign = np.where(rho < 0.0, -1.0, 1.0)
    t = 2.0 * np.arcsin(np.sqrt(0.5 * d))
    lost, held, lost_slope = _from_end(activation, r, other, t, sign, octaves)
    end = slope_at(activation, r, other)
    slope, whole = end - lost_slope, d * end - lost
    first = mean_slope(activation, r) * mean_slope(activation, other)
    gained, gained_slope = from_right_angle(activation, r, other, t, sign)
    mean = rho * first + gained
    # Where slopes meet at the end alone, little of it is left: from the right angle.
    far = first + gained_slope
    better = (rho < 0.0) | (np.abs(far) < 0.5 * np.abs(end))
    slope = np.where(better, far, slope)
    return mean, np.where(better, d * slope + held, whole), slope


def _from_end(
    activation: PiecewisePolynomial,
    r: Array,
    other: Array,
    t: Array,
    sign: Array,
    octaves: int,
) -> tuple[Array, Array, Array]:
    """Return what distance and slope lose from the nearer end to angles t (m,).

    Between them what the distance is more than it would be with the slope there.
    """
    shares, weights = gaussian.composite(
        np.append(0.0, 2.0 ** np.arange(-octaves, 1.0)), NODES
    )
    lost, held, lost_slope = np.zeros((3, len(t)))
    for at in _blocks(t, len(shares)):
        u = shares[:, None] * t[at]
        each = density(activation, r[at], other[at], u, sign[at])
        each *= weights[:, None] * t[at]
        lost_slope[at] = each.sum(axis=0)
        if (sign[at] > 0.0).any():  # at the other end it is not asked for
            held[at] = 2.0 * (each * np.square(np.sin(0.5 * u))).sum(axis=0)
        each *= np.sin(0.5 * (t[at] + u)) * np.sin(0.5 * (t[at] - u))
        lost[at] = 2.0 * each.sum(axis=0)
    return lost, held, lost_slope


def from_right_angle(
    activation: PiecewisePolynomial, r: Array, other: Array, t: Array, sign: Array
) -> tuple[Array, Array]:
    """Return what covariance and S, at angles t to the nearer end, are more than at pi/2.

    The first less rho times the slope there; of pairs (m,).
    """
    x, w = gaussian.legendre(NODES)
    x, w = 0.5 * (1.0 + x), 0.5 * w
    gained, gained_slope = np.empty_like(t), np.empty_like(t)
    least = max(float(t.min(initial=1.0)), SMALLEST)
    count = max(1, math.ceil(math.log2(0.5 * math.pi / least)))
    shares = np.arange(count + 1.0)[:, None] / count
    for at in _blocks(t, count * NODES):
        here = np.maximum(t[at], SMALLEST)
        edges = here * (0.5 * np.pi / here) ** shares
        wide = np.diff(edges, axis=0)[:, None]
        u = (edges[:-1, None] + wide * x[:, None]).reshape(-1, len(here))
        each = density(activation, r[at], other[at], u, sign[at])
        each *= (wide * w[:, None]).reshape(u.shape)
        gained_slope[at] = sign[at] * each.sum(axis=0)
        each *= np.cos(t[at]) - np.cos(u)
        gained[at] = each.sum(axis=0)
    return gained, gained_slope


def _blocks(t: Array, nodes: int) -> list[slice]:
    """Divide pairs so that temporaries of so many nodes stay in cache."""
    step = max(1, TOGETHER // nodes)
    return [slice(start, start + step) for start in range(0, len(t), step)]
