"""Starts of fully connected classifiers, and PyTorch's own modules of them."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from empirical.checks import check_choice
from empirical.mmd_init.classifiers import STARTS, Start, classifier
from empirical.networks import FullyConnected, Params

Weights = list[tuple[Tensor, Tensor]]
"""Weight and bias of every layer."""


def start(
    network: FullyConnected,
    kind: Start,
    generators: Sequence[torch.Generator],
    *,
    uniform: bool = False,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> Params:
    """Draw one start a generator, replicates in front; biases are 0.

    Weights have variance 2/in (``"he"``) or 2/(in + out) (``"xavier"``), and are
    Gaussian, or uniform; drawn in float32. The generators live on the CPU, whatever the
    device.

    Examples
    --------
    >>> g = torch.Generator().manual_seed(7)
    >>> [tuple(p.shape) for p in start(classifier((4, 3, 2)), "he", [g])]
    [(1, 3, 4), (1, 3), (1, 2, 3), (1, 2)]
    """
    check_choice("start", "kind", kind, STARTS)
    scheme = "kaiming" if kind == "he" else "xavier"
    law = "uniform" if uniform else "normal"
    params = network.init(f"{scheme}-{law}", generator=generators, dtype=torch.float32)
    return tuple(p.to(device, dtype) for p in params)


def check_classifier(who: str, network: FullyConnected, *, batch_norm: bool) -> None:
    """Refuse what `classifier` does not make.

    Raises
    ------
    ValueError
        If there are no biases, or other activations, normalisation, divisors or
        weightings, which nothing here would heed.
    """
    if network != classifier(network.widths, batch_norm=batch_norm):
        but = "" if batch_norm else ", without batch normalisation"
        raise ValueError(
            f"{who}: `network` must be one that `mmd_init.classifier` makes{but}, but it"
            f" is {network}"
        )


def pairs(network: FullyConnected, params: Params) -> Weights:
    """Return weight and bias of every layer; raises as `check_classifier`."""
    check_classifier("pairs", network, batch_norm=network.norm is not None)
    return [(own["weight"], own["bias"]) for own in network.grouped(params)]


def entering(network: FullyConnected, params: Params, inputs: Tensor) -> Params:
    """Return the inputs of each ReLU, before normalisation: (replicates, n, units)."""
    return network.run(params, inputs, kept=True).before[:-1]


def as_module(
    network: FullyConnected, params: Params, buffers: Params = (), *, replicate: int = 0
) -> nn.Sequential:
    """Return a replicate as a module of PyTorch; raises as `check_classifier`.

    Examples
    --------
    >>> net = classifier((4, 3, 2))
    >>> params = start(net, "he", [torch.Generator().manual_seed(7)])
    >>> x = torch.ones(1, 4)
    >>> torch.allclose(as_module(net, params)(x), net.apply(params, x)[0])
    True
    """
    check_classifier("as_module", network, batch_norm=network.norm is not None)
    parts: list[nn.Module] = []
    # On this device modules draw no weights from the global generator.
    with torch.device("meta"):
        for fan, out in pairwise(network.widths):
            parts.append(nn.Linear(fan, out))
            if network.norm is not None:
                parts.append(nn.BatchNorm1d(out))
            parts.append(nn.ReLU())
    made = nn.Sequential(*parts[: -1 if network.norm is None else -2])
    made.to(params[0].dtype).to_empty(device=params[0].device)
    running = [b for b in made.buffers() if b.ndim]
    with torch.no_grad():
        for count in (b for b in made.buffers() if not b.ndim):
            count.zero_()
        for own, p in zip(
            [*made.parameters(), *running],
            [*params, *(buffers or network.running(params))],
            strict=True,
        ):
            own.copy_(p[replicate])
    return made


def from_module(module: nn.Module) -> tuple[FullyConnected, Params]:
    """Return a `torch.nn.Sequential` as a network, and its parameters.

    Raises
    ------
    TypeError
        If it is anything but layers ``Linear`` with ``ReLU`` between them, a
        ``Flatten`` in front allowed.
    ValueError
        If there are fewer than two outputs, or widths do not fit.

    Examples
    --------
    >>> net, _ = from_module(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)))
    >>> net.widths
    (4, 3, 2)
    """
    way_out = (
        "Build it as torch.nn.Sequential(Linear, ReLU, ..., Linear), logits last and "
        "without Dropout, BatchNorm or Softmax; only then is the noise of a layer's "
        'outputs Gaussian with a known covariance. Or ask for `noise="explicit"`, which '
        "draws noise on every weight of any module of Linear and Conv layers."
    )
    if not isinstance(module, nn.Sequential):
        raise TypeError(
            "pretrain: `network` must be a torch.nn.Sequential or a FullyConnected, but "
            f"it is a {type(module).__name__}. {way_out}"
        )
    # Not `named_children`, which leaves out what stands there twice.
    parts = list(zip(module._modules, module, strict=True))
    if parts and type(parts[0][1]) is nn.Flatten:
        parts = parts[1:]
    for index, (name, part) in enumerate(parts):
        wanted = nn.Linear if index % 2 == 0 else nn.ReLU
        # A subclass computes what it likes, and so does a module with hooks.
        if type(part) is not wanted or altered(part):
            hooks = " with hooks" if type(part) in (nn.Linear, nn.ReLU) else ""
            raise TypeError(
                "pretrain: `network` must be Linear layers with ReLU between them, but "
                f"module {name} is a {type(part).__name__}{hooks}. {way_out}"
            )
    if len(parts) % 2 == 0:
        raise TypeError(f"pretrain: `network` must end in a Linear layer. {way_out}")
    linear = [p for _, p in parts if isinstance(p, nn.Linear)]
    check_layers(linear)
    widths = (linear[0].in_features, *(p.out_features for p in linear))
    if any(p.in_features != w for p, w in zip(linear, widths, strict=False)):
        raise ValueError(
            "pretrain: `network` must have layers that fit, but their widths are "
            f"{[(p.in_features, p.out_features) for p in linear]}"
        )
    return classifier(widths), tuple(
        p.detach().clone()[None] for p in module.parameters()
    )


def altered(part: nn.Module) -> bool:
    """Return whether a module computes something else than its class says."""
    hooks = part._forward_hooks or part._forward_pre_hooks
    own = {name for name, _ in part.named_parameters(recurse=False)}
    return bool(hooks) or not own <= {"weight", "bias"}


def check_layers(layers: Sequence[nn.Module]) -> None:
    """Refuse layers whose noise is not known.

    Raises
    ------
    TypeError
        If layers share a parameter: noise on each would be noise on both. If one has no
        bias, or is not real float32 or float64.
    """
    every = [p for layer in layers for p in layer.parameters()]
    if len({id(p) for p in every}) < len(every):
        raise TypeError(
            "pretrain: `network` must have layers of their own, but some share their"
            " parameters"
        )
    if any("bias" not in dict(layer.named_parameters()) for layer in layers):
        raise TypeError(
            "pretrain: `network` must have a bias in every layer, for the noise has"
        )
    if kinds := {str(p.dtype) for p in every} - {"torch.float32", "torch.float64"}:
        raise TypeError(
            "pretrain: `network` must be of float32 or float64, but it is of"
            f" {', '.join(sorted(kinds))}"
        )
