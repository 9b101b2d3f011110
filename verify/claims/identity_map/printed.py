"""Which networks are trained at the paper's scale, by the numbers that it prints."""

from dataclasses import replace
from typing import Any

from empirical.identity_map.configuration import FAULTS, faulty
from empirical.identity_map.experiments import configurations
from empirical.identity_map.study import STUDY
from empirical.testbed.study import Scale
from verify.claim import grid, numeric
from verify.claims._predictors import always, mistake
from verify.claims._published import published
from verify.claims.identity_map._sources import ours
from verify.compare import Identical

_TABLE: dict[str, list[int]] = {
    "fcn": [1, 2, 4, 6, 8, 10],
    "cnn": [1, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 24],
}
"""Numbers of layers in Table 1."""


def _listed(*, network: str) -> list[int]:
    return _TABLE["fcn" if network == "fcn-relu" else "cnn"]


def _trained(*, network: str) -> list[int]:
    """Return the layers in the table of which there is a network."""
    names = {c.name.partition("-width-")[0] for c in configurations("paper")}
    listed = _listed(network=network)
    return [layers for layers in listed if f"{network}-depth-{layers}" in names]


DEPTHS = numeric(
    id="id/tab1-depths",
    items=("Tab1", "Fig3"),
    uses=("id/tab1",),
    title="At the paper's scale, every depth that Table 1 lists has a configuration",
    statement=r"\text{layers of Table 1}",
    source=ours("Table 1; the configurations are ours"),
    # "biased": the same convolutional networks with biases.
    cases=grid(network=("fcn-relu", "cnn", "biased")),
    predict=_listed,
    measure=_trained,
    compare=Identical(),
    must_refute=mistake(
        "Hidden layers, one fewer.", then=lambda found: [layers - 1 for layers in found]
    ),
)


def _outside(*, scale: Scale) -> list[int]:
    """Return depths of convolutional networks that Table 1 does not list."""
    every = configurations(scale)
    depths = {c.network.layers for c in every if c.name.startswith(("cnn-", "biased-"))}
    return sorted(depths - set(_TABLE["cnn"]))


SMALLER = numeric(
    id="id/tab1-smaller",
    items=("Tab1", "Fig3"),
    uses=("id/tab1-depths",),
    title="Below the paper's scale, convolutional networks have depths that Table 1 lists",
    statement=r"\text{layers}\subset\text{layers of Table 1}",
    source=ours("Table 1; the configurations are ours"),
    cases=grid(scale=("small", "full")),
    predict=always(list[int]()),
    measure=_outside,
    compare=Identical(),
    must_refute=always([20], "The deepest counted as if it were not listed."),
)


def _printed_shape(*, figure: int) -> list[int]:
    colour = figure in (42, 43)
    wide = {2: [2048], 3: [128]}.get(figure, [128, 3072])
    return [*([3, 32, 32] if colour else [1, 28, 28]), *wide]


def _configured_shape(*, figure: int) -> list[int]:
    """Return the shape of the images, and the units or channels of hidden layers."""
    networks = [c.network for c in configurations("paper") if figure in c.figures]
    shapes: set[Any] = {network.input_shape for network in networks}
    (found,) = shapes
    return [*found, *sorted({n for network in networks for n in network.units[1:-1]})]


SHAPES = numeric(
    id="id/Fig42-shapes",
    items=("Fig42", "Fig43", "Fig3"),
    uses=("id/Fig42-pictures",),
    title=(
        "At the paper's scale, configurations take whole images and have the printed widths"
    ),
    statement=(
        r"1 \times 28 \times 28: 2048,\ 128\text{ channels};\quad "
        r"3 \times 32 \times 32: 3072,\ 128\text{ channels}"
    ),
    source=ours("Appendices A and O; the configurations are ours"),
    cases=grid(figure=(2, 3, 42, 43)),
    predict=_printed_shape,
    measure=_configured_shape,
    compare=Identical(),
    must_refute=mistake(
        "On colour images three times the width that networks of grey ones have.",
        then=lambda found: [6144 if n == 3072 else n for n in found],
    ),
    version=2,
)


def _starts(*, scale: Scale) -> list[int]:
    return [len(c.seeds) for c in configurations(scale)]


def _different(*, scale: Scale) -> list[int]:
    """Count the seeds that differ: networks of one seed are one network."""
    return [len(set(c.seeds)) for c in configurations(scale)]


STARTS = numeric(
    id="id/Fig36-starts",
    uses=("id/Fig31-starts",),
    title="At every scale, the networks of an experiment start from different weights",
    statement=r"s_i \ne s_j \text{ for } i \ne j",
    source=ours("Appendix K"),
    cases=grid(scale=("small", "full", "paper")),
    predict=_starts,
    measure=_different,
    compare=Identical(),
    must_refute=mistake(
        "One of the starts counted twice.", then=lambda found: [n + 1 for n in found]
    ),
)


def _served(*, scale: Scale) -> list[int]:
    """Return the figures that have networks."""
    return sorted({figure for c in configurations(scale) for figure in c.figures})


FIGURES = numeric(
    id="id/Fig1-served",
    items=("Fig1", "Fig8", "Fig43"),
    uses=("id/Fig42-shapes",),
    title="At every scale, every figure of the paper has networks",
    statement=r"1, \ldots, 43",
    source=ours("Figures 1 to 43; the configurations are ours"),
    cases=grid(scale=("small", "full", "paper")),
    predict=always(list(range(1, 44))),
    measure=_served,
    compare=Identical(),
    must_refute=always(list(range(1, 43)), "All figures but the last."),
)


_OF = {"all": 0.0, "bottom": 1.0, "top": 2.0}
"""Numbers of what is trained."""


def _planted(*, fault: str, scale: Scale, part: int = 15) -> list[float]:
    found: list[float] = []
    for c in configurations(scale):
        how = c.recipe
        steps, limit, drops = how.steps, how.limit or 0, len(how.schedule)
        waits = [how.release is not None, how.rescale]
        factor = {"slow": 0.01, "untrained": 1e-30}.get(fault, 1.0)
        if fault == "short":
            steps = max(1, steps // part)
            limit = max(1, limit // part) if limit else 0
        if fault == "untrained":
            steps, waits, drops = 1, [False, False], 0
        what = _OF["top" if fault == "frozen" else how.trained]
        found += [factor, steps, limit, what, drops, *map(float, waits)]
        # Of a release ten times as many updates wait, where no limit is given.
        found.append(11 * steps if waits[0] else steps)
    return found


def _trained_wrongly(*, fault: str, scale: Scale) -> list[float]:
    found: list[float] = []
    for c in configurations(scale):
        how, factor = faulty(replace(c, fault=fault))
        found += [factor, how.steps, how.limit or 0, _OF[how.trained]]
        waits = [how.release is not None, how.rescale]
        found += [len(how.schedule), *map(float, waits)]
        found.append(replace(how, limit=None).longest)
    return found


FAULTY = numeric(
    id="id/Fig2-faults",
    items=("Fig2", "Fig3", "Fig5"),
    uses=("id/Fig2-steps",),
    title="Networks with a planted fault differ from the others in that alone",
    statement=(
        r"\text{rates}/100,\ \text{updates}/15,\ \text{layers below the top frozen},"
        r"\ \text{none}"
    ),
    source=ours("Section 3; the faults are ours"),
    # And none, as it is for all but calibration.
    cases=grid(fault=("", *FAULTS), scale=("small", "paper")),
    predict=_planted,
    measure=_trained_wrongly,
    compare=Identical(),
    must_refute=mistake("A fourteenth of the updates.", part=14),
)


def _varied(*, scale: Scale) -> dict[str, Any]:
    """Return what is printed; not at every scale is every depth trained in every way."""
    normal = ["framework", "xavier-normal", "kaiming-normal"]
    uniform = ["xavier-uniform", "kaiming-uniform", "orthogonal"]
    rates = {"adagrad": 1e-3, "rmsprop": 1e-4, "adam": 1e-4, "adamax": 1e-3}
    return {
        "rates": rates | {"sgd": [1e-2, 1e-3, 1e-4]},
        "schemes": sorted(["default", "default-sqrt", *normal, *uniform]),
        "printed schemes": ["default", "default-sqrt", "framework"],
        "digits": 10,
        "images": [2, 3],
        "bottom": "bottom",
        "kernels": True,
        "sizes": True,
        "channels": True,
    }


def _of(scale: Scale, start: str) -> list[Any]:
    return [c for c in configurations(scale) if c.name.startswith(f"{start}-")]


def _as_named(scale: Scale, start: str) -> dict[str, Any]:
    """Return the networks of names that tell a number, by it."""
    return {c.name.split("-")[1]: c.network for c in _of(scale, start)}


def _varying(*, scale: Scale) -> dict[str, Any]:
    rules = [c for c in _of(scale, "optimiser") if "depth-5" in c.name]
    kernels = _as_named(scale, "kernel").items()
    sizes = _as_named(scale, "size").items()
    channels = _as_named(scale, "channels").items()
    (schemes,) = {c.schemes for c in _of(scale, "schemes")}
    (printed,) = {c.schemes for c in _of(scale, "printed")}
    (digits,) = {len({*c.labels}) for c in _of(scale, "digits")}
    (bottom,) = {c.recipe.trained for c in _of(scale, "two-layer-bottom")}
    return {
        "rates": {
            c.recipe.optimiser: list(c.rates) if c.rates else c.recipe.learning_rate
            for c in rules
        },
        "schemes": sorted(schemes),
        "printed schemes": sorted(printed),
        "digits": digits,
        "images": sorted({len(c.labels[0]) for c in _of(scale, "images")}),
        "bottom": bottom,
        "kernels": all(net.kernel == int(k) for k, net in kernels),
        "sizes": all(net.input_shape[1:] == (int(n),) * 2 for n, net in sizes),
        "channels": all({*net.units[1:-1]} == {int(n)} for n, net in channels),
    }


VARIED = numeric(
    id="id/Fig32-varied",
    items=("Fig31", "Fig32", "Fig8", "Fig9", "Fig10"),
    uses=("id/Fig1-served",),
    title="At every scale, networks differ in what the paper varies and their names say",
    statement=(
        r"\text{rates of five optimisers, eight starts, ten digits, two and three images}"
    ),
    source=ours("Appendices A to O; two of the starts are other readings"),
    cases=grid(scale=("small", "full", "paper")),
    predict=_varied,
    measure=_varying,
    compare=Identical(),
    must_refute=mistake(
        "Adam at its usual rate of 0.001.",
        then=lambda said: said | {"rates": said["rates"] | {"adam": 1e-3}},
    ),
)


PUBLISHED = published(
    STUDY,
    id="id/Fig3-published",
    networks="networks that copy an image",
    items=("Fig3", "Fig2", "Fig9"),
    uses=("id/Fig32-varied",),
    ours=ours,
    cases=grid(scale=("full", "paper"), of=("settings", "images")),
)
