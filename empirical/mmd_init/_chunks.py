"""Stacks trained a chunk after the other, as many replicates as memory has room for."""

from collections.abc import Callable

import torch
from torch import Tensor

from empirical.networks import FullyConnected, Params
from empirical.testbed.checkpoints import Checkpoint

Progress = Callable[[int, int, float], None]
"""Called with updates done, updates in all, and the mean loss of the last ones."""
Told = Callable[[int, float], None]
"""The same for one part: its updates done, and the loss."""
Train = Callable[[range, Told, Checkpoint | None], dict[str, Tensor]]
"""Trains some replicates; returns what came of them, replicates in front."""

CPU_BYTES, CUDA_BYTES = 256 * 2**20, 8 * 2**30
"""Of parameters, gradients and moments at once."""


def replicates_at_once(network: FullyConnected, params: Params) -> int:
    """Return how many replicates to train together by default.

    Parameters, gradients and both moments of all fit a budget. On a CPU it is enough to
    hide the cost of calls, and more brings nothing: networks of some hundred units
    a layer are limited by arithmetic and memory from the first on.

    Examples
    --------
    >>> net = FullyConnected(widths=(784, 392, 392, 392, 2), bias=True)
    >>> replicates_at_once(net, net.init(generator=torch.Generator(), dtype=torch.float32))
    27
    """
    one = params[0]
    budget = CPU_BYTES if one.device.type == "cpu" else CUDA_BYTES
    return max(1, budget // (4 * network.parameters * one.element_size()))


def in_chunks(
    train: Train,
    draws: int,
    size: int,
    updates: int,
    *,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> dict[str, Tensor]:
    """Train `size` draws after the other; return what came of all, on the CPU.

    Parameters
    ----------
    train : callable
    draws, size, updates : int
        Updates of each chunk.
    progress : callable, optional
        Called with the updates done, those in all, and a loss.
    checkpoint : Checkpoint, optional
        Where results of whole chunks are kept; the one in training has its
        own beside it, numbered.

    Examples
    --------
    >>> def train(members, told, checkpoint):
    ...     told(50, 0.7)
    ...     return {"squares": torch.tensor(members).square()}
    >>> in_chunks(train, 5, 3, 100, progress=lambda *seen: print(*seen))
    50 200 0.7
    150 200 0.7
    {'squares': tensor([ 0,  1,  4,  9, 16])}
    """
    firsts = range(0, draws, size)
    saved = None if checkpoint is None else checkpoint.read(torch.device("cpu"))
    found: list[dict[str, Tensor]] = [] if saved is None else saved["found"]
    for index in range(len(found), len(firsts)):

        def told(done: int, loss: float, before: int = index * updates) -> None:
            if progress is not None:
                progress(before + done, len(firsts) * updates, loss)

        members = range(firsts[index], min(firsts[index] + size, draws))
        if checkpoint is None:
            found.append(train(members, told, None))
            continue
        path = checkpoint.path.with_name(f"{checkpoint.path.name}.{index}")
        own = Checkpoint(path, of=checkpoint.of, seconds=checkpoint.seconds)
        found.append(train(members, told, own))
        checkpoint.write({"found": found})
        path.unlink(missing_ok=True)
    return {name: torch.cat([part[name].cpu() for part in found]) for name in found[0]}
