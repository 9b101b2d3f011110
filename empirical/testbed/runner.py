"""Configurations of a study as tasks of the engine; one JSON record each, resumable.

Wherever the tasks run, only the program that calls `run_batch` writes records.
"""

import dataclasses
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from empirical.checks import check_counts, check_positive
from empirical.testbed import telling
from empirical.testbed.ending import counted
from empirical.testbed.engine import Engine, Progress
from empirical.testbed.graph import End, Result, Task
from empirical.testbed.records import IDENTITY, Draw, Draws, RunRecord, digest
from empirical.testbed.study import (
    Named,
    Setting,
    Study,
    checkpoint_at,
    parts_of,
    remove_checkpoints,
)

Item = TypeVar("Item", bound=Named)


@dataclass(frozen=True)
class Failure:
    """An error to be told, not one of the program."""

    text: str


def sentence(error: BaseException) -> str:
    """Return what an error says; of memory, without the insides of PyTorch.

    Examples
    --------
    >>> sentence(MemoryError())
    'not enough memory; ask for less'
    """
    said = str(error) or "not enough memory; ask for less"
    asked = re.search(r"DefaultCPUAllocator: .*allocate (\d+) bytes", said)
    if asked is None:
        return said
    return f"not enough memory for {int(asked[1]) / 2**30:.3g} GiB; ask for less"


def attempt(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; return a `Failure` for an error that is to be told."""
    try:
        return function(*arguments)
    except (OSError, RuntimeError, ValueError) as error:
        return Failure(sentence(error))


def run_batch(
    study: Study[Item],
    configurations: Sequence[Item],
    *,
    folder: Path | str,
    engine: Engine,
    setting: Setting | None = None,
    rerun: bool = False,
    parts: int = 1,
    most_minutes: float | None = None,
    most_memory: float | None = None,
    report: Callable[[str, str], None] | None = None,
    look: Callable[[Mapping[str, telling.Said | None]], None] | None = None,
) -> dict[str, str]:
    """Run what has no record yet; each record is written whole or not at all.

    What was interrupted goes on from its checkpoint, which lies beside the records until
    its own is written; workers that don't see the folder keep none.

    Parameters
    ----------
    study : Study
    configurations : sequence
        Of different names.
    folder : Path or str
        Made if absent; one ``<name>.json`` each. A record that is there of the same name
        and other settings is renamed ``<name>.<digest>.before``, a file that is no
        readable record ``<name>.json.unreadable``.
    engine : Engine
    setting : Setting, optional
        Of every run; progress and checkpoints are the batch's.
    rerun : bool
        Run those with a record too.
    parts : int
        Tasks that the seeds of a configuration are divided among; its record is that of
        all.
    most_minutes, most_memory : float, optional
        What a task may take, and the GiB that its process may hold.
    report : callable, optional
        Called with a name and ``"running"``, or how it ended.
    look : callable, optional
        Called now and then with the names of what runs, and where each stands.

    Returns
    -------
    dict
        Name to ``"done"``, ``"kept"``, ``"kept, of other code"``, ``"failed: why"`` or
        another end; a failure (memory, say) does not stop the others.

    Raises
    ------
    Ended
        After a signal or the deadline; the records written so far stay.
    OSError
        If nothing can be written to the folder.
    ValueError
        If `parts` is less than 1, or more and the study makes a configuration whole, a
        limit is not positive, or two configurations have the same name.
    """
    check_counts("run_batch", parts=parts)
    check_positive("run_batch", most_minutes=most_minutes, most_memory=most_memory)
    limits: dict[str, Any] = {
        "seconds": most_minutes and 60.0 * most_minutes,
        "memory": most_memory and math.ceil(2**30 * min(most_memory, 2.0**30)),
    }
    times = Counter(each.name for each in configurations)
    if twice := [name for name, count in times.items() if count > 1]:
        raise ValueError(
            "run_batch: `configurations` must have different names, as their records do, "
            f"but {', '.join(twice)} is there more than once"
        )
    folder = Path(folder).absolute()
    setting, code = setting or Setting(), study.code
    say = report or (lambda _name, _outcome: None)
    open_folder(folder)
    outcomes: dict[str, str] = {}
    tasks: list[Task] = []
    names: dict[str, str] = {}
    # The longest first.
    for each in sorted(configurations, key=study.cost, reverse=True):
        path = folder / f"{each.name}.json"
        own = study.identity(each, setting)
        record = None if rerun else RunRecord.read(path)
        if record is not None and record.stands_for(own):
            same = record.code == code
            outcomes[each.name] = "kept" if same else "kept, of other code"
            say(each.name, outcomes[each.name])
            continue
        for rows in parts_of(study, each, parts):
            given = dataclasses.replace(setting, rows=rows)
            task = task_of(study, each, folder=folder, setting=given)
            tasks.append(dataclasses.replace(task, **limits))
            names[task.key] = each.name

    begun: set[str] = set()

    def seen(progress: Progress) -> None:
        running = {names[key]: progress.said.get(key) for key in progress.running}
        for name in running.keys() - begun:
            begun.add(name)
            say(name, "running")
        if look is not None:
            look(running)

    ended: dict[str, Result] = {}
    for task, result in engine.run(tasks, progress=seen):
        name, ended[task.key] = names[task.key], result
        keys = [key for key, of in names.items() if of == name]
        if all(key in ended for key in keys):
            whole = _whole([ended.pop(key) for key in keys])
            path, before = folder / f"{name}.json", ""
            if whole.end is End.DONE and isinstance(whole.value, RunRecord):
                before = _set_aside(path, whole.value)
            outcomes[name] = settled(path, whole)
            say(name, outcomes[name] + before)
    return outcomes


def _set_aside(path: Path, record: RunRecord) -> str:
    """Keep what another configuration, or device, or data has left; say where.

    And what is no record, or one of another version of this project.
    """
    other = RunRecord.read(path)
    own = {name: getattr(record, name) for name in IDENTITY}
    if not path.is_file() or (other is not None and other.stands_for(own)):
        return ""
    if other is None:
        what, aside = "unreadable file", path.with_name(f"{path.name}.unreadable")
    else:
        settings = digest([getattr(other, name) for name in IDENTITY])
        what = "record of other settings"
        aside = path.with_name(f"{path.stem}.{settings}.before")
    try:
        path.replace(aside)
    except OSError as error:
        return f"; the {what} that was there can't be kept: {error}"
    return f"; the {what} that was there is now {aside.name}"


def _whole(parts: Sequence[Result]) -> Result:
    """Return the result of a configuration from those of its parts."""
    for one in parts:
        if one.end is not End.DONE or isinstance(one.value, Failure):
            return one
    if len(parts) == 1:
        return parts[0]
    record = attempt(joined, [one.value for one in parts])
    return Result(End.DONE, record, seconds=sum(one.seconds for one in parts))


def joined(parts: Sequence[RunRecord]) -> RunRecord:
    """Return the record of all replicates from those of parts of their seeds, in order.

    Raises
    ------
    ValueError
        If they are not of one run: other than in draws, seconds and machine they differ.
    """
    first = parts[0]
    every = [
        dataclasses.replace(p, draws=Draws(), seconds={}, environment={}) for p in parts
    ]
    if len({each.text() for each in every}) > 1:
        raise ValueError(
            f"joined: `parts` must be of one run, but of {first.name} they say "
            "different things"
        )
    return dataclasses.replace(
        first,
        seconds={n: sum(p.seconds[n] for p in parts) for n in first.seconds},
        draws=_in_order([draw for part in parts for draw in part.draws]),
    )


def _in_order(draws: Sequence[Draw]) -> Draws:
    """Return draws as the whole has them: seeds of one kind behind each other."""
    kinds: dict[str, list[Draw]] = {}
    for draw in draws:
        kind = digest({k: v for k, v in draw.keys.items() if k != "seed"})
        kinds.setdefault(kind, []).append(draw)
    return Draws(chain.from_iterable(kinds.values()))


def task_of(
    study: Study[Item], configuration: Item, *, folder: Path, setting: Setting
) -> Task:
    """Return a task whose key is all that its record depends on.

    Its result is a record or a `Failure`. It goes on from what a run of the same key has
    left in `folder`, where that can be seen; `settled` ends it.
    """
    key = study.key(configuration, setting)
    kept = checkpoint_at(folder / f"{configuration.name}.json", key)
    given = dataclasses.replace(setting, checkpoint=kept, progress=None)
    return Task(
        f"{study.module}/{configuration.name}-{key}",
        _work,
        (study.run, configuration, given),
        gpu=setting.device.startswith("cuda"),
    )


def _work(
    run: Callable[[Any, Setting], Any], configuration: Any, setting: Setting
) -> Any:
    """Run one configuration, in this process or in a worker."""
    kept = setting.checkpoint
    if kept is not None and not kept.parent.is_dir():
        # Another machine, and no shared folder.
        kept = None
    told = dataclasses.replace(setting, checkpoint=kept, progress=telling.tell)
    return attempt(run, configuration, told)


def settled(path: Path, result: Result) -> str:
    """Write the record of a run that ended, and say how it did."""
    if result.end is not End.DONE:
        reason, end = result.error.strip(), result.end.value
        # What is over a limit says so itself.
        if not reason or reason.startswith(f"{end}: "):
            return reason or end
        return f"{end}: {reason}"
    if isinstance(result.value, Failure):
        return f"failed: {result.value.text}"
    try:
        result.value.write(path)
    except (OSError, ValueError) as error:
        # Its checkpoint stays.
        return f"failed: its record can't be written: {error}"
    # Checkpoints of other code or configurations are of no use any more.
    remove_checkpoints(checkpoint_at(path))
    return "done"


def summary(outcomes: Mapping[str, str]) -> str:
    """Return how many configurations ended in which way.

    Examples
    --------
    >>> summary({"a": "done", "b": "kept", "c": "failed: no data", "d": "done"})
    '4 configurations: 2 done, 1 failed, 1 kept'
    """
    ends = Counter(re.split("[,:]", outcome)[0] for outcome in outcomes.values())
    counts = ", ".join(f"{ends[end]} {end}" for end in sorted(ends))
    return f"{counted(len(outcomes), 'configuration')}: {counts}"


def open_folder(folder: Path, name: str = "") -> None:
    """Make a folder; raise OSError where no files, or none of that name, can be written."""
    # As long a name as it has while it is being written, see `writing.whole`.
    probe = folder / f".{name or 'probe'}.{os.getpid()}.partial"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with probe.open("wb") as stream:
                # Of a full disk, the first block says so.
                stream.write(b"\0" * 4096)
                stream.flush()
                os.fsync(stream.fileno())
        finally:
            probe.unlink(missing_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        why = "it, or what it lies in, is a file"
        raise OSError(f"nothing can be written to {folder}: {why}") from error
    except OSError as error:
        raise OSError(f"nothing can be written to {folder}: {error}") from error
