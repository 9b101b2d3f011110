r"""Layers of any activation at any lengths of the rows.

A map is built for the lengths that the rows have at its layer. It takes lists of pairs,
each with its correlation and its distance from the nearer of +-1, and returns the same
after the activation, with the mean products of the slopes, :math:`E\,s'(u) s'(v)`. The
integrals of these come from Hermite series where pairs are apart and lengths few, from
tables in both log lengths and the angle elsewhere, and pair by pair where kinks meet.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from theory._length_tables import Interval
from theory._linear_pieces import angle_integrals
from theory._row_maps import Pairs, RowMap
from theory._row_series import CLASSES, ROWS, RowSeries
from theory._rows import Index, LogLengths
from theory._slope_tables import Slopes
from theory.activations import Activation, Affine, PiecewisePolynomial, pair
from theory.grids import CLOSE

Array = npt.NDArray[np.float64]
Integrals = tuple[Array, Array, Array]
"""Of S over [0, rho] and over [rho, 1], the second for positive rho, and S."""

FEW = 8
"""Different lengths up to this number are tabulated themselves."""

SAME = 1e-14
"""Log lengths this close share a table of slopes."""

SHARED = 0.0625
"""Least width in log length of tables of slopes, so that layers share them."""


@dataclass(frozen=True, eq=False)
class Interpolated:
    """Any activation, at the lengths of the rows before it."""

    activation: Activation
    before: LogLengths

    @cached_property
    def _alone(self) -> RowMap:
        return RowMap(self.activation, self.before)

    @property
    def rows(self) -> LogLengths:
        """Log lengths after the activation."""
        return self._alone.rows

    @property
    def slopes(self) -> Array:
        """E s'(r Z)^2 of each row."""
        return self._alone.slopes

    @cached_property
    def _at_zero(self) -> bool:
        """Whether all is analytic: no kink but at zero."""
        return all(c == 0.0 for c in self.activation.kinks)

    @cached_property
    def _interval(self) -> Interval:
        """Log lengths between which the slopes are interpolated."""
        whole = Interval(float(self.before.high.min()), float(self.before.high.max()))
        return whole.rounded(SHARED if self._at_zero else 0.0)

    @cached_property
    def _few(self) -> tuple[float, ...]:
        """The log lengths themselves where they are few, else none."""
        found = np.sort(self.before.high)
        found = found[np.diff(found, prepend=-np.inf) > SAME]
        return tuple(found.tolist()) if len(found) <= FEW else ()

    @cached_property
    def _start(self) -> float:
        """Angle below which kinks meet at different places for different lengths."""
        if self._at_zero or len(self._few) == 1:
            return 0.0
        return min(2.0 * (self._interval.high - self._interval.low), 1.0)

    @cached_property
    def _slopes(self) -> Slopes:
        if self._few:
            return Slopes.at(self.activation, self._few, start=self._start)
        return slopes_of(self.activation, self._interval, self._start)

    @cached_property
    def _basis(self) -> Array:
        return self._slopes.basis(self.before.high)

    def pairs(
        self, i: Index, j: Index, rho: Array, d: Array, *, tangent: bool
    ) -> Pairs:
        """Return correlations, their distances from +-1, and E s'(u) s'(v)."""
        found = np.empty_like(rho), np.empty_like(rho), np.empty_like(rho)
        t = 2.0 * np.arcsin(np.sqrt(0.5 * d))
        # An integral over the angle is shorter than a series of a high order.
        apart = d >= (CLOSE if self._linear is None else CLASSES[0][0])
        if len(np.union1d(i[apart], j[apart])) > 2 * ROWS:
            apart &= t < self._start
        kinked = np.full(d.shape, self._linear is not None) & (d >= CLOSE)
        sources = (
            (apart, self._by_series),
            (~apart & (t >= self._start) & ~kinked, self._by_tables),
            (~apart & ((t < self._start) | kinked), self._where_kinks_meet),
        )
        for mask, source in sources:
            at = np.flatnonzero(mask)
            if len(at):
                values = source(i[at], j[at], rho[at], d[at])
                for whole, value in zip(found, values, strict=True):
                    whole[at] = value
        inner, lost, slope = found
        after, gap = self._alone.moved(i, j, rho, inner, lost)
        return after, gap, slope if tangent else None

    @cached_property
    def _linear(self) -> tuple[PiecewisePolynomial, float] | None:
        """The pieces of a piecewise linear activation, and the square of their scale."""
        a = self.activation
        base, scale = (a.base, a.scale) if isinstance(a, Affine) else (a, 1.0)
        if isinstance(base, PiecewisePolynomial) and base.m == 1:
            return base, scale * scale
        return None

    def _by_series(self, i: Index, j: Index, rho: Array, d: Array) -> Integrals:
        found = np.empty_like(rho), np.empty_like(rho), np.empty_like(rho)
        above = math.inf
        for least, order in CLASSES:
            here = np.flatnonzero((d >= least) & (d < above))
            above = least
            for at in _sharing(i, j, here):
                rows = np.union1d(i[at], j[at])
                series = RowSeries.build(
                    self.activation, self._alone.sizes[rows], order
                )
                where = np.searchsorted(rows, i[at]), np.searchsorted(rows, j[at])
                values = series.integrals(*where, rho[at], d[at])
                for whole, value in zip(found, values, strict=True):
                    whole[at] = value
        return found

    def _by_tables(self, i: Index, j: Index, rho: Array, d: Array) -> Integrals:
        left, right = self._basis[i], self._basis[j]
        t, far = 2.0 * np.arcsin(np.sqrt(0.5 * d)), rho < 0.0
        inner = rho * self._slopes.read("to_zero", left, right, t, far)
        lost = d * self._slopes.read("to_end", left, right, t, far)
        return inner, lost, self._slopes.read("slope", left, right, t, far)

    def _where_kinks_meet(self, i: Index, j: Index, rho: Array, d: Array) -> Integrals:
        r = self._alone.sizes
        if self._linear is not None:
            pieces, power = self._linear
            inner, lost, slope = angle_integrals(pieces, r[i], r[j], rho, d)
            return power * inner, power * lost, power * slope
        each = [
            self._exactly(int(p), int(o), float(c), float(e))
            for p, o, c, e in zip(i, j, rho, d, strict=True)
        ]
        inner, lost, slope = np.array(each).T
        return inner, lost, slope

    def _exactly(
        self, i: int, j: int, rho: float, d: float
    ) -> tuple[float, float, float]:
        """Integrate one pair at its own lengths."""
        r, o = sorted(self._alone.sizes[[i, j]].tolist())
        e = pair(self.activation._scaled(r * r), self.activation._scaled(o * o))
        angle = 2.0 * math.asin(math.sqrt(0.5 * d))
        angle = math.pi - angle if rho < 0.0 else angle
        slope = math.nan
        if d == 0.0 and rho > 0.0 and r == o:
            slope = float(self.slopes[i]) * r * o
        elif math.isfinite(self.activation.derivative_second_moment):
            slope = float(e.slope(np.array([rho]), np.array([angle]))[0])
        inner = float(e.covariance(np.array([rho]))[0])
        lost = float(e.distance(np.array([d]))[0]) if rho > 0.0 and d else 0.0
        return inner / (r * o), lost / (r * o), slope / (r * o)


def _sharing(i: Index, j: Index, here: Index) -> list[Index]:
    """Split pairs into groups of few rows."""
    rows = np.union1d(i[here], j[here])
    if len(rows) <= ROWS:
        return [here] if len(here) else []
    half = ROWS // 2
    a, b = (np.searchsorted(rows, k[here]) // half for k in (i, j))
    both = a * len(rows) + b
    return [here[both == k] for k in np.unique(both)]


@lru_cache(maxsize=64)
def slopes_of(activation: Activation, interval: Interval, start: float) -> Slopes:
    """Return tables of the slopes."""
    return Slopes.build(activation, interval, start=start)
