"""What holds for every dual activation, on activations drawn at random."""

import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from theory import activations as act
from theory import conditioning as dc
from theory import kernels

# Rounding of duals and distances: 1e-13 of E s^2, the required accuracy.
ROUNDING = 1e-13

# Rounded, so that no square of a coefficient underflows.
coefficients = st.floats(-2.0, 2.0).map(lambda v: round(v, 6))
mixtures = st.lists(coefficients, min_size=2, max_size=8).map(
    lambda a: act.HermiteMixture(tuple(a))
)
kinked = st.tuples(
    st.floats(-2.0, 2.0),
    st.floats(-3.0, 3.0),
    st.floats(0.1, 2.0),
    st.floats(-2.0, 2.0),
).map(
    lambda v: act.PiecewisePolynomial(
        "bent", 1, (0.0, v[0]), (v[1], v[1] + v[2]), (1.0, v[3])
    )
)
named = st.sampled_from([a for n, a in act.CATALOGUE.items() if n != "softsign"])
activations = st.one_of(mixtures, kinked, named)
rhos = st.one_of(
    st.floats(-1.0, 1.0), st.sampled_from([-1.0, -1 + 1e-15, 0.0, 1 - 1e-15, 1.0])
)


@settings(deadline=None, max_examples=20)
@given(activations, rhos)
def test_duals_are_bounded_by_the_second_moment(a, rho):
    slack = ROUNDING * a.second_moment
    assert abs(a.dual(rho)) <= a.dual(abs(rho)) + slack
    assert a.dual(abs(rho)) <= a.second_moment + slack
    assert a.dual(abs(rho)) >= a.mean**2 - slack


@settings(deadline=None, max_examples=15)
@given(activations, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_duals_increase_and_bend_upwards(a, p, q):
    p, q = sorted((p, q))
    slack = 2 * ROUNDING * a.second_moment
    low, mid, high = (a.dual(r) for r in (p, 0.5 * (p + q), q))
    assert low <= high + slack
    assert mid <= 0.5 * (low + high) + slack


@settings(deadline=None, max_examples=15)
@given(activations, rhos)
def test_duals_are_their_series(a, rho):
    # Truncated at 100: the tail is at most what is left of E s^2, times |rho|^101.
    p = a.hermite(100) ** 2
    rest = max(a.second_moment - math.fsum(p), 0.0) * abs(rho) ** 101
    series = float(np.polynomial.polynomial.polyval(rho, p))
    assert abs(a.dual(rho) - series) <= rest + 4 * ROUNDING * a.second_moment


@settings(deadline=None, max_examples=15)
@given(activations)
def test_shares_are_their_coefficients(a):
    assume(a.variance > 1e-6 * a.second_moment)
    a0, a1 = a.hermite(1)
    slack = 4 * ROUNDING * a.second_moment / a.variance
    assert a.variance == pytest.approx(a.second_moment - a0**2, rel=slack)
    assume(a._rest > 1e-3 * a.variance)
    mu = 1 - a1**2 / a.variance
    assert a.mu == pytest.approx(mu, abs=slack)
    assert a.nu == pytest.approx(1 - (a0**2 + a1**2) / a.second_moment, abs=slack)
    assert 0.0 <= a.nu <= a.mu * (1 + ROUNDING) <= 1 + ROUNDING


BENT = act.PiecewisePolynomial("bent", 1, (0.0, 0.0), (0.0, 1.0), (1.0, 1.0))


@settings(deadline=None, max_examples=15)
@given(activations, st.floats(0.0, 2.0), st.floats(0.1, 1.0))
# Between kinks that differ, squares of the inverse distance overflow.
@example(BENT, 2.2e-309, 1.0)
def test_distances_shrink_with_their_argument(a, delta, factor):
    # On [0, 1] the map is concave through 0: factor * map(d) <= map(factor * d).
    assume(a.second_moment > 1e-6)
    delta = min(delta, 1.0)
    whole, part = a.distance_map(delta), a.distance_map(factor * delta)
    assert part <= whole + ROUNDING
    assert factor * whole <= part * (1 + 2 * ROUNDING) + 1e-300


@settings(deadline=None, max_examples=15)
@given(activations, st.floats(-0.99, 0.99))
def test_slopes_are_slopes(a, rho):
    # Central difference: h^2 |dual'''| / 6 with |dual'''| <= 6 E s^2 / (1 - |rho|)^3,
    # and rounding 1e-13 / h.
    assume(a.second_moment > 1e-6)
    h = 1e-5 * (1 - abs(rho))
    difference = (a.dual(rho + h) - a.dual(rho - h)) / (2 * h)
    slack = (2e-10 / (1 - abs(rho)) + ROUNDING / h) * a.second_moment
    assert abs(a.dual_derivative(rho) - difference) <= slack


@settings(deadline=None, max_examples=15)
@given(activations, rhos, st.floats(0.3, 3.0), st.floats(0.3, 3.0))
def test_unequal_variances(a, rho, var_x, var_y):
    size = math.sqrt(a.length_map(var_x) * a.length_map(var_y))
    both = a.dual(rho, var_x=var_x, var_y=var_y)
    assert abs(both) <= size * (1 + ROUNDING)  # Cauchy-Schwarz
    assert abs(both - a.dual(rho, var_x=var_y, var_y=var_x)) <= 2 * ROUNDING * size
    same = a.dual(rho, var_x=var_x, var_y=var_x)
    assert abs(same - a.scaled(var_x).dual(rho)) <= 2 * ROUNDING * a.length_map(var_x)


@settings(deadline=None, max_examples=15)
@given(activations, st.floats(1e-6, 1.0))
def test_one_layer_bound(a, delta):
    assume(a.variance > 1e-3 * a.second_moment > 1e-9)
    assume(a._rest > 1e-6 * a.variance)
    s = a.normalized()
    bound = dc.one_layer_bound(delta, s.mu, middle=True)
    assert abs(s.dual(1 - delta)) <= bound + 10 * ROUNDING
    assert abs(s.dual(delta - 1)) <= bound + 10 * ROUNDING


@settings(deadline=None, max_examples=20)
@given(mixtures, st.integers(0, 10**6), st.integers(1, 3))
def test_kernels_of_mixtures_are_positive_semidefinite(a, seed, depth):
    assume(a.variance > 1e-3)
    x = np.random.default_rng(seed).standard_normal((5, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    for matrix in kernels.nngp_ntk(x, a.normalized(), depth):
        # 1e-12 of the diagonal in each of 5 x 5 entries.
        assert np.linalg.eigvalsh(matrix)[0] >= -5e-12 * matrix[0, 0]
