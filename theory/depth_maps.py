"""Depth-L kernels on the sphere as functions of one correlation, ready to evaluate.

Both kernels of a stack of layers (`theory.compositions`) are read off tables: a coarse
one for pairs that are close or opposite, a finer copy for the many others of a matrix.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from theory.activations import pair
from theory.compositions import (
    Layers,
    Steps,
    evaluate,
    one_layer,
    sides,
    stack,
    weights,
)
from theory.grids import CLOSE, FINE, SMALLEST

Array = npt.NDArray[np.float64]

CHUNK = 65536
"""Pairs evaluated together: their temporaries stay in cache."""


@dataclass(frozen=True, eq=False)
class DepthMap:
    """Depth-L kernels as functions of rho, ready to evaluate.

    Both kernels are relative to their diagonals; that of the tangent kernel is
    ``exp(log_diagonal)`` times that of the other one.
    """

    layers: Layers
    tables: tuple[Array, Array]
    log_diagonal: float
    at_minus_one: tuple[float, float]
    steps: Steps

    def __call__(self, rho: Array) -> tuple[Array, Array]:
        """Return NNGP and relative NTK at correlations of shape (m,)."""
        k, t = np.empty_like(rho), np.empty_like(rho)
        for i in range(0, rho.size, CHUNK):
            part = slice(i, i + CHUNK)
            r = rho[part]
            d = 1.0 - np.abs(r)
            close = np.flatnonzero(d < CLOSE)
            near = self.close(r[close], d[close])
            self.tabulated(r, d, (k[part], t[part]))
            k[part][close], t[part][close] = near
        return k, t

    def tabulated(self, rho: Array, d: Array, out: Sequence[Array]) -> None:
        """Write both kernels, or the first alone, from ``d = 1 - |rho|``.

        Where d is below `CLOSE` the result is any number. All arrays are of one shape;
        `d` is lost. In place throughout: passes over memory are what a matrix costs.
        """
        cell, y = FINE.locate(d)
        if self.layers.parity != -1:
            # All ones where the sign bit is set.
            negative = rho.view(np.int64) >> 63
            negative &= FINE.cells + 1
            cell += negative
        term, total, centred = np.empty_like(d), d, self.layers.centred
        for table, into in zip(self.tables, out, strict=False):
            # `clip` lets take write to a buffer, and out of range where d is.
            table[-1].take(cell, out=total, mode="clip")
            for power in range(len(table) - 2, -1, -1):
                total *= y
                table[power].take(cell, out=term, mode="clip")
                np.add(total, term, out=total if power or centred else into)
            if centred:
                np.multiply(total, rho, out=into)

    def close(self, rho: Array, d: Array) -> tuple[Array, Array]:
        """Return the kernels at correlations of shape (m,), from ``d = 1 - |rho|``."""
        k, _, t = _both(self.layers, rho, d)
        if d.size and d.min() < SMALLEST:
            self._mend(k, t, rho, d)
        return k, t

    def _mend(self, k: Array, t: Array, rho: Array, gap: Array) -> None:
        """Replace entries closer to +-1 than the table reaches."""
        negative = rho < 0.0
        same, opposite = (gap == 0.0) & ~negative, (gap == 0.0) & negative
        k[same] = t[same] = 1.0
        k[opposite], t[opposite] = self.at_minus_one
        close = (gap < SMALLEST) & (gap > 0.0)
        if self.layers.parity == 0:
            # The kernels are continuous at -1 with square-root corrections below
            # sqrt(2^-64), which only the odd case, K = -1 there, would resolve.
            k[close & negative], t[close & negative] = self.at_minus_one
            close &= ~negative
        if close.any():
            both = _recursion(self.steps, gap[close])
            for out, value in zip((k, t), both, strict=True):
                out[close] = np.where(
                    negative[close], self.layers.parity * value, value
                )


def _both(layers: Layers, rho: Array, d: Array) -> tuple[Array, Array, Array]:
    """Return f, 1 - |f| and the whole network's relative tangent kernel."""
    f, distance, p, a = evaluate(layers, rho, d)
    _, from_input, from_layers = weights(0.0, layers)
    return f, distance, from_layers * a + from_input * p * rho


def _recursion(steps: Steps, d: Array) -> tuple[Array, Array]:
    """Iterate layer by layer in the distance; for the few pairs that need it."""
    t, total = 1.0 - d, 0.0
    for activation, count in steps:
        e, power = pair(activation, activation), activation.second_moment
        one = one_layer(activation)
        for _ in range(count):
            angle = 2.0 * np.arcsin(np.sqrt(0.5 * d))
            total, carried, own = weights(total, one)
            if carried:
                s = e.slope(1.0 - d, angle) / activation.derivative_second_moment
                t *= carried * s
            d = e.distance(d) / power
            t += own * (1.0 - d)
    return 1.0 - d, t


@lru_cache(maxsize=32)
def depth_map(steps: Steps) -> DepthMap:
    """Return the depth map of a network's layers on the sphere."""
    deep = stack(steps)
    d = FINE.nodes()
    flat = d.ravel()
    found: list[tuple[Array, ...]] = []
    for sign in sides(deep.parity):
        rho = sign * (1.0 - flat)
        f, _, t = _both(deep, rho, flat)
        both = (f / rho, t / rho) if deep.centred else (f, t)
        found.append(tuple(FINE.taylor(values.reshape(d.shape)) for values in both))
    k, t = (np.concatenate(tables, axis=1) for tables in zip(*found, strict=True))
    return DepthMap(
        deep,
        (k, t),
        weights(0.0, deep)[0],
        # Antipodes stay antipodes, or are one input after the first even layer.
        (sign, sign) if (sign := float(deep.parity)) else _at_minus_one(steps),
        steps,
    )


def _at_minus_one(steps: Steps) -> tuple[float, float]:
    """Both kernels of antipodal inputs: the first layer exactly, the rest tabulated."""
    (activation, count), later = steps[0], steps[1:]
    e, total = pair(activation, activation), activation.second_moment
    minus = np.array([-1.0])
    k = np.clip(e.dual(minus) / total, -1.0, 1.0)
    apart = e.distance(1.0 - minus) / total
    log, carried, own = weights(0.0, one_layer(activation))
    t = own * k
    if carried:
        s = e.slope(minus, np.array([np.pi])) / activation.derivative_second_moment
        t -= carried * s
    rest = ((activation, count - 1), *later) if count > 1 else later
    if rest:
        deep = stack(rest)
        k, _, p, a = evaluate(deep, k, np.where(k < 0.0, 1.0 + k, apart))
        _, carried, own = weights(log, deep)
        t = own * a + carried * p * t
    return float(k[0]), float(t[0])
