"""How an initialisation is learnt: the losses, their weights, the optimiser."""

from dataclasses import dataclass
from typing import Literal

from empirical.declared import (
    Count,
    Number,
    Positive,
    Several,
    Share,
    Weight,
    check_fields,
)

Way = Literal["auto", "gram", "explicit", "local"]
Estimator = Literal["unbiased", "biased"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    r"""The loss :math:`L_{uni} + \lambda L_{sd} + \xi L_{iod}` and how it is minimised.

    The defaults are the paper's, for 60,000 digits. Of these `random_labels` heeds
    `batch`, `steps`, `epochs`, `rate`, `window` and `frozen`.

    Attributes
    ----------
    s : float
        Scale of the noise: weights have variance s^2/n_in, biases s^2/n_out.
    lam : float
        Weight of the loss against degenerate softmax outputs. It is meant for two
        classes: of three and more a constant prediction is its minimum
        (`theory.mmd.degeneracy_floor`).
    xi : float
        Weight of the loss against input-output detachment.
    uni : float
        Weight of the uniformity loss; 0 leaves it out.
    perturbations : int
        Perturbed networks of a step.
    reference : int
        Uniform points of a step, for the median distance and, without `closed` or with
        more than two classes, for the discrepancy.
    closed : bool
        Compare two classes with the uniform law itself instead of points drawn from it.
    estimator : {"unbiased", "biased"}
        Estimator of the squared discrepancy.
    noise : {"auto", "gram", "explicit", "local"}
        How noise is drawn, see `empirical.mmd_init.noise`.
    batch : int
        Inputs of a step.
    steps : int, optional
        Number of steps, in the place of `epochs`.
    epochs : int
        Passes through the inputs.
    rate : float
        Learning rate of Adam, whose moments are 0.9 and 0.999.
    window : int
        The parameters kept are those at the end of the window of this many steps with the
        least mean loss.
    degenerate : float
        A run counts as degenerate when in two consecutive windows at least this share of
        perturbed networks predict one class for their whole batch.
    grace : int
        Windows at the start in which that is not asked.
    frozen : bool
        Train the last layer alone.

    Raises
    ------
    ValueError
        If an entry is out of its range, or no number.

    Examples
    --------
    >>> Recipe().updates(60000)
    9375
    """

    s: Positive = 0.5**0.5
    lam: Weight = 0.4
    xi: Weight = 1.0
    uni: Weight = 1.0
    perturbations: Several = 256
    reference: Several = 256
    closed: bool = True
    estimator: Estimator = "unbiased"
    noise: Way = "auto"
    batch: Count = 32
    steps: Count | None = None
    epochs: Count = 5
    rate: Positive = 2e-4
    window: Count = 100
    degenerate: Positive = 0.5
    grace: Number = 5
    frozen: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        if not any((self.uni, self.lam, self.xi)):
            raise ValueError(
                "Recipe: one of `uni`, `lam` and `xi` must be positive, but all are 0"
            )

    def updates(self, inputs: int) -> int:
        """Return the number of steps on so many inputs."""
        if self.steps is not None:
            return self.steps
        return self.epochs * max(1, inputs // self.batch)

    def checked_updates(self, who: str, inputs: int) -> int:
        """Return `updates`; raise ValueError where they are fewer than a window."""
        steps = self.updates(inputs)
        if steps < self.window:
            raise ValueError(
                f"{who}: `steps` must be at least a window of {self.window}, or nothing can"
                f" be kept, but there are {steps} of {inputs} inputs. Give more `epochs` or"
                " `steps`, or a smaller `window`."
            )
        return steps


@dataclass(frozen=True, kw_only=True)
class FinetuneRecipe:
    """Adam on the cross entropy, as the paper has it; nothing regularises.

    Attributes
    ----------
    epochs : int
        All are run; the state after the one of least validation loss counts.
    rate, betas, eps
        Of Adam.
    batch : int
        Examples a step; an epoch's last batch may be smaller.
    frozen : bool
        Whether all layers but the last stay as they are.

    Raises
    ------
    ValueError
        If a value does not fit.
    """

    epochs: Count = 10
    rate: Positive = 1e-3
    batch: Count = 50
    betas: tuple[Share, Share] = (0.9, 0.999)
    eps: Positive = 1e-8
    frozen: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
