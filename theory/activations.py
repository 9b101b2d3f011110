"""Activations: Hermite coefficients, duals, and everything that follows from them."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks, duals, gaussian
from theory import hermite as _hermite

Array = npt.NDArray[np.float64]
SELU_SCALE = 1.0507009873554805
SELU_ALPHA = 1.6732632423543772


class Activation(ABC):
    name: str
    kinks: tuple[float, ...]
    is_normalized: bool

    @abstractmethod
    def _value(self, x: Array) -> Array: ...
    @abstractmethod
    def scaled(self, var: float) -> "Activation": ...
    @property
    @abstractmethod
    def derivative(self) -> "Activation": ...
    @abstractmethod
    def _coefficients(self, order: int) -> Array: ...

    def __call__(self, x: Any) -> Any:
        v = _checks.real(self.name, "x", x)
        return _checks.like(x, np.asarray(self._value(v)))

    def hermite(self, order: int, *, var: float = 1.0) -> Array:
        order = _checks.integer(f"{self.name}.hermite", "order", order, 0)
        return self._at(var, "hermite")._coefficients(order)

    def _at(self, var: float, who: str) -> "Activation":
        v = float(_checks.positive(f"{self.name}.{who}", "var", var))
        return self if v == 1.0 else self.scaled(v)

    @cached_property
    def mean(self) -> float:
        return 0.0 if self.is_normalized else float(self._coefficients(0)[0])

    @cached_property
    def second_moment(self) -> float:
        if self.is_normalized:
            return 1.0
        return gaussian.expectation(lambda x: self._value(x) ** 2, self.kinks)

    @cached_property
    def variance(self) -> float:
        if self.is_normalized:
            return 1.0
        m = self.mean
        return gaussian.expectation(lambda x: (self._value(x) - m) ** 2, self.kinks)

    @cached_property
    def derivative_second_moment(self) -> float:
        return self.derivative.second_moment

    def _rest_by_quadrature(self) -> float:
        """sum_{k>=2} a_k^2."""
        a = self._coefficients(1)
        m, b = float(a[0]), float(a[1])
        return gaussian.expectation(
            lambda x: (self._value(x) - m - b * x) ** 2, self.kinks
        )

    @cached_property
    def _rest(self) -> float:
        return self._rest_by_quadrature()

    @cached_property
    def mu(self) -> float:
        if not self.variance > 0.0:
            raise ValueError(f"{self.name}.mu: activation must not be constant.")
        return self._rest / self.variance

    @cached_property
    def nu(self) -> float:
        return self._rest / self.second_moment

    def normalized(self) -> "Activation":
        if self.is_normalized:
            return self
        if not self.variance > 0.0:
            raise ValueError(
                f"{self.name}.normalized: activation must not be constant."
            )
        scale = 1.0 / math.sqrt(self.variance)
        return Affine(self, scale, -self.mean * scale, is_normalized=True)

    def dual(self, rho: Any, *, var_x: float = 1.0, var_y: float = 1.0) -> Any:
        r = _checks.correlation(f"{self.name}.dual", rho)
        e = engine(self._at(var_x, "dual"), self._at(var_y, "dual"))
        return _checks.like(rho, np.asarray(e.dual(r)))

    def dual_derivative(
        self, rho: Any, *, var_x: float = 1.0, var_y: float = 1.0
    ) -> Any:
        r = _checks.correlation(f"{self.name}.dual_derivative", rho)
        e = engine(self._at(var_x, "dual"), self._at(var_y, "dual"))
        return _checks.like(rho, np.asarray(e.slope(r)))

    def distance_map(self, delta: Any) -> Any:
        d = _checks.interval(f"{self.name}.distance_map", "delta", delta, 0.0, 2.0)
        e = engine(self, self)
        return _checks.like(delta, np.asarray(e.distance(d) / self.second_moment))

    def length_map(self, q: Any) -> Any:
        v = _checks.positive(f"{self.name}.length_map", "q", q)
        out = np.array(
            [self._at(float(s), "length_map").second_moment for s in v.ravel()]
        )
        return _checks.like(q, out.reshape(v.shape))

    def length_map_derivative(self, q: Any) -> Any:
        v = _checks.positive(f"{self.name}.length_map_derivative", "q", q)
        # d/dq E s(sqrt(q) Z)^2 = E[s s'(sqrt q Z) Z]/sqrt q
        out = []
        for s in v.ravel():
            root = math.sqrt(s)
            ks = tuple(k / root for k in self.kinks)
            out.append(
                gaussian.expectation(
                    lambda x, root=root: (
                        self._value(root * x)
                        * self.derivative._value(root * x)
                        * x
                        / root
                    ),
                    ks,
                )
            )
        return _checks.like(q, np.array(out).reshape(v.shape))

    def fixed_point(self) -> float:
        """Smallest fixed point in [0, 1] of the dual of s / sqrt(E s^2)."""
        total = self.second_moment
        if self.mean == 0.0:
            return 0.0
        if self.derivative_second_moment <= total:
            return 1.0
        from scipy.optimize import brentq

        # in the distance: g(d) = distance(d) - d is positive near d = 0+
        def gap(d: float) -> float:
            return float(self.distance_map(d)) - d

        low = 1e-3
        while gap(low) <= 0.0:
            low /= 8.0
        return 1.0 - float(brentq(gap, low, 1.0, xtol=1e-16, rtol=1e-15))


@dataclass(frozen=True)
class PiecewisePolynomial(Activation):
    """poly(x) + sum_j J_j (x - c_j)_+^m / m!, degree(poly) <= m."""

    name: str
    m: int
    poly: tuple[float, ...]
    kinks: tuple[float, ...] = ()
    jumps: tuple[float, ...] = ()
    is_normalized: bool = False
    known: tuple[float, ...] = ()  # a_0.. a_m when better known than by the formula

    def _value(self, x: Array) -> Array:
        out = np.polynomial.polynomial.polyval(x, np.array(self.poly or (0.0,)))
        for c, j in zip(self.kinks, self.jumps, strict=True):
            up = (x > c) if self.m == 0 else np.maximum(x - c, 0.0) ** self.m
            out = out + j * up / math.factorial(self.m)
        return out

    def scaled(self, var: float) -> "PiecewisePolynomial":
        r = math.sqrt(var)
        return PiecewisePolynomial(
            f"{self.name}[var={var:g}]",
            self.m,
            tuple(p * r**i for i, p in enumerate(self.poly)),
            tuple(c / r for c in self.kinks),
            tuple(j * r**self.m for j in self.jumps),
        )

    @property
    def derivative(self) -> Activation:
        if self.m == 0:
            if self.jumps:
                return Undefined(f"{self.name}'")
            return PiecewisePolynomial(f"{self.name}'", 0, (0.0,))
        return PiecewisePolynomial(
            f"{self.name}'",
            self.m - 1,
            tuple(i * p for i, p in enumerate(self.poly))[1:],
            self.kinks,
            self.jumps,
        )

    def _low(self) -> Array:
        out = np.zeros(self.m + 1)
        for i, p in enumerate(self.poly):
            for k in range(i % 2, i + 1, 2):
                # x^i = sum_k i! / (2^((i-k)/2) ((i-k)/2)! sqrt k!) h_k ...
                half = (i - k) // 2
                out[k] += (
                    p
                    * math.factorial(i)
                    / (2.0**half * math.factorial(half) * math.sqrt(math.factorial(k)))
                )
        for c, j in zip(self.kinks, self.jumps, strict=True):
            for k in range(self.m + 1):
                n = self.m - k
                out[k] += (
                    j
                    * gaussian.tail_moment(n, c)
                    / math.factorial(n)
                    / math.sqrt(math.factorial(k))
                )
        if self.is_normalized:
            out[0] = 0.0
        if self.known:
            out[: len(self.known)] = self.known
        return out

    def _coefficients(self, order: int) -> Array:
        out = np.zeros(order + 1)
        low = self._low()
        n = min(order, self.m) + 1
        out[:n] = low[:n]
        if order > self.m:
            k = np.arange(self.m + 1, order + 1)
            fall = np.ones(len(k))
            for i in range(self.m + 1):
                fall *= k - i
            for c, j in zip(self.kinks, self.jumps, strict=True):
                h = _hermite._rows(
                    order - self.m - 1, np.array(c), np.array(float(gaussian.pdf(c)))
                )
                out[self.m + 1 :] += j * h / np.sqrt(fall)
        return out

    @cached_property
    def variance(self) -> float:
        if self.is_normalized:
            return 1.0
        return float(np.sum(self._low()[1:] ** 2)) + self._remainder

    @cached_property
    def second_moment(self) -> float:
        return 1.0 if self.is_normalized else self.variance + self.mean**2

    @cached_property
    def _remainder(self) -> float:
        """Energy above order m: Taylor's remainder of the dual at one."""
        e = engine(self, self)
        assert isinstance(e, duals.Truncated)
        return e.remainder()

    @cached_property
    def _rest(self) -> float:
        if not self.kinks:
            return float(self._low()[2] ** 2) if self.m >= 2 else 0.0
        if self.m >= 1 and all(j > 0 for j in self.jumps):
            return self._remainder + float(np.sum(self._low()[2:] ** 2))
        return self._rest_by_quadrature()


@dataclass(frozen=True)
class Undefined(Activation):
    """The derivative of a function with a jump: not square integrable."""

    name: str
    kinks: tuple[float, ...] = ()
    is_normalized: bool = False

    def _value(self, x: Array) -> Array:
        raise ValueError(f"{self.name}: a function with a jump has no derivative.")

    def scaled(self, var: float) -> "Undefined":
        return self

    @property
    def derivative(self) -> Activation:
        return self

    def _coefficients(self, order: int) -> Array:
        return self._value(np.zeros(1))

    @cached_property
    def second_moment(self) -> float:
        return math.inf


@dataclass(frozen=True)
class Formula:
    """A smooth function with its derivative and, for high orders, in mpmath."""

    name: str
    f: Callable[[Array], Array] = field(compare=False)
    df: Callable[[Array], Array] | None = field(default=None, compare=False)
    parity: int | None = None  # 0 even, 1 odd
    precise: Callable[[Any], Any] | None = field(default=None, compare=False)
    key: Any = None


@dataclass(frozen=True)
class Smooth(Activation):
    """An entire or meromorphic activation: its dual is its Hermite series."""

    formula: Formula
    var: float = 1.0
    order: int = 0
    is_normalized: bool = False

    @property
    def name(self) -> str:  # type: ignore[override]
        n = self.formula.name + "'" * self.order
        return n if self.var == 1.0 else f"{n}[var={self.var:g}]"

    @property
    def kinks(self) -> tuple[float, ...]:  # type: ignore[override]
        return ()

    def _value(self, x: Array) -> Array:
        r = math.sqrt(self.var)
        return self.formula.f(r * x)

    def scaled(self, var: float) -> "Smooth":
        return Smooth(self.formula, self.var * var, self.order)

    @property
    def derivative(self) -> Activation:
        f = self.formula
        if f.df is None:
            raise ValueError(f"{self.name}.derivative: not available.")
        r = math.sqrt(self.var)
        df = f.df
        p = None if f.parity is None else 1 - f.parity
        g = Formula(
            f"{self.name}'",
            (lambda x, r=r: r * df(r * x)),
            parity=p,
            key=(f, self.var),
        )
        return Smooth(g, 1.0, self.order)

    def _coefficients(self, order: int) -> Array:
        f = self.formula
        if f.precise is not None and order <= 256:
            out = _precise_coefficients(f, self.var, 256)[: order + 1].copy()
        else:
            out = _hermite.coefficients(self._value, order)
        if f.parity is not None:
            out[1 - f.parity :: 2] = 0.0
        return out

    @cached_property
    def _energies(self) -> Array | None:
        """a_k^2 to order 640, or nothing when that is not all of the energy."""
        a = self._coefficients(640)
        if self.formula.precise is not None:
            a[:257] = self._coefficients(256)
        k = np.arange(641.0)
        p = a * a
        if float(np.max(p[-40:])) * 641.0**2 > 1e-17 * float(k @ p):
            return None
        return p

    @cached_property
    def second_moment(self) -> float:
        if self._energies is None:
            return gaussian.expectation(lambda x: self._value(x) ** 2)
        return math.fsum(self._energies)

    @cached_property
    def variance(self) -> float:
        if self._energies is None:
            m = self.mean
            return gaussian.expectation(lambda x: (self._value(x) - m) ** 2)
        return math.fsum(self._energies[1:])

    @cached_property
    def _rest(self) -> float:
        if self._energies is None:
            return self._rest_by_quadrature()
        return math.fsum(self._energies[2:])

    @cached_property
    def derivative_second_moment(self) -> float:
        if self._energies is not None:
            return math.fsum(np.arange(641.0) * self._energies)
        if self.formula.df is not None:
            r = math.sqrt(self.var)
            df = self.formula.df
            return gaussian.expectation(lambda x: self.var * df(r * x) ** 2)
        a = self._coefficients(512)
        return float(np.sum(np.arange(513) * a * a))


@lru_cache(maxsize=256)
def _precise_coefficients(f: Formula, var: float, order: int) -> Array:
    import mpmath as mp

    assert f.precise is not None
    g = f.precise
    with mp.workdps(40):
        r = mp.sqrt(mp.mpf(var))
        return _hermite.coefficients_mp(lambda x: g(r * x), order)


@dataclass(frozen=True)
class Affine(Activation):
    """scale * base + shift."""

    base: Activation
    scale: float
    shift: float
    is_normalized: bool = False

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"normalized {self.base.name}" if self.is_normalized else self.base.name

    @property
    def kinks(self) -> tuple[float, ...]:  # type: ignore[override]
        return self.base.kinks

    def _value(self, x: Array) -> Array:
        return self.scale * self.base._value(x) + self.shift

    def scaled(self, var: float) -> "Affine":
        return Affine(self.base.scaled(var), self.scale, self.shift)

    @property
    def derivative(self) -> Activation:
        return Affine(self.base.derivative, self.scale, 0.0)

    def _coefficients(self, order: int) -> Array:
        out = self.scale * self.base._coefficients(order)
        out[0] = 0.0 if self.is_normalized else out[0] + self.shift
        return out

    @cached_property
    def _rest(self) -> float:
        return self.scale**2 * self.base._rest

    @cached_property
    def derivative_second_moment(self) -> float:
        return self.scale**2 * self.base.derivative_second_moment


@lru_cache(maxsize=512)
def engine(a: Activation, b: Activation) -> duals.Engine:
    """Return the covariance function of a(X) and b(Y)."""
    if isinstance(a, Affine) and isinstance(b, Affine):
        mean = 0.0 if a.is_normalized else a.mean * b.mean
        return duals.Rescaled(engine(a.base, b.base), a.scale * b.scale, mean)
    if isinstance(a, PiecewisePolynomial) and isinstance(b, PiecewisePolynomial):
        return _truncated(a, b)
    series = _series(a, b)
    if series is not None:
        return series
    return _quadrature(a, b)


def _truncated(a: PiecewisePolynomial, b: PiecewisePolynomial) -> duals.Truncated:
    m = max(a.m, b.m)
    if a.m != b.m:
        raise ValueError("engine: piecewise polynomials of different orders")
    low = tuple(
        float(x * y)
        for x, y in zip(a._coefficients(m), b._coefficients(m), strict=True)
    )
    kinks = (*a.kinks, *b.kinks)
    both = tuple(sorted({*kinks, *(-k for k in kinks)}))
    reach = max([20.0, *(abs(k) + 12.0 for k in kinks)])
    x, w = gaussian.panels(both, reach)
    weight = w * gaussian.pdf(x)
    one, minus = [], []
    f: Activation = a
    g: Activation = b
    for k in range(m + 1):
        fx = f._value(x)
        one.append(float(np.sum(weight * fx * g._value(x))))
        minus.append(float(np.sum(weight * fx * g._value(-x))))
        if k < m:
            f, g = f.derivative, g.derivative
    if a.is_normalized and a is b:
        one[0] = 1.0
    pairs = tuple(
        (ja * jb, ca, cb)
        for ca, ja in zip(a.kinks, a.jumps, strict=True)
        for cb, jb in zip(b.kinks, b.jumps, strict=True)
    )
    return duals.Truncated(m, pairs, low, tuple(one), tuple(minus), one[0] - low[0])


def _long_coefficients(a: Activation, order: int) -> Array:
    out = a._coefficients(order)
    if isinstance(a, Smooth) and a.formula.precise is not None:
        out[:257] = a._coefficients(256)
    return out


def _series(a: Activation, b: Activation) -> duals.Series | None:
    order = 640
    if a.kinks or b.kinks:
        return None
    x = _long_coefficients(a, order)
    y = x if a is b or a == b else _long_coefficients(b, order)
    p = x * y
    # Geometric tails: the last entries bound what is missing, relative to the slope.
    k = np.arange(order + 1)
    scale = float(np.sum(k * np.abs(p)))
    noise = 1e-17 * math.sqrt(a.second_moment * b.second_moment) * scale**0.5
    if scale == 0.0:
        return duals.Series((float(p[0]), 0.0))
    tail = np.abs(x[-40:]) + np.abs(y[-40:])
    if float(tail.max()) ** 2 * order**2 > 1e-17 * scale:
        return None
    last = int(np.max(np.nonzero(k * np.abs(p) > 1e-19 * scale)[0], initial=1))
    del noise
    return duals.Series(tuple(float(v) for v in p[: last + 1]))


def _quadrature(a: Activation, b: Activation) -> duals.Engine:
    da, db = a.derivative, b.derivative
    ka = tuple(sorted({0.0, *a.kinks}))
    kb = tuple(sorted({0.0, *b.kinks}))
    if set(ka) == {0.0} and set(kb) == {0.0}:
        pair = duals.polar_expectation
    else:
        pair = duals.strip_expectation(ka, kb)
    at_one = gaussian.expectation(lambda x: a._value(x) * b._value(x), (*ka, *kb))
    at_minus = gaussian.expectation(
        lambda x: a._value(x) * b._value(-x), (*ka, *kb, *(-k for k in (*ka, *kb)))
    )
    ends = (
        gaussian.expectation(lambda x: da._value(x) * db._value(x), (*ka, *kb)),
        gaussian.expectation(
            lambda x: da._value(x) * db._value(-x),
            (*ka, *kb, *(-k for k in (*ka, *kb))),
        ),
    )
    return duals.Tabulated.build(
        lambda t: pair(da._value, db._value, t), at_one, at_minus, a.mean * b.mean, ends
    )


# --- NormReLU ---------------------------------------------------------------------


@dataclass(frozen=True)
class NormReLUConstants:
    scale: float
    shift: float
    mu: float
    slope: float


def normrelu_constants(c: float) -> NormReLUConstants:
    c = float(_checks.interval("normrelu_constants", "c", c, -37.0, 37.0))
    if c > 0.0:
        p = float(gaussian.pdf(c))
        t0, t1, t2 = (gaussian.scaled_tail_moment(k, c) for k in range(3))
        v = t2 / p - t1 * t1
        scale = 1.0 / (p * math.sqrt(v))
        return NormReLUConstants(
            scale, -p * t1, (t2 / p - t1 * t1 - t0 * t0) / v, t0 / (p * v)
        )
    g0, g1, g2 = (gaussian.tail_moment(k, -c) for k in range(3))  # mirrored tails
    v = 1.0 - 2.0 * g0 + g2 - g1 * g1
    rest = g2 - g1 * g1 - g0 * g0
    return NormReLUConstants(1.0 / math.sqrt(v), c - g1, rest / v, (1.0 - g0) / v)


def normrelu(c: float | None = None, *, scale: float | None = None) -> Activation:
    if c is not None and scale is not None:
        raise ValueError("normrelu: give either `c` or `scale`, got both.")
    if c is None:
        target = (
            SELU_SCALE
            if scale is None
            else float(_checks.positive("normrelu", "scale", scale))
        )
        if target <= 1.0:
            raise ValueError(f"normrelu: `scale` must be greater than 1, got {scale}.")
        c = _kink_of_scale(target)
    k = normrelu_constants(c)
    return PiecewisePolynomial(
        f"normrelu({c:.6g})",
        1,
        (k.scale * k.shift, 0.0),
        (float(c),),
        (k.scale,),
        is_normalized=True,
        known=(0.0, k.scale * gaussian.tail_moment(0, c)),
    )


@lru_cache(maxsize=64)
def _kink_of_scale(scale: float) -> float:
    import mpmath as mp
    from scipy.optimize import brentq

    start = brentq(lambda c: normrelu_constants(c).scale - scale, -37, 37, xtol=1e-12)
    # In float64 the scale's rounding moves the root by 25 ulp. Two Newton steps on
    # 1/scale^2, whose terms cancel to e^{-c^2/2}, settle the last digit, for the scale
    # read as the decimal it is written as.
    with mp.workdps(40 + int(start * start)):
        c, target = mp.mpf(start), mp.mpf(repr(scale)) ** -2
        for _ in range(2):
            tail, density = mp.ncdf(-c), mp.npdf(c)
            shift = c * tail - density
            variance = (1 + c * c) * tail - c * density - shift * shift
            c -= (variance - target) / (2 * shift * mp.ncdf(c))
        return float(c)


# --- catalogue --------------------------------------------------------------------

_PP = PiecewisePolynomial
identity = _PP("identity", 1, (0.0, 1.0))
relu = _PP("relu", 1, (0.0,), (0.0,), (1.0,))
absolute = abs_ = _PP("abs", 1, (0.0, -1.0), (0.0,), (2.0,))
step = _PP("step", 0, (0.0,), (0.0,), (1.0,))
sign = _PP("sign", 0, (-1.0,), (0.0,), (2.0,))
hard_tanh = _PP("hard_tanh", 1, (-1.0,), (-1.0, 1.0), (1.0, -1.0))
relu_squared = _PP("relu_squared", 2, (0.0,), (0.0,), (2.0,))


def leaky_relu(slope: float) -> Activation:
    s = float(_checks.real("leaky_relu", "slope", slope))
    return _PP(f"leaky_relu({s:g})", 1, (0.0, s), (0.0,), (1.0 - s,))


def _expit(x: Array) -> Array:
    from scipy.special import expit

    return expit(x)


def _mpf(name: str) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        import mpmath as mp

        return {
            "erf": mp.erf,
            "tanh": mp.tanh,
            "sigmoid": lambda v: 1 / (1 + mp.exp(-v)),
            "gelu": lambda v: v * mp.ncdf(v),
            "silu": lambda v: v / (1 + mp.exp(-v)),
            "softplus": lambda v: mp.log1p(mp.exp(v)),
            "exp": mp.exp,
            "sin": mp.sin,
            "cos": mp.cos,
            "arctan": mp.atan,
            "asinh": mp.asinh,
            "gaussian": lambda v: mp.exp(-v * v / 2),
            "mish": lambda v: v * mp.tanh(mp.log1p(mp.exp(v))),
        }[name](x)

    return f


def _smooth(
    name: str,
    f: Callable[[Array], Array],
    df: Callable[[Array], Array],
    parity: int | None = None,
) -> Smooth:
    return Smooth(Formula(name, f, df, parity, _mpf(name), key=name))


def _special(name: str) -> Callable[[Array], Array]:
    def f(x: Array) -> Array:
        import scipy.special as sp

        return getattr(sp, name)(x)

    return f


def _softplus(x: Array) -> Array:
    return np.logaddexp(0.0, x)


def _mish_slope(x: Array) -> Array:
    th = np.tanh(_softplus(x))
    return th + x * (1.0 - th * th) * _expit(x)


erf = _smooth(
    "erf", _special("erf"), lambda x: 2.0 / math.sqrt(math.pi) * np.exp(-x * x), 1
)
tanh = _smooth("tanh", np.tanh, lambda x: 1.0 / np.cosh(x) ** 2, 1)
sigmoid = _smooth("sigmoid", _expit, lambda x: _expit(x) * _expit(-x))
gelu = _smooth(
    "gelu",
    lambda x: x * gaussian.cdf(x),
    lambda x: gaussian.cdf(x) + x * gaussian.pdf(x),
)
silu = _smooth(
    "silu",
    lambda x: x * _expit(x),
    lambda x: _expit(x) * (1.0 + x * _expit(-x)),
)
softplus = _smooth("softplus", _softplus, _expit)
exp = _smooth("exp", np.exp, np.exp)
sin = _smooth("sin", np.sin, np.cos, 1)
cos = _smooth("cos", np.cos, lambda x: -np.sin(x), 0)
arctan = _smooth("arctan", np.arctan, lambda x: 1.0 / (1.0 + x * x), 1)
asinh = _smooth("asinh", np.arcsinh, lambda x: 1.0 / np.sqrt(1.0 + x * x), 1)
gaussian_bump = _smooth(
    "gaussian", lambda x: np.exp(-0.5 * x * x), lambda x: -x * np.exp(-0.5 * x * x), 0
)
mish = _smooth("mish", lambda x: x * np.tanh(_softplus(x)), _mish_slope)


@dataclass(frozen=True)
class FromFunction(Activation):
    """A callable of the caller's."""

    name: str
    f: Callable[[Array], Array]
    df: Callable[[Array], Array] | None
    kinks: tuple[float, ...] = ()
    var: float = 1.0
    is_normalized: bool = False

    def _value(self, x: Array) -> Array:
        return np.asarray(self.f(math.sqrt(self.var) * x), dtype=np.float64)

    def scaled(self, var: float) -> "FromFunction":
        r = math.sqrt(var)
        return FromFunction(
            self.name, self.f, self.df, tuple(k / r for k in self.kinks), self.var * var
        )

    @property
    def derivative(self) -> Activation:
        r = math.sqrt(self.var)
        if self.df is None:
            raise ValueError(f"{self.name}.derivative: give `derivative`.")
        df = self.df
        return FromFunction(f"{self.name}'", _Composed(df, r), None, self.kinks, 1.0)

    def _coefficients(self, order: int) -> Array:
        return _hermite.coefficients(self._value, order, self.kinks)


@dataclass(frozen=True)
class _Composed:
    f: Callable[[Array], Array]
    r: float

    def __call__(self, x: Array) -> Array:
        return self.r * self.f(self.r * x)


def _elu_value(alpha: float, scale: float) -> Callable[[Array], Array]:
    return lambda x: scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0.0)))


def _elu_slope(alpha: float, scale: float) -> Callable[[Array], Array]:
    return lambda x: scale * np.where(x > 0, 1.0, alpha * np.exp(np.minimum(x, 0.0)))


@lru_cache(maxsize=64)
def elu(alpha: float = 1.0) -> Activation:
    return FromFunction(
        f"elu({alpha:g})", _elu_value(alpha, 1.0), _elu_slope(alpha, 1.0), (0.0,)
    )


selu = FromFunction(
    "selu",
    _elu_value(SELU_ALPHA, SELU_SCALE),
    _elu_slope(SELU_ALPHA, SELU_SCALE),
    (0.0,),
)
softsign = FromFunction(
    "softsign",
    lambda x: x / (1.0 + np.abs(x)),
    lambda x: (1.0 + np.abs(x)) ** -2.0,
    (0.0,),
)


@dataclass(frozen=True)
class HermiteMixture(Activation):
    """sum_k a_k h_k with finitely many terms."""

    a: tuple[float, ...]
    name: str = "hermite mixture"
    kinks: tuple[float, ...] = ()
    is_normalized: bool = False

    def _value(self, x: Array) -> Array:
        rows = _hermite._rows(len(self.a) - 1, np.asarray(x), np.ones_like(x))
        return np.tensordot(np.array(self.a), rows, 1)

    def scaled(self, var: float) -> "HermiteMixture":
        r = math.sqrt(var)
        a = _hermite.coefficients(lambda x: self._value(r * x), len(self.a) - 1)
        return HermiteMixture(tuple(float(v) for v in a), f"{self.name}[var={var:g}]")

    @property
    def derivative(self) -> Activation:
        b = [math.sqrt(k) * v for k, v in enumerate(self.a)][1:] or [0.0]
        return HermiteMixture(tuple(b), f"{self.name}'")

    def _coefficients(self, order: int) -> Array:
        out = np.zeros(order + 1)
        n = min(order + 1, len(self.a))
        out[:n] = self.a[:n]
        return out

    @cached_property
    def second_moment(self) -> float:
        return float(np.sum(np.square(self.a)))

    @cached_property
    def variance(self) -> float:
        return float(np.sum(np.square(self.a[1:])))

    @cached_property
    def _rest(self) -> float:
        return float(np.sum(np.square(self.a[2:])))


def hermite(k: int) -> Activation:
    k = _checks.integer("hermite", "k", k, 0)
    return HermiteMixture((*([0.0] * k), 1.0), f"hermite({k})", is_normalized=k > 0)
