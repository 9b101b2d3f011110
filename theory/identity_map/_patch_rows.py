"""Patches of some rows of an image, for images whose whole matrix is too large."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_BLOCK = 2**22
"""Entries of a block of patches: 32 MiB."""


def patch_rows(image: Array, kernel_size: int, first: int, last: int) -> Array:
    """Return the patches centred in rows `first` to `last` - 1 of an (H, W, C) image.

    Examples
    --------
    >>> patch_rows(np.ones((9, 4, 1)), 3, 2, 5).shape
    (12, 9)
    """
    _, width, channels = image.shape
    padded = pad(image, kernel_size)[first : last + kernel_size - 1]
    windows = np.lib.stride_tricks.sliding_window_view(
        padded, (kernel_size, kernel_size), axis=(0, 1)
    )
    # (rows, W, C, K, K): each patch in the order of a framework's weights.
    return windows.reshape((last - first) * width, channels * kernel_size**2)


def pad(image: Array, kernel_size: int) -> Array:
    """Return the (H, W, C) image with K//2 zeros around it."""
    half = kernel_size // 2
    return np.pad(image, ((half, half), (half, half), (0, 0)))


def convolve(image: Array, weights: Array, kernel: int) -> Array:
    """Return the convolution, shape (..., H * W, C), block by block."""
    parts = [block @ weights for block in patch_blocks(image, kernel)]
    return np.concatenate(parts, axis=-2)


def patch_blocks(image: Array, kernel: int) -> Iterator[Array]:
    """Yield the patches of a few image rows at a time."""
    height, width, channels = image.shape
    rows = max(1, _BLOCK // (width * channels * kernel**2))
    for first in range(0, height, rows):
        yield patch_rows(image, kernel, first, min(first + rows, height))
