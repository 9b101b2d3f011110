r"""One convolution layer trained to reproduce one image: weights, predictions, errors.

Weights are matrices (K * K * C, C), whose row order is that of `patches`. Source: Zhang,
Bengio, Hardt, Mozer, Singer 2020, Theorem 2 and appendix D.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory.identity_map import _inputs
from theory.identity_map.descent import Loss, _loss_scale, residual_factors
from theory.identity_map.linear import _check_convergence
from theory.identity_map.patches import _patch_rows, centre_selector, patches
from theory.identity_map.ranks import Rank, _row_space, decide_rank

Array = npt.NDArray[np.float64]

_BLOCK = 2**22
"""Entries of a block of patches: 32 MiB."""


@dataclass(frozen=True)
class _Span:
    """The row space of an image's patches: orthonormal columns and curvatures."""

    basis: Array
    curvatures: Array
    rank: Rank
    kernel: int
    channels: int

    def factors(
        self, who: str, steps: Any, rate: float | None, momentum: float
    ) -> Array:
        """Return a_t of each direction, shape (*steps, r); zeros in the limit."""
        if steps is None:
            top = float(self.curvatures.max(initial=5e-324))
            _check_convergence(who, top, rate, momentum)
            return np.zeros(self.rank.rank)
        if rate is None:
            raise ValueError(f"{who}: `learning_rate` must be given with `steps`.")
        return residual_factors(
            np.asarray(steps)[..., np.newaxis],
            learning_rate=rate,
            curvature=self.curvatures,
            momentum=momentum,
        )


def _span(
    who: str, image: Any, kernel_size: Any, loss: Loss, tolerance: float | None
) -> _Span:
    pixels = _inputs.image(who, "image", image)
    size = _inputs.kernel(who, kernel_size)
    if not pixels.any():
        raise ValueError(
            f"{who}: `image` must not be zero. A zero training image teaches nothing:"
            " descent stays at the initial weights."
        )
    scale = _loss_scale(who, loss, pixels.size)
    x = patches(pixels, size)
    _, s, v = _row_space(x)
    rank = decide_rank(s, (x.shape[0], x.shape[1]), tolerance)
    rank.require_decided(who)
    kept = slice(rank.rank)
    return _Span(v[:, kept], scale * s[kept] ** 2, rank, size, pixels.shape[2])


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
    span = _span(who, image, kernel_size, loss, rank_tolerance)
    start = _weights(who, w0, span.kernel, span.channels)
    left = span.factors(who, steps, learning_rate, momentum)
    target = centre_selector(span.kernel, span.channels)
    if steps is None and span.rank.full:
        return np.broadcast_to(target, start.shape).copy()
    return target + _missing(span, start - target, left)


def _missing(span: _Span, error: Array, left: Array) -> Array:
    """Return the error W^t - Lambda from the initial one."""
    batch = (1,) * (error.ndim - 2)
    done = (1.0 - left).reshape(*left.shape[:-1], *batch, left.shape[-1], 1)
    return error - span.basis @ (done * (span.basis.T @ error))


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
    test, size = _test(who, image, test_image, w0)
    weights = one_layer_conv_weights(
        image,
        size,
        w0,
        steps=steps,
        learning_rate=learning_rate,
        momentum=momentum,
        loss=loss,
        rank_tolerance=rank_tolerance,
    )
    out = _apply(test, weights, size)
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
    test, size = _test(who, image, test_image, w0)
    span = _span(who, image, size, loss, rank_tolerance)
    start = _weights(who, w0, size, span.channels)
    left = span.factors(who, steps, learning_rate, momentum)
    target = centre_selector(size, span.channels)
    if steps is None and span.rank.full:
        out = np.zeros(start.shape[:-2])
    else:
        missing = _missing(span, start - target, left)
        out = np.mean(_apply(test, missing, size) ** 2, axis=(-2, -1))
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
    span = _span(who, image, kernel_size, loss, rank_tolerance)
    test = _same_channels(who, test_image, span.channels)
    sigma = _inputs.above_zero(who, "scale", scale)
    left = span.factors(who, steps, learning_rate, momentum)
    if steps is None and span.rank.full:
        return 0.0
    selector = centre_selector(span.kernel, span.channels)
    reach = selector.T @ span.basis
    total = np.zeros(left.shape[:-1])
    for block in _blocks(test, span.kernel):
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


def _weights(who: str, w0: Any, kernel: int, channels: int) -> Array:
    w = _checks.real(who, "w0", w0)
    if w.shape[-2:] != (kernel**2 * channels, channels):
        raise ValueError(
            f"{who}: `w0` must have shape (..., {kernel**2 * channels}, {channels}) for"
            f" kernel {kernel} and {channels} channels, got {w.shape}."
        )
    return w


def _test(who: str, image: Any, test_image: Any, w0: Any) -> tuple[Array, int]:
    """Return the test image and the kernel size that the weights' rows tell."""
    channels = _inputs.image(who, "image", image).shape[2]
    test = _same_channels(who, test_image, channels)
    w = _checks.real(who, "w0", w0)
    rows = w.shape[-2] if w.ndim > 1 else 0
    size = math.isqrt(rows // channels)
    if size < 1 or size**2 * channels != rows or size % 2 == 0:
        raise ValueError(
            f"{who}: `w0` must have shape (..., K * K * {channels}, {channels}) with an"
            f" odd K, got {w.shape}."
        )
    return test, size


def _same_channels(who: str, test_image: Any, channels: int) -> Array:
    test = _inputs.image(who, "test_image", test_image)
    if test.shape[2] != channels:
        raise ValueError(
            f"{who}: `test_image` must have the {channels} channels of `image`,"
            f" got {test.shape[2]}."
        )
    return test


def _apply(image: Array, weights: Array, kernel: int) -> Array:
    """Return the convolution, shape (..., H * W, C), block by block."""
    parts = [block @ weights for block in _blocks(image, kernel)]
    return np.concatenate(parts, axis=-2)


def _blocks(image: Array, kernel: int) -> Iterator[Array]:
    """Yield the patches of a few image rows at a time."""
    height, width, channels = image.shape
    rows = max(1, _BLOCK // (width * channels * kernel**2))
    for first in range(0, height, rows):
        yield _patch_rows(image, kernel, first, min(first + rows, height))
