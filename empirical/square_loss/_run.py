"""The course of a training run: where it pauses, what it notes, what it keeps.

Between pauses the device works alone. Pauses come at fixed steps (multiples of
`Recipe.check`, recorded epochs, drops of the rate, the end), so that a run which was
killed and goes on from a checkpoint makes the same steps in the same parts.
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from empirical import checkpoints
from empirical.square_loss import measures
from empirical.square_loss._stack import Stack
from empirical.square_loss.networks import Network, Params
from empirical.square_loss.recipes import Recipe, recorded_epochs

Array = npt.NDArray[np.float64]
Progress = Callable[[int, int, float], None]

# Progress that a checkpoint holds beside the tensors of the stack.
_ARRAYS = ("active", "first", "running", "interpolated", "diverged", "taken")

# Records without and with per-example residuals: these cost another pass.
_SPARSE = 4


class Run:
    """Bookkeeping of all draws, and the stack of those still in training."""

    def __init__(
        self,
        network: Network,
        params: Params,
        inputs: Tensor,
        targets: Tensor,
        classes: Tensor,
        recipe: Recipe,
        *,
        rates: Array,
        generator: torch.Generator | None,
        recorded: bool = True,
        workers: int = 1,
    ) -> None:
        draws, n = len(params[0]), len(inputs)
        self.network, self.recipe, self.generator = network, recipe, generator
        self.classes, self.rates, self.recorded = classes, rates, recorded
        self.batch = min(recipe.batch or n, n)
        self.per_epoch = -(-n // self.batch)
        self.total = recipe.epochs * self.per_epoch
        self.epochs = recorded_epochs(recipe.epochs)
        self.sparse = np.unique([*self.epochs[::_SPARSE], self.epochs[-1]])
        self.series: dict[str, Array] = {}
        self.final = tuple(p.detach().clone() for p in params)
        self.t = 0
        self.order = torch.arange(n)
        self.active = np.arange(draws)
        self.first = np.full(draws, np.nan)
        # Wrong answers since the epoch began; the first epoch without; the first step
        # whose loss had exploded; steps made. -1 for not yet.
        self.running = np.zeros(draws)
        self.interpolated = np.full(draws, -1, dtype=np.int64)
        self.diverged = np.full(draws, -1, dtype=np.int64)
        self.taken = np.zeros(draws, dtype=np.int64)
        self.stack = Stack(network, params, inputs, targets, recipe, workers=workers)
        self.fingerprint = checkpoints.fingerprint(
            (network, recipe, rates.tolist(), inputs.device.type, recorded),
            (*params, inputs, targets),
            generator,
        )

    def go(
        self,
        *,
        progress: Progress | None,
        checkpoint: Path | None,
        every_seconds: float,
    ) -> None:
        """Train to the end."""
        if checkpoint is not None and checkpoint.exists():
            self._load(checkpoint)
        saved = time.monotonic()
        while self.t < self.total and len(self.active):
            self._record()
            self._set_rates()
            until = self._pause()
            losses = self._advance(until)
            self._note(losses)
            self.t = until
            self._sort_out()
            if progress is not None:
                progress(self.t, self.total, float(np.median(losses[-1])))
            if checkpoint is not None and time.monotonic() - saved > every_seconds:
                self._save(checkpoint)
                saved = time.monotonic()
        if len(self.active):
            self._record(last=True)
            self._finish(np.arange(len(self.active)))
        if checkpoint is not None:
            checkpoint.unlink(missing_ok=True)

    def status(self) -> tuple[str, ...]:
        """Return how each draw ended; see `training.Trained`."""
        alive = np.full(len(self.taken), fill_value=True)
        if "S" in self.series:
            alive = self.series["S"][-1] != 0.0
        fine = np.where(alive, "finished", "dead")
        return tuple(np.where(self.diverged < 0, fine, "diverged").tolist())

    def _pause(self) -> int:
        """Return the next step before which something happens."""
        times = [(self.t // self.recipe.check + 1) * self.recipe.check, self.total]
        marks = (*self.epochs.tolist(), *self.recipe.drops)
        times += [e * self.per_epoch for e in marks]
        return min(t for t in times if t > self.t)

    def _set_rates(self) -> None:
        factor = self.recipe.rates_at(self.t // self.per_epoch)
        self.stack.set_rates(torch.from_numpy(self.rates[self.active] * factor))

    def _advance(self, until: int) -> Array:
        for index, t in enumerate(range(self.t, until)):
            place = t % self.per_epoch
            examples = None
            if self.per_epoch > 1:
                if place == 0:
                    drawn = torch.randperm(len(self.order), generator=self.generator)
                    self.order = drawn.to(self.stack.inputs.device)
                examples = self.order[place * self.batch : (place + 1) * self.batch]
            self.stack.step(index, examples)
        return self.stack.losses[: until - self.t].double().cpu().numpy()

    def _note(self, losses: Array) -> None:
        """Take in losses and wrong answers at steps t, t + 1, ..."""
        count, rows = len(losses), self.active
        if self.t == 0:
            self.first[rows] = losses[0]
        limits = np.where(self.first > 0.0, self.recipe.exploded * self.first, np.inf)
        bad = ~((losses <= limits[rows]) & np.isfinite(losses))
        found = bad.any(axis=0)
        self.diverged[rows[found]] = self.t + bad.argmax(axis=0)[found]
        wrong = self.stack.wrong[:count].double().cpu().numpy()
        epochs = (self.t + np.arange(count)) // self.per_epoch
        starts = np.flatnonzero(np.diff(epochs, prepend=-1))
        sums = np.add.reduceat(wrong, starts, axis=0)
        sums[0] += self.running[rows]
        complete = (self.t + count) % self.per_epoch == 0
        self.running[rows] = 0.0 if complete else sums[-1]
        sums = sums if complete else sums[:-1]
        # A loss that is not finite has no wrong answers: nan compares as neither.
        clean = (sums == 0.0).any(axis=0) & (self.interpolated[rows] < 0) & ~found
        if clean.any():
            first = epochs[starts][(sums == 0.0).argmax(axis=0)]
            self.interpolated[rows[clean]] = first[clean]

    def _sort_out(self) -> None:
        leaving = np.flatnonzero(self.diverged[self.active] >= 0)
        if len(leaving):
            self._finish(leaving)
            stay = np.setdiff1d(np.arange(len(self.active)), leaving)
            self.active = self.active[stay]
            if len(stay):
                self.stack.keep(torch.as_tensor(stay, device=self.stack.inputs.device))

    def _finish(self, columns: npt.NDArray[np.int64]) -> None:
        self.taken[self.active[columns]] = self.t
        rows = torch.as_tensor(self.active[columns], device=self.stack.inputs.device)
        here = torch.as_tensor(columns, device=self.stack.inputs.device)
        for kept, param in zip(self.final, self.stack.params, strict=True):
            kept[rows] = param[here]

    def _record(self, *, last: bool = False) -> None:
        epoch, place = divmod(self.t, self.per_epoch)
        if place or epoch not in self.epochs or not (self.recorded or last):
            return
        stack = self.stack
        penalty = self.recipe.penalty(len(stack.inputs))
        found = measures.observe(
            self.network,
            stack.params,
            stack.inputs,
            stack.targets,
            self.classes,
            penalty=penalty,
        )
        for name, values in found.items():
            self._write(name, self.epochs, epoch, values)
        if epoch in self.sparse and self.network.outputs == 1:
            residuals = measures.example_residuals(
                self.network, stack.params, stack.inputs, self.classes
            )
            self._write("example_residuals", self.sparse, epoch, residuals)

    def _write(
        self, name: str, epochs: npt.NDArray[np.int64], epoch: int, values: Tensor
    ) -> None:
        if name not in self.series:
            shape = (len(epochs), len(self.taken), *values.shape[1:])
            self.series[name] = np.full(shape, np.nan)
        row = int(np.searchsorted(epochs, epoch))
        self.series[name][row, self.active] = values.double().cpu().numpy()

    def _save(self, path: Path) -> None:
        state = {
            "t": self.t,
            "order": self.order,
            "params": list(self.stack.params),
            "moments": self.stack.moments,
            "final": list(self.final),
            "series": {k: torch.from_numpy(v) for k, v in self.series.items()},
            "arrays": {name: torch.from_numpy(getattr(self, name)) for name in _ARRAYS},
            "generator": None if self.generator is None else self.generator.get_state(),
        }
        checkpoints.write(path, state, of=self.fingerprint)

    def _load(self, path: Path) -> None:
        device = self.stack.inputs.device
        state = checkpoints.read(path, of=self.fingerprint, device=device)
        self.t, self.order = state["t"], state["order"]
        for name in _ARRAYS:
            setattr(self, name, state["arrays"][name].cpu().numpy())
        self.series = {k: v.cpu().numpy() for k, v in state["series"].items()}
        for kept, value in zip(self.final, state["final"], strict=True):
            kept.copy_(value)
        self.stack.keep(torch.as_tensor(self.active, device=device))
        for param, value in zip(self.stack.params, state["params"], strict=True):
            param.copy_(value)
        self.stack.moments.copy_(state["moments"])
        if self.generator is not None:
            self.generator.set_state(state["generator"].cpu())
