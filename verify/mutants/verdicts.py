"""Which claim notices a mutation: cases that execute its line, cheapest first."""

import hashlib
import importlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from itertools import takewhile
from pathlib import Path
from typing import Any

from verify.mutants.cases import Said, ask, is_green
from verify.mutants.children import Replaced, Tell, allow, each
from verify.mutants.lines import LONGEST, Executed, Part
from verify.mutants.sites import Mutant, package_of

PLACE = Path(__file__).with_name("verdicts.json")

SLOWER, AT_LEAST = 10.0, 5.0
"""A mutated case may take so many times as long, and this many seconds more."""


class Fate(StrEnum):
    """What became of a mutation."""

    KILLED = "killed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"
    NOT_COVERED = "not covered"


@dataclass(frozen=True)
class Verdict:
    """What became of a mutation.

    Attributes
    ----------
    mutant : str
        Its key.
    fate : Fate
        By the claims alone.
    claim : str
        That turned red, or took too long.
    asked : int
        How many cases were run.
    code : str
        Digest of the sources that it depends on; see `code_of`.
    test : str or None
        The file of tests that fails, empty where none does, None where none was tried.
    case : int or None
        The number of the claim's case with which it did so.
    """

    mutant: str
    fate: Fate
    claim: str
    asked: int
    code: str
    test: str | None = None
    case: int | None = None

    @property
    def package(self) -> str:
        """Which package the mutation is in."""
        return package_of(self.mutant)


@dataclass(frozen=True)
class Question:
    """A claim, and the case of it that is asked."""

    claim: Executed
    part: Part

    @property
    def allowance(self) -> float:
        """Seconds of the processor that it may take once mutated."""
        return AT_LEAST + SLOWER * self.claim.alone[self.part.number]


def asked(mutant: Mutant, executed: Mapping[str, Executed]) -> list[Question]:
    """Return the cases to be run against a mutation, in order.

    First those that execute its lines, cheapest first, then those that come after them
    in their claims: these may rest on what was kept in a cache.

    A line outside functions is executed on import: those cases are asked that execute
    any line of its module, and where there is none, those of all claims that import it.
    """
    every = [
        Question(claim, part)
        for claim in executed.values()
        for part in claim.parts
        if part.said is not None
    ]
    found = [question for question in every if _executes(question.part, mutant)]
    if not found and not mutant.called:
        found = [q for q in every if mutant.file in q.part.run]
        found = found or [q for q in every if mutant.file in q.claim.imports]
    first = {(q.claim.claim, q.part.number) for q in found}
    begun, after = set[str](), list[Question]()
    for question in every:
        name = question.claim.claim
        if (name, question.part.number) in first:
            begun.add(name)
        elif name in begun:
            after.append(question)
    total, chosen = 0.0, list[Question]()
    for group in (found, after):
        for question in sorted(group, key=lambda q: q.part.seconds):
            total += question.part.seconds
            if total > LONGEST:
                return chosen
            chosen.append(question)
    return chosen


def _executes(part: Part, mutant: Mutant) -> bool:
    return not part.run.get(mutant.file, frozenset[int]()).isdisjoint(mutant.lines)


def untouched(mutant: Mutant, claim: Executed) -> dict[int, Said]:
    """Return what those cases of a claim say that a mutation cannot reach, by number.

    They come before any that executes its lines, or of which nothing is known. A line
    outside functions may reach them all.
    """
    if not mutant.called:
        return {}
    apart = takewhile(
        lambda part: part.said is not None and not _executes(part, mutant), claim.parts
    )
    return {part.number: part.said for part in apart if part.said is not None}


@dataclass(frozen=True)
class Trial:
    """A mutation and the cases to be run against it, in order."""

    mutant: Mutant
    questions: tuple[Question, ...]

    @property
    def seconds(self) -> float:
        """Return the seconds that all cases may take."""
        return sum(question.allowance for question in self.questions)


def judged(
    mutants: Iterable[Mutant],
    executed: Mapping[str, Executed],
    *,
    workers: int,
    before: Mapping[str, Verdict] | None = None,
) -> Iterator[Verdict]:
    """Run cases against mutations; yield verdicts as they come.

    The case that noticed a mutation the last time is asked first.
    """
    trials: list[Trial] = []
    for mutant in mutants:
        questions = asked(mutant, executed)
        if not questions:
            yield Verdict(mutant.key, Fate.NOT_COVERED, "", 0, code_of(None, executed))
            continue
        last = (before or {}).get(mutant.key)
        questions.sort(key=lambda q: last is None or not _noticed(q, last))
        trials.append(Trial(mutant, tuple(questions)))
    trials.sort(key=lambda trial: trial.seconds)
    for trial, told in each(
        trials, try_cases, workers=workers, seconds=lambda t: t.seconds
    ):
        yield verdict_of(trial, told, executed)


def _noticed(question: Question, last: Verdict) -> bool:
    cases = (None, question.part.number)
    return question.claim.claim == last.claim and last.case in cases


def verdict_of(
    trial: Trial, told: Sequence[Any], executed: Mapping[str, Executed]
) -> Verdict:
    """Return the verdict in a child's messages: cases begun, the red one, the end."""
    if told and isinstance(told[-1], str):
        raise RuntimeError(f"{trial.mutant.key} cannot be tried:\n{told[-1]}")
    begun = [what for what in told if isinstance(what, Begun)]
    first = trial.questions[0]
    last = begun[-1] if begun else Begun(first.claim.claim, first.part.number)
    if told and isinstance(told[-1], Green):
        code = code_of(None, executed)
        return Verdict(trial.mutant.key, Fate.SURVIVED, "", len(begun), code)
    # What ends the process, by its limits or by itself, is noticed as well.
    red = bool(told) and isinstance(told[-1], Red)
    fate = Fate.KILLED if red else Fate.TIMED_OUT
    code = code_of(executed.get(last.claim), executed)
    return Verdict(
        trial.mutant.key, fate, last.claim, len(begun), code, case=last.number
    )


@dataclass(frozen=True)
class Begun:
    """A child begins to run a case of a claim."""

    claim: str
    number: int


class Red:
    """The claim whose case was begun is not green."""


class Green:
    """Result of a mutation that leaves all claims green."""


def try_cases(trial: Trial, tell: Tell) -> None:
    """Run cases, with a mutation in place, until a claim cannot be green."""
    mutant = trial.mutant
    file = Path(__file__).parents[2] / mutant.file
    sys.meta_path.insert(0, Replaced({mutant.module: (file, mutant.code())}))
    said: dict[str, dict[int, Said]] = {}
    for question in trial.questions:
        name = question.claim.claim
        tell(Begun(name, question.part.number))
        allow(question.allowance)
        known = said.setdefault(name, untouched(mutant, question.claim))
        if not _stays_green(question, known):
            tell(Red())
            return
    tell(Green())


def _stays_green(question: Question, known: dict[int, Said]) -> bool:
    """Whether a claim is green by what one more case says, which joins what is known.

    A case that raises what it did not without the mutation leaves no claim green.
    """
    claim, wanted = None, question.claim
    try:
        home = importlib.import_module(wanted.module)
        from verify.claim import declared

        claim = next((c for c in declared(home) if c.id == wanted.claim), None)
        if claim is not None:
            known[question.part.number] = ask(claim, question.part.number)
            return is_green(claim, known)
    except Exception:  # without the mutation there is none
        return False
    raise LookupError(f"{wanted.module} has no claim {wanted.claim}")


def code_of(killer: Executed | None, executed: Mapping[str, Executed]) -> str:
    """Return a digest of what a verdict depends on: one claim's sources, or all."""
    if killer is not None:
        return killer.code
    whole = sorted({e.code for e in executed.values()})
    return hashlib.sha256("".join(whole).encode()).hexdigest()[:16]


def is_current(verdict: Verdict, executed: Mapping[str, Executed]) -> bool:
    """Whether a verdict is of the present sources."""
    killer = executed.get(verdict.claim)
    if verdict.claim and killer is None:
        return False
    return verdict.code == code_of(killer, executed)


def read(path: Path = PLACE) -> dict[str, Verdict]:
    """Return the verdicts that are kept, by mutation.

    Raises
    ------
    ValueError
        If the file is not one of verdicts.
    """
    if not path.exists():
        return {}
    data = json.loads(path.read_text(encoding="utf-8"))
    found = [Verdict(**each_of) for each_of in data]
    return {v.mutant: replace(v, fate=Fate(v.fate)) for v in found}


def write(verdicts: Iterable[Verdict], path: Path = PLACE) -> None:
    """Write verdicts, in the order of their mutations."""
    from empirical.testbed.writing import write_json

    write_json(path, [asdict(v) for v in sorted(verdicts, key=lambda v: v.mutant)])
