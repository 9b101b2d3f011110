"""Checks of images, kernels and weights, with the one wording of `theory._checks`."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks

Array = npt.NDArray[np.float64]


def kernel(who: str, kernel_size: Any) -> int:
    """Return an odd kernel size; an even kernel has no centre."""
    size = _checks.integer(who, "kernel_size", kernel_size, 1)
    if size % 2 == 0:
        raise ValueError(
            f"{who}: `kernel_size` must be odd, got {size}."
            " An even kernel has no centre pixel."
        )
    return size


def image(who: str, name: str, value: Any) -> Array:
    """Return an image as (H, W, C), with at least one pixel, all finite."""
    out = _checks.real(who, name, value)
    if out.ndim not in (2, 3):
        raise ValueError(
            f"{who}: `{name}` must have shape (H, W) or (H, W, C), got {out.shape}."
        )
    if out.size == 0:
        raise ValueError(
            f"{who}: `{name}` must have at least one pixel, got shape {out.shape}."
        )
    return out if out.ndim == 3 else out[:, :, np.newaxis]


def vector(who: str, name: str, value: Any) -> Array:
    """Return a vector with at least one entry."""
    out = _checks.real(who, name, value)
    if out.ndim != 1 or out.size == 0:
        raise ValueError(f"{who}: `{name}` must have shape (d,), got {out.shape}.")
    return out


def matrix(who: str, name: str, value: Any, rows: int, columns: int | None) -> Array:
    """Return a matrix of the shape that the other arguments ask for."""
    out = _checks.real(who, name, value)
    wanted = out.ndim == 2 and out.shape[0] == rows and out.shape[1] > 0
    if not wanted or (columns is not None and out.shape[1] != columns):
        need = f"({rows}, {'any' if columns is None else columns})"
        raise ValueError(f"{who}: `{name}` must have shape {need}, got {out.shape}.")
    return out


def direction(who: str, name: str, value: Any) -> tuple[Array, float]:
    """Return a vector's direction and length; the zero vector has none."""
    out = vector(who, name, value)
    top = float(np.abs(out).max())
    if top == 0.0:
        raise ValueError(
            f"{who}: `{name}` must not be zero. A zero training image has no"
            " direction, and descent stays at the initial weights."
        )
    # A power of two scales without rounding, and keeps squares within range.
    power = math.frexp(top)[1]
    part = np.ldexp(out, -power)
    length = float(np.linalg.norm(part))
    return part / length, float(np.ldexp(length, power))


def choice(who: str, name: str, value: Any, known: tuple[str, ...]) -> str:
    """Return one of the known names."""
    if value not in known:
        options = ", ".join(map(repr, known))
        raise ValueError(
            f"{who}: `{name}` must be one of {options}, got {value!r:.80}."
        )
    return value


def whole(who: str, **counts: tuple[Any, int]) -> tuple[int, ...]:
    """Return counts, each given as (value, least)."""
    return tuple(_checks.integer(who, k, v, low) for k, (v, low) in counts.items())


def number(who: str, name: str, value: Any, low: float, high: float) -> float:
    """Return one number of [low, high]."""
    out = _checks.interval(who, name, value, low, high)
    if out.ndim:
        raise ValueError(f"{who}: `{name}` must be a number, got shape {out.shape}.")
    return float(out)


def above_zero(who: str, name: str, value: Any) -> float:
    """Return one positive number."""
    out = _checks.positive(who, name, value)
    if out.ndim:
        raise ValueError(f"{who}: `{name}` must be a number, got shape {out.shape}.")
    return float(out)


def probability(who: str, name: str, value: Any) -> float:
    """Return one number of (0, 1]."""
    return number(who, name, above_zero(who, name, value), 0.0, 1.0)


def above_one(who: str, name: str, value: Any) -> float:
    """Return one number above 1."""
    out = above_zero(who, name, value)
    if out <= 1.0:
        raise ValueError(f"{who}: `{name}` must be above 1, got {out!r}.")
    return out
