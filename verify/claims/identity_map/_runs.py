"""The networks of the claims on training, by name and scale, and what they show."""

import re
from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from empirical.identity_map.study import STUDY
from empirical.testbed.records import RunRecord
from verify.trained import Run, Trainer

Array = npt.NDArray[np.float64]

NETWORKS = Trainer(STUDY)


def run(name: str, scale: str) -> RunRecord:
    """Return the record of a configuration, of a claim's `runs`.

    Raises
    ------
    ValueError
        If a network diverged in spite of its new starts; and as `Trainer.record`.
    """
    record = NETWORKS.record(name, scale)
    status = record.draws.status
    if not set(status) <= {"finished", "floor"}:
        raise ValueError(f"{name} ({scale}): draws ended as {status}")
    return record


def names(pattern: str, scale: str) -> dict[int, str]:
    """Return configurations whose whole name matches, by the number in the group.

    The first of each number.
    """
    found: dict[int, str] = {}
    for name in NETWORKS.names(scale):
        if match := re.fullmatch(pattern, name):
            found.setdefault(int(match[1]), name)
    return dict(sorted(found.items()))


def looks(*patterns: str) -> Callable[..., tuple[Run, ...]]:
    """Return a claim's `runs`: those that `names` finds for the patterns."""
    return partial(_found, patterns)


def _found(patterns: tuple[str, ...], *, scale: str) -> tuple[Run, ...]:
    each = (name for pattern in patterns for name in names(pattern, scale).values())
    return tuple(Run(NETWORKS, name, scale) for name in each)


def measured(name: str, scale: str, series: str) -> Array:
    """Return what was measured of every draw that it was measured of."""
    return run(name, scale).draws.having(series).series(series)


def curve(name: str, scale: str, field: str) -> list[float]:
    """Return a depth curve's value, a mean over correlations, of every draw."""
    return [float(np.mean(draw)) for draw in measured(name, scale, f"curve/{field}")]


def ladder(pattern: str, scale: str, field: str) -> list[list[float]]:
    """Return `curve` of every configuration that matches, by number: (levels, draws)."""
    return [curve(name, scale, field) for name in names(pattern, scale).values()]
