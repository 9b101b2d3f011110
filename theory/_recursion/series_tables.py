r"""Hermite series of slopes interpolated in the logarithm of the length.

The coefficients of `row_series` are analytic in the log length wherever kinks are: they
are integrated at the Chebyshev nodes of cells of width one, once for an activation,
whatever the rows, the layer and the network.
"""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from theory._chebyshev import chebyshev
from theory._recursion.intervals import Interval
from theory._recursion.length_tables import sizes
from theory._recursion.reaches import NEAR, reach_of
from theory._recursion.row_series import NOTHING, RowSeries
from theory.activations import Activation

Array = npt.NDArray[np.float64]

NODES = 32
"""In log length, of a cell; doubled until they resolve it."""

MOST = 256

CALLS = 8
"""Times that rows integrate their own series for what a cell's takes."""

LONGER = 3.0
"""Log length of the longer row, from the cell's lower end."""

RESOLVED = 1e-14
"""Last Chebyshev coefficients that are rounding, over the largest."""


def _cell(k: int) -> Interval:
    return Interval(float(k), float(k + 1))


def _basis(activation: Activation, k: int, logs: Array, n: int) -> Array:
    """Return n polynomials of log lengths (m,) in a cell, times their `sizes`, (m, n)."""
    own = sizes(activation, logs, _cell(k))
    return _cell(k).basis(logs, n) * own[:, None]


def _resolved(c: Array) -> bool:
    """Whether the last rows, of Chebyshev coefficients, are rounding."""
    size = np.abs(c).reshape(len(c), -1).max(axis=1)
    return bool(size[-3:].max() <= RESOLVED * size.max())


def _panels(activation: Activation, log: float) -> int:
    """Return how many resolve it at a length."""
    return len(activation._scaled(math.exp(2.0 * log))._edges(NEAR)) + math.ceil(NEAR)


@lru_cache(maxsize=256)
def _series(activation: Activation, k: int, order: int, limit: int) -> Array | None:
    """Return polynomials of b_k / sqrt(k + 1) over `sizes`, (nodes, orders).

    A series is cut where its square is rounding, but a longer row's has not fallen as far:
    one such row is in the group that is cut together.

    None if `limit` lengths do not resolve them.
    """
    n = NODES
    while n <= limit:
        logs = _cell(k).nodes(n)
        r = np.exp(np.append(logs, k + LONGER))
        with np.errstate(over="ignore", invalid="ignore"):
            found = RowSeries.none(activation, r).raised(np.arange(n + 1), order)
            if not np.isfinite(found.coefficients**2).all():
                return None  # the longer row has left float64
        own = sizes(activation, logs, _cell(k))
        c = chebyshev(n) @ (found.coefficients[:, :n] / own).T
        if _resolved(c * np.sqrt(np.arange(1.0, c.shape[1] + 1.0))):
            return c
        n *= 2
    return None


def series_at(activation: Activation, logs: Array, order: int) -> RowSeries | None:
    """Return the series of rows at log lengths (m,), None where that takes quadrature."""
    cell = np.floor(logs)
    own = _panels(activation, float(logs.max()))
    found: list[tuple[npt.NDArray[np.intp], int, Array]] = []
    for k in np.unique(cell):
        if reach_of(activation, math.exp(k + LONGER)) is None:
            return None
        # Each row's own series may take less than a cell's and its longer row's.
        worth = CALLS * len(logs) * own // _panels(activation, int(k) + LONGER)
        limit = min(MOST, 1 << max(worth, 1).bit_length() - 1)
        c = _series(activation, int(k), order, limit)
        if c is None:
            return None
        found.append((np.flatnonzero(cell == k), int(k), c))
    # Tables reach as far as longer rows need them: these rows end sooner, each cell's by
    # itself.
    last = 0
    for _, _, c in found:
        energy = np.square(np.abs(c).sum(axis=0)) * np.arange(1.0, c.shape[1] + 1.0)
        counts = np.flatnonzero(energy > NOTHING * energy.max())
        last = max(last, int(counts[-1]) + 1)
    out = np.zeros((last, len(logs)))
    for at, k, c in found:
        some = c[:, :last]
        out[: some.shape[1], at] = some.T @ _basis(activation, k, logs[at], len(c)).T
    return RowSeries(activation, np.exp(logs), out, np.zeros(len(logs), dtype=bool))
