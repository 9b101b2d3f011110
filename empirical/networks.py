r"""Fully connected networks at finite width, many independent draws at once.

A network is a frozen specification; its weights live outside it, stacked along a
leading axis of draws. NTK parametrisation without biases and without a factor at the
input (inputs of unit norm are meant):

.. math::
    h_0 = x, \qquad z_l = W_l h_{l-1}, \qquad h_l = \sigma(z_l)/\sqrt{m_l},
    \qquad f(x) = W_{L+1} h_L,

all weights independent standard normal.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

Elementwise = Callable[[Tensor], Tensor]
"""An activation: acts on each entry, keeps shape, dtype and device."""

# Weights of layers 1..L+1, shapes (draws, fan_out, fan_in).
Params = tuple[Tensor, ...]


@dataclass(frozen=True, kw_only=True)
class Layers:
    """Everything a forward pass computes.

    Attributes
    ----------
    features : tuple of Tensor
        h_0, ..., h_L; h_0 of shape (n, d) or (draws, n, d), the others
        (draws, n, m_l).
    preactivations : tuple of Tensor
        z_1, ..., z_L, shapes (draws, n, m_l).
    """

    features: tuple[Tensor, ...]
    preactivations: tuple[Tensor, ...]


@dataclass(frozen=True, kw_only=True)
class FullyConnected:
    r"""Specification of a fully connected network.

    Parameters
    ----------
    widths : tuple of int
        Input dimension, the L >= 1 hidden widths, number of outputs.
    activation : callable or tuple of callables
        One for all hidden layers, or one each. Acts entrywise on tensors.

    Raises
    ------
    ValueError
        If `widths` names no hidden layer or holds a number below one, or the
        activations are not as many as the hidden layers.

    References
    ----------
    Agarwal, Awasthi, Kale 2020, equation 1 (there with one output).

    Examples
    --------
    The features of unit inputs concentrate around the second moment of the activation:

    >>> from empirical.randomness import torch_generator
    >>> network = FullyConnected(widths=(3, 4096, 1), activation=torch.sign)
    >>> params = network.init(draws=2, generator=torch_generator(7))
    >>> x = torch.eye(3, dtype=torch.float64)
    >>> network.apply(params, x).shape
    torch.Size([2, 3, 1])
    >>> features = network.features(params, x)[-1]
    >>> bool((features.square().sum(dim=-1) - 1.0).abs().max() < 1e-12)
    True
    """

    widths: tuple[int, ...]
    activation: Elementwise | tuple[Elementwise, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", tuple(int(w) for w in self.widths))
        if len(self.widths) < 3 or min(self.widths) < 1:
            raise ValueError(
                "FullyConnected: `widths` must be positive and name the input, at "
                f"least one hidden layer and the output, but it is {self.widths}"
            )
        if isinstance(self.activation, tuple) and len(self.activation) != self.depth:
            raise ValueError(
                "FullyConnected: `activation` must be one callable or one for each of "
                f"the {self.depth} hidden layers, but it has {len(self.activation)}"
            )

    @classmethod
    def uniform(
        cls,
        *,
        inputs: int,
        width: int,
        depth: int,
        activation: Elementwise,
        outputs: int = 1,
    ) -> "FullyConnected":
        """Return the network of `depth` hidden layers that share one width.

        Examples
        --------
        >>> FullyConnected.uniform(
        ...     inputs=2, width=8, depth=3, activation=torch.tanh
        ... ).widths
        (2, 8, 8, 8, 1)
        """
        return cls(widths=(inputs, *[width] * depth, outputs), activation=activation)

    @property
    def depth(self) -> int:
        """Number of hidden layers, L."""
        return len(self.widths) - 2

    @property
    def parameters(self) -> int:
        """Number of weights of one draw.

        Examples
        --------
        >>> FullyConnected(widths=(784, 512, 512, 10), activation=torch.relu).parameters
        668672
        """
        return sum(a * b for a, b in zip(self.widths, self.widths[1:], strict=False))

    def activations(self) -> tuple[Elementwise, ...]:
        """Return the activation of each hidden layer."""
        if isinstance(self.activation, tuple):
            return self.activation
        return (self.activation,) * self.depth

    def init(
        self,
        *,
        generator: torch.Generator,
        draws: int = 1,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str | None = None,
    ) -> Params:
        """Draw standard normal weights.

        Draws are filled one network after another, so that `draws` at once, one at a
        time or in chunks of any size are the same numbers.

        Parameters
        ----------
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
            Shapes (draws, fan_out, fan_in).
        """
        if draws < 1:
            raise ValueError(
                f"FullyConnected.init: `draws` must be at least 1, but it is {draws}"
            )
        weights = [
            torch.empty((draws, fan_out, fan_in), dtype=dtype, device=generator.device)
            for fan_in, fan_out in zip(self.widths, self.widths[1:], strict=False)
        ]
        for draw in range(draws):
            for weight in weights:
                weight[draw].normal_(generator=generator)
        return tuple(weight.to(device or generator.device) for weight in weights)

    def layers(self, params: Params, x: Tensor) -> Layers:
        """Run the hidden layers and keep everything.

        Parameters
        ----------
        params : tuple of Tensor
            As `init` returns them.
        x : Tensor, shape (n, d) or (draws, n, d)
            Inputs as rows.
        """
        self._check(params, x)
        features, preactivations = [x], []
        h = x
        for weight, activation in zip(params, self.activations(), strict=False):
            z = h @ weight.transpose(-1, -2)
            h = activation(z) / math.sqrt(weight.shape[-2])
            preactivations.append(z)
            features.append(h)
        return Layers(features=tuple(features), preactivations=tuple(preactivations))

    def features(self, params: Params, x: Tensor) -> tuple[Tensor, ...]:
        """Return h_0, ..., h_L; h_0 is `x`, h_l has shape (draws, n, m_l)."""
        return self.layers(params, x).features

    def apply(self, params: Params, x: Tensor) -> Tensor:
        """Return the outputs, shape (draws, n, outputs)."""
        return self.features(params, x)[-1] @ params[-1].transpose(-1, -2)

    def stream_features(
        self,
        x: Tensor,
        *,
        generator: torch.Generator,
        project: bool = False,
    ) -> Iterator[Tensor]:
        """Yield h_1, ..., h_L of one draw, holding one weight matrix at a time.

        The numbers are those of ``features(init(draws=1, generator=generator), x)``;
        peak memory is one layer's weights instead of all of them, which is what makes
        depth 100 at width 16,384 fit. With `project` every row is scaled to unit norm
        before it is yielded and enters the next layer (Agarwal, Awasthi, Kale 2020,
        equation 3).
        """
        h = x
        for fan_in, fan_out, activation in zip(
            self.widths, self.widths[1:], self.activations(), strict=False
        ):
            weight = torch.empty(
                (fan_out, fan_in), dtype=x.dtype, device=generator.device
            ).normal_(generator=generator)
            h = activation(h @ weight.to(x.device).T) / math.sqrt(fan_out)
            if project:
                h = h / h.norm(dim=-1, keepdim=True)
            yield h

    def _check(self, params: Params, x: Tensor) -> None:
        if len(params) != self.depth + 1:
            raise ValueError(
                f"FullyConnected: `params` must hold {self.depth + 1} weight matrices, "
                f"but it holds {len(params)}. Use `init` of the same network."
            )
        if x.ndim not in (2, 3) or x.shape[-1] != self.widths[0]:
            raise ValueError(
                f"FullyConnected: `x` must have shape (n, {self.widths[0]}), with "
                f"draws in front or not, but it has {tuple(x.shape)}"
            )
        if x.dtype != params[0].dtype:
            raise ValueError(
                f"FullyConnected: `x` must have the weights' dtype {params[0].dtype}, "
                f"but it has {x.dtype}. Convert it with x.to(...)."
            )


def derivative(activation: Elementwise, z: Tensor) -> Tensor:
    """Evaluate the derivative of an entrywise function by automatic differentiation.

    At a kink the value is PyTorch's convention (for ReLU 0 at 0), on a set that random
    preactivations meet with probability zero. A function without gradient, such as
    `torch.sign`, has the derivative 0.

    Examples
    --------
    >>> derivative(torch.square, torch.tensor([3.0]))
    tensor([6.])
    """
    with torch.enable_grad():
        leaf = z.detach().requires_grad_()
        total = activation(leaf).sum()
        if not total.requires_grad:
            return torch.zeros_like(z)
        return torch.autograd.grad(total, leaf)[0]
