"""Networks trained on one image: sizes, kernels, channels, starts, other images."""

import itertools
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from verify.claim import Claim
from verify.claims.identity_map._runs import (
    NETWORKS,
    curve,
    ladder,
    looks,
    measured,
    names,
    run,
)
from verify.claims.identity_map.training import trained, trend
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
    "The same in mean squared error to the constant",
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


def _measure_deeper(*, scale: str) -> list[float]:
    """Five layers less the deepest of the sweep, correlations to the constant."""
    found = names(_widest(scale), scale)
    shallow = max(curve(found[5], scale, "constant"))
    return [shallow - v for v in curve(found[max(found)], scale, "constant")]


def _zero(*, scale: str) -> float:
    return 0.0


def _much_smaller(*, scale: str) -> float:
    return -0.9


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
    predict=_zero,
    measure=_measure_deeper,
    compare=AtMost(),
    must_refute=_much_smaller,
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
    """Identity on patterns: the CNN's less that of each fully connected network."""
    (cnn,) = names(r"many-cnn-(\d+)", scale).values()
    mine = max(_rows(cnn, scale, "identity", PATTERNS))
    others = names(r"many-fcn-(\d+)", scale).values()
    return [mine - v for n in others for v in _rows(n, scale, "identity", PATTERNS)]


def _all(*, scale: str) -> float:
    return 1.5


MANY = trained(
    id="id/Fig1",
    runs=looks(r"many-cnn-(\d+)", r"many-fcn-(\d+)"),
    items=("Fig1", "Fig40"),
    title="With many examples a CNN learns the identity off the digits, an FCN does not",
    statement=(r"\overline{\cos}(f(x),x)\text{ on patterns: CNN} \ge \text{FCN}"),
    where="Figures 1 and 40",
    predict=_zero,
    measure=_measure_patterns,
    compare=AtLeast(),
    must_refute=_all,
    figure="identity_figure_1",
)

# --- starts and optimisers ------------------------------------------------------------


def _outputs(name: str, scale: str) -> Array:
    """Outputs on the unseen images of the first draw of every group, (groups, pixels)."""
    draws = run(name, scale).draws
    # The first images are those that were trained on.
    seen = len(draws[0].key("labels"))
    found = draws.where(seed=draws[0].seed).series("predictions/outputs")[:, seen:]
    return found.reshape(len(found), -1)


def _least_distance(outputs: Array) -> float:
    """Least distance of any two, over the norm of the larger one."""
    pairs = itertools.combinations(outputs, 2)
    return min(
        float(np.linalg.norm(a - b) / max(np.linalg.norm(a), np.linalg.norm(b)))
        for a, b in pairs
    )


def _measure_schemes(*, scale: str) -> float:
    return _least_distance(_outputs("schemes-depth-5", scale))


def _measure_optimisers(*, scale: str) -> float:
    found = ("sgd", "adagrad", "rmsprop", "adam", "adamax")
    each = [_outputs(f"optimiser-{name}-depth-5", scale)[:1] for name in found]
    return _least_distance(np.concatenate(each))


def _a_twentieth(*, scale: str) -> float:
    return 0.05


def _wholly(*, scale: str) -> float:
    return 2.0


SCHEMES = trained(
    id="id/Fig31",
    runs=NETWORKS.looks("schemes-depth-5"),
    items=("Fig31",),
    title="Initial schemes lead to different functions",
    statement=r"\min_{s\ne s'}\|f_s-f_{s'}\|/\|f\| \ge 0.05 \text{ on unseen images}",
    where="Figure 31",
    predict=_a_twentieth,
    measure=_measure_schemes,
    compare=AtLeast(),
    must_refute=_wholly,
    figure="identity_figure_31",
)

OPTIMISERS = trained(
    id="id/Fig32",
    runs=NETWORKS.looks(r"optimiser-\w+-depth-5"),
    items=("Fig32",),
    title="Optimisers lead to different functions from the same start",
    statement=r"\min_{o\ne o'}\|f_o-f_{o'}\|/\|f\| \ge 0.05 \text{ on unseen images}",
    where="Figure 32",
    predict=_a_twentieth,
    measure=_measure_optimisers,
    compare=AtLeast(),
    must_refute=_wholly,
    figure="identity_figure_32",
)

# --- other images ---------------------------------------------------------------------


def _measure_digits(*, scale: str) -> list[float]:
    """Constant's correlation of five layers, each digit, less that of one layer."""
    linear = max(curve("cnn-depth-1", scale, "constant"))
    return [v - linear for v in curve("digits-depth-5", scale, "constant")]


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
    predict=_zero,
    measure=_measure_digits,
    compare=AtLeast(),
    must_refute=_all,
)


def _mixture_share(count: int, *, scale: str) -> float:
    """How much more of the deep network's outputs are mixtures of training images.

    Shares of the squared norm, means over unseen images: deepest less five layers.
    """
    found = names(rf"images-{count}-depth-(\d+)", scale)
    deepest = max(found)
    shares: list[float] = []
    for layers in (5, deepest):
        explained = measured(found[layers], scale, "predictions/explained")
        shares.append(float(np.mean(explained[:, count:])))
    return shares[1] - shares[0]


def _mixtures(count: int, figure: int) -> Claim:
    words = {2: "two", 3: "three"}[count]
    return trained(
        id=f"id/Fig{figure}",
        runs=looks(rf"images-{count}-depth-(\d+)"),
        items=(f"Fig{figure}",),
        title=f"Deep networks of {words} images put out mixtures of them",
        statement=(
            r"\|\Pi_{\mathrm{span}(\hat x_i)}f(x)\|^2/\|f(x)\|^2:"
            r"\ \text{deep} \ge 5\text{ layers}"
        ),
        where=f"Figure {figure}",
        predict=_zero,
        measure=partial(_mixture_share, count),
        compare=AtLeast(),
        must_refute=_all,
    )


TWO, THREE = _mixtures(2, 38), _mixtures(3, 39)


def _deeper_colour(pattern: str, *, scale: str) -> float:
    """Deepest less shallowest network, correlations to the constant; worst draws."""
    found = names(pattern, scale)
    shallow, deep = (found[k] for k in (min(found), max(found)))
    return min(curve(deep, scale, "constant")) - max(curve(shallow, scale, "constant"))


def _colour(kind: str, figure: int) -> Claim:
    words = {"cnn": "Convolutional", "fcn": "Fully connected"}[kind]
    return trained(
        id=f"id/Fig{figure}",
        runs=looks(rf"colour-{kind}-(\d+)"),
        items=(f"Fig{figure}",),
        title=f"{words} networks on a colour image: the same story",
        statement=(r"\overline{\cos}(f(x),\hat x):\ \text{deep} \ge \text{shallow}"),
        where=f"Figure {figure}",
        predict=_zero,
        measure=partial(_deeper_colour, rf"colour-{kind}-(\d+)"),
        compare=AtLeast(),
        must_refute=_all,
        figure="identity_figure_42" if kind == "cnn" else "",
        finding=(
            "Quick and full profiles: three digits as the channels of one image stand in"
            " for CIFAR-10."
        ),
    )


COLOUR_CNN, COLOUR_FCN = _colour("cnn", 42), _colour("fcn", 43)
