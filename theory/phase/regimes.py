r"""Order and chaos: chi_1, the fixed correlation, depth scales, and all of it at once.

At the fixed variance q* two inputs of correlation c go to

.. math:: c \mapsto \frac{\sigma_w^2\, E\,s(u) s(v) + \sigma_b^2}{q^*}, \qquad
          \chi_1 = \sigma_w^2\, E\,s'(\sqrt{q^*} Z)^2 ,

a convex map of [0, 1] with slope chi_1 at c = 1. Ordered (chi_1 < 1): all inputs become
parallel, gradients vanish. Chaotic (chi_1 > 1): they part to the fixed correlation c* < 1,
gradients explode. Perturbations die like exp(-layers / xi).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory.activations import Activation
from theory.activations.base import pair
from theory.phase import _correlations
from theory.phase._curves import HIGH, LOW, Moments, moments
from theory.phase.variances import like, parameters, settle, variance_slope

Array = npt.NDArray[np.float64]

EDGE = 1e-12
"""How far from one a chi_1 may be and count as one."""


@dataclass(frozen=True, eq=False)
class Phase:
    r"""What infinitely wide random networks do at great depth; see `classify`.

    Attributes
    ----------
    weight_var, bias_var : float or array
        The parameters, broadcast.
    phase : str or array of str
        ``ordered`` (chi_1 < 1), ``chaotic`` (chi_1 > 1), ``critical`` (chi_1 = 1 within
        `EDGE`), or ``divergent`` (variances grow without bound).
    variance : float or array
        q*, the variance of pre-activations: ``inf`` where divergent.
    chi_q : float or array
        Slope of the variance map at q*.
    chi_1 : float or array
        Slope of the correlation map at c = 1: what a squared gradient is multiplied by
        from layer to layer.
    correlation, distance : float or array
        c*, and 1 - c* with all its digits.
    chi_c : float or array
        Slope of the correlation map at c*.
    variance_depth, correlation_depth : float or array
        ``xi_q = -1/log |chi_q|`` and ``xi_c = -1/log chi_c``: layers in which a deviation
        falls by the factor e; infinite where it does not fall exponentially.
    gradient_depth : float or array
        ``-1/log chi_1``: squared gradients shrink by the factor e in so many layers;
        negative where they grow.

    All but the parameters, the phase and the variance are ``nan`` where divergent (for
    ReLU and its kin, whose slopes are the same at every variance, chi_q, chi_1 and
    `gradient_depth` stay known). At q* = 0, in the ordered phase without biases, the
    values are the limits of vanishing biases.
    """

    weight_var: Any
    bias_var: Any
    phase: Any
    variance: Any
    chi_q: Any
    chi_1: Any
    correlation: Any
    distance: Any
    chi_c: Any
    variance_depth: Any
    correlation_depth: Any
    gradient_depth: Any

    def __str__(self) -> str:
        """One line for each quantity, where they are numbers."""
        if np.ndim(self.variance):
            names, counts = np.unique(self.phase, return_counts=True)
            found = (f"{n} {k}" for k, n in zip(names, counts, strict=True))
            return f"{np.size(self.variance)} networks: {', '.join(found)}"
        return (
            f"{self.phase}: weight_var {self.weight_var:g}, bias_var {self.bias_var:g}\n"
            f"variance     q* = {self.variance:<12.6g} chi_q = {self.chi_q:<12.6g}"
            f" xi_q = {self.variance_depth:.6g}\n"
            f"correlation  c* = {self.correlation:<12.6g} chi_c = {self.chi_c:<12.6g}"
            f" xi_c = {self.correlation_depth:.6g}\n"
            f"gradients    {'':17}chi_1 = {self.chi_1:<12.6g}"
            f" xi_g = {self.gradient_depth:.6g}"
        )


def classify(
    activation: Activation,
    weight_var: Any,
    bias_var: Any = 0.0,
    *,
    start: float = 1.0,
) -> Phase:
    r"""Return the phase of deep random networks, with its fixed points and depth scales.

    Parameters
    ----------
    activation : Activation
        Used as it is.
    weight_var, bias_var : float or array_like
        Variance of a weight times the width, positive; of a bias, at least 0.
    start : float
        Variance of the first layer's pre-activations: it decides where there are several
        fixed points, and is q* where every variance is one.

    Returns
    -------
    Phase
        Floats, or arrays of the broadcast shape.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Relative errors are 1e-12 or below away from the edge. Near it rounding of one layer,
    1e-14, is amplified: the errors of q* by ``1/|1 - chi_q|``, of `distance` and the
    depth scales by ``1/|1 - chi_1|`` on top of q*'s, and `distance` itself vanishes there
    (in proportion to ``chi_1 - 1``, or to its square for an activation with a kink).
    Poole et al. (2016); Schoenholz et al. (2017), equations 9 and 13.

    Examples
    --------
    >>> from theory import activations as act
    >>> print(classify(act.tanh, 2.0, 0.1))
    chaotic: weight_var 2, bias_var 0.1
    variance     q* = 0.814644     chi_q = 0.438306     xi_q = 1.21228
    correlation  c* = 0.851402     chi_c = 0.884149     xi_c = 8.12144
    gradients                      chi_1 = 1.0166       xi_g = -60.7405
    >>> classify(act.relu, [1.0, 2.0, 3.0]).phase.tolist()
    ['ordered', 'critical', 'divergent']
    """
    who = "classify"
    w, b = parameters(who, weight_var, bias_var)
    q = _checks.scalar(who, "start", start, positive=True)
    s = _State(moments(activation), w.ravel(), b.ravel(), q)
    inputs = (weight_var, bias_var)

    def shaped(values: Array) -> Any:
        return like(inputs, values.reshape(w.shape))

    off = s.chi_1 - 1.0
    near = np.abs(off) <= EDGE
    phase = np.where(off > 0.0, "chaotic", "ordered")
    phase = np.where(near, "critical", phase)
    phase = np.where(np.isinf(s.q), "divergent", phase).reshape(w.shape)
    return Phase(
        weight_var=shaped(w),
        bias_var=shaped(b),
        phase=phase if phase.ndim else str(phase),
        variance=shaped(s.q),
        chi_q=shaped(s.chi_q),
        chi_1=shaped(s.chi_1),
        correlation=shaped(s.correlation),
        distance=shaped(s.distance),
        chi_c=shaped(s.chi_c),
        variance_depth=shaped(depth(np.abs(s.chi_q))),
        correlation_depth=shaped(depth(s.chi_c)),
        gradient_depth=shaped(depth(s.chi_1)),
    )


def chi_1(
    activation: Activation,
    weight_var: Any,
    bias_var: Any = 0.0,
    *,
    start: float = 1.0,
) -> Any:
    r"""Return chi_1 = weight_var E s'(sqrt(q*) Z)^2 at the fixed variance.

    Below one in the ordered phase, above one in the chaotic one. Infinite for a function
    with jumps; its limit at q* = 0; nan where variances diverge, except for ReLU and its
    kin. Parameters and errors as `classify`.

    Examples
    --------
    >>> from theory import activations as act
    >>> round(chi_1(act.tanh, 2.0, 0.1), 9)
    1.016600025
    >>> chi_1(act.relu, [1.0, 2.0], 0.0).tolist()
    [0.5, 1.0]
    """
    w, b = parameters("chi_1", weight_var, bias_var)
    q = _checks.scalar("chi_1", "start", start, positive=True)
    m = moments(activation)
    flat = w.ravel()
    out = first_slope(m, settle(m, flat, b.ravel(), q), flat)
    return like((weight_var, bias_var), out.reshape(w.shape))


def fixed_correlation(
    activation: Activation,
    weight_var: Any,
    bias_var: Any = 0.0,
    *,
    start: float = 1.0,
) -> Any:
    """Return c*, to which the correlation of any two inputs converges.

    1 in the ordered phase and at the edge, below 1 in the chaotic one, 0 there for an odd
    activation without biases; nan where variances diverge. Parameters, accuracy and errors
    as `classify`; when c* is near one, take `fixed_distance`.

    Examples
    --------
    >>> from theory import activations as act
    >>> fixed_correlation(act.tanh, [0.9, 2.0]).tolist()
    [1.0, 0.0]
    """
    return _fixed("fixed_correlation", activation, weight_var, bias_var, start)[0]


def fixed_distance(
    activation: Activation,
    weight_var: Any,
    bias_var: Any = 0.0,
    *,
    start: float = 1.0,
) -> Any:
    """Return 1 - c*, accurate however small; see `fixed_correlation`.

    Examples
    --------
    Just inside the chaotic phase it is in proportion to the distance from the edge:

    >>> from theory import activations as act
    >>> w = edge = 1.7603489
    >>> far, near = fixed_distance(act.tanh, [edge + 1e-2, edge + 1e-4], 0.05)
    >>> bool(80 < far / near < 120)
    True
    """
    return _fixed("fixed_distance", activation, weight_var, bias_var, start)[1]


def correlation_map(
    rho: Any,
    activation: Activation,
    weight_var: Any,
    bias_var: Any = 0.0,
    *,
    start: float = 1.0,
) -> Any:
    r"""Return one layer's map of correlations, (weight_var E s(u)s(v) + bias_var) / q*.

    Parameters
    ----------
    rho : float or array_like
        Correlations in [-1, 1] of pre-activations that have the fixed variance.
    activation, weight_var, bias_var, start
        As in `classify`; all broadcast.

    Returns
    -------
    float or array
        Absolute accuracy 1e-13.

    Raises
    ------
    ValueError
        If an argument is out of range, or the fixed variance is 0 or infinite.

    Notes
    -----
    Poole et al. (2016), equation 5, for inputs of equal length.

    Examples
    --------
    >>> from theory import activations as act
    >>> correlation_map([0.0, 0.851402, 1.0], act.tanh, 2.0, 0.1).round(5).tolist()
    [0.12275, 0.8514, 1.0]
    """
    who = "correlation_map"
    c = _checks.correlation(who, rho)

    def layer(a: Activation, x: Array, w: float, b: float, q: float) -> Array:
        return (w * np.asarray(pair(a, a).dual(x)) + b) / q

    out = _one_layer(who, c, activation, weight_var, bias_var, start, layer)
    return like((rho, weight_var, bias_var), out)


def correlation_distance_map(
    delta: Any,
    activation: Activation,
    weight_var: Any,
    bias_var: Any = 0.0,
    *,
    start: float = 1.0,
) -> Any:
    r"""Return the correlation map in the distance ``delta = 1 - rho``.

    Relative accuracy 1e-13 however small the distance; its ratio to `delta` tends to chi_1
    as `delta` vanishes. Parameters and errors as `correlation_map`, `delta` in [0, 2].

    Examples
    --------
    >>> from theory import activations as act
    >>> near = correlation_distance_map(1e-15, act.tanh, 2.0, 0.1) / 1e-15
    >>> abs(near / chi_1(act.tanh, 2.0, 0.1) - 1.0) < 1e-12
    True
    """
    who = "correlation_distance_map"
    d = _checks.interval(who, "delta", delta, 0.0, 2.0)

    def layer(a: Activation, x: Array, w: float, b: float, q: float) -> Array:  # noqa: ARG001
        return w * np.asarray(pair(a, a).distance(x)) / q

    out = _one_layer(who, d, activation, weight_var, bias_var, start, layer)
    return like((delta, weight_var, bias_var), out)


# --- shared ---------------------------------------------------------------------------


def depth(slope: Array) -> Array:
    """Return -1/log(slope): 0 at slopes 0 and infinity, infinite at one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(slope == 1.0, np.inf, -1.0 / np.log(slope)) + 0.0


def first_slope(m: Moments, q: Array, w: Array) -> Array:
    """Return chi_1 at variances q, for flat arrays."""
    if m.proportional is not None:
        return w * m.proportional
    out = np.full(q.shape, np.nan)
    out[q < math.exp(LOW)] = m.at_zero[1]
    inside = (q >= math.exp(LOW)) & np.isfinite(q)
    beyond = inside & (q >= math.exp(m.slope_top))
    if m.slope_top < HIGH and beyond.any():
        raise ValueError(
            "from_function: `derivative` must be given for pre-activations of variance"
            f" {q[beyond].max():.3g}: the interpolated one ends at |x| = 40."
        )
    if math.isinf(m.activation.derivative_second_moment):
        out[inside] = np.inf
    else:
        out[inside] = m.slope.read(np.log(q[inside]))[0]
    return w * out


class _State:
    """Fixed points and slopes, for flat arrays of parameters."""

    def __init__(self, m: Moments, w: Array, b: Array, start: float) -> None:
        self.q = settle(m, w, b, start)
        self.chi_q = variance_slope(m, self.q, w)
        self.chi_1 = first_slope(m, self.q, w)
        known = np.isfinite(self.q)
        self.correlation = np.where(known, 1.0, np.nan)
        self.distance = np.where(known, 0.0, np.nan)
        self.chi_c = np.where(known, self.chi_1, np.nan)
        apart = np.flatnonzero(
            known & (self.q >= math.exp(LOW)) & (self.chi_1 > 1.0 + EDGE)
        )
        if apart.size:
            found = _correlations.fixed(m, self.q[apart], w[apart], b[apart])
            self.distance[apart], self.correlation[apart], self.chi_c[apart] = found


def _fixed(
    who: str, activation: Activation, weight_var: Any, bias_var: Any, start: float
) -> tuple[Any, Any]:
    w, b = parameters(who, weight_var, bias_var)
    q = _checks.scalar(who, "start", start, positive=True)
    s = _State(moments(activation), w.ravel(), b.ravel(), q)
    inputs = (weight_var, bias_var)
    return (
        like(inputs, s.correlation.reshape(w.shape)),
        like(inputs, s.distance.reshape(w.shape)),
    )


def _one_layer(
    who: str,
    x: Array,
    activation: Activation,
    weight_var: Any,
    bias_var: Any,
    start: float,
    layer: Any,
) -> Array:
    w, b = parameters(who, weight_var, bias_var)
    s = _checks.scalar(who, "start", start, positive=True)
    m = moments(activation)
    q = settle(m, w.ravel(), b.ravel(), s).reshape(w.shape)
    _checks.reject(
        who,
        "weight_var",
        "lead to a variance above 0 and below infinity",
        ~(np.isfinite(q) & (q > 1e-300)),
        q,
        "See `fixed_variance`.",
    )
    try:
        x, w, b, q = np.broadcast_arrays(x, w, b, q)
    except ValueError:
        raise ValueError(
            f"{who}: the arguments must broadcast, got shapes {x.shape} and {w.shape}."
        ) from None
    keys = np.stack([w.ravel(), b.ravel(), q.ravel()])
    kinds, which = np.unique(keys, axis=1, return_inverse=True)
    flat, values = np.empty(x.size), x.ravel()
    for k, (one_w, one_b, one_q) in enumerate(kinds.T.tolist()):
        mask = which.ravel() == k
        flat[mask] = layer(m.at(one_q), values[mask], one_w, one_b, one_q)
    return flat.reshape(x.shape)
