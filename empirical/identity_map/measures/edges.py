r"""Whether outputs show the edges of their inputs.

The edges g of an image x are the magnitude of its gradient by Sobel's kernels. What an
output holds of them is what they add to a fit by the constant image, x and the training
image, as a share of the output's variance over pixels: 0 for any mixture of those three.
"""

import torch
from torch import Tensor
from torch.nn.functional import conv2d, pad

from empirical.checks import check_finite

_ROUNDING = 2.0**-50
"""Of a number in float64, and a little."""

_ACROSS = ((1.0, 0.0, -1.0), (2.0, 0.0, -2.0), (1.0, 0.0, -1.0))


def sobel(images: Tensor) -> Tensor:
    """Return the magnitude of every channel's gradient, float64; borders are repeated.

    Parameters
    ----------
    images : Tensor, shape (n, C, H, W)

    Examples
    --------
    A step of height one, across four of its neighbours' rows:

    >>> sobel(torch.tensor([[[[0.0, 0.0, 1.0, 1.0]]]]))
    tensor([[[[0., 4., 4., 0.]]]], dtype=torch.float64)
    """
    single = images.to(torch.float64).flatten(0, 1)[:, None]
    across = torch.tensor(_ACROSS, dtype=torch.float64, device=images.device)
    kernels = torch.stack([across, across.T])[:, None]
    slopes = conv2d(pad(single, (1, 1, 1, 1), mode="replicate"), kernels)
    return slopes.norm(dim=1).reshape(images.shape)


def _basis(columns: Tensor) -> Tensor:
    """Return an orthonormal basis of columns, without those that others make up."""
    q, r = torch.linalg.qr(columns)
    least = _ROUNDING * len(columns) * columns.norm(dim=0)
    own = r.diagonal().abs() > least
    # A copy of all would lie otherwise in memory, and round otherwise.
    return q if bool(own.all()) else q[:, own]


def edge_share(
    outputs: Tensor, images: Tensor, training: Tensor, edges: Tensor
) -> Tensor:
    """Return the share of every output's variance that `edges` add to its fit.

    Parameters
    ----------
    outputs : Tensor, shape (replicates, n, C, H, W)
    images, edges : Tensor, shape (n, C, H, W)
        What was put in, and a picture of the edges of each.
    training : Tensor, shape (C, H, W)

    Returns
    -------
    Tensor, shape (replicates, n), float64
        In [0, 1]; NaN for an output without variance, or one that is not finite.

    Raises
    ------
    ValueError
        If anything but the outputs is not finite.

    Examples
    --------
    The edges of an image are none of the image itself:

    >>> x = torch.eye(6)[None, None]
    >>> both = torch.stack([x, sobel(x)])
    >>> own, detector = edge_share(both, x, x[0].flip(-1), sobel(x)).flatten().tolist()
    >>> own < 1e-12 < 0.1 < detector <= 1.0
    True
    """
    pictures = {"images": images, "training": training, "edges": edges}
    for name, given in pictures.items():
        check_finite("edge_share", name, given)
    flat = outputs.to(torch.float64).flatten(2)
    # No square under- or overflows, and a constant output is nothing but ones.
    flat = flat / flat.abs().amax(dim=-1, keepdim=True)
    flat = flat - flat.mean(dim=-1, keepdim=True)
    size = flat.square().sum(dim=-1)
    shares: list[Tensor] = []
    for row, (x, g) in enumerate(zip(images, edges, strict=True)):
        known = torch.stack(
            [torch.ones_like(x).flatten(), x.flatten(), training.flatten()], dim=1
        )
        basis = _basis(known.to(torch.float64))
        edge = g.to(torch.float64).flatten()
        least = _ROUNDING * len(edge) * edge.norm()
        for _ in range(2):
            edge = edge - basis @ (basis.T @ edge)
        # Of edges that the three pictures make up rounding is left, which adds nothing.
        size_left = edge.norm()
        along = flat[:, row] @ torch.where(size_left > least, edge / size_left, 0.0)
        shares.append(along.square() / size[:, row])
    found = torch.stack(shares, dim=1)
    return torch.where(torch.isfinite(found), found, torch.nan).clamp(max=1.0)
