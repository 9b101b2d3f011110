"""Curves and bars: what one number does along depths, layers, sizes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from verify.figures.identity_map.runs import Run, mean
from verify.figures.style import (
    DASHES,
    FAINT,
    INK,
    SERIES,
    Figure,
    axes,
    legend_above,
    line,
    note,
)

FIELDS = {"identity": SERIES[0], "constant": SERIES[1]}
"""Both correlations, and their colours everywhere."""

WIDTH = 6.6


def correlation_axis(ax: Any, xlabel: str) -> None:
    """Label the axes of a plot of correlations."""
    ax.set(xlabel=xlabel, ylabel="mean correlation", ylim=(min(0.0, _lowest(ax)), 1.03))


def _lowest(ax: Any) -> float:
    values = [np.array(line.get_ydata(), dtype=np.float64) for line in ax.lines]
    fine = np.concatenate([v[np.isfinite(v)] for v in values] or [np.zeros(1)])
    return float(np.min(fine, initial=0.0)) * 1.05


def seeds(runs: Sequence[Run]) -> Figure:
    """Draw both correlations against depth, one line for each seed."""
    figure, (ax,) = axes(height=3.6, width=WIDTH)
    depths = [run.layers for run in runs]
    common = min(len(run.group.statuses) for run in runs)
    numbers = runs[0].group.draws.key("seed")
    for field, colour in FIELDS.items():
        values = np.array([run.group.curve(field)[:common] for run in runs])
        for k in range(common):
            ax.plot(
                depths,
                values[:, k],
                ".",
                linestyle=DASHES[k % len(DASHES)],
                color=colour,
                linewidth=1.2,
                label=f"to the {field}, seed {numbers[k]}",
            )
    return _by_depth(figure, ax, depths)


def depth_curve(runs: Sequence[Run]) -> Figure:
    """Draw both correlations against depth, means over seeds and their points."""
    figure, (ax,) = axes(height=3.4, width=WIDTH)
    depths = [run.layers for run in runs]
    for k, (field, colour) in enumerate(FIELDS.items()):
        values = [run.group.curve(field) for run in runs]
        ax.plot(
            depths,
            [float(mean(v)) for v in values],
            color=colour,
            linestyle=DASHES[k],
            label=f"to the {field}",
        )
        for x, each in zip(depths, values, strict=True):
            ax.plot([x] * len(each), each, ".", color=colour, markersize=4)
    lost = [run.layers for run in runs if bool(run.group.diverged.any())]
    if lost:
        ax.plot(lost, [0.02] * len(lost), "x", color=INK, markersize=6)
    return _by_depth(figure, ax, depths)


def _by_depth(figure: Figure, ax: Any, depths: Sequence[int]) -> Figure:
    # Over correlations 0 to 1, a perfect constant has the mean correlation 1/2.
    label = "to the identity,\nof a perfect constant"
    ax.axhline(0.5, color=FAINT, linewidth=1.0, label=label)
    ax.set_xticks(depths)
    correlation_axis(ax, "weight layers")
    figure.legend(loc="outside right center")
    return figure


def layer_errors(runs: Sequence[Run]) -> Figure:
    """Draw the averaging classifier's error layer by layer, before and after."""
    figure, panels = axes(2, height=3.2, width=WIDTH)
    for ax, state in zip(panels, ("untrained", "trained"), strict=True):
        for k, run in enumerate(runs):
            group, name = run.group, f"layer-error/{state}"
            # Before training nothing has diverged.
            before = state == "untrained"
            values = group.every(name) if before else group.numbers(name)
            each = mean(values)
            look, places = line(k), range(len(each))
            ax.plot(places, each, ".", label=f"{run.layers} layers", **look)
            ax.plot(places, values.T, color=look["color"], linewidth=0.5, alpha=0.5)
        ax.axhline(0.9, color=FAINT, linewidth=1.0)
        ax.set(
            title=state,
            xlabel="layer (0: the input)",
            ylabel="error" if ax is panels[0] else "",
            ylim=(0.0, 1.0),
        )
        ax.xaxis.get_major_locator().set_params(integer=True)
    note(panels[0], "chance", (0, 0.9), (0, 3), fontsize=7.5)
    legend_above(figure, panels[0], ncols=min(len(runs), 5))
    return figure


def changes(runs: Sequence[Run]) -> Figure:
    """Draw how far each layer's weights moved, relative to where they started."""
    figure, panels = axes(len(runs), height=2.7, width=WIDTH)
    for ax, run in zip(panels, runs, strict=True):
        values = run.group.numbers("change/relative")
        layers = np.arange(1, values.shape[1] + 1)
        ax.bar(layers, np.nan_to_num(mean(values)), color=SERIES[0], width=0.75)
        for each in values:
            ax.plot(layers, each, ".", color=SERIES[1], markersize=3)
        if bool(run.group.diverged.all()):
            ax.text(0.5, 0.5, "diverged", transform=ax.transAxes, ha="center")
        ax.set_title(f"{run.kind.upper()}, {run.layers} layers")
        ax.yaxis.get_major_locator().set_params(nbins=5)
        ax.set(xlabel="layer", ylim=(0.0, None))
        ax.grid(visible=False, axis="x")
        ax.xaxis.get_major_locator().set_params(integer=True)
    panels[0].set_ylabel("‖W* − W⁰‖ / ‖W⁰‖")
    return figure
