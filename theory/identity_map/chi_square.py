r"""The chi-square tail behind the error bound, and the constants it allows.

Source: Zhang, Bengio, Hardt, Mozer, Singer 2020, appendix D, eq. (10) and (11).
"""

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.special as sp

from theory import _checks, _gamma_tails
from theory.identity_map import _inputs

Array = npt.NDArray[np.float64]
Form = Literal["printed", "sharp"]


def chi_square_tail_bound(zeta: Any, dof: Any) -> Any:
    r"""Bound ``P(chi^2_C >= zeta C)`` after Chernoff (before eq. 10).

    .. math:: P(\rho_k\ge\zeta C)\le\exp\!\Big(-\frac C2(\zeta-1-\log\zeta)\Big)

    Parameters
    ----------
    zeta : float or array
        At least 1.
    dof : float or array
        Degrees of freedom C > 0; broadcasts.

    Returns
    -------
    float or array
        In [0, 1]; relative error a few eps times one plus the exponent's size.

    Raises
    ------
    ValueError
        If an argument is outside its range, or shapes do not broadcast.

    Examples
    --------
    >>> chi_square_tail_bound(1.0, 3), round(chi_square_tail_bound(4.0, 3), 6)
    (1.0, 0.088872)
    """
    z, c = _arguments("chi_square_tail_bound", zeta, dof, 1.0)
    with np.errstate(over="ignore"):
        out = np.exp(-0.5 * c * _gamma_tails.less_log(z - 1.0))
    return _checks.plain(out)


def chi_square_tail(zeta: Any, dof: Any) -> Any:
    r"""Return ``P(chi^2_C >= zeta C)`` itself, ``Q(C/2, zeta C/2)``.

    Arguments as in `chi_square_tail_bound`, but zeta may be any number from 0 on.

    Returns
    -------
    float or array
        In [0, 1]; relative error below 1e-11 down to 1e-100 (down to 1e-300 where C is
        less than 1), and for more than 1e6 degrees of freedom ``50 sqrt(C) eps``, since
        ``C zeta`` is rounded.

    Raises
    ------
    ValueError
        If an argument is outside its range, or shapes do not broadcast.

    Examples
    --------
    >>> round(chi_square_tail(4.0, 3), 6)
    0.007383
    """
    z, c = _arguments("chi_square_tail", zeta, dof, 0.0)
    a = 0.5 * c
    with np.errstate(over="ignore", divide="ignore"):
        x, log = a * z, np.log(a) + np.log(z)
        tail = _gamma_tails.upper(a, x)
    # Where x underflows, x^a / Gamma(1 + a) is what the tail lacks of one.
    lost = a * np.minimum(log, 0.0) - _gamma_tails.log_after_one(np.minimum(a, 1.0))
    out = np.where(x < 1e-290, -np.expm1(lost), tail)
    return _checks.plain(out)


def _arguments(who: str, zeta: Any, dof: Any, least: float) -> tuple[Array, Array]:
    z = _checks.real(who, "zeta", zeta)
    _checks.reject(who, "zeta", f"be at least {least:g}", z < least, z, "")
    c = _checks.positive(who, "dof", dof)
    _checks.reject(who, "dof", "be at least 1e-300", c < 1e-300, c, "")
    _checks.broadcast(who, zeta=z, dof=c)
    return z, c


def least_failure_probability(
    nullity: int, channels: int, constant: float, *, form: Form = "sharp"
) -> float:
    r"""Return delta_0: eq. (11) with the constant M holds for ``delta >= delta_0``.

    .. math:: \delta_0 = n\exp\!\Big(-\frac C2(M-1-\log M)\Big) \le
        \frac{2n}{C(M-\log M-1)} \quad\text{(printed)}

    The printed form follows from ``exp(-x) < 1/x`` and may exceed one. Relative error a
    few eps, of the sharp form times one plus the exponent's size.

    Parameters
    ----------
    nullity, channels : int
        n >= 0 and C >= 1.
    constant : float
        M > 1.
    form : {"sharp", "printed"}
        "sharp" is the exact form.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> round(least_failure_probability(10, 1, 10.0), 3)
    0.351
    >>> round(least_failure_probability(10, 1, 10.0, form="printed"), 2)
    2.99
    """
    who = "least_failure_probability"
    n, depth = _inputs.whole(who, nullity=(nullity, 0), channels=(channels, 1))
    m = _inputs.above_one(who, "constant", constant)
    excess = float(_gamma_tails.less_log(np.asarray(m - 1.0)))
    if _checks.choice(who, "form", form, _inputs.FORMS) == "printed":
        return 2.0 * n / (depth * excess)
    return n * math.exp(-0.5 * depth * excess)


def least_constant(nullity: int, channels: int, delta: float) -> float:
    r"""Return the least M with ``zeta <= M`` for this delta (eq. 11).

    .. math:: M - 1 - \log M = \frac2C\log\frac n\delta, \qquad M = -W_{-1}(-e^{-1-y})

    with y the right-hand side. There ``zeta = M``, so that eq. (11) reads ``rho_k < C
    M``.

    Parameters
    ----------
    nullity, channels : int
        n >= 1 and C >= 1.
    delta : float
        In (0, 1].

    Returns
    -------
    float
        At least 1, to 4 ulp.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> m = least_constant(10, 1, 0.05)
    >>> round(least_failure_probability(10, 1, m), 12)
    0.05
    """
    who = "least_constant"
    n, depth = _inputs.whole(who, nullity=(nullity, 1), channels=(channels, 1))
    y = 2.0 / depth * (math.log(n) - math.log(_inputs.probability(who, "delta", delta)))
    # u - log1p(u) = y, from the right of the root: Newton's steps fall monotonically.
    u = y + math.sqrt(2.0 * y)
    while True:
        step = (u - math.log1p(u) - y) * (1.0 + u) / u if u else 0.0
        u, before = u - step, u
        if not 0.0 < u < before:
            return 1.0 + before


def direction_bound(
    nullity: int,
    channels: int,
    delta: float,
    *,
    constant: float | None = None,
    form: Form = "printed",
) -> float:
    r"""Bound every ``rho_k = ||W0^T v_k||^2 / sigma^2`` at once (eq. 11).

    .. math:: \rho_k < 2\log\frac n\delta + C(1+\log M), \quad k = 1,\dots,n

    with probability at least 1 - delta over W0, the v_k orthonormal. Sharp: the rho_k
    are independent chi-square variables with C degrees of freedom, so that all stay below
    q with probability ``F(q)^n``; q is the quantile where that is 1 - delta.

    Parameters
    ----------
    nullity, channels : int
        n >= 0 (for n = 0 the bound is 0) and C >= 1.
    delta : float
        In (0, 1].
    constant : float, optional
        M > 1; the least one that is allowed if left out. Not used by the sharp form.
    form : {"printed", "sharp"}

    Raises
    ------
    ValueError
        If an argument is outside its range, or delta below delta_0 of this M.

    Examples
    --------
    >>> round(direction_bound(10, 3, 0.05), 2)
    19.16
    >>> round(direction_bound(10, 3, 0.05, form="sharp"), 2)
    12.79
    """
    who = "direction_bound"
    n, depth = _inputs.whole(who, nullity=(nullity, 0), channels=(channels, 1))
    p = _inputs.probability(who, "delta", delta)
    m = None if constant is None else _inputs.above_one(who, "constant", constant)
    _checks.choice(who, "form", form, _inputs.FORMS)
    if n == 0:
        return 0.0
    if form == "sharp":
        # (1 - p)^(1/n), or what it lacks of one, whichever is less.
        log = math.log1p(-p) / n if p < 1.0 else -math.inf
        below = log < math.log(0.5)
        inverse = sp.gammaincinv if below else sp.gammainccinv
        out = 2.0 * inverse(0.5 * depth, math.exp(log) if below else -math.expm1(log))
        return float(_checks.result(who, out, "nullity", "delta"))
    return _every_direction(who, n, depth, p, m)


def _every_direction(
    who: str, n: int, depth: int, p: float, constant: float | None
) -> float:
    """Eq. (11) as printed, after a look at delta_0."""
    if constant is None:
        constant = least_constant(n, depth, p)
    else:
        least = least_failure_probability(n, depth, constant)
        # The least constant meets it with equality, up to rounding.
        if p < least * (1.0 - 1e-9):
            raise ValueError(
                f"{who}: `delta` must be at least delta_0 = {least:.3g} for the constant"
                f" {constant:.6g}, got {p!r}. Leave `constant` out for the least one."
            )
    return 2.0 * (math.log(n) - math.log(p)) + depth * (1.0 + math.log(constant))
