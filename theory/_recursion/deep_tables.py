r"""Kernels of all layers as functions of both input lengths and the angle.

Between +-1, correlation and relative tangent kernel after L layers are smooth in the
lengths that the rows have before the first: the recursion is run at a few nodes in both
logarithms and in the angle, and every pair is read off once, whatever the depth. Log
lengths are split into cells until polynomials of a fixed degree resolve them.
"""

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from theory._chebyshev import chebyshev, nodes
from theory._recursion.angles import Angles
from theory._recursion.intervals import Interval
from theory._recursion.recursion import Recursion, Stack
from theory._recursion.rows import Index, LogLengths
from theory.activations.function import ODD

Array = npt.NDArray[np.float64]

NODES = 20
"""In log length, of a cell."""

FEW = 4
"""Rows and angles by which cells are laid out before all pairs are sampled."""

PROBES = 16
"""Rows whose kernels show of which nodes the others are combinations, """

ANGLES = 6
"""and at how many angles."""

RANKS = 40
"""Nodes of which the others are combinations, about."""

FULL = 2.0
"""Nodes of which others are combinations, over the rows that show it: there are more."""

RANK = 2e-15
"""Pivots that count, over the first."""

MOST_ANGLES = 96

TAIL = 1e-13
"""Last Chebyshev coefficients that are small enough, over the diagonal."""

FIRST = 2e-14
"""The same of the few kernels by which cells are laid out: there are larger ones."""

ROUNDING = 2e-15
"""Coefficients that are left out."""

NARROW = 2.0**-10
"""Least width of an interval of log lengths."""


def around(logs: Array) -> Interval:
    """Return an interval of a family around log lengths, so that tables are shared."""
    low, high = float(logs.min()), float(logs.max())
    step = 2.0 ** (math.ceil(math.log2(max(high - low, NARROW))) - 4)
    return Interval(
        step * math.floor(low / step), step * (math.floor(high / step) + 1.0)
    )


@dataclass(frozen=True)
class Cells:
    """Neighbouring intervals of log length."""

    edges: tuple[float, ...]

    def cost(self, degree: int) -> int:
        """Return about how many pairs a table of them takes through the layers."""
        n = len(self.intervals) * NODES
        return n * (ANGLES * PROBES + FEW * FEW + 3) + min(n, RANKS) ** 2 // 2 * degree

    @property
    def intervals(self) -> list[Interval]:
        """The cells, rising."""
        return [
            Interval(a, b) for a, b in zip(self.edges, self.edges[1:], strict=False)
        ]

    def nodes(self) -> Array:
        """Return the nodes of all, rising, shape (cells * NODES,)."""
        return np.concatenate([c.nodes(NODES)[::-1] for c in self.intervals])

    def split(self, coarse: npt.NDArray[np.bool_]) -> "Cells":
        """Return cells with the chosen ones halved."""
        middles = [
            0.5 * (c.low + c.high)
            for c, halve in zip(self.intervals, coarse, strict=True)
            if halve
        ]
        return Cells(tuple(sorted([*self.edges, *middles])))


@dataclass(frozen=True, eq=False)
class Placed:
    """Rows of rising log lengths in their cells, and the polynomials there."""

    ends: tuple[int, ...]
    basis: Array  # (n, NODES)

    @classmethod
    def of(cls, logs: Array, cells: Cells) -> "Placed":
        """Find the cells of log lengths (n,)."""
        inner = np.searchsorted(logs, cells.edges[1:-1]).tolist()
        ends = (0, *inner, len(logs))
        basis = [
            c.basis(logs[a:b], NODES)
            for c, a, b in zip(cells.intervals, ends, ends[1:], strict=False)
        ]
        return cls(ends, np.concatenate(basis))

    def parts(self, of: Index) -> list[tuple[int, slice]]:
        """Return the cells that rising rows (m,) lie in, and which of the m."""
        ends = np.searchsorted(of, self.ends).tolist()
        return [
            (c, slice(a, b))
            for c, (a, b) in enumerate(itertools.pairwise(ends))
            if a < b
        ]


@dataclass(frozen=True, eq=False)
class DeepTable:
    """Kernels between some angles; with no coefficients if they are not resolved."""

    angles: Angles
    cells: Cells
    coefficients: Array | None
    """(cells, cells, n, kernels * degree * n)"""
    kernels: int

    def read(
        self, rows: Placed, columns: Placed, block: tuple[Index, Index], y: Array
    ) -> Array:
        """Return the kernels of a block of pairs at places y of the angle."""
        assert self.coefficients is not None
        out = np.empty((self.kernels, *y.shape))
        n = self.coefficients.shape[2]
        own, other = rows.basis[block[0], :n], columns.basis[block[1], :n]
        for p, r in rows.parts(block[0]):
            for q, c in columns.parts(block[1]):
                left = own[r] @ self.coefficients[p, q]
                each = left.reshape(-1, n) @ other[c].T
                each = each.reshape(r.stop - r.start, self.kernels, -1, each.shape[1])
                out[:, r, c] = _clenshaw(each, y[r, c][:, None]).swapaxes(0, 1)
        return out


def _clenshaw(c: Array, y: Array) -> Array:
    """Evaluate series of coefficients (rows, kernels, degree, columns) at y."""
    twice = 2.0 * y
    b1 = c[:, :, -1].copy()
    b2, new = np.zeros_like(b1), np.empty_like(b1)
    for k in range(c.shape[2] - 2, 0, -1):
        np.multiply(twice, b1, out=new)
        new -= b2
        new += c[:, :, k]
        b1, b2, new = new, b1, b2
    b1 *= y
    b1 -= b2
    b1 += c[:, :, 0]
    return b1


def odd(stack: Stack) -> bool:
    """Whether kernels are odd functions of the correlation."""
    return all(a.activation.parity == ODD and not a.bias_var for a in stack.layers)


@lru_cache(maxsize=64)
def deep_table(
    stack: Stack, interval: Interval, angles: Angles, most: int
) -> DeepTable:
    """Run the recursion at nodes, if it takes no more than `most` pairs."""
    degree = 24 if not angles.folded else 21 if angles.high < 0.5 * math.pi else 14
    cells = _outlined(stack, interval, angles, degree, most)
    kernels, turns, spent = 2 if stack.trained else 1, ANGLES, 0
    probes, found = np.zeros(0, dtype=np.intp), None
    while cells.cost(degree) <= most and degree <= MOST_ANGLES:
        t, nodes = angles.nodes(degree), NODES * len(cells.intervals)
        if found is None:
            if not len(probes):
                probes = _spread(nodes, PROBES)
            spent += nodes * len(probes) * turns if len(probes) < nodes else 0
            if spent > most:
                break
            recursion = _recursion(stack, cells)
            found = recursion, *_skeleton(recursion, t[_spread(degree, turns)], probes)
            if len(found[2]) > FULL * len(probes) and len(probes) < nodes:
                probes, found = _spread(nodes, 2 * len(probes)), None
                continue
        recursion, basis, few = found
        i, j = np.triu_indices(len(few))
        spent += len(i) * degree
        if spent > most:
            break
        sampled = _sampled(recursion, t, (few[i], few[j]))
        values = np.empty((degree, len(sampled), len(few), len(few)))
        values[:, :, i, j] = values[:, :, j, i] = sampled.transpose(2, 0, 1)
        values = np.einsum("lk,kfij->flij", chebyshev(degree), values)
        if not _agree(recursion, angles, basis, values):
            more = np.union1d(probes, few)
            if len(more) == len(probes):
                # Twice as many angles, and nodes between.
                more, turns = _spread(nodes, 2 * len(probes)), 2 * turns
            # All where these are hardly more pairs.
            every = 4 * len(more) * turns > nodes * degree
            probes, found = np.arange(nodes) if every else more, None
            continue
        to = chebyshev(NODES)[:, ::-1] @ basis.reshape(-1, NODES, len(few))
        size = _sizes(values, to)
        short = size[-2:].max() > TAIL
        coarse = size[..., -2:].max(axis=(0, 2)) > TAIL
        if not short and not coarse.any():
            n, angular = _used(size.max(axis=(0, 1))), _used(size.max(axis=(1, 2)))
            c = _by_cells(values[:, :angular], to[:, :n])
            return DeepTable(angles, cells, c, kernels)
        degree += degree // 2 if short else 0
        if coarse.any():
            cells, found, probes = cells.split(coarse), None, probes[:0]
    return DeepTable(angles, cells, None, kernels)


def _spread(n: int, count: int) -> Index:
    """Return so many of the numbers below n, or all, the first and the last included."""
    return np.unique(np.linspace(0, n - 1, min(n, count)).round().astype(np.intp))


def _skeleton(recursion: Recursion, t: Array, few: Index) -> tuple[Array, Index]:
    """Return a few nodes and what the others are of them, (nodes, few).

    Kernels with some nodes, `few` of them at angles t, are combinations of those of as
    many as their rank: the first pivots of a QR decomposition (an interpolative
    decomposition). With as many as there are nodes these are all.
    """
    from scipy.linalg import qr, solve_triangular

    n = len(recursion.start.high)
    if len(few) >= n:
        return np.eye(n), np.arange(n)
    pairs = np.repeat(np.arange(n), len(few)), np.tile(few, n)
    found = _sampled(recursion, t, pairs)
    columns = found.reshape(len(found), n, -1).transpose(0, 2, 1).reshape(-1, n)
    _, r, order = qr(columns, mode="economic", pivoting=True)
    size = np.abs(np.diag(r))
    # Where all are zero, as far from the ends of waves on long rows, one is as good.
    rank = max(1, int(np.count_nonzero(size > RANK * size[0])))
    basis = np.zeros((n, rank))
    basis[order[:rank]] = np.eye(rank)
    if size[0] > 0.0:
        rest = solve_triangular(r[:rank, :rank], r[:rank, rank:])
        basis[order[rank:]] = rest.T
    return basis, order[:rank].astype(np.intp)


def _agree(recursion: Recursion, angles: Angles, basis: Array, values: Array) -> bool:
    """Whether combinations of a few nodes are the kernels of others, at some angles."""
    n, degree = len(basis), values.shape[1]
    i = np.arange(n)
    j = (i * (2 * (n // 3) + 1) + n // 7) % n
    y = nodes(degree)[[1, degree // 3, -2]]
    true = _sampled(recursion, angles.at(y), (i, j))
    turns = np.polynomial.chebyshev.chebvander(y, degree - 1)
    at = np.einsum("kl,flij->fkij", turns, values)
    found = np.einsum("fkni,ni->fnk", basis @ at, basis[j])
    return bool(np.abs(found - true).max() <= TAIL)


def _sizes(values: Array, to: Array) -> Array:
    """Return the largest coefficients by degree in the angle, cell, degree in the cell."""
    out = np.zeros((values.shape[1], *to.shape[:2]))
    every = to.reshape(-1, to.shape[2]).T
    for cell, left in enumerate(to):
        c = np.abs((left @ values) @ every).max(axis=0)
        out[:, cell] = np.maximum(out[:, cell], c.max(axis=2))
    return out


def _by_cells(values: Array, to: Array) -> Array:
    """Return coefficients of pairs of cells, (cells, cells, n, kernels * degree * n)."""
    count, n, rank = to.shape
    every = to.reshape(-1, rank).T
    out = np.empty((count, count, n, len(values), values.shape[1], n))
    for row, left in zip(out, to, strict=True):
        c = (left @ values) @ every
        c = c.reshape(*c.shape[:2], n, count, n)
        row[:] = c.transpose(3, 2, 0, 1, 4)
    return out.reshape(count, count, n, -1)


def _used(size: Array) -> int:
    """Coefficients up to the last that is more than rounding, at least two."""
    found = np.flatnonzero(size > ROUNDING)
    return max(2, int(found[-1]) + 1) if found.size else 2


def _outlined(
    stack: Stack, interval: Interval, angles: Angles, degree: int, most: int
) -> Cells:
    """Split cells until kernels with a few of the rows, at a few angles, are resolved.

    Those of rows by themselves come first. At most to the first that cost more than so
    many pairs.
    """
    cells = Cells((interval.low, interval.high))
    while cells.cost(degree) <= most:
        alone = _alone(_recursion(stack, cells), cells)
        coarse = np.abs(alone[:, -2:]).max(axis=(1, 2)) > FIRST
        if not coarse.any():
            break
        cells = cells.split(coarse)
    while cells.cost(degree) <= most:
        count = len(cells.intervals)
        few = _spread(count * NODES, FEW)
        rows = np.arange(count * NODES)
        pairs = np.repeat(rows, FEW), np.tile(few, len(rows))
        values = _sampled(_recursion(stack, cells), angles.nodes(FEW), pairs)
        values = values.reshape(len(values), count, NODES, FEW, FEW)
        size = np.abs(np.einsum("ai,fpijk->fpajk", chebyshev(NODES)[-2:, ::-1], values))
        coarse = size.max(axis=(0, 2, 3, 4)) > FIRST
        if not coarse.any():
            break
        cells = cells.split(coarse)
    return cells


def _recursion(stack: Stack, cells: Cells) -> Recursion:
    """Run the nodes of all cells through the layers."""
    logs = cells.nodes()
    start = (float(logs[0]), 0.0)
    rows = LogLengths.from_gaps(start, np.diff(logs), np.arange(len(logs)))
    return Recursion.build(stack, rows, many=True)


def _alone(recursion: Recursion, cells: Cells) -> Array:
    """Coefficients of log lengths and log tangent diagonals, (cells, NODES, 1 or 2)."""
    logs = [recursion.rows.high]
    logs += [recursion.log_tangent] if recursion.stack.trained else []
    values = np.array(logs).reshape(len(logs), len(cells.intervals), NODES)
    return np.einsum("ai,fpi->paf", chebyshev(NODES)[:, ::-1], values)


def _sampled(recursion: Recursion, t: Array, pairs: tuple[Index, Index]) -> Array:
    """Return the kernels of pairs of nodes at angles, (1 or 2, pairs, angles).

    Over the correlation of the angle where they are odd functions of it.
    """
    rho, near = np.cos(t), np.minimum(t, np.pi - t)
    d = 2.0 * np.square(np.sin(0.5 * near))
    i, j = (np.repeat(k, len(t)) for k in pairs)
    count = len(pairs[0])
    found = recursion.pairs(i, j, np.tile(rho, count), np.tile(d, count))
    values = [v.reshape(count, len(t)) for v in found if v is not None]
    return np.array([v / rho if odd(recursion.stack) else v for v in values])
