"""Argument checks of the public boundary and their one wording.

Whatever comes in is a finite real number, a whole number, a truth value, one of a few
names or an object of a known kind, and is refused *before* it is cast: text, bytes, dates,
complex numbers and masked entries would all become numbers of another meaning. Messages
name the function, the argument, what was required and what came.
"""

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal
from numbers import Real
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from theory._naming import nearest

Array = npt.NDArray[np.float64]
T = TypeVar("T")

ROUNDING = 4.0 * np.finfo(np.float64).eps
"""How far outside [-1, 1] a correlation may be by rounding alone."""

LARGEST = 2**200
"""The largest whole number taken: the fifth power of it is within float64."""

BYTES = (bytes, bytearray, memoryview)

PLAIN: frozenset[type] = frozenset({float, int, np.float64})
"""Types of list entries that need no look."""


def reject(who: str, name: str, need: str, bad: Any, values: Any, hint: str) -> None:
    """Raise ValueError when any entry of the mask `bad` is set."""
    bad = np.atleast_1d(np.asarray(bad))
    if not bad.any():
        return
    values = np.broadcast_to(np.atleast_1d(np.asarray(values)), bad.shape)
    offender = values[bad].ravel()[0]
    fail = "are not" if need.startswith("be ") else "do not"
    count = (
        f"got {offender!s}"
        if bad.size == 1
        else f"but {int(bad.sum())} of {bad.size} entries {fail}, e.g. {offender!s}"
    )
    text = f"{who}: `{name}` must {need}, {count}."
    raise ValueError(f"{text} {hint}".rstrip())


def refuse(who: str, name: str, need: str, value: Any, hint: str = "") -> ValueError:
    """Return the error for a value of another kind than the one needed."""
    text = f"{who}: `{name}` must {need}, got {_shown(value)}."
    return ValueError(f"{text} {hint}".rstrip())


def misshapen(who: str, name: str, need: str, out: Array, hint: str = "") -> ValueError:
    """Return the error for an array of another shape than the one needed."""
    came = f"{'' if 'shape' in need else 'shape '}{out.shape}"
    return ValueError(f"{who}: `{name}` must {need}, got {came}. {hint}".rstrip())


# --- numbers --------------------------------------------------------------------------


def real(who: str, name: str, value: Any) -> Array:
    """Return a finite float64 array.

    Refused are text, dates, complex numbers, truth values, structures, masked arrays,
    tensors that need gradients, and objects other than real numbers.
    """
    if type(value) is float or (
        type(value) is np.ndarray and value.dtype == np.float64
    ):
        out = np.asarray(value)
    else:
        out = _cast(who, name, value)
    finite = np.isfinite(out)
    if not finite.all():
        reject(who, name, "be finite", ~finite, out, "")
    return out


def _cast(who: str, name: str, value: Any) -> Array:
    need = "be real numbers"
    found = _odd(value)
    if found is not None:
        raise ValueError(f"{who}: `{name}` must {need}, got {found}.")
    hint = "Call `.detach().cpu().double()`." if hasattr(value, "detach") else ""
    try:
        raw = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise refuse(who, name, need, value, hint) from error
    if raw.dtype.kind in "iuf":
        with np.errstate(over="ignore"):  # of long doubles, which are not finite then
            return raw.astype(np.float64)
    if raw.dtype.kind != "O":
        raise refuse(who, name, need, value)
    entries = raw.ravel().tolist()
    if not all(isinstance(v, (Real, Decimal)) and _odd(v) is None for v in entries):
        raise refuse(who, name, need, value)
    try:
        return np.array([float(v) for v in entries], dtype=np.float64).reshape(
            raw.shape
        )
    except (OverflowError, ValueError) as error:
        raise refuse(who, name, "lie within float64", value) from error


def _odd(value: Any, depth: int = 0) -> str | None:
    """Say what a value is that a cast would take for a number, or None."""
    if isinstance(value, (list, tuple)):
        plain = depth > 32 or PLAIN.issuperset(map(type, value))
        found = () if plain else (_odd(v, depth + 1) for v in value)
        return next((f for f in found if f is not None), None)
    if isinstance(value, BYTES):
        return f"{bytes(value)!r:.80}"
    if isinstance(value, np.ma.MaskedArray):
        return "a masked array: fill or drop its masked entries"
    if getattr(value, "requires_grad", False) is True:
        return "a tensor that needs gradients: call `.detach()` first"
    if isinstance(value, (bool, np.bool_)):
        return f"the truth value {value!s}"
    if str(getattr(value, "dtype", "")).endswith("bool"):
        return "an array of truth values: say which numbers they stand for"
    return None


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.ndim:
        return f"an array of {value.dtype}"
    try:
        return f"{' '.join(repr(value).split()):.80}"
    except Exception:
        return f"an object of type {type(value).__name__}"


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
    # The least positive number stands for an end that is left out.
    first = "(0" if low == math.ulp(0.0) else f"[{low:g}"
    reject(who, name, f"lie in {first}, {high:g}]", bad, out, "")
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


def times(who: str, name: str, value: Any) -> Array:
    """Return an array of times: numbers that are at least 0, or infinite."""
    out = _cast(who, name, value)
    hint = "Infinity is the limit."
    reject(who, name, "be at least 0", ~(out >= 0.0), out, hint)
    return out


def number(
    who: str, name: str, value: Any, low: float = -np.inf, high: float = np.inf
) -> float:
    """Return one number of [low, high]."""
    if type(value) is float and math.isfinite(value) and low <= value <= high:
        return value  # an array for it costs more than most calls
    out = interval(who, name, value, low, high)
    if out.ndim:
        raise misshapen(who, name, "be a number", out)
    return float(out)


def scalar(who: str, name: str, value: Any, *, positive: bool = False) -> float:
    """Return one number that is at least 0, or above it."""
    out = number(who, name, value)
    if out < 0.0 or (positive and out == 0.0):
        raise refuse(who, name, "be positive" if positive else "be at least 0", out)
    return out


def vector(who: str, name: str, value: Any, least: int = 0) -> Array:
    """Return a list of numbers, at least so many."""
    out = real(who, name, value)
    if out.ndim != 1 or out.size < least:
        count = f" with at least {least} entries" if least else ""
        raise misshapen(who, name, f"be a list of numbers{count}", out)
    return out


def numbers(who: str, name: str, value: Any, least: int = 0) -> tuple[float, ...]:
    """Return a tuple of floats, at least so many: it can be hashed."""
    if not isinstance(value, tuple):
        raise refuse(who, name, "be a tuple of numbers", value)
    if not all(type(v) is float and math.isfinite(v) for v in value) or not value:
        return tuple(vector(who, name, value, least).tolist())
    return value  # an array costs more than most uses


def text(who: str, name: str, value: Any) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise refuse(who, name, "be a string", value)
    return value


def shaped(
    who: str, name: str, value: Any, shape: tuple[int, ...], hint: str = ""
) -> Array:
    """Return an array of the shape that other arguments ask for."""
    out = real(who, name, value)
    if out.shape != shape:
        raise misshapen(who, name, f"have shape {shape}", out, hint)
    return out


def integer(
    who: str, name: str, value: Any, least: int, most: int | None = LARGEST
) -> int:
    """Return a whole number that is at least `least`; bool is refused."""
    try:
        if _odd(value) is not None:
            raise TypeError
        out = operator.index(value)
    except (TypeError, RuntimeError):
        raise refuse(who, name, "be a whole number", value) from None
    if out < least:
        raise refuse(who, name, f"be at least {least}", out)
    if most is not None and out > most:
        raise refuse(who, name, f"be at most {most}", out)
    return out


# --- everything else ------------------------------------------------------------------


def counts(who: str, name: str, value: Any, least: int, most: int) -> Array:
    """Return an array of whole numbers of [least, most]; floats are refused."""
    need = "be whole numbers"
    try:
        raw = np.asarray(value) if _odd(value) is None else None
    except (TypeError, ValueError, RuntimeError):
        raw = None
    if raw is None or (raw.size and raw.dtype.kind not in "iuO"):
        raise refuse(who, name, need, value)
    out = real(who, name, value)
    if raw.dtype.kind == "O":
        large = all(isinstance(v, int) for v in raw.flat)
        raise refuse(who, name, f"lie in [{least}, {most}]" if large else need, value)
    reject(
        who, name, f"lie in [{least}, {most}]", (out < least) | (out > most), raw, ""
    )
    return out


def flag(who: str, name: str, value: Any) -> bool:
    """Return a truth value; what is merely truthy is refused."""
    if not isinstance(value, (bool, np.bool_)):
        raise refuse(who, name, "be True or False", value)
    return bool(value)


def choice(who: str, name: str, value: Any, known: tuple[str, ...]) -> str:
    """Return one of the known names, and suggest one that is near."""
    if isinstance(value, str) and value in known:
        return value
    near = nearest(value, known) if isinstance(value, str) else ""
    hint = f"Did you mean {near!r}?" if near else ""
    options = ", ".join(map(repr, known))
    raise refuse(who, name, f"be one of {options}", value, hint)


def instance(who: str, name: str, value: Any, kind: type[T], hint: str = "") -> T:
    """Return an object of the kind asked for."""
    if not isinstance(value, kind):
        need = f"be a {kind.__module__.partition('.')[0]} {kind.__name__}"
        hint = hint or (of_activation(value) if need.endswith("Activation") else "")
        raise refuse(who, name, need, value, hint)
    return value


def of_activation(value: Any) -> str:
    """Return how to come by an activation from what was given for one."""
    if isinstance(value, str):
        return "`theory.activations` has them by name, `activations.relu` for one."
    if str(getattr(value, "__module__", "")).startswith("theory.activations"):
        return f"Call it: `{getattr(value, '__name__', 'it')}()`."
    return "`from_function` makes one of a callable." if callable(value) else ""


def function(who: str, name: str, value: Any) -> Callable[..., Any]:
    """Return something that can be called."""
    if not callable(value):
        raise refuse(who, name, "be a function", value)
    return value


def values(who: str, name: str, out: Any, nodes: Array) -> Array:
    """Return the values of a function at its nodes, one number each."""
    found = real(who, f"{name}(x)", out)
    if found.shape != nodes.shape:
        need = f"return one number a node, of shape {nodes.shape}"
        raise misshapen(who, name, need, found)
    return found


def listed(who: str, name: str, value: Any, what: str) -> list[Any]:
    """Return the entries of a list, a tuple or a first axis, unchecked."""
    unordered = isinstance(value, (str, *BYTES, Mapping, AbstractSet))
    if unordered or not isinstance(value, Iterable):
        raise refuse(who, name, f"list {what}", value)
    try:
        return list(value)
    except TypeError:  # an array without axes
        raise refuse(who, name, f"list {what}", value) from None


# --- several arguments ----------------------------------------------------------------


def broadcast(who: str, **arrays: Any) -> tuple[int, ...]:
    """Return the common shape of arrays or numbers, by the names of their arguments."""
    return common(who, {name: np.shape(out) for name, out in arrays.items()})


def common(
    who: str, shapes: Mapping[str, tuple[int, ...]], of: str = ""
) -> tuple[int, ...]:
    """Return the common shape of what arguments have, `of` them if not all axes."""
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        raise ValueError(
            f"{who}: {of}{named(shapes)} must broadcast, got shapes"
            f" {_joined([str(shape) for shape in shapes.values()])}."
        ) from None


def result(who: str, out: Any, *names: str) -> Any:
    """Return a result; one that float64 does not hold is refused, naming its arguments.

    Callers silence the overflow itself.
    """
    if not np.isfinite(out).all():
        raise ValueError(
            f"{who}: {named(names)} must keep the result within float64, but"
            f" {_count(out)} not finite. Take numbers nearer to 1."
        )
    return out


def _count(out: Any) -> str:
    bad = ~np.isfinite(out)
    return "it is" if bad.ndim == 0 else f"{int(bad.sum())} of {bad.size} entries are"


def named(names: Iterable[str]) -> str:
    """Return names of arguments as they stand in a message."""
    return _joined([f"`{name}`" for name in names])


def _joined(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)


def like(template: Any, out: Array) -> Any:
    """Return a Python float for scalar input, the array otherwise."""
    return float(out) if np.ndim(template) == 0 and out.ndim == 0 else out


def plain(out: Any) -> Any:
    """Return a Python float where nothing is an array, the array otherwise."""
    return like(0.0, np.asarray(out, dtype=np.float64))
