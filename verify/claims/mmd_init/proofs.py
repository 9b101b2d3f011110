"""Moments and closed forms, integrated and summed in symbols."""

from functools import cache, partial
from typing import Any

import numpy as np
import sympy

from theory import mmd
from verify.claims._symbolic import Link, proof
from verify.claims.mmd_init._sources import ours, quoted

d, n, k, g, p, u, s = sympy.symbols("d n k gamma p u s", positive=True)
lam = sympy.Symbol("lambda", negative=True)
_SIZES = {n: (1.0, 60.0)}


# --- laws -----------------------------------------------------------------------------


def _moment() -> list[Any]:
    z = sympy.Symbol("z", real=True)
    density = sympy.exp(-(z**2) / 2) / sympy.sqrt(2 * sympy.pi)
    found = sympy.integrate(sympy.exp(lam * z**2) * density, (z, -sympy.oo, sympy.oo))
    # Its square, without the centre's factor: a rational function.
    return [sympy.simplify(found) ** 2]


def _simplex_moments() -> list[Any]:
    """Moments of Dirichlet(1, ..., 1) from Euler's integral, and its entries' law."""

    def power(order: int) -> Any:
        """E u_1^k = (d - 1) B(k + 1, d - 1)."""
        beta = sympy.gamma(order + 1) * sympy.gamma(d - 1) / sympy.gamma(d + order)
        return sympy.gammasimp((d - 1) * beta)

    variance = power(2) - power(1) ** 2
    law = sympy.integrate(k * s ** (k - 1), (s, 1 - p, 1)).subs(k, d - 1)
    # The entries add up to one: d variances and d (d - 1) covariances to zero.
    return [power(1), variance, -variance / (d - 1), law]


def _simplex_formula(shift: int) -> list[Any]:
    below = d**2 * (d + shift)
    return [1 / d, (d - 1) / below, -1 / below, 1 - (1 - p) ** (d - 2 + shift)]


def _simplex_links() -> list[Link]:
    """Compare laws, and whole numbers: all moments times d^2 (d + 1)."""

    def mean(size: float) -> float:
        return mmd.simplex_mean(int(size)) * size**2 * (size + 1.0)

    def covariance(place: int, size: float) -> float:
        return mmd.simplex_covariance(int(size))[place, 0] * size**2 * (size + 1.0)

    library = (mean, partial(covariance, 0), partial(covariance, -1))
    *moments, law = _simplex_formula(1)
    laws = [
        Link(
            partial(mmd.simplex_cdf, classes=size),
            law.subs(d, size),
            {p: (0.0, 1.0)},
            relative=1e-15,
        )
        for size in (2, 3, 10)
    ]
    return laws + [
        Link(
            function,
            sympy.cancel(formula * d**2 * (d + 1)),
            {d: (2.0, 12.0)},
            whole=True,
            relative=1e-15,
        )
        for function, formula in zip(library, moments, strict=True)
    ]


def _row_moments() -> list[Any]:
    """Of n squares w^2 b: E b = E b^2 = q, E w^2 = v, E w^4 = 3 v^2."""
    q, v = sympy.symbols("q v", positive=True)
    mean, square = q * v, 3 * q * v**2
    he = {q: sympy.Rational(1, 2), v: 2 / n}
    return [(n * mean).subs(he), (n * (square - mean**2)).subs(he)]


def _row_links() -> list[Link]:
    return [
        Link(
            lambda size, name=name: getattr(mmd.jacobian_row_moments(int(size)), name),
            value + 0 * n,
            _SIZES,
            whole=True,
        )
        for name, value in (("mean", sympy.Integer(1)), ("variance", 5 / n))
    ]


def _energy() -> list[Any]:
    """Sum of the variances s^2/n_in of the weights and s^2/n_out of the biases."""
    a, b, c = sympy.symbols("a b c", positive=True)
    return [
        sum(
            rows * columns * s**2 / columns + rows * s**2 / rows
            for columns, rows in ((a, b), (b, c))
        )
    ]


def _energy_formula(bias: int) -> list[Any]:
    b, c = sympy.symbols("b c", positive=True)
    return [s**2 * ((b + bias) + (c + bias))]


# --- the discrepancy ------------------------------------------------------------------


@cache
def _kernel() -> tuple[Any, Any, Any]:
    """Symmetric kernels of three and two points, one value on each diagonal."""

    def square(size: int, name: str) -> Any:
        return sympy.Matrix(
            size,
            size,
            lambda i, j: (
                k if i == j else sympy.Symbol(f"{name}_{min(i, j)}{max(i, j)}")
            ),
        )

    cross = sympy.Matrix(3, 2, sympy.symbols("c_:6"))
    return square(3, "x"), square(2, "y"), cross


def _estimates(part: int) -> list[Any]:
    """Biased less unbiased; `part` of the gap that a diagonal leaves."""
    xx, yy, cross = _kernel()

    def biased(m: Any) -> Any:
        return sum(m) / (m.rows * m.cols)

    def unbiased(m: Any) -> Any:
        return (sum(m) - m.trace()) / (m.rows * (m.rows - 1))

    if part == 0:
        both = [mean(xx) - 2 * biased(cross) + mean(yy) for mean in (biased, unbiased)]
        return [both[0] - both[1]]
    return [sum((k - unbiased(m)) / (m.rows + 1 - part) for m in (xx, yy))]


def _estimate_links() -> list[Link]:
    a, b, c = sympy.symbols("a b c", real=True)

    def gap(x: Any, y: Any) -> Any:
        # Of (x, 1 - x) and (y, 1 - y) at bandwidth 1/2.
        return sympy.exp(-4 * (x - y) ** 2)

    # Two points each: one pair off the diagonal.
    value = (1 - gap(a, b)) / 2 + (1 - gap(c, 0)) / 2
    box = dict.fromkeys((a, b, c), (0.0, 1.0))
    return [
        Link(
            lambda x, y, z: mmd.estimator_gap(
                [[x, 1.0 - x], [y, 1.0 - y]], [[z, 1.0 - z], [0.0, 1.0]], 0.5
            ),
            value,
            box,
        )
    ]


def _segment() -> list[Any]:
    # k = exp(-(p - u)^2/gamma^2).
    embedding = sympy.integrate(sympy.exp(-((p - u) ** 2) / g**2), (u, 0, 1))
    mean = sympy.integrate(embedding, (p, 0, 1))
    return [sympy.expand(e.rewrite(sympy.erf)) for e in (embedding, mean)]


def _segment_formula(root: Any) -> list[Any]:
    embedding = g * root / 2 * (sympy.erf(p / g) + sympy.erf((1 - p) / g))
    mean = g * root * sympy.erf(1 / g) - g**2 * (1 - sympy.exp(-1 / g**2))
    return [embedding.expand(), mean.expand()]


def _segment_links() -> list[Link]:
    embedding, mean = _segment_formula(sympy.sqrt(sympy.pi))
    widths = (0.125, 2.0)
    return [
        Link(mmd.segment_embedding, embedding, {p: (0.0, 1.0), g: widths}),
        Link(mmd.segment_kernel_mean, mean, {g: widths}),
        Link(
            mmd.segment_embedding_derivative,
            sympy.diff(embedding, p),
            {p: (0.0, 1.0), g: widths},
        ),
    ]


# --- norms ----------------------------------------------------------------------------


def _distances() -> list[Any]:
    """Larger squared distance of (p, 1 - p) from a vertex: max by its half sum."""
    x, y = 2 * (1 - p) ** 2, 2 * p**2
    first, second = (sympy.sqrt(2) * (1 - p), sympy.sqrt(2) * p)
    return [
        (1 - p) ** 2 + (1 - p) ** 2 - x,
        p**2 + p**2 - y,
        (first + second) / 2 - 1 / sympy.sqrt(2),
        first - second,
    ]


def _supremum(factor: int) -> list[Any]:
    """Lagrange's identity in three dimensions."""
    j, x = sympy.symbols("j_:3"), sympy.symbols("x_:3")
    along = sum(a * b for a, b in zip(j, x, strict=True))
    if factor == 0:
        return [sum(a**2 for a in j) * sum(b**2 for b in x) - along**2]
    pairs = ((0, 1), (0, 2), (1, 2))
    return [
        sum((j[a] * x[b] - j[b] * x[a]) ** 2 for a, b in pairs) * sympy.Integer(factor)
    ]


def _detachment(a: float, b: float, c: float) -> float:
    """Loss of one layer whose two classes have the gradient (a, b, c)."""
    return mmd.detachment_loss([np.array([[[a, b, c]] * 2])])


CLAIMS = (
    proof(
        id="mmd/lem1-proof",
        title=(
            "The exponential moment of a squared normal variable, by integration"
            " (symbolic proof)"
        ),
        statement=r"\big(\mathbb{E}\,e^{\lambda z^2}\big)^2 = \frac1{1 - 2\lambda}",
        source=quoted("Proof of Lemma 1, first display"),
        derived=_moment,
        formula=lambda: [1 / (1 - 2 * lam)],
        wrong=lambda: [1 / (1 - lam)],
        mistake="lambda in the place of 2 lambda",
        links=lambda: [
            Link(
                mmd.chi_square_log_moment,
                -lam - sympy.log(1 - 2 * lam) / 2,
                {lam: (-2.0, -0.1)},
            )
        ],
        assumptions=("lambda < 0; both sides are analytic up to 1/2",),
        uses=("mmd/lem1-moment",),
    ),
    proof(
        id="mmd/eq1-moments",
        items=("Eq1", "Eq2"),
        title="Law, variances and covariances of uniform points, for every dimension",
        statement=r"\mathbb{E} u_i = \frac1d, \quad \operatorname{Var} u_i ="
        r" \frac{d - 1}{d^2 (d + 1)}, \quad \operatorname{Cov}(u_i, u_j) ="
        r" -\frac1{d^2 (d + 1)}, \quad P(u_i \le t) = 1 - (1 - t)^{d - 1}",
        source=ours("Equation 2; the moments are ours"),
        derived=_simplex_moments,
        formula=lambda: _simplex_formula(1),
        wrong=lambda: _simplex_formula(0),
        mistake="Denominators of d in the place of d + 1, and a law of d - 2",
        links=_simplex_links,
        uses=("mmd/eq2-uniform",),
    ),
    proof(
        id="mmd/thm3-proof",
        title=(
            "Mean and variance of a masked row's squared norm, for every width"
            " (symbolic proof)"
        ),
        statement=r"\mathbb{E} = 1, \quad \operatorname{Var} = \frac5n, \quad"
        r" \sigma^2 = \frac2n",
        source=ours("Proof of Theorem 3; the variance is ours"),
        derived=_row_moments,
        formula=lambda: [sympy.Integer(1), 5 / n],
        wrong=lambda: [sympy.Integer(1), 2 / n],
        mistake="The variance for weights of variance 1/n and units that are all on",
        links=_row_links,
        assumptions=("weights independent normal, units on with probability 1/2",),
        uses=("mmd/thm3",),
    ),
    proof(
        id="mmd/sigma-proof",
        title=(
            "The mean squared norm of the noise, for every width and scale (symbolic proof)"
        ),
        statement=r"\mathbb{E} \|\epsilon\|^2 = s^2 \sum_k (n_k + 1)",
        source=ours("Section 3.3; the sums are ours"),
        derived=_energy,
        formula=lambda: _energy_formula(1),
        wrong=lambda: _energy_formula(0),
        mistake="The norm without the noise on biases",
        links=lambda: [
            Link(
                lambda b, c, size: mmd.noise_rule((7, int(b), int(c)), size).energy,
                _energy_formula(1)[0],
                {
                    **dict.fromkeys(sympy.symbols("b c", positive=True), (1.0, 40.0)),
                    s: (1.0, 4.0),
                },
                whole=True,
            )
        ],
        assumptions=("two layers",),
        uses=("mmd/sigma",),
    ),
    proof(
        id="mmd/est-proof",
        title=(
            "What the diagonal terms add to the MMD estimate, for every kernel"
            " (symbolic proof)"
        ),
        statement=r"V - U = \frac1M (k(0) - \bar k_{xx}) + \frac1N (k(0) - \bar k_{yy})",
        source=ours("Equation 9 with appendix C.1; the relation is ours"),
        derived=lambda: _estimates(0),
        formula=lambda: _estimates(1),
        wrong=lambda: _estimates(2),
        mistake="Each sample smaller by one point in the denominators",
        links=_estimate_links,
        assumptions=("three and two points",),
        uses=("mmd/est",),
    ),
    proof(
        id="mmd/seg-proof",
        title="The kernel means on the segment, by integration (symbolic proof)",
        statement=r"h_\gamma(p) = \frac{\gamma\sqrt\pi}2 \Big[\mathrm{erf}\frac p\gamma"
        r" + \mathrm{erf}\frac{1 - p}\gamma\Big], \quad \mathbb{E}\,k = \gamma\sqrt\pi\,"
        r"\mathrm{erf}\frac1\gamma - \gamma^2 (1 - e^{-1/\gamma^2})",
        source=ours("Appendix C.1; the closed form is ours"),
        derived=_segment,
        formula=lambda: _segment_formula(sympy.sqrt(sympy.pi)),
        wrong=lambda: _segment_formula(sympy.sqrt(sympy.pi) / sympy.sqrt(2)),
        mistake="The factor in front too small by the root of two",
        links=_segment_links,
        assumptions=("points (p, 1 - p), whose distance is sqrt(2) |p - u|",),
        uses=("mmd/seg-embedding", "mmd/seg-mean"),
    ),
    proof(
        id="mmd/eq14-segment-proof",
        items=("Eq14", "SdFloor"),
        title=(
            "For two classes, the degeneracy loss is the mean's distance from 1/2"
            " (symbolic proof)"
        ),
        statement=r"\max(\sqrt2 (1 - p), \sqrt2 p) - \frac1{\sqrt2} ="
        r" \sqrt2 \Big|p - \tfrac12\Big|",
        source=ours("Equation 14; the identity is ours"),
        derived=_distances,
        formula=lambda: [
            sympy.Integer(0),
            sympy.Integer(0),
            sympy.Integer(0),
            -2 * sympy.sqrt(2) * (p - sympy.Rational(1, 2)),
        ],
        wrong=lambda: [
            sympy.Integer(0),
            sympy.Integer(0),
            sympy.Integer(0),
            -2 * (p - sympy.Rational(1, 2)),
        ],
        mistake="The distance without the root of two",
        links=lambda: [
            Link(
                lambda v: mmd.segment_degeneracy_loss([[v]]),
                sympy.sqrt(2) * sympy.Abs(p - sympy.Rational(1, 2)),
                {p: (0.0, 1.0)},
            ),
            Link(
                lambda v: mmd.degeneracy_loss([[[v, 1.0 - v]]]),
                sympy.sqrt(2) * sympy.Abs(p - sympy.Rational(1, 2)),
                {p: (0.0, 1.0)},
            ),
        ],
        assumptions=("max(a, b) = (a + b + |a - b|)/2",),
        uses=("mmd/eq14-segment",),
    ),
    proof(
        id="mmd/eq15-proof",
        items=("Eq15", "Eq16", "Eq17", "Eq18", "Eq19"),
        title="The largest change along a unit vector is the row's norm (symbolic proof)",
        statement=r"\|J\|^2 \|\xi\|^2 - (J \xi)^2 ="
        r" \sum_{i < j} (J_i \xi_j - J_j \xi_i)^2 \ge 0",
        source=ours("Equations 15 to 19; the identity is ours"),
        derived=lambda: _supremum(0),
        formula=lambda: _supremum(1),
        wrong=lambda: _supremum(2),
        mistake="Each pair of entries counted twice",
        links=lambda: [
            Link(
                _detachment,
                (1 - sympy.sqrt(sum(e**2 for e in sympy.symbols("j_:3")))) ** 2,
                dict.fromkeys(sympy.symbols("j_:3"), (-1.0, 1.0)),
            )
        ],
        assumptions=("three entries; zero for parallel vectors alone",),
        uses=("mmd/eq15",),
    ),
)
