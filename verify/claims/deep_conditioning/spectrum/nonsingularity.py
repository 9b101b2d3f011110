"""One hidden layer and non-singular kernels (section 10).

The smallest eigenvalue of the ReLU kernel of n points at least delta apart scales like
delta^{3/2}: on an arc of equally spaced points the constant is sqrt(2)/(12 pi). The
eigenvalues are far below float64's rounding of the matrix, so they are found in ball
arithmetic with 1600 bits.
"""

import math
from functools import lru_cache, partial
from typing import Any

import flint
import numpy as np
from hypothesis import strategies as st

from theory import activations as act
from theory import kernels
from theory import optimization as rates
from verify.claim import adversarial, grid, numeric, statistical
from verify.claims._predictors import always, mistake
from verify.claims._searches import SEEDS, searched
from verify.claims.deep_conditioning import _recursions as recursion
from verify.claims.deep_conditioning._sources import as_read, ours
from verify.claims.deep_conditioning._subjects import law, subject
from verify.compare import (
    AgreesTo,
    Array,
    AtLeast,
    Estimate,
    Identical,
    MeanAtLeast,
    Outcome,
)

# Interval elimination loses a few bits a row: 100 rows need most of these.
_BITS = 1600

# --- smallest eigenvalues on an arc --------------------------------------------------


def _relu_toeplitz(n: int, delta: str) -> list[flint.arb]:
    """First row of E[relu(w.x_i) relu(w.x_j)] for points arccos(1 - delta) apart."""
    pi = flint.arb.pi()
    step = (1 - flint.arb(delta)).acos()
    row = [flint.arb("0.5")]
    for k in range(1, n):
        theta = step * k
        row.append((theta.sin() + (pi - theta) * theta.cos()) / (2 * pi))
    return row


def _is_positive_definite(row: list[flint.arb], shift: flint.arb) -> bool:
    """Prove that Toeplitz(row) - shift I > 0 by its LDL^T pivots, in ball arithmetic."""
    n = len(row)
    rows = [[row[abs(i - j)] for j in range(n)] for i in range(n)]
    for i in range(n):
        rows[i][i] = rows[i][i] - shift
    for k in range(n):
        pivot = rows[k][k]
        if not pivot > 0:
            return False
        for i in range(k + 1, n):
            factor = rows[i][k] / pivot
            target, source = rows[i], rows[k]
            for j in range(i, n):
                target[j] = target[j] - factor * source[j]
            # Keeps the column below the pivot: the matrix is symmetric.
            for j in range(k + 1, i):
                target[j] = rows[j][i]
    return True


def _rayleigh(matrix: flint.arb_mat, vector: flint.arb_mat) -> flint.arb:
    energy = (vector.transpose() * (matrix * vector))[0, 0]
    return (energy / (vector.transpose() * vector)[0, 0]).mid()


def _proved_smallest(n: int, delta: str) -> flint.arb:
    row = _relu_toeplitz(n, delta)
    matrix = flint.arb_mat([[row[abs(i - j)] for j in range(n)] for i in range(n)])
    # The eigenvector alternates, with a half sine as its envelope.
    start = [(-1) ** i * math.sin(math.pi * (i + 1) / (n + 1)) for i in range(n)]
    vector = flint.arb_mat([[flint.arb(value)] for value in start])
    # Once through the inverse: the smooth directions have 1e12 times its eigenvalue.
    vector = matrix.solve(vector).mid()
    upper = _rayleigh(matrix, vector)
    # A shift proved to lie below the smallest eigenvalue, close to it.
    gaps = [flint.arb(10) ** -k for k in range(6, 0, -1)]
    shift = next(
        (s for s in (upper * (1 - g) for g in gaps) if _is_positive_definite(row, s)),
        flint.arb(0),
    )
    shifted = flint.arb_mat(matrix)
    for i in range(n):
        shifted[i, i] = shifted[i, i] - shift
    inverse = shifted.inv().mid()
    for _ in range(200):
        vector = (inverse * vector).mid()
        vector = (vector * (1 / (vector.transpose() * vector)[0, 0].sqrt())).mid()
        refined = _rayleigh(matrix, vector)
        settled = abs(refined - upper) < refined * flint.arb("1e-16")
        upper = refined
        if settled:
            break
    if not _is_positive_definite(row, upper * (1 - flint.arb("1e-14"))):
        raise ArithmeticError(
            f"smallest_arc_eigenvalue: {upper} is not proved to be the smallest"
            f" eigenvalue for n={n}, delta={delta}; raise the precision"
        )
    return upper


@lru_cache(maxsize=16)
def smallest_arc_eigenvalue(n: int, delta: str) -> float:
    """Return lambda_min of the ReLU kernel on an arc, proved to 14 digits.

    Inverse iteration gives a Rayleigh quotient R, an upper bound; that R (1 - 1e-14) is
    a lower bound is proved by the pivots of the shifted matrix.
    """
    with flint.ctx.workprec(_BITS):
        return float(_proved_smallest(n, delta))


def _measure_arc(*, n: int, delta: str) -> float:
    return smallest_arc_eigenvalue(n, delta) / float(delta) ** 1.5


def _predict_arc_law(*, delta: str, **_: Any) -> float:
    # Near a point the kernel is smooth + |angle|^3 / (6 pi); the alternating vector
    # sees 2 sum_k (-1)^k k^3 = 1/4 (Abel) of its spacing cubed, and the spacing is
    # sqrt(2 delta): (2 delta)^{3/2} / (24 pi).
    return float(rates.arc_min_eigenvalue(float(delta))) / float(delta) ** 1.5


def _predict_arc_value(*, n: int, **_: Any) -> float:
    # Off its smooth part, cos/2 of rank two, the kernel is |angle|^3/(6 pi); what is left
    # are vectors orthogonal to constants and to lines, and (2 delta)^{3/2} is the cube of
    # the spacing.
    place = np.arange(n)
    lines = np.column_stack([np.ones(n), place])
    rest = np.linalg.qr(lines, mode="complete")[0][:, 2:]
    cubes = np.abs(place[:, None] - place) ** 3
    least = np.linalg.eigvalsh(rest.T @ cubes @ rest)[0]
    return math.sqrt(2.0) / (3.0 * math.pi) * float(least)


def _predict_two_points(*, delta: str) -> float:
    # Two points: lambda_min = dual(1) - dual(1 - delta).
    return act.relu.second_moment * float(act.relu.distance_map(float(delta)))


def _half_delta(*, delta: str) -> float:
    """The leading term delta/2 alone."""
    return float(delta) / 2.0


# --- finite width --------------------------------------------------------------------


def _arc_points(n: int, delta: float) -> Array:
    angles = math.acos(1.0 - delta) * (np.arange(n) - (n - 1) / 2.0)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _measure_random_features(**case: Any) -> Estimate:
    """The logarithm of lambda_min of m random ReLU features' Gram matrix."""
    return Estimate.of(np.log(_random_eigenvalues(**case)))


def _random_eigenvalues(
    *, n: int, delta: float, width: int, draws: int, seed: int
) -> Array:
    points, rng = _arc_points(n, delta), np.random.default_rng(seed)
    values = np.empty(draws)
    for draw in range(draws):
        weights = rng.standard_normal((2, width))
        features = np.maximum(points @ weights, 0.0) / math.sqrt(width)
        singular = np.linalg.svd(features, compute_uv=False)
        values[draw] = singular[-1] ** 2
    return values


_FOUR_POWERS = 5.0
"""Below n^4 lambda_min / delta^{3/2} of two orthogonal inputs, 8 - 8/pi = 5.45."""


def _measure_scaled_features(*, n: int, delta: float, **case: Any) -> Estimate:
    """n^4 lambda_min / delta^{3/2} of the worst of ten sets of random features."""
    found = _random_eigenvalues(n=n, delta=delta, **case).reshape(-1, 10).min(axis=1)
    return Estimate.of(found * n**4 / delta**1.5)


def _predict_scaled_features(*, n: int, delta: float, **_: Any) -> float:
    least = rates.one_layer_min_eigenvalue(n, delta, constant=_FOUR_POWERS)
    return least * n**4 / delta**1.5


def _predict_half_of_limit(*, n: int, delta: float, **_: Any) -> float:
    points = _arc_points(n, delta)
    gram = np.clip(points @ points.T, -1.0, 1.0)
    kernel = np.asarray(act.relu.dual(gram))
    np.fill_diagonal(kernel, act.relu.second_moment)
    return math.log(float(np.linalg.eigvalsh(kernel)[0]) / 2.0)


def _wrong_power(*, n: int, delta: float, **_: Any) -> float:
    """An eigenvalue proportional to the root of delta."""
    return math.log(math.sqrt(delta) * math.sqrt(2.0) / (12.0 * math.pi))


# --- the anti-concentration event of Lemma H.3 ---------------------------------------


def _measure_event(*, n: int, delta: float, draws: int, seed: int) -> Estimate:
    """Return P(E) n / sqrt(delta), the factor P(|g_1| <= theta) taken exactly."""
    points, rng = _arc_points(n, delta), np.random.default_rng(seed)
    theta, i = math.sqrt(delta) / (4.0 * n), n // 2
    scale = math.sqrt(1.0 - theta**2)
    # g_1 is independent of the rest, so it is drawn inside its window: Phi^{-1} of a
    # uniform is nearly linear there, and the exact law is uniform weighted by its
    # density, whose variation over the window is below theta^2/2 < 1e-4 relative.
    inside = math.erf(theta / scale / math.sqrt(2.0))
    along = rng.uniform(-theta, theta, draws)
    across = rng.standard_normal(draws)
    perpendicular = np.array([-points[i, 1], points[i, 0]])
    w = along[:, None] * points[i] + across[:, None] * perpendicular
    others = np.delete(points, i, axis=0)
    far = (np.abs(w @ others.T) >= 2.0 * theta).all(axis=1)
    return Estimate.of(inside * far * n / math.sqrt(delta))


def _predict_event(*, n: int, delta: float, **_: Any) -> float:
    return rates.separation_event_bound(n, delta) * n / math.sqrt(delta)


def _wrong_event(*, n: int, delta: float, **_: Any) -> float:
    """The window of one point, without those of all others."""
    theta = math.sqrt(delta) / (4.0 * n)
    return math.erf(theta / math.sqrt(2.0)) * n / math.sqrt(delta)


# --- infinitely many coefficients (Theorem H.5) --------------------------------------


_QUADRATIC = {"a": [0.0, 1.0, 1.0]}


def _measure_smallest(*, activation: str, **points: Any) -> Any:
    """Smallest eigenvalue of the raw one-layer kernel, 60 digits."""
    found = law(_QUADRATIC if activation == "quadratic" else activation)
    kernel = recursion.entrywise(recursion.exact_gram(**points), found.dual)
    return recursion.eigenvalues(kernel)[0]


_ACTIVATIONS = ("erf", "exp", "relu", "sin", "step")


def _predict_tail(*, activation: str, first: int | None = None, **points: Any) -> float:
    r"""Sum over k >= k_0 of a_k^2 (1 - (n-1) (1-delta)^k), by Gershgorin.

    k_0 is the least k for which the bracket is positive; order 400 truncates a sum of
    positive terms, so what is left is still a lower bound.
    """
    x = recursion.unit_points(**points)
    log = np.arange(401) * math.log1p(-kernels.separation(x))
    energies = np.asarray(subject(activation).hermite(400)) ** 2
    # 1 - (n - 1) e^log without cancellation for near-duplicates.
    brackets = -np.expm1(log) - (len(x) - 2) * np.exp(log)
    if first is not None:
        return float(energies[first:].sum())
    return float((energies * np.maximum(brackets, 0.0)).sum())


def _by_float64(*, activation: str, **points: Any) -> float:
    """The eigenvalue in float64, which rounding moves away from zero."""
    x = recursion.unit_points(**points)
    gram = x @ x.T
    return float(np.linalg.eigvalsh(gram + gram**2)[0])


# --- the hypothesis of Theorem H.5 (erratum E2) --------------------------------------

_ORDERS = 40


def _measure_count(*, activation: str, parity: str) -> int:
    """Number of non-zero Hermite coefficients of ReLU of one parity, orders 0..40."""
    del activation
    # a_1 = 1/2, and a_k is a multiple of the integer He_{k-2}(0) for k >= 2.
    he = [1, 0]
    for k in range(1, _ORDERS):
        he.append(-k * he[k - 1])
    wanted = range(1 if parity == "odd" else 0, _ORDERS + 1, 2)
    return sum(1 for k in wanted if k < 2 or he[k - 2] != 0)


def _predict_infinitely_many(*, parity: str, **_: Any) -> int:
    # "Infinitely many of each parity", read on the first orders as: all of them.
    return len(range(1 if parity == "odd" else 0, _ORDERS + 1, 2))


def _count_from_theory(*, activation: str, parity: str) -> int:
    """The number of coefficients that do not vanish."""
    energies = np.abs(np.asarray(subject(activation).hermite(_ORDERS)))
    # Vanishing coefficients are computed to 1e-13 of the largest; the others are above
    # 1e-6.
    wanted = energies[(1 if parity == "odd" else 0) :: 2]
    return int((wanted > 1e-10).sum())


ARC_LAW = numeric(
    id="dc/thmH.1-arc-law",
    title="On an arc, the ReLU kernel's smallest eigenvalue scales as delta^(3/2)",
    statement=r"\frac{\lambda_{\min}}{\delta^{3/2}} \to \frac{\sqrt{2}}{12 \pi}",
    assumptions=("n equally spaced points, neighbours of correlation 1 - delta",),
    source=ours("Theorem H.1 (of points on an arc)"),
    cases=grid(n=100, delta=("1e-6", "1e-8")),
    larger_cases={"full": grid(n=(100, 200), delta=("1e-6", "1e-8", "1e-10"))},
    predict=_predict_arc_law,
    measure=_measure_arc,
    # Finite n: the alternating vector's half-sine envelope costs O(1/n^2) of a symbol
    # whose curvature is of order one, and the ends O(1/n): 1 % at n = 100. Finite
    # delta: n sqrt(2 delta) <= 0.15 rad of curvature enters squared over n^2.
    compare=AgreesTo(relative=0.01),
    must_refute=always(
        1.0 / (24.0 * math.pi), "The cube of the angle at a spacing of sqrt(delta)."
    ),
    uses=("dc/thmH.1-arc-values",),
    finding=(
        "For equally spaced points the power 3/2 of delta is sharp, and no power of 1/n"
        " is needed."
    ),
)

ARC_VALUES = numeric(
    id="dc/thmH.1-arc-values",
    title="Smallest eigenvalues of the ReLU kernel for a few close points on an arc",
    statement=r"\frac{\lambda_{\min}}{\delta^{3/2}} \to \frac{\sqrt2}{3\pi}\, \min_v"
    r" \frac{\sum_{ij} v_i v_j |i - j|^3}{|v|^2}, \quad \sum_i v_i = \sum_i i\, v_i = 0",
    assumptions=("n equally spaced points, neighbours of correlation 1 - delta -> 1",),
    source=ours("Theorem H.1 (of points on an arc)"),
    cases=grid(n=(3, 5, 10, 20), delta="1e-18"),
    predict=_predict_arc_value,
    measure=_measure_arc,
    # Lines have an eigenvalue of the square of the spacing, 1.4e-9, its cube couples to
    # them: a relative error of the spacing's order. Eigenvalues are proved to 1e-14.
    compare=AgreesTo(relative=2e-9),
    must_refute=always(
        math.sqrt(2.0) / (12.0 * math.pi),
        "sqrt(2)/(12 pi), whatever the number of points.",
    ),
    uses=("dc/tab1",),
)

TWO_POINTS = numeric(
    id="dc/thmH.1-two-points",
    title="Two points: the ReLU kernel's smallest eigenvalue is the dual's fall from one",
    statement=r"\lambda_{\min} = \hat\sigma(1) - \hat\sigma(1 - \delta)",
    assumptions=("n = 2",),
    source=ours("Theorem H.1 (of two points)"),
    cases=grid(delta=("1", "0.1", "1e-3", "1e-6", "1e-12", "1e-18")),
    predict=_predict_two_points,
    measure=partial(smallest_arc_eigenvalue, 2),
    # distance_map: relative accuracy 1e-13; the eigenvalue is proved to 1e-14.
    compare=AgreesTo(relative=1.1e-13),
    must_refute=_half_delta,
    uses=("dc/lemC.8", "dc/defC.1-distance"),
)

THM_H1 = statistical(
    id="dc/thmH.1",
    title="Enough random ReLU features have a non-singular Gram matrix",
    statement=r"\mathbb{E} \min_{W_1, \ldots, W_{10}} \lambda_{\min}(\Phi_W \Phi_W^T) \ge"
    r" \frac{5\, \delta^{3/2}}{n^4},"
    r" \quad m \ge \frac{n^2 \log(n / \delta)}{\sqrt{\delta}}",
    assumptions=(
        "the unspecified constants are taken to be 5, and 4,000 features at least",
        '"with high probability" is read as: of ten sets of features, the worst',
        "points on an arc; eigenvalues are told in units of delta^{3/2}/n^4",
    ),
    source=as_read("Theorem H.1"),
    cases=(
        {"n": 2, "delta": 1.0, "width": 4160, "draws": 600, "seed": 11},
        {"n": 2, "delta": 0.5, "width": 11_800, "draws": 600, "seed": 11},
        {"n": 3, "delta": 0.1, "width": 4278, "draws": 600, "seed": 11},
        {"n": 8, "delta": 0.01, "width": 4278, "draws": 600, "seed": 11},
        {"n": 4, "delta": 1e-4, "width": 16_960, "draws": 600, "seed": 11},
    ),
    predict=_predict_scaled_features,
    measure=_measure_scaled_features,
    # In units of delta^{3/2} / n^4; a tenth of the constant would be seen.
    compare=MeanAtLeast(discrepancy=0.5),
    must_refute=mistake(
        "The neighbouring power, n^3.", then=lambda least, *, n: least * n
    ),
    uses=("dc/lemH.3", "dc/thmH.1-values"),
    version=3,
    finding=(
        "Two orthogonal inputs have 8 - 8/pi = 5.45 in the limit of many features, so that"
        " no constant above that would do. For more inputs the"
        " proof loses a fourth power of n: on arcs lambda_min / delta^(3/2) tends to"
        " sqrt(2)/(12 pi) (dc/thmH.1-arc-law). See also dc/thmH.1-half-of-limit."
    ),
)

THM_H1_LIMIT = statistical(
    id="dc/thmH.1-half-of-limit",
    title="The random features of Theorem H.1 keep half of the limit's smallest eigenvalue",
    statement=r"\mathbb{E} \log \lambda_{\min}(\Phi_W \Phi_W^T) \ge"
    r" \log \left(\tfrac12 \lambda_{\min}(K)\right)",
    assumptions=("m >= n^2 log(n/delta) / sqrt(delta)", "points on an arc"),
    source=ours("Theorem H.1 (sharpened)"),
    cases=(
        {"n": 8, "delta": 0.01, "width": 4278, "draws": 60, "seed": 12},
        {"n": 4, "delta": 1e-4, "width": 16_960, "draws": 60, "seed": 12},
    ),
    predict=_predict_half_of_limit,
    measure=_measure_random_features,
    compare=MeanAtLeast(discrepancy=0.5),
    must_refute=_wrong_power,
    uses=("dc/thmH.1",),
)

LEM_H3 = statistical(
    id="dc/lemH.3",
    title="A random ReLU's kink is near one point and away from all others, often enough",
    statement=r"\Pr(E) \ge \frac{\sqrt{\delta}}{10 n}",
    assumptions=(
        "E: |g_1| <= theta, and |(g_1 x_i + w') . x_j| >= 2 theta for every other j",
        "theta = sqrt(delta)/(4n); w' orthogonal to x_i; g_1 of variance 1 - theta^2",
        "planar clusters at distance arccos(1 - delta)",
        "probabilities are told in units of sqrt(delta)/n",
    ),
    source=as_read("Lemma H.3"),
    cases=grid(n=(2, 5, 10, 20), delta=(0.01, 1e-4), draws=40_000, seed=5),
    predict=_predict_event,
    measure=_measure_event,
    # In units of sqrt(delta)/n. The window's density is flat to 1e-4 (see measure).
    # Discrepancy: a fifth of the bound 0.1; a dropped point j changes P(E) by 1 in n.
    compare=MeanAtLeast(discrepancy=0.02, rounding=2e-5),
    must_refute=_wrong_event,
    uses=("dc/eq27", "dc/thmH.1-values"),
)

THM_H5 = adversarial(
    id="dc/thmH.5",
    items=("ThmH.5", "E2"),
    title="Infinitely many non-zero Hermite coefficients make the one-layer kernel"
    " non-singular",
    statement=r"\lambda_{\min}(K) \ge \sum_{k \ge k_0} a_k^2"
    r" \left(1 - (n - 1)(1 - \delta)^k\right) > 0",
    assumptions=(
        "Assumption A, n inputs",
        "infinitely many a_k are not zero (of either parity)",
        "k_0: the least k with (n - 1) (1 - delta)^k < 1",
    ),
    source=ours("Theorem H.5 (with an explicit constant)"),
    # Two inputs: both sides are the dual's difference between 1 and the correlation.
    cases=grid(
        activation=("relu", "step", "exp", "erf", "sin"),
        n=(2, 4),
        dim=3,
        spread=(0.1, 1.0),
        seed=1,
    ),
    predict=_predict_tail,
    measure=_measure_smallest,
    # Coefficients to 1e-13 of the largest, squared and summed; the bound is below 1.
    compare=AtLeast(relative=1e-11),
    must_refute=mistake(
        "Powers of the Gram matrix that are the identity from the first on.", first=1
    ),
    uses=("dc/asmA", "dc/defC.1"),
    examples=searched(
        activation=st.sampled_from(_ACTIVATIONS),
        n=st.integers(2, 5),
        dim=st.integers(2, 4),
        spread=st.sampled_from((0.01, 0.1, 1.0, 10.0)),
        seed=SEEDS,
    ),
    max_examples=60,
    finding=(
        "ReLU has one non-zero odd coefficient and the error function no even one."
        " Both are covered, because Assumption A also excludes antipodal inputs, so"
        " that all high powers of the Gram matrix tend to the identity."
    ),
)

POLYNOMIAL = numeric(
    id="dc/thmH.5-polynomial",
    title="A polynomial activation has a singular kernel on enough points",
    statement=r"\sigma = h_1 + h_2,\ n = 7,\ x_i \in \mathbb{R}^2"
    r" \;\Rightarrow\; \lambda_{\min}(K) = 0",
    assumptions=("n exceeds the number of monomials, 2 + 3 = 5",),
    source=ours("Theorem H.5 (its hypothesis is needed)"),
    cases=grid(activation="quadratic", n=7, dim=2, spread=1.0, seed=(1, 2)),
    predict=always(0.0),
    measure=_measure_smallest,
    # 256 bits, 1e-77, of seven eigenvalues that add up to 14, a few dozen times.
    compare=AgreesTo(absolute=1e-74),
    must_refute=_by_float64,
    uses=("dc/thmH.5",),
)

E2_PRINTED = numeric(
    id="dc/E2-as-read",
    items=("E2", "ThmH.5"),
    title="ReLU satisfies the hypothesis of Theorem H.5 (as read)",
    statement=r"|\{k \text{ odd} : a_k \ne 0\}| ="
    r" |\{k \text{ even} : a_k \ne 0\}| = \infty",
    assumptions=("read on the orders up to 40",),
    source=as_read("Theorem H.5, described as generalising Theorem H.1"),
    cases=({"activation": "relu", "parity": "odd"},),
    predict=_predict_infinitely_many,
    measure=_measure_count,
    compare=Identical(),
    must_hold=_count_from_theory,
    uses=("dc/thmH.5",),
    expected=Outcome.REFUTED,
    finding=(
        "Theorem H.1 is about ReLU, which has a single non-zero odd coefficient and so"
        " does not meet the hypothesis of its generalisation. Infinitely many non-zero"
        " coefficients of any parity suffice: dc/thmH.5."
    ),
    version=2,
)
