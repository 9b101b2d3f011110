r"""The uniform law on the simplex of class probabilities: sampling law and moments.

``u = e / sum e`` for independent exponential e is uniform on the simplex, which is
Dirichlet(1, ..., 1). Source: Lee and Cho 2023, eq. (1) and (2); the moments are ours.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory.mmd import _inputs

Array = npt.NDArray[np.float64]


def simplex_sample(
    count: int, classes: int, *, generator: np.random.Generator
) -> Array:
    r"""Draw points uniformly from the simplex.

    .. math:: u = \frac{e}{\sum_i e_i}, \qquad e_i \sim \mathrm{Exp}(1)

    Parameters
    ----------
    count, classes : int
        Number of points, at least 0, and d >= 2.
    generator : numpy.random.Generator
        The only source of randomness.

    Returns
    -------
    array, shape (count, classes)
        Rows are at least 0 and sum to 1 within ``d eps``.

    Raises
    ------
    ValueError
        If `classes` is below 2 or above 2^20, `count` below 0, or `generator` is not a
        generator of NumPy.

    Examples
    --------
    >>> u = simplex_sample(10_000, 3, generator=np.random.default_rng(0))
    >>> bool(np.all(np.abs(u.mean(axis=0) - simplex_mean(3)) < 0.01))
    True
    """
    who = "simplex_sample"
    n = _checks.integer(who, "count", count, 0, 2**40)
    d = _inputs.classes(who, classes, 2**20)
    hint = "Give `numpy.random.default_rng(seed)`."
    _checks.instance(who, "generator", generator, np.random.Generator, hint)
    e = generator.standard_exponential((n, d))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def simplex_mean(classes: int) -> float:
    """Return the mean of every coordinate, ``1 / d``.

    Raises
    ------
    ValueError
        If `classes` is below 2.

    Examples
    --------
    >>> simplex_mean(4)
    0.25
    """
    return 1.0 / _inputs.classes("simplex_mean", classes)


def simplex_covariance(classes: int) -> Array:
    r"""Return the covariance matrix of a uniform point.

    .. math:: \mathrm{Var}\,u_i = \frac{d-1}{d^2(d+1)}, \qquad
        \mathrm{Cov}(u_i, u_j) = -\frac{1}{d^2(d+1)}

    Returns
    -------
    array, shape (classes, classes)
        Rows sum to 0: coordinates sum to 1. Entries are correctly rounded.

    Raises
    ------
    ValueError
        If `classes` is below 2 or above 32,768.

    Examples
    --------
    Two classes: the variance of a uniform number.

    >>> 12.0 * simplex_covariance(2)
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    d = _inputs.classes("simplex_covariance", classes, 2**15)  # 8 GiB of entries
    common = d * d * (d + 1)
    out = np.full((d, d), -1 / common)
    np.fill_diagonal(out, (d - 1) / common)
    return out


def simplex_cdf(t: Any, classes: int) -> Any:
    r"""Return the law of one coordinate, Beta(1, d - 1).

    .. math:: P(u_i \le t) = 1 - (1 - t)^{d-1}

    Parameters
    ----------
    t : float or array
        In [0, 1].
    classes : int
        d >= 2.

    Returns
    -------
    float or array
        In [0, 1]; relative error below 4 eps, as t -> 0 too.

    Raises
    ------
    ValueError
        If `t` is outside [0, 1] or `classes` is below 2.

    Examples
    --------
    >>> simplex_cdf(0.3, 2), simplex_cdf(0.5, 3)
    (0.3, 0.75)
    """
    # -0.0 is 0.
    x = _checks.interval("simplex_cdf", "t", t, 0.0, 1.0) + 0.0
    d = _inputs.classes("simplex_cdf", classes)
    with np.errstate(divide="ignore"):  # t = 1: the logarithm is -inf, the law 1
        out = -np.expm1((d - 1.0) * np.log1p(-x))
    return _checks.plain(x if d == 2 else out)
