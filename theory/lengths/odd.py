"""Odd activations: correlations fall at every length, once lengths have settled."""

from typing import Any

import numpy as np

from theory import _arrays, _checks
from theory._naming import in_own_name
from theory.activations import Activation
from theory.conditioning import correlation_bound
from theory.lengths.trajectories import chord_rate

LONGEST = 1e150
"""The largest squared length: over mu it stays within float64."""


def odd_correlation_bound(rho: Any, mu_x: Any, mu_y: Any) -> Any:
    r"""Bound one layer's correlation for odd activations (Lemma D.6).

    ``sqrt(g(mu_x) g(mu_y))``, ``g(mu) = 1 - (1 + mu/2) delta`` for ``delta <= 1/2``, else
    ``(1 - mu/2)(1 - delta)``, with ``delta = 1 - |rho|``.

    Parameters
    ----------
    rho : float or array
        In [-1, 1].
    mu_x, mu_y : float or array
        `generalised_mu` at both lengths, in [0, 1].

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> round(odd_correlation_bound(0.5, 0.2, 0.2), 12)
    0.45
    """
    who = "odd_correlation_bound"
    size = np.abs(_checks.correlation(who, rho))
    mus = [
        _checks.interval(who, name, mu, 0.0, 1.0)
        for name, mu in (("mu_x", mu_x), ("mu_y", mu_y))
    ]
    _checks.broadcast(who, rho=size, mu_x=mus[0], mu_y=mus[1])
    delta = 1.0 - size
    x, y = (
        np.where(delta <= 0.5, 1.0 - (1.0 + mu / 2.0) * delta, (1.0 - mu / 2.0) * size)
        for mu in mus
    )
    return _checks.plain(np.sqrt(x * y))


@in_own_name
def settling_depth(activation: Activation, gamma_x: Any, gamma_y: Any) -> Any:
    r"""Return the layers until both squared lengths are within mu/2 of 1 (Theorem D.9).

    .. math:: \hat L = \max\left(\left\lceil
        \frac{\log(2\max(|\gamma_x-1|,|\gamma_y-1|)/\mu)}{-\log\alpha}\right\rceil, 0\right)

    Parameters
    ----------
    activation : Activation
        As `chord_rate` assumes, with unit second moment; its rate alpha below one.
    gamma_x, gamma_y : float or array
        Squared lengths, in [1/2, 1e150].

    Returns
    -------
    int or array of int

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> from theory import activations as act
    >>> settling_depth(act.tanh.normalized(), [2.0, 1.0], 1.0).tolist()
    [7, 0]
    """
    return _settling("settling_depth", activation, gamma_x, gamma_y)


def _settling(who: str, activation: Activation, gamma_x: Any, gamma_y: Any) -> Any:
    _checks.instance(who, "activation", activation, Activation)
    x = _checks.interval(who, "gamma_x", gamma_x, 0.5, LONGEST)
    y = _checks.interval(who, "gamma_y", gamma_y, 0.5, LONGEST)
    _checks.broadcast(who, gamma_x=x, gamma_y=y)
    if abs(activation.second_moment - 1.0) > 1e-9:
        raise ValueError(
            f"{who}: `activation` must have unit second moment, got"
            f" {activation.second_moment:.6g}. See `normalized`."
        )
    alpha = chord_rate(activation)
    if not alpha < 1.0 - 1e-12:
        raise ValueError(
            f"{who}: `activation` must contract lengths, got rate {alpha:.6g}."
        )
    start = np.maximum(np.abs(x - 1.0), np.abs(y - 1.0))
    size = 2.0 * start / activation.mu
    found = _arrays.least_layers(np.where(size > 0.0, size, 1.0), alpha - 1.0)
    return _arrays.integers(who, "activation", found)


@in_own_name
def correlation_bound_any_length(
    activation: Activation, gamma_x: Any, gamma_y: Any, delta: Any, depth: Any
) -> Any:
    """Bound ``|rho_L|`` by ``B_{mu/2}(L - settling_depth, delta)`` (Theorem 3.11).

    Parameters
    ----------
    activation : Activation
        Odd, non-decreasing, concave on the right, with unit second moment.
    gamma_x, gamma_y : float or array
        Squared lengths, in [1/2, 1e150].
    delta : float or array
        Of the inputs' correlation, in (0, 1].
    depth : int or array of int
        Hidden layers, at least 0.

    Returns
    -------
    float or array
        In [0, 1]. One below the settling depth, where the theorem says nothing.

    Raises
    ------
    ValueError
        If an argument is outside its range, or the activation seen not to be of that
        shape.

    Examples
    --------
    >>> from theory import activations as act
    >>> bound = correlation_bound_any_length
    >>> bound(act.tanh.normalized(), 2.0, 0.5, 0.1, [6, 7, 400]).round(6).tolist()
    [1.0, 0.9, 0.002642]
    """
    who = "correlation_bound_any_length"
    _checks.instance(who, "activation", activation, Activation)
    _shaped(who, activation)
    layers = _arrays.whole(who, "depth", depth, 0)
    settle = np.asarray(_settling(who, activation, gamma_x, gamma_y), dtype=np.float64)
    d = _arrays.separation(who, delta)
    _checks.broadcast(who, gamma_x=gamma_x, gamma_y=gamma_y, delta=d, depth=layers)
    later = np.maximum(layers - settle, 0.0)
    bound = np.asarray(correlation_bound(later, d, activation.mu / 2.0))
    return _checks.plain(np.where(layers < settle, 1.0, bound))


def _shaped(who: str, activation: Activation) -> None:
    """Refuse an activation that is seen not to be odd, increasing and concave."""
    # Whatever it is at zero: a sign may be 1 there.
    x = np.linspace(0.0, 8.0, 321)[1:]
    right, left = np.asarray(activation(x)), np.asarray(activation(-x))
    slack = 1e-9 * float(np.max(np.abs(right)))
    if np.max(np.abs(right + left)) > slack:
        raise ValueError(f"{who}: `activation` must be odd, got {activation.name}.")
    rise = np.diff(right, prepend=0.0)
    if np.min(rise) < -slack or np.max(np.diff(rise)) > slack:
        raise ValueError(
            f"{who}: `activation` must be non-decreasing and concave on the right, got"
            f" {activation.name}."
        )
