"""The measured side of identities: networks and losses by automatic differentiation.

Nothing here knows a closed form. Everything is float64; a problem is drawn from its
seed, away from the kinks of its network.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import torch
from hypothesis import strategies as st
from torch import Tensor

from verify.claims._searches import SEEDS, searched

Array = npt.NDArray[np.floating[Any]]

# Pre-activations nearer to the kink than this are drawn again.
_CLEAR = 1e-9


@dataclass(frozen=True, eq=False)
class Problem:
    """Directions V_k (unit Frobenius norm), inputs of length one, labels, a scale."""

    directions: tuple[Array, ...]
    x: Array
    labels: Array
    rho: float


def unit_rows(x: Array) -> Array:
    """Return rows divided by their lengths."""
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def problem(widths: Sequence[int], examples: int, seed: int) -> Problem:
    """Draw a problem; `widths` are n_0 (the inputs) to n_L = 1."""
    rng = np.random.default_rng([40, seed])
    while True:
        weights = [
            rng.standard_normal((after, before))
            for before, after in itertools.pairwise(widths)
        ]
        directions = tuple(w / np.linalg.norm(w) for w in weights)
        x = unit_rows(rng.standard_normal((examples, widths[0])))
        labels = rng.choice((-1.0, 1.0), size=examples)
        rho = float(np.exp(rng.standard_normal()))
        arrays = tuple(torch.from_numpy(v) for v in directions)
        hidden = preactivations(arrays, torch.from_numpy(x))[:-1]
        if all(float(z.abs().min()) > _CLEAR for z in hidden):
            return Problem(directions, x, labels, rho)


def aligned(vectors: Sequence[Array]) -> list[Array]:
    """Return layers of rank one, V_k = v_k v_{k-1}^T, each fed by the one before."""
    return [np.outer(after, before) for before, after in itertools.pairwise(vectors)]


def interpolator(widths: Sequence[int], examples: int, seed: int) -> Problem:
    """Return a network of zero loss: random layers, and a last one that is solved for.

    At zero loss and without decay every direction rests.
    """
    p = problem(widths, examples, seed)
    hidden = p.x
    for v in p.directions[:-1]:
        hidden = np.maximum(hidden @ v.T, 0.0)
    last = np.linalg.lstsq(hidden, p.labels, rcond=None)[0]
    rho = float(np.linalg.norm(last))
    return Problem((*p.directions[:-1], last[None] / rho), p.x, p.labels, rho)


problems = searched(
    widths=st.lists(st.integers(1, 9), min_size=1, max_size=4).map(lambda h: [*h, 1]),
    examples=st.integers(1, 8),
    seed=SEEDS,
)
"""Networks of one to four layers on up to eight examples."""


def tensors(arrays: Sequence[Array]) -> tuple[Tensor, ...]:
    """Return copies as leaves to differentiate by."""
    return tuple(torch.from_numpy(np.array(a)).requires_grad_() for a in arrays)


def preactivations(
    weights: Sequence[Tensor],
    x: Tensor,
    activation: Callable[[Tensor], Tensor] = torch.relu,
) -> list[Tensor]:
    """Return what each layer puts out before its activation, (N, n_k)."""
    found: list[Tensor] = []
    for weight in weights:
        x = (activation(found[-1]) if found else x) @ weight.T
        found.append(x)
    return found


def outputs(
    weights: Sequence[Tensor],
    x: Array,
    activation: Callable[[Tensor], Tensor] = torch.relu,
) -> Tensor:
    """Return f_n, shape (N,)."""
    return preactivations(weights, torch.from_numpy(x), activation)[-1][:, 0]


def values(
    weights: Sequence[Array],
    x: Array,
    activation: Callable[[Tensor], Tensor] = torch.relu,
) -> Array:
    """Return f_n as plain numbers, shape (N,)."""
    return outputs(tensors(weights), x, activation).detach().numpy()


def square_error(rho: Tensor | float, f: Tensor, labels: Array) -> Tensor:
    """Return the sum over examples of (rho f - y)^2."""
    return (rho * f - torch.from_numpy(labels)).square().sum()


def gradients(value: Tensor, by: Sequence[Tensor]) -> tuple[Array, ...]:
    """Return the derivatives of a number; zero where it does not depend."""
    found = torch.autograd.grad(
        value, list(by), retain_graph=True, materialize_grads=True
    )
    return tuple(g.numpy() for g in found)


def slopes_of(p: Problem) -> tuple[Array, ...]:
    """Return the derivatives of a problem's square error by its directions."""
    leaves = tensors(p.directions)
    return gradients(square_error(p.rho, outputs(leaves, p.x), p.labels), leaves)


def moves_of(p: Problem) -> list[Array]:
    """Return the velocities of a problem's directions on their spheres."""
    pairs = zip(p.directions, slopes_of(p), strict=True)
    return [-projected(v, slope) for v, slope in pairs]


def held(p: Problem) -> list[Array]:
    """Return the directions' velocities with the multiplier of Equation 1 in the loss."""
    f = values(p.directions, p.x)
    multiplier = -p.rho * np.sum((p.rho * f - p.labels) * f)
    pairs = zip(p.directions, slopes_of(p), strict=True)
    return [-slope - 2.0 * multiplier * v for v, slope in pairs]


def least_squares(f: Array, labels: Array, weight_decay: float) -> float:
    """Return the scale of least loss at outputs, where decay is one more example."""
    rows, goals = np.append(f, np.sqrt(weight_decay)), np.append(labels, 0.0)
    return float(np.linalg.lstsq(rows[:, None], goals, rcond=None)[0][0])


def jacobians(
    directions: Sequence[Array],
    x: Array,
    activation: Callable[[Tensor], Tensor] = torch.relu,
) -> tuple[Array, ...]:
    """Return df_n/dV_k of every example, one array (N, n_k, n_{k-1}) a layer."""
    leaves = tensors(directions)
    rows = [gradients(f, leaves) for f in outputs(leaves, x, activation)]
    return tuple(np.array(layer) for layer in zip(*rows, strict=True))


def single_residuals(directions: Sequence[Array], x: Array) -> Array:
    """Return ||df_j/dV_k - V_k f_j|| / |f_j|, (layers, examples)."""
    f = values(directions, x)[:, None, None]
    pairs = zip(directions, jacobians(directions, x), strict=True)
    gaps = [np.linalg.norm(s - v * f, axis=(1, 2)) for v, s in pairs]
    return np.array(gaps) / np.abs(f[:, 0, 0])


def largest_margin(rows: Any) -> Any:
    """Return the largest margin of a unit vector on rows of mpmath, labels in them.

    The shortest w whose products with all rows are one at least has equality on a set of
    independent rows; each set gives the shortest w with equality there.
    """
    best = mpmath.mpf(0)
    for size in range(1, min(rows.rows, rows.cols) + 1):
        for chosen in itertools.combinations(range(rows.rows), size):
            part = mpmath.matrix([list(rows[i, :]) for i in chosen])
            try:
                dual = mpmath.lu_solve(part * part.T, mpmath.ones(size, 1))
            except ZeroDivisionError:
                continue  # dependent rows: fewer of them do
            w = part.T * dual
            best = max(best, min(rows * w) / mpmath.norm(w))
    return best


def flat(arrays: Sequence[npt.NDArray[Any]]) -> Array:
    """Return all entries in a row."""
    return np.concatenate([np.ravel(a) for a in arrays])


def projected(direction: Array, slope: Array) -> Array:
    """Return (I - V V^T) slope, in vectorised form."""
    return slope - np.vdot(direction, slope) / np.vdot(direction, direction) * direction
