"""Running claims: what is wrong goes red, and controls do their work."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from empirical.digest import ROOT, roots_of
from verify import ledger, paths, records, run
from verify.claim import Profile
from verify.compare import Outcome
from verify.records import Record

Toy = Callable[..., Any]


def _run(entry: ledger.Entry) -> Record:
    roots = roots_of(entry.module)
    return run.run_claim(entry.claim, module=entry.module, roots=roots)


def test_a_true_claim_with_a_working_control_is_green(toy_entry: Toy) -> None:
    record = _run(toy_entry(""))
    assert record.green
    assert record.outcome is Outcome.HOLDS
    assert record.control == "a wrong prediction was refuted in 3 of 3 cases"
    assert [case.case for case in record.cases] == [{"x": 1}, {"x": 2}, {"x": 3}]


def test_a_broken_prediction_is_red(toy_entry: Toy) -> None:
    record = _run(toy_entry("predict=doubled"))
    assert not record.green
    assert record.outcome is Outcome.REFUTED
    # 2 x and x^2 agree at 2; the worst case is the one that strains most.
    assert [case.outcome.value for case in record.cases] == [
        "refuted",
        "holds",
        "refuted",
    ]
    assert record.worst.case in ({"x": 1}, {"x": 3})


def test_a_control_that_is_not_refuted_is_red(toy_entry: Toy) -> None:
    record = _run(toy_entry("must_refute=square"))
    assert record.outcome is Outcome.HOLDS
    assert not record.control_passed
    assert not record.green


@pytest.mark.parametrize("part", ["predict", "measure", "must_refute"])
def test_an_exception_is_recorded_as_an_error(toy_entry: Toy, part: str) -> None:
    record = _run(toy_entry(f"{part}=broken"))
    assert record.outcome is Outcome.ERROR
    assert not record.green
    assert "ArithmeticError: no such power" in record.worst.error


def test_a_floating_point_warning_is_an_error(toy_entry: Toy) -> None:
    extra = "import numpy as np\ndef overflow(x):\n    return np.exp(np.float64(1e4))\n"
    record = _run(toy_entry("measure=overflow", extra))
    assert record.outcome is Outcome.ERROR
    assert "overflow" in record.worst.error


def test_a_statement_false_as_printed_is_green_when_refuted(toy_entry: Toy) -> None:
    false = "predict=off_by_one, expected=Outcome.REFUTED"
    record = _run(toy_entry(f"{false}, must_hold=square"))
    assert record.green
    assert record.control.endswith("the corrected statement holds in 3 of them")
    assert not _run(toy_entry(f"{false}, must_hold=doubled")).green
    # A statement that turns out true is not as expected either.
    true = "predict=square, expected=Outcome.REFUTED, must_hold=square"
    record = _run(toy_entry(true))
    assert record.outcome is Outcome.HOLDS
    assert not record.green


SEARCH = """
from hypothesis import strategies as st

def draws():
    return st.fixed_dictionaries({"x": st.integers(0, 10**6)})

def planted(x):
    return x * x + (x > 700_000)
"""


def test_the_search_finds_a_planted_counterexample(toy_entry: Toy) -> None:
    record = _run(toy_entry("predict=planted, examples=draws", SEARCH))
    assert all(case.outcome is Outcome.HOLDS for case in record.cases)
    assert record.search is not None
    assert record.search.outcome is Outcome.REFUTED
    assert not record.green
    # Shrunk to the least one.
    assert record.search.closest.case == {"x": 700_001}


def test_the_search_is_the_same_on_every_run(toy_entry: Toy) -> None:
    entry = toy_entry("examples=draws, max_examples=30", SEARCH)
    first, second = _run(entry), _run(entry)
    assert first.green
    assert first.search is not None
    assert second.search is not None
    assert first.search.examples == second.search.examples == 30
    assert first.search.closest.case == second.search.closest.case


def test_a_case_that_is_drawn_again_is_not_tried_twice(toy_entry: Toy) -> None:
    extra = SEARCH + (
        "\ndef few():\n    return draws().map(lambda case: {'x': case['x'] % 4})\n"
    )
    record = _run(toy_entry("examples=few, max_examples=30", extra))
    assert record.search is not None
    assert record.search.examples <= 4


def test_the_search_is_the_same_whatever_is_loaded(
    toy_entry: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = (
        SEARCH + "\nSEEN = []\ndef noted(x):\n    SEEN.append(x)\n    return x * x\n"
    )
    entry = toy_entry("measure=noted, examples=draws, max_examples=500", noted)
    seen: list[int] = importlib.import_module(entry.module).SEEN
    _run(entry)
    first = list(seen)
    # Numbers of a module of one's own, of which Hypothesis knows when it is loaded.
    (tmp_path / "of_ones_own.py").write_text(
        f"NUMBERS = {list(range(10**5, 10**5 + 99))}"
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("of_ones_own")
    seen.clear()
    _run(entry)
    assert seen == first
    assert len(first) >= 500


def test_a_search_ends_when_it_has_drawn_enough(toy_entry: Toy) -> None:
    extra = SEARCH + (
        "\nDRAWN = []\ndef rare():\n"
        "    return draws().map(lambda c: DRAWN.append(c) or c).filter("
        "lambda c: c['x'] % 60 == 7)\n"
    )
    entry = toy_entry("examples=rare, max_examples=30", extra)
    record = _run(entry)
    assert record.search is not None
    assert record.search.examples < 30
    # A filter asks three times for each of ten draws an example.
    assert 300 <= len(importlib.import_module(entry.module).DRAWN) <= 900
    assert record.search.outcome is Outcome.HOLDS, record.search.closest
    assert record.green


def test_an_error_of_the_search_is_an_error(toy_entry: Toy) -> None:
    extra = SEARCH + "\ndef fails(x):\n    return x * x if x < 4 else broken(x)\n"
    record = _run(toy_entry("measure=fails, examples=draws", extra))
    assert record.search is not None
    assert record.search.outcome is Outcome.ERROR
    assert record.outcome is Outcome.ERROR


def test_training_is_not_counted(
    toy_entry: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]

    def train(*_: object) -> dict[Any, Any]:
        clock[0] += 60.0
        return {}

    monkeypatch.setattr(run, "found_for", train)
    monkeypatch.setattr(run.time, "process_time", lambda: clock[0])
    assert _run(toy_entry("")).seconds == 0.0


def test_an_open_claim_cannot_be_run(toy: Toy) -> None:
    package = toy(
        one="OPEN = {k: COMMON[k] for k in ('items', 'title', 'statement', 'source',"
        " 'evidence')}\nCLAIMS = (Claim(id='dc/eq1', open_reason='later', **OPEN),)"
    )
    with pytest.raises(ValueError, match="is open and cannot be run: later"):
        _run(ledger.entries(package)[0])


def test_many_claims_run_in_workers_and_are_written(toy: Toy, tmp_path: Path) -> None:
    package = toy(
        one="CLAIMS = (Claim(id='dc/eq1', **COMMON),"
        " Claim(id='dc/eq2', **COMMON | dict(items=('Eq2',))))\n",
        two="import os\ndef die(x):\n    os._exit(3)\n"
        "CLAIMS = (Claim(id='dc/eq7', **COMMON | dict(measure=die)),)\n",
    )
    told: list[str] = []
    folder = paths.folder_of(Profile.QUICK, tmp_path)
    with pytest.raises(
        RuntimeError, match=r"dc/eq7: the process that ran it died.* exit code 3"
    ):
        run.run_many(
            ledger.entries(package),
            folder=folder,
            workers=2,
            report=lambda name, _: told.append(name),
        )
    # The worker's death cost only its own claim.
    assert sorted(told) == ["dc/eq1", "dc/eq2"]
    assert sorted(p.name for p in folder.iterdir()) == ["dc-eq1.json", "dc-eq2.json"]
    assert records.read(folder / "dc-eq1.json").green


def test_a_lone_claim_that_leaves_the_program_is_an_error(
    toy: Toy, tmp_path: Path
) -> None:
    """It ended without a word, and with the exit code of a success."""
    package = toy(
        one="import os\ndef leave(x):\n    os._exit(0)\n"
        "CLAIMS = (Claim(id='dc/eq1', **COMMON | dict(measure=leave)),)\n"
    )
    given = ["run", "dc", "--package", package, "--records", str(tmp_path / "results")]
    done = subprocess.run(
        [sys.executable, "-m", "verify", *given],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stderr
    assert "dc/eq1" in done.stderr
    assert "os._exit(0)" in done.stderr


def test_a_record_that_cannot_be_written_costs_the_others_nothing(
    toy: Toy, tmp_path: Path
) -> None:
    package = toy(
        one="CLAIMS = (Claim(id='dc/eq1', **COMMON),"
        " Claim(id='dc/eq2', **COMMON | dict(items=('Eq2',))))\n"
    )
    records.path_of("dc/eq1", tmp_path).mkdir()
    with pytest.raises(RuntimeError, match="dc/eq1: its record can't be written: "):
        run.run_many(ledger.entries(package), folder=tmp_path, workers=1)
    assert records.read(tmp_path / "dc-eq2.json").green


def test_a_number_too_long_to_be_written_is_an_error(toy_entry: Toy) -> None:
    """Nothing was written of the other claims either."""
    extra = "from verify.compare import Identical\ndef long(x): return 10**5000"
    found = _run(toy_entry("compare=Identical(), measure=long, predict=doubled", extra))
    assert found.outcome is Outcome.ERROR
    assert "must have at most 13000 bits" in found.worst.error


def test_code_of_another_place_is_refused(
    toy_entry: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record would say that it is of the sources here, which did not run."""
    other = tmp_path / "gaussian.py"
    other.write_text("pdf = float\n")
    entry = toy_entry("", "import theory.gaussian")
    spec = importlib.util.spec_from_file_location("theory.gaussian", other)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "theory.gaussian", module)
    with pytest.raises(
        RuntimeError, match=r"theory\.gaussian must be that of .*theory/g"
    ):
        run.run_and_write(entry, Profile.QUICK, tmp_path)
    assert not list(tmp_path.glob("*.json"))


def test_measurements_are_not_run_without_their_assertions(tmp_path: Path) -> None:
    given = ["verify", "run", "dc/eq14", "--records", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-O", "-m", *given], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "measurements assert; run Python without -O" in done.stderr


def test_claims_run_on_the_workers_of_a_scheduler(toy: Toy, tmp_path: Path) -> None:
    from distributed import LocalCluster

    package = toy(
        one="CLAIMS = (Claim(id='dc/eq1', **COMMON),"
        " Claim(id='dc/eq2', **COMMON | dict(items=('Eq2',))))\n"
    )
    # The workers are threads of this process, which can import what the test wrote.
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    ) as cluster:
        done = run.run_many(
            ledger.entries(package),
            folder=tmp_path,
            scheduler=cluster.scheduler_address,
        )
    assert sorted(done) == ["dc/eq1", "dc/eq2"]
    assert all(record.green for record in done.values())
    assert records.read(tmp_path / "dc-eq2.json").green
