r"""What conditioning buys: descent rates, query bounds, benign overfitting.

Source: Agarwal, Awasthi, Kale 2020, appendices E to H.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._decomposition import row_space
from theory._naming import in_own_name, publish
from theory.activations import Activation
from theory.conditioning import depth_for_condition_number

Array = npt.NDArray[np.float64]
Real = float | Fraction

SYMMETRIC = 1e-9
"""How far from its transpose a covariance may be, and below 0 a variance, by rounding."""

ARC_CONSTANT = math.sqrt(2.0) / (12.0 * math.pi)
"""Limit of lambda_min / delta^(3/2) for ReLU features of points on an arc."""


def gradient_descent_bound(
    step: Any, condition_number: Any, *, printed: bool = False
) -> Any:
    r"""Bound ``f(w_t) / f(w_0)`` for least squares with step n/lambda_max (Theorem E.8).

    .. math:: e^{-2t/\kappa} \quad\text{(printed: } e^{-t/\kappa}\text{)}

    Parameters
    ----------
    step : float or array
        t, at least 0.
    condition_number : float or array
        kappa, at least 1; broadcasts.
    printed : bool
        Return the paper's weaker bound.

    Returns
    -------
    float or array
        In [0, 1]; relative error a few eps times one plus the exponent's size.

    Raises
    ------
    ValueError
        If an argument is outside its range or not finite.

    Examples
    --------
    >>> gradient_descent_bound(0, 10.0)
    1.0
    """
    who = "gradient_descent_bound"
    t = _checks.not_negative(who, "step", step)
    k = _checks.real(who, "condition_number", condition_number)
    _checks.reject(who, "condition_number", "be at least 1", k < 1.0, k, "")
    _checks.broadcast(who, step=t, condition_number=k)
    factor = 1.0 if _checks.flag(who, "printed", printed) else 2.0
    with np.errstate(over="ignore"):
        return _checks.plain(np.exp(-factor * (t / k)))


def sgd_steps(n: int, squared_norm: Real, min_eigenvalue: Real) -> int:
    r"""Return ``T = ceil(2 n beta / lambda_min)``: averaging T steps halves f (E.9).

    The ceiling is that of the exact quotient of the numbers as they are given; a
    `fractions.Fraction` stands for a decimal that float64 does not hold.

    Parameters
    ----------
    n : int
        Inputs, at least 1.
    squared_norm, min_eigenvalue : float or Fraction
        beta, of the longest input, and lambda_min; positive.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> sgd_steps(3, 0.1, 0.2), math.ceil(2 * 3 * 0.1 / 0.2)
    (3, 4)
    """
    count = _checks.integer("sgd_steps", "n", n, 1)
    beta = _exact("sgd_steps", "squared_norm", squared_norm)
    least = _exact("sgd_steps", "min_eigenvalue", min_eigenvalue)
    return math.ceil(2 * count * beta / least)


def _exact(who: str, name: str, value: Real) -> Fraction:
    """Return a positive number without rounding it."""
    if isinstance(value, Fraction) and value > 0:
        return value  # one that is tiny, or huge, is no float
    checked = _checks.scalar(who, name, value, positive=True)
    if not isinstance(value, Rational):
        return Fraction(checked)
    # NumPy's integers are rational, but of so many bits.
    return Fraction(int(value.numerator), int(value.denominator))


def sgd_restarts(initial: Real, target: Real) -> int:
    """Return ``ceil(log2(f(w_0) / eps))`` restarts that reach `target` (E.9).

    Exact in the numbers as they are given, as `sgd_steps`; 0 if `initial` is below
    `target` already.

    Raises
    ------
    ValueError
        If an argument is not a positive number.

    Examples
    --------
    >>> sgd_restarts(8.0, 1.0), sgd_restarts(math.nextafter(8.0, 9.0), 1.0)
    (3, 4)
    """
    top = _exact("sgd_restarts", "initial", initial)
    goal = _exact("sgd_restarts", "target", target)
    return (
        math.ceil(top / goal) - 1
    ).bit_length()  # the least k with 2^k >= top / goal


def kernel_descent_factor(min_eigenvalue: Any, max_eigenvalue: Any) -> Any:
    r"""Return the loss factor per step in the kernel regime (Theorem E.5).

    With step ``2 / (lambda_min + lambda_max)`` each residual shrinks by
    ``(kappa - 1)/(kappa + 1)``, the loss by its square: in [0, 1], to a few eps, next to
    kappa = 1 too.

    Raises
    ------
    ValueError
        If an eigenvalue is not positive, or the largest is below the smallest.

    Examples
    --------
    >>> kernel_descent_factor(1.0, 3.0), kernel_descent_factor(1.0, 1.0)
    (0.25, 0.0)
    """
    who = "kernel_descent_factor"
    low = _checks.positive(who, "min_eigenvalue", min_eigenvalue)
    high = _checks.positive(who, "max_eigenvalue", max_eigenvalue)
    shape = _checks.broadcast(who, min_eigenvalue=low, max_eigenvalue=high)
    bad, least = np.broadcast_to(low > high, shape), np.broadcast_to(low, shape)
    _checks.reject(who, "min_eigenvalue", "be at most `max_eigenvalue`", bad, least, "")
    # The ratio first: the difference keeps its digits, and the sum stays in range.
    part = low / high
    return _checks.plain((((high - low) / high) / (1.0 + part)) ** 2)


@in_own_name
def correlation_floor(activation: Activation, width: Any) -> Any:
    r"""Return the mean correlation at which random deep nets of fixed width settle.

    .. math:: E\rho_\infty \approx \frac{a_2^2}{\mu^2(2-\mu)\,m}

    to leading order in 1/m, for the normalised activation: zero exactly when ``a_2 =
    0``. It contradicts the exponential decay of Theorem F.1 for fixed polynomial width.

    Parameters
    ----------
    activation : Activation
    width : float or array
        m, positive.

    Raises
    ------
    ValueError
        If an argument is outside its range, or the result leaves float64.

    Examples
    --------
    >>> from theory import activations as act
    >>> round(correlation_floor(act.relu, 100), 6), correlation_floor(act.tanh, 100)
    (0.01896, 0.0)
    """
    who = "correlation_floor"
    s = _checks.instance(who, "activation", activation, Activation).normalized()
    m = _checks.positive(who, "width", width)
    a2 = float(s.hermite(2)[2])
    with np.errstate(over="ignore", divide="ignore"):
        out = a2**2 / (s.mu**2 * (2.0 - s.mu) * m)
    return _checks.plain(_checks.result(who, out, "width"))


def query_lower_bound(tolerance: Any, squared_correlation: Any) -> Any:
    r"""Return the least number of queries, ``tau^2 / (2 E_W[(E_x f g)^2]) - 1`` (F.2).

    By Chebyshev: a query of tolerance tau notices the network with probability at most
    ``E_W[(E_x f g)^2] / tau^2``.

    Parameters
    ----------
    tolerance, squared_correlation : float or array, broadcast
        tau and the mean square; positive.

    Returns
    -------
    float or array
        At least 0; absolute error a few eps of one more.

    Raises
    ------
    ValueError
        If an argument is not positive, or the result leaves float64.

    Examples
    --------
    >>> round(query_lower_bound(0.1, 1e-6), 9), query_lower_bound(0.1, 1.0)
    (4999.0, 0.0)
    """
    who = "query_lower_bound"
    tau = _checks.positive(who, "tolerance", tolerance)
    c = _checks.positive(who, "squared_correlation", squared_correlation)
    _checks.broadcast(who, tolerance=tau, squared_correlation=c)
    with np.errstate(over="ignore"):
        # Exponents apart: the square of a tolerance alone may leave float64.
        (part, power), (least, less) = np.frexp(tau), np.frexp(c)
        ratio = np.ldexp(part * part / (2.0 * least), 2 * power - less)
        out = np.maximum(0.0, ratio - 1.0)
    names = ("tolerance", "squared_correlation")
    return _checks.plain(_checks.result(who, out, *names))


COVARIANCE_CONSTANT = 3.178346990016661
"""1/2 - W_{-1}(-1/(2e)), of `covariance_norm_bound`."""


def covariance_norm_bound(
    s: Any, *, form: Literal["printed", "sharp"] = "printed"
) -> Any:
    r"""Bound ``||Sigma||`` by ``(28/3) log(8s/3) / s`` (Lemma G.1, constant ours).

    For s >= 10, eta <= 1/2 and depth `overfitting_depth`. Sharp: without the logarithm,

    .. math:: \|\Sigma\| \le \frac{1/2 - W_{-1}(-1/(2e))}{s},

    which an atom of probability 1.67/s comes near. To a few eps.

    Raises
    ------
    ValueError
        If an entry of `s` is below 10, or the form unknown.

    Examples
    --------
    >>> round(covariance_norm_bound(100), 3), covariance_norm_bound(100, form="sharp")
    (0.521, 0.03178346990016661)
    """
    who = "covariance_norm_bound"
    v = _checks.real(who, "s", s)
    _checks.reject(who, "s", "be at least 10", v < 10.0, v, "")
    if _checks.choice(who, "form", form, ("printed", "sharp")) == "sharp":
        return _checks.plain(COVARIANCE_CONSTANT / v)
    return _checks.plain(28.0 / 3.0 * (math.log(8.0 / 3.0) + np.log(v)) / v)


def overfitting_depth(delta: float, mu: float, s: int) -> int:
    r"""Return ``L_0(delta) + ceil(log s / -log(1 - mu/2))`` (Lemma G.1).

    Raises
    ------
    ValueError
        If `delta` or `mu` is outside [1e-12, 1], or `s` is no positive whole number.

    Examples
    --------
    >>> overfitting_depth(0.01, 0.25, 1), overfitting_depth(0.01, 0.25, 1000)
    (34, 86)
    """
    who = "overfitting_depth"
    count = _checks.integer(who, "s", s, 1)
    for name, value in (("delta", delta), ("mu", mu)):
        # Below, depths are beyond what a whole number of layers is decided for.
        _checks.number(who, name, value, 1e-12, 1.0)
    return depth_for_condition_number(delta, mu, count)  # L_1 of s inputs


@dataclass(frozen=True)
class ExcessRisk:
    """Terms of Lemma G.3: the excess risk is at most ``bias + noise``."""

    bias: float
    noise: float

    @property
    def total(self) -> float:
        """The sum of both terms."""
        return self.bias + self.noise


def excess_risk_terms(
    features: Array, covariance: Array, optimum: Array, noise: Array
) -> ExcessRisk:
    r"""Return ``2 theta*' B theta*`` and ``2 eps' C eps`` of Lemma G.3.

    ``B = P Sigma P`` with ``P = I - X'K^{-1}X`` and ``C = K^{-1} X Sigma X' K^{-1}``.

    Parameters
    ----------
    features : array, shape (n, d)
        Rows are feature vectors of the sample, with ``K = X X'`` non-singular.
    covariance : array, shape (d, d)
        Symmetric to 1e-9, and seen not to be positive semidefinite only by a negative
        variance or risk.
    optimum : array, shape (d,)
    noise : array, shape (n,)
        ``y - X theta*``.

    Raises
    ------
    ValueError
        If shapes do not fit, an entry is not finite, rows are linearly dependent, or
        the covariance is not as said.

    Notes
    -----
    By singular values of X, never of K: relative error a few ``(n + d) eps`` times the
    condition number of X; of the bias, which is 0 for n = d, also times
    ``|theta*| / |P theta*|``, and of both that of Sigma's quadratic form, which cancels
    where Sigma is nearly singular.

    Examples
    --------
    >>> excess_risk_terms([[1.0, 0.0]], np.eye(2), [1.0, 2.0], [0.5])
    ExcessRisk(bias=8.0, noise=0.5)
    """
    who = "excess_risk_terms"
    x = _checks.real(who, "features", features)
    if x.ndim != 2 or x.size == 0:
        need = "have shape (n, d), n and d at least 1"
        raise _checks.misshapen(who, "features", need, x)
    n, d = x.shape
    hint = f"`features` has shape {x.shape}."
    sigma = _checks.shaped(who, "covariance", covariance, (d, d), hint)
    theta = _checks.shaped(who, "optimum", optimum, (d,), hint)
    eps = _checks.shaped(who, "noise", noise, (n,), hint)
    diagonal = np.diagonal(sigma)
    need = "have variances of at least 0 on its diagonal"
    _checks.reject(who, "covariance", need, diagonal < 0.0, diagonal, "")
    # Products of matrices are symmetric up to rounding.
    most = np.abs(sigma).max()
    bad = np.abs(sigma - sigma.T) > SYMMETRIC * most
    _checks.reject(who, "covariance", "be symmetric", bad, sigma, "")
    top = float(np.abs(x).max())
    bad = not 1e-100 < top < 1e100  # whose Gram matrix is within float64
    _checks.reject(who, "features", "have entries near 1", bad, top, "Rescale them.")
    u, s, v = row_space(x)
    bad = n > d or s[-1] <= max(n, d) * np.finfo(np.float64).eps * s[0]
    need = "have linearly independent rows"
    _checks.reject(who, "features", need, bad, "a singular Gram matrix", "")
    # Of a square X nothing is missed, of which a difference would leave its rounding.
    missed = theta - v @ (v.T @ theta) if n < d else np.zeros(d)
    spread = v @ ((eps @ u) / s)
    with np.errstate(over="ignore", invalid="ignore"):
        parts = [2.0 * (v @ sigma @ v) for v in (missed, spread)]
        least = [-SYMMETRIC * most * np.abs(v).sum() ** 2 for v in (missed, spread)]
    bad = [part < low for part, low in zip(parts, least, strict=True)]
    need = "be positive semidefinite"
    _checks.reject(who, "covariance", need, bad, parts, "It is a negative risk.")
    names = ("features", "covariance", "optimum", "noise")
    return ExcessRisk(*_checks.result(who, np.array(parts), *names).tolist())


def excess_risk_bound(n: Any, optimum_norm: Any) -> Any:
    r"""Bound the excess risk by ``56 (1 + |theta*|)^2 log(8 n^2/3) / n`` (Theorem 6.1).

    The constant is ours; the bound is vacuous (above 1) up to n of about 800, and longer
    for an optimum that is not 0. To a few eps.

    Raises
    ------
    ValueError
        If `n` is below 4, `optimum_norm` negative, or the result beyond float64.

    Examples
    --------
    >>> [round(excess_risk_bound(n, 0.0), 3) for n in (100, 1000, 10_000)]
    [5.707, 0.829, 0.109]
    """
    who = "excess_risk_bound"
    count = _checks.real(who, "n", n)
    _checks.reject(who, "n", "be at least 4", count < 4.0, count, "")
    size = _checks.not_negative(who, "optimum_norm", optimum_norm)
    _checks.broadcast(who, n=count, optimum_norm=size)
    log = math.log(8.0 / 3.0) + 2.0 * np.log(count)
    with np.errstate(over="ignore"):
        # One factor behind the quotient: the square alone may leave float64.
        out = 56.0 * log * (1.0 + size) / count * (1.0 + size)
    return _checks.plain(_checks.result(who, out, "n", "optimum_norm"))


def one_layer_min_eigenvalue(n: int, delta: Any, *, constant: float = 1.0) -> Any:
    """Return ``constant * delta^(3/2) / n^4``, the form of Theorem H.1.

    Raises
    ------
    ValueError
        If `n` is no positive whole number, `delta` outside [0, 1] or `constant` not
        positive.

    Examples
    --------
    >>> one_layer_min_eigenvalue(2, 0.25)
    0.0078125
    """
    who = "one_layer_min_eigenvalue"
    count = _checks.integer(who, "n", n, 1)
    d = _checks.interval(who, "delta", delta, 0.0, 1.0)
    c = _checks.scalar(who, "constant", constant, positive=True)
    return _checks.plain(c * d * np.sqrt(d) / float(count) ** 4)


def arc_min_eigenvalue(delta: Any) -> Any:
    """Return ``sqrt(2)/(12 pi) delta^(3/2)``, the limit for many points on an arc.

    Raises
    ------
    ValueError
        If `delta` is outside [0, 1].

    Examples
    --------
    >>> round(arc_min_eigenvalue(0.25), 12)
    0.00468914748
    """
    d = _checks.interval("arc_min_eigenvalue", "delta", delta, 0.0, 1.0)
    return _checks.like(delta, ARC_CONSTANT * d**1.5)


def separation_event_bound(n: int, delta: Any) -> Any:
    """Return ``sqrt(delta) / (10 n)``, the lower bound of Lemma H.3 on P(E).

    Raises
    ------
    ValueError
        If `n` is no positive whole number or `delta` outside [0, 1].

    Examples
    --------
    >>> separation_event_bound(2, 0.25)
    0.025
    """
    count = _checks.integer("separation_event_bound", "n", n, 1)
    d = _checks.interval("separation_event_bound", "delta", delta, 0.0, 1.0)
    return _checks.plain(np.sqrt(d) / (10.0 * count))


publish(globals(), "ARC_CONSTANT", "COVARIANCE_CONSTANT", "SYMMETRIC")
