"""Mean products of slopes as functions of two lengths and of the angle."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from theory._cached import cached_property
from theory._chebyshev import chebyshev
from theory._recursion.close_pairs import SLOPES
from theory._recursion.intervals import Interval
from theory._recursion.length_tables import sizes
from theory._recursion.reaches import reach, rule_of
from theory._recursion.row_series import RowSeries
from theory._recursion.rows import Index, distinct
from theory.activations import Activation
from theory.activations._engines import PANELS
from theory.activations.affine import split
from theory.duals._panels import Panels
from theory.duals._planes import Broken, Plane
from theory.grids import CLOSE

Array = npt.NDArray[np.float64]

ORDER = 10240
"""Order by which a Hermite series of the slopes has to end, or quadrature is taken."""

TURNS = 2560
"""Panels on which a function turns too often for that: polynomials of that order have 1300
zeros within 20 standard deviations."""

ROUNDING = 1e-16
"""Coefficients of the angle that are left out, over the largest."""

TOGETHER = 1 << 18
"""Coefficients of pairs that are summed together: they stay in cache."""

MOST = 80
"""Nodes in log length of tables of slopes, of one cell at most,"""

HALVED = 64
"""that is halved unless so many resolve products of slopes at the ends of the angle,"""

CELLS = 8
"""and cells."""

PLANE = 96
"""Lengths at most where series do not end: they take the plane a third of a second each."""

MORE = 4
"""Nodes more than the energy of slopes needs: what slopes of two lengths mostly need."""

LAST = 1e-13
"""Last coefficients in log length that are left out, over the largest."""

Build = Callable[[bool], tuple[Callable[[Array], Array], float]]
"""Whether rho is negative -> slopes at angles to that end (m, n, n), and the kinks' gap."""


@dataclass(frozen=True, eq=False)
class Slopes:
    """S(l_i, l_j, t) and its means, for pairs of log lengths of an interval, or of a few.

    For angles of at least `start` to both ends; as far as distances of `least`, where the
    rest is known from the ends. Each end is tabulated when a pair lies near it.

    Raises
    ------
    ValueError
        On reading, if `PLANE` lengths do not resolve an interval whose series do not end,
        or `CELLS` cells one whose series do.
    """

    activation: Activation
    lengths: Interval | tuple[float, ...]
    start: float
    least: float = CLOSE

    @cached_property
    def near(self) -> tuple[Panels, Index]:
        """Towards correlation 1: coefficients of shape (panels, nodes, n, n).

        Chebyshev polynomials of the angle to that end, and of both log lengths: which of
        those of the `basis`.
        """
        return self._side(mirrored=False)

    @cached_property
    def far(self) -> tuple[Panels, Index]:
        """The same towards correlation -1."""
        return self._side(mirrored=True)

    @cached_property
    def whole(self) -> Array | None:
        """Coefficients of the integrals over correlations from 0 to 1 and to -1, (2, n, n).

        With these, tables of angles next to the ends do. None between lengths where kinks
        meet: the integral to the end is not smooth there.
        """
        if not isinstance(self.lengths, Interval):
            return _whole(self.activation, np.exp(np.array(self.lengths)))
        if self.start:
            return None
        r, to = self._nodes([MOST] * len(self._cells))
        return to @ _whole(self.activation, r) @ to.T

    @cached_property
    def _cells(self) -> tuple[Interval, ...]:
        """Parts of the interval, rising: halves until `HALVED` lengths resolve each."""
        assert isinstance(self.lengths, Interval)
        cells = (self.lengths,)
        while not self.start:
            fine = [self._resolved(cell) for cell in cells]
            if all(fine):
                break
            cells = tuple(
                part
                for cell, done in zip(cells, fine, strict=True)
                for part in ((cell,) if done else cell.halves())
            )
            if len(cells) > CELLS:
                raise self._unresolved()
        return cells

    def _resolved(self, cell: Interval) -> bool:
        """Whether `HALVED` lengths do, by the ends: there it takes one variable.

        A table's polynomials of the angle end there, at what is about their sum.
        """
        if _needed(self.activation, cell) < HALVED:
            return True
        r, to = self._of_cell(cell, HALVED)
        z, w = rule_of(self.activation, r, nodes=SLOPES, mirrored=True)
        f = self.activation.derivative._value(r[:, None] * z)
        both = (np.abs(to @ ((f * w) @ g.T) @ to.T) for g in (f, f[:, ::-1]))
        return all(c[-1].max() <= LAST * c.max() for c in both)

    def _of_cell(self, cell: Interval, n: int) -> tuple[Array, Array]:
        """Return n lengths, and what takes values at them to coefficients, (n, n)."""
        assert isinstance(self.lengths, Interval)
        logs = cell.nodes(n)
        return np.exp(logs), chebyshev(n) / sizes(self.activation, logs, self.lengths)

    def _nodes(self, counts: Sequence[int]) -> tuple[Array, Array]:
        """Return the same of all cells, some lengths in each."""
        from scipy.linalg import block_diag

        each = [self._of_cell(c, n) for c, n in zip(self._cells, counts, strict=True)]
        return np.concatenate([r for r, _ in each]), block_diag(*(to for _, to in each))

    def _side(self, *, mirrored: bool) -> tuple[Panels, Index]:
        if not isinstance(self.lengths, Interval):
            r = np.exp(np.array(self.lengths))
            end = _angle(self.least)
            tables = _panels(self.activation, r, self.start, end, mirrored=mirrored)
            return tables, np.arange(len(r))
        end = 0.5 * math.pi if self.start else _angle(self.least)
        counts = [_needed(self.activation, cell) for cell in self._cells]
        if sum(counts) > PLANE and not ends_at(self.activation, self.lengths.high):
            raise self._unresolved()  # before work of minutes
        while max(counts) <= MOST:
            r, to = self._nodes(counts)
            at = _panels(self.activation, r, self.start, end, mirrored=mirrored)
            found = Panels(
                at.edges,
                *(
                    np.einsum("ai,pkij,bj->pkab", to, v, to, optimize=True)
                    for v in (at.slope, at.to_end, at.to_zero)
                ),
            )
            size = np.abs(found.slope[found.edges[1:] > self.start])
            tails = size[:, :, np.cumsum(counts) - 1].max(axis=(0, 1, 3))
            fine = tails <= LAST * size.max()
            if fine.all():
                of_cells = [k * MOST + np.arange(n) for k, n in enumerate(counts)]
                return found, np.concatenate(of_cells)
            more = np.where(fine, 0, MORE)
            counts = [n + int(m) for n, m in zip(counts, more, strict=True)]
        raise self._unresolved()

    def _unresolved(self) -> ValueError:
        assert isinstance(self.lengths, Interval)
        low, high = math.exp(self.lengths.low), math.exp(self.lengths.high)
        return ValueError(
            f"`x` must have lengths between which {self.activation.name} is smooth in"
            f" every layer, but {PLANE} lengths do not resolve it between {low:.3g} and"
            f" {high:.3g}. Give inputs of lengths closer together, or `sphere=True` for"
            " one length; if layers drive lengths apart, use fewer of them or another"
            " `weight_var`."
        )

    def basis(self, logs: Array) -> Array:
        """Return polynomials of log lengths, `MOST` for each cell, or which length it is.

        Polynomials times `sizes`: tables are of what is divided by those of both rows.
        """
        if not isinstance(self.lengths, Interval):
            at = np.array(self.lengths)
            nearest = np.abs(np.subtract.outer(logs, at)).argmin(axis=1)
            return np.eye(len(at))[nearest]
        own = sizes(self.activation, logs, self.lengths)
        k = np.searchsorted([cell.high for cell in self._cells[:-1]], logs)
        out = np.zeros((len(logs), len(self._cells), MOST))
        for each, cell in enumerate(self._cells):
            at = np.flatnonzero(k == each)
            out[at, each] = cell.basis(logs[at], MOST) * own[at, None]
        return out.reshape(len(logs), -1)

    def integrals(
        self, basis: Array, i: Index, j: Index, rho: Array, d: Array
    ) -> tuple[Array, Array, Array]:
        """Return integrals of S over [0, rho] and to the nearer end, and S.

        Of pairs (m,) of rows given by their `basis`, `d` their distance from that end.
        """
        t, far = 2.0 * np.arcsin(np.sqrt(0.5 * d)), rho < 0.0
        tables = ("slope", "to_end", *(("to_zero",) if self.whole is None else ()))
        found = np.empty((len(tables), len(t)))
        for mirrored, at in enumerate((~far, far)):
            if not at.any():
                continue
            side, polynomials = self.far if mirrored else self.near
            panel, y = side.locate(t)
            some = basis[:, polynomials]
            for p in np.unique(panel[at]):
                here = np.flatnonzero(at & (panel == p))
                pairs = _Series(some, i[here], j[here], y[here])
                for values, table in zip(found, tables, strict=True):
                    values[here] = pairs.sum(getattr(side, table)[p])
        slope, lost = found[0], d * found[1]
        if self.whole is None:
            return rho * found[2], lost, slope
        inner = np.empty_like(rho)
        for at, whole, sign in zip((~far, far), self.whole, (1.0, -1.0), strict=True):
            every = np.einsum("ma,ma->m", (basis @ whole)[i[at]], basis[j[at]])
            inner[at] = every - sign * lost[at]
        return inner, lost, slope


@dataclass(frozen=True, eq=False)
class _Series:
    """Pairs of rows given by their basis (rows, n), at places y of the angle."""

    basis: Array
    i: Index
    j: Index
    y: Array

    def sum(self, c: Array) -> Array:
        """Sum series of coefficients (degree, n, n).

        Rows are fewer than pairs: first one side of the rows, then the other of the pairs.
        """
        size = np.abs(c).max(axis=(1, 2))
        c = c[: int(np.flatnonzero(size > ROUNDING * size.max())[-1]) + 1]
        rows, (at,) = distinct(len(self.basis), self.i)
        v = np.polynomial.chebyshev.chebvander(self.y, len(c) - 1)
        out = np.empty_like(self.y)
        step = max(1, TOGETHER // c[:, 0].size)
        order = np.argsort(at, kind="stable")
        for start in range(0, len(order), step):
            some = order[start : start + step]
            first, last = at[some[0]], at[some[-1]] + 1
            left = self.basis[rows[first:last]]
            left = left @ c.transpose(1, 0, 2).reshape(len(c[0]), -1)
            left = left.reshape(-1, *c.shape[::2])
            each = left[at[some] - first] @ self.basis[self.j[some], :, None]
            out[some] = np.einsum("mk,mk->m", each[..., 0], v[some])
        return out


@lru_cache(maxsize=256)
def ends_at(activation: Activation, log_length: float) -> bool:
    """Whether the Hermite series of slopes at this length ends by `ORDER`."""
    return _by_series(activation, np.exp([log_length])) is not None


def _angle(distance: float) -> float:
    return 1.01 * math.acos(1.0 - distance)


def _panels(
    activation: Activation, r: Array, start: float, end: float, *, mirrored: bool
) -> Panels:
    """Tabulate slopes at lengths r towards one end of the correlation."""
    build = _by_series(activation, r) or _by_plane(activation, r, end)
    slope, gap = build(mirrored)
    return Panels.build(slope, gap=np.inf if start else gap, start=start, end=end)


def _whole(activation: Activation, r: Array) -> Array:
    """Return the integrals of S over [0, 1] and over [0, -1], (2, n, n)."""
    z, w = rule_of(activation, r, mirrored=True)
    s = activation._value(r[:, None] * z)
    s = (s - (s @ w)[:, None]) / r[:, None]
    return np.stack([(s * w) @ s.T, (s * w) @ s[:, ::-1].T])


def _needed(activation: Activation, interval: Interval) -> int:
    """Return the nodes in log length that resolve the slopes' energy, and some more."""
    n = HALVED
    c = np.abs(chebyshev(n) @ _energies(activation, np.exp(interval.nodes(n))))
    return min(int(np.flatnonzero(c > 1e-14 * c.max())[-1]) + 2 + MORE, HALVED)


def _energies(activation: Activation, r: Array) -> Array:
    """E s'(r Z)^2 at every length, by quadrature."""
    z, w = rule_of(activation, r)
    f = activation.derivative._value(r[:, None] * z)
    return f * f @ w


def _by_series(activation: Activation, r: Array) -> Build | None:
    """Hermite series of the slopes at every length; None where they converge slowly."""
    if activation.kinks or _most_panels(activation, r) > TURNS:
        return None
    series = RowSeries.none(activation, r).raised(np.arange(len(r)), ORDER)
    if not series.ended.all():
        return None
    c = series.coefficients
    b = c * np.sqrt(np.arange(1.0, len(c) + 1.0))[:, None]

    def build(mirrored: bool) -> tuple[Callable[[Array], Array], float]:  # noqa: FBT001
        sign = -1.0 if mirrored else 1.0

        def slope(t: Array) -> Array:
            powers = np.vander(sign * np.cos(t), len(b), increasing=True)
            return np.stack([(b.T * row) @ b for row in powers])

        return slope, np.inf

    return build


def _broken(activation: Activation, r: Array) -> list[Broken]:
    """Return the slopes at lengths r as functions of standard Gaussians."""
    df = activation.derivative
    return [
        Broken(
            lambda z, v=v: df._value(v * z),
            tuple(c / v for c in activation.kinks),
            lambda reach, v=v: df._edges(reach * v) / v,
        )
        for v in r
    ]


def _most_panels(activation: Activation, r: Array) -> int:
    """Return how many panels a rule for the slope at any of lengths r needs, at most."""
    each = zip(_broken(activation, r), r, strict=True)
    return max(f.panels(reach(activation, float(v))) for f, v in each)


def _by_plane(activation: Activation, r: Array, end: float) -> Build:
    """Quadrature of the slopes at every length, whatever the kinks, up to an angle."""
    most = _most_panels(activation, r)
    if most > PANELS:
        raise ValueError(
            f"`x` must have lengths at which {PANELS} panels resolve"
            f" {activation.name}, but at {r.max():.3g} it oscillates so often that it"
            f" needs {most}. Rescale the inputs."
        )
    f = _broken(activation, r)
    z, w = rule_of(activation, r)
    s = activation._value(r[:, None] * z)
    variance = (s - (s @ w)[:, None]) ** 2 @ w / (r * r)
    noise = 0.1 * split(activation)[0].tolerance

    def build(mirrored: bool) -> tuple[Callable[[Array], Array], float]:  # noqa: FBT001
        plane = Plane(f, float(variance.min()), mirrored, widest=end, noise=noise)
        return plane, plane.gap

    return build
