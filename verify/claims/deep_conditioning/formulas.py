"""Every bound as a number: the restored formula at 60 digits against the library's.

A bound that is checked as an inequality alone may be wrong by a factor and still hold.
Here it is compared with its own formula, written out a second time.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from theory import activations as act
from theory import conditioning, hermite, kernels, lengths, optimization
from verify import integrals
from verify.claim import Case, Claim, Source, grid, numeric
from verify.claims._predictors import mistake, plus, times
from verify.claims.deep_conditioning import _pairs as pairs
from verify.claims.deep_conditioning import _recursions as recursion
from verify.claims.deep_conditioning._lengths import gaussian_panels
from verify.claims.deep_conditioning._sources import as_read, forced, ours, quoted
from verify.claims.deep_conditioning._subjects import law, normalised, subject
from verify.claims.deep_conditioning.conditioning import exact_bound
from verify.claims.deep_conditioning.uncentred import counted_start, exact_fixed_point
from verify.compare import AgreesTo, Array

_MODULES = {
    "conditioning": conditioning,
    "lengths": lengths,
    "optimization": optimization,
}
_RHOS = (-0.9, -0.3, 0.0, 0.5, 0.99)
_OPPOSITE = -0.95
_RELU_MU = 0.26652889653787007


def _mpf(value: Any) -> Any:
    return mpmath.mpf(value)


# --- the formulas ---------------------------------------------------------------------


def _layers_of(share: Any, mu: Any) -> Any:
    """Return log(share) / -log(1 - mu/2)."""
    return mpmath.log(share) / -mpmath.log1p(-_mpf(mu) / 2)


def _one_layer(*, delta: float, mu: float) -> Any:
    d, m = _mpf(delta), _mpf(mu)
    return 1 - d - m * d / 2 if d <= 0.5 else (1 - d) - m * (1 - d) / 2


def _two_lengths(*, rho: float, mu_x: float, mu_y: float) -> Any:
    each = [_one_layer(delta=1.0 - abs(rho), mu=mu) for mu in (mu_x, mu_y)]
    return mpmath.sqrt(each[0] * each[1])


def _slope_bound(*, delta: float, mu: float, form: str) -> Any:
    d, m = _mpf(delta), _mpf(mu)
    return 1 / d if form == "printed" else (1 + m - 2 * m * d) / (1 + m)


def _tangent_ratio(*, depth: int, delta: float, mu: float, form: str) -> Any:
    if form == "printed":
        # The theorem says nothing before the burn-in of half the layers.
        layers = _mpf(depth) / 2
        late = layers >= recursion.burn_in(delta, mu)
        twice = 2 * exact_bound(depth=layers, delta=delta, mu=mu)
        return twice if late else _mpf(1)
    return exact_bound(depth=depth, delta=delta, mu=mu)


def _envelope(*, depth: int, delta: float, mu: float) -> Any:
    """Go through r <- r (1 - mu (1 - r)), layer by layer."""
    r, m = 1 - _mpf(delta), _mpf(mu)
    for _ in range(depth):
        r *= 1 - m * (1 - r)
    return r


def _condition(*, depth: int, delta: float, mu: float, n: int, assumption: str) -> Any:
    """1 + 2 n (1 - mu/2)^(L - L_0) and 1 + n ..., before L_0 by 1 + n B/(1 - B)."""
    start = recursion.burn_in(delta, mu)
    if assumption == "B" and depth <= start:
        distance = _mpf(delta) * (1 + _mpf(mu) / 2) ** depth
        return 1 + n * (1 - distance) / distance
    return 1 + {"A": 2, "B": 1}[assumption] * n * (1 - _mpf(mu) / 2) ** (depth - start)


def _tangent_least(**case: Any) -> Any:
    return 1 - _tangent_ratio(**case)


def _tangent_condition(
    *, depth: int, delta: float, mu: float, n: int, assumption: str, form: str
) -> Any:
    layers, factor = _mpf(depth) / 2, {"A": 4, "B": 2}[assumption] * n
    if form == "sharp":
        layers, factor = 2 * layers, factor / 2
    return 1 + factor * (1 - _mpf(mu) / 2) ** (layers - recursion.burn_in(delta, mu))


def _tangent_threshold(
    *, delta: float, mu: float, n: int, assumption: str, form: str
) -> int:
    start = recursion.burn_in(delta, mu)
    if form == "sharp":
        layers = start + _layers_of(n, mu) if assumption == "A" else 1
        return max(int(mpmath.ceil(layers)), 1)
    size = 2 * n if assumption == "A" else 2
    return int(mpmath.ceil(2 * (start + _layers_of(size, mu))))


def _descent(*, step: int, condition_number: float, printed: bool) -> Any:
    return mpmath.exp(-(1 if printed else 2) * step / _mpf(condition_number))


def _two_eigenvalues(*, min_eigenvalue: int, max_eigenvalue: int) -> Any:
    """Loss after a step over the loss before, for one residual of each eigenvalue."""
    step = Fraction(2, min_eigenvalue + max_eigenvalue)
    after = [1 - step * v for v in (min_eigenvalue, max_eigenvalue)]
    found = (after[0] ** 2 + after[1] ** 2) / 2
    return _mpf(found.numerator) / found.denominator


def _steps(*, n: int, squared_norm: float, min_eigenvalue: float) -> int:
    # Averaged over T steps the loss is at most n beta / (lambda_min T) of the first.
    half, steps = Fraction(min_eigenvalue) / 2, 1
    return max(steps, math.ceil(n * Fraction(squared_norm) / half))


def _restarts(*, initial: float, target: float) -> int:
    left, restarts = Fraction(initial), 0
    while left > Fraction(target):
        left, restarts = left / 2, restarts + 1
    return restarts


def _queries(*, tolerance: float, squared_correlation: float) -> Any:
    return _mpf(tolerance) ** 2 / (2 * _mpf(squared_correlation)) - 1


def _covariance(*, s: float, form: str) -> Any:
    if form == "sharp":
        return (0.5 - mpmath.lambertw(-1 / (2 * mpmath.e), -1).real) / _mpf(s)
    return 28 * mpmath.log(_mpf(8) * s / 3) / (3 * _mpf(s))


def _overfitting(*, delta: float, mu: float, s: int) -> int:
    return recursion.burn_in(delta, mu) + int(mpmath.ceil(_layers_of(s, mu)))


def _excess(*, n: int, optimum_norm: float) -> Any:
    log = mpmath.log(8) + 2 * mpmath.log(n) - mpmath.log(3)
    return 56 * (1 + _mpf(optimum_norm)) ** 2 * log / n


def _one_hidden(*, n: int, delta: float) -> Any:
    return _mpf(delta) * mpmath.sqrt(_mpf(delta)) / n**4


def _event(*, n: int, delta: float) -> Any:
    return mpmath.sqrt(_mpf(delta)) / 10 / n


_FORMULAS: dict[str, Callable[..., Any]] = {
    "conditioning.one_layer_bound": _one_layer,
    "conditioning.derivative_bound": _slope_bound,
    "conditioning.correlation_envelope": _envelope,
    "conditioning.nngp_condition_bound": _condition,
    "conditioning.ntk_ratio_bound": _tangent_ratio,
    "conditioning.ntk_min_eigenvalue_bound": _tangent_least,
    "conditioning.ntk_condition_bound": _tangent_condition,
    "conditioning.ntk_threshold_depth": _tangent_threshold,
    "lengths.odd_correlation_bound": _two_lengths,
    "optimization.gradient_descent_bound": _descent,
    "optimization.kernel_descent_factor": _two_eigenvalues,
    "optimization.sgd_steps": _steps,
    "optimization.sgd_restarts": _restarts,
    "optimization.query_lower_bound": _queries,
    "optimization.covariance_norm_bound": _covariance,
    "optimization.overfitting_depth": _overfitting,
    "optimization.excess_risk_bound": _excess,
    "optimization.one_layer_min_eigenvalue": _one_hidden,
    "optimization.separation_event_bound": _event,
}


def _predict(*, function: str, **case: Any) -> float:
    module, _, name = function.partition(".")
    return float(getattr(_MODULES[module], name)(**case))


def _measure(*, function: str, **case: Any) -> Any:
    with mpmath.workprec(integrals.BITS):
        return _mpf(_FORMULAS[function](**case))


def _cases(function: str, **axes: Any) -> tuple[Case, ...]:
    return grid(function=function, **axes)


def _formula(
    id: str,
    items: tuple[str, ...],
    source: Source,
    title: str,
    statement: str,
    *cases: Case,
    uses: tuple[str, ...] = (),
) -> Claim:
    return numeric(
        id=id,
        items=items,
        title=title,
        statement=statement,
        source=source,
        cases=cases,
        predict=_predict,
        measure=_measure,
        # Powers to order 300 of a base rounded once: 300 ulp; whole numbers exactly.
        compare=AgreesTo(relative=1e-13),
        must_refute=mistake(
            "Twice every value, a factor of one half lost.", then=times(2.0)
        ),
        uses=uses,
    )


_MUS = (0.015858317676985129, _RELU_MU, 1.0)


def _tangent_cases(form: str, depth: tuple[int, ...]) -> tuple[Case, ...]:
    axes: dict[str, Any] = {"delta": 0.01, "mu": (_RELU_MU, 1.0), "form": form}
    return (
        *_cases("conditioning.ntk_ratio_bound", depth=depth, **axes),
        *_cases("conditioning.ntk_min_eigenvalue_bound", depth=depth, **axes),
    )


def _tangent_condition_cases(form: str) -> tuple[Case, ...]:
    axes: dict[str, Any] = {"assumption": ("A", "B"), "form": form}
    return (
        *_cases(
            "conditioning.ntk_condition_bound",
            depth=(151, 200),
            delta=0.01,
            mu=_RELU_MU,
            n=100,
            **axes,
        ),
        *_cases(
            "conditioning.ntk_threshold_depth",
            delta=(0.01, 1e-4),
            mu=(_RELU_MU, 0.9),
            n=(1, 100),
            **axes,
        ),
    )


BOUNDS = (
    _formula(
        "dc/lemC.5-values",
        ("LemC.5",),
        forced("Lemma C.5"),
        "Values of the one-layer bound, on both sides of delta = 1/2",
        r"1 - (1 + \mu/2) \delta, \quad (1 - \mu/2) (1 - \delta)",
        *_cases("conditioning.one_layer_bound", delta=(1e-6, 0.3, 0.5, 0.8), mu=_MUS),
    ),
    _formula(
        "dc/lemD.6-values",
        ("LemD.6",),
        forced("Lemma D.6"),
        "Values of the one-layer bound for odd functions at two lengths",
        r"\sqrt{B_{\mu_x} B_{\mu_y}}, \quad"
        r" B_\mu = \max\{1 - (1 + \mu/2) \delta, (1 - \mu/2) (1 - \delta)\}",
        *_cases(
            "lengths.odd_correlation_bound",
            rho=(-0.75, 0.125),
            mu_x=_RELU_MU,
            mu_y=(0.0158, 1.0),
        ),
        uses=("dc/lemC.5-values",),
    ),
    _formula(
        "dc/lemC.14-values",
        ("LemC.14",),
        ours("Lemma C.14"),
        "Values of the bound on the dual's slope, as restored and as sharpened",
        r"\frac{1}{\delta}, \quad 1 - \frac{2\mu}{1 + \mu} \delta",
        *_cases(
            "conditioning.derivative_bound",
            delta=(1e-3, 0.4, 1.0),
            mu=_MUS,
            form=("printed", "sharp"),
        ),
    ),
    replace(
        _formula(
            "dc/lemC.5-envelope",
            ("LemC.5", "Thm3.2"),
            ours("Lemma C.5, Theorem 3.2"),
            "The extremal correlation after thousands of layers with small mu",
            r"r_{l+1} = r_l (1 - \mu (1 - r_l))",
            *_cases(
                "conditioning.correlation_envelope",
                depth=(7, 5000),
                delta=(1e-9, 1e-3, 0.3),
                mu=(0.0155, 0.003),
            ),
        ),
        # The promise of the library.
        compare=AgreesTo(relative=1e-13),
    ),
    _formula(
        "dc/cor3.7-values",
        ("Cor3.3", "Cor3.7"),
        as_read("Corollary 3.3, Corollary 3.7"),
        "Values of the top-layer kernel's condition bounds, before and after the burn-in",
        r"1 + 2n (1 - \mu/2)^{L - L_0}, \quad 1 + n (1 - \mu/2)^{L - L_0}, \quad"
        r" 1 + n \frac{B}{1 - B}",
        *_cases(
            "conditioning.nngp_condition_bound",
            depth=(80, 151),
            delta=0.01,
            mu=(_RELU_MU, 1.0),
            n=(7, 100),
            assumption="A",
        ),
        *_cases(
            "conditioning.nngp_condition_bound",
            depth=(0, 3, 8, 60),
            delta=0.01,
            mu=(_RELU_MU, 1.0),
            n=(7, 100),
            assumption="B",
        ),
        uses=("dc/B-values",),
    ),
    _formula(
        "dc/thm3.4-values",
        ("Thm3.4", "Thm3.8", "E5"),
        as_read("Theorem 3.4, Theorem 3.8"),
        "Values of the restored tangent-kernel bounds, at even and odd depth",
        r"2 B(L/2, \delta), \quad 1 - 2 B(L/2, \delta)",
        *_tangent_cases("printed", depth=(4, 9, 13, 40, 80, 101)),
        uses=("dc/B-values",),
    ),
    _formula(
        "dc/thm3.4-envelope-values",
        ("Thm3.4", "Thm3.8", "E6"),
        ours("Theorem 3.4, Theorem 3.8"),
        "Values of the sharpened tangent-kernel bounds, before and after the burn-in",
        r"B(L, \delta), \quad 1 - B(L, \delta)",
        *_tangent_cases("sharp", depth=(1, 9, 80, 101)),
        uses=("dc/B-values",),
    ),
    _formula(
        "dc/cor3.5-values",
        ("Cor3.5", "Cor3.9"),
        as_read("Corollary 3.5, Corollary 3.9"),
        "Values of the restored condition bound and threshold depth of the tangent kernel",
        r"1 + 4n (1 - \mu/2)^{L/2 - L_0}, \quad L \ge 2 L_0 + \frac{2 \log 2n}"
        r"{-\log(1 - \mu/2)}",
        *_tangent_condition_cases("printed"),
        uses=("dc/B",),
    ),
    _formula(
        "dc/cor3.5-sharp-values",
        ("Cor3.5", "Cor3.9", "E6"),
        ours("Corollary 3.5, Corollary 3.9"),
        "Values of the sharpened condition bound and depth of the tangent kernel",
        r"1 + 2n (1 - \mu/2)^{L - L_0}, \quad L \ge L_0 + \frac{\log n}"
        r"{-\log(1 - \mu/2)}",
        *_tangent_condition_cases("sharp"),
        uses=("dc/B",),
    ),
    _formula(
        "dc/thmE.8-values",
        ("ThmE.8",),
        ours("Theorem E.8"),
        "Values of the least-squares descent rate, as restored and as improved",
        r"e^{-t/\kappa}, \quad e^{-2t/\kappa}",
        *_cases(
            "optimization.gradient_descent_bound",
            step=(0, 3, 50),
            condition_number=(1.0, 7.5),
            printed=(True, False),
        ),
    ),
    _formula(
        "dc/thmE.5-factor",
        ("ThmE.5",),
        ours("Theorem E.5"),
        "The factor by which a gradient step shrinks the loss is attained by two residuals",
        r"\left(\frac{\kappa - 1}{\kappa + 1}\right)^2",
        *_cases(
            "optimization.kernel_descent_factor",
            min_eigenvalue=(1, 3),
            max_eigenvalue=(4, 100),
        ),
    ),
    _formula(
        "dc/thmE.9-values",
        ("ThmE.9",),
        as_read("Theorem E.9"),
        "Values of the number of SGD steps that halve the loss, and of restarts",
        r"\left\lceil \frac{2 n \beta}{\lambda_{\min}} \right\rceil, \quad"
        r" \left\lceil \log_2 \frac{f(w_0)}{\epsilon} \right\rceil",
        *_cases(
            "optimization.sgd_steps",
            n=(1, 10),
            squared_norm=(1.0, 2.75),
            min_eigenvalue=(0.375, 4),
        ),
        # Three steps; 2 * 3 * 0.1 / 0.2 is 3.0000000000000004 in float64.
        *_cases("optimization.sgd_steps", n=3, squared_norm=0.1, min_eigenvalue=(0.2,)),
        *_cases(
            "optimization.sgd_restarts", initial=(1.0, 3.0, 64.0), target=(0.5, 0.01)
        ),
    ),
    _formula(
        "dc/thmF.2-values",
        ("ThmF.2",),
        as_read("Theorem F.2"),
        "Values of the number of statistical queries that a tolerance requires",
        r"\frac{\tau^2}{2\, \mathbb{E}_W (\mathbb{E}_x f g)^2} - 1",
        *_cases(
            "optimization.query_lower_bound",
            tolerance=(0.1, 0.5),
            squared_correlation=(1e-3, 1e-9),
        ),
        *_cases(
            "optimization.query_lower_bound", tolerance=1e200, squared_correlation=1e200
        ),
        uses=("dc/thm5.1-odd",),
    ),
    _formula(
        "dc/lemG.1-values",
        ("LemG.1", "Thm6.1"),
        ours("Lemma G.1, Theorem 6.1"),
        "Values of the depth, covariance bound and risk bound of benign overfitting",
        r"L_0(\delta) + \left\lceil \frac{\log s}{-\log(1 - \mu/2)} \right\rceil,"
        r" \quad \frac{28}{3}"
        r" \frac{\log(8s/3)}{s}, \quad 56 (1 + |\theta|)^2 \frac{\log(8n^2/3)}{n}",
        *_cases(
            "optimization.covariance_norm_bound",
            s=(10, 1000),
            form=("printed", "sharp"),
        ),
        *_cases(
            "optimization.overfitting_depth",
            delta=(0.01, 1e-5),
            mu=(_RELU_MU, 0.9),
            s=(2, 100),
        ),
        *_cases("optimization.excess_risk_bound", n=(4, 5000), optimum_norm=(0.0, 2.5)),
        uses=("dc/B",),
    ),
    _formula(
        "dc/thmH.1-values",
        ("ThmH.1", "LemH.3"),
        as_read("Theorem H.1, Lemma H.3"),
        "Values of Theorem H.1's eigenvalue bound and of Lemma H.3's probability",
        r"\frac{\delta^{3/2}}{n^4}, \quad \frac{\sqrt\delta}{10 n}",
        *_cases("optimization.one_layer_min_eigenvalue", n=(1, 3), delta=(0.3, 1.0)),
        *_cases("optimization.separation_event_bound", n=(1, 7), delta=(0.04, 1.0)),
    ),
)

# --- a power of a matrix with two rows attains Lemma C.8 ------------------------------


def _predict_transfer(*, power: int, delta: float) -> float:
    return conditioning.eigenvalue_transfer(1.0, (1.0 - delta) ** power)


def _measure_transfer(*, power: int, delta: float) -> Any:
    with mpmath.workprec(integrals.BITS):
        off = (1 - _mpf(delta)) ** power
        return recursion.eigenvalues(mpmath.matrix([[1, off], [off, 1]]))[0]


def _wrong_transfer(*, power: int, delta: float) -> Any:
    """The smallest eigenvalue unchanged."""
    return delta


LEM_C8 = numeric(
    id="dc/lemC.8-attained",
    items=("LemC.8",),
    title="Two inputs attain the eigenvalue bound of Lemma C.8",
    statement=r"\lambda_{\min}(f[M]) = f(1) - f(1 - \delta), \quad n = 2",
    source=quoted("Lemma C.8"),
    cases=grid(power=(1, 2, 7), delta=(0.1, 0.7)),
    predict=_predict_transfer,
    measure=_measure_transfer,
    # A power of a rounded base, order 7, in numbers of size one.
    compare=AgreesTo(absolute=5e-15),
    must_refute=_wrong_transfer,
    uses=("dc/lemC.8",),
)

# --- numbers of activations -----------------------------------------------------------


def _predict_convergence(*, activation: str, delta: float) -> list[float]:
    found = conditioning.fixed_point_convergence(subject(activation), delta)
    return [found.point, found.slope, found.rate, found.start]


def _measure_convergence(*, activation: str, delta: float) -> list[Any]:
    found = law(activation)
    point = exact_fixed_point(found)
    with mpmath.workprec(integrals.BITS):
        slope = found.slope(point) / found.moment()
        rate = max(1 - found.nu() * (1 - point) / 2, slope)
        return [point, slope, rate, counted_start(found, point, delta)]


THM_310 = numeric(
    id="dc/thm3.10-constants",
    items=("Thm3.10", "LemC.30"),
    title="Fixed point, slope, rate and burn-in depth of an uncentred activation",
    statement=r"\alpha = \max(1 - \nu \bar\delta / 2, \hat\sigma'(\bar\rho)), \quad"
    r" L_1 = \max\left(\left\lceil \frac{1}{a_0^2} \right\rceil, \left\lceil"
    r" \frac{\log(\bar\delta / 2\delta)}{\log(1 + \nu \bar\delta / 2)}"
    r" \right\rceil\right)",
    assumptions=("D > 1",),
    source=ours("Theorem 3.10 and Lemma C.30"),
    cases=grid(activation=("gelu", "silu"), delta=(1e-4, 0.05)),
    predict=_predict_convergence,
    measure=_measure_convergence,
    # The fixed point to an absolute 1e-13, and all that is read off there.
    compare=AgreesTo(absolute=1e-12),
    must_refute=mistake("The burn-in from twice the separation.", delta=times(2.0)),
    uses=("dc/lemC.26", "dc/defC.20"),
)


def _predict_floor(*, activation: str, width: int) -> float:
    return optimization.correlation_floor(subject(activation), float(width))


def _measure_floor(*, activation: str, width: int) -> Any:
    found = law(activation)
    with mpmath.workprec(integrals.BITS):
        mu, second = found.mu(), found.coefficient(2) ** 2 / found.variance()
        return second / (mu * mu * (2 - mu)) / width


def _wrong_floor(*, activation: str, width: int) -> float:
    """The floor without its second factor mu."""
    return subject(activation).mu * _predict_floor(activation=activation, width=width)


E3_FLOOR = numeric(
    id="dc/E3-floor",
    items=("E3",),
    title="Values of the finite-width floor of the mean correlation, from a_2 and mu",
    statement=r"\frac{a_2^2}{\mu^2 (2 - \mu)\, m}",
    source=ours("Theorem F.1 (corrected)"),
    cases=grid(activation=("relu", "gelu", "exp", "sigmoid"), width=(1, 128)),
    predict=_predict_floor,
    measure=_measure_floor,
    # mu and a_2 to 1e-13 each, mu twice; the sigmoid's a_2 vanishes.
    compare=AgreesTo(relative=5e-13, absolute=1e-25),
    must_refute=_wrong_floor,
    uses=("dc/def3.1", "dc/tab2-coefficients"),
)


def _at_length(activation: str, gamma: Any) -> list[Any]:
    """Coefficients of the normalised smooth activation at squared length gamma."""
    unit, raw = (
        [integrals.mpf(v) for v in integrals.smooth_coefficients(activation, q)]
        for q in ("1", repr(gamma))
    )
    with mpmath.workprec(integrals.BITS):
        spread = mpmath.sqrt(mpmath.fsum(v * v for v in unit[1:]))
        return [(raw[0] - unit[0]) / spread, *(v / spread for v in raw[1:])]


def _predict_shares(*, activation: str, gamma: float) -> list[float]:
    a = normalised(activation)
    return [lengths.generalised_mu(a, gamma), lengths.rest_share(a, gamma)]


def _measure_shares(*, activation: str, gamma: float) -> list[Any]:
    a = _at_length(activation, gamma)
    with mpmath.workprec(integrals.BITS):
        length = mpmath.fsum(v * v for v in a)
        return [1 - a[1] ** 2 / length, 1 - (a[0] ** 2 + a[1] ** 2) / length]


LEM_D6 = numeric(
    id="dc/lemD.6-mu",
    items=("LemD.6",),
    title="The coefficient of non-linearity mu(gamma) at squared lengths from 1/2 to 9",
    statement=r"\mu(\gamma) = 1 - \frac{a_1(\gamma)^2}{\hat\sigma_0(\gamma)}, \quad"
    r" 1 - \frac{a_0(\gamma)^2 + a_1(\gamma)^2}{\hat\sigma_0(\gamma)}",
    source=quoted("Lemma D.6"),
    cases=(
        *grid(activation=("tanh", "erf", "gelu"), gamma=(0.5, 1.0, 1.75)),
        *grid(activation=("sin", "cos", "exp"), gamma=9.0),
    ),
    predict=_predict_shares,
    measure=_measure_shares,
    # Energies to 1e-13 relative, a quotient of two.
    compare=AgreesTo(relative=5e-13),
    must_refute=mistake(
        "The shares at unit length, whatever the input's length.", gamma=1.0
    ),
    uses=("dc/def3.1", "dc/eq15"),
)


def _predict_settled(
    *, activation: str, gamma_x: float, gamma_y: float, **where: Any
) -> list[float]:
    case = normalised(activation), gamma_x, gamma_y
    return [
        lengths.chord_rate(case[0]),
        lengths.settling_depth(*case),
        lengths.correlation_bound_any_length(*case, **where),
    ]


def _measure_settled(
    *, activation: str, gamma_x: float, gamma_y: float, delta: float, depth: int
) -> list[Any]:
    a = _at_length(activation, 0.5)
    with mpmath.workprec(integrals.BITS):
        rate = 2 * (1 - mpmath.fsum(v * v for v in a))
        mu = law(activation).mu()
        far, late = max(abs(_mpf(gamma_x) - 1), abs(_mpf(gamma_y) - 1)), 0
        while far > mu / 2:
            far, late = rate * far, late + 1
        if depth < late:
            return [rate, late, _mpf(1)]
        return [rate, late, exact_bound(depth=depth - late, delta=delta, mu=mu / 2)]


THM_311 = numeric(
    id="dc/thm3.11-values",
    items=("Thm3.11", "ThmD.9"),
    title="Contraction rate, settling depth and bound of inputs of squared length from 1/2",
    statement=r"\hat L = \left\lceil \frac{\log(2 |\gamma - 1| / \mu)}{-\log \alpha}"
    r" \right\rceil, \quad |\rho_L| \le B_{\mu/2}(L - \hat L, \delta)",
    source=as_read("Theorems 3.11 and D.9"),
    cases=grid(
        activation=("tanh", "erf"),
        gamma_x=(0.5, 9.0),
        gamma_y=1.2,
        delta=0.1,
        depth=(2, 40, 300),
    ),
    predict=_predict_settled,
    measure=_measure_settled,
    # Powers to order 300 of 1 - mu/4.
    compare=AgreesTo(relative=1e-12),
    must_refute=mistake(
        "Inputs of unit length, whose lengths need not settle.",
        gamma_x=1.0,
        gamma_y=1.0,
    ),
    uses=("dc/B-values",),
)


def _predict_terms(*, rho: float, depth: int, **terms: float) -> float:
    return lengths.NormReLUDecay(**terms).bound(rho, depth)


def _measure_terms(*, rho: float, depth: int, **terms: float) -> Any:
    """Iterate r <- rate r + beta t, t <- alpha t."""
    with mpmath.workprec(integrals.BITS):
        found, t = abs(_mpf(rho)), {name: _mpf(v) for name, v in terms.items()}
        for _ in range(depth):
            found = t["rate"] * found + t["beta"] * t["start"]
            t["start"] *= t["alpha"]
        return found


def _wrong_terms(**case: Any) -> float:
    """The bias of the next layer in the place of each."""
    return _predict_terms(**{**case, "start": case["alpha"] * case["start"]})


THM_I1 = numeric(
    id="dc/thmI.1-bound",
    items=("ThmI.1",),
    title="The bound of Theorem I.1 solves its recursion",
    statement=r"|\rho_{l+1}| \le \alpha_\rho |\rho_l| + \beta t_l, \quad"
    r" t_{l+1} = \alpha t_l",
    source=ours("Theorem I.1"),
    cases=grid(
        alpha=(0.2, 0.7),
        beta=0.03,
        start=0.5,
        rate=0.6,
        rho=(-0.4, 0.9),
        depth=(0, 1, 12),
    ),
    predict=_predict_terms,
    measure=_measure_terms,
    compare=AgreesTo(relative=1e-14, absolute=1e-16),
    must_refute=_wrong_terms,
)


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
    cases=grid(activation="relu", depth=2),
    predict=_predict_between,
    measure=_measure_between,
    must_refute=mistake("The second set in reverse order.", step=-1),
    uses=("dc/eq1-matrices",),
)


def _predict_raw(*, activation: str, depth: int) -> Any:
    return kernels.nngp_map(np.array(_RHOS), subject(activation), depth)


def _measure_raw(*, activation: str, depth: int) -> list[Any]:
    """Lengths change from layer to layer: coefficients anew at each."""
    with mpmath.workprec(integrals.BITS):
        if activation == "relu":  # homogeneous: correlations do not see the length
            found = law(activation)
            size = found.moment() ** depth
            return [size * recursion.uncentred(found, r, depth)[-1] for r in _RHOS]
        length, values = _mpf(1), [_mpf(r) for r in _RHOS]
        for _ in range(depth):
            text = mpmath.nstr(length, 40)
            found = integrals.smooth_coefficients(activation, text)
            energies = [integrals.mpf(v) ** 2 for v in found]
            # From the value at this layer to the correlation, and on.
            series = [mpmath.polyval(energies[::-1], v / length) for v in values]
            length, values = mpmath.fsum(energies), series
        return values


EQ1_RAW = numeric(
    id="dc/eq1-raw",
    items=("Eq1", "D.0"),
    title="The top-layer kernel of an unnormalised activation, whose lengths change by"
    " layer",
    statement=r"K^{(l)} = \hat\sigma(K^{(l-1)}; \gamma_{l-1}, \gamma_{l-1})",
    assumptions=("unit inputs", "not normalised"),
    source=quoted("Equation 1"),
    cases=grid(activation=("relu", "tanh", "gelu"), depth=(1, 3)),
    predict=_predict_raw,
    measure=_measure_raw,
    # 1e-12 of the recursion.
    compare=AgreesTo(relative=1e-12, of_largest=True),
    must_refute=mistake("One hidden layer too many.", depth=plus(1)),
    uses=("dc/defC.1-unequal",),
)


_DEEP_RHOS = (-1.0, -0.5, 0.3, 0.999, 1.0)
_TURNS = (1e-6, 1e-2, 3.14)


def _predict_deep(*, weight_var: float, bias_var: float, depth: int) -> list[float]:
    variances: dict[str, Any] = {"weight_var": weight_var, "bias_var": bias_var}
    rho = np.array(_DEEP_RHOS)
    found = [
        of(rho, act.erf, depth, **variances)
        for of in (kernels.nngp_map, kernels.ntk_map)
    ]
    for turn in _TURNS:
        rows = pairs.rows(1.0, 1.0, turn)
        both = kernels.nngp_ntk(rows, act.erf, depth, **variances)
        found.append(np.array([k[0, 1] for k in both]))
    return [float(v) for each in found for v in each]


def _measure_deep(*, weight_var: float, bias_var: float, depth: int) -> list[Any]:
    """Arcsines (Williams 1997), layer by layer at 256 bits."""
    variances: dict[str, Any] = {"weight_var": weight_var, "bias_var": bias_var}

    def between(*products: Any) -> tuple[Any, Any]:
        first = pairs.affine(pairs.State(products, products), **variances)
        end = pairs.recursion(pairs.LAWS["erf"], first, depth, **variances)[-1]
        return end.k[2], end.t[2]

    one, rows = _mpf(1), [pairs.rows(1.0, 1.0, turn) for turn in _TURNS]
    top, slow = zip(*(between(one, one, _mpf(r)) for r in _DEEP_RHOS), strict=True)
    turned = [between(*pairs.start(*row).k) for row in rows]
    return [*top, *slow, *(v for both in turned for v in both)]


EQ1_DEEP = numeric(
    id="dc/eq1-raw-deep",
    items=("Eq1", "Eq7", "D.0"),
    title="Deep networks of erf, with biases and without, whose lengths keep changing",
    statement=r"K^{(l)} = \sigma_w^2 \tfrac2\pi \arcsin \tfrac{2 K^{(l-1)}}"
    r"{1 + 2 \gamma_{l-1}} + \sigma_b^2",
    assumptions=("unit inputs", "not normalised"),
    source=ours("Equations 1 and 7"),
    cases=(
        {"weight_var": 1.3, "bias_var": 0.1, "depth": 60},
        {"weight_var": 1.3, "bias_var": 0.1, "depth": 2},
        {"weight_var": 1.0, "bias_var": 0.0, "depth": 4},
    ),
    predict=_predict_deep,
    measure=_measure_deep,
    # 1e-12 of the recursion.
    compare=AgreesTo(relative=1e-12, of_largest=True),
    must_refute=mistake("One hidden layer too many.", depth=plus(1)),
    uses=("dc/eq1-raw",),
)

_CLOSE = (2.0**-53, 2.0**-51, 2.0**-47, 2.0**-40)


def _predict_apart(*, waves: int, powers: int, first: int = 0) -> list[float]:
    def polynomials(count: int) -> list[kernels.Layer]:
        return [kernels.Layer(act.hermite(30))] * count

    # A variance of weights that keeps the length at one.
    wave = kernels.Layer(act.cos, weight_var=1.0 / act.cos.second_moment)
    network = [*polynomials(first), *[wave] * waves, *polynomials(powers)]
    rho = 1.0 - np.array(_CLOSE)
    top = kernels.nngp_map(rho, network)
    return [*top, *kernels.ntk_map(rho, network, normalized=True)]


def _measure_apart(*, waves: int, powers: int, first: int = 0) -> list[Any]:
    """cosh(rho) / cosh(1) and rho^30, layer by layer to 60 digits."""
    with mpmath.workdps(60):
        one = mpmath.cosh(1)
        cosine = (lambda r: mpmath.cosh(r) / one, lambda r: mpmath.sinh(r) / one)
        power = (lambda r: r**30, lambda r: 30 * r**29)
        steps = [power] * first + [cosine] * waves + [power] * powers
        top: list[Any] = []
        slow: list[Any] = []
        for delta in _CLOSE:
            f, t, whole = 1 - _mpf(delta), 1 - _mpf(delta), _mpf(1)
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
    statement=r"K^{(l+1)} = \cosh K^{(l)} / \cosh 1 \text{ or } (K^{(l)})^{30}, \quad"
    r" 1 - \rho \ge 2^{-53}",
    assumptions=("cosines of second moment one, and Hermite polynomials of order 30",),
    source=ours("Equations 1 and 7"),
    cases=(*grid(waves=40, powers=(11, 12)), {"waves": 60, "powers": 9, "first": 5}),
    predict=_predict_apart,
    measure=_measure_apart,
    # The library's promise: 1e-12 of the diagonal.
    compare=AgreesTo(absolute=1e-12),
    must_refute=mistake("One wave more.", waves=plus(1)),
    uses=("dc/eq1-raw",),
)


def _predict_rate(*, kink: float, gamma: float, delta: float) -> list[float]:
    a = act.normrelu(kink)
    found = lengths.normrelu_decay(gamma, 1.0, delta, a)
    return [found.alpha, found.beta, found.start, found.rate]


def _measure_rate(*, kink: float, gamma: float, delta: float) -> list[Any]:
    with mpmath.workprec(integrals.BITS):
        moments: dict[float, tuple[Any, Any, Any]] = {}
        for g in (1.0, 0.5, 1.5):
            ramp = integrals.Pieces(1, (0, 0), (kink,), (1,), variance=g)
            mean, linear = ramp.coefficient(0), ramp.coefficient(1)
            moments[g] = (mean, linear, ramp.dual(1))
        shift = -moments[1.0][0]
        scale = 1 / (moments[1.0][2] - shift**2)  # lambda^2
        length, bias, rest = {}, {}, []
        for g, (mean, linear, energy) in moments.items():
            length[g] = scale * (energy + 2 * shift * mean + shift**2)
            bias[g] = scale * (mean + shift) ** 2 / length[g]
            rest.append(1 - bias[g] - scale * linear**2 / length[g])
        alpha, far = 2 * (1 - length[0.5]), abs(_mpf(gamma) - 1)
        beta = 2 * max(bias[0.5], bias[1.5])
        return [
            *(alpha, beta, far),
            1 - min(rest) * (_mpf(delta) - beta * far / (1 - alpha)),
        ]


THM_I1_RATE = numeric(
    id="dc/thmI.1-constants",
    items=("ThmI.1", "Eq28"),
    title="Values of the constants in NormReLU's decay of correlations",
    statement=r"\alpha_\rho = 1 - \min_\gamma \nu(\gamma) \left(\delta -"
    r" \frac{\beta t_0}{1 - \alpha}\right)",
    source=ours("Theorem I.1"),
    cases=grid(kink=(-1.59, -1.0), gamma=(0.5, 1.25), delta=(0.5, 0.9)),
    predict=_predict_rate,
    measure=_measure_rate,
    # Energies to 1e-13, differences of numbers of size one.
    compare=AgreesTo(relative=5e-13, absolute=1e-13),
    must_refute=mistake(
        "The rate of inputs that are orthogonal at the start.", delta=1.0
    ),
    uses=("dc/eq28", "dc/thmI.1-rest"),
)

# --- activations of another kind ------------------------------------------------------

_DELTAS = (1e-6, 0.1, 1.0, 1.7)
_KINK = 0.3
_VAR = 3.0


def _predict_callable(*, what: str, form: str = "arrays", linear: float = 0.5) -> Any:
    a = _given(form, linear)
    if what == "bend":
        twice = a.scaled(_VAR).derivative.derivative
        return [twice.mean, twice.second_moment]
    if what == "energy":
        # No derivative is given: the interpolant's is used.
        a = act.from_function(a, kinks=(_KINK,), name="ramp")
        return [a.derivative_second_moment, a.derivative.mean]
    if what == "dual":
        return a.dual(np.array(_RHOS))
    if what == "slope":
        return a.dual_derivative(np.array(_RHOS))
    return a.distance_map(np.array(_DELTAS))


def _given(form: str, linear: float) -> act.Activation:
    """Return a squared ramp and a line, in one of the forms that are understood."""
    if form in ("abs", "max", "piecewise"):
        import sympy

        # Its derivative and its kink are found.
        x = sympy.Symbol("x")
        over = {
            "abs": (x - _KINK + sympy.Abs(x - _KINK)) / 2,
            "max": sympy.Max(x - _KINK, 0),
            "piecewise": sympy.Piecewise((x - _KINK, x > _KINK), (0, True)),
        }[form]
        return act.from_function(over**2 + linear * x)
    if form == "tensors":
        import torch

        # Differentiated by PyTorch.
        return act.from_function(
            lambda x: torch.relu(x - _KINK) ** 2 + linear * x, kinks=(_KINK,)
        )
    most: Any = max if form == "numbers" else np.maximum
    return act.from_function(
        lambda x: most(x - _KINK, 0.0) ** 2 + linear * x,
        kinks=(_KINK,),
        derivative=lambda x: 2.0 * most(x - _KINK, 0.0) + linear,
        name="ramp",
    )


def _measure_callable(*, what: str, form: str = "arrays") -> Any:
    del form  # of the same function
    if what == "bend":
        # (s(r x))'' is 2 r^2 beyond c / r, and zero before.
        beyond = mpmath.ncdf(-_KINK / mpmath.sqrt(_VAR))
        return [2 * _VAR * beyond, (2 * _VAR) ** 2 * beyond]
    piece = integrals.Pieces(2, (0, "0.5"), (_KINK,), (2,))
    found = integrals.of_pieces(piece)
    if what == "energy":
        # Stein: E s' = a_1.
        return [found.slope(1), found.coefficient(1)]
    if what == "distance":
        return [found.distance(delta) for delta in _DELTAS]
    return [getattr(found, what)(rho) for rho in _RHOS]


CALLABLE = numeric(
    id="dc/defC.1-callable",
    items=("DefC.1",),
    title="Dual and slope of a user-defined function with a kink",
    statement=r"s(x) = (x - c)_+^2 + x/2",
    source=ours("Definition C.1"),
    cases=(
        *grid(what=("energy", "dual", "slope", "distance", "bend")),
        *grid(what=("dual", "slope", "bend"), form="abs"),
        *grid(what="slope", form=("max", "piecewise", "tensors", "numbers")),
    ),
    predict=_predict_callable,
    measure=_measure_callable,
    compare=AgreesTo(relative=1e-13),
    must_refute=mistake("The function without its linear part.", linear=0.0),
    uses=("dc/defC.1-derivative", "dc/defC.1-distance"),
)


_SOME, _NEAR = (-0.9, 0.6), (1e-6, 0.4)
_ORDERS = 3


def _shape(order: int, kink: float, linear: float) -> Callable[[Array], Any]:
    """Return (x - c)_+^m and a line, or for m = 0 a step alone."""
    if order == 0:
        return lambda x: (x > kink) * 1.0
    return lambda x: np.maximum(x - kink, 0.0) ** order + linear * x


def _bent(order: int, kink: float, linear: float) -> Callable[[Array], Any]:
    """Return (x - c)_+^m and a multiple of tanh, smooth on both sides of the kink."""
    return lambda x: np.maximum(x - kink, 0.0) ** order + 2.0 * linear * np.tanh(x)


def _predict_found(
    *, order: int, kink: float, bent: bool = False, linear: float = 0.5
) -> list[float]:
    shape = (_bent if bent else _shape)(order, kink, linear)
    a = act.from_function(shape, name="found")
    if bent:
        return [*a.kinks, *a.hermite(_ORDERS), a.second_moment]
    values = [*a.kinks, *a.dual(np.array(_SOME)), *a.distance_map(np.array(_NEAR))]
    return values if order == 0 else [*values, *a.dual_derivative(np.array(_SOME))]


def _measure_found(*, order: int, kink: float, bent: bool = False) -> list[Any]:
    if bent:
        return [kink, *_bent_moments(order, kink)]
    line = (0, "0.5" if order else 0)
    pieces = integrals.Pieces(order, line, (kink,), (max(order, 1),))
    found = integrals.of_pieces(pieces)
    distances = [found.distance(delta) for delta in _NEAR]
    values = [kink, *(found.dual(rho) for rho in _SOME), *distances]
    return [*values, *(found.slope(rho) for rho in _SOME if order)]


def _bent_moments(order: int, kink: float) -> list[float]:
    """E s h_k for k to 3, and E s^2, by quadratures that end at the kink."""
    # 20 nodes on half-panels of 1/2 at most, poles of tanh at distance pi/2: 6^-40 of
    # a panel is left.
    z, w = gaussian_panels(np.union1d(np.arange(-13.0, 13.5), kink))
    s = np.tanh(z) + np.where(z > kink, z - kink, 0.0) ** order
    polynomials = (1.0, z, z**2 - 1.0, z**3 - 3.0 * z)
    means = [math.fsum(w * s * h) for h in polynomials]
    sizes = (1.0, 1.0, math.sqrt(2.0), math.sqrt(6.0))
    square = math.fsum(w * s * s)
    return [*(m / size for m, size in zip(means, sizes, strict=True)), square]


FOUND = replace(
    CALLABLE,
    id="dc/defC.1-found-kinks",
    title="Kinks and jumps of user-defined functions are found where they are",
    statement=r"s(x) = (x - c)_+^m + x/2 \text{ or } \tanh x,\qquad s(x) = 1\{x > c\}",
    cases=(
        *grid(order=(0, 2), kink=0.3),
        *grid(order=1, kink=-(2.0**-0.5)),
        *grid(order=(1, 2, 3), kink=0.3, bent=True),
        *grid(order=1, kink=-(2.0**-0.5), bent=True),
    ),
    predict=_predict_found,
    measure=_measure_found,
    # The kink to rounding; the rest is what it is with the kink.
    compare=AgreesTo(relative=1e-12),
    must_refute=mistake("The functions without their linear part.", linear=0.0),
    uses=("dc/defC.1-callable",),
)


def _predict_cubic(*, var_x: float, var_y: float) -> Array:
    return act.hermite(3).dual(np.array(_RHOS), var_x=var_x, var_y=var_y)


def _measure_cubic(*, var_x: float, var_y: float) -> list[Any]:
    # h_3(s x) = s^3 h_3(x) + 3 s (s^2 - 1) h_1(x) / sqrt 6.
    with mpmath.workprec(integrals.BITS):
        v, w = _mpf(var_x), _mpf(var_y)
        root = mpmath.sqrt(v * w)
        one, three = 9 * root * (v - 1) * (w - 1) / 6, root**3
        return [one * _mpf(r) + three * _mpf(r) ** 3 for r in _RHOS]


def _wrong_cubic(*, var_x: float, var_y: float) -> Array:
    """The dual of a function homogeneous of degree three."""
    return (var_x * var_y) ** 1.5 * np.array(_RHOS) ** 3


CUBIC = numeric(
    id="dc/defC.1-cubic",
    items=("DefC.1", "D.0"),
    title="The dual of a Hermite polynomial at unequal variances",
    statement=r"h_3(sx) = s^3 h_3(x) + \frac{3 s (s^2 - 1)}{\sqrt 6} h_1(x)",
    source=ours("Definition C.1"),
    cases=grid(var_x=(0.5, 2.0), var_y=(1.0, 1.5)),
    predict=_predict_cubic,
    measure=_measure_cubic,
    compare=AgreesTo(relative=1e-13, of_largest=True),
    must_refute=_wrong_cubic,
    uses=("dc/defC.1-unequal", "dc/defC.1-polynomials"),
)

_POINTS = (-3.0, -0.7, 0.0, 1.3, 4.0)


def _predict_polynomial(*, k: int, scale: float = 1.0) -> list[float]:
    return [float(v) for v in hermite.hermite(k, scale * np.array(_POINTS))]


def _measure_polynomial(*, k: int) -> list[Any]:
    """Rodrigues' sum: He_k(x) = k! sum_m (-1)^m x^(k-2m) / (2^m m! (k-2m)!)."""
    with mpmath.workprec(integrals.BITS):
        root = mpmath.sqrt(mpmath.factorial(k))
        return [
            root
            * mpmath.fsum(
                (-1) ** m
                * _mpf(x) ** (k - 2 * m)
                / (_mpf(2) ** m * math.factorial(m) * math.factorial(k - 2 * m))
                for m in range(k // 2 + 1)
            )
            for x in _POINTS
        ]


POLYNOMIAL = numeric(
    id="dc/defC.1-polynomials",
    items=("DefC.1",),
    title="Normalised Hermite polynomials, by Rodrigues' formula",
    statement=r"h_k(x) = \frac{(-1)^k}{\sqrt{k!}} e^{x^2/2} \frac{d^k}{dx^k} e^{-x^2/2}",
    source=quoted("Definition C.1"),
    cases=grid(k=(0, 1, 2, 3, 8, 25)),
    predict=_predict_polynomial,
    measure=_measure_polynomial,
    # k steps of a recurrence, of the largest value.
    compare=AgreesTo(relative=1e-14, of_largest=True),
    must_refute=mistake("The physicists' Hermite polynomials.", scale=math.sqrt(2.0)),
)


def _predict_sample(*, rows: list[list[int]]) -> float:
    return kernels.separation(rows)


def _measure_sample(*, rows: list[list[int]]) -> Any:
    with mpmath.workprec(integrals.BITS):
        cosines = [
            abs(mpmath.fdot(a, b)) / (mpmath.norm(a) * mpmath.norm(b))
            for i, a in enumerate(rows)
            for b in rows[:i]
        ]
        return 1 - max(cosines)


DELTA = numeric(
    id="dc/delta-sample",
    items=("delta", "AsmA"),
    title="The separation of a sample, from its most correlated pair",
    statement=r"\min_{i < j} \left(1 - \frac{|x_i \cdot x_j|}{|x_i| |x_j|}\right)",
    source=quoted("Section 6, the definition of delta(s, eta)"),
    cases=grid(rows=([[3, 4], [-4, 3], [1, 7]], [[1, 2, 2], [-2, -3, -6], [4, 0, 3]])),
    predict=_predict_sample,
    measure=_measure_sample,
    # Squares of differences and sums of unit rows: d + 10 roundings.
    compare=AgreesTo(relative=1e-14),
    must_refute=mistake(
        "A separation of 1 - rho^2 in the place of 1 - |rho|.",
        then=lambda found: found * (2.0 - found),
    ),
    uses=("dc/asmA",),
)
