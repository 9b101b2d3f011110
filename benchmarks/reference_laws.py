r"""E s(u)s(v) and E s'(u)s'(v) of two Gaussians with any variances, to many digits.

A `Law` is built for a function s; p, q are the variances of u and v, k their covariance,
all of them python-flint balls of which the midpoints are used. Four ways, none of them
that of `theory`:

- *formulas* where the expectation is elementary: erf, gelu, sin, cos, exp, gaussian,
  sin(x) + x^2;
- *half-lines*: s is a sum of p(x) e^{lx} 1{x > c}. Tilting removes the exponential,
  Stein's lemma lowers the powers, and what is left is P(u > a, v > b) by Owen's function
  T(h, a) with |a| <= 1, whose smooth integral takes Gauss-Legendre nodes: all digits
  next to rho = 1 as well;
- *smooth* functions by the trapezoid rule in t, u = sinh t, which crowds nodes where s
  turns: over (u, v), or, where v is nearly a function of u, over (u, v given u);
- *softsign* in polar coordinates, cut along the rays u = 0 and v = 0, with nodes that
  crowd at both.

`digits` is what a rule is asked for; generating with more nodes and precision checks it.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import flint
from flint import arb, arb_poly

Ball = Any
Both = tuple[Ball, Ball | None]
REACH = 1.12
"""Gaussian tails are cut where they are e^{-REACH^2 * digits * log 10}."""


class Law:
    """A function s through its Gaussian expectations."""

    def mean(self, p: Ball) -> Ball:
        raise NotImplementedError

    def one(self, p: Ball) -> Both:
        """E s(u)^2 and E s'(u)^2; None for a derivative that is not square integrable."""
        raise NotImplementedError

    def two(self, p: Ball, q: Ball, k: Ball) -> Both:
        """E s(u)s(v) and E s'(u)s'(v)."""
        raise NotImplementedError


def kept(two: Callable[..., Both]) -> Callable[..., Both]:
    """Keep the costly expectations: the first layer's serve every form of a law."""

    def look_up(self: Law, p: Ball, q: Ball, k: Ball) -> Both:
        found = self.__dict__.setdefault("found", {})
        key = (p.str(40), q.str(40), k.str(70))
        if key not in found:
            found[key] = two(self, p, q, k)
        return found[key]

    return look_up


class Affine(Law):
    """scale * s + shift."""

    def __init__(self, base: Law, scale: Ball, shift: Ball) -> None:
        self.base, self.scale, self.shift = base, scale, shift

    def _affine(self, both: Both, p: Ball, q: Ball) -> Both:
        rest = self.shift * (self.scale * (self.base.mean(p) + self.base.mean(q)))
        value = self.scale**2 * both[0] + rest + self.shift**2
        return value, None if both[1] is None else self.scale**2 * both[1]

    def one(self, p: Ball) -> Both:
        return self._affine(self.base.one(p), p, p)

    def two(self, p: Ball, q: Ball, k: Ball) -> Both:
        return self._affine(self.base.two(p, q, k), p, q)


def normalized(law: Law) -> Law:
    """(s - E s) / sd(s) at unit variance."""
    mean = law.mean(arb(1))
    scale = 1 / (law.one(arb(1))[0] - mean**2).sqrt()
    return Affine(law, scale, -mean * scale)


# --- formulas -------------------------------------------------------------------------


class Formula(Law):
    def __init__(
        self, mean: Callable[[Ball], Ball], two: Callable[[Ball, Ball, Ball], Both]
    ) -> None:
        self._mean, self._two = mean, two

    def mean(self, p: Ball) -> Ball:
        return self._mean(p)

    def one(self, p: Ball) -> Both:
        return self._two(p, p, p)

    def two(self, p: Ball, q: Ball, k: Ball) -> Both:
        return self._two(p, q, k)


def _erf(p: Ball, q: Ball, k: Ball) -> Both:
    norm = (1 + 2 * p) * (1 + 2 * q)
    # asin by atan: exact next to one.
    rest = (norm - 4 * k * k).sqrt()
    return 2 / arb.pi() * (2 * k / rest).atan(), 4 / arb.pi() / rest


def _gelu(p: Ball, q: Ball, k: Ball) -> Both:
    # By Stein's lemma from E Phi(u)Phi(v) = 1/4 + asin(..)/(2 pi), g = E phi(u)phi(v).
    det = (1 + p) * (1 + q) - k * k
    both = arb(1) / 4 + (k / det.sqrt()).atan() / (2 * arb.pi())
    g = 1 / (2 * arb.pi() * det.sqrt())
    value = k * both + p * g * (q * (1 + p) - k * k) / (1 + p) + k * k * g / (1 + q)
    return value, both + k * g * (1 / (1 + p) + 1 / (1 + q) + 1 / det)


def _gaussian(p: Ball, q: Ball, k: Ball) -> Both:
    det = (1 + p) * (1 + q) - k * k
    return 1 / det.sqrt(), k / (det * det.sqrt())


def _sine(p: Ball, q: Ball, k: Ball) -> Both:
    size = (-(p + q) / 2).exp()
    return size * k.sinh(), size * k.cosh()


def _sine_square(p: Ball, q: Ball, k: Ball) -> Both:
    value, slope = _sine(p, q, k)
    return value + p * q + 2 * k * k, slope + 4 * k


def _exp(p: Ball, q: Ball, k: Ball) -> Both:
    value = ((p + q) / 2 + k).exp()
    return value, value


def _zero(p: Ball) -> Ball:
    return 0 * p


FORMULAS: dict[str, Callable[[], Law]] = {
    "erf": lambda: Formula(_zero, _erf),
    "gelu": lambda: Formula(lambda p: p / (2 * arb.pi() * (1 + p)).sqrt(), _gelu),
    "gaussian": lambda: Formula(lambda p: 1 / (1 + p).sqrt(), _gaussian),
    "sin": lambda: Formula(_zero, _sine),
    "cos": lambda: Formula(
        lambda p: (-p / 2).exp(), lambda p, q, k: _sine(p, q, k)[::-1]
    ),
    "exp": lambda: Formula(lambda p: (p / 2).exp(), _exp),
    "sin(x) + x^2": lambda: Formula(lambda p: p, _sine_square),
}


# --- half-lines -----------------------------------------------------------------------


def _pdf(x: Ball) -> Ball:
    return (-x * x / 2).exp() / (2 * arb.pi()).sqrt()


def _upper(x: Ball) -> Ball:
    """P(Z > x)."""
    return (x / arb(2).sqrt()).erfc() / 2


@lru_cache(maxsize=8)
def _legendre(n: int, bits: int) -> list[tuple[Ball, Ball]]:
    """Nodes and weights on [0, 1]."""
    del bits  # of the context: a key
    rows = [arb.legendre_p_root(n, i, weight=True) for i in range(n)]
    return [(((1 + x) / 2).mid(), (w / 2).mid()) for x, w in rows]


NODES = [64]
"""Nodes of Owen's integral: its pole at i leaves 4.6^(-2 n), 1e-84."""


def _owen(h: Ball, a: Ball) -> Ball:
    """T(h, a) = int_0^a e^{-h^2 (1 + x^2) / 2} / (1 + x^2) dx / (2 pi)."""
    h = abs(h)
    if a < 0:
        return -_owen(h, -a)
    if a > 1:
        one, two = _upper(h), _upper(a * h)
        return (one + two) / 2 - one * two - _owen(a * h, 1 / a)
    total, square, size = arb(0), a * a, -h * h / 2
    for x, w in _legendre(NODES[0], flint.ctx.prec):
        t = 1 + square * x * x
        total += w * (size * t).exp() / t
    return a * total / (2 * arb.pi())


SAME = arb("1e-80")


def _orthant(a: Ball, b: Ball, p: Ball, q: Ball, k: Ball) -> Ball:
    """P(u > a, v > b)."""
    root = (p * q - k * k).sqrt()
    h, l = -a / p.sqrt(), -b / q.sqrt()
    if h == 0 and l == 0:
        # Exactly parallel vectors stay so under homogeneous functions.
        if p * q - k * k < SAME * p * q:
            return arb(0.5) if k > 0 else arb(0)
        return arb(1) / 4 + (k / root).atan() / (2 * arb.pi())
    rho, spread = k / (p * q).sqrt(), root / (p * q).sqrt()

    def part(x: Ball, y: Ball) -> Ball:
        if x == 0:
            return (arb(1) if y > 0 else arb(-1)) / 4
        return _owen(x, (y - rho * x) / (x * spread))

    less = h * l < 0 or (h * l == 0 and h + l < 0)
    return (
        (_upper(-h) + _upper(-l)) / 2 - part(h, l) - part(l, h) - (0.5 if less else 0)
    )


def _powers(m: Ball, var: Ball, b: Ball | None, n: int) -> list[Ball]:
    """E v^j 1{v > b} for v ~ N(m, var), j = 0..n."""
    sd = var.sqrt()
    edge = arb(0) if b is None else _pdf((b - m) / sd) / sd
    out = [arb(1) if b is None else _upper((b - m) / sd)]
    for j in range(n):
        low = j * out[j - 1] if j else arb(0)
        out.append(m * out[j] + var * (low + (0 if b is None else b**j) * edge))
    return out


def _moments(
    a: Ball | None, b: Ball | None, p: Ball, q: Ball, k: Ball, n: int
) -> list[list[Ball]]:
    """E u^i v^j 1{u > a} 1{v > b}, i, j = 0..n, by Stein's lemma in u."""
    at_a, at_b = [arb(0)] * (n + 1), [arb(0)] * (n + 1)
    if a is not None:
        size = _pdf(a / p.sqrt()) / p.sqrt()
        at_a = [size * m for m in _powers(k * a / p, q - k * k / p, b, n)]
    if b is not None:
        size = _pdf(b / q.sqrt()) / q.sqrt()
        at_b = [size * m for m in _powers(k * b / q, p - k * k / q, a, n)]
    if a is not None and b is not None:
        first = _orthant(a, b, p, q, k)
    elif a is not None:
        first = _upper(a / p.sqrt())
    else:
        first = arb(1) if b is None else _upper(b / q.sqrt())
    out = [[arb(0)] * (n + 1) for _ in range(n + 1)]
    out[0][0] = first
    for j in range(n):  # the row i = 0 by Stein's lemma in v
        low = j * out[0][j - 1] if j else arb(0)
        edge = 0 if b is None else b**j * at_b[0]
        out[0][j + 1] = q * (low + edge) + k * at_a[j]
    for i in range(n):
        for j in range(n + 1):
            value = p * (0 if a is None else a**i) * at_a[j]
            value += k * (0 if b is None else b**j) * at_b[i]
            value += p * i * out[i - 1][j] if i else 0
            value += k * j * out[i][j - 1] if j else 0
            out[i + 1][j] = value
    return out


Term = tuple[Any, int, Ball | None]  # polynomial, l of e^{lx}, c of 1{x > c}


class HalfLines(Law):
    """A sum of p(x) e^{lx} 1{x > c}; `slope` are the terms of the derivative."""

    def __init__(self, value: list[Term], slope: list[Term] | None) -> None:
        self.terms = value, slope

    def mean(self, p: Ball) -> Ball:
        return sum(
            (_single(t, (arb_poly([1]), 0, None), p) for t in self.terms[0]), arb(0)
        )

    def one(self, p: Ball) -> Both:
        return self._each(lambda s, t: _single(s, t, p))

    def two(self, p: Ball, q: Ball, k: Ball) -> Both:
        return self._each(lambda s, t: _double(s, t, p, q, k))

    def _each(self, f: Callable[[Term, Term], Ball]) -> Both:
        value, slope = (
            None
            if terms is None
            else sum((f(s, t) for s in terms for t in terms), arb(0))
            for terms in self.terms
        )
        return value, slope


def _single(s: Term, t: Term, p: Ball) -> Ball:
    rate = s[1] + t[1]
    cuts = [c for c in (s[2], t[2]) if c is not None]
    cut = (
        None
        if not cuts
        else cuts[0]
        if len(cuts) == 1 or cuts[0] > cuts[1]
        else cuts[1]
    )
    product = s[0] * t[0]
    moments = _powers(rate * p, p, cut, max(product.degree(), 0))
    total = sum((c * m for c, m in zip(product, moments, strict=False)), arb(0))
    return (rate * rate * p / 2).exp() * total


def _double(s: Term, t: Term, p: Ball, q: Ball, k: Ball) -> Ball:
    (f, l, a), (g, m, b) = s, t
    x, y = l * p + m * k, l * k + m * q
    f, g = f(arb_poly([x, 1])), g(arb_poly([y, 1]))
    n = max(f.degree(), g.degree(), 0)
    table = _moments(
        None if a is None else a - x, None if b is None else b - y, p, q, k, n
    )
    total = sum(
        (c * d * table[i][j] for i, c in enumerate(f) for j, d in enumerate(g)), arb(0)
    )
    return ((l * l * p + 2 * l * m * k + m * m * q) / 2).exp() * total


def pieces(*terms: tuple[list[Any], Any], jumps: bool = False) -> Law:
    """The sum of polynomials from cuts on; without `jumps` it is continuous."""
    value: list[Term] = [(arb_poly(f), 0, c if c is None else arb(c)) for f, c in terms]
    slope = None if jumps else [(f.derivative(), l, c) for f, l, c in value]
    return HalfLines(value, slope)


class ExponentialUnit(Law):
    """scale (x_+ + alpha (e^x - 1) 1{x < 0}).

    Tilting multiplies by e^{2 p}: beyond LARGE the outer integral is taken in log |u|.
    """

    LARGE = 40

    def __init__(self, alpha: float, scale: float, digits: int) -> None:
        self.alpha, self.scale, self.digits = arb(alpha), arb(scale), digits
        # Of -x, which has the same law: the exponential decays on its half-line.
        a, zero = self.alpha, arb(0)
        value = [(arb_poly([0, -1]), 0, None), (arb_poly([-a, 1]), 0, zero)]
        slope = [(arb_poly([-1]), 0, None), (arb_poly([1]), 0, zero)]
        value.append((arb_poly([a]), -1, zero))
        slope.append((arb_poly([-a]), -1, zero))
        self.lines = Affine(HalfLines(value, slope), self.scale, arb(0))

    def mean(self, p: Ball) -> Ball:
        return self.scale * self.lines.base.mean(p)

    def one(self, p: Ball) -> Both:
        return self.lines.one(p)

    @kept
    def two(self, p: Ball, q: Ball, k: Ball) -> Both:
        if p < self.LARGE and q < self.LARGE:
            return self.lines.two(p, q, k)
        ramp = pieces(([0, 1], 0)).two(p, q, k)
        one, two = self._outer(p, q, k), self._outer(q, p, k)
        a = self.alpha
        value = ramp[0] + a * (one[0] + two[0]) + a * a * one[2]
        slope = ramp[1] + a * (one[1] + two[1]) + a * a * one[3]
        return self.scale**2 * value, self.scale**2 * slope

    def _outer(self, p: Ball, q: Ball, k: Ball) -> list[Ball]:
        var = (q - k * k / p).mid()  # may be 1e-100 of q
        with flint.ctx.workprec(int(self.digits * 3.33) + 40):
            return self._sums(p, k, var, -math.log10(max(float(var / q), 1e-60)))

    def _sums(self, p: Ball, k: Ball, var: Ball, loss: float) -> list[Ball]:
        """E f(u) g(v) for (e^u - 1, v_+), (e^u, 1{v > 0}) and both with themselves."""
        need = min(self.digits, 0.58 * self.digits + loss) * math.log(10)
        step = arb(2 * math.pi * math.pi / 4 / need)
        # (e^u - 1) du is e^{2 t} dt; slopes, with e^t, need half of the digits.
        low, high = -need / 2 - 2, math.log(REACH * math.sqrt(2 * need)) + _log(p) / 2
        sd, out = var.sqrt(), [arb(0)] * 4
        for n in range(int(low / float(step)), int(high / float(step)) + 1):
            u = -(n * step).exp()
            weight = -u * step * _pdf(u / p.sqrt()) / p.sqrt()
            m = k * u / p
            above = _upper(-m / sd)
            tilted = (m + var / 2).exp() * _upper((m + var) / sd)
            e = u.exp()
            inner = (m * above + sd * _pdf(m / sd), above, tilted - 1 + above, tilted)
            outer = (e - 1, e)
            for i in range(4):
                out[i] += weight * outer[i % 2] * inner[i]
        return out


def _log(x: Ball) -> float:
    return float(x.log())


FLOAT_SELU = (1.6732632423543772, 1.0507009873554805)  # alpha, scale as floats


def half_lines(digits: int) -> dict[str, Callable[[], Law]]:
    """Laws of sums over half-lines, and of exponential units."""

    def hermite(n: int) -> Law:
        f = [[-1, 0, 1], [0, -3, 0, 1], [3, 0, -6, 0, 1]][n - 2]
        return pieces(([c / arb(math.factorial(n)).sqrt() for c in f], None))

    def leaky() -> Law:
        slope = arb(0.01)
        return pieces(([0, slope], None), ([0, 1 - slope], 0))

    def hard_swish() -> Law:
        f, six = [0, arb(1) / 2, arb(1) / 6], arb(6)
        return pieces((f, -3), ([0, arb(1) / 2, -1 / six], 3))

    return {
        "identity": lambda: pieces(([0, 1], None)),
        "relu": lambda: pieces(([0, 1], 0)),
        "abs": lambda: pieces(([0, -1], None), ([0, 2], 0)),
        "step": lambda: pieces(([1], 0), jumps=True),
        "sign": lambda: pieces(([-1], None), ([2], 0), jumps=True),
        "hard_tanh": lambda: pieces(([-1], None), ([1, 1], -1), ([1, -1], 1)),
        "relu_squared": lambda: pieces(([0, 0, 1], 0)),
        "leaky_relu(0.01)": leaky,
        "normrelu": lambda: pieces(([-arb(KINK), 1], KINK)),
        **{f"hermite({n})": lambda n=n: hermite(n) for n in (2, 3, 4)},
        "elu": lambda: ExponentialUnit(1.0, 1.0, digits),
        "selu": lambda: ExponentialUnit(*FLOAT_SELU, digits),
        "hard-swish": hard_swish,
    }


KINK = -1.5907658564412686
"""NormReLU's kink for SELU's scale, a float."""
