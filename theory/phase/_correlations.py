r"""The correlation map at a fixed variance, for many variances at once.

Two pre-activations of variance q and correlation c = 1 - delta go to covariances. Near
c = 1 the unknown is delta, with ``E s^2 - E s(u) s(v) = delta * ratio``; below c = 1/2 it
is c. A few variances take the engines of `theory.activations` at each; for many, these are
evaluated at the nodes of panels in (log q, log delta) or (log q, c) and interpolated:
analytic in log q as in `theory.phase._curves`, and in the log of the angle
``delta = 2 sin^2(angle/2)`` up to imaginary parts of pi/2 for the same reason.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory.activations.base import pair
from theory.duals import Engine
from theory.phase._curves import LOW, NODES, Moments, basis, nodes

Array = npt.NDArray[np.float64]
Two = tuple[Array, Array]

STEPS = 300
SMALLEST = 1e-18
"""Distances below it count as none."""


@dataclass(frozen=True)
class Panels:
    """Panels of log q on which both functions are interpolated, by so many variances."""

    low: float = 0.0
    width: float = 1.0
    count: int = NODES


EXACT = Panels()
"""Leaves rounding only; a panel costs `NODES` engines."""

COARSE = 5e4
"""What nodes of a panel for pictures reduce the error by: 2e-5 is left."""


def coarse(q: Array) -> Panels:
    """Return one panel that covers all the variances, positive or not, for pictures."""
    known = q[np.isfinite(q) & (q >= math.exp(LOW))]
    if not known.size:
        return EXACT
    low, high = math.log(float(known.min())), math.log(float(known.max()))
    # A little wider, so that the largest is not on a panel of its own.
    width = max(1.001 * (high - low), 1e-3)
    # The strip of half-width pi/2 holds the ellipse of half-axis pi/width.
    count = math.ceil(math.log(COARSE) / math.asinh(math.pi / width))
    return Panels(low, width, max(count, 2))


def near(engine: Engine, delta: Array) -> Two:
    """Return (E s^2 - E s(u) s(v)) / delta and the slope in c, at c = 1 - delta."""
    t = 2.0 * np.arcsin(np.sqrt(0.5 * delta))
    return engine.distance(delta) / delta, engine.slope(1.0 - delta, t)


def far(engine: Engine, c: Array) -> Two:
    """Return E s(u) s(v) and its slope in c."""
    return engine.dual(c), engine.slope(c)


class Evaluator:
    """Both functions at one point for each of the variances q."""

    def __init__(self, m: Moments, q: Array, panels: Panels = EXACT) -> None:
        self.m = m
        self.q = q
        self.panels = panels
        self.t = (np.log(q) - panels.low) / panels.width
        self.panel = np.floor(self.t).astype(int)
        used, counts = np.unique(self.panel, return_counts=True)
        # A panel costs so many engines; fewer variances take their own.
        few = used[counts <= panels.count] if panels == EXACT else used[:0]
        self.alone = np.isin(self.panel, few)

    def near(self, rows: npt.NDArray[np.intp], delta: Array) -> Two:
        """Return `near` for rows of q."""
        # delta / 2 = sin^2(angle / 2) falls by e^2 from panel to panel.
        u = 0.5 * np.log(np.maximum(2.0 * delta, 1e-300))
        cell = np.minimum(np.floor(u), -1.0).astype(int)
        return self._read(rows, near, delta, u - cell, cell)

    def far(self, rows: npt.NDArray[np.intp], c: Array) -> Two:
        """Return `far` for rows of q, 0 <= c <= 1/2."""
        return self._read(rows, far, c, 2.0 * c, np.zeros(c.shape, int))

    def _read(
        self,
        rows: npt.NDArray[np.intp],
        function: Callable[[Engine, Array], Two],
        x: Array,
        place: Array,
        cell: npt.NDArray[np.int_],
    ) -> Two:
        value, slope = np.empty(x.shape), np.empty(x.shape)
        alone = self.alone[rows]
        for i in np.flatnonzero(alone):
            a = self.m.at(float(self.q[rows[i]]))
            v, s = function(pair(a, a), x[i : i + 1])
            value[i], slope[i] = v[0], s[0]
        panel = self.panel[rows]
        keys = np.unique(np.stack([panel[~alone], cell[~alone]]), axis=1).T
        for k, j in keys.tolist():
            mask = ~alone & (panel == k) & (cell == j)
            table = self._table(function, int(k), int(j))
            across = basis(2.0 * (self.t[rows[mask]] - k) - 1.0, self.panels.count)
            along = basis(2.0 * place[mask] - 1.0)
            both = np.einsum("ni,fij,nj->fn", across, table, along, optimize=True)
            value[mask], slope[mask] = both[0], both[1]
        return value, slope

    def _table(self, function: Any, k: int, j: int) -> Array:
        """Values and slopes at the nodes of a panel, (2, count, NODES)."""
        key = (self.panels, function is near, k, j)
        if key not in self.m.corners:
            u = nodes(0.0, 1.0)
            x = 0.5 * np.exp(2.0 * (u + j)) if function is near else 0.5 * u
            rows = []
            for t in nodes(k, k + 1.0, self.panels.count).tolist():
                a = self.m.at(math.exp(self.panels.low + self.panels.width * t))
                rows.append(np.stack(function(pair(a, a), x)))
            self.m.corners[key] = np.stack(rows, axis=1)
        return self.m.corners[key]


def fixed(
    m: Moments, q: Array, w: Array, b: Array, panels: Panels = EXACT
) -> tuple[Array, Array, Array]:
    """Return the distances, correlations and slopes of the fixed points below one.

    For flat arrays of finite positive variances with chi_1 > 1. The map of correlations
    is convex on [0, 1]: Newton's steps from a side on which they cannot overshoot.
    """
    e, every = Evaluator(m, q, panels), np.arange(q.size)
    scale = w / q
    delta, c, slope = np.empty(q.shape), np.empty(q.shape), np.empty(q.shape)
    half = np.full(q.shape, 0.5)
    close = scale * e.near(every, half)[0] < 1.0
    rows = every[close]
    delta[rows], slope[rows] = _newton_near(e, rows, scale[rows])
    c[rows] = 1.0 - delta[rows]
    rows = every[~close]
    c[rows], slope[rows] = _newton_far(e, rows, scale[rows], (b / q)[rows])
    delta[rows] = 1.0 - c[rows]
    return delta, c, slope


def _newton_near(
    e: Evaluator, rows: npt.NDArray[np.intp], scale: Array
) -> tuple[Array, Array]:
    # scale * delta * ratio - delta is concave, 0 at 0 and negative at 1/2: from the right
    # the steps fall towards the root.
    delta, slope = np.full(rows.shape, 0.5), np.ones(rows.shape)
    active = np.arange(rows.size)
    for _ in range(STEPS):
        if not active.size:
            break
        d = delta[active]
        ratio, s = e.near(rows[active], d)
        gain = scale[active] * s
        slope[active] = gain
        excess = scale[active] * ratio - 1.0
        with np.errstate(all="ignore"):
            new = d - d * excess / (gain - 1.0)
        new = np.where(gain < 1.0, np.clip(new, 0.0, 0.5), 0.0)
        moved = np.abs(new - d) > 4e-16 * d
        tiny = new < SMALLEST
        delta[active] = np.where(tiny, 0.0, new)
        slope[active[tiny]] = 1.0
        # Steps that rise are rounding at the root.
        active = active[moved & ~tiny & (new < d)]
    return delta, slope


def _newton_far(
    e: Evaluator, rows: npt.NDArray[np.intp], scale: Array, share: Array
) -> tuple[Array, Array]:
    # scale * dual(c) + share - c is convex, positive at 0 and negative at 1/2: from the
    # left the steps rise towards the root.
    c, slope = np.zeros(rows.shape), np.zeros(rows.shape)
    active = np.arange(rows.size)
    for _ in range(STEPS):
        if not active.size:
            break
        x = c[active]
        value, s = e.far(rows[active], x)
        gain = scale[active] * s
        slope[active] = gain
        excess = scale[active] * value + share[active] - x
        new = np.clip(x + excess / (1.0 - gain), 0.0, 0.5)
        c[active] = new
        active = active[(new - x) > 4e-16 * new]
    return c, slope
