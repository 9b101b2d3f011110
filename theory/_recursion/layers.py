"""The layers of a network, as kernels see them."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from theory import _checks
from theory.activations import Activation
from theory.activations.function import WIDEST

LEAST = 1e-100
"""Smallest variance of weights: that of several layers is within float64."""


@dataclass(frozen=True)
class Layer:
    r"""An activation and the weights that read it.

    .. math:: \Sigma' = c^2 \Sigma + \sigma_w^2\, E[s(u) s(v)] + \sigma_b^2,
       \qquad (u, v) \sim N(0, \Sigma)

    Attributes
    ----------
    activation : Activation
        s.
    weight_var, bias_var : float
        sigma_w^2, positive, and sigma_b^2, at least 0, of the weights after s.
    skip : float
        c: the share of the input that a residual connection carries past the branch.
    """

    activation: Activation
    weight_var: float = 1.0
    bias_var: float = 0.0
    skip: float = 0.0

    def __post_init__(self) -> None:
        _checks.instance("Layer", "activation", self.activation, Activation)
        for name in ("weight_var", "bias_var", "skip"):
            value = getattr(self, name)
            positive = name == "weight_var"
            number = _variance("Layer", name, value, positive=positive)
            object.__setattr__(self, name, number)

    @property
    def plain(self) -> bool:
        """Whether the layer is its activation alone."""
        return (self.weight_var, self.bias_var, self.skip) == (1.0, 0.0, 0.0)


def _variance(who: str, name: str, value: Any, *, positive: bool = False) -> float:
    """Return a number that is at least 0, or `LEAST`, and at most `WIDEST`."""
    return _checks.number(who, name, value, LEAST if positive else 0.0, WIDEST)


Network = Activation | Layer | Sequence[Activation | Layer]
"""One activation for all layers, or one for each, from the input up."""


@dataclass(frozen=True)
class Layers:
    """A network that was checked.

    Attributes
    ----------
    runs : tuple of (Layer, int)
        From the inputs up: a layer and how many equal ones there are.
    weight_var, bias_var : float
        Of the weights that read the inputs.
    """

    runs: tuple[tuple[Layer, int], ...]
    weight_var: float
    bias_var: float

    @classmethod
    def read(
        cls,
        who: str,
        activation: Network,
        depth: Any,
        weight_var: Any,
        bias_var: Any,
        *,
        tangent: bool,
    ) -> "Layers":
        """Return a network of one activation or of one for each layer.

        Raises
        ------
        ValueError
            If `activation` is neither an Activation nor layers of them; if `depth` is
            missing, or is not the number of layers given; if an activation is constant;
            if `tangent` and a derivative is not square integrable.
        """
        w = _variance(who, "weight_var", weight_var, positive=True)
        b = _variance(who, "bias_var", bias_var)
        given, count = _given(who, activation, depth)
        each = [a if isinstance(a, Layer) else Layer(a, w, b) for a in given]
        runs = tuple(
            (a, count * len(list(same))) for a, same in itertools.groupby(each)
        )
        for layer, _ in runs:
            a = layer.activation
            if a.variance == 0.0:
                raise ValueError(
                    f"{who}: `activation` must not be constant, got {a.name}."
                )
            if tangent and not math.isfinite(a.derivative_second_moment):
                raise ValueError(
                    f"{who}: `activation` must have a square-integrable derivative, got"
                    f" {a.name}."
                )
        return cls(runs, w, b)

    @property
    def each(self) -> tuple[Layer, ...]:
        """Layer by layer, from the inputs up."""
        return tuple(layer for layer, count in self.runs for _ in range(count))

    @property
    def depth(self) -> int:
        """How many hidden layers there are."""
        return sum(count for _, count in self.runs)

    @property
    def residual(self) -> bool:
        """Whether a connection passes a layer."""
        return any(layer.skip for layer, _ in self.runs)


def _given(
    who: str, activation: Network, depth: Any
) -> tuple[list[Activation | Layer], int]:
    """Return the layers named, and how often they are repeated."""
    if isinstance(activation, (Activation, Layer)):
        if depth is None:
            raise ValueError(
                f"{who}: `depth` must be given with one activation for all layers."
            )
        return [activation], _checks.integer(who, "depth", depth, 1)
    listed = isinstance(activation, (list, tuple))
    entries: list[object] = list(activation) if listed else []
    given = [a for a in entries if isinstance(a, (Activation, Layer))]
    if not given or len(given) < len(entries):
        need = "be a theory Activation or a list of them, one for each layer"
        odd = [a for a in entries if not isinstance(a, (Activation, Layer))]
        hint = _checks.of_activation(odd[0] if odd else activation)
        raise _checks.refuse(who, "activation", need, activation, hint)
    if depth is not None and _checks.integer(who, "depth", depth, 1) != len(given):
        raise ValueError(
            f"{who}: `depth` must be the number of layers in `activation`,"
            f" {len(given)}, got {depth}."
        )
    return given, 1
