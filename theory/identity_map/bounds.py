r"""How wrong one trained convolution layer can be on any image, with what probability.

n = K^2 C - r is the nullity of the training image's patches, sigma the standard
deviation of the normal initial weights, B the largest absolute pixel. Source: Zhang,
Bengio, Hardt, Mozer, Singer 2020, Theorem 2, eq. (8), (9), (12) and the display before
them; "sharp" marks a form that is stronger than the printed one and proved in its
docstring.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.special as sp

from theory import _checks
from theory.identity_map import _inputs
from theory.identity_map.chi_square import Form, _every_direction
from theory.identity_map.convolution import _Span, _span
from theory.identity_map.patch_matrix import Rank, patch_rank

Array = npt.NDArray[np.float64]


def worst_patch_error(
    image: Any, kernel_size: int, w0: Any, *, rank_tolerance: float | None = None
) -> float:
    r"""Return the largest squared error on a patch of length one, after training.

    .. math:: \max_{\|P\|=1}\|(W^0-\Lambda)^T\Pi_\perp P\|^2
        = \|(W^0-\Lambda)^T\Pi_\perp\|_2^2

    Parameters
    ----------
    image, kernel_size, rank_tolerance
        As in `one_layer_conv_weights`.
    w0 : array, shape (K * K * C, C)

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
    span, start = _untrained(
        "worst_patch_error", image, kernel_size, w0, rank_tolerance
    )
    unseen = span.remaining(start - span.selector, None)
    return float(np.linalg.norm(unseen, 2)) ** 2


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
    Lambda and without the square, it is no bound. Arguments as in `worst_patch_error`.

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
    _checks.choice(who, "form", form, ("printed", "corrected"))
    span, start = _untrained(who, image, kernel_size, w0, rank_tolerance)
    first = float(np.linalg.norm(span.remaining(start, None)))
    if form == "printed":
        return first + float(np.linalg.norm(span.basis.T @ span.selector))
    return (first + float(np.linalg.norm(span.remaining(span.selector, None)))) ** 2


def _untrained(
    who: str, image: Any, kernel_size: Any, w0: Any, rank_tolerance: Any
) -> tuple[_Span, Array]:
    size = _inputs.kernel(who, kernel_size)
    span = _span(who, image, size, "half_sum", rank_tolerance)
    start, _ = _inputs.filters(who, w0, span.channels, size)
    if start.ndim != 2:
        raise ValueError(f"{who}: `w0` must be one matrix, got shape {start.shape}.")
    return span, start


def patch_norm_bound(kernel_size: int, channels: int, pixel_bound: float) -> float:
    r"""Bound the length of a patch by ``B sqrt(K^2 C)`` (eq. 8).

    Attained by a constant image, away from its boundary.

    Raises
    ------
    ValueError
        If the kernel is even, a count is not positive or the bound is negative.

    Examples
    --------
    >>> patch_norm_bound(3, 4, 0.5)
    3.0
    """
    who = "patch_norm_bound"
    size = _inputs.kernel(who, kernel_size)
    (depth,) = _inputs.whole(who, channels=(channels, 1))
    top = _checks.scalar(who, "pixel_bound", pixel_bound)
    return _checks.result(who, top * size * math.sqrt(depth), "pixel_bound")


def selector_norm_bound(nullity: int, channels: int, *, form: Form = "sharp") -> float:
    r"""Bound the Frobenius norm of ``Lambda^T Pi_perp`` (eq. 9).

    Printed ``sqrt(n C)``, for ``||Lambda||_F^2 = C``; sharp ``min(sqrt(n), sqrt(C))``:
    Lambda has orthonormal columns, so that a projector of rank n leaves at most n, and
    at most all C, of their squared lengths.

    Raises
    ------
    ValueError
        If a count is out of range or the form unknown.

    Examples
    --------
    >>> selector_norm_bound(9, 4), selector_norm_bound(9, 4, form="printed")
    (2.0, 6.0)
    """
    who = "selector_norm_bound"
    n, depth = _inputs.whole(who, nullity=(nullity, 0), channels=(channels, 1))
    if _checks.choice(who, "form", form, _inputs.FORMS) == "printed":
        return math.sqrt(n * depth)
    return math.sqrt(min(n, depth))


@dataclass(frozen=True)
class ErrorBound:
    """``[weights + selector]^2 patch^2 / C`` with probability at least 1 - delta."""

    weights: float
    selector: float
    patch: float
    channels: int
    delta: float

    @property
    def total(self) -> float:
        """The bound on the mean squared error."""
        size = (self.weights + self.selector) * self.patch
        return size * size / self.channels


def mse_bound(
    nullity: int,
    kernel_size: int,
    channels: int,
    *,
    pixel_bound: float,
    scale: float,
    delta: float,
    constant: float | None = None,
    form: Form = "printed",
) -> ErrorBound:
    r"""Bound the error on every image with pixels in [-B, B] (Theorem 2, eq. 12).

    .. math:: \mathrm{MSE}\le\Big[\sqrt{n\sigma^2\big(2\log\tfrac n\delta
        + C(1+\log M)\big)}+\sqrt{nC}\Big]^2\frac{B^2K^2C}{C}

    with probability at least ``1 - delta`` over W0 with independent N(0, sigma^2)
    entries; n = 0 gives 0.

    Parameters
    ----------
    nullity : int
        ``n = K^2 C - r`` of `patch_rank`.
    kernel_size, channels : int
        Odd K, C >= 1.
    pixel_bound, scale : float
        B >= 0 and sigma > 0.
    delta, constant, form
        As in `direction_bound`; for the sharp form see the notes.

    Returns
    -------
    ErrorBound
        Its terms and their `total`; to 1e-12.

    Raises
    ------
    ValueError
        If an argument is outside its range, n > K^2 C, or delta is below delta_0.

    Notes
    -----
    The error at a patch is ``(W0 - Lambda)^T Pi_perp P``, at most ``(||G|| + ||Lambda^T
    Pi_perp||) ||P||`` in spectral norms with G = W0^T V, V an orthonormal basis of the
    null space. Sharp uses three facts. Lambda has orthonormal columns: the second norm
    is at most one. G is a C x n matrix of independent N(0, sigma^2): its Frobenius norm
    squared is ``sigma^2 chi^2_{nC}``, with quantile q at 1 - delta; and its spectral
    norm is at most ``sigma (sqrt(n) + sqrt(C) + sqrt(2 log(1/delta)))`` (Davidson and
    Szarek 2001, Theorem II.13). Both are constants, so the lesser one holds too:

    .. math:: \Big[\sigma\min\big(\sqrt q, \sqrt n+\sqrt C
        +\sqrt{2\log(1/\delta)}\big) + 1\Big]^2\frac{B^2K^2C}{C}

    Examples
    --------
    >>> case = dict(pixel_bound=1.0, scale=0.1, delta=0.05)
    >>> round(mse_bound(18, 3, 3, **case).total)
    774
    >>> round(mse_bound(18, 3, 3, form="sharp", **case).total, 1)
    30.5
    """
    who = "mse_bound"
    n, depth = _inputs.whole(who, nullity=(nullity, 0), channels=(channels, 1))
    size = _inputs.kernel(who, kernel_size)
    top = _checks.scalar(who, "pixel_bound", pixel_bound)
    patch = top * size * math.sqrt(depth)
    _checks.reject(
        who,
        "nullity",
        f"be at most K^2 C = {size**2 * depth}",
        n > size**2 * depth,
        n,
        "",
    )
    sigma = _checks.scalar(who, "scale", scale, positive=True)
    p = _inputs.probability(who, "delta", delta)
    m = None if constant is None else _inputs.above_one(who, "constant", constant)
    _checks.choice(who, "form", form, _inputs.FORMS)
    if n == 0:
        return _finite(ErrorBound(0.0, 0.0, patch, depth, p))
    if form == "sharp":
        root = math.sqrt(2.0 * float(sp.gammainccinv(0.5 * n * depth, p)))
        spectral = math.sqrt(n) + math.sqrt(depth) + math.sqrt(-2.0 * math.log(p))
        return _finite(ErrorBound(sigma * min(root, spectral), 1.0, patch, depth, p))
    rho = _every_direction(who, n, depth, p, m)
    selector = selector_norm_bound(n, depth, form="printed")
    return _finite(ErrorBound(sigma * math.sqrt(n * rho), selector, patch, depth, p))


def _finite(bound: ErrorBound) -> ErrorBound:
    _checks.result("mse_bound", bound.total, "pixel_bound", "scale")
    return bound


def mse_order(kernel_size: int, channels: int, rank: int) -> float:
    r"""Return ``m (m/C - r) / C`` with ``m = K^2 C^2``, the form of Theorem 2.

    It is ``K^2 C (K^2 C - r)``: at a given nullity it grows with C, and at a given rank
    with C^2. More channels do not lower it, though the division by C suggests so.
    Constants and logarithms are left out; `mse_bound` has them.

    Raises
    ------
    ValueError
        If the kernel is even, or the rank is not in [0, K^2 C].

    Examples
    --------
    >>> mse_order(3, 1, 4), mse_order(3, 3, 12)
    (45.0, 405.0)
    """
    who = "mse_order"
    size = _inputs.kernel(who, kernel_size)
    depth, r = _inputs.whole(who, channels=(channels, 1), rank=(rank, 0))
    width = size * size * depth
    if r > width:
        raise ValueError(f"{who}: `rank` must be at most K^2 C = {width}, got {r}.")
    out = float(width) * float(width - r)
    return _checks.result(who, out, "kernel_size", "channels")


@dataclass(frozen=True)
class Promise:
    """What Theorem 2 promises of a convolution that is trained on one image.

    Attributes
    ----------
    rank : Rank
        Of the image's patches.
    bound : ErrorBound
        On the error on every image.
    """

    rank: Rank
    bound: ErrorBound

    @property
    def nullity(self) -> int:
        """Directions of a patch that stay as they were drawn."""
        return self.rank.nullity

    @property
    def total(self) -> float:
        """The bound on the mean squared error; 0 where the layer becomes the identity."""
        return self.bound.total


def promise(
    image: Any,
    kernel_size: int,
    *,
    scale: float,
    delta: float = 0.05,
    pixel_bound: float | None = None,
    form: Form = "sharp",
    rank_tolerance: float | None = None,
) -> Promise:
    r"""Return rank, nullity and error bound that a training image gives a convolution.

    Parameters
    ----------
    image : array, shape (H, W) or (H, W, C)
        Channels last; not zero.
    kernel_size : int
        Odd K.
    scale, delta, form
        As in `mse_bound`: standard deviation of the first weights, probability of an
        exception, and which bound.
    pixel_bound : float, optional
        Largest size of a test image's pixel; by default the training image's.
    rank_tolerance : float, optional
        As in `patch_rank`.

    Raises
    ------
    ValueError
        As `patch_rank` and `mse_bound`, and if the rank is too close to call.

    Examples
    --------
    Two by two pixels leave five of nine directions open, five by five of noise none:

    >>> found = promise([[1.0, 2.0], [3.0, -1.0]], 3, scale=0.1)
    >>> found.rank.rank, found.nullity, round(found.total, 1)
    (4, 5, 143.9)
    >>> noise = np.random.default_rng(7).standard_normal((5, 5))
    >>> promise(noise, 3, scale=0.1).total
    0.0

    References
    ----------
    Zhang, Bengio, Hardt, Mozer, Singer 2020, Theorem 2.
    """
    who = "promise"
    pixels = _inputs.image(who, "image", image)
    size = _inputs.kernel(who, kernel_size)
    if not pixels.any():
        raise ValueError(f"{who}: `image` must not be zero: it teaches nothing.")
    sigma = _checks.scalar(who, "scale", scale, positive=True)
    top = float(np.abs(pixels).max())
    if pixel_bound is not None:
        top = _checks.scalar(who, "pixel_bound", pixel_bound)
    p = _inputs.probability(who, "delta", delta)
    _checks.choice(who, "form", form, _inputs.FORMS)
    relative = _inputs.tolerance(who, rank_tolerance)
    with np.errstate(over="ignore"):
        worst = np.square(top * sigma * size) * pixels.shape[2]
    _checks.result(who, worst, "image", "pixel_bound", "scale")
    rank = patch_rank(pixels, size, rank_tolerance=relative)
    rank.require_decided(who)
    bound = mse_bound(
        rank.nullity,
        size,
        pixels.shape[2],
        pixel_bound=top,
        scale=sigma,
        delta=p,
        form=form,
    )
    return Promise(rank, bound)
