"""Processor time of an update of one's own module, compiled and not.

``python benchmarks/bench_own_modules.py``: milliseconds an update of eight replicates
once all is compiled, and the seconds that the first fifty updates take, with compiling.
"""

import time
from collections.abc import Callable

import torch
from torch import nn

from empirical.randomness import torch_generator
from empirical.testbed.batches import Epochs
from empirical.testbed.loop import train
from empirical.testbed.optimisers import SGD
from empirical.testbed.stack import Stack
from empirical.testbed.supervised import Supervised

REPLICATES, EXAMPLES, CLASSES = 8, 500, 10
FIRST, LAST = 50, 250
"""Updates in which all is compiled, and those after which the clock is read again."""


def _dense(layers: int, units: int) -> nn.Module:
    parts: list[nn.Module] = []
    for _ in range(layers):
        parts += [nn.LazyLinear(units), nn.LayerNorm(units), nn.GELU()]
    return nn.Sequential(*parts, nn.LazyLinear(CLASSES))


def _images() -> nn.Module:
    parts: list[nn.Module] = []
    for _ in range(2):
        parts += [nn.LazyConv2d(8, 3), nn.LazyBatchNorm2d(), nn.ReLU()]
    return nn.Sequential(*parts, nn.Flatten(), nn.LazyLinear(CLASSES))


NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "20 layers of 16 units": (lambda: _dense(20, 16), (16,)),
    "6 layers of 64 units": (lambda: _dense(6, 64), (16,)),
    "2 layers of 512 units": (lambda: _dense(2, 512), (16,)),
    "2 convolutions of 8 channels": (_images, (1, 16, 16)),
}


def milliseconds(name: str, *, compile: bool) -> tuple[float, float]:
    """Return the milliseconds of an update, and the seconds of the first ones."""
    make, shape = NETWORKS[name]
    x = torch.randn(EXAMPLES, *shape, generator=torch_generator(1, "inputs"))
    net = make()
    net(x[:2])
    read: dict[int, float] = {0: time.process_time()}
    train(
        Supervised(net, x, torch.arange(EXAMPLES) % CLASSES),
        Stack.of(net, [torch_generator(1, k) for k in range(REPLICATES)], rates=0.01),
        SGD(momentum=0.9),
        steps=LAST,
        check=FIRST,
        batches=Epochs(EXAMPLES, 50, [torch_generator(1, "order")]),
        compile=compile,
        progress=lambda made, _, __: read.setdefault(made, time.process_time()),
    )
    each = (read[LAST] - read[FIRST]) / (LAST - FIRST)
    return 1e3 * each, read[FIRST] - read[0]


def main() -> None:
    """Print a table of milliseconds."""
    print("| network | as it is | compiled | seconds of the first, compiled |")
    for name in NETWORKS:
        plain, _ = milliseconds(name, compile=False)
        compiled, first = milliseconds(name, compile=True)
        print(f"| {name} | {plain:.2f} | {compiled:.2f} | {first:.1f} |", flush=True)


if __name__ == "__main__":
    main()
