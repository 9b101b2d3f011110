"""Dual activations, Hermite coefficients and the coefficient of non-linearity.

Sections 0 and 1: every number of the library against its definition at 50 digits,
computed another way (`verify.integrals`).
"""

import math
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import mpmath
import numpy as np
from hypothesis import strategies as st

from theory import kernels
from verify import integrals
from verify.claim import Evidence, adversarial, grid, numeric
from verify.claims._predictors import always, changed, mistake
from verify.claims._searches import SEEDS, searched
from verify.claims.deep_conditioning._recursions import (
    eigenvalues,
    exact_gram,
    separation,
    unit_points,
)
from verify.claims.deep_conditioning._sources import ours, quoted
from verify.claims.deep_conditioning._subjects import (
    DIFFERENTIABLE,
    KINKED,
    NONLINEAR,
    NORMRELU,
    ONE_VARIANCE,
    SMOOTH,
    Subject,
    energy_from,
    law,
    measured,
    measured_mu,
    mixtures,
    mu_of,
    nonlinear,
    piecewise_linear,
    subject,
)
from verify.claims.deep_conditioning.lengths.series import ENTIRE, entire_coefficient
from verify.compare import AgreesTo, Array, AtLeast, AtMost

Points = tuple[float, ...]

RHOS = (-1.0, -0.999, -0.4, 1e-6, 0.7, 1.0 - 1e-6, 1.0)
# NormReLU has its own duals in `verify.claims.deep_conditioning.normrelu.constants`.
_DIFFERENTIABLE = tuple(n for n in DIFFERENTIABLE if n != NORMRELU)
DELTAS = (1e-18, 1e-12, 1e-6, 1e-3, 0.1, 0.5, 1.0, 1.5, 1.9, 2.0)

# --- normalisation and assumptions ----------------------------------------------------


def _predict_normalised(*, activation: Subject) -> Array:
    a = subject(activation).normalized()
    return np.append(a.hermite(6), a.second_moment)


def _measure_normalised(*, activation: Subject) -> list[Any]:
    found = law(activation)
    with mpmath.workprec(integrals.BITS):
        spread = mpmath.sqrt(found.variance())
        return [0, *(found.coefficient(k) / spread for k in range(1, 7)), 1]


def _wrong_uncentred(*, activation: Subject) -> Array:
    """The activation scaled to unit second moment, but not centred."""
    raw = subject(activation)
    return np.append(raw.hermite(6) / math.sqrt(raw.second_moment), 1.0)


EQ2 = numeric(
    id="dc/eq2",
    title="Normalised activations have mean 0 and second moment 1",
    statement=r"\sigma = \frac{s - \mathbb{E}\,s(X)}{\mathrm{sd}(s(X))}, \quad"
    r" a_0 = 0, \quad \sum_{k \ge 1} a_k^2 = 1",
    source=quoted("Equation 2"),
    cases=grid(activation=(*NONLINEAR, "identity")),
    predict=_predict_normalised,
    measure=_measure_normalised,
    # Coefficients to 1e-13 of the largest, see dc/tab2-coefficients.
    compare=AgreesTo(relative=1e-13, of_largest=True),
    must_refute=_wrong_uncentred,
    uses=("dc/tab2-coefficients",),
)


def _predict_separation(**points: Any) -> float:
    return kernels.separation(unit_points(**points))


def _measure_separation(**points: Any) -> Any:
    return separation(exact_gram(**points))


def _wrong_separation(**points: Any) -> float:
    """1 - |cos| of rounded cosines, which near-duplicates do not survive."""
    cosines = kernels.correlation(unit_points(**points))
    return float((1.0 - np.abs(cosines[np.triu_indices(len(cosines), 1)])).min())


ASM_A = numeric(
    id="dc/asmA",
    title="The separation of near-duplicate inputs is computed without losing digits",
    statement=r"\delta = \min_{i \ne j} \left(1 - |x_i \cdot x_j|\right)",
    assumptions=("unit inputs",),
    source=quoted("Assumption A"),
    cases=(
        *grid(n=6, dim=4, spread=(1e-7, 1e-4, 1e-2, 3.0), seed=(1, 2)),
        # 1 - |cos| = 0.0185 of two inputs, which cosines know to two digits less.
        {"n": 2, "dim": 3, "spread": 0.12109375, "seed": 9},
    ),
    predict=_predict_separation,
    measure=_measure_separation,
    # The library's promise; differences of near coordinates are exact.
    compare=AgreesTo(relative=1e-14),
    must_refute=_wrong_separation,
)


def _measure_least(**points: Any) -> Any:
    return eigenvalues(exact_gram(**points))[0]


ASM_B = adversarial(
    id="dc/asmB",
    items=("AsmB", "AsmA"),
    title="Assumption B implies Assumption A with the same delta",
    statement=r"\lambda_{\min}(G) \le \min_{i \ne j} \left(1 - |G_{ij}|\right)",
    assumptions=("unit diagonal",),
    source=quoted("Assumptions A and B"),
    # Two inputs: both sides are 1 - |rho|.
    cases=grid(n=(2, 5), dim=(3, 6), spread=(0.1, 1.0), seed=3),
    predict=_predict_separation,
    measure=_measure_least,
    # As dc/asmA.
    compare=AtMost(relative=1e-14),
    must_refute=mistake(
        "(1 - rho^2) / 2, a pair's determinant over its trace, for 1 - |rho|.",
        then=lambda delta: delta * (2.0 - delta) / 2.0,
    ),
    uses=("dc/asmA",),
    examples=searched(
        n=st.integers(2, 6),
        dim=st.integers(2, 6),
        spread=st.floats(0.01, 4.0),
        seed=SEEDS,
    ),
    max_examples=100,
)

# --- duals ------------------------------------------------------------------------------


def _predict_dual(*, activation: Subject) -> Array:
    return subject(activation).dual(np.array(RHOS))


def _wrong_dual(*, activation: Subject) -> Array:
    """The absolute correlation, as if every activation were even."""
    return subject(activation).dual(np.abs(RHOS))


_POWERS = tuple({"a": [0.0] * order + [1.0]} for order in (2, 11))
_SEARCHED = searched(activation=st.one_of(mixtures(), piecewise_linear()))


DUAL = adversarial(
    id="dc/defC.1",
    title="Dual activations at correlations from -1 to 1, both ends included",
    statement=r"\hat\sigma(\rho) = \mathbb{E}[\sigma(u) \sigma(v)]"
    r" = \sum_{k \ge 0} a_k^2 \rho^k",
    source=quoted("Definition C.1"),
    # And h_2 and h_11 as functions that the library knows by their values.
    cases=grid(activation=(*SMOOTH, *KINKED, "hermite(5)", *_POWERS)),
    predict=_predict_dual,
    measure=partial(measured, "dual", RHOS),
    # Of E s^2, the value at 1: quadrature and rounding of the library, 1e-13.
    compare=AgreesTo(relative=1e-13, of_largest=True),
    must_refute=_wrong_dual,
    uses=("dc/tab2-coefficients",),
    examples=_SEARCHED,
    max_examples=8,
)


_SLOPED = tuple(n for n in _DIFFERENTIABLE if n not in ("arctan", "elu", "selu"))
"""Activations whose derivatives are activations of the library as well."""


def _predict_slopes(*, activation: Subject) -> Array:
    a, rhos = subject(activation), np.array(RHOS)
    dual = a.derivative.dual if activation in _SLOPED else a.dual_derivative
    return np.concatenate([a.dual_derivative(rhos[1:-1]), dual(rhos)])


def _measure_slopes(*, activation: Subject) -> list[Any]:
    """Differentiate the dual numerically between its ends; below it, E s'(u) s'(v)."""
    # 100 bits: the steps take a third of the 256 that the dual has.
    with mpmath.workprec(100):
        rises = [mpmath.diff(law(activation).dual, rho) for rho in RHOS[1:-1]]
    return [*rises, *measured("slope", RHOS, activation=activation)]


def _wrong_slopes(*, activation: Subject) -> Array:
    """The dual of the activation itself, not of its derivative."""
    dual = _predict_dual(activation=activation)
    return np.concatenate([dual[1:-1], dual])


SLOPE = replace(
    DUAL,
    id="dc/defC.1-derivative",
    title="The derivative of the dual is the dual of the derivative",
    statement=r"\hat\sigma'(\rho) = \mathbb{E}[\sigma'(u) \sigma'(v)]",
    assumptions=("the derivative is square integrable",),
    cases=grid(activation=(*_DIFFERENTIABLE, "hermite(5)", *_POWERS)),
    predict=_predict_slopes,
    measure=_measure_slopes,
    must_refute=_wrong_slopes,
    uses=("dc/defC.1",),
)


def _predict_distance(*, activation: Subject, times: float = 1.0) -> Array:
    return (times * subject(activation)).distance_map(np.array(DELTAS))


def _measure_distance(*, activation: Subject, times: float = 1.0) -> Any:
    del times  # which cancels
    return measured("distance", DELTAS, activation=activation)


def _wrong_distance(
    *, activation: Subject, deltas: Points = DELTAS, times: float = 1.0
) -> Array:
    """The difference in float64, which has no digits below delta = 1e-16."""
    a = times * subject(activation)
    return 1.0 - a.dual(1.0 - np.array(deltas)) / a.second_moment


DISTANCE = numeric(
    id="dc/defC.1-distance",
    title="Small distances between near-duplicates keep every digit through a layer",
    statement=r"\delta \mapsto 1 - \frac{\hat\sigma(1 - \delta)}{\hat\sigma(1)}, \quad"
    r" 10^{-18} \le \delta \le 2",
    source=ours("Definition C.1"),
    cases=(
        *grid(activation=(*SMOOTH, *KINKED)),
        # E s^2 of which float64 has few digits.
        *grid(activation=("gelu", "relu"), times=1e-154),
    ),
    predict=_predict_distance,
    measure=_measure_distance,
    compare=AgreesTo(relative=1e-13),
    must_refute=_wrong_distance,
    uses=("dc/defC.1",),
)


# From 4096 values on they are read off tables, towards both ends and towards zero.
_MANY = 5000
_TRIED = (*RHOS, 1e-9, -1e-6, -0.4999, 0.5001, 0.25, -0.97)
_APART = (*DELTAS, 1e-20, 0.7499, 0.2501, 1.9999)
_TABLED = grid(
    activation=("relu", "tanh", "erf", "gelu", "sin", "cos", "selu", "hermite(5)")
)
# Of enclosed integrals, which take their time.
_PIECEWISE = grid(activation="hard_tanh")


def _first_of_many(
    *, method: str, points: Points, activation: Subject, centred: bool = False
) -> Array:
    a = subject(activation).normalized() if centred else subject(activation)
    return getattr(a, method)(np.resize(points, _MANY))[: len(points)]


def _measure_many(
    *, method: str, activation: Subject, centred: bool = False
) -> list[Any]:
    what = {"dual": "dual", "dual_derivative": "slope"}[method]
    return measured(
        f"normalised_{what}" if centred else what, _TRIED, activation=activation
    )


DUAL_MANY = replace(
    DUAL,
    id="dc/defC.1-many",
    title="Duals and derivatives at thousands of correlations at once, normalised and not",
    statement=r"\hat\sigma(\rho) = \mathbb{E}[\sigma(u) \sigma(v)], \quad"
    r" \hat\sigma'(\rho) = \mathbb{E}[\sigma'(u) \sigma'(v)]",
    evidence=Evidence.NUMERIC,
    cases=tuple(
        {"method": method, **case}
        for method in ("dual", "dual_derivative")
        for case in (
            *_TABLED,
            *_PIECEWISE,
            *grid(activation=("gelu", "relu6"), centred=True),
        )
    ),
    predict=partial(_first_of_many, points=_TRIED),
    measure=_measure_many,
    must_refute=mistake(
        "The absolute correlations, as if every activation were even.",
        points=tuple(np.abs(_TRIED)),
    ),
    uses=("dc/defC.1", "dc/defC.1-derivative"),
    examples=None,
    version=2,
)


DISTANCE_MANY = replace(
    DISTANCE,
    id="dc/defC.1-distance-many",
    title="The distance map, vectorised over thousands of near-duplicates",
    cases=_TABLED,
    predict=partial(_first_of_many, method="distance_map", points=_APART),
    measure=partial(measured, "distance", _APART),
    must_refute=changed(
        _wrong_distance,
        "The differences in float64, without digits below delta = 1e-16.",
        deltas=_APART,
    ),
    uses=("dc/defC.1-distance",),
)


@lru_cache(maxsize=256)
def _scaled_law(name: str, variance: float) -> Any:
    if name in integrals.PIECES:
        return replace(integrals.PIECES[name], variance=variance)
    return integrals.smooth_coefficients(name, repr(variance))


def _measure_unequal(*, activation: str, var_x: float, var_y: float) -> list[Any]:
    first, second = _scaled_law(activation, var_x), _scaled_law(activation, var_y)
    if isinstance(first, integrals.Pieces):
        return [first.dual(rho, second) for rho in RHOS]
    series = integrals.Series.of(first, second)
    return [series.dual(rho) for rho in RHOS]


def _predict_unequal(*, activation: str, var_x: float, var_y: float) -> Array:
    return subject(activation).dual(np.array(RHOS), var_x=var_x, var_y=var_y)


UNEQUAL = numeric(
    id="dc/defC.1-unequal",
    items=("DefC.1", "D.0"),
    title="Dual activations of inputs with unequal variances",
    statement=r"\hat\sigma(\rho; \gamma_1, \gamma_2) = \mathbb{E}[\sigma(z_1)"
    r" \sigma(z_2)]",
    source=quoted("Definition C.1 and Appendix D"),
    cases=(
        *grid(
            activation=("hard_tanh", "leaky_relu(0.1)", "elu", "selu", "relu_squared"),
            var_x=1.7,
            var_y=(0.25, 1.69),
        ),
        # So long that kinks come close.
        *grid(activation=("hard_tanh", "relu6"), var_x=1e6, var_y=4e6),
        # So short that the function is read from its series at zero.
        *grid(activation="hard_swish", var_x=0.09, var_y=0.04),
        *grid(
            activation=("erf", "tanh", "gelu", "sin", "softplus", "sigmoid"),
            var_x=1.5,
            var_y=0.25,
        ),
    ),
    predict=_predict_unequal,
    measure=_measure_unequal,
    compare=AgreesTo(relative=1e-13, of_largest=True),
    must_refute=ONE_VARIANCE,
    uses=("dc/defC.1",),
)

# --- the coefficient of non-linearity ---------------------------------------------------


def _wrong_mu(*, activation: Subject) -> float:
    """The mean counted with the energy."""
    raw = subject(activation)
    return 1.0 - float(raw.hermite(1)[1]) ** 2 / raw.second_moment


_ANY_NONLINEAR = searched(activation=nonlinear())


DEF_31 = adversarial(
    id="dc/def3.1",
    title="The coefficient of non-linearity mu, down to 1e-8",
    statement=r"\mu = 1 - \left(\mathbb{E}[X \sigma(X)]\right)^2",
    assumptions=("sigma normalised: mean 0 and second moment 1",),
    source=quoted("Definition 3.1"),
    # The least nonlinear: mu = 1e-8, where 1 - a_1^2 has lost eight digits.
    cases=grid(activation=(*NONLINEAR, {"a": [0.0, 1.0, 1e-4]})),
    predict=mu_of,
    measure=measured_mu,
    # Energies to 1e-13 relative; callables by quadrature, absolute 1e-15 of the whole.
    compare=AgreesTo(relative=1e-13, absolute=1e-15),
    must_refute=_wrong_mu,
    uses=("dc/eq2",),
    examples=_ANY_NONLINEAR,
    max_examples=60,
)


def _wrong_uncentred_share(*, activation: Subject) -> float:
    """The uncentred activation, whose mean's energy is part of the whole."""
    raw = subject(activation)
    return 1.0 - raw.mean**2 / raw.second_moment


LEM_C2 = adversarial(
    id="dc/lemC.2",
    title="The coefficient of non-linearity mu is at most one",
    statement=r"\mu \le 1",
    source=quoted("Lemma C.2"),
    cases=grid(activation=NONLINEAR),
    predict=always(1.0),
    measure=measured_mu,
    # 256 bits on the measured side; equality for even activations.
    compare=AtMost(rounding=1e-40),
    must_refute=_wrong_uncentred_share,
    uses=("dc/def3.1",),
    examples=_ANY_NONLINEAR,
    max_examples=100,
)


_ENERGY = partial(energy_from, centred=True)

LEM_C2_POSITIVE = replace(
    LEM_C2,
    id="dc/lemC.2-positive",
    title="The coefficient mu is positive: at least the energies of orders 2 to 8",
    statement=r"\mu = \sum_{k \ge 2} a_k^2 \ge \sum_{k=2}^{8} a_k^2 > 0",
    assumptions=("not affine: one of a_2 to a_8 is not zero",),
    # Equality for polynomials up to that degree.
    cases=grid(
        activation=(*NONLINEAR, {"a": [0.0, 1.0, 1e-4]}, {"a": [0.5, 0.5, 0, 1]})
    ),
    predict=_ENERGY,
    # Energies to 1e-13 relative; of callables by quadrature, 1e-15 of the whole.
    compare=AtLeast(rounding=1e-15, relative=1e-12, trivial=0.0),
    must_refute=mistake("The energies from the linear part on.", first=1),
    version=2,
)


def _predict_from_dual(*, activation: Subject) -> float:
    raw = subject(activation)
    mean = raw.dual(0.0)
    return 1.0 - raw.dual_derivative(0.0) / (raw.dual(1.0) - mean)


def _wrong_from_dual(*, activation: Subject) -> float:
    """The mean's square left in the variance."""
    raw = subject(activation)
    return 1.0 - raw.dual_derivative(0.0) / raw.dual(1.0)


C_4 = numeric(
    id="dc/C.4",
    title="The coefficient mu of an unnormalised activation, from its dual",
    statement=r"\mu = 1 - \frac{\hat\sigma'(0)}{\hat\sigma(1) - \hat\sigma(0)}",
    source=quoted("Appendix C.4"),
    cases=grid(activation=NONLINEAR),
    predict=_predict_from_dual,
    measure=measured_mu,
    # Two duals and a slope to 1e-15 of E s^2, of which the sigmoid's variance is a seventh.
    compare=AgreesTo(absolute=2e-14),
    must_refute=_wrong_from_dual,
    uses=("dc/def3.1", "dc/defC.1-derivative"),
)

# --- the tables -------------------------------------------------------------------------

_TABLE_1 = ("identity", "hermite(2)", "relu", "step", "exp")


def _predict_table_1(*, activation: str) -> list[float]:
    raw = subject(activation)
    values = np.asarray(raw.dual(np.array(RHOS))) / raw.second_moment
    return [*values.tolist(), *([] if activation == "identity" else [raw.mu])]


def _measure_table_1(*, activation: str) -> list[Any]:
    with mpmath.workprec(integrals.BITS):
        pi, e = mpmath.pi, mpmath.e
        dual, mu = {
            "identity": (lambda r: r, None),
            "hermite(2)": (lambda r: r * r, mpmath.mpf(1)),
            "relu": (
                lambda r: (mpmath.sqrt(1 - r * r) + (pi - mpmath.acos(r)) * r) / pi,
                (pi - 2) / (2 * (pi - 1)),
            ),
            "step": (lambda r: (pi - mpmath.acos(r)) / pi, 1 - 2 / pi),
            "exp": (lambda r: mpmath.exp(r - 1), (e - 2) / (e - 1)),
        }[activation]
        values = [dual(mpmath.mpf(rho)) for rho in RHOS]
        return values if mu is None else [*values, mu]


def _wrong_table_1(*, activation: str) -> list[float]:
    """The duals of the centred activations."""
    a = subject(activation).normalized()
    mu = [] if activation == "identity" else [a.mu]
    return [*np.asarray(a.dual(np.array(RHOS))).tolist(), *mu]


TAB_1 = numeric(
    id="dc/tab1",
    title="Five activations in the table of Appendix C.4: their duals and mu",
    statement=r"\hat\sigma = \rho, \ \rho^2, \ \frac{\sqrt{1 - \rho^2} + (\pi - \arccos"
    r" \rho) \rho}{\pi}, \ \frac{\pi - \arccos \rho}{\pi}, \ e^{\rho - 1}; \quad \mu = 0,"
    r" \ 1, \ \frac{\pi - 2}{2 (\pi - 1)}, \ 1 - \frac2\pi, \ \frac{e - 2}{e - 1}",
    assumptions=(
        "identity, second Hermite polynomial, ReLU, step and exponential",
        "duals of unit second moment, not centred",
    ),
    source=quoted("Appendix C.4, table"),
    cases=grid(activation=_TABLE_1),
    predict=_predict_table_1,
    measure=_measure_table_1,
    # Closed forms: ten roundings of numbers of at most one.
    compare=AgreesTo(relative=2e-15, of_largest=True),
    must_refute=_wrong_table_1,
    uses=("dc/defC.1", "dc/C.4"),
    finding=(
        "The text before us has lost the entries of the five rows; it takes the duals from"
        " Table 1 of Daniely et al. (2016). Of the identity the dual alone is compared: its"
        " mu is 0, from which no rate follows, and the library refuses to give it."
    ),
    figure="dual_activations",
)

_TABLE_2 = (
    *("relu", "abs", "leaky_relu(0.01)", "leaky_relu(0.1)", "leaky_relu(0.2)"),
    *("relu_squared", "step", "exp", "erf", "tanh", "arctan", "asinh", "softsign"),
    *("hard_tanh", "sin", "cos", "gaussian", "sigmoid", "softplus", "silu", "gelu"),
    *("mish", "elu", "selu", "relu6", "hard_sigmoid", "hard_swish", "quick_gelu"),
    "log_cosh",
)


def _predict_table_2(*, activation: str) -> list[float]:
    raw = subject(activation)
    row = [raw.variance, raw.mu, raw.nu]
    # SELU's mean is zero up to the rounding of its constants.
    if activation != "selu":
        row.append(raw.mean)
    if math.isfinite(raw.derivative_second_moment):
        row.append(raw.derivative_second_moment / raw.variance)
    return row


def _softsign_row() -> list[Any]:
    # Half-lines: |x| / (1 + |x|) is analytic for x > 0.
    with mpmath.workdps(40):

        def mean(f: Any) -> Any:
            cuts = [0, 0.5, 1, 2, 4, 8, 16, 24]
            return 2 * mpmath.quad(lambda x: f(x) * mpmath.npdf(x), cuts)

        linear = mean(lambda x: x * x / (1 + x))
        energy = mean(lambda x: (x / (1 + x)) ** 2)
        slope = mean(lambda x: (1 + x) ** -4)
        mu = 1 - linear**2 / energy
        return [energy, mu, mu, mpmath.mpf(0), slope / energy]


def _measure_table_2(*, activation: str) -> list[Any]:
    if activation == "softsign":
        return _softsign_row()
    found = law(activation)
    row = [found.variance(), found.mu(), found.nu()]
    if activation != "selu":
        row.append(found.coefficient(0))
    if activation != "step":
        row.append(found.normalised_slope(1))
    return row


TAB_2 = numeric(
    id="dc/tab2",
    title="Variance, mu, nu, mean and slope of twenty-nine activations",
    statement=r"\mathrm{Var}\,s, \quad \mu, \quad \nu, \quad \mathbb{E}\,s, \quad"
    r" D = \mathbb{E}[\sigma'^2]",
    source=ours("Appendix C.4, beyond its table"),
    cases=grid(activation=_TABLE_2),
    predict=_predict_table_2,
    measure=_measure_table_2,
    compare=AgreesTo(relative=1e-13, absolute=1e-16),
    must_refute=mistake(
        "The coefficients mu and nu exchanged.",
        then=lambda row: [row[0], row[2], row[1], *row[3:]],
    ),
    uses=("dc/def3.1", "dc/defC.20", "dc/defC.1-derivative"),
    finding="The slope is infinite for the step: it has no tangent kernel (E7).",
)

_ORDERS = (*range(13), 20, 21, 50, 51, 100, 101, 150, 199, 200, 201)


def _predict_coefficients(*, activation: str) -> list[Any]:
    values = subject(activation).hermite(201)
    scales = _scales(activation)
    with mpmath.workprec(integrals.BITS):
        return [mpmath.mpf(values[k]) / s for k, s in zip(_ORDERS, scales, strict=True)]


def _measure_coefficients(*, activation: str) -> list[Any]:
    scales = _scales(activation)
    values = [_coefficient(activation, k) for k in _ORDERS]
    with mpmath.workprec(integrals.BITS):
        return [value / s for value, s in zip(values, scales, strict=True)]


@lru_cache(maxsize=4096)
def _coefficient(name: str, k: int) -> Any:
    # Entire functions fall below the absolute accuracy of any quadrature.
    with mpmath.workprec(integrals.BITS):
        if name in ENTIRE:
            return entire_coefficient(name, mpmath.mpf(1), k)
        return law(name).coefficient(k)


@lru_cache(maxsize=64)
def _scales(name: str) -> tuple[Any, ...]:
    """|a_k|; where it vanishes, the largest coefficient from there on."""
    values = [abs(_coefficient(name, k)) for k in _ORDERS]
    # Of the last two orders one may vanish by parity.
    largest = [max(values[min(i, len(values) - 2) :]) for i in range(len(values))]
    # Quadrature leaves 1e-50 of a coefficient that is zero; closed forms leave nothing.
    least = mpmath.mpf(0) if name in ENTIRE else mpmath.mpf(10) ** -40
    return tuple(v if v > least else m for v, m in zip(values, largest, strict=True))


def _wrong_coefficients(*, activation: str) -> list[Any]:
    """Polynomials that are not normalised, each a_k times the root of k!."""
    values = _predict_coefficients(activation=activation)
    with mpmath.workprec(integrals.BITS):
        roots = [mpmath.sqrt(mpmath.factorial(k)) for k in _ORDERS]
        return [v * root for v, root in zip(values, roots, strict=True)]


COEFFICIENTS = numeric(
    id="dc/tab2-coefficients",
    items=("Tab2", "DefC.1"),
    title="Hermite coefficients of 25 activations, at 23 orders up to 201",
    statement=r"a_k = \mathbb{E}[s(X) h_k(X)], \quad k \le 201",
    source=quoted("Definition C.1"),
    # SELU's mean vanishes by the choice of its constants: dc/tab2 leaves it out too. Of
    # the identity nothing is left from order 2 on.
    cases=grid(
        activation=(
            *(n for n in (*SMOOTH, *KINKED) if n not in ("selu", "identity")),
            *("relu6", "hard_swish"),
        )
    ),
    predict=_predict_coefficients,
    measure=_measure_coefficients,
    # Relative to the coefficient, or to the largest of the tail where it vanishes.
    compare=AgreesTo(absolute=1e-13),
    must_refute=_wrong_coefficients,
    uses=("dc/defC.1-polynomials",),
)
