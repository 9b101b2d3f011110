"""The paper's networks by kind: images to images of the same shape."""

import math
from typing import Literal

from empirical.checks import check_choice, check_counts
from empirical.networks import Convolutional, FullyConnected, Network, Residual

Copier = FullyConnected | Convolutional | Residual
Kind = Literal["fcn", "cnn", "residual"]
KINDS: tuple[Kind, ...] = ("fcn", "cnn", "residual")
ACTIVATIONS = ("relu", "linear")


def copier(
    kind: Kind,
    *,
    shape: tuple[int, int, int],
    layers: int,
    width: int | None = None,
    kernel: int = 5,
    activation: Literal["relu", "linear"] = "relu",
    bias: bool = False,
) -> Copier:
    """Return a fully connected or convolutional network, or one of residual blocks.

    Parameters
    ----------
    kind : {"fcn", "cnn", "residual"}
        Fully connected, convolutional, or of residual blocks.
    shape : tuple of int
        Channels, height, width of an image.
    layers : int
        Weight layers, L. Even for a residual network.
    width : int, optional
        Hidden units (fcn) or hidden channels (cnn). A residual network has the width of
        its images; a network of one layer has none.
    kernel : int
        Edge of the convolutions' kernels, odd; for a cnn.
    activation : {"relu", "linear"}
        Activation of the hidden layers.
    bias : bool
        Give every layer a bias. The paper's text has biases, its table of sizes does not
        count them. Without them the output of twice an image is twice its output.

    Raises
    ------
    ValueError
        If any of these does not fit.

    References
    ----------
    Zhang, Bengio, Hardt, Mozer, Singer 2020, section 3, appendix on residual networks.

    Examples
    --------
    >>> copier("fcn", shape=(1, 28, 28), layers=10, width=2048).parameters
    36765696
    """
    check_choice("copier", "kind", kind, KINDS)
    check_choice("copier", "activation", activation, ACTIVATIONS)
    check_counts("copier", layers=layers, width=width)
    residual, pixels = kind == "residual", math.prod(shape)
    if residual and layers % 2:
        raise ValueError(
            f"copier: `layers` must be even for a residual network, but it is {layers}"
        )
    if residual and width not in (None, pixels):
        raise ValueError(
            "copier: `width` of a residual network must be absent or its images' size "
            f"{pixels}, but it is {width}"
        )
    if layers > 1 and not residual and width is None:
        raise ValueError(
            "copier: `width` must be at least 1 for a network with hidden layers, but it "
            "is None"
        )
    if residual:
        return Residual(
            shape=shape, blocks=layers // 2, activation=activation, bias=bias
        )
    hidden = (width or 0,) * (layers - 1)
    if kind == "cnn":
        return Convolutional(
            shape=shape, widths=hidden, kernel=kernel, activation=activation, bias=bias
        )
    return FullyConnected(
        widths=(pixels, *hidden, pixels),
        activation=activation,
        parametrisation="standard",
        image=shape,
        bias=bias,
    )


def image_shape(network: Network) -> tuple[int, int, int]:
    """Return channels, height and width of the images that a network is trained on."""
    channels, height, width = network.input_shape
    return channels, height, width
