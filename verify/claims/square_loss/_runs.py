"""The trained networks of this paper's claims, by name and scale, and what they show."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from empirical.square_loss.study import STUDY
from verify.claims._trained import Trainer
from verify.claims.square_loss._networks import Array

NETWORKS = Trainer(STUDY)


def run(family: str, scale: str, data: str) -> dict[str, Any]:
    """Return the record of a family; where there are several data sets, on one."""
    several = family not in NETWORKS.names(scale)
    return NETWORKS.record(f"{family}-{data}" if several else family, scale)


def draws(family: str, scale: str, data: str) -> list[dict[str, Any]]:
    """Return the networks that were trained to their end.

    Raises
    ------
    ValueError
        If more than one in five diverged, or died.
    """
    found = run(family, scale, data)["draws"]
    ended = [draw for draw in found if draw["status"] == "finished"]
    if len(ended) < 0.8 * len(found):
        status = [draw["status"] for draw in found]
        raise ValueError(f"{family} ({scale}, {data}): draws ended as {status}")
    return ended


def last(found: Sequence[dict[str, Any]], series: str) -> Array:
    """Return the last value of a series, by draw."""
    return np.array([draw["series"][series][-1] for draw in found], dtype=np.float64)


def first(found: Sequence[dict[str, Any]], series: str) -> Array:
    """Return the value before training, by draw."""
    return np.array([draw["series"][series][0] for draw in found], dtype=np.float64)


def by_scale(found: Sequence[dict[str, Any]], values: Array) -> list[Array]:
    """Sort values of draws into levels of the initial scale, smallest first."""
    scales = np.array([draw["scale"] for draw in found])
    return [values[scales == scale] for scale in sorted(set(scales))]


def interpolated(family: str, scale: str, data: str, series: str) -> Array:
    """Return a series when a draw first made no error, and at its end: (draws, 2).

    Draws that never came to make none are left out.
    """
    record = run(family, scale, data)
    epochs = np.array(record["epochs"])
    rows: list[list[Any]] = []
    for draw in draws(family, scale, data):
        if draw["interpolated"] is not None:
            values = draw["series"][series]
            at = int(np.searchsorted(epochs, draw["interpolated"]))
            rows.append([values[min(at, len(values) - 1)], values[-1]])
    return np.array(rows, dtype=np.float64)
