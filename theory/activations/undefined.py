"""The derivative of a function with a jump."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory._cached import cached_property
from theory.activations.base import Activation

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Undefined(Activation):
    """The derivative of a function with a jump: not square integrable."""

    name: str
    kinks: tuple[float, ...] = ()
    is_normalized: bool = False

    def _value(self, x: Array) -> Array:  # noqa: ARG002
        raise ValueError(f"{self.name}: a function with a jump has no derivative.")

    def _scaled(self, var: float) -> "Undefined":  # noqa: ARG002
        return self

    @property
    def derivative(self) -> Activation:
        """Itself."""
        return self

    def _coefficients(self, order: int) -> Array:  # noqa: ARG002
        return self._value(np.zeros(1))

    @cached_property
    def second_moment(self) -> float:
        """Infinite: a function with a jump has no derivative."""
        return math.inf
