"""The networks of the claims on training, by name and scale, and what they show."""

import re
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from empirical.identity_map.study import STUDY
from verify.claims._trained import Trainer

Array = npt.NDArray[np.float64]

NETWORKS = Trainer(STUDY)


@cache
def run(name: str, scale: str) -> dict[str, Any]:
    """Return the record of a configuration, trained now if there is none.

    Raises
    ------
    ValueError
        If a network diverged in spite of its new starts; and as `Trainer.record`.
    """
    record = NETWORKS.record(name, scale)
    status = [draw["status"] for group in record["groups"] for draw in group["draws"]]
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
