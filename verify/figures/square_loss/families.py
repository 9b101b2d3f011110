"""The three families side by side: norms, outputs, margins; collapse of features."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from verify.figures.square_loss.curves import sorted_margins
from verify.figures.square_loss.panels import panels, series, with_band
from verify.figures.square_loss.runs import Run
from verify.figures.style import Figure, from_zero, line, log_axis

Runs = Sequence[Run]

FAMILIES = {
    "bn-decay": "normalised, with decay",
    "bn": "normalised, no decay",
    "none": "neither",
}
"""Configurations and what they are."""


def families(runs: Runs) -> Figure:
    """Draw norm, mean output and sorted margins, a column for each family."""
    return _columns(runs, ("ρ", "mean |f|", "margin y f"), _family, 2.05)


def _family(run: Run, column: Sequence[Any]) -> None:
    norm, output, margin = column
    for index in range(len(run.scales)):
        with_band(norm, run.epochs, run, index, series("rho"))
        with_band(output, run.epochs, run, index, series("abs_mean"))
        sorted_margins(margin, run, index)
    for ax in (norm, output):
        from_zero(ax, run.epochs[-1])
        ax.set_xlabel("epoch")
    margin.set_xlabel("training example, sorted")
    for ax in column:
        log_axis(ax)


def collapse(runs: Runs) -> Figure:
    """Draw three measures of neural collapse over epochs, a column for each family."""
    words = ("NC1: within / between", "NC3: rows − means", "NC4: disagreement")
    return _columns(runs, words, _collapse, 1.95)


def _collapse(run: Run, column: Sequence[Any]) -> None:
    for ax, name in zip(column, ("nc1", "nc3", "nc4"), strict=True):
        for index in range(len(run.scales)):
            with_band(ax, run.epochs, run, index, series(name))
            _interpolation(ax, run, index)
        from_zero(ax, run.epochs[-1])
        if name == "nc4":
            _shares(ax, run)
        else:
            log_axis(ax)
    column[-1].set_xlabel("epoch")


def _columns(
    runs: Runs,
    words: Sequence[str],
    draw: Callable[[Run, Sequence[Any]], None],
    height: float,
) -> Figure:
    """Draw a column for each family, below each other where there are several data."""
    data = list(dict.fromkeys(run.data for run in runs))
    rows = len(words)
    figure, grid = panels(rows * len(data), len(FAMILIES), height=height, head=0.5)
    for block, source in enumerate(data):
        mine = {_family_of(run): run for run in runs if run.data == source}
        part = grid[rows * block : rows * (block + 1)]
        for place, name in enumerate(FAMILIES):
            column = [row[place] for row in part]
            if name not in mine:
                for ax in column:
                    ax.set_axis_off()
                words_for_it = f"{FAMILIES[name]},\n{source}: no record"
                column[0].text(0.5, 0.5, words_for_it, ha="center", va="center")
                continue
            draw(mine[name], column)
            words_above = FAMILIES[name] + (f"\n{source}" if len(data) > 1 else "")
            _head(column[0], mine[name], words_above)
        for row, word in zip(part, words, strict=True):
            row[0].set_ylabel(word)
    return figure


def _family_of(run: Run) -> str:
    return run.name.removesuffix(f"-{run.data}")


def _head(ax: Any, run: Run, title: str) -> None:
    """Write the family above a column, and above its panel which line is which scale."""
    ax.set_title(title, pad=20)
    if ax.lines:
        ax.legend(
            loc="lower left",
            bbox_to_anchor=(-0.03, 0.97),
            ncols=len(run.scales),
            handlelength=2.1,
            columnspacing=0.7,
            handletextpad=0.4,
            borderpad=0.2,
        )


def _interpolation(ax: Any, run: Run, index: int) -> None:
    """Mark the first epoch without a training error, of the typical draw."""
    typical = run.typical(run.scales[index])
    if typical is None or typical.interpolated is None:
        return
    ax.axvline(typical.interpolated, linewidth=0.8, alpha=0.7, **line(index))


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
