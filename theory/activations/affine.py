"""Affine functions of an activation, above all its normalisation."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from theory.activations.base import Activation

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Affine(Activation):
    """scale * base + shift."""

    base: Activation
    scale: float
    shift: float
    is_normalized: bool = False

    @property
    def name(self) -> str:  # type: ignore[override]
        """The base's name, marked when normalised."""
        return f"normalized {self.base.name}" if self.is_normalized else self.base.name

    @property
    def kinks(self) -> tuple[float, ...]:  # type: ignore[override]
        """Those of the base."""
        return self.base.kinks

    def _value(self, x: Array) -> Array:
        return self.scale * self.base._value(x) + self.shift

    def scaled(self, var: float) -> "Affine":
        """Return x -> s(sqrt(var) x)."""
        return Affine(self.base.scaled(var), self.scale, self.shift)

    @property
    def derivative(self) -> Activation:
        """The base's derivative times the scale."""
        return Affine(self.base.derivative, self.scale, 0.0)

    def _coefficients(self, order: int) -> Array:
        out = self.scale * self.base._coefficients(order)
        out[0] = 0.0 if self.is_normalized else out[0] + self.shift
        return out

    @cached_property
    def _rest(self) -> float:
        return self.scale**2 * self.base._rest

    @property
    def _linear(self) -> float:
        return self.base._linear

    @cached_property
    def derivative_second_moment(self) -> float:
        """D = E s'(Z)^2."""
        return self.scale**2 * self.base.derivative_second_moment
