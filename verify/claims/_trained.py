"""Networks that several claims look at: trained once a profile, kept as records.

A run's record is kept beside those of the claims, in ``results/<profile>/runs`` or where
`verify.paths.place` says. What it is worth is decided by what it says: a record of
another configuration, kind of device, schema or code than the one asked for, or one that
cannot be read, is as good as none, and the run is trained again. Only at the paper's
scale may the code be older: those records are published, and say of which code they are.
Workers that want the same run at once wait for the first of them.
"""

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

from empirical.testbed.records import RunRecord
from empirical.testbed.study import Named, Setting, Study, run_here
from verify.paths import Place, place

PATIENCE = 3600.0
"""Seconds after which a run that another process holds is taken over."""


@dataclass(frozen=True)
class Trainer:
    """The networks of a paper.

    Attributes
    ----------
    study : Study
        What trains them.
    """

    study: Study[Any]

    @property
    def code(self) -> str:
        """Digest of the code that trains them."""
        return self.study.code

    def names(self, scale: str) -> tuple[str, ...]:
        """Return the names of the configurations of a scale."""
        return tuple(c.name for c in _all(self, scale, place().redraw))

    def configuration(self, name: str, scale: str) -> Any:
        """Return the configuration of a name."""
        (found,) = (c for c in _all(self, scale, place().redraw) if c.name == name)
        return found

    def record(self, name: str, scale: str) -> RunRecord:
        """Return the record of a configuration, trained now if there is none.

        Raises
        ------
        ValueError
            If it could not be trained, or is of the paper's size and there is neither
            a record nor a GPU.
        """
        return _record(self, name, scale, place())

    def _train(self, configuration: Named, scale: str, path: Path) -> RunRecord:
        name, device = configuration.name, _device(scale)
        if scale == "paper" and not torch.cuda.is_available():
            raise ValueError(
                f"{name} (paper): `{path}` must exist, or a GPU be here to train it. Run"
                f" `python -m {self.study.module} batch --scale paper` where there is one."
            )
        # What there is, if anything, is of other code.
        here = Setting(device=device)
        run_here(self.study, configuration, folder=path.parent, setting=here)
        record = RunRecord.read(path)
        assert record is not None
        return record


def _device(scale: str) -> str:
    return "cuda" if scale == "paper" else "cpu"


@cache
def _all(trainer: Trainer, scale: str, redraw: int) -> tuple[Any, ...]:
    made: tuple[Any, ...] = tuple(trainer.study.configurations(scale))
    # Farther than any configuration has seeds.
    moved = 1000 * redraw
    return tuple(replace(c, seeds=tuple(s + moved for s in c.seeds)) for c in made)


@cache
def _record(trainer: Trainer, name: str, scale: str, here: Place) -> RunRecord:
    configuration = trainer.configuration(name, scale)
    path = here.runs(scale) / f"{name}.json"
    record = _current(path, trainer, configuration, scale)
    if record is None:
        with _held(path):
            record = _current(path, trainer, configuration, scale)
            record = record or trainer._train(configuration, scale, path)
    return record


def _current(
    path: Path, trainer: Trainer, configuration: Named, scale: str
) -> RunRecord | None:
    """Read a configuration's record; None where there is none that can stand for it."""
    record = RunRecord.read(path)
    own = trainer.study.identity(configuration, Setting(device=_device(scale)))
    code = None if scale == "paper" else trainer.code
    return record if record and record.stands_for(own, code=code) else None


@contextmanager
def _held(path: Path) -> Generator[None]:
    """Keep other processes from training the same run meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.with_suffix(".lock")
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
            break
        except FileExistsError:
            if _abandoned(lock):
                lock.unlink(missing_ok=True)
            time.sleep(0.1)
    try:
        lock.write_text(str(os.getpid()), encoding="utf-8")
        yield
    finally:
        lock.unlink(missing_ok=True)


def _abandoned(lock: Path) -> bool:
    """Whether the process that holds the lock is gone, or has been at it for an hour."""
    try:
        age = time.time() - lock.stat().st_mtime
        owner = lock.read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    if age > PATIENCE:
        return True
    if not owner or os.name == "nt":
        return False
    try:
        os.kill(int(owner), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
