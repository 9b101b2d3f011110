"""Kernels of deep networks against the recursion they stand for, layer by layer."""

import functools
import itertools
import math
import tracemalloc

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theory import activations as act
from theory import gaussian, kernels, matrices
from theory._recursion import length_tables, slope_tables
from theory._recursion.exponential_lengths import ExponentialLengths

TOLERANCE = 1e-12
RHOS = (-1.0, -1 + 1e-15, -0.99, -0.3, -1e-3, 0.0, 1e-8, 0.2, 0.9, 1 - 1e-12, 1.0)
DEPTHS = (1, 2, 17, 1000)


def _relu(r):
    root, angle = mpmath.sqrt((1 - r) * (1 + r)), mpmath.pi - mpmath.acos(r)
    return (root + angle * r - 1) / (mpmath.pi - 1), angle / (mpmath.pi - 1)


def _erf(r):
    top, z = mpmath.asin(mpmath.mpf(2) / 3), 2 * r / 3
    return mpmath.asin(z) / top, 2 / (3 * top * mpmath.sqrt(1 - z * z))


def _square(r):
    return r * r, 2 * r


CLOSED = {
    "relu": (act.relu.normalized(), _relu),
    "erf": (act.erf.normalized(), _erf),
    "hermite(2)": (act.hermite(2), _square),
}


# Where a_1 = 0 the kernel vanishes like rho^(2^L), of which tables hold the ratio to rho
# to roundings of 1e-16: 1e-19 of the diagonal at 1e-3. Else to the end of float64.
FLOOR = {"relu": 1e-290, "erf": 1e-290, "hermite(2)": 1e-19}


def _recursion(step, rho, depth):
    """K^(L) and T^(L); K falls to 1e-134 at depth 1,000, left by cancellation of ones."""
    with mpmath.workdps(60 + depth // 4):
        k = t = mpmath.mpf(rho)
        for _ in range(depth):
            k, slope = step(k)
            t = k + slope * t
        return k, t


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("name", sorted(CLOSED))
def test_maps_follow_the_recursion(name, depth):
    a, step = CLOSED[name]
    k, t = kernels.nngp_map(RHOS, a, depth), kernels.ntk_map(RHOS, a, depth)
    for i, rho in enumerate(RHOS):
        exact = _recursion(step, rho, depth)
        for value, reference in zip((k[i], t[i]), exact, strict=True):
            gap = abs(mpmath.mpf(float(value)) - reference)
            assert gap <= TOLERANCE * abs(reference) + FLOOR[name], (rho, depth)


def _below(b, r):
    """Of the centred and normalised leaky ReLU of slope b below zero."""
    root, angle = mpmath.sqrt((1 - r) * (1 + r)), mpmath.acos(r)
    up, down = root + (mpmath.pi - angle) * r, root - angle * r
    mean, size = (1 - b) ** 2, mpmath.pi * (1 + b * b) - (1 - b) ** 2
    slope = (1 + b * b) * (mpmath.pi - angle) + 2 * b * angle
    return ((1 + b * b) * up - 2 * b * down - mean) / size, slope / size


@pytest.mark.parametrize("depth", [1, 3, 8])
@pytest.mark.parametrize("b", [-0.5, -0.8, -0.99, -0.999])
def test_maps_with_hardly_a_linear_part_are_exact_beside_their_diagonal(b, depth):
    a = act.leaky_relu(b).normalized()
    share = a.hermite(1)[1] ** 2
    rhos = np.array([1e-14, -1e-9, 1e-4, -1e-2, 0.3, 0.9, 1 - 1e-6, 1.0])
    k, t = kernels.nngp_map(rhos, a, depth), kernels.ntk_map(rhos, a, depth)
    step = functools.partial(_below, mpmath.mpf(b))
    exact = [_recursion(step, rho, depth) for rho in rhos]
    for i, (value, tangent) in enumerate(exact):
        for found, true, top in ((k[i], value, 1.0), (t[i], tangent, t[-1])):
            # Of each entry from a share of 0.01 on; (1 - 0.8)^2 / 4 is 0.03 of E s^2.
            least = 0.0 if share > 0.01 else 1e-13 * top
            assert abs(mpmath.mpf(float(found)) - true) <= max(
                TOLERANCE * abs(true), least
            )


@pytest.mark.parametrize("depth", [3, 10, 50])
@pytest.mark.parametrize("b", [-0.99, -0.999, -0.99999, -1 + 1e-8, -1.001])
def test_opposite_inputs_of_nearly_even_functions_keep_their_distance(b, depth):
    """What is odd of the energy was a difference: 1e-11 off after ten layers."""
    a = act.leaky_relu(b).normalized()
    step = functools.partial(_below, mpmath.mpf(b))
    for rho in (-1.0, -1 + 2.0**-53, -1 + 1e-12, -1 + 1e-6):
        true = _recursion(step, rho, depth)[0]
        # A few roundings of each layer, which the next magnify by pi / (pi - 2) at most.
        assert abs(kernels.nngp_map(rho, a, depth) - true) <= 1e-13 or depth > 10
        # What is magnified by e^50 is a number, whatever it is, and no warning.
        assert abs(kernels.nngp_map(rho, a, depth)) <= 1.0


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("bias", [0.3, 0.5, 0.9, 1.1])
@pytest.mark.parametrize("rho", [-1.0, -1 + 1e-9])
def test_jumps_beside_large_biases_keep_the_digits_of_opposite_inputs(
    rho, bias, layers
):
    """Where f(-1) > 0 the root was that of 2 less a rounded distance: 1e-10 off."""
    start = 1e-18
    with mpmath.workdps(50):
        weight, b = mpmath.mpf(0.1), mpmath.mpf(bias)
        r = (mpmath.mpf(rho) + mpmath.mpf(start)) / (1 + mpmath.mpf(start))
        for _ in range(layers):
            k = weight * (1 - 2 * mpmath.acos(r) / mpmath.pi) + b
            r = k / (weight + b)
    network = [kernels.Layer(act.sign, 0.1, bias)] * layers
    assert abs(kernels.nngp_map(rho, network, bias_var=start) - k) <= 2e-15


@pytest.mark.parametrize("name", ["step", "sign"])
@pytest.mark.parametrize("bias", [1e-16, 1e-12, 1e-4])
def test_jumps_keep_the_digits_of_opposite_rows_beside_a_bias(name, bias):
    # The root of their distance from -1 was that of a rounded correlation: 7e-10 off.
    with mpmath.workdps(40):
        t = mpmath.acos((mpmath.mpf(bias) - 1) / (1 + mpmath.mpf(bias)))
        k = 0.5 - t / (2 * mpmath.pi) if name == "step" else 1 - 2 * t / mpmath.pi
        k += bias
    a = getattr(act, name)
    matrix = kernels.nngp([[1.0, 0.0], [-1.0, 0.0]], a, 1, bias_var=bias)
    for found in (matrix[0, 1], kernels.nngp_map(-1.0, a, 1, bias_var=bias)):
        assert abs(found - k) < 1e-15


@pytest.mark.parametrize("last", ["sign", "step"])
@pytest.mark.parametrize("bias", [1e-30, 1e-22, 1e-15, 1e-8, 1e-4])
@pytest.mark.parametrize("weight", [0.5, 1.0, 2.0])
def test_jumps_keep_the_digits_of_odd_layers_with_biases_below(weight, bias, last):
    """Of 1 + f, a difference, the root was 2e-8 off at a bias of 1e-18."""
    rho = np.array([-1.0, -1 + 2.0**-53, -1 + 1e-12, -1 + 1e-5, -0.9, -0.3])
    layer = kernels.Layer(act.sin, weight, bias)
    with mpmath.workdps(60):
        own, both = mpmath.mpf(1), [mpmath.mpf(float(r)) for r in rho]
        for depth in range(1, 6):
            size = weight * mpmath.exp(-own)
            both = [size * mpmath.sinh(k) + mpmath.mpf(bias) for k in both]
            own = size * mpmath.sinh(own) + mpmath.mpf(bias)
            found = kernels.nngp_map(rho, [layer] * depth + [getattr(act, last)])
            for k, r in zip(found, both, strict=True):
                angle = mpmath.acos(r / own)
                true = 1 - 2 * angle / mpmath.pi if last == "sign" else None
                true = (1 - angle / mpmath.pi) / 2 if true is None else true
                # 1 + f to a few roundings a layer, of which the root is halved.
                assert abs(k - true) <= 2e-15


@pytest.mark.parametrize("jumps", [1, 2, 4])
@pytest.mark.parametrize("bias", [1e-25, 1e-21])
def test_rows_that_are_nearly_opposite_beside_a_bias_meet_several_jumps(bias, jumps):
    """The tables' root is one of one jump: 0.01 off after four."""
    with mpmath.workdps(60):
        b = mpmath.mpf(bias)
        r = (b - 1) / (1 + b)
        for _ in range(jumps):
            r = (1 - 2 * mpmath.acos(r) / mpmath.pi + b) / (1 + b)
        true = 0.5 - mpmath.acos(r) / (2 * mpmath.pi) + b
    network = [act.sign] * jumps + [act.step]
    assert abs(kernels.nngp_map(-1.0, network, bias_var=bias) - true) <= 2e-15


@pytest.mark.parametrize("gap", [1e-3, 1e-5, 1e-7])
def test_steps_keep_the_digits_of_nearly_opposite_rows_of_two_lengths(gap):
    x = [[0.02, 0.0], [-7664.0, 7664.0 * gap]]
    k = kernels.nngp(x, [act.step, act.identity])[0, 1]
    assert k == pytest.approx(math.atan(gap) / (2.0 * math.pi), rel=1e-13)


@pytest.mark.parametrize("rho", [-1.0, -1 + 2.0**-53, -0.999, 0.3])
@pytest.mark.parametrize("names", [["erf", "relu"], ["erf"] * 2 + ["relu"] * 2])
def test_antipodes_reach_a_later_layer_that_is_not_odd(names, rho):
    # The slope of ReLU has a square root at minus one: no table reaches it.
    k = t = mpmath.mpf(rho)
    with mpmath.workdps(60):
        for name in names:
            k, slope = CLOSED[name][1](k)
            t = k + slope * t
    network = [CLOSED[name][0] for name in names]
    assert abs(kernels.nngp_map(rho, network) - k) <= TOLERANCE * abs(k)
    assert abs(kernels.ntk_map(rho, network) - t) <= TOLERANCE * abs(t)


@pytest.mark.parametrize("name", sorted(CLOSED))
def test_scalars_and_arrays_agree(name):
    a, _ = CLOSED[name]
    grid = np.array([[-0.5, 0.25], [0.75, 1.0]])
    for function in (kernels.nngp_map, kernels.ntk_map):
        whole = function(grid, a, 5)
        assert whole.shape == (2, 2)
        one = function(0.25, a, 5)
        assert isinstance(one, float)
        assert one == pytest.approx(whole[0, 1], rel=1e-15)


SMOOTH = ["tanh", "gelu", "sigmoid", "hard_tanh", "elu", "normrelu", "softplus", "abs"]


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("depth", [1, 3, 12])
def test_maps_follow_duals(name, depth):
    # The tables against iterated duals, themselves good to 1e-13 a layer.
    a = act.CATALOGUE[name].normalized()
    # (Not at the ends: there the slope turns like the square root of K's rounding.)
    for rho in (-0.97, -0.7, 0.01, 0.5, 0.98):
        k = t = rho
        for _ in range(depth):
            t *= a.dual_derivative(k)
            k = a.dual(min(max(k, -1.0), 1.0))
            t += k
        d = a.derivative_second_moment
        size = math.fsum(d**h for h in range(depth + 1))
        scale = 2e-13 * depth
        assert abs(kernels.nngp_map(rho, a, depth) - k) <= scale * max(1.0, d**depth)
        assert abs(kernels.ntk_map(rho, a, depth) - t) <= scale * depth * size


@pytest.mark.parametrize("name", [*SMOOTH, "cos", "sin", "hermite(2)", "softsign"])
@pytest.mark.parametrize("depth", [1, 20, 100])
def test_the_ends(name, depth):
    # T(1) = 1 + D + ... + D^L; even and odd activations repeat it at -1. The sum has
    # `depth` roundings and the power as many ulp of D.
    a = act.CATALOGUE[name].normalized()
    d = a.derivative_second_moment
    total = math.fsum(d**h for h in range(depth + 1))
    assert kernels.nngp_map(1.0, a, depth) == pytest.approx(1.0, rel=1e-15)
    assert kernels.ntk_map(1.0, a, depth) == pytest.approx(total, rel=TOLERANCE)
    parity = {"abs": 1, "cos": 1, "hermite(2)": 1}.get(name, 0) or (
        -1 if name in ("tanh", "hard_tanh", "sin", "softsign") else 0
    )
    if parity:
        low = kernels.nngp_map(-1.0, a, depth), kernels.ntk_map(-1.0, a, depth)
        assert low == pytest.approx((parity, parity * total), rel=TOLERANCE)


@pytest.mark.parametrize("name", ["tanh", "hard_tanh", "softsign", "sign", "sin"])
@pytest.mark.parametrize("norm", [1.0, 1.3])
def test_odd_activations_have_odd_kernels(name, norm):
    # At a norm other than one the mean of an odd activation is rounding, not zero.
    a, x = act.CATALOGUE[name], np.array([[1.0, 0.0], [-0.6, 0.8], [0.6, 0.8]]) * norm
    k = kernels.nngp(x, a, 2)
    assert k[0, 1] < 0.0
    assert k[0, 1] == pytest.approx(-k[0, 2], rel=TOLERANCE)


def test_raw_activations_stay_raw():
    # E relu^2 = 1/2: the diagonal halves with each layer.
    assert kernels.nngp_map(1.0, act.relu, 3) == pytest.approx(1 / 8, rel=1e-15)
    assert kernels.ntk_map(1.0, act.relu, 3) == pytest.approx(4 / 8, rel=1e-15)
    assert kernels.nngp_map(0.5, act.identity, 9) == pytest.approx(0.5, rel=TOLERANCE)
    assert kernels.ntk_map(0.5, act.identity, 9) == pytest.approx(5.0, rel=TOLERANCE)


def test_normalized_tangent_kernels_never_overflow():
    a = act.hermite(3)  # a diagonal of 3^2000
    assert kernels.ntk_map(1.0, a, 2000, normalized=True) == pytest.approx(1.0)
    assert kernels.ntk_map(0.5, a, 2000, normalized=True) == 0.0
    with pytest.raises(ValueError, match=r"ntk_map: `depth` .*normalized=True"):
        kernels.ntk_map(1.0, a, 2000)
    full = kernels.ntk_map(0.8, a, 5) / kernels.ntk_map(1.0, a, 5)
    part = kernels.ntk_map(0.8, a, 5, normalized=True)
    assert part == pytest.approx(full, rel=1e-14)


# --- matrices -------------------------------------------------------------------------


def _inputs(n=7, d=5, seed=0, *, unit=True):
    x = np.random.default_rng(seed).standard_normal((n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True) if unit else x


def test_rows_and_norms_may_be_lists():
    # 1 - cos of an angle of atan(1e-9).
    rows = matrices.Inputs([[1.0, 0.0], [1.0, 1e-9]], [1.0, 1.0])
    assert matrices.least_distance(rows) == pytest.approx(5e-19, rel=1e-14)


@pytest.mark.parametrize("name", ["relu", "tanh", "gelu", "normrelu", "hard_tanh"])
def test_matrices_are_maps_of_correlations(name):
    a, x = act.CATALOGUE[name].normalized(), _inputs()
    rho = kernels.correlation(x)
    k, t = kernels.nngp_ntk(x, a, 9)
    # Rounding of rho, 2e-16, grows by the slope of the map: at most D^9 < 35.
    expected = kernels.nngp_map(rho, a, 9), kernels.ntk_map(rho, a, 9)
    assert np.allclose(k, expected[0], rtol=1e-12, atol=1e-14)
    assert np.allclose(t, expected[1], rtol=1e-12, atol=1e-13)
    assert np.array_equal(kernels.nngp(x, a, 9), k)
    assert np.array_equal(kernels.ntk(x, a, 9), t)


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("name", ["relu", "tanh", "gelu", "hard_tanh", "elu", "erf"])
def test_matrices_are_symmetric(name, unit):
    k, t = kernels.nngp_ntk(_inputs(n=70, d=6, unit=unit), act.CATALOGUE[name], 3)
    assert np.array_equal(k, k.T)
    assert np.array_equal(t, t.T)


def _by_entries(x, a, depth):
    """K and T of one pair after another, from duals of unequal variances."""
    n = len(x)
    k, t = np.empty((n, n)), np.empty((n, n))
    for i in range(n):
        for j in range(i + 1):
            p, q, c = x[i] @ x[i], x[j] @ x[j], x[i] @ x[j]
            both = c
            for _ in range(depth):
                rho = 1.0 if i == j else c / math.sqrt(p * q)
                slope = a.dual_derivative(rho, var_x=p, var_y=q) / math.sqrt(p * q)
                c = a.dual(rho, var_x=p, var_y=q)
                p, q = a.length_map(p), a.length_map(q)
                both = c + slope * both
            k[i, j] = k[j, i] = c
            t[i, j] = t[j, i] = both
    return k, t


NORMS = [0.2, 1.0, 1.7]
ANY = ["tanh", "erf", "gelu", "hard_tanh", "elu", "normrelu", "sigmoid", "softsign"]


@pytest.mark.parametrize("name", ANY)
def test_unequal_norms(name):
    # Two layers with 1e-13 each and correlations rounded to 2e-16.
    a = act.CATALOGUE[name]
    x = _inputs(3, 6) * np.array(NORMS)[:, None]
    k, t = kernels.nngp_ntk(x, a, 2)
    expected_k, expected_t = _by_entries(x, a, 2)
    assert np.allclose(k, expected_k, rtol=0, atol=TOLERANCE * np.diag(k).max())
    assert np.allclose(t, expected_t, rtol=0, atol=TOLERANCE * np.diag(t).max())


@pytest.mark.parametrize("name", ["tanh", "gelu", "hard_tanh", "relu_squared"])
def test_equal_norms_that_are_not_one(name):
    a, x = act.CATALOGUE[name], _inputs(3, 6) * 1.3
    k, t = kernels.nngp_ntk(x, a, 2)
    expected_k, expected_t = _by_entries(x, a, 2)
    assert np.allclose(k, expected_k, rtol=0, atol=TOLERANCE * np.diag(k).max())
    assert np.allclose(t, expected_t, rtol=0, atol=TOLERANCE * np.diag(t).max())


@pytest.mark.parametrize("name", ["relu", "abs", "leaky_relu(0.01)", "identity"])
def test_homogeneous_activations_scale(name):
    a, x = act.CATALOGUE[name], _inputs(5, 4)
    scale = np.array([0.1, 0.5, 1.0, 2.0, 30.0])
    base = kernels.nngp_ntk(x, a, 6)
    found = kernels.nngp_ntk(x * scale[:, None], a, 6)
    for plain, scaled in zip(base, found, strict=True):
        expected = plain * np.outer(scale, scale)
        size = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
        assert (np.abs(scaled - expected) <= TOLERANCE * size).all()


def test_the_layer_recursion_agrees_with_the_sphere():
    # One longer row sends every pair through the recursion; the rest must not move.
    x = _inputs(5, 8)
    for a in (act.tanh, act.gelu.normalized(), act.hard_tanh.normalized()):
        for alone, mixed in zip(
            kernels.nngp_ntk(x, a, 4),
            kernels.nngp_ntk(np.vstack([x, 2.0 * x[:1]]), a, 4),
            strict=True,
        ):
            scale = TOLERANCE * np.diag(alone).max()
            assert np.allclose(mixed[:-1, :-1], alone, rtol=0, atol=scale)


@pytest.mark.parametrize("name", ["relu", "tanh", "gelu"])
def test_near_duplicates_are_told_apart(name):
    # Rows at distance 1e-9 have 1 - rho = 5e-19; each layer multiplies it by D until
    # it shows, as iterating the map of distances predicts.
    a = act.CATALOGUE[name].normalized()
    x = np.array([[1.0, 0.0, 0.0], [1.0, 1e-9, 0.0], [0.6, 0.8, 0.0]])
    x[1] /= np.linalg.norm(x[1])
    depth = 1 + int(math.log(1e16) / math.log(a.derivative_second_moment))
    delta = 5e-19
    for _ in range(depth):
        delta = a.distance_map(delta)
    k = kernels.nngp(x, a, depth)
    # The normalisation of the row rounds its first entry, not the distance; 1 - K has
    # an absolute error of 1e-13 and delta ends near 5e-3.
    assert 1.0 - k[0, 1] == pytest.approx(delta, rel=1e-9)
    assert k[0, 0] == k[1, 1]
    assert k[0, 1] < k[0, 0]


def test_near_antipodes_are_told_apart():
    a = act.tanh.normalized()
    x = np.array([[1.0, 0.0], [-1.0, 1e-9]])
    delta = 5e-19
    for _ in range(200):
        delta = a.distance_map(delta)
    assert 1.0 + kernels.nngp(x, a, 200)[0, 1] == pytest.approx(delta, rel=1e-9)


@pytest.mark.parametrize("name", ["tanh", "gelu", "selu", "hard_tanh"])
def test_tables_of_all_layers_agree_with_the_recursion(name):
    # Many rows are read off tables in both lengths; few go through the layers one by
    # one. Both keep 1e-12 of the diagonal.
    x = _inputs(300, 40) * np.geomspace(0.5, 1.5, 300)[:, None]
    some = np.arange(0, 300, 15)
    many = kernels.nngp_ntk(x, act.CATALOGUE[name], 4)
    for whole, part in zip(
        many, kernels.nngp_ntk(x[some], act.CATALOGUE[name], 4), strict=True
    ):
        size = np.sqrt(np.outer(np.diag(part), np.diag(part)))
        gap = np.abs(whole[np.ix_(some, some)] - part)
        assert (gap <= 2.0 * TOLERANCE * size).all()
        assert np.array_equal(whole, whole.T)


def test_cross_kernels_are_blocks_of_square_ones():
    x = _inputs(200, 40) * np.geomspace(0.5, 1.5, 200)[:, None]
    x = x[np.random.default_rng(1).permutation(200)]
    for whole, part in zip(
        kernels.nngp_ntk(x, act.tanh, 4, bias_var=0.1),
        kernels.nngp_ntk(x[:90], act.tanh, 4, y=x[90:], bias_var=0.1),
        strict=True,
    ):
        size = np.sqrt(np.outer(np.diag(whole)[:90], np.diag(whole)[90:]))
        assert (np.abs(whole[:90, 90:] - part) <= 2.0 * TOLERANCE * size).all()


@pytest.mark.parametrize(
    ("a", "n", "depth"), [(act.relu.normalized(), 600, 50), (act.tanh, 1200, 3)]
)
def test_memory_stays_within_three_matrices(a, n, depth):
    x = _inputs(n, 40)
    if a == act.tanh:
        x *= np.linspace(0.5, 2.0, n)[:, None]  # rows are sorted: there were two more
    kernels.nngp_ntk(x, a, depth)  # tables are made once
    tracemalloc.start()
    try:
        kernels.nngp_ntk(x, a, depth)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= 3 * 8 * n * n


def test_correlation():
    x = _inputs(6, 4, unit=False)
    rho = kernels.correlation(x)
    norms = np.linalg.norm(x, axis=1)
    assert np.allclose(rho, x @ x.T / np.outer(norms, norms), rtol=0, atol=1e-15)
    assert np.array_equal(np.diag(rho), np.ones(6))
    assert np.array_equal(rho, rho.T)
    assert kernels.correlation([[2.0], [-3.0]]).tolist() == [[1.0, -1.0], [-1.0, 1.0]]


@pytest.mark.parametrize("size", [1e-3, 1e-9, 1e-100])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_separation(size, sign):
    # 1 - cos of (1, 0) and (1, e): e^2 / (2 + e^2 + ...) to relative 1e-14.
    with mpmath.workdps(260):
        exact = 1 - 1 / mpmath.sqrt(1 + mpmath.mpf(size) ** 2)
    found = kernels.separation([[1.0, 0.0], [sign, size], [0.0, 5.0]])
    assert found == pytest.approx(float(exact), rel=1e-14, abs=0.0)


@pytest.mark.parametrize("n", [77, 70, 60, 50, 40])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_separation_of_rows_of_whole_numbers_next_to_each_other(n, sign):
    """Neighbouring Fibonacci numbers, of determinant one: 0.7 off at 1e-64."""
    whole = [0, 1]
    while len(whole) <= n + 1:
        whole.append(whole[-1] + whole[-2])
    x, y = (whole[n], whole[n - 1], 0), (whole[n + 1], whole[n], 0)
    found = kernels.separation([x, [sign * v for v in y]])
    with mpmath.workdps(40):
        sine = 1 / mpmath.sqrt(sum(v * v for v in x) * sum(v * v for v in y))
        true = 2 * mpmath.sin(mpmath.asin(sine) / 2) ** 2
    # A dozen roundings of what is across, squared.
    assert abs(found / true - 1) <= 24 * np.finfo(np.float64).eps


@pytest.mark.parametrize("size", [0.03, 0.12109375, 0.3])
def test_separation_of_rows_that_are_not_close(size: float):
    # 1 - |cos| loses two digits there, and so do differences of squared lengths.
    for seed in range(20):
        x = np.eye(3)[0] + size * np.random.default_rng(seed).standard_normal((2, 3))
        with mpmath.workdps(50):
            first, second = ([mpmath.mpf(float(v)) for v in row] for row in x)
            size_of = mpmath.sqrt(mpmath.norm(first) ** 2 * mpmath.norm(second) ** 2)
            exact = 1 - mpmath.fdot(first, second) / size_of
        assert kernels.separation(x) == pytest.approx(float(exact), rel=2e-15, abs=0.0)


def test_homogeneity():
    orders = {name: kernels.homogeneity(a) for name, a in act.CATALOGUE.items()}
    known = {name: m for name, m in orders.items() if m is not None}
    assert known.pop("identity", 1) == 1
    assert known == {
        "relu": 1, "abs": 1, "leaky_relu(0.01)": 1, "relu_squared": 2, "sign": 0,
        "step": 0,
    } or known == {  # a step is a constant plus a jump: its scaling need not be used
        "relu": 1, "abs": 1, "leaky_relu(0.01)": 1, "relu_squared": 2, "sign": 0,
    }  # fmt: skip


@settings(deadline=None, max_examples=15)
@given(
    st.integers(0, 10**6),
    st.sampled_from(
        ["relu", "tanh", "gelu", "sigmoid", "normrelu", "abs", "hard_tanh"]
    ),
    st.integers(1, 6),
    st.booleans(),
)
def test_kernels_are_positive_semidefinite(seed, name, depth, unit):
    x = _inputs(5, 3, seed, unit=unit)
    for matrix in kernels.nngp_ntk(x, act.CATALOGUE[name], depth):
        # An error of 1e-12 of the diagonal in each of 5 x 5 entries moves eigenvalues
        # by at most 5e-12 of it.
        least = np.linalg.eigvalsh(matrix)[0]
        assert least >= -5 * TOLERANCE * np.diag(matrix).max()


@settings(deadline=None, max_examples=40)
@given(st.floats(-1.0, 1.0), st.integers(1, 30), st.sampled_from(["relu", "tanh"]))
def test_kernel_maps_are_bounded_by_their_diagonal(rho, depth, name):
    a = act.CATALOGUE[name].normalized()
    assert abs(kernels.nngp_map(rho, a, depth)) <= 1.0 + TOLERANCE
    assert abs(kernels.ntk_map(rho, a, depth, normalized=True)) <= 1.0 + TOLERANCE


@pytest.mark.parametrize("skip", [0.0, 0.7])
@pytest.mark.parametrize(
    "x", [[[1.0, 0.0], [2.0, 0.0]], [[1.0, 0.0], [3.0, 0.1]], [[0.1, 0.0], [9.0, 0.2]]]
)
def test_biases_and_branches_turn_rows_of_different_lengths(x, skip):
    # Linear layers: the kernel of a pair is that of their inner product.
    w, b, k = 1.5, 0.1, np.asarray(x) @ np.transpose(x)
    k = w * k + b
    for _ in range(2):
        k = (w + skip**2) * k + b
    layers = [kernels.Layer(act.identity, w, b, skip)] * 2
    found = kernels.nngp(x, layers, weight_var=w, bias_var=b)
    # A few roundings in each of three layers.
    np.testing.assert_allclose(found, k, rtol=1e-14)


def _of_short_rows(cosine, square, depth):
    """K and T of two rows of normalised ReLU, and K on the diagonal: arc-cosine formula.

    s = (max(x, 0) - m) / sd, with m and sd for variance one.
    """
    with mpmath.workdps(60):
        m = 1 / mpmath.sqrt(2 * mpmath.pi)
        spread = mpmath.mpf(1) / 2 - m * m
        q = mpmath.mpf(square)
        k = t = q * mpmath.mpf(cosine)
        for _ in range(depth):
            angle = mpmath.acos(k / q)
            left = (mpmath.pi - angle) / (2 * mpmath.pi)
            kernel = q * mpmath.sin(angle) / (2 * mpmath.pi) + left * k
            shift = m * m - 2 * m * m * mpmath.sqrt(q)
            k, q = (kernel + shift) / spread, (q / 2 + shift) / spread
            t = k + t * left / spread
        return k, t, q


@pytest.mark.parametrize("depth", [1, 3, 20, 40])
@pytest.mark.parametrize("square", [1e-8, 1e-6, 1e-4, 1.0])
@pytest.mark.parametrize("cosine", ["0.96", "0.28", "0", "-0.28", "-0.96", "-1"])
def test_a_mean_brings_short_rows_together(cosine, square, depth):
    # Far apart as inputs, nearly equal after a layer: the mean is most of it.
    sine = mpmath.sqrt(1 - mpmath.mpf(cosine) ** 2)
    r = math.sqrt(square)
    x = np.array([[r, 0.0], [r * float(cosine), r * float(sine)]])
    k, t = kernels.nngp_ntk(x, act.relu.normalized(), depth)
    off, tangent, diagonal = _of_short_rows(cosine, square, depth)
    assert abs(k[0, 1] - off) <= 1e-12 * diagonal
    assert abs(t[0, 1] - tangent) <= 1e-12 * t[0, 0]
    # What float64 holds of a difference of entries, in units u = eps / 2 of the diagonal:
    # a table of 12 nodes (Lebesgue constant 2.5) of values with two roundings, evaluated
    # with one, 6 u; one of 4 nodes (1.85) fitted to that, with one more, 12 u; the
    # products with both scales, and the other entry's, 4 u.
    apart = mpmath.mpf(k[0, 0]) - mpmath.mpf(k[0, 1])
    distance = diagonal - off
    rounding = 8 * np.finfo(np.float64).eps * diagonal
    assert abs(apart - distance) <= 1e-10 * distance + rounding


@pytest.mark.parametrize("angle", [1e-7, 1e-8, 3e-9])
def test_slopes_of_rows_that_a_mean_brings_together(angle):
    # After a layer they are closer than tables reach; the slope of ReLU is a root there.
    r = 1e-3
    x = np.array([[0.5 * r * angle, r], [-0.5 * r * angle, r]])
    _, t = kernels.nngp_ntk(x, act.relu.normalized(), 20)
    with mpmath.workdps(60):
        square = mpmath.fsum(mpmath.mpf(v) ** 2 for v in x[0])
        cosine = 1 - 2 * mpmath.mpf(x[0, 0]) ** 2 / square
        _, tangent, _ = _of_short_rows(cosine, square, 20)
    assert abs(t[0, 1] - tangent) <= 1e-12 * t[0, 0]


@pytest.mark.parametrize("angle", [1e-6, 1e-8, 3e-10])
@pytest.mark.parametrize("depth", [25, 40, 60])
def test_layers_that_bring_rows_together_and_take_them_apart(angle, depth):
    """Normalised |x|: short rows go towards its mean, of unit length far from each other.

    The covariance of |u|, |v| is 2/pi (s + rho asin rho - 1), s = sin(acos rho).
    """
    x = np.array([[0.5e-3 * angle, 1e-3], [-0.5e-3 * angle, 1e-3]])
    with mpmath.workdps(80):
        m = mpmath.sqrt(2 / mpmath.pi)

        def layer(p, k):
            rho = k / p
            both = mpmath.sqrt((1 - rho) * (1 + rho)) + rho * mpmath.asin(rho)
            q = m * m * (p * both - 2 * mpmath.sqrt(p) + 1)
            return (p - 2 * m * m * mpmath.sqrt(p) + m * m) / (1 - m * m), q / (
                1 - m * m
            )

        p, k = (
            mpmath.mpf(x[0, 1]) ** 2 + s * mpmath.mpf(x[0, 0]) ** 2 for s in (1, -1)
        )
        p, k = layer(p, k)
        weight = float(1 / p)
        p, k = weight * p, weight * k
        for _ in range(depth):
            p, k = layer(p, k)
        away = 1 - k / p
    a = act.abs.normalized()
    found = kernels.nngp(x, [kernels.Layer(a, weight_var=weight)] + [a] * depth)
    # Each layer rounds the difference's rate and the entries a few times.
    rounding = 8 * np.finfo(np.float64).eps * depth
    assert (
        abs((found[0, 0] - found[0, 1]) / found[0, 0] - away) <= 1e-10 * away + rounding
    )


@pytest.mark.parametrize("name", ["sign", "step"])
@pytest.mark.parametrize("depth", [1, 20, 300])
def test_parallel_rows_are_one_row_to_a_jump(name, depth):
    # An angle of one rounding would be seen: after 20 layers, to the power 2^-20.
    ways = np.array([[28.0, 0.0, 0.0], [3.0, 5.0, 7.0]])
    for row in ways:
        x = np.array([row, 3.0 * row, row / 2.0**40, row])
        x[3, 0] += 28e-12 if row[1] == 0.0 else 0.0
        k = kernels.nngp(x, act.CATALOGUE[name].normalized(), depth)
        assert np.array_equal(k, k.T)
        assert np.abs(k - 1.0).max() <= TOLERANCE


@pytest.mark.parametrize("mean", [1e-8, 1e-5, 1e-3])
@pytest.mark.parametrize("rho", [-0.5, 1e-9, 0.5])
def test_kernels_that_a_small_mean_lets_fall_have_the_digits_of_the_diagonal(mean, rho):
    a = act.erf.normalized()
    net = act.Affine(a, math.sqrt(1.0 - mean * mean), mean)
    with mpmath.workdps(40):
        k = mpmath.mpf(rho)
        scale, shift = mpmath.mpf(net.scale) ** 2, mpmath.mpf(mean) ** 2
        for _ in range(200):
            k = scale * CLOSED["erf"][1](k)[0] + shift
    assert abs(k) < 1e-3
    assert abs(kernels.nngp_map(rho, net, 200) - k) <= 1e-14


def test_long_rows_keep_their_digits_through_hundreds_of_layers_with_biases():
    """Logarithms of 270 were rounded in every layer's sum: 2e-11 was lost in 600."""
    x, depth, bias = np.array([[1e88, 0.0], [1.01e88, 1e87]]), 200, 1.0
    k, t = kernels.nngp_ntk(x, act.relu, depth, weight_var=1.9, bias_var=bias)
    with mpmath.workdps(50):
        weight, rows = mpmath.mpf(1.9), [[mpmath.mpf(v) for v in row] for row in x]
        for i, j in ((0, 0), (1, 1), (0, 1)):
            each = [
                weight * mpmath.fdot(rows[a], rows[b]) + bias
                for a, b in ((i, i), (j, j), (i, j))
            ]
            own, other, both = each
            tangent = both
            for _ in range(depth):
                size = mpmath.sqrt(own * other)
                rho = min(both / size, mpmath.mpf(1))
                angle = mpmath.pi - mpmath.acos(rho)
                both = size * (mpmath.sqrt(1 - rho * rho) + rho * angle)
                both = weight * both / (2 * mpmath.pi) + bias
                own, other = (weight * v / 2 + bias for v in (own, other))
                tangent = both + weight * tangent * angle / (2 * mpmath.pi)
            # Half an ulp of every layer's factor, and of logarithms of 400 at the end.
            assert abs(k[i, j] / both - 1) <= 1e-13
            assert abs(t[i, j] / tangent - 1) <= 1e-13


def test_tangent_diagonals_of_many_layers_and_lengths():
    # The slope of |x| is +-1 at any length: a geometric series, that of K being one.
    k, t = kernels.nngp_ntk([[1.0, 0.0], [1.0 + 1e-9, 0.0]], act.abs.normalized(), 300)
    with mpmath.workdps(40):
        rate = 1 / (1 - 2 / mpmath.pi)
        true = (rate**301 - 1) / (rate - 1)
    # Logarithms add up to 304, where float64 has steps of 6e-14: not in each layer.
    assert abs(t[0, 0] / true - 1) <= TOLERANCE
    assert abs(k[0, 0] - 1.0) <= TOLERANCE


@pytest.mark.parametrize("ratio", [1.5, 3.0, 100.0, 1e4])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_parallel_rows_of_other_lengths(ratio, sign):
    # On a line the dual is an integral over one variable, split at all kinks.
    z, w = gaussian.rule(np.array([-1.0, -1.0 / ratio, 1.0 / ratio, 1.0]))
    s = act.hard_tanh
    k = kernels.nngp(np.array([[1.0, 0.0], [sign * ratio, 0.0]]), s, 1)
    assert abs(k[0, 1] - w @ (s(z) * s(sign * ratio * z))) <= TOLERANCE


@pytest.mark.parametrize(
    "lengths", [(0.01, 10.0), (1.0, 3.0), (30.0, 45.0), (1e2, 1e4)]
)
def test_parallel_rows_of_lengths_far_apart(lengths):
    """A row's values change over many scales of the function from one to the other."""

    def sine(i, j):
        r, o = (mpmath.mpf(lengths[k]) for k in (i, j))
        return mpmath.asin(2 * r * o / mpmath.sqrt((1 + 2 * r * r) * (1 + 2 * o * o)))

    with mpmath.workdps(40):
        true = 1 - sine(0, 1) / mpmath.sqrt(sine(0, 0) * sine(1, 1))
        (found,) = length_tables.turned(
            act.erf, math.log(lengths[0]), np.array([math.log(lengths[1] / lengths[0])])
        )
        assert abs(found / true - 1) <= 1e-13


def test_normalised_pieces_take_one_value_of_the_slope(monkeypatch):
    """Between kinks it is linear, scaled or not."""
    seen = []
    slope = type(act.relu6.derivative)._value
    monkeypatch.setattr(
        type(act.relu6.derivative),
        "_value",
        lambda self, x: seen.append(self.m) or slope(self, x),
    )
    counts = []
    for activation in (act.relu6, act.relu6.normalized()):
        seen.clear()
        length_tables.turned(activation, 0.5, np.array([0.2]))
        counts.append(seen.count(0))
    assert counts[0] == counts[1] > 0


# E s(u) s(v) at a correlation: a short u sees the slope of s at 0, a long v its ends.
SHORT_BESIDE_LONG = {
    "tanh": (act.tanh, lambda u, v, rho: rho * u * math.sqrt(2 / math.pi)),
    "erf": (act.erf, lambda u, v, rho: rho * u * math.sqrt(8) / math.pi),
    "gelu": (act.gelu, lambda u, v, rho: rho * u * v / 4),
    "elu": (act.elu(), lambda u, v, rho: rho * u * v / 2),
    "relu6": (act.relu6, lambda u, v, rho: 3 * (1 + rho) * u / math.sqrt(2 * math.pi)),
}


@pytest.mark.parametrize("size", [1e80, 1e149])
@pytest.mark.parametrize("name", SHORT_BESIDE_LONG)
def test_rows_whose_squares_leave_float64_together(name, size):
    s, expected = SHORT_BESIDE_LONG[name]
    x = np.array([[0.28 / size, 0.96 / size], [0.6 * size, -0.8 * size]])
    rho = 0.28 * 0.6 - 0.96 * 0.8
    found = kernels.nngp(x, s, 1)[0, 1]
    assert found == pytest.approx(expected(1 / size, size, rho), rel=1e-12)


@pytest.mark.parametrize("name", ["sign", "step"])
def test_jumps_at_zero_do_not_see_lengths(name):
    a = act.CATALOGUE[name].normalized()
    x = np.random.default_rng(5).standard_normal((6, 3))
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    difference = kernels.nngp(x, a, 3) - kernels.nngp(unit, a, 3)
    assert np.abs(difference).max() <= TOLERANCE


def _shifted_power(activation, p, q, k):
    """E s(u) s(v) and E s'(u) s'(v) of a normalised power, arc-cosine kernels in mpmath."""
    size = mpmath.sqrt(p * q)
    rho = k / size
    angle, sine = mpmath.acos(rho), mpmath.sqrt((1 - rho) * (1 + rho))
    if activation == "relu":
        one = (sine + (mpmath.pi - angle) * rho) / (2 * mpmath.pi)
        slope, m = (
            (mpmath.pi - angle) / (2 * mpmath.pi),
            mpmath.sqrt(1 / (2 * mpmath.pi)),
        )
        both, mean = size * one, m * (mpmath.sqrt(p) + mpmath.sqrt(q))
        whole = mpmath.mpf(1) / 2
    else:  # (x_+)^2
        top = 3 * sine * rho + (mpmath.pi - angle) * (1 + 2 * rho * rho)
        both, mean = size**2 * top / (2 * mpmath.pi), (p + q) / 2
        slope = 4 * size * (sine + (mpmath.pi - angle) * rho) / (2 * mpmath.pi)
        whole, m = mpmath.mpf(3) / 2, mpmath.mpf(1) / 2
    spread = whole - m * m
    return (both - m * mean + m * m) / spread, slope / spread


@pytest.mark.parametrize("name", ["relu", "relu_squared"])
@pytest.mark.parametrize("turn", [1e-6, 0.1, 1.0, 2.0, 3.1])
@pytest.mark.parametrize("ratio", [1.0, 1.0 + 1e-9, 1.5, 20.0])
def test_normalised_powers_are_closed(name, turn, ratio):
    x = np.array(
        [[0.8, 0.0], [0.8 * ratio * math.cos(turn), 0.8 * ratio * math.sin(turn)]]
    )
    found = kernels.nngp_ntk(x, act.CATALOGUE[name].normalized(), 3)
    with mpmath.workdps(50):
        rows = [[mpmath.mpf(v) for v in row] for row in x]
        p, q, k = (mpmath.fdot(rows[a], rows[b]) for a, b in ((0, 0), (1, 1), (0, 1)))
        t = [p, q, k]
        for _ in range(3):
            each = [_shifted_power(name, *v) for v in ((p, p, p), (q, q, q), (p, q, k))]
            t = [new + old * d for old, (new, d) in zip(t, each, strict=True)]
            p, q, k = (new for new, _ in each)
        for kernel, true in zip(found, ((p, q, k), tuple(t)), strict=True):
            size = mpmath.sqrt(true[0] * true[1])
            assert abs(kernel[0, 1] - true[2]) <= TOLERANCE * size
            assert abs(kernel[1, 1] - true[1]) <= TOLERANCE * true[1]


@pytest.mark.parametrize("gap", [1e-9, 1e-3, 0.5])
@pytest.mark.parametrize("normalised", [False, True])
def test_a_jump_off_zero_is_seen_at_lengths_that_nearly_agree(gap, normalised):
    a = act.from_function(lambda x: np.where(x > 0.5, 1.0, 0.0), kinks=(0.5,))
    a = a.normalized() if normalised else a
    for angle in (0.05, 0.3, 3.0):
        x = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
        x[1] *= 1.0 + gap
        q = (x * x).sum(axis=1)
        k = kernels.nngp(x, a, 1)
        true = a.dual(np.cos(angle), var_x=q[0], var_y=q[1])
        size = math.sqrt(k[0, 0] * k[1, 1])
        assert abs(k[0, 1] - true) <= 1e-12 * size
        assert abs(k[1, 1] - a.length_map(q[1])) <= 1e-12 * k[1, 1]


@pytest.mark.parametrize("r", [1e-3, 2.7, 7.5, 12.0])
@pytest.mark.parametrize("stretch", [1.0 + 1e-9, 1.3, 1.5])
def test_kernels_of_exponentials_at_any_lengths(r, stretch):
    x = np.array([[r, 0.0], [0.6 * r * stretch, 0.8 * r * stretch]])
    c, h = mpmath.mpf(0.5), mpmath.mpf(-0.3)
    a = act.Affine(act.exp, float(c), float(h))
    k, t = kernels.nngp_ntk(x, a, 1)
    dot = [
        [mpmath.fsum(mpmath.mpf(p) * q for p, q in zip(u, v, strict=True)) for v in x]
        for u in x
    ]

    def mean(i, j):
        return mpmath.exp(dot[i][i] / 2 + dot[j][j] / 2 + dot[i][j])

    for i, j in ((0, 0), (0, 1), (1, 1)):
        both = sum(mpmath.exp(dot[m][m] / 2) for m in (i, j))
        true = c * c * mean(i, j) + c * h * both + h * h
        slope = true + dot[i][j] * c * c * mean(i, j)
        assert abs(k[i, j] - true) <= 1e-12 * math.sqrt(k[i, i]) * math.sqrt(k[j, j])
        assert abs(t[i, j] - slope) <= 1e-12 * math.sqrt(t[i, i]) * math.sqrt(t[j, j])


@pytest.mark.parametrize("name", ["sin", "cos"])
@pytest.mark.parametrize(("c", "h"), [(1.0, 0.0), (-0.5, 0.3)])
@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([1e-3, 0.0], [1.5e-3, 1e-11]),
        ([0.7, 0.0], [0.7 * (1 + 1e-9), 1e-8]),
        ([0.9, 0.0], [1.3, 0.2]),
        ([20.0, 0.0], [20.5, 0.01]),
        ([1e3, 0.0], [-1e3 * (1 + 1e-9), 1e-4]),
        ([1e3, 0.0], [1e3, 1e-4]),
        ([1e-5, 0.0], [2.0, 0.0]),
    ],
)
def test_kernels_of_waves_at_any_lengths(name, c, h, x, y):
    a = act.Affine(act.CATALOGUE[name], c, h)
    k, t = kernels.nngp_ntk(np.array([x, y]), a, 1)

    def both(i, j):
        p, q, r = (
            mpmath.fsum(mpmath.mpf(m) * n for m, n in zip(u, v, strict=True))
            for u, v in ((i, i), (j, j), (i, j))
        )
        one, two = mpmath.exp(-(p + q - 2 * r) / 2), mpmath.exp(-(p + q + 2 * r) / 2)
        odd, even = (one - two) / 2, (one + two) / 2
        if name == "sin":
            return c * c * odd + h * h, r * c * c * even
        mean = mpmath.exp(-p / 2) + mpmath.exp(-q / 2)
        return c * c * even + c * h * mean + h * h, r * c * c * odd

    with mpmath.workdps(60):
        true = {
            (i, j): both(u, v)
            for i, u in enumerate((x, y))
            for j, v in ((0, x), (1, y))
        }
        for (i, j), (value, slope) in true.items():
            size, other = mpmath.sqrt(k[i, i] * k[j, j]), mpmath.sqrt(t[i, i] * t[j, j])
            assert abs(k[i, j] - value) <= 1e-12 * size
            assert abs(t[i, j] - value - slope) <= 1e-12 * other
        away = 1 - true[0, 1][0] / mpmath.sqrt(true[0, 0][0] * true[1, 1][0])
        size = mpmath.sqrt(mpmath.mpf(k[0, 0]) * k[1, 1])
        # Three entries and the root of two of them are rounded.
        assert abs(1 - k[0, 1] / size - away) <= 1e-11 * away + 4 * np.finfo(float).eps


@pytest.mark.parametrize("r", [1e-8, 1e-4, 0.3])
def test_a_short_row_beside_a_long_one_of_an_exponential(r):
    with mpmath.workdps(60):
        o = mpmath.mpf(1.5)
        d = mpmath.mpf(r) - o
        # E e^u e^v over the root of E e^2u E e^2v.
        true = -mpmath.expm1(-d * d / 2)
    rows = ExponentialLengths(1.0, 0.0)
    (found,) = rows.turned(np.log([r]), np.array([math.log(1.5 / r)]))
    assert abs(found / true - 1) <= 1e-13


def test_exponentials_that_leave_float64_say_so():
    for lengths in ([10.0, 10.0], [10.0, 15.0]):
        for a in (act.exp, act.exp.normalized()):
            with pytest.raises(
                ValueError, match=r"`depth` must keep the (kernel|variance of what)"
            ):
                kernels.nngp(np.diag(lengths), a, 2)


@pytest.mark.parametrize("name", ["elu", "silu"])
def test_pairs_on_their_own_agree_with_tables(name):
    """Few pairs near +-1 are integrated one by one, many are read from tables."""
    a, angles = act.CATALOGUE[name], [0.0, 1e-7, 1e-3, 0.1, 0.3, np.pi - 0.02, np.pi]
    lengths = np.tile([0.8, 1.0, 1.9], 3)[:7]
    turns = np.array(angles)
    x = lengths[:, None] * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    many = kernels.nngp_ntk(x, a, 3)
    for i, j in itertools.combinations(range(len(x)), 2):
        two = kernels.nngp_ntk(x[[i, j]], a, 3)
        for whole, part in zip(many, two, strict=True):
            # Both are promised to 1e-12 of the diagonal.
            size = math.sqrt(whole[i, i] * whole[j, j])
            assert abs(whole[i, j] - part[0, 1]) <= 2e-12 * size


def test_oscillations_beyond_the_order_of_a_series_are_seen() -> None:
    """The slope 1 + 1.5 cos 150 x has next to no coefficients up to order 10240."""
    a = act.from_function(lambda v: v + 0.01 * np.sin(150.0 * v))
    lengths = np.array([1.0, 1.2])
    with pytest.raises(ValueError, match=r"^`x` must .* oscillates so often"):
        _ = slope_tables.Slopes(a, (0.0, 0.2), 0.0).near
    # Resolved: E s'(u) s'(v) = 1 + c (e_u + e_v) + c^2 e_u e_v cosh(9 r_u r_v cos t).
    t = np.array([0.01, 0.5, 1.5])
    for often, size in ((3.0, 0.1), (40.0, 0.01)):
        b = act.from_function(lambda v, w=often, c=size: v + c * np.sin(w * v))
        build = slope_tables._by_series(b, lengths)
        assert build is not None
        c, q = often * size, often**2
        e = np.exp(-0.5 * q * lengths**2)
        rho, both = np.cos(t)[:, None, None], np.outer(lengths, lengths)
        square = np.add.outer(lengths**2, lengths**2)
        # e_u e_v cosh(x) of two exponents: none overflows.
        near, far = (np.exp(-0.5 * q * (square + v * rho * both)) for v in (-2.0, 2.0))
        true = 1.0 + c * (e[:, None] + e) + 0.5 * c * c * (near + far)
        assert np.abs(build(False)[0](t) - true).max() < 1e-13 * (1.0 + c * c)


@pytest.mark.parametrize(
    "name",
    [
        "hard_tanh",
        "hard_sigmoid",
        "erf",
    ],
)
@pytest.mark.parametrize("size", [1e100, 1e20, 1e10])
def test_bounded_functions_of_very_long_inputs_are_steps(
    name: str, size: float
) -> None:
    # With limits a and b at both ends: P(same sign) (a^2 + b^2) / 2 + P(other sign) a b.
    x = np.array([[1.0, 0.0], [1.5, 0.5], [-0.3, 2.0], [1.0, 1e-3]])
    activation = act.CATALOGUE[name]
    high, low = activation(np.array([1e12, -1e12]))
    across = np.outer(x[:, 0], x[:, 1]) - np.outer(x[:, 1], x[:, 0])
    angle = np.arctan2(np.abs(across), x @ x.T)
    same = 1.0 - angle / np.pi
    steps = same * 0.5 * (high**2 + low**2) + (1.0 - same) * high * low
    k, t = kernels.nngp_ntk(size * x, activation, 1)
    # A kink at 1 is of an angle 1e-10 from the step.
    np.testing.assert_allclose(k, steps, rtol=0.0, atol=1e-9 if size < 1e12 else 1e-12)
    assert np.isfinite(t).all()


@pytest.mark.parametrize("size", [10.0, 1e3, 1e4, 1e6, 1e8])
def test_kinks_of_long_inputs_keep_their_digits(size: float) -> None:
    # E f(a X) g(X), g the mean of f(b Y) given X, a clipped Gaussian's.
    x = np.array([[1.0, 0.0], [1.5, 0.5]])
    with mpmath.workdps(30):
        a, b = mpmath.mpf(size), mpmath.mpf(size) * mpmath.sqrt(2.5)
        rho = 1.5 / mpmath.sqrt(2.5)
        rest = b * mpmath.sqrt(1 - rho**2)

        def given(m):
            low, high = (-1 - m) / rest, (1 - m) / rest
            inside = mpmath.ncdf(high) - mpmath.ncdf(low)
            ends = mpmath.ncdf(-high) - mpmath.ncdf(low)
            return ends + m * inside + rest * (mpmath.npdf(low) - mpmath.npdf(high))

        # Both factors are odd.
        cuts = sorted({0, *(t / a for t in (1, 2, 4)), 0.25, 1, 3, 6, 12})
        exact = 2 * mpmath.quad(
            lambda v: min(1, a * v) * given(b * rho * v) * mpmath.npdf(v), cuts
        )
    k = kernels.nngp(size * x, act.hard_tanh, 1)
    assert k[0, 1] == pytest.approx(float(exact), rel=3e-14)


@pytest.mark.parametrize(
    "activation", [act.relu, act.abs, act.leaky_relu(0.3), act.identity]
)
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_kernels_of_nearly_opposite_rows_scale_with_their_weights(
    activation: act.Activation, depth: int
) -> None:
    """Next to -1 the slope is known from the distance, in every recursion."""
    angle = 1e-9
    x = np.array([[1.0, 0.0], [-1.7 * math.cos(angle), -1.7 * math.sin(angle)]])
    plain = kernels.ntk(x, activation, depth)
    doubled = kernels.ntk(x, activation, depth, weight_var=2.0) / 2.0 ** (depth + 1)
    size = np.sqrt(plain[0, 0] * plain[1, 1])
    assert abs(doubled[0, 1] - plain[0, 1]) < 1e-14 * size
    if activation is act.relu and depth == 1:
        # theta J^2 / 2 pi of the angle to the opposite.
        assert doubled[0, 1] == pytest.approx(-1.7 * angle / (2 * math.pi), rel=1e-7)


def _off_centre(x):
    """tanh x + 0.3 |x - 2/5|, whose kink has no mirror image."""
    return mpmath.tanh(x) + mpmath.mpf(3) / 10 * abs(x - mpmath.mpf(2) / 5)


def _off_centre_slope(x):
    return mpmath.sech(x) ** 2 + mpmath.sign(x - mpmath.mpf(2) / 5) * mpmath.mpf(3) / 10


def _average(f, *lengths):
    """E of the product of f(r Z) over lengths r, split at the kinks."""
    kinks = {2 / (5 * mpmath.mpf(r)) for r in lengths}
    ends = sorted({mpmath.mpf(-12), mpmath.mpf(0), mpmath.mpf(12), *kinks})
    return mpmath.quad(
        lambda z: mpmath.fprod(f(r * z) for r in lengths) * mpmath.npdf(z), ends
    )


OFF_CENTRE = act.from_function(
    lambda x: np.tanh(x) + 0.3 * np.abs(x - 0.4), kinks=(0.4,)
)


@pytest.mark.parametrize("lengths", [(0.5, 1.0), (1.0, 1.3), (0.2, 3.0)])
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_kink_without_a_mirror_image_keeps_digits_of_parallel_rows(
    lengths: tuple[float, float], sign: int
) -> None:
    x = np.array([[lengths[0]], [sign * lengths[1]]])
    k, t = kernels.nngp_ntk(x, OFF_CENTRE, 1)
    with mpmath.workdps(20):
        r, other = mpmath.mpf(lengths[0]), sign * mpmath.mpf(lengths[1])
        value = _average(_off_centre, r, other)
        slope = _average(_off_centre_slope, r, other)
        both = value, value + r * other * slope
    for found, true in zip((k, t), both, strict=True):
        size = math.sqrt(found[0, 0] * found[1, 1])
        assert abs(found[0, 1] - float(true)) <= TOLERANCE * size


def test_a_kink_without_a_mirror_image_keeps_digits_of_tables() -> None:
    r = np.array([0.5, 0.8, 1.3])
    near, far = slope_tables._whole(OFF_CENTRE, r)
    with mpmath.workdps(20):
        mean = [_average(_off_centre, v) for v in r.tolist()]
        for i, j in itertools.product(range(3), repeat=2):
            for found, sign in ((near, 1), (far, -1)):
                one, other = float(r[i]), sign * float(r[j])
                both = _average(_off_centre, one, other) - mean[i] * mean[j]
                true = both / (mpmath.mpf(r[i]) * mpmath.mpf(r[j]))
                assert abs(found[i, j] - float(true)) <= 1e-13


def test_depths_without_end_are_answered_or_refused_at_once():
    # sqrt(2) is rounded: a layer multiplies the length by 1 + 2^-52.
    found = kernels.nngp_map(1.0, act.relu.scaled(2.0), 10**9)
    assert found == pytest.approx(math.exp(1e9 * 2.0**-52), rel=1e-12)
    with pytest.raises(
        ValueError, match="nngp_map: `depth` must keep the kernel within"
    ):
        kernels.nngp_map(1.0, act.relu, 2**100)
    with pytest.raises(ValueError, match="nngp_map: `depth` must bring the length to"):
        kernels.nngp_map(0.3, act.tanh, 10**6)


def _erf_of(a, b, c):
    """E s(u) s(v) of variances a and b and covariance c, and of the slopes."""
    whole = (1 + 2 * a) * (1 + 2 * b)
    value = 2 / mpmath.pi * mpmath.asin(2 * c / mpmath.sqrt(whole))
    return value, 4 / (mpmath.pi * mpmath.sqrt(whole - 4 * c * c))


def _cos_of(a, b, c):
    size = mpmath.exp(-(a + b) / 2)
    return size * mpmath.cosh(c), size * mpmath.sinh(c)


def _of_a_pair(x, y, layers, weight_var, bias_var):
    """K and T of two rows over the roots of their diagonals, by covariances."""
    with mpmath.workdps(80):
        x, y = ([mpmath.mpf(float(v)) for v in row] for row in (x, y))
        inner = [mpmath.fdot(u, v) for u, v in ((x, x), (x, y), (y, y))]
        k = [weight_var * v + bias_var for v in inner]
        t = list(k)
        for function, skip in layers:
            at = (k[0], k[0], k[0]), (k[0], k[2], k[1]), (k[2], k[2], k[2])
            both = [function(*v) for v in at]
            own = [weight_var * value + bias_var for value, _ in both]
            through = [weight_var * slope + skip**2 for _, slope in both]
            t = [v * w + u for v, w, u in zip(t, through, own, strict=True)]
            k = [u + skip**2 * v for u, v in zip(own, k, strict=True)]
        return [float(v[1] / mpmath.sqrt(v[0] * v[2])) for v in (k, t)]


@pytest.mark.parametrize("skip", [0.0, 0.5])
@pytest.mark.parametrize("bias_var", [0.0, 0.1])
@pytest.mark.parametrize("weight_var", [1.0, 1e4])
@pytest.mark.parametrize("ratio", [1.0 + 1e-9, 1.5])
def test_long_rows_that_are_nearly_opposite_keep_their_digits(
    skip: float, bias_var: float, weight_var: float, ratio: float
) -> None:
    # What is left of their distance from opposite is what the next layer sees.
    x = 1000.0 * np.array([[0.6, 0.8], [-0.6 - 3e-8, -0.8 + 9e-8]])
    x[1] *= ratio
    both = (act.erf, _erf_of), (act.cos, _cos_of), (act.erf, _erf_of)
    for some in (both[:1] * 3, both[1:]):
        layers = [kernels.Layer(a, weight_var, bias_var, skip) for a, _ in some]
        found = kernels.nngp_ntk(x, layers, weight_var=weight_var, bias_var=bias_var)
        formulas = [(function, skip) for _, function in some]
        exact = _of_a_pair(*x, formulas, weight_var, bias_var)
        for m, true in zip(found, exact, strict=True):
            size = np.sqrt(m[0, 0] * m[1, 1])
            assert abs(m[0, 1] - true * size) <= TOLERANCE * size


def _erf_map(rho, depth, weight_var, bias_var):
    """K and T over their diagonals of unit inputs: covariance and length by layers."""
    with mpmath.workdps(60):
        q = tq = mpmath.mpf(weight_var) + bias_var
        k = t = weight_var * mpmath.mpf(rho) + bias_var
        for _ in range(depth):
            (value, slope), (whole, steep) = _erf_of(q, q, k), _erf_of(q, q, q)
            k, q = weight_var * value + bias_var, weight_var * whole + bias_var
            t, tq = k + weight_var * slope * t, q + weight_var * steep * tq
        return float(k / q), float(t / tq)


@pytest.mark.parametrize("rho", [1 - 1e-15, 1 - 1e-12, 1 - 1e-8, 0.5, -1 + 1e-12])
@pytest.mark.parametrize("depth", [1, 10, 30])
def test_maps_with_biases_keep_the_distance_of_close_inputs(rho, depth):
    # A bias adds to both; the distance that is left grows a hundredfold in two layers.
    given = {"weight_var": 100.0, "bias_var": 1.0}
    k = kernels.nngp_map([rho, 1.0], act.erf, depth, **given)
    t = kernels.ntk_map(rho, act.erf, depth, normalized=True, **given)
    exact = _erf_map(rho, depth, **given)
    assert k[0] / k[1] == pytest.approx(exact[0], rel=TOLERANCE, abs=0.0)
    assert t == pytest.approx(exact[1], rel=TOLERANCE, abs=1e-17)


@pytest.mark.parametrize("size", [1e-149, 1e-145, 1.0, 1e149])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("gap", [2.0**-27, 2.0**-40, 2.0**-50])
def test_distances_of_close_rows_do_not_depend_on_their_size(size, sign, gap):
    size = 2.0 ** round(math.log2(size))
    rows = size * np.array([[1.0, 0.5], [sign, sign * (0.5 + gap)]])
    inputs = matrices.Inputs(rows, np.hypot(*rows.T))
    pair = np.array([0]), np.array([1]), np.array([sign])
    with mpmath.workdps(60):
        c = (1 + mpmath.mpf(0.5) * (0.5 + gap)) / mpmath.sqrt(1.25)
        exact = float(1 - c / mpmath.sqrt(1 + mpmath.mpf(0.5 + gap) ** 2))
    assert inputs.distances(*pair)[1][0] == pytest.approx(exact, rel=1e-14, abs=0.0)


@pytest.mark.parametrize(
    "activation",
    [
        act.hard_sigmoid.normalized(),
        act.from_function(lambda x: np.clip(x, -1.0, 1.0), kinks=(-1.0, 1.0)),
    ],
)
def test_opposite_rows_stay_so_where_a_function_shows_to_be_odd(activation) -> None:
    # Next to -1 slopes of kinks go like the root of what rounding leaves of a distance.
    x = np.array([[0.6, 0.8], [-0.6, -0.8], [0.3, 0.2]])
    for m in kernels.nngp_ntk(x, activation, 3):
        assert m[0, 1] == pytest.approx(-m[0, 0], rel=1e-14)


def test_a_function_is_odd_only_if_it_is_so_at_every_length() -> None:
    # Up to 8 it is the hyperbolic tangent.
    a = act.from_function(
        lambda x: np.tanh(x) + np.maximum(x - 12.0, 0.0), kinks=(12.0,)
    )
    x = np.array([[6.0, 8.0], [-9.0, -12.0]])
    k = kernels.nngp(x, a, 1)
    assert k[0, 1] == pytest.approx(a.dual(-1.0, var_x=100.0, var_y=225.0), rel=1e-12)
    assert abs(k[0, 1] + kernels.nngp(abs(x), a, 1)[0, 1]) > 0.1


@pytest.mark.parametrize(
    "activation",
    [
        # Even parts as narrow as a hundredth, which 173 points on (0, 7] did not see.
        act.PiecewisePolynomial(
            "ridge", 1, (0.0, 1.0), (0.99, 1.0, 1.01), (100.0, -200.0, 100.0)
        ),
        act.from_function(lambda x: np.tanh(x) + np.exp(-x * x)).scaled(1e6),
    ],
)
def test_a_function_is_odd_only_if_it_is_so_on_every_panel(activation) -> None:
    """The map was off by 1e-3 at opposite inputs, and zero at zero."""
    rho = np.array([-1.0, 0.0])
    energy = activation.second_moment
    found = kernels.nngp_map(rho, activation, 1)
    assert np.abs(found - activation.dual(rho)).max() < TOLERANCE * energy


@pytest.mark.parametrize("rows", [3, 10])
def test_a_long_row_does_not_cut_the_series_of_short_ones(rows: int) -> None:
    """Beside x^4 at length 1000 their higher orders counted for nothing: 4e-9 off."""
    a = act.from_function(
        lambda x: x**4 + np.cos(x) + np.maximum(x - 0.3, 0.0), kinks=0.3
    )
    x = np.random.default_rng(0).standard_normal((rows, 8))
    x *= (np.linspace(1.0, 2.0, rows) / np.linalg.norm(x, axis=1))[:, None]
    x[-1] *= 1000.0
    few, many = kernels.nngp_ntk(x[:2], a, 1), kernels.nngp_ntk(x, a, 1)
    for m, n in zip(few, many, strict=True):
        np.testing.assert_allclose(n[:2, :2], m, rtol=1e-13)


def test_a_long_row_does_not_make_a_function_odd_at_short_ones() -> None:
    """Beside a length of 1000 the correlation of short rows had the other sign."""
    a = act.from_function(lambda x: x**3 + 1e-4 * np.exp(-x * x))
    x = np.array([[0.006, 0.008], [-0.02, 0.0], [600.0, 800.0]])
    dual = a.dual(-0.6, var_x=1e-4, var_y=4e-4)
    assert kernels.nngp(x, a, 1)[0, 1] == pytest.approx(dual, rel=TOLERANCE)


@pytest.mark.parametrize("norms", [(1e-149, 1e149), (1e-80, 1e80)])
@pytest.mark.parametrize(("bias_var", "skip"), [(0.1, 0.0), (0.0, 0.5), (0.1, 0.5)])
def test_biases_and_branches_of_rows_whose_ratio_leaves_float64(
    norms: tuple[float, float], bias_var: float, skip: float
) -> None:
    x = np.array([[norms[0], 0.0], [0.6 * norms[1], 0.8 * norms[1]]])
    k = x @ x.T + bias_var
    for _ in range(2):
        k = (1.0 + skip**2) * k + bias_var
    layers = [kernels.Layer(act.identity, 1.0, bias_var, skip)] * 2
    found = kernels.nngp(x, layers, bias_var=bias_var)
    # Logarithms of 343 are known to 6e-14, and lengths are their exponentials.
    np.testing.assert_allclose(found, k, rtol=TOLERANCE)


@pytest.mark.parametrize("size", [1e-149, 1e-90, 1e-60])
@pytest.mark.parametrize("activation", [act.sin, act.cos])
@pytest.mark.parametrize("turn", [0.0, 1e-8, 1.0])
def test_waves_of_tiny_rows_are_their_first_power(size, activation, turn):
    x = size * np.array([[0.6, 0.8], [1.8 - turn, 2.4 + turn]])
    k = kernels.nngp(x, activation, 1)
    exact = x @ x.T if activation is act.sin else np.ones((2, 2))
    np.testing.assert_allclose(k, exact, rtol=TOLERANCE)


@pytest.mark.parametrize("activation", [act.cos, act.gaussian_bump])
def test_even_functions_of_tiny_rows_have_a_tangent_kernel(activation):
    # E s'^2 |x|^2 is 1e-480: nothing beside the second layer's own part.
    x = 1e-120 * np.array([[0.6, 0.8], [0.8, 0.6], [1.0, 0.0]])
    k, t = kernels.nngp_ntk(x, activation, 1)
    np.testing.assert_allclose(t, k, rtol=TOLERANCE)
    np.testing.assert_allclose(t, np.ones((3, 3)), rtol=TOLERANCE)


@pytest.mark.parametrize("depth", [10**5 + 1, 2**31, 2**63, 2**64])
def test_any_depth_is_answered_on_a_sphere_and_refused_where_layers_go_one_by_one(
    depth,
):
    """All of its layers are trained: they were listed, and the list filled the memory."""
    x = np.array([[1.0, 0.0], [0.6, 0.8]])
    k, t = kernels.nngp_ntk(x, act.tanh.normalized(), depth, normalized=True)
    assert np.isfinite(k).all()
    assert np.isfinite(t).all()
    with pytest.raises(
        ValueError, match=f"nngp: `depth` must be at most .* got {depth}"
    ):
        kernels.nngp([[1.0, 0.0], [0.0, 2.0]], act.tanh, depth)
    with pytest.raises(
        ValueError, match=f"ntk: `depth` must be at most .* got {depth}"
    ):
        kernels.ntk(x, act.tanh, depth, trained=[1])


def _bent(bend):
    """Return Hermite coefficients of order one and two, and the recursion they give."""
    coefficients = (0.0, math.sqrt(1.0 - bend * bend), bend)
    one, two = (mpmath.mpf(c) ** 2 for c in coefficients[1:])
    one, two = one / (one + two), two / (one + two)

    def step(k):
        return k * (one + two * k), one + 2 * two * k

    return act.HermiteMixture(coefficients), step


def _leaky(slope):
    """Return a leaky ReLU next to the identity, centred, and its recursion."""
    less = (1 - mpmath.mpf(slope)) ** 2 / (2 * mpmath.pi)
    energy = (1 + mpmath.mpf(slope) ** 2) / 2 - less

    def step(k):
        angle, root = mpmath.pi - mpmath.acos(k), mpmath.sqrt((1 - k) * (1 + k))
        value = slope * k + less * (root + angle * k - 1)
        return value / energy, (slope + less * angle) / energy

    return act.leaky_relu(slope).normalized(), step


@pytest.mark.parametrize("rho", [-0.6, 0.01, 0.3, 0.9])
@pytest.mark.parametrize(
    ("layer", "bend"), [(_bent, 1e-5), (_bent, 1e-3), (_bent, 1e-2), (_leaky, 0.99)]
)
def test_nearly_linear_layers_add_no_errors(layer, bend, rho):
    """Each took 2e-15 of the kernels: most of them were further off than is promised."""
    depth = 5000
    with mpmath.workdps(30):
        activation, step = layer(bend)
        k = t = mpmath.mpf(rho)
        top, last = mpmath.mpf(1), step(mpmath.mpf(1))[1]
        for _ in range(depth):
            k, slope = step(k)
            t, top = k + slope * t, 1 + last * top
        expected = [float(k), float(t / top)]
    found = [
        kernels.nngp_map(rho, activation, depth),
        kernels.ntk_map(rho, activation, depth, normalized=True),
    ]
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE)


@pytest.mark.parametrize("layer", [act.identity, act.HermiteMixture((0.0, 1.0))])
@pytest.mark.parametrize("depth", [1, 10**9])
def test_linear_layers_change_nothing(layer, depth):
    rho = np.array(RHOS)
    np.testing.assert_allclose(kernels.nngp_map(rho, layer, depth), rho, rtol=1e-15)
    slow = kernels.ntk_map(rho, layer, depth, normalized=True)
    np.testing.assert_allclose(slow, rho, rtol=1e-13)


@pytest.mark.parametrize("gap", [1e-3, 1e-9, 2.0**-50])
@pytest.mark.parametrize("depth", [1, 3])
def test_multiples_keep_the_digits_next_to_opposite_inputs(gap, depth):
    """The kernel of ReLU vanishes there; of a multiple of it no digit was left."""
    twice = 4.0**depth * np.array(kernels.nngp_map([gap - 1.0, 1.0], act.relu, depth))
    found = kernels.nngp_map([gap - 1.0, 1.0], 2 * act.relu, depth)
    np.testing.assert_allclose(found, twice, rtol=1e-13)


def test_closest_rows_take_millions_of_layers_together():
    """They went through them one by one, 0.2 ms each.

    The dual, of squared coefficients (1 - q) q^(k-1), divides rho / (1 - rho) by its slope
    at one, 1 / (1 - q); closer than 2^-64 that is all that a layer does.
    """
    q, depth, x = 1e-5, 6 * 10**6, np.array([[1.0, 0.0], [1.0, 1e-13]])
    own = math.sqrt(1.0 - q)
    high = [own * math.sqrt(q**k) for k in range(5)]
    k, t = kernels.nngp_ntk(x, act.HermiteMixture((0.0, *high)), depth, normalized=True)
    with mpmath.workdps(60):
        exact = mpmath.mpf(q)
        d = 1 - 1 / mpmath.sqrt(1 + mpmath.mpf(1e-13) ** 2)
        w, share = (1 - d) / d, (1 - exact) ** depth
        total = (depth + 1) * w + w * w * (1 - share * (1 - exact)) / exact
        whole = ((1 - exact) ** -(depth + 1) - 1) * (1 - exact) / exact
        last = 1 + share * w
        expected = [float(share * w / last), float(share * total / last**2 / whole)]
    np.testing.assert_allclose([k[0, 1], t[0, 1]], expected, rtol=TOLERANCE)


def test_close_rows_far_out_on_a_wave_take_few_values():
    asked = []

    def slope(x):
        asked.append(x.size)
        return 1.0 + 3.0 * np.cos(3.0 * x)

    own = act.from_function(lambda x: x + np.sin(3.0 * x), derivative=slope)
    for r, o, d in ((55.0, 50.0, 1e-2), (55.0, 54.9, 1e-6), (14.0, 13.5, 1e-4)):
        rho = 1.0 - d
        rows = np.array([[r, 0.0], [o * rho, o * math.sqrt(d * (2.0 - d))]])
        found = kernels.ntk(rows, activation=own, depth=1)
        # Of frequency 3, and what a wave leaves beside x at such lengths is nothing.
        near = math.exp(-4.5 * ((r - o) ** 2 + 2.0 * r * o * d))
        known = r * o * rho * (2.0 + 4.5 * near) + 0.5 * near
        assert found[0, 1] == pytest.approx(known, rel=1e-12)
    # Two waves on 40 deviations, with some values for each: not all pairs of panels.
    assert sum(asked) < 10_000_000


@pytest.mark.parametrize("depth", [1000, 20_000, 29_000])
def test_tangent_kernels_of_tens_of_thousands_of_layers(depth):
    """Layer by layer with 40 digits, where the dual is r (1 - mu (1 - r)), D = 1 + mu."""
    mu = 1.0 / 64.0
    quadratic = act.HermiteMixture((0.0, math.sqrt(1.0 - mu), math.sqrt(mu)))
    for rho in (0.9, -0.9, 1.0 - 1e-6):
        with mpmath.workdps(40):
            r = t = mpmath.mpf(rho)
            share, top, m = (mpmath.mpf(v) for v in (1.0, 1.0, mu))
            for _ in range(depth):
                slope = 1 - m + 2 * m * r
                r = r * (1 - m + m * r)
                t, top = r + slope * t, 1 + (1 + m) * top
            share = t / top
        found = kernels.ntk_map(rho, quadratic, depth, normalized=True)
        if abs(share) > 1e-307:
            assert abs(found / share - 1) <= 1e-12
        else:
            assert abs(found - share) <= 1e-307
