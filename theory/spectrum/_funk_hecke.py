r"""Gegenbauer eigenvalues by two routes: a kernel's values, or its Taylor coefficients.

With t the cosine of two uniform points of the sphere in d dimensions and P_k the
Gegenbauer polynomial that is one at one, the eigenvalue is :math:`\lambda_k = E[\kappa(t)
P_k(t)]`. Integrating by parts k times turns a power of t into a positive number,

.. math::

   E[t^n P_k(t)] = \frac{n!\, \Gamma(d/2)}{2^n\, j!\, \Gamma(d/2 + k + j)},
   \qquad n = k + 2j,

so that a series without negative coefficients loses nothing, however small the sum.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from theory import gaussian

Array = npt.NDArray[np.float64]

NODES = 20
ROUNDING = 2e-14
"""Error of one value of a kernel, relative to its root mean square: tables included."""

FIT = 8
"""Terms of the expansion in 1/n that continues a series beyond its last coefficient."""


def orthonormal(degree: int, dim: int, t: Array) -> Array:
    """Return p_k(t) = sqrt(N(d, k)) P_k(t) for k <= degree, orthonormal; (degree + 1, m).

    The three-term recurrence in its symmetric form, forward: stable on [-1, 1].
    """
    out = np.empty((degree + 1, t.size))
    out[0] = 1.0
    step = _recurrence(degree, dim)
    if degree:
        out[1] = t / step[1]
    for k in range(1, degree):
        out[k + 1] = (t * out[k] - step[k] * out[k - 1]) / step[k + 1]
    return out


def _recurrence(degree: int, dim: int) -> Array:
    k = np.arange(degree + 2, dtype=np.float64)
    k[0] = 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        square = k * (k + dim - 3.0) / ((2.0 * k + dim - 4.0) * (2.0 * k + dim - 2.0))
    square[1] = 1.0 / dim  # the limit, also where it is 0/0
    return np.sqrt(square)


def rule(degree: int, dim: int) -> tuple[Array, Array]:
    """Return cosines t and weights that sum to one, for products with P_k, k <= degree.

    Panels in the angle: so short that a polynomial turns at most once in each, as short
    as the measure's width around the equator, and halved again and again towards both
    poles, where kernels may be singular.
    """
    width = min(0.25, 3.0 / (degree + 1.0), 1.5 / math.sqrt(dim))
    count = math.ceil(0.5 * math.pi / width)
    edges = np.linspace(0.0, 0.5 * math.pi, count + 1)
    cuts = np.concatenate([[0.0], edges[1] * 2.0 ** np.arange(-45.0, 0.0), edges[1:]])
    x, w = gaussian.legendre(NODES)
    half, mid = 0.5 * np.diff(cuts), 0.5 * (cuts[1:] + cuts[:-1])
    angle = (mid[:, None] + half[:, None] * x).ravel()
    t = np.cos(angle)
    # Around the equator a power of the sine would lose as many ulps as its exponent.
    near = np.log(np.sin(angle))
    sine = np.where(angle > 0.8, 0.5 * np.log1p(-(np.minimum(t, 0.8) ** 2)), near)
    weights = (half[:, None] * w).ravel() * np.exp((dim - 2) * sine)
    kept = weights > weights.max() * 1e-40
    t, weights = t[kept], weights[kept]
    total = 2.0 * math.fsum(weights)
    return np.concatenate([t, -t]), np.concatenate([weights, weights]) / total


def by_quadrature(
    kernel: Callable[[Array], Array], degree: int, dim: int
) -> tuple[Array, float]:
    """Return E[kernel(t) p_k(t)], k <= degree, and a bound of their rounding."""
    t, weights = rule(degree, dim)
    values = np.asarray(kernel(t), dtype=np.float64)
    if values.shape != t.shape or not np.isfinite(values).all():
        raise ValueError(
            "eigenvalues: `kernel` must send an array of correlations to an array of"
            " finite numbers of its shape."
        )
    out = np.zeros(degree + 1)
    for part in np.array_split(np.arange(t.size), max(1, t.size * degree >> 22)):
        out += orthonormal(degree, dim, t[part]) @ (weights[part] * values[part])
    return out, ROUNDING * math.sqrt(float(weights @ values**2))


# --- from Taylor coefficients ----------------------------------------------------------


def log_weights(degree: int, dim: int, count: int) -> Array:
    """Return log E[t^n P_k(t)] for n = k, k + 2, ..., `count` of them."""
    i = np.arange(degree, dtype=np.longdouble)
    n = degree + 2.0 * np.arange(count - 1, dtype=np.longdouble)
    # Quotients of neighbours, added up in extended precision where there is one.
    start = np.log((1.0 + i) / (dim + 2.0 * i)).sum()
    top, bottom = (n + 1.0) * (n + 2.0), (n - degree + 2.0) * (n + degree + dim)
    steps = np.log1p((top - bottom) / bottom)
    return np.concatenate([[start], start + np.cumsum(steps)]).astype(np.float64)


def by_series(
    b: Array, degree: int, dim: int, total: float = 0.0
) -> tuple[float, float]:
    """Return log lambda_k and its relative error.

    Minus infinity where the eigenvalue is zero. With a `total`, the sum of the whole
    series, the series goes on beyond `b`: by its law where it has found one.
    """
    mine = b[degree::2]
    missing = max(total - math.fsum(b), 0.0)
    if not mine.any():
        whole = mine.size > 0 or missing <= 1e-13 * total
        return -math.inf, 0.0 if whole else math.inf
    weights = log_weights(degree, dim, mine.size)
    with np.errstate(divide="ignore"):
        logs = weights + np.log(mine)
    top = float(logs.max())
    head = float(np.exp(logs - top).sum())
    tail, error = _tail(b, degree, dim, float(weights[-1]) - top, missing)
    rounding = 1e-15 * (degree + 10.0) + 2e-16 * abs(top)
    return top + math.log(head + tail), error / (head + tail) + rounding


def _tail(
    b: Array, degree: int, dim: int, log_last: float, missing: float
) -> tuple[float, float]:
    """Return the rest of the series in units of e^top, and its error."""
    order = b.size - 1
    last = order - (order - degree) % 2
    n = np.arange(last, max(order // 8, 1), -2)[::-1]
    y = b[n]
    if not missing or not y[-1] > 1e-60 * b.max():
        return 0.0, 0.0

    def log_weight(x: Array) -> Array:
        return log_last + _log_ratio(x, last, degree, dim)

    power, fit, misfit = _law(n / last, y)
    if misfit > 1e-3 or last < 2 * degree + 16:
        # All that is missing, where the weights are largest.
        peak = max(float(last), degree * (degree + dim) / (dim - 1.0))
        if last < 2 * degree + 16:
            return 0.0, math.inf
        return 0.0, missing * math.exp(min(float(log_weight(np.array(peak))), 700.0))

    def model(x: Array) -> Array:
        trend = np.polynomial.polynomial.polyval(last / x, fit)
        return y[-1] * trend * np.exp(log_weight(x) + power * np.log(x / last))

    # Euler and Maclaurin from half a step beyond the last term, in z = log x: terms rise
    # to a peak about as wide as the root of 2/d, then fall like e^(-pace z).
    pace = 0.5 * (dim - 1.0) - power - 1.0
    peak = math.log1p(degree * (degree + dim) / (pace * last))
    span = peak + 40.0 / pace + 10.0 / math.sqrt(pace)
    nodes, weights = gaussian.legendre(NODES)
    panels = math.ceil(span * max(1.0, 0.5 * math.sqrt(dim)))
    z = (np.arange(panels)[:, None] + 0.5 * (nodes + 1.0)).ravel() * span / panels
    x = (last + 1.0) * np.exp(z)
    rest = 0.25 * span / panels * float(np.tile(weights, panels) @ (model(x) * x))
    after, before = model(np.array([last + 2.0, float(last)]))
    rest += (after - before) / 24.0
    # Outside its range, towards n = infinity, the fit is less sure than inside it.
    return rest, min(300.0 * misfit, 1.0) * abs(rest)


def _law(x: Array, y: Array) -> tuple[float, Array, float]:
    """Fit y = y[-1] x^power (c_0 + c_1/x + ...); return power, c and the misfit.

    The power is the nearest half of a whole number to the slope at the end.
    """
    middle = y.size // 2
    if y.size < 4 * FIT or not y.all():
        return 0.0, np.zeros(FIT), math.inf
    slope = math.log(y[-1] / y[middle]) / math.log(x[-1] / x[middle])
    power = round(2.0 * slope) / 2.0
    if not -12.0 < power < -1.0:
        return 0.0, np.zeros(FIT), math.inf
    ratios = y / y[-1] * x**-power
    basis = np.vander(1.0 / x, FIT, increasing=True)
    fit = np.linalg.lstsq(basis, ratios, rcond=None)[0]
    return power, fit, float(np.abs(basis @ fit / ratios - 1.0).max())


def _log_ratio(x: Array, start: float, degree: int, dim: int) -> Array:
    """Return log of E[t^x P_k] / E[t^start P_k] for large x and start."""

    def log(n: Array) -> Array:
        up = _log_gamma_ratio(0.5 * (n - degree) + 1.0, 0.5 * (degree - 1.0))
        return up - _log_gamma_ratio(0.5 * n + 1.0, 0.5 * (degree + dim) - 1.0)

    return log(x) - log(np.array(float(start)))


def _log_gamma_ratio(y: Array, gap: float) -> Array:
    """Return log Gamma(y + gap) - log Gamma(y), both arguments 8 and more."""

    def rest(z: Array) -> Array:
        u = 1.0 / (z * z)
        terms = 1 / 12 - u * (1 / 360 - u * (1 / 1260 - u * (1 / 1680 - u / 1188)))
        return terms / z

    x = y + gap
    return (x - 0.5) * np.log1p(gap / y) + gap * (np.log(y) - 1.0) + rest(x) - rest(y)
