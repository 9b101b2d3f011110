"""Fully connected ReLU classifiers; see `networks`."""

from collections.abc import Sequence
from typing import Literal

from empirical.networks import FullyConnected, Norm

Start = Literal["he", "xavier"]
STARTS = ("he", "xavier")


def classifier(widths: Sequence[int], *, batch_norm: bool = False) -> FullyConnected:
    """Return the network of these widths: inputs, hidden units of each layer, classes.

    With biases, and with `batch_norm` normalised over the batch ahead of each ReLU, with
    gain, shift and running statistics.

    Raises
    ------
    ValueError
        If there are fewer than two classes, or a width is not positive.

    Examples
    --------
    >>> classifier((784, 392, 392, 392, 2)).parameters
    616618
    """
    if len(widths) < 2 or min(widths) < 1:
        raise ValueError(
            "classifier: `widths` must be inputs, hidden units and classes, all "
            f"positive, but they are {tuple(widths)}"
        )
    if widths[-1] < 2:
        raise ValueError(
            f"classifier: `widths` must end in at least 2 classes, but it ends in "
            f"{widths[-1]}. A single logit z has the two classes (0, z)."
        )
    return FullyConnected(
        widths=tuple(widths),
        parametrisation="standard",
        bias=True,
        norm=Norm(over="batch") if batch_norm else None,
    )
