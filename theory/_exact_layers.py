"""What is known of layers as maps of correlations without a table."""

import math
from dataclasses import dataclass

import numpy as np

from theory import _one_layer
from theory._bends import bend
from theory.activations import Activation

Steps = tuple[tuple[Activation, int], ...]
"""Layers in order: an activation and how many equal layers of it follow."""


LEAST = 5e-324
"""The smallest number above zero."""


@dataclass(frozen=True)
class Exact:
    """Exact values of M layers, known without a table.

    Attributes
    ----------
    steps : tuple of (Activation, int)
    parity : int
        -1 for an odd map, +1 for an even one, 0 for neither.
    centred : bool
        Whether every layer has mean zero.
    decay : float
        ``log(f / rho)`` at rho = 0, of the product of the shares ``a_1^2 / E s^2``: shares
        next to one, rounded, would lose digits with depth.
    growth : float
        ``log(D_1 ... D_M)``, D_l the slope at rho = 1; infinite without tangent kernel.
    total : float
        ``log(1 + D_M + D_M D_{M-1} + ...)``, M terms: the diagonal of the tangent kernel
        that the layers generate.
    """

    steps: Steps
    parity: int
    centred: bool
    decay: float
    growth: float
    total: float

    @classmethod
    def of_layer(cls, activation: Activation) -> "Exact":
        """Return the exact values of one layer."""
        parity = _one_layer.parity_of(activation)
        bent = bend(activation, both=not parity)
        return cls(
            steps=((activation, 1),),
            parity=parity,
            # An odd function's mean is zero, whatever rounding has left of it.
            centred=parity == -1 or activation.mean == 0.0,
            decay=bent.decay if bent else _one_layer.decay(activation),
            growth=bent.growth if bent else growth_of(activation),
            total=0.0,
        )

    def then(self, later: "Exact") -> "Exact":
        """Return the exact values of these layers followed by `later`."""
        return Exact(
            steps=_joined(self.steps, later.steps),
            parity=later.parity if self.parity == -1 else self.parity,
            centred=self.centred and later.centred,
            decay=self.decay + later.decay,
            growth=self.growth + later.growth,
            total=shares(self.total, later.growth, later.total)[0],
        )


def _joined(first: Steps, later: Steps) -> Steps:
    """Chain steps without equal neighbours."""
    (last, count), (start, more) = first[-1], later[0]
    if last != start:
        return first + later
    return (*first[:-1], (last, count + more), *later[1:])


def growth_of(activation: Activation) -> float:
    """Logarithm of the slope at one, infinite where there is no tangent kernel."""
    slope = activation.derivative_second_moment / activation.second_moment
    # Of an even function at tiny lengths it leaves float64: next to one it is nothing.
    return math.log(max(slope, LEAST)) if slope < math.inf else math.inf


def shares(before: float, growth: float, total: float) -> tuple[float, float, float]:
    """Return a new log diagonal, and the shares of what came before and of the layers.

    A tangent kernel of log diagonal `before` enters layers: it leaves multiplied by
    their slopes, and what they generate themselves, of log diagonal `total`, is added.
    """
    if not math.isfinite(growth):
        return math.inf, 0.0, 0.0
    carried = growth + before
    whole = float(np.logaddexp(carried, total))
    return whole, math.exp(carried - whole), math.exp(total - whole)
