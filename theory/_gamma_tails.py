"""Upper tails of the gamma law where SciPy's series is cut short."""

import numpy as np
import numpy.typing as npt
import scipy.special as sp
from numpy.polynomial.polynomial import polyval

Array = npt.NDArray[np.float64]

LARGE = 1e5
"""SciPy sums 2,000 terms; below 4.5 deviations from the mean, 5 sqrt(a) are needed."""

SKEW = (-1 / 3, 1 / 12, -2 / 135, 1 / 864)
"""Temme's C_0, in powers of eta: what is left out is below rounding."""

NEXT = -1 / 540
"""The same of C_1, which is divided by a."""

EXPANDED = (-np.euler_gamma, np.pi**2 / 12, -sp.zeta(3) / 3, np.pi**4 / 360)
"""Of log Gamma(1 + a) over a, in powers of a."""


def upper(a: Array, x: Array) -> Array:
    """Return Q(a, x), at any a: below the mean by Temme's uniform expansion."""
    # A quarter above a large mean nothing is left, and SciPy is lost where a is 1e307.
    far = (a > LARGE) & (x > 1.25 * a)
    out = np.where(far, 0.0, sp.gammaincc(np.where(far, 1.0, a), x))
    low = (a > LARGE) & (x < a - 4.0 * np.sqrt(a))
    if not low.any():
        return out
    # At three tenths below the mean the lower tail has vanished.
    eta = -np.sqrt(2.0 * less_log(np.clip(x / a - 1.0, -0.3, 0.0)))
    skew = polyval(eta, SKEW) + NEXT / a
    wave = np.exp(-0.5 * a * eta * eta) / np.sqrt(2.0 * np.pi * a)
    lower = 0.5 * sp.erfc(-eta * np.sqrt(0.5 * a)) - skew * wave
    return np.where(low, 1.0 - lower, out)


def log_after_one(a: Array) -> Array:
    """Return log Gamma(1 + a), a > 0, with a relative error of 1e-12 for small a too."""
    small = np.minimum(a, 1e-3)
    series = small * polyval(small, EXPANDED)
    return np.where(a == small, series, sp.gammaln(1.0 + a))


def less_log(u: Array) -> Array:
    """Return ``u - log(1 + u)``, u > -1, with a relative error of a few eps."""
    # log(1 + u) = 2 artanh r: 2r leaves u r, of the order u^2 as the result.
    near = np.clip(u, -0.5, 1.0)
    r = near / (2.0 + near)
    series = np.zeros_like(r)
    for k in range(37, 1, -2):
        series = 1.0 / k + r * r * series
    return np.where(u == near, r * (near - 2.0 * r * r * series), u - np.log1p(u))
