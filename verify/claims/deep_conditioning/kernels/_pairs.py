r"""Kernels of a pair of inputs of any lengths, layer by layer: the measured side.

    K^(l) = E s(u) s(v),    T^(l) = K^(l) + T^(l-1) E s'(u) s'(v),

with (u, v) of covariance K^(l-1). The expectations come from three algorithms, none of
them the library's:

- formulas at 256 bits for ReLU and its square, erf, sin, cos, a sum of both, exp, GELU
  and exp(-x^2/2), and for rows of one direction a function with a kink at 1/2;
- enclosed integrals for SELU, hard tanh and ReLU6 (`verify.integrals.Pieces`);
- for tanh Price's theorem, dE s(u)s(v)/dk = E s'(u)s'(v), whose right side lives within
  twenty units at any variance: a trapezoid rule in the plane and Gauss-Legendre nodes in
  arcsin(correlation), both taken twice with other nodes;
- for pairs close to unit length the Hermite series at 256 bits, with coefficients at
  variance 1 + e from the heat equation, dE f(sqrt(q) X)/dq = E f''(sqrt(q) X) / 2.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import flint
import mpmath
import numpy as np

from verify import integrals
from verify.compare import Array
from verify.integrals import BITS

Moments = tuple[Any, Any]
"""E s(u) s(v) and E s'(u) s'(v)."""


class Law(Protocol):
    """Expectations of one function under Gaussians of given covariance."""

    def mean(self, p: Any) -> Any:
        """E s(u), Var u = p."""
        ...

    def one(self, p: Any) -> Moments:
        """E s(u)^2 and E s'(u)^2."""
        ...

    def two(self, p: Any, q: Any, k: Any) -> Moments:
        """E s(u) s(v) and E s'(u) s'(v), Var u = p, Var v = q, Cov(u, v) = k."""
        ...


# --- formulas ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Formula:
    """A law by formulas in mpmath numbers."""

    average: Callable[[Any], Any]
    pair: Callable[[Any, Any, Any], Moments]

    def mean(self, p: Any) -> Any:
        """E s(u)."""
        return self.average(p)

    def one(self, p: Any) -> Moments:
        """E s(u)^2 and E s'(u)^2."""
        return self.pair(p, p, p)

    def two(self, p: Any, q: Any, k: Any) -> Moments:
        """E s(u) s(v) and E s'(u) s'(v)."""
        return self.pair(p, q, k)


def _relu(p: Any, q: Any, k: Any) -> Moments:
    size = mpmath.sqrt(p * q)
    # Rounding of the root may leave a parallel pair beyond one.
    cosine = max(min(k / size, mpmath.mpf(1)), mpmath.mpf(-1))
    share = (mpmath.pi - mpmath.acos(cosine)) / (2 * mpmath.pi)
    sine = mpmath.sqrt((1 - cosine) * (1 + cosine))
    return size * (sine / (2 * mpmath.pi) + share * cosine), share


def _relu_squared(p: Any, q: Any, k: Any) -> Moments:
    size = mpmath.sqrt(p * q)
    cosine = max(min(k / size, mpmath.mpf(1)), mpmath.mpf(-1))
    angle = mpmath.pi - mpmath.acos(cosine)
    sine = mpmath.sqrt((1 - cosine) * (1 + cosine))
    value = 3 * sine * cosine + angle * (1 + 2 * cosine * cosine)
    turn = 2 * mpmath.pi
    return size * size * value / turn, 4 * size * (sine + angle * cosine) / turn


def _gaussian(p: Any, q: Any, k: Any) -> Moments:
    det = (1 + p) * (1 + q) - k * k
    return 1 / mpmath.sqrt(det), k / mpmath.sqrt(det) ** 3


def _erf(p: Any, q: Any, k: Any) -> Moments:
    size = (1 + 2 * p) * (1 + 2 * q)
    value = 2 / mpmath.pi * mpmath.asin(2 * k / mpmath.sqrt(size))
    return value, 4 / mpmath.pi / mpmath.sqrt(size - 4 * k * k)


def _sin(p: Any, q: Any, k: Any) -> Moments:
    decay = mpmath.exp(-(p + q) / 2)
    return decay * mpmath.sinh(k), decay * mpmath.cosh(k)


def _cos(p: Any, q: Any, k: Any) -> Moments:
    decay = mpmath.exp(-(p + q) / 2)
    return decay * mpmath.cosh(k), decay * mpmath.sinh(k)


def _waves(p: Any, q: Any, k: Any) -> Moments:
    """Return those of 2 sin + cos: products of one with the other have mean zero."""
    (sine, cosine), (even, odd) = _sin(p, q, k), _cos(p, q, k)
    return 4 * sine + even, 4 * cosine + odd


def _exp(p: Any, q: Any, k: Any) -> Moments:
    value = mpmath.exp((p + q) / 2 + k)
    return value, value


def _gelu(p: Any, q: Any, k: Any) -> Moments:
    """By E u F = p E F_u + k E F_v for F = Phi(u) v Phi(v), and its derivative in k."""
    det, turn = (1 + p) * (1 + q) - k * k, 2 * mpmath.pi
    root = mpmath.sqrt(det)
    both = mpmath.mpf(1) / 4 + mpmath.asin(k / mpmath.sqrt((1 + p) * (1 + q))) / turn
    top = p * q + k * k * (1 / (1 + q) - p / (1 + p))
    rise = k + 2 * k * (1 / (1 + q) - p / (1 + p)) + top * k / det
    return k * both + top / (turn * root), both + rise / (turn * root)


def _above(c: Any, *factors: list[Any]) -> Any:
    """Return E of a product of polynomials in Z over Z > c, from truncated moments."""
    powers = np.array([mpmath.mpf(1)], dtype=object)
    for factor in factors:
        powers = np.convolve(powers, np.array(factor, dtype=object))
    moments = [mpmath.ncdf(-c), mpmath.npdf(c)]
    for n in range(2, len(powers)):
        moments.append(c ** (n - 1) * moments[1] + (n - 1) * moments[n - 2])
    return mpmath.fdot(powers.tolist(), moments[: len(powers)])


def _ramp(r: Any) -> list[Any]:
    """Return the powers of z in (r z - 1/2)^2."""
    return [mpmath.mpf(1) / 4, -r, r * r]


def _bent(p: Any, q: Any, k: Any) -> Moments:
    """Return those of x + (x - 1/2)^2 above 1/2, x below, of rows of one direction."""
    assert abs(k * k - p * q) <= mpmath.mpf(2) ** -200 * p * q
    r, o = mpmath.sqrt(min(p, q)), mpmath.sqrt(max(p, q))
    far, near = 1 / (2 * r), 1 / (2 * o)
    value = r * o + _above(near, [0, r], _ramp(o)) + _above(far, [0, o], _ramp(r))
    slope = 1 + _above(near, [-1, 2 * o]) + _above(far, [-1, 2 * r])
    return (
        value + _above(far, _ramp(r), _ramp(o)),
        slope + _above(far, [-1, 2 * r], [-1, 2 * o]),
    )


def _bent_mean(p: Any) -> Any:
    r = mpmath.sqrt(p)
    return _above(1 / (2 * r), _ramp(r))


# --- pieces and a wave ------------------------------------------------------------------

_RAMP = integrals.Pieces(2, (0, 0), ("-0.5", "0.5"), (1, 1), orders=(1, 2))
"""(x + 1/2)_+ and (x - 1/2)_+^2 / 2."""


def _turned(c: Any, m: int, p: Any, b: Any) -> Any:
    """E (u - c)_+^m / m! e^(i b u), u ~ N(0, p), by moving the line of integration."""
    root = mpmath.sqrt(p)
    z = (c - 1j * b * p) / root
    density = mpmath.exp(-z * z / 2) / mpmath.sqrt(2 * mpmath.pi)
    above = mpmath.erfc(z / mpmath.sqrt(2)) / 2
    each = (above, density - z * above, ((1 + z * z) * above - z * density) / 2)
    return mpmath.exp(-b * b * p / 2) * root**m * each[m]


def _waving(p: Any, q: Any, k: Any) -> Moments:
    """Return those of sin x, (x + 1/2)_+ and (x - 1/2)_+^2 / 2 together."""
    half, size = mpmath.mpf(1) / 2, mpmath.exp(-(p + q) / 2)
    value, slope = Enclosed(_RAMP).two(p, q, k)
    value, slope = value + size * mpmath.sinh(k), slope + size * mpmath.cosh(k)
    for v, w in ((p, q), (q, p)):
        # Given u, of variance v, the other one has the mean b u.
        b = k / v
        left = mpmath.exp(-(w - k * b) / 2)
        first = _turned(-half, 1, v, b) + _turned(half, 2, v, b)
        value += left * mpmath.im(first)
        slope += left * mpmath.re(_turned(-half, 0, v, b) + _turned(half, 1, v, b))
    return value, slope


# --- pieces -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Enclosed:
    """A law of `verify.integrals.Pieces`."""

    piece: integrals.Pieces

    def _at(self, p: Any) -> integrals.Pieces:
        return replace(self.piece, variance=p)

    def mean(self, p: Any) -> Any:
        """E s(u)."""
        return self._at(p).coefficient(0)

    def one(self, p: Any) -> Moments:
        """E s(u)^2 and E s'(u)^2."""
        at = self._at(p)
        return at.dual(1), at.slope(1) / p

    def two(self, p: Any, q: Any, k: Any) -> Moments:
        """E s(u) s(v) and E s'(u) s'(v)."""
        root = mpmath.sqrt(p * q)
        one, two = self._at(p), self._at(q)
        return one.dual(k / root, two), one.slope(k / root, two) / root


# --- Price's theorem --------------------------------------------------------------------

_REACH = 9.0  # standard deviations: e^{-40} = 3e-18
_AGREE = 1e-14


@dataclass(frozen=True)
class Plane:
    """A law of an odd function whose derivative dies out on both sides.

    `step` is that of a trapezoid rule for the function's own width, `reach` where its
    derivative is below 1e-17.
    """

    value: Callable[[Array], Any]
    slope: Callable[[Array], Any]
    step: float
    reach: float

    def mean(self, p: Any) -> Any:
        """E s(u)."""
        return 0.0 * p

    def one(self, p: Any) -> Moments:
        """E s(u)^2 and E s'(u)^2."""
        root = math.sqrt(float(p))
        x, h = self._nodes(0.45 * root, _REACH * root, 0.0)
        density = np.exp(-((x / root) ** 2) / 2.0) * h
        density /= math.sqrt(2.0 * math.pi) * root
        squares = (self.value(x) ** 2, self.slope(x) ** 2)
        value, slope = (float(np.sum(density * f)) for f in squares)
        return value, slope

    def two(self, p: Any, q: Any, k: Any) -> Moments:
        """E s(u) s(v) and E s'(u) s'(v), for correlations up to 0.95."""
        p, q, k = float(p), float(q), float(k)
        first, again = (
            self._price(p, q, k, *nodes) for nodes in ((40, 0.0), (50, 0.5))
        )
        for one, two, x, y in zip(first, again, self.one(p), self.one(q), strict=True):
            if not abs(one - two) <= _AGREE * math.sqrt(x * y):
                raise ArithmeticError(f"pairs: {one} and {two} at {p}, {q}, {k}")
        return first

    def _nodes(self, most: float, reach: float, shift: float) -> tuple[Array, float]:
        h = min(self.step, most)
        count = math.ceil(reach / h)
        return h * (np.arange(-count, count + 1, dtype=np.float64) + shift), h

    def _price(self, p: float, q: float, k: float, count: int, shift: float) -> Moments:
        """int_0^k E s'(u) s'(v) dc with Cov(u, v) = c, and the integrand at k."""
        top = math.asin(k / math.sqrt(p * q))
        sides = []
        for root in (math.sqrt(p), math.sqrt(q)):
            # Given the other variable, this one has deviation root cos(top).
            most, reach = 0.45 * root * math.cos(top), min(self.reach, _REACH * root)
            x, h = self._nodes(most, reach, shift)
            sides.append((x / root, h * self.slope(x)))
        (x, f), (y, g) = sides
        squares, product = (x[:, None] ** 2 + y**2) / 2.0, x[:, None] * y

        def inner(angle: float) -> float:
            s, c = math.sin(angle), math.cos(angle)
            weights = np.exp((s * product - squares) / (c * c))
            return float(f @ weights @ g) / (2.0 * math.pi)

        # dc = sqrt(pq) cos t dt; the density has 1 / (sqrt(pq) cos t).
        nodes, weights = np.polynomial.legendre.leggauss(count)
        angles = top * (1.0 + nodes) / 2.0
        total = sum(w * inner(t) for t, w in zip(angles, weights, strict=True))
        return top * float(total) / 2.0, inner(top) / (math.sqrt(p * q) * math.cos(top))


def _tanh_slope(x: Array) -> Array:
    return 1.0 / np.cosh(np.minimum(np.abs(x), 300.0)) ** 2


# --- near unit length ---------------------------------------------------------------------


@dataclass(frozen=True)
class Near:
    """A law of a smooth function at variances within 1e-7 of one.

    With c_k = sqrt(k!) a_k, dc_k/dq = c_{k+2} / 2 at the length where a_k belongs to
    E s(sqrt(q) X) h_k(X) = q^{k/2} c_k / sqrt(k!).
    """

    name: str

    def _coefficients(self, p: Any) -> list[Any]:
        return _near(self.name, mpmath.nstr(p, 70))

    def mean(self, p: Any) -> Any:
        """E s(u)."""
        return integrals.mpf(self._coefficients(p)[0])

    def one(self, p: Any) -> Moments:
        """E s(u)^2 and E s'(u)^2."""
        return self.two(p, p, p)

    def two(self, p: Any, q: Any, k: Any) -> Moments:
        """E s(u) s(v) and E s'(u) s'(v)."""
        one, two = self._coefficients(p), self._coefficients(q)
        root = mpmath.sqrt(p * q)
        series = integrals.Series.of(one, two)
        return series.dual(k / root), series.slope(k / root) / root


@lru_cache(maxsize=1024)
def _near(name: str, variance: str) -> list[Any]:
    with flint.ctx.workprec(BITS):
        a, q = integrals.smooth_coefficients(name), flint.arb(variance)
        e = (q - 1) / 2
        if not abs(e) < flint.arb("1e-7"):
            raise ArithmeticError(f"pairs: the variance {variance} is not close to one")
        out, power = [], flint.arb(1)
        for k in range(len(a) - 8):
            term, total = flint.arb(1), a[k]
            for j in range(1, 4):
                # sqrt((k + 2j)! / k!) e^j / j!
                term *= e * flint.arb((k + 2 * j - 1) * (k + 2 * j)).sqrt() / j
                total += term * a[k + 2 * j]
            out.append((power * total).mid())
            power *= q.sqrt()
        return out


LAWS: dict[str, Law] = {
    "relu": Formula(lambda p: mpmath.sqrt(p / (2 * mpmath.pi)), _relu),
    "relu_squared": Formula(lambda p: p / 2, _relu_squared),
    "gaussian": Formula(lambda p: 1 / mpmath.sqrt(1 + p), _gaussian),
    "erf": Formula(lambda p: 0 * p, _erf),
    "sin": Formula(lambda p: 0 * p, _sin),
    "cos": Formula(lambda p: mpmath.exp(-p / 2), _cos),
    "2 sin + cos": Formula(lambda p: mpmath.exp(-p / 2), _waves),
    "bent at 1/2": Formula(_bent_mean, _bent),
    "exp": Formula(lambda p: mpmath.exp(p / 2), _exp),
    "gelu": Formula(lambda p: p / mpmath.sqrt(2 * mpmath.pi * (1 + p)), _gelu),
    "abs": Enclosed(integrals.PIECES["abs"]),
    "selu": Enclosed(integrals.PIECES["selu"]),
    "hard_tanh": Enclosed(integrals.PIECES["hard_tanh"]),
    "relu6": Enclosed(integrals.PIECES["relu6"]),
    "hard_swish": Enclosed(integrals.PIECES["hard_swish"]),
    # x / 2, and (x - 1/4)^2 above 1/4.
    "ramp at 1/4": Enclosed(integrals.Pieces(2, (0, "0.5"), ("0.25",), (2,))),
    "ramp, parabola and sine": Formula(lambda p: Enclosed(_RAMP).mean(p), _waving),
    # Poles at i pi/2: e^{-pi^2 / 0.16} = 2e-27; s' is 4 e^{-2|x|}.
    "tanh": Plane(np.tanh, _tanh_slope, step=0.16, reach=21.0),
}


NEAR: dict[str, Law] = {"tanh": Near("tanh")}
"""Laws for pairs of inputs within 1e-7 of unit length."""


@lru_cache(maxsize=64)
def _unit(law: Law) -> tuple[Any, Any]:
    """Mean and variance of s(X)."""
    with mpmath.workprec(BITS):
        m = law.mean(mpmath.mpf(1))
        return m, law.one(mpmath.mpf(1))[0] - m * m


@dataclass(frozen=True)
class Normalised:
    """The law of (s - E s(X)) / sd(s(X)), X ~ N(0, 1)."""

    law: Law

    def mean(self, p: Any) -> Any:
        """E s(u)."""
        m, variance = _unit(self.law)
        return (self.law.mean(p) - m) / mpmath.sqrt(variance)

    def one(self, p: Any) -> Moments:
        """E s(u)^2 and E s'(u)^2."""
        m, variance = _unit(self.law)
        value, slope = self.law.one(p)
        return (value - 2 * m * self.law.mean(p) + m * m) / variance, slope / variance

    def two(self, p: Any, q: Any, k: Any) -> Moments:
        """E s(u) s(v) and E s'(u) s'(v)."""
        m, variance = _unit(self.law)
        value, slope = self.law.two(p, q, k)
        means = self.law.mean(p) + self.law.mean(q)
        return (value - m * means + m * m) / variance, slope / variance


class State(NamedTuple):
    """Both kernels of a pair at some depth: of the first row, the second, and between."""

    k: tuple[Any, ...]
    t: tuple[Any, ...]

    @property
    def distance(self) -> Any:
        """One less the correlation."""
        with mpmath.workprec(BITS):
            p, q, k = self.k
            return 1 - k / mpmath.sqrt(p * q)


def start(x: list[float], y: list[float]) -> State:
    """Inner products of two rows of floats, exact."""
    with mpmath.workprec(BITS):
        x, y = ([mpmath.mpf(v) for v in row] for row in (x, y))
        k = mpmath.fdot(x, x), mpmath.fdot(y, y), mpmath.fdot(x, y)
    return State(k, k)


def affine(state: State, weight_var: Any, bias_var: Any) -> State:
    """What a linear layer makes of inner products: w K + b, of both kernels."""
    with mpmath.workprec(BITS):
        w, b = mpmath.mpf(weight_var), mpmath.mpf(bias_var)
        k = tuple(w * v + b for v in state.k)
    return State(k, k)


def recursion(
    law: Law,
    first: State,
    depth: int,
    *,
    weight_var: Any = 1,
    bias_var: Any = 0,
    skip: Any = 0,
    bits: int = BITS,
) -> list[State]:
    """States after 0..depth layers c x + W s(x) + b, by default of s(x) alone.

    With w and b the variances of weights and biases, N = w E s s + b:

        K' = N + c^2 K,    T' = N + T (w E s' s' + c^2).

    Rows of equal lengths share their diagonal.
    """
    with mpmath.workprec(bits):
        w, b, c2 = (
            mpmath.mpf(v) for v in (weight_var, bias_var, mpmath.mpf(skip) ** 2)
        )
        out = [first]
        for _ in range(depth):
            (p, q, k), t = out[-1]
            one = law.one(p)
            found = (one, one if q == p else law.one(q), law.two(p, q, k))
            new = [w * value + b for value, _ in found]
            slopes = [w * slope + c2 for _, slope in found]
            out.append(
                State(
                    tuple(n + c2 * v for n, v in zip(new, (p, q, k), strict=True)),
                    tuple(n + s * v for n, s, v in zip(new, slopes, t, strict=True)),
                )
            )
        return out


def correlations(law: Law, rho: Any, depth: int) -> list[Any]:
    """After 0..depth layers of the law normalised, to the digits mpmath is set to."""
    one, out = mpmath.mpf(1), [mpmath.mpf(rho)]
    square = law.mean(one) ** 2
    variance = law.one(one)[0] - square
    for _ in range(depth):
        out.append((law.two(one, one, out[-1])[0] - square) / variance)
    return out


def matrices(law: Law, x: Array, depth: int) -> tuple[Any, Any]:
    """Both kernels of all rows after `depth` layers, pair by pair."""
    count, inputs = len(x), x.tolist()
    k, t = mpmath.matrix(count), mpmath.matrix(count)
    for i in range(count):
        for j in range(i, count):
            end = recursion(law, start(inputs[i], inputs[j]), depth)[-1]
            k[i, j] = k[j, i] = end.k[2]
            t[i, j] = t[j, i] = end.t[2]
    return k, t


def rows(x: float, y: float, turn: float) -> list[list[float]]:
    """Return two inputs of lengths x and y at an angle; bits of one length if equal."""
    if x == y:
        c, s = (x * f(math.pi / 4 + turn / 2) for f in (math.cos, math.sin))
        return [[c, s], [s, c]]
    return [[x, 0.0], [y * math.cos(turn), y * math.sin(turn)]]


def entries(one: Any, two: Any, both: Any) -> list[Any]:
    """Both diagonal entries, and one more than the entry between over their mean.

    So a relative error of all three is one of the diagonal.
    """
    with mpmath.workprec(BITS):
        one, two, both = (mpmath.mpf(v) for v in (one, two, both))
        return [one, two, 1 + both / mpmath.sqrt(one * two)]


def entries_of(matrix: Any) -> list[Any]:
    """Return the `entries` of a float64 matrix of two rows, between them its mean."""
    one, two = float(matrix[0, 0]), float(matrix[1, 1])
    return entries(one, two, 0.5 * (float(matrix[0, 1]) + float(matrix[1, 0])))
