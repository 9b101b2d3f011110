r"""Derivatives of Gaussian averages of s s and s' s', without cancellation.

A change of K is a derivative in u,

.. math:: \partial_{K_{ab}} E f = E\,\partial_a \partial_b f,

and half of that where a = b, so that all follow from
:math:`M_{ij} = E\,s^{(i)}(u_a)\,s^{(j)}(u_b)`.

Of a smooth s the Hermite series has them, whatever the correlation; of straight pieces,
closed forms. Nothing is divided by 1 - r^2 but what grows like that.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy import special as sp

from theory import gaussian, hermite
from theory.activations import Activation, PiecewisePolynomial
from theory.activations.affine import split

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
class _Own:
    """Averages over one input, where nothing cancels."""

    activation: Activation
    roots: tuple[float, ...]  # of the variances

    def own(self, a: int, n: int, *, slope: bool) -> float:
        """Return E of the n-th derivative of s^2 or s'^2, a coefficient of the square."""
        root = self.roots[a]
        f = self.activation.derivative if slope else self.activation
        square = hermite.expansion(
            lambda x: f(root * x) ** 2, n, _panels(f, root), REACH
        )
        return float(square[n]) * math.sqrt(math.factorial(n)) / root**n


@dataclass(frozen=True, eq=False)
class Lines(_Own):
    r"""Of straight pieces: s'' is a sum of J_i delta(x - c_i), and with n = i - 2.

    .. math::

       M_{ij} = \sum_i J_i\, (-\partial_x)^n\,
           p(x)\, E[s^{(j)}(u_b) \,|\, u_a = x]\,\Big|_{x = c_i},

    p the density of u_a. Given u_a, u_b is Gaussian, and a derivative in its mean is one
    of s.
    """

    apart: float  # 1 - r

    def pair(self, i: int, j: int) -> float:
        """Return M_ij of the two inputs, i + j > 0."""
        here, there = self.roots if i >= j else self.roots[::-1]
        i, j = max(i, j), min(i, j)
        if i == 1:
            slope = self.activation.dual_derivative(
                1.0 - self.apart, var_x=here**2, var_y=there**2
            )
            return float(slope) / (here * there)
        base, scale, _ = split(self.activation)
        assert isinstance(base, PiecewisePolynomial)
        kinks, jumps = np.array(base.kinks), scale * np.array(base.jumps)
        # The mean at x, less a kink c: (x - c) - (1 - there/here r) x.
        ratio = there / here
        less = self.apart * ratio + (1.0 - ratio)
        spread = there * math.sqrt(self.apart * (2.0 - self.apart))
        z = ((kinks[:, None] - kinks) - less * kinks[:, None]) / spread
        given = self._given(kinks - less * kinks, z, jumps, spread)
        given[1] += scale * base._far_left
        n, total = i - 2, 0.0
        for k in range(n + 1):
            density = _bell(kinks / here, n - k) / here ** (n - k + 1)
            terms = jumps * density * (1.0 - less) ** k * given[j + k]
            total += math.comb(n, k) * float(terms.sum())
        return (-1.0) ** n * total

    def _given(self, mean: Array, z: Array, jumps: Array, spread: float) -> list[Array]:
        """Return E of s, s', ... given u_a at each kink; others are z spreads below."""
        ramps = spread * (z * sp.ndtr(z) + _bell(z, 0)) - np.maximum(spread * z, 0.0)
        first = self.activation(mean) + ramps @ jumps
        slopes = sp.ndtr(z) @ jumps
        bent = [_bell(z, n) @ jumps / spread ** (n + 1) for n in range(3)]
        return [first, slopes, *bent]


def _bell(z: Array, n: int) -> Array:
    """Return the n-th derivative of the standard normal density."""
    powers = {0: 1.0, 1: -z, 2: z * z - 1.0, 3: z * (3.0 - z * z)}
    return powers[n] * gaussian.pdf(z)


@dataclass(frozen=True, eq=False)
class Series(_Own):
    r""":math:`M_{ij} = \sum_k b^{(i)}_k b^{(j)}_k r^k`, b of derivatives at each input."""

    tables: tuple[tuple[Array, ...], ...]
    """Hermite coefficients of s, s', s'', ..., of each input, (orders,)."""
    powers: Array

    def pair(self, i: int, j: int) -> float:
        """Return M_ij of the two inputs."""
        return float((self.tables[0][i] * self.tables[1][j]) @ self.powers)


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

    `apart` is 1 - r, better known than from `k`. Of one input nothing cancels.
    """
    if len(k) == 1:
        return None
    roots = tuple(math.sqrt(v) for v in np.diagonal(k))
    if straight(activation):
        return Lines(activation, roots, apart)
    if activation.kinks:
        return None
    tables = [_table(activation, root) for root in roots]
    if any(table is None for table in tables):
        return None
    size = min(table[0].size for table in tables if table)
    cut = tuple(tuple(row[:size] for row in table) for table in tables if table)
    powers = (1.0 - apart) ** np.arange(float(size))
    return Series(activation, roots, cut, powers)


def straight(activation: Activation) -> bool:
    """Whether it has straight pieces, without jumps."""
    base = split(activation)[0]
    return isinstance(base, PiecewisePolynomial) and base.m == 1


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
