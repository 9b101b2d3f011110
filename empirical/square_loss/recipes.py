"""How a stack is trained, and when it is looked at."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from empirical.declared import (
    Count,
    Exploded,
    Positive,
    Schedule,
    Share,
    Weight,
    check_fields,
)
from empirical.testbed.writing import Integers


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Stochastic gradient descent on the mean of squared residuals, or cross entropies.

    The loss of a replicate is the mean over examples of the squared error, summed over
    outputs where there are several.

    Attributes
    ----------
    epochs : int
        Passes through the training examples; with full batches an epoch is one step.
    rate : float
        Learning rate.
    momentum : float
        Heavy-ball momentum, as in PyTorch.
    weight_decay : float
        Weight decay as in PyTorch: this times the parameter is added to the gradient.
    decayed : {"all", "last"}
        Decay every parameter, or only what carries the size of the network's output: the
        last layer, or the scalar of the family ``"wn"``.
    batch : int, optional
        Examples of a step, in an order drawn anew for each epoch and shared by all
        replicates; absent, all examples. The last batch of an epoch may be smaller.
    schedule : tuple of float
        Fractions of the epochs at which the rate drops.
    drop : float
        Factor by which the rate drops.
    stable : float, optional
        Lower the rate of a replicate so that ``rate * 2 mean_n |dg_n/dW|^2``, a bound on
        rate times the largest curvature of the loss at the start, is at most this. For
        networks that would diverge at `rate`; the rates used are in the record.
    frozen : bool
        Train the last layer alone; hidden layers stay as they start.
    loss : {"square", "entropy"}
        Squared errors, or cross entropy: of the softmax of several outputs, of the
        logistic function of one.
    noise : float
        Each label that a step learns from is moved up or down by so much, at random and
        anew in every epoch. For one output, and the square loss.
    exploded : float
        A network has diverged when its loss is not finite or exceeds the first one by
        this factor.
    check : int
        Steps between two checks of the losses.

    Raises
    ------
    ValueError
        If a value does not fit.

    Examples
    --------
    >>> Recipe(epochs=100, schedule=(0.6, 0.8)).drops
    (60, 80)
    """

    epochs: Count
    rate: Positive = 0.1
    momentum: Share = 0.9
    weight_decay: Weight = 0.0
    decayed: Literal["all", "last"] = "all"
    batch: Count | None = None
    schedule: Schedule = ()
    drop: Positive = 0.1
    stable: Positive | None = None
    frozen: bool = False
    loss: Literal["square", "entropy"] = "square"
    noise: Weight = 0.0
    exploded: Exploded = 1e3
    check: Count = 100

    def __post_init__(self) -> None:
        object.__setattr__(self, "schedule", tuple(float(s) for s in self.schedule))
        check_fields(self)
        if self.noise and (self.loss != "square" or self.batch is None):
            raise ValueError(
                "Recipe: `noise` must be zero but for the square loss and minibatches, but"
                f" it is {self.noise} with `loss` {self.loss} and `batch` {self.batch}"
            )

    def describe(self) -> dict[str, Any]:
        """Return its values for a record, without `loss` and `noise` where not asked for.

        So records from before there were these two still say what was trained.

        Examples
        --------
        >>> usual, other = Recipe(epochs=1), Recipe(epochs=1, loss="entropy")
        >>> set(other.describe()) - set(usual.describe())
        {'loss'}
        """
        plain = {"loss": "square", "noise": 0.0}
        entries = asdict(self)
        return {k: v for k, v in entries.items() if k not in plain or v != plain[k]}

    @property
    def drops(self) -> tuple[int, ...]:
        """Epochs before which the rate drops."""
        return tuple(round(fraction * self.epochs) for fraction in self.schedule)

    def penalty(self, examples: int) -> float:
        """Return lambda of the sum of squares with lambda rho^2: N weight_decay / 2."""
        return examples * self.weight_decay / 2.0


def recorded_epochs(epochs: int) -> Integers:
    """Return 0, then numbers evenly spaced in their logarithm, then `epochs`.

    Up to 20 a decade, but not more than one for every 40 epochs (or eight): a record
    costs two or three steps of full batches, so recording stays a small part of all.

    Examples
    --------
    >>> recorded_epochs(100).tolist()
    [0, 1, 2, 5, 10, 22, 46, 100]
    >>> len(recorded_epochs(6000))
    67
    """
    allowed = max(8, epochs // 40)
    for per_decade in (20, 16, 12, 8, 6, 4, 3, 2, 1):
        exponents = np.arange(0.0, np.log10(epochs), 1.0 / per_decade)
        inner = np.round(10.0**exponents).astype(np.int64)
        times = np.unique(np.concatenate([[0], inner, [epochs]]))
        if len(times) <= allowed:
            break
    return times
