"""Checks of points, bandwidths and widths, with the one wording of `theory._checks`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks

Array = npt.NDArray[np.float64]

SINGLE = 1e-6
"""How far a sum of probabilities from single precision may be from 1."""


def classes(who: str, value: Any) -> int:
    """Return a number of classes; one class leaves nothing to choose."""
    return _checks.integer(who, "classes", value, 2)


def points(who: str, name: str, value: Any, least: int = 1) -> Array:
    """Return points, one a row, with at least two coordinates."""
    out = _checks.real(who, name, value)
    if out.ndim != 2:
        raise ValueError(
            f"{who}: `{name}` must have shape (points, classes), got {out.shape}."
        )
    if out.shape[1] < 2:
        raise ValueError(
            f"{who}: `{name}` must have at least 2 classes, got {out.shape[1]}. One"
            " probability p of two classes stands for the point (p, 1 - p)."
        )
    if len(out) < least:
        hint = " or take the biased estimator" if least == 2 else ""
        raise ValueError(
            f"{who}: `{name}` must hold at least {least} points, got {len(out)}. Draw"
            f" more{hint}."
        )
    return out


def pair(who: str, x: Any, y: Any, least: int = 1) -> tuple[Array, Array]:
    """Return two sets of points of one dimension."""
    a, b = points(who, "x", x, least), points(who, "y", y, least)
    if a.shape[1] != b.shape[1]:
        raise ValueError(
            f"{who}: `y` must have the {a.shape[1]} classes of `x`, got {b.shape[1]}."
        )
    return a, b


def bandwidths(who: str, value: Any) -> Array:
    """Return positive bandwidths, one or a list of them."""
    out = np.atleast_1d(_checks.positive(who, "bandwidths", value))
    if out.ndim != 1 or out.size == 0:
        raise ValueError(
            f"{who}: `bandwidths` must be a number or a list of numbers, got shape"
            f" {out.shape}."
        )
    return out


def probabilities(who: str, name: str, value: Any, axes: str) -> Array:
    """Return points of the simplex on the last axis; `axes` names all of them."""
    out = _checks.real(who, name, value)
    if out.ndim != len(axes.split(", ")) or out.size == 0:
        raise ValueError(
            f"{who}: `{name}` must have shape ({axes}), none of them 0, got"
            f" {out.shape}."
        )
    if out.shape[-1] < 2:
        raise ValueError(
            f"{who}: `{name}` must have at least 2 classes, got {out.shape[-1]}. One"
            " probability p of two classes stands for the point (p, 1 - p)."
        )
    _checks.reject(who, name, "be at least 0", out < -SINGLE, out, "Apply softmax.")
    total = out.sum(axis=-1)
    bad = np.abs(total - 1.0) > SINGLE
    _checks.reject(who, name, "sum to 1 over classes", bad, total, "Apply softmax.")
    return out


def unit_vector(who: str, name: str, value: Any, least: int = 1) -> Array:
    """Return a list of probabilities of the first of two classes."""
    out = _checks.interval(who, name, value, 0.0, 1.0)
    if out.ndim != 1 or out.size < least:
        raise ValueError(
            f"{who}: `{name}` must be a list of at least {least} probabilities, got"
            f" shape {out.shape}."
        )
    return out


def widths(who: str, value: Any) -> tuple[int, ...]:
    """Return the widths of a network: its inputs, hidden layers and classes."""
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) < 2:
        raise ValueError(
            f"{who}: `widths` must list the inputs, the hidden layers and the classes,"
            f" got {value!r:.80}."
        )
    out = tuple(_checks.integer(who, "widths", n, 1) for n in value)
    if out[-1] < 2:
        raise ValueError(
            f"{who}: `widths` must end in at least 2 classes, got {out[-1]}. Give a"
            " single output its own logit for each of the two classes."
        )
    return out
