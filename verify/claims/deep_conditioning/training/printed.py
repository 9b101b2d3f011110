"""How networks are trained at the paper's scale, by what its text says."""

from typing import Any

from empirical.normrelu.experiments import Configuration, Scale, configurations
from empirical.normrelu.networks import ARMS
from empirical.normrelu.study import STUDY
from verify.claim import grid, numeric
from verify.claims._predictors import mistake
from verify.claims._published import published
from verify.claims.deep_conditioning._sources import as_read, ours
from verify.compare import Identical


def _networks(network: str, scale: Scale) -> list[Configuration]:
    return [c for c in configurations(scale) if c.network == network]


def _held_out(networks: list[Configuration]) -> list[float]:
    """Return the shares of training examples by which rates are chosen."""
    return sorted({c.held_out / c.per_class for c in networks})


def _said(*, network: str) -> dict[str, Any]:
    """Tell of whole CIFAR-10, 50,000 and 10,000 images of ten classes."""
    depths = {"deepest": 110} if network == "residual" else {"depths": 2}
    data = {"data": [["cifar10", None, 5000, 1000]], "held out": [0.2]}
    return {**data, "epochs": [300], **depths}


def _configured(*, network: str) -> dict[str, Any]:
    found = _networks(network, "paper")
    layers = {c.depth for c in found}
    deepest = {"deepest": max(layers)}
    depths = deepest if network == "residual" else {"depths": len(layers)}
    data = {(c.data, c.side, c.per_class, c.tests) for c in found}
    return {
        "data": [*map(list, data)],
        "held out": _held_out(found),
        "epochs": [*{c.epochs for c in found}],
        **depths,
    }


SETTINGS = numeric(
    id="dc/sec11-settings",
    uses=("dc/sec7-steps",),
    title="At the paper's scale, networks see CIFAR-10 as the text says, a fifth held out",
    statement=(
        r"\text{300 epochs; two depths of dense networks; 110 layers of residual ones;}"
        r"\ n_{held}/n = 1/5"
    ),
    source=as_read("Section 7 and Appendix I.3"),
    cases=grid(network=("dense", "residual")),
    predict=_said,
    measure=_configured,
    compare=Identical(),
    must_refute=mistake(
        "Two hundred epochs.", then=lambda said: said | {"epochs": [200]}
    ),
    version=2,
)


PUBLISHED = published(
    STUDY,
    id="dc/sec11-published",
    networks="deep networks with NormReLU",
    items=("Sec11",),
    uses=("dc/sec11-settings",),
    ours=ours,
    cases=grid(scale="full", of=("settings", "images")),
)


_GRID = [3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1]
"""Of dense networks' rates; residual ones have those from 0.001 on."""


def _announced(*, network: str, scale: Scale) -> dict[str, Any]:
    """Tell of the protocol, which was written before the networks were trained."""
    dense = {
        "small": {
            "images": [200, 50, 14],
            "layers": [16, 32],
            "width": 128,
            "epochs": 8,
        },
        "full": {
            "images": [400, 100, None],
            "layers": [32, 64],
            "width": 256,
            "epochs": 30,
        },
    }
    residual = {
        "images": [400, 100, 16],
        "layers": [20, 32, 110],
        "width": 16,
        "epochs": 8,
    }
    alike = {"batch": 100, "trial networks": 2, "recipes": [[[], 0.0, []]]}
    alike |= {"held out": [0.2]}
    if network == "dense":
        # Variances of weights, times the fan in.
        one, two = ("normrelu", "selu"), ("batch", "layer", "relu")
        gains = dict.fromkeys(one, 1.0) | dict.fromkeys(two, 2.0)
        own = {"rates": [_GRID], "networks": 6, "gains": gains}
        return dense[scale] | own | alike
    # Of 110 layers two lower rates were put on trial as well.
    own = {"rates": [[1e-4, 3e-4, *_GRID[1:]], _GRID[1:]], "networks": 5}
    return residual | own | alike


def _as_configured(*, network: str, scale: Scale) -> dict[str, Any]:
    found = _networks(network, scale)
    each = {
        "width": {c.width for c in found},
        "epochs": {c.epochs for c in found},
        "batch": {c.batch for c in found},
        "trial networks": {len(c.chosen_by) for c in found},
        "networks": {len(c.seeds) for c in found},
    }
    (images,) = {(c.per_class, c.tests, c.side) for c in found}
    recipes = {
        (c.recipe.schedule, c.recipe.decay, c.recipe.augmentation) for c in found
    }
    gains = {c.arm: ARMS[c.arm].gain for c in found}
    return {
        "images": list(images),
        "held out": _held_out(found),
        **({"gains": gains} if network == "dense" else {}),
        **{name: value for name, (value,) in each.items()},
        "layers": sorted({c.depth for c in found}),
        "rates": sorted(map(list, {c.rates for c in found})),
        "recipes": [[list(a), b, list(c)] for a, b, c in recipes],
    }


ANNOUNCED = numeric(
    id="dc/sec11-announced",
    uses=("dc/sec11-settings",),
    title="Below the paper's scale, deep networks are trained as their protocol announced",
    statement=r"\text{images, layers, widths, epochs, rates, networks};\ n_{held}/n = 1/5",
    source=ours("Protocol of the networks with NormReLU, docs/trained/normrelu.md"),
    cases=(
        *grid(network="dense", scale=("small", "full")),
        *grid(network="residual", scale="full"),
    ),
    predict=_announced,
    measure=_as_configured,
    compare=Identical(),
    must_refute=mistake(
        "A grid of factor two.",
        then=lambda said: said | {"rates": [[1e-3 * 2**k for k in range(8)]]},
    ),
    version=2,
)
