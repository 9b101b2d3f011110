"""Runs of trained networks that several claims look at: trained once, kept as records.

A run's record is kept beside those of the claims, in ``results/<profile>/runs``, and
belongs to the code that made it: after any change of `empirical` it is trained again.
Workers that want the same run at once wait for the first of them.
"""

import json
import os
import re
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch

from empirical.batch import code_digest
from empirical.identity_map import batch
from empirical.identity_map.experiments import Configuration, Scale, configurations
from verify.claim import Profile
from verify.figures.identity_map.runs import FOLDER, SCALES
from verify.records import folder_of

Array = npt.NDArray[np.float64]

PROFILES = {scale: Profile(profile) for profile, scale in SCALES.items()}
"""Where the runs of a scale are kept."""

PATIENCE = 3600.0
"""Seconds after which a run that another process holds is taken over."""


def folder(scale: str) -> Path:
    """Return where the runs of a scale are kept."""
    return folder_of(PROFILES[scale]) / FOLDER


@cache
def run(name: str, scale: str) -> dict[str, Any]:
    """Return the record of a configuration, trained now if there is none.

    Raises
    ------
    ValueError
        If a network diverged in spite of its new starts, or is of the paper's size and
        there is neither a record nor a GPU.
    """
    (configuration,) = (c for c in _configurations(scale) if c.name == name)
    path = folder(scale) / f"{name}.json"
    record = _current(path)
    if record is None:
        with _held(path):
            record = _current(path) or _train(configuration, scale, path)
    status = [draw["status"] for group in record["groups"] for draw in group["draws"]]
    if not set(status) <= {"finished", "floor"}:
        raise ValueError(f"{name} ({scale}): draws ended as {status}")
    return record


def names(pattern: str, scale: str) -> dict[int, str]:
    """Return configurations whose whole name matches, by the number in the group.

    The first of each number.
    """
    found: dict[int, str] = {}
    for configuration in _configurations(scale):
        if match := re.fullmatch(pattern, configuration.name):
            found.setdefault(int(match[1]), configuration.name)
    return dict(sorted(found.items()))


@cache
def _configurations(scale: str) -> tuple[Configuration, ...]:
    return configurations(cast("Scale", scale))


def curve(name: str, scale: str, field: str) -> list[float]:
    """Return a depth curve's value, a mean over correlations, of every draw."""
    return [
        float(np.mean(draw))
        for group in run(name, scale)["groups"]
        for draw in group["measured"]["curve"][field]
    ]


def ladder(pattern: str, scale: str, field: str) -> list[list[float]]:
    """Return `curve` of every configuration that matches, by number: (levels, draws)."""
    return [curve(name, scale, field) for name in names(pattern, scale).values()]


def measured(name: str, scale: str, section: str) -> list[dict[str, Any]]:
    """Return a section of the record, of every group."""
    return [group["measured"][section] for group in run(name, scale)["groups"]]


def _current(path: Path) -> dict[str, Any] | None:
    """Read a record of the code as it is; None where there is none."""
    if not path.exists():
        return None
    record = json.loads(path.read_text(encoding="utf-8"))
    # Records of a GPU are committed: they say which code they are of.
    kept = record["device"] != "cpu" or record["code"] == code_digest()
    return record if kept else None


def _train(configuration: Configuration, scale: str, path: Path) -> dict[str, Any]:
    device = "cpu"
    if scale == "paper":
        if not torch.cuda.is_available():
            raise ValueError(
                f"{configuration.name} (paper): `{path}` must exist, or a GPU be here to"
                " train it. Run `python -m empirical.identity_map batch --scale paper`"
                " where there is one."
            )
        device = "cuda"
    # What there is, if anything, is of other code.
    outcome = batch.run_batch(
        [configuration], directory=path.parent, device=device, rerun=True
    )
    if outcome[configuration.name] != "done":
        raise ValueError(f"{configuration.name}: {outcome[configuration.name]}")
    return json.loads(path.read_text(encoding="utf-8"))


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
