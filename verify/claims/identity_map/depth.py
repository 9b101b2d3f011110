"""Convolutional networks of every depth, trained on one image (section 3.2).

What is tried, by how much at least and on how many networks stands in
``docs/trained/identity-map.md``; the same at 28 x 28 is in `full_size`.
"""

from functools import partial

import numpy as np

from verify.claims._predictors import stated, unmet
from verify.claims.identity_map._runs import (
    NETWORKS,
    Array,
    between,
    by_depth,
    contrast,
    curve,
    deepest,
    effect,
    fitted,
    looks,
    names,
    orthogonal,
    probe,
    run,
    within,
)
from verify.claims.identity_map._sources import as_read
from verify.compare import Contrast
from verify.trained import Run


def deep(scale: str) -> str:
    """Return the deepest network."""
    return deepest(by_depth(scale), scale)


def five(scale: str) -> str:
    """Return the network of five layers."""
    return names(by_depth(scale), scale)[5]


def _ladder(*, scale: str) -> tuple[Run, ...]:
    """Return what is compared, and at the small scale all depths that figures show."""
    if scale == "small":
        found = tuple(names(by_depth(scale), scale).values())
        return tuple(Run(NETWORKS, name, scale) for name in found)
    return looks(deep, five)(scale=scale)


CONSTANT = effect(
    id="id/Fig3",
    measure=partial(between, orthogonal("constant"), deep, five),
    runs=_ladder,
    items=("Fig3", "Fig4", "Fig36"),
    title="Depth moves convolutional networks towards the constant map",
    statement=(
        r"\cos(f(x),\hat x)\text{ at }x\perp\hat x:\ 20\text{ layers}-5\text{ layers}"
        r"\ge 0.3"
    ),
    source=as_read("Figures 3, 4 and 36"),
    **stated(0.3),
    version=2,
    finding=(
        "Measured on images orthogonal to the training image, where all likeness to"
        " it is produced by the network. Without biases at 14 x 14, with biases at 28"
        " x 28."
    ),
    figure="identity_depth_curve",
)

IDENTITY = contrast(
    "id/Fig3-identity",
    probe("digits", "identity"),
    five,
    deep,
    items=("Fig3", "Fig4", "Fig36"),
    title="Depth moves convolutional networks away from the identity map",
    statement=(
        r"\overline{\cos}(f(x),x)\text{ on digits: }5\text{ layers}-20\text{ layers}\ge 0.3"
    ),
    source=as_read("Figures 3, 4 and 36"),
    **stated(0.3),
    version=2,
    figure="identity_figure_3",
)

CONSTANT_MSE = contrast(
    "id/Fig35",
    curve("constant_mse"),
    five,
    deep,
    items=("Fig35", "MSE"),
    title="More layers bring CNNs closer to the constant map in mean squared error",
    statement=(
        r"\overline{\mathrm{MSE}}(f(x),\hat x):\ 5\text{ layers}-20\text{ layers}\ge 0.1"
    ),
    source=as_read("Appendix J, Figure 35"),
    **stated(0.1),
    version=2,
    figure="identity_figure_4",
)

# --- classes ----------------------------------------------------------------------------


def _errors(name: str, scale: str) -> Array:
    """Error of the averaging classifier, (draws, layer 0..L)."""
    return fitted(name, scale).series("layer-error/trained")


def _recovered(name: str, scale: str) -> Contrast:
    """Worst layer's error, and the output's, of each network."""
    errors = _errors(name, scale)
    return Contrast(errors.max(axis=1), errors[:, -1])


RECOVERY = effect(
    id="id/Fig5",
    items=("Fig5", "Layer"),
    title=(
        "CNNs of five layers lose the class in their middle layers and recover"
        " it at the output"
    ),
    statement=r"\max_l \mathrm{err}_l-\mathrm{err}_L \ge 0.1",
    source=as_read("Section 3.2, Figure 5"),
    **within(five, _recovered),
    **stated(0.1),
    version=3,
    finding=(
        "The error of an averaging classifier is largest in the second to fourth layer. At"
        " 28 x 28 it is hardly larger on the output than on the pixels, at 14 x 14 it is."
    ),
    figure="identity_figure_5",
)


def _washed_out(name: str, scale: str) -> Contrast:
    """Least error over the upper half of the deepest networks."""
    errors = _errors(name, scale)
    return Contrast.alone(errors[:, errors.shape[1] // 2 :].min(axis=1))


WASHED_OUT = effect(
    id="id/Fig5-deep",
    items=("Fig5", "Layer"),
    title="The deepest CNNs lose the class information for good",
    statement=r"\min_{l\ge L/2}\mathrm{err}_l \ge 0.7;\ \text{chance is } 0.9",
    source=as_read("Section 3.2, Figure 5"),
    **within(deep, _washed_out),
    # As on pixels.
    **stated(0.7, wrong=(None, 0.4)),
    version=2,
    finding=(
        "With biases at 28 x 28 one network keeps much of the class information, and"
        " networks differ by too much to decide. Without biases at 14 x 14 five networks"
        " lose all of it, and are too few to decide by their agreement."
    ),
    cases=(),
)


def _washed_untrained(name: str, scale: str) -> Contrast:
    """Errors of the last and the first layer before training."""
    draws = run(name, scale).draws
    errors = draws.series("layer-error/untrained")
    return Contrast(errors[:, -1], errors[:, 1])


UNTRAINED = effect(
    id="id/Fig5-untrained",
    items=("Fig5", "Layer"),
    title="Twenty untrained layers wash class information out",
    statement=r"\mathrm{err}_{20}-\mathrm{err}_1 \ge 0.2\text{ before training}",
    source=as_read("Section 3.2, Figure 5"),
    **within(deep, _washed_untrained),
    **stated(0.2),
    version=2,
    # At 14 x 14 five networks leave it undecided: 0.35 +- 0.19.
    cases=(),
)


SIXTH = 6
"""The layer beyond which the text finds untrained representations useless."""


def _beyond_sixth(name: str, scale: str) -> Contrast:
    """Mean error of the layers above the sixth before training."""
    errors = run(name, scale).draws.series("layer-error/untrained")
    return Contrast.alone(errors[:, SIXTH + 1 :].mean(axis=1))


USELESS = effect(
    id="id/Fig5-sixth",
    items=("Fig5", "Layer"),
    title="Beyond the sixth untrained layer, representations hardly tell the classes",
    statement=(
        r"\overline{\mathrm{err}}_{l>6} \ge 0.8\text{ before training};\ "
        r"\text{chance is } 0.9"
    ),
    source=as_read("Section 3.2, Figure 5"),
    **within(deep, _beyond_sixth),
    # As on the third layer, at most.
    **stated(0.8, wrong=(None, 0.6)),
    uses=("id/Fig5-untrained",),
    cases=(),
    finding="Entered after its networks were seen.",
)

# --- inside the networks ----------------------------------------------------------------


EIGHTH = 8
"""The layer around which the text sees more structure than before training."""


def _seen(name: str, scale: str) -> Contrast:
    """Best cosine of the eighth layer's channels with an unseen input, by training."""
    draws = fitted(name, scale)
    # The first image shown is the training image, the second is unseen.
    arms = (draws.series(f"pictures/{w}/cosine") for w in ("trained", "untrained"))
    return Contrast(*(np.abs(arm[:, 1, EIGHTH - 1]) for arm in arms))


LAYER_PICTURES = effect(
    id="id/Fig15-trained",
    items=("Fig15", "Fig16", "Fig17", "Fig18", "SVD"),
    title="At layer 8 of 20, trained networks show an image more than untrained ones",
    statement=(
        r"\big|\max_c\cos(h_{8,c}, x)\big|:\ \text{trained}-\text{untrained} \ge 0.05"
    ),
    source=as_read("Figures 15 to 18, Appendix F"),
    **within(deep, _seen),
    **stated(0.05),
    assumptions=("an image that was not trained on",),
    # At 14 x 14 five networks leave it undecided, and in three redraws.
    cases=(),
    figure="identity_figure_15",
)


def _changes(name: str, scale: str) -> Array:
    """Relative change of each layer's weights, (draws, layers)."""
    return fitted(name, scale).series("change/relative")


def _top(name: str, scale: str) -> Contrast:
    changes = _changes(name, scale)
    return Contrast(changes[:, -1], changes[:, :-1].max(axis=1))


CHANGE = effect(
    id="id/Fig19",
    items=("Fig19", "Rel"),
    title="Training changes the top layer of a deep network most",
    statement=r"\delta_L-\max_{l<L}\delta_l\ge0,\quad \delta_l=\|W_l^0-W_l^*\|/\|W_l^0\|",
    source=as_read("Appendix G, Figure 19"),
    **within(deep, _top),
    # Wrong: lower layers change much more than the last one.
    **stated(0.0, wrong=(None, -0.1)),
    version=2,
    figure="identity_figure_19",
)


def _lower(name: str, scale: str) -> Array:
    changes = _changes(name, scale)
    return changes[:, : changes.shape[1] // 2].mean(axis=1)


LOWER = contrast(
    "id/Fig19-lower",
    _lower,
    five,
    deep,
    items=("Fig19", "Fig19Lower", "Rel"),
    title="The deeper a network, the less training changes its lower layers",
    statement=r"\overline{\delta}_{l\le L/2}:\ 5\text{ layers}-20\text{ layers}\ge 0.02",
    source=as_read("Appendix G"),
    **stated(0.02),
    version=2,
    assumptions=("at the small scale gradients are rescaled on the plateau",),
)


def _upper(name: str, scale: str) -> Contrast:
    """Constant made from an unseen image by the last ten layers, and by the last."""
    draws = fitted(name, scale)
    found = draws.series("upper/constant")[:, :, -1]
    return Contrast(found[:, -1], found[:, 0])


UPPER = effect(
    id="id/Fig22",
    items=("Fig22", "Fig23", "Fig24", "Upper"),
    title="The last ten of twenty layers draw the training image, the last one alone less",
    statement=r"\cos(f_{11..20}(x),\hat x)-\cos(f_{20}(x),\hat x) \ge 0.3",
    source=as_read("Appendix H.2, Figure 24"),
    **within(deep, _upper),
    **stated(0.3),
    version=2,
    finding=(
        "At 14 x 14 without biases. At 28 x 28 with biases the last ten layers do not"
        " produce the training image from another one: not reproduced at that scale."
    ),
)

# --- sizes of test images ---------------------------------------------------------------


def by_size(name: str, scale: str, field: str) -> tuple[Array, list[int], int]:
    """Means over test images, (draws, sizes), the sizes, and the training size."""
    # The first image is the training image.
    table = fitted(name, scale).series(f"sizes/{field}")[:, :, 1:].mean(axis=2)
    sizes = run(name, scale).fact("sizes/sizes")
    return table, sizes, 14 if scale == "small" else 28


def _elsewhere(name: str, scale: str) -> Contrast:
    """Constant at half and twice the size, less at the training size."""
    return Contrast.alone(_kept(name, scale, "constant"))


ROBUST = effect(
    id="id/Fig7-robust",
    items=("Fig7", "Fig21", "Robust"),
    title="The constant map holds over a wide range of input sizes",
    statement=(
        r"\overline{\cos}(f(x),\hat x)\text{ at half and twice the size}"
        r" - \text{at the training size}\ge -0.1"
    ),
    source=as_read("Appendix H.1, Figures 7 and 21"),
    **within(deep, _elsewhere),
    **unmet((-0.1, None), (None, -0.1)),
    version=3,
    finding=(
        "The constant is the training image resized, as inputs are. Elsewhere the paper has"
        " it hold over a smaller range than the identity, which it"
        " does (id/Fig7-smaller). The constant is produced from the boundary inwards; at"
        " other sizes the parts that grow from opposite sides do not meet. Biases do not"
        " change this (docs/trained/identity-map.md)."
    ),
    figure="identity_figure_7",
)


def _kept(name: str, scale: str, field: str) -> Array:
    """Mean at half and twice the training size, less that at the training size."""
    table, sizes, side = by_size(name, scale, f"resized/{field}")
    others = [sizes.index(side // 2), sizes.index(2 * side)]
    return table[:, others].mean(axis=1) - table[:, sizes.index(side)]


def _kept_elsewhere(*, scale: str) -> Contrast:
    """What is kept of the identity, and of the constant."""
    return Contrast(
        _kept(five(scale), scale, "identity"), _kept(deep(scale), scale, "constant")
    )


FEWER_SIZES = effect(
    id="id/Fig7-smaller",
    runs=looks(five, deep),
    items=("Fig6", "Fig7", "Robust"),
    title="The constant map holds over a smaller range of input sizes than the identity",
    statement=(
        r"\overline{\cos}\text{ at half and twice the size, less at the training size}:\ "
        r"\text{identity}-\text{constant}\ge 0.2"
    ),
    source=as_read("Section 3.3, Figures 6 and 7"),
    measure=_kept_elsewhere,
    **stated(0.2),
    uses=("id/Fig6", "id/Fig7-robust"),
)


def twice_and_half(name: str, scale: str, field: str) -> Contrast:
    """Means at twice the training size, and at half of it."""
    means, sizes, side = by_size(name, scale, field)
    return Contrast(means[:, sizes.index(2 * side)], means[:, sizes.index(side // 2)])


def _placed(name: str, scale: str) -> Contrast:
    """Identity of content of one size, on maps of twice and of half the size."""
    return twice_and_half(name, scale, "placed/identity")


SMALLER = effect(
    id="id/Fig6",
    items=("Fig6", "Fig20"),
    title=(
        "The identity that a five-layer CNN learned transfers to larger maps,"
        " less to smaller"
    ),
    statement=(
        r"\overline{\cos}(f(x),x),\text{ placed: at twice the size}-\text{at half}\ge 0.05"
    ),
    source=as_read("Figures 6 and 20"),
    **within(five, _placed),
    **stated(0.05),
    version=3,
    figure="identity_figure_6",
)
