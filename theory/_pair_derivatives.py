r"""Derivatives of Gaussian averages of s s and s' s', without cancellation.

A change of K is a derivative in u,

.. math:: \partial_{K_{ab}} E f = E\,\partial_a \partial_b f,

and half of that where a = b, so that all follow from
:math:`M_{ij} = E\,s^{(i)}(u_a)\,s^{(j)}(u_b)`.

Of a smooth s the Hermite series has them, whatever the correlation; of two slopes, closed
forms. Nothing is divided by 1 - r^2 but what grows like that.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from theory import hermite, kernels
from theory.activations import Activation

Array = npt.NDArray[np.float64]

ORDERS = (256, 1024, 4096)
"""Of the Hermite series: the first that leaves nothing out."""
REACH = 16.0
"""Standard deviations, as for averages of fourth powers."""
HIGHEST = 6
"""Derivatives that M_ij has at most, i + j: two changes of K under E s' s'."""
LEFT = 1e-17
"""Share of the highest averages that the series may leave out."""


class Mixed(Protocol):
    """Averages of derivatives, of one activation and covariance."""

    def pair(self, i: int, j: int) -> float:
        """Return M_ij of the two inputs."""
        ...

    def own(self, a: int, n: int, *, slope: bool) -> float:
        """Return E of the n-th derivative of s^2 or s'^2 at input a."""
        ...


@dataclass(frozen=True, eq=False)
class TwoSlopes:
    r"""Of s = alpha x + beta \|x\|: :math:`F = \alpha^2 c + \beta^2 E|u_a u_b|`."""

    even: float
    odd: float
    k: tuple[float, float, float]
    root: float  # of det K

    def pair(self, i: int, j: int) -> float:
        """Return M_ij, i + j even, not of s s itself."""
        p, c, q = self.k
        if i < j:
            i, j, p, q = j, i, q, p
        root, both = self.root, 2.0 / math.pi * self.even**2
        if (i, j) == (1, 1):
            return self.odd**2 + both * math.atan2(c, root)
        found = {
            (2, 0): root / p,
            (2, 2): 1.0 / root,
            (3, 1): -c / (root * p),
            (4, 0): (2.0 * c * c - p * q) / (root * p * p),
            (3, 3): c / root**3,
            (4, 2): -q / root**3,
            (5, 1): c * (p * q + 2.0 * root * root) / (root**3 * p * p),
        }
        return both * found[i, j]

    def own(self, a: int, n: int, *, slope: bool) -> float:
        """Return E of the n-th derivative of s^2 or s'^2: s^2 is x^2 but for odd parts."""
        size = self.even**2 + self.odd**2
        if slope:
            return size if n == 0 else 0.0
        return {0: size * self.k[2 * a], 2: 2.0 * size}.get(n, 0.0)


@dataclass(frozen=True, eq=False)
class Series:
    r""":math:`M_{ij} = \sum_k b^{(i)}_k b^{(j)}_k r^k`, b of derivatives at each input."""

    tables: tuple[tuple[Array, ...], ...]
    """Hermite coefficients of s, s', s'', ..., of each input, (orders,)."""
    powers: Array
    activation: Activation
    roots: tuple[float, ...]

    def pair(self, i: int, j: int) -> float:
        """Return M_ij of the two inputs."""
        return float((self.tables[0][i] * self.tables[1][j]) @ self.powers)

    def own(self, a: int, n: int, *, slope: bool) -> float:
        """Return E of the n-th derivative of s^2 or s'^2, a coefficient of the square."""
        root = self.roots[a]
        f = self.activation.derivative if slope else self.activation
        square = hermite.expansion(
            lambda x: f(root * x) ** 2, n, _panels(f, root), REACH
        )
        return float(square[n]) * math.sqrt(math.factorial(n)) / root**n


def derivatives(of: Mixed, inputs: int, *, slope: bool) -> tuple[Array, Array]:
    """Return first and second derivatives of E s s, or of E s' s', in the entries of K."""
    index = list(itertools.combinations_with_replacement(range(inputs), 2))

    def average(pair: tuple[int, int], *changes: tuple[int, int]) -> float:
        half = 0.5 ** sum(a == b for a, b in changes)
        n, m = (sum(change.count(a) for change in changes) for a in (0, 1))
        if pair[0] != pair[1]:
            return half * of.pair(n + slope, m + slope)
        here, there = (n, m) if pair[0] == 0 else (m, n)
        return 0.0 if there else half * of.own(pair[0], here, slope=slope)

    first = [[average(f, i) for i in index] for f in index]
    second = [[[average(f, i, j) for j in index] for i in index] for f in index]
    return np.array(first), np.array(second)


def mixed(activation: Activation, k: Array, apart: float) -> Mixed | None:
    """Return averages at covariance `k`, or None where neither form has them.

    `apart` is 1 - r, better known than from `k`. Of one input of smooth functions, where
    nothing cancels, there is no series either.
    """
    if kernels.homogeneity(activation) == 1:
        up, down = (float(v) for v in activation(np.array([1.0, -1.0])))
        p, c, q = float(k[0, 0]), float(k[0, -1]), float(k[-1, -1])
        root = math.sqrt(p * q * apart * (2.0 - apart))
        return TwoSlopes(0.5 * (up + down), 0.5 * (up - down), (p, c, q), root)
    if activation.kinks or len(k) == 1:
        return None
    roots = tuple(math.sqrt(v) for v in np.diagonal(k))
    tables = [_table(activation, root) for root in roots]
    if any(table is None for table in tables):
        return None
    size = min(table[0].size for table in tables if table)
    cut = tuple(tuple(row[:size] for row in table) for table in tables if table)
    powers = (1.0 - apart) ** np.arange(float(size))
    return Series(cut, powers, activation, roots)


def _panels(f: Activation, root: float) -> Array:
    """Return edges of panels on which squares of f(root x) are resolved."""
    own = f._edges(REACH * root) / root
    halves = 0.5 * (own[1:] + own[:-1])
    edges = np.concatenate([own, halves, np.arange(-REACH, REACH, 0.25)])
    return np.unique(edges[np.abs(edges) <= REACH])


def _table(activation: Activation, root: float) -> tuple[Array, ...] | None:
    """Return the coefficients of s(root x) and of its derivatives in the argument of s."""
    panels = _panels(activation, root)
    for order in ORDERS:
        a = hermite.expansion(lambda x: activation(root * x), order, panels, REACH)
        rows = [a]
        for _ in range(HIGHEST - 1):
            rows.append(rows[-1][1:] * np.sqrt(np.arange(1.0, rows[-1].size)) / root)
        third = rows[HIGHEST // 2] ** 2
        if third[-order // 4 :].sum() <= LEFT * third.sum():
            size = rows[-1].size
            return tuple(row[:size] for row in rows)
    return None
