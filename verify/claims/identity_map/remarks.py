"""Statements of the text beside its theorems: schedules, depth, biases."""

from functools import partial
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import torch
from torch import Tensor, nn

from theory import identity_map as idm
from verify.claim import grid, numeric
from verify.claims._descent import step
from verify.claims._halving import bisected
from verify.claims._predictors import always, mistake, unlike
from verify.claims.identity_map._framework import squared_error
from verify.claims.identity_map._sources import as_read, forced, ours
from verify.claims.identity_map.linear import orthogonal, problem
from verify.compare import AgreesTo, Array, Identical

# --- Theorem 1 with a schedule --------------------------------------------------------


def _rates(steps: int, first: float) -> Array:
    """Rates that drop to a fifth at 30, 60 and 80 % of the way, as in the recipe."""
    drops = np.floor(np.array([0.3, 0.6, 0.8]) * steps)
    made = np.searchsorted(drops, np.arange(steps), side="right")
    return np.asarray(first * 0.2**made, dtype=np.float64)


def _measure_scheduled(*, dim: int, steps: int, momentum: float, seed: int) -> Array:
    """Weights of a linear layer after training with the framework's own schedule."""
    x, w0, _ = problem(dim, seed)
    weight, image = torch.tensor(w0, requires_grad=True), torch.from_numpy(x)
    optimiser = torch.optim.SGD([weight], lr=0.3, momentum=momentum)
    drops = [int(part * steps) for part in (0.3, 0.6, 0.8)]
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimiser, drops, gamma=0.2)
    for _ in range(steps):
        step(optimiser, squared_error(weight @ image, image, "half_sum"))
        schedule.step()
    return weight.detach().numpy()


def _predict_scheduled(*, dim: int, steps: int, momentum: float, seed: int) -> Array:
    x, w0, _ = problem(dim, seed)
    ball = unlike({"momentum": 0.0}, momentum=momentum)
    left = idm.scheduled_factors(_rates(steps, 0.3), curvature=2.25, **ball)
    return w0 + (1.0 - left[-1]) * np.outer(x - w0 @ x, x) / 2.25


def _never_dropped(*, dim: int, steps: int, momentum: float, seed: int) -> Array:
    """The first rate kept to the end."""
    x, w0, _ = problem(dim, seed)
    left = idm.residual_factors(
        steps, learning_rate=0.3, curvature=2.25, momentum=momentum
    )
    return w0 + (1.0 - left) * np.outer(x - w0 @ x, x) / 2.25


SCHEDULE = numeric(
    id="id/thm1-schedule",
    title="The path to the weights of Theorem 1 is known for learning rates that drop, too",
    statement=(
        r"W^T=W^0+(1-a_T)\,\hat u\hat x^T,\quad b_{t+1}=mb_t+ga_t,\;"
        r"a_{t+1}=a_t-\eta_tb_{t+1}"
    ),
    source=ours("Theorem 1 and appendix A; the schedule's part is ours"),
    cases=grid(dim=(1, 6), steps=(5, 20), momentum=(0.0, 0.9), seed=(0, 1)),
    predict=_predict_scheduled,
    measure=_measure_scheduled,
    # Twenty roundings of weights below two, and of as many slopes.
    compare=AgreesTo(absolute=9e-15),
    must_refute=_never_dropped,
    uses=("id/thm1",),
)


# --- several layers -------------------------------------------------------------------


def _network(widths: list[int], seed: int, *, biases: bool) -> nn.Sequential:
    linear = partial(nn.Linear, bias=biases, dtype=torch.float64)
    stds = [1.2 / before**0.5 for before in widths[:-1]]
    return _stacked([linear(*ends) for ends in pairwise(widths)], stds, 7100 + seed)


def _stacked(layers: list[Any], stds: list[float], seed: int) -> nn.Sequential:
    """Draw the parameters of layers, and put a ReLU between each two."""
    g = torch.Generator().manual_seed(seed)
    stack: list[nn.Module] = []
    for layer, std in zip(layers, stds, strict=True):
        for each in layer.parameters():
            nn.init.normal_(each, std=std, generator=g)
        stack += [nn.ReLU(), layer] if stack else [layer]
    return nn.Sequential(*stack)


def _first(net: nn.Sequential) -> Tensor:
    weight = net[0].weight
    assert isinstance(weight, Tensor)
    return weight


_TIMES = (1.0, 0.0, -3.0)
"""Multiples of the orthogonal image that are shown."""


def _measure_first(*, widths: list[int], trained: str, steps: int, seed: int) -> Array:
    """What the first layer puts out for the orthogonal images after training."""
    net = _network(widths, seed, biases=False)
    x, z = map(torch.from_numpy, orthogonal(widths[0], seed))
    parts = {"all": list(net.parameters()), "bottom": [_first(net)]}
    parts["two lowest"] = list(net.parameters())[:2]
    sgd = torch.optim.SGD(parts[trained], lr=0.05, momentum=0.9)
    for _ in range(steps):
        step(sgd, squared_error(net(x), x, "half_sum"))
    with torch.no_grad():
        moved = float((net(x) - x).norm())
        # A network that learnt nothing would show nothing.
        assert moved < 0.9 * float((_network(widths, seed, biases=False)(x) - x).norm())
        return np.outer(_TIMES, (_first(net) @ z).numpy())


def _predict_first(*, widths: list[int], trained: str, steps: int, seed: int) -> Array:
    x, z = orthogonal(widths[0], seed)
    w0 = _first(_network(widths, seed, biases=False)).detach().numpy()
    return idm.orthogonal_prediction(np.outer(_TIMES, z), x, w0)


UNMOVED = numeric(
    id="id/twolayer-orth",
    items=("TwoLayer", "Eq16", "AnyDepth", "Fig12"),
    title="Training never changes the first layer's response to orthogonal images",
    statement=r"x\perp\hat x\Rightarrow W_1^tx=W_1^0x\text{ for every }t",
    source=forced("Appendix E.2, below equation 18"),
    cases=(
        *grid(
            widths=([7, 20, 7], [6, 15, 9, 6], [5, 12, 12, 8, 5]),
            trained=("all", "bottom", "two lowest"),
            steps=60,
            seed=0,
        ),
        *grid(
            widths=([10, 50, 10], [25, 400, 25]), trained="bottom", steps=200, seed=0
        ),
    ),
    predict=_predict_first,
    measure=_measure_first,
    # Two hundred roundings of half an eps of weights of size one, for an image of length
    # six.
    compare=AgreesTo(absolute=1.3e-13),
    must_refute=mistake(
        "A response that shrinks, as under weight decay of 1e-4.",
        then=lambda kept, *, steps: (1.0 - 0.05e-4) ** steps * kept,
    ),
    assumptions=("no biases", "gradient descent with momentum, no weight decay"),
    uses=("id/twolayer",),
    version=2,
)


# --- biases ---------------------------------------------------------------------------


def _convolutions(seed: int, *, biases: bool) -> nn.Sequential:
    conv = partial(nn.Conv2d, bias=biases, dtype=torch.float64)
    layers = [conv(*ends, 3, padding=1) for ends in pairwise((2, 5, 4, 2))]
    return _stacked(layers, [0.3] * 3, 7300 + seed)


def _measure_homogeneous(*, kind: str, biases: bool, seed: int) -> list[bool]:
    """Whether twice an image has twice its output, none none, its negative the negative."""
    g = torch.Generator().manual_seed(7400 + seed)
    if kind == "convolutional":
        net: nn.Module = _convolutions(seed, biases=biases)
        x = torch.randn(1, 2, 6, 5, generator=g, dtype=torch.float64)
    else:
        net = _network([6, 9, 7, 6], seed, biases=biases)
        if kind == "linear":
            net = nn.Sequential(*(part for part in net if isinstance(part, nn.Linear)))
        x = torch.randn(6, generator=g, dtype=torch.float64)
    with torch.no_grad():
        once, twice, none, other = net(x), net(2.0 * x), net(0.0 * x), net(-x)
    # Doubling is exact in binary, as is a change of sign.
    found = (torch.equal(twice, 2.0 * once), not none.any(), torch.equal(other, -once))
    return [bool(each) for each in found]


def _without_biases(*, kind: str, biases: bool, seed: int) -> list[bool]:
    return [not biases, not biases, kind == "linear" and not biases]


HOMOGENEOUS = numeric(
    id="id/bias-homogeneous",
    items=("Bias", "Err6"),
    title=(
        "Without biases a ReLU network is no constant but zero: it scales with its input"
    ),
    statement=(
        r"f(cx)=c\,f(x)\ (c\ge0)\text{ without biases},\ f(-x)=-f(x)\text{ if linear, too};"
        r"\text{ with biases, neither}"
    ),
    source=ours("Section 1 and appendix H.1, on biases; ours"),
    cases=grid(
        kind=("fully connected", "convolutional", "linear"),
        biases=(False, True),
        seed=(0, 1),
    ),
    predict=_without_biases,
    measure=_measure_homogeneous,
    compare=Identical(),
    must_refute=mistake(
        "Networks with biases that are homogeneous, too.", biases=False
    ),
    finding=(
        "Without biases the constant map is therefore out of reach; only its"
        " direction, for inputs of one norm, is not. A linear network cannot give an image"
        " and its negative that direction either: the constant that Section 3.1 has of deep"
        " linear networks is one up to sign. Table 1 counts no biases, whereas appendix H.1"
        " speaks of the bias of each filter."
    ),
)


def _measure_flat(*, kind: str, padding: Any, weights: bool) -> list[int]:
    """Distinct values in an output for a uniform image; all numbers are whole."""
    g = torch.Generator().manual_seed(7500)
    if kind == "fully connected":
        layer: nn.Module = nn.Linear(30, 30)
        x = torch.ones(30)
    else:
        layer = nn.Conv2d(1, 1, 3, padding=1, padding_mode=padding)
        x = torch.ones(1, 1, 6, 5)
    with torch.no_grad():
        for name, each in layer.named_parameters():
            size = 1 if name == "weight" and not weights else 1000
            each.copy_(torch.randint(size, each.shape, generator=g))
        return [len(torch.unique(layer(x)))]


def _by_output(*, kind: str, padding: str, weights: bool) -> list[int]:
    """By unit, or one; with zeros beyond the image inside, edges and corners."""
    if kind == "fully connected":
        return [30]
    return [9 if weights and padding == "zeros" else 1]


FLAT = numeric(
    id="id/bias-flat",
    title="Output biases give an FCN any constant image, but a CNN only uniform ones",
    statement=(
        r"W=0:\quad f(x)=b\in\mathbb R^{HW};\qquad f(x)=b\,\mathbf 1\ (\text{CNN}),"
        r"\text{ and at any }W\text{ for uniform }x\text{ and circular padding}"
    ),
    source=as_read("Section 1 and appendix H.1, on biases"),
    cases=(
        *grid(kind="fully connected", padding="zeros", weights=False),
        *grid(
            kind="convolutional", padding=("zeros", "circular"), weights=(False, True)
        ),
    ),
    predict=_by_output,
    measure=_measure_flat,
    compare=Identical(),
    must_refute=always([30], "A bias for each pixel."),
    uses=("id/bias-homogeneous",),
    finding=(
        "Of a uniform image a CNN without its zero padding makes a uniform one, whatever"
        " its weights: to draw a digit from that, it has to start at the boundary, as"
        " appendix H.1 supposes."
    ),
    version=2,
)


# --- the sharper bound's value --------------------------------------------------------


def _measure_sharp(*, nullity: int, channels: int, delta: float, scale: float) -> Any:
    """The sharper bound for B = 1 and K = 5, from its definition, to 40 digits."""
    with mpmath.workdps(40):
        n, c, p = mpmath.mpf(nullity), mpmath.mpf(channels), mpmath.mpf(delta)
        low, _ = bisected(
            lambda q: mpmath.gammainc(n * c / 2, q / 2, regularized=True) > p,
            *(mpmath.mpf(0), 4 * n * c + 40 * (1 - mpmath.log(p))),
            halvings=150,
        )
        spectral = mpmath.sqrt(n) + mpmath.sqrt(c) + mpmath.sqrt(-2 * mpmath.log(p))
        size = mpmath.mpf(scale) * min(mpmath.sqrt(low), spectral) + 1
        return size**2 * 25


def _sharp(nullity: int, channels: int, delta: float, scale: float) -> float:
    return idm.mse_bound(
        nullity, 5, channels, pixel_bound=1.0, scale=scale, delta=delta, form="sharp"
    ).total


SHARP = numeric(
    id="id/eq12-sharp",
    title="Values of a sharper form of Theorem 2's error bound",
    statement=(
        r"\Big[\sigma\min\big(\sqrt q,\sqrt n+\sqrt C+\sqrt{2\log(1/\delta)}\big)"
        r"+1\Big]^2B^2K^2,\quad P(\chi^2_{nC}\ge q)=\delta"
    ),
    source=ours("Equation 12; the sharper form is ours"),
    cases=grid(
        nullity=(1, 7, 25), channels=(1, 3), delta=(0.05, 1e-9), scale=(0.3, 2.0)
    ),
    predict=_sharp,
    measure=_measure_sharp,
    # The inverse of a tail and a few roots, some eps each.
    compare=AgreesTo(relative=1e-14),
    must_refute=mistake(
        "The weights of one channel, n degrees of freedom and not n C.", channels=1
    ),
    uses=("id/thm2-sharp",),
)
