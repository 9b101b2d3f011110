"""The trained networks of this paper's claims, by name and scale, and what they show."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from empirical.square_loss.experiments import Configuration
from empirical.square_loss.study import STUDY
from empirical.testbed.records import Draws, RunRecord
from verify.claims.square_loss._networks import Array
from verify.trained import Run, Trainer

NETWORKS = Trainer(STUDY)


def name_of(family: str, scale: str, data: str) -> str:
    """Return the run of a family; where there are several data sets, on one."""
    several = family not in NETWORKS.names(scale)
    return f"{family}-{data}" if several else family


def looks(*families: str) -> Callable[..., tuple[Run, ...]]:
    """Return a claim's `runs`: those of families, on the data of the case."""
    return partial(_of, families)


def _of(
    families: tuple[str, ...], *, scale: str, data: str, **_case: Any
) -> tuple[Run, ...]:
    names = (name_of(family, scale, data) for family in families)
    return tuple(Run(NETWORKS, name, scale) for name in names)


def run(family: str, scale: str, data: str) -> RunRecord:
    """Return the record of a family; where there are several data sets, on one."""
    return NETWORKS.record(name_of(family, scale, data), scale)


def configuration(family: str, scale: str, data: str) -> Configuration:
    """Return what that record is of."""
    return NETWORKS.configuration(name_of(family, scale, data), scale)


def draws(family: str, scale: str, data: str) -> Draws:
    """Return the networks that were trained to their end.

    Raises
    ------
    ValueError
        If more than one in five diverged, or died.
    """
    found = run(family, scale, data).draws
    ended = found.ended("finished")
    if len(ended) < 0.8 * len(found):
        raise ValueError(f"{family} ({scale}, {data}): draws ended as {found.status}")
    return ended


def last(found: Draws, series: str) -> Array:
    """Return the last value of a series, by draw."""
    return found.series(series)[:, -1]


def first(found: Draws, series: str) -> Array:
    """Return the value before training, by draw."""
    return found.series(series)[:, 0]


def by_scale(found: Draws, values: Array) -> list[Array]:
    """Sort values of draws into levels of the initial scale, smallest first."""
    scales = np.array(found.key("scale"))
    return [values[scales == scale] for scale in sorted(set(scales))]


def interpolated(family: str, scale: str, data: str, series: str) -> Array:
    """Return a series when a draw first made no error, and at its end: (draws, 2).

    Draws that never came to make none are left out.
    """
    epochs = run(family, scale, data).series("epochs")
    rows: list[Array] = []
    for draw in draws(family, scale, data):
        when = draw.fact("interpolated")
        if when is not None:
            values = draw.series(series)
            at = min(int(np.searchsorted(epochs, when)), len(values) - 1)
            rows.append(values[[at, -1]])
    return np.array(rows, dtype=np.float64)
