r"""The norm of the last layer at rest: its velocity, its equilibrium, its multiplier.

The normalised network ``f`` has unit directions, only its norm rho moves, and the loss is
the sum ``sum (rho f_n - y_n)^2 + weight_decay rho^2``. With ``S = sum f_n^2``,
``B = sum y_n f_n`` and ``A = weight_decay + S`` everything is linear in rho. Source:
Poggio and Liao 2021, eqs. (1) to (5). `theory.square_loss.torch_scale` turns an
optimiser's settings into the ``weight_decay`` meant here, which multiplies a *sum*.
"""

from typing import Any

import numpy as np

from theory import _checks
from theory.square_loss import _inputs, _moments


def rho_equilibrium(outputs: Any, labels: Any, weight_decay: Any) -> Any:
    r"""Return the norm at which the loss is least, for these directions.

    .. math:: \rho_{eq} = \frac{\sum_n y_n f_n}{\lambda + \sum_n f_n^2} = \frac{B}{A}

    Parameters
    ----------
    outputs : array, shape (..., N)
        ``f_n`` of the network with unit directions.
    labels : array, shape (N,) or (..., N)
        -1 and +1.
    weight_decay : float or array
        ``lambda >= 0`` on the sum of squares; broadcasts against the leading axes.

    Returns
    -------
    float or array
        Positive exactly if the average margin is.

    Raises
    ------
    ValueError
        If lengths differ, a label is not -1 or +1, `weight_decay` is negative, or
        ``A = 0``: all outputs vanish and nothing penalises the norm.

    Notes
    -----
    Relative error at most 2 eps for the floats as they are given, cancelling margins and
    outputs down to 1e-300 included: the sums carry twice the digits.
    Source: Poggio and Liao 2021, eq. (5), and (7), which says the same.

    Examples
    --------
    Interpolation at margin 1/2 needs the norm 2; a penalty keeps it below:

    >>> rho_equilibrium([0.5, -0.5], [1, -1], 0.0)
    2.0
    >>> rho_equilibrium([0.5, -0.5], [1, -1], [0.0, 0.5])
    array([2., 1.])
    """
    who = "rho_equilibrium"
    moments = _moments.gather(who, outputs, labels, weight_decay)
    _moments.refuse_idle(who, moments)
    out = _checks.result(who, moments.rho()[0], "outputs", "weight_decay")
    return _checks.plain(out)


def rho_velocity(rho: Any, outputs: Any, labels: Any, weight_decay: Any) -> Any:
    r"""Return the velocity of the norm.

    .. math:: \dot\rho = -2(\rho S - B) - 2\lambda\rho = -2A(\rho - \rho_{eq})

    Parameters
    ----------
    rho : float or array
        Positive; broadcasts against the leading axes.
    outputs, labels, weight_decay
        As for `rho_equilibrium`.

    Returns
    -------
    float or array

    Raises
    ------
    ValueError
        As `rho_equilibrium`, and if `rho` is not positive.

    Notes
    -----
    Relative error at most 2 eps for the floats as given, next to the equilibrium too, and
    ``1e-31 B / |rho A - B|`` more, which shows within a tenth of the last digit of it.
    Source: Poggio and Liao 2021, eq. (3).

    Examples
    --------
    >>> rho_velocity(1.0, [0.5, -0.5], [1, -1], 0.0)
    1.0
    """
    who = "rho_velocity"
    rho = _checks.positive(who, "rho", rho)
    moments = _moments.gather(who, outputs, labels, weight_decay, rho=rho)
    with np.errstate(over="ignore"):
        out = -2.0 * _moments.whole_of(moments, *_moments.excess(rho, moments))
    names = ("rho", "outputs", "weight_decay")
    return _checks.plain(_checks.result(who, out, *names))


def lagrange_multiplier(rho: Any, outputs: Any, labels: Any) -> Any:
    r"""Return the multiplier that keeps every direction on its sphere.

    .. math:: \nu = -\rho \sum_n (\rho f_n - y_n) f_n = \rho (B - \rho S)

    The same for every layer. At the equilibrium it is ``weight_decay * rho^2 >= 0``; in
    general its sign is that of ``B - rho S``, whatever the norms of the directions.

    Parameters
    ----------
    rho : float or array
        Positive; broadcasts against the leading axes.
    outputs, labels
        As for `rho_equilibrium`.

    Returns
    -------
    float or array

    Raises
    ------
    ValueError
        As `rho_equilibrium`, and if `rho` is not positive.

    Notes
    -----
    Relative error at most 3 eps for the floats as given, next to its zero too; what
    `rho_velocity` says of the nearest float holds here.
    Source: Poggio and Liao 2021, after eq. (1).

    Examples
    --------
    >>> rho = rho_equilibrium([0.5, -0.5], [1, -1], 0.5)
    >>> lagrange_multiplier(rho, [0.5, -0.5], [1, -1]), 0.5 * rho**2
    (0.5, 0.5)
    """
    four = _errors_along("lagrange_multiplier", rho, outputs, labels)
    return _checks.plain(-0.25 * four)


def exponential_multiplier(rho: Any, outputs: Any, labels: Any) -> Any:
    r"""Return the multiplier of the spheres under the exponential loss.

    .. math:: \nu = \frac\rho2 \sum_n y_n f_n e^{-\rho y_n f_n}

    for the loss ``sum exp(-rho y_n f_n)``, in the place of `lagrange_multiplier`. Positive
    where every example is right, and then it vanishes as rho grows.

    Parameters
    ----------
    rho : float or array
        Positive; broadcasts against the leading axes.
    outputs, labels
        As for `rho_equilibrium`.

    Returns
    -------
    float or array

    Raises
    ------
    ValueError
        As `rho_equilibrium`, if `rho` is not positive, or where it overflows.

    Notes
    -----
    Relative error a few eps times ``1 + rho max |f|`` of the largest term.
    Source: Poggio and Liao 2021, section 4.1.

    Examples
    --------
    >>> exponential_multiplier([1.0, 10.0, 100.0], [0.5, -0.5], [1, -1]).round(8)
    array([0.30326533, 0.03368973, 0.        ])
    """
    who = "exponential_multiplier"
    f, y = _inputs.outputs_and_labels(who, outputs, labels)
    size = _checks.positive(who, "rho", rho)
    with np.errstate(over="ignore", invalid="ignore"):
        # From 746 on the exponential is 0, and infinity times it would be NaN.
        margins = np.minimum(y * f * size[..., np.newaxis], 1e3)
        out = 0.5 * np.sum(margins * np.exp(-margins), axis=-1)
    return _checks.plain(_checks.result(who, out, "rho", "outputs"))


def equilibrium_distance(rho: Any, outputs: Any, labels: Any, weight_decay: Any) -> Any:
    r"""Return how far the norm is from the equilibrium of the current directions.

    .. math:: |\rho - \rho_{eq}(V)| = \frac{|\dot\rho|}{2A}

    An identity, not an estimate: a trained network's velocity is the tolerance to which
    it must obey `rho_equilibrium`.

    Parameters
    ----------
    rho : float or array
        Positive; broadcasts against the leading axes.
    outputs, labels, weight_decay
        As for `rho_equilibrium`.

    Returns
    -------
    float or array
        At least 0.

    Raises
    ------
    ValueError
        As `rho_equilibrium`, and if `rho` is not positive.

    Notes
    -----
    Relative error at most 4 eps for the floats as given, however near the two are; what
    `rho_velocity` says of the nearest float holds here.

    Examples
    --------
    >>> equilibrium_distance(1.5, [0.5, -0.5], [1, -1], 0.0)
    0.5
    """
    who = "equilibrium_distance"
    rho = _checks.positive(who, "rho", rho)
    moments = _moments.gather(who, outputs, labels, weight_decay, rho=rho)
    _moments.refuse_idle(who, moments)
    over, power = _moments.excess(rho, moments)
    with np.errstate(over="ignore"):
        out = np.ldexp(np.abs(_moments.divide(over, moments.a)[0]), power)
    names = ("rho", "outputs", "weight_decay")
    return _checks.plain(_checks.result(who, out, *names))


def off_sphere_rate(rho: Any, outputs: Any, labels: Any) -> Any:
    r"""Return the rate at which a direction leaves (or joins) its sphere.

    .. math:: \frac{d}{dt}(q_k - 1) = (q_k - 1)\; 4\rho \sum_n (\rho f_n - y_n) f_n,
        \qquad q_k = \|V_k\|_F^2

    along eq. (4) taken off the sphere: ``-4 nu``. Positive, the sphere repels: for
    ``rho > B / S``. At an equilibrium it is ``-4 weight_decay rho^2``: attracting with
    weight decay, neutral without.

    Parameters
    ----------
    rho : float or array
        Positive; broadcasts against the leading axes.
    outputs, labels
        As for `rho_equilibrium`.

    Returns
    -------
    float or array

    Raises
    ------
    ValueError
        As `rho_equilibrium`, and if `rho` is not positive.

    Notes
    -----
    Relative error at most 3 eps for the floats as given; what `rho_velocity` says of the
    nearest float holds here.

    Examples
    --------
    The sphere attracts while the norm is below B / S = 2, and repels above:

    >>> off_sphere_rate(1.0, [0.5, -0.5], [1, -1])
    -2.0
    >>> off_sphere_rate(3.0, [0.5, -0.5], [1, -1])
    6.0
    """
    return _checks.plain(_errors_along("off_sphere_rate", rho, outputs, labels))


def _errors_along(who: str, rho: Any, outputs: Any, labels: Any) -> Any:
    """Return ``4 rho sum e_n f_n``, without penalty."""
    rho = _checks.positive(who, "rho", rho)
    moments = _moments.gather(who, outputs, labels, rho=rho)
    (over, _), power = _moments.excess(rho, moments, penalty=False)
    part, shift = np.frexp(rho)
    with np.errstate(over="ignore"):
        # Scaled once, at the end: without rho the sum may be beyond float64. 4: the
        # factor that one of the callers multiplies by.
        out = np.ldexp(4.0 * part * over, moments.exponent + power + shift)
    return _checks.result(who, out, "rho", "outputs")
