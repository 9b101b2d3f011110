"""Which lines the cases of each claim execute, and how long they take.

Each claim runs in a child of its own, where nothing is cached by the one before it,
under coverage.py. What is found is kept until code that the claim depends on changes.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from verify.mutants.children import Tell, each
from verify.mutants.green import is_green
from verify.mutants.sites import ROOT

MEASURED = ("theory", "empirical", "verify/compare")
LONGEST, TOO_LONG = 120.0, 1e9
"""Seconds of the processor that a claim may take under measurement, and beyond."""


@dataclass(frozen=True)
class Executed:
    """The lines that a claim executes.

    Attributes
    ----------
    claim, module, code : str
        Its id, the module that defines it, and the digest of what it depends on.
    seconds : float
        Of the processor, under measurement; `TOO_LONG` where that was ended.
    imports : list of str
        The files, relative to the project, that its module depends on.
    run : mapping of str to list of int
        By file, the lines that its cases execute.
    """

    claim: str
    module: str
    code: str
    seconds: float
    imports: list[str]
    run: Mapping[str, list[int]]


@dataclass(frozen=True)
class Wanted:
    """A claim to be measured."""

    claim: str
    module: str
    code: str
    imports: tuple[str, ...]


def path_of(claim: str, folder: Path) -> Path:
    """Return the file of a claim's lines."""
    return folder / f"{claim.replace('/', '-')}.json"


def read(wanted: Wanted, folder: Path) -> Executed | None:
    """Return the lines of a claim, or None where they were never or otherwise found."""
    try:
        data = json.loads(path_of(wanted.claim, folder).read_text(encoding="utf-8"))
        found = Executed(**data)
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return found if found.code == wanted.code else None


def closed(*, trained: bool = False) -> list[Wanted]:
    """Return the claims that look at no trained network, or those that do."""
    from verify import ledger

    return [
        Wanted(e.claim.id, e.module, *_behind(e.module))
        for e in ledger.entries()
        if not e.claim.open_reason and (e.claim.runs is not None) is trained
    ]


@cache
def _behind(module: str) -> tuple[str, tuple[str, ...]]:
    """Return the digest and the measured files of what a module depends on."""
    from empirical.digest import code_digest, sources

    paths = [path.relative_to(ROOT).as_posix() for path in sources(module).values()]
    return code_digest(module), tuple(
        p for p in sorted(paths) if p.startswith(MEASURED)
    )


def measure(wanted: Iterable[Wanted], folder: Path, *, workers: int) -> Iterator[str]:
    """Find the lines of claims that have none; yield the id of each as it is there."""
    from empirical.testbed.writing import write_json

    missing = [claim for claim in wanted if read(claim, folder) is None]
    folder.mkdir(parents=True, exist_ok=True)
    running = each(
        missing, _measured, workers=workers, seconds=lambda _: LONGEST, anew=False
    )
    for job, told in running:
        found = told[-1] if told else None
        if isinstance(found, str):
            raise RuntimeError(f"{job.claim} cannot be measured:\n{found}")
        if found is None:
            found = Executed(
                job.claim, job.module, job.code, TOO_LONG, [*job.imports], {}
            )
        write_json(path_of(job.claim, folder), asdict(found))
        yield job.claim


def _measured(job: Wanted, tell: Tell) -> None:
    import coverage

    from verify import ledger

    entry = ledger.find(job.claim)[0]
    recorder = coverage.Coverage(
        data_file=None,
        config_file=False,
        include=[f"{ROOT}/{part}/*" for part in MEASURED],
        messages=False,
    )
    start = time.process_time()
    recorder.start()
    green = is_green(entry.claim)
    recorder.stop()
    seconds = time.process_time() - start
    if not green:
        raise RuntimeError(f"{job.claim} is red without any mutation")
    data = recorder.get_data()
    run: dict[str, list[int]] = {
        Path(file).relative_to(ROOT).as_posix(): sorted(data.lines(file) or ())
        for file in data.measured_files()
    }
    tell(Executed(job.claim, job.module, job.code, seconds, [*job.imports], run))


def load(folder: Path, wanted: Iterable[Wanted]) -> dict[str, Executed]:
    """Return the stored lines of claims, by id."""
    found = {claim.claim: read(claim, folder) for claim in wanted}
    return {name: lines for name, lines in found.items() if lines is not None}
