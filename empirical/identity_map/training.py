"""Train many networks of one shape side by side, each for itself.

Replicates may differ in their first weights, training images and learning rates. One
whose loss explodes is trained anew, after the others, at a smaller rate, as often as the
recipe says; each start is on record.
"""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from empirical.checks import check_finite
from empirical.identity_map.recipes import Recipe
from empirical.identity_map.task import Copy, CopyDense, by_hand
from empirical.networks import Network, Params
from empirical.testbed import loop, optimisers
from empirical.testbed.batches import Afresh
from empirical.testbed.budgets import Floor, Released
from empirical.testbed.observers import Curve, Diverged, Drops, Observer
from empirical.testbed.optimisers import Optimiser
from empirical.testbed.stack import Stack, checked_rates
from empirical.testbed.writing import Array, Integers

_ENTRYWISE = {
    "adagrad": optimisers.Adagrad(),
    "rmsprop": optimisers.RMSprop(),
    "adam": optimisers.Adam(),
    "adamax": optimisers.Adamax(),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Trained:
    """Results of training, replicate by replicate.

    Attributes
    ----------
    status : tuple of str
        ``"finished"`` (took its budget), ``"floor"`` (stopped early at the floor),
        ``"stalled"`` (never left the plateau, or ended back on it) or ``"diverged"``
        (at every start).
    times : int array, shape (times,)
        Updates after which the loss was recorded: 0 to 10, then 20 a decade.
    losses : float array, shape (replicates, times)
        Of the last start; ``nan`` from the replicate's end on.
    steps : int array, shape (replicates,)
        Updates of the last start.
    released : int array, shape (replicates,)
        Updates until the release, ``-1`` where there was none.
    final_losses : float array, shape (replicates,)
    starts : tuple of tuple of (float, int)
        For each replicate and start the first learning rate, and the update at which
        the loss had exploded, ``-1`` where it did not.
    initial, final : tuple of Tensor
        Weights, replicates in front.
    """

    status: tuple[str, ...]
    times: Integers
    losses: Array
    steps: Integers
    released: Integers
    final_losses: Array
    starts: tuple[tuple[tuple[float, int], ...], ...]
    initial: Params
    final: Params


def train(
    network: Network,
    params: Params,
    images: Tensor,
    recipe: Recipe,
    *,
    rates: npt.ArrayLike | None = None,
    generator: torch.Generator | None = None,
    together: int | None = None,
    progress: loop.Progress | None = None,
    checkpoint: Path | None = None,
) -> Trained:
    """Train networks to reproduce their images.

    Parameters
    ----------
    network : Network
    params : tuple of Tensor
        First weights, as `Network.init` draws them; left unchanged.
    images : Tensor, shape (n, C, H, W) or (replicates, n, C, H, W)
        Training images, shared or each replicate's own.
    recipe : Recipe
    rates : array, shape (replicates,), optional
        Learning rates instead of the recipe's.
    generator : torch.Generator, optional
        Chooses the examples of each update, where the recipe has a `batch`; the same
        ones at every start. On the CPU.
    together : int, optional
        Replicates that are updated together, see `empirical.testbed.loop.train`; by
        default those of a fully connected network that fit a CPU's cache, or all.
    progress : callable, optional
        Called at every look with the updates done, those that the replicates in
        training may need at most, and the median of their losses.
    checkpoint : Path, optional
        Where the state is kept; an interrupted call with the same arguments goes on
        from there, and one that had ended returns what it had. Further starts have
        theirs beside it, numbered behind its name. None is removed.

    Raises
    ------
    ValueError
        If shapes or dtypes do not fit, an image is zero or not finite, a rate is not
        positive, or the checkpoint is of other arguments.

    References
    ----------
    Zhang, Bengio, Hardt, Mozer, Singer 2020, section 3.

    Examples
    --------
    One linear layer learns one image exactly, and nothing off its line:

    >>> from empirical.randomness import torch_generator
    >>> from empirical.identity_map import copier
    >>> net = copier("fcn", shape=(1, 1, 2), layers=1)
    >>> params = net.load([np.zeros((2, 2))])
    >>> x = torch.tensor([[[[3.0, 4.0]]]], dtype=torch.float64)
    >>> done = train(net, params, x, Recipe(rate=0.02, momentum=0.0, steps=200))
    >>> done.status
    ('finished',)
    >>> done.final[0].numpy().round(6)
    array([[[0.36, 0.48],
            [0.48, 0.64]]])
    """
    _check_images(network, params, images)
    if recipe.batch is not None and generator is None:
        raise ValueError("train: `generator` must be given for a recipe with a batch")
    given = recipe.learning_rate if rates is None else rates
    own = checked_rates(given, len(params[0]))
    images = images if images.ndim == 5 else images[None]
    numbers = None if generator is None else generator.get_state()
    run = partial(_once, network, recipe, together=together, progress=progress)
    trained = run(params, images, own, generator, checkpoint=checkpoint)
    rows = np.arange(len(params[0]))
    for count in range(1, recipe.retries + 1):
        exploded = np.flatnonzero([trained.status[r] == "diverged" for r in rows])
        if not len(exploded):
            break
        rows, own = rows[exploded], own[exploded] * recipe.retry_rate
        anew = run(
            tuple(w[rows] for w in params),
            images if len(images) == 1 else images[rows],
            own,
            # The random numbers of the first start.
            None if numbers is None else torch.Generator().set_state(numbers),
            checkpoint=checkpoint
            and checkpoint.with_name(f"{checkpoint.name}.{count}"),
        )
        trained = _with(trained, rows, anew)
    return trained


def _once(
    network: Network,
    recipe: Recipe,
    params: Params,
    images: Tensor,
    rates: Array,
    generator: torch.Generator | None,
    *,
    together: int | None,
    progress: loop.Progress | None,
    checkpoint: Path | None,
) -> Trained:
    task = (CopyDense if by_hand(network) else Copy)(
        network=network, images=images, targets=images, loss=recipe.loss
    )
    ends = {"bottom": 0, "top": -1}
    learnt = network.of_layer(ends[recipe.trained]) if recipe.trained in ends else None
    stack = Stack(params, rates=rates, learnt=learnt)
    rule = optimiser_of(recipe)
    diverged = Diverged(recipe.exploded, every=recipe.check)
    curve = Curve(recorded_times(recipe.longest))
    budget = budget_of(recipe)
    released = budget[0] if isinstance(budget[0], Released) else None

    def told(done: int, most: int, loss: float) -> None:
        if progress is not None:
            progress(done, most if released is None else released.last, loss)

    batches = None
    if recipe.batch is not None and generator is not None:
        batches = Afresh(images.shape[1], recipe.batch, generator)
    done = loop.train(
        task,
        stack,
        rule,
        steps=recipe.longest,
        check=recipe.check,
        batches=batches,
        observers=(diverged, *budget, curve),
        together=_cached(task, stack, rule) if together is None else together,
        checkpoint=checkpoint,
        progress=told,
    )
    with torch.no_grad():
        losses = task.over_all(done.final).double().cpu().numpy()
    status, at = _judged(done, losses, diverged, recipe)
    never = np.full(len(losses), -1)
    return Trained(
        status=status,
        times=curve.times,
        losses=curve.values,
        steps=done.steps,
        released=never if released is None else released.at,
        final_losses=losses,
        starts=tuple(
            ((rate, when),)
            for rate, when in zip(rates.tolist(), at.tolist(), strict=True)
        ),
        initial=done.initial,
        final=done.final,
    )


def _judged(
    done: loop.Trained, losses: Array, diverged: Diverged, recipe: Recipe
) -> tuple[tuple[str, ...], Integers]:
    """Return each status in the light of the last loss, and when it had exploded."""
    # The very last update may have done it.
    late = ~np.isfinite(losses) & (diverged.at < 0)
    status = np.where(late, "diverged", done.status)
    if recipe.release is not None:
        # Replicates that had left the plateau may be back on it.
        back = losses >= recipe.release * diverged.first
        status = np.where((status == "finished") & back, "stalled", status)
    return tuple(status.tolist()), np.where(late, done.steps, diverged.at)


def _cached(task: Copy, stack: Stack, rule: Optimiser) -> int | None:
    # Convolutions gain from being many.
    if not isinstance(task, CopyDense):
        return None
    rule.prepare(stack)
    return stack.cached


def optimiser_of(recipe: Recipe) -> Optimiser:
    """Return a recipe's optimiser, with its clipping."""
    sgd = optimisers.SGD(momentum=recipe.momentum)
    base = _ENTRYWISE.get(recipe.optimiser, sgd)
    if recipe.clip is None:
        return base
    above = recipe.release if recipe.rescale else None
    return optimisers.Clipped(base=base, largest=recipe.clip, rescale_above=above)


def budget_of(recipe: Recipe) -> tuple[Observer, ...]:
    """Return what gives replicates their time: `Released` or `Drops`, and any `Floor`."""
    if recipe.release is None:
        paced: Observer = Drops(recipe.drops, recipe.drop)
    else:
        paced = Released(
            recipe.release,
            limit=recipe.waiting,
            steps=recipe.steps,
            drops=recipe.drops,
            factor=recipe.drop,
        )
    if recipe.floor is None:
        return (paced,)
    return paced, Floor(recipe.floor, patience=recipe.patience, every=recipe.check)


def recorded_times(longest: int) -> Integers:
    """Return 0 to 10, then about 20 numbers a decade, up to `longest`.

    Examples
    --------
    >>> recorded_times(15).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15]
    """
    decades = np.log10(max(longest, 1))
    spaced = np.round(10.0 ** np.arange(0.0, decades + 0.05, 0.05)).astype(np.int64)
    every = np.concatenate([np.arange(11), spaced, [longest]])
    return np.unique(every[every <= longest])


def _with(trained: Trained, rows: Integers, anew: Trained) -> Trained:
    """Return what became of all replicates when some were trained anew."""
    for name in ("losses", "steps", "released", "final_losses"):
        getattr(trained, name)[rows] = getattr(anew, name)
    for kept, weight in zip(trained.final, anew.final, strict=True):
        kept[rows] = weight
    status, starts = list(trained.status), list(trained.starts)
    for index, row in enumerate(rows.tolist()):
        status[row] = anew.status[index]
        starts[row] += anew.starts[index]
    return replace(trained, status=tuple(status), starts=tuple(starts))


def _check_images(network: Network, params: Params, images: Tensor) -> None:
    network.check(params, images)
    if tuple(images.shape[-3:]) != network.input_shape:
        raise ValueError(
            f"train: `images` must have the network's shape {network.input_shape}, but "
            f"they have {tuple(images.shape[-3:])}"
        )
    check_finite("train", "images", images)
    zero = (images.flatten(-3) == 0.0).all(dim=-1)
    if bool(zero.any()):
        raise ValueError(
            f"train: `images` must not be zero, but {int(zero.sum())} of "
            f"{zero.numel()} are: they teach nothing"
        )
