"""What `tox -e verify` ends with."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from verify import index, run
from verify.claim import Profile
from verify.conftest import pytest_terminal_summary
from verify.report import build
from verify.report.closing import closing
from verify.report.rows import Row, Told

LISTED = tuple(
    index.Listed(name, "", remark)
    for name, remark in (("dc/eq1", ""), ("dc/eq7", ""), ("dc/eq14", "open"))
)


@pytest.fixture
def row(toy_entry: Callable[..., Any], tmp_path: Path) -> Row:
    entry = toy_entry("")
    run.run_and_write(entry, Profile.QUICK, tmp_path)
    (found,) = build((entry,), tmp_path)
    return found


def test_counts_come_first_and_a_command_last(row: Row) -> None:
    lines = closing((row.told,)).splitlines()
    assert lines[0].startswith("1 claim: 1 hold")
    assert f"python -m verify show {row.claim.id}" in lines[-2]
    assert len(lines) == 4


def test_what_is_not_green_is_named(row: Row) -> None:
    def named(name: str, outcome: str) -> Told:
        assert row.record is not None
        record = replace(row.record, green=False)
        claim = replace(row.claim, id=name)
        return replace(row, claim=claim, record=record, outcome=outcome).told

    many = [named(f"dc/lemC.{k}-undecided", "undecided") for k in range(9)]
    told = closing(
        [row.told, named("dc/eq7", "refuted"), named("dc/eq14", "not run"), *many],
        width=60,
    )
    assert f"red: dc/eq7 (refuted, expected: holds) {row.claim.title[:8]}" in told
    assert "undecided (9): dc/lemC.0-undecided" in told
    assert "without a current record (1): dc/eq14" in told
    assert all(len(line) <= 60 for line in told.splitlines()[:-3])
    assert not any(line.endswith("-") for line in told.splitlines())


def test_a_run_of_the_tests_ends_with_the_claims_that_were_tried_anywhere(
    row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "listed", lambda: LISTED)

    def end(*names: str, **told: dict[str, Any]) -> str:
        # Reports are all that a process has of tests that others ran.
        passed = [
            SimpleNamespace(
                nodeid=f"verify/test_claims.py::{name}", user_properties=told.items()
            )
            for name in names
        ]
        said: list[str] = []
        terminal: Any = SimpleNamespace(
            stats={"passed": passed},
            section=said.append,
            write=said.append,
            _tw=SimpleNamespace(fullwidth=80),
        )
        pytest_terminal_summary(terminal)
        return "\n".join(said)

    assert end("test_statistical_claims_share_one_false_alarm_budget") == ""
    found = json.loads(json.dumps(asdict(row.told)))
    told = end(f"test_claim[{row.claim.id}]", told=found)
    assert told.startswith("the ledger\n1 claim: 1 hold\n")
    assert "python -m verify show" in told
    # A test that raised comes to no record; open claims are told with all others.
    told = end("test_claim[dc/eq1]", "test_claim[dc/eq7]")
    assert told.startswith("the ledger\n3 claims: 2 not run, 1 open\n")
    assert "without a current record (2): dc/eq1 dc/eq7" in told
