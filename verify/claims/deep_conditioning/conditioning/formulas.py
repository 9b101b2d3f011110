"""Every bound as a number: the restored formula at 60 digits against the library's.

A bound that is checked as an inequality alone may be wrong by a factor and still hold.
Here it is compared with its own formula, written out a second time.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from theory import conditioning, kernels, lengths, optimization
from verify import integrals
from verify.claim import Case, Claim, Mistake, Source, grid, numeric
from verify.claims._predictors import changed, mistake, plus, times
from verify.claims.deep_conditioning import _recursions as recursion
from verify.claims.deep_conditioning._sources import as_read, forced, ours, quoted
from verify.claims.deep_conditioning._subjects import law, subject
from verify.claims.deep_conditioning.conditioning.correlations import exact_bound
from verify.claims.deep_conditioning.conditioning.uncentred import (
    counted_start,
    exact_fixed_point,
)
from verify.compare import AgreesTo

_MODULES = {
    "conditioning": conditioning,
    "lengths": lengths,
    "optimization": optimization,
}
_RELU_MU = 0.26652889653787007


# --- the formulas ---------------------------------------------------------------------


def _layers_of(share: Any, mu: Any) -> Any:
    """Return log(share) / -log(1 - mu/2)."""
    return mpmath.log(share) / -mpmath.log1p(-mpmath.mpf(mu) / 2)


def _one_layer(*, delta: float, mu: float) -> Any:
    d, m = mpmath.mpf(delta), mpmath.mpf(mu)
    return 1 - d - m * d / 2 if d <= 0.5 else (1 - d) - m * (1 - d) / 2


def _two_lengths(*, rho: float, mu_x: float, mu_y: float) -> Any:
    each = [_one_layer(delta=1.0 - abs(rho), mu=mu) for mu in (mu_x, mu_y)]
    return mpmath.sqrt(each[0] * each[1])


def _slope_bound(*, delta: float, mu: float, form: str) -> Any:
    d, m = mpmath.mpf(delta), mpmath.mpf(mu)
    return 1 / d if form == "printed" else (1 + m - 2 * m * d) / (1 + m)


def _tangent_ratio(*, depth: int, delta: float, mu: float, form: str) -> Any:
    if form == "printed":
        # The theorem says nothing before the burn-in of half the layers.
        layers = mpmath.mpf(depth) / 2
        late = layers >= recursion.burn_in(delta, mu)
        twice = 2 * exact_bound(depth=layers, delta=delta, mu=mu)
        return twice if late else mpmath.mpf(1)
    return exact_bound(depth=depth, delta=delta, mu=mu)


def _condition(*, depth: int, delta: float, mu: float, n: int, assumption: str) -> Any:
    """1 + 2 n (1 - mu/2)^(L - L_0) and 1 + n ..., before L_0 by 1 + n B/(1 - B)."""
    start = recursion.burn_in(delta, mu)
    if assumption == "B" and depth <= start:
        distance = mpmath.mpf(delta) * (1 + mpmath.mpf(mu) / 2) ** depth
        return 1 + n * (1 - distance) / distance
    return 1 + {"A": 2, "B": 1}[assumption] * n * (1 - mpmath.mpf(mu) / 2) ** (
        depth - start
    )


def _tangent_condition(
    *, depth: int, delta: float, mu: float, n: int, assumption: str, form: str
) -> Any:
    layers, factor = mpmath.mpf(depth) / 2, {"A": 4, "B": 2}[assumption] * n
    if form == "sharp":
        layers, factor = 2 * layers, factor / 2
    return 1 + factor * (1 - mpmath.mpf(mu) / 2) ** (
        layers - recursion.burn_in(delta, mu)
    )


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
    return mpmath.exp(-(1 if printed else 2) * step / mpmath.mpf(condition_number))


def _two_eigenvalues(*, min_eigenvalue: int, max_eigenvalue: int) -> Any:
    """Loss after a step over the loss before, for one residual of each eigenvalue."""
    step = Fraction(2, min_eigenvalue + max_eigenvalue)
    after = [1 - step * v for v in (min_eigenvalue, max_eigenvalue)]
    found = (after[0] ** 2 + after[1] ** 2) / 2
    return mpmath.mpf(found.numerator) / found.denominator


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
    some = mpmath.mpf(tolerance) ** 2 / (2 * mpmath.mpf(squared_correlation))
    return max(some - 1, mpmath.mpf(0))


def _covariance(*, s: float, form: str) -> Any:
    if form == "sharp":
        return (0.5 - mpmath.lambertw(-1 / (2 * mpmath.e), -1).real) / mpmath.mpf(s)
    return 28 * mpmath.log(mpmath.mpf(8) * s / 3) / (3 * mpmath.mpf(s))


def _excess(*, n: int, optimum_norm: float) -> Any:
    log = mpmath.log(8) + 2 * mpmath.log(n) - mpmath.log(3)
    return 56 * (1 + mpmath.mpf(optimum_norm)) ** 2 * log / n


_FORMULAS: dict[str, Callable[..., Any]] = {
    "conditioning.one_layer_bound": _one_layer,
    "conditioning.derivative_bound": _slope_bound,
    "conditioning.nngp_condition_bound": _condition,
    "conditioning.ntk_ratio_bound": _tangent_ratio,
    "conditioning.ntk_min_eigenvalue_bound": lambda **case: 1 - _tangent_ratio(**case),
    "conditioning.ntk_condition_bound": _tangent_condition,
    "conditioning.ntk_threshold_depth": _tangent_threshold,
    "_first": _tangent_threshold,
    "lengths.odd_correlation_bound": _two_lengths,
    "optimization.gradient_descent_bound": _descent,
    "optimization.kernel_descent_factor": _two_eigenvalues,
    "optimization.sgd_steps": _steps,
    "optimization.sgd_restarts": _restarts,
    "optimization.query_lower_bound": _queries,
    "optimization.covariance_norm_bound": _covariance,
    "optimization.overfitting_depth": lambda delta, mu, s: (
        recursion.burn_in(delta, mu) + mpmath.ceil(_layers_of(s, mu))
    ),
    "optimization.excess_risk_bound": _excess,
    "optimization.one_layer_min_eigenvalue": lambda n, delta: (
        mpmath.mpf(delta) * mpmath.sqrt(mpmath.mpf(delta)) / n**4
    ),
    "optimization.separation_event_bound": lambda n, delta: (
        mpmath.sqrt(mpmath.mpf(delta)) / 10 / n
    ),
}


def _first(**case: Any) -> int:
    """The first depth at which the tangent kernel's condition bound is finite."""
    bounds = conditioning.ntk_condition_bound(np.arange(1, 1000), **case)
    return 1 + int(np.argmax(np.isfinite(bounds)))


def _predict(*, function: str, **case: Any) -> float:
    if function == "_first":
        return _first(**case)
    module, _, name = function.partition(".")
    return float(getattr(_MODULES[module], name)(**case))


def _measure(*, function: str, **case: Any) -> Any:
    with mpmath.workprec(integrals.BITS):
        return mpmath.mpf(_FORMULAS[function](**case))


def _wrongly(words: str, **changes: Callable[[Any], Any]) -> Any:
    """Return a control: other arguments, where a function has them."""

    def make(predict: Callable[..., Any]) -> Callable[..., Any]:
        def control(**case: Any) -> Any:
            its = {name: change for name, change in changes.items() if name in case}
            return changed(predict, words, **its)(**case)

        control.__doc__ = words
        return control

    return Mistake(make)


def _cases(function: str, **axes: Any) -> tuple[Case, ...]:
    return grid(function=function, **axes)


def _formula(
    id: str,
    items: tuple[str, ...],
    source: Source,
    title: str,
    statement: str,
    *cases: Case,
    control: Any,
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
        # At most two powers to 4 ulp each, dc/B-long, or an exponential of
        # less than 14, and a few roundings more. Whole numbers exactly.
        compare=AgreesTo(relative=1e-14),
        must_refute=control,
        uses=uses,
    )


_MUS = (0.015858317676985129, _RELU_MU, 1.0)


def _tangent_cases(form: str, depth: tuple[int, ...]) -> tuple[Case, ...]:
    axes: dict[str, Any] = {"delta": 0.01, "mu": (_RELU_MU, 1.0), "form": form}
    return (
        *_cases("conditioning.ntk_ratio_bound", depth=depth, **axes),
        *_cases("conditioning.ntk_min_eigenvalue_bound", depth=depth, **axes),
    )


BOUNDS = (
    _formula(
        "dc/lemC.5-values",
        ("LemC.5", "LemD.6"),
        forced("Lemma C.5, Lemma D.6"),
        "Values of the one-layer bound, and of that for odd functions at two lengths",
        r"1 - (1 + \mu/2) \delta, \quad (1 - \mu/2) (1 - \delta), \quad"
        r" \sqrt{B_{\mu_x} B_{\mu_y}}",
        *_cases("conditioning.one_layer_bound", delta=(1e-6, 0.3, 0.5, 0.8), mu=_MUS),
        *_cases(
            "lengths.odd_correlation_bound",
            rho=(-0.75, 0.125),
            mu_x=_RELU_MU,
            mu_y=(0.0158, 1.0),
        ),
        control=_wrongly(
            "A fourth of mu in the place of its half.",
            **dict.fromkeys(("mu", "mu_x", "mu_y"), times(0.5)),
        ),
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
        control=_wrongly(
            "1 - rho^2 in the place of delta = 1 - |rho|.",
            delta=lambda d: d * (2.0 - d),
        ),
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
        control=_wrongly(
            "The n - 1 entries beside the diagonal in the place of n.", n=plus(-1)
        ),
        uses=("dc/B-values",),
    ),
    _formula(
        "dc/thm3.4-values",
        ("Thm3.4", "Thm3.8", "E5", "E6"),
        ours("Theorem 3.4, Theorem 3.8"),
        "Values of the tangent kernel's bounds, as restored and as sharpened",
        r"2 B(L/2, \delta), \quad 1 - 2 B(L/2, \delta); \qquad B(L, \delta), \quad"
        r" 1 - B(L, \delta)",
        *_tangent_cases("printed", depth=(4, 9, 13, 40, 80, 101)),
        *_tangent_cases("sharp", depth=(1, 9, 80, 101)),
        control=_wrongly("The readout counted as a layer.", depth=plus(1)),
        uses=("dc/B-values",),
    ),
    _formula(
        "dc/cor3.5-values",
        ("Cor3.5", "Cor3.9", "E6"),
        ours("Corollary 3.5, Corollary 3.9"),
        "Values of the tangent kernel's condition bound and depth, restored and sharpened",
        r"1 + 4n (1 - \mu/2)^{L/2 - L_0}, \quad L \ge 2 L_0 + \frac{2 \log 2n}"
        r"{-\log(1 - \mu/2)}; \qquad 1 + 2n (1 - \mu/2)^{L - L_0}, \quad"
        r" L \ge L_0 + \frac{\log n}{-\log(1 - \mu/2)}",
        *_cases(
            "conditioning.ntk_condition_bound",
            depth=(151, 200),
            delta=0.01,
            mu=_RELU_MU,
            n=100,
            assumption=("A", "B"),
            form=("printed", "sharp"),
        ),
        # Both the depth and where the bound begins to be finite.
        *grid(
            function=("conditioning.ntk_threshold_depth", "_first"),
            delta=(0.01, 1e-4),
            mu=(_RELU_MU, 0.9),
            n=(1, 100),
            assumption=("A", "B"),
            form=("printed", "sharp"),
        ),
        control=_wrongly(
            "A burn-in until delta is one, not one half.", delta=times(0.5)
        ),
        uses=("dc/B",),
    ),
    _formula(
        "dc/thmE.8-values",
        ("ThmE.8", "ThmE.5"),
        ours("Theorem E.8, Theorem E.5"),
        "Values of the factors by which descent shrinks the loss, restored and attained",
        r"e^{-t/\kappa}, \quad e^{-2t/\kappa}; \quad"
        r" \left(\frac{\kappa - 1}{\kappa + 1}\right)^2",
        *_cases(
            "optimization.gradient_descent_bound",
            step=(0, 3, 50),
            condition_number=(1.0, 7.5),
            printed=(True, False),
        ),
        # Attained by two residuals.
        *_cases(
            "optimization.kernel_descent_factor",
            min_eigenvalue=(1, 3),
            max_eigenvalue=(4, 100),
        ),
        control=mistake("Factors of distances, not of the loss.", then=math.sqrt),
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
            "optimization.sgd_restarts",
            initial=(1.0, 3.0, 64.0),
            target=(0.5, 0.45, 0.01),
        ),
        control=mistake("A floor in the place of the ceiling.", then=plus(-1.0)),
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
            # The last one takes no query.
            squared_correlation=(1e-3, 1e-9, 0.2),
        ),
        *_cases(
            "optimization.query_lower_bound", tolerance=1e200, squared_correlation=1e200
        ),
        control=_wrongly(
            "The tolerance in the place of its square.", tolerance=math.sqrt
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
        control=_wrongly("One example more.", s=plus(1), n=plus(1)),
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
        control=_wrongly("The root of delta in the place of delta.", delta=math.sqrt),
    ),
)

# --- counts that a millionth of an argument would change ------------------------------

_FALLS = {4: 6, 100: 12}
"""Layers in which 1 - mu/2 falls to one over a number, but for about a millionth."""


def _close_call(size: int, early: int, late: int) -> tuple[float, float]:
    """Return delta and mu: nine layers and `_FALLS`, each a millionth more or less."""
    mu = 2.0 * (1.0 - size ** (-1.0 / _FALLS[size])) * (1.0 - 1e-7 * late)
    return 0.5 * (1.0 + 0.5 * mu) ** -9.0 * (1.0 - 3e-7 * early), mu


def _predict_close(*, size: int, early: int, late: int) -> list[float]:
    """Counts and bounds that begin at them; 0 in the place of infinity."""
    d, mu = _close_call(size, early, late)
    given, n, half = (d, mu), size, {4: 1, 100: 5}[size]
    first, last = np.arange(7, 24), np.arange(17, 36)
    kinds: Any = (("A", None), ("B", None), ("A", 3.0), ("B", 2.0))
    counts = [
        # Half way apart up to rounding.
        conditioning.burn_in_depth(0.5 * (1.0 - 2.0**-53), mu),
        conditioning.burn_in_depth(*given),
        *(
            conditioning.depth_for_condition_number(*given, n, target, assumption=side)
            for side, target in kinds
        ),
        conditioning.ntk_threshold_depth(*given, half),
        conditioning.ntk_threshold_depth(*given, half, assumption="B"),
        optimization.overfitting_depth(*given, n),
    ]
    bounds = [
        conditioning.correlation_bound(first, *given),
        conditioning.nngp_condition_bound(first, *given, n),
        conditioning.nngp_condition_bound(first, *given, n, assumption="B"),
        conditioning.ntk_condition_bound(last, *given, half),
        conditioning.ntk_condition_bound(last, *given, half, assumption="B"),
        conditioning.ntk_ratio_bound(last, *given),
    ]
    found = np.concatenate([counts, *bounds]).astype(np.float64)
    return np.where(np.isinf(found), 0.0, found).tolist()


def _measure_close(*, size: int, early: int, late: int) -> list[Any]:
    d, mu = _close_call(size, early, late)
    n, half = size, {4: 1, 100: 5}[size]
    start, whole = recursion.burn_in(d, mu), recursion.shrunk(size, mu)
    # At most 1 + 2 n / n or 1 + n / n after as many layers as n falls to one in.
    ends = start + whole, start, start + whole, start + whole
    later = {"A": 2 * start + whole, "B": 2 * start + recursion.shrunk(4, mu)}
    counts = [0, start, *ends, *later.values(), start + whole]
    with mpmath.workprec(integrals.BITS):
        fall, grow = 1 - mpmath.mpf(mu) / 2, 1 + mpmath.mpf(mu) / 2

        def early_bound(layers: int) -> Any:
            distance = mpmath.mpf(d) * grow**layers
            return 1 + n * (1 - distance) / distance

        return [
            *map(mpmath.mpf, counts),
            *(exact_bound(depth=k, delta=d, mu=mu) for k in range(7, 24)),
            *(
                1 + 2 * n * fall ** (k - start) if k >= ends[0] else mpmath.mpf(0)
                for k in range(7, 24)
            ),
            *(
                1 + n * fall ** (k - start) if k > start else early_bound(k)
                for k in range(7, 24)
            ),
            *(
                1 + factor * half * fall ** (mpmath.mpf(k) / 2 - start)
                if k >= later[side]
                else mpmath.mpf(0)
                for side, factor in (("A", 4), ("B", 2))
                for k in range(17, 36)
            ),
            # Half a layer before the last one of the count it says nothing, either.
            *(
                _tangent_ratio(depth=k, delta=d, mu=mu, form="printed")
                for k in range(17, 36)
            ),
        ]


CLOSE_CALLS = numeric(
    id="dc/thm3.2-counts",
    items=("Thm3.2", "Cor3.3", "Cor3.5", "Cor3.7", "Cor3.9"),
    title="Counts of layers, and bounds that begin at them, where a millionth decides",
    statement=r"L_0 = \lceil 9 \pm 10^{-6} \rceil, \quad \left\lceil"
    r" \frac{\log n}{-\log(1 - \mu/2)} \right\rceil = \lceil 12 \pm 10^{-6} \rceil",
    source=as_read("Theorem 3.2 and Corollaries 3.3 to 3.9"),
    cases=grid(size=(4, 100), early=(-1, 1), late=(-1, 1)),
    predict=_predict_close,
    measure=_measure_close,
    # Powers to order 36 of a base rounded once.
    compare=AgreesTo(relative=1e-14),
    must_refute=mistake(
        "A millionth of a layer forgiven, by which the ceiling is a layer less.",
        early=-1,
        late=-1,
    ),
    uses=("dc/cor3.7-values", "dc/cor3.5-values"),
)

# --- constants of one activation --------------------------------------------------------


def _predict_convergence(*, activation: str, delta: float) -> list[float]:
    found = conditioning.fixed_point_convergence(subject(activation), delta)
    return [found.point, found.slope, found.rate, found.start]


def _measure_convergence(*, activation: str, delta: float) -> list[Any]:
    found = law(activation)
    point = exact_fixed_point(found)
    with mpmath.workprec(integrals.BITS):
        slope = found.slope(point) / found.moment()
        near = 1 - found.nu() * (1 - point) / 2
        rate = max(near, slope) if point < 1 else slope
        return [point, slope, rate, counted_start(found, point, delta)]


THM_310 = numeric(
    id="dc/thm3.10-constants",
    items=("Thm3.10", "LemC.30"),
    title="Fixed point, slope, rate and burn-in depth of an uncentred activation",
    statement=r"D > 1: \; q = \max(1 - \nu \bar\delta / 2, \hat\sigma'(\bar\rho)), \;"
    r" L_1 = \max\left(\left\lceil \frac{1}{a_0^2} \right\rceil, \left\lceil"
    r" \frac{\log(\bar\delta / 2\delta)}{\log(1 + \nu \bar\delta / 2)}"
    r" \right\rceil\right); \quad D < 1: \; q = D, \;"
    r" L_1 = \left\lceil \frac{1}{a_0^2} \right\rceil",
    assumptions=("unit second moment", "bar delta = 1 - bar rho"),
    source=ours("Theorem 3.10 and Lemma C.30"),
    cases=(
        *grid(activation=("gelu", "silu"), delta=(1e-4, 0.05, 0.5)),
        *grid(activation=("sigmoid", "softplus"), delta=0.05),
    ),
    predict=_predict_convergence,
    measure=_measure_convergence,
    # The fixed point to the dual's 1e-15 over 1 - slope, above 0.06, and what is read off.
    compare=AgreesTo(absolute=5e-14),
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


E3_FLOOR = numeric(
    id="dc/E3-floor",
    title="Values of the finite-width floor of the mean correlation, from a_2 and mu",
    statement=r"\frac{a_2^2}{\mu^2 (2 - \mu)\, m}",
    source=ours("Theorem F.1 (corrected)"),
    cases=grid(activation=("relu", "gelu", "exp", "sigmoid"), width=(1, 128)),
    predict=_predict_floor,
    measure=_measure_floor,
    # mu and a_2 to 1e-13 each, mu twice; the sigmoid's a_2 vanishes.
    compare=AgreesTo(relative=5e-13, absolute=1e-25),
    must_refute=mistake(
        "The floor without its second factor mu.",
        then=lambda floor, *, activation: subject(activation).mu * floor,
    ),
    uses=("dc/def3.1", "dc/tab2-coefficients"),
)


def _sample(rows: Any) -> Any:
    """Return rows, or such of random lengths as are this close, but for rounding."""
    if not isinstance(rows, float):
        return rows
    rng, turn = np.random.default_rng(1), rows * np.arange(40)
    plane = np.linalg.qr(rng.standard_normal((5, 5)))[0][:, :2].T
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    return (rng.uniform(1.0, 3.0, (40, 1)) * circle @ plane).tolist()


def _predict_sample(*, rows: Any) -> float:
    return kernels.separation(_sample(rows))


def _measure_sample(*, rows: Any) -> Any:
    rows = _sample(rows)
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
    cases=grid(
        rows=(
            [[3, 4], [-4, 3], [1, 7]],
            [[1, 2, 2], [-2, -3, -6], [4, 0, 3]],
            0.01,
            1e-14,
        )
    ),
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
