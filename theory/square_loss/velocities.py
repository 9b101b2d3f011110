r"""Velocities of directions and weights along the gradient flow, network by network.

Source: Poggio and Liao 2021, eq. (4) and the change of variables ``W = rho V`` before it,
printed in two forms: with the gradient of the loss for the velocity of the weights the
first is eq. (4); the second lacks the projection.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._arrays import unscaled
from theory.square_loss import _inputs, _passes

Array = npt.NDArray[np.float64]
Weights = tuple[Array, ...]


def directions_velocity(
    rho: Any, directions: Sequence[Any], x: Any, labels: Any
) -> Weights:
    r"""Return the velocity of every direction.

    .. math:: \dot V_k = 2\rho \sum_n (\rho f_n - y_n)
        \Big(V_k f_n - \frac{\partial f_n}{\partial V_k}\Big)

    On the unit sphere it is tangent: minus the projected gradient of the loss. Off it the
    formula is taken as it stands, and `off_sphere_rate` tells where it leads.

    Parameters
    ----------
    rho : float
        Positive.
    directions : sequence of array, shapes (..., n_k, n_{k-1})
    x : array, shape (N, d)
    labels : array, shape (N,)
        -1 and +1.

    Returns
    -------
    tuple of array, shapes of the directions

    Raises
    ------
    ValueError
        If shapes do not follow on each other, an entry is not finite, or a label is not
        -1 or +1.

    Notes
    -----
    Error at most ``sum_k n_k N eps`` times the gradient's size: what is left where the
    terms cancel, at a critical point, is rounding. Source: Poggio and Liao 2021, eq. (4).

    Examples
    --------
    One input, one layer: the direction turns towards it.

    >>> directions_velocity(0.5, [[[0.6, 0.8]]], [[1.0, 0.0]], [1])
    (array([[ 0.448, -0.336]]),)
    """
    who = "directions_velocity"
    size = np.asarray(_checks.scalar(who, "rho", rho, positive=True))
    v, x, y = _network_and_data(who, "directions", directions, x, labels)
    with np.errstate(over="ignore", invalid="ignore"):
        hidden, f = _passes.forward(v, x)
        e = size * f - y
        mean = np.sum(e * f, axis=-1)[..., np.newaxis, np.newaxis]
        summed = _passes.pull_back(v, hidden, e)
        pairs = zip(v, summed, strict=True)
        out = tuple(2.0 * size * (w * mean - g) for w, g in pairs)
    return _inputs.finite(who, out, "rho", "directions", "x")


def weights_velocity(
    weights: Sequence[Any], x: Any, labels: Any, weight_decay: float
) -> Weights:
    r"""Return the velocity of every matrix of a network without normalisation.

    .. math:: \dot W_k = -2 \sum_n (g_n - y_n) \frac{\partial g_n}{\partial W_k}
        - 2\lambda W_k

    Hence ``d|W_k|^2/dt = -4 sum e_n g_n - 4 lambda |W_k|^2``: the squared norms of two
    layers approach each other as ``exp(-4 lambda t)``, and never without weight decay.

    Parameters
    ----------
    weights : sequence of array, shapes (..., n_k, n_{k-1})
    x, labels
        As for `directions_velocity`.
    weight_decay : float
        ``lambda >= 0`` on every layer.

    Returns
    -------
    tuple of array, shapes of the weights

    Raises
    ------
    ValueError
        As `directions_velocity`, and if `weight_decay` is negative.

    Examples
    --------
    >>> weights_velocity([[[0.6, 0.8]]], [[1.0, 0.0]], [1], 0.5)
    (array([[ 0.2, -0.8]]),)
    """
    who = "weights_velocity"
    penalty = _checks.scalar(who, "weight_decay", weight_decay)
    w, x, y = _network_and_data(who, "weights", weights, x, labels)
    with np.errstate(over="ignore", invalid="ignore"):
        hidden, g = _passes.forward(w, x)
        summed = _passes.pull_back(w, hidden, g - y)
        pairs = zip(w, summed, strict=True)
        out = tuple(-2.0 * (s + penalty * v) for v, s in pairs)
    return _inputs.finite(who, out, "weights", "x", "weight_decay")


def direction_from_weight_velocity(
    weight: Any, weight_velocity: Any
) -> tuple[float, Array]:
    r"""Return the velocities of a matrix's norm and direction from its own.

    .. math:: \dot\rho = \langle V, \dot W\rangle, \qquad
        \dot V = \frac{1}{\rho}\big(\dot W - V \langle V, \dot W\rangle\big)

    Parameters
    ----------
    weight, weight_velocity : array, shape (r, c)

    Returns
    -------
    norm_velocity : float
    direction_velocity : array, shape (r, c)

    Raises
    ------
    ValueError
        If shapes differ, an entry is not finite, or the matrix is zero.

    Notes
    -----
    Error a few eps of ``|W'|`` (over the norm, for the direction). Source: Poggio and
    Liao 2021, before eq. (4), where the velocity of the direction is printed for the
    gradient in the place of W', and once more without the projection.

    Examples
    --------
    >>> speed, turn = direction_from_weight_velocity([[3.0, 4.0]], [[1.0, 0.0]])
    >>> round(speed, 12), turn.round(12)
    (0.6, array([[ 0.128, -0.096]]))
    """
    who = "direction_from_weight_velocity"
    w = _checks.real(who, "weight", weight)
    dw = _checks.real(who, "weight_velocity", weight_velocity)
    if w.shape != dw.shape or w.ndim != 2:
        raise ValueError(
            f"{who}: `weight_velocity` must have the shape of `weight`, a matrix, got"
            f" {dw.shape} for {w.shape}."
        )
    _inputs.nonzero(who, "weight", (w,), single=True)
    part, power = unscaled(w)
    size = float(np.linalg.norm(part))
    v = part / size
    with np.errstate(over="ignore", invalid="ignore"):
        speed = np.sum(v * dw)
        turn = np.ldexp((dw - v * speed) / size, -power)
    _checks.result(who, turn, "weight", "weight_velocity")
    return float(_checks.result(who, speed, "weight_velocity")), turn


def _network_and_data(
    who: str, name: str, weights: Sequence[Any], x: Any, labels: Any
) -> tuple[Weights, Array, Array]:
    w = _inputs.network(who, name, weights)
    rows = _inputs.data(who, x, name, w)
    y = _inputs.labels(who, labels, rows.shape[-2])
    parts = {f"{name}[{k}]": v.shape[:-2] for k, v in enumerate(w)}
    parts |= {"x": rows.shape[:-2], "labels": y.shape[:-1]}
    _checks.common(who, parts, _inputs.LEADING)
    return w, rows, y
