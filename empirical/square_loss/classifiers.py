"""The paper's classifiers by family; see `networks`."""

from collections.abc import Sequence
from typing import Any, Literal

from empirical.checks import check_choice
from empirical.networks import Convolutional, FullyConnected, Norm
from empirical.networks.plan import Weighting

Classifier = FullyConnected | Convolutional
Family = Literal["none", "bn", "bn-affine", "wn", "wn-rows"]
FAMILIES: tuple[Family, ...] = ("none", "bn", "bn-affine", "wn", "wn-rows")


def classifier(
    family: Family,
    *,
    shape: Sequence[int],
    widths: Sequence[int],
    outputs: int = 1,
    kernel: int = 3,
    stride: int = 2,
    eps: float = 1e-12,
) -> Classifier:
    """Return the network of a family: dense on vectors, convolutional on images.

    With weight decay hidden weights shrink, and with a larger `eps` the outputs of batch
    normalisation would depend on them.

    Parameters
    ----------
    family : {"none", "bn", "bn-affine", "wn", "wn-rows"}
        Normalisation: none, over batches (without or with gain and shift), of each weight
        matrix, or of its rows.
    shape : sequence of int
        Shape of an input, (d,) or (channels, height, width).
    widths : sequence of int
        Hidden units, or channels, of each layer.
    outputs : int
    kernel : int
        Edge of the convolutions' kernels.
    stride : int
        Stride of the convolutions.
    eps : float
        Added to a batch's variance.

    Raises
    ------
    ValueError
        If there is no such family, or no such network.

    Examples
    --------
    >>> from empirical.randomness import torch_generator
    >>> from empirical.square_loss import start
    >>> net = classifier("wn", shape=(3,), widths=(4, 4))
    >>> params = start(net, [5.0], [torch_generator(7)])
    >>> [round(float(w.norm()), 12) for w in net.weights(params)]
    [1.0, 1.0, 5.0]
    """
    check_choice("classifier", "family", family, FAMILIES)
    norm = Norm(over="batch", affine=family == "bn-affine", eps=eps, momentum=None)
    if not family.startswith("bn"):
        norm = None
    named: dict[str, Weighting] = {"wn": "matrix", "wn-rows": "rows"}
    weighting = named.get(family)
    if len(shape) == 1:
        return FullyConnected(
            widths=(*shape, *widths, outputs),
            parametrisation="standard",
            norm=norm,
            weighting=weighting,
        )
    image: Any = shape  # of three sizes, or refused
    return Convolutional(
        shape=image,
        widths=tuple(widths),
        outputs=outputs,
        kernel=kernel,
        stride=stride,
        norm=norm,
        weighting=weighting,
    )
