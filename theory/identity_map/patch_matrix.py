r"""An image as the list of its patches, how much they span, and filters to fit them.

Layout: an image is (H, W) or (H, W, C); patch ``i * W + j`` is centred at pixel (i, j),
and its entry ``(c * K + p) * K + q`` is channel c at row offset ``p - K//2`` and column
offset ``q - K//2``, zero outside of the image. That is the order of a framework's weights
(C_out, C_in, K, K), whose rows, flattened, are therefore the weights of a patch. Source:
Zhang, Bengio, Hardt, Mozer, Singer 2020, appendix D.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._decomposition import singular_values
from theory.identity_map import _inputs
from theory.identity_map.ranks import Rank, _tolerance, decide_rank

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
    return _patch_rows(pixels, size, 0, pixels.shape[0])


def _patch_rows(image: Array, kernel: int, first: int, last: int) -> Array:
    """Return the patches centred in rows `first` to `last` - 1 of an (H, W, C) image."""
    half, channels = kernel // 2, image.shape[2]
    padded = np.pad(image, ((half, half), (half, half), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(
        padded[first : last + kernel - 1], (kernel, kernel), axis=(0, 1)
    )
    # (rows, W, C, K, K): each patch in the order of a framework's weights.
    return windows.reshape((last - first) * image.shape[1], channels * kernel**2)


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
    image, kernel_size
        As in `patches`.
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
    who = "patch_rank"
    pixels = _inputs.image(who, "image", image)
    size = _inputs.kernel(who, kernel_size)
    relative = _tolerance(who, rank_tolerance)
    matrix = _patch_rows(pixels, size, 0, pixels.shape[0])
    return decide_rank(singular_values(matrix), matrix.shape, relative)


def weights_to_framework(weights: Any, kernel_size: int) -> Array:
    """Return weights (K * K * C, C_out) as a framework's (C_out, C, K, K).

    Raises
    ------
    ValueError
        If the kernel is even, or the rows are no multiple of its area.

    Examples
    --------
    >>> weights_to_framework(centre_selector(3, 2), 3)[1, 1]
    array([[0., 0., 0.],
           [0., 1., 0.],
           [0., 0., 0.]])
    """
    who = "weights_to_framework"
    size = _inputs.kernel(who, kernel_size)
    w = _checks.real(who, "weights", weights)
    if w.ndim != 2 or w.size == 0 or w.shape[0] % size**2:
        raise ValueError(
            f"{who}: `weights` must have shape ({size**2} C, C_out), got {w.shape}."
        )
    return np.ascontiguousarray(w.T).reshape(w.shape[1], -1, size, size)


def weights_from_framework(weights: Any) -> Array:
    """Return a framework's weights (C_out, C, K, K) as (K * K * C, C_out).

    Raises
    ------
    ValueError
        If the kernel is even or not square.

    Examples
    --------
    >>> w = np.arange(36.0).reshape(2, 2, 3, 3)
    >>> np.array_equal(weights_to_framework(weights_from_framework(w), 3), w)
    True
    """
    who = "weights_from_framework"
    w = _checks.real(who, "weights", weights)
    if w.ndim != 4 or w.size == 0 or w.shape[2] != w.shape[3]:
        raise ValueError(
            f"{who}: `weights` must have shape (C_out, C, K, K), got {w.shape}."
        )
    _inputs.kernel(who, w.shape[2])
    return np.ascontiguousarray(w.reshape(w.shape[0], -1).T)
