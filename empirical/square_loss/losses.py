r"""Losses of an example's outputs: their sums, slopes, and where the norm rests.

With :math:`e_n` half the slope of example n's loss by its outputs, the norm :math:`\rho` of
fixed normalised outputs :math:`f_n` rests where

.. math:: \sum_n \langle e_n(\rho f_n), f_n \rangle + \lambda \rho = 0 ,

for the square loss, where :math:`e_n = \rho f_n - y_n`, at
:math:`\sum y_n f_n / (\lambda + \sum f_n^2)`.
"""

import torch
from torch import Tensor
from torch.nn import functional

from empirical.testbed.stack import along

_HALVINGS = 120
"""Of an interval that may be a million million million times as long as the root."""


class Square:
    """Squared errors of outputs and targets, each of shape (replicates, n, outputs)."""

    def total(self, g: Tensor, targets: Tensor) -> Tensor:
        """Return the sum over examples and outputs, shape (replicates,)."""
        return (g - targets).square().sum(dim=(1, 2))

    def half_slopes(self, g: Tensor, targets: Tensor) -> Tensor:
        """Return half the slopes of the sum by g: errors."""
        return g - targets

    def equilibrium(self, f: Tensor, targets: Tensor, penalty: float) -> Tensor:
        """Return where the norm of fixed f rests, shape (replicates,): of a parabola.

        Infinite, or not a number, where it rests nowhere.
        """
        overlap, squares = (summed(part) for part in (targets * f, f * f))
        return overlap / (penalty + squares)


class Entropy:
    """Cross entropy: targets one-hot with several outputs, -1 and +1 with one.

    Examples
    --------
    Of one output it is that of two, zero and itself:

    >>> g = torch.tensor([[[0.3], [-2.0]]], dtype=torch.float64)
    >>> both = torch.cat([torch.zeros_like(g), g], dim=2)
    >>> ups = torch.tensor([[[0.0, 1.0], [1.0, 0.0]]], dtype=torch.float64)
    >>> one, two = Entropy().total(g, 2 * ups[..., 1:] - 1), Entropy().total(both, ups)
    >>> bool(torch.allclose(one, two, rtol=1e-14))
    True
    """

    def total(self, g: Tensor, targets: Tensor) -> Tensor:
        """Return the sum; see `Square`."""
        if g.shape[2] == 1:
            return functional.softplus(-targets * g).sum(dim=(1, 2))
        return -(targets * g.log_softmax(dim=2)).sum(dim=(1, 2))

    def half_slopes(self, g: Tensor, targets: Tensor) -> Tensor:
        """Return half of predicted less true probabilities; see `Square`."""
        if g.shape[2] == 1:
            return -0.5 * targets * torch.sigmoid(-targets * g)
        return 0.5 * (g.softmax(dim=2) - targets)

    def equilibrium(self, f: Tensor, targets: Tensor, penalty: float) -> Tensor:
        """Return the root, by halving; see `Square`.

        As good as 0 where the norm shrinks to nothing. Infinite without a penalty: that
        is so where every answer is right.
        """
        if penalty == 0.0:
            return torch.full_like(f[:, 0, 0], torch.inf)
        # Half slopes are at most one in size, so at the root penalty rho is at most this.
        high = f.norm(dim=2).sum(dim=1) / penalty
        low = torch.zeros_like(high)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            pull = summed(self.half_slopes(along(middle, f) * f, targets) * f)
            above = pull + penalty * middle > 0.0
            low, high = (
                torch.where(above, low, middle),
                torch.where(above, middle, high),
            )
        return 0.5 * (low + high)


LOSSES: dict[str, Square | Entropy] = {"square": Square(), "entropy": Entropy()}
"""Those that a recipe names."""


def summed(tensor: Tensor) -> Tensor:
    """Return the sum of each replicate's numbers, shape (replicates,)."""
    return tensor.flatten(1).sum(dim=1)
