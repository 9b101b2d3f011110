"""One weight layer and what follows it, for a stack of replicates.

Replicates in front, then examples, then units, or channels, height and width. In memory
what is normalised over batches has its examples last, and a convolution's outputs have
their replicates behind the examples: so library functions work on contiguous blocks.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from empirical.checks import check_choice, check_weights
from empirical.networks import initial
from empirical.networks.convolution import convolved
from empirical.testbed.modules import Params
from empirical.testbed.stack import along

Elementwise = Callable[[Tensor], Tensor]
"""Acts on each entry; keeps shape, dtype and device."""

ACTIVATIONS: dict[str, Elementwise] = {
    "linear": lambda z: z,
    "relu": torch.relu,
    "tanh": torch.tanh,
    "selu": torch.selu,
}
"""Those that have a name; any other is given as a callable."""

Activation = str | Elementwise

Weighting = Literal["rows", "matrix"]
WEIGHTINGS = ("rows", "matrix")


@dataclass(frozen=True, kw_only=True)
class Norm:
    """Normalisation of what enters an activation: less its mean, over its deviation.

    Attributes
    ----------
    over : {"batch", "layer"}
        Statistics of each unit over the batch (and the spots of an image), or of each
        example over its units.
    affine : bool
        Whether each unit then has a gain and a shift, which are learnt.
    eps : float
        Added to variances.
    momentum : float, optional
        Of the running statistics that stand for the batch's outside of training; without
        it there are none, and statistics are always the batch's. Only over batches.

    Raises
    ------
    ValueError
        If any of these does not fit.
    """

    over: Literal["batch", "layer"]
    affine: bool = True
    eps: float = 1e-5
    momentum: float | None = 0.1

    def __post_init__(self) -> None:
        check_choice("Norm", "over", self.over, ("batch", "layer"))
        check_weights("Norm", eps=self.eps)
        if self.momentum is not None and not 0.0 < self.momentum <= 1.0:
            raise ValueError(
                f"Norm: `momentum` must lie in (0, 1], but it is {self.momentum}"
            )

    @property
    def runs(self) -> bool:
        """Whether there are running statistics."""
        return self.over == "batch" and self.momentum is not None


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A weight, and what is done to its outputs, in this order.

    Attributes
    ----------
    weight : tuple of int
        (out, in), or (out, in, K, K) of a convolution.
    stride : int
        Of the convolution.
    bias : bool
    weighting : {"rows", "matrix"}, optional
        The weight acts divided by the norm of each row, times a gain, or by its own.
    sized : bool
        Whether one number multiplies a weight divided by its own norm.
    norm : Norm, optional
    activation : str or callable
    divisor : float
        Divides the outputs.
    skip : int
        The inputs of the layer so many before the next are added; 0 adds none.
    early : bool
        Whether they are added ahead of the activation: every so many spots where there
        are fewer than before, and zeros for new channels.
    pooled : bool
        Whether images are averaged over their spots first.
    numbers : tuple of {"ahead", "factor", "behind"}
        Single numbers that are learnt: added to the inputs, multiplying the outputs,
        then added to them.
    start : float
        Factor of the first weights.
    """

    weight: tuple[int, ...]
    stride: int = 1
    bias: bool = False
    weighting: Weighting | None = None
    sized: bool = False
    norm: Norm | None = None
    activation: Activation = "linear"
    divisor: float = 1.0
    skip: int = 0
    early: bool = False
    pooled: bool = False
    numbers: tuple[Literal["ahead", "factor", "behind"], ...] = ()
    start: float = 1.0

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of its parameters."""
        out = self.weight[:1]
        found = {"weight": self.weight}
        if self.weighting == "rows":
            found["size"] = out
        elif self.sized:
            found["size"] = (1,)
        if self.bias:
            found["bias"] = out
        if self.norm is not None and self.norm.affine:
            found |= {"gain": out, "shift": out}
        return found | dict.fromkeys(self.numbers, (1,))

    @property
    def running(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of its running statistics, mean and variance."""
        runs = self.norm is not None and self.norm.runs
        return (self.weight[:1],) * 2 if runs else ()

    @property
    def by_columns(self) -> bool:
        """Whether products have their examples last in memory, for their statistics."""
        return self.norm is not None and self.norm.over == "batch"

    @property
    def function(self) -> Elementwise:
        """The activation as a callable."""
        if isinstance(self.activation, str):
            return ACTIVATIONS[self.activation]
        return self.activation

    def fill_(
        self, own: Mapping[str, Tensor], scheme: str, *, generator: torch.Generator
    ) -> None:
        """Draw one replicate's parameters in place; see `Network.init`."""
        weight = initial.fill_(own["weight"], scheme, generator=generator)
        if self.start != 1.0:
            weight *= self.start
        for name in self.numbers:
            own[name].fill_(1.0 if name == "factor" else 0.0)
        if self.bias:
            own["bias"].zero_()
            if scheme == "framework":
                half = initial.fans(self.weight)[0] ** -0.5
                own["bias"].uniform_(-half, half, generator=generator)
        if "gain" in own:
            own["gain"].fill_(1.0)
            own["shift"].zero_()
        if "size" in own:
            rows = self.weighting == "rows"
            own["size"].copy_(weight.flatten(1).norm(dim=1) if rows else weight.norm())

    def acting(self, own: Mapping[str, Tensor]) -> Tensor:
        """Return the weight as it acts."""
        v = own["weight"]
        if self.weighting == "rows":
            sizes = own["size"] / v.flatten(2).norm(dim=2)
            return sizes.view(*sizes.shape, *[1] * (v.ndim - 2)) * v
        if self.weighting == "matrix":
            v = along(1.0 / v.flatten(1).norm(dim=1), v) * v
            return along(own["size"][:, 0], v) * v if self.sized else v
        return v

    def linear(self, weight: Tensor, bias: Tensor | None, h: Tensor) -> Tensor:
        """Return the products of the weight as it acts with inputs, and the bias.

        As they lie in memory; see `shown`.
        """
        if len(self.weight) == 4:
            return convolved(weight, bias, h, self.stride)
        if h.ndim > 3:
            h = h.mean(dim=(-2, -1)) if self.pooled else h.flatten(-3)
        if h.ndim == 3 and len(h) == 1:
            h = h[0]
        if not self.by_columns:
            if h.ndim == 3 and bias is not None:
                return torch.baddbmm(bias[:, None], h, weight.mT)
            return h @ weight.mT if bias is None else h @ weight.mT + bias[:, None]
        # All replicates may look at the same inputs: then it is one product.
        rows = weight.flatten(0, 1) if h.ndim == 2 else weight
        z = (rows @ h.mT).view(1, -1, h.shape[-2])
        return z if bias is None else z + bias.view(1, -1, 1)

    def shown(self, z: Tensor, replicates: int) -> Tensor:
        """Return what lies in memory as `linear` returns it, replicates in front."""
        if len(self.weight) == 4:
            return z.unflatten(1, (replicates, -1)).transpose(0, 1)
        return z.view(replicates, -1, z.shape[-1]).mT if self.by_columns else z

    def stored(self, h: Tensor) -> Tensor:
        """Undo `shown`."""
        if len(self.weight) == 4:
            return h.transpose(0, 1).flatten(1, 2)
        return h.mT.reshape(1, -1, h.shape[1]) if self.by_columns else h

    def after(
        self,
        z: Tensor,
        own: Mapping[str, Tensor],
        running: Iterator[Tensor],
        skipped: Tensor | None,
        *,
        training: bool,
        kept: bool,
    ) -> Tensor:
        """Return what follows the products; in place unless they are `kept`."""
        if "factor" in own or "behind" in own:
            kept, shown = False, self.shown(z, len(own["weight"]))
            if "factor" in own:
                shown = shown * along(own["factor"], shown)
            if "behind" in own:
                shown = shown + along(own["behind"], shown)
            z = self.stored(shown)
        if self.norm is not None:
            kept = False
            if self.by_columns:
                z = _by_batch(self.norm, z, own, running, training=training)
            else:
                z = self.stored(
                    _by_layer(self.norm, self.shown(z, len(own["weight"])), own)
                )
        if self.early and skipped is not None:
            kept, shown = False, self.shown(z, len(own["weight"]))
            z = self.stored(shown + _fitted(skipped, shown))
        # In place where z is ours, and nothing else needs it.
        mine = self.function is torch.relu and not kept
        z = z.relu_() if mine else self.function(z)
        return z if self.divisor == 1.0 else z / self.divisor


def _by_batch(
    norm: Norm,
    z: Tensor,
    own: Mapping[str, Tensor],
    running: Iterator[Tensor],
    *,
    training: bool,
) -> Tensor:
    """Normalise (n, channels, ...), one channel for each unit of each replicate."""
    mean, variance = next(running, None), next(running, None)
    return functional.batch_norm(
        z,
        None if mean is None else mean.view(-1),
        None if variance is None else variance.view(-1),
        own["gain"].flatten() if norm.affine else None,
        own["shift"].flatten() if norm.affine else None,
        training=training or mean is None,
        momentum=norm.momentum or 0.0,
        eps=norm.eps,
    )


def _by_layer(norm: Norm, z: Tensor, own: Mapping[str, Tensor]) -> Tensor:
    out = functional.layer_norm(z, z.shape[2:], eps=norm.eps)
    if not norm.affine:
        return out
    shape = (len(z), 1, -1, *[1] * (z.ndim - 3))
    return out * own["gain"].view(shape) + own["shift"].view(shape)


def _fitted(h: Tensor, like: Tensor) -> Tensor:
    """Return images with the spots and channels of others; see `Layer.early`."""
    step = -(-h.shape[-1] // like.shape[-1])
    h = h[..., ::step, ::step] if step > 1 else h
    more = like.shape[-3] - h.shape[-3]
    return functional.pad(h, (0, 0, 0, 0, 0, more)) if more else h


def run(
    plan: tuple[Layer, ...],
    owns: list[dict[str, Tensor]],
    weights: Params,
    h: Tensor,
    *,
    buffers: Params = (),
    training: bool = True,
    kept: bool = False,
) -> tuple[list[Tensor], list[Tensor]]:
    """Run layers; return what each puts out, and its products where they are `kept`."""
    inputs, outputs, products = [], [], []
    running = iter(buffers)
    for layer, own, weight in zip(plan, owns, weights, strict=True):
        inputs.append(h)
        if "ahead" in own:
            # Without replicates in front there is one axis less, of images as of units.
            h = h if h.ndim % 2 else h[None]
            h = h + along(own["ahead"], h)
        z = layer.linear(weight, own.get("bias"), h)
        if kept:
            products.append(layer.shown(z, len(weight)))
            z = layer.stored(products[-1])
        skipped = inputs[-layer.skip] if layer.skip else None
        z = layer.after(z, own, running, skipped, training=training, kept=kept)
        h = layer.shown(z, len(weight))
        if skipped is not None and not layer.early:
            h = skipped + h
        outputs.append(h)
    return outputs, products


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
