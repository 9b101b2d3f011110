"""How networks are trained at the paper's scale, by what its text says."""

from typing import Any

from empirical.normrelu.experiments import Configuration, Scale, configurations
from empirical.normrelu.study import STUDY
from verify.claim import grid, numeric
from verify.claims._predictors import always, mistake
from verify.claims._published import published
from verify.claims.deep_conditioning._sources import as_read, ours
from verify.compare import Identical


def _networks(network: str, scale: Scale) -> list[Configuration]:
    return [c for c in configurations(scale) if c.network == network]


def _said(*, network: str) -> dict[str, Any]:
    """Tell of whole CIFAR-10, 50,000 and 10,000 images of ten classes."""
    depths = {"deepest": 110} if network == "residual" else {"depths": 2}
    return {"data": [["cifar10", None, 5000, 1000]], "epochs": [300], **depths}


def _configured(*, network: str) -> dict[str, Any]:
    found = _networks(network, "paper")
    layers = {c.depth for c in found}
    deepest = {"deepest": max(layers)}
    depths = deepest if network == "residual" else {"depths": len(layers)}
    data = {(c.data, c.side, c.per_class, c.tests) for c in found}
    return {
        "data": [*map(list, data)],
        "epochs": [*{c.epochs for c in found}],
        **depths,
    }


SETTINGS = numeric(
    id="dc/sec11-settings",
    items=("Sec11",),
    uses=("dc/sec7-steps",),
    title="At the paper's scale, networks see all of CIFAR-10 as often as the text says",
    statement=(
        r"\text{300 epochs; two depths of dense networks; 110 layers of residual ones}"
    ),
    source=as_read("Section 7 and Appendix I.3"),
    cases=grid(network=("dense", "residual")),
    predict=_said,
    measure=_configured,
    compare=Identical(),
    must_refute=mistake(
        "Two hundred epochs.", then=lambda said: said | {"epochs": [200]}
    ),
)


def _held_out(*, network: str, scale: Scale) -> list[float]:
    """Return the shares of training examples by which rates are chosen."""
    return sorted({c.held_out / c.per_class for c in _networks(network, scale)})


HELD_OUT = numeric(
    id="dc/sec11-held",
    items=("Sec11",),
    uses=("dc/sec11-settings",),
    title="At every scale, a fifth of the training examples chooses the learning rates",
    statement=r"n_{held}/n = 1/5",
    source=ours("Section 7, on cross-validation; its folds are ours"),
    cases=(
        *grid(network="dense", scale=("small", "full", "paper")),
        *grid(network="residual", scale=("full", "paper")),
    ),
    predict=always([0.2]),
    measure=_held_out,
    compare=Identical(),
    must_refute=always([0.1], "A tenth of them: ten folds."),
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
