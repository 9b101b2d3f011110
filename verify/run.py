"""Run claims: judge every case, try the control, search for counterexamples.

`run_claim` runs one claim in this process. `run_many` gives claims to the engine, which
spreads them over worker processes, and writes each record as soon as it is there, so
that an interrupted run keeps what it has.
"""

import importlib.metadata
import math
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType

from empirical.digest import ROOT, roots_of, sources
from empirical.testbed.engine import Engine
from empirical.testbed.graph import End, Task
from empirical.testbed.records import RunRecord
from empirical.testbed.runner import Failure, attempt, open_folder, settled, task_of
from empirical.testbed.study import run_here
from verify import ledger, records
from verify.claim import Claim, Profile, declared
from verify.judging import concluded, judge, strict
from verify.paths import RUNS, Place, folder_of, place, placed
from verify.records import CaseRecord, Record
from verify.search import search
from verify.trained import Found, Run, found_for, given

Report = Callable[[str, Record], None]
"""Called with a claim's id and its record."""

Say = Callable[[str], None]
"""Called with a sentence on what is trained, and what became of it."""

GRACE = 5.0
"""Seconds that claims have to stop in, once asked: training does so at its next pause."""

NAMED = 6
"""So many networks are named, of those that are trained first."""

PACKAGES = ("numpy", "scipy", "mpmath", "sympy", "python-flint", "torch", "hypothesis")


def run_claim(
    claim: Claim,
    profile: Profile = Profile.QUICK,
    *,
    module: str,
    roots: tuple[Path, ...] = (ROOT,),
    found: Found | None = None,
) -> Record:
    """Run every case of a claim, its control and its search; return the record.

    `found` are the runs that it looks at; absent, they are read from where they are
    kept, or trained here. An exception of a prediction or measurement is not raised:
    the case is recorded as an error, with its traceback.

    Raises
    ------
    ValueError
        If the claim is open, or needs a larger profile.
    RuntimeError
        If assertions are switched off, or code ran that is not of the files whose
        digest the record would have.
    """
    if not __debug__:
        raise RuntimeError("run_claim: measurements assert; run Python without -O")
    if claim.open_reason:
        raise ValueError(f"{claim.id} is open and cannot be run: {claim.open_reason}")
    if not claim.cases_for(profile):
        larger = ", ".join(claim.larger_cases)
        raise ValueError(
            f"{claim.id} has no cases in the profile {profile.value}: it takes {larger}"
        )
    # The digest first: a source edited meanwhile makes the record stale, not wrong.
    code = _code(module, roots, claim.engine, claim.reads)
    if found is None:
        found = found_for(claim, profile, place())
        found = {run: found[run] or _trained_here(run, place()) for run in found}
    start = time.process_time()
    with strict(), given(found):
        cases = tuple(judge(claim, case) for case in claim.cases_for(profile))
        searched = search(claim) if claim.examples is not None else None
    _check_sources(module, roots)
    return Record(
        claim=claim.id,
        version=claim.version,
        profile=profile.value,
        expected=claim.expected,
        comparison=type(claim.compare).__name__,
        cases=cases,
        search=searched,
        seconds=round(time.process_time() - start, 3),
        code=code,
        device=_device(cases),
        dtype=str(dict(cases[0].case).get("dtype", "float64")),
        machine=f"{platform.system()} {platform.machine()}",
        made=datetime.now(UTC).date().isoformat(),
        packages=dict(_versions()),
        **concluded(claim, cases, searched),
    )


# Those of this process: as they were first seen.
_code = cache(records.code_of)
_sources = cache(sources)


def _check_sources(module: str, roots: tuple[Path, ...]) -> None:
    """Refuse code of other files than the digest is of: packages found sooner."""
    for name, path in _sources(module, roots).items():
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None and Path(file).resolve() != path.resolve():
            raise RuntimeError(
                f"run_claim: {name} must be that of {path}, but {file} was imported"
            )


def _trained_here(run: Run, here: Place) -> RunRecord | str:
    path, study = run.path(here), run.trainer.study
    train = partial(run_here, folder=path.parent, setting=run.setting)
    failure = attempt(train, study, run.configuration(here))
    record = RunRecord.read(path)
    if isinstance(failure, Failure) or record is None:
        return failure.text if failure else f"{path} cannot be read"
    return record


def _training(run: Run, here: Place) -> Task:
    """Return the task that trains a run."""
    made, folder = run.configuration(here), run.path(here).parent.absolute()
    return task_of(run.trainer.study, made, folder=folder, setting=run.setting)


def _device(cases: Sequence[CaseRecord]) -> str:
    used = {str(dict(case.case).get("device", "cpu")) for case in cases}
    if used == {"cpu"}:
        return "cpu"
    import torch

    # The hardware's name where a GPU was used.
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"


@cache
def _versions() -> Mapping[str, str]:
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return MappingProxyType(found)


def run_and_write(entry: ledger.Entry, profile: Profile, folder: Path) -> Record:
    """Run one claim in this process; write its record, and those of its networks."""
    roots = roots_of(entry.module)
    with placed(Place(folder)):
        record = run_claim(entry.claim, profile, module=entry.module, roots=roots)
    records.write(record, folder)
    return record


def run_many(
    entries: Sequence[ledger.Entry],
    *,
    profile: Profile = Profile.QUICK,
    folder: Path,
    workers: int = 2,
    scheduler: str | None = None,
    report: Report | None = None,
    say: Say | None = None,
    redraw: int = 0,
    fault: str = "",
) -> dict[str, Record]:
    """Run claims in parallel worker processes, longest first; write each record.

    Parameters
    ----------
    entries : sequence of Entry
        Open claims among them, and those without cases in the profile, are left out.
    folder : Path
        Where the records go, and those of the networks that claims look at; earlier
        ones there tell how long a claim takes.
    workers : int
        Processes; each uses one thread. A single one, or a single claim, runs in this
        process.
    scheduler : str, optional
        Address or file of a Dask scheduler, whose workers run them instead.
    report : callable, optional
        Called with a claim's id and its record as soon as it is written.
    say : callable, optional
        Called with what has to be trained first, and with the end of each training.
    redraw : int
        How many times over the seeds of trained networks are moved.
    fault : str
        What is wrong with their training; every claim's study must have such a fault.

    Raises
    ------
    Ended
        After Ctrl-C or another signal, with its exit code; finished records stay.
    RuntimeError
        If a claim could not be run at all (its worker died, its module fails to
        import), or its record not be written; all others were run and recorded.
    """

    def order(entry: ledger.Entry) -> float:
        seconds = records.seconds(entry.claim, folder)
        # Unknown ones first, for they may be long.
        return -math.inf if seconds is None else -seconds

    runnable = sorted((e for e in entries if e.claim.cases_for(profile)), key=order)
    paths, names, tasks = _graph(runnable, profile, Place(folder, redraw, fault))
    for parent in {folder, *(path.parent for path in paths.values())}:
        open_folder(parent)
    if paths and say is not None:
        say(_planned([*paths.values()], profile))
    done: dict[str, Record] = {}
    failures: list[str] = []
    told = 0
    # No more than have something to do: a million would be started one by one.
    local = min(workers, max(1, len(tasks))) if scheduler is None else None
    with Engine(workers=local, scheduler=scheduler, grace=GRACE) as engine:
        for task, result in engine.run(tasks):
            if task.key in paths:
                outcome, told = settled(paths[task.key], result), told + 1
                if say is not None:
                    say(f"{paths[task.key].stem}: {outcome} ({told} of {len(paths)})")
                if outcome.startswith("failed: its record"):
                    failures.append(f"{paths[task.key].stem}: {outcome}")
            elif result.end is End.DONE:
                name = names[task.key]
                try:
                    records.write(result.value, folder)
                except OSError as error:
                    failures.append(f"{name}: its record can't be written: {error}")
                    continue
                done[name] = result.value
                if report is not None:
                    report(name, result.value)
            elif result.end is not End.STOPPED:
                failures.append(f"{names[task.key]}: {result.error}")
    if failures:
        raise RuntimeError(
            "\n".join(["some claims could not be run or recorded", *failures])
        )
    return done


def _planned(missing: Sequence[Path], profile: Profile) -> str:
    """Say what is trained, since there is no record of it, and where there are some."""
    folder, usual = missing[0].parent, folder_of(profile.value) / RUNS
    named = ", ".join(path.stem for path in missing[:NAMED])
    more = len(missing) - NAMED
    said = (
        f"trained first, for want of current records in {folder}: {named}"
        f"{f' and {more} more' if more > 0 else ''}"
    )
    there = sum((usual / path.name).is_file() for path in missing)
    if there and usual.resolve() != folder.resolve():
        said += (
            f" ({there} of {len(missing)} have a record in {usual}, which is looked at"
            " only without `--records`)"
        )
    return said


def _graph(
    entries: Sequence[ledger.Entry], profile: Profile, here: Place
) -> tuple[dict[str, Path], dict[str, str], list[Task]]:
    """Return the tasks of claims, behind those that train what they look at.

    First, by key, where the records of the latter go, and the claims of the others.
    """
    with placed(here):
        wanted = {e.claim.id: e.claim.runs_for(profile) for e in entries}
    every: dict[Run, None] = dict.fromkeys(r for runs in wanted.values() for r in runs)
    found = {run: run.find(here) for run in every}
    planned = {run: run.configuration(here) for run in every if found[run] is None}
    # The longest first, and claims behind those that they wait for.
    order = sorted(planned, key=lambda r: -r.trainer.study.cost(planned[r]))
    training = {run: _training(run, here) for run in order}
    paths = {task.key: run.path(here) for run, task in training.items()}
    tasks, names = list(training.values()), dict[str, str]()
    for entry in entries:
        # Two programs on one scheduler share what is of the same code.
        claim, roots = entry.claim, roots_of(entry.module)
        code = _code(entry.module, roots, claim.engine, claim.reads)
        key = f"{entry.claim.id} {profile.value} {here.redraw}{here.fault} {code}"
        names[key] = entry.claim.id
        runs = wanted[entry.claim.id]
        known = {run: found[run] for run in runs if run not in training}
        missing = tuple(run for run in runs if run in training)
        given = (entry.module, entry.claim.id, profile.value, here, known, missing)
        needs = tuple(training[run].key for run in missing)
        tasks.append(Task(key, _work, given, needs=needs))
    return paths, names, tasks


def _work(
    module: str,
    claim_id: str,
    profile: str,
    here: Place,
    known: Found,
    missing: tuple[Run, ...],
    *trained: RunRecord | Failure,
) -> Record:
    """Run one claim in a worker, importing only the module that defines it."""
    home = importlib.import_module(module)
    claim = next(c for c in declared(home) if c.id == claim_id)
    said = [each.text if isinstance(each, Failure) else each for each in trained]
    found = {**known, **dict(zip(missing, said, strict=True))}
    roots = roots_of(module)
    with placed(here):
        return run_claim(
            claim, Profile(profile), module=module, roots=roots, found=found
        )
