"""What was found for every claim, from the records that there are; nothing is run."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from verify import records
from verify.claim import Profile
from verify.judging import checked
from verify.ledger import Entry
from verify.report.rows import EARLIER, NOT_RUN, STALE, Row, build


def quick(entries: Sequence[Entry], root: Path) -> tuple[Row, ...]:
    """Join claims with their quick records; what earlier code found says so."""
    rows = build(entries, root / "quick")
    return tuple(_still(row) if row.outcome == STALE else row for row in rows)


def _still(row: Row) -> Row:
    """Return a record of earlier code as what it is, judged again by its numbers."""
    assert row.record is not None
    try:
        record = checked(row.claim, row.record, Profile.QUICK)
    except records.RecordError as error:
        return replace(row, record=None, outcome=NOT_RUN, remark=str(error))
    return replace(row, record=record, outcome=record.outcome.value, remark=EARLIER)
