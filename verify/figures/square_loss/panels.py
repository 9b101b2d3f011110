"""Panels of curves: a typical draw in full colour, the others behind it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from verify.figures import style
from verify.figures.runs import Array
from verify.figures.square_loss.runs import Draw, Run
from verify.figures.style import INK, SERIES, legend_above

WIDTH = 6.8

Values = Callable[[Draw], Array]


def panels(
    rows: int, columns: int, *, height: float, head: float = 0.4, **shared: Any
) -> tuple[Any, Any]:
    """Return an empty figure and its axes, rows of so many inches each."""
    whole = rows * height + head
    figure, grid = style.panels(rows, columns, WIDTH, whole, **shared)
    figure.get_layout_engine().set(hspace=0.05, wspace=0.04)
    return figure, grid


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
    style.band(ax, x, low, high, SERIES[index], 0.18, where=some)
    ax.plot(x, values(typical), label=f"{scale:g}", **style.line(index))


def behind(ax: Any, x: Array, run: Run, index: int, values: Values) -> None:
    """Draw the draws of a scale other than the typical one, as thin lines."""
    scale = run.scales[index]
    typical = run.typical(scale)
    for draw in run.kept(scale):
        if typical is None or draw.seed != typical.seed:
            ax.plot(x, values(draw), color=SERIES[index], linewidth=0.6, alpha=0.45)


def lost(ax: Any) -> None:
    """Say in a panel that every draw of its scale diverged."""
    ax.text(0.5, 0.5, "all diverged", transform=ax.transAxes, ha="center", color=INK)
    ax.set(xticks=[], yticks=[])


def scale_title(run: Run, scale: float, *, several: bool) -> str:
    """Return the name of a panel of one scale, with the data set if there are several."""
    return f"from {scale:g}" + (f", {run.data}" if several else "")


def common_legend(
    figure: Any, ax: Any, title: str = "", *, seeds: bool = False
) -> None:
    """Write one legend above all panels, of what one of them shows.

    With `seeds`, also of what thick and thin lines are.
    """
    samples = {"typical draw": _sample(1.7, 1.0), "other seeds": _sample(0.6, 0.6)}
    first = samples if seeds else None
    legend_above(figure, ax, first=first, title=title or None)


def _sample(width: float, alpha: float) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=INK, linewidth=width, alpha=alpha)
