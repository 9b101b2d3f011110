"""Train a stack of networks on one problem, all draws at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from empirical.square_loss import measures
from empirical.square_loss._run import Progress, Run
from empirical.square_loss.networks import Network, Params
from empirical.square_loss.problems import Problem
from empirical.square_loss.recipes import Recipe

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Trained:
    """What became of a stack; every array has draws as its second or only axis.

    Attributes
    ----------
    status : tuple of str
        ``"finished"``, ``"diverged"``, or ``"dead"``: finished with f = 0 on every
        example, where an outsize step has left all ReLUs of a layer off for good.
    rates : array, shape (draws,)
        Learning rates used.
    steps, diverged, interpolated : array of int, shape (draws,)
        Steps made; the step whose loss had exploded, -1 for none; the first epoch in
        which every training example was right when its turn came, -1 for none.
    epochs, sparse_epochs : array of int
        When the series were recorded, and ``"example_residuals"`` of them.
    steps_per_epoch : int
    series : dict
        Name to array, shape (epochs, draws, ...), nan after a draw's end; see
        `measures.observe` and `measures.example_residuals`.
    initial, final : tuple of Tensor
        First and last parameters.
    """

    status: tuple[str, ...]
    rates: Array
    steps: npt.NDArray[np.int64]
    diverged: npt.NDArray[np.int64]
    interpolated: npt.NDArray[np.int64]
    epochs: npt.NDArray[np.int64]
    sparse_epochs: npt.NDArray[np.int64]
    steps_per_epoch: int
    series: Mapping[str, Array]
    initial: Params
    final: Params


def train(
    network: Network,
    params: Params,
    problem: Problem,
    recipe: Recipe,
    *,
    rates: npt.ArrayLike | None = None,
    generator: torch.Generator | None = None,
    recorded: bool = True,
    workers: int = 1,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
    checkpoint_seconds: float = 30.0,
) -> Trained:
    """Train every draw of a stack by the same recipe, side by side.

    Parameters
    ----------
    network : Network
    params : tuple of Tensor
        First parameters, draws in front; not changed. Their dtype and device are those
        of training.
    problem : Problem
    recipe : Recipe
    rates : array, shape (draws,), optional
        Learning rates, in the place of the recipe's.
    generator : torch.Generator, optional
        On the CPU; draws the order of the examples. Required with minibatches.
    recorded : bool
        Whether to record on the way, or at the end only.
    workers : int
        Threads that share the draws of a dense network on a CPU; best with
        ``OMP_NUM_THREADS=1``, so that they do not each start their own.
    progress : callable, optional
        Called at pauses with steps done, steps in all, and the median loss.
    checkpoint : Path, optional
        Where progress is kept; a run that finds one goes on from it.
    checkpoint_seconds : float
        Least time between two writings of it.

    Raises
    ------
    ValueError
        If shapes do not fit, weights are not finite, a rate is not positive, a batch
        is too small to be normalised, or the checkpoint is of other arguments.

    References
    ----------
    Poggio, Liao 2021, section 4.

    Examples
    --------
    One normalised linear layer on two orthogonal examples: rho meets its equilibrium.

    >>> from empirical.randomness import torch_generator
    >>> x = torch.eye(2, dtype=torch.float64)
    >>> both = torch.tensor([0, 1])
    >>> pair = Problem(
    ...     inputs=x, classes=both, test_inputs=x, test_classes=both, source={}
    ... )
    >>> net = Network(family="wn", shape=(2,), widths=())
    >>> params = net.init([0.1, 3.0], [torch_generator(7), torch_generator(8)])
    >>> recipe = Recipe(epochs=400, weight_decay=0.5, decayed="last")
    >>> done = train(net, params, pair, recipe)
    >>> (done.series["rho"][-1] / done.series["rho_eq"][-1]).round(6).tolist()
    [1.0, 1.0]
    """
    inputs = problem.inputs.to(params[0])
    targets = problem.targets(problem.classes).to(params[0])
    classes = problem.classes.to(params[0].device)
    network.check(params, inputs)
    if workers < 1:
        raise ValueError(f"train: `workers` must be at least 1, but it is {workers}")
    _check(network, params, problem, recipe, generator)
    used = _rates(network, params, inputs, recipe, rates)
    run = Run(
        network,
        params,
        inputs,
        targets,
        classes,
        recipe,
        rates=used,
        generator=generator,
        recorded=recorded,
        workers=workers,
    )
    try:
        with torch.no_grad():
            run.go(
                progress=progress,
                checkpoint=checkpoint,
                every_seconds=checkpoint_seconds,
            )
    finally:
        run.stack.close()
    return Trained(
        status=run.status(),
        rates=used,
        steps=run.taken,
        diverged=run.diverged,
        interpolated=run.interpolated,
        epochs=run.epochs,
        sparse_epochs=run.sparse,
        steps_per_epoch=run.per_epoch,
        series=run.series,
        initial=tuple(p.detach().clone() for p in params),
        final=run.final,
    )


def normalised_outputs(network: Network, params: Params, inputs: Tensor) -> Tensor:
    """Return f = g/rho on inputs, shape (draws, outputs, n).

    With batch normalisation the inputs are the batch.
    """
    with torch.no_grad():
        g = network.apply(params, inputs.to(params[0])).mT
    return g / network.rho(params)[:, None, None]


def held_out_outputs(network: Network, params: Params, problem: Problem) -> Tensor:
    """Return f on the test inputs, with the training inputs' batch statistics."""
    inputs, tests = (x.to(params[0]) for x in (problem.inputs, problem.test_inputs))
    with torch.no_grad():
        weights, statistics = network.weights(params), None
        if network.normalises_batch:
            statistics = network.statistics(network.run(weights, params, inputs))
        g = network.run(weights, params, tests, statistics).outputs
    return g / network.rho(params)[:, None, None]


def _check(
    network: Network,
    params: Params,
    problem: Problem,
    recipe: Recipe,
    generator: torch.Generator | None,
) -> None:
    if not all(bool(torch.isfinite(p).all()) for p in params):
        raise ValueError("train: `params` must be finite, but some are not")
    n = len(problem.inputs)
    if (1 if problem.count == 2 else problem.count) != network.outputs:
        raise ValueError(
            f"train: `network` must have one output for two classes and otherwise one "
            f"for each, but it has {network.outputs} for {problem.count}"
        )
    if recipe.batch is not None and recipe.batch < n:
        if generator is None:
            raise ValueError(
                "train: `generator` must be given for a recipe with minibatches"
            )
        left = n % recipe.batch
        if network.normalises_batch and 1 in (left, recipe.batch):
            raise ValueError(
                "train: `batch` must leave no batch of one example, whose variance is "
                f"zero, but {n} examples in batches of {recipe.batch} do"
            )


def _rates(
    network: Network,
    params: Params,
    inputs: Tensor,
    recipe: Recipe,
    rates: npt.ArrayLike | None,
) -> Array:
    draws = len(params[0])
    sizes = np.asarray(recipe.rate if rates is None else rates, dtype=np.float64)
    if (
        sizes.shape not in ((), (draws,))
        or not (np.isfinite(sizes) & (sizes > 0)).all()
    ):
        raise ValueError(
            f"train: `rates` must be positive, one for each of the {draws} draws, but "
            f"they are {sizes.tolist()}"
        )
    used = np.broadcast_to(sizes, (draws,)).copy()
    if recipe.stable is None:
        return used
    squares, _, _ = measures.example_gradients(network, params, inputs)
    curvature = 2.0 * squares.sum(dim=1).mean(dim=1).double().cpu().numpy()
    return np.minimum(used, recipe.stable / curvature)
