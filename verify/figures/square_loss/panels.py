"""Panels of curves: a typical draw in full colour, the others behind it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from verify.figures.runs import Array
from verify.figures.square_loss.runs import Draw, Run
from verify.figures.style import DASHES, INK, SERIES, blank

WIDTH = 6.8

Values = Callable[[Draw], Array]


def panels(
    rows: int, columns: int, *, height: float, head: float = 0.4, **shared: Any
) -> tuple[Any, list[list[Any]]]:
    """Return an empty figure and its axes, rows of so many inches each."""
    figure = blank(WIDTH, rows * height + head, layout="constrained")
    figure.get_layout_engine().set(hspace=0.05, wspace=0.04)
    found = figure.subplots(rows, columns, squeeze=False, **shared)
    for ax in found.flat:
        ax.patch.set_alpha(0.0)
    return figure, [list(row) for row in found]


def style(index: int) -> dict[str, Any]:
    """Return colour and dashes of the scale at a place in the list."""
    return {
        "color": SERIES[index % len(SERIES)],
        "linestyle": DASHES[index % len(DASHES)],
    }


def series(name: str) -> Values:
    """Return a function that reads a series of numbers from a draw."""
    return lambda draw: draw.series(name)


def with_band(ax: Any, x: Array, run: Run, index: int, values: Values) -> None:
    """Draw one scale: its typical draw as a line, the range of all draws as a band."""
    scale = run.scales[index]
    typical = run.typical(scale)
    if typical is None:
        return
    each = np.array([values(draw) for draw in run.kept(scale)])
    fine = np.isfinite(each)
    low = np.where(fine, each, np.inf).min(axis=0)
    high = np.where(fine, each, -np.inf).max(axis=0)
    some = fine.any(axis=0)
    ax.fill_between(
        x, low, high, where=some, color=SERIES[index], alpha=0.18, linewidth=0.0
    )
    ax.plot(x, values(typical), label=f"{scale:g}", **style(index))


def behind(ax: Any, x: Array, run: Run, index: int, values: Values) -> None:
    """Draw the draws of a scale other than the typical one, as thin lines."""
    scale = run.scales[index]
    typical = run.typical(scale)
    for draw in run.kept(scale):
        if typical is None or draw.seed != typical.seed:
            ax.plot(x, values(draw), color=SERIES[index], linewidth=0.6, alpha=0.45)


def epochs_axis(ax: Any, run: Run, *, every: int = 1) -> None:
    """Make the axis of epochs logarithmic from 1 on, with 0 at its left end.

    In a narrow panel not `every` decade has a tick: every second, say.
    """
    last = float(run.epochs[-1])
    ax.set_xscale("symlog", linthresh=1.0, linscale=0.4)
    powers = [10.0**k for k in range(6) if 10.0**k <= last][::-every][::-1]
    ax.set_xticks([0.0, *powers], ["0", *(f"{p:g}" for p in powers)])
    ax.minorticks_off()
    ax.set_xlim(0.0, last)


def lost(ax: Any, run: Run, scale: float) -> bool:
    """Say in a panel that every draw of its scale diverged, if so."""
    if run.typical(scale) is not None:
        return False
    ax.text(0.5, 0.5, "all diverged", transform=ax.transAxes, ha="center", color=INK)
    ax.set(xticks=[], yticks=[])
    return True


def scale_title(run: Run, scale: float, *, several: bool) -> str:
    """Return the name of a panel of one scale, with the data set if there are several."""
    return f"from {scale:g}" + (f", {run.data}" if several else "")


def common_legend(
    figure: Any, ax: Any, title: str = "", *, seeds: bool = False
) -> None:
    """Write one legend above all panels, of what one of them shows.

    With `seeds`, also of what thick and thin lines are.
    """
    handles, labels = ax.get_legend_handles_labels()
    if seeds:
        handles = [_sample(1.7, 1.0), _sample(0.6, 0.6), *handles]
        labels = ["typical draw", "other seeds", *labels]
    if handles:
        figure.legend(
            handles,
            labels,
            title=title or None,
            ncols=len(handles),
            loc="outside upper right",
        )


def _sample(width: float, alpha: float) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=INK, linewidth=width, alpha=alpha)
