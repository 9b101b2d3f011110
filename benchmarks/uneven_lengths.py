"""Kernels of rows of unequal lengths beside those of a sphere, through the catalogue.

``python benchmarks/uneven_lengths.py --n 2000 --depth 20`` prints seconds of processor time
of both kernels (the NNGP kernel alone where the slope is not square integrable), each
activation in a process of its own: *first* builds the tables, *again* finds them. Rows are
drawn from a standard normal law in a few dimensions, raw, or have directions of that law in
100 dimensions and lengths uniform from 0.5 to 1.5; the sphere has the mean square length.

Repeated calls: in three dimensions 9 % of pairs lie within 0.42 of 0 or of pi, where
kernels vary over differences of log lengths as small as the angle. Where a table takes more
than four times as many pairs through the layers as there are, these go through all layers
in every call, at 1 to 3 microseconds a layer. The sphere's call reads 0.04 microseconds a
pair.
"""

import argparse
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

from theory import activations as act
from theory import kernels

LIMIT = 60
"""Seconds of processor time for one activation and one law of the rows."""


def rows(law: str, n: int) -> Any:
    """Return rows of a law: ``normal-D`` in D dimensions, or ``uniform``."""
    rng = np.random.default_rng(0)
    name, _, dim = law.partition("-")
    x = rng.standard_normal((n, int(dim or 100)))
    if name == "uniform":
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        x *= rng.uniform(0.5, 1.5, (n, 1))
    return x


def seconds(run: Any) -> tuple[float, float]:
    """Processor time of a first call, and the least of more calls."""
    times: list[float] = []
    while len(times) < 2 or (len(times) < 5 and sum(times[1:]) < 2.0):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return times[0], min(times[1:])


def one(name: str, law: str, depth: int, n: int) -> None:
    """Print the four times; for a process of its own."""
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
    base, _, how = name.partition(", ")
    activation = act.CATALOGUE[base]
    if how:
        activation = activation.normalized()
    smooth = np.isfinite(activation.derivative_second_moment)
    both = kernels.nngp_ntk if smooth else kernels.nngp
    x = rows(law, n)
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    sphere = x * (np.sqrt(np.mean(norms**2)) / norms)
    for inputs in (sphere, x):
        first, again = seconds(lambda inputs=inputs: both(inputs, activation, depth))
        print(f"{first:.6f} {again:.6f}", flush=True)


def line(name: str, law: str, depth: int, n: int) -> str:
    """Return a line of the table."""
    command = [sys.executable, __file__, "--one", name, "--laws", law]
    command += ["--depth", str(depth), "--n", str(n)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    found = [float(v) for v in run.stdout.split()]
    cells = [f"{v:.3g}" for v in found]
    if len(found) == 4:
        cells += [f"{found[2] / found[0]:.3g}", f"{found[3] / found[1]:.3g}"]
    elif run.returncode < 0:
        cells += [f"> {LIMIT} s"]
    else:
        cells += [run.stderr.strip().splitlines()[-1][:90]]
    cells += [""] * (6 - len(cells))
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--depth", type=int, default=20)
    parser.add_argument(
        "--laws", nargs="+", default=["uniform", "normal-784", "normal-10"]
    )
    parser.add_argument(
        "--only", nargs="+", help="activations, e.g. 'silu, normalised'"
    )
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(options.one, options.laws[0], options.depth, options.n)
        return
    names = options.only or [
        each for name in act.CATALOGUE for each in (name, f"{name}, normalised")
    ]
    for law in options.laws:
        print(f"\n| {law}, n = {options.n}, depth {options.depth}", end="")
        print(" | sphere, first | again | uneven, first | again | ratio | again |")
        print(f"| --- |{' ---: |' * 6}", flush=True)
        for name in names:
            print(line(name, law, options.depth, options.n), flush=True)


if __name__ == "__main__":
    main()
