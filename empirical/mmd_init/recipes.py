"""How an initialisation is learnt: the losses, their weights, the optimiser."""

import math
import numbers
from dataclasses import dataclass, fields
from typing import Any, Literal

from empirical.checks import check_choice, check_counts, check_positive, check_weights

Way = Literal["auto", "gram", "explicit", "local"]
WAYS = ("auto", "gram", "explicit", "local")
Estimator = Literal["unbiased", "biased"]
ESTIMATORS = ("unbiased", "biased")

_KINDS: dict[Any, type] = {int: numbers.Integral, float: numbers.Real}


def check_numbers(recipe: Any) -> None:
    """Refuse entries that are no numbers of their defaults' kind; `steps` may be absent.

    Raises
    ------
    TypeError
        Naming the entry.

    Examples
    --------
    >>> Recipe(steps=2.5)
    Traceback (most recent call last):
    TypeError: Recipe: `steps` must be a whole number, but it is 2.5
    """
    for each in fields(recipe):
        value, own = getattr(recipe, each.name), type(each.default)
        if each.name == "steps":
            own = type(None) if value is None else int
        kind = _KINDS.get(own)
        if kind and (isinstance(value, bool) or not isinstance(value, kind)):
            what = "a whole number" if own is int else "a number"
            who = type(recipe).__name__
            raise TypeError(f"{who}: `{each.name}` must be {what}, but it is {value!r}")


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
    ValueError, TypeError
        If an entry is out of its range, or no number.

    Examples
    --------
    >>> Recipe().updates(60000)
    9375
    """

    s: float = math.sqrt(0.5)
    lam: float = 0.4
    xi: float = 1.0
    uni: float = 1.0
    perturbations: int = 256
    reference: int = 256
    closed: bool = True
    estimator: Estimator = "unbiased"
    noise: Way = "auto"
    batch: int = 32
    steps: int | None = None
    epochs: int = 5
    rate: float = 2e-4
    window: int = 100
    degenerate: float = 0.5
    grace: int = 5
    frozen: bool = False

    def __post_init__(self) -> None:
        check_numbers(self)
        check_positive("Recipe", s=self.s, rate=self.rate, degenerate=self.degenerate)
        counts = ("batch", "steps", "epochs", "window")
        check_counts("Recipe", **{name: getattr(self, name) for name in counts})
        several = {"perturbations": self.perturbations, "reference": self.reference}
        check_counts("Recipe", 2, **several)
        check_counts("Recipe", 0, grace=self.grace)
        weights = {"lam": self.lam, "xi": self.xi, "uni": self.uni}
        check_weights("Recipe", **weights)
        if not any(weights.values()):
            raise ValueError(
                "Recipe: one of `uni`, `lam` and `xi` must be positive, but all are 0"
            )
        for name, known in (("noise", WAYS), ("estimator", ESTIMATORS)):
            check_choice("Recipe", name, getattr(self, name), known)

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

    epochs: int = 10
    rate: float = 1e-3
    batch: int = 50
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    frozen: bool = False

    def __post_init__(self) -> None:
        check_numbers(self)
        check_positive("FinetuneRecipe", rate=self.rate, eps=self.eps)
        if len(self.betas) != 2 or not all(0.0 <= b < 1.0 for b in self.betas):
            raise ValueError(
                "FinetuneRecipe: `betas` must be two in [0, 1), but they are"
                f" {self.betas}"
            )
        check_counts("FinetuneRecipe", batch=self.batch, epochs=self.epochs)
