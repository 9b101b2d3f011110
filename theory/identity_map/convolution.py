r"""One convolution layer trained to reproduce one image: weights, predictions, errors.

Weights are matrices (K * K * C, C), whose row order is that of `patches`. Source: Zhang,
Bengio, Hardt, Mozer, Singer 2020, Theorem 2 and appendix D.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from theory._quadratic import Loss
from theory.identity_map import _inputs
from theory.identity_map._patch_rows import convolve, patch_blocks
from theory.identity_map._span import (
    Span,
    checked_test,
    checked_weights,
    patch_span,
    remaining_error,
    same_channels,
)
from theory.identity_map.patch_matrix import centre_selector

Array = npt.NDArray[np.float64]


def one_layer_conv_weights(
    image: Any,
    kernel_size: int,
    w0: Any,
    *,
    steps: Any = None,
    learning_rate: float | None = None,
    momentum: float = 0.0,
    loss: Loss = "half_sum",
    rank_tolerance: float | None = None,
) -> Array:
    r"""Return the weights that descent reaches, or those after `steps` (ID-Conv).

    .. math:: \hat W = \Pi_\parallel\Lambda + \Pi_\perp W^0, \qquad
        W^t = W^0 + \sum_{i\le r} (1 - a_t(\sigma_i))\, v_i v_i^T(\Lambda - W^0)

    with the projector :math:`\Pi_\parallel` on the row space of the image's patches,
    whose singular values are the sigmas, and Lambda of `centre_selector`.

    Parameters
    ----------
    image : array, shape (H, W) or (H, W, C)
        The training image, not zero; at once input and target.
    kernel_size : int
        Odd K.
    w0 : array, shape (..., K * K * C, C)
        Initial weights, or many of them; see `weights_from_framework`.
    steps : int or array of int, optional
        Steps of descent; the limit if left out.
    learning_rate, momentum : float
        Needed with `steps`; without them the rate is only checked.
    loss : {"half_sum", "mean"}
        Half the sum, or the mean, of the H W C squared errors.
    rank_tolerance : float, optional
        Singular values up to this part of the largest count as zero; see `Rank`.

    Returns
    -------
    array, shape ``np.shape(steps) + w0.shape``
        Exactly Lambda in the limit if the patches span everything.

    Raises
    ------
    ValueError
        If the kernel is even, the image is zero, empty or not finite, shapes do not
        match, the rank is too close to call, or the rate is missing or, for the limit,
        too large.

    Notes
    -----
    Error of order ``eps kappa ||W0 - Lambda||`` in norm, kappa the `Rank.condition`.

    Examples
    --------
    >>> image = np.arange(1.0, 50.0).reshape(7, 7) % 8
    >>> one_layer_conv_weights(image, 3, np.ones((9, 1))).ravel()
    array([0., 0., 0., 0., 1., 0., 0., 0., 0.])
    """
    who = "one_layer_conv_weights"
    span = patch_span(who, image, kernel_size, loss, rank_tolerance)
    left = span.factors(who, steps, learning_rate, momentum)
    target = centre_selector(span.kernel, span.channels)
    return target + _error(who, span, w0, left, limit=steps is None)


def _error(who: str, span: Span, w0: Any, left: Array, *, limit: bool) -> Array:
    """Return W^t - Lambda, exactly zero if nothing is left to learn."""
    start = checked_weights(who, w0, span.kernel, span.channels)
    if limit and span.rank.full:
        return np.zeros(start.shape)
    target = centre_selector(span.kernel, span.channels)
    return remaining_error(span, start - target, left)


def one_layer_conv_prediction(
    image: Any,
    test_image: Any,
    w0: Any,
    *,
    steps: Any = None,
    learning_rate: float | None = None,
    momentum: float = 0.0,
    loss: Loss = "half_sum",
    rank_tolerance: float | None = None,
) -> Array:
    r"""Return what the layer, trained on `image`, makes of any other image.

    .. math:: \hat f(x)_{ij} = \Lambda^T P_{ij}(x) + (W^0-\Lambda)^T\Pi_\perp P_{ij}(x)

    Parameters
    ----------
    image, test_image : array, shape (H, W) or (H, W, C)
        Of any two sizes, with the same number of channels.
    w0 : array, shape (..., K * K * C, C)
        Initial weights; their number of rows tells K.
    steps, learning_rate, momentum, loss, rank_tolerance
        As in `one_layer_conv_weights`.

    Returns
    -------
    array, shape ``np.shape(steps) + w0.shape[:-2] + test_image.shape``

    Raises
    ------
    ValueError
        As `one_layer_conv_weights`, and if the channels of the images differ.

    Examples
    --------
    >>> image = np.arange(1.0, 50.0).reshape(7, 7) % 8
    >>> one_layer_conv_prediction(image, [[5.0, -2.0]], np.ones((9, 1)))
    array([[ 5., -2.]])
    """
    who = "one_layer_conv_prediction"
    test, size = checked_test(who, image, test_image, w0)
    span = patch_span(who, image, size, loss, rank_tolerance)
    left = span.factors(who, steps, learning_rate, momentum)
    target = centre_selector(size, span.channels)
    weights = target + _error(who, span, w0, left, limit=steps is None)
    out = convolve(test, weights, size)
    return out.reshape(*weights.shape[:-2], *np.shape(test_image))


def one_layer_conv_mse(
    image: Any,
    test_image: Any,
    w0: Any,
    *,
    steps: Any = None,
    learning_rate: float | None = None,
    momentum: float = 0.0,
    loss: Loss = "half_sum",
    rank_tolerance: float | None = None,
) -> Any:
    r"""Return the mean squared error on a test image, over its pixels and channels.

    .. math:: \mathrm{MSE} = \frac1{|\Xi|C}\sum_{ij}\|(W^t-\Lambda)^T P_{ij}(x)\|^2

    from the error of the weights, so that no two close images are subtracted. Arguments
    and errors as in `one_layer_conv_prediction`.

    Returns
    -------
    float or array, shape ``np.shape(steps) + w0.shape[:-2]``

    Raises
    ------
    ValueError
        As `one_layer_conv_prediction`.

    Examples
    --------
    A single black pixel in the image's place shows all that the layer did not learn:

    >>> one_layer_conv_mse([[2.0]], [[1.0, 1.0]], np.ones((9, 1)))
    1.0
    """
    who = "one_layer_conv_mse"
    test, size = checked_test(who, image, test_image, w0)
    span = patch_span(who, image, size, loss, rank_tolerance)
    left = span.factors(who, steps, learning_rate, momentum)
    missing = _error(who, span, w0, left, limit=steps is None)
    out = np.mean(convolve(test, missing, size) ** 2, axis=(-2, -1))
    return float(out) if np.ndim(out) == 0 else out


def expected_mse(
    image: Any,
    kernel_size: int,
    test_image: Any,
    *,
    scale: float,
    steps: Any = None,
    learning_rate: float | None = None,
    momentum: float = 0.0,
    loss: Loss = "half_sum",
    rank_tolerance: float | None = None,
) -> Any:
    r"""Return the mean over W0 of the mean squared error on a test image, exactly.

    .. math:: E\,\mathrm{MSE} = \sigma^2\,\overline{\|A_tP\|^2}
        + \overline{\|\Lambda^TA_tP\|^2}/C, \qquad
        A_t = \Pi_\perp + \sum_{i\le r} a_t(\sigma_i)\,v_iv_i^T

    for W0 with independent entries of mean zero and variance ``scale**2``; bars are means
    over the test image's patches. In the limit ``A = Pi_perp``, and with n = 0 the error
    is zero. The law of the entries does not matter (ours; the paper bounds the error).

    Parameters
    ----------
    image, kernel_size, test_image
        As in `one_layer_conv_weights` and `one_layer_conv_prediction`.
    scale : float
        Standard deviation of the initial weights.
    steps, learning_rate, momentum, loss, rank_tolerance
        As in `one_layer_conv_weights`.

    Returns
    -------
    float or array, shape ``np.shape(steps)``

    Raises
    ------
    ValueError
        As `one_layer_conv_prediction`.

    Notes
    -----
    Relative error of order ``eps kappa`` as long as ``A_t P`` is not small against P.

    Examples
    --------
    Eight directions of nine stay at their initial weights after one pixel:

    >>> expected_mse([[2.0]], 3, [[1.0, 1.0]], scale=0.5)
    0.25
    """
    who = "expected_mse"
    span = patch_span(who, image, kernel_size, loss, rank_tolerance)
    test = same_channels(who, test_image, span.channels)
    sigma = _inputs.above_zero(who, "scale", scale)
    left = span.factors(who, steps, learning_rate, momentum)
    if steps is None and span.rank.full:
        return 0.0
    selector = centre_selector(span.kernel, span.channels)
    reach = selector.T @ span.basis
    total = np.zeros(left.shape[:-1])
    for block in patch_blocks(test, span.kernel):
        seen = block @ span.basis
        unseen = block - seen @ span.basis.T
        fixed = np.sum(unseen**2)
        energy = np.sum(seen**2, axis=0)
        centre = unseen @ selector
        for index in np.ndindex(left.shape[:-1]):
            a = left[index]
            off = centre + (a * seen) @ reach.T
            total[index] += sigma**2 * (fixed + energy @ (a * a))
            total[index] += np.sum(off**2) / span.channels
    out = total / (test.shape[0] * test.shape[1])
    return float(out) if out.ndim == 0 else out
