"""Normalised networks: homogeneity, gradients, the terms of the loss (sections 1 and 2)."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
import numpy as np
import torch

from theory import square_loss as sl
from verify.claim import adversarial, grid, numeric
from verify.claims._predictors import always, changed, drawn, mistake, times
from verify.claims.square_loss._networks import (
    Array,
    Problem,
    aligned,
    flat,
    gradients,
    jacobians,
    least_squares,
    moves_of,
    outputs,
    problem,
    problems,
    slopes_of,
    square_error,
    tensors,
    values,
)
from verify.claims.square_loss._sources import ours, quoted
from verify.compare import AgreesTo, AtMost, Identical, Outcome

CASES = grid(
    widths=([3, 1], [2, 3, 1], [6, 5, 4, 1], [9, 16, 8, 8, 1]), examples=(1, 7), seed=0
)
"""One to four layers, on one example and on several."""

_for_all_networks = partial(
    adversarial, cases=CASES, examples=problems, max_examples=40
)

# Sums of up to 16 products a layer, four layers: 64 roundings at most, of which 1e-15
# is left on the mean. The largest output may be a hundredth of the terms in its sum.
_ROUNDING = AgreesTo(relative=1e-13, of_largest=True)


# --- homogeneity and the factorisation ------------------------------------------------


@drawn(problem)
def _measure_homogeneity(p: Problem) -> Array:
    slopes = jacobians(p.directions, p.x)
    return np.array(
        [np.tensordot(s, v, axes=2) for s, v in zip(slopes, p.directions, strict=True)]
    )


@drawn(problem)
def _predict_homogeneity(p: Problem) -> Array:
    return np.tile(sl.outputs(p.directions, p.x), (len(p.directions), 1))


HOMOGENEITY = _for_all_networks(
    id="sl/hom",
    title="A ReLU network is homogeneous of degree one in each of its layers",
    statement=(r"\langle V_k,\partial f_n/\partial V_k\rangle=f_n\text{ for every }k"),
    source=ours("Section 1.1; the formula is ours"),
    predict=_predict_homogeneity,
    measure=_measure_homogeneity,
    compare=_ROUNDING,
    must_refute=mistake(
        "The degree of the whole network, its number of layers.",
        then=lambda found, *, widths: (len(widths) - 1) * found,
    ),
    assumptions=("no pre-activation is zero",),
)


def _scaled(
    widths: Sequence[int], examples: int, seed: int
) -> tuple[Problem, Array, list[Array]]:
    """Return a problem, norms of layers, and the weights that have them."""
    p = problem(widths, examples, seed)
    rng = np.random.default_rng([41, seed])
    rho = np.exp(2.0 * rng.standard_normal(len(widths) - 1))
    return p, rho, [r * v for r, v in zip(rho, p.directions, strict=True)]


@drawn(_scaled)
def _measure_whole(p: Problem, _rho: Array, weights: list[Array]) -> Array:
    return values(weights, p.x)


@drawn(_scaled)
def _predict_whole(p: Problem, _rho: Array, weights: list[Array]) -> Array:
    rho, directions = sl.normalise(weights)
    return np.prod(rho) * sl.outputs(directions, p.x)


@drawn(_scaled)
def _smooth_activation(p: Problem, rho: Array, _weights: list[Array]) -> Array:
    """A network of another activation, which is not homogeneous."""
    return np.prod(rho) * values(p.directions, p.x, torch.tanh)


FACTORISATION = _for_all_networks(
    id="sl/factor",
    title="The norms of the layers factor out of a ReLU network",
    statement=r"g(W;x)=\rho f(x),\qquad \rho=\textstyle\prod_k\|W_k\|_F",
    source=quoted("Section 1.1"),
    predict=_predict_whole,
    measure=_measure_whole,
    compare=_ROUNDING,
    must_refute=_smooth_activation,
    uses=("sl/hom",),
)


def _aligned(widths: Sequence[int], seed: int) -> tuple[list[Array], Array]:
    """Rank-one directions, each fed by the one before, and their first vector."""
    rng = np.random.default_rng([42, seed])
    vectors = [np.abs(rng.standard_normal(n)) for n in widths]
    vectors = [v / np.linalg.norm(v) for v in vectors]
    return aligned(vectors), vectors[0]


def _subject(
    widths: Sequence[int],
    examples: int,
    seed: int,
    aligned: bool = False,  # noqa: FBT001, FBT002 (in the order of cases)
) -> tuple[Sequence[Array], Array]:
    if aligned:
        directions, x = _aligned(widths, seed)
        return directions, np.tile(x, (examples, 1)) * np.arange(1.0, 1.0 + examples)[
            :, None
        ]
    p = problem(widths, examples, seed)
    return p.directions, p.x


@drawn(_subject)
def _measure_size(directions: Sequence[Array], x: Array) -> Array:
    return np.abs(values(directions, x))


@drawn(_subject)
def _predict_size(directions: Sequence[Array], x: Array) -> Array:
    bound = sl.output_bound(directions, x)
    # A bound above the inputs would say less than the lengths of the layers do.
    return np.minimum(bound, np.linalg.norm(x, axis=-1))


def _predict_spectral(*, widths: list[int], seed: int, scale: float) -> Array:
    p, ends = problem(widths, 3, seed), scale ** (2.0 - len(widths))
    return sl.output_bound([scale * v for v in p.directions], ends * p.x)


def _measure_spectral(*, widths: list[int], seed: int, scale: float) -> list[Any]:
    """Largest singular values from Gram matrices, to 40 digits."""
    p = problem(widths, 3, seed)
    with mpmath.workdps(40):
        grams = [m * m.T for m in map(mpmath.matrix, p.directions)]
        squares = (max(mpmath.eigsy(gram, eigvals_only=True)) for gram in grams)
        size = mpmath.mpf(scale) * mpmath.sqrt(mpmath.fprod(squares))
        return [size * mpmath.norm(list(map(mpmath.mpf, row))) for row in p.x]


def _by_frobenius(*, widths: list[int], seed: int, scale: float) -> Array:
    """Frobenius norms, all one, in the place of spectral ones."""
    return np.full(3, scale)


BOUND_VALUES = numeric(
    id="sl/bound-values",
    items=("Bound",),
    title="The bound on outputs as a number, for layers whose products leave float64",
    statement=r"\textstyle\prod_k\|W_k\|_2\,\|x\|",
    source=ours("Section 1.1; ours"),
    cases=grid(
        widths=([3, 1], [4, 5, 1], [3, 6, 4, 1]), seed=1, scale=(1.0, 1e120, 1e-120)
    ),
    predict=_predict_spectral,
    measure=_measure_spectral,
    # A singular value of each of three layers, to ten eps, and powers of ten.
    compare=AgreesTo(relative=1e-14),
    must_refute=_by_frobenius,
    uses=("sl/bound",),
)


BOUND = adversarial(
    id="sl/bound",
    title="The output of a normalised network is at most the norm of its input",
    statement=r"|f(x)|\le\textstyle\prod_k\|V_k\|_2\,\|x\|\le\|x\|",
    source=ours("Section 1.1; ours"),
    cases=(
        *grid(widths=([3, 1], [6, 5, 4, 1]), examples=7, seed=0),
        *grid(
            widths=([3, 1], [2, 3, 1], [6, 5, 4, 1], [9, 16, 8, 8, 1]),
            examples=2,
            seed=0,
            aligned=True,
        ),
    ),
    examples=problems,
    max_examples=40,
    predict=_predict_size,
    measure=_measure_size,
    compare=AtMost(rounding=1e-13),
    must_refute=mistake(
        "ReLUs that take half of the squared length, as random ones do.",
        then=lambda size, *, widths: size * 2.0 ** (1.0 - 0.5 * len(widths)),
    ),
    finding=(
        "Equality holds for aligned layers of rank one, V_k = v_k v_{k-1}^T with"
        " non-negative entries; hence interpolation needs rho >= 1/min|f_n| >= 1."
    ),
)


# --- formula (9) ----------------------------------------------------------------------


@drawn(problem)
def _measure_slopes(p: Problem, *, linear: bool = False) -> Array:
    """Outputs and gradients by automatic differentiation."""
    activation = (lambda z: z) if linear else torch.relu
    f = values(p.directions, p.x, activation)
    return flat([f, *jacobians(p.directions, p.x, activation)])


@drawn(problem)
def _predict_slopes(p: Problem, *, linear: bool = False) -> Array:
    f = sl.outputs(p.directions, p.x, linear=linear)
    return flat([f, *sl.layer_gradients(p.directions, p.x, linear=linear)])


EQ_9 = _for_all_networks(
    id="sl/eq9",
    items=("Eq9", "Lemma1", "MinNorm"),
    title="The gradient of each layer is an outer product of the two halves of the network",
    statement=(
        r"\partial f/\partial V_k=[V_LD_{L-1}V_{L-1}\cdots V_{k+1}D_k]^T"
        r"[D_{k-1}V_{k-1}\cdots D_1V_1x]^T"
    ),
    source=ours("Equation 9, the transpose restored"),
    cases=(
        *CASES,
        # Without ReLU, D = I.
        *grid(
            widths=([3, 1], [2, 5, 1], [6, 4, 7, 1], [3, 3, 2, 4, 1]),
            examples=5,
            seed=(0, 1),
            linear=True,
        ),
    ),
    predict=_predict_slopes,
    measure=_measure_slopes,
    compare=_ROUNDING,
    must_refute=changed(
        lambda linear=False, **case: _predict_slopes(**case, linear=not linear),
        "Every unit on in a network of ReLUs, and ReLUs in a linear one.",
    ),
    assumptions=("no pre-activation is zero",),
)


def _measure_product(*, after: int, before: int) -> bool:
    """Whether the transpose of a row (1, n_k) can be multiplied by a column."""
    try:
        np.matmul(np.ones((1, after)).T, np.ones((before, 1)))
    except ValueError:
        return False
    return True


def _only_a_single_unit(*, after: int, before: int) -> bool:
    """Brackets that match for a single unit only."""
    return before == 1


ERR_4 = numeric(
    id="sl/err4",
    title="The two factors of Equation 9 have matching shapes as printed",
    statement=(r"[V_L\cdots D_k]^T\,[D_{k-1}V_{k-1}\cdots D_1V_1x]\text{ is defined}"),
    source=quoted("Equation 9, as printed"),
    cases=grid(after=(1, 3), before=(1, 2, 4)),
    predict=always(value=True),
    measure=_measure_product,
    compare=Identical(),
    must_hold=_only_a_single_unit,
    expected=Outcome.REFUTED,
    uses=("sl/eq9",),
    finding="The second factor lacks a transpose; sl/eq9 restores it.",
)


# --- the loss and its multiplier ------------------------------------------------------


@drawn(problem)
def _measure_multiplier(p: Problem) -> Array:
    """For each layer, the multiplier that keeps its length."""
    slopes = slopes_of(p)
    return np.array(
        [-0.5 * np.vdot(v, s) for v, s in zip(p.directions, slopes, strict=True)]
    )


@drawn(problem)
def _predict_multiplier(p: Problem) -> Array:
    f = sl.outputs(p.directions, p.x)
    return np.full(len(p.directions), sl.lagrange_multiplier(p.rho, f, p.labels))


@drawn(problem)
def _without_the_scale(p: Problem) -> Array:
    """The gradient by directions without its factor rho."""
    f = sl.outputs(p.directions, p.x)
    multiplier = sl.lagrange_multiplier(p.rho, f, p.labels)
    return np.full(len(p.directions), multiplier / p.rho)


NU = _for_all_networks(
    id="sl/eq1",
    items=("Eq1", "nu"),
    title="One Lagrange multiplier keeps all layers at unit norm",
    statement=(
        r"\nu=-\rho\textstyle\sum_n(\rho f_n-y_n)f_n"
        r"=-\sum_n(\rho^2f_n^2-\rho y_nf_n)\text{ for every layer}"
    ),
    source=quoted("Equation 1"),
    predict=_predict_multiplier,
    measure=_measure_multiplier,
    # Where the sum cancels, its terms set the rounding: rho^2 S and rho B below 1e3.
    compare=AgreesTo(relative=1e-12, absolute=1e-12, of_largest=True),
    must_refute=_without_the_scale,
    uses=("sl/hom",),
)


@drawn(problem)
def _measure_multiplier_at_rest(p: Problem, weight_decay: float) -> float:
    """The multiplier at the least squares in rho."""
    rho = least_squares(values(p.directions, p.x), p.labels, weight_decay)
    slope, *_ = slopes_of(replace(p, rho=rho))
    return float(-0.5 * np.vdot(p.directions[0], slope))


@drawn(problem)
def _predict_multiplier_at_rest(
    p: Problem, weight_decay: float, power: int = 2
) -> float:
    f = sl.outputs(p.directions, p.x)
    return weight_decay * sl.rho_equilibrium(f, p.labels, weight_decay) ** power


NU_AT_REST = numeric(
    id="sl/nu-equilibrium",
    title="At the equilibrium of the scale, the Lagrange multiplier is not negative",
    statement=r"\rho=\rho_{eq}\;\Rightarrow\;\nu=\lambda\rho_{eq}^2\ge 0",
    source=ours("Equations 1 and 5; ours"),
    cases=grid(
        widths=([3, 1], [6, 5, 4, 1]),
        examples=(1, 7),
        seed=(0, 1),
        weight_decay=(0.0, 0.1, 3.0),
    ),
    predict=_predict_multiplier_at_rest,
    measure=_measure_multiplier_at_rest,
    # The multiplier is a difference of sums below ten.
    compare=AgreesTo(relative=1e-12, absolute=1e-14),
    must_refute=mistake("The scale rho in the place of its square.", power=1),
    uses=("sl/eq1", "sl/eq5"),
)


@drawn(problem)
def _measure_slope_of_scale(p: Problem, weight_decay: float) -> float:
    leaves = tensors(p.directions)
    rho = torch.tensor(p.rho, dtype=torch.float64, requires_grad=True)
    f = outputs(leaves, p.x)
    multiplier = -(rho * (rho * f - torch.from_numpy(p.labels)) * f).sum().detach()
    lengths = torch.stack([v.square().sum() for v in leaves]).sum()
    error = square_error(rho, f, p.labels)
    loss = error + multiplier * lengths + weight_decay * rho.square()
    (slope,) = gradients(loss, (rho,))
    return -float(slope)


@drawn(problem)
def _predict_slope_of_scale(p: Problem, weight_decay: float) -> float:
    f = sl.outputs(p.directions, p.x)
    return sl.rho_velocity(p.rho, f, p.labels, weight_decay)


EQ_3 = numeric(
    id="sl/eq3",
    items=("Eq2", "Eq3"),
    title="The scale rho follows the gradient of the loss with weight decay",
    statement=(
        r"\dot\rho=-2[\rho\textstyle\sum f_n^2-\sum y_nf_n]-2\lambda\rho"
        r"=-\partial L/\partial\rho"
    ),
    source=quoted("Equations 2 and 3"),
    cases=grid(
        widths=([3, 1], [6, 5, 4, 1], [9, 16, 8, 8, 1]),
        examples=(1, 7),
        seed=(0, 1),
        weight_decay=(0.0, 0.5),
    ),
    predict=_predict_slope_of_scale,
    measure=_measure_slope_of_scale,
    compare=AgreesTo(relative=1e-13, absolute=1e-13),
    must_refute=mistake(
        "Half of the penalty, the convention of optimisers.", weight_decay=times(0.5)
    ),
)


def _extreme(
    outputs: Sequence[float] = (), examples: int = 0, seed: int = 0
) -> tuple[Array, Array]:
    """Return outputs as given, or of margins of which two large ones cancel; labels."""
    if outputs:
        return np.array(outputs), np.array([1.0, -1.0])
    rng = np.random.default_rng([31, examples, seed])
    margins = rng.uniform(1e-14, 1e-12, examples)
    margins[0], margins[-1] = 0.7, -0.7
    labels = rng.choice([-1.0, 1.0], examples)
    return labels * margins, labels


@drawn(_extreme)
def _predict_extremes(
    f: Array, labels: Array, rho: float, weight_decay: float
) -> list[float]:
    return [
        sl.rho_velocity(rho, f, labels, weight_decay),
        sl.equilibrium_distance(rho, f, labels, weight_decay),
        sl.lagrange_multiplier(rho, f, labels),
        sl.off_sphere_rate(rho, f, labels),
        # Of one network at several decays.
        sl.rho_equilibrium(f, labels, [0.0, weight_decay])[1],
    ]


def _in_numbers(f: Any, labels: Any, rho: Any, penalty: Any) -> list[Any]:
    square = sum(v * v for v in f)
    margin = sum(y * v for y, v in zip(labels, f, strict=True))
    whole, along = square + penalty, rho * (margin - rho * square)
    rest = margin / whole
    return [2 * (margin - rho * whole), abs(rho - rest), along, -4 * along, rest]


@drawn(_extreme)
def _measure_extremes(
    f: Array, labels: Array, rho: float, weight_decay: float
) -> list[Any]:
    """Sums of fractions, as numbers of forty digits."""
    each, signs = ([Fraction(v) for v in a.tolist()] for a in (f, labels))
    found = _in_numbers(each, signs, Fraction(rho), Fraction(weight_decay))
    with mpmath.workdps(40):
        return [mpmath.mpf(v.numerator) / v.denominator for v in found]


@drawn(_extreme)
def _in_float64(f: Array, labels: Array, rho: float, weight_decay: float) -> Array:
    """The formulas in float64, which lose digits where margins cancel, or overflow."""
    with np.errstate(all="ignore"):
        return np.nan_to_num(_in_numbers(f, labels, np.float64(rho), weight_decay))


EXTREMES = numeric(
    id="sl/eq3-extremes",
    items=("Eq1", "Eq3", "Eq5"),
    title="The norm's velocity and rest keep their digits where outputs are extreme",
    statement=(
        r"\dot\rho=-2[\rho\textstyle\sum f_n^2-\sum y_nf_n]-2\lambda\rho,"
        r"\quad\nu=-\rho\sum(\rho f_n-y_n)f_n,\quad"
        r"\rho_{eq}=\frac{\sum y_nf_n}{\lambda+\sum f_n^2}"
    ),
    source=ours("Equations 1, 3 and 5; digits are ours"),
    cases=(
        {"rho": 1e300, "outputs": [3e-150, -1e-150], "weight_decay": 2e-300},
        {"rho": 3e290, "outputs": [3e-291, -1e-291], "weight_decay": 0.0},
        {"rho": 2e-300, "outputs": [1e150, -3e149], "weight_decay": 1e290},
        {"rho": 0.7, "outputs": [0.6, 0.3], "weight_decay": 0.25},
        *grid(
            rho=0.7,
            examples=(3, 4, 5, 7, 8, 11, 26),
            weight_decay=(0.0, 0.3),
            seed=(1, 2),
        ),
    ),
    predict=_predict_extremes,
    measure=_measure_extremes,
    # At most 4 eps.
    compare=AgreesTo(relative=9e-16),
    must_refute=_in_float64,
    uses=("sl/eq3", "sl/eq5"),
)


@drawn(problem)
def _measure_directions(p: Problem) -> Array:
    return flat(moves_of(p))


@drawn(problem)
def _predict_directions(p: Problem) -> Array:
    # The second of three networks that are given together.
    together = [np.stack([-v, v, 2.0 * v]) for v in p.directions]
    moved = sl.directions_velocity(p.rho, together, p.x, p.labels)
    return flat([v[1] for v in moved])


@drawn(problem)
def _not_projected(p: Problem) -> Array:
    """The gradient that is not projected onto the spheres."""
    return -flat(slopes_of(p))


EQ_4 = _for_all_networks(
    id="sl/eq4",
    title="The layers' directions follow the gradient projected onto their spheres",
    statement=(
        r"\dot V_k=2\rho\textstyle\sum_n(\rho f_n-y_n)(V_kf_n-\partial f_n/\partial V_k)"
        r"=-(I-V_kV_k^T)\,\partial L/\partial V_k"
    ),
    source=quoted("Equation 4"),
    predict=_predict_directions,
    measure=_measure_directions,
    # A scalar layer has nowhere to go: both sides are the rounding of terms below 1e3.
    compare=AgreesTo(relative=1e-12, absolute=1e-12, of_largest=True),
    must_refute=_not_projected,
    uses=("sl/eq1",),
)


@drawn(problem)
def _measure_fall(p: Problem, weight_decay: float) -> float:
    """Slope of the loss along the flow, by the chain rule on raw gradients."""
    leaves = tensors(p.directions)
    rho = torch.tensor(p.rho, dtype=torch.float64, requires_grad=True)
    loss = square_error(rho, outputs(leaves, p.x), p.labels)
    loss = loss + weight_decay * rho.square()
    slope, *slopes = gradients(loss, (rho, *leaves))
    along = sum(np.vdot(s, m) for s, m in zip(slopes, moves_of(p), strict=True))
    return float(along - slope**2)


@drawn(problem)
def _predict_fall(p: Problem, weight_decay: float) -> float:
    f = sl.outputs(p.directions, p.x)
    speed = sl.rho_velocity(p.rho, f, p.labels, weight_decay)
    moves = sl.directions_velocity(p.rho, p.directions, p.x, p.labels)
    return -(speed**2) - sum(float(np.vdot(m, m)) for m in moves)


@drawn(problem)
def _only_the_scale(p: Problem, weight_decay: float) -> float:
    """The squared speed of the scale alone."""
    f = sl.outputs(p.directions, p.x)
    return -(sl.rho_velocity(p.rho, f, p.labels, weight_decay) ** 2)


ENERGY = numeric(
    id="sl/energy",
    title="Along the gradient flow the loss falls at the squared speed",
    statement=r"dL/dt=-\dot\rho^2-\textstyle\sum_k\|\dot V_k\|_F^2\le 0",
    source=ours("Equations 3 and 4; ours"),
    cases=EQ_3.cases,
    predict=_predict_fall,
    measure=_measure_fall,
    # Sums of up to 16 products a layer, squared: some 1e-15 of their terms.
    compare=AgreesTo(relative=1e-13, absolute=1e-13),
    must_refute=_only_the_scale,
    uses=("sl/eq3", "sl/eq4"),
)
