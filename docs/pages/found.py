"""What was found for every claim, from the records that there are; nothing is run."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from verify import records
from verify.claim import Profile
from verify.judging import checked
from verify.ledger import Entry
from verify.report.rows import NOT_RUN, STALE, Row, build

PUBLISHED = (("full", Profile.FULL), ("paper", Profile.GPU), ("gpu", Profile.GPU))
"""Folders of records of larger scales, and the profiles that make them."""

EARLIER = "Found by an earlier version of the code."


def quick(entries: Sequence[Entry], root: Path) -> tuple[Row, ...]:
    """Join claims with their quick records; what earlier code found says so."""
    rows = build(entries, root / "quick")
    return tuple(
        _still(row, Profile.QUICK) if row.outcome == STALE else row for row in rows
    )


def published(entries: Sequence[Entry], root: Path) -> dict[str, list[tuple[str, Row]]]:
    """Return what was found at larger scales, by claim: the scale and the row."""
    every: dict[str, list[tuple[str, Row]]] = {}
    for name, profile in PUBLISHED:
        if not (root / name).is_dir():
            continue
        for entry in entries:
            record = records.find(entry.claim, root / name)
            if record is None:
                continue
            row = Row(claim=entry.claim, record=record, outcome=STALE)
            if (row := _still(row, profile)).record is not None:
                every.setdefault(entry.claim.id, []).append((name, row))
    return every


def _still(row: Row, profile: Profile) -> Row:
    """Return a record of earlier code as what it is, judged again by its numbers."""
    assert row.record is not None
    try:
        record = checked(row.claim, row.record, profile)
    except records.RecordError as error:
        return replace(row, record=None, outcome=NOT_RUN, remark=str(error))
    return replace(row, record=record, outcome=record.outcome.value, remark=EARLIER)
