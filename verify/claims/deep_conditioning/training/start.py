"""Section 7's networks before training, see ``docs/trained/normrelu.md``.

Networks as the experiments draw them, and batches of inputs behind batch normalisation.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from empirical.normrelu.networks import ARMS
from empirical.normrelu.study import examples_of, network_of, problem_of
from empirical.randomness import torch_generator
from theory import activations as act
from theory import kernels, width
from theory.activations import Activation
from verify.claim import grid, statistical
from verify.claims.deep_conditioning._sources import ours
from verify.claims.deep_conditioning.training.comparisons import configuration
from verify.compare import Array, Estimate, MeanEquals

ACTIVATIONS: dict[str, Activation] = {
    "normrelu": act.normrelu(),
    "selu": act.selu,
    "relu": act.relu.scaled(2.0),
}
"""Of the arms without a norm, second moment 1: weights' gain is part of it."""
_NETWORKS, _AT_ONCE = 320, 4
_PAIRS = 200
_DEEPEST = 16
_SOURCE = ours("Section 7")

# --- signals of the experiments' networks ---------------------------------------------


@lru_cache(maxsize=1)
def _pairs() -> Tensor:
    """Return test digits, neighbours are pairs: (400, 196), squared norm 196."""
    setting = configuration("relu", "small", _DEEPEST)
    return examples_of(setting, problem_of(setting)).test_inputs[: 2 * _PAIRS]


@lru_cache(maxsize=len(ACTIVATIONS))
def _signals(arm: str) -> Array:
    """Return products and lengths by network and layer, (networks, layers, 2)."""
    setting = configuration(arm, "small", _DEEPEST)
    network = network_of(setting, problem_of(setting))
    generators = [torch_generator(k, "signals at the start") for k in range(_NETWORKS)]
    found = []
    for first in range(0, _NETWORKS, _AT_ONCE):
        params = ARMS[arm].init(network, generators[first : first + _AT_ONCE])
        layers = [_of_pairs(h.double()) for h in network.run(params, _pairs()).hidden]
        found.append(torch.stack(layers, dim=1))
    return torch.cat(found).numpy()


def _of_pairs(h: Tensor) -> Tensor:
    """Return the mean product of neighbours and the mean square, (networks, 2)."""
    products = (h[:, 0::2] * h[:, 1::2]).mean(dim=(1, 2))
    return torch.stack([products, h.square().mean(dim=(1, 2))], dim=1)


def _measured_signals(*, arm: str, depth: int) -> Estimate:
    return Estimate.of(_signals(arm)[:, depth - 1])


def _correlations() -> Array:
    x = functional.normalize(_pairs().double(), dim=1)
    return (x[0::2] * x[1::2]).sum(dim=1).numpy()


def _over_pairs(kernel: Any) -> float:
    """Return the mean of a smooth function of the pairs' correlations, by its nodes'."""
    rho = _correlations()
    domain = [rho.min(), rho.max()]
    fit = np.polynomial.Chebyshev.interpolate(kernel, 4, domain=domain)
    return float(fit(rho).mean())


def _predicted_signals(*, arm: str, depth: int) -> Array:
    activation = ACTIVATIONS[arm]
    units = configuration("relu", "small", _DEEPEST).width
    return np.array(
        [
            _over_pairs(lambda r: width.nngp_mean(r, activation, depth, units)),
            width.nngp_mean(1.0, activation, depth, units),
        ]
    )


def _rival_signals(*, arm: str, depth: int) -> Array:
    """Infinitely wide networks of another activation: ReLU, and NormReLU for ReLU."""
    rival = ACTIVATIONS["normrelu" if arm == "relu" else "relu"]
    return np.array(
        [_over_pairs(lambda r: kernels.nngp_map(r, rival, depth=depth)), 1.0]
    )


SIGNALS = statistical(
    id="dc/fig1-start",
    items=("Fig1", "Sec11"),
    title="At initialisation, signals of section 7's networks follow the deterministic"
    " kernel",
    statement=r"\mathbb{E}\,\tfrac1n h_l \cdot h_l' = K^{(l)}(\rho)"
    r" + m^{(l)}(\rho)/n + O(n^{-2}),"
    r"\qquad n = 128",
    source=_SOURCE,
    cases=grid(arm=tuple(ACTIVATIONS), depth=(1, 4, 8, _DEEPEST)),
    predict=_predicted_signals,
    measure=_measured_signals,
    # Plain ReLU's deep lengths spread most; of the order 1/n^2 stays (l/n)^2.
    compare=MeanEquals(discrepancy=0.5, rounding=(_DEEPEST / 128) ** 2),
    must_refute=_rival_signals,
    uses=("dc/lemC.4-bias", "dc/sec7-steps"),
    assumptions=("weights N(0, gain/fan in)", "digits of 14 x 14 pixels, no training"),
    finding=(
        "The kernel of infinite width would pass, too: these networks tell activations"
        " apart, not the correction of order 1/n, which dc/lemC.4-bias resolves."
    ),
)


# --- batch normalisation ----------------------------------------------------------------


@lru_cache(maxsize=8)
def _behind_batches(batch: int, units: int, networks: int, depth: int) -> Array:
    """Return cosines and gradients' growth behind each layer, (networks, depth, 2).

    Growth of a layer: the mean square of the gradients at what enters it over that at
    what leaves it, of a random direction of each input's outputs.
    """
    arm = ARMS["batch"]
    network = arm.network(inputs=units, width=units, depth=depth)
    generators = [torch_generator(k, "batches", str(units)) for k in range(networks)]
    params = arm.init(network, generators)
    draw = generators[0]
    x = torch.randn(batch, units, generator=draw).requires_grad_()
    directions = torch.randn(networks, batch, units, generator=draw)
    found = []
    for part in (slice(k, k + _AT_ONCE) for k in range(0, networks, _AT_ONCE)):
        hidden = network.run(tuple(p[part] for p in params), x, kept=True).hidden
        gradients = torch.autograd.grad(hidden[-1], hidden[:-1], directions[part])
        sizes = torch.stack([g.double().square().mean(dim=(1, 2)) for g in gradients])
        cosines = torch.stack([_mean_cosine(h.detach()) for h in hidden])
        growth = torch.ones_like(cosines)
        growth[1:-1] = sizes[:-1] / sizes[1:]
        found.append(torch.stack([cosines, growth], dim=2).transpose(0, 1))
    return torch.cat(found).numpy()


def _mean_cosine(h: Tensor) -> Tensor:
    """Return the mean cosine of all pairs of different inputs, one a network."""
    unit = functional.normalize(h.double(), dim=2)
    count = unit.shape[1]
    return (unit.sum(dim=1).square().sum(dim=1) - count) / (count * (count - 1))


def _measured_cosines(
    *, batch: int, units: int, networks: int, depth: int, layer: int
) -> Estimate:
    """Twice the wide networks' less the narrow ones': the order 1/units cancels."""
    narrow, wide = (
        _behind_batches(batch, size, networks, depth)[:, layer - 1, 0]
        for size in (units, 2 * units)
    )
    return Estimate.of(2.0 * wide - narrow)


def _predicted_cosine(*, batch: int, **_case: Any) -> float:
    return float(ACTIVATIONS["relu"].dual(-1.0 / (batch - 1.0)))


def _cosine_without(*, layer: int, **_case: Any) -> float:
    """Networks without normalisation, whose correlations go to one."""
    return float(kernels.nngp_map(0.0, ACTIVATIONS["relu"], depth=layer))


BATCHES = statistical(
    id="dc/fig1-batch-start",
    items=("Fig1", "Sec11"),
    title="At initialisation, batch-normalised ReLU has the same correlation at every"
    " depth",
    statement=r"\cos_l = \hat\kappa\left(-\tfrac{1}{B-1}\right) \approx \tfrac1\pi",
    source=_SOURCE,
    # Cosines of ten inputs spread three times as far as those of a hundred.
    cases=(
        *grid(batch=10, units=256, networks=64, depth=12, layer=(2, 5, 9)),
        *grid(batch=100, units=256, networks=24, depth=12, layer=(2, 5, 9)),
    ),
    predict=_predicted_cosine,
    measure=_measured_cosines,
    compare=MeanEquals(discrepancy=0.02),
    must_refute=_cosine_without,
    uses=("dc/tab1", "dc/sec7-steps"),
    assumptions=("many units", "ReLU behind batch normalisation, batch statistics"),
)


def _measured_growth(*, batch: int, units: int, networks: int, depth: int) -> Estimate:
    """As `_measured_cosines`, with batches that grow with the units."""
    narrow, wide = (
        np.log(_behind_batches(factor * batch, factor * units, networks, depth))
        for factor in (1, 2)
    )
    both = 2.0 * wide - narrow
    return Estimate.of(np.exp(both[:, 1:-1, 1].mean(axis=1)))


def _predicted_growth(**_case: Any) -> float:
    r"""E s'^2 / Var s: the slope at one of the normalised activation's dual."""
    return float(act.relu.normalized().dual_derivative(1.0))


def _kept(**_case: Any) -> float:
    """Gradients that keep their size, as He's weights promise."""
    return float(ACTIVATIONS["relu"].dual_derivative(1.0))


GRADIENTS = statistical(
    id="dc/sec7-batch-gradients",
    items=("Sec7-rates", "Sec11"),
    title="Backpropagated gradients grow by pi/(pi - 1) per batch-normalised ReLU layer",
    statement=r"\frac{\mathbb{E}\,|\partial_{h_{l-1}}"
    r" f|^2}{\mathbb{E}\,|\partial_{h_l} f|^2} ="
    r" \frac{\mathbb{E}\,s'^2}{\mathrm{Var}\,s} = \frac{\pi}{\pi - 1}",
    source=_SOURCE,
    cases=grid(batch=200, units=256, networks=40, depth=10),
    predict=_predicted_growth,
    measure=_measured_growth,
    compare=MeanEquals(discrepancy=0.05),
    must_refute=_kept,
    uses=("dc/tab2", "dc/sec7-steps"),
    assumptions=("many units, large batches", "ReLU behind batch normalisation"),
    finding=(
        "Through 32 layers their mean square grows by a factor of 2e5. It is the slope"
        " of a *normalised* activation: at infinite width, batch normalisation acts on"
        " gradients as the paper's normalisation of the activation does."
    ),
)
