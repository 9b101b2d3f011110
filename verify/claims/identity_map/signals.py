"""Why depth leads to the constant: what of the image reaches a deep layer at the start.

No training: networks as they are drawn, with and without biases, against the closed
form for wide ones. Measured by `empirical.networks`, which knows no closed form.
"""

import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath
import numpy as np
import torch

from empirical.data import load
from empirical.identity_map import copier, images
from empirical.randomness import torch_generator
from theory import identity_map as idm
from verify.claim import Claim, Evidence, grid, numeric
from verify.claims._predictors import always, mapped, mistake, unlike
from verify.claims.identity_map._sources import as_read, ours
from verify.compare import AgreesTo, Array, AtLeast, AtMost, Estimate, MeanEquals

DEPTH, CHANNELS, KERNEL = 20, 32, 5
SHALLOW = 6
"""One more than the layers whose channels are looked at: an output has one alone."""
DRAWS = {SHALLOW: 128, DEPTH: 8}
"""Networks of each depth."""

LAYERS = (1, 2, 3, 5)
"""Where lengths and differences are looked at, one by one."""


@cache
def _pair() -> tuple[Array, Array]:
    """The digit '7', and Gaussian pixels orthogonal to it and as long."""
    seven = images.chosen((7,), data=load("mnist", cached=False)).fitted((1, 28, 28))
    x = seven.pixels[0, 0].double().numpy()
    noise = np.random.default_rng(81).standard_normal(x.shape)
    across = noise - (noise * x).sum() / (x * x).sum() * x
    return x, across * np.linalg.norm(x) / np.linalg.norm(across)


@cache
def _drawn(layers: int, *, biases: bool) -> tuple[Array, Array]:
    """Mean squares of signals, and half of those of differences, (draws, layers)."""
    net = copier("cnn", shape=(1, 28, 28), layers=layers, width=CHANNELS, bias=biases)
    both = torch.from_numpy(np.stack(_pair()))[:, None]
    lengths, differences = np.empty((2, DRAWS[layers], layers))
    for draw in range(DRAWS[layers]):
        source = torch_generator(draw, "signals", int(biases))
        params = net.init("framework", generator=source, dtype=torch.float64)
        with torch.no_grad():
            z = [each[0] for each in net.run(params, both, kept=True).before]
        lengths[draw] = [float(v[0].square().mean()) for v in z]
        differences[draw] = [0.5 * float((v[0] - v[1]).square().mean()) for v in z]
    return lengths, differences


def _bias_vars(*, biases: bool) -> Array:
    """PyTorch's: uniform in plus and minus one over the root of the inputs."""
    inputs = np.array([KERNEL**2] + (DEPTH - 1) * [KERNEL**2 * CHANNELS])
    return biases / (3.0 * inputs)


def _wide(*, biases: bool, **weights: Any) -> idm.Signals:
    """Return the limit, at PyTorch's variance of weights if no other is given."""
    if biases:
        weights |= {"bias_var": _bias_vars(biases=True)}
    return idm.wide_signals(*_pair(), KERNEL, DEPTH, **weights)


_UNITS = 6.0 ** np.arange(LAYERS[-1])
"""Of what is multiplied by a sixth in every layer."""


def _at(values: Array) -> Array:
    return (values[..., : len(_UNITS)] * _UNITS)[..., [layer - 1 for layer in LAYERS]]


def _lengths(found: idm.Signals) -> Array:
    return _at(found.lengths.mean(axis=(1, 2)))


def _measure_lengths(*, biases: bool) -> Estimate:
    return Estimate.of(_at(_drawn(SHALLOW, biases=biases)[0]))


def _measure_differences(*, biases: bool) -> Estimate:
    return Estimate.of(_at(_drawn(SHALLOW, biases=biases)[1]))


def _predict_lengths(*, biases: bool) -> Array:
    return _lengths(_wide(biases=biases))


def _predict_differences(*, biases: bool) -> Array:
    return _at(_wide(biases=biases).differences.mean(axis=(1, 2)))


def _as_signals(*, biases: bool) -> Array:
    """A difference that shrinks as a signal does, to the root of a sixth."""
    return _lengths(_wide(biases=False))


def _claim(**parts: Any) -> Claim:
    return Claim(
        source=ours("Section 3.2 and appendix H.1; ours"),
        cases=grid(biases=(False, True)),
        assumptions=(
            "PyTorch's first weights and biases, uniform in +-1/sqrt(inputs of a unit)",
            "28 x 28, 32 channels, 5 x 5 kernels",
        ),
        **parts,
    )


LENGTHS = _claim(
    id="id/bias-length",
    items=("Bias", "Fig3"),
    title=(
        "Each untrained layer shrinks the input's part of a signal to 0.41, not the"
        " biases' part"
    ),
    statement=(
        r"\mathbb{E} z_{l+1}^2=\tfrac16\overline{\mathbb{E} z_l^2}+\sigma_b^2,\qquad"
        r" \sigma_b^2=\tfrac1{3f_i}\text{ or }0"
    ),
    evidence=Evidence.STATISTICAL,
    predict=_predict_lengths,
    measure=_measure_lengths,
    # Of the fifth layer's 0.30 without biases; a fifth in the place of the sixth would make
    # twice as much of it, and biases make 0.95.
    compare=MeanEquals(discrepancy=0.25),
    must_refute=mistake(
        "Networks without biases in the place of those with, and the reverse.",
        biases=operator.not_,
    ),
    uses=("id/Err6-shrink",),
    finding=(
        "Exact in the mean at any width. Of the mean square after five layers the biases'"
        " part is twice the input's; after ten, more than ten thousand times."
    ),
)

DIFFERENCES = _claim(
    id="id/bias-share",
    items=("Bias", "Fig3"),
    title="Untrained layers shrink the difference of two images more than their signals",
    statement=(
        r"d_{l+1}=\tfrac16\overline{d_l-\tfrac{\sqrt{q_lq_l'}}\pi"
        r"(\sin\theta_l-\theta_l\cos\theta_l)},\quad"
        r" d_l=\tfrac12\mathbb{E}(z_l(x)-z_l(x'))^2"
    ),
    evidence=Evidence.STATISTICAL,
    predict=_predict_differences,
    measure=_measure_differences,
    # 32 channels: a sampled correlation has a variance of 0.62 / 32 at most. The dual's
    # curvature, 1 / (pi sqrt(1 - rho^2)) <= 0.45, makes half of their product of it, 0.0044
    # a layer, of lengths of 0.34 from the third on: 3 * 0.0044 * 0.34. (With biases the
    # fifth has 0.95, and five times smaller variances.) Discrepancy: a third of what the
    # fifth layer lacks of a signal's shrinking.
    compare=MeanEquals(discrepancy=0.06, rounding=5e-3),
    must_refute=_as_signals,
    uses=("id/bias-length",),
    finding=(
        "By the formula a layer shrinks the difference to 0.34 at first, and with biases to"
        " 0.40 from the eighth layer on, where both images have nearly the same signal."
        " It is of infinitely many channels; 1,200 networks of 32 do not tell them apart."
    ),
)


# --- differences of close images, to all digits -----------------------------------------

_CLOSE_SIZE, _CLOSE_KERNEL, _CLOSE_BIASES = (4, 3), 3, (0.2, 0.1, 0.3)


def _close(apart: float, channels: int) -> tuple[Array, Array]:
    """Two images of normal pixels that differ by a share of them, or are opposite."""
    shape = (2, *_CLOSE_SIZE, channels)
    x, other = np.random.default_rng(82).standard_normal(shape)
    return x, x + apart * other if apart > 0.0 else apart * x


def _biases(apart: float, layers: int) -> Array:
    """Return the layers' variances of biases; opposite signals stay so without any."""
    found = np.resize(_CLOSE_BIASES, layers)
    found[0] *= apart > 0.0
    return found


def _predict_close(
    *,
    apart: float,
    channels: int = 1,
    weight_var: float = 1.7,
    bias: float = 1.0,
    layers: int = 3,
) -> Array:
    given: dict[str, Any] = unlike({"weight_var": 1.0 / 3.0}, weight_var=weight_var)
    if bias:
        given["bias_var"] = bias * _biases(apart, layers)
    both = _close(apart, channels)
    found = idm.wide_signals(*both, _CLOSE_KERNEL, layers, **given)
    both = (found.lengths.ravel(), found.differences.ravel())
    return np.concatenate([*both, found.shares])


def _patched(values: Any) -> Any:
    """Means over every pixel's 3 x 3 patch, zeros outside, of numbers of any kind."""
    wide = np.pad(values, 1, constant_values=mpmath.mpf(0))
    height, width = values.shape
    parts = [wide[i : i + height, j : j + width] for i in range(3) for j in range(3)]
    return sum(parts) / 9


def _through(
    apart: float,
    channels: int,
    weight_var: float,
    bias: float,
    layers: int,
    relu: Callable[[Any, Any, Any], Any],
) -> list[Any]:
    """Covariances by layer, 80 digits: squares of one, mean squares of u - v, shares."""
    with mpmath.workdps(80):
        x, y = (
            np.vectorize(mpmath.mpf, otypes=[object])(v)
            for v in _close(apart, channels)
        )
        squares = [v.sum(axis=2) / channels for v in (x * x, y * y, x * y)]
        lengths, differences = [], []
        shares: list[Any] = []
        for layer, given in enumerate(bias * _biases(apart, layers)):
            if layer:
                a, b, both = squares
                squares = [
                    a / 2,
                    b / 2,
                    np.vectorize(relu, otypes=[object])(a, b, both),
                ]
            squares = [mpmath.mpf(weight_var) * _patched(v) + given for v in squares]
            a, b, both = squares
            lengths += list(a.ravel())
            differences += list(((a + b) / 2 - both).ravel())
            some = ((a + b) / 2 - both).sum() / a.sum()
            shares.append(mpmath.sqrt(some))
        return [*lengths, *differences, *shares]


def _arc_cosine(a: Any, b: Any, both: Any) -> Any:
    size = mpmath.sqrt(a * b)
    angle = mpmath.acos(both / size)
    return (
        size
        * (mpmath.sin(angle) + (mpmath.pi - angle) * mpmath.cos(angle))
        / (2 * mpmath.pi)
    )


def _measure_close(
    *,
    apart: float,
    channels: int = 1,
    weight_var: float = 1.7,
    bias: float = 1.0,
    layers: int = 3,
    relu: Callable[[Any, Any, Any], Any] = _arc_cosine,
) -> list[Any]:
    return _through(apart, channels, weight_var, bias, layers, relu)


def _same_units(**case: Any) -> list[Any]:
    """Both images pass the same units, half of them."""
    return _measure_close(**case, relu=lambda _a, _b, both: both / 2)


CLOSE = numeric(
    id="id/bias-close",
    title="How far apart wide networks keep two close images, to fourteen digits",
    statement=(
        r"d_{l+1}=\tfrac{\sigma_w^2}2\overline{d_l-\tfrac{\sqrt{q_lq_l'}}\pi"
        r"(\sin\theta_l-\theta_l\cos\theta_l)},\quad|x-x'|\ge10^{-8}|x|"
    ),
    source=ours("Section 3.2 and appendix H.1; ours"),
    cases=(
        *grid(apart=(2.0, 0.3, 0.05, 1e-3, 1e-8, -1.0, -3.0)),
        {"apart": 0.3, "channels": 3},
        # So many that 5e-29 of a signal depends on the image.
        {"apart": 0.3, "weight_var": 1.0 / 3.0, "layers": 60},
        # PyTorch's weights, as they are assumed.
        {"apart": 0.3, "weight_var": 1.0 / 3.0, "bias": 0.0},
    ),
    predict=_predict_close,
    measure=_measure_close,
    # Layers of some ten roundings each, of which later ones are of what is near the
    # biases alone.
    compare=AgreesTo(relative=7e-15),
    must_refute=_same_units,
    uses=("id/bias-share",),
)


def _measure_shares(*, biases: bool) -> list[float]:
    """What of each drawn network's output depends on the image."""
    lengths, differences = _drawn(DEPTH, biases=biases)
    return np.sqrt(differences[:, -1] / lengths[:, -1]).tolist()


FORGOTTEN = numeric(
    id="id/bias-forgets",
    items=("Bias", "Fig3"),
    title=(
        "With biases, an untrained CNN of 20 layers gives a digit and noise nearly the same"
        " output"
    ),
    statement=r"\|f(x)-f(x')\|/(\sqrt2\|f(x)\|)\le10^{-4},\ 20\text{ layers, biases}",
    source=ours("Section 3.2 and appendix H.1; ours"),
    cases=grid(biases=True),
    predict=always(1e-4),
    measure=_measure_shares,
    compare=AtMost(),
    must_refute=mapped(
        _wide,
        "A hundredth of the share that a network of infinite width has.",
        lambda found: float(found.shares[-1]) / 100.0,
    ),
    # A threshold far below what is there without biases, not a bound to attain.
    loose=True,
    uses=("id/bias-share",),
    finding=(
        "Only 1e-7 to 1e-5 of the output depends on the image, one to a hundred roundings"
        " of single precision: training starts from a constant and improves it. Without"
        " biases, at the same depth, much of the output depends on the image"
        " (id/bias-remembers), a quarter at infinite width, but its norm is 2e-8 of the"
        " image's."
    ),
)


REMEMBERED = numeric(
    id="id/bias-remembers",
    items=("Bias", "Fig3"),
    title=(
        "Without biases, an untrained CNN of 20 layers tells a digit from noise by its"
        " output"
    ),
    statement=r"\|f(x)-f(x')\|/(\sqrt2\|f(x)\|)\ge0.05,\ 20\text{ layers, no biases}",
    source=ours("Section 3.2 and appendix H.1; ours"),
    cases=grid(biases=False),
    predict=always(0.05),
    measure=_measure_shares,
    compare=AtLeast(),
    must_refute=always(0.99, "An output of which nearly all depends on the image."),
    loose=True,
    uses=("id/bias-share",),
    finding=(
        "It is 0.16 to 0.71 for eight networks; 0.05 is a threshold, not a bound that"
        " is attained."
    ),
)


# --- few channels -----------------------------------------------------------------------

STARTS = 40
"""Networks of each number of channels."""


@cache
def _spread(channels: int) -> float:
    """Deviation, over starts, of the log of the size of the last hidden layer, of five."""
    net = copier("cnn", shape=(1, 28, 28), layers=5, width=channels, bias=False)
    image = torch.from_numpy(_pair()[0])[None, None]
    lengths = np.empty(STARTS)
    for draw in range(STARTS):
        source = torch_generator(draw, "few channels", channels)
        params = net.init("framework", generator=source, dtype=torch.float64)
        with torch.no_grad():
            lengths[draw] = float(net.run(params, image, kept=True).before[-2].norm())
    return float(np.log(lengths).std(ddof=1))


def _measure_spread(*, few: int, many: int) -> float:
    return _spread(few) / _spread(many)


def _by_channels(*, few: int, many: int) -> float:
    """A spread in inverse proportion to the channels."""
    return many / few


FEW_CHANNELS = numeric(
    id="id/Fig29",
    items=("Fig29", "ThreeChannels"),
    title="Networks of three channels differ more between starts than those of 128",
    statement=(
        r"\operatorname{sd}\log\|z_4(\hat x)\|,\ \text{untrained}:\ "
        r"3\text{ channels}\ge2\times128\text{ channels}"
    ),
    source=as_read("Appendix I, channel depths, Figure 29"),
    cases=grid(few=3, many=128),
    predict=always(2.0),
    measure=_measure_spread,
    compare=AtLeast(),
    must_refute=_by_channels,
    # A threshold that was fixed before the first measurement, not a bound to attain.
    loose=True,
    assumptions=("PyTorch's first weights, no biases", "40 starts of each"),
    uses=("id/bias-length",),
    finding=(
        "Almost 8 times as much, between 6.5 = √(128/3) and 43. It is 2.1 times of the"
        " output, which was looked at first: the output has one channel at any width."
    ),
)
