"""Records of trained runs as any paper's pictures read them: a folder, read lazily.

A record is the JSON object that one configuration of a paper's experiments left; those
of every paper lie side by side in one folder of a profile.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from verify.paths import RUNS, SCALES

Array = npt.NDArray[np.float64]
Records = Mapping[str, Mapping[str, Any]]


class Missing(ValueError):
    """Records that a picture needs are not there; the message says how to make them."""


class Folder(Records):
    """A folder of run records, each read when it is first asked for.

    Parameters
    ----------
    folder : Path
        Need not exist: then it holds none.
    names : collection of str, optional
        Records of others are passed over, as if they were not there.
    scale : str
        Of the experiments that it is for: what `Missing` says is trained at.

    Attributes
    ----------
    read : dict
        Records that were asked for so far.

    Raises
    ------
    ValueError
        On reading a record that is not JSON; the message names the file.
    """

    def __init__(
        self,
        folder: Path,
        *,
        scale: str = "small",
        names: Collection[str] | None = None,
    ) -> None:
        self.folder, self.scale = folder, scale
        stems = sorted(path.stem for path in folder.glob("*.json"))
        self._names = [stem for stem in stems if names is None or stem in names]
        self.read: dict[str, Mapping[str, Any]] = {}

    def __getitem__(self, name: str) -> Mapping[str, Any]:
        """Return the record of a configuration."""
        if name not in self._names:
            raise KeyError(name)
        if name not in self.read:
            path = self.folder / f"{name}.json"
            try:
                self.read[name] = json.loads(path.read_text(encoding="utf-8"))
            except ValueError as error:
                raise ValueError(f"the run record {path} is not JSON: {error}") from (
                    error
                )
        return self.read[name]

    def __iter__(self) -> Iterator[str]:
        """Go through the names of the configurations, sorted."""
        return iter(self._names)

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self._names)


def beside(records: Path, profile: str) -> Folder:
    """Return the folder of runs inside a profile's folder of records."""
    return Folder(records / RUNS, scale=SCALES[profile])


def training_command(module: str, records: Records, options: str = "") -> str:
    """Return the command line that makes records, where it is known into which folder.

    Examples
    --------
    >>> training_command("empirical.identity_map", {}, "--figures 8")
    'python -m empirical.identity_map batch --figures 8 --out DIR'
    """
    where, scale = "DIR", ""
    if isinstance(records, Folder):
        where, scale = str(records.folder), f"--scale {records.scale}"
    parts = ("python -m", module, "batch", scale, options, "--out", where)
    return " ".join(part for part in parts if part)
