"""neural-tangents beside `empirical`: tangent kernels of one network of finite width.

In the environment of the README here, from the repository's root, one core for both::

    PYTHONPATH=. taskset -c 0 python benchmarks/neural_tangents/finite_width.py

784-512-512-10, ReLU, no biases, the same weights and inputs, one dtype. The rivals take
turns in one process; seconds are of processor time, all threads counted, compiling
left out.
"""

import argparse
import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

# Before jax starts its threads.
os.environ["XLA_FLAGS"] = (
    "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import jax
import neural_tangents as nt
import numpy as np
import torch
from neural_tangents import stax

from empirical.kernels import Outputs, ntk
from empirical.networks import FullyConnected
from empirical.randomness import torch_generator

jax.config.update("jax_enable_x64", True)  # noqa: FBT003
torch.set_num_threads(1)

WIDTHS = (784, 512, 512, 10)
DTYPES = {"float32": torch.float32, "float64": torch.float64}
TRACED: dict[Outputs, tuple[int, ...]] = {"mean": (-1,), "all": ()}
"""What neural-tangents calls the axes of the outputs that are averaged."""

Run = Callable[[], np.ndarray]


def rival(name: str, outputs: Outputs, weights: Any, x: np.ndarray) -> Run:
    """Return the compiled kernel of `x` by one of neural-tangents' implementations.

    Its first layer divides by the square root of the inputs' dimension.
    """
    layers: list[Any] = []
    for width in WIDTHS[1:-1]:
        layers += [stax.Dense(width, W_std=1.0, b_std=None), stax.Relu()]
    init, apply, _ = stax.serial(*layers, stax.Dense(WIDTHS[-1], W_std=1.0, b_std=None))
    _, drawn = init(jax.random.PRNGKey(0), (-1, WIDTHS[0]))
    shape = jax.tree_util.tree_structure(drawn)
    params = jax.tree_util.tree_unflatten(
        shape, [jax.numpy.asarray(w[0].numpy().T) for w in weights]
    )
    kernel = jax.jit(
        nt.empirical_ntk_fn(
            apply,
            trace_axes=TRACED[outputs],
            vmap_axes=0,
            implementation=nt.NtkImplementation[name],
        ),
        static_argnums=1,
    )
    rows = jax.numpy.asarray(x * np.sqrt(x.dtype.type(WIDTHS[0])))
    return lambda: np.asarray(kernel(rows, None, params).block_until_ready())


def seconds(run: Run) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def compare(name: str, outputs: Outputs, dtype: str, n: int, rounds: int) -> None:
    """Print one row: both sides' times, their ratio, how far apart the kernels are."""
    generator = torch_generator(7)
    network = FullyConnected(widths=WIDTHS, activation=torch.relu)
    weights = network.init(generator=generator, dtype=DTYPES[dtype])
    x = torch.empty((n, WIDTHS[0]), dtype=DTYPES[dtype]).normal_(generator=generator)
    x /= x.norm(dim=1, keepdim=True)

    runs: tuple[Run, Run] = (
        lambda: ntk(network, weights, x, outputs=outputs)[0].numpy(),
        rival(name, outputs, weights, x.numpy()),
    )
    ours, theirs = (run() for run in runs)
    assert ours.dtype == theirs.dtype == dtype
    assert ours.shape == theirs.shape
    apart = np.abs(ours - theirs).max() / np.abs(ours).max()
    del ours, theirs
    times = np.array([[seconds(run) for run in runs] for _ in range(rounds)])
    ratios = times[:, 0] / times[:, 1]
    least = times.min(axis=0)
    cells = [f"{1e3 * t:.1f}" for t in (*least, *np.median(times, axis=0))]
    cells += [f"{least[0] / least[1]:.2f}", f"{ratios.min():.2f}-{ratios.max():.2f}"]
    words = name.lower().replace("_", " ")
    print(
        f"| {words}, {outputs}, {dtype}, {n} | {' | '.join(cells)} | {apart:.0e} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, nargs="+", default=[64, 500])
    parser.add_argument("--outputs", nargs="+", choices=TRACED, default=list(TRACED))
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument(
        "--others",
        type=int,
        default=64,
        help="n of the other implementations, which take much more; 0 for none",
    )
    options = parser.parse_args()
    packages = ("torch", "jax", "jaxlib", "neural-tangents", "numpy")
    print(f"{platform.machine()}, Python {platform.python_version()}", end="")
    print("".join(f", {name} {version(name)}" for name in packages))
    print("| ms, least and median | empirical | neural-tangents ", end="")
    print("| median | median | ratio | its range | apart |")
    print(f"| --- |{' ---: |' * 7}", flush=True)
    for outputs in options.outputs:
        for dtype in DTYPES:
            for n in options.n:
                compare("STRUCTURED_DERIVATIVES", outputs, dtype, n, options.rounds)
    if options.others:
        for name in ("JACOBIAN_CONTRACTION", "NTK_VECTOR_PRODUCTS"):
            for dtype in DTYPES:
                compare(name, "mean", dtype, options.others, 3)


if __name__ == "__main__":
    main()
