"""Deep kernels of 2,000 inputs against their Gram product and one arc cosine.

``OMP_NUM_THREADS=1 pytest benchmarks/bench_kernels.py --benchmark-only -s``, seconds of
processor time. Rivals take turns within one run, so that a busy machine slows all of
them; ratios are printed and kept in `extra_info`.

- A turn is several calls, the first not counted: after a product the threads of the
  linear algebra library wait busily, and would take a core from whoever comes next.
- *first* builds the table of the depth, *repeated* finds it cached.
- Peak memory is counted by `tracemalloc`, in matrices of n x n float64.
"""

import time
import tracemalloc
from collections.abc import Callable
from statistics import median

import numpy as np
import numpy.typing as npt
import pytest

from theory import activations as act
from theory import depth_maps, kernels
from theory._recursion import spheres

Array = npt.NDArray[np.float64]
N, D, DEPTH, ROUNDS = 2000, 100, 1000, 5
NAMES = ("relu", "tanh", "gelu", "selu")


@pytest.fixture(scope="module")
def x() -> Array:
    x = np.random.default_rng(0).standard_normal((N, D))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def floor(x: Array) -> Array:
    """Gram product and one pass of arccos: what any formula in the angle pays."""
    return np.arccos(x @ x.T)


def seconds(function: Callable[[], object]) -> float:
    # Of this process, on all its threads: what else runs on the machine adds nothing.
    start = time.process_time()
    function()
    return time.process_time() - start


def forget() -> None:
    """Empty the caches of tables, as in a new process."""
    spheres.sphere.cache_clear()
    depth_maps._of_layer.cache_clear()


@pytest.mark.parametrize("name", NAMES)
def test_both_kernels_at_any_depth(benchmark, x: Array, name: str):
    activation = act.CATALOGUE[name].normalized()
    inside = (1.0 - 1e-12) * x  # no cosine above one, and no pass to clip it
    run = {
        "floor": lambda: floor(inside),
        "one layer": lambda: kernels.nngp_ntk(x, activation, 1),
        "deep": lambda: kernels.nngp_ntk(x, activation, DEPTH, normalized=True),
    }
    first = {}
    for what in ("one layer", "deep"):
        forget()
        first[what] = seconds(run[what])
    taken: dict[str, list[float]] = {what: [] for what in run}
    for _ in range(ROUNDS):
        for what, function in run.items():
            function()
            taken[what].append(min(seconds(function) for _ in range(3)))
    # The smallest: what else ran on the machine only adds.
    best = {what: min(times) for what, times in taken.items()}
    benchmark.extra_info |= {
        "over floor, depth 1": best["one layer"] / best["floor"],
        "over floor, depth 1000": best["deep"] / best["floor"],
        "depth 1000 over depth 1": best["deep"] / best["one layer"],
        "depth 1000 over depth 1, median": median(
            d / o for d, o in zip(taken["deep"], taken["one layer"], strict=True)
        ),
        "first call, depth 1, s": first["one layer"],
        "first call, depth 1000, s": first["deep"],
        "floor, s": best["floor"],
        "deep, s": best["deep"],
    }
    show(name, benchmark.extra_info)
    benchmark.pedantic(run["deep"], rounds=1)


@pytest.mark.parametrize(
    "name", ["tanh", "arctan", "asinh", "softsign", "hard_tanh", "elu"]
)
def test_first_call_without_normalisation(benchmark, x: Array, name: str):
    """The length, and the dual with it, is another one in every layer."""
    forget()

    def run() -> object:
        return kernels.nngp_ntk(x, act.CATALOGUE[name], DEPTH)

    benchmark.extra_info["first call, s"] = seconds(run)
    show(name, benchmark.extra_info)
    benchmark.pedantic(run, rounds=1)


@pytest.mark.parametrize("name", ["relu"])
def test_peak_memory(benchmark, x: Array, name: str):
    activation = act.CATALOGUE[name].normalized()
    kernels.nngp_ntk(x, activation, DEPTH, normalized=True)

    def peak() -> float:
        tracemalloc.start()
        try:
            kernels.nngp_ntk(x, activation, DEPTH, normalized=True)
            return tracemalloc.get_traced_memory()[1] / (8 * N * N)
        finally:
            tracemalloc.stop()

    matrices = benchmark.pedantic(peak, rounds=1)
    benchmark.extra_info["peak, n x n float64"] = matrices
    show(name, benchmark.extra_info)
    assert matrices <= 3.0


@pytest.mark.parametrize("name", ["relu", "tanh"])
def test_inputs_of_unequal_lengths(benchmark, name: str):
    """Layer by layer: the cost grows with depth."""
    x = np.random.default_rng(0).standard_normal((200, D))
    x /= np.sqrt(D)
    activation = act.CATALOGUE[name].normalized()
    k, _ = benchmark.pedantic(
        kernels.nngp_ntk, args=(x, activation, 10), rounds=1, warmup_rounds=0
    )
    assert np.array_equal(k, k.T)


@pytest.mark.parametrize("name", ["gelu", "log_cosh", "mish", "hard_swish"])
@pytest.mark.parametrize(("depth", "weight_var"), [(200, 1.0), (60, 436.75)])
def test_few_rows_of_lengths_that_shrink_or_grow(
    benchmark, name: str, depth: int, weight_var: float
):
    """Pairs go through the layers one by one, near +-1 at long or at short lengths."""
    x = np.random.default_rng(0).standard_normal((10, 12))
    x[1] = x[0] + 1e-6 * x[2]
    activation = act.CATALOGUE[name]

    def run() -> object:
        return kernels.nngp_ntk(
            x, activation, depth, weight_var=weight_var, bias_var=0.1
        )

    benchmark.extra_info["first call, s"] = seconds(run)
    show(f"{name}, {weight_var:g}", benchmark.extra_info)
    benchmark.pedantic(run, rounds=1)


def show(name: str, info: dict[str, float]) -> None:
    text = ", ".join(f"{what} {value:.3g}" for what, value in info.items())
    print(f"\n{name}: {text}")
