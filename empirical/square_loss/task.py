"""What a stack of classifiers learns from, and when it first makes no mistake."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from empirical.networks import Network, Params
from empirical.square_loss.losses import LOSSES
from empirical.testbed.loop import Task
from empirical.testbed.observers import Observer
from empirical.testbed.stack import Stack
from empirical.testbed.writing import Array


class Classification(Task):
    """The mean over examples of a loss, summed over outputs.

    Notes the number of wrong answers, and of examples, beside the loss.

    Parameters
    ----------
    network : Network
    inputs : Tensor, shape ``(n, *network.input_shape)``
    targets : Tensor, shape (n, outputs)
    loss : {"square", "entropy"}
    noise : float
        With it, examples are numbers below 2 n: n + i is i with its target lowered by
        so much, i with its target raised. Answers are counted by the targets themselves.
    """

    told = ("network", "inputs", "targets", "loss", "noise")

    def __init__(
        self,
        network: Network,
        inputs: Tensor,
        targets: Tensor,
        *,
        loss: str = "square",
        noise: float = 0.0,
    ) -> None:
        self.network, self.inputs, self.targets = network, inputs, targets
        self.loss, self.noise = LOSSES[loss], noise

    def losses(self, params: Params, stack: Stack, examples: Tensor | None) -> Tensor:
        """Return losses and wrong answers; see `Task.losses`."""
        x, y = self.inputs, self.targets
        lowered = None
        if examples is not None:
            if examples.ndim > 1:
                examples = stack.examples(examples)
            if self.noise:
                lowered, examples = examples >= len(x), examples % len(x)
            x, y = x[examples], y[examples]
        g = self.network.run(params, x).outputs
        learnt = y
        if lowered is not None:
            learnt = y + self.noise * (1.0 - 2.0 * lowered[..., None].to(y))
        losses = self.loss.total(g, learnt) / g.shape[1]
        return torch.stack([losses, wrong_answers(g.detach(), y).to(losses)])


def wrong_answers(g: Tensor, targets: Tensor) -> Tensor:
    """Count each replicate's wrong answers.

    Parameters
    ----------
    g : Tensor, shape (replicates, n, outputs)
    targets : Tensor, shape (n, outputs) or (replicates, n, outputs)

    Returns
    -------
    Tensor, shape (replicates,)
        Of signs with one output, where one that is `silent` is wrong; of the largest
        output with several. One that is not a number is wrong.

    Examples
    --------
    >>> g = torch.tensor([[[2.0], [-1.0], [torch.nan]]])
    >>> wrong_answers(g, torch.tensor([[1.0], [1.0], [1.0]])).tolist()
    [2]
    """
    if g.shape[2] == 1:
        return (~(g * targets > 0.0) | silent(g)).sum(dim=(1, 2))
    wrong = g.argmax(dim=2) != targets.argmax(dim=-1)
    return (wrong | g.isnan().any(dim=2)).sum(dim=1)


def silent(g: Tensor) -> Tensor:
    """Return which outputs say nothing, same shape as `g`, (replicates, n, 1).

    Those below the root of the rounding unit times the replicate's largest: ReLUs that are
    off but for rounding leave outputs of 1e-31, of either sign.

    Examples
    --------
    >>> g = torch.tensor([[[0.5], [1e-31]], [[1e-9], [-2e-9]]], dtype=torch.float64)
    >>> silent(g)[..., 0].tolist()
    [[False, True], [False, False]]
    """
    least = torch.finfo(g.dtype).eps ** 0.5 * g.abs().amax(dim=1, keepdim=True)
    return g.abs() <= least


class Interpolated(Observer):
    """Finds the first epoch in which every example was right when its turn came.

    Parameters
    ----------
    per_epoch : int
        Updates.

    Attributes
    ----------
    at : array of int, shape (replicates,)
        -1 for none.
    """

    kept = ("at", "running")
    told = ("per_epoch",)

    def __init__(self, per_epoch: int) -> None:
        self.per_epoch = per_epoch

    def begin(self, stack: Stack) -> None:
        """Set up; see `Observer.begin`."""
        self.at = np.full(len(stack), -1, dtype=np.int64)
        # Wrong answers since the epoch began.
        self.running = np.zeros(len(stack))

    def see(self, t: int, seen: Array, stack: Stack) -> Mapping[int, str]:
        """Count an epoch's wrong answers; see `Observer.see`."""
        rows, losses, wrong = stack.rows.cpu().numpy(), seen[:, 0], seen[:, 1]
        epochs = (t + np.arange(len(seen))) // self.per_epoch
        starts = np.flatnonzero(np.diff(epochs, prepend=-1))
        sums = np.add.reduceat(wrong, starts, axis=0)
        sums[0] += self.running[rows]
        complete = (t + len(seen)) % self.per_epoch == 0
        self.running[rows] = 0.0 if complete else sums[-1]
        sums = sums if complete else sums[:-1]
        # A loss that is not finite has no wrong answers: nan compares as neither.
        clean = (sums == 0.0).any(axis=0) & np.isfinite(losses).all(axis=0)
        clean &= self.at[rows] < 0
        if clean.any():
            first = epochs[starts][(sums == 0.0).argmax(axis=0)]
            self.at[rows[clean]] = first[clean]
        return {}
