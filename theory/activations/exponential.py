"""Exponential linear units: ELU and SELU."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import gaussian
from theory import hermite as _hermite
from theory.activations.base import Activation
from theory.activations.custom import FromFunction

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
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

    def scaled(self, var: float) -> "ExponentialUnit":
        """Return x -> s(sqrt(var) x)."""
        return ExponentialUnit(self.name, self.alpha, self.scale, self.var * var)

    @property
    def derivative(self) -> Activation:
        """s', which jumps at zero unless alpha is one."""
        return FromFunction(f"{self.name}'", _Slope(self), None, self.kinks)

    def _coefficients(self, order: int) -> Array:
        # c_k = E[e^{rX} h_k(X) 1{X < 0}]: by parts,
        # sqrt(k + 1) c_{k+1} = r c_k - h_k(0) phi(0); errors shrink on the way up.
        r = math.sqrt(self.var)
        at_zero = _hermite._rows(
            order, np.array(0.0), np.array(float(gaussian.pdf(0.0)))
        )
        out = np.zeros(order + 1)
        c = math.exp(0.5 * r * r) * float(gaussian.cdf(-r))
        out[0] = r * at_zero[0] + self.alpha * (c - 0.5)
        if order:
            # Of e^{rX} - 1 below zero only r c_{k-1} / sqrt(k) is left.
            out[1] = 0.5 * r + self.alpha * r * c
        for k in range(2, order + 1):
            c = (r * c - at_zero[k - 2]) / math.sqrt(k - 1)
            ramp = r * at_zero[k - 2] / math.sqrt(k * (k - 1))
            out[k] = ramp + self.alpha * r * c / math.sqrt(k)
        return self.scale * out


@dataclass(frozen=True)
class _Slope:
    unit: ExponentialUnit

    def __call__(self, x: Array) -> Array:
        r = math.sqrt(self.unit.var)
        below = self.unit.alpha * np.exp(np.minimum(r * x, 0.0))
        return self.unit.scale * r * np.where(x > 0.0, 1.0, below)
