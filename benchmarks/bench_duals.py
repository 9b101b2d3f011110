"""Many correlations: the library against direct formulas and quadrature.

``pytest benchmarks/bench_duals.py --benchmark-only -s``. The baselines are what one
would write with NumPy and SciPy: arc-cosine and arc-sine formulas, and Gauss-Hermite
quadrature in two dimensions. Each gets a million points, or a part of them where its
work grows with their number alone, and tells what a million takes.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import roots_hermitenorm

from theory import activations as act

Array = npt.NDArray[np.float64]
Function = Callable[[Array], Array]
POINTS = 1_000_000
FEWER = {"relu": 100_000, "abs": 100_000, "selu": 10_000, "quadrature": 1_000}
NAMES = ("relu", "abs", "erf", "tanh", "gelu", "selu")


@pytest.fixture(scope="module")
def rho() -> Array:
    return np.random.default_rng(0).uniform(-1.0, 1.0, POINTS)


def arc_cosine(rho: Array) -> Array:
    """ReLU's dual as it is usually written."""
    angle = np.arccos(rho)
    return (np.sqrt(1.0 - rho * rho) + rho * (np.pi - angle)) / (2.0 * np.pi)


def arc_sine(rho: Array) -> Array:
    """The dual of erf as it is usually written."""
    return 2.0 / np.pi * np.arcsin(2.0 * rho / 3.0)


def by_quadrature(rho: Array, order: int = 40) -> Array:
    """The dual of tanh by a tensor rule, point by point in one array."""
    z, w = roots_hermitenorm(order)
    w = w / w.sum()
    y = rho[:, None, None] * z[:, None] + np.sqrt(1.0 - rho * rho)[:, None, None] * z
    return np.einsum("i,j,i,pij->p", w, w, np.tanh(z), np.tanh(y))


def timed(benchmark, function: Function, points: Array, who: str) -> Array:
    """Run on `points`, or on the first of them, and note the time for a million."""
    some = points[: FEWER.get(who, POINTS)]
    got = benchmark.pedantic(function, args=(some,), rounds=2)
    per_point = benchmark.stats.stats.min / some.size
    benchmark.extra_info["seconds for a million"] = 1e6 * per_point
    print(f"\n{benchmark.name}: {1e6 * per_point:.3g} s for a million")
    return got


@pytest.mark.parametrize("name", NAMES)
def test_dual(benchmark, rho: Array, name: str):
    activation = act.CATALOGUE[name]
    activation.dual(0.5)  # coefficients are computed once
    timed(benchmark, activation.dual, rho, name)


@pytest.mark.parametrize("name", NAMES)
def test_distance_map(benchmark, rho: Array, name: str):
    activation = act.CATALOGUE[name].normalized()
    activation.distance_map(0.5)
    timed(benchmark, activation.distance_map, 1.0 - rho, name)


@pytest.mark.parametrize(
    ("name", "formula"),
    [("relu", arc_cosine), ("erf", arc_sine)],
    ids=["relu", "erf"],
)
def test_formula(benchmark, rho: Array, name: str, formula: Function):
    got = timed(benchmark, formula, rho, "formula")[:1000]
    np.testing.assert_allclose(got, act.CATALOGUE[name].dual(rho[:1000]), atol=1e-14)


def test_quadrature(benchmark, rho: Array):
    got = timed(benchmark, by_quadrature, rho, "quadrature")
    exact = act.tanh.dual(rho[: len(got)])
    benchmark.extra_info["error"] = float(np.abs(got - exact).max())
    print(f"largest error {benchmark.extra_info['error']:.1g}")
    # Poles of tanh at +-i pi/2 leave about e^{-2 (pi/2) sqrt(2 * 40)} = 1e-12, near
    # rho = 1 less accurate: both arguments come from one variable.
    np.testing.assert_allclose(got, exact, atol=1e-6)
