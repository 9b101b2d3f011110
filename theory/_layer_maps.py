r"""One layer for many rows: from correlations before an activation to those after it.

A map is built for the lengths that the rows have at its layer. It takes blocks of pairs,
each with its correlation and its distance from the nearer of +-1, and returns the same
after the activation, with the mean products of the slopes, :math:`E\,s'(u) s'(v)`.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from theory import activations, gaussian
from theory._length_tables import Interval, Lengths
from theory._linear_pieces import angle_integrals
from theory._rows import Index, LogLengths
from theory._slope_tables import Slopes
from theory.activations import Activation, Affine, PiecewisePolynomial, pair
from theory.duals import _closed_pairs as closed_pairs
from theory.grids import CLOSE

Array = npt.NDArray[np.float64]

MANY = 0.2
"""Share of a block's pairs that makes it worth evaluating them all by their distance."""

FEW = 8
"""Different lengths up to this number are tabulated themselves."""

SAME = 1e-14
"""Log lengths this close share a table of slopes."""

SHARED = 0.0625
"""Least width in log length of tables of slopes, so that layers share them."""

Formula = Callable[[Array, Array, Array, Array], tuple[Array, Array]]

FORMULAS: dict[Activation, Formula] = {
    activations.erf: closed_pairs.error_function,
    activations.gelu: closed_pairs.gelu,
}
"""Activations whose dual at unequal lengths is written with elementary functions."""


@dataclass(frozen=True, eq=False)
class Interpolated:
    """Any activation, by tables in both log lengths and the angle."""

    activation: Activation
    before: LogLengths

    @cached_property
    def _range(self) -> Interval:
        return Interval(float(self.before.high.min()), float(self.before.high.max()))

    @cached_property
    def _at_zero(self) -> bool:
        """Whether all is analytic: no kink but at zero."""
        return all(c == 0.0 for c in self.activation.kinks)

    @cached_property
    def _interval(self) -> Interval:
        """Log lengths between which the slopes are interpolated."""
        return self._range.rounded(SHARED if self._at_zero else 0.0)

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
    def _close(self) -> float:
        return max(CLOSE, 1.0 - math.cos(self._start))

    @cached_property
    def _slopes(self) -> Slopes:
        if self._few:
            return Slopes.at(self.activation, self._few, start=self._start)
        return slopes_of(self.activation, self._interval, self._start)

    @cached_property
    def rows(self) -> LogLengths:
        """Log lengths after the activation."""
        table, order = Lengths(self.activation), self.before.order
        logs, gaps = self.before.high[order], self.before.gaps
        rise = gaps + np.diff(self._gains[order])
        # Over a narrow gap, the integral of the slope in the place of a difference.
        small = np.abs(gaps) < 0.02
        x, w = gaussian.legendre(6)
        at = logs[:-1][small, None] + 0.5 * gaps[small, None] * (1.0 + x)
        rate = table.growth(at.ravel()).reshape(at.shape) @ (0.5 * w)
        rise[small] = gaps[small] * rate
        return self.before.after(self.before.start, rise, float(self._gains[order[0]]))

    @cached_property
    def _gains(self) -> Array:
        """Logarithms of what lengths are multiplied by."""
        return Lengths(self.activation).gain(self.before.high)

    @cached_property
    def slopes(self) -> Array:
        """E s'(r Z)^2 of each row."""
        return Lengths(self.activation).slope(self.before.high)

    @cached_property
    def _after(self) -> tuple[Array, Array]:
        """Rows' means and lengths, over the lengths after the activation."""
        return Lengths(self.activation).mean(self.before.high), np.exp(-self._gains)

    def _polynomials(self, name: str, *, near: bool) -> Array:
        """Return a table as one polynomial in the angle, far from +-1 or near 1."""
        low = math.acos(1.0 - self._close)
        return self._slopes.dense(name, *((0.0, low) if near else (low, math.pi - low)))

    @cached_property
    def _basis(self) -> Array:
        return self._slopes.basis(self.before.high)

    def _polynomial(
        self, name: str, rows: slice, columns: slice, y: Array, *, near: bool = False
    ) -> Array:
        """Evaluate a table at places y of the angle, in [-1, 1]."""
        c = self._polynomials(name, near=near)
        degree, n = len(c), c.shape[1]
        left = np.einsum("ra,kab->rkb", self._basis[rows], c).reshape(-1, n)
        each = (left @ self._basis[columns].T).reshape(-1, degree, y.shape[1])
        b1, b2 = each[:, -1].copy(), np.zeros_like(y)
        twice, new = 2.0 * y, np.empty_like(y)
        for k in range(degree - 2, 0, -1):
            np.multiply(twice, b1, out=new)
            new -= b2
            new += each[:, k]
            b1, b2, new = new, b1, b2
        if degree == 1:
            return b1
        b1 *= y
        b1 -= b2
        b1 += each[:, 0]
        return b1

    def block(
        self, rows: slice, columns: slice, rho: Array, d: Array, *, tangent: bool
    ) -> tuple[Array, Array, Array | None]:
        """Return correlations, their distances from +-1, and E s'(u) s'(v)."""
        if self._formula is not None:
            return self._in_closed_form(rows, columns, rho, d)
        close = d < self._close
        if close.all():
            after, gap = np.empty_like(rho), np.empty_like(rho)
            slope = np.empty_like(rho) if tangent else None
        else:
            after, gap, slope = self._apart(rows, columns, rho, tangent=tangent)
        if not self._start and np.count_nonzero(close) > MANY * d.size:
            self._near(rows, columns, rho, d, (after, gap, slope))
            close &= rho < 0.0
        p, s = np.divmod(np.flatnonzero(close), rho.shape[1])
        if len(p):
            self._one_by_one(
                rows, columns, (p, s), rho[p, s], d[p, s], (after, gap, slope)
            )
        return after, gap, slope

    def _apart(
        self, rows: slice, columns: slice, rho: Array, *, tangent: bool
    ) -> tuple[Array, Array, Array | None]:
        """Evaluate a block by polynomials in the angle, right away from +-1."""
        low = math.acos(1.0 - self._close)
        y = np.arccos(rho)
        np.clip(y, low, math.pi - low, out=y)
        y -= 0.5 * math.pi
        y /= 0.5 * math.pi - low
        means, factors = self._after
        after = self._polynomial("to_zero", rows, columns, y)
        after *= rho
        after *= factors[rows, None] * factors[columns]
        after += means[rows, None] * means[columns]
        np.clip(after, -1.0, 1.0, out=after)
        slope = self._polynomial("slope", rows, columns, y) if tangent else None
        return after, 1.0 - np.abs(after), slope

    @cached_property
    def _formula(self) -> Formula | None:
        return FORMULAS.get(self._base[0])

    @cached_property
    def _base(self) -> tuple[Activation, float, float]:
        a = self.activation
        return (a.base, a.scale, a.shift) if isinstance(a, Affine) else (a, 1.0, 0.0)

    def _in_closed_form(
        self, rows: slice, columns: slice, rho: Array, d: Array
    ) -> tuple[Array, Array, Array]:
        """Evaluate a block by the formula of both lengths."""
        assert self._formula is not None
        _, scale, shift = self._base
        r = self._sizes
        means, factors = self._after
        after, slope = self._formula(r[rows, None], r[columns], rho, d * (2.0 - d))
        scaled = scale * factors
        after *= scaled[rows, None] * scaled[columns]
        slope *= scale * scale
        if shift:
            # Means are of the sum of both.
            share = shift * np.exp(-self.rows.high)
            after += share[rows, None] * means[columns]
            after += (means - share)[rows, None] * share[columns]
        np.clip(after, -1.0, 1.0, out=after)
        gap = 1.0 - np.abs(after)
        p, s = np.divmod(np.flatnonzero((d < CLOSE) & (rho > 0.0)), rho.shape[1])
        if len(p):
            i, j = rows.start + p, columns.start + s
            delta = scaled[i] * scaled[j] * self._lost(r[i], r[j], d[p, s])
            delta += self._turned(i, j)
            after[p, s] = 1.0 - delta
            gap[p, s] = np.where(delta <= 0.5, delta, 1.0 - np.abs(1.0 - delta))
        return after, gap, slope

    def _lost(self, r: Array, other: Array, d: Array) -> Array:
        """Integral of the slopes over correlations from 1 - d to 1."""
        assert self._formula is not None
        t = 2.0 * np.arcsin(np.sqrt(0.5 * d))
        x, w = gaussian.legendre(16)
        # The slope varies over an angle of one over the lengths.
        layers = float((t * np.maximum(r, other)).max())
        octaves = np.arange(max(1.0, 2.0 + math.log2(max(layers, 0.5))))
        edges = [0.0, *(2.0 ** -octaves[::-1])]
        out = np.zeros_like(t)
        for low, high in itertools.pairwise(edges):
            for node, weight in zip(x, w, strict=True):
                u = t * (low + 0.5 * (high - low) * (1.0 + node))
                sine = np.sin(u)
                _, slope = self._formula(r, other, np.cos(u), sine * sine)
                out += 0.5 * (high - low) * weight * t * sine * slope
        return out

    @cached_property
    def _sizes(self) -> Array:
        return np.exp(self.before.high)

    def _near(
        self,
        rows: slice,
        columns: slice,
        rho: Array,
        d: Array,
        out: tuple[Array, Array, Array | None],
    ) -> None:
        """Overwrite pairs near 1 by their distance, evaluating it for the whole block."""
        at = (d < self._close) & (rho > 0.0)
        t = 2.0 * np.arcsin(np.sqrt(0.5 * np.minimum(d, self._close)))
        y = t * (2.0 / math.acos(1.0 - self._close)) - 1.0
        _, factors = self._after
        delta = self._polynomial("to_end", rows, columns, y, near=True)
        delta *= d
        delta *= factors[rows, None] * factors[columns]
        i, j = (np.arange(v.start, v.stop) for v in (rows, columns))
        a, b = np.repeat(i, len(j)), np.tile(j, len(i))
        delta += self._turned(a, b).reshape(delta.shape)
        np.copyto(out[0], 1.0 - delta, where=at)
        np.copyto(out[1], 1.0 - np.abs(1.0 - delta), where=at & (delta > 0.5))
        np.copyto(out[1], delta, where=at & (delta <= 0.5))
        if out[2] is not None:
            slope = self._polynomial("slope", rows, columns, y, near=True)
            np.copyto(out[2], slope, where=at)

    def _one_by_one(
        self,
        rows: slice,
        columns: slice,
        at: tuple[Index, Index],
        rho: Array,
        d: Array,
        out: tuple[Array, Array, Array | None],
    ) -> None:
        """Overwrite pairs of a block that are near 1 or -1."""
        i, j = rows.start + at[0], columns.start + at[1]
        t = 2.0 * np.arcsin(np.sqrt(0.5 * d))
        here = np.flatnonzero(t >= self._start)
        self._read(i[here], j[here], (rho[here], d[here], t[here]), at, here, out)
        below, a = np.flatnonzero(t < self._start), self.activation
        if len(below) and isinstance(a, PiecewisePolynomial) and a.m == 1:
            self._at_kinks(i[below], j[below], (rho[below], d[below]), at, below, out)
            return
        for k in below:
            where = at[0][k], at[1][k]
            found = self._exactly(int(i[k]), int(j[k]), float(rho[k]), float(d[k]))
            for values, value in zip(out, found, strict=True):
                if values is not None:
                    values[where] = value

    def _read(
        self,
        i: Index,
        j: Index,
        given: tuple[Array, Array, Array],
        at: tuple[Index, Index],
        here: Index,
        out: tuple[Array, Array, Array | None],
    ) -> None:
        """Read pairs off the tables in the angle to the nearer end."""
        rho, d, t = given
        far = rho < 0.0
        left, right = self._basis[i], self._basis[j]
        means, factors = self._after
        where = at[0][here], at[1][here]
        factor = factors[i] * factors[j]
        after = np.empty_like(rho)
        after[far] = means[i[far]] * means[j[far]] + factor[far] * rho[
            far
        ] * self._slopes.read("to_zero", left[far], right[far], t[far], far[far])
        gap = 1.0 - np.abs(after)
        n = ~far
        delta = d[n] * factor[n]
        delta *= self._slopes.read("to_end", left[n], right[n], t[n], far[n])
        delta += self._turned(i[n], j[n])
        after[n] = 1.0 - delta
        gap[n] = np.where(delta <= 0.5, delta, 1.0 - np.abs(1.0 - delta))
        out[0][where], out[1][where] = np.clip(after, -1.0, 1.0), gap
        if out[2] is not None:
            out[2][where] = self._slopes.read("slope", left, right, t, far)

    def _at_kinks(
        self,
        i: Index,
        j: Index,
        given: tuple[Array, Array],
        at: tuple[Index, Index],
        here: Index,
        out: tuple[Array, Array, Array | None],
    ) -> None:
        """Integrate pairs of a piecewise linear activation over the angle."""
        (rho, d), r, where = given, self._sizes, (at[0][here], at[1][here])
        means, factors = self._after
        factor = factors[i] * factors[j]
        pieces = self.activation
        assert isinstance(pieces, PiecewisePolynomial)
        mean, whole, slope = angle_integrals(pieces, r[i], r[j], rho, d)
        n = rho > 0.0
        after, gap = means[i] * means[j] + factor * mean, np.empty_like(d)
        gap[~n] = 1.0 - np.abs(after[~n])
        delta = factor[n] * whole[n] + self._turned(i[n], j[n])
        after[n] = 1.0 - delta
        gap[n] = np.where(delta <= 0.5, delta, 1.0 - np.abs(1.0 - delta))
        out[0][where], out[1][where] = np.clip(after, -1.0, 1.0), gap
        if out[2] is not None:
            out[2][where] = slope

    def _turned(self, i: Index, j: Index) -> Array:
        """Lambda of pairs of rows: their distance when rho is 1."""
        gaps = np.abs(self.before.differences(i, j))
        out = np.zeros_like(gaps)
        some = np.flatnonzero(gaps)
        lows = np.minimum(self.before.high[i[some]], self.before.high[j[some]])
        out[some] = Lengths(self.activation).turned(lows, gaps[some])
        return out

    def _exactly(
        self, i: int, j: int, rho: float, d: float
    ) -> tuple[float, float, float]:
        """Integrate one pair at its own lengths."""
        if d == 0.0 and rho > 0.0 and self.before.high[i] == self.before.high[j]:
            return 1.0, 0.0, float(self.slopes[i])
        r = self._sizes[[i, j]]
        e = pair(*(self.activation._scaled(float(v * v)) for v in sorted(r)))
        _, factors = self._after
        factor = float(factors[i] * factors[j]) / float(r[0] * r[1])
        angle = 2.0 * math.asin(math.sqrt(0.5 * d))
        angle = math.pi - angle if rho < 0.0 else angle
        slope = math.nan
        if math.isfinite(self.activation.derivative_second_moment):
            slope = float(e.slope(np.array([rho]), np.array([angle]))[0])
        if rho < 0.0:
            means = self._after[0]
            after = float(means[i] * means[j])
            after += factor * float(e.covariance(np.array([rho]))[0])
            return after, 1.0 - abs(after), slope / float(r[0] * r[1])
        delta = factor * float(e.distance(np.array([d]))[0])
        delta += float(self._turned(np.array([i]), np.array([j]))[0])
        after = 1.0 - delta
        gap = delta if delta < 0.5 else 1.0 - abs(after)
        return after, gap, slope / float(r[0] * r[1])


@lru_cache(maxsize=64)
def slopes_of(activation: Activation, interval: Interval, start: float) -> Slopes:
    """Return tables of the slopes."""
    return Slopes.build(activation, interval, start=start)
