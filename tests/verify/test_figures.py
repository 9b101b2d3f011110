"""Every picture can be drawn, the same way twice, and says what it shows."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from empirical.testbed.records import RunRecord, identity
from verify import figures
from verify.compare import Outcome
from verify.figures import __main__ as command
from verify.figures import theoretical
from verify.figures.runs import beside
from verify.figures.style import INK, SERIES, as_svg
from verify.records import CaseRecord, Record


def _case(case: dict[str, Any], mean: Any, stderr: Any, predicted: Any) -> CaseRecord:
    measured = {"mean": mean, "stderr": stderr, "replicates": 9}
    return CaseRecord(
        case=case, outcome=Outcome.HOLDS, predicted=predicted, measured=measured
    )


def _record(*cases: CaseRecord) -> Record:
    return Record(
        claim="dc/eq1",
        version=1,
        profile="quick",
        outcome=Outcome.HOLDS,
        expected=Outcome.HOLDS,
        green=True,
        control="",
        control_passed=True,
        comparison="MeanEquals",
        cases=cases,
        search=None,
        seconds=1.0,
        code="",
        device="cpu",
        dtype="float64",
        machine="",
        made="",
        packages={},
    )


RECORDS = {
    "condition_numbers": _record(
        _case({"depths": [1, 2, 4], "width": 64}, [3.0, 2.0, 1.0], [0.1] * 3, [4, 3, 2])
    ),
    "correlation_floor": _record(
        _case({"activation": "relu", "width": 8}, [0.0, 1.0], [0.1, 0.1], [0.0, 0.9]),
        _case({"activation": "sign", "width": 8}, [0.0, 0.0], [0.1, 0.1], 0.0),
    ),
    "finite_width": _record(
        _case({"width": 64}, 1.0, 0.1, 1.1), _case({"width": 16}, 1.2, 0.1, 1.1)
    ),
}


OWN = [picture for picture in figures.PICTURES if not picture.from_runs]
"""Those of trained runs have tests of their own."""


@pytest.mark.parametrize("picture", OWN, ids=lambda p: p.name)
def test_every_picture_can_be_drawn(
    picture: figures.Picture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two of the six: each takes a second to be normalised.
    monkeypatch.setattr(theoretical, "SHOWN", theoretical.SHOWN[:2])
    figure = picture(RECORDS.get(picture.name))
    texts = [
        as_svg(figure, name=picture.name, title="T & t", description="D") for _ in "ab"
    ]
    assert texts[0] == texts[1]
    root = ET.fromstring(texts[0])
    assert root.attrib["id"] == picture.name
    ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    assert len(set(ids)) == len(ids)
    assert all(name.startswith(picture.name) for name in ids)
    assert "T & t" in [element.text for element in root.iter()]
    # A caption is one sentence; what is not measured says so.
    assert picture.caption.endswith(".")
    assert ("drawn from theory" in picture.caption) == picture.from_theory


def test_all_eleven_pictures_are_there() -> None:
    assert len(OWN) == 11
    assert {p.name for p in OWN} == {p.name for p in OWN if p.from_theory} | set(
        RECORDS
    )


def test_ends_of_chains_have_a_picture_of_their_own() -> None:
    ends = {"activation": "relu", "width": 8, "depth": 100}
    figure = figures.named("correlation_floor")(_record(_case(ends, 2.0, 0.1, 0.0)))
    assert "ReLU, L = 100" in [t.get_text() for t in figure.axes[0].get_yticklabels()]


def test_a_picture_of_a_record_shows_its_numbers() -> None:
    figure = figures.named("condition_numbers")(RECORDS["condition_numbers"])
    # Both sides are logarithms of condition numbers.
    bound = figure.axes[0].lines[-2].get_ydata()
    assert bound == pytest.approx([54.598150033, 20.085536923, 7.389056099])


@pytest.mark.parametrize("name", list(RECORDS))
def test_error_bars_are_explained(name: str) -> None:
    figure = figures.named(name)(RECORDS[name])
    legends = [*figure.legends, *(ax.get_legend() for ax in figure.axes)]
    said = [text.get_text() for each in legends if each for text in each.get_texts()]
    assert any("± 3 standard errors" in one for one in said)


def test_errors_by_width_have_plain_ticks() -> None:
    (ax,) = figures.named("finite_width")(RECORDS["finite_width"]).axes
    ticks = [text.get_text() for text in ax.get_yticklabels(which="both")]
    # Not 2·10⁻¹, and some are there.
    assert [f"{float(tick):g}" for tick in ticks] == ticks != []


def test_each_dual_is_named_beside_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theoretical, "SHOWN", theoretical.SHOWN[:1])
    figure = figures.named("dual_activations")()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["relu, μ = 0.27"]
    assert all(ax.get_legend() is None for ax in figure.axes)


@pytest.mark.parametrize("name", list(RECORDS))
def test_a_record_without_the_numbers_is_refused(name: str) -> None:
    picture = figures.named(name)
    with pytest.raises(ValueError, match="`record` must be given"):
        picture()
    with pytest.raises(ValueError, match="no finished case with"):
        picture(_record(_case({"x": 1}, 1.0, 0.1, 1.0)))
    broken = replace(RECORDS[name].cases[0], measured=1.0)
    with pytest.raises(ValueError, match="no standard errors"):
        picture(_record(broken))


def test_an_unknown_name_suggests_near_ones() -> None:
    with pytest.raises(ValueError, match="did you mean length_maps"):
        figures.named("length_map")


def test_colours_are_themed_only_inside_a_page() -> None:
    figure = figures.named("finite_width")(RECORDS["finite_width"])
    inside = as_svg(figure, name="a", title="", description="")
    alone = as_svg(figure, name="a", title="", description="", themed=False)
    assert f"var(--ink, {INK})" in inside
    assert "var(--" not in alone
    # Nor has a file alone a page's font.
    assert "font-family:'DejaVu Sans',Verdana,sans-serif" in alone
    assert "font-family" not in inside
    assert SERIES[0] in alone


def test_an_unknown_picture_is_told_by_the_argument(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["nothing", "--out", str(tmp_path)]) != 0
    told = capsys.readouterr().err
    assert told.startswith("error: `PAPER|NAME` must be a paper, one of dc, id")
    assert "'nothing'" in told


def test_certify_shows_the_networks_and_records_of_quick(tmp_path: Path) -> None:
    """Certificates train nothing: a folder of its own would always be empty."""
    runs = tmp_path / "quick" / "runs"
    assert beside(tmp_path / "certify", "certify").folder == runs
    assert beside(tmp_path / "quick", "quick").folder == runs
    assert beside(tmp_path / "full", "full").folder == tmp_path / "full" / "runs"


@pytest.mark.parametrize("below", ["", "full/runs"])
def test_records_may_be_those_of_all_profiles(
    below: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As other commands take them, or the very folder of the runs."""
    runs = tmp_path / "full" / "runs"
    runs.mkdir(parents=True)
    given = ["--profile", "full", "--records", str(tmp_path / below)]
    out = ["--out", str(tmp_path / "out")]
    assert command.main(["id", *given, *out, "--only", "8"]) == 2
    assert f"--scale full --figures 8 --out {runs}" in capsys.readouterr().err
    assert command.main(["identity_figure_8", *given, *out]) == 2
    assert "--scale full" in capsys.readouterr().err
    assert command.main(["condition_numbers", *given, *out]) == 2
    told = capsys.readouterr().err
    assert f"there is none in {tmp_path / 'full'}\n" in told
    assert told.endswith(
        "made by\n  python -m verify run dc/E13-digits --profile full\n"
    )
    assert command.main(["id", *out, "--records", str(tmp_path), "--only", "8"]) == 2
    assert "published" not in capsys.readouterr().err
    name = "cnn-depth-5"
    own = identity({"name": name}, device="cpu", schema=1)
    RunRecord(**own, code="0").write(runs / f"{name}.json")
    assert command.main(["id", *out, "--records", str(tmp_path), "--only", "8"]) == 2
    assert "published at full scale: 1; --profile full" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("what", "commands"),
    [
        (
            "dc",
            [
                "verify run dc/E13-digits dc/E3-corrected dc/",
                "empirical.normrelu batch --scale small",
            ],
        ),
        ("sl", ["empirical.square_loss batch --scale small --figures 1 2 3 4 5 6"]),
    ],
)
def test_what_makes_missing_figures_is_said_once(
    what: str, commands: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--records", str(tmp_path / "none"), "--out", str(tmp_path / "out")]
    assert command.main([what, *given]) == 2
    told = capsys.readouterr().err
    assert told.count("no record of") > 2 or told.count("there is none") > 2
    for each in commands:
        assert f"python -m {each}" in told
        assert told.count(" ".join(each.split()[:4])) == 1


def test_a_page_that_cannot_be_written_is_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "index.md").mkdir()
    argv = ["sl", "--out", str(tmp_path), "--records", str(tmp_path), "--only", "8"]
    assert command.main(argv) == 2
    assert "Is a directory" in capsys.readouterr().err
