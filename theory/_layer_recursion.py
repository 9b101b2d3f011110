r"""Kernels of inputs of any lengths, one layer after another.

A pair is carried as its correlation and its distance from the nearer of +-1, a row as the
logarithm of its length, whose differences keep their digits (`theory._rows`). One layer is
a map of these (`theory._layer_maps`); weights, biases and residual connections then add
kernels up: for lengths :math:`R_{p,i}` and distances :math:`\delta_p` of the parts p,

.. math::

   (1 - \rho)\, R_i R_j = \sum_p R_{p,i} R_{p,j}\, \delta_p + \sum_{p < o}
       \frac{(R_{p,i} R_{o,j} - R_{o,i} R_{p,j})^2}{R_i R_j + \sum_p R_{p,i} R_{p,j}},

again a sum of positive terms. A row and its copy stay the same at any depth.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import matrices
from theory._homogeneous_maps import Homogeneous
from theory._layer_maps import Interpolated
from theory._layers import Layer
from theory._rows import LogLengths
from theory.grids import CLOSE

Array = npt.NDArray[np.float64]

BLOCK = 16384
"""Pairs evaluated together: their temporaries stay in cache."""


@dataclass(frozen=True, eq=False)
class Part:
    """One of the kernels that add up: its lengths, over sqrt(weight), and its weight."""

    rows: LogLengths | None  # none: a constant
    weight: float

    def log(self, at: slice | npt.NDArray[np.intp], n: int) -> Array:
        """Return log lengths of some of n rows, the weight included."""
        half = 0.5 * math.log(self.weight)
        if self.rows is None:
            return np.full(n, half)[at]
        return self.rows.high[at] + half

    def gaps(self, i: npt.NDArray[np.intp], j: npt.NDArray[np.intp]) -> Array:
        """Return differences of log lengths."""
        return np.zeros(len(i)) if self.rows is None else self.rows.differences(i, j)


def _sum(parts: Sequence[Part], like: LogLengths) -> LogLengths:
    """Log lengths of a sum of kernels."""
    if len(parts) == 1 and parts[0].rows is not None:
        rows = parts[0].rows
        return rows.after(rows.start, rows.gaps, 0.5 * math.log(parts[0].weight))
    n = len(like.high)
    logs = np.array([p.log(like.order, n) for p in parts])
    whole = 0.5 * np.logaddexp.reduce(2.0 * logs, axis=0)
    share = np.exp(2.0 * (logs - whole))[:, :-1]
    gaps = np.array([np.zeros(n - 1) if p.rows is None else p.rows.gaps for p in parts])
    rise = 0.5 * np.log1p((share * np.expm1(2.0 * gaps)).sum(axis=0))
    return like.after((float(whole[0]), 0.0), rise)


@dataclass(frozen=True, eq=False)
class Step:
    """One layer at the lengths that the rows have there."""

    layer: Layer
    map: Homogeneous | Interpolated
    parts: tuple[Part, ...]
    rows: LogLengths  # after it

    @classmethod
    def build(cls, layer: Layer, before: LogLengths, m: int | None) -> "Step":
        """Build the layer's map for rows of these lengths."""
        a = layer.activation
        each = Interpolated(a, before) if m is None else Homogeneous(a, before, m)
        parts = [Part(each.rows, layer.weight_var)]
        if layer.bias_var:
            parts.append(Part(None, layer.bias_var))
        if layer.skip:
            parts.append(Part(before, layer.skip**2))
        return cls(layer, each, tuple(parts), _sum(parts, before))


def combine(
    parts: Sequence[Part],
    sums: LogLengths,
    given: Sequence[tuple[Array, Array]],
    rows: slice,
    columns: slice,
) -> tuple[Array, Array]:
    """Return correlation and distance from +-1 of a sum of kernels.

    `given` are those of the parts; a constant part has correlation one.
    """
    if len(parts) == 1:
        return given[0]
    n = len(sums.high)
    rho = np.zeros_like(given[0][0])
    for p, (r, _) in zip(parts, given, strict=True):
        left = np.exp(p.log(rows, n) - sums.high[rows])
        rho += (left[:, None] * np.exp(p.log(columns, n) - sums.high[columns])) * r
    np.clip(rho, -1.0, 1.0, out=rho)
    d = 1.0 - np.abs(rho)
    a, b = np.divmod(np.flatnonzero((d < CLOSE) & (rho > 0.0)), rho.shape[1])
    if len(a):
        i, j = rows.start + a, columns.start + b
        left, right = (
            [np.exp(p.log(k, n) - sums.high[k]) for p in parts] for k in (i, j)
        )
        both = [u * v for u, v in zip(left, right, strict=True)]
        delta = np.zeros(len(a))
        for size, (r, e) in zip(both, given, strict=True):
            delta += size * np.where(r[a, b] > 0.0, e[a, b], 2.0 - e[a, b])
        gaps = [p.gaps(i, j) for p in parts]
        for p, o in itertools.combinations(range(len(parts)), 2):
            turn = right[p] * left[o] * np.expm1(gaps[p] - gaps[o])
            delta += turn * turn / (1.0 + sum(both))
        rho[a, b], d[a, b] = 1.0 - delta, np.minimum(delta, 2.0 - delta)
    return rho, d


@dataclass(frozen=True, eq=False)
class Recursion:
    """All layers at the lengths of the rows, and the tangent kernel's diagonal."""

    first: tuple[Part, ...]
    start: LogLengths
    steps: tuple[Step, ...]
    trained: frozenset[int]
    diagonals: tuple[Array, ...]
    scales: tuple[float, ...]
    """Log of what each layer's tangent kernel was divided by, to stay within float64."""


def prepare(
    x: Array,
    layers: Sequence[Layer],
    degrees: Sequence[int | None],
    *,
    tangent: bool,
    trained: frozenset[int],
    weight_var: float,
    bias_var: float,
) -> Recursion:
    """Build every layer's map for the rows of x (n, d)."""
    inputs = LogLengths.of_rows(x)
    first = [Part(inputs, weight_var)]
    if bias_var:
        first.append(Part(None, bias_var))
    start = rows = _sum(first, inputs)
    steps: list[Step] = []
    for layer, m in zip(layers, degrees, strict=True):
        if not np.all(np.abs(rows.high) < 345.0):
            raise ValueError(
                "kernels: `depth` must keep the kernel within float64, got"
                f" e^{2.0 * rows.high[np.abs(rows.high).argmax()]:.0f} on the diagonal."
                " Use `activation.normalized()`."
            )
        steps.append(Step.build(layer, rows, m))
        rows = steps[-1].rows
    diagonals, scales = [], []
    if tangent:
        t = np.exp(2.0 * start.high) * (1 in trained)
        log = 0.0
        diagonals, scales = [t], [log]
        for number, step in enumerate(steps, start=2):
            layer = step.layer
            t = t * (layer.weight_var * step.map.slopes + layer.skip**2)
            if number in trained:
                branch = layer.weight_var * np.exp(2.0 * step.map.rows.high)
                t = t + (branch + layer.bias_var) * math.exp(-log)
            size = float(t.max()) if t.any() else 1.0
            if not 1e-100 < size < 1e100:
                t, log = t / size, log + math.log(size)
            diagonals.append(t)
            scales.append(log)
    return Recursion(
        tuple(first), start, tuple(steps), trained, tuple(diagonals), tuple(scales)
    )


def fill(
    inputs: matrices.Inputs,
    recursion: Recursion,
    split: int | None,
    *,
    tangent: bool,
    relative: bool,
) -> tuple[Array, Array | None]:
    """Return (K, T) of all rows, or of rows before `split` with those from it on.

    T is over the geometric mean of its diagonal entries if `relative`.
    """
    n = len(inputs.v)
    shape = (n, n) if split is None else (split, n - split)
    k = np.empty(shape)
    t = np.empty(shape) if tangent else None
    unit = inputs.v / inputs.norms[:, None]
    last = np.exp(recursion.steps[-1].rows.high)
    if tangent and not relative and recursion.scales[-1] > 600.0:
        raise ValueError(
            "kernels: `depth` must keep the tangent kernel within float64, got a diagonal"
            f" of e^{recursion.scales[-1]:.0f}. Use `normalized=True`."
        )
    size = max(1, BLOCK // shape[1])

    def block(start: int) -> None:
        rows = slice(start, min(start + size, shape[0]))
        columns = slice(start, n) if split is None else slice(split, n)
        rho, d = inputs.pairs(unit, rows, columns)
        rho, theta = _deep(recursion, rho, d, rows, columns, tangent=tangent)
        rho *= last[rows, None] * last[columns]
        if theta is not None:
            diagonal, log = recursion.diagonals[-1], recursion.scales[-1]
            if relative:
                root = np.sqrt(diagonal)
                theta /= root[rows, None] * root[columns]
            else:
                theta *= math.exp(log)
        offset = 0 if split is None else split
        for out, part in ((k, rho), (t, theta)):
            if out is None or part is None:
                continue
            if split is None:
                # Rounding depends on the order of a pair: keep one of the two.
                square = part[:, : len(part)]
                square[:] = np.triu(square) + np.triu(square, 1).T
                out[columns, rows] = part.T
            out[rows, columns.start - offset : columns.stop - offset] = part

    matrices.each(block, range(0, shape[0], size))
    return k, t


def _deep(
    recursion: Recursion,
    rho: Array,
    d: Array,
    rows: slice,
    columns: slice,
    *,
    tangent: bool,
) -> tuple[Array, Array | None]:
    """Take a block of pairs through all layers."""
    one = (np.ones_like(rho), np.zeros_like(rho))
    given = [(rho, d), one][: len(recursion.first)]
    rho, d = combine(recursion.first, recursion.start, given, rows, columns)
    theta: Array | None = None
    if tangent:
        size = np.exp(recursion.start.high)
        theta = rho * size[rows, None] * size[columns] * (1 in recursion.trained)
    for number, step in enumerate(recursion.steps, start=2):
        after, gap, slope = step.map.block(rows, columns, rho, d, tangent=tangent)
        layer = step.layer
        if theta is not None and slope is not None:
            before, log = recursion.scales[number - 2 : number]
            slope *= layer.weight_var
            if layer.skip:
                slope += layer.skip**2
            theta *= slope
            if number in recursion.trained:
                size = math.sqrt(layer.weight_var) * np.exp(step.map.rows.high)
                branch = after * (size[rows, None] * size[columns])
                branch += layer.bias_var
                branch *= math.exp(-before)
                theta += branch
            if log != before:
                theta *= math.exp(before - log)
        parts = [(after, gap)]
        parts += [one] if layer.bias_var else []
        parts += [(rho, d)] if layer.skip else []
        rho, d = combine(step.parts, step.rows, parts, rows, columns)
    return rho, theta
