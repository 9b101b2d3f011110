"""Identities of duals, kernels and normalisation, in symbols."""

from functools import cache
from math import factorial
from typing import Any

import sympy

from theory import activations as act
from theory import conditioning, kernels, lengths
from verify.claims._symbolic import Link, proof
from verify.claims.deep_conditioning._sources import ours, quoted

r, q, g, h, s, t, m, n = sympy.symbols("rho q g h s t m n", positive=True)
c = sympy.Symbol("c", real=True)

# --- moments of two correlated normals ------------------------------------------------


def _odd_factorial(order: int) -> int:
    """E X^order."""
    return 0 if order % 2 else int(sympy.factorial2(order - 1))


def _mean(polynomial: Any, x: Any, y: Any) -> Any:
    """E of a polynomial in two independent standard normals, with q^2 = 1 - rho^2."""
    found = sum(
        coefficient * _odd_factorial(a) * _odd_factorial(b)
        for (a, b), coefficient in sympy.Poly(sympy.expand(polynomial), x, y).terms()
    )
    return sympy.expand(found).subs(q**2, 1 - r**2).subs(q**4, (1 - r**2) ** 2)


def _hermite(order: int, z: Any, variance: Any) -> Any:
    """H_j^gamma from its generating function exp(t z - gamma t^2/2)."""
    low, high = sympy.Integer(1), z
    if order == 0:
        return low
    for k in range(1, order):
        low, high = high, sympy.expand(z * high - k * variance * low)
    return high


_MOST = 4


@cache
def _products() -> tuple[Any, ...]:
    """E H_j^{g^2}(g X) H_k^{h^2}(h Y) of correlated X, Y."""
    x, y = sympy.symbols("x y")
    other = h * (r * x + q * y)
    return tuple(
        _mean(_hermite(j, g * x, g**2) * _hermite(k, other, h**2), x, y)
        for j in range(_MOST)
        for k in range(_MOST)
    )


def _orthogonal(order: int) -> list[Any]:
    return [
        factorial(j) * (g * h * r**order) ** j if j == k else sympy.Integer(0)
        for j in range(_MOST)
        for k in range(_MOST)
    ]


def _quadratic() -> list[Any]:
    """Dual of n h_1 + m h_2, with m^2 = mu and n^2 = 1 - mu."""
    x, y = sympy.symbols("x y")

    def activation(z: Any) -> Any:
        return n * z + m * (z**2 - 1) / sympy.sqrt(2)

    return [_mean(activation(x) * activation(r * x + q * y), x, y)]


# --- the tangent kernel ---------------------------------------------------------------

_LAYERS = 4
_K = sympy.symbols(f"k_:{_LAYERS + 1}")
_SLOPES = sympy.symbols(f"s_:{_LAYERS}")


def _summed(first: int) -> list[Any]:
    """Sum over layers h of K_h and the slopes from h + `first` on."""
    return [
        sum(_K[j] * sympy.prod(_SLOPES[j + first :]) for j in range(_LAYERS + 1)),
        (r ** (_LAYERS + 1) - 1) / (r - 1),
    ]


def _recursive() -> list[Any]:
    total, diagonal = _K[0], sympy.Integer(1)
    for layer in range(_LAYERS):
        total = _K[layer + 1] + _SLOPES[layer] * total
        diagonal = 1 + r * diagonal
    return [total, diagonal]


def _tangent_links() -> list[Link]:
    # rho^2 for the dual, 2 rho for its slope: three layers.
    total = r**8 + 2 * r**4 * (r**4 + 2 * r**2 * (r**2 + 2 * r * r))
    square = act.hermite(2)
    return [
        Link(lambda x: kernels.ntk_map(x, square, 3), total, {r: (0.1, 1.0)}),
        Link(
            lambda slope: conditioning.ntk_diagonal(_LAYERS, slope),
            _summed(0)[1],
            {r: (1.1, 3.0)},
        ),
    ]


# --- normalisation --------------------------------------------------------------------

_Z = sympy.symbols("z_:3")


def _normalised(values: tuple[Any, ...]) -> list[Any]:
    """Products of two normalised entries, and so all of them up to one sign."""
    mean = sum(values) / 3
    variance = sum((v - mean) ** 2 for v in values) / 3
    return [(values[0] - mean) * (v - mean) / variance for v in values]


# --- NormReLU -------------------------------------------------------------------------


def _density(x: Any) -> Any:
    return sympy.exp(-(x**2) / 2) / sympy.sqrt(2 * sympy.pi)


def _upper(x: Any) -> Any:
    return (1 - sympy.erf(x / sympy.sqrt(2))) / 2


_FIRST = _density(c) - c * _upper(c)  # E (X - c)_+ = -b
_SECOND = (1 + c**2) * _upper(c) - c * _density(c)  # E (X - c)_+^2
_VARIANCE = _SECOND - _FIRST**2


def _length() -> Any:
    """Squared length at gamma = s^2, over lambda^2."""
    one = s * _density(c / s) - c * _upper(c / s)
    b = -_FIRST
    return (s**2 + c**2) * _upper(c / s) - c * s * _density(c / s) + 2 * b * one + b**2


def _slope(part: int) -> Any:
    return _upper(c / s) - part * _FIRST * _density(c / s) / s


def _constants_links() -> list[Link]:
    return [
        Link(lambda x: act.normrelu_constants(x).shift, -_FIRST, {c: (-3.0, 2.0)}),
        Link(
            lambda x: act.normrelu_constants(x).scale ** -2.0,
            _VARIANCE,
            {c: (-3.0, 2.0)},
        ),
    ]


CLAIMS = (
    proof(
        id="dc/lemD.5-proof",
        items=("LemD.5", "Eq14"),
        title="Hermite polynomials of two variances are orthogonal up to order three"
        " (symbolic proof)",
        statement=r"\mathbb{E}\, H_j^{\gamma}(z) H_k^{\gamma'}(z') ="
        r" j!\, (\gamma \gamma')^{j/2} \rho^j 1\{j = k\}",
        source=quoted("Equation 14 and Lemma D.5"),
        derived=lambda: list(_products()),
        formula=lambda: _orthogonal(1),
        wrong=lambda: _orthogonal(2),
        mistake="The squared correlation in the place of the correlation",
        links=lambda: [
            Link(lambda x, k=k: act.hermite(k).dual(x), r**k, {r: (-1.0, 1.0)})
            for k in range(1, _MOST)
        ],
        uses=("dc/lemD.5",),
        assumptions=("orders below four",),
    ),
    proof(
        id="dc/thm3.2-quadratic",
        items=("LemC.5", "Thm3.2", "DefC.1"),
        title="The quadratic activation's dual attains the one-layer bound, for every mu",
        statement=r"\sigma = \sqrt{1 - \mu}\, h_1 + \sqrt\mu\, h_2: \quad"
        r" \hat\sigma(\rho) = \rho (1 - \mu (1 - \rho))",
        source=ours("Lemma C.5 (its sharpness)"),
        derived=_quadratic,
        formula=lambda: [n**2 * r + m**2 * r**2],
        wrong=lambda: [n**2 * r + 2 * m**2 * r**2],
        mistake="The polynomial x^2 - 1 in the place of the normalised h_2",
        links=lambda: [
            Link(
                lambda x, mu: conditioning.one_layer_bound(1.0 - x, mu, middle=True),
                (1 - m) * r + m * r**2,
                {r: (0.0, 1.0), m: (0.0, 1.0)},
            )
        ],
        uses=("dc/lemC.5",),
    ),
    proof(
        id="dc/lemC.5-every",
        items=("LemC.5", "LemC.7", "Thm3.2"),
        title="Of all activations with the same mu, the quadratic one separates inputs"
        " least",
        statement=r"\frac{1 - r^k}{1 - r} - (1 + r) ="
        r" \frac{r^2 (1 - r^{k-2})}{1 - r} \ge 0,\ k \ge 2 \;\Rightarrow\;"
        r" |\hat\sigma(\rho)| \le |\rho| (1 - \mu (1 - |\rho|))",
        source=ours("Lemma C.5 (every activation)"),
        # s stands for r^(k-2).
        derived=lambda: [(1 - r**2 * s) / (1 - r) - (1 + r)],
        formula=lambda: [r**2 * (1 - s) / (1 - r)],
        wrong=lambda: [r * (1 - s) / (1 - r)],
        mistake="Powers of the correlation one lower",
        links=lambda: [
            Link(
                lambda x, mu: (
                    (1.0 - conditioning.one_layer_bound(1.0 - x, mu, middle=True))
                    / (1.0 - x)
                ),
                (1 - m) + m * (1 + r),
                {r: (0.0, 0.9), m: (0.0, 1.0)},
            )
        ],
        assumptions=("energies are non-negative and sum to one: linear in each",),
        uses=("dc/thm3.2-quadratic",),
        finding=(
            "With dc/thm3.2-induction this proves Theorem 3.2 for every activation and"
            " depth."
        ),
    ),
    proof(
        id="dc/lemC.14-every",
        title="Of all activations with the same mu, the quadratic one's slope falls least",
        statement=r"\frac ND - \frac{2\mu}{1 + \mu} ="
        r" \frac{(1 - \mu)(N - 2\mu)}{(1 + \mu) D} \ge 0,\quad"
        r" N = \sum_{k \ge 2} k a_k^2 \ge 2\mu,\ D = 1 - \mu + N",
        source=ours("Lemma C.14 (sharpened, every activation)"),
        derived=lambda: [n / (1 - m + n) - 2 * m / (1 + m)],
        formula=lambda: [(1 - m) * (n - 2 * m) / ((1 + m) * (1 - m + n))],
        wrong=lambda: [(1 - m) * (n - m) / ((1 + m) * (1 - m + n))],
        mistake="n - m in the place of n - 2 m",
        links=lambda: [
            Link(
                lambda d, mu: 1.0 - conditioning.derivative_bound(d, mu),
                2 * m / (1 + m) * r,
                {r: (0.0, 1.0), m: (0.0, 1.0)},
            )
        ],
        uses=("dc/lemC.14-sharp",),
        assumptions=("1 - r^(k-1) >= 1 - r for every k >= 2",),
    ),
    proof(
        id="dc/eq7-proof",
        title="The tangent kernel's sum over four layers equals its recursion (symbolic"
        " proof)",
        statement=r"\sum_{h=0}^{L} K^{(h)} \prod_{h' = h}^{L-1} \dot K^{(h')}:\quad"
        r" T_{l+1} = K_{l+1} + \dot K_l T_l, \quad T_{11} ="
        r" \frac{D^{L+1} - 1}{D - 1}",
        source=quoted("Equation 7"),
        derived=_recursive,
        formula=lambda: _summed(0),
        wrong=lambda: _summed(1),
        mistake="The product of slopes from one layer further on",
        links=_tangent_links,
        uses=("dc/eq7",),
        assumptions=("four hidden layers",),
    ),
    proof(
        id="dc/lem2.1-proof",
        items=("Lem2.1", "Eq5", "Eq6"),
        title="Batch and layer normalisation of three entries absorb shift and scale"
        " (symbolic proof)",
        statement=r"\tilde z = (z - t)/s:\quad \frac{(\tilde z_1 - \bar{\tilde z})"
        r"(\tilde z_k - \bar{\tilde z})}{\operatorname{Var} \tilde z} ="
        r" \frac{(z_1 - \bar z)(z_k - \bar z)}{\operatorname{Var} z}",
        source=quoted("Lemma 2.1, equations 5 and 6"),
        derived=lambda: _normalised(tuple((z - t) / s for z in _Z)),
        formula=lambda: _normalised(_Z),
        wrong=lambda: [e / s**2 for e in _normalised(_Z)],
        mistake="Products divided by the squared scale",
        # The library's own shift and scale.
        links=lambda: [
            Link(
                lambda z: act.relu.normalized()(z),
                (s - 1 / sympy.sqrt(2 * sympy.pi)) / sympy.sqrt((1 - 1 / sympy.pi) / 2),
                {s: (0.1, 3.0)},
            )
        ],
        uses=("dc/lem2.1", "dc/eq6"),
        assumptions=("three entries: of a batch (5) or of a layer (6)", "s > 0"),
    ),
    proof(
        id="dc/eq4-proof",
        title="NormReLU's scale and shift centre and normalise it (symbolic proof)",
        statement=r"\frac{d}{dc} \mathbb{E} (X - c)_+ = -\Phi(-c),\quad"
        r" \frac{d}{dc} \mathbb{E} (X - c)_+^2 = -2 \mathbb{E} (X - c)_+,\quad"
        r" \frac{d}{dc} \lambda^{-2} = 2 b\, \Phi(c)",
        source=quoted("Equation 4"),
        derived=lambda: [sympy.diff(e, c) for e in (_FIRST, _SECOND, _VARIANCE)],
        formula=lambda: [-_upper(c), -2 * _FIRST, -2 * _FIRST * _upper(-c)],
        wrong=lambda: [-_upper(c), -2 * _FIRST, -2 * _FIRST * _upper(c)],
        mistake="The other tail of the Gaussian in the derivative of the variance",
        links=_constants_links,
        assumptions=("both moments vanish as c tends to infinity",),
        uses=("dc/eq4",),
        finding="Since b < 0 the scale increases with the kink, everywhere.",
    ),
    proof(
        id="dc/I.len-proof",
        title="The slope of NormReLU's length map is its derivative (symbolic proof)",
        statement=r"\frac{d}{d\gamma} \frac{\hat\sigma_0(\gamma)}{\lambda^2} ="
        r" \Phi(-c/s) + \frac{b\, \varphi(c/s)}{s}, \quad"
        r" \hat\sigma_0'(1) - 1 = -\lambda^2 c\, b\, \Phi(c)",
        source=quoted("Appendix I"),
        derived=lambda: [
            sympy.diff(_length(), s) / (2 * s),
            _slope(1).subs(s, 1) - _VARIANCE,
        ],
        formula=lambda: [_slope(1), c * _FIRST * _upper(-c)],
        wrong=lambda: [_slope(2), c * _FIRST * _upper(-c)],
        mistake="Twice the density in the slope",
        links=lambda: [
            Link(
                lambda size, x: lengths.normrelu_length_slope(size * size, x),
                _slope(1) / _VARIANCE,
                {s: (0.5, 2.0), c: (-2.0, 1.0)},
            ),
            Link(
                lambda size, x: lengths.normrelu_length(size * size, x),
                _length() / _VARIANCE,
                {s: (0.5, 2.0), c: (-2.0, 1.0)},
            ),
        ],
        uses=("dc/I.len-slope",),
        finding="Unit length is stable exactly for negative kinks.",
    ),
)
