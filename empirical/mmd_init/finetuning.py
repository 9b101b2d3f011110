"""Fine-tuning on random binary tasks: all runs and all tasks as stacks.

The paper takes an initialisation for as good as the networks that are trained from it with
few examples: the mean of their accuracy over tasks, and how little it varies.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from empirical.mmd_init._adam import (
    Learner,
    Progress,
    Told,
    check_adam,
    check_count,
    check_state,
    cross_entropy,
    draws_at_once,
    in_chunks,
)
from empirical.mmd_init.networks import Network, State
from empirical.mmd_init.tasks import Bools, Images, Ints, Split

Floats = npt.NDArray[np.float64]

CPU_BYTES, CUDA_BYTES = 8 * 2**20, 2**30
"""Of activations at once when a whole test set is predicted."""


@dataclass(frozen=True, kw_only=True)
class FinetuneRecipe:
    """Adam on the cross entropy, as the paper has it; nothing regularises.

    Attributes
    ----------
    epochs : int
        All are run; the state after the one of least validation loss counts.
    rate, betas, eps
        Of Adam.
    batch : int
        Examples a step; an epoch's last batch may be smaller.

    Raises
    ------
    ValueError
        If a value does not fit.
    """

    epochs: int = 10
    rate: float = 1e-3
    batch: int = 50
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8

    def __post_init__(self) -> None:
        who = "FinetuneRecipe"
        check_adam(
            who, rate=self.rate, betas=self.betas, eps=self.eps, batch=self.batch
        )
        check_count(who, "epochs", self.epochs)


@dataclass(frozen=True, kw_only=True, eq=False)
class FineTuned:
    """What fine-tuning came to.

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
    """

    test_accuracy: Floats
    best_epoch: Ints
    validation_loss: Floats
    train_loss: Floats
    diverged: Bools
    distances: Floats | None = None

    @property
    def mean(self) -> Floats:
        """Mean accuracy over the tasks, one a run; NaN if one of its tasks diverged."""
        return self.test_accuracy.mean(axis=1)

    @property
    def std(self) -> Floats:
        """Standard deviation over the tasks, divisor tasks - 1, one a run; NaN alike.

        Raises
        ------
        ValueError
            If there is only one task.
        """
        tasks = self.test_accuracy.shape[1]
        if tasks < 2:
            raise ValueError(
                f"FineTuned.std: `tasks` must be at least 2, but there is {tasks}"
            )
        return self.test_accuracy.std(axis=1, ddof=1)


def finetune(
    network: Network,
    state: Mapping[str, Tensor],
    images: Images,
    tasks: Bools,
    splits: Split,
    *,
    generators: Sequence[torch.Generator],
    recipe: FinetuneRecipe | None = None,
    chunk: int | None = None,
    recorded: bool = False,
    progress: Progress | None = None,
) -> FineTuned:
    r"""Train each run's network on each task, by stacks.

    From :math:`\theta_0`, Adam follows the cross entropy of minibatches, drawn anew each
    epoch. After each epoch, not before the first, the loss on the validation examples is
    taken, and where it is least so far the state is kept; accuracy is that state's. With
    batch normalisation a step uses its batch's statistics, validation and test the
    running ones.

    Parameters
    ----------
    network : Network
        Classes are 0 and 1; further outputs are never right.
    state : mapping
        A stack with one draw a run; not changed.
    images : Images
    tasks : bool array, shape (tasks, C)
        See `tasks.random_tasks`.
    splits : Split
        See `tasks.draw_splits`; either shared by the runs or each run's own.
    generators : sequence of torch.Generator, length runs * tasks
        Of the orders of examples, each task of the first run, of the second, ...; on the
        CPU. One a draw: what becomes of it does not depend on which others there are, but
        for rounding.
    recipe : FinetuneRecipe, optional
        By default the paper's.
    chunk : int, optional
        Draws trained together: the same numbers up to rounding, at another speed. By
        default as many as fit into 256 MiB on a CPU, 8 GiB on a GPU, by their parameters,
        gradients and moments.
    recorded : bool
        Whether the distance from the start is recorded at each step.
    progress : callable, optional
        Called after each epoch with the updates done, those in all, and its mean loss.

    Returns
    -------
    FineTuned
        A draw with a loss that is not finite is marked, and stops no other.

    Raises
    ------
    ValueError
        If shapes do not fit, a task is constant, values are not finite, or a batch of
        one is to be normalised.

    Examples
    --------
    >>> from empirical.mmd_init.tasks import draw_splits, images, random_tasks
    >>> from empirical.randomness import numpy_generator, torch_generator
    >>> digits = images(side=8, limit=1000, tests=500, cached=False)
    >>> tasks = random_tasks(3, numpy_generator(7, "tasks"))
    >>> splits = draw_splits(digits.labels, 3, 40, numpy_generator(7, "splits"))
    >>> net = Network(widths=(64, 64, 2))
    >>> start = net.init("he", [torch_generator(7, "start", i) for i in range(2)])
    >>> orders = [torch_generator(7, "order", i) for i in range(6)]
    >>> done = finetune(net, start, digits, tasks, splits, generators=orders)
    >>> done.test_accuracy.shape, bool((done.mean > 0.75).all())
    ((2, 3), True)
    """
    recipe = recipe or FinetuneRecipe()
    runs = _checked(network, state, images, tasks, splits, recipe)
    draws = runs * len(tasks)
    if len(generators) != draws:
        raise ValueError(
            f"finetune: `generators` must be {draws}, one for each of {runs} runs and "
            f"{len(tasks)} tasks, but they are {len(generators)}"
        )
    chunk = draws_at_once(network, state) if chunk is None else chunk
    check_count("finetune", "chunk", chunk)
    moved = _Data(images, tasks, splits, runs, state[network.learnt()[0]])
    updates = recipe.epochs * math.ceil(splits.train.shape[-1] / recipe.batch)
    parts: list[dict[str, Tensor]] = []
    for members, told in in_chunks(draws, chunk, updates, progress):
        own = {name: t[[d // len(tasks) for d in members]] for name, t in state.items()}
        part = _Chunk(network, own, moved, members, recipe)
        orders = [generators[d] for d in members]
        parts.append(part.run(orders, told, recorded=recorded))
    joined: dict[str, Any] = {}
    for name in (f.name for f in fields(FineTuned)):
        if name in parts[0]:
            whole = torch.cat([p[name] for p in parts]).cpu().numpy()
            joined[name] = whole.reshape(runs, len(tasks), *whole.shape[1:])
    return FineTuned(**joined)


def _checked(
    network: Network,
    state: Mapping[str, Tensor],
    images: Images,
    tasks: Bools,
    splits: Split,
    recipe: FinetuneRecipe,
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
    _check_batches(network, splits.train.shape[-1], recipe.batch)
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


class _Data:
    """Examples and labels of each draw, on its device."""

    def __init__(
        self, images: Images, tasks: Bools, splits: Split, runs: int, like: Tensor
    ) -> None:
        self.inputs = images.inputs.to(like)
        self.test_inputs = images.test_inputs.to(like)
        self.like, self.tasks = like, len(tasks)
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


class _Chunk:
    """Some draws in training together."""

    def __init__(
        self,
        network: Network,
        state: State,
        data: _Data,
        members: range,
        recipe: FinetuneRecipe,
    ) -> None:
        self.network, self.data, self.recipe = network, data, recipe
        self.learner = Learner(
            network, state, rate=recipe.rate, betas=recipe.betas, eps=recipe.eps
        )
        device = data.like.device
        index = torch.tensor(list(members), device=device)
        self.tasks = (index % data.tasks)[:, None]
        self.train, self.validation = data.train[index], data.validation[index]
        self.start: list[Tensor] = []
        self.distances: list[Tensor] = []

    def run(
        self, generators: list[torch.Generator], told: Told, *, recorded: bool
    ) -> dict[str, Tensor]:
        """Train; return the fields of the result, one row a draw."""
        if recorded:
            self.start = [p.detach().clone() for p in self.learner.leaves]
            self._record()
        diverged = self.learner.diverged
        best = torch.full_like(diverged, torch.inf, dtype=torch.float64)
        epoch_of_best = torch.zeros_like(diverged, dtype=torch.int64)
        train, validation = [], []
        for epoch in range(1, self.recipe.epochs + 1):
            train.append(self._epoch(generators))
            loss = self._validation_loss()
            diverged |= ~torch.isfinite(loss)
            better = loss < best
            best = torch.where(better, loss, best)
            epoch_of_best[better] = epoch
            self.learner.keep(better)
            validation.append(loss)
            done = epoch * math.ceil(self.train.shape[1] / self.recipe.batch)
            told(done, float(train[-1].mean()))
        found = {
            "test_accuracy": self._accuracy().masked_fill(diverged, torch.nan),
            "best_epoch": epoch_of_best,
            "validation_loss": torch.stack(validation, dim=1),
            "train_loss": torch.stack(train, dim=1),
            "diverged": diverged,
        }
        if recorded:
            found["distances"] = torch.stack(self.distances, dim=1)
        return found

    def _epoch(self, generators: list[torch.Generator]) -> Tensor:
        """Take an epoch's steps; return the mean loss, one a draw."""
        count = self.train.shape[1]
        orders = torch.stack([torch.randperm(count, generator=g) for g in generators])
        rows = self.train.gather(1, orders.to(self.train.device))
        total = torch.zeros_like(self.tasks[:, 0], dtype=torch.float64)
        for part in rows.split(self.recipe.batch, dim=1):
            classes = self.data.classes[self.tasks, part]
            losses = self.learner.step(self.data.inputs[part], classes)
            total += losses.double() * part.shape[1]
            if self.start:
                self._record()
        return total / count

    @torch.no_grad()
    def _record(self) -> None:
        moved = zip(self.learner.leaves, self.start, strict=True)
        squares = [
            (p - s).flatten(1).square().sum(dim=1, dtype=torch.float64)
            for p, s in moved
        ]
        self.distances.append(torch.stack(squares).sum(dim=0).sqrt())

    @torch.no_grad()
    def _validation_loss(self) -> Tensor:
        x = self.data.inputs[self.validation]
        logits, _ = self.network.run(self.learner.state, x)
        classes = self.data.classes[self.tasks, self.validation]
        return cross_entropy(logits, classes).double()

    @torch.no_grad()
    def _accuracy(self) -> Tensor:
        """Return the share of test images that the kept states get right."""
        x, kept = self.data.test_inputs, self.learner.kept
        right = torch.zeros_like(self.tasks[:, 0])
        on_cpu = x.device.type == "cpu"
        widest = max(a + b for a, b in pairwise((*self.network.widths[1:], 0)))
        one = len(right) * widest * x.element_size()
        size = max(1, (CPU_BYTES if on_cpu else CUDA_BYTES) // one)
        for rows in torch.arange(len(x), device=x.device).split(size):
            logits, _ = self.network.run(kept, x[rows])
            classes = self.data.test_classes[self.tasks, rows]
            right += (logits.argmax(dim=-1) == classes).sum(dim=1)
        return right.double() / len(x)
