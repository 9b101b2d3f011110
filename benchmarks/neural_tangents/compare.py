"""neural-tangents beside `theory`: digits and seconds of deep kernels on the sphere.

In an environment of its own (see the README here), from the repository's root::

    PYTHONPATH=. python benchmarks/neural_tangents/compare.py

Both sides get the same inputs, raw activations, no biases, and the readout. Digits are
judged by a recursion in mpmath, from the arc-cosine and arc-sine formulas. ``--uneven``
compares inputs of unequal lengths instead; ``benchmarks/uneven_lengths.py`` goes through
the catalogue alone. ``taskset -c 0`` before the command gives both sides one core.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import jax
import mpmath
import numpy as np
from neural_tangents import stax

from theory import activations as act
from theory import kernels

jax.config.update("jax_enable_x64", True)  # noqa: FBT003

LAYERS = {"relu": stax.Relu, "erf": stax.Erf, "gelu": stax.Gelu}

ANGLES = {
    "to 2.5": (1e-7, 1e-3, 0.5, 1.5, 2.5),
    "pi - 1e-3": (np.pi - 1e-3,),
    "pi - 1e-6": (np.pi - 1e-6,),
}
"""Between the first input and the others; the exact angle is that of the floats."""


def network(name: str, depth: int) -> Callable[..., Any]:
    """Return the infinite-width kernel function of `depth` hidden layers.

    A dense layer divides by the square root of its inputs' dimension, also the first.
    """
    layers: list[Any] = []
    for _ in range(depth):
        layers.append(stax.Dense(1, W_std=1.0, b_std=None))
        layers.append(LAYERS[name]())
    return stax.serial(*layers, stax.Dense(1, W_std=1.0, b_std=None))[2]


def theirs(function: Callable[..., Any], x: Any) -> tuple[Any, Any]:
    both = function(np.sqrt(x.shape[1]) * x, None, ("nngp", "ntk"))
    return np.asarray(both.nngp), np.asarray(both.ntk)


def one_layer(name: str, p: Any, q: Any, k: Any) -> tuple[Any, Any]:
    """E s(u) s(v) and E s'(u) s'(v) for variances p, q and covariance k."""
    if name == "erf":
        norm = (1 + 2 * p) * (1 + 2 * q)
        value = 2 / mpmath.pi * mpmath.asin(2 * k / mpmath.sqrt(norm))
        return value, 4 / mpmath.pi / mpmath.sqrt(norm - 4 * k * k)
    size = mpmath.sqrt(p * q)
    rho = mpmath.mpf(min(max(k / size, -1), 1))
    rest = mpmath.pi - mpmath.acos(rho)
    root = mpmath.sqrt((1 - rho) * (1 + rho))
    return size * (root + rho * rest) / (2 * mpmath.pi), rest / (2 * mpmath.pi)


def truth(name: str, depth: int, x: Any, y: Any) -> tuple[Any, Any]:
    """Both kernels of two inputs, layer by layer."""
    x, y = ([mpmath.mpf(float(v)) for v in row] for row in (x, y))
    p, q = mpmath.fdot(x, x), mpmath.fdot(y, y)
    k = t = mpmath.fdot(x, y)
    for _ in range(depth):
        k, slope = one_layer(name, p, q, k)
        t = k + t * slope
        p, q = one_layer(name, p, p, p)[0], one_layer(name, q, q, q)[0]
    return k, t


def digits(name: str, depth: int) -> None:
    """Print the worst relative errors of entries, by groups of angles."""
    for group, angles in ANGLES.items():
        x = np.array([[1.0, 0.0], *([np.cos(a), np.sin(a)] for a in angles)])
        ours = kernels.nngp_ntk(x, act.CATALOGUE[name], depth)
        rival = theirs(network(name, depth), x)
        with mpmath.workdps(60):
            true = [truth(name, depth, x[0], row) for row in x[1:]]
            errors = [
                max(
                    float(abs(mpmath.mpf(float(g)) - t[i]) / abs(t[i]))
                    for g, t in zip(both[i][0, 1:], true, strict=True)
                )
                for both in (ours, rival)
                for i in range(2)
            ]
        cells = " | ".join(f"{e:.0e}" for e in errors)
        print(f"| {name}, {depth}, angles {group} | {cells} |")


def seconds(function: Callable[[], Any]) -> float:
    """Processor time of a call, of all its threads."""
    start = time.process_time()
    function()
    return time.process_time() - start


def speed(name: str, depth: int, n: int) -> None:
    """Print seconds of the first call, and the least of three that follow it."""
    x = np.random.default_rng(0).standard_normal((n, 100))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    compiled = jax.jit(network(name, depth), static_argnums=(1, 2))
    runs = (
        lambda: kernels.nngp_ntk(x, act.CATALOGUE[name], depth),
        lambda: theirs(compiled, x),
    )
    times: list[float] = []
    for run in runs:
        times += [seconds(run), min(seconds(run) for _ in range(3))]
    cells = " | ".join(f"{time:.2f}" for time in times)
    print(f"| {name}, {depth} | {cells} |", flush=True)


def uneven(n: int) -> Any:
    """Directions in 100 dimensions, lengths uniform from 0.5 to 1.5."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 100))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x * rng.uniform(0.5, 1.5, (n, 1))


def uneven_speed(name: str, depth: int, n: int) -> None:
    """Print seconds of both sides, and how far apart their kernels are."""
    x = uneven(n)
    compiled = jax.jit(network(name, depth), static_argnums=(1, 2))
    times, found = [], []
    for run in (
        lambda: kernels.nngp_ntk(x, act.CATALOGUE[name], depth),
        lambda: theirs(compiled, x),
    ):
        first = seconds(lambda run=run: found.append(run()))
        # Slow ones are not repeated.
        again = first if first > 60.0 else min(seconds(run) for _ in range(2))
        times += [first, again]
    gaps = []
    for ours, rival in zip(*found, strict=True):
        root = np.sqrt(np.diag(ours))
        gaps.append(float(np.max(np.abs(ours - rival) / np.outer(root, root))))
    cells = [f"{t:.2f}" for t in times] + [f"{times[1] / times[3]:.2g}"]
    cells += [f"{g:.0e}" for g in gaps]
    print(f"| {name}, {depth} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--depths", type=int, nargs="+", default=[1, 20])
    parser.add_argument("--uneven", action="store_true")
    options = parser.parse_args()
    if options.uneven:
        print(
            f"| seconds, n = {options.n}, lengths 0.5 to 1.5 | theory | again |", end=""
        )
        print(" neural-tangents | again | ratio | NNGP apart | NTK apart |")
        print(f"| --- |{' ---: |' * 7}")
        for name in LAYERS:
            uneven_speed(name, options.depths[-1], options.n)
        return
    print("| relative error | theory: NNGP | NTK | neural-tangents: NNGP | NTK |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name in ("relu", "erf"):
        for depth in options.depths:
            digits(name, depth)
    print(f"\n| seconds, n = {options.n} | theory | again | neural-tangents | again |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name in ("relu", "erf"):
        for depth in options.depths:
            speed(name, depth, options.n)


if __name__ == "__main__":
    main()
