"""What a step of stacked training costs: against one run, loops, and arithmetic.

``OMP_NUM_THREADS=1 pytest benchmarks/bench_square_loss.py --benchmark-only``, or
``OMP_NUM_THREADS=1 python benchmarks/bench_square_loss.py`` for the table of ratios.
The subject: 10 seeds times 3 scales of the network of 4 layers and 32 units with batch
normalisation, 300 digits of 8 x 8 pixels, full batches, weight decay. Rivals:

- ``stacked``: the 30 as one stack;
- ``one``: one run by the same code; ``looped`` is 30 times that;
- ``usual``: one run as a `torch.nn` module with autograd and `torch.optim.SGD`.

Rivals take turns and the best turn of each counts: on a shared machine the least time
is the one with the least interference. The floor is the operations of the matrix
products (forward, to the weights, to the inputs but for the first layer's) at the rate
that one large product reaches on one core.
"""

import time
from collections.abc import Callable

import pytest
import torch
from torch import nn

from empirical.networks import Params
from empirical.randomness import torch_generator
from empirical.square_loss import Recipe, classifier, problem, start, train

SCALES, SEEDS, STEPS = (0.1, 1.0, 5.0), tuple(range(10)), 100

NET = classifier("bn", shape=(65,), widths=(32, 32, 32))

DIGITS = problem(side=8, constant=0.25, per_class=150, cached=False)


def weights(count: int, dtype: torch.dtype) -> Params:
    """First weights of the first `count` draws."""
    draws = [(scale, seed) for scale in SCALES for seed in SEEDS][:count]
    generators = [torch_generator(seed, "weights") for _, seed in draws]
    return start(NET, [scale for scale, _ in draws], generators, dtype=dtype)


def ours(
    count: int,
    dtype: torch.dtype,
    *,
    recorded: bool = False,
    steps: int = STEPS,
) -> Callable[[], float]:
    """Return a training of `count` draws, as a function."""
    params = weights(count, dtype)
    recipe = Recipe(epochs=steps, weight_decay=0.01)

    def run() -> float:
        done = train(NET, params, DIGITS, recipe, recorded=recorded)
        return float(done.series["loss"][-1].sum())

    return run


def usual(dtype: torch.dtype) -> Callable[[], float]:
    """Return one run as one would write it down."""
    x = DIGITS.inputs.to(dtype)
    y = DIGITS.targets(DIGITS.classes)[:, 0].to(dtype)

    def run() -> float:
        parts: list[nn.Module] = []
        for index, weight in enumerate(weights(1, dtype)):
            layer = nn.Linear(weight.shape[2], weight.shape[1], bias=False, dtype=dtype)
            layer.weight.data.copy_(weight[0])
            parts.append(layer)
            if index < NET.layers - 1:
                norm = nn.BatchNorm1d(32, eps=1e-12, affine=False, dtype=dtype)
                parts += [norm, nn.ReLU()]
        model = nn.Sequential(*parts)
        sgd = torch.optim.SGD(
            model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01
        )
        for _ in range(STEPS):
            sgd.zero_grad()
            (model(x)[:, 0] - y).square().mean().backward()
            sgd.step()
        return float((model(x)[:, 0] - y).square().mean().detach())

    return run


def operations() -> float:
    """Count multiplications and additions of one network's step."""
    sizes = [torch.Size(shape).numel() for shape in NET.weight_shapes]
    return 2.0 * len(DIGITS.inputs) * (3 * sum(sizes) - sizes[0])


def arithmetic_rate(dtype: torch.dtype) -> float:
    """Return operations per second of a large matrix product on one core."""
    a = torch.ones(1024, 1024, dtype=dtype)
    seconds = min(_seconds(lambda: a @ a) for _ in range(10))
    return 2.0 * 1024**3 / seconds


def _seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def best(rivals: dict[str, Callable[[], float]], turns: int = 5) -> dict[str, float]:
    """Return the least seconds of each rival's turns."""
    found = dict.fromkeys(rivals, float("inf"))
    for _ in range(turns):
        for name, run in rivals.items():
            found[name] = min(found[name], _seconds(run))
    return found


def ratios(dtype: torch.dtype) -> dict[str, float]:
    """Return milliseconds a step and their ratios."""
    rivals = {
        "stacked": ours(30, dtype),
        "one": ours(1, dtype),
        "usual": usual(dtype),
    }
    ms = {name: 1e3 * s / STEPS for name, s in best(rivals).items()}
    together = ms["stacked"]
    floor = 1e3 * 30 * operations() / arithmetic_rate(dtype)
    return ms | {
        "stacked / one": together / ms["one"],
        "stacked / usual": together / ms["usual"],
        "30 one / stacked": 30 * ms["one"] / together,
        "30 usual / stacked": 30 * ms["usual"] / together,
        "floor, one core": floor,
        "floor / one": floor / ms["one"],
    }


def recording() -> float:
    """Return what recording adds to 1,000 steps of the stack, as a share."""
    rivals = {
        name: ours(30, torch.float64, recorded=kept, steps=1000)
        for name, kept in (("without", False), ("with", True))
    }
    # Of one process on one core: what others do on the machine does not count.
    seconds = dict.fromkeys(rivals, float("inf"))
    for _ in range(2):
        for name, run in rivals.items():
            start = time.process_time()
            run()
            seconds[name] = min(seconds[name], time.process_time() - start)
    return seconds["with"] / seconds["without"] - 1.0


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("way", ["stacked", "one", "usual"])
def test_steps(benchmark, way, dtype):
    run = {"stacked": ours(30, dtype), "one": ours(1, dtype), "usual": usual(dtype)}[
        way
    ]
    benchmark.extra_info["operations"] = operations() * (30 if way == "stacked" else 1)
    loss = benchmark.pedantic(run, rounds=5, warmup_rounds=1)
    assert loss < (30.0 if way == "stacked" else 1.0)


def main() -> None:
    """Print the table."""
    for dtype in (torch.float64, torch.float32):
        print(dtype)
        for name, value in ratios(dtype).items():
            print(f"  {name:26} {value:8.3f}")
    print(f"recording adds {100.0 * recording():.1f} % to 1,000 steps")


if __name__ == "__main__":
    main()
