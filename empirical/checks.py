"""Checks of arguments, with one wording: who, what was required, what came."""

import difflib
import math
from collections.abc import Iterable, Sequence
from numbers import Integral
from types import UnionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Command lines check values before they load PyTorch.
    from torch import Tensor


def check_choice(who: str, name: str, value: Any, known: Iterable[str]) -> None:
    """Refuse what is not among the known; near ones are suggested.

    Examples
    --------
    >>> check_choice("train", "loss", "means", ("mean", "sum"))
    Traceback (most recent call last):
    ValueError: train: `loss` must be one of mean, sum, but it is 'means'. Did ...
    """
    known = tuple(known)
    if value not in known:
        raise ValueError(
            f"{who}: `{name}` must be one of {', '.join(known)}, but it is "
            f"{value!r}{nearest([str(value)], known)}"
        )


def nearest(given: Iterable[str], known: Sequence[str]) -> str:
    """Ask whether the known names next to those given are meant; empty if none is near.

    Examples
    --------
    >>> nearest(["bn-deacy"], ["bn", "bn-decay"]), nearest(["x"], ["bn"])
    (". Did you mean 'bn-decay'?", '')
    """
    each = [difflib.get_close_matches(name, known, n=1) for name in sorted(given)]
    near = [repr(found[0]) for found in each if found and found[0] not in given]
    return f". Did you mean {' or '.join(near)}?" if near else ""


def check_whole(who: str, /, **values: Any) -> None:
    """Refuse what is no whole number, bool and 3.0 included; None is absent.

    Examples
    --------
    >>> check_whole("train", steps=2.5)
    Traceback (most recent call last):
    ValueError: train: `steps` must be a whole number, but it is 2.5
    """
    for name, value in values.items():
        whole = not isinstance(value, bool) and isinstance(value, Integral)
        if value is not None and not whole:
            raise ValueError(
                f"{who}: `{name}` must be a whole number, but it is {value!r}"
            )


def check_counts(who: str, least: int = 1, /, **counts: int | None) -> None:
    """Refuse what is no whole number, below `least` or no number of things; None is absent.

    Of things in memory, or steps in time, there are fewer than 2^53, up to which float64
    holds whole numbers.

    Examples
    --------
    >>> check_counts("train", steps=0)
    Traceback (most recent call last):
    ValueError: train: `steps` must be at least 1, but it is 0
    """
    check_whole(who, **counts)
    for name, value in counts.items():
        if value is not None and value < least:
            raise ValueError(
                f"{who}: `{name}` must be at least {least}, but it is {value}"
            )
        if value is not None and value >= 2**53:
            raise ValueError(f"{who}: `{name}` must be below 2^53, but it is {value}")


def check_positive(who: str, /, **values: float | None) -> None:
    """Refuse numbers that are not positive and finite; None is absent."""
    for name, value in values.items():
        if value is not None and not _within(0.0, value, math.inf, open_below=True):
            raise ValueError(
                f"{who}: `{name}` must be positive and finite, but it is {value}"
            )


def check_weights(who: str, /, **values: float) -> None:
    """Refuse numbers that are negative or not finite."""
    for name, value in values.items():
        if not _within(0.0, value, math.inf):
            raise ValueError(f"{who}: `{name}` must not be negative, but it is {value}")


def check_share(who: str, /, **values: float) -> None:
    """Refuse numbers outside [0, 1)."""
    for name, value in values.items():
        if not _within(0.0, value, 1.0):
            raise ValueError(f"{who}: `{name}` must lie in [0, 1), but it is {value}")


def _within(least: float, value: Any, most: float, *, open_below: bool = False) -> bool:
    """Whether a value lies in [least, most), or (least, most); text lies in neither."""
    try:
        return bool(least < value < most or (value == least and not open_below))
    except TypeError:
        return False


def check_exploded(who: str, value: float) -> None:
    """Refuse a factor of the first loss that is no explosion."""
    if not value > 1.0:
        raise ValueError(f"{who}: `exploded` must be greater than 1, but it is {value}")


def check_schedule(who: str, schedule: tuple[float, ...]) -> None:
    """Refuse what are not increasing fractions."""
    increasing = schedule == tuple(sorted(schedule))
    if not increasing or not all(0.0 < s < 1.0 for s in schedule):
        raise ValueError(
            f"{who}: `schedule` must be increasing fractions in (0, 1), but it is "
            f"{schedule}"
        )


def check_symmetric(who: str, name: str, matrices: Any, slack: float) -> None:
    """Refuse arrays or tensors (..., n, n) unlike their mirror images.

    Products of large matrices are symmetric to rounding only: entries may differ by
    `slack` times the largest.

    Examples
    --------
    >>> import numpy as np
    >>> check_symmetric("spectrum", "kernels", np.array([[1.0, 0.5], [0.25, 1.0]]), 1e-9)
    Traceback (most recent call last):
    ValueError: spectrum: `kernels` must be symmetric, but entries differ by 0.25 ...
    """
    skew = float(abs(matrices - matrices.swapaxes(-1, -2)).max())
    if not skew <= slack * float(abs(matrices).max()):
        raise ValueError(
            f"{who}: `{name}` must be symmetric, but entries differ by {skew:.3g} from "
            "their mirror images"
        )


def check_generators(who: str, generators: Any, name: str = "generators") -> None:
    """Refuse what is no list of generators, or an empty one.

    Examples
    --------
    >>> check_generators("Epochs", [7])
    Traceback (most recent call last):
    ValueError: Epochs: `generators` must be torch.Generator, got 7; ...
    """
    from torch import Generator

    if not isinstance(generators, Sequence):
        raise ValueError(
            f"{who}: `{name}` must be a list of torch.Generator, got {generators!r}"
        )
    if not generators:
        raise ValueError(f"{who}: `{name}` must not be empty")
    for one in generators:
        if not isinstance(one, Generator):
            raise ValueError(
                f"{who}: `{name}` must be torch.Generator, got {one!r}; "
                "`torch.Generator().manual_seed(1)` makes one"
            )


def check_slopes(who: str) -> None:
    """Refuse to differentiate where PyTorch records no slopes, whatever is enabled.

    Raises
    ------
    RuntimeError
        In `torch.inference_mode`.

    Examples
    --------
    >>> import torch
    >>> with torch.inference_mode():
    ...     check_slopes("train")
    Traceback (most recent call last):
    RuntimeError: train: must be called outside `torch.inference_mode`, which ...
    """
    import torch

    if torch.is_inference_mode_enabled():
        raise RuntimeError(
            f"{who}: must be called outside `torch.inference_mode`, which records no "
            "slopes. `torch.no_grad` may stay."
        )


def check_finite(who: str, name: str, values: "Tensor", advice: str = "") -> None:
    """Refuse tensors with an entry that is not finite.

    Examples
    --------
    >>> import torch
    >>> check_finite("train", "images", torch.tensor([1.0, torch.inf]))
    Traceback (most recent call last):
    ValueError: train: `images` must be finite, but 1 of 2 entries are not, e.g. inf
    """
    bad = ~values.isfinite()
    if bool(bad.any()):
        raise ValueError(
            f"{who}: `{name}` must be finite, but {int(bad.sum())} of {values.numel()} "
            f"entries are not, e.g. {values[bad][0].item()}{advice}"
        )


def check_kinds(who: str, /, **given: tuple[object, type | UnionType]) -> None:
    """Refuse what is no value of its class.

    Examples
    --------
    >>> check_kinds("train", steps=("9", int))
    Traceback (most recent call last):
    ValueError: train: `steps` must be a value of builtins.int, but it is str
    """
    for name, (value, kind) in given.items():
        if not isinstance(value, kind):
            a_class = isinstance(value, type)
            its = value if a_class else type(value)
            # Ours and PyTorch's SGD are told apart by their modules.
            full = f"{its.__module__}.{its.__name__}".removeprefix("builtins.")
            came = f"the class {full}" if a_class else full
            named = (
                f"{kind.__module__}.{kind.__name__}" if isinstance(kind, type) else kind
            )
            raise ValueError(
                f"{who}: `{name}` must be a value of {named}, but it is {came}"
            )


def check_classes(
    who: str, name: str, classes: "Tensor", examples: int, most: int | None = None
) -> None:
    """Refuse what are not `examples` classes 0, 1, ..., each at most `most`, as int64.

    Examples
    --------
    >>> import torch
    >>> check_classes("train", "labels", torch.tensor([0, 3]), 2, most=1)
    Traceback (most recent call last):
    ValueError: train: `labels` must be classes from 0 to 1, of shape (2,) and int64, ...
    """
    import torch

    fits = classes.dtype == torch.int64 and tuple(classes.shape) == (examples,)
    least, largest = (int(m) for m in classes.aminmax()) if classes.numel() else (0, 0)
    if not fits or least < 0 or (most is not None and largest > most):
        upper = "on" if most is None else f"to {most}"
        raise ValueError(
            f"{who}: `{name}` must be classes from 0 {upper}, of shape ({examples},) and "
            f"int64, but "
            f"they are {classes.dtype} of shape {tuple(classes.shape)}, from {least} to "
            f"{largest}"
        )
