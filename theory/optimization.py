r"""What conditioning buys: descent rates, query bounds, benign overfitting.

Source: Agarwal, Awasthi, Kale 2020, appendices E to H.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory.activations import Activation
from theory.conditioning import depth_for_condition_number

Array = npt.NDArray[np.float64]
Real = float | Fraction

ARC_CONSTANT = math.sqrt(2.0) / (12.0 * math.pi)
"""Limit of lambda_min / delta^(3/2) for ReLU features of points on an arc."""


def gradient_descent_bound(
    step: Any, condition_number: float, *, printed: bool = False
) -> Any:
    r"""Bound ``f(w_t) / f(w_0)`` for least squares with step n/lambda_max (Theorem E.8).

    .. math:: e^{-2t/\kappa} \quad\text{(printed: } e^{-t/\kappa}\text{)}

    Examples
    --------
    >>> gradient_descent_bound(0, 10.0)
    1.0
    """
    t = _checks.interval("gradient_descent_bound", "step", step, 0.0, math.inf)
    k = float(
        _checks.interval(
            "gradient_descent_bound", "condition_number", condition_number, 1, math.inf
        )
    )
    return _checks.like(step, np.exp(-(1.0 if printed else 2.0) * t / k))


def sgd_steps(n: int, squared_norm: Real, min_eigenvalue: Real) -> int:
    r"""Return ``T = ceil(2 n beta / lambda_min)``: averaging T steps halves f (E.9).

    The ceiling is that of the exact quotient of the numbers as they are given; a
    `fractions.Fraction` stands for a decimal that float64 does not hold.

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
    checked = _checks.positive(who, name, value)
    return Fraction(value if isinstance(value, Rational) else float(checked))


def sgd_restarts(initial: Real, target: Real) -> int:
    """Return ``ceil(log2(f(w_0) / eps))`` restarts that reach `target` (E.9).

    Exact in the numbers as they are given, as `sgd_steps`.

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


def kernel_descent_factor(min_eigenvalue: float, max_eigenvalue: float) -> float:
    r"""Return the loss factor per step in the kernel regime (Theorem E.5).

    With step ``2 / (lambda_min + lambda_max)`` each residual shrinks by
    ``(kappa - 1)/(kappa + 1)``, the loss by its square.
    """
    low = float(
        _checks.positive("kernel_descent_factor", "min_eigenvalue", min_eigenvalue)
    )
    high = float(
        _checks.positive("kernel_descent_factor", "max_eigenvalue", max_eigenvalue)
    )
    return ((high - low) / (high + low)) ** 2


def correlation_floor(activation: Activation, width: Any) -> Any:
    r"""Return the mean correlation at which random deep nets of fixed width settle.

    .. math:: E\rho_\infty \approx \frac{a_2^2}{\mu^2(2-\mu)\,m}

    to leading order in 1/m, for the normalised activation: zero exactly when ``a_2 =
    0``. It contradicts the exponential decay of Theorem F.1 for fixed polynomial width.
    """
    m = _checks.positive("correlation_floor", "width", width)
    s = activation.normalized()
    a2 = float(s.hermite(2)[2])
    return _checks.like(width, a2**2 / (s.mu**2 * (2.0 - s.mu) * m))


def query_lower_bound(tolerance: float, squared_correlation: float) -> float:
    r"""Return the least number of queries, ``tau^2 / (2 E_W[(E_x f g)^2]) - 1`` (F.2).

    By Chebyshev: a query of tolerance tau notices the network with probability at most
    ``E_W[(E_x f g)^2] / tau^2``.
    """
    tau = float(_checks.positive("query_lower_bound", "tolerance", tolerance))
    c = float(
        _checks.positive(
            "query_lower_bound", "squared_correlation", squared_correlation
        )
    )
    return max(0.0, tau * tau / (2.0 * c) - 1.0)


def covariance_norm_bound(s: Any) -> Any:
    r"""Bound ``||Sigma||`` by ``(28/3) log(8s/3) / s`` (Lemma G.1, constant ours).

    For s >= 10, eta <= 1/2 and depth `overfitting_depth`.
    """
    v = _checks.interval("covariance_norm_bound", "s", s, 10.0, math.inf)
    return _checks.like(s, 28.0 / 3.0 * np.log(8.0 * v / 3.0) / v)


def overfitting_depth(delta: float, mu: float, s: int) -> int:
    r"""Return ``L_0(delta) + ceil(log s / -log(1 - mu/2))`` (Lemma G.1)."""
    count = _checks.integer("overfitting_depth", "s", s, 1)
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
    optimum : array, shape (d,)
    noise : array, shape (n,)
        ``y - X theta*``.
    """
    x = _checks.real("excess_risk_terms", "features", features)
    sigma = _checks.real("excess_risk_terms", "covariance", covariance)
    theta = _checks.real("excess_risk_terms", "optimum", optimum)
    eps = _checks.real("excess_risk_terms", "noise", noise)
    k = x @ x.T
    missed = theta - x.T @ np.linalg.solve(k, x @ theta)
    spread = x.T @ np.linalg.solve(k, eps)
    return ExcessRisk(
        2.0 * float(missed @ sigma @ missed), 2.0 * float(spread @ sigma @ spread)
    )


def excess_risk_bound(n: Any, optimum_norm: float) -> Any:
    r"""Bound the excess risk by ``56 (1 + |theta*|)^2 log(8 n^2/3) / n`` (Theorem 6.1).

    The constant is ours; the bound is vacuous (above 1) below n of about 1,000.
    """
    count = _checks.interval("excess_risk_bound", "n", n, 4.0, math.inf)
    size = float(
        _checks.interval("excess_risk_bound", "optimum_norm", optimum_norm, 0, math.inf)
    )
    out = 56.0 * (1.0 + size) ** 2 * np.log(8.0 * count**2 / 3.0) / count
    return _checks.like(n, out)


def one_layer_min_eigenvalue(n: int, delta: float, *, constant: float = 1.0) -> float:
    """Return ``constant * delta^(3/2) / n^4``, the form of Theorem H.1."""
    count = _checks.integer("one_layer_min_eigenvalue", "n", n, 1)
    d = float(_checks.interval("one_layer_min_eigenvalue", "delta", delta, 0.0, 1.0))
    return constant * d**1.5 / count**4


def arc_min_eigenvalue(delta: Any) -> Any:
    """Return ``sqrt(2)/(12 pi) delta^(3/2)``, the limit for many points on an arc."""
    d = _checks.interval("arc_min_eigenvalue", "delta", delta, 0.0, 1.0)
    return _checks.like(delta, ARC_CONSTANT * d**1.5)


def separation_event_bound(n: int, delta: float) -> float:
    """Return ``sqrt(delta) / (10 n)``, the lower bound of Lemma H.3 on P(E)."""
    count = _checks.integer("separation_event_bound", "n", n, 1)
    d = float(_checks.interval("separation_event_bound", "delta", delta, 0.0, 1.0))
    return math.sqrt(d) / (10.0 * count)
