"""Kernel matrices of rows of any lengths: blocks of pairs, read off or run through.

Pairs that are apart are read off tables of all layers (`deep_tables`). The others,
and all where rows are few, go through the layers one by one (`recursion`).
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import matrices
from theory._cached import cached_property
from theory._recursion.angles import CUTS, Angles
from theory._recursion.closed_maps import closed
from theory._recursion.deep_tables import DeepTable, Placed, around, deep_table, odd
from theory._recursion.recursion import Part, Recursion, Stack, combine, total
from theory._recursion.rows import Index, LogLengths
from theory.grids import CLOSE

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

Listed = tuple[Index, Index, Array, Array]
"""Pairs of rows, their correlations and their distances from the nearer of +-1."""

BLOCK = 8192
"""Pairs evaluated together: their temporaries stay in cache."""

ROWS = 64
"""Rows of a panel."""

LISTED = 32768
"""Pairs that go through the layers together."""

SAMPLE = 200
"""Rows whose pairs show how many there are at which angles."""

CALLS = 4
"""Calls with rows of such lengths in which a table has to pay for itself."""

NODE, READ = 8.0, 4.0
"""What a pair at nodes of a table takes, and reading a pair off all layers, of a layer by a
formula for a pair: 0.2 and 0.12 microseconds of 0.03 for GELU."""

DIRECT = 4096
"""Pairs up to this number need no tables."""


@dataclass(frozen=True, eq=False)
class Placement:
    """A table of some angles, made when a pair needs it, and the rows in its cells."""

    stack: Stack
    angles: Angles
    logs: tuple[Array, Array]  # of rows and of columns, rising
    most: int  # pairs at nodes that the table is worth

    @cached_property
    def table(self) -> DeepTable:
        """The table."""
        both = around(np.concatenate(self.logs))
        return deep_table(self.stack, both, self.angles, self.most)

    @cached_property
    def sides(self) -> tuple[Placed, Placed]:
        """Rows and columns."""
        rows, columns = (Placed.of(v, self.table.cells) for v in self.logs)
        return rows, columns

    def read(
        self, block: tuple[Index, Index], t: Array, out: Sequence[Array]
    ) -> Mask | None:
        """Write kernels at angles t; return which pairs it has no table for, if any."""
        low, high = self.angles.low, self.angles.high
        here = (t >= low) & (t <= high)
        some = np.flatnonzero(here.any(axis=0))
        if not len(some):
            return None
        if self.table.coefficients is None:
            return here
        if 2 * len(some) > t.shape[1]:
            found = self.table.read(*self.sides, block, self.angles.place(t))
            for values, value in zip(out, found, strict=True):
                np.copyto(values, value, where=here)
            return None
        # Few pairs lie at these angles: those of their columns.
        rows, columns = block
        place, here = self.angles.place(t[:, some]), here[:, some]
        found = self.table.read(*self.sides, (rows, columns[some]), place)
        for values, value in zip(out, found, strict=True):
            values[:, some] = np.where(here, value, values[:, some])
        return None


@dataclass(frozen=True, eq=False)
class Uneven:
    """Rows of any lengths that enter a network, both sides of a matrix in rising length.

    Attributes
    ----------
    inputs : Inputs
    x : array, (n, d)
        The inputs at the lengths that count.
    stack : Stack
    first : Layer
        Its variances are those of the weights that read the inputs.
    split : int or None
        Rows of the matrix, the rest are its columns; None for all with all.
    """

    inputs: matrices.Inputs
    x: Array
    stack: Stack
    variances: tuple[float, float]
    split: int | None

    @cached_property
    def _parts(self) -> tuple[Part, ...]:
        """Kernels that add up before the first layer."""
        weight_var, bias_var = self.variances
        own = Part(LogLengths.of_rows(self.x), weight_var)
        return (own, Part(None, bias_var)) if bias_var else (own,)

    @cached_property
    def _start(self) -> LogLengths:
        rows = self._parts[0].rows
        assert rows is not None
        return total(self._parts, rows)

    @cached_property
    def _recursion(self) -> Recursion:
        return Recursion.build(self.stack, self._start)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix."""
        n = len(self.x)
        return (n, n) if self.split is None else (self.split, n - self.split)

    @cached_property
    def _tables(self) -> tuple[Placement, ...]:
        """Of the angles in the middle and towards both ends; none for few pairs."""
        m, n = self.shape
        if m * n <= DIRECT * (1 if self.split else 2):
            return ()
        logs, at = self._start.high, self.split or 0
        sides = (logs[: self.split], logs[at:])
        folded = odd(self.stack)
        near = list(itertools.pairwise(CUTS))
        ends = [(CUTS[-1], 0.5 * math.pi if folded else math.pi - CUTS[-1]), *near]
        ends += [] if folded else [(math.pi - b, math.pi - a) for a, b in near]
        return tuple(
            Placement(self.stack, angles, sides, self._between(angles))
            for angles in (Angles(low, high, folded) for low, high in ends)
        )

    def _between(self, angles: Angles) -> int:
        """Pairs at some angles, by a sample; a power of two, for tables to be shared."""
        m, n = self.shape
        rows = self._unit[: self.split][:: max(1, m // SAMPLE)]
        columns = self._unit[self.split or 0 :][:: max(1, n // SAMPLE)]
        rho = np.clip(rows @ columns.T, -1.0, 1.0)
        t = np.arccos(np.abs(rho) if angles.folded else rho)
        share = float(np.mean((t >= angles.low) & (t <= angles.high)))
        count = share * m * n / (1 if self.split else 2)
        count *= CALLS
        # By formulas pairs go through the layers so fast that few are worth a table.
        layers = self.stack.layers
        if all(closed(layer.activation) for layer in layers):
            count *= max(0.0, 1.0 - READ / len(layers)) / NODE
        return 1 << round(math.log2(max(count, 1.0)))

    @cached_property
    def logs(self) -> Array:
        """Log lengths after all layers, and log diagonals of the tangent kernel."""
        count = 2 if self.stack.trained else 1
        both = [self._recursion.rows.high, self._recursion.log_tangent]
        return np.array(both[:count])

    def panel(self, rows: slice, columns: slice, out: Sequence[Array]) -> Listed:
        """Write correlation and relative tangent kernel of some rows.

        Returns the pairs that are to go through the layers; many are taken at once.
        """
        rho, d = self.inputs.pairs(self._unit, rows, columns)
        if len(self._parts) > 1:
            rho, d = self._with_bias(rho, d, rows, columns)
        listed = np.full(rho.shape, not self._tables)
        step = max(1, BLOCK // rho.shape[1]) if self._tables else len(rho)
        for start in range(0, len(rho) if self._tables else 0, step):
            part = slice(start, min(start + step, len(rho)))
            here = slice(rows.start + part.start, rows.start + part.stop)
            into = [values[part] for values in out]
            self._read(rho[part], d[part], here, columns, into, listed[part])
        if self.split is None:
            # Each pair once; the diagonal is one.
            square = listed[:, : len(rho)]
            square &= ~np.tri(*square.shape, dtype=bool)
        p, s = np.divmod(np.flatnonzero(listed), rho.shape[1])
        whole = len(p) - len(p) % LISTED
        for start in range(0, whole, LISTED):
            at = p[start : start + LISTED], s[start : start + LISTED]
            pairs = (rows.start + at[0], columns.start + at[1], rho[at], d[at])
            for values, value in zip(out, self.through(pairs), strict=True):
                values[at] = value
        p, s = p[whole:], s[whole:]
        return rows.start + p, columns.start + s, rho[p, s], d[p, s]

    def through(self, pairs: Listed) -> list[Array]:
        """Take pairs through the layers one by one."""
        return [v for v in self._recursion.pairs(*pairs) if v is not None]

    def _with_bias(
        self, rho: Array, d: Array, rows: slice, columns: slice
    ) -> tuple[Array, Array]:
        i, j = (np.arange(s.start, s.stop) for s in (rows, columns))
        pairs = np.repeat(i, len(j)), np.tile(j, len(i))
        one = (np.ones(rho.size), np.zeros(rho.size))
        given = [(rho.ravel(), d.ravel()), one]
        found = combine(self._parts, self._start, given, *pairs)
        return found[0].reshape(rho.shape), found[1].reshape(rho.shape)

    @cached_property
    def _unit(self) -> Array:
        return self.inputs.v / self.inputs.norms[:, None]

    def _read(
        self,
        rho: Array,
        d: Array,
        rows: slice,
        columns: slice,
        out: Sequence[Array],
        listed: Mask,
    ) -> None:
        """Read pairs off the tables, and list those that have none."""
        at = self.split or 0
        first, second = (np.arange(s.start, s.stop) for s in (rows, columns))
        block = first, second - at
        folded = self._tables[0].angles.folded
        t = np.arccos(np.abs(rho) if folded else rho)
        np.less(d, CLOSE, out=listed)
        for table in self._tables:
            left = table.read(block, t, out)
            if left is not None:
                listed |= left
        if folded:
            for values in out:
                values *= rho
        np.clip(out[0], -1.0, 1.0, out=out[0])


def _by_length(inputs: matrices.Inputs, split: int | None) -> Index:
    """Order of rows, or of both parts of them, in rising length."""
    if split is None:
        return np.argsort(inputs.norms, kind="stable")
    parts = (inputs.norms[:split], inputs.norms[split:])
    first, second = (np.argsort(v, kind="stable") for v in parts)
    return np.concatenate([first, split + second])


def fill(
    inputs: matrices.Inputs,
    x: Array,
    stack: Stack,
    variances: tuple[float, float],
    split: int | None,
    *,
    relative: bool,
) -> tuple[Array, Array | None]:
    """Return (K, T) of all rows, or of rows before `split` with those from it on.

    `x` are the rows of the inputs at the lengths that count, `variances` those of the
    first layer's weights and biases. T is over the geometric mean of its diagonal entries
    if `relative`.
    """
    order = _by_length(inputs, split)
    again = matrices.Inputs(inputs.v[order], inputs.norms[order])
    net = Uneven(again, x[order], stack, variances, split)
    m, n = net.shape
    logs = net.logs
    if len(logs) > 1 and not relative and logs[1].max() > 709.0:
        raise ValueError(
            "`depth` must keep the tangent kernel within float64, got a diagonal"
            f" of e^{logs[1].max():.0f}. Use `normalized=True`."
        )
    scales = [np.exp(logs[0])]
    if len(logs) > 1:
        scales.append(np.ones(len(x)) if relative else np.exp(0.5 * logs[1]))
    # Zeros, for all of it is scaled: entries that are left for later, too.
    kernels = [np.zeros((m, n)) for _ in scales]
    at = split or 0
    left: list[Listed] = []

    def panel(first: int) -> None:
        rows = slice(first, min(first + ROWS, m))
        columns = slice(first if split is None else at, len(x))
        upper = [k[rows, columns.start - at :] for k in kernels]
        left.append(net.panel(rows, columns, upper))
        for k, part, scale in zip(kernels, upper, scales, strict=True):
            if split is None:
                # Rounding depends on the order of a pair: keep one of the two.
                square = part[:, : len(part)]
                np.einsum("ii->i", square)[:] = 1.0
                square[:] = np.triu(square) + np.triu(square, 1).T
            part *= scale[rows, None] * scale[columns]
            if split is None:
                k[rows.stop :, rows] = part[:, len(part) :].T

    matrices.each(panel, range(0, m, ROWS))
    # Of all panels together: a layer's tables cost as much for a few pairs as for many.
    i, j, rho, d = (np.concatenate(v) for v in zip(*left, strict=True))
    for start in range(0, len(i), LISTED):
        part = slice(start, start + LISTED)
        pairs = i[part], j[part], rho[part], d[part]
        for k, v, scale in zip(kernels, net.through(pairs), scales, strict=True):
            v *= scale[pairs[0]] * scale[pairs[1]]
            k[pairs[0], pairs[1] - at] = v
            if split is None:
                k[pairs[1], pairs[0]] = v
    back = np.argsort(order[:m]), np.argsort(order[at:])
    for k in kernels:
        _reorder(k, *back)
    return kernels[0], kernels[1] if len(kernels) > 1 else None


def _reorder(k: Array, rows: Index, columns: Index) -> None:
    """Put rows and columns in this order, in place."""
    for row in k:
        row[:] = row[columns]
    moved = rows == np.arange(len(rows))
    for start in np.flatnonzero(~moved):
        if moved[start]:
            continue
        first, at = k[start].copy(), start
        while rows[at] != start:
            k[at], moved[at] = k[rows[at]], True
            at = rows[at]
        k[at], moved[at] = first, True
