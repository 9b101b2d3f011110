"""The JSON format: every claim as a mapping of plain values, numbers as numbers.

`predicted`, `measured` and their parts are JSON numbers. A record keeps 30 digits of a
number of arbitrary precision, more than a float64 holds; where it does not hold all
that are shown, `predicted_digits` or `measured_digits` has them as text. NaN,
infinities and what float64 cannot hold at all, for which JSON readers have no number,
are text: ``"nan"``, ``"-inf"``, ``"1e-400"``.
"""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, cast

from verify import calibrated, records, references
from verify.records import CaseRecord
from verify.report import functions
from verify.report.numbers import as_fields, worst_entry
from verify.report.rows import Row

_OF_A_RECORD = (
    *("predicted", "predicted_digits", "measured", "measured_digits"),
    *("gap", "resolves", "slack", "unit", "seconds"),
)
"""Fields that are null where there is no record."""


def as_json(rows: Sequence[Row]) -> str:
    """Return all rows as a JSON list; fields are only ever added."""
    return json.dumps(
        [as_mapping(row) for row in rows], indent=1, ensure_ascii=False, allow_nan=False
    )


def as_mapping(row: Row) -> dict[str, Any]:
    """Return one claim as the mapping that the JSON format shows."""
    claim, record, worst = row.claim, row.record, row.worst
    data: dict[str, Any] = {
        "id": claim.id,
        "paper": claim.paper,
        "item": claim.items[0],
        "items": claim.items,
        "title": claim.title,
        "statement": claim.statement,
        "assumptions": claim.assumptions,
        "evidence": claim.evidence.value,
        "reading": claim.reading.value,
        "expected": "open" if claim.open_reason else claim.expected.value,
        "outcome": row.outcome,
        "green": row.green,
        "verdict": row.verdict,
        "said": row.said,
        "remark": row.remark,
        "source": f"{references.short_citation(claim.source.key)},"
        f" {claim.source.where}",
        "uses": claim.uses,
        "finding": claim.finding,
        "open_reason": claim.open_reason,
        "command": functions.again(claim),
        **dict.fromkeys(_OF_A_RECORD),
        "scale": row.scale,
        "published": [
            {
                "scale": each.scale,
                "verdict": each.verdict,
                "made": each.record.made,
                "trained_on": each.trained_on,
            }
            for each in row.published
            if each.record is not None
        ],
        "redrawn": list(calibrated.redrawn(claim.id)),
    }
    if record is not None and worst is not None:
        data |= {
            "predicted": as_number(predicted := worst_entry(worst.predicted, worst)),
            "predicted_digits": None if is_held(predicted) else predicted,
            "measured": as_number(measured := _measured(worst)),
            "measured_digits": None if is_held(measured) else measured,
            "gap": worst.gap,
            "resolves": worst.resolves,
            "slack": row.slack,
            "unit": worst.unit,
            "worst_case": worst.case,
            "error": worst.error,
            "seconds": record.seconds,
            "cases": len(record.cases),
            "examples": record.search.examples if record.search else 0,
            "comparison": record.comparison,
            "control": record.control,
            "controls": [case.control_predicted for case in record.cases],
            "profile": record.profile,
            "code": record.code,
            "device": record.device,
            "dtype": record.dtype,
            "packages": record.packages,
        }
    return records.encode(data)


def _measured(case: CaseRecord) -> Any:
    measured = as_fields(case.measured)
    if "stderr" in measured:
        return {
            "mean": worst_entry(measured["mean"], case),
            "stderr": worst_entry(measured["stderr"], case),
            "replicates": measured["replicates"],
        }
    return worst_entry(case.measured, case)


def as_number(value: Any) -> Any:
    """Return encoded numbers as the nearest float64, anything else as it is.

    >>> as_number("0.333333333333333333333333333333"), as_number("1/4"), as_number("inf")
    (0.3333333333333333, 0.25, 'inf')
    >>> as_number({"lower": "[0.5 +/- 1e-40]", "covers": "every c"})
    {'lower': 0.5, 'covers': 'every c'}
    """
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value).items()
        return {key: as_number(item) for key, item in items}
    if isinstance(value, list):
        return [as_number(item) for item in cast("list[Any]", value)]
    if not isinstance(value, str):
        return value
    try:
        found = records.number(value)
    except (ValueError, OverflowError):  # words, or a fraction beyond float64
        return value
    lost = abs(found) < sys.float_info.min and value.strip("-0.") != ""
    return found if math.isfinite(found) and not lost else value


def is_held(value: Any) -> bool:
    """Whether float64 numbers hold an encoded value to its last shown digit.

    >>> is_held("1.2"), is_held("1.25"), is_held("1.20000000000000000000000000001")
    (True, True, False)
    """
    if isinstance(value, Mapping):
        return all(map(is_held, cast("Mapping[str, Any]", value).values()))
    if isinstance(value, list):
        return all(map(is_held, cast("list[Any]", value)))
    number = as_number(value)
    if not isinstance(value, str) or isinstance(number, str):
        return True  # no text, or text that stands for itself
    return (
        "/" not in value
        and "[" not in value
        and (Fraction(value) == Fraction(repr(number)))
    )
