"""Flows of scale and directions together, normalised and not (section 2)."""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from scipy.integrate import DOP853
from torch import Tensor
from torch.nn.utils.parametrizations import weight_norm

from theory import square_loss as sl
from verify.claim import grid, numeric
from verify.claims._descent import descend
from verify.claims._predictors import always, drawn, mistake, times
from verify.claims.square_loss._flows import down, followed, integrate, loss_of
from verify.claims.square_loss._networks import (
    Array,
    Problem,
    flat,
    gradients,
    held,
    least_squares,
    outputs,
    problem,
    projected,
    square_error,
    tensors,
    values,
)
from verify.claims.square_loss._sources import as_read, ours, quoted
from verify.compare import AgreesTo, AtMost, Outcome

# --- the sphere -----------------------------------------------------------------------


def _lengthened(p: Problem, length: float) -> tuple[Array, ...]:
    """Return directions of a length, its square and so on, layer by layer."""
    return tuple(length**k * v for k, v in enumerate(p.directions, 1))


def _squares(length: float, layers: int) -> Array:
    return length ** (2.0 * np.arange(1, layers + 1))


@drawn(problem)
def _measure_drift(p: Problem, length: float) -> Array:
    """Rate of each squared length when directions are off their spheres."""
    scaled = replace(p, directions=_lengthened(p, length))
    moves = zip(scaled.directions, held(scaled), strict=True)
    return np.array([2.0 * np.vdot(v, move) for v, move in moves])


@drawn(problem)
def _predict_drift(p: Problem, length: float) -> Array:
    rate = sl.off_sphere_rate(p.rho, sl.outputs(_lengthened(p, length), p.x), p.labels)
    return rate * (_squares(length, len(p.directions)) - 1.0)


NORM = numeric(
    id="sl/norm",
    title="The unit sphere attracts layer norms below rho = B/S and repels them above",
    statement=(
        r"\frac{d}{dt}\|V_k\|^2=4\rho\,(\|V_k\|^2-1)\textstyle\sum_n e_nf_n,"
        r"\qquad e_n=\rho f_n-y_n"
    ),
    source=ours("Equations 1 and 4; ours"),
    cases=grid(
        widths=([3, 1], [6, 5, 4, 1]),
        examples=(1, 7),
        seed=(0, 1, 2),
        length=(0.9, 1, 1.1),
    ),
    predict=_predict_drift,
    measure=_measure_drift,
    # Two terms below 1e2 cancel on the sphere, of a few products of 1.1e-16 each.
    compare=AgreesTo(relative=1e-13, absolute=1e-13),
    must_refute=mistake("Half of the rate.", then=times(0.5)),
    uses=("sl/eq1", "sl/hom"),
    finding=(
        "Above B/S the sphere repels: an integrator of the printed flow has to"
        " project onto the sphere, or start with the scale below B/S."
    ),
)


def _measure_return(*, weight_decay: float, perturbation: float) -> float:
    """Fit the rate at which a squared length comes back to one, scale held at rest."""
    x, y = np.array([[0.6, 0.8]]), np.array([1.0])
    rho = 1.0 / (1.0 + weight_decay)

    def velocity(state: list[Array]) -> Sequence[Array]:
        return held(Problem(tuple(state), x, y, rho))

    # The direction is that of the input: only its length moves.
    start = x * np.sqrt(1.0 + perturbation)
    times = np.linspace(0.0, 0.2 / weight_decay, 9)
    path = integrate(velocity, [start], list(times))
    gaps = [np.sum(direction**2) - 1.0 for (direction,) in path]
    return float(np.polyfit(times, np.log(np.abs(gaps)), 1)[0])


def _predict_return(*, weight_decay: float, perturbation: float) -> float:
    rho = sl.rho_equilibrium([1.0], [1.0], weight_decay)
    return sl.off_sphere_rate(rho, [1.0], [1.0])


NORM_RATE = numeric(
    id="sl/norm-rate",
    title="At the equilibrium, the unit sphere attracts at the rate 4 lambda rho^2",
    statement=(
        r"\textstyle\sum_n e_nf_n=-\lambda\rho_{eq}\;\Rightarrow\;"
        r"\tfrac{d}{dt}\ln|\|V\|^2-1|=-4\lambda\rho_{eq}^2"
    ),
    source=ours("Equations 1 and 4; ours"),
    cases=grid(weight_decay=(0.05, 0.5), perturbation=(-1e-4, 1e-4)),
    predict=_predict_return,
    measure=_measure_return,
    # With q the squared length the rate is that of rho q - sqrt(q): its slope there is
    # |rho - 1/2| / (1 - rho) < 1/(2 lambda) of it, ten perturbations at most.
    compare=AgreesTo(relative=1e-3),
    must_refute=mistake(
        "A rate of 4 lambda, without rho^2.",
        then=lambda _, *, weight_decay: -4.0 * weight_decay,
    ),
    uses=("sl/norm", "sl/nu-equilibrium"),
)


# --- energy ---------------------------------------------------------------------------

SMOOTH = (
    *grid(widths=([3, 1],), examples=5, seed=0, weight_decay=(0.0, 0.3)),
    *grid(widths=([3, 6, 1],), examples=4, seed=9, weight_decay=(0.0, 0.3)),
    *grid(widths=([4, 4, 4, 1],), examples=3, seed=9, weight_decay=(0.0, 0.3)),
)
"""Problems whose flow crosses kinks, and comes to slide along none before time one."""

_TIMES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


@drawn(problem)
def _measure_decrease(p: Problem, weight_decay: float) -> Array:
    """Largest rise of the loss between two times, and of decay over the first loss."""
    loss = loss_of(p, weight_decay)
    path = followed(p, weight_decay, _TIMES, tolerance=1e-11)
    losses = np.array([float(loss(tensors(state)).detach()) for state in path])
    scales = np.array([float(state[0][0]) for state in path])
    excess = np.max(weight_decay * scales**2 / losses[0]) - 1.0
    return np.array([np.max(np.diff(losses)) / losses[0], excess])


ENERGY_FLOW = numeric(
    id="sl/energy-flow",
    title="Along the gradient flow the loss never rises, and weight decay bounds the scale",
    statement=r"L(t_2)\le L(t_1)\;(t_1<t_2),\qquad\rho(t)\le\sqrt{L(0)/\lambda}",
    source=ours("Equations 3 and 4; ours"),
    # With a large decay the loss is its part of it, and the bound is met.
    cases=(*SMOOTH, *grid(widths=([3, 1],), examples=5, seed=0, weight_decay=300.0)),
    predict=always(np.zeros(2)),
    measure=_measure_decrease,
    # The integrator's local error, 1e-11, over about a hundred steps.
    compare=AtMost(rounding=1e-9),
    must_refute=always(
        np.array([0.0, -0.5]), "The decay's convention of optimisers: half of rho^2."
    ),
    uses=("sl/energy",),
)


# --- weight normalisation -------------------------------------------------------------


def _normalised_loss(
    p: Problem, weight_decay: float
) -> Callable[[Sequence[Tensor]], Tensor]:
    """Return the loss of (g, v_1, ..., v_L): each matrix divided by its norm."""

    def loss(state: Sequence[Tensor]) -> Tensor:
        scale, *vectors = state
        directions = [v / torch.linalg.matrix_norm(v) for v in vectors]
        return loss_of(p, weight_decay)([scale, *directions])

    return loss


@drawn(problem)
def _measure_normalised(p: Problem, weight_decay: float) -> Array:
    """Scale, outputs and lengths of a weight-normalised network along its flow."""
    flow = down(_normalised_loss(p, weight_decay))
    rows: list[Array] = []
    for scale, *vectors in integrate(flow, [np.array([p.rho]), *p.directions], _TIMES):
        lengths = [float(np.linalg.norm(v)) for v in vectors]
        unit = [v / n for v, n in zip(vectors, lengths, strict=True)]
        f = values(unit, p.x)
        rows.append(np.array([*scale, *f, *lengths]))
    return np.array(rows)


@drawn(problem)
def _predict_normalised(p: Problem, weight_decay: float, clock: float = 1.0) -> Array:
    times = clock * np.array(_TIMES)
    given = p.directions, p.rho, p.x, p.labels, weight_decay
    flow = sl.gradient_flow(*given, t_end=times[-1], rtol=1e-11, t_eval=times)
    ones = [1.0] * len(p.directions)
    rhos = zip(flow.rho, times, strict=True)
    return np.array([[rho, *flow.outputs(t), *ones] for rho, t in rhos])


WEIGHT_NORMALISATION = numeric(
    id="sl/wn",
    title="Weight normalisation of whole matrices is the flow on spheres",
    statement=(
        r"W_k=g_kv_k/\|v_k\|_F,\;\|v_k(0)\|=1:\quad (g,v)\text{ moves as }(\rho,V)"
        r"\text{ of (3), (4), and }\|v_k\|\text{ stays}"
    ),
    source=as_read("Section 2, below Equation 1"),
    cases=SMOOTH,
    predict=_predict_normalised,
    measure=_measure_normalised,
    # The integrators work to 1e-10 and 1e-11 a step, over less than a hundred steps; at a
    # kink of the network an error of a step passes into the path.
    compare=AgreesTo(absolute=1e-8),
    must_refute=mistake("The flow at half of its speed.", clock=0.5),
    assumptions=("the flow does not slide along a kink",),
    uses=("sl/eq3", "sl/eq4"),
    finding=(
        "Most flows of small ReLU networks do slide: from 25 starts on six points in"
        " three dimensions, every flow of six hidden units slides before time six, and"
        " so does every flow with a second hidden layer of four. From there on the"
        " printed right side is not single-valued."
    ),
)


def _measure_longer(*, widths: list[int], seed: int, length: float) -> Array:
    """Scale, loss, equilibrium, lengths and directions, from vectors of a length."""
    p = problem(widths, 5, seed)
    loss = _normalised_loss(p, _DECAY)
    start = [np.array([p.rho]), *(length * v for v in p.directions)]
    rows: list[Array] = []
    for state in integrate(down(loss), start, _EARLY):
        scale, *vectors = state
        lengths = np.array([np.linalg.norm(v) for v in vectors])
        unit = [v / n for v, n in zip(vectors, lengths, strict=True)]
        rest = least_squares(values(unit, p.x), p.labels, _DECAY)
        value = float(loss(tensors(state)).detach())
        rows.append(np.array([*scale, value, rest, *lengths, *flat(unit)]))
    return np.array(rows)


_EARLY, _DECAY = (0.0, 0.1, 0.3), 0.3


def _longer_flow(widths: list[int], seed: int, vectors: float, clock: float) -> Array:
    p = problem(widths, 5, seed)
    flow = sl.weight_normalised_flow(
        p.rho,
        [vectors * v for v in p.directions],
        p.x,
        p.labels,
        _DECAY,
        t_end=clock * _EARLY[-1],
    )
    return np.array(
        [
            [
                *(flow.rho_at(t), flow.loss(t), flow.rho_equilibrium(t)),
                *(np.linalg.norm(v) for v in flow.parameters(t)),
                *flat(flow.directions(t)),
            ]
            for t in clock * np.array(_EARLY)
        ]
    )


def _predict_longer(*, widths: list[int], seed: int, length: float) -> Array:
    return _longer_flow(widths, seed, length, 1.0)


def _clock_of_all(*, widths: list[int], seed: int, length: float) -> Array:
    """A scale whose clock slows down with the directions'."""
    found = _longer_flow(widths, seed, 1.0, length**-2.0)
    found[:, 3 : 2 + len(widths)] *= length
    return found


LONGER = numeric(
    id="sl/wn-length",
    title="In weight normalisation, longer vectors slow the directions, but not the scale",
    statement=(
        r"\|v_k(0)\|=c:\quad \dot g=-2(Ag-B),\qquad"
        r" \dot V_k=c^{-2}\,\dot V_k|_{c=1},\qquad\|v_k\|=c"
    ),
    source=ours("Section 2; ours"),
    cases=(
        *grid(widths=([3, 1],), seed=0, length=(5.0, 2.0, 0.5)),
        *grid(widths=([3, 6, 1],), seed=2, length=2.0),
        *grid(widths=([4, 4, 4, 1],), seed=9, length=2.0),
    ),
    predict=_predict_longer,
    measure=_measure_longer,
    # The measured path: 1e-10 a step, some tens of steps, times a loss below ten.
    compare=AgreesTo(absolute=1e-7),
    must_refute=_clock_of_all,
    assumptions=("the flow does not slide along a kink",),
    uses=("sl/wn",),
)


@drawn(problem)
def _measure_growth(p: Problem, rate: float, length: float) -> Array:
    """Squared length of every vector after one step of PyTorch's optimiser."""
    leaves = tensors([np.array([p.rho]), *_lengthened(p, length)])
    loss = _normalised_loss(p, 0.0)
    ((_, *vectors),) = descend(leaves, lambda: loss(leaves), steps=(1,), rate=rate)
    return np.array([np.vdot(v, v) for v in vectors])


@drawn(problem)
def _predict_growth(p: Problem, rate: float, length: float) -> Array:
    moves = sl.directions_velocity(p.rho, p.directions, p.x, p.labels)
    squares = _squares(length, len(moves))
    # A vector's gradient is that at length one, over its length.
    return squares + [
        rate**2 * np.vdot(m, m) / s for m, s in zip(moves, squares, strict=True)
    ]


GROWTH = numeric(
    id="sl/wn-norm",
    title="No gradient step makes a weight-normalised vector shorter",
    statement=r"\|v_{t+1}\|^2=\|v_t\|^2+\eta^2\|\nabla_vL\|^2",
    source=ours("Section 2, in discrete time; ours"),
    cases=grid(
        widths=([3, 1], [6, 5, 4, 1]),
        examples=7,
        seed=(0, 1),
        rate=(0.01, 0.3),
        length=(0.7, 1.0, 1.5),
    ),
    predict=_predict_growth,
    measure=_measure_growth,
    # Sums of thirty rounded products, and of a few in each of these.
    compare=AgreesTo(relative=1e-14),
    must_refute=mistake(
        "A step's square that is lost.",
        then=lambda found, *, length: _squares(length, len(found)),
    ),
    assumptions=("plain gradient descent, no momentum",),
    uses=("sl/wn",),
)


@drawn(problem)
def _measure_rows(p: Problem) -> Array:
    """Velocity of the weights under the library's weight norm, its scales held."""
    layers = [
        torch.nn.Linear(v.shape[1], v.shape[0], bias=False, dtype=torch.float64)
        for v in p.directions
    ]
    for layer, v in zip(layers, p.directions, strict=True):
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(v))
        weight_norm(layer)
    f = outputs([layer.weight for layer in layers], p.x)
    loss = square_error(p.rho, f, p.labels)
    vectors: list[Tensor] = [
        dict(layer.named_parameters())["parametrizations.weight.original1"]
        for layer in layers
    ]
    return flat([-g for g in gradients(loss, vectors)])


@drawn(problem)
def _as_whole_matrices(p: Problem) -> Array:
    return flat(sl.directions_velocity(p.rho, p.directions, p.x, p.labels))


@drawn(problem)
def _row_by_row(p: Problem) -> Array:
    """Slopes projected row by row."""
    f = sl.outputs(p.directions, p.x)
    slopes = sl.weighted_gradients(
        p.directions, p.x, -2.0 * p.rho * (p.rho * f - p.labels)
    )
    return flat(
        [
            s
            - v
            * np.sum(s * v, axis=1, keepdims=True)
            / np.sum(v * v, axis=1, keepdims=True)
            for v, s in zip(p.directions, slopes, strict=True)
        ]
    )


ROWS = numeric(
    id="sl/wn-rows",
    title="Weight normalisation row by row, the usual one, gives the printed flow",
    statement=(
        r"\text{row-wise }w_i=g_iv_i/\|v_i\|:\quad \dot V_k="
        r"-(I-V_kV_k^T)\,\partial L/\partial V_k"
    ),
    source=as_read("Section 2, read with a library's layer"),
    cases=grid(widths=([3, 1], [6, 5, 4, 1]), examples=7, seed=(0, 1)),
    predict=_as_whole_matrices,
    measure=_measure_rows,
    # Sums of up to seven terms in three layers, each rounded to 1.1e-16 of the largest.
    compare=AgreesTo(relative=2e-14, of_largest=True),
    must_hold=_row_by_row,
    expected=Outcome.REFUTED,
    uses=("sl/wn",),
    finding=(
        "Libraries normalise each row by default. Only normalising the whole matrix"
        " gives the printed flow; the two agree for a layer of one unit, and footnote 2"
        " lets the equations be read for each row instead."
    ),
)


# --- from weights to scale and direction ----------------------------------------------


def _motion(rows: int, columns: int, seed: int, power: int = 0) -> tuple[Array, Array]:
    """Return weights, over 2^power, and their velocity.

    With a power they are negative, and the first row is that much above the others.
    """
    if rows == 0:  # the example that is worked by hand in the finding
        return np.array([[3.0, 4.0]]), np.array([[1.0, 0.0]])
    rng = np.random.default_rng([45, seed])
    weight = 3.0 * rng.standard_normal((rows, columns))
    if power:
        weight = -np.abs(weight)
        weight[1:] = np.ldexp(weight[1:], -power)
    return weight, rng.standard_normal((rows, columns))


def _measure_motion(*, rows: int, columns: int, seed: int, power: int = 0) -> Array:
    """Differentiate the norm and the direction, times 2^power, along a straight line."""
    moving = _motion(rows, columns, seed, power)
    weight, velocity = (torch.from_numpy(a) for a in moving)

    time = torch.zeros((), dtype=torch.float64, requires_grad=True)
    moved = weight + time * velocity
    norm = torch.linalg.matrix_norm(moved)
    parts = [norm, *(moved / norm).flatten()]
    return np.array([float(gradients(part, [time])[0]) for part in parts])


def _predict_motion(*, rows: int, columns: int, seed: int, power: int = 0) -> Array:
    """The part across the weights, over their norm, and the part along them."""
    weight, velocity = _motion(rows, columns, seed, power)
    whole = np.ldexp(weight, power)
    speed, move = sl.direction_from_weight_velocity(whole, velocity)
    return flat([np.asarray(speed), np.ldexp(move, power)])


def _not_projected(*, rows: int, columns: int, seed: int, power: int = 0) -> Array:
    """The whole velocity, not projected across the weights."""
    weight, velocity = _motion(rows, columns, seed, power)
    speed, *_ = _predict_motion(rows=rows, columns=columns, seed=seed, power=power)
    return flat([np.array(speed), velocity / np.linalg.norm(weight)])


_MOTIONS = (
    *grid(rows=(0, 1, 5), columns=4, seed=(0, 1)),
    # Weights whose squares float64 can't hold, beside others.
    *grid(rows=3, columns=4, seed=0, power=600),
)


PROJECTION = numeric(
    id="sl/proj",
    title="A motion of the weights, split into motions of their norm and direction",
    statement=(
        r"W=\rho V:\qquad \dot\rho=\langle V,\dot W\rangle,\qquad"
        r" \dot V=\tfrac1\rho(I-VV^T)\dot W"
    ),
    source=ours("Section 2, corrected"),
    cases=_MOTIONS,
    predict=_predict_motion,
    measure=_measure_motion,
    compare=AgreesTo(relative=1e-13, of_largest=True),
    must_refute=_not_projected,
)


ERR_1 = numeric(
    id="sl/err1",
    title="A weight vector's direction moves by its motion divided by its norm",
    statement=r"W_k=\rho_kV_k\;\Rightarrow\;\dot V_k=\dot W_k/\rho_k",
    source=quoted("Section 2, below Equation 1"),
    cases=grid(rows=(0, 1, 5), columns=4, seed=0),
    predict=_not_projected,
    measure=_measure_motion,
    compare=AgreesTo(relative=1e-13, of_largest=True),
    must_hold=_predict_motion,
    expected=Outcome.REFUTED,
    uses=("sl/proj", "sl/err1-gradient"),
    finding=(
        "W = (3, 4) moving by (1, 0): the direction moves by (0.128, -0.096), not by"
        " (0.2, 0): the part along the weights moves their norm. It is true of weights"
        " that move across themselves, as a loss that their norm does not change moves"
        " them: [8], which the sentence cites, has such layers. The formula printed"
        " before it is right where the weights' motion stands for the loss's slope, and"
        " rho for the layer's own norm (sl/err1-gradient)."
    ),
    version=2,
)


def _unfolded(widths: Sequence[int], examples: int, seed: int) -> Any:
    """Return a problem and its weights, all but the last layer of length one."""
    p = problem(widths, examples, seed)
    *hidden, top = p.directions
    return p, [*hidden, p.rho * top]


def _measure_sloped(*, widths: list[int], examples: int, seed: int) -> Array:
    """V^T W' of the last layer and rho_k S W' of every one, W' minus the slope."""
    p, weights = _unfolded(widths, examples, seed)
    leaves = tensors(weights)
    slopes = gradients(square_error(1.0, outputs(leaves, p.x), p.labels), leaves)
    speed = -np.vdot(p.directions[-1], slopes[-1])
    moves = [
        -np.linalg.norm(w) * projected(v, slope)
        for w, v, slope in zip(weights, p.directions, slopes, strict=True)
    ]
    return flat([np.array(speed), *moves])


@drawn(problem)
def _predict_sloped(p: Problem) -> Array:
    f = sl.outputs(p.directions, p.x)
    speed = sl.rho_velocity(p.rho, f, p.labels, 0.0)
    moves = sl.directions_velocity(p.rho, p.directions, p.x, p.labels)
    return flat([np.array(speed), *moves])


def _by_moving_weights(*, widths: list[int], examples: int, seed: int) -> Array:
    """The motion of directions while the weights themselves go down the slope."""
    p, weights = _unfolded(widths, examples, seed)
    velocities = sl.weights_velocity(weights, p.x, p.labels, 0.0)
    pairs = zip(weights, velocities, strict=True)
    found = [sl.direction_from_weight_velocity(w, velocity) for w, velocity in pairs]
    return flat([np.array(found[-1][0]), *(move for _, move in found)])


SLOPED = numeric(
    id="sl/err1-gradient",
    items=("Err1", "WN"),
    title="Norm and directions of a layer move by the loss's slope in its weights",
    statement=(
        r"\dot W_k=-\partial L/\partial W_k:\quad\dot\rho_k=V_k^T\dot W_k,\;"
        r"\dot V_k=\rho_kS\dot W_k\text{ are (3) and (4)}"
    ),
    source=as_read("Section 2, below Equation 1"),
    cases=grid(widths=([3, 1], [6, 5, 4, 1]), examples=(1, 7), seed=(0, 1)),
    predict=_predict_sloped,
    measure=_measure_sloped,
    # Sums of up to seven terms in four layers, each rounded to 1.1e-16 of the largest.
    compare=AgreesTo(relative=1e-13, of_largest=True),
    must_refute=_by_moving_weights,
    assumptions=("all norms but the last layer's are one", "no decay"),
    uses=("sl/eq3", "sl/eq4"),
    finding=(
        "The dot over W has to be read as minus the slope of the loss, and the printed"
        " rho S, without an index, as rho_k S: times the whole rho it is off by that"
        " factor in all layers but the last. Weights that move down the slope themselves"
        " turn more slowly by the norm's square (sl/proj)."
    ),
)


# --- nothing normalised ---------------------------------------------------------------


def _weights(widths: Sequence[int], examples: int, seed: int) -> tuple[Problem, Any]:
    """Return a problem and weights of lengths between about one and three."""
    p = problem(widths, examples, seed)
    rng = np.random.default_rng([46, seed])
    scales = 1.0 + 2.0 * rng.random(len(p.directions))
    return p, [s * v for s, v in zip(scales, p.directions, strict=True)]


def _decayed_loss(
    p: Problem, weight_decay: float
) -> Callable[[Sequence[Tensor]], Tensor]:
    def loss(weights: Sequence[Tensor]) -> Tensor:
        lengths = torch.stack([w.square().sum() for w in weights]).sum()
        error = square_error(1.0, outputs(weights, p.x), p.labels)
        return error + weight_decay * lengths

    return loss


@drawn(_weights)
def _measure_rates(p: Problem, weights: Any, weight_decay: float) -> Array:
    """Velocities of weights, of their squared lengths, of the product of lengths."""
    leaves = tensors(weights)
    slopes = gradients(_decayed_loss(p, weight_decay)(leaves), leaves)
    rates = [-2.0 * np.vdot(w, s) for w, s in zip(weights, slopes, strict=True)]
    norms = tensors([np.array(np.linalg.norm(w)) for w in weights])
    chain = gradients(torch.stack(list(norms)).prod(), norms)
    speeds = [
        rate / (2.0 * np.linalg.norm(w)) for rate, w in zip(rates, weights, strict=True)
    ]
    return np.array([*-flat(slopes), *rates, np.dot(np.array(chain), speeds)])


@drawn(_weights)
def _predict_rates(p: Problem, weights: Any, weight_decay: float) -> Array:
    moves = flat(sl.weights_velocity(weights, p.x, p.labels, weight_decay))
    g = sl.outputs(weights, p.x)
    pull = -4.0 * float(np.sum((g - p.labels) * g))
    norms = sl.norms(weights)
    rho = float(np.prod(norms))
    f = g / rho
    scale = 2.0 * rho**2 * np.sum(norms**-2.0) * (p.labels @ f - rho * (f @ f))
    decay = 2.0 * len(norms) * weight_decay * rho
    return np.array([*moves, *(pull - 4.0 * weight_decay * norms**2), scale - decay])


UNNORMALISED = numeric(
    id="sl/unnorm",
    title="Without normalisation, the data change all squared layer norms equally",
    statement=(
        r"\dot W_k=-2\textstyle\sum_ne_n\,\partial g_n/\partial W_k-2\lambda W_k,\quad"
        r"\tfrac{d}{dt}\|W_k\|^2=-4\textstyle\sum_ne_ng_n-4\lambda\|W_k\|^2,\quad"
        r" \dot\rho=2\rho^2\sum_k\rho_k^{-2}(B-\rho S)-2L\lambda\rho,\quad e_n=g_n-y_n"
    ),
    source=ours("Section 1, without normalisation; ours"),
    cases=grid(
        widths=([3, 1], [6, 5, 4, 1], [4, 4, 4, 4, 1]),
        examples=(1, 7),
        seed=(0, 1),
        weight_decay=(0.0, 0.3),
    ),
    predict=_predict_rates,
    measure=_measure_rates,
    # Differences of sums of seven products, in four layers of four: a few 1e-15 of the
    # largest, which may be a tenth of these.
    compare=AgreesTo(relative=1e-13, of_largest=True),
    must_refute=mistake(
        "An optimiser's decay, half of the penalty's.", weight_decay=times(0.5)
    ),
    uses=("sl/hom",),
)


def _measure_difference(*, seed: int, weight_decay: float, time: float) -> Array:
    """Differences of neighbouring squared lengths after many small steps of descent."""
    p, weights = _weights([5, 6, 4, 1], 5, seed)
    leaves = tensors(weights)
    loss = _decayed_loss(p, weight_decay)
    steps = (round(time / _STEP),)
    (ends,) = descend(leaves, lambda: loss(leaves), steps=steps, rate=_STEP)
    return np.diff([np.vdot(w, w) for w in ends])


_STEP = 2e-4


def _predict_difference(*, seed: int, weight_decay: float, time: float) -> Array:
    _, weights = _weights([5, 6, 4, 1], 5, seed)
    return np.diff(sl.norms(weights) ** 2) * np.exp(-4.0 * weight_decay * time)


DIFFERENCE = numeric(
    id="sl/unnorm-balance",
    title=(
        "Differences of squared layer norms are conserved, or vanish"
        " exponentially with decay"
    ),
    statement=r"\|W_k\|^2-\|W_j\|^2=\text{const}\cdot e^{-4\lambda t}",
    source=ours("Section 1, without normalisation; ours"),
    cases=grid(seed=(0, 1), weight_decay=(0.0, 0.5), time=0.4),
    predict=_predict_difference,
    measure=_measure_difference,
    # A step adds eta^2 times a difference of squared slopes: at most eta times the
    # loss that training takes away, about ten.
    compare=AgreesTo(absolute=10.0 * _STEP),
    must_refute=mistake(
        "Differences that are conserved in spite of decay.", weight_decay=0.0
    ),
    uses=("sl/unnorm",),
)


def _measure_unnormalised(*, seed: int, weight_decay: float) -> Array:
    p, weights = _weights([4, 4, 4, 1], 3, seed)
    flow = down(_decayed_loss(p, weight_decay))
    path = integrate(flow, weights, _TIMES)
    rows: list[Array] = []
    for state in path:
        norms = np.array([np.linalg.norm(w) for w in state])
        unit = [w / n for w, n in zip(state, norms, strict=True)]
        f, rho = values(unit, p.x), np.prod(norms)
        value = float(_decayed_loss(p, weight_decay)(tensors(state)).detach())
        # A layer moves the product of norms by the share of its own that it gains.
        gains = [
            np.vdot(w, v) / n**2
            for w, v, n in zip(state, flow(state), norms, strict=True)
        ]
        # At rest nothing is gained: the error's part is linear in that product.
        each = 2.0 * rho * np.sum(norms**-2.0) * (f @ f)
        # Only decay moves a network without outputs, and nothing without decay.
        dead = 0.0 if weight_decay else rho
        rest = rho + np.sum(gains) / each if f.any() else dead
        rows.append(np.array([rho, value, rest, *f, *flat(unit), *values(state, p.x)]))
    return np.array(rows)


def _predict_unnormalised(*, seed: int, weight_decay: float) -> Array:
    p, weights = _weights([4, 4, 4, 1], 3, seed)
    flow = sl.unnormalised_flow(
        weights, p.x, p.labels, weight_decay, t_end=_TIMES[-1], rtol=1e-11
    )
    rows = [
        [
            *(flow.rho_at(t), flow.loss(t), flow.rho_equilibrium(t), *flow.outputs(t)),
            *(*flat(flow.directions(t)), *sl.outputs(flow.parameters(t), p.x)),
        ]
        for t in _TIMES
    ]
    return np.array(rows)


UNNORMALISED_FLOW = numeric(
    id="sl/unnorm-flow",
    title="The gradient flow of a network without normalisation",
    statement=r"\dot W_k=-\partial L/\partial W_k,\; L=\sum(g-y)^2+\lambda\sum\|W_k\|^2",
    source=ours("Section 1, without normalisation; ours"),
    cases=grid(seed=(2, 9), weight_decay=(0.0, 0.3)),
    predict=_predict_unnormalised,
    measure=_measure_unnormalised,
    # As for weight normalisation; a resting norm is a quotient by outputs that die out.
    compare=AgreesTo(absolute=1e-8, relative=1e-8),
    must_refute=mistake("The flow without decay.", weight_decay=0.0),
    uses=("sl/unnorm",),
)


# --- the balance of energy --------------------------------------------------------------


def _predict_balance(
    *,
    kind: str,
    widths: list[int],
    rtol: float,
    weight_decay: float = 0.3,
    seed: int = 9,
) -> list[float]:
    p, weights = _weights(widths, 4, seed)
    rest: Any = {
        "x": p.x,
        "labels": p.labels,
        "weight_decay": weight_decay,
        "t_end": 0.2,
        "rtol": rtol,
        "atol": 0.01 * rtol,
    }
    if kind == "spheres":
        flow = sl.gradient_flow(p.directions, p.rho, **rest)
    elif kind == "vectors":
        flow = sl.weight_normalised_flow(p.rho, weights, **rest)
    else:
        flow = sl.unnormalised_flow(weights, **rest)
    error = flow.energy_error if rtol > _ROUNDED else 0.0
    return [float(len(flow.t)), flow.t_end, error, flow.energy_allowance]


_ROUNDED = 1e-6
"""Tolerances below it leave errors that are mostly rounding."""


def _measure_balance(
    *, kind: str, widths: list[int], rtol: float, seed: int = 9
) -> list[float]:
    """The library's integrator, step by step, with what a step dissipates beside it."""
    p, weights = _weights(widths, 4, seed)
    weight_decay = 0.3
    free, spheres = kind == "free", kind == "spheres"
    loss = (_decayed_loss if free else _normalised_loss)(p, weight_decay)
    moved = p.directions if spheres else weights
    start = [*moved] if free else [np.array([p.rho]), *moved]
    ends = np.cumsum([a.size for a in start])

    def parts(state: Array) -> list[Array]:
        cut = np.split(state[:-1], ends[:-1])
        found = [c.reshape(a.shape) for c, a in zip(cut, start, strict=True)]
        lengths = [np.linalg.norm(v) if spheres and v.ndim > 1 else 1.0 for v in found]
        return [v / length for v, length in zip(found, lengths, strict=True)]

    def moving(_: float, state: Array) -> Array:
        speed = flat(down(loss)(parts(state)))
        return np.append(speed, speed @ speed)

    def value(state: Array) -> float:
        return float(loss(tensors(parts(state))).detach())

    solver: Any = DOP853(
        *(moving, 0.0, np.append(flat(start), 0.0), 0.2), rtol=rtol, atol=0.01 * rtol
    )
    first, error, allowed, steps = value(solver.y), 0.0, 0.0, 1
    root = math.sqrt(solver.y.size)
    while solver.status == "running":
        solver.step()
        spent, steps = float(solver.y[-1]), steps + 1
        error = max(error, abs(value(solver.y) - first + spent))
        # Of each component the tolerance, of the loss what the state's makes of it.
        bounds = rtol * np.array([np.abs(solver.y[:-1]).max(), spent]) + 0.01 * rtol
        slopes = np.array([math.sqrt(solver.f[-1]), 1.0])
        allowed += root * float(slopes @ bounds)
        allowed += 8.0 * sys.float_info.epsilon * root * (first + spent)
        solver.y = np.append(flat(parts(solver.y)), spent)
    return [float(steps), solver.t, error if rtol > _ROUNDED else 0.0, allowed]


BALANCE = numeric(
    id="sl/energy-balance",
    items=("Eq3", "Eq4"),
    title="What a flow says of its error: energy lost and dissipated, and what is allowed",
    statement=r"\max_t|L-L(0)+E|,\; E=\int_0^t|\dot y|^2,\qquad \textstyle\sum\sqrt n"
    r"\,[|\dot y|(a+r|y|_\infty)+a+r\,E+8\epsilon\,(L(0)+E)]\text{ over steps}",
    source=ours("Equations 3 and 4; ours"),
    cases=(
        *grid(kind=("spheres", "vectors", "free"), widths=([3, 4, 1],), rtol=1e-3),
        # Without kinks steps are the same where rounding is a part of what is allowed.
        *grid(kind=("spheres", "vectors", "free"), widths=([3, 1],), rtol=1e-13),
        *grid(kind="free", widths=([3, 1],), rtol=1e-3, seed=5),
    ),
    predict=_predict_balance,
    measure=_measure_balance,
    # Lengths of steps follow the eighth root of their errors, of which rounding is less
    # than a hundredth: 1e-2 / 8.
    compare=AgreesTo(relative=2e-3),
    must_refute=mistake("Half of the decay.", weight_decay=0.15),
    uses=("sl/energy",),
)
