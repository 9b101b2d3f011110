"""Eigenvalues of any function of the cosine: values, polynomials, powers of 1 - t."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._naming import in_own_name
from theory.spectrum import _funk_hecke
from theory.spectrum._inputs import WIDEST, counts, degrees, dimension, largest

Array = npt.NDArray[np.float64]


HIGHEST = 1000.0
"""Largest power of 1 - t: eigenvalues are as large as its power of two."""


@in_own_name
def eigenvalues(kernel: Callable[[Any], Any], degree: Any, dim: int) -> Any:
    r"""Return the eigenvalues :math:`\lambda_k = E[\kappa(t) P_k(t)]` of any kernel.

    Parameters
    ----------
    kernel : callable
        Sends an array of correlations in [-1, 1] to one of finite numbers; smooth on
        both sides of 0, at the ends as singular as a root is.
    degree : int or array_like of int
        k, at least 0.
    dim : int
        d, from 2 to 10^10.

    Returns
    -------
    float or array
        Absolute error about :math:`10^{-15} \sqrt{E \kappa^2 / N(d, k)}` and what the
        errors of `kernel` itself are worth: in large dimensions only a few degrees stand
        out. `series_eigenvalues`, `nngp_eigenvalues` and `ntk_eigenvalues` have no such
        limit.

    Raises
    ------
    ValueError
        For a degree or a dimension that is not a whole number in its range, and a kernel
        that does not return finite numbers, that changes from a correlation to the next
        float64 (next to one, deep networks tell them apart), or that panels do not resolve
        to 1e-10 of its root mean square: one with a kink or a jump away from 0.

    Notes
    -----
    Gauss-Legendre in the angle, panels halved 64 times towards both ends.

    Examples
    --------
    The square of the cosine has degrees 0 and 2, and 1/3 is its mean:

    >>> eigenvalues(lambda t: t**2, [0, 1, 2, 3], 3).round(12).tolist()
    [0.333333333333, 0.0, 0.133333333333, 0.0]
    """
    k, d = degrees("eigenvalues", degree), dimension("eigenvalues", dim, WIDEST)
    _checks.function("eigenvalues", "kernel", kernel)
    values, _ = _funk_hecke.by_quadrature(kernel, largest(k), d)
    scale = np.array([math.exp(-0.5 * math.log(v)) for v in counts(k, d)])
    return _checks.like(degree, (values[k.ravel()] * scale).reshape(k.shape))


def series_eigenvalues(
    coefficients: Any, degree: Any, dim: int, *, log: bool = False
) -> Any:
    r"""Return the eigenvalues of a polynomial :math:`\kappa(t) = \sum_n b_n t^n`.

    .. math::

       \lambda_k = \sum_{j \ge 0} b_{k+2j}\,
           \frac{(k+2j)!\; \Gamma(d/2)}{2^{k+2j}\, j!\, \Gamma(d/2 + k + j)}

    Parameters
    ----------
    coefficients : array_like, (order + 1,)
        b_0, b_1, ..., none of them negative.
    degree : int or array_like of int
        k, at least 0.
    dim : int
        d, at least 2.
    log : bool
        Return the logarithms, which do not underflow; minus infinity for zero.

    Returns
    -------
    float or array
        Relative error 1e-14 (k + 10): every term is positive.

    Raises
    ------
    ValueError
        For a coefficient that is negative or not finite; otherwise as `eigenvalues`.

    Examples
    --------
    >>> series_eigenvalues([0.0, 0.0, 1.0], [0, 1, 2], 3).round(12).tolist()
    [0.333333333333, 0.0, 0.133333333333]
    """
    _checks.flag("series_eigenvalues", "log", log)
    b = _checks.not_negative("series_eigenvalues", "coefficients", coefficients)
    if b.ndim != 1 or not b.size:
        raise ValueError(
            "series_eigenvalues: `coefficients` must have shape (order + 1,), got"
            f" {b.shape}."
        )
    k, d = degrees("series_eigenvalues", degree), dimension("series_eigenvalues", dim)
    logs = np.array([_funk_hecke.by_series(b, int(v), d)[0] for v in k.ravel()])
    out: Array = logs if log else np.exp(logs)
    return _checks.like(degree, out.reshape(k.shape))


def power_eigenvalues(power: float, degree: Any, dim: int) -> Any:
    r"""Return the eigenvalues of :math:`(1 - t)^p`, the law of a singularity at one.

    .. math::

       \lambda_k = \frac{2^{p+d-2}\, \Gamma(d/2)\, \Gamma(p + (d-1)/2)}{\sqrt\pi}\,
           \frac{(-p)_k}{\Gamma(p + k + d - 1)} \sim k^{-(d - 1 + 2p)}

    A kink of the activation leaves p = 3/2 in the NNGP and 1/2 in the tangent kernel at
    any depth: their eigenvalues decay with the exponents d + 2 and d.

    Parameters
    ----------
    power : float
        p, at least 0.
    degree : int or array_like of int
    dim : int

    Returns
    -------
    float or array
        Relative error 1e-15 (k + p + 10). Zero for k > p where p is whole.

    Raises
    ------
    ValueError
        For an argument outside its range.

    Examples
    --------
    >>> big = power_eigenvalues(0.5, [1000, 2000], 3)
    >>> round(float(np.log2(big[0] / big[1])), 2)
    3.0
    """
    p = _checks.number("power_eigenvalues", "power", power, 0.0, HIGHEST)
    k, d = degrees("power_eigenvalues", degree), dimension("power_eigenvalues", dim)
    # By duplication the eigenvalue of degree 0 is a quotient of two rises by p/2.
    first = _rises(0.5 * (p + d - 1.0), 0.5 * d, 0.5 * p)
    i = np.arange(largest(k), dtype=np.float64)
    steps = np.concatenate([[first], (i - p) / (p + d - 1.0 + i)])
    with np.errstate(under="ignore"):
        out = np.asarray(np.cumprod(steps), dtype=np.float64)[k]
    return _checks.like(degree, out)


def _rises(a: float, b: float, x: float) -> float:
    r"""Return :math:`\Gamma(a + x)\, \Gamma(b) / (\Gamma(a)\, \Gamma(b + x))`.

    Whole steps are products; what is left of x, below one, is taken from Stirling's
    series at large arguments, where logarithms are small.
    """
    whole = math.floor(x)
    rest = x - whole
    i = np.arange(whole, dtype=np.float64)
    j = whole + np.arange(8.0)
    product = float(np.prod((a + i) / (b + i)))
    product *= float(np.prod((a + j) / (b + j) * ((b + rest + j) / (a + rest + j))))
    up, down = (
        float(_funk_hecke.log_gamma_ratio(np.array(v + whole + 8.0), rest))
        for v in (a, b)
    )
    return product * math.exp(up - down)


@in_own_name
def effective_rank(kernel: Callable[[Any], Any], dim: int) -> float:
    r"""Return the participation ratio of the spectrum, between 1 and infinity.

    .. math::

       \frac{(\sum_k N \lambda_k)^2}{\sum_k N \lambda_k^2}
       = \frac{\kappa(1)^2}{E \kappa(t)^2}

    How many directions of equal weight would have the kernel's trace and Hilbert-Schmidt
    norm: 1 for a constant, d for the linear kernel, more with every layer that separates
    inputs.

    Parameters
    ----------
    kernel : callable
        As for `eigenvalues`; positive at one.
    dim : int
        From 2 to 10^10.

    Returns
    -------
    float
        Relative error 1e-14 and what the kernel's own errors are worth; infinite where its
        squares leave float64.

    Raises
    ------
    ValueError
        As `eigenvalues`.

    Examples
    --------
    >>> from theory import activations as act, kernels
    >>> relu = act.relu.normalized()
    >>> ranks = [
    ...     effective_rank(lambda t: kernels.nngp_map(t, relu, depth), 20)
    ...     for depth in (1, 4, 16)
    ... ]
    >>> np.round(ranks, 1).tolist()
    [36.7, 186.5, 222903.9]
    >>> round(effective_rank(lambda t: t, 20), 10)
    20.0
    """
    d = dimension("effective_rank", dim, WIDEST)
    _checks.function("effective_rank", "kernel", kernel)
    one = np.ones(1)
    diagonal = _checks.values("effective_rank", "kernel", kernel(one), one)
    _checks.positive("effective_rank", "kernel(1)", diagonal)

    def squared(t: Array) -> Array:
        values = _checks.values("effective_rank", "kernel", kernel(t), t)
        with np.errstate(over="ignore"):
            return (values / diagonal) ** 2

    mean, _ = _funk_hecke.by_quadrature(squared, 0, d)
    # A kernel may be too small to square wherever it is looked at.
    return float(1.0 / mean[0]) if mean[0] > 0.0 else math.inf
