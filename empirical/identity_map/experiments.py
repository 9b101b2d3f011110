"""What is trained for every figure, at three scales.

A configuration is one network, recipe and set of measurements. Its groups (training
images, initialisations, learning rates) times its seeds train as one batch.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from empirical.identity_map.configuration import Configuration
from empirical.identity_map.networks import Copier, copier
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
    made = [c for part in parts for c in part(s, partial(_one, s))]
    return tuple(replace(c, settings={**s.settings, **c.settings}) for c in made)


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
    given |= {"measurements": _SEEN, **changes}
    return Configuration(name=name, figures=figures, network=network, **given)


One = Callable[..., Configuration]
"""Makes a configuration of a scale; see `_one`."""


def _depth_curves(s: Sizes, one: One) -> list[Configuration]:
    """Figures 3 to 7, 15 to 24, 35, 36: convolutional networks of every depth.

    With biases they are trained as they are; without, gradients are rescaled until the
    loss falls: a deep network puts out nothing at first, and would do so for ever.
    """
    plainly = replace(s.recipe, rescale=False)
    slow = s.slow or s.recipe.steps
    arms = (
        ("cnn", s.depths, False, s.recipe),
        ("biased", s.biased, True, plainly),
        ("rescaled", s.rescaled, True, s.recipe),
    )
    made: list[Configuration] = []
    for kind, depths, bias, recipe in arms:
        for layers in depths:
            figures = (3, 4, 35, 36, 19, 22, 23)
            wanted = (*_SEEN, "change", "probes", "upper")
            if layers in s.detailed:
                figures += (5, 6, 7, 20, 21, 15, 16, 17, 18, 24)
                wanted += ("layer-error", "pictures", "sizes", "signal")
            made.append(
                one(
                    f"{kind}-depth-{layers}",
                    figures,
                    _cnn(s, layers, bias=bias),
                    recipe=replace(recipe, steps=slow)
                    if bias and layers > 10
                    else recipe,
                    seeds=s.starts if layers in s.detailed else s.seeds,
                    measurements=wanted,
                )
            )
    return made


def _fully_connected(s: Sizes, one: One) -> list[Configuration]:
    """Figures 2, 11 to 14, 33, 34, 41, and the fully connected part of 19."""
    made = [
        one(
            f"fcn-{activation}-depth-{layers}-width-{width}",
            (2, 13, 14, 34, 19) if activation == "relu" else (11, 14, 33),
            _fcn(s, layers, width=width, activation=activation),
            measurements=(*_SEEN, "change"),
        )
        for activation in ("relu", "linear")
        for width in (s.fcn_widths[:1] if activation == "relu" else s.fcn_widths)
        for layers in s.fcn_depths
        # One layer has no width, and the comparison of widths needs no great depth.
        if width == s.fcn_widths[0] or 1 < layers <= s.wide_depth
    ]
    made += [
        one(
            f"two-layer-{trained}-width-{width}",
            (12,),
            _fcn(s, 2, width=width),
            recipe=replace(s.recipe, trained=trained),
        )
        for trained in ("bottom", "all")
        for width in s.two_layer_widths
    ]
    for layers in s.residual:
        network = copier("residual", shape=s.shape(), layers=layers)
        made.append(one(f"residual-depth-{layers}", (41,), network))
    return [replace(each, seeds=s.starts) for each in made]


def _many_examples(s: Sizes, one: One) -> list[Configuration]:
    """Figures 1 and 40: many examples."""
    networks = {f"cnn-{s.all_cnn}": _cnn(s, s.all_cnn)} | {
        f"fcn-{layers}": _fcn(s, layers) for layers in s.all_fcn
    }
    return [
        one(
            f"many-{name}",
            (1, 40),
            network,
            recipe=s.many,
            # A signal that does not shrink: minibatches leave no plateau quickly.
            schemes=("kaiming-normal",),
            examples=s.examples,
            seeds=s.seeds[:_FEW],
        )
        for name, network in networks.items()
    ]


def _shapes(s: Sizes, one: One) -> list[Configuration]:
    """Figures 8 to 10 and 25 to 30: image size, kernel, channels."""
    made: list[Configuration] = []

    def add(name: str, figures: tuple[int, ...], net: Copier, *more: str) -> None:
        seeds = _seeds(net, s)
        made.append(one(name, figures, net, seeds=seeds, measurements=_SEEN + more))

    for layers in s.image_depths:
        for size in s.image_sizes:
            net = _cnn(s, layers, shape=(1, size, size))
            add(f"size-{size}-depth-{layers}", (8,), net)
    for kernel in s.kernels:
        net = _cnn(s, 5, kernel=kernel, width=s.kernel_channels)
        add(f"kernel-{kernel}-depth-5", (9, 25, 26), net)
    for layers in s.channel_depths:
        for width in s.channel_counts:
            name, net = f"channels-{width}-depth-{layers}", _cnn(s, layers, width=width)
            if layers == 5:
                add(name, (10, 27, 28, 29, 30), net, "pictures")
            else:
                add(name, (10, 27, 28), net)
    return made


def _seeds(network: Copier, s: Sizes) -> tuple[int, ...]:
    """Return few seeds for the largest networks, more for those that differ most."""
    kernel = network.kernel if isinstance(network, Convolutional) else 1
    if kernel > 15 or max(network.units) >= 128:
        return s.seeds[:_FEW]
    return s.starts if network.layers > 8 else s.seeds


def _procedures(s: Sizes, one: One) -> list[Configuration]:
    """Figures 31 and 32: initialisations, and optimisers with their rates."""
    made = [
        one(
            f"printed-depth-{layers}",
            (31,),
            _cnn(s, layers),
            # Neither clipped nor rescaled: which first weights train at all?
            recipe=s.printed,
            schemes=("default", "default-sqrt", "framework"),
            seeds=s.seeds[:1],
            measurements=("curve", "signal"),
        )
        for layers in s.detailed
    ]
    for layers in s.varied_depths:
        made.append(
            one(
                f"schemes-depth-{layers}",
                (31,),
                _cnn(s, layers),
                schemes=initial.SCHEMES,
                seeds=s.varied_seeds,
                measurements=(*_SEEN, "signal", "points"),
            )
        )
        made += [
            one(
                f"optimiser-{optimiser}-depth-{layers}",
                (32,),
                _cnn(s, layers),
                recipe=replace(s.recipe, optimiser=optimiser, rate=None),
                rates=(0.01, 0.001, 0.0001) if optimiser == "sgd" else None,
                seeds=s.varied_seeds,
                measurements=(*_SEEN, "points"),
            )
            for optimiser in ("sgd", "adagrad", "rmsprop", "adam", "adamax")
        ]
    return made


def _other_images(s: Sizes, one: One) -> list[Configuration]:
    """Figures 37 to 39, 42, 43: other digits, two and three images, colour."""
    made = [
        one(
            f"digits-depth-{layers}",
            (37,),
            _cnn(s, layers),
            labels=tuple((digit,) for digit in range(10)),
            seeds=s.seeds[:1],
        )
        for layers in s.varied_depths
    ]
    made += [
        one(
            f"images-{len(labels)}-depth-{layers}",
            (38,) if len(labels) == 2 else (39,),
            _cnn(s, layers),
            labels=(labels,),
            seeds=s.varied_seeds,
        )
        for labels in ((7, 3), (7, 3, 1))
        for layers in s.set_depths
    ]
    # Two images: of CIFAR-10 a dog and an aeroplane.
    labels = ((7, 3, 1), (4, 0, 9)) if s.colour == "channelled" else ((5,), (0,))
    shape = s.shape(3)
    arms = (
        ("cnn", s.colour_depths, s.colour_seeds, partial(_cnn, s, shape=shape)),
        (
            "fcn",
            s.colour_fcn,
            s.seeds[:2],
            partial(_fcn, s, shape=shape, width=math.prod(shape)),
        ),
    )
    made += [
        one(
            f"colour-{kind}-{layers}",
            (42, 43),
            network(layers),
            data=s.colour,
            labels=labels,
            seeds=seeds,
        )
        for kind, depths, seeds, network in arms
        for layers in depths
    ]
    return made


_MIDDLE = (3, 7, 10, 13)
"""Layers of networks that may show edges, and of shallower ones."""


def _remarks(s: Sizes, one: One) -> list[Configuration]:
    """Networks of remarks in the text: edges, bottom layers, nothing clipped."""
    if not s.fresh:
        return []
    plainly, five = replace(s.recipe, rescale=False), s.fresh[: len(s.fresh) // 2]
    slow = replace(plainly, steps=s.slow or s.recipe.steps)
    made = [
        one(
            f"edges-depth-{layers}",
            (3,),
            _cnn(s, layers, bias=True),
            recipe=slow if layers > 10 else plainly,
            seeds=five,
            measurements=("curve", "edges"),
        )
        for layers in _MIDDLE
    ]
    made.append(
        one(
            "bottom-depth-20",
            (5,),
            _cnn(s, 20, bias=True),
            recipe=slow,
            seeds=s.fresh,
            measurements=("curve", "layer-error"),
        )
    )
    made += [
        one(
            f"unclipped-fcn-{scheme}",
            (19,),
            # Eleven hidden layers.
            _fcn(s, 12),
            recipe=replace(plainly, clip=None, limit=4000, retries=0),
            schemes=(scheme,),
            seeds=five,
            measurements=("curve", "change"),
        )
        for scheme in ("framework", "default-sqrt")
    ]
    return made
