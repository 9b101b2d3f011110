"""How far weights moved, and how much of an image a neuron can see."""

import torch
from torch import Tensor
from torch.nn.functional import conv2d

from empirical.checks import check_counts
from empirical.networks import Convolutional, Network, Params


def relative_change(initial: Params, final: Params) -> Tensor:
    r"""Return :math:`\|W^0 - W^*\| / \|W^0\|` of every layer, Frobenius norms.

    Parameters
    ----------
    initial, final : tuple of Tensor
        Stacked along a leading axis of replicates.

    Returns
    -------
    Tensor, shape (replicates, layers), float64
        NaN where final weights are not finite: a diverged training.

    Raises
    ------
    ValueError
        If the shapes disagree, or an initial layer is zero or not finite.

    Examples
    --------
    >>> w = torch.tensor([[[3.0, 4.0]]])
    >>> relative_change((w,), (3.0 * w,))
    tensor([[2.]], dtype=torch.float64)
    """
    shapes = [[tuple(w.shape) for w in params] for params in (initial, final)]
    if shapes[0] != shapes[1] or not initial:
        raise ValueError(
            "relative_change: `final` must have the shapes of `initial`, "
            f"{shapes[0]}, but it has {shapes[1]}"
        )
    columns: list[Tensor] = []
    for layer, (before, after) in enumerate(zip(initial, final, strict=True)):
        old, new = (w.detach().to(torch.float64).flatten(1) for w in (before, after))
        # No square under- or overflows.
        top = old.abs().amax(dim=1, keepdim=True)
        old, new = old / top, new / top
        size = old.norm(dim=1)
        bad = ~torch.isfinite(size)
        if bool(bad.any()):
            raise ValueError(
                "relative_change: `initial` must be finite and not zero, but layer "
                f"{layer + 1} of {int(bad.sum())} of {len(bad)} replicates is not, e.g. "
                f"replicate {int(bad.nonzero()[0])}"
            )
        change = (new - old).norm(dim=1) / size
        columns.append(torch.where(torch.isfinite(change), change, torch.nan))
    return torch.stack(columns, dim=1)


def cover(
    network: Network, position: tuple[int, int], *, layers: int | None = None
) -> Tensor:
    r"""Return which fraction of an image one output pixel can see, by depth.

    A network of kernels of ones carries a spot at `position` backwards: for symmetric
    kernels, zero padded, backwards is forwards. Nothing is assumed about how receptive
    fields grow.

    Parameters
    ----------
    network : Network
        Its kind, kernel and shape count, its width does not.
    position : pair of int
        Row and column of the output pixel.
    layers : int, optional
        How many; the network's own by default.

    Returns
    -------
    Tensor, shape (layers,), float64
        Fractions of the H W pixels l = 1, 2, ... layers below.

    Raises
    ------
    ValueError
        If the network is not of images, is of convolutions that are not all alike and
        of stride 1, `position` is no pixel, or `layers` is below 1.

    Examples
    --------
    At a corner a kernel of 29 covers 15 by 15 of 28 by 28 pixels, not half of them:

    >>> net = Convolutional(shape=(1, 28, 28), kernel=29)
    >>> round(cover(net, (0, 0)).item(), 3)
    0.287
    """
    kinds = {(layer.weight[2:], layer.stride) for layer in network.plan}
    if len(network.input_shape) != 3 or len(kinds) > 1 or kinds.pop()[1] > 1:
        raise ValueError(
            "cover: `network` must be of images, its layers all fully connected or all"
            f" the same convolution with stride 1, but it is {network}"
        )
    check_counts("cover", layers=layers)
    _, height, width = network.input_shape
    row, column = position
    if not (0 <= row < height and 0 <= column < width):
        raise ValueError(
            f"cover: `position` must be a pixel of {height} by {width}, but it is "
            f"{position}"
        )
    count = network.layers if layers is None else layers
    if not isinstance(network, Convolutional):
        # In a fully connected layer every unit sees all inputs.
        return torch.ones(count, dtype=torch.float64)
    kernel = torch.ones((1, 1, network.kernel, network.kernel), dtype=torch.float64)
    spot = torch.zeros((1, 1, height, width), dtype=torch.float64)
    spot[..., row, column] = 1.0
    fractions: list[Tensor] = []
    for _ in range(count):
        # Back to zeros and ones, so that no depth overflows. Sums of ones are whole:
        # half of one separates them from zero in any arithmetic.
        seen = conv2d(spot, kernel, padding=network.kernel // 2)
        spot = (seen > 0.5).to(torch.float64)
        fractions.append(spot.mean())
    return torch.stack(fractions)
