"""Edges of the panels of several functions at once."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def merged(meshes: Sequence[Array], kinks: Iterable[float] = ()) -> Array:
    """Return edges that resolve what each of some meshes resolves, and end at kinks.

    Of all edges those are kept without which a panel would be wider than one of the
    meshes allows there.

    Examples
    --------
    >>> merged([np.array([-1.0, 0.0, 1.0]), np.array([-1.0, 0.005, 1.0])]).tolist()
    [-1.0, 0.005, 1.0]
    """
    edges = np.unique(np.concatenate(meshes))
    if len(edges) < 2:
        return edges
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
