"""Claims at larger scales: shown by their published records, whatever the profile."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from empirical.testbed.records import RunRecord, identity
from verify import published, records
from verify.claim import Claim, Evidence, Profile, Source
from verify.compare import Contrast, EffectWithin, Outcome
from verify.ledger import Entry
from verify.paths import RUNS
from verify.report import as_json, as_markdown, as_text, build, functions, numbers, rows
from verify.report.html import as_html
from verify.report.text import reasons
from verify.run import run_claim

TREATED = {"small": (1.0, 1.1, 1.2), "full": (2.0, 2.1, 2.2)}


def measure(*, scale: str) -> Contrast:
    return Contrast(TREATED[scale], (0.0, 0.1, 0.2))


def predict(**_case: Any) -> tuple[float, None]:
    return 0.5, None


def no_effect(**_case: Any) -> tuple[None, float]:
    return None, 0.0


def runs(**_case: Any) -> tuple[()]:
    return ()


CLAIM = Claim(
    id="dc/toy",
    items=("Fig3",),
    title="Toys learn",
    statement="x",
    source=Source("agarwal2021deep", "Figure 3"),
    evidence=Evidence.TREND,
    cases=({"scale": "small"},),
    larger_cases={"full": ({"scale": "full"},)},
    predict=predict,
    measure=measure,
    compare=EffectWithin(),
    must_refute=no_effect,
    runs=runs,
)
LARGER = replace(CLAIM, cases=())
ENTRY = Entry(module=__name__, claim=CLAIM)
FULL = Entry(module=__name__, claim=LARGER)


def written(claim: Claim, profile: Profile, root: Path) -> records.Record:
    record = run_claim(claim, profile, module=__name__)
    records.write(record, root / profile.value)
    return record


def test_scales_stand_side_by_side(tmp_path: Path) -> None:
    written(CLAIM, Profile.QUICK, tmp_path)
    (row,) = build([ENTRY], tmp_path / "quick")
    assert (row.scale, row.published) == ("small", ())
    assert "By scale" not in as_html([row], whole=False)
    written(CLAIM, Profile.FULL, tmp_path)
    (row,) = build([ENTRY], tmp_path / "quick")
    assert [(r.scale, r.verdict) for r in row.published] == [("full", "holds")]
    page = as_html([row], whole=False)
    assert "By scale of the networks" in page
    assert "2.1 against 0.1" in page
    (data,) = json.loads(as_json([row]))
    assert data["scale"] == "small"
    assert [each["scale"] for each in data["published"]] == ["full"]


def test_a_card_shows_an_effect_with_its_interval(tmp_path: Path) -> None:
    written(CLAIM, Profile.QUICK, tmp_path)
    (row,) = build([ENTRY], tmp_path / "quick")
    shown = numbers.effect_of(row.worst)
    assert row.worst is not None
    half = row.worst.resolves
    assert shown == f"1.00 [{1.0 - half:.2f}, {1.0 + half:.2f}]"
    assert f"<dt>difference<dd>{shown}" in as_html([row], whole=False)


def test_the_page_names_what_trained_the_networks(tmp_path: Path) -> None:
    """Not what compared their numbers, which any machine may do."""
    trained = replace(CLAIM, runs=lambda **_case: (SimpleNamespace(name="net"),))
    written(CLAIM, Profile.QUICK, tmp_path)
    written(CLAIM, Profile.FULL, tmp_path)
    (row,) = build([replace(ENTRY, claim=trained)], tmp_path / "quick")
    assert row.published[0].trained_on == ()
    own = identity({"name": "net"}, device="cuda", schema=1)
    there = {"hardware": "A card of 80 GB", "made": "2026-02-28"}
    made = RunRecord(**own, code="0", environment=there)
    (tmp_path / "full" / RUNS).mkdir()
    made.write(tmp_path / "full" / RUNS / "net.json")
    rows.hardware.cache_clear()
    page = as_html([row], whole=False)
    assert "A card of 80 GB, 2026-02-28" in page
    (data,) = json.loads(as_json([row]))
    assert data["published"][0]["trained_on"] == ["A card of 80 GB, 2026-02-28"]


def test_what_larger_scales_say_otherwise_stands_beside_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The headline is the smallest scale's, and must not hide that another refutes it."""
    written(CLAIM, Profile.QUICK, tmp_path)
    monkeypatch.setitem(TREATED, "full", (-2.0, -2.1, -2.2))
    written(CLAIM, Profile.FULL, tmp_path)
    (row,) = build([ENTRY], tmp_path / "quick")
    assert (row.verdict, row.said) == ("holds", "holds (small); refuted (full)")
    assert row.said in as_text([row], width=140, colour=False)
    assert row.said in as_markdown([row])
    assert "1 otherwise at another scale" in as_text([row], width=140, colour=False)
    assert "(small); refuted (full)</small>" in as_html([row], whole=False)
    (data,) = json.loads(as_json([row]))
    assert (data["verdict"], data["said"]) == ("holds", row.said)
    # Not run here, but published.
    (tmp_path / "quick" / "dc-toy.json").unlink()
    (row,) = build([ENTRY], tmp_path / "quick")
    assert row.said == "not run; refuted (full)"


def test_a_verdict_that_depends_on_the_draw_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(CLAIM, Profile.QUICK, tmp_path)
    drawn = ("undecided", "holds", "undecided")
    monkeypatch.setattr(rows.calibrated, "redrawn", lambda _id: drawn)
    (row,) = build([ENTRY], tmp_path / "quick")
    assert row.said == "holds; 1 of 3 redraws"
    assert "Depends on the draw: undecided in 2 of 3 redraws." in as_html(
        [row], whole=False
    )
    assert "1 otherwise in some redraw" in as_text([row], width=140, colour=False)
    monkeypatch.setattr(rows.calibrated, "redrawn", lambda _id: ("holds",) * 3)
    assert row.said == "holds"


@pytest.mark.parametrize(
    ("effects", "drawn", "outcome", "foreseen"),
    [
        ((2.0, -0.1, 0.2), ("holds", "undecided"), "undecided", True),
        ((2.0, -0.1, 0.2), ("holds", "holds"), "undecided", False),
        ((2.0, -0.1, 0.2), (), "undecided", False),
        ((-2.0, -2.1, -2.2), ("holds", "undecided"), "refuted", False),
        ((-2.0, -2.1, -2.2), ("holds", "refuted"), "refuted", False),
    ],
)
def test_undecided_is_foreseen_where_a_redraw_was_undecided(
    effects: tuple[float, ...],
    drawn: tuple[str, ...],
    outcome: str,
    foreseen: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another processor rounds otherwise, which draws other networks."""
    monkeypatch.setitem(TREATED, "small", effects)
    written(CLAIM, Profile.QUICK, tmp_path)
    monkeypatch.setattr(rows.calibrated, "redrawn", lambda _id: drawn)
    (row,) = build([ENTRY], tmp_path / "quick")
    assert (row.outcome, row.foreseen, row.green) == (outcome, foreseen, False)


def test_a_claim_that_takes_more_is_shown_by_its_published_record(
    tmp_path: Path,
) -> None:
    (row,) = build([FULL], tmp_path / "quick")
    assert (row.verdict, row.remark) == (
        "not run",
        "it is tried at full scale: --profile full",
    )
    written(LARGER, Profile.FULL, tmp_path)
    (row,) = build([FULL], tmp_path / "quick")
    assert (row.verdict, row.scale, row.green) == ("holds", "full", True)
    assert "holds (full)" in as_text([row], width=80, colour=False)


def test_older_code_is_said_and_other_cases_are_nothing(tmp_path: Path) -> None:
    record = written(LARGER, Profile.FULL, tmp_path)
    records.write(replace(record, code="0" * 64), tmp_path / "full")
    (row,) = build([FULL], tmp_path / "quick")
    assert (row.verdict, row.remark) == ("holds", rows.EARLIER)
    assert rows.EARLIER in as_html([row], whole=False)
    other = replace(LARGER, larger_cases={"full": ({"scale": "small"},)})
    (row,) = build([replace(FULL, claim=other)], tmp_path / "quick")
    assert row.verdict == "not run"
    assert "must follow from the claim" in row.remark


def alone(*, scale: str) -> Contrast:
    return Contrast.alone(TREATED[scale])


def test_a_card_of_one_arm_has_no_difference_and_no_rival(tmp_path: Path) -> None:
    claim = replace(CLAIM, measure=alone, compare=EffectWithin(unit="points"))
    written(claim, Profile.QUICK, tmp_path)
    (row,) = build([replace(ENTRY, claim=claim)], tmp_path / "quick")
    page = as_html([row], whole=False)
    assert "<dt>measured<dd>1.10 [" in page
    assert "] points" in page
    assert "<dt>difference" not in page
    assert " against " not in page
    assert "observed 1.10 [" in (said := " ".join(reasons(row)))
    assert ": 1.1" not in said


def test_it_is_not_run_in_a_profile_without_cases() -> None:
    with pytest.raises(
        ValueError, match="no cases in the profile quick: it takes full"
    ):
        run_claim(LARGER, module=__name__)
    with pytest.raises(ValueError, match="`cases`, `predict`"):
        replace(CLAIM, cases=(), runs=None)


def a_larger_effect(**_case: Any) -> tuple[float, None]:
    return 1.5, None


def test_a_control_that_the_verdict_implies_is_said_to_be_one() -> None:
    """Limits that the claim's leave out are refuted wherever it holds: that is no news."""
    claim = replace(CLAIM, id="sl/obs1-trained", items=("Obs1",))
    record = run_claim(claim, module=__name__)
    assert functions.tried(claim, record) == (
        "refuted in the only case, as the verdict implies: its limits and the claim's are"
        " disjoint; of 5 trainings with a planted fault: holds 1, refused 2, refuted 2"
    )
    record = run_claim(CLAIM, module=__name__)
    assert functions.tried(CLAIM, record).endswith("with a planted fault was tried")
    (case,) = record.cases
    spared = replace(record, cases=(replace(case, control=Outcome.UNDECIDED),))
    assert functions.tried(CLAIM, spared) == (
        "refuted in 0 of 1 cases; no training with a planted fault was tried"
    )
    refused = replace(record, cases=(replace(case, control=""),))
    assert functions.tried(CLAIM, refused) == "not tried, as nothing was decided"
    telling = replace(CLAIM, must_refute=a_larger_effect)
    record = run_claim(telling, module=__name__)
    assert functions.tried(telling, record) == "refuted in the only case"


def test_what_is_kept_of_published_networks_is_what_their_records_say() -> None:
    again = "`python -m verify.published` writes it anew"
    assert published.PLACE.read_text(encoding="utf-8") == published.written(), again


def test_a_record_of_no_study_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "full" / RUNS
    folder.mkdir(parents=True)
    own = identity({"name": "toy", "depth": 2}, device="cpu", schema=1)
    RunRecord(**own, code="0").write(folder / "toy.json")
    with pytest.raises(ValueError, match="toy has the settings of no study"):
        published.written(tmp_path)


def test_a_file_that_is_no_record_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "full" / RUNS
    folder.mkdir(parents=True)
    (folder / "toy.json").write_text("{}")
    with pytest.raises(ValueError, match=r"toy\.json must be a record, and is none"):
        published.written(tmp_path)


def test_the_digests_are_not_written_for_who_asks_for_help(tmp_path: Path) -> None:
    for arguments in (["--help"], ["--full"]):
        with pytest.raises(SystemExit):
            published.main(arguments, tmp_path / "published.json")
    assert not list(tmp_path.iterdir())


def test_no_digests_are_written_where_no_record_is(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must hold records of networks, but has none"):
        published.written(tmp_path)


def test_a_control_is_said_to_fail_only_where_the_claim_is_as_expected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where networks decide nothing, or against the claim, it tells nothing."""
    spared = replace(CLAIM, must_refute=predict_too)
    for claim, effects, failed in (
        (spared, (1.0, 1.1, 1.2), True),
        (CLAIM, (-2.0, -2.1, -2.2), False),
        (CLAIM, (2.0, -0.1, 0.2), False),
    ):
        monkeypatch.setitem(TREATED, "small", effects)
        written(claim, Profile.QUICK, tmp_path)
        (row,) = build([replace(ENTRY, claim=claim)], tmp_path / "quick")
        assert row.record is not None
        assert not row.record.control_passed
        assert ("It failed." in as_html([row], whole=False)) is failed


def predict_too(**_case: Any) -> tuple[float, None]:
    return 0.4, None
