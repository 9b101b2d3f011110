"""What a paper can run, as one value, and what a run is done with."""

import glob
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, Protocol, TypeVar

from empirical.checks import check_choice, check_counts
from empirical.declared import Rule
from empirical.digest import code_digest, roots_of
from empirical.testbed.faults import FAULTS
from empirical.testbed.records import RunRecord, digest, identity
from empirical.testbed.telling import Progress

Scale = Literal["small", "full", "paper"]
SCALES = ("small", "full", "paper")
"""Small: minutes on two cores. Full: hours. Paper: the protocol as printed, for a GPU."""


class Named(Protocol):
    """A configuration with a name, which is also that of its record."""

    @property
    def name(self) -> str:
        """Letters, digits, ``-``, ``_`` and ``.``."""
        ...


Item = TypeVar("Item", bound=Named)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Device, data folder and checkpoint of a run; only the device affects its result.

    Attributes
    ----------
    device : str
        Device to train on: auto, cpu, cuda or cuda:i
    data_folder : Path, optional
        Folder of the full data sets; absent, the environment's DEEP_LEDGER_DATA. Digits of
        MNIST are taken from the 4,000 that are always at hand, where these are enough
    allow_unverified : bool
        Accept CIFAR-10 files that no checksum vouches for
    progress : callable, optional
        Told how far the run is.
    checkpoint : Path, optional
        File that keeps the state of training for the next call; it is removed when the
        record is written
    rows : tuple of int, optional
        First and end of the seeds to run, where a `Study` can run part of them.
    """

    device: str = "cpu"
    data_folder: Path | None = None
    allow_unverified: bool = False
    progress: Progress | None = None
    checkpoint: Path | None = None
    rows: tuple[int, int] | None = None

    def mine(self, configuration: Item) -> Item:
        """Return a configuration with those of its ``seeds`` that are to be run.

        Examples
        --------
        >>> from empirical.square_loss.experiments import configurations
        >>> whole = configurations("small")[0]
        >>> Setting(rows=(1, 3)).mine(whole).seeds == whole.seeds[1:3]
        True
        """
        if self.rows is None:
            return configuration
        whole: Any = configuration
        return replace(whole, seeds=whole.seeds[slice(*self.rows)])


CPU = Setting()
"""The CPU, and the data sets at hand."""


def _unknown(_configuration: Any) -> float:
    return 0.0


@dataclass(frozen=True, kw_only=True)
class Study(Generic[Item]):
    """The configurations of a paper, and how they are trained.

    It travels to workers: its functions are of modules' top levels.

    Attributes
    ----------
    module : str
        Whose command line runs it, ``empirical.<topic>``.
    configurations : callable
        Scale, one of `SCALES`, to configurations.
    schema : int
        Version of what the paper records.
    data : callable
        Configuration and `Setting` to a digest of what is trained on; it may raise
        FileNotFoundError or ValueError where that is not at hand.
    run : callable
        Configuration and `Setting` to record, with draws of all of its ``seeds``, if it
        has any. Of a module's top level, so that worker processes find it.
    cost : callable, optional
        Configuration to an estimate of its work, in multiplications: the longest are
        run first, so that no worker is left with one at the end.
    divisible : bool
        Whether `run` makes the replicates of `Setting.mine` alone, the same as beside the
        others but for rounding. Its configurations have ``seeds``.
    faults : mapping, optional
        Names of `faults.FAULTS` to what plants them: configuration to one of the same
        name that says what is wrong with it.

    Raises
    ------
    ValueError
        If a fault is none of `FAULTS`.
    """

    module: str
    configurations: Callable[[Any], Sequence[Item]]
    schema: int
    data: Callable[[Item, Setting], str]
    run: Callable[[Item, Setting], RunRecord]
    cost: Callable[[Item], float] = _unknown
    divisible: bool = False
    faults: Mapping[str, Callable[[Item], Item]] = field(
        default_factory=dict[str, Callable[[Item], Item]], compare=False
    )

    def __post_init__(self) -> None:
        for fault in self.faults:
            check_choice("Study", "fault", fault, tuple(FAULTS))

    @property
    def code(self) -> str:
        """Digest of the code that makes the records."""
        module = self.run.__module__
        return code_digest(module, roots_of(module))

    def identity(self, configuration: Item, setting: Setting) -> dict[str, Any]:
        """Return what a configuration's record must stand for; see `records.identity`."""
        try:
            data = self.data(configuration, setting)
        except (FileNotFoundError, ValueError):
            # Records can be read without the data; training reports that they are missing.
            data = None
        return identity(
            configuration, device=setting.device, schema=self.schema, data=data
        )

    def key(self, configuration: Item, setting: Setting) -> str:
        """Return a digest of all that a run's results depend on, its part of seeds too.

        No run goes on from what another configuration or other code has left.
        """
        rows = [] if setting.rows is None else [setting.rows]
        return digest([self.identity(configuration, setting), self.code, *rows])

    def record(self, configuration: Item, setting: Setting, **found: Any) -> RunRecord:
        """Return the record of a run that has just ended, with what it has found."""
        # Loaded here: it loads PyTorch.
        from empirical import devices

        own = self.identity(configuration, setting)
        where = devices.describe(setting.device)
        return RunRecord(**own, code=self.code, environment=where, **found)


def parts_of(
    study: Study[Any], configuration: Any, count: int
) -> list[tuple[int, int] | None]:
    """Divide a configuration's seeds into at most `count` parts, as `Setting.rows`.

    Raises
    ------
    ValueError
        If there are to be several, and the study makes a configuration whole.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from empirical.square_loss.study import STUDY
    >>> five = SimpleNamespace(seeds=(0, 1, 2, 3, 4))
    >>> parts_of(STUDY, five, 2), parts_of(STUDY, five, 1)
    ([(0, 2), (2, 5)], [None])
    """
    if count <= 1:
        return [None]
    if not study.divisible:
        raise ValueError(
            f"run_batch: `parts` must be 1 for {study.module}, which makes a configuration"
            f" whole, but it is {count}"
        )
    seeds = len(configuration.seeds)
    count = min(count, seeds)
    return list(pairwise(seeds * index // count for index in range(count + 1)))


def check_scale(scale: str) -> None:
    """Raise ValueError unless `scale` is one of `SCALES`."""
    check_choice("configurations", "scale", scale, SCALES)


def run_here(
    study: Study[Item], configuration: Item, *, folder: Path, setting: Setting
) -> None:
    """Run one configuration as part of a task, and write its record.

    Raises
    ------
    OSError, RuntimeError, ValueError
        If it can't be run, or the record not be written.
    """
    path = folder / f"{configuration.name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = checkpoint_at(path, study.key(configuration, setting))
    study.run(configuration, replace(setting, checkpoint=kept)).write(path)
    remove_checkpoints(checkpoint_at(path))


_ANY = "[0-9a-f]" * 16
"""Pattern of every `digest`."""


def line_of(configuration: Any) -> str:
    """Return a configuration's line of the list: its name, and what it serves."""
    served = [
        f"{kind} {' '.join(map(str, sorted(numbers)))}"
        for kind in ("tables", "figures")
        if (numbers := getattr(configuration, kind, ()))
    ]
    return "  ".join([configuration.name, *served])


def checkpoint_at(path: Path, of: str = _ANY) -> Path:
    """Return where the state of a record's run lies; by default, a pattern of all."""
    return path.with_name(f"{path.stem}.{of}.checkpoint")


def checkpoints_of(path: Path | None) -> list[Path]:
    """Return where a run's state lies, and those of its parts, numbered behind its name."""
    if path is None:
        return []
    # A user's name may have brackets of its own.
    name = glob.escape(path.name).replace(glob.escape(_ANY), _ANY)
    patterns = (name, f"{name}.[0-9]*")
    return [found for pattern in patterns for found in path.parent.glob(pattern)]


def remove_checkpoints(path: Path) -> None:
    """Remove a run's state, and those of its parts."""
    for left in checkpoints_of(path):
        left.unlink(missing_ok=True)


def check_replicates(configuration: Any, *names: str) -> None:
    """Refuse entries that name networks where there is none, or one twice, or no seed."""
    for name in names:
        given = getattr(configuration, name)
        if not given or len(set(given)) < len(given):
            raise ValueError(
                f"Configuration: `{name}` must differ from each other, at least one, or a"
                f" network would count twice, but they are {given}"
            )
        for each in given if name in ("seeds", "chosen_by") else ():
            # A seed may be any whole number.
            check_counts("Configuration", 0, **{name: min(each, 0)})


def checked_name(name: str) -> str:
    """Return `name`; refuse one of more than letters, digits, ``-``, ``_`` and ``.``.

    Examples
    --------
    >>> checked_name("depth-5_a.1")
    'depth-5_a.1'
    """
    bare = name.replace("-", "").replace("_", "").replace(".", "")
    if not (bare.isascii() and bare.isalnum()) or name.startswith("."):
        raise ValueError(
            "Configuration: `name` must be letters, digits, '-', '_' and '.', but "
            f"it is {name!r}"
        )
    return name


Name = Annotated[str, Rule(lambda _who, _name, value: checked_name(value))]
"""Of a configuration, and of its record."""
