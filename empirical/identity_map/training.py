r"""Train many networks of one shape as one batch, each for itself.

Draws may differ in their first weights, training images and learning rates. They share
one batched computation and nothing else: which draws train side by side moves no number
of a draw beyond the rounding of batched products. A draw whose loss explodes starts
again at a smaller rate, as often as the recipe says; each start is on record. Losses
stay on the device and are looked at every few updates.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from empirical.identity_map._run import Run
from empirical.identity_map.networks import Network, Params
from empirical.identity_map.recipes import Recipe

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Watch = Callable[[int, Integers, Params], None]
"""Called with the number of updates, the draws in the batch and their weights."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Trained:
    """What training did, draw by draw.

    Attributes
    ----------
    status : tuple of str
        ``"finished"`` (took its budget), ``"floor"`` (stopped early at the floor),
        ``"stalled"`` (never left the plateau, or ended back on it) or ``"diverged"``
        (at every start).
    times : int array, shape (times,)
        Updates after which the loss was recorded: 0 to 10, then 20 a decade.
    losses : float array, shape (draws, times)
        Of the last start; ``nan`` from the draw's end on.
    steps : int array, shape (draws,)
        Updates of the last start.
    released : int array, shape (draws,)
        Updates until the release, ``-1`` where there was none.
    final_losses : float array, shape (draws,)
    starts : tuple of tuple of (float, int)
        For each draw and start the first learning rate, and the update at which the
        loss had exploded, ``-1`` where it did not.
    initial, final : tuple of Tensor
        Weights, draws in front.
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

    @property
    def usable(self) -> npt.NDArray[np.bool_]:
        """Which draws were trained to an end, shape (draws,)."""
        return np.array([s in ("finished", "floor") for s in self.status])


def train(
    network: Network,
    params: Params,
    images: Tensor,
    recipe: Recipe,
    *,
    targets: Tensor | None = None,
    rates: npt.ArrayLike | None = None,
    generator: torch.Generator | None = None,
    watch: Watch | None = None,
    progress: Callable[[int, int, float], None] | None = None,
    checkpoint: Path | None = None,
    checkpoint_seconds: float = 30.0,
) -> Trained:
    """Train networks to reproduce their images.

    Parameters
    ----------
    network : Network
    params : tuple of Tensor
        First weights, as `Network.init` draws them; left unchanged.
    images : Tensor, shape (n, C, H, W) or (draws, n, C, H, W)
        Training images, shared or each draw's own.
    recipe : Recipe
    targets : Tensor, optional
        What to put out; by default the images.
    rates : array, shape (draws,), optional
        Learning rates instead of the recipe's.
    generator : torch.Generator, optional
        Chooses the examples of each update, where the recipe has a `batch`. On the CPU.
    watch : callable, optional
        Called at every recorded time with that number, the indices of the draws in the
        batch and their weights (not to be kept without a copy).
    progress : callable, optional
        Called at every look with the updates done, those that the draws in the batch
        may need at most, and the median of their losses.
    checkpoint : Path, optional
        Where the state is kept while training; an interrupted call with the same
        arguments goes on from there. Removed at the end.
    checkpoint_seconds : float
        Between two savings: a kill or Ctrl-C loses no more work than that.

    Returns
    -------
    Trained

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
    >>> net = Network(kind="fcn", shape=(1, 1, 2), layers=1)
    >>> params = net.load([np.zeros((2, 2))])
    >>> x = torch.tensor([[[[3.0, 4.0]]]], dtype=torch.float64)
    >>> done = train(net, params, x, Recipe(rate=0.02, momentum=0.0, steps=200))
    >>> done.status
    ('finished',)
    >>> done.final[0].numpy().round(6)
    array([[[0.36, 0.48],
            [0.48, 0.64]]])
    """
    goal = images if targets is None else targets
    _check_images(network, params, images, "images")
    _check_images(network, params, goal, "targets")
    if goal.shape[-4] != images.shape[-4]:
        raise ValueError(
            f"train: `targets` must be as many as the images, {images.shape[-4]}, but "
            f"they are {goal.shape[-4]}"
        )
    if recipe.batch is not None and generator is None:
        raise ValueError("train: `generator` must be given for a recipe with a batch")
    run = Run(
        network,
        params,
        images if images.ndim == 5 else images[None],
        goal if goal.ndim == 5 else goal[None],
        recipe,
        rates=_checked_rates(recipe, rates, len(params[0])),
        generator=generator,
        watched=watch is not None,
    )
    with torch.no_grad():
        run.go(
            watch=watch,
            progress=progress,
            checkpoint=checkpoint,
            every_seconds=checkpoint_seconds,
        )
    return Trained(
        status=tuple(run.status),
        times=run.times,
        losses=run.curves,
        steps=run.taken,
        released=run.released,
        final_losses=run.final_losses,
        starts=tuple(tuple(s) for s in run.starts),
        initial=run.initial,
        final=run.final,
    )


def _checked_rates(recipe: Recipe, rates: npt.ArrayLike | None, draws: int) -> Array:
    sizes = np.asarray(
        recipe.learning_rate if rates is None else rates, dtype=np.float64
    )
    if (
        sizes.shape not in ((), (draws,))
        or not (np.isfinite(sizes) & (sizes > 0.0)).all()
    ):
        raise ValueError(
            f"train: `rates` must be positive, one for each of the {draws} draws, but "
            f"they are {sizes.tolist()}"
        )
    return np.broadcast_to(sizes, (draws,)).copy()


def _check_images(network: Network, params: Params, images: Tensor, name: str) -> None:
    network.check(params, images)
    if tuple(images.shape[-3:]) != network.shape:
        raise ValueError(
            f"train: `{name}` must have the network's shape {network.shape}, but they "
            f"have {tuple(images.shape[-3:])}"
        )
    if not bool(torch.isfinite(images).all()):
        raise ValueError(f"train: `{name}` must be finite, but some pixels are not")
    zero = (images.flatten(-3) == 0.0).all(dim=-1)
    if name == "images" and bool(zero.any()):
        raise ValueError(
            f"train: `images` must not be zero, but {int(zero.sum())} of "
            f"{zero.numel()} are: they teach nothing"
        )
