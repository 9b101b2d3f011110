r"""An image as the list of its patches: how much they span, filters to fit them.

Layout: an image is (H, W) or (H, W, C); patch ``i * W + j`` is centred at pixel (i, j),
and its entry ``(c * K + p) * K + q`` is channel c at row offset ``p - K//2`` and column
offset ``q - K//2``, zero outside of the image. That is the order of a framework's weights
(C_out, C_in, K, K), whose rows, flattened, are therefore the weights of a patch. Source:
Zhang, Bengio, Hardt, Mozer, Singer 2020, appendix D, and Lemmas 1 and 2, which assume
full rank; here any rank is one case, and one that rounding could change is called so.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._decomposition import singular_values
from theory.identity_map import _inputs

Array = npt.NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)
_ROUNDING = 8.0 * EPS
"""Singular values that rounding makes are below this part of the largest."""


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
        If the kernel is even, there is no channel, or there are more than 2^30 entries.

    Examples
    --------
    >>> image = np.arange(24.0).reshape(3, 4, 2)
    >>> np.array_equal(patches(image, 3) @ centre_selector(3, 2), image.reshape(12, 2))
    True
    """
    size = _inputs.kernel("centre_selector", kernel_size)
    (depth,) = _inputs.whole("centre_selector", channels=(channels, 1))
    taps = size * size
    _inputs.writable("centre_selector", taps * depth * depth, "kernel_size", "channels")
    out = np.zeros((taps * depth, depth))
    channel = np.arange(depth)
    out[channel * taps + taps // 2, channel] = 1.0
    return out


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
    return w.T.copy().reshape(w.shape[1], -1, size, size)


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
    if w.ndim != 4 or w.size == 0 or w.shape[2] != w.shape[3] or w.shape[2] % 2 == 0:
        need = "(C_out, C, K, K) with an odd K"
        raise ValueError(f"{who}: `weights` must have shape {need}, got {w.shape}.")
    return w.reshape(w.shape[0], -1).T.copy()


@dataclass(frozen=True)
class Rank:
    r"""The rank of a data matrix and how far the decision is from rounding.

    A singular value counts if it exceeds ``threshold``, by default ``max(shape, 16) eps
    sigma_max``. Values between a quarter and 16 times the threshold (but never those
    below ``8 eps sigma_max``, which rounding makes) are too close to call: with one of
    them `decided` is false. A caller's own tolerance is final.
    """

    rank: int
    columns: int
    threshold: float
    decided: bool
    singular_values: Array = field(repr=False, compare=False)

    @property
    def nullity(self) -> int:
        """Directions of weight space that no row sees, ``n = columns - rank``."""
        return self.columns - self.rank

    @property
    def full(self) -> bool:
        """Whether the rows span the whole space: ``n = 0``."""
        return self.nullity == 0

    @property
    def gap(self) -> float:
        """Least kept singular value over the largest dropped one.

        Infinite if none is dropped, or only exact zeros; 1 if all are zero.
        """
        s = self.singular_values
        if self.rank == 0:
            return 1.0
        dropped = float(s[self.rank]) if self.rank < s.size else 0.0
        return float(s[self.rank - 1]) / dropped if dropped else np.inf

    @property
    def condition(self) -> float:
        """Largest over least kept singular value; 1 at rank 0."""
        s = self.singular_values
        return float(s[0] / s[self.rank - 1]) if self.rank else 1.0

    def require_decided(self, who: str) -> None:
        """Raise ValueError if the rank is too close to call."""
        if self.decided:
            return
        s = self.singular_values
        known = s[s > _ROUNDING * s[0]]
        near = known[np.argmin(np.abs(np.log(known / self.threshold)))]
        raise ValueError(
            f"{who}: the rank is too close to call: the singular value {near:.3g} is"
            f" near the threshold {self.threshold:.3g} (rank {self.rank} of"
            f" {self.columns}). Pass `rank_tolerance`, relative to the largest singular"
            f" value {s[0]:.3g}, to decide it."
        )


def decide_rank(
    singular_values: Any, shape: tuple[int, int], rank_tolerance: float | None = None
) -> Rank:
    """Return the `Rank` of a matrix of this shape from its singular values.

    Parameters
    ----------
    singular_values : array, shape (at most min(shape),)
        Not negative; in any order.
    shape : (int, int)
        Rows and columns of the matrix.
    rank_tolerance : float, optional
        Threshold relative to the largest singular value, in [0, 1); the default is
        ``max(shape, 16) eps`` with a margin around it.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> decide_rank([2.0, 1.0, 0.0], (3, 5)).rank
    2
    >>> decide_rank([1.0, 1e-14], (40, 2)).decided
    False
    >>> decide_rank([1.0, 1e-14], (40, 2), rank_tolerance=1e-10).decided
    True
    """
    who = "decide_rank"
    sides = _checks.listed(who, "shape", shape, "rows and columns")
    if len(sides) != 2:
        raise _checks.refuse(who, "shape", "be (rows, columns)", shape)
    rows, columns = (_checks.integer(who, "shape", v, 1) for v in sides)
    s = np.atleast_1d(_checks.not_negative(who, "singular_values", singular_values))
    if s.ndim > 1 or s.size > min(rows, columns):
        raise ValueError(
            f"{who}: `singular_values` must have shape (at most {min(rows, columns)},)"
            f" for a matrix of `shape` ({rows}, {columns}), got {s.shape}."
        )
    s = np.sort(s)[::-1]
    top = float(s[0]) if s.size else 0.0
    relative = _inputs.tolerance(who, rank_tolerance)
    if relative is not None:
        threshold, close = relative * top, np.zeros(s.shape, dtype=bool)
    else:
        threshold = max(rows, columns, 16) * EPS * top
        close = (s > max(0.25 * threshold, _ROUNDING * top)) & (s < 16.0 * threshold)
    rank = int((s > threshold).sum())
    return Rank(rank, columns, threshold, not bool(close.any()), s)


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
    relative = _inputs.tolerance(who, rank_tolerance)
    matrix = _patch_rows(pixels, size, 0, pixels.shape[0])
    return decide_rank(singular_values(matrix), matrix.shape, relative)


def coverage(kernel_size: int, height: int, width: int, row: int, column: int) -> float:
    r"""Return the part of a map that a neuron of the next layer sees (ID-Err7).

    The pixels within ``K//2`` of (row, column) in both directions, over H W. In a corner
    of a 28 x 28 map, K = 29 sees 15 x 15 pixels, not half of the map; only from K = 55
    on does every neuron see all of it, ``K = 2 max(H, W) - 1``.

    Parameters
    ----------
    kernel_size, height, width : int
        Odd K and the map, H x W.
    row, column : int
        Position, from 0.

    Returns
    -------
    float
        In (0, 1].

    Raises
    ------
    ValueError
        If the kernel is even, a count is out of range, or the position is off the map.

    Examples
    --------
    >>> round(coverage(29, 28, 28, 0, 0), 3), coverage(55, 28, 28, 0, 0)
    (0.287, 1.0)
    """
    who = "coverage"
    half = _inputs.kernel(who, kernel_size) // 2
    h, w, i, j = _inputs.whole(
        who, height=(height, 1), width=(width, 1), row=(row, 0), column=(column, 0)
    )
    for name, at, size in (("row", i, h), ("column", j, w)):
        _checks.reject(who, name, f"be below {size}", at >= size, at, "")
    return _seen(half, h, i) * _seen(half, w, j) / (h * w)


def _seen(half: int, size: int, at: int) -> int:
    return min(at + half, size - 1) - max(at - half, 0) + 1


def receptive_field(kernel_size: int, layers: int) -> int:
    """Return the side of the square of inputs that one output depends on.

    ``L (K - 1) + 1``; of an image of this side or less the output at the centre sees all.

    Raises
    ------
    ValueError
        If the kernel is even or there is no layer.

    Examples
    --------
    >>> receptive_field(5, 20)
    81
    """
    size = _inputs.kernel("receptive_field", kernel_size)
    (depth,) = _inputs.whole("receptive_field", layers=(layers, 1))
    return depth * (size - 1) + 1
