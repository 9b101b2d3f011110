r"""What a layer changes of a correlation, where that is little, to its own digits.

Of a dual f next to the identity the difference from it is lost to rounding, and layers
that hardly change anything are many. With :math:`C(\rho) = f'(\rho) - f'(0)`, the
covariance of the slopes, and :math:`D = f'(1)`,

.. math::

   f - \rho = p_0 (1 - \rho) - \mu \rho + \int_0^\rho C
            = (1 - D) (1 - \rho) + \int_\rho^1 (C(1) - C),

:math:`p_0` the mean's share of the energy and :math:`\mu` that above order one: all of it
small where the layer is nearly linear, and both integrals of numbers of one sign on [0, 1].
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from theory.activations import Activation, PiecewisePolynomial, pair
from theory.activations._engines import series
from theory.activations.affine import split
from theory.duals import Engine, Series, Tabulated
from theory.grids import COARSE, SMALLEST

Array = npt.NDArray[np.float64]

NEAR = 0.25
"""Largest distance of D from one. Others leave no more than some thousand layers of a
kernel: its correlations, or their distances from a fixed point, are gone."""

FLAT = 0.25
"""C(1) beside which D - 1 is known better than from E s'^2 and E s^2."""

HALF = -(1 << COARSE.log2_cells)
"""First cell with d >= 1/2."""


@dataclass(frozen=True, eq=False)
class Bend:
    """Changes of a layer at the nodes of `COARSE`, beside 1 and maybe beside -1.

    Attributes
    ----------
    sides : tuple of (array, array), (cells, degree + 1) each
        f - rho and f' / D - 1.
    growth, decay : float
        Logarithms of D and f'(0).
    mean : float
        :math:`p_0`.
    slight : bool
        Whether the layer is nearly linear: then D - 1 has digits of its own.
    """

    sides: tuple[tuple[Array, Array], ...]
    growth: float
    decay: float
    mean: float
    slight: bool

    def fixed_point(self) -> float:
        """Return the smallest rho in [0, 1] with f(rho) = rho, of a mean that is not 0."""
        if self.growth <= 0.0:
            return 1.0
        from scipy.optimize import brentq

        # (f - rho) / (1 - rho) falls from the mean's share at 0 to 1 - D.
        d, k = COARSE.nodes(), 1 << COARSE.log2_cells
        pace = self.sides[0][0] / d
        c = COARSE.fit(pace)
        cell = int(np.argmax(c.sum(axis=0) > 0.0))
        width, after = float(COARSE.widths()[cell]), COARSE.cells - 1 - cell
        far = after < k  # rho is below 1/2, and has digits of its own
        if far:
            c = COARSE.fit((self.mean - pace) / (1.0 - d))

        def at(share: float) -> float:
            value = float(
                np.polynomial.chebyshev.chebval(1.0 - 2.0 * share, c[:, cell])
            )
            return self.mean - (after + share) * width * value if far else value

        ends = at(0.0), at(1.0)
        share = 0.0 if abs(ends[0]) < abs(ends[1]) else 1.0  # at an end, to rounding
        if ends[0] > 0.0 > ends[1]:
            share = float(brentq(at, 0.0, 1.0, xtol=1e-300, rtol=1e-15))
        if far:
            return (after + share) * width
        return 1.0 - (k + cell % k + 1.0 - share) * width


@lru_cache(maxsize=64)
def bend(activation: Activation, *, both: bool) -> Bend | None:
    """Return what a layer changes; None if D is not next to one, or C not known well."""
    total = activation.second_moment
    excess = activation.derivative_second_moment / total - 1.0
    base, scale, _ = split(activation)
    engine = _of_slopes(base) if abs(excess) < NEAR else None
    if engine is None:
        return None
    size = scale * scale / total
    d, far = COARSE.nodes(), COARSE.nodes()[HALF:]
    lost = size * engine.distance(d)
    # Below the grid the integrand is a root next to kinks, and nothing without.
    end = size * float(engine.distance(np.array([SMALLEST]))[0])
    near = COARSE.integrals(lost) + end * SMALLEST / 1.5
    above = COARSE.integrals(size * engine.covariance(1.0 - far), falling=True)
    # At any node both forms are one.
    whole = size * float(engine.covariance(np.ones(1))[0])
    mu = float(whole * far[0, 0] - near[HALF, 0] + above[0, 0])
    mean = activation.mean**2 / total
    slight = whole < FLAT
    if slight:
        excess = whole - mu - mean
    rise = near - excess * d
    rise[HALF:] = mean * far - (1.0 - far) * mu + above
    sides = [(rise, lost / -(1.0 + excess))]
    if both:
        below = COARSE.integrals(size * engine.covariance(d - 1.0), falling=True)
        lost = size * engine.distance(2.0 - d)
        rise = mean * (2.0 - d) + (1.0 - d) * mu - below
        sides.append((rise, lost / -(1.0 + excess)))
    share = -(mu + mean)
    decay = math.log1p(share) if share > -1.0 else -math.inf
    return Bend(tuple(sides), math.log1p(excess), decay, mean, slight)


def _of_slopes(base: Activation) -> Engine | None:
    """Return the dual of the slope, less its constant, if it is a formula or a series."""
    if isinstance(base, PiecewisePolynomial):
        return pair(base.derivative, base.derivative)
    own = None if base.kinks else pair(base, base)
    if own is not None and not isinstance(own, (Series, Tabulated)):
        own = series(base, base)
    if not isinstance(own, Series):
        return None
    return Series((*(k * p for k, p in enumerate(own.p) if k), 0.0))
