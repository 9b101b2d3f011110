"""Which networks are trained at the paper's scale, by the numbers that it prints."""

from dataclasses import replace
from typing import Any

from empirical.identity_map.configuration import FAULTS, faulty
from empirical.identity_map.experiments import configurations
from empirical.identity_map.study import STUDY
from empirical.testbed.study import Scale
from verify.claim import grid, numeric
from verify.claims._predictors import changed, mistake
from verify.claims._published import published
from verify.claims.identity_map._sources import ours
from verify.compare import Identical

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


_DEEP = [1, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 24]
# "biased": the same convolutional networks with biases.
_TABLE = {"fcn-relu": [1, 2, 4, 6, 8, 10], "cnn": _DEEP, "biased": _DEEP}
"""Numbers of layers in Table 1."""
_RATES: dict[str, Any] = {
    "adagrad": 1e-3,
    "rmsprop": 1e-4,
    "adam": 1e-4,
    "adamax": 1e-3,
    "sgd": [1e-2, 1e-3, 1e-4],
}
_SCHEMES = ["default", "default-sqrt", "framework"]
_FURTHER = [
    f"{of}-{law}" for of in ("kaiming", "xavier") for law in ("normal", "uniform")
]
_GREY, _COLOURED = [1, 28, 28], [3, 32, 32]

_PRINTED: dict[str, tuple[Any, Any]] = {
    "rates": (_RATES, _RATES | {"adam": 1e-3}),
    "schemes": (sorted([*_SCHEMES, *_FURTHER, "orthogonal"]), _FURTHER),
    "printed schemes": (_SCHEMES, _FURTHER),
    "digits": (10, 9),
    "images": ([2, 3], [2]),
    "bottom": ("bottom", "all"),
    # Not at every scale is every depth trained in every way: what names say.
    "kernels": (True, False),
    "sizes": (True, False),
    "channels": (True, False),
    "figures": (list(range(1, 44)), list(range(1, 43))),
    # Networks of one seed are one network.
    "seeds that come twice": (0, 1),
    "depths outside Table 1": (list[int](), [20]),
}
"""What is said of every scale, and a mistake in it."""
_AT_FULL_SIZE: dict[str, tuple[Any, Any]] = {
    **{f"{of} depths": (n, [hidden - 1 for hidden in n]) for of, n in _TABLE.items()},
    # Of the images, and the units or channels of hidden layers.
    "shape 2": ([*_GREY, 2048], [*_GREY, 1024]),
    "shape 3": ([*_GREY, 128], [*_GREY, 64]),
    # Not three times the width of networks of grey images.
    **dict.fromkeys(
        ("shape 42", "shape 43"),
        ([*_COLOURED, 128, 3072], [*_COLOURED, 128, 6144]),
    ),
}
"""And of the paper's."""


def _said(*, what: str, scale: Scale, place: int = 0) -> Any:
    del scale
    return (_PRINTED | _AT_FULL_SIZE)[what][place]


def _of(scale: Scale, start: str) -> list[Any]:
    return [c for c in configurations(scale) if c.name.startswith(f"{start}-")]


def _as_named(scale: Scale, start: str) -> Any:
    """Return the networks of names that tell a number, by it."""
    return {c.name.split("-")[1]: c.network for c in _of(scale, start)}.items()


def _listed(scale: Scale, network: str) -> list[int]:
    """Return the layers in the table of which there is a network."""
    names = {c.name.partition("-width-")[0] for c in configurations(scale)}
    return [n for n in _TABLE[network] if f"{network}-depth-{n}" in names]


def _shape(scale: Scale, figure: int) -> list[int]:
    networks = [c.network for c in configurations(scale) if figure in c.figures]
    shapes: set[Any] = {network.input_shape for network in networks}
    (found,) = shapes
    return [*found, *sorted({n for network in networks for n in network.units[1:-1]})]


def _configured(*, what: str, scale: Scale) -> Any:
    if what.startswith("shape "):
        return _shape(scale, int(what.removeprefix("shape ")))
    if what.endswith(" depths"):
        return _listed(scale, what.removesuffix(" depths"))
    every = configurations(scale)
    rules = [c for c in _of(scale, "optimiser") if "depth-5" in c.name]
    kernels, sizes = _as_named(scale, "kernel"), _as_named(scale, "size")
    channels = _as_named(scale, "channels")
    (schemes,) = {c.schemes for c in _of(scale, "schemes")}
    (printed,) = {c.schemes for c in _of(scale, "printed")}
    (digits,) = {len({*c.labels}) for c in _of(scale, "digits")}
    (bottom,) = {c.recipe.trained for c in _of(scale, "two-layer-bottom")}
    depths = {c.network.layers for c in [*_of(scale, "cnn"), *_of(scale, "biased")]}
    found: dict[str, Any] = {
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
        "figures": sorted({figure for c in every for figure in c.figures}),
        "seeds that come twice": sum(len(c.seeds) - len(set(c.seeds)) for c in every),
        "depths outside Table 1": sorted(depths - set(_DEEP)),
    }
    return found[what]


VARIED = numeric(
    id="id/Fig32-varied",
    items=(
        *("Fig1", "Fig3", "Fig8", "Fig9", "Fig10", "Fig31", "Fig32", "Fig36"),
        *("Fig42", "Fig43", "Tab1"),
    ),
    uses=("id/tab1", "id/Fig31-starts", "id/Fig42-pictures"),
    title="At every scale, networks have what the paper varies, its depths and its shapes",
    statement=(
        r"\text{rates of five optimisers, eight starts, ten digits, two and three images,"
        r" 43 figures, layers of Table 1;}\quad 1 \times 28 \times 28: 2048,\ 128"
        r"\text{ channels};\quad 3 \times 32 \times 32: 3072,\ 128\text{ channels}"
    ),
    source=ours("Table 1, Appendices A to O; two of the starts are other readings"),
    cases=(
        *grid(what=tuple(_PRINTED), scale=("small", "full", "paper")),
        *grid(what=tuple(_AT_FULL_SIZE), scale="paper"),
    ),
    predict=_said,
    measure=_configured,
    compare=Identical(),
    must_refute=changed(_said, "A mistake in each.", place=1),
    version=2,
)


PUBLISHED = published(
    STUDY,
    id="id/Fig3-published",
    networks="networks that copy an image",
    items=("Fig3", "Fig2", "Fig9"),
    uses=("id/Fig32-varied",),
    ours=ours,
    cases=grid(scale=("full", "paper"), of=("settings", "images", "measures")),
)
