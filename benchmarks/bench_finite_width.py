"""Finite-width tangent kernels, layer by layer and through the Jacobian.

``pytest benchmarks/bench_finite_width.py --benchmark-only``: 784-512-512-10, 64 inputs,
float64, one draw. Each rival is checked against the layer-wise kernel before it counts.
"""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from empirical.data import sphere_inputs
from empirical.jacobian import ntk_by_jacobian
from empirical.kernels import ntk
from empirical.networks import FullyConnected, Params
from empirical.randomness import numpy_generator, torch_generator

WIDTHS = (784, 512, 512, 10)
N = 64

Kernel = Callable[[FullyConnected, Params, Tensor], Tensor]


def by_torch_func(network: FullyConnected, params: Params, x: Tensor) -> Tensor:
    """Jacobians of single examples, vectorised over examples: the usual recipe."""

    def outputs(weights: Params, row: Tensor) -> Tensor:
        return network.apply(weights, row[None])[0, 0]

    jacobians = torch.vmap(torch.func.jacrev(outputs), (None, 0))(params, x)
    total = torch.zeros((len(x),) * 2, dtype=x.dtype)
    for jacobian in jacobians:
        flat = jacobian.flatten(2)
        total += torch.einsum("ikp,jkp->ij", flat, flat)
    return total[None] / network.widths[-1]


@pytest.fixture(scope="module")
def case() -> tuple[FullyConnected, Params, Tensor]:
    network = FullyConnected(widths=WIDTHS, activation=torch.relu)
    params = network.init(generator=torch_generator(7, "weights"))
    x = sphere_inputs(N, WIDTHS[0], generator=numpy_generator(7, "inputs"))
    return network, params, torch.from_numpy(x)


@pytest.mark.parametrize(
    ("kernel", "rounds", "warmup"),
    # Seconds each for the rivals: a second round would tell nothing new.
    [(ntk, 50, 5), (by_torch_func, 1, 0), (ntk_by_jacobian, 1, 0)],
    ids=["layerwise", "torch.func vmap", "torch.func by layer"],
)
def test_ntk(benchmark, case, kernel: Kernel, rounds: int, warmup: int):
    network, params, x = case
    got = benchmark.pedantic(
        kernel, args=(network, params, x), rounds=rounds, warmup_rounds=warmup
    )
    expected = ntk(network, params, x)
    np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-10)


@pytest.mark.parametrize("draws", [1, 16])
def test_stacked_draws(benchmark, draws: int):
    """Sixteen draws at once cost less than sixteen times one."""
    network = FullyConnected.uniform(
        inputs=32, width=64, depth=4, activation=torch.relu
    )
    params = network.init(replicates=draws, generator=torch_generator(7, "weights"))
    x = sphere_inputs(16, 32, generator=numpy_generator(7, "inputs"))
    got = benchmark(ntk, network, params, torch.from_numpy(x))
    assert got.shape == (draws, 16, 16)
