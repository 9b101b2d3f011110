r"""The paper's networks: fully connected, residual, convolutional; images to images.

A network is a frozen specification; its weights live outside it, stacked along a
leading axis of draws, so that many networks run, and train, as one. No biases, no
factor besides the weights:

.. math::
    h_0 = x, \qquad h_l = \sigma(W_l h_{l-1}) \ (l < L), \qquad f(x) = W_L h_{L-1},

with W a matrix on the flattened image, or a convolution with an odd kernel K, stride 1
and zero padding (K - 1)/2. The residual network is made of blocks

.. math:: h \mapsto h + \sigma(W_{2b} \sigma(W_{2b-1} h)),

the outer :math:`\sigma` left out in the last one.

References
----------
Zhang, Bengio, Hardt, Mozer, Singer 2020, section 3 and appendix on residual networks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy.typing as npt
import torch
from torch import Tensor

from empirical.networks import initial
from empirical.networks.convolution import convolve

# Weights of layers 1..L: (draws, out, in) or (draws, out, in, K, K).
Params = tuple[Tensor, ...]

KINDS = ("fcn", "cnn", "residual")
ACTIVATIONS = ("relu", "linear")


@dataclass(frozen=True, kw_only=True)
class Network:
    r"""Specification of a network from images to images of the same shape.

    Parameters
    ----------
    kind : {"fcn", "cnn", "residual"}
        Fully connected, convolutional, or fully connected with residual blocks.
    shape : tuple of int
        Channels, height, width of an image. A convolutional network takes images of
        every height and width; `shape` then says what it is trained on.
    layers : int
        Weight layers, L. Even for a residual network.
    width : int, optional
        Hidden units (fcn) or hidden channels (cnn). A residual network has the width of
        its images; a network of one layer has none.
    kernel : int
        Edge of the convolutions' kernels, odd. Only a cnn looks at it.
    activation : {"relu", "linear"}

    Raises
    ------
    ValueError
        If any of these does not fit.

    Examples
    --------
    >>> net = Network(kind="cnn", shape=(1, 28, 28), layers=5, width=128)
    >>> net.parameters
    1235200
    >>> from empirical.randomness import torch_generator
    >>> params = net.init("framework", generator=torch_generator(7), draws=2)
    >>> net.apply(params, torch.zeros(3, 1, 9, 11, dtype=torch.float64)).shape
    torch.Size([2, 3, 1, 9, 11])
    """

    kind: Literal["fcn", "cnn", "residual"]
    shape: tuple[int, int, int]
    layers: int
    width: int | None = None
    kernel: int = 5
    activation: Literal["relu", "linear"] = "relu"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(int(n) for n in self.shape))
        self._check_names()
        if len(self.shape) != 3 or min(self.shape) < 1:
            raise ValueError(
                "Network: `shape` must be channels, height and width, each at least 1, "
                f"but it is {self.shape}"
            )
        if self.layers < 1 or (self.kind == "residual" and self.layers % 2):
            raise ValueError(
                "Network: `layers` must be at least 1, and even for a residual "
                f"network, but it is {self.layers}"
            )
        if self.kind == "residual" and self.width not in (None, self.pixels):
            raise ValueError(
                "Network: `width` of a residual network must be absent or its images' "
                f"size {self.pixels}, but it is {self.width}"
            )
        hidden = self.layers > 1 and self.kind != "residual"
        if hidden if self.width is None else self.width < 1:
            raise ValueError(
                "Network: `width` must be at least 1 for a network with hidden layers, "
                f"but it is {self.width}"
            )
        if self.kind == "cnn" and (self.kernel < 1 or self.kernel % 2 == 0):
            raise ValueError(
                "Network: `kernel` must be odd and at least 1, so that it has a "
                f"centre, but it is {self.kernel}"
            )

    @property
    def pixels(self) -> int:
        """Numbers in one image, d = C H W."""
        channels, height, width = self.shape
        return channels * height * width

    @property
    def units(self) -> tuple[int, ...]:
        """Units (fcn) or channels (cnn) of h_0, ..., h_L.

        Examples
        --------
        >>> Network(kind="fcn", shape=(1, 2, 3), layers=3, width=9).units
        (6, 9, 9, 6)
        """
        ends = self.shape[0] if self.kind == "cnn" else self.pixels
        inner = ends if self.kind == "residual" else self.width or 0
        return (ends, *[inner] * (self.layers - 1), ends)

    @property
    def weight_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shape of every layer's weight, without the draws."""
        taps = (self.kernel, self.kernel) if self.kind == "cnn" else ()
        return tuple(
            (fan_out, fan_in, *taps)
            for fan_in, fan_out in zip(self.units, self.units[1:], strict=False)
        )

    @property
    def parameters(self) -> int:
        """Number of weights of one draw.

        Examples
        --------
        >>> Network(kind="fcn", shape=(1, 28, 28), layers=10, width=2048).parameters
        36765696
        """
        return sum(torch.Size(shape).numel() for shape in self.weight_shapes)

    def init(
        self,
        scheme: str = "framework",
        *,
        generator: torch.Generator,
        draws: int = 1,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str | None = None,
    ) -> Params:
        """Draw weights.

        Draws are filled one network after another, so that `draws` at once or one at a
        time are the same numbers.

        Parameters
        ----------
        scheme : str
            One of `initial.SCHEMES`.
        generator : torch.Generator
            Advanced by `draws` networks. The numbers are drawn on its device.
        draws : int
            Number of independent networks.
        dtype : torch.dtype
            Of the weights, and of the numbers drawn.
        device : torch.device or str, optional
            Where the weights go; the generator's device when absent.

        Returns
        -------
        tuple of Tensor
            With `weight_shapes[l]` behind the draws.
        """
        initial.checked(scheme)
        if draws < 1:
            raise ValueError(
                f"Network.init: `draws` must be at least 1, but it is {draws}"
            )
        weights = [
            torch.empty((draws, *shape), dtype=dtype, device=generator.device)
            for shape in self.weight_shapes
        ]
        for draw in range(draws):
            for weight in weights:
                initial.fill_(weight[draw], scheme, generator=generator)
        return tuple(weight.to(device or generator.device) for weight in weights)

    def load(
        self,
        weights: Sequence[npt.ArrayLike | Tensor],
        *,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> Params:
        """Take weights made elsewhere: one array a layer, with draws in front or not.

        Raises
        ------
        ValueError
            If number, shapes or draws do not fit, or an entry is not finite.

        Examples
        --------
        >>> import numpy as np
        >>> net = Network(kind="fcn", shape=(1, 1, 2), layers=1)
        >>> params = net.load([np.eye(2)])
        >>> net.apply(params, torch.tensor([[[[3.0, 4.0]]]], dtype=torch.float64))
        tensor([[[[[3., 4.]]]]], dtype=torch.float64)
        """
        loaded: list[Tensor] = []
        for weight, shape in zip(weights, self.weight_shapes, strict=False):
            values: Any = weight
            tensor = torch.as_tensor(values).to(device=device, dtype=dtype)
            loaded.append(tensor[None] if tensor.ndim == len(shape) else tensor)
        if len(weights) != self.layers:
            raise ValueError(
                f"Network.load: `weights` must hold {self.layers} layers, but it holds "
                f"{len(weights)}"
            )
        self._check_params("Network.load", tuple(loaded))
        if not all(bool(torch.isfinite(weight).all()) for weight in loaded):
            raise ValueError("Network.load: `weights` must be finite, but some are not")
        return tuple(weight.clone() for weight in loaded)

    def apply(self, params: Params, images: Tensor) -> Tensor:
        """Return the outputs.

        Parameters
        ----------
        params : tuple of Tensor
            As `init` or `load` returns them.
        images : Tensor, shape (n, C, H, W) or (draws, n, C, H, W)
            For a cnn of any height and width.

        Returns
        -------
        Tensor, shape (draws, n, C, H, W)
        """
        return self.layer_outputs(params, images)[-1]

    def layer_outputs(self, params: Params, images: Tensor) -> tuple[Tensor, ...]:
        """Return h_1, ..., h_{L-1} and the outputs.

        Returns
        -------
        tuple of Tensor
            L tensors. Hidden ones come after their activation (in a residual network
            the second of a block includes the sum) and have the shape (draws, n, units)
            or, in a cnn, (draws, n, channels, H, W). The last is as from `apply`.
        """
        self.check(params, images)
        h = images if images.ndim == 5 else images[None]
        if self.kind != "cnn":
            h = h.flatten(2)
        return self.run(params, h)

    def upper(self, params: Params, representation: Tensor, count: int) -> Tensor:
        """Run only the last `count` layers.

        Parameters
        ----------
        params : tuple of Tensor
            Weights of the whole network.
        representation : Tensor
            What layer L - count puts out, or anything of that shape: (n, units) or
            (n, channels, H, W), with draws in front or not.
        count : int
            From 1 to L; even for a residual network.

        Returns
        -------
        Tensor, shape (draws, n, C, H, W)

        Examples
        --------
        >>> from empirical.randomness import torch_generator
        >>> net = Network(kind="cnn", shape=(1, 5, 5), layers=4, width=3)
        >>> params = net.init(generator=torch_generator(7))
        >>> x = torch.ones(1, 1, 5, 5, dtype=torch.float64)
        >>> hidden = net.layer_outputs(params, x)[1]
        >>> torch.equal(net.upper(params, hidden, 2), net.apply(params, x))
        True
        """
        self._check_params("Network.upper", params)
        block = 2 if self.kind == "residual" else 1
        if not 1 <= count <= self.layers or count % block:
            raise ValueError(
                f"Network.upper: `count` must be from 1 to {self.layers}, and even for "
                f"a residual network, but it is {count}"
            )
        units = self.units[self.layers - count]
        axes = 4 if self.kind == "cnn" else 2
        h = representation
        if h.ndim not in (axes, axes + 1) or h.shape[1 - axes] != units:
            named = f"(n, {units}, H, W)" if axes == 4 else f"(n, {units})"
            raise ValueError(
                f"Network.upper: `representation` must have shape {named}, with draws "
                f"in front or not, but it has {tuple(h.shape)}"
            )
        return self.run(params[-count:], h if h.ndim == axes + 1 else h[None])[-1]

    def run(self, params: Params, h: Tensor) -> tuple[Tensor, ...]:
        """Run the last layers, those that `params` has weights of, unchecked.

        As `layer_outputs`, from a representation with its draws in front: what a
        training step calls.
        """
        outputs: list[Tensor] = []
        skip = h
        for index, weight in enumerate(params):
            z = convolve(weight, h) if weight.ndim == 5 else h @ weight.transpose(1, 2)
            last = index == len(params) - 1
            # In place: z is ours, and nothing else needs it.
            h = z if last or self.activation == "linear" else z.relu_()
            if self.kind == "residual" and index % 2:
                h = skip = skip + h
            outputs.append(h)
        if self.kind != "cnn":
            outputs[-1] = h.reshape(*h.shape[:2], *self.shape)
        return tuple(outputs)

    def check(self, params: Params, images: Tensor) -> None:
        """Raise ValueError if weights or images do not fit the network."""
        self._check_params("Network", params)
        self._check_images(params, images)

    def _check_names(self) -> None:
        for name, known in (("kind", KINDS), ("activation", ACTIVATIONS)):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"Network: `{name}` must be one of {', '.join(known)}, but it is "
                    f"{getattr(self, name)!r}"
                )

    def _check_params(self, who: str, params: Params) -> None:
        shapes = tuple(tuple(weight.shape[1:]) for weight in params)
        if shapes != self.weight_shapes or len({len(w) for w in params}) != 1:
            raise ValueError(
                f"{who}: `params` must have the shapes (draws, ...) with "
                f"{self.weight_shapes} behind the draws, but they are "
                f"{tuple(tuple(weight.shape) for weight in params)}. Use `init` or "
                "`load` of the same network."
            )

    def _check_images(self, params: Params, images: Tensor) -> None:
        wanted = self.shape[:1] if self.kind == "cnn" else self.shape
        fits = images.ndim in (4, 5) and images.numel() > 0
        if not fits or tuple(images.shape[-3:])[: len(wanted)] != wanted:
            named = ", ".join([*map(str, wanted), "H", "W"][:3])
            raise ValueError(
                f"Network: `images` must have shape (n, {named}), with draws in front "
                f"or not, but it has {tuple(images.shape)}"
            )
        if images.ndim == 5 and images.shape[0] not in (1, len(params[0])):
            raise ValueError(
                f"Network: `images` must have 1 or {len(params[0])} draws, as `params` "
                f"has, but it has {images.shape[0]}"
            )
        if images.dtype != params[0].dtype:
            raise ValueError(
                f"Network: `images` must have the weights' dtype {params[0].dtype}, "
                f"but it has {images.dtype}. Convert it with images.to(...)."
            )
