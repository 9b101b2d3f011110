"""Bounds on correlations and condition numbers: table values, sharp cases, ranges."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theory import activations as act
from theory import conditioning as dc

RELU = 0.26652889653787007
NORMRELU = 0.015858317676985129
deltas = st.floats(1e-9, 1.0)
mus = st.floats(1e-3, 1.0)

# Reference table of B(L, delta): mu, delta, L_0, B(10), B(L_0), B(L_0+1), B(L_0+50).
TABLE = [
    (RELU, 0.01, 32, 0.965060824924916604, 0.45222719128003169, 0.433367775865532,
     0.000392013067922557),
    (NORMRELU, 0.01, 496, 0.989178185311443201, 0.497328103154129, 0.496035420580754,
     0.335818222509473),
    (1.0, 1e-6, 33, 0.9999423349609375, 0.352840175089016207, 0.25,
     4.44089209850062616e-16),
]  # fmt: skip


@pytest.mark.parametrize(("mu", "delta", "start", "b10", "b0", "b1", "b50"), TABLE)
def test_table(mu, delta, start, b10, b0, b1, b50):
    assert dc.burn_in_depth(delta, mu) == start
    # L_0 powers of a rounded base: L_0 ulp, 1e-13 at 496; the table has 15 digits.
    for depth, value in ((10, b10), (start, b0), (start + 1, b1), (start + 50, b50)):
        found = dc.correlation_bound(depth, delta, mu)
        assert found == pytest.approx(value, rel=5e-13)


@given(st.integers(1, 60), st.sampled_from([0.5, 1.0, 0.25]))
def test_burn_in_depth_at_whole_ratios(layers, mu):
    # 2 delta (1 + mu/2)^l = 1 exactly, up to the rounding of delta.
    delta = 0.5 * (1.0 + mu / 2.0) ** -layers
    assert dc.burn_in_depth(delta, mu) == layers


@given(deltas, mus)
def test_burn_in_depth_is_the_first(delta, mu):
    start = dc.burn_in_depth(delta, mu)
    with mpmath.workdps(40):
        base = 1 + mpmath.mpf(mu) / 2
        slack = mpmath.mpf(2) ** -50
        assert 2 * delta * base**start >= 1 - slack
        assert start == 0 or 2 * delta * base ** (start - 1) < 1


def test_burn_in_depth_broadcasts():
    out = dc.burn_in_depth([0.01, 0.5], [[1.0], [RELU]])
    assert out.tolist() == [[10, 0], [32, 0]]
    assert isinstance(dc.burn_in_depth(0.1, 0.5), int)
    assert dc.burn_in_depth(1.0, 1.0) == 0


@given(deltas, mus)
def test_one_layer_bound_dominates_its_middle(delta, mu):
    middle = dc.one_layer_bound(delta, mu, middle=True)
    assert middle == pytest.approx((1 - delta) * (1 - mu * delta), rel=1e-15)
    assert dc.one_layer_bound(delta, mu) >= middle - 4e-16


def test_one_layer_bound_is_attained():
    # Energies (0, 1 - mu, mu) attain the middle expression; the pieces touch at 1/2.
    for mu in (0.1, 0.6, 1.0):
        a = act.HermiteMixture((0.0, math.sqrt(1 - mu), math.sqrt(mu)))
        for delta in (0.01, 0.3, 0.5, 0.9):
            bound = dc.one_layer_bound(delta, mu, middle=True)
            assert a.dual(1 - delta) == pytest.approx(bound, rel=1e-14)
        assert dc.one_layer_bound(0.5, mu) == pytest.approx(
            dc.one_layer_bound(0.5, mu, middle=True), rel=1e-15
        )
    assert dc.one_layer_bound(0.0, 0.3) == 1.0
    assert dc.one_layer_bound(1.0, 0.3) == 0.0


@given(st.integers(0, 200), deltas, mus)
def test_the_envelope_is_below_the_bound(depth, delta, mu):
    envelope = dc.correlation_envelope(depth, delta, mu)
    bound = dc.correlation_bound(depth, delta, mu)
    assert 0.0 <= envelope <= bound * (1 + 1e-12) + 1e-13


@given(st.integers(1, 60), st.floats(1e-6, 1.0), mus)
def test_the_envelope_is_attained(depth, delta, mu):
    a = act.HermiteMixture((0.0, math.sqrt(1 - mu), math.sqrt(mu)))
    d = delta
    for _ in range(depth):
        d = min(a.distance_map(d), 1.0)
    # Three ulp a layer, enlarged by at most (1 + mu)^depth of a distance below one.
    assert 1 - dc.correlation_envelope(depth, delta, mu) == pytest.approx(d, rel=1e-12)


@pytest.mark.parametrize("name", ["relu", "tanh", "gelu", "abs", "normrelu", "selu"])
@pytest.mark.parametrize("delta", [1e-4, 0.05, 0.6])
def test_duals_obey_the_bounds(name, delta):
    from theory import kernels

    a = act.CATALOGUE[name].normalized()
    for rho in (1 - delta, delta - 1):
        slope = abs(a.dual_derivative(rho))
        d = a.derivative_second_moment
        assert slope <= d * dc.derivative_bound(delta, a.mu) * (1 + 1e-13)
        assert slope <= dc.derivative_bound(delta, a.mu, form="printed")
        for depth in (1, 5, 40, 300):
            k = abs(kernels.nngp_map(rho, a, depth))
            assert k <= dc.correlation_bound(depth, delta, a.mu) * (1 + 1e-12)
            t = abs(kernels.ntk_map(rho, a, depth, normalized=True))
            for form in ("printed", "sharp"):
                bound = dc.ntk_ratio_bound(depth, delta, a.mu, form=form)
                assert t <= bound * (1 + 1e-12)


def test_reference_values_of_the_tangent_kernel():
    assert dc.derivative_bound(0.1, RELU) == pytest.approx(
        0.957911912271967547, rel=1e-15
    )
    assert dc.derivative_bound(0.1, RELU, form="printed") == 10.0
    # Ratio bounds at rho = 0.99, L = 100 (68 layers past L_0 = 32).
    sharp = dc.ntk_ratio_bound(100, 0.01, RELU, form="sharp")
    assert sharp == pytest.approx(5.97433449933714543e-5, rel=1e-13)
    printed = dc.ntk_ratio_bound(100, 0.01, RELU)
    assert printed == pytest.approx(0.0762007058973527881, rel=1e-13)
    assert dc.ntk_ratio_bound(63, 0.01, RELU) == 1.0
    assert dc.ntk_ratio_bound(31, 0.01, RELU, form="sharp") == 1.0
    assert dc.ntk_diagonal(10, act.relu.normalized().derivative_second_moment) == (
        pytest.approx(142.829000430280718, rel=1e-14)
    )
    c = act.normrelu().derivative_second_moment
    assert dc.ntk_diagonal(10, c) == pytest.approx(13.65084178523451, rel=1e-14)


def test_condition_numbers():
    start, n = 32, 100
    rest = 1 - RELU / 2
    threshold = start + math.ceil(math.log(n) / -math.log(rest))
    assert dc.depth_for_condition_number(0.01, RELU, n) == threshold == 65
    assert dc.nngp_condition_bound(64, 0.01, RELU, n) == math.inf
    for depth in (65, 80, 200):
        a = dc.nngp_condition_bound(depth, 0.01, RELU, n)
        assert a == pytest.approx(1 + 2 * n * rest ** (depth - start), rel=1e-13)
        b = dc.nngp_condition_bound(depth, 0.01, RELU, n, assumption="B")
        assert b == pytest.approx(1 + n * rest ** (depth - start), rel=1e-13)
    early = dc.nngp_condition_bound(10, 0.01, RELU, n, assumption="B")
    assert early == pytest.approx(1 + n * (100 * (1 + RELU / 2) ** -10 - 1), rel=1e-13)
    assert dc.ntk_threshold_depth(0.01, RELU, n) == 139
    assert dc.ntk_threshold_depth(0.01, RELU, n, form="sharp") == 70
    assert dc.ntk_condition_bound(138, 0.01, RELU, n) == math.inf
    value = dc.ntk_condition_bound(139, 0.01, RELU, n)
    assert value == pytest.approx(1 + 4 * n * rest ** (139 / 2 - 32), rel=1e-13)
    sharp = dc.ntk_condition_bound(139, 0.01, RELU, n, form="sharp")
    assert sharp == pytest.approx(1 + 4 * n * rest ** (139 - 32), rel=1e-13)
    side = dc.ntk_condition_bound(139, 0.01, RELU, n, assumption="B")
    assert side == pytest.approx(1 + 2 * n * rest ** (139 / 2 - 32), rel=1e-13)


@pytest.mark.parametrize("power", [1, 29, 31, 47, 59, 102, 190])
def test_depths_at_whole_powers(power):
    # (1 - mu/2) = 1/2; the quotient of logarithms is above `power` for most of these.
    n = 2**power
    assert dc.depth_for_condition_number(0.5, 1.0, n) == power
    assert dc.depth_for_condition_number(0.5, 1.0, n + 1) == power + (power < 50)
    assert dc.ntk_threshold_depth(0.5, 1.0, n // 2, form="sharp") == power
    assert dc.ntk_threshold_depth(0.5, 1.0, n // 2) == 2 * power
    # 2n / (target - 1) = 2^power exactly, from one layer on.
    found = dc.depth_for_condition_number(0.5, 1.0, 1, 1.0 + 2.0 ** (1 - power % 50))
    assert found == max(power % 50, 1)


@given(
    st.floats(1e-6, 1.0),
    st.floats(0.01, 0.99),
    st.integers(1, 10**6),
    st.floats(1.01, 100.0),
    st.sampled_from("AB"),
)
def test_the_depth_for_a_target_reaches_it(delta, mu, n, target, side):
    depth = dc.depth_for_condition_number(delta, mu, n, target, assumption=side)
    bound = dc.nngp_condition_bound(depth, delta, mu, n, assumption=side)
    assert bound <= target * (1 + 1e-9)


@given(st.integers(0, 300), deltas, mus)
def test_eigenvalue_bounds_complement_the_correlations(depth, delta, mu):
    assert dc.nngp_min_eigenvalue_bound(depth, delta, mu) == pytest.approx(
        1 - dc.correlation_bound(depth, delta, mu), abs=1e-15
    )
    for form in ("printed", "sharp"):
        assert dc.ntk_min_eigenvalue_bound(depth, delta, mu, form=form) == (
            pytest.approx(
                1 - dc.ntk_ratio_bound(depth, delta, mu, form=form), abs=1e-15
            )
        )


def test_eigenvalue_transfer_is_sharp_for_equal_correlations():
    # Gram (1 - delta) 11' + delta I: f applied to it has smallest eigenvalue
    # f(1) - f(1 - delta), exactly.
    delta, n = 0.3, 5
    gram = (1 - delta) * np.ones((n, n)) + delta * np.eye(n)
    least = np.linalg.eigvalsh(gram**3)[0]
    bound = dc.eigenvalue_transfer(1.0, (1 - delta) ** 3)
    assert least == pytest.approx(bound, rel=1e-14)


def test_fixed_point_convergence():
    found = dc.fixed_point_convergence(act.gelu, 0.01)
    assert found.point == pytest.approx(0.7604019048959089240932872, rel=1e-13)
    assert found.slope == pytest.approx(0.9327288291161824771830438, rel=1e-13)
    assert found.rate == pytest.approx(0.973053898040345789, rel=1e-13)
    assert found.start == 94
    low = dc.fixed_point_convergence(act.softplus, 0.01)
    assert (low.point, low.rate) == (1.0, low.slope)
    assert low.slope == pytest.approx(0.318458983683693, rel=1e-14)


@pytest.mark.parametrize("name", ["gelu", "silu", "softplus", "sigmoid"])
def test_correlations_converge_within_the_bound(name):
    a, delta = act.CATALOGUE[name], 0.05
    found = dc.fixed_point_convergence(a, delta)
    for rho in (1 - delta, delta - 1, 0.0):
        r = rho
        for layer in range(1, found.start + 60):
            r = a.dual(r) / a.second_moment
            if layer >= found.start:
                bound = found.rate ** (layer - found.start)
                assert abs(r - found.point) <= bound + 1e-13


def test_unit_slope_bound():
    for a in (act.relu, act.exp):
        d = 1.0
        for layer in range(1, 200):
            d = a.distance_map(d)
            assert d <= dc.unit_slope_bound(layer, a.nu) * (1 + 1e-12)
    assert dc.unit_slope_bound(0, 0.5) == 1.0
    assert dc.unit_slope_bound(5, 0.5, wait=9) == 1.0
    assert dc.unit_slope_bound([0, 2], 0.5).tolist() == [1.0, 0.5]


def test_scalars_give_floats_and_arrays_broadcast():
    assert isinstance(dc.correlation_bound(3, 0.1, 0.2), float)
    assert isinstance(dc.one_layer_bound(0.1, 0.2), float)
    assert dc.correlation_bound(np.arange(4), 0.1, 0.2).shape == (4,)
    assert dc.one_layer_bound(0.1, [0.2, 0.3]).shape == (2,)
    assert dc.correlation_envelope(3, [0.1, 0.2], 0.5).shape == (2,)
