r"""The edge of chaos: where chi_1 = 1 along the fixed variances.

Every variance q is the fixed variance of one network at the edge,

.. math:: \sigma_w^2 = \frac{1}{E\,s'(\sqrt q Z)^2}, \qquad
          \sigma_b^2 = q - \sigma_w^2\, E\,s(\sqrt q Z)^2,

if that bias variance is not negative: a curve with parameter q, found for a bias variance
from the signs on a grid of log q.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._naming import in_own_name
from theory.activations import Activation
from theory.phase import _roots
from theory.phase._curves import LOW, Moments
from theory.phase._settling import PER_PANEL, critical, highest, variance_slope
from theory.phase._state import like, tables

Array = npt.NDArray[np.float64]

LARGEST = 1e8
"""Variances beyond it count as divergent."""


@dataclass(frozen=True, eq=False)
class Edge:
    """Networks at the edge of chaos.

    Attributes
    ----------
    variance : float or array
        q*; nan for ReLU and its kin, where every variance is fixed.
    weight_var, bias_var : float or array
        The parameters; a negative bias variance belongs to no network.
    chi_q : float or array
        Slope of the variance map at q*.
    stable : bool or array
        Whether variances converge to q*, from above as well as from below.
    """

    variance: Any
    weight_var: Any
    bias_var: Any
    chi_q: Any
    stable: Any


@in_own_name
def edge_curve(q: Any, activation: Activation) -> Edge:
    r"""Return the networks with chi_1 = 1 at the variances q.

    Parameters
    ----------
    q : float or array_like
        Variances of pre-activations, from 1e-16 to 1e8.
    activation : Activation
        With a square-integrable derivative.

    Returns
    -------
    Edge
        `weight_var` with relative accuracy 1e-13; `bias_var` with absolute accuracy
        1e-14 of the larger of q and ``weight_var E s^2``, and 0 where it is below 4e-15 q
        (1e-12 q where slopes are taken from the values of a function). Of a function
        whose slope vanishes at zero, by its values, both are known to 1e-11 at variances
        below 0.01, and to 1e-8 at those below 1e-12.

    Raises
    ------
    ValueError
        If `q` is out of range, or so small or large that no `weight_var` or `bias_var` is
        within float64; if the activation jumps or is constant: chi_1 is infinite or zero
        then.

    Notes
    -----
    Schoenholz et al. (2017), section 2; Hayou, Doucet, Rousseau (2019), algorithm 1.

    Examples
    --------
    >>> from theory import activations as act
    >>> edge = edge_curve([0.1, 1.0], act.tanh)
    >>> edge.weight_var.round(6).tolist(), edge.bias_var.round(6).tolist()
    ([1.177569, 2.153303], [0.000832, 0.150965])
    """
    who = "edge_curve"
    m = _smooth_enough(who, activation)
    v = _checks.interval(who, "q", q, math.exp(LOW), LARGEST)
    w, b, _ = critical(m, np.log(v.ravel()))
    if not (np.isfinite(b) & (w > 0.0)).all():
        need = f"leave the moments of {activation.name} within float64"
        raise _checks.refuse(who, "q", need, q)
    chi = variance_slope(m, v.ravel(), w)
    shape = v.shape
    stable = ((chi < 1.0) & (not m.tangent)).reshape(shape)
    return Edge(
        like((q,), v.copy()),
        like((q,), w.reshape(shape)),
        like((q,), b.reshape(shape)),
        like((q,), chi.reshape(shape)),
        stable if stable.ndim else bool(stable),
    )


@in_own_name
def edge_points(activation: Activation, bias_var: float = 0.0) -> tuple[Edge, ...]:
    r"""Return every network at the edge of chaos with one bias variance.

    Parameters
    ----------
    activation : Activation
    bias_var : float
        At least 0.

    Returns
    -------
    tuple of Edge
        In the order of their fixed variances, up to 1e8. Without biases and with
        s(0) = 0 the limit q* = 0 is the first.

    Raises
    ------
    ValueError
        If `bias_var` is negative, or the activation jumps or is constant.

    Examples
    --------
    >>> from theory import activations as act
    >>> (point,) = edge_points(act.tanh)
    >>> point.weight_var, point.variance, point.stable
    (1.0, 0.0, True)
    >>> (point,) = edge_points(act.relu)  # He initialisation
    >>> point.weight_var, edge_points(act.relu, 0.1)
    (2.0, ())
    """
    who = "edge_points"
    b = _checks.scalar(who, "bias_var", bias_var)
    m = _smooth_enough(who, activation)
    return _points(m, np.array([b]))[0]


@in_own_name
def edge_of_chaos(activation: Activation, bias_var: Any = 0.0) -> Any:
    r"""Return the weight variance at which networks with these biases are critical.

    Parameters
    ----------
    activation : Activation
    bias_var : float or array_like
        At least 0.

    Returns
    -------
    float or array
        weight_var with relative accuracy 1e-12.

    Raises
    ------
    ValueError
        If `bias_var` is negative, or where there is not exactly one such network with a
        stable variance: `edge_points` returns all of them.

    Examples
    --------
    >>> from theory import activations as act
    >>> edge_of_chaos(act.tanh, [0.0, 0.05, 0.1]).round(6).tolist()
    [1.0, 1.760955, 1.986073]
    """
    who = "edge_of_chaos"
    b = _checks.not_negative(who, "bias_var", bias_var)
    m = _smooth_enough(who, activation)
    out = np.empty(b.size)
    for i, (value, points) in enumerate(
        zip(b.ravel(), _points(m, b.ravel()), strict=True)
    ):
        stable = [p.weight_var for p in points if p.stable]
        if len(stable) != 1:
            raise ValueError(
                f"{who}: `activation` must have one edge with a stable variance for"
                f" every `bias_var`, but {activation.name} has {len(stable)} at {value:g}"
                f" (of edges in all: {len(points)}; `edge_points` returns them)."
            )
        out[i] = stable[0]
    return like((bias_var,), out.reshape(b.shape))


def _smooth_enough(who: str, activation: Activation) -> Moments:
    m = tables(who, activation)
    if not math.isfinite(activation.derivative_second_moment):
        raise ValueError(
            f"{who}: `activation` must have a square-integrable derivative, got"
            f" {activation.name}: chi_1 is infinite everywhere."
        )
    if activation.derivative_second_moment == 0.0:
        raise ValueError(f"{who}: `activation` must not be constant: chi_1 is zero.")
    return m


def _points(m: Moments, targets: Array) -> list[tuple[Edge, ...]]:
    if m.proportional is not None:
        w = 1.0 / m.proportional
        at_zero = (Edge(math.nan, w, 0.0, 1.0, stable=True),)
        return [at_zero if b == 0.0 else () for b in targets]
    top = highest(m)
    t = np.linspace(LOW, top, PER_PANEL * (top - LOW) + 1)
    t[-1] = np.nextafter(t[-1], -np.inf)
    q = np.exp(t)
    w, b, _ = critical(m, t)
    # Where no slope is left there is no weight variance, and no sign.
    gaps = np.where(np.isfinite(b), b - targets[:, None], 0.0)
    s = _roots.signs(gaps, np.broadcast_to(m.slope_noise * q, gaps.shape))
    rows, cells = np.nonzero(s[:, :-1] * s[:, 1:] < 0)
    found: list[list[Edge]] = [[] for _ in targets]
    value, slope = m.at_zero
    if value == 0.0 and 0.0 < slope < math.inf:
        # The limit q* = 0: stable where E s^2 / q falls from its limit.
        excess = m.second.read(t)[0] / (slope * q) - 1.0
        falls = bool(_roots.signs(excess, np.full(t.shape, m.slope_noise))[0] < 0)
        for i in np.flatnonzero((targets == 0.0) | (s[:, 0] > 0)):
            found[i].append(Edge(0.0, 1.0 / slope, float(targets[i]), 1.0, falls))
    if rows.size:

        def gap(at: Array) -> tuple[Array, Array]:
            _, bias, change = critical(m, at)
            return bias - targets[rows], change

        root = _roots.refine(gap, t[cells], t[cells + 1])
        w, _, _ = critical(m, root)
        at = np.exp(root)
        chi = variance_slope(m, at, w)
        for i, v, weight, k in zip(rows, at, w, chi, strict=True):
            found[i].append(
                Edge(
                    float(v),
                    float(weight),
                    float(targets[i]),
                    float(k),
                    bool(k < 1.0 and not m.tangent),
                )
            )
    return [tuple(points) for points in found]
