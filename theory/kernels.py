r"""Infinite-width kernels of deep fully connected networks, at a cost free of depth.

On a sphere the depth-L kernels are functions of the correlation of the inputs,

.. math:: K = q_L\,f_L(\rho), \qquad T = q_L\,\tau_L\,g_L(\rho),

with f(1) = g(1) = 1. Both are iterated on the nodes of one table, in the distance
1 - f near +1 and in f / rho elsewhere, then read off once for each pair of inputs.
The table's cells are the leading bits of delta = 1 - abs(rho) as a float64, so no
transcendental function is evaluated per pair. NTK parametrisation, no biases;
`depth` counts hidden layers; activations are used as they are.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks, duals
from theory import hermite as _hermite
from theory.activations import (
    Activation,
    Affine,
    PiecewisePolynomial,
    Smooth,
    engine,
)

Array = npt.NDArray[np.float64]
OCTAVES = 64  # delta from 2^-64 to 1; smaller ones are rounding of a Gram matrix
NODE_BITS, NODES = 2, 14  # a cell [1, 1.25] is 9 half-widths from delta = 0
FINE_BITS, DEGREE = 6, 6  # 129 half-widths: truncation 258^-7 = 1e-17
EQUAL = 1e-13  # relative spread of squared norms that counts as one sphere


@dataclass(frozen=True, eq=False)
class Grid:
    """Cells of delta in [2^-OCTAVES, 1], 2^bits to the octave, and their nodes."""

    bits: int
    nodes: int

    @property
    def base(self) -> int:
        """Return the bit pattern of the first cell."""
        return (1023 - OCTAVES) << self.bits

    def locate(self, delta: Array) -> tuple[npt.NDArray[np.int64], Array]:
        """Return cell numbers and the place in the cell, in [-1, 1]."""
        bits = delta.view(np.int64)
        index = bits >> (52 - self.bits)
        index -= self.base
        np.clip(index, 0, OCTAVES * (1 << self.bits), out=index)
        return index, delta * _scale(self.bits)[index] - _offset(self.bits)[index]

    def points(self) -> Array:
        """Return the Chebyshev nodes of all cells but the last, then delta = 1."""
        edges, width = _cells(self.bits)
        y = np.cos(np.pi * (np.arange(self.nodes) + 0.5) / self.nodes)
        return (edges[:-1, None] + width[:-1, None] * (0.5 + 0.5 * y)).ravel()

    def fit(self, values: Array) -> Array:
        """Return monomial coefficients (cells + 1, nodes); the last cell repeats."""
        rows = values.reshape(-1, self.nodes) @ _fit(self.nodes)
        last = np.zeros((1, self.nodes))
        last[0, 0] = rows[-1].sum()  # the cell before it, at its right end
        return np.concatenate([rows, last])


@lru_cache(maxsize=8)
def _cells(bits: int) -> tuple[Array, Array]:
    start = (1023 - OCTAVES) << bits
    count = (OCTAVES << bits) + 2
    pattern = (start + np.arange(count, dtype=np.int64)) << (52 - bits)
    edges = pattern.view(np.float64)
    return edges[:-1], np.diff(edges)


@lru_cache(maxsize=8)
def _scale(bits: int) -> Array:
    return 2.0 / _cells(bits)[1]


@lru_cache(maxsize=8)
def _offset(bits: int) -> Array:
    edges, width = _cells(bits)
    return 2.0 * edges / width + 1.0


@lru_cache(maxsize=8)
def _fit(nodes: int) -> Array:
    y = np.cos(np.pi * (np.arange(nodes) + 0.5) / nodes)
    return np.linalg.inv(np.vander(y, nodes, increasing=True)).T


def _horner(table: Array, index: npt.NDArray[np.int64], y: Array) -> Array:
    """Evaluate table (cells, functions, degree + 1) at index and y, per function."""
    rows = np.take(table, index, axis=0)
    out = rows[..., -1]
    for k in range(table.shape[-1] - 2, -1, -1):
        out = out * y[:, None] + rows[..., k]
    return out


NODE = Grid(NODE_BITS, NODES)
FINE = Grid(FINE_BITS, DEGREE + 1)


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer on correlations: tables of distance/delta, covariance/rho, slope."""

    table: Array  # (2 * cells, 3, nodes): rho >= 0, then rho < 0
    mean: float  # squared mean over second moment
    slope: float  # at rho = 1, over the second moment
    length: float  # second moment


def _engine(a: Activation) -> duals.Engine:
    """Return the dual; scaled smooth functions skip 40-digit coefficients."""
    if isinstance(a, Affine):
        mean = 0.0 if a.is_normalized else a.mean**2
        return duals.Rescaled(_engine(a.base), a.scale**2, mean)
    if isinstance(a, Smooth) and a.var != 1.0:
        p = _hermite.coefficients(a._value, 256) ** 2
        if a.formula.parity is not None:
            p[1 - a.formula.parity :: 2] = 0.0
        return duals.Series(tuple(float(v) for v in p))
    return engine(a, a)


@lru_cache(maxsize=64)
def _layer(a: Activation) -> Layer:
    delta = NODE.points()
    e, total = _engine(a), a.second_moment
    rho = 1.0 - delta
    rho[rho == 0.0] = 2.0**-60
    mean = max(a.mean, -a.mean) ** 2
    one = [
        e.distance(delta) / delta,
        e.covariance(rho) / rho,
        e.slope(rho),
    ]
    two = [np.zeros_like(delta), e.covariance(-rho) / -rho, e.slope(-rho)]
    parity = _parity(a)
    if parity is not None:
        sign = 1.0 if parity else -1.0
        two = [one[0], sign * one[1], -sign * one[2]]
    both = [
        np.stack([NODE.fit(np.asarray(v)) for v in side], axis=1) for side in (one, two)
    ]
    d = float(a.derivative_second_moment)
    return Layer(np.concatenate(both) / total, mean / total, d / total, total)


@lru_cache(maxsize=256)
def _parity(a: Activation) -> int | None:
    """Return 1 for an odd function, 0 for an even one, None for neither."""
    x = np.linspace(0.0137, 7.0, 173)
    up, down = np.asarray(a._value(x)), np.asarray(a._value(-x))
    size = 8.0 * np.finfo(np.float64).eps * np.abs(up).max()
    if np.all(np.abs(up - down) <= size):
        return 0
    return 1 if np.all(np.abs(up + down) <= size) else None


def _homogeneous(a: Activation) -> int | None:
    """Return m if s(r x) = r^m s(x) for r > 0."""
    if not isinstance(a, PiecewisePolynomial) or any(c != 0.0 for c in a.kinks):
        return None
    return None if any(p for i, p in enumerate(a.poly) if i != a.m) else a.m


@dataclass(frozen=True, eq=False)
class Deep:
    """f_L and g_L as tables, and what they are multiplied by."""

    table: Array  # (2 * cells, 2, DEGREE + 1): K and T, over rho when centred
    centred: bool
    minus: tuple[float, float]  # at rho = -1
    length: float
    tau: tuple[float, int]  # T_11 / K_11 = mantissa * 2^exponent


@lru_cache(maxsize=32)
def _deep(a: Activation, depth: int, start: float) -> Deep:
    delta = np.concatenate([NODE.points(), [0.0]])
    rho = 1.0 - delta
    rho[rho == 0.0] = 2.0**-60
    c = np.concatenate([rho, -rho])
    d = np.concatenate([delta, 1.0 + rho])
    r, g, w = c.copy(), c.copy(), 1.0
    mantissa, exponent, q = 1.0, 0, start
    degree, centred = _homogeneous(a), True
    cells = len(_cells(NODE_BITS)[0])
    for _ in range(depth):
        layer = _layer(a if degree is not None or q == 1.0 else a.scaled(q))
        grow = q**degree if degree is not None else 1.0
        centred = centred and layer.mean <= 1e-30
        near = np.where(c > 0.5, d, 1.0 - np.abs(c))
        index, y = NODE.locate(near)
        index += cells * (c < 0.0)
        v = _horner(layer.table, index, y)
        slope, ratio = v[:, 2] / layer.slope, v[:, 1]
        same = near == 0.0
        slope[same & (c > 0)] = 1.0
        new = (0.0 if centred else layer.mean) + c * ratio
        folds = _parity(a) == 0
        dist = np.where((c > 0.0) | folds, near * v[:, 0], 1.0 - new)
        new = np.where((new > 0.5) & ((c > 0.0) | folds), 1.0 - dist, new)
        gain = w + layer.slope
        mantissa, shift = math.frexp(mantissa * gain)
        exponent += shift
        w = w / gain
        g = w * new + (1.0 - w) * g * slope
        c, d, q = new, dist, layer.length * grow
        if not 1e-307 < q < 1e307:
            raise ValueError(
                f"kernels: `depth` must keep the kernel within float64, got {q:g} on"
                " the diagonal. Use `activation.normalized()`."
            )
    half = len(delta)
    out = []
    for k in (0, 1):
        part = slice(k * half, (k + 1) * half - 1)
        rows = []
        for f in (c, g):
            values = f[part] / r[part] if centred else f[part]
            coarse = NODE.fit(values)[:, None, :]
            at = NODE.locate(FINE.points())
            rows.append(FINE.fit(_horner(coarse, *at)[:, 0]))
        out.append(np.stack(rows, axis=1))
    return Deep(
        np.concatenate(out),
        centred,
        (float(c[-1]), float(g[-1])),
        q,
        (mantissa, exponent),
    )


def _evaluate(deep: Deep, rho: Array, delta: Array) -> Array:
    """Return f and g, shape (2, m)."""
    out = np.empty((2, rho.size))
    half = len(deep.table) // 2
    block = 8192  # rows of the gather stay in cache
    for i in range(0, rho.size, block):
        r, d = rho[i : i + block], delta[i : i + block]
        index, y = FINE.locate(d)
        index += half * (r < 0.0)
        v = _horner(deep.table, index, y)
        if deep.centred:
            v *= r[:, None]
        ends = d == 0.0
        if ends.any():
            v[ends] = np.where(r[ends, None] > 0.0, 1.0, np.array(deep.minus))
        out[:, i : i + block] = v.T
    return out


def _tau(deep: Deep, who: str) -> float:
    try:
        return math.ldexp(*deep.tau) * deep.length
    except OverflowError:
        raise ValueError(
            f"{who}: `depth` must keep the tangent kernel within float64, got a"
            f" diagonal near 2^{deep.tau[1]}. Use `normalized=True`."
        ) from None


def _who(who: str, activation: Activation, depth: Any, *, slope: bool) -> int:
    depth = _checks.integer(who, "depth", depth, 1)
    if slope and not math.isfinite(activation.derivative_second_moment):
        raise ValueError(
            f"{who}: `activation` must have a square-integrable derivative, got"
            f" {activation.name}."
        )
    return depth


def _map(who: str, rho: Any, a: Activation, depth: Any, which: int) -> tuple[Any, Deep]:
    r = _checks.correlation(who, rho)
    deep = _table(a, _who(who, a, depth, slope=which == 1), 1.0)
    flat = np.ascontiguousarray(r).reshape(-1)
    v = _evaluate(deep, flat, 1.0 - np.abs(flat))[which].reshape(r.shape)
    return v, deep


def _table(a: Activation, depth: int, start: float) -> Deep:
    return _deep(a, depth, start)


def nngp_map(rho: Any, activation: Activation, depth: int) -> Any:
    """Return the NNGP kernel of unit inputs of correlation `rho`.

    Examples
    --------
    >>> from theory import activations as act
    >>> round(nngp_map(0.9, act.relu.normalized(), 10), 12)
    0.301609113383
    """
    v, deep = _map("nngp_map", rho, activation, depth, 0)
    return _checks.like(rho, np.asarray(v * deep.length))


def ntk_map(
    rho: Any, activation: Activation, depth: int, *, normalized: bool = False
) -> Any:
    """Return the tangent kernel at correlation `rho`; over T_11 if `normalized`.

    Examples
    --------
    >>> from theory import activations as act
    >>> round(ntk_map(0.9, act.relu.normalized(), 10), 10)
    8.8257790835
    """
    v, deep = _map("ntk_map", rho, activation, depth, 1)
    scale = 1.0 if normalized else _tau(deep, "ntk_map")
    return _checks.like(rho, np.asarray(v * scale))


def _inputs(who: str, x: Any) -> tuple[Array, Array]:
    v = _checks.real(who, "x", x)
    if v.ndim != 2 or v.size == 0:
        raise ValueError(f"{who}: `x` must have shape (n, d), got shape {v.shape}.")
    q = np.einsum("ij,ij->i", v, v)
    _checks.reject(who, "x", "have no zero row", q <= 0.0, q, "Drop such inputs.")
    return v, q


def correlation(x: Any) -> Array:
    """Return the cosines of all pairs of rows, shape (n, n), 1 on the diagonal.

    Examples
    --------
    >>> correlation([[3.0, 0.0], [1.0, 1.0]]).round(6).tolist()
    [[1.0, 0.707107], [0.707107, 1.0]]
    """
    v, q = _inputs("correlation", x)
    unit = v / np.sqrt(q)[:, None]
    out = np.clip(unit @ unit.T, -1.0, 1.0)
    np.fill_diagonal(out, 1.0)
    return out


def nngp_ntk(
    x: Any, activation: Activation, depth: int, *, normalized: bool = False
) -> tuple[Array, Array]:
    """Return (K, T) of inputs (n, d) in one pass; T over its diagonal if normalized.

    Raises
    ------
    ValueError
        For a zero row, numbers that are not finite, a depth that is not a positive
        whole number, a derivative that is not square integrable, or overflow.
    """
    depth = _who("nngp_ntk", activation, depth, slope=True)
    return _pair("nngp_ntk", x, activation, depth, normalized=normalized)


def nngp(x: Any, activation: Activation, depth: int) -> Array:
    """Return the NNGP kernel K of inputs (n, d)."""
    depth = _who("nngp", activation, depth, slope=False)
    return _pair("nngp", x, activation, depth, normalized=True)[0]


def ntk(
    x: Any, activation: Activation, depth: int, *, normalized: bool = False
) -> Array:
    """Return the tangent kernel T of inputs (n, d); over its diagonal if normalized."""
    depth = _who("ntk", activation, depth, slope=True)
    return _pair("ntk", x, activation, depth, normalized=normalized)[1]


def _pair(
    who: str, x: Any, a: Activation, depth: int, *, normalized: bool
) -> tuple[Array, Array]:
    v, q = _inputs(who, x)
    start = float(q.mean())
    if abs(start - 1.0) <= EQUAL:
        start = 1.0
    sphere = float(np.ptp(q)) <= EQUAL * start
    degree = _homogeneous(a)
    if sphere:
        deep = _deep(a, depth, start)
        tau = 1.0 if normalized else _tau(deep, who)
        return _sphere(v / np.sqrt(q)[:, None], deep, (deep.length, tau))
    if degree is not None and degree == 1:
        deep = _deep(a, depth, 1.0)
        tau = 1.0 if normalized else _tau(deep, who)
        k, t = _sphere(v / np.sqrt(q)[:, None], deep, (deep.length, tau))
        root = np.sqrt(q)
        k *= root[:, None] * root
        if not normalized:
            t *= root[:, None] * root
        return k, t
    return _layers(v, q, a, depth, normalized=normalized)


def _sphere(
    unit: Array, deep: Deep, scale: tuple[float, float]
) -> tuple[Array, Array]:
    """Fill both matrices by blocks of rows of the upper triangle."""
    n = len(unit)
    k, t = np.empty((n, n)), np.empty((n, n))
    step = max(1, min(64, n))
    for i in range(0, n, step):
        rows = unit[i : i + step]
        gram = np.clip(rows @ unit[i:].T, -1.0, 1.0)
        delta = 1.0 - np.abs(gram)
        close = np.argwhere(delta < 1e-2)
        for lo in range(0, len(close), 4096):  # blocks bound the memory
            p, s = close[lo : lo + 4096].T
            sign = np.sign(gram[p, s])[:, None]
            # |u - v|^2 / 2 keeps the digits that 1 - u.v has lost.
            gap = rows[p] - sign * unit[i + s]
            delta[p, s] = 0.5 * np.einsum("ij,ij->i", gap, gap)
        m = len(rows)
        delta[np.arange(m), np.arange(m)] = 0.0
        gram[np.arange(m), np.arange(m)] = 1.0
        f = _evaluate(deep, gram.ravel(), delta.ravel()).reshape(2, m, -1)
        for out, part, by in zip((k, t), f, scale, strict=True):
            part *= by
            out[i : i + m, i:] = part
            out[i:, i : i + m] = part.T
            # The two halves of a diagonal block round alike only if copied.
            corner = out[i : i + m, i : i + m]
            corner[:] = np.triu(corner) + np.triu(corner, 1).T
    return k, t


def _layers(
    v: Array, q: Array, a: Activation, depth: int, *, normalized: bool
) -> tuple[Array, Array]:
    """Recurse on covariances; one engine for each pair of distinct lengths."""
    k = v @ v.T
    np.fill_diagonal(k, q)
    t = k.copy()
    for _ in range(depth):
        values, group = np.unique(q, return_inverse=True)
        scaled = [a if s == 1.0 else a.scaled(float(s)) for s in values]
        nk, nt = np.empty_like(k), np.empty_like(k)
        for i, one in enumerate(scaled):
            for j in range(i, len(scaled)):
                block = np.ix_(group == i, group == j)
                root = math.sqrt(values[i] * values[j])
                rho = np.clip(k[block] / root, -1.0, 1.0)
                e = engine(one, scaled[j])
                nk[block] = e.dual(rho)
                nt[block] = nk[block] + t[block] * e.slope(rho) / root
                other = np.ix_(group == j, group == i)
                nk[other], nt[other] = nk[block].T, nt[block].T
        q = np.array([s.second_moment for s in scaled])[group]
        np.fill_diagonal(nk, q)
        k, t = nk, nt
    if normalized:
        root = np.sqrt(np.diagonal(t))
        t = t / (root[:, None] * root)
    return k, t
