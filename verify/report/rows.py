"""What the report says about one claim, as plain values."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from empirical.digest import code_digest
from verify import records
from verify.claim import FAULTS, Claim, Evidence, Profile
from verify.compare import Outcome, small
from verify.items import Paper, papers
from verify.judging import checked
from verify.ledger import Entry
from verify.records import CaseRecord, Record
from verify.run import roots_of

STALE = "stale"
NOT_RUN = "not run"
KINDS = ("holds", "loose", "refuted", "undecided", "bad", "pending", "open")
"""Of verdicts: as expected, not decided, otherwise than expected, not run, open."""
LOOSE = 2.0
"""A bound that could shrink by more than this factor unnoticed is a loose one."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A claim with its record and what that record is worth now.

    `outcome` is the record's when it is current, else ``stale`` or ``not run``; an open
    claim's is ``open``. `remark` says why a record there is counts for nothing.
    """

    claim: Claim
    record: Record | None
    outcome: str
    remark: str = ""

    @property
    def green(self) -> bool:
        """Whether the claim was found as expected, by a current record."""
        current = self.outcome not in (STALE, NOT_RUN, Outcome.OPEN)
        found = current and self.record is not None and self.record.green
        return found and (self.claim.loose or not self.loose)

    @property
    def settled(self) -> bool:
        """Whether nothing is left to do: green, or knowingly open."""
        return self.green or self.outcome == Outcome.OPEN

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
        cases = list(self.record.cases)
        if self.record.search is not None and self.record.search.closest is not None:
            cases.append(self.record.search.closest)
        return min((c.slack for c in cases if c.slack is not None), default=None)

    @property
    def loose(self) -> bool:
        """Whether a bound is nowhere within a factor 2 of what it bounds.

        What a trend must exceed is the smallest effect that matters: no bound to attain.
        """
        if self.claim.evidence is Evidence.TREND or self.slack is None:
            return False
        return self.claim.expected is Outcome.HOLDS and self.slack > LOOSE

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


def build(
    entries: Sequence[Entry], folder: Path, profile: Profile = Profile.QUICK
) -> tuple[Row, ...]:
    """Join claims with their records in `folder`, each judged again.

    A record that cannot be read, or is not what follows from its numbers, is none.
    """
    digests = {m: code_digest(m, roots_of(m)) for m in {e.module for e in entries}}
    return tuple(_row(e.claim, folder, profile, digests[e.module]) for e in entries)


def _row(claim: Claim, folder: Path, profile: Profile, code: str) -> Row:
    if claim.open_reason:
        return Row(claim=claim, record=None, outcome=Outcome.OPEN.value)
    try:
        record = records.find(claim, folder)
        if record is None:
            return Row(claim=claim, record=None, outcome=NOT_RUN)
        if not record.is_current(claim, code):
            return Row(claim=claim, record=record, outcome=STALE)
        record = checked(claim, record, profile)
    except records.RecordError as error:
        return Row(claim=claim, record=None, outcome=NOT_RUN, remark=str(error))
    return Row(claim=claim, record=record, outcome=record.outcome.value)


def counts(rows: Sequence[Row]) -> Mapping[str, int]:
    """Count claims by what was found, the good ones first, empty kinds left out."""
    order: tuple[tuple[str, Callable[[Row], bool]], ...] = (
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


def _unexpected(row: Row) -> bool:
    return not row.green and row.outcome in (Outcome.HOLDS, Outcome.REFUTED)


def by_evidence(rows: Sequence[Row]) -> list[tuple[str, Counter[str]]]:
    """Count verdicts for each kind of evidence, strongest first."""
    table: list[tuple[str, Counter[str]]] = []
    for kind in Evidence:
        these = [row for row in rows if row.claim.evidence is kind]
        if these:
            table.append((kind.value, Counter(counts(these))))
    return table


def summary(rows: Sequence[Row]) -> str:
    """Return the counts as one line of text."""
    parts = [f"{count} {name}" for name, count in counts(rows).items()]
    seconds = sum(row.record.seconds for row in rows if row.record is not None)
    noun = "claim" if len(rows) == 1 else "claims"
    return f"{len(rows)} {noun}: {', '.join(parts)} ({seconds:.0f} s of work)"


# --- values --------------------------------------------------------------------------


def predicted_text(row: Row, digits: int = 6) -> str:
    """Return the predicted value of the worst case, shortened."""
    return predicted_of(row.worst, digits)


def predicted_of(case: CaseRecord | None, digits: int = 6) -> str:
    """Return a case's predicted value, that of its worst entry, shortened."""
    if case is None or case.error:
        return ""
    if "treated" in as_fields(case.measured):
        least, most = case.predicted
        return " to ".join(
            "" if v is None else _short(v, digits) for v in (least, most)
        )
    value, stderr = worst_entry(case.predicted, case), _stderr(case)
    return _short(value, digits) if stderr is None else _to_error(value, stderr)


def measured_text(row: Row, digits: int = 6) -> str:
    """Return the measured value of the worst case; its digits follow its error."""
    return measured_of(row.worst, digits)


def measured_of(case: CaseRecord | None, digits: int = 6) -> str:
    """Return a case's measured value, that of its worst entry, shortened."""
    if case is None or case.error:
        return ""
    measured = as_fields(case.measured)
    if "stderr" in measured:
        mean, stderr = worst_entry(measured["mean"], case), _stderr(case)
        assert stderr is not None
        return f"{_to_error(mean, stderr)} ± {_rounded(stderr)}"
    if "treated" in measured:
        arms = (flatten(measured[name]) for name in ("treated", "baseline"))
        each = (sum(map(records.number, arm)) / len(arm) for arm in arms)
        return " against ".join(_short(mean, 3) for mean in each)
    if "lower" in measured:
        low, high = _short(measured["lower"], digits), _short(measured["upper"], digits)
        return low if low == high else f"[{low}, {high}]"
    return _short(worst_entry(case.measured, case), digits)


def gap_text(row: Row) -> str:
    """Return the gap of the worst case with its unit where that is not absolute."""
    return gap_of(row.worst)


def gap_of(case: CaseRecord | None) -> str:
    """Return a case's gap with its unit where that is not absolute."""
    if case is None or case.error:
        return ""
    if case.unit == "exact":
        return "none" if case.gap == 0.0 else "differs"
    return small(case.gap) + (" rel" if case.unit == "relative" else "")


def resolves_text(row: Row) -> str:
    """Return the smallest error that would have been caught, of a bound by its factor.

    An equality's is that of the worst case, a bound's the least of all.
    """
    return _factor(row.slack) if row.slack is not None else resolves_of(row.worst)


def resolves_of(case: CaseRecord | None) -> str:
    """Return the smallest error that would have been caught in a case."""
    if case is None or case.error:
        return ""
    if case.slack is not None:
        return _factor(case.slack)
    return "exact" if case.unit == "exact" else small(case.resolves)


def _factor(slack: float) -> str:
    """Return a factor, with all the digits by which it differs from 1.

    >>> _factor(1.0), _factor(1.00023), _factor(60000.0)
    ('×1', '×1.0002', '×6e+04')
    """
    if not 1.0 < slack < 1.995:
        return f"×{slack:.2g}" if math.isfinite(slack) else "×∞"
    places = max(1, -math.floor(math.log10(slack - 1.0)))
    return f"×{slack:.{places}f}" if places < 9 else "×1"


def worst_entry(value: Any, case: CaseRecord) -> Any:
    """Pick the worst entry of an encoded array."""
    if not isinstance(value, list):
        return value
    flat = flatten(cast("list[Any]", value))
    if not flat:
        return flat
    return flat[case.worst] if case.worst < len(flat) else flat[0]


def flatten(value: Any) -> list[Any]:
    """Return the entries of nested lists in order.

    >>> flatten([[1, 2], [3]])
    [1, 2, 3]
    """
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [leaf for item in items for leaf in flatten(item)]
    return [value]


def _stderr(case: CaseRecord) -> float | None:
    measured = as_fields(case.measured)
    if "stderr" not in measured:
        return None
    return records.number(worst_entry(measured["stderr"], case))


def as_fields(value: Any) -> Mapping[str, Any]:
    """Return an encoded estimate or enclosure as its fields, empty for other values.

    >>> as_fields(0.5)
    {}
    """
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _short(value: Any, digits: int) -> str:
    if isinstance(value, bool) or value is None:
        return str(value)
    try:
        number = records.number(value)
    except (TypeError, ValueError):
        text = value if isinstance(value, str) else json.dumps(value)
        return text if len(text) <= 24 else text[:23] + "…"
    if isinstance(value, int) and abs(value) < 10**digits:
        return str(value)
    return f"{number:.{digits}g}".replace("-", "−")


def _rounded(stderr: float) -> str:
    """One significant digit of a standard error, two when it starts with a 1."""
    if not math.isfinite(stderr) or stderr <= 0.0:
        return small(stderr)
    places = _places(stderr)
    return f"{stderr:.{places}f}" if -1 < places < 7 else f"{stderr:.1e}"


def _places(stderr: float) -> int:
    exponent = math.floor(math.log10(stderr))
    leading = stderr / 10.0**exponent
    return -exponent + (1 if leading < 1.95 else 0)


def _to_error(value: Any, stderr: float) -> str:
    """Round a value to the digits its standard error supports."""
    number = records.number(value)
    if not (math.isfinite(number) and math.isfinite(stderr)) or stderr <= 0.0:
        return _short(value, 6)
    places = _places(stderr)
    if -1 < places < 7:
        return f"{number:.{places}f}".replace("-", "−")
    if number == 0.0:
        return "0"
    digits = max(1, math.floor(math.log10(abs(number))) + places + 1)
    return f"{number:.{min(digits, 12)}g}".replace("-", "−")
