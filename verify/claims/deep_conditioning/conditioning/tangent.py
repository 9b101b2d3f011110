"""The neural tangent kernel under depth (section 3.2 and appendix C.2)."""

import math
from functools import partial
from typing import Any

import mpmath
import numpy as np
from hypothesis import strategies as st

from theory import conditioning as dc
from theory import kernels
from verify.claim import adversarial, grid, numeric
from verify.claims._predictors import always, mistake, plus
from verify.claims._searches import SIGNS, searched
from verify.claims.deep_conditioning import _recursions as recursion
from verify.claims.deep_conditioning._sources import as_read, ours, quoted
from verify.claims.deep_conditioning._subjects import (
    DIFFERENTIABLE,
    NORMRELU,
    Subject,
    law,
    mixtures,
    nonlinear,
    separations,
    subject,
)
from verify.claims.deep_conditioning.conditioning.correlations import extremals
from verify.claims.deep_conditioning.kernels import _pairs as pairs
from verify.compare import AgreesTo, Array, AtLeast, AtMost, Outcome
from verify.integrals import BITS

# --- the kernel -------------------------------------------------------------------------


def _predict_tangent(
    *, activation: Subject, rho: float, depth: int, **options: bool
) -> list[float]:
    a = subject(activation).normalized()
    return [kernels.ntk_map(rho, a, depth, **options), kernels.nngp_map(rho, a, depth)]


def _measure_tangent(*, activation: Subject, rho: float, depth: int) -> list[Any]:
    found = law(activation)
    return [
        recursion.tangent(found, rho, depth),
        recursion.correlations(found, rho, depth)[-1],
    ]


_TANGENTS = searched(
    # With a linear part: dc/eq7-no-linear-part has the others.
    activation=mixtures(centred=True).filter(
        lambda a: a["a"][1] ** 2 > 0.05 * sum(v * v for v in a["a"])
    ),
    rho=st.floats(-1.0, 1.0),
    depth=st.integers(1, 12),
)


EQ_7 = adversarial(
    id="dc/eq7",
    title="The tangent kernel as a sum over layers",
    statement=r"T_{ij} = \sum_{h=1}^{L+1} \hat\sigma^{(h-1)}(\rho)"
    r" \prod_{l=h}^{L} \hat\sigma'\left(\hat\sigma^{(l-1)}(\rho)\right)",
    assumptions=("all layers and the readout trained", "square-integrable derivative"),
    source=quoted("Equation 7"),
    cases=(
        *grid(
            activation=("relu", "tanh", "gelu"),
            rho=(-1.0, -0.3, 0.9, 1.0),
            depth=(1, 2, 10),
        ),
        *grid(activation=("hermite(2)", "hermite(3)"), rho=(-0.3, 0.9), depth=1),
        *grid(activation=("erf", "sigmoid", "exp"), rho=(0.9, 1.0), depth=30),
        *grid(activation=("leaky_relu(0.2)", NORMRELU), rho=0.5, depth=3),
    ),
    predict=_predict_tangent,
    measure=_measure_tangent,
    # The promise of theory.kernels, relative to the larger of the two kernels.
    compare=AgreesTo(relative=1e-12, absolute=1e-290, of_largest=True),
    must_refute=mistake(
        "The sum without the readout's layer.",
        then=lambda both: [both[0] - both[1], both[1]],
    ),
    uses=("dc/defC.1-derivative",),
    examples=_TANGENTS,
    max_examples=30,
)


def _measure_powers(*, activation: Subject, rho: float, depth: int) -> list[Any]:
    found = law(activation)
    t = recursion.tangent(found, rho, depth)
    with mpmath.workprec(BITS):
        top = mpmath.fsum(found.normalised_slope(1) ** h for h in range(depth + 1))
        return [t / top, recursion.correlations(found, rho, depth)[-1]]


POWERS = numeric(
    id="dc/eq7-no-linear-part",
    items=("Eq7", "Thm3.2"),
    title="Both kernels of activations without a linear part, relative to the diagonal",
    statement=r"a_1 = 0: \quad K_{ij} \;\mathrm{and}\; T_{ij} / T_{11}",
    assumptions=("small correlations are squared, or cubed, in every layer",),
    source=quoted("Equation 7"),
    cases=grid(
        activation=("hermite(2)", "hermite(3)", "cos", "gaussian"),
        rho=(-0.999, 0.3, 0.9, 1.0 - 1e-9),
        depth=(3, 12, 30),
    ),
    predict=partial(_predict_tangent, normalized=True),
    measure=_measure_powers,
    compare=AgreesTo(absolute=1e-13),
    must_refute=mistake("Kernels of one layer more.", depth=plus(1)),
    uses=("dc/eq7",),
)


def _predict_diagonal(*, activation: Subject, depth: int) -> Array:
    d = subject(activation).normalized().derivative_second_moment
    return np.array([dc.ntk_diagonal(depth, d, log=flag) for flag in (False, True)])


def _measure_diagonal(*, activation: Subject, depth: int) -> list[Any]:
    t = recursion.tangent(law(activation), 1, depth)
    with mpmath.workprec(BITS):
        return [t, mpmath.log(t)]


DIAGONAL = numeric(
    id="dc/eq7-diagonal",
    items=("Eq7", "Thm3.4"),
    title="The tangent kernel's diagonal is a geometric sum, and its logarithm",
    statement=r"T_{ii} = \sum_{h=0}^{L} D^h, \quad D = \mathbb{E}[\sigma'(X)^2]",
    assumptions=("normalised activation, unit inputs",),
    source=quoted("Equation 7"),
    cases=grid(
        activation=("relu", "tanh", "hermite(2)", "sin", "identity"), depth=(1, 5, 20)
    ),
    predict=_predict_diagonal,
    measure=_measure_diagonal,
    # D to 1e-15, raised to the 20th power.
    compare=AgreesTo(relative=1e-13),
    must_refute=mistake("L terms in the place of L + 1.", then=plus(-1.0)),
    uses=("dc/eq7",),
)


def _predict_least_slope(*, activation: Subject, rise: float = 1.0) -> float:
    return 1.0 + rise * subject(activation).mu


def _measure_slope(*, activation: Subject) -> Any:
    return law(activation).normalised_slope(1)


SLOPE = adversarial(
    id="dc/eq7-slope",
    items=("Eq7", "Thm3.4"),
    title="The slope of the dual at one is at least 1 + mu",
    statement=r"D \ge 1 + \mu",
    source=ours("Section 3.2 (an addition)"),
    # Equality for quadratics.
    cases=grid(activation=(*DIFFERENTIABLE, *extremals(0.2, 1.0))),
    predict=_predict_least_slope,
    measure=_measure_slope,
    # mu to 1e-13 and 1e-15 more, see dc/def3.1, rounded with one.
    compare=AtLeast(rounding=1.02e-13),
    must_refute=mistake(
        "1 + 2 mu, the linear part's energy 1 - mu taken for one.", rise=2.0
    ),
    uses=("dc/def3.1", "dc/defC.1-derivative"),
    examples=searched(activation=nonlinear(names=DIFFERENTIABLE)),
    max_examples=60,
)


def four_inputs(seed: int) -> Array:
    """Return four inputs of different lengths."""
    return np.random.default_rng(seed).standard_normal((4, 3))


def _predict_matrix(
    *, activation: str, depth: int, seed: int, unit: bool = False
) -> Array:
    x = four_inputs(seed)
    if unit:
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
    k, t = kernels.nngp_ntk(x, subject(activation), depth)
    upper = np.triu_indices(4)
    return np.concatenate([k[upper], t[upper]])


def _measure_matrix(*, activation: str, depth: int, seed: int) -> list[Any]:
    """The recursion on covariances of inputs of any lengths, closed forms."""
    both = pairs.matrices(pairs.LAWS[activation], four_inputs(seed), depth)
    return [m[i, j] for m in both for i in range(4) for j in range(i, 4)]


MATRIX = numeric(
    id="dc/eq7-matrix",
    items=("Eq7", "D.0", "Eq1"),
    title="Top-layer and tangent kernels of inputs of different lengths",
    statement=r"K^{(l)}_{ij} = \mathbb{E}[s(u) s(v)], \quad T^{(l)}_{ij} ="
    r" K^{(l)}_{ij} + T^{(l-1)}_{ij}\, \mathbb{E}[s'(u) s'(v)]",
    assumptions=("activations as they are, not normalised", "any non-zero inputs"),
    source=ours("Equation 7 and Appendix D"),
    cases=grid(activation=("relu", "erf", "sin"), depth=(1, 3, 12), seed=7),
    predict=_predict_matrix,
    measure=_measure_matrix,
    compare=AgreesTo(relative=1e-12, of_largest=True),
    must_refute=mistake("The matrix of inputs scaled to unit length.", unit=True),
    uses=("dc/eq7", "dc/defC.1-unequal"),
)


def _opposite(gap: float) -> Array:
    """Two unit inputs at an angle of pi - gap."""
    return np.array([[1.0, 0.0], [-math.cos(gap), math.sin(gap)]])


def _predict_antipodal(*, gap: float) -> list[float]:
    k, t = kernels.nngp_ntk(_opposite(gap), subject("relu"), 1)
    return [float(k[0, 1]), float(t[0, 1])]


def _measure_antipodal(*, gap: float) -> list[Any]:
    first = pairs.start(*_opposite(gap).tolist())
    end = pairs.recursion(pairs.LAWS["relu"], first, 1)[-1]
    return [end.k[2], end.t[2]]


def _wrong_antipodal(*, gap: float) -> list[float]:
    """The value at a cosine rounded to float64, which has lost the angle."""
    a = subject("relu")
    rho = float(kernels.correlation(_opposite(gap))[0, 1])
    k = a.dual(rho)
    return [k, k + rho * a.dual_derivative(rho)]


ANTIPODAL = numeric(
    id="dc/eq7-antipodal",
    items=("Eq7", "DefC.1"),
    title="Kernels of nearly opposite inputs keep their digits",
    statement=r"K_{12} = \frac{\sin\theta + (\pi - \theta) \cos\theta}{2\pi},"
    r" \quad \theta \to \pi",
    assumptions=("one hidden layer, ReLU as it is", "inputs given by coordinates"),
    source=ours("Equation 7, table of C.4"),
    cases=grid(gap=(1e-1, 1e-3, 1e-6, 1e-7)),
    predict=_predict_antipodal,
    measure=_measure_antipodal,
    compare=AgreesTo(relative=1e-12),
    must_refute=_wrong_antipodal,
    uses=("dc/eq7", "dc/tab1"),
    finding=(
        "The kernel falls like (pi - theta)^3. From a rounded cosine three digits of it"
        " are left at 1e-6; from the coordinates every digit is."
    ),
)

# --- Lemma C.14 -------------------------------------------------------------------------


def _predict_derivative(*, delta: float, **_: Any) -> float:
    return float(dc.derivative_bound(delta, 1.0, form="printed"))


def _measure_derivative(*, activation: Subject, delta: float, sign: int) -> Any:
    with mpmath.workprec(BITS):
        rho = sign * (1 - mpmath.mpf(delta))
        return abs(law(activation).normalised_slope(rho))


def _wrong_derivative(*, delta: float, **_: Any) -> float:
    """1/(e delta), the bound for Hermite polynomials of high degree."""
    return 1.0 / (math.e * delta)


_SLOPES = searched(
    activation=st.one_of(mixtures(), nonlinear(names=("relu", "tanh"))),
    delta=separations(),
    sign=SIGNS,
)


LEM_C14 = adversarial(
    id="dc/lemC.14",
    title="The slope of the dual is at most 1/(1 - |rho|)",
    statement=r"|\hat\sigma'(\rho)| \le \frac{1}{1 - |\rho|}",
    assumptions=("normalised",),
    source=as_read("Lemma C.14"),
    # h_k with delta = 1/k comes within a factor e of it.
    cases=(
        *grid(
            activation=("hermite(2)", "hermite(20)"), delta=(0.05, 0.5), sign=(1, -1)
        ),
        *grid(activation=("relu", "exp", "gelu"), delta=(1e-6, 0.1, 1.0), sign=1),
    ),
    predict=_predict_derivative,
    measure=_measure_derivative,
    compare=AtMost(relative=1e-15),
    must_refute=_wrong_derivative,
    uses=("dc/defC.1-derivative", "dc/lemC.14-values"),
    examples=_SLOPES,
    max_examples=60,
)


def _predict_share(*, activation: Subject, delta: float, **_: Any) -> float:
    return float(dc.derivative_bound(delta, subject(activation).mu))


def _measure_share(*, activation: Subject, delta: float, sign: int) -> Any:
    with mpmath.workprec(BITS):
        rho = sign * (1 - mpmath.mpf(delta))
        found = law(activation)
        return abs(found.normalised_slope(rho)) / found.normalised_slope(1)


def _wrong_share(*, activation: Subject, delta: float, **_: Any) -> float:
    """2 mu (1 - |rho|), not divided by 1 + mu."""
    return max(1.0 - 2.0 * subject(activation).mu * delta, 0.0)


LEM_C14_SHARP = adversarial(
    id="dc/lemC.14-sharp",
    title="The slope of the dual relative to its slope at one: the sharp bound",
    statement=r"\frac{|\hat\sigma'(\rho)|}{D} \le 1 - \frac{2\mu}{1 + \mu}"
    r" (1 - |\rho|)",
    assumptions=("normalised", "square-integrable derivative"),
    source=ours("Lemma C.14 (sharpened)"),
    # Equality for quadratics.
    cases=(
        *grid(activation=extremals(0.1, 0.7), delta=(1e-6, 0.5, 1.0), sign=1),
        *grid(activation=("relu", "tanh", "gelu", "sin"), delta=0.1, sign=(1, -1)),
    ),
    predict=_predict_share,
    measure=_measure_share,
    compare=AtMost(rounding=2e-15),
    must_refute=_wrong_share,
    uses=("dc/def3.1", "dc/defC.1-derivative", "dc/lemC.14-values"),
    examples=_SLOPES,
    max_examples=60,
)

# --- activations with jumps (E7) --------------------------------------------------------

_PARTIAL = (400, 1600)
_CONVERGED = always(1.0, "A sum over coefficients that has converged.")


def _partial_ratio(*, activation: str) -> Any:
    """sum_{k <= 1600} k a_k^2 over the same to 400, from closed-form coefficients."""
    with mpmath.workdps(30):
        total, sums = mpmath.mpf(0), []
        # a_k^2 of 1{x > 0} for odd k: phi(0)^2 He_{k-1}(0)^2 / k!.
        share = 1 / (2 * mpmath.pi)
        for k in range(1, _PARTIAL[1] + 1, 2):
            total += k * share
            share *= mpmath.mpf(k) * k / ((k + 1) * (k + 2))
            if k + 2 > _PARTIAL[len(sums)]:
                sums.append(total)
        return sums[1] / sums[0]


def _predict_partial(*, activation: str) -> float:
    k = np.arange(_PARTIAL[1] + 1)
    terms = k * subject(activation).hermite(_PARTIAL[1]) ** 2
    return float(terms.sum() / terms[: _PARTIAL[0] + 1].sum())


E7_PRINTED = numeric(
    id="dc/E7-as-read",
    items=("E7", "Eq7"),
    title="Every normalised activation has a tangent kernel (as read)",
    statement=r"\sum_k k\, a_k^2 < \infty \quad"
    r" \mathrm{for}\; \sigma(x) = \sqrt{2}\, 1\{x \ge 0\}",
    source=as_read("Sections 1.1 and 3.2, table of C.4"),
    cases=grid(activation="step"),
    predict=_CONVERGED,
    measure=_partial_ratio,
    # A convergent sum has stopped growing; the other grows like the square root.
    compare=AgreesTo(relative=5e-3),
    must_hold=always(
        (_PARTIAL[1] / _PARTIAL[0]) ** 0.5,
        "A sum that grows like the root of the order.",
    ),
    uses=("dc/E7-corrected",),
    expected=Outcome.REFUTED,
    finding=(
        "The results are stated for arbitrary normalised activations, and the table of"
        " C.4 has the step. The slope of its dual is infinite at one: T_11 diverges from"
        " the first layer on. The statements on the tangent kernel need E[sigma'^2] finite."
    ),
)

E7_CORRECTED = numeric(
    id="dc/E7-corrected",
    items=("E7", "Eq7"),
    title="The slope energy of the step function grows like the root of the order",
    statement=r"\sum_{k \le N} k\, a_k^2 \sim c \sqrt N",
    source=ours("Sections 1.1 and 3.2, table of C.4"),
    cases=grid(activation="step"),
    predict=_predict_partial,
    measure=_partial_ratio,
    compare=AgreesTo(relative=1e-12),
    must_refute=_CONVERGED,
    uses=("dc/tab2-coefficients",),
)
