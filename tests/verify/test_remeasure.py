"""Published records say what the networks that are published beside them show."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from empirical.digest import ROOT
from verify import ledger, records, remeasure
from verify.__main__ import main
from verify.claim import Profile
from verify.judging import derived
from verify.ledger import Entry
from verify.records import Record

RESULTS = ROOT / "results"


def test_every_published_record_is_of_a_claim_that_can_be_measured_again() -> None:
    found = remeasure.published(ledger.entries(), RESULTS)
    known = {
        records.path_of(entry.claim.id, remeasure.folder_of(profile, RESULTS))
        for entry, profile, _ in found
    }
    assert known == {
        path for scale in ("full", "paper") for path in (RESULTS / scale).glob("*.json")
    }


def test_published_records_say_what_their_networks_show() -> None:
    found = [
        remeasure.remeasured(*each, RESULTS)
        for each in remeasure.published(ledger.entries(), RESULTS)
    ]
    assert found
    assert [str(each) for each in found if not each.same] == []


@pytest.fixture(name="one")
def _one() -> tuple[Entry, Profile, Record]:
    return next(remeasure.published(ledger.find("sl/nc1-trained"), RESULTS))


def test_a_forged_record_that_follows_from_its_numbers_is_found_out(
    one: tuple[Entry, Profile, Record], tmp_path: Path
) -> None:
    entry, profile, record = one
    case = record.cases[0]
    first, *others = case.measured["treated"]
    forged = {**case.measured, "treated": [first * (1.0 + 1e-6), *others]}
    # Judged again, so that its verdicts, too, are those of its numbers.
    other = derived(
        entry.claim,
        replace(record, cases=(replace(case, measured=forged), *record.cases[1:])),
    )
    path = records.write(other, tmp_path)
    again = remeasure.remeasured(entry, profile, records.read(path), RESULTS)
    assert not again.same
    assert any(said.startswith("case 0: measured") for said in again.differences)


def test_another_verdict_or_other_cases_are_found_out(
    one: tuple[Entry, Profile, Record],
) -> None:
    entry, profile, record = one
    turned = replace(record, green=not record.green)
    again = remeasure.remeasured(entry, profile, turned, RESULTS)
    assert again.differences == (f"green {record.green}, in the record {turned.green}",)
    fewer = replace(record, cases=record.cases[1:])
    assert "other cases" in str(remeasure.remeasured(entry, profile, fewer, RESULTS))


def test_networks_that_are_not_published_are_named(
    one: tuple[Entry, Profile, Record], tmp_path: Path
) -> None:
    entry, profile, record = one
    again = remeasure.remeasured(entry, profile, record, tmp_path)
    assert not again.same
    assert again.missing
    assert "not published" in str(again)


def test_the_command_says_what_it_found(
    one: tuple[Entry, Profile, Record],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    entry, profile, record = one
    records.write(record, tmp_path / profile.value)
    assert main(["remeasure", entry.claim.id, "--records", str(RESULTS)]) == 0
    scales = len(
        list(RESULTS.glob(f"[!q]*/{records.path_of(entry.claim.id, RESULTS).name}"))
    )
    assert f"{scales} of {scales} published records" in capsys.readouterr().out
    assert main(["remeasure", entry.claim.id, "--records", str(tmp_path)]) == 1
    assert "not published" in capsys.readouterr().out
    assert main(["remeasure", entry.claim.id, "--records", str(tmp_path / "none")]) == 2
    assert f"no record of {entry.claim.id} is published" in capsys.readouterr().err
    path = records.path_of(entry.claim.id, tmp_path / profile.value)
    path.write_text(json.dumps({"schema": 0}), encoding="utf-8")
    assert main(["remeasure", entry.claim.id, "--records", str(tmp_path)]) == 1
    assert "not a readable record" in capsys.readouterr().err


def test_records_that_say_the_same_again_are_renewed_and_no_others(
    one: tuple[Entry, Profile, Record], tmp_path: Path
) -> None:
    """What changes a number or a verdict is published by hand, not in passing."""
    entry, profile, record = one
    again = remeasure.remeasured(entry, profile, record, RESULTS)
    now = again.now
    assert now is not None
    older = replace(record, code="0" * 16)
    folder = remeasure.folder_of(profile, tmp_path)
    records.write(older, folder)
    remeasure.renew(replace(again, differences=("a number",)), older, tmp_path)
    assert records.find(entry.claim, folder) == older
    remeasure.renew(again, older, tmp_path)
    assert records.find(entry.claim, folder) == now
    remeasure.renew(replace(again, now=replace(now, made="")), now, tmp_path)
    assert records.find(entry.claim, folder) == now
