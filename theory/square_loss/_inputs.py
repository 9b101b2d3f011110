"""Checks of networks, data and labels, with the one wording of `theory._checks`."""

from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks

Array = npt.NDArray[np.float64]
Weights = tuple[Array, ...]

LEADING = "the leading axes of "


def labels(who: str, value: Any, examples: int | None = None) -> Array:
    """Return labels -1 and +1, as many as there are examples."""
    out = _examples(who, "labels", value)
    hint = "Map the two classes to -1 and +1."
    _checks.reject(who, "labels", "be -1 or +1", np.abs(out) != 1.0, out, hint)
    if examples is not None and out.shape[-1] != examples:
        raise ValueError(
            f"{who}: `labels` must have one entry an example,"
            f" got {out.shape[-1]} for {examples} examples in `x`."
        )
    return out


def single_labels(who: str, value: Any, examples: int) -> Array:
    """Return the labels of one set of examples."""
    out = labels(who, value, examples)
    if out.ndim != 1:
        raise _checks.misshapen(who, "labels", f"have shape ({examples},)", out)
    return out


def outputs(who: str, value: Any) -> Array:
    """Return outputs with the examples on the last axis."""
    return _examples(who, "outputs", value)


def outputs_and_labels(who: str, f: Any, y: Any) -> tuple[Array, Array]:
    """Return outputs and labels of as many examples."""
    out, signs = outputs(who, f), labels(who, y)
    if signs.shape[-1] != out.shape[-1]:
        raise ValueError(
            f"{who}: `labels` must have one entry an example, got {signs.shape[-1]}"
            f" for {out.shape[-1]} examples in `outputs`."
        )
    return out, signs


def _examples(who: str, name: str, value: Any) -> Array:
    out = _checks.real(who, name, value)
    if out.ndim == 0 or out.size == 0:
        raise _checks.misshapen(who, name, "have shape (..., N) with N > 0", out)
    return out


def network(who: str, name: str, value: Any) -> Weights:
    """Return finite weight matrices whose shapes follow on each other, to one output."""
    need = "be a sequence of weight matrices, first layer first"
    try:
        listed = _checks.listed(who, name, value, "weight matrices, first layer first")
    except ValueError:
        listed = None
    if not listed or (isinstance(value, np.ndarray) and value.ndim < 3):
        came = "an empty one" if listed == [] else type(value).__name__
        raise ValueError(f"{who}: `{name}` must {need}, got {came}.")
    out = tuple(_checks.real(who, f"{name}[{k}]", w) for k, w in enumerate(listed))
    for k, w in enumerate(out):
        before = out[k - 1].shape[-2] if k else None
        if w.ndim < 2 or w.size == 0 or (k and w.shape[-1] != before):
            need = f"({'rows' if k + 1 < len(out) else 1}, {before or 'inputs'})"
            raise _checks.misshapen(who, f"{name}[{k}]", f"have shape {need}", w)
    if out[-1].shape[-2] != 1:
        need = "have one row, as the output is one number"
        raise _checks.misshapen(who, f"{name}[{len(out) - 1}]", need, out[-1])
    parts = {f"{name}[{k}]": w.shape[:-2] for k, w in enumerate(out)}
    _checks.common(who, parts, LEADING)
    return out


def single_network(who: str, name: str, value: Any, x: Any) -> tuple[Weights, Array]:
    """Return matrices and data without leading axes: one network at a time."""
    out = network(who, name, value)
    for k, w in enumerate(out):
        if w.ndim != 2:
            need = "be a matrix, one network at a time"
            raise _checks.misshapen(who, f"{name}[{k}]", need, w)
    rows = data(who, x, name, out)
    if rows.ndim != 2:
        raise _checks.misshapen(who, "x", "have shape (N, d)", rows)
    return out, rows


def nonzero(who: str, name: str, weights: Weights, *, single: bool = False) -> None:
    """Refuse a weight matrix of zeros: it has no direction."""
    for k, w in enumerate(weights):
        dead = ~np.any(w != 0.0, axis=(-2, -1))
        part = name if single else f"{name}[{k}]"
        _checks.reject(who, part, "have a non-zero entry", dead, "zeros only", "")


def unit(who: str, weights: Weights) -> None:
    """Refuse directions whose Frobenius norm is not 1."""
    nonzero(who, "directions", weights)
    for k, w in enumerate(weights):
        with np.errstate(over="ignore"):
            norm = np.asarray(np.linalg.norm(w, axis=(-2, -1)))
        # Directions from single precision are 1e-7 off, and are projected by callers.
        bad = ~(np.abs(norm - 1.0) <= 1e-6)
        hint = "`normalise` gives directions and norms."
        name = f"directions[{k}]"
        _checks.reject(who, name, "have Frobenius norm 1", bad, norm, hint)


def data(who: str, value: Any, name: str, weights: Weights) -> Array:
    """Return inputs, one a row, as wide as the first layer of the network `name`."""
    out, columns = _checks.real(who, "x", value), weights[0].shape[-1]
    if out.ndim < 2 or out.shape[-1] != columns or out.size == 0:
        hint = f"`{name}[0]` has {columns} columns."
        raise _checks.misshapen(who, "x", f"have shape (N, {columns})", out, hint)
    parts = {f"{name}[{k}]": w.shape[:-2] for k, w in enumerate(weights)}
    _checks.common(who, parts | {"x": out.shape[:-2]}, LEADING)
    return out


def coefficients(who: str, value: Any, x: Array, weights: Weights) -> Array:
    """Return one coefficient an example."""
    out, examples = _checks.real(who, "coefficients", value), x.shape[-2]
    if out.ndim == 0 or out.shape[-1] != examples:
        hint = f"`x` has {examples} rows."
        need = f"have shape (..., {examples})"
        raise _checks.misshapen(who, "coefficients", need, out, hint)
    parts = {f"weights[{k}]": w.shape[:-2] for k, w in enumerate(weights)}
    parts |= {"x": x.shape[:-2], "coefficients": out.shape[:-1]}
    _checks.common(who, parts, LEADING)
    return out


def finite(who: str, arrays: Weights, *names: str) -> Weights:
    """Return arrays of results; those that float64 does not hold are refused."""
    for out in arrays:
        _checks.result(who, out, *names)
    return arrays
