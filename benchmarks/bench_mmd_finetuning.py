"""What fine-tuning by stacks saves: 20 tasks together, against 20 loops of one task.

``OMP_NUM_THREADS=1 pytest benchmarks/bench_mmd_finetuning.py --benchmark-only``, or
``OMP_NUM_THREADS=1 python benchmarks/bench_mmd_finetuning.py`` for the table of ratios;
``--device cuda`` for a GPU, ``--memory`` for what the largest stack takes. The subject: one
start, 20 tasks with N = 5 or 40 examples of each digit, 10 epochs, networks of two sizes,
1,000 test images. Rivals:

- ``stacked``: the 20 in one call, all at once;
- ``looped``: 20 calls of one task each, the same code with stacks of one;
- ``usual``: 20 `torch.nn` modules one after the other, with `torch.optim.Adam`.

Rivals take turns and the best turn of each counts. The floor is the operations of the
matrix products at the rate that one large product reaches on one core: a network that is
as wide as the paper's is near it alone, and stacks win what they win by being launched
once, on narrow networks and on GPUs.
"""

import argparse
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch.nn import functional

from empirical.mmd_init import networks
from empirical.mmd_init.binary_tasks import (
    Images,
    Split,
    draw_splits,
    images,
    random_tasks,
)
from empirical.mmd_init.finetuning import FinetuneRecipe, finetune
from empirical.mmd_init.networks import classifier
from empirical.networks import FullyConnected, Params
from empirical.randomness import numpy_generator, torch_generator

TASKS, NUMBERS = 20, (5, 40)
LABELLINGS = random_tasks(TASKS, numpy_generator(7, "tasks"))
RECIPE = FinetuneRecipe()
SIZES = {"64-64x3-2": 8, "784-392x3-2": None}


@dataclass(frozen=True)
class Subject:
    """A network, its start, its data."""

    net: FullyConnected
    state: Params
    data: Images
    split: Split

    def tuned(self, tasks: Sequence[int]) -> float:
        """Fine-tune on some tasks; return the mean accuracy."""
        rows = list(tasks)
        done = finetune(
            self.net,
            self.state,
            self.data,
            LABELLINGS[rows],
            Split(train=self.split.train[rows], validation=self.split.validation[rows]),
            generators=[torch_generator(7, "order", task) for task in rows],
            recipe=RECIPE,
        )
        return float(done.mean[0])

    def rivals(self) -> dict[str, Callable[[], float]]:
        """Return the ways to fine-tune on all tasks."""
        every = range(TASKS)
        return {
            "stacked": lambda: self.tuned(every),
            "looped": lambda: float(np.mean([self.tuned([t]) for t in every])),
            "usual": lambda: float(np.mean([self.usual(t) for t in every])),
        }

    def usual(self, task: int) -> float:
        """Fine-tune one network as one would write it down; return its accuracy."""
        device = self.state[0].device
        module = networks.as_module(self.net, self.state)
        adam = torch.optim.Adam(module.parameters(), lr=RECIPE.rate)
        labels = torch.from_numpy(LABELLINGS[task]).long().to(device)
        generator = torch_generator(7, "order", task)
        train, validation = (
            torch.from_numpy(rows[task])
            for rows in (self.split.train, self.split.validation)
        )
        x, y = self.data.inputs, labels[self.data.labels]
        tests, answers = self.data.test_inputs, labels[self.data.test_labels]
        least, kept = float("inf"), module.state_dict()
        for _ in range(RECIPE.epochs):
            order = train[torch.randperm(len(train), generator=generator)]
            for part in order.to(device).split(RECIPE.batch):
                adam.zero_grad()
                functional.cross_entropy(module(x[part]), y[part]).backward()
                adam.step()
            with torch.no_grad():
                loss = functional.cross_entropy(module(x[validation]), y[validation])
            if float(loss) < least:
                least = float(loss)
                kept = {name: t.clone() for name, t in module.state_dict().items()}
        module.load_state_dict(kept)
        with torch.no_grad():
            return float((module(tests).argmax(1) == answers).double().mean())

    def operations(self) -> float:
        """Count multiplications and additions of all tasks, in products."""
        fans = list(zip(self.net.widths, self.net.widths[1:], strict=False))
        forward = 2.0 * sum(a * b for a, b in fans)
        step = 3.0 * forward - 2.0 * fans[0][0] * fans[0][1]
        learnt, chosen = self.split.train.shape[1], self.split.validation.shape[1]
        epoch = learnt * step + chosen * forward
        tests = len(self.data.test_inputs)
        return TASKS * (RECIPE.epochs * epoch + tests * forward)


def subject(size: str, n: int, device: str = "cpu", runs: int = 1) -> Subject:
    """Return the subject of a size with N examples of each digit."""
    found = images(side=SIZES[size], cached=False)
    data = Images(
        inputs=found.inputs.to(device),
        labels=found.labels.to(device),
        test_inputs=found.test_inputs.to(device),
        test_labels=found.test_labels.to(device),
        source=found.source,
        mean=found.mean,
        std=found.std,
    )
    net = classifier((64, 64, 64, 64, 2) if SIZES[size] else (784, 392, 392, 392, 2))
    starts = [torch_generator(7, "start", run) for run in range(runs)]
    split = draw_splits(found.labels, TASKS, n, numpy_generator(7, "splits", n))
    return Subject(
        net, networks.start(net, "xavier", starts, device=device), data, split
    )


def arithmetic_rate() -> float:
    """Return operations per second of a large matrix product on one core."""
    a = torch.ones(1024, 1024)
    return 2.0 * 1024**3 / min(_seconds(lambda: a @ a) for _ in range(10))


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def best(rivals: dict[str, Callable[[], float]], turns: int) -> dict[str, float]:
    """Return the least seconds of each rival's turns."""
    found = dict.fromkeys(rivals, float("inf"))
    for _ in range(turns):
        for name, run in rivals.items():
            found[name] = min(found[name], _seconds(run))
    return found


def memory() -> tuple[float, float]:
    """Return the peak of memory before and after 4 runs of 20 tasks, N = 40, in MiB.

    All of the process: interpreter, PyTorch and data too.
    """
    made = subject("784-392x3-2", 40, runs=4)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    finetune(
        made.net,
        made.state,
        made.data,
        LABELLINGS,
        made.split,
        generators=[torch_generator(7, "order", i) for i in range(4 * TASKS)],
        recipe=FinetuneRecipe(epochs=1),
        recorded=True,
    )
    return before / 1024.0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


@pytest.mark.parametrize("n", NUMBERS)
@pytest.mark.parametrize("way", ["stacked", "looped", "usual"])
def test_small(benchmark, way, n):
    run = subject("64-64x3-2", n).rivals()[way]
    accuracy = benchmark.pedantic(run, rounds=3, warmup_rounds=1)
    assert accuracy > 0.6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--memory", action="store_true")
    chosen = parser.parse_args()
    if chosen.memory:
        print(
            "4 runs of 20 tasks: peak {:.0f} MiB before, {:.0f} after".format(*memory())
        )
        return
    rate = arithmetic_rate()
    for size in SIZES:
        for n in NUMBERS:
            made = subject(size, n, chosen.device)
            seconds = best(made.rivals(), chosen.turns)
            print(f"{size}, N = {n}")
            for name, value in seconds.items():
                ratio = value / seconds["stacked"]
                print(f"  {name:10} {value:8.3f} s  {ratio:6.2f} of stacked")
            if chosen.device == "cpu":
                floor = made.operations() / rate
                ratio = floor / seconds["stacked"]
                print(f"  {'floor':10} {floor:8.3f} s  {ratio:6.2f} of stacked")


if __name__ == "__main__":
    main()
