"""Descent by PyTorch's own optimisers, which many claims measure with.

Nothing here knows a closed form.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from verify.compare import Array


def step(
    optimiser: torch.optim.Optimizer, loss: Tensor, *, clip: float | None = None
) -> float:
    """Let an optimiser take one step by the gradients of a loss; return the loss.

    With `clip`, gradients that are longer together are first shortened to that norm.
    """
    optimiser.zero_grad()
    loss.backward()  # pyright: ignore[reportUnknownMemberType]
    if clip is not None:
        params = [p for group in optimiser.param_groups for p in group["params"]]
        slopes = [p.grad for p in params if p.grad is not None]
        size = torch.cat([s.flatten() for s in slopes]).norm()
        for slope in slopes:
            slope *= min(1.0, clip / float(size))
    optimiser.step()
    return loss.item()


def descend(
    weights: Sequence[Tensor],
    loss: Callable[[], Tensor],
    *,
    steps: Iterable[int],
    rate: float,
    **settings: Any,
) -> list[tuple[Array, ...]]:
    """Return copies of the weights after each of `steps` steps of gradient descent.

    The loss is one of the weights as they are then; the settings are those of PyTorch's
    SGD beside its rate.

    >>> w = torch.tensor([1.0, -2.0])
    >>> halved, rest = descend([w], lambda: w.square().sum(), steps=(1, 30), rate=0.25)
    >>> halved[0]
    array([ 0.5, -1. ], dtype=float32)
    """
    for weight in weights:
        weight.requires_grad_()
    optimiser = torch.optim.SGD(list(weights), lr=rate, **settings)
    wanted, found = sorted(set(steps)), []
    for taken in range(wanted[-1] + 1):
        if taken in wanted:
            found.append(tuple(w.detach().numpy().copy() for w in weights))
        if taken < wanted[-1]:
            step(optimiser, loss())
    return found
