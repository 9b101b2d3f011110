r"""Gradients that need not be formed.

The gradient of a fully connected layer's weight for n examples is

.. math:: G = \Delta H^T, \qquad \Delta \in R^{out \times n},\ H \in R^{in \times n},

with one example an outer product. Its norm is that of two n x n Gram matrices, and a
momentum takes it in without G being stored.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from empirical.testbed.stack import along


@dataclass(frozen=True)
class Outer:
    """The gradient Delta H^T; shapes (replicates, out, n) and (replicates, in, n)."""

    delta: Tensor
    h: Tensor


Slope = Tensor | Outer
"""The gradient of one parameter, replicates in front."""


def dense(slope: Slope) -> Tensor:
    """Return a gradient as a tensor of the parameter's shape.

    Examples
    --------
    >>> dense(Outer(torch.tensor([[[1.0], [2.0]]]), torch.tensor([[[3.0]]]))).tolist()
    [[[3.0], [6.0]]]
    """
    if isinstance(slope, Outer):
        return slope.delta @ slope.h.transpose(1, 2)
    return slope


def square_norms(slope: Slope) -> Tensor:
    r"""Return each replicate's squared norm, shape (replicates,).

    Of an `Outer`, :math:`\sum_{ij} (\delta_i \cdot \delta_j)(h_i \cdot h_j)`. In float32
    at least: in half precision the square of 300 is infinite.
    """
    if isinstance(slope, Outer):
        left, right = (
            single.transpose(1, 2) @ single
            for single in (t.to(_precise(t)) for t in (slope.delta, slope.h))
        )
        return (left * right).sum(dim=(1, 2))
    # One pass and no copy, unlike the sum of squares.
    flat = slope.reshape(len(slope), -1)
    return torch.linalg.vector_norm(flat, dim=1, dtype=_precise(flat)).square()


def norms(slopes: Sequence[Slope]) -> Tensor:
    """Return each replicate's norm over all its gradients, shape (replicates,).

    Of gradients as large or as small as their dtype holds: what is squared is first
    divided by a power of two, which rounds nothing.

    Examples
    --------
    >>> norms([torch.tensor([[3e30], [3e-30]]), torch.tensor([[4e30], [4e-30]])])
    tensor([5.0000e+30, 5.0000e-30])
    """
    squares = torch.stack([square_norms(slope) for slope in slopes]).sum(dim=0)
    # To the same bits in a tenth of the time; another device is not waited for.
    plain = (squares > 1e-20) & (squares < 1e30)
    if squares.device.type == "cpu" and bool(plain.all()):
        return squares.sqrt()
    moved = [_moved(slope) for slope in slopes]
    largest = torch.stack([exponents for _, exponents in moved]).amax(dim=0)
    each = [
        torch.ldexp(square_norms(slope), 2 * (exponents - largest))
        for slope, exponents in moved
    ]
    return torch.ldexp(torch.stack(each).sum(dim=0).sqrt(), largest)


def _moved(slope: Slope) -> tuple[Slope, Tensor]:
    """Return a gradient of entries near one, and the exponents of two it was divided by."""
    if isinstance(slope, Outer):
        (delta, first), (h, second) = _near_one(slope.delta), _near_one(slope.h)
        return Outer(delta, h), first + second
    return _near_one(slope)


def _near_one(tensor: Tensor) -> tuple[Tensor, Tensor]:
    precise = tensor.to(_precise(tensor))
    # Some less than what a power of two may have.
    bound = round(math.log2(torch.finfo(precise.dtype).max)) - 8
    sizes = torch.linalg.vector_norm(precise.reshape(len(tensor), -1), torch.inf, dim=1)
    # Zero is the smallest.
    exponents = torch.where(sizes > 0.0, torch.frexp(sizes).exponent, -bound)
    exponents = exponents.clamp(-bound, bound)
    powers = torch.ldexp(torch.ones_like(sizes), -exponents)
    return precise * along(powers, precise), exponents


def _precise(tensor: Tensor) -> torch.dtype:
    return torch.promote_types(tensor.dtype, torch.float32)


def scaled(slope: Slope, factors: Tensor) -> Slope:
    """Return the gradient, each replicate's times its factor, shape (replicates,)."""
    if isinstance(slope, Outer):
        return Outer(slope.delta * along(factors, slope.delta), slope.h)
    return slope * along(factors, slope)


def fold_into_(moment: Tensor, decay: float, slope: Slope) -> None:
    """Set `moment` to decay * moment + gradient."""
    if not isinstance(slope, Outer):
        moment.mul_(decay).add_(slope)
        return
    rows = slope.h.transpose(1, 2)
    if slope.h.shape[2] == 1:
        # A matrix product with inner size one is slower than its definition.
        moment.mul_(decay).addcmul_(slope.delta, rows)
    else:
        torch.baddbmm(moment, slope.delta, rows, beta=decay, out=moment)
