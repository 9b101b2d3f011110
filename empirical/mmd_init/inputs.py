"""Inputs to learn a start from: any array of numbers, and what is refused."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from empirical.checks import check_finite


def table(data: Tensor | npt.ArrayLike) -> Tensor:
    """Return inputs, one a row, as a tensor.

    Raises
    ------
    TypeError
        If they are no array of real numbers: pairs with labels, a data set or loader.
    ValueError
        If there are none, or they have no features.
    """
    x = data if isinstance(data, Tensor) else as_tensor(data)
    if x.is_complex():
        raise TypeError("pretrain: `data` must be real, but they are complex")
    if x.ndim < 2 or not x.numel():
        raise ValueError(
            f"pretrain: `data` must be inputs, one a row, but the shape is "
            f"{tuple(x.shape)}"
        )
    return x


def as_tensor(data: Any) -> Tensor:
    """Return an array, or lists of numbers, as a tensor; raises as `table`."""
    way_out = "Give the inputs alone, as one array (n, ...) of numbers."
    if isinstance(data, tuple | list) and len({np.shape(d) for d in data}) > 1:
        raise TypeError(
            f"pretrain: `data` must be an array, but it is a {type(data).__name__} of"
            f" parts of different shapes, such as inputs and labels. {way_out}"
        )
    if not hasattr(data, "__array__") and not isinstance(data, tuple | list):
        raise TypeError(
            f"pretrain: `data` must be an array, but it is a {type(data).__name__}."
            f" {way_out}"
        )
    found = np.asarray(data)
    if found.dtype.kind not in "biufc":
        raise TypeError(
            f"pretrain: `data` must be numbers, but they are {found.dtype}. {way_out}"
        )
    # PyTorch takes the machine's order of bytes alone.
    return torch.from_numpy(np.array(found, dtype=found.dtype.newbyteorder("=")))


def checked(
    data: Tensor | npt.ArrayLike, features: int, batch: int, *, like: Tensor
) -> Tensor:
    """Return inputs as a table (n, features) of the type and on the device of `like`.

    Raises
    ------
    TypeError, ValueError
        As `table`, and if they have other features, are fewer than a batch, not finite,
        or all equal, or look like labels: rows of one number, or of one 1 and zeros.
    """
    x = table(data).flatten(1).to(like)
    if x.shape[1] != features:
        raise ValueError(
            f"pretrain: `data` must have the network's {features} features, "
            f"but it has {x.shape[1]}"
        )
    check_finite("pretrain", "data", x)
    if not bool((x != x[:1]).any()):
        raise ValueError(
            f"pretrain: `data` must hold different inputs, but all {len(x)} are equal: "
            "no network can predict several classes on them"
        )
    if len(x) < batch:
        raise ValueError(
            f"pretrain: `data` must be at least a batch of {batch}, but there are "
            f"{len(x)} rows. Lower the recipe's `batch`."
        )
    check_unlabelled(x)
    return x


def check_unlabelled(x: Tensor) -> None:
    """Refuse what looks like labels: rows of one number, or of one 1 and zeros."""
    ones = ((x == 0.0) | (x == 1.0)).all() and (x.sum(dim=1) == 1.0).all()
    if x.shape[1] == 1 or bool(ones):
        what = "one number a row" if x.shape[1] == 1 else "one 1 a row, else zeros"
        raise ValueError(
            f"pretrain: `data` must be inputs, but they look like labels: {what}"
        )
