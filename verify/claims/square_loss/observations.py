"""Monotone scales, margins, minimum norms (section 2): proved parts, counterexamples."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import flint
import mpmath
import numpy as np
import torch

from theory import square_loss as sl
from verify.claim import grid, numeric
from verify.claims._predictors import always, drawn, mistake
from verify.claims.square_loss._flows import followed
from verify.claims.square_loss._networks import (
    Array,
    Problem,
    flat,
    gradients,
    held,
    interpolator,
    jacobians,
    largest_margin,
    moves_of,
    outputs,
    problem,
    projected,
    tensors,
    unit_rows,
    values,
)
from verify.claims.square_loss._sources import as_read, ours, quoted
from verify.compare import AgreesTo, AtLeast, AtMost, Identical, Outcome


@lru_cache(maxsize=16)
def _path(
    widths: tuple[int, ...], examples: int, seed: int, weight_decay: float
) -> dict[str, Array]:
    """Return scale, outputs and the moving equilibrium, by time."""
    p = _start(widths, examples, seed, rho=0.01)
    states = followed(p, weight_decay, list(_TIMES), tolerance=1e-9)
    rho = np.array([float(scale[0]) for scale, *_ in states])
    f = np.array([values(v, p.x) for _, *v in states])
    push = weight_decay + np.sum(f**2, axis=1)
    return {"rho": rho, "f": f, "push": push, "equilibrium": f @ p.labels / push}


# --- Observation 1 --------------------------------------------------------------------


def _start(widths: Sequence[int], examples: int, seed: int, rho: float) -> Problem:
    """Draw a problem of separable labels with average separability at the start."""
    for draw in itertools.count():
        p = problem(widths, examples, seed + 1000 * draw)
        f = values(p.directions, p.x)
        labels = np.where(p.x[:, 0] >= 0.0, 1.0, -1.0)
        if labels @ f > 0.0:
            return Problem(p.directions, p.x, labels, rho)
    raise AssertionError


_TIMES = np.linspace(0.0, 4.0, 401)


def _measure_rising(*, widths: list[int], **case: Any) -> float:
    """Least rise in 0.01 of time until the scale meets its directions' equilibrium."""
    path = _path(tuple(widths), **case)
    met = np.flatnonzero(path["rho"] >= path["equilibrium"])
    end = met[0] if len(met) else len(_TIMES)
    return float(np.diff(path["rho"][:end]).min())


def _never_slower(*, weight_decay: float, **case: Any) -> float:
    """A scale that keeps its first speed until it meets the equilibrium."""
    p = _start(**case, rho=0.01)
    f = sl.outputs(p.directions, p.x)
    return _TIMES[1] * sl.rho_velocity(p.rho, f, p.labels, weight_decay)


_FLOWS = (
    *grid(widths=([3, 1],), examples=(1, 6), seed=0, weight_decay=(0.0, 0.2)),
    *grid(widths=([3, 8, 1],), examples=6, seed=(2, 20), weight_decay=0.0),
    *grid(widths=([3, 8, 6, 1],), examples=1, seed=(0, 1), weight_decay=0.2),
)
"""Flows that do not come to slide along a kink before time four."""

_MEETING = (
    *grid(widths=([3, 1],), examples=1, seed=0, weight_decay=0.2),
    *grid(widths=([3, 1],), examples=(1, 3), seed=1, weight_decay=0.2),
    *grid(widths=([3, 1],), examples=2, seed=6, weight_decay=0.0),
    *grid(widths=([3, 8, 1],), examples=1, seed=2, weight_decay=0.2),
    *grid(widths=([3, 8, 6, 1],), examples=1, seed=1, weight_decay=0.2),
)
"""Such whose scale meets its equilibrium by then."""


OBS_1 = numeric(
    id="sl/obs1",
    title="From a small start the scale rises until it meets its moving equilibrium",
    statement=(
        r"\rho(t)<\rho_{eq}(V(t))\text{ on }[0,T)\;\Rightarrow\;\dot\rho>0\text{ on }[0,T)"
    ),
    source=as_read("Observation 1"),
    cases=_FLOWS,
    predict=always(0.0),
    measure=_measure_rising,
    # Nothing is allowed: the least of these rises, 2.6e-7, is 260 tolerances of the
    # integrator.
    compare=AtLeast(),
    must_refute=_never_slower,
    assumptions=("average separability at the start", "gradient flow"),
    uses=("sl/eq5",),
)


def _measure_tracking(*, widths: list[int], **case: Any) -> float:
    """Largest distance from the equilibrium after they meet, over the bound on it."""
    path = _path(tuple(widths), **case)
    met = np.flatnonzero(path["rho"] >= path["equilibrium"])
    if not len(met):
        raise ValueError("the scale does not meet its equilibrium: nothing to bound")
    after = slice(int(met[0]), None)
    gap = np.abs(path["rho"] - path["equilibrium"])[after]
    drift = np.abs(np.gradient(path["equilibrium"], _TIMES))[after]
    return float(gap.max() / (drift.max() / (2.0 * path["push"][after].min())))


TRACKING = numeric(
    id="sl/obs1-tracking",
    title="Once it has met its equilibrium, the scale follows it at a bounded distance",
    statement=(r"|\rho-\rho_{eq}(V)|\le\max|\dot\rho_{eq}|/(2\min A)\text{ once met}"),
    source=ours("Observation 1; ours"),
    cases=_MEETING,
    predict=always(1.0),
    measure=_measure_tracking,
    # The slope of the equilibrium is taken by differences over 0.01.
    compare=AtMost(rounding=0.02),
    must_refute=always(0.5, "Half of the drift, a rate of 4 A in the place of 2 A."),
    assumptions=("gradient flow", "A bounded away from zero"),
    uses=("sl/eq5", "sl/obs1"),
)


def _example(which: int) -> tuple[Problem, float, float]:
    """Return a counterexample: problem, decay, end of the time."""
    if which == 1:
        x = np.array([[1.0, 0.0]])
        v = np.array([[np.cos(1.5), np.sin(1.5)]])
        return Problem((v,), x, np.ones(1), 0.01), 0.01, 400.0
    x = np.array([[1.0, 0.0], [0.96, 0.28]])
    v = np.array([[0.0, 1.0]])
    return Problem((v,), x, np.ones(2), 0.01), 0.0, 400.0


def _measure_overshoot(*, example: int) -> Array:
    """Largest scale on the way, and the last one."""
    p, weight_decay, end = _example(example)
    times = np.concatenate([np.linspace(0.0, 10.0, 10_001), [end]])
    rho = np.array(
        [float(scale[0]) for scale, *_ in followed(p, weight_decay, list(times))]
    )
    return np.array([rho.max(), rho[-1]])


def _no_overshoot(*, example: int) -> Array:
    """Rise to the equilibrium: nothing on the way is larger."""
    end = _predict_overshoot(example=example)[-1]
    return np.array([end, end])


@lru_cache(maxsize=2)
def _predict_overshoot(*, example: int) -> Array:
    """The scale where it meets its equilibrium, and at the end."""
    p, weight_decay, end = _example(example)
    flow = sl.gradient_flow(
        p.directions, p.rho, p.x, p.labels, weight_decay, t_end=end, rtol=1e-11
    )
    # The scale turns where it meets the equilibrium of its directions.
    return np.array([flow.rho_at(flow.crossings[0]), flow.rho_at(end)])


ERR_2 = numeric(
    id="sl/err2",
    items=("Err2", "Obs1"),
    title="From a small start, the scale increases monotonically to where it ends",
    statement=(
        r"\rho(0)\approx0,\;\sum y_nf_n>0\;\Rightarrow\;"
        r"\rho(t)\text{ increases monotonically to }\rho_{eq}"
    ),
    source=as_read("Observation 1"),
    cases=grid(example=(1, 2)),
    predict=_no_overshoot,
    measure=_measure_overshoot,
    # The largest of a grid of 0.001 misses the top by rho'' dt^2 / 8 < 1e-7; both
    # integrators stay below that, at relative tolerances of 1e-10 and 1e-11 a step.
    compare=AgreesTo(absolute=2e-7),
    must_hold=_predict_overshoot,
    expected=Outcome.REFUTED,
    uses=("sl/obs1", "sl/obs1-curvature"),
    finding=(
        "With one example and decay 0.01 the scale rises to 1.1354 and falls back to"
        " 1/1.01; with two examples and no decay it rises to 1.1362 and falls back to"
        " 1.0102, the smallest norm. While the directions are still turning, their"
        " equilibrium falls. If the minimum that the observation speaks of is that at"
        " the current directions, it is true: sl/obs1."
    ),
    figure="square_loss_overshoot",
)


def _crossing(
    widths: Sequence[int], examples: int, seed: int, weight_decay: float
) -> Problem:
    p = _start(widths, examples, seed, rho=1.0)
    f = values(p.directions, p.x)
    return replace(p, rho=float(p.labels @ f / (weight_decay + f @ f)))


def _measure_curvature(*, weight_decay: float, **case: Any) -> float:
    """Derivative of the scale's velocity along the directions' own."""
    p = _crossing(weight_decay=weight_decay, **case)
    leaves = tensors(p.directions)
    f = outputs(leaves, p.x)
    pull = (torch.from_numpy(p.labels) * f).sum()
    speed = -2.0 * (p.rho * (weight_decay + f.square().sum()) - pull)
    along = gradients(speed, leaves)
    return float(sum(np.vdot(a, m) for a, m in zip(along, moves_of(p), strict=True)))


@drawn(_crossing)
def _predict_curvature(p: Problem) -> float:
    return sl.overshoot_curvature(p.rho, p.directions, p.x, p.labels)


@drawn(_crossing)
def _one_error(p: Problem) -> float:
    """The errors' own term once, not twice."""
    f = sl.outputs(p.directions, p.x)
    u = p.labels - p.rho * f
    return float(
        4.0 * p.rho * (u - p.labels) @ sl.projected_kernel(p.directions, p.x) @ u
    )


CURVATURE = numeric(
    id="sl/obs1-curvature",
    title="The curvature of the scale's path where it meets its equilibrium",
    statement=(
        r"\dot\rho=0:\quad\ddot\rho=4\rho\,[2u^TKu-y^TKu],\qquad u=y-\rho f,\;"
        r"K_{nm}=\textstyle\sum_k\langle(I-V_kV_k^T)\partial f_n,\partial f_m\rangle"
    ),
    source=ours("Observation 1; ours"),
    cases=_FLOWS,
    predict=_predict_curvature,
    measure=_measure_curvature,
    # Sums over pairs of examples of terms below 1e2, of some roundings of 1.1e-16 each.
    compare=AgreesTo(relative=1e-12, absolute=1e-13),
    must_refute=_one_error,
    uses=("sl/eq3", "sl/eq4-kernel"),
    finding=(
        "The scale turns down wherever u^T K u < y^T K u / 2, which is the usual case"
        " near interpolation, where u is small."
    ),
)


# --- margins --------------------------------------------------------------------------


@drawn(interpolator)
def _measure_margins(p: Problem) -> Array:
    return p.labels * values(p.directions, p.x)


@drawn(interpolator)
def _predict_margins(p: Problem) -> Array:
    f = sl.outputs(p.directions, p.x)
    # Zero loss: the scale is the equilibrium of these directions.
    return np.full(len(f), 1.0 / sl.rho_equilibrium(f, p.labels, 0.0))


OBS_2A = numeric(
    id="sl/obs2a",
    items=("Obs2a", "Lemma1"),
    title="At zero loss every margin is 1/rho",
    statement=r"\rho f_n=y_n\;\Rightarrow\;y_nf_n=1/\rho\text{ for every }n",
    source=quoted("Section 1.2, Observation 2, and caption of Figure 7"),
    cases=grid(widths=([12, 1], [5, 16, 1], [5, 16, 16, 1]), examples=4, seed=(0, 1)),
    predict=_predict_margins,
    measure=_measure_margins,
    # The solved layer carries the condition of its equations, below 1e3.
    compare=AgreesTo(relative=2e-13),
    must_refute=mistake(
        "Margins of rho in the place of 1/rho.", then=lambda found: 1.0 / found
    ),
    finding="Among interpolators the smallest scale has the largest margin.",
)


def _three_points(digits: int) -> tuple[list[list[Any]], list[int]]:
    with mpmath.workdps(digits):
        third = mpmath.sqrt(mpmath.mpf(11) / 400)
        rows: list[list[Any]] = [
            [mpmath.mpf(1), mpmath.mpf(0), mpmath.mpf(0)],
            [mpmath.mpf(3) / 5, mpmath.mpf(4) / 5, mpmath.mpf(0)],
            [mpmath.mpf(17) / 20, mpmath.mpf(1) / 2, third],
        ]
    return rows, [1, 1, 1]


def _measure_largest_margin(*, margin: str) -> Any:
    """Largest margin of a unit vector: the shortest w with all y w.x >= 1, exactly.

    Its active set is one of seven; each gives the shortest w with equality there.
    """
    with mpmath.workdps(40):
        return largest_margin(mpmath.matrix(_three_points(40)[0]))


def _of_interpolator(*, margin: str, count: int = 3) -> float:
    rows, labels = _three_points(20)
    x = np.array([[float(v) for v in row] for row in rows[:count]])
    solution = sl.ridge_solution(x, np.array(labels[:count], dtype=np.float64), 0.0)
    return 1.0 / float(np.linalg.norm(solution))


ERR_6 = numeric(
    id="sl/err6",
    items=("Err6", "Obs2b"),
    title="Of all networks, the interpolator of smallest norm has the largest margin",
    statement=(r"\max_{\|w\|=1}\min_ny_nw^Tx_n=1/\|w_{\text{min norm}}\|"),
    source=ours("Observation 2, beyond the minimisers that it speaks of"),
    cases=grid(margin="largest"),
    predict=_of_interpolator,
    measure=_measure_largest_margin,
    # Three by three equations of condition below 100.
    compare=AgreesTo(relative=1e-13),
    must_hold=mistake("The interpolator of the first two points alone.", count=2),
    expected=Outcome.REFUTED,
    uses=("sl/obs2a", "sl/obs2b-largest"),
    finding=(
        "For (1, 0, 0), (0.6, 0.8, 0), (0.85, 0.5, 0.166) the minimum-norm"
        " interpolator has margin 0.787, and the largest margin is 0.894: the third"
        " point need not be met exactly. The paper does not claim it: the observation is"
        " on minimisers of zero loss, among which smallest norm and largest margin agree"
        " (sl/obs2a)."
    ),
)


# --- the path of decay ----------------------------------------------------------------

_DECAYS = (1, 2, 5, 10, 30, 100, 1000)
"""In hundredths."""


def _integers(examples: int, inputs: int, seed: int) -> tuple[Any, Any]:
    """Small integers, so that everything can be exact."""
    rng = np.random.default_rng([48, seed])
    x = rng.integers(-4, 5, (examples, inputs))
    y = rng.choice((-1, 1), size=examples)
    return x, y


def _measure_decay_path(*, examples: int, inputs: int, seed: int) -> list[Any]:
    """Scale, B and S of the minimiser at each decay: exact equations, then roots."""
    x, y = _integers(examples, inputs, seed)
    rows = flint.fmpq_mat(flint.fmpz_mat(x.tolist()))
    labels = flint.fmpq_mat(flint.fmpz_mat([[int(v)] for v in y]))
    found: list[Any] = []
    for hundredths in _DECAYS:
        ridge = rows.transpose() * rows
        for i in range(inputs):
            ridge[i, i] += flint.fmpq(hundredths, 100)
        w = ridge.solve(rows.transpose() * labels)
        g = rows * w
        square = sum((w[i, 0] ** 2 for i in range(inputs)), flint.fmpq(0))
        with mpmath.workdps(30):
            rho = mpmath.sqrt(mpmath.mpf(int(square.p)) / int(square.q))
            pull = sum((g[i, 0] * labels[i, 0] for i in range(examples)), flint.fmpq(0))
            push = sum((g[i, 0] ** 2 for i in range(examples)), flint.fmpq(0))
            found += [
                rho,
                mpmath.mpf(int(pull.p)) / int(pull.q) / rho,
                mpmath.mpf(int(push.p)) / int(push.q) / rho**2,
            ]
    return found


@drawn(_integers)
def _predict_decay_path(x: Any, y: Any, parts: float = 100.0) -> Array:
    decays = np.array(_DECAYS) / parts
    path = sl.regularisation_path(x.astype(np.float64), y.astype(np.float64), decays)
    return np.stack([path.rho, path.alignment, path.energy], axis=1).ravel()


def _factors() -> tuple[Array, Array, Array]:
    """Rows of rank two in three dimensions, as a product, and what they are to say."""
    left = np.array([[1.0, 2.0], [-1.0, 1.0], [3.0, 0.0], [1.0, -1.0]])
    return (
        left,
        np.array([[1.0, -1.0, 2.0], [0.0, 3.0, 1.0]]),
        np.array([1.0, 2, -1, 3]),
    )


def _predict_singular(*, power: int, rows: int = 4) -> Array:
    left, right, y = _factors()
    x = np.ldexp(left @ right, power)[:rows]
    return np.ldexp(sl.ridge_solution(x, y[:rows], 0.0), power)


def _measure_singular(*, power: int) -> list[Any]:
    """The pseudo-inverse of a product of full rank is that of its factors."""
    del power  # rows a thousand times as long have a solution as much shorter
    with mpmath.workdps(30):
        left, right, y = map(mpmath.matrix, _factors())
        inner = mpmath.lu_solve(left.T * left, left.T * y)
        return list(right.T * mpmath.lu_solve(right * right.T, inner))


SINGULAR = numeric(
    id="sl/obs2-singular",
    items=("Obs2b", "Obs2c"),
    title="Of all least squares the shortest, for singular rows of every size",
    statement=r"w = X^+ y,\quad \operatorname{rank}X = 2 < 3",
    source=ours("Observation 2; ours"),
    cases=grid(power=(-300, -60, 0, 60, 300)),
    predict=_predict_singular,
    measure=_measure_singular,
    # One singular value decomposition, condition below 10, of entries below one: some five
    # roundings of 1.1e-15.
    compare=AgreesTo(absolute=5e-15),
    must_refute=mistake("Without the last row.", rows=3),
    uses=("sl/err6",),
)

_LINEAR = grid(examples=(3, 8), inputs=(2, 5), seed=(0, 1))

PATH = numeric(
    id="sl/obs2c-path",
    title="Values of the ridge minimiser's scale, B and S at every weight decay",
    statement=r"w_\lambda=(X^TX+\lambda I)^{-1}X^Ty,\qquad\rho=\|w_\lambda\|",
    source=ours("Observation 2; ours"),
    cases=_LINEAR,
    predict=_predict_decay_path,
    measure=_measure_decay_path,
    # One singular value decomposition, condition below 1e3 where nothing is singular.
    compare=AgreesTo(relative=2e-13),
    must_refute=mistake("Twice the decay.", parts=50.0),
    uses=("sl/minnorm",),
)


def _measure_monotone(**case: Any) -> list[list[int]]:
    """Signs of the changes of rho, B and S from each decay to the next."""
    values = _measure_decay_path(**case)
    columns = (itertools.pairwise(values[k::3]) for k in range(3))
    return [[int(mpmath.sign(b - a)) for a, b in column] for column in columns]


def _predict_monotone(*, margin: int = 1, **_case: Any) -> list[list[int]]:
    return [[sign] * (len(_DECAYS) - 1) for sign in (-1, margin, 1)]


OBS_2C = numeric(
    id="sl/obs2c",
    items=("Obs2c", "Lemma1"),
    title="For global minimisers, more decay means a smaller scale, a larger mean margin",
    statement=(
        r"\lambda\uparrow\;\Rightarrow\;\rho_{eq}\downarrow,\;"
        r"\textstyle\sum y_nf_n\uparrow,\;\sum f_n^2\uparrow"
    ),
    source=as_read("Observation 2"),
    cases=_LINEAR,
    predict=_predict_monotone,
    measure=_measure_monotone,
    compare=Identical(),
    must_refute=mistake("A mean margin that falls with the scale.", margin=-1),
    assumptions=("global minimisers", "one linear layer, where they are known exactly"),
    uses=("sl/obs2c-path",),
)


# --- linear networks ------------------------------------------------------------------


def _descend_linear(
    x: Array,
    y: Array,
    *,
    depth: int,
    weight_decay: float,
    seeds: Sequence[int],
    steps: int,
) -> tuple[Array, Array]:
    """Train linear networks of normalised matrices, side by side.

    Returns scales, (starts,), and directions of the products, (starts, inputs).
    """
    widths = [x.shape[1], *([6] * (depth - 1)), 1]
    rngs = [np.random.default_rng([49, seed]) for seed in seeds]
    vectors = [
        np.array([rng.standard_normal((b, a)) for rng in rngs])
        for a, b in itertools.pairwise(widths)
    ]
    scales = np.full(len(seeds), 0.5)
    leaves = [scales, *vectors]
    speeds = [np.zeros_like(leaf) for leaf in leaves]

    def inner(a: Array, b: Array) -> Array:
        return (a * b).sum(axis=(1, 2), keepdims=True)

    def forward() -> tuple[Sequence[Array], ...]:
        norms = [np.sqrt(inner(v, v)) for v in vectors]
        units = [v / norm for v, norm in zip(vectors, norms, strict=True)]
        return norms, units, list(itertools.accumulate(units, lambda p, u: u @ p))

    for _ in range(steps):
        norms, units, products = forward()
        outputs = products[-1][:, 0] @ x.T
        errors = scales[:, None] * outputs - y
        # Of half the loss: in the scale, and backwards through the product.
        slopes = [(errors * outputs).sum(axis=1) + weight_decay * scales]
        back = (scales[:, None] * (errors @ x))[:, None]
        for k in reversed(range(depth)):
            own = back @ products[k - 1].transpose(0, 2, 1) if k else back
            along = units[k] * inner(own, units[k])
            slopes.insert(1, (own - along) / norms[k])
            back = units[k].transpose(0, 2, 1) @ back
        for leaf, speed, slope in zip(leaves, speeds, slopes, strict=True):
            speed *= 0.9
            speed += 2.0 * slope
            leaf -= 0.02 * speed
    return scales, forward()[2][-1][:, 0]


def _regression(examples: int, inputs: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(50)
    x = unit_rows(rng.standard_normal((examples, inputs)))
    return x, np.where(x[:, 0] > 0.0, 1.0, -1.0)


def _measure_linear(
    *, depth: int, weight_decay: float, examples: int, inputs: int
) -> Array:
    x, y = _regression(examples, inputs)
    scales, directions = _descend_linear(
        x, y, depth=depth, weight_decay=weight_decay, seeds=range(4), steps=2000
    )
    return np.column_stack([np.abs(scales), scales[:, None] * directions])


def _predict_linear(
    *, depth: int, weight_decay: float, examples: int, inputs: int
) -> Array:
    x, y = _regression(examples, inputs)
    widths = [6] * (depth - 1)
    rho, directions = sl.linear_minimiser(x, y, weight_decay, widths)
    product = np.eye(inputs)
    for v in directions:
        product = v @ product
    return np.tile([rho, *(rho * product[0])], (4, 1))


MINIMUM = numeric(
    id="sl/minnorm",
    title="With decay, linear networks of one to three layers end at the ridge solution",
    statement=(r"\rho V_L\cdots V_1=(X^TX+\lambda I)^{-1}X^Ty,\qquad\rho_{eq}=\|w\|"),
    source=ours("Observation 2 and footnote 3; ours"),
    cases=(
        *grid(depth=1, weight_decay=(0.1, 0.5), examples=8, inputs=4),
        *grid(depth=(2, 3), weight_decay=0.5, examples=8, inputs=4),
        # Fewer examples than inputs.
        *grid(depth=1, weight_decay=0.5, examples=3, inputs=7),
    ),
    predict=_predict_linear,
    measure=_measure_linear,
    # 2,000 steps of heavy ball; the slowest direction contracts by 1 % each.
    compare=AgreesTo(absolute=1e-8),
    must_refute=mistake("Networks without decay.", weight_decay=0.0),
)


def _measure_spread(*, depth: int, weight_decay: float, starts: int) -> float:
    """Largest spread of an end point's entries over starts, fewer examples than inputs."""
    x, y = _regression(3, 8)
    scales, directions = _descend_linear(
        x,
        y,
        depth=depth,
        weight_decay=weight_decay,
        seeds=range(starts),
        steps=1500 * depth,
    )
    return float(np.std(scales[:, None] * directions, axis=0).max())


def _depends_on_the_start(*, depth: int, weight_decay: float, starts: int) -> bool:
    return weight_decay == 0.0


def _measure_depends(**case: Any) -> bool:
    # Of ends of norm one or two; what is left of the approach is below 1e-4.
    return _measure_spread(**case) > 1e-2


START = numeric(
    id="sl/minnorm-start",
    title="The end of a linear network depends on its start without decay, not with decay",
    statement=(
        r"d>N:\quad\rho V_L\cdots V_1\text{ at the end depends on the start}\iff\lambda=0"
    ),
    source=quoted("Footnote 3"),
    cases=grid(depth=(1, 2, 3), weight_decay=(0.0, 0.3), starts=20),
    predict=_depends_on_the_start,
    measure=_measure_depends,
    compare=Identical(),
    must_refute=always(value=False, words="An end that never depends on the start."),
    uses=("sl/minnorm", "sl/minnorm-zero"),
)


# --- degeneracy -----------------------------------------------------------------------


def _measure_rank(*, widths: list[int], examples: int, seed: int) -> list[int]:
    """Rank of the derivative of the outputs by all weights, and what it leaves.

    Of networks with hidden layers also what is left at unit layers and this scale; the
    linear interpolator is that of least norm, and the only one of its scale.
    """
    p = interpolator(widths, examples, seed)
    weights = [*p.directions[:-1], p.rho * p.directions[-1]]
    leaves = tensors(weights)
    rows = [
        np.concatenate([g.ravel() for g in gradients(f, leaves)])
        for f in outputs(leaves, p.x)
    ]
    values = np.linalg.svd(np.array(rows), compute_uv=False)
    # Random data: the last value is far from the rounding of the first, or zero.
    rank = int(np.sum(values > 1e-10 * values[0]))
    found = [rank, len(rows[0]) - rank]
    if len(widths) == 2:
        return found
    slopes = jacobians(p.directions, p.x)
    spheres = [
        flat([projected(v, s[n]) for v, s in zip(p.directions, slopes, strict=True)])
        for n in range(examples)
    ]
    values = np.linalg.svd(np.array(spheres), compute_uv=False)
    # A sphere has one dimension less than its matrix entries.
    free = len(rows[0]) - len(leaves)
    return [*found, free - int(np.sum(values > 1e-10 * values[0]))]


def _predict_rank(*, widths: list[int], examples: int, seed: int) -> list[int]:
    count = sum(a * b for a, b in itertools.pairwise(widths))
    found = [examples, count - examples]
    fixed = [count - examples - (len(widths) - 1)]
    return found + (fixed if len(widths) > 2 else [])


def _isolated(*, widths: list[int], examples: int, seed: int) -> list[int]:
    """Isolated solutions, as with as many equations as weights."""
    count = sum(a * b for a, b in itertools.pairwise(widths))
    return [count, 0, 0][: len(widths)]


DEGENERATE = numeric(
    id="sl/degen",
    title="Zero-loss solutions form sets of dimension W - N (weights less examples)",
    statement=r"\operatorname{rank}\,[\partial g_n/\partial W]=N,\quad\text{nullity }W-N",
    source=as_read("Section 2, below Observation 2"),
    cases=grid(widths=([12, 1], [5, 16, 1], [5, 16, 16, 1]), examples=4, seed=(0, 1)),
    predict=_predict_rank,
    measure=_measure_rank,
    compare=Identical(),
    must_refute=_isolated,
    finding=(
        "W - N counts solutions of every norm. At a fixed scale and with unit layers, of"
        " which the sentence speaks, the dimension is smaller by the number of layers."
    ),
)


# --- the multiplier's part ------------------------------------------------------------


def _lengthened(length: float, seed: int) -> Problem:
    """One layer: a worked example (seed -1), or a random one, directions longer."""
    if seed < 0:
        x = np.array([[0.8, 0.6], [1.0, 0.0]])
        return Problem((np.array([[length, 0.0]]),), x, np.ones(2), 3.0)
    p = problem([4, 1], 5, seed)
    return Problem((length * p.directions[0],), p.x, p.labels, p.rho)


def _measure_growth(*, length: float, seed: int) -> float:
    """Sign of the rate of the squared length, with the multiplier in the loss."""
    p = _lengthened(length, seed)
    (move,) = held(p)
    return float(np.sign(np.vdot(p.directions[0], move)))


def _towards_one(*, length: float, seed: int) -> float:
    return float(np.sign(1.0 - length))


def _by_the_errors(*, length: float, seed: int) -> float:
    """Motion in the direction that the sign of the errors gives."""
    p = _lengthened(length, seed)
    rate = sl.off_sphere_rate(p.rho, sl.outputs(p.directions, p.x), p.labels)
    return float(np.sign(rate) * np.sign(length - 1.0))


ERR_7 = numeric(
    id="sl/err7",
    items=("Err7", "nuSign"),
    title="The Lagrange multiplier always brings the layers' norms back to one",
    statement=(r"\nu\text{ shrinks }\|V_k\|>1\text{ and grows }\|V_k\|<1"),
    source=quoted("Section 4.1"),
    cases=(*grid(length=1.1, seed=-1), *grid(length=(0.9, 1.1), seed=(0, 1, 2, 3))),
    predict=_towards_one,
    measure=_measure_growth,
    compare=Identical(),
    must_hold=_by_the_errors,
    expected=Outcome.REFUTED,
    uses=("sl/norm",),
    finding=(
        "V = (1.1, 0) with inputs (0.8, 0.6) and (1, 0) at scale 3 keeps growing. The"
        " sign is that of the sum of e_n f_n, whatever the length; below rho = B/S, as on"
        " the way from a small start, the norms do come back (sl/norm)."
    ),
)
