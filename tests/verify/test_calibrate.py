"""What decides claims on training is tried itself: planted faults, A/A trials."""

import json
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from empirical.testbed.faults import FAULTS, planting
from empirical.testbed.records import Draw, Draws, RunRecord
from empirical.testbed.study import CPU, Setting, Study
from empirical.testbed.writing import sealed, unsealed
from verify import calibrate, ledger, paths, redraw
from verify import calibrated as calibrated_rows
from verify.alike import Trial, trial_of
from verify.claim import Claim, Evidence, Profile, Source
from verify.compare import (
    AtLeast,
    Contrast,
    EffectWithin,
)
from verify.paths import Place
from verify.trained import NotLearnt, Trainer


@dataclass(frozen=True)
class Toy:
    """Networks that learn 1 more than nothing, unless something is wrong."""

    name: str = "toy"
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    fault: str = ""


LEARNT = {"": 1.0, "slow": 0.0, "shuffled": 1.0, "untrained": 0.0}


def learn(toy: Toy, setting: Setting = CPU) -> RunRecord:
    if toy.fault == "frozen":
        raise ValueError("out of ice")
    noise = [np.random.default_rng(seed).standard_normal(2) for seed in toy.seeds]
    draws = Draws(
        Draw(keys={"seed": s}, arrays={"ends": 0.1 * z + [LEARNT[toy.fault], 0.0]})
        for s, z in zip(toy.seeds, noise, strict=True)
    )
    return RunRecord(**STUDY.identity(toy, setting), code=STUDY.code, draws=draws)


@dataclass(frozen=True, kw_only=True)
class Known(Study[Any]):
    """Its code is no module of the project."""

    code: str = "c0de"  # pyright: ignore[reportIncompatibleMethodOverride]


def configurations(_scale: str) -> tuple[Toy, ...]:
    return (Toy(),)


def data_of(_toy: Toy, _setting: Setting) -> str:
    return "da7a"


STUDY = Known(
    module="toy",
    configurations=configurations,
    schema=1,
    data=data_of,
    run=learn,
    faults=planting("slow", "shuffled", "frozen", "untrained"),
)
TRAINER = Trainer(STUDY)


def ends(**_case: Any) -> Contrast:
    treated, baseline = TRAINER.record("toy", "small").draws.series("ends").T
    return Contrast(treated, baseline)


def ends_if_learnt(**case: Any) -> Contrast:
    found = ends(**case)
    if np.mean(found.treated) < 0.5:
        raise NotLearnt("toy: nothing is learnt")
    return found


def runs(**_case: Any) -> Any:
    return TRAINER.looks("toy")(scale="small")


CLAIM = Claim(
    id="dc/toy",
    items=("Fig3",),
    title="Toys learn",
    statement="x",
    source=Source("agarwal2021deep", "Figure 3"),
    evidence=Evidence.TREND,
    cases=({"x": 1},),
    predict=lambda **_: (0.5, None),
    measure=ends,
    compare=EffectWithin(),
    must_refute=lambda **_: (None, 0.0),
    runs=runs,
)


def calibrated(
    claim: Claim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *more: str
) -> tuple[int, str]:
    """Run the command on one claim, in this process."""
    entry = ledger.Entry(module=__name__, claim=claim)
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    monkeypatch.setattr(sys.modules[__name__], "CLAIM", claim)
    monkeypatch.setattr(calibrate.ledger, "select", lambda _names: (entry,))
    out = tmp_path / "page.md"
    where = ["--records", str(tmp_path), "--output", str(out), "--workers", "1"]
    return calibrate.main([*where, *more]), out.read_text()


def cells(page: str) -> dict[str, str]:
    head, row = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page.splitlines()
        if line.startswith(("| claim", "| `dc/toy`"))
    )
    return dict(zip(head, row, strict=True))


def test_a_claim_that_holds_of_faulty_networks_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, page = calibrated(CLAIM, tmp_path, monkeypatch)
    found = cells(page)
    assert code == 1
    assert (found["slow"], found["untrained"]) == ("refuted", "refuted")
    # It does not see that labels are shuffled; and ice is an error, not a verdict.
    assert (found["shuffled"], found["frozen"]) == ("**holds**", "**error**")
    assert "short" not in found
    assert found["redrawn"] == "holds, holds, holds"
    assert found["A/A"].endswith(" of 200")
    assert "Of 1 claim, 1 hold of networks trained wrongly" in page


def test_what_a_claim_withstands_and_refuses_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = replace(
        CLAIM, measure=ends_if_learnt, withstands={"shuffled": "of the norm alone"}
    )
    faults = ["--fault", "slow", "--fault", "shuffled"]
    code, page = calibrated(claim, tmp_path, monkeypatch, *faults)
    assert code == 0
    assert (cells(page)["slow"], cells(page)["shuffled"]) == ("refused", "(holds)")
    assert "- *shuffled* (of the norm alone): `dc/toy`" in page


def test_arms_alike_are_tried_on_the_networks_that_have_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = Place(paths.folder_of(Profile.QUICK, tmp_path))
    (run,) = runs()
    run.path(here).parent.mkdir(parents=True)
    learn(run.configuration(here), CPU).write(run.path(here))
    entry = ledger.Entry(module=__name__, claim=CLAIM)
    monkeypatch.setattr(calibrate.ledger, "select", lambda _names: (entry,))
    assert calibrate.main(["--alike", "--records", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("dc/toy: ")


@pytest.mark.parametrize("there", [True, False])
def test_claims_without_trials_say_why(tmp_path: Path, there: bool) -> None:
    here = Place(paths.folder_of(Profile.QUICK, tmp_path))
    (run,) = runs()

    def nothing(**_case: Any) -> Contrast:
        raise NotLearnt("toy: nothing is learnt")

    claim = replace(CLAIM, measure=nothing)
    if there:
        run.path(here).parent.mkdir(parents=True)
        learn(run.configuration(here), CPU).write(run.path(here))
    entry = ledger.Entry(module=__name__, claim=claim)
    ((_, why),) = calibrate.alike([entry], Profile.QUICK, here)
    expected = "have not learnt what it presupposes" if there else "are not published"
    assert why == f"its networks {expected}"


def test_shares_that_all_agree_are_not_told_apart() -> None:
    full = [[Contrast.alone(np.ones(10))]]
    found = trial_of(EffectWithin(paired=True), full, 50, np.random.default_rng(1))
    assert found is not None
    assert found.decided == 0


PAGE = Path("docs/calibration.md")


def test_the_page_is_of_what_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    assert calibrate.main(["--page"]) == 0
    assert capsys.readouterr().out == PAGE.read_text(encoding="utf-8")
    # What was found of a claim that meant something else is not of this one.
    claims = {e.claim.id: e.claim.version for e in redraw.trained(ledger.select([]))}
    kept = {name: each.version for name, each in calibrated_rows.read().items()}
    assert claims == kept


def test_what_came_out_replaces_what_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept.json"
    old = calibrated_rows.Kept(1, "2026-01-01", {"slow": "holds"}, ("refuted",), None)
    calibrated_rows.write({"dc/toy": old, "dc/gone": old}, kept)
    assert calibrated_rows.read(kept)["dc/gone"] == old
    read, write = calibrated_rows.read, calibrated_rows.write
    monkeypatch.setattr(calibrate.keeping, "read", lambda: read(kept))
    monkeypatch.setattr(calibrate.keeping, "write", lambda made: write(made, kept))
    _, page = calibrated(CLAIM, tmp_path, monkeypatch, "--keep", "--draws", "1")
    assert set(read(kept)) == {"dc/toy"}
    assert cells(page)["slow"] == "refuted"
    assert cells(page)["made"] != "2026-01-01"


def test_what_is_kept_is_replaced_by_a_whole_file(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    old = calibrated_rows.Kept(1, "2026-01-01", {}, (), None)
    calibrated_rows.write({"dc/toy": old}, kept)
    before = kept.read_text(encoding="utf-8")
    with kept.open(encoding="utf-8") as reader:
        calibrated_rows.write({"dc/other": old}, kept)
        # Who reads meanwhile has all of the one before.
        assert reader.read() == before
    assert set(calibrated_rows.read(kept)) == {"dc/other"}


@pytest.mark.parametrize(("name", "profile"), [("full", "full"), ("paper", "gpu")])
def test_each_claim_of_a_published_scale_has_trials_or_a_reason(
    name: str, profile: str
) -> None:
    path = Path(f"docs/numbers/alike-{name}.json")
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    named = re.findall(r"`([^`]+)`", " ".join(row[0] for row in rows))
    entries = redraw.trained(ledger.select([]), Profile(profile))
    assert sorted(named) == sorted(e.claim.id for e in entries)
    for claim, tried, told, pool, finest in rows[1:]:
        if tried != "yes":
            assert re.fullmatch("no: .{20,}", tried)
            continue
        decided, trials = map(int, told.split(" of "))
        trial = Trial(decided, trials, 0.01, int(pool), float(finest) / 100.0)
        assert trial.chance >= calibrate.BY_CHANCE, claim


def test_unknown_faults_are_refused() -> None:
    with pytest.raises(ValueError, match=r"one of slow, short, .* names heat"):
        replace(CLAIM, withstands={"heat": "?"})
    with pytest.raises(ValueError, match=r"`fault` must be one of .* it is 'heat'"):
        replace(STUDY, faults={"heat": replace})
    assert set(STUDY.faults) < set(FAULTS)


def pools(rng: np.random.Generator) -> list[list[Any]]:
    """Return what four draws of one case measured, of networks of one law."""
    return [[Contrast(rng.normal(5, 1, 6), rng.normal(0, 1, 6))] for _ in range(4)]


@pytest.mark.parametrize("paired", [False, True])
def test_arms_alike_are_rarely_told_apart(*, paired: bool) -> None:
    rng = np.random.default_rng(1)
    found = trial_of(EffectWithin(level=0.05, paired=paired), pools(rng), 400, rng)
    assert found is not None
    assert found.trials == 400
    assert found.chance > 1e-3
    # They are tried: some are, by chance.
    assert found.decided > 0


def test_a_comparison_that_breaks_its_level_is_seen() -> None:
    class Hasty(EffectWithin):
        def judge(self, predicted: Any, measured: Contrast) -> Any:
            return replace(EffectWithin(level=0.3), paired=self.paired).judge(
                predicted, measured
            )

    rng = np.random.default_rng(1)
    found = trial_of(Hasty(level=0.01), pools(rng), 200, rng)
    assert found is not None
    assert found.chance < calibrate.BY_CHANCE


def test_without_a_level_there_is_nothing_to_try() -> None:
    assert trial_of(AtLeast(), [[1.0]], 10, np.random.default_rng(1)) is None
    assert trial_of(EffectWithin(), [], 10, np.random.default_rng(1)) is None


def test_arms_take_what_the_larger_arm_s_law_has() -> None:
    rng = np.random.default_rng(1)
    draws = [[Contrast(rng.normal(5, 1, 10), rng.normal(0, 1, 3))] for _ in range(3)]
    found = trial_of(EffectWithin(level=0.05), draws, 400, rng)
    assert found is not None
    assert found.pool == 30
    one = [[Contrast(rng.normal(0, 1, 6), rng.normal(0, 1, 6))]]
    half = trial_of(EffectWithin(level=0.05), one, 50, rng)
    assert half is not None
    assert half.pool == 6


def test_effects_against_nothing_are_tried_by_their_signs() -> None:
    rng = np.random.default_rng(1)
    draws = [[Contrast.alone(rng.normal(5, 1, 6))] for _ in range(3)]
    found = trial_of(EffectWithin(level=0.05), draws, 400, rng)
    assert found is not None
    assert 0 < found.decided < 60


def test_too_small_a_pool_is_told() -> None:
    one = [[Contrast(np.zeros(3), np.arange(3.0))]]
    with pytest.raises(ValueError, match="need a pool of as many, but it holds 3"):
        trial_of(EffectWithin(), one, 10, np.random.default_rng(1))


def test_a_page_that_cannot_be_written_is_an_error_before_the_work(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def work(*_: object) -> None:
        raise AssertionError("nothing must run")

    monkeypatch.setattr(calibrate, "calibrated", work)
    assert calibrate.main(["dc/sec7-rates", "--output", str(tmp_path)]) == 1
    assert f"{tmp_path} must be a file" in capsys.readouterr().err


@pytest.mark.parametrize("old", [True, False])
def test_what_could_not_be_tried_is_neither_trusted_nor_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, old: bool
) -> None:
    """On a full disk the record of older code stayed, and counted as an outcome."""
    calibrated(CLAIM, tmp_path, monkeypatch, "--fault", "slow", "--draws", "1")
    (record,) = tmp_path.glob("*/fault-slow/*.json")
    if old:
        text = unsealed(json.loads(record.read_text()))
        record.write_text(json.dumps(sealed(text | {"code": "0" * 16})))
    else:
        record.unlink()
    kept = tmp_path / "kept.json"
    calibrated_rows.write({}, kept)
    read, write = calibrated_rows.read, calibrated_rows.write
    monkeypatch.setattr(calibrate.keeping, "read", lambda: read(kept))
    monkeypatch.setattr(calibrate.keeping, "write", lambda made: write(made, kept))
    monkeypatch.setattr(calibrate.command, "run_with_progress", lambda *_, **__: False)
    given = ("--fault", "slow", "--keep", "--draws", "1")
    code, _ = calibrated(CLAIM, tmp_path, monkeypatch, *given)
    assert code == 1
    assert read(kept) == {}
