"""What `from_function` requires of its arguments, and how it says what is missing."""

from collections.abc import Callable, Iterator, Set
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks, gaussian
from theory.activations._half_weighted import HalfWeighted

Array = npt.NDArray[np.float64]
Function = Callable[[Array], Array]

EPS = float(np.finfo(np.float64).eps)

BESIDE = 1e-9
"""Distance from a kink, over one more than its size, that is next to it."""

LEAST, MOST = 1e-150, 1e150
"""Sizes of a function whose square is a float64 with all its digits."""


def name(value: Any) -> str | None:
    """Return the name, a string, or nothing."""
    if value is None or (isinstance(value, str) and value.strip()):
        return value
    raise ValueError(f"from_function: `name` must be a string, got {value!r:.80}.")


def tolerance(value: Any) -> float:
    """Return a number from 1e-14 to 0.01."""
    return _checks.number("from_function", "tolerance", value, 1e-14, 1e-2)


def kinks(value: Any) -> tuple[float, ...]:
    """Return the kinks, one number or a row of them, as sorted floats."""
    row = list(value) if isinstance(value, (Set, Iterator)) else value
    points = np.atleast_1d(_checks.real("from_function", "kinks", row))
    if points.ndim != 1:
        raise _checks.misshapen("from_function", "kinks", "be in one row", points)
    return tuple(sorted({float(c) + 0.0 for c in points}))


def apart(kinks: tuple[float, ...]) -> None:
    """Raise where kinks come so close that an angle between them has no square."""
    gaps = np.diff(np.unique([*kinks, 0.0, *np.negative(kinks)]))
    if gaps.min(initial=1.0) < LEAST:
        raise ValueError(
            f"from_function: `kinks` must be the same or {LEAST:g} apart, of each other and"
            f" of zero, but two are {gaps.min():.3g} apart. Name one of them."
        )


def resolved(
    who: str,
    rough: tuple[float, ...],
    jumps: tuple[float, ...],
    kinks: tuple[float, ...] = (),
    where: str = "",
) -> None:
    """Raise where f is not resolved, or jumps without being piecewise constant."""
    if rough:
        nearest = min(rough, key=abs)
        named = [c for c in kinks if abs(c - nearest) <= BESIDE * (1.0 + abs(c))]
        if named:
            raise ValueError(
                f"{who}: `f` must be bounded at its `kinks`{where}, but next to that at"
                f" x = {named[0]:.6g} it is not resolved by panels as narrow as double"
                " precision allows. Cut it off there, as log(max(|x|, 1e-9))."
            )
        raise ValueError(
            f"{who}: `f` must be smooth between its `kinks`{where}, but it is not"
            f" resolved near x = {nearest:.6g}, by panels as narrow as double precision"
            f" allows ({len(rough)} such places). If its slope is infinite there, give"
            " the exact point as one of the `kinks`."
        )
    if jumps:
        raise ValueError(
            f"{who}: `kinks` must not be jumps of f{where}, unless f is constant between"
            f" them, but f jumps at x = {jumps[0]:.6g}. Make f continuous there, or give"
            " a `tolerance` above the jump's size."
        )


def no_jumps(f: Function, kinks: tuple[float, ...]) -> None:
    """Raise for a function that jumps: its slope's dual is infinite at +-1.

    Two values on either side of a kink whose difference outlives a hundredth of the
    distance; that of a steep continuous function, even a square root, does not.
    """
    c = np.array(kinks)
    h = 1e-9 * (1.0 + np.abs(c))
    with np.errstate(invalid="ignore"):
        wide, narrow = (np.abs(f(c + w) - f(c - w)) for w in (h, 0.01 * h))
    scale = np.abs(f(c - h)) + np.abs(f(c + h))
    # Rounding of the arguments, times the slope.
    rounding = (1e-12 + 64.0 * EPS * np.abs(c) / h) * scale
    bad = (narrow > 0.5 * wide) & (narrow > rounding)
    need = "not be jumps of f, unless f is constant between them"
    _checks.reject("from_function", "kinks", need, bad, c, "Make f continuous there.")


def values(f: Function, kinks: tuple[float, ...], name: str) -> None:
    """Raise unless f maps arrays to real, finite ones that are square integrable."""
    x, _ = gaussian.panels(kinks)
    with np.errstate(all="ignore"):
        out = f(x.copy())
    kind = np.asarray(out).dtype
    if kind.kind not in "biuf" or isinstance(out, np.ma.MaskedArray):
        raise ValueError(
            f"from_function: `{name}` must return real numbers, got"
            f" {'masked' if kind.kind in 'biuf' else kind} values."
        )
    found = np.asarray(out)
    if found.shape != x.shape:
        raise ValueError(
            f"from_function: `{name}` must return an array of its argument's shape, got"
            f" {found.shape} for {x.shape}."
        )
    bad = ~np.isfinite(found)
    if bad.any():
        raise ValueError(
            f"from_function: `{name}` must be finite on the real line, got"
            f" {found[bad][0]} at x = {x[bad][0]:g}."
        )
    grid = np.linspace(-40.0, 40.0, 161)
    need = HalfWeighted.of(f, grid, 20).trouble(is_slope=name != "f", within=18.0)
    if need:
        raise ValueError(f"from_function: {need}.")
    size = float(np.max(np.abs(found) * np.exp(-0.25 * x * x)))
    if size and not LEAST <= size <= MOST and name == "f":
        raise ValueError(
            f"from_function: `f` must be of a size from {LEAST:g} to {MOST:g}, as E f^2"
            f" has to be within float64, got {size:.3g}. Multiply it by a constant."
        )
