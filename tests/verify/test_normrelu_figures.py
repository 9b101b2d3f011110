"""Figures of networks with NormReLU show the records' numbers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from empirical.normrelu.experiments import Configuration, configurations
from empirical.normrelu.study import run_configuration
from empirical.testbed.records import RunRecord
from verify import figures
from verify.figures.normrelu import FIGURES, LABELS
from verify.figures.runs import Folder, Missing
from verify.figures.style import styled

Records = dict[str, RunRecord]


def _tiny(c: Configuration) -> Configuration:
    return replace(
        c,
        depth=2,
        width=6,
        rates=(0.01,),
        epochs=2,
        per_class=6,
        tests=3,
        held_out=2,
        seeds=(5, 6),
        chosen_by=(0,),
    )


@pytest.fixture(scope="module")
def made() -> Records:
    """Records as training leaves them, of two depths by name."""
    found = [run_configuration(_tiny(c)) for c in configurations("small")]
    return {record.name: record for record in found}


def _drawn(number: int, records: Any) -> Any:
    with styled():
        return FIGURES[number](records)


@pytest.mark.parametrize("number", [3, 7])
def test_accuracies_are_means_by_epoch(made: Records, number: int) -> None:
    panels = _drawn(number, made).axes
    places = [(16, "train"), (16, "test"), (32, "train"), (32, "test")]
    for ax, (depth, split) in zip(panels, places, strict=True):
        assert len(ax.lines) == len(FIGURES[number].arms)
        for line, arm in zip(ax.lines, FIGURES[number].arms, strict=True):
            values = made[f"{arm}-depth-{depth}"].draws.series(f"{split}_accuracy")
            assert line.get_label() == LABELS[arm]
            assert line.get_xdata().tolist() == [0, 1, 2]
            assert line.get_ydata().tolist() == values.mean(axis=0).tolist()


def test_dot_products_are_before_and_after(made: Records) -> None:
    panels = _drawn(1, made).axes
    places = [(16, 0), (16, -1), (32, 0), (32, -1)]
    for ax, (depth, when) in zip(panels, places, strict=True):
        for line, arm in zip(ax.lines, FIGURES[1].arms, strict=True):
            values = made[f"{arm}-depth-{depth}"].draws.series("cosines")[:, when]
            assert line.get_ydata().tolist() == values.mean(axis=0).tolist()
    assert not np.array_equal(
        panels[0].lines[0].get_ydata(), panels[1].lines[0].get_ydata()
    )


def test_residual_networks_are_those_published_beside(
    made: Records, tmp_path: Path
) -> None:
    here, there = tmp_path / "quick" / "runs", tmp_path / "full" / "runs"
    with pytest.raises(Missing, match=rf"batch --scale full .* --out {there}` makes"):
        _drawn(4, Folder(here))
    there.mkdir(parents=True)
    for arm in FIGURES[4].arms:
        other = "relu" if arm == "fixup" else arm
        record = made[f"{other}-depth-16"]
        named = {**record.configuration, "name": f"{arm}-residual-20"}
        replace(record, configuration=named).write(there / f"{arm}-residual-20.json")
    panels = _drawn(4, Folder(here)).axes
    assert [ax.get_title(loc="left") for ax in panels] == [
        "20 layers: training",
        "20 layers: test",
    ]
    assert [line.get_label() for line in panels[0].lines] == [
        LABELS[arm] for arm in FIGURES[4].arms
    ]


def test_what_is_missing_is_said(made: Records) -> None:
    fewer = {name: r for name, r in made.items() if not name.startswith("layer")}
    with pytest.raises(Missing, match="normrelu, batch, layer, relu at one depth"):
        _drawn(3, fewer)
    assert figures.named("normrelu_figure_3").topic == "dc/fig"


def test_lines_and_bands_are_explained(made: Records) -> None:
    figure = _drawn(3, made)
    (said,) = [text.get_text() for text in figure.texts]
    assert said == "Lines: means over 2 networks; bands: the least to the largest."
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert not legend.get_window_extent().overlaps(figure.texts[0].get_window_extent())


def test_layers_and_epochs_are_counted_in_whole_numbers(made: Records) -> None:
    figure = _drawn(1, made)
    for ax in figure.axes:
        # As of the 16 layers of the records, which pass by 2.5 otherwise.
        ax.set_xlim(0.25, 16.75)
        assert all(tick == round(tick) for tick in ax.get_xticks())


def test_what_captions_say_of_training_is_in_the_published_records() -> None:
    folder = Path(__file__).parents[2] / "results" / "full" / "runs"
    records = Folder(folder, scale="full")
    depths = sorted(
        int(n.rpartition("-")[2]) for n in records if n.startswith("normrelu-depth")
    )
    gaps: list[float] = []
    for depth in depths:
        by_arm = {arm: records[f"{arm}-depth-{depth}"] for arm in FIGURES[3].arms}
        rises = {}
        for arm, record in by_arm.items():
            cosines = record.draws.series("cosines").mean(axis=0)
            rises[arm] = float((cosines[-1] > cosines[0]).mean())
        first, last = (
            {
                a: r.draws.series("train_accuracy")[:, k].mean()
                for a, r in by_arm.items()
            }
            for k in (1, -1)
        )
        own = first.pop("normrelu"), last.pop("normrelu")
        gaps.append(own[0] - max(first.values()))
        deepest = depth == depths[-1]
        # "Training lowers them", but not in every layer under batch normalisation.
        assert max(rises[arm] for arm in ("normrelu", "layer", "relu")) < 0.05
        assert not deepest or rises["batch"] > 0.5
        assert not deepest or own[1] > max(last.values())
    assert gaps[0] > 0.0
    assert gaps == sorted(gaps)
