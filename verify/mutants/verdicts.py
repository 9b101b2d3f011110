"""Which claim notices a mutation: those that execute its line, cheapest first."""

import hashlib
import importlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from verify.mutants.children import Replaced, Tell, allow, each
from verify.mutants.green import is_green
from verify.mutants.lines import Executed
from verify.mutants.sites import Mutant

PLACE = Path(__file__).with_name("verdicts.json")

LONGEST_CLAIM = 10.0
"""Seconds of a claim under measurement that is too long to be run for each mutation."""

LONGEST = 45.0
"""Seconds of the claims, as measured, that one mutation is run against."""

SLOWER, AT_LEAST = 10.0, 5.0
"""A mutated claim may take so many times as long, and this many seconds more."""


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
        How many claims were run.
    code : str
        Digest of the sources that it depends on; see `code_of`.
    test : str or None
        The file of tests that fails, empty where none does, None where none was tried.
    """

    mutant: str
    fate: Fate
    claim: str
    asked: int
    code: str
    test: str | None = None

    @property
    def package(self) -> str:
        """Which package the mutation is in."""
        parts = self.mutant.partition(":")[0].split("/")
        return "/".join(parts[:2]) if parts[0] == "verify" else parts[0]


def asked(mutant: Mutant, executed: Mapping[str, Executed]) -> list[Executed]:
    """Return the claims whose cases execute the mutation's lines, cheapest first.

    A line outside functions is executed on import: those claims are asked whose cases
    execute any line of its module, and where there is none, all that import it.
    """
    wanted = set(mutant.lines)
    found = [e for e in executed.values() if wanted & set(e.run.get(mutant.file, ()))]
    if not found and not mutant.called:
        found = [e for e in executed.values() if mutant.file in e.run]
        found = found or [e for e in executed.values() if mutant.file in e.imports]
    cheap = sorted(
        (e for e in found if e.seconds <= LONGEST_CLAIM), key=lambda e: e.seconds
    )
    total, chosen = 0.0, list[Executed]()
    for each_of in cheap:
        total += each_of.seconds
        if total > LONGEST:
            break
        chosen.append(each_of)
    return chosen


@dataclass(frozen=True)
class Trial:
    """A mutation and the claims to be run against it, in order."""

    mutant: Mutant
    claims: tuple[Executed, ...]

    @property
    def seconds(self) -> float:
        """Return the seconds that all claims may take."""
        return sum(map(allowance, self.claims))


def allowance(claim: Executed) -> float:
    """Return the seconds of the processor that a claim may take once mutated."""
    return AT_LEAST + SLOWER * claim.seconds


def judged(
    mutants: Iterable[Mutant],
    executed: Mapping[str, Executed],
    *,
    workers: int,
    before: Mapping[str, Verdict] | None = None,
) -> Iterator[Verdict]:
    """Run claims against mutations; yield verdicts as they come.

    The claim that noticed a mutation the last time is asked first.
    """
    trials: list[Trial] = []
    for mutant in mutants:
        claims = asked(mutant, executed)
        if not claims:
            yield Verdict(mutant.key, Fate.NOT_COVERED, "", 0, code_of(None, executed))
            continue
        last = (before or {}).get(mutant.key)
        claims.sort(key=lambda e: last is None or e.claim != last.claim)
        trials.append(Trial(mutant, tuple(claims)))
    trials.sort(key=lambda trial: trial.seconds)
    for trial, told in each(
        trials, try_claims, workers=workers, seconds=lambda t: t.seconds
    ):
        yield verdict_of(trial, told, executed)


def verdict_of(
    trial: Trial, told: Sequence[Any], executed: Mapping[str, Executed]
) -> Verdict:
    """Return the verdict in a child's messages: claims begun, the red one, the end."""
    if told and isinstance(told[-1], str):
        raise RuntimeError(f"{trial.mutant.key} cannot be tried:\n{told[-1]}")
    begun = [what for what in told if isinstance(what, Begun)]
    claim = begun[-1].claim if begun else trial.claims[0].claim
    if told and isinstance(told[-1], Green):
        fate, claim = Fate.SURVIVED, ""
    else:
        # What ends the process, by its limits or by itself, is noticed as well.
        red = bool(told) and isinstance(told[-1], Red)
        fate = Fate.KILLED if red else Fate.TIMED_OUT
    home = executed.get(claim)
    return Verdict(trial.mutant.key, fate, claim, len(begun), code_of(home, executed))


@dataclass(frozen=True)
class Begun:
    """A child begins to run a claim."""

    claim: str


class Red:
    """The claim that was begun is not green."""


class Green:
    """Result of a mutation that leaves all claims green."""


def try_claims(trial: Trial, tell: Tell) -> None:
    """Run claims, with a mutation in place, until one is not green."""
    mutant = trial.mutant
    file = Path(__file__).parents[2] / mutant.file
    sys.meta_path.insert(0, Replaced({mutant.module: (file, mutant.code())}))
    for wanted in trial.claims:
        tell(Begun(wanted.claim))
        allow(allowance(wanted))
        if not _stays_green(wanted):
            tell(Red())
            return
    tell(Green())


def _stays_green(wanted: Executed) -> bool:
    """Whether a claim is green with a mutation in place, or raises nothing it did not."""
    claim = None
    try:
        home = importlib.import_module(wanted.module)
        from verify.claim import declared

        claim = next((c for c in declared(home) if c.id == wanted.claim), None)
        if claim is not None:
            return is_green(claim)
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
