"""Figures 2 and 3: losses against the logarithm of steps."""

import itertools
from typing import Any

import numpy as np

from verify.figures.mmd_init.runs import MODULE, Run, Stacks
from verify.figures.runs import Array, Missing, complete
from verify.figures.style import (
    DASHES,
    FAINT,
    INK,
    SERIES,
    Figure,
    band,
    decades,
    from_zero,
    legend_above,
    line,
    panels,
    short,
)

BINS = 20
"""At most so many bins of the first window."""


def detachment(stacks: Stacks) -> Figure:
    """Draw L_iod at the start and at perturbed starts, a panel for each noise."""
    (stack,) = stacks.values()
    runs = stack.of()
    if not runs:
        raise Missing("every run of detachment alone diverged")
    levels = runs[0].noises
    with complete(stack.name, MODULE):
        if not levels:
            raise Missing("no series 'snapshots'")
    figure, (row,) = panels(1, len(levels), 6.8, 3.3, sharey=True)
    figure.get_layout_engine().set(wspace=0.03)
    for ax, level in zip(row, levels, strict=True):
        for place, run in enumerate(runs):
            _around(ax, run, level, first=place == 0)
        ax.set(title=f"s² = {float(level):g}", yscale="log")
        ax.set_xlabel("step")
        ax.tick_params(axis="x", labelsize=8)
        from_zero(ax, int(runs[0].numbers("snapshots/step")[-1]))
    row[0].set_ylabel("$L_{iod}$")
    legend_above(figure, row[0])
    return figure


def _around(ax: Any, run: Run, level: str, *, first: bool) -> None:
    """Draw one run: mean and deviation over perturbations; the others' means thin."""
    steps, here = (run.numbers(f"snapshots/{name}") for name in ("step", "here"))
    around = run.numbers(f"snapshots/around/{level}")
    mean, std = around.mean(axis=1), around.std(axis=1, ddof=1)
    if not first:
        thin: dict[str, Any] = {"linewidth": 0.6, "alpha": 0.6}
        ax.plot(steps, here, color=INK, linestyle=DASHES[1], **thin)
        ax.plot(steps, mean, color=SERIES[0], **thin)
        return
    low = mean - std
    # A mean less its deviation may be negative: then the band is cut at the least.
    low = np.where(low > 0.0, low, around.min(axis=1))
    band(ax, steps, low, mean + std, SERIES[0])
    dashed: dict[str, Any] = {"linestyle": DASHES[1], "linewidth": 1.3}
    ax.plot(steps, here, color=INK, label="at the start θ₀", **dashed)
    ax.plot(steps, mean, color=SERIES[0], label="around it, mean ± std of four")


def uniformity(stacks: Stacks) -> Figure:
    """Draw L_uni over steps, a panel for each noise and a line for each lambda."""
    (stack,) = stacks.values()
    noises, lambdas = (
        list(dict.fromkeys(float(v[name]) for v in stack.variants))
        for name in ("s2", "lam")
    )
    window = stack.window
    rows = -(-len(noises) // 2)
    figure, grid = panels(rows, 2, 6.8, 4.9, sharex=True, sharey=True)
    figure.get_layout_engine().set(hspace=0.03, wspace=0.03)
    powers = decades(stack.steps)
    for ax, s2 in zip(grid.flat, noises, strict=False):
        ax.axhline(0.0, color=FAINT, linewidth=1.0)
        for index, lam in enumerate(lambdas):
            _history(ax, stack.of(s2=s2, lam=lam), window, index, lam)
        ax.set(title=f"s² = {s2:g}", xscale="log")
        ax.set_yscale("symlog", linthresh=0.01, linscale=0.5)
        ax.set_yticks([0.0, 0.01, 0.1, 1.0], ["0", "0.01", "0.1", "1"])
        ax.set_xticks(powers, [*map(short, powers)])
        ax.minorticks_off()
        ax.set_xlim(1.0, stack.steps)
    for ax in grid.flat[len(noises) :]:
        ax.set_visible(False)
    for row in grid:
        row[0].set_ylabel("$L_{uni}$")
    for ax in grid[-1]:
        ax.set_xlabel("step")
    first = next((ax for ax in grid.flat if len(ax.lines) > 1), grid[0][0])
    title = "weight of the loss against degenerate softmax"
    legend_above(figure, first, title=title)
    return figure


def _history(ax: Any, runs: list[Run], window: int, index: int, lam: float) -> None:
    """Draw mean and deviation over runs: single steps first, then means of windows."""
    if not runs:
        return
    every = np.array([history(run, window)[1] for run in runs])
    steps = history(runs[0], window)[0]
    mean = every.mean(axis=0)
    if len(runs) > 1:
        std = every.std(axis=0, ddof=1)
        band(ax, steps, mean - std, mean + std, SERIES[index], 0.18)
    ax.plot(steps, mean, label=f"λ = {lam:g}", **line(index))


def history(run: Run, window: int) -> tuple[Array, Array]:
    """Return steps and L_uni: means over bins of the first window, then over windows.

    The first bins are single steps, later ones longer; a mean stands at its middle.
    """
    first = run.numbers("first/uniformity")
    means = run.numbers("windows/uniformity")[1:]
    edges = np.unique(np.geomspace(1, first.size + 1, BINS).round().astype(int)) - 1
    parts = [np.arange(a, b) for a, b in itertools.pairwise(edges)]
    steps = [1.0 + part.mean() for part in parts]
    middles = window * (1.0 + np.arange(means.size)) + 0.5 * (1 + window)
    binned = [first[part].mean() for part in parts]
    return np.array([*steps, *middles]), np.array([*binned, *means])
