"""Tangent kernels of the NormReLU experiments, held to Jacobians."""

import pytest
import torch
from torch import Tensor

from empirical.networks import FullyConnected, Network, Norm
from empirical.normrelu.networks import ARMS, arm_of
from empirical.normrelu.tangent import conditions, tangent_kernels
from empirical.randomness import torch_generator


@pytest.mark.parametrize("arm", ["normrelu", "relu", "batch", "layer"])
def test_the_tangent_kernel_is_the_jacobians_gram_matrix(arm: str) -> None:
    network = ARMS[arm].network(inputs=3, width=6, depth=3)
    params = ARMS[arm].init(network, [torch_generator(k, "x") for k in (1, 2)])
    params = tuple(p.double() for p in params)
    x = torch.randn(5, 3, generator=torch_generator(3), dtype=torch.float64)
    # Statistics other than 0 and 1, as after some updates.
    running = tuple(
        b.double() + 0.3 * (1 + k) for k, b in enumerate(network.running(params))
    )
    found = tangent_kernels(network, params, x, buffers=running)
    for replicate in range(2):
        own = [p[replicate : replicate + 1] for p in params]
        one = tuple(b[replicate : replicate + 1] for b in running)
        jacobian = _jacobian(network, own, x, one)
        torch.testing.assert_close(found[replicate], jacobian @ jacobian.T)


def _jacobian(
    network: Network, params: list[Tensor], x: Tensor, running: tuple[Tensor, ...]
) -> Tensor:
    """Return the first output's derivatives by all weight matrices, a row an input."""
    matrices = [k for k, p in enumerate(params) if p.ndim == 3]

    def first(*weights: Tensor) -> Tensor:
        mixed = list(params)
        for k, w in zip(matrices, weights, strict=True):
            mixed[k] = w
        return network.apply(tuple(mixed), x, buffers=running)[0, :, 0]

    parts = torch.autograd.functional.jacobian(
        first, tuple(params[k] for k in matrices)
    )
    return torch.cat([part.flatten(1) for part in parts], dim=1)


def test_condition_numbers_stop_where_digits_do() -> None:
    whole = torch.eye(3, dtype=torch.float64)
    flat = torch.ones(3, 3, dtype=torch.float64)
    worse = torch.full((3, 3), torch.nan, dtype=torch.float64)
    one, most, none = conditions(torch.stack([whole, flat, worse]))
    assert one == 0.0
    assert 15.0 < most < 15.3
    assert none.isnan()


def test_inputs_that_see_each_other_are_refused() -> None:
    network = ARMS["batch"].network(inputs=3, width=4, depth=1)
    params = ARMS["batch"].init(network, [torch_generator(1, "x")])
    with pytest.raises(ValueError, match="running statistics"):
        tangent_kernels(network, params, torch.eye(3))


def test_statistics_that_are_always_the_batchs_are_refused() -> None:
    network = FullyConnected(
        widths=(3, 4, 2),
        parametrisation="standard",
        norm=Norm(over="batch", momentum=None),
    )
    params = network.init(generator=torch_generator(1))
    with pytest.raises(ValueError, match="running statistics"):
        tangent_kernels(network, params, torch.eye(3))


def test_slopes_in_inference_mode_are_refused() -> None:
    network = ARMS["relu"].network(inputs=3, width=4, depth=1)
    params = ARMS["relu"].init(network, [torch_generator(1, "x")])
    with (
        torch.inference_mode(),
        pytest.raises(RuntimeError, match="tangent_kernels: must be called outside"),
    ):
        tangent_kernels(network, params, torch.eye(3))


def test_unknown_arms_suggest_known_ones() -> None:
    with pytest.raises(ValueError, match="Did you mean 'normrelu'"):
        arm_of("normrelus")


def test_images_are_refused() -> None:
    network = FullyConnected(widths=(4, 2), parametrisation="standard")
    params = network.init(replicates=1, generator=torch_generator(1))
    with pytest.raises(ValueError, match="must be vectors"):
        tangent_kernels(network, params, torch.zeros(1, 1, 2, 2))
