"""Where records lie, and which scale of the experiments a profile runs.

Imports nothing of the project: claims, figures and the report all stand above it.
"""

from pathlib import Path

RUNS = "runs"
"""Folder of the trained runs' records, inside a profile's folder."""

SCALES = {"quick": "small", "full": "full", "gpu": "paper"}
"""Scale of the experiments, by profile."""


def folder_of(profile: str, root: Path | None = None) -> Path:
    """Return the folder of a profile's records, ``results/<profile>`` by default."""
    return (root if root is not None else Path("results")) / profile
