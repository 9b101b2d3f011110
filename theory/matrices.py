"""Kernel matrices on the sphere: panels of rows of the upper triangle, mirrored.

Each distinct pair is evaluated once. Panels are shared out among as many threads as the
linear algebra library may use, which itself is held to one while they run: its own
threads would wait, busy, on the cores that evaluate.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import _checks, _one_layer, _twofold
from theory._threads import one_thread
from theory.depth_maps import CHUNK, DepthMap
from theory.grids import CLOSE

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

ROWS = 64
"""Rows of a panel."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """Inputs with their norms, and the correlations of their pairs.

    With biases inputs enter the first activation at ``share cos + rest``, two numbers
    that add up to one: see `_one_layer.beside`.
    """

    v: Array
    norms: Array
    share: float = 1.0
    rest: float = 0.0

    def __post_init__(self) -> None:
        v = _checks.real("Inputs", "v", self.v)
        if v.ndim != 2 or v.size == 0:
            raise _checks.misshapen("Inputs", "v", "have shape (n, d)", v)
        hint = f"`v` has shape {v.shape}."
        norms = _checks.shaped("Inputs", "norms", self.norms, (len(v),), hint)
        _checks.reject("Inputs", "norms", "be positive", norms <= 0.0, norms, "")
        share = _checks.number("Inputs", "share", self.share, 0.0, 1.0)
        rest = _checks.number("Inputs", "rest", self.rest, 0.0, 1.0)
        if abs(share + rest - 1.0) > 1e-15:
            need = f"make one with `share`, {share:g}"
            raise _checks.refuse("Inputs", "rest", need, rest)
        for name, value in zip(
            ("v", "norms", "share", "rest"), (v, norms, share, rest), strict=True
        ):
            object.__setattr__(self, name, value)

    def panel(self, unit: Array, first: int) -> Array:
        """Cosines of a panel's rows with all rows from its first on.

        The square at its left is symmetric, with zeros on its diagonal.
        """
        rho = self._between(unit, slice(first, first + ROWS), slice(first, None))
        square = rho[:, : len(rho)]
        upper = np.triu(square, 1)
        np.add(upper, upper.T, out=square)
        return rho

    def _between(self, unit: Array, rows: slice, columns: slice) -> Array:
        """Correlations of rows with columns, to rounding: maybe beyond +-1."""
        rho = unit[rows] @ unit[columns].T
        if self.rest:
            rho *= self.share
            rho += self.rest
        return rho

    def pairs(self, unit: Array, rows: slice, columns: slice) -> tuple[Array, Array]:
        """Correlations of rows with columns, and distances from the nearer of +-1."""
        rho = np.clip(self._between(unit, rows, columns), -1.0, 1.0)
        d = np.abs(rho)
        np.subtract(1.0, d, out=d)
        p, s = np.divmod(np.flatnonzero(d < CLOSE), rho.shape[1])
        if len(p):
            close = self.distances(rows.start + p, columns.start + s, rho[p, s])
            rho[p, s], d[p, s] = close
        return rho, d

    def distances(self, p: Indices, s: Indices, rho: Array) -> tuple[Array, Array]:
        """Correlations and distances of pairs of rows whose product has lost digits.

        With w = x -+ y: ``1 -+ cos = (|w|^2 - (|x| - |y|)^2) / (2 |x| |y|)``, and the
        difference of norms is ``w . (x +- y) / (|x| + |y|)``. Where that is most of w, the
        part of y across x is computed with twice the digits.
        """
        p, s = np.minimum(p, s), np.maximum(p, s)  # the same to the last bit both ways
        d = np.empty_like(rho)
        sign = np.where(rho < self.rest, -1.0, 1.0)
        for start in range(0, len(p), 4096):  # blocks bound the memory
            part = slice(start, start + 4096)
            x, y = self.v[p[part]], sign[part, None] * self.v[s[part]]
            a, b = self.norms[p[part]], self.norms[s[part]]
            # Over a power of two: squares of what is left may leave float64.
            size = np.exp2(-np.frexp(np.maximum(a, b))[1])
            x, y, a, b = x * size[:, None], y * size[:, None], a * size, b * size
            w = x - y
            radial = np.einsum("ij,ij->i", w, x + y) / (a + b)
            whole = np.einsum("ij,ij->i", w, w)
            gap = whole - radial * radial
            lost = np.flatnonzero((gap < 0.01 * whole) & (whole > 0.0))
            gap /= 2.0 * a * b
            if len(lost):
                gap[lost] = _from_across(x[lost], y[lost])
            d[part] = np.maximum(gap, 0.0)
        if self.rest:
            return _one_layer.beside(sign, d, self.share, self.rest)
        return sign * (1.0 - d), d


def _from_across(x: Array, y: Array) -> Array:
    """1 - cos of rows of x and y, from the part of y that is across x.

    That of ``x_k y - y_k x`` over x_k, the largest entry: each of its entries is known to
    a relative accuracy, however little is left. Rows that are parallel as they stand have
    a distance of exactly zero: jumps of an activation would make one of any rounding,
    layer by layer.
    """
    # Only directions matter: rows are scaled by powers of two.
    x, y = (
        v / 2.0 ** np.round(np.log2(np.abs(v).max(axis=1, keepdims=True)))
        for v in (x, y)
    )
    k = np.abs(x).argmax(axis=1)[:, None]
    pivot = np.take_along_axis(x, k, axis=1)
    turned = _twofold.multiply_exactly(y, pivot)
    less = _twofold.multiply_exactly(-x, np.take_along_axis(y, k, axis=1))
    minors = _twofold.add(turned, less)[0]
    square, product = dot(x, x), dot(x, minors)
    ratio = product[0] / square[0]
    # The remainder of the division: product - ratio * square.
    taken = _twofold.multiply((-ratio, np.zeros_like(ratio)), square)
    left = _twofold.add(product, taken)
    share = (ratio[:, None], (left[0] / square[0])[:, None])
    along = _twofold.multiply((-x, np.zeros_like(x)), share)
    across = _twofold.add((minors, np.zeros_like(y)), along)[0] / pivot
    squared = np.einsum("ij,ij->i", across, across) / np.einsum("ij,ij->i", y, y)
    return squared / (1.0 + np.sqrt(np.maximum(1.0 - squared, 0.0)))


def dot(x: Array, y: Array) -> _twofold.Pair:
    """Return inner products of rows (n, d) in twice the digits."""
    high, low = _twofold.multiply_exactly(x, y)
    while high.shape[1] > 1:
        if high.shape[1] % 2:
            high, low = (np.pad(v, ((0, 0), (0, 1))) for v in (high, low))
        half = high.shape[1] // 2
        left, right = (high[:, :half], low[:, :half]), (high[:, half:], low[:, half:])
        high, low = _twofold.add(left, right)
    return high[:, 0], low[:, 0]


def fill(
    inputs: Inputs,
    depth_map: DepthMap,
    scale: Array,
    growth: float,
    split: int | None,
    *,
    tangent: bool,
    relative: bool,
) -> tuple[Array, Array | None]:
    """Return K and T of the rows of the inputs, or of those before and from `split`.

    K_ij is the map times ``scale_i scale_j``, T_ij is that times `growth`, or the map
    alone if `relative`.
    """
    who = "fill"
    n = len(_checks.instance(who, "inputs", inputs, Inputs).v)
    _checks.instance(who, "depth_map", depth_map, DepthMap)
    _checks.shaped(who, "scale", scale, (n,))
    _checks.number(who, "growth", growth)
    _checks.flag(who, "tangent", tangent)
    _checks.flag(who, "relative", relative)
    if split is not None:
        split = _checks.integer(who, "split", split, 0, n)
    shape = (n, n) if split is None else (split, n - split)
    kernels = [np.empty(shape) for _ in range(1 + tangent)]
    factors = 1.0, growth
    unit = inputs.v / inputs.norms[:, None]

    def panel(first: int) -> None:
        last = min(first + ROWS, shape[0])
        if split is None:
            start, rho = first, inputs.panel(unit, first)
        else:
            start, rho = (
                split,
                inputs._between(unit, slice(first, last), slice(split, n)),
            )
        parts = [m[first:last, start - n :] for m in kernels]
        step = max(1, CHUNK // max(1, rho.shape[1]))
        for i in range(0, len(rho), step):
            block = slice(i, i + step)
            out = [m[block] for m in parts]
            _evaluate(inputs, depth_map, rho[block], (first + i, start), out)
        for m, part, factor in zip(kernels, parts, factors, strict=False):
            if split is None:
                np.einsum("ii->i", part[:, : len(rho)])[:] = 1.0
            if m is kernels[0] or not relative:
                part *= factor * (scale[first:last, None] * scale[start:])
            if split is None:
                m[last:, first:last] = part[:, len(rho) :].T

    each(panel, range(0, shape[0], ROWS))
    return kernels[0], kernels[1] if tangent else None


def _evaluate(
    inputs: Inputs,
    depth_map: DepthMap,
    rho: Array,
    corner: tuple[int, int],
    out: Sequence[Array],
) -> None:
    """Evaluate a block of pairs whose corner stands at a row and a column."""
    d = np.abs(rho)
    np.subtract(1.0, d, out=d)
    p, s = np.divmod(np.flatnonzero(d < CLOSE), rho.shape[1])
    depth_map.tabulated(rho, d, out)
    if len(p):
        rho, d = inputs.distances(corner[0] + p, corner[1] + s, rho[p, s])
        for m, near in zip(out, depth_map.close(rho, d), strict=False):
            m[p, s] = near


def least_distance(inputs: Inputs) -> float:
    """Return the smallest ``1 - |rho|`` over pairs of inputs, of networks without bias."""
    _checks.instance("least_distance", "inputs", inputs, Inputs)
    if inputs.rest:
        need = "have a rest of 0"
        raise _checks.refuse("least_distance", "inputs", need, inputs.rest)
    unit = inputs.v / inputs.norms[:, None]
    least: list[float] = []

    def panel(first: int) -> None:
        rho = inputs.panel(unit, first)
        d = 1.0 - np.abs(rho)
        p, s = np.divmod(np.flatnonzero(d < CLOSE), rho.shape[1])
        upper = p < s
        p, s = p[upper], s[upper]
        near = inputs.distances(first + p, first + s, rho[p, s])[1]
        found = min(float(d[d >= CLOSE].min(initial=1.0)), *near.tolist(), 1.0)
        if found < 0.5:
            # Both are off by 1e-13 where cosines or norms are close: those that may be
            # the smallest, once more.
            tied = (1.0 + 1e-9) * found
            far = np.divmod(np.flatnonzero((d >= CLOSE) & (d <= tied)), rho.shape[1])
            p, s = (
                first + np.concatenate([k[near <= tied], other])
                for k, other in zip((p, s), far, strict=True)
            )
            blocks = (slice(start, start + 4096) for start in range(0, len(p), 4096))
            again = [_from_across(inputs.v[p[b]], inputs.v[s[b]]).min() for b in blocks]
            found = float(min(again))
        least.append(found)

    each(panel, range(0, len(inputs.v), ROWS))
    return min(least)


# --- threads --------------------------------------------------------------------------


def each(function: Callable[[int], None], items: range) -> None:
    """Call `function` on every item, in threads where there are many."""
    if len(items) < 4:
        for item in items:
            function(item)
        return
    with one_thread() as count, ThreadPoolExecutor(count) as pool:
        for _ in pool.map(function, items):
            pass
