"""A million correlations: the library against direct formulas and quadrature.

``pytest benchmarks/bench_duals.py --benchmark-only``. The baselines are what one would
write with NumPy and SciPy: the arc-cosine formula, and Gauss-Hermite quadrature in two
dimensions (timed on fewer points and scaled in `extra_info`).
"""

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import erf, roots_hermitenorm

from theory import activations as act

Array = npt.NDArray[np.float64]
POINTS = 1_000_000
FEWER = 1_000
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


@pytest.mark.parametrize("name", NAMES)
def test_dual(benchmark, rho: Array, name: str):
    activation = act.CATALOGUE[name]
    activation.dual(0.5)  # coefficients are computed once
    got = benchmark.pedantic(activation.dual, args=(rho,), rounds=2)
    assert got.shape == rho.shape


@pytest.mark.parametrize("name", NAMES)
def test_distance_map(benchmark, rho: Array, name: str):
    activation = act.CATALOGUE[name].normalized()
    activation.distance_map(0.5)
    got = benchmark.pedantic(activation.distance_map, args=(1.0 - rho,), rounds=2)
    assert got.shape == rho.shape


@pytest.mark.parametrize(
    ("name", "formula"),
    [("relu", arc_cosine), ("erf", arc_sine)],
    ids=["relu", "erf"],
)
def test_formula(benchmark, rho: Array, name: str, formula):
    got = benchmark.pedantic(formula, args=(rho,), rounds=2)
    np.testing.assert_allclose(got, act.CATALOGUE[name].dual(rho), atol=1e-14)


def test_quadrature(benchmark, rho: Array):
    some = rho[:FEWER]
    got = benchmark.pedantic(by_quadrature, args=(some,), rounds=2)
    benchmark.extra_info["digits lost"] = float(
        np.abs(got - act.tanh.dual(some)).max() / 2.0**-53
    )
    benchmark.extra_info["points"] = FEWER
    # Poles of tanh at i pi / 2: forty nodes give about e^{-2 * 1.57 * sqrt(40)}.
    np.testing.assert_allclose(got, act.tanh.dual(some), atol=1e-6)


def test_erf_is_the_one_that_scipy_has(rho: Array):
    """The catalogue's erf(x), not the erf(x / sqrt 2) of some libraries."""
    assert np.array_equal(act.erf(rho[:9]), erf(rho[:9]))
