"""What is trained for every figure, at three scales.

A configuration is one network, recipe and set of measurements. Its groups (training
images, initialisations, learning rates) times its seeds train as one batch.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

from empirical.identity_map.configuration import Configuration
from empirical.identity_map.networks import Copier, copier
from empirical.identity_map.recipes import RATES, Recipe
from empirical.identity_map.scales import BY_NAME, Sizes
from empirical.networks import Convolutional, initial
from empirical.testbed.study import Scale, check_scale


def configurations(scale: Scale) -> tuple[Configuration, ...]:
    """Return every configuration of a scale.

    Parameters
    ----------
    scale : {"small", "full", "paper"}
        ``"small"``: 14 x 14 images, 16 channels, about a minute. ``"full"``: 28 x 28
        images, 32 to 128 channels, about an hour on two cores. ``"paper"``: the paper's
        sizes and steps, for a GPU.

    Examples
    --------
    >>> made = configurations("small")
    >>> sorted({n for c in made for n in c.figures}) == list(range(1, 44))
    True
    """
    check_scale(scale)
    s = BY_NAME[scale]
    parts = (
        _depth_curves,
        _fully_connected,
        _many_examples,
        _shapes,
        _procedures,
        _other_images,
        _remarks,
    )
    return tuple(c for part in parts for c in part(s, partial(_one, s)))


_SEEN = ("curve", "heatmap", "predictions")

_FEW = 3
"""Seeds of the networks that take longest."""


def _cnn(s: Sizes, layers: int, **changes: Any) -> Copier:
    given: dict[str, Any] = {"shape": s.shape(), "width": s.channels} | changes
    return copier("cnn", layers=layers, **given)


def _fcn(s: Sizes, layers: int, **changes: Any) -> Copier:
    given: dict[str, Any] = {"shape": s.shape(), "width": s.fcn_widths[0]} | changes
    return copier("fcn", layers=layers, **given)


def _one(
    s: Sizes, name: str, figures: tuple[int, ...], network: Copier, **changes: Any
) -> Configuration:
    """Return a configuration with a scale's recipe and seeds, and what most record."""
    given: dict[str, Any] = {"recipe": s.recipe, "seeds": s.seeds}
    given |= {"measurements": _SEEN, "settings": s.settings, **changes}
    return Configuration(name=name, figures=figures, network=network, **given)


One = Callable[..., Configuration]
"""Makes a configuration of a scale; see `_one`."""


def _depth_curves(s: Sizes, one: One) -> Iterator[Configuration]:
    """Figures 3 to 7, 15 to 24, 35, 36: convolutional networks of every depth.

    With biases they are trained as they are; without, gradients are rescaled until the
    loss falls: a deep network puts out nothing at first, and would do so for ever.
    """
    plainly = replace(s.recipe, rescale=False)
    for kind, depths, bias, recipe in (
        ("cnn", s.depths, False, s.recipe),
        ("biased", s.biased, True, plainly),
        ("rescaled", s.rescaled, True, s.recipe),
    ):
        for layers in depths:
            figures = (3, 4, 35, 36, 19, 22, 23)
            wanted = (*_SEEN, "change", "probes", "upper")
            if layers in s.detailed:
                figures += (5, 6, 7, 20, 21, 15, 16, 17, 18, 24)
                wanted += ("layer-error", "pictures", "sizes", "signal")
            yield one(
                f"{kind}-depth-{layers}",
                figures,
                _cnn(s, layers, bias=bias),
                recipe=_slow(recipe, s) if bias and layers > 10 else recipe,
                seeds=s.starts if layers in s.detailed else s.seeds,
                measurements=wanted,
            )


def _slow(recipe: Recipe, s: Sizes) -> Recipe:
    return replace(recipe, steps=s.slow or s.recipe.steps)


def _fully_connected(s: Sizes, one: One) -> Iterator[Configuration]:
    """Figures 2, 11 to 14, 33, 34, 41, and the fully connected part of 19."""
    one = partial(one, seeds=s.starts)
    for activation, figures, widths in (
        ("relu", (2, 13, 14, 34, 19), s.fcn_widths[:1]),
        ("linear", (11, 14, 33), s.fcn_widths),
    ):
        for width, layers in product(widths, s.fcn_depths):
            # One layer has no width, and comparing widths needs no great depth.
            if width == s.fcn_widths[0] or 1 < layers <= s.wide_depth:
                yield one(
                    f"fcn-{activation}-depth-{layers}-width-{width}",
                    figures,
                    _fcn(s, layers, width=width, activation=activation),
                    measurements=(*_SEEN, "change"),
                )
    for trained, width in product(("bottom", "all"), s.two_layer_widths):
        yield one(
            f"two-layer-{trained}-width-{width}",
            (12,),
            _fcn(s, 2, width=width),
            recipe=replace(s.recipe, trained=trained),
        )
    for layers in s.residual:
        network = copier("residual", shape=s.shape(), layers=layers)
        yield one(f"residual-depth-{layers}", (41,), network)


def _many_examples(s: Sizes, one: One) -> Iterator[Configuration]:
    """Figures 1 and 40: many examples."""
    for kind, network, depths in (
        ("cnn", _cnn, (s.all_cnn,)),
        ("fcn", _fcn, s.all_fcn),
    ):
        for layers in depths:
            yield one(
                f"many-{kind}-{layers}",
                (1, 40),
                network(s, layers),
                recipe=s.many,
                # A signal that does not shrink: minibatches leave no plateau quickly.
                schemes=("kaiming-normal",),
                examples=s.examples,
                seeds=s.seeds[:_FEW],
            )


def _shapes(s: Sizes, one: One) -> Iterator[Configuration]:
    """Figures 8 to 10 and 25 to 30: image size, kernel, channels."""

    def sized(name: str, figures: tuple[int, ...], net: Copier, *more: str) -> Any:
        seeds = _seeds(net, s)
        return one(name, figures, net, seeds=seeds, measurements=_SEEN + more)

    for layers, size in product(s.image_depths, s.image_sizes):
        net = _cnn(s, layers, shape=(1, size, size))
        yield sized(f"size-{size}-depth-{layers}", (8,), net)
    for kernel in s.kernels:
        net = _cnn(s, 5, kernel=kernel, width=s.kernel_channels)
        yield sized(f"kernel-{kernel}-depth-5", (9, 25, 26), net)
    for layers, width in product(s.channel_depths, s.channel_counts):
        name, net = f"channels-{width}-depth-{layers}", _cnn(s, layers, width=width)
        if layers == 5:
            yield sized(name, (10, 27, 28, 29, 30), net, "pictures")
        else:
            yield sized(name, (10, 27, 28), net)


def _seeds(network: Copier, s: Sizes) -> tuple[int, ...]:
    """Return few seeds for the largest networks, more for those that differ most."""
    kernel = network.kernel if isinstance(network, Convolutional) else 1
    if kernel > 15 or max(network.units) >= 128:
        return s.seeds[:_FEW]
    return s.starts if network.layers > 8 else s.seeds


def _procedures(s: Sizes, one: One) -> Iterator[Configuration]:
    """Figures 31 and 32: initialisations, and optimisers with their rates."""
    for layers in s.detailed:
        yield one(
            f"printed-depth-{layers}",
            (31,),
            _cnn(s, layers),
            # Neither clipped nor rescaled: which first weights train at all?
            recipe=s.printed,
            schemes=("default", "default-sqrt", "framework"),
            seeds=s.seeds[:1],
            measurements=("curve", "signal"),
        )
    for layers in s.varied_depths:
        yield one(
            f"schemes-depth-{layers}",
            (31,),
            _cnn(s, layers),
            schemes=initial.SCHEMES,
            seeds=s.varied_seeds,
            measurements=(*_SEEN, "signal", "points"),
        )
        for optimiser in RATES:
            yield one(
                f"optimiser-{optimiser}-depth-{layers}",
                (32,),
                _cnn(s, layers),
                recipe=replace(s.recipe, optimiser=optimiser, rate=None),
                rates=(0.01, 0.001, 0.0001) if optimiser == "sgd" else None,
                seeds=s.varied_seeds,
                measurements=(*_SEEN, "points"),
            )


def _other_images(s: Sizes, one: One) -> Iterator[Configuration]:
    """Figures 37 to 39, 42, 43: other digits, two and three images, colour."""
    for layers in s.varied_depths:
        yield one(
            f"digits-depth-{layers}",
            (37,),
            _cnn(s, layers),
            labels=tuple((digit,) for digit in range(10)),
            seeds=s.seeds[:1],
        )
    for (figure, labels), layers in product(
        ((38, (7, 3)), (39, (7, 3, 1))), s.set_depths
    ):
        yield one(
            f"images-{len(labels)}-depth-{layers}",
            (figure,),
            _cnn(s, layers),
            labels=(labels,),
            seeds=s.varied_seeds,
        )
    # Two images: of CIFAR-10 a dog and an aeroplane.
    labels = ((7, 3, 1), (4, 0, 9)) if s.colour == "channelled" else ((5,), (0,))
    cnn = partial(_cnn, s, shape=s.shape(3))
    fcn = partial(_fcn, s, shape=s.shape(3), width=math.prod(s.shape(3)))
    for kind, network, depths, seeds in (
        ("cnn", cnn, s.colour_depths, s.colour_seeds),
        ("fcn", fcn, s.colour_fcn, s.seeds[:2]),
    ):
        for layers in depths:
            yield one(
                f"colour-{kind}-{layers}",
                (42, 43),
                network(layers),
                data=s.colour,
                labels=labels,
                seeds=seeds,
            )


def _remarks(s: Sizes, one: One) -> Iterator[Configuration]:
    """Networks of remarks in the text: edges, bottom layers, nothing clipped."""
    if not s.fresh:
        return
    plainly, five = replace(s.recipe, rescale=False), s.fresh[: len(s.fresh) // 2]
    # Networks that may show edges, and shallower ones.
    for layers in (3, 7, 10, 13):
        yield one(
            f"edges-depth-{layers}",
            (3,),
            _cnn(s, layers, bias=True),
            recipe=_slow(plainly, s) if layers > 10 else plainly,
            seeds=five,
            measurements=("curve", "edges"),
        )
    yield one(
        "bottom-depth-20",
        (5,),
        _cnn(s, 20, bias=True),
        recipe=_slow(plainly, s),
        seeds=s.fresh,
        measurements=("curve", "layer-error"),
    )
    for scheme in ("framework", "default-sqrt"):
        yield one(
            f"unclipped-fcn-{scheme}",
            (19,),
            # Eleven hidden layers.
            _fcn(s, 12),
            recipe=replace(plainly, clip=None, limit=4000, retries=0),
            schemes=(scheme,),
            seeds=five,
            measurements=("curve", "change"),
        )
