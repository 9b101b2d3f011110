"""What `tox -e verify` ends with."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from verify import run
from verify.claim import Profile
from verify.report import build
from verify.report.closing import closing
from verify.report.rows import Row

ROOT = Path(__file__).parents[2]


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


def test_a_run_of_the_tests_in_two_processes_ends_with_it() -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        "-p",
        "no:cacheprovider",
    ]
    names = ("dc/thm3.4-maximum", "sl/eq1")
    claims = [f"verify/test_claims.py::test_claim[{name}]" for name in names]
    done = subprocess.run(
        [*command, *claims], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the ledger" in done.stdout
    assert "2 claims: 2 hold (" in done.stdout
    assert "python -m verify show" in done.stdout
