"""Claims on training, tried with other draws."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from empirical.digest import code_digest
from verify import ledger, redraw
from verify.claims import _trained
from verify.claims._trained import REDRAW, Trainer

MODULE = "empirical.square_loss"


@dataclass(frozen=True)
class Tiny:
    """A configuration."""

    name: str = "tiny"
    seeds: tuple[int, ...] = (0, 1)


def _batch(configurations, /, *, directory: Path, device: str, rerun: bool):
    (c,) = configurations
    record = {
        "device": device,
        "code": code_digest(f"{MODULE}.batch"),
        "seeds": c.seeds,
    }
    (directory / f"{c.name}.json").write_text(json.dumps(record), encoding="utf-8")
    assert rerun
    return {c.name: "done"}


def test_seeds_move_and_records_stay_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = []
    for draw in (None, "0", "1", "2"):
        if draw is not None:
            monkeypatch.setenv(REDRAW, draw)
        # As a process of its own has it.
        _trained._all.cache_clear()
        _trained._record.cache_clear()
        trainer = Trainer(MODULE, lambda _scale: (Tiny(),), _batch)
        found.append(tuple(trainer.record("tiny", "small")["seeds"]))
    assert found == [(0, 1), (0, 1), (1000, 1001), (2000, 2001)]
    names = {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*.json")}
    assert names == {f"results/quick/runs{k}/tiny.json" for k in ("", "-1", "-2")}
    _trained._all.cache_clear()
    _trained._record.cache_clear()


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
    (run,) = (tmp_path / "results/quick/runs-1").glob("*.json")
    assert json.loads(run.read_text())["seeds"] == [1000, 1001, 1002, 1003]
    assert [p.name for p in tmp_path.glob("results/quick/redraw-1/*.json")] == [
        "mmd-Fig2.json"
    ]
    assert not (tmp_path / "results/quick/runs").exists()
    assert REDRAW not in os.environ


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
