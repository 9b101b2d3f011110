"""MMD initialisation's closed forms against other routes, and their laws."""

import itertools
import math
import tracemalloc
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theory import mmd
from theory.mmd import _segment_sums

EPS = float(np.finfo(float).eps)

GAMMAS = [1e-200, 1e-12, 1e-3, 0.1, 0.49, 0.5, 0.7, 0.999, 1.0, 3.0, 1e3, 1e8, 1e30]
PLACES = [0.0, 1e-30, 1e-3, 0.24, 0.3, 0.4999999, 0.5, 0.50001, 0.75, 1.0 - EPS, 1.0]


def mean(g):
    rest = g * g * mpmath.expm1(-1 / g**2)
    return g * mpmath.sqrt(mpmath.pi) * mpmath.erf(1 / g) + rest


def embedding(p, g):
    total = mpmath.erf(p / g) + mpmath.erf((1 - p) / g)
    return g * mpmath.sqrt(mpmath.pi) / 2 * total


def relative(found, exact):
    return abs(float(found / exact - 1))


@pytest.mark.parametrize("gamma", GAMMAS)
def test_closed_forms_on_the_segment_keep_their_digits(gamma):
    # Wide kernels cancel to gamma^-4 in the exact form: 120 digits more than enough.
    with mpmath.workdps(200 if gamma > 1e5 else 60):
        g = mpmath.mpf(gamma)
        assert relative(mmd.segment_kernel_mean(gamma), mean(g)) <= 8 * EPS
        for place in PLACES:
            p = mpmath.mpf(place)
            assert relative(mmd.segment_embedding(place, gamma), embedding(p, g)) <= (
                6 * EPS
            )
            exact = 1 - 2 * embedding(p, g) + mean(g)
            assert relative(mmd.segment_point_mmd(place, gamma), exact) <= 1e-14
            slope = mpmath.exp(-((p / g) ** 2)) - mpmath.exp(-(((1 - p) / g) ** 2))
            found = mmd.segment_embedding_derivative(place, gamma)
            if abs(slope) > 1e-300:
                assert relative(found, slope) <= 8 * EPS
            else:
                assert abs(found) <= 1e-300


def test_slopes_keep_their_digits_in_the_tails():
    for p in (0.1, 0.2, 0.49):
        gamma = p / 25.0  # exp(-625), where a rounded square would lose 1e-13
        with mpmath.workdps(400):
            t = mpmath.mpf(p) / mpmath.mpf(gamma)
            exact = mpmath.exp(-(t**2))
        assert relative(mmd.segment_embedding_derivative(p, gamma), exact) <= 8 * EPS


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("gamma", [1e-3, 0.2, 0.4999, 0.5, 1.0, 30.0, 1e6])
def test_law_against_uniform(gamma, estimator):
    p = np.random.default_rng(0).beta(0.5, 0.7, size=9)
    with mpmath.workdps(60):
        g, x = mpmath.mpf(gamma), [mpmath.mpf(v) for v in p.tolist()]
        pairs = mpmath.fsum(mpmath.exp(-(((a - b) / g) ** 2)) for a in x for b in x)
        own = pairs / 81 if estimator == "biased" else (pairs - 9) / 72
        exact = own - 2 * mpmath.fsum(embedding(a, g) for a in x) / 9 + mean(g)
        error = float(mmd.segment_mmd(p, gamma, estimator) - exact)
    # Four terms of size one, or of the width's share of it.
    assert abs(error) <= 8 * EPS * min(1.0, gamma**-2.0)


LAWS = {
    "uniform": lambda rng: rng.random(1500),
    "ends": lambda rng: rng.beta(0.1, 0.1, 1500),
    "two": lambda _: np.repeat([0.2, 0.2 + 1e-7], 750),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("gamma", [1e-9, 1e-3, 0.1, 0.49, 0.5, 3.0, 1e8])
def test_sums_over_many_pairs_are_those_of_each(law: str, gamma: float):
    p = LAWS[law](np.random.default_rng(0))
    m = len(p)
    less_one = math.fsum(np.expm1(-(((p[:, None] - p) / gamma) ** 2)).ravel())
    change = mmd.segment_mmd(p, gamma) - mmd.segment_mmd(p, gamma, "biased")
    # Both add numbers of order one, whose last digits the difference has.
    assert abs(change - less_one / m**2 / (m - 1)) <= 4 * EPS
    t = np.clip((p[:, None] - p) / gamma, -30.0, 30.0)
    pull = [math.fsum(row) for row in t * np.exp(-(t**2))]
    slopes = -2.0 / m * mmd.segment_embedding_derivative(p, gamma)
    true = slopes - 4.0 / (m * (m - 1)) * np.array(pull) / gamma
    error = np.abs(mmd.segment_mmd_gradient(p, gamma) - true)
    # Four times the pull, of nodes, and twice the slope.
    assert error.max() <= 16 * EPS * min(1.0 / gamma, gamma**-2.0) / m


def test_many_points_are_not_taken_pair_by_pair():
    """Ten thousand points took 1.8 seconds, and four times that for twice as many."""
    asked = [0]

    def kernel(t: np.ndarray) -> np.ndarray:
        asked[0] += t.size
        return np.exp(-(t**2))

    p = np.random.default_rng(0).random(50_000)
    found = _segment_sums.sums(kernel, p, 0.1)
    assert asked[0] < len(p)
    some = [math.fsum(np.exp(-(((v - p) / 0.1) ** 2))) for v in p[:9].tolist()]
    assert np.abs(found[:9] - some).max() <= 8 * EPS * len(p)


def test_blocks_of_many_predictions_are_all_counted():
    p = np.random.default_rng(1).random(1500)  # three blocks of rows
    lines = p[:, None] - p
    for gamma in (0.3, 2.0):
        u = mmd.segment_mmd(p, gamma)
        v = mmd.segment_mmd(p, gamma, "biased")
        apart = -np.expm1(-((lines / gamma) ** 2)).sum() / 1500 / 1499
        # U = V - (mean of 1 - k) / M.
        assert abs(v - u - apart / 1500) <= 4 * EPS
    slopes = mmd.segment_mmd_gradient(p, 0.3)
    step = 1e-6
    moved = p.copy()
    moved[1400] += step
    # Truncation h f'' with f'' <= 20 / M.
    change = (mmd.segment_mmd(moved, 0.3) - mmd.segment_mmd(p, 0.3)) / step
    assert abs(change - slopes[1400]) <= 20 / 1500 * step + 8 * EPS / step


@given(
    st.lists(st.floats(0.0, 1.0), min_size=2, max_size=12),
    st.floats(0.01, 100.0),
)
def test_the_discrepancy_of_predictions_is_positive_and_symmetric(values, gamma):
    p = np.array(values)
    v = mmd.segment_mmd(p, gamma, "biased")
    assert v >= -8 * EPS
    # The other class, and another order.
    assert abs(v - mmd.segment_mmd(1.0 - p[::-1], gamma, "biased")) <= 16 * EPS


def test_sampling_the_uniform_law_approaches_the_closed_form():
    p = np.array([0.1, 0.35, 0.8])
    u = (np.arange(2000) + 0.5) / 2000
    x, y = (np.stack([q, 1.0 - q], axis=1) for q in (p, u))
    for gamma in (0.1, 1.0, 10.0):
        found = mmd.mmd_squared(x, y, gamma, "biased")
        # The midpoint rule: h^2 / 24 times second derivatives of 2 / gamma^2, twice.
        assert abs(found - mmd.segment_mmd(p, gamma, "biased")) <= 2000**-2.0 / gamma**2


@given(st.integers(2, 7), st.integers(2, 7), st.integers(0, 99))
def test_estimates_are_apart_by_their_gap(m, n, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.dirichlet(np.ones(3), m), rng.dirichlet(np.ones(3), n)
    gammas = mmd.kernel_bandwidths(mmd.median_bandwidth(x, y))
    v = mmd.mmd_squared(x, y, gammas, "biased")
    gap = mmd.estimator_gap(x, y, gammas)
    assert v >= -72 * EPS
    assert abs(v - mmd.mmd_squared(x, y, gammas) - gap) <= 72 * EPS
    assert gap >= 0.0


def test_scales_of_points_do_not_over_or_underflow():
    x, y = np.array([[3.0, 4.0]]), np.zeros((1, 2))
    for power in (-1000, -500, 0, 500):
        scale = 2.0**power
        assert mmd.median_bandwidth(scale * x, y) == 5.0 * scale
        value = mmd.mmd_squared(scale * x, y, 5.0 * scale, "biased")
        assert value == pytest.approx(2.0 - 2.0 * math.exp(-0.5), rel=4 * EPS)
    assert mmd.mmd_squared(1e300 * x, y, 1e-300, "biased") == 2.0


def test_distances_beyond_float64_have_kernels():
    x, y = [[1.5e308, 0.0]], [[-1.5e308, 0.0]]
    assert mmd.mixture_kernel(x, y, 1.5e308) == pytest.approx(math.exp(-2.0))


def test_the_discrepancy_of_large_samples_takes_no_matrix_of_their_pairs():
    x, y = np.random.default_rng(3).random((2, 3000, 2))
    tracemalloc.start()
    try:
        found = mmd.mmd_squared(x, y, 0.5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * 3000**2
    pairs = [mmd.mixture_kernel(*pair, 0.5) for pair in ((x, x), (y, y), (x, y))]
    xx, yy, xy = (pair.sum() for pair in pairs)
    expected = (xx + yy - 6000.0) / (3000.0 * 2999.0) - 2.0 * xy / 3000.0**2
    assert abs(found - expected) <= 16 * EPS


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 9])
def test_medians_of_even_and_odd_counts(count):
    rng = np.random.default_rng(count)
    pool = rng.random((count, 3))
    ordered = sorted(math.dist(a, b) for a, b in itertools.combinations(pool, 2))
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    for cut in range(1, count):
        x, y = pool[:cut], pool[cut:]
        found = mmd.median_bandwidth(x, y)
        assert found == pytest.approx(0.5 * (low + high), rel=4 * EPS)
        lower = mmd.median_bandwidth(x, y, rule="lower")
        assert lower == pytest.approx(low, rel=4 * EPS)


@given(
    st.floats(0.0, 60.0),
    st.lists(st.floats(0.01, 5.0), min_size=1, max_size=8),
)
def test_forms_of_theorem_1_are_in_order(radius, variances):
    forms = ("printed", "sharp", "intermediate")
    bounds = [mmd.tail_bound(radius, variances, form=f) for f in forms]
    assert bounds[2] >= 0.0
    # Each exponent, up to 1e5, is rounded.
    for weaker, stronger in itertools.pairwise(bounds):
        assert stronger <= weaker * (1.0 + 1e-10)
    assert bounds[0] <= 1.0


def test_the_intermediate_form_is_made_of_the_lemmas():
    variances, counts = [0.3, 1.2, 0.05], [4, 1, 100]
    parts = [
        mmd.CHI_SQUARE.scaled(v)
        for v, n in zip(variances, counts, strict=True)
        for _ in range(n)
    ]
    energy = sum(v * n for v, n in zip(variances, counts, strict=True))
    whole = mmd.sub_exponential_sum(parts)
    for t in (0.1, 1.0, 30.0):
        bound = mmd.tail_bound(
            math.sqrt(energy + t), variances, counts, form="intermediate"
        )
        assert bound == pytest.approx(whole.tail_bound(t), rel=1e-13)


def test_numbers_of_the_paper_s_network():
    noise = mmd.noise_rule((784, 392, 392, 392, 2))
    assert noise.parameters == 616_618
    assert noise.energy == pytest.approx(591.0, rel=4 * EPS)
    assert noise.largest == pytest.approx(0.25, rel=4 * EPS)
    reach = mmd.vacuous_radius(noise.variances, noise.counts)
    assert reach == pytest.approx(math.sqrt(154_154.5), rel=4 * EPS)
    at = 1.1 * math.sqrt(noise.energy)
    assert mmd.tail_bound(at, noise.variances, noise.counts) == 1.0
    strong = mmd.tail_bound(at, noise.variances, noise.counts, form="intermediate")
    assert strong < 1e-20


@pytest.mark.parametrize("count", [1, 2, 7, 300, 10_000])
def test_tails_of_equal_variances(count):
    for share in (0.5, 1.0, 1.3, 3.0):
        radius = math.sqrt(share * count)
        with mpmath.workdps(60):
            half = mpmath.mpf(radius) ** 2 / 2
            exact = mpmath.gammainc(mpmath.mpf(count) / 2, half, regularized=True)
        if exact > 1e-100:
            assert relative(mmd.norm_tail(radius, count), exact) <= 1e-11
            scaled = mmd.norm_tail(3.0 * radius, count, 9.0)
            assert relative(scaled, exact) <= 1e-11


def test_the_exponential_moment_meets_its_series():
    for lam in (
        -1e308,
        -40.0,
        -0.26,
        -0.2499,
        -1e-3,
        -1e-12,
        1e-200,
        1e-5,
        0.2499,
        0.26,
        0.499,
    ):
        with mpmath.workdps(450):
            x = mpmath.mpf(lam)
            exact = -x - mpmath.log(1 - 2 * x) / 2
        if abs(lam) > 1e-150:
            assert relative(mmd.chi_square_log_moment(lam), exact) <= 1e-15
    assert mmd.chi_square_log_moment(0.0) == 0.0


@given(st.integers(2, 6), st.integers(0, 10_000), st.floats(0.0, 20.0))
def test_two_bounds_on_losses_hold_together(classes, seed, spread):
    rng = np.random.default_rng(seed)
    logits = spread * rng.standard_normal((3, 5, classes))
    f = np.exp(logits - logits.max(axis=-1, keepdims=True))
    f /= f.sum(axis=-1, keepdims=True)
    loss = mmd.degeneracy_loss(f)
    assert loss >= mmd.degeneracy_floor(classes) - 4 * EPS
    if classes == 2:
        assert abs(loss - mmd.segment_degeneracy_loss(f[..., 0])) <= 8 * EPS


def test_the_degeneracy_of_a_million_classes_takes_no_matrix_of_them():
    centroid = np.full((1, 1, 2**20), 2.0**-20)
    assert mmd.degeneracy_loss(centroid) == pytest.approx(
        mmd.degeneracy_floor(2**20), rel=4 * EPS
    )


@pytest.mark.parametrize("far", [0.0, 1e-12, 1e-7, 0.3, 2 / 3])
def test_the_degeneracy_of_predictions_near_a_vertex(far):
    f = np.array([1.0 - far, 0.25 * far, 0.75 * far])
    # The first vertex is near: its distance is far times the root of 1 + 1/16 + 9/16.
    distances = (
        far * math.sqrt(1.625),
        *(math.hypot(*(g - v)) for g, v in ((f, [0, 1, 0]), (f, [0, 0, 1]))),
    )
    expected = sum(distances) / 3 - 1 / math.sqrt(3)
    turned = [np.roll(f, k) for k in range(3)]
    assert abs(mmd.degeneracy_loss([turned]) - expected) <= 4 * EPS


def test_single_precision_predictions_are_points_of_the_simplex():
    f = np.full((2, 3, 7), 1.0 / 7.0, dtype=np.float32)
    assert mmd.degeneracy_loss(f) == pytest.approx(mmd.degeneracy_floor(7), abs=1e-6)


def test_a_step_along_the_jacobian_moves_the_logits():
    rng = np.random.default_rng(5)
    sizes = (4, 6, 5, 3)
    w = [rng.standard_normal((b, a)) for a, b in itertools.pairwise(sizes)]
    b = [rng.standard_normal(n) for n in sizes[1:]]
    x = rng.standard_normal((2, 4))

    def logits(rows):
        h = rows @ w[0].T + b[0]
        for weight, bias in zip(w[1:], b[1:], strict=True):
            h = np.maximum(h, 0.0) @ weight.T + bias
        return h

    jacobian = mmd.layer_jacobians(w, b, x)[0]
    step = 1e-6 * rng.standard_normal((2, 4))
    change = logits(x + step) - logits(x)
    # Linear between kinks: the rounding of logits of size ten.
    np.testing.assert_allclose(
        change, np.einsum("ick,ik->ic", jacobian, step), atol=100 * EPS
    )


def test_the_loss_of_rows_of_norm_one_is_zero():
    rows = np.eye(4)[np.newaxis, :2]
    assert mmd.detachment_loss([rows, rows[:, :, :3]]) == 0.0


def test_arrays_broadcast_and_scalars_stay_scalars():
    p, gamma = np.linspace(0.0, 1.0, 5)[:, None], np.array([0.1, 0.5, 2.0])
    functions = (
        mmd.segment_embedding,
        mmd.segment_embedding_derivative,
        mmd.segment_point_mmd,
    )
    for f in functions:
        table = f(p, gamma)
        assert table.shape == (5, 3)
        assert type(f(0.25, 0.5)) is float
        assert table[1, 1] == f(0.25, 0.5)
        assert f(0.25, gamma).shape == (3,)
        np.testing.assert_array_equal(f(0.25, gamma), table[1])
    assert mmd.tail_bound(np.array([1.0, 9.0]), 1.0, 4).shape == (2,)
    assert type(mmd.segment_kernel_mean(2.0)) is float


def test_the_law_of_two_classes_is_an_array_of_its_own():
    t = np.array([0.25, 0.5])
    found = mmd.simplex_cdf(t, 2)
    np.testing.assert_array_equal(found, t)
    assert not np.shares_memory(found, t)


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_the_law_of_a_coordinate_at_negative_zero_is_zero(classes):
    assert math.copysign(1.0, mmd.simplex_cdf(-0.0, classes)) == 1.0
    assert not np.signbit(mmd.simplex_cdf([-0.0, 0.5], classes)).any()


def test_rows_of_no_active_weight_have_moments_without_a_sign():
    found = mmd.jacobian_row_moments(3, active=-0.0)
    assert not np.signbit([found.mean, found.variance]).any()


def test_samplers_use_their_generator_alone():
    draws = [
        mmd.simplex_sample(3, 4, generator=np.random.default_rng(7)) for _ in range(2)
    ]
    np.testing.assert_array_equal(*draws)
    np.testing.assert_allclose(draws[0].sum(axis=1), 1.0, rtol=4 * EPS)
    assert mmd.simplex_sample(0, 2, generator=np.random.default_rng(7)).shape == (0, 2)


@pytest.mark.parametrize("gamma", [0.3, 0.999, 1.0, 1.3, 40.0, 1e6])
def test_the_bias_of_uniform_samples_is_an_integral(gamma):
    with mpmath.workdps(40):
        g = mpmath.mpf(gamma)
        # Two uniform points are t apart with density 2 (1 - t).
        gap = mpmath.quad(
            lambda t: -2 * (1 - t) * mpmath.expm1(-((t / g) ** 2)), [0, 1]
        )
        exact = gap * (mpmath.mpf(1) / 3 + mpmath.mpf(1) / 5)
    assert relative(mmd.segment_null_bias(3, 5, gamma), exact) <= 1e-14


@pytest.mark.parametrize("form", ["printed", "sharp", "intermediate"])
@pytest.mark.parametrize("alpha", [1e-200, 7.3, 1e200])
@pytest.mark.parametrize("count", [10**3, 10**6, 10**12])
def test_tails_just_beyond_the_length_they_are_compared_with(form, alpha, count, error):
    variances, counts = [0.3 * alpha, alpha], [count, count]
    with mpmath.workdps(60):
        groups = [(n, mpmath.mpf(v)) for n, v in zip(counts, variances, strict=True)]
        fourth = mpmath.fsum(n * v * v for n, v in groups)
        total = mpmath.fsum(n * v for n, v in groups)
        base = total if form == "intermediate" else 2 * count * groups[1][1]
        radius = float(mpmath.sqrt(base + 5 * mpmath.sqrt(fourth)))
        excess = (mpmath.mpf(radius) ** 2 - base) / groups[1][1]
        weight = fourth / groups[1][1] ** 2 if form == "intermediate" else 2 * count
        squares = excess**2 / weight / (2 * count if form == "printed" else 1)
        exact = mpmath.exp(-min(squares, excess) / 8)
    assert error(mmd.tail_bound(radius, variances, counts, form=form), exact) <= 4e-15


def test_a_ball_whose_radius_squared_alone_leaves_float64():
    assert mmd.ball_mean_square(1.8e154, 1) == pytest.approx(1.08e308, rel=4 * EPS)


def test_rows_whose_norm_squared_alone_leaves_float64():
    found = mmd.jacobian_row_moments(10**60, 1e110)
    assert found.variance == pytest.approx(1.25e280, rel=4 * EPS)


def test_distances_keep_their_digits_in_thousands_of_dimensions(error):
    # One after the other ten thousand squares of few digits lose hundreds of eps.
    x, y = 1.0 + 1e-9 * np.random.default_rng(4).random((2, 2, 10_000))
    pool = [[Fraction(v) for v in row] for row in np.concatenate([x, y]).tolist()]
    squares = {
        (i, j): sum((u - v) ** 2 for u, v in zip(pool[i], pool[j], strict=True))
        for i, j in itertools.combinations(range(4), 2)
    }
    length = {k: mpmath.mpf(v.numerator) / v.denominator for k, v in squares.items()}
    lower = mpmath.sqrt(sorted(length.values())[2])
    assert error(mmd.median_bandwidth(x, y, rule="lower"), lower) <= 8 * EPS
    gap = -sum(mpmath.expm1(-length[k] / 2) for k in ((0, 1), (2, 3))) / 2
    assert error(mmd.estimator_gap(x, y, 1.0), gap) <= 16 * EPS


@pytest.mark.parametrize("start", ["he", "xavier", "minimum"])
def test_chains_of_a_hundred_layers_are_exact_products(start):
    widths = [2 + (37 * k * k) % 1013 for k in range(101)]
    found = mmd.jacobian_chain(widths, start, noise=1e-3)
    product, exact = Fraction(1), []
    for k in range(100, 0, -1):
        before, after = widths[k - 1], widths[k]
        on = Fraction(1) if k == 1 else Fraction(1, 2)
        variance = {
            "he": Fraction(2, before),
            "xavier": Fraction(2, before + after),
            "minimum": 1 / (before * on),
        }[start]
        product *= before * on * (variance + Fraction(1e-3) / before)
        exact.append(product)
    for layers, (got, true) in enumerate(zip(found[::-1], exact, strict=True), 1):
        assert abs(Fraction(float(got)) / true - 1) <= layers * 2.0**-52
