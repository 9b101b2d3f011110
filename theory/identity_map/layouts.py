"""Weights of a convolution as a matrix on patches, and as a framework keeps them."""

from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory.identity_map import _inputs

Array = npt.NDArray[np.float64]


def weights_to_framework(weights: Any, kernel_size: int) -> Array:
    """Return weights (K * K * C, C_out) as a framework's (C_out, C, K, K).

    Raises
    ------
    ValueError
        If the kernel is even, or the rows are no multiple of its area.

    Examples
    --------
    >>> from theory.identity_map import centre_selector
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
