r"""Slopes of duals by Fourier transforms, of smooth functions that oscillate often.

The density of X and Y is a product of functions of either variable and of one of their
difference, which is an average of waves. With :math:`A(w)` the Fourier transform of
:math:`a'(x) e^{-\alpha x^2}`, and B that of b,

.. math:: E\,a'(X) b'(Y) = \frac1{(2\pi)^{3/2} \sqrt{\rho}}
   \int \mathrm{Re}(\overline{A} B)(w)\, e^{-\tau w^2} dw, \qquad
   \alpha = \frac1{2(1 + \rho)}, \quad \tau = \frac{1 - \rho^2}{2\rho}.

The transforms are those of evenly spaced values, one for each node in alpha, in which
the product is analytic. With S that of :math:`a(x) e^{-\alpha x^2}` and T of x times that,
:math:`A = iwS + 2\alpha T`: rounding of a is not divided by the width of a panel. Below
rho = 1/2 a Hermite series of few terms is enough.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import gaussian
from theory._chebyshev import chebyshev, nodes
from theory.duals._panels import LAYER
from theory.duals._planes import Broken

Array = npt.NDArray[np.float64]

LOW = 0.5
"""Correlation below which a Hermite series is summed."""
ORDER = 64
"""Its order: 2^-64 is left."""
ALPHAS = 16
"""Nodes in alpha between 1/4 and 1/3: interpolation leaves (7 + sqrt 48)^-16 of the
product, which is analytic up to alpha = 0."""
EACH = 4
"""Values for each panel of a mesh that are tried first."""
MOST_VALUES = 2**20
"""Values, at most."""
BETWEEN = 1e-18
"""Share of the energy that interpolation may miss half-way between the values."""
KEPT = 1e-17
"""Share of the sum over frequencies that all those left out may make up."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """E a'(X) b'(Y) at correlations cos t, 0 <= t <= pi/2, for many t at once.

    Attributes
    ----------
    square : array, (n,)
        Squares of the frequencies at which the product is not negligible, rising.
    product : array, (n, ALPHAS)
        Chebyshev coefficients in alpha of the product, times the frequencies' step.
    hermite : array, (ORDER,)
        Products of the Hermite coefficients of the slopes.
    """

    square: Array
    product: Array
    hermite: Array

    @property
    def gap(self) -> float:
        """Return the end of the first panel, where the last wave has fallen to exp(-8)."""
        return 4.0 * LAYER / math.sqrt(max(float(self.square[-1]), 1.0))

    def __call__(self, t: Array) -> Array:
        """Return the slopes at angles (m,)."""
        rho = np.cos(t)
        out = np.asarray(
            np.polynomial.polynomial.polyval(rho, self.hermite), dtype=np.float64
        )
        for i in np.flatnonzero(rho > LOW):
            # Towards rho = 1 ever more frequencies count.
            tau = math.sin(t[i]) ** 2 / (2.0 * rho[i])
            n = 1 + np.searchsorted(self.square, 45.0 / max(tau, 1e-300))
            waves = np.exp(-tau * self.square[:n]) @ self.product[:n]
            # 2 alpha = 1 / (1 + rho) is between 1/2 and 2/3.
            y = 12.0 / (1.0 + rho[i]) - 7.0
            value = np.polynomial.chebyshev.chebval(y, waves)
            out[i] = value / math.sqrt(rho[i])
        return out


def spectra(
    a: Broken, b: Broken, energies: tuple[float, float], tolerance: float
) -> tuple[Spectrum, Spectrum] | None:
    """Return the slopes E a'(X) b'(Y) and E a'(X) b'(-Y); None where not resolved.

    `energies` are E a^2 and E b^2 by quadrature on panels: values whose own are further
    off than the tolerance are not accepted.
    """
    each = (a,) if a is b else (a, b)
    # At this distance the root of the density is as small as the density at `reach`.
    reach = math.sqrt(2.0) * max(f.reach for f in each)
    n = 2 ** math.ceil(math.log2(EACH * max(len(f.edges(reach)) for f in each)))
    while n <= MOST_VALUES and not all(_resolves(f, reach, n) for f in each):
        n *= 2
    if n > MOST_VALUES:
        return None
    x, step = _grid(reach, n), 2.0 * reach / n
    values = [f.f(x) for f in each]
    for y, energy in zip(values, energies, strict=False):
        if not abs(step * (y * y) @ gaussian.pdf(x) - energy) <= tolerance * energy:
            return None
    w = np.pi / reach * np.arange(n // 2)
    products = np.empty((2, ALPHAS, n // 2))
    for i, alpha in enumerate((7.0 + nodes(ALPHAS)) / 24.0):
        bell = np.exp(-alpha * x * x)
        waves = [_of_slope(x, y * bell, w, alpha) for y in values]
        products[0, i] = (waves[0].conj() * waves[-1]).real
        products[1, i] = (waves[0] * waves[-1]).real
    # Both signs of w, of transforms in units of the step.
    products *= 2.0 * step**2 * w[1] / (2.0 * np.pi) ** 1.5
    products[:, :, 0] *= 0.5
    size = np.abs(products).max(axis=(0, 1))
    kept = np.flatnonzero(size > KEPT / size.size * size.sum())
    near, far = np.einsum("ka,saw->swk", chebyshev(ALPHAS), products[:, :, kept])
    hermite = [step * _hermite(x, y) for y in values]
    terms = (np.arange(ORDER + 1) * hermite[0] * hermite[-1])[1:]
    signs = (-1.0) ** np.arange(ORDER)
    square = np.square(w[kept])
    return Spectrum(square, near, terms), Spectrum(square, far, terms * signs)


def _of_slope(x: Array, y: Array, w: Array, alpha: float) -> npt.NDArray[np.complex128]:
    """Return the transform of a' e^(-alpha x^2) from the values y of a e^(-alpha x^2)."""
    return 1j * w * np.fft.rfft(y)[:-1] + 2.0 * alpha * np.fft.rfft(x * y)[:-1]


def _grid(reach: float, n: int) -> Array:
    return reach * (np.arange(n) - n // 2) / (n // 2)


def _resolves(f: Broken, reach: float, n: int) -> bool:
    """Whether n values of f give those half-way between by trigonometric interpolation."""
    x = _grid(reach, n)
    between = x + reach / n
    y, true = (f.f(v) * np.exp(-0.25 * v * v) for v in (x, between))
    turns = np.exp(1j * np.pi * np.arange(n // 2 + 1) / n)
    missed = np.fft.irfft(np.fft.rfft(y) * turns, n) - true
    return float(missed @ missed) <= BETWEEN * float(true @ true)


def _hermite(x: Array, y: Array) -> Array:
    """Add up y h_k times the density, k <= ORDER."""
    high = y * gaussian.pdf(x)
    low, out = np.zeros_like(x), np.empty(ORDER + 1)
    out[0] = high.sum()
    for k in range(1, ORDER + 1):
        low, high = high, (x * high - math.sqrt(k - 1) * low) / math.sqrt(k)
        out[k] = high.sum()
    return out
