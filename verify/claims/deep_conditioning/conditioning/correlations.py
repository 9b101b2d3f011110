"""Decay of correlations with depth (section 1 of the specification)."""

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
from hypothesis import strategies as st

from theory import activations as act
from theory import conditioning as dc
from theory import kernels
from verify.claim import Case, adversarial, grid, numeric
from verify.claims._predictors import mistake, plus
from verify.claims._searches import SIGNS, searched
from verify.claims.deep_conditioning import _recursions as recursion
from verify.claims.deep_conditioning._sources import ours, quoted
from verify.claims.deep_conditioning._subjects import (
    NONLINEAR,
    Subject,
    law,
    mixtures,
    mu_of,
    nonlinear,
    normalised,
    separations,
)
from verify.claims.deep_conditioning.kernels import _pairs as pairs
from verify.compare import AgreesTo, Array, AtMost, Identical
from verify.integrals import BITS, of_coefficients


def extremal(mu: float) -> dict[str, Any]:
    """sqrt(1 - mu) h_1 + sqrt(mu) h_2: where every bound in delta and mu is attained."""
    return {"a": [0.0, math.sqrt(1.0 - mu), math.sqrt(mu)]}


def extremals(*mus: float) -> tuple[dict[str, Any], ...]:
    """Return one for each mu."""
    return tuple(map(extremal, mus))


def quadratic_law(mu: float) -> Any:
    """Return the same activation's law, of exactly this mu."""
    with mpmath.workprec(BITS):
        m = mpmath.mpf(mu)
        return of_coefficients([0, mpmath.sqrt(1 - m), mpmath.sqrt(m)])


# --- one layer --------------------------------------------------------------------------


def _predict_one_layer(*, activation: Subject, delta: float, sign: int) -> float:
    return float(dc.one_layer_bound(delta, mu_of(activation)))


def _measure_one_layer(*, activation: Subject, delta: float, sign: int) -> Any:
    with mpmath.workprec(BITS):
        return abs(law(activation).normalised_dual(sign * (1 - mpmath.mpf(delta))))


def _wrong_one_layer(*, activation: Subject, delta: float, sign: int) -> float:
    """Twice the rate of contraction."""
    mu = mu_of(activation)
    near = 1.0 - (1.0 + mu) * delta
    return near if delta <= 0.5 else (1.0 - mu) * (1.0 - delta)


LEM_C5 = adversarial(
    id="dc/lemC.5",
    title="One layer separates inputs at a rate set by mu",
    statement=r"|\hat\sigma(\rho)| \le \begin{cases} 1 - (1 + \mu/2)\,\delta &"
    r" \delta \le 1/2 \\ (1 - \mu/2)(1 - \delta) & \delta > 1/2 \end{cases}",
    assumptions=("normalised", "|rho| = 1 - delta"),
    source=quoted("Lemma C.5"),
    cases=(
        # Equality at delta = 1/2 for the extremal activation, of either sign of h_1.
        *grid(activation=extremals(0.3, 1e-3, 1.0), delta=(0.5, 0.1, 1e-6), sign=1),
        *grid(activation=NONLINEAR, delta=0.05, sign=1),
        *grid(activation=NONLINEAR, delta=0.6, sign=-1),
    ),
    predict=_predict_one_layer,
    measure=_measure_one_layer,
    # The bound is rounded three times at size 1, and mu is known to 1e-15.
    compare=AtMost(rounding=2e-15),
    must_refute=_wrong_one_layer,
    uses=("dc/def3.1", "dc/defC.1", "dc/lemC.5-values"),
    examples=searched(activation=nonlinear(), delta=separations(), sign=SIGNS),
    max_examples=50,
)

# --- the schedule -----------------------------------------------------------------------


def burn_in(*, delta: str, mu: str) -> int:
    """L_0 of fractions."""
    return int(dc.burn_in_depth(float(Fraction(delta)), float(Fraction(mu))))


def exact_burn_in(*, delta: str, mu: str) -> int:
    """Least l with 2 delta (1 + mu/2)^l >= 1, in fractions."""
    grown, factor, layers = 2 * Fraction(delta), 1 + Fraction(mu) / 2, 0
    while grown < 1:
        grown *= factor
        layers += 1
        # Exact powers grow by 60 digits a layer: round up beyond any close call.
        if layers % 64 == 0:
            grown = grown.limit_denominator(10**120)
    return layers


def exact_shrunk(start: Fraction | int, mu: str) -> int:
    """Least l with start (1 - mu/2)^l <= 1, in fractions."""
    layers, left = 0, Fraction(start)
    while left > 1:
        left *= 1 - Fraction(mu) / 2
        layers += 1
    return layers


def _wrong_burn_in(*, delta: str, mu: str) -> int:
    """The ceiling of a quotient of rounded logarithms."""
    d, m = float(Fraction(delta)), float(Fraction(mu))
    return max(math.ceil(math.log(1.0 / (2.0 * d)) / math.log(1.0 + m / 2.0)), 0)


def _schedules() -> Any:
    # Whole powers: 2 delta = (1 + mu/2)^-l exactly, where one layer is easily lost.
    exact = st.tuples(st.integers(0, 40), st.integers(1, 8)).map(
        lambda t: {
            "delta": str(Fraction(1, 2) / (1 + Fraction(t[1], 16)) ** t[0]),
            "mu": str(Fraction(t[1], 8)),
        }
    )
    any_other = st.tuples(st.floats(1e-9, 1.0), st.floats(0.01, 1.0)).map(
        lambda t: {"delta": str(Fraction(t[0])), "mu": str(Fraction(t[1]))}
    )
    return st.one_of(exact, any_other)


B_SCHEDULE = adversarial(
    id="dc/B",
    title="The burn-in depth L_0, also where a quotient of logarithms is an integer",
    statement=r"L_0(\delta) = \min\{l \ge 0 : 2\delta (1 + \mu/2)^l \ge 1\}",
    source=quoted("Definition of L_0 and B"),
    cases=(
        *grid(delta=("1/100", "1/1000000", "1"), mu=("1/64", "1/4", "1")),
        # 2 delta (1 + mu/2)^k = 1; the quotient of rounded logarithms is above k but for
        # the first of each of the first two rows.
        *(
            {"delta": str(Fraction(1, 2) / (1 + Fraction(mu) / 2) ** k), "mu": mu}
            for mu, powers in (
                ("1", (5, 10, 51)),
                ("1/2", (24,)),
                ("3/4", (3, 18, 37, 75)),
                ("1/4", (5, 24, 29)),
                ("1/8", (3, 16, 49, 89)),
            )
            for k in powers
        ),
    ),
    predict=burn_in,
    measure=exact_burn_in,
    compare=Identical(),
    must_refute=_wrong_burn_in,
    examples=_schedules,
    max_examples=150,
    finding=(
        "Where the quotient of logarithms is a whole number, its rounding may add a layer:"
        " for mu = 1 and 2 delta = (2/3)^10, say. The code compares powers instead."
    ),
)


def exact_bound(*, depth: float, delta: float, mu: float) -> Any:
    """B by its definition, at 60 digits."""
    with mpmath.workprec(BITS):
        d, m, layers = mpmath.mpf(delta), mpmath.mpf(mu), mpmath.mpf(depth)
        start = recursion.burn_in(d, m)
        if layers > start:
            return (1 - m / 2) ** (layers - start) / 2
        return 1 - d * (1 + m / 2) ** layers


B_VALUES = adversarial(
    id="dc/B-values",
    items=("B", "E5"),
    title="Values of the correlation bound B(L, delta), at whole and half-integer depths",
    statement=r"B(L, \delta) = \begin{cases} \frac12 (1 - \mu/2)^{L - L_0} & L > L_0 \\"
    r" 1 - \delta (1 + \mu/2)^L & L \le L_0 \end{cases}",
    source=quoted("Definition of B; L/2 with L odd in Theorem 3.4"),
    cases=grid(
        depth=(0, 10, 32, 33, 82, 20.5),
        delta=(0.01, 1e-6, 0.95),
        mu=(0.26652889653787007, 0.015858317676985129, 1.0),
    ),
    predict=dc.correlation_bound,
    measure=exact_bound,
    # A power to 4 ulp, see dc/B-long, and two roundings; 1 less it is above 1/4.
    compare=AgreesTo(relative=3e-15),
    must_refute=mistake(
        "The bound one layer late.", depth=lambda depth: max(depth - 1.0, 0.0)
    ),
    uses=("dc/B",),
    examples=searched(
        depth=st.integers(0, 400).map(lambda k: k / 2),
        delta=st.floats(1e-6, 1.0),
        mu=st.floats(0.02, 1.0),
    ),
    max_examples=150,
)


_CLOSE = 1e-290
"""A separation from which a burn-in of rate mu/2 takes a growth by e^667."""


def _depths(mu: float, rates: list[float]) -> list[int]:
    """Depths whose product with mu/2 is about so much."""
    return [int(2.0 * rate / mu) for rate in rates]


def _predict_long(*, mu: float, rates: list[float]) -> list[float]:
    depths = _depths(mu, rates)
    late = [dc.correlation_bound(depth, 0.5, mu) for depth in depths]
    early = [
        dc.nngp_condition_bound(depth, _CLOSE, mu, 2, assumption="B")
        for depth in depths
    ]
    return [*late, *early]


def _measure_long(*, mu: float, rates: list[float]) -> list[Any]:
    with mpmath.workprec(BITS):
        m, delta = mpmath.mpf(mu), mpmath.mpf(_CLOSE)
        depths = _depths(mu, rates)
        late = [(1 - m / 2) ** depth / 2 for depth in depths]
        early = [1 + 2 * ((1 + m / 2) ** -depth / delta - 1) for depth in depths]
        return [*late, *early]


def _by_logarithms(*, mu: float, rates: list[float]) -> list[float]:
    """Exponentials of rounded multiples of a logarithm."""
    depths = _depths(mu, rates)
    late = [0.5 * math.exp(depth * math.log1p(-0.5 * mu)) for depth in depths]
    grown = [_CLOSE * math.exp(depth * math.log1p(0.5 * mu)) for depth in depths]
    return [*late, *(1.0 + 2.0 * (1.0 / distance - 1.0) for distance in grown)]


B_LONG = numeric(
    id="dc/B-long",
    items=("B", "Cor3.7"),
    title="Bounds after millions of layers and more, at small coefficients mu",
    statement=r"\tfrac12 (1 - \mu/2)^L, \quad"
    r" 1 + n \left(\frac{(1 + \mu/2)^{-L}}{\delta} - 1\right), \quad L \gg 10^6",
    source=ours("Definition of B and Corollary 3.7"),
    cases=grid(
        mu=(1e-6, 3e-9, 5e-13, 7e-17), rates=([0.5, 4.0, 30.0, 150.0, 400.0, 600.0],)
    ),
    predict=_predict_long,
    measure=_measure_long,
    # Each of at most two powers to 4 ulp, and a few roundings more.
    compare=AgreesTo(relative=3e-15),
    must_refute=_by_logarithms,
    uses=("dc/B-values",),
)


def _measure_next(*, depth: int, delta: float, mu: float) -> Any:
    return exact_bound(depth=depth + 1, delta=delta, mu=mu)


E4_CORRECTED = adversarial(
    id="dc/E4-corrected",
    items=("E4", "B"),
    title="The bound B(L, delta) falls with every layer, except at L = 0 with delta > 1/2",
    statement=r"B(L + 1, \delta) \le B(L, \delta), \quad L \ge 1 \text{ or }"
    r" \delta \le \tfrac12",
    source=ours("Definition of B"),
    cases=(
        *grid(depth=(1, 2, 31, 32, 33), delta=(0.01, 0.1, 0.95), mu=(0.2665, 1.0)),
        *grid(depth=0, delta=(0.01, 0.1, 0.5), mu=(0.2665, 1.0)),
    ),
    predict=dc.correlation_bound,
    measure=_measure_next,
    compare=AtMost(rounding=1e-14),
    must_refute=mistake(
        "A bound too small by a whole factor 1 - mu.",
        then=lambda bound, *, mu: (1.0 - mu) * bound,
    ),
    examples=searched(
        lambda case: case["depth"] > 0 or case["delta"] <= 0.5,
        depth=st.integers(0, 200),
        delta=st.floats(1e-6, 1.0),
        mu=st.floats(0.02, 1.0),
    ),
    max_examples=150,
    uses=("dc/B-values",),
    finding=(
        "At L = 0 with delta > 1/2 the bound increases: B(0, 0.95) = 0.05 and B(1,"
        " 0.95) = 0.25 for mu = 1. This is harmless, since both bound the true"
        " correlation."
    ),
)

# --- decay of correlations --------------------------------------------------------------


def signed(names: Any, delta: Any, sign: Any, depth: Any) -> tuple[Case, ...]:
    """Return cases at correlations sign (1 - delta), behind some layers."""
    return grid(activation=names, delta=delta, sign=sign, depth=depth)


def _predict_decay(*, activation: Subject, delta: float, depth: int, **_: Any) -> float:
    return float(dc.correlation_bound(depth, delta, mu_of(activation)))


def _measure_decay(*, activation: Subject, delta: float, sign: int, depth: int) -> Any:
    with mpmath.workprec(BITS):
        start = sign * (1 - mpmath.mpf(delta))
        return abs(recursion.correlations(law(activation), start, depth)[-1])


def _wrong_decay(*, activation: Subject, delta: float, depth: int, **_: Any) -> float:
    """Decay from the first layer on, without the burn-in."""
    return 0.5 * (1.0 - mu_of(activation) / 2.0) ** depth if delta < 0.5 else 1.0


THM_32 = adversarial(
    id="dc/thm3.2",
    items=("Thm3.2", "LemC.7", "AsmA"),
    title="Depth decorrelates inputs: off-diagonal entries of the top-layer kernel decay",
    statement=r"|K_{ij}| \le B(L, \delta), \quad i \ne j",
    assumptions=("assumption A", "normalised, not affine"),
    source=quoted("Theorem 3.2 and Lemma C.7"),
    cases=(
        *signed(extremals(0.05, 0.5, 1.0), (1e-6, 0.01, 0.5), 1, (1, 10, 40, 100)),
        *signed(("relu", "tanh", "gelu", "exp"), 0.01, (1, -1), 20),
    ),
    predict=_predict_decay,
    measure=_measure_decay,
    # A power to 4 ulp, as in dc/B-values, and mu to 1e-15 of itself, which a burn-in from
    # 1e-9 enlarges by log(1/(2 delta)) = 20 of a distance of one half: 9e-16 and 1e-14.
    compare=AtMost(rounding=1.1e-14, trivial=1.0),
    must_refute=_wrong_decay,
    examples=searched(
        activation=mixtures(centred=True),
        delta=separations(),
        sign=SIGNS,
        depth=st.integers(1, 40),
    ),
    max_examples=120,
    uses=("dc/lemC.5", "dc/B"),
)


def _predict_envelope(*, mu: float, delta: float, depth: int) -> list[float]:
    # Rows that end early stay as they are while others go on.
    return dc.correlation_envelope([1, depth], delta, mu).tolist()


def _measure_envelope(*, mu: float, delta: float, depth: int) -> list[Any]:
    with mpmath.workprec(BITS):
        start = 1 - mpmath.mpf(delta)
        found = recursion.correlations(quadratic_law(mu), start, max(depth, 1))
        return [found[1], found[depth]]


def _wrong_envelope(*, mu: float, delta: float, depth: int) -> list[float]:
    """The paper's bound, as restored, in the place of the sharp one."""
    return dc.correlation_bound([1, depth], delta, mu).tolist()


THM_32_SHARP = numeric(
    id="dc/thm3.2-sharp",
    items=("Thm3.2", "LemC.7"),
    title="The best correlation bound in delta and mu, attained by a quadratic activation",
    statement=r"r_0 = 1 - \delta, \quad r_{l+1} = r_l \left(1 - \mu (1 - r_l)\right)",
    assumptions=("sigma = sqrt(1 - mu) h_1 + sqrt(mu) h_2",),
    source=ours("Theorem 3.2 (sharpened)"),
    cases=(
        *grid(mu=(0.015, 0.2665, 1.0), delta=(1e-12, 1e-3, 0.5), depth=(1, 30, 200)),
        # Most of the way a distance grows by a factor that stays the same.
        {"mu": 0.2665, "delta": 1e-20, "depth": 200},
        *grid(mu=(0.0155, 0.003), delta=(1e-9, 1e-3, 0.3), depth=(7, 5000)),
        # No layer, and so many that none is iterated.
        {"mu": 0.2665, "delta": 0.3, "depth": 0},
        {"mu": 0.008, "delta": 0.3, "depth": 4200},
    ),
    predict=_predict_envelope,
    measure=_measure_envelope,
    # The promise of the library. Float64 ends at 5e-324.
    compare=AgreesTo(relative=1e-13, absolute=5e-324),
    must_refute=_wrong_envelope,
    uses=("dc/lemC.5-every",),
)


def _measure_map(*, activation: str, depth: int) -> list[Any]:
    """Closed forms, with the digits that distances from 1e-15 up lose on the way."""
    # Distances double at most with a layer: a digit is lost in three of them.
    with mpmath.workdps(60 + depth // 3):
        known = pairs.LAWS[activation.removeprefix("own ")]
        return [pairs.correlations(known, r, depth)[-1] for r in _MAP_POINTS]


_MAP_POINTS = (-1.0, -1.0 + 1e-15, -0.9, -0.2, -1e-3, 1e-8, 0.3, 0.95, 1.0 - 1e-12)


def _predict_map(*, activation: str, depth: int) -> Array:
    unit = normalised(activation.removeprefix("own "))
    if activation == "own sin":
        # That it is odd is seen by its values alone.
        unit = act.from_function(np.sin).normalized()
    return kernels.nngp_map(np.array(_MAP_POINTS), unit, depth)


THM_32_MAP = numeric(
    id="dc/thm3.2-map",
    items=("Thm3.2", "DefC.1"),
    title="Kernels of a thousand layers from one table, to twelve digits",
    statement=r"K_{ij} = \hat\sigma^{(L)}(x_i \cdot x_j)",
    source=quoted("Lemma C.4, the limit"),
    cases=(
        *grid(activation="relu", depth=(1, 10, 100, 1000)),
        *grid(activation=("erf", "sin", "own sin"), depth=(2, 300)),
    ),
    predict=_predict_map,
    measure=_measure_map,
    # The promise of theory.kernels. Values below 1e-290 have left float64's range.
    compare=AgreesTo(relative=1e-12, absolute=1e-290),
    must_refute=mistake("The kernel of one layer more.", depth=plus(1)),
    uses=("dc/eq1-matrices",),
)
