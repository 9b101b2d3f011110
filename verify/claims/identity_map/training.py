"""Networks of several layers trained on one image: where depth takes them (section 4).

Trends in training: a direction along a ladder of levels, over seeds, that holds, is
refuted or cannot be told. Every level is a run of `_runs`, trained once.
"""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from verify.claim import Case, Claim, Evidence, Source, grid
from verify.claims import _predictors
from verify.claims.identity_map._runs import (
    NETWORKS,
    curve,
    ladder,
    looks,
    measured,
    names,
    run,
)
from verify.compare import AgreesTo, AtLeast, AtMost, RankTrend
from verify.trained import Run

Array = npt.NDArray[np.float64]
KEY = "zhang2020identity"

SMALL: tuple[Case, ...] = grid(scale=("small",))
LARGER = {"full": grid(scale=("full",)), "gpu": grid(scale=("paper",))}
CNN = r"cnn-depth-(\d+)"
RELU = r"fcn-relu-depth-(\d+)-width-\d+"
LINEAR = r"fcn-linear-depth-(\d+)-width-\d+"


def trained(*, where: str = "Section 4", **parts: Any) -> Claim:
    """Return a claim on trained networks, small ones in the quick profile."""
    return Claim(
        source=Source(KEY, where),
        evidence=Evidence.TREND,
        cases=SMALL,
        larger_cases=LARGER,
        **parts,
    )


def trend(
    name: str,
    items: tuple[str, ...],
    title: str,
    statement: str,
    measure: Any,
    *,
    up: bool,
    **more: Any,
) -> Claim:
    """Return a claim that something rises, or falls, along levels."""
    return trained(
        id=name,
        items=items,
        title=title,
        statement=statement,
        predict=_predictors.up if up else _predictors.down,
        measure=measure,
        compare=RankTrend(),
        must_refute=_predictors.down if up else _predictors.up,
        **more,
    )


# --- convolutional networks by depth --------------------------------------------------

CONSTANT = trend(
    "id/Fig3",
    ("Fig3", "Fig4", "Fig36"),
    "Depth moves convolutional networks to the constant",
    r"\overline{\cos}(f(x),\hat x)\text{ rises with the number of layers}",
    partial(ladder, CNN, field="constant"),
    up=True,
    runs=looks(CNN),
    finding=(
        "Every depth is trained from three starts; seeds differ less than depths. At"
        " 28 x 28 (full profile) it stops at 0.7, half way, from five layers on."
    ),
    figure="identity_depth_curve",
)

IDENTITY = trend(
    "id/Fig3-identity",
    ("Fig3", "Fig4", "Fig36"),
    "Depth moves convolutional networks away from the identity",
    r"\overline{\cos}(f(x),x)\text{ falls with the number of layers}",
    partial(ladder, CNN, field="identity"),
    up=False,
    runs=looks(CNN),
    finding=(
        "It falls to one half, not to zero: a perfect constant has that correlation to"
        " test images whose correlation to the training image is spread over [0, 1]."
    ),
    figure="identity_figure_3",
)

CONSTANT_MSE = trend(
    "id/Fig35",
    ("Fig35", "MSE"),
    "The same in mean squared error to the constant",
    r"\overline{\mathrm{MSE}}(f(x),\hat x)\text{ falls with the number of layers}",
    partial(ladder, CNN, field="constant_mse"),
    up=False,
    runs=looks(CNN),
    where="Appendix J",
    figure="identity_figure_4",
)


def _layer_errors(*, scale: str, layers: int, which: str) -> Array:
    """Error of the averaging classifier, (layer 0..L, draws)."""
    return measured(f"cnn-depth-{layers}", scale, f"layer-error/{which}").T


def _deepest(scale: str) -> int:
    return max(names(CNN, scale))


def _looks_deepest(*, scale: str) -> tuple[Run, ...]:
    return (Run(NETWORKS, f"cnn-depth-{_deepest(scale)}", scale),)


def _measure_recovery(*, scale: str) -> list[float]:
    """Last layer's error less the worst layer's, of trained 5-layer networks."""
    errors = _layer_errors(scale=scale, layers=5, which="trained")
    return (errors[-1] - errors.max(axis=0)).tolist()


def _a_tenth_below(*, scale: str) -> float:
    return -0.1


def _zero(*, scale: str) -> float:
    return 0.0


def _far_below(*, scale: str) -> float:
    return -0.9


RECOVERY = trained(
    id="id/Fig5",
    runs=NETWORKS.looks("cnn-depth-5"),
    items=("Fig5", "Layer"),
    title="Five layers forget the classes and find them again",
    statement=r"\mathrm{err}_L \le \max_l \mathrm{err}_l - 0.1",
    where="Figure 5",
    predict=_a_tenth_below,
    measure=_measure_recovery,
    compare=AtMost(),
    must_refute=_far_below,
    finding=(
        "An averaging classifier on the representations errs more and more up to the"
        " layer before the last, and hardly more than on pixels on the output."
    ),
    figure="identity_figure_5",
)


def _measure_washed_out(*, scale: str) -> list[float]:
    """Least error over the upper half of the deepest trained network, by draw."""
    errors = _layer_errors(scale=scale, layers=_deepest(scale), which="trained")
    return errors[len(errors) // 2 :].min(axis=0).tolist()


def _near_chance(*, scale: str) -> float:
    return 0.7


def _above_chance(*, scale: str) -> float:
    return 0.95


WASHED_OUT = trained(
    id="id/Fig5-deep",
    runs=_looks_deepest,
    items=("Fig5", "Layer"),
    title="The deepest networks lose the classes for good",
    statement=r"\mathrm{err}_l \ge 0.7 \text{ for all } l \ge L/2;\ \text{chance is } 0.9",
    where="Figure 5",
    predict=_near_chance,
    measure=_measure_washed_out,
    compare=AtLeast(),
    must_refute=_above_chance,
)

UNTRAINED = trend(
    "id/Fig5-untrained",
    ("Fig5", "Layer"),
    "Random layers wash the classes out, one by one",
    r"\mathrm{err}_l \text{ of the untrained network rises with } l",
    partial(_layer_errors, layers=20, which="untrained"),
    up=True,
    runs=NETWORKS.looks("cnn-depth-20"),
    where="Figure 5",
)

# --- inside the networks --------------------------------------------------------------


def _seen_cosines(*, scale: str, which: str) -> Array:
    """Best correlation of any channel with the input, an unseen one, by layer."""
    series = f"pictures/{which}/cosine"
    found = measured(f"cnn-depth-{_deepest(scale)}", scale, series)
    # The first image shown is the training image, the second is unseen.
    return np.abs(found[:, 1]).T


def _measure_forgets(*, scale: str) -> list[float]:
    """Best correlation of any later layer with the input, less the first layer's."""
    cosines = _seen_cosines(scale=scale, which="trained")
    return (cosines[1:].max(axis=0) - cosines[0]).tolist()


LAYER_PICTURES = trained(
    id="id/Fig15",
    runs=_looks_deepest,
    items=("Fig15", "Fig16", "Fig17", "Fig18", "SVD"),
    title="No later layer of a deep trained network sees its input as the first one does",
    statement=r"\max_{c,\,l>1}|\cos(h_{l,c}, x)| \le \max_c|\cos(h_{1,c}, x)|",
    where="Figures 15 to 18",
    predict=_zero,
    measure=_measure_forgets,
    compare=AtMost(),
    must_refute=_far_below,
    assumptions=("an image that was not trained on",),
    figure="identity_figure_15",
)


def _measure_top(*, scale: str) -> list[int]:
    """Layers, from the top, that changed most, for each depth and draw."""
    largest: list[int] = []
    for layers, name in names(CNN, scale).items():
        changes = measured(name, scale, "change/relative")
        largest += [layers - 1 - int(np.argmax(draw)) for draw in changes]
    return largest


def _the_top(*, scale: str) -> int:
    return 0


def _the_one_below(*, scale: str) -> int:
    return 1


CHANGE = trained(
    id="id/Fig19",
    runs=looks(CNN),
    items=("Fig19", "Rel"),
    title="The top layer changes most, at every depth",
    statement=r"\operatorname{argmax}_l \|W_l^0-W_l^*\|/\|W_l^0\| = L",
    where="Figure 19",
    predict=_the_top,
    measure=_measure_top,
    compare=AgreesTo(absolute=0.0),
    must_refute=_the_one_below,
    figure="identity_figure_19",
)


def _measure_bottom(*, scale: str) -> list[float]:
    """Least relative change of any layer of the deepest network, by draw."""
    changes = measured(f"cnn-depth-{_deepest(scale)}", scale, "change/relative")
    return changes.min(axis=1).tolist()


def _a_thousandth(*, scale: str) -> float:
    return 1e-3


def _a_half(*, scale: str) -> float:
    return 0.5


BOTTOM = trained(
    id="id/Fig19-bottom",
    runs=_looks_deepest,
    items=("Fig19", "Rel"),
    title="Lower layers change little, but they do, also in the deepest network",
    statement=r"\min_l\|W_l^0-W_l^*\|/\|W_l^0\| \ge 10^{-3}",
    where="Figure 19",
    predict=_a_thousandth,
    measure=_measure_bottom,
    compare=AtLeast(),
    must_refute=_a_half,
    finding=(
        "Fully connected networks of 11 layers are said to leave their lower five layers"
        " almost where they were. At the quick profile's size that does not reproduce:"
        " those layers move as far as the middle ones (figure 19)."
    ),
)


def _measure_upper(*, scale: str) -> Array:
    """Correlation of the last layers' output to the constant, (layers fed, draws)."""
    found = measured(f"cnn-depth-{_deepest(scale)}", scale, "upper/constant")
    # On an image that was not trained on.
    return found[:, :, -1].T


UPPER = trend(
    "id/Fig22",
    ("Fig22", "Fig23", "Fig24", "Upper"),
    "The last layers of a deep network make the training image from any input",
    r"\cos(f_{L-k+1..L}(x),\hat x) \text{ rises with } k",
    _measure_upper,
    up=True,
    runs=_looks_deepest,
    where="Figures 22 to 24",
)

# --- sizes of test images -------------------------------------------------------------


def _by_size(scale: str, layers: int, field: str) -> tuple[Array, list[int], int]:
    """Means over test images, (draws, sizes), the sizes, and the training size."""
    name = f"cnn-depth-{layers}"
    # The first image is the training image.
    table = measured(name, scale, f"sizes/{field}")[:, :, 1:].mean(axis=2)
    sizes = run(name, scale).fact("sizes/sizes")
    return table, sizes, 14 if scale == "small" else 28


def _measure_constant_elsewhere(*, scale: str) -> list[float]:
    """Largest correlation to the constant at other sizes, less that at the own one."""
    table, sizes, side = _by_size(scale, _deepest(scale), "resized/constant")
    own = sizes.index(side)
    others = np.delete(table, own, axis=1)
    return (others.max(axis=1) - table[:, own]).tolist()


def _not_at_all(*, scale: str) -> float:
    return -1.0


SIZES = trained(
    id="id/Fig7",
    runs=_looks_deepest,
    items=("Fig6", "Fig7", "Fig20", "Fig21"),
    title="A deep network makes its constant at the training size only",
    statement=(
        r"\overline{\cos}(f(x),\hat x)\text{ at other sizes}"
        r" \le \overline{\cos}\text{ at the training size}"
    ),
    where="Figures 7 and 21",
    predict=_zero,
    measure=_measure_constant_elsewhere,
    compare=AtMost(),
    must_refute=_not_at_all,
    finding=(
        "The constant is made from the boundary inwards; at other sizes what grows there"
        " does not meet."
    ),
    figure="identity_figure_7",
)


def _measure_identity_smaller(*, scale: str) -> list[float]:
    """Correlation to the identity at half the training size, less that at twice it.

    Of five layers; the content is of one size, on maps of different sizes.
    """
    means, sizes, side = _by_size(scale, 5, "placed/identity")
    gap = means[:, sizes.index(side // 2)] - means[:, sizes.index(2 * side)]
    return gap.tolist()


SMALLER = trained(
    id="id/Fig6",
    runs=NETWORKS.looks("cnn-depth-5"),
    items=("Fig6", "Fig20"),
    title="What five layers learnt carries over to larger images, less to smaller ones",
    statement=(
        r"\overline{\cos}(f(x),x)\text{ at half the training size}"
        r" \le \text{at twice it}"
    ),
    where="Figures 6 and 20",
    predict=_zero,
    measure=_measure_identity_smaller,
    finding=(
        "True of content of one size on maps of different sizes. Images that are scaled"
        " up themselves are copied worse the larger they are (0.77 at 7 x 7, 0.60 at"
        " 42 x 42 in the quick profile): the network learnt strokes of one width."
    ),
    compare=AtMost(),
    must_refute=_not_at_all,
    figure="identity_figure_6",
)

# --- fully connected networks ---------------------------------------------------------


def _at_zero(pattern: str, *, scale: str, field: str) -> list[list[float]]:
    """Correlations for inputs orthogonal to the image, (depth, draws)."""
    table: list[list[float]] = []
    for name in names(pattern, scale).values():
        zero = run(name, scale).fact("heatmap/rhos").index(0.0)
        found = measured(name, scale, f"heatmap/{field}")
        table.append(found[:, 0, zero].tolist())
    return table


def _measure_never(*, scale: str) -> float:
    """Largest correlation to the identity of any depth and draw, ReLU and linear."""
    tables = [_at_zero(p, scale=scale, field="identity") for p in (RELU, LINEAR)]
    return float(max(np.abs(np.array(table)).max() for table in tables))


def _a_fifth(*, scale: str) -> float:
    return 0.2


NEVER = trained(
    id="id/Fig14",
    runs=looks(RELU, LINEAR),
    items=("Fig14", "Fig2", "Fig13", "Fig33", "Fig34"),
    title="Fully connected networks never learn the identity off the training image",
    statement=(
        r"|\overline{\cos}(f(x),x)| \le 0.2 \text{ at } x\perp\hat x,\ \text{any depth}"
    ),
    where="Figures 2, 14, 33",
    predict=_a_fifth,
    measure=_measure_never,
    compare=AtMost(),
    must_refute=_zero,
    figure="identity_figure_14",
)

FCN_CONSTANT = trend(
    "id/Fig2",
    ("Fig2", "Fig13", "Fig14", "Fig33"),
    "Shallow fully connected networks map unseen images to noise, deep ones to one image",
    r"\cos(f(x),\hat x) \text{ at } x\perp\hat x \text{ rises with the number of layers}",
    partial(_at_zero, RELU, field="constant"),
    up=True,
    runs=looks(RELU),
    where="Figures 2 and 13",
    figure="identity_figure_2",
)

LINEAR_DEPTH = trend(
    "id/Fig11",
    ("Fig11", "Fig34"),
    "Linear networks too move to the constant with depth",
    r"\overline{\cos}(f(x),\hat x)\text{ of linear networks rises with depth}",
    partial(ladder, LINEAR, field="constant"),
    up=True,
    runs=looks(LINEAR),
    where="Figures 11 and 34",
)


def _measure_linear_less(*, scale: str) -> list[float]:
    """Linear less ReLU, correlations to the constant, at depths above one."""
    gaps: list[float] = []
    for layers, name in names(RELU, scale).items():
        if layers > 1:
            pair = (name.replace("-relu-", "-linear-"), name)
            linear, relu = (curve(n, scale, "constant") for n in pair)
            gaps += [a - b for a, b in zip(linear, relu, strict=True)]
    return gaps


SOONER = trained(
    id="id/Fig14-sooner",
    runs=looks(RELU, LINEAR),
    items=("Fig14", "Fig34"),
    title="ReLU networks become constant sooner than linear ones",
    statement=r"\overline{\cos}_{\text{linear}} \le \overline{\cos}_{\text{ReLU}},\ L>1",
    where="Figures 14 and 34",
    predict=_zero,
    measure=_measure_linear_less,
    compare=AtMost(),
    must_refute=_not_at_all,
)


def _measure_bottom_only(*, scale: str) -> list[float]:
    """Bottom-only less both layers trained, correlations to the constant."""
    gaps: list[float] = []
    for name in names(r"two-layer-all-width-(\d+)", scale).values():
        both = curve(name, scale, "constant")
        bottom = curve(name.replace("-all-", "-bottom-"), scale, "constant")
        gaps += [b - a for a, b in zip(both, bottom, strict=True)]
    return gaps


BOTTOM_ONLY = trained(
    id="id/Fig12",
    runs=looks(r"two-layer-all-width-(\d+)", r"two-layer-bottom-width-(\d+)"),
    items=("Fig12",),
    title="Two trained layers go toward the constant, one trained layer leaves noise",
    statement=r"\overline{\cos}(f(x),\hat x):\ \text{bottom only} \le \text{both layers}",
    where="Figure 12",
    predict=_zero,
    measure=_measure_bottom_only,
    compare=AtMost(),
    must_refute=_not_at_all,
    uses=("id/twolayer-law",),
)

RESIDUAL = trend(
    "id/Fig41",
    ("Fig41",),
    "Residual networks stay near the identity, less with depth",
    r"\overline{\cos}(f(x),x)\text{ of residual networks falls with depth}",
    partial(ladder, r"residual-depth-(\d+)", field="identity"),
    up=False,
    runs=looks(r"residual-depth-(\d+)"),
    where="Figure 41",
    figure="identity_figure_41",
)


def _measure_residual(*, scale: str) -> float:
    """Least correlation to the identity of any residual network."""
    return float(np.min(ladder(r"residual-depth-(\d+)", scale, "identity")))


def _three_quarters(*, scale: str) -> float:
    return 0.75


def _perfect(*, scale: str) -> float:
    return 1.0


NEAR_IDENTITY = trained(
    id="id/Fig41-identity",
    runs=looks(r"residual-depth-(\d+)"),
    items=("Fig41",),
    title="Residual connections bias fully connected networks to the identity",
    statement=r"\overline{\cos}(f(x),x) \ge 0.75;\ \text{a constant has } 0.5",
    where="Figure 41",
    predict=_three_quarters,
    measure=_measure_residual,
    compare=AtLeast(),
    must_refute=_perfect,
)
