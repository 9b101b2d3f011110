"""Records of learnt initialisations as the pictures and tables see them.

A record holds runs, each of a variant of the loss and a seed. Runs that diverged have
nothing to show and are left out; `remarks` names them, and says where sizes are not the
paper's.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from verify.figures.mmd_init import reference
from verify.figures.runs import Array, Missing, Records, training_command

MODULE = "empirical.mmd_init"
"""What trains the runs."""


@dataclass(frozen=True, eq=False)
class Run:
    """One initialisation: its record inside that of its configuration."""

    name: str
    raw: Mapping[str, Any]

    @property
    def seed(self) -> int:
        """Number of its start and its examples."""
        return int(self.raw["seed"])

    @property
    def diverged(self) -> bool:
        """Whether its losses stopped being finite."""
        return self.raw.get("status") == "diverged"

    def variant(self, **values: float) -> bool:
        """Whether it minimised the loss with these numbers."""
        return all(float(self.raw[key]) == value for key, value in values.items())

    def part(self, *keys: str) -> Any:
        """Return what lies below these keys.

        Raises
        ------
        Missing
            If nothing does.
        """
        found: Any = self.raw
        for key in keys:
            if not isinstance(found, Mapping) or key not in found:
                raise Missing(
                    f"the record {self.name} has no '{'/'.join(keys)}'; make it anew"
                    f" with `python -m {MODULE} batch --rerun --only {self.name} --out"
                    " DIR`"
                )
            found = found[key]
        return found

    def numbers(self, *keys: str) -> Array:
        """Return an array, nan where the record has no finite number."""
        return np.array(self.part(*keys), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Stack:
    """A configuration's record."""

    raw: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Name of the configuration."""
        return str(self.raw["name"])

    @property
    def runs(self) -> tuple[Run, ...]:
        """Every run, those that diverged too."""
        return tuple(Run(self.name, raw) for raw in self.raw["runs"])

    def of(self, **variant: float) -> list[Run]:
        """Return a variant's runs that did not diverge, by seed."""
        found = [r for r in self.runs if not r.diverged and r.variant(**variant)]
        return sorted(found, key=lambda run: run.seed)

    @property
    def seeds(self) -> int:
        """Runs of each variant."""
        return len(self.raw["seeds"])

    @property
    def widths(self) -> tuple[int, ...]:
        """Of the network, inputs first."""
        return tuple(self.raw["network"]["widths"])

    @property
    def steps(self) -> int:
        """Updates of pre-training."""
        recipe = self.raw["recipe"]
        if recipe["steps"] is not None:
            return int(recipe["steps"])
        inputs = int(self.raw["images"]["train"])
        return int(recipe["epochs"]) * max(1, inputs // int(recipe["batch"]))

    @property
    def pretrained(self) -> bool:
        """Whether anything was minimised before fine-tuning."""
        return self.raw["method"] != "none"

    @property
    def learnt(self) -> bool:
        """Whether that was a loss on perturbed models."""
        return self.raw["method"] == "mmd"


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


def how_to_train(records: Records, options: str = "") -> str:
    """Return the end of a message on missing records: what makes them."""
    return f"`{training_command(MODULE, records, options)}` makes them"


@dataclass(frozen=True)
class _Size:
    """A size that the paper states: the number, how to read and how to say it."""

    printed: Any
    read: Callable[[Stack], Any]
    words: tuple[str, str]


_SIZES: Mapping[str, _Size] = {
    "images": _Size(
        reference.WIDTHS[0],
        lambda s: s.widths[0],
        ("images of {} pixel", "images of {} pixels"),
    ),
    "training": _Size(
        reference.IMAGES,
        lambda s: int(s.raw["images"]["train"]),
        ("{} of them to train with", "{} of them to train with"),
    ),
    "network": _Size(
        reference.WIDTHS, lambda s: s.widths, ("network {}", "network {}")
    ),
    "steps": _Size(
        reference.STEPS,
        lambda s: s.steps if s.pretrained else None,
        ("{} step of pre-training", "{} steps of pre-training"),
    ),
    "rate": _Size(
        reference.RATE,
        lambda s: s.raw["recipe"]["rate"] if s.pretrained else None,
        ("rate {}", "rate {}"),
    ),
    "perturbations": _Size(
        reference.PERTURBATIONS,
        lambda s: s.raw["recipe"]["perturbations"] if s.learnt else None,
        ("{} perturbations a step", "{} perturbations a step"),
    ),
    "minibatches": _Size(
        reference.MINIBATCHES,
        lambda s: s.raw["minibatches"],
        ("{} minibatch", "{} minibatches"),
    ),
    "tasks": _Size(reference.TASKS, lambda s: s.raw["tasks"], ("{} task", "{} tasks")),
    "runs": _Size(reference.RUNS, lambda s: s.seeds, ("{} run", "{} runs")),
}

TRAINING = ("images", "training", "network", "steps", "rate", "perturbations")
"""Names of sizes that all initialisations have."""


def remarks(stacks: Stacks, sizes: Sequence[str] = (*TRAINING, "runs")) -> list[str]:
    """Return what has to be said of records: sizes not the paper's, runs that diverged.

    `sizes` are the names of those that matter.
    """
    said = [_sizes(stacks, sizes), _lost(stacks)]
    return [one for one in said if one]


def _sizes(stacks: Stacks, names: Sequence[str]) -> str:
    """Name each size that is not the paper's, with the paper's in brackets."""
    parts: list[str] = []
    for size in (_SIZES[name] for name in names):
        read = (size.read(stack) for stack in stacks.values())
        found = [value for value in dict.fromkeys(read) if value is not None]
        if any(value != size.printed for value in found):
            words = size.words[found != [1]]
            here = words.format(" or ".join(map(_size, found)))
            parts.append(f"{here} ({_size(size.printed)})")
    if not parts:
        return ""
    return f"Sizes are not the paper's, which stand in brackets: {', '.join(parts)}"


def _size(value: Any) -> str:
    if isinstance(value, tuple):
        return "-".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _lost(stacks: Stacks) -> str:
    lost = [run for stack in stacks.values() for run in stack.runs if run.diverged]
    named = [
        f"{r.name} (s² = {r.raw['s2']:g}, λ = {r.raw['lam']:g}, ξ = {r.raw['xi']:g},"
        f" seed {r.seed})"
        for r in lost
    ]
    return f"Runs that diverged, left out: {'; '.join(named)}" if named else ""
