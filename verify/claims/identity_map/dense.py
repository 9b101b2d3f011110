"""Fully connected networks of every depth, trained on one image (section 3.1, appendix E).

What is tried, by how much at least and on how many networks stands in
``docs/trained/identity-map.md``.
"""

import math
from functools import partial

import numpy as np

from verify.claim import Case, grid
from verify.claims._predictors import stated
from verify.claims.identity_map._runs import (
    NETWORKS,
    Array,
    compared,
    contrast,
    curve,
    deepest,
    effect,
    named,
    names,
    orthogonal,
)
from verify.claims.identity_map._sources import as_read

RELU = r"fcn-relu-depth-(\d+)-width-\d+"
LINEAR = r"fcn-linear-depth-(\d+)-width-\d+"
PATTERNS = {"relu": RELU, "linear": LINEAR}


def _deepest(activation: str, scale: str) -> str:
    return deepest(PATTERNS[activation], scale)


def _shallowest(activation: str, scale: str) -> str:
    return names(PATTERNS[activation], scale)[1]


def _of_four(activation: str, scale: str) -> str:
    return names(PATTERNS[activation], scale)[4]


# --- constant with depth ----------------------------------------------------------------

CONSTANT = contrast(
    "id/Fig2",
    orthogonal("constant"),
    partial(_deepest, "relu"),
    partial(_shallowest, "relu"),
    items=("Fig2", "Fig13", "Fig14"),
    title="Deep fully connected ReLU networks map unseen images to the training image",
    statement=(
        r"\cos(f(x),\hat x)\text{ at }x\perp\hat"
        r" x:\ \text{deepest}-\text{one layer}\ge 0.3"
    ),
    source=as_read("Section 3.1 and appendix E.3, Figures 2 and 13"),
    **stated(0.3),
    version=2,
    figure="identity_figure_2",
)

LINEAR_DEPTH = contrast(
    "id/Fig11",
    curve("constant"),
    partial(_deepest, "linear"),
    partial(_shallowest, "linear"),
    items=("Fig11", "Fig34"),
    title="Depth moves linear networks towards the constant map too",
    statement=(
        r"\overline{\cos}(f(x),\hat x),\text{"
        r" linear}:\ \text{deepest}-\text{one layer}\ge 0.1"
    ),
    source=as_read("Section 3.1 and appendix E.1, Figure 11"),
    **stated(0.1),
    version=2,
)


def _widths(scale: str) -> tuple[str, str]:
    """Networks of four layers, of the other and of the first width."""
    found = [n for n in NETWORKS.names(scale) if n.startswith("fcn-linear-depth-4-")]
    return found[1], found[0]


WIDTH = effect(
    id="id/Fig11-width",
    items=("Fig11", "Width"),
    title="Width does not move linear networks towards the constant map, as depth does",
    statement=(
        r"|\overline{\cos}(f(x),\hat x):\ \text{twice the width}"
        r"-\text{the width}|\le 0.1,\ 4\text{ layers}"
    ),
    source=as_read("Appendix E.1"),
    **compared(curve("constant"), _widths),
    **stated(-0.1, 0.1, wrong=(0.1, None)),
    version=2,
    uses=("id/Fig11",),
    withstands={"frozen": "width makes no difference to random layers either"},
)

EXAMPLE = contrast(
    "id/Fig11-example",
    curve("constant"),
    named("fcn-linear-depth-4-width-784"),
    named("fcn-linear-depth-2-width-2048"),
    items=("Fig11", "Width"),
    title="Three linear hidden layers of 784 are less like one layer than one of 2,048",
    statement=r"\overline{\cos}(f(x),\hat x),\text{ linear}:\ 784,784,784-2048\ge 0.1",
    source=as_read("Appendix E.1"),
    cases=(),
    larger_cases={"full": grid(scale="full")},
    **stated(0.1),
    uses=("id/Fig11", "id/tab1"),
    finding="Entered after its networks were seen, which were trained for id/Fig11-width.",
)

SOONER = contrast(
    "id/Fig14-sooner",
    curve("constant"),
    partial(_of_four, "relu"),
    partial(_of_four, "linear"),
    title="Four ReLU layers are nearer the constant map than four linear ones",
    statement=(
        r"\overline{\cos}(f(x),\hat x),\ 4\text{ layers}:\ \text{ReLU}-\text{linear}\ge 0.1"
    ),
    source=as_read("Appendix E.3, Figure 14"),
    **stated(0.1),
    version=3,
)


def _ends(scale: str, activation: str) -> tuple[str, str]:
    return _shallowest(activation, scale), _deepest(activation, scale)


def _each(scale: str) -> tuple[Case, ...]:
    return grid(scale=scale, activation=tuple(PATTERNS))


MSE = effect(
    id="id/Fig33-mse",
    items=("Fig33", "Fig34", "FCNMSE"),
    title="Depth brings FCNs closer to the constant map in mean squared error too",
    statement=r"\overline{\mathrm{MSE}}(f(x),\hat x):\ 1\text{ layer}-\text{deep}\ge 0.1",
    source=as_read("Appendix J, Figures 33 and 34"),
    cases=_each("small"),
    larger_cases={"full": _each("full"), "gpu": _each("paper")},
    **compared(curve("constant_mse"), _ends),
    **stated(0.1),
    version=2,
    figure="identity_figure_33",
)

# --- never the identity -----------------------------------------------------------------


def _of_depth(scale: str, activation: str, layers: int) -> tuple[str, ...]:
    return (names(PATTERNS[activation], scale)[layers],)


def _every_depth(scale: str, *depths: int) -> tuple[Case, ...]:
    return grid(scale=scale, activation=tuple(PATTERNS), layers=depths)


NEVER = effect(
    id="id/Fig14",
    items=("Fig14", "Fig2", "Fig13", "Fig33", "Fig34"),
    title="FCNs of the depths tried do not copy images orthogonal to the training image",
    statement=r"|\cos(f(x),x)| \le 0.2 \text{ at } x\perp\hat x,\ \text{depths tried}",
    source=as_read("Section 3.1 and appendix E.3, Figures 2, 13 and 14"),
    cases=_every_depth("small", 1, 2, 4, 11),
    larger_cases={
        "full": _every_depth("full", 1, 2, 4, 7, 11),
        "gpu": _every_depth("paper", 1, 2, 4, 6, 8, 10, 12),
    },
    paired=True,
    **compared(orthogonal("identity"), _of_depth),
    **stated(-0.2, 0.2, wrong=(0.5, None)),
    version=2,
    figure="identity_figure_14",
)

# --- two layers -------------------------------------------------------------------------


def _two_layers(scale: str) -> tuple[Case, ...]:
    widths = names(r"two-layer-all-width-(\d+)", scale)
    return grid(scale=scale, width=tuple(widths))


def _both_or_bottom(_scale: str, width: int) -> tuple[str, str]:
    return f"two-layer-all-width-{width}", f"two-layer-bottom-width-{width}"


BOTTOM_ONLY = effect(
    id="id/Fig12",
    title=(
        "Training both of two layers tends to the constant map, training the bottom one"
        " less so"
    ),
    statement=(
        r"\cos(f(x),\hat x)\text{ at }x\perp\hat x:\ \text{both layers}-"
        r"\text{bottom alone}\ge 0.1"
    ),
    source=as_read("Appendix E.2, Figure 12"),
    cases=_two_layers("small"),
    larger_cases={"full": _two_layers("full"), "gpu": _two_layers("paper")},
    **compared(orthogonal("constant"), _both_or_bottom),
    **stated(0.1),
    version=3,
    uses=("id/twolayer-law",),
)

# --- residual networks ------------------------------------------------------------------


NEAR_THE_START = {
    "short": "26 updates fit the image: such networks begin near the identity",
    "frozen": "so does one layer that learns: they begin near the identity",
}
"""Faults that change nothing of residual networks, and why."""


def _noise(name: str, scale: str) -> Array:
    """Logarithm of what the output's cosine with the input lacks of one."""
    return np.log(1.0 - curve("identity")(name, scale))


RESIDUAL = contrast(
    "id/Fig41",
    _noise,
    named("residual-depth-8"),
    named("residual-depth-2"),
    unit="e-folds",
    title="Residual networks are near the identity, and noisier with depth",
    statement=(
        r"\log(1-\overline{\cos}(f(x),x)):\ 8\text{ layers}-2\text{ layers}\ge \log 1.5"
    ),
    source=as_read("Appendix N, Figure 41"),
    **stated(math.log(1.5)),
    version=3,
    withstands=NEAR_THE_START,
    figure="identity_figure_41",
)


def _residual(_scale: str, layers: int) -> tuple[str, ...]:
    return (f"residual-depth-{layers}",)


NEAR_IDENTITY = effect(
    id="id/Fig41-identity",
    title="Residual connections bias fully connected networks towards the identity",
    statement=r"\overline{\cos}(f(x),x) \ge 0.75;\ \text{a constant has } 0.5",
    source=as_read("Appendix N, Figure 41"),
    cases=grid(scale="small", layers=(2, 4, 8)),
    larger_cases={
        "full": grid(scale="full", layers=(2, 4, 8, 12)),
        "gpu": grid(scale="paper", layers=(2, 4, 8, 12, 20)),
    },
    paired=True,
    **compared(curve("identity"), _residual),
    # As a constant has.
    **stated(0.75, wrong=(None, 0.5)),
    version=2,
    withstands=NEAR_THE_START,
)
