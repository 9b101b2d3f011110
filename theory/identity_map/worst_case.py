r"""The largest error on a patch, and two ways to split it, one of them as printed.

Source: Zhang, Bengio, Hardt, Mozer, Singer 2020, appendix D, the display before eq. (8).
"""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from theory.identity_map import _inputs
from theory.identity_map._span import Span, checked_weights, patch_span, remaining_error
from theory.identity_map.patch_matrix import centre_selector

Array = npt.NDArray[np.float64]


def worst_patch_error(
    image: Any, kernel_size: int, w0: Any, *, rank_tolerance: float | None = None
) -> float:
    r"""Return the largest squared error on a patch of length one, after training.

    .. math:: \max_{\|P\|=1}\|(W^0-\Lambda)^T\Pi_\perp P\|^2
        = \|(W^0-\Lambda)^T\Pi_\perp\|_2^2

    Parameters
    ----------
    image : array, shape (H, W) or (H, W, C)
    kernel_size : int
        Odd K.
    w0 : array, shape (K * K * C, C)
    rank_tolerance : float, optional
        See `patch_rank`.

    Raises
    ------
    ValueError
        As `one_layer_conv_weights`.

    Examples
    --------
    >>> image, w0 = [[1.0, 2.0], [3.0, -1.0]], np.full((9, 1), 10.0)
    >>> round(worst_patch_error(image, 3, w0), 2)
    308.82
    """
    span, start, target = _unseen(
        "worst_patch_error", image, kernel_size, w0, rank_tolerance
    )
    return float(np.linalg.norm(_cut(span, start - target), 2)) ** 2


def split_patch_bound(
    image: Any,
    kernel_size: int,
    w0: Any,
    *,
    form: Literal["printed", "corrected"] = "corrected",
    rank_tolerance: float | None = None,
) -> float:
    r"""Return the bound on `worst_patch_error` that treats W0 and Lambda apart.

    .. math:: \big(\|W^{0T}\Pi_\perp\|_F+\|\Lambda^T\Pi_\perp\|_F\big)^2

    Printed as ``||W0^T Pi_perp|| + ||Lambda^T Pi_par||``: with the wrong projector on
    Lambda and without the square, it is no bound.

    Parameters and errors as in `worst_patch_error`; `form` is one of "corrected" and
    "printed".

    Raises
    ------
    ValueError
        As `worst_patch_error`, and if the form is unknown.

    Examples
    --------
    >>> image, w0 = [[1.0, 2.0], [3.0, -1.0]], np.full((9, 1), 10.0)
    >>> round(split_patch_bound(image, 3, w0), 2)
    322.38
    >>> round(split_patch_bound(image, 3, w0, form="printed"), 2)
    18.32
    """
    who = "split_patch_bound"
    form_ = _inputs.choice(who, "form", form, ("printed", "corrected"))
    span, start, target = _unseen(who, image, kernel_size, w0, rank_tolerance)
    first = float(np.linalg.norm(_cut(span, start)))
    if form_ == "printed":
        return first + float(np.linalg.norm(span.basis.T @ target))
    return (first + float(np.linalg.norm(_cut(span, target)))) ** 2


def _unseen(
    who: str, image: Any, kernel_size: Any, w0: Any, tolerance: float | None
) -> tuple[Span, Array, Array]:
    span = patch_span(who, image, kernel_size, "half_sum", tolerance)
    start = checked_weights(who, w0, span.kernel, span.channels)
    if start.ndim != 2:
        raise ValueError(f"{who}: `w0` must be one matrix, got shape {start.shape}.")
    return span, start, centre_selector(span.kernel, span.channels)


def _cut(span: Span, matrix: Array) -> Array:
    """Return Pi_perp times a matrix; exactly zero if nothing is left."""
    if span.rank.full:
        return np.zeros_like(matrix)
    return remaining_error(span, matrix, np.zeros(span.rank.rank))
