"""Corrections of order 1/width in networks simple enough for exact arithmetic.

Polynomial activations have moments that are polynomials of the inputs' correlation, and
linear networks have products of chi-squared lengths: no network is drawn, and every term
of the recursion counts to the last digits.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import mpmath
import numpy as np
import sympy
from scipy import special

from theory import activations as act
from theory import kernels, width
from verify.claim import grid, numeric
from verify.claims._predictors import changed, mistake
from verify.claims.deep_conditioning._sources import ours
from verify.claims.deep_conditioning._subjects import normalised
from verify.compare import AgreesTo
from verify.integrals import BITS, Pieces

Polynomial = dict[tuple[int, ...], Fraction]
"""Coefficients by the powers of the variables."""
_Products = tuple[tuple[int, int], ...]
"""Entries of a covariance that are multiplied."""

# --- linear networks ------------------------------------------------------------------


def _linear(slope: str) -> act.Activation:
    return act.hermite(1).scaled(float(Fraction(slope)) ** 2)


def _predict_linear(*, slope: str, depth: int, rho: str) -> float:
    return width.ntk_variance(float(Fraction(rho)), _linear(slope), depth, 1)


def _measure_linear(*, slope: str, depth: int, rho: str) -> Fraction:
    """Covariances of the layers' gradients, products of a length and a Gram matrix.

    The gradient of layer l is the product of the Gram matrix of the l layers below it,
    to each of which it owes (1 + rho^2)/n, and of the squared norm of what the layers
    above multiply by, of which each varies by 2/n. Two layers have in common what is
    below the lower one and what is above the upper one.
    """
    square = Fraction(rho) ** 2
    shared = sum(
        min(i, j) * (1 + square) + 2 * (depth - max(i, j)) * square
        for i, j in itertools.product(range(depth + 1), repeat=2)
    )
    return Fraction(slope) ** (4 * depth) * shared


def _alike(*, slope: str, depth: int, rho: str) -> float:
    """Norms from above that vary like products from below, by 1 + rho^2."""
    return float(
        _measure_linear(slope=slope, depth=depth, rho="0")
        * 2
        * (1 + Fraction(rho) ** 2)
    )


LINEAR = numeric(
    id="dc/eq7-linear",
    items=("Eq7", "E13"),
    uses=("dc/eq7-fluctuations",),
    title="Deep linear networks: the variance of the tangent kernel in closed form",
    statement=r"m\,\mathrm{Var}\,\Theta^{(m)} = c^{4L}\,\frac{L (L+1) (2L+1)}{6}"
    r" (1 + 3\rho^2) + O(1/m)",
    assumptions=("activation c x", "L hidden layers, one output"),
    source=ours("Equation 7, at finite width"),
    cases=grid(slope=("1", "6/5", "2/3"), depth=(1, 2, 5), rho=("1/2", "-3/10")),
    predict=_predict_linear,
    measure=_measure_linear,
    # Up to five layers of a dozen sums each, rounded to 1e-16, of quadratures that are
    # exact for polynomials of this degree but for their rounding of 1e-14.
    compare=AgreesTo(relative=1e-12),
    must_refute=_alike,
)

# --- polynomial activations ------------------------------------------------------------


def _product(*factors: Polynomial) -> Polynomial:
    out: Polynomial = {(0,) * len(next(iter(factors[0]))): Fraction(1)}
    for factor in factors:
        grown: defaultdict[tuple[int, ...], Fraction] = defaultdict(Fraction)
        for (a, u), (b, v) in itertools.product(out.items(), factor.items()):
            grown[tuple(i + j for i, j in zip(a, b, strict=True))] += u * v
        out = dict(grown)
    return out


def _pairings(variables: Sequence[int]) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield every way to pair variables, as Isserlis' theorem sums over them."""
    if not variables:
        yield ()
        return
    first, *rest = variables
    for n, other in enumerate(rest):
        for pairs in _pairings(rest[:n] + rest[n + 1 :]):
            yield ((min(first, other), max(first, other)), *pairs)


def _mean(polynomial: Polynomial) -> defaultdict[_Products, Fraction]:
    """Return a Gaussian mean: coefficients of products of entries of the covariance."""
    out: defaultdict[_Products, Fraction] = defaultdict(Fraction)
    for powers, value in polynomial.items():
        variables = [n for n, power in enumerate(powers) for _ in range(power)]
        if len(variables) % 2 == 0:
            for pairs in _pairings(variables):
                out[tuple(sorted(pairs))] += value
    return out


@cache
def _moment(i: int, j: int, rho: Fraction) -> Fraction:
    """E U^i V^j of two standard Gaussians, by parts in the first that is left."""
    if i < j:
        i, j = j, i
    if not i:
        return Fraction(1)
    out = (i - 1) * _moment(i - 2, j, rho) if i > 1 else Fraction(0)
    return out + (j * rho * _moment(i - 1, j - 1, rho) if j else 0)


def _at(polynomial: Polynomial, rho: Fraction) -> Fraction:
    """Return the mean over two standard Gaussians of correlation rho."""
    terms = (c * _moment(i, j, rho) for (i, j), c in polynomial.items())
    return sum(terms, Fraction(0))


def _in(variable: int, coefficients: Sequence[Fraction]) -> Polynomial:
    """Return a polynomial in one of two variables."""
    return {
        tuple(k if n == variable else 0 for n in range(2)): c
        for k, c in enumerate(coefficients)
        if c
    }


def _differentiated(polynomial: Polynomial, *by: int) -> Polynomial:
    for n in by:
        polynomial = {
            tuple(k - (m == n) for m, k in enumerate(powers)): powers[n] * c
            for powers, c in polynomial.items()
            if powers[n]
        }
    return polynomial


def _cubic(square: str, cube: str) -> tuple[list[Fraction], list[Fraction]]:
    """Return the coefficients of x + q (x^2 - 1/2) + p x^3 and of its slope."""
    q, p = Fraction(square), Fraction(cube)
    return [-q / 2, Fraction(1), q, p], [Fraction(1), 2 * q, 3 * p]


def _cubic_activation(square: str, cube: str) -> act.Activation:
    q, p = float(Fraction(square)), float(Fraction(cube))
    # x^2 = 1 + sqrt(2) h_2, x^3 = 3 h_1 + sqrt(6) h_3.
    a = (0.5 * q, 1.0 + 3.0 * p, math.sqrt(2.0) * q, math.sqrt(6.0) * p)
    return act.HermiteMixture(a)


def _predict_cubic(*, square: str, cube: str, rho: str, depth: int = 2) -> float:
    r, s = float(Fraction(rho)), _cubic_activation(square, cube)
    # The correction is linear in 1/n: that of n = 1.
    return width.ntk_mean(r, s, depth, 1) - kernels.ntk_map(r, s, depth)


def _measure_cubic(*, square: str, cube: str, rho: str) -> Fraction:
    """By the delta method: the mean over the second layer is a polynomial of means.

    Given the first layer, the second one's preactivations z are Gaussian, and the
    kernel's mean is P(G) with G the means of n products: s_a s_b and s'_a s'_b.
    n (E P(G) - P(E G)) tends to half of P'' times their covariances. The weights W that
    z is made of enter the first layer's share once more, as W_k^2; by parts,
    E W_k^2 f(z) - E f(z) is 1/n times what the Hessian of f makes of unit k.
    """
    r = Fraction(rho)
    value, slope = _cubic(square, cube)
    forward = _product(_in(0, value), _in(1, value))
    back = _product(_in(0, slope), _in(1, slope))
    outer = {
        (i, j): _product(_in(i, value), _in(j, value))
        for i, j in ((0, 0), (0, 1), (1, 1))
    }
    slopes = (2, 2)  # stands for the mean of s'_a s'_b
    outer[slopes] = back
    kernel = _mean(forward)
    for pairs, c in _mean(back).items():
        kernel[(*pairs, (0, 1))] += c
        kernel[(*pairs, slopes)] += c * r
    mean = {e: _at(polynomial, r) for e, polynomial in outer.items()}
    total = Fraction(0)
    for pairs, c in kernel.items():
        for first, second in itertools.permutations(range(len(pairs)), 2):
            e, f = pairs[first], pairs[second]
            spread = _at(_product(outer[e], outer[f]), r) - mean[e] * mean[f]
            rest = (mean[p] for n, p in enumerate(pairs) if n not in (first, second))
            total += c * spread * math.prod(rest, start=Fraction(1)) / 2
    for e, f in itertools.product((0, 1), repeat=2):
        hessian = sum(
            c * math.prod((mean[p] for p in pairs), start=Fraction(1))
            for pairs, c in _mean(_differentiated(back, e, f)).items()
        )
        total += r * hessian * _at(_product(back, outer[min(e, f), max(e, f)]), r)
    return total


def _apart(*, square: str, cube: str, rho: str, depth: int = 2) -> float:
    """The product kernel's correction alone."""
    r, s = float(Fraction(rho)), _cubic_activation(square, cube)
    return width.nngp_mean(r, s, depth, 1) - kernels.nngp_map(r, s, depth)


QUADRATIC = numeric(
    id="dc/eq7-quadratic",
    items=("Eq7", "LemC.4"),
    uses=("dc/eq7-bias",),
    title="Polynomial activations: the mean tangent kernel to order 1/width, exactly",
    statement=r"\lim_{m \to \infty} m\,(\mathbb{E}\,\Theta^{(m)} - \Theta) = \tfrac12\,"
    r" P''(\mathbb{E}\,G) : \mathrm{Cov}(G) + \rho\, \mathbb{E}\left[\sigma'\sigma'\,"
    r" \sigma \sigma^T\right] : \mathbb{E}\,\partial^2 (\sigma'\sigma'), \quad"
    r" P(G) = \mathbb{E}[\Theta^{(m)} \mid G]",
    assumptions=(
        "activation x + q (x^2 - 1/2) + p x^3",
        "two hidden layers, one output",
    ),
    source=ours("Equation 7, at finite width"),
    cases=(
        *grid(square=("1/4", "-1/2"), cube="0", rho=("1/2", "-2/5")),
        {"square": "1/4", "cube": "1/9", "rho": "-2/5"},
    ),
    predict=_predict_cubic,
    measure=_measure_cubic,
    # As for linear networks; the limit that is taken off is as large as the correction.
    compare=AgreesTo(relative=1e-12),
    must_refute=_apart,
)


def _measure_three(*, square: str, cube: str) -> Any:
    """By the delta method through lengths q_1 and q_2 of the first two layers.

    Given q_1, unit means of the second layer have covariances over n; of its weights
    W_j^2 and W_j W_k enter the first layer's share once more, which adds to s' s' what
    the units h do: E W_j W_k f(z) - E W_j W_k E f(z) is h_j h_k / n times E f''.
    """
    x, q = sympy.symbols("x q", positive=True)
    a, b = sympy.Rational(square), sympy.Rational(cube)
    unit = x + a * (x**2 - sympy.Rational(1, 2)) + b * x**3
    slope = sympy.diff(unit, x)

    def mean(of: Any) -> Any:
        """E of a polynomial at sqrt(q) Z."""
        terms = sympy.Poly(sympy.expand(of), x).terms()
        even = ((n, c) for (n,), c in terms if n % 2 == 0)
        return sum(c * sympy.factorial2(n - 1) * q ** (n // 2) for n, c in even)

    def at(of: Any, length: Any, times: int = 0) -> Any:
        return sympy.diff(of, q, times).subs(q, length)

    k, d, both = mean(unit**2), mean(slope**2), mean((unit * slope) ** 2)
    spread, joint = mean(unit**4) - k**2, both - k * d
    turn = mean(sympy.diff(unit * slope, x))
    one = k.subs(q, 1)
    two = k.subs(q, one)
    last = k + q * d
    # What the last two layers make of q_1, and the slopes of both behind it.
    whole, behind = last.subs(q, k), d * d.subs(q, k)
    size, half = one + d.subs(q, 1), sympy.Rational(1, 2)
    inner = at(d, two, 1) * at(joint, one) + 2 * at(both, one) * at(d, two, 1)
    inner += half * at(d, one) * at(d, two, 2) * at(spread, one)
    crossed = at(d, one, 1) * at(d, two) + at(d, two, 1) * at(turn, one) ** 2
    return (
        half * at(whole, one, 2) * at(spread, 1)
        + half * at(last, two, 2) * at(spread, one)
        + at(behind, one, 1) * (at(spread, 1) + at(joint, 1))
        + half * size * at(behind, one, 2) * at(spread, 1)
        + size * inner
        + 2 * at(both, 1) * crossed
    )


THREE_LAYERS = replace(
    QUADRATIC,
    id="dc/eq7-three-layers",
    uses=("dc/eq7-quadratic",),
    title="Three layers of polynomial units: the mean tangent kernel to order 1/width",
    statement=r"\lim_{m \to \infty} m\,(\mathbb{E}\,\Theta^{(m)}(x, x) - \Theta(x, x)),"
    r" \quad |x| = 1",
    assumptions=(
        "activation x + q (x^2 - 1/2) + p x^3",
        "three hidden layers, one output, an input with itself",
    ),
    cases=(
        *grid(square=("1/4", "-1/2"), cube="0"),
        {"square": "1/4", "cube": "1/9"},
    ),
    predict=partial(_predict_cubic, rho="1", depth=3),
    measure=_measure_three,
    must_refute=partial(_apart, rho="1", depth=3),
)

# --- pieces, of lengths other than one ------------------------------------------------

_CLIPPED = {
    1: Pieces(1, line=(-1, 0), kinks=(-1, 1), jumps=(1, -1)),
    2: Pieces(
        2, line=(1, 0), kinks=(-1, -1, 1, 1), jumps=(-2, 2, -2, -2), orders=(1, 2, 1, 2)
    ),
    3: Pieces(
        3,
        line=(-1, 0),
        kinks=(-1, -1, -1, 1, 1, 1),
        jumps=(3, -6, 6, -3, -6, -6),
        orders=(1, 2, 3, 1, 2, 3),
    ),
}
"""Powers of x clipped to -1 and 1, from left to right by their Taylor series."""


def _clipped(i: int, j: int, p: Any, k: Any, q: Any) -> Any:
    """Return E s(u)^i s(v)^j for variances p and q and covariance k."""
    if not (i and j):
        power, variance = (i, p) if i else (j, q)
        return replace(_CLIPPED[power // 2], variance=variance).dual(1)
    one, two = replace(_CLIPPED[i], variance=p), replace(_CLIPPED[j], variance=q)
    return one.dual(k / mpmath.sqrt(p * q), two)


_ENTRIES = ((2, 0), (1, 1), (0, 2))
"""Entries of a kernel of two inputs, as powers of s at the first and the second."""


def _spread(at: Sequence[Any]) -> list[list[Any]]:
    """Return the covariances of a unit's products, of variances p, q and covariance k."""
    means = [_clipped(i, j, *at) for i, j in _ENTRIES]
    return [
        [
            _clipped(i + m, j + n, *at) - a * b
            for (m, n), b in zip(_ENTRIES, means, strict=True)
        ]
        for (i, j), a in zip(_ENTRIES, means, strict=True)
    ]


def _measure_clipped(*, rho: float) -> list[Any]:
    """Half of the second differences of E s s in K, by their covariances; and variances.

    The first layer's kernel K has a covariance of order 1/n; the second's entry is a
    mean of n products given K, and a smooth function of it in the mean.
    """
    with mpmath.workprec(BITS):
        first = (mpmath.mpf(1), mpmath.mpf(rho), mpmath.mpf(1))
        spread = _spread(first)
        k = [_clipped(i, j, *first) for i, j in _ENTRIES]
        # Differences are off by its square, 1e-18, and by 1e-40 over that.
        step = mpmath.mpf(2) ** -30

        def at(*moved: tuple[int, int]) -> Any:
            here = list(k)
            for entry, sign in moved:
                here[entry] += sign * step
            return _clipped(1, 1, *here)

        rise = [(at((e, 1)) - at((e, -1))) / (2 * step) for e in range(3)]
        mean = mpmath.mpf(0)
        for e, f in itertools.combinations_with_replacement(range(3), 2):
            signs = itertools.product((1, -1), repeat=2)
            bend = sum(s * t * at((e, s), (f, t)) for s, t in signs) / (4 * step**2)
            mean += bend * spread[e][f] * (0.5 if e == f else 1.0)
        passed = sum(
            rise[e] * spread[e][f] * rise[f]
            for e, f in itertools.product(range(3), repeat=2)
        )
        # And of one input, whose length is mapped to the next one's.
        p, half = k[0], step / 2
        slope = (_clipped(2, 0, p + half, 0, 0) - _clipped(2, 0, p - half, 0, 0)) / step
        own = _clipped(4, 0, *k) - _clipped(2, 0, *k) ** 2 + slope**2 * spread[0][0]
        return [mean, _clipped(2, 2, *k) - _clipped(1, 1, *k) ** 2 + passed, own]


def _predict_clipped(*, rho: float) -> list[float]:
    return _corrections(act.hard_tanh, rho)


def _corrections(unit: act.Activation, rho: float, depth: int = 2) -> list[float]:
    # Both are linear in 1/n: those of n = 1.
    mean = width.nngp_mean(rho, unit, depth, 1) - kernels.nngp_map(rho, unit, depth)
    return [float(mean), *width.nngp_variance([rho, 1.0], unit, depth, 1)]


def _of_length_one(*, rho: float) -> list[float]:
    """The unit scaled so that inputs keep their length, and its kernel scaled back."""
    return _scaled_back(act.hard_tanh, rho)


def _scaled_back(unit: act.Activation, rho: float, depth: int = 2) -> list[float]:
    mean, *variances = _corrections(unit.normalized(), rho, depth)
    square = unit.second_moment
    return [square * mean, *(square**2 * variance for variance in variances)]


_OTHER_SIDE = {"abs": -1.0, "identity": 1.0, "leaky_relu": 0.1}
"""Slopes left of zero; right of it they are one."""


def _predict_mirrored(*, activation: str, depth: int, rho: float = -1.0) -> list[float]:
    a = _OTHER_SIDE[activation]
    unit = act.leaky_relu(a) if abs(a) < 1.0 else act.CATALOGUE[activation]
    each = (width.nngp_mean, width.nngp_variance, width.ntk_mean)
    return [float(of(rho, unit, depth, 1)) for of in each]


def _measure_mirrored(*, activation: str, depth: int) -> list[float]:
    """s(u) s(-u) is -a u^2, of mean -a, and s'(u) s'(-u) = a, the slopes' product.

    Every layer multiplies by a chi-square over n, of mean 1 and variance 2/n; behind an
    even function inputs are equal.
    """
    a = _OTHER_SIDE[activation]
    mean, slopes = -a, [a, 1.0 if activation == "abs" else a]
    tangent = -1.0
    for slope in slopes[:depth]:
        tangent = mean + slope * tangent
    return [mean, 2.0 * depth * a * a, tangent]


MIRRORED = numeric(
    id="dc/eq1-opposite-width",
    items=("Eq1", "LemC.4"),
    uses=("dc/eq7-bias",),
    title="Opposite inputs and units of two slopes: kernels to order 1/width",
    statement=r"\mathbb{E}\,K^{(m)}(x, -x) = -a, \quad m\,\mathrm{Var}\,K^{(m)}(x, -x)"
    r" \to 2 L a^2, \quad \mathbb{E}\,\Theta^{(m)}(x, -x) = -(L + 1) a, \quad"
    r" s(x) = \max(x, 0) + a \min(x, 0)",
    assumptions=("a of one layer is 1/10, of one or two layers 1 or -1", "one output"),
    source=ours("Equation 1, at finite width"),
    cases=(
        *grid(activation=("abs", "identity"), depth=(1, 2)),
        {"activation": "leaky_relu", "depth": 1},
    ),
    predict=_predict_mirrored,
    measure=_measure_mirrored,
    # The promise of `theory.width`.
    compare=AgreesTo(relative=1e-12),
    must_refute=mistake("The kernel of an input with itself.", rho=1.0),
)

CLIPPED = numeric(
    id="dc/eq1-clipped-width",
    items=("Eq1", "LemC.4"),
    uses=("dc/eq7-bias",),
    title="Units that are clipped and shorten inputs: kernels to order 1/width",
    statement=r"\lim_{m \to \infty} m\,(\mathbb{E}\,K^{(m)} - K) = \tfrac12\,"
    r" \partial^2 F : \mathrm{Cov}(\sigma \sigma^T), \quad"
    r" m\,\mathrm{Var}\,K^{(m)} \to \mathrm{Var}(\sigma \sigma) + \partial F :"
    r" \mathrm{Cov}(\sigma \sigma^T) : \partial F, \quad F = \mathbb{E}[\sigma \sigma]",
    assumptions=("activation x clipped to -1 and 1", "two hidden layers, one output"),
    source=ours("Equation 1, at finite width"),
    cases=grid(rho=(0.5, 0.0)),
    predict=_predict_clipped,
    measure=_measure_clipped,
    # The promise of `theory.width`, and the limit's rounding.
    compare=AgreesTo(relative=1e-12, absolute=1e-15),
    must_refute=_of_length_one,
)

_BENT = act.PiecewisePolynomial("bent", 1, (0.0, 0.0), (-1.0,), (1.0,))
"""max(x + 1, 0)."""


def _predict_bent(*, rho: float, sign: float = 1.0) -> list[float]:
    each = (width.nngp_variance, width.ntk_variance)
    return [float(of(sign * rho, _BENT, 1, 1)) for of in each]


def _measure_bent(*, rho: float) -> list[Any]:
    """The slope is its own square, and leaves the function as it is."""
    with mpmath.workprec(BITS):
        r = mpmath.mpf(rho)
        slopes, mean, square = (
            unit.dual(r, unit)
            for unit in (
                Pieces(n, line=(0, 0), kinks=(-1,), jumps=(max(n, 1),))
                for n in range(3)
            )
        )
        nngp = square - mean**2
        own = r**2 * (3 * slopes - slopes**2)
        return [nngp, nngp + 2 * r * mean * (1 - slopes) + own]


BENT = replace(
    CLIPPED,
    id="dc/lemC.4-bent-width",
    title="One layer of units with a kink on one side of zero, also of nearly opposite"
    " inputs",
    statement=r"m\,\mathrm{Var}\,K^{(m)} = \mathbb{E}\,\sigma(u)^2\sigma(v)^2 -"
    r" \hat\sigma(\rho)^2, \quad \sigma(x) = \max(x + 1, 0)",
    assumptions=("one hidden layer, one output",),
    cases=grid(rho=(-0.9999, -0.6, 0.3, 0.9999)),
    predict=_predict_bent,
    measure=_measure_bent,
    # Without derivatives the covariance may be singular: rounding alone.
    compare=AgreesTo(relative=1e-13),
    must_refute=mistake("Inputs on the other side.", sign=-1.0),
    uses=("dc/lemC.4-variance",),
)

# --- one layer of the activations that networks are drawn with ------------------------


def _smooth_mean(f: Any, rho: float) -> float:
    """E f(u, v), by a trapezoid rule in the plane."""
    # Poles of tanh at i pi/2 and e^(-x^2/2) leave e^(-2 pi^2/0.3) = 1e-28; the mass
    # beyond 9 is 1e-18.
    nodes = 0.15 * np.arange(-60, 61)
    weights = 0.15 * np.exp(-nodes * nodes / 2.0) / math.sqrt(2.0 * math.pi)
    v = rho * nodes[:, None] + math.sqrt((1.0 - rho) * (1.0 + rho)) * nodes
    return float(weights @ (f(nodes[:, None], v) * np.ones_like(v)) @ weights)


def _means(unit: Any, slope: Any, rho: float) -> list[float]:
    """E of s s, its square, s s s' s', s' s' and its square, of a normalised function."""
    m = _smooth_mean(lambda u, _: unit(u), 1.0)
    d = math.sqrt(_smooth_mean(lambda u, _: (unit(u) - m) ** 2, 1.0))

    def of(i: int, j: int) -> float:
        def product(u: Any, v: Any) -> Any:
            s = (unit(u) - m) * (unit(v) - m)
            return (s / d**2) ** i * (slope(u) * slope(v) / d**2) ** j

        return _smooth_mean(product, rho)

    return [of(1, 0), of(2, 0), of(1, 1), of(0, 1), of(0, 2)]


def _relu_means(rho: float) -> list[Any]:
    """The same for ReLU, powers of which are integrals over the angle."""
    with mpmath.workdps(30):
        turn = mpmath.acos(rho)

        def both(i: int, j: int) -> Any:
            """E u^i v^j where both are positive."""
            radius = mpmath.mpf(2) ** (mpmath.mpf(i + j) / 2)
            angles = mpmath.quad(
                lambda t: mpmath.cos(t) ** i * mpmath.cos(t - turn) ** j,
                [turn - mpmath.pi / 2, mpmath.pi / 2],
            )
            return (
                radius
                * mpmath.gamma(1 + mpmath.mpf(i + j) / 2)
                * angles
                / (2 * mpmath.pi)
            )

        m = 1 / mpmath.sqrt(2 * mpmath.pi)
        alone = [1, m, mpmath.mpf(1) / 2]
        square = mpmath.mpf(1) / 2 - m * m

        def product(power: int) -> Any:
            """E ((relu(u) - m) (relu(v) - m))^power, term by term."""
            return mpmath.fsum(
                math.comb(power, i)
                * math.comb(power, j)
                * (-m) ** (2 * power - i - j)
                * (both(i, j) if i and j else alone[i + j])
                for i, j in itertools.product(range(power + 1), repeat=2)
            )

        mixed = both(1, 1) - 2 * m * both(1, 0) + m * m * both(0, 0)
        slopes = both(0, 0)
        return [
            product(1) / square,
            product(2) / square**2,
            mixed / square**2,
            slopes / square,
            slopes / square**2,
        ]


_UNITS: dict[str, tuple[Any, Any]] = {
    "erf": (special.erf, lambda x: 2.0 / math.sqrt(math.pi) * np.exp(-x * x)),
    "tanh": (np.tanh, lambda x: np.cosh(x) ** -2.0),
}


def _predict_one_layer(*, activation: str, rho: float) -> list[float]:
    s = normalised(activation)
    each = (width.nngp_variance, width.ntk_variance)
    return [float(of(rho, s, 1, 1)) for of in each]


def _measure_one_layer(*, activation: str, rho: float, fourth: int = 3) -> list[Any]:
    """Products of a unit, and of its slopes with the square of its outgoing weight."""
    known = _UNITS.get(activation)
    found = _means(*known, rho) if known else _relu_means(rho)
    mean, square, mixed, slope, slopes = found
    nngp = square - mean**2
    own = rho**2 * (fourth * slopes - slope**2)
    return [nngp, nngp + 2 * rho * (mixed - mean * slope) + own]


ONE_LAYER = replace(
    CLIPPED,
    id="dc/lemC.4-variance-values",
    items=("LemC.4", "Eq1", "Eq7"),
    title="One layer of ReLU, erf and tanh: values of the variances of both kernels",
    statement=r"\mathbb{E}\,\sigma(u)^2\sigma(v)^2 - \hat\sigma(\rho)^2, \quad"
    r" \ldots + 2\rho\,\mathrm{Cov}(\sigma\sigma, \sigma'\sigma') +"
    r" \rho^2 (3\,\mathbb{E}\,\sigma'(u)^2\sigma'(v)^2 - \hat\sigma'(\rho)^2)",
    assumptions=("one hidden layer, one output", "normalised activations"),
    source=ours("Lemma C.4 and equation 7, at finite width"),
    cases=grid(activation=("relu", "erf", "tanh"), rho=(-0.7, 0.0, 0.5, 0.95, 1.0)),
    predict=_predict_one_layer,
    measure=_measure_one_layer,
    # Some twenty roundings of 1.1e-16 on either side, twice over where a variance of a half
    # is left of a mean square and a square that add up to two.
    compare=AgreesTo(relative=1e-14),
    must_refute=changed(
        _measure_one_layer,
        "The second moment of the outgoing weight's square taken for one.",
        fourth=1,
    ),
    uses=("dc/lemC.4-variance",),
)


def _predict_waves(*, apart: float, depth: int) -> list[float]:
    return _corrections(act.sin, 1.0 - apart, depth)


def _waves_of_length_one(*, apart: float, depth: int) -> list[float]:
    """The unit scaled so that inputs keep their length, and its kernel scaled back."""
    return _scaled_back(act.sin, 1.0 - apart, depth)


def _sines(units: Sequence[int], p: Any, c: Any) -> Any:
    """E of a product of sines of u_0 and u_1, variances p: cosines of sums, averaged."""
    total = mpmath.mpf(0)
    for signs in itertools.product((1, -1), repeat=len(units)):
        n, m = (
            sum(s for s, u in zip(signs, units, strict=True) if u == i) for i in (0, 1)
        )
        total += math.prod(signs) * mpmath.exp(
            -((n * n + m * m) * p + 2 * n * m * c) / 2
        )
    return (-1) ** (len(units) // 2) * total / 2 ** len(units)


def _measure_waves(*, apart: float, depth: int) -> list[Any]:
    """Mean and covariance of K, layer by layer, from F's first two derivatives."""
    places = ((0, 0), (0, 1), (1, 1))
    pairs = list(itertools.product(range(3), repeat=2))
    with mpmath.workprec(BITS):
        k = [mpmath.mpf(1), mpmath.mpf(1.0 - apart), mpmath.mpf(1)]
        mean, spread = [mpmath.mpf(0)] * 3, [[mpmath.mpf(0)] * 3] * 3
        for _ in range(depth):
            f = [_sines(place, k[0], k[1]) for place in places]
            rise, own = mpmath.exp(-k[0]) * mpmath.cosh(k[1]), mpmath.exp(-2 * k[0])
            # F_aa = (1 - exp(-2 K_aa)) / 2; of F_01 both derivatives in K_01 are its own.
            first = [[own, 0, 0], [-f[1] / 2, rise, -f[1] / 2], [0, 0, own]]
            middle = [[f[1] / 4, -rise / 2, f[1] / 4], [-rise / 2, f[1], -rise / 2]]
            second = [
                [[-2 * own, 0, 0], [0, 0, 0], [0, 0, 0]],
                [*middle, middle[0]],
                [[0, 0, 0], [0, 0, 0], [0, 0, -2 * own]],
            ]
            mean = [
                mpmath.fdot(row, mean)
                + sum(h[i][j] * spread[i][j] for i, j in pairs) / 2
                for row, h in zip(first, second, strict=True)
            ]
            spread = [
                [
                    _sines(places[a] + places[b], k[0], k[1])
                    - f[a] * f[b]
                    + sum(first[a][i] * spread[i][j] * first[b][j] for i, j in pairs)
                    for b in range(3)
                ]
                for a in range(3)
            ]
            k = f
        return [mean[1], spread[1][1], spread[0][0]]


WAVES = replace(
    CLIPPED,
    id="dc/eq1-close-width",
    title="Sines of inputs that are nearly one: kernels to order 1/width",
    statement=r"\lim_{m \to \infty} m\,(\mathbb{E}\,K^{(m)} - K) = \tfrac12\,"
    r" \partial^2 F : \mathrm{Cov}(\sigma \sigma^T), \quad"
    r" F_{ab} = e^{-(K_{aa} + K_{bb})/2} \sinh K_{ab}",
    # Of lengths' own derivatives a third layer is the first to ask.
    assumptions=("activation sin", "two or three hidden layers, one output"),
    cases=grid(apart=(1.0, 1e-3, 1e-6, 1e-12), depth=(2, 3)),
    predict=_predict_waves,
    measure=_measure_waves,
    # The promise of `theory.width`, and the limit's rounding.
    compare=AgreesTo(relative=1e-12, absolute=2e-16),
    must_refute=_waves_of_length_one,
)
