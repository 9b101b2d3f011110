"""Bounds on correlations and condition numbers: table values, sharp cases, ranges."""

import math
from fractions import Fraction

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
    d, m = Fraction(delta), Fraction(mu)
    assert middle == pytest.approx(float((1 - d) * (1 - m * d)), rel=1e-15)
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
    # A few ulp a layer of the distance, and the envelope's own two, of one.
    found = 1 - dc.correlation_envelope(depth, delta, mu)
    assert found == pytest.approx(d, rel=1e-13, abs=5e-16)


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
            for form in ("printed", "sharp", "attained"):
                bound = dc.ntk_ratio_bound(depth, delta, a.mu, form=form)
                # Without a linear part T is promised to 1e-13 of its diagonal only.
                assert t <= bound * (1 + 1e-12) + 1e-13 * (a.mu == 1.0)


def test_reference_values_of_the_tangent_kernel():
    assert dc.derivative_bound(0.1, RELU) == pytest.approx(
        0.957911912271967547, rel=1e-15
    )
    assert dc.derivative_bound(0.1, RELU, form="printed") == 10.0
    # Ratio bounds at rho = 0.99, L = 100 (68 layers past L_0 = 32).
    sharp = dc.ntk_ratio_bound(100, 0.01, RELU, form="sharp")
    assert sharp == pytest.approx(5.97433449933714543e-5 / 2, rel=1e-13)
    printed = dc.ntk_ratio_bound(100, 0.01, RELU)
    assert printed == pytest.approx(0.0762007058973527881, rel=1e-13)
    assert dc.ntk_ratio_bound(63, 0.01, RELU) == 1.0
    # The sharp form says something from the first layer on.
    early = dc.ntk_ratio_bound(1, 0.01, RELU, form="sharp")
    assert early == pytest.approx(1 - 0.01 * (1 + RELU / 2), rel=1e-15)
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
    assert dc.ntk_threshold_depth(0.01, RELU, n, form="sharp") == threshold
    assert dc.ntk_condition_bound(138, 0.01, RELU, n) == math.inf
    value = dc.ntk_condition_bound(139, 0.01, RELU, n)
    assert value == pytest.approx(1 + 4 * n * rest ** (139 / 2 - 32), rel=1e-13)
    sharp = dc.ntk_condition_bound(139, 0.01, RELU, n, form="sharp")
    assert sharp == pytest.approx(1 + 2 * n * rest ** (139 - 32), rel=1e-13)
    for form in ("sharp", "attained"):
        first = dc.ntk_threshold_depth(0.01, RELU, n, form=form)
        assert dc.ntk_condition_bound(first - 1, 0.01, RELU, n, form=form) == math.inf
        assert dc.ntk_condition_bound(first, 0.01, RELU, n, form=form) < math.inf
    side = dc.ntk_condition_bound(139, 0.01, RELU, n, assumption="B")
    assert side == pytest.approx(1 + 2 * n * rest ** (139 / 2 - 32), rel=1e-13)


@pytest.mark.parametrize("power", [1, 29, 31, 47, 59, 102, 190])
def test_depths_at_whole_powers(power):
    # (1 - mu/2) = 1/2; the quotient of logarithms is above `power` for most of these.
    n = 2**power
    assert dc.depth_for_condition_number(0.5, 1.0, n) == power
    assert dc.depth_for_condition_number(0.5, 1.0, n + 1) == power + (power < 50)
    assert dc.ntk_threshold_depth(0.5, 1.0, n, form="sharp") == power
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
    for form in ("printed", "sharp", "attained"):
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
    assert dc.unit_slope_bound([5, 9], 0.5, wait=9).tolist() == [2.0, 1.0]
    assert dc.unit_slope_bound([0, 2], 0.5).tolist() == [1.0, 0.5]


def test_unit_slopes_bound_nothing_while_correlations_may_be_negative():
    """A sixth of the energy is the mean's: one layer takes rho = -1 to -1/3."""
    a = act.from_function(lambda x: 0.5 + x + (x * x - 1.0) / math.sqrt(8.0))
    wait = math.ceil(a.second_moment / a.mean**2 - 1e-9)
    distance = 1.0 - a.dual(-1.0) / a.second_moment
    assert distance == pytest.approx(4.0 / 3.0)
    assert distance <= dc.unit_slope_bound(1, a.nu, wait=wait) == 2.0


def test_scalars_give_floats_and_arrays_broadcast():
    assert isinstance(dc.correlation_bound(3, 0.1, 0.2), float)
    assert isinstance(dc.one_layer_bound(0.1, 0.2), float)
    assert dc.correlation_bound(np.arange(4), 0.1, 0.2).shape == (4,)
    assert dc.one_layer_bound(0.1, [0.2, 0.3]).shape == (2,)
    assert dc.correlation_envelope(3, [0.1, 0.2], 0.5).shape == (2,)


# --- the maximum of the tangent kernel --------------------------------------------------


def _exact_quadratic(depth, delta, mu):
    """T over its diagonal for the energies (0, 1 - mu, mu), by its sum, and K."""
    with mpmath.workdps(60):
        d, m = mpmath.mpf(delta), mpmath.mpf(mu)
        r = [1 - d]
        for _ in range(depth):
            r.append(r[-1] * (1 - m * (1 - r[-1])))
        total = mpmath.mpf(0)
        for h in range(depth + 1):
            term = r[h]
            for v in r[h:depth]:
                term *= 1 - m + 2 * m * v
            total += term
        return total / sum((1 + m) ** h for h in range(depth + 1)), r[-1]


@pytest.mark.parametrize("mu", [1e-4, 0.015, RELU, 1.0])
@pytest.mark.parametrize("delta", [1e-30, 1e-6, 0.3, 0.999])
@pytest.mark.parametrize("depth", [0, 1, 2, 9, 70])
def test_attained_forms_are_the_quadratic_itself(mu, delta, depth):
    t, k = _exact_quadratic(depth, delta, mu)
    # Ten roundings a layer, sums of positive terms.
    slack = 1e-15 * (depth + 1)
    ratio = dc.ntk_ratio_bound(depth, delta, mu, form="attained")
    # Each layer doubles the relative error of a small ratio, as it squares it.
    assert ratio == pytest.approx(float(t), rel=slack, abs=1e-30)
    least = dc.ntk_min_eigenvalue_bound(depth, delta, mu, form="attained")
    assert least == pytest.approx(float(1 - t), rel=slack, abs=0.0)
    assert dc.correlation_envelope(depth, delta, mu) == pytest.approx(
        float(k), rel=slack, abs=1e-30
    )
    least = dc.nngp_min_eigenvalue_bound(depth, delta, mu, form="attained")
    assert least == pytest.approx(float(1 - k), rel=slack, abs=0.0)
    if depth:
        exact = float((1 + t) / (1 - t)) - 1
        for side in "AB":
            found = dc.ntk_condition_bound(
                depth, delta, mu, 2, assumption=side, form="attained"
            )
            assert found - 1 == pytest.approx(exact, rel=slack, abs=3e-16)


@given(
    # Sums so small that the parts of the energies would be subnormal are left out.
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=9).filter(
        lambda p: sum(p) > 1e-300
    ),
    mus,
    st.floats(1e-6, 1.0),
    st.integers(0, 40),
)
def test_no_energies_exceed_the_attained_ratio(rest, mu, delta, depth):
    # With 40 digits: a layer may multiply the rounding of r by its slope, up to ten.
    with mpmath.workdps(40):
        parts = [mpmath.mpf(v) for v in rest]
        energies = [1 - mpmath.mpf(mu), *(mu * v / sum(parts) for v in parts)]
        slope = sum(k * p for k, p in enumerate(energies, 1))
        r = t = 1 - mpmath.mpf(delta)
        top = mpmath.mpf(1)
        for _ in range(depth):
            t *= sum(k * p * r ** (k - 1) for k, p in enumerate(energies, 1))
            r = sum(p * r**k for k, p in enumerate(energies, 1))
            t, top = t + r, 1 + slope * top
        ratio = t / top
    bound = dc.ntk_ratio_bound(depth, delta, mu, form="attained")
    # Twenty roundings a layer in the bound.
    assert ratio <= bound * (1 + 5e-15 * (depth + 1)) + 1e-300


@given(st.integers(0, 120), st.floats(1e-9, 1.0), mus)
def test_the_chain_of_tangent_bounds(depth, delta, mu):
    t = dc.ntk_ratio_bound(depth, delta, mu, form="attained")
    r = dc.correlation_envelope(depth, delta, mu)
    b = dc.ntk_ratio_bound(depth, delta, mu, form="sharp")
    slack = 1 + 1e-15 * (depth + 1)
    assert t <= r * slack
    assert r <= b * slack + 1e-16
    assert b <= dc.ntk_ratio_bound(depth, delta, mu) * (1 + 1e-13)
    # It falls with depth, which the threshold's bisection relies on.
    assert dc.ntk_ratio_bound(depth + 1, delta, mu, form="attained") <= t * slack


def test_any_depth_is_quick():
    # 50 digits of the recursion itself, 200,000 layers at mu = 1e-4 from 0.999.
    with mpmath.workdps(50):
        r, m = 1 - mpmath.mpf(1e-3), mpmath.mpf(1e-4)
        for _ in range(200_000):
            r *= 1 - m * (1 - r)
    # Logits of 20 times ten roundings.
    found = dc.correlation_envelope(200_000, 1e-3, 1e-4)
    assert found == pytest.approx(float(r), rel=2e-13)
    assert 0.0 < dc.correlation_envelope(10**9, 1e-3, 1e-8) < 0.05
    assert dc.correlation_envelope(10**18, 1e-300, 0.02) == 0.0
    assert dc.correlation_envelope(10**9, 0.3, 0.0) == 0.7
    assert dc.correlation_envelope(10**9, 0.0, 0.5) == 1.0
    # mu = 1 squares in every layer.
    assert dc.correlation_envelope(7, 0.5, 1.0) == 2.0**-128
    assert dc.ntk_ratio_bound(7, 0.5, 1.0, form="attained") == pytest.approx(
        2.0**-128, rel=1e-14
    )
    assert dc.ntk_ratio_bound(10**15, 0.5, 1.0, form="attained") == 0.0
    with pytest.raises(ValueError, match=r"ntk_ratio_bound: `depth` must take at most"):
        dc.ntk_ratio_bound(10**9, 0.1, 1e-6, form="attained")


@pytest.mark.parametrize("size", [1e-60, 1e-17, 1e-12, 0.9e-8, 1.1e-8, 1e-6])
@pytest.mark.parametrize("delta", [0.5, 0.5 + 2.0**-53, 0.3, 1e-20])
def test_many_layers_that_change_next_to_nothing(size, delta):
    # A layer adds m + m^2 (d - r) / 2 to log(d / r).
    mu = size / 1e7
    with mpmath.workdps(60):
        r, d, t = 1 - mpmath.mpf(delta), mpmath.mpf(delta), mpmath.mpf(mu) * 10**7
        logit = mpmath.log(d / r) + t * (1 + mpmath.mpf(mu) * (d - r) / 2)
        gap = 1 / (1 + mpmath.exp(-logit))
    found = dc.nngp_min_eigenvalue_bound(10**7, delta, mu, form="attained")
    # Of the logit, a few roundings.
    assert found == pytest.approx(float(gap), rel=2e-14)
    assert dc.correlation_envelope(10**7, delta, mu) == pytest.approx(
        float(1 - gap), rel=2e-14
    )


@pytest.mark.parametrize("patience", [0, 10**9])
def test_the_two_ways_of_going_deep_agree(patience, monkeypatch):
    from theory.conditioning import _envelopes

    monkeypatch.setattr(_envelopes, "PATIENCE", patience)
    r = 0.9
    for _ in range(3000):
        r *= 1 - 0.015 * (1 - r)
    # 3,000 layers of three roundings here; logits of 50 there.
    assert dc.correlation_envelope(3000, 0.1, 0.015) == pytest.approx(r, rel=1e-12)


# --- ranges -----------------------------------------------------------------------------


def test_tiny_rates_and_huge_depths():
    # log(5e5) / log1p(5e-21) by 60 digits.
    assert dc.burn_in_depth(1e-6, 1e-20) == 2624472675480865911939
    assert dc.correlation_bound(10, 0.25, 1e-20) == 0.75
    with pytest.raises(ValueError, match=r"burn_in_depth: `mu` must .*2\^63"):
        dc.burn_in_depth([1e-6], 1e-20)
    assert dc.correlation_bound(3, 5e-324, 1.0) == 1.0
    assert dc.nngp_min_eigenvalue_bound(3, 1e-20, 1.0) == pytest.approx(
        1e-20 * 1.5**3, rel=1e-15
    )
    # Powers of a base that rounds: 1 + 1e-4/3, 10^5 times.
    with mpmath.workdps(40):
        exact = 1 - mpmath.mpf(1e-9) * (1 + mpmath.mpf(1e-4 / 3) / 2) ** 100_000
    found = dc.correlation_bound(100_000, 1e-9, 1e-4 / 3)
    assert 1 - found == pytest.approx(float(1 - exact), rel=1e-6)
    least = dc.nngp_min_eigenvalue_bound(100_000, 1e-9, 1e-4 / 3)
    assert least == pytest.approx(float(1 - exact), rel=2e-15)


def test_the_diagonal_beyond_float64():
    with pytest.raises(ValueError, match=r"ntk_diagonal: `depth` must keep .*log=True"):
        dc.ntk_diagonal(2000, 1.5)
    for depth, slope in ((2000, 1.5), (50, 1.0 + 1e-12), (3, 1.0), (40, 0.7), (9, 3.0)):
        with mpmath.workdps(60):
            total = mpmath.fsum(mpmath.mpf(slope) ** h for h in range(depth + 1))
            log = float(mpmath.log(total))
        assert dc.ntk_diagonal(depth, slope, log=True) == pytest.approx(log, rel=1e-15)
        if depth < 2000:
            assert dc.ntk_diagonal(depth, slope) == pytest.approx(
                float(total), rel=1e-14
            )


ALL_BROADCAST = {
    "one_layer_bound": (0.1, 0.2),
    "burn_in_depth": (0.1, 0.2),
    "correlation_bound": (3, 0.1, 0.2),
    "correlation_envelope": (3, 0.1, 0.2),
    "derivative_bound": (0.1, 0.2),
    "ntk_diagonal": (3, 1.2),
    "ntk_ratio_bound": (3, 0.1, 0.2),
    "ntk_min_eigenvalue_bound": (3, 0.1, 0.2),
    "ntk_condition_bound": (90, 0.1, 0.2, 5),
    "ntk_threshold_depth": (0.1, 0.2, 5),
    "nngp_min_eigenvalue_bound": (3, 0.1, 0.2),
    "nngp_condition_bound": (90, 0.1, 0.2, 5),
    "depth_for_condition_number": (0.1, 0.2, 5, 2.0),
    "eigenvalue_transfer": (1.0, 0.2),
    "unit_slope_bound": (3, 0.2),
}
FORMS = {
    "ntk_ratio_bound": dc.tangent.FORMS,
    "ntk_min_eigenvalue_bound": dc.tangent.FORMS,
    "ntk_condition_bound": dc.tangent.FORMS,
    "ntk_threshold_depth": dc.tangent.FORMS,
    "nngp_min_eigenvalue_bound": dc.eigenvalues.FORMS,
    "nngp_condition_bound": dc.eigenvalues.FORMS,
    "derivative_bound": ("printed", "sharp"),
}


@pytest.mark.parametrize("name", ALL_BROADCAST)
def test_every_argument_broadcasts(name):
    function, plain = getattr(dc, name), ALL_BROADCAST[name]
    for form in FORMS.get(name, (None,)):
        options = {} if form is None else {"form": form}
        one = function(*plain, **options)
        assert type(one) in (int, float)
        for i, value in enumerate(plain):
            args = list(plain)
            args[i] = [value, value]
            column = [[v] for v in (value, value, value)]
            assert function(*args, **options).tolist() == [one, one]
            args[i] = column
            args[i - 1] = [plain[i - 1]] * 2
            assert function(*args, **options).tolist() == [[one, one]] * 3


def test_the_fixed_point_of_many_separations():
    both = dc.fixed_point_convergence(act.gelu, [0.01, 0.3])
    one = [dc.fixed_point_convergence(act.gelu, d).start for d in (0.01, 0.3)]
    assert both.start.tolist() == one
    assert isinstance(one[0], int)


@pytest.mark.parametrize("name", FORMS)
def test_forms_are_names_to_the_letter(name):
    with pytest.raises(ValueError, match=rf"{name}: `form` must be one of"):
        getattr(dc, name)(*ALL_BROADCAST[name], form="Sharp")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: dc.one_layer_bound(0.1, 0.2, middle="no"),
            "one_layer_bound: `middle` must be True or False",
        ),
        (
            lambda: dc.ntk_diagonal(3, 1.1, log="no"),
            "ntk_diagonal: `log` must be True or False",
        ),
        (
            lambda: dc.nngp_condition_bound([3.5], 0.1, 0.2, 4),
            "nngp_condition_bound: `depth` must be whole",
        ),
        (
            lambda: dc.nngp_condition_bound(3, 0.1, 0.2, [4, 0]),
            "nngp_condition_bound: `n` must be at least 1",
        ),
        (
            lambda: dc.unit_slope_bound(3, 0.1, wait=-1),
            "unit_slope_bound: `wait` must be at least 0",
        ),
        (
            lambda: dc.depth_for_condition_number(0.1, 0.5, 3, assumption="a"),
            "depth_for_condition_number: `assumption` must be one of 'A', 'B'",
        ),
        (
            lambda: dc.depth_for_condition_number(0.1, 0.5, 3, [2.0, 1.0]),
            "depth_for_condition_number: `target` must be greater than 1",
        ),
    ],
)
def test_flags_and_whole_numbers_are_checked(call, text):
    with pytest.raises(ValueError, match=text):
        call()


# --- rates that 1 + mu/2 does not hold ---------------------------------------------------


@pytest.mark.parametrize("mu", [2.3e-16, 1.6e-16, 1e-17, 1e-8, 3e-8])
@pytest.mark.parametrize("delta", [5e-324, 1e-30])
def test_distances_after_very_many_layers_of_a_tiny_rate(delta, mu):
    # Between 1 and the next float 1 + mu/2 is rounded by up to its own size.
    depth = math.floor(-0.9 * math.log(2.0 * delta) / math.log1p(0.5 * mu))
    depth = int(float(depth))  # as float64 holds it
    with mpmath.workdps(60):
        exact = mpmath.mpf(delta) * mpmath.exp(depth * mpmath.log1p(mpmath.mpf(mu) / 2))
    found = dc.nngp_min_eigenvalue_bound(depth, delta, mu)
    # The square of a power that is known to 4 ulp, and two products.
    assert found == pytest.approx(float(exact), rel=3e-15, abs=0.0)
    assert dc.correlation_bound(depth, delta, mu) == 1.0 - found


def test_decimals_count_as_the_floats_they_are_next_to():
    from decimal import Decimal

    for bound in (dc.ntk_ratio_bound, dc.ntk_min_eigenvalue_bound):
        assert bound(100, Decimal("0.01"), Decimal("0.25")) == bound(100, 0.01, 0.25)


@pytest.mark.parametrize("mu", [1.0, math.nextafter(1.0, 0.0), 1.0 - 1e-8, 0.3, 0.0])
@pytest.mark.parametrize("delta", [1.0, 1.0 - 2.0**-53, 1.0 - 1e-8, 0.7, 1e-9])
def test_bounds_of_one_layer_keep_their_digits_near_orthogonality(mu, delta):
    with mpmath.workdps(50):
        m, d = mpmath.mpf(mu), mpmath.mpf(delta)
        middle, slope = (1 - d) * (1 - m * d), 1 - 2 * m / (1 + m) * d
    # Four roundings of positive terms each.
    found = dc.one_layer_bound(delta, mu, middle=True)
    assert found == pytest.approx(float(middle), rel=5e-16, abs=0.0)
    found = dc.derivative_bound(delta, mu)
    assert found == pytest.approx(float(slope), rel=5e-16, abs=0.0)


def test_a_threshold_that_takes_too_many_layers_names_an_argument_it_has():
    with pytest.raises(ValueError, match="ntk_threshold_depth: `mu` must take at most"):
        dc.ntk_threshold_depth(0.1, 1e-300, 3, form="attained")
