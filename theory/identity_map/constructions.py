r"""The identity written down as weights: linear, ReLU and convolutional networks.

Lists of weights, first layer first, in a framework's layout: (out, in) for a linear
layer, (C_out, C_in, K, K) for a convolution with padding K//2; no biases. All entries are
0, 1 or -1, so that the output is the input to the last bit. Source: Zhang, Bengio, Hardt,
Mozer, Singer 2020, appendix B.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory.identity_map import _inputs

Array = npt.NDArray[np.float64]


def linear_identity(dim: int, layers: int, *, width: int | None = None) -> list[Array]:
    r"""Return a linear network that is the identity (ID-B1).

    Parameters
    ----------
    dim : int
        Inputs d >= 1.
    layers : int
        Weight layers L >= 1.
    width : int, optional
        Hidden units, at least d, which is the default; spare ones stay at zero.

    Returns
    -------
    list of array
        (width, d), (width, width), ..., (d, width).

    Raises
    ------
    ValueError
        If a count is too small.

    Examples
    --------
    >>> first, last = linear_identity(2, 2, width=3)
    >>> last @ first
    array([[1., 0.],
           [0., 1.]])
    """
    d, depth, h = _sizes("linear_identity", "dim", dim, layers, "width", width, 1)
    return _linear(d, depth, h)


def _linear(d: int, depth: int, h: int) -> list[Array]:
    sizes = [d, *[h] * (depth - 1), d]
    return [np.eye(b, a) for a, b in pairwise(sizes)]


def relu_identity(dim: int, layers: int, *, width: int | None = None) -> list[Array]:
    r"""Return a network with ReLU after all layers but the last (ID-B2).

    .. math:: W_1 = \begin{bmatrix} I\\ -I\end{bmatrix},\quad W_l = I_{2d},\quad
        W_L = \begin{bmatrix} I & -I\end{bmatrix}: \quad x = \max(x,0)-\max(-x,0)

    Arguments, shapes and errors as in `linear_identity`, with at least 2 d hidden units,
    which is the default; one layer has no ReLU.

    Raises
    ------
    ValueError
        If a count is too small.

    Examples
    --------
    >>> first, last = relu_identity(2, 2)
    >>> last @ np.maximum(first @ [3.0, -4.0], 0.0)
    array([ 3., -4.])
    """
    d, depth, h = _sizes("relu_identity", "dim", dim, layers, "width", width, 2)
    return _relu(d, depth, h)


def _relu(d: int, depth: int, h: int) -> list[Array]:
    if depth == 1:
        return [np.eye(d)]
    split = np.zeros((h, d))
    split[:d], split[d : 2 * d] = np.eye(d), -np.eye(d)
    middle = [np.eye(h) for _ in range(depth - 2)]
    return [split, *middle, split.T.copy()]


def linear_convolution_identity(
    kernel_size: int, image_channels: int, layers: int, *, channels: int | None = None
) -> list[Array]:
    """Return linear convolutions that are the identity (ID-B3).

    Centre taps of `linear_identity`; at any input size.

    Parameters
    ----------
    kernel_size, image_channels, layers : int
        Odd K, C >= 1 and weight layers L >= 1.
    channels : int, optional
        Hidden channels, at least C, which is the default.

    Returns
    -------
    list of array
        (channels, C, K, K), ..., (C, channels, K, K).

    Raises
    ------
    ValueError
        If the kernel is even or a count is too small.

    Examples
    --------
    >>> linear_convolution_identity(3, 1, 1)[0][0, 0]
    array([[0., 0., 0.],
           [0., 1., 0.],
           [0., 0., 0.]])
    """
    who = "linear_convolution_identity"
    size = _inputs.kernel(who, kernel_size)
    counts = _sizes(
        who, "image_channels", image_channels, layers, "channels", channels, 1
    )
    return [_centred(w, size) for w in _linear(*counts)]


def relu_convolution_identity(
    kernel_size: int, image_channels: int, layers: int, *, channels: int | None = None
) -> list[Array]:
    """Return convolutions with ReLU between them that are the identity (ID-B3).

    Centre taps of `relu_identity`: signs are split over 2 C channels, passed on, and
    merged; at any input size. Arguments, shapes and errors as in
    `linear_convolution_identity`, with at least 2 C hidden channels, the default.

    Raises
    ------
    ValueError
        If the kernel is even or a count is too small.

    Examples
    --------
    >>> [w.shape for w in relu_convolution_identity(5, 1, 3)]
    [(2, 1, 5, 5), (2, 2, 5, 5), (1, 2, 5, 5)]
    """
    who = "relu_convolution_identity"
    size = _inputs.kernel(who, kernel_size)
    counts = _sizes(
        who, "image_channels", image_channels, layers, "channels", channels, 2
    )
    return [_centred(w, size) for w in _relu(*counts)]


def _sizes(
    who: str, name: str, dim: Any, layers: Any, hidden: str, width: Any, times: int
) -> tuple[int, int, int]:
    """Return inputs, layers and hidden units, at least `times` the inputs."""
    d, depth = _inputs.whole(who, **{name: (dim, 1), "layers": (layers, 1)})
    least = times * d
    h = _checks.integer(who, hidden, least if width is None else width, 1)
    if h < least:
        need = f"be at least {least} for {d} of `{name}`"
        raise _checks.refuse(who, hidden, need, h)
    return d, depth, h


def _centred(weights: Array, kernel: int) -> Array:
    out = np.zeros((*weights.shape, kernel, kernel))
    out[:, :, kernel // 2, kernel // 2] = weights
    return out
