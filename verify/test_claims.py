"""`tox -e verify`: one test for each claim, and the laws of the ledger itself."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from verify import figures, ledger, misprints, paths, run
from verify.claim import Profile
from verify.compare import FALSE_ALARM_BUDGET, Outcome
from verify.items import PAPERS
from verify.report import build
from verify.report.text import explain

ENTRIES = ledger.entries()
CHECKED = [entry for entry in ENTRIES if entry.claim.cases]
LARGER = [e for e in ENTRIES if e.claim.larger_cases and not e.claim.cases]


@pytest.mark.parametrize("entry", CHECKED, ids=[e.claim.id for e in CHECKED])
def test_claim(
    entry: ledger.Entry,
    pytestconfig: pytest.Config,
    record_property: Callable[[str, object], None],
) -> None:
    """The claim is found as expected, and its control does its work.

    Networks may also leave undecided what redraws of them left undecided.
    """
    folder = paths.folder_of(Profile.QUICK, Path(pytestconfig.rootpath) / "results")
    run.run_and_write(entry, Profile.QUICK, folder)
    # As read again: the record is what is kept.
    (row,) = build([entry], folder)
    record_property("told", asdict(row.told))
    assert row.green or row.foreseen, explain(row)
    if entry.claim.loose:
        assert row.loose, f"the bound is not `loose`: {row.slack} times what it bounds"


@pytest.mark.parametrize("entry", LARGER, ids=[e.claim.id for e in LARGER])
def test_claim_on_larger_networks(
    entry: ledger.Entry,
    pytestconfig: pytest.Config,
    record_property: Callable[[str, object], None],
) -> None:
    """Published records of larger networks can be read and do not contradict the claim."""
    folder = paths.folder_of(Profile.QUICK, Path(pytestconfig.rootpath) / "results")
    (row,) = build([entry], folder)
    record_property("told", asdict(row.told))
    if row.record is None:
        # Not run yet, the report says so; a record that cannot be read says why.
        assert row.remark.startswith("it is tried at"), row.remark
    elif row.outcome != Outcome.UNDECIDED:
        assert row.green, explain(row)


@pytest.mark.parametrize("prefix", [paper.prefix for paper in PAPERS])
def test_every_item_has_a_claim_or_an_open_entry(prefix: str) -> None:
    """No item of the paper's specification is passed over in silence."""
    covered = ledger.coverage(prefix, ledger.load())
    slips = {misprint.item for misprint in misprints.of(prefix)}
    missing = [item for item, ids in covered.items() if not ids and item not in slips]
    assert not missing, f"no claim covers {', '.join(missing)}"


def test_statistical_claims_share_one_false_alarm_budget() -> None:
    """A run of true claims fails by chance at most once in a million."""
    assert ledger.false_alarm_probability(ledger.load()) <= FALSE_ALARM_BUDGET


def test_every_public_function_of_theory_is_executed_by_a_claim() -> None:
    """By the prediction of the claim that is named for it, in a process of its own."""
    program = (
        "import json\n"
        "from verify.mutants import uncovered\n"
        "print(json.dumps(uncovered.unexecuted(uncovered.executing())))\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert json.loads(told.stdout) == []


def test_every_figure_that_a_claim_names_can_be_drawn() -> None:
    """A claim's figure is the name of a function of `verify.figures`."""
    for claim in ledger.load():
        if claim.figure:
            assert callable(figures.named(claim.figure)), claim.id
