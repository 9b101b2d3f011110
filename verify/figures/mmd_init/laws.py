"""Figure 1: laws of predictions over perturbations and over inputs, before and after."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from verify.figures.mmd_init.runs import Run, Stacks, runs_of
from verify.figures.runs import Array, Missing
from verify.figures.style import DASHES, INK, SERIES, Figure, legend_above, panels

WHEN = (
    ("before", {"color": SERIES[1], "linestyle": DASHES[1], "linewidth": 1.4}),
    ("after", {"color": SERIES[0], "linestyle": DASHES[0], "linewidth": 1.7}),
)
"""Of pre-training, and how each is drawn: `after` last, on top."""

BINS = 20


def laws(stacks: Stacks) -> Figure:
    """Draw distribution functions and densities, a column for each input or model."""
    runs = runs_of(stacks, lam=0.0, xi=0.0)
    if not runs:
        raise Missing("every run of uniformity alone diverged")
    run = runs[0]
    columns = len(run.numbers("densities/after/over_noise"))
    heights = (3.0, 1.1, 0.2, 3.0, 1.1)
    figure, grid = panels(5, columns, 6.8, 6.5, sharex=True, height_ratios=heights)
    figure.get_layout_engine().set(hspace=0.02, wspace=0.03)
    for ax in grid[2]:
        ax.set_visible(False)
    _block(grid[:2], run, "over_noise", "distances", "(a) input", "D")
    _block(grid[3:], run, "over_inputs", "spread", "(b) model", "sd")
    for ax in grid[0]:
        ax.plot([0.0, 1.0], [0.0, 1.0], color=INK, linewidth=0.8, label="uniform")
    for ax in grid[1]:
        ax.axhline(1.0, color=INK, linewidth=0.8)
    words = ("share of perturbations", "density", "", "share of inputs", "density")
    for row, word in zip(grid, words, strict=True):
        row[0].set_ylabel(word)
    legend_above(figure, grid[0][0])
    return figure


def _block(
    rows: Sequence[Sequence[Any]],
    run: Run,
    law: str,
    number: str,
    what: str,
    symbol: str,
) -> None:
    """Draw distribution functions above densities; a number of each law on top."""
    columns = list(zip(*rows, strict=True))
    # One scale of densities for all columns.
    top = 1.05 * max(
        _column(column, run, law, index) for index, column in enumerate(columns)
    )
    for index, (above, below) in enumerate(columns):
        found = [run.numbers(f"densities/{when}/{number}")[index] for when, _ in WHEN]
        # The first panel has the letter, the others the word alone.
        name = what if index == 0 else what.partition(" ")[2]
        above.set_title(f"{name} {index + 1}", pad=16)
        said = f"{symbol}: {found[0]:.3f} → {found[1]:.3f}"
        above.text(0.0, 1.03, said, transform=above.transAxes, fontsize=8)
        below.set(ylim=(0.0, top), xlabel="p", xlim=(0.0, 1.0))
        below.set_xticks([0.0, 0.5, 1.0], ["0", "½", "1"])
        # Shared axes are labelled in the last row alone otherwise.
        below.tick_params(labelbottom=True)
        above.set(ylim=(0.0, 1.0), yticks=[0.0, 0.5, 1.0])
        above.set_yticklabels(["0", "½", "1"] if index == 0 else [])
        if index:
            below.set_yticklabels([])


def _column(column: Sequence[Any], run: Run, law: str, index: int) -> float:
    """Draw one law before and after; return the highest density."""
    above, below = column
    top = 0.0
    for when, style in WHEN:
        p = run.numbers(f"densities/{when}/{law}")[index]
        above.plot(
            *distribution(p), drawstyle="steps-post", label=f"{when} training", **style
        )
        heights, edges = np.histogram(p, bins=BINS, range=(0.0, 1.0), density=True)
        top = max(top, float(heights.max()))
        below.stairs(
            heights,
            edges,
            fill=when == "after",
            color=style["color"],
            alpha=0.35 if when == "after" else 1.0,
            linewidth=1.0,
        )
    return top


def distribution(p: Array) -> tuple[Array, Array]:
    """Return corners of the empirical distribution function on [0, 1].

    Examples
    --------
    >>> x, share = distribution(np.array([0.75, 0.25]))
    >>> x.tolist(), share.tolist()
    ([0.0, 0.25, 0.75, 1.0], [0.0, 0.5, 1.0, 1.0])
    """
    ordered = np.sort(p)
    share = np.arange(1, p.size + 1) / p.size
    x = np.concatenate([[0.0], ordered, [1.0]])
    return x, np.concatenate([[0.0], share, [1.0]])
