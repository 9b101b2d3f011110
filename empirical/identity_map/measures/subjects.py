"""What is measured: a stack of networks, and the images they are shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import torch
from torch import Tensor

from empirical._cached import cached_property
from empirical.declared import OneOf, check_fields
from empirical.identity_map.images import Pictures
from empirical.identity_map.measures.similarity import Closeness, closeness, heat_map
from empirical.identity_map.probes import RHOS, Law, probes
from empirical.networks import Convolutional, Network, Params
from empirical.randomness import Seed, torch_generator

BYTES = 256 * 2**20
"""Budget for the representations held at once."""

KINDS = ("singular", "correlated", "first")
"""Pictures of a layer, see `Picture`."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of the measurements; part of the record.

    Parameters
    ----------
    rhos : tuple of float
        Correlations of the test images with the training image.
    count : int
        Test images at each.
    law : {"gaussian", "uniform"}
        Of their random pixels.
    centred : bool
        Of all cosines.
    sizes : tuple of int
        Edges of the test images of "sizes".
    largest : int
        Edge up to which "sizes" keeps pictures.
    upper : tuple of int
        How many of the last layers "upper" feeds; numbers above L are left out.
    shown : tuple of str
        Unseen images whose "pictures", "upper" and "sizes" are kept, beside the first
        training image.
    kinds : tuple of str
        Which of a layer's pictures "pictures" keeps: "singular", "correlated", "first".
        All three at 28 x 28 and 20 layers are 1.6 MB, one is a third of it.
    replicates : int
        Of how many networks pictures are kept; numbers are kept of all.
    digits : int
        Test digits of "probes", "points" and "edges".
    points : int
        Pixels of outputs that "points" keeps of each kind of test images, at most.
    examples : pair of int or None
        Training and test digits of "layer-error", of the MNIST digits that are the same
        on every machine; all when None.
    """

    rhos: tuple[float, ...] = RHOS
    count: int = 5
    law: Law = "gaussian"
    centred: bool = False
    sizes: tuple[int, ...] = (7, 14, 28, 56, 112)
    largest: int = 56
    upper: tuple[int, ...] = (1, 2, 3, 6, 10)
    shown: tuple[str, ...] = ("3",)
    kinds: tuple[Annotated[str, OneOf(KINDS)], ...] = KINDS
    replicates: int = 1
    digits: int = 100
    points: int = 1000
    examples: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, kw_only=True, eq=False)
class Subject:
    """Networks, images and settings, as every measurement takes them."""

    network: Network
    initial: Params
    final: Params
    training: Tensor
    names: tuple[str, ...]
    tests: Pictures
    seed: Seed
    settings: Settings
    before: int

    @property
    def few(self) -> int:
        """Of how many of these networks pictures are kept."""
        return max(0, self.settings.replicates - self.before)

    def like(self, images: Tensor) -> Tensor:
        """Return images of the weights' dtype, on their device."""
        return images.to(self.final[0])

    def apply(self, images: Tensor, params: Params | None = None) -> Tensor:
        """Run networks on any number of images, a few at a time."""
        chosen = self.final if params is None else params
        parts = images.split(self.chunk(images))
        return torch.cat([self.network.apply(chosen, x) for x in parts], dim=1)

    def chunk(self, images: Tensor) -> int:
        """Return the number of images whose representations fit into `BYTES`."""
        spots = images[0, 0].numel() if isinstance(self.network, Convolutional) else 1
        numbers = sum(self.network.units) * spots * len(self.final[0])
        return max(1, BYTES // (numbers * images.element_size()))

    def drawn(self, law: Law) -> Tensor:
        """Return probes of the first training image at all correlations, (n, C, H, W)."""
        found = probes(
            self.training[0],
            self.settings.rhos,
            count=self.settings.count,
            generator=torch_generator(self.seed, "probes", 0),
            law=law,
        )
        return self.like(found.flatten(0, 1))

    def heat_map(
        self, index: int, rhos: Sequence[float], law: Law, params: Params | None = None
    ) -> Closeness:
        """Return the heat map of a training image, shape (replicates, rhos, count)."""
        image = self.training[index]
        return heat_map(
            partial(self.apply, params=params),
            image,
            rhos,
            count=self.settings.count,
            # On the CPU for every device: the same images.
            generator=torch_generator(self.seed, "probes", index),
            law=law,
            centred=self.settings.centred,
            dtype=image.dtype,
        )

    @cached_property
    def maps(self) -> tuple[Closeness, ...]:
        """One heat map for each training image, shapes (replicates, rhos, count)."""
        s = self.settings
        return tuple(self.heat_map(k, s.rhos, s.law) for k in range(len(self.training)))

    def closeness(self, outputs: Tensor, images: Tensor, constant: Tensor) -> Closeness:
        """Compare outputs with identity and constant; see `similarity.closeness`."""
        return closeness(outputs, images, constant, centred=self.settings.centred)

    @property
    def both(self) -> dict[str, Params]:
        """Weights, trained and untrained."""
        return {"trained": self.final, "untrained": self.initial}

    @cached_property
    def shown(self) -> tuple[tuple[str, ...], Tensor]:
        """Names and images that pictures are kept of."""
        chosen = self.tests.select(self.settings.shown)
        images = torch.cat([self.training[:1], self.like(chosen.pixels)])
        return (self.names[0], *chosen.names), images


def check(
    network: Network,
    initial: Params,
    final: Params,
    *,
    images: Tensor,
    tests: Pictures,
    shown: Sequence[str],
) -> None:
    """Refuse what `measure` can make nothing of."""
    zero = ~images.flatten(1).any(dim=1)
    if bool(zero.any()):
        raise ValueError(
            f"measure: `training_images` must not be zero, but {int(zero.sum())} of "
            f"{len(zero)} are, e.g. image {int(zero.nonzero()[0])}"
        )
    for name, shape in (("training", images.shape[1:]), ("test", tests.shape)):
        if tuple(shape) != network.input_shape:
            raise ValueError(
                f"measure: `{name}_images` must have the network's shape "
                f"{network.input_shape}, but they have {tuple(shape)}"
            )
    if [w.shape for w in initial] != [w.shape for w in final]:
        raise ValueError("measure: `initial` and `final` must have the same shapes")
    tests.select(shown)
