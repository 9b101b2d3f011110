r"""Networks of the paper: sizes, initial variances, weights that are the identity.

Weights written down are lists, first layer first, in a framework's layout: (out, in) for
a linear layer, (C_out, C_in, K, K) for a convolution with padding K//2; no biases. All
entries are 0, 1 or -1, so that the output is the input to the last bit. Source: Zhang,
Bengio, Hardt, Mozer, Singer 2020, Table 1, section 3 and appendices B and I.
"""

import difflib
import math
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory.identity_map import _inputs

Array = npt.NDArray[np.float64]


def fcn_parameter_count(
    input_dim: int, width: int, layers: int, output_dim: int | None = None
) -> int:
    """Return the weights of a fully connected net without biases (Table 1).

    ``d o`` for one layer, else ``d h + (L - 2) h^2 + h o``, with o = d by default.

    Parameters
    ----------
    input_dim, width, layers : int
        d, h and weight layers L, each at least 1; one layer has no hidden units.
    output_dim : int, optional
        o.

    Raises
    ------
    ValueError
        If a count is not a positive whole number.

    Examples
    --------
    >>> fcn_parameter_count(784, 2048, 4)
    11599872
    """
    who = "fcn_parameter_count"
    d, h, depth = _inputs.whole(
        who, input_dim=(input_dim, 1), width=(width, 1), layers=(layers, 1)
    )
    (o,) = _inputs.whole(who, output_dim=(d if output_dim is None else output_dim, 1))
    return d * o if depth == 1 else d * h + (depth - 2) * h * h + h * o


def cnn_parameter_count(
    kernel_size: int, channels: int, layers: int, image_channels: int = 1
) -> int:
    """Return the weights of a convolutional net without biases (Table 1).

    ``K^2 C^2`` for one layer, else ``K^2 (2 C c + (L - 2) c^2)`` with c hidden and C
    image channels.

    Parameters
    ----------
    kernel_size, channels, layers, image_channels : int
        Odd K, c, weight layers L and C, each at least 1.

    Raises
    ------
    ValueError
        If the kernel is even, or a count is not a positive whole number.

    Examples
    --------
    >>> cnn_parameter_count(5, 128, 20)
    7379200
    """
    who = "cnn_parameter_count"
    size = _inputs.kernel(who, kernel_size)
    c, depth, image = _inputs.whole(
        who,
        channels=(channels, 1),
        layers=(layers, 1),
        image_channels=(image_channels, 1),
    )
    area = size * size
    if depth == 1:
        return area * image * image
    return area * (2 * image * c + (depth - 2) * c * c)


_VARIANCES = {
    "default": lambda i, o: 1.0 / (i * o),
    "default-sqrt": lambda i, o: 1.0 / math.sqrt(i * o),
    "framework": lambda i, _: 1.0 / (3.0 * i),
    "xavier-normal": lambda i, o: 2.0 / (i + o),
    "xavier-uniform": lambda i, o: 2.0 / (i + o),
    "kaiming-normal": lambda i, _: 2.0 / i,
    "kaiming-uniform": lambda i, _: 2.0 / i,
    "orthogonal": lambda i, o: 1.0 / max(i, o),
}

SCHEMES = tuple(_VARIANCES)
"""Names of the initialisations."""


def initial_variance(scheme: str, fan_in: int, fan_out: int) -> float:
    r"""Return the variance of a weight at the start of training (ID-Fig31).

    =================  =============================================================
    default            ``1 / (f_i f_o)``, as printed
    default-sqrt       ``1 / sqrt(f_i f_o)``: the printed value read as the square of
                       a variance, so that the deviation is ``(f_i f_o)^(-1/4)``
    framework          ``1 / (3 f_i)``: uniform on ``+-1/sqrt(f_i)``
    xavier-normal      ``2 / (f_i + f_o)``
    xavier-uniform     the same, uniform on ``+-sqrt(6 / (f_i + f_o))``
    kaiming-normal     ``2 / f_i``
    kaiming-uniform    the same, uniform on ``+-sqrt(6 / f_i)``
    orthogonal         ``1 / max(f_i, f_o)``: rows or columns of a random rotation
    =================  =============================================================

    Parameters
    ----------
    scheme : str
        One of `SCHEMES`.
    fan_in, fan_out : int
        Inputs and outputs of a unit: ``K^2 C_in`` and ``K^2 C_out`` for a convolution.
        An orthogonal convolution is a matrix (C_out, K^2 C_in): give its own sides.

    Returns
    -------
    float
        Positive, to 2 ulp.

    Raises
    ------
    ValueError
        If a fan is not a positive whole number or the scheme unknown; near names are
        suggested.

    Examples
    --------
    >>> initial_variance("xavier-normal", 6, 10), initial_variance("kaiming-normal", 8, 1)
    (0.125, 0.25)
    >>> initial_variance("kaiming", 8, 1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: ... Did you mean 'kaiming-normal' or 'kaiming-uniform'?
    """
    return _variance("initial_variance", scheme, fan_in, fan_out)


def _variance(who: str, scheme: Any, fan_in: int, fan_out: int) -> float:
    i, o = _inputs.whole(who, fan_in=(fan_in, 1), fan_out=(fan_out, 1))
    if not isinstance(scheme, str) or scheme not in _VARIANCES:
        near = difflib.get_close_matches(str(scheme), SCHEMES, n=2, cutoff=0.5)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise ValueError(
            f"{who}: `scheme` must be one of {', '.join(SCHEMES)},"
            f" got {scheme!r:.80}.{hint}"
        )
    return _VARIANCES[scheme](i, o)


def relu_shrink(scheme: str, fan_in: int, fan_out: int) -> float:
    r"""Return the factor of a ReLU layer on the root mean square of its signal.

    .. math:: \sqrt{f_i\,s^2/2}

    Weights are independent with variance s^2 = `initial_variance`; the signal is a
    symmetric one whose negative half the previous ReLU dropped. The factor is one for
    Kaiming. At the printed default a 128-channel 5 x 5 net shrinks signals by
    ``1 / sqrt(2 f_o) = 0.0125`` a layer, and 20 layers of it reach 1e-37 (ID-Err6). For
    orthogonal weights it is exact in the mean over rotations.

    Parameters
    ----------
    scheme, fan_in, fan_out
        As in `initial_variance`.

    Raises
    ------
    ValueError
        As `initial_variance`.

    Examples
    --------
    >>> round(relu_shrink("default", 3200, 3200), 4)
    0.0125
    >>> relu_shrink("kaiming-normal", 3200, 3200)
    1.0
    """
    variance = _variance("relu_shrink", scheme, fan_in, fan_out)
    return math.sqrt(0.5 * fan_in * variance)


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
        If a count is too small, or there are more than 2^30 entries.

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
        If a count is too small, or there are more than 2^30 entries.

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
        If the kernel is even, a count is too small, or there are more than 2^30 entries.

    Examples
    --------
    >>> linear_convolution_identity(3, 1, 1)[0][0, 0]
    array([[0., 0., 0.],
           [0., 1., 0.],
           [0., 0., 0.]])
    """
    who = "linear_convolution_identity"
    size = _inputs.kernel(who, kernel_size)
    name, hidden = "image_channels", "channels"
    counts = _sizes(
        who, name, image_channels, layers, hidden, channels, 1, kernel_size=size
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
        If the kernel is even, a count is too small, or there are more than 2^30 entries.

    Examples
    --------
    >>> [w.shape for w in relu_convolution_identity(5, 1, 3)]
    [(2, 1, 5, 5), (2, 2, 5, 5), (1, 2, 5, 5)]
    """
    who = "relu_convolution_identity"
    size = _inputs.kernel(who, kernel_size)
    name, hidden = "image_channels", "channels"
    counts = _sizes(
        who, name, image_channels, layers, hidden, channels, 2, kernel_size=size
    )
    return [_centred(w, size) for w in _relu(*counts)]


def _sizes(
    who: str,
    name: str,
    dim: Any,
    layers: Any,
    hidden: str,
    width: Any,
    times: int,
    *,
    kernel_size: int | None = None,
) -> tuple[int, int, int]:
    """Return inputs, layers and hidden units, at least `times` the inputs."""
    d, depth = _inputs.whole(who, **{name: (dim, 1), "layers": (layers, 1)})
    least = times * d
    h = _checks.integer(who, hidden, least if width is None else width, 1)
    if h < least:
        need = f"be at least {least} for {d} of `{name}`"
        raise _checks.refuse(who, hidden, need, h)
    names = (name, hidden, "layers") + (("kernel_size",) if kernel_size else ())
    # An array takes some memory however small it is.
    _inputs.writable(who, depth * max((kernel_size or 1) ** 2 * h * h, 64), *names)
    return d, depth, h


def _centred(weights: Array, kernel: int) -> Array:
    out = np.zeros((*weights.shape, kernel, kernel))
    out[:, :, kernel // 2, kernel // 2] = weights
    return out
