"""What kernels from layers and kernels from Jacobians share: contraction by blocks."""

from collections.abc import Callable
from functools import cache
from typing import Literal, TypeVar

from torch import Tensor

from empirical.checks import check_choice, check_finite
from empirical.networks import Params

Outputs = Literal["mean", "sum", "all"]
"""How the outputs' kernels are combined; ``"all"`` keeps every pair of outputs."""

Side = TypeVar("Side")

MAX_BYTES = 1 << 30
"""Default budget for what is held at once, in bytes."""


def gram(features: Tensor, others: Tensor | None = None) -> Tensor:
    """Return Gram matrices of feature rows: (..., n, m), (..., n', m) to (..., n, n').

    Of the features with themselves when `others` is absent.
    """
    return features @ (features if others is None else others).transpose(-1, -2)


def as_rows(signals: Tensor, outputs: Outputs) -> Tensor:
    """Merge the outputs, axis 2, into one row where only the trace over them is needed."""
    return signals if outputs == "all" else signals.flatten(2)[:, :, None]


def inner(left: Tensor, right: Tensor) -> Tensor:
    """Return (draws, n, outputs, n', outputs) from (draws, n, outputs, m) of both."""
    flat = gram(left.flatten(1, 2), right.flatten(1, 2))
    return flat.unflatten(2, right.shape[1:3]).unflatten(1, left.shape[1:3])


def combined(total: Tensor, count: int, outputs: Outputs) -> Tensor:
    """Return the requested kernel from (draws, n, outputs, n', outputs)."""
    if outputs == "all":
        return total.transpose(2, 3)
    traced = total[:, :, 0, :, 0]
    return traced / count if outputs == "mean" else traced


def by_blocks(
    side: Callable[[Tensor], Side],
    contract: Callable[[Side, Side], tuple[Tensor, ...]],
    x: Tensor,
    y: Tensor | None,
    *,
    dim: int,
    size: int,
    held: bool = False,
) -> tuple[Tensor, ...]:
    """Contract blocks of at most `size` inputs, which lie along `dim`, in pairs.

    Without `held` only two sides are in memory, and sides are computed again for each
    pair of blocks. Without `y` half of the pairs are the other half, transposed.
    """
    blocks = x.split(size, dim)
    others = blocks if y is None else y.split(size, dim)
    shape = x.shape[dim], (x if y is None else y).shape[dim]

    def of_column(j: int) -> Side:
        return side(others[j])

    if held:
        of_column = cache(of_column)
    found: tuple[Tensor, ...] = ()
    for i, rows in enumerate(blocks):
        left = of_column(i) if y is None else side(rows)
        for j in range(i + 1 if y is None else len(others)):
            same = y is None and i == j
            tiles = contract(left, left if same else of_column(j))
            found = found or tuple(
                t.new_empty((len(t), shape[0], t.shape[2], shape[1], t.shape[4]))
                for t in tiles
            )
            for whole, tile in zip(found, tiles, strict=True):
                at, to = i * size, j * size
                whole[:, at : at + size, :, to : to + size] = tile
                if y is None and not same:
                    mirrored = tile.permute(0, 3, 4, 1, 2)
                    whole[:, to : to + size, :, at : at + size] = mirrored
    return found


def check(
    who: str, params: Params, x: Tensor, y: Tensor | None, outputs: Outputs
) -> None:
    """Refuse what no kernel can be made of; shapes are checked by the network."""
    check_choice(who, "outputs", outputs, ("mean", "sum", "all"))
    both = {"x": x} if y is None else {"x": x, "y": y}
    for name, inputs in both.items():
        if inputs.ndim < 2:
            raise ValueError(
                f"{who}: `{name}` must be inputs in rows, but its shape is "
                f"{tuple(inputs.shape)}"
            )
    if y is not None and (y.shape[-1], y.dtype) != (x.shape[-1], x.dtype):
        raise ValueError(
            f"{who}: `y` must have the last axis and the dtype of `x`, "
            f"{x.shape[-1]} and {x.dtype}, but they are {y.shape[-1]} and {y.dtype}"
        )
    for name, tensor in (*(("params", p) for p in params), *both.items()):
        if tensor.numel() == 0:
            raise ValueError(
                f"{who}: `{name}` must not be empty, but a shape is {tuple(tensor.shape)}"
            )
        # Inputs of a module of one's own may be words, which are whole numbers.
        words = name != "params" and not tensor.is_complex()
        if tensor.is_meta or not (words or tensor.is_floating_point()):
            raise ValueError(
                f"{who}: `{name}` must be floating point, but they are {tensor.dtype} on "
                f"{tensor.device}"
            )
        # One pass; a sum of finite numbers may be infinite, not the reverse.
        if not tensor.sum().isfinite():
            check_finite(who, name, tensor)
