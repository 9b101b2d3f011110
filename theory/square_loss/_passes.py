"""The two passes through a network, unchecked: what everything else is made of."""

import numpy as np
import numpy.typing as npt

from theory._arrays import unscaled

Array = npt.NDArray[np.float64]
Weights = tuple[Array, ...]


def forward(
    weights: Weights, x: Array, *, linear: bool = False
) -> tuple[list[Array], Array]:
    """Return the input of every layer, and the outputs."""
    hidden = [x]
    for w in weights[:-1]:
        z = hidden[-1] @ w.swapaxes(-1, -2)
        hidden.append(z if linear else np.maximum(z, 0.0))
    return hidden, (hidden[-1] @ weights[-1].swapaxes(-1, -2))[..., 0]


def backward(
    weights: Weights, hidden: list[Array], c: Array, *, linear: bool = False
) -> list[Array]:
    """Return ``c_n`` times the first bracket of (9) for every layer, (..., N, n_k)."""
    back = [c[..., np.newaxis]]
    for w, h in zip(weights[:0:-1], hidden[:0:-1], strict=True):
        back.append((back[-1] @ w) * (1.0 if linear else h > 0.0))
    return back[::-1]


def pull_back(
    weights: Weights, hidden: list[Array], c: Array, *, linear: bool = False
) -> Weights:
    """Return ``sum_n c_n df_n/dW_k`` from the inputs of the layers."""
    back = backward(weights, hidden, c, linear=linear)
    return tuple(a.swapaxes(-1, -2) @ h for a, h in zip(back, hidden, strict=True))


def lengths(rows: Array) -> Array:
    """Return the norms of rows, however small: no square underflows."""
    parts, power = unscaled(rows, -1)
    return np.asarray(np.ldexp(np.linalg.norm(parts, axis=-1), power[..., 0]))


def frobenius(weights: Weights) -> Array:
    """Return the norms, (..., L)."""
    sizes = [lengths(v.reshape(*v.shape[:-2], -1)) for v in weights]
    return np.stack(np.broadcast_arrays(*sizes), axis=-1)


def project(weights: Weights) -> Weights:
    """Return the directions, however small the matrices."""
    parts = [unscaled(v, (-2, -1))[0] for v in weights]
    return tuple(v / np.linalg.norm(v, axis=(-2, -1), keepdims=True) for v in parts)
