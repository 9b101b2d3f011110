"""One batch of networks to train: what is trained, how, and what is measured."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from empirical.data import NAMES
from empirical.declared import Count, Number, OneOf, check_fields
from empirical.identity_map.networks import Copier
from empirical.identity_map.recipes import Recipe
from empirical.identity_map.scales import Measurement
from empirical.networks.initial import SCHEMES, UNIT
from empirical.testbed.faults import FEWER
from empirical.testbed.study import Name, check_replicates

FAULTS = ("slow", "short", "frozen", "untrained")
"""Those of `testbed.faults` that concern networks without labels."""


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """One batch of networks to train and to measure.

    Attributes
    ----------
    name : str
        Also that of its record.
    figures : tuple of int
        Figures of the paper that it serves.
    network : FullyConnected, Convolutional or Residual
    recipe : Recipe
    data : str
        A data set, or ``"channelled"``: three digits as the channels of one image.
    labels : tuple of tuple of int
        Training sets, one a group: an example of each label.
    skip : int
        Skip this many examples of each label.
    image : str
        File of a picture of one's own, in the place of a data set.
    examples : int, optional
        Train on this many examples of the data set, drawn for each update; `labels` then
        names those that are looked at.
    schemes : tuple of str
        Initialisations, or "unit" of standard deviation 1; one network of each for every
        seed.
    rates : tuple of float, optional
        Learning rates, one a group; the recipe's when absent.
    seeds : tuple of int
        Seeds of the networks' first weights.
    fault : str
        What is wrong with the training, one of `FAULTS`, or nothing.
    measurements : tuple of str
        What the record holds beside the losses.
    settings : mapping
        Arguments of `measures.Settings`.
    """

    name: Name
    network: Copier
    recipe: Recipe
    figures: tuple[int, ...] = ()
    data: Annotated[str, OneOf((*NAMES, "channelled"))] = "mnist"
    labels: tuple[tuple[int, ...], ...] = ((7,),)
    skip: Number = 0
    image: str = ""
    examples: Count | None = None
    schemes: tuple[Annotated[str, OneOf(SCHEMES, UNIT)], ...] = ("framework",)
    rates: tuple[float, ...] | None = None
    seeds: tuple[int, ...] = (0,)
    fault: Annotated[str, OneOf(FAULTS, "")] = ""
    measurements: tuple[Measurement, ...] = ("curve",)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self)
        sizes = {len(labels) for labels in self.labels}
        check_replicates(self, "schemes", "seeds")
        if len(sizes) != 1 or 0 in sizes:
            raise ValueError(
                "Configuration: `labels` must be training sets, at least one and all as"
                f" large, but they are {self.labels}"
            )
        channels = self.network.input_shape[0]
        if self.data == "channelled" and not sizes <= {1, channels}:
            raise ValueError(
                "Configuration: `labels` of channelled images must be one, or one for each"
                f" of {channels} channels, but they are {self.labels}"
            )
        if self.examples is not None and self.recipe.batch is None:
            raise ValueError(
                "Configuration: `batch` must be given with `examples`, but it is not"
            )


def faulty(configuration: Configuration) -> tuple[Recipe, float]:
    """Return the recipe with the configuration's fault, and a factor of its rates."""
    recipe = configuration.recipe
    match configuration.fault:
        case "slow":
            return recipe, 0.01
        case "short":
            limit = recipe.limit and max(1, recipe.limit // FEWER)
            return replace(
                recipe, steps=max(1, recipe.steps // FEWER), limit=limit
            ), 1.0
        case "frozen":
            return replace(recipe, trained="top"), 1.0
        case "untrained":
            # One update at a rate that rounding swallows.
            one = replace(recipe, steps=1, release=None, rescale=False, schedule=())
            return one, 1e-30
        case _:
            return recipe, 1.0
