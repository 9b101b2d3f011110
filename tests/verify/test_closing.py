"""What `tox -e verify` ends with."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from verify import ledger, paths, run
from verify.claim import Profile
from verify.conftest import pytest_terminal_summary
from verify.report import build
from verify.report.closing import closing
from verify.report.rows import Row


@pytest.fixture
def row(toy_entry: Callable[..., Any], tmp_path: Path) -> Row:
    entry = toy_entry("")
    run.run_and_write(entry, Profile.QUICK, tmp_path)
    (found,) = build((entry,), tmp_path)
    return found


def test_counts_come_first_and_a_command_last(row: Row) -> None:
    lines = closing((row,)).splitlines()
    assert lines[0].startswith("1 claim: 1 hold")
    assert f"python -m verify show {row.claim.id}" in lines[-2]
    assert len(lines) == 4


def test_what_is_not_green_is_named(row: Row) -> None:
    def named(name: str, outcome: str) -> Row:
        assert row.record is not None
        record = replace(row.record, green=False)
        claim = replace(row.claim, id=name)
        return replace(row, claim=claim, record=record, outcome=outcome)

    many = [named(f"dc/lemC.{k}-undecided", "undecided") for k in range(9)]
    told = closing(
        [row, named("dc/eq7", "refuted"), named("dc/eq14", "not run"), *many], width=60
    )
    assert f"red: dc/eq7 (refuted, expected: holds) {row.claim.title[:8]}" in told
    assert "undecided (9): dc/lemC.0-undecided" in told
    assert "without a current record (1): dc/eq14" in told
    assert all(len(line) <= 60 for line in told.splitlines()[:-3])
    assert not any(line.endswith("-") for line in told.splitlines())


def test_a_run_of_the_tests_ends_with_the_claims_that_were_tried_anywhere(
    toy_entry: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = toy_entry("")
    folder = paths.folder_of(Profile.QUICK, tmp_path / "results")
    run.run_and_write(entry, Profile.QUICK, folder)
    monkeypatch.setattr(ledger, "entries", lambda: (entry,))

    def end(*names: str) -> str:
        # Reports are all that a process has of tests that others ran.
        passed = [SimpleNamespace(nodeid=f"verify/test_claims.py::{n}") for n in names]
        said: list[str] = []
        terminal: Any = SimpleNamespace(
            stats={"passed": passed},
            section=said.append,
            write=said.append,
            _tw=SimpleNamespace(fullwidth=80),
        )
        config: Any = SimpleNamespace(rootpath=tmp_path)
        pytest_terminal_summary(terminal, config)
        return "\n".join(said)

    assert end("test_statistical_claims_share_one_false_alarm_budget") == ""
    told = end(f"test_claim[{entry.claim.id}]")
    assert told.startswith("the ledger\n1 claim: 1 hold\n")
    assert "python -m verify show" in told
