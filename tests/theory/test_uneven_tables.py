"""Tables of lengths that stand in for rows: against the rows' own series and layers."""

import itertools
import math
import tracemalloc
from dataclasses import dataclass, replace

import mpmath
import numpy as np
import pytest

from theory import activations as act
from theory import gaussian, kernels
from theory._recursion import (
    bent_slopes,
    close_pairs,
    closed_maps,
    layer_maps,
    length_tables,
    orthants,
    row_series,
    slope_tables,
    tangents,
    uneven,
)
from theory._recursion import deep_tables as deep
from theory._recursion import length_families as families
from theory._recursion import linear_pieces as linear
from theory._recursion import series_tables as tables
from theory._recursion.angles import CUTS, Angles
from theory._recursion.intervals import Interval
from theory._recursion.layer_maps import slopes_of
from theory._recursion.layers import Layer
from theory._recursion.length_tables import Lengths
from theory._recursion.recursion import Recursion, Stack
from theory._recursion.row_series import RowSeries
from theory._recursion.rows import LogLengths
from theory.activations import _engines
from theory.depth_maps import DepthMap
from theory.duals import _closed_pairs as closed_pairs

NAMES = ("silu", "selu", "hard_tanh", "hard_swish")


def test_few_rows_of_a_wave_have_series_of_their_own():
    asked = []

    def slope(x):
        asked.append(x.size)
        return 5.0 * np.cos(5.0 * x) * np.exp(np.sin(5.0 * x))

    # That of a cell needs a row twenty times as long, with as many more panels.
    wave = act.from_function(lambda x: np.exp(np.sin(5.0 * x)), derivative=slope)
    logs = np.linspace(2.0, 2.4, 9)
    assert tables.series_at(wave, logs, 150) is None
    assert sum(asked) < 1_000_000
    assert tables.series_at(act.tanh, logs, 150) is not None


@pytest.mark.parametrize("name", NAMES)
def test_coefficients_between_nodes_are_those_of_the_length(name: str):
    logs = np.random.default_rng(0).uniform(-0.9, 1.9, 9)
    activation = act.CATALOGUE[name]
    found = tables.series_at(activation, logs, 150)
    assert found is not None
    own = RowSeries.none(activation, np.exp(logs)).raised(np.arange(9), 150)
    n = min(len(own.coefficients), len(found.coefficients))
    gap = found.coefficients[:n] - own.coefficients[:n]
    # The last Chebyshev coefficients of a cell, each of which three times; rounding.
    assert np.abs(gap).max() <= 4.0 * tables.RESOLVED * np.abs(own.coefficients).max()


@pytest.mark.parametrize("name", NAMES)
def test_many_rows_have_the_kernels_of_few(name: str):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((200, 30))
    x *= rng.uniform(0.5, 1.5, (200, 1)) / np.linalg.norm(x, axis=1, keepdims=True)
    activation = act.CATALOGUE[name]
    for many, few in zip(
        kernels.nngp_ntk(x, activation, 12),
        kernels.nngp_ntk(x[:6], activation, 12),  # layer by layer
        strict=True,
    ):
        root = np.sqrt(np.diag(few))
        apart = np.abs(many[:6, :6] - few) / np.outer(root, root)
        # Tails in two lengths and the angle, and what combinations of nodes leave.
        assert apart.max() <= 4.0 * deep.TAIL


def test_combinations_that_are_a_little_off_are_refused():
    stack = Stack((Layer(act.tanh),) * 4, frozenset(range(1, 6)))
    angles = Angles(CUTS[-1], np.pi - CUTS[-1], folded=False)
    cells = deep.Cells((-0.5, 0.0, 0.5))
    recursion = deep._recursion(stack, cells)
    t = angles.nodes(20)
    basis, few = deep._skeleton(
        recursion, t[deep._spread(20, 6)], deep._spread(len(recursion.start.high), 16)
    )
    assert len(few) < len(basis)
    i, j = (k.ravel() for k in np.meshgrid(few, few, indexing="ij"))
    found = deep._sampled(recursion, t, (i, j)).reshape(2, len(few), len(few), 20)
    values = np.einsum("lk,fijk->flij", deep.chebyshev(20), found)
    assert deep._agree(recursion, angles, basis, values)
    assert not deep._agree(recursion, angles, basis * (1.0 + 1e-11), values)


def test_kernels_that_are_zero_between_the_ends_have_tables(monkeypatch):
    """Of sin on rows of length 2000 all are, and combinations of none were refused."""
    monkeypatch.setattr(uneven, "READ", 0.0)
    monkeypatch.setattr(uneven, "NODE", 1.0)
    x = 2000.0 * np.random.default_rng(0).standard_normal((150, 3))
    many, few = (kernels.nngp_ntk(v, act.sin, 2) for v in (x, x[:40]))
    for whole, own in zip(many, few, strict=True):
        size = np.sqrt(np.outer(np.diag(own), np.diag(own)))
        assert np.all(np.abs(whole[:40, :40] - own) <= 1e-14 * size)


def test_no_table_where_it_costs_more_than_the_pairs():
    stack = Stack((Layer(act.silu.normalized()),) * 20)
    angles = Angles(CUTS[-1], np.pi - CUTS[-1], folded=False)
    table = deep.deep_table(stack, Interval(-0.75, 0.5), angles, 1024)
    assert table.coefficients is None


@pytest.mark.parametrize(
    ("rows", "depth", "pays"), [(300, 20, False), (600, 3, False), (600, 20, True)]
)
def test_tables_of_formulas_pay_within_four_calls(rows, depth, pays, monkeypatch):
    """The first two took up to twice as long as the pairs by themselves."""
    made = []

    def table(*given):
        made.append(deep.deep_table(*given).coefficients is not None)
        return deep.deep_table(*given)

    monkeypatch.setattr(uneven, "deep_table", table)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, 10)) * rng.uniform(0.5, 2.0, (rows, 1))
    kernels.nngp(x, act.gelu, depth)
    assert any(made) == pays


@pytest.mark.parametrize("name", ["tanh", "hard_tanh", "relu6", "elu, normalised"])
@pytest.mark.parametrize("gap", [0.0, 1.0])
def test_distances_of_lengths_off_tables_are_those_of_their_own(name: str, gap: float):
    name, _, how = name.partition(", ")
    activation = act.CATALOGUE[name]
    activation = activation.normalized() if how else activation
    rng = np.random.default_rng(2)
    lows, gaps = rng.uniform(-2.0, -1.0, 9), rng.uniform(gap, gap + 1.0, 9)
    own = Lengths(activation).turned(lows, gaps)
    found = Lengths(activation, rows=1000).turned(lows, gaps)
    # Rounding of the largest of a cell: kernels are off by no more.
    assert np.abs(found - own).max() <= 1e-14


@pytest.mark.parametrize(
    ("slope", "bends"),
    [
        (0.0, {0.0: 1.0, 1.0: -1.0, 2.0: 1.0, 3.0: -1.0}),
        (0.0, {-2.0: 1.0, -1.0: -1.0, 1.5: 1.0, 2.0: -1.0}),
        (1.0, {4.0: 100.0}),
    ],
)
def test_distances_of_lengths_are_resolved_where_kinks_of_both_rows_meet(
    slope: float, bends: dict[float, float]
):
    activation = act.from_function(
        lambda x: slope * x + sum(j * np.maximum(x - c, 0.0) for c, j in bends.items()),
        kinks=tuple(bends),
    )
    rng = np.random.default_rng(2)
    lows, gaps = rng.uniform(0.0, 1.0, 60), rng.uniform(0.02, 1.0, 60)
    few = [Lengths(activation).turned(lows[k::2], gaps[k::2]) for k in (0, 1)]
    own = np.ravel(few, order="F")
    found = Lengths(activation, rows=1000).turned(lows, gaps)
    # What may be lost by a table, before pairs are integrated alone.
    assert np.abs(found / own - 1.0).max() <= length_tables.LOST


KINKS = {
    "hard_tanh": (lambda x: max(min(x, 1), -1), (-1, 1)),
    "relu6": (lambda x: max(min(x, 6), 0), (0, 6)),
    "x + (x - 3)^2": (lambda x: x + max(x - 3, 0) ** 2, (0, 3)),
}


def _turned(name: str, low: float, gap: float) -> mpmath.mpf:
    """Integrate 1 - E s(r Z) s(o Z) over the root of both means of squares."""
    s, kinks = KINKS[name]
    r, o = mpmath.exp(low), mpmath.exp(mpmath.mpf(low) + mpmath.mpf(gap))
    ends = {mpmath.mpf(c) / v for c in kinks for v in (r, o)}
    ends = sorted({-mpmath.mpf(30), mpmath.mpf(30), *(c for c in ends if abs(c) < 30)})

    def mean(u, v):
        return mpmath.quad(lambda z: s(u * z) * s(v * z) * mpmath.exp(-z * z / 2), ends)

    return 1 - mean(r, o) / mpmath.sqrt(mean(r, r) * mean(o, o))


@pytest.mark.parametrize(
    ("name", "low", "gap"),
    [
        ("hard_tanh", -2.2, 0.01),
        ("hard_tanh", -2.9, 0.3),
        ("hard_tanh", -1.5, 1.2),
        ("relu6", -0.9, 0.2),
        ("relu6", -0.2, 0.9),
        ("x + (x - 3)^2", -0.9, 0.3),
        ("x + (x - 3)^2", -0.7, 0.01),
    ],
)
def test_tiny_distances_of_many_rows_keep_their_digits(
    name: str, low: float, gap: float
):
    """Below a kink rows of one direction hardly part: others of the cell do by 1e-3."""
    activation = act.CATALOGUE.get(name) or act.from_function(
        lambda x: x + np.maximum(x - 3.0, 0.0) ** 2, kinks=(3.0,), name=name
    )
    lows, gaps = np.full(7, low), np.full(7, gap)
    # With others of the cell, so that a table is read.
    lows[1:] = np.floor(low) + np.linspace(0.05, 0.95, 6)
    with mpmath.workdps(80):
        true = _turned(name, low, gap)
        found = Lengths(activation, rows=1000).turned(lows, gaps)[0]
        assert abs(found / true - 1) <= 1e-10


@pytest.mark.parametrize("name", ["gelu", "tanh", "elu", "softplus"])
@pytest.mark.parametrize("cell", [-4.0, -1.0, 2.0])
def test_distances_of_smooth_functions_are_tabulated_by_their_turns(
    name: str, cell: float, monkeypatch: pytest.MonkeyPatch
):
    """A table took thousand pairs of lengths, two or more seconds of long rows."""
    activation = act.CATALOGUE[name].normalized()
    rng = np.random.default_rng(3)
    lows, gaps = cell + rng.uniform(0.0, 1.0, 40), rng.uniform(0.0, 1.0, 40)
    pairs = zip(lows.tolist(), gaps[:, None], strict=True)
    own = np.concatenate([length_tables.turned(activation, *pair) for pair in pairs])

    def refuse(*_: object) -> None:
        raise AssertionError("pairs are integrated for a table")

    monkeypatch.setattr(length_tables, "turned", refuse)
    length_tables.panel.cache_clear()
    found = Lengths(activation, rows=1000).turned(lows, gaps)
    # Rounding of the largest in a cell over the square of the gap, and of the functions,
    # of size one, beside their changes.
    most = float((own / gaps**2).max())
    assert np.abs((found - own) / gaps**2).max() <= 1e-14 * most + 4e-16 * most**0.5


def test_hundreds_of_rows_on_a_line_have_the_digits_of_few():
    """They were refused, or kept what 32 lengths do not resolve: 1e-9 of 300 rows."""
    v = np.linspace(-5.0, 5.0, 120)
    k = kernels.nngp(v[:, None], act.from_function(lambda x: x + np.sin(3.0 * x)), 1)
    r, o = np.meshgrid(v, v)
    # E (u + sin 3u) (v + sin 3v), by Gaussian integrals of exponentials.
    apart, along = (np.exp(-4.5 * np.square(r + s * o)) for s in (-1.0, 1.0))
    odd = 3.0 * (np.exp(-4.5 * r * r) + np.exp(-4.5 * o * o))
    true = r * o * (1.0 + odd) + 0.5 * (apart - along)
    size = np.sqrt(np.outer(np.diag(true), np.diag(true)))
    assert np.abs((k - true) / size).max() <= 1e-13


def test_rows_on_a_line_need_no_slopes_between_the_ends(monkeypatch):
    """For correlations of +-1 tables of all were made: half a minute, or a refusal."""

    def refuse(*_: object) -> None:
        raise AssertionError("slopes are integrated between the ends")

    for place, name in ((slope_tables, "_panels"), (close_pairs, "integrals")):
        monkeypatch.setattr(place, name, refuse)
    slopes_of.cache_clear()
    v = np.array([-2.5, -1.0, -0.3, *np.linspace(0.1, 3.0, 20)])
    bend = 0.4
    own = act.from_function(
        lambda x: np.tanh(x) + np.maximum(x - bend, 0.0), kinks=(bend,)
    )
    k, t = kernels.nngp_ntk(v[:, None], own, 1)
    grid = np.linspace(-12.0, 12.0, 97)
    z, w = gaussian.composite(np.unique([*grid, *(bend / v)]))
    w *= gaussian.pdf(z)
    x = v[:, None] * z
    s = np.tanh(x) + np.maximum(x - bend, 0.0)
    slope = 1.0 - np.tanh(x) ** 2 + (x > bend)
    first, second = (s * w) @ s.T, (slope * w) @ slope.T
    np.testing.assert_allclose(k, first, rtol=1e-12)
    np.testing.assert_allclose(t, first + np.outer(v, v) * second, rtol=1e-12)


@pytest.mark.parametrize(
    "formula", [closed_pairs.ErrorFunctionPairs, closed_maps.Integrated]
)
@pytest.mark.parametrize("r", [3.0, 1e10, 1e25])
def test_slopes_of_the_longest_rows_are_integrated_over_few_octaves(
    formula: type[closed_maps.Formula], r: float, monkeypatch: pytest.MonkeyPatch
):
    """An integral from 1 - d to 1 is a difference of two values, of 60 digits."""
    calls: list[int] = []
    at = closed_pairs.GeluPairs.at

    def counted(*parts: np.ndarray) -> closed_pairs.GeluPairs:
        calls.append(1)
        return at(*parts)

    monkeypatch.setattr(closed_pairs.GeluPairs, "at", counted)
    d = np.array([1e-12, 1e-3, 0.5])
    both = np.full(3, r), np.full(3, 0.3 * r)
    found = formula(*both, 1.0 - d, d).lost()
    assert len(calls) <= 48
    with mpmath.workdps(90):
        p, q = (mpmath.mpf(float(v[0])) ** 2 for v in both)

        def value(rho: mpmath.mpf) -> mpmath.mpf:
            if formula is closed_pairs.ErrorFunctionPairs:
                z = 2 * mpmath.sqrt(p * q / ((1 + 2 * p) * (1 + 2 * q))) * rho
                return 2 / mpmath.pi * mpmath.asin(z)
            z = mpmath.sqrt(p * q / ((1 + p) * (1 + q))) * rho
            area = mpmath.mpf(1) / 4 + mpmath.asin(z) / (2 * mpmath.pi)
            rest = 1 / (1 + p) + 1 / (1 + q)
            root = 2 * mpmath.pi * mpmath.sqrt(1 - z * z)
            return mpmath.sqrt(p * q) * (
                rho * area + z / rho / root * (rest * rho**2 + 1 - rho**2)
            )

        for one, lost in zip(d.tolist(), found.tolist(), strict=True):
            true = (value(mpmath.mpf(1)) - value(1 - mpmath.mpf(one))) / mpmath.sqrt(
                p * q
            )
            assert abs(lost / true - 1) <= 1e-14


@pytest.mark.parametrize("name", ["relu6", "hard_tanh", "hard_sigmoid", "relu"])
def test_orthants_are_integrals_over_the_angle(name: str):
    activation = act.CATALOGUE[name]
    rng = np.random.default_rng(1)
    r, other = np.exp(rng.uniform(-2.0, 2.0, (2, 400)))
    other[::7] = r[::7]
    d = np.exp(rng.uniform(np.log(orthants.LEAST), 0.0, 400))
    rho = (1.0 - d) * np.where(rng.random(400) < 0.5, -1.0, 1.0)
    known = orthants.determined(activation, linear.slope_at(activation, r, other), d)
    assert known.mean() > 0.9
    pairs = r[known], other[known], rho[known], d[known]
    found = orthants.integrals(activation, *pairs)
    inner, lost, slope = linear._by_angles(activation, *pairs)
    np.testing.assert_allclose(found[0], inner, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(found[2], slope, rtol=0.0, atol=1e-14)
    near = pairs[2] > 0.0
    # What is left of differences of numbers of order one.
    np.testing.assert_allclose(found[1][near], lost[near], rtol=2e-12)


@pytest.mark.parametrize("name", ["tanh", "softsign", "hard_tanh", "elu"])
def test_layers_between_lengths_are_those_of_the_length(name: str):
    def at(log: float):
        return act.CATALOGUE[name]._scaled(float(np.exp(2.0 * log)))

    logs = np.linspace(-0.9, -0.5, 60).tolist()
    found = families.families(at, logs)
    family = found[0]
    assert family is not None
    assert len({id(f) for f in found}) == 1
    own, between = DepthMap.of_layer(at(logs[7])), family.at(at(logs[7]), logs[7])
    less = between.less
    for k, (exact, table) in enumerate(zip(own.tables, between.tables, strict=True)):
        gap = table - exact
        gap[0] += less[k] - own.less[k]
        # Every cell to its own size; both have a few roundings.
        assert np.all(np.abs(gap) <= 1e-14 * (np.abs(table[0]) + less[k]))
    assert abs(between.exact.decay - own.exact.decay) <= 4e-15
    assert abs(between.exact.growth - own.exact.growth) <= 4e-15


def test_few_lengths_have_tables_of_their_own():
    assert families.families(lambda _: act.tanh, [0.1, 0.2, 0.3]) == [None] * 3


def test_what_memory_held_before_is_no_part_of_a_kernel(
    monkeypatch: pytest.MonkeyPatch,
):
    rng, empty = np.random.default_rng(2), np.empty
    # Pairs close to each other are computed last.
    x = rng.standard_normal((400, 3)) * rng.uniform(0.5, 5.0, (400, 1))
    clean = kernels.ntk(x, act.relu.normalized(), 2)
    monkeypatch.setattr(np, "empty", lambda *a, **k: _used(empty(*a, **k)))
    assert (kernels.ntk(x, act.relu.normalized(), 2) == clean).all()


def _used(array: np.ndarray) -> np.ndarray:
    if array.dtype == np.float64:
        array.fill(1.7e308)
    return array


@pytest.mark.parametrize("depth", [1, 2])
def test_slopes_that_grow_like_exponentials_keep_their_digits(depth: int) -> None:
    """E s'(r Z)^2 of exp is exp(2 r^2): a factor 1e30 within a table of lengths."""
    rows = [[1.4, 0.1], [0.0, 2.8], [-3.0, 1.0], [0.5, 5.6]]
    x = np.array(rows) / (1.0 if depth == 1 else 6.0)
    k, t = kernels.nngp_ntk(x, act.from_function(np.exp), depth)
    covariance = x @ x.T
    tangent = covariance
    for _ in range(depth):
        q = np.diag(covariance)
        covariance = np.exp(0.5 * (q[:, None] + q) + covariance)
        tangent = covariance * (1.0 + tangent)
    for found, true in ((k, covariance), (t, tangent)):
        size = np.sqrt(np.outer(np.diag(true), np.diag(true)))
        assert np.all(np.abs(found - true) <= 1e-12 * size)


def test_tables_keep_the_digits_of_short_rows_of_a_polynomial() -> None:
    """E (r u)^3 (o v)^3 is r^3 o^3 (6 c^3 + 9 c): 1e8 between these rows."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((30, 2)) * np.exp(rng.uniform(-2.0, 1.3, 30))[:, None]
    k, t = kernels.nngp_ntk(x, act.from_function(lambda v: v**3), 1)
    c, q = x @ x.T, np.square(x).sum(axis=1)
    both = np.outer(q, q)
    true = c * (6.0 * c * c + 9.0 * both)
    tangent = true + c * 9.0 * (both + 2.0 * c * c)
    for found, expected in ((k, true), (t, tangent)):
        size = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
        assert np.all(np.abs(found - expected) <= 1e-13 * size)


@pytest.mark.parametrize("power", [2, 3])
def test_powers_of_many_rows_on_a_line_are_answered(power: int) -> None:
    """Their rows stay of one direction: distances were read as -1e-32, and refused."""
    x = np.geomspace(0.1, 3.0, 60)
    k = kernels.nngp(x[:, None], act.from_function(lambda v: v**power), 1)
    true = math.prod(range(1, 2 * power, 2)) * np.outer(x, x) ** power
    size = np.sqrt(np.outer(np.diag(true), np.diag(true)))
    assert np.all(np.abs(k - true) <= 1e-13 * size)


def test_energies_far_out_are_integrated_or_refused() -> None:
    """Those of exp(a x) lie around 2 a r deviations, beyond 20 for long rows."""
    x = np.array([[3.0, 0.0], [4.2, 5.6]])
    c = x @ x.T
    q = np.diag(c)
    true = np.exp(1.5**2 * (0.5 * (q[:, None] + q) + c))
    k = kernels.nngp(x, act.from_function(lambda v: np.exp(1.5 * v)), 1)
    size = np.sqrt(np.outer(np.diag(true), np.diag(true)))
    assert np.all(np.abs(k - true) <= 1e-12 * size)
    with pytest.raises(ValueError, match="within float64"):
        kernels.nngp(x, act.from_function(lambda v: np.exp(2.0 * v)), 1)


def test_functions_that_grow_get_tables_of_their_own_lengths() -> None:
    """A wider interval, which layers might share, takes more nodes than there are."""
    lengths = np.geomspace(0.1, 2.0, 20)
    x = lengths[:, None] * np.stack([np.cos(2.4 * lengths), np.sin(2.4 * lengths)], 1)
    c = x @ x.T
    q = np.diag(c)
    true = np.exp(0.5 * (q[:, None] + q)) * np.cosh(c)
    k = kernels.nngp(x, act.from_function(np.cosh), 1)
    size = np.sqrt(np.outer(np.diag(true), np.diag(true)))
    assert np.all(np.abs(k - true) <= 1e-13 * size)


def _small_cube(v):
    return 1e-9 * np.tanh(v) ** 3


@pytest.mark.parametrize(
    ("f", "depth", "why"),
    [
        (lambda v: v**9, 3, "moments within float64"),
        (_small_cube, 4, "zero in double precision"),
    ],
)
def test_lengths_that_leave_float64_are_refused(f, depth: int, why: str) -> None:
    """They grew or shrank to infinities, and kernels came back as no numbers."""
    x = [[1.0, 0.0], [0.5, 2.0], [3.0, 1.0]]
    with pytest.raises(ValueError, match=why):
        kernels.nngp(x, act.from_function(f), depth)


@pytest.mark.parametrize("kernel", [kernels.nngp, kernels.ntk])
def test_branches_of_which_float64_holds_no_square_add_nothing(kernel):
    # NumPy warned of overflows: of exp(-log E s^2), and of lengths over those after.
    a = act.from_function(lambda v: v**5, derivative=lambda v: 5.0 * v**4)
    x = np.array([[1.0, 0.0], [0.6, 0.9]])
    for length in (1e-38, 1e-39, 1e-60):
        found = kernel(length * x, [kernels.Layer(a, skip=1.0)] * 2) / length**2
        assert np.allclose(found, x @ x.T, rtol=1e-13)
    cube = act.from_function(lambda v: v**3, derivative=lambda v: 3.0 * v**2)
    with pytest.raises(ValueError, match=r"keep the kernel within float64, got e\^-"):
        kernel(1e-26 * x, cube, 2)


@pytest.mark.parametrize("length", [1e60, 1e100, 1e149])
def test_bumps_of_the_longest_rows_are_taken_without_an_overflow(length: float):
    x = length * np.array([[2.0, 0.0], [0.6, 0.8]])
    k = kernels.nngp(x, act.gaussian_bump, 1)
    # E s^2 = (1 + 2 r^2)^(-1/2), and r^2 E s'^2 = r^4 (1 + 2 r^2)^(-3/2).
    true = np.diag([0.5, 1.0]) / math.sqrt(2.0)
    assert np.allclose(length * k, true, rtol=1e-13, atol=1e-13)
    t = kernels.ntk(x, act.gaussian_bump, 1)
    true = np.diag([2.0, 1.0]) / math.sqrt(8.0)
    assert np.allclose(t / length, true, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("length", [1e6, 1e20, 1e30])
def test_functions_that_fall_keep_the_digits_of_the_longest_rows(length: float):
    """Correlations of 3e-30 were 0.7: coefficients of slopes had the slopes' rounding."""
    a = act.from_function(lambda v: 1.0 / (1.0 + v * v))
    x = length * np.array([[2.0, 0.0], [0.6, 0.8]])
    k = kernels.nngp(x, a, 1)
    # The integral of s^2 or s, pi/2 and pi, by the density at zero.
    one = math.pi / 2.0 / math.sqrt(2.0 * math.pi) / np.array([2.0, 1.0])
    both = math.pi**2 / (2.0 * math.pi) / (2.0 * 0.8) / length
    true = np.array([[one[0], both], [both, one[1]]])
    # The density falls by one over the length within reach of s; 1e-12 of the diagonal,
    # beside which the other entries are 1e-20, is promised.
    assert np.abs(length * k / true - 1.0).max() < 1e-9 + 2.0 / length


def _refuse_planes(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a plane is integrated")

    monkeypatch.setattr(slope_tables, "_by_plane", refuse)
    slopes_of.cache_clear()


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "silu", "softplus"])
def test_rows_on_a_line_are_tabulated_by_series(name: str, monkeypatch):
    """Up to length 3 series end; a few times that long they take a plane of ten seconds."""

    _refuse_planes(monkeypatch)
    _assert_as_of_few(name, np.linspace(-3.0, 3.0, 40)[:, None], [0, 17, 25, 39])


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "silu", "softplus"])
def test_rows_so_long_that_no_series_ends_are_no_part_of_tables(name: str, monkeypatch):
    """Short rows are nearly parallel after a layer; of the long ones few pairs are."""
    _refuse_planes(monkeypatch)
    rng = np.random.default_rng(1)
    x = rng.standard_normal((120, 8)) * rng.lognormal(0.0, 1.0, (120, 1))
    order = np.argsort(np.linalg.norm(x, axis=1)).tolist()
    assert np.linalg.norm(x, axis=1).max() > 40.0
    _assert_as_of_few(name, x, [order[0], order[1], order[60], order[-1]])


@pytest.mark.parametrize("rows", [3, 20])
def test_long_rows_not_quite_near_each_other_are_summed_as_series(rows, monkeypatch):
    """A hundred rows of SiLU took ten minutes: layers of which no series ends by 2,560."""
    sizes, t = np.geomspace(100.0, 8000.0, rows), 0.11
    a, (r, o) = act.silu, sizes[:2].tolist()
    d = 2.0 * math.sin(0.5 * t) ** 2
    # In the plane; Cov(s(u), s(v)) is the integral of E s'(u) s'(v) from zero.
    whole, _, slope = close_pairs.integrals(a, r, o, 1.0 - d, d)
    means = [a._scaled(v * v).mean for v in (r, o)]
    k = whole * r * o + means[0] * means[1]
    _refuse_planes(monkeypatch)
    monkeypatch.setattr(close_pairs, "integrals", None)
    turns = t * np.arange(rows)
    x = sizes[:, None] * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    found = kernels.nngp_ntk(x, a, 1)
    true = k, k + r * o * (1.0 - d) * slope
    for matrix, value in zip(found, true, strict=True):
        assert abs(matrix[0, 1] / value - 1.0) < 1e-12


@pytest.mark.parametrize("pairs", [3, 29, 30])
def test_a_few_pairs_of_a_kinked_function_take_no_series_of_high_order(
    pairs: int, monkeypatch
):
    """Three close pairs among a hundred rows of SELU took six times as long."""
    orders: list[int] = []
    raised = RowSeries.raised

    def noted(self, rows, order):
        orders.append(order)
        return raised(self, rows, order)

    monkeypatch.setattr(RowSeries, "raised", noted)
    tables._series.cache_clear()  # which may hold these lengths
    rng = np.random.default_rng(5)
    x = np.eye(60, 64) * np.sqrt(1.0 + 0.01 * rng.random((60, 1)))
    t = 0.14  # 1 - cos t is 0.0098
    for k in range(pairs):
        x[2 * k + 1] = math.cos(t) * x[2 * k] + math.sin(t) * x[2 * k + 1]
    kernels.nngp(x, act.selu.normalized(), 1)
    assert (max(orders, default=0) == 10240) == (pairs == 30)


@pytest.mark.parametrize("name", ["tanh", "softplus"])
def test_multiples_of_one_row_are_parallel_but_for_rounding(name: str, monkeypatch):
    """Tables of all their lengths, for distances of 1e-32, took 20 to 90 seconds."""
    _refuse_planes(monkeypatch)
    x = np.geomspace(0.1, 30.0, 60)[:, None] * [0.6, 0.8]
    _assert_as_of_few(name, x, [0, 20, 45, 59])


def test_whether_series_end_is_asked_for_when_a_pair_needs_a_table(monkeypatch):
    """It was of every layer: a third of a second each for lengths that grow with depth."""

    def refuse(*_: object) -> None:
        raise AssertionError("a series is tried")

    monkeypatch.setattr(layer_maps, "ends_at", refuse)
    x = np.random.default_rng(0).standard_normal((20, 20)) / 4.0
    k = kernels.nngp(x, act.silu.normalized(), 25)
    assert k.max() > 1e3 * np.square(x).sum(axis=1).max()


def test_series_of_functions_that_turn_too_often_are_not_summed(monkeypatch):
    """Of sin 3x at length 1000 ten thousand orders at half a million nodes took minutes."""
    a = act.from_function(lambda x: np.sin(3.0 * x))
    assert slope_tables.ends_at(a, math.log(30.0))

    def refuse(*_: object) -> None:
        raise AssertionError("a series is summed")

    monkeypatch.setattr(row_series, "projections", refuse)
    assert not slope_tables.ends_at(a, math.log(1000.0))


def _assert_as_of_few(name: str, x: np.ndarray, some: list[int]) -> None:
    found = kernels.nngp_ntk(x, act.CATALOGUE[name], depth=3)
    # Rows that are few have no tables.
    few = kernels.nngp_ntk(x[some], act.CATALOGUE[name], depth=3)
    for whole, own in zip(found, few, strict=True):
        size = np.sqrt(np.outer(np.diag(own), np.diag(own)))
        assert np.abs((whole[np.ix_(some, some)] - own) / size).max() <= 1e-13


@pytest.mark.parametrize("logs", [(-3.6, 1.1), (0.3, 2.6), (-0.2, 0.9), (-7.3, -5.9)])
def test_wide_intervals_end_close_behind_the_longest_row(logs: tuple[float, float]):
    own = Interval(*logs)
    around = own.rounded()
    assert around.contains(own)
    assert around.high - own.high <= 0.5
    assert own.low - around.low <= 2.0


def test_short_lengths_after_a_function_that_vanishes_keep_their_digits() -> None:
    """At lengths of 1e-9 it is a cube, E u^3 v^3 = 9 q q' k + 6 k^3."""
    x = [[1.0, 0.0], [0.5, 2.0], [3.0, 1.0]]
    a = act.from_function(_small_cube)
    k = kernels.nngp(x, a, 1)
    q = np.diag(k)
    cubes = 1e-18 * (9.0 * np.outer(q, q) * k + 6.0 * k**3)
    assert np.abs(kernels.nngp(x, a, 2) / cubes - 1.0).max() < 1e-12


def test_lengths_too_far_apart_are_refused_before_the_work(monkeypatch):
    _refuse_planes(monkeypatch)
    rng = np.random.default_rng(0)
    # Long rows that are nearly parallel, too.
    x = [1.0, 0.0] + 0.02 * rng.standard_normal((60, 2))
    x *= np.geomspace(0.003, 3.0, 60)[:, None]
    with pytest.raises(
        ValueError, match=r"^nngp_ntk: `x` must .* another `weight_var`"
    ):
        kernels.nngp_ntk(x, act.silu, 20, weight_var=4.0)


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [("mish", 1e-4, 3.0), ("tanh", 1e-4, 3.0), ("silu", 1e-7, 10.0)],
)
def test_lengths_over_many_decades_have_tables_of_each(name, least, most):
    """All of them at once took more than 64 lengths, and were refused."""
    t = np.random.default_rng(0).uniform(0.0, 0.5, 30)
    t[5] = t[20] + 1e-7
    x = np.stack([np.cos(t), np.sin(t)], 1) * np.geomspace(least, most, 30)[:, None]
    many = kernels.nngp_ntk(x, act.CATALOGUE[name], 1)
    for some in ([0, 1, 29], [3, 9, 17], [5, 20, 28]):
        # Rows that are few have tables of their own lengths.
        few = kernels.nngp_ntk(x[some], act.CATALOGUE[name], 1)
        for whole, own in zip(many, few, strict=True):
            size = np.sqrt(np.outer(np.diag(own), np.diag(own)))
            assert np.abs((whole[np.ix_(some, some)] - own) / size).max() <= 1e-13


def test_lengths_at_which_a_function_vanishes_are_refused():
    def flat(x):
        far = np.maximum(np.abs(x) - 1e-3, 1e-300)
        return np.where(np.abs(x) > 1e-3, np.exp(-1e-3 / far), 0.0)

    a = act.from_function(flat, name="flat")
    x = 3e-5 * np.array([[1.0, 0.0], [0.9, 1.2]])
    with pytest.raises(
        ValueError, match=r"values of flat at length .* are zero in dou"
    ):
        kernels.nngp(x, a, 1)


def test_the_length_at_which_a_function_vanishes_is_that_of_the_input():
    # It was told over the least of its table, as 1.
    shrink = act.from_function(
        lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0.0), kinks=(-0.5, 0.5)
    )
    with pytest.raises(ValueError, match=r"at length 0\.01\d+ are zero"):
        kernels.nngp([[0.015], [1.0]], shrink, 1)


def test_a_derivative_that_is_wrong_at_tiny_lengths_alone_is_refused():
    # 1e-13 beside a slope of 2 |x|: the cosine of rows 1e-3 apart was -1.
    a = act.from_function(
        lambda x: x * np.tanh(x),
        derivative=lambda x: np.tanh(x) + x / np.cosh(x) ** 2 + 1e-13 / np.cosh(x),
        name="a",
    )
    x = np.array([[1.0, 0.0], [1.0, 1e-3]])
    assert kernels.nngp(x, a, 2)[0, 1] > 0.0
    with pytest.raises(
        ValueError, match=r"a: `derivative` must be that of f at varian"
    ):
        kernels.nngp(1e-9 * x, a, 2)


def test_lengths_at_which_rounding_leaves_nothing_are_called_so():
    a = act.from_function(lambda x: 1.0 - np.cos(x), tolerance=0.01, name="a")
    x = 3e-13 * np.array([[1.0, 0.0], [0.9, 1.2]])
    with pytest.raises(
        ValueError, match=r"values of a at length .* are zero in double"
    ):
        kernels.nngp(x, a, 1)


class _HardSwish:
    """Its average and its slope's over a Gaussian of mean m and deviation q."""

    activation = act.hard_swish
    kinks = (-3, 3)

    def at(self, m, q):
        inside, beyond = _moments(m, q, -3), _moments(m, q, 3)
        zero, one, two = (a - b for a, b in zip(inside, beyond, strict=True))
        return (3 * one + two) / 6 + beyond[1], (3 * zero + 2 * one) / 6 + beyond[0]


class _BentSine:
    """The same of sin x + 0.3 |x - 0.4|."""

    activation = act.from_function(
        lambda x: np.sin(x) + 0.3 * np.abs(x - 0.4),
        kinks=0.4,
        derivative=lambda x: np.cos(x) + 0.3 * np.sign(x - 0.4),
    )
    kinks = (0.4,)

    def at(self, m, q):
        c, slope = mpmath.mpf(0.4), mpmath.mpf(0.3)
        zero, one, _ = _moments(m, q, c)
        wave = mpmath.exp(-q * q / 2)
        bent = slope * (2 * (one - c * zero) - (m - c))
        return wave * mpmath.sin(m) + bent, wave * mpmath.cos(m) + slope * (
            2 * zero - 1
        )


def _moments(m, q, c):
    """E [1, Y, Y^2; Y > c] of a Gaussian of mean m and deviation q."""
    if not q:
        return [m**k * (m > c) for k in range(3)]
    a = (c - m) / q
    zero, density = mpmath.ncdf(-a), q * mpmath.npdf(a)
    return zero, m * zero + density, (m * m + q * q) * zero + (m + c) * density


def _close(true, r, o, rho):
    """Integrals of the mean product of slopes over [rho, end], and it, by one variable."""
    r, o, rho = map(mpmath.mpf, (r, o, rho))
    end, q = mpmath.sign(rho), mpmath.sqrt(1 - rho * rho)
    points = {mpmath.mpf(k) for k in range(-12, 13, 2)}
    for c in true.kinks:
        points |= {c / r, end * c / o}
        points |= {(c / o + k * q) / rho for k in (-8, -4, -2, -1, 0, 1, 2, 4, 8)}

    def mean(f):
        inside = sorted(p for p in points if abs(p) <= 12)
        return mpmath.quad(
            lambda z: mpmath.npdf(z) * f(z), inside, method="gauss-legendre"
        )

    zero = mpmath.mpf(0)
    lost = mean(
        lambda z: (
            true.at(r * z, zero)[0]
            * (true.at(end * o * z, zero)[0] - true.at(rho * o * z, q * o)[0])
        )
    )
    slope = mean(lambda z: true.at(r * z, zero)[1] * true.at(rho * o * z, q * o)[1])
    return end * lost / (r * o), slope


def _sizes(slopes, rho):
    """Sum the sizes of the terms of S for the rows 0 and 1, of pieces and of the rest."""
    d, i, j = np.array([1.0 - rho]), [0], [1]
    *_, cancels = bent_slopes.bent_pieces.integrals(
        slopes.pieces, *np.split(slopes.r, 2), 1.0 - d, d
    )
    rest = np.abs(slopes.coefficients @ slopes.basis)
    orders = itertools.islice(slopes.pieces.orders(slopes.r), len(rest))
    bent = np.abs(list(orders))
    terms = rest[:, i] * (rest[:, j] + bent[:, j]) + bent[:, i] * rest[:, j]
    return float((cancels / d)[0] + rho ** np.arange(len(rest)) @ terms[:, 0])


@pytest.mark.parametrize(
    ("true", "r", "o", "rho"),
    [
        (_HardSwish(), 1.0, 1.003, 1.0 - 1e-6),
        (_HardSwish(), 0.3, 3.1, -0.98),
        (_BentSine(), 1.0, 1.0, 1.0 - 1e-6),
        (_BentSine(), 0.3, 3.1, -0.98),
    ],
)
def test_slopes_in_pieces_are_those_of_the_definition(true, r, o, rho):
    pieces = bent_slopes.BentSlopes.of(true.activation, np.log([r, o]))
    assert pieces is not None
    pair = np.array([0]), np.array([1]), np.array([rho]), np.array([1.0 - abs(rho)])
    inner, lost, slope, holds = pieces.integrals(*pair, np.ones(1))
    with mpmath.workdps(30):
        expected = [float(v) for v in _close(true, r, o, rho)]
    # Of either row a weight, the density and a value of the slope are rounded to an eps
    # each, its node and the polynomial to half, and bends are extrapolated to three:
    # fourteen of the terms' sizes. At lengths of 0.3 and 3.1 the bent sine's cancel to a
    # twenty-fourth.
    size = _sizes(pieces, abs(rho))
    for found, exact, share in zip(
        (lost, slope), expected, (1.0 - abs(rho), 1.0), strict=True
    ):
        assert abs(found[0] - exact) <= 14.0 * bent_slopes.EPS * size * share
    own = close_pairs.integrals(true.activation, r, o, rho, 1.0 - abs(rho))
    assert abs(inner[0] - own[0]) <= 1e-14
    assert holds[0]


@pytest.mark.parametrize("true", [_HardSwish(), _BentSine()])
def test_close_pairs_of_slopes_that_bend_and_jump_are_taken_together(
    true, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One by one a hundred rows took a quarter of a minute, and minutes."""
    x = np.stack([np.linspace(-3.0, 3.0, 60), np.ones(60)], axis=1)
    some = [0, 20, 21, 59]
    few = kernels.nngp_ntk(x[some], true.activation, 3)

    def refuse(*_: object) -> None:
        raise AssertionError("a pair is integrated alone")

    monkeypatch.setattr(close_pairs, "integrals", refuse)
    many = kernels.nngp_ntk(x, true.activation, 3)
    for whole, own in zip(many, few, strict=True):
        size = np.sqrt(np.outer(np.diag(own), np.diag(own)))
        assert np.abs((whole[np.ix_(some, some)] - own) / size).max() <= 1e-13


def test_a_rest_that_is_rounding_alone_is_resolved_at_once():
    """Against its own size it was not, and hundreds of rows went one by one."""
    pieces = bent_slopes.BentSlopes.of(act.hard_swish, np.linspace(0.0, 1.15, 500))
    assert pieces is not None
    assert len(pieces.basis) == bent_slopes.NODES[0]


@pytest.mark.parametrize("d", [0.0, 1e-310, 1e-250])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_pieces_of_parallel_rows_are_those_of_the_end(d, sign):
    """And of rows an angle apart that no number but zero is far from."""
    true = _HardSwish()
    pieces = bent_slopes.BentSlopes.of(true.activation, np.log([1.0, 2.0]))
    assert pieces is not None
    rho, size = np.array([sign]), np.ones(1)
    one, other = np.array([0]), np.array([1])
    inner, lost, slope, holds = pieces.integrals(one, other, rho, np.array([d]), size)
    r = np.array([1.0, 2.0])
    own = close_pairs.at_ends(true.activation, r, one, other, rho)
    np.testing.assert_allclose([inner, slope], own, rtol=1e-14)
    assert abs(lost[0]) <= 2.0 * d
    assert holds[0]


def test_pieces_whose_terms_cancel_do_not_hold():
    """Of rows far beyond the kinks bends cancel: as far as they hold they have digits."""
    r = np.geomspace(1.0, 1e5, 6)
    pieces = bent_slopes.BentSlopes.of(act.hard_swish, np.log(r))
    assert pieces is not None
    i, d = np.arange(6), np.full(6, 0.1)
    _, lost, _, holds = pieces.integrals(i, i, 1.0 - d, d, np.ones(6))
    assert holds.tolist() == sorted(holds, reverse=True)
    assert holds[0]
    assert not holds[-1]
    for k in np.flatnonzero(holds):
        own = close_pairs.integrals(act.hard_swish, r[k], r[k], 0.9, 0.1)
        assert abs(lost[k] / own[1] - 1.0) <= 1e-13


def test_pairs_apart_of_rows_far_beyond_the_kinks_are_summed_as_series(monkeypatch):
    """Their pieces cancel; each was integrated alone, a tenth of a second for a pair."""
    x = np.geomspace(2e3, 6e3, 12)[:, None] * np.eye(12)
    stack = Stack((Layer(act.hard_swish),))
    step = Recursion.build(stack, LogLengths.of_rows(x)).steps[0].map
    pairs = np.arange(11), np.arange(1, 12), np.full(11, 0.97), np.full(11, 0.03)
    few = step._one_by_one(*(v[:2] for v in pairs))

    def refuse(*_: object) -> None:
        raise AssertionError("a pair is integrated alone")

    monkeypatch.setattr(close_pairs, "integrals", refuse)
    many = step._by_pieces(*pairs)
    # The integral to the end is not asked for where it is no small part.
    for found, own in ((many[0], few[0]), (many[2], few[2])):
        np.testing.assert_allclose(found[:2], own, rtol=0.0, atol=1e-14)


def test_a_rest_with_kinks_of_its_own_is_no_series():
    """Beyond step and bend e^x differs from a line by all other powers."""
    a = act.from_function(lambda x: np.expm1(np.minimum(x, 0.4)), kinks=0.4)
    assert bent_slopes.orders(a, 1.0) is None
    x = np.stack([np.linspace(-1.0, 1.0, 10), np.ones(10)], axis=1)
    many, few = kernels.nngp(x, a, 1), kernels.nngp(x[:3], a, 1)
    np.testing.assert_allclose(many[:3, :3], few, rtol=1e-13)


@pytest.mark.parametrize("lost", [math.nan, 1.1, -1e-9])
def test_distances_without_digits_are_refused(lost):
    # No activation is known to leave any: the maps before refuse them by themselves.
    x = np.array([[1.0, 0.0], [0.0, 2.0]])
    whole = Recursion.build(Stack((Layer(act.tanh),)), LogLengths.of_rows(x))

    @dataclass(frozen=True)
    class Lost:
        alone: object

        def pairs(self, i, j, rho, d, *, tangent):
            return rho, np.full_like(d, lost), None

    step = whole.steps[0]
    broken = replace(whole, steps=(replace(step, map=Lost(step.map.alone)),))
    one, rho = np.array([1]), np.array([0.5])
    with pytest.raises(ValueError, match="tanh has lost them all after layer 0"):
        broken.pairs(0 * one, one, rho, 1.0 - rho)


@pytest.mark.parametrize("r", [1e3, 1e5, 1e7])
def test_pieces_of_slopes_keep_their_digits_on_long_rows_or_are_not_taken(r: float):
    """Bends of Huber's slope are next to each other there: 5e-10 was lost of a distance."""
    huber = act.PiecewisePolynomial("huber", 2, (-0.5, -1.0), (-1.0, 1.0), (1.0, -1.0))
    found = bent_slopes.BentSlopes.of(huber, np.log([r, 2.0 * r]))
    assert found is not None
    d = np.array([1e-8])
    pair = np.array([0]), np.array([1]), 1.0 - d, d
    _, lost, _, holds = found.integrals(*pair, np.ones(1))
    assert holds.all() == (r < 2e4)
    own = close_pairs.integrals(huber, r, 2.0 * r, 1.0 - 1e-8, 1e-8)
    assert abs(lost[0] / own[1] - 1.0) <= bent_slopes.ROUNDED or not holds.all()


def test_averages_over_many_nodes_hold_little_and_keep_their_digits():
    """Of sin x + x^2 at lengths of 3,000: E s^2 is 3 r^4 + 1/2, Var s is 2 r^4 + 1/2."""
    own = act.from_function(lambda x: np.sin(x) + x * x)
    panel = length_tables.LengthPanel(own, Interval(8.0, 9.0))
    _ = panel._sampled
    tracemalloc.start()
    try:
        found = panel._averages(32)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    r4 = np.exp(4.0 * panel.interval.nodes(32))
    exact = (2.0 * r4 + 0.5) / (3.0 * r4 + 0.5)
    assert np.abs(found[:, 2] - exact).max() < 2e-14
    assert peak < 5e7  # of 272,000 nodes for each length, 4 arrays and more


def test_functions_that_are_flat_within_the_panels_of_all_lengths():
    """Panels of gelu(x / 1000) begin far beyond inputs of 1e-5: it has none there."""
    x = 1e-5 * np.random.default_rng(0).normal(size=(3, 4))
    z = 1e-6 * x @ x.T
    # gelu(z) = z/2 + z^2/sqrt(2 pi) + O(z^4)
    norms = np.diagonal(z)
    second = (np.outer(norms, norms) + 2.0 * z * z) / (2.0 * np.pi)
    found = kernels.nngp(x, act.gelu.scaled(1e-6), 1)
    np.testing.assert_allclose(found, z / 4.0 + second, rtol=1e-12)


@pytest.mark.parametrize("shift", [0.0, -0.8, 1e-3])
@pytest.mark.parametrize("gap", [1e-9, 0.3, 200.0])
def test_shifted_powers_need_no_table_of_lengths(shift, gap, monkeypatch) -> None:
    """Fifty layers of |x| less its mean took minutes with a bias, for quadratures."""

    def refuse(*_: object) -> None:
        raise AssertionError("a quadrature over lengths is taken")

    monkeypatch.setattr(length_tables, "turned", refuse)
    monkeypatch.setattr(length_tables, "panel", refuse)
    layers = [Layer(act.Affine(act.abs, 1.5, shift), 1.0, 0.1)] * 20
    x = np.array([[1.0, 0.0], [math.exp(gap), 0.0], [1.0, 1.0]])
    k = kernels.nngp(x, layers)
    with mpmath.workdps(60):
        c = mpmath.mpf(1.5), mpmath.mpf(shift)
        bias = mpmath.mpf(0.1)
        exact = [[mpmath.mpf(v) for v in row] for row in x]
        q = [[mpmath.fdot(u, v) for u in exact] for v in exact]
        for _ in layers:
            q = [
                [_shifted(q[i][i], q[j][j], q[i][j], *c) + bias for i in range(3)]
                for j in range(3)
            ]
        for i, j in [(0, 0), (1, 1), (0, 1), (0, 2), (1, 2)]:
            size = mpmath.sqrt(q[i][i] * q[j][j])
            assert abs(k[i, j] - q[i][j]) <= 1e-12 * size


def _shifted(q, o, both, c, h):
    """E (c |u| + h) (c |v| + h), by the arc-cosine kernel."""
    size = mpmath.sqrt(q * o)
    rho = min(both / size, mpmath.mpf(1))
    known = size * (mpmath.sqrt(1 - rho * rho) + rho * mpmath.asin(rho))
    means = mpmath.sqrt(q) + mpmath.sqrt(o)
    root = mpmath.sqrt(2 / mpmath.pi)
    return c * c * known * 2 / mpmath.pi + c * h * root * means + h * h


def test_panels_that_a_rule_joins_next_to_kinks_count_as_one(monkeypatch) -> None:
    at = np.array([-1.5, -0.7, 0.3, 1.1, 1.9])
    a = act.from_function(
        lambda x: (np.maximum(x[..., None] - at, 0.0) ** 1.5).sum(axis=-1), kinks=at
    )
    lengths = np.array([0.9, 1.1])
    assert max(len(a.derivative._edges(20.0 * r)) for r in lengths) > 110
    monkeypatch.setattr(slope_tables, "PANELS", 110)
    monkeypatch.setattr(_engines, "PANELS", 110)
    assert callable(slope_tables._by_plane(a, lengths, 0.5))
    assert a._may_converge
    monkeypatch.setattr(slope_tables, "PANELS", 20)
    with pytest.raises(ValueError, match="at which 20 panels resolve"):
        slope_tables._by_plane(a, lengths, 0.5)


def test_slopes_far_from_short_rows_are_not_negative() -> None:
    # E s'^2 goes from 1e-300 to 1e-100 on one panel of lengths, beside a constant.
    a = act.from_function(
        lambda x: 3.0 + 1e-5 * np.maximum(x - 0.9313230787818676, 0.0),
        kinks=0.9313230787818676,
    )
    x = np.array([[1.0, 0.2], [0.01, -0.02]]) * math.sqrt(2.0 / 1.04)
    t, k = kernels.ntk(x, a, 1), kernels.nngp(x, a, 1)
    assert t[0] == pytest.approx(k[0], rel=1e-10)
    assert t[1, 1] == pytest.approx(9.0, rel=1e-13)


@pytest.mark.parametrize("name", ["asinh", "gelu", "selu", "hard_tanh"])
def test_rows_at_which_a_function_is_straight_share_a_panel(name: str) -> None:
    a = getattr(act, name)
    least = tangents.straight(a)
    logs = np.array([least + 0.3, least - 20.4, -300.7])
    # Multiples, as far as rounding goes: E s(r Z)^2 / r^2 from the slopes beside zero.
    beside = a.derivative(np.array([-1e-40, 1e-40]))
    found = length_tables.Lengths(a).gain(logs)
    assert found == pytest.approx(0.5 * math.log((beside**2).mean()), rel=0, abs=1e-15)
    length_tables.panel.cache_clear()
    x = np.array([[1.0, 0.2], [0.01, -0.02]])
    kernels.nngp(x, a, 150, weight_var=0.05)
    assert length_tables.panel.cache_info().misses < 80


def test_functions_that_are_straight_nowhere_share_no_panel() -> None:
    own = act.from_function(lambda x: np.tanh(x) + 0.1 * np.abs(x - 0.1), kinks=0.1)
    for a in (act.cos, act.relu_squared, act.log_cosh, act.normrelu(), own):
        assert tangents.straight(a) == -math.inf


@pytest.mark.parametrize(
    ("a", "beside_zero"),
    [
        (act.elu(0.3), act.leaky_relu(0.3)),
        (act.asinh, act.identity),
        (act.silu, 0.5 * act.identity),
        (act.from_function(lambda x: np.abs(x) + np.sin(x), kinks=0.0), 2.0 * act.relu),
    ],
)
def test_layers_of_short_rows_are_those_of_the_tangent(a, beside_zero) -> None:
    x = np.array([[1.0, 0.2], [3.0, -2.0], [1.0, 0.2000001], [-1e-9, 0.0]]) * 1e-25
    for kernel in (kernels.nngp, kernels.ntk):
        k, exact = kernel(x, a, 20), kernel(x, beside_zero, 20)
        size = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
        assert (np.abs(k - exact) / size).max() <= 1e-12
