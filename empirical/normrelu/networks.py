"""The arms: what stands between two weight layers, and how weights are drawn."""

import math
from dataclasses import dataclass, replace

import torch

from empirical.activations import NormReLU
from empirical.checks import check_choice
from empirical.networks import FullyConnected, Network, Norm, Params, ResNet
from empirical.networks.plan import Activation
from empirical.normrelu.experiments import KINK


@dataclass(frozen=True, kw_only=True)
class Arm:
    """Activation and normalisation between two weight layers.

    Attributes
    ----------
    activation : str or callable
    gain : float
        Weights have variance gain/fan_in.
    norm : Norm, optional
        Ahead of every activation.
    fixup : bool
        Of residual networks: Fixup's start, numbers and readout in the place of a norm.
    """

    activation: Activation
    gain: float
    norm: Norm | None = None
    fixup: bool = False

    def residual(self, *, shape: tuple[int, ...], width: int, depth: int) -> ResNet:
        """Return the residual classifier of ten classes with 6n + 2 = `depth` layers."""
        channels, height, breadth = shape
        return ResNet(
            shape=(channels, height, breadth),
            widths=(width, 2 * width, 4 * width),
            blocks=(depth - 2) // 6,
            activation=self.activation,
            norm=self.norm,
            fixup=self.fixup,
        )

    def network(self, *, inputs: int, width: int, depth: int) -> FullyConnected:
        """Return the classifier of ten classes with `depth` hidden layers."""
        return FullyConnected.uniform(
            inputs=inputs,
            width=width,
            depth=depth,
            outputs=10,
            activation=self.activation,
            norm=self.norm,
            parametrisation="standard",
        )

    def init(
        self, network: Network, generators: list[torch.Generator], start: str = "arm"
    ) -> Params:
        """Draw a network for each generator, float32, with the `start` of a `Recipe`.

        The last convolution of each of B blocks is drawn at B^(-1/2) of its size where
        nothing normalises: blocks add up, and lengths grow no more than e-fold.
        """
        if self.fixup:
            return network.init(generator=generators, dtype=torch.float32)
        params = network.init("unit", generator=generators, dtype=torch.float32)
        last = len(network.plan) - 1
        blocks = sum(layer.skip > 0 for layer in network.plan)
        each = zip(network.plan, network.grouped(params), strict=True)
        for index, (layer, own) in enumerate(each):
            _, fan_out, fan_in, *spots = own["weight"].shape
            gain = {"arm": self.gain, "he": 2.0}.get(start, 1.0)
            fan = 0.5 * (fan_in + fan_out) if start == "glorot" else fan_in
            if index == last:
                gain = 1.0
            if layer.skip and self.norm is None:
                gain /= blocks
            own["weight"].mul_(math.sqrt(gain / (fan * math.prod(spots))))
        return network.arranged(params)


ARMS: dict[str, Arm] = {
    "normrelu": Arm(activation=NormReLU(KINK), gain=1.0),
    "selu": Arm(activation="selu", gain=1.0),
    "relu": Arm(activation="relu", gain=2.0),
    "batch": Arm(activation="relu", gain=2.0, norm=Norm(over="batch")),
    "layer": Arm(activation="relu", gain=2.0, norm=Norm(over="layer")),
    "tanh": Arm(activation="tanh", gain=1.0),
    "fixup": Arm(activation="relu", gain=2.0, fixup=True),
}


def arm_of(name: str, kink: float = KINK) -> Arm:
    """Return an arm by its name; NormReLU's with its kink there.

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    check_choice("arm_of", "name", name, ARMS)
    arm = ARMS[name]
    return replace(arm, activation=NormReLU(kink)) if name == "normrelu" else arm
