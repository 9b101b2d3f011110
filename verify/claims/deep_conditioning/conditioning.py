"""Conditioning of the top-layer kernel under depth (section 1 of the specification)."""

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt

from theory import conditioning as dc
from theory import kernels
from verify.claim import Claim, Evidence, Source, grid
from verify.claims.deep_conditioning import _recursions as recursion
from verify.claims.deep_conditioning._subjects import (
    KEY,
    NONLINEAR,
    Subject,
    law,
    mixtures,
    nonlinear,
    separations,
    subject,
)
from verify.compare import AgreesTo, AtLeast, AtMost, Identical
from verify.integrals import BITS, of_coefficients
from verify.reading import Reading

Array = npt.NDArray[np.float64]


def extremal(mu: float) -> dict[str, Any]:
    """sqrt(1 - mu) h_1 + sqrt(mu) h_2: where every bound in delta and mu is attained."""
    return {"a": [0.0, math.sqrt(1.0 - mu), math.sqrt(mu)]}


def quadratic_law(mu: float) -> Any:
    """Return the same activation's law, of exactly this mu."""
    with mpmath.workprec(BITS):
        m = mpmath.mpf(mu)
        return of_coefficients([0, mpmath.sqrt(1 - m), mpmath.sqrt(m)])


def _mu(activation: Subject) -> float:
    return subject(activation).mu


# --- one layer --------------------------------------------------------------------------


def _predict_one_layer(*, activation: Subject, delta: float, sign: int) -> float:
    return float(dc.one_layer_bound(delta, _mu(activation)))


def _measure_one_layer(*, activation: Subject, delta: float, sign: int) -> Any:
    with mpmath.workprec(BITS):
        return abs(law(activation).normalised_dual(sign * (1 - mpmath.mpf(delta))))


def _wrong_one_layer(*, activation: Subject, delta: float, sign: int) -> float:
    # Twice the rate.
    mu = _mu(activation)
    near = 1.0 - (1.0 + mu) * delta
    return near if delta <= 0.5 else (1.0 - mu) * (1.0 - delta)


def _one_layer_cases() -> Any:
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            "activation": nonlinear(),
            "delta": separations(),
            "sign": st.sampled_from((1, -1)),
        }
    )


LEM_C5 = Claim(
    id="dc/lemC.5",
    items=("LemC.5",),
    title="One layer separates inputs at a rate set by mu",
    statement=r"|\hat\sigma(\rho)| \le \begin{cases} 1 - (1 + \mu/2)\,\delta &"
    r" \delta \le 1/2 \\ (1 - \mu/2)(1 - \delta) & \delta > 1/2 \end{cases}",
    assumptions=("normalised", "|rho| = 1 - delta"),
    source=Source(KEY, "Lemma C.5"),
    evidence=Evidence.SEARCH,
    cases=(
        # Equality at delta = 1/2 for the extremal activation, of either sign of h_1.
        *grid(
            activation=(extremal(0.3), extremal(1e-3), extremal(1.0)),
            delta=(0.5, 0.1, 1e-6),
            sign=(1,),
        ),
        *grid(activation=NONLINEAR, delta=(0.05,), sign=(1,)),
        *grid(activation=NONLINEAR, delta=(0.6,), sign=(-1,)),
    ),
    predict=_predict_one_layer,
    measure=_measure_one_layer,
    # The bound is rounded three times at size 1, and mu is known to 1e-15.
    compare=AtMost(rounding=2e-15),
    must_refute=_wrong_one_layer,
    examples=_one_layer_cases,
    max_examples=50,
)

# --- the schedule -----------------------------------------------------------------------


def _predict_burn_in(*, delta: str, mu: str) -> int:
    return int(dc.burn_in_depth(float(Fraction(delta)), float(Fraction(mu))))


def _measure_burn_in(*, delta: str, mu: str) -> int:
    """Least l with 2 delta (1 + mu/2)^l >= 1, in fractions."""
    grown, factor, layers = 2 * Fraction(delta), 1 + Fraction(mu) / 2, 0
    while grown < 1:
        grown *= factor
        layers += 1
        # Exact powers grow by 60 digits a layer: round up beyond any close call.
        if layers % 64 == 0:
            grown = grown.limit_denominator(10**120)
    return layers


def _wrong_burn_in(*, delta: str, mu: str) -> int:
    # The ceiling of a quotient of rounded logarithms.
    d, m = float(Fraction(delta)), float(Fraction(mu))
    return max(math.ceil(math.log(1.0 / (2.0 * d)) / math.log(1.0 + m / 2.0)), 0)


def _schedules() -> Any:
    from hypothesis import strategies as st

    # Whole powers: 2 delta = (1 + mu/2)^-l exactly, where one layer is easily lost.
    exact = st.tuples(st.integers(0, 40), st.integers(1, 16)).map(
        lambda t: {
            "delta": str(Fraction(1, 2) / (1 + Fraction(t[1], 16)) ** t[0]),
            "mu": str(min(Fraction(t[1], 8), Fraction(1))),
        }
    )
    any_other = st.tuples(st.floats(1e-9, 1.0), st.floats(0.01, 1.0)).map(
        lambda t: {"delta": str(Fraction(t[0])), "mu": str(Fraction(t[1]))}
    )
    return st.one_of(exact, any_other)


B_SCHEDULE = Claim(
    id="dc/B",
    items=("B",),
    title="Layers until inputs are half way apart, exact powers included",
    statement=r"L_0(\delta) = \min\{l \ge 0 : 2\delta (1 + \mu/2)^l \ge 1\}",
    source=Source(KEY, "Definition of L_0 and B"),
    evidence=Evidence.SEARCH,
    cases=(
        *grid(delta=("1/100", "1/1000000", "1"), mu=("1/64", "1/4", "1")),
        # 2 delta (3/2)^l = 1 in floats and in fractions; logarithms round above l.
        *(
            {"delta": str(Fraction(1, 2) * Fraction(2, 3) ** k), "mu": "1"}
            for k in (5, 7, 10, 19, 23, 29)
        ),
        *(
            {"delta": str(Fraction(1, 2) * Fraction(4, 5) ** k), "mu": "1/2"}
            for k in (3, 6, 12, 13, 17, 24)
        ),
    ),
    predict=_predict_burn_in,
    measure=_measure_burn_in,
    compare=Identical(),
    must_refute=_wrong_burn_in,
    examples=_schedules,
    max_examples=150,
    finding=(
        "The quotient of logarithms is often a whole number, and its rounding then costs"
        " a layer; powers are compared instead."
    ),
)


def _predict_bound(*, depth: float, delta: float, mu: float) -> float:
    return float(dc.correlation_bound(depth, delta, mu))


def _measure_bound(*, depth: float, delta: float, mu: float) -> Any:
    with mpmath.workprec(BITS):
        d, m, layers = mpmath.mpf(delta), mpmath.mpf(mu), mpmath.mpf(depth)
        start = 0
        while 2 * d * (1 + m / 2) ** start < 1 - mpmath.mpf(2) ** -50:
            start += 1
        if layers > start:
            return (1 - m / 2) ** (layers - start) / 2
        return 1 - d * (1 + m / 2) ** layers


def _wrong_bound(*, depth: float, delta: float, mu: float) -> float:
    # A layer late.
    return float(dc.correlation_bound(max(depth - 1.0, 0.0), delta, mu))


def _bounds() -> Any:
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            "depth": st.integers(0, 400).map(lambda k: k / 2),
            "delta": st.floats(1e-6, 1.0),
            "mu": st.floats(0.02, 1.0),
        }
    )


B_VALUES = Claim(
    id="dc/B-values",
    items=("B", "E5"),
    title="The correlation bound B, at whole and half depths",
    statement=r"B(L, \delta) = \begin{cases} \frac12 (1 - \mu/2)^{L - L_0} & L > L_0 \\"
    r" 1 - \delta (1 + \mu/2)^L & L \le L_0 \end{cases}",
    source=Source(KEY, "Definition of B; L/2 with L odd in Theorem 3.4"),
    evidence=Evidence.SEARCH,
    cases=grid(
        depth=(0, 10, 32, 33, 82, 20.5),
        delta=(0.01, 1e-6, 0.95),
        mu=(0.26652889653787007, 0.015858317676985129, 1.0),
    ),
    predict=_predict_bound,
    measure=_measure_bound,
    # Powers to order 500 of a rounded base; the early branch is a difference.
    compare=AgreesTo(relative=5e-13, absolute=5e-14),
    must_refute=_wrong_bound,
    examples=_bounds,
    max_examples=150,
)


def _predict_next(*, depth: int, delta: float, mu: float) -> float:
    return float(dc.correlation_bound(depth, delta, mu))


def _measure_next(*, depth: int, delta: float, mu: float) -> Any:
    return _measure_bound(depth=depth + 1, delta=delta, mu=mu)


def _wrong_next(*, depth: int, delta: float, mu: float) -> float:
    # A whole factor 1 - mu too little.
    return (1.0 - mu) * float(dc.correlation_bound(depth, delta, mu))


E4_CORRECTED = Claim(
    id="dc/E4-corrected",
    items=("E4", "B"),
    title="B decreases with every layer from the first on, or from delta <= 1/2",
    statement=r"B(L + 1, \delta) \le B(L, \delta), \quad L \ge 1",
    source=Source(KEY, "Definition of B"),
    evidence=Evidence.SEARCH,
    cases=grid(depth=(1, 2, 31, 32, 33), delta=(0.01, 0.1, 0.95), mu=(0.2665, 1.0)),
    predict=_predict_next,
    measure=_measure_next,
    compare=AtMost(rounding=1e-14),
    must_refute=_wrong_next,
    finding=(
        "At L = 0 with delta > 1/2 the bound goes up: B(0, 0.95) = 0.05, and B(1, 0.95)"
        " = 0.25 for mu = 1. Harmless: both bound the true correlation."
    ),
)

# --- decay of correlations --------------------------------------------------------------


def _predict_decay(
    *,
    activation: Subject,
    delta: float,
    sign: int,
    depth: int,
) -> float:
    return float(dc.correlation_bound(depth, delta, _mu(activation)))


def _measure_decay(*, activation: Subject, delta: float, sign: int, depth: int) -> Any:
    with mpmath.workprec(BITS):
        start = sign * (1 - mpmath.mpf(delta))
        return abs(recursion.correlations(law(activation), start, depth)[-1])


def _wrong_decay(*, activation: Subject, delta: float, sign: int, depth: int) -> float:
    # The waiting time left out: decay from the first layer on.
    del sign
    return 0.5 * (1.0 - _mu(activation) / 2.0) ** depth if delta < 0.5 else 1.0


def _decays(most: int = 40) -> Any:
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            "activation": mixtures(centred=True),
            "delta": separations(),
            "sign": st.sampled_from((1, -1)),
            "depth": st.integers(1, most),
        }
    )


THM_32 = Claim(
    id="dc/thm3.2",
    items=("Thm3.2", "LemC.7", "AsmA"),
    title="Depth decorrelates: the top-layer kernel's off-diagonal entries",
    statement=r"|K_{ij}| \le B(L, \delta), \quad K_{ii} = 1",
    assumptions=("assumption A", "normalised, not affine"),
    source=Source(KEY, "Theorem 3.2 and Lemma C.7"),
    evidence=Evidence.SEARCH,
    cases=(
        *grid(
            activation=(extremal(0.05), extremal(0.5), extremal(1.0)),
            delta=(1e-6, 0.01, 0.5),
            sign=(1,),
            depth=(1, 10, 40, 100),
        ),
        *grid(
            activation=("relu", "tanh", "gelu", "exp"),
            delta=(0.01,),
            sign=(1, -1),
            depth=(20,),
        ),
    ),
    predict=_predict_decay,
    measure=_measure_decay,
    # As dc/B-values.
    compare=AtMost(rounding=5e-14, trivial=1.0),
    must_refute=_wrong_decay,
    examples=_decays,
    max_examples=120,
    uses=("dc/lemC.5", "dc/B"),
)


def _predict_envelope(*, mu: float, delta: float, depth: int) -> list[float]:
    r = float(dc.correlation_envelope(depth, delta, mu))
    return [r]


def _measure_envelope(*, mu: float, delta: float, depth: int) -> list[Any]:
    with mpmath.workprec(BITS):
        start = 1 - mpmath.mpf(delta)
        return [recursion.correlations(quadratic_law(mu), start, depth)[-1]]


def _wrong_envelope(*, mu: float, delta: float, depth: int) -> list[float]:
    # The printed bound itself.
    return [float(dc.correlation_bound(depth, delta, mu))]


THM_32_SHARP = Claim(
    id="dc/thm3.2-sharp",
    items=("Thm3.2", "LemC.7"),
    title="The best bound in delta and mu, attained by a quadratic activation",
    statement=r"r_0 = 1 - \delta, \quad r_{l+1} = r_l \left(1 - \mu (1 - r_l)\right)",
    assumptions=("sigma = sqrt(1 - mu) h_1 + sqrt(mu) h_2",),
    source=Source(KEY, "Theorem 3.2 (sharpened)", Reading.OURS),
    evidence=Evidence.NUMERIC,
    cases=grid(mu=(0.015, 0.2665, 1.0), delta=(1e-12, 1e-3, 0.5), depth=(1, 30, 200)),
    predict=_predict_envelope,
    measure=_measure_envelope,
    # Three roundings a layer, each amplified by at most the growth of r: 200 * 4 ulp,
    # and below r = 1e-3 by the number of layers since.
    compare=AgreesTo(relative=1e-12),
    must_refute=_wrong_envelope,
)


def _relu_layer(rho: Any, total: Any) -> Any:
    half = (mpmath.sqrt(1 - rho * rho) + (mpmath.pi - mpmath.acos(rho)) * rho) / (
        2 * mpmath.pi
    )
    return (half - 1 / (2 * mpmath.pi)) / total


def _measure_map(*, activation: str, depth: int) -> list[Any]:
    """Closed forms, with the digits that distances from 1e-15 up lose on the way."""
    out = []
    # Distances double at most with a layer: a digit is lost in three of them.
    with mpmath.workdps(60 + depth // 3):
        for rho in _MAP_POINTS:
            r = mpmath.mpf(rho)
            for _ in range(depth):
                if activation == "relu":
                    r = _relu_layer(r, mpmath.mpf(1) / 2 - 1 / (2 * mpmath.pi))
                elif activation == "erf":
                    r = mpmath.asin(2 * r / 3) / mpmath.asin(mpmath.mpf(2) / 3)
                else:
                    r = mpmath.sinh(r) / mpmath.sinh(1)
            out.append(r)
    return out


_MAP_POINTS = (-1.0, -1.0 + 1e-15, -0.9, -0.2, -1e-3, 1e-8, 0.3, 0.95, 1.0 - 1e-12)


def _predict_map(*, activation: str, depth: int) -> Array:
    a = subject(activation).normalized()
    return kernels.nngp_map(np.array(_MAP_POINTS), a, depth)


def _wrong_map(*, activation: str, depth: int) -> Array:
    a = subject(activation).normalized()
    return kernels.nngp_map(np.array(_MAP_POINTS), a, depth + 1)


THM_32_MAP = Claim(
    id="dc/thm3.2-map",
    items=("Thm3.2", "DefC.1"),
    title="A thousand layers read off one table, to twelve digits",
    statement=r"K_{ij} = \hat\sigma^{(L)}(x_i \cdot x_j)",
    source=Source(KEY, "Lemma C.4, the limit"),
    evidence=Evidence.NUMERIC,
    cases=(
        *grid(activation=("relu",), depth=(1, 10, 100, 1000)),
        *grid(activation=("erf", "sin"), depth=(2, 300)),
    ),
    predict=_predict_map,
    measure=_measure_map,
    # The promise of theory.kernels. Values below 1e-290 have left float64's range.
    compare=AgreesTo(relative=1e-12, absolute=1e-290),
    must_refute=_wrong_map,
)

# --- condition numbers ------------------------------------------------------------------


def _kernel(activation: Subject, gram: Any, depth: int) -> Any:
    found = law(activation)
    return recursion.entrywise(
        gram, lambda r: recursion.correlations(found, r, depth)[-1]
    )


def _points_case(n: int, dim: int, spread: float, seed: int) -> float:
    return kernels.separation(recursion.unit_points(n, dim, spread, seed))


def _predict_condition(
    *,
    activation: Subject,
    n: int,
    dim: int,
    spread: float,
    seed: int,
    extra: int,
) -> float:
    mu, delta = _mu(activation), _points_case(n, dim, spread, seed)
    depth = dc.depth_for_condition_number(delta, mu, n) + extra
    return dc.nngp_condition_bound(depth, delta, mu, n)


def _measure_condition(
    *,
    activation: Subject,
    n: int,
    dim: int,
    spread: float,
    seed: int,
    extra: int,
) -> Any:
    mu, delta = _mu(activation), _points_case(n, dim, spread, seed)
    depth = dc.depth_for_condition_number(delta, mu, n) + extra
    gram = recursion.exact_gram(n, dim, spread, seed)
    return recursion.condition_number(_kernel(activation, gram, depth))


def _wrong_condition(**case: Any) -> float:
    # Perfect conditioning.
    del case
    return 1.0


def _data() -> Any:
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            # Not too near affine: depth grows like 1/mu.
            "activation": mixtures(centred=True).filter(
                lambda a: (
                    sum(v * v for v in a["a"][2:]) > 0.1 * sum(v * v for v in a["a"])
                )
            ),
            "n": st.integers(2, 6),
            "dim": st.integers(2, 5),
            "spread": st.floats(0.05, 3.0),
            "seed": st.integers(0, 10_000),
            "extra": st.integers(0, 20),
        }
    )


COR_33 = Claim(
    id="dc/cor3.3",
    items=("Cor3.3", "AsmA"),
    title="The condition number of the top-layer kernel falls to one with depth",
    statement=r"\kappa(K) \le 1 + 2n (1 - \mu/2)^{L - L_0(\delta)}, \quad L \ge L_1"
    r" = \left\lceil \frac{\log n}{-\log(1 - \mu/2)} \right\rceil + L_0(\delta)",
    assumptions=("assumption A",),
    source=Source(KEY, "Corollary 3.3"),
    evidence=Evidence.SEARCH,
    cases=grid(
        activation=(extremal(0.5), extremal(1.0)),
        n=(2, 6),
        dim=(3,),
        spread=(0.1, 1.0),
        seed=(1,),
        extra=(0, 5),
    ),
    predict=_predict_condition,
    measure=_measure_condition,
    compare=AtMost(relative=1e-9, origin=1.0),
    must_refute=_wrong_condition,
    examples=_data,
    max_examples=60,
    uses=("dc/thm3.2",),
)


def _predict_worst(*, n: int, mu: float, delta: float, extra: int) -> float:
    depth = dc.depth_for_condition_number(delta, mu, n) + extra
    return dc.nngp_condition_bound(depth, delta, mu, n)


def _measure_worst(*, n: int, mu: float, delta: float, extra: int) -> Any:
    """Condition number of the matrix with every off-diagonal entry equal to B."""
    depth = dc.depth_for_condition_number(delta, mu, n) + extra
    b = _measure_bound(depth=depth, delta=delta, mu=mu)
    with mpmath.workprec(BITS):
        # Eigenvalues 1 + (n-1) B and 1 - B; with the signs reversed 1 + B, 1 - (n-1) B.
        return max((1 + (n - 1) * b) / (1 - b), (1 + b) / (1 - (n - 1) * b))


def _wrong_worst(*, n: int, mu: float, delta: float, extra: int) -> float:
    # Without the factor n.
    depth = dc.depth_for_condition_number(delta, mu, n) + extra
    return 1.0 + 2.0 * (dc.nngp_condition_bound(depth, delta, mu, n) - 1.0) / n / 2.0


COR_33_WORST = Claim(
    id="dc/cor3.3-worst",
    items=("Cor3.3",),
    title="The bound holds where every pair is as correlated as allowed",
    statement=r"K = (1 - B) I + B\, 1 1^T \;\Rightarrow\;"
    r" \kappa(K) \le 1 + 2n (1 - \mu/2)^{L - L_0}",
    source=Source(KEY, "Corollary 3.3"),
    evidence=Evidence.NUMERIC,
    cases=grid(n=(2, 10, 50), mu=(0.1, 0.2665, 1.0), delta=(1e-4, 0.1), extra=(0, 3)),
    predict=_predict_worst,
    measure=_measure_worst,
    compare=AtMost(relative=1e-12, origin=1.0),
    must_refute=_wrong_worst,
)


def _predict_depth(*, delta: str, mu: str, n: int) -> int:
    return dc.depth_for_condition_number(float(Fraction(delta)), float(Fraction(mu)), n)


def _measure_depth(*, delta: str, mu: str, n: int) -> int:
    """Least l with n (1 - mu/2)^l <= 1, after L_0 layers, in fractions."""
    layers, left, factor = 0, Fraction(n), 1 - Fraction(mu) / 2
    while left > 1:
        left *= factor
        layers += 1
    return layers + _measure_burn_in(delta=delta, mu=mu)


def _wrong_depth(*, delta: str, mu: str, n: int) -> int:
    # The inputs' separation forgotten.
    return _predict_depth(delta=delta, mu=mu, n=n) - _predict_burn_in(
        delta=delta, mu=mu
    )


COR_33_DEPTH = Claim(
    id="dc/cor3.3-depth",
    items=("Cor3.3",),
    title="The depth from which the condition number is bounded",
    statement=r"L_1(\delta) = \left\lceil \frac{\log n}{-\log(1 - \mu/2)} \right\rceil"
    r" + L_0(\delta)",
    source=Source(KEY, "Corollary 3.3"),
    evidence=Evidence.NUMERIC,
    cases=(
        *grid(
            delta=("1/100", "1/1000000"),
            mu=("0.2665288965378700", "0.0158583176769851", "1"),
            n=(2, 16, 100, 1000, 1024),
        ),
        # log 2^29 / log 2 is 29.000000000000004 in float64.
        {"delta": "1/100", "mu": "1", "n": 2**29},
    ),
    predict=_predict_depth,
    measure=_measure_depth,
    compare=Identical(),
    must_refute=_wrong_depth,
    uses=("dc/B",),
)

# --- assumption B -----------------------------------------------------------------------


def _random_gram(n: int, rank: int, seed: int) -> Any:
    """A unit-diagonal Gram matrix; `rank` much above n is well conditioned."""
    return recursion.exact_gram(n, rank, 1.0, seed)


def _equal_gram(n: int, delta: float) -> Any:
    """Unit diagonal, off-diagonal 1 - delta: smallest eigenvalue delta."""
    with mpmath.workprec(BITS):
        gram = mpmath.matrix(n)
        for i in range(n):
            for j in range(n):
                gram[i, j] = 1 if i == j else 1 - mpmath.mpf(delta)
        return gram


def _gram(kind: str, n: int, delta: float, seed: int) -> tuple[Any, Any]:
    """A Gram matrix and its smallest eigenvalue, just below as a float64."""
    gram = _equal_gram(n, delta) if kind == "equal" else _random_gram(n, 2 * n, seed)
    return gram, recursion.eigenvalues(gram)[0]


def _below(value: Any) -> float:
    return math.nextafter(float(value), 0.0)


def _series_value(c: list[float], x: Any) -> Any:
    with mpmath.workprec(BITS):
        return mpmath.fsum(mpmath.mpf(v) * x**k for k, v in enumerate(c))


def _predict_transfer(*, c: list[float], kind: str, n: int, delta: float, seed: int):
    least = _gram(kind, n, delta, seed)[1]
    with mpmath.workprec(BITS):
        one, rest = _series_value(c, mpmath.mpf(1)), _series_value(c, 1 - least)
    return dc.eigenvalue_transfer(float(one), float(rest))


def _measure_transfer(*, c: list[float], kind: str, n: int, delta: float, seed: int):
    gram, _ = _gram(kind, n, delta, seed)
    image = recursion.entrywise(gram, lambda x: _series_value(c, x))
    return recursion.eigenvalues(image)[0]


def _wrong_transfer(**case: Any) -> float:
    return 1.05 * _predict_transfer(**case) + 1e-6


def _series_cases() -> Any:
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            "c": st.lists(
                st.floats(0.0, 2.0).map(lambda v: round(v, 6)), min_size=1, max_size=8
            ),
            "kind": st.sampled_from(("equal", "random")),
            "n": st.integers(2, 6),
            "delta": st.floats(1e-3, 1.0),
            "seed": st.integers(0, 10_000),
        }
    )


LEM_C8 = Claim(
    id="dc/lemC.8",
    items=("LemC.8",),
    title="Power series with non-negative coefficients keep matrices well conditioned",
    statement=r"M \succeq \delta I,\; M_{ii} = 1 \;\Rightarrow\;"
    r" \lambda_{\min}(f[M]) \ge f(1) - f(1 - \delta)",
    assumptions=("non-negative coefficients", "f applied entry by entry"),
    source=Source(KEY, "Lemma C.8"),
    evidence=Evidence.SEARCH,
    # Equality for a constant off-diagonal 1 - delta.
    cases=grid(
        c=([0.0, 1.0], [0.5, 0.0, 0.25, 1.0], [0.0, 0.0, 0.0, 0.0, 1.0]),
        kind=("equal", "random"),
        n=(2, 5),
        delta=(1e-3, 0.3, 1.0),
        seed=(8,),
    ),
    predict=_predict_transfer,
    measure=_measure_transfer,
    # f(1) is below 20 and rounded once.
    compare=AtLeast(rounding=1e-14),
    must_refute=_wrong_transfer,
    examples=_series_cases,
    max_examples=100,
)


def _predict_least(
    *, activation: Subject, kind: str, n: int, delta: float, depth: int, seed: int
) -> float:
    least = _below(_gram(kind, n, delta, seed)[1])
    return float(dc.nngp_min_eigenvalue_bound(depth, least, _mu(activation)))


def _measure_least(
    *, activation: Subject, kind: str, n: int, delta: float, depth: int, seed: int
) -> Any:
    gram, _ = _gram(kind, n, delta, seed)
    return recursion.eigenvalues(_kernel(activation, gram, depth))[0]


def _wrong_least(
    *, activation: Subject, kind: str, n: int, delta: float, depth: int, seed: int
) -> float:
    # Twice the rate of the first layers.
    least = _below(_gram(kind, n, delta, seed)[1])
    return min(least * (1.0 + _mu(activation)) ** (2 * depth), 1.0)


def _assumption_b() -> Any:
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            "activation": mixtures(centred=True),
            "kind": st.sampled_from(("equal", "random")),
            "n": st.integers(2, 5),
            "delta": st.floats(1e-4, 1.0),
            "depth": st.integers(1, 25),
            "seed": st.integers(0, 10_000),
        }
    )


_B_CASES = grid(
    activation=(extremal(0.3), extremal(1.0), "tanh"),
    kind=("equal", "random"),
    n=(2, 5),
    delta=(1e-3, 0.3),
    depth=(1, 8, 30),
    seed=(36,),
)

THM_36 = Claim(
    id="dc/thm3.6",
    items=("Thm3.6", "AsmB"),
    title="The smallest eigenvalue of the top-layer kernel grows with depth",
    statement=r"\lambda_{\min}(K) \ge 1 - B(L, \delta)",
    assumptions=("assumption B",),
    source=Source(KEY, "Theorem 3.6"),
    evidence=Evidence.SEARCH,
    cases=_B_CASES,
    predict=_predict_least,
    measure=_measure_least,
    compare=AtLeast(rounding=1e-13, trivial=0.0, origin=1.0),
    must_refute=_wrong_least,
    examples=_assumption_b,
    max_examples=60,
    uses=("dc/lemC.8",),
)


def _predict_condition_b(
    *, activation: Subject, kind: str, n: int, delta: float, depth: int, seed: int
) -> float:
    least = _below(_gram(kind, n, delta, seed)[1])
    return dc.nngp_condition_bound(depth, least, _mu(activation), n, assumption="B")


def _measure_condition_b(
    *, activation: Subject, kind: str, n: int, delta: float, depth: int, seed: int
) -> Any:
    gram, _ = _gram(kind, n, delta, seed)
    return recursion.condition_number(_kernel(activation, gram, depth))


def _wrong_condition_b(**case: Any) -> float:
    # Without the factor n.
    return 1.0 + (_predict_condition_b(**case) - 1.0) / case["n"]


COR_37 = Claim(
    id="dc/cor3.7",
    items=("Cor3.7", "AsmB"),
    title="Condition numbers under assumption B, at every depth",
    statement=r"\kappa(K) \le \begin{cases} 1 + n (1 - \mu/2)^{L - L_0} & L > L_0 \\"
    r" 1 + n \left( \frac{(1 + \mu/2)^{-L}}{\delta} - 1 \right) & L \le L_0"
    r" \end{cases}",
    assumptions=("assumption B",),
    source=Source(KEY, "Corollary 3.7", Reading.READING),
    evidence=Evidence.SEARCH,
    cases=_B_CASES,
    predict=_predict_condition_b,
    measure=_measure_condition_b,
    compare=AtMost(relative=1e-11, origin=1.0),
    must_refute=_wrong_condition_b,
    examples=_assumption_b,
    max_examples=60,
    uses=("dc/thm3.6",),
)


def _predict_attained(*, mu: float, n: int, delta: float, depth: int) -> list[float]:
    return [
        dc.nngp_min_eigenvalue_bound(depth, delta, mu, form="attained"),
        dc.nngp_condition_bound(depth, delta, mu, n, assumption="B", form="attained"),
        dc.nngp_condition_bound(depth, delta, mu, 2, form="attained"),
    ]


def _measure_attained(*, mu: float, n: int, delta: float, depth: int) -> list[Any]:
    def matrix(n: int) -> Any:
        gram = _equal_gram(n, delta)
        return recursion.entrywise(
            gram, lambda r: recursion.correlations(quadratic_law(mu), r, depth)[-1]
        )

    many = matrix(n)
    return [
        recursion.eigenvalues(many)[0],
        recursion.condition_number(many),
        recursion.condition_number(matrix(2)),
    ]


def _wrong_attained(*, mu: float, n: int, delta: float, depth: int) -> list[float]:
    # mu 5 % larger.
    return _predict_attained(mu=min(1.05 * mu, 1.0), n=n, delta=delta, depth=depth)


COR_37_ATTAINED = Claim(
    id="dc/cor3.7-attained",
    items=("Thm3.6", "Cor3.7", "Cor3.3"),
    title="The best bounds for inputs that are all equally correlated, attained",
    statement=r"\lambda_{\min}(K) = 1 - r_L, \quad \kappa(K) = 1 + \frac{n r_L}{1 - r_L}",
    assumptions=("sigma = sqrt(1 - mu) h_1 + sqrt(mu) h_2", "x_i . x_j = 1 - delta"),
    source=Source(KEY, "Corollaries 3.3 and 3.7 (sharpened)", Reading.OURS),
    evidence=Evidence.NUMERIC,
    cases=grid(mu=(0.05, 0.4), n=(2, 5), delta=(1e-9, 0.01, 0.5), depth=(0, 3, 40)),
    predict=_predict_attained,
    measure=_measure_attained,
    # Three roundings a layer, and 1 - delta, which the measured side holds to 60 digits.
    compare=AgreesTo(relative=1e-13),
    must_refute=_wrong_attained,
    uses=("dc/thm3.2-sharp",),
)
