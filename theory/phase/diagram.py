"""A phase diagram as numbers: cells of equal size, and the edge of chaos across them.

`theory.plots.phase_diagram` draws it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._naming import in_own_name
from theory.activations import Activation
from theory.phase._correlations import coarse
from theory.phase._curves import Moments
from theory.phase._settling import critical, highest, settle, variance_slope
from theory.phase._state import State, first_slope, tables
from theory.phase._state import depth as depths
from theory.phase.edges import LARGEST, edge_points

Array = npt.NDArray[np.float64]

BLOCK = 20_000
"""Networks that are classified together."""

START = 1.0
"""Variance of the first layer's pre-activations."""


@dataclass(frozen=True, eq=False)
class Diagram:
    """Depth scales and phases on a grid of networks, and the edge of chaos.

    Attributes
    ----------
    name : str
        Of the activation.
    weights, biases : tuple of float
        The ends of the axes: variances of the weights, times the width, and of the biases.
    depth : array, shape (points, points)
        Depth scale of correlations, in layers, by bias and weight variance; NaN where there
        is none, since variances grow without bound.
    phase : array of str, shape (points, points)
        ``"ordered"``, ``"chaotic"``, ``"critical"`` or ``"divergent"``.
    edges : tuple of (array, array)
        Weight and bias variances along each part of the edge.
    """

    name: str
    weights: tuple[float, float]
    biases: tuple[float, float]
    depth: Array
    phase: npt.NDArray[np.str_]
    edges: tuple[tuple[Array, Array], ...]


@in_own_name
def diagram(
    activation: Activation,
    weight_var: tuple[float, float],
    bias_var: tuple[float, float],
    points: int,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Diagram:
    r"""Classify the centres of points x points cells and find the edge among them.

    .. math:: \xi_c = -1 / \log \chi_c

    Parameters
    ----------
    activation : Activation
    weight_var, bias_var : tuple of float
        The ends of both axes, 0 <= low < high <= 1e8.
    points : int
        Cells a side, 2 to 1000.
    progress : callable, optional
        Takes the number of networks that are classified, and of all.

    Returns
    -------
    Diagram

    Raises
    ------
    ValueError
        If an argument is not as said.

    Notes
    -----
    Depth scales are as accurate as a picture needs: 1e-4 except next to the edge.

    Examples
    --------
    >>> from theory import activations as act
    >>> found = diagram(act.erf, (0.0, 4.0), (0.0, 0.5), 4)
    >>> found.phase[0].tolist()  # the smallest biases
    ['ordered', 'chaotic', 'chaotic', 'chaotic']
    """
    m = tables("diagram", activation)
    weights, biases = _axis("weight_var", weight_var), _axis("bias_var", bias_var)
    points = _checks.integer("diagram", "points", points, 2, 1000)
    if progress is not None:
        _checks.function("diagram", "progress", progress)
    w, b = (low + (high - low) * _centres(points) for low, high in (weights, biases))
    w, b = (v.ravel() for v in np.broadcast_arrays(w, b[:, None]))
    q = settle(m, w, b, START)
    panels = coarse(q[first_slope(m, q, w) > 1.0])
    depth, phase = np.empty(w.size), np.empty(w.size, dtype="U9")
    for block in np.array_split(np.arange(w.size), -(-w.size // BLOCK)):
        s = State(m, w[block], b[block], START, panels)
        # A slope of nothing may be interpolated to less.
        depth[block], phase[block] = depths(np.maximum(s.chi_c, 0.0)), s.phase
        if progress is not None:
            progress(int(block[-1]) + 1, w.size)
    shape = (points, points)
    edges = _edges(m, weights, biases)
    return Diagram(
        activation.name,
        weights,
        biases,
        depth.reshape(shape),
        phase.reshape(shape),
        edges,
    )


def _axis(name: str, ends: Any) -> tuple[float, float]:
    """Return the ends of an axis of variances, checked."""
    found = _checks.real("diagram", name, ends)
    if found.shape != (2,) or not 0.0 <= found[0] < found[1] <= LARGEST:
        need = f"be two numbers, 0 <= low < high <= {LARGEST:g}"
        raise _checks.refuse("diagram", name, need, ends)
    return float(found[0]), float(found[1])


def _centres(points: int) -> Array:
    return (np.arange(points) + 0.5) / points


def _edges(
    m: Moments, weights: tuple[float, float], biases: tuple[float, float]
) -> tuple[tuple[Array, Array], ...]:
    """Return the parts of the edge with stable variances that cross the window."""
    activation = m.activation
    if not np.isfinite(activation.derivative_second_moment):
        return ()
    single = [p for p in edge_points(activation) if p.stable and biases[0] == 0.0]
    if single and np.isnan(single[0].variance):
        w = single[0].weight_var
        inside = weights[0] <= w <= weights[1]
        return ((np.array([w]), np.array([0.0])),) if inside else ()
    q = np.geomspace(1e-7, 0.999 * np.exp(highest(m)), 4000)
    w, b, _ = critical(m, np.log(q))
    keep = (b >= 0.0) & (b <= 1.5 * biases[1]) & (w >= 0.0) & (w <= 3.0 * weights[1])
    keep[keep] = variance_slope(m, q[keep], w[keep]) < 1.0
    keep &= not m.tangent
    pieces = np.split(np.arange(q.size), np.flatnonzero(np.diff(keep)) + 1)
    return tuple((w[p], b[p]) for p in pieces if keep[p[0]] and p.size > 1)


@in_own_name
def reach(activation: Activation, bias_var: tuple[float, float]) -> float:
    """Return an end of the axis of weights that shows both phases.

    Parameters and errors as `diagram`.

    Examples
    --------
    >>> from theory import activations as act
    >>> reach(act.tanh, (0.0, 0.5))
    5.0
    """
    s = _checks.instance("reach", "activation", activation, Activation)
    biases = _axis("bias_var", bias_var)
    if not np.isfinite(s.derivative_second_moment):
        return 4.0
    points = [p for b in biases for p in edge_points(s, b)]
    largest = max((p.weight_var for p in points if p.stable), default=0.0)
    if not largest:
        # The other phase is then that of variances without bound.
        w, b = np.meshgrid(np.geomspace(1e-4, 2.5, 400), biases)
        q = settle(tables("reach", s), w.ravel(), b.ravel(), START)
        largest = float(w.ravel()[np.isfinite(q)].max(initial=1e-4))
    return float(f"{1.6 * largest:.1g}")
