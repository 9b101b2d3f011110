"""What trainings of stacks refuse."""

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from empirical.mmd_init.networks import Network
from empirical.mmd_init.tasks import Bools, Images, Split


def check_adam(
    who: str, *, rate: float, betas: tuple[float, float], eps: float, batch: int
) -> None:
    """Refuse numbers that Adam has no use for.

    Raises
    ------
    ValueError
        Naming the recipe, the argument and the offender.
    """
    for name, value in (("rate", rate), ("eps", eps)):
        if not (math.isfinite(value) and value > 0.0):
            raise ValueError(
                f"{who}: `{name}` must be positive and finite, but it is {value}"
            )
    if len(betas) != 2 or not all(0.0 <= b < 1.0 for b in betas):
        raise ValueError(f"{who}: `betas` must be two in [0, 1), but they are {betas}")
    check_count(who, "batch", batch)


def check_count(who: str, name: str, value: int) -> None:
    """Refuse what is not at least 1.

    Raises
    ------
    ValueError
        Naming caller, argument and offender.
    """
    if value < 1:
        raise ValueError(f"{who}: `{name}` must be at least 1, but it is {value}")


def check_state(who: str, network: Network, state: Mapping[str, Tensor]) -> int:
    """Return the number of draws of a stack; refuse what is not one of `network`.

    Raises
    ------
    ValueError
        If tensors are absent, of other shapes or not finite.
    """
    running = [s for layer in network.spec.plan for s in layer.running]
    names = [*network.learnt(), *network.running()]
    wanted = dict(zip(names, [*network.spec.shapes, *running], strict=True))
    absent = [name for name in wanted if name not in state]
    if absent:
        raise ValueError(
            f"{who}: `state` must have the tensors of `network`, but {len(absent)} of "
            f"{len(wanted)} are absent, e.g. {absent[0]!r}"
        )
    draws = len(state[next(iter(wanted))])
    for name, shape in wanted.items():
        found = state[name]
        if tuple(found.shape) != (draws, *shape) or not draws:
            raise ValueError(
                f"{who}: `state` must be a stack, {name!r} of shape "
                f"{(max(draws, 1), *shape)}, but it is {tuple(found.shape)}. A single "
                "draw needs a 1 in front: `stacked([state])`."
            )
        bad = int((~torch.isfinite(found)).sum())
        if bad:
            raise ValueError(
                f"{who}: `state` must be finite, but {bad} of {found.numel()} entries "
                f"of {name!r} are not. Leave draws that diverged out."
            )
    return draws


def check_tuning(
    network: Network,
    state: Mapping[str, Tensor],
    images: Images,
    tasks: Bools,
    splits: Split,
    *,
    batch: int,
) -> int:
    """Return the number of runs; refuse what does not fit together."""
    runs = check_state("finetune", network, state)
    features = images.inputs.shape[1]
    if features != network.widths[0]:
        raise ValueError(
            f"finetune: `network` must have {features} inputs, as the images have, but "
            f"it has {network.widths[0]}"
        )
    if tasks.ndim != 2 or tasks.dtype != np.bool_ or not len(tasks):
        raise ValueError(
            "finetune: `tasks` must be a bool array (tasks, classes), but it is "
            f"{tasks.dtype} of shape {tasks.shape}"
        )
    constant = tasks.all(axis=1) | ~tasks.any(axis=1)
    if constant.any():
        worst = int(constant.argmax())
        raise ValueError(
            f"finetune: `tasks` must have both labels, but {int(constant.sum())} of "
            f"{len(tasks)} do not, e.g. task {worst}: {tasks[worst].astype(int).tolist()}"
        )
    most = int(max(images.labels.max(), images.test_labels.max()))
    if most >= tasks.shape[1]:
        raise ValueError(
            f"finetune: `tasks` must label the classes 0..{most} of the images, but "
            f"there are {tasks.shape[1]} columns"
        )
    _check_splits(splits, runs, len(tasks), len(images.inputs))
    _check_batches(network, splits.train.shape[-1], batch)
    return runs


def _check_splits(splits: Split, runs: int, tasks: int, count: int) -> None:
    for name, rows in (("train", splits.train), ("validation", splits.validation)):
        if rows.shape[:-1] not in ((tasks,), (runs, tasks)):
            raise ValueError(
                f"finetune: `splits.{name}` must be ({tasks}, n) or ({runs}, {tasks}, n)"
                f", but its shape is {rows.shape}"
            )
        outside = (rows < 0) | (rows >= count)
        if outside.any():
            raise ValueError(
                f"finetune: `splits.{name}` must lie in 0..{count - 1}, but "
                f"{int(outside.sum())} of {rows.size} entries do not, e.g. "
                f"{rows[outside][0]}"
            )


def _check_batches(network: Network, count: int, batch: int) -> None:
    # The variance of a single example is 0: nothing would be left of it.
    if network.batch_norm and 1 in (batch, count % batch):
        raise ValueError(
            f"finetune: `batch` must leave no batch of 1 for batch normalisation, but "
            f"it is {batch} for {count} examples. Change it by one or two."
        )
