"""What else can be asked of activations: given as functions, or at many variances."""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import mpmath
import numpy as np
from scipy import special

from theory import activations as act
from theory import hermite, kernels, spectrum
from verify.claim import grid, numeric
from verify.claims._predictors import always, mistake, plus, times
from verify.claims.deep_conditioning._sources import ours, quoted
from verify.claims.deep_conditioning._subjects import (
    NORMRELU,
    law,
    measured,
    normalised,
    subject,
)
from verify.compare import AgreesTo, Array, AtMost, Identical
from verify.integrals import BITS


def _hinge(corner: float) -> tuple[Callable[[Array], Array], tuple[float, ...]]:
    return (lambda x: np.maximum(x - corner, 0.0)), (corner,)


_FUNCTIONS: dict[str, tuple[Callable[[Array], Array], tuple[float, ...]]] = {
    "tanh": (np.tanh, ()),
    "exp": (np.exp, ()),
    "erf": (special.erf, ()),
    # Nearly a step, whose place is not named.
    "erf(100 x)": (lambda x: special.erf(100.0 * x), ()),
    "relu": _hinge(0.0),
    "relu6": (lambda x: np.clip(x, 0.0, 6.0), (0.0, 6.0)),
    "selu": (act.selu, (0.0,)),
    # Corners that equal panels have inside.
    **{f"normrelu({c})": _hinge(c) for c in (-2.2, -0.7, 0.3, 0.7, 1.4)},
}
"""A function and where it has kinks, by the name of its law."""
_ORDER = 8

# --- coefficients -----------------------------------------------------------------------


def _predict_coefficients(
    *, name: str, order: int = _ORDER, kinks: bool = True
) -> Array:
    function, places = _FUNCTIONS[name]
    return hermite.coefficients(function, order, places if kinks else ())


def _measure_coefficients(*, name: str, order: int = _ORDER) -> list[Any]:
    if order > _ORDER:
        return _of_high_order(name, order)
    if name == "erf(100 x)":
        return _of_steep(mpmath.mpf(100))
    return [law(name).coefficient(k) for k in range(_ORDER + 1)]


def _of_high_order(name: str, order: int) -> list[Any]:
    """E (X - c)_+ h_k = phi(c) h_{k-2}(c) / sqrt(k(k - 1)), or sqrt(e / k!) of exp."""
    with mpmath.workprec(BITS):
        if name == "exp":
            sizes = map(mpmath.factorial, range(order + 1))
            return [mpmath.sqrt(mpmath.e / size) for size in sizes]
        c = mpmath.mpf(float(name.removeprefix("normrelu(")[:-1]))
        phi, above = mpmath.npdf(c), mpmath.ncdf(-c)
        low, high, found = mpmath.mpf(0), mpmath.mpf(1), [phi - c * above, above]
        for k in range(2, order + 1):
            found.append(phi * high / mpmath.sqrt(k * (k - 1)))
            low, high = high, (c * high - mpmath.sqrt(k - 2) * low) / mpmath.sqrt(k - 1)
        return found


def _of_steep(c: Any) -> list[Any]:
    """From E e^{-c^2 (Z + y)^2} ~ e^{-b y^2}, b = c^2 / (1 + 2 c^2), at y = 0."""
    with mpmath.workprec(BITS):
        b, f = c * c / (1 + 2 * c * c), mpmath.factorial
        size = 2 * c / mpmath.sqrt(mpmath.pi * (1 + 2 * c * c))
        found = [mpmath.mpf(0)] * (_ORDER + 1)
        for j in range(_ORDER // 2):
            derivative = size * (-b) ** j * f(2 * j) / f(j)
            found[2 * j + 1] = derivative / mpmath.sqrt(f(2 * j + 1))
        return found


COEFFICIENTS = numeric(
    id="dc/tab2-coefficients-callable",
    items=("Tab2", "C.4"),
    title="Hermite coefficients of functions given by values, on panels that end at kinks",
    statement=r"a_k = \mathbb{E}[\sigma(Z) h_k(Z)], \quad k \le 8, \text{ or up to } 6000",
    source=quoted("Appendix C, Hermite expansion"),
    cases=(
        *grid(name=tuple(_FUNCTIONS)),
        # Of the highest order waves are so short that panels are divided.
        *grid(name=("normrelu(0.7)", "exp"), order=(30, 120, 6000)),
    ),
    predict=_predict_coefficients,
    measure=_measure_coefficients,
    # Sums of a thousand rounded terms below one; polynomials of order 8 below 30.
    compare=AgreesTo(relative=1e-13, of_largest=True),
    must_refute=mistake("Panels that run across the kinks.", kinks=False),
    uses=("dc/tab2-coefficients",),
)

# --- lengths ----------------------------------------------------------------------------


_SQUARES = (1e-3, 0.5, 1.0, 4.0)


def _predict_slopes(*, squares: list[float]) -> Array:
    return np.asarray(
        act.from_function(special.erf, name="erf").length_map_derivative(squares)
    )


def _measure_slopes(*, squares: list[float]) -> list[Any]:
    """Differentiate the closed form of E erf(sqrt(q) Z)^2 numerically, to 30 digits."""

    def length(q: Any) -> Any:
        return 2 * mpmath.asin(2 * q / (1 + 2 * q)) / mpmath.pi

    with mpmath.workprec(BITS):
        return [mpmath.diff(length, mpmath.mpf(q)) for q in squares]


def _wrong_slopes(*, squares: list[float]) -> Array:
    """E (s')^2, the slope of the dual in the place of that of the length."""
    a = act.from_function(special.erf, name="erf")
    return np.array([a.scaled(q).derivative_second_moment / q for q in squares])


SLOPES = numeric(
    id="dc/lemD.3-callable",
    title="The slope of a length map by quadrature, of erf given by its values",
    statement=r"\frac{d}{dq} \mathbb{E}\,\sigma(\sqrt q Z)^2 ="
    r" \mathbb{E}[\sigma(\sqrt q Z)\, \sigma'(\sqrt q Z)\, Z] / \sqrt q",
    source=ours("Lemma D.3"),
    cases=grid(squares=([*_SQUARES],)),
    predict=_predict_slopes,
    measure=_measure_slopes,
    # The derivative of what is given is taken numerically, to 1e-12 of the function.
    compare=AgreesTo(relative=1e-11),
    must_refute=_wrong_slopes,
    uses=("dc/defC.1",),
)

_MANY = 10.0 ** np.linspace(-8.0, 1.0, 100)
"""Variances that are asked for at once: beyond 64 they share quadratures."""
_TRIED = (0, 66, 81, 99)
_WIDER = 2.0
"""The variance at which an activation is normalised for the second time."""


def _predict_many(
    *, activation: str, alone: bool, twice: bool = False, sooner: int = 0
) -> Array:
    at = [max(k - sooner, 0) for k in _TRIED]
    name = _SLOPES.get(activation, activation)
    a = subject(name) if name == activation else subject(name).derivative
    if twice:
        a = a.normalized().scaled(_WIDER).normalized()
    q, at = (_MANY[at], slice(None)) if alone else (_MANY, at)
    both = a.length_map(q), a.length_map_derivative(q)
    return np.concatenate([np.asarray(each)[at] for each in both])


def _measure_many(*, activation: str, alone: bool, twice: bool = False) -> list[Any]:
    del alone
    return _normalised_again(activation) if twice else _by_definition(activation)


@lru_cache(maxsize=1)
def _by_definition(activation: str) -> list[Any]:
    """E s(r Z)^2 and, by the rule for E[Z f(Z)], E s(r Z)^2 (Z^2 - 1) / 2 r^2."""
    squared = _SQUARED[activation]

    def moments(q: Any) -> tuple[Any, Any]:
        @cache  # both integrals have the same nodes
        def density(z: Any) -> Any:
            return squared(mpmath.sqrt(q) * z) * mpmath.npdf(z)

        cuts = [0, 1, 2, 4, 8, 12]
        bent = mpmath.quad(lambda z: density(z) * (z * z - 1), cuts)
        return mpmath.quad(density, cuts), bent / (2 * q)

    # Half of the digits of slopes are lost to the smallest variance.
    with mpmath.workdps(35):
        found = [moments(mpmath.mpf(float(_MANY[k]))) for k in _TRIED]
    lengths, slopes = zip(*found, strict=True)
    return [*lengths, *slopes]


def _normalised_again(activation: str) -> list[Any]:
    """The same of f(sqrt(w) x), less its mean m, over its deviation, by formulas.

    E (f(r Z) - m)^2 is E f(r Z)^2 - 2 m E f(r Z) + m^2, whatever was added to f before.
    """
    average, energy = _FORMULAS[activation]
    with mpmath.workdps(50):
        w = mpmath.mpf(_WIDER)
        m = average(w)

        def length(q: Any) -> Any:
            about = energy(w * q) - 2 * m * average(w * q) + m * m
            return about / (energy(w) - m * m)

        squares = [mpmath.mpf(float(_MANY[k])) for k in _TRIED]
        # In log q, so that steps are small beside the smallest variance.
        slopes = [
            mpmath.diff(lambda t: length(mpmath.exp(t)), mpmath.log(q)) / q
            for q in squares
        ]
        return [*map(length, squares), *slopes]


_FORMULAS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "cos": (lambda q: mpmath.exp(-q / 2), lambda q: (1 + mpmath.exp(-2 * q)) / 2),
    "relu": (lambda q: mpmath.sqrt(q / (2 * mpmath.pi)), lambda q: q / 2),
}
"""E f(sqrt(q) Z) and E f(sqrt(q) Z)^2."""


def _log1p_exp(x: Any) -> Any:
    return mpmath.log1p(mpmath.exp(x))


_SQUARED: dict[str, Callable[[Any], Any]] = {
    "tanh": lambda x: 2 * mpmath.tanh(x) ** 2,
    "sech^2": lambda x: 2 * mpmath.sech(x) ** 4,
    "softsign": lambda x: 2 * (x / (1 + x)) ** 2,
    # The only one that is not zero at zero, beside which its slopes are small.
    "softplus": lambda x: _log1p_exp(x) ** 2 + _log1p_exp(-x) ** 2,
}
"""s(x)^2 + s(-x)^2 at positive x."""
_SLOPES = {"sech^2": "tanh"}
"""A function of which no derivative is known, and whose it is."""

MANY = numeric(
    id="dc/lemD.3-many",
    title="Length maps and their slopes at a hundred variances at once, and at a few",
    statement=r"\mathbb{E}\,\sigma(\sqrt q Z)^2, \quad"
    r" \frac{\mathbb{E}[\sigma(\sqrt q Z)^2 (Z^2 - 1)]}{2q}",
    source=ours("Lemma D.3"),
    cases=(
        *grid(activation=tuple(_SQUARED), alone=False),
        *grid(activation="softplus", alone=True),
        *grid(activation=tuple(_FORMULAS), alone=False, twice=True),
    ),
    predict=_predict_many,
    measure=_measure_many,
    # Chebyshev series in log q, to 1e-13 of the length; a slope is a few times smaller.
    compare=AgreesTo(relative=1e-12),
    must_refute=mistake("The variance before.", sooner=1),
    uses=("dc/lemD.3-callable",),
)

_WIDE = np.geomspace(0.01, 90.0, 100)
"""Up to where E exp(-2 sqrt(q) Z) is made 19 deviations to the left."""


def _predict_wide(*, rate: float) -> Array:
    a = act.from_function(lambda x: np.exp(-rate * x), name="exp(-x)")
    return np.log(np.asarray(a.length_map(_WIDE / rate**2)))


def _measure_wide(*, rate: float) -> Array:
    del rate
    return 2.0 * _WIDE


def _squared_mean(*, rate: float) -> Array:
    """The square of the mean for the mean of the square."""
    del rate
    return _WIDE


WIDE = numeric(
    id="dc/lemD.3-wide",
    title="Length maps at a hundred variances of a function that grows to the left alone",
    statement=r"\log \mathbb{E}\, e^{-2 a \sqrt q Z} = 2 a^2 q, \quad a^2 q \le 90",
    source=ours("Lemma D.3"),
    cases=grid(rate=(1.0, 9.5)),
    predict=_predict_wide,
    measure=_measure_wide,
    # A dozen roundings of a length are absolute in its logarithm.
    compare=AgreesTo(absolute=1e-12),
    must_refute=_squared_mean,
    uses=("dc/lemD.3-many",),
)

# --- the error that is stated -----------------------------------------------------------

_RHO = np.linspace(-0.9, 0.9, 7)


@lru_cache(maxsize=3)
def _stating(values: str) -> Any:
    """ReLU, whose moments have closed forms, or tanh in single precision, or 1000 tanh."""
    if values == "closed":
        return act.relu
    size = 1e3 if values == "large" else 1.0
    return act.from_function(
        lambda x: size * np.tanh(x.astype(np.float32)).astype(np.float64),
        tolerance=1e-5,
        name="single",
    )


def _predict_within(*, values: str, share: float = 3.0) -> Array:
    a = _stating(values)
    error = share * a.quadrature_error * a.second_moment
    dual = np.asarray(a.dual(_RHO))
    return np.concatenate([dual + error, error - dual])


def _measure_within(*, values: str) -> list[Any]:
    exact = law("relu" if values == "closed" else "tanh")
    square = 1e6 if values == "large" else 1.0
    dual = [square * exact.dual(float(rho)) for rho in _RHO]
    return [*dual, *(-value for value in dual)]


STATED = numeric(
    id="dc/defC.1-stated-error",
    title="A dual errs by at most three times what it states, in single precision, too",
    statement=r"|d(\rho) - \hat\sigma(\rho)| \le 3\, \epsilon\, \mathbb{E}\,\sigma(Z)^2",
    assumptions=("d is the dual that is computed, epsilon the error that is stated",),
    source=ours("Definition C.1"),
    cases=grid(values=("closed", "single", "large")),
    predict=_predict_within,
    measure=_measure_within,
    # Where the error is said to be zero, it is that of a few roundings.
    compare=AtMost(rounding=4e-16),
    must_refute=mistake("A tenth of the stated error.", share=0.1),
    uses=("dc/defC.1", "dc/defC.1-callable"),
    finding=(
        "An estimate, no bound: it compares two quadratures, whose errors may be alike by"
        " chance. Of functions with noise that neither resolves the error may be several"
        " times as large as is said."
    ),
)

# --- normalised duals, degrees and derivatives ------------------------------------------

_RHOS = (-1.0, -0.4, 1e-6, 0.7, 1.0)


_DELTAS = (1e-18, 1e-6, 0.1, 1.0, 1.5, 2.0)


def _predict_normalised(*, activation: str) -> Array:
    a = normalised(activation)
    return np.concatenate([a.dual(np.array(_RHOS)), a.distance_map(np.array(_DELTAS))])


def _measure_normalised(*, activation: str) -> list[Any]:
    return [
        *measured("normalised_dual", _RHOS, activation=activation),
        *measured("normalised_distance", _DELTAS, activation=activation),
    ]


def _uncentred(*, activation: str) -> Array:
    """Both over E sigma^2, of the activation with its mean left in."""
    a = subject(activation)
    dual = np.asarray(a.dual(np.array(_RHOS))) / a.second_moment
    return np.concatenate([dual, a.distance_map(np.array(_DELTAS))])


NORMALISED = numeric(
    id="dc/defC.1-normalised",
    title="Duals and distances of normalised activations, without the mean's cancellation",
    statement=r"\rho \mapsto \frac{\hat\sigma(\rho) - a_0^2}{\mathrm{Var}\, \sigma}, \quad"
    r" \delta \mapsto \frac{\hat\sigma(1) - \hat\sigma(1 - \delta)}"
    r"{\mathrm{Var}\, \sigma}, \quad 10^{-18} \le \delta \le 2",
    source=ours("Definition C.1"),
    cases=grid(activation=("gaussian", "exp", "relu", "cos", "tanh", NORMRELU)),
    predict=_predict_normalised,
    measure=_measure_normalised,
    # Relative, also where rho is 1e-6 and the dual 1e-12, and whichever series or
    # integral a distance takes.
    compare=AgreesTo(relative=1e-12),
    must_refute=_uncentred,
    uses=("dc/defC.1", "dc/defC.1-distance"),
    version=2,
)


def _predict_waves(*, activation: str, var: float) -> Array:
    return np.asarray(subject(activation).scaled(var).normalized().dual(_BETWEEN))


_BETWEEN = np.array([-1.0, -0.99, -0.4, 1e-3, 0.7, 1.0])


def _measure_waves(*, activation: str, var: float) -> list[Any]:
    with mpmath.workprec(BITS):
        v = mpmath.mpf(var)
        size = mpmath.sinh(v) if activation == "sin" else mpmath.sinh(v / 2) ** 2

        def between(rho: Any) -> Any:
            if activation == "sin":
                return mpmath.sinh(v * rho)
            return mpmath.sinh(v * rho / 2) ** 2

        return [between(mpmath.mpf(rho)) / size for rho in _BETWEEN.tolist()]


WAVES = numeric(
    id="dc/defC.1-normalised-waves",
    title="Normalised duals of waves at variances from a hundredth to 900",
    statement=r"\frac{\sinh \gamma\rho}{\sinh \gamma} \text{ of the sine,}"
    r" \quad \frac{\cosh \gamma\rho - 1}{\cosh \gamma - 1} \text{ of the cosine}",
    source=ours("Definition C.1, by the formula for E e^{iX}"),
    cases=grid(activation=("sin", "cos"), var=(0.01, 30.0, 900.0)),
    predict=_predict_waves,
    measure=_measure_waves,
    # At a variance of 900 a rounding of rho is 900 of them in the exponent, and some values
    # leave float64.
    compare=AgreesTo(relative=1e-12, absolute=5e-324),
    must_refute=mistake("Half of the variance.", var=times(0.5)),
    uses=("dc/defC.1-normalised",),
)


def _predict_degree(*, activation: str, more: int = 0) -> int | None:
    found = normalised(activation).degree
    return None if found is None else found + more


def _measure_degree(*, activation: str) -> int | None:
    """The last of twenty energies that is not zero; none where the twentieth is one."""
    energies = [law(activation).coefficient(k) ** 2 for k in range(1, 21)]
    found = [k for k, energy in enumerate(energies, start=1) if energy > 1e-40]
    return None if found[-1] > 18 else found[-1]


DEGREE = numeric(
    id="dc/tab1-degree",
    title="Which activations are polynomials, and of which degree",
    statement=r"\hat\sigma(\rho) = \sum_{k \le n} a_k^2 \rho^k",
    source=ours("Appendix C.4, beyond its table"),
    cases=grid(
        activation=("identity", "hermite(1)", "hermite(2)", "hermite(5)", "relu", "sin")
    ),
    predict=_predict_degree,
    measure=_measure_degree,
    compare=Identical(),
    must_refute=mistake("A degree more.", more=1),
    uses=("dc/tab1",),
)


def _predict_finite(*, activation: str) -> list[bool]:
    """And whether the tangent kernel, its series and its spectrum are given."""
    s = subject(activation)
    first = s.derivative
    finite = (bool(np.isfinite(a.second_moment)) for a in (first, first.derivative))
    tangents = (
        lambda: kernels.ntk_map(0.5, s, 2),
        lambda: spectrum.taylor_coefficients(s, 2, 4, kernel="ntk"),
        lambda: spectrum.ntk_eigenvalues(s, 2, 1, 3),
        lambda: spectrum.degree_shares(s, 2, 1, 3, kernel="ntk"),
    )
    return [*finite, *map(_is_given, tangents)]


def _is_given(ask: Callable[[], Any]) -> bool:
    try:
        ask()
    except ValueError:
        return False
    return True


def _measure_finite(*, activation: str) -> list[bool]:
    """Whether energies of derivatives, sums of k a_k^2 and k (k-1) a_k^2, come to an end.

    With a jump they grow like the root of the number of terms, by 1.41 as it doubles.
    """
    a = [law(activation).coefficient(k) ** 2 for k in range(2 * _TERMS)]
    weights = (lambda k: k, lambda k: k * (k - 1))
    sums = [[w(k) * v for k, v in enumerate(a)] for w in weights]
    once, twice = (sum(each) < 1.2 * sum(each[:_TERMS]) for each in sums)
    return [bool(v) for v in (once, twice, *[once] * 4)]


_TERMS = 128

FINITE = numeric(
    id="dc/defC.1-square-integrable",
    title="Which activations have square-integrable first and second derivatives",
    statement=r"\mathbb{E}\,\sigma'(Z)^2 = \sum_k k\, a_k^2 < \infty, \quad"
    r" \mathbb{E}\,\sigma''(Z)^2 = \sum_k k (k - 1)\, a_k^2 < \infty",
    source=ours("Definition C.1"),
    cases=grid(activation=("step", "sign", "relu", "hard_tanh")),
    predict=_predict_finite,
    measure=_measure_finite,
    compare=Identical(),
    must_refute=always([True] * 6, "Square-integrable derivatives of every order."),
    uses=("dc/defC.1-derivative",),
)


def _predict_one_sided(
    *, power: float, sign: int, at: float = 0.0, other: float = 1.0
) -> float:
    def slope(x: Array) -> Array:
        beyond = sign * (x - at)
        steep = np.maximum(beyond, 1e-300) ** (power - 1.0)
        return sign * power * np.where(beyond > 0.0, steep, 0.0)

    a = act.from_function(
        lambda x: np.maximum(sign * (x - at), 0.0) ** power,
        # Two more that are none.
        kinks=(at - 0.5, at, at + 0.3),
        derivative=None if other == 1.0 else slope,
        name="power",
        tolerance=1e-12 if other == 1.0 else 1e-9,
    )
    if other == 1.0:
        return a.derivative_second_moment
    return a.dual_derivative(1.0, var_y=other)


def _measure_one_sided(
    *, power: float, sign: int, at: float = 0.0, other: float = 1.0
) -> Any:
    """E (Z - c)_+^q = Gamma(q + 1) e^(-c^2/4) D_(-q-1)(c) / sqrt(2 pi)."""
    with mpmath.workdps(20):
        p, c, root = mpmath.mpf(power), sign * mpmath.mpf(at), mpmath.sqrt(other)
        if other == 1.0:
            size = mpmath.gamma(2 * p - 1) * mpmath.exp(-c * c / 4)
            return p * p * size * mpmath.pcfd(1 - 2 * p, c) / mpmath.sqrt(2 * mpmath.pi)

        def product(z: Any) -> Any:
            # At the other variance the slope is infinite below c.
            return mpmath.npdf(z) * ((z - c) * (root * z - c)) ** (p - 1)

        return root * p * p * mpmath.quad(product, [c, 4, 10])


ONE_SIDED = numeric(
    id="dc/defC.1-one-sided",
    title="The slope's energy of a power on one side of a kink where the slope is infinite",
    statement=r"\mathbb{E}\,\sigma'(Z)^2 = p^2\, \Gamma(2p - 1) e^{-c^2/4}"
    r" D_{1 - 2p}(\pm c) / \sqrt{2 \pi}, \quad \sigma(x) = \max(\pm (x - c), 0)^p,"
    r" \quad \sqrt v\, \mathbb{E}\,\sigma'(Z)\, \sigma'(\sqrt v Z)",
    assumptions=("p > 1/2", "D is the parabolic cylinder function"),
    source=ours("Definition C.1"),
    cases=(
        *grid(power=(0.7, 0.9), sign=(-1, 1)),
        *grid(power=0.9, sign=(-1, 1), at=(0.6, -30.0 / 64.0)),
        # Beside the slope at another variance, which is infinite at another place.
        {"power": 0.7, "sign": -1, "at": -0.3, "other": 4.0},
    ),
    predict=_predict_one_sided,
    measure=_measure_one_sided,
    # Slopes are read off the values, to about 1e-12.
    compare=AgreesTo(relative=1e-11),
    must_refute=mistake("The power 1/10 more.", power=plus(0.1)),
    uses=("dc/defC.1-derivative",),
)
