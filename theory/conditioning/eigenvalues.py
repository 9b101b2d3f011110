"""Smallest eigenvalues and condition numbers of the top-layer kernel."""

from typing import Any, Literal

import numpy as np

from theory import _arrays, _checks
from theory._arrays import Array
from theory.conditioning import _bounds, _envelopes

Assumption = Literal["A", "B"]
Form = Literal["printed", "attained"]

ASSUMPTIONS = ("A", "B")
FORMS = ("printed", "attained")


def nngp_min_eigenvalue_bound(
    depth: Any, delta: Any, mu: Any, *, form: Form = "printed"
) -> Any:
    r"""Return the lower bound ``1 - B(L, delta)`` on lambda_min(K) (Theorem 3.6).

    Under assumption B: unit inputs whose Gram matrix has smallest eigenvalue at least
    `delta`.

    Parameters
    ----------
    depth : int, float or array
        Hidden layers, at least 0; whole for the attained form.
    delta : float or array
        In (0, 1].
    mu : float or array
        In [1e-300, 1].
    form : {"printed", "attained"}
        Attained: one minus `correlation_envelope`, which is lambda_min(K) of inputs
        that are all correlated by ``1 - delta`` under energies ``(0, 1 - mu, mu)``.

    Returns
    -------
    float or array
        In (0, 1], to a relative 2e-15, however small, at depths that float64 holds; the
        attained form as its envelope.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> nngp_min_eigenvalue_bound(2, 2.0**-60, 1.0)
    1.951563910473908e-18
    """
    who = "nngp_min_eigenvalue_bound"
    return _checks.plain(_correlations(who, depth, delta, mu, form)[1])


def _correlations(
    who: str, depth: Any, delta: Any, mu: Any, form: Any
) -> tuple[Array, Array]:
    """Return a bound on K's entries off the diagonal, and its distance from one."""
    if _checks.choice(who, "form", form, FORMS) == "printed":
        return _bounds.schedule(who, depth, delta, mu)
    l = _arrays.whole(who, "depth", depth, 0)
    d, m = _arrays.separation(who, delta), _arrays.rate(who, mu)
    _checks.broadcast(who, depth=l, delta=d, mu=m)
    found = _envelopes.correlations(l, d, m)
    return found.value, found.gap


def nngp_condition_bound(
    depth: Any,
    delta: Any,
    mu: Any,
    n: Any,
    *,
    assumption: Assumption = "A",
    form: Form = "printed",
) -> Any:
    r"""Bound the condition number of the top-layer kernel (Corollaries 3.3 and 3.7).

    .. math:: A:\ 1 + 2n (1-\mu/2)^{L-L_0},\ L \ge L_1;\qquad
        B:\ \begin{cases} 1 + n (1-\mu/2)^{L-L_0} & L > L_0\\
        1 + n\left(\frac{(1+\mu/2)^{-L}}{\delta} - 1\right) & L \le L_0 \end{cases}

    Parameters
    ----------
    depth, n : int or array of int
        Hidden layers, at least 0, and number of inputs, at least 1.
    delta : float or array
        In (0, 1].
    mu : float or array
        In [1e-300, 1].
    assumption : {"A", "B"}
        A: separated unit inputs, ``|x_i . x_j| <= 1 - delta``. B: smallest eigenvalue of
        the Gram matrix at least `delta`.
    form : {"printed", "attained"}
        Attained, from the largest correlation r that is possible (`correlation_envelope`):
        ``(1 + (n-1)r) / (1 - (n-1)r)`` (A), by two inputs, and ``1 + n r/(1 - r)`` (B), by
        any number of inputs that are all correlated by ``1 - delta``.

    Returns
    -------
    float or array
        At least 1; infinity where nothing follows (assumption A: printed below the
        threshold depth L_1, attained where rows need not be diagonally dominant).

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> nngp_condition_bound(64, 0.01, 0.26652889653787, 100)
    inf
    >>> round(nngp_condition_bound(65, 0.01, 0.26652889653787, 100), 3)
    2.784
    >>> round(nngp_condition_bound(65, 0.01, 0.26652889653787, 100, form="attained"), 6)
    1.000153
    """
    who = "nngp_condition_bound"
    side = _checks.choice(who, "assumption", assumption, ASSUMPTIONS)
    l, count = _arrays.whole(who, "depth", depth, 0), _arrays.whole(who, "n", n, 1)
    if _checks.choice(who, "form", form, FORMS) == "attained":
        value, gap = _correlations(who, depth, delta, mu, form)
        _checks.broadcast(who, depth=depth, delta=delta, mu=mu, n=n)
        return _checks.plain(_bounds.condition_number(value, gap, count, side))
    return _checks.plain(_bounds.printed(who, l, delta, mu, count, side))


def depth_for_condition_number(
    delta: Any,
    mu: Any,
    n: Any,
    target: Any = None,
    *,
    assumption: Assumption = "A",
) -> Any:
    r"""Return a depth from which the NNGP condition number is at most `target`.

    Without `target`: ``L_1 = ceil(log n / -log(1 - mu/2)) + L_0`` of Corollary 3.3, where
    the bound ``1 + 2n(1 - mu/2)^(L - L_0)`` starts to hold (it is at most 3 there); L_0
    itself under assumption B, Corollary 3.7.

    Parameters
    ----------
    delta : float or array
        In (0, 1].
    mu : float or array
        In [1e-300, 1].
    n : int or array of int
        Number of inputs, at least 1.
    target : float or array, optional
        Greater than 1.
    assumption : {"A", "B"}
        As `nngp_condition_bound`.

    Returns
    -------
    int or array of int

    Raises
    ------
    ValueError
        If an argument is outside its range, or an array holds a depth beyond int64.

    Examples
    --------
    >>> depth_for_condition_number(0.01, 0.26652889653787, 100)
    65
    >>> depth_for_condition_number(1e-6, 1.0, 1000)
    43
    """
    who = "depth_for_condition_number"
    side = _checks.choice(who, "assumption", assumption, ASSUMPTIONS)
    d, m = _arrays.separation(who, delta), _arrays.rate(who, mu)
    count = _arrays.whole(who, "n", n, 1)
    _checks.broadcast(who, delta=d, mu=m, n=count)
    start = _arrays.least_layers(2.0 * d, 0.5 * m)
    more = _arrays.least_layers(count if side == "A" else 1.0, -0.5 * m)
    least = np.asarray(start + more, dtype=object)
    if target is None:
        shape = np.broadcast_shapes(least.shape, count.shape)
        return _arrays.integers(who, "mu", np.broadcast_to(least, shape))
    goal = _checks.real(who, "target", target)
    _checks.reject(who, "target", "be greater than 1", goal <= 1.0, goal, "")
    _checks.broadcast(who, delta=d, mu=m, n=count, target=goal)
    excess = (2.0 if side == "A" else 1.0) * count / (goal - 1.0)
    later = start + np.maximum(_arrays.least_layers(excess, -0.5 * m), 1)
    found = np.asarray(np.maximum(least, later), dtype=object)
    return _arrays.integers(who, "mu", found)


def eigenvalue_transfer(value_at_one: Any, value_at_rest: Any) -> Any:
    """Return ``f(1) - f(1 - delta)``, the bound of Lemma C.8 on lambda_min(f[M]).

    For a power series f with non-negative coefficients, applied entry by entry to a
    positive semidefinite M with unit diagonal and smallest eigenvalue at least delta.

    Parameters
    ----------
    value_at_one, value_at_rest : float or array
        ``f(1)`` and ``f(1 - delta)``, finite.

    Raises
    ------
    ValueError
        If an argument is not finite, or their difference leaves float64.

    Examples
    --------
    >>> eigenvalue_transfer(1.0, 0.25)
    0.75
    """
    who = "eigenvalue_transfer"
    one = _checks.real(who, "value_at_one", value_at_one)
    rest = _checks.real(who, "value_at_rest", value_at_rest)
    _checks.broadcast(who, value_at_one=one, value_at_rest=rest)
    with np.errstate(over="ignore"):
        out = one - rest
    return _checks.plain(_checks.result(who, out, "value_at_one", "value_at_rest"))
