"""Specifications of networks; parameters live outside them, replicates in front.

A specification is a frozen value: `FullyConnected`, `Convolutional`, `Residual` or
`ResNet`, with or without biases, normalised over batches, layers (`Norm`) or weights,
with any activation. One axis order everywhere: replicates, examples, then units, or
channels, height, width. Parameters are what `testbed.stack.Stack` holds.
"""

from typing import TYPE_CHECKING

from empirical._lazily import names_of

if TYPE_CHECKING:
    from empirical.networks.layers import ACTIVATIONS as ACTIVATIONS
    from empirical.networks.layers import Signals as Signals
    from empirical.networks.layers import derivative as derivative
    from empirical.networks.layers import joined as joined
    from empirical.networks.network import Network as Network
    from empirical.networks.plan import Activation as Activation
    from empirical.networks.plan import Elementwise as Elementwise
    from empirical.networks.plan import Layer as Layer
    from empirical.networks.plan import Norm as Norm
    from empirical.networks.specs import Convolutional as Convolutional
    from empirical.networks.specs import FullyConnected as FullyConnected
    from empirical.networks.specs import Residual as Residual
    from empirical.networks.specs import ResNet as ResNet
    from empirical.testbed.modules import Params as Params

__getattr__ = names_of(__name__)
