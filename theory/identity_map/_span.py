"""The row space of one image's patches, and the checks that go with it."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._quadratic import (
    Loss,
    check_convergence,
    loss_scale,
    residual_pair,
    whole_steps,
)
from theory.identity_map import _inputs
from theory.identity_map._decomposition import row_space
from theory.identity_map._patch_rows import patch_rows
from theory.identity_map.ranks import Rank, decide_rank

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Span:
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
            check_convergence(who, top, rate, momentum)
            return np.zeros(self.rank.rank)
        count = whole_steps(who, steps)[..., np.newaxis]
        high, low = residual_pair(who, count, rate, self.curvatures, momentum)
        return high + low


def patch_span(
    who: str, image: Any, kernel_size: Any, loss: Loss, tolerance: float | None
) -> Span:
    pixels = _inputs.image(who, "image", image)
    size = _inputs.kernel(who, kernel_size)
    if not pixels.any():
        raise ValueError(
            f"{who}: `image` must not be zero. A zero training image teaches nothing:"
            " descent stays at the initial weights."
        )
    scale = loss_scale(who, loss, pixels.size)
    x = patch_rows(pixels, size, 0, pixels.shape[0])
    _, s, v = row_space(x)
    rank = decide_rank(s, (x.shape[0], x.shape[1]), tolerance)
    rank.require_decided(who)
    kept = slice(rank.rank)
    return Span(v[:, kept], scale * s[kept] ** 2, rank, size, pixels.shape[2])


def remaining_error(span: Span, error: Array, left: Array) -> Array:
    """Return the error W^t - Lambda from the initial one."""
    batch = (1,) * (error.ndim - 2)
    done = (1.0 - left).reshape(*left.shape[:-1], *batch, left.shape[-1], 1)
    return error - span.basis @ (done * (span.basis.T @ error))


def checked_weights(who: str, w0: Any, kernel: int, channels: int) -> Array:
    w = _checks.real(who, "w0", w0)
    if w.shape[-2:] != (kernel**2 * channels, channels):
        raise ValueError(
            f"{who}: `w0` must have shape (..., {kernel**2 * channels}, {channels}) for"
            f" kernel {kernel} and {channels} channels, got {w.shape}."
        )
    return w


def checked_test(who: str, image: Any, test_image: Any, w0: Any) -> tuple[Array, int]:
    """Return the test image and the kernel size that the weights' rows tell."""
    channels = _inputs.image(who, "image", image).shape[2]
    test = same_channels(who, test_image, channels)
    w = _checks.real(who, "w0", w0)
    rows = w.shape[-2] if w.ndim > 1 else 0
    size = math.isqrt(rows // channels)
    if size < 1 or size**2 * channels != rows or size % 2 == 0:
        raise ValueError(
            f"{who}: `w0` must have shape (..., K * K * {channels}, {channels}) with an"
            f" odd K, got {w.shape}."
        )
    return test, size


def same_channels(who: str, test_image: Any, channels: int) -> Array:
    test = _inputs.image(who, "test_image", test_image)
    if test.shape[2] != channels:
        raise ValueError(
            f"{who}: `test_image` must have the {channels} channels of `image`,"
            f" got {test.shape[2]}."
        )
    return test
