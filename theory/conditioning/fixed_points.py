"""Activations that are not centred: correlations go to a fixed point."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from theory import _arrays, _checks
from theory._naming import in_own_name
from theory.activations import Activation

ROUNDING = 1e-12
"""What a mean over the root of the energy, and a distance from 1, may be by rounding."""


@dataclass(frozen=True, eq=False)
class FixedPoint:
    r"""Convergence of an uncentred activation to its fixed point (Theorem 3.10).

    ``|dual^(L)(rho) - point| <= rate**(L - start)`` for ``L >= start`` and
    ``|rho| <= 1 - delta``; `start` is an array where delta was.
    """

    point: float
    slope: float
    rate: float
    start: Any


@in_own_name
def fixed_point_convergence(activation: Activation, delta: Any) -> FixedPoint:
    r"""Return the constants of Lemma C.30 for ``activation / sqrt(E activation^2)``.

    With D > 1, distance :math:`\bar\delta = 1 - \bar\rho` and non-affinity nu:
    ``rate = 1 - nu * bar_delta / 2`` and ``start = max(ceil(1/a_0^2),
    ceil(log(bar_delta / (2 delta)) / log(1 + nu bar_delta / 2)))``. With D < 1 the fixed
    point is 1 and the rate D.

    Parameters
    ----------
    activation : Activation
        Not centred; its slope at one, D, not 1.
    delta : float or array
        In (0, 1].

    Raises
    ------
    ValueError
        If the activation is centred (`correlation_bound` applies) or D = 1, where
        convergence is only algebraic (`unit_slope_bound`); both up to rounding.

    Examples
    --------
    >>> from theory import activations as act
    >>> fixed_point_convergence(act.gelu, [0.01, 0.5]).start.tolist()
    [94, 6]
    """
    who = "fixed_point_convergence"
    _checks.instance(who, "activation", activation, Activation)
    d = _arrays.separation(who, delta)
    total = activation.second_moment
    mean_share = activation.mean**2 / total
    if mean_share <= ROUNDING**2:
        raise ValueError(f"{who}: `activation` must not be centred.")
    slope = activation.derivative_second_moment / total
    first = np.full(d.shape, math.ceil(1.0 / mean_share), dtype=object)
    point = activation.fixed_point() if slope > 1.0 + ROUNDING else 1.0
    gap = 1.0 - point
    # A slope just above 1 may have a fixed point that no float tells from 1.
    if slope >= 1.0 - ROUNDING and gap <= ROUNDING:
        raise ValueError(f"{who}: `activation` must have slope D != 1, got {slope}.")
    if slope < 1.0:
        return FixedPoint(1.0, slope, slope, _arrays.integers(who, "delta", first))
    growth = activation.nu * gap / 2.0
    local = float(activation.dual_derivative(point)) / total
    wait = _arrays.least_layers(2.0 * d / gap, growth)
    start = np.asarray(np.maximum(first, wait), dtype=object)
    return FixedPoint(
        point, local, max(1.0 - growth, local), _arrays.integers(who, "delta", start)
    )


def unit_slope_bound(depth: Any, nu: Any, *, wait: Any = 0) -> Any:
    """Bound ``1 - dual^(L)(rho) <= 1 / (1 + nu (L - wait))`` when D = 1 (Lemma C.32).

    Parameters
    ----------
    depth : float or array
        At least 0.
    nu : float or array
        Coefficient of non-affinity, in [0, 1].
    wait : int or array of int
        0 for rho >= 0, else ``ceil(1 / a_0^2)``, after which no correlation is
        negative: the bound is 1 there, and before it 2, which says nothing.

    Returns
    -------
    float or array
        In (0, 2].

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> unit_slope_bound([0, 2, 6], 0.5).tolist()
    [1.0, 0.5, 0.25]
    """
    who = "unit_slope_bound"
    l = _checks.interval(who, "depth", depth, 0.0, math.inf)
    m = _checks.interval(who, "nu", nu, 0.0, 1.0)
    first = _arrays.whole(who, "wait", wait, 0)
    _checks.broadcast(who, depth=l, nu=m, wait=first)
    settled = 1.0 / (1.0 + m * np.maximum(l - first, 0.0))
    return _checks.plain(np.where(l < first, 2.0, settled))
