"""What networks compute, against plain PyTorch (closed claims)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from empirical.identity_map import measures
from empirical.identity_map.images.pictures import Pictures
from empirical.identity_map.networks import copier
from empirical.networks import Convolutional, FullyConnected, Norm, Residual
from empirical.networks.layers import derivative
from empirical.networks.network import Network
from empirical.randomness import torch_generator
from verify.claim import grid
from verify.claims._twins import (
    SUMS,
    closed,
    drawn_into,
    normal,
    sketch,
    stacked,
)
from verify.claims.identity_map.steps import plain, shown, specified
from verify.compare import Identical

# --- what a network is and does ---------------------------------------------------------


class _Normed(nn.Module):
    """A dense network normalised over layers or batches ahead of each activation."""

    def __init__(self, over: str, *, affine: bool, bias: bool, act: str) -> None:
        super().__init__()
        kinds: dict[str, Any] = {
            "batch": lambda: nn.BatchNorm1d(
                6, eps=0.01, momentum=0.3, affine=affine, dtype=torch.float64
            ),
            "layer": lambda: nn.LayerNorm(
                6, eps=0.01, elementwise_affine=affine, dtype=torch.float64
            ),
        }
        acts = {"tanh": nn.Tanh, "selu": nn.SELU, "relu": nn.ReLU}
        parts: list[nn.Module] = []
        for fan in (5, 6):
            linear = nn.Linear(fan, 6, bias=bias, dtype=torch.float64)
            parts += [linear, kinds[over](), acts[act]()]
        last = nn.Linear(6, 3, bias=bias, dtype=torch.float64)
        self.net = nn.Sequential(*parts, last)

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs."""
        return self.net(x)


def _normed(row: int, over: str, affine: bool, bias: bool, act: str) -> _Normed:  # noqa: FBT001
    net = _Normed(over, affine=affine, bias=bias, act=act)
    drawn_into(net.parameters(), [31, row])
    return net


def _plain_norm(
    *, over: str, affine: bool, bias: bool, act: str, wrong: bool
) -> list[float]:
    """Run twice in training mode, then once as it was learnt.

    Wrong: The last batch in training mode.
    """
    found: list[float] = []
    for row in range(2):
        net = _normed(row, over, affine, bias, act)
        seen = [net(normal(7, 5, seed=[32, k])) for k in range(2)]
        net.train(wrong)
        last = net(normal(4, 5, seed=[33]))
        found += sketch(*seen, last)
        found += sketch(*(b.detach() for b in net.buffers() if b.ndim))
    return found


def _found_norm(*, over: Any, affine: bool, bias: bool, act: str) -> list[float]:
    network = FullyConnected(
        widths=(5, 6, 6, 3),
        activation=act,
        bias=bias,
        norm=Norm(over=over, affine=affine, eps=0.01, momentum=0.3),
        parametrisation="standard",
    )
    nets = [_normed(row, over, affine, bias, act) for row in range(2)]
    params = network.load(stacked(n.parameters() for n in nets))
    buffers = network.running(params)
    runs = [
        network.run(params, normal(7, 5, seed=[32, k]), buffers=buffers).outputs
        for k in range(2)
    ]
    last = network.apply(params, normal(4, 5, seed=[33]), buffers=buffers)
    if not buffers:
        last = network.apply(params, normal(4, 5, seed=[33]))
    found: list[float] = []
    for row in range(2):
        found += sketch(*(run[row] for run in runs), last[row])
        found += sketch(*(b[row] for b in buffers))
    return found


NORM = closed(
    id="id/B1-norms",
    title="Batch and layer normalisation match PyTorch's, running statistics included",
    statement=r"z\mapsto g\,(z-\hat\mu)/\sqrt{\hat\sigma^2+\epsilon}+b",
    where="not in the paper, whose networks have no normalisation",
    cases=(
        *grid(over=("batch", "layer"), affine=True, bias=(True, False), act="tanh"),
        *grid(over=("batch", "layer"), affine=False, bias=True, act=("relu", "selu")),
    ),
    compare=SUMS,
    twin=_plain_norm,
    measure=_found_norm,
)


def _plain_sizes(*, kind: str, bias: bool, wrong: bool) -> list[float]:
    """Count parameters and products of PyTorch's own network.

    Wrong: One parameter too many, and kernels that act on one spot.
    """
    layers = 4
    net = plain(kind, layers, "relu", bias, 0)
    count = sum(p.numel() for p in net.parameters())
    weights = [p for p in net.parameters() if p.ndim > 1]
    # A kernel acts on each of 3 x 4 spots.
    spots = 12 if kind == "cnn" and not wrong else 1
    products = spots * sum(w.numel() for w in weights)
    return [float(count + wrong), float(products), float(len(weights)), 1.0]


_MADE: dict[str, Callable[[Any], Network]] = {
    "fcn": lambda sizes: FullyConnected(widths=sizes),
    "cnn": lambda sizes: Convolutional(shape=sizes, widths=sizes),
    "residual": lambda sizes: Residual(shape=sizes, blocks=1),
}


def _found_sizes(*, kind: Any, bias: bool) -> list[float]:
    width = {"cnn": 9, "fcn": 5, "residual": None}[kind]
    network = copier(kind, shape=(2, 3, 4), layers=4, width=width, kernel=3, bias=bias)
    # However sizes are listed, they name the same network.
    listed: list[Any] = [(4, 6, 5), [4, 6, 5], np.array([4, 6, 5])]
    named = len({_MADE[kind](sizes) for sizes in listed})
    return [*map(float, (network.parameters, network.products, network.layers, named))]


SIZES = closed(
    id="id/tab1-counts",
    title="Networks count parameters and products as PyTorch does, in lists and tuples",
    statement=r"\#\theta,\qquad\#\text{products}=\sum_lHW\,C_lC_{l-1}K^2,"
    r"\qquad(4, 6, 5) = [4, 6, 5]",
    where="Table 1",
    cases=grid(kind=("fcn", "cnn", "residual"), bias=(False, True)),
    compare=Identical(),
    twin=_plain_sizes,
    measure=_found_sizes,
    uses=("id/tab1-formula",),
    version=2,
)


def _plain_cover(
    *, kernel: int, shape: list[int], at: list[int], wrong: bool, recorded: str = ""
) -> list[float]:
    """Differentiate an output by every pixel, after each number of layers.

    Wrong: Squares that grow by k - 1 pixels a layer, borders ignored.
    """
    del recorded
    found: list[float] = []
    for layers in (1, 2, 3):
        x = torch.ones(1, 1, *shape, dtype=torch.float64, requires_grad=True)
        h: Tensor = x
        for _ in range(layers):
            taps = torch.ones(1, 1, kernel, kernel, dtype=torch.float64)
            h = functional.conv2d(h, taps, padding=kernel // 2)
        (slope,) = torch.autograd.grad(h[0, 0, at[0], at[1]], x)
        seen = float((slope != 0.0).double().mean())
        found.append(
            min(1.0, (1 + layers * (kernel - 1)) ** 2 / x.numel()) if wrong else seen
        )
    return found


def _found_cover(
    *, kernel: int, shape: list[int], at: list[int], recorded: str = ""
) -> list[float]:
    size = (1, shape[0], shape[1])
    if recorded:
        network = copier("cnn", shape=size, layers=3, width=1, kernel=kernel)
        params = network.init(generator=torch_generator(5))
        image = Pictures(
            pixels=torch.ones(1, *size), names=("a",), origins=({},), data="mnist"
        )
        found = measures.measure(
            network,
            params,
            params,
            training_images=image,
            names=("cover",),
            seed=5,
            test_images=image,
            settings=measures.Settings(shown=("a",)),
        )
        return found["cover"][recorded]
    network = Convolutional(shape=size, kernel=kernel)
    if kernel > 2 * max(shape):
        # Layers that see every pixel, whatever they are.
        network = copier("fcn", shape=size, layers=3, width=5)
    return measures.cover(network, (at[0], at[1]), layers=3).tolist()


COVER = closed(
    id="id/Fig8-cover",
    title="The receptive field is measured as the pixels with a non-zero gradient",
    statement=r"|\{p:\partial f_q/\partial x_p\ne0\}|/(HW)",
    where="Section 3.4",
    cases=(
        {"kernel": 3, "shape": [7, 6], "at": [0, 0]},
        {"kernel": 5, "shape": [9, 12], "at": [4, 6]},
        {"kernel": 1, "shape": [4, 3], "at": [3, 1]},
        {"kernel": 9, "shape": [4, 3], "at": [3, 1]},
        # What records keep of it.
        {"kernel": 5, "shape": [9, 12], "at": [0, 0], "recorded": "corner"},
        {"kernel": 5, "shape": [9, 12], "at": [4, 6], "recorded": "centre"},
    ),
    compare=SUMS,
    twin=_plain_cover,
    measure=_found_cover,
    uses=("id/Err7-corrected",),
)


@torch.no_grad()
def _plain_one_image(*, kind: str, wrong: bool) -> list[float]:
    """Take root mean squares of the only image there is, behind each ReLU and at the end.

    Wrong: The mean of absolute values.
    """
    h, seen = shown(1, 0), [shown(1, 0)]
    for part in plain(kind, 3, "relu", True, 0):  # noqa: FBT003
        h = part(h)
        seen += [h] if isinstance(part, nn.ReLU) else []
    each = [*seen, h]
    return [float(x.abs().mean() if wrong else x.square().mean().sqrt()) for x in each]


def _found_one_image(*, kind: Any) -> list[float]:
    params = stacked([plain(kind, 3, "relu", True, 0).parameters()])  # noqa: FBT003
    pixels = shown(1, 0)
    one = Pictures(pixels=pixels, names=("a",), origins=({},), data="mnist")
    found = measures.measure(
        specified(kind, 3, "relu", True),  # noqa: FBT003
        params,
        params,
        training_images=one,
        names=("signal",),
        seed=1,
    )
    return found["signal"]["trained"][0].tolist()


ONE_IMAGE = closed(
    id="id/Fig31-one-image",
    title="Signals on a single training image have the sizes of plain layers' outputs",
    statement=r"\sqrt{\overline{h_l^2}},\qquad l=0,\ldots,L",
    where="Appendix I, on initialisations",
    cases=grid(kind=("cnn", "fcn")),
    compare=SUMS,
    twin=_plain_one_image,
    measure=_found_one_image,
    uses=("id/Fig31-starts",),
)

# --- derivatives ------------------------------------------------------------------------


def _plain_slope(*, name: str, wrong: bool) -> list[float]:
    """Return derivatives by their formulas, zero at kinks.

    Wrong: Differences over a step of 1e-6.
    """
    x = _places()
    if wrong:
        function, step = _function(name), 1e-6
        return ((function(x + step) - function(x)) / step).tolist()
    slopes = {
        "step": 0.0 * x,
        "tanh": 1.0 - x.tanh() ** 2,
        "relu": (x > 0.0) * 1.0,
        "sign": 0.0 * x,
        "square": 2.0 * x,
    }
    return slopes[name].tolist()


def _function(name: str) -> Callable[[Tensor], Tensor]:
    """Return a function of PyTorch's, or the step, of which autograd knows no slope."""
    return getattr(torch, name, lambda z: (z > 0.0).to(z.dtype))


def _places() -> Tensor:
    """Return nine normal numbers, and the kink."""
    return functional.pad(normal(9, seed=[37], size=1.5), (0, 1))


def _found_slope(*, name: str) -> list[float]:
    return derivative(_function(name), _places()).tolist()


SLOPE = closed(
    id="id/B2-slopes",
    title="Derivatives of activations are the analytic ones, and 0 at kinks",
    statement=r"\sigma'(z)",
    where="not in the paper: slopes for tangent kernels",
    cases=grid(name=("tanh", "relu", "sign", "square", "step")),
    compare=SUMS,
    twin=_plain_slope,
    measure=_found_slope,
)
