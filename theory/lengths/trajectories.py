"""Lengths and correlations layer by layer, and what an activation is at one length."""

import math
from typing import Any

import numpy as np

from theory import _checks
from theory._arrays import Array
from theory._naming import in_own_name
from theory.activations import Activation
from theory.activations.function import NARROWEST

LEAST = 1e-290
"""The least squared length: a kink over a smaller length is beyond what is known."""

MOST = 1e16
"""The largest squared length at which duals are tabulated."""

LONG = 100_000
"""Layers of lengths, a minute."""

EPS = float(np.finfo(np.float64).eps)

DEEP = 10_000
"""Layers of correlations, minutes for each pair of a smooth activation."""


@in_own_name
def chord_rate(activation: Activation, *, least: float = 0.5) -> float:
    r"""Return ``(1 - length_map(c)) / (1 - c)``, the contraction rate of Theorem D.1.

    The least squared length c is one half there; any other in (0, 1) serves (Remark D.2).

    For activations that are non-decreasing, vanish at zero, are concave on the right,
    convex on the left and have unit second moment, ``|gamma_L - 1| <= alpha^L |gamma_0
    - 1|`` from every ``gamma_0 >= c``. It is 1 for positively homogeneous ones.

    Raises
    ------
    ValueError
        If `activation` is none, or `least` is not in [1e-6, 1 - 1e-6].

    Examples
    --------
    >>> from theory import activations as act
    >>> round(chord_rate(act.tanh.normalized()), 12)
    0.611817742314
    """
    who = "chord_rate"
    _checks.instance(who, "activation", activation, Activation)
    c = _checks.number(who, "least", least, 1e-6, 1.0 - 1e-6)
    return (1.0 - float(activation.length_map(c))) / (1.0 - c)


@in_own_name
def length_trajectory(activation: Activation, gamma: Any, depth: int) -> Array:
    """Return squared lengths ``gamma_0, ..., gamma_depth``.

    Parameters
    ----------
    activation : Activation
        Taken as it is.
    gamma : float or array
        Squared lengths of the inputs, positive.
    depth : int
        Hidden layers, from 0 to 100,000.

    Returns
    -------
    array, shape (depth + 1, ...)
        The shape of `gamma` behind the layers.

    Raises
    ------
    ValueError
        If an argument is outside its range, or a length leaves float64.

    Examples
    --------
    >>> from theory import activations as act
    >>> length_trajectory(act.relu, [1.0, 4.0], 2).round(12).tolist()
    [[1.0, 4.0], [0.5, 2.0], [0.25, 1.0]]
    """
    who = "length_trajectory"
    _checks.instance(who, "activation", activation, Activation)
    layers = _checks.integer(who, "depth", depth, 0, LONG)
    start = _checks.interval(who, "gamma", gamma, NARROWEST, np.inf)
    return _lengths(who, "gamma", activation, start, layers)


def _lengths(
    who: str, name: str, activation: Activation, start: Array, layers: int
) -> Array:
    out = [start]
    for layer in range(layers):
        with np.errstate(over="ignore"):
            after = activation._lengths(out[-1].ravel()).reshape(start.shape)
        out.append(after)
        # The last length may be larger than those whose layers are integrated.
        most = np.inf if layer + 1 == layers else activation._widest
        bad = ~((after > 0.0) & (after <= most) & np.isfinite(after))
        hint = f"Layer {layer + 1}, from `{name}`."
        _checks.reject(who, "depth", "keep lengths within float64", bad, out[-1], hint)
    return np.array(out)


@in_own_name
def joint_trajectory(
    activation: Activation, gamma_x: Any, gamma_y: Any, rho: Any, depth: int
) -> tuple[Array, Array, Array]:
    """Return both squared lengths and the correlation after 0..depth layers.

    Parameters
    ----------
    activation : Activation
        Taken as it is.
    gamma_x, gamma_y : float or array
        Squared lengths of the inputs, in [1e-290, 1e16].
    rho : float or array
        Correlation of the inputs, in [-1, 1].
    depth : int
        Hidden layers, from 0 to 10,000; each takes up to 40 ms a pair of lengths, and up
        to a second where these are so large that no series ends.

    Returns
    -------
    x, y, rho : arrays, shape (depth + 1, ...)
        The common shape of the arguments behind the layers. Lengths to a relative 1e-14;
        each correlation to 1e-13 of what the layer makes of the one before, as a float:
        near +-1 jumps make roots of its rounding.

    Raises
    ------
    ValueError
        If an argument is outside its range, or a length leaves float64.

    Examples
    --------
    >>> from theory import activations as act
    >>> x, y, rho = joint_trajectory(act.tanh.normalized(), 2.0, 0.5, [0.9, 1.0], 3)
    >>> x.shape, rho[1].round(6).tolist()
    ((4, 2), [0.874999, 0.986199])
    """
    who = "joint_trajectory"
    _checks.instance(who, "activation", activation, Activation)
    layers = _checks.integer(who, "depth", depth, 0, DEEP)
    starts = (
        _checks.interval(who, "gamma_x", gamma_x, LEAST, MOST),
        _checks.interval(who, "gamma_y", gamma_y, LEAST, MOST),
        _checks.correlation(who, rho),
    )
    names = ("gamma_x", "gamma_y", "rho")
    _checks.broadcast(who, **dict(zip(names, starts, strict=True)))
    gx, gy, r = np.broadcast_arrays(*starts)
    x = _lengths(who, "gamma_x", activation, gx, layers)
    y = _lengths(who, "gamma_y", activation, gy, layers)
    found = np.empty((layers + 1, *r.shape))
    found[0] = r
    for l in range(layers):
        for i in np.ndindex(r.shape):
            try:
                dual = activation.dual(
                    float(found[(l, *i)]),
                    var_x=float(x[(l, *i)]),
                    var_y=float(y[(l, *i)]),
                )
            except ValueError as error:
                raise ValueError(
                    f"{who}: `gamma_x` and `gamma_y` must keep duals computable, but in"
                    f" layer {l + 1}: {error}"
                ) from error
            size = np.sqrt(x[(l + 1, *i)]) * np.sqrt(y[(l + 1, *i)])
            # A quotient of rounded numbers may exceed one; of parallel inputs it may be
            # below, which jumps would make a distance.
            ratio = float(dual) / size
            parallel = abs(found[(l, *i)]) == 1.0 and abs(ratio) >= 1.0 - 4.0 * EPS
            found[(l + 1, *i)] = (
                np.rint(ratio) if parallel else np.clip(ratio, -1.0, 1.0)
            )
    return x, y, found


@in_own_name
def generalised_mu(activation: Activation, gamma: Any) -> Any:
    r"""Return ``mu(gamma) = 1 - a_1(gamma)^2 / length_map(gamma)`` (Lemma D.6).

    Parameters
    ----------
    activation : Activation
        Not zero.
    gamma : float or array
        Squared length, in [1e-290, 1e16].

    Returns
    -------
    float or array
        In [0, 1], to a relative 1e-13: the rest energy plus the mean's share, not a
        difference of nearly equal numbers. An energy below 1e-307, that of erf at 1e-103
        and of gelu at 1e-154, loses digits, and is 0 below float64.

    Raises
    ------
    ValueError
        For an activation that is zero, a length outside the range, or one at which
        moments leave float64.

    Examples
    --------
    >>> from theory import activations as act
    >>> round(generalised_mu(act.tanh, 2.0), 12)
    0.113715258174
    """

    def share(gamma: float) -> float:
        at = _at(activation, gamma)
        return min(_nu(at) + at.mean**2 / at.second_moment, 1.0)

    _checks.instance("generalised_mu", "activation", activation, Activation)
    return _each("generalised_mu", share, gamma)


@in_own_name
def rest_share(activation: Activation, gamma: Any) -> Any:
    r"""Return ``1 - (a_0(gamma)^2 + a_1(gamma)^2) / length_map(gamma)``.

    Parameters
    ----------
    activation : Activation
        Not zero.
    gamma : float or array
        Squared length, in [1e-290, 1e16].

    Returns
    -------
    float or array
        In [0, 1]; accurate as `generalised_mu`.

    Raises
    ------
    ValueError
        For an activation that is zero, a length outside the range, or one at which
        moments leave float64.

    Examples
    --------
    >>> from theory import activations as act
    >>> round(rest_share(act.normrelu(), 0.5), 12)
    0.002585799741
    """
    _checks.instance("rest_share", "activation", activation, Activation)
    return _each("rest_share", lambda g: _nu(_at(activation, g)), gamma)


def _nu(at: Activation) -> float:
    # NaN, for which `gamma` is named, where squares leave float64.
    known = math.isfinite(at._rest) and math.isfinite(at.second_moment)
    return at.nu if known else math.nan


def _at(activation: Activation, gamma: float) -> Activation:
    # What is known of the activation itself is not found again by quadrature.
    return activation if gamma == 1.0 else activation._scaled(gamma)


def _each(who: str, function: Any, gamma: Any) -> Any:
    g = _checks.positive(who, "gamma", gamma)
    need = f"lie in [{LEAST:g}, {MOST:g}]"
    _checks.reject(who, "gamma", need, (g < LEAST) | (g > MOST), g, "")
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            out = np.array([function(float(v)) for v in g.flat])
    except ValueError as error:
        # What activations call it.
        raise ValueError(str(error).replace("`var`", "`gamma`")) from error
    return _checks.plain(_checks.result(who, out, "gamma").reshape(g.shape))
