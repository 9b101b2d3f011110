"""What stands in rows and columns: images put in, what comes out, layers within.

Outputs of networks keep the scale of the inputs: black and white are the least and the
largest pixel that goes in, and what is beyond is cut off there. Pictures of layers, and of
upper layers alone, have a scale each.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from verify.figures.identity_map.montage import Strip, montage, span
from verify.figures.identity_map.runs import Group, Run, mean, variant
from verify.figures.runs import Array, Missing
from verify.figures.style import Figure

SHORT = {"constant": "flat", "checkerboard": "checks"}
"""Names of columns: one image is constant, and so is a map."""

HEADERS = ("cos to\nidentity", "cos to\nconstant")
SEEN = {"singular": "singular", "correlated": "best", "first": "first"}
"""Pictures of a layer, and what they are called."""
FEW = ("0", "3", "0+1", "2+7", "constant", "rows", "checkerboard", "disc", "random")
"""Unseen images of the small grids: digits, mixtures, patterns."""


def correlations(group: Group) -> tuple[str, str]:
    """Return both mean correlations of a group's depth curve point as text."""
    each = [mean(group.curve(field)) for field in ("identity", "constant")]
    return (_two(each[0]), _two(each[1]))


def _two(value: Any) -> str:
    if not np.isfinite(value):
        return "none"
    # The zero added leaves no zero with a sign.
    return f"{round(float(value), 2) + 0.0:.2f}".replace("-", "−")


def outputs(group: Group) -> list[Array | str]:
    """Return the first network's output for each image, or that it diverged."""
    if group.diverged[0]:
        return ["diverged"] * len(group.fact("predictions/images"))
    return [group.run.image(p) for p in group.first("predictions/outputs")]


def inputs(group: Group) -> dict[str, Array]:
    """Return the images that went in by name, training images first."""
    names = [image["name"] for image in group.fact("predictions/images")]
    images = [group.run.image(p) for p in group.first("predictions/inputs")]
    return dict(zip(names, images, strict=True))


def predictions(
    rows: Sequence[tuple[str, Group]],
    *,
    only: Sequence[str] = (),
    below: Sequence[tuple[str, str]] = (),
) -> Figure:
    """Draw inputs, and below them what each group of networks makes of them.

    Parameters
    ----------
    rows : sequence of (label, Group)
        All shown the same images, possibly at different sizes.
    only : sequence of str
        Names of the unseen images to show; all by default.
    below : sequence of (label, words)
        Lines of words instead of images, below.
    """
    # The largest pictures show the inputs best.
    shown = inputs(max((group for _, group in rows), key=lambda g: g.run.size))
    chosen = [name for name in shown if not only or name in only or _trained(name)]
    strips = [Strip(label="input", cells=[shown[n] for n in chosen], apart=True)]
    for label, group in rows:
        made = dict(zip(inputs(group), outputs(group), strict=True))
        strips.append(
            Strip(
                label=label + _state(group),
                cells=[made[name] for name in chosen],
                notes=correlations(group),
            )
        )
    if below:
        strips[-1] = replace(strips[-1], apart=True)
    for label, words in below:
        strips.append(Strip(label=label, cells=[words], thin=True))
    return montage(
        strips,
        [SHORT.get(name, name) for name in chosen],
        scale=span(list(shown.values())),
        headers=HEADERS,
    )


def _trained(name: str) -> bool:
    return name.startswith("train ")


def _state(group: Group) -> str:
    return "\n(stalled)" if group.statuses[0] == "stalled" else ""


def mixtures(rows: Sequence[tuple[str, Group]], *, only: Sequence[str]) -> Figure:
    """Draw what groups trained on several images make of each, and how it is mixed.

    Below outputs stand the coefficients of the least squares mixture of the training
    images, means over draws, and the share of the output's square that it explains.
    """
    shown = inputs(rows[0][1])
    trained = [name for name in shown if _trained(name)]
    chosen = [*trained, *only]
    places = [list(shown).index(name) for name in chosen]
    strips = [Strip(label="input", cells=[shown[n] for n in chosen], apart=True)]
    for label, group in rows:
        made = outputs(group)
        cells = [made[k] for k in places]
        strips.append(Strip(label=label + _state(group), cells=cells))
        found = mean(group.numbers("predictions/coefficients"))
        lines = {
            f"× {name.removeprefix('train ')}": found[:, k]
            for k, name in enumerate(trained)
        }
        lines["explained"] = mean(group.numbers("predictions/explained"))
        for name, values in lines.items():
            words = [_two(values[k]) for k in places]
            last = name == "explained"
            strips.append(Strip(label=name, cells=words, thin=True, apart=last))
    columns = [SHORT.get(name, name) for name in chosen]
    return montage(strips, columns, scale=span(list(shown.values())))


def training_sets(rows: Sequence[tuple[str, Group]], *, only: Sequence[str]) -> Figure:
    """Draw, for groups trained on different images, these and what is made of others.

    Unseen images are written as the first strip; training images stand in the first
    column.
    """
    shown = inputs(rows[0][1])
    given: list[Array | str] = ["", *(shown[n] for n in only)]
    strips = [Strip(label="input", cells=given, apart=True)]
    everything: list[Array] = list(shown.values())
    for label, group in rows:
        images = inputs(group)
        made = dict(zip(images, outputs(group), strict=True))
        own = next(images[name] for name in images if _trained(name))
        everything.append(own)
        strips.append(
            Strip(
                label=label + _state(group),
                cells=[own, *(made[name] for name in only)],
                notes=correlations(group),
            )
        )
    return montage(
        strips,
        ["trained", *(SHORT.get(name, name) for name in only)],
        scale=span(everything),
        headers=HEADERS,
    )


def layers(
    runs: Sequence[Run],
    *,
    kinds: Sequence[str] = tuple(SEEN),
    unseen: bool = False,
    states: Sequence[str] = ("trained", "untrained"),
    by: str = "",
) -> Figure:
    """Draw a picture for each layer's representation, after and before training.

    Parameters
    ----------
    runs : sequence of Run
    kinds : sequence of {"singular", "correlated", "first"}
        Which pictures of a layer.
    unseen : bool
        Show the first unseen image too, not the training image alone.
    states : sequence of {"trained", "untrained"}
    by : {"", "width"}
        What runs are told apart by; their depth, where nothing is said.
    """
    strips: list[Strip] = []
    deepest = max(run.layers for run in runs)
    for run in runs:
        names = run.group.fact("pictures/images")[: 2 if unseen else 1]
        for row, name in enumerate(names):
            for state in states:
                for kind in kinds:
                    cells: list[Array | str] = [inputs(run.group)[name]]
                    cells += _seen(run.group, f"pictures/{state}", row, kind)
                    if run.group.diverged[0] and state == "trained":
                        cells[1:] = ["diverged"] * (len(cells) - 1)
                    cells += [""] * (deepest - run.layers)
                    label = SEEN[kind] if len(kinds) > 1 else count_of(run.layers)
                    who = f"{run.width} ch." if by == "width" else state
                    last = kind == kinds[-1] and (unseen or state == states[-1])
                    strips.append(
                        Strip(label=f"{who}, {label}", cells=cells, apart=last)
                    )
    columns = ["in", *map(str, range(1, deepest + 1))]
    return montage(strips, columns, scale=None)


def count_of(layers: int) -> str:
    """Return a number of layers in words."""
    return "1 layer" if layers == 1 else f"{layers} layers"


def _seen(group: Group, name: str, row: int, kind: str) -> list[Array | str]:
    """Return a picture of each layer, or that there is nothing to see."""
    there = np.isfinite(group.first(f"{name}/share")[row])
    if not there.any():
        return ["zero"] * len(there)
    found = group.first(f"{name}/{kind}")[row]
    pairs = zip(found, there, strict=True)
    return [image if seen else "zero" for image, seen in pairs]


RULES = {"resized": "resized", "placed": "on black"}
"""How images come to other sizes, and what that is called."""


def sizes(run: Run, rules: Sequence[str] = tuple(RULES)) -> Figure:
    """Draw what one network makes of images at several sizes, resized and on black."""
    group = run.group
    edges, known = group.fact("sizes/sizes"), inputs(group)
    strips: list[Strip] = []
    columns: list[str] = []
    for rule in rules:
        words = RULES[rule]
        kept = f"sizes/{rule}/outputs"
        found = group.draws[0].arrays
        shown = [k for k, edge in enumerate(edges) if f"{kept}/{edge}" in found]
        images = [group.first(f"{kept}/{edges[k]}") for k in shown]
        columns = [f"in, {run.size}", *(f"{edges[k]} × {edges[k]}" for k in shown)]
        agreement = group.numbers(f"sizes/{rule}/identity")
        for row, name in enumerate(group.fact("sizes/shown")):
            bad = bool(group.diverged[0])
            cells: list[Array | str] = [known[name]]
            cells += ["diverged" if bad else run.image(each[row]) for each in images]
            strips.append(Strip(label=f"{_named(name)}, {words}", cells=cells))
            place = group.fact("sizes/images").index(name)
            numbers = [_two(mean(agreement[:, k, place])) for k in shown]
            strips.append(
                Strip(label="cos to input", cells=["", *numbers], thin=True, apart=True)
            )
    return montage(strips, columns, scale=span(list(known.values())))


def through(run: Run) -> Figure:
    """Draw layers of one network for an unseen image at several sizes."""
    group, kept = run.group, "sizes/resized/layers"
    known, name = inputs(group), group.fact("sizes/shown")[-1]
    shown = [
        e for e in group.fact("sizes/sizes") if f"{kept}/{e}" in group.draws[0].arrays
    ]
    if not shown:
        raise Missing(f"the record {run.name} has no layers at other sizes")
    strips: list[Strip] = []
    for edge in shown:
        cells: list[Array | str] = [known[name], *group.first(f"{kept}/{edge}")]
        if group.diverged[0]:
            cells[1:] = ["diverged"] * (len(cells) - 1)
        strips.append(Strip(label=f"{edge} × {edge}", cells=cells))
    count = len(strips[0].cells) - 1
    numbers = sorted({round(k * run.layers / count) for k in range(1, count + 1)})
    return montage(strips, ["in", *map(str, numbers)], scale=None)


def upper_by_depth(runs: Sequence[Run], count: int) -> Figure:
    """Draw what the last layers alone make of an image, a row for each depth."""
    strips: list[Strip] = []
    names: list[str] = []
    for run in runs:
        group = run.group
        counts = group.fact("upper/counts")
        if count not in counts:
            continue
        place, known = counts.index(count), inputs(group)
        names = group.fact("upper/images")
        made = group.first("upper/outputs")[place]
        agreement = mean(group.numbers("upper/constant"))[place]
        cells: list[Array | str] = []
        for row, name in enumerate(names):
            out = "diverged" if group.diverged[0] else run.image(made[row])
            cells += [known[name], out]
        notes = tuple(_two(v) for v in agreement)
        strips.append(Strip(label=count_of(run.layers), cells=cells, notes=notes))
    if not strips:
        raise Missing(f"no record has its last {count} layers alone")
    columns = [word for name in names for word in (_named(name), "out")]
    headers = tuple(f"cos,\n{_named(name)}" for name in names)
    return montage(strips, columns, scale=None, headers=headers)


def _named(name: str) -> str:
    return name.replace("train ", "trained ") if _trained(name) else f"unseen {name}"


def upper(run: Run) -> Figure:
    """Draw what the last layers of a network make of an image put in before them."""
    group = run.group
    known, counts = inputs(group), group.fact("upper/counts")
    agreement, made = group.numbers("upper/constant"), group.first("upper/outputs")
    strips: list[Strip] = []
    for row, name in enumerate(group.fact("upper/images")):
        bad = bool(group.diverged[0])
        cells: list[Array | str] = [known[name]]
        cells += ["diverged" if bad else run.image(each) for each in made[:, row]]
        label = f"{_named(name)},\n{count_of(run.layers)}"
        strips.append(Strip(label=label, cells=cells))
        numbers = [_two(v) for v in mean(agreement[:, :, row])]
        label = "cos to trained"
        strips.append(Strip(label=label, cells=["", *numbers], thin=True, apart=True))
    columns = [f"last {k}" for k in counts]
    return montage(strips, ["put in", *columns], scale=None)


def variants(runs: Sequence[Run], name: str = "") -> list[tuple[str, Group]]:
    """Return every group of runs with its label, for the rows of a grid."""
    return [
        (f"{count_of(run.layers)}, {variant(group) or name}".removesuffix(", "), group)
        for run in runs
        for group in run.groups
    ]
