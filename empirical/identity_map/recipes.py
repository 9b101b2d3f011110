"""How a network is trained: optimiser, loss, schedule, clipping, when to stop."""

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from empirical.checks import (
    check_choice,
    check_counts,
    check_exploded,
    check_positive,
    check_schedule,
    check_share,
)
from empirical.identity_map.task import LOSSES, Loss
from empirical.testbed import optimisers
from empirical.testbed.budgets import Floor, Released
from empirical.testbed.observers import Curve, Diverged, Drops, Observer

RATES = {
    "sgd": 0.01,
    "adagrad": 0.001,
    "rmsprop": 0.0001,
    "adam": 0.0001,
    "adamax": 0.001,
}
"""Optimisers and the rates that the paper gives them."""

_ENTRYWISE = {
    "adagrad": optimisers.Adagrad(),
    "rmsprop": optimisers.RMSprop(),
    "adam": optimisers.Adam(),
    "adamax": optimisers.Adamax(),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Observers:
    """What looks at a run of a recipe.

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


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A training procedure; the defaults are the paper's but for the steps.

    Attributes
    ----------
    optimiser : str
        A key of `RATES`.
    rate : float, optional
        Learning rate; absent, the paper's for that optimiser.
    momentum : float
        Of SGD.
    loss : {"mean", "half-sum"}
        Mean of squares over pixels and examples, or half their sum.
    steps : int
        Budget: updates after the start or, with `release`, after the release.
    release : float, optional
        The budget starts counting when the loss first falls below `release` times the
        first loss. Deep networks can sit on a plateau for a while: so all of them get
        the same time behind it.
    limit : int, optional
        With `release`: most updates to wait for it; by default 10 `steps`.
    schedule : tuple of float
        Fractions of the budget at which the rate drops.
    drop : float
        Factor of each drop.
    clip : float, optional
        Largest norm of the gradient over all layers.
    rescale : bool
        Until the release bring every gradient to the norm `clip`, small ones too:
        otherwise a plateau at zero output lasts for ever.
    floor : float, optional
        Stop when the loss has been at or below it for `patience` updates.
    patience : int
    trained : {"all", "bottom"}
        All layers, or the first alone.
    batch : int, optional
        Examples drawn afresh (uniformly, with replacement) for each update; absent, all
        of them. Networks trained side by side share them.
    exploded : float
        A loss above so many times the first one counts as diverged; so does one that is
        not finite.
    retries : int
        How often a diverged network is trained anew, from its first weights.
    retry_rate : float
        Factor of its rate each time.
    check : int
        Updates between looks at the losses.

    Raises
    ------
    ValueError
        If a value does not fit.

    References
    ----------
    Zhang, Bengio, Hardt, Mozer, Singer 2020, section 3 (2,000,000 steps there).

    Examples
    --------
    >>> Recipe(optimiser="adam").learning_rate
    0.0001
    >>> Recipe(steps=100).drops
    (30, 60, 80)
    """

    optimiser: str = "sgd"
    rate: float | None = None
    momentum: float = 0.9
    loss: Loss = "mean"
    steps: int = 2000
    release: float | None = None
    limit: int | None = None
    schedule: tuple[float, ...] = (0.3, 0.6, 0.8)
    drop: float = 0.2
    clip: float | None = None
    rescale: bool = False
    floor: float | None = None
    patience: int = 500
    trained: Literal["all", "bottom"] = "all"
    batch: int | None = None
    exploded: float = 1e6
    retries: int = 2
    retry_rate: float = 0.2
    check: int = 50

    def __post_init__(self) -> None:
        object.__setattr__(self, "schedule", tuple(float(s) for s in self.schedule))
        choices = {"optimiser": RATES, "loss": LOSSES, "trained": ("all", "bottom")}
        for name, known in choices.items():
            check_choice("Recipe", name, getattr(self, name), known)
        for name in ("rate", "clip", "floor", "drop", "retry_rate"):
            check_positive("Recipe", **{name: getattr(self, name)})
        for name in ("steps", "limit", "patience", "batch", "check"):
            check_counts("Recipe", **{name: getattr(self, name)})
        check_counts("Recipe", 0, retries=self.retries)
        check_exploded("Recipe", self.exploded)
        check_share("Recipe", momentum=self.momentum)
        if self.release is not None and not 0.0 < self.release < 1.0:
            raise ValueError(
                f"Recipe: `release` must lie in (0, 1), but it is {self.release}"
            )
        check_schedule("Recipe", self.schedule)
        if self.rescale and (self.clip is None or self.release is None):
            raise ValueError(
                "Recipe: `rescale` must come with `clip`, the norm, and `release`, "
                "the end of it, but one of them is absent"
            )

    @property
    def learning_rate(self) -> float:
        """The first learning rate."""
        return RATES[self.optimiser] if self.rate is None else self.rate

    @property
    def drops(self) -> tuple[int, ...]:
        """Updates, counted like `steps`, before which the rate drops."""
        return tuple(round(fraction * self.steps) for fraction in self.schedule)

    @property
    def longest(self) -> int:
        """Most updates that one start can take."""
        return self.steps + (self.waiting if self.release is not None else 0)

    @property
    def waiting(self) -> int:
        """Most updates to wait for a release."""
        return 10 * self.steps if self.limit is None else self.limit

    @property
    def rule(self) -> optimisers.Optimiser:
        """The optimiser, with its clipping."""
        sgd = optimisers.SGD(momentum=self.momentum)
        base = _ENTRYWISE.get(self.optimiser, sgd)
        if self.clip is None:
            return base
        above = self.release if self.rescale else None
        return optimisers.Clipped(base=base, largest=self.clip, rescale_above=above)

    def observers(self) -> Observers:
        """Return new observers of a run."""
        released, others = None, ()
        if self.release is not None:
            released = Released(
                self.release,
                limit=self.waiting,
                steps=self.steps,
                drops=self.drops,
                factor=self.drop,
            )
        else:
            others = (Drops(self.drops, self.drop),)
        if self.floor is not None:
            floor = Floor(self.floor, patience=self.patience, every=self.check)
            others = (*others, floor)
        return Observers(
            diverged=Diverged(self.exploded, every=self.check),
            curve=Curve(recorded_times(self.longest)),
            released=released,
            others=others,
        )

    def describe(self) -> dict[str, Any]:
        """Return every value, for a record."""
        return {**dataclasses.asdict(self), "rate": self.learning_rate}


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
