"""Activations with a mean: correlations converge to a fixed point (section 3.4)."""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import mpmath
import numpy as np
from hypothesis import strategies as st

from theory import conditioning as dc
from verify.claim import adversarial, grid
from verify.claims._predictors import mistake
from verify.claims._searches import SIGNS, searched
from verify.claims.deep_conditioning import _recursions as recursion
from verify.claims.deep_conditioning._sources import as_read, ours, quoted
from verify.claims.deep_conditioning._subjects import (
    NONLINEAR,
    NORMRELU,
    Subject,
    energies,
    energy_from,
    law,
    measured_mu,
    mixtures,
    nonlinear,
    normalised,
    nu_of,
    subject,
)
from verify.compare import AgreesTo, AtLeast, AtMost
from verify.integrals import BITS, Law

# --- the coefficient of non-affinity ----------------------------------------------------


def _measure_nu(*, activation: Subject) -> Any:
    return law(activation).nu()


# NormReLU comes normalised: its nu is its mu, dc/def3.1.
_RAW = tuple(n for n in NONLINEAR if n != NORMRELU)
_ANY = searched(activation=nonlinear(names=_RAW))


def _predict_both(*, activation: Subject) -> list[float]:
    return [nu_of(activation), normalised(activation).nu]


def _measure_both(*, activation: Subject) -> list[Any]:
    return [_measure_nu(activation=activation), measured_mu(activation=activation)]


DEF_C20 = adversarial(
    id="dc/defC.20",
    items=("DefC.20", "Def3.1"),
    title="The coefficient of non-affinity nu; of normalised activations it is mu",
    statement=r"\nu = 1 - a_0^2 - a_1^2 = \sum_{k \ge 2} a_k^2, \qquad"
    r" \mathbb{E}\,\sigma(X) = 0 \;\Rightarrow\; \nu = \mu",
    assumptions=("unit second moment",),
    source=quoted("Definition C.20 and the sentence after it"),
    cases=grid(activation=_RAW),
    predict=_predict_both,
    measure=_measure_both,
    # As dc/def3.1.
    compare=AgreesTo(relative=1e-13, absolute=1e-15),
    must_refute=mistake(
        "Either coefficient in the place of the other.", then=lambda both: both[::-1]
    ),
    uses=("dc/tab2-coefficients", "dc/def3.1"),
    examples=_ANY,
    max_examples=60,
)


def _predict_range(*, first: int = 2, **case: Any) -> list[float]:
    return [energy_from(centred=False, first=first, **case), -1.0]


def _measure_range(**case: Any) -> list[Any]:
    """Both sides of energy <= nu <= 1, as bounds of nu and of its negative."""
    nu = _measure_nu(**case)
    return [nu, -nu]


LEM_C21 = adversarial(
    id="dc/lemC.21",
    title="nu is at least the energy of higher Hermite terms, positive unless affine, and"
    " at most 1",
    statement=r"0 < \sum_{k=2}^{8} a_k^2 \le \nu \le 1",
    assumptions=("not affine: for some k >= 2 a_k is not zero, here for one up to 8",),
    source=quoted("Lemma C.21"),
    # Equality: polynomials up to that degree, and those with neither mean nor linear part.
    cases=grid(
        activation=(
            *(*_RAW, "hermite(2)", "hermite(3)"),
            *({"a": [2.0, 1.0, 1e-4]}, {"a": [0.5, 0.5, 0, 1]}),
        )
    ),
    predict=_predict_range,
    measure=_measure_range,
    # Energies to 1e-13 relative; of callables by quadrature, 1e-15 of the whole.
    compare=AtLeast(rounding=1e-15, relative=1e-12),
    must_refute=mistake("The energies from the linear part on.", first=1),
    uses=("dc/defC.20",),
    examples=_ANY,
    max_examples=100,
    version=2,
)

# --- the shape of the dual --------------------------------------------------------------

_GRID = tuple(k / 8 for k in range(9))


def _measure_steps(*, activation: Subject, order: int) -> list[Any]:
    """Differences of the dual on [0, 1], of the first or second order."""
    with mpmath.workprec(BITS):
        values = [law(activation).dual(rho) for rho in _GRID]
        for _ in range(order):
            values = [b - a for a, b in itertools.pairwise(values)]
        return values


def _predict_steps(*, activation: Subject, order: int) -> Any:
    energy = energies(activation, centred=False) * subject(activation).second_moment
    return _differences(order) @ energy


def _differences(order: int) -> Any:
    return np.diff(np.array(_GRID)[:, None] ** np.arange(9), n=order, axis=0)


def _wrong_steps(*, activation: Subject, order: int) -> Any:
    """Coefficients in the place of their squares."""
    return _differences(order) @ np.abs(subject(activation).hermite(8))


LEM_C23 = adversarial(
    id="dc/lemC.23",
    title="The dual is non-decreasing and convex on [0, 1], as every term of its series is",
    statement=r"\Delta^j \hat\sigma(\rho) \ge \sum_{k \le 8} a_k^2\, \Delta^j \rho^k"
    r" \ge 0, \quad j = 1, 2 \quad \mathrm{on}\; [0, 1]",
    source=quoted("Lemma C.23"),
    # Equality for polynomials up to that degree.
    cases=grid(
        activation=("relu_squared", "relu", "gelu", "exp", "sigmoid", "hermite(5)"),
        order=(1, 2),
    ),
    predict=_predict_steps,
    measure=_measure_steps,
    # Energies to 1e-13 of E s^2, which is below 10 here.
    compare=AtLeast(rounding=1e-12, trivial=0.0),
    must_refute=_wrong_steps,
    uses=("dc/defC.1",),
    examples=searched(activation=mixtures(), order=st.sampled_from((1, 2))),
    max_examples=100,
    version=2,
)

# --- fixed points -----------------------------------------------------------------------


def exact_fixed_point(found: Law) -> Any:
    """Smallest fixed point in [0, 1], to 30 digits."""
    with mpmath.workprec(BITS):
        total = found.moment()

        def above(rho: Any) -> Any:
            return found.dual(rho) / total - rho

        # The dual is convex: below the diagonal somewhere, or not at all before 1.
        high = mpmath.mpf(1) / 2
        for _ in range(60):
            if above(high) < 0:
                break
            high = (1 + high) / 2
        else:
            return mpmath.mpf(1)
        low = mpmath.mpf(0)
        if above(low) <= 0:
            return low
        return mpmath.findroot(above, (low, high), solver="anderson", tol=1e-60)


def _predict_fixed_point(*, activation: Subject) -> list[float]:
    """The fixed point, and whether D exceeds one by more than rounding."""
    a = subject(activation)
    rises = a.derivative_second_moment / a.second_moment - 1.0 > 1e-12
    return [a.fixed_point(), float(rises)]


def _measure_fixed_point(*, activation: Subject) -> list[Any]:
    """The fixed point, and whether it is below one."""
    point = exact_fixed_point(law(activation))
    return [point, float(point < 1)]


def _wrong_fixed_point(*, activation: Subject) -> list[float]:
    """The fixed point of a quadratic with the same mean and slope at one."""
    a = subject(activation)
    mean, slope = a.mean**2, a.derivative_second_moment
    point = min(1.0, mean / (slope - a.second_moment + mean))
    return [point, float(point < 1.0)]


def _mean_share(case: Any) -> float:
    """a_0^2 over E s^2: its inverse is a number of layers."""
    a = case["activation"]["a"]
    return a[0] ** 2 / sum(v * v for v in a)


def _excess(case: Any) -> float:
    """D - E s^2 over E s^2: of either sign, and zero where convergence is algebraic."""
    a = np.array(case["activation"]["a"])
    return float(((np.arange(len(a)) - 1.0) * a * a).sum() / (a * a).sum())


LEM_C26 = adversarial(
    id="dc/lemC.26",
    title="The dual's smallest fixed point is below one exactly if its slope at one"
    " exceeds one",
    statement=r"\hat\sigma(\bar\rho) = \bar\rho, \quad"
    r" \bar\rho < 1 \Leftrightarrow D > 1",
    # Of the identity all correlations are fixed points, and D = 1.
    assumptions=("unit second moment", "not affine", "bar rho: the smallest in [0, 1]"),
    source=quoted("Lemma C.26"),
    cases=grid(
        activation=(
            *("step", "gelu", "silu", "mish", "elu", "softplus", "sigmoid"),
            *({"a": [0.6, 0.0, 0.8]}, {"a": [0.6, 0.5, 0.1]}),
            # Of slope one: what quadrature makes it more is rounding.
            *({"a": [0.8, -0.4, 0.8]}, {"a": [0.9, 0.2, 0.9]}),
            # Nearly linear: the map is within 1e-10 of the identity.
            {"a": [1e-6, 1.0, 5e-6, 8e-6]},
        )
    ),
    predict=_predict_fixed_point,
    measure=_measure_fixed_point,
    # The dual's 1e-15 over 1 - slope at the fixed point, which is above 1e-3 here, but for
    # the nearly linear one, whose change of correlations is known to 1e-15 of itself.
    compare=AgreesTo(absolute=1e-12),
    must_refute=_wrong_fixed_point,
    uses=("dc/lemC.23",),
    examples=searched(
        lambda c: abs(c["activation"]["a"][0]) > 0.05 and abs(_excess(c)) > 1e-3,
        activation=mixtures(),
    ),
    max_examples=40,
    version=2,
)


def _predict_line(*, activation: Subject, share: float, deep: float = 1.0) -> float:
    a = subject(activation)
    point = a.fixed_point()
    rho = point + share * (1.0 - point)
    return rho - deep * a.nu * (rho - point) * (1.0 - rho)


def _layer(activation: Subject, place: Callable[[Any], Any]) -> tuple[Any, Any]:
    """One layer's correlation from a place by the fixed point, and less that point."""
    found = law(activation)
    point = exact_fixed_point(found)
    with mpmath.workprec(BITS):
        value = found.dual(place(point)) / found.moment()
        return value, value - point


def _measure_line(*, activation: Subject, share: float) -> Any:
    return _layer(activation, lambda point: point + share * (1 - point))[0]


_DRAWN = searched(
    lambda c: _mean_share(c) > 0.01,
    lambda c: _excess(c) > 1e-2,
    activation=mixtures(),
    share=st.floats(0.0, 1.0),
)


_EXPANDING = (
    # Quadratics attain the bounds.
    {"a": [0.5, 0.4, 0.768]},
    {"a": [0.3, 0.1, 0.9]},
    {"a": [0.3, -0.5, 0.0, 0.8]},
    "gelu",
    "silu",
)

_BELOW_ONE = ("unit second moment", "a fixed point below one")

LEM_C24 = adversarial(
    id="dc/lemC.24",
    title="Above its fixed point the dual lies below a parabola",
    statement=r"\hat\sigma(\rho) \le \rho - \nu (\rho - \bar\rho)(1 - \rho),"
    r" \quad \rho \in [\bar\rho, 1]",
    assumptions=_BELOW_ONE,
    source=quoted("Lemma C.24"),
    cases=grid(activation=_EXPANDING, share=(0.0, 0.3, 0.9, 1.0)),
    predict=_predict_line,
    measure=_measure_line,
    # The fixed point to 1e-13, see dc/lemC.26, and nu to as much.
    compare=AtMost(rounding=2e-13),
    must_refute=mistake("A parabola twice as deep.", deep=2.0),
    uses=("dc/lemC.26", "dc/defC.20"),
    examples=_DRAWN,
    max_examples=60,
)

# --- Lemma C.28 -------------------------------------------------------------------------


def _contraction(*, activation: Subject, whole: bool = False) -> tuple[float, float]:
    """Fixed point and nu * bar_delta / 2; wrongly all of nu."""
    a = subject(activation)
    point = a.fixed_point()
    return point, a.nu if whole else a.nu * (1.0 - point) / 2.0


_WHOLE = "nu in the place of nu / 2 times the distance of the fixed point from one."


def _predict_near_one(*, share: float, **case: Any) -> float:
    point, rate = _contraction(**case)
    return 1.0 - (1.0 + rate) * share * (1.0 - point) / 2.0


def _measure_near_one(*, activation: Subject, share: float) -> Any:
    return _layer(activation, lambda point: 1 - share * (1 - point) / 2)[0]


_of_lemma_28 = partial(
    adversarial,
    items=("LemC.28",),
    # As dc/lemC.24.
    compare=AtMost(rounding=2e-13),
    examples=_DRAWN,
    max_examples=40,
)

LEM_C28_1 = _of_lemma_28(
    id="dc/lemC.28-near-one",
    title="Uncentred activations: one layer moves near-duplicates apart",
    statement=r"\hat\sigma(1 - \delta) \le 1 - (1 + \nu \bar\delta / 2)\,\delta,"
    r" \quad 0 \le \delta \le \bar\delta / 2, \quad \bar\delta = 1 - \bar\rho",
    source=quoted("Lemma C.28 (1)"),
    assumptions=_BELOW_ONE,
    cases=grid(activation=_EXPANDING, share=(1e-6, 0.5, 1.0)),
    predict=_predict_near_one,
    measure=_measure_near_one,
    must_refute=mistake(_WHOLE, whole=True),
    uses=("dc/lemC.24",),
)


def _between(most: Any) -> list[Any]:
    """Return the two sides of 0 <= value <= most, as bounds of -value and value."""
    return [0.0, most]


def _predict_above(*, share: float, **case: Any) -> list[float]:
    point, rate = _contraction(**case)
    return _between((1.0 - rate) * share * (1.0 - point) / 2.0)


def _measure_above(*, activation: Subject, share: float) -> list[Any]:
    _, above = _layer(activation, lambda point: point + share * (1 - point) / 2)
    return [-above, above]


LEM_C28_2 = _of_lemma_28(
    id="dc/lemC.28-above",
    title="Uncentred activations: correlations above the fixed point contract to it",
    statement=r"0 \le \hat\sigma(\rho) - \bar\rho \le (1 - \nu \bar\delta / 2)"
    r" (\rho - \bar\rho), \quad \bar\rho \le \rho \le (1 + \bar\rho) / 2",
    source=quoted("Lemma C.28 (2)"),
    assumptions=_BELOW_ONE,
    cases=grid(activation=_EXPANDING, share=(0.1, 1.0)),
    predict=_predict_above,
    measure=_measure_above,
    must_refute=mistake(_WHOLE, whole=True),
    uses=("dc/lemC.24",),
    version=2,
)


def _predict_below(
    *, activation: Subject, share: float, end: float | None = None
) -> list[float]:
    a = subject(activation)
    point = a.fixed_point()
    slope = a.dual_derivative(point if end is None else end) / a.second_moment
    return _between(slope * (1.0 - share) * point)


def _measure_below(*, activation: Subject, share: float) -> list[Any]:
    _, above = _layer(activation, lambda point: share * point)
    return [above, -above]


LEM_C28_3 = _of_lemma_28(
    id="dc/lemC.28-below",
    title="Uncentred activations: correlations below the fixed point contract to it",
    statement=r"0 \le \bar\rho - \hat\sigma(\rho) \le \hat\sigma'(\bar\rho)"
    r" (\bar\rho - \rho), \quad 0 \le \rho \le \bar\rho",
    source=as_read("Lemma C.28 (3)"),
    assumptions=("unit second moment", "not affine"),
    # The fixed point of the last three is one: D is below one, and one for ReLU.
    cases=grid(
        activation=(*_EXPANDING, "sigmoid", "softplus", "relu"), share=(0.0, 0.5, 0.99)
    ),
    predict=_predict_below,
    measure=_measure_below,
    must_refute=mistake("The slope at zero, the other end.", end=0.0),
    uses=("dc/lemC.23", "dc/lemC.26"),
    version=2,
)


def _predict_negative(
    *, activation: Subject, rho: float, rise: float = 1.0
) -> list[float]:
    a = subject(activation)
    return [rho + rise * a.mean**2 / a.second_moment * (1.0 - rho), 0.0]


def _measure_negative(*, activation: Subject, rho: float) -> list[Any]:
    """The dual, and by how much that at |rho| exceeds its absolute value."""
    found = law(activation)
    with mpmath.workprec(BITS):
        value, other = (found.dual(r) / found.moment() for r in (rho, -rho))
        return [value, other - abs(value)]


LEM_C28_4 = adversarial(
    id="dc/lemC.28-negative",
    title="Uncentred activations: negative correlations rise by the mean's energy per"
    " layer",
    statement=r"\hat\sigma(\rho) \ge \rho + a_0^2 (1 - \rho), \quad"
    r" |\hat\sigma(\rho)| \le \hat\sigma(|\rho|), \quad -1 \le \rho \le 0",
    source=ours("Lemma C.28 (4), sharpened"),
    assumptions=("unit second moment",),
    # Equality for affine activations.
    cases=grid(
        activation=("relu", "gelu", "exp", "sigmoid", {"a": [0.6, 0.8, 0.0, 1e-6]}),
        rho=(-1.0, -0.3, 0.0),
    ),
    predict=_predict_negative,
    measure=_measure_negative,
    compare=AtLeast(rounding=5e-15),
    must_refute=mistake("Twice the mean's energy.", rise=2.0),
    uses=("dc/defC.1",),
    version=2,
    examples=searched(activation=mixtures(), rho=st.floats(-1.0, 0.0)),
    max_examples=80,
)

# --- convergence ------------------------------------------------------------------------


def _predict_distance(
    *, activation: Subject, delta: float, extra: int, sign: int, burnt_in: bool = True
) -> float:
    found = dc.fixed_point_convergence(subject(activation), delta)
    return found.rate ** (extra if burnt_in else found.start + extra)


def counted_start(found: Law, point: Any, delta: float) -> int:
    """Layers until an interval around the fixed point is reached, counted."""
    with mpmath.workprec(BITS):
        total, gap = found.moment(), 1 - point
        start = int(mpmath.ceil(total / found.coefficient(0) ** 2))
        if found.slope(1) < total:
            return start
        return max(start, recursion.burn_in(delta / gap, found.nu() * gap))


def _measure_distance(
    *, activation: Subject, delta: float, sign: int, extra: int
) -> Any:
    found = law(activation)
    point = exact_fixed_point(found)
    start = counted_start(found, point, delta)
    with mpmath.workprec(BITS):
        rho = sign * (1 - mpmath.mpf(delta))
        return abs(recursion.uncentred(found, rho, start + extra)[-1] - point)


_CONVERGING = searched(
    lambda c: abs(_excess(c)) > 0.02,
    # 1/a_0^2 is below twenty layers.
    lambda c: _mean_share(c) > 0.05,
    activation=mixtures(),
    delta=st.floats(1e-6, 1.0),
    sign=SIGNS,
    extra=st.integers(0, 30),
)


THM_310 = adversarial(
    id="dc/thm3.10",
    items=("Thm3.10", "LemC.30"),
    title="Uncentred activations: correlations converge to the fixed point",
    statement=r"|\hat\sigma^{(L)}(\rho) - \bar\rho| \le q^{L - L_1}, \quad"
    r" q = \begin{cases} \max(1 - \nu \bar\delta / 2, \hat\sigma'(\bar\rho)) & D > 1 \\"
    r" D & D < 1 \end{cases}",
    assumptions=(
        "mean not zero, not affine",
        "L_1: see dc/thm3.10-constants",
        "|rho| <= 1 - delta",
    ),
    source=ours("Theorem 3.10 and Lemma C.30 (constants ours)"),
    cases=(
        *grid(activation=("gelu", "silu"), delta=0.01, sign=(1, -1), extra=(0, 20)),
        *grid(
            activation=({"a": [0.6, 0.3, 0.74]}, {"a": [0.7, 0.7, 0.1]}, "sigmoid"),
            delta=(1e-6, 0.3),
            sign=(1, -1),
            extra=(0, 10),
        ),
        # Nearly affine, from rho = -1: distance 2, times D^4 while 1/a_0^2 layers pass.
        *grid(
            activation={"a": [0.502, 0.866, 0.01]}, delta=1e-6, sign=-1, extra=(0, 20)
        ),
    ),
    predict=_predict_distance,
    measure=_measure_distance,
    # The rate to 1e-13, to the 50th power at most.
    compare=AtMost(relative=1e-10),
    must_refute=mistake(
        "Contraction from the first layer on, without the burn-in.", burnt_in=False
    ),
    examples=_CONVERGING,
    max_examples=60,
    uses=(
        "dc/lemC.28-above",
        "dc/lemC.28-below",
        "dc/lemC.28-negative",
        "dc/lemC.28-near-one",
        "dc/thm3.10-constants",
    ),
)


def _wait(activation: Subject, rho: float) -> int:
    a = subject(activation)
    return 0 if rho >= 0.0 else math.ceil(a.second_moment / a.mean**2)


def _predict_algebraic(*, activation: Subject, rho: float, depth: int) -> float:
    wait = _wait(activation, rho)
    return float(dc.unit_slope_bound(depth, subject(activation).nu, wait=wait))


def _measure_algebraic(*, activation: Subject, rho: float, depth: int) -> Any:
    with mpmath.workprec(BITS):
        return 1 - recursion.uncentred(law(activation), rho, depth)[-1]


def _wrong_algebraic(*, activation: Subject, rho: float, depth: int) -> float:
    """Geometric decay, as if the slope at one were below one."""
    return (1.0 - subject(activation).nu / 2.0) ** max(
        depth - _wait(activation, rho), 0
    )


LEM_C32 = adversarial(
    id="dc/lemC.32",
    title="Slope one at rho = 1: correlations tend to one, but only algebraically",
    statement=r"1 - \hat\sigma^{(L)}(\rho) \le \frac{1}{1 + \nu (L - L')},"
    r" \quad L \ge L' = \lceil 1 / a_0^2 \rceil \;\mathrm{for}\; \rho < 0",
    assumptions=("D = 1", "mean not zero"),
    source=ours("Lemma C.32 (constants ours)"),
    # D = 1 exactly: ReLU, the exponential, and quadratics with a_0 = a_2.
    cases=grid(
        activation=("relu", "exp", {"a": [0.5, 0.7, 0.5]}, {"a": [1.0, 0.0, 1.0]}),
        rho=(-1.0, 0.0, 0.9),
        depth=(1, 10, 60),
    ),
    predict=_predict_algebraic,
    measure=_measure_algebraic,
    # Two is no bound on 1 - rho.
    compare=AtMost(rounding=1e-14, trivial=2.0),
    must_refute=_wrong_algebraic,
    examples=searched(
        activation=st.tuples(st.floats(0.1, 1.0), st.floats(-1.0, 1.0)).map(
            lambda t: {"a": [t[0], t[1], t[0]]}
        ),
        rho=st.floats(-1.0, 1.0),
        depth=st.integers(1, 40),
    ),
    max_examples=60,
    uses=("dc/defC.20", "dc/lemC.26", "dc/lemC.28-negative"),
    version=2,
)
