"""Argument checks of the public boundary and their one wording."""

import operator
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

ROUNDING = 4.0 * np.finfo(np.float64).eps
"""How far outside [-1, 1] a correlation may be by rounding alone."""


def reject(who: str, name: str, need: str, bad: Any, values: Any, hint: str) -> None:
    """Raise ValueError when any entry of the mask `bad` is set."""
    bad = np.atleast_1d(np.asarray(bad))
    if not bad.any():
        return
    values = np.broadcast_to(np.atleast_1d(np.asarray(values)), bad.shape)
    offender = values[bad].ravel()[0]
    count = (
        f"got {offender!s}"
        if bad.size == 1
        else f"but {int(bad.sum())} of {bad.size} entries do not, e.g. {offender!s}"
    )
    text = f"{who}: `{name}` must {need}, {count}."
    raise ValueError(f"{text} {hint}".rstrip())


def real(who: str, name: str, value: Any) -> Array:
    """Return a finite float64 array."""
    try:
        out = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{who}: `{name}` must be real numbers, got {value!r:.80}."
        ) from error
    reject(who, name, "be finite", ~np.isfinite(out), out, "")
    return out


def correlation(who: str, rho: Any) -> Array:
    """Return correlations clipped to [-1, 1]; only rounding is clipped."""
    out = real(who, "rho", rho)
    reject(
        who,
        "rho",
        "lie in [-1, 1]",
        np.abs(out) > 1.0 + ROUNDING,
        out,
        "If these are Gram matrix entries, normalise them with"
        " `theory.kernels.correlation`.",
    )
    return np.clip(out, -1.0, 1.0)


def interval(who: str, name: str, value: Any, low: float, high: float) -> Array:
    """Return an array whose entries lie in [low, high]."""
    out = real(who, name, value)
    bad = (out < low) | (out > high)
    reject(who, name, f"lie in [{low:g}, {high:g}]", bad, out, "")
    return out


def positive(who: str, name: str, value: Any) -> Array:
    """Return an array of positive numbers."""
    out = real(who, name, value)
    reject(who, name, "be positive", out <= 0.0, out, "")
    return out


def not_negative(who: str, name: str, value: Any) -> Array:
    """Return an array of numbers that are at least 0."""
    out = real(who, name, value)
    reject(who, name, "be at least 0", out < 0.0, out, "")
    return out


def scalar(who: str, name: str, value: Any, *, positive: bool = False) -> float:
    """Return one number that is at least 0, or above it."""
    out = real(who, name, value)
    if out.ndim:
        raise ValueError(f"{who}: `{name}` must be a number, got shape {out.shape}.")
    need = "be positive" if positive else "be at least 0"
    reject(who, name, need, out <= 0.0 if positive else out < 0.0, out, "")
    return float(out)


def choice(who: str, name: str, value: Any, known: tuple[str, ...]) -> str:
    """Return one of the known names."""
    if value not in known:
        options = ", ".join(map(repr, known))
        raise ValueError(
            f"{who}: `{name}` must be one of {options}, got {value!r:.80}."
        )
    return value


def flag(who: str, name: str, value: Any) -> bool:
    """Return a bool; nothing else is taken for one."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{who}: `{name}` must be True or False, got {value!r:.80}.")
    return bool(value)


def integer(who: str, name: str, value: Any, least: int) -> int:
    """Return a whole number that is at least `least`; bool is refused."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        out = operator.index(value)
    except TypeError:
        raise ValueError(
            f"{who}: `{name}` must be a whole number, got {value!r:.80}."
        ) from None
    if out < least:
        raise ValueError(f"{who}: `{name}` must be at least {least}, got {out}.")
    return out


def like(template: Any, out: Array) -> Any:
    """Return a Python float for scalar input, the array otherwise."""
    return float(out) if np.ndim(template) == 0 and out.ndim == 0 else out
