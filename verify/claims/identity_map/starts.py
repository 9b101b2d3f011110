"""First weights, receptive fields and pictures, from the definitions (closed claims)."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from empirical import data
from empirical.identity_map import images
from empirical.identity_map.training import recorded_times
from empirical.networks import Convolutional, FullyConnected, Network
from empirical.networks.initial import SCHEMES, UNIT, deviation
from verify.claim import grid
from verify.claims._twins import SUMS, Array, closed, sketch
from verify.compare import Identical

# --- schemes of first weights -----------------------------------------------------------


def _own(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(30 + seed)


def first_weight(
    scheme: str,
    shape: Sequence[int],
    g: torch.Generator,
    *,
    dtype: torch.dtype = torch.float64,
    wrong: bool = False,
) -> Tensor:
    """Draw one weight with PyTorch's own functions where it has them."""
    w = torch.empty(*shape, dtype=dtype)
    taps = math.prod(shape[2:])
    into, out = shape[1] * taps, shape[0] * taps
    kinds: dict[str, Any] = {
        "xavier-normal": nn.init.xavier_normal_,
        "xavier-uniform": nn.init.xavier_uniform_,
        "kaiming-normal": lambda t, generator: nn.init.kaiming_normal_(
            t, mode="fan_out" if wrong else "fan_in", generator=generator
        ),
        "kaiming-uniform": lambda t, generator: nn.init.kaiming_uniform_(
            t, mode="fan_out" if wrong else "fan_in", generator=generator
        ),
    }
    if scheme == "orthogonal":
        # Orthonormal columns of the taller matrix: of rows and columns, the fewer ones.
        tall = torch.empty(max(shape[0], into), min(shape[0], into)).double()
        nn.init.orthogonal_(tall, generator=g)
        return (tall if shape[0] >= into else tall.T).reshape(shape)
    if scheme in kinds:
        return kinds[scheme](w, generator=g)
    # The outputs' fan where that of the inputs belongs.
    into, out = (out, out) if wrong else (into, out)
    if scheme == "framework":
        return w.uniform_(-(into**-0.5), into**-0.5, generator=g)
    deviations = {
        "unit": 1.0,
        "default": 1.0 / math.sqrt(into * out),
        "default-sqrt": 1.0 / math.sqrt(math.sqrt(into * out)),
    }
    return w.normal_(0.0, deviations[scheme], generator=g)


def _plain_start(*, scheme: str, kind: str, wrong: bool) -> list[float]:
    """Draw weights one after the other, and after each its bias.

    Wrong: The fan of the outputs in the place of the inputs'.
    """
    found: list[float] = []
    shapes = {
        "cnn": [[4, 2, 3, 3], [6, 4, 3, 3], [2, 6, 3, 3]],
        "fcn": [[5, 24], [5, 5], [24, 5]],
    }[kind]
    for seed in (1, 2):
        g, made = _own(seed), list[Tensor]()
        for shape in shapes:
            w = first_weight(scheme, shape, g, wrong=wrong)
            bias = torch.zeros(shape[0], dtype=torch.float64)
            if scheme == "framework":
                half = math.prod(shape[1:]) ** -0.5
                bias.uniform_(-half, half, generator=g)
            made += [w, bias]
        found += sketch(*made)
    for shape in shapes:
        into, out = math.prod(shape[1:]), shape[0] * math.prod(shape[2:])
        found.append(_deviation(scheme, into, out, shape[0]))
    return found


def _deviation(scheme: str, into: int, out: int, rows: int) -> float:
    name = scheme.partition("-")[0]
    variances = {
        "unit": 1.0,
        "default": 1.0 / (into * out),
        "framework": 1.0 / into / 3.0,
        "xavier": 2.0 / (into + out),
        "kaiming": 2.0 / into,
        "orthogonal": 1.0 / max(rows, into),
    }
    value = math.sqrt(variances[name])
    return math.sqrt(value) if scheme == "default-sqrt" else value


def _found_start(*, scheme: str, kind: str) -> list[float]:
    network: Network = (
        Convolutional(shape=(2, 5, 5), widths=(4, 6), bias=True)
        if kind == "cnn"
        else FullyConnected(
            widths=(24, 5, 5, 24), bias=True, parametrisation="standard"
        )
    )
    params = network.init(scheme, generator=[_own(1), _own(2)])
    again = network.init(scheme, generator=_own(1), replicates=1)
    assert all(torch.equal(a[0], b[0]) for a, b in zip(params, again, strict=True))
    found = [n for row in range(2) for n in sketch(*(p[row] for p in params))]
    return [*found, *(deviation(scheme, s) for s in network.weight_shapes)]


START = closed(
    id="id/Fig31-starts",
    title="Initial weights of every scheme are PyTorch's, drawn in the same order",
    statement=r"\sigma^2=\tfrac{2}{f_i+f_o},\ \tfrac2{f_i},\ \tfrac1{f_if_o},\ \ldots",
    where="Appendix I",
    cases=grid(scheme=(*SCHEMES, UNIT), kind=("cnn", "fcn")),
    compare=SUMS,
    twin=_plain_start,
    measure=_found_start,
)

# --- pictures, times --------------------------------------------------------------------


def _plain_pictures(
    *, labels: list[int], skip: int, shape: list[int], wrong: bool
) -> list[float]:
    """Find digits by counting, standardise and shrink them.

    Wrong: The next image but one of each label.
    """
    found = data.load("mnist", "train", cached=False)
    rows: list[Array] = []
    for place, label in enumerate(labels):
        at = skip + labels[:place].count(label) + wrong
        index = [k for k, own in enumerate(found.labels) if own == label][at]
        rows.append((found.images[index] / 255.0 - 0.1307) / 0.3081)
    x = torch.from_numpy(np.array(rows))[:, None]
    small = functional.interpolate(x, size=shape[1:], mode="bilinear", antialias=True)
    return sketch(*small.repeat(1, shape[0], 1, 1))


def _found_pictures(*, labels: list[int], skip: int, shape: list[int]) -> list[float]:
    found = images.chosen(labels, skip=skip).fitted((shape[0], shape[1], shape[2]))
    return sketch(*found.pixels)


PICTURES = closed(
    id="id/probe-pictures",
    title="Training images are the next of their label, standardised and then downscaled",
    statement=r"x=(v/255-0.1307)/0.3081",
    where="Appendix A",
    cases=(
        {"labels": [7], "skip": 0, "shape": [1, 28, 28]},
        {"labels": [3, 3, 5], "skip": 2, "shape": [3, 14, 9]},
    ),
    compare=SUMS,
    twin=_plain_pictures,
    measure=_found_pictures,
)


def _plain_times(*, longest: int, wrong: bool) -> list[int]:
    """Take 0 to 10, then twenty a decade.

    Wrong: The last time left out.
    """
    times = set(range(11)) | {longest}
    times |= {round(10.0 ** (k / 20)) for k in range(20 * 10)}
    return sorted(t for t in times if t <= longest - wrong)


def _found_times(*, longest: int) -> list[int]:
    return recorded_times(longest).tolist()


TIMES = closed(
    id="id/Fig2-times",
    title="Losses are recorded at the first ten steps, then twenty times per decade",
    statement=r"t=0,\ldots,10,\ [10^{k/20}]",
    where="Appendix A",
    # The last are all of the paper's.
    cases=grid(longest=(1, 7, 40, 1000, 4321, 2_000_000)),
    compare=Identical(),
    twin=_plain_times,
    measure=_found_times,
)
