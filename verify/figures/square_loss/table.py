"""The paper's figures by their numbers, and what the report shows beside them."""

from collections.abc import Mapping
from typing import Any

from verify.figures.square_loss import curves
from verify.figures.square_loss import families as side
from verify.figures.square_loss.paper import PaperFigure

_EXPERIMENTS = {
    "bn-decay": "batch normalisation with weight decay",
    "bn-conv": "convolutions with batch normalisation, no decay",
    "none": "neither normalisation nor decay",
}

_TYPICAL = "the draw of the median final norm"

_TRAINING = (
    "Loss and training error over epochs for every initial norm of a layer: lines are"
    f" {_TYPICAL}, bands the range over all seeds; test errors are known at the end"
    " only and stand to the right, one point a seed."
)
_NORMS = (
    "The norm over epochs, a row for each initial norm of a layer, and where eq. (5)"
    " would let it rest with the directions of that epoch (left out where the average"
    f" margin is not positive): bold {_TYPICAL}, dots where it was recorded, thin the"
    " others; a dashed box is the next panel."
)
_MARGINS = (
    f"Margins of all training examples at the end, sorted: bold {_TYPICAL}, thin the"
    " others; at zero loss the line is flat, at one over the norm."
)


def _entry(number: int, name: str, what: str, **given: Any) -> PaperFigure:
    title = f"{what}, {_EXPERIMENTS[name]}"
    return PaperFigure(number=number, title=title, needs=(name,), **given)


_ENTRIES = (
    _entry(
        1,
        "bn-decay",
        "Training curves",
        caption=_TRAINING,
        paper="one run, whose caption says both weight decay 0.01 and none.",
        plate=curves.training,
    ),
    _entry(
        2,
        "bn-decay",
        "The norm",
        caption=_NORMS,
        paper="the product over all layers from 0.1, 1 and 5, which merge.",
        plate=curves.norms,
    ),
    _entry(
        3,
        "bn-decay",
        "Mean |f|",
        caption=(
            "Mean size of the normalised network's outputs over epochs: bold"
            f" {_TYPICAL}, thin the others; it meets one over the norm when the loss"
            " is small."
        ),
        paper="the same, from 0.1, 1 and 5.",
        plate=curves.outputs,
    ),
    _entry(
        4,
        "bn-decay",
        "Sorted margins",
        caption=_MARGINS,
        paper="margins nearly flat, and alike from every scale.",
        plate=curves.margins,
    ),
    _entry(
        5,
        "bn-conv",
        "Training curves",
        caption=_TRAINING,
        paper="one run.",
        plate=curves.training,
    ),
    _entry(
        6,
        "bn-conv",
        "The norm",
        caption=_NORMS,
        paper="the product over all layers from 0.1 and 5, which stay apart.",
        plate=curves.norms,
    ),
    _entry(
        7,
        "bn-conv",
        "Sorted margins",
        caption=_MARGINS,
        paper="smaller margins from the larger scale.",
        plate=curves.margins,
    ),
    _entry(
        8,
        "bn-conv",
        "The distribution of |f|",
        caption=(
            "Sizes of the normalised network's outputs over epochs, of all training"
            f" examples of {_TYPICAL}: the line is the median, dots where it was"
            " recorded, bands hold the middle half, 5 to 95 % and all."
        ),
        paper="the same as a histogram over time.",
        plate=curves.distribution,
    ),
    _entry(
        9,
        "none",
        "Training curves",
        caption=_TRAINING,
        paper="one run.",
        plate=curves.training,
    ),
    _entry(
        10,
        "none",
        "The norm",
        caption=_NORMS,
        paper="the norm from 5, 15 and 30, which keeps its order.",
        plate=curves.norms,
    ),
    _entry(
        11,
        "none",
        "Sorted margins",
        caption=_MARGINS,
        paper="smaller margins from larger scales.",
        plate=curves.margins,
    ),
)

FIGURES: Mapping[int, PaperFigure] = {one.number: one for one in _ENTRIES}
"""Every figure of the paper by its number."""

MAIN = tuple(FIGURES)
"""Figures that the report shows."""

FAMILIES = PaperFigure(
    number=0,
    title="The three families side by side",
    caption=(
        "One fully connected network trained three ways: norm and mean output over"
        " epochs, and sorted margins at the end. A colour is an initial norm of each"
        f" layer, its line {_TYPICAL}; all seeds lie in the bands and on the thin lines;"
        " dotted is one over the norm, margins that are not positive are left out."
    ),
    paper="figures 2 to 4, 6 to 8, 10 and 11, each family with a network of its own.",
    needs=tuple(side.FAMILIES),
    plate=side.families,
)
"""What the figures say of each family, of the same network."""

COLLAPSE = PaperFigure(
    number=0,
    title="Neural collapse in the three families",
    caption=(
        "Three measures of neural collapse over epochs: within-class scatter over that"
        " between classes (NC1), distance of the last layer to the class means (NC3),"
        " share of examples that both decide differently (NC4); a line for each"
        f" initial norm of a layer ({_TYPICAL}), bands over seeds; vertical lines mark"
        " the first epoch without a training error."
    ),
    paper="said of the end of training; nothing is drawn.",
    needs=tuple(side.FAMILIES),
    plate=side.collapse,
)
"""What becomes of features in each family."""
