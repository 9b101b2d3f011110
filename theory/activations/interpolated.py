"""Derivatives read off the panels on which a function is resolved."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import _breaks
from theory._cached import cached_property
from theory.activations._octaves import Octaves
from theory.meshes import DEVIATIONS, RESOLVED, Mesh

Array = npt.NDArray[np.float64]
Sides = frozenset[tuple[float, float]]

EPS = float(np.finfo(np.float64).eps)
BLOCK = 1 << 14
"""Arguments at a time: their temporaries stay in cache."""
NODES = 20
"""Chebyshev nodes of a panel: what is below rounding of f is not below that of f'."""

SEEN = 12.0
"""Deviations within which a mesh resolves f, however quick: beyond, a Gaussian of its width
leaves nothing,"""

TRUSTED = 6.0
"""and those within which it does to rounding: the error of f may be 1e-18 over the root of
the density, and of what is flat up to a kink all of a moment lies beyond."""

ROUNDED, DISTINCT = 2.0**10, 2.0**43
"""Distance from zero over the width of panels whose nodes are rounded, and may be one."""

ROUGH = 1e-4
"""Last coefficients of a panel on which f is a power or a logarithm, over its slope."""

HALVINGS = 50
"""Of the panels next to 0 that are tried at once."""

FALLING = 0.4
"""Size of f over that on a panel twice as far from 0, below which it vanishes faster than
its argument: rounding of f over the width of a panel falls with every halving."""


@dataclass(frozen=True)
class Differentiated:
    """The derivative of the Chebyshev interpolants on the panels of a function's mesh.

    The error is about 1e-13 of the function's size on a panel over the panel's width, and
    panels are halved towards 0 where the function vanishes there, with its slope; at
    a kink it is the derivative from the right. No values are taken across a kink. The
    mesh is that for a Gaussian of deviation sigma, or a wider one for arguments that are
    in none of its quadratures.
    """

    octaves: Octaves
    order: int = 1
    sigma: float = 1.0
    nodes: int = NODES

    @cached_property
    def _tables(self) -> dict[int, tuple[Array, Array, Sides]]:
        return {}

    def _table(self, mesh: Mesh) -> tuple[Array, Array, Sides]:
        """Return edges of panels, the coefficients on each, and where those are chords'."""
        key = id(mesh)
        if key not in self._tables:
            edges = np.union1d(mesh.edges, self._towards_zero(mesh.edges))
            low, high = edges[:-1], edges[1:]
            table = _breaks.series(self.octaves.f, low, high, self.nodes)
            self._settle(table, low, high)
            chords = self._straighten(table, low, high)
            # The last coefficients, at the level of rounding, would only grow.
            size = np.maximum.accumulate(np.abs(table[:, ::-1]), axis=1)[:, ::-1]
            floor = np.maximum(2.0 * size[:, -4:-3], EPS * size[:, :1])
            table[size <= floor] = 0.0
            for _ in range(self.order):
                slope = np.polynomial.chebyshev.chebder(table, axis=1)
                table = np.pad(slope / (0.5 * (high - low)[:, None]), ((0, 0), (0, 1)))
            # Without the degrees that no panel needs: most of the time of reading.
            degree = int(np.flatnonzero(table.any(axis=0))[-1:].max(initial=0))
            rows = np.ascontiguousarray(table[:, : degree + 1].T)
            self._tables[key] = edges, rows, chords
        return self._tables[key]

    @property
    def chords(self) -> Sides:
        """Kinks and the side, 1 or -1, on whose last panel the chord is taken."""
        return self._table(self.octaves.at(self.sigma))[2]

    def _towards_zero(self, edges: Array) -> Array:
        """Return ends of panels that halve towards 0 as long as that helps."""
        inner = edges[edges < 0.0][-1], edges[edges > 0.0][0]
        out: list[Array] = []
        for end in inner:
            helps = np.ones(1, dtype=bool)
            while helps.all():
                ends = end * 2.0 ** -np.arange(HALVINGS + 1.0)
                low, high = np.sort([ends[1:], ends[:-1]], axis=0)
                c = np.abs(_breaks.series(self.octaves.f, low, high, NODES))
                size = c.max(axis=1)
                smooth = c[:, -3:].max(axis=1) <= RESOLVED * size
                helps = smooth[1:] & (size[1:] > 0.0)
                helps &= size[1:] < FALLING * size[:-1]
                out.append(ends[1:-1][np.cumprod(helps, dtype=bool)])
                end = ends[-2]  # the last that was kept, if all were
        return np.concatenate(out)

    @cached_property
    def _kinks(self) -> Array:
        return np.array(self.octaves.kinks(self.sigma))

    def _settle(self, table: Array, low: Array, high: Array) -> None:
        """Take polynomials next to a kink through the points that nodes are rounded to."""
        width, middle = high - low, 0.5 * (low + high)
        gap = np.abs(middle[:, None] - np.append(self._kinks, np.inf)).min(axis=1)
        fineness = np.abs(middle) / width
        at = (gap < 6.0 * width) & (fineness > ROUNDED) & (fineness < DISTINCT)
        table[at] = _breaks.series(
            self.octaves.f, low[at], high[at], self.nodes, exact=True
        )

    def _straighten(self, table: Array, low: Array, high: Array) -> Sides:
        """Take the chord on the last panels next to a kink where nothing resolves f.

        The integral of the slope over such a panel is then that of f'.
        """
        rough = np.abs(table[:, -3:]).max(axis=1) > ROUGH * np.abs(table[:, 1])
        below, above = np.isin(low, self._kinks), np.isin(high, self._kinks)
        at = np.flatnonzero(rough & (below | above))
        first, last = self.octaves.f(low[at]), self.octaves.f(high[at])
        table[at] = 0.0
        table[at, 0], table[at, 1] = 0.5 * (first + last), 0.5 * (last - first)
        ends = (low[rough & below], 1.0), (high[rough & above], -1.0)
        return frozenset((float(c), side) for cs, side in ends for c in cs)

    def __call__(self, x: Array, *, within: float = DEVIATIONS) -> Array:
        """Return the derivative at x; beyond so many deviations from a wider mesh."""
        x = np.asarray(x, dtype=np.float64)
        flat, out = x.ravel(), np.empty(x.size)
        size = np.abs(flat)
        farthest = float(size.max(initial=0.0))
        if farthest > within * self.sigma:
            self._from(self.octaves.at(farthest / SEEN), flat, out)
            return out.reshape(x.shape)
        own = self.octaves.at(self.sigma)
        self._from(own, flat, out)
        far = np.flatnonzero(
            (size > TRUSTED * self.sigma) & ~self._on_chords(own, flat)
        )
        if len(far):
            try:
                wide = self.octaves.at(farthest / TRUSTED)
            except ValueError:  # what no wider mesh resolves
                return out.reshape(x.shape)
            beyond = np.empty(len(far))
            self._from(wide, flat[far], beyond)
            out[far] = beyond
        return out.reshape(x.shape)

    def _from(self, mesh: Mesh, x: Array, out: Array) -> None:
        """Write the derivative at x by a mesh."""
        edges, table, _ = self._table(mesh)
        for i in range(0, x.size, BLOCK):
            out[i : i + BLOCK] = self._read(edges, table, x[i : i + BLOCK])

    def _on_chords(self, mesh: Mesh, x: Array) -> npt.NDArray[np.bool_]:
        """Which x lie where a chord is taken: a moment has its own part of these."""
        edges, _, chords = self._table(mesh)
        out = np.zeros(x.shape, dtype=bool)
        for c, side in chords:
            k = int(np.searchsorted(edges, c)) - (side < 0.0)
            out |= (x >= edges[k]) & (x <= edges[k + 1])
        return out

    @staticmethod
    def _read(edges: Array, table: Array, x: Array) -> Array:
        cell = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
        low, high = edges[cell], edges[cell + 1]
        y = ((x - low) - (high - x)) / (high - low)
        twice = 2.0 * y
        b1, b2, term = np.zeros_like(x), np.zeros_like(x), np.empty_like(x)
        for k in range(len(table) - 1, 0, -1):
            # `clip` lets take write to a buffer: all cells are within the table.
            table[k].take(cell, out=term, mode="clip")
            term -= b2
            np.multiply(twice, b1, out=b2)
            b2 += term
            b1, b2 = b2, b1
        return y * b1 - b2 + table[0].take(cell)
