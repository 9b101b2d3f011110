"""Two statements that miss what they are for: Theorem 1, and the term for all classes."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from theory import mmd
from theory.mmd.tails import Form
from verify.claims.mmd_init._printed import WIDTHS
from verify.figures.runs import Array
from verify.figures.style import (
    DASHES,
    FAINT,
    INK,
    SERIES,
    Figure,
    axes,
    band,
    label_end,
    legend_above,
    line,
    note,
)

CLASSES = tuple(range(2, 21))

_FORMS: Mapping[Form, str] = {
    "intermediate": "an earlier step of the proof",
    "sharp": "sharper",
    "printed": "as printed",
}
"""Of Theorem 1: what each bound is called."""

DRAWS = 400_000
"""Of the noise's length: its tail shows down to 1e-5."""


def degeneracy_floor() -> Figure:
    """Draw L_sd of three predictors and the floor, by the number of classes."""
    figure, (ax,) = axes(width=6.0, height=3.7)
    floor = [mmd.degeneracy_floor(d) for d in CLASSES]
    balanced = [balanced_loss(d) for d in CLASSES]
    centroid = [mmd.degeneracy_loss(np.full((1, 1, d), 1.0 / d)) for d in CLASSES]
    single = [mmd.degeneracy_loss(np.eye(d)[None, :1]) for d in CLASSES]
    band(ax, CLASSES, 0.0, floor, FAINT, 0.35)
    ax.plot(CLASSES, single, color=SERIES[5], linestyle=DASHES[2])
    ax.plot(CLASSES, balanced, color=SERIES[1], linestyle=DASHES[1], marker="s")
    ax.plot(CLASSES, floor, color=SERIES[0])
    ax.plot(CLASSES, centroid, "o", color=SERIES[0], markerfacecolor="none")
    for drawn in ax.lines:
        drawn.set_markersize(4.5)
    ends = (
        ("always one class", single, SERIES[5], 0.05),
        ("certain, all classes\nequally often", balanced, SERIES[1], -0.05),
        ("always 1/d each:\nthe floor", floor, SERIES[0], -0.03),
    )
    for text, values, colour, shift in ends:
        label_end(ax, CLASSES[-1], values[-1] + shift, text, colour)
    ax.text(13.0, 0.3, "no predictor is below the floor", ha="center", fontsize=8.5)
    _at_three(ax, floor[1], balanced[1])
    ax.set(xlabel="classes d", ylabel="$L_{sd}$", xlim=(2.0, 20.4), ylim=(0.0, 1.3))
    ax.set_xticks([2, 5, 10, 15, 20])
    return figure


def _at_three(ax: Any, floor: float, balanced: float) -> None:
    """Mark the gap at three classes with its two numbers."""
    ax.plot([3.0, 3.0], [floor, balanced], color=INK, linewidth=1.2, zorder=3)
    ax.annotate(
        f"d = 3: {floor:.3f} < {balanced:.3f}",
        (3.0, 0.5 * (floor + balanced)),
        xytext=(4.6, 0.12),
        va="center",
        fontsize=8.5,
        arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 0.8},
    )


def balanced_loss(classes: int) -> float:
    """Return L_sd where each class is the certain answer to as many inputs.

    Examples
    --------
    >>> round(balanced_loss(3), 5)
    0.36546
    """
    return mmd.degeneracy_loss(np.eye(classes)[None])


def vacuous_tail() -> Figure:
    """Draw the tail of the noise's length and three bounds, near its length and far."""
    noise = mmd.noise_rule(WIDTHS)
    length = math.sqrt(noise.energy)
    edge = mmd.vacuous_radius(noise.variances, noise.counts)
    figure, (near, far) = axes(2, width=6.8, height=3.6)
    lengths = drawn_lengths(noise)
    tail = np.arange(lengths.size, 0, -1) / lengths.size
    # A tail of fewer than ten draws is noise.
    kept = np.unique(np.geomspace(10, lengths.size, 300).astype(int))
    here = lengths.size - kept
    sampled = {"color": INK, "linewidth": 2.4, "label": "the tail itself"}
    for ax, r in ((near, np.linspace(24.1, 25.0, 181)), (far, _radii(edge))):
        ax.plot(lengths[here], tail[here], **sampled)
        for index, (form, label) in enumerate(_FORMS.items()):
            bound = mmd.tail_bound(r, noise.variances, noise.counts, form=form)
            ax.plot(r, bound, label=label, **line(index))
        ax.axvline(length, color=INK, linewidth=0.8, linestyle=DASHES[5])
        ax.set(yscale="log", ylim=(1e-6, 3.0), xlabel="radius r")
    near.set(title="around the noise's length", xlim=(24.1, 25.0))
    near.set_ylabel("P(‖ε‖ ≥ r) and its bounds")
    far.set(title="where Theorem 1 speaks", xscale="log", xlim=(15.0, 4000.0))
    far.set_xticks([20, 100, 1000], ["20", "100", "1000"])
    far.axvspan(15.0, edge, color=FAINT, alpha=0.3, linewidth=0.0)
    silent = f"nothing is said up to\n$\\sqrt{{m\\alpha}}$ = {edge:.1f}"
    note(far, silent, (edge, 4e-3), (-6, 0), ha="right", va="center", fontsize=8)
    rooted = f"$\\sqrt{{E\\|\\epsilon\\|^2}}$ = {length:.2f}"
    note(near, rooted, (length, 2e-6), (5, 0), fontsize=8)
    legend_above(figure, near)
    return figure


def _radii(edge: float) -> Array:
    """Return radii up to ten times the last that Theorem 1 says nothing of.

    Dense where the intermediate and the sharp form fall.
    """
    return np.unique(
        np.concatenate(
            [
                np.geomspace(15.0, 10.0 * edge, 400),
                np.linspace(24.2, 26.0, 100),
                np.linspace(edge, 1.03 * edge, 100),
            ]
        )
    )


def drawn_lengths(noise: mmd.Noise) -> Array:
    """Return lengths of the noise, sorted: a chi-square for each group of variances."""
    generator = np.random.default_rng(np.random.SeedSequence(20230623))
    squares = np.zeros(DRAWS)
    for variance, count in zip(noise.variances, noise.counts, strict=True):
        squares += variance * generator.chisquare(count, DRAWS)
    return np.sort(np.sqrt(squares))
