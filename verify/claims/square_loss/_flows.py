"""The measured side of flows: automatic differentiation, integrated by a library."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from scipy.integrate import solve_ivp
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
    calls, ends = itertools.count(), np.cumsum([0, *(a.size for a in start)]).tolist()

    def parts(state: Array) -> list[Array]:
        cuts = itertools.pairwise(ends)
        return [
            state[i:j].reshape(a.shape) for (i, j), a in zip(cuts, start, strict=True)
        ]

    def moving(_: float, state: Array) -> Array:
        if next(calls) == _CALLS:
            raise ValueError(f"integrate: no end in sight after {_CALLS} evaluations")
        return flat(velocity(parts(state)))

    solution = solve_ivp(
        moving,
        (0.0, times[-1]),
        flat(start),
        method="DOP853",
        t_eval=times,
        rtol=tolerance,
        atol=0.01 * tolerance,
    )
    return [parts(column) for column in solution.y.T]


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
