"""Critical points: where the directions rest, and what that says (section 2)."""

import itertools
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from theory import square_loss as sl
from verify.claim import adversarial, grid, numeric
from verify.claims._predictors import always, drawn, mistake
from verify.claims._searches import SEEDS, searched
from verify.claims.square_loss._networks import (
    Array,
    Problem,
    aligned,
    gradients,
    interpolator,
    jacobians,
    least_squares,
    moves_of,
    outputs,
    problem,
    problems,
    projected,
    single_residuals,
    slopes_of,
    square_error,
    tensors,
    unit_rows,
    values,
)
from verify.claims.square_loss._sources import forced, ours, quoted
from verify.compare import AgreesTo, AtLeast, Identical

# --- the residual ---------------------------------------------------------------------


@drawn(problem)
def _measure_speed(p: Problem) -> list[float]:
    return [float(np.linalg.norm(move)) for move in moves_of(p)]


@drawn(problem)
def _predict_speed(p: Problem) -> Array:
    residual = sl.critical_residual(p.rho, p.directions, p.x, p.labels)
    return 2.0 * p.rho * np.asarray(residual)


@drawn(problem)
def _residual_itself(p: Problem) -> Array:
    """The residual itself, without the factor 2 rho."""
    return np.asarray(sl.critical_residual(p.rho, p.directions, p.x, p.labels))


EQ_6 = adversarial(
    id="sl/eq6",
    title="The speed of each layer's direction is 2 rho times its residual",
    statement=(
        r"\|\dot V_k\|=2\rho\,r_k,\qquad"
        r" r_k=\Bigl\|\sum_ne_n\bigl(\tfrac{\partial f_n}{\partial V_k}-V_kf_n\bigr)"
        r"\Bigr\|_F"
    ),
    source=ours("Equations 4 and 6; the residual is ours"),
    cases=grid(
        widths=([3, 1], [6, 5, 4, 1], [9, 16, 8, 8, 1]), examples=(1, 7), seed=0
    ),
    examples=problems,
    max_examples=40,
    predict=_predict_speed,
    measure=_measure_speed,
    # A layer of one weight has nowhere to go: the rounding of terms below 1e3 remains.
    compare=AgreesTo(relative=1e-12, absolute=1e-12, of_largest=True),
    must_refute=_residual_itself,
    uses=("sl/eq4",),
)


@drawn(problem)
def _measure_turning(p: Problem) -> Array:
    """Differentiate the outputs along the directions' own velocities."""
    layers = zip(jacobians(p.directions, p.x), moves_of(p), strict=True)
    return np.sum([np.tensordot(j, move, axes=2) for j, move in layers], axis=0)


@drawn(problem)
def _predict_turning(p: Problem) -> Array:
    errors = p.labels - p.rho * sl.outputs(p.directions, p.x)
    return 2.0 * p.rho * sl.projected_kernel(p.directions, p.x) @ errors


@drawn(problem)
def _tangent_kernel(p: Problem) -> Array:
    """The usual tangent kernel, of weights that leave their spheres."""
    f = sl.outputs(p.directions, p.x)
    errors = p.labels - p.rho * f
    along = len(p.directions) * (f @ errors) * f
    return 2.0 * p.rho * (sl.projected_kernel(p.directions, p.x) @ errors + along)


KERNEL = numeric(
    id="sl/eq4-kernel",
    title="Outputs evolve by the tangent kernel, projected onto the layers' spheres",
    statement=(
        r"\dot f=2\rho K(y-\rho f),\qquad K_{nm}="
        r"\textstyle\sum_k\langle(I-V_kV_k^T)\partial f_n,\partial f_m\rangle"
    ),
    source=ours("Equation 4; ours"),
    cases=grid(
        widths=([3, 1], [6, 5, 4, 1], [9, 16, 8, 8, 1]), examples=(1, 7), seed=0
    ),
    predict=_predict_turning,
    measure=_measure_turning,
    # Sums over pairs of seven examples, of products in four layers: a few 1e-15 of the
    # terms, which are below a hundred times the largest result.
    compare=AgreesTo(relative=1e-13, of_largest=True),
    must_refute=_tangent_kernel,
    uses=("sl/eq4",),
)


# --- what decay changes ---------------------------------------------------------------


def _rest(depth: int, weight_decay: float, seed: int) -> Problem:
    """Return a point where scale and directions rest, of aligned layers of rank one.

    Inputs and labels are positive, so that every unit is active; the first layer points
    along the regularised solution, by its normal equations.
    """
    rng = np.random.default_rng([47, seed])
    x = unit_rows(rng.uniform(0.1, 1.0, (3, 5)))
    y = np.ones(3)
    # (X^T X + lambda I)^-1 X^T y = X^T (X X^T + lambda I)^-1 y.
    solution = x.T @ np.linalg.solve(x @ x.T + weight_decay * np.eye(3), y)
    rho = float(np.linalg.norm(solution))
    vectors = [solution / rho]
    for _ in range(depth - 1):
        vector = rng.uniform(0.1, 1.0, 4)
        vectors.append(vector / np.linalg.norm(vector))
    vectors.append(np.ones(1))
    return Problem(tuple(aligned(vectors)), x, y, rho)


def _measure_scaled(*, depth: int, factor: float, **case: Any) -> list[float]:
    """Right side of (4), written out, with directions longer and the scale smaller."""
    p = _rest(depth, **case)
    directions = [factor * v for v in p.directions]
    rho = p.rho * factor**-depth
    f = values(directions, p.x)
    error = rho * f - p.labels
    slopes = jacobians(directions, p.x)
    return [
        float(
            np.linalg.norm(2.0 * rho * np.tensordot(error, v * f[:, None, None] - s, 1))
        )
        for v, s in zip(directions, slopes, strict=True)
    ]


def _predict_scaled(
    *, depth: int, weight_decay: float, factor: float, seed: int
) -> list[float]:
    p = _rest(depth, weight_decay, seed)
    rho = sl.rho_equilibrium(sl.outputs(p.directions, p.x), p.labels, weight_decay)
    return [2.0 * weight_decay * rho**2 * abs(factor - 1.0 / factor)] * depth


SINGULAR = numeric(
    id="sl/sing",
    title=(
        "Without decay, interpolators of any layer norms are at rest; with decay, of"
        " norm one alone"
    ),
    statement=(
        r"V_k\to cV_k,\;\rho\to c^{-L}\rho\text{ at rest}:\quad"
        r"\|\dot V_k\|=2\lambda\rho_{eq}^2\,|c-1/c|"
    ),
    source=ours("Section 2, on singular dynamics; the formula is ours"),
    cases=grid(
        depth=(1, 2, 3), weight_decay=(0.0, 0.4), factor=(0.5, 1.0, 3.0), seed=0
    ),
    predict=_predict_scaled,
    measure=_measure_scaled,
    # Sums of terms of size one, times rho c^L below about 100.
    compare=AgreesTo(relative=1e-13, absolute=1e-13),
    must_refute=mistake(
        "Layers at rest, whatever their norms.", then=lambda found: [0.0] * len(found)
    ),
    uses=("sl/eq4", "sl/eq5"),
)


@drawn(problem)
def _measure_error(p: Problem, weight_decay: float) -> float:
    """The errors' length at the least squares in rho, where decay is one more example."""
    f = values(p.directions, p.x)
    return float(
        np.linalg.norm(least_squares(f, p.labels, weight_decay) * f - p.labels)
    )


@drawn(problem)
def _predict_error(p: Problem, weight_decay: float, *, squared: bool = False) -> float:
    f = sl.outputs(p.directions, p.x)
    rho = sl.rho_equilibrium(f, p.labels, weight_decay)
    size = float(f @ f if squared else np.linalg.norm(f))
    # A network whose units are all off at every input has no outputs, and no floor.
    return weight_decay * abs(rho) / size if size else 0.0


ERROR = adversarial(
    id="sl/sing-error",
    title="With decay, the error at rest is bounded away from zero",
    statement=(
        r"\sum_ne_nf_n=-\lambda\rho_{eq}\;\Rightarrow\;\|e\|\ge\lambda\rho_{eq}/\|f\|"
    ),
    source=ours("Equations 5 and 6; ours"),
    cases=grid(
        widths=([3, 1], [6, 5, 4, 1]),
        examples=(1, 7),
        seed=(0, 1),
        weight_decay=(0.01, 1.0),
    ),
    examples=lambda: problems().flatmap(
        lambda case: st.fixed_dictionaries(
            {
                **{name: st.just(value) for name, value in case.items()},
                "weight_decay": st.floats(1e-3, 10.0),
            }
        )
    ),
    max_examples=40,
    predict=_predict_error,
    measure=_measure_error,
    # Equality for one example: a few products.
    compare=AtLeast(rounding=1e-13),
    must_refute=mistake(
        "The error over the squared norm of the outputs, below one.", squared=True
    ),
    uses=("sl/eq5",),
)


# --- the condition on single examples -------------------------------------------------


@drawn(interpolator)
def _measure_single(p: Problem) -> Array:
    """Return ||df_j/dV_k - V_k f_j|| / |f_j|, (layers, examples)."""
    return single_residuals(p.directions, p.x)


@drawn(interpolator)
def _predict_single(p: Problem) -> Array:
    """The residual of each single example."""
    return np.asarray(sl.per_sample_residual(p.directions, p.x))


_WIDE = grid(widths=([12, 1], [5, 16, 1], [5, 16, 16, 1]), examples=4, seed=(0, 1))

PER_SAMPLE = numeric(
    id="sl/persample",
    title="How far each example's gradients are from parallel to the layers",
    statement=(
        r"D_{j,k}=\|\partial f_j/\partial V_k-V_kf_j\|_F/|f_j|"
        r"=\sqrt{\|\partial f_j/\partial V_k\|_F^2/f_j^2-1}"
    ),
    source=ours("Section 2.1; the formula is ours"),
    cases=_WIDE,
    predict=_predict_single,
    measure=_measure_single,
    # The solved layer carries the condition of its equations, below 1e3.
    compare=AgreesTo(relative=2e-13),
    must_refute=mistake("None left for any example.", then=np.zeros_like),
    uses=("sl/eq6", "sl/hom"),
)


@drawn(interpolator)
def _measure_footnote(p: Problem) -> list[bool]:
    """Whether the directions rest, and whether the bracket of the footnote is zero."""
    speed = max(float(np.abs(s).max()) for s in slopes_of(p))
    gaps = single_residuals(p.directions, p.x)
    # Errors of a solved layer are below 1e-12; gaps are of order one.
    return [speed < 1e-9, bool(gaps.max() < 1e-9)]


ERR_12 = numeric(
    id="sl/err12",
    items=("Err12", "Sing"),
    title="At zero loss directions rest, whether or not gradients are parallel to them",
    statement=(
        r"\lambda=0,\;e=0:\quad\dot V_k=0\text{ even when }"
        r"V_kf_n-\partial f_n/\partial V_k\ne 0"
    ),
    source=forced("Footnote 3, with the missing inequality restored"),
    cases=_WIDE,
    predict=always([True, False]),
    measure=_measure_footnote,
    compare=Identical(),
    must_refute=always(
        [True, True], "A bracket that vanishes wherever the directions rest."
    ),
    uses=("sl/eq4", "sl/persample"),
    finding="The printed sentence ends before it says what the bracket equals.",
)


def _classes(case: dict[str, Any]) -> tuple[Array, Array]:
    """Residual of the last layer, and outputs, of an example."""
    if case["sharp"]:  # V_L = (a, -b), and hidden layers along a and along b
        share = case["share"]
        first, second = np.eye(2), np.array([[np.sqrt(share), -np.sqrt(1.0 - share)]])
        directions, x = (first / np.sqrt(2.0), second), np.eye(2)
    else:
        p = _mixed(case["widths"], case["seed"])
        directions, x = p.directions, p.x
    f = values(directions, x)
    slopes = jacobians(directions, x)[-1]
    slopes, f = slopes[f != 0.0], f[f != 0.0]
    gaps = np.linalg.norm(slopes - directions[-1] * f[:, None, None], axis=(1, 2))
    return gaps / np.abs(f), f


def _mixed(widths: Sequence[int], seed: int) -> Problem:
    """Draw networks until one has outputs of both signs."""
    for draw in itertools.count():
        p = problem(widths, 12, seed + 100_000 * draw)
        f = values(p.directions, p.x)
        if f.min() < 0.0 < f.max():
            return p
    raise AssertionError


def _measure_classes(**case: Any) -> float:
    """Smallest product of residuals over pairs of outputs of different signs."""
    residual, f = _classes(case)
    return float(residual[f > 0.0].min() * residual[f < 0.0].min())


ERR_3_CORRECTED = adversarial(
    id="sl/err3-corrected",
    title=("Of two classes, at least one has gradients not parallel to the layers"),
    statement=r"f_i>0>f_j\;\Rightarrow\;D_{i,L}\,D_{j,L}\ge 1\text{ in any ReLU network}",
    source=ours("Lemma 1; ours"),
    cases=(
        *grid(sharp=True, share=(0.5, 0.1)),
        *grid(sharp=False, widths=([5, 16, 1], [5, 8, 8, 1]), seed=(0, 1)),
    ),
    examples=searched(
        sharp=st.just(value=False),
        widths=st.lists(st.integers(2, 8), min_size=2, max_size=4).map(
            lambda hidden: [*hidden, 1]
        ),
        seed=SEEDS,
    ),
    max_examples=25,
    predict=always(1.0),
    measure=_measure_classes,
    compare=AtLeast(rounding=1e-12),
    must_refute=always(2.0, "A factor of root two for each class."),
    assumptions=("at least two layers",),
    uses=("sl/persample",),
    finding=(
        "Split V_L = a - b into its positive and negative parts. Hidden units are not"
        " negative, so |f_i| <= |a||h_i| and D_i >= |b|/|a|, D_j >= |a|/|b|. If the"
        " condition came close to holding for one class, it would fail without bound"
        " for the other."
    ),
)


# --- existence ------------------------------------------------------------------------


def _measure_lowest(*, widths: list[int], rho: float, starts: int) -> Array:
    """What the gradient at the lowest point that descent finds has, over 2 rho.

    Along the spheres and in all of space, the most of any layer.
    """
    end = _lowest(tuple(widths), rho, starts)
    return np.array([end.along, end.whole])


def _at_rest(*, widths: list[int], rho: float, starts: int) -> Array:
    """Nothing along the spheres; across them sum_n (rho f_n - y_n) f_n, in every layer."""
    p, end = problem(widths, _EXAMPLES, 5), _lowest(tuple(widths), rho, starts)
    multiplier = sl.lagrange_multiplier(rho, sl.outputs(end.directions, p.x), p.labels)
    return np.array([0.0, abs(multiplier) / rho])


_EXAMPLES = 4


@cache
def _lowest(widths: tuple[int, ...], rho: float, starts: int) -> "_Point":
    """Of the ends of least loss, the one that is nearest to rest."""
    ends = [_descended(widths, rho, seed) for seed in range(starts)]
    least = min(end.loss for end in ends)
    lowest = [end for end in ends if end.loss <= least * (1.0 + 1e-9)]
    return min(lowest, key=lambda end: end.along)


class _Point(NamedTuple):
    """Directions: their loss, the gradient's lengths over 2 rho, and its projections."""

    directions: list[Array]
    loss: float
    along: float
    whole: float
    moves: list[Array]


def _point(directions: Sequence[Array], p: Problem, rho: float) -> _Point:
    leaves = tensors(directions)
    loss = square_error(rho, outputs(leaves, p.x), p.labels)
    slopes = gradients(loss, leaves)
    moves = [projected(v, s) for v, s in zip(directions, slopes, strict=True)]
    along, whole = (
        max(float(np.linalg.norm(m)) for m in each) / (2.0 * rho)
        for each in (moves, slopes)
    )
    return _Point(list(directions), float(loss.detach()), along, whole, moves)


def _descended(widths: Sequence[int], rho: float, seed: int) -> _Point:
    """Projected descent with a step that halves when the loss would rise."""
    p, rate = problem(widths, _EXAMPLES, 5), 0.5
    here = _point(problem(widths, _EXAMPLES, seed + 100).directions, p, rho)
    for _ in range(2000):
        if here.along < 1e-8 or rate < 1e-12:
            break
        pairs = zip(here.directions, here.moves, strict=True)
        tried = [v - rate * m for v, m in pairs]
        tried = [v / np.linalg.norm(v) for v in tried]
        there = _point(tried, p, rho)
        if there.loss < here.loss:
            here, rate = there, 1.2 * rate
        else:
            rate *= 0.5
    return here


EXISTS = numeric(
    id="sl/exist",
    title="At a fixed scale some directions are at rest, if the least loss is at no kink",
    statement=(
        r"\min_{\|V_k\|=1}\textstyle\sum_n(\rho f_n-y_n)^2\text{ is attained, with }r_k=0"
    ),
    source=quoted("Section 2, critical points"),
    cases=(
        *grid(widths=([3, 1], [3, 6, 4, 1]), rho=(0.7, 3.0), starts=6),
        *grid(widths=([3, 8, 8, 1],), rho=1.5, starts=6),
    ),
    predict=_at_rest,
    measure=_measure_lowest,
    # Where the length along the spheres may end.
    compare=AgreesTo(absolute=1e-8),
    must_refute=always(
        np.zeros(2), "At a minimum without the constraint no gradient is left."
    ),
    assumptions=("the minimum is not at a kink",),
    version=2,
    uses=("sl/eq6",),
    finding=(
        "Across the spheres a gradient of sum_n (rho f_n - y_n) f_n is left, over 2 rho."
        " A minimum always exists, but it may be at a kink, where (6) is undefined: two"
        " layers, of six hidden units, at scale 0.7 end at a kink from 20 of 20 starts,"
        " with r_k from 1e-4 to 0.7. At scale 3 the lowest of 18 ends does, too, with r_k"
        " = 0.13; at rest are only those that are silent on examples."
    ),
)
