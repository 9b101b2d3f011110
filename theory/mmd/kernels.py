r"""Squared maximum mean discrepancy of two samples, its kernel and its bandwidth.

.. math:: \mathrm{MMD}(p, q) = E\,k(x, x') - 2E\,k(x, y) + E\,k(y, y'), \qquad
    k_\gamma(x, y) = \exp\Big(-\frac{\|x - y\|^2}{2\gamma^2}\Big)

with independent copies: the *square* of a distance, as the paper uses the name. Source:
Lee and Cho 2023, eq. (3) and appendix C.1; Gretton et al. 2012.
"""

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist, pdist

from theory import _checks
from theory._arrays import size_power
from theory.mmd import _inputs

Array = npt.NDArray[np.float64]

Estimator = Literal["unbiased", "biased"]
Rule = Literal["average", "lower"]

ESTIMATORS = ("unbiased", "biased")
RULES = ("average", "lower")

LADDER = tuple(2.0**i for i in range(-4, 5))
"""The nine bandwidths of the paper, in units of the median distance."""

FEW = 32
"""Coordinates, up to twice as many of which are added one after the other."""

BLOCK = 2**20
"""Pairs whose kernels are held at a time: 8 MiB of them."""


def kernel_bandwidths(median: float) -> Array:
    r"""Return the nine bandwidths ``2^i median``, i = -4, ..., 4.

    Raises
    ------
    ValueError
        If `median` is not a positive number.

    Examples
    --------
    >>> kernel_bandwidths(0.5).tolist()[3:6]
    [0.25, 0.5, 1.0]
    """
    who = "kernel_bandwidths"
    # The least and the largest bandwidth must be float64, and not 0.
    _checks.scalar(who, "median", median, positive=True)
    return _checks.number(who, "median", median, 1e-300, 1e300) * np.array(LADDER)


def mixture_kernel(x: Any, y: Any, bandwidths: Any) -> Array:
    r"""Return the sum of Gaussian kernels of several bandwidths, for all pairs.

    .. math:: k(x, y) = \sum_\gamma \exp\Big(-\frac{\|x - y\|^2}{2\gamma^2}\Big)

    Parameters
    ----------
    x, y : array, shapes (M, d) and (N, d)
        Points, one a row; at least two coordinates.
    bandwidths : float or list of floats
        Positive.

    Returns
    -------
    array, shape (M, N)
        In [0, number of bandwidths]; absolute error a few eps of that number.

    Raises
    ------
    ValueError
        If an entry is not finite, a bandwidth not positive or shapes do not fit.

    Examples
    --------
    >>> u = [[1.0, 0.0], [0.5, 0.5]]
    >>> mixture_kernel(u, u, kernel_bandwidths(0.5))[0, 0]
    np.float64(9.0)
    """
    who = "mixture_kernel"
    a, b = _inputs.pair(who, x, y)
    gammas = _inputs.bandwidths(who, bandwidths)
    return len(gammas) + _less_one(a, b, gammas)


def median_bandwidth(x: Any, y: Any, *, rule: Rule = "average") -> float:
    r"""Return the median of all distances in the pool of two samples.

    Of the ``C(M + N, 2)`` distances between different points of the pool. An even number
    of them has two middle ones: "average" takes their mean, as NumPy does, "lower" the
    lower one, as ``torch.median`` does.

    Parameters
    ----------
    x, y : array, shapes (M, d) and (N, d)
        Model outputs and points of the simplex, one a row.
    rule : {"average", "lower"}
        What the median of an even number of distances is.

    Returns
    -------
    float
        Positive; relative error a few eps.

    Raises
    ------
    ValueError
        If an entry is not finite, shapes do not fit, the pool has fewer than two points,
        or the median is 0 because at least half of the pairs coincide.

    Notes
    -----
    The paper (appendix C.1) does not name the rule. With M = N = 256 there are 130,816
    distances, an even number.

    Examples
    --------
    >>> x, y = [[0.0, 1.0]], [[0.3, 1.4], [0.6, 1.8], [3.0, 5.0]]
    >>> median_bandwidth(x, y)  # 0.5, 0.5, 1, 4, 4.5, 5
    2.5
    >>> round(median_bandwidth(x, y, rule="lower"), 12)
    1.0
    """
    who = "median_bandwidth"
    a, b = _inputs.pair(who, x, y)
    _checks.choice(who, "rule", rule, RULES)
    pool, power = _scaled(a, b)
    distances = np.sqrt(_squares(pdist, np.concatenate(pool)))
    count = distances.size
    middle = np.partition(distances, (count // 2 - (count % 2 == 0), count // 2))
    low, high = middle[(count - 1) // 2], middle[count // 2]
    found = low if rule == "lower" else 0.5 * (low + high)
    if not found > 0.0:
        raise ValueError(
            f"{who}: `x` and `y` must differ in more than half of the {count} pairs of"
            f" points, but {int(np.sum(distances == 0.0))} have distance 0: their median"
            " is no bandwidth. Perturb the models more, or give a bandwidth of your own"
            " to `kernel_bandwidths`, 1e-6 say."
        )
    with np.errstate(over="ignore"):
        return float(_checks.result(who, np.ldexp(found, power), "x", "y"))


def mmd_squared(
    x: Any, y: Any, bandwidths: Any, estimator: Estimator = "unbiased"
) -> float:
    r"""Estimate the squared discrepancy of two laws from samples of them.

    .. math:: U = \frac{\sum_{i\ne j} k(x_i, x_j)}{M(M-1)}
        - \frac{2\sum_{i,j} k(x_i, y_j)}{MN} + \frac{\sum_{i\ne j} k(y_i, y_j)}{N(N-1)}

    The biased V keeps the diagonals and divides by M^2 and N^2: it is the discrepancy of
    the two samples themselves. The kernel is the *sum* over `bandwidths`.

    Parameters
    ----------
    x, y : array, shapes (M, d) and (N, d)
        Samples, one point a row; repeated rows are welcome.
    bandwidths : float or list of floats
        Positive, e.g. ``kernel_bandwidths(median_bandwidth(x, y))``.
    estimator : {"unbiased", "biased"}
        "unbiased" may be negative, "biased" is at least 0 up to rounding.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If a sample has fewer than two points (one for "biased"), an entry is not finite,
        a bandwidth not positive or shapes do not fit.

    Notes
    -----
    The paper lists pairs i < j alone, which implies U, and does not say so; the two
    differ by `estimator_gap`. Sums are of ``k - 1``, so that wide kernels do not cancel:
    the absolute error is a few eps times ``min(1, diameter^2 / gamma^2)`` a bandwidth.

    Examples
    --------
    The discrepancy of two points, and of a sample with itself:

    >>> x, y = [[1.0, 0.0]], [[0.0, 1.0]]
    >>> bool(abs(mmd_squared(x, y, 1.0, "biased") - 2.0 + 2.0 * np.exp(-1.0)) < 1e-15)
    True
    >>> z = [[1.0, 0.0], [0.5, 0.5], [0.2, 0.8]]
    >>> mmd_squared(z, z, 1.0, "biased"), mmd_squared(z, z, 1.0) < 0.0
    (0.0, True)
    """
    who = "mmd_squared"
    _checks.choice(who, "estimator", estimator, ESTIMATORS)
    a, b = _inputs.pair(who, x, y, 2 if estimator == "unbiased" else 1)
    gammas = _inputs.bandwidths(who, bandwidths)
    xx, yy, xy = (_mean(*pair, gammas) for pair in ((a, a), (b, b), (a, b)))
    if estimator == "biased":
        return xx + yy - 2.0 * xy
    m, n = len(a), len(b)
    return xx * m / (m - 1) + yy * n / (n - 1) - 2.0 * xy


def estimator_gap(x: Any, y: Any, bandwidths: Any) -> float:
    r"""Return how far the biased estimate is above the unbiased one, exactly.

    .. math:: V - U = \frac1M\big(k(0) - \overline{k}_{xx}\big)
        + \frac1N\big(k(0) - \overline{k}_{yy}\big)

    with means over different points of a sample.

    Parameters
    ----------
    x, y : array, shapes (M, d) and (N, d)
        At least two points each.
    bandwidths : float or list of floats
        Positive.

    Returns
    -------
    float
        At least 0; relative error a few eps.

    Raises
    ------
    ValueError
        As `mmd_squared` does.

    Examples
    --------
    >>> x, y = [[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.1, 0.9]]
    >>> v, u = mmd_squared(x, y, 0.3, "biased"), mmd_squared(x, y, 0.3)
    >>> abs(v - u - estimator_gap(x, y, 0.3)) < 1e-15
    True
    """
    who = "estimator_gap"
    a, b = _inputs.pair(who, x, y, 2)
    gammas = _inputs.bandwidths(who, bandwidths)
    return -sum(_mean(v, v, gammas) / (len(v) - 1) for v in (a, b))


def _mean(a: Array, b: Array, gammas: Array) -> float:
    """Return the mean of ``k - 1`` over all pairs, some rows at a time."""
    rows = max(1, BLOCK // len(b))
    parts = [a[k : k + rows] for k in range(0, len(a), rows)]
    total = math.fsum(float(_less_one(part, b, gammas).sum()) for part in parts)
    return total / (len(a) * len(b))


def _less_one(a: Array, b: Array, gammas: Array) -> Array:
    """Return the sum over bandwidths of ``k - 1`` for all pairs; 0 for equal points.

    By distances of differences, which lose no digits, and without their power of two,
    with which they may leave float64.
    """
    pool, power = _scaled(a, b)
    distances = np.sqrt(_squares(cdist, *pool))
    out = np.zeros_like(distances)
    with np.errstate(over="ignore"):  # far apart: the kernel is 0
        for gamma, shift in zip(*np.frexp(gammas), strict=True):
            out += np.expm1(-0.5 * np.ldexp(distances / gamma, power - shift) ** 2)
    return out


def _squares(between: Callable[..., Any], *points: Array) -> Array:
    """Return squared distances; many coordinates are added up by halves."""
    half = points[0].shape[1] // 2
    if half < FEW:
        return np.asarray(between(*points, "sqeuclidean"), dtype=np.float64)
    left = _squares(between, *(p[:, :half] for p in points))
    return left + _squares(between, *(p[:, half:] for p in points))


def _scaled(a: Array, b: Array) -> tuple[tuple[Array, Array], int]:
    """Divide by a power of two, so that no square over- or underflows."""
    power = size_power(np.concatenate([a, b])).item()
    return (np.ldexp(a, -power), np.ldexp(b, -power)), power
