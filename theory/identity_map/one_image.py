"""From one image to what a convolution trained on it may still get wrong, in one call."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from theory import _checks
from theory.identity_map import _inputs
from theory.identity_map.bounds import ErrorBound, mse_bound
from theory.identity_map.chi_square import Form
from theory.identity_map.patch_matrix import patch_rank
from theory.identity_map.ranks import Rank


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
    if rank_tolerance is not None:
        rank_tolerance = _checks.scalar(who, "rank_tolerance", rank_tolerance)
        wide = rank_tolerance >= 1.0
        _checks.reject(who, "rank_tolerance", "lie in [0, 1)", wide, rank_tolerance, "")
    with np.errstate(over="ignore"):
        worst = np.square(top * sigma * size) * pixels.shape[2]
    _checks.result(who, worst, "image", "pixel_bound", "scale")
    rank = patch_rank(pixels, size, rank_tolerance=rank_tolerance)
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
