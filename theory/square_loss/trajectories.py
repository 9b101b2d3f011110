r"""The norm in motion while the directions stand still: flow, descent and heavy ball.

With frozen directions the loss is a parabola in rho of curvature ``2A``, so that the
distance to the equilibrium decays as ``exp(-2 A t)`` along the flow and as
``residual_factors`` of `theory.identity_map` step by step. Source: Poggio and Liao 2021,
eq. (3); the solution and the discrete forms are ours.
"""

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory import _twofold as two
from theory._quadratic import (
    checked_momentum,
    rate_limit,
    residual_pair,
    whole_steps,
)
from theory.square_loss import _inputs, _moments

Array = npt.NDArray[np.float64]


class StabilityWarning(UserWarning):
    """A step size at which the norm does not converge."""


def rho_trajectory(
    t: Any, rho0: Any, outputs: Any, labels: Any, weight_decay: Any
) -> Any:
    r"""Return the norm at time t of the gradient flow, directions frozen.

    .. math:: \rho(t) = \rho_{eq} + (\rho_0 - \rho_{eq})\, e^{-2At}

    Always monotone. Where ``A = 0`` it is constant.

    Parameters
    ----------
    t : float or array
        At least 0; broadcasts against the leading axes.
    rho0 : float or array
        Positive; broadcasts too.
    outputs, labels, weight_decay
        As for `rho_equilibrium`.

    Returns
    -------
    float or array

    Raises
    ------
    ValueError
        If an argument is outside its range, lengths differ, or a label is not -1 or +1.

    Notes
    -----
    Relative error at most 8 eps for every ``2 A t``, tiny or huge, where ``B >= 0``;
    relative to the larger of ``rho0 exp(-2At)`` and ``|rho_eq|`` where ``B < 0``, since
    the norm then passes through 0.

    Examples
    --------
    >>> rho_trajectory(np.log(2.0) / 2.0, 1.0, [1.0], [1], 0.0)
    1.0
    >>> rho_trajectory([0.0, 1e-20, np.log(2.0), 1e20], 1.0, [0.5, -0.5], [1, -1], 0.0)
    array([1. , 1. , 1.5, 2. ])
    """
    who = "rho_trajectory"
    time = _checks.not_negative(who, "t", t)
    start = _checks.positive(who, "rho0", rho0)
    moments = _moments.gather(who, outputs, labels, weight_decay, t=time, rho0=start)
    high = _whole(who, moments)
    # Beyond an exponent of 1,000 nothing is left; products must not overflow.
    time = np.where(
        high > 1e-300, np.minimum(time, 500.0 / np.maximum(high, 1e-300)), time
    )
    twice = np.ldexp(time, moments.exponent + 1)
    power, rest = two.multiply(_moments.pair(twice), moments.a)
    left = np.exp(-power) * (1.0 - rest)
    done = -np.expm1(-power) + rest * np.exp(-power)
    with np.errstate(over="ignore", invalid="ignore"):
        # Early it is 2 B t: what A t is may be below every float, and B / A above.
        gain = np.where(power < 1e-20, twice * moments.b[0], moments.rho()[0] * done)
        out = start * left + gain
    return _checks.plain(_checks.result(who, out, "rho0", "outputs", "weight_decay"))


def settling_time(fraction: Any, outputs: Any, weight_decay: Any) -> Any:
    r"""Return the time in which the distance shrinks to a fraction of itself.

    .. math:: t = \frac{\ln(1/\varepsilon)}{2A}

    Parameters
    ----------
    fraction : float or array
        Of (0, 1]; broadcasts against the leading axes.
    outputs, weight_decay
        As for `rho_equilibrium`.

    Returns
    -------
    float or array
        Time of the flow on the sum loss: `torch_scale` gives steps.

    Raises
    ------
    ValueError
        If an argument is outside its range or ``A = 0``.

    Notes
    -----
    Relative error at most 4 eps for the floats as given.

    Examples
    --------
    >>> round(settling_time(np.exp(-3.0), [0.5, -0.5], 0.0), 12)
    3.0
    """
    who = "settling_time"
    share = _checks.positive(who, "fraction", fraction)
    _checks.reject(who, "fraction", "lie in (0, 1]", share > 1.0, share, "")
    moments = _flat_labels(who, outputs, weight_decay, fraction=share)
    # + 0.0: a fraction of 1 takes no time, not minus none.
    _whole(who, moments)
    with np.errstate(over="ignore"):
        out = np.ldexp(-0.5 * np.log(share) / moments.a[0], -moments.exponent) + 0.0
    return _checks.plain(_checks.result(who, out, "outputs", "weight_decay"))


def stability_limit(outputs: Any, weight_decay: Any, momentum: Any = 0.0) -> Any:
    r"""Return the learning rate from which on descent of the norm diverges.

    .. math:: 0 < \eta < \frac{1 + \mu}{A}

    on the sum loss; monotone without momentum up to half of it. For other reductions
    compare it with `OptimiserScale.rate`.

    Parameters
    ----------
    outputs, weight_decay
        As for `rho_equilibrium`.
    momentum : float or array
        ``mu``, in [0, 1).

    Returns
    -------
    float or array

    Raises
    ------
    ValueError
        If an argument is outside its range or ``A = 0``.

    Notes
    -----
    Relative error at most 3 eps. A bound for the norm alone: directions have their own.

    Examples
    --------
    >>> stability_limit([0.5, -0.5], 0.0), stability_limit([0.5, -0.5], 0.0, 0.5)
    (2.0, 3.0)
    """
    who = "stability_limit"
    mu = checked_momentum(who, momentum)
    moments = _flat_labels(who, outputs, weight_decay, momentum=mu)
    _whole(who, moments)
    with np.errstate(over="ignore"):
        out = np.ldexp(0.5 * rate_limit(moments.a[0], mu), -moments.exponent)
    return _checks.plain(_checks.result(who, out, "outputs", "weight_decay"))


def rho_iterates(
    steps: Any,
    rho0: Any,
    outputs: Any,
    labels: Any,
    weight_decay: Any,
    *,
    rate: Any,
    momentum: Any = 0.0,
) -> Any:
    r"""Return the norm after any number of steps of descent, directions frozen.

    .. math:: \rho_{t+1} = \rho_t - \eta b_{t+1}, \quad
        b_{t+1} = \mu b_t + 2(A\rho_t - B), \quad b_0 = 0

    Without momentum ``rho_t - rho_eq = (1 - 2 eta A)^t (rho_0 - rho_eq)``. Step counts
    are doubled, not counted up: a million steps cost twenty products.

    Parameters
    ----------
    steps : int or array of int
        At least 0; broadcasts against the leading axes.
    rho0 : float or array
        Positive.
    outputs, labels, weight_decay
        As for `rho_equilibrium`.
    rate : float or array
        ``eta > 0`` on the sum loss; `OptimiserScale.rate` for other reductions.
    momentum : float or array
        ``mu``, in [0, 1); heavy ball, as a framework's plain SGD has it.

    Returns
    -------
    float or array

    Raises
    ------
    ValueError
        If an argument is outside its range, lengths differ, a label is not -1 or +1, or
        the norm leaves float64.

    Warns
    -----
    StabilityWarning
        If `rate` is not below `stability_limit`.

    Notes
    -----
    Relative error at most 4 eps for the floats as given, up to 2,000,000 steps, next to
    the limit of stability and to zeros of an oscillation included.

    Examples
    --------
    >>> rho_iterates([0, 1, 2, 10**6], 1.0, [0.5, -0.5], [1, -1], 0.0, rate=0.5).tolist()
    [1.0, 1.5, 1.75, 2.0]
    """
    who = "rho_iterates"
    start = _checks.positive(who, "rho0", rho0)
    eta = _checks.positive(who, "rate", rate)
    mu = checked_momentum(who, momentum)
    count = whole_steps(who, steps)
    given = {"steps": np.empty(count.shape), "rho0": start, "rate": eta, "momentum": mu}
    moments = _moments.gather(who, outputs, labels, weight_decay, **given)
    with np.errstate(over="ignore"):
        high, low = two.scale(moments.a, moments.exponent)
        product = np.asarray(eta * high)
    bad = ~(product <= 1e99)
    need = "keep `rate` times A, of `outputs` and `weight_decay`, at most 1e99"
    _checks.reject(who, "rate", need, bad, product, "")
    _warn_of(who, eta, mu, 2.0 * high)
    left = residual_pair(who, count, 2.0 * eta, high, mu, low=low)
    rest = moments.rho()
    # A pair's product splits its factors, which must stay within range.
    wild = np.abs(left[0]) > 1e250
    tame = np.where(wild, 0.0, left[0]), np.where(wild, 0.0, left[1])
    done = two.add(_moments.pair(np.ones_like(tame[0])), (-tame[0], -tame[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        kept = two.multiply(tame, _moments.pair(start))
        near = two.add(kept, two.multiply(done, rest))[0]
        # Once the distance has grown, as rest + a gap: a gap of 0 stays 0.
        gap = two.add(_moments.pair(start), (-rest[0], -rest[1]))
        grown = two.add(rest, two.multiply(tame, gap))[0]
        out = np.where(np.abs(tame[0]) > 1.0, grown, near)
        far = np.where(gap[0] == 0.0, rest[0], left[0] * gap[0])
    out = np.where(wild, far, out)
    names = ("steps", "rho0", "outputs", "weight_decay", "rate")
    return _checks.plain(_checks.result(who, out, *names))


def _whole(who: str, moments: _moments.Moments) -> Array:
    """Return A, within float64."""
    out = _moments.whole_of(moments, moments.a)
    return _checks.result(who, out, "outputs", "weight_decay")


def _flat_labels(
    who: str, outputs: Any, weight_decay: Any, **others: Array
) -> _moments.Moments:
    """Return the moments of what no label enters."""
    f = _inputs.outputs(who, outputs)
    moments = _moments.gather(who, f, np.ones(f.shape[-1]), weight_decay, **others)
    _moments.refuse_idle(who, moments)
    return moments


def _warn_of(who: str, rate: Array, momentum: Array, curvature: Array) -> None:
    with np.errstate(divide="ignore"):
        limit = rate_limit(curvature, momentum)
    rate, limit = np.broadcast_arrays(rate, limit)
    beyond = rate >= limit
    if beyond.any():
        warnings.warn(
            f"{who}: `rate` {rate[beyond].ravel()[0]:.6g} is not below the stability"
            f" limit {limit[beyond].ravel()[0]:.6g}: the norm does not converge for these"
            " `outputs` and `weight_decay`.",
            StabilityWarning,
            stacklevel=3,
        )
