"""What stacks of networks learn from noise on themselves."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical.checks import check_finite
from empirical.mmd_init.gram import Escalations, Room, on_device
from empirical.mmd_init.losses import losses
from empirical.mmd_init.modules import Explicit
from empirical.mmd_init.recipes import Recipe
from empirical.networks import FullyConnected
from empirical.testbed.loop import Task
from empirical.testbed.observers import Observer
from empirical.testbed.stack import Params, Stack
from empirical.testbed.writing import Array

TERMS = ("loss", "uniformity", "degeneracy", "detachment", "constant")
"""What `Perturbed` notes of each update, in this order."""


def check_params(who: str, network: FullyConnected, params: Params) -> int:
    """Return the number of replicates; refuse what is no finite stack of `network`."""
    network.check_params(params)
    for index, p in enumerate(params):
        check_finite(who, f"params[{index}]", p, ". Leave out what diverged.")
    return len(params[0])


class Perturbed(Task):
    """The loss of an initialisation on a batch under noise; notes `TERMS`.

    What no recipe of the stack asks for is nan.

    Parameters
    ----------
    network : FullyConnected or Explicit
        Without batch normalisation.
    inputs : Tensor, shape (n, features)
    recipes : sequence of Recipe
        One a replicate; alike but for s and the weights of the terms.
    generators : sequence of torch.Generator
        Of the noise, one a replicate, on the CPU. Replicates that are given the same one
        see the same noise, and it is drawn once. They seed those on the device.

    Attributes
    ----------
    escalations : Escalations
    """

    told = ("network", "inputs", "recipes")
    # Noise is drawn from generators, and a covariance may need more jitter.
    capturable = False

    def __init__(
        self,
        network: FullyConnected | Explicit,
        inputs: Tensor,
        recipes: Sequence[Recipe],
        generators: Sequence[torch.Generator],
    ) -> None:
        self.network, self.inputs, self.recipes = network, inputs, recipes
        # On the inputs' device, so that noise need not be copied to it.
        self.generators = on_device(generators, inputs.device)
        self.escalations, self.room = Escalations(), Room()

    def losses(self, params: Params, stack: Stack, examples: Tensor | None) -> Tensor:
        """Return losses and their terms; see `Task.losses`."""
        everything = torch.arange(len(self.inputs), device=self.inputs.device)
        chosen = stack.examples(everything if examples is None else examples)
        rows = stack.rows.tolist()
        terms = losses(
            self.network,
            params,
            self.inputs[chosen],
            [self.recipes[row] for row in rows],
            [self.generators[row] for row in rows],
            escalations=self.escalations,
            room=self.room,
        )
        absent = torch.full_like(terms.loss, torch.nan)
        parts = (terms.uniformity, terms.degeneracy, terms.detachment, terms.constant)
        notes = [absent if p is None else p.detach() for p in parts]
        return torch.stack([terms.loss, *notes])

    def state(self) -> dict[str, Any]:
        """Return the generators' states, and what has been counted."""
        found = self.escalations
        return {"escalations": (found.count, found.largest), **super().state()}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        super().load(state)
        self.escalations = Escalations(*state["escalations"])


class Degenerate(Observer):
    """Finds replicates most of whose perturbed networks predict one class for a batch.

    A replicate counts when two consecutive windows reach the share, the second of them
    after the grace period.

    Parameters
    ----------
    recipe : Recipe
        For its `window`, `degenerate` and `grace`.
    updates : int
        In all: the last window may be shorter.
    found : callable
        Called with the updates made and the share of constant networks in the window;
        returns whether the replicate is to leave.

    Attributes
    ----------
    at : array of int, shape (replicates,)
        Updates made when it was found, -1 for never.
    """

    kept = ("at", "suspect", "sums")
    told = ("recipe", "updates")

    def __init__(
        self, recipe: Recipe, updates: int, found: Callable[[int, float], bool]
    ) -> None:
        self.recipe, self.updates, self.found = recipe, updates, found

    def begin(self, stack: Stack) -> None:
        """Set up; see `Observer.begin`."""
        self.at = np.full(len(stack), -1, dtype=np.int64)
        self.suspect = np.zeros(len(stack), dtype=np.bool_)
        self.sums = np.zeros(len(stack))

    def see(self, t: int, seen: Array, stack: Stack) -> Mapping[int, str]:
        """Judge a window that is over; see `Observer.see`."""
        rows, end, window = stack.rows.cpu().numpy(), t + len(seen), self.recipe.window
        self.sums[rows] += seen[:, TERMS.index("constant")].sum(axis=0)
        if end % window and end != self.updates:
            return {}
        shares = self.sums[rows] / ((end - 1) % window + 1)
        high = shares >= self.recipe.degenerate
        late = end > window * (self.recipe.grace + 1)
        new = np.flatnonzero(high & self.suspect[rows] & late & (self.at[rows] < 0))
        self.suspect[rows], self.sums[:] = high, 0.0
        self.at[rows[new]] = end
        leaving: dict[int, str] = {}
        for column in new.tolist():
            if self.found(end, float(shares[column])):
                leaving[column] = "degenerate"
        return leaving
