"""Steps per second of one-image training: stacked, looped, and what arithmetic allows.

``pytest benchmarks/bench_identity_map.py --benchmark-only``: 8 seeds of one network on
one 14 x 14 image, float32, the short recipe (momentum, gradients clipped). A round is
`STEPS` updates of all 8. Rivals:

- ``stacked``: one batch of 8;
- ``looped``: the same code, one network at a time;
- ``usual``: a `torch.nn` module, autograd and `torch.optim.SGD`, one at a time.

Extra information: updates per second of a network (of the 8 together), floating-point
operations of an update, and the least seconds that these take at the rate that this
machine's matrix products reach (convolutions counted at every pixel, padding too), or
for fully connected networks that reading and writing weights takes at the rate of a
copy: six passes over the weights an update.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from empirical.identity_map import copier
from empirical.identity_map.recipes import Recipe
from empirical.identity_map.training import train
from empirical.networks import Convolutional, Network, Params
from empirical.randomness import torch_generator

SEEDS, STEPS, SIZE = 8, 20, 14

RECIPE = Recipe(steps=STEPS, clip=0.5, schedule=(), check=STEPS, retries=0)

Way = Callable[[Network, Params, Tensor, Recipe], list[float]]

NETWORKS = {
    f"{kind}-{layers}": copier(
        kind="cnn" if kind == "cnn" else "fcn",
        shape=(1, SIZE, SIZE),
        layers=layers,
        width={"cnn": 32, "fcn": 512}[kind],
    )
    for kind in ("cnn", "fcn")
    for layers in (5, 20)
}


def image() -> Tensor:
    """One image, the same for all."""
    return torch.randn(1, 1, SIZE, SIZE, generator=torch_generator(7))


def weights(network: Network) -> Params:
    """First weights of all seeds."""
    return network.init(
        "kaiming-uniform",
        generator=torch_generator(8),
        replicates=SEEDS,
        dtype=torch.float32,
    )


def stacked(network: Network, params: Params, x: Tensor, recipe: Recipe) -> list[float]:
    """All seeds as one batch."""
    return train(network, params, x, recipe).final_losses.tolist()


def looped(network: Network, params: Params, x: Tensor, recipe: Recipe) -> list[float]:
    """One seed after another."""
    return [
        stacked(network, tuple(w[seed : seed + 1] for w in params), x, recipe)[0]
        for seed in range(SEEDS)
    ]


def usual(network: Network, params: Params, x: Tensor, recipe: Recipe) -> list[float]:
    """One seed after another, as one would write it down."""
    losses: list[float] = []
    for seed in range(SEEDS):
        model = module(network, tuple(w[seed] for w in params))
        optimiser = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        for _ in range(recipe.steps):
            optimiser.zero_grad()
            loss = (model(x) - x).square().mean()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimiser.step()
        losses.append((model(x) - x).square().mean().item())
    return losses


def module(network: Network, params: Params) -> nn.Module:
    """One network as a module with these weights."""
    parts: list[nn.Module] = (
        [] if isinstance(network, Convolutional) else [nn.Flatten()]
    )
    for index, weight in enumerate(params):
        if weight.ndim == 4:
            fan_out, fan_in, kernel, _ = weight.shape
            layer: nn.Linear | nn.Conv2d = nn.Conv2d(
                fan_in, fan_out, kernel, padding=kernel // 2, bias=False
            )
        else:
            layer = nn.Linear(weight.shape[1], weight.shape[0], bias=False)
        layer.weight.data.copy_(weight)
        parts.append(layer)
        if index < network.layers - 1:
            parts.append(nn.ReLU())
    if not isinstance(network, Convolutional):
        parts.append(nn.Unflatten(1, network.input_shape))
    return nn.Sequential(*parts)


def operations(network: Network) -> float:
    """Count multiplications and additions of one network's update.

    Forward, backward to the weights, and to the inputs but for the first layer's.
    """
    spots = SIZE * SIZE if isinstance(network, Convolutional) else 1
    sizes = [torch.Size(shape).numel() for shape in network.weight_shapes]
    return 2.0 * spots * (3 * sum(sizes) - sizes[0])


def best_seconds(call: Callable[[], object], repeats: int = 5) -> float:
    """Return the shortest time of a call."""
    call()
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return min(seconds)


@pytest.fixture(scope="module")
def peak() -> float:
    """Floating-point operations a second of a large matrix product."""
    a = torch.randn(1024, 1024, generator=torch_generator(7))
    return 2.0 * 1024**3 / best_seconds(lambda: a @ a)


@pytest.fixture(scope="module")
def bandwidth() -> float:
    """Bytes a second, read and written, of a copy as large as the weights."""
    a = torch.zeros(4_000_000)
    b = torch.empty_like(a)
    return 2.0 * a.numel() * 4 / best_seconds(lambda: b.copy_(a))


@pytest.mark.parametrize("way", [stacked, looped, usual], ids=lambda way: way.__name__)
@pytest.mark.parametrize("name", NETWORKS)
def test_updates(
    name: str, way: Way, peak: float, bandwidth: float, benchmark: Any
) -> None:
    network, x = NETWORKS[name], image()
    params = weights(network)
    losses = benchmark.pedantic(
        way, args=(network, params, x, RECIPE), rounds=3, warmup_rounds=1
    )
    assert len(losses) == SEEDS
    # All ways are the same training: a few updates' rounding in float32. More of them
    # amplify it in deep networks.
    short = replace(RECIPE, steps=3)
    assert way(network, params, x, short) == pytest.approx(
        looped(network, params, x, short), rel=1e-3
    )
    updates = STEPS * SEEDS
    flops = operations(network) * updates
    moved = 6.0 * 4 * network.parameters * updates
    floor = flops / peak if isinstance(network, Convolutional) else moved / bandwidth
    best = benchmark.stats.stats.min
    benchmark.extra_info.update(
        updates_per_second=updates / best,
        gflop_per_update=flops / updates / 1e9,
        peak_gflops=peak / 1e9,
        copy_gbytes_per_second=bandwidth / 1e9,
        floor_seconds=floor,
        times_the_floor=best / floor,
    )
