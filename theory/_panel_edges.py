"""Edges of the panels of several functions at once."""

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

NODES = 16
"""Of the Gauss rule on joined panels."""

LEFT = 1e-15
"""What the rule may leave of an integral over all panels next to a kink."""

LADDER = 0.3
"""Width over distance of two neighbours that are as narrow as they are because of a kink:
a third for a root, whose panels are an eighth of the octave they halve."""


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
    # Numbers of Python, which a loop takes a fifth of the time for.
    at, wide = edges.tolist(), widths.tolist()
    kept, least = [at[0]], wide[0]
    for before, after, width in zip(at[1:-1], at[2:], wide[1:], strict=True):
        least = min(least, width)
        if before in ends or after - kept[-1] > 1.01 * least:
            kept.append(before)
            least = width
    return np.array([*kept, at[-1]])


def ladders(
    edges: Array, kinks: Iterable[float]
) -> Iterator[tuple[float, float, npt.NDArray[np.intp], Array]]:
    """Yield each kink and side, -1 or 1, with the edges that are there because of it.

    Their indices and their distances from it, rising: those nearer to it than to another
    kink, and where panels beyond are narrow for another reason, no farther than two of
    these are wide. Where two ladders are joined a panel may be narrow, but never two.
    """
    ends = np.array(sorted(kinks))
    for c in ends.tolist():
        for sign in (-1.0, 1.0):
            distance = sign * (edges - c)
            beyond = (sign * (ends - c))[sign * (ends - c) > 0.0]
            within = distance <= 0.5 * beyond.min(initial=np.inf)
            at = np.flatnonzero(within & (distance > 0.0))
            at = at[np.argsort(distance[at])]
            u = distance[at]
            wide = u[2:] - u[:-2]
            narrow = wide[wide < LADDER * u[2:]]
            last = (
                np.searchsorted(u, narrow[0], side="right") if narrow.size else u.size
            )
            yield c, sign, at[:last], u[:last]


def thinned(edges: Array, kinks: Iterable[float]) -> Array:
    """Join panels next to kinks as far as a Gauss rule bears that a polynomial does not.

    Panels that shrink towards a kink are each a share of their distance from it. On one
    whose ends are at distances u and r u an integrand that is singular at the kink is
    analytic in the ellipse of (sqrt r + 1) / (sqrt r - 1), of which the rule leaves the
    power -2 `NODES`; and if it is square integrable, the integral up to a distance u is
    at most a share sqrt(u) of that up to one.

    Examples
    --------
    >>> thinned(np.array([0.0, 0.25, 0.5, 1.0, 2.0, 4.0]), [0.0]).tolist()
    [0.0, 0.25, 1.0, 4.0]
    """
    drop = np.zeros(len(edges), dtype=bool)
    for _, _, at, u in ladders(edges, kinks):
        last = 0
        for i in range(1, len(u) - 1):
            share = math.sqrt(min(u[i + 1], 1.0))
            ellipse = (share / LEFT) ** (0.5 / NODES)
            if u[i + 1] <= u[last] * ((ellipse + 1.0) / (ellipse - 1.0)) ** 2:
                drop[at[i]] = True
            else:
                last = i
    return edges[~drop]
