r"""Piecewise linear activations at pairs of lengths, in closed form where nothing cancels.

For standard Gaussians u, v of correlation :math:`\rho`, :math:`s = \sqrt{1 - \rho^2}` and
kinks at h and k,

.. math::

   L = P(u > h, v > k), \qquad
   E (u - h)_+ (v - k)_+ = (\rho + h k) L + s^2 \varphi_2(h, k)
       - h \varphi(k) \Phi\Bigl(\frac{\rho k - h}{s}\Bigr)
       - k \varphi(h) \Phi\Bigl(\frac{\rho h - k}{s}\Bigr),

whose derivative in :math:`\rho` is L, by Owen's function T (Owen, 1956).
"""

import math

import numpy as np
import numpy.typing as npt

from theory import gaussian
from theory.activations import PiecewisePolynomial

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

LEAST = 2.0**-7
"""Distance from +-1 from which differences of the formula are good to 1e-13,"""

SHARE = 0.02
"""where this much is left of the mean product of the slopes, over the jumps' sizes."""


def determined(activation: PiecewisePolynomial, end: Array, d: Array) -> Mask:
    """Return the pairs that the formula determines; `end` is S at rho = 1."""
    size = abs(activation._far_left) + sum(map(abs, activation.jumps))
    return (d >= LEAST) & (end >= SHARE * size * size)


def integrals(
    activation: PiecewisePolynomial, r: Array, other: Array, rho: Array, d: Array
) -> tuple[Array, Array, Array]:
    """Return, for pairs (m,), integrals of S over [0, rho] and over [rho, 1], and S.

    `d` is 1 - |rho|. Ramps rise away from zero on both sides, so that far ones are small.
    """
    square, gap = d * (2.0 - d), np.where(rho > 0.0, d, 2.0 - d)
    kinks = tuple(zip(activation.kinks, activation.jumps, strict=True))
    middle = activation._far_left + sum(a for c, a in kinks if c < 0.0)
    constant = np.full_like(rho, middle * middle)
    sizes: dict[tuple[float, float, float], float] = {}
    for c, a in kinks:
        side = -1.0 if c < 0.0 else 1.0
        constant += middle * a * side * gaussian.cdf(-abs(c) / r)
        constant += middle * a * side * gaussian.cdf(-abs(c) / other)
        for e, b in kinks:
            pair = abs(c), abs(e), -side if e < 0.0 else side
            sizes[pair] = sizes.get(pair, 0.0) + a * b
    inner, lost, slope = np.zeros((3, len(rho)))
    for (c, e, sign), size in sizes.items():
        h, k = c / r, e / other
        here, area = _ramps(h, k, sign * rho, square)
        none = (gaussian.pdf(h) - h * gaussian.cdf(-h)) * (
            gaussian.pdf(k) - k * gaussian.cdf(-k)
        )
        full = _together(h, k) if sign > 0.0 else 0.0
        inner += size * (here - none)
        lost += size * (full - here)
        slope += (size * sign) * area
    return inner + constant * rho, lost + constant * gap, slope + constant


def _ramps(h: Array, k: Array, rho: Array, square: Array) -> tuple[Array, Array]:
    """Return E (u - h)_+ (v - k)_+ and P(u > h, v > k), `square` is sin^2 t."""
    s = np.sqrt(square)
    up, across = (rho * k - h) / s, (rho * h - k) / s
    both = np.exp(-0.5 * (np.square(h) + np.square(across))) / (2.0 * math.pi * s)
    area = _area(h, k, rho, s)
    value = (rho + h * k) * area + square * both
    value -= h * gaussian.pdf(k) * gaussian.cdf(up)
    value -= k * gaussian.pdf(h) * gaussian.cdf(across)
    return value, area


def _together(h: Array, k: Array) -> Array:
    """Return E (u - h)_+ (u - k)_+."""
    most = np.maximum(h, k)
    whole = (1.0 + h * k) * gaussian.cdf(-most)
    return whole - np.minimum(h, k) * gaussian.pdf(most)


def _area(h: Array, k: Array, rho: Array, s: Array) -> Array:
    """Return P(u > h, v > k) for h and k that are not negative."""
    from scipy.special import owens_t

    if not h.any() and not k.any():
        return 0.25 + np.arctan2(rho, s) / (2.0 * math.pi)
    out = 0.5 * (gaussian.cdf(-h) + gaussian.cdf(-k))
    with np.errstate(divide="ignore", invalid="ignore"):
        out -= np.where(h > 0.0, owens_t(h, (k - rho * h) / (h * s)), 0.25)
        out -= np.where(k > 0.0, owens_t(k, (h - rho * k) / (k * s)), 0.25)
    return out
