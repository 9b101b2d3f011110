"""Figures 1, 3 to 5, 7 and 8 of the conditioning paper, from records of our networks.

Means over independently trained networks, with the least and the largest of them. The
paper's figures have no numbers in the text before us; these show the same comparisons.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from empirical.testbed.records import Draws, RunRecord
from verify.figures.runs import Array, Folder, Missing, Records, training_command
from verify.figures.style import (
    DASHES,
    SERIES,
    band,
    legend_above,
    panels,
    with_remarks,
)
from verify.paths import RUNS

MODULE = "empirical.normrelu"
LABELS = {
    "normrelu": "NormReLU",
    "selu": "SELU",
    "relu": "ReLU",
    "batch": "BatchNorm",
    "layer": "LayerNorm",
    "fixup": "Fixup",
}
Found = dict[int, dict[str, RunRecord]]
"""Records by depth and arm."""
Columns = dict[str, Callable[[Draws], Array]]
"""What stands beside each other: its name, and its numbers by draw."""

_STYLE = {arm: (SERIES[k], DASHES[k]) for k, arm in enumerate(LABELS)}


@dataclass(frozen=True)
class Course:
    """Accuracies by epoch of some arms: training on the left, test on the right.

    Attributes
    ----------
    title, words : str
    arms : tuple of str
    kind : str
        ``"depth"`` of fully connected networks, ``"residual"``.
    """

    title: str
    words: str
    arms: tuple[str, ...]
    kind: str = "depth"

    def __call__(self, records: Records) -> Any:
        """Draw it.

        Raises
        ------
        Missing
            If no depth has the records of all arms, or of two residual ones.
        """
        found = _by_depth(records, self.arms, self.kind)
        columns: Columns = {
            "training": lambda draws: draws.series("train_accuracy"),
            "test": lambda draws: draws.series("test_accuracy"),
        }
        return _drawn(found, columns, "epoch", 0, "accuracy")


@dataclass(frozen=True)
class DotProducts:
    """Mean absolute cosines of test pairs by hidden layer, before and after training."""

    title: str
    words: str
    arms: tuple[str, ...]

    def __call__(self, records: Records) -> Any:
        """Draw it; see `Course`."""
        found = _by_depth(records, self.arms, "depth")
        columns: Columns = {
            "before training": lambda draws: draws.series("cosines")[:, 0],
            "after training": lambda draws: draws.series("cosines")[:, -1],
        }
        return _drawn(found, columns, "hidden layer", 1, "mean |cosine|")


def _drawn(found: Found, columns: Columns, along: str, first: int, up: str) -> Any:
    """Draw a row for each depth; below them stands what lines and bands are."""
    figure, grid = panels(len(found), 2, 6.4, 2.4 * len(found) + 0.4)
    for row, (depth, arms) in zip(grid, found.items(), strict=True):
        for ax, (words, numbers) in zip(row, columns.items(), strict=True):
            for arm, run in arms.items():
                values = numbers(run.draws)
                _band(ax, first + np.arange(values.shape[1]), values, arm)
            ax.set(title=f"{depth} layers: {words}", xlabel=along, ylim=(0.0, 1.0))
            # There is no half of a layer or of an epoch.
            ax.xaxis.get_major_locator().set_params(integer=True)
        row[0].set_ylabel(up)
    legend_above(figure, grid[0][0])
    counts = {len(run.draws) for arms in found.values() for run in arms.values()}
    several = " to ".join(map(str, sorted({min(counts), max(counts)})))
    said = f"Lines: means over {several} networks; bands: the least to the largest"
    return with_remarks(figure, [said])


def _band(ax: Any, x: Array, values: Array, arm: str) -> None:
    colour, dashes = _STYLE[arm]
    mean = np.nanmean(values, axis=0)
    ax.plot(x, mean, color=colour, linestyle=dashes, label=LABELS[arm])
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    band(ax, x, low, high, colour, 0.15)


def _by_depth(records: Records, arms: Sequence[str], kind: str) -> Found:
    """Return records by depth and arm, of the depths that have all arms.

    Of residual networks two are enough: the deepest are tried against one rival.
    """
    least = 2 if kind == "residual" else len(arms)
    places = [records]
    if isinstance(records, Folder) and records.scale == "small" and kind == "residual":
        # Above the small scale alone: what is published beside it.
        folder = records.folder.parents[1] / "full" / RUNS
        places.append(Folder(folder, scale="full"))
    for place in places:
        names = [name for name in place if name.startswith(f"{arms[0]}-{kind}-")]
        depths = sorted(int(name.rpartition("-")[2]) for name in names)
        there = {
            depth: [arm for arm in arms if f"{arm}-{kind}-{depth}" in place]
            for depth in depths
        }
        found = {
            depth: {arm: place[f"{arm}-{kind}-{depth}"] for arm in some}
            for depth, some in there.items()
            if len(some) >= least
        }
        if found:
            return found
    made = training_command(MODULE, places[-1], f"--only {kind}")
    raise Missing(f"no record of {', '.join(arms)} at one depth", made)


FIGURES = {
    1: DotProducts(
        "Dot products of test inputs, before and after training",
        "Mean absolute cosines of 200 pairs of test inputs by hidden layer: plain"
        " ReLU and layer normalisation start near one, batch normalisation at 1/pi."
        " Training lowers them, but under batch normalisation not in every layer of"
        " the deeper networks. In the paper: by epoch.",
        ("normrelu", "batch", "layer", "relu"),
    ),
    3: Course(
        "NormReLU against batch and layer normalisation",
        "Accuracies on training and test examples by epoch, each network at the"
        " rate chosen on held-out examples: after one epoch NormReLU is ahead of all"
        " others, the more so the deeper the network, and the deeper networks stay"
        " ahead.",
        ("normrelu", "batch", "layer", "relu"),
    ),
    4: Course(
        "Residual networks without batch normalisation",
        "Accuracies of ResNet-20, -32 and -110 on CIFAR-10 images shrunk to 16 x 16,"
        " by epoch: NormReLU and SELU instead of batch normalisation, and Fixup"
        " (figures 4, 5 and 8); of 110 layers NormReLU and batch normalisation.",
        ("normrelu", "selu", "batch", "fixup"),
        "residual",
    ),
    7: Course(
        "NormReLU beside SELU",
        "Accuracies of fully connected networks by epoch: the two are alike.",
        ("normrelu", "selu"),
    ),
}
"""The figures of the paper, by number."""
