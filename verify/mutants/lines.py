"""Which lines each case of each claim executes, what it says, and how long it takes.

Each claim runs in a child of its own, where nothing is cached by the one before it,
under coverage.py, one case after the other. What is found is kept until code that the
claim depends on changes.
"""

import importlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cache
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any

from empirical._cached import cached_property
from verify.mutants.cases import Said, ask, is_green, numbers
from verify.mutants.children import Tell, allow, each
from verify.mutants.sites import ROOT

MEASURED = ("theory", "empirical", "verify/compare")
LONGEST, TOO_LONG = 45.0, 1e9
"""Seconds of the processor that a case may take under measurement, and beyond."""

Lines = Mapping[str, frozenset[int]]
"""By file, relative to the project, some of its lines."""


@dataclass(frozen=True)
class Part:
    """A case of a claim, or its search.

    Attributes
    ----------
    number : int
        Of the case, or `SEARCH`.
    seconds : float
        Of the processor, under measurement; `TOO_LONG` where that was ended.
    said : Said or None
        What it says without any mutation; None where it was ended.
    run : mapping of str to frozenset of int
        The lines that it executes.
    """

    number: int
    seconds: float
    said: Said | None
    run: Lines


@dataclass(frozen=True)
class Executed:
    """The lines that a claim executes.

    Attributes
    ----------
    claim, module, code : str
        Its id, the module that defines it, and the digest of what it depends on.
    imports : list of str
        The files, relative to the project, that its module depends on.
    parts : sequence of Part
        Its cases in their order, and its search.
    """

    claim: str
    module: str
    code: str
    imports: list[str]
    parts: Sequence[Part]

    @cached_property
    def alone(self) -> Mapping[int, float]:
        """The most seconds that each part takes alone, by number.

        What a part is seen to take may rest on what those before it left in caches.
        """
        known = [part for part in self.parts if part.said is not None]
        whole = accumulate(part.seconds for part in known)
        return {part.number: s for part, s in zip(known, whole, strict=True)}


@dataclass(frozen=True)
class Wanted:
    """A claim to be measured, and the numbers of its parts."""

    claim: str
    module: str
    code: str
    imports: tuple[str, ...]
    parts: tuple[int, ...]


def path_of(claim: str, folder: Path) -> Path:
    """Return the file of a claim's lines."""
    return folder / f"{claim.replace('/', '-')}.json"


def read(wanted: Wanted, folder: Path) -> Executed | None:
    """Return the lines of a claim, or None where they were never or otherwise found."""
    try:
        text = path_of(wanted.claim, folder).read_text(encoding="utf-8")
        found = unpacked(json.loads(text))
    except (FileNotFoundError, ValueError, TypeError, KeyError, IndexError):
        return None
    return found if found.code == wanted.code else None


def packed(found: Executed) -> dict[str, Any]:
    """Return what is kept of a claim, as JSON.

    Most cases execute the same lines of most files: each set of lines is written once,
    by its ranges, and a case has the places of its own among them.
    """
    places: dict[str, int] = {}
    parts: list[Any] = []
    for part in found.parts:
        texts = [f"{file} {_ranges(lines)}" for file, lines in part.run.items()]
        run = " ".join(str(places.setdefault(t, len(places))) for t in sorted(texts))
        said = [*astuple(part.said)] if part.said else None
        parts.append([part.number, part.seconds, said, run])
    return {
        "claim": found.claim,
        "module": found.module,
        "code": found.code,
        "imports": found.imports,
        "lines": [*places],
        "parts": parts,
    }


def unpacked(data: Mapping[str, Any]) -> Executed:
    """Return a claim's lines from what is kept of them."""
    sets: list[tuple[str, frozenset[int]]] = []
    for text in data["lines"]:
        file, _, ranges = text.rpartition(" ")
        ends = [[*map(int, r.split("-"))] for r in ranges.split(",") if r]
        sets.append((file, frozenset(n for e in ends for n in range(e[0], e[-1] + 1))))
    parts = [
        Part(
            number,
            seconds,
            # A slack may be infinite, which is text in JSON.
            said and Said(*said[:2], *(s and float(s) for s in said[2:])),
            dict(sets[int(i)] for i in run.split()),
        )
        for number, seconds, said, run in data["parts"]
    ]
    return Executed(data["claim"], data["module"], data["code"], data["imports"], parts)


def _ranges(lines: Iterable[int]) -> str:
    runs = groupby(enumerate(sorted(lines)), key=lambda pair: pair[1] - pair[0])
    ends = [[n for _, n in run] for _, run in runs]
    return ",".join(f"{e[0]}-{e[-1]}" if len(e) > 1 else f"{e[0]}" for e in ends)


def closed(*, trained: bool = False) -> list[Wanted]:
    """Return the claims that look at no trained network, or those that do."""
    from verify import ledger

    return [
        Wanted(e.claim.id, e.module, *_behind(e.module), tuple(numbers(e.claim)))
        for e in ledger.entries()
        if e.claim.cases and (e.claim.runs is not None) is trained
    ]


def untrained() -> list[str]:
    """Return the names of networks that are looked at and have no current record."""
    from empirical.testbed.records import RunRecord
    from verify import ledger
    from verify.claim import Profile
    from verify.paths import place
    from verify.trained import found_for

    every = (found_for(e.claim, Profile.QUICK, place()) for e in ledger.entries())
    runs = {run: found for each_of in every for run, found in each_of.items()}
    return sorted(r.name for r, f in runs.items() if not isinstance(f, RunRecord))


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

    importlib.import_module("coverage")  # once, and not in every child
    missing = [claim for claim in wanted if read(claim, folder) is None]
    folder.mkdir(parents=True, exist_ok=True)
    running = each(
        missing,
        _measured,
        workers=workers,
        seconds=lambda job: LONGEST * len(job.parts),
        anew=False,
    )
    for job, told in running:
        if told and isinstance(told[-1], str):
            raise RuntimeError(f"{job.claim} cannot be measured:\n{told[-1]}")
        # Where a part took too long, nothing is known of it and of those behind it.
        ended = [Part(n, TOO_LONG, None, {}) for n in job.parts[len(told) :]]
        found = Executed(
            job.claim, job.module, job.code, [*job.imports], [*told, *ended]
        )
        write_json(path_of(job.claim, folder), packed(found))
        yield job.claim


def _measured(job: Wanted, tell: Tell) -> None:
    import coverage

    from verify import ledger
    from verify.claim import Profile
    from verify.paths import place
    from verify.trained import found_for, given

    claim = ledger.find(job.claim)[0].claim
    recorder = coverage.Coverage(
        data_file=None,
        config_file=False,
        include=[f"{ROOT}/{part}/*" for part in MEASURED],
        messages=False,
    )
    every: dict[int, Said] = {}
    known = found_for(claim, Profile.QUICK, place())
    recorder.start()
    for number in job.parts:
        allow(LONGEST)
        recorder.switch_context(str(number))
        start = time.process_time()
        with given(known):
            every[number] = ask(claim, number)
        seconds = time.process_time() - start
        data = recorder.get_data()
        data.set_query_context(str(number))
        run = {
            Path(file).relative_to(ROOT).as_posix(): frozenset(lines)
            for file in data.measured_files()
            if (lines := data.lines(file))
        }
        tell(Part(number, round(seconds, 4), every[number], run))
    recorder.stop()
    if not is_green(claim, every):
        raise RuntimeError(f"{job.claim} is red without any mutation")


def load(folder: Path, wanted: Iterable[Wanted]) -> dict[str, Executed]:
    """Return the stored lines of claims, by id."""
    found = {claim.claim: read(claim, folder) for claim in wanted}
    return {name: lines for name, lines in found.items() if lines is not None}
