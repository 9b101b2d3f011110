r"""One layer's tables on the sphere as functions of the length, for hundreds of lengths.

A raw activation's lengths move slowly through hundreds of layers, and each has a dual of
its own. Between :math:`\pm 1` the tables of `theory.depth_maps` are analytic in the
logarithm of the length, in the strip in which Gaussian densities of complex length decay:
they are computed at a few lengths and interpolated between them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory._chebyshev import chebyshev
from theory._exact_layers import Exact
from theory._recursion.intervals import Interval
from theory.activations import Activation
from theory.depth_maps import DepthMap, pinned

Array = npt.NDArray[np.float64]

STRIP = math.pi / 4.0
"""Half-width in which functions of the log length are analytic."""

DIGITS = 37.0
"""Logarithm of what interpolation may leave: 1e-16."""

FEWEST = 8

WORTH = 1.5
"""Lengths for every node from which interpolation is faster."""

RESOLVED = 2e-15
"""Last Chebyshev coefficients that are rounding, over the first of their cell."""

At = Callable[[float], Activation]
"""The layer's activation at a log length."""


@dataclass(frozen=True, eq=False)
class Family:
    """Tables of a layer at all log lengths of an interval."""

    interval: Interval
    parity: int
    centred: bool
    tangent: bool  # whether slopes are square integrable
    opposed: bool
    less: Array
    # Of four tables, `minus_one`, linear part less one and growth, each (n, ...).
    coefficients: tuple[Array, ...]

    @classmethod
    def build(cls, at: At, interval: Interval) -> "Family | None":
        """Tabulate at the nodes; None where these do not resolve it."""
        n = _nodes(interval)
        maps = [DepthMap.of_layer(at(log)) for log in interval.nodes(n).tolist()]
        exact = [m.exact for m in maps]
        alike = {
            (e.parity, e.centred, math.isfinite(e.growth), m.opposed)
            for e, m in zip(exact, maps, strict=True)
        }
        if len(alike) > 1:
            return None
        ((parity, centred, finite, opposed),) = alike
        tables = [np.array([m.tables[k] for m in maps]) for k in range(4)]
        tables += [np.array([m.minus_one for m in maps])]
        ends = [[math.expm1(e.decay), e.growth if finite else 0.0] for e in exact]
        tables += [np.array(ends)]
        each = np.array([m.less for m in maps])
        less = each.min(axis=0)
        for k, values in enumerate(tables[:4]):
            values[:, 0] += each[:, k] - less[k]
            # Rows are polynomials of the cells: the first is the size.
            size = np.abs(values[:, 0]).max(axis=0) + less[k]
            last = np.abs(np.einsum("an,nkc->akc", chebyshev(n)[-2:], values))
            if not np.all(last <= RESOLVED * size):
                return None
        to = chebyshev(n)
        found = tuple(np.tensordot(to, values, axes=1) for values in tables)
        return cls(interval, parity, centred, finite, opposed, less, found)

    def at(self, activation: Activation, log: float) -> DepthMap:
        """Return the tables of the layer's activation at a log length."""
        basis = self.interval.basis(np.array([log]), len(self.coefficients[0]))[0]
        *tables, ends, (linear, growth) = (
            np.tensordot(basis, c, axes=1) for c in self.coefficients
        )
        exact = Exact(
            steps=((activation, 1),),
            parity=self.parity,
            centred=self.centred,
            decay=math.log1p(linear) if linear > -1.0 else -math.inf,
            growth=float(growth) if self.tangent else math.inf,
            total=0.0,
        )
        pinned(tables, self.less, exact)
        one, two, three, four = (float(v) for v in ends)
        end = (one, two, three, four)
        return DepthMap(exact, tuple(tables), self.less, end, self.opposed)


def _nodes(interval: Interval) -> int:
    """Return the nodes that leave e^-DIGITS, by the ellipse within the strip."""
    width = max(interval.high - interval.low, 1e-3)
    return max(FEWEST, math.ceil(DIGITS / math.asinh(2.0 * STRIP / width)))


def families(at: At, logs: Sequence[float]) -> list[Family | None]:
    """Return for each log length the tables that it is read off, None for its own."""
    out: list[Family | None] = [None] * len(logs)
    cell = [math.floor(log) for log in logs]
    for k in sorted(set(cell)):
        here = [i for i, c in enumerate(cell) if c == k]
        inside = [logs[i] for i in here]
        interval = Interval(min(inside), max(inside))
        if len(set(inside)) < WORTH * _nodes(interval):
            continue
        found = Family.build(at, interval)
        for i in here:
            out[i] = found
    return out
