"""Networks trained on one image: sizes, kernels, channels, other images.

What is tried, by how much at least and on how many networks stands in
``docs/trained/identity-map.md``.
"""

from functools import partial
from typing import Any

import numpy as np

from verify.claim import Claim
from verify.claims._predictors import stated, unmet
from verify.claims.identity_map._runs import (
    NETWORKS,
    Arm,
    between,
    contrast,
    curve,
    deepest,
    effect,
    fitted,
    looks,
    named,
    names,
    orthogonal,
    run,
)
from verify.claims.identity_map._sources import as_read
from verify.compare import Array
from verify.trained import NotLearnt

# --- sizes, kernels, channels -----------------------------------------------------------


def _large_image(scale: str) -> str:
    """Return the network of 28 x 28: at the paper's scale it is one of the depth curve."""
    name = "size-28-depth-8"
    return name if name in NETWORKS.names(scale) else "cnn-depth-8"


IMAGE_SIZE = contrast(
    "id/Fig8",
    orthogonal("constant"),
    named("size-7-depth-8"),
    _large_image,
    title="Trained on 7 x 7 pixels, eight layers are nearer the constant than on 28 x 28",
    statement=(
        r"\cos(f(x),\hat x)\text{ at }x\perp\hat x,\ 8\text{ layers}:\ 7\times7"
        r"-28\times28\ge 0.2"
    ),
    source=as_read("Section 3.4, Figure 8"),
    **stated(0.2),
    version=2,
    figure="identity_figure_8",
)

FIVE = named("cnn-depth-5")


KERNEL = contrast(
    "id/Fig9",
    orthogonal("constant"),
    partial(deepest, r"kernel-(\d+)-depth-5"),
    FIVE,
    items=("Fig9", "Fig25", "Fig26"),
    title="Larger kernels move five-layer CNNs towards the constant map",
    statement=(
        r"\cos(f(x),\hat x)\text{ at }x\perp\hat x:\ \text{largest"
        r" kernel}-\text{kernel }5\ge 0.2"
    ),
    source=as_read("Section 3.4 and appendix I, Figures 9, 25 and 26"),
    **stated(0.2),
    version=2,
    uses=("id/Err7-corrected",),
    figure="identity_figure_9",
)


def _wide(layers: int, scale: str) -> str:
    widest = max(names(r"channels-(\d+)-depth-5", scale))
    found = names(rf"channels-{widest}-depth-(\d+)", scale)
    return found[layers or max(found)]


WIDTH = contrast(
    "id/Fig28",
    orthogonal("constant"),
    partial(_wide, 0),
    partial(_wide, 5),
    items=("Fig10",),
    title="Depth leads to the constant map at the largest number of channels too",
    statement=(
        r"\cos(f(x),\hat x)\text{ at }x\perp\hat x,\ \text{largest width}:\ "
        r"\text{deep}-5\text{ layers}\ge 0.1"
    ),
    source=as_read("Section 3.4, Figure 10 (b)"),
    **stated(0.1),
    version=3,
    finding="Deep networks of three channels do not fit the image well enough to decide.",
    figure="identity_figure_27",
)

# --- many examples ----------------------------------------------------------------------

PATTERNS = ("rows", "columns", "checkerboard", "disc", "random")
"""Test images that are nothing like digits."""


UNSEEN = tuple("0123456789")
"""Test images of the kind that was learnt."""
LEARNT = 0.85
"""Least mean correlation with the input, of digits that were not trained on."""


def _on_patterns(name: str, scale: str) -> Array:
    """Identity, a mean over patterns, of networks that map unseen digits to themselves."""
    record = run(name, scale)
    shown = [image["name"] for image in record.fact("predictions/images")]
    found = record.draws.series("predictions/identity")
    digits, patterns = (
        found[:, [k for k, image in enumerate(shown) if image in kind]].mean(axis=1)
        for kind in (UNSEEN, PATTERNS)
    )
    if digits.mean() < LEARNT:
        raise NotLearnt(
            f"{name} ({scale}): the claim presupposes correlations of {LEARNT} on unseen"
            f" digits, but they are {digits.round(3).tolist()}"
        )
    return patterns


MANY = contrast(
    "id/Fig1",
    _on_patterns,
    partial(deepest, r"many-cnn-(\d+)"),
    partial(deepest, r"many-fcn-(\d+)"),
    items=("Fig1", "Fig40"),
    title="With many training digits, CNNs copy what is no digit better than FCNs do",
    statement=r"\overline{\cos}(f(x),x)\text{ on patterns: CNN}-\text{FCN}\ge 0.1",
    source=as_read("Section 1 and appendix L, Figures 1 and 40"),
    **stated(0.1),
    assumptions=(
        "minibatches in one order for all networks: it counts in no interval",
    ),
    version=3,
    figure="identity_figure_1",
    uses=("id/Fig38-loss", "id/Fig6-pictures"),
)

# --- other images -----------------------------------------------------------------------

# Networks of one seed start from the same weights, whatever image they learn.

DIGITS = contrast(
    "id/Fig37",
    curve("constant"),
    named("digits-depth-5"),
    named("cnn-depth-1"),
    title="From one start, five layers are nearer the constant map than one, on ten digits",
    statement=(
        r"\overline{\cos}(f(x),\hat x):\ 5\text{ layers, one for each of ten digits}"
        r"-1\text{ layer}\ge 0.1"
    ),
    source=as_read("Appendix K, Figure 37"),
    **stated(0.1),
    version=3,
    assumptions=(
        "one start for all ten digits: the interval is over digits, not over starts",
        "the single layer learns one of them, from several starts",
    ),
    finding=(
        "The first step of what the figure shows: edges and the constant of deep networks"
        " are tried with one digit alone."
    ),
)


def _by_start(name: str, scale: str) -> Array:
    """Constant on orthogonal probes, by start: a mean over the images learnt from it."""
    seeds = np.array(fitted(name, scale).key("seed"))
    values = orthogonal("constant")(name, scale)
    return np.array([values[seeds == seed].mean() for seed in np.unique(seeds)])


def _shallow_colour(kind: str, scale: str) -> str:
    found = names(rf"colour-{kind}-(\d+)", scale)
    return found[min(found)]


def _colours(kind: str) -> tuple[Arm, Arm]:
    deep = partial(deepest, rf"colour-{kind}-(\d+)")
    return deep, partial(_shallow_colour, kind)


def _colour(kind: str, **parts: Any) -> Claim:
    return effect(
        # What the figures show are two images; the claims are by kind of network.
        items=("Fig42", "Fig43"),
        statement=(
            r"\cos(f(x),\hat x)\text{ at }x\perp\hat x:\ \text{deep}-\text{shallow}\ge 0.1"
        ),
        source=as_read("Appendix O, Figures 42 and 43"),
        measure=partial(between, _by_start, *_colours(kind)),
        assumptions=(
            "small and full scale: three digits as the channels of one image, not CIFAR-10",
            "no biases; two images, of which a start's networks are averaged",
        ),
        uses=("id/Fig42-pictures",),
        **parts,
    )


COLOUR_CNN = _colour(
    "cnn",
    id="id/Fig42",
    title="Convolutional networks tend to the constant with depth on colour images too",
    runs=looks(*_colours("cnn")),
    **unmet((0.1, None), (None, 0.1)),
    # Of two starts, which decide nothing.
    cases=(),
    version=4,
    finding=(
        "Networks of one start were first counted as independent, one for each image, and"
        " the claim was entered as holding at the small scale. Started alike, shallow ones"
        " end alike there whatever the image. Without biases deep networks do not learn the"
        " constant of a grey image at this size either (id/bias-constant)."
    ),
)

COLOUR_FCN = _colour(
    "fcn",
    id="id/Fig43",
    title="Fully connected networks tend to the constant with depth on colour images too",
    # The figure shows both kinds.
    runs=looks(*_colours("cnn"), *_colours("fcn")),
    **stated(0.1),
    version=3,
    figure="identity_figure_42",
)
