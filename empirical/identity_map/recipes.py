"""How a network is trained: optimiser, loss, schedule, clipping, when to stop."""

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from empirical.declared import (
    Count,
    Exploded,
    Number,
    OneOf,
    Positive,
    Schedule,
    Share,
    check_fields,
)

Loss = Literal["mean", "half-sum"]

RATES = {
    "sgd": 0.01,
    "adagrad": 0.001,
    "rmsprop": 0.0001,
    "adam": 0.0001,
    "adamax": 0.001,
}
"""Optimisers and the rates that the paper gives them."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A training procedure; the defaults are the paper's but for the steps.

    Attributes
    ----------
    optimiser : str
        The optimiser.
    rate : float, optional
        Learning rate; absent, the paper's for the optimiser.
    momentum : float
        Momentum of SGD.
    loss : {"mean", "half-sum"}
        Mean of squared errors over pixels and examples, or half their sum.
    steps : int
        Budget of updates, counted from the start or, with `release`, from the release.
    release : float, optional
        Count the budget from when the loss first falls below this fraction of the first
        loss: deep networks can sit on a plateau first, and all get the same number of
        updates after it.
    limit : int, optional
        With `release`, the most updates to wait for it; absent, 10 times `steps`.
    schedule : tuple of float
        Fractions of the budget at which the rate drops.
    drop : float
        Factor by which the rate drops.
    clip : float, optional
        Largest norm of the gradient over all layers; absent, no clipping.
    rescale : bool
        Until the release, scale every gradient to the norm `clip`, small ones too:
        otherwise a network whose output is zero may stay on that plateau.
    floor : float, optional
        Stop when the loss has been at or below this for `patience` updates.
    patience : int
        Updates that the loss must stay at the `floor`.
    trained : {"all", "bottom", "top"}
        Train all layers, or only the first or the last.
    batch : int, optional
        Examples drawn for each update, uniformly with replacement and shared by networks
        trained side by side; absent, all examples.
    exploded : float
        A network has diverged when its loss is not finite or exceeds the first one by
        this factor.
    retries : int
        How often a diverged network is trained again from its first weights.
    retry_rate : float
        Factor of the rate at each retry.
    check : int
        Updates between two checks of the losses.

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

    optimiser: Annotated[str, OneOf(RATES)] = "sgd"
    rate: Positive | None = None
    momentum: Share = 0.9
    loss: Loss = "mean"
    steps: Count = 2000
    release: float | None = None
    limit: Count | None = None
    schedule: Schedule = (0.3, 0.6, 0.8)
    drop: Positive = 0.2
    clip: Positive | None = None
    rescale: bool = False
    floor: Positive | None = None
    patience: Count = 500
    trained: Literal["all", "bottom", "top"] = "all"
    batch: Count | None = None
    exploded: Exploded = 1e6
    retries: Number = 2
    retry_rate: Positive = 0.2
    check: Count = 50

    def __post_init__(self) -> None:
        object.__setattr__(self, "schedule", tuple(float(s) for s in self.schedule))
        check_fields(self)
        if self.release is not None and not 0.0 < self.release < 1.0:
            raise ValueError(
                f"Recipe: `release` must lie in (0, 1), but it is {self.release}"
            )
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

    def describe(self) -> dict[str, Any]:
        """Return every value, for a record."""
        return {**dataclasses.asdict(self), "rate": self.learning_rate}
