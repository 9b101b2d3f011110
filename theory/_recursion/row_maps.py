r"""What a layer does to rows by themselves, and to pairs from the means of their slopes.

With :math:`\lambda` the distance of two rows of one direction (`length_tables`),
:math:`m_i = E\,s(r_i Z) / r_i'` and :math:`f_i = r_i / r_i'`, a pair goes to

.. math::

   \rho' = m_i m_j + f_i f_j \int_0^\rho S\,d\rho, \qquad
   1 - \rho' = \lambda_{ij} + f_i f_j \int_\rho^1 S\,d\rho .
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import activations, gaussian
from theory._cached import cached_property
from theory._recursion.exponential_lengths import ExponentialLengths
from theory._recursion.length_tables import Lengths
from theory._recursion.power_lengths import PowerLengths
from theory._recursion.rows import Index, LogLengths
from theory._recursion.spheres import homogeneity
from theory._recursion.wave_lengths import WaveLengths
from theory.activations import Activation
from theory.activations.affine import split
from theory.grids import CLOSE

Array = npt.NDArray[np.float64]

Pairs = tuple[Array, Array, Array | None]
"""Correlations, their distances from the nearer of +-1, and E s'(u) s'(v)."""

LITTLE = 0.02
"""Differences of log lengths that are not taken of logarithms."""

WIDE = 0.5
"""Difference over which 16 nodes integrate what is analytic beside it, as in
`length_tables`."""


def settled(after: Array, delta: Array) -> tuple[Array, Array]:
    """Return correlations and their distances from +-1.

    `delta` is 1 - rho where that is known better than the correlation, else infinite.
    """
    near = delta <= 0.5
    rho = np.where(near, 1.0 - delta, np.clip(after, -1.0, 1.0))
    return rho, np.where(near, delta, 1.0 - np.abs(rho))


TURNED = 2.0**-64
"""Distances beside which rows beyond the bend of an activation are not turned: each is as
its limit but for 2^-60, and the two are apart by half of the square of twice that."""


def lengths_of(
    activation: Activation, rows: int
) -> Lengths | ExponentialLengths | PowerLengths | WaveLengths:
    """Return what an activation does to the lengths of so many rows."""
    base, scale, shift = split(activation)
    m = homogeneity(base)
    if m is not None:
        return PowerLengths(activation, m)
    if base == activations.exp:
        return ExponentialLengths(scale, shift)
    if base in (activations.sin, activations.cos):
        return WaveLengths(scale, shift, odd=base == activations.sin)
    return Lengths(activation, rows)


@dataclass(frozen=True, eq=False)
class RowMap:
    """Rows of given lengths before an activation, and after it.

    Of long rows it may be the limit of a `bent` one, which turns them apart by what is
    nothing but beside nothing.
    """

    activation: Activation
    before: LogLengths
    bent: Activation | None = None

    @cached_property
    def lengths(self) -> Lengths | ExponentialLengths | PowerLengths | WaveLengths:
        """What the activation does to lengths."""
        return lengths_of(self.activation, len(self.before.high))

    @cached_property
    def sizes(self) -> Array:
        """Lengths before the activation."""
        return np.exp(self.before.high)

    @cached_property
    def rows(self) -> LogLengths:
        """Log lengths after the activation."""
        table, order = self.lengths, self.before.order
        logs, gaps = self.before.high[order], self.before.gaps
        rise = gaps + np.diff(self._gains[order])
        # Where little is left, the integral of the slope in the place of a difference.
        little = np.minimum(np.abs(gaps), np.abs(rise)) < LITTLE
        narrow = np.abs(gaps) < LITTLE
        for some, nodes in ((narrow, 6), (little & ~narrow, 16)):
            if not some.any():
                continue
            parts = np.ceil(np.abs(gaps[some]).max() / WIDE)
            x, w = gaussian.composite(np.linspace(0.0, 1.0, int(parts) + 1), nodes)
            at = logs[:-1][some, None] + gaps[some, None] * x
            rate = table.growth(at.ravel()).reshape(at.shape) @ w
            rise[some] = gaps[some] * rate
        return self.before.after(self.before.start, rise, float(self._gains[order[0]]))

    @cached_property
    def _gains(self) -> Array:
        """Logarithms of what lengths are multiplied by."""
        return self.lengths.gain(self.before.high)

    @cached_property
    def slopes(self) -> Array:
        """E s'(r Z)^2 of each row."""
        return self.lengths.slope(self.before.high)

    @cached_property
    def means(self) -> Array:
        """E s(r Z) / r' of each row."""
        return self.lengths.mean(self.before.high)

    @cached_property
    def factors(self) -> Array:
        """Lengths before over lengths after."""
        return np.exp(-self._gains)

    def turned(self, i: Index, j: Index, beside: Array) -> Array:
        """Lambda of pairs of rows, their distance when rho is 1, to be added to others."""
        gaps = np.abs(self.before.differences(i, j))
        out = np.zeros_like(gaps)
        lengths, rest = self.lengths, gaps > 0.0
        if self.bent is not None:
            lengths, rest = lengths_of(self.bent, len(self.sizes)), beside < TURNED
        some = np.flatnonzero(rest & (gaps > 0.0))
        lows = np.minimum(self.before.high[i[some]], self.before.high[j[some]])
        out[some] = lengths.turned(lows, gaps[some], beside[some])
        return out

    def after(self, i: Index, j: Index, inner: Array) -> Array:
        """Return correlations after the layer from the integrals of S over [0, rho]."""
        return self.means[i] * self.means[j] + self.over(i, j, inner)

    def over(self, i: Index, j: Index, inner: Array) -> Array:
        """Return integrals of S over r' o' / (r o), which may be beyond float64 itself."""
        return (self.factors[i] * inner) * self.factors[j]

    def near(self, i: Index, j: Index, rho: Array, inner: Array) -> Index:
        """Return the pairs that need their distance: from positive rho to nearly one."""
        after = self.after(i, j, inner)
        return np.flatnonzero((rho > 0.0) & (after > 1.0 - CLOSE))

    def moved(
        self, i: Index, j: Index, rho: Array, inner: Array, lost: Array
    ) -> tuple[Array, Array]:
        """Return correlations after the layer and their distances from +-1.

        `inner` and `lost` are the integrals of S over [0, rho] and over [rho, 1], the
        second where `near`.
        """
        after = self.after(i, j, inner)
        near = self.near(i, j, rho, inner)
        delta = np.full_like(after, math.inf)
        p, q = i[near], j[near]
        angle = self.over(p, q, lost[near])
        delta[near] = angle + self.turned(p, q, angle)
        return settled(after, delta)
