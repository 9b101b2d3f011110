"""The course of a training run: who is in the batch, since when, until when.

Every draw has its own time, counted from its last start. The batch pauses where
anything can happen to a draw (a drop of the rate, its end, a look at the losses);
between pauses the device works alone. Whatever happens to a draw depends on its own
losses and on the looks, which come at multiples of `Recipe.check`.
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from empirical import checkpoints
from empirical.identity_map._batch import Batch
from empirical.identity_map.networks import Network, Params
from empirical.identity_map.recipes import Recipe, recorded_times

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Watch = Callable[[int, Integers, Params], None]
Progress = Callable[[int, int, float], None]

# Progress that a checkpoint holds beside the tensors of the batch.
_ARRAYS = (
    "active",
    "born",
    "bad_at",
    "above_at",
    "taken",
    "released",
    "final_losses",
    "curves",
)


class Run:
    """Bookkeeping of all draws, and the batch of those still in training."""

    def __init__(
        self,
        network: Network,
        params: Params,
        images: Tensor,
        targets: Tensor,
        recipe: Recipe,
        *,
        rates: Array,
        generator: torch.Generator | None,
        watched: bool,
    ) -> None:
        draws = len(params[0])
        self.recipe, self.generator, self.watched = recipe, generator, watched
        self.initial = tuple(w.detach().clone() for w in params)
        self.final = tuple(w.detach().clone() for w in params)
        self.times = recorded_times(recipe.longest)
        self.curves = np.full((draws, len(self.times)), np.nan)
        self.status = ["running"] * draws
        self.taken = np.zeros(draws, dtype=np.int64)
        self.released = np.full(draws, -1, dtype=np.int64)
        self.final_losses = np.full(draws, np.nan)
        self.starts = [[(float(rate), -1)] for rate in rates]
        self.t = 0
        self.active = np.arange(draws)
        # Of every draw, in the batch's time: its start, the first exploded loss (-1
        # for none), the last loss above the floor.
        self.born = np.zeros(draws, dtype=np.int64)
        self.bad_at = np.full(draws, -1, dtype=np.int64)
        self.above_at = np.zeros(draws, dtype=np.int64)
        self.batch = Batch(network, params, images, targets, recipe)
        self.fingerprint = checkpoints.fingerprint(
            (network, recipe, rates.tolist(), params[0].device.type),
            (*params, images, targets),
            generator,
        )

    def go(
        self,
        *,
        watch: Watch | None,
        progress: Progress | None,
        checkpoint: Path | None,
        every_seconds: float,
    ) -> None:
        """Train to the end of the last draw."""
        if checkpoint is not None and checkpoint.exists():
            self._load(checkpoint)
        saved = time.monotonic()
        while len(self.active):
            if watch is not None and self.t in self.times:
                watch(self.t, self.active, self.batch.params)
            self._set_rates()
            until = self._pause()
            losses = self.batch.advance(until - self.t, self._examples(until - self.t))
            self._note(losses)
            self.t = until
            self._sort_out()
            if progress is not None and len(self.active):
                progress(self.t, self._last(), float(losses[-1].median()))
            if checkpoint is not None and time.monotonic() - saved > every_seconds:
                self._save(checkpoint)
                saved = time.monotonic()
        if watch is not None:
            watch(self.t, np.arange(len(self.status)), self.final)
        if checkpoint is not None:
            checkpoint.unlink(missing_ok=True)

    def _budget_start(self, draw: int) -> int | None:
        """Return when the draw's budget began, None before the release."""
        if self.recipe.release is None:
            return int(self.born[draw])
        if self.released[draw] < 0:
            return None
        return int(self.born[draw] + self.released[draw])

    def _end(self, draw: int) -> int:
        start = self._budget_start(draw)
        if start is None:
            waiting = self.recipe.longest - self.recipe.steps
            return int(self.born[draw]) + waiting
        return start + self.recipe.steps

    def _last(self) -> int:
        return max(self._end(draw) for draw in self.active.tolist())

    def _set_rates(self) -> None:
        rates = []
        for draw in self.active.tolist():
            start = self._budget_start(draw)
            drops = sum(
                start is not None and start + d <= self.t for d in self.recipe.drops
            )
            rates.append(self.starts[draw][-1][0] * self.recipe.drop**drops)
        self.batch.rates.copy_(torch.tensor(rates, dtype=torch.float64))

    def _pause(self) -> int:
        """Return the next time at which something can happen to a draw."""
        recipe = self.recipe
        times = [(self.t // recipe.check + 1) * recipe.check]
        # A release in the coming updates must not have its first event behind it.
        times.append(self.t + max(1, min((*recipe.drops, recipe.steps))))
        if self.watched:
            later = self.times[self.times > self.t]
            times += [int(t) for t in later[:1]]
        for draw in self.active.tolist():
            start = self._budget_start(draw)
            times.append(self._end(draw))
            if start is not None:
                times += [start + d for d in recipe.drops]
        return min(t for t in times if t > self.t)

    def _examples(self, count: int) -> Tensor | None:
        if self.recipe.batch is None:
            return None
        n = self.batch.images.shape[1]
        return torch.randint(n, (count, self.recipe.batch), generator=self.generator)

    def _note(self, losses: Tensor) -> None:
        """Take in the losses at times t, t + 1, ...; shape (count, active draws)."""
        first = self.batch.first.cpu()
        limits = torch.where(first > 0.0, self.recipe.exploded * first, torch.inf)
        # A loss that is nan compares as not fine; one that is infinite is not either.
        bad = ~((losses <= limits) & torch.isfinite(losses))
        low = losses < (self.recipe.release or 0.0) * first
        above = losses > (self.recipe.floor or 0.0)
        values = losses.double().numpy()
        now = self.t + np.arange(len(values))
        for column, draw in enumerate(self.active.tolist()):
            ages = now - self.born[draw]
            places = np.searchsorted(self.times, ages)
            hits = self.times[np.minimum(places, len(self.times) - 1)] == ages
            self.curves[draw, places[hits]] = values[hits, column]
            if self.bad_at[draw] < 0 and bool(bad[:, column].any()):
                self.bad_at[draw] = now[int(bad[:, column].int().argmax())]
            if self.released[draw] < 0 and bool(low[:, column].any()):
                self.released[draw] = ages[int(low[:, column].int().argmax())]
            if bool(above[:, column].any()):
                self.above_at[draw] = now[_last_true(above[:, column])]

    def _sort_out(self) -> None:
        """Let draws leave or start again."""
        look = self.t % self.recipe.check == 0
        leaving: dict[int, str] = {}
        for column, draw in enumerate(self.active.tolist()):
            ended = self._end(draw) <= self.t
            quiet = self.t - self.above_at[draw] > self.recipe.patience
            if self.bad_at[draw] >= 0:
                if look or ended:
                    self._explode(column, draw, leaving)
            elif ended:
                released = self._budget_start(draw) is not None
                leaving[column] = "finished" if released else "stalled"
            elif look and self.recipe.floor is not None and quiet:
                leaving[column] = "floor"
        if leaving:
            self._leave(leaving)

    def _explode(self, column: int, draw: int, leaving: dict[int, str]) -> None:
        rate = self.starts[draw][-1][0]
        self.starts[draw][-1] = (rate, int(self.bad_at[draw] - self.born[draw]))
        if len(self.starts[draw]) > self.recipe.retries:
            leaving[column] = "diverged"
            return
        self.starts[draw].append((rate * self.recipe.retry_rate, -1))
        self.batch.restart_(column, tuple(w[draw] for w in self.initial))
        self.curves[draw] = np.nan
        self.released[draw] = self.bad_at[draw] = -1
        self.born[draw] = self.above_at[draw] = self.t

    def _leave(self, leaving: dict[int, str]) -> None:
        columns = torch.tensor(list(leaving), device=self.batch.rates.device)
        losses = self.batch.losses(columns).double().numpy()
        share = self.recipe.release or np.inf
        plateau = share * self.batch.first.double().cpu().numpy()
        for (column, status), loss in zip(leaving.items(), losses, strict=True):
            draw = int(self.active[column])
            fine = np.isfinite(loss)
            if status == "finished" and loss >= plateau[column]:
                status = "stalled"  # it had left the plateau, and is back on it
            self.status[draw] = status if fine else "diverged"
            if not fine and self.starts[draw][-1][1] < 0:
                # The very last update did it.
                rate = self.starts[draw][-1][0]
                self.starts[draw][-1] = (rate, int(self.t - self.born[draw]))
            self.taken[draw] = self.t - self.born[draw]
            self.final_losses[draw] = loss
            for kept, weight in zip(self.final, self.batch.params, strict=True):
                kept[draw] = weight[column]
        stay = np.setdiff1d(np.arange(len(self.active)), list(leaving))
        self.active = self.active[stay]
        if len(stay):
            self.batch.keep(torch.as_tensor(stay, device=self.batch.rates.device))

    def _save(self, path: Path) -> None:
        state = {
            "t": self.t,
            "status": self.status,
            "starts": self.starts,
            "batch": self.batch.state(),
            "final": list(self.final),
            "arrays": {name: torch.from_numpy(getattr(self, name)) for name in _ARRAYS},
            "generator": None if self.generator is None else self.generator.get_state(),
        }
        checkpoints.write(path, state, of=self.fingerprint)

    def _load(self, path: Path) -> None:
        device = self.batch.rates.device
        state = checkpoints.read(path, of=self.fingerprint, device=device)
        self.t, self.status = state["t"], state["status"]
        self.starts = [[tuple(s) for s in starts] for starts in state["starts"]]
        for name in _ARRAYS:
            setattr(self, name, state["arrays"][name].cpu().numpy())
        for kept, weight in zip(self.final, state["final"], strict=True):
            kept.copy_(weight)
        if len(self.active) < len(self.status):
            self.batch.keep(torch.as_tensor(self.active, device=device))
        self.batch.restore(state["batch"])
        if self.generator is not None:
            self.generator.set_state(state["generator"].cpu())


def _last_true(flags: Tensor) -> int:
    """Return the index of the last true entry; there must be one."""
    return int(torch.nonzero(flags)[-1])
