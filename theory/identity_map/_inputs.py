"""Checks of images, kernels and weights, with the one wording of `theory._checks`."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._arrays import unscaled

Array = npt.NDArray[np.float64]

LOSSES = ("half_sum", "mean")
FORMS = ("printed", "sharp")

MANY = 4
"""Channels that an image has at most where its first axis could be the channels."""

MOST = 1e70
"""The largest pixel or weight: squares of products of two are within float64."""

ENTRIES = 2**30
"""The most entries of what is written down: 8 GiB of them."""


def kernel(who: str, kernel_size: Any) -> int:
    """Return an odd kernel size; an even kernel has no centre."""
    size = _checks.integer(who, "kernel_size", kernel_size, 1)
    if size % 2 == 0:
        raise ValueError(
            f"{who}: `kernel_size` must be odd, got {size}."
            " An even kernel has no centre pixel."
        )
    return size


def whole(who: str, **counts: tuple[Any, int]) -> tuple[int, ...]:
    """Return counts, each given as (value, least)."""
    return tuple(_checks.integer(who, k, v, low) for k, (v, low) in counts.items())


def writable(who: str, count: int, *names: str) -> None:
    """Refuse arrays with more entries than are written down."""
    if count > ENTRIES:
        raise ValueError(
            f"{who}: {_checks.named(names)} must leave at most {ENTRIES:,} entries to"
            f" write down, got {count:.3g}."
        )


def tolerance(who: str, rank_tolerance: Any) -> float | None:
    """Return a tolerance relative to the largest singular value, or None."""
    if rank_tolerance is None:
        return None
    out = _checks.scalar(who, "rank_tolerance", rank_tolerance)
    _checks.reject(who, "rank_tolerance", "lie in [0, 1)", out >= 1.0, out, "")
    return out


def probability(who: str, name: str, value: Any) -> float:
    """Return one number of (0, 1]."""
    out = _checks.scalar(who, name, value, positive=True)
    _checks.reject(who, name, "lie in (0, 1]", out > 1.0, out, "")
    return out


def above_one(who: str, name: str, value: Any) -> float:
    """Return one number above 1."""
    out = _checks.scalar(who, name, value, positive=True)
    _checks.reject(who, name, "be above 1", out <= 1.0, out, "")
    return out


def within(who: str, name: str, value: Array) -> None:
    """Refuse entries whose products with others would leave float64."""
    bad = np.abs(value) > MOST
    _checks.reject(
        who, name, f"have entries of at most {MOST:g} in size", bad, value, ""
    )


def image(who: str, name: str, value: Any) -> Array:
    """Return an image as (H, W, C), with at least one pixel, all finite.

    One of PyTorch's layout is refused: it would pass as few rows of many channels.
    """
    out = _checks.real(who, name, value)
    if out.ndim not in (2, 3):
        raise ValueError(
            f"{who}: `{name}` must have shape (H, W) or (H, W, C), got {out.shape}."
        )
    if out.size == 0:
        raise ValueError(
            f"{who}: `{name}` must have at least one pixel, got shape {out.shape}."
        )
    channels, height, width = out.shape if out.ndim == 3 else (0, 0, 0)
    if channels in (1, 3) and height > 1 and width > MANY:
        raise ValueError(
            f"{who}: `{name}` must have its channels last, (H, W, C), got {out.shape},"
            " which looks like PyTorch's (C, H, W). Pass"
            f" `np.moveaxis({name}, 0, -1)`, or {name}[0] of one channel."
        )
    within(who, name, out)
    return out if out.ndim == 3 else out[:, :, np.newaxis]


def test_image(who: str, value: Any, channels: int) -> Array:
    """Return an image with as many channels as the training image."""
    out = image(who, "test_image", value)
    if out.shape[2] != channels:
        raise ValueError(
            f"{who}: `test_image` must have the {channels} channels of `image`,"
            f" got {out.shape[2]}."
        )
    return out


def filters(who: str, w0: Any, channels: int, size: int | None) -> tuple[Array, int]:
    """Return weights (..., K * K * C, C) and K, which their rows tell if not given."""
    w = _checks.real(who, "w0", w0)
    rows, columns = w.shape[-2:] if w.ndim > 1 else (0, 0)
    k = math.isqrt(rows // channels) if size is None else size
    if k % 2 == 0 or rows != k**2 * channels or columns != channels:
        need = (
            f"(..., K * K * {channels}, {channels}) with an odd K"
            if size is None
            else f"(..., {k**2 * channels}, {channels}) for kernel {k} and the"
            f" {channels} channels of `image`"
        )
        raise ValueError(f"{who}: `w0` must have shape {need}, got {w.shape}.")
    within(who, "w0", w)
    return w, k


def matrix(
    who: str,
    name: str,
    value: Any,
    rows: int | None,
    columns: int | None,
    hint: str = "",
) -> Array:
    """Return a matrix of the shape that the other arguments ask for; None is any."""
    out = _checks.real(who, name, value)
    sides = zip(out.shape, (rows, columns), strict=False)
    if out.ndim != 2 or out.size == 0 or any(m not in (None, n) for n, m in sides):
        need = f"({rows or 'any'}, {columns or 'any'})"
        raise _checks.misshapen(who, name, f"have shape {need}", out, hint)
    return out


def direction(who: str, name: str, value: Any) -> tuple[Array, Array]:
    """Return a vector and its direction; the zero vector has none."""
    out = _checks.vector(who, name, value, 1)
    if not out.any():
        raise ValueError(
            f"{who}: `{name}` must not be zero. A zero training image has no"
            " direction, and descent stays at the initial weights."
        )
    part = scaled(out)[0]
    return out, part / np.linalg.norm(part)


def scaled(rows: Array) -> tuple[Array, npt.NDArray[np.int32]]:
    """Return rows of entries below 1 and the powers of 2 that were taken out."""
    parts, power = unscaled(rows, -1)
    return parts, power[..., 0]
