"""The tangent kernel under depth: its diagonal takes over at the rate of correlations."""

import math
from typing import Any, Literal

import numpy as np

from theory import _arrays, _checks
from theory._arrays import Array, power
from theory.conditioning import _bounds, _envelopes
from theory.conditioning.eigenvalues import (
    ASSUMPTIONS,
    Assumption,
    depth_for_condition_number,
)

Form = Literal["printed", "sharp", "attained"]
SlopeForm = Literal["printed", "sharp"]

FORMS = ("printed", "sharp", "attained")


def derivative_bound(delta: Any, mu: Any, *, form: SlopeForm = "sharp") -> Any:
    r"""Bound ``|dual'(rho)| / D`` (sharp) or ``|dual'(rho)|`` (printed), Lemma C.14.

    .. math:: \frac{|\hat\sigma'(\rho)|}{D} \le 1 - \frac{2\mu}{1+\mu}\delta,\qquad
        |\hat\sigma'(\rho)| \le \frac1\delta

    Parameters
    ----------
    delta : float or array
        In (0, 1].
    mu : float or array
        In [0, 1].
    form : {"sharp", "printed"}
        The sharp one is attained by the energies ``(0, 1 - mu, mu)``.

    Returns
    -------
    float or array
        To a relative 5e-16.

    Raises
    ------
    ValueError
        If an argument is outside its range, or 1/delta beyond float64.

    Notes
    -----
    With energies p_k and ``r = |rho|``: ``dual'(r) = sum_k k p_k r^(k-1) <= p_1 +
    (D - p_1) r``, so the ratio is at most ``r + (1 - mu)(1 - r)/D``, and D is at least
    ``1 + mu``.

    Examples
    --------
    >>> round(derivative_bound(0.1, 0.26652889653787), 12)
    0.957911912272
    """
    who = "derivative_bound"
    d = _arrays.separation(who, delta)
    m = _checks.interval(who, "mu", mu, 0.0, 1.0)
    _checks.broadcast(who, delta=d, mu=m)
    if _checks.choice(who, "form", form, ("sharp", "printed")) == "sharp":
        # A sum of positive terms: 1 - 2 mu delta / (1 + mu) may cancel.
        return _checks.plain(((1.0 - m) + 2.0 * m * (1.0 - d)) / (1.0 + m))
    _checks.reject(who, "delta", "be at least 1e-308", d < 1e-308, d, "")
    return _checks.plain(1.0 / d + 0.0 * m)


def ntk_diagonal(depth: Any, slope: Any, *, log: bool = False) -> Any:
    r"""Return ``T_ii = sum_{h=0}^{L} D^h`` for a normalised activation with slope D.

    Parameters
    ----------
    depth : int or array of int
        Hidden layers, at least 1.
    slope : float or array
        D, positive.
    log : bool
        Return the logarithm, which does not overflow.

    Returns
    -------
    float or array
        To a relative 1e-14; the logarithm to an absolute 1e-14 or a relative 1e-15.

    Raises
    ------
    ValueError
        If an argument is outside its range, or the sum beyond float64.

    Examples
    --------
    >>> ntk_diagonal(1, 2.0), round(ntk_diagonal(2000, 1.5, log=True), 6)
    (3.0, 812.028829)
    """
    who = "ntk_diagonal"
    l = _arrays.whole(who, "depth", depth, 1)
    d = _checks.positive(who, "slope", slope)
    logarithm = _checks.flag(who, "log", log)
    _checks.broadcast(who, depth=l, slope=d)
    l, d = np.broadcast_arrays(l, d)
    # The larger of D and 1/D out of the sum, so that powers fall.
    lead = np.where(d > 1.0, l * np.log(d), 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gap = np.where(d > 1.0, (d - 1.0) / d, 1.0 - d)
        last = (l + 1.0) * np.log1p(-gap)
        rest = np.where(gap > 0.0, -np.expm1(last) / gap, l + 1.0)
        if logarithm:
            return _checks.plain(lead + np.log(rest))
        out = np.where(d > 1.0, d**l, 1.0) * rest
    bad = ~np.isfinite(out)
    _checks.reject(
        who,
        "depth",
        "keep the sum within float64",
        bad,
        l,
        "`log=True` gives its logarithm.",
    )
    return _checks.plain(out)


def ntk_ratio_bound(depth: Any, delta: Any, mu: Any, *, form: Form = "printed") -> Any:
    r"""Bound ``|T_ij| / T_11`` of the tangent kernel (Theorem 3.4).

    .. math:: 2 B(L/2, \delta),\ L \ge 2 L_0\ \text{(printed)}; \qquad
        \frac{|T_{ij}|}{T_{11}} \le t_L \le r_L \le B(L, \delta),\ L \ge 0

    with r the `correlation_envelope` (sharp: ``B(L, delta)``, the `correlation_bound`
    of the top-layer kernel), and t the ratio of the activation with energies
    ``(0, 1 - mu, mu)`` itself (attained: nothing smaller holds for all activations).

    Parameters
    ----------
    depth : int, float or array
        Hidden layers, at least 0; whole for the attained form, and at most 50,000 that
        have to be gone through one by one.
    delta : float or array
        In (0, 1].
    mu : float or array
        In [1e-300, 1].
    form : {"printed", "sharp", "attained"}
        The printed form is 1 below its threshold depth.

    Returns
    -------
    float or array
        In [0, 1], to a few ulp, in the attained form a few ulp a layer.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    Let ``r_h`` be the correlations after h layers, all non-negative (at ``-rho`` every
    factor below is smaller), f the dual, p_k its energies, ``p_1 = 1 - mu``, and
    ``g(r) = f'(r)/D``. The ratio is the mean of ``c_h = r_h g(r_h) ... g(r_{L-1})`` over
    h = 0..L with weights proportional to ``D^-h``.

    1. ``r_{h+1} <= r_h (1 - mu (1 - r_h))``, and ``g(r) <= 1 - 2 mu/(1 + mu) (1 - r)``
       (`derivative_bound`), both equalities for the energies ``(0, 1 - mu, mu)``: they
       have the largest c_h of all, every one.
    2. ``g(r) <= f(r)/r``: means of ``r^(k-1)``, falling in k, with weights
       ``k p_k`` against ``p_k``. So ``c_h <= c_{h+1}``, and more weight on larger h
       increases the mean.
    3. ``D >= 1 + mu``, an equality for the same energies, puts the most weight there.

    Hence t_L is the maximum, for every depth and separation. By 2 it is at most the last
    term, ``c_L = r_L``.

    Examples
    --------
    >>> case = 100, 0.01, 0.26652889653787
    >>> round(ntk_ratio_bound(*case), 12)
    0.076200705897
    >>> round(ntk_ratio_bound(*case, form="sharp"), 12)
    2.9871672e-05
    >>> ntk_ratio_bound(*case, form="attained") < 1e-16
    True
    """
    return _checks.plain(_ratio("ntk_ratio_bound", depth, delta, mu, form)[0])


def _ratio(who: str, depth: Any, delta: Any, mu: Any, form: Any) -> tuple[Array, Array]:
    """Return the bound on the ratio and its distance from one."""
    choice = _checks.choice(who, "form", form, FORMS)
    if choice == "sharp":
        return _bounds.schedule(who, depth, delta, mu)
    if choice == "attained":
        l = _arrays.whole(who, "depth", depth, 0)
        d, m = _arrays.separation(who, delta), _arrays.rate(who, mu)
        _checks.broadcast(who, depth=l, delta=d, mu=m)
        found = _envelopes.ratios(who, l, d, m)
        return found.value, found.gap
    l = _checks.interval(who, "depth", depth, 0.0, math.inf)
    half, _ = _bounds.schedule(who, l / 2.0, delta, mu)
    d, m = _arrays.separation(who, delta), _arrays.rate(who, mu)
    start = _arrays.least_layers(2.0 * d, 0.5 * m)
    known = l >= 2.0 * start.astype(np.float64)
    value = np.where(known, np.minimum(2.0 * half, 1.0), 1.0)
    return value, 1.0 - value


def ntk_min_eigenvalue_bound(
    depth: Any, delta: Any, mu: Any, *, form: Form = "printed"
) -> Any:
    r"""Return the lower bound on ``lambda_min(T) / T_11`` (Theorem 3.8), assumption B.

    One minus `ntk_ratio_bound` in each form: T is a power series of the correlation with
    coefficients that are not negative (`eigenvalue_transfer`). The attained form is
    attained by inputs that are all correlated by ``1 - delta``.

    Parameters
    ----------
    depth, delta, mu, form
        As `ntk_ratio_bound`.

    Returns
    -------
    float or array
        In [0, 1]; sharp and attained forms to full relative accuracy, however small.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> ntk_min_eigenvalue_bound(2, 2.0**-60, 1.0, form="sharp")
    1.951563910473908e-18
    """
    who = "ntk_min_eigenvalue_bound"
    return _checks.plain(_ratio(who, depth, delta, mu, form)[1])


def ntk_condition_bound(
    depth: Any,
    delta: Any,
    mu: Any,
    n: Any,
    *,
    assumption: Assumption = "A",
    form: Form = "printed",
) -> Any:
    r"""Bound the condition number of the tangent kernel (Corollaries 3.5 and 3.9).

    Printed: ``1 + 4n(1 - mu/2)^(L/2 - L_0)`` (A), ``1 + 2n(1 - mu/2)^(L/2 - L_0)`` (B).
    Sharp: as for the top-layer kernel, whose correlations the ratio is bounded by:
    `nngp_condition_bound`. Attained: the ratio's maximum in place of B.

    Parameters
    ----------
    depth : int or array of int
        Hidden layers, at least 1.
    delta : float or array
        In (0, 1].
    mu : float or array
        In [1e-300, 1].
    n : int or array of int
        Number of inputs, at least 1.
    assumption : {"A", "B"}
        As `nngp_condition_bound`.
    form : {"printed", "sharp", "attained"}
        Attained by two inputs (A), and by any number of inputs that are all correlated
        by ``1 - delta`` (B).

    Returns
    -------
    float or array
        At least 1; infinity below `ntk_threshold_depth`.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> case = 139, 0.01, 0.26652889653787, 100
    >>> round(ntk_condition_bound(*case), 3)
    2.874
    >>> round(ntk_condition_bound(*case, form="sharp"), 6)
    1.000045
    """
    who = "ntk_condition_bound"
    side = _checks.choice(who, "assumption", assumption, ASSUMPTIONS)
    choice = _checks.choice(who, "form", form, FORMS)
    l, count = _arrays.whole(who, "depth", depth, 1), _arrays.whole(who, "n", n, 1)
    if choice == "sharp":
        return _checks.plain(_bounds.printed(who, l, delta, mu, count, side))
    if choice == "attained":
        value, gap = _ratio(who, depth, delta, mu, form)
        _checks.broadcast(who, depth=depth, delta=delta, mu=mu, n=n)
        return _checks.plain(_bounds.condition_number(value, gap, count, side))
    d, m = _arrays.separation(who, delta), _arrays.rate(who, mu)
    _checks.broadcast(who, depth=l, delta=d, mu=m, n=count)
    start = _arrays.least_layers(2.0 * d, 0.5 * m)
    first = np.asarray(start * 2 + _halved(count, m, side), dtype=object)
    factor = 4.0 if side == "A" else 2.0
    exponent = np.maximum(l / 2.0 - start.astype(np.float64), 0.0)
    bound = 1.0 + factor * count * power(-0.5 * m, exponent)
    return _checks.plain(np.where(l >= first.astype(np.float64), bound, math.inf))


def _halved(n: Array, mu: Array, side: str) -> Any:
    """Return the layers that B_{1/2} takes from 1/2 down to 1/(4n), or to 1/4."""
    size = (2.0 * n if side == "A" else np.full_like(n, 2.0)) ** 2
    return np.asarray(_arrays.least_layers(size, -0.5 * mu), dtype=object)


def ntk_threshold_depth(
    delta: Any,
    mu: Any,
    n: Any,
    *,
    assumption: Assumption = "A",
    form: Form = "printed",
) -> Any:
    """Return the depth from which `ntk_condition_bound` is finite.

    Printed: twice L_0 and what ``4 n^2`` (B: 4) takes. Sharp: that of the top-layer
    kernel, `depth_for_condition_number`. Attained: the first depth at which rows are
    diagonally dominant under the ratio's maximum, which falls with depth. Sharp and
    attained say something at every depth under assumption B: 1, the first that there is.

    Parameters
    ----------
    delta, mu, n, assumption, form
        As `ntk_condition_bound`.

    Returns
    -------
    int or array of int

    Raises
    ------
    ValueError
        If an argument is outside its range, an array holds a depth beyond int64, or the
        attained form has to go through more than 50,000 layers.

    Examples
    --------
    >>> case = 0.01, 0.26652889653787, 100
    >>> [ntk_threshold_depth(*case, form=f) for f in ("printed", "sharp", "attained")]
    [139, 65, 29]
    """
    who = "ntk_threshold_depth"
    side = _checks.choice(who, "assumption", assumption, ASSUMPTIONS)
    choice = _checks.choice(who, "form", form, FORMS)
    d, m = _arrays.separation(who, delta), _arrays.rate(who, mu)
    count = _arrays.whole(who, "n", n, 1)
    shape = _checks.broadcast(who, delta=d, mu=m, n=count)
    if choice == "printed":
        start = _arrays.least_layers(2.0 * d, 0.5 * m)
        found = np.asarray(start * 2 + _halved(count, m, side), dtype=object)
    elif side == "B":
        found = np.array(1, dtype=object)
    else:
        found = np.asarray(depth_for_condition_number(delta, mu, n), dtype=object)
        found = np.asarray(np.maximum(found, 1), dtype=object)
        if choice == "attained":
            found = _dominant(who, d, m, count, found.astype(np.float64))
    return _arrays.integers(who, "mu", np.broadcast_to(found, shape))


def _dominant(who: str, d: Array, m: Array, n: Array, known: Array) -> Any:
    """Return the least depth >= 1 with (n - 1) t < 1, by bisection; `known` is enough."""
    low, high = np.zeros_like(known), known
    while (high - low > 1.0).any():
        middle = np.floor((low + high) / 2.0)
        found = _envelopes.ratios(who, middle, d, m, "mu")
        enough = np.isfinite(_bounds.condition_number(found.value, found.gap, n, "A"))
        open_ = high - low > 1.0
        high = np.where(open_ & enough, middle, high)
        low = np.where(open_ & ~enough, middle, low)
    return np.vectorize(int, otypes=[object])(high)
