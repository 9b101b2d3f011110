r"""Networks of the paper counted: parameters, initial variances, what a neuron sees.

Source: Zhang, Bengio, Hardt, Mozer, Singer 2020, Table 1, section 3 and appendix I.
"""

import difflib
import math
from typing import Any

from theory import _checks
from theory.identity_map import _inputs


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

    ``L (K - 1) + 1``; an image of this side or less reaches every output that is at its
    centre.

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
