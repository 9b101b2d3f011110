"""Networks that copy an image are those that their protocol announced."""

from typing import Any

from empirical.identity_map.experiments import configurations
from verify.claim import grid, numeric
from verify.claims._predictors import mistake
from verify.claims.identity_map._sources import ours
from verify.compare import Identical

_SMALL: dict[str, Any] = {
    "pixels": [[1, 14, 14]],
    "channels": [16],
    "biases": [False],
    "rescaled": [True],
    "updates": [400],
    "networks of 5 and 20 layers": [5],
    "networks of others": [3],
    "fully connected": [1, 11],
    "linear, four layers": [196, 392],
    "residual": [2, 8],
    "sizes of 8 layers": [7, 28],
    "largest kernel": 11,
    "channels of 5 layers": [3, 24],
    "channels of 12 layers": [3, 24],
    "many digits": [1, 4],
    "every digit, 5 layers": [[1, 10]],
    "colour": [[5, 12], [1, 4]],
}


_FULL = {
    "cnn": [5],
    "biased": [5],
    "size": [5],
    "kernel up to 15": [5],
    "kernel of 29": [3],
    "channels up to 32": [5],
    "channels of 128": [3],
    "images": [5],
    "colour-cnn": [5],
    "schemes": [5],
    "optimiser": [5],
}
"""How many networks a kind has."""


def _announced(*, scale: str) -> dict[str, Any]:
    return {"small": _SMALL, "full": _FULL}[scale]


def _found() -> dict[str, Any]:
    every = configurations("small")

    def of(start: str) -> list[Any]:
        return [c for c in every if c.name.startswith(start)]

    curve = of("cnn-depth-")
    looked_into = [c for c in curve if c.network.layers in (5, 20)]
    linear = [c for c in of("fcn-linear-") if c.network.layers == 4]
    wide = of("channels-")

    def layers(start: str) -> list[int]:
        return sorted({c.network.layers for c in of(start)})

    def widths(depth: int) -> list[int]:
        return [c.network.units[1] for c in wide if c.network.layers == depth]

    def ends(found: list[int]) -> list[int]:
        return [min(found), max(found)]

    return {
        "pixels": [*map(list, {c.network.input_shape for c in curve})],
        "channels": sorted({n for c in curve for n in c.network.units[1:-1]}),
        "biases": sorted({c.network.bias for c in curve}),
        "rescaled": sorted({c.recipe.rescale for c in curve}),
        "updates": sorted({c.recipe.steps for c in curve}),
        "networks of 5 and 20 layers": sorted({len(c.seeds) for c in looked_into}),
        "networks of others": sorted(
            {len(c.seeds) for c in curve if c not in looked_into}
        ),
        "fully connected": ends(layers("fcn-relu-")),
        "linear, four layers": [c.network.units[1] for c in linear],
        "residual": ends(layers("residual-")),
        "sizes of 8 layers": [
            c.network.input_shape[-1] for c in of("size-") if c.network.layers == 8
        ],
        "largest kernel": max(c.network.kernel for c in of("kernel-")),
        "channels of 5 layers": widths(5),
        "channels of 12 layers": widths(12),
        "many digits": layers("many-fcn-"),
        "every digit, 5 layers": [
            [len(c.seeds), len(c.labels)] for c in of("digits-depth-5")
        ],
        "colour": [layers("colour-cnn-"), layers("colour-fcn-")],
    }


def _counted() -> dict[str, list[int]]:
    found: dict[str, set[int]] = {}
    for c in configurations("full"):
        network: Any = c.network
        kind = next((k for k in _FULL if c.name.startswith(f"{k}-")), "")
        if c.name.startswith("kernel-"):
            kind = "kernel of 29" if network.kernel == 29 else "kernel up to 15"
        if c.name.startswith("channels-"):
            wide = max(network.units[1:-1]) == 128
            kind = "channels of 128" if wide else "channels up to 32"
        if kind:
            found.setdefault(kind, set()).add(len(c.seeds))
    return {kind: sorted(found[kind]) for kind in _FULL}


def _at(*, scale: str) -> dict[str, Any]:
    return _found() if scale == "small" else _counted()


ANNOUNCED = numeric(
    id="id/Fig3-announced",
    items=("Fig3", "Fig2", "Fig8", "Fig9", "Fig10", "Fig41"),
    uses=("id/Fig32-varied",),
    title="Networks that copy an image have the sizes and numbers of their protocol",
    statement=(
        r"14 \times 14,\ 16\text{ channels},\ 400\text{ updates (small)};\quad 5,"
        r"\text{ and }3\text{ of kernels of 29 and of 128 channels (full)}"
    ),
    source=ours("The protocols of both scales, docs/trained/identity-map.md"),
    cases=grid(scale=("small", "full")),
    predict=_announced,
    measure=_at,
    compare=Identical(),
    must_refute=mistake(
        "Three networks of every kind, as at first.",
        then=lambda said: {k: [3] if v == [5] else v for k, v in said.items()},
    ),
    version=2,
)
