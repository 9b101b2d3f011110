"""Normal numbers for stacks of networks, a generator each."""

from collections.abc import Sequence

import torch
from torch import Tensor


def on_device(
    generators: Sequence[torch.Generator], device: torch.device
) -> list[torch.Generator]:
    """Return generators on the device, seeded by those on the CPU, shared as they are."""
    own = {
        g: torch.Generator(device=device).manual_seed(
            int(torch.randint(2**62, (), generator=g))
        )
        for g in dict.fromkeys(generators)
    }
    return [own[g] for g in generators]


def normal(out: Tensor, generators: Sequence[torch.Generator]) -> Tensor:
    """Fill a tensor (S, ...) with normal numbers.

    Networks that share a generator share them.
    """
    drawn: dict[torch.Generator, Tensor] = {}
    for row, generator in zip(out, generators, strict=True):
        if generator in drawn:
            row.copy_(drawn[generator])
        else:
            drawn[generator] = row.normal_(generator=generator)
    return out


def noises(
    weight: Tensor,
    perturbations: int,
    s: Tensor,
    generators: Sequence[torch.Generator],
) -> tuple[Tensor, Tensor]:
    """Draw noise on a layer's weights, (S, perturbations, out, in), and biases."""
    stack, out, fan = weight.shape
    scale = s.to(weight)[:, None, None]
    e = normal(weight.new_empty(stack, perturbations, out, fan), generators)
    b = normal(weight.new_empty(stack, perturbations, out), generators)
    return e.mul_(scale[..., None] * fan**-0.5), b.mul_(scale * out**-0.5)
