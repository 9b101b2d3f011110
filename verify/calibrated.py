"""What `verify.calibrate` found, claim by claim: ``verify/calibrated.json``.

The report says of a claim whether it depends on the draw by what is kept here; the page
``docs/calibration.md`` is written from it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from empirical.testbed.writing import write_text

KEPT = Path(__file__).with_name("calibrated.json")


@dataclass(frozen=True)
class Kept:
    """What came of a claim of the quick profile.

    Attributes
    ----------
    version : int
        The claim's.
    made : str
        The day, year first.
    faults : mapping
        Faults to what was found under them.
    redrawn : tuple of str
        Outcomes on networks of other seeds.
    alike : tuple of int, optional
        How many A/A trials decided, and of how many; absent where there is no level.
    """

    version: int
    made: str
    faults: Mapping[str, str]
    redrawn: tuple[str, ...]
    alike: tuple[int, int] | None


def read(path: Path = KEPT) -> dict[str, Kept]:
    """Return what is kept, by claim."""
    data: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return {
        name: Kept(
            version=each["version"],
            made=each["made"],
            faults=each["faults"],
            redrawn=tuple(each["redrawn"]),
            alike=tuple(each["alike"]) if each["alike"] else None,
        )
        for name, each in data.items()
    }


def write(kept: Mapping[str, Kept], path: Path = KEPT) -> None:
    """Keep what came out, a claim a line."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(vars(each))}" for name, each in kept.items()
    ]
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")


@cache
def _all() -> Mapping[str, Kept]:
    return MappingProxyType(read() if KEPT.exists() else {})


def faults(claim_id: str) -> Mapping[str, str]:
    """Return what a claim says of networks trained with each fault that was planted.

    >>> faults("sl/obs1-trained")["short"]
    'refuted'
    """
    found = _all().get(claim_id)
    return found.faults if found is not None else {}


def redrawn(claim_id: str) -> tuple[str, ...]:
    """Return the outcomes of a claim's redraws, none where it was not drawn anew.

    >>> redrawn("mmd/tab1-few")
    ('holds', 'holds', 'holds')
    """
    found = _all().get(claim_id)
    return found.redrawn if found is not None else ()
