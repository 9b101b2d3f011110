"""Checks of networks, data and labels, with the one wording of `theory._checks`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks

Array = npt.NDArray[np.float64]
Weights = tuple[Array, ...]


def labels(who: str, value: Any, examples: int | None = None) -> Array:
    """Return labels -1 and +1, as many as there are examples."""
    out = _checks.real(who, "labels", value)
    if out.ndim == 0 or out.size == 0:
        raise ValueError(
            f"{who}: `labels` must have shape (..., N) with N > 0, got {out.shape}."
        )
    hint = "Map the two classes to -1 and +1."
    _checks.reject(who, "labels", "be -1 or +1", np.abs(out) != 1.0, out, hint)
    if examples is not None and out.shape[-1] != examples:
        raise ValueError(
            f"{who}: `labels` must have one entry an example,"
            f" got {out.shape[-1]} for {examples} examples."
        )
    return out


def outputs(who: str, value: Any) -> Array:
    """Return outputs with the examples on the last axis."""
    out = _checks.real(who, "outputs", value)
    if out.ndim == 0 or out.shape[-1] == 0:
        raise ValueError(
            f"{who}: `outputs` must have shape (..., N) with N > 0, got {out.shape}."
        )
    return out


def network(who: str, name: str, value: Any) -> Weights:
    """Return finite weight matrices whose shapes follow on each other, to one output."""
    if isinstance(value, np.ndarray) and value.ndim > 2:
        value = list(value)
    if isinstance(value, str) or not isinstance(value, Sequence) or not len(value):
        raise ValueError(
            f"{who}: `{name}` must be a sequence of weight matrices, first layer first,"
            f" got {type(value).__name__}."
        )
    out = tuple(_checks.real(who, f"{name}[{k}]", w) for k, w in enumerate(value))
    for k, w in enumerate(out):
        before = out[k - 1].shape[-2] if k else None
        if w.ndim < 2 or w.size == 0 or (k and w.shape[-1] != before):
            need = f"({'rows' if k + 1 < len(out) else 1}, {before or 'inputs'})"
            raise ValueError(
                f"{who}: `{name}[{k}]` must have shape {need}, got {w.shape}."
            )
    if out[-1].shape[-2] != 1:
        raise ValueError(
            f"{who}: `{name}[{len(out) - 1}]` must have one row, as the output is one"
            f" number, got {out[-1].shape}."
        )
    return out


def nonzero(who: str, name: str, weights: Weights) -> None:
    """Refuse a weight matrix of zeros: it has no direction."""
    for k, w in enumerate(weights):
        dead = ~np.any(w != 0.0, axis=(-2, -1))
        _checks.reject(
            who, f"{name}[{k}]", "have a non-zero entry", dead, "zeros only", ""
        )


def unit(who: str, weights: Weights) -> None:
    """Refuse directions whose Frobenius norm is not 1."""
    nonzero(who, "directions", weights)
    for k, w in enumerate(weights):
        norm = np.asarray(np.linalg.norm(w, axis=(-2, -1)))
        # Directions from single precision are 1e-7 off, and are projected by callers.
        bad = np.abs(norm - 1.0) > 1e-6
        hint = "`normalise` gives directions and norms."
        name = f"directions[{k}]"
        _checks.reject(who, name, "have Frobenius norm 1", bad, norm, hint)


def data(who: str, value: Any, columns: int) -> Array:
    """Return inputs, one a row, as wide as the first layer."""
    out = _checks.real(who, "x", value)
    if out.ndim < 2 or out.shape[-1] != columns or out.shape[-2] == 0:
        raise ValueError(f"{who}: `x` must have shape (N, {columns}), got {out.shape}.")
    return out


def coefficients(who: str, value: Any, examples: int) -> Array:
    """Return one coefficient an example."""
    out = _checks.real(who, "coefficients", value)
    if out.ndim == 0 or out.shape[-1] != examples:
        raise ValueError(
            f"{who}: `coefficients` must have shape (..., {examples}), got {out.shape}."
        )
    return out
