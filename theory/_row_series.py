r"""Slopes at pairs of a few lengths by Hermite series, away from rho = +-1.

With :math:`b_k(r) = E\,s'(r Z) h_k(Z)` and :math:`p_k = b_k(r)\, b_k(o)`,

.. math::

   S = \sum_k p_k \rho^k, \qquad
   \int_0^\rho S = \rho \sum_k \frac{p_k}{k + 1} \rho^k, \qquad
   \int_\rho^1 S = (1 - \rho) \sum_k \rho^k \sum_{m \ge k} \frac{p_m}{m + 1},

whatever the kinks: an order of 40 over :math:`-\log|\rho|` leaves nothing.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import gaussian
from theory._length_tables import REACH, cuts
from theory._rows import Index
from theory.activations import Activation
from theory.duals._planes import rule

Array = npt.NDArray[np.float64]

CLASSES = ((0.23, 150), (0.06, 640), (0.0156, 2560))
"""Distances from +-1 and the order from which powers of rho are below 1e-17."""

ROWS = 128
"""Lengths that share a quadrature, whose panels end at the kinks of all."""

TOGETHER = 16384
"""Pairs summed together: their temporaries stay in cache."""


@dataclass(frozen=True, eq=False)
class RowSeries:
    """Coefficients of a few rows: b_k / sqrt(k + 1), and what the order leaves out."""

    coefficients: Array  # (order + 1, n)
    missing: Array  # of the integral of S from 0 to 1, (n, n)

    @classmethod
    def build(cls, activation: Activation, r: Array, order: int) -> "RowSeries":
        """Integrate the coefficients at lengths r (n,)."""
        edges = cuts(activation, r)
        # A polynomial of order k turns sqrt(k) times in a unit.
        step = 0.5 if order <= 640 else 0.25
        edges = np.union1d(edges, np.arange(-REACH, REACH + step, step))
        z, w = rule(edges)
        x = r[:, None] * z
        s = activation._value(x)
        weight = w * gaussian.pdf(z)
        s -= (s @ weight)[:, None]
        whole = ((s * weight) @ s.T) / np.outer(r, r)
        smooth = math.isfinite(activation.derivative_second_moment)
        f = activation.derivative._value(x) if smooth else s / r[:, None]
        # Half of the density goes with the polynomials, half with the function.
        root = np.exp(-0.25 * z * z) / math.sqrt(gaussian.SQRT_TWO_PI)
        f *= w * root
        out = np.empty((order + 1, len(r)))
        low, high = np.zeros_like(z), root
        if not smooth:
            low, high = root, z * root
        first = 0 if smooth else 1
        for k in range(order + 1):
            out[k] = f @ high
            low, high = (
                high,
                (z * high - math.sqrt(k + first) * low) / math.sqrt(k + 1 + first),
            )
        if smooth:
            out /= np.sqrt(np.arange(1.0, order + 2.0))[:, None]
        energy = np.square(out).max(axis=1) * np.arange(1.0, order + 2.0)
        last = np.flatnonzero(energy > 1e-19 * energy.max(initial=1e-300))
        out = out[: int(last[-1]) + 1 if last.size else 1]
        return cls(out, whole - out.T @ out)

    def integrals(
        self, i: Index, j: Index, rho: Array, d: Array
    ) -> tuple[Array, Array, Array]:
        """Return the integrals of S over [0, rho] and [rho, 1], and S."""
        out = np.empty_like(rho), np.empty_like(rho), np.empty_like(rho)
        for start in range(0, len(rho), TOGETHER):
            part = slice(start, start + TOGETHER)
            found = self._block(i[part], j[part], rho[part], d[part])
            for values, value in zip(out, found, strict=True):
                values[part] = value
        return out

    def _block(
        self, i: Index, j: Index, rho: Array, d: Array
    ) -> tuple[Array, Array, Array]:
        zero, end, slope, tail = (np.zeros_like(rho) for _ in range(4))
        p, right = np.empty_like(rho), np.empty_like(rho)
        for k in range(len(self.coefficients) - 1, -1, -1):
            row = self.coefficients[k]
            row.take(i, out=p, mode="clip")
            row.take(j, out=right, mode="clip")
            p *= right
            zero *= rho
            zero += p
            tail += p
            end *= rho
            end += tail
            p *= k + 1.0
            slope *= rho
            slope += p
        zero *= rho
        end *= d
        end += self.missing[i, j]
        return zero, end, slope
