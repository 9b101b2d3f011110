"""The arms: what stands between two weight layers, and how weights are drawn."""

import math
from dataclasses import dataclass
from typing import Literal

import torch

from empirical.activations import NormReLU
from empirical.networks import FullyConnected, Norm, Params
from empirical.networks.plan import Activation

KINK = -1.5907658564412686
"""Of NormReLU with SELU's slope, which the paper takes."""


@dataclass(frozen=True, kw_only=True)
class Arm:
    """What stands between two weight layers.

    Attributes
    ----------
    activation : str or callable
    gain : float
        Weights have variance gain/fan_in.
    norm : {"batch", "layer"}, optional
        Ahead of every activation.
    """

    activation: Activation
    gain: float
    norm: Literal["batch", "layer"] | None = None

    def network(self, *, inputs: int, width: int, depth: int) -> FullyConnected:
        """Return the classifier of ten classes with `depth` hidden layers.

        Raises
        ------
        ValueError
            If a size is not positive.
        """
        norm = None if self.norm is None else Norm(over=self.norm)
        return FullyConnected.uniform(
            inputs=inputs,
            width=width,
            depth=depth,
            outputs=10,
            activation=self.activation,
            norm=norm,
            parametrisation="standard",
        )

    def init(
        self, network: FullyConnected, generators: list[torch.Generator]
    ) -> Params:
        """Draw a network for each generator, float32."""
        params = network.init("unit", generator=generators, dtype=torch.float32)
        last = len(network.plan) - 1
        for index, own in enumerate(network.grouped(params)):
            fan_in = own["weight"].shape[2]
            own["weight"].mul_(
                math.sqrt((1.0 if index == last else self.gain) / fan_in)
            )
        return network.arranged(params)


ARMS: dict[str, Arm] = {
    "normrelu": Arm(activation=NormReLU(KINK), gain=1.0),
    "selu": Arm(activation="selu", gain=1.0),
    "relu": Arm(activation="relu", gain=2.0),
    "batch": Arm(activation="relu", gain=2.0, norm="batch"),
    "layer": Arm(activation="relu", gain=2.0, norm="layer"),
}
