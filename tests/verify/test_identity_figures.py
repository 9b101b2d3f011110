"""Every figure of the paper on copying networks is drawn from records, or says why."""

import json
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from empirical.identity_map.configuration import Configuration
from empirical.identity_map.experiments import configurations
from empirical.identity_map.networks import copier
from empirical.identity_map.study import run_configuration
from empirical.networks import Convolutional, FullyConnected
from empirical.testbed.records import Draw, Draws, RunRecord, identity
from empirical.testbed.writing import sealed, unsealed
from verify import figures
from verify.figures import __main__ as command
from verify.figures.identity_map import (
    FIGURES,
    MAIN,
    grids,
    maps,
    montage,
)
from verify.figures.identity_map.runs import (
    MODULE,
    Group,
    Run,
    mean,
    nearest,
    remarks,
    select,
    variant,
)
from verify.figures.runs import Folder, Missing, training_command
from verify.figures.style import as_svg, blank, settled, styled, with_remarks

Records = dict[str, RunRecord]


def _tiny(configuration: Configuration) -> Configuration:
    """Shrink everything but depth and names: two updates of a few weights."""
    net = configuration.network
    channels, _, size = net.input_shape
    edge = 14 if size == 28 else 7
    given = {"shape": (channels, edge, edge), "layers": net.layers}
    if isinstance(net, Convolutional):
        width = max(net.widths, default=1)
        width = min(width, 3 + width // 16)
        tiny = copier("cnn", width=width, kernel=net.kernel, **given)
    elif isinstance(net, FullyConnected):
        tiny = copier("fcn", width=49, activation=net.activation, **given)
    else:
        tiny = copier("residual", **given)
    return replace(
        configuration,
        network=tiny,
        recipe=replace(configuration.recipe, steps=2, release=None, rescale=False),
        seeds=configuration.seeds[:2],
        examples=configuration.examples and 20,
        settings={
            "rhos": (0.0, 0.5, 1.0),
            "count": 1,
            "sizes": (7, 14),
            "examples": (20, 10),
        },
    )


@pytest.fixture(scope="module")
def made() -> Records:
    """Records as trained networks leave them, for every configuration there is."""
    found = [run_configuration(_tiny(c)) for c in configurations("small")]
    return {record.name: record for record in found}


def _altered(record: RunRecord, change: Callable[[Draw], Draw]) -> RunRecord:
    return replace(record, draws=Draws(change(draw) for draw in record.draws))


def _with(draw: Draw, *, status: str | None = None, **facts: Any) -> Draw:
    return replace(draw, status=status or draw.status, facts={**draw.facts, **facts})


@pytest.fixture(scope="module")
def written(made: Records, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("written")
    for name, record in made.items():
        record.write(path / f"{name}.json")
    return path


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    """A folder of the records, free to be changed."""
    return shutil.copytree(written, tmp_path / "records")


def _texts(figure: Any) -> list[str]:
    found = [text.get_text() for ax in figure.axes for text in ax.texts]
    found += [text.get_text() for text in figure.texts]
    return found + [ax.get_title(loc="left") for ax in figure.axes]


def _said(figure: Any) -> str:
    return " ".join(text.get_text() for text in figure.texts).replace("\n", " ")


def _diverge(record: RunRecord, *seeds: int) -> RunRecord:
    """Turn draws into what those leave that diverged."""

    def lost(draw: Draw) -> Draw:
        if draw.seed not in seeds:
            return draw
        gone = _with(draw, status="diverged", final_loss=None, finite=False)
        curves = {
            name: np.full_like(draw.series(name), np.nan)
            for name in ("curve/identity", "curve/constant")
        }
        return replace(gone, arrays={**draw.arrays, **curves})

    return _altered(record, lost)


def test_every_figure_of_the_paper_is_there() -> None:
    assert sorted(FIGURES) == list(range(1, 44))
    assert set(MAIN) <= set(FIGURES)
    for number, figure in FIGURES.items():
        assert figure.number == number
        assert figure.caption.endswith(".")
        assert figure.paper.endswith(".")
        assert "In the paper: " in figure.words
    assert len({figure.title for figure in FIGURES.values()}) == 43


def test_needs_are_what_the_experiments_train_for_a_figure() -> None:
    for scale in ("small", "full", "paper"):
        trained = configurations(scale)
        for number, figure in FIGURES.items():
            mine = [c.name for c in trained if number in c.figures]
            for pattern in figure.needs:
                assert _matching(mine, pattern), (scale, number, pattern)
            every = [c for c in trained if number in c.figures]
            for section in figure.sections:
                assert any(section in c.measurements for c in every), (number, section)


def _named(name: str, **network: Any) -> RunRecord:
    configuration = {"name": name, "network": network}
    return RunRecord(**identity(configuration, device="cpu", schema=1), code="")


def _matching(names: list[str], pattern: str) -> list[str]:
    network = {"kind": "fully connected", "image": [1, 2, 2], "widths": [4, 4]}
    records = {name: _named(name, **network) for name in names}
    return [run.name for run in select(records, (pattern,))]


@pytest.mark.parametrize("number", sorted(FIGURES))
def test_every_figure_is_drawn_from_records(number: int, made: Records) -> None:
    with styled():
        figure: Any = FIGURES[number](made)
    assert figure.axes
    shown = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    assert all(ax.images or ax.lines or ax.patches for ax in shown)


@pytest.mark.parametrize("number", sorted(FIGURES))
def test_a_figure_without_records_names_them_and_the_command(number: int) -> None:
    with pytest.raises(Missing, match=rf"figure {number}: no record of ") as caught:
        FIGURES[number]({})
    assert all(pattern in str(caught.value) for pattern in FIGURES[number].needs)
    assert f"batch --figures {number} --out DIR` makes what is missing" in str(
        caught.value
    )


def test_the_command_names_the_folder_and_the_scale(tmp_path: Path) -> None:
    empty = Folder(tmp_path, scale="full")
    wanted = f"--scale full --figures 8 --out {tmp_path}"
    assert training_command(MODULE, empty, "--figures 8").endswith(wanted)
    with pytest.raises(Missing, match="--scale full --figures 8"):
        FIGURES[8](empty)
    spaced = training_command(MODULE, Folder(tmp_path / "two words", scale="full"))
    assert shlex.split(spaced)[-1] == str(tmp_path / "two words")


@pytest.mark.parametrize(
    ("number", "section"), [(4, "heatmap"), (5, "layer-error"), (22, "upper")]
)
def test_a_record_without_a_section_is_missing(
    number: int, section: str, records: Records
) -> None:
    for name, record in records.items():
        left = {key: fact for key, fact in record.facts.items() if key != section}
        records[name] = replace(record, facts=left)
    with pytest.raises(Missing, match=rf"figure {number}: .*section '{section}'"):
        FIGURES[number](records)


def test_a_section_that_could_not_be_measured_says_why(records: Records) -> None:
    record = records["cnn-depth-5"]
    facts = {**record.facts, "upper": {"reason": "too thin"}}
    group = Run(replace(record, facts=facts)).group
    with pytest.raises(Missing, match="too thin"):
        group.fact("upper/counts")
    with pytest.raises(Missing, match="too thin"):
        group.numbers("upper/constant")


def test_networks_that_diverged_are_shown_as_such(records: Records) -> None:
    records["cnn-depth-8"] = _diverge(records["cnn-depth-8"], 0)
    with styled():
        grid: Any = FIGURES[3](records)
        seeds: Any = FIGURES[36](records)
    assert _texts(grid).count("diverged") == len(grids.FEW) + 1
    for figure in (grid, seeds):
        assert "diverged, left out: cnn-depth-8 (1 of 2)." in _said(figure)
    # The other draw alone is what the line shows.
    expected = records["cnn-depth-8"].draws[1].series("curve/identity")[0]
    assert mean(Run(records["cnn-depth-8"]).group.curve("identity")) == expected


def test_a_network_of_which_nothing_is_left_leaves_a_marked_column(
    records: Records,
) -> None:
    records["cnn-depth-8"] = _diverge(records["cnn-depth-8"], 0, 1)
    with styled():
        figure: Any = FIGURES[4](records)
    assert _texts(figure).count("none finite") == 2
    values = figure.axes[0].images[0].get_array()
    assert np.ma.getmaskarray(np.ma.masked_invalid(values))[:, 3].all()
    assert np.isfinite(values[:, 2]).all()


def test_networks_that_have_not_learnt_are_named(records: Records) -> None:
    def ended(*each: tuple[str, float]) -> list[str]:
        """Return what is said of networks with such status and remaining loss."""
        record = records["cnn-depth-5"]
        draws = [
            _with(draw, status=status, final_loss=share * draw.series("losses")[0])
            for draw, (status, share) in zip(record.draws, each, strict=True)
        ]
        return remarks([Run(replace(record, draws=Draws(draws)))])

    assert ended(("finished", 0.04), ("finished", 0.04)) == []
    late = "Losses still above a tenth of the first: cnn-depth-5 (50 %)"
    assert ended(("finished", 0.04), ("finished", 0.5)) == [late]
    stalled = "Draws that never left the plateau: cnn-depth-5 (1 of 2)"
    assert ended(("stalled", 0.04), ("finished", 0.5)) == [stalled, late]
    diverged = "Draws that diverged, left out: cnn-depth-5 (1 of 2)"
    assert ended(("stalled", 0.04), ("diverged", 0.5)) == [diverged, stalled]


@pytest.mark.parametrize("count", [1, 30])
@pytest.mark.parametrize("layout", ["none", "constrained"])
def test_remarks_stand_below_the_figure_and_nothing_moves_over_them(
    count: int, layout: str
) -> None:
    figure = blank(6.6, 2.0, layout=layout)
    ax = figure.subplots()
    with_remarks(figure, [f"Diverged: {'; '.join(['a network'] * 8)}"] * count)
    figure.draw_without_rendering()
    text = figure.texts[0].get_window_extent()
    assert figure.texts[0].get_text().count("a network") == 8 * count
    assert text.y1 < ax.get_tightbbox().y0
    assert text.x1 < figure.bbox.x1
    assert text.y0 > 0.0
    assert with_remarks(blank(6.0, 2.0), []).texts == []


def test_the_depth_curve_shows_the_records_numbers(made: Records) -> None:
    with styled():
        figure: Any = figures.named("identity_depth_curve")(runs=made)
    line = figure.axes[0].lines[0]
    depths = [1, 3, 5, 8, 12, 20]
    assert line.get_xdata().tolist() == depths
    for depth, shown in zip(depths, line.get_ydata(), strict=True):
        values = made[f"cnn-depth-{depth}"].draws.series("curve/identity")[:, 0]
        assert shown == pytest.approx(sum(values) / len(values), rel=1e-15)


def test_a_heat_map_has_test_correlations_upwards(made: Records) -> None:
    group = Run(made["cnn-depth-3"]).group
    with styled():
        figure: Any = maps.heat_maps([("", [("3", group)])], xlabel="layers")
    shown = figure.axes[1].images[0]
    values = made["cnn-depth-3"].draws.series("heatmap/identity")
    expected = values[:, 0].mean(axis=0)
    assert shown.get_array()[:, 0].tolist() == pytest.approx(expected.tolist())
    assert shown.origin == "lower"
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == ["0", "0.5", "1"]


@pytest.mark.parametrize(("low", "end"), [(0.25, "neither"), (-0.25, "min")])
def test_correlations_below_the_colours_are_marked(
    made: Records, low: float, end: str
) -> None:
    def lowered(draw: Draw) -> Draw:
        names = ("heatmap/constant", "heatmap/identity")
        new = {name: np.full_like(draw.series(name), low) for name in names}
        return replace(draw, arrays={**draw.arrays, **new})

    columns = [("3", Run(_altered(made["cnn-depth-3"], lowered)).group)]
    with styled():
        figure: Any = maps.heat_maps([("", columns)], xlabel="layers")
    assert figure.axes[1].images[0].colorbar.extend == end


@pytest.mark.parametrize(
    ("value", "text"), [(-0.004, "0.00"), (-0.006, "−0.01"), (np.nan, "none")]
)
def test_a_zero_has_no_sign(value: float, text: str) -> None:
    assert grids._two(value) == text


@pytest.mark.parametrize("number", [3, 7, 22])
def test_no_letter_lies_outside_a_montage(number: int, made: Records) -> None:
    with styled():
        figure: Any = FIGURES[number](made)
        figure.draw_without_rendering()
    for text in (t for ax in figure.axes for t in ax.texts):
        box = text.get_window_extent()
        assert box.y1 <= figure.bbox.y1
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1


def test_both_correlations_are_told_apart_without_colour(made: Records) -> None:
    with styled():
        figure: Any = figures.named("identity_depth_curve")(runs=made)
    lines = [line for line in figure.axes[0].lines if "to the" in line.get_label()]
    assert len({(x.get_linestyle(), x.get_linewidth()) for x in lines}) == 3
    # What would be in the way of curves stands in the legend.
    assert not figure.axes[0].texts


@pytest.mark.parametrize(
    ("number", "said"),
    [(3, "means over seeds and over test images"), (16, "each picture's own")],
)
def test_captions_say_how_pictures_and_numbers_are_meant(
    number: int, said: str
) -> None:
    assert said in FIGURES[number].words
    assert said not in FIGURES[19].words


def test_sweeps_take_the_plain_network_only_where_it_belongs(made: Records) -> None:
    runs = FIGURES[9].runs(made)
    assert [run.kernel for run in runs] == [3, 5, 11]
    # Not beside networks of other widths.
    plain = made["cnn-depth-5"]
    network = {**plain.entry("network"), "widths": [99] * 4}
    wider = replace(plain, configuration={**plain.configuration, "network": network})
    runs = FIGURES[9].runs({**made, "cnn-depth-5": wider})
    assert [run.kernel for run in runs] == [3, 11]


def test_pixels_keep_the_scale_of_the_inputs() -> None:
    grey = np.array([[0.0, 1.0], [2.0, np.nan]])
    black, white = montage.span([np.array([[0.0, 1.0]])])
    levels = montage.shade(grey, (black, white))
    assert levels.tolist() == [
        [[0, 0, 0], [255, 255, 255]],
        [[255, 255, 255], [179, 50, 90]],
    ]
    flat = montage.shade(np.full((1, 1), 3.0), None)
    assert flat.tolist() == [[[0, 0, 0]]]
    # Each channel of a colour image has black and white of its own.
    colour = np.array([[[0.0, 10.0, -5.0], [1.0, 20.0, 5.0]]])
    low, high = montage.span([colour])
    assert (low.tolist(), high.tolist()) == ([0.0, 10.0, -5.0], [1.0, 20.0, 5.0])
    assert montage.shade(colour, (low, high)).tolist() == [[[0] * 3, [255] * 3]]


def test_images_of_channels_are_put_together() -> None:
    rows = np.arange(12.0).reshape(6, 2)
    image = Run(_named("x", kind="convolutional", shape=[3, 2, 2])).image(rows)
    assert image.shape == (2, 2, 3)
    assert image[0, 1].tolist() == [1.0, 5.0, 9.0]


def test_groups_are_told_apart_by_what_differs(made: Records) -> None:
    sgd = Run(made["optimiser-sgd-depth-5"]).groups
    assert [variant(g) for g in sgd] == ["rate 0.01", "rate 0.001", "rate 0.0001"]
    assert variant(Run(made["digits-depth-5"]).groups[3]) == "trained on 3"
    assert variant(Run(made["schemes-depth-5"]).groups[0]) == "default"
    assert variant(Run(made["cnn-depth-5"]).group) == ""


def test_the_deeper_of_two_depths_stands_for_one_between(made: Records) -> None:
    runs = select(made, ("cnn-depth-*",))
    assert nearest(runs, 4).layers == 5
    assert nearest(runs, 10).layers == 12
    assert nearest(runs, 99).layers == 20


def test_drawings_are_the_same_every_time(made: Records) -> None:
    texts: list[str] = []
    for _ in "ab":
        with styled():
            figure = settled(FIGURES[3](made))
        texts.append(as_svg(figure, name="f", title="T", description="D"))
    assert texts[0] == texts[1]
    assert "data:image/png" in texts[0]
    assert "var(--ink" in texts[0]


def test_a_folder_reads_records_when_asked(folder: Path) -> None:
    records = Folder(folder, names=("cnn-depth-3", "not there"))
    assert list(records) == ["cnn-depth-3"]
    assert len(records) == 1
    assert records["cnn-depth-3"] is records["cnn-depth-3"]
    with pytest.raises(KeyError):
        records["cnn-depth-5"]
    (folder / "cnn-depth-3.json").write_text("{", encoding="utf-8")
    damaged = Folder(folder)
    assert "cnn-depth-3" not in damaged
    assert "cnn-depth-3" not in list(damaged)
    with pytest.raises(KeyError):
        damaged["cnn-depth-3"]
    assert len(Folder(folder / "absent")) == 0


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of the report's figures of runs."""
    chosen = tuple(
        figures.named(name) for name in ("identity_figure_3", "identity_figure_8")
    )
    monkeypatch.setattr(figures, "PICTURES", chosen)


def test_the_report_shows_figures_of_runs_or_says_what_is_missing(
    made: Records, written: Path, tmp_path: Path, few: None
) -> None:
    from verify.report.html import pictures

    known = {name: r for name, r in made.items() if name.startswith("cnn-depth")}
    drawn = pictures.draw((), runs=known).gallery
    assert "<svg" in drawn[0].body
    assert "Drawn from trained networks, not all of which are there" in drawn[1].body
    assert "size-*-depth-*" in drawn[1].body
    assert all("pending" in one.body for one in pictures.draw(()).gallery)
    # What the page's own networks lack, published ones of another scale may have.
    published = (Folder(tmp_path, scale="full"), Folder(written, scale="paper"))
    drawn = pictures.draw((), runs=known, published=published).gallery
    assert [one.scale for one in drawn] == ["", "paper"]
    assert "<svg" in drawn[1].whole()
    assert "Published networks of the paper scale." in drawn[1].whole()
    assert "Published" not in drawn[0].whole()
    # No report of nothing about them.
    assert pictures.draw((), whole=False).gallery == ()


def test_main_figures_are_pictures_of_the_report() -> None:
    names = {p.name for p in figures.PICTURES if p.topic == "id/"}
    wanted = {f"identity_figure_{number}" for number in MAIN}
    assert names == wanted | {"identity_depth_curve"}


def test_a_picture_shows_one_kind_of_thing() -> None:
    with pytest.raises(ValueError, match="must be of a record, of runs or of theory"):
        figures.Picture(name="x", title="x", caption="x.")


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_command_draws_what_it_can(
    kind: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = ["id", "--records", str(folder), "--out", str(out), "--format", kind]
    assert command.main([*arguments, "--only", "22", "6"]) == 0
    assert sorted(p.name for p in out.iterdir()) == [
        f"figure-06.{kind}",
        f"figure-22.{kind}",
        "index.md",
    ]
    assert FIGURES[6].words in (out / "index.md").read_text(encoding="utf-8")
    capsys.readouterr()
    # One configuration of the sweep of kernels less, and none of those of sizes: a
    # drawing from before is not left as if it were of these records.
    (folder / "kernel-3-depth-5.json").unlink()
    for path in folder.glob("size-*.json"):
        path.unlink()
    (out / "figure-08.svg").write_text("old", encoding="utf-8")
    assert command.main([*arguments, "--only", "8", "9"]) == 2
    said = capsys.readouterr().err
    assert "figure 8: no record of size-*-depth-*" in said
    assert "figure 9: drawn without kernel-3-depth-5" in said
    assert f"--scale small --figures 8 9 --out {folder}" in said
    assert not (out / "figure-08.svg").exists()
    assert (out / f"figure-09.{kind}").exists()


def test_records_of_other_code_are_drawn_and_said_to_be(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["id", "--records", str(folder), "--out", str(tmp_path / "out")]
    assert command.main([*arguments, "--only", "32"]) == 0
    assert "of other code" not in capsys.readouterr().err
    path = folder / "optimiser-adam-depth-5.json"
    record = unsealed(json.loads(path.read_text(encoding="utf-8")))
    path.write_text(json.dumps(sealed(record | {"code": "old"})), encoding="utf-8")
    assert command.main([*arguments, "--only", "32"]) == 0
    said = capsys.readouterr().err
    assert "1 of 5 records are of other code" in said
    assert "optimiser-adam-depth-5" in said


def test_the_command_refuses_other_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["id", "--out", str(tmp_path / "x"), "--only", "44"]) == 2
    assert "--only must be figures 1 to 43, but has [44]" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("what", ["id", "length_maps"])
def test_a_folder_that_cannot_be_written_is_a_line(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    out = tmp_path / "file" / "figures"
    argv = [what, "--out", str(out), "--records", str(tmp_path)]
    assert command.main(argv) == 2
    assert f"error: nothing can be written to {out}" in capsys.readouterr().err


def test_an_interrupt_keeps_what_is_drawn(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "_write", interrupted)
    out = tmp_path / "out"
    assert command.main(["id", "--records", str(folder), "--out", str(out)]) == 130


def test_groups_know_their_draws(made: Records) -> None:
    group = Run(made["cnn-depth-5"]).group
    assert isinstance(group, Group)
    assert group.statuses == ("finished", "finished")
    assert not group.diverged.any()
