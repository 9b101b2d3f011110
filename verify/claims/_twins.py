"""What closed claims share: a criterion, and how many numbers become a few.

A closed claim says that some updates of a trainer, or one measurement, are those of the
definition written down once more in plain PyTorch or NumPy, in float64. The claims on
trained networks rest on these.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from verify.claim import Claim, Source, numeric
from verify.compare import AgreesTo, Array
from verify.items import paper
from verify.reading import Reading

Twin = Callable[..., Any]

# Some ten updates of a few hundred numbers of order one: thousands of roundings of 1e-16,
# which steps of gradient descent enlarge a hundredfold at most.
ROUNDING = AgreesTo(relative=1e-10, absolute=1e-11)

# Of a dozen updates that enlarge nothing: sums of a few hundred products of order one,
# 17 roundings of 1.1e-16 at random, of which each update adds up.
UPDATES = AgreesTo(relative=2.3e-14, absolute=2.3e-14)

# Without updates: sums of a thousand products of order one, 32 roundings of 1.1e-16 at
# random, for each of ten layers.
SUMS = AgreesTo(relative=3.5e-14, absolute=3.5e-14)


def closed(*, id: str, twin: Twin, where: str, key: str = "", **parts: Any) -> Claim:
    """Return a claim that a measurement is what its twin computes.

    The twin takes the case, and `wrong`: whether to make the mistake that the claim must
    notice. The source is the paper that the id begins with, or that of another `key`.
    """
    parts.setdefault("compare", ROUNDING)
    return numeric(
        id=id,
        source=Source(key or paper(id.partition("/")[0]).key, where, Reading.OURS),
        predict=partial(twin, wrong=False),
        must_refute=partial(twin, wrong=True),
        **parts,
    )


def sketch(*tensors: Tensor | Array) -> list[float]:
    """Return one number a tensor: the mean of its entries, weighed all differently.

    A change of any entry, or an exchange of two, changes it.
    """
    found: list[float] = []
    for each in tensors:
        flat = torch.as_tensor(each).detach().double().flatten()
        weights = torch.cos(torch.arange(1, len(flat) + 1, dtype=torch.float64).sqrt())
        found.append(float((flat * weights).sum() / len(flat) ** 0.5))
    return found


def normal(*shape: int, seed: Sequence[int], size: float = 1.0) -> Tensor:
    """Return normal numbers that a list of whole numbers decides."""
    drawn = np.random.default_rng(list(seed)).standard_normal(shape)
    return torch.from_numpy(np.asarray(size * drawn))


def drawn_into(
    parameters: Iterable[Tensor], seed: Sequence[int], size: float = 1.0
) -> None:
    """Fill parameters of a module with normal numbers over the root of their fan-in."""
    with torch.no_grad():
        for place, own in enumerate(parameters):
            fan = own[0].numel() if own.ndim > 1 else 4
            drawn = normal(*own.shape, seed=[*seed, place], size=size / fan**0.5)
            own.copy_(drawn if own.ndim > 1 else 0.5 + drawn)


def stacked(each: Iterable[Iterable[Tensor]]) -> tuple[Tensor, ...]:
    """Return the parameters of several networks as one's, replicates in front."""
    return tuple(torch.stack(same).detach() for same in zip(*each, strict=True))


def orders(
    n: int, batch: int | None, steps: int, generator: torch.Generator
) -> Iterator[Tensor]:
    """Yield the examples of each step: epochs anew, the last batch what is left."""
    made = 0
    while True:
        order = torch.randperm(n, generator=generator) if batch else torch.arange(n)
        for part in order.split(batch or n):
            if made == steps:
                return
            made += 1
            yield part
