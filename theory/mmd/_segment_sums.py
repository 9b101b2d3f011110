r"""Sums over all pairs of points on a segment, in time that grows like the points.

Points are divided into groups of at most a bandwidth. There a function of the difference,
as :math:`e^{-t^2}`, is a polynomial in either place: `NODES` nodes stand for a group's
points, with weights that are sums of Lagrange polynomials, and only groups near each
other see one another.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from theory._chebyshev import nodes

Array = npt.NDArray[np.float64]

NODES = 20
"""Of a group: they leave 2.2 (sqrt 2 / 4)^20 / sqrt(20!) = 1e-18 of a Gaussian."""

PLACES = 0.5 + 0.5 * nodes(NODES)
"""The nodes: Chebyshev's in [0, 1], falling."""

REACH = 8.0
"""Bandwidths between the first points of groups beyond which a Gaussian is nothing: of any
two of their points e^-49 is left."""

TOGETHER = 2048
"""Groups that are summed together."""

FEW = 512
"""Points up to this number are summed pair by pair,"""

NARROW = 1e-12
"""and points over smaller bandwidths: rounding of that ratio would mix groups."""

BLOCK = 1 << 20
"""Pairs that are summed together."""


def sums(f: Callable[[Array], Array], x: Array, gamma: float) -> Array:
    """Return sum_j f((x_i - x_j) / gamma) for every point in [0, 1], (m,), j = i included.

    f is entire, grows no faster than a Gaussian in the complex plane, and is nothing beyond
    `REACH` if points are so far apart. Error a few eps of m times the largest of |f|.
    """
    if len(x) <= FEW or gamma < NARROW:
        step = max(1, BLOCK // len(x))
        parts = [x[k : k + step, None] for k in range(0, len(x), step)]
        with np.errstate(over="ignore"):
            return np.concatenate([f((part - x) / gamma).sum(axis=1) for part in parts])
    order = np.argsort(x)
    rising = x[order]
    width = min(gamma, 1.0)
    _, first = np.unique(np.floor(rising / width), return_index=True)
    counts = np.diff(first, append=len(x))
    start = rising[first]
    basis = _lagrange((rising - np.repeat(start, counts)) / width)
    weights = np.add.reduceat(basis, first)
    felt = np.zeros_like(weights)
    for low in range(0, len(start), TOGETHER):
        _add(f, start, gamma, weights, felt, low)
    out = np.empty_like(x)
    out[order] = np.einsum("mn,mn->m", basis, np.repeat(felt, counts, axis=0))
    return out


def _lagrange(y: Array) -> Array:
    """Return the Lagrange polynomials of the nodes at places in [0, 1], (m, NODES).

    By the barycentric formula: their sum is one to the last digit.
    """
    k = np.arange(NODES)
    weights = np.where(k % 2, -1.0, 1.0) * np.sin(np.pi * (k + 0.5) / NODES)
    apart = y[:, None] - PLACES
    apart[apart == 0.0] = 1e-200  # so that all of the weight is the node's own
    share = weights / apart
    return share / share.sum(axis=1, keepdims=True)


def _add(
    f: Callable[[Array], Array],
    start: Array,
    gamma: float,
    weights: Array,
    felt: Array,
    low: int,
) -> None:
    """Add what some groups feel of those in their reach, and these of them."""
    apart = np.subtract.outer(PLACES, PLACES) * min(1.0, 1.0 / gamma)
    here = np.arange(low, min(low + TOGETHER, len(start)))
    other = here.copy()
    while len(here):
        gap = (start[other] - start[here]) / gamma
        near = gap <= REACH
        here, other, gap = here[near], other[near], gap[near]
        # A node of the group before over one of the group behind.
        left = f(apart - gap[:, None, None])
        felt[here] += np.einsum("gij,gj->gi", left, weights[other])
        behind = here != other
        right = f(gap[behind, None, None] + apart)
        felt[other[behind]] += np.einsum("gij,gj->gi", right, weights[here[behind]])
        other = other + 1
        inside = other < len(start)
        here, other = here[inside], other[inside]
