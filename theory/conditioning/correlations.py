"""How far one layer, and many, bring the correlations of separated inputs down."""

from typing import Any

import numpy as np

from theory import _arrays, _checks
from theory.conditioning import _bounds, _envelopes


def one_layer_bound(delta: Any, mu: Any, *, middle: bool = False) -> Any:
    r"""Bound ``|dual(rho)|`` after one layer, for ``|rho| = 1 - delta`` (Lemma C.5).

    .. math:: |\hat\sigma(\rho)| \le (1-\delta)(1-\mu\delta) \le
        \begin{cases} 1 - (1+\mu/2)\delta & \delta \le 1/2 \\
        (1-\mu/2)(1-\delta) & \delta > 1/2 \end{cases}

    Parameters
    ----------
    delta, mu : float or array, broadcast
        In [0, 1].
    middle : bool
        Return the middle expression, which the activation with energies
        ``(0, 1 - mu, mu)`` attains.

    Returns
    -------
    float or array
        In [0, 1], to a relative 5e-16.

    Raises
    ------
    ValueError
        If `delta` or `mu` is outside [0, 1] or not finite, or `middle` not a flag.

    Examples
    --------
    >>> one_layer_bound(0.5, 0.25), one_layer_bound(0.5, 0.25, middle=True)
    (0.4375, 0.4375)
    """
    who = "one_layer_bound"
    d = _checks.interval(who, "delta", delta, 0.0, 1.0)
    m = _checks.interval(who, "mu", mu, 0.0, 1.0)
    _checks.broadcast(who, delta=d, mu=m)
    if _checks.flag(who, "middle", middle):
        rest = 1.0 - d
        return _checks.plain(rest * ((1.0 - m) + m * rest))  # of positive terms
    near, far = 1.0 - (1.0 + m / 2.0) * d, (1.0 - m / 2.0) * (1.0 - d)
    return _checks.plain(np.where(d <= 0.5, near, far))


def correlation_bound(depth: Any, delta: Any, mu: Any) -> Any:
    r"""Bound correlations after `depth` layers, B(L, delta) (Lemma C.7, Theorem 3.2).

    .. math:: B(L,\delta) = \begin{cases} \tfrac12(1-\mu/2)^{L-L_0} & L > L_0(\delta)\\
        1 - \delta(1+\mu/2)^L & L \le L_0(\delta) \end{cases}

    Parameters
    ----------
    depth : int, float or array
        Hidden layers L >= 0; real values are allowed (theorem 3.4 needs L/2).
    delta : float or array
        In (0, 1].
    mu : float or array
        In [1e-300, 1].

    Returns
    -------
    float or array
        In [0, 1], to a few ulp; depths beyond 2^53 are those that float64 holds. Not
        monotone in L at zero for delta > 1/2.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> correlation_bound(10, 0.01, 0.26652889653787)
    0.9650608249249166
    """
    return _checks.plain(_bounds.schedule("correlation_bound", depth, delta, mu)[0])


def correlation_envelope(depth: Any, delta: Any, mu: Any) -> Any:
    r"""Return the largest correlation that is possible after `depth` layers.

    .. math:: r_0 = 1 - \delta,\quad r_{l+1} = r_l\,(1 - \mu(1 - r_l))

    Attained by the activation with energies ``(0, 1 - mu, mu)``, so no bound in terms
    of ``delta`` and ``mu`` is better; `correlation_bound` follows from it.

    Parameters
    ----------
    depth : int or array of int
        Hidden layers, at least 0, however many.
    delta, mu : float or array
        In [0, 1].

    Returns
    -------
    float or array
        In [0, 1]. The distance ``1 - r`` is iterated, so the relative accuracy of both
        ``r`` and ``1 - r`` is a few ulp per layer. Where thousands of layers are left
        the end is read off the recursion's conjugacy to a translation, with a relative
        error of 1e-13.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> correlation_envelope(1, 0.5, 0.2) == one_layer_bound(0.5, 0.2, middle=True)
    True
    >>> round(correlation_envelope(10**9, 1e-3, 1e-8), 6)
    0.043387
    """
    who = "correlation_envelope"
    l = _arrays.whole(who, "depth", depth, 0)
    d = _checks.interval(who, "delta", delta, 0.0, 1.0)
    m = _checks.interval(who, "mu", mu, 0.0, 1.0)
    _checks.broadcast(who, depth=l, delta=d, mu=m)
    return _checks.plain(_envelopes.correlations(l, d, m).value)
