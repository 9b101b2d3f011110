"""Train a stack of networks on one problem, all replicates at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from empirical.checks import check_finite
from empirical.networks import Params
from empirical.square_loss import measures
from empirical.square_loss.networks import Classifier, rho, statistics
from empirical.square_loss.problems import Problem
from empirical.square_loss.recipes import Recipe, recorded_epochs
from empirical.square_loss.task import Classification, Interpolated, silent
from empirical.testbed import loop
from empirical.testbed.batches import Batches, Epochs, Whole
from empirical.testbed.observers import Diverged, Drops, Series
from empirical.testbed.optimisers import SGD
from empirical.testbed.stack import Stack, checked_rates
from empirical.testbed.writing import Array, Integers

# Records without and with per-example residuals: these cost another pass.
_SPARSE = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class Trained:
    """Results of training a stack; replicates are the second or only axis of all arrays.

    Attributes
    ----------
    status : tuple of str
        ``"finished"``, ``"diverged"``, or ``"dead"``: finished with f = 0 on every
        example, where an outsize step has left all ReLUs of a layer off for good; or
        ``"one-class"``: finished, and silent on most examples of one of two classes.
    rates : array, shape (replicates,)
        Learning rates used.
    steps, diverged, interpolated : array of int, shape (replicates,)
        Steps made; the step whose loss had exploded, -1 for none; the first epoch in
        which every training example was right when its turn came, -1 for none.
    epochs, sparse_epochs : array of int
        When the series were recorded, and ``"example_residuals"`` of them.
    steps_per_epoch : int
    series : dict
        Name to array, shape (epochs, replicates, ...), nan after one's end, empty if none
        reached an epoch of them; see `measures.observe` and
        `measures.example_residuals`.
    initial, final : tuple of Tensor
        First and last parameters.
    """

    status: tuple[str, ...]
    rates: Array
    steps: Integers
    diverged: Integers
    interpolated: Integers
    epochs: Integers
    sparse_epochs: Integers
    steps_per_epoch: int
    series: Mapping[str, Array]
    initial: Params
    final: Params


def train(
    network: Classifier,
    params: Params,
    problem: Problem,
    recipe: Recipe,
    *,
    rates: npt.ArrayLike | None = None,
    generator: torch.Generator | Sequence[torch.Generator] | None = None,
    recorded: bool = True,
    progress: loop.Progress | None = None,
    checkpoint: Path | None = None,
) -> Trained:
    """Train every replicate of a stack by the same recipe, side by side.

    Parameters
    ----------
    network : FullyConnected or Convolutional
    params : tuple of Tensor
        First parameters, replicates in front; not changed. Their dtype and device are those
        of training.
    problem : Problem
    recipe : Recipe
    rates : array, shape (replicates,), optional
        Learning rates, in the place of the recipe's.
    generator : torch.Generator or sequence of them, optional
        On the CPU; draws the order of the examples, and which labels noise raises. Or one
        a replicate: those with the same one share them. Required with minibatches.
    recorded : bool
        Whether to record on the way, or at the end only.
    progress : callable, optional
        Called at pauses with steps done, steps in all, and the median loss.
    checkpoint : Path, optional
        Where progress is kept; a run that finds one goes on from it. Not removed at
        the end: that is for whoever has written what came of it.

    Raises
    ------
    ValueError
        If shapes do not fit, the network has biases, weights are not finite, a rate is not
        positive, a batch is too small to be normalised, or the checkpoint is of other
        arguments.

    References
    ----------
    Poggio, Liao 2021, captions of Figures 1, 5 and 9.

    Examples
    --------
    One normalised linear layer on two orthogonal examples: rho meets its equilibrium.

    >>> from empirical.randomness import torch_generator
    >>> from empirical.square_loss import classifier, start
    >>> x = torch.eye(2, dtype=torch.float64)
    >>> both = torch.tensor([0, 1])
    >>> pair = Problem(
    ...     inputs=x, classes=both, test_inputs=x, test_classes=both, source={}
    ... )
    >>> net = classifier("wn", shape=(2,), widths=())
    >>> params = start(net, [0.1, 3.0], [torch_generator(7), torch_generator(8)])
    >>> recipe = Recipe(epochs=400, weight_decay=0.5, decayed="last")
    >>> done = train(net, params, pair, recipe)
    >>> (done.series["rho"][-1] / done.series["rho_eq"][-1]).round(6).tolist()
    [1.0, 1.0]
    """
    inputs = problem.inputs.to(params[0])
    targets = problem.targets(problem.classes).to(params[0])
    classes = problem.classes.to(params[0].device)
    network.check(params, inputs)
    orders = [generator] if isinstance(generator, torch.Generator) else generator or ()
    _check(network, params, problem, recipe, orders)
    used = checked_rates(recipe.rate if rates is None else rates, len(params[0]))
    if recipe.stable is not None:
        squares, _, _ = measures.example_gradients(network, params, inputs)
        curvature = 2.0 * squares.sum(dim=1).mean(dim=1).double().cpu().numpy()
        used = np.minimum(used, recipe.stable / curvature)
    batches: Batches = Whole()
    if recipe.batch is not None and (recipe.batch < len(inputs) or recipe.noise):
        order = partial(_noisy_order, len(inputs)) if recipe.noise else None
        batches = Epochs(len(inputs), recipe.batch, orders, order=order)
    per_epoch = batches.per_epoch if isinstance(batches, Epochs) else 1
    epochs = recorded_epochs(recipe.epochs) if recorded else np.array([recipe.epochs])
    sparse = np.unique([*epochs[::_SPARSE], epochs[-1]])
    penalty = recipe.penalty(len(inputs))

    def observed(stack: Stack) -> Mapping[str, Tensor]:
        return measures.observe(
            network,
            stack.params,
            inputs,
            targets,
            classes,
            penalty=penalty,
            loss=recipe.loss,
        )

    def residuals(stack: Stack) -> Mapping[str, Tensor]:
        found = measures.example_residuals(network, stack.params, inputs, classes)
        return {"example_residuals": found}

    diverged, interpolated = Diverged(recipe.exploded), Interpolated(per_epoch)
    series = [Series(epochs * per_epoch, observed)]
    if network.units[-1] == 1:
        series.append(Series(sparse * per_epoch, residuals))
    drops = Drops([epoch * per_epoch for epoch in recipe.drops], recipe.drop)
    trained = loop.train(
        Classification(network, inputs, targets, loss=recipe.loss, noise=recipe.noise),
        Stack(
            network.arranged(params),
            rates=used,
            learnt=network.of_layer(-1) if recipe.frozen else None,
        ),
        _optimiser(network, recipe),
        steps=recipe.epochs * per_epoch,
        check=recipe.check,
        batches=batches,
        observers=[interpolated, diverged, drops, *series],
        checkpoint=checkpoint,
        progress=progress,
    )
    found = {name: values for each in series for name, values in each.values.items()}
    return Trained(
        status=_status(network, trained, found, inputs, classes),
        rates=used,
        steps=trained.steps,
        diverged=diverged.at,
        interpolated=interpolated.at,
        epochs=epochs,
        sparse_epochs=sparse,
        steps_per_epoch=per_epoch,
        series=found,
        initial=trained.initial,
        final=trained.final,
    )


def normalised_outputs(network: Classifier, params: Params, inputs: Tensor) -> Tensor:
    """Return f = g/rho on inputs, shape (replicates, n, outputs).

    With batch normalisation the inputs are the batch.
    """
    with torch.no_grad():
        g = network.apply(params, inputs.to(params[0]))
    return g / rho(network, params)[:, None, None]


def held_out_outputs(network: Classifier, params: Params, problem: Problem) -> Tensor:
    """Return f on the test inputs, with the training inputs' batch statistics."""
    inputs, tests = (x.to(params[0]) for x in (problem.inputs, problem.test_inputs))
    with torch.no_grad():
        known = statistics(network, params, inputs) if network.norm else ()
        g = network.run(params, tests, buffers=known, training=False).outputs
    return g / rho(network, params)[:, None, None]


def _check(
    network: Classifier,
    params: Params,
    problem: Problem,
    recipe: Recipe,
    orders: Sequence[torch.Generator],
) -> None:
    if network.bias:
        raise ValueError(
            "train: `network` must have no biases, of which the norm rho tells nothing, but"
            " it has. Give the inputs a constant instead: problem(constant=0.25)."
        )
    for p in params:
        check_finite("train", "params", p)
    n = len(problem.inputs)
    if (1 if problem.count == 2 else problem.count) != network.units[-1]:
        raise ValueError(
            f"train: `network` must have one output for two classes and otherwise one "
            f"for each, but it has {network.units[-1]} for {problem.count}"
        )
    for name, usual in (("noise", "zero"), ("stable", "absent")):
        if (value := getattr(recipe, name)) and network.units[-1] != 1:
            raise ValueError(
                f"train: `{name}` must be {usual} for a network of several outputs, but it"
                f" is {value} for {network.units[-1]}"
            )
    if recipe.batch is not None and (recipe.batch < n or recipe.noise):
        if len(orders) not in {1, len(params[0])}:
            raise ValueError(
                "train: `generator` must be given for a recipe with minibatches, one or"
                f" one a replicate, but {len(orders)} are given for {len(params[0])}"
            )
        left = n % recipe.batch
        if network.norm is not None and 1 in (left, recipe.batch):
            raise ValueError(
                "train: `batch` must leave no batch of one example, whose variance is "
                f"zero, but {n} examples in batches of {recipe.batch} do"
            )


def _noisy_order(n: int, generator: torch.Generator) -> Tensor:
    """Draw an epoch's order of n examples, each as itself or n farther on; see `task`."""
    order = torch.randperm(n, generator=generator)
    return order + n * torch.randint(2, (n,), generator=generator)


def _optimiser(network: Classifier, recipe: Recipe) -> SGD:
    # Of the last layer the weight, or the one number that carries its size.
    learnt = network.of_layer(-1)
    last = learnt[0 if network.weighting == "rows" else -1]
    trained = learnt if recipe.frozen else range(len(network.shapes))
    return SGD(
        momentum=recipe.momentum,
        weight_decay=recipe.weight_decay,
        decayed=(trained.index(last),) if recipe.decayed == "last" else None,
    )


def _status(
    network: Classifier,
    trained: loop.Trained,
    series: Mapping[str, Array],
    inputs: Tensor,
    classes: Tensor,
) -> tuple[str, ...]:
    one = np.zeros(len(trained.status), dtype=bool)
    # Without series, the last epoch alone is looked at, and none came to it.
    dead = series["S"][-1] == 0.0 if "S" in series else one
    if network.units[-1] == 1:
        off = silent(normalised_outputs(network, trained.final, inputs))[..., 0]
        each = [off[:, classes == c].double().mean(dim=1) > 0.5 for c in (0, 1)]
        one = torch.stack(each).any(dim=0).cpu().numpy()
    return tuple(
        here if here != "finished" else "dead" if d else "one-class" if o else here
        for here, d, o in zip(trained.status, dead.tolist(), one.tolist(), strict=True)
    )
