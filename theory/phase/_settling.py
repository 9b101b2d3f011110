"""Where variances go: fixed points of the variance map from signs on a grid of log q."""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from theory.phase import _roots
from theory.phase._curves import HIGH, LOW, NOISE, Moments

Array = npt.NDArray[np.float64]

PER_PANEL = 8
"""Points of the grid on which fixed points are bracketed, for each factor e of q."""

CLEAR = 1e-3
"""Excess at an estimated extremum above which there is no fixed point near it."""

ROOM = 0.05
"""Of log variances, beside the largest of a map on the grid: it may peak in between."""

ROWS = 1 << 19
"""Numbers held at once by a search."""


def variance_slope(m: Moments, q: Array, w: Array) -> Array:
    """Return the derivative of the variance map at q; its limit at 0, nan at infinity."""
    if m.proportional is not None:
        return w * m.proportional
    out = np.full(q.shape, np.nan)
    zero, inside = q < math.exp(LOW), (q >= math.exp(LOW)) & np.isfinite(q)
    out[zero] = w[zero] * m.at_zero[1]
    at = q[inside]
    known = m.activation._closed_slopes(at)
    out[inside] = m.changes(at) if known is None else known[1]
    return np.where(zero, out, w * out)


def highest(m: Moments) -> int:
    """Return the log q below which both moments of the curve are within float64."""
    return m.slope.known_to(m.top)


def critical(m: Moments, t: Array) -> tuple[Array, Array, Array]:
    """Return weight and bias variances with chi_1 = 1 at log q = t; the latter's slope."""
    q = np.exp(t)
    if m.proportional is not None:
        return np.full(t.shape, 1.0 / m.proportional), np.zeros(t.shape), 0.0 * q
    v, dv = m.second.read(t)
    d, dd = m.slope.read(t)
    with np.errstate(all="ignore"):
        w = 1.0 / d
        b = q - w * v
        slope = q - w * dv + w * w * dd * v
    return w, np.where(np.abs(b) <= m.slope_noise * q, 0.0, b), slope


@np.errstate(over="ignore")  # to infinity, where no float64 holds what layers add
def settle(m: Moments, w: Array, b: Array, start: float) -> Array:
    """Return the variance that layers converge to, for flat arrays of parameters."""
    if m.proportional is not None:
        return _proportional_limit(w * m.proportional, b, start)
    out = np.empty(w.shape)
    step = ROWS // (PER_PANEL * (HIGH - LOW))
    for i in range(0, w.size, step):
        part = slice(i, i + step)
        out[part] = _settle(m, w[part], b[part], start)
    beyond = np.isinf(out)
    if not beyond.any():
        return out
    top = math.exp(m.top)
    if reasons := [(q, why) for q, why in m.unresolved if q > top]:
        raise ValueError(min(reasons)[1])  # not known to diverge
    # Biases alone may lead beyond the moments that float64 holds.
    least = w[beyond] * m.second.read(np.nextafter([float(m.top)], -np.inf))[0]
    if m.top < HIGH and (least <= top).any():
        raise ValueError(
            f"`bias_var` must leave the moments of {m.activation.name} within float64,"
            f" but variances exceed {top:.3g}."
        )
    return out


def _settle(m: Moments, w: Array, b: Array, start: float) -> Array:
    ends = _within(m, w, b, math.log(start))
    t = _first_layers(m, w, b, math.log(start), ends)
    grid = Grid.of(m, w, b, Grid.points(*ends))
    out = np.full(w.shape, np.nan)
    # Where an extremum between two points of the grid may reach the diagonal, alone.
    doubtful = grid.doubtful()
    for i in np.flatnonzero(doubtful):
        alone = Grid.of(m, w[i : i + 1], b[i : i + 1], grid.t).with_extrema()
        out[i] = alone.march(t[i : i + 1])[0]
    clear = np.flatnonzero(~doubtful)
    if clear.size:
        out[clear] = grid.take(clear).march(t[clear])
    return out


def _within(m: Moments, w: Array, b: Array, start: float) -> tuple[int, int]:
    """Return log variances, whole numbers, that no layer leaves again; up to `m.top`.

    What lies beyond is not tabulated: of a wave of high variance it takes seconds.
    """
    low, most = (
        sorted([start, math.log(max(float(v), 1e-300))]) for v in (b.min(), b.max())
    )
    first, most = min(max(LOW, math.floor(low[0]) - 1), HIGH - 1), most[1]
    for end in range(first + 1, HIGH):
        if m.second.panel(end - 1) is None:
            break
        if most < end - ROOM:
            t = Grid.points(first, end)
            t[-1] = np.nextafter(t[-1], -np.inf)
            value = float(w.max()) * float(m.second.read(t)[0].max()) + float(b.max())
            most = max(most, math.log(max(value, 1e-300)))
            if most < end - ROOM:
                return first, end
    return min(first, m.top - 1), m.top


def _first_layers(
    m: Moments, w: Array, b: Array, t: float, ends: tuple[int, int]
) -> Array:
    """Iterate a few layers where the map may fall: there variances can overtake."""
    now = np.full(w.shape, t)
    if m.rises(*ends):
        return now
    for _ in range(30):
        value = w * m.second.read(np.clip(now, *ends))[0] + b
        now = np.clip(np.log(np.maximum(value, 1e-300)), *ends)
    return now


def _proportional_limit(slope: Array, b: Array, start: float) -> Array:
    neutral = np.abs(slope - 1.0) <= NOISE
    with np.errstate(divide="ignore", invalid="ignore"):
        fixed = np.where(slope < 1.0, b / (1.0 - slope), np.inf)
    return np.where(neutral, np.where(b > 0.0, np.inf, start), fixed)


def below_the_range(m: Moments, w: Array, b: Array) -> Array:
    """Return fixed points below the table: there the map is a line."""
    value, slope = m.at_zero
    return (b + w * value) / (1.0 - w * slope)


@dataclass(frozen=True, eq=False)
class Grid:
    """Signs of (map - q) / q on a grid of log q, one row for each pair of parameters."""

    m: Moments
    w: Array
    b: Array
    t: Array  # (points,)
    second: Array  # E s^2 there, and its derivative in t less itself
    turn: Array
    sign: npt.NDArray[np.int8]  # (rows, points)

    @classmethod
    def of(cls, m: Moments, w: Array, b: Array, t: Array | None = None) -> "Grid":
        if t is None:
            # No fixed point lies below bias_var.
            lowest = math.log(max(float(b.min()), 1e-300)) if b.size else LOW
            t = cls.points(min(max(LOW, math.floor(lowest) - 1), m.top - 1), m.top)
        v, slope = m.second.read(np.minimum(t, np.nextafter(t[-1], -np.inf)))
        one, two = w[:, None] * v / np.exp(t), b[:, None] / np.exp(t)
        sign = _roots.signs(one + two - 1.0, NOISE * (one + two + 1.0))
        turn = np.subtract(slope, v, out=np.full_like(v, np.nan), where=np.isfinite(v))
        return cls(m, w, b, t, v, turn, sign)

    @staticmethod
    def points(low: int, high: int) -> Array:
        """Return log variances, some on every panel."""
        return np.linspace(low, high, PER_PANEL * (high - low) + 1)

    @property
    def floor(self) -> Array:
        """The map's limit at variance 0."""
        return self.b + self.w * self.m.at_zero[0]

    def take(self, rows: npt.NDArray[np.intp]) -> "Grid":
        """Return some of the rows."""
        return replace(self, w=self.w[rows], b=self.b[rows], sign=self.sign[rows])

    def _turns(self) -> npt.NDArray[np.bool_]:
        """Cells without a change of sign in which the excess turns towards zero."""
        slope = (self.w[:, None] * self.turn - self.b[:, None]) * self.sign
        return (
            (slope[:, :-1] < 0.0)
            & (slope[:, 1:] > 0.0)
            & (self.sign[:, :-1] == self.sign[:, 1:])
        )

    def doubtful(self) -> npt.NDArray[np.bool_]:
        """Rows in which two fixed points may lie within one cell."""
        rows, cells = np.nonzero(self._turns())
        ends = np.stack([cells, cells + 1])
        q, w, b = np.exp(self.t[ends]), self.w[rows], self.b[rows]
        value = (w * self.second[ends] + b) / q - 1.0
        slope = (w * self.turn[ends] - b) / q
        # The cubic through both ends, where a linear slope vanishes: cells of width 1/8
        # leave it within 1e-4 of the extremum.
        width = np.diff(self.t)[cells]
        x = slope[0] / (slope[0] - slope[1])
        y = 1.0 - x
        top = y * y * ((1.0 + 2.0 * x) * value[0] + x * width * slope[0])
        top += x * x * ((1.0 + 2.0 * y) * value[1] - y * width * slope[1])
        out = np.zeros(self.w.shape, dtype=bool)
        out[rows[np.sign(value[0]) * top < CLEAR]] = True
        return out

    def with_extrema(self) -> "Grid":
        """Return the grid of one row with a point more at every such turn."""
        cells = np.flatnonzero(self._turns()[0])
        if not cells.size:
            return self

        def slope(t: Array) -> tuple[Array, Array]:
            v, dv = self.m.second.read(t)
            return self.w[0] * (dv - v) - self.b[0], np.full(t.shape, np.nan)

        more = _roots.refine(slope, self.t[cells], self.t[cells + 1])
        t = np.sort(np.concatenate([self.t, more]))
        return Grid.of(self.m, self.w, self.b, t)

    def excess(self, rows: npt.NDArray[np.intp]) -> _roots.Function:
        """Return (map - q)/q and its derivative, at one point of each of the rows."""

        def function(t: Array) -> tuple[Array, Array]:
            v, dv = self.m.second.read(t)
            w, b, q = self.w[rows], self.b[rows], np.exp(t)
            return (w * v + b) / q - 1.0, (w * (dv - v) - b) / q

        return function

    def roots(self, rows: npt.NDArray[np.intp], cells: npt.NDArray[np.intp]) -> Array:
        """Return the fixed points in cells where the sign changes."""
        low, high = self.t[cells], self.t[cells + 1]
        return np.exp(_roots.refine(self.excess(rows), low, high))

    def march(self, start: Array) -> Array:
        """Return the limits of variances from `start` (log q), one for each row."""
        rows = np.arange(self.w.size)
        s, t = self.sign, self.t
        first = np.clip(np.searchsorted(t, start), 1, t.size - 1)
        value = self.excess(rows)(np.clip(start, t[0], np.nextafter(t[-1], t[0])))[0]
        up = np.where(np.abs(value) <= NOISE, s[rows, first - 1], np.sign(value)) > 0
        index = np.arange(t.size)
        # Upwards: the first point above that is not rising; downwards: the last that is.
        above = (index >= first[:, None]) & (s <= 0)
        below = (index < first[:, None]) & (s >= 0)
        out = np.full(self.w.size, np.inf)
        found = above.any(axis=1)
        stop = np.argmax(above, axis=1)
        go = np.flatnonzero(up & found)
        out[go] = self._between(go, np.maximum(t[stop[go] - 1], start[go]), t[stop[go]])
        found = below.any(axis=1)
        stop = t.size - 1 - np.argmax(below[:, ::-1], axis=1)
        go = np.flatnonzero(~up & found)
        out[go] = self._between(
            go,
            t[stop[go]],
            np.minimum(t[np.minimum(stop[go] + 1, t.size - 1)], start[go]),
        )
        down = np.flatnonzero(~up & ~found)
        with np.errstate(divide="ignore", invalid="ignore"):
            limit = below_the_range(self.m, self.w, self.b)
        out[down] = np.where(self.floor[down] > 0.0, limit[down], 0.0)
        still = (s == 0).all(axis=1)
        return np.where(still, np.exp(start), out)

    def _between(self, rows: npt.NDArray[np.intp], low: Array, high: Array) -> Array:
        if not rows.size:
            return np.empty(0)
        return np.exp(_roots.refine(self.excess(rows), low, high))
