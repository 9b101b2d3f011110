"""Condition numbers of the top-layer kernel (section 1 of the specification)."""

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
from hypothesis import strategies as st

from theory import conditioning as dc
from theory import kernels
from verify.claim import Claim, adversarial, grid, numeric
from verify.claims._predictors import mistake, plus, unlike
from verify.claims._searches import SEEDS, searched
from verify.claims.deep_conditioning import _recursions as recursion
from verify.claims.deep_conditioning._sources import as_read, ours, quoted
from verify.claims.deep_conditioning._subjects import (
    BENT,
    Subject,
    law,
    mixtures,
    mu_of,
    subject,
)
from verify.claims.deep_conditioning.conditioning.correlations import (
    burn_in,
    exact_burn_in,
    exact_shrunk,
    extremal,
    extremals,
    quadratic_law,
)
from verify.compare import AgreesTo, AtLeast, AtMost, Identical
from verify.integrals import BITS

# --- assumption A -----------------------------------------------------------------------


def _inputs(n: int, data: Mapping[str, Any]) -> Any:
    """Return a Gram matrix at 60 digits."""
    if "equal" in data:
        return recursion.equal_gram(n, data["equal"])
    return recursion.exact_gram(n, **data)


def _threshold(delta: Any, mu: Any, n: int) -> int:
    """L_1 of Corollary 3.3, counted."""
    return recursion.burn_in(delta, mu) + recursion.shrunk(n, mu)


def _bound(
    *, activation: Subject, n: int, data: Mapping[str, Any], extra: int, **form: Any
) -> float:
    """Corollary 3.3 `extra` layers beyond the depth from which it holds."""
    mu, delta = mu_of(activation), float(recursion.separation(_inputs(n, data)))
    depth = dc.depth_for_condition_number(delta, mu, n) + extra
    return dc.nngp_condition_bound(depth, delta, mu, n, **form)


_BEST = partial(_bound, form="attained")


def _measure_condition(
    *, activation: Subject, n: int, data: Mapping[str, Any], extra: int
) -> Any:
    gram, found = _inputs(n, data), law(activation)
    depth = _threshold(recursion.separation(gram), found.mu(), n) + extra
    return recursion.condition_number(recursion.kernel(found, gram, depth))


_DRAWN = searched(
    activation=BENT,
    n=st.integers(2, 6),
    data=st.one_of(
        st.fixed_dictionaries(
            {"dim": st.integers(2, 5), "spread": st.floats(0.05, 3.0), "seed": SEEDS}
        ),
        st.fixed_dictionaries({"equal": st.floats(0.05, 1.0)}),
    ),
    extra=st.integers(0, 20),
)


_HALVING = tuple(2.0 * (1.0 - 2.0 ** (-1.0 / k)) * (1.0 + 1e-9) for k in (2, 3, 4, 8))
"""Coefficients whose 1 - mu/2 is one half after so many layers: no ceiling is lost."""


def _of_corollary_33(**fields: Any) -> Claim:
    return adversarial(
        items=("Cor3.3", "AsmA"),
        cases=(
            *grid(
                activation=extremals(0.3, 1.0),
                n=(2, 3),
                data={"equal": 0.5},
                extra=(0, 3),
            ),
            # Where two inputs come nearest to the bound.
            *grid(activation=extremals(*_HALVING), n=2, data={"equal": 0.5}, extra=0),
            *grid(
                activation=extremals(0.5, 1.0),
                n=(2, 6),
                data=grid(dim=3, spread=(0.1, 1.0), seed=1),
                extra=(0, 5),
            ),
        ),
        measure=_measure_condition,
        # x = (n - 1) r, one half at most, by the library's envelope to 1e-13 and mu to
        # 1e-15 of itself, in up to sixty layers over mu: 2 x / (1 - x^2) of 1.6e-13.
        compare=AtMost(relative=2.2e-13, origin=1.0),
        examples=_DRAWN,
        max_examples=40,
        **fields,
    )


COR_33 = _of_corollary_33(
    id="dc/cor3.3",
    loose=True,
    title="The condition number of the top-layer kernel tends to one with depth",
    statement=r"\kappa(K) \le 1 + 2n (1 - \mu/2)^{L - L_0(\delta)}, \quad L \ge L_1"
    r" = \left\lceil \frac{\log n}{-\log(1 - \mu/2)} \right\rceil + L_0(\delta)",
    assumptions=("assumption A",),
    source=quoted("Corollary 3.3"),
    predict=_bound,
    must_refute=mistake(
        "One entry off the diagonal, whatever the number of inputs.",
        then=lambda bound, *, n: 1.0 + (bound - 1.0) / (2.0 * n),
    ),
    uses=("dc/thm3.2", "dc/cor3.7-values"),
    version=2,
    finding=(
        "Loose: two inputs have kappa - 1 = 2r/(1 - r) with r <= B <= 1/4, and the"
        " bound has 8B. In the best case (mu = 1, correlation 1/2, one layer) 2/3 is"
        " bounded by 2. Beside dc/cor3.3-maximum, which two inputs attain, it is at least"
        " 3 times as large for two inputs, 3.3 times for three and 20 times for twenty."
    ),
)

COR_33_MAXIMUM = _of_corollary_33(
    id="dc/cor3.3-maximum",
    title="Sharp condition number from the largest correlation, attained by two inputs",
    statement=r"\kappa(K) \le \frac{1 + (n - 1) r_L}{1 - (n - 1) r_L},"
    r" \quad r_{l+1} = r_l (1 - \mu (1 - r_l)),\; r_0 = 1 - \delta",
    assumptions=("assumption A", "(n - 1) r_L < 1"),
    source=ours("Corollary 3.3 (sharpened)"),
    predict=_BEST,
    must_refute=mistake(
        "One side of Gershgorin's circles alone, the largest eigenvalue one.",
        then=lambda bound: (1.0 + bound) / 2.0,
    ),
    uses=("dc/thm3.2-sharp",),
)


def _predict_depth(
    *, delta: str, mu: str, n: int, target: str = "", assumption: Any = "A"
) -> int:
    return dc.depth_for_condition_number(
        float(Fraction(delta)),
        float(Fraction(mu)),
        n,
        *([float(Fraction(target))] if target else []),
        **unlike({"assumption": "A"}, assumption=assumption),
    )


def _measure_depth(
    *, delta: str, mu: str, n: int, target: str = "", assumption: str = "A"
) -> int:
    """Least l with n (1 - mu/2)^l <= 1, after L_0 layers, in fractions.

    With a target, also 2 n (1 - mu/2)^l <= target - 1, and l >= 1; under assumption B
    with n in the place of 2 n, and without the first.
    """
    layers = exact_shrunk(n, mu) if assumption == "A" else 0
    if target:
        twice = 2 if assumption == "A" else 1
        layers = max(layers, 1, exact_shrunk(twice * n / (Fraction(target) - 1), mu))
    return layers + exact_burn_in(delta=delta, mu=mu)


COR_33_DEPTH = numeric(
    id="dc/cor3.3-depth",
    title="The depth from which Corollary 3.3 bounds the condition number",
    statement=r"L_1(\delta) = \left\lceil \frac{\log n}{-\log(1 - \mu/2)} \right\rceil"
    r" + L_0(\delta)",
    source=quoted("Corollary 3.3"),
    cases=(
        *grid(
            delta=("1/100", "1/1000000"),
            mu=("0.2665288965378700", "0.0158583176769851", "1"),
            n=(2, 16, 100, 1000, 1024),
        ),
        # log 2^29 / log 2 is 29.000000000000004 in float64.
        {"delta": "1/100", "mu": "1", "n": 2**29},
        # With a target: one that asks for more, or for less, than the bound's range.
        *grid(
            delta="1/100",
            mu=("0.2665288965378700", "1"),
            n=(1, 16),
            target=("5/4", "9", "1000"),
            assumption=("A", "B"),
        ),
    ),
    predict=_predict_depth,
    measure=_measure_depth,
    compare=Identical(),
    must_refute=mistake(
        "A depth that does not depend on the inputs' separation.",
        then=lambda depth, *, delta, mu: depth - burn_in(delta=delta, mu=mu),
    ),
    uses=("dc/B",),
)

# --- assumption B -----------------------------------------------------------------------


def _series_value(c: list[float], x: Any) -> Any:
    with mpmath.workprec(BITS):
        return mpmath.fsum(mpmath.mpf(v) * x**k for k, v in enumerate(c))


def _attained(kind: str, least: Any) -> list[Any]:
    """Return a bound from below, of equal correlations one from above as well."""
    return [least, -least] if kind == "equal" else [least]


def _predict_transfer(*, c: list[float], kind: str, **inputs: Any) -> list[float]:
    _, least = recursion.conditioned(kind=kind, **inputs)
    with mpmath.workprec(BITS):
        one, rest = (_series_value(c, 1 - mpmath.mpf(d)) for d in (0, least))
    return _attained(kind, dc.eigenvalue_transfer(float(one), float(rest)))


def _measure_transfer(*, c: list[float], kind: str, **inputs: Any) -> list[Any]:
    gram, _ = recursion.conditioned(kind=kind, **inputs)
    image = recursion.entrywise(gram, lambda x: _series_value(c, x))
    return _attained(kind, recursion.eigenvalues(image)[0])


def _wrong_transfer(*, c: list[float], kind: str, **inputs: Any) -> list[float]:
    """The slope at one, as if the dual were linear down to 1 - delta."""
    slope = sum(k * v for k, v in enumerate(c))
    return _attained(kind, slope * recursion.conditioned(kind=kind, **inputs)[1])


_SERIES_CASES = searched(
    c=st.lists(st.floats(0.0, 2.0).map(lambda v: round(v, 6)), min_size=1, max_size=8),
    kind=st.sampled_from(("equal", "random")),
    n=st.integers(2, 6),
    delta=st.floats(1e-3, 1.0),
    seed=SEEDS,
)


LEM_C8 = adversarial(
    id="dc/lemC.8",
    title="Entrywise power series with non-negative coefficients keep eigenvalues bounded"
    " below",
    statement=r"M \succeq \delta I,\; M_{ii} = 1 \;\Rightarrow\;"
    r" \lambda_{\min}(f[M]) \ge f(1) - f(1 - \delta),\; \text{and equal if }"
    r" M_{ij} = 1 - \delta,\; i \ne j",
    assumptions=("non-negative coefficients", "f applied entry by entry"),
    source=quoted("Lemma C.8"),
    cases=grid(
        c=([0.0, 1.0], [0.5, 0.0, 0.25, 1.0], [0.0, 0.0, 0.0, 0.0, 1.0]),
        kind=("equal", "random"),
        n=(2, 5),
        delta=(1e-3, 0.3, 1.0),
        seed=8,
    ),
    predict=_predict_transfer,
    measure=_measure_transfer,
    # f(1) is below 20 and rounded once.
    compare=AtLeast(rounding=1e-14),
    must_refute=_wrong_transfer,
    examples=_SERIES_CASES,
    max_examples=100,
)


def _predict_least(*, activation: Subject, depth: int, **inputs: Any) -> float:
    _, least = recursion.conditioned(**inputs)
    return float(dc.nngp_min_eigenvalue_bound(depth, least, mu_of(activation)))


def _kernel(*, activation: Subject, depth: int, **inputs: Any) -> Any:
    gram, _ = recursion.conditioned(**inputs)
    return recursion.kernel(law(activation), gram, depth)


def _measure_least(**case: Any) -> Any:
    return recursion.eigenvalues(_kernel(**case))[0]


def _wrong_least(*, activation: Subject, depth: int, **inputs: Any) -> float:
    """Twice the rate, in the first layers and after them."""
    (_, least), mu = recursion.conditioned(**inputs), mu_of(activation)
    for _ in range(depth):
        least = least * (1.0 + mu) if least < 0.5 else 1.0 - (1.0 - least) * (1.0 - mu)
    return least


_ASSUMPTION_B = searched(
    activation=mixtures(centred=True),
    kind=st.sampled_from(("equal", "random")),
    n=st.integers(2, 5),
    delta=st.floats(1e-4, 1.0),
    depth=st.integers(1, 25),
    seed=SEEDS,
)


_B_CASES = grid(
    activation=(*extremals(0.3, 1.0), "tanh"),
    kind=("equal", "random"),
    n=(2, 5),
    delta=(1e-3, 0.3),
    depth=(1, 8, 30),
    seed=36,
)

_under_b = partial(
    adversarial,
    assumptions=("assumption B",),
    cases=_B_CASES,
    examples=_ASSUMPTION_B,
    max_examples=60,
)

THM_36 = _under_b(
    id="dc/thm3.6",
    items=("Thm3.6", "AsmB"),
    title="The smallest eigenvalue of the top-layer kernel grows with depth",
    statement=r"\lambda_{\min}(K) \ge 1 - B(L, \delta)",
    source=quoted("Theorem 3.6"),
    predict=_predict_least,
    measure=_measure_least,
    compare=AtLeast(rounding=1e-13, trivial=0.0, origin=1.0),
    must_refute=_wrong_least,
    uses=("dc/lemC.8",),
)


def _predict_tangent(*, activation: Subject, depth: int, **inputs: Any) -> float:
    _, least = recursion.conditioned(**inputs)
    t = kernels.ntk_map([1.0, 1.0 - least], subject(activation).normalized(), depth)
    return dc.eigenvalue_transfer(float(t[0]), float(t[1]))


def _measure_tangent(*, activation: Subject, depth: int, **inputs: Any) -> Any:
    gram, _ = recursion.conditioned(**inputs)
    found = recursion.tangent_kernel(law(activation), gram, depth)
    return recursion.eigenvalues(found)[0]


THM_38_TRANSFER = numeric(
    id="dc/thm3.8-transfer",
    items=("Thm3.8", "LemC.8", "AsmB"),
    title="The tangent kernel keeps eigenvalues bounded below, as a positive power series",
    statement=r"\lambda_{\min}(T) \ge T(1) - T(1 - \delta)",
    assumptions=("assumption B", "normalised"),
    source=quoted("Theorem C.16, proof of part 2"),
    # Equality where all pairs are equally correlated.
    cases=grid(
        activation=(extremal(0.3), "relu", "tanh"),
        kind=("equal", "random"),
        n=(2, 5),
        delta=0.3,
        depth=(1, 4),
        seed=36,
    ),
    predict=_predict_tangent,
    measure=_measure_tangent,
    # The library's 1e-12 of a diagonal below twenty.
    compare=AtLeast(rounding=4e-11),
    must_refute=mistake("The tangent kernel of one layer more.", depth=plus(1)),
    uses=("dc/lemC.8", "dc/eq7"),
)


def _predict_condition_b(
    *, activation: Subject, n: int, depth: int, **inputs: Any
) -> float:
    _, least = recursion.conditioned(n=n, **inputs)
    return dc.nngp_condition_bound(depth, least, mu_of(activation), n, assumption="B")


def _measure_condition_b(**case: Any) -> Any:
    return recursion.condition_number(_kernel(**case))


COR_37 = _under_b(
    id="dc/cor3.7",
    items=("Cor3.7", "AsmB"),
    title="Condition numbers of the top-layer kernel under Assumption B, at every depth",
    statement=r"\kappa(K) \le \begin{cases} 1 + n (1 - \mu/2)^{L - L_0} & L > L_0 \\"
    r" 1 + n \left( \frac{(1 + \mu/2)^{-L}}{\delta} - 1 \right) & L \le L_0"
    r" \end{cases}",
    source=as_read("Corollary 3.7"),
    predict=_predict_condition_b,
    measure=_measure_condition_b,
    compare=AtMost(relative=1e-11, origin=1.0),
    must_refute=mistake(
        "The bound without its factor n.",
        then=lambda bound, *, n: 1.0 + (bound - 1.0) / n,
    ),
    uses=("dc/thm3.6", "dc/cor3.7-values"),
)


def _predict_attained(*, mu: float, n: int, delta: float, depth: int) -> list[float]:
    return [
        dc.nngp_min_eigenvalue_bound(depth, delta, mu, form="attained"),
        dc.nngp_condition_bound(depth, delta, mu, n, assumption="B", form="attained"),
        dc.nngp_condition_bound(depth, delta, mu, 2, form="attained"),
    ]


def _measure_attained(*, mu: float, n: int, delta: float, depth: int) -> list[Any]:
    many, two = (
        recursion.kernel(quadratic_law(mu), recursion.equal_gram(count, delta), depth)
        for count in (n, 2)
    )
    return [
        recursion.eigenvalues(many)[0],
        *map(recursion.condition_number, (many, two)),
    ]


COR_37_ATTAINED = numeric(
    id="dc/cor3.7-attained",
    items=("Thm3.6", "Cor3.7", "Cor3.3"),
    title="Equally correlated inputs attain the best bounds on the condition number",
    statement=r"\lambda_{\min}(K) = 1 - r_L, \quad \kappa(K) = 1 + \frac{n r_L}{1 - r_L}",
    assumptions=("sigma = sqrt(1 - mu) h_1 + sqrt(mu) h_2", "x_i . x_j = 1 - delta"),
    source=ours("Corollaries 3.3 and 3.7 (sharpened)"),
    cases=(
        *grid(mu=(0.05, 0.4), n=(2, 5), delta=(1e-9, 0.01, 0.5), depth=(0, 3, 40)),
        # So many layers that none is iterated, and rates and layers that leave nothing of
        # a correlation, or nearly all.
        {"mu": 0.008, "n": 3, "delta": 1e-16, "depth": 4650},
        {"mu": 0.4, "n": 3, "delta": 0.5, "depth": 100},
        {"mu": 1e-10, "n": 3, "delta": 0.3, "depth": 40},
        {"mu": 1e-8, "n": 2, "delta": 0.3, "depth": 4700},
    ),
    predict=_predict_attained,
    measure=_measure_attained,
    # Three roundings a layer, and 1 - delta, which the measured side holds to 60 digits.
    compare=AgreesTo(relative=1e-13),
    must_refute=mistake("The bound one layer further on.", depth=plus(1)),
    uses=("dc/thm3.2-sharp",),
)
