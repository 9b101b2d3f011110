"""What trainings of stacks refuse."""

import numpy as np

from empirical.checks import check_finite
from empirical.mmd_init.binary_tasks import Bools, Images, Split
from empirical.networks import FullyConnected, Params


def check_params(who: str, network: FullyConnected, params: Params) -> int:
    """Return the number of replicates; refuse what is no finite stack of `network`."""
    network.check_params(params)
    for index, p in enumerate(params):
        check_finite(who, f"params[{index}]", p, ". Leave out what diverged.")
    return len(params[0])


def check_tuning(
    network: FullyConnected,
    params: Params,
    images: Images,
    tasks: Bools,
    splits: Split,
    *,
    batch: int,
) -> int:
    """Return the number of runs; refuse what does not fit together."""
    runs = check_params("finetune", network, params)
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


def _check_batches(network: FullyConnected, count: int, batch: int) -> None:
    # The variance of a single example is 0: nothing would be left of it.
    if network.norm and 1 in (batch, count % batch):
        raise ValueError(
            f"finetune: `batch` must leave no batch of 1 for batch normalisation, but "
            f"it is {batch} for {count} examples. Change it by one or two."
        )
