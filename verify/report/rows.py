"""What the report says about one claim, as plain values."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from empirical.digest import roots_of
from empirical.testbed.writing import DAMAGED
from verify import calibrated, records
from verify.claim import FAULTS, Claim, Evidence, Profile
from verify.compare import Outcome
from verify.items import Paper, papers
from verify.judging import checked
from verify.ledger import Entry
from verify.paths import RUNS, SCALES, folder_of
from verify.records import CaseRecord, Record, SearchRecord
from verify.report import numbers

STALE = "stale"
NOT_RUN = "not run"
EARLIER = "found by an earlier version of the code"
KINDS: Mapping[str, str] = {
    "holds": "found as stated",
    "loose": "a bound that holds but is nowhere within a factor 2",
    "refuted": "a statement that is false, or was not reproduced, as expected",
    "undecided": "the measurement could not tell right from wrong",
    "bad": "otherwise than expected, or in error",
    "pending": "no current record: not run, or run with older code",
    "open": "not checked yet",
}
"""Kinds of verdicts, as `--outcome` takes them, and what each means."""
LOOSE = 2.0
"""A bound that could shrink by more than this factor unnoticed is a loose one."""


def least_slack(
    cases: Sequence[CaseRecord], searched: SearchRecord | None
) -> float | None:
    """Return the least slack of cases and of what a search found, if any has one."""
    every = [*cases, *(() if searched is None else (searched.closest,))]
    return min((c.slack for c in every if c.slack is not None), default=None)


def is_loose(claim: Claim, slack: float | None) -> bool:
    """Whether a claim's bound with that slack is nowhere within a factor 2.

    What a trend must exceed is the smallest effect that matters: no bound to attain.
    """
    if claim.evidence is Evidence.TREND or slack is None:
        return False
    return claim.expected is Outcome.HOLDS and slack > LOOSE


@dataclass(frozen=True, kw_only=True)
class Row:
    """A claim with its record and what that record is worth now.

    `outcome` is the record's when it is current, else ``stale`` or ``not run``; an open
    claim's is ``open``. `remark` says why a record there is counts for nothing, or that
    it is of older code.

    `published` are the rows of the same claim at other scales, the larger ones last: they
    need not be of the present sources, for they took hours. A claim that no case of the
    profile tries has the last of them for its own. `folder` is that of its record,
    even one that counts for nothing, and of the networks it looked at.
    """

    claim: Claim
    record: Record | None
    outcome: str
    remark: str = ""
    published: tuple["Row", ...] = ()
    folder: Path | None = None

    @property
    def trained_on(self) -> tuple[str, ...]:
        """Hardware that trained the networks it looked at, and days, if records say."""
        if self.record is None or self.claim.runs is None or self.folder is None:
            return ()
        names = {
            run.name
            for case in self.record.cases
            for run in self.claim.runs(**case.case)
        }
        every = (hardware(self.folder / RUNS / f"{name}.json") for name in names)
        return tuple(sorted({each for each in every if each}))

    @property
    def scale(self) -> str:
        """The scale of the networks it was tried on, if it was on any."""
        if self.record is None or self.claim.runs is None:
            return ""
        return SCALES[self.record.profile]

    @property
    def scales(self) -> tuple["Row", ...]:
        """Rows that have a record, its own among them, by scale."""
        every = (row for row in (self, *self.published) if row.record is not None)
        order = list(SCALES.values())
        return tuple(
            sorted(every, key=lambda r: order.index(r.scale) if r.scale else 0)
        )

    @property
    def otherwise(self) -> tuple["Row", ...]:
        """Published rows that say something else than its own, which may be nothing."""
        found = (each for each in self.published if each.record is not None)
        return tuple(each for each in found if each.outcome != self.outcome)

    @property
    def turned(self) -> tuple[str, ...]:
        """Outcomes of all redraws where some is not what is expected, see `calibrated`."""
        if self.scale != SCALES[Profile.QUICK]:
            return ()
        found = calibrated.redrawn(self.claim.id)
        return found if set(found) - {self.claim.expected.value} else ()

    @property
    def besides(self) -> tuple[str, ...]:
        """What the verdict alone would hide: other scales, other draws."""
        found = [f"{each.outcome} ({each.scale})" for each in self.otherwise]
        if self.turned:
            same = self.turned.count(self.claim.expected.value)
            found.append(f"{same} of {len(self.turned)} redraws")
        return tuple(found)

    @property
    def by_draw(self) -> str:
        """In words, what redraws say if they do not agree with what is expected."""
        return by_draw(self.turned, self.claim.expected)

    @property
    def said(self) -> str:
        """The verdict and `besides`, with its scale if another says otherwise.

        Of what several scales say the headline is the profile's own, or else the
        largest's: it is told whose.
        """
        alone = not self.otherwise and bool(self.claim.cases)
        scale = "" if alone or not self.scale else f" ({self.scale})"
        return "; ".join((f"{self.verdict}{scale}", *self.besides))

    @property
    def green(self) -> bool:
        """Whether the claim was found as expected, by a current record."""
        current = self.outcome not in (STALE, NOT_RUN, Outcome.OPEN)
        found = current and self.record is not None and self.record.green
        return found and (self.claim.loose or not self.loose)

    @property
    def foreseen(self) -> bool:
        """Whether it is undecided where redraws are known to leave it undecided.

        Training amplifies rounding: on another processor the same seeds give other
        networks, which is one more redraw.
        """
        return self.outcome == Outcome.UNDECIDED and self.outcome in self.turned

    @property
    def settled(self) -> bool:
        """Whether nothing is left to do: green, or knowingly open."""
        return self.green or self.outcome == Outcome.OPEN

    @property
    def refused(self) -> bool:
        """Whether a record is there that counts for nothing: `remark` says why."""
        return self.record is None and bool(self.folder)

    @property
    def told(self) -> "Told":
        """What is counted and listed of it."""
        return Told(
            id=self.claim.id,
            title=self.claim.title,
            outcome=str(self.outcome),
            kind=self.kind,
            verdict=str(self.verdict),
            green=self.green,
            seconds=0.0 if self.record is None else self.record.seconds,
            otherwise=bool(self.otherwise),
            turned=bool(self.turned),
        )

    @property
    def worst(self) -> CaseRecord | None:
        """The worst case of the record."""
        return self.record.worst if self.record is not None else None

    @property
    def slack(self) -> float | None:
        """The factor by which the bound could shrink unnoticed: the least of the cases.

        Absent where it is no bound, or has no scale; see `verify.compare.Verdict`.
        """
        if self.record is None:
            return None
        return least_slack(self.record.cases, self.record.search)

    @property
    def loose(self) -> bool:
        """Whether a bound is nowhere within a factor 2 of what it bounds."""
        return is_loose(self.claim, self.slack)

    @property
    def kind(self) -> str:
        """Which of `KINDS` the verdict is."""
        if self.green:
            if self.outcome == Outcome.REFUTED:
                return "refuted"
            return "loose" if self.loose else "holds"
        if self.outcome in (Outcome.HOLDS, Outcome.REFUTED, Outcome.ERROR):
            return "bad"
        known = {"open": "open", "undecided": "undecided", "vacuous": "undecided"}
        return known.get(self.outcome, "pending")

    @property
    def verdict(self) -> str:
        """The outcome in words, with what was expected where that matters."""
        if self.outcome in (STALE, NOT_RUN, Outcome.OPEN, Outcome.ERROR):
            return self.outcome
        if self.green:
            if self.claim.expected is Outcome.REFUTED:
                return self.claim.fault
            return "holds, loosely" if self.loose else "holds"
        if self.outcome != self.claim.expected:
            return f"{self.outcome}, expected: {self.claim.expected.value}"
        if self.record is not None and self.record.green:
            return f"{self.outcome}, looser than declared"
        return f"{self.outcome}, but its control failed"


@dataclass(frozen=True, kw_only=True)
class Told:
    """What is counted and listed of a row: plain values, which a process can send."""

    id: str
    title: str
    outcome: str
    kind: str
    verdict: str
    green: bool = False
    seconds: float = 0.0
    otherwise: bool = False
    turned: bool = False


def by_draw(redrawn: Sequence[str], expected: Outcome) -> str:
    """Say that a verdict depends on the draw, if some redraw is not as expected.

    >>> by_draw(["holds", "undecided", "undecided"], Outcome.HOLDS)
    'depends on the draw: undecided in 2 of 3 redraws'
    """
    other = Counter(outcome for outcome in redrawn if outcome != expected.value)
    told = " and ".join(f"{outcome} in {count}" for outcome, count in other.items())
    return f"depends on the draw: {told} of {len(redrawn)} redraws" if told else ""


def build(
    entries: Sequence[Entry], folder: Path, profile: Profile = Profile.QUICK
) -> tuple[Row, ...]:
    """Join claims with their records in `folder`, each judged again.

    A record that cannot be read, or is not what follows from its numbers, is none.
    Published ones of other profiles are looked for beside that folder.
    """
    behind = [(e.module, e.claim.engine, e.claim.reads) for e in entries]
    code = {
        (m, *rest): records.code_of(m, roots_of(m), *rest) for m, *rest in set(behind)
    }
    return tuple(
        _row(e.claim, folder, profile, code[each])
        for e, each in zip(entries, behind, strict=True)
    )


def _row(claim: Claim, folder: Path, profile: Profile, code: str) -> Row:
    if claim.open_reason:
        return Row(claim=claim, record=None, outcome=Outcome.OPEN.value)
    others: tuple[Row, ...] = ()
    if claim.runs is not None:
        others = tuple(_published(claim, folder, profile, code))
    if claim.cases_for(profile):
        return replace(_own(claim, folder, profile, code), published=others)
    if others:
        # The size next to the paper's.
        return replace(others[-1], published=others[:-1])
    remark = (
        f"it is tried at {' or '.join(SCALES[p] for p in claim.larger_cases)} scale:"
        f" {' or '.join(f'--profile {p}' for p in claim.larger_cases)}"
    )
    return Row(claim=claim, record=None, outcome=NOT_RUN, remark=remark)


def _published(
    claim: Claim, folder: Path, profile: Profile, code: str
) -> Iterator[Row]:
    """Yield what the records of larger profiles, or of any but this one, say."""
    for other in (Profile.FULL, Profile.GPU):
        if other is profile or not claim.cases_for(other):
            continue
        there = folder_of(other, folder.parent)
        try:
            record = records.find(claim, there)
            if record is None or record.version != claim.version:
                continue
            current = record.is_current(claim, code)
            record = checked(claim, record, other)
        except records.RecordError as error:
            # It is of other cases than the claim has now, say: it counts for nothing.
            yield _refused(claim, there, error)
            continue
        remark = "" if current else EARLIER
        yield Row(
            claim=claim,
            record=record,
            outcome=record.outcome.value,
            remark=remark,
            folder=there,
        )


@cache
def hardware(path: Path) -> str:
    """Return what trained a run's networks and when, as far as its record says."""
    try:
        if not path.is_file():
            return ""  # a pipe would be waited for
        # Not as a `RunRecord`: of megabytes of numbers none is wanted.
        there = json.loads(path.read_bytes())["environment"]
        said = (str(there["hardware"]), *filter(None, [there.get("made")]))
        return str(records.encode(", ".join(said)))
    except (OSError, *DAMAGED):
        return ""


def _own(claim: Claim, folder: Path, profile: Profile, code: str) -> Row:
    try:
        record = records.find(claim, folder)
        if record is None:
            return Row(claim=claim, record=None, outcome=NOT_RUN)
        if not record.is_current(claim, code):
            numbers.check(record)
            return Row(claim=claim, record=record, outcome=STALE)
        record = checked(claim, record, profile)
    except records.RecordError as error:
        return _refused(claim, folder, error)
    return Row(claim=claim, record=record, outcome=record.outcome.value)


def _refused(claim: Claim, folder: Path, why: records.RecordError) -> Row:
    return Row(
        claim=claim, record=None, outcome=NOT_RUN, remark=str(why), folder=folder
    )


def counts(rows: Sequence[Row | Told]) -> Mapping[str, int]:
    """Count claims by what was found, the good ones first, empty kinds left out."""
    order: tuple[tuple[str, Callable[[Row | Told], bool]], ...] = (
        ("hold", lambda r: r.verdict == "holds"),
        ("hold, loosely", lambda r: r.verdict == "holds, loosely"),
        *((fault, lambda r, fault=fault: r.verdict == fault) for fault in FAULTS),
        ("undecided", lambda r: r.outcome in (Outcome.UNDECIDED, Outcome.VACUOUS)),
        ("not as expected", _unexpected),
        ("in error", lambda r: r.outcome == Outcome.ERROR),
        ("stale", lambda r: r.outcome == STALE),
        ("not run", lambda r: r.outcome == NOT_RUN),
        ("open", lambda r: r.outcome == Outcome.OPEN),
    )
    found = {name: sum(bool(test(row)) for row in rows) for name, test in order}
    return {name: count for name, count in found.items() if count}


def chapters(rows: Sequence[Row]) -> Iterator[tuple[Paper, str, tuple[Row, ...]]]:
    """Group rows by paper, and by its section that lists their first item."""
    for paper in papers():
        mine = [row for row in rows if row.claim.paper == paper.prefix]
        for title, _ in paper.sections:
            these = tuple(r for r in mine if paper.section_of(r.claim.items) == title)
            if these:
                yield paper, title, these


def _unexpected(row: Row | Told) -> bool:
    return not row.green and row.outcome in (Outcome.HOLDS, Outcome.REFUTED)


def by_evidence(rows: Sequence[Row]) -> list[tuple[str, Counter[str]]]:
    """Count verdicts for each kind of evidence, strongest first."""
    table: list[tuple[str, Counter[str]]] = []
    for kind in Evidence:
        these = [row for row in rows if row.claim.evidence is kind]
        if these:
            table.append((kind.value, Counter(counts(these))))
    return table


def summary(rows: Sequence[Row | Told]) -> str:
    """Return the counts as one line of text."""
    if not rows:
        return "0 claims"
    told = [row.told if isinstance(row, Row) else row for row in rows]
    parts = [f"{count} {name}" for name, count in counts(told).items()]
    seconds = sum(row.seconds for row in told)
    noun = "claim" if len(rows) == 1 else "claims"
    text = f"{len(rows)} {noun}: {', '.join(parts)}"
    if seconds >= 0.5:
        # A record's seconds are those of its cases; networks are trained once for many.
        text += f" (checked in {seconds:.0f} s of computing, training not counted)"
    decided = [row for row in told if row.outcome not in (STALE, NOT_RUN)]
    asides = (
        (sum(row.otherwise for row in decided), "otherwise at another scale"),
        (sum(row.turned for row in decided), "otherwise in some redraw"),
    )
    return "; ".join((text, *(f"{n} {words}" for n, words in asides if n)))


# --- values --------------------------------------------------------------------------
