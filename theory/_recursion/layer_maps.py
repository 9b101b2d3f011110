r"""Layers of any activation at any lengths of the rows.

A map is built for the lengths that the rows have at its layer. It takes lists of pairs,
each with its correlation and its distance from the nearer of +-1, and returns the same
after the activation, with the mean products of the slopes, :math:`E\,s'(u) s'(v)`. The
integrals of these come from Hermite series where pairs are apart and lengths few, from
tables in both log lengths and the angle elsewhere. Where kinks meet they come from pieces
of the slope that have these, and pair by pair where there are none or close pairs are few.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from theory._cached import cached_property
from theory._recursion import close_pairs, long_rows
from theory._recursion.bent_slopes import NODES, BentSlopes, orders
from theory._recursion.intervals import Interval
from theory._recursion.length_tables import steep
from theory._recursion.linear_pieces import angle_integrals
from theory._recursion.row_maps import Pairs, RowMap
from theory._recursion.row_series import CLASSES, RowSeries
from theory._recursion.rows import Index, distinct
from theory._recursion.series_tables import series_at
from theory._recursion.slope_tables import Slopes, ends_at
from theory.activations import Activation, PiecewisePolynomial, pair
from theory.activations.affine import split
from theory.grids import CLOSE

Array = npt.NDArray[np.float64]
Integrals = tuple[Array, Array, Array]
"""Of S over [0, rho] and over [rho, 1], the second where `RowMap.near`, and S."""

FEW = 8
"""Different lengths up to this number are tabulated themselves."""

PAIRS = 2
"""Pairs near +-1 for every length, up to `FEW`, that are integrated one by one. A pair
takes about 10 ms; tables 10 ms for a length of a smooth function, 60 to 300 of others,
and a series of order 2560 takes 80."""

TABLE = 64
"""The same for an interval of lengths, of all layers that share it."""

LONG = 256
"""The same at lengths at which no series ends, of all layers with such lengths: a pair
takes 30 to 60 ms there, half a second at lengths of hundreds, tables 15 to 40 s."""

WAVES = 2048
"""Pairs of long rows up to which transforms are read for them alone."""

ALONE, KINKED = 1000.0, 33.0
"""Pairs times the length plus `KINKED` for which orders up to 10,240 take as long as one
by one, with a kink at zero: a pair takes 5 ms, and 0.15 more for a unit of length."""

ORDERS = 4000
"""Orders of a rest, times its rows, for every pair near +-1: 4 microseconds each."""

MANY = 8
"""Rows from which the coefficients of a series are interpolated in the log length."""

SLOW, SLOWEST = CLASSES[2][0], CLASSES[3][0]
"""Distances from +-1 below which powers of rho vanish after 2,560 and 10,240 only."""

STEP = 0.5
"""Log lengths between those at which it is tried whether a series ends."""

STILL = 1e-14
"""Angle to an end up to which slopes without kinks are what they are there: they change by
the square of it over that of a panel. Multiples of one row come as close by rounding."""

SAME = 1e-14
"""Log lengths this close share a table of slopes."""

SHARED = 0.0625
"""Least width in log length of tables of slopes, so that layers share them."""


@dataclass(frozen=True, eq=False)
class Interpolated:
    """Any activation, at the lengths of the rows before it; for `many` pairs of them.

    `shared` are the intervals of log lengths between which layers have tables of slopes,
    and how many layers each.
    """

    alone: RowMap
    many: bool = False
    shared: Mapping[Interval, int] = field(default_factory=dict[Interval, int])

    @property
    def activation(self) -> Activation:
        """The activation."""
        return self.alone.activation

    @cached_property
    def smooth(self) -> bool:
        """Whether slopes are analytic in both lengths: no kink but at zero."""
        return all(c == 0.0 for c in self.activation.kinks)

    @cached_property
    def own(self) -> Interval:
        """Log lengths between which it would interpolate slopes by itself."""
        logs = self.alone.before.high
        whole = Interval(float(logs.min()), float(logs.max()))
        if steep(self.activation, whole):
            return whole  # a longer one takes many more nodes
        return whole.rounded(SHARED if self.smooth else 0.0)

    @cached_property
    def interval(self) -> Interval:
        """Log lengths between which the slopes are interpolated: maybe another layer's.

        Tables of lengths so large that a series does not end take minutes: they serve
        those layers alone whose own series does not end either. Whether it does takes a
        second to find out, and is asked for when a pair needs a table.
        """
        a, own = self.activation, self.own
        around = [i for i in self.shared if i.contains(own) and i != own]
        for each in sorted(around, key=lambda i: i.low - i.high):
            if ends_at(a, each.high) or not ends_at(a, own.high):
                return each
        return own

    @cached_property
    def _few(self) -> tuple[float, ...]:
        """The log lengths themselves where they are few, else none."""
        found = np.sort(self.alone.before.high)
        found = found[np.diff(found, prepend=-np.inf) > SAME]
        return tuple(found.tolist()) if len(found) <= FEW else ()

    @property
    def tabulates(self) -> bool:
        """Whether it may read slopes off tables of more lengths than its own."""
        return self.smooth and not self._few

    @property
    def ends(self) -> bool:
        """Whether the series of the longest row ends, so that tables take little."""
        return ends_at(self.activation, self.interval.high)

    @cached_property
    def _start(self) -> float:
        """Angle below which kinks meet at different places for different lengths."""
        if self.smooth or len(self._few) == 1:
            return 0.0
        return min(2.0 * (self.interval.high - self.interval.low), 1.0)

    @cached_property
    def _slopes(self) -> Slopes:
        if self._few:
            return Slopes(self.activation, self._few, self._start, self._tabled)
        return slopes_of(self.activation, self.interval, self._start, self._tabled)

    @cached_property
    def _short(self) -> Slopes | None:
        """Tables up to a length at which the series ends, if at the longest it does not.

        These take seconds, and often short rows alone are nearly parallel.
        """
        if not self.tabulates or self.ends:
            return None
        low, high = self.interval.low, self.interval.high
        cuts = np.arange(high - STEP, low, -STEP).tolist()
        cut = next((c for c in cuts if ends_at(self.activation, c)), None)
        if cut is None:
            return None
        part = Interval(low, cut)
        return slopes_of(self.activation, part, self._start, self._tabled)

    @cached_property
    def _are_short(self) -> npt.NDArray[np.bool_]:
        """Which rows the short tables are of."""
        logs = self.alone.before.high
        if self._short is None:
            return np.zeros(len(logs), dtype=bool)
        assert isinstance(self._short.lengths, Interval)
        return logs <= self._short.lengths.high

    @cached_property
    def _long(self) -> npt.NDArray[np.bool_]:
        """Which rows are so long that transforms have their slopes."""
        bend, sizes = long_rows.bend_of(self.activation), self.alone.sizes
        return sizes >= (math.inf if bend is None else bend.least)

    def _by_transforms(self, i: Index, j: Index, rho: Array, d: Array) -> Integrals:
        return long_rows.integrals(self.activation, self.alone.sizes, i, j, rho, d)

    @cached_property
    def _few_near(self) -> int:
        """Pairs near +-1 up to which no table is made, were series to end."""
        if not self.tabulates:
            return PAIRS * (len(self._few) or FEW)
        own = self.own
        layers = sum(
            n for i, n in self.shared.items() if i.contains(own) or own.contains(i)
        )
        few = min(PAIRS * FEW, TABLE // max(layers, 1))
        return few if few < PAIRS * FEW and self.ends else PAIRS * FEW

    @cached_property
    def _few_long(self) -> int:
        """Pairs of long rows up to which no table of their lengths is made."""
        if self.many:
            return PAIRS * FEW
        # Layers that would read it: their lengths are no shorter than half of these.
        least = self.own.high - math.log(2.0)
        layers = sum(n for i, n in self.shared.items() if i.high >= least)
        return max(PAIRS * FEW, LONG // max(layers, 1))

    @cached_property
    def _tabled(self) -> float:
        """Distance from +-1 below which slopes are tabulated.

        Of series that end late, or never, the last orders are left to tables.
        """
        return SLOW if self.smooth else CLOSE

    def _summed(self, d: Array) -> float:
        """Return the distance from +-1 from which on pairs are summed as series.

        At lengths at which none ends a table takes minutes, and more orders a second,
        of a function with a kink more than a few pairs one by one.
        """
        some = self.smooth and np.any((d < SLOW) & (d >= SLOWEST))
        if not some or self.ends:
            return self._tabled
        pairs = np.count_nonzero(d < SLOW)
        cost = pairs * (KINKED + float(self.alone.sizes.max()))
        alone = self.activation.kinks and cost <= ALONE and pairs <= self._few_long
        return self._tabled if alone else SLOWEST

    @cached_property
    def _basis(self) -> Array:
        return self._slopes.basis(self.alone.before.high)

    @cached_property
    def _short_basis(self) -> Array:
        assert self._short is not None
        return self._short.basis(self.alone.before.high)

    def pairs(
        self, i: Index, j: Index, rho: Array, d: Array, *, tangent: bool
    ) -> Pairs:
        """Return correlations, their distances from +-1, and E s'(u) s'(v)."""
        found = np.empty_like(rho), np.empty_like(rho), np.empty_like(rho)
        t = 2.0 * np.arcsin(np.sqrt(0.5 * d))
        ends = t <= (0.0 if self.activation.kinks else STILL)
        # An integral over the angle is shorter than a series of a high order.
        waves = ~ends & (d < CLASSES[0][0]) & self._long[i] & self._long[j]
        waves &= np.count_nonzero(waves) <= WAVES
        least = self._summed(d[~waves])
        apart = d >= (least if self._linear is None else CLASSES[0][0])
        apart &= ~waves
        rows, _ = distinct(len(self.alone.sizes), i[apart], j[apart])
        shared = len(rows) > MANY
        if least != SLOWEST:
            least = max(CLASSES[2 if shared else 1][0], least)
        near = ~(ends | waves) & (d < least)
        alone, bent = (t < self._start) & ~waves, np.zeros_like(apart)
        if self._linear is not None:
            alone = ~(ends | waves | apart)
        elif not near.any() or (
            not self.many and np.count_nonzero(near) <= self._few_near
        ):
            alone |= near
            apart &= ~near
        elif self._pays(int(np.count_nonzero(near))):
            bent = ~(ends | waves) & (d < CLASSES[0][0])
        tabled = ~(ends | waves | bent | apart | alone)
        short = np.zeros_like(tabled)
        if tabled.any():
            short = tabled & self._are_short[i] & self._are_short[j]
        long = tabled & ~short
        if short.any() and np.count_nonzero(long) <= self._few_long:
            alone, long = alone | long, np.zeros_like(long)
        sources = (
            (ends, self._at_ends),
            (waves, self._by_transforms),
            (bent, self._by_pieces),
            (~bent & apart, self._by_series),
            (long, self._by_tables),  # what can't be is refused before the work
            (short, self._by_short_tables),
            (~(ends | bent | apart) & alone, self._one_by_one),
        )
        for mask, source in sources:
            at = np.flatnonzero(mask)
            if len(at):
                values = source(i[at], j[at], rho[at], d[at])
                for whole, value in zip(found, values, strict=True):
                    whole[at] = value
        inner, lost, slope = found
        after, gap = self.alone.moved(i, j, rho, inner, lost)
        return after, gap, slope if tangent else None

    @cached_property
    def _linear(self) -> tuple[PiecewisePolynomial, float] | None:
        """The pieces of a piecewise linear activation, and the square of their scale."""
        base, scale, _ = split(self.activation)
        if isinstance(base, PiecewisePolynomial) and base.m == 1:
            return base, scale * scale
        return None

    def _by_series(self, i: Index, j: Index, rho: Array, d: Array) -> Integrals:
        inner, lost, slope = np.empty_like(rho), np.zeros_like(rho), np.empty_like(rho)
        rows, (p, q) = distinct(len(self.alone.sizes), i, j)
        shared = len(rows) > MANY
        logs = self.alone.before.high[rows]
        series = RowSeries.none(self.activation, self.alone.sizes[rows])
        above = math.inf
        for least, order in CLASSES:
            at = np.flatnonzero((d >= least) & (d < above))
            above = least
            if not len(at):
                continue
            some, (left, right) = distinct(len(rows), p[at], q[at])
            each = series_at(self.activation, logs[some], order) if shared else None
            if each is None:
                each, left, right = series.raised(some, order), p[at], q[at]
                series = each
            inner[at], slope[at] = each.integrals(left, right, rho[at], d[at])
            near = self.alone.near(i[at], j[at], rho[at], inner[at])
            left, right, near = left[near], right[near], at[near]
            if not len(near):
                continue
            lost[near] = each.whole(left, right) - inner[near]
        return inner, lost, slope

    def _by_tables(self, i: Index, j: Index, rho: Array, d: Array) -> Integrals:
        return self._slopes.integrals(self._basis, i, j, rho, d)

    def _by_short_tables(self, i: Index, j: Index, rho: Array, d: Array) -> Integrals:
        assert self._short is not None
        return self._short.integrals(self._short_basis, i, j, rho, d)

    @cached_property
    def _bent(self) -> BentSlopes | None:
        """Pieces of the slope and a rest without kinks, if it is made of these."""
        return BentSlopes.of(self.activation, self.alone.before.high)

    def _pays(self, pairs: int) -> bool:
        """Whether so many pairs near +-1 are worth splitting the slope, and it splits."""
        square = math.isfinite(self.activation.derivative_second_moment)
        if self.smooth or not square or not pairs:
            return False
        found = orders(self.activation, float(self.alone.sizes.max()))
        rows = min(len(self.alone.sizes), NODES[0])
        return (
            found is not None
            and found * rows <= ORDERS * pairs
            and self._bent is not None
        )

    def _by_pieces(self, i: Index, j: Index, rho: Array, d: Array) -> Integrals:
        assert self._bent is not None
        size = np.sqrt(self.alone.slopes[i] * self.alone.slopes[j])
        inner, lost, slope, holds = self._bent.integrals(i, j, rho, d, size)
        # Of lengths far beyond the kinks: one of them takes a tenth of a second alone.
        apart = d >= self._tabled
        for mask, source in ((apart, self._by_series), (~apart, self._one_by_one)):
            at = np.flatnonzero(mask & ~holds)
            if len(at):
                each = source(i[at], j[at], rho[at], d[at])
                inner[at], lost[at], slope[at] = each
        return inner, lost, slope

    def _at_ends(self, i: Index, j: Index, rho: Array, d: Array) -> Integrals:
        r = self.alone.sizes
        inner, slope = close_pairs.at_ends(self.activation, r, i, j, rho)
        return inner, np.where(d > 0.0, d * slope, 0.0), slope

    def _one_by_one(self, i: Index, j: Index, rho: Array, d: Array) -> Integrals:
        r = self.alone.sizes
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
        r, o = sorted(self.alone.sizes[[i, j]].tolist())
        if math.isfinite(self.activation.derivative_second_moment):
            return close_pairs.integrals(self.activation, r, o, rho, d)
        e = pair(self.activation._scaled(r * r), self.activation._scaled(o * o))
        inner = float(e.covariance(np.array([rho]))[0])
        lost = float(e.distance(np.array([d]))[0]) if rho > 0.0 and d else 0.0
        return inner / (r * o), lost / (r * o), math.nan


def sharing(maps: Sequence[Interpolated]) -> list[Interpolated]:
    """Let layers whose lengths lie within another's read slopes off that one's tables."""
    # Layers are many, their intervals are few: rounded ones.
    known: dict[Activation, Counter[Interval]] = {}
    for each in maps:
        if each.tabulates:
            known.setdefault(each.activation, Counter())[each.own] += 1
    return [replace(m, shared=known[m.activation]) if m.tabulates else m for m in maps]


@lru_cache(maxsize=64)
def slopes_of(
    activation: Activation, interval: Interval, start: float, least: float
) -> Slopes:
    """Return tables of the slopes."""
    return Slopes(activation, interval, start, least)
