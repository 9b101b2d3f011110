"""What NormReLU costs a network: parameters, statistics, memory of an update.

Time is no claim, since it depends on the machine: ``benchmarks/bench_normrelu.py``.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from empirical.activations import NormReLU
from empirical.normrelu.networks import KINK
from empirical.randomness import torch_generator
from verify.claim import grid, numeric
from verify.claims.deep_conditioning._sources import as_read
from verify.compare import Array, AtMost


def network(kind: str, *, width: int, depth: int) -> nn.Sequential:
    """Return a plain PyTorch network with a norm, or an activation, between layers."""
    between = {
        "normrelu": lambda: [NormReLU(KINK)],
        "relu": lambda: [nn.ReLU()],
        "batch": lambda: [nn.BatchNorm1d(width), nn.ReLU()],
        "layer": lambda: [nn.LayerNorm(width), nn.ReLU()],
    }[kind]
    layers: list[nn.Module] = []
    for _ in range(depth):
        layers += [nn.Linear(width, width, bias=False), *between()]
    return nn.Sequential(*layers, nn.Linear(width, 10, bias=False))


def cost(kind: str, *, width: int, depth: int, batch: int) -> Array:
    """Return numbers a network has, and numbers that a forward pass keeps for backward.

    The second without parameters, each place in memory once.
    """
    net = network(kind, width=width, depth=depth)
    own = [*net.parameters(), *net.buffers()]
    places = {p.untyped_storage().data_ptr() for p in own}
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        place = tensor.untyped_storage().data_ptr()
        if place not in places:
            kept[place] = tensor
        return tensor

    inputs = torch.randn(batch, width, generator=torch_generator(1, "inputs"))
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        outputs = net(inputs)
    assert outputs.requires_grad  # what is kept lives until here
    size = sum(tensor.untyped_storage().nbytes() for tensor in kept.values())
    return np.array([sum(p.numel() for p in own), size / inputs.element_size()])


def _of_normrelu(*, rival: str, **sizes: int) -> Array:
    return cost("normrelu", **sizes)


def _of_rival(*, rival: str, **sizes: int) -> Array:
    """Memory of the norm, and no more numbers than a network without any."""
    numbers, _ = cost("relu", **sizes)
    return np.array([numbers, cost(rival, **sizes)[1]])


def _of_relu(*, rival: str, **sizes: Any) -> Array:
    """No more kept for the backward pass than by plain ReLU."""
    return cost("relu", **sizes)


OVERHEAD = numeric(
    id="dc/sec1-overhead",
    items=("Sec11",),
    title="NormReLU adds no parameters, and no memory beyond that of a normalisation layer",
    statement=r"\text{numbers: NormReLU} \le \text{ReLU}, \qquad"
    r" \text{kept for the backward pass: NormReLU} \le \text{norm and ReLU}",
    source=as_read("Section 1.1, contribution 5"),
    cases=grid(rival=("batch", "layer"), width=128, depth=(3, 32), batch=(7, 100)),
    predict=_of_rival,
    measure=_of_normrelu,
    compare=AtMost(),
    must_refute=_of_relu,
    assumptions=("PyTorch's modules as they are, nothing fused",),
    finding=(
        "The paper says that NormReLU requires no overhead. Compared with plain ReLU"
        " there is some: the output of ReLU is the input of the next layer and stored"
        " once, whereas NormReLU stores it and its normalised value. Normalisation"
        " layers store as much, and have gains, shifts and statistics besides."
    ),
)
