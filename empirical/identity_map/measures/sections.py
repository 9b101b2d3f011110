"""The sections of a record, by name of a measurement.

What belongs to networks is a tensor, replicates in front; the rest is as JSON has it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from empirical.data import Dataset, load
from empirical.identity_map.images import place, resize, standardised
from empirical.identity_map.measures.edges import edge_share, sobel
from empirical.identity_map.measures.layers import layer_errors, picture, signal_sizes
from empirical.identity_map.measures.similarity import Closeness, shares
from empirical.identity_map.measures.subjects import Subject
from empirical.identity_map.measures.weights import cover, relative_change
from empirical.networks import Convolutional, Params, Residual
from empirical.randomness import torch_generator
from empirical.testbed.writing import rounded


def _means(maps: Sequence[Closeness], *axes: int) -> dict[str, Any]:
    found = [each.mean(*axes) for each in maps]
    return {key: torch.stack([m[key] for m in found], dim=1) for key in found[0]}


def _curve(subject: Subject) -> dict[str, Any]:
    s = subject.settings
    return {**_means(subject.maps, 1, 2), "outputs": len(s.rhos) * s.count}


def _heatmap(subject: Subject) -> dict[str, Any]:
    return {"rhos": list(subject.settings.rhos), **_means(subject.maps, 2)}


KINDS = ("orthogonal", "gaussian", "uniform", "digits")
"""Test images of "probes": of the first law at correlation 0 alone, of two laws at all
correlations, and digits as they are."""


def _probes(subject: Subject) -> dict[str, Any]:
    s, image = subject.settings, subject.training[0]
    digits, images = _test_digits(subject)

    def means(params: Params) -> tuple[Tensor, Tensor]:
        """Correlations to identity and constant, (replicates, kinds)."""
        drawn = partial(subject.heat_map, 0, params=params)
        seen = subject.closeness(subject.apply(images, params), images, image)
        found = [
            drawn((0.0,), "gaussian").mean(1, 2),
            drawn(s.rhos, "gaussian").mean(1, 2),
            drawn(s.rhos, "uniform").mean(1, 2),
            seen.mean(1),
        ]
        each = [torch.stack([f[k] for f in found], 1) for k in ("identity", "constant")]
        return each[0], each[1]

    identity, constant = means(subject.final)
    return {
        "kinds": list(KINDS),
        "digits": digits.describe(),
        "identity": identity,
        "constant": constant,
        "untrained_constant": means(subject.initial)[1],
    }


def _layer_error(subject: Subject) -> dict[str, Any]:
    train, test = (load("mnist", part, cached=False) for part in ("train", "test"))
    if subject.settings.examples is not None:
        few, tests = subject.settings.examples
        train, test = train.head(few), test.head(tests)
    pairs = [_examples(subject, part) for part in (train, test)]
    found = {
        key: layer_errors(
            partial(subject.network.layer_outputs, params),
            training=pairs[0],
            tests=pairs[1],
            chunk=subject.chunk(pairs[0][0]),
        )
        for key, params in subject.both.items()
    }
    return {**found, "training": train.describe(), "tests": test.describe()}


def _examples(subject: Subject, data: Dataset) -> tuple[Tensor, Tensor]:
    channels, height, width = subject.network.input_shape
    levels = standardised(data.images, data=data.name)
    images = resize(levels, (height, width))
    if images.shape[1] != channels:
        images = images.repeat(1, channels, 1, 1)
    labels = torch.from_numpy(data.labels.astype("int64"))
    return subject.like(images), labels.to(subject.training.device)


def _pictures(subject: Subject) -> dict[str, Any]:
    names, images = subject.shown
    found: dict[str, Any] = {"images": list(names)}
    for key, params in subject.both.items():
        outputs = subject.network.layer_outputs(params, images)
        seen = [
            _picture(h[replicate, row], image)
            for replicate in range(len(params[0]))
            for row, image in enumerate(images)
            for h in outputs
        ]
        # Numbers are kept of all, pictures of the first few.
        first = seen[: subject.few * len(images) * len(outputs)]
        shape = (-1, len(images), len(outputs))
        for name in _NUMBERS:
            table = torch.stack([one[name] for one in seen])
            found[f"{key}/{name}"] = table.unflatten(0, shape)
        if not all(one["share"].isnan() for one in first):
            for kind in subject.settings.kinds:
                table = torch.stack([one[kind] for one in first])
                found[f"{key}/{kind}"] = _significant(table.unflatten(0, shape), 3)
    return found


_NUMBERS = ("share", "channel", "cosine")
"""Of a `Picture`; the others are pictures."""


def _picture(representation: Tensor, image: Tensor) -> dict[str, Tensor]:
    """Return what a `Picture` holds, float64, NaN where there is nothing to see."""
    if representation.ndim < 3 and representation.numel() == image.numel():
        representation = representation.view_as(image)
    seen = picture(representation, image) if representation.ndim == 3 else None
    if seen is not None:
        held = vars(seen).items()
        return {n: torch.as_tensor(v, dtype=torch.float64) for n, v in held}
    nothing = image.new_full(image.shape[1:], torch.nan, dtype=torch.float64)
    number = torch.tensor(torch.nan, dtype=torch.float64)
    names = (*_NUMBERS, "singular", "correlated", "first")
    return {name: number if name in _NUMBERS else nothing for name in names}


def _upper(subject: Subject) -> dict[str, Any]:
    network, constant = subject.network, subject.training[0]
    images_only = isinstance(network, Convolutional)
    size = math.prod(network.input_shape)
    if not images_only and any(u != size for u in network.units):
        return {"reason": f"an image of {size} does not fit {network.units[1]}"}
    step = 2 if isinstance(network, Residual) else 1
    counts = [
        k for k in subject.settings.upper if k <= network.layers and k % step == 0
    ]
    names, images = subject.shown
    each: list[Tensor] = []
    for count in counts:
        units = network.units[network.layers - count]
        grey = images.mean(dim=1, keepdim=True)
        h = grey.expand(-1, units, -1, -1) if images_only else images.flatten(1)
        each.append(network.upper(subject.final, h, count))
    if not each:
        return {"reason": f"none of {subject.settings.upper} layers can be fed"}
    outputs = torch.stack(each, dim=1)
    found = subject.closeness(outputs, images, constant)
    return {
        "counts": counts,
        "images": list(names),
        "identity": found.identity,
        "constant": found.constant,
        "outputs": _shown(subject, outputs),
    }


def _change(subject: Subject) -> dict[str, Any]:
    before, after = (
        # Biases may start at zero, and are no layer of their own.
        tuple(own["weight"] for own in subject.network.grouped(params))
        for params in (subject.initial, subject.final)
    )
    return {"relative": relative_change(before, after)}


def _signal(subject: Subject) -> dict[str, Any]:
    images = subject.training[: subject.chunk(subject.training)]
    return {
        key: signal_sizes(partial(subject.network.layer_outputs, params), images)
        for key, params in subject.both.items()
    }


def _sizes(subject: Subject) -> dict[str, Any]:
    if not isinstance(subject.network, Convolutional):
        return {"reason": "a fully connected network takes images of one size"}
    images = torch.cat([subject.training[:1], subject.like(subject.tests.pixels)])
    rules: dict[str, Callable[[Tensor, int], Tensor]] = {
        "resized": resize,
        "placed": partial(place, fill=subject.tests.black),
    }
    return {
        "sizes": list(subject.settings.sizes),
        "images": [subject.names[0], *subject.tests.names],
        "shown": list(subject.shown[0]),
        **{
            f"{key}/{name}": values
            for key, rule in rules.items()
            for name, values in _sized(subject, images, rule).items()
        },
    }


def _sized(
    subject: Subject, images: Tensor, rule: Callable[[Tensor, int], Tensor]
) -> dict[str, Tensor]:
    s = subject.settings
    rows = [0, *(1 + subject.tests.names.index(name) for name in s.shown)]
    columns: list[Closeness] = []
    shown: dict[str, Tensor] = {}
    for edge in s.sizes:
        inputs = rule(images, edge)
        found = subject.apply(inputs)
        columns.append(subject.closeness(found, inputs, inputs[0]))
        if edge <= s.largest:
            shown[f"outputs/{edge}"] = _shown(subject, found[:, rows])
            shown[f"layers/{edge}"] = _through(subject, inputs[rows[-1:]])
    fields = ("identity", "constant", "zero", "nonfinite")
    return shown | {
        field: torch.stack([getattr(c, field) for c in columns], dim=1)
        for field in fields
    }


_STOPS = 8
"""Layers at most whose pictures "sizes" keeps."""


def _through(subject: Subject, image: Tensor) -> Tensor:
    """Return pictures of one image in layers of the first network, evenly spaced.

    Shape (1, layers, H, W), or (0, layers, H, W) where pictures of none are kept.
    """
    first = tuple(w[:1] for w in subject.final)
    each = subject.network.layer_outputs(first, image)
    chosen = sorted({round(k * len(each) / _STOPS) for k in range(1, _STOPS + 1)} - {0})
    seen = [picture(each[k - 1][0, 0], image[0]) for k in chosen]
    dead = image.new_zeros(image.shape[2:], dtype=torch.float64)
    pictures = torch.stack([dead if p is None else p.singular for p in seen])
    return _significant(pictures, 3)[None][: subject.few]


def _predictions(subject: Subject) -> dict[str, Any]:
    tests = subject.like(subject.tests.pixels)
    inputs = torch.cat([subject.training, tests])
    outputs = subject.apply(inputs)
    compared = [subject.closeness(outputs, inputs, x) for x in subject.training]
    shown = _shown(subject, outputs)
    found: dict[str, Any] = {
        "images": [{"name": name} for name in subject.names] + subject.tests.describe(),
        "inputs": _pixels(inputs).expand(shown.shape),
        "outputs": shown,
        "identity": compared[0].identity,
        "constant": torch.stack([c.constant for c in compared], dim=1),
    }
    try:
        coefficients, explained = shares(outputs, subject.training)
    except ValueError as error:
        return {**found, "reason": str(error)}
    return {**found, "coefficients": coefficients, "explained": explained}


SAMPLED = ("digits", "gaussian")
"""Test images of "points": digits as they are, probes of Gaussian pixels."""


def _points(subject: Subject) -> dict[str, Any]:
    s = subject.settings
    images = (_test_digits(subject)[1], subject.drawn("gaussian"))
    outputs = [subject.apply(tests).flatten(1) for tests in images]
    count = min(s.points, *(each.shape[1] for each in outputs))
    found: list[Tensor] = []
    for kind, each in zip(SAMPLED, outputs, strict=True):
        generator = torch_generator(subject.seed, "points", kind)
        order = torch.randperm(each.shape[1], generator=generator)[:count]
        found.append(each[:, order.to(each.device)])
    outputs = _significant(torch.stack(found, dim=1), 4)
    return {"kinds": list(SAMPLED), "outputs": outputs}


def _edges(subject: Subject) -> dict[str, Any]:
    images, constant = _test_digits(subject)[1], subject.training[0]
    edges, outputs = sobel(images), subject.apply(images)

    def share(seen: Tensor, pictures: Tensor) -> Tensor:
        return edge_share(seen, images, constant, pictures).nanmean(dim=1)

    return {
        "own": share(outputs, edges),
        # Control: edges of another digit.
        "other": share(outputs, edges.roll(1, dims=0)),
        "untrained": share(subject.apply(images, subject.initial), edges),
        "detector": float(share(edges[None], edges)),
    }


def _test_digits(subject: Subject) -> tuple[Dataset, Tensor]:
    digits = load("mnist", "test", cached=False).head(subject.settings.digits)
    return digits, _examples(subject, digits)[0]


def _cover(subject: Subject) -> dict[str, Any]:
    _, height, width = subject.network.input_shape
    return {
        "corner": cover(subject.network, (0, 0)).tolist(),
        "centre": cover(subject.network, (height // 2, width // 2)).tolist(),
    }


MEASUREMENTS: Mapping[str, Callable[[Subject], dict[str, Any]]] = {
    "curve": _curve,
    "heatmap": _heatmap,
    "layer-error": _layer_error,
    "pictures": _pictures,
    "upper": _upper,
    "change": _change,
    "signal": _signal,
    "sizes": _sizes,
    "predictions": _predictions,
    "cover": _cover,
    "probes": _probes,
    "points": _points,
    "edges": _edges,
}
"""What `measure` knows, by name."""


def _shown(subject: Subject, outputs: Tensor) -> Tensor:
    """Return pixels of the first replicates' outputs."""
    return _pixels(outputs[: subject.few])


def _pixels(images: Tensor) -> Tensor:
    """Return images (..., C, H, W) as rows of pixels (..., C * H, W), to 0.001.

    That is an eighth of a grey level of data of eight bits.
    """
    return images.cpu().double().round(decimals=3).flatten(-3, -2)


def _significant(values: Tensor, digits: int) -> Tensor:
    return torch.from_numpy(rounded(values.cpu().double().numpy(), digits))
