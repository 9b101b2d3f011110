"""Checks of points, bandwidths and widths, with the one wording of `theory._checks`."""

from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks

Array = npt.NDArray[np.float64]

SINGLE = 1e-6
"""How far a sum of probabilities from single precision may be from 1."""

ONE_CLASS = "One probability p of two classes stands for the point (p, 1 - p)."


def classes(who: str, value: Any, most: int | None = _checks.LARGEST) -> int:
    """Return a number of classes; one class leaves nothing to choose."""
    return _checks.integer(who, "classes", value, 2, most)


def points(who: str, name: str, value: Any, least: int = 1) -> Array:
    """Return points, one a row, with at least two coordinates."""
    out = _checks.real(who, name, value)
    if out.ndim != 2:
        raise _checks.misshapen(who, name, "have shape (points, classes)", out)
    if out.shape[1] < 2:
        need = "have at least 2 classes"
        raise _checks.refuse(who, name, need, out.shape[1], ONE_CLASS)
    if len(out) < least:
        hint = "Draw more or take the biased estimator." if least == 2 else "Draw more."
        need = f"hold at least {least} points"
        raise _checks.refuse(who, name, need, len(out), hint)
    return out


def pair(who: str, x: Any, y: Any, least: int = 1) -> tuple[Array, Array]:
    """Return two sets of points of one dimension."""
    a, b = points(who, "x", x, least), points(who, "y", y, least)
    if a.shape[1] != b.shape[1]:
        need = f"have the {a.shape[1]} classes of `x`"
        raise _checks.refuse(who, "y", need, b.shape[1])
    return a, b


def bandwidths(who: str, value: Any) -> Array:
    """Return positive bandwidths, one or a list of them."""
    return positive_list(who, "bandwidths", value)


def positive_list(who: str, name: str, value: Any) -> Array:
    """Return positive numbers, one or a list of them."""
    out = np.atleast_1d(_checks.positive(who, name, value))
    if out.ndim != 1 or out.size == 0:
        raise _checks.misshapen(who, name, "be a number or a list of numbers", out)
    return out


def probabilities(who: str, name: str, value: Any, axes: str) -> Array:
    """Return points of the simplex on the last axis; `axes` names all of them."""
    out = _checks.real(who, name, value)
    if out.ndim != len(axes.split(", ")) or out.size == 0:
        raise _checks.misshapen(who, name, f"have shape ({axes}), none of them 0", out)
    if out.shape[-1] < 2:
        need = "have at least 2 classes"
        raise _checks.refuse(who, name, need, out.shape[-1], ONE_CLASS)
    _checks.reject(who, name, "be at least 0", out < -SINGLE, out, "Apply softmax.")
    with np.errstate(over="ignore"):
        total = out.sum(axis=-1)
    bad = np.abs(total - 1.0) > SINGLE
    _checks.reject(who, name, "sum to 1 over classes", bad, total, "Apply softmax.")
    return out


def unit_vector(who: str, name: str, value: Any, least: int = 1) -> Array:
    """Return a list of probabilities of the first of two classes."""
    out = _checks.interval(who, name, value, 0.0, 1.0)
    if out.ndim != 1 or out.size < least:
        need = f"be a list of at least {least} probabilities"
        raise _checks.misshapen(who, name, need, out)
    return out


def widths(who: str, value: Any) -> tuple[int, ...]:
    """Return the widths of a network: its inputs, hidden layers and classes."""
    what = "the inputs, the hidden layers and the classes"
    listed = _checks.listed(who, "widths", value, what)
    out = tuple(_checks.integer(who, "widths", n, 1, 2**31) for n in listed)
    if len(out) < 2:
        raise _checks.refuse(who, "widths", f"list {what}", value)
    if out[-1] < 2:
        hint = "Give a single output its own logit for each of the two classes."
        raise _checks.refuse(who, "widths", "end in at least 2 classes", out[-1], hint)
    return out
