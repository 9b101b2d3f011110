"""Configurations run one after another, one JSON record each, resumable."""

import glob
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from empirical.testbed.records import RunRecord
from empirical.testbed.writing import plain


class Named(Protocol):
    """What can be run in a batch: its name is also that of its file."""

    @property
    def name(self) -> str:
        """Letters, digits, ``-``, ``_`` and ``.``."""
        ...


Item = TypeVar("Item", bound=Named)

_CHECKPOINT = "{}.{}.checkpoint"


def checked_name(name: str) -> str:
    """Return `name` if it can be a file's.

    Raises
    ------
    ValueError
        If it holds anything but letters, digits, ``-``, ``_`` and ``.``.

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


def run_batch(
    configurations: Sequence[Item],
    *,
    directory: Path,
    identity: Callable[[Item], Mapping[str, Any]],
    run: Callable[[Item, Path], RunRecord],
    code: str,
    rerun: bool = False,
    report: Callable[[Item, str], None] | None = None,
) -> dict[str, str]:
    """Run what has no record yet; each record is written whole or not at all.

    Parameters
    ----------
    configurations : sequence
    directory : Path
        Made if absent; one ``<name>.json`` each.
    identity : callable
        What a kept record must stand for, see `RunRecord.stands_for`.
    run : callable
        Configuration, and where it may leave its state on the way, to record.
    code : str
        A kept record of other code is kept, and said to be.
    rerun : bool
        Run those with a record too.
    report : callable, optional
        Called with a configuration and ``"running"`` before it starts, or how it ended.

    Returns
    -------
    dict
        Name to ``"done"``, ``"kept"``, ``"kept, of other code"`` or ``"failed: why"``;
        a failure (memory, say) does not stop the others.

    Raises
    ------
    KeyboardInterrupt
        Passed on; the records written so far stay, nothing half-written does.
    """
    directory.mkdir(parents=True, exist_ok=True)
    say = report or (lambda _configuration, _outcome: None)
    outcomes: dict[str, str] = {}
    for configuration in configurations:
        path = directory / f"{configuration.name}.json"
        own = identity(configuration)
        outcome = None if rerun else _kept(path, own, code)
        if outcome is None:
            say(configuration, "running")
            state = _checkpoint(path, own, code)
            try:
                run(configuration, state).write(path)
                outcome = "done"
                # Those of other code and other configurations are of no use now.
                every = _CHECKPOINT.format(configuration.name, "[0-9a-f]" * 12)
                _remove(directory, every)
            except (RuntimeError, ValueError, OSError) as error:
                outcome = f"failed: {error}"
        outcomes[configuration.name] = outcome
        say(configuration, outcome)
    return outcomes


def _checkpoint(path: Path, identity: Mapping[str, Any], code: str) -> Path:
    # No run goes on from what another configuration or other code has left.
    described = json.dumps([plain(identity), code], sort_keys=True)
    digest = hashlib.sha256(described.encode()).hexdigest()[:12]
    return path.with_name(_CHECKPOINT.format(path.stem, digest))


def remove_checkpoints(path: Path) -> None:
    """Remove a run's state, and those of its parts, numbered behind its name."""
    _remove(path.parent, glob.escape(path.name))


def _remove(directory: Path, pattern: str) -> None:
    for each in (pattern, f"{pattern}.[0-9]*"):
        for left in directory.glob(each):
            left.unlink(missing_ok=True)


def _kept(path: Path, identity: Mapping[str, Any], code: str) -> str | None:
    record = RunRecord.read(path)
    if record is None or not record.stands_for(identity):
        return None
    return "kept" if record.code == code else "kept, of other code"
