"""What is trained for every figure and trend, at three scales.

A configuration is one network, recipe and problem; its initial scales times its seeds
train as one stack.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from empirical.data import NAMES
from empirical.declared import OneOf, Positive, check_fields
from empirical.square_loss.classifiers import Classifier, Family, classifier
from empirical.square_loss.recipes import Recipe
from empirical.square_loss.sizes import FEW, NOISY_BATCH, SIZES, Sizes
from empirical.testbed.study import Name, Scale, check_replicates, check_scale


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """One stack of networks to train.

    Attributes
    ----------
    name : str
        Also that of its record.
    network : FullyConnected or Convolutional
    recipe : Recipe
    figures : tuple of int
        Figures of the paper that it serves.
    data : str
        The data set.
    labels : tuple of int
        Classes to tell apart; with two the network has one output.
    per_class : int
        Training examples of each class.
    tests : int
        Test examples of each class.
    side : int, optional
        Shrink images to this edge.
    constant : float, optional
        Constant input appended to flat inputs, in the place of biases.
    scales : tuple of float
        Initial Frobenius norm of each layer, or rho(0) with weight normalisation.
    seeds : tuple of int
        Seeds of the first weights; every scale has the same Gaussian numbers.
    dtype : {"float32", "float64"}
        Precision of the training.
    shuffled : bool
        Shuffle the labels of the training examples.

    Raises
    ------
    ValueError
        If any of these does not fit.
    """

    name: Name
    network: Classifier
    recipe: Recipe
    figures: tuple[int, ...] = ()
    data: Annotated[str, OneOf(NAMES)] = "mnist"
    labels: tuple[int, ...] = (3, 8)
    per_class: int = 80
    tests: int = 50
    side: int | None = 8
    constant: float | None = 0.25
    scales: tuple[Positive, ...] = (1.0,)
    seeds: tuple[int, ...] = (0,)
    dtype: Annotated[str, OneOf(("float32", "float64"))] = "float64"
    shuffled: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        check_replicates(self, "scales", "seeds")
        count = len(self.labels)
        if count < 2:
            raise ValueError(
                "Configuration: `labels` must name two classes or more, but they are"
                f" {self.labels}"
            )
        if self.network.units[-1] != (1 if count == 2 else count):
            raise ValueError(
                "Configuration: `labels` must be two for a network of one output, one "
                f"an output otherwise, but they are {self.labels} for "
                f"{self.network.units[-1]}"
            )

    @property
    def replicates(self) -> tuple[tuple[float, int], ...]:
        """Scale and seed of each replicate."""
        return tuple((scale, seed) for scale in self.scales for seed in self.seeds)


def input_shape(
    data: str, side: int | None, *, flat: bool
) -> tuple[int] | tuple[int, int, int]:
    """Return the shape of a problem's inputs, flattened with a constant or not.

    Examples
    --------
    >>> input_shape("mnist", 8, flat=True), input_shape("cifar10", None, flat=False)
    ((65,), (3, 32, 32))
    """
    channels, edge = (3, 32) if data == "cifar10" else (1, 28)
    edge = side or edge
    return (channels * edge * edge + 1,) if flat else (channels, edge, edge)


def configurations(scale: Scale) -> tuple[Configuration, ...]:
    """Return every configuration of a scale.

    Parameters
    ----------
    scale : {"small", "full", "paper"}
        ``"small"``: 160 digits of 8 x 8 pixels, full batches, under a minute.
        ``"full"``: 500 images of 14 x 14, minibatches, 1,000 epochs, about an hour on
        two cores. ``"paper"``: 4,000 whole CIFAR-10 images, for a GPU.

    Examples
    --------
    >>> made = configurations("small")
    >>> sorted({n for c in made for n in c.figures}) == list(range(1, 12))
    True
    """
    check_scale(scale)
    sizes = SIZES[scale]
    return tuple(
        c
        for data in sizes.pairs
        for part in (_paper, _beside, _rates, _noisy)
        for c in part(sizes, partial(_configuration, sizes, data))
    )


Make = Callable[..., Configuration]
"""Makes a configuration of a scale and a data set; see `_configuration`."""


def _configuration(
    s: Sizes,
    data: str,
    name: str,
    family: Family,
    recipe: Mapping[str, Any],
    *,
    scales: tuple[float, ...],
    conv: bool = False,
    **changes: Any,
) -> Configuration:
    dense = changes.pop("widths", s.widths)
    labels = changes.pop("labels", s.pairs[data])
    steps: dict[str, Any] = {"epochs": s.conv_epochs if conv else s.epochs}
    steps["batch"] = s.batch
    sized = ("per_class", "tests", "side", "seeds", "dtype")
    given: dict[str, Any] = {size: getattr(s, size) for size in sized} | changes
    return Configuration(
        name=name if len(s.pairs) == 1 else f"{name}-{data}",
        network=classifier(
            family,
            shape=input_shape(data, s.side, flat=not conv),
            widths=s.channels if conv else dense,
            outputs=1 if len(labels) == 2 else len(labels),
        ),
        recipe=Recipe(**{**steps, **recipe}),
        data=data,
        labels=labels,
        scales=scales,
        constant=None if conv else 0.25,
        **given,
    )


def _paper(s: Sizes, make: Make) -> Iterator[Configuration]:
    yield make(
        "bn-decay",
        "bn",
        {"rate": 0.1, "weight_decay": 0.01, "schedule": s.schedule},
        scales=s.starts,
        figures=(1, 2, 3, 4),
    )
    yield make(
        "bn-conv",
        "bn",
        {"rate": 0.01},
        scales=(0.1, 5.0),
        seeds=s.seeds[:FEW],
        conv=True,
        figures=(5, 6, 7, 8),
        # No decay, so variances stay far above the precision.
        dtype="float32",
    )
    yield make(
        "none",
        "none",
        # At these scales the printed rate suits wide networks only.
        {"rate": s.plain_rate, "stable": 1.0},
        scales=s.plain,
        widths=s.plain_widths,
        seeds=s.seeds[:FEW],
        figures=(9, 10, 11),
    )


def _beside(s: Sizes, make: Make) -> Iterator[Configuration]:
    """Yield what the theory is about and the figures do not show."""
    # The network of "bn-decay": what differs is the decay (and its rate).
    yield make("bn", "bn", {"rate": 0.01}, scales=(0.1, 5.0))
    # Full batches and, with decay, steps that end small: equilibria met to rounding.
    still: dict[str, Any] = {"rate": 0.5, "batch": None}
    yield make("wn", "wn", still, scales=(0.1,), seeds=s.seeds[:9])
    # Coming to rest takes full batches as many updates as minibatches.
    rest = {"epochs": s.updates, "decayed": "last", "schedule": (0.6, 0.8, 0.9)}
    for name, decay, scales, seeds in (
        ("wn-decay", 1e-3, (0.1,), 9),
        # The paper's. At 0.1 and more norms fall to nothing before directions move.
        ("wn-decay-0.01", 1e-2, (0.1, 5.0), FEW),
    ):
        recipe = still | rest | {"weight_decay": decay}
        yield make(name, "wn", recipe, scales=scales, seeds=s.seeds[:seeds])
    yield make(
        "none-decay",
        "none",
        {
            # Curvature grows with the product of the layers, and with the images.
            "rate": s.plain_rate if s.batch is None else 0.02,
            "epochs": s.updates,
            "batch": None,
            "stable": 1.0,
            "weight_decay": 1e-3,
            "schedule": s.schedule,
        },
        scales=(3.0,),
        seeds=s.seeds[:5],
    )
    decay = {"rate": 0.1, "weight_decay": 0.01, "schedule": s.schedule}
    for name, loss in (("classes", "square"), ("classes-entropy", "entropy")):
        yield make(
            name,
            "bn",
            {"loss": loss, **decay},
            scales=(1.0,),
            labels=s.classes,
            per_class=s.per_class // 2,
        )


def _noisy(s: Sizes, make: Make) -> Iterator[Configuration]:
    """Yield networks that learn from noisy labels, and what stands beside them."""
    # Normalised over batches, as many updates as without noise, see
    # docs/trained/square-loss.md.
    per_epoch = -(-2 * s.per_class // NOISY_BATCH)
    small: dict[str, Any] = {"batch": NOISY_BATCH, "schedule": (0.8,)}
    for name, family, recipe, steps, scales in (
        ("bn-noise", "bn", {"rate": 0.01, "noise": 1.0}, s.updates, (0.1, 5.0)),
        ("bn-batches", "bn", {"rate": 0.01}, s.updates, (0.1, 5.0)),
        ("wn-noise", "wn", {"rate": 0.1, "noise": 0.5}, 4 * s.epochs, (0.1,)),
    ):
        given = small | recipe | {"epochs": max(1, steps // per_epoch)}
        yield make(name, family, given, scales=scales, seeds=s.seeds[:FEW])


def _rates(s: Sizes, make: Make) -> Iterator[Configuration]:
    """Yield experiments A and C from one start each, over ranges of rates."""
    # A start that keeps the size of signals, layer by layer: with neither, deep networks
    # from the paper's would say nothing of their rates.
    kept = math.sqrt(2.0 * max(s.deep, default=0))
    decay = {"weight_decay": 0.01, "schedule": s.schedule}
    for grid, wide, plain, rates, start in (
        ("rate", s.widths, s.plain_widths, s.rates, s.plain[1]),
        ("deep-rate", s.deep, s.deep, s.deep_rates, kept),
    ):
        for name, family, recipe, scale, widths in (
            ("bn-decay", "bn", decay, 1.0, wide),
            ("none", "none", {}, start, plain),
        ):
            for rate in rates:
                yield make(
                    f"{name}-{grid}-{rate:g}",
                    family,
                    # The rate as it stands: what is tried is whether it suits.
                    {**recipe, "rate": rate},
                    scales=(scale,),
                    seeds=s.seeds[:FEW],
                    widths=widths,
                )
