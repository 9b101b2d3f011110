r"""Networks without normalisation whose layers all decay: another equilibrium.

With the penalty ``weight_decay * sum_k |W_k|^2`` and no normalisation, stationary points
have equal norms ``rho_k = rho^(1/L)``, and

.. math:: \rho S - B = -\lambda\,\rho^{2/L - 1}

takes the place of eq. (5) of Poggio and Liao 2021, which it equals for one layer only.
For ``L >= 3`` zero attracts: below a barrier every norm collapses. Derivation ours.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory import _twofold as two
from theory.square_loss import _moments

Array = npt.NDArray[np.float64]


def unnormalised_equilibrium(
    outputs: Any, labels: Any, weight_decay: Any, depth: int
) -> Any:
    r"""Return the largest norm at which a network without normalisation rests.

    The largest positive root of ``rho S - B + lambda rho^(2/L - 1)``; stable in the
    direction of the norm. One layer: B / A. Two: (B - lambda) / S. The other positive
    root, if there is one, is `unnormalised_barrier`.

    Parameters
    ----------
    outputs : array, shape (..., N)
        ``f_n`` of the network with unit directions.
    labels : array, shape (N,) or (..., N)
        -1 and +1.
    weight_decay : float or array
        ``lambda >= 0`` on every layer; broadcasts against the leading axes.
    depth : int
        L, the number of weight layers.

    Returns
    -------
    float or array
        The product of the layers' norms; 0.0 where no positive norm rests, that is
        above `critical_weight_decay` and for an average margin that is not positive.

    Raises
    ------
    ValueError
        If an argument is outside its range, lengths differ, or all outputs vanish.

    Notes
    -----
    Relative error below 1e-13 times ``1 + 1 / |1 - u_c / u|`` with ``u = rho S / B`` and
    ``u_c = (L - 2) / (2 L - 2)``: the two roots merge at u_c, where half of the digits
    of any formula are lost.

    Examples
    --------
    >>> f, y = [0.5, -0.5], [1, -1]
    >>> [unnormalised_equilibrium(f, y, 0.25, depth) for depth in (1, 2)]
    [1.3333333333333333, 1.5]
    >>> rho = unnormalised_equilibrium(f, y, 0.25, 4)
    >>> round(0.5 * rho - 1.0, 12) == round(-0.25 * rho**-0.5, 12)
    True
    """
    roots = _roots("unnormalised_equilibrium", outputs, labels, weight_decay, depth)
    return _checks.plain(roots[1])


def unnormalised_barrier(
    outputs: Any, labels: Any, weight_decay: Any, depth: int
) -> Any:
    r"""Return the norm below which a network without normalisation collapses to 0.

    The smaller positive root of ``rho S - B + lambda rho^(2/L - 1)``, unstable.

    Parameters
    ----------
    outputs, labels, weight_decay, depth
        As for `unnormalised_equilibrium`.

    Returns
    -------
    float or array
        0.0 where the norm grows from any start, which needs ``L <= 2`` or no weight
        decay; infinite where it collapses from every start.

    Raises
    ------
    ValueError
        As `unnormalised_equilibrium`.

    Notes
    -----
    Accuracy as of `unnormalised_equilibrium`, for roots above 1e-290.

    Examples
    --------
    >>> f, y = [0.5, -0.5], [1, -1]
    >>> unnormalised_barrier(f, y, 0.25, 2), unnormalised_barrier(f, y, 9.0, 3)
    (0.0, inf)
    >>> low = unnormalised_barrier(f, y, 0.25, 4)
    >>> 0.0 < low < unnormalised_equilibrium(f, y, 0.25, 4)
    True
    """
    roots = _roots("unnormalised_barrier", outputs, labels, weight_decay, depth)
    return _checks.plain(roots[0])


def critical_weight_decay(outputs: Any, labels: Any, depth: int) -> Any:
    r"""Return the weight decay above which only the zero network rests.

    .. math:: \lambda_c = \frac{S}{p}\,\rho_c^{1+p}, \qquad
        \rho_c = \frac{p}{1+p}\,\frac{B}{S}, \qquad p = 1 - \frac{2}{L}

    and B for two layers, its limit.

    Parameters
    ----------
    outputs, labels, depth
        As for `unnormalised_equilibrium`.

    Returns
    -------
    float or array
        Infinite for one layer; 0.0 where the average margin is not positive.

    Raises
    ------
    ValueError
        As `unnormalised_equilibrium`.

    Notes
    -----
    Relative error below 1e-14 for outputs of 1e-20 to 1e20, and 4e-14 at any.

    Examples
    --------
    >>> f, y = [0.5, -0.5], [1, -1]
    >>> top = critical_weight_decay(f, y, 4)
    >>> unnormalised_equilibrium(f, y, [0.999 * top, 1.001 * top], 4) > 0.0
    array([ True, False])
    """
    who = "critical_weight_decay"
    layers = _checks.integer(who, "depth", depth, 1)
    moments = _sums(who, outputs, labels, 0.0)
    good = np.maximum(moments.b[0], 0.0)
    if layers == 1:
        return _checks.plain(np.where(good > 0.0, np.inf, 0.0))
    p = 1.0 - 2.0 / layers
    # p^p / (1+p)^(1+p) B^(1+p) / S^p, with 0^0 = 1 for two layers.
    with np.errstate(over="ignore"):
        out = np.ldexp(good * (good / moments.s[0]) ** p * _top(p), moments.exponent)
    return _checks.plain(_checks.result(who, out, "outputs"))


def _sums(who: str, outputs: Any, labels: Any, weight_decay: Any) -> _moments.Moments:
    """Return the moments, and refuse a dead network."""
    moments = _moments.gather(who, outputs, labels, weight_decay)
    dead = moments.s[0] == 0.0
    _checks.reject(who, "outputs", "have a non-zero entry", dead, "zeros only", "")
    return moments


def _roots(
    who: str, outputs: Any, labels: Any, weight_decay: Any, depth: Any
) -> tuple[Array, Array]:
    """Return the barrier and the equilibrium."""
    layers = _checks.integer(who, "depth", depth, 1)
    decay = _checks.not_negative(who, "weight_decay", weight_decay)
    # Scaled by the outputs alone: beside a penalty in their sum tiny squares are lost.
    moments = _sums(who, outputs, labels, np.zeros_like(decay))
    if layers == 1:
        moments = _moments.gather(who, outputs, labels, decay)
    b, s = np.broadcast_arrays(moments.b[0], moments.s[0])
    with np.errstate(over="ignore"):
        penalty = np.ldexp(decay, -moments.exponent)
    if layers < 3:
        # B - lambda may cancel, and keeps twice the digits; below 0 no norm rests.
        with np.errstate(invalid="ignore"):
            lighter = two.add(moments.b, _moments.pair(-penalty))
        top, base = (moments.b, moments.a) if layers == 1 else (lighter, moments.s)
        with np.errstate(over="ignore", invalid="ignore"):
            high = np.maximum(top[0], 0.0) / base[0]
        _checks.result(who, high, "outputs", "weight_decay")
        return np.where(high > 0.0, 0.0, np.inf), high
    good = b > 0.0
    margin = np.where(good, b, s)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        free = _checks.result(who, margin / s, "outputs")
        p = 1.0 - 2.0 / layers
        # u^p (1 - u) = m for u = rho S / B.
        m = np.where(good, penalty / margin / free**p, np.inf)
        low_u, high_u, found = _unit_roots(m, p)
        # Far below the other root it is (lambda / B)^(1/p), whose share may be no float.
        low = np.where(low_u > 1e-20, low_u * free, (penalty / margin) ** (1.0 / p))
    return np.where(found, low, np.inf), np.where(found, high_u * free, 0.0)


def _top(p: float) -> float:
    """Return the largest value of u^p (1 - u)."""
    return float(p**p / (1.0 + p) ** (1.0 + p))


def _unit_roots(m: Array, p: float) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """Solve ``u^p (1 - u) = m``, 0 < p < 1, by Newton steps that cannot overshoot.

    The left side is concave: from u = 1 the steps fall to the larger root, and from
    ``m^(1/p)``, where it is below m, they rise to the smaller one.
    """
    found = m <= _top(p)
    m = np.where(found, m, 0.5 * _top(p))
    middle = p / (1.0 + p)
    low = np.minimum(m ** (1.0 / p), middle)
    high = np.ones_like(m)
    # At a double root a step halves the distance: 60 suffice for all the digits.
    for _ in range(60):
        low = np.minimum(low + _step(low, m, p), middle)
        high = np.maximum(high + _step(high, m, p), middle)
    return np.where(m > 0.0, low, 0.0), high, found


def _step(u: Array, m: Array, p: float) -> Array:
    """Return Newton's step for ``(1 - u) - m u^-p``, 0 at zero and at a flat point."""
    with np.errstate(all="ignore"):
        step = ((1.0 - u) - m * u**-p) / (1.0 - p * m * u ** (-p - 1.0))
    return np.where(np.isfinite(step), step, 0.0)
