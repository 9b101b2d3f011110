"""The paper's figures by their numbers, and what the report shows beside them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from verify.figures.square_loss import curves
from verify.figures.square_loss import families as side
from verify.figures.square_loss.paper import PaperFigure
from verify.figures.square_loss.runs import Run
from verify.figures.style import Figure

_EXPERIMENTS = {
    "bn-decay": "batch normalisation with weight decay",
    "bn-conv": "convolutions with batch normalisation, no decay",
    "none": "neither normalisation nor decay",
}

_TYPICAL = "the draw of the median final norm"


@dataclass(frozen=True)
class _Kind:
    """What figures of several experiments show: the title, the caption, the drawing."""

    what: str
    caption: str
    plate: Callable[[Sequence[Run]], Figure]


_TRAINING = _Kind(
    "Training curves",
    "Loss and training error over epochs for every initial norm of a layer: lines are"
    f" {_TYPICAL}, bands the range over all seeds; test errors are known at the end"
    " only and stand to the right, one point a seed.",
    curves.training,
)
_NORMS = _Kind(
    "The norm",
    "The norm over epochs, a row for each initial norm of a layer, and where eq. (5)"
    " would let it rest with the directions of that epoch (left out where the average"
    f" margin is not positive): bold {_TYPICAL}, dots where it was recorded, thin the"
    " others; a dashed box is the next panel.",
    curves.norms,
)
_OUTPUTS = _Kind(
    "Mean |f|",
    f"Mean size of the normalised network's outputs over epochs: bold {_TYPICAL}, thin"
    " the others; it meets one over the norm when the loss is small.",
    curves.outputs,
)
_MARGINS = _Kind(
    "Sorted margins",
    f"Margins of all training examples at the end, sorted: bold {_TYPICAL}, thin the"
    " others; at zero loss the line is flat, at one over the norm.",
    curves.margins,
)
_DISTRIBUTION = _Kind(
    "The distribution of |f|",
    "Sizes of the normalised network's outputs over epochs, of all training examples of"
    f" {_TYPICAL}: the line is the median, dots where it was recorded, bands hold the"
    " middle half, 5 to 95 % and all.",
    curves.distribution,
)

_PRINTED = (
    (
        "bn-decay",
        _TRAINING,
        "one run, whose caption says both weight decay 0.01 and none.",
    ),
    ("bn-decay", _NORMS, "the product over all layers from 0.1, 1 and 5, which merge."),
    ("bn-decay", _OUTPUTS, "the same, from 0.1, 1 and 5."),
    ("bn-decay", _MARGINS, "margins nearly flat, and alike from every scale."),
    ("bn-conv", _TRAINING, "one run."),
    (
        "bn-conv",
        _NORMS,
        "the product over all layers from 0.1 and 5, which stay apart.",
    ),
    ("bn-conv", _MARGINS, "smaller margins from the larger scale."),
    ("bn-conv", _DISTRIBUTION, "the same as a histogram over time."),
    ("none", _TRAINING, "one run."),
    ("none", _NORMS, "the norm from 5, 15 and 30, which keeps its order."),
    ("none", _MARGINS, "smaller margins from larger scales."),
)
"""The figures in the paper's order: of which experiment, what, and as printed there."""

FIGURES: Mapping[int, PaperFigure] = {
    number: PaperFigure(
        number,
        f"{kind.what}, {_EXPERIMENTS[name]}",
        kind.caption,
        paper,
        kind.plate,
        needs=(name,),
    )
    for number, (name, kind, paper) in enumerate(_PRINTED, 1)
}
"""Every figure of the paper by its number."""


FAMILIES = PaperFigure(
    0,
    "The three families side by side",
    "One fully connected network trained three ways: norm and mean output over"
    " epochs, and sorted margins at the end. A colour is an initial norm of each"
    f" layer, its line {_TYPICAL}; all seeds lie in the bands and on the thin lines;"
    " dotted is one over the norm, margins that are not positive are left out.",
    "figures 2 to 4, 6 to 8, 10 and 11, each family with a network of its own.",
    side.families,
    needs=tuple(side.FAMILIES),
)
"""What the figures say of each family, of the same network."""

COLLAPSE = PaperFigure(
    0,
    "Neural collapse in the three families",
    "Three measures of neural collapse over epochs: within-class scatter over that"
    " between classes (NC1), distance of the last layer to the class means (NC3),"
    " share of examples that both decide differently (NC4); a line for each"
    f" initial norm of a layer ({_TYPICAL}), bands over seeds; vertical lines mark"
    " the first epoch without a training error.",
    "said of the end of training; nothing is drawn.",
    side.collapse,
    needs=tuple(side.FAMILIES),
)
"""What becomes of features in each family."""
