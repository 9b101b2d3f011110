"""The neural tangent kernel under depth (section 2 of the specification)."""

import math
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt

from theory import conditioning as dc
from theory import kernels
from verify.claim import Claim, Evidence, Source, grid
from verify.claims.deep_conditioning import _recursions as recursion
from verify.claims.deep_conditioning._subjects import (
    DIFFERENTIABLE,
    KEY,
    NORMRELU,
    Subject,
    law,
    mixtures,
    nonlinear,
    separations,
    subject,
)
from verify.claims.deep_conditioning.conditioning import extremal
from verify.compare import AgreesTo, AtLeast, AtMost, Outcome
from verify.integrals import BITS

Array = npt.NDArray[np.float64]

# --- the kernel -------------------------------------------------------------------------


def _predict_tangent(*, activation: Subject, rho: float, depth: int) -> list[float]:
    a = subject(activation).normalized()
    return [kernels.ntk_map(rho, a, depth), kernels.nngp_map(rho, a, depth)]


def _measure_tangent(*, activation: Subject, rho: float, depth: int) -> list[Any]:
    found = law(activation)
    return [
        recursion.tangent(found, rho, depth),
        recursion.correlations(found, rho, depth)[-1],
    ]


def _wrong_tangent(*, activation: Subject, rho: float, depth: int) -> list[float]:
    # The readout's layer left out of the sum.
    right = _predict_tangent(activation=activation, rho=rho, depth=depth)
    return [right[0] - right[1], right[1]]


def _tangents() -> Any:
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            # With a linear part: dc/eq7-no-linear-part has the others.
            "activation": mixtures(centred=True).filter(
                lambda a: a["a"][1] ** 2 > 0.05 * sum(v * v for v in a["a"])
            ),
            "rho": st.floats(-1.0, 1.0),
            "depth": st.integers(1, 12),
        }
    )


EQ_7 = Claim(
    id="dc/eq7",
    items=("Eq7",),
    title="The tangent kernel as a sum over layers",
    statement=r"T_{ij} = \sum_{h=1}^{L+1} \hat\sigma^{(h-1)}(\rho)"
    r" \prod_{l=h}^{L} \hat\sigma'\left(\hat\sigma^{(l-1)}(\rho)\right)",
    assumptions=("all layers and the readout trained", "square-integrable derivative"),
    source=Source(KEY, "Equation 7"),
    evidence=Evidence.SEARCH,
    cases=(
        *grid(
            activation=("relu", "tanh", "gelu"),
            rho=(-1.0, -0.3, 0.9, 1.0),
            depth=(1, 2, 10),
        ),
        *grid(activation=("hermite(2)", "hermite(3)"), rho=(-0.3, 0.9), depth=(1,)),
        *grid(activation=("erf", "sigmoid", "exp"), rho=(0.9, 1.0), depth=(30,)),
        *grid(activation=("leaky_relu(0.2)", NORMRELU), rho=(0.5,), depth=(3,)),
    ),
    predict=_predict_tangent,
    measure=_measure_tangent,
    # The promise of theory.kernels, relative to the larger of the two kernels.
    compare=AgreesTo(relative=1e-12, absolute=1e-290, of_largest=True),
    must_refute=_wrong_tangent,
    examples=_tangents,
    max_examples=30,
)


def _predict_powers(*, activation: Subject, rho: float, depth: int) -> list[float]:
    a = subject(activation).normalized()
    t = kernels.ntk_map(rho, a, depth, normalized=True)
    return [t, kernels.nngp_map(rho, a, depth)]


def _measure_powers(*, activation: Subject, rho: float, depth: int) -> list[Any]:
    found = law(activation)
    t = recursion.tangent(found, rho, depth)
    with mpmath.workprec(BITS):
        top = mpmath.fsum(found.normalised_slope(1) ** h for h in range(depth + 1))
        return [t / top, recursion.correlations(found, rho, depth)[-1]]


def _wrong_powers(*, activation: Subject, rho: float, depth: int) -> list[float]:
    return _predict_powers(activation=activation, rho=rho, depth=depth + 1)


POWERS = Claim(
    id="dc/eq7-no-linear-part",
    items=("Eq7", "Thm3.2"),
    title="Both kernels of activations without linear part, relative to the diagonal",
    statement=r"a_1 = 0: \quad K_{ij} \;\mathrm{and}\; T_{ij} / T_{11}",
    assumptions=("small correlations are squared, or cubed, in every layer",),
    source=Source(KEY, "Equation 7"),
    evidence=Evidence.NUMERIC,
    cases=grid(
        activation=("hermite(2)", "hermite(3)", "cos"),
        rho=(-0.999, 0.3, 0.9, 1.0 - 1e-9),
        depth=(3, 12, 30),
    ),
    predict=_predict_powers,
    measure=_measure_powers,
    compare=AgreesTo(absolute=1e-13),
    must_refute=_wrong_powers,
)


def _predict_diagonal(*, activation: Subject, depth: int) -> float:
    a = subject(activation).normalized()
    return dc.ntk_diagonal(depth, a.derivative_second_moment)


def _measure_diagonal(*, activation: Subject, depth: int) -> Any:
    return recursion.tangent(law(activation), 1, depth)


def _wrong_diagonal(*, activation: Subject, depth: int) -> float:
    # L terms instead of L + 1.
    return _predict_diagonal(activation=activation, depth=depth) - 1.0


DIAGONAL = Claim(
    id="dc/eq7-diagonal",
    items=("Eq7", "Thm3.4"),
    title="The tangent kernel's diagonal is a geometric sum",
    statement=r"T_{ii} = \sum_{h=0}^{L} D^h, \quad D = \mathbb{E}[\sigma'(X)^2]",
    assumptions=("normalised activation, unit inputs",),
    source=Source(KEY, "Equation 7"),
    evidence=Evidence.NUMERIC,
    cases=grid(activation=("relu", "tanh", "hermite(2)", "sin"), depth=(1, 5, 20)),
    predict=_predict_diagonal,
    measure=_measure_diagonal,
    # D to 1e-15, raised to the 20th power.
    compare=AgreesTo(relative=1e-13),
    must_refute=_wrong_diagonal,
)


def _predict_least_slope(*, activation: Subject) -> float:
    return 1.0 + subject(activation).mu


def _measure_slope(*, activation: Subject) -> Any:
    return law(activation).normalised_slope(1)


def _wrong_least_slope(*, activation: Subject) -> float:
    return 1.0 + 1.05 * subject(activation).mu


def _differentiable() -> Any:
    from hypothesis import strategies as st

    return st.fixed_dictionaries({"activation": nonlinear(names=DIFFERENTIABLE)})


SLOPE = Claim(
    id="dc/eq7-slope",
    items=("Eq7", "Thm3.4"),
    title="The slope at one exceeds one by at least mu",
    statement=r"D \ge 1 + \mu",
    source=Source(KEY, "Section 3, used with equation 7"),
    evidence=Evidence.SEARCH,
    # Equality for quadratics.
    cases=grid(activation=(*DIFFERENTIABLE, extremal(0.2), extremal(1.0))),
    predict=_predict_least_slope,
    measure=_measure_slope,
    # mu to 1e-13, rounded with one.
    compare=AtLeast(rounding=5e-13),
    must_refute=_wrong_least_slope,
    examples=_differentiable,
    max_examples=60,
)


def _inputs(seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal((4, 3))


def _predict_matrix(*, activation: str, depth: int, seed: int) -> Array:
    k, t = kernels.nngp_ntk(_inputs(seed), subject(activation), depth)
    upper = np.triu_indices(4)
    return np.concatenate([k[upper], t[upper]])


def _measure_matrix(*, activation: str, depth: int, seed: int) -> list[Any]:
    """The recursion on covariances of inputs of any lengths, closed forms."""
    x = _inputs(seed)
    with mpmath.workprec(BITS):
        exact = [[mpmath.mpf(float(v)) for v in row] for row in x]
        k = [[mpmath.fdot(a, b) for b in exact] for a in exact]
        t = [list(row) for row in k]
        for _ in range(depth):
            new, slope = _ARC[activation](k)
            t = [
                [new[i][j] + t[i][j] * slope[i][j] for j in range(4)] for i in range(4)
            ]
            k = new
        pairs = [(i, j) for i in range(4) for j in range(i, 4)]
        return [k[i][j] for i, j in pairs] + [t[i][j] for i, j in pairs]


def _relu_step(k: Any) -> tuple[Any, Any]:
    def entry(i: int, j: int) -> tuple[Any, Any]:
        size = mpmath.sqrt(k[i][i] * k[j][j])
        c = mpmath.mpf(1) if i == j else k[i][j] / size
        angle = mpmath.acos(c)
        value = size * (mpmath.sin(angle) + (mpmath.pi - angle) * c) / (2 * mpmath.pi)
        return value, (mpmath.pi - angle) / (2 * mpmath.pi)

    return _filled(entry)


def _erf_step(k: Any) -> tuple[Any, Any]:
    def entry(i: int, j: int) -> tuple[Any, Any]:
        a, b = 1 + 2 * k[i][i], 1 + 2 * k[j][j]
        value = 2 / mpmath.pi * mpmath.asin(2 * k[i][j] / mpmath.sqrt(a * b))
        slope = 4 / mpmath.pi / mpmath.sqrt(a * b - 4 * k[i][j] ** 2)
        return value, slope

    return _filled(entry)


def _sin_step(k: Any) -> tuple[Any, Any]:
    def entry(i: int, j: int) -> tuple[Any, Any]:
        decay = mpmath.exp(-(k[i][i] + k[j][j]) / 2)
        return decay * mpmath.sinh(k[i][j]), decay * mpmath.cosh(k[i][j])

    return _filled(entry)


def _filled(entry: Any) -> tuple[Any, Any]:
    both = [[entry(i, j) for j in range(4)] for i in range(4)]
    return [[e[0] for e in row] for row in both], [[e[1] for e in row] for row in both]


_ARC = {"relu": _relu_step, "erf": _erf_step, "sin": _sin_step}


def _wrong_matrix(*, activation: str, depth: int, seed: int) -> Array:
    # The lengths of the inputs forgotten.
    x = _inputs(seed)
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    k, t = kernels.nngp_ntk(x, subject(activation), depth)
    upper = np.triu_indices(4)
    return np.concatenate([k[upper], t[upper]])


MATRIX = Claim(
    id="dc/eq7-matrix",
    items=("Eq7", "D.0", "Eq1"),
    title="Both kernels of inputs of different lengths",
    statement=r"K^{(l)}_{ij} = \mathbb{E}[s(u) s(v)], \quad T^{(l)}_{ij} ="
    r" K^{(l)}_{ij} + T^{(l-1)}_{ij}\, \mathbb{E}[s'(u) s'(v)]",
    assumptions=("any activation, not normalised", "any non-zero inputs"),
    source=Source(KEY, "Equation 7 and Appendix D"),
    evidence=Evidence.NUMERIC,
    cases=grid(activation=("relu", "erf", "sin"), depth=(1, 3, 12), seed=(7,)),
    predict=_predict_matrix,
    measure=_measure_matrix,
    compare=AgreesTo(relative=1e-12, of_largest=True),
    must_refute=_wrong_matrix,
)


def _opposite(gap: float) -> Array:
    """Two unit inputs at an angle of pi - gap."""
    return np.array([[1.0, 0.0], [-math.cos(gap), math.sin(gap)]])


def _predict_antipodal(*, gap: float) -> list[float]:
    k, t = kernels.nngp_ntk(_opposite(gap), subject("relu"), 1)
    return [float(k[0, 1]), float(t[0, 1])]


def _measure_antipodal(*, gap: float) -> list[Any]:
    with mpmath.workprec(BITS):
        a, b = (mpmath.mpf(float(v)) for v in _opposite(gap)[1])
        size = mpmath.hypot(a, b)
        c = a / size
        angle = mpmath.acos(c)
        share = (mpmath.pi - angle) / (2 * mpmath.pi)
        k = size * (mpmath.sin(angle) / (2 * mpmath.pi) + share * c)
        return [k, k + a * share]


def _wrong_antipodal(*, gap: float) -> list[float]:
    # From the cosine rounded to float64, which has lost the angle.
    a = subject("relu")
    rho = float(kernels.correlation(_opposite(gap))[0, 1])
    k = a.dual(rho)
    return [k, k + rho * a.dual_derivative(rho)]


ANTIPODAL = Claim(
    id="dc/eq7-antipodal",
    items=("Eq7", "DefC.1"),
    title="Kernels of nearly opposite inputs keep their digits",
    statement=r"K_{12} = \frac{\sin\theta + (\pi - \theta) \cos\theta}{2\pi},"
    r" \quad \theta \to \pi",
    assumptions=("one hidden layer, ReLU as it is", "inputs given by coordinates"),
    source=Source(KEY, "Equation 7 with Table 1"),
    evidence=Evidence.NUMERIC,
    cases=grid(gap=(1e-1, 1e-3, 1e-6, 1e-7)),
    predict=_predict_antipodal,
    measure=_measure_antipodal,
    compare=AgreesTo(relative=1e-12),
    must_refute=_wrong_antipodal,
    finding=(
        "The kernel falls like (pi - theta)^3: from a rounded cosine nothing of it is"
        " left at 1e-6, from the coordinates every digit."
    ),
)

# --- Lemma C.14 -------------------------------------------------------------------------


def _predict_derivative(*, activation: Subject, delta: float, sign: int) -> float:
    del activation, sign
    return float(dc.derivative_bound(delta, 1.0, form="printed"))


def _measure_derivative(*, activation: Subject, delta: float, sign: int) -> Any:
    with mpmath.workprec(BITS):
        rho = sign * (1 - mpmath.mpf(delta))
        return abs(law(activation).normalised_slope(rho))


def _wrong_derivative(*, activation: Subject, delta: float, sign: int) -> float:
    del activation, sign
    return 0.35 / delta


def _slopes() -> Any:
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            "activation": st.one_of(mixtures(), nonlinear(names=("relu", "tanh"))),
            "delta": separations(),
            "sign": st.sampled_from((1, -1)),
        }
    )


LEM_C14 = Claim(
    id="dc/lemC.14",
    items=("LemC.14",),
    title="The slope of the dual away from one",
    statement=r"|\hat\sigma'(\rho)| \le \frac{1}{1 - |\rho|}",
    assumptions=("normalised",),
    source=Source(KEY, "Lemma C.14"),
    evidence=Evidence.SEARCH,
    # h_k with delta = 1/k comes within a factor e of it.
    cases=(
        *grid(
            activation=("hermite(2)", "hermite(20)"), delta=(0.05, 0.5), sign=(1, -1)
        ),
        *grid(activation=("relu", "exp", "gelu"), delta=(1e-6, 0.1, 1.0), sign=(1,)),
    ),
    predict=_predict_derivative,
    measure=_measure_derivative,
    compare=AtMost(relative=1e-15),
    must_refute=_wrong_derivative,
    examples=_slopes,
    max_examples=60,
)


def _predict_share(*, activation: Subject, delta: float, sign: int) -> float:
    del sign
    return float(dc.derivative_bound(delta, subject(activation).mu))


def _measure_share(*, activation: Subject, delta: float, sign: int) -> Any:
    with mpmath.workprec(BITS):
        rho = sign * (1 - mpmath.mpf(delta))
        found = law(activation)
        return abs(found.normalised_slope(rho)) / found.normalised_slope(1)


def _wrong_share(*, activation: Subject, delta: float, sign: int) -> float:
    del sign
    mu = subject(activation).mu
    return 1.0 - min(2.1 * mu / (1.0 + mu) * delta, 1.0)


LEM_C14_SHARP = Claim(
    id="dc/lemC.14-sharp",
    items=("LemC.14",),
    title="Slopes relative to the slope at one: the form that gives sharp bounds",
    statement=r"\frac{|\hat\sigma'(\rho)|}{D} \le 1 - \frac{2\mu}{1 + \mu}"
    r" (1 - |\rho|)",
    assumptions=("normalised", "square-integrable derivative"),
    source=Source(KEY, "Lemma C.14 (sharpened)"),
    evidence=Evidence.SEARCH,
    # Equality for quadratics.
    cases=(
        *grid(
            activation=(extremal(0.1), extremal(0.7)), delta=(1e-6, 0.5, 1.0), sign=(1,)
        ),
        *grid(activation=("relu", "tanh", "gelu", "sin"), delta=(0.1,), sign=(1, -1)),
    ),
    predict=_predict_share,
    measure=_measure_share,
    compare=AtMost(rounding=2e-15),
    must_refute=_wrong_share,
    examples=_slopes,
    max_examples=60,
)

# --- Theorem 3.4 ------------------------------------------------------------------------


def _predict_ratio(
    *, activation: Subject, delta: float, sign: int, depth: int
) -> float:
    del sign
    return float(dc.ntk_ratio_bound(depth, delta, subject(activation).mu))


def _predict_sharp(
    *, activation: Subject, delta: float, sign: int, depth: int
) -> float:
    del sign
    return float(dc.ntk_ratio_bound(depth, delta, subject(activation).mu, form="sharp"))


def _measure_ratio(*, activation: Subject, delta: float, sign: int, depth: int) -> Any:
    with mpmath.workprec(BITS):
        rho = sign * (1 - mpmath.mpf(delta))
        found = law(activation)
        slope, t, top = found.normalised_slope(1), rho, mpmath.mpf(1)
        # T_l = K_l + s'(rho_{l-1}) T_{l-1}, over the diagonal at the end.
        for _ in range(depth):
            t = t * found.normalised_slope(rho)
            rho = found.normalised_dual(rho)
            t, top = t + rho, 1 + slope * top
        return abs(t) / top


def _wrong_ratio(*, activation: Subject, delta: float, sign: int, depth: int) -> float:
    # Decay from the first layer on, without the waiting time.
    del sign, delta
    return (1.0 - subject(activation).mu / 2.0) ** (depth / 2.0)


def _wrong_sharp(*, activation: Subject, delta: float, sign: int, depth: int) -> float:
    del sign, delta
    return (1.0 - subject(activation).mu / 2.0) ** depth


def _ratios(most: int = 40) -> Any:
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            "activation": mixtures(centred=True),
            "delta": separations(),
            "sign": st.sampled_from((1, -1)),
            "depth": st.integers(1, most),
        }
    )


_RATIO_CASES = (
    *grid(
        activation=(extremal(0.05), extremal(0.3), extremal(1.0)),
        delta=(1e-4, 0.01, 0.5),
        sign=(1,),
        depth=(1, 13, 60),
    ),
    *grid(activation=("relu", "tanh"), delta=(0.01, 0.5), sign=(1, -1), depth=(9, 20)),
)

THM_34 = Claim(
    id="dc/thm3.4",
    items=("Thm3.4", "E5"),
    title="Depth makes the tangent kernel diagonal: the printed rate",
    statement=r"\frac{|T_{ij}|}{T_{11}} \le 2 B(L/2, \delta), \quad L \ge 2 L_0(\delta)",
    assumptions=("assumption A", "L/2 need not be whole (E5)"),
    source=Source(KEY, "Theorem 3.4"),
    evidence=Evidence.SEARCH,
    cases=_RATIO_CASES,
    predict=_predict_ratio,
    measure=_measure_ratio,
    compare=AtMost(rounding=1e-13),
    must_refute=_wrong_ratio,
    examples=_ratios,
    max_examples=100,
    uses=("dc/lemC.14", "dc/thm3.2"),
)

THM_34_SHARP = Claim(
    id="dc/thm3.4-sharp",
    items=("Thm3.4", "E6"),
    title="Depth makes the tangent kernel diagonal, at twice the printed rate",
    statement=r"\frac{|T_{ij}|}{T_{11}} \le (1 - \mu/2)^{L - L_0(\delta)},"
    r" \quad L \ge L_0(\delta)",
    assumptions=("assumption A",),
    source=Source(KEY, "Theorem 3.4 (sharpened)"),
    evidence=Evidence.SEARCH,
    cases=_RATIO_CASES,
    predict=_predict_sharp,
    measure=_measure_ratio,
    compare=AtMost(rounding=1e-13),
    must_refute=_wrong_sharp,
    examples=_ratios,
    max_examples=100,
    uses=("dc/lemC.14-sharp", "dc/thm3.2"),
    finding=(
        "The L/2 of the printed bound is lossy: the full depth works, from half the"
        " threshold on. For normalised ReLU at rho = 0.99 and L = 100 the printed bound"
        " is 0.076, the sharp one 6.0e-5, and the true ratio 9.1e-27."
    ),
    figure="ntk_ratio",
)


# --- matrices ---------------------------------------------------------------------------


def _tangent_matrix(activation: Subject, gram: Any, depth: int) -> Any:
    found = law(activation)
    return recursion.entrywise(gram, lambda r: recursion.tangent(found, r, depth))


def _depth_a(mu: float, delta: float, n: int, extra: int, form: str) -> int:
    return max(dc.ntk_threshold_depth(delta, mu, n, form=form), 1) + extra  # type: ignore[arg-type]


def _predict_condition(
    *, activation: Subject, n: int, spread: float, seed: int, extra: int, form: str
) -> float:
    mu = subject(activation).mu
    delta = kernels.separation(recursion.unit_points(n, 3, spread, seed))
    depth = _depth_a(mu, delta, n, extra, form)
    return dc.ntk_condition_bound(depth, delta, mu, n, form=form)  # type: ignore[arg-type]


def _measure_condition(
    *, activation: Subject, n: int, spread: float, seed: int, extra: int, form: str
) -> Any:
    mu = subject(activation).mu
    delta = kernels.separation(recursion.unit_points(n, 3, spread, seed))
    depth = _depth_a(mu, delta, n, extra, form)
    gram = recursion.exact_gram(n, 3, spread, seed)
    return recursion.condition_number(_tangent_matrix(activation, gram, depth))


def _wrong_condition(**case: Any) -> float:
    del case
    return 1.0


COR_35 = Claim(
    id="dc/cor3.5",
    items=("Cor3.5", "E6", "AsmA"),
    title="The condition number of the tangent kernel, printed and sharp",
    statement=r"\kappa(T) \le 1 + 4n (1 - \mu/2)^{e}, \quad e = L/2 - L_0"
    r" \;\mathrm{(printed)},\; e = L - L_0 \;\mathrm{(sharp)}",
    assumptions=("assumption A", "L at least the threshold of each form"),
    source=Source(KEY, "Corollary 3.5"),
    evidence=Evidence.SEARCH,
    cases=grid(
        activation=(extremal(0.6), extremal(1.0)),
        n=(2, 5),
        spread=(0.2, 2.0),
        seed=(5,),
        extra=(0, 3),
        form=("printed", "sharp"),
    ),
    predict=_predict_condition,
    measure=_measure_condition,
    compare=AtMost(relative=1e-9),
    must_refute=_wrong_condition,
    uses=("dc/thm3.4", "dc/thm3.4-sharp"),
)


def _least(n: int, seed: int) -> float:
    gram = recursion.exact_gram(n, 2 * n, 1.0, seed)
    return float(np.nextafter(float(recursion.eigenvalues(gram)[0]), 0.0))


def _predict_eigenvalue(
    *, activation: Subject, n: int, seed: int, depth: int, form: str
) -> float:
    mu = subject(activation).mu
    return float(
        dc.ntk_min_eigenvalue_bound(depth, _least(n, seed), mu, form=form)  # type: ignore[arg-type]
    )


def _measure_eigenvalue(
    *, activation: Subject, n: int, seed: int, depth: int, form: str
) -> Any:
    del form
    gram = recursion.exact_gram(n, 2 * n, 1.0, seed)
    matrix = _tangent_matrix(activation, gram, depth)
    with mpmath.workprec(BITS):
        return recursion.eigenvalues(matrix)[0] / matrix[0, 0]


def _wrong_eigenvalue(**case: Any) -> float:
    del case
    return 1.0


def _predict_condition_b(
    *, activation: Subject, n: int, seed: int, depth: int, form: str
) -> float:
    mu = subject(activation).mu
    return dc.ntk_condition_bound(
        depth,
        _least(n, seed),
        mu,
        n,
        assumption="B",
        form=form,  # type: ignore[arg-type]
    )


def _measure_condition_b(
    *, activation: Subject, n: int, seed: int, depth: int, form: str
) -> Any:
    del form
    gram = recursion.exact_gram(n, 2 * n, 1.0, seed)
    return recursion.condition_number(_tangent_matrix(activation, gram, depth))


_B_CASES = grid(
    activation=(extremal(0.4), extremal(1.0), {"a": [0.0, 0.5, 0.1, 0.8]}),
    n=(2, 5),
    seed=(38, 39),
    depth=(2, 9, 24),
    form=("printed", "sharp"),
)

THM_38 = Claim(
    id="dc/thm3.8",
    items=("Thm3.8", "AsmB", "E6"),
    title="The smallest eigenvalue of the tangent kernel, printed and sharp",
    statement=r"\lambda_{\min}(T) \ge \left(1 - 2 B(L/2, \delta)\right) T_{11}",
    assumptions=("assumption B", "sharp: (1 - mu/2)^(L - L_0) instead of 2 B(L/2)"),
    source=Source(KEY, "Theorem 3.8"),
    evidence=Evidence.SEARCH,
    cases=_B_CASES,
    predict=_predict_eigenvalue,
    measure=_measure_eigenvalue,
    compare=AtLeast(rounding=1e-13),
    must_refute=_wrong_eigenvalue,
    uses=("dc/lemC.8",),
)

COR_39 = Claim(
    id="dc/cor3.9",
    items=("Cor3.9", "AsmB", "E6"),
    title="The condition number of the tangent kernel under assumption B",
    statement=r"\kappa(T) \le 1 + 2n (1 - \mu/2)^{e}, \quad e = L/2 - L_0"
    r" \;\mathrm{(printed)},\; e = L - L_0 \;\mathrm{(sharp)}",
    assumptions=("assumption B", "L at least the threshold of each form"),
    source=Source(KEY, "Corollary 3.9"),
    evidence=Evidence.SEARCH,
    cases=_B_CASES,
    predict=_predict_condition_b,
    measure=_measure_condition_b,
    compare=AtMost(relative=1e-11),
    must_refute=_wrong_condition,
    uses=("dc/thm3.8",),
)

# --- activations with jumps (E7) --------------------------------------------------------

_PARTIAL = (400, 1600)


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


def _converged(*, activation: str) -> float:
    del activation
    return 1.0


def _diverging(*, activation: str) -> float:
    del activation
    return (_PARTIAL[1] / _PARTIAL[0]) ** 0.5


def _predict_partial(*, activation: str) -> float:
    k = np.arange(_PARTIAL[1] + 1)
    terms = k * subject(activation).hermite(_PARTIAL[1]) ** 2
    return float(terms.sum() / terms[: _PARTIAL[0] + 1].sum())


E7_PRINTED = Claim(
    id="dc/E7-as-printed",
    items=("E7", "Eq7"),
    title="Every activation of the paper's table has a tangent kernel (as printed)",
    statement=r"\sum_k k\, a_k^2 < \infty \quad"
    r" \mathrm{for}\; \sigma(x) = \sqrt{2}\, 1\{x \ge 0\}",
    source=Source(KEY, "Section 3.2 with Table 1"),
    evidence=Evidence.NUMERIC,
    cases=grid(activation=("step",)),
    predict=_converged,
    measure=_partial_ratio,
    # A convergent sum has stopped growing; the other grows like the square root.
    compare=AgreesTo(relative=5e-3),
    must_hold=_diverging,
    expected=Outcome.REFUTED,
    finding=(
        "The slope of the step's dual is infinite at one: T_11 diverges from the first"
        " layer on. The statements on the tangent kernel need E[sigma'^2] finite."
    ),
)

E7_CORRECTED = Claim(
    id="dc/E7-corrected",
    items=("E7", "Eq7"),
    title="The step's slope energy grows without bound",
    statement=r"\sum_{k \le N} k\, a_k^2 \sim c \sqrt N",
    source=Source(KEY, "Section 3.2 with Table 1"),
    evidence=Evidence.NUMERIC,
    cases=grid(activation=("step",)),
    predict=_predict_partial,
    measure=_partial_ratio,
    compare=AgreesTo(relative=1e-12),
    must_refute=_converged,
)

CLAIMS = (
    EQ_7,
    POWERS,
    DIAGONAL,
    SLOPE,
    MATRIX,
    ANTIPODAL,
    LEM_C14,
    LEM_C14_SHARP,
    THM_34,
    THM_34_SHARP,
    COR_35,
    THM_38,
    COR_39,
    E7_PRINTED,
    E7_CORRECTED,
)
