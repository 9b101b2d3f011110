"""Closed forms of the norm dynamics against exact fractions and 50 digits."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theory import square_loss as sl

EPS = float(np.finfo(float).eps)


def exact_moments(outputs, labels, weight_decay):
    """A, B and S in fractions, for the floats as they are."""
    f = [Fraction(v) for v in outputs]
    s = sum(v * v for v in f)
    b = sum(v * int(y) for v, y in zip(f, labels, strict=True))
    return Fraction(weight_decay) + s, b, s


def gap(found, exact):
    """Relative error, in fractions."""
    return float(abs(Fraction(found) - exact) / abs(exact)) if exact else abs(found)


entries = st.floats(-1.0, 1.0).filter(lambda v: v == 0.0 or abs(v) > 1e-150)
samples = st.lists(
    st.tuples(entries, st.sampled_from([-1, 1])), min_size=1, max_size=20
)
decays = st.one_of(st.just(0.0), st.floats(1e-12, 1e6))
norms = st.floats(1e-6, 1e6)


@settings(deadline=None)
@given(samples, decays, norms)
def test_equations_hold_to_the_last_digits(sample, decay, rho):
    f, y = [v for v, _ in sample], [v for _, v in sample]
    a, b, s = exact_moments(f, y, decay)
    r = Fraction(rho)
    # One rounding of a pair, one of a product, one of its factor.
    velocity = sl.rho_velocity(rho, f, y, decay)
    assert gap(velocity, -2 * (a * r - b)) <= 2 * EPS
    assert gap(sl.lagrange_multiplier(rho, f, y), r * (b - r * s)) <= 3 * EPS
    assert gap(sl.off_sphere_rate(rho, f, y), -4 * r * (b - r * s)) <= 3 * EPS
    if a and any(f):
        assert gap(sl.rho_equilibrium(f, y, decay), b / a) <= 2 * EPS
        distance = sl.equilibrium_distance(rho, f, y, decay)
        assert gap(distance, abs(r - b / a)) <= 4 * EPS
        assert gap(sl.stability_limit(f, decay), 1 / a) <= 3 * EPS


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-20, 1.0])
def test_cancelling_and_tiny_outputs_keep_their_digits(scale):
    f = np.array([1.0, 1.0 + 2**-50, 0.3, 0.3]) * scale
    y = [1, -1, 1, -1]
    a, b, _ = exact_moments(f, y, 0.0)
    assert gap(sl.rho_equilibrium(f, y, 0.0), b / a) <= 2 * EPS
    a, b, _ = exact_moments(f, y, 1e-3)
    assert gap(sl.rho_equilibrium(f, y, 1e-3), b / a) <= 2 * EPS


@pytest.mark.parametrize(
    "time", [0.0, 1e-300, 1e-18, 1e-3, 0.7, 30.0, 300.0, 1e9, 1e300]
)
@pytest.mark.parametrize("start", [1e-8, 0.5, 1e5])
@pytest.mark.parametrize("decay", [0.0, 1e-9, 0.3])
def test_the_trajectory_has_all_digits_at_every_time(time, start, decay, error):
    f, y = np.array([0.31, -0.11, 0.42]), [1, -1, 1]
    a, b, _ = (
        mpmath.mpf(v.numerator) / v.denominator for v in exact_moments(f, y, decay)
    )
    exact = b / a + (start - b / a) * mpmath.exp(-2 * a * mpmath.mpf(time))
    assert error(sl.rho_trajectory(time, start, f, y, decay), exact) <= 8 * EPS


@pytest.mark.parametrize("scale", [1e-200, 1e-160, 1e-120])
@pytest.mark.parametrize("time", [1e-50, 1.0, 1e250, 1.7e308])
@pytest.mark.parametrize("start", [1e-300, 3.0])
def test_the_trajectory_of_tiny_outputs_has_all_digits(scale, time, start, error):
    # A of 1e-400 is no float, but B t is, even where A t is not.
    f, y = np.array([0.31, -0.11, 0.42]) * scale, [1, -1, 1]
    a, b, _ = (
        mpmath.mpf(v.numerator) / v.denominator for v in exact_moments(f, y, 0.0)
    )
    left = 2 * a * mpmath.mpf(time)
    exact = start * mpmath.exp(-left) - b / a * mpmath.expm1(-left)
    assert error(sl.rho_trajectory(time, start, f, y, 0.0), exact) <= 8 * EPS


def test_times_and_rates_of_tiny_outputs_keep_their_digits(error):
    # A of 1e-321 has two digits as a float.
    f, fraction = np.array([3.5e-161, 1e-161]), 1.0 - 2.0**-53
    a, _, _ = exact_moments(f, [1, 1], 0.0)
    a = mpmath.mpf(a.numerator) / a.denominator
    exact = -mpmath.log(mpmath.mpf(fraction)) / (2 * a)
    assert error(sl.settling_time(fraction, f, 0.0), exact) <= 4 * EPS
    assert sl.settling_time(1.0, [1e-200], 0.0) == 0.0


def test_a_dead_network_without_decay_stays():
    assert sl.rho_trajectory([0.0, 3.0], 2.0, [0.0], [1], 0.0).tolist() == [2.0, 2.0]
    assert sl.rho_iterates([0, 9], 2.0, [0.0], [1], 0.0, rate=1.0).tolist() == [
        2.0,
        2.0,
    ]


def test_settling_times_are_those_of_the_trajectory():
    f, y = [0.5, -0.25], [1, -1]
    rest = sl.rho_equilibrium(f, y, 0.1)
    for share in (0.5, 1e-3, 1.0):
        time = sl.settling_time(share, f, 0.1)
        left = sl.rho_trajectory(time, 1.0, f, y, 0.1) - rest
        # Rounding of the time enters as 2 A t eps, of the difference as eps of rest.
        assert abs(left / (1.0 - rest) - share) <= 40 * EPS


@settings(deadline=None)
@given(
    st.integers(0, 30),
    samples.filter(lambda s: any(v for v, _ in s)),
    st.floats(0.0, 4.0),
    st.fractions(0, Fraction(63, 64), max_denominator=64),
    st.floats(0.05, 0.95),
    norms,
)
def test_iterates_are_those_of_descent(steps, sample, decay, momentum, part, rho0):
    f, y = [v for v, _ in sample], [v for _, v in sample]
    a, b, _ = exact_moments(f, y, decay)
    mu = float(momentum)
    rate = part * sl.stability_limit(f, decay, mu)
    if not 1e-100 < rate * float(a) < 1e100 or rate > 1e100:
        return
    rho, buffer = Fraction(rho0), Fraction(0)
    for _ in range(steps):
        buffer = Fraction(mu) * buffer + 2 * (a * rho - b)
        rho -= Fraction(rate) * buffer
    found = sl.rho_iterates(steps, rho0, f, y, decay, rate=rate, momentum=mu)
    # Pairs carry 2**-100 of the terms, which may cancel.
    noise = 2.0**-95 * (rho0 + abs(float(b / a)))
    assert abs(Fraction(found) - rho) <= Fraction(4 * EPS) * abs(rho) + Fraction(noise)


def test_a_million_steps_next_to_the_limit(error):
    f, y, decay = [0.31, -0.11, 0.42], [1, -1, 1], 0.3
    a, b, _ = (
        mpmath.mpf(v.numerator) / v.denominator for v in exact_moments(f, y, decay)
    )
    rate = sl.stability_limit(f, decay) * (1.0 - 1e-6)
    exact = b / a + (5 - b / a) * (1 - 2 * mpmath.mpf(rate) * a) ** 1_000_001
    assert (
        error(sl.rho_iterates(1_000_001, 5.0, f, y, decay, rate=rate), exact) <= 4 * EPS
    )


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
def test_a_rate_beyond_the_limit_warns_and_names_it(momentum):
    limit = sl.stability_limit([0.5, 0.5], 0.5, momentum)
    assert limit == 1.0 + momentum
    with pytest.warns(sl.StabilityWarning, match=f"stability limit {limit:g}"):
        out = sl.rho_iterates(
            2_000, 3.0, [0.5, 0.5], [1, 1], 0.5, rate=1.01 * limit, momentum=momentum
        )
    assert abs(out) > 1e6
    inside = sl.rho_iterates(
        20_000, 3.0, [0.5, 0.5], [1, 1], 0.5, rate=0.99 * limit, momentum=momentum
    )
    assert abs(inside - 1.0) < 1e-6


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 10, 100])
@pytest.mark.parametrize("share", [1e-9, 1e-3, 0.3, 0.9])
def test_unnormalised_equilibria_solve_their_equation(depth, share, error):
    f, y = [0.31, -0.11, 0.42], [1, -1, 1]
    _, b, s = (
        mpmath.mpf(v.numerator) / v.denominator for v in exact_moments(f, y, 0.0)
    )
    top = sl.critical_weight_decay(f, y, depth)
    decay = share * (top if math.isfinite(top) else 1.0)
    found = sl.unnormalised_equilibrium(f, y, decay, depth)

    def law(rho):
        return rho * s - b + mpmath.mpf(decay) * rho ** (mpmath.mpf(2) / depth - 1)

    exact = mpmath.findroot(law, (mpmath.mpf(found) * 0.999, mpmath.mpf(found) * 1.001))
    assert error(found, exact) <= 1e-13
    slope = mpmath.diff(law, exact)
    assert slope > 0
    low = sl.unnormalised_barrier(f, y, decay, depth)
    if depth <= 2:
        assert low == 0.0
    else:
        assert 0.0 < low < found
        # As the equation in u = rho / found, which has no tiny terms.
        assert abs(law(mpmath.mpf(low))) <= 1e-13 * b


@pytest.mark.parametrize("depth", [2, 3, 100])
def test_unnormalised_equilibria_do_not_see_the_scale_of_tiny_outputs(depth):
    # Beside a penalty of one their squares have a few bits left.
    f, y, scale = np.array([0.31, -0.11, 0.42]), [1, -1, 1], 2.0**-990
    p = 1.0 - 2.0 / depth
    shares = np.array([1e-9, 0.1, 0.9])
    decay = shares * sl.critical_weight_decay(f, y, depth)
    near = sl.unnormalised_equilibrium(f, y, decay, depth)
    # rho f is the same where lambda rho^(1-p) / rho^2 is.
    far = sl.unnormalised_equilibrium(f * scale, y, decay * scale ** (1.0 - p), depth)
    np.testing.assert_allclose(far * scale, near, rtol=1e-12)


@pytest.mark.parametrize(("depth", "decay"), [(4, 1e-300), (8, 1e-300), (20, 1e-290)])
def test_a_barrier_far_below_the_free_norm_keeps_its_digits(depth, decay, error):
    # Of 1e-280 where the free norm B / S is 1e160: their quotient is no float.
    f, y = np.array([0.5, -0.3, 0.2, -0.1]) * 1e-160, [1, -1, 1, 1]
    _, b, _ = exact_moments(f, y, 0.0)
    b = mpmath.mpf(b.numerator) / b.denominator
    exact = (mpmath.mpf(decay) / b) ** (1 / (1 - mpmath.mpf(2) / depth))
    assert error(sl.unnormalised_barrier(f, y, decay, depth), exact) <= 1e-13


def test_unnormalised_networks_collapse_beyond_the_critical_decay():
    f, y = [0.31, -0.11, 0.42], [1, -1, 1]
    for depth in (2, 3, 7):
        top = sl.critical_weight_decay(f, y, depth)
        decay = np.array([0.0, 0.999, 1.001]) * top
        rest = sl.unnormalised_equilibrium(f, y, decay, depth)
        assert (rest > 0.0).tolist() == [True, True, False]
        assert abs(rest[0] - sl.rho_equilibrium(f, y, 0.0)) <= 4 * EPS * rest[0]
        assert np.isinf(sl.unnormalised_barrier(f, y, decay, depth)).tolist() == [
            *(False, False, True)
        ]
    assert sl.unnormalised_equilibrium(f, [-1, 1, -1], 0.1, 4) == 0.0


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_norms_that_would_be_minus_infinity_collapse(depth):
    # B / S is -1e310, and (B - lambda) / S is -1e399.
    cases = [([1e-310], [-1], 0.0)] + [([1e-200], [1], 0.1)] * (depth > 1)
    for case in cases:
        assert sl.unnormalised_equilibrium(*case, depth) == 0.0
        assert sl.unnormalised_barrier(*case, depth) == math.inf


def test_leading_axes_broadcast():
    generator = np.random.default_rng(0)
    f = generator.normal(size=(4, 1, 7))
    y = np.sign(generator.normal(size=7))
    decay = np.array([0.0, 0.5, 2.0])
    out = sl.rho_equilibrium(f, y, decay)
    assert out.shape == (4, 3)
    assert out[2, 1] == sl.rho_equilibrium(f[2, 0], y, 0.5)
    steps = sl.rho_iterates(np.arange(5)[:, None, None], 1.0, f, y, decay, rate=1e-3)
    assert steps.shape == (5, 4, 3)
    assert steps[3, 2, 1] == sl.rho_iterates(3, 1.0, f[2, 0], y, 0.5, rate=1e-3)
    assert sl.unnormalised_equilibrium(f, y, decay, 3).shape == (4, 3)
    assert isinstance(sl.rho_equilibrium(f[0, 0], y, 0.5), float)


@pytest.mark.parametrize("reduction", ["mean", "sum", "half-mean", "half-sum"])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_the_scale_reproduces_an_optimiser(reduction, momentum):
    # A framework's recursion, written out for the scale alone, against the formulas.
    f, y = np.array([0.31, -0.11, 0.42, 0.2]), np.array([1, -1, 1, 1])
    n, decay, rate = 4, 0.02, 0.3
    weight = {"mean": 1 / n, "sum": 1.0, "half-mean": 0.5 / n, "half-sum": 0.5}[
        reduction
    ]
    rho, buffer = 0.7, 0.0
    for _ in range(50):
        gradient = weight * 2.0 * np.sum((rho * f - y) * f) + decay * rho
        buffer = momentum * buffer + gradient
        rho -= rate * buffer
    scale = sl.torch_scale(reduction, decay, n, rate, momentum)
    found = sl.rho_iterates(
        50, 0.7, f, y, scale.penalty, rate=scale.rate, momentum=scale.momentum
    )
    assert abs(found - rho) <= 1e3 * EPS * rho
    assert scale.time_per_step == scale.rate / (1.0 - momentum)
    assert scale.equilibrium == "normalised"


def test_what_decays_decides_the_law():
    def scale(**more):
        return sl.torch_scale("sum", 0.01, 100, 0.1, **more)

    assert scale(decayed="directions").penalty == 0.0
    assert scale(decayed="all").equilibrium == "unnormalised"
    # A sum over a tenth of the examples weighs the loss a tenth.
    assert scale(batch=10).penalty == 10.0 * scale().penalty
    mean = sl.torch_scale("mean", 0.01, 100, 0.1)
    assert sl.torch_scale("mean", 0.01, 100, 0.1, batch=10) == mean


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
def test_heavy_ball_on_equal_features_is_stable_up_to_the_largest_width(momentum):
    rate = 0.3
    limit = sl.largest_stable_width(rate, momentum)
    assert limit == pytest.approx(2.0 * np.pi * (1.0 + momentum) / rate, rel=2 * EPS)
    for share, stable in ((0.99, True), (1.01, False)):
        curvature = share * limit / np.pi
        step = [[1.0 + momentum - rate * curvature, -momentum], [1.0, 0.0]]
        assert (np.abs(np.linalg.eigvals(step)).max() < 1.0) == stable


def test_the_largest_width_falls_with_the_rate():
    widths = sl.largest_stable_width([0.01, 0.1], [[0.0], [0.9]])
    assert widths.shape == (2, 2)
    np.testing.assert_allclose(widths[:, 0], 10.0 * widths[:, 1], rtol=4 * EPS)
    np.testing.assert_allclose(widths[1], 1.9 * widths[0], rtol=4 * EPS)


def nets(seed, widths, n):
    generator = np.random.default_rng(seed)
    w = [generator.normal(size=s) for s in zip(widths[1:], widths[:-1], strict=True)]
    x = generator.normal(size=(n, widths[0]))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return w, x, np.sign(generator.normal(size=n))


@pytest.mark.parametrize("widths", [(5, 1), (5, 4, 1), (6, 7, 3, 5, 1)])
def test_networks_factor_and_are_homogeneous(widths):
    w, x, _ = nets(1, widths, 9)
    rho, v = sl.normalise(w)
    g, f = sl.outputs(w, x), sl.outputs(v, x)
    # Rounding: n_k eps a layer, of the bound.
    noise = 4 * EPS * sum(widths) * sl.output_bound(w, x)
    assert np.all(np.abs(g - np.prod(rho) * f) <= noise)
    assert np.all(np.abs(f) <= sl.output_bound(v, x) * (1 + 8 * EPS))
    np.testing.assert_allclose(sl.norms(v), 1.0, rtol=4 * EPS)
    for v_k, gradient in zip(v, sl.layer_gradients(v, x), strict=True):
        inner = np.sum(v_k * gradient, axis=(1, 2))
        assert np.all(np.abs(inner - f) <= 4 * EPS * sum(widths))
        assert np.all(np.linalg.matrix_rank(gradient) <= 1)
    # A network that is not homogeneous does not factor.
    if len(widths) > 2:
        bent = np.tanh(x @ w[0].T) - rho[0] * np.tanh(x @ v[0].T)
        assert np.abs(bent).max() > 0.1


def test_gradients_are_differences():
    w, x, _ = nets(2, (4, 5, 3, 1), 6)
    gradients = sl.layer_gradients(w, x)
    c = np.arange(6.0)
    weighted = sl.weighted_gradients(w, x, c)
    step = 2.0**-20
    for k in range(3):
        for index in np.ndindex(*w[k].shape):
            up, down = [a.copy() for a in w], [a.copy() for a in w]
            up[k][index] += step
            down[k][index] -= step
            slope = (sl.outputs(up, x) - sl.outputs(down, x)) / (2 * step)
            # Linear in one entry, away from kinks: rounding of the difference alone.
            noise = 100 * EPS / step
            assert np.abs(gradients[k][(slice(None), *index)] - slope).max() <= noise
        summed = np.tensordot(c, gradients[k], 1)
        np.testing.assert_allclose(weighted[k], summed, atol=200 * EPS)


def test_stacks_of_networks_are_networks():
    many = [nets(seed, (4, 5, 1), 6) for seed in range(3)]
    x = many[0][1]
    stacked = [np.stack([m[0][k] for m in many]) for k in range(2)]
    assert np.array_equal(sl.outputs(stacked, x)[1], sl.outputs(many[1][0], x))
    rho, v = sl.normalise(stacked)
    assert rho.shape == (3, 2)
    np.testing.assert_allclose(v[0][2], sl.normalise(many[2][0])[1][0], rtol=4 * EPS)
    summed = sl.weighted_gradients(stacked, x, np.ones(6))
    single = sl.weighted_gradients(many[2][0], x, np.ones(6))
    np.testing.assert_allclose(summed[0][2], single[0], rtol=1e-13)


def test_normalise_reaches_the_ends_of_the_range():
    rho, v = sl.normalise([np.array([[3e-200, 4e-200]])])
    assert abs(rho[0] / 5e-200 - 1.0) <= 4 * EPS
    np.testing.assert_allclose(v[0], [[0.6, 0.8]], rtol=4 * EPS)


def test_velocities_are_gradients_of_the_loss():
    w, x, y = nets(3, (4, 5, 3, 1), 8)
    _, v = sl.normalise(w)
    rho = 1.7
    e = rho * sl.outputs(v, x) - y
    for v_k, dv, g in zip(
        v, sl.directions_velocity(rho, v, x, y), sl.layer_gradients(v, x), strict=True
    ):
        plain = -2.0 * rho * np.tensordot(e, g, 1)
        tangent = plain - v_k * np.sum(v_k * plain)
        assert np.abs(dv - tangent).max() <= 1e3 * EPS
        assert abs(np.sum(v_k * dv)) <= 1e3 * EPS
    residual = sl.critical_residual(rho, v, x, y)
    speed = sl.norms(sl.directions_velocity(rho, v, x, y))
    np.testing.assert_allclose(2.0 * rho * residual, speed, rtol=1e-12)


def test_off_the_sphere_norms_change_at_the_stated_rate():
    w, x, y = nets(4, (4, 5, 1), 8)
    _, v = sl.normalise(w)
    v = (1.001 * v[0], 0.998 * v[1])
    f = sl.outputs(v, x)
    for rho in (0.5, 5.0):
        rate = sl.off_sphere_rate(rho, f, y)
        for v_k, dv in zip(v, sl.directions_velocity(rho, v, x, y), strict=True):
            q = np.sum(v_k**2)
            assert abs(2.0 * np.sum(v_k * dv) - rate * (q - 1.0)) <= 1e3 * EPS * rho


def test_per_sample_residuals_and_kernel_are_their_definitions():
    w, x, y = nets(5, (4, 9, 8, 1), 20)
    _, v = sl.normalise(w)
    alive = np.flatnonzero(sl.outputs(v, x))[:7]
    dead = np.flatnonzero(sl.outputs(v, x) == 0.0)
    assert np.isinf(sl.per_sample_residual(v, x)[:, dead]).all()
    x, y = x[alive], y[alive]
    f, g = sl.outputs(v, x), sl.layer_gradients(v, x)
    found = sl.per_sample_residual(v, x)
    kernel = np.zeros((7, 7))
    for k in range(3):
        size = np.sqrt(np.sum(g[k] ** 2, axis=(1, 2)) / f**2 - 1.0)
        np.testing.assert_allclose(found[k], size, rtol=1e-9)
        flat = g[k].reshape(7, -1)
        kernel += flat @ flat.T - np.multiply.outer(f, f)
    np.testing.assert_allclose(sl.projected_kernel(v, x), kernel, atol=1e-13)
    rho = 1.3
    u = y - rho * f
    exact = 4 * rho * (2 * u @ kernel @ u - y @ kernel @ u)
    assert abs(sl.overshoot_curvature(rho, v, x, y) / exact - 1.0) <= 1e-12


def test_aligned_directions_attain_every_bound():
    v = sl.aligned_directions([[0.6, 0.8], [1.0, 2.0, 2.0], [3.0, 4.0], [1.0]])
    assert abs(sl.outputs(v, [[0.6, 0.8]])[0] - 1.0) <= 8 * EPS
    assert sl.per_sample_residual(v, [[0.6, 0.8]]).max() <= 8 * EPS
    assert all(sl.alignment_gap(w) <= 8 * EPS for w in v)


def test_orthogonal_directions_are_never_critical():
    for n in (2, 5):
        q = np.linalg.qr(np.random.default_rng(n).normal(size=(n, n)))[0] / math.sqrt(n)
        assert abs(sl.alignment_gap(q) - math.sqrt(1.0 - 1.0 / n)) <= 8 * EPS
        # Any network around it: the residual over the gradient's norm is no smaller.
        v = [q, np.abs(np.random.default_rng(n + 1).normal(size=(1, n)))]
        v[1] /= np.linalg.norm(v[1])
        x = np.random.default_rng(n + 2).normal(size=(50, n))
        g = sl.layer_gradients(v, x)[0]
        f = sl.outputs(v, x)
        size = np.linalg.norm(g, axis=(1, 2))
        alive = size > 0.0
        left = (
            np.linalg.norm(g - f[:, None, None] * q, axis=(1, 2))[alive] / size[alive]
        )
        # Off unit inputs too: gradient and output scale alike.
        assert np.all(left >= sl.alignment_gap(q) * (1.0 - 8 * EPS))


def test_output_bounds_beyond_the_range_of_squares_and_partial_products():
    w = [[[3.0, 4.0]]]
    for size in (1e-200, 1e200):
        found = sl.output_bound(w, [[size, 0.0]])
        assert found == pytest.approx(5.0 * size, rel=4 * EPS)
    chain = [[[1e-200]], [[1e-200]], [[1e200]], [[1e200]]]
    assert sl.output_bound(chain, [[1.0]]) == pytest.approx(1.0, rel=4 * EPS)


def test_residuals_of_single_examples_do_not_see_their_length():
    v, x = [[[0.6, 0.8]]], np.array([[1.0, 0.0], [0.3, 0.7]])
    far = sl.per_sample_residual(v, x)
    for size in (1e-200, 1e200):
        assert sl.per_sample_residual(v, size * x) == pytest.approx(far, rel=8 * EPS)


def test_an_infinite_exponent_leaves_no_multiplier():
    assert sl.exponential_multiplier(1e10, [1e300, 0.7], [1, 1]) == 0.0


@pytest.mark.parametrize(
    ("rho", "outputs"),
    [(1e200, [1e-300, -1e-300]), (1e-200, [1e300]), (1e160, [1e-170, 1e-310])],
)
def test_multipliers_whose_sums_alone_leave_float64(rho, outputs):
    ones = [1] * len(outputs)
    _, b, s = exact_moments(outputs, ones, 0.0)
    exact = Fraction(rho) * (b - Fraction(rho) * s)
    assert gap(sl.lagrange_multiplier(rho, outputs, ones), exact) <= 3 * EPS
    assert gap(sl.off_sphere_rate(rho, outputs, ones), -4 * exact) <= 3 * EPS


def test_the_least_decay_is_not_lost():
    assert sl.torch_scale("mean", 5e-324, 2, 0.1).penalty == 5e-324


@pytest.mark.parametrize("angle", [0.3, 1e-3, 1e-8])
def test_residuals_of_an_example_that_is_nearly_across_keep_what_there_is(angle):
    """One layer: D = cot of the angle by which the example misses being across V."""
    v, x = [[0.6, 0.8]], [0.8 + 0.6 * angle, -0.6 + 0.8 * angle]
    with mpmath.workdps(40):
        a, b = ([mpmath.mpf(c) for c in w] for w in (v[0], x))
        size = mpmath.hypot(*a)
        along = mpmath.fdot(a, b) / size
        across = (a[0] * b[1] - a[1] * b[0]) / size
        exact = abs(across / along)
    found = sl.per_sample_residual([v], [x])[0, 0]
    assert abs(found - exact) <= 4.0 * 2.0**-52 * (1.0 + exact * exact)
