"""Records of learnt initialisations as the pictures and tables see them.

A record holds runs, each of a variant of the loss and a seed. Runs that diverged have
nothing to show and are left out; `remarks` names them, and says where sizes are not the
paper's.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from empirical.testbed.records import Draw, RunRecord
from verify.claims.mmd_init import _printed as reference
from verify.figures.runs import Array, Missing, Records, complete

MODULE = "empirical.mmd_init"
"""What trains the runs."""


@dataclass(frozen=True, eq=False)
class Run:
    """One initialisation, of a configuration."""

    name: str
    found: Draw

    @property
    def seed(self) -> int:
        """Number of its start and its examples."""
        return self.found.seed

    @property
    def diverged(self) -> bool:
        """Whether its losses stopped being finite."""
        return self.found.status == "diverged"

    @property
    def noises(self) -> list[str]:
        """Levels of noise at which detachment was measured around snapshots."""
        start = "snapshots/around/"
        found = [
            n.removeprefix(start) for n in self.found.arrays if n.startswith(start)
        ]
        return sorted(found, key=float)

    def has(self, name: str) -> bool:
        """Whether numbers of a name were recorded."""
        return name in self.found.arrays

    def numbers(self, name: str) -> Array:
        """Return an array, nan where the record has no finite number.

        Raises
        ------
        Missing
            If there is none of that name.
        """
        with complete(self.name, MODULE):
            return self.found.series(name)


@dataclass(frozen=True, eq=False)
class Stack:
    """A configuration's record."""

    record: RunRecord

    @property
    def name(self) -> str:
        """Name of the configuration."""
        return self.record.name

    @property
    def runs(self) -> tuple[Run, ...]:
        """Every run, those that diverged too."""
        return tuple(Run(self.name, draw) for draw in self.record.draws)

    def of(self, **variant: float) -> list[Run]:
        """Return a variant's runs that did not diverge, by seed."""
        found = [Run(self.name, draw) for draw in self.record.where(**variant)]
        return sorted((r for r in found if not r.diverged), key=lambda run: run.seed)

    @property
    def variants(self) -> list[Mapping[str, float]]:
        """Weights and noises of what was minimised."""
        return self.record.entry("variants")

    @property
    def images(self) -> int:
        """Number of the images that it was trained with."""
        return int(self.record.fact("images/train"))

    @property
    def seeds(self) -> int:
        """Runs of each variant."""
        return len(self.record.entry("seeds"))

    @property
    def widths(self) -> tuple[int, ...]:
        """Of the network, inputs first."""
        return tuple(self.record.entry("network/widths"))

    @property
    def window(self) -> int:
        """Steps of a window of pre-training."""
        return int(self.record.entry("recipe/window"))

    @property
    def steps(self) -> int:
        """Updates of pre-training."""
        steps = self.record.entry("recipe/steps")
        if steps is not None:
            return int(steps)
        batches = max(1, self.images // int(self.record.entry("recipe/batch")))
        return int(self.record.entry("recipe/epochs")) * batches

    @property
    def pretrained(self) -> bool:
        """Whether anything was minimised before fine-tuning."""
        return self.record.entry("method") != "none"

    @property
    def learnt(self) -> bool:
        """Whether that was a loss on perturbed models."""
        return self.record.entry("method") == "mmd"


Stacks = Mapping[str, Stack]


def runs_of(stacks: Stacks, **variant: float) -> list[Run]:
    """Return a variant's runs that did not diverge, of whichever configurations."""
    return [run for stack in stacks.values() for run in stack.of(**variant)]


def select(records: Records, names: Sequence[str]) -> dict[str, Stack]:
    """Return configurations' records.

    Raises
    ------
    Missing
        If one of them has none; the message names it.
    """
    absent = [name for name in names if name not in records]
    if absent:
        raise Missing(f"no record of {', '.join(absent)}")
    return {name: Stack(records[name]) for name in names}


_SIZES: Mapping[str, tuple[Any, str, Callable[[Stack], Any]]] = {
    "images": (reference.WIDTHS[0], "images of {} pixel(s)", lambda s: s.widths[0]),
    "training": (reference.IMAGES, "{} of them to train with", lambda s: s.images),
    "network": (reference.WIDTHS, "network {}", lambda s: s.widths),
    "steps": (
        reference.STEPS,
        "{} step(s) of pre-training",
        lambda s: s.steps if s.pretrained else None,
    ),
    "rate": (
        reference.RATE,
        "rate {}",
        lambda s: s.record.entry("recipe/rate") if s.pretrained else None,
    ),
    "perturbations": (
        reference.PERTURBATIONS,
        "{} perturbations a step",
        lambda s: s.record.entry("recipe/perturbations") if s.learnt else None,
    ),
    "minibatches": (
        reference.MINIBATCHES,
        "{} minibatch(es)",
        lambda s: s.record.entry("minibatches"),
    ),
    "tasks": (reference.TASKS, "{} task(s)", lambda s: s.record.entry("tasks")),
    "runs": (reference.RUNS, "{} run(s)", lambda s: s.seeds),
}
"""Sizes that the paper states: the number, how to say it, and how to read ours."""

TRAINING = ("images", "training", "network", "steps", "rate", "perturbations")
"""Names of sizes that all initialisations have."""


def remarks(stacks: Stacks, sizes: Sequence[str] = (*TRAINING, "runs")) -> list[str]:
    """Return remarks on records: sizes that differ from the paper's, runs that diverged.

    `sizes` are the names of those that matter.
    """
    said = [_sizes(stacks, sizes), _lost(stacks)]
    return [one for one in said if one]


def _sizes(stacks: Stacks, names: Sequence[str]) -> str:
    """Name each size that is not the paper's, with the paper's in brackets."""
    parts: list[str] = []
    for printed, words, read in (_SIZES[name] for name in names):
        every = dict.fromkeys(read(stack) for stack in stacks.values())
        found = [value for value in every if value is not None]
        if any(value != printed for value in found):
            said = re.sub(r"\((\w+)\)", "" if found == [1] else r"\1", words)
            here = said.format(" or ".join(map(_size, found)))
            parts.append(f"{here} ({_size(printed)})")
    if not parts:
        return ""
    return f"Sizes are not the paper's, which stand in brackets: {', '.join(parts)}"


def _size(value: Any) -> str:
    if isinstance(value, tuple):
        return "-".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _lost(stacks: Stacks) -> str:
    lost = [run for stack in stacks.values() for run in stack.runs if run.diverged]
    symbols = {"s2": "s²", "lam": "λ", "xi": "ξ"}
    named = [
        f"{r.name} ("
        + ", ".join(f"{symbols[k]} = {r.found.key(k):g}" for k in symbols)
        + f", seed {r.seed})"
        for r in lost
    ]
    return f"Runs that diverged, left out: {'; '.join(named)}" if named else ""
