"""The gradient flows as systems: velocities, projections and how states are read."""

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from theory.square_loss import _passes
from theory.square_loss._driver import System

Array = npt.NDArray[np.float64]
Weights = tuple[Array, ...]


def flatten(head: Array, weights: Weights) -> Array:
    return np.concatenate([head, *(w.ravel() for w in weights)])


def _reader(weights: Weights, offset: int) -> Callable[[Array], Weights]:
    """Return what cuts states, with leading axes, into matrices."""
    ends = np.cumsum([offset, *(w.size for w in weights)]).tolist()
    parts = list(zip(ends[:-1], ends[1:], [w.shape for w in weights], strict=True))

    def read(y: Array) -> Weights:
        return tuple(y[..., a:b].reshape(y.shape[:-1] + shape) for a, b, shape in parts)

    return read


def normalised(
    weights: Weights,
    x: Array,
    labels: Array,
    decay: float,
    *,
    clock: bool,
    linear: bool = False,
) -> System:
    """Return the flow of (rho, v_k); `clock`: the lengths of v_k slow it down."""
    read = _reader(weights, 1)

    def velocity(y: Array) -> Array:
        raw = read(y)
        lengths = [float(np.linalg.norm(v)) for v in raw]
        v = tuple(w / c for w, c in zip(raw, lengths, strict=True))
        hidden, f = _passes.forward(v, x, linear=linear)
        e = y[0] * f - labels
        mean = e @ f
        summed = _passes.pull_back(v, hidden, e, linear=linear)
        parts = [
            (2.0 * y[0] / (c if clock else 1.0)) * (w * mean - g)
            for w, g, c in zip(v, summed, lengths, strict=True)
        ]
        return flatten(np.array([-2.0 * (mean + decay * y[0])]), tuple(parts))

    def project(y: Array) -> Array:
        return y if clock else flatten(y[:1], _passes.project(read(y)))

    def outputs(y: Array) -> Array:
        return _passes.forward(_passes.project(read(y)), x, linear=linear)[1]

    def loss(y: Array) -> Array:
        e = y[..., :1] * outputs(y) - labels
        return np.sum(e * e, axis=-1) + decay * y[..., 0] ** 2

    def rest(y: Array) -> Array:
        f = outputs(y)
        a = decay + np.sum(f * f, axis=-1)
        # Where nothing moves the norm, it rests wherever it is.
        return np.where(a > 0.0, f @ labels, y[..., 0]) / np.where(a > 0.0, a, 1.0)

    def rho(y: Array) -> Array:
        return y[..., 0]

    made = partial(normalised, weights, x, labels, decay, clock=clock, linear=linear)
    return System(made, velocity, project, loss, rho, rest, read, outputs)


def free(weights: Weights, x: Array, labels: Array, decay: float) -> System:
    """Return the flow of W_k."""
    read = _reader(weights, 0)

    def velocity(y: Array) -> Array:
        w = read(y)
        hidden, g = _passes.forward(w, x)
        summed = _passes.pull_back(w, hidden, g - labels)
        return -2.0 * (flatten(np.array([]), summed) + decay * y)

    def rho(y: Array) -> Array:
        return np.asarray(np.prod(_passes.frobenius(read(y)), axis=-1))

    def outputs(y: Array) -> Array:
        return _passes.forward(_passes.project(read(y)), x)[1]

    def loss(y: Array) -> Array:
        e = _passes.forward(read(y), x)[1] - labels
        return np.sum(e * e, axis=-1) + decay * np.sum(y * y, axis=-1)

    def rest(y: Array) -> Array:
        f = outputs(y)
        s = np.sum(f * f, axis=-1)
        norms = np.sort(_passes.frobenius(read(y)), axis=-1)
        least, others = norms[..., 0], np.prod(norms[..., 1:], axis=-1)
        # 1 / (rho sum rho_k^-2), whose powers leave float64 where the least norm is tiny.
        shares = np.sum((least[..., np.newaxis] / norms) ** 2, axis=-1)
        with np.errstate(divide="ignore", over="ignore"):
            pull = decay * len(weights) * (least / others / shares) if decay else 0.0
            held = f @ labels - pull
        # A network without outputs decays to zero, or stays.
        dead = 0.0 if decay else rho(y)
        return np.where(s > 0.0, held, dead) / np.where(s > 0.0, s, 1.0)

    made = partial(free, weights, x, labels, decay)
    return System(made, velocity, lambda y: y, loss, rho, rest, read, outputs)
