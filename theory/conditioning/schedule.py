"""Layers until inputs are half way apart, L_0: the clock of every other bound."""

from typing import Any

from theory import _arrays, _checks


def burn_in_depth(delta: Any, mu: Any) -> Any:
    r"""Return the layers after which inputs are half way apart, L_0(delta).

    .. math:: L_0(\delta) = \min\{l \ge 0 : 2\delta(1+\mu/2)^l \ge 1\}

    Parameters
    ----------
    delta : float or array
        Separation, in (0, 1].
    mu : float or array
        Coefficient of non-linearity (or any rate), in [1e-300, 1].

    Returns
    -------
    int or array of int
        Decided by exact powers, not by rounding a ratio of logarithms, which is often a
        whole number; a power within 2^-50 of one counts as one.

    Raises
    ------
    ValueError
        If an argument is outside its range, or an array holds a depth beyond int64.

    Notes
    -----
    Agarwal, Awasthi, Kale (2021), with Lemma C.7.

    Examples
    --------
    >>> burn_in_depth(0.01, 0.26652889653787)
    32
    >>> burn_in_depth(0.5 * 1.5**-7, 1.0)
    7
    """
    who = "burn_in_depth"
    d, m = _arrays.separation(who, delta), _arrays.rate(who, mu)
    _checks.broadcast(who, delta=d, mu=m)
    return _arrays.integers(who, "mu", _arrays.least_layers(2.0 * d, 0.5 * m))
