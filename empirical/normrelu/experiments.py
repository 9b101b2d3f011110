"""What is trained, at three scales."""

import math
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any

from empirical.data import NAMES as DATA_SETS
from empirical.declared import Count, OneOf, Positive, check_fields
from empirical.normrelu.recipes import PLAIN, Recipe
from empirical.testbed.faults import FAULTS
from empirical.testbed.study import Name, Scale, check_replicates, check_scale

DENSE = ("normrelu", "selu", "relu", "batch", "layer")
"""Arms of fully connected networks that every scale has."""
NAMES = (*DENSE, "tanh", "fixup")
"""Of the arms, see `networks.ARMS`."""
KINK = -1.5907658564412686
"""Of NormReLU with SELU's slope, which the paper takes."""
RESIDUAL = ("normrelu", "selu", "batch", "fixup")
"""Arms of residual networks."""


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """An arm at one depth: a grid of rates, then networks at the rate that it chose.

    Attributes
    ----------
    name : str
        Also that of its record.
    arm : str
        What stands between weight layers; "tanh" and "fixup" have no norm, as NormReLU.
    kink : float
        Of NormReLU, in its own arm.
    network : str
        Fully connected ("dense") or residual.
    depth : int
        Hidden layers; of a residual network all layers, 6n + 2.
    width : int
        Units of a hidden layer; of a residual network the channels of its first stage.
    rates : tuple of float
        Learning rates to choose from, increasing.
    epochs : int
        Passes through the training examples at the chosen rate; half as many to choose it.
    batch : int
        Examples of an update.
    data : str
        The data set.
    per_class : int
        Training examples of each class.
    tests : int
        Test examples of each class.
    held_out : int
        Training examples of each class that are held out while rates are compared.
    side : int, optional
        Shrink images to this edge.
    chosen_by : tuple of int
        Seeds of the networks that choose the rate.
    seeds : tuple of int
        Seeds of the networks that are measured.
    recipe : Recipe
        What practice adds: schedule, decay, augmentation, start.
    fault : str
        What is wrong with the training of those that are measured, if anything.

    Raises
    ------
    ValueError
        If any of these does not fit.
    """

    name: Name
    arm: Annotated[str, OneOf(NAMES)]
    kink: float = KINK
    network: Annotated[str, OneOf(("dense", "residual"))] = "dense"
    depth: Count
    width: Count = 128
    rates: tuple[Positive, ...] = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
    epochs: Count = 8
    batch: Count = 100
    data: Annotated[str, OneOf(DATA_SETS)] = "mnist"
    per_class: Count = 200
    tests: Count = 50
    held_out: int = 40
    side: int | None = 14
    chosen_by: tuple[int, ...] = (0, 1)
    seeds: tuple[int, ...] = (100, 101, 102, 103, 104, 105)
    recipe: Recipe = PLAIN
    fault: Annotated[str, OneOf(FAULTS, "")] = ""

    def __post_init__(self) -> None:
        check_fields(self)
        residual, whole = self.network == "residual", self.depth % 6 == 2 < self.depth
        if residual and (self.arm not in RESIDUAL or not whole):
            raise ValueError(
                "Configuration: a residual network's `arm` must be one of"
                f" {', '.join(RESIDUAL)}, and its `depth` 6n + 2 layers, from 8 on, but"
                f" they are {self.arm} and {self.depth}"
            )
        if self.arm == "fixup" and not residual:
            raise ValueError(
                "Configuration: the `arm` fixup must have `network` residual, but it is"
                f" {self.network}"
            )
        if self.recipe.augmentation and not residual:
            raise ValueError(
                "Configuration: a recipe with `augmentation` must have `network` residual:"
                f" networks of vectors see no images, but it is {self.network}"
            )
        if self.recipe.start != "arm" and self.arm == "fixup":
            raise ValueError(
                "Configuration: the `arm` fixup must have its own `start`, but the"
                f" recipe's is {self.recipe.start}"
            )
        if not math.isfinite(self.kink):
            raise ValueError(
                f"Configuration: `kink` must be finite, but it is {self.kink}"
            )
        if not self.rates or list(self.rates) != sorted(set(self.rates)):
            raise ValueError(
                "Configuration: `rates` must increase, and be one at least, but they are"
                f" {self.rates}"
            )
        if not 0 < self.held_out < self.per_class:
            raise ValueError(
                "Configuration: `held_out` must lie between 0 and `per_class` "
                f"= {self.per_class}, but it is {self.held_out}"
            )
        # The last update of a pass has what is left over.
        counts = (10 * (self.per_class - self.held_out), 10 * self.per_class)
        if self.arm == "batch" and not residual:
            alone = [n for n in counts if self.batch == 1 or n % self.batch == 1]
            if alone:
                raise ValueError(
                    "Configuration: `batch` must leave no update of a single example in the"
                    " arm batch, which divides by their deviation, but of"
                    f" {alone[0]} images it is {self.batch}"
                )
        check_replicates(self, "seeds", "chosen_by")
        if set(self.seeds) & set(self.chosen_by):
            raise ValueError(
                "Configuration: `seeds` and `chosen_by` must have none in common, but they"
                f" are {self.seeds} and {self.chosen_by}"
            )


_FEW: dict[str, Any] = {"per_class": 400, "tests": 100, "held_out": 80}
_MANY: dict[str, Any] = {"per_class": 5000, "tests": 1000, "held_out": 1000}
_LONG: dict[str, Any] = {"data": "cifar10", "side": None, "epochs": 300}
_PRACTICE = Recipe(schedule=(0.5, 0.75), decay=5e-4, augmentation=("crop", "flip"))
_STAGES: dict[str, Any] = {"data": "cifar10", "width": 16}
_Scaled = dict[str, tuple[tuple[int, ...], dict[str, Any]]]
_SIZES: _Scaled = {
    "small": ((16, 32), {}),
    "full": ((32, 64), {**_FEW, "width": 256, "side": None, "epochs": 30}),
    "paper": (
        (32, 64),
        {**_MANY, **_LONG, "width": 1024, "recipe": Recipe(schedule=(0.5, 0.75))},
    ),
}
_RESIDUAL: _Scaled = {
    "small": ((), {}),
    "full": (
        (20, 32, 110),
        {**_STAGES, **_FEW, "side": 16, "epochs": 8, "seeds": tuple(range(100, 105))},
    ),
    "paper": ((20, 32, 110), {**_STAGES, **_MANY, **_LONG, "recipe": _PRACTICE}),
}
_RATES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
_LOWER = (1e-4, 3e-4)
"""Rates besides, for the 110 layers of the deepest residual networks."""


def configurations(scale: Scale) -> tuple[Configuration, ...]:
    """Return every arm at every depth of a scale, and residual networks above the small.

    Examples
    --------
    >>> [c.name for c in configurations("small")][:2]
    ['normrelu-depth-16', 'normrelu-depth-32']
    >>> configurations("full")[-1].name
    'fixup-residual-110'
    """
    check_scale(scale)
    depths, sizes = _SIZES[scale]
    dense = tuple(
        Configuration(name=f"{arm}-depth-{depth}", arm=arm, depth=depth, **sizes)
        for arm, depth in product(DENSE, depths)
    )
    depths, sizes = _RESIDUAL[scale]
    return dense + tuple(
        Configuration(
            name=f"{arm}-residual-{depth}",
            arm=arm,
            network="residual",
            depth=depth,
            rates=_LOWER + _RATES if depth == 110 else _RATES,
            **sizes,
        )
        for arm, depth in product(RESIDUAL, depths)
    )
