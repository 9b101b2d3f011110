"""Functions of a distance, tabulated on grids that its leading bits index.

The bits of a float64 are an exponent and a mantissa, so those of ``d = 1 - |rho|`` find
its cell on a grid that is uniform within each octave of d by one integer shift. On each
cell the functions are analytic at relative scale: a few polynomial coefficients give
full precision without a logarithm or an arc cosine.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory._chebyshev import chebyshev, nodes
from theory.gaussian import legendre

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
        inner = 0.5 + 0.5 * nodes(self.degree + 1)[::-1]
        return left[:, None] + self.widths()[:, None] * inner

    def fit(self, values: Array) -> Array:
        """Chebyshev coefficients from values at `nodes`, shape (degree + 1, cells)."""
        to = np.ascontiguousarray(chebyshev(self.degree + 1)[:, ::-1])
        return np.ascontiguousarray(to @ values.T)

    def values(self, c: Array) -> Array:
        """Values at `nodes` of series of these coefficients, the inverse of `fit`."""
        y = nodes(self.degree + 1)[::-1]
        return (np.polynomial.chebyshev.chebvander(y, self.degree) @ c).T

    def integrals(self, values: Array, *, falling: bool = False) -> Array:
        """Integrals from the left end, or from 1 down, to `nodes` of the last cells.

        Values and integrals of shape (cells, degree + 1); to a relative accuracy where
        values have one sign.
        """
        n = self.degree + 1
        x, w = legendre(n)
        y = np.append(nodes(n)[::-1], 1.0)  # and the whole cell
        share = 0.5 * (1.0 + y)
        at = np.polynomial.chebyshev.chebvander(np.outer(share, 1.0 + x) - 1.0, n - 1)
        rule = share[:, None] * (np.einsum("k,ikd->id", w, at) @ chebyshev(n)[:, ::-1])
        step = -1 if falling else 1
        half = 0.5 * self.widths()[-len(values) :]
        parts = (half[:, None] * values)[::step, ::step] @ rule.T
        whole = parts[:, -1]
        found = parts[:, :-1] + (np.cumsum(whole) - whole)[:, None]
        return found[::step, ::step]

    def resampled(self, values: Array, finer: "Grid") -> Array:
        """Values at the nodes of a finer grid of as many octaves, from those at `nodes`.

        Shape (finer.cells, finer.degree + 1).
        """
        parts = 1 << (finer.log2_cells - self.log2_cells)
        inner = 0.5 + 0.5 * nodes(finer.degree + 1)[::-1]
        y = (np.arange(parts)[:, None] + inner) * (2.0 / parts) - 1.0
        to = np.polynomial.chebyshev.chebvander(y.ravel(), self.degree)
        fine = (to @ self.fit(values)).T
        return fine.reshape(finer.cells, finer.degree + 1)

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

DEEP = Grid(log2_cells=8, degree=4, octaves=64)
"""For many distances, however small: a relative error of 1e-15 on every cell."""

SMALLEST = 2.0**-COARSE.octaves
"""Pairs closer than this take the layer recursion."""

CLOSE = 2.0**-FINE.octaves
"""Pairs closer than this are read from the coarse table."""


def clenshaw(c: Array, cell: npt.NDArray[np.int64], y: Array) -> Array:
    """Evaluate the Chebyshev series of each point's cell, at y in [-1, 1]."""
    twice = 2.0 * y
    b1, b2 = c[-1].take(cell), np.zeros_like(y)
    new, term = np.empty_like(y), np.empty_like(y)
    for row in c[-2:0:-1]:
        np.multiply(twice, b1, out=new)
        new -= b2
        new += row.take(cell, out=term, mode="clip")
        b1, b2, new = new, b1, b2
    return y * b1 - b2 + c[0].take(cell)
