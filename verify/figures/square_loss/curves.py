"""What one experiment does over epochs, and the margins that it ends with."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from verify.figures.runs import Array
from verify.figures.square_loss.panels import (
    behind,
    common_legend,
    lost,
    panels,
    scale_title,
    series,
    with_band,
)
from verify.figures.square_loss.runs import Draw, Run
from verify.figures.style import DASHES, INK, SERIES, Figure, band, from_zero, log_axis

Runs = Sequence[Run]

ZOOMS = (1, 10, 100)
"""Parts of all epochs that the panels on norms show."""

_REFERENCE = {"color": INK, "linestyle": DASHES[2], "linewidth": 1.0}


def training(runs: Runs) -> Figure:
    """Draw loss and training error over epochs, and test errors at the end."""
    figure, grid = panels(len(runs), 2, height=2.5)
    for run, (left, right) in zip(runs, grid, strict=True):
        for index in range(len(run.scales)):
            with_band(left, run.epochs, run, index, series("loss"))
            with_band(right, run.epochs, run, index, series("error"))
            _test_errors(right, run, index)
        for ax in (left, right):
            from_zero(ax, run.epochs[-1])
        right.set_xlim(0.0, _beyond(run, len(run.scales)))
        log_axis(left)
        named = f"{run.data}: " if len(runs) > 1 else ""
        left.set(title=f"{named}mean squared error", xlabel="epoch")
        right.set(title=f"{named}share of errors", xlabel="epoch", ylim=(-0.02, None))
    marks: dict[str, Any] = {"color": INK, "linestyle": "none", "marker": "o"}
    grid[0][1].plot([], [], markersize=5, label="test, at the end", **marks)
    common_legend(figure, grid[0][1], "initial norm of each layer")
    return figure


def _beyond(run: Run, place: int) -> float:
    """Return a place to the right of the last epoch."""
    return float(run.epochs[-1]) * 1.35 ** (place + 1)


def _test_errors(ax: Any, run: Run, index: int) -> None:
    """Mark test errors to the right of the curves: draws small, the typical one large.

    Nothing of them is recorded on the way.
    """
    scale = run.scales[index]
    typical = run.typical(scale)
    if typical is None:
        return
    colour, place = SERIES[index], _beyond(run, index)
    each = [draw.test_error for draw in run.kept(scale)]
    ax.plot([place] * len(each), each, "o", color=colour, markersize=2, alpha=0.6)
    ax.plot([place], [typical.test_error], "o", color=colour, markersize=5)


def norms(runs: Runs) -> Figure:
    """Draw the norm and where it would rest: a row for each scale, zooms in columns.

    With batch normalisation a last column is the product of all layers' norms.
    """
    rows = [(run, index) for run in runs for index in range(len(run.scales))]
    columns = [len(_ends(run)) + _has_product(run) for run in runs]
    figure, grid = panels(len(rows), max(columns), height=1.75)
    for row, (run, index) in zip(grid, rows, strict=True):
        _norms_row(row, run, index, several=len(runs) > 1)
    for ax in grid[-1]:
        ax.set_xlabel("epoch")
    common_legend(figure, _drawn(grid), seeds=True)
    return figure


def _has_product(run: Run) -> bool:
    """Whether the norm in eq. (5) is not that of all layers."""
    return run.family == "bn"


def _ends(run: Run) -> list[float]:
    """Return the last epochs of the panels, recorded ones, each less than the last."""
    last = float(run.epochs[-1])
    ends = [float(run.epochs[run.epochs >= last / part][0]) for part in ZOOMS]
    return sorted({end for end in ends if end > 0.0} or {last}, reverse=True)


def _norms_row(row: Sequence[Any], run: Run, index: int, *, several: bool) -> None:
    scale, ends = run.scales[index], _ends(run)
    typical = run.typical(scale)
    zooms, last = row[: len(ends)], row[len(ends) :]
    zooms[0].set_title(scale_title(run, scale, several=several))
    zooms[0].set_ylabel("ρ of the last layer" if _has_product(run) else "ρ")
    for ax in row[len(ends) + _has_product(run) :]:
        ax.set_visible(False)
    if typical is None:
        for ax in row:
            lost(ax)
        return
    for place, (ax, end) in enumerate(zip(zooms, ends, strict=True)):
        behind(ax, run.epochs, run, index, series("rho"))
        _norms(ax, run, index, typical)
        ax.set_xlim(0.0, end)
        # Panels are narrow, and there is no half of an epoch.
        ax.locator_params(axis="x", nbins=3, integer=True)
        ax.set_ylim(*_window(run, scale, end))
        log_axis(ax)
        if place + 1 < len(ends):
            _box(ax, ends[place + 1], _window(run, scale, ends[place + 1]))
    if _has_product(run):
        _product(last[0], run, index, typical)


def _norms(ax: Any, run: Run, index: int, draw: Draw) -> None:
    """Draw the norm that obeys eq. (5) and its resting value."""
    rho, rest = draw.series("rho"), draw.series("rho_eq")
    ax.plot(run.epochs, rho, ".-", color=SERIES[index], markersize=4)
    # No formula: its letters, and those beside it, would be set one by one.
    label = "equilibrium of the directions, typical draw"
    given = {"color": INK, "linestyle": DASHES[1], "linewidth": 1.1}
    ax.plot(run.epochs, rest, label=label, **given)


def _product(ax: Any, run: Run, index: int, draw: Draw) -> None:
    behind(ax, run.epochs, run, index, series("product"))
    ax.plot(run.epochs, draw.series("product"), color=SERIES[index])
    from_zero(ax, run.epochs[-1], every=2)
    log_axis(ax)
    ax.set_title("product of layers", fontweight="normal")


def _box(ax: Any, end: float, window: tuple[float, float]) -> None:
    """Mark what the next panel shows."""
    from matplotlib.patches import Rectangle

    low, high = window
    box = Rectangle((0.0, low), end, high - low, fill=False, edgecolor=INK)
    box.set(linestyle=(0, (3, 2)), linewidth=0.9, zorder=5)
    ax.add_patch(box)


def _window(run: Run, scale: float, end: float) -> tuple[float, float]:
    """Return the range of all norms and of the resting value up to an epoch."""
    early = run.epochs <= end
    typical = run.typical(scale)
    assert typical is not None
    values = [draw.series("rho") for draw in run.kept(scale)]
    every = np.concatenate([v[early] for v in (*values, typical.series("rho_eq"))])
    positive = every[every > 0.0]
    low, high = float(positive.min()), float(positive.max())
    margin = max((high / low) ** 0.06, 1.02)
    return low / margin, high * margin


def outputs(runs: Runs) -> Figure:
    """Draw mean sizes of the normalised network's outputs over epochs."""
    figure, grid = _by_scale(runs, _outputs, "mean |f|", height=2.4, sharey="row")
    # They share limits, which are settled once all is drawn.
    for ax in (ax for ax in grid.flat if ax.lines):
        log_axis(ax)
    common_legend(figure, _drawn(grid), seeds=True)
    return figure


def _outputs(ax: Any, run: Run, index: int, draw: Draw) -> None:
    behind(ax, run.epochs, run, index, series("abs_mean"))
    ax.plot(run.epochs, draw.series("abs_mean"), color=SERIES[index])
    ax.plot(run.epochs, 1.0 / draw.series("rho"), label="1/ρ", **_REFERENCE)
    from_zero(ax, run.epochs[-1])
    ax.set_xlabel("epoch")


def distribution(runs: Runs) -> Figure:
    """Draw quantiles of the sizes of outputs over epochs, of the typical draws."""
    figure, grid = _by_scale(runs, _distribution, "|f|", height=2.7, sharey="row")
    for row, run in zip(grid, runs, strict=True):
        typical = [draw for scale in run.scales if (draw := run.typical(scale))]
        # The reference starts far above where norms start small.
        tops = [float(np.nanmax(draw.series("abs_quantiles"))) for draw in typical]
        if tops:
            row[0].set_ylim(0.0, 1.05 * max(tops))
        row[0].yaxis.labelpad = 8
    common_legend(figure, _drawn(grid))
    return figure


def _distribution(ax: Any, run: Run, index: int, draw: Draw) -> None:
    _bands(ax, run.epochs, draw.series("abs_quantiles"), SERIES[index])
    ax.plot(run.epochs, 1.0 / draw.series("rho"), label="1/ρ", **_REFERENCE)
    from_zero(ax, run.epochs[-1])
    ax.set_xlabel("epoch")


def _bands(ax: Any, x: Array, quantiles: Array, colour: str) -> None:
    """Fill between pairs of quantiles, the outer ones faint; draw the median."""
    last = quantiles.shape[1] - 1
    for cut in (0, last // 20, last // 4):
        band(ax, x, quantiles[:, cut], quantiles[:, last - cut], colour)
    label = "median, middle half, 5 to 95 %, all"
    ax.plot(x, quantiles[:, last // 2], ".-", color=colour, label=label)


def margins(runs: Runs) -> Figure:
    """Draw sorted margins of the training examples, one panel a scale."""
    shared = "row" if _comparable(runs) else False
    figure, grid = _by_scale(runs, _margins, "margin y f", height=2.5, sharey=shared)
    common_legend(figure, _drawn(grid), seeds=True)
    return figure


def _margins(ax: Any, run: Run, index: int, _draw: Draw) -> None:
    sorted_margins(ax, run, index)
    ax.set_xlabel("training example, sorted")
    ax.ticklabel_format(axis="y", scilimits=(-2, 3), useMathText=True)


def sorted_margins(ax: Any, run: Run, index: int) -> None:
    """Draw one scale's margins, and one over the norm of its typical draw."""
    typical = run.typical(run.scales[index])
    if typical is None:
        return
    rank = np.arange(1, run.examples + 1, dtype=np.float64)
    behind(ax, rank, run, index, lambda draw: draw.margins)
    ax.plot(rank, typical.margins, color=SERIES[index])
    label = None if ax.get_legend_handles_labels()[1] else "1/ρ"
    ax.axhline(1.0 / typical.last("rho"), label=label, **_REFERENCE)


def _by_scale(
    runs: Runs, draw: Callable[[Any, Run, int, Draw], None], up: str, **options: Any
) -> tuple[Any, Any]:
    """Draw a row for each run and a column for each scale that did not diverge.

    ``draw(ax, run, index, typical)`` draws a panel, from the typical draw of its scale.
    """
    columns = max(len(run.scales) for run in runs)
    figure, grid = panels(len(runs), columns, **options)
    for row, run in zip(grid, runs, strict=True):
        for ax in row[len(run.scales) :]:
            ax.set_visible(False)
        for index, (ax, scale) in enumerate(zip(row, run.scales, strict=False)):
            ax.set_title(scale_title(run, scale, several=len(runs) > 1))
            typical = run.typical(scale)
            if typical is None:
                lost(ax)
            else:
                draw(ax, run, index, typical)
        row[0].set_ylabel(up)
    return figure, grid


def _comparable(runs: Runs) -> bool:
    """Whether margins of all scales can be read off one axis: within a factor of 30."""
    tops = [
        abs(float(typical.margins[-1]))
        for run in runs
        for scale in run.scales
        if (typical := run.typical(scale)) is not None
    ]
    return bool(tops) and max(tops) <= 30.0 * min(tops)


def _drawn(grid: Any) -> Any:
    """Return a panel that shows something, the first if none does."""
    return next((ax for ax in grid.flat if ax.lines), grid[0][0])
