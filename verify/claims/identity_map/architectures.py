"""Networks that can be the identity, their sizes and their starts (appendix B, C)."""

import itertools
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor, nn

from theory import identity_map as idm
from verify.claim import Case, Claim, adversarial, grid, numeric, statistical, symbolic
from verify.claims._predictors import always, changed, mistake, plus, times
from verify.claims._searches import searched
from verify.claims.identity_map._sources import as_read, ours, quoted
from verify.claims.identity_map.starts import first_weight
from verify.compare import (
    AgreesTo,
    Array,
    AtLeast,
    Estimate,
    Identical,
    MeanEquals,
    Outcome,
)

# --- the identity as weights ----------------------------------------------------------


def _images(channels: int, side: int, seed: int) -> Array:
    """Three images with entries of very different sizes and signs."""
    rng = np.random.default_rng([30, seed])
    pixels = rng.standard_normal((3, channels, side, side))
    return pixels * 10.0 ** rng.integers(-9, 9, pixels.shape)


def _forward(weights: list[Array], images: Array, *, relu: bool) -> Array:
    """Run the framework's layers with these weights."""
    x = torch.from_numpy(images)
    for last, array in enumerate(weights, start=1 - len(weights)):
        weight = torch.from_numpy(array)
        if weight.ndim == 2:
            x = nn.functional.linear(x.flatten(1), weight)
        else:
            x = nn.functional.conv2d(x, weight, padding=weight.shape[-1] // 2)
        if relu and last:
            x = torch.relu(x)
    return x.numpy().reshape(images.shape)


def _weights(
    kind: str, *, layers: int, channels: int, side: int, kernel: int, spare: int
) -> Any:
    dim = channels * side * side
    if kind == "linear":
        return idm.linear_identity(dim, layers, width=dim + spare)
    if kind == "relu":
        return idm.relu_identity(dim, layers, width=2 * dim + spare)
    if kind == "convolution":
        return idm.linear_convolution_identity(
            kernel, channels, layers, channels=channels + spare
        )
    return idm.relu_convolution_identity(
        kernel, channels, layers, channels=2 * channels + spare
    )


def _predict_identity(
    *, kind: str, channels: int, side: int, seed: int, **shape: int
) -> list[str]:
    """What comes out of the layers with these weights, and how many there are."""
    weights = _weights(kind, channels=channels, side=side, **shape)
    images = _images(channels, side, seed)
    return _bits(_forward(weights, images, relu=kind.startswith("relu")), len(weights))


def _measure_image(
    *, layers: int, channels: int, side: int, seed: int, **_case: Any
) -> list[str]:
    """The images themselves: nothing less is their identity."""
    return _bits(_images(channels, side, seed), layers)


def _half_lost(
    *, layers: int, channels: int, side: int, seed: int, **_case: Any
) -> list[str]:
    """The part of the image that is left if signs are not split."""
    return _bits(np.maximum(_images(channels, side, seed), 0.0), layers)


def _bits(images: Array, layers: int) -> list[str]:
    return [str(layers), *(float(v).hex() for v in (images + 0.0).ravel())]


def _identity_claim(what: str, kinds: tuple[str, ...], title: str, *uses: str) -> Claim:
    return adversarial(
        id=f"id/{what}",
        title=title,
        statement=r"f(x) = x \text{ for every image } x \text{, to the last bit}",
        source=quoted("Appendix B, and Section 3.4 on channels"),
        cases=grid(
            kind=kinds,
            layers=(2, 5),
            channels=(1, 3),
            side=5,
            kernel=5,
            # 0: the fewest units or channels that the paper asks for.
            spare=(0, 1),
            seed=0,
        ),
        examples=searched(
            kind=st.sampled_from(kinds),
            layers=st.integers(1, 8),
            channels=st.integers(1, 3),
            side=st.integers(1, 6),
            kernel=st.sampled_from((1, 3, 5, 9)),
            spare=st.integers(0, 3),
            seed=st.integers(0, 1000),
        ),
        max_examples=30,
        predict=_predict_identity,
        measure=_measure_image,
        compare=Identical(),
        must_refute=_half_lost,
        uses=uses,
    )


B1 = _identity_claim(
    "B1",
    ("linear",),
    "Linear networks as wide as their input can represent the identity exactly",
)
B2 = _identity_claim(
    "B2",
    ("relu",),
    "ReLU networks twice as wide as their input can represent the identity exactly",
    "id/B1",
)
B3 = _identity_claim(
    "B3",
    ("convolution", "relu_conv"),
    "Convolutions, with ReLU of twice the channels, can represent the identity exactly",
    "id/B2",
)

# --- Table 1 --------------------------------------------------------------------------

# Parameters as printed: a row for each number of weight layers L, a column for each
# kernel and number of channels, or, after a kernel of 0, each width of an FCN.
_PRINTED = (
    """
 L     0:784     0:2048
 1   614,656          -
 2 1,229,312  3,211,264
 4 2,458,624 11,599,872
 6 3,687,936 19,988,480
 8 4,917,248 28,377,088
10 6,146,560 36,765,696
""",
    """
 L   5:3     5:128      5:1024   7:3      7:128      7:1024
 1    25        25           -    49         49           -
 3   375   416,000           -   735    815,360           -
 5   825 1,235,200  78,694,400 1,617  2,420,992 154,241,024
 6 1,050 1,644,800           - 2,058  3,223,808           -
 7 1,275 2,054,400 131,123,200 2,499  4,026,624 257,001,472
 8 1,500 2,464,000           - 2,940  4,829,440           -
 9 1,725 2,873,600           - 3,381  5,632,256           -
10 1,950 3,283,200           - 3,822  6,435,072           -
11 2,175 3,692,800           - 4,263  7,237,888           -
12 2,400 4,102,400 262,195,200 4,704  8,040,704 513,902,592
13 2,625 4,512,000           - 5,145  8,843,520           -
14 2,850 4,921,600 314,624,000 5,586  9,646,336 616,663,040
15 3,075 5,331,200           - 6,027 10,449,152           -
16 3,300 5,740,800           - 6,468 11,251,968           -
17 3,525 6,150,400           - 6,909 12,054,784           -
19 3,975 6,969,600           - 7,791 13,660,416           -
20 4,200 7,379,200 471,910,400 8,232 14,463,232 924,944,384
24 5,100 9,017,600           - 9,996 17,674,496           -
""",
    """
L     9:128    13:128     17:128     25:128     29:128      57:128
5 4,002,048 8,349,952 14,278,912 30,880,000 41,552,128 160,526,592
""",
)


def _printed_counts() -> dict[tuple[int, int, int], int]:
    """Return the printed numbers by kernel, width and layers, column by column."""
    found: dict[tuple[int, int, int], int] = {}
    for table in _PRINTED:
        (_, *heads), *rows = (line.split() for line in table.strip().splitlines())
        for column, head in enumerate(heads, start=1):
            kernel, width = map(int, head.split(":"))
            for row in rows:
                if row[column] != "-":
                    count = int(row[column].replace(",", ""))
                    found[kernel, width, int(row[0])] = count
    return found


_COUNTS = _printed_counts()
_ENTRIES: tuple[Case, ...] = tuple(
    {"kind": "cnn" if kernel else "fcn", "width": w, "kernel": kernel, "layers": layers}
    for kernel, w, layers in _COUNTS
)


def _modules(
    kind: str, width: int, kernel: int, layers: int, ends: int, out: int
) -> list[nn.Module]:
    """The framework's own layers, without memory behind them."""
    sizes = [ends or (1 if kind == "cnn" else 784), *[width] * (layers - 1)]
    sizes.append(out or sizes[0])
    pairs = list(itertools.pairwise(sizes))
    if kind == "fcn":
        return [nn.Linear(a, b, bias=False, device="meta") for a, b in pairs]
    return [
        nn.Conv2d(a, b, kernel, padding=kernel // 2, bias=False, device="meta")
        for a, b in pairs
    ]


def _measure_count(
    *, kind: str, width: int, kernel: int, layers: int, ends: int = 0, out: int = 0
) -> int:
    """Count the weights; at both ends those of a grey image of 28 x 28, if not said."""
    modules = _modules(kind, width, kernel, layers, ends, out)
    return sum(p.numel() for module in modules for p in module.parameters())


def _printed(*, kind: str, width: int, kernel: int, layers: int) -> int:
    return _COUNTS[kernel, width, layers]


def _predict_count(
    *, kind: str, width: int, kernel: int, layers: int, ends: int = 0, out: int = 0
) -> int:
    if kind == "fcn":
        return idm.fcn_parameter_count(ends or 784, width, layers, out or None)
    more = {"image_channels": ends} if ends else {}
    return idm.cnn_parameter_count(kernel, width, layers, **more)


_one_layer_more = changed(
    _predict_count, "The count of one layer more.", layers=plus(1)
)


TABLE_1 = symbolic(
    id="id/tab1",
    title="Every parameter count of Table 1, as printed",
    statement=r"\text{Table 1: } L \mapsto \text{number of weights, without biases}",
    source=quoted("Table 1"),
    cases=_ENTRIES,
    predict=_printed,
    measure=_measure_count,
    compare=Identical(),
    must_refute=_one_layer_more,
    uses=("id/tab1-formula",),
    finding="Counted from the layers themselves; no entry is wrong.",
)

FORMULA = numeric(
    id="id/tab1-formula",
    title="The formulas behind the parameter counts of Table 1",
    statement=(
        r"\text{FCN: } d\,o \text{ or } dh+(L-2)h^2+ho,\ o=d\text{ in Table 1};\qquad"
        r" \text{CNN: } K^2C^2 \text{ or } K^2(2Cc+(L-2)c^2)"
    ),
    source=ours("Table 1; the formulas are ours"),
    cases=(
        *_ENTRIES,
        # Of colour images and of other sizes.
        *grid(kind="cnn", width=(2, 7), kernel=3, layers=(1, 2, 6), ends=3),
        *grid(kind="fcn", width=(2, 7), kernel=0, layers=(1, 2, 6), ends=12),
        *grid(kind="fcn", width=7, kernel=0, layers=(1, 2, 6), ends=12, out=5),
    ),
    predict=_predict_count,
    measure=_measure_count,
    compare=Identical(),
    must_refute=_one_layer_more,
)

# --- initial weights ------------------------------------------------------------------


def _measure_scheme(*, scheme: str, fan_in: int, fan_out: int) -> list[float]:
    """Variance of the weights that the framework draws, and half the inputs' share of it.

    Orthonormal rows or columns have it as their mean square. All other draws are those
    of deviation one, or in [-1, 1], with the same generator, times a number.
    """
    rng, again = (torch.Generator().manual_seed(11) for _ in range(2))
    weight = first_weight(scheme, (fan_out, fan_in), rng)
    variance = float(weight.square().mean())
    if scheme != "orthogonal":
        uniform = scheme == "framework" or scheme.endswith("-uniform")
        unit = first_weight("unit", (fan_out, fan_in), again)
        if uniform:
            again.manual_seed(11)
            unit.uniform_(-1.0, 1.0, generator=again)
        variance = float(weight.square().sum() / unit.square().sum())
        # A uniform number in [-1, 1] has the variance 1/3.
        variance /= 3.0 if uniform else 1.0
    return [variance, 0.5 * fan_in * variance]


def _predict_scheme(*, scheme: str, fan_in: int, fan_out: int) -> list[float]:
    given = scheme, fan_in, fan_out
    return [idm.initial_variance(*given), idm.relu_shrink(*given) ** 2]


VARIANCES = numeric(
    id="id/Fig31-variances",
    items=("Fig31", "Err6"),
    title="Variances of the initialisation schemes, and what ReLU leaves of a signal",
    statement=(
        r"\text{default }\tfrac1{f_if_o}\text{ or }\tfrac1{\sqrt{f_if_o}},\;"
        r" \text{framework }\tfrac1{3f_i},\; \text{Xavier }\tfrac2{f_i+f_o},\;"
        r" \text{Kaiming }\tfrac2{f_i},\; \text{orthogonal }\tfrac1{\max(f_i,f_o)};"
        r"\quad \tfrac12f_i\sigma^2"
    ),
    source=ours(
        "Appendix I, initialisation schemes; 1/√(f_i f_o), 1/(3f_i) and 1/max are ours"
    ),
    cases=grid(scheme=idm.SCHEMES, fan_in=(8, 30), fan_out=(7, 60)),
    predict=_predict_scheme,
    measure=_measure_scheme,
    # Each entry is rounded a few times, and so are entries of orthonormal rows.
    compare=AgreesTo(relative=1e-14),
    must_refute=mistake(
        "The numbers of inputs and outputs exchanged.",
        fan_in=lambda _, *, fan_out: fan_out,
        fan_out=lambda _, *, fan_in: fan_in,
    ),
    version=2,
)


def _measure_shrink(
    *, scheme: str, channels: int, times: float, draws: int
) -> Estimate:
    """Mean square of a 5 x 5 layer's outputs for rectified noise, many layers drawn."""
    rng = torch.Generator().manual_seed(channels)
    squares = []
    for _ in range(draws):
        x = torch.randn(1, channels, 9, 9, dtype=torch.float64, generator=rng)
        weight = first_weight(scheme, (channels, channels, 5, 5), rng)
        # No padding: every output has all its inputs.
        outputs = nn.functional.conv2d(torch.relu(x), weight)
        squares.append(float(outputs.square().mean()) * times)
    return Estimate.of(squares)


def _predict_shrink(*, scheme: str, channels: int, times: float, draws: int) -> float:
    fan = 25 * channels
    return times * idm.relu_shrink(scheme, fan, fan) ** 2


SHRINK = statistical(
    id="id/Err6-shrink",
    title="The factor by which a ReLU layer shrinks its signal at initialisation",
    statement=r"\mathrm{rms}(z_{l+1}) = \sqrt{f_i s^2/2}\;\mathrm{rms}(z_l)",
    source=ours("Appendix I, default scheme; the law is He et al.'s"),
    cases=(
        {"scheme": "default", "channels": 16, "times": 800.0, "draws": 400},
        {"scheme": "framework", "channels": 16, "times": 6.0, "draws": 400},
        {"scheme": "kaiming-normal", "channels": 16, "times": 1.0, "draws": 400},
    ),
    predict=_predict_shrink,
    measure=_measure_shrink,
    # Standard errors of 0.0075.
    compare=MeanEquals(discrepancy=0.1),
    must_refute=mistake(
        "A layer without ReLU, which keeps twice as much.", then=times(2.0)
    ),
    uses=("id/Fig31-variances",),
)


def _measure_moves(*, scheme: str, layers: int, channels: int, biases: bool) -> bool:
    """Whether a step of descent at the paper's rate changes any weight of a CNN.

    Biases, if any, begin as the framework has them: uniform in +-1/sqrt(f_i).
    """
    rng = torch.Generator().manual_seed(9)
    sizes = [1, *[channels] * (layers - 1), 1]
    weights = [
        first_weight(scheme, (b, a, 5, 5), rng).float().requires_grad_()
        for a, b in itertools.pairwise(sizes)
    ]
    image = torch.randn(1, 1, 14, 14, generator=rng)
    x = image
    for last, weight in enumerate(weights, start=1 - layers):
        half = float(biases) / (25 * weight.shape[1]) ** 0.5
        bias = torch.empty(len(weight)).uniform_(-half, half, generator=rng)
        x = nn.functional.conv2d(x, weight, bias, padding=2)
        x = torch.relu(x) if last else x
    (x - image).square().mean().backward()  # pyright: ignore[reportUnknownMemberType]
    before = [weight.detach().clone() for weight in weights]
    torch.optim.SGD(weights, lr=0.01).step()
    return any(not torch.equal(a, b) for a, b in zip(before, weights, strict=True))


_moves = always(value=True)


_stays = always(value=False, words="No network of this initialisation can be trained.")


ERR_6 = numeric(
    id="id/Err6-as-read",
    title="Without biases, the printed default initialisation can train a CNN of 20 layers",
    statement=r"\sigma^2 = \frac1{f_if_o},\ b=0:\quad W - \eta\nabla\mathcal L \ne W",
    source=as_read("Appendix I, default scheme"),
    cases=grid(scheme="default", layers=20, channels=128, biases=False),
    predict=_moves,
    measure=_measure_moves,
    compare=Identical(),
    must_hold=_stays,
    expected=Outcome.REFUTED,
    assumptions=("float32", "128 channels, 5 × 5", "no biases, as Table 1 counts"),
    finding=(
        "With variance 1/(f_i f_o) a signal shrinks 80-fold in every ReLU layer. At"
        " 20 layers the gradients are so small that in float32 a step at the paper's"
        " rate leaves every weight unchanged, bit for bit. If 1/(f_i f_o) is read as"
        " the square of the variance, if the framework's default is used, or if there are"
        " biases of its making, weights move (id/Err6-corrected)."
    ),
    uses=("id/Err6-shrink",),
)

START = numeric(
    id="id/Err6-corrected",
    title=(
        "Starts from which a gradient step moves weights of a CNN of 20 layers in float32"
    ),
    statement=(
        r"W - \eta\nabla\mathcal L\ne W \text{ at } \sigma^2=(f_if_o)^{-1/2},"
        r"\ \tfrac1{3f_i};\text{ at } \tfrac1{f_if_o}\text{ with biases in }"
        r"\pm f_i^{-1/2}"
    ),
    source=ours("Appendix I, default scheme; ours"),
    cases=(
        *grid(
            scheme=("default-sqrt", "framework"), layers=20, channels=128, biases=False
        ),
        *grid(scheme="default", layers=20, channels=128, biases=True),
    ),
    predict=_moves,
    measure=_measure_moves,
    compare=Identical(),
    must_refute=_stays,
    assumptions=("float32", "128 channels, 5 × 5"),
    uses=("id/Err6-shrink",),
)

# --- what a neuron sees ---------------------------------------------------------------


def _measure_coverage(
    *, kernel: int, side: int, row: int, column: int, layers: int = 1, width: int = 0
) -> float:
    """Share of the inputs that move one output, by its gradient; maps may be square."""
    weight = torch.ones(1, 1, kernel, kernel, dtype=torch.float64) / kernel**2
    image = torch.zeros(
        1, 1, side, width or side, dtype=torch.float64, requires_grad=True
    )
    x: Tensor = image
    for _ in range(layers):
        x = nn.functional.conv2d(x, weight, padding=kernel // 2)
    (slope,) = torch.autograd.grad(x[0, 0, row, column], image)
    return float((slope != 0.0).double().mean())


def _predict_coverage(
    *, kernel: int, side: int, row: int, column: int, layers: int = 1, width: int = 0
) -> float:
    """The share of the map that the receptive field covers at this place."""
    field = idm.receptive_field(kernel, layers)
    return idm.coverage(field, side, width or side, row, column)


def _no_boundary(
    *, kernel: int, side: int, layers: int = 1, width: int = 0, **_place: int
) -> float:
    """Kernels of which nothing lies beyond the border."""
    return min(1.0, (layers * (kernel - 1) + 1) ** 2 / side / (width or side))


COVERAGE = numeric(
    id="id/Err7-corrected",
    items=("Err7", "Fig9"),
    title="The share of a feature map that one neuron sees, through several layers too",
    statement=(
        r"\frac{|\{(i,j):\; |i-r|\le\lfloor K_L/2\rfloor,\;"
        r" |j-c|\le\lfloor K_L/2\rfloor\}|}{HW},\quad K_L=L(K-1)+1"
    ),
    source=ours("Section 3.4, convolution filters; ours"),
    cases=(
        *grid(kernel=(5, 29, 53, 55, 57), side=28, row=0, column=0),
        *grid(kernel=(5, 29), side=28, row=(3, 14), column=14),
        *grid(kernel=(3, 5, 7), layers=(2, 5), side=35, row=17, column=(17, 30)),
        *grid(kernel=5, side=6, width=9, row=(0, 4), column=7),
    ),
    predict=_predict_coverage,
    measure=_measure_coverage,
    # Counts over a count.
    compare=AgreesTo(absolute=1e-14),
    must_refute=_no_boundary,
)


ERR_7 = numeric(
    id="id/Err7-as-read",
    title="With 29 x 29 kernels, each neuron sees at least half of a 28 x 28 feature map",
    statement=r"K = 29,\ 28\times28:\quad \text{coverage} \ge \tfrac12",
    source=as_read("Section 3.4 and appendix I, convolution filters"),
    cases=grid(kernel=29, side=28, row=0, column=(0, 27)),
    predict=always(0.5),
    measure=_measure_coverage,
    compare=AtLeast(),
    must_hold=_predict_coverage,
    expected=Outcome.REFUTED,
    finding=(
        "True along each axis, 15 of 28 pixels, and not of the area: a corner neuron"
        " sees 15 × 15 of 784, 28.7 %. From K = 55 on every neuron sees everything, so that"
        " the text is right about 57."
    ),
    uses=("id/Err7-corrected",),
)
