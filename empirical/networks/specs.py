"""Fully connected, convolutional and residual networks."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Self

from empirical.checks import check_choice, check_counts
from empirical.networks.initial import UNIT
from empirical.networks.network import Network
from empirical.networks.plan import (
    Activation,
    Elementwise,
    Layer,
    checked_image,
    checked_sizes,
)

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from empirical.testbed.modules import Params


@dataclass(frozen=True, kw_only=True)
class FullyConnected(Network):
    r"""Specification of a fully connected network.

    .. math::
        h_0 = x, \qquad z_l = W_l h_{l-1} + b_l, \qquad
        h_l = \sigma(\nu(z_l))/\sqrt{m_l}, \qquad f(x) = W_{L+1} h_L + b_{L+1},

    with :math:`\nu` the normalisation, if any. In the NTK parametrisation weights are
    drawn unit normal (inputs of unit norm are meant); in the standard one nothing is
    divided by :math:`\sqrt{m_l}`.

    Parameters
    ----------
    widths : tuple of int
        Input dimension, the hidden widths, number of outputs.
    activation : str or callable, or a tuple of them
        One for all hidden layers, or one each.
    parametrisation : {"ntk", "standard"}
    image : tuple of int, optional
        Channels, height and width of the images that it takes; outputs of that size are
        images too.
    bias, norm, weighting
        See `Network`.

    References
    ----------
    Agarwal, Awasthi, Kale 2020, equation 1 (there with one output).

    Examples
    --------
    The features of unit inputs concentrate around the second moment of the activation:

    >>> import torch
    >>> from empirical.randomness import torch_generator
    >>> network = FullyConnected(widths=(3, 4096, 1), activation=torch.sign)
    >>> params = network.init(replicates=2, generator=torch_generator(7))
    >>> x = torch.eye(3, dtype=torch.float64)
    >>> network.apply(params, x).shape
    torch.Size([2, 3, 1])
    >>> features = network.features(params, x)[-1]
    >>> bool((features.square().sum(dim=-1) - 1.0).abs().max() < 1e-12)
    True
    """

    kind: Literal["fully connected"] = field(default="fully connected", init=False)
    widths: tuple[int, ...]
    activation: Activation | tuple[Activation, ...] = "relu"
    parametrisation: Literal["ntk", "standard"] = "ntk"
    image: tuple[int, int, int] | None = None

    def __post_init__(self) -> None:
        widths = checked_sizes("FullyConnected", "widths", self.widths)
        object.__setattr__(self, "widths", widths)
        if len(self.widths) < 2:
            raise ValueError(
                "FullyConnected: `widths` must name at least the input and the output, "
                f"but it is {self.widths}"
            )
        if isinstance(self.activation, tuple) and len(self.activation) != self.depth:
            raise ValueError(
                "FullyConnected: `activation` must be one callable or one for each of "
                f"the {self.depth} hidden layers, but it has {len(self.activation)}"
            )
        who, known = "FullyConnected", ("ntk", "standard")
        check_choice(who, "parametrisation", self.parametrisation, known)
        if self.image is not None:
            image = checked_image(who, "image", self.image)
            object.__setattr__(self, "image", image)
            if math.prod(image) != self.widths[0]:
                raise ValueError(
                    f"FullyConnected: `image` must have the {self.widths[0]} numbers of "
                    f"an input, but it is {image}"
                )
        super().__post_init__()

    @classmethod
    def uniform(
        cls, *, inputs: int, width: int, depth: int, outputs: int = 1, **more: Any
    ) -> Self:
        """Return the network of `depth` hidden layers that share one width.

        Examples
        --------
        >>> FullyConnected.uniform(inputs=2, width=8, depth=3).widths
        (2, 8, 8, 8, 1)
        """
        check_counts("FullyConnected.uniform", 0, depth=depth)
        return cls(widths=(inputs, *[width] * depth, outputs), **more)

    @property
    def depth(self) -> int:
        """Number of hidden layers, L."""
        return len(self.widths) - 2

    @property
    def scheme(self) -> str:
        """See `Network.scheme`."""
        return UNIT if self.parametrisation == "ntk" else "framework"

    @property
    def input_shape(self) -> tuple[int, ...]:
        """See `Network.input_shape`."""
        return self.image or self.widths[:1]

    @property
    def out_shape(self) -> tuple[int, ...] | None:
        """See `Network.out_shape`."""
        return self.image if self.widths[-1] == self.widths[0] else None

    def built(self) -> tuple[Layer, ...]:
        """See `Network.plan`."""
        ntk, given = self.parametrisation == "ntk", self.activation
        each = given if isinstance(given, tuple) else (given,) * self.depth
        *hidden, last = pairwise(self.widths)
        layers = [
            self.hidden((out, fan), act, divisor=math.sqrt(out) if ntk else 1.0)
            for (fan, out), act in zip(hidden, each, strict=True)
        ]
        return (*layers, self.readout(last[::-1]))

    def activations(self) -> tuple[Elementwise, ...]:
        """Return the activation of each hidden layer, as a callable."""
        from empirical.networks.layers import function

        return tuple(function(layer) for layer in self.plan[:-1])

    def check_plain(self, who: str) -> None:
        """Raise ValueError where there is more to it than weights drawn unit normal."""
        if self.parametrisation != "ntk" or any(
            set(layer.shapes) != {"weight"} or layer.norm for layer in self.plan
        ):
            raise ValueError(
                f"{who}: `network` must be in the NTK parametrisation, without biases and"
                f" normalisation, but it is {self}"
            )

    def features(self, params: "Params", x: "Tensor") -> "Params":
        """Return h_0, ..., h_L; h_0 is `x`, h_l has shape (replicates, n, m_l)."""
        self.check(params, x)
        return (x, *self.run(params, x).hidden)

    def stream_features(
        self, x: "Tensor", *, generator: "torch.Generator", project: bool = False
    ) -> "Iterator[Tensor]":
        """Yield h_1, ..., h_L of one replicate, holding one weight matrix at a time.

        The numbers are those of ``features(init(generator=generator), x)``, which makes
        depth 100 at width 16,384 fit. With `project` every row is scaled to unit norm
        before it is yielded and enters the next layer (Agarwal, Awasthi, Kale 2020,
        equation 3).

        Raises
        ------
        ValueError
            As `check_plain`: weights are all that is drawn, unit normal.
        """
        self.check_plain("stream_features")
        h = x
        for layer, function in zip(self.plan, self.activations(), strict=False):
            weight = x.new_empty(layer.weight, device=generator.device)
            weight.normal_(generator=generator)
            h = function(h @ weight.to(x.device).T) / layer.divisor
            if project:
                h = h / h.norm(dim=-1, keepdim=True)
            yield h


class _Shaped(Network):
    """What takes inputs of its own shape."""

    shape: tuple[int, ...]

    @property
    def input_shape(self) -> tuple[int, ...]:
        """See `Network.input_shape`."""
        return self.shape


@dataclass(frozen=True, kw_only=True)
class Convolutional(_Shaped):
    r"""Specification of a convolutional network.

    Square kernels of odd edge and zero padding of half of it; from images to images, or
    with a linear readout of everything that is left.

    Parameters
    ----------
    shape : tuple of int
        Channels, height, width of an image. Without a readout images of every height and
        width are taken; `shape` then says what the network is trained on.
    widths : tuple of int
        Channels of the hidden layers.
    outputs : int, optional
        Of the readout. Without one the last layer is a convolution to the image's own
        channels.
    kernel, stride : int
    activation, bias, norm, weighting
        See `Network`.

    Examples
    --------
    >>> from empirical.randomness import torch_generator
    >>> net = Convolutional(shape=(1, 28, 28), widths=(128,) * 4, kernel=5)
    >>> net.parameters
    1235200
    >>> params = net.init(generator=torch_generator(7), replicates=2)
    >>> net.apply(params, params[0].new_zeros(3, 1, 9, 11)).shape
    torch.Size([2, 3, 1, 9, 11])
    >>> Convolutional(shape=(1, 8, 8), widths=(4, 6), outputs=1, stride=2).weight_shapes
    ((4, 1, 3, 3), (6, 4, 3, 3), (1, 24))
    """

    kind: Literal["convolutional"] = field(default="convolutional", init=False)
    shape: tuple[int, int, int]
    widths: tuple[int, ...] = ()
    outputs: int | None = None
    kernel: int = 3
    stride: int = 1
    activation: Activation = "relu"

    def __post_init__(self) -> None:
        who = "Convolutional"
        object.__setattr__(self, "shape", checked_image(who, "shape", self.shape))
        object.__setattr__(self, "widths", checked_sizes(who, "widths", self.widths))
        check_counts(who, outputs=self.outputs, kernel=self.kernel, stride=self.stride)
        if self.kernel % 2 == 0:
            raise ValueError(
                "Convolutional: `kernel` must be odd, so that it has a centre, but it is "
                f"{self.kernel}"
            )
        super().__post_init__()

    def built(self) -> tuple[Layer, ...]:
        """See `Network.plan`."""
        units, taps = (self.shape[0], *self.widths), (self.kernel, self.kernel)
        hidden = [
            self.hidden((out, fan, *taps), self.activation, stride=self.stride)
            for fan, out in pairwise(units)
        ]
        if self.outputs is None:
            weight = (self.shape[0], units[-1], *taps)
            return (*hidden, self.readout(weight, stride=self.stride))
        edges = self.shape[1:]
        for _ in self.widths:
            edges = tuple((edge - 1) // self.stride + 1 for edge in edges)
        return (*hidden, self.readout((self.outputs, units[-1] * math.prod(edges))))


@dataclass(frozen=True, kw_only=True)
class Residual(_Shaped):
    r"""Specification of a fully connected network of residual blocks.

    .. math:: h \mapsto h + \sigma(W_{2b} \sigma(W_{2b-1} h)),

    without the outer :math:`\sigma` in the last block.

    Parameters
    ----------
    shape : tuple of int
        Of an input, and of an output: (d,), or channels, height and width of an image.
    blocks : int
    activation, bias, norm, weighting
        See `Network`.

    Examples
    --------
    >>> Residual(shape=(1, 2, 3), blocks=2).weight_shapes
    ((6, 6), (6, 6), (6, 6), (6, 6))
    """

    kind: Literal["residual"] = field(default="residual", init=False)
    shape: tuple[int, ...]
    blocks: int
    activation: Activation = "relu"

    def __post_init__(self) -> None:
        shape = checked_sizes("Residual", "shape", self.shape)
        object.__setattr__(self, "shape", shape)
        check_counts("Residual", blocks=self.blocks)
        if len(self.shape) not in (1, 3):
            raise ValueError(
                "Residual: `shape` must be (d,), or channels, height and width, but it is "
                f"{self.shape}"
            )
        super().__post_init__()

    @property
    def out_shape(self) -> tuple[int, ...]:
        """See `Network.out_shape`."""
        return self.shape

    def built(self) -> tuple[Layer, ...]:
        """See `Network.plan`."""
        square = (math.prod(self.shape),) * 2
        inner = self.hidden(square, self.activation)
        outer = self.hidden(square, self.activation, skip=2)
        blocks = (inner, outer) * (self.blocks - 1)
        return (*blocks, inner, self.readout(square, skip=2))


@dataclass(frozen=True, kw_only=True)
class ResNet(_Shaped):
    r"""Specification of a residual convolutional classifier of small images.

    A convolution, then stages of blocks :math:`h \mapsto \sigma(Sh + \nu(W_2 * \sigma(\nu(
    W_1 * h))))`, kernels of 3; each further stage halves the edges, where S leaves spots
    out and adds channels of zeros; then the mean over spots, and a linear readout. With n
    blocks in each of three stages it has 6n + 2 layers.

    Parameters
    ----------
    shape : tuple of int
        Channels, height, width of an image.
    widths : tuple of int
        Channels of each stage, increasing.
    blocks : int
        Of each stage.
    outputs : int
    fixup : bool
        In the place of normalisation (Fixup): blocks :math:`h \mapsto \sigma(Sh + a\,
        W_2 * (\sigma(W_1 * (h + b_1) + b_2) + b_3) + b_4)` with learnt numbers
        :math:`a, b_i`, a b behind the first convolution and ahead of the readout, which
        has biases. With B blocks in all, W_1 starts at :math:`B^{-1/2}` of its
        usual size, W_2 and the readout at 0: at the start blocks are :math:`\sigma(Sh)`.
    activation, bias, norm, weighting
        See `Network`.

    References
    ----------
    He, Zhang, Ren, Sun 2016, section 4.2, with shortcuts of kind A. Zhang, Dauphin, Ma
    2019, *Fixup Initialization*, section 3 (their program's shortcuts see h + b_1).

    Examples
    --------
    >>> from empirical.networks import Norm
    >>> net = ResNet(blocks=3, norm=Norm(over="batch"))
    >>> net.layers, net.parameters
    (20, 269712)
    """

    kind: Literal["resnet"] = field(default="resnet", init=False)
    shape: tuple[int, int, int] = (3, 32, 32)
    widths: tuple[int, ...] = (16, 32, 64)
    blocks: int
    outputs: int = 10
    fixup: bool = False
    activation: Activation = "relu"

    def __post_init__(self) -> None:
        who = "ResNet"
        object.__setattr__(self, "shape", checked_image(who, "shape", self.shape))
        object.__setattr__(self, "widths", checked_sizes(who, "widths", self.widths))
        check_counts(who, blocks=self.blocks, outputs=self.outputs)
        if not self.widths or list(self.widths) != sorted(self.widths):
            raise ValueError(
                "ResNet: `widths` must be at least one, and not fall, but they are "
                f"{self.widths}"
            )
        if self.fixup and (self.norm or self.weighting or self.bias):
            raise ValueError(
                "ResNet: `fixup` must come without `norm`, `weighting` and `bias`, whose "
                f"place it takes, but there are {self.norm}, {self.weighting}, {self.bias}"
            )
        super().__post_init__()

    @property
    def scheme(self) -> str:
        """See `Network.scheme`."""
        return "kaiming-normal" if self.fixup else "framework"

    def built(self) -> tuple[Layer, ...]:
        """See `Network.plan`."""
        act, below = self.activation, self.widths[0]
        first, inner, outer, last = {}, {}, {}, {}
        if self.fixup:
            size = (self.blocks * len(self.widths)) ** -0.5
            first = {"numbers": ("behind",)}
            inner = {"numbers": ("ahead", "behind"), "start": size}
            outer = {"numbers": ("ahead", "factor", "behind"), "start": 0.0}
            last = {"numbers": ("ahead",), "start": 0.0}
        made = [self.hidden((below, self.shape[0], 3, 3), act, **first)]
        for width in self.widths:
            for block in range(self.blocks):
                stride = 2 if len(made) > 1 and block == 0 else 1
                made += [
                    self.hidden((width, below, 3, 3), act, stride=stride, **inner),
                    self.hidden((width, width, 3, 3), act, skip=2, early=True, **outer),
                ]
                below = width
        readout = self.readout((self.outputs, below), pooled=True, **last)
        return (*made, replace(readout, bias=self.fixup or self.bias))
