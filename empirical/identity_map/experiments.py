"""What is trained for every figure, at three scales.

A configuration is one network, recipe and set of measurements. Its groups (training
images, initialisations, learning rates) times its seeds train as one batch.
"""

import math
from dataclasses import replace
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
    made = (
        *_depth_curves(s),
        *_fully_connected(s),
        *_many_examples(s),
        *_shapes(s),
        *_procedures(s),
        *_other_images(s),
        *_remarks(s),
    )
    return tuple(replace(c, settings={**s.settings, **c.settings}) for c in made)


_SEEN = ("curve", "heatmap", "predictions")

_FEW = 3
"""Seeds of the networks that take longest."""


def _cnn(s: Sizes, layers: int, **changes: Any) -> Copier:
    given: dict[str, Any] = {"shape": s.shape(), "width": s.channels} | changes
    return copier("cnn", layers=layers, **given)


def _depth_curves(s: Sizes) -> list[Configuration]:
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
                Configuration(
                    name=f"{kind}-depth-{layers}",
                    figures=figures,
                    network=_cnn(s, layers, bias=bias),
                    recipe=replace(recipe, steps=slow)
                    if bias and layers > 10
                    else recipe,
                    seeds=s.starts if layers in s.detailed else s.seeds,
                    measurements=wanted,
                )
            )
    return made


def _fully_connected(s: Sizes) -> list[Configuration]:
    """Figures 2, 11 to 14, 33, 34, 41, and the fully connected part of 19."""
    made = [
        Configuration(
            name=f"fcn-{activation}-depth-{layers}-width-{width}",
            figures=(2, 13, 14, 34, 19) if activation == "relu" else (11, 14, 33),
            network=copier(
                "fcn",
                shape=s.shape(),
                layers=layers,
                width=width,
                activation=activation,
            ),
            recipe=s.recipe,
            seeds=s.starts,
            measurements=(*_SEEN, "change"),
        )
        for activation in ("relu", "linear")
        for width in (s.fcn_widths[:1] if activation == "relu" else s.fcn_widths)
        for layers in s.fcn_depths
        # One layer has no width, and the comparison of widths needs no great depth.
        if width == s.fcn_widths[0] or 1 < layers <= s.wide_depth
    ]
    made += [
        Configuration(
            name=f"two-layer-{trained}-width-{width}",
            figures=(12,),
            network=copier("fcn", shape=s.shape(), layers=2, width=width),
            recipe=replace(s.recipe, trained=trained),
            seeds=s.starts,
            measurements=_SEEN,
        )
        for trained in ("bottom", "all")
        for width in s.two_layer_widths
    ]
    made += [
        Configuration(
            name=f"residual-depth-{layers}",
            figures=(41,),
            network=copier("residual", shape=s.shape(), layers=layers),
            recipe=s.recipe,
            seeds=s.starts,
            measurements=_SEEN,
        )
        for layers in s.residual
    ]
    return made


def _many_examples(s: Sizes) -> list[Configuration]:
    """Figures 1 and 40: many examples."""
    networks = {f"cnn-{s.all_cnn}": _cnn(s, s.all_cnn)} | {
        f"fcn-{layers}": copier(
            "fcn", shape=s.shape(), layers=layers, width=s.fcn_widths[0]
        )
        for layers in s.all_fcn
    }
    return [
        Configuration(
            name=f"many-{name}",
            figures=(1, 40),
            network=network,
            recipe=s.many,
            # A signal that does not shrink: minibatches leave no plateau quickly.
            schemes=("kaiming-normal",),
            examples=s.examples,
            seeds=s.seeds[:_FEW],
            measurements=_SEEN,
        )
        for name, network in networks.items()
    ]


def _shapes(s: Sizes) -> list[Configuration]:
    """Figures 8 to 10 and 25 to 30: image size, kernel, channels."""
    networks: dict[str, tuple[tuple[int, ...], Copier]] = {}
    for layers in s.image_depths:
        for size in s.image_sizes:
            net = _cnn(s, layers, shape=(1, size, size))
            networks[f"size-{size}-depth-{layers}"] = ((8,), net)
    for layers in s.kernel_depths:
        for kernel in s.kernels:
            net = _cnn(s, layers, kernel=kernel, width=s.kernel_channels)
            networks[f"kernel-{kernel}-depth-{layers}"] = ((9, 25, 26), net)
    for layers in s.channel_depths:
        for width in s.channel_counts:
            net = _cnn(s, layers, width=width)
            figures = (10, 27, 28)
            if layers == 5:
                figures += (29, 30)
            networks[f"channels-{width}-depth-{layers}"] = (figures, net)
    return [
        Configuration(
            name=name,
            figures=figures,
            network=network,
            recipe=s.recipe,
            seeds=_seeds(network, s),
            measurements=(*_SEEN, "pictures") if 30 in figures else _SEEN,
        )
        for name, (figures, network) in networks.items()
    ]


def _seeds(network: Copier, s: Sizes) -> tuple[int, ...]:
    """Return few seeds for the largest networks, more for those that differ most."""
    kernel = network.kernel if isinstance(network, Convolutional) else 1
    if kernel > 15 or max(network.units) >= 128:
        return s.seeds[:_FEW]
    return s.starts if network.layers > 8 else s.seeds


def _procedures(s: Sizes) -> list[Configuration]:
    """Figures 31 and 32: initialisations, and optimisers with their rates."""
    made = [
        Configuration(
            name=f"printed-depth-{layers}",
            figures=(31,),
            network=_cnn(s, layers),
            # Neither clipped nor rescaled: which first weights train at all?
            recipe=s.printed,
            schemes=("default", "default-sqrt", "framework"),
            seeds=s.seeds[:1],
            measurements=("curve", "signal"),
        )
        for layers in s.detailed
    ]
    for layers in s.scheme_depths:
        made.append(
            Configuration(
                name=f"schemes-depth-{layers}",
                figures=(31,),
                network=_cnn(s, layers),
                recipe=s.recipe,
                schemes=initial.SCHEMES,
                seeds=s.varied_seeds,
                measurements=(*_SEEN, "signal", "points"),
            )
        )
        for optimiser in ("sgd", "adagrad", "rmsprop", "adam", "adamax"):
            rates = (0.01, 0.001, 0.0001) if optimiser == "sgd" else None
            made.append(
                Configuration(
                    name=f"optimiser-{optimiser}-depth-{layers}",
                    figures=(32,),
                    network=_cnn(s, layers),
                    recipe=replace(s.recipe, optimiser=optimiser, rate=None),
                    rates=rates,
                    seeds=s.varied_seeds,
                    measurements=(*_SEEN, "points"),
                )
            )
    return made


def _other_images(s: Sizes) -> list[Configuration]:
    """Figures 37 to 39, 42, 43: other digits, two and three images, colour."""
    made = [
        Configuration(
            name=f"digits-depth-{layers}",
            figures=(37,),
            network=_cnn(s, layers),
            recipe=s.recipe,
            labels=tuple((digit,) for digit in s.digits),
            seeds=s.seeds[:1],
            measurements=_SEEN,
        )
        for layers in s.digit_depths
    ]
    made += [
        Configuration(
            name=f"images-{len(labels)}-depth-{layers}",
            figures=(38,) if len(labels) == 2 else (39,),
            network=_cnn(s, layers),
            recipe=s.recipe,
            labels=(labels,),
            seeds=s.varied_seeds,
            measurements=_SEEN,
        )
        for labels in ((7, 3), (7, 3, 1))
        for layers in s.set_depths
    ]
    # Two images: of CIFAR-10 a dog and an aeroplane.
    labels = ((7, 3, 1), (4, 0, 9)) if s.colour == "channelled" else ((5,), (0,))
    networks = {
        f"colour-cnn-{layers}": _cnn(s, layers, shape=s.shape(3))
        for layers in s.colour_depths
    } | {
        f"colour-fcn-{layers}": copier(
            "fcn", shape=s.shape(3), layers=layers, width=math.prod(s.shape(3))
        )
        for layers in s.colour_fcn
    }
    made += [
        Configuration(
            name=name,
            figures=(42, 43),
            network=network,
            recipe=s.recipe,
            data=s.colour,
            labels=labels,
            seeds=s.colour_seeds if name.startswith("colour-cnn") else s.seeds[:2],
            measurements=_SEEN,
        )
        for name, network in networks.items()
    ]
    return made


_MIDDLE = (3, 7, 10, 13)
"""Layers of networks that may show edges, and of shallower ones."""


def _remarks(s: Sizes) -> list[Configuration]:
    """Networks of remarks in the text: edges, bottom layers, nothing clipped."""
    if not s.fresh:
        return []
    plainly, five = replace(s.recipe, rescale=False), s.fresh[: len(s.fresh) // 2]
    slow = replace(plainly, steps=s.slow or s.recipe.steps)
    made = [
        Configuration(
            name=f"edges-depth-{layers}",
            figures=(3,),
            network=_cnn(s, layers, bias=True),
            recipe=slow if layers > 10 else plainly,
            seeds=five,
            measurements=("curve", "edges"),
        )
        for layers in _MIDDLE
    ]
    made.append(
        Configuration(
            name="bottom-depth-20",
            figures=(5,),
            network=_cnn(s, 20, bias=True),
            recipe=slow,
            seeds=s.fresh,
            measurements=("curve", "layer-error"),
        )
    )
    made += [
        Configuration(
            name=f"unclipped-fcn-{scheme}",
            figures=(19,),
            # Eleven hidden layers.
            network=copier("fcn", shape=s.shape(), layers=12, width=s.fcn_widths[0]),
            recipe=replace(plainly, clip=None, limit=4000, retries=0),
            schemes=(scheme,),
            seeds=five,
            measurements=("curve", "change"),
        )
        for scheme in ("framework", "default-sqrt")
    ]
    return made
