"""How fast depth makes the tangent kernel diagonal: restored, sharp and best possible."""

from bisect import bisect_right
from collections.abc import Callable
from functools import partial
from typing import Any

import mpmath
from hypothesis import strategies as st

from theory import conditioning as dc
from verify.claim import Case, adversarial, grid, numeric
from verify.claims._predictors import mistake, plus, times
from verify.claims._searches import SEEDS, SIGNS, searched
from verify.claims.deep_conditioning import _recursions as recursion
from verify.claims.deep_conditioning._sources import as_read, ours
from verify.claims.deep_conditioning._subjects import (
    BENT,
    Subject,
    law,
    mixtures,
    mu_of,
    separations,
)
from verify.claims.deep_conditioning.conditioning.correlations import (
    extremal,
    extremals,
    quadratic_law,
    signed,
)
from verify.compare import AgreesTo, AtLeast, AtMost
from verify.integrals import BITS

# Wrong predictions below are what is attained, a layer further on.


# --- the ratio off the diagonal ---------------------------------------------------------


def _ratio(found: Any, rho: Any, depth: int) -> Any:
    """|T_ij| / T_11 layer by layer, at 60 digits."""
    with mpmath.workprec(BITS):
        slope, t, top = found.normalised_slope(1), rho, mpmath.mpf(1)
        # T_l = K_l + s'(rho_{l-1}) T_{l-1}, over the diagonal at the end.
        for _ in range(depth):
            t = t * found.normalised_slope(rho)
            rho = found.normalised_dual(rho)
            t, top = t + rho, 1 + slope * top
        return abs(t) / top


def _measure_ratio(*, activation: Subject, delta: float, sign: int, depth: int) -> Any:
    with mpmath.workprec(BITS):
        return _ratio(law(activation), sign * (1 - mpmath.mpf(delta)), depth)


def _predict_ratio(
    *, activation: Subject, delta: float, depth: int, form: Any, **_: Any
) -> float:
    return dc.ntk_ratio_bound(depth, delta, mu_of(activation), form=form)


_LARGEST = partial(_predict_ratio, form="attained")
_LATER = mistake(
    "The largest ratio one layer further on.", form="attained", depth=plus(1)
)


def _twice(measure: Callable[..., Any], **case: Any) -> list[Any]:
    """Return one measurement for two bounds of it."""
    return [measure(**case)] * 2


# Activations close to the quadratic, which attains the maximum, and any others.
_NEAR = st.tuples(
    st.floats(0.01, 0.9), st.lists(st.floats(-4.0, 0.0), min_size=1, max_size=5)
).map(
    lambda t: {
        "a": [
            0.0,
            (1.0 - t[0]) ** 0.5,
            t[0] ** 0.5,
            *(round(10.0**e * t[0] ** 0.5, 6) for e in t[1]),
        ]
    }
)
_RATIOS = searched(
    activation=st.one_of(_NEAR, mixtures(centred=True)),
    delta=separations(),
    sign=SIGNS,
    depth=st.integers(1, 40),
)


_CUBICS = {"a": [0.0, 0.9, 0.4, 0.05]}, {"a": [0.0, 0.9, 0.1, 0.4]}
_ANY = (
    *signed(("relu", "tanh", "gelu"), 0.5, (1, -1), (9, 20)),
    *signed(_CUBICS, (0.1, 0.5), (1, -1), (2, 9, 30)),
)

_of_ratios = partial(adversarial, examples=_RATIOS, max_examples=100)

THM_34 = _of_ratios(
    id="dc/thm3.4",
    loose=True,
    items=("Thm3.4", "E5"),
    title="Depth makes the tangent kernel diagonal, at the rate of Theorem 3.4 as restored",
    statement=r"\frac{|T_{ij}|}{T_{11}} \le 2 B(L/2, \delta), \quad L \ge 2 L_0(\delta)",
    assumptions=("assumption A", "L/2 need not be whole (E5)"),
    source=as_read("Theorem 3.4"),
    # Twice the burn-in depth and more, where the bound is below one.
    cases=(
        *signed(extremals(0.005, 0.05, 0.3), 0.5, 1, (1, 2, 13, 60)),
        *signed(extremals(0.3, 1.0), 0.01, 1, (60, 75)),
        *_ANY,
    ),
    predict=partial(_predict_ratio, form="printed"),
    measure=_measure_ratio,
    compare=AtMost(rounding=1e-13, trivial=1.0),
    must_refute=_LATER,
    uses=("dc/lemC.14", "dc/thm3.2", "dc/thm3.4-values"),
    finding=(
        "The bound is at least twice what is needed: by dc/thm3.4-envelope the ratio"
        " is at most B(L, delta), and that at most half of this bound; from L = 2 L_0 + 1"
        " on, half of its square. The factor tends to 2 where the bound tends to one, and"
        " grows with depth like the inverse of the bound."
    ),
)


def _predict_attained(*, mu: float, delta: float, depth: int) -> list[float]:
    # Rows that end early stay as they are while others go on.
    case = [1, depth], delta, mu
    return [
        *dc.ntk_ratio_bound(*case, form="attained"),
        *dc.ntk_min_eigenvalue_bound(*case, form="attained"),
    ]


def _measure_attained(*, mu: float, delta: float, depth: int) -> list[Any]:
    with mpmath.workprec(BITS):
        law, start = quadratic_law(mu), 1 - mpmath.mpf(delta)
        found = [_ratio(law, start, layers) for layers in (1, depth)]
        return [*found, *(1 - t for t in found)]


THM_34_ATTAINED = numeric(
    id="dc/thm3.4-attained",
    items=("Thm3.4", "E6"),
    title="The tangent ratio of the quadratic activation at every depth",
    statement=r"t_L = \frac{\sum_h r_h \prod_{l=h}^{L-1} (1 - \mu + 2\mu r_l)}"
    r"{\sum_h (1 + \mu)^h}, \quad r_{l+1} = r_l (1 - \mu (1 - r_l))",
    assumptions=("sigma = sqrt(1 - mu) h_1 + sqrt(mu) h_2",),
    source=ours("Theorem 3.4 (sharpened)"),
    cases=(
        *grid(
            mu=(0.015, 0.2665, 0.9, 1.0),
            delta=(1e-12, 1e-3, 0.5),
            depth=(0, 1, 2, 30, 200),
        ),
        # Correlations that a layer squares are soon below any rounding.
        *grid(mu=1.0, delta=0.5, depth=(6, 7, 8)),
    ),
    predict=_predict_attained,
    measure=_measure_attained,
    # Ten roundings a layer in sums of positive terms: 200 * 10 * 1.1e-16. Below 1e-290
    # numbers have left float64's range.
    compare=AgreesTo(relative=3e-13, absolute=1e-290),
    must_refute=mistake("The ratio one layer further on.", depth=plus(1)),
    uses=("dc/eq7", "dc/thm3.2-sharp"),
    figure="ntk_ratio",
)

THM_34_MAXIMUM = _of_ratios(
    id="dc/thm3.4-maximum",
    items=("Thm3.4", "E6"),
    title="Of all activations with the same mu, the quadratic one has the largest tangent"
    " ratio",
    statement=r"\frac{|T_{ij}|}{T_{11}} \le t_L, \quad L \ge 0",
    assumptions=("assumption A", "square-integrable derivative"),
    source=ours("Theorem 3.4 (sharpened)"),
    cases=(
        *signed(extremals(0.05, 0.3, 0.8), (1e-4, 0.01, 0.5), 1, (1, 13, 60)),
        *_ANY,
    ),
    predict=_LARGEST,
    measure=_measure_ratio,
    # mu to 1e-13; t falls by (1 - mu)/(1 + mu) a layer, 60 of which make at most 2 * 60
    # * 0.9/0.19 of it.
    compare=AtMost(rounding=1e-13, relative=1e-10, trivial=1.0),
    must_refute=_LATER,
    uses=(
        "dc/lemC.14-every",
        "dc/lemC.14-certificate",
        "dc/thm3.2-sharp",
        "dc/thm3.4-attained",
    ),
    finding=(
        "The best bound in terms of delta and mu, at every depth: the activation with"
        " energies (0, 1 - mu, mu) has the largest correlations, slopes that fall"
        " least, and the smallest D. For normalised ReLU at rho = 0.99 and L = 100"
        " that of Theorem 3.4 is 0.076, the bound of the correlations 3.0e-5, the"
        " largest ratio 1.2e-19, and that of ReLU itself 9.1e-27."
    ),
)


def _predict_envelope(
    *, activation: Subject, delta: float, depth: int, **_: Any
) -> list[float]:
    case = depth, delta, mu_of(activation)
    return [dc.correlation_envelope(*case), dc.ntk_ratio_bound(*case, form="sharp")]


THM_34_ENVELOPE = _of_ratios(
    id="dc/thm3.4-envelope",
    items=("Thm3.4", "E6"),
    title="The tangent ratio obeys the bound on correlations, at every depth",
    statement=r"\frac{|T_{ij}|}{T_{11}} \le r_L \le B(L, \delta), \quad L \ge 0",
    assumptions=("assumption A", "square-integrable derivative"),
    source=ours("Theorem 3.4 (sharpened)"),
    cases=(
        # From the first layer on; at delta = 1/2 nothing has to be waited for.
        *signed(extremals(0.05, 0.3, 0.8), (1e-4, 0.1, 0.5), 1, (1, 4, 20)),
        *_ANY,
    ),
    predict=_predict_envelope,
    measure=partial(_twice, _measure_ratio),
    compare=AtMost(rounding=1e-13, trivial=1.0),
    must_refute=mistake("An exponent twice as large.", depth=times(2)),
    uses=("dc/thm3.4-maximum", "dc/thm3.2", "dc/thm3.4-values"),
    finding=(
        "There is no threshold depth: each term of the sum over layers is at most"
        " D^(L - h) r_L. From L_0 + 1 on B(L, delta) is (1 - mu/2)^(L - L_0) / 2."
    ),
)

# --- matrices ---------------------------------------------------------------------------


def _from_threshold(
    form: Any, activation: Subject, extra: int, n: int, **inputs: Any
) -> tuple[int, float, float]:
    """Return a depth `extra` layers past the threshold, the separation, and mu."""
    gram, _ = recursion.conditioned(n=n, **inputs)
    delta, mu = float(recursion.separation(gram)), mu_of(activation)
    least = dc.ntk_threshold_depth(delta, mu, n, form=form)
    return max(least, 1) + extra, delta, mu


def _counted(form: str, activation: Subject, gram: Any) -> int:
    """Return the threshold depth of a form, counted layer by layer from its definition."""
    found, delta, n = law(activation), recursion.separation(gram), gram.rows
    start, mu = recursion.burn_in(delta, found.mu()), found.mu()
    if form == "printed":
        return 2 * start + recursion.shrunk(4 * n * n, mu)
    sharp = start + recursion.shrunk(n, mu)
    if form == "sharp":
        return sharp
    quadratic = quadratic_law(mu)

    def dominance(depth: int) -> Any:
        with mpmath.workprec(BITS):
            return 1 - (n - 1) * _ratio(quadratic, 1 - delta, depth)

    # The ratio falls with depth.
    return 1 + bisect_right(range(1, sharp), 0, key=dominance)


def _measure_condition(
    form: str, *, activation: Subject, extra: int, **inputs: Any
) -> Any:
    gram, _ = recursion.conditioned(**inputs)
    depth = max(_counted(form, activation, gram), 1) + extra
    found = recursion.tangent_kernel(law(activation), gram, depth)
    return recursion.condition_number(found)


def _predict_condition(form: Any, **case: Any) -> float:
    depth, delta, mu = _from_threshold(form, **case)
    return dc.ntk_condition_bound(depth, delta, mu, case["n"], form=form)


def _wrong_condition(
    form: str, *, activation: Subject, extra: int, **inputs: Any
) -> float:
    """The largest condition number one layer further on."""
    # Under assumption B, which all inputs meet with their smallest eigenvalue.
    depth, _, _ = _from_threshold(form, activation, extra + 1, **inputs)
    return _condition(form="attained", activation=activation, depth=depth, **inputs)


_KINDS = st.sampled_from(("equal", "random"))
_A_DRAWN = searched(
    activation=BENT,
    kind=_KINDS,
    n=st.integers(2, 5),
    delta=st.floats(0.05, 1.0),
    seed=SEEDS,
    extra=st.integers(0, 6),
)
_B_DRAWN = searched(
    activation=mixtures(centred=True),
    kind=_KINDS,
    n=st.integers(2, 5),
    delta=st.floats(0.01, 1.0),
    seed=SEEDS,
    depth=st.integers(1, 20),
)


def _in_form(form: str) -> dict[str, Any]:
    """Return the parts of a claim on the condition number from a threshold depth on."""
    return {
        "cases": _A_CASES,
        "examples": _A_DRAWN,
        "max_examples": 30,
        "predict": partial(_predict_condition, form),
        "measure": partial(_measure_condition, form),
        "must_refute": partial(_wrong_condition, form),
    }


_CUBIC = {"a": [0.0, 0.5, 0.1, 0.8]}


def _equal(names: Any, n: Any, delta: Any, **layers: Any) -> tuple[Case, ...]:
    """Return cases of inputs that are equally correlated."""
    return grid(activation=names, kind="equal", n=n, delta=delta, seed=0, **layers)


def _random(seed: Any, **layers: Any) -> tuple[Case, ...]:
    """Return cases of five random inputs."""
    drawn = {"kind": "random", "n": 5, "delta": 0.0, "seed": seed}
    return grid(activation=(extremal(0.4), _CUBIC), **drawn, **layers)


_A_CASES = (
    # Where the bounds of Corollary 3.5 are least loose: the sharp form, the restored one.
    *_equal(extremals(1.0, 0.6541), 2, 0.5, extra=0),
    *_equal(extremals(0.05, 0.3, 0.6), (2, 5), (0.1, 0.5), extra=(0, 1, 12)),
    *_random(38, extra=(0, 3)),
)

COR_35 = adversarial(
    id="dc/cor3.5",
    loose=True,
    items=("Cor3.5", "AsmA"),
    title="The condition number of the tangent kernel: Corollary 3.5 as restored",
    statement=r"\kappa(T) \le 1 + 4n (1 - \mu/2)^{L/2 - L_0}, \quad"
    r" L \ge 2 L_0 + \frac{2 \log(2n)}{-\log(1 - \mu/2)}",
    assumptions=("assumption A",),
    source=as_read("Corollary 3.5"),
    **_in_form("printed"),
    compare=AtMost(relative=1e-12, origin=1.0),
    uses=("dc/thm3.4", "dc/cor3.5-values"),
    version=2,
    finding=(
        "Loose: over all mu, delta, L and n the bound on kappa - 1 is at least 4,060"
        " times what any activation reaches (dc/cor3.5-maximum): that is at n = 2, mu ="
        " 0.654, delta = 1/2 and 7 layers; for three inputs it is 40,000 times."
        " The estimate of the ratio wastes half of the depth (dc/thm3.4), and the"
        " threshold depth is twice what is needed."
    ),
)

COR_35_SHARP = adversarial(
    id="dc/cor3.5-sharp",
    loose=True,
    items=("Cor3.5", "E6", "AsmA"),
    title="The tangent kernel's condition number obeys the top-layer kernel's bound",
    statement=r"\kappa(T) \le 1 + 2n (1 - \mu/2)^{L - L_0}, \quad L \ge L_1"
    r" = \left\lceil \frac{\log n}{-\log(1 - \mu/2)} \right\rceil + L_0(\delta)",
    assumptions=("assumption A",),
    source=ours("Corollary 3.5 (sharpened)"),
    **_in_form("sharp"),
    compare=AtMost(relative=1e-12, origin=1.0),
    uses=("dc/thm3.4-envelope", "dc/cor3.3", "dc/cor3.5-values"),
    finding=(
        "As for the top-layer kernel (dc/cor3.3), kappa - 1 is at most a third of its"
        " bound: 2/3 against 2 for two inputs of correlation 1/2, mu = 1, one layer."
    ),
)

COR_35_MAXIMUM = adversarial(
    id="dc/cor3.5-maximum",
    items=("Cor3.5", "E6", "AsmA"),
    title="Sharp condition number from the largest tangent ratio, attained by two inputs",
    statement=r"\kappa(T) \le \frac{1 + (n - 1) t_L}{1 - (n - 1) t_L},"
    r" \quad (n - 1) t_L < 1",
    assumptions=("assumption A",),
    source=ours("Corollary 3.5 (sharpened)"),
    **_in_form("attained"),
    # t to 1e-13 and mu to 1e-13 of subjects found by quadrature; where rows are barely
    # dominant the quotient of a difference 1 - (n - 1) t above 1e-3.
    compare=AtMost(relative=1e-9, origin=1.0),
    uses=("dc/thm3.4-maximum",),
)


def _kernel(*, activation: Subject, depth: int, **inputs: Any) -> Any:
    gram, _ = recursion.conditioned(**inputs)
    return recursion.tangent_kernel(law(activation), gram, depth)


def _measure_eigenvalue(**case: Any) -> Any:
    matrix = _kernel(**case)
    with mpmath.workprec(BITS):
        return recursion.eigenvalues(matrix)[0] / matrix[0, 0]


def _measure_condition_b(**case: Any) -> Any:
    return recursion.condition_number(_kernel(**case))


def _least(*, activation: Subject, depth: int, form: Any, **inputs: Any) -> float:
    """Bound the smallest eigenvalue under assumption B."""
    _, least = recursion.conditioned(**inputs)
    return dc.ntk_min_eigenvalue_bound(depth, least, mu_of(activation), form=form)


def _condition(
    *, activation: Subject, depth: int, n: int, form: Any, **inputs: Any
) -> float:
    """Bound the condition number under assumption B."""
    _, least = recursion.conditioned(n=n, **inputs)
    mu = mu_of(activation)
    return dc.ntk_condition_bound(depth, least, mu, n, assumption="B", form=form)


def _both(
    bound: Callable[..., float], *, forms: tuple[str, ...], **case: Any
) -> list[float]:
    return [bound(form=form, **case) for form in forms]


_LATER_EIGENVALUE = "The smallest eigenvalue one layer further on."
_LATER_CONDITION = "The condition number one layer further on."


_B_CASES = (
    *_equal((*extremals(0.05, 0.4), _CUBIC), (2, 5), (0.01, 0.5), depth=(2, 9, 40)),
    *_random((38, 39), depth=(2, 24)),
)

_under_b = partial(
    adversarial,
    assumptions=("assumption B",),
    cases=_B_CASES,
    examples=_B_DRAWN,
    max_examples=40,
)

THM_38 = _under_b(
    id="dc/thm3.8",
    loose=True,
    items=("Thm3.8", "AsmB"),
    title="The smallest eigenvalue of the tangent kernel: Theorem 3.8 as restored",
    statement=r"\lambda_{\min}(T) \ge \left(1 - 2 B(L/2, \delta)\right) T_{11},"
    r" \quad L \ge 2 L_0(\delta)",
    source=as_read("Theorem 3.8"),
    predict=partial(_least, form="printed"),
    measure=_measure_eigenvalue,
    compare=AtLeast(rounding=1e-13, trivial=0.0, origin=1.0),
    must_refute=mistake(_LATER_EIGENVALUE, form="attained", depth=plus(1)),
    uses=("dc/lemC.8", "dc/thm3.4-values"),
    version=2,
    finding=(
        "1 - lambda_min / T_11 is below half of its bound, like the ratio in"
        " dc/thm3.4; dc/thm3.8-maximum is attained."
    ),
)

THM_38_MAXIMUM = _under_b(
    id="dc/thm3.8-maximum",
    items=("Thm3.8", "AsmB", "E6"),
    title="Smallest tangent eigenvalue from the largest ratio, attained by equal"
    " correlations",
    statement=r"\lambda_{\min}(T) \ge (1 - t_L)\, T_{11} \ge (1 - B(L, \delta))\, T_{11},"
    r" \quad L \ge 0",
    source=ours("Theorem 3.8 (sharpened)"),
    predict=partial(_both, _least, forms=("sharp", "attained")),
    measure=partial(_twice, _measure_eigenvalue),
    # mu to 1e-13, of which t moves by less than the number of layers, 40.
    compare=AtLeast(rounding=4e-12, trivial=0.0, origin=1.0),
    must_refute=mistake(_LATER_EIGENVALUE, forms=("attained",) * 2, depth=plus(1)),
    uses=("dc/lemC.8", "dc/thm3.4-maximum"),
)


COR_39 = numeric(
    id="dc/cor3.9",
    loose=True,
    items=("Cor3.9", "AsmB"),
    title="The tangent kernel's condition number under Assumption B: Corollary 3.9 as"
    " restored",
    statement=r"\kappa(T) \le 1 + 2n (1 - \mu/2)^{L/2 - L_0}, \quad"
    r" L \ge 2 L_0 + \frac{2 \log 2}{-\log(1 - \mu/2)}",
    assumptions=("assumption B",),
    source=as_read("Corollary 3.9"),
    # From the threshold on: 2 log 2 / -log(1 - mu/2) layers past twice the burn-in.
    cases=(
        # Least loose.
        *_equal(extremal(1.0), (2, 5), 0.5, depth=(2, 3)),
        *_equal(extremals(0.05, 0.4), (2, 5), 0.5, depth=(56, 70)),
        *_random(38, depth=40),
    ),
    predict=partial(_condition, form="printed"),
    measure=_measure_condition_b,
    compare=AtMost(relative=1e-12, origin=1.0),
    must_refute=mistake(_LATER_CONDITION, form="attained", depth=plus(1)),
    uses=("dc/thm3.8", "dc/cor3.5-values"),
    version=2,
    finding=(
        "Loose at every n: in the best case (mu = 1, equal correlations of 1/2, two"
        " layers) kappa - 1 is n t/(1 - t) with t = 1/16, a fifteenth of the n that the"
        " bound allows. As mu goes to zero it is a 72nd. dc/cor3.9-maximum is attained."
    ),
)

COR_39_MAXIMUM = _under_b(
    id="dc/cor3.9-maximum",
    items=("Cor3.9", "AsmB", "E6"),
    title="Sharp condition number from the largest tangent ratio, attained by equal"
    " correlations",
    statement=r"\kappa(T) \le 1 + \frac{n t_L}{1 - t_L} \le \begin{cases}"
    r" 1 + n (1 - \mu/2)^{L - L_0} & L > L_0 \\"
    r" 1 + n \left( \frac{(1 + \mu/2)^{-L}}{\delta} - 1 \right) & L \le L_0"
    r" \end{cases}",
    source=ours("Corollary 3.9 (sharpened)"),
    predict=partial(_both, _condition, forms=("sharp", "attained")),
    measure=partial(_twice, _measure_condition_b),
    # 1 - t above 1e-2, t to 1e-11.
    compare=AtMost(relative=1e-9, origin=1.0),
    must_refute=mistake(_LATER_CONDITION, forms=("attained",) * 2, depth=plus(1)),
    uses=("dc/thm3.8-maximum",),
)
