r"""Duals and Hermite coefficients from their definitions, in ball arithmetic.

The independent side of exact claims. Two algorithms, neither of them the library's:

- *smooth* functions: a_k = E s(X) h_k(X) by the trapezoid rule, which converges
  geometrically for a function analytic in a strip, and the dual as the series of a_k^2;
- *pieces*, b_0 + b_1 x + sum J (x - c)_+^m / m!, plus the negative branch of an
  exponential unit: E s(X) s(Y) = E[s(X) E[s(Y) | X]] with the inner mean in closed form
  and the outer integral enclosed rigorously, split at the kinks.

Precision is 256 bits; results are mpmath numbers with at least 40 correct digits for
pieces and 20 for series (their truncation, given in `ORDER`).
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cmp_to_key, lru_cache
from typing import Any

import flint
import mpmath

from empirical._cached import cached_property

BITS = 256
ORDER = 640
"""Order of the series. Poles at distance d leave e^{-2 d sqrt(ORDER)}: 1e-22 at d = 1."""

# Trapezoid nodes j/20 to 22: e^{-2 pi 20 d} = 1e-54 at d = 1; the tail of
# h_k(x) phi(x) is below e^{-x^2/4} = 1e-52.
_STEP, _NODES = 20, 440
_REACH = 18  # of the outer integral: e^{-162} = 1e-70
_FAR = 22  # spreads from a kink: what is missing is below phi(21) = 7e-97
GOAL = flint.arb(2) ** -170
"""What an outer integral's error is brought below: 7e-52, absolute or relative."""


def mpf(x: Any) -> Any:
    """Return the midpoint of a ball as an mpmath number.

    Raises
    ------
    ArithmeticError
        If the ball is wider than 1e-30, and than 1e-30 of its value.
    """
    whole = flint.arb(x)
    if not whole.rad() < flint.arb(10) ** -30 * abs(whole).max(flint.arb(1)):
        raise ArithmeticError(f"integrals: {whole} is not known to 30 digits")
    mantissa, exponent = whole.mid().man_exp()
    with mpmath.workprec(BITS):
        return mpmath.ldexp(int(mantissa), int(exponent))


def arb(x: Any) -> Any:
    """Return an exact ball of a float, an int, an mpmath number or decimal text."""
    if isinstance(x, Fraction):
        return flint.arb(flint.fmpq(x.numerator, x.denominator))
    return flint.arb(x)


# --- smooth functions ----------------------------------------------------------------


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + (-x).exp())


def _softplus(x: Any) -> Any:
    return (1 + x.exp()).log()


SMOOTH: dict[str, Callable[[Any], Any]] = {
    "identity": lambda x: x,
    "erf": lambda x: x.erf(),
    "tanh": lambda x: x.tanh(),
    "sigmoid": _sigmoid,
    "gelu": lambda x: x * (-x / flint.arb(2).sqrt()).erfc() / 2,
    "silu": lambda x: x * _sigmoid(x),
    "softplus": _softplus,
    "exp": lambda x: x.exp(),
    "sin": lambda x: x.sin(),
    "cos": lambda x: x.cos(),
    "arctan": lambda x: x.atan(),
    "asinh": lambda x: x.asinh(),
    "gaussian": lambda x: (-x * x / 2).exp(),
    "mish": lambda x: x * _softplus(x).tanh(),
    "quick_gelu": lambda x: x * _sigmoid(arb(1.702) * x),
    "log_cosh": lambda x: x.cosh().log(),
}


@lru_cache(maxsize=1)
def _basis() -> tuple[Any, Any]:
    """Trapezoid weights times h_k at the nodes x >= 0, even and odd orders apart."""
    norm = _STEP * (2 * flint.arb.pi()).sqrt()
    roots = [flint.arb(n).sqrt() for n in range(ORDER + 2)]
    columns = []
    for j in range(_NODES + 1):
        x = flint.arb(j) / _STEP
        weight = (-x * x / 2).exp() / norm
        low, high = flint.arb(0), weight / (2 if j == 0 else 1)
        column = [high]
        for n in range(ORDER):
            low, high = high, (x * high - roots[n] * low) / roots[n + 1]
            column.append(high)
        columns.append(column)
    even = flint.arb_mat([[c[k] for c in columns] for k in range(0, ORDER + 1, 2)])
    odd = flint.arb_mat([[c[k] for c in columns] for k in range(1, ORDER + 1, 2)])
    return even, odd


@lru_cache(maxsize=256)
def smooth_coefficients(name: str, variance: str = "1") -> tuple[Any, ...]:
    """a_k = E s(sqrt(variance) X) h_k(X) for k = 0..ORDER, as balls."""
    with flint.ctx.workprec(BITS):
        function, scale = SMOOTH[name], flint.arb(variance).sqrt()
        plus, minus = [], []
        for j in range(_NODES + 1):
            x = scale * j / _STEP
            plus.append(function(x))
            minus.append(function(-x))
        # The recurrence's radii grow by up to 2^640 and must not eat the digits.
        with flint.ctx.workprec(4 * BITS):
            even, odd = _basis()
        sums = flint.arb_mat([[p + m] for p, m in zip(plus, minus, strict=True)])
        gaps = flint.arb_mat([[p - m] for p, m in zip(plus, minus, strict=True)])
        a, b = even * sums, odd * gaps
        out = [flint.arb(0)] * (ORDER + 1)
        out[0::2] = [a[i, 0].mid() for i in range(a.nrows())]
        out[1::2] = [b[i, 0].mid() for i in range(b.nrows())]
        return tuple(out)


@dataclass(frozen=True)
class Series:
    """A dual as its series of energies: sum_k p_k rho^k."""

    energies: tuple[Any, ...]

    @classmethod
    def of(cls, first: Sequence[Any], second: Sequence[Any]) -> "Series":
        """Return that of two functions, by their Hermite coefficients."""
        with flint.ctx.workprec(BITS):
            return cls(tuple(a * b for a, b in zip(first, second, strict=True)))

    @cached_property
    def _polynomials(self) -> tuple[Any, Any]:
        whole = flint.arb_poly(list(self.energies))
        return whole, whole.derivative()

    def dual(self, rho: Any) -> Any:
        """Evaluate at one correlation."""
        with flint.ctx.workprec(BITS):
            return mpf(self._polynomials[0](arb(rho)))

    def slope(self, rho: Any) -> Any:
        """Evaluate the derivative in rho."""
        with flint.ctx.workprec(BITS):
            return mpf(self._polynomials[1](arb(rho)))


# --- piecewise functions -------------------------------------------------------------


@dataclass(frozen=True)
class Pieces:
    """b_0 + b_1 x + sum_j J_j (x - c_j)_+^m / m! + elu * (e^x - 1) 1{x < 0}.

    Numbers are decimal text, exact floats or balls. `variance` is that of the argument,
    which is sqrt(variance) X. `orders` are the m of the kinks where they differ.
    """

    order: int
    line: tuple[Any, Any] = (0, 0)
    kinks: tuple[Any, ...] = ()
    jumps: tuple[Any, ...] = ()
    elu: Any = 0
    variance: Any = 1
    orders: tuple[int, ...] = ()

    @property
    def terms(self) -> list[tuple[Any, Any, int]]:
        """Kink, jump and order of each power."""
        orders = self.orders or (self.order,) * len(self.kinks)
        return list(zip(self.kinks, self.jumps, orders, strict=True))

    def dual(self, rho: Any, other: "Pieces | None" = None) -> Any:
        """E s(X) s(Y), or E s(X) t(Y) for another function t."""
        with flint.ctx.workprec(BITS):
            return _expectation(self, self if other is None else other, arb(rho), 0)

    def slope(self, rho: Any, other: "Pieces | None" = None) -> Any:
        """E s'(X) s'(Y) times the two standard deviations of the arguments."""
        second = self if other is None else other
        with flint.ctx.workprec(BITS):
            scale = (arb(self.variance) * arb(second.variance)).sqrt()
            return mpf(scale * arb(_expectation(self, second, arb(rho), 1)))

    def coefficient(self, k: int) -> Any:
        """a_k = E s(X) h_k(X), from truncated moments at 2,048 bits."""
        # Terms reach 1e200 at k = 200 and cancel: 2,048 bits are 616 digits.
        with flint.ctx.workprec(2048):
            return mpf(_coefficient(self, k))


def _sides(piece: Pieces) -> list[Any]:
    """Kinks on the axis of X, the exponential branch's end included."""
    root = arb(piece.variance).sqrt()
    out = [arb(c) / root for c in piece.kinks]
    return [*out, flint.arb(0)] if piece.elu else out


def _branch(
    piece: Pieces, side: Any, level: int, spread: Any = 0
) -> Callable[[Any], Any] | None:
    """s^(level) on the piece that contains `side`, entire; None where it vanishes.

    With a spread its mean about the argument, as if there were no other piece.
    """
    root = arb(piece.variance).sqrt()
    at, y, noise = root * side, flint.arb_poly([0, root]), (root * spread) ** 2 / 2
    b0, b1 = (arb(b) for b in piece.line)
    line = b0 + b1 * y if level == 0 else flint.arb_poly([b1])
    for c, jump, order in piece.terms:
        power = order - level
        if power < 0:
            raise ValueError("Pieces: a function with a jump has no derivative")
        if at > arb(c):
            # exp(noise d^2/dy^2) of the power, as far as it goes.
            for j in range(power // 2 + 1):
                scale = arb(jump) * noise**j / flint.arb.fac_ui(j)
                rest = power - 2 * j
                line += scale * (y - arb(c)) ** rest * (1 / flint.arb.fac_ui(rest))
    if not (piece.elu and at < 0):
        return line if line.degree() >= 0 else None
    elu = arb(piece.elu)
    line -= elu if level == 0 else 0
    return lambda x: line(x) + elu * (root * x + noise).exp()


def _mean(piece: Pieces, spread: Any, level: int) -> Callable[[Any], Any]:
    """E s^(level)(sqrt(variance) (c + spread Z)), entire as a function of c."""
    root = arb(piece.variance).sqrt()
    s, half, norm = root * spread, 1 / flint.arb(2).sqrt(), _density(flint.arb(0))
    b0, b1 = (arb(b) for b in piece.line)
    elu, kinks = arb(piece.elu), list[tuple[Any, list[tuple[Any, int]], int]]()
    # Those of one kink share its moments.
    for c, these in itertools.groupby(piece.terms, key=lambda term: term[0]):
        terms = [(arb(jump), order - level) for _, jump, order in these]
        kinks.append((arb(c), terms, max(power for _, power in terms)))

    def mean(centre: Any) -> Any:
        m = root * centre
        out = b0 + b1 * m if level == 0 else b1
        for c, terms, highest in kinks:
            t = (m - c) / s
            # E (m - c + s Z)_+^p / p!, by parts from p = 0 on.
            moments = [(-half * t).erfc() / 2]
            before = norm * (-t * t / 2).exp() / s if highest else None
            for p in range(1, highest + 1):
                now = s * (s * before + t * moments[-1]) / p
                before = moments[-1]
                moments.append(now)
            for jump, power in terms:
                out += jump * moments[power]
        if piece.elu:
            t = m / s
            growth = (m + s * s / 2).exp() * ((t + s) * half).erfc() / 2
            below = (t * half).erfc() / 2
            out += elu * (growth - (below if level == 0 else 0))
        return out

    return mean


def _beyond(piece: Pieces, spread: Any, level: int) -> Any:
    """Bound what `_mean` differs by from its branch, more than `_FAR` - 1 spreads away.

    With t spreads between, a kink adds J s^p E (Z - t)_+^p / p! at most, which is below
    J s^p phi(t), and the exponential branch less than twice phi(t).
    """
    s = arb(piece.variance).sqrt() * spread
    sizes = [abs(arb(jump)) * s ** (order - level) for _, jump, order in piece.terms]
    total = sum(sizes, 2 * abs(arb(piece.elu)))
    return total * _density(flint.arb(_FAR - 1))


def _density(x: Any) -> Any:
    return (-x * x / 2).exp() / (2 * flint.arb.pi()).sqrt()


def _segments(cuts: list[Any]) -> list[tuple[Any, Any]]:
    # Exactly: a kink and its image may agree as floats, and their order matters.
    ends = sorted(
        [flint.arb(-_REACH), *(c.mid() for c in cuts), flint.arb(_REACH)],
        key=cmp_to_key(lambda p, q: int(p > q) - int(p < q)),
    )
    inside = [e for e in ends if abs(e) <= _REACH]
    return [(a, b) for a, b in itertools.pairwise(inside) if b > a]


def _expectation(a: Pieces, b: Pieces, rho: Any, level: int) -> Any:
    spread = ((1 - rho) * (1 + rho)).sqrt()
    cuts, sides = _sides(a), _sides(b)
    if exact := not spread > 0:
        spread = flint.arb(0)
    if rho != 0:
        # The inner mean turns within a few spreads of b's kinks.
        for centre in sides:
            near = (0,) if exact else (-_FAR, -8, 0, 8, _FAR)
            cuts += [(centre + j * spread) / rho for j in near]
    total, mean = flint.acb(0), _mean(b, spread, level)
    beyond = _beyond(b, spread, level)
    # An exponential that rises over so many spreads leaves its branch all the same.
    settles = not b.elu or spread * arb(b.variance).sqrt() < _FAR - 1
    for start, stop in _segments(cuts):
        middle = (start + stop) / 2
        outer = _branch(a, middle, level)
        apart = (abs(rho * middle - c) > (_FAR - 1) * spread for c in sides)
        far = exact or (settles and all(apart))
        inner = _branch(b, rho * middle, level, spread) if far else mean
        if outer is None:
            continue
        if far and not exact:
            size = abs(outer(start.union(stop))) * (stop - start) * beyond
            total += flint.arb(0, size.upper())
        if inner is None:
            continue

        def integrand(x: Any, _analytic: Any, f: Any = outer, g: Any = inner) -> Any:
            return f(x) * g(rho * x) * (-x * x / 2).exp()

        total += flint.acb.integral(integrand, start, stop, abs_tol=GOAL, rel_tol=GOAL)
    found = total.real * _density(flint.arb(0))
    if found.rad() > flint.arb(10) ** -45:
        raise ArithmeticError(f"integrals: radius {found.rad()} at rho = {rho}")
    return mpf(found)


def _coefficient(piece: Pieces, k: int) -> Any:
    root = arb(piece.variance).sqrt()
    he = hermite_polynomial(k)
    x = flint.arb_poly([0, 1])
    b0, b1 = (arb(b) for b in piece.line)
    total = b0 * (k == 0) + b1 * root * (k == 1)
    for c, jump, order in piece.terms:
        power = (root * x - arb(c)) ** order * (1 / flint.arb.fac_ui(order))
        total += arb(jump) * _tail(he * power, arb(c) / root)
    if piece.elu:
        # X < 0 is -X > 0; e^{-root x} phi(x) = e^{root^2/2} phi(x + root).
        flipped = he(-x)
        shifted = flipped(x - root)
        growth = (root * root / 2).exp() * _tail(shifted, root)
        total += arb(piece.elu) * (growth - _tail(flipped, flint.arb(0)))
    return total / flint.arb.fac_ui(k).sqrt()


def hermite_polynomial(k: int) -> Any:
    """He_k, not normalised, as a polynomial of balls of the precision that is set."""
    return flint.arb_poly(_hermite_polynomial(k))


@lru_cache(maxsize=512)
def _hermite_polynomial(k: int) -> Any:
    """He_k in whole numbers: balls would keep the precision of the first who asked."""
    low, high = flint.fmpz_poly([0]), flint.fmpz_poly([1])
    x = flint.fmpz_poly([0, 1])
    for n in range(k):
        low, high = high, x * high - n * low
    return high


def _tail(polynomial: Any, c: Any) -> Any:
    """int_c^inf p(x) phi(x) dx by the recursion of truncated moments."""
    density = _density(c)
    before, now = density, (c / flint.arb(2).sqrt()).erfc() / 2
    # now = M_n, before = M_{n+1} of the recursion M_{n+1} = c^n phi + n M_{n-1}.
    moments, power = [now, before], flint.arb(1)
    for n in range(1, polynomial.length()):
        power *= c
        moments.append(power * density + n * moments[n - 1])
    return sum(
        (polynomial[n] * moments[n] for n in range(polynomial.length())), flint.arb(0)
    )


_SIXTH = Fraction(1, 6)

PIECES: dict[str, Pieces] = {
    "relu": Pieces(1, (0, 0), (0,), (1,)),
    "abs": Pieces(1, (0, -1), (0,), (2,)),
    "leaky_relu(0.01)": Pieces(1, (0, "0.01"), (0,), ("0.99",)),
    "leaky_relu(0.1)": Pieces(1, (0, "0.1"), (0,), ("0.9",)),
    "leaky_relu(0.2)": Pieces(1, (0, "0.2"), (0,), ("0.8",)),
    "relu_squared": Pieces(2, (0, 0), (0,), (2,)),
    "step": Pieces(0, (0, 0), (0,), (1,)),
    "sign": Pieces(0, (-1, 0), (0,), (2,)),
    "hard_tanh": Pieces(1, (-1, 0), (-1, 1), (1, -1)),
    "relu6": Pieces(1, (0, 0), (0, 6), (1, -1)),
    "hard_sigmoid": Pieces(1, (0, 0), (-3, 3), (_SIXTH, -_SIXTH)),
    # x min(max(x + 3, 0), 6) / 6: its slope jumps down by 1/2 at either kink.
    "hard_swish": Pieces(
        2,
        (0, 0),
        (-3, -3, 3, 3),
        (Fraction(1, 3), Fraction(-1, 2), Fraction(-1, 3), Fraction(-1, 2)),
        orders=(2, 1, 2, 1),
    ),
    "elu": Pieces(1, (0, 0), (0,), (1,), elu=1),
    # Klambauer et al. 2017: the fixed point's scale and alpha, rounded to float64.
    "selu": Pieces(
        1,
        (0, 0),
        (0,),
        (1.0507009873554805,),
        elu=Fraction(1.0507009873554805) * Fraction(1.6732632423543772),
    ),
}


def normrelu(c: Any) -> Pieces:
    """Return (x - c)_+; centred and scaled by whoever needs it."""
    return Pieces(1, (0, 0), (c,), (1,))


@dataclass(frozen=True)
class Law:
    """An activation's dual with the moments that normalise it."""

    dual: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    coefficient: Callable[[int], Any]

    def moment(self) -> Any:
        """E s(X)^2."""
        return self.dual(1)

    def variance(self) -> Any:
        """Var s(X)."""
        with mpmath.workprec(BITS):
            return self.dual(1) - self.coefficient(0) ** 2

    def mu(self) -> Any:
        """1 - a_1^2 / Var s(X)."""
        with mpmath.workprec(BITS):
            return 1 - self.coefficient(1) ** 2 / self.variance()

    def nu(self) -> Any:
        """(E s(X)^2 - a_0^2 - a_1^2) / E s(X)^2."""
        with mpmath.workprec(BITS):
            a, b = self.coefficient(0), self.coefficient(1)
            return 1 - (a * a + b * b) / self.moment()

    def distance(self, delta: Any) -> Any:
        """1 - dual(1 - delta) / dual(1), for delta in [0, 2]."""
        # 256 bits: a distance of 1e-18 keeps 40 digits of the dual's 60.
        with mpmath.workprec(BITS):
            return 1 - self.dual(1 - mpmath.mpf(delta)) / self.dual(1)

    def normalised_distance(self, delta: Any) -> Any:
        """1 - dual(1 - delta) of (s - E s) / sd(s)."""
        with mpmath.workprec(BITS):
            gap = self.dual(1) - self.dual(1 - mpmath.mpf(delta))
            return gap / self.variance()

    def normalised_dual(self, rho: Any) -> Any:
        """Dual of (s - E s) / sd(s)."""
        with mpmath.workprec(BITS):
            return (self.dual(rho) - self.coefficient(0) ** 2) / self.variance()

    def normalised_slope(self, rho: Any) -> Any:
        """Its derivative."""
        with mpmath.workprec(BITS):
            return self.slope(rho) / self.variance()


def _remembered(*functions: Callable[[Any], Any]) -> Law:
    """Law of a dual, its slope and coefficients, each value computed once."""
    return Law(*map(lru_cache(None), functions))


def of_pieces(piece: Pieces) -> Law:
    """Law of a piecewise function."""
    return _remembered(piece.dual, piece.slope, piece.coefficient)


def of_coefficients(values: Sequence[Any]) -> Law:
    """Law of sum_k a_k h_k with the given a_k, k = 0, 1, ..."""
    with flint.ctx.workprec(BITS):
        a = [arb(value) for value in values]
        series = Series(tuple(value * value for value in a))
    return _remembered(
        series.dual,
        series.slope,
        lambda k: mpf(a[k]) if k < len(a) else mpmath.mpf(0),
    )


ODD: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "softsign": (lambda x: x / (1 + x), lambda x: 1 / (1 + x) ** 2),
}
"""Odd functions with a kink at zero: the function and its derivative for x > 0."""


def of_odd(f: Callable[[Any], Any], df: Callable[[Any], Any]) -> Law:
    """Law of an odd function given for x > 0: 30 digits by nested quadrature (slow)."""

    def expectation(g: Callable[[Any], Any], parity: int, rho: Any) -> Any:
        r = mpmath.mpf(rho)
        spread = mpmath.sqrt((1 - r) * (1 + r))

        def whole(x: Any) -> Any:
            return g(abs(x)) * (mpmath.sign(x) if parity else 1)

        def mean(x: Any) -> Any:
            if not spread:
                return whole(r * x)
            cut = -r * x / spread
            ends = [-9, cut, 9] if abs(cut) < 9 else [-9, 9]
            return mpmath.quad(
                lambda z: whole(r * x + spread * z) * mpmath.npdf(z), ends, maxdegree=5
            )

        def integrand(x: Any) -> Any:
            return 2 * g(x) * mean(x) * mpmath.npdf(x)

        return mpmath.quad(integrand, [0, 1, 2, 4, 9, 18], maxdegree=5)

    def coefficient(k: int) -> Any:
        with flint.ctx.workprec(2048):
            he = hermite_polynomial(k)
            parts = [
                flint.acb.integral(
                    lambda x, _: f(x) * he(x) * _density(x),
                    flint.acb(a),
                    flint.acb(a + 2),
                )
                for a in range(0, 40 if k % 2 else 0, 2)
            ]
            total = sum(parts, flint.acb(0)).real
            return mpf(2 * total / flint.arb.fac_ui(k).sqrt())

    def at(g: Callable[[Any], Any], parity: int) -> Callable[[Any], Any]:
        def value(rho: Any) -> Any:
            with mpmath.workdps(30):
                return expectation(g, parity, rho)

        return lru_cache(None)(value)

    return Law(at(f, 1), at(df, 0), lru_cache(None)(coefficient))


@lru_cache(maxsize=256)
def at_variance(name: str, variance: str) -> Pieces | Series:
    """Dual and slope of x -> s(sqrt(variance) x), of a function named in the tables."""
    if name in PIECES:
        return replace(PIECES[name], variance=variance)
    a = smooth_coefficients(name, variance)
    return Series.of(a, a)


@lru_cache(maxsize=64)
def law(name: str) -> Law:
    """Law of a function by its name in the tables here, ``normrelu(c)``, ``hermite(k)``.

    Raises
    ------
    ValueError
        For any other name.
    """
    if name in ODD:
        return of_odd(*ODD[name])
    if name in PIECES:
        return of_pieces(PIECES[name])
    if name.startswith("normrelu("):
        return of_pieces(normrelu(name[len("normrelu(") : -1]))
    if name.startswith("hermite("):
        degree = int(name[len("hermite(") : -1])
        return of_coefficients([0] * degree + [1])
    if name not in SMOOTH:
        raise ValueError(f"law: no function is called {name!r} here")
    a = smooth_coefficients(name)
    with flint.ctx.workprec(BITS):
        series = Series(tuple(value * value for value in a))
    return _remembered(series.dual, series.slope, lambda k: mpf(a[k]))
