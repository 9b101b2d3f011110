"""The small networks of images are those that their protocol announced."""

from typing import Any

from empirical.identity_map.experiments import configurations
from verify.claim import numeric
from verify.claims._predictors import always, mistake
from verify.claims.identity_map._sources import ours
from verify.compare import Identical

_announced = always(
    {
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
)


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


ANNOUNCED = numeric(
    id="id/Fig3-announced",
    items=("Fig3", "Fig2", "Fig8", "Fig41"),
    uses=("id/Fig32-varied",),
    title="Small networks that copy an image have the sizes that their protocol announced",
    statement=r"14 \times 14,\ 16\text{ channels},\ 400\text{ updates}",
    source=ours("The protocol of the small scale, docs/trained/identity-map.md"),
    cases=({},),
    predict=_announced,
    measure=_found,
    compare=Identical(),
    must_refute=mistake(
        "Three networks of every depth, as at first.",
        then=lambda said: said | {"networks of 5 and 20 layers": [3]},
    ),
)
