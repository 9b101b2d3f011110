"""Observers and optimiser of a recipe."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from empirical.identity_map.recipes import Recipe
from empirical.testbed import optimisers
from empirical.testbed.budgets import Floor, Released
from empirical.testbed.observers import Curve, Diverged, Drops, Observer

_ENTRYWISE = {
    "adagrad": optimisers.Adagrad(),
    "rmsprop": optimisers.RMSprop(),
    "adam": optimisers.Adam(),
    "adamax": optimisers.Adamax(),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Observers:
    """Observers of a run of a recipe.

    Attributes
    ----------
    diverged : Diverged
    curve : Curve
    released : Released, optional
        Absent where the budget counts from the start.
    others : tuple of Observer
    """

    diverged: Diverged
    curve: Curve
    released: Released | None
    others: tuple[Observer, ...]

    def all(self) -> tuple[Observer, ...]:
        """Return them in the order in which they may send a replicate away."""
        released = () if self.released is None else (self.released,)
        return (self.diverged, *released, *self.others, self.curve)


def optimiser_of(recipe: Recipe) -> optimisers.Optimiser:
    """Return a recipe's optimiser, with its clipping."""
    sgd = optimisers.SGD(momentum=recipe.momentum)
    base = _ENTRYWISE.get(recipe.optimiser, sgd)
    if recipe.clip is None:
        return base
    above = recipe.release if recipe.rescale else None
    return optimisers.Clipped(base=base, largest=recipe.clip, rescale_above=above)


def observers_of(recipe: Recipe) -> Observers:
    """Return new observers of a run of a recipe."""
    released, others = None, ()
    if recipe.release is not None:
        released = Released(
            recipe.release,
            limit=recipe.waiting,
            steps=recipe.steps,
            drops=recipe.drops,
            factor=recipe.drop,
        )
    else:
        others = (Drops(recipe.drops, recipe.drop),)
    if recipe.floor is not None:
        floor = Floor(recipe.floor, patience=recipe.patience, every=recipe.check)
        others = (*others, floor)
    return Observers(
        diverged=Diverged(recipe.exploded, every=recipe.check),
        curve=Curve(recorded_times(recipe.longest)),
        released=released,
        others=others,
    )


def recorded_times(longest: int) -> npt.NDArray[np.int64]:
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
