r"""An image as the list of its patches, and how much of patch space they span.

Layout: an image is (H, W) or (H, W, C); patch ``i * W + j`` is centred at pixel (i, j),
and its entry ``(c * K + p) * K + q`` is channel c at row offset ``p - K//2`` and column
offset ``q - K//2``, zero outside of the image. That is the order of a framework's weights
(C_out, C_in, K, K), whose rows, flattened, are therefore the weights of a patch. Source:
Zhang, Bengio, Hardt, Mozer, Singer 2020, appendix D.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from theory.identity_map import _inputs
from theory.identity_map._decomposition import singular_values
from theory.identity_map._patch_rows import patch_rows
from theory.identity_map.ranks import Rank, decide_rank

Array = npt.NDArray[np.float64]


def patches(image: Any, kernel_size: int) -> Array:
    r"""Return all patches of an image, one a row (ID-Patch).

    A convolution with stride 1 and zero padding ``K//2`` is ``patches(image, K) @ W``.

    Parameters
    ----------
    image : array, shape (H, W) or (H, W, C)
    kernel_size : int
        Odd K >= 1; may exceed the image.

    Returns
    -------
    array, shape (H * W, K * K * C)
        Copies of pixels and zeros, exact.

    Raises
    ------
    ValueError
        If the kernel is even, or the image has no pixels, a wrong shape or an entry that
        is not finite.

    Examples
    --------
    >>> patches([[1.0, 2.0], [3.0, -1.0]], 3)[0].reshape(3, 3)
    array([[ 0.,  0.,  0.],
           [ 0.,  1.,  2.],
           [ 0.,  3., -1.]])
    """
    pixels = _inputs.image("patches", "image", image)
    size = _inputs.kernel("patches", kernel_size)
    return patch_rows(pixels, size, 0, pixels.shape[0])


def centre_selector(kernel_size: int, channels: int) -> Array:
    r"""Return Lambda, which takes a patch to its centre pixel: ``Y = X Lambda``.

    Parameters
    ----------
    kernel_size : int
        Odd K.
    channels : int
        C >= 1.

    Returns
    -------
    array, shape (K * K * C, C)
        C ones, so that ``||Lambda||_F^2 = C``; the identity as a convolution.

    Raises
    ------
    ValueError
        If the kernel is even or there is no channel.

    Examples
    --------
    >>> image = np.arange(24.0).reshape(3, 4, 2)
    >>> np.array_equal(patches(image, 3) @ centre_selector(3, 2), image.reshape(12, 2))
    True
    """
    size = _inputs.kernel("centre_selector", kernel_size)
    (depth,) = _inputs.whole("centre_selector", channels=(channels, 1))
    taps = size * size
    out = np.zeros((taps * depth, depth))
    channel = np.arange(depth)
    out[channel * taps + taps // 2, channel] = 1.0
    return out


def patch_rank(
    image: Any, kernel_size: int, *, rank_tolerance: float | None = None
) -> Rank:
    r"""Return how much of patch space the patches of one image span (ID-Rank).

    Full rank, ``r = K^2 C``, means that one convolution layer trained on this image
    alone becomes the identity on every image of every size. What counts is the rank, not
    the number of patches against the number of parameters (``K^2 C`` for each output
    channel): 49 patches of a 7 x 7 colour image are more than enough for K = 3.

    Parameters
    ----------
    image : array, shape (H, W) or (H, W, C)
    kernel_size : int
        Odd K >= 1.
    rank_tolerance : float, optional
        Singular values up to this part of the largest count as zero.

    Returns
    -------
    Rank
        With `nullity`, `full`, `gap` and the singular values; `decided` is false if
        rounding could change the rank.

    Raises
    ------
    ValueError
        As `patches`.

    Notes
    -----
    By the short side: QR of the long one, then singular values, ``H W (K^2 C)^2`` or
    ``(H W)^2 K^2 C`` operations, whichever is less. Singular values to ``H W eps s_1``.

    Examples
    --------
    Zeros around an image do raise the rank, contrary to the paper:

    >>> image = np.array([[1.0, 2.0], [3.0, -1.0]])
    >>> patch_rank(image, 3).rank, patch_rank(np.pad(image, 1), 3).rank
    (4, 9)
    """
    pixels = _inputs.image("patch_rank", "image", image)
    size = _inputs.kernel("patch_rank", kernel_size)
    matrix = patch_rows(pixels, size, 0, pixels.shape[0])
    return decide_rank(singular_values(matrix), matrix.shape, rank_tolerance)
