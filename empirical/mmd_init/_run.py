"""A stack of initialisations in training, between two looks at them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from empirical import checkpoints
from empirical.mmd_init.draws import on_device
from empirical.mmd_init.gram import Escalations, Room
from empirical.mmd_init.losses import losses
from empirical.mmd_init.networks import Network, State, draw
from empirical.mmd_init.recipes import Recipe

Array = npt.NDArray[np.float64]
Progress = Callable[[int, int, dict[str, float]], None]
"""Called with steps done, steps in all, and each term's mean over window and stack."""

Status = Literal["finished", "degenerate", "diverged"]
OnDegenerate = Literal["warn", "stop", "record"]
TERMS = ("loss", "uniformity", "degeneracy", "detachment", "constant")


@dataclass(frozen=True, kw_only=True, eq=False)
class Pretrained:
    """A learnt initialisation.

    Attributes
    ----------
    state : dict
        For `torch.nn.Module.load_state_dict`: the parameters at the end of the window
        with the least mean loss.
    start, last : dict
        Before the first step and after the last.
    best : int
        Steps made when `state` was taken; 0 if no window was finished.
    history : dict
        Name to array, shape (steps,): ``"loss"``, ``"uniformity"`` (L_uni),
        ``"degeneracy"`` (L_sd), ``"detachment"`` (L_iod), and ``"constant"``, the share
        of perturbed networks that predict fewer than all classes in their batch. What
        the loss has no need of is nan.
    status : {"finished", "degenerate", "diverged"}
        Stopped because most perturbed networks were constant, or the loss not finite.
    degenerate : int, optional
        The step after which the run was found degenerate.
    escalations : Escalations
        Covariances that needed more jitter, in the whole stack.
    snapshots : dict
        State after each of the steps that were asked for, on the CPU.
    """

    state: State
    start: State
    last: State
    best: int
    history: dict[str, Array]
    status: Status
    degenerate: int | None
    escalations: Escalations
    snapshots: dict[int, State]


class Run:
    """A stack in training, between two windows."""

    def __init__(
        self,
        network: Network,
        start: State,
        inputs: Tensor,
        recipes: tuple[Recipe, ...],
        generators: Sequence[torch.Generator],
        snapshots: Sequence[int],
    ) -> None:
        self.network, self.recipes, self.inputs = network, recipes, inputs
        self.recipe, self.start = recipes[0], start
        self.fingerprint = checkpoints.fingerprint(
            (network, recipes, inputs.device.type, list(snapshots)),
            (*start.values(), inputs, *(g.get_state() for g in generators)),
            None,
        )
        # Runs may share a generator: then they share batches and noise.
        self.orders = list(dict.fromkeys(generators))
        self.places = [self.orders.index(g) for g in generators]
        # There, so that noise need not be carried.
        self.noise = on_device(generators, inputs.device)
        self.state = {k: v.clone().requires_grad_() for k, v in start.items()}
        self.adam = torch.optim.Adam(
            list(self.state.values()), lr=self.recipe.rate, fused=True
        )
        self.kept = {k: v.clone() for k, v in start.items()}
        self.steps = self.recipe.updates(len(inputs))
        self.wanted = frozenset(snapshots)
        self.snapshots: dict[int, State] = {}
        if 0 in self.wanted:
            self._snapshot(0)
        draws = len(recipes)
        self.t, self.best = 0, [0] * draws
        self.least = [math.inf] * draws
        self.degenerate: list[int | None] = [None] * draws
        self.suspect = [False] * draws
        self.status: list[Status | None] = [None] * draws
        self.escalations, self.room = Escalations(), Room()
        self.order = torch.empty(draws, 0, dtype=torch.int64)
        self.history = np.full((self.steps, len(TERMS), draws), np.nan)

    def window(self) -> list[int]:
        """Make the steps up to its end; return which runs are now found degenerate."""
        first = self.t
        last = self.t = min(first + self.recipe.window, self.steps)
        rows: list[Tensor] = []
        for done in range(first + 1, last + 1):
            rows.append(self._step())
            if done in self.wanted:
                self._snapshot(done)
        self.history[first:last] = torch.stack(rows).double().cpu().numpy()
        means = self.history[first:last].mean(axis=0)
        found: list[int] = []
        for index in [i for i, s in enumerate(self.status) if s is None]:
            loss, share = float(means[0, index]), float(means[4, index])
            if not math.isfinite(loss):
                self.status[index] = "diverged"
                continue
            whole = last - first == self.recipe.window
            if whole and loss < self.least[index] and self._finite(index):
                self.least[index], self.best[index] = loss, last
                for name, kept in self.kept.items():
                    kept[index] = self.state[name].detach()[index]
            high = share >= self.recipe.degenerate
            late = last > self.recipe.window * (self.recipe.grace + 1)
            if high and self.suspect[index] and late and not self.degenerate[index]:
                self.degenerate[index] = last
                found.append(index)
            self.suspect[index] = high
            if last == self.steps:
                self.status[index] = "finished"
        return found

    def _step(self) -> Tensor:
        count = min(self.recipe.batch, len(self.inputs))
        if self.order.shape[1] < count:
            n = len(self.inputs)
            drawn = [torch.randperm(n, generator=g) for g in self.orders]
            self.order = torch.stack([drawn[place] for place in self.places])
        chosen, self.order = self.order[:, :count], self.order[:, count:]
        terms = losses(
            self.network,
            self.state,
            self.inputs[chosen.to(self.inputs.device)],
            self.recipes,
            self.noise,
            escalations=self.escalations,
            room=self.room,
        )
        self.adam.zero_grad()
        terms.loss.sum().backward()
        self.adam.step()
        absent = torch.full_like(terms.loss, torch.nan)
        parts = (terms.uniformity, terms.degeneracy, terms.detachment, terms.constant)
        rows = [terms.loss, *(absent if p is None else p for p in parts)]
        return torch.stack(rows).detach()

    def _finite(self, index: int) -> bool:
        # The last step may have led away from losses that were finite.
        return all(bool(torch.isfinite(v[index]).all()) for v in self.state.values())

    def _snapshot(self, at: int) -> None:
        # Off the device: there may be many.
        self.snapshots[at] = {k: v.detach().cpu() for k, v in self.state.items()}
        if not self.inputs.is_cuda:
            self.snapshots[at] = {k: v.clone() for k, v in self.snapshots[at].items()}

    def means(self) -> dict[str, float]:
        """Return each term's mean over the last window and the stack."""
        rows = self.history[max(0, self.t - self.recipe.window) : self.t]
        return dict(zip(TERMS, rows.mean(axis=(0, 2)).tolist(), strict=True))

    def save(self, path: Path) -> None:
        """Write all that the next step depends on."""
        state = {
            "t": self.t,
            "order": self.order,
            "orders": [g.get_state() for g in self.orders],
            "noise": [g.get_state() for g in self.noise],
            "state": {k: v.detach() for k, v in self.state.items()},
            "kept": self.kept,
            "snapshots": self.snapshots,
            "adam": self.adam.state_dict(),
            "best": self.best,
            "least": self.least,
            "degenerate": self.degenerate,
            "suspect": self.suspect,
            "status": self.status,
            "escalations": (self.escalations.count, self.escalations.largest),
            "history": torch.from_numpy(self.history),
        }
        checkpoints.write(path, state, of=self.fingerprint)

    def load(self, path: Path) -> None:
        """Read it again."""
        state = checkpoints.read(path, of=self.fingerprint, device=self.inputs.device)
        self.order = state["order"].cpu()
        for generator, numbers in zip(
            [*self.orders, *self.noise],
            [*state["orders"], *state["noise"]],
            strict=True,
        ):
            generator.set_state(numbers.cpu())
        with torch.no_grad():
            for name, values in state["state"].items():
                self.state[name].copy_(values)
        for name in ("t", "kept", "best", "least", "degenerate", "suspect", "status"):
            setattr(self, name, state[name])
        self.snapshots = {
            at: {k: v.cpu() for k, v in taken.items()}
            for at, taken in state["snapshots"].items()
        }
        self.adam.load_state_dict(state["adam"])
        self.escalations = Escalations(*state["escalations"])
        self.history = state["history"].cpu().numpy()

    def result(self, index: int) -> Pretrained:
        """Return what one run has learnt."""
        status = self.status[index]
        if status is None:
            raise RuntimeError("pretrain: the run is not over")
        columns: Any = self.history[: self.t, :, index].T
        return Pretrained(
            state=draw(self.kept, index),
            start=draw(self.start, index),
            last=draw(self.state, index),
            best=self.best[index],
            history=dict(zip(TERMS, columns.copy(), strict=True)),
            status=status,
            degenerate=self.degenerate[index],
            escalations=self.escalations,
            snapshots={at: draw(s, index) for at, s in self.snapshots.items()},
        )
