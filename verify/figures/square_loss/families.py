"""The three families side by side: norms, outputs, margins; collapse of features."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from verify.figures.square_loss.curves import sorted_margins
from verify.figures.square_loss.panels import (
    epochs_axis,
    log_axis,
    panels,
    series,
    with_band,
)
from verify.figures.square_loss.runs import Run
from verify.figures.style import DASHES, SERIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Runs = Sequence[Run]

FAMILIES = {
    "bn-decay": "normalised, with decay",
    "bn": "normalised, no decay",
    "none": "neither",
}
"""Configurations and what they are."""


def families(runs: Runs) -> "Figure":
    """Draw norm, mean output and sorted margins, a column for each family."""
    figure, grid = panels(3, len(runs), height=2.05, head=0.5)
    for column, run in enumerate(runs):
        norm, output, margin = (row[column] for row in grid)
        for index in range(len(run.scales)):
            with_band(norm, run.epochs, run, index, series("rho"))
            with_band(output, run.epochs, run, index, series("abs_mean"))
            sorted_margins(margin, run, index, thin=False)
        for ax in (norm, output):
            epochs_axis(ax, run)
            ax.set_xlabel("epoch")
        for ax in (norm, output, margin):
            log_axis(ax)
        margin.set_xlabel("training example, sorted")
        _head(norm, run, several=len(runs) > len(FAMILIES))
    words = ("ρ", "mean |f|", "margin y f")
    for row, word in zip(grid, words, strict=True):
        row[0].set_ylabel(word)
    return figure


def _head(ax: Any, run: Run, *, several: bool) -> None:
    """Write the family above a column, and above its panel which line is which scale."""
    name = run.name.removesuffix(f"-{run.data}")
    title = FAMILIES.get(name, run.name) + (f",\n{run.data}" if several else "")
    ax.set_title(title, pad=20)
    if ax.lines:
        ax.legend(
            loc="lower left",
            bbox_to_anchor=(-0.03, 0.97),
            ncols=len(run.scales),
            handlelength=1.5,
            columnspacing=0.9,
            borderpad=0.2,
        )


def collapse(runs: Runs) -> "Figure":
    """Draw three measures of neural collapse over epochs, a column for each family."""
    figure, grid = panels(3, len(runs), height=1.95, head=0.5)
    names = ("nc1", "nc3", "nc4")
    for column, run in enumerate(runs):
        for row, name in zip(grid, names, strict=True):
            ax = row[column]
            for index in range(len(run.scales)):
                with_band(ax, run.epochs, run, index, series(name))
                _interpolation(ax, run, index)
            epochs_axis(ax, run)
            if name == "nc4":
                _shares(ax, run)
            else:
                log_axis(ax)
        grid[-1][column].set_xlabel("epoch")
        _head(grid[0][column], run, several=len(runs) > len(FAMILIES))
    words = ("NC1: within / between", "NC3: rows − means", "NC4: disagreement")
    for row, word in zip(grid, words, strict=True):
        row[0].set_ylabel(word)
    return figure


def _interpolation(ax: Any, run: Run, index: int) -> None:
    """Mark the first epoch without a training error, of the typical draw."""
    typical = run.typical(run.scales[index])
    if typical is None or typical.interpolated is None:
        return
    ax.axvline(
        typical.interpolated,
        color=SERIES[index],
        linestyle=DASHES[index],
        linewidth=0.8,
        alpha=0.7,
    )


def _shares(ax: Any, run: Run) -> None:
    """Make an axis of shares logarithmic from one example on, with 0 at its foot."""
    one = 1.0 / run.examples
    ax.set_yscale("symlog", linthresh=one, linscale=0.4)
    powers = [10.0**-k for k in range(4, -1, -1) if 10.0**-k >= one]
    ax.set_yticks(
        [0.0, *powers],
        ["0", *(np.format_float_positional(p, trim="-") for p in powers)],
    )
    ax.set_ylim(-0.1 * one, 1.3)
    ax.minorticks_off()
