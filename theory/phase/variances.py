r"""The variance map of deep random networks and its fixed points.

Weights of variance ``weight_var / width`` and biases of variance ``bias_var``: from layer
to layer the variance of a pre-activation becomes

.. math:: q \mapsto \sigma_w^2\, E\,s(\sqrt q Z)^2 + \sigma_b^2 .

Since ``sqrt(q) E s(sqrt(q) Z)^2`` increases with q, the slope at a fixed point is never
below -1/2: a fixed point is stable where the slope is below one, and no variance ever
oscillates for good.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory.activations import Activation
from theory.phase import _roots
from theory.phase._curves import HIGH, LOW, Moments, moments

Array = npt.NDArray[np.float64]

PER_PANEL = 8
"""Points of the grid on which fixed points are bracketed, for each factor e of q."""

NOISE = 4e-15
"""Relative error of the tabulated moments: below it a difference has no sign."""

ROWS = 1 << 19
"""Numbers held at once by a search."""


@dataclass(frozen=True)
class FixedVariance:
    """A fixed point of the variance map.

    Attributes
    ----------
    variance : float
        q*; 0 where small variances shrink to nothing.
    slope : float
        chi_q, the derivative of the map there: one layer's factor on a small deviation.
    stable : bool
        Whether variances nearby converge to it.
    """

    variance: float
    slope: float
    stable: bool


def variance_map(
    q: Any, activation: Activation, weight_var: Any, bias_var: Any = 0.0
) -> Any:
    r"""Return the next layer's variance, weight_var E s(sqrt(q) Z)^2 + bias_var.

    Parameters
    ----------
    q : float or array_like
        Variances of the pre-activations, positive.
    activation : Activation
        Used as it is.
    weight_var, bias_var : float or array_like
        Variance of a weight times the width, positive; of a bias, at least 0.

    Returns
    -------
    float or array
        Broadcast. Relative accuracy 1e-13.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Poole et al. (2016), equation 3.

    Examples
    --------
    >>> from theory import activations as act
    >>> variance_map([1.0, 4.0], act.relu, weight_var=2.0, bias_var=0.5).tolist()
    [1.5, 4.5]
    """
    who = "variance_map"
    v = _checks.positive(who, "q", q)
    w, b = parameters(who, weight_var, bias_var)
    out = w * activation.length_map(v) + b
    return like((q, weight_var, bias_var), out)


def fixed_variances(
    activation: Activation, weight_var: float, bias_var: float = 0.0
) -> tuple[FixedVariance, ...]:
    r"""Return every fixed point of the variance map, the smallest first.

    Parameters
    ----------
    activation : Activation
    weight_var, bias_var : float
        Numbers, as in `variance_map`.

    Returns
    -------
    tuple of FixedVariance
        Fixed points from 0 to 1e8, accurate as `fixed_variance` says. Empty where every
        variance grows, and where every variance is a fixed point: ReLU with
        ``weight_var = 2``.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    Without biases a zero input stays zero; in the chaotic phase of tanh that is unstable:

    >>> from theory import activations as act
    >>> for point in fixed_variances(act.tanh, 2.0):
    ...     print(f"{point.variance:.6f} {point.slope:.6f} {point.stable}")
    0.000000 2.000000 False
    0.427979 0.607082 True
    """
    who = "fixed_variances"
    w = _checks.scalar(who, "weight_var", weight_var, positive=True)
    b = _checks.scalar(who, "bias_var", bias_var)
    m = moments(activation)
    if m.proportional is not None:
        return _proportional_points(w * m.proportional, b)
    grid = _Grid.of(m, np.array([w]), np.array([b])).with_extrema()
    s = grid.sign[0]
    points: list[FixedVariance] = []
    if grid.floor[0] == 0.0:
        slope = w * m.at_zero[1]
        points.append(FixedVariance(0.0, slope, bool(s[0] < 0)))
    elif s[0] < 0:
        q = _below_the_range(m, np.array([w]), np.array([b]))
        points.append(FixedVariance(float(q[0]), w * m.at_zero[1], stable=True))
    cells = np.flatnonzero(s[:-1] * s[1:] < 0)
    if cells.size:
        q = grid.roots(np.zeros(cells.size, int), cells)
        slope = variance_slope(m, q, np.full(q.shape, w))
        points += [
            FixedVariance(float(v), float(k), bool(s[c] > 0))
            for v, k, c in zip(q, slope, cells, strict=True)
        ]
    return tuple(points)


def fixed_variance(
    activation: Activation,
    weight_var: Any,
    bias_var: Any = 0.0,
    *,
    start: float = 1.0,
) -> Any:
    r"""Return the variance q* that layers converge to from `start`.

    Parameters
    ----------
    activation : Activation
    weight_var, bias_var : float or array_like
        As in `variance_map`.
    start : float
        Variance of the first layer's pre-activations, positive.

    Returns
    -------
    float or array
        ``inf`` where variances grow beyond 1e8, 0 where they vanish, `start` itself where
        every variance is fixed. Relative error about ``1e-15 / |1 - chi_q|`` with the slope
        chi_q of the map: 1e-13 unless the slope is within a percent of one. Two fixed
        points that merge (slope one) are told apart from none as long as the map stays
        4e-15 of q off the diagonal between them.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Poole et al. (2016), section 3. Roots of the map on a table of E s^2, not its
    iteration: as fast and as accurate where convergence is slow.

    Examples
    --------
    >>> from theory import activations as act
    >>> round(fixed_variance(act.tanh, 2.0, 0.1), 12)
    0.600478554889
    >>> fixed_variance(act.tanh, [0.9, 1.0]).tolist()  # vanish, however slowly
    [0.0, 0.0]
    >>> fixed_variance(act.relu, [1.5, 2.0, 2.5], start=3.0).tolist()
    [0.0, 3.0, inf]
    """
    who = "fixed_variance"
    w, b = parameters(who, weight_var, bias_var)
    q = _checks.scalar(who, "start", start, positive=True)
    out = settle(moments(activation), w.ravel(), b.ravel(), q).reshape(w.shape)
    return like((weight_var, bias_var), out)


# --- shared with the other modules ----------------------------------------------------


def parameters(who: str, weight_var: Any, bias_var: Any) -> tuple[Array, Array]:
    """Return both variances, checked and broadcast."""
    w = _checks.positive(who, "weight_var", weight_var)
    b = _checks.not_negative(who, "bias_var", bias_var)
    try:
        w, b = np.broadcast_arrays(w, b)
    except ValueError:
        raise ValueError(
            f"{who}: `weight_var` and `bias_var` must broadcast, got shapes {w.shape}"
            f" and {b.shape}."
        ) from None
    return w.copy(), b.copy()


def like(inputs: tuple[Any, ...], out: Any) -> Any:
    """Return a Python float when all inputs are scalars."""
    array = np.asarray(out)
    return float(array) if all(np.ndim(v) == 0 for v in inputs) else array


def variance_slope(m: Moments, q: Array, w: Array) -> Array:
    """Return the derivative of the variance map at q; its limit at 0, nan at infinity."""
    if m.proportional is not None:
        return w * m.proportional
    out = np.full(q.shape, np.nan)
    zero, inside = q < math.exp(LOW), (q >= math.exp(LOW)) & np.isfinite(q)
    out[zero] = w[zero] * m.at_zero[1]
    out[inside] = w[inside] * m.second.read(np.log(q[inside]))[1] / q[inside]
    return out


def settle(m: Moments, w: Array, b: Array, start: float) -> Array:
    """Return the variance that layers converge to, for flat arrays of parameters."""
    if m.proportional is not None:
        return _proportional_limit(w * m.proportional, b, start)
    out = np.empty(w.shape)
    step = max(1, ROWS // (PER_PANEL * (HIGH - LOW)))
    for i in range(0, w.size, step):
        part = slice(i, i + step)
        out[part] = _settle(m, w[part], b[part], start)
    return out


def _settle(m: Moments, w: Array, b: Array, start: float) -> Array:
    t = _first_layers(m, w, b, math.log(start))
    grid = _Grid.of(m, w, b)
    out = np.full(w.shape, np.nan)
    # Where an extremum between two points of the grid may reach the diagonal, alone.
    doubtful = grid.doubtful()
    for i in np.flatnonzero(doubtful):
        alone = _Grid.of(m, w[i : i + 1], b[i : i + 1]).with_extrema()
        out[i] = alone.march(t[i : i + 1])[0]
    clear = np.flatnonzero(~doubtful)
    if clear.size:
        out[clear] = grid.take(clear).march(t[clear])
    return out


def _first_layers(m: Moments, w: Array, b: Array, t: float) -> Array:
    """Iterate a few layers where the map may fall: there variances can overtake."""
    end = np.array([float(LOW), float(m.top)])
    now = np.full(w.shape, t)
    if m.rises:
        return now
    for _ in range(30):
        value = w * m.second.read(np.clip(now, *end))[0] + b
        now = np.clip(np.log(np.maximum(value, 1e-300)), *end)
    return now


def _proportional_points(slope: float, b: float) -> tuple[FixedVariance, ...]:
    """ReLU and its kin: the map is a line."""
    if abs(slope - 1.0) <= NOISE or (slope > 1.0 and b > 0.0):
        return ()
    return (FixedVariance(b / (1.0 - slope) if b else 0.0, slope, slope < 1.0),)


def _proportional_limit(slope: Array, b: Array, start: float) -> Array:
    neutral = np.abs(slope - 1.0) <= NOISE
    with np.errstate(divide="ignore", invalid="ignore"):
        fixed = np.where(slope < 1.0, b / (1.0 - slope), np.inf)
    return np.where(neutral, np.where(b > 0.0, np.inf, start), fixed)


def _below_the_range(m: Moments, w: Array, b: Array) -> Array:
    """Fixed points below the table: there the map is a line."""
    value, slope = m.at_zero
    return (b + w * value) / (1.0 - w * slope)


@dataclass(frozen=True, eq=False)
class _Grid:
    """Signs of (map - q) / q on a grid of log q, one row for each pair of parameters."""

    m: Moments
    w: Array
    b: Array
    t: Array  # (points,)
    second: Array  # E s^2 there, and its derivative in t
    second_slope: Array
    sign: npt.NDArray[np.int8]  # (rows, points)

    @classmethod
    def of(cls, m: Moments, w: Array, b: Array, t: Array | None = None) -> "_Grid":
        if t is None:
            # No fixed point lies below bias_var.
            lowest = math.log(max(float(b.min()), 1e-300)) if b.size else LOW
            k = min(max(LOW, math.floor(lowest) - 1), m.top - 1)
            t = np.linspace(k, m.top, PER_PANEL * (m.top - k) + 1)
        v, slope = m.second.read(np.minimum(t, np.nextafter(float(m.top), -np.inf)))
        one, two = w[:, None] * v / np.exp(t), b[:, None] / np.exp(t)
        sign = _roots.signs(one + two - 1.0, NOISE * (one + two + 1.0))
        return cls(m, w, b, t, v, slope, sign)

    @property
    def floor(self) -> Array:
        """The map's limit at variance 0."""
        return self.b + self.w * self.m.at_zero[0]

    def take(self, rows: npt.NDArray[np.intp]) -> "_Grid":
        """Return some of the rows."""
        return _Grid(
            self.m,
            self.w[rows],
            self.b[rows],
            self.t,
            self.second,
            self.second_slope,
            self.sign[rows],
        )

    def _turns(self) -> npt.NDArray[np.bool_]:
        """Cells without a change of sign in which the excess turns towards zero."""
        one = self.w[:, None] * (self.second_slope - self.second)
        slope = (one - self.b[:, None]) * self.sign
        return (
            (slope[:, :-1] < 0.0)
            & (slope[:, 1:] > 0.0)
            & (self.sign[:, :-1] == self.sign[:, 1:])
        )

    def doubtful(self) -> npt.NDArray[np.bool_]:
        """Rows in which two fixed points may lie within one cell."""
        value = (self.w[:, None] * self.second + self.b[:, None]) / np.exp(self.t)
        # Within a cell an excess of second derivative 10 moves by 0.08 from an extremum.
        near = np.abs(value - 1.0) < 0.1
        return (self._turns() & (near[:, :-1] | near[:, 1:])).any(axis=1)

    def with_extrema(self) -> "_Grid":
        """Return the grid of one row with a point more at every such turn."""
        cells = np.flatnonzero(self._turns()[0])
        if not cells.size:
            return self

        def slope(t: Array) -> tuple[Array, Array]:
            v, dv = self.m.second.read(t)
            return self.w[0] * (dv - v) - self.b[0], np.full(t.shape, np.nan)

        more = _roots.refine(slope, self.t[cells], self.t[cells + 1])
        t = np.sort(np.concatenate([self.t, more]))
        return _Grid.of(self.m, self.w, self.b, t)

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
        """Return where variances go from `start` (log q), one for each row."""
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
            limit = _below_the_range(self.m, self.w, self.b)
        out[down] = np.where(self.floor[down] > 0.0, limit[down], 0.0)
        still = (s == 0).all(axis=1)
        return np.where(still, np.exp(start), out)

    def _between(self, rows: npt.NDArray[np.intp], low: Array, high: Array) -> Array:
        if not rows.size:
            return np.empty(0)
        return np.exp(_roots.refine(self.excess(rows), low, high))
