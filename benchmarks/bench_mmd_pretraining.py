"""What a step of pre-training costs: noise on outputs against noise on weights.

``pytest benchmarks/bench_mmd_pretraining.py --benchmark-only`` on a small network, or
``python benchmarks/bench_mmd_pretraining.py`` for seconds and memory at the paper's size:
784-392-392-392-2, 32 inputs, 256 perturbations, all three losses, Adam; float32. Rivals:

- ``gram``: noise drawn in the space of outputs, uniformity in closed form;
- ``auto``: the same, but noise on the weights of small layers, here the last: the default;
- ``explicit``: noise on every weight, uniformity against sampled points; the same code;
- ``written down``: that with nothing but PyTorch's operations and autograd, nine
  exponentials a pair, as the paper has it.

Each rival is a process of its own, which tells its peak of memory apart; they take turns,
one step at a time, and the best turn of each counts. The base of memory is what the
process took before its first step, inputs and parameters and the libraries.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor

from empirical.mmd_init import networks, uniformity
from empirical.mmd_init.gram import Room
from empirical.mmd_init.losses import losses
from empirical.mmd_init.networks import classifier
from empirical.mmd_init.recipes import Recipe
from empirical.mmd_init.regularisers import degeneracy, detachment, jacobian_norms
from empirical.networks import FullyConnected, Params
from empirical.randomness import torch_generator

PAPER = (784, 392, 392, 392, 2)
SMALL = (64, 64, 64, 64, 2)
RECIPES = {
    "gram": Recipe(noise="gram"),
    "auto": Recipe(noise="auto"),
    "explicit": Recipe(noise="explicit", closed=False),
    "written down": None,
}
Loss = Callable[[Params, torch.Generator], Tensor]


def written_down(net: FullyConnected, x: Tensor) -> Loss:
    """Return the loss with PyTorch's operations alone."""
    recipe = Recipe()
    m, n, s = recipe.perturbations, recipe.reference, recipe.s

    def loss(state: Params, g: torch.Generator) -> Tensor:
        h = x
        for index, (w, b) in enumerate(networks.pairs(net, state)):
            e = torch.randn(m, *w.shape[1:], generator=g) * (s * w.shape[2] ** -0.5)
            f = torch.randn(m, 1, w.shape[1], generator=g) * (s * w.shape[1] ** -0.5)
            h = (h.relu() if index else h) @ (w + e).mT + b + f
        f = h.softmax(dim=2).transpose(0, 1)
        u = uniformity.simplex_sample(n, 2, g).expand(len(f), -1, -1)
        among, cross, points = (torch.cdist(*p) for p in ((f, f), (f, u), (u, u)))
        with torch.no_grad():
            pool = torch.cat([f, u], dim=1)
            rows, columns = torch.triu_indices(m + n, m + n, offset=1)
            median = torch.cdist(pool, pool)[:, rows, columns].median(dim=1).values
            median = median[:, None, None]
        uni = torch.zeros(len(f))
        for i in range(-4, 5):
            k = [
                torch.exp(-d.square() / (2.0 * (2.0**i * median) ** 2))
                for d in (among, cross, points)
            ]
            uni = uni + (k[0].sum(dim=(1, 2)) - m) / (m * (m - 1))
            uni = uni + (k[2].sum(dim=(1, 2)) - n) / (n * (n - 1))
            uni = uni - 2.0 * k[1].mean(dim=(1, 2))
        sd = degeneracy(h.softmax(dim=2)).mean()
        # The slopes of the network itself, layer by layer here too: autograd's own would
        # take one more network.
        entering = networks.entering(net, state, x[None])
        iod = detachment(jacobian_norms(networks.pairs(net, state), entering))
        return uni.mean() + recipe.lam * sd + recipe.xi * iod.sum()

    return loss


def step(way: str, widths: Sequence[int], batch: int) -> Callable[[], float]:
    """Return a step of training, which returns the loss."""
    net = classifier(tuple(widths))
    start = networks.start(net, "xavier", [torch_generator(7, "start")])
    state = tuple(v.requires_grad_() for v in start)
    x = torch.randn(batch, widths[0], generator=torch_generator(7, "x"))
    adam = torch.optim.Adam(list(state), lr=2e-4, fused=True)
    g = torch_generator(7, "noise")
    recipe, room = RECIPES[way], Room()
    plain = written_down(net, x)

    def run() -> float:
        adam.zero_grad()
        if recipe is None:
            loss = plain(state, g)
        else:
            loss = losses(net, state, x[None], [recipe], [g], room=room).loss.sum()
        loss.backward()
        adam.step()
        return float(loss.detach())

    return run


def peak() -> float:
    """Return the most memory that this process has had, in MiB."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not the resource usage, which starts from that of the process before.
        line = next(s for s in status.read_text().splitlines() if "VmHWM" in s)
        return int(line.split()[1]) / 1024
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (2**20 if sys.platform == "darwin" else 1024)


def work(way: str, widths: Sequence[int], batch: int) -> None:
    """Make a step for each line that comes; tell seconds and memory above the base."""
    run = step(way, widths, batch)
    base = peak()
    for _ in sys.stdin:
        start, used = time.perf_counter(), time.process_time()
        run()
        seconds = time.perf_counter() - start
        print(seconds, time.process_time() - used, peak() - base, base, flush=True)


def measured(
    widths: Sequence[int], batch: int, steps: int, threads: int
) -> dict[str, list[float]]:
    """Return least and median seconds, least of CPU, MiB above the base, the base."""
    command = [sys.executable, __file__, "--threads", str(threads)]
    command += ["--batch", str(batch), "--widths", *map(str, widths), "--worker"]
    pipe = subprocess.PIPE
    workers = {
        way: subprocess.Popen([*command, way], stdin=pipe, stdout=pipe, text=True)
        for way in RECIPES
    }
    rows: dict[str, list[list[float]]] = {way: [] for way in RECIPES}
    try:
        # The first step makes room, and is not timed.
        for _ in range(steps + 1):
            for way, worker in workers.items():
                assert worker.stdin is not None
                assert worker.stdout is not None
                worker.stdin.write("step\n")
                worker.stdin.flush()
                rows[way].append([float(v) for v in worker.stdout.readline().split()])
    finally:
        for worker in workers.values():
            worker.communicate()
    least: dict[str, list[float]] = {}
    for way, found in rows.items():
        seconds, cpu, memory, base = zip(*found[1:], strict=True)
        least[way] = [min(seconds), statistics.median(seconds), min(cpu), max(memory)]
        least[way].append(base[0])
    return least


def compare(widths: Sequence[int], batch: int, steps: int, threads: int) -> None:
    """Print the table."""
    least = measured(widths, batch, steps, threads)
    print(f"{'-'.join(map(str, widths))}, {batch} inputs, {threads} threads")
    print(f"{'':14}{'least s':>9}{'median s':>9}{'cpu s':>9}{'MiB':>8}{'base':>8}")
    for way, (*seconds, memory, base) in least.items():
        numbers = "".join(f"{value:9.4f}" for value in seconds)
        print(f"{way:14}{numbers}{memory:8.0f}{base:8.0f}")
    for ours in ("gram", "auto"):
        for way in ("explicit", "written down"):
            ratios = [a / b for a, b in zip(least[way], least[ours], strict=True)]
            print(
                f"{way} / {ours}: {ratios[0]:.1f} times the time (median {ratios[1]:.1f},"
                f" cpu {ratios[2]:.1f}), {ratios[3]:.1f} times the memory"
            )


@pytest.mark.parametrize("way", list(RECIPES))
def test_steps(benchmark, way):
    loss = benchmark.pedantic(step(way, SMALL, 32), rounds=5, warmup_rounds=1)
    assert 0.0 < loss < 10.0


def main() -> None:
    """Compare, or be one of those that are compared."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5, help="timed, of each rival")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--widths", type=int, nargs="+", default=list(PAPER))
    parser.add_argument("--quick", action="store_true", help="a small network")
    parser.add_argument("--worker", choices=list(RECIPES), help=argparse.SUPPRESS)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    widths = SMALL if given.quick else given.widths
    if given.worker is not None:
        work(given.worker, widths, given.batch)
    else:
        compare(widths, given.batch, given.steps, given.threads)


if __name__ == "__main__":
    main()
