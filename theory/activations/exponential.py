"""Exponential linear units: ELU and SELU."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from theory import gaussian, meshes
from theory import hermite as _hermite
from theory.activations.base import Activation

Array = npt.NDArray[np.float64]

DENSITY = 1.0 / gaussian.SQRT_TWO_PI


@dataclass(frozen=True, repr=False)
class ExponentialUnit(Activation):
    """scale * (x for x > 0, alpha (e^x - 1) below), of the argument sqrt(var) x."""

    name: str
    alpha: float
    scale: float = 1.0
    var: float = 1.0
    kinks: tuple[float, ...] = (0.0,)
    is_normalized: bool = False

    def _value(self, x: Array) -> Array:
        z = math.sqrt(self.var) * x
        below = self.alpha * np.expm1(np.minimum(z, 0.0))
        return self.scale * np.where(z > 0.0, z, below)

    def _bend(self, x: Array) -> Array:
        # Less the line scale * z.
        z = np.minimum(math.sqrt(self.var) * x, 0.0)
        return self.scale * ((self.alpha - 1.0) * z + self.alpha * _exponential_rest(z))

    def _edges(self, reach: float) -> Array:
        return _edges(self.var, reach)

    def _scaled(self, var: float) -> "ExponentialUnit":
        return ExponentialUnit(self.name, self.alpha, self.scale, self.var * var)

    @property
    def derivative(self) -> Activation:
        """s', which jumps at zero unless alpha is one."""
        return _ExponentialSlope(self, math.sqrt(self.var))

    def _coefficients(self, order: int) -> Array:
        # With c_k = E[e^{rX} h_k(X) 1{X < 0}], by parts, and x + alpha (e^x - 1 - x)
        # apart: its line below zero leaves 1 - alpha times that of a ramp.
        r = math.sqrt(self.var)
        c = _half_line(r, order)
        out = np.zeros(order + 1)
        ramp, rest = (1.0 - self.alpha) * r, _mean_rest(r)
        if r > 2.0:
            # What both lines leave would cancel.
            ramp, rest = r, float(c[0]) - 0.5
        out[0] = ramp * DENSITY + self.alpha * rest
        if order:
            out[1] = 0.5 * r + self.alpha * r * c[0]
        if order > 1:
            at_zero = _hermite._rows(order - 2, np.array(0.0), np.array(DENSITY))
            k = np.arange(2.0, order + 1.0)
            # r c_{k-2} less at_zero_{k-2} is sqrt(k - 1) c_{k-1}.
            bent = r * c[:-2] if r <= 2.0 else np.sqrt(k - 1.0) * c[1:-1]
            both = ramp * at_zero + self.alpha * r * bent
            out[2:] = both / np.sqrt(k * (k - 1.0))
        return self.scale * out


@dataclass(frozen=True, repr=False)
class _ExponentialSlope(Activation):
    """factor * u', u an exponential unit: scale * (1 for x > 0, alpha e^x below)."""

    unit: ExponentialUnit
    factor: float
    kinks: tuple[float, ...] = (0.0,)
    is_normalized: bool = False

    @property
    def name(self) -> str:  # type: ignore[override]
        """The unit's name with a prime."""
        return f"{self.unit.name}'"

    def _value(self, x: Array) -> Array:
        z = math.sqrt(self.unit.var) * x
        below = self.unit.alpha * np.exp(np.minimum(z, 0.0))
        return self.unit.scale * self.factor * np.where(x > 0.0, 1.0, below)

    def _rise(self, x: Array) -> tuple[Array, float]:
        # Less its value above zero.
        z = np.minimum(math.sqrt(self.unit.var) * x, 0.0)
        one, alpha = self.unit.scale * self.factor, self.unit.alpha
        return one * np.where(z < 0.0, (alpha - 1.0) + alpha * np.expm1(z), 0.0), one

    def _bend(self, x: Array) -> Array:
        return self._rise(x)[0]

    def _edges(self, reach: float) -> Array:
        return _edges(self.unit.var, reach)

    def _scaled(self, var: float) -> "_ExponentialSlope":
        return _ExponentialSlope(self.unit._scaled(var), self.factor)

    @property
    def _has_slope(self) -> bool:
        return False

    @property
    def derivative(self) -> Activation:
        """Not available."""
        raise ValueError(f"{self.name}.derivative: not available.")

    def _coefficients(self, order: int) -> Array:
        # sqrt(k) a_k of the unit is sqrt(var) a_{k-1} of its slope.
        k = np.arange(1.0, order + 2.0)
        share = self.factor / math.sqrt(self.unit.var)
        return share * np.sqrt(k) * self.unit._coefficients(order + 1)[1:]


def _edges(var: float, reach: float) -> Array:
    root = math.sqrt(var)
    edges = _mesh(max(math.ceil(math.log2(reach * root)), 5)) / root
    return edges[np.abs(edges) <= reach]


@lru_cache(maxsize=64)
def _mesh(octave: int) -> Array:
    return meshes.resolve(
        lambda x: np.expm1(np.minimum(x, 0.0)), (0.0,), reach=2.0**octave
    ).edges


def _exponential_rest(z: Array) -> Array:
    """e^z - 1 - z for z <= 0, without cancellation."""
    inside = np.maximum(z, -0.5)
    series = np.zeros_like(z)
    for k in range(15, 1, -1):
        series = (series * inside + 1.0) / k if k > 2 else (series * inside + 1.0) * 0.5
    return np.where(z > -0.5, inside * inside * series, np.expm1(z) - z)


def _mean_rest(r: float) -> float:
    """E[(e^{rX} - 1 - rX) 1{X < 0}] = sum_{n >= 2} (-r / sqrt 2)^n / (2 Gamma(n/2 + 1))."""
    if r > 0.5:
        return float(_half_line(r, 0)[0]) - 0.5 + r * DENSITY
    y = -r / math.sqrt(2.0)
    return math.fsum(y**n / (2.0 * math.gamma(0.5 * n + 1.0)) for n in range(2, 40))


def _half_line(r: float, order: int) -> Array:
    """c_k = E[e^{rX} h_k(X) 1{X < 0}], k <= order."""
    if r > 2.0:
        # sqrt(k + 1) c_{k+1} = r c_k - h_k(0) phi(0) would cancel.
        top = min(10.0, 46.0 / r)
        x, w = gaussian.composite(np.linspace(-top, 0.0, 41))
        weight = w * np.exp(r * x) * gaussian.pdf(x)
        out = _hermite._rows(order, x, weight).sum(axis=1)
    else:
        from scipy.special import erfcx  # e^{r^2/2} Phi(-r) without the exponential

        at_zero = _hermite._rows(order, np.array(0.0), np.array(DENSITY))
        out = np.empty(order + 1)
        out[0] = 0.5 * float(erfcx(r / math.sqrt(2.0)))
        for k in range(order):
            # Errors grow by r / sqrt(k + 1) at each step: e^(r^2/2) = 7 in all.
            out[k + 1] = (r * out[k] - at_zero[k]) / math.sqrt(k + 1)
    return out
