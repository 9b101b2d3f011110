r"""One layer's map of correlations, composed to any depth on a bit-indexed table.

On the sphere the depth-L kernels are functions of one number. With ``d = 1 - |rho|`` a
float64's leading bits (exponent and top of the mantissa) index a grid that is uniform
within each octave of d. On each cell the functions are analytic at relative scale, so a
few polynomial coefficients give full precision without a logarithm or an arc cosine.

Layers compose: if ``f`` maps correlations through M layers, ``p`` is the product of the
slopes over them and ``a`` the tangent kernel they generate from zero, then for L layers
followed by M

    f <- f_M(f_L),   p <- p_L p_M(f_L),   a <- a_M(f_L) + p_M(f_L) a_L,

so depth L costs about 2 log2 L compositions on a small table, whatever L is.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from theory.activations import Activation, pair
from theory.duals import Truncated

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Grid:
    """Cells of equal width within each octave of (2**-octaves, 1]; a polynomial on each."""

    log2_cells: int
    degree: int
    octaves: int

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.octaves << self.log2_cells

    def locate(self, d: Array) -> tuple[npt.NDArray[np.int64], Array]:
        """Return cell and distance from its left end, for d in [2**-octaves, 1].

        One is a cell of its own, after the last. Other numbers land in no cell.
        """
        bits = d.view(np.int64)
        shift = 52 - self.log2_cells
        cell = bits >> shift
        cell -= (1023 - self.octaves) << self.log2_cells
        left = (bits & -(1 << shift)).view(np.float64)
        return cell, np.subtract(d, left, out=left)

    def widths(self) -> Array:
        """Widths of the cells, shape (cells,)."""
        k = 1 << self.log2_cells
        return np.repeat(2.0 ** np.arange(-self.octaves, 0.0) / k, k)

    def nodes(self) -> Array:
        """Chebyshev nodes of every cell, shape (cells, degree + 1)."""
        k = 1 << self.log2_cells
        octave = 2.0 ** np.arange(-self.octaves, 0.0)
        left = (octave[:, None] * (1.0 + np.arange(k) / k)).ravel()
        return left[:, None] + self.widths()[:, None] * (0.5 + 0.5 * self._chebyshev())

    def _chebyshev(self) -> Array:
        n = self.degree + 1
        return np.cos(np.pi * (np.arange(n)[::-1] + 0.5) / n)

    def fit(self, values: Array) -> Array:
        """Chebyshev coefficients from values at `nodes`, shape (degree + 1, cells)."""
        n = self.degree + 1
        # Angles as whole multiples of pi / 2n, reduced before they are rounded.
        turns = np.outer(np.arange(n), 2 * np.arange(n)[::-1] + 1) % (4 * n)
        t = np.cos(np.pi * turns / (2 * n)) * (2.0 / n)
        t[0] *= 0.5
        return np.ascontiguousarray(t @ values.T)

    def taylor(self, values: Array) -> Array:
        """Coefficients in powers of the distance from the left end of each cell.

        Shape (degree + 1, cells + 1), the last cell being d = 1. Faster to evaluate
        than `fit`, for narrow cells only: a rounding error of the k-th Chebyshev
        coefficient grows by 2^(2k-1).
        """
        n = self.degree + 1
        change = np.zeros((n, n))
        for k in range(n):
            # T_k(2s - 1) in powers of s in [0, 1].
            c = np.polynomial.Chebyshev.basis(k, domain=[0.0, 1.0])
            change[: k + 1, k] = c.convert(kind=np.polynomial.Polynomial).coef
        c = change @ self.fit(values)
        end = np.zeros((n, 1))
        end[0] = c[:, -1].sum()
        c /= self.widths() ** np.arange(n)[:, None]
        return np.concatenate([c, end], axis=1)


COARSE = Grid(log2_cells=3, degree=11, octaves=64)
"""For composing layers."""

FINE = Grid(log2_cells=10, degree=3, octaves=6)
"""For matrices: their many pairs that are neither close nor opposite."""

SMALLEST = 2.0**-COARSE.octaves
"""Pairs closer than this take the layer recursion."""

CLOSE = 2.0**-FINE.octaves
"""Pairs closer than this are read from the coarse table."""

CHUNK = 65536
"""Pairs evaluated together: their temporaries stay in cache."""


def _clenshaw(c: Array, cell: npt.NDArray[np.int64], y: Array) -> Array:
    twice = 2.0 * y
    b1 = c[-1].take(cell)
    b2 = np.zeros_like(y)
    for row in c[-2:0:-1]:
        b1, b2 = twice * b1 - b2 + row.take(cell), b1
    return y * b1 - b2 + c[0].take(cell)


@dataclass(frozen=True, eq=False)
class Layers:
    """M layers of a unit map: tables of f, its distance form, slopes and tangent kernel.

    Attributes
    ----------
    ratio : array, (degree + 1, sides * cells)
        ``f(rho) / rho`` for a centred activation, ``f(rho)`` otherwise.
    spread : array
        ``(1 - f(rho)) / (1 - rho)`` for rho >= 0.
    product : array
        Product of slopes over ``D^M``.
    tangent : array
        Tangent kernel generated by the layers over its diagonal, divided by rho for a
        centred activation.
    depth : int
    centred : bool
        Whether every layer has mean zero.
    parity : int
        -1 for an odd map, +1 for an even one, 0 for neither.
    linear : float
        Product of the shares ``a_1^2 / E s^2``: the value of ``ratio`` at rho = 0.
    growth : float
        ``log(D_1 ... D_M)``, D_l the slope at rho = 1; infinite without tangent kernel.
    total : float
        ``log(1 + D_M + D_M D_{M-1} + ...)``, M terms: the tangent kernel's diagonal.
    """

    ratio: Array
    spread: Array
    product: Array
    tangent: Array
    depth: int
    centred: bool
    parity: int
    linear: float
    growth: float
    total: float
    grid: Grid

    def _cell(
        self, d: Array, negative: npt.NDArray[np.bool_]
    ) -> tuple[npt.NDArray[np.int64], Array]:
        inside = np.clip(d, SMALLEST, 1.0 - 2.0**-53)
        cell, y = self.grid.locate(inside)
        y *= (2.0 / self.grid.widths()).take(cell)
        y -= 1.0
        if self.parity != -1:
            cell += negative * self.grid.cells
        return cell, y


@lru_cache(maxsize=64)
def one_layer(activation: Activation) -> Layers:
    """Tabulate one layer of ``activation / sqrt(E activation^2)``."""
    grid = COARSE
    d = grid.nodes()
    e = pair(activation, activation)
    total = activation.second_moment
    parity = _parity(activation)
    # An odd function's mean is zero, whatever rounding has left of it.
    centred = parity == -1 or activation.mean == 0.0
    flat = d.ravel()
    slope = activation.derivative_second_moment / total
    linear = _linear_share(activation)
    tables: list[list[Array]] = [[], [], [], []]
    spread = (e.distance(flat) / total / flat).reshape(d.shape)
    for sign in _sides(parity):
        rho = sign * (1.0 - d)
        value = (e.dual(rho.ravel()) / total).reshape(d.shape)
        if sign > 0.0:
            # Close to one the distance is the accurate form.
            value = np.where(d < 0.25, 1.0 - d * spread, value)
        elif isinstance(e, Truncated):
            # Close to minus one too: the dual of ReLU vanishes there.
            value = np.where(
                d < 0.25, e.opposite(flat)[0].reshape(d.shape) / total, value
            )
        ratio = _over_rho(value, rho, activation) if centred else value
        tables[0].append(ratio)
        tables[1].append(spread)
        if math.isfinite(slope):
            t = 2.0 * np.arcsin(np.sqrt(0.5 * flat))
            t = t if sign > 0.0 else np.pi - t
            p = e.slope(rho.ravel(), t) / total
            if sign < 0.0 and isinstance(e, Truncated):
                p = np.where(flat < 0.25, e.opposite(flat)[1] / total, p)
            p = p.reshape(d.shape)
            tables[2].append(p / slope)
        else:
            tables[2].append(np.zeros_like(d))
        tables[3].append(ratio)
    growth = math.log(slope) if 0.0 < slope < math.inf else math.inf
    return _fitted(
        tables,
        depth=1,
        centred=centred,
        parity=parity,
        linear=linear,
        growth=growth,
        total=0.0,
        grid=grid,
    )


def _fitted(
    tables: list[list[Array]],
    *,
    depth: int,
    centred: bool,
    parity: int,
    linear: float,
    growth: float,
    total: float,
    grid: Grid,
) -> Layers:
    """Fit values at the nodes; pin ratio and product at rho = 0 to their exact values.

    Once correlations are small every layer multiplies by the value there, so a rounding
    error of the fit would be raised to the power of the depth.
    """
    fitted = [np.concatenate([grid.fit(t) for t in side], axis=1) for side in tables]
    if centred and linear > 0.0:
        targets = [(0, linear)]
        if math.isfinite(growth):
            targets.append((2, linear * math.exp(-growth)))
        for table, target in targets:
            c = fitted[table]
            for last in range(grid.cells - 1, c.shape[1], grid.cells):
                c[0, last] += target - math.fsum(c[:, last])
    ratio, spread, product, tangent = fitted
    return Layers(
        *(ratio, spread, product, tangent, depth),
        *(centred, parity, linear, growth, total, grid),
    )


def _parity(activation: Activation) -> int:
    """Return -1 for an odd function, 1 for an even one, 0 for neither."""
    x = np.linspace(0.0137, 7.0, 173)
    up, down = activation(x), activation(-x)
    size = 8.0 * np.finfo(np.float64).eps * float(np.abs(up).max())
    for parity in (-1, 1):
        if np.all(np.abs(up - parity * down) <= size):
            return parity
    return 0


def _sides(parity: int) -> tuple[float, ...]:
    """Signs of rho that need a table: an odd map needs one."""
    return (1.0,) if parity == -1 else (1.0, -1.0)


def _linear_share(activation: Activation) -> float:
    """a_1^2 / E s^2: raised to the power of the depth, so every digit counts."""
    total = activation.second_moment
    share = float(activation.hermite(1)[1]) ** 2 / total
    # From the rest of the energy where that is the smaller part.
    if activation.mean == 0.0 and 0.5 < share < 1.0 - 1e-9:
        return 1.0 - activation.mu
    return share


def _over_rho(value: Array, rho: Array, activation: Activation) -> Array:
    limit = np.full_like(value, _linear_share(activation))
    return np.divide(value, rho, out=limit, where=rho != 0.0)


def _evaluate(
    layers: Layers, rho: Array, d: Array
) -> tuple[Array, Array, Array, Array]:
    """Return f, 1 - |f|, product and tangent at correlations given with 1 - |rho|."""
    cell, y = layers._cell(d, rho < 0.0)
    f = _clenshaw(layers.ratio, cell, y)
    a = _clenshaw(layers.tangent, cell, y)
    if layers.centred:
        f *= rho
        a *= rho
    p = _clenshaw(layers.product, cell, y)
    u = _clenshaw(layers.spread, cell, y)
    near = d * u
    distance = 1.0 - np.abs(f)
    usable = d < 0.5
    if not layers.parity:
        usable &= rho > 0.0
    distance = np.where(usable, near, distance)
    return f, np.clip(distance, SMALLEST, 1.0), p, a


def _compose(first: Layers, second: Layers) -> Layers:
    """Return `first` followed by `second`."""
    grid = first.grid
    d = grid.nodes()
    flat = d.ravel()
    parts: list[list[Array]] = [[], [], [], []]
    centred = first.centred and second.centred
    parity = second.parity if first.parity == -1 else first.parity
    growth = first.growth + second.growth
    total, w1, w2 = _weights(first.total, second)
    for sign in _sides(parity):
        rho = sign * (1.0 - flat)
        f1, d1, p1, a1 = _evaluate(first, rho, flat)
        f2, d2, p2, a2 = _evaluate(second, f1, d1)
        a = w2 * a2 + w1 * p2 * a1
        if centred:
            # Division by rho on the nodes (never zero there) keeps relative accuracy.
            f2, a = f2 / rho, a / rho
        for part, value in zip(parts, (f2, d2 / flat, p1 * p2, a), strict=True):
            part.append(value.reshape(d.shape))
    return _fitted(
        parts,
        depth=first.depth + second.depth,
        centred=centred,
        parity=parity,
        linear=first.linear * second.linear,
        growth=growth,
        total=total,
        grid=grid,
    )


def _weights(before: float, layers: Layers) -> tuple[float, float, float]:
    """Return the new log diagonal, and the shares of what came before and of `layers`.

    A tangent kernel of log diagonal `before` enters `layers`: it leaves multiplied by
    their slopes, and what they generate themselves is added.
    """
    if not math.isfinite(layers.growth):
        return math.inf, 0.0, 0.0
    carried = layers.growth + before
    whole = float(np.logaddexp(carried, layers.total))
    return whole, math.exp(carried - whole), math.exp(layers.total - whole)


@lru_cache(maxsize=64)
def repeated(activation: Activation, depth: int) -> Layers:
    """Tabulate `depth` equal layers by repeated squaring."""
    power = one_layer(activation)
    out: Layers | None = None
    n = depth
    while True:
        if n & 1:
            out = power if out is None else _compose(out, power)
        n >>= 1
        if not n:
            return out  # pyright: ignore[reportReturnType]
        power = _compose(power, power)


Steps = tuple[tuple[Activation, int], ...]
"""Layers in order: an activation and how many equal layers of it follow."""


@lru_cache(maxsize=32)
def stack(steps: Steps) -> Layers:
    """Tabulate a network's layers, from the input up."""
    out: Layers | None = None
    for activation, count in steps:
        part = repeated(activation, count)
        out = part if out is None else _compose(out, part)
    assert out is not None
    return out


@dataclass(frozen=True, eq=False)
class DepthMap:
    """Depth-L kernels as functions of rho, ready to evaluate.

    Both kernels are relative to their diagonals; that of the tangent kernel is
    ``exp(log_diagonal)`` times that of the other one.
    """

    layers: Layers
    tables: tuple[Array, Array]
    log_diagonal: float
    at_minus_one: tuple[float, float]
    steps: Steps

    def __call__(self, rho: Array) -> tuple[Array, Array]:
        """Return NNGP and relative NTK at correlations of shape (m,)."""
        k, t = np.empty_like(rho), np.empty_like(rho)
        for i in range(0, rho.size, CHUNK):
            part = slice(i, i + CHUNK)
            r = rho[part]
            d = 1.0 - np.abs(r)
            close = np.flatnonzero(d < CLOSE)
            near = self.close(r[close], d[close])
            self.tabulated(r, d, (k[part], t[part]))
            k[part][close], t[part][close] = near
        return k, t

    def tabulated(self, rho: Array, d: Array, out: Sequence[Array]) -> None:
        """Write both kernels, or the first alone, from ``d = 1 - |rho|``.

        Where d is below `CLOSE` the result is any number. All arrays are of one shape;
        `d` is lost. In place throughout: passes over memory are what a matrix costs.
        """
        cell, y = FINE.locate(d)
        if self.layers.parity != -1:
            # All ones where the sign bit is set.
            negative = rho.view(np.int64) >> 63
            negative &= FINE.cells + 1
            cell += negative
        term, total, centred = np.empty_like(d), d, self.layers.centred
        for table, into in zip(self.tables, out, strict=False):
            # `clip` lets take write to a buffer, and out of range where d is.
            table[-1].take(cell, out=total, mode="clip")
            for power in range(len(table) - 2, -1, -1):
                total *= y
                table[power].take(cell, out=term, mode="clip")
                np.add(total, term, out=total if power or centred else into)
            if centred:
                np.multiply(total, rho, out=into)

    def close(self, rho: Array, d: Array) -> tuple[Array, Array]:
        """Return the kernels at correlations of shape (m,), from ``d = 1 - |rho|``."""
        k, _, t = _both(self.layers, rho, d)
        if d.size and d.min() < SMALLEST:
            self._mend(k, t, rho, d)
        return k, t

    def _mend(self, k: Array, t: Array, rho: Array, gap: Array) -> None:
        """Replace entries closer to +-1 than the table reaches."""
        negative = rho < 0.0
        same, opposite = (gap == 0.0) & ~negative, (gap == 0.0) & negative
        k[same] = t[same] = 1.0
        k[opposite], t[opposite] = self.at_minus_one
        close = (gap < SMALLEST) & (gap > 0.0)
        if self.layers.parity == 0:
            # The kernels are continuous at -1 with square-root corrections below
            # sqrt(2^-64), which only the odd case, K = -1 there, would resolve.
            k[close & negative], t[close & negative] = self.at_minus_one
            close &= ~negative
        if close.any():
            both = _recursion(self.steps, gap[close])
            for out, value in zip((k, t), both, strict=True):
                out[close] = np.where(
                    negative[close], self.layers.parity * value, value
                )


def _both(layers: Layers, rho: Array, d: Array) -> tuple[Array, Array, Array]:
    """Return f, 1 - |f| and the whole network's relative tangent kernel."""
    f, distance, p, a = _evaluate(layers, rho, d)
    _, from_input, from_layers = _weights(0.0, layers)
    return f, distance, from_layers * a + from_input * p * rho


def _recursion(steps: Steps, d: Array) -> tuple[Array, Array]:
    """Iterate layer by layer in the distance; for the few pairs that need it."""
    t, total = 1.0 - d, 0.0
    for activation, count in steps:
        e, power = pair(activation, activation), activation.second_moment
        one = one_layer(activation)
        for _ in range(count):
            angle = 2.0 * np.arcsin(np.sqrt(0.5 * d))
            total, carried, own = _weights(total, one)
            if carried:
                s = e.slope(1.0 - d, angle) / activation.derivative_second_moment
                t *= carried * s
            d = e.distance(d) / power
            t += own * (1.0 - d)
    return 1.0 - d, t


@lru_cache(maxsize=32)
def depth_map(steps: Steps) -> DepthMap:
    """Return the depth map of a network's layers on the sphere."""
    deep = stack(steps)
    d = FINE.nodes()
    flat = d.ravel()
    sides: list[tuple[Array, ...]] = []
    for sign in _sides(deep.parity):
        rho = sign * (1.0 - flat)
        f, _, t = _both(deep, rho, flat)
        both = (f / rho, t / rho) if deep.centred else (f, t)
        sides.append(tuple(FINE.taylor(values.reshape(d.shape)) for values in both))
    k, t = (np.concatenate(tables, axis=1) for tables in zip(*sides, strict=True))
    return DepthMap(
        deep,
        (k, t),
        _weights(0.0, deep)[0],
        # Antipodes stay antipodes, or are one input after the first even layer.
        (sign, sign) if (sign := float(deep.parity)) else _at_minus_one(steps),
        steps,
    )


def _at_minus_one(steps: Steps) -> tuple[float, float]:
    """Both kernels of antipodal inputs: the first layer exactly, the rest tabulated."""
    (activation, count), later = steps[0], steps[1:]
    e, total = pair(activation, activation), activation.second_moment
    minus = np.array([-1.0])
    k = np.clip(e.dual(minus) / total, -1.0, 1.0)
    log, carried, own = _weights(0.0, one_layer(activation))
    t = own * k
    if carried:
        s = e.slope(minus, np.array([np.pi])) / activation.derivative_second_moment
        t -= carried * s
    rest = ((activation, count - 1), *later) if count > 1 else later
    if rest:
        deep = stack(rest)
        k, _, p, a = _evaluate(deep, k, np.maximum(1.0 - np.abs(k), SMALLEST))
        _, carried, own = _weights(log, deep)
        t = own * a + carried * p * t
    return float(k[0]), float(t[0])
