"""Many correlations: the library against direct formulas and quadrature.

``pytest benchmarks/bench_duals.py --benchmark-only -s`` prints for every activation what
a million values take at the first call, its tables included, and again, and how far they
are from values asked for in small arrays. The baselines are what one would write with
NumPy and SciPy: arc-cosine and arc-sine formulas, and Gauss-Hermite quadrature in two
dimensions, which gets a part of the points and tells what a million takes.
"""

from collections.abc import Callable
from time import process_time

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import roots_hermitenorm

from theory import activations as act

Array = npt.NDArray[np.float64]
Function = Callable[[Array], Array]
POINTS = 1_000_000
FEWER = {"quadrature": 1_000}
SUBJECTS = {
    **act.CATALOGUE,
    "normrelu(c=-1)": act.normrelu(c=-1.0),
    "leaky_relu(0.1)": act.leaky_relu(0.1),
    "elu(0.5)": act.elu(0.5),
    "hermite(7)": act.hermite(7),
    "hermite(40)": act.hermite(40),
    "smooth callable": act.from_function(lambda x: np.sin(x) + x**2, kinks=()),
    "kinked callable": act.from_function(lambda x: np.abs(x - 0.5), kinks=(0.5,)),
}
CLOSE = np.geomspace(1e-16, 0.5, 1_000)
ENDS = np.concatenate([1.0 - CLOSE, CLOSE - 1.0, CLOSE, -CLOSE, [-1.0, 0.0, 1.0]])
DISTANCES = np.concatenate([np.geomspace(1e-18, 2.0, 3_000), 2.0 - CLOSE, [0.0, 2.0]])


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


def million(
    function: Function, points: Array, some: Array
) -> tuple[float, float, float]:
    """Return the first call's seconds for a million values, the next's, the error."""
    points = np.concatenate([some, points[some.size :]])
    function(some[-3:])  # coefficients are computed once
    start = process_time()
    found = function(points)[: some.size]
    first, again = process_time() - start, []
    for _ in range(3):
        start = process_time()
        function(points)
        again.append(process_time() - start)
    exact = function(some)
    finite = np.isfinite(exact)
    off = np.abs(found - exact)[finite].max() / np.abs(exact[finite]).max()
    return first, min(again), float(off)


@pytest.mark.parametrize("which", ["plain", "normalized"])
def test_a_million(benchmark, rho: Array, which: str):
    """Seconds of CPU of the first call, the next, and the largest difference."""

    seconds: dict[str, list[float]] = {}

    def table() -> list[str]:
        rows: list[str] = []
        for name, plain in SUBJECTS.items():
            a = plain.normalized() if which == "normalized" else plain
            cells = [
                million(a.dual, rho, ENDS),
                million(a.dual_derivative, rho, ENDS[np.abs(ENDS) < 1.0]),
                million(a.distance_map, 1.0 - rho, DISTANCES),
            ]
            # The dual's first call, then what each takes again.
            seconds[name] = [cells[0][0], *(again for _, again, _ in cells)]
            shown = (f"{a:7.3f} {b:6.3f} {off:8.0e}" for a, b, off in cells)
            rows.append(f"{name:18}" + " |".join(shown))
        return rows

    rows = benchmark.pedantic(table, rounds=1)
    benchmark.extra_info["seconds"] = seconds
    print("", f"{'':18}{'dual':^23} |{'slope':^23} |{'distance':^23}", *rows, sep="\n")


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
