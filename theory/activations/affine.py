"""Activations that are scaled and shifted, above all normalised ones."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._cached import cached_property
from theory.activations.base import Activation
from theory.activations.function import ODD

Array = npt.NDArray[np.float64]

LARGEST = 1e154


@dataclass(frozen=True, repr=False)
class Affine(Activation):
    """scale * base + shift, with numbers of at most 1e154: squares are within float64."""

    base: Activation
    scale: float
    shift: float
    is_normalized: bool = False

    def __post_init__(self) -> None:
        _checks.instance("Affine", "base", self.base, Activation)
        _checks.number("Affine", "scale", self.scale, -LARGEST, LARGEST)
        _checks.number("Affine", "shift", self.shift, -LARGEST, LARGEST)
        _checks.flag("Affine", "is_normalized", self.is_normalized)

    def __repr__(self) -> str:
        """Return what makes it of the base: a call or a product and a sum."""
        if self.is_normalized and self == self.base.normalized():
            return f"{self.base!r}.normalized()"
        if self.is_normalized or isinstance(self.base, Affine):
            return super().__repr__()
        less, rest = ("-", -self.shift) if self.shift < 0.0 else ("+", self.shift)
        return f"{self.scale!r} * {self.base!r}" + (f" {less} {rest!r}" if rest else "")

    def _affine(self, scale: float, shift: float) -> "Affine":
        return Affine(self.base, scale * self.scale, scale * self.shift + shift)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The base's name, marked when normalised."""
        return f"normalized {self.base.name}" if self.is_normalized else self.base.name

    @property
    def kinks(self) -> tuple[float, ...]:  # type: ignore[override]
        """Those of the base."""
        return self.base.kinks

    @property
    def parity(self) -> int | None:  # type: ignore[override]
        """That of the base; a shifted odd function has none."""
        return None if self.shift and self.base.parity == ODD else self.base.parity

    @property
    def degree(self) -> int | None:  # type: ignore[override]
        """That of the base."""
        return self.base.degree

    def _value(self, x: Array) -> Array:
        return self.scale * self.base._value(x) + self.shift

    def _anywhere(self, x: Array) -> Array:
        return self.scale * self.base._anywhere(x) + self.shift

    def _edges(self, reach: float) -> Array:
        return self.base._edges(reach)

    def _rise(self, x: Array) -> tuple[Array, float]:
        rise, c = self.base._rise(x)
        return self.scale * rise, self.scale * c + self.shift

    def _parts(self) -> tuple[Activation, float, float]:
        base, scale, _ = self.base._parts()
        return base, self.scale * scale, self.mean

    def _scaled(self, var: float) -> "Affine":
        return Affine(self.base._scaled(var), self.scale, self.shift)

    @property
    def _widest(self) -> float:
        return self.base._widest

    def _require_slope(self, var: float) -> None:
        self.base._require_slope(var)

    @property
    def derivative(self) -> Activation:
        """The base's derivative times the scale."""
        return Affine(self.base.derivative, self.scale, 0.0)

    def _coefficients(self, order: int) -> Array:
        out = self.scale * self.base._coefficients(order)
        out[0] = 0.0 if self.is_normalized else out[0] + self.shift
        return out

    @cached_property
    def variance(self) -> float:
        """E s(Z)^2 - (E s(Z))^2: the base's."""
        return 1.0 if self.is_normalized else self.scale**2 * self.base.variance

    @cached_property
    def second_moment(self) -> float:
        """E s(Z)^2, of positive terms; infinite beyond float64."""
        if self.is_normalized or math.isinf(self.variance):
            return self.variance
        return self.variance + (self.scale * self.base.mean + self.shift) ** 2

    @cached_property
    def _rest(self) -> float:
        return self.scale**2 * self.base._rest

    @property
    def _linear(self) -> float:
        return self.base._linear

    @property
    def _has_slope(self) -> bool:
        return self.base._has_slope

    def _closed_slopes(self, q: Array) -> tuple[Array, Array] | None:
        known = self.base._closed_slopes(q)
        if known is None:
            return None
        mean = self.scale * known[0]
        return mean, self.scale**2 * known[1] + 2.0 * self.shift * mean

    @cached_property
    def derivative_second_moment(self) -> float:
        """D = E s'(Z)^2."""
        return self.scale**2 * self.base.derivative_second_moment


def split(activation: Activation) -> tuple[Activation, float, float]:
    """Return b, c and h of c b(x) + h."""
    if not isinstance(activation, Affine):
        return activation, 1.0, 0.0
    base, scale, shift = split(activation.base)
    return base, activation.scale * scale, activation.scale * shift + activation.shift
