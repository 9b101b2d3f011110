"""How large the figures' networks are: three scales."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from empirical.declared import OneOf
from empirical.identity_map.recipes import Recipe

MEASURED = (
    *("curve", "heatmap", "layer-error", "pictures", "upper"),
    *("change", "signal", "sizes", "predictions", "cover", "probes"),
    *("points", "edges"),
)
"""Names of `measures.MEASUREMENTS`."""
Measurement = Annotated[str, OneOf(MEASURED)]


SHORT = Recipe(steps=400, release=0.95, limit=2000, clip=0.5, rescale=True, schedule=())
"""The short recipe: a plateau is left within tens of updates, at every depth."""

_PRINTED = Recipe(steps=150, release=0.95, limit=150)
_MANY = Recipe(optimiser="adam", rate=0.001, steps=400, batch=16, schedule=(0.6, 0.8))


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Sizes of the figures' experiments at a scale; defaults are those of the small one.

    Attributes
    ----------
    starts
        Seeds of networks with `detailed` many layers, and of fully connected ones.
    seeds
        Seeds of the others; the largest networks have the first three.
    varied_seeds
        Seeds of the comparisons of image sets, initialisations and optimisers.
    varied_depths
        Layers of the comparisons of digits, initialisations and optimisers.
    colour_seeds
        Seeds of convolutional networks on colour images.
    fresh
        Seeds for the remarks of the text: all for twenty layers, else the first half.
    slow
        Updates of networks with biases and more than ten layers.
    """

    size: int = 14
    recipe: Recipe = SHORT
    printed: Recipe = _PRINTED
    many: Recipe = _MANY
    examples: int = 2000
    seeds: tuple[int, ...] = (0, 1, 2)
    starts: tuple[int, ...] = (10, 11, 12, 13, 14)
    varied_seeds: tuple[int, ...] = (0,)
    colour_seeds: tuple[int, ...] = (0, 1)
    fresh: tuple[int, ...] = ()
    depths: tuple[int, ...] = (1, 3, 5, 8, 12, 20)
    # With biases the deep ones need more updates than there is time for.
    biased: tuple[int, ...] = ()
    rescaled: tuple[int, ...] = ()
    slow: int | None = None
    channels: int = 16
    detailed: tuple[int, ...] = (5, 20)
    fcn_depths: tuple[int, ...] = (1, 2, 4, 11)
    fcn_widths: tuple[int, ...] = (196, 392)
    wide_depth: int = 4
    two_layer_widths: tuple[int, ...] = (2048,)
    all_fcn: tuple[int, ...] = (1, 4)
    all_cnn: int = 6
    image_sizes: tuple[int, ...] = (7, 28)
    image_depths: tuple[int, ...] = (8,)
    kernels: tuple[int, ...] = (3, 11)
    kernel_channels: int = 16
    channel_counts: tuple[int, ...] = (3, 24)
    channel_depths: tuple[int, ...] = (5, 12)
    varied_depths: tuple[int, ...] = (5,)
    set_depths: tuple[int, ...] = (5, 12)
    residual: tuple[int, ...] = (2, 4, 8)
    colour: str = "channelled"
    colour_depths: tuple[int, ...] = (5, 12)
    colour_fcn: tuple[int, ...] = (1, 4)
    settings: Mapping[str, Any]

    def shape(self, channels: int = 1) -> tuple[int, int, int]:
        """Return the shape of an image; CIFAR-10 keeps its own."""
        if channels == 3 and self.size == 28:
            return 3, 32, 32
        return channels, self.size, self.size


_FULL = Sizes(
    size=28,
    # Fully connected networks reach the floor at once, deep convolutional ones never.
    recipe=replace(SHORT, steps=2000, floor=1e-9, patience=200),
    printed=Recipe(steps=800, release=0.95, limit=400),
    many=replace(_MANY, steps=1000),
    examples=4000,
    slow=5000,
    seeds=(0, 1, 2, 3, 4),
    starts=(0, 1, 2, 3, 4),
    varied_seeds=(0, 1, 2, 3, 4),
    colour_seeds=(0, 1, 2, 3, 4),
    fresh=tuple(range(5, 15)),
    depths=(1, 3, 5, 7, 10, 13, 20),
    biased=(1, 3, 5, 7, 10, 13, 20),
    rescaled=(20,),
    channels=32,
    fcn_depths=(1, 2, 4, 7, 11),
    fcn_widths=(784, 2048),
    wide_depth=6,
    two_layer_widths=(2048, 16384),
    all_fcn=(1, 10),
    all_cnn=12,
    image_sizes=(7, 14, 28, 56),
    kernels=(3, 7, 9, 15, 29),
    channel_counts=(3, 8, 128),
    channel_depths=(5, 10),
    varied_depths=(5, 10),
    set_depths=(5, 14, 20),
    residual=(2, 4, 8, 12),
    colour_depths=(5, 14),
    colour_fcn=(1, 4, 10),
    settings={"examples": (300, 200), "sizes": (7, 14, 28, 56)},
)

_LONG = Recipe(steps=2_000_000, floor=1e-9, patience=20_000, check=500)
"""The paper's steps and schedule; stops where nothing is left to learn."""

_PAPER = replace(
    _FULL,
    recipe=replace(_LONG, release=0.95, limit=100_000, clip=0.5, rescale=True),
    seeds=(0, 1, 2),
    starts=(0, 1, 2),
    varied_seeds=(0,),
    colour_seeds=(0, 1),
    fresh=(),
    printed=replace(_LONG, release=0.95, limit=100_000),
    many=replace(_MANY, steps=200_000, batch=128, check=500),
    examples=60_000,
    depths=(1, 3, *range(5, 18), 19, 20, 24),
    biased=(1, 3, *range(5, 18), 19, 20, 24),
    rescaled=(),
    slow=None,
    detailed=(5, 7, 14, 20),
    channels=128,
    fcn_depths=(1, 2, 4, 6, 8, 10, 12),
    fcn_widths=(2048, 784),
    wide_depth=12,
    all_cnn=20,
    kernels=(7, 9, 13, 17, 25, 29, 57),
    kernel_channels=128,
    channel_counts=(3, 1024),
    channel_depths=(5, 7, 12, 14, 20),
    image_sizes=(7, 14, 56),
    image_depths=(5, 8, 20),
    varied_depths=(5, 10, 20),
    set_depths=(5, 10, 20),
    residual=(2, 4, 8, 12, 20),
    colour="cifar10",
    colour_depths=(5, 10, 20),
    settings={},
)

_SMALL = {"sizes": (7, 14, 28), "examples": (200, 100), "digits": 50}

BY_NAME = {"small": Sizes(settings=_SMALL), "full": _FULL, "paper": _PAPER}
"""Scale to sizes."""
