"""One weight layer and what follows it, for a stack of replicates.

Replicates in front, then examples, then units, or channels, height and width. In memory
what is normalised over batches has its examples last, and a convolution's outputs have
their replicates behind the examples: so library functions work on contiguous blocks.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from empirical.networks import initial
from empirical.networks.plan import Elementwise, Layer, Norm
from empirical.testbed.modules import Params
from empirical.testbed.stack import along

ACTIVATIONS: dict[str, Elementwise] = {
    "linear": lambda z: z,
    "relu": torch.relu,
    "tanh": torch.tanh,
    "selu": torch.selu,
}
"""Those that have a name, see `plan.NAMED`."""


class Signals(NamedTuple):
    """What one pass computes, (replicates, n, units) or (replicates, n, C, H, W) each.

    Attributes
    ----------
    outputs : Tensor
    hidden : tuple of Tensor
        h_1, ..., h_{L-1} after their activation, and the sum where a skip ends.
    before : tuple of Tensor
        The products of all L layers, before normalisation and activation; empty unless
        they were to be kept.
    """

    outputs: Tensor
    hidden: Params
    before: Params


def function(layer: Layer) -> Elementwise:
    """Return a layer's activation as a callable."""
    if isinstance(layer.activation, str):
        return ACTIVATIONS[layer.activation]
    return layer.activation


def fill_(
    layer: Layer, own: Mapping[str, Tensor], scheme: str, *, generator: torch.Generator
) -> None:
    """Draw one replicate's parameters in place; see `Network.init`."""
    weight = initial.fill_(own["weight"], scheme, generator=generator)
    if layer.start != 1.0:
        weight *= layer.start
    for name in layer.numbers:
        own[name].fill_(1.0 if name == "factor" else 0.0)
    if layer.bias:
        own["bias"].zero_()
        if scheme == "framework":
            half = initial.fans(layer.weight)[0] ** -0.5
            own["bias"].uniform_(-half, half, generator=generator)
    if "gain" in own:
        own["gain"].fill_(1.0)
        own["shift"].zero_()
    if "size" in own:
        rows = layer.weighting == "rows"
        own["size"].copy_(weight.flatten(1).norm(dim=1) if rows else weight.norm())


def acting(layer: Layer, own: Mapping[str, Tensor]) -> Tensor:
    """Return the weight that multiplies inputs: normalised where the layer says so."""
    v = own["weight"]
    if layer.weighting == "rows":
        sizes = own["size"] / v.flatten(2).norm(dim=2)
        return sizes.view(*sizes.shape, *[1] * (v.ndim - 2)) * v
    if layer.weighting == "matrix":
        v = along(1.0 / v.flatten(1).norm(dim=1), v) * v
        return along(own["size"][:, 0], v) * v if layer.sized else v
    return v


def linear(layer: Layer, weight: Tensor, bias: Tensor | None, h: Tensor) -> Tensor:
    """Return the products of the weight as it acts with inputs, and the bias.

    As they lie in memory; see `shown`.
    """
    if len(layer.weight) == 4:
        return convolved(weight, bias, h, layer.stride)
    if h.ndim > 3:
        h = h.mean(dim=(-2, -1)) if layer.pooled else h.flatten(-3)
    if h.ndim == 3 and len(h) == 1:
        h = h[0]
    if not layer.by_columns:
        if h.ndim == 3 and bias is not None:
            return torch.baddbmm(bias[:, None], h, weight.mT)
        return h @ weight.mT if bias is None else h @ weight.mT + bias[:, None]
    # All replicates may look at the same inputs: then it is one product.
    rows = weight.flatten(0, 1) if h.ndim == 2 else weight
    z = (rows @ h.mT).view(1, -1, h.shape[-2])
    return z if bias is None else z + bias.view(1, -1, 1)


def convolved(
    weight: Tensor, bias: Tensor | None, images: Tensor, stride: int
) -> Tensor:
    """Convolve each replicate's images with its own kernels, zero padded.

    Parameters
    ----------
    weight : Tensor, shape (replicates, out, in, K, K)
    bias : Tensor, shape (replicates, out), optional
    images : Tensor, shape (replicates, n, in, H, W), (1, n, in, H, W) or (n, in, H, W)
    stride : int

    Returns
    -------
    Tensor, shape (n, replicates * out, H', W')
        As it lies in memory.
    """
    replicates, fan_out, fan_in, _, _ = weight.shape
    if images.ndim == 5 and len(images) == 1:
        images = images[0]
    # Libraries pad few output channels to a block of them: measured at 32 to 1
    # channels, the second way is six times as fast, at 128 to 1 more than twenty times.
    if 4 * fan_out <= fan_in and stride == 1:
        each = images.expand(replicates, *images.shape[-4:])
        out = _by_scattering(weight, each).transpose(0, 1).flatten(1, 2)
        return out if bias is None else out + bias.view(1, -1, 1, 1)
    # All replicates may look at the same images: then it is one wide convolution.
    shared = images.ndim == 4
    return functional.conv2d(
        images if shared else images.transpose(0, 1).flatten(1, 2),
        weight.flatten(0, 1),
        None if bias is None else bias.flatten(),
        stride=stride,
        padding=weight.shape[-1] // 2,
        groups=1 if shared else replicates,
    )


def _by_scattering(weight: Tensor, images: Tensor) -> Tensor:
    """One matrix product for all taps, then each tap's image added where it belongs."""
    replicates, n, fan_in, height, width = images.shape
    kernel = weight.shape[-1]
    # Scattering is the adjoint of gathering, so the kernel turns by 180 degrees.
    taps = weight.flip(-2, -1).permute(0, 1, 3, 4, 2).reshape(replicates, 1, -1, fan_in)
    parts = taps @ images.flatten(3)
    out = functional.fold(
        parts.flatten(0, 1), (height, width), kernel, padding=kernel // 2
    )
    return out.reshape(replicates, n, -1, height, width)


def shown(layer: Layer, z: Tensor, replicates: int) -> Tensor:
    """Return signals in the layout that `linear` returns, replicates in front."""
    if len(layer.weight) == 4:
        return z.unflatten(1, (replicates, -1)).transpose(0, 1)
    return z.view(replicates, -1, z.shape[-1]).mT if layer.by_columns else z


def stored(layer: Layer, h: Tensor) -> Tensor:
    """Undo `shown`."""
    if len(layer.weight) == 4:
        return h.transpose(0, 1).flatten(1, 2)
    return h.mT.reshape(1, -1, h.shape[1]) if layer.by_columns else h


def after(
    layer: Layer,
    z: Tensor,
    own: Mapping[str, Tensor],
    running: Iterator[Tensor],
    skipped: Tensor | None,
    *,
    training: bool,
    kept: bool,
) -> Tensor:
    """Apply what follows the products, in place unless they are `kept`."""
    replicates = len(own["weight"])
    if "factor" in own or "behind" in own:
        kept, seen = False, shown(layer, z, replicates)
        if "factor" in own:
            seen = seen * along(own["factor"], seen)
        if "behind" in own:
            seen = seen + along(own["behind"], seen)
        z = stored(layer, seen)
    if layer.norm is not None:
        kept = False
        if layer.by_columns:
            z = _by_batch(layer.norm, z, own, running, training=training)
        else:
            seen = shown(layer, z, replicates)
            z = stored(layer, _by_layer(layer.norm, seen, own))
    if layer.early and skipped is not None:
        kept, seen = False, shown(layer, z, replicates)
        z = stored(layer, seen + _fitted(skipped, seen))
    # In place only if no caller keeps z, whatever a callable does.
    if kept and callable(layer.activation):
        z = z.clone()
    mine = function(layer) is torch.relu and not kept
    z = z.relu_() if mine else function(layer)(z)
    return z if layer.divisor == 1.0 else z / layer.divisor


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
    training = training or mean is None
    if training and z.numel() == z.shape[1]:
        raise ValueError(
            "Norm: a batch must have two numbers of each unit at least, for their "
            "variance, but it has 1. Give more examples, or running statistics."
        )
    return functional.batch_norm(
        z,
        None if mean is None else mean.view(-1),
        None if variance is None else variance.view(-1),
        own["gain"].flatten() if norm.affine else None,
        own["shift"].flatten() if norm.affine else None,
        training=training,
        momentum=norm.momentum or 0.0,
        eps=norm.eps,
    )


def _by_layer(norm: Norm, z: Tensor, own: Mapping[str, Tensor]) -> Tensor:
    out = functional.layer_norm(z, z.shape[2:], eps=norm.eps)
    if not norm.affine:
        return out
    shape = (len(z), 1, -1, *[1] * (z.ndim - 3))
    return (out * own["gain"].view(shape)).add_(own["shift"].view(shape))


def _fitted(h: Tensor, like: Tensor) -> Tensor:
    """Return images with the spots and channels of others; see `Layer.early`."""
    # An axis of one spot stays as it is while the other is halved.
    down, across = (-(-h.shape[i] // like.shape[i]) for i in (-2, -1))
    h, more = h[..., ::down, ::across], like.shape[-3] - h.shape[-3]
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
            # Replicates are in front where the axes are odd: 3 of units, 5 of images.
            h = h if h.ndim % 2 else h[None]
            h = h + along(own["ahead"], h)
        z = linear(layer, weight, own.get("bias"), h)
        if kept:
            products.append(shown(layer, z, len(weight)))
            z = stored(layer, products[-1])
        skipped = inputs[-layer.skip] if layer.skip else None
        z = after(layer, z, own, running, skipped, training=training, kept=kept)
        h = shown(layer, z, len(weight))
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
    # Inference mode records no slopes, whatever else is enabled.
    with torch.inference_mode(mode=False), torch.enable_grad():
        leaf = (z.clone() if z.is_inference() else z.detach()).requires_grad_()
        # Of a copy: it may act in place, as nn.ReLU(inplace=True) does.
        total = activation(leaf.clone()).sum()
        if not total.requires_grad:
            return torch.zeros_like(z)
        return torch.autograd.grad(total, leaf)[0]


def joined(parts: Sequence[Params]) -> Params:
    """Return parameters of several stacks as those of one, in turn."""
    return tuple(torch.cat(each) for each in zip(*parts, strict=True))
