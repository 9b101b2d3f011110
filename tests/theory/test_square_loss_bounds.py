"""Linear minima, margin bounds and random matrices against other routes."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from theory import square_loss as sl

EPS = float(np.finfo(float).eps)


def ridge_by_normal_equations(x, y, decay):
    """At 60 digits, where squaring the condition number costs nothing."""
    a = mpmath.matrix(x.tolist())
    gram = a.T * a + mpmath.mpf(decay) * mpmath.eye(x.shape[1])
    return mpmath.lu_solve(gram, a.T * mpmath.matrix(y.tolist()))


@pytest.mark.parametrize("decay", [1e-14, 1e-6, 0.3, 1e8])
@pytest.mark.parametrize("condition", [1.0, 1e3, 1e7])
def test_ridge_is_as_good_as_its_data(decay, condition):
    generator = np.random.default_rng(0)
    u = np.linalg.qr(generator.normal(size=(9, 4)))[0]
    v = np.linalg.qr(generator.normal(size=(4, 4)))[0]
    x = u * np.geomspace(1.0, 1.0 / condition, 4) @ v.T
    y = generator.normal(size=9)
    exact = ridge_by_normal_equations(x, y, decay)
    found = sl.ridge_solution(x, y, decay)
    error = float(mpmath.norm(mpmath.matrix(found.tolist()) - exact))
    size = float(mpmath.norm(exact))
    # The docstring's bound: what moving X by a few eps would do.
    kappa = 1.0 / math.sqrt(condition**-2 + decay)
    left = np.linalg.norm(y - x @ found)
    assert error <= 9 * 8 * EPS * (max(kappa, 1.0) * size + kappa**2 * left)


def test_largest_margin_against_quadratic_programming():
    generator = np.random.default_rng(7)
    for _ in range(20):
        n, d = generator.integers(1, 9), generator.integers(2, 6)
        x = generator.normal(size=(n, d))
        y = np.where(x @ generator.normal(size=d) > 0.0, 1.0, -1.0)
        margin, w = sl.maximum_margin(x, y)
        least = (y * (x @ w)).min()
        assert abs(np.linalg.norm(w) - 1.0) <= 4 * EPS
        assert margin == pytest.approx(least, rel=1e-12)
        # Weak duality: no unit vector beats the hull's distance, reached by w itself.
        slack = y * (x @ w) - margin
        active = (y[:, None] * x)[slack <= 1e-9]
        weights = np.linalg.lstsq(active.T, margin * w, rcond=None)[0]
        assert np.allclose(active.T @ weights, margin * w, atol=1e-9)
        assert weights.sum() == pytest.approx(1.0, abs=1e-8)


def test_largest_margin_keeps_its_units():
    x, y = np.array([[3.0, 1.0], [1.0, 2.0], [-1.0, -1.0]]), [1, 1, -1]
    margin, w = sl.maximum_margin(x, y)
    for factor in (1e-200, 1e200):
        scaled, turned = sl.maximum_margin(factor * x, y)
        assert scaled == pytest.approx(factor * margin, rel=1e-14)
        np.testing.assert_allclose(turned, w, rtol=1e-13)


@pytest.mark.parametrize("dim", [2, 400])
@pytest.mark.parametrize("unit", [1.0, 1.9, 1e-100])
def test_least_margins_are_relative_to_the_longest_input(dim, unit):
    # Nearly opposite points of length `unit`, whose margin is half of their gap.
    long, across = np.zeros((2, dim))
    long[:], across[:] = dim**-0.5, dim**-0.5 * (-1.0) ** np.arange(dim)
    for gap, known in ((1.9e-7, False), (2.1e-7, True)):
        x = unit * np.stack([long, gap * across - long])
        if known:
            margin = sl.maximum_margin(x, [1, 1])[0]
            assert margin == pytest.approx(0.5 * gap * unit, rel=1e-7)
        else:
            with pytest.raises(ValueError, match="be separable"):
                sl.maximum_margin(x, [1, 1])


@pytest.mark.parametrize("decay", [0.0, 0.3, 50.0])
@pytest.mark.parametrize("sizes", [(3,), (2, 2), (2, 1, 3), (1, 1, 1, 1, 1)])
def test_clusters_are_at_rest(sizes, decay):
    if decay == 50.0 and len(set(sizes)) > 1:
        with pytest.raises(ValueError, match="leave each a share"):
            sl.cluster_equilibrium(sizes, 0.1, decay)
        return
    found = sl.cluster_equilibrium(sizes, 0.1, decay)
    f = np.repeat(found.margins, sizes)
    y = np.ones(len(f))
    assert found.shares.sum() == pytest.approx(1.0, rel=1e-14)
    assert found.rho == pytest.approx(sl.rho_equilibrium(f, y, decay), rel=1e-13)
    errors = found.rho * f - y
    loss = errors @ errors + decay * found.rho**2
    assert found.loss == pytest.approx(loss, rel=1e-12, abs=1e-14)


def clusters(sizes, overlap, decay):
    """Norm and shares as the formulas are printed, to 60 digits."""
    with mpmath.workdps(360):
        o, decay = mpmath.mpf(overlap), mpmath.mpf(decay)
        s = [1 - (m - 1) * o for m in sizes]
        lengths = [mpmath.sqrt(m / v) for m, v in zip(sizes, s, strict=True)]
        rho = mpmath.fsum(lengths) / (1 + decay * mpmath.fsum(1 / v for v in s))
        pairs = zip(lengths, s, strict=True)
        return rho, [(a - decay * rho / v) / rho for a, v in pairs]


@pytest.mark.parametrize(
    ("sizes", "overlap", "decay"),
    [
        ((11,), 0.1 - 1e-15, 0.0),  # 1 - 10 overlap has one digit in float64
        ((3,), 0.5 - 1e-16, 0.1),
        ((3,), 0.1, 1e300),  # a single cluster has all of the norm
        ((2, 2, 2), 0.1, 1e12),
        ((5, 5, 4), 0.05, 0.5),
    ],
)
def test_clusters_near_the_largest_overlap_and_with_any_decay(
    sizes, overlap, decay, error
):
    found = sl.cluster_equilibrium(sizes, overlap, decay)
    rho, shares = clusters(sizes, overlap, decay)
    assert error(found.rho, rho) <= 1e-15
    assert max(map(error, found.shares.tolist(), shares)) <= 1e-15


def test_typical_outputs_of_networks_beyond_float64():
    assert sl.typical_output([2] * 200) == pytest.approx(2.0**-199.5, rel=1e-15)
    assert sl.typical_output([2**31] * 40) == pytest.approx(2.0**-639.5, rel=1e-15)
    assert sl.typical_output([2] * 2000) == 0.0


@pytest.mark.parametrize(
    ("time", "start", "target"),
    [
        (0.0, 1e200, 1e-200),
        (1.0, 1e-300, 1e300),
        (1e-10, 1e20, 5e-324),
        (170.0, 1e-300, 1.0),
    ],
)
def test_a_linear_mode_of_any_size(time, start, target, error):
    with mpmath.workdps(900):
        t, a, b = (mpmath.mpf(v) for v in (time, start, target))
        left = mpmath.exp(-min(4 * b * t, 2000))
        exact = a * b / (a * (1 - left) + b * left)
    assert error(sl.linear_mode(time, start, target), exact) <= 1e-13


def test_a_linear_flow_passes_where_relu_has_a_kink():
    v = sl.normalise([np.array([[1.0, -0.4], [0.3, 1.0]]), np.array([[1.0, 0.7]])])[1]
    x = np.array([[0.8, 0.6], [-0.6, 0.8]])
    flow = sl.gradient_flow(v, 0.5, x, [1, -1], 0.2, t_end=120.0, linear=True)
    w = sl.ridge_solution(x, [1.0, -1.0], 0.2)
    assert flow.rho_at(120.0) == pytest.approx(float(np.linalg.norm(w)), rel=1e-8)
    product = np.linalg.multi_dot(flow.directions(120.0)[::-1])[0]
    np.testing.assert_allclose(flow.rho_at(120.0) * product, w, atol=1e-7)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: sl.maximum_margin([[1.0], [1.0]], [1, -1]), "be separable"),
        (lambda: sl.cluster_equilibrium([], 0.1, 0.0), "at least one cluster"),
        (lambda: sl.cluster_equilibrium([2, 2], 0.5, 0.0), "be below 1 / "),
        (lambda: sl.typical_output([]), "inputs' dimension"),
        (lambda: sl.linear_mode(-1.0, 0.1, 1.0), "`time` must be at least 0"),
        (lambda: sl.exponential_multiplier(0.0, [0.5], [1]), "`rho` must be positive"),
        (
            lambda: sl.margin_bound([0.5], [1], gamma=1e-300, depth=10**30),
            "`gamma` and `depth` must keep the result",
        ),
    ],
)
def test_new_refusals(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_least_norm_of_all_interpolators():
    generator = np.random.default_rng(1)
    x, y = generator.normal(size=(3, 8)), generator.normal(size=3)
    found = sl.ridge_solution(x, y, 0.0)
    np.testing.assert_allclose(x @ found, y, rtol=1e-13)
    # In the row space: orthogonal to what X does not see.
    unseen = np.linalg.svd(x)[2][3:]
    assert np.abs(unseen @ found).max() <= 20 * EPS
    # A doubled row changes no equation, and the rank is decided.
    twice = sl.ridge_solution(np.vstack([x, x[:1]]), np.append(y, y[0]), 0.0)
    np.testing.assert_allclose(twice, found, rtol=1e-13)


def test_deep_linear_minimisers_are_ridge_and_at_rest():
    generator = np.random.default_rng(2)
    x = generator.normal(size=(9, 4))
    y = np.sign(generator.normal(size=9))
    for widths in ((), (3,), (5, 2, 6)):
        rho, v = sl.linear_minimiser(x, y, 0.4, widths)
        product = np.eye(4)
        for w in v:
            product = w @ product
        np.testing.assert_allclose(
            rho * product[0], sl.ridge_solution(x, y, 0.4), rtol=1e-13
        )
        np.testing.assert_allclose(sl.norms(v), 1.0, rtol=4 * EPS)
        f = x @ product[0]
        assert abs(sl.rho_equilibrium(f, y, 0.4) / rho - 1.0) <= 1e-13
    rho, v = sl.linear_minimiser(x, y, 0.4, ())
    assert sl.critical_residual(rho, v, x, y).max() <= 1e-13


def test_the_path_is_the_minimum_at_every_weight_decay():
    generator = np.random.default_rng(3)
    x = generator.normal(size=(9, 4))
    y = np.sign(generator.normal(size=9))
    grid = np.array([0.0, 1e-3, 0.1, 2.0, 50.0])
    path = sl.regularisation_path(x, y, grid)
    for k, decay in enumerate(grid):
        w = sl.ridge_solution(x, y, decay)
        f = x @ w / np.linalg.norm(w)
        assert abs(path.rho[k] / np.linalg.norm(w) - 1.0) <= 1e-13
        assert abs(path.alignment[k] / (y @ f) - 1.0) <= 1e-13
        assert abs(path.energy[k] / (f @ f) - 1.0) <= 1e-13
        assert abs(sl.rho_equilibrium(f, y, decay) / path.rho[k] - 1.0) <= 1e-13
    assert np.all(np.diff(path.rho) < 0.0)
    assert np.all(np.diff(path.alignment) > 0.0)
    assert np.all(np.diff(path.energy) > 0.0)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 9])
def test_rademacher_averages_are_enumerated(n):
    x = np.random.default_rng(n).normal(size=(n, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    signs = itertools.product((-1, 1), repeat=n)
    exact = math.fsum(np.linalg.norm(np.array(s) @ x) for s in signs) / 2**n / n
    found = sl.rademacher_linear(x)
    assert abs(found / exact - 1.0) <= 20 * EPS
    assert found <= sl.rademacher_linear_bound(n) * (1.0 + 4 * EPS)
    assert abs(sl.rademacher_linear(7.0 * x) / found - 7.0) <= 50 * EPS


def test_margin_bounds_have_their_terms():
    f = np.array([0.5, -0.1, 0.3, 0.2])
    y = np.array([1, -1, 1, -1])
    bound = sl.margin_bound(f, y, gamma=0.4, depth=3, confidence=0.9)
    assert abs(bound.ramp - np.mean([0.0, 0.75, 0.25, 1.0])) <= 4 * EPS
    average = (math.sqrt(6 * math.log(2)) + 1) / 2
    assert abs(bound.complexity / (2 / 0.4 * average) - 1.0) <= 4 * EPS
    assert abs(bound.deviation / (3 * math.sqrt(math.log(20) / 8)) - 1.0) <= 8 * EPS
    assert bound.total == bound.ramp + bound.complexity + bound.deviation
    assert bound.vacuous


@pytest.mark.parametrize(
    ("gamma", "level", "j"),
    [(1.0, 0.5, 1), (0.5, 0.25, 2), (0.4, 0.25, 2), (0.26, 0.25, 2)],
)
def test_a_margin_seen_in_the_data_costs_a_union(gamma, level, j):
    f, y = np.full(100, 0.5), np.ones(100)
    bound = sl.margin_bound(f, y, gamma=gamma, depth=2, data_dependent=True)
    fixed = sl.margin_bound(
        f, y, gamma=level, depth=2, confidence=1.0 - 0.05 * 6 / (math.pi * j) ** 2
    )
    assert bound.gamma == level
    assert bound.complexity == fixed.complexity
    assert bound.ramp == fixed.ramp
    # 1 - delta is rounded once: eps / delta_j.
    assert abs(bound.deviation / fixed.deviation - 1.0) <= 1e3 * EPS


def test_the_sample_size_below_which_bounds_are_vacuous():
    least = sl.vacuous_below(5.0, 4)
    average = sl.rademacher_bound(math.ceil(least), 4)
    assert 2.0 * 5.0 * average <= 1.0
    assert 2.0 * 5.0 * sl.rademacher_bound(math.floor(least), 4) >= 1.0


def wick(polynomial):
    """Exact mean of a polynomial of independent normal variables."""
    total = 0
    for monomial, coefficient in polynomial.items():
        powers = Counter(monomial).values()
        if all(k % 2 == 0 for k in powers):
            total += coefficient * math.prod(math.prod(range(1, k, 2)) for k in powers)
    return total


@pytest.mark.parametrize(("r", "c"), [(1, 1), (1, 2), (2, 1), (2, 2), (3, 2)])
def test_gram_moments_are_exact(r, c):
    # |W^T W - I|^2 times r^2, as a polynomial of entries N(0, 1).
    deviation = Counter()
    for j, k in itertools.product(range(c), repeat=2):
        entry = Counter({((i, j), (i, k)): 1 for i in range(r)})
        if j == k:
            entry[()] -= r
        for (m1, c1), (m2, c2) in itertools.product(entry.items(), repeat=2):
            deviation[tuple(sorted(m1 + m2))] += c1 * c2
    square = Counter()
    for (m1, c1), (m2, c2) in itertools.product(deviation.items(), repeat=2):
        square[tuple(sorted(m1 + m2))] += c1 * c2
    mean = Fraction(wick(deviation), r**2)
    variance = Fraction(wick(square), r**4) - mean**2
    assert sl.gram_deviation_mean(r, c) == float(mean)
    assert sl.gram_deviation_variance(r, c) == float(variance)


@pytest.mark.parametrize(("r", "c"), [(10**6, 10**6 - 1), (3, 1), (1, 10**9), (7, 7)])
def test_spectrum_edges_keep_their_digits(r, c, error):
    root = mpmath.sqrt(mpmath.mpf(c) / r)
    low, high = sl.gram_spectrum_edges(r, c)
    assert error(low, (1 - root) ** 2) <= 8 * EPS
    assert error(high, (1 + root) ** 2) <= 8 * EPS


@pytest.mark.parametrize("slope", [1.0, 1e-3, 1e-5, 1e-6])
def test_small_margins_keep_their_digits(slope, error):
    # By symmetry w = (0, 1): the first two hold it, whatever the third is.
    x = np.array([[1.0, slope], [-1.0, slope], [0.3, 2.0 * slope], [0.1, -3.0]])
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    margin, w = sl.maximum_margin(x @ turn, [1, 1, 1, -1])
    assert error(margin, slope) <= 40 * EPS / slope
    np.testing.assert_allclose(w, turn[1], atol=40 * EPS / slope)


@pytest.mark.parametrize(
    ("x", "y", "decay", "found"),
    [(1e-200, 1e300, 1e150, 1e-50), (2e-309, 1e-100, 0.0, 5e208), (2.0, 1.0, 1.0, 0.4)],
)
def test_ridge_factors_that_alone_leave_float64(x, y, decay, found):
    assert sl.ridge_solution([[x]], [y], decay) == pytest.approx([found], rel=4 * EPS)
    # A direction that no input has stays at zero.
    both = sl.ridge_solution([[x, 0.0], [0.0, 0.0]], [y, y], decay)
    assert both == pytest.approx([found, 0.0], rel=4 * EPS)
