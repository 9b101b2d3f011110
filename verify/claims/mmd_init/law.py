"""Noise drawn in the space of the outputs, against noise on the weights."""

import itertools
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from empirical.mmd_init import noise, regularisers, uniformity
from verify.claim import grid, statistical
from verify.claims._predictors import always, mistake
from verify.claims.mmd_init._samples import Array, generator, network, normal
from verify.claims.mmd_init._sources import ours
from verify.compare import Estimate, MeanEquals

_SCALE = 0.5**0.5
_RUNS, _PERTURBATIONS = 320, 16
_WIDTHS = (16, 16, 16, 2)
_FORMS, _DIRECTIONS = 6, 18
# With two examples, noise is drawn on the 32 weights of the last layer.
_CASES = (
    *grid(way="gram", kind=("zero", "bias", "duplicates", "dead"), batch=16),
    {"way": "auto", "kind": "zero", "batch": 2},
)

# A repetition's mean over 16 perturbations deviates by 1 in the unit of comparison, the
# difference of two by 1.4, its mean over 320 by 0.08, and of heavier tails by 0.1: with
# 27 entries, 1e-9 is 6.9 of that and a thousandth 3.1 more.
_TEST = MeanEquals(discrepancy=1.0, false_fail=1e-9)

Weights = list[tuple[Tensor, Tensor]]
Sampler = Callable[[Weights, Tensor, int], Tensor]


def _problem(kind: str, batch: int) -> tuple[Weights, Tensor]:
    """Weights, biases and inputs; every repetition starts from the same."""
    weights, biases = network(_WIDTHS, 1, bias=0.0)
    x = torch.randn(batch, _WIDTHS[0], generator=generator(78, 0), dtype=torch.float64)
    if kind == "bias":
        biases = [b - 0.5 for b in biases[:-1]] + [biases[-1]]
    if kind == "duplicates":
        x[batch // 2 :] = x[: batch - batch // 2]
    if kind == "dead":
        # Twenty deviations below zero: the second layer sees nothing but its biases.
        biases = [biases[0] - 30.0, *biases[1:]]
    return list(zip(weights, biases, strict=True)), x


def _repeated(weights: Weights, x: Tensor) -> tuple[Weights, Tensor]:
    """As many copies as there are repetitions: each has gradients of its own."""

    def copies(value: Tensor) -> Tensor:
        return value.expand(_RUNS, *value.shape).clone()

    made = [
        (copies(w).requires_grad_(), copies(b).requires_grad_()) for w, b in weights
    ]
    return made, copies(x)


def _on_weights(weights: Weights, x: Tensor, seed: int) -> Tensor:
    """Logits by the definition: every weight and bias has noise of its own."""
    g, shape = generator(79, seed), (len(x), _PERTURBATIONS)
    h = x[:, None]
    for index, (w, b) in enumerate(weights):
        fan_out, fan_in = w.shape[-2:]
        e = normal(*shape, fan_out, fan_in, generator=g)
        f = normal(*shape, 1, fan_out, generator=g)
        h = torch.relu(h) if index else h
        h = h @ (w[:, None] + e * _SCALE / fan_in**0.5).mT
        h = h + b[:, None, None] + f * _SCALE / fan_out**0.5
    return h


def _without_slope(weights: Weights, x: Tensor, seed: int) -> Tensor:
    """Logits with noise of the right law whose slope by the activations is left out."""
    g, h = generator(80, seed), x[:, None]
    shape = (len(x), _PERTURBATIONS, x.shape[1])
    for index, (w, b) in enumerate(weights):
        fan_out, fan_in = w.shape[-2:]
        h = torch.relu(h) if index else h
        fixed = h.detach()
        c = _SCALE**2 * (fixed @ fixed.mT / fan_in + 1.0 / fan_out)
        level = c.diagonal(dim1=-2, dim2=-1).mean(dim=-1)[..., None, None]
        eye = torch.eye(c.shape[-1], dtype=c.dtype)
        root = torch.linalg.cholesky(c + 1e-9 * level * eye)
        z = normal(*shape, fan_out, generator=g)
        h = h @ w[:, None].mT + b[:, None, None] + root @ z
    return h


def _drawn(way: noise.Way) -> Sampler:
    def logits(weights: Weights, x: Tensor, seed: int) -> Tensor:
        # Whole numbers from one stream: the repetitions' own, however many they are.
        first = generator(81, seed)
        seeds = torch.randint(2**62, (len(x),), generator=first).tolist()
        own = [torch.Generator().manual_seed(int(k)) for k in seeds]
        s = x.new_full((len(x),), _SCALE)
        return noise.BY_WAY[way](weights, x, _PERTURBATIONS, s, own)

    return logits


_SAMPLERS: dict[str, Sampler] = {
    "definition": _on_weights,
    "gram": _drawn("gram"),
    "auto": _drawn("auto"),
    "local": _drawn("local"),
    "without slope": _without_slope,
}


def _losses(logits: Tensor) -> tuple[Tensor, Tensor]:
    """L_uni + 0.4 L_sd and L_sd of each repetition, at the one bandwidth 0.4."""
    f = logits.softmax(dim=-1)
    runs, perturbations, batch, _ = f.shape
    p = f[..., 0].transpose(0, 1).reshape(perturbations, -1)
    gammas = torch.full((runs * batch,), 0.4, dtype=f.dtype)
    uni = uniformity.closed(p, bandwidths=gammas).view(runs, batch).mean(dim=1)
    sd = regularisers.degeneracy(f).mean(dim=1)
    return uni + 0.4 * sd, sd


def _moments(logits: Tensor) -> Tensor:
    """Second moments over the batch: the mean of all pairs, and of random forms."""
    gap = (logits[..., 0] - logits[..., 1]).detach()
    n = gap.shape[-1]
    forms = torch.randn(_FORMS, n, n, generator=generator(82, n), dtype=gap.dtype)
    forms = torch.cat([torch.full((1, n, n), 1.0 / n, dtype=gap.dtype), forms])
    # Gaps' products, averaged over perturbations, then weighed.
    products = gap.mT @ gap / gap.shape[1]
    return torch.einsum("rij,kij->rk", products, forms)


@lru_cache(maxsize=32)
def _repetitions(sampler: str, kind: str, batch: int) -> tuple[Array, Array]:
    """Values (repetitions, statistics) and gradients (repetitions, parameters)."""
    weights, x = _repeated(*_problem(kind, batch))
    logits = _SAMPLERS[sampler](weights, x, batch)
    loss, sd = _losses(logits)
    leaves = list(itertools.chain.from_iterable(weights))
    slopes = torch.autograd.grad(loss.sum(), leaves)
    values = torch.cat([torch.stack([loss, sd], dim=1), _moments(logits)], dim=1)
    gradient = torch.cat([g.flatten(1) for g in slopes], dim=1)
    return values.detach().numpy(), gradient.numpy()


def _directions(kind: str, batch: int) -> Array:
    """Random unit vectors, then each layer's weights and biases' own directions."""
    weights, _ = _problem(kind, batch)
    parts = [p.flatten().numpy() for p in itertools.chain.from_iterable(weights)]
    rng = np.random.default_rng([83])
    size = sum(p.size for p in parts)
    random = rng.standard_normal((_DIRECTIONS, size)) / size**0.5
    own = np.zeros((len(parts), size))
    first = 0
    for row, part in zip(own, parts, strict=True):
        # Weights grow together; biases, which may be zero, rise together.
        row[first : first + part.size] = part if part.size > _WIDTHS[0] else 1.0
        first += part.size
    return np.concatenate([random, own])


def _statistics(sampler: str, kind: str, batch: int) -> Array:
    values, gradient = _repetitions(sampler, kind, batch)
    random = _directions(kind, batch)[:_DIRECTIONS]
    return np.concatenate([values, gradient @ random.T], axis=1)


def _slopes(sampler: str, kind: str, batch: int) -> Array:
    gradient = _repetitions(sampler, kind, batch)[1]
    found = gradient @ _directions(kind, batch).T
    # Before a dead layer there is no slope, by either way.
    return found if kind != "dead" else found[:, :_DIRECTIONS]


Statistics = Callable[[str, str, int], Array]


def _apart(statistics: Statistics, sampler: str, kind: str, batch: int) -> Array:
    """Differences from the definition, in deviations of one repetition of it."""
    usual = statistics("definition", kind, batch)
    return (statistics(sampler, kind, batch) - usual) / usual.std(axis=0, ddof=1)


def _measure_law(*, way: str, kind: str, batch: int) -> Estimate:
    return Estimate.of(_apart(_statistics, way, kind, batch))


def _each_example_alone(*, way: str, kind: str, batch: int) -> Array:
    """Noise of its own for each example."""
    return _apart(_statistics, "local", kind, batch).mean(axis=0)


def _measure_slope(*, way: str, kind: str, batch: int) -> Estimate:
    return Estimate.of(_apart(_slopes, way, kind, batch))


def _noise_held_fixed(*, way: str, kind: str, batch: int) -> Array:
    """Noise that does not depend on what enters the layer."""
    return _apart(_slopes, "without slope", kind, batch).mean(axis=0)


LAW = statistical(
    id="mmd/gram",
    title="Noise sampled on layer outputs has the same law as noise on the weights",
    statement=(
        r"HE^T+1b^T\sim N(0,C),\quad C=\tfrac{s^2}{n_{in}}HH^T+\tfrac{s^2}{n_{out}}11^T"
    ),
    source=ours("Section 3.3; the shortcut is ours"),
    cases=_CASES,
    predict=always(0.0),
    measure=_measure_law,
    compare=_TEST,
    must_refute=_each_example_alone,
    assumptions=("bandwidths held fixed", "two classes", "ReLU between layers"),
    uses=("mmd/gram-covariance",),
    finding=(
        "Compared are the means of the loss, of the degeneracy loss, of 18 random"
        " projections of the gradient and of seven second moments of the logits over"
        " the batch, in 320 repetitions each, for biases of 0 and -1/2, repeated"
        " examples, a dead layer and a batch of two. Noise that is drawn for each"
        " example separately, which would suit the uniformity loss, is off by twenty"
        " standard errors or more."
    ),
)

SLOPE = statistical(
    id="mmd/gram-slope",
    title=(
        "Gradients through noise on outputs have the mean of those through noise on weights"
    ),
    statement=(
        r"\mathbb E[E\mid n]=\tfrac{s^2}{n_{in}}\,n^TC^{-1}H,\quad n=HE^T+1b^T"
        r"\;\Rightarrow\;\mathbb E\,\nabla_{\theta_0}L\text{ is the same}"
    ),
    source=ours("Equation 10; the slope is ours"),
    cases=_CASES,
    predict=always(0.0),
    measure=_measure_slope,
    compare=_TEST,
    must_refute=_noise_held_fixed,
    assumptions=("bandwidths held fixed", "two classes", "ReLU between layers"),
    uses=("mmd/gram",),
    finding=(
        "Noise on outputs depends on what enters the layer. A gradient that ignores"
        " this is off by 14 standard errors or more along the first weights, for 16"
        " examples and no dead layer."
    ),
)

# --- one layer, and a second behind it, in closed form --------------------------------

_MANY, _UNITS = 600, (40, 3)


def _always_on(inputs: str, depth: int) -> tuple[Weights, Tensor]:
    """Three inputs; a first layer far above its kinks, and a second of noise alone."""
    x = 0.1 * torch.randn(3, 4, generator=generator(84, 0), dtype=torch.float64)
    if inputs == "twice":
        x[2] = x[0]
    if inputs == "zero":
        x[:] = 0.0
    w = torch.randn(_UNITS[0], 4, generator=generator(84, 1), dtype=x.dtype)
    first = (w, torch.full((_UNITS[0],), 1.5, dtype=x.dtype))
    last = torch.zeros(_UNITS[1], _UNITS[0], dtype=x.dtype)
    return [first, (last, torch.zeros(_UNITS[1], dtype=x.dtype))][:depth], x


def _measure_covariance(*, sampler: str, inputs: str, depth: int) -> Estimate:
    """Products of the noise on every two examples, averaged over units."""
    weights, x = _always_on(inputs, depth)
    stack = [(w.expand(_MANY, *w.shape), b.expand(_MANY, *b.shape)) for w, b in weights]
    noisy = _SAMPLERS[sampler](stack, x.expand(_MANY, *x.shape), depth)
    if depth == 1:
        noisy = noisy - (x @ weights[0][0].T + weights[0][1])
    # Over the width, in units of s^2 / width: the biases' part is one.
    return Estimate.of(_pairs((noisy @ noisy.mT).mean(dim=1).numpy() / _SCALE**2))


def _pairs(c: Array) -> Array:
    """Each covariance once."""
    rows, columns = np.triu_indices(c.shape[-1])
    return c[..., rows, columns]


def _covariance(*, sampler: str, inputs: str, depth: int, biases: float = 1.0) -> Array:
    """C at the first layer; at the second the mean of its own, no ReLU being off."""
    weights, x = _always_on(inputs, depth)
    c = _UNITS[0] / x.shape[1] * (x @ x.T).numpy() + biases
    if depth == 2:
        mean = (x @ weights[0][0].T + weights[0][1]).numpy()
        c = _UNITS[1] / _UNITS[0] * (mean @ mean.T + _SCALE**2 * c) + biases
    return _pairs(c)


COVARIANCE = statistical(
    id="mmd/gram-covariance",
    title="The covariance of a layer's outputs on a batch under noise on its parameters",
    statement=(
        r"\operatorname{Cov}(HE_i+e_i1)=C=\tfrac{s^2}{n_{in}}HH^T+\tfrac{s^2}{n_{out}}11^T"
    ),
    source=ours("Section 3.3; the formula is ours"),
    # With the second layer, whose inputs are noisy already: C has a mean in closed form.
    cases=grid(
        sampler=("definition", "gram"),
        inputs=("different", "twice", "zero"),
        depth=(1, 2),
    ),
    predict=_covariance,
    measure=_measure_covariance,
    # Squares of 600 times 16 times 3 normal numbers have a mean good to 0.8 per cent of
    # C, which is at most 8 here; ten of that is less than the biases' part.
    compare=MeanEquals(discrepancy=0.9, false_fail=1e-9),
    must_refute=mistake("Noise on the weights alone, not on biases.", biases=0.0),
    uses=("mmd/sigma",),
)
