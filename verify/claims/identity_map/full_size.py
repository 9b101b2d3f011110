"""At 28 x 28, with biases and without: claims shown from published records.

Twenty layers of 32 channels take a network five minutes of one core, so that they are
trained by hand (``results/full/README.md``) and read here. What is tried, by how much at
least and on how many networks stands in ``docs/trained/identity-map.md``.
"""

from functools import partial
from typing import Any

import numpy as np

from verify.claim import Claim, grid
from verify.claims._predictors import Limits, always, stated, unmet
from verify.claims.identity_map._runs import (
    Arm,
    Array,
    between,
    contrast,
    curve,
    effect,
    fitted,
    looks,
    named,
    orthogonal,
    probe,
    remaining,
    run,
    within,
)
from verify.claims.identity_map._sources import as_read, ours
from verify.claims.identity_map.depth import twice_and_half
from verify.compare import Contrast
from verify.trained import NotLearnt

FULL = grid(scale="full")
ASSUMPTIONS = (
    "28 x 28, 32 channels, gradients clipped at 0.5; 20 layers with biases 5,000 updates",
    "others 2,000; the paper: 128 channels, two million updates, not clipped",
)
PLAIN = (
    "28 x 28, 32 channels unless said, no biases, 2,000 updates, gradients clipped at 0.5",
    "gradients rescaled on the plateau; the paper: 128 channels, two million updates",
)


def _full(claim: Any, *args: Any, **parts: Any) -> Claim:
    cases = parts.pop("larger", FULL)
    parts.setdefault("assumptions", ASSUMPTIONS)
    return claim(*args, cases=(), larger_cases={"full": cases}, **parts)


def biased(layers: int) -> Any:
    """Return the arm with biases."""
    return named(f"biased-depth-{layers}")


def plain(layers: int) -> Any:
    """Return the arm without."""
    return named(f"cnn-depth-{layers}")


# --- biases -----------------------------------------------------------------------------

LEAST = {"orthogonal": 0.2, "gaussian": 0.05, "digits": 0.1}


def _least(*, scale: str, probes: str) -> Limits:
    return LEAST[probes], None


def _with_and_without(*, scale: str, probes: str) -> Contrast:
    number = probe(probes, "constant")
    return Contrast(*(number(arm(20)(scale), scale) for arm in (biased, plain)))


BIASES = _full(
    effect,
    id="id/bias-constant",
    items=("Bias", "Fig3", "Fig4"),
    title="With biases, CNNs of 20 layers learn the constant map; without, only in part",
    statement=(
        r"\overline{\cos}(f(x),\hat x),\ 20\text{ layers: with}-\text{without biases}"
        r"\ge 0.2,\ 0.05,\ 0.1\ (x\perp\hat x;\ \text{Gaussian; digits})"
    ),
    source=ours("Sections 1 and 3.2, appendix H.1; ours"),
    larger=grid(scale="full", probes=tuple(LEAST)),
    runs=looks(biased(20), plain(20)),
    measure=_with_and_without,
    predict=_least,
    must_refute=always((None, 0.0), "Biases that do nothing, or the reverse."),
    uses=("id/bias-forgets", "id/bias-homogeneous"),
    finding=(
        "On images orthogonal to the digit the outputs of networks without biases stay"
        " nearly orthogonal to it, although these networks reach a smaller loss."
    ),
)

RESCALED = _full(
    contrast,
    "id/bias-not-rescaling",
    orthogonal("constant"),
    named("rescaled-depth-20"),
    plain(20),
    title="The constant map is due to biases, not to rescaled gradients on the plateau",
    statement=(
        r"\cos(f(x),\hat x)\text{ at }x\perp\hat x,\ 20\text{ layers, rescaled}:\ "
        r"\text{with}-\text{without biases}\ge 0.2"
    ),
    source=ours("Sections 1 and 3.2, appendix H.1; ours"),
    **stated(0.2),
)

# --- depth ------------------------------------------------------------------------------

CONSTANT = _full(
    contrast,
    "id/Fig3-full",
    curve("constant"),
    biased(20),
    biased(5),
    items=("Fig3", "Fig4", "Fig36"),
    title=(
        "At 28 x 28 with biases, depth moves convolutional networks towards the"
        " constant map"
    ),
    statement=r"\overline{\cos}(f(x),\hat x):\ 20\text{ layers}-5\text{ layers}\ge 0.1",
    source=as_read("Figures 3, 4 and 36"),
    **stated(0.1),
)


def _on_digits(name: str, scale: str, field: str = "identity") -> Contrast:
    return Contrast.alone(probe("digits", field)(name, scale))


IDENTITY = _full(
    effect,
    id="id/identity-depths",
    items=("Identity5",),
    title="CNNs of five layers learn the identity fairly accurately",
    statement=r"\overline{\cos}(f(x),x)\ge0.9\text{ on digits, }5\text{ layers}",
    source=as_read("Section 3.2 and the abstract"),
    **within(biased(5), _on_digits),
    # As Gaussian probes have it.
    **stated(0.9, wrong=(None, 0.8)),
    version=2,
    finding=(
        "On digits. On Gaussian and uniform noise the cosine is smaller: the result"
        " depends on the test images."
    ),
)


def _learned_by_ten(*, scale: str) -> Contrast:
    """Identity on digits of ten layers, with biases or without: the arm with more."""
    found, missing = list[Array](), list[str]()
    for arm in (biased, plain):
        try:
            found.append(probe("digits", "identity")(arm(10)(scale), scale))
        except NotLearnt as error:
            missing.append(str(error))
    if not found:
        raise NotLearnt("; ".join(missing))
    return Contrast.alone(max(found, key=lambda each: float(each.mean())))


TEN = _full(
    effect,
    id="id/identity-ten",
    items=("Identity5",),
    title="CNNs of up to 10 layers can learn the identity",
    statement=r"\overline{\cos}(f(x),x)\ge0.9\text{ on digits, }10\text{ layers}",
    source=as_read("the abstract"),
    runs=looks(biased(10), plain(10)),
    paired=True,
    measure=_learned_by_ten,
    **stated(0.9, wrong=(None, 0.2)),
)


NEITHER = _full(
    effect,
    id="id/Fig3-neither",
    items=("Edges", "Fig3"),
    title="CNNs of intermediate depth learn neither the identity nor the constant map",
    statement=(
        r"\overline{\cos}(f(x),x)\le0.9,\ \overline{\cos}(f(x),\hat x)\le0.9"
        r"\text{ on digits, }13\text{ layers}"
    ),
    source=as_read("Section 3.2"),
    larger=grid(scale="full", field=("identity", "constant")),
    **within(biased(13), _on_digits),
    predict=always((None, 0.9)),
    must_refute=always((0.9, None), "Networks that are the identity, or the constant."),
)


def _last(name: str, scale: str) -> Array:
    """Constant made from unseen images by the last layer alone."""
    return fitted(name, scale).series("upper/constant")[:, 0, -1]


BREAK = _full(
    contrast,
    "id/Fig22-break",
    _last,
    biased(20),
    biased(13),
    items=("Break",),
    title="The last layer alone draws the digit in networks of 20 layers, not of 13",
    statement=r"\cos(f_L(x),\hat x):\ L=20\text{ less }L=13\ge 0.2",
    source=as_read("Appendix H.2, Figure 22"),
    **unmet((0.2, None), (None, 0.2)),
    version=2,
    finding=(
        "With biases the last layer of 20 draws the digit from nothing as little as that"
        " of 13: if anything, less."
    ),
)

# --- sizes, kernels, channels -------------------------------------------------------------


def _resized(name: str, scale: str) -> Contrast:
    """Identity of images resized to twice the size, and to half."""
    return twice_and_half(name, scale, "resized/identity")


SCALED = _full(
    effect,
    id="id/Fig6-resized",
    items=("Fig6", "Fig20"),
    title=(
        "The identity of a five-layer CNN transfers to upscaled images, less to downscaled"
    ),
    statement=(
        r"\overline{\cos}(f(x),x),\text{ resized: at twice the size}-\text{at half}\ge 0.05"
    ),
    source=as_read("Figures 6 and 20"),
    **within(biased(5), _resized),
    **stated(0.05),
)

THREE_CHANNELS = _full(
    contrast,
    "id/Fig10-three",
    curve("identity"),
    plain(5),
    named("channels-3-depth-5"),
    items=("Fig10", "Fig27", "Fig30", "ThreeChannels"),
    title="CNNs of three channels lose the identity",
    statement=(
        r"\overline{\cos}(f(x),x),\ 5\text{ layers}:\ 32\text{"
        r" channels}-3\text{ channels}\ge 0.05"
    ),
    source=as_read("Section 3.4 and appendix I, Figures 10 and 27"),
    assumptions=PLAIN,
    **stated(0.05),
    finding=(
        "The paper adds that it is not because they fit the image worse. They do fit it"
        " worse here, and nothing compares networks of equal fit."
    ),
    figure="identity_figure_10",
)


def _left(name: str, scale: str) -> Array:
    """log10 of the share of the first loss that is left, of every network."""
    shares = [remaining(draw) for draw in run(name, scale).draws]
    # A network that did not leave the plateau has all of it left.
    return np.log10(np.minimum(shares, 1.0))


UNFITTED = _full(
    contrast,
    "id/Fig28-three",
    _left,
    named("channels-3-depth-10"),
    named("channels-3-depth-5"),
    title="CNNs of three channels and more than eight layers do not learn the image",
    statement=(
        r"\log_{10}\frac{\ell_{end}}{\ell_0},\text{ three channels}:\ "
        r"10\text{ layers}-5\text{ layers}\ge 1"
    ),
    source=as_read("Appendix I, Figure 28"),
    assumptions=PLAIN,
    **stated(1.0),
    figure="identity_figure_27",
)

KERNEL_ERROR = _full(
    contrast,
    "id/Fig25",
    curve("constant_mse"),
    plain(5),
    named("kernel-29-depth-5"),
    items=("Fig25", "Fig26"),
    title="Larger kernels bring outputs closer to the constant map in mean squared error",
    statement=(
        r"\overline{\mathrm{MSE}}(f(x),\hat x):\ \text{kernel }5-\text{kernel }29\ge 0.1"
    ),
    source=as_read("Appendix I, Figures 25 and 26"),
    assumptions=PLAIN,
    **stated(0.1),
    version=3,
    figure="identity_figure_25",
)

# --- several images -----------------------------------------------------------------------


def _explained(name: str, scale: str) -> Array:
    """Share of the output that mixtures of the training images make, on unseen images."""
    record = run(name, scale)
    images = record.fact("predictions/images")
    unseen = [
        k for k, each in enumerate(images) if not each["name"].startswith("train ")
    ]
    return fitted(name, scale).series("predictions/explained")[:, unseen].mean(axis=1)


ONE_IMAGE = 0.5
"""Constant on orthogonal images from which on networks of one image have learnt it."""


def _mixed_less(deep: Arm, shallow: Arm, *, scale: str) -> Contrast:
    """Compare that share of networks that learn the constant of a single image.

    Raises
    ------
    NotLearnt
        If networks of one image, deeper ones, do not.
    """
    alone = orthogonal("constant")(plain(20)(scale), scale).mean()
    if alone < ONE_IMAGE:
        raise NotLearnt(
            f"{deep(scale)} ({scale}): the claim presupposes that networks learn the"
            f" constant of one image, but their cosine with it is {alone:.2f} at 20 layers"
        )
    return between(_explained, deep, shallow, scale=scale)


def _mixtures(count: int, figure: int) -> Claim:
    words = {2: "two", 3: "three"}[count]
    deep = named(f"images-{count}-depth-14")
    shallow = named(f"images-{count}-depth-5")
    return _full(
        effect,
        id=f"id/Fig{figure}",
        measure=partial(_mixed_less, deep, shallow),
        runs=looks(deep, shallow, plain(20)),
        title=f"Deep networks trained on {words} images output mixtures of them",
        statement=(
            r"s_{14}-s_5\ge0.1,\quad"
            r" s_L=\|\Pi_{\mathrm{span}(\hat x_i)}f(x)\|^2/\|f(x)\|^2\text{"
            r" at }L\text{ layers}"
        ),
        source=as_read(f"Appendix L, Figure {figure}"),
        assumptions=(*PLAIN, "networks of one image learn its constant"),
        **stated(0.1),
        version=5,
        finding=(
            "Undecided: the published networks have no biases, and without them those of"
            " one image do not learn the constant map at this depth either."
        ),
    )


TWO, THREE = _mixtures(2, 38), _mixtures(3, 39)
