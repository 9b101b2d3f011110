r"""The correlation map of deep random networks and its fixed point.

At the fixed variance q* two pre-activations of correlation c go to

.. math:: c \mapsto \frac{\sigma_w^2\, E\,s(u) s(v) + \sigma_b^2}{q^*},

a convex map of [0, 1] whose slope at c = 1 is chi_1. There is one stable fixed point: 1
where chi_1 is at most one, below 1 otherwise.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._naming import in_own_name
from theory.activations import Activation
from theory.activations.base import pair
from theory.phase._settling import settle
from theory.phase._state import State, like, parameters, tables

Array = npt.NDArray[np.float64]


@in_own_name
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


@in_own_name
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
    >>> from theory.phase import edge_of_chaos
    >>> edge = edge_of_chaos(act.tanh, 0.05)
    >>> fixed_distance(act.tanh, [edge + 1e-3, edge + 1e-6], 0.05).round(8).tolist()
    [0.00131439, 1.32e-06]
    """
    return _fixed("fixed_distance", activation, weight_var, bias_var, start)[1]


@in_own_name
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
    >>> correlation_map([0.0, 0.987999, 1.0], act.tanh, 2.0, 0.1).round(6).tolist()
    [0.122753, 0.987999, 1.0]
    """
    who = "correlation_map"
    c = _checks.correlation(who, rho)

    def layer(a: Activation, x: Array, w: float, b: float, q: float) -> Array:
        return (w * np.asarray(pair(a, a).dual(x)) + b) / q

    out = _one_layer(who, c, activation, weight_var, bias_var, start, layer)
    return like((rho, weight_var, bias_var), out)


@in_own_name
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
    >>> from theory.phase import chi_1
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


def _fixed(
    who: str, activation: Activation, weight_var: Any, bias_var: Any, start: float
) -> tuple[Any, Any]:
    w, b = parameters(who, weight_var, bias_var)
    q = _checks.scalar(who, "start", start, positive=True)
    s = State(tables(who, activation), w.ravel(), b.ravel(), q)
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
    m = tables(who, activation)
    q = settle(m, w.ravel(), b.ravel(), s).reshape(w.shape)
    _checks.reject(
        who,
        "weight_var` and `bias_var",
        "lead to a variance above 0 and below infinity",
        ~(np.isfinite(q) & (q > 1e-300)),
        q,
        "See `fixed_variance`.",
    )
    name = "rho" if who == "correlation_map" else "delta"
    _checks.broadcast(who, **{name: x}, weight_var=weight_var, bias_var=bias_var)
    x, w, b, q = np.broadcast_arrays(x, w, b, q)
    keys = np.stack([w.ravel(), b.ravel(), q.ravel()])
    kinds, which = np.unique(keys, axis=1, return_inverse=True)
    flat, values = np.empty(x.size), x.ravel()
    for k, (one_w, one_b, one_q) in enumerate(kinds.T.tolist()):
        mask = which.ravel() == k
        flat[mask] = layer(m.at(one_q), values[mask], one_w, one_b, one_q)
    return flat.reshape(x.shape)
