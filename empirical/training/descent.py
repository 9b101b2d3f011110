r"""Full-batch gradient descent on wide networks, many seeds in one batched step.

Square loss over n examples, with outputs f and targets y,

.. math::
    \mathcal{L} = \frac{1}{2n} \sum_{i=1}^n \lVert f(x_i) - y_i \rVert^2,

minimised over the readout alone (`train_top_layer`) or over all weights
(`train_all_layers`). Seeds share one batched computation and nothing else: a run that
diverges is recorded, leaves the batch, and moves no number of the others beyond the
rounding of batched products.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from empirical.networks import FullyConnected, Params

Array = npt.NDArray[np.float64]

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

    steps: npt.NDArray[np.int64]
    losses: Array
    step_sizes: Array
    diverged_at: npt.NDArray[np.int64]

    @property
    def diverged(self) -> npt.NDArray[np.bool_]:
        """Which runs diverged, shape (runs,)."""
        return self.diverged_at >= 0


def step_sizes(kernels: npt.ArrayLike | Tensor, *, rule: Rule = "largest") -> Array:
    r"""Return the step sizes that the kernels of n examples allow.

    With the loss divided by n as in this module, ``"largest"`` is
    :math:`n/\lambda_{\max}` and ``"balanced"`` is
    :math:`2n/(\lambda_{\min} + \lambda_{\max})`, which contracts the two ends of the
    spectrum equally.

    Parameters
    ----------
    kernels : array or Tensor, shape (..., n, n)
        Feature Gram matrices for the top layer, tangent kernels for all layers.
    rule : {"largest", "balanced"}

    Returns
    -------
    array, shape (...)

    Raises
    ------
    ValueError
        If `kernels` is not square and finite, or `rule` is unknown.

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
    if k.ndim < 2 or k.shape[-1] != k.shape[-2] or not np.isfinite(k).all():
        raise ValueError(
            "step_sizes: `kernels` must be finite and of shape (..., n, n), but it has "
            f"shape {k.shape} and {np.count_nonzero(~np.isfinite(k))} entries that are "
            "not finite"
        )
    if rule not in ("largest", "balanced"):
        raise ValueError(
            f"step_sizes: `rule` must be largest or balanced, but it is {rule!r}"
        )
    values = np.linalg.eigvalsh(k)
    n, low, high = k.shape[-1], values[..., 0], values[..., -1]
    return np.asarray(n / high if rule == "largest" else 2.0 * n / (low + high))


def train_top_layer(
    features: Tensor,
    targets: Tensor,
    *,
    step: float | npt.ArrayLike,
    steps: int,
    readout: Tensor | None = None,
    every: int = 1,
    exploded: float = EXPLODED,
) -> Curves:
    """Train the readout on frozen features by gradient descent.

    Parameters
    ----------
    features : Tensor, shape (runs, n, m)
        Last hidden layers at initialisation, one run for each draw.
    targets : Tensor, shape (n, outputs) or (runs, n, outputs)
    step : float or array, shape (runs,)
        Step sizes; see `step_sizes`.
    steps : int
        At least one.
    readout : Tensor, shape (runs, outputs, m), optional
        Where the readout starts, by default at zero.
    every : int
        Record the loss after each so many steps, and after the last.
    exploded : float
        A loss above so many times the first one counts as diverged.

    Returns
    -------
    Curves

    Raises
    ------
    ValueError
        If shapes or dtypes do not fit, or a step size is not positive.

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
    if features.ndim != 3:
        raise ValueError(
            f"{who}: `features` must have shape (runs, n, m), but it has "
            f"{tuple(features.shape)}"
        )
    runs, n, width = features.shape
    goal = _targets(who, targets, runs=runs, n=n, like=features)
    shape = (runs, goal.shape[-1], width)
    if readout is not None and readout.shape != shape:
        raise ValueError(
            f"{who}: `readout` must have shape {shape}, but it has "
            f"{tuple(readout.shape)}"
        )
    start = torch.zeros(shape, dtype=features.dtype, device=features.device)
    params = (start if readout is None else readout.clone(),)

    def residual(weights: Params, active: Tensor) -> Tensor:
        rows = _of(features, active)
        return rows @ weights[0].transpose(1, 2) - _of(goal, active)

    def gradient(weights: Params, active: Tensor) -> tuple[Params, Tensor]:
        gap = residual(weights, active)
        return (gap.transpose(1, 2) @ _of(features, active) / n,), _losses(gap)

    with torch.no_grad():
        return _descend(
            who,
            params,
            gradient,
            lambda weights, active: _losses(residual(weights, active)),
            step=step,
            steps=steps,
            every=every,
            exploded=exploded,
        )


def train_all_layers(
    network: FullyConnected,
    params: Params,
    x: Tensor,
    targets: Tensor,
    *,
    step: float | npt.ArrayLike,
    steps: int,
    every: int = 1,
    centred: bool = False,
    exploded: float = EXPLODED,
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
    steps, every, exploded
        As in `train_top_layer`.
    centred : bool
        Subtract the outputs at initialisation, so that training starts from the zero
        function: that changes no tangent kernel.

    Returns
    -------
    Curves

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
    >>> params = network.init(draws=2, generator=torch_generator(7))
    >>> x = torch.eye(3, dtype=torch.float64)
    >>> curves = train_all_layers(network, params, x, x[:, :1], step=1.0, steps=20)
    >>> bool((curves.losses[:, -1] < 0.01 * curves.losses[:, 0]).all())
    True
    """
    who = "train_all_layers"
    with torch.no_grad():
        start = network.apply(params, x)
    runs, n, outputs = start.shape
    goal = _targets(who, targets, runs=runs, n=n, like=start)
    if goal.shape[-1] != outputs:
        raise ValueError(
            f"{who}: `targets` must have {outputs} columns, the network's outputs, but "
            f"it has {goal.shape[-1]}"
        )
    if centred:
        goal = goal + start

    def losses(weights: Params, active: Tensor) -> Tensor:
        inputs = x if x.ndim == 2 else _of(x, active)
        return _losses(network.apply(weights, inputs) - _of(goal, active))

    def gradient(weights: Params, active: Tensor) -> tuple[Params, Tensor]:
        with torch.enable_grad():
            leaves = tuple(w.detach().requires_grad_() for w in weights)
            each = losses(leaves, active)
            # Runs share no weight: the gradient of the sum is every run's own.
            return torch.autograd.grad(each.sum(), leaves), each.detach()

    with torch.no_grad():
        return _descend(
            who,
            tuple(w.detach().clone() for w in params),
            gradient,
            losses,
            step=step,
            steps=steps,
            every=every,
            exploded=exploded,
        )


def _losses(residual: Tensor) -> Tensor:
    return residual.square().sum(dim=(1, 2)) / (2 * residual.shape[1])


def _of(values: Tensor, active: Tensor) -> Tensor:
    # Indexing copies, and as a rule every run is active.
    return values if len(active) == len(values) else values[active]


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


def _checked_steps(
    who: str, step: float | npt.ArrayLike, runs: int, *, steps: int, every: int
) -> Array:
    if steps < 1 or every < 1:
        raise ValueError(
            f"{who}: `steps` and `every` must be at least 1, but they are {steps} and "
            f"{every}"
        )
    sizes = np.asarray(step, dtype=np.float64)
    if sizes.ndim > 1 or sizes.shape not in ((), (1,), (runs,)):
        raise ValueError(
            f"{who}: `step` must be a number or have shape ({runs},), but it has "
            f"{sizes.shape}"
        )
    if not (np.isfinite(sizes) & (sizes > 0.0)).all():
        raise ValueError(
            f"{who}: `step` must be positive and finite, but it is {sizes.tolist()}"
        )
    return np.broadcast_to(sizes, (runs,)).copy()


def _descend(
    who: str,
    params: Params,
    gradient: Callable[[Params, Tensor], tuple[Params, Tensor]],
    losses: Callable[[Params, Tensor], Tensor],
    *,
    step: float | npt.ArrayLike,
    steps: int,
    every: int,
    exploded: float,
) -> Curves:
    """Run the loop; `active` holds the indices of the runs still in the batch."""
    runs, like = len(params[0]), params[0]
    sizes = _checked_steps(who, step, runs, steps=steps, every=every)
    rates = torch.as_tensor(sizes, dtype=like.dtype, device=like.device)[:, None, None]
    active = torch.arange(runs, device=like.device)
    if not exploded > 1.0:
        raise ValueError(
            f"{who}: `exploded` must be greater than 1, but it is {exploded}"
        )
    first = losses(params, active)
    # A run that starts at zero loss can only leave it by rounding.
    limits = torch.where(first > 0.0, exploded * first, torch.inf)
    times = np.unique(np.append(np.arange(0, steps, every), steps))
    recorded = np.full((runs, len(times)), np.nan)
    diverged_at = np.full(runs, -1)
    for t in range(steps + 1):
        last = t == steps
        slopes, now = ((), losses(params, active)) if last else gradient(params, active)
        # A loss that is nan compares as not fine.
        fine = (now <= limits[active]) & torch.isfinite(now)
        if not bool(fine.all()):
            diverged_at[active[~fine].cpu().numpy()] = t
            active, now = active[fine], now[fine]
            params, slopes = (tuple(w[fine] for w in ws) for ws in (params, slopes))
            if not len(active):
                break
        if last or t % every == 0:
            column = np.searchsorted(times, t)
            recorded[active.cpu().numpy(), column] = now.cpu().numpy()
        if not last:
            size = rates[active]
            # In place: these are copies of the caller's, and allocating weights anew
            # costs more than the arithmetic.
            for w, g in zip(params, slopes, strict=True):
                w.addcmul_(size, g, value=-1.0)
    return Curves(
        steps=times, losses=recorded, step_sizes=sizes, diverged_at=diverged_at
    )
