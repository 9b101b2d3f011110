r"""Two classes: closed forms on the segment, against the uniform law itself.

Points are ``(p, 1 - p)``, whose distance is ``sqrt(2) |p - p'|``, so that one Gaussian
kernel is

.. math:: k(p, p') = \exp\Big(-\frac{(p - p')^2}{\gamma^2}\Big)

Every function takes p alone. Source: the definitions are eq. (3), (7) and (9) of Lee and
Cho 2023, who sample the uniform law; the closed forms are ours.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.special as sp

from theory import _checks
from theory.mmd import _inputs, _segment_series, _segment_sums
from theory.mmd.kernels import ESTIMATORS, Estimator

Array = npt.NDArray[np.float64]

_ROOT_PI = math.sqrt(math.pi)

_FLAT = 1e10
"""Above it, 1 less a kernel's mean is below eps."""


def segment_kernel_mean(gamma: Any) -> Any:
    r"""Return the mean kernel of two independent uniform points.

    .. math:: E\,k(u, u') = \gamma\sqrt\pi\,\mathrm{erf}(1/\gamma)
        - \gamma^2\big(1 - e^{-1/\gamma^2}\big)

    Parameters
    ----------
    gamma : float or array
        Positive; at least 1e-290.

    Returns
    -------
    float or array
        In (0, 1]; relative error below 8 eps: a series replaces the difference where
        gamma >= 1.

    Raises
    ------
    ValueError
        If an entry is not positive.

    Examples
    --------
    Narrow kernels see neighbours alone, ``gamma sqrt(pi)``:

    >>> round(segment_kernel_mean(1e-9) / 1e-9, 6), segment_kernel_mean(1e30)
    (1.772454, 1.0)
    """
    g = _checks.positive("segment_kernel_mean", "gamma", gamma)
    narrow, wide = np.minimum(g, 1.0), np.maximum(g, 1.0)
    with np.errstate(over="ignore"):
        closed = narrow * (
            _ROOT_PI * sp.erf(1.0 / narrow) + narrow * np.expm1(-(narrow**-2.0))
        )
    found = np.where(g < 1.0, closed, 1.0 - _segment_series.gap(wide))
    return _checks.plain(found)


def segment_embedding(p: Any, gamma: Any) -> Any:
    r"""Return the mean kernel of p and a uniform point.

    .. math:: h_\gamma(p) = \frac{\gamma\sqrt\pi}2 \Big[\mathrm{erf}\frac p\gamma
        + \mathrm{erf}\frac{1-p}\gamma\Big]

    Parameters
    ----------
    p : float or array
        In [0, 1].
    gamma : float or array
        Positive, at least 1e-290; broadcasts.

    Returns
    -------
    float or array
        In (0, 1]; relative error below 6 eps.

    Raises
    ------
    ValueError
        If `p` is outside [0, 1] or `gamma` not positive.

    Examples
    --------
    At an end half of the neighbours are missing:

    >>> segment_embedding(0.5, 0.01) / segment_embedding(0.0, 0.01)
    2.0
    """
    x, g = _position("segment_embedding", p, gamma)
    # Beyond, the mean is 1 to the last digit and p / gamma would underflow.
    g = np.minimum(g, _FLAT)
    with np.errstate(over="ignore"):
        out = 0.5 * _ROOT_PI * g * (sp.erf(x / g) + sp.erf((1.0 - x) / g))
    out = np.minimum(out, 1.0)
    return _checks.plain(out)


def segment_embedding_derivative(p: Any, gamma: Any) -> Any:
    r"""Return the slope of `segment_embedding` in p.

    .. math:: h'_\gamma(p) = e^{-p^2/\gamma^2} - e^{-(1-p)^2/\gamma^2}

    Parameters
    ----------
    p : float or array
        In [0, 1].
    gamma : float or array
        Positive; broadcasts.

    Returns
    -------
    float or array
        In [-1, 1], 0 at 1/2; relative error below 8 eps for p >= 1/4, and for smaller p
        8 eps relative to ``1 - 2p``.

    Raises
    ------
    ValueError
        If `p` is outside [0, 1] or `gamma` not positive.

    Examples
    --------
    Wide kernels: ``(1 - 2p) / gamma^2``, which the difference of 1 and 1 would lose.

    >>> segment_embedding_derivative(0.25, 1e9)
    5e-19
    """
    x, g = _position("segment_embedding_derivative", p, gamma)
    nearer = np.minimum(x, 1.0 - x)
    with np.errstate(over="ignore"):
        excess = np.abs(1.0 - 2.0 * x) / g / g
    size = -_segment_series.exp_minus_square(nearer, g) * np.expm1(-excess)
    out = np.copysign(size, 0.5 - x) + 0.0
    return _checks.plain(out)


def segment_point_mmd(p: Any, gamma: Any) -> Any:
    r"""Return the discrepancy of one certain prediction from the uniform law.

    .. math:: \mathrm{MMD}(\delta_p, U) = 1 - 2h_\gamma(p) + E\,k(u, u')

    Parameters
    ----------
    p : float or array
        In [0, 1].
    gamma : float or array
        Positive, up to 1e150; broadcasts.

    Returns
    -------
    float or array
        In (0, 1]; relative error below 1e-14, also for wide kernels, where it falls as
        ``2 (p - 1/2)^2 / gamma^2 + 1 / (48 gamma^4)``.

    Raises
    ------
    ValueError
        If `p` is outside [0, 1] or `gamma` not positive.

    Examples
    --------
    >>> round(48.0 * 1e5**4 * segment_point_mmd(0.5, 1e5), 9)
    1.0
    >>> segment_point_mmd(0.25, 0.3) == segment_point_mmd(0.75, 0.3)
    True
    """
    x, g = _position("segment_point_mmd", p, gamma)
    closed = 1.0 - 2.0 * segment_embedding(x, g) + segment_kernel_mean(g)
    # Halves of a wide kernel cancel: the series does not have them.
    wide = np.maximum(g, _segment_series.WIDE)
    deviations = _segment_series.deviations(np.abs(x - 0.5))
    series = _segment_series.discrepancy(deviations, wide)
    out = np.where(g < _segment_series.WIDE, closed, series)
    return _checks.plain(out)


def segment_mmd(p: Any, bandwidths: Any, estimator: Estimator = "unbiased") -> float:
    r"""Return the discrepancy of an empirical law from the uniform law, without samples u.

    .. math:: V = \frac1{M^2}\sum_{i,j} k(p_i, p_j) - \frac2M \sum_i h(p_i) + E\,k(u, u')

    "unbiased" leaves out i = j and divides by ``M (M - 1)``; both sum over `bandwidths`.

    Parameters
    ----------
    p : array, shape (M,)
        Probabilities of the first class, one a perturbed model.
    bandwidths : float or list of floats
        Positive.
    estimator : {"unbiased", "biased"}
        "unbiased" estimates the discrepancy of the law p was drawn from; "biased" is the
        discrepancy of the M values themselves, at least 0.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If `p` has fewer than two entries (one for "biased") or one outside [0, 1], or a
        bandwidth is not positive.

    Notes
    -----
    At the null its standard deviation is about half of that of `mmd_squared` with as many
    sampled points as predictions. Absolute error below 4 eps a bandwidth; from gamma = 1/2
    the error of "biased" is that of the power means of ``p - 1/2``, a few eps each.
    The time grows like M, but for bandwidths below 1e-12.

    Examples
    --------
    Midpoints are nearly uniform, a single value is `segment_point_mmd`:

    >>> segment_mmd((np.arange(100) + 0.5) / 100, 0.3, "biased") < 1e-9
    True
    >>> abs(segment_mmd([0.2], 0.3, "biased") - segment_point_mmd(0.2, 0.3)) < 1e-15
    True
    """
    who = "segment_mmd"
    _checks.choice(who, "estimator", estimator, ESTIMATORS)
    unbiased = estimator == "unbiased"
    x = _inputs.unit_vector(who, "p", p, 2 if unbiased else 1)
    gammas = _inputs.bandwidths(who, bandwidths)
    moments = _segment_series.deviations(x - 0.5).mean(axis=1)
    total = 0.0
    for gamma in gammas:
        less_one = _less_one(x, float(gamma)) if _narrow(gamma) or unbiased else 0.0
        if _narrow(gamma):
            mean = float(np.mean(segment_embedding(x, gamma)))
            total += 1.0 + less_one - 2.0 * mean + segment_kernel_mean(float(gamma))
        else:
            total += float(_segment_series.discrepancy(moments, np.asarray(gamma)))
        if unbiased:
            total += less_one / (len(x) - 1)
    return total


def segment_mmd_gradient(
    p: Any, bandwidths: Any, estimator: Estimator = "unbiased"
) -> Array:
    r"""Return the gradient of `segment_mmd` in the probabilities, bandwidths held fixed.

    .. math:: \frac{\partial V}{\partial p_i} = -\frac4{M^2} \sum_j
        \frac{p_i - p_j}{\gamma^2} e^{-(p_i-p_j)^2/\gamma^2} - \frac2M h'_\gamma(p_i)

    For U the first term is divided by ``M (M - 1)``, and this is all that differs.

    Parameters
    ----------
    p : array, shape (M,)
        Probabilities of the first class.
    bandwidths : float or list of floats
        Positive; a median of p counts as a constant.
    estimator : {"unbiased", "biased"}
        As in `segment_mmd`.

    Returns
    -------
    array, shape (M,)
        Absolute error a few eps times ``min(1 / gamma, 1 / gamma^2) / M`` a bandwidth.

    Raises
    ------
    ValueError
        As `segment_mmd` does.

    Examples
    --------
    Two equal predictions above 1/2 are drawn to the middle:

    >>> bool(np.all(segment_mmd_gradient([0.7, 0.7], 1.0) > 0.0))
    True
    """
    who = "segment_mmd_gradient"
    _checks.choice(who, "estimator", estimator, ESTIMATORS)
    unbiased = estimator == "unbiased"
    x = _inputs.unit_vector(who, "p", p, 2 if unbiased else 1)
    count = len(x)
    pairs = count * (count - 1 if unbiased else count)
    out = np.zeros(count)
    for gamma in _inputs.bandwidths(who, bandwidths):
        out -= 2.0 / count * segment_embedding_derivative(x, gamma)
        pull = _segment_sums.sums(_pull, x, float(gamma))
        with np.errstate(over="ignore"):
            out -= 4.0 / pairs * pull / gamma
    return _checks.result(who, out, "bandwidths")


def _position(who: str, p: Any, gamma: Any) -> tuple[Array, Array]:
    x = _checks.interval(who, "p", p, 0.0, 1.0)
    g = _checks.positive(who, "gamma", gamma)
    shape = _checks.broadcast(who, p=x, gamma=g)
    return np.broadcast_to(x, shape), np.broadcast_to(g, shape)


def _narrow(gamma: Any) -> bool:
    return bool(gamma < _segment_series.WIDE)


def _pull(t: Array) -> Array:
    """Return t exp(-t^2)."""
    # Beyond 30 the kernel is 0, and an infinite t times it would be NaN.
    t = np.clip(t, -30.0, 30.0)
    return t * np.exp(-(t**2))


def _less_one(x: Array, gamma: float) -> float:
    """Return the mean of ``k - 1`` over all pairs, equal ones included."""
    # A narrow kernel vanishes far off, where its sums leave out pairs.
    kernel, one = (np.exp, 1.0) if _narrow(gamma) else (np.expm1, 0.0)
    whole = _segment_sums.sums(lambda t: kernel(-(t**2)), x, gamma)
    return float(np.mean(whole / len(x))) - one
