"""Kernels and duals of any lengths against tables computed to at least 28 digits.

`benchmarks/reference_kernels.py` wrote the tables and says how. A kernel is measured on
the geometric mean of its two diagonal entries, a dual on that of its two second moments.
"""

import json
import math
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from theory import activations as act
from theory import kernels

DATA = Path(__file__).parent / "data"
EPS = 2.0**-53
KERNEL = 1e-12
DISTANCE = 1e-10
ROUNDING = 8.0 * EPS
"""Of 1 - correlation from three stored entries: each layer rounds each a few times."""

DEEP = json.loads((DATA / "kernels.json").read_text(encoding="utf-8"))
FLAT = json.loads((DATA / "duals.json").read_text(encoding="utf-8"))


QUICK = ("relu", "erf", "abs", "identity", "normalized erf")
"""Tried on every run; the others, minutes in all, with the slow tests."""


def _names(known: dict[str, Any]) -> list[Any]:
    return [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in known]


@lru_cache(maxsize=64)
def activation(name: str) -> act.Activation:
    if name.startswith("normalized "):
        return activation(name.removeprefix("normalized ")).normalized()
    if name == "sin(x) + x^2":
        return act.from_function(lambda x: np.sin(x) + x * x)
    if name == "hard-swish":
        return act.from_function(
            lambda x: x * np.clip(x + 3.0, 0.0, 6.0) / 6.0, kinks=(-3.0, 3.0)
        )
    return act.CATALOGUE[name]


def distance(k: Any) -> float:
    """1 - correlation of the stored entries, itself without rounding."""
    a, b, c = (Fraction(float(v)) for v in (k[0, 0], k[1, 1], k[0, 1]))
    # 1 - r = (1 - r^2) / (1 + r)
    ratio = c * c / (a * b)
    root = math.copysign(math.sqrt(ratio), c)
    return float((1 - ratio) / Fraction(1.0 + root)) if root > -0.5 else 1.0 - root


def amplified(depths: list[int], growth: list[float]) -> float:
    r"""Sum over layers l = 0..L of what a relative change of a length there grows to at L.

    By the chain rule that is g_L / g_l, g_l the growth of the inputs' change up to l and
    g_0 = 1. Each layer rounds its lengths, so that the float64 recursion with one rounding
    a layer is already off by this sum of roundings. Between the depths of the table, g is
    taken for exponential. It is that of the kernel that grows more.
    """
    if growth[-1] == 0.0:
        return 1.0  # what the last layer rounds
    # To the first layer from the inputs, whose growth is one.
    logs = np.log([1.0, *growth])
    between = np.interp(np.arange(depths[-1] + 1.0), [0, *depths], logs)
    return float(np.exp(logs[-1] - between).sum())


def errors(name: str, case: str, square: str) -> dict[str, float]:
    """Errors over what is allowed, by depth and kernel; at most 1 is right."""
    x = np.array(DEEP["inputs"][case][square])
    out: dict[str, float] = {}
    rows = DEEP["kernels"][name][case][square]
    for at, (depth, k00, k11, away, k01, t01, t00, t11, _) in enumerate(rows):
        # A rounding in a squared length is carried along by the layers after it.
        before = rows[: at + 1]
        grown = amplified([row[0] for row in before], [row[-1] for row in before])
        carried = ROUNDING * grown
        if t01 is None:
            k, t = kernels.nngp(x, activation(name), depth), None
        else:
            k, t = kernels.nngp_ntk(x, activation(name), depth)
        for label, matrix, true in (
            ("K", k, (k00, k01, k11)),
            ("T", t, (t00, t01, t11)),
        ):
            if matrix is None:
                continue
            size = math.sqrt(true[0]) * math.sqrt(true[2])
            gaps = (
                abs(matrix[0, 0] - true[0]) / true[0],
                abs(matrix[0, 1] - true[1]) / size,
                abs(matrix[1, 1] - true[2]) / true[2],
                abs(matrix[0, 1] - matrix[1, 0]) / size,
            )
            out[f"{label}, depth {depth}"] = max(gaps) / (KERNEL + carried)
        allowed = DISTANCE * away + ROUNDING + carried * away
        out[f"1 - correlation, depth {depth}"] = abs(distance(k) - away) / allowed
    return out


@pytest.mark.parametrize("case", DEEP["inputs"])
@pytest.mark.parametrize("name", _names(DEEP["kernels"]))
def test_kernels_of_any_lengths(name: str, case: str) -> None:
    wrong = {
        f"|x|^2 = {square}, {what}": f"{error:.1e} times what is allowed"
        for square in DEEP["kernels"][name][case]
        for what, error in errors(name, case, square).items()
        if not error <= 1.0
    }
    assert not wrong


@pytest.mark.parametrize(
    ("name", "square"),
    [("exp", "100"), ("normalized exp", "1"), ("hermite(2)", "1"), ("identity", "1")],
)
def test_roundings_grow_as_the_length_map_has_it(name: str, square: str) -> None:
    """The allowance for growth against products of d log q' / d log q, layer by layer."""
    rows = DEEP["kernels"][name]["near"][square]
    given = amplified([row[0] for row in rows], [row[-1] for row in rows])
    a, own, q = activation(name), 1.0, float(square)
    for _ in range(rows[-1][0]):
        after = a.length_map(q)
        own = 1.0 + own * abs(q * a.length_map_derivative(q) / after)
        q = after
    # The tangent kernel's growth, which the table has where it is more, is of that order.
    assert own * (1.0 - 1e-3) <= given <= 1.5 * own


@pytest.mark.parametrize("name", _names(FLAT))
def test_duals_of_any_variances(name: str) -> None:
    a, moments = activation(name), FLAT[name]["moments"]
    smooth = math.isfinite(a.derivative_second_moment)
    wrong: dict[tuple[float, ...], tuple[float, float]] = {}
    for var_x, var_y, rho, value, slope in FLAT[name]["rows"]:
        ends = [moments[f"{v:g}"] for v in (var_x, var_y)]
        got = a.dual(rho, var_x=var_x, var_y=var_y)
        error = abs(got - value) / math.sqrt(ends[0][0] * ends[1][0])
        if not error <= KERNEL:
            wrong[var_x, var_y, rho, 0] = got, value
        if not smooth:
            continue
        root = math.sqrt(var_x * var_y)
        got = a.dual_derivative(rho, var_x=var_x, var_y=var_y) / root
        error = abs(got - slope) / math.sqrt(ends[0][1] * ends[1][1])
        if not error <= KERNEL:
            wrong[var_x, var_y, rho, 1] = got, slope
    assert not wrong


@pytest.mark.parametrize("name", _names(FLAT))
def test_length_maps(name: str) -> None:
    moments = FLAT[name]["moments"]
    variances = [float(v) for v in moments]
    true = np.array([moments[f"{v:g}"][0] for v in variances])
    got = np.asarray(activation(name).length_map(variances))
    assert (np.abs(got / true - 1.0) <= KERNEL).all(), dict(
        zip(variances, zip(got, true, strict=True), strict=True)
    )


def test_the_tables_go_through_the_whole_catalogue() -> None:
    newer = {"relu6", "hard_sigmoid", "hard_swish", "quick_gelu", "log_cosh"}
    assert set(FLAT) >= set(act.CATALOGUE) - newer
    raw = {n for n in DEEP["kernels"] if not n.startswith("normalized ")}
    assert raw >= set(act.CATALOGUE) - newer
    rows = [
        row
        for cases in DEEP["kernels"].values()
        for lengths in cases.values()
        for found in lengths.values()
        for row in found
    ]
    assert len(rows) > 5000
    assert all(v is None or math.isfinite(v) for row in rows for v in row)
    assert {row[0] for row in rows} == {1, 3, 20, 200, 300}
