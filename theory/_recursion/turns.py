r"""How far rows of one direction and of two lengths are turned apart by a layer.

With :math:`A(l) = s(e^l z) / |s|`, of unit length as a function of z, and its derivative
A' in l, :math:`\lambda` of `length_tables` is

.. math:: \lambda = \frac12 |A(l) - A(l + g)|^2
   = \frac12 \int_l^{l + g} \int_l^{l + g} E\,A'(a) A'(b)\,da\,db .

Where s has no kink but at zero the mean product is smooth in both lengths: polynomials of
it, from one quadrature at some lengths, give the distances of all pairs, and no difference
cancels.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory._chebyshev import chebyshev
from theory._recursion.intervals import Interval
from theory._recursion.reaches import rule_of
from theory.activations import Activation

Array = npt.NDArray[np.float64]

FEWER = 32
"""Nodes in log length of a cell of width one: they leave 1e-16 of the largest, but where s
turns often."""

MOST = 128

RESOLVED = 3e-15
"""Last Chebyshev coefficients that are rounding, over the largest."""

EPS = 2e-16

TOGETHER = 1 << 20
"""Values at nodes that are held at once."""


@dataclass(frozen=True, eq=False)
class Turns:
    """Mean products of A' at two lengths, of a cell of log lengths or of the next.

    `error` is that of lambda over the square of the gap.
    """

    cells: tuple[Interval, Interval]
    coefficients: Array  # (2 n, 2 n), of polynomials on either cell
    error: float

    @classmethod
    def resolved(cls, activation: Activation, cell: Interval) -> "Turns":
        """Take few nodes where they resolve it, `MOST` where they do not."""
        cells = cell, Interval(cell.high, cell.high + 1.0)
        c = _products(activation, cells, FEWER)
        size = np.abs(c).reshape(2, FEWER, 2 * FEWER)
        most = size.max(axis=(1, 2))
        # A' is rounded beside A, whose mean square is one.
        noise = RESOLVED * (most + np.sqrt(most))
        if np.any(size[:, -2:].max(axis=(1, 2)) > noise):
            c = _products(activation, cells, MOST)
            size = np.abs(c).reshape(2, MOST, 2 * MOST)
        return cls(cells, c, float(EPS * size.sum() + size[:, -2:].sum()))

    @property
    def nodes(self) -> int:
        """In each cell."""
        return len(self.coefficients) // 2

    def over_square(self, low: Array, gap: Array) -> Array:
        """Return lambda over the square of gaps in (0, 1], (m,).

        `low` is the shorter row's log length, in the first cell.
        """
        n, out = self.nodes, np.empty_like(gap)
        step = max(1, TOGETHER // (n * n))
        for start in range(0, len(gap), step):
            part = slice(start, start + step)
            first, last = low[part], low[part] + gap[part]
            edge = np.minimum(last, self.cells[0].high)
            means = [
                cell.integrals(a, b, n) / gap[part, None]
                for cell, a, b in zip(
                    self.cells, (first, edge), (edge, last), strict=True
                )
            ]
            v = np.concatenate(means, axis=1)
            out[part] = 0.5 * np.einsum("ma,ma->m", v @ self.coefficients, v)
        return out


def _products(
    activation: Activation, cells: tuple[Interval, Interval], n: int
) -> Array:
    """Return the coefficients from n nodes in either cell."""
    r = np.exp(np.concatenate([c.nodes(n) for c in cells]))
    z, w = rule_of(activation, r)
    parts = np.array_split(np.arange(len(z)), 1 + z.size * r.size // TOGETHER)
    energy, along = np.zeros_like(r), np.zeros_like(r)
    for at in parts:
        s, turn = _at(activation, r, z[at])
        energy += s * s @ w[at]
        along += (s * turn) @ w[at]
    share, size = (along / energy)[:, None], np.sqrt(energy)[:, None]
    c = np.zeros((len(r), len(r)))
    for at in parts:
        s, turn = _at(activation, r, z[at])
        turn = (turn - share * s) / size
        c += (turn * w[at]) @ turn.T
    to = np.kron(np.eye(2), chebyshev(n))
    return to @ c @ to.T


def _at(activation: Activation, r: Array, z: Array) -> tuple[Array, Array]:
    """Return s(r z) and its derivative in log r, (r, z)."""
    x = r[:, None] * z
    return activation._value(x), x * activation.derivative._value(x)
