r"""Full-batch gradient descent on wide networks, many seeds in one batched step.

Square loss over n examples, with outputs f and targets y,

.. math::
    \mathcal{L} = \frac{1}{2n} \sum_{i=1}^n \lVert f(x_i) - y_i \rVert^2,

minimised over the readout alone (`train_top_layer`) or over all weights
(`train_all_layers`). Seeds share one batched computation and nothing else: a run that
diverges is recorded, leaves the batch, and moves no number of the others beyond the
rounding of batched products.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from empirical.checks import check_choice, check_counts, check_finite, check_symmetric
from empirical.networks import FullyConnected
from empirical.testbed.loop import Task, train
from empirical.testbed.observers import Curve, Diverged
from empirical.testbed.optimisers import SGD
from empirical.testbed.stack import Params, Stack, checked_rates
from empirical.testbed.writing import Array, Bools, Integers

Rule = Literal["largest", "balanced"]

EXPLODED = 1e6
"""A loss this many times the first one counts as diverged."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Curves:
    """Loss curves of runs trained side by side.

    Attributes
    ----------
    steps : int array, shape (times,)
        Steps taken at each recorded loss; starts at 0.
    losses : float array, shape (runs, times)
        ``nan`` after a run has diverged.
    step_sizes : float array, shape (runs,)
    diverged_at : int array, shape (runs,)
        Step at which a run was found diverged, ``-1`` where it was not.
    """

    steps: Integers
    losses: Array
    step_sizes: Array
    diverged_at: Integers

    @property
    def diverged(self) -> Bools:
        """Which runs diverged, shape (runs,)."""
        return self.diverged_at >= 0


def step_sizes(kernels: npt.ArrayLike | Tensor, *, rule: Rule = "largest") -> Array:
    r"""Return the step sizes that the kernels of n examples allow, shape (...).

    With the loss divided by n as in this module, ``"largest"`` is
    :math:`n/\lambda_{\max}` and ``"balanced"`` is
    :math:`2n/(\lambda_{\min} + \lambda_{\max})`, which contracts the two ends of the
    spectrum equally.

    Parameters
    ----------
    kernels : array or Tensor, shape (..., n, n)
        Feature Gram matrices for the top layer, tangent kernels for all layers.
    rule : {"largest", "balanced"}

    Raises
    ------
    ValueError
        If `kernels` is not square, finite and symmetric, `rule` is
        unknown, or the step would not be positive and finite.

    References
    ----------
    Agarwal, Awasthi, Kale 2020, Theorems E.8 and E.5; there the second loss is not
    divided by n.

    Examples
    --------
    >>> step_sizes([[3.0, 0.0], [0.0, 1.0]], rule="balanced").item()
    1.0
    """
    if isinstance(kernels, Tensor):
        kernels = kernels.detach().cpu().numpy()
    k = np.asarray(kernels, dtype=np.float64)
    square = k.ndim > 1 and k.shape[-1] == k.shape[-2] > 0
    if not square or not np.isfinite(k).all():
        raise ValueError(
            "step_sizes: `kernels` must be finite and of shape (..., n, n), but it has "
            f"shape {k.shape} and {np.count_nonzero(~np.isfinite(k))} entries that are "
            "not finite"
        )
    # Those of float32 are symmetric to their own rounding.
    check_symmetric("step_sizes", "kernels", k, 1e-4)
    check_choice("step_sizes", "rule", rule, ("largest", "balanced"))
    values = np.linalg.eigvalsh(k)
    n, low, high = k.shape[-1], values[..., 0], values[..., -1]
    slowed = np.asarray(high if rule == "largest" else 0.5 * (low + high))
    if not (slowed > 0.0).all():
        raise ValueError(
            "step_sizes: `kernels` must be positive semi-definite and not zero, but "
            f"eigenvalues run from {low.min():.3g} to {high.max():.3g}"
        )
    return np.asarray(n / slowed)


def train_top_layer(
    features: Tensor,
    targets: Tensor,
    *,
    step: float | npt.ArrayLike,
    steps: int,
    every: int = 1,
) -> Curves:
    """Train the readout on frozen features by gradient descent, from zero.

    Parameters
    ----------
    features : Tensor, shape (runs, n, m)
        Last hidden layers at initialisation, one run for each draw.
    targets : Tensor, shape (n, outputs) or (runs, n, outputs)
    step : float or array, shape (runs,)
        Step sizes; see `step_sizes`.
    steps : int
        At least one.
    every : int
        Record the loss after each so many steps, and after the last.

    Raises
    ------
    ValueError
        If shapes or dtypes do not fit, features are not finite or none, or a step size is
        not positive.

    References
    ----------
    Agarwal, Awasthi, Kale 2020, section 4 and Theorem E.8.

    Examples
    --------
    With orthonormal features one step of size n is enough:

    >>> eye = torch.eye(4, dtype=torch.float64)
    >>> curves = train_top_layer(eye[None], eye[:, :1], step=4.0, steps=1)
    >>> curves.losses.tolist()
    [[0.125, 0.0]]
    """
    who = "train_top_layer"
    if features.ndim != 3 or not features.numel():
        raise ValueError(
            f"{who}: `features` must have shape (runs, n, m), but it has "
            f"{tuple(features.shape)}"
        )
    check_finite(who, "features", features)
    runs, n, width = features.shape
    goal = _targets(who, targets, runs=runs, n=n, like=features)
    readout = features.new_zeros((runs, goal.shape[-1], width))
    task = _TopLayer(features, goal)
    return _descend(who, task, (readout,), step=step, steps=steps, every=every)


def train_all_layers(
    network: FullyConnected,
    params: Params,
    x: Tensor,
    targets: Tensor,
    *,
    step: float | npt.ArrayLike,
    steps: int,
    every: int = 1,
) -> Curves:
    """Train all weights by gradient descent, in the NTK parametrisation.

    Parameters
    ----------
    network : FullyConnected
    params : tuple of Tensor
        Weights to start from, as `FullyConnected.init` draws them; left unchanged.
    x : Tensor, shape (n, d) or (runs, n, d)
    targets : Tensor, shape (n, outputs) or (runs, n, outputs)
    step : float or array, shape (runs,)
        Step sizes; see `step_sizes`.
    steps, every
        As in `train_top_layer`.

    Raises
    ------
    ValueError
        If shapes or dtypes do not fit, or a step size is not positive.

    References
    ----------
    Agarwal, Awasthi, Kale 2020, Theorem 4.2 (E.5), there from the network as drawn.

    Examples
    --------
    >>> from empirical.randomness import torch_generator
    >>> network = FullyConnected(widths=(3, 64, 1), activation=torch.tanh)
    >>> params = network.init(replicates=2, generator=torch_generator(7))
    >>> x = torch.eye(3, dtype=torch.float64)
    >>> curves = train_all_layers(network, params, x, x[:, :1], step=1.0, steps=20)
    >>> bool((curves.losses[:, -1] < 0.01 * curves.losses[:, 0]).all())
    True
    """
    who = "train_all_layers"
    check_finite(who, "x", x)
    with torch.no_grad():
        start = network.apply(params, x)
    runs, n, outputs = start.shape
    goal = _targets(who, targets, runs=runs, n=n, like=start)
    if goal.shape[-1] != outputs:
        raise ValueError(
            f"{who}: `targets` must have {outputs} columns, the network's outputs, but "
            f"it has {goal.shape[-1]}"
        )
    task = _AllLayers(network, x if x.ndim == 3 else x[None], goal)
    first = network.arranged(params)
    return _descend(who, task, first, step=step, steps=steps, every=every)


class _TopLayer(Task):
    """A linear readout of features that stay as they are."""

    def __init__(self, features: Tensor, goal: Tensor) -> None:
        self.features, self.goal = features, goal

    def losses(self, params: Params, stack: Stack, examples: Tensor | None) -> Tensor:
        del examples
        return _losses(self._residual(params[0], stack))

    def losses_and_slopes(
        self, stack: Stack, examples: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor]]:
        """Return the gradient of a linear readout: half of autograd's time."""
        del examples
        residual, features = self._residual(stack.params[0], stack), self.features
        slope = residual.mT @ stack.select(features) / features.shape[1]
        return _losses(residual), (slope,)

    def _residual(self, readout: Tensor, stack: Stack) -> Tensor:
        return stack.select(self.features) @ readout.mT - stack.select(self.goal)


class _AllLayers(Task):
    """A whole network."""

    def __init__(self, network: FullyConnected, x: Tensor, goal: Tensor) -> None:
        self.network, self.x, self.goal = network, x, goal

    def losses(self, params: Params, stack: Stack, examples: Tensor | None) -> Tensor:
        del examples
        outputs = self.network.apply(params, stack.select(self.x))
        return _losses(outputs - stack.select(self.goal))


def _losses(residual: Tensor) -> Tensor:
    return residual.square().sum(dim=(1, 2)) / (2 * residual.shape[1])


def _targets(who: str, targets: Tensor, *, runs: int, n: int, like: Tensor) -> Tensor:
    fits = targets.ndim in (2, 3) and targets.shape[-2] == n
    if not fits or (targets.ndim == 3 and targets.shape[0] != runs):
        raise ValueError(
            f"{who}: `targets` must have shape ({n}, outputs), or ({runs}, {n}, "
            f"outputs), but it has {tuple(targets.shape)}"
        )
    if targets.dtype != like.dtype or not bool(torch.isfinite(targets).all()):
        raise ValueError(
            f"{who}: `targets` must be finite and of dtype {like.dtype}, but it has "
            f"dtype {targets.dtype}, or an entry that is not finite"
        )
    return targets.expand(runs, -1, -1)


def _descend(
    who: str,
    task: Task,
    params: Params,
    *,
    step: float | npt.ArrayLike,
    steps: int,
    every: int,
) -> Curves:
    check_counts(who, steps=steps, every=every)
    stack = Stack(params, rates=checked_rates(step, len(params[0]), who, "step"))
    rates = stack.rates.double().cpu().numpy()
    times = np.unique(np.append(np.arange(0, steps, every), steps))
    diverged, curve = Diverged(EXPLODED), Curve(times)
    watching = [diverged, curve]
    train(task, stack, SGD(), steps=steps, observers=watching, together=stack.cached)
    if len(stack):
        with torch.no_grad():
            last = task.losses(stack.params, stack, None)[None, None]
        # The loss after the last step is one more to look at.
        for observer in watching:
            observer.see(steps, last.double().cpu().numpy(), stack)
    gone = diverged.at >= 0
    curve.values[gone[:, None] & (times >= diverged.at[:, None])] = np.nan
    return Curves(
        steps=times, losses=curve.values, step_sizes=rates, diverged_at=diverged.at
    )
