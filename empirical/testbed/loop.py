"""The training loop.

Between pauses the device works alone. Pauses come at multiples of `check` and wherever
an observer asks for one, never by the clock, so that a run that was killed and goes on
from a checkpoint makes the same updates in the same parts. Where updates are slow the
loop rests on the way to a pause, too: it can be stopped between any two updates, and its
checkpoint then holds what was drawn and seen since the last pause.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical.checks import check_counts, check_kinds
from empirical.randomness import Drawing
from empirical.testbed import stopping
from empirical.testbed.batches import Batches, Whole, drawn_by
from empirical.testbed.capture import captured
from empirical.testbed.checkpoints import Checkpoint, entries_of, told_of
from empirical.testbed.observers import Observer, check_observers, take_
from empirical.testbed.optimisers import Optimiser
from empirical.testbed.slopes import Slope
from empirical.testbed.stack import Params, Stack
from empirical.testbed.telling import Progress
from empirical.testbed.threads import one_thread
from empirical.testbed.writing import Array, Integers

RESTS = 2.0
"""Seconds after which the loop rests on its way to a pause."""


class Task(Drawing, ABC):
    """What one update learns from: all that a paper brings to training.

    Attributes
    ----------
    capturable : bool
        Whether an update can be recorded as a CUDA graph: it draws no random numbers
        and never waits for the device.
    examples : int, optional
        How many there are; where a task says it, batches of others are refused.
    """

    capturable: bool = True
    examples: int | None = None

    @abstractmethod
    def losses(self, params: Params, stack: Stack, examples: Tensor | None) -> Tensor:
        """Return each replicate's loss, and what else is to be noted.

        Parameters
        ----------
        params : tuple of Tensor
            To be differentiated by; `stack.params` in value.
        stack : Stack
            For its rows and buffers; see `Stack.select`.
        examples : Tensor of int64, shape (batch,) or (replicates, batch), optional
            Absent, all. With a row for each replicate of the start; `Stack.examples` has
            those of the stack.

        Returns
        -------
        Tensor, shape (replicates,) or (1 + notes, replicates)
            Losses first. Replicates must share no parameter: then the gradient of the
            sum is every replicate's own.
        """

    def losses_and_slopes(
        self, stack: Stack, examples: Tensor | None
    ) -> tuple[Tensor, Sequence[Slope]]:
        """Return the losses as `losses` does, and the gradients of `stack.trained`.

        By autograd; a task that knows a faster way overrides it, and is held to this
        one by a test.
        """
        return by_autograd(self, stack, examples)


class Compiled(Task):
    """A task whose losses and gradients are compiled by `torch.compile`.

    The first update takes ten seconds or more, as do some updates after replicates have
    left. It needs a C++ compiler on a CPU, Triton on a GPU. Gradients are autograd's; a
    task's own gradients are not used.

    Parameters
    ----------
    task : Task
    backend : str
        Of `torch.compile`; ``"aot_eager"`` traces without compiling.
    """

    capturable = False

    def __init__(self, task: Task, backend: str = "inductor") -> None:
        self.task, self.examples = task, task.examples
        self._losses = torch.compile(task.losses, backend=backend)

    def losses(self, params: Params, stack: Stack, examples: Tensor | None) -> Tensor:
        """Return the task's losses, up to rounding."""
        try:
            return self._losses(params, stack, examples)
        except RuntimeError as error:
            if not type(error).__module__.startswith("torch._"):
                raise
            # What the task itself refuses, it says better.
            self.task.losses(params, stack, examples)
            raise ValueError(
                "train: `compile` must be False for a task that `torch.compile` can't "
                f"compile, but PyTorch says: {' '.join(str(error).split()):.200}"
            ) from error

    def state(self) -> dict[str, Any]:
        """Return the task's state."""
        return self.task.state()

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore the task's state."""
        self.task.load(state)


def by_autograd(
    task: Task, stack: Stack, examples: Tensor | None
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return a task's losses and notes, and the gradients of the trained parameters."""
    learnt = set(stack.learnt)
    leaves = tuple(
        p.detach().requires_grad_(index in learnt)
        for index, p in enumerate(stack.params)
    )
    with torch.enable_grad():
        seen = task.losses(leaves, stack, examples)
        losses = _losses(seen)
        if not losses.requires_grad:
            raise ValueError(
                "train: `task` must return losses that have slopes by a trained parameter,"
                " but they have none. Leave out `detach`, `no_grad`, `argmax` and"
                " comparisons: count errors after training."
            )
        # A parameter that no loss depends on has slope zero.
        slopes = torch.autograd.grad(
            losses.sum(), [leaves[i] for i in stack.learnt], materialize_grads=True
        )
    return seen.detach(), slopes


def _losses(seen: Tensor) -> Tensor:
    """Return the losses among what an update notes."""
    return seen[0] if seen.ndim == 2 else seen


@dataclass(frozen=True, kw_only=True, eq=False)
class Trained:
    """Results of training a stack, replicate by replicate.

    Attributes
    ----------
    status : tuple of str
        ``"finished"``, or why an observer sent it away.
    steps : array of int, shape (replicates,)
        Updates made.
    initial, final : tuple of Tensor
        First and last parameters, replicates in front.
    buffers : tuple of Tensor
        Last buffers.
    """

    status: tuple[str, ...]
    steps: Integers
    # A prompt would print them all.
    initial: Params = field(repr=False)
    final: Params = field(repr=False)
    buffers: Params = field(repr=False)


def train(
    task: Task,
    stack: Stack,
    optimiser: Optimiser,
    *,
    steps: int,
    check: int = 100,
    batches: Batches | None = None,
    observers: Sequence[Observer] = (),
    together: int | None = None,
    compile: bool = False,
    checkpoint: Checkpoint | Path | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Train every replicate of a stack, side by side, each for itself, in one thread.

    Parameters
    ----------
    task : Task
    stack : Stack
        Changed in place; at the end it holds the replicates that finished. Its clock and
        what an optimiser keeps start at zero.
    optimiser : Optimiser
    steps : int
        Updates, for replicates that no observer sends away.
    check : int
        Most updates between two pauses.
    batches : Batches, optional
        Which examples each update learns from; all by default.
    observers : sequence of Observer
        Asked in this order; the first that sends a replicate away gives it its status.
        Where none is `observers.Diverged`, a replicate that explodes goes on to the end.
    together : int, optional
        Replicates that are updated together, up to the next pause before the others:
        few enough stay in a processor's cache. All by default.
    compile : bool
        By `Compiled`: worth its start where an update is many small operations and
        there are thousands of updates; `docs/own-module.md` has what it gains.
    checkpoint : Checkpoint or Path, optional
        A run that finds one goes on from it, update by update as if it had not stopped.
        It is of the same code, start, optimiser, generators' seeds and `told` settings of
        the others, or refused. The file is not removed at the end: that is for whoever
        has written what came of the training.
    progress : callable, optional
        Called at pauses, and every two seconds on the way to one.

    Raises
    ------
    ValueError
        If `task`, `stack` or another argument is none of its class, an observer is there
        twice or two set learning rates, `steps`, `check` or `together` is less than
        1, replicates have left the stack before, losses or batches are not as `Task` and
        `Batches` say, batches are for other replicates or of other examples, or the
        checkpoint is of another training, or of more than `steps`; with `compile`, if
        the task can't be compiled.
    stopping.Stopped
        If a stop was requested; the checkpoint has been written.

    Examples
    --------
    Two replicates descend on the half-square of one number, at rates of their own:

    >>> from empirical.testbed.optimisers import SGD
    >>> class HalfSquare(Task):
    ...     def losses(self, params, stack, examples):
    ...         return 0.5 * params[0].square()
    >>> stack = Stack([torch.ones(2)], rates=[0.5, 0.25])
    >>> train(HalfSquare(), stack, SGD(), steps=2).final[0].tolist()
    [0.25, 0.5625]
    """
    batches = batches or Whole()
    if isinstance(checkpoint, Path):
        checkpoint = Checkpoint(checkpoint)
    check_kinds(
        "train",
        task=(task, Task),
        stack=(stack, Stack),
        optimiser=(optimiser, Optimiser),
        batches=(batches, Batches),
        checkpoint=(checkpoint, Checkpoint | None),
    )
    check_observers("train", observers)
    check_counts("train", steps=steps, check=check, together=together)
    shown = Compiled(task) if compile else task
    run = _Run(shown, stack, optimiser, batches, observers)
    if checkpoint is not None:
        run.given = told_of(task, stack, optimiser, batches, observers, together)
        run.given["fingerprint"] = checkpoint.of
        run.resume(checkpoint)
    if run.t + len(run.drawn) > steps:
        raise ValueError(
            f"train: `steps` must be at least {run.t + len(run.drawn)}, which the "
            f"checkpoint has begun, but it is {steps}"
        )

    def rest(made: int, losses: Array) -> None:
        """Tell where training stands, and write what is due, or left at a stop."""
        try:
            if progress is not None:
                progress(made, steps, float(np.median(losses)))
            stopping.check()
        except BaseException:
            if checkpoint is not None:
                checkpoint.write(run.state())
            raise
        if checkpoint is not None and checkpoint.due:
            checkpoint.write(run.state())

    with one_thread(), torch.no_grad():
        while run.t < steps and len(stack):
            losses = run.advance(min(steps, run.pause(check)), together, rest)
            rest(run.t, losses)
        for observer in observers if len(stack) else ():
            observer.before(run.t, stack)
        run.leave(dict.fromkeys(range(len(stack)), "finished"), drop=False)
    if checkpoint is not None:
        checkpoint.write(run.state())
    return Trained(
        status=tuple(run.status),
        steps=run.steps,
        initial=run.initial,
        final=run.final,
        buffers=run.buffers,
    )


class _Run:
    """A stack in training, and what became of those that have left it."""

    def __init__(
        self,
        task: Task,
        stack: Stack,
        optimiser: Optimiser,
        batches: Batches,
        observers: Sequence[Observer],
    ) -> None:
        if stack.rows.tolist() != list(range(len(stack))):
            raise ValueError(
                "train: `stack` must hold all replicates of its start, but some have "
                "left. Make a new one of those that stayed: "
                "Stack(stack.params, rates=stack.rates, buffers=stack.buffers, "
                "learnt=stack.learnt)."
            )
        if batches.examples is not None and task.examples not in (
            None,
            batches.examples,
        ):
            raise ValueError(
                f"train: `batches` must be of the task's {task.examples} examples, but "
                f"they are of {batches.examples}"
            )
        self.task, self.stack, self.optimiser = task, stack, optimiser
        self.batches, self.observers = batches, observers
        # What a checkpoint is compared by.
        self.given: dict[str, str] = {}
        self.t = 0
        # Moments are new: a clock that went on would not correct their bias.
        stack.clock.zero_()
        self.status = ["running"] * len(stack)
        self.steps = np.zeros(len(stack), dtype=np.int64)
        self.initial = tuple(p.clone() for p in stack.params)
        # Filled as replicates leave.
        self.final = tuple(torch.zeros_like(p) for p in stack.params)
        self.buffers = tuple(torch.zeros_like(b) for b in stack.buffers)
        self.parts: list[_Part] = []
        # Of the updates since the last pause: their examples, and what they saw.
        self.drawn: list[Tensor | None] = []
        self.found: list[Tensor] = []
        optimiser.prepare(stack)
        for observer in observers:
            observer.begin(stack)

    def pause(self, check: int) -> int:
        """Return when training pauses next."""
        wanted = [observer.following(self.t) for observer in self.observers]
        fixed = (self.t // check + 1) * check
        return min([fixed, *(t for t in wanted if t is not None)])

    def advance(
        self, until: int, together: int | None, rest: Callable[[int, Array], None]
    ) -> Array:
        """Make the updates up to `until`, or what is left of them; return the last losses.

        `rest` is called between two of them: every `RESTS` seconds, and before a stop.
        """
        if not self.parts:
            views = self.stack.parts(together)
            self.parts = [_Part(self.task, view, self.optimiser) for view in views]
        if not self.drawn:
            for observer in self.observers:
                observer.before(self.t, self.stack)
            self.drawn = drawn_by(
                self.batches, self.t, until, len(self.steps), self.task.examples
            )
        device, count = self.stack.rows.device, len(self.drawn)
        examples = [
            None if chosen is None else chosen.to(device, non_blocking=True)
            for chosen in self.drawn
        ]
        # Part by part, all updates of one before the next: it stays in the cache.
        first, rested = len(self.found), time.monotonic()
        for made in range(first, count * len(self.parts)):
            late = time.monotonic() - rested > RESTS
            if made > first and (late or stopping.requested()):
                losses = _losses(self.found[-1]).double().cpu().numpy()
                rest(self.t + made // len(self.parts), losses)
                rested = time.monotonic()
            part, update = divmod(made, count)
            self.found.append(self.parts[part].step(examples[update]))
        found = [
            torch.stack(self.found[k : k + count])
            for k in range(0, len(self.found), count)
        ]
        seen = torch.cat(found, dim=-1).double().cpu().numpy()
        seen = seen[:, None] if seen.ndim == 2 else seen
        # Not to `until`: a pause that is resumed has the end that it was begun with.
        start, self.t = self.t, self.t + count
        self.drawn, self.found = [], []
        leaving: dict[int, str] = {}
        for observer in self.observers:
            leaving = {**(observer.see(start, seen, self.stack) or {}), **leaving}
        if leaving:
            self.leave(leaving)
        return seen[-1, 0]

    def leave(self, leaving: dict[int, str], *, drop: bool = True) -> None:
        """End replicates; `leaving` maps their columns to statuses."""
        if not leaving:
            return
        for observer in self.observers:
            observer.leaving(self.t, leaving, self.stack)
        columns = np.array(sorted(leaving), dtype=np.int64)
        rows = self.stack.rows.cpu().numpy()[columns]
        for column, row in zip(columns.tolist(), rows.tolist(), strict=True):
            self.status[row] = leaving[column]
        self.steps[rows] = self.t
        take_(self.final, self.stack.params, self.stack, columns)
        take_(self.buffers, self.stack.buffers, self.stack, columns)
        if drop:
            self.stack.leave(columns.tolist())
            self.parts = []

    def state(self) -> dict[str, Any]:
        """Return all that the next update depends on, and what is known so far."""
        return {
            "given": self.given,
            "t": self.t,
            "status": self.status,
            "steps": torch.from_numpy(self.steps),
            "final": list(self.final),
            "left": list(self.buffers),
            "drawn": list(self.drawn),
            "found": list(self.found),
            "stack": self.stack.saved(),
            "batches": self.batches.state(),
            "task": self.task.state(),
            "observers": [observer.state() for observer in self.observers],
        }

    def resume(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint, if there is one."""
        state = checkpoint.read(self.stack.rows.device)
        if state is None:
            return
        try:
            given = state["given"]
            others = [f"`{n}`" for n, mine in self.given.items() if given[n] != mine]
            if not others and entries_of(state) != entries_of(self.state()):
                raise ValueError("its entries are not those of a run's state")
            if not others:
                self.stack.load(state["stack"])
        except (ValueError, LookupError, TypeError) as error:
            checkpoint.set_aside(error)
            return
        if others:
            raise ValueError(
                f"train: `checkpoint` must be of the same {' and '.join(others)}, but "
                f"{checkpoint.path} is of others. Remove it to start anew."
            )
        self.t, self.status = state["t"], state["status"]
        self.steps = state["steps"].cpu().numpy()
        self.drawn, self.found = list(state["drawn"]), list(state["found"])
        mine, saved = (*self.final, *self.buffers), (*state["final"], *state["left"])
        for target, source in zip(mine, saved, strict=True):
            target.copy_(source)
        self.batches.load(state["batches"])
        self.task.load(state["task"])
        for observer, saved in zip(self.observers, state["observers"], strict=True):
            observer.load(saved)


class _Part:
    """Replicates that are updated together."""

    def __init__(self, task: Task, stack: Stack, optimiser: Optimiser) -> None:
        self.task, self.stack, self.optimiser = task, stack, optimiser
        self.graphs: dict[tuple[object, ...], Callable[[], Tensor]] = {}
        self.chosen: dict[tuple[int, ...], Tensor] = {}

    def step(self, examples: Tensor | None) -> Tensor:
        """Make one update; return what it saw before it."""
        if not (self.stack.rates.is_cuda and self.task.capturable):
            return self._update(examples)
        if examples is not None:
            place = self.chosen.setdefault(examples.shape, examples.clone())
            examples = place.copy_(examples)
        # A rate that is common is a number inside the graph.
        key = (examples if examples is None else examples.shape, self.stack.common_rate)
        if key not in self.graphs:
            stack = self.stack
            moments = [t for each in stack.state.values() for t in each]
            mutable = (*stack.params, *stack.buffers, *moments, stack.clock)
            self.graphs[key] = captured(lambda: self._update(examples), mutable)
        return self.graphs[key]().clone()

    def _update(self, examples: Tensor | None) -> Tensor:
        seen, slopes = self.task.losses_and_slopes(self.stack, examples)
        losses, wanted = _losses(seen), (len(self.stack),)
        if losses.shape != wanted:
            raise ValueError(
                f"train: `task` must return losses of shape {wanted}, or notes behind them"
                f" of (1 + notes, {wanted[0]}), but theirs is {tuple(seen.shape)}"
            )
        self.optimiser.update(self.stack, losses, slopes)
        self.stack.clock.add_(1.0)
        return seen
