r"""One convolution layer trained to reproduce one image: weights, predictions, errors.

Weights are matrices (K * K * C, C), whose row order is that of `patches`. Source: Zhang,
Bengio, Hardt, Mozer, Singer 2020, Theorem 2 and appendix D.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory import _twofold as two
from theory._decomposition import row_space
from theory._quadratic import Loss, loss_scale
from theory.identity_map import _inputs
from theory.identity_map.descent import _left_after
from theory.identity_map.patch_matrix import (
    Rank,
    _patch_rows,
    centre_selector,
    decide_rank,
)

Array = npt.NDArray[np.float64]

_ROWS = 8
"""Of an image, whose patches are held at once."""


def one_layer_conv_weights(
    image: Any,
    kernel_size: int,
    w0: Any,
    *,
    steps: Any = None,
    learning_rate: Any = None,
    momentum: Any = 0.0,
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
    steps, learning_rate, momentum, loss
        As in `one_layer_weights`; the mean is over the H W C errors.
    rank_tolerance : float, optional
        Singular values up to this part of the largest count as zero; see `Rank`.

    Returns
    -------
    array, shape of `w0` after the axes of `steps`, `learning_rate` and `momentum`
        Exactly Lambda in the limit if the patches span everything.

    Raises
    ------
    ValueError
        If the kernel is even, the image is zero, empty or not finite, shapes do not
        match, momentum or the rate is outside its range, the rank is too close to call,
        or the rate is missing or, for the limit, too large.

    Notes
    -----
    What is added to W0 has an error of order ``eps kappa`` times itself in norm, kappa the
    `Rank.condition`, and 1e-30 times ``W0 - Lambda``.

    Examples
    --------
    >>> image = np.arange(1.0, 50.0).reshape(7, 7) % 8
    >>> one_layer_conv_weights(image, 3, np.ones((9, 1))).ravel()
    array([0., 0., 0., 0., 1., 0., 0., 0., 0.])
    """
    who = "one_layer_conv_weights"
    size = _inputs.kernel(who, kernel_size)
    span = _span(who, image, size, loss, rank_tolerance)
    left = span.left(who, steps, learning_rate, momentum)
    start, _ = _inputs.filters(who, w0, span.channels, size)
    with np.errstate(over="ignore", invalid="ignore"):
        out = span.weights(start, left)
    return _checks.result(who, out, "w0", "steps", "learning_rate")


def one_layer_conv_prediction(
    image: Any,
    test_image: Any,
    w0: Any,
    *,
    steps: Any = None,
    learning_rate: Any = None,
    momentum: Any = 0.0,
    loss: Loss = "half_sum",
    rank_tolerance: float | None = None,
) -> Array:
    r"""Return the output of the layer, trained on `image`, for any other image.

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
    array
        One image of the test image's shape for every matrix of `one_layer_conv_weights`.

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
    test, start, size = _tested(who, image, test_image, w0)
    span = _span(who, image, size, loss, rank_tolerance)
    left = span.left(who, steps, learning_rate, momentum)
    with np.errstate(over="ignore", invalid="ignore"):
        weights = span.weights(start, left)
        out = _convolve(test, weights, size)
    _checks.result(who, out, "test_image", "w0", "steps", "learning_rate")
    return out.reshape(*weights.shape[:-2], *np.shape(test_image))


def one_layer_conv_mse(
    image: Any,
    test_image: Any,
    w0: Any,
    *,
    steps: Any = None,
    learning_rate: Any = None,
    momentum: Any = 0.0,
    loss: Loss = "half_sum",
    rank_tolerance: float | None = None,
) -> Any:
    r"""Return the mean squared error on a test image, over its pixels and channels.

    .. math:: \mathrm{MSE} = \frac1{|\Xi|C}\sum_{ij}\|(W^t-\Lambda)^T P_{ij}(x)\|^2

    from the error of the weights, so that no two close images are subtracted: where the
    patches span everything it keeps its digits while it vanishes. Arguments and errors as
    in `one_layer_conv_prediction`.

    Returns
    -------
    float or array
        One number for every matrix of `one_layer_conv_weights`.

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
    test, start, size = _tested(who, image, test_image, w0)
    span = _span(who, image, size, loss, rank_tolerance)
    left = span.left(who, steps, learning_rate, momentum)
    with np.errstate(over="ignore", invalid="ignore"):
        missing = span.remaining(start - span.selector, left)
        out = np.mean(_convolve(test, missing, size) ** 2, axis=(-2, -1))
    _checks.result(who, out, "test_image", "w0", "steps", "learning_rate")
    return float(out) if np.ndim(out) == 0 else out


def expected_mse(
    image: Any,
    kernel_size: int,
    test_image: Any,
    *,
    scale: float,
    steps: Any = None,
    learning_rate: Any = None,
    momentum: Any = 0.0,
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
    float or array
        With the axes of `steps`, `learning_rate` and `momentum`.

    Raises
    ------
    ValueError
        As `one_layer_conv_prediction`.

    Notes
    -----
    Relative error of order ``eps kappa`` as long as ``A_t P`` is not small against P, or
    n = 0; times the steps t where ``A_t`` is small.

    Examples
    --------
    Eight directions of nine stay at their initial weights after one pixel:

    >>> expected_mse([[2.0]], 3, [[1.0, 1.0]], scale=0.5)
    0.25
    """
    who = "expected_mse"
    size = _inputs.kernel(who, kernel_size)
    span = _span(who, image, size, loss, rank_tolerance)
    test = _inputs.test_image(who, test_image, span.channels)
    sigma = _checks.scalar(who, "scale", scale, positive=True)
    _inputs.within(who, "scale", np.asarray(sigma))
    pair = span.left(who, steps, learning_rate, momentum)
    if pair is None and span.rank.full:
        return 0.0
    left = np.zeros(span.rank.rank) if pair is None else pair[0] + pair[1]
    selector = span.selector
    reach = selector.T @ span.basis
    total = np.zeros(left.shape[:-1])
    for block in _patch_blocks(test, size):
        seen = block @ span.basis
        unseen = 0.0 * block if span.rank.full else block - seen @ span.basis.T
        fixed = np.sum(unseen**2)
        energy = np.sum(seen**2, axis=0)
        centre = unseen @ selector
        for index in np.ndindex(left.shape[:-1]):
            a = left[index]
            with np.errstate(over="ignore", invalid="ignore"):
                off = centre + (a * seen) @ reach.T
                total[index] += sigma**2 * (fixed + energy @ (a * a))
                total[index] += np.sum(off**2) / span.channels
    _checks.result(who, total, "test_image", "scale", "steps", "learning_rate")
    out = total / (test.shape[0] * test.shape[1])
    return float(out) if out.ndim == 0 else out


def _tested(who: str, image: Any, test_image: Any, w0: Any) -> tuple[Array, Array, int]:
    """Return the test image, the weights, and the kernel size that their rows tell."""
    channels = _inputs.image(who, "image", image).shape[2]
    test = _inputs.test_image(who, test_image, channels)
    return test, *_inputs.filters(who, w0, channels, None)


@dataclass(frozen=True)
class _Span:
    """The row space of an image's patches: orthonormal columns and curvatures."""

    basis: Array
    curvatures: Array
    rank: Rank
    kernel: int
    channels: int

    @property
    def selector(self) -> Array:
        return centre_selector(self.kernel, self.channels)

    def left(self, who: str, steps: Any, rate: Any, momentum: Any) -> two.Pair | None:
        """Return a_t of each direction, shape (..., r), or None for the limit."""
        return _left_after(who, steps, rate, momentum, self.curvatures)

    def weights(self, start: Array, left: two.Pair | None) -> Array:
        """Return trained weights: Lambda itself where the patches span everything."""
        if left is None:
            return self.selector + self.remaining(start - self.selector, None)
        seen = self.basis.T @ (self.selector - start)
        return start + self._along((1.0 - left[0]) - left[1], seen)

    def remaining(self, error: Array, left: two.Pair | None) -> Array:
        """Return the part of an initial error that training leaves.

        Of patches that span everything it is as small as what is left along them.
        """
        seen = self.basis.T @ error
        across = 0.0 * error if self.rank.full else error - self.basis @ seen
        return across if left is None else across + self._along(left[0] + left[1], seen)

    def _along(self, factors: Array, seen: Array) -> Array:
        """Multiply each direction of the basis, shape (..., r), and add them up."""
        batch = (1,) * (seen.ndim - 2)
        each = factors.reshape(*factors.shape[:-1], *batch, factors.shape[-1], 1)
        return self.basis @ (each * seen)


def _span(who: str, image: Any, size: int, loss: Any, rank_tolerance: Any) -> _Span:
    pixels = _inputs.image(who, "image", image)
    if not pixels.any():
        raise ValueError(
            f"{who}: `image` must not be zero. A zero training image teaches nothing:"
            " descent stays at the initial weights."
        )
    _checks.choice(who, "loss", loss, _inputs.LOSSES)
    scale = loss_scale(who, loss, pixels.size)
    relative = _inputs.tolerance(who, rank_tolerance)
    x = _patch_rows(pixels, size, 0, pixels.shape[0])
    _, s, v = row_space(x)
    rank = decide_rank(s, (x.shape[0], x.shape[1]), relative)
    rank.require_decided(who)
    kept = slice(rank.rank)
    return _Span(v[:, kept], scale * s[kept] ** 2, rank, size, pixels.shape[2])


def _patch_blocks(image: Array, kernel: int) -> Iterator[Array]:
    """Yield the patches of a few image rows at a time: the whole may be too large."""
    height = len(image)
    for first in range(0, height, _ROWS):
        yield _patch_rows(image, kernel, first, min(first + _ROWS, height))


def _convolve(image: Array, weights: Array, kernel: int) -> Array:
    """Return the convolution, shape (..., H * W, C), block by block."""
    parts = [block @ weights for block in _patch_blocks(image, kernel)]
    return np.concatenate(parts, axis=-2)
