"""Networks that several claims look at: trained once a profile, kept as records.

A claim declares the runs that it looks at, see `Trainer.looks`; whoever runs it sees to
it that there are records, and gives them to it with `given`. A record is kept beside
those of the claims, in ``results/<profile>/runs`` or where `verify.paths.place` says.
What it is worth is decided by what it says: a record of another configuration, kind of
device, data, schema or code than the one asked for, or one that cannot be read, is as
good as none, and the run is trained again. Only above the small scale may the code
be older: those records are published, and say of which code they are.
"""

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from empirical.testbed.records import RunRecord
from empirical.testbed.study import Setting, Study
from verify.claim import Claim, Profile
from verify.claim import NotLearnt as NotLearnt
from verify.paths import Place, place, placed


class NotTrained(ValueError):
    """There is no record of a run, for a reason that the message says in full."""


@dataclass(frozen=True)
class Run:
    """A configuration at a scale, as a claim looks at it.

    Attributes
    ----------
    trainer : Trainer
    name, scale : str
        Of the configuration.
    """

    trainer: "Trainer"
    name: str
    scale: str

    @property
    def setting(self) -> Setting:
        """Settings that it is trained with."""
        return Setting(device="cuda" if self.scale == "paper" else "cpu")

    def path(self, here: Place) -> Path:
        """Return the path of its record."""
        return here.runs(self.scale) / f"{self.name}.json"

    def configuration(self, here: Place) -> Any:
        """Return its configuration, with the seeds and the fault of a place."""
        every = _all(self.trainer, self.scale, here.redraw, here.fault)
        return next(c for c in every if c.name == self.name)

    def find(self, here: Place) -> RunRecord | str | None:
        """Return its record, or why there can be none; None where it is to be trained.

        Of the paper's scale one from a CPU will do, but here none is trained on it.
        """
        study = self.trainer.study
        own = study.identity(self.configuration(here), self.setting)
        code = study.code if self.scale == "small" else None
        record = RunRecord.read(self.path(here))
        for device in {own["device"], "cpu"}:
            there = own | {"device": device}
            if record is not None and record.stands_for(there, code=code):
                return record
        if self.setting.device == "cuda" and not _gpu():
            return (
                f"`{self.path(here)}` must exist, or a GPU be here to train it. Run"
                f" `python -m {study.module} batch --scale paper` where there is one,"
                " or on a CPU with days of patience."
            )
        return None


Found = Mapping[Run, RunRecord | str | None]
"""Records of runs, or why there are none; None for one that nothing has trained."""

Find = Callable[[Run, Place], RunRecord | str | None]

_given: ContextVar[Found] = ContextVar("given", default={})  # noqa: B039 (never changed)


def found_for(
    claim: Claim, profile: Profile, here: Place, find: Find = Run.find
) -> Found:
    """Return the runs that a claim's cases look at, with what a place has of them."""
    with placed(here):
        return {run: find(run, here) for run in claim.runs_for(profile)}


@contextmanager
def given(found: Found) -> Generator[None]:
    """Context in which a claim may look at these runs."""
    token = _given.set(found)
    try:
        yield
    finally:
        _given.reset(token)


@dataclass(frozen=True)
class Trainer:
    """The networks of a paper.

    Attributes
    ----------
    study : Study
        What trains them.
    """

    study: Study[Any]

    def names(self, scale: str) -> tuple[str, ...]:
        """Return the names of the configurations of a scale."""
        return tuple(c.name for c in _all(self, scale, 0, ""))

    def configuration(self, name: str, scale: str) -> Any:
        """Return the configuration of a name."""
        return Run(self, name, scale).configuration(place())

    def looks(self, *patterns: str) -> Callable[..., tuple[Run, ...]]:
        """Return a claim's `runs`: those whose whole names match one of the patterns."""
        return partial(_matching, self, patterns)

    def record(self, name: str, scale: str) -> RunRecord:
        """Return the record of a configuration.

        Raises
        ------
        ValueError
            If the claim that runs does not declare that it looks at it.
        NotTrained
            If there is none: it could not be trained, or is of the paper's size and
            there is no GPU.
        """
        run = Run(self, name, scale)
        if run not in _given.get():
            declared = ", ".join(each.name for each in _given.get()) or "none"
            raise ValueError(
                f"{name} ({scale}): the claim looks at this run without saying so. Add it"
                f" to the claim's `runs`, which are: {declared}."
            )
        found = _given.get()[run] or "it has no current record, and was not trained"
        if isinstance(found, str):
            raise NotTrained(f"{name} ({scale}): {found}")
        return found


def _matching(
    trainer: Trainer, patterns: tuple[str, ...], *, scale: str, **_case: Any
) -> tuple[Run, ...]:
    names = trainer.names(scale)
    chosen = (n for n in names if any(re.fullmatch(p, n) for p in patterns))
    return tuple(Run(trainer, name, scale) for name in chosen)


def _gpu() -> bool:
    # Loaded where it matters: it takes seconds.
    import torch

    return torch.cuda.is_available()


@cache
def _all(trainer: Trainer, scale: str, redraw: int, fault: str) -> tuple[Any, ...]:
    made: tuple[Any, ...] = tuple(trainer.study.configurations(scale))
    if fault:
        plant = trainer.study.faults[fault]
        made = tuple(map(plant, made))
    # Farther than any configuration has seeds.
    moved = 1000 * redraw
    return tuple(replace(c, seeds=tuple(s + moved for s in c.seeds)) for c in made)
