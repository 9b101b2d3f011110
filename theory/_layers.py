"""The layers of a network, as kernels see them."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from theory import _checks
from theory.activations import Activation


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
        hint = "`from_function` makes one of a callable."
        _checks.instance("Layer", "activation", self.activation, Activation, hint)
        for name in ("weight_var", "bias_var", "skip"):
            value = getattr(self, name)
            number = _checks.scalar("Layer", name, value, positive=name == "weight_var")
            object.__setattr__(self, name, number)

    @property
    def plain(self) -> bool:
        """Whether the layer is its activation alone."""
        return (self.weight_var, self.bias_var, self.skip) == (1.0, 0.0, 0.0)


Network = Activation | Layer | Sequence[Activation | Layer]
"""One activation for all layers, or one for each, from the input up."""

Runs = tuple[tuple[Layer, int], ...]
"""Layers from the input up: a layer and how many equal ones follow."""


def runs(
    who: str,
    activation: Network,
    depth: Any,
    weight_var: Any,
    bias_var: Any,
) -> Runs:
    """Return a network's layers, of one activation or of one for each layer.

    Raises
    ------
    TypeError
        If `activation` is neither an Activation nor layers of them.
    ValueError
        If `depth` is missing, or is not the number of layers given.
    """
    w = _checks.scalar(who, "weight_var", weight_var, positive=True)
    b = _checks.scalar(who, "bias_var", bias_var)
    if isinstance(activation, (Activation, Layer)):
        if depth is None:
            raise ValueError(
                f"{who}: `depth` must be given with one activation for all layers."
            )
        count = _checks.integer(who, "depth", depth, 1)
        given = [activation]
    else:
        count = 1
        listed = isinstance(activation, (list, tuple))
        entries: list[object] = list(activation) if listed else []
        given = [a for a in entries if isinstance(a, (Activation, Layer))]
        if not given or len(given) < len(entries):
            raise TypeError(
                f"{who}: `activation` must be an Activation, as in `theory.activations`,"
                f" or a list of them, one for each layer, got {activation!r:.80}."
                " `from_function` makes one of a callable."
            )
        if depth is not None and _checks.integer(who, "depth", depth, 1) != len(given):
            raise ValueError(
                f"{who}: `depth` must be the number of layers in `activation`,"
                f" {len(given)}, got {depth}."
            )
    each = [a if isinstance(a, Layer) else Layer(a, w, b) for a in given]
    if count > 1:
        return ((each[0], count),)
    return tuple((a, len(list(same))) for a, same in itertools.groupby(each))
