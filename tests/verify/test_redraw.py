"""Claims on training, tried with other draws."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from empirical.testbed.records import RunRecord, identity
from empirical.testbed.study import Setting, Study
from verify import ledger, redraw
from verify.claims._trained import Trainer
from verify.paths import Place, placed


@dataclass(frozen=True)
class Tiny:
    """A configuration."""

    name: str = "tiny"
    seeds: tuple[int, ...] = (0, 1)


def _identity(configuration: Tiny, setting: Setting) -> dict[str, object]:
    return identity(configuration, device=setting.device, schema=1, data="")


class Batch:
    """Trains nothing; counts how often it is asked to."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, configuration: Tiny, setting: Setting) -> RunRecord:
        self.asked += 1
        return RunRecord(**_identity(configuration, setting), code=Tinies.code)


class Tinies(Study):
    """Its code is no module of the project."""

    code = "1" * 16


def trainer(batch: Batch) -> Trainer:
    study = Tinies(
        module="empirical.square_loss",
        configurations=lambda _scale: (Tiny(),),
        identity=_identity,
        run=batch,
    )
    return Trainer(study)


def test_seeds_move_and_records_stay_apart(tmp_path: Path) -> None:
    found = []
    for redrawn in (0, 1, 2):
        with placed(Place(tmp_path / str(redrawn), redrawn)):
            found.append(trainer(Batch()).record("tiny", "small").entry("seeds"))
    assert found == [[0, 1], [1000, 1001], [2000, 2001]]
    names = {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*.json")}
    assert names == {f"{k}/runs/tiny.json" for k in range(3)}


@pytest.mark.parametrize(
    ("change", "again"),
    [
        ({}, 0),
        ({"configuration": {"name": "other", "seeds": [0, 1]}}, 1),
        ({"configuration": {"name": "tiny", "seeds": [5, 6]}}, 1),
        ({"schema": 2}, 1),
        ({"device": "cuda"}, 1),
        ({"code": "0" * 16}, 1),
        ("not JSON", 1),
        ("[]", 1),
        ("", 1),
        ("[" * 100_000, 1),
    ],
)
def test_a_record_is_worth_what_it_says(
    tmp_path: Path, change: dict[str, object] | str, again: int
) -> None:
    with placed(Place(tmp_path)):
        kept = trainer(Batch()).record("tiny", "small")
        path = tmp_path / "runs" / "tiny.json"
        written = json.loads(kept.text())
        text = change if isinstance(change, str) else json.dumps(written | change)
        path.write_text(text, encoding="utf-8")
        batch = Batch()
        # As a process of its own has it: nothing is read twice by one trainer.
        assert trainer(batch).record("tiny", "small").text() == kept.text()
    assert batch.asked == again


def test_a_published_record_may_be_of_older_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with placed(Place(tmp_path)):
        path = tmp_path / "runs" / "tiny.json"
        path.parent.mkdir()
        record = RunRecord(**_identity(Tiny(), Setting(device="cuda")), code="0" * 16)
        record.write(path)
        assert trainer(Batch()).record("tiny", "paper").code == "0" * 16
        replace(record, device="cpu").write(path)
        # Not the paper's run, and here is no GPU to make it.
        with pytest.raises(ValueError, match="must exist, or a GPU be here"):
            trainer(Batch()).record("tiny", "paper")


def test_chooses_what_looks_at_networks() -> None:
    chosen = {e.claim.id for e in redraw.trained(ledger.select([]))}
    assert {"mmd/tab1", "sl/eq5-wn", "id/Fig3"} <= chosen
    # Neither formulas nor what trains networks of its own.
    assert not {"mmd/seg", "dc/Sec11"} & chosen


def test_a_claim_is_judged_on_other_networks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert redraw.main(["mmd/Fig2", "--draws", "1", "--workers", "1"]) == 0
    out, err = capsys.readouterr()
    assert "1 of 1 as expected in each of 1 draws" in out
    assert "mmd/Fig2 holds" in err
    (run,) = (tmp_path / "results/quick/redraw-1/runs").glob("*.json")
    found = RunRecord.read(run)
    assert found is not None
    assert found.entry("seeds") == [1000, 1001, 1002, 1003]
    assert [p.name for p in tmp_path.glob("results/quick/redraw-1/*.json")] == [
        "mmd-Fig2.json"
    ]
    assert not (tmp_path / "results/quick/runs").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["mmd/seg"], "none of these 1 is one. Try id, sl or mmd."),
        (["nothing"], "nothing"),
    ],
)
def test_refuses(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert redraw.main(arguments) == 2
    assert said in capsys.readouterr().err


def test_refuses_no_draws(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as found:
        redraw.main(["mmd/Fig2", "--draws", "0"])
    assert found.value.code == 2
    assert "must be at least 1" in capsys.readouterr().err
