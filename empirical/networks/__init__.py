"""Specifications of networks; parameters live outside them, replicates in front.

A specification is a frozen value: `FullyConnected`, `Convolutional`, `Residual` or
`ResNet`, with or without biases, normalised over batches, layers (`Norm`) or weights,
with any activation. One axis order everywhere: replicates, examples, then units, or
channels, height, width. Parameters are what `testbed.stack.Stack` holds.
"""

from typing import TYPE_CHECKING

from empirical._lazily import names_of

if TYPE_CHECKING:
    from empirical.networks.convolution import convolve
    from empirical.networks.layers import ACTIVATIONS, Signals, derivative, joined
    from empirical.networks.network import Network
    from empirical.networks.plan import Activation, Elementwise, Layer, Norm
    from empirical.networks.specs import Convolutional, FullyConnected, Residual, ResNet
    from empirical.testbed.modules import Params

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "Convolutional",
    "Elementwise",
    "FullyConnected",
    "Layer",
    "Network",
    "Norm",
    "Params",
    "ResNet",
    "Residual",
    "Signals",
    "convolve",
    "derivative",
    "joined",
]

__getattr__ = names_of(__name__, "specs", "plan", "network", "layers", "convolution")
