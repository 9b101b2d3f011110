"""The JSON format: numbers are numbers, and no digit of a record is lost."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mpmath
import pytest

from empirical.digest import roots_of
from verify import records, run
from verify.claim import Profile
from verify.compare import Outcome
from verify.records import CaseRecord
from verify.report import as_json, build
from verify.report.machine import as_number, is_held
from verify.report.rows import Row

Toy = Callable[..., Any]


@pytest.mark.parametrize(
    ("encoded", "number", "held"),
    [
        (0.1, 0.1, True),
        (3, 3, True),
        (True, True, True),
        ("1.2", 1.2, True),
        ("-0.0", 0.0, True),
        ("1.07157499238071108319204290189e-18", 1.0715749923807111e-18, False),
        ("0.999999999999999999999999999999", 1.0, False),
        ("1/3", 1 / 3, False),
        ("[0.5 +/- 1.00e-30]", 0.5, False),
        # JSON has no such numbers, and readers none so small.
        ("nan", "nan", True),
        ("-inf", "-inf", True),
        ("1.5e-400", "1.5e-400", True),
        ("1.5e400", "1.5e400", True),
        ("every real c", "every real c", True),
        (None, None, True),
        (["1.5", "0.1000000000000000055511151"], [1.5, 0.1], False),
        ({"lower": "0.5", "covers": "c"}, {"lower": 0.5, "covers": "c"}, True),
    ],
)
def test_numbers(encoded: Any, number: Any, held: bool) -> None:
    found = as_number(encoded)
    assert found == number
    assert type(found) is type(number)
    assert is_held(encoded) is held
    json.dumps(found, allow_nan=False)


def _shown(entry: Any, **fields: Any) -> dict[str, Any]:
    """Return what JSON shows of a record whose one case has these fields."""
    roots = roots_of(entry.module)
    record = run.run_claim(entry.claim, Profile.QUICK, module=entry.module, roots=roots)
    case = CaseRecord(case={}, outcome=Outcome.HOLDS, **fields)
    row = Row(claim=entry.claim, record=replace(record, cases=(case,)), outcome="holds")
    (shown,) = json.loads(as_json([row]))
    return shown


def test_digits_beyond_float64_are_kept_beside_the_number(
    toy_entry: Toy,
) -> None:
    with mpmath.workdps(50):
        third = records.encode(mpmath.mpf(1) / 3)
    shown = _shown(toy_entry(""), predicted=0.25, measured=["1.0", third])
    assert shown["predicted"] == 0.25
    assert shown["predicted_digits"] is None
    assert (shown["measured"], shown["measured_digits"]) == (1.0, None)
    shown = _shown(toy_entry(""), measured=["1.0", third], worst=1)
    assert shown["measured"] == 1 / 3
    assert shown["measured_digits"] == "0." + 30 * "3"
    both = {"lower": third, "upper": "0.5", "covers": "x", "boxes": 1}
    shown = _shown(toy_entry(""), measured=both)
    assert shown["measured"] == {**both, "lower": 1 / 3, "upper": 0.5}
    assert shown["measured_digits"] == both


def test_a_claim_without_a_record_has_the_fields(
    toy_entry: Toy, tmp_path: Path
) -> None:
    (shown,) = json.loads(as_json(build((toy_entry(""),), tmp_path)))
    assert shown["measured"] is shown["measured_digits"] is None
