"""Images as networks take them."""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from empirical.checks import check_counts


def pixels(images: npt.NDArray[np.uint8], *, side: int | None = None) -> Tensor:
    """Return pixels in [0, 1], float64, channels in front: (n, channels, h, w).

    Parameters
    ----------
    images : array of uint8, shape (n, h, w) or (n, h, w, channels)
    side : int, optional
        Shrink images to this edge, each pixel the mean of those it covers.

    Raises
    ------
    ValueError
        If images are not of such a shape or not of bytes, or smaller than `side`.

    Examples
    --------
    >>> whole = np.array([[[0, 255], [255, 255]]], dtype=np.uint8)
    >>> pixels(whole).shape, pixels(whole, side=1).tolist()
    (torch.Size([1, 1, 2, 2]), [[[[0.75]]]])
    """
    if images.dtype != np.uint8 or images.ndim not in (3, 4):
        raise ValueError(
            "pixels: `images` must be uint8 of shape (n, h, w) or (n, h, w, channels), "
            f"but they are {images.dtype} of {images.shape}"
        )
    check_counts("pixels", side=side)
    if side is not None and side > min(images.shape[1:3]):
        raise ValueError(
            f"pixels: `side` must not be above the images' {min(images.shape[1:3])}, but "
            f"it is {side}"
        )
    x = torch.from_numpy(images.astype(np.float64) / 255.0)
    x = x[:, None] if x.ndim == 3 else x.movedim(3, 1)
    return x if side is None else functional.adaptive_avg_pool2d(x, side)
