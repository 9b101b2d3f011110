"""Networks trained on one image: sizes, kernels, channels, starts, other images."""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from verify.claim import Claim, Evidence, Source
from verify.claims.identity_map._runs import (
    NETWORKS,
    curve,
    ladder,
    looks,
    measured,
    names,
    run,
)
from verify.claims.identity_map.training import KEY, trained, trend
from verify.compare import AtLeast, AtMost
from verify.trained import Run

Array = npt.NDArray[np.float64]


def _with_default(
    pattern: str,
    own: dict[str, int],
    name: str,
    *,
    scale: str,
    field: str = "constant",
) -> Any:
    """A correlation along a sweep that `name`, of the depth curve, is part of."""
    levels = {key: curve(n, scale, field) for key, n in names(pattern, scale).items()}
    levels[own[scale]] = curve(name, scale, field)
    return [levels[key] for key in sorted(levels)]


# --- sizes, kernels, channels ---------------------------------------------------------


def _sizes(*, scale: str) -> Any:
    own = {"small": 14, "full": 28, "paper": 28}
    if scale == "full":  # its depth curve has no network of eight layers
        return ladder(r"size-(\d+)-depth-8", scale, "constant")
    return _with_default(r"size-(\d+)-depth-8", own, "cnn-depth-8", scale=scale)


IMAGE_SIZE = trend(
    "id/Fig8",
    ("Fig8",),
    "The smaller the training image, the nearer the constant",
    r"\overline{\cos}(f(x),\hat x)\text{ falls with the size of the training image}",
    _sizes,
    up=False,
    runs=looks(r"size-(\d+)-depth-8", "cnn-depth-(8)"),
    where="Figure 8",
    figure="identity_figure_8",
)

_KERNELS = partial(
    _with_default,
    r"kernel-(\d+)-depth-5",
    {"small": 5, "full": 5, "paper": 5},
    "cnn-depth-5",
)

KERNEL = trend(
    "id/Fig9",
    ("Fig9", "Fig25", "Fig26"),
    "Larger kernels move five layers to the constant",
    r"\overline{\cos}(f(x),\hat x)\text{ rises with the kernel}",
    _KERNELS,
    up=True,
    runs=looks(r"kernel-(\d+)-depth-5", "cnn-depth-(5)"),
    where="Figures 9, 25, 26",
    uses=("id/Err7-corrected",),
    figure="identity_figure_9",
)


KERNEL_MSE = trend(
    "id/Fig25",
    ("Fig25", "Fig26"),
    "Larger kernels bring the output nearer to the constant, in mean squared error",
    r"\overline{\mathrm{MSE}}(f(x),\hat x)\text{ falls with the kernel}",
    partial(_KERNELS, field="constant_mse"),
    up=False,
    runs=looks(r"kernel-(\d+)-depth-5", "cnn-depth-(5)"),
    where="Figures 25 and 26",
    figure="identity_figure_25",
)


def _final_losses(name: str, scale: str) -> list[float]:
    return run(name, scale).draws.fact("final_loss")


def _losses_by_channels(*, scale: str) -> Any:
    """Log of the last loss, by number of channels."""
    found = names(r"channels-(\d+)-depth-5", scale)
    levels = {key: _final_losses(name, scale) for key, name in found.items()}
    own = {"small": 16, "full": 32, "paper": 128}[scale]
    levels[own] = _final_losses("cnn-depth-5", scale)
    return [np.log(levels[key]).tolist() for key in sorted(levels)]


CHANNELS = trend(
    "id/Fig10",
    ("Fig10", "Fig27", "Fig30"),
    "Few channels fit the image worse",
    r"\log \text{final loss of five layers falls with the number of channels}",
    _losses_by_channels,
    up=False,
    runs=looks(r"channels-(\d+)-depth-5", "cnn-depth-(5)"),
    where="Figures 10 and 27 to 30",
    figure="identity_figure_10",
)


def _widest(scale: str) -> str:
    widest = max(names(r"channels-(\d+)-depth-5", scale))
    return rf"channels-{widest}-depth-(\d+)"


def _looks_widest(*, scale: str) -> tuple[Run, ...]:
    return looks(_widest(scale))(scale=scale)


def _measure_shallow(*, scale: str) -> list[float]:
    """Correlations of five layers to the constant."""
    return curve(names(_widest(scale), scale)[5], scale, "constant")


def _least_of_deepest(*, scale: str) -> float:
    found = names(_widest(scale), scale)
    return min(curve(found[max(found)], scale, "constant"))


def _as_the_identity(*, scale: str) -> float:
    """The mean correlation that the identity has to the constant."""
    return 0.5


def _the_constant_itself(*, scale: str) -> float:
    return 1.0


WIDTH = trained(
    id="id/Fig28",
    runs=_looks_widest,
    items=("Fig10", "Fig28", "Fig29"),
    title="Depth makes the constant also with the most channels",
    statement=(
        r"\overline{\cos}(f(x),\hat x):\ 5\text{ layers} \le \text{deep},"
        r"\ \text{at the largest width}"
    ),
    where="Figures 27 to 30",
    predict=_least_of_deepest,
    measure=_measure_shallow,
    compare=AtMost(),
    must_refute=_as_the_identity,
    version=2,
    finding=(
        "The least of the deep networks against the greatest of the shallow ones. Deep"
        " networks of three channels do not fit the image well enough to say."
    ),
    figure="identity_figure_27",
)

# --- many examples --------------------------------------------------------------------


def _rows(name: str, scale: str, field: str, kinds: tuple[str, ...]) -> list[float]:
    """A correlation of every draw, a mean over the test images of some kinds."""
    shown = run(name, scale).fact("predictions/images")
    chosen = [k for k, image in enumerate(shown) if image["name"] in kinds]
    table = measured(name, scale, f"predictions/{field}")
    return table[:, chosen].mean(axis=1).tolist()


PATTERNS = ("rows", "columns", "checkerboard", "disc", "random")
"""Test images that are nothing like digits."""


def _measure_patterns(*, scale: str) -> list[float]:
    """Identity on patterns, of the CNN."""
    (cnn,) = names(r"many-cnn-(\d+)", scale).values()
    return _rows(cnn, scale, "identity", PATTERNS)


def _best_fcn(*, scale: str) -> float:
    others = names(r"many-fcn-(\d+)", scale).values()
    return max(v for n in others for v in _rows(n, scale, "identity", PATTERNS))


MANY = trained(
    id="id/Fig1",
    runs=looks(r"many-cnn-(\d+)", r"many-fcn-(\d+)"),
    items=("Fig1", "Fig40"),
    title="With many examples a CNN learns the identity off the digits, an FCN does not",
    statement=(r"\overline{\cos}(f(x),x)\text{ on patterns: CNN} \ge \text{FCN}"),
    where="Figures 1 and 40",
    predict=_best_fcn,
    measure=_measure_patterns,
    compare=AtLeast(),
    # The identity itself.
    must_refute=_the_constant_itself,
    version=2,
    figure="identity_figure_1",
)

# --- starts and optimisers ------------------------------------------------------------


def _farther_than_seeds(figure: int, what: str, found: str) -> Claim:
    return Claim(
        id=f"id/Fig{figure}",
        items=(f"Fig{figure}",),
        title=f"{what} lead to different functions, farther apart than two seeds do",
        statement=r"\|f_s-f_{s'}\|/\|f\|>\text{that of two seeds, on unseen images}",
        source=Source(KEY, f"Figure {figure}"),
        evidence=Evidence.TREND,
        open_reason=(
            "needs the outputs of several seeds of each: two seeds of one scheme are 0.34"
            f" to 0.42 apart, {found}"
        ),
        figure=f"identity_figure_{figure}",
        version=2,
    )


SCHEMES = _farther_than_seeds(31, "Initial schemes", "schemes 0.20 to 0.78")
OPTIMISERS = _farther_than_seeds(32, "Optimisers", "optimisers 0.08 to 0.28")

# --- other images ---------------------------------------------------------------------


def _measure_digits(*, scale: str) -> list[float]:
    """Constant's correlation of five layers, each digit."""
    return curve("digits-depth-5", scale, "constant")


def _one_layer(*, scale: str) -> float:
    return max(curve("cnn-depth-1", scale, "constant"))


DIGITS = trained(
    id="id/Fig37",
    runs=NETWORKS.looks("cnn-depth-1", "digits-depth-5"),
    items=("Fig37",),
    title="Every digit tells the same story",
    statement=(
        r"\overline{\cos}(f(x),\hat x):\ 5\text{ layers} \ge 1\text{ layer},"
        r"\ \text{for each of ten digits}"
    ),
    where="Figure 37",
    predict=_one_layer,
    measure=_measure_digits,
    compare=AtLeast(),
    must_refute=_the_constant_itself,
    version=2,
)


def _mixture_share(count: int, layers: int | None = None, *, scale: str) -> float:
    """Share of the outputs' squared norm that is a mixture of training images.

    A mean over unseen images, of networks of so many layers, or the deepest.
    """
    found = names(rf"images-{count}-depth-(\d+)", scale)
    name = found[layers or max(found)]
    explained = measured(name, scale, "predictions/explained")
    return float(np.mean(explained[:, count:]))


def _mixtures(count: int, figure: int) -> Claim:
    words = {2: "two", 3: "three"}[count]
    return trained(
        id=f"id/Fig{figure}",
        runs=looks(rf"images-{count}-depth-(\d+)"),
        items=(f"Fig{figure}",),
        title=f"Deeper networks of {words} images put out more of mixtures of them",
        statement=(
            r"\|\Pi_{\mathrm{span}(\hat x_i)}f(x)\|^2/\|f(x)\|^2:"
            r"\ \text{deep} \ge 5\text{ layers}"
        ),
        where=f"Figure {figure}",
        predict=partial(_mixture_share, count, 5),
        measure=partial(_mixture_share, count),
        compare=AtLeast(),
        # Mixtures and nothing else.
        must_refute=_the_constant_itself,
        version=2,
        finding="Two thirds at most are mixtures, a third in five layers.",
    )


TWO, THREE = _mixtures(2, 38), _mixtures(3, 39)


def _deep_colour(pattern: str, *, scale: str) -> list[float]:
    """Correlations of the deepest network to the constant."""
    found = names(pattern, scale)
    return curve(found[max(found)], scale, "constant")


def _shallow_colour(pattern: str, *, scale: str) -> float:
    """The largest one of the shallowest network."""
    found = names(pattern, scale)
    return max(curve(found[min(found)], scale, "constant"))


def _colour(kind: str, figure: int) -> Claim:
    words = {"cnn": "Convolutional", "fcn": "Fully connected"}[kind]
    return trained(
        id=f"id/Fig{figure}",
        runs=looks(rf"colour-{kind}-(\d+)"),
        items=(f"Fig{figure}",),
        title=f"{words} networks on a colour image: the same story",
        statement=(r"\overline{\cos}(f(x),\hat x):\ \text{deep} \ge \text{shallow}"),
        where=f"Figure {figure}",
        predict=partial(_shallow_colour, rf"colour-{kind}-(\d+)"),
        measure=partial(_deep_colour, rf"colour-{kind}-(\d+)"),
        compare=AtLeast(),
        must_refute=_the_constant_itself,
        version=2,
        figure="identity_figure_42" if kind == "cnn" else "",
        finding=(
            "Quick and full profiles: three digits as the channels of one image stand in"
            " for CIFAR-10."
        ),
    )


COLOUR_CNN, COLOUR_FCN = _colour("cnn", 42), _colour("fcn", 43)
