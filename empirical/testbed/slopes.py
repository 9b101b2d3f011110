r"""Gradients that need not be formed.

The gradient of a fully connected layer's weight for n examples is

.. math:: G = \Delta H^T, \qquad \Delta \in R^{out \times n},\ H \in R^{in \times n},

with one example an outer product. Its norm is that of two n x n Gram matrices, and a
momentum takes it in without G being stored.
"""

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
