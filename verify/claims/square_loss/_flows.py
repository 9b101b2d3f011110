"""The measured side of flows: automatic differentiation, integrated by a library."""

import itertools
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.integrate import DOP853, solve_ivp
from torch import Tensor

from verify.claims.square_loss._networks import (
    Array,
    Problem,
    flat,
    gradients,
    outputs,
    projected,
    square_error,
    tensors,
)

Velocity = Callable[[list[Array]], Sequence[Array]]
Loss = Callable[[Sequence[Tensor]], Tensor]

_CALLS = 100_000


def integrate(
    velocity: Velocity,
    start: Sequence[Array],
    times: Sequence[float],
    *,
    tolerance: float = 1e-10,
) -> list[list[Array]]:
    """Integrate a flow of arrays; return them at every time.

    Raises
    ------
    ValueError
        If the flow slides along a kink, where steps shrink to nothing.
    """
    calls = itertools.count()

    def moving(state: list[Array]) -> Sequence[Array]:
        if next(calls) == _CALLS:
            raise ValueError(f"integrate: no end in sight after {_CALLS} evaluations")
        return velocity(state)

    solution = solve_ivp(
        partial(_flattened, moving, start),
        (0.0, times[-1]),
        flat(start),
        method="DOP853",
        t_eval=times,
        rtol=tolerance,
        atol=0.01 * tolerance,
    )
    return [_parts(column, start) for column in solution.y.T]


def _parts(state: Array, like: Sequence[Array]) -> list[Array]:
    cuts = np.cumsum([a.size for a in like])[:-1]
    pairs = zip(np.split(state, cuts), like, strict=True)
    return [part.reshape(a.shape) for part, a in pairs]


def _flattened(
    velocity: Velocity, start: Sequence[Array], _time: float, state: Array
) -> Array:
    return flat(velocity(_parts(state, start)))


def stuck(
    p: Problem, weight_decay: float, shortest: float, *, tolerance: float
) -> float:
    """Return the time from which steps of a problem's flow are shorter than that.

    Twenty in a row: a flow that crosses a kink goes on behind it.
    """
    start = [np.array([p.rho]), *p.directions]
    moving: Any = partial(_flattened, scale_and_directions(p, weight_decay), start)
    solver: Any = DOP853(
        moving, 0.0, flat(start), np.inf, rtol=tolerance, atol=0.01 * tolerance
    )
    times = deque([0.0], maxlen=21)
    for _ in range(_CALLS // 12):
        solver.step()
        times.append(solver.t)
        if len(times) == times.maxlen and np.diff(times).max() < shortest:
            return times[0]
    raise ValueError(f"stuck: no end in sight after {_CALLS} evaluations")


def down(loss: Loss) -> Velocity:
    """Return minus the gradient of a loss, as a velocity."""

    def velocity(state: list[Array]) -> Sequence[Array]:
        leaves = tensors(state)
        return [-g for g in gradients(loss(leaves), leaves)]

    return velocity


def loss_of(p: Problem, weight_decay: float) -> Loss:
    """Return the loss of (rho, V_1, ..., V_L), decay included."""

    def loss(state: Sequence[Tensor]) -> Tensor:
        rho, *directions = state
        error = square_error(rho, outputs(directions, p.x), p.labels)
        return error + weight_decay * rho.square().sum()

    return loss


def followed(
    p: Problem, weight_decay: float, times: Sequence[float], *, tolerance: float = 1e-10
) -> list[list[Array]]:
    """Return scale and directions of a problem at every time of their flow."""
    start = [np.array([p.rho]), *p.directions]
    flow = scale_and_directions(p, weight_decay)
    return integrate(flow, start, times, tolerance=tolerance)


def scale_and_directions(p: Problem, weight_decay: float) -> Velocity:
    """Return the velocity of (rho, V_1, ..., V_L): directions stay on their spheres."""
    loss = loss_of(p, weight_decay)

    def velocity(state: list[Array]) -> Sequence[Array]:
        leaves = tensors(state)
        slope, *slopes = gradients(loss(leaves), leaves)
        moves = [-projected(v, s) for v, s in zip(state[1:], slopes, strict=True)]
        return [-slope, *moves]

    return velocity
