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
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import _checks, gaussian

Array = npt.NDArray[np.float64]

NODES = 20
ROUNDING = 2e-14
"""Error of one value of a kernel, relative to its root mean square: tables included."""

LONG = 2500.0
"""Degrees whose recurrence adds as much rounding as the values have. Measured, not derived:
against 50 digits errors reach three times `ROUNDING` at degree 10,000, where five are
allowed."""

RESOLVED = 1e-10
"""How much a kernel may change from one float to the next, as a share of its size."""

FEW = 8
"""Degrees up to which two quadratures of a kernel are compared."""

HALVINGS = 64
"""Panels towards a pole, each half as long as the one before: beyond, no eigenvalue of a
bounded kernel is known to 1e-6."""

ULPS = 1e-13
"""Rounding of a kernel's diagonal and of the sum of its Taylor coefficients."""

FIT = 8
"""Terms of the expansion in 1/n that continues a series beyond its last coefficient."""


def orthonormal(degree: int, dim: int, t: Array) -> Iterator[Array]:
    """Give p_k(t) = sqrt(N(d, k)) P_k(t) for k = 0, ..., degree, orthonormal.

    The three-term recurrence in its symmetric form, forward: stable on [-1, 1]. An array
    is written over two steps later.
    """
    step = _recurrence(degree, dim)
    before, now, new = np.empty_like(t), np.ones_like(t), np.empty_like(t)
    yield now
    for k in range(degree):
        np.multiply(t, now, out=new)
        new *= 1.0 / step[k + 1]
        if k:
            before *= step[k] / step[k + 1]
            new -= before
        before, now, new = now, new, before
        yield now


def _recurrence(degree: int, dim: int) -> Array:
    k = np.arange(degree + 2, dtype=np.float64)
    k[0] = 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        square = k * (k + dim - 3.0) / ((2.0 * k + dim - 4.0) * (2.0 * k + dim - 2.0))
    square[1] = 1.0 / dim  # the limit, also where it is 0/0
    return np.sqrt(square)


def rule(degree: int, dim: int, parts: int = 1) -> tuple[Array, Array, Array]:
    """Return cosines t, distances 1 - |t|, and weights that sum to one.

    For products with P_k, k <= degree. Panels in the angle: so short that a polynomial
    turns by at most eight radians in each, which twenty nodes integrate to 1e-30, as short
    as the measure's width around the equator, and halved again and again towards both
    poles, where kernels may be singular; in so many parts each.
    """
    turning = math.sqrt((degree + 1.0) * (degree + dim))  # radians a radian
    width = min(0.25, 8.0 / turning, 1.5 / math.sqrt(dim)) / parts
    count = math.ceil(0.5 * math.pi / width)
    edges = np.linspace(0.0, 0.5 * math.pi, count + 1)
    halves = edges[1] * 2.0 ** np.arange(-float(HALVINGS), 0.0)
    cuts = np.concatenate([[0.0], halves, edges[1:]])
    x, w = gaussian.legendre(NODES)
    half, mid = 0.5 * np.diff(cuts), 0.5 * (cuts[1:] + cuts[:-1])
    angle = (mid[:, None] + half[:, None] * x).ravel()
    t, d = np.cos(angle), 2.0 * np.sin(0.5 * angle) ** 2
    # Around the equator a power of the sine would lose as many ulps as its exponent.
    near = np.log(np.sin(angle))
    sine = np.where(angle > 0.8, 0.5 * np.log1p(-(np.minimum(t, 0.8) ** 2)), near)
    weights = (half[:, None] * w).ravel() * np.exp((dim - 2) * sine)
    total = 2.0 * math.fsum(weights)
    both = np.concatenate([weights, weights]) / total
    return np.concatenate([t, -t]), np.concatenate([d, d]), both


def by_quadrature(
    kernel: Callable[[Array], Array], degree: int, dim: int
) -> tuple[Array, float]:
    """Return E[kernel(t) p_k(t)], k <= degree, and a bound of their rounding."""
    t, weights = _nodes(degree, dim, 1)
    values = _values(kernel, t)
    # A kernel of t alone is not known between two floats, next to one above all.
    unknown = weights @ np.abs(_values(kernel, np.nextafter(t, 0.0)) - values)
    size = _root_mean_square(weights, values)
    if unknown > RESOLVED * size:
        raise ValueError(
            "eigenvalues: `kernel` must hardly change from a correlation to the next"
            " float64, as that of a deep network does at one. `nngp_eigenvalues` and"
            " `ntk_eigenvalues` know how far from one it is."
        )
    found = _expected(values, t, weights, degree, dim)
    t, weights = _nodes(degree, dim, 2)
    few = min(degree, FEW)
    finer = _expected(_values(kernel, t), t, weights, few, dim)
    change = float(np.abs(finer - found[: few + 1]).max())
    if change > RESOLVED * size:
        raise ValueError(
            "eigenvalues: `kernel` must be smooth on both sides of 0, but panels half as"
            f" long change an eigenvalue by {change / size:.1g} of its size."
        )
    return found, _rounding(degree) * size


def _nodes(degree: int, dim: int, parts: int) -> tuple[Array, Array]:
    t, _, weights = rule(degree, dim, parts)
    # At the poles themselves, where next to nothing is left, a kernel may be infinite.
    kept = weights > np.where(np.abs(t) < 1.0, 0.0, 1e-40)
    return t[kept], weights[kept]


def by_distances(
    kernel: Callable[[Array, Array], Array], degree: int, dim: int
) -> tuple[Array, float]:
    """Return the same of a kernel of t and 1 - |t|, which has digits where t has none."""
    t, d, weights = rule(degree, dim)
    values = kernel(t, d)
    rounding = _rounding(degree) * _root_mean_square(weights, values)
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # of high degrees nothing is found
        return _expected(values, t, weights, degree, dim), rounding


def _rounding(degree: int) -> float:
    """Return the error of an eigenvalue, relative to the kernel's root mean square."""
    return ROUNDING * (1.0 + degree / LONG)


def _values(kernel: Callable[[Array], Array], t: Array) -> Array:
    return _checks.values("eigenvalues", "kernel", kernel(t), t)


def _expected(values: Array, t: Array, weights: Array, degree: int, dim: int) -> Array:
    """Return E[kernel p_k], k <= degree; t holds every cosine, then all their negatives.

    By blocks that stay in the cache; an even polynomial sees the sum of the values on both
    sides, an odd one their difference.
    """
    n = t.size // 2
    right, left = (weights * values).reshape(2, n)
    sides = (right + left, right - left)
    out = np.zeros(degree + 1)
    for k, p in enumerate(orthonormal(degree, dim, t[:n])):
        out[k] = p @ sides[k % 2]
    return out


def _root_mean_square(weights: Array, values: Array) -> float:
    size = float(np.abs(values).max())  # the squares of which may not be floats
    return size * math.sqrt(float(weights @ (values / size) ** 2)) if size else 0.0


# --- from Taylor coefficients ----------------------------------------------------------


def log_weights(degree: int, dim: int, count: int) -> Array:
    """Return log E[t^n P_k(t)] for n = k, k + 2, ..., `count` of them."""
    i = np.arange(degree, dtype=np.longdouble)
    n = degree + 2.0 * np.arange(count - 1, dtype=np.longdouble)
    # Quotients of neighbours, added up in extended precision where there is one.
    start = np.log((1.0 + i) / (dim + 2.0 * i)).sum()
    top, bottom = (n + 1.0) * (n + 2.0), (n - degree + 2.0) * (n + degree + dim)
    # Of a quotient near one the distance from one, of a small one its own digits.
    small = top < 0.5 * bottom
    steps = np.where(small, np.log(top / bottom), 0.0)
    near = ~small
    steps[near] = np.log1p((top[near] - bottom[near]) / bottom[near])
    return np.concatenate([[start], start + np.cumsum(steps)]).astype(np.float64)


def by_series(
    b: Array, degree: int, dim: int, total: float = 0.0
) -> tuple[float, float]:
    """Return log lambda_k and its relative error.

    Minus infinity where the eigenvalue is zero. With a `total`, the sum of the whole
    series, the series goes on beyond `b`: by its law where it has found one.
    """
    mine = b[degree::2]
    if not mine.any():
        return -math.inf, math.inf if total and not _ended(b, degree % 2) else 0.0
    weights = log_weights(degree, dim, mine.size)
    with np.errstate(divide="ignore"):
        logs = weights + np.log(mine)
    top = float(logs.max())
    head = float(np.exp(logs - top).sum())
    tail, error = 0.0, 0.0
    if total:
        rest = max(total - math.fsum(b), ULPS * total)
        tail, error = _tail(b, degree, dim, float(weights[-1]) - top, rest)
    rounding = math.ulp(0.0) / float(mine[np.argmax(logs)])  # below the normal range
    return top + math.log(head + tail), error / (head + tail) + rounding


def _ended(b: Array, parity: int) -> bool:
    """Whether coefficients of a parity stop at one that is no rounding, or are none."""
    found = parity + 2 * np.flatnonzero(b[parity::2])
    if not found.size:
        return bool(b.any())  # else they are too small for float64
    return found[-1] < b.size - 20 and b[found[-1]] > 1e-20 * b.sum()


def _tail(
    b: Array, degree: int, dim: int, log_last: float, missing: float
) -> tuple[float, float]:
    """Return the rest of the series in units of e^top, and its error."""
    order = b.size - 1
    last = order - (order - degree) % 2
    if last < degree + 16:
        return 0.0, math.inf
    n = np.arange(last, max(order // 8, 1), -2)[::-1]

    def log_weight(x: Array) -> Array:
        return log_last + _log_ratio(x, last, degree, dim)

    # Weights are largest where two neighbours are equal, or at the beginning.
    peak = max(float(last), degree + (degree * (degree - 1.0) - 2 * dim) / (dim - 1.0))
    bound = missing * _exp(log_weight(np.array([peak])))[0]
    law = _law(n / last, b[n])
    if law is None or bound < 1e-18 or (law.power and last < 2 * degree + 16):
        return 0.0, float(bound)

    def model(x: Array) -> Array:
        return _exp(law.log(x / last) + log_weight(x))

    if not law.power:
        # An estimate: three times the sum of terms, as far as any is left.
        x = last + 2.0 * np.arange(1.0, 8.0 * last)
        return 0.0, 3.0 * float(model(x).sum())
    # Euler and Maclaurin from half a step beyond the last term, in z = log x: terms rise
    # to a peak, then fall like e^(-pace z): by e^-10 a panel at most.
    pace = 0.5 * (dim - 1.0) - law.power - 1.0
    rise = math.log1p(degree * (degree + dim) / last)
    span = rise + 40.0 / pace + 10.0 / math.sqrt(pace)
    nodes, weights = gaussian.legendre(NODES)
    panels = math.ceil(span * max(1.0, 0.1 * pace))
    z = (np.arange(panels)[:, None] + 0.5 * (nodes + 1.0)).ravel() * span / panels
    x = (last + 1.0) * np.exp(z)
    rest = 0.25 * span / panels * float(np.tile(weights, panels) @ (model(x) * x))
    third, first = _differences(model(last + np.array([-2.0, 0.0, 2.0, 4.0])))
    rest = max(rest + first / 24.0 - 17.0 * third / 5760.0, 0.0)
    # Outside its range, towards n = infinity, the fit is less sure than inside it.
    return rest, min(300.0 * law.misfit, 1.0) * rest


@dataclass(frozen=True, eq=False)
class _Law:
    """Coefficients beyond the last one, as a function of x = n / last.

    A power law, x^power (c_0 + c_1/x + ...), or, with power 0, the exponential of
    c_0 + c_1 log x + c_2 sqrt(x) + c_3 x + c_4 x log x, which is good for an estimate.
    """

    power: float
    fit: Array
    scale: float  # log of the last coefficient
    misfit: float

    def log(self, x: Array) -> Array:
        """Return the logarithm of the coefficients at x."""
        if not self.power:
            return self.scale + _basis(x) @ self.fit
        trend = np.polynomial.polynomial.polyval(1.0 / x, self.fit)
        return self.scale + self.power * np.log(x) + np.log(np.maximum(trend, 1e-300))


def _differences(y: Array) -> tuple[float, float]:
    """Return the third difference of four values and the first of the middle two."""
    return float(np.diff(y, 3)[0]), float(y[2] - y[1])


def _basis(x: Array) -> Array:
    return np.column_stack([np.ones_like(x), np.log(x), np.sqrt(x), x, x * np.log(x)])


def _law(x: Array, y: Array) -> _Law | None:
    """Find the law of coefficients y, last one at x = 1; None where there is none."""
    middle = y.size // 2
    if y.size < 4 * FIT or not y.all():
        return None
    scale = math.log(y[-1])
    fall = math.log(y[middle]) - scale
    slope = -fall / math.log(x[-1] / x[middle])
    power = round(2.0 * slope) / 2.0
    if -12.0 < power < -1.0:
        ratios = y / y[-1] * x**-power
        basis = np.vander(1.0 / x, FIT, increasing=True)
        fit = np.asarray(np.linalg.lstsq(basis, ratios, rcond=None)[0], np.float64)
        misfit = float(np.abs(basis @ fit / ratios - 1.0).max())
        return _Law(power, fit, scale, misfit) if misfit < 1e-3 else None
    # A pole beside the axis leaves the root alone, a finite radius the linear term, no
    # pole at all the last one.
    for terms in (4, 3, 5):
        fit = np.zeros(5)
        basis = _basis(x)[:, :terms]
        fit[:terms] = np.linalg.lstsq(basis, np.log(y) - scale, rcond=None)[0]
        misfit = float(np.abs(basis @ fit[:terms] - np.log(y) + scale).max())
        last = fit[4] if terms == 5 else fit[3]
        falls = fit[1] + fit[4] if terms == 5 else 0.0
        if misfit < 0.3 and last <= 0.0 and falls + fit[2] + fit[3] < 0.0:
            return _Law(0.0, fit, scale, misfit)
    return None


def _exp(log: Array) -> Array:
    return np.exp(np.minimum(log, 700.0))


def _log_ratio(x: Array, start: float, degree: int, dim: int) -> Array:
    """Return log of E[t^x P_k] / E[t^start P_k] for large x and start."""

    def log(n: Array) -> Array:
        up = log_gamma_ratio(0.5 * (n - degree) + 1.0, 0.5 * (degree - 1.0))
        return up - log_gamma_ratio(0.5 * n + 1.0, 0.5 * (degree + dim) - 1.0)

    return log(x) - log(np.array(float(start)))


def log_gamma_ratio(y: Array, gap: float) -> Array:
    """Return log Gamma(y + gap) - log Gamma(y) + gap, both arguments 8 and more."""

    def rest(z: Array) -> Array:
        u = 1.0 / (z * z)
        terms = 1 / 12 - u * (1 / 360 - u * (1 / 1260 - u * (1 / 1680 - u / 1188)))
        return terms / z

    x = y + gap
    return (x - 0.5) * np.log1p(gap / y) + gap * np.log(y) + rest(x) - rest(y)
