"""Where records lie, and which scale of the experiments a profile runs.

Imports nothing of the project: claims, figures and the report all stand above it.
"""

import tomllib
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RUNS = "runs"
"""Folder of the trained runs' records, inside a profile's folder."""

SCALES = {"certify": "small", "quick": "small", "full": "full", "gpu": "paper"}
"""Scale of the experiments, by profile; networks of a scale lie with the last of it."""


def toml_beside(file: str, name: str = "") -> dict[str, Any]:
    """Return what the TOML file beside a module's says, by default that of its name."""
    path = Path(file).with_name(name) if name else Path(file).with_suffix(".toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def folder_of(profile: str, root: Path | None = None) -> Path:
    """Return the folder of a profile's records, ``results/<profile>`` by default.

    Those of `gpu` are named after their scale, ``paper``: patience makes them on a CPU.
    """
    name = "paper" if profile == "gpu" else profile
    return (root if root is not None else Path("results")) / name


@dataclass(frozen=True)
class Place:
    """Folder and kind of the networks that claims look at.

    Attributes
    ----------
    folder : Path, optional
        Of a profile's records; runs are in the folder `RUNS` inside it. Absent, the
        default folder of the profile that runs at the scale asked for.
    redraw : int
        How many times over the seeds of all networks are moved; see `verify.redraw`.
    fault : str
        What is wrong with all training, one of `empirical.testbed.faults.FAULTS`, or
        nothing; see `verify.calibrate`.
    """

    folder: Path | None = None
    redraw: int = 0
    fault: str = ""

    def runs(self, scale: str) -> Path:
        """Return the folder of the runs of a scale."""
        profiles = {each: profile for profile, each in SCALES.items()}
        return (self.folder or folder_of(profiles[scale])) / RUNS


_place: ContextVar[Place] = ContextVar("place", default=Place())  # noqa: B039 (frozen)


def place() -> Place:
    """Return the place of the networks of claims that run now."""
    return _place.get()


@contextmanager
def placed(here: Place) -> Generator[None]:
    """Context in which claims find their networks in a place."""
    token = _place.set(here)
    try:
        yield
    finally:
        _place.reset(token)
