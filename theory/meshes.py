"""Panels on which a function is resolved: where its quadratures may end.

In the function's own units: a panel is fine enough when 16 Chebyshev nodes determine the
function on it to rounding. A Gaussian of any variance is then integrated by splitting
its own panels at these edges, however narrow or wide it is beside the function.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Function = Callable[[Array], Array]

NODES = 16
"""Gauss-Legendre nodes to use on a panel."""

RESOLVED = 8.0 * np.finfo(np.float64).eps
"""Last Chebyshev coefficients of a panel that is fine enough, over the function's size."""

NARROWEST = 2.0**-48
"""Width over 1 + |x| below which a panel is not halved."""

MOST = 100_000
"""Panels of one width that may be too wide: more is noise."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Edges of the panels in rising order, from -reach to reach, kinks among them.

    `rough` are points next to which the function was not resolved: a kink that was not
    named, a jump, or noise.
    """

    edges: Array
    rough: tuple[float, ...]


def resolve(f: Function, kinks: tuple[float, ...] = (), *, reach: float = 40.0) -> Mesh:
    """Halve panels until f is resolved on each.

    The size that rounding is measured against at x is the largest value of f at
    arguments up to |x|: a centred Gaussian has at least as much weight there.

    Examples
    --------
    >>> mesh = resolve(np.tanh, reach=1000.0)
    >>> mesh.rough, len(mesh.edges) < 60
    ((), True)
    """
    octaves = 2.0 ** np.arange(-1.0, max(np.log2(reach), 0.0))
    inside = [c for c in kinks if abs(c) < reach]
    edges = np.unique([-reach, reach, 0.0, *octaves, *-octaves, *inside])
    low, high = edges[:-1], edges[1:]
    done: list[Array] = []
    rough: list[float] = []
    y = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
    last = np.arange(NODES - 3, NODES)
    # Rows of the discrete cosine transform that give the last three coefficients.
    to_last = np.cos(np.pi * np.outer(last, np.arange(NODES) + 0.5) / NODES)
    to_last *= 2.0 / NODES
    at, most = np.zeros(0), np.zeros(0)
    while low.size:
        if low.size > MOST:
            raise ValueError(
                f"resolve: `f` must be smooth between `kinks`, got {low.size} panels that"
                " do not resolve it."
            )
        half = 0.5 * (high - low)
        x = 0.5 * (low + high)[:, None] + half[:, None] * y
        values = np.asarray(f(x.ravel()), dtype=np.float64).reshape(x.shape)
        at = np.concatenate([at, np.abs(x).max(axis=1)])
        most = np.concatenate([most, np.abs(values).max(axis=1)])
        order = np.argsort(at)
        at, most = at[order], np.maximum.accumulate(most[order])
        scale = most[np.searchsorted(at, np.abs(x).max(axis=1), side="right") - 1]
        tail = np.abs(values @ to_last.T).max(axis=1)
        # An argument is rounded as well: by its rounding times the slope.
        slope = np.ptp(values, axis=1) / (2.0 * half)
        size = scale + np.abs(x).max(axis=1) * slope
        fine = tail <= RESOLVED * size
        stuck = ~fine & (2.0 * half <= NARROWEST * (1.0 + np.abs(low)))
        rough += [float(v) for v in 0.5 * (low + high)[stuck]]
        accept = fine | stuck
        done.append(high[accept])
        low, high = low[~accept], high[~accept]
        middle = 0.5 * (low + high)
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return Mesh(np.unique(np.concatenate([[-reach], *done])), tuple(sorted(rough)))


def merged(meshes: Sequence[Array], kinks: Iterable[float] = ()) -> Array:
    """Return edges that resolve what each of some meshes resolves, and end at kinks.

    Of all edges those are kept without which a panel would be wider than one of the
    meshes allows there.

    Examples
    --------
    >>> merged([np.array([-1.0, 0.0, 1.0]), np.array([-1.0, 0.1, 1.0])]).tolist()
    [-1.0, 0.0, 1.0]
    """
    edges = np.unique(np.concatenate(meshes))
    middle = 0.5 * (edges[1:] + edges[:-1])
    widths = np.full(len(middle), np.inf)
    for m in meshes:
        cell = np.searchsorted(m, middle) - 1
        inside = (cell >= 0) & (cell < len(m) - 1)
        widths[inside] = np.minimum(widths[inside], np.diff(m)[cell[inside]])
    ends = {float(c) for c in kinks}
    kept, least = [float(edges[0])], np.inf
    for before, after, width in zip(edges[:-1], edges[1:], widths, strict=True):
        if before > kept[-1] and (
            before in ends or after - kept[-1] > 1.01 * min(least, width)
        ):
            kept.append(float(before))
            least = np.inf
        least = min(least, width)
    kept.append(float(edges[-1]))
    return np.array(kept)
