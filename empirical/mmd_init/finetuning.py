"""Fine-tuning on random binary tasks: all runs and all tasks as stacks.

The paper takes an initialisation for as good as the networks that are trained from it with
few examples: the mean of their accuracy over tasks, and how little it varies.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from empirical.checks import check_whole
from empirical.mmd_init.binary_tasks import Images, Split
from empirical.mmd_init.recipes import FinetuneRecipe
from empirical.mmd_init.task import check_params
from empirical.networks import FullyConnected
from empirical.testbed import loop
from empirical.testbed.batches import Epochs
from empirical.testbed.checkpoints import Checkpoint, fingerprint
from empirical.testbed.observers import BestWindow, Curve, Series
from empirical.testbed.optimisers import Adam
from empirical.testbed.stack import Params, Stack
from empirical.testbed.supervised import Classify, cross_entropy
from empirical.testbed.writing import Array, Bools, Integers

CPU_BYTES, CUDA_BYTES = 8 * 2**20, 2**30
"""Of activations at once when a whole test set is predicted."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FineTuned:
    """Results of fine-tuning.

    Attributes
    ----------
    test_accuracy : float array, shape (runs, tasks)
        In [0, 1], over all test images, after the best epoch. NaN where training
        diverged, whatever came before.
    best_epoch : int array, shape (runs, tasks)
        1..epochs, the first of least validation loss; 0 where none is finite.
    validation_loss, train_loss : float array, shape (runs, tasks, epochs)
        After each epoch, and the mean over the examples of each while it was run.
    diverged : bool array, shape (runs, tasks)
        Whether a loss was not finite.
    distances : float array, shape (runs, tasks, steps + 1), optional
        Of weights, biases, gains and shifts from where they began, in Euclidean norm.
    reached : float array, shape (runs, tasks, times), optional
        Test accuracies after the updates that were asked for.
    """

    test_accuracy: Array
    best_epoch: Integers
    validation_loss: Array
    train_loss: Array
    diverged: Bools
    distances: Array | None = None
    reached: Array | None = None

    @property
    def mean(self) -> Array:
        """Mean accuracy over the tasks, one a run; NaN if one of its tasks diverged."""
        return self.test_accuracy.mean(axis=1)


def finetune(
    network: FullyConnected,
    params: Params,
    images: Images,
    tasks: Bools,
    splits: Split,
    *,
    generators: Sequence[torch.Generator],
    buffers: Params = (),
    recipe: FinetuneRecipe | None = None,
    recorded: bool = False,
    reached: Sequence[int] = (),
    progress: loop.Progress | None = None,
    checkpoint: Path | None = None,
) -> FineTuned:
    r"""Train each run's network on each task, by stacks.

    From :math:`\theta_0`, Adam follows the cross entropy of minibatches, drawn anew each
    epoch. After each epoch, not before the first, the loss on the validation examples is
    taken, and where it is least so far the state is kept; accuracy is that state's. With
    batch normalisation a step uses its batch's statistics, validation and test the
    running ones.

    Parameters
    ----------
    network : FullyConnected
        Classes are 0 and 1; further outputs are never right.
    params : tuple of Tensor
        One replicate a run; not changed.
    images : Images
    tasks : bool array, shape (tasks, C)
        See `tasks.random_tasks`.
    splits : Split
        See `tasks.draw_splits`; either shared by the runs or each run's own.
    generators : sequence of torch.Generator, length runs * tasks
        Of the orders of examples, each task of the first run, of the second, ...; on the
        CPU. What becomes of a replicate does not depend on which others there are, but
        for rounding.
    buffers : tuple of Tensor, optional
        Running statistics of batch normalisation to begin with.
    recipe : FinetuneRecipe, optional
        By default the paper's.
    recorded : bool
        Whether the distance from the start is recorded at each step.
    reached : sequence of int
        Updates after which the test accuracy is recorded, increasing, whatever the
        validation loss; no more than all epochs make.
    progress : callable, optional
        Called after each epoch, and on the way to its end, with the updates done, those
        in all, and the mean loss of the last epoch that is whole (before, of an update).
    checkpoint : Path, optional
        Where progress is kept; a call that finds one goes on from it. Not removed at the
        end.

    Returns
    -------
    FineTuned
        A replicate with a loss that is not finite is marked, and stops no other.

    Raises
    ------
    ValueError
        If shapes do not fit, a task is constant, values are not finite, a batch of one
        is to be normalised, or the checkpoint is of other arguments.

    Examples
    --------
    >>> from empirical.mmd_init.networks import classifier, start
    >>> from empirical.mmd_init.binary_tasks import draw_splits, images, random_tasks
    >>> from empirical.randomness import numpy_generator, torch_generator
    >>> digits = images(side=8, limit=1000, tests=500, cached=False)
    >>> tasks = random_tasks(3, numpy_generator(7, "tasks"))
    >>> splits = draw_splits(digits.labels, 3, 40, numpy_generator(7, "splits"))
    >>> net = classifier((64, 64, 2))
    >>> first = start(net, "he", [torch_generator(7, "start", i) for i in range(2)])
    >>> orders = [torch_generator(7, "order", i) for i in range(6)]
    >>> done = finetune(net, first, digits, tasks, splits, generators=orders)
    >>> done.test_accuracy.shape, bool((done.mean > 0.75).all())
    ((2, 3), True)
    """
    recipe = recipe or FinetuneRecipe()
    runs = _check(network, params, images, tasks, splits, batch=recipe.batch)
    replicates = runs * len(tasks)
    if len(generators) != replicates:
        raise ValueError(
            f"finetune: `generators` must be {replicates}, one for each of {runs} runs and "
            f"{len(tasks)} tasks, but they are {len(generators)}"
        )
    data = _Data(images, tasks, splits, runs, params[0])
    fresh = network.running(params)
    buffers = buffers or fresh
    shapes, wanted = ([tuple(b.shape) for b in each] for each in (buffers, fresh))
    if shapes != wanted:
        raise ValueError(
            "finetune: `buffers` must be the running statistics of `network`, of shapes "
            f"{wanted}, but theirs are {shapes}"
        )
    of = torch.arange(replicates, device=params[0].device)
    whose, task = of // len(tasks), (of % len(tasks))[:, None]
    stack = Stack(
        network.arranged(tuple(p[whose] for p in params)),
        rates=recipe.rate,
        buffers=tuple(b[whose] for b in buffers),
        learnt=network.of_layer(-1) if recipe.frozen else None,
    )
    train, held_out = data.train, data.validation
    held_out_classes = data.classes[task, held_out]

    def validation(stack: Stack) -> Tensor:
        x, running = data.inputs[held_out], stack.buffers
        signals = network.run(stack.params, x, buffers=running, training=False)
        return cross_entropy(signals.outputs, held_out_classes)

    batches = Epochs(train.shape[1], recipe.batch, generators)
    per_epoch = batches.per_epoch
    steps = recipe.epochs * per_epoch
    curve, best = Curve(np.arange(steps)), BestWindow(per_epoch, validation)
    moved = Series(np.arange(steps + 1), _distance_from(stack.params))
    _check_reached(reached, steps)

    def tested(stack: Stack) -> dict[str, Tensor]:
        of = (stack.params, stack.buffers, data, stack.select(task))
        return {"accuracy": _accuracy(network, *of)}

    scored = Series(reached, tested)

    def epochs(values: Array) -> Array:
        """Return the mean over the examples of epochs, of losses (replicates, updates)."""
        sizes = np.full(per_epoch, batches.batch)
        sizes[-1] = train.shape[1] - (per_epoch - 1) * batches.batch
        parts = values.reshape(len(values), -1, per_epoch)
        return (parts * sizes).sum(axis=2) / train.shape[1]

    def told(done: int, total: int, loss: float) -> None:
        if progress is None:
            return
        if epoch := done // per_epoch:
            last = slice((epoch - 1) * per_epoch, epoch * per_epoch)
            loss = float(epochs(curve.values[:, last]).mean())
        progress(done, total, loss)

    loop.train(
        Classify(network, data.inputs, train, data.classes[task, train]),
        stack,
        Adam(betas=recipe.betas, eps=recipe.eps),
        steps=steps,
        check=per_epoch,
        batches=batches,
        observers=[
            curve,
            best,
            *([moved] if recorded else []),
            *([scored] if reached else []),
        ],
        # Examples to judge by, and tests, are no part of the training.
        checkpoint=checkpoint and Checkpoint(checkpoint, of=fingerprint(vars(data))),
        progress=told,
    )
    # A replicate whose loss was not finite stays: what it makes of the rest is not finite.
    every = np.hstack([curve.values, best.values])
    finite = np.asarray(np.isfinite(every).all(axis=1))
    right = _accuracy(network, best.params, best.buffers, data, task).cpu().numpy()

    def by_task(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return values.reshape(runs, len(tasks), *values.shape[1:])

    return FineTuned(
        test_accuracy=by_task(np.where(finite, right, np.nan)),
        best_epoch=by_task(best.at // per_epoch),
        validation_loss=by_task(best.values),
        train_loss=by_task(epochs(curve.values)),
        diverged=by_task(np.logical_not(finite)),
        distances=by_task(moved.values["distance"].T.copy()) if recorded else None,
        reached=by_task(scored.values["accuracy"].T.copy()) if reached else None,
    )


def _check(
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
    count = splits.train.shape[-1]
    # The variance of a single example is 0: nothing would be left of it.
    if network.norm and 1 in (batch, count % batch):
        raise ValueError(
            f"finetune: `batch` must leave no batch of 1 for batch normalisation, but "
            f"it is {batch} for {count} examples. Change it by one or two."
        )
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


def _check_reached(reached: Sequence[int], steps: int) -> None:
    for t in reached:
        check_whole("finetune", reached=t)
    within = all(0 <= t <= steps for t in reached)
    if not within or any(a >= b for a, b in pairwise(reached)):
        raise ValueError(
            f"finetune: `reached` must be updates in 0..{steps}, increasing, but they are"
            f" {list(reached)}"
        )


class _Data:
    """Examples and labels of each replicate, on its device."""

    def __init__(
        self, images: Images, tasks: Bools, splits: Split, runs: int, like: Tensor
    ) -> None:
        self.inputs = images.inputs.to(like)
        self.test_inputs = images.test_inputs.to(like)
        table = torch.from_numpy(tasks.astype(np.int64)).to(like.device)
        self.classes = table[:, images.labels.to(like.device)]
        self.test_classes = table[:, images.test_labels.to(like.device)]
        every = (runs, len(tasks))
        self.train, self.validation = (
            torch.from_numpy(np.array(np.broadcast_to(rows, (*every, rows.shape[-1]))))
            .flatten(0, 1)
            .to(like.device)
            for rows in (splits.train, splits.validation)
        )


def _distance_from(start: Params) -> Callable[[Stack], dict[str, Tensor]]:
    first = [p.clone() for p in start]

    def distance(stack: Stack) -> dict[str, Tensor]:
        each = [
            torch.linalg.vector_norm(
                p - stack.select(s), dim=tuple(range(1, p.ndim)), dtype=torch.float64
            )
            for p, s in zip(stack.params, first, strict=True)
        ]
        return {"distance": torch.linalg.vector_norm(torch.stack(each), dim=0)}

    return distance


@torch.no_grad()
def _accuracy(
    network: FullyConnected, params: Params, buffers: Params, data: _Data, tasks: Tensor
) -> Tensor:
    """Return the share of test images that each replicate gets right."""
    x = data.test_inputs
    right = torch.zeros_like(tasks[:, 0])
    widest = max(a + b for a, b in pairwise((*network.widths[1:], 0)))
    one = len(right) * widest * x.element_size()
    size = max(1, (CPU_BYTES if x.device.type == "cpu" else CUDA_BYTES) // one)
    for rows in torch.arange(len(x), device=x.device).split(size):
        logits = network.run(params, x[rows], buffers=buffers, training=False).outputs
        right += (logits.argmax(dim=-1) == data.test_classes[tasks, rows]).sum(dim=1)
    return right.double() / len(x)
