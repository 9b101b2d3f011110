"""One convolution trained on one image: its limit, its rank, its error (section 1)."""

import math
import re
import sys
from typing import Any

import flint
import mpmath
import numpy as np
import numpy.typing as npt
import torch
from hypothesis import strategies as st
from torch.nn.functional import conv2d, interpolate

from empirical import data
from theory import identity_map as idm
from verify.claim import adversarial, grid, numeric
from verify.claims._descent import descend
from verify.claims._predictors import changed, drawn, mistake, times, unlike
from verify.claims._searches import SEEDS, searched
from verify.claims.identity_map._framework import as_batch, columns, squared_error
from verify.claims.identity_map._rational import Integers, nearest_solution
from verify.claims.identity_map._sources import as_read, ours, quoted
from verify.compare import (
    AgreesTo,
    Array,
    AtMost,
    Identical,
    Outcome,
)


def _noise(height: int, width: int, channels: int, seed: int) -> Integers:
    """An image of whole numbers, (H, W, C)."""
    rng = np.random.default_rng([40, seed])
    return rng.integers(-5, 6, (height, width, channels))


def _start(kernel: int, channels: int, seed: int) -> Integers:
    """Initial weights of whole numbers, in the framework's layout."""
    rng = np.random.default_rng([41, seed])
    return rng.integers(-3, 4, (channels, channels, kernel, kernel))


def _layer(
    height: int, width: int, channels: int, kernel: int, seed: int
) -> tuple[Integers, Integers]:
    """An image and initial weights."""
    return _noise(height, width, channels, seed), _start(kernel, channels, seed)


def _tested(
    side: int, test: int, channels: int, kernel: int, seed: int
) -> tuple[Integers, Integers, Integers]:
    """An image, initial weights, and an image of another size to test with."""
    image, w0 = _layer(side, side + 1, channels, kernel, seed)
    return image, w0, _noise(test, test + 1, channels, seed + 1)


def _framework_patches(image: npt.NDArray[Any], kernel: int) -> Integers:
    """Patches by the framework, (H W, C K K): channels first, as in its weights."""
    return columns(image, kernel).numpy().round().astype(np.int64)


# --- patches --------------------------------------------------------------------------


@drawn(_layer)
def _measure_layer(image: Integers, w0: Integers) -> Array:
    """Outputs by the framework, and the image itself, which is the target."""
    x = as_batch(image).double()
    outputs = conv2d(x, torch.from_numpy(w0).double(), padding=w0.shape[-1] // 2)
    return torch.cat([outputs, x], dim=1)[0].numpy().transpose(1, 2, 0)


@drawn(_layer)
def _predict_layer(image: Integers, w0: Integers) -> Array:
    return _by_patches(image, w0)


def _by_patches(image: Integers, w0: Integers) -> Array:
    """What these weights make of the patches, and what their centre taps do."""
    kernel, weights = w0.shape[-1], idm.weights_from_framework(w0)
    both = np.hstack([weights, idm.centre_selector(kernel, image.shape[2])])
    return (idm.patches(image, kernel) @ both).reshape(*image.shape[:2], -1)


@drawn(_layer)
def _mirrored(image: Integers, w0: Integers) -> Array:
    """The convolution of mathematics, with its kernel turned round."""
    return _by_patches(image, w0[:, :, ::-1, ::-1])


PATCH = adversarial(
    id="id/patch",
    title="A convolution is patches times weights, and its target the patches' centres",
    statement=r"\mathrm{conv}(x, W) = X W,\quad X\in\mathbb R^{HW\times K^2C},\quad"
    r" Y = X\Lambda",
    source=quoted("Appendix D"),
    cases=grid(height=(1, 5), width=7, channels=(1, 3), kernel=(3, 9), seed=0),
    examples=searched(
        height=st.integers(1, 9),
        width=st.integers(1, 9),
        channels=st.integers(1, 4),
        kernel=st.sampled_from((1, 3, 5, 7, 11)),
        seed=SEEDS,
    ),
    max_examples=100,
    predict=_predict_layer,
    measure=_measure_layer,
    # Whole numbers: sums of products below 2^53 are exact.
    compare=AgreesTo(absolute=0.0),
    must_refute=_mirrored,
)

# --- the trained layer ----------------------------------------------------------------


def _float_problem(
    size: int, channels: int, kernel: int, seed: int
) -> tuple[Array, Array, float]:
    """Return an image, initial weights and a rate for which descent converges.

    No curvature exceeds 2 K^2 max|x|^2.
    """
    rng = np.random.default_rng([42, seed])
    image = rng.standard_normal((size, size + 1, channels))
    w0 = 0.2 * rng.standard_normal((channels, channels, kernel, kernel))
    return image, w0, 0.1 / (kernel**2 * float((image**2).sum(axis=2).max()))


_STEPS = (0, 1, 2, 7, 30, 120)


@drawn(_float_problem)
def _measure_path(
    image: Array,
    w0: Array,
    rate: float,
    momentum: float,
    loss: str = "mean",
    slow: float = 1.0,
) -> list[Array]:
    """Weights after each of some steps, what they make of one pixel, and their error.

    At a rate that many times as large, from zero, only the weights, over it.
    """
    start = w0 if slow == 1.0 else 0.0 * w0
    weight, inputs, padding = torch.tensor(start), as_batch(image), w0.shape[-1] // 2
    found = descend(
        [weight],
        lambda: squared_error(conv2d(inputs, weight, padding=padding), inputs, loss),
        steps=_STEPS,
        rate=slow * _rate(rate, image, loss),
        momentum=momentum,
    )
    if slow != 1.0:
        return [weights.ravel() / slow for (weights,) in found]
    each: list[Array] = []
    for (weights,) in found:
        y = conv2d(inputs, torch.from_numpy(weights), padding=padding)
        error = float(squared_error(y, inputs, "mean"))
        each.append(np.concatenate([weights.ravel(), y[0, :, 0, 0].numpy(), [error]]))
    return each


def _rate(rate: float, image: Array, loss: str) -> float:
    """Return a rate for the mean of squares as one for half their sum."""
    return rate if loss == "mean" else 2.0 * rate / image.size


@drawn(_float_problem)
def _path(
    image: Array,
    w0: Array,
    rate: float,
    momentum: float,
    loss: Any = "mean",
    slow: float = 1.0,
    later: int = 0,
) -> list[Array]:
    kernel, start = w0.shape[-1], idm.weights_from_framework(w0)
    start = start if slow == 1.0 else 0.0 * start
    descent: dict[str, Any] = {
        "steps": np.array(_STEPS) + later,
        "learning_rate": slow * _rate(rate, image, loss),
        **unlike({"momentum": 0.0, "loss": "half_sum"}, momentum=momentum, loss=loss),
    }
    # Of two starts at once the second is looked at.
    starts = np.stack([0.0 * start, start])
    weights = idm.one_layer_conv_weights(image, kernel, starts, **descent)[:, 1]
    if slow != 1.0:
        return [idm.weights_to_framework(w, kernel).ravel() / slow for w in weights]
    outputs = idm.one_layer_conv_prediction(image, image, starts, **descent)[:, 1]
    errors = idm.one_layer_conv_mse(image, image, starts, **descent)[:, 1]
    return [
        np.concatenate([idm.weights_to_framework(w, kernel).ravel(), y[0, 0], [error]])
        for w, y, error in zip(weights, outputs, errors, strict=True)
    ]


PATH = numeric(
    id="id/conv-path",
    title="Every gradient step of one convolution, in closed form",
    statement=(
        r"W^t = W^0 + \textstyle\sum_{i\le r}(1-a_t(\sigma_i))\,v_iv_i^T(\Lambda-W^0)"
    ),
    source=ours("Appendix D; the finite steps are ours"),
    assumptions=(
        "σ_i, v_i: singular values and right vectors of the patches",
        "a_t(σ): what id/eq4 has of curvature σ², for the mean loss 2σ²/(|ξ|C)",
    ),
    cases=(
        *grid(size=(4, 9), channels=(1, 3), kernel=(3, 5), momentum=(0.0, 0.9), seed=0),
        *grid(
            size=4, channels=3, kernel=3, momentum=(0.0, 0.9), seed=0, loss="half_sum"
        ),
        # What is learnt from zero at rates next to nothing: a share of 1e-15, 1e-27.
        *(
            {"size": 4, "channels": 3, "kernel": 3, "momentum": m, "seed": 0}
            | {"slow": slow}
            for m, slow in ((0.9, 2.0**-50), (0.0, 2.0**-90))
        ),
    ),
    predict=_path,
    measure=_measure_path,
    # 120 roundings of weights of size 1, and of as many slopes: an eps a step.
    compare=AgreesTo(relative=3e-14, of_largest=True),
    must_refute=mistake("The weights one step later.", later=1),
    uses=("id/conv",),
)


def _limit(image: Integers, w0: Integers) -> Array:
    """Weights (C_out, C K K) of the limit, in rational numbers.

    The closest point to W0 that solves X W = Y: exact, and without a projector.
    """
    channels, kernel = w0.shape[0], w0.shape[-1]
    x = _framework_patches(image, kernel)
    y = image.reshape(-1, channels)
    return nearest_solution(x, y, w0.reshape(channels, -1).T).T


@drawn(_layer)
def _predict_limit(image: Integers, w0: Integers) -> Array:
    kernel, start = w0.shape[-1], idm.weights_from_framework(w0)
    weights = idm.one_layer_conv_weights(image, kernel, start)
    return idm.weights_to_framework(weights, kernel).reshape(len(w0), -1)


@drawn(_layer)
def _the_identity(_image: Integers, w0: Integers) -> Array:
    """The identity, also on patches that were not trained on."""
    channels, kernel = w0.shape[0], w0.shape[-1]
    weights = idm.centre_selector(kernel, channels)
    return idm.weights_to_framework(weights, kernel).reshape(channels, -1)


LIMIT = numeric(
    id="id/conv",
    title="A trained convolution is the identity on the patches it was trained on",
    statement=r"\hat W = \Pi_\parallel\Lambda + \Pi_\perp W^0",
    source=quoted("Appendix D"),
    cases=(
        *grid(height=2, width=(2, 3), channels=(1, 2), kernel=(3, 5), seed=(0, 1)),
        *grid(height=6, width=6, channels=(1, 2), kernel=3, seed=0),
    ),
    predict=_predict_limit,
    measure=drawn(_layer)(_limit),
    # Five eps times condition numbers below 8: a decomposition and two products.
    compare=AgreesTo(relative=1e-14, of_largest=True),
    must_refute=_the_identity,
    uses=("id/lem1-rational", "id/patch"),
    finding="Measured in exact rational arithmetic, on integer images.",
)


def _on_test(image: Integers, w0: Integers, test: Integers) -> Array:
    """What the exact limit makes of an image of another size."""
    outputs = conv2d(
        as_batch(test).double(),
        torch.from_numpy(_limit(image, w0).reshape(w0.shape)),
        padding=w0.shape[-1] // 2,
    )
    return outputs[0].numpy().transpose(1, 2, 0)


@drawn(_tested)
def _predict_test(image: Integers, w0: Integers, test: Integers) -> Array:
    return idm.one_layer_conv_prediction(image, test, idm.weights_from_framework(w0))


@drawn(_tested)
def _untrained_test(_image: Integers, w0: Integers, test: Integers) -> Array:
    """The output of the untrained convolution."""
    weights = idm.weights_from_framework(w0)
    return (idm.patches(test, w0.shape[-1]) @ weights).reshape(test.shape)


TEST_IMAGE = numeric(
    id="id/conv-prediction",
    items=("Conv", "Fig6", "Fig20"),
    title="The output of one trained convolution for any image of any size",
    statement=(
        r"\hat f(x) = \Lambda^TP + (W^0-\Lambda)^T\Pi_\perp P;\qquad"
        r" r = K^2C \Rightarrow \hat f(x) = x"
    ),
    source=quoted("Appendix D"),
    cases=grid(side=(2, 3, 7), test=(1, 12), channels=(1, 2), kernel=3, seed=0),
    predict=_predict_test,
    measure=drawn(_tested)(_on_test),
    # As id/conv, with condition numbers below 20.
    compare=AgreesTo(relative=2e-14, of_largest=True),
    must_refute=_untrained_test,
    uses=("id/conv",),
)


@drawn(_tested)
def _measure_one_mse(image: Integers, w0: Integers, test: Integers) -> float:
    return float(np.mean((_on_test(image, w0, test) - test) ** 2))


@drawn(_tested)
def _predict_one_mse(image: Integers, w0: Integers, test: Integers) -> float:
    return float(idm.one_layer_conv_mse(image, test, idm.weights_from_framework(w0)))


ONE_MSE = numeric(
    id="id/conv-error",
    items=("Conv", "MSE"),
    title="The error of one trained convolution on a given image, in closed form",
    statement=r"\mathrm{MSE}=\frac1{|\xi|C}\textstyle\sum\|(W^0-\Lambda)^T\Pi_\perp P\|^2",
    source=quoted("Appendix D"),
    cases=(
        *grid(side=(2, 3, 7), test=(1, 12), channels=(1, 2), kernel=3, seed=0),
        # So large that its patches are multiplied in blocks.
        *grid(side=2, test=500, channels=2, kernel=3, seed=0),
    ),
    predict=_predict_one_mse,
    measure=_measure_one_mse,
    # Squares of what id/conv-prediction allows; nothing is left of either side where the
    # image spans everything.
    compare=AgreesTo(relative=4e-14),
    must_refute=mistake("Half of the error, as of a half-sum loss.", then=times(0.5)),
    uses=("id/conv-prediction",),
)


def _trained_on(side: int, channels: int) -> tuple[Array, list[Array]]:
    """Return a training image, and two to test with."""
    image = np.random.default_rng(43).standard_normal((side, side + 1, channels))
    test = np.random.default_rng(45).standard_normal((side, side, channels))
    return image, [test, np.ones((2 * side, side + 3, channels))]


_SLOW = 0.01


@drawn(_trained_on)
def _measure_mse(
    image: Array,
    tests: list[Array],
    kernel: int,
    scale: float,
    steps: list[int] | None,
    momentum: float = 0.0,
    loss: str = "half_sum",
) -> Array:
    """What is left of every initial weight alone, and learnt from none, squared and added.

    By steps of descent, or at its end by the smallest change that fits the image.
    """
    channels = image.shape[2]
    patches, y = columns(image, kernel), torch.from_numpy(image.reshape(-1, channels))

    def course(start: torch.Tensor, targets: torch.Tensor) -> list[Array]:
        if steps is None:
            missing = targets - patches @ start
            change = torch.linalg.lstsq(patches, missing, driver="gelsd").solution
            return [(start + change).numpy()]
        found, ball = [], torch.zeros_like(start)
        for _ in range(max(steps) + 1):
            found.append(start.numpy())
            ball = momentum * ball + patches.T @ (patches @ start - targets)
            start = start - _SLOW * ball
        return [found[step] for step in steps]

    every = torch.eye(patches.shape[1], dtype=torch.float64)
    kept = course(every, 0.0 * patches @ every)
    learnt = course(0.0 * every[:, :channels], y)
    found = []
    for test in tests:
        seen, want = columns(test, kernel).numpy(), test.reshape(-1, channels)
        for left, known in zip(kept, learnt, strict=True):
            spread = scale**2 * np.square(seen @ left).sum(axis=1)
            found.append(spread.mean() + np.square(seen @ known - want).mean())
    return np.array(found)


@drawn(_trained_on)
def _predict_mse(
    image: Array,
    tests: list[Array],
    kernel: int,
    scale: float,
    steps: list[int] | None,
    momentum: float = 0.0,
    loss: Any = "half_sum",
) -> Array:
    given: dict[str, Any] = {}
    if steps:
        given = unlike(
            {"momentum": 0.0, "loss": "half_sum"}, momentum=momentum, loss=loss
        )
        # The mean of squares has slopes smaller by half their number.
        slow = _SLOW if loss == "half_sum" else _SLOW * image.size / 2.0
        given |= {"steps": steps, "learning_rate": slow}
    return np.ravel(
        [idm.expected_mse(image, kernel, t, scale=scale, **given) for t in tests]
    )


def _weights_alone(**case: Any) -> Array:
    """The error without the part of the identity that was not shown."""
    return _predict_mse(**case) - _predict_mse(**{**case, "scale": 1e-9})


EXPECTED_MSE = numeric(
    id="id/conv-mse",
    items=("Conv", "MSE", "Thm2"),
    title="The expected error of one convolution over its initial weights, at any step",
    statement=(
        r"\mathbb{E}\,\mathrm{MSE}_t=\sigma^2\,\overline{\|A_tP\|^2}"
        r"+\overline{\|\Lambda^TA_tP\|^2}/C,\quad A_t=(I-\eta X^TX)^t\to\Pi_\perp"
    ),
    source=ours("Appendix D; the exact mean is ours"),
    cases=(
        *grid(
            side=(3, 5),
            channels=(1, 3),
            kernel=(3, 5),
            scale=0.3,
            steps=([0, 1, 7, 60], None),
        ),
        *grid(
            side=3,
            channels=3,
            kernel=3,
            scale=1.7,
            steps=([0, 1, 7, 60],),
            momentum=(0.0, 0.5),
            loss=("half_sum", "mean"),
        ),
    ),
    predict=_predict_mse,
    measure=_measure_mse,
    # Sixty steps of a few roundings each; the square of 1e-13 where nothing is left.
    compare=AgreesTo(relative=1e-12, absolute=1e-24),
    must_refute=_weights_alone,
    assumptions=("initial weights independent, of mean 0 and variance σ²",),
    uses=("id/conv-error", "id/conv-path"),
    finding="The paper bounds this error; its mean over initial weights is exact.",
    version=2,
)


def _spanning(channels: int) -> tuple[Array, Array, Array, float]:
    """Return an image that spans everything, initial weights, a test image, a rate."""
    rng = np.random.default_rng([48, channels])
    image = rng.integers(-5, 6, (6, 5, channels)).astype(np.float64)
    w0 = rng.integers(-3, 4, (9 * channels, channels)).astype(np.float64)
    test = rng.integers(-5, 6, (3, 4, channels)).astype(np.float64)
    return image, w0, test, 1.0 / 512.0 / channels


@drawn(_spanning)
def _predict_far(
    image: Array,
    w0: Array,
    test: Array,
    rate: float,
    momentum: float,
    steps: list[int],
) -> Array:
    how: dict[str, Any] = {
        "steps": steps,
        "learning_rate": rate,
        **unlike({"momentum": 0.0}, momentum=momentum),
    }
    found = idm.one_layer_conv_mse(image, test, w0, **how)
    return np.append(found, idm.expected_mse(image, 3, test, scale=0.3, **how))


@drawn(_spanning)
def _measure_far(
    image: Array,
    w0: Array,
    test: Array,
    rate: float,
    momentum: float,
    steps: list[int],
) -> list[Any]:
    """Powers of a step of heavy ball, a matrix of buffer and weights, to 60 digits."""
    channels, exact = image.shape[2], np.vectorize(mpmath.mpf, otypes=[object])
    with mpmath.workdps(60):
        x, one = exact(columns(image, 3).numpy()), exact(np.eye(len(w0)))
        slope, ball = x.T @ x, mpmath.mpf(momentum)
        rows = [[ball * one, slope], [-rate * ball * one, one - rate * slope]]
        step, size = mpmath.matrix(np.block(rows).tolist()), len(w0)
        centre = np.kron(np.eye(channels), np.eye(9)[:, 4:5])
        error = mpmath.matrix((w0 - centre).tolist())
        seen, centre = (
            mpmath.matrix(v.tolist()) for v in (columns(test, 3).numpy(), centre)
        )
        given, expected = [], []
        for taken in steps:
            power: Any = step**taken
            left = seen * power[size:, size:]
            outputs = (left * error, left, left * centre)
            own, spread, known = (sum(v * v for v in y) / test.size for y in outputs)
            given.append(own)
            expected.append(mpmath.mpf(0.3) ** 2 * channels * spread + known)
        return [*given, *expected]


FAR = numeric(
    id="id/conv-far",
    items=("Conv", "MSE"),
    title="The error of a convolution keeps its digits while descent makes it vanish",
    statement=(
        r"\mathrm{MSE}_t=\tfrac1{|\xi|C}\textstyle\sum\|(W^0-\Lambda)^TA_tP\|^2,"
        r"\quad A_t\to0\text{ for } r=K^2C"
    ),
    source=ours("Appendix D; the finite steps are ours"),
    cases=(
        *grid(channels=1, momentum=(0.0, 0.9), steps=([0, 10, 100, 700],)),
        *grid(channels=2, momentum=0.0, steps=([10, 1000],)),
    ),
    predict=_predict_far,
    measure=_measure_far,
    # Of what is left twice the logarithm, of 48 at most, times half an eps and the square
    # of condition numbers, 23.
    compare=AgreesTo(relative=2.5e-13),
    must_refute=mistake(
        "The error one step later.", steps=lambda steps: [step + 1 for step in steps]
    ),
    uses=("id/conv-mse", "id/conv-path"),
)

# --- rank -----------------------------------------------------------------------------


def _picture(kind: str, side: int, channels: int) -> Integers:
    """Return a training image of whole numbers, (side, side, channels)."""
    if kind == "noise":
        return _noise(side, side, channels, 7)
    if kind == "constant":
        return np.full((side, side, channels), 3)
    digits = data.load("mnist", cached=False)
    digit = digits.images[np.flatnonzero(digits.labels == 7)[0]]
    small = interpolate(
        torch.from_numpy(digit.astype(np.float64))[None, None],
        size=(side, side),
        mode="bilinear",
        antialias=True,
    )[0, 0]
    # Standardised pixels are an affine function of these: only the offset counts.
    whole = small.numpy().round().astype(np.int64)[..., None] - 33
    return np.repeat(whole, channels, axis=2)


def _exact_rank(image: Integers, kernel: int) -> int:
    """Return the rank of an image's patches, whole numbers as they are."""
    return int(flint.fmpz_mat(_framework_patches(image, kernel).tolist()).rank())


@drawn(_picture)
def _measure_rank(image: Integers, kernel: int) -> int:
    return _exact_rank(image, kernel)


@drawn(_picture)
def _measure_decision(image: Integers, kernel: int) -> list[Any]:
    """Rank, condition number, whether all of patch space is spanned, what is not, and 0.

    The last is a singular value that is exactly zero over the least that is not. They
    are roots of eigenvalues of the Gram matrix of whole numbers, which has no rounding;
    its exact rank says how many of them there are.
    """
    x = _framework_patches(image, kernel)
    with mpmath.workdps(40):
        values = mpmath.eigsy(mpmath.matrix((x.T @ x).tolist()), eigvals_only=True)
        largest, rank = sorted(values, reverse=True), _exact_rank(image, kernel)
        condition = mpmath.sqrt(largest[0]) / mpmath.sqrt(largest[rank - 1])
    missing = kernel**2 * image.shape[2] - rank
    return [rank, condition, float(missing == 0), float(missing), 0.0]


@drawn(_picture)
def _predict_decision(image: Integers, kernel: int) -> list[float]:
    found = idm.patch_rank(image, kernel)
    parts = (found.rank, found.condition, found.full, found.nullity, 1.0 / found.gap)
    return [float(v) for v in parts]


def _without_padding(
    *, kind: str, side: int, channels: int, kernel: int
) -> list[float]:
    """The smaller of the numbers of weights and of windows inside the picture."""
    right = _predict_decision(kind=kind, side=side, channels=channels, kernel=kernel)
    inside = max(side - kernel + 1, 0) ** 2
    return [float(min(inside, kernel**2 * channels)), *right[1:]]


RANK = numeric(
    id="id/rank",
    title="The rank of one image's patches, how clear it is, and their condition number",
    statement=(
        r"r=\operatorname{rank}X:\quad \text{noise and digits reach } K^2C"
        r"\text{ quickly, equal colours stop at } K^2;\quad\kappa=\sigma_1/\sigma_r,"
        r"\quad n=K^2C-r"
    ),
    source=ours("After Theorem 2 and in Appendix D; ranks and conditions are ours"),
    cases=(
        *grid(kind="noise", side=(1, 2, 3, 4, 5, 6, 7), channels=1, kernel=(3, 5)),
        *grid(kind="digit", side=(5, 7, 14), channels=1, kernel=(3, 5)),
        *grid(kind="digit", side=(7, 14), channels=3, kernel=3),
        *grid(kind="noise", side=(4, 7), channels=3, kernel=3),
        *grid(kind="constant", side=(3, 5, 8), channels=1, kernel=(3, 5)),
    ),
    predict=_predict_decision,
    measure=_measure_decision,
    # eps times the condition number, which is below 1e3 here; zeros likewise.
    compare=AgreesTo(relative=1e-12, absolute=1e-12),
    must_refute=_without_padding,
    uses=("id/patch",),
    finding="Measured as the exact rank of whole-number patches.",
    version=2,
)


_ROUNDING = 16 * 2.0**-52
"""Of singular values, in units of the largest, for matrices of at most 16 rows."""


def _measure_gap(
    *, least: float, dropped: float, tolerance: float | None, top: float = 3.0
) -> list[float]:
    """Kept over dropped, the rank and the condition of a matrix with these entries."""
    entries = [top, least, dropped]
    kept = [v for v in entries if v > (tolerance or _ROUNDING) * top]
    if not kept:
        return [1.0, 0.0, 1.0]
    gap = min(kept) / max(v for v in entries if v not in kept)
    return [gap, float(len(kept)), top / min(kept)]


def _predict_gap(
    *, least: float, dropped: float, tolerance: float | None, top: float = 3.0
) -> list[float]:
    # In any order.
    rank = idm.decide_rank([least, dropped, top], (5, 3), rank_tolerance=tolerance)
    return [rank.gap, float(rank.rank), rank.condition]


def _one_fewer(*, least: float, top: float = 3.0, **_case: Any) -> list[float]:
    """A gap of one singular value fewer."""
    return [top / max(least, 1e-300), 1.0, 1.0]


GAP = numeric(
    id="id/rank-gap",
    title=(
        "The gap between singular values that count towards the rank and those that do not"
    ),
    statement=(
        r"\sigma_r/\sigma_{r+1},\quad \sigma_r > \tau\sigma_1 \ge \sigma_{r+1},\quad"
        r" \kappa=\sigma_1/\sigma_r"
    ),
    source=ours("Appendix D; the decision is ours"),
    cases=(
        # Relative to the largest, which is three.
        *grid(least=(1.0, 4e-6), dropped=(2e-6, 1e-12), tolerance=1e-6),
        # Above one rounding, below those of a decomposition.
        {"least": 1e-3, "dropped": 6e-15, "tolerance": None},
        # Nothing counts, and nothing is dropped from anything.
        {"least": 0.0, "dropped": 0.0, "tolerance": 1e-6, "top": 0.0},
    ),
    predict=_predict_gap,
    measure=_measure_gap,
    # A quotient of given numbers.
    compare=AgreesTo(relative=1e-15),
    must_refute=_one_fewer,
    uses=("id/rank",),
)


_FAINT = 1e-3
"""The second pixel of an image of two, and its part of the largest singular value."""


def _diagonal() -> tuple[Array, Array, Array]:
    """Return an image of two pixels and channels, initial weights, an image to test."""
    image = np.diag([1.0, _FAINT]).reshape(2, 1, 2)
    return image, np.array([[3.0, -2.0], [0.5, 4.0]]), np.array([[[2.0, -1.0]]])


def _predict_tolerated(*, tolerance: float | None) -> list[float]:
    image, w0, test = _diagonal()
    how: dict[str, Any] = {"rank_tolerance": tolerance}
    matrix = image.reshape(2, 2)
    numbers = [
        float(idm.patch_rank(image, 1, **how).rank),
        float(idm.promise(image, 1, scale=0.3, **how).nullity),
        float(idm.one_layer_conv_mse(image, test, w0, **how)),
        float(idm.expected_mse(image, 1, test, scale=0.3, **how)),
        idm.worst_patch_error(image, 1, w0, **how),
        idm.split_patch_bound(image, 1, w0, **how),
    ]
    arrays = [
        idm.one_layer_conv_weights(image, 1, w0, **how),
        idm.one_layer_conv_prediction(image, test, w0, **how),
        idm.least_squares_weights(matrix, matrix, w0, **how),
    ]
    return [*numbers, *np.concatenate([a.ravel() for a in arrays]).tolist()]


def _measure_tolerated(*, tolerance: float | None) -> list[float]:
    """Of a diagonal matrix of patches: rows of weights are learnt, or stay as they were."""
    _, w0, test = _diagonal()
    seen = np.array([True, (tolerance or 0.0) < _FAINT])
    weights = np.where(seen[:, None], np.eye(2), w0)
    outputs, unseen, wrong = test @ weights, (~seen).astype(float), weights - np.eye(2)
    error = float(np.square(outputs - test).mean())
    # Of every unseen channel, the variance of two weights and the channel itself.
    expected = float(np.square(test * unseen).sum() * (0.3**2 + 1.0 / 2.0))
    first = np.linalg.norm(unseen[:, None] * w0)
    numbers = [float(seen.sum()), unseen.sum(), error, expected]
    numbers += [np.square(wrong).sum(), (first + np.linalg.norm(unseen)) ** 2]
    arrays = (weights, outputs, weights)
    return [*map(float, numbers), *np.concatenate([a.ravel() for a in arrays]).tolist()]


TOLERATED = numeric(
    id="id/rank-tolerance",
    items=("Rank", "Conv", "Lem1"),
    title="Directions that a tolerance counts as unseen keep their initial weights",
    statement=(
        r"\sigma_i\le\tau\sigma_1:\quad \hat W^Tv_i = W^{0T}v_i;\qquad"
        r"\sigma_i>\tau\sigma_1:\quad \hat W^Tv_i = \Lambda^Tv_i"
    ),
    source=ours("Appendix D; the tolerance is ours"),
    cases=grid(tolerance=(None, 0.9e-3, 1.1e-3, 0.5)),
    predict=_predict_tolerated,
    measure=_measure_tolerated,
    # A norm of two rounded numbers, squared; zeros and ones are exact.
    compare=AgreesTo(relative=2e-15),
    must_refute=mistake("The tolerance of rounding alone.", tolerance=None),
    uses=("id/conv", "id/rank-gap"),
)


def _predict_undecided(*, entries: list[float], shape: list[int]) -> list[float]:
    """Numbers that a refusal names: the entry, the threshold, rank, columns, the top."""
    try:
        idm.decide_rank(entries, (shape[0], shape[1])).require_decided("rank")
    except ValueError as error:
        found = re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?", str(error))
        return [float(v) for v in found]
    return [0.0] * 5


def _measure_undecided(*, entries: list[float], shape: list[int]) -> list[float]:
    """From rounding, as many ulps of the largest entry as the longer side has, or 16.

    Between a quarter of that and 16 times as much, and above what rounding makes.
    """
    ulp = sys.float_info.epsilon * entries[0]
    threshold = max(*shape, 16) * ulp
    known = [v for v in entries if v > 8 * ulp]
    near = min(known, key=lambda v: abs(math.log(v / threshold)))
    rank = sum(v > threshold for v in entries)
    if not threshold / 4 < near < 16 * threshold:
        return [0.0] * 5
    return [near, threshold, float(rank), float(shape[1]), entries[0]]


UNDECIDED = numeric(
    id="id/rank-undecided",
    title="A rank that rounding decides is refused with the singular value in question",
    statement=r"\sigma_k\approx\max(|\xi|,K^2C,16)\,\epsilon\,\sigma_1",
    source=ours("Appendix D; the decision is ours"),
    cases=(
        *grid(
            entries=([3.0, 2.0, 1e-14], [3.0, 4e-14, 0.0], [7.0, 2e-13, 9e-15]),
            shape=([5, 3], [40, 3], [3, 30]),
        ),
        # On both sides of every end: 8 ulps, a quarter and 16 times the threshold.
        *grid(entries=([1.0, 1.75e-15], [1.0, 1.8e-15]), shape=[[5, 2]]),
        *grid(entries=([1.0, 8.8e-15], [1.0, 8.9e-15]), shape=[[160, 2]]),
        *grid(entries=([1.0, 5.68e-14], [1.0, 5.69e-14]), shape=[[5, 2]]),
    ),
    predict=_predict_undecided,
    measure=_measure_undecided,
    # Three digits are printed.
    compare=AgreesTo(relative=5e-3),
    must_refute=mistake("The value below.", then=lambda found: [0.0, *found[1:]]),
    uses=("id/rank-gap",),
)


def _printed_rank(*, kind: str, side: int, channels: int, kernel: int) -> int:
    # |xi| <= K^2 C^2 is said to leave the patches independent.
    if side * side <= kernel**2 * channels**2:
        return side * side
    return kernel**2 * channels


@drawn(_picture)
def _predict_rank(image: Integers, kernel: int) -> int:
    """The rank of the patches."""
    return idm.patch_rank(image, kernel).rank


ERR_1 = numeric(
    id="id/Err1-as-read",
    title="An image with no more pixels than weights can have independent patches",
    statement=r"|\xi|\le K^2C^2:\quad \operatorname{rank}X = |\xi|",
    source=as_read("Appendix D, cases 1 and 2"),
    cases=grid(kind="noise", side=(7, 8), channels=3, kernel=3),
    predict=_printed_rank,
    measure=_measure_rank,
    compare=Identical(),
    must_hold=_predict_rank,
    expected=Outcome.REFUTED,
    finding=(
        "The paper splits cases by |ξ| ≤ K²C² and assumes independent patches in the"
        " first. Each output channel has K²C unknowns of its own, so between K²C and"
        " K²C² pixels no patches are: the 49 of a 7 × 7 colour image span their 27"
        " dimensions, and the layer becomes the identity. The paper's footnote passes from"
        " dependent patches to a basis of them, so that its proof stands with any rank: it"
        " is the split that should be at K²C."
    ),
    uses=("id/rank",),
)


def _counterexample(
    side: int, size: float, kernel: int = 3, channels: int = 1
) -> tuple[Array, Array]:
    """Return an image and initial weights, those of the first channel all alike."""
    image = np.zeros((side, side, channels))
    for channel in range(channels):
        image[:2, :2, channel] = np.roll([[1.0, 2.0], [3.0, -1.0]], channel)
    turns = np.outer(np.arange(channels), np.arange(channels * kernel**2))
    return image, size * np.cos(turns).reshape(channels, channels, kernel, kernel)


def _unlearnt(image: Array, w0: Array) -> tuple[Array, Array, Array]:
    """Return what training leaves of weights and of the identity, and the identity.

    By the framework: least squares to nothing from both.
    """
    channels, kernel = len(w0), w0.shape[-1]
    x = columns(image, kernel)
    centre = torch.zeros(channels, channels, kernel, kernel, dtype=torch.float64)
    for channel in range(channels):
        centre[channel, channel, kernel // 2, kernel // 2] = 1.0
    identity = centre.flatten(1).T
    starts = torch.cat([torch.from_numpy(w0).flatten(1).T, identity], dim=1)
    left = starts - torch.linalg.lstsq(x, x @ starts, driver="gelsd").solution
    return left[:, :channels].numpy(), left[:, channels:].numpy(), identity.numpy()


@drawn(_counterexample)
def _measure_worst(image: Array, w0: Array) -> float:
    """Squared error of the trained layer on the worst patch of length one."""
    weights, identity, _ = _unlearnt(image, w0)
    return float(np.linalg.norm(weights - identity, ord=2)) ** 2


@drawn(_counterexample)
def _measure_parts(image: Array, w0: Array) -> list[float]:
    """That error, and both bounds that treat weights and identity apart."""
    weights, identity, whole = _unlearnt(image, w0)
    first, second, learnt = map(np.linalg.norm, (weights, identity, whole - identity))
    worst = np.linalg.norm(weights - identity, ord=2)
    return [float(v) for v in (worst**2, (first + second) ** 2, first + learnt)]


@drawn(_counterexample)
def _predict_parts(image: Array, w0: Array) -> list[float]:
    given = image, w0.shape[-1], idm.weights_from_framework(w0)
    return [
        idm.worst_patch_error(*given),
        idm.split_patch_bound(*given),
        idm.split_patch_bound(*given, form="printed"),
    ]


@drawn(_counterexample)
def _split(image: Array, w0: Array, form: Any = "printed") -> float:
    weights = idm.weights_from_framework(w0)
    return idm.split_patch_bound(image, w0.shape[-1], weights, form=form)


_split_corrected = changed(
    _split, "The bound with its square and the right projector.", form="corrected"
)


ERR_2 = numeric(
    id="id/Err2-as-printed",
    title="Theorem 2's error splits into initial weights and identity as printed",
    statement=(
        r"\|(W^0-\Lambda)^T\Pi_\perp P\|^2 \le"
        r" (\|W^{0T}\Pi_\perp\| + \|\Lambda^T\Pi_\parallel\|)\,\|P\|^2"
    ),
    source=quoted("Proof of Theorem 2"),
    cases=grid(side=2, size=(10.0, 3.0)),
    predict=_split,
    measure=_measure_worst,
    compare=AtMost(),
    must_hold=_split_corrected,
    expected=Outcome.REFUTED,
    uses=("id/Err2-value",),
    finding=(
        "The projector is the wrong one, and a square is missing: for the image [[1,"
        " 2], [3, −1]] with all initial weights 10, the left side is 308.82, the"
        " printed right side 18.32, and the corrected one 322.38."
    ),
)

WORST = numeric(
    id="id/Err2-value",
    items=("Err2", "Conv"),
    title="The largest error of a trained convolution on a unit patch, and bounds on it",
    statement=(
        r"\max_{\|P\|=1}\|(W^0-\Lambda)^T\Pi_\perp P\|^2"
        r"=\|(W^0-\Lambda)^T\Pi_\perp\|_2^2,\quad"
        r" (\|W^{0T}\Pi_\perp\|_F+\|\Lambda^T\Pi_\perp\|_F)^2,\quad"
        r" \|W^{0T}\Pi_\perp\|_F+\|\Lambda^T\Pi_\parallel\|_F"
    ),
    source=ours("Proof of Theorem 2; the maximum is ours"),
    cases=(
        *grid(side=2, size=(10.0, 3.0), kernel=(3, 5), channels=(1, 2, 3)),
        *grid(side=3, size=(10.0, 3.0), kernel=(3, 5), channels=(2, 3)),
    ),
    predict=_predict_parts,
    measure=_measure_parts,
    # Squares of norms, twice eps times condition numbers below 2.5 for each side.
    compare=AgreesTo(relative=4e-15),
    must_refute=mistake(
        "The bound in the place of the maximum.",
        then=lambda found: [found[1], *found[1:]],
    ),
    uses=("id/conv-prediction",),
    version=2,
)


def _padded(kind: str, side: int) -> Integers:
    """An image of one pixel, or of two by two, in the middle of zeros."""
    small = np.array([[1, 2], [3, -1]]) if kind == "square" else np.ones((1, 1), int)
    before = (side - len(small)) // 2
    return np.pad(small, (before, side - len(small) - before))[..., None]


@drawn(_padded)
def _measure_ranks(image: Integers) -> int:
    """Rank of the patches of the image padded with zeros to `side`."""
    return _exact_rank(image, 3)


def _same_rank(*, kind: str, side: int) -> int:
    return 4 if kind == "square" else 1


@drawn(_padded)
def _full_rank(image: Integers) -> int:
    """The rank of the padded image's patches."""
    return idm.patch_rank(image, 3).rank


ERR_3 = numeric(
    id="id/Err3-as-printed",
    title="Padding the image with zeros does not reduce the error bound of Theorem 2",
    statement=r"\operatorname{rank}X(\text{padded}) = \operatorname{rank}X",
    source=quoted("After Theorem 2"),
    cases=(*grid(kind="square", side=4), *grid(kind="pixel", side=3)),
    predict=_same_rank,
    measure=_measure_ranks,
    compare=Identical(),
    must_hold=_full_rank,
    expected=Outcome.REFUTED,
    uses=("id/Err3-corrected",),
    finding=(
        "The patches of a 2 × 2 image span 4 of 9 directions, and with zero padding"
        " all 9, so that the bound drops to zero and the layer becomes the identity."
        " For a single pixel the rank goes from 1 to 9. Of images that leave no direction"
        " unseen there is nothing to reduce."
    ),
)


def _framed(height: int, width: int, kernel: int, seed: int) -> tuple[Integers, int]:
    """Whole numbers, most of them zero, at least one not, in a frame of K // 2 zeros."""
    rng = np.random.default_rng([46, seed])
    image = rng.integers(-3, 4, (height, width, 1))
    image[rng.random(image.shape) < 0.6] = 0
    image[height // 2, width // 2] = 1
    frame = kernel // 2
    return np.pad(image, ((frame, frame), (frame, frame), (0, 0))), kernel


@drawn(_framed)
def _measure_framed(image: Integers, kernel: int) -> int:
    """Exact rank of the patches of an image in a frame of K // 2 zeros."""
    return _exact_rank(image, kernel)


@drawn(_framed)
def _predict_framed(image: Integers, kernel: int) -> int:
    return idm.patch_rank(image.astype(float), kernel).rank


def _unframed(*, height: int, width: int, kernel: int, seed: int) -> int:
    """The rank of patches without the frame of zeros."""
    return min(height * width, kernel**2)


FRAME = adversarial(
    id="id/Err3-corrected",
    items=("Err3", "Rank"),
    title="Framed by zeros, any image of one channel makes a convolution the identity",
    statement=(
        r"x \ne 0 \text{ of one channel, framed by } \lfloor K/2\rfloor"
        r"\text{ zeros}:\quad \operatorname{rank}X = K^2"
    ),
    source=ours("After Theorem 2; the corrected statement is ours"),
    cases=(
        *grid(height=1, width=1, kernel=(3, 5, 7), seed=0),
        *grid(height=4, width=3, kernel=(3, 5), seed=(0, 1)),
    ),
    examples=searched(
        height=st.integers(1, 6),
        width=st.integers(1, 6),
        kernel=st.sampled_from((1, 3, 5)),
        seed=SEEDS,
    ),
    max_examples=60,
    predict=_predict_framed,
    measure=_measure_framed,
    compare=Identical(),
    must_refute=_unframed,
    uses=("id/rank",),
    finding=(
        "With zero padding the layer's outputs are the whole product of two"
        " polynomials, the image's and the kernel's. The product vanishes only if a"
        " factor does, so no direction of weight space goes unseen."
    ),
)
