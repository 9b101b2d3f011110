"""Records of trained runs as any paper's pictures read them: a folder, read lazily.

Those of every paper lie side by side in one folder of a profile.
"""

import shlex
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from empirical.testbed.records import Missing, RunRecord
from empirical.testbed.writing import Array
from verify.paths import RUNS, SCALES, folder_of

__all__ = [
    "Array",
    "Folder",
    "Missing",
    "Records",
    "beside",
    "published",
    "told",
    "training_command",
]

Records = Mapping[str, RunRecord]


class Folder(Records):
    """A folder of run records, each read when it is first asked for.

    What cannot be read is absent.

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
        self._found: dict[str, RunRecord | None] = {}
        self.read: dict[str, RunRecord] = {}

    def __getitem__(self, name: str) -> RunRecord:
        """Return the record of a configuration."""
        found = self._record(name) if name in self._names else None
        if found is None:
            raise KeyError(name)
        self.read[name] = found
        return found

    def __contains__(self, name: object) -> bool:
        """Whether there is a record of a configuration."""
        return (
            isinstance(name, str) and name in self._names and bool(self._record(name))
        )

    def __iter__(self) -> Iterator[str]:
        """Go through the names of the configurations, sorted."""
        return (name for name in self._names if self._record(name) is not None)

    def __len__(self) -> int:
        """Return the number of records."""
        return sum(1 for _ in self)

    def _record(self, name: str) -> RunRecord | None:
        if name not in self._found:
            self._found[name] = RunRecord.read(self.folder / f"{name}.json")
        return self._found[name]


@contextmanager
def complete(name: str, module: str) -> Generator[None]:
    """Say of a record that lacks something how to make it anew."""
    try:
        yield
    except Missing as error:
        made = f"python -m {module} batch --rerun --only {name} --out DIR"
        raise Missing(f"the record {name} has {error.reason}", made) from error


@contextmanager
def told(who: str, command: str = "") -> Generator[None]:
    """Say of what is missing to whom it is, and the command that makes it, if any."""
    try:
        yield
    except Missing as error:
        made = command or error.command
        raise Missing(f"{who}: {error.reason}", made) from error


def beside(records: Path, profile: str) -> Folder:
    """Return the folder of runs inside a profile's folder of records.

    `certify` trains nothing, and shows those of `quick`, which are of its scale.
    """
    home = folder_of("quick", records.parent) if profile == "certify" else records
    return Folder(home / RUNS, scale=SCALES[profile])


def published(records: Path, profile: str) -> tuple[Folder, ...]:
    """Return the published runs of other profiles, next to a profile's folder."""
    # The paper's own size first.
    others = (each for each in ("gpu", "full") if each != profile)
    return tuple(beside(folder_of(each, records.parent), each) for each in others)


def training_command(module: str, records: Records, options: str = "") -> str:
    """Return the command line that makes records, where it is known into which folder.

    Examples
    --------
    >>> training_command("empirical.identity_map", {}, "--figures 8")
    'python -m empirical.identity_map batch --figures 8 --out DIR'
    """
    where, scale = "DIR", ""
    if isinstance(records, Folder):
        where, scale = shlex.quote(str(records.folder)), f"--scale {records.scale}"
    parts = ("python -m", module, "batch", scale, options, "--out", where)
    return " ".join(part for part in parts if part)
