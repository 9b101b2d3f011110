"""Kernels layer by layer: maps of one correlation, laws of raw layers, deep networks."""

import math
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np

from theory import activations as act
from theory import kernels
from verify.claim import grid, numeric
from verify.claims._predictors import mistake, plus
from verify.claims.deep_conditioning import _recursions as recursion
from verify.claims.deep_conditioning._sources import ours, quoted
from verify.claims.deep_conditioning._subjects import law, normalised, subject
from verify.claims.deep_conditioning.kernels import _pairs as pairs
from verify.compare import AgreesTo, Array

_OPPOSITE = -0.95


def _predict_kernels(*, activation: str, depth: int) -> list[float]:
    x, a = _points(), normalised(activation)
    both = (kernels.nngp(x, a, depth), kernels.ntk(x, a, depth))
    pairs = np.triu_indices(len(x))
    cosines = kernels.correlation(x * np.array([[1.0], [2.0], [0.5], [3.0]]))
    # And nearly opposite inputs, from the two maps.
    maps = (kernels.nngp_map, kernels.ntk_map)
    far = [float(of(_OPPOSITE, a, depth)) for of in maps]
    return [*far, *(float(v) for k in (*both, cosines) for v in k[pairs])]


def _points() -> Array:
    return recursion.unit_points(4, 3, 1.0, 5)


def _measure_kernels(*, activation: str, depth: int) -> list[Any]:
    gram, found = recursion.exact_gram(4, 3, 1.0, 5), law(activation)
    cosines = [gram[i, j] for i in range(4) for j in range(i, 4)]
    top = [recursion.correlations(found, r, depth)[-1] for r in cosines]
    tangent = [recursion.tangent(found, r, depth) for r in (_OPPOSITE, *cosines)]
    far = recursion.correlations(found, _OPPOSITE, depth)[-1]
    return [far, tangent[0], *top, *tangent[1:], *cosines]


EQ1 = numeric(
    id="dc/eq1-matrices",
    items=("Eq1", "Eq7", "AsmA"),
    title="Top-layer and tangent kernel matrices and cosines, entry by entry",
    statement=r"K_{ij} = \hat\sigma^{(L)}(\rho_{ij}), \quad T_{ij} = \sum_{h=1}^{L+1}"
    r" \hat\sigma^{(h-1)} \prod_{l=h}^{L} \hat\sigma'(\hat\sigma^{(l-1)})",
    assumptions=("unit inputs", "normalised"),
    source=quoted("Equations 1 and 7"),
    cases=grid(activation=("relu", "tanh", "hard_tanh", "gelu"), depth=(1, 4)),
    predict=_predict_kernels,
    measure=_measure_kernels,
    # 1e-12 of the recursion; cosines of float64 rows to 3 ulp, with slope 2 a layer.
    compare=AgreesTo(relative=1e-12, absolute=1e-13),
    must_refute=mistake("One hidden layer too many.", depth=plus(1)),
    uses=("dc/eq7",),
)


def _predict_between(*, activation: str, depth: int, step: int = 1) -> list[float]:
    x, a = _points(), normalised(activation)
    # Sixteen times over and once more, in the second block of rows.
    many = np.concatenate([*[x[:4]] * 16, x[1:2]])
    found = kernels.nngp_ntk(x[:2], a, depth, y=x[1:][::step])
    other = kernels.nngp_ntk(many, a, depth, y=x[1:])
    # So many rows that a block of them is cut, all but the last of 64.
    square = kernels.nngp_ntk(np.tile(x[[2, 3, 0, 1]], (260, 1)), a, depth)
    parts = [k.ravel() for k in found]
    parts += [k[-1] for k in other] + [
        k[[63, -1]][:, [67, 64, 65, 63]].ravel() for k in square
    ]
    return [float(v) for part in parts for v in part]


def _measure_between(*, activation: str, depth: int) -> list[Any]:
    gram, found = recursion.exact_gram(4, 3, 1.0, 5), law(activation)
    cosines = [gram[i, j] for i in range(2) for j in range(1, 4)]
    top = [recursion.correlations(found, r, depth)[-1] for r in cosines]
    slow = [recursion.tangent(found, r, depth) for r in cosines]
    second = [values[3:] for values in (top, slow)]
    rest = [v for values in second for v in values]
    rest += [v for values in second for v in (*values, values[0]) * 2]
    return [*top, *slow, *rest]


BETWEEN = replace(
    EQ1,
    id="dc/eq1-between",
    title="Kernels between two sets of unit inputs, one in both, and of a thousand inputs",
    statement=r"K(x_i, y_j) = \hat\sigma^{(L)}(x_i \cdot y_j)",
    cases=grid(activation=("relu", "tanh"), depth=(1, 2, 5)),
    predict=_predict_between,
    measure=_measure_between,
    must_refute=mistake("The second set in reverse order.", step=-1),
    uses=("dc/eq1-matrices",),
)


_RHOS = (-0.9, -0.3, 0.0, 0.5, 0.99)
_TURNS = (1e-11, 1e-6, 1e-2, 3.14)


def _correlations(activation: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return correlations and angles, up to the ends where the law of tanh is not known."""
    return (_RHOS, ()) if activation == "tanh" else ((-1.0, *_RHOS, 0.999, 1.0), _TURNS)


def _predict_deep(
    *, weight_var: float, bias_var: float, depth: int, activation: str = "erf"
) -> list[float]:
    a = subject(activation.removeprefix("-"))
    # The mean of a layer is negative: the kernel is that of the function itself.
    a = act.Affine(a, -1.0, 0.0) if activation.startswith("-") else a
    variances: dict[str, Any] = {"weight_var": weight_var, "bias_var": bias_var}
    rhos, turns = _correlations(activation)
    rho = np.array(rhos)
    found = [
        of(rho, a, depth, **variances) for of in (kernels.nngp_map, kernels.ntk_map)
    ]
    for turn in turns:
        rows = pairs.rows(1.0, 1.0, turn)
        for normalized in (False, True):
            both = kernels.nngp_ntk(rows, a, depth, normalized=normalized, **variances)
            found.append(np.array([k[0, 1] for k in both]))
    return [float(v) for each in found for v in each]


def _measure_deep(
    *, weight_var: float, bias_var: float, depth: int, activation: str = "erf"
) -> list[Any]:
    """Arcsines (Williams 1997), or another formula, layer by layer at 256 bits."""
    variances: dict[str, Any] = {"weight_var": weight_var, "bias_var": bias_var}
    law = pairs.LAWS[activation.removeprefix("-")]

    def between(*products: Any) -> tuple[Any, Any]:
        first = pairs.affine(pairs.State(products, products), **variances)
        end = pairs.recursion(law, first, depth, **variances)[-1]
        return end.k[2], end.t[2]

    rhos, turns = _correlations(activation)
    one, rows = mpmath.mpf(1), [pairs.rows(1.0, 1.0, turn) for turn in turns]
    top, slow = zip(*(between(one, one, mpmath.mpf(r)) for r in rhos), strict=True)
    turned = [between(*pairs.start(*row).k) for row in rows]
    # Over the diagonal, which is that of the last.
    each = [(k, t, k, t / slow[-1]) for k, t in turned]
    return [*top, *slow, *(v for values in each for v in values)]


EQ1_RAW = numeric(
    id="dc/eq1-raw",
    items=("Eq1", "Eq7", "D.0"),
    title="Kernels of unnormalised activations, with biases, whose lengths change by layer",
    statement=r"K^{(l)} = \sigma_w^2 \hat\sigma(K^{(l-1)}; \gamma_{l-1}, \gamma_{l-1})"
    r" + \sigma_b^2, \quad \mathrm{erf:}\ \hat\sigma = \tfrac2\pi \arcsin"
    r" \tfrac{2 K^{(l-1)}}{1 + 2 \gamma_{l-1}}",
    assumptions=("unit inputs", "not normalised"),
    source=ours("Equations 1 and 7"),
    cases=(
        {"weight_var": 1.3, "bias_var": 0.1, "depth": 60},
        {"weight_var": 1.3, "bias_var": 0.1, "depth": 2},
        {"weight_var": 1.0, "bias_var": 0.0, "depth": 4},
        # Weights alone of a function without mean; and layers that take inputs apart
        # which are closer than tables reach.
        {"weight_var": 1.3, "bias_var": 0.0, "depth": 3},
        {"weight_var": 3.0, "bias_var": 0.1, "depth": 60},
        {"weight_var": 1.3, "bias_var": 0.1, "depth": 3, "activation": "-gelu"},
        *grid(
            activation=("relu", "tanh", "gelu"),
            weight_var=1.0,
            bias_var=0.0,
            depth=(1, 3),
        ),
    ),
    predict=_predict_deep,
    measure=_measure_deep,
    # 1e-12 of the recursion; near zero of what it adds up, a tenth and more.
    compare=AgreesTo(relative=1e-12, absolute=1e-13),
    must_refute=mistake("One hidden layer too many.", depth=plus(1)),
    uses=("dc/defC.1-unequal",),
    version=2,
)

_CLOSE = (2.0**-53, 2.0**-51, 2.0**-47, 2.0**-40)
_FAR = (0.5, 1e-9, -0.5, -0.99)

_LINE = (math.sqrt(15 / 16), 0.25)
"""Hermite coefficients of a line, neither even nor odd."""


def _raised_wave() -> act.Activation:
    """Return -1 - cos x, nowhere positive; as even as rounding leaves it."""
    return act.from_function(
        lambda x: np.where(x > 0.0, 1.0 + 2.0**-52, 1.0) * -(1.0 + np.cos(x))
    )


def _predict_apart(
    *,
    waves: int,
    powers: int,
    first: int = 0,
    odd: int = 0,
    lines: int = 0,
    raised: bool = False,
) -> list[float]:
    def polynomials(count: int) -> list[kernels.Layer]:
        return [kernels.Layer(act.hermite(30))] * count

    # A variance of weights that keeps the length at one.
    cosine = _raised_wave() if raised else act.cos
    wave = kernels.Layer(cosine, weight_var=1.0 / cosine.second_moment)
    sine = kernels.Layer(act.sin, weight_var=1.0 / act.sin.second_moment)
    network = [*polynomials(first), *[wave] * waves, *polynomials(powers)]
    network = [
        *[sine] * odd,
        *[kernels.Layer(act.HermiteMixture(_LINE))] * lines,
        *network,
    ]
    near = 1.0 - np.array(_CLOSE)
    rho = np.concatenate([near, -near, _FAR])
    top = kernels.nngp_map(rho, network)
    return [*top, *kernels.ntk_map(rho, network, normalized=True)]


def _measure_apart(
    *,
    waves: int,
    powers: int,
    first: int = 0,
    odd: int = 0,
    lines: int = 0,
    raised: bool = False,
) -> list[Any]:
    """cosh(rho) / cosh(1), rho^30 and sinh(rho) / sinh(1), layer by layer to 60 digits."""
    with mpmath.workdps(60):
        more = mpmath.e + 2 * mpmath.exp(0.5) if raised else mpmath.mpf(0)
        one = more + mpmath.cosh(1)
        cosine = (
            lambda r: (more + mpmath.cosh(r)) / one,
            lambda r: mpmath.sinh(r) / one,
        )
        power = (lambda r: r**30, lambda r: 30 * r**29)
        size = mpmath.sinh(1)
        sine = (lambda r: mpmath.sinh(r) / size, lambda r: mpmath.cosh(r) / size)
        mean = mpmath.mpf(_LINE[0]) ** 2
        line = (lambda r: mean + (1 - mean) * r, lambda _: 1 - mean)
        steps = (
            [sine] * odd
            + [line] * lines
            + [power] * first
            + [cosine] * waves
            + [power] * powers
        )
        top: list[Any] = []
        slow: list[Any] = []
        near = [1 - mpmath.mpf(delta) for delta in _CLOSE]
        for rho in (*near, *(-rho for rho in near), *_FAR):
            f, t, whole = mpmath.mpf(rho), mpmath.mpf(rho), mpmath.mpf(1)
            for value, slope in steps:
                f, t = value(f), value(f) + t * slope(f)
                whole = 1 + whole * slope(1)
            top.append(f)
            slow.append(t / whole)
        return top + slow


EQ1_APART = numeric(
    id="dc/eq1-apart",
    items=("Eq1", "Eq7"),
    title="Close inputs that some layers bring together and later ones take apart",
    statement=r"K^{(l+1)} = \frac{\cosh K^{(l)}}{\cosh 1},\ \frac{\sinh K^{(l)}}{\sinh 1}"
    r" \text{ or } (K^{(l)})^{30}, \quad 1 - \rho \ge 2^{-53}",
    assumptions=(
        "cosines and sines of second moment one, and Hermite polynomials of order 30",
        "or one more than the cosine in its place",
    ),
    source=ours("Equations 1 and 7"),
    cases=(
        *grid(waves=40, powers=(11, 12)),
        {"waves": 60, "powers": 9, "first": 5},
        # Odd layers before even ones.
        {"waves": 1, "powers": 0, "odd": 2},
        # The distance of opposite inputs as well.
        {"waves": 0, "powers": 15, "lines": 18},
        # An even function that is known by its values alone.
        {"waves": 1, "powers": 10, "raised": True},
    ),
    predict=_predict_apart,
    measure=_measure_apart,
    # The library's promise: 1e-12 of the diagonal.
    compare=AgreesTo(absolute=1e-12),
    must_refute=mistake("One wave more.", waves=plus(1)),
    uses=("dc/eq1-raw",),
)

_GAP = 6e-7


def _predict_nearly(*, sphere: bool, apart: float = _GAP) -> list[float]:
    x = [[2.0, 0.0], [0.0, 2.0 + apart]]
    k = kernels.nngp(x, act.erf, 1, sphere=sphere)
    return [k[0, 0], k[1, 1] - k[0, 0]]


def _measure_nearly(*, sphere: bool) -> list[Any]:
    """2/pi asin(2 q / (1 + 2 q)), of a square that is the mean of both on a sphere."""
    with mpmath.workdps(40):
        squares = [mpmath.mpf(4), mpmath.mpf(2.0 + _GAP) ** 2]
        if sphere:
            squares = [mpmath.fsum(squares) / 2] * 2
        one, two = (2 / mpmath.pi * mpmath.asin(2 * q / (1 + 2 * q)) for q in squares)
        return [one, two - one]


EQ1_NEARLY = numeric(
    id="dc/eq1-nearly",
    items=("Eq1", "D.0"),
    title="Inputs of nearly one length have their own, or the mean of both on a sphere",
    statement=r"K_{ii} = \tfrac2\pi \arcsin \tfrac{2 |x_i|^2}{1 + 2 |x_i|^2}, \quad"
    r" |x_2| = |x_1| + 6 \cdot 10^{-7}",
    source=ours("Equation 1"),
    cases=grid(sphere=(False, True)),
    predict=_predict_nearly,
    measure=_measure_nearly,
    # Entries below one, each of a dozen roundings of 1.1e-16.
    compare=AgreesTo(absolute=1.4e-15),
    must_refute=mistake("Twice as far apart.", apart=2.0 * _GAP),
    uses=("dc/eq1-lengths",),
)

_SMALL = 1e-9


def _nearly_linear(rest: float) -> dict[str, list[float]]:
    """Hermite coefficients of order one and three, the second's square nearly `rest`."""
    return {"a": [0.0, math.sqrt(1.0 - rest), 0.0, math.sqrt(rest)]}


def _predict_millions(*, rest: float, depth: int) -> list[float]:
    a = normalised(_nearly_linear(rest))
    top = kernels.nngp_map(_SMALL, a, depth)
    return [top / _SMALL, kernels.ntk_map(_SMALL, a, depth) / _SMALL]


def _measure_millions(*, rest: float, depth: int) -> list[Any]:
    """Of rho so small that (1 - e) rho + e rho^3 is a line."""
    with mpmath.workdps(60):
        one, three = (mpmath.mpf(v) ** 2 for v in _nearly_linear(rest)["a"][1::2])
        e = three / (one + three)
        top = (1 - e) ** depth
        return [top, (depth + 1) * top]


EQ7_MILLIONS = numeric(
    id="dc/eq7-millions",
    items=("Eq1", "Eq7"),
    title="Kernels of nearly orthogonal inputs after millions of nearly linear layers",
    statement=r"\hat\sigma(\rho) = (1 - \epsilon) \rho + \epsilon \rho^3, \quad"
    r" \rho \to 0: \ K = (1 - \epsilon)^L \rho, \quad"
    r" T = (L + 1) (1 - \epsilon)^L \rho",
    source=ours("Equations 1 and 7"),
    cases=(
        {"rest": 1e-3, "depth": 10**4},
        {"rest": 1e-5, "depth": 10**6},
        {"rest": 1e-6, "depth": 10**6},
    ),
    predict=_predict_millions,
    measure=_measure_millions,
    # 1e-12 of the recursion.
    compare=AgreesTo(relative=1e-12),
    must_refute=mistake("A tenth of the layers too many.", depth=lambda n: n + n // 10),
    uses=("dc/eq1-raw",),
)


_AT = (-0.6, 1e-9, 0.3, 0.9, 1.0 - 1e-6)


def _composing(rest: float, *, mean: bool) -> dict[str, list[float]]:
    """Hermite coefficients whose squares are 1 - q times powers of q, or q first."""
    own = 1.0 - rest if mean else math.sqrt(1.0 - rest)
    high = [own * math.sqrt(rest ** (k - 1)) for k in range(1, 14)]
    return {"a": [math.sqrt(rest) if mean else 0.0, *high]}


def _predict_composed(*, rest: float, mean: bool, depth: int) -> list[float]:
    a = act.HermiteMixture(tuple(_composing(rest, mean=mean)["a"]))
    rho = np.append(_AT, 1.0)
    top = kernels.nngp_map(rho, a, depth)
    slow = kernels.ntk_map(rho, a, depth, normalized=True)
    return [*(top / top[-1])[:-1], *slow[:-1]]


def _measure_composed(*, rest: float, mean: bool, depth: int) -> list[Any]:
    """By w = rho / (1 - rho), or its inverse: a layer multiplies it, or adds to it."""
    top: list[Any] = []
    slow: list[Any] = []
    with mpmath.workdps(60):
        q = mpmath.mpf(rest)
        for rho in map(mpmath.mpf, _AT):
            if mean:
                # d -> d / (1 + b), b = q d / (1 - q): after l layers d / (1 + l b).
                d, n = 1 - rho, mpmath.mpf(depth)
                b = q * d / (1 - q)
                first, second = n * (n + 1) / 2, n * (n + 1) * (2 * n + 1) / 6
                # Of rho_l (1 + l b)^2 = (1 + l b)^2 - d (1 + l b).
                total = (n + 1) * (1 - d) + (2 * b - d * b) * first + b * b * second
                top.append(1 - d / (1 + n * b))
                slow.append(total / (1 + n * b) ** 2 / (n + 1))
                continue
            w, share = rho / (1 - rho), (1 - q) ** depth
            last = 1 + share * w
            # Of (1 - q)^(L - l) (w_l + w_l^2), w_l = (1 - q)^l w.
            total = (depth + 1) * w + w * w * (1 - share * (1 - q)) / q
            steep = 1 / (1 - q)
            whole = (steep ** (depth + 1) - 1) / (steep - 1)
            top.append(share * w / last)
            slow.append(share * total / last**2 / whole)
    return top + slow


EQ7_COMPOSED = numeric(
    id="dc/eq7-composed",
    items=("Eq1", "Eq7"),
    title="Both kernels of up to ten billion layers whose duals compose in closed form",
    statement=r"\frac{\hat\sigma}{1 - \hat\sigma} = (1 - q) \frac{\rho}{1 - \rho}"
    r" \ \Rightarrow\ \frac{K}{1 - K} = (1 - q)^L \frac{\rho}{1 - \rho}; \quad"
    r" \frac{1}{1 - \hat\sigma} = \frac{1}{1 - \rho} + \frac{q}{1 - q}"
    r" \ \Rightarrow\ \frac{1}{1 - K} = \frac{1}{1 - \rho} + \frac{L q}{1 - q}",
    assumptions=(
        "squares of Hermite coefficients (1 - q) q^(k-1), k >= 1",
        "or q and (1 - q)^2 q^(k-1), as far as q^12",
    ),
    source=ours("Equations 1 and 7"),
    cases=(
        {"rest": 1e-2, "mean": False, "depth": 2000},
        {"rest": 1e-5, "mean": False, "depth": 10**6},
        {"rest": 1e-9, "mean": False, "depth": 10**10},
        {"rest": 1e-2, "mean": True, "depth": 1000},
        {"rest": 1e-7, "mean": True, "depth": 10**9},
    ),
    predict=_predict_composed,
    measure=_measure_composed,
    # 1e-12 of the recursion; squares of rounded coefficients, 2e-16 of 20 in the exponent.
    compare=AgreesTo(relative=1e-12),
    must_refute=mistake(
        "A billionth of the layers, and one, more.", depth=lambda n: n + 1 + n // 10**9
    ),
    uses=("dc/eq1-raw",),
)
