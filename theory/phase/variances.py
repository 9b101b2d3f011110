r"""The variance map of deep random networks and its fixed points.

Weights of variance ``weight_var / width`` and biases of variance ``bias_var``: from layer
to layer the variance of a pre-activation becomes

.. math:: q \mapsto \sigma_w^2\, E\,s(\sqrt q Z)^2 + \sigma_b^2 .

Since ``sqrt(q) E s(sqrt(q) Z)^2`` increases with q, the slope at a fixed point is never
below -1/2: a fixed point is stable where the slope is below one, and no variance ever
oscillates for good.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._naming import in_own_name
from theory.activations import Activation
from theory.activations.function import NARROWEST
from theory.phase._curves import NOISE
from theory.phase._settling import Grid, below_the_range, settle, variance_slope
from theory.phase._state import like, parameters, tables

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FixedVariance:
    """A fixed point of the variance map.

    Attributes
    ----------
    variance : float
        q*; 0 where small variances shrink to nothing.
    slope : float
        chi_q, the derivative of the map there: one layer's factor on a small deviation.
    stable : bool
        Whether variances nearby converge to it.
    """

    variance: float
    slope: float
    stable: bool


@in_own_name
def variance_map(
    q: Any, activation: Activation, weight_var: Any, bias_var: Any = 0.0
) -> Any:
    r"""Return the next layer's variance, weight_var E s(sqrt(q) Z)^2 + bias_var.

    Parameters
    ----------
    q : float or array_like
        Variances of the pre-activations, positive.
    activation : Activation
        Used as it is.
    weight_var, bias_var : float or array_like
        Variance of a weight times the width, positive; of a bias, at least 0.

    Returns
    -------
    float or array
        Broadcast. Relative accuracy 1e-13.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Poole et al. (2016), equation 3.

    Examples
    --------
    >>> from theory import activations as act
    >>> variance_map([1.0, 4.0], act.relu, weight_var=2.0, bias_var=0.5).tolist()
    [1.5, 4.5]
    """
    who = "variance_map"
    w, b = parameters(who, weight_var, bias_var)
    a = _checks.instance(who, "activation", activation, Activation)
    v = _checks.interval(who, "q", q, NARROWEST, a._widest)
    _checks.broadcast(who, q=v, weight_var=w, bias_var=b)
    with np.errstate(over="ignore"):
        out = w * a._lengths(v.ravel()).reshape(v.shape) + b
    out = _checks.result(who, out, "q", "weight_var")
    return like((q, weight_var, bias_var), out)


@in_own_name
def fixed_variances(
    activation: Activation, weight_var: float, bias_var: float = 0.0
) -> tuple[FixedVariance, ...]:
    r"""Return every fixed point of the variance map, the smallest first.

    Parameters
    ----------
    activation : Activation
    weight_var, bias_var : float
        Numbers, as in `variance_map`.

    Returns
    -------
    tuple of FixedVariance
        Fixed points from 0 to 1e8, accurate as `fixed_variance` says. Empty where every
        variance grows, and where every variance is a fixed point: ReLU with
        ``weight_var = 2``.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    Without biases a zero input stays zero; in the chaotic phase of tanh that is unstable:

    >>> from theory import activations as act
    >>> for point in fixed_variances(act.tanh, 2.0):
    ...     print(f"{point.variance:.6f} {point.slope:.6f} {point.stable}")
    0.000000 2.000000 False
    0.617965 0.552516 True
    """
    who = "fixed_variances"
    w = _checks.scalar(who, "weight_var", weight_var, positive=True)
    b = _checks.scalar(who, "bias_var", bias_var)
    m = tables(who, activation)
    if m.proportional is not None:
        return _proportional_points(w * m.proportional, b)
    grid = Grid.of(m, np.array([w]), np.array([b])).with_extrema()
    s = grid.sign[0]
    points: list[FixedVariance] = []
    if grid.floor[0] == 0.0:
        slope = w * m.at_zero[1]
        points.append(FixedVariance(0.0, slope, bool(s[0] < 0)))
    elif s[0] < 0:
        q = below_the_range(m, np.array([w]), np.array([b]))
        points.append(FixedVariance(float(q[0]), w * m.at_zero[1], stable=True))
    cells = np.flatnonzero(s[:-1] * s[1:] < 0)
    if cells.size:
        q = grid.roots(np.zeros(cells.size, int), cells)
        slope = variance_slope(m, q, np.full(q.shape, w))
        points += [
            FixedVariance(float(v), float(k), bool(s[c] > 0))
            for v, k, c in zip(q, slope, cells, strict=True)
        ]
    return tuple(points)


@in_own_name
def fixed_variance(
    activation: Activation,
    weight_var: Any,
    bias_var: Any = 0.0,
    *,
    start: float = 1.0,
) -> Any:
    r"""Return the variance q* that layers converge to from `start`.

    Parameters
    ----------
    activation : Activation
    weight_var, bias_var : float or array_like
        As in `variance_map`.
    start : float
        Variance of the first layer's pre-activations, positive.

    Returns
    -------
    float or array
        ``inf`` where variances grow beyond 1e8, 0 where they vanish, `start` itself where
        every variance is fixed. Relative error about ``1e-15 / |1 - chi_q|`` with the slope
        chi_q of the map: 1e-13 unless the slope is within a percent of one. Two fixed
        points that merge (slope one) are told apart from none as long as the map stays
        4e-15 of q off the diagonal between them.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Poole et al. (2016), section 3. Roots of the map on a table of E s^2, not its
    iteration: as fast and as accurate where convergence is slow.

    Examples
    --------
    >>> from theory import activations as act
    >>> round(fixed_variance(act.tanh, 2.0, 0.1), 12)
    0.814644010066
    >>> fixed_variance(act.tanh, [0.9, 1.0]).tolist()  # vanish, however slowly
    [0.0, 0.0]
    >>> fixed_variance(act.relu, [1.5, 2.0, 2.5], start=3.0).tolist()
    [0.0, 3.0, inf]
    """
    who = "fixed_variance"
    w, b = parameters(who, weight_var, bias_var)
    q = _checks.scalar(who, "start", start, positive=True)
    out = settle(tables(who, activation), w.ravel(), b.ravel(), q).reshape(w.shape)
    return like((weight_var, bias_var), out)


def _proportional_points(slope: float, b: float) -> tuple[FixedVariance, ...]:
    """ReLU and its kin: the map is a line."""
    if abs(slope - 1.0) <= NOISE or (slope > 1.0 and b > 0.0):
        return ()
    return (FixedVariance(b / (1.0 - slope) if b else 0.0, slope, slope < 1.0),)
