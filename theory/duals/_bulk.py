r"""Duals of many correlations: every entry is read from a table.

An engine takes up to 0.1 ms for a value, a table 20 ns. Of each function there are
tables towards both ends, :math:`\rho = \pm(1 - d)`, in the bits of d (`theory.grids`): a
dual is analytic for :math:`|\rho| < 1`, so that polynomials of one degree resolve it on
cells that shrink with d. What vanishes at :math:`\rho = 0` is tabulated relative to its
power of :math:`\rho`, and distances down to d = 2^-64 as they are: relative accuracy is
kept towards both.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from theory.duals.engine import Engine, Rescaled
from theory.duals.series import Series
from theory.duals.tabulated import Tabulated
from theory.duals.truncated import Truncated
from theory.grids import COARSE, DEEP, SMALLEST

Array = npt.NDArray[np.float64]

MANY = 4096
"""Entries from which on tables are faster than an engine."""
CHUNK = 32768
"""Entries read together: temporaries stay in cache."""
FEW_TERMS = 5
"""A series of no more is summed as fast as a table is read."""
HIGHEST = 16
"""Power of rho up to which relative accuracy is kept as rho -> 0: 0.75^16 = 0.01."""
CLOSE = 0.25
"""Distances up to which a covariance is its value at the end less that distance."""


class Slow(Engine, Protocol):
    """An engine that tables are made of."""

    @property
    def order(self) -> int:
        """The power of rho with which the covariance vanishes, as far as it is known."""
        ...

    def mirrored(self) -> "Slow":
        """Return the engine of the dual at -rho."""
        ...


@dataclass(frozen=True, eq=False)
class Table:
    """A function of rho or of delta, divided by `power` factors of rho."""

    c: Array  # (degree + 1, 2 (cells + 2)): for each sign d = 0, the cells, d = 1
    power: int

    @classmethod
    def build(
        cls,
        sides: Callable[[float, Array], Array],
        ends: tuple[float, float],
        power: int = 0,
    ) -> "Table":
        """Tabulate `sides(sign, d)` for d in (0, 1]; `ends` are the values at d = 0."""
        d = COARSE.nodes()
        parts: list[Array] = []
        for sign, end in zip((1.0, -1.0), ends, strict=True):
            values = sides(sign, d.ravel()) / (sign * (1.0 - d.ravel())) ** power
            cells = DEEP.taylor(COARSE.resampled(values.reshape(d.shape), DEEP))
            first = np.zeros((DEEP.degree + 1, 1))
            first[0] = end * sign**power
            parts += [first, cells]
        return cls(np.concatenate(parts, axis=1), power)

    def read(self, d: Array, negative: npt.NDArray[np.bool_], rho: Array) -> Array:
        """Return values at distances d from the ends rho = 1 and, where negative, -1.

        Distances below 2^-64 are taken for 0.
        """
        cell, y = DEEP.locate(d)
        np.maximum(cell, -1, out=cell)
        cell += 1
        np.add(cell, DEEP.cells + 2, out=cell, where=negative)
        # `clip` lets take write to a buffer: all cells are within the table.
        total, term = self.c[-1].take(cell, mode="clip"), np.empty_like(d)
        for row in self.c[-2::-1]:
            total *= y
            row.take(cell, out=term, mode="clip")
            total += term
        for _ in range(self.power):
            total *= rho
        return total


@dataclass(frozen=True, eq=False)
class Bulk:
    """An engine for arrays of any size: itself for small ones, its tables for others."""

    exact: Slow

    def covariance(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)] - E a E b, without cancellation."""
        if rho.size < MANY:
            return self.exact.covariance(rho)
        return _read(_covariances(self.exact), rho)

    def dual(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)]."""
        if rho.size < MANY:
            return self.exact.dual(rho)
        mean = float(self.exact.dual(np.zeros(1))[0])
        out = _read(_covariances(self.exact), rho)
        out += mean
        return out

    def slope(self, rho: Array, t: Array | None = None) -> Array:
        """Return E[a'(X) b'(Y)]; `t` is arccos rho where better known."""
        if rho.size < MANY or t is not None:
            return self.exact.slope(rho, t)
        return _read(_slopes(self.exact), rho)

    def distance(self, delta: Array) -> Array:
        """Return E a^2 - E[a(X) a(Y)] at rho = 1 - delta, without cancellation."""
        if delta.size < MANY:
            return self.exact.distance(delta)
        table, flat = _distances(self.exact), delta.ravel()
        out = np.empty_like(flat)
        for i in range(0, flat.size, CHUNK):
            part = flat[i : i + CHUNK]
            d = np.minimum(part, 2.0 - part)
            out[i : i + CHUNK] = table.read(d, part > 1.0, d)
            closer = np.flatnonzero((part < SMALLEST) & (part > 0.0))
            if closer.size:
                out[i + closer] = self.exact.distance(part[closer])
        return out.reshape(delta.shape)


@lru_cache(maxsize=256)
def for_arrays(engine: Engine) -> Engine:
    """Return an engine that is fast for large arrays too."""
    match engine:
        case Series(p) if len(p) > FEW_TERMS:
            return Bulk(engine)
        case Truncated() | Tabulated():
            return Bulk(engine)
        case Rescaled(base, factor, mean):
            return Rescaled(for_arrays(base), factor, mean)
        case _:
            return engine


def _read(table: Table, rho: Array) -> Array:
    flat = rho.ravel()
    out = np.empty_like(flat)
    for i in range(0, flat.size, CHUNK):
        part = flat[i : i + CHUNK]
        out[i : i + CHUNK] = table.read(1.0 - np.abs(part), part < 0.0, part)
    return out.reshape(rho.shape)


def _at(engine: Slow, sign: float) -> Slow:
    return engine if sign > 0.0 else engine.mirrored()


@lru_cache(maxsize=32)
def _covariances(engine: Slow) -> Table:
    top, bottom = (float(v) for v in engine.covariance(np.array([1.0, -1.0])))

    def side(sign: float, d: Array) -> Array:
        e = _at(engine, sign)
        close = d < CLOSE
        out = np.empty_like(d)
        # Nodes this close to an end are no floats of rho.
        out[close] = (top if sign > 0.0 else bottom) - e.distance(d[close])
        out[~close] = e.covariance(1.0 - d[~close])
        return out

    return Table.build(side, (top, bottom), min(engine.order, HIGHEST))


@lru_cache(maxsize=32)
def _slopes(engine: Slow) -> Table:
    ends = engine.slope(np.array([1.0, -1.0]))

    def side(sign: float, d: Array) -> Array:
        angle = 2.0 * np.arcsin(np.sqrt(0.5 * d))
        return sign * _at(engine, sign).slope(1.0 - d, angle)

    power = min(engine.order, HIGHEST) - 1
    return Table.build(side, (float(ends[0]), float(ends[1])), power)


@lru_cache(maxsize=32)
def _distances(engine: Slow) -> Table:
    opposite = float(engine.distance(np.array([2.0]))[0])

    def side(sign: float, d: Array) -> Array:
        distance = _at(engine, sign).distance(d)
        return distance if sign > 0.0 else opposite + distance

    return Table.build(side, (0.0, opposite))
