"""Spherical harmonics of one degree: how many, and their zonal polynomial."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory.spectrum._inputs import MOST, counts, degrees, dimension

Array = npt.NDArray[np.float64]


def log_multiplicity(degree: Any, dim: int) -> Any:
    r"""Return log N(d, k), the log of the number of spherical harmonics of a degree.

    .. math:: N(d, k) = \frac{2k + d - 2}{k} \binom{k + d - 3}{k - 1}, \qquad N(d, 0) = 1

    Parameters
    ----------
    degree : int or array_like of int
        k, at least 0.
    dim : int
        d, of the space around the sphere; at least 2.

    Returns
    -------
    float or array
        To the last digit, from the exact whole number.

    Raises
    ------
    ValueError
        For a degree or a dimension that is not such a number.

    Examples
    --------
    >>> round(log_multiplicity(500, 1000), 6)
    950.4243
    """
    k, d = degrees("log_multiplicity", degree), dimension("log_multiplicity", dim)
    out = np.array([math.log(v) for v in counts(k, d)])
    return _checks.like(degree, out.reshape(k.shape))


def multiplicity(degree: Any, dim: int) -> Any:
    """Return N(d, k), the number of spherical harmonics of a degree, rounded once.

    Parameters as `log_multiplicity`; ValueError also where it is beyond float64.

    Examples
    --------
    Every harmonic of degree k in three dimensions, and of degree 2 in ten (a symmetric
    matrix without trace):

    >>> multiplicity([0, 1, 2, 3], 3).tolist(), multiplicity(2, 10)
    ([1.0, 3.0, 5.0, 7.0], 54.0)
    """
    k, d = degrees("multiplicity", degree), dimension("multiplicity", dim)
    found = counts(k, d)
    bad = np.array([c.bit_length() > 1023 for c in found], dtype=bool)
    need = "leave a multiplicity below 1e307"
    hint = "Use `log_multiplicity`."
    _checks.reject("multiplicity", "degree", need, bad, k.ravel(), hint)
    return _checks.like(degree, np.array([float(c) for c in found]).reshape(k.shape))


def gegenbauer(degree: int, rho: Any, dim: int) -> Any:
    r"""Return the Gegenbauer polynomial P_k of dimension d, normalised to one at one.

    Chebyshev's for d = 2, Legendre's for d = 3; :math:`E P_j P_k = 1\{j=k\} / N(d, k)`.

    Parameters
    ----------
    degree : int
        k, from 0 to 10,000.
    rho : float or array_like
        Correlations in [-1, 1].
    dim : int
        At least 2.

    Returns
    -------
    float or array
        In [-1, 1], to about k ulps of the largest value near by; next to +-1,
        where the slope is k^2, to about k^2 ulps.

    Raises
    ------
    ValueError
        For an argument outside its range.

    Examples
    --------
    >>> gegenbauer(2, [0.0, 0.5, 1.0], 3).tolist()
    [-0.5, -0.125, 1.0]
    """
    k = _checks.integer("gegenbauer", "degree", degree, 0, MOST)
    d = dimension("gegenbauer", dim)
    t = _checks.correlation("gegenbauer", rho)
    low, high = np.ones_like(t), t
    for i in range(1, k):
        low, high = high, ((2 * i + d - 2) * t * high - i * low) / (i + d - 2)
    return _checks.like(rho, np.asarray(high if k else low))
