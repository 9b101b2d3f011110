"""Records: whole or absent, true to what was found, stale when sources change."""

import json
import math
import os
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from empirical.digest import ROOT, code_digest, roots_of, sources
from empirical.testbed.writing import sealed
from verify import ledger, published, records, run
from verify.claim import Profile
from verify.compare import Estimate, Outcome
from verify.records import RecordError
from verify.report import as_json, as_text, rows

Toy = Callable[..., Any]


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (np.float64(0.1), 0.1),
        (np.array([[1.0, math.inf]]), [[1.0, "inf"]]),
        (np.array(2.0), 2.0),
        (np.bool_(True), True),
        (Fraction(1, 3), "1/3"),
        (Estimate(1.0, 0.5, 3), {"mean": 1.0, "stderr": 0.5, "replicates": 3}),
        (("a", None), ["a", None]),
        # In one order, whatever the seed of hashes.
        (frozenset("dcba"), ["a", "b", "c", "d"]),
        (np.longdouble(0.5), "0.5"),
    ],
)
def test_encode(value: Any, encoded: Any) -> None:
    assert records.encode(value) == encoded
    json.dumps(records.encode(value), allow_nan=False)


def test_arbitrary_precision_survives_encoding() -> None:
    with mpmath.workdps(50):
        third = mpmath.mpf(1) / 3
    text = records.encode(third)
    assert text.startswith("0.333333333333333333333333333")
    assert records.number(text) == 1 / 3


def test_a_record_is_read_as_it_was_written(toy_entry: Toy, tmp_path: Path) -> None:
    entry = toy_entry("")
    record = run.run_and_write(entry, Profile.QUICK, tmp_path)
    assert records.find(entry.claim, tmp_path) == record
    broken = replace(record.cases[0], gap=math.inf, resolves=math.nan)
    odd = replace(record, cases=(broken,))
    path = records.write(odd, tmp_path)
    again = records.read(path)
    assert again.cases[0].gap == math.inf
    assert math.isnan(again.cases[0].resolves)


def test_a_claim_without_a_record_has_none(toy_entry: Toy, tmp_path: Path) -> None:
    assert records.find(toy_entry("").claim, tmp_path) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such thing")
def test_a_pipe_in_the_place_of_a_record_is_none(
    toy_entry: Toy, tmp_path: Path
) -> None:
    claim = toy_entry("").claim
    os.mkfifo(records.path_of(claim.id, tmp_path))
    assert records.find(claim, tmp_path) is None


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device")
def test_a_device_in_the_place_of_a_record_is_none(
    toy_entry: Toy, tmp_path: Path
) -> None:
    claim = toy_entry("").claim
    records.path_of(claim.id, tmp_path).symlink_to("/dev/zero")
    assert records.find(claim, tmp_path) is None


def test_a_record_that_cannot_be_asked_for_stops_no_other(
    toy: Toy, tmp_path: Path
) -> None:
    """The name of its file is too long, or a folder on the way may not be entered."""
    ids = "('dc/eq1-' + 300 * 'x', 'dc/eq2')"
    entries = ledger.entries(
        toy(one=f"CLAIMS = tuple(Claim(id=n, **COMMON) for n in {ids})")
    )
    run.run_and_write(entries[1], Profile.QUICK, tmp_path)
    found = rows.build(entries, tmp_path)
    assert [row.outcome for row in found] == ["not run", "holds"]
    assert "File name too long" in found[0].remark


@pytest.mark.parametrize("odd", ["\x1b[2J", "\u202e", "\u2066", "\ufeff", "\x9b1m"])
def test_what_would_steer_a_terminal_is_escaped_on_reading_too(
    toy_entry: Toy, tmp_path: Path, odd: str
) -> None:
    """A record need not have been written by this program."""
    entry = toy_entry("")
    record = run.run_and_write(entry, Profile.QUICK, tmp_path)
    path = records.path_of(entry.claim.id, tmp_path)
    written = json.loads(path.read_text()) | {"made": odd, "device": odd}
    del written["digest"]
    path.write_text(json.dumps(sealed(written)))
    found = records.find(entry.claim, tmp_path)
    assert found is not None
    assert odd not in found.made + found.device
    assert found.cases == record.cases


def test_an_interrupted_write_leaves_the_old_record(
    toy_entry: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = toy_entry("")
    old = run.run_and_write(entry, Profile.QUICK, tmp_path)

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        records.write(replace(old, seconds=99.0), tmp_path)
    monkeypatch.undo()
    assert records.find(entry.claim, tmp_path) == old


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"schema": 0}', '{"schema": 1}'])
def test_a_damaged_record_is_named(toy_entry: Toy, tmp_path: Path, damage: str) -> None:
    entry = toy_entry("")
    path = records.path_of(entry.claim.id, tmp_path)
    path.write_text(damage)
    with pytest.raises(RecordError, match=r"dc-eq1\.json: not a readable record"):
        records.find(entry.claim, tmp_path)


def _digest(entry: ledger.Entry) -> str:
    return code_digest(entry.module, roots_of(entry.module))


def test_a_record_is_stale_when_the_source_changes(
    toy_entry: Toy, tmp_path: Path
) -> None:
    entry = toy_entry("")
    record = run.run_and_write(entry, Profile.QUICK, tmp_path)
    assert record.is_current(entry.claim, _digest(entry))
    package, _, module = entry.module.partition(".")
    path = tmp_path / package / f"{module}.py"
    path.write_text(path.read_text() + "\n# A remark changes no number.\n")
    assert record.is_current(entry.claim, _digest(entry))
    path.write_text(path.read_text() + "LIMIT = 3\n")
    assert not record.is_current(entry.claim, _digest(entry))


def test_a_record_is_stale_when_the_claim_means_something_else(
    toy_entry: Toy, tmp_path: Path
) -> None:
    entry = toy_entry("")
    record = run.run_and_write(entry, Profile.QUICK, tmp_path)
    digest = _digest(entry)
    assert not record.is_current(replace(entry.claim, version=2), digest)
    false = replace(
        entry.claim, expected=Outcome.REFUTED, must_hold=entry.claim.predict
    )
    assert not record.is_current(false, digest)


def test_a_searched_claim_is_stale_when_searches_change(
    toy_entry: Toy, tmp_path: Path
) -> None:
    search = "examples=lambda: st.fixed_dictionaries({'x': st.integers(1, 9)})"
    entry = toy_entry(search, "from hypothesis import strategies as st")
    record = run.run_and_write(entry, Profile.QUICK, tmp_path)
    roots = roots_of(entry.module)
    assert record.code == code_digest(entry.module, roots, ("verify.search",))
    assert record.code != _digest(entry)
    (row,) = rows.build([entry], tmp_path)
    assert row.outcome == "holds"


def test_the_digest_follows_imports_wherever_they_stand(
    toy: Toy, tmp_path: Path
) -> None:
    package = toy(
        one="def late():\n    from . import _shared\n    return _shared\nCLAIMS = ()\n",
        _shared="from ._deeper import VALUE\n",
        _deeper="VALUE = 1\n",
        _apart="VALUE = 2\n",
    )
    roots = (tmp_path,)
    before = code_digest(f"{package}.one", roots)
    unrelated = tmp_path / package / "_apart.py"
    with_it = code_digest(f"{package}.one", roots, (f"{package}._apart",))
    unrelated.write_text("VALUE = 3\n")
    assert code_digest(f"{package}.one", roots) == before
    assert code_digest(f"{package}.one", roots, (f"{package}._apart",)) != with_it
    deeper = tmp_path / package / "_deeper.py"
    # Of one length and within one tick of the clock: only the content tells.
    deeper.write_text("VALUE = 3\n")
    assert code_digest(f"{package}.one", roots) != before


def test_the_digest_follows_what_is_taken_of_a_whole_package(
    toy: Toy, tmp_path: Path
) -> None:
    """`theory` loads a topic when it is asked for."""
    package = toy(
        one="import theory as t\ndef f(x): return t.regression.predict\nCLAIMS = ()\n"
    )
    found = sources(f"{package}.one", (tmp_path, ROOT))
    assert "theory.regression" in found
    assert "theory.mmd" not in found


def test_a_claim_is_stale_when_what_it_reads_changes(toy: Toy, tmp_path: Path) -> None:
    reads = "Claim(**(COMMON | dict(id='dc/eq1', reads=('toy/data.json',))))"
    package = toy(one=f"CLAIMS = ({reads}, Claim(id='dc/eq2', **COMMON))\n")
    data = tmp_path / "toy" / "data.json"
    data.parent.mkdir()
    data.write_text("{}")
    entries = ledger.entries(package)
    for entry in entries:
        run.run_and_write(entry, Profile.QUICK, tmp_path)
    assert {row.outcome for row in rows.build(entries, tmp_path)} == {"holds"}
    data.write_text("[]")
    found = {row.claim.id: row.outcome for row in rows.build(entries, tmp_path)}
    assert found == {"dc/eq1": "stale", "dc/eq2": "holds"}
    data.unlink()
    with pytest.raises(ValueError, match=r"must name files, but has 'toy/data\.json'"):
        rows.build(entries, tmp_path)


def test_claims_on_published_settings_follow_the_file_of_them() -> None:
    """It is no code, so that no import leads to it."""
    file = published.PLACE.relative_to(ROOT).as_posix()
    reading = {claim.id for claim in ledger.load() if file in claim.reads}
    calling = {
        claim.id
        for claim in ledger.load()
        if getattr(claim.predict, "func", None) is published.said
    }
    assert reading == calling
    assert len(reading) == 4


@pytest.mark.parametrize(
    ("predicted", "measured"),
    [
        (1, {"lower": 0.0, "uppr": 1.0}),
        (1, {"mean": [{"mean": 1}], "stderr": [0.1], "replicates": 3}),
        ("x", {"mean": 1.0, "stderr": 0.1, "replicates": 3}),
        ([0.5], {"treated": [1.0], "baseline": []}),
    ],
)
def test_an_old_record_of_another_form_counts_for_nothing(
    predicted: object, measured: object, toy_entry: Toy, tmp_path: Path
) -> None:
    """What is older than the code is not judged again, and was shown whatever it holds."""
    entry = toy_entry("")
    record = run.run_and_write(entry, Profile.QUICK, tmp_path)
    case = replace(record.cases[0], predicted=predicted, measured=measured)
    records.write(replace(record, code="old", cases=(case,)), tmp_path)
    (row,) = rows.build([entry], tmp_path)
    assert (row.outcome, row.record) == ("not run", None)
    assert "dc/eq1: the record's numbers can't be told" in row.remark
    assert row.remark in as_text([row], width=200, colour=False)


@pytest.mark.parametrize("value", ["1/0", "ab/cd", "word", 10**400, None, [[]]])
def test_what_is_no_number_of_an_old_record_is_shown_as_it_is(
    value: object, toy_entry: Toy, tmp_path: Path
) -> None:
    entry = toy_entry("")
    record = run.run_and_write(entry, Profile.QUICK, tmp_path)
    case = replace(record.cases[0], predicted=value, measured=value)
    records.write(replace(record, code="old", cases=(case,)), tmp_path)
    (row,) = rows.build([entry], tmp_path)
    assert row.outcome == "stale"
    as_text([row], width=80, colour=False)
    json.loads(as_json([row]))


@pytest.mark.parametrize("code", ["", "old"])
def test_the_record_of_another_claim_counts_for_nothing(
    code: str, toy: Toy, tmp_path: Path
) -> None:
    entries = ledger.entries(
        toy(one="CLAIMS = tuple(Claim(id=f'dc/eq{n}', **COMMON) for n in (1, 2))")
    )
    record = run.run_and_write(entries[1], Profile.QUICK, tmp_path)
    other = replace(record, code=code or record.code)
    path = records.write(other, tmp_path)
    path.replace(records.path_of("dc/eq1", tmp_path))
    (row,) = rows.build(entries[:1], tmp_path)
    assert (row.outcome, row.record) == ("not run", None)
    assert "dc-eq1.json: it is the record of another claim, 'dc/eq2'" in row.remark


def test_damaged_networks_are_of_no_hardware(tmp_path: Path) -> None:
    path = tmp_path / "net.json"
    path.write_text("[" * 100_000)
    assert rows.hardware(path) == ""
    odd = {"environment": {"hardware": "a\x1b[2J", "made": "\u202e"}}
    path.with_name("odd.json").write_text(json.dumps(odd))
    assert rows.hardware(path.with_name("odd.json")) == r"a\x1b[2J, \u202e"
    if hasattr(os, "mkfifo"):  # which would be waited for
        os.mkfifo(pipe := tmp_path / "pipe.json")
        assert rows.hardware(pipe) == ""
