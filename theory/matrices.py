"""Kernel matrices on the sphere: blocks of rows of the upper triangle, mirrored.

Each distinct pair is evaluated once. (Threads do not help: the passes over a chunk are
so short that they queue for the interpreter's lock.)
"""

import numpy as np
import numpy.typing as npt

from theory.depth_maps import DepthMap

Array = npt.NDArray[np.float64]

CLOSE = 1e-2
"""Below this distance ``1 - |rho|`` is recomputed from the difference of two inputs."""

ROWS = 64
"""Rows of a matrix that are filled together."""

CHUNK = 16384
"""Pairs evaluated together: their table rows and temporaries stay in cache."""


def evaluate(
    depth_map: DepthMap, rho: Array, d: Array | None = None
) -> tuple[Array, Array]:
    """Return both kernels at correlations of shape (m,), in chunks."""
    k, t = np.empty_like(rho), np.empty_like(rho)
    for i in range(0, rho.size, CHUNK):
        part = slice(i, i + CHUNK)
        k[part], t[part] = depth_map(rho[part], None if d is None else d[part])
    return k, t


def fill(
    v: Array,
    norms: Array,
    depth_map: DepthMap,
    scale: Array,
    growth: float,
    *,
    tangent: bool,
    relative: bool,
) -> tuple[Array, Array | None]:
    """Return K and T of the rows of v.

    K_ij is the map times ``scale_i scale_j``, T_ij is that times `growth`, or the map
    alone if `relative`.
    """
    n = len(v)
    k = np.empty((n, n))
    t = np.empty((n, n)) if tangent else None
    unit = v / norms[:, None]
    even = float(scale[0]) ** 2 if np.all(scale == scale[0]) else None

    for i in range(0, n, ROWS):
        stop = min(i + ROWS, n)
        rho, d = _distances(v, unit, norms, i)
        # The diagonal is exact: one, whatever is evaluated there.
        own = np.arange(stop - i)
        d[own, own] = 1.0
        values = evaluate(depth_map, rho.ravel(), d.ravel())
        products = even if even is not None else scale[i:stop, None] * scale[i:]
        for out, value in zip((k, t), values, strict=True):
            if out is None:
                continue
            part = value.reshape(stop - i, -1)
            part[own, own] = 1.0
            by = products if out is k else 1.0 if relative else products * growth
            if not isinstance(by, float) or by != 1.0:
                part *= by
            out[i:stop, i:] = part
            out[stop:, i:stop] = part[:, stop - i :].T
            # Both halves of a diagonal block come from the upper one.
            corner = out[i:stop, i:stop]
            corner[:] = np.triu(corner) + np.triu(corner, 1).T
    return k, t


def least_distance(v: Array, norms: Array) -> float:
    """Return the smallest ``1 - |rho|`` over pairs of rows of v."""
    unit = v / norms[:, None]
    least = np.inf
    for i in range(0, len(v), ROWS):
        _, d = _distances(v, unit, norms, i)
        d[np.tril_indices(len(d), 0, d.shape[1])] = np.inf
        least = min(least, float(d.min()))
    return least


def _distances(v: Array, unit: Array, norms: Array, first: int) -> tuple[Array, Array]:
    """Correlations and distances of a block of rows with all rows from it on.

    Distances that the product of unit vectors has lost to cancellation are recomputed.
    With w = x -+ y: 1 -+ cos = (|w|^2 - (|x| - |y|)^2) / (2 |x| |y|), and the difference
    of norms is w . (x +- y) / (|x| + |y|).
    """
    rho = unit[first : first + ROWS] @ unit[first:].T
    np.clip(rho, -1.0, 1.0, out=rho)
    d = np.abs(rho)
    np.subtract(1.0, d, out=d)
    close = np.flatnonzero(d.ravel() < CLOSE)
    for start in range(0, len(close), 4096):  # blocks bound the memory
        p, s = np.divmod(close[start : start + 4096], d.shape[1])
        keep = p < s
        p, s = p[keep], s[keep]
        x, y = v[first + p], v[first + s]
        y = np.where(rho[p, s] < 0.0, -1.0, 1.0)[:, None] * y
        w = x - y
        a, b = norms[first + p], norms[first + s]
        radial = np.einsum("ij,ij->i", w, x + y) / (a + b)
        gap = (np.einsum("ij,ij->i", w, w) - radial * radial) / (2.0 * a * b)
        d[p, s] = np.maximum(gap, 0.0)
        rho[p, s] = np.sign(rho[p, s]) * (1.0 - d[p, s])
    return rho, d
