"""Networks that claims look at: declared, trained once, tried with other draws."""

import dataclasses
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from empirical.testbed.records import Draw, Draws, RunRecord
from empirical.testbed.study import CPU, Setting, Study
from verify import ledger, redraw, run
from verify.claim import Profile
from verify.compare import Outcome
from verify.paths import Place, placed
from verify.trained import Run, Trainer, given


@dataclass(frozen=True)
class Tiny:
    """A configuration; each training of it leaves a file in a folder."""

    name: str = "tiny"
    seeds: tuple[int, ...] = (0, 1)


@dataclass(frozen=True, kw_only=True)
class Known(Study[Any]):
    """Its code is no module of the project."""

    code: str = "c0de"  # pyright: ignore[reportIncompatibleMethodOverride]


def data_of(_c: Tiny, _setting: Setting) -> str:
    return "da7a"


def trained(c: Tiny, setting: Setting = CPU) -> RunRecord:
    if c.name == "broken":
        raise ValueError("nothing to learn")
    draws = Draws(Draw(keys={"seed": seed}) for seed in c.seeds)
    return RunRecord(**STUDY.identity(c, setting), code="c0de", draws=draws)


def configurations(_scale: str) -> tuple[Tiny, ...]:
    return (Tiny(), Tiny("broken"))


STUDY = Known(
    module="toy",
    configurations=configurations,
    schema=1,
    data=data_of,
    run=trained,
)
TRAINER = Trainer(STUDY)


def look(folder: Path, name: str = "tiny", *, redrawn: int = 0) -> RunRecord:
    """Look at a run as a claim does that declares it."""
    here, wanted = Place(folder, redrawn), Run(TRAINER, name, "small")
    found = wanted.find(here) or run._trained_here(wanted, here)
    with placed(here), given({wanted: found}):
        return TRAINER.record(name, "small")


def test_seeds_move_and_records_stay_apart(tmp_path: Path) -> None:
    found = [look(tmp_path / str(k), redrawn=k).draws.key("seed") for k in (0, 1, 2)]
    assert found == [[0, 1], [1000, 1001], [2000, 2001]]
    names = {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*.json")}
    assert names == {f"{k}/runs/tiny.json" for k in range(3)}


def _changed(**entries: Any) -> Callable[[str], str]:
    return lambda text: json.dumps(json.loads(text) | entries)


@pytest.mark.parametrize(
    ("change", "again"),
    [
        (lambda text: text, False),
        (_changed(configuration={"name": "other", "seeds": [0, 1]}), True),
        (_changed(configuration={"name": "tiny", "seeds": [5, 6]}), True),
        (_changed(device="cuda"), True),
        (_changed(schema=2), True),
        (_changed(data="other"), True),
        (_changed(code="0" * 16), True),
        (lambda text: text[:-9], True),
        (lambda _: "not JSON", True),
        (lambda _: "[]", True),
        (lambda _: "", True),
        (lambda _: "[" * 100_000, True),
    ],
)
def test_a_record_is_worth_what_it_says(
    tmp_path: Path, change: Callable[[str], str], again: bool
) -> None:
    expected = look(tmp_path).text()
    path = tmp_path / "runs" / "tiny.json"
    path.write_text(change(path.read_text()), encoding="utf-8")
    before = path.stat().st_ino
    assert look(tmp_path).text() == expected
    # A record is written to a file of its own, which takes the place of the last.
    assert (path.stat().st_ino != before) == again


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_a_published_record_may_be_of_older_code_and_of_a_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    path, paper = tmp_path / "runs" / "tiny.json", Run(TRAINER, "tiny", "paper")
    path.parent.mkdir()
    record = trained(Tiny(), Setting(device=device))
    dataclasses.replace(record, code="old").write(path)
    found = paper.find(Place(tmp_path))
    assert isinstance(found, RunRecord)
    assert (found.code, found.device) == ("old", device)
    dataclasses.replace(record, device="meta").write(path)
    # Not the paper's run, and here is no GPU to make it.
    found = paper.find(Place(tmp_path))
    assert "must exist, or a GPU be here" in str(found)
    with given({paper: str(found)}), pytest.raises(ValueError, match="or a GPU"):
        TRAINER.record("tiny", "paper")


def test_a_run_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"broken \(small\): nothing to learn"):
        look(tmp_path, "broken")


def test_a_run_that_is_not_declared_is_refused() -> None:
    declared = {Run(TRAINER, "broken", "small"): "why"}
    said = r"tiny \(small\).*without saying so. Add it .*`runs`, which are: broken"
    with given(declared), pytest.raises(ValueError, match=said):
        TRAINER.record("tiny", "small")
    with pytest.raises(ValueError, match="which are: none"):
        TRAINER.record("tiny", "small")


def test_a_run_that_is_declared_and_not_trained_is_named() -> None:
    """It was said to be one that the claim does not declare."""
    said = r"tiny \(small\): it has no current record"
    untrained = {Run(TRAINER, "tiny", "small"): None}
    with given(untrained), pytest.raises(ValueError, match=said):
        TRAINER.record("tiny", "small")


def test_patterns_match_whole_names() -> None:
    assert TRAINER.looks("t.*", "brok")(scale="small", seed=7) == (
        Run(TRAINER, "tiny", "small"),
    )


LOOKS = """
import sys
sys.path.insert(0, {folder!r})
from test_redraw import TRAINER

def seeds(x):
    return TRAINER.record("tiny", "small").draws.key("seed")[1]

def one(x):
    return 1

def looks(x):
    return TRAINER.looks("tiny")(scale="small")

def broken_too(x):
    return TRAINER.looks("tiny", "broken")(scale="small")

def other(x):
    return TRAINER.record("broken", "small")

CLAIMS = tuple(
    Claim(**(COMMON | dict(id=f"dc/{{name}}", measure=measure, predict=one, runs=runs)))
    for name, measure, runs in (
        ("a", seeds, looks),
        ("b", seeds, broken_too),
        ("c", other, broken_too),
        ("d", other, looks),
    )
)
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_runs_are_trained_once_before_the_claims_that_look_at_them(
    toy: Callable[..., str], tmp_path: Path, workers: int
) -> None:
    source = LOOKS.format(folder=str(Path(__file__).parent))
    entries = ledger.entries(toy(looking=source))
    folder = tmp_path / "records"
    said: list[str] = []
    done = run.run_many(entries, folder=folder, workers=workers, say=said.append)
    outcomes = {name: record.outcome for name, record in done.items()}
    assert outcomes == {
        "dc/a": Outcome.HOLDS,
        "dc/b": Outcome.HOLDS,
        "dc/c": Outcome.ERROR,
        "dc/d": Outcome.ERROR,
    }
    assert "broken (small): nothing to learn" in done["dc/c"].worst.error
    assert "without saying so" in done["dc/d"].worst.error
    assert [p.name for p in (folder / "runs").iterdir()] == ["tiny.json"]
    plan, *ends = said
    assert plan.startswith(f"trained first, for want of current records in {folder}")
    assert set(plan.partition("runs: ")[2].split(", ")) == {"tiny", "broken"}
    assert {"tiny: done (1 of 2)", "tiny: done (2 of 2)"} & set(ends)
    assert any(end.startswith("broken: failed") for end in ends)
    assert [end[-8:] for end in ends] == ["(1 of 2)", "(2 of 2)"]
    written = (folder / "runs" / "tiny.json").stat().st_mtime_ns
    said.clear()
    run.run_many(entries[:1], folder=folder, workers=workers, say=said.append)
    assert (folder / "runs" / "tiny.json").stat().st_mtime_ns == written
    assert said == []


def test_records_that_lie_where_nobody_looks_are_told_of(
    toy: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = LOOKS.format(folder=str(Path(__file__).parent))
    entries = ledger.entries(toy(looking=source))[:1]
    said: list[str] = []
    for folder in (Path("results/quick"), Path("elsewhere/quick")):
        run.run_many(entries, folder=folder, workers=1, say=said.append)
    usual, elsewhere = (each for each in said if each.startswith("trained first"))
    assert usual.endswith("runs: tiny")
    assert "1 of 1 have a record in results/quick/runs, which is looked at" in elsewhere


def test_every_claim_declares_runs_of_each_profile() -> None:
    for entry in redraw.trained(ledger.select([])):
        for profile in Profile:
            assert entry.claim.runs_for(profile), (entry.claim.id, profile)


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
    # Other networks may decide otherwise; what they decide is said.
    found = re.search(r"mmd/Fig2 (holds|undecided|refuted)", err)
    assert found is not None
    count = int(found[1] == "holds")
    assert f"{count} of 1 claim as expected in every draw (1 draw)" in out
    (path,) = (tmp_path / "results/quick/redraw-1/runs").glob("*.json")
    record = RunRecord.read(path)
    assert record is not None
    assert record.entry("seeds") == list(range(1000, 1008))
    assert [p.name for p in tmp_path.glob("results/quick/redraw-1/*.json")] == [
        "mmd-Fig2.json"
    ]
    assert not (tmp_path / "results/quick/runs").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["mmd/seg"], "none is of mmd/seg in the profile quick. Try dc/fig,"),
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
    assert "must be a whole number of at least 1" in capsys.readouterr().err


def test_redraws_of_a_profile_are_judged_by_its_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records of larger cases are none of the quick profile: they would count as absent."""
    judged: list[Profile] = []

    def build(_entries: Any, _folder: Path, profile: Profile = Profile.QUICK) -> Any:
        judged.append(profile)
        return ()

    monkeypatch.setattr(redraw, "build", build)
    monkeypatch.setattr(redraw.command, "run_with_progress", lambda *_, **__: True)
    given = ["mmd/Fig2", "--draws", "1", "--records", str(tmp_path)]
    redraw.main([*given, "--profile", "full"])
    assert judged == [Profile.FULL]
