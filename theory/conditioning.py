r"""Deep conditioning: how depth drives correlations and condition numbers.

Every bound is a function of plain numbers: the separation ``delta = 1 - |rho|`` of the
inputs, the coefficient of non-linearity ``mu`` (or of non-affinity ``nu``) of the
activation and the number of hidden layers ``depth``. Source: Agarwal, Awasthi, Kale,
*A Deep Conditioning Treatment of Neural Networks* (2021); "sharp" marks a form that is
stronger than the printed one.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory.activations import Activation
from theory.activations import normrelu_constants as normrelu_constants

Array = npt.NDArray[np.float64]
Form = Literal["printed", "sharp"]


def one_layer_bound(delta: Any, mu: Any, *, middle: bool = False) -> Any:
    r"""Bound ``|dual(rho)|`` after one layer, for ``|rho| = 1 - delta`` (Lemma C.5).

    .. math:: |\hat\sigma(\rho)| \le (1-\delta)(1-\mu\delta) \le
        \begin{cases} 1 - (1+\mu/2)\delta & \delta \le 1/2 \\
        (1-\mu/2)(1-\delta) & \delta > 1/2 \end{cases}

    Parameters
    ----------
    delta, mu : float or array, broadcast
        In [0, 1].
    middle : bool
        Return the middle expression, which the activation with energies
        ``(0, 1 - mu, mu)`` attains.

    Returns
    -------
    float or array
        In [0, 1], to 2 ulp.

    Raises
    ------
    ValueError
        If `delta` or `mu` is outside [0, 1] or not finite.

    Examples
    --------
    >>> one_layer_bound(0.5, 0.25), one_layer_bound(0.5, 0.25, middle=True)
    (0.4375, 0.4375)
    """
    d = _checks.interval("one_layer_bound", "delta", delta, 0.0, 1.0)
    m = _checks.interval("one_layer_bound", "mu", mu, 0.0, 1.0)
    if middle:
        out = (1.0 - d) * (1.0 - m * d)
    else:
        out = np.where(d <= 0.5, 1.0 - (1.0 + m / 2.0) * d, (1.0 - m / 2.0) * (1.0 - d))
    return _checks.like(delta if np.ndim(delta) else mu, np.asarray(out))


def burn_in_depth(delta: Any, mu: Any) -> Any:
    r"""Return the layers after which inputs are half way apart, L_0(delta).

    .. math:: L_0(\delta) = \min\{l \ge 0 : 2\delta(1+\mu/2)^l \ge 1\}

    Parameters
    ----------
    delta : float or array
        Separation, in (0, 1].
    mu : float or array
        Coefficient of non-linearity (or any rate), in (0, 1].

    Returns
    -------
    int or array of int
        Decided by comparing powers, not by rounding a ratio of logarithms, which is
        often a whole number.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> burn_in_depth(0.01, 0.26652889653787)
    32
    >>> burn_in_depth(0.5 * 1.5**-7, 1.0)
    7
    """
    d = _checks.interval("burn_in_depth", "delta", delta, 5e-324, 1.0)
    m = _checks.interval("burn_in_depth", "mu", mu, 5e-324, 1.0)
    d, m = np.broadcast_arrays(d, m)
    guess = np.maximum(np.ceil(-np.log(2.0 * d) / np.log1p(m / 2.0)), 0.0)
    out = np.array(
        [
            _least_layer(2.0 * x, y / 2.0, int(g))
            for x, y, g in zip(d.flat, m.flat, guess.flat, strict=True)
        ],
        dtype=np.int64,
    ).reshape(d.shape)
    return int(out) if out.ndim == 0 else out


def _least_layer(size: float, rate: float, guess: int) -> int:
    """Return the least l at which ``size (1 + rate)^l`` has come up, or down, to 1."""
    direction = math.copysign(1.0, rate)

    # The guess is off by at most a few layers; only a close call needs exactness.
    def reached(layer: int) -> bool:
        log = math.log(size) + layer * math.log1p(rate)
        if abs(log) > 1e-9 * (1.0 + 2.0 * layer * abs(rate)):
            return direction * log >= 0.0
        import mpmath

        with mpmath.workdps(60):
            now = mpmath.mpf(size) * (1 + mpmath.mpf(rate)) ** layer
            # Both inputs are floats: a value within their rounding of one is one.
            return bool(direction * (now - 1) >= -(mpmath.mpf(2) ** -50))

    layer = max(guess, 0)
    while layer > 0 and reached(layer - 1):
        layer -= 1
    while not reached(layer):
        layer += 1
    return layer


def correlation_bound(depth: Any, delta: Any, mu: Any) -> Any:
    r"""Bound correlations after `depth` layers, B(L, delta) (Lemma C.7, Theorem 3.2).

    .. math:: B(L,\delta) = \begin{cases} \tfrac12(1-\mu/2)^{L-L_0} & L > L_0(\delta)\\
        1 - \delta(1+\mu/2)^L & L \le L_0(\delta) \end{cases}

    Parameters
    ----------
    depth : int, float or array
        Hidden layers L >= 0; real values are allowed (theorem 3.4 needs L/2).
    delta, mu : float or array
        In (0, 1].

    Returns
    -------
    float or array
        In [0, 1]. Not monotone in L at zero for delta > 1/2.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> correlation_bound(10, 0.01, 0.26652889653787)
    0.9650608249249166
    """
    l = _checks.interval("correlation_bound", "depth", depth, 0.0, math.inf)
    d = _checks.interval("correlation_bound", "delta", delta, 5e-324, 1.0)
    m = _checks.interval("correlation_bound", "mu", mu, 5e-324, 1.0)
    l, d, m = np.broadcast_arrays(l, d, m)
    start = np.asarray(burn_in_depth(d, m))
    with np.errstate(over="ignore"):
        early = 1.0 - d * (1.0 + m / 2.0) ** np.minimum(l, start)
    late = 0.5 * (1.0 - m / 2.0) ** np.maximum(l - start, 0.0)
    out = np.where(l > start, late, early)
    return float(out) if out.ndim == 0 else out


def correlation_envelope(depth: Any, delta: Any, mu: float) -> Any:
    r"""Return the largest correlation that is possible after `depth` layers (sharp).

    .. math:: r_0 = 1 - \delta,\quad r_{l+1} = r_l\,(1 - \mu(1 - r_l))

    Attained by the activation with energies ``(0, 1 - mu, mu)``, so no bound in terms
    of ``delta`` and ``mu`` is better; `correlation_bound` follows from it.

    Parameters
    ----------
    depth : int
        Hidden layers, at least 0.
    delta : float or array
        In [0, 1].
    mu : float
        In [0, 1].

    Returns
    -------
    float or array
        In [0, 1]. The distance ``1 - r`` is iterated, so the relative accuracy of both
        ``r`` and ``1 - r`` is a few ulp per layer.

    Examples
    --------
    >>> correlation_envelope(1, 0.5, 0.2) == one_layer_bound(0.5, 0.2, middle=True)
    True
    """
    layers = _checks.integer("correlation_envelope", "depth", depth, 0)
    d = _checks.interval("correlation_envelope", "delta", delta, 0.0, 1.0)
    m = float(_checks.interval("correlation_envelope", "mu", mu, 0.0, 1.0))
    r = 1.0 - d
    for _ in range(layers):
        r = r * (1.0 - m * d)
        d = d * (1.0 + m * (1.0 - d))
        # Keep whichever of the pair is small; the other follows from it.
        r = np.where(d < 0.5, 1.0 - d, r)
        d = np.where(d < 0.5, d, 1.0 - r)
    return _checks.like(delta, np.asarray(r))


def derivative_bound(delta: Any, mu: Any, *, form: Form = "sharp") -> Any:
    r"""Bound ``|dual'(rho)| / D`` (sharp) or ``|dual'(rho)|`` (printed), Lemma C.14.

    .. math:: \frac{|\hat\sigma'(\rho)|}{D} \le 1 - \frac{2\mu}{1+\mu}\delta,\qquad
        |\hat\sigma'(\rho)| \le \frac1\delta

    Parameters
    ----------
    delta, mu : float or array
        In (0, 1].
    form : {"sharp", "printed"}

    Examples
    --------
    >>> round(derivative_bound(0.1, 0.26652889653787), 15)
    0.957911912271968
    """
    d = _checks.interval("derivative_bound", "delta", delta, 5e-324, 1.0)
    m = _checks.interval("derivative_bound", "mu", mu, 0.0, 1.0)
    out = 1.0 / d + 0.0 * m if form == "printed" else 1.0 - 2.0 * m / (1.0 + m) * d
    return _checks.like(delta if np.ndim(delta) else mu, np.asarray(out))


def ntk_diagonal(depth: int, slope: float) -> float:
    r"""Return ``T_ii = sum_{h=0}^{L} D^h`` for a normalised activation with slope D.

    Examples
    --------
    >>> ntk_diagonal(1, 2.0)
    3.0
    """
    layers = _checks.integer("ntk_diagonal", "depth", depth, 1)
    d = float(_checks.positive("ntk_diagonal", "slope", slope))
    powers = [d**h for h in range(layers + 1)]
    return math.fsum(powers)


def ntk_ratio_bound(depth: Any, delta: Any, mu: Any, *, form: Form = "printed") -> Any:
    r"""Bound ``|T_ij| / T_11`` of the tangent kernel (Theorem 3.4).

    Printed: ``2 B(L/2, delta)`` for ``L >= 2 L_0``. Sharp: ``(1 - mu/2)^(L - L_0)`` for
    ``L >= L_0``, which implies it. Below its threshold each form is 1 (vacuous).

    Examples
    --------
    >>> round(ntk_ratio_bound(100, 0.01, 0.26652889653787), 12)
    0.076200705897
    """
    l = _checks.interval("ntk_ratio_bound", "depth", depth, 0.0, math.inf)
    start = np.asarray(burn_in_depth(delta, mu), dtype=np.float64)
    m = np.asarray(mu, dtype=np.float64)
    if form == "sharp":
        out = (1.0 - m / 2.0) ** np.maximum(l - start, 0.0)
    else:
        half = 2.0 * np.asarray(correlation_bound(l / 2.0, delta, mu))
        out = np.where(l >= 2.0 * start, np.minimum(half, 1.0), 1.0)
    return float(out) if out.ndim == 0 else out


def nngp_min_eigenvalue_bound(depth: Any, delta: Any, mu: Any) -> Any:
    """Return the lower bound ``1 - B(L, delta)`` on lambda_min(K) (Theorem 3.6).

    Under assumption B: unit inputs whose Gram matrix has smallest eigenvalue at least
    `delta`.
    """
    return 1.0 - correlation_bound(depth, delta, mu)


def ntk_min_eigenvalue_bound(
    depth: Any, delta: Any, mu: Any, *, form: Form = "printed"
) -> Any:
    """Return the lower bound on ``lambda_min(T) / T_11`` (Theorem 3.8), assumption B."""
    return 1.0 - ntk_ratio_bound(depth, delta, mu, form=form)


def nngp_condition_bound(
    depth: int, delta: float, mu: float, n: int, *, assumption: str = "A"
) -> float:
    r"""Bound the condition number of the top-layer kernel (Corollaries 3.3 and 3.7).

    Parameters
    ----------
    depth, n : int
        Hidden layers and number of inputs.
    delta, mu : float
        In (0, 1].
    assumption : {"A", "B"}
        A: separated unit inputs, ``|x_i . x_j| <= 1 - delta``. B: smallest eigenvalue of
        the Gram matrix at least `delta`.

    Returns
    -------
    float
        At least 1; infinity where the corollary says nothing (assumption A below its
        threshold depth).

    Examples
    --------
    >>> nngp_condition_bound(64, 0.01, 0.26652889653787, 100)
    inf
    >>> round(nngp_condition_bound(65, 0.01, 0.26652889653787, 100), 3)
    2.784
    """
    who = "nngp_condition_bound"
    layers = _checks.integer(who, "depth", depth, 0)
    count = _checks.integer(who, "n", n, 1)
    start = burn_in_depth(delta, mu)
    if _assumption(who, assumption) == "A":
        if layers < depth_for_condition_number(delta, mu, count):
            return math.inf
        return 1.0 + 2.0 * count * (1.0 - mu / 2.0) ** (layers - start)
    if layers > start:
        return 1.0 + count * (1.0 - mu / 2.0) ** (layers - start)
    return 1.0 + count * ((1.0 + mu / 2.0) ** -layers / delta - 1.0)


def _assumption(who: str, name: str) -> str:
    if name not in ("A", "B"):
        raise ValueError(f"{who}: `assumption` must be 'A' or 'B', got {name!r}.")
    return name


def _layers_to_one(size: float, mu: float) -> int:
    """Return ``ceil(log(size) / -log(1 - mu/2))``, at least 0, decided by powers."""
    guess = math.ceil(math.log(size) / -math.log1p(-mu / 2.0))
    return _least_layer(size, -mu / 2.0, guess)


def depth_for_condition_number(
    delta: float,
    mu: float,
    n: int,
    target: float | None = None,
    *,
    assumption: str = "A",
) -> int:
    r"""Return a depth from which the NNGP condition number is at most `target`.

    Without `target`: ``L_1 = ceil(log n / -log(1 - mu/2)) + L_0`` of Corollary 3.3, where
    the bound ``1 + 2n(1 - mu/2)^(L - L_0)`` starts to hold (it is at most 3 there).

    Examples
    --------
    >>> depth_for_condition_number(0.01, 0.26652889653787, 100)
    65
    >>> depth_for_condition_number(1e-6, 1.0, 1000)
    43
    """
    who = "depth_for_condition_number"
    count = _checks.integer(who, "n", n, 1)
    start = int(burn_in_depth(delta, mu))
    side = _assumption(who, assumption)
    least = start if side == "B" else start + _layers_to_one(count, mu)
    if target is None:
        return least
    goal = float(_checks.real(who, "target", target))
    if goal <= 1.0:
        raise ValueError(f"{who}: `target` must be greater than 1, got {goal}.")
    factor = 2.0 * count if side == "A" else float(count)
    return max(least, start + max(_layers_to_one(factor / (goal - 1.0), mu), 1))


def ntk_condition_bound(
    depth: int,
    delta: float,
    mu: float,
    n: int,
    *,
    assumption: str = "A",
    form: Form = "printed",
) -> float:
    r"""Bound the condition number of the tangent kernel (Corollaries 3.5 and 3.9).

    A: ``1 + 4n(1 - mu/2)^(e)``, B: ``1 + 2n(1 - mu/2)^(e)``, with ``e = L/2 - L_0``
    (printed) or ``L - L_0`` (sharp). Infinity below the threshold depth.

    Examples
    --------
    >>> ntk_threshold_depth(0.01, 0.26652889653787, 100)
    139
    >>> ntk_threshold_depth(0.01, 0.26652889653787, 100, form="sharp")
    70
    """
    layers = _checks.integer("ntk_condition_bound", "depth", depth, 1)
    side = _assumption("ntk_condition_bound", assumption)
    if layers < ntk_threshold_depth(delta, mu, n, assumption=side, form=form):
        return math.inf
    start = burn_in_depth(delta, mu)
    exponent = layers - start if form == "sharp" else layers / 2.0 - start
    factor = 4.0 if side == "A" else 2.0
    return 1.0 + factor * n * (1.0 - mu / 2.0) ** exponent


def ntk_threshold_depth(
    delta: float,
    mu: float,
    n: int,
    *,
    assumption: str = "A",
    form: Form = "printed",
) -> int:
    """Return the depth from which `ntk_condition_bound` is finite."""
    count = _checks.integer("ntk_threshold_depth", "n", n, 1)
    start = burn_in_depth(delta, mu)
    side = _assumption("ntk_threshold_depth", assumption)
    size = 2 * count if side == "A" else 2
    if form == "sharp":
        return int(start) + _layers_to_one(size, mu)
    return 2 * int(start) + _layers_to_one(size**2, mu)


def eigenvalue_transfer(value_at_one: float, value_at_rest: float) -> float:
    """Return ``f(1) - f(1 - delta)``, the bound of Lemma C.8 on lambda_min(f[M]).

    For a power series f with non-negative coefficients, applied entry by entry to a
    positive semidefinite M with unit diagonal and smallest eigenvalue at least delta.
    """
    one = float(_checks.real("eigenvalue_transfer", "value_at_one", value_at_one))
    rest = float(_checks.real("eigenvalue_transfer", "value_at_rest", value_at_rest))
    return one - rest


@dataclass(frozen=True)
class FixedPoint:
    r"""Convergence of an uncentred activation to its fixed point (Theorem 3.10).

    ``|dual^(L)(rho) - point| <= rate**(L - start)`` for ``L >= start`` and
    ``|rho| <= 1 - delta``.
    """

    point: float
    slope: float
    rate: float
    start: int


def fixed_point_convergence(activation: Activation, delta: float) -> FixedPoint:
    r"""Return the constants of Lemma C.30 for ``activation / sqrt(E activation^2)``.

    With D > 1, distance :math:`\bar\delta = 1 - \bar\rho` and non-affinity nu:
    ``rate = 1 - nu * bar_delta / 2`` and ``start = max(ceil(1/a_0^2),
    ceil(log(bar_delta / (2 delta)) / log(1 + nu bar_delta / 2)))``. With D < 1 the fixed
    point is 1 and the rate D.

    Raises
    ------
    ValueError
        If the activation is centred (`correlation_bound` applies) or D = 1, where
        convergence is only algebraic (`unit_slope_bound`).
    """
    who = "fixed_point_convergence"
    d = float(_checks.interval(who, "delta", delta, 5e-324, 1.0))
    total = activation.second_moment
    mean_share = activation.mean**2 / total
    if mean_share == 0.0:
        raise ValueError(f"{who}: `activation` must not be centred.")
    slope = activation.derivative_second_moment / total
    first = math.ceil(1.0 / mean_share)
    if abs(slope - 1.0) <= 1e-12:
        raise ValueError(f"{who}: `activation` must have slope D != 1, got {slope}.")
    if slope < 1.0:
        return FixedPoint(1.0, slope, slope, first)
    point = activation.fixed_point()
    gap = 1.0 - point
    nu = activation.nu
    local = float(activation.dual_derivative(point)) / total
    rate = max(1.0 - nu * gap / 2.0, local)
    wait = math.ceil(math.log(gap / (2.0 * d)) / math.log1p(nu * gap / 2.0))
    return FixedPoint(point, local, rate, max(first, wait, 0))


def unit_slope_bound(depth: Any, nu: float, *, wait: int = 0) -> Any:
    """Bound ``1 - dual^(L)(rho) <= 1 / (1 + nu (L - wait))`` when D = 1 (Lemma C.32).

    `wait` is 0 for rho >= 0, else ``ceil(1 / a_0^2)``.
    """
    l = _checks.interval("unit_slope_bound", "depth", depth, 0.0, math.inf)
    m = float(_checks.interval("unit_slope_bound", "nu", nu, 0.0, 1.0))
    return _checks.like(depth, 1.0 / (1.0 + m * np.maximum(l - wait, 0.0)))
