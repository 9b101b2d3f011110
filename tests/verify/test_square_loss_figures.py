"""Figures of the paper on the square loss show the records' numbers, or say why not."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from empirical.networks import FullyConnected
from empirical.square_loss.experiments import Configuration, configurations
from empirical.square_loss.study import run_configuration
from empirical.testbed.records import Draw, Draws, RunRecord, identity
from verify import figures
from verify.figures import __main__ as command
from verify.figures.runs import Folder, Missing
from verify.figures.square_loss import COLLAPSE, FAMILIES, FIGURES
from verify.figures.square_loss import families as side
from verify.figures.square_loss.runs import Run, matching, remarks, select
from verify.figures.style import _log_label, _log_ticks, blank, from_zero, styled

Records = dict[str, RunRecord]

SHOWN = {"bn-decay", "bn-conv", "none", "bn"}
"""Configurations that pictures show."""


def _tiny(configuration: Configuration) -> Configuration:
    """Shrink everything but names and families: a few steps of a few weights."""
    scales = {c.name: c.scales for c in configurations("paper")}
    network = configuration.network
    widths = (4,) * (network.layers - 1)
    if isinstance(network, FullyConnected):
        widths = (network.widths[0], *widths, network.widths[-1])
    return replace(
        configuration,
        network=replace(network, widths=widths),
        recipe=replace(configuration.recipe, epochs=40, stable=0.5),
        scales=scales[configuration.name],
        seeds=(0, 1, 2),
        per_class=8,
        tests=5,
    )


@pytest.fixture(scope="module")
def made() -> Records:
    """Records as trained networks leave them."""
    chosen = [c for c in configurations("small") if c.name in SHOWN]
    found = [run_configuration(_tiny(c)) for c in chosen]
    return {record.name: record for record in found}


def _altered(record: RunRecord, change: Callable[[Draw], Draw]) -> RunRecord:
    return replace(record, draws=Draws(change(draw) for draw in record.draws))


def _with(draw: Draw, *, status: str | None = None, **facts: Any) -> Draw:
    return replace(draw, status=status or draw.status, facts={**draw.facts, **facts})


def _numbers(draw: Draw, **arrays: Any) -> Draw:
    return replace(draw, arrays={**draw.arrays, **arrays})


def _drawn(number: int, records: Records) -> list[Any]:
    with styled():
        return FIGURES[number](records).axes


def _lines(ax: Any) -> list[list[float]]:
    return [np.array(line.get_ydata(), dtype=float).tolist() for line in ax.lines]


def _series(record: RunRecord, name: str, scale: float) -> list[list[float]]:
    return record.where(scale=scale).series(name).tolist()


def _said(figure: Any) -> str:
    return " ".join(text.get_text() for text in figure.texts).replace("\n", " ")


def _diverge(record: RunRecord, scale: float, seeds: tuple[int, ...]) -> RunRecord:
    """Turn draws into what those leave that diverged after their first epoch."""

    def lost(draw: Draw) -> Draw:
        if draw.key("scale") != scale or draw.seed not in seeds:
            return draw
        arrays = {name: values.copy() for name, values in draw.arrays.items()}
        for name, values in arrays.items():
            values[0 if name == "margins" else 1 :] = np.nan
        gone = _with(
            draw, status="diverged", diverged=3, interpolated=None, test_error=None
        )
        return _numbers(gone, **arrays)

    return _altered(record, lost)


def _twice(records: Records) -> Records:
    """Name the records as if there were two data sets."""
    return {
        f"{name}-{data}": replace(
            record,
            configuration={
                **record.configuration,
                "name": f"{name}-{data}",
                "data": data,
            },
        )
        for name, record in records.items()
        for data in ("mnist", "cifar10")
    }


def test_every_figure_of_the_paper_is_there() -> None:
    assert list(FIGURES) == list(range(1, 12))
    for number, figure in FIGURES.items():
        assert figure.number == number
        assert figure.words.endswith(".")
        assert "In the paper: " in figure.words
    assert len({figure.title for figure in FIGURES.values()}) == 11


@pytest.mark.parametrize("scale", ["small", "full", "paper"])
def test_needs_are_what_the_experiments_train(scale: Any) -> None:
    trained = configurations(scale)
    names = {
        c.name: RunRecord(**identity(c, device="cpu", schema=1), code="")
        for c in trained
    }
    for number, figure in FIGURES.items():
        mine = [c.name for c in trained if number in c.figures]
        assert [run.name for run in select(names, figure.needs)] == mine
    assert select(names, FAMILIES.needs)


@pytest.mark.parametrize("number", sorted(FIGURES))
def test_every_figure_is_drawn_from_records(number: int, made: Records) -> None:
    assert all(ax.lines for ax in _drawn(number, made))


@pytest.mark.parametrize("number", [1, 3, 4, 5, 7, 9, 11, "families", "collapse"])
def test_nothing_is_cut_off(number: Any, records: Records) -> None:
    # Scales far apart, so that no panel's limits do for another's lines.
    for name, record in records.items():
        records[name] = _altered(
            record,
            lambda d: _numbers(d, abs_mean=d.key("scale") ** -3 * d.series("abs_mean")),
        )
    named = {"families": FAMILIES, "collapse": COLLAPSE}
    drawn = named[number] if number in named else FIGURES[number]
    with styled():
        figure: Any = drawn(records)
    for ax in figure.axes:
        low, high = ax.get_ylim()
        for values in map(np.array, _lines(ax)):
            # A logarithmic axis has no place for the others.
            fine = values[(values > 0.0) | (ax.get_yscale() != "log")]
            assert ((low <= fine) & (fine <= high)).all()


@pytest.mark.parametrize("number", [1, 2, 4, 8])
def test_data_sets_stand_below_each_other(number: int, made: Records) -> None:
    once, twice = _drawn(number, made), _drawn(number, _twice(made))
    assert len(twice) == 2 * len(once)
    titles = [ax.get_title(loc="left") for ax in twice]
    assert any("mnist" in title for title in titles)
    assert any("cifar10" in title for title in titles)


def test_a_name_is_that_of_one_configuration(made: Records) -> None:
    assert [run.name for run in matching(made, "bn")] == ["bn"]
    both = [run.name for run in matching(_twice(made), "bn")]
    assert sorted(both) == ["bn-cifar10", "bn-mnist"]


@pytest.mark.parametrize("number", sorted(FIGURES))
def test_a_figure_without_records_names_them_and_the_command(number: int) -> None:
    (name,) = FIGURES[number].needs
    made = f"python -m empirical.square_loss batch --figures {number} --out DIR"
    with pytest.raises(Missing, match=f"figure {number}: no record of {name};") as e:
        FIGURES[number]({})
    assert f"`{made}` makes what is missing" in str(e.value)


def test_pictures_of_families_name_all_that_is_missing(
    made: Records, tmp_path: Path
) -> None:
    with pytest.raises(Missing, match="side by side: no record of bn, none; ") as e:
        FAMILIES({"bn-decay": made["bn-decay"]})
    assert "`python -m empirical.square_loss batch --out DIR` makes" in str(e.value)
    empty = Folder(tmp_path, scale="full")
    with pytest.raises(Missing, match=f"batch --scale full --out {tmp_path}"):
        COLLAPSE(empty)


@pytest.mark.parametrize("state", ["an empty", "no"])
def test_a_series_that_is_not_there_is_missing(state: str, records: Records) -> None:
    def without(draw: Draw) -> Draw:
        if state == "an empty":
            return _numbers(draw, abs_quantiles=np.zeros(0))
        left = {k: v for k, v in draw.arrays.items() if k != "abs_quantiles"}
        return replace(draw, arrays=left)

    records["bn-conv"] = _altered(records["bn-conv"], without)
    wanted = f"figure 8: the record bn-conv has {state} series 'abs_quantiles'"
    with pytest.raises(Missing, match=wanted) as e:
        FIGURES[8](records)
    assert "batch --rerun --only bn-conv --out DIR" in str(e.value)
    assert _drawn(7, records)


def test_the_typical_draw_has_the_median_norm(records: Records) -> None:
    record = records["bn-decay"]
    last = {d.seed: d.series("rho")[-1] for d in record.where(scale=0.1)}
    ordered = sorted(last, key=lambda seed: last[seed])

    def seed(record: RunRecord) -> int:
        typical = Run(record).typical(0.1)
        assert typical is not None
        return typical.seed

    assert seed(record) == ordered[1]
    # The lower of two, and never one that died where another did not.
    two = _diverge(record, 0.1, (ordered[1],))
    assert seed(two) == ordered[0]
    died = _altered(
        two, lambda d: _with(d, status="dead") if d.seed == ordered[0] else d
    )
    assert seed(died) == ordered[2]


def test_training_curves_show_the_records_numbers(made: Records) -> None:
    record = made["bn-decay"]
    left, right = _drawn(1, made)
    for index, scale in enumerate(record.entry("scales")):
        typical = Run(record).typical(scale)
        assert typical is not None
        x, y = left.lines[index].get_data()
        assert x.tolist() == record.series("epochs").tolist()
        assert y.tolist() == typical.series("loss").tolist()
        band = left.collections[index].get_paths()[0].vertices[:, 1]
        every = _series(record, "loss", scale)
        assert band.min() == np.min(every)
        assert band.max() == np.max(every)
        errors, points = right.lines[3 * index : 3 * index + 2]
        assert errors.get_ydata().tolist() == typical.series("error").tolist()
        each = record.where(scale=scale).fact("test_error")
        assert _lines(right)[3 * index + 1] == each
        assert _lines(right)[3 * index + 2] == [typical.test_error]
        # To the right of the curves: nothing is recorded of them on the way.
        assert points.get_xdata()[0] > record.series("epochs")[-1]
    assert left.get_yscale() == "log"


@pytest.mark.parametrize(("number", "name"), [(2, "bn-decay"), (10, "none")])
def test_norms_show_the_records_numbers(number: int, name: str, made: Records) -> None:
    record = made[name]
    shown = _drawn(number, made)
    columns = len(shown) // len(record.entry("scales"))
    assert columns == (4 if name == "bn-decay" else 3)
    for index, scale in enumerate(record.entry("scales")):
        row = shown[columns * index : columns * (index + 1)]
        typical = Run(record).typical(scale)
        assert typical is not None
        for ax in row[:3]:
            *others, rho, rest = _lines(ax)
            assert rho == typical.series("rho").tolist()
            assert rest == typical.series("rho_eq").tolist()
            assert sorted([*others, rho]) == sorted(_series(record, "rho", scale))
        if columns == 4:
            assert _lines(row[3])[-1] == typical.series("product").tolist()
            found = sorted(_lines(row[3]))
            assert found == sorted(_series(record, "product", scale))


def test_a_box_is_the_next_panel_and_holds_every_norm(made: Records) -> None:
    first, second, third, product = _drawn(2, made)[:4]
    for ax, inner in ((first, second), (second, third)):
        (box,) = ax.patches
        assert (box.get_x(), box.get_y()) == (0.0, inner.get_ylim()[0])
        assert box.get_x() + box.get_width() == inner.get_xlim()[1]
        top = box.get_y() + box.get_height()
        assert top == pytest.approx(inner.get_ylim()[1], rel=1e-15)
    assert not third.patches
    assert not product.patches
    assert first.get_xlim() == (0.0, made["bn-decay"].series("epochs")[-1])
    low, high = third.get_ylim()
    end = third.get_xlim()[1]
    for line in third.lines:
        x, y = (np.array(v, dtype=float) for v in line.get_data())
        inside = y[(x <= end) & (y > 0.0)]
        # Early on the average margin may be negative: no resting value then.
        assert inside.size or line is third.lines[-1]
        assert ((low < inside) & (inside < high)).all()


def test_a_resting_value_that_is_not_positive_leaves_a_gap(records: Records) -> None:
    def gap(draw: Draw) -> Draw:
        rho = draw.series("rho_eq").copy()
        rho[1:3] = -3.0, np.nan
        return _numbers(draw, rho_eq=rho)

    records["none"] = _altered(records["none"], gap)
    ax = _drawn(10, records)[0]
    values = np.array(ax.lines[-1].get_ydata(), dtype=float)
    assert values[1] == -3.0
    drawn = ax.yaxis.get_transform().transform(values)
    assert np.isfinite(drawn).tolist() == (values > 0.0).tolist()
    assert not np.isfinite(drawn[1:3]).any()


def test_outputs_show_the_records_numbers(made: Records) -> None:
    record = made["bn-decay"]
    for ax, scale in zip(_drawn(3, made), record.entry("scales"), strict=True):
        *lines, reference = _lines(ax)
        assert sorted(lines) == sorted(_series(record, "abs_mean", scale))
        typical = Run(record).typical(scale)
        assert typical is not None
        assert lines[-1] == typical.series("abs_mean").tolist()
        assert reference == [1.0 / rho for rho in typical.series("rho")]


@pytest.mark.parametrize(
    ("number", "name"), [(4, "bn-decay"), (7, "bn-conv"), (11, "none")]
)
def test_margins_show_the_records_numbers(
    number: int, name: str, made: Records
) -> None:
    record = made[name]
    for ax, scale in zip(_drawn(number, made), record.entry("scales"), strict=True):
        *lines, reference = _lines(ax)
        mine = _series(record, "margins", scale)
        assert sorted(lines) == sorted(mine)
        assert ax.lines[0].get_xdata().tolist() == list(range(1, 17))
        typical = Run(record).typical(scale)
        assert typical is not None
        assert lines[-1] == typical.margins.tolist()
        assert reference == [1.0 / typical.last("rho")] * 2


def test_distributions_show_the_records_quantiles(made: Records) -> None:
    record = made["bn-conv"]
    for ax, scale in zip(_drawn(8, made), record.entry("scales"), strict=True):
        typical = Run(record).typical(scale)
        assert typical is not None
        levels = typical.series("abs_quantiles")
        assert _lines(ax)[0] == levels[:, 10].tolist()
        for band, (low, high) in zip(
            ax.collections, ((0, 20), (1, 19), (5, 15)), strict=True
        ):
            heights = band.get_paths()[0].vertices[:, 1]
            assert heights.min() == levels[:, low].min()
            assert heights.max() == levels[:, high].max()


def test_families_show_the_same_network_three_ways(made: Records) -> None:
    with styled():
        shown: Any = FAMILIES(made).axes
    for column, name in enumerate(side.FAMILIES):
        norm, output, margin = shown[column::3]
        for index, scale in enumerate(made[name].entry("scales")):
            typical = Run(made[name]).typical(scale)
            assert typical is not None
            assert _lines(norm)[index] == typical.series("rho").tolist()
            assert _lines(output)[index] == typical.series("abs_mean").tolist()
            assert typical.margins.tolist() in _lines(margin)
        labels = [text.get_text() for text in norm.get_legend().get_texts()]
        assert labels == [f"{scale:g}" for scale in made[name].entry("scales")]
    both = _twice(made)
    del both["none-cifar10"]
    with styled():
        twice = FAMILIES(both).axes
    assert len(twice) == 18
    assert [ax.axison for ax in twice[9:]] == [True, True, False] * 3
    (said,) = twice[11].texts
    assert said.get_text() == "neither,\ncifar10: no record"


def test_collapse_shows_three_measures_and_interpolation(records: Records) -> None:
    when = itertools.count(1)
    records["bn-decay"] = _altered(
        records["bn-decay"],
        lambda d: _with(d, interpolated=next(when) if d.key("scale") < 5.0 else None),
    )
    with styled():
        shown: Any = COLLAPSE(records).axes
    for column, name in enumerate(side.FAMILIES):
        run = Run(records[name])
        for ax, measure in zip(shown[column::3], ("nc1", "nc3", "nc4"), strict=True):
            wanted: list[list[float]] = []
            for scale in run.scales:
                typical = run.typical(scale)
                assert typical is not None
                wanted.append(typical.series(measure).tolist())
                if typical.interpolated is not None:
                    wanted.append([0.0, 1.0])
            assert _lines(ax) == wanted
    marks = [line for line in shown[0].lines if len(line.get_ydata()) == 2]
    first = Run(records["bn-decay"])
    found = [first.typical(scale) for scale in first.scales]
    epochs = [d.interpolated for d in found if d and d.interpolated is not None]
    assert [line.get_xdata()[0] for line in marks] == epochs
    assert len(epochs) == 2


def test_draws_that_diverged_are_left_out_and_named(records: Records) -> None:
    records["bn-decay"] = _diverge(records["bn-decay"], 1.0, (0, 2))
    with styled():
        figure: Any = FIGURES[4](records)
        curves: Any = FIGURES[1](records)
    middle = figure.axes[1]
    left = records["bn-decay"].draws.ended("finished", "dead")[3]
    assert _lines(middle)[:-1] == [left.series("margins").tolist()]
    said = "Draws that diverged, left out: bn-decay (seeds 0, 2 from 1)."
    assert said in _said(figure)
    assert said in _said(curves)
    assert curves.axes[0].lines[1].get_ydata().tolist() == left.series("loss").tolist()


@pytest.mark.parametrize("number", [2, 3, 4])
def test_a_scale_of_which_nothing_is_left_says_so(
    number: int, records: Records
) -> None:
    records["bn-decay"] = _diverge(records["bn-decay"], 5.0, (0, 1, 2))
    with styled():
        figure: Any = FIGURES[number](records)
    texts = [text.get_text() for ax in figure.axes for text in ax.texts]
    assert set(texts) == {"all diverged"}
    assert "left out: bn-decay (all from 5)." in _said(figure)


def test_every_picture_bears_that_all_diverged(records: Records) -> None:
    for name, record in records.items():
        for scale in record.entry("scales"):
            records[name] = _diverge(records[name], scale, (0, 1, 2))
    for figure in (*FIGURES.values(), FAMILIES, COLLAPSE):
        with styled():
            drawn: Any = figure(records)
        assert "(all from " in _said(drawn)
        drawn.draw_without_rendering()


def test_draws_that_died_or_never_fitted_are_named(records: Records) -> None:
    record = _altered(
        records["none"], lambda d: _with(d, status="finished", interpolated=4)
    )
    assert remarks([Run(record)]) == []
    draws = list(record.draws)
    draws[0] = _with(draws[0], interpolated=None)
    margins = np.zeros_like(draws[4].series("margins"))
    draws[4] = _numbers(_with(draws[4], status="dead"), margins=margins)
    records["none"] = replace(record, draws=Draws(draws))
    assert remarks([Run(records["none"])]) == [
        "Draws that ended with f = 0 on every example: none (seed 1 from 15)",
        "Draws whose training error was never zero: none (seed 0 from 5)",
    ]
    with styled():
        FAMILIES(records).draw_without_rendering()


def test_the_overshoot_rises_above_its_end() -> None:
    with styled():
        shown: Any = figures.named("square_loss_overshoot")().axes
    # Specified to six digits; the grid's largest misses the top by less than 1e-4.
    for ax, top, end in zip(
        shown, (1.135392, 1.136234), (1.0 / 1.01, 1.0101525), strict=True
    ):
        _, rho, rest, peak = ax.lines
        values = np.array(rho.get_ydata())
        assert peak.get_ydata()[0] == pytest.approx(top, abs=1e-6)
        assert top - 1e-4 < values.max() <= top + 1e-6
        assert values[-1] == pytest.approx(end, abs=1e-4)
        # Up to the top and down again, with the equilibrium above, then below, until
        # both rest to within a thousand tolerances of a step.
        turn = int(values.argmax())
        moving = values[turn:] > values[-1] + 1e-7
        assert (np.diff(values[: turn + 1]) > 0.0).all()
        assert (np.diff(values[turn:][moving]) < 0.0).all()
        above = np.array(rest.get_ydata()) > values
        assert above[: turn - 1].all()
        assert not above[turn + 1 :][moving[1:]].any()
        assert any("refuted" in text.get_text() for text in ax.texts)


def test_all_pictures_are_of_the_topic() -> None:
    names = {p.name for p in figures.PICTURES if p.topic == "sl/"}
    own = {"square_loss_families", "square_loss_overshoot", "square_loss_collapse"}
    assert names == own | {f"square_loss_figure_{number}" for number in FIGURES}


@given(st.floats(-8, 8), st.floats(0.02, 12))
def test_log_ticks_are_few_and_inside(low: float, decades: float) -> None:
    bottom, top = 10.0**low, 10.0 ** (low + decades)
    ticks = _log_ticks(bottom, top)
    assert 2 <= len(ticks) <= 10
    assert all(bottom <= tick <= top for tick in ticks)
    assert sorted(set(ticks)) == ticks
    assert len({_log_label(tick) for tick in ticks}) == len(ticks)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.05, "0.05"), (1000.0, "1000"), (1e-3, "10$^{-3}$"), (2e4, "2·10$^{4}$")],
)
def test_log_labels_are_short(value: float, text: str) -> None:
    assert _log_label(value) == text


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_command_draws_what_it_can(
    kind: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = ["sl", "--records", str(folder), "--out", str(out), "--format", kind]
    assert command.main([*arguments, "--only", "5", "11"]) == 0
    names = sorted(path.name for path in out.iterdir())
    assert names == [f"figure-05.{kind}", f"figure-11.{kind}", "index.md"]
    assert FIGURES[5].words in (out / "index.md").read_text(encoding="utf-8")
    capsys.readouterr()
    (folder / "none.json").unlink()
    assert command.main([*arguments, "--only", "11", "4"]) == 2
    said = capsys.readouterr().err
    assert "figure 11: no record of none" in said
    wanted = "empirical.square_loss batch --scale small --figures 11 --out"
    assert f"{wanted} {folder}" in said
    assert not (out / f"figure-11.{kind}").exists()
    # A page of nothing would say that there is something.
    assert command.main([*arguments, "--only", "11"]) == 2
    assert not (out / "index.md").exists()


def test_bitmaps_are_opaque(folder: Path, tmp_path: Path) -> None:
    from matplotlib.image import imread

    arguments = ["--records", str(folder), "--out", str(tmp_path), "--format", "png"]
    assert command.main(["sl", *arguments, "--only", "8"]) == 0
    pixels = imread(tmp_path / "figure-08.png")
    assert pixels[0, 0].tolist() == [1.0, 1.0, 1.0, 1.0]
    assert (pixels[:, :, 3] == 1.0).all()


def test_the_command_refuses_other_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["sl", "--out", str(tmp_path / "x"), "--only", "12"]) == 2
    assert "--only must be figures 1 to 11, but has [12]" in capsys.readouterr().err


def test_the_report_shows_them_or_says_what_is_missing(
    made: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    from verify.report.html import pictures

    names = ("square_loss_families", "square_loss_figure_7")
    chosen = tuple(figures.named(name) for name in names)
    monkeypatch.setattr(figures, "PICTURES", chosen)
    families, margins = pictures.draw((), runs={"bn-conv": made["bn-conv"]}).gallery
    assert "<svg" in margins.body
    assert "not all of which are there" in families.body
    assert "bn-decay, bn, none" in families.body


def test_panels_of_one_figure_write_a_thousand_one_way() -> None:
    ax = blank(3.0, 2.0).subplots()
    from_zero(ax, 2000.0)
    assert [t.get_text() for t in ax.get_xticklabels()][-1] == "1000"
    from_zero(ax, 2000.0, every=2)
    assert [t.get_text() for t in ax.get_xticklabels()] == ["0", "10", "1000"]


@pytest.mark.parametrize("drawn", [2, "flows"])
def test_no_sentence_holds_a_formula(drawn: Any, made: Records) -> None:
    """In SVG its letters have places one by one, which suit one font alone."""
    with styled():
        named = figures.named("square_loss_overshoot")
        figure: Any = named() if drawn == "flows" else FIGURES[drawn](made)
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    notes = [text.get_text() for ax in figure.axes for text in ax.texts]
    assert not any("$" in text or "_" in text for text in legend + notes)
