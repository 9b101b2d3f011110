"""Inputs off the sphere: lengths, correlations, and NormReLU's own analysis."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theory import activations as act
from theory import lengths
from theory.conditioning import correlation_bound, normrelu_constants

NINETEENTH = act.from_function(lambda x: x**19, name="x^19")
TANH = act.tanh.normalized()
ODD = ["tanh", "erf", "arctan", "asinh", "hard_tanh", "softsign"]
KINK = act.normrelu().kinks[0]

# Reference table: length map at 1/2, chord rate, slope at 1. The tables carry 15 to 18
# digits; values are held to 1e-13, or to what is printed.
TABLE = [
    ("tanh", 0.69409112884281208, 0.61181774231437584, 0.461070830477631361),
    ("erf", 0.717526286869199516, 0.564947426261600969, 0.408566667928563569),
    ("arctan", 0.65433770073143867, 0.69132459853712266, 0.560819031809029125),
    ("selu", 0.579216198104166214, 0.841567603791667572, None),
]


@pytest.mark.parametrize(("name", "half", "rate", "slope"), TABLE)
def test_table(name, half, rate, slope):
    a = act.CATALOGUE[name].normalized()
    assert a.length_map(0.5) == pytest.approx(half, rel=1e-13)
    assert lengths.chord_rate(a) == pytest.approx(rate, rel=1e-13)
    if slope is not None:
        assert a.length_map_derivative(1.0) == pytest.approx(slope, rel=1e-13)


def test_trajectories_of_tanh():
    up = [2.0, 1.31874971202183345, 1.12811870112273295, 1.05573709104050106]
    low = [0.5, 0.69409112884281208, 0.834500137291180656, 0.917150615270897852]
    assert lengths.length_trajectory(TANH, 2.0, 3) == pytest.approx(up, rel=1e-13)
    assert lengths.length_trajectory(TANH, 0.5, 3) == pytest.approx(low, rel=1e-13)
    x, y, r = lengths.joint_trajectory(TANH, 2.0, 0.5, 0.9, 3)
    assert x == pytest.approx(up, rel=1e-13)
    assert y == pytest.approx(low, rel=1e-13)
    assert r[:2] == pytest.approx([0.9, 0.874999307271707625], rel=1e-13)
    assert lengths.length_trajectory(TANH, 0.7, 0).tolist() == [0.7]


def test_homogeneous_lengths_keep_their_ratio():
    a = act.CATALOGUE["abs"]
    assert lengths.length_trajectory(a, 3.0, 4) == pytest.approx([3.0] * 5, rel=1e-14)
    scaled = act.leaky_relu(0.3)
    assert lengths.chord_rate(
        act.Affine(scaled, 1 / math.sqrt(scaled.second_moment), 0.0)
    ) == pytest.approx(1.0, rel=1e-13)


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(ODD), st.floats(0.5, 6.0), st.integers(1, 6))
def test_lengths_contract_at_the_chord_rate(name, gamma, depth):
    a = act.CATALOGUE[name].normalized()
    end = lengths.length_trajectory(a, gamma, depth)[-1]
    bound = lengths.chord_rate(a) ** depth * abs(gamma - 1.0)
    assert abs(end - 1.0) <= bound * (1 + 1e-12) + 1e-13


def test_generalised_mu():
    assert lengths.generalised_mu(TANH, 1.0) == pytest.approx(TANH.mu, rel=1e-14)
    found = [lengths.generalised_mu(TANH, g) for g in (2.0, 0.5)]
    expected = [0.113715258173596649, 0.0361860154618302388]
    assert found == pytest.approx(expected, rel=1e-13)
    for gamma in (0.3, 2.5):
        a1 = act.gelu.hermite(1, var=gamma)[1]
        share = 1 - a1**2 / act.gelu.length_map(gamma)
        # Two roundings of a share near a half.
        assert lengths.generalised_mu(act.gelu, gamma) == pytest.approx(
            share, rel=1e-13
        )


def test_rest_share():
    for gamma in (0.5, 1.0, 1.5):
        a = act.normrelu().hermite(1, var=gamma)
        share = 1 - (a[0] ** 2 + a[1] ** 2) / act.normrelu().length_map(gamma)
        found = lengths.rest_share(act.normrelu(), gamma)
        # The difference loses 1/0.0026 = 400 of 1e-16.
        assert found == pytest.approx(share, rel=1e-12)
    found = lengths.rest_share(act.normrelu(), 0.5)
    assert found == pytest.approx(0.00258579974080577, rel=1e-12)


def test_odd_correlation_bound():
    found = lengths.odd_correlation_bound(
        0.9, lengths.generalised_mu(TANH, 2.0), lengths.generalised_mu(TANH, 0.5)
    )
    assert found == pytest.approx(0.896250372352297592, rel=1e-14)
    assert lengths.odd_correlation_bound(-0.9, 0.2, 0.1) == (
        lengths.odd_correlation_bound(0.9, 0.2, 0.1)
    )
    assert lengths.odd_correlation_bound(0.0, 0.5, 0.5) == 0.0
    assert lengths.odd_correlation_bound(1.0, 0.5, 0.5) == 1.0


@settings(deadline=None, max_examples=30)
@given(
    st.sampled_from(["tanh", "erf", "arctan", "asinh"]),
    st.floats(0.3, 3.0),
    st.floats(0.3, 3.0),
    st.floats(-1.0, 1.0),
)
def test_one_layer_obeys_the_odd_bound(name, x, y, rho):
    a = act.CATALOGUE[name].normalized()
    mus = [lengths.generalised_mu(a, g) for g in (x, y)]
    r = lengths.joint_trajectory(a, x, y, rho, 1)[2][1]
    # Near |rho| = 1 the correlation is a ratio of numbers good to 1e-13.
    assert abs(r) <= lengths.odd_correlation_bound(rho, *mus) + 5e-13


def test_lengths_settle_in_one_layer_after_a_function_of_one_length():
    """Their rate is zero: it was none, with a division by zero."""
    assert lengths.settling_depth(act.sign, [2.0, 1.0], 1.0).tolist() == [1, 0]


def test_settling_depth():
    assert lengths.settling_depth(TANH, 2.0, 0.5) == 7
    assert lengths.settling_depth(TANH, 1.0, 1.0) == 0
    assert lengths.settling_depth(TANH, 1.0, 1.0 + 1e-9) == 0
    with pytest.raises(ValueError, match=r"settling_depth: `activation` must contract"):
        lengths.settling_depth(act.identity, 2.0, 2.0)


@settings(deadline=None, max_examples=10)
@given(
    st.sampled_from(["tanh", "erf", "arctan"]), st.floats(0.5, 4.0), st.floats(0.5, 4.0)
)
def test_after_settling_lengths_are_near_one(name, x, y):
    a = act.CATALOGUE[name].normalized()
    settle = lengths.settling_depth(a, x, y)
    for gamma in (x, y):
        end = lengths.length_trajectory(a, gamma, settle)[-1]
        assert abs(end - 1.0) <= a.mu / 2.0 + 1e-13
    delta, depth = 0.1, settle + 20
    rho = lengths.joint_trajectory(a, x, y, 1 - delta, depth)[2][-1]
    bound = lengths.correlation_bound_any_length(a, x, y, delta, depth)
    assert abs(rho) <= bound
    assert bound == correlation_bound(20, delta, a.mu / 2.0)
    if settle:
        early = lengths.correlation_bound_any_length(a, x, y, delta, settle - 1)
        assert early == 1.0


# --- NormReLU -------------------------------------------------------------------------


def test_normrelu_table():
    found = [lengths.normrelu_length(g, KINK) for g in (0.5, 1.0, 1.5)]
    expected = [0.540435347430976496, 1.0, 1.39486493834266130]
    assert found == pytest.approx(expected, rel=1e-13)
    slopes = [1.01040356455181539, 0.841698843060269086, 0.747124774257567]
    found = lengths.normrelu_length_slope([0.5, 1.0, 1.5], KINK)
    assert found == pytest.approx(slopes, rel=1e-13)
    # The bias squares a mean of 0.02: 1e-16 of the shift 1.7 becomes 2e-13 of the square.
    bias = lengths.normrelu_bias([0.5, 1.5], KINK)
    expected = [8.8001296660137456e-4, 8.1772412225496092e-4]
    assert bias == pytest.approx(expected, rel=1e-12)
    assert lengths.normrelu_bias(1.0, KINK) == pytest.approx(0.0, abs=1e-30)


def test_the_printed_kink_has_its_own_row():
    c = -1.5975
    assert normrelu_constants(c).scale == pytest.approx(1.05000096809554248, rel=1e-14)
    found = [lengths.normrelu_length(g, c) for g in (0.5, 1.5)]
    assert found == pytest.approx([0.539988772725284, 1.39535191921791], rel=1e-13)


@settings(deadline=None, max_examples=40)
@given(st.floats(-6.0, 6.0), st.floats(0.05, 20.0))
def test_normrelu_lengths_are_length_maps(c, gamma):
    # Terms of size (scale c)^2 cancel; 20 roundings of each.
    a, k = act.normrelu(c), normrelu_constants(c)
    slack = 20 * 2.3e-16 * (k.scale * (abs(k.shift) + abs(c) + 1)) ** 2
    found = lengths.normrelu_length(gamma, c)
    assert found == pytest.approx(a.length_map(gamma), rel=1e-13, abs=slack)
    mean = a.hermite(0, var=gamma)[0]
    bias = lengths.normrelu_bias(gamma, c) * found
    assert bias == pytest.approx(mean * mean, rel=1e-12, abs=slack)


@settings(deadline=None, max_examples=40)
@given(st.floats(-3.0, 1.0), st.floats(0.2, 4.0))
def test_normrelu_slope_is_the_slope(c, gamma):
    h = 1e-4 * gamma
    ends = [lengths.normrelu_length(gamma + j * h, c) for j in (-2, -1, 1, 2)]
    slope = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h)
    # h^4 f^(5)/30 is 1e-15; the difference divides 1e-15 by 1e-4.
    found = lengths.normrelu_length_slope(gamma, c)
    assert found == pytest.approx(slope, abs=1e-9)
    assert found == pytest.approx(
        act.normrelu(c).length_map_derivative(gamma), abs=1e-11
    )


@pytest.mark.parametrize(
    ("gamma", "c"),
    [(0.10132118364, 0.0), (0.004875826204, -0.1), (0.0652603496, -0.1),
     (0.1317552672, 0.5), (0.0898337695, 1.0)],
)  # fmt: skip
def test_normrelu_length_slope_next_to_its_zeros(gamma, c):
    with mpmath.workdps(50):
        s, k = mpmath.sqrt(mpmath.mpf(gamma)), mpmath.mpf(c)
        shift = k * mpmath.ncdf(-k) - mpmath.npdf(k)
        scale = (1 + k * k) * mpmath.ncdf(-k) - k * mpmath.npdf(k) - shift**2
        one = mpmath.ncdf(-k / s) / scale
        slope = one + shift * mpmath.npdf(k / s) / s / scale
    assert abs(slope) < 1e-8 * one
    assert abs(lengths.normrelu_length_slope(gamma, c) - slope) <= 1e-13 * one


def test_normrelu_decay_constants():
    found = lengths.normrelu_decay(0.5, 1.5, 0.5, act.normrelu())
    assert found.alpha == pytest.approx(0.919129305138047009, rel=1e-13)
    assert found.beta == pytest.approx(0.00176002593320275, rel=1e-12)
    total = found.beta * found.start / (1 - found.alpha)
    assert found.start == 0.5
    assert total == pytest.approx(0.0108817, rel=1e-5)
    least = 0.00258579974080577
    assert found.rate == pytest.approx(1 - least * (0.5 - total), rel=1e-13)
    assert found.bound(0.4, 0) == pytest.approx(0.4, rel=1e-15)
    assert found.bound(0.4, 1) == pytest.approx(
        found.rate * 0.4 + found.beta * 0.5, rel=1e-15
    )


@settings(deadline=None, max_examples=5)
@given(st.floats(0.5, 1.5), st.floats(0.5, 1.5), st.floats(-0.9, 0.9))
def test_normrelu_correlations_obey_their_decay(x, y, rho):
    a = act.normrelu()
    decay = lengths.normrelu_decay(x, y, 1 - abs(rho), a)
    r = lengths.joint_trajectory(a, x, y, rho, 12)[2]
    for depth in range(13):
        assert abs(r[depth]) <= decay.bound(rho, depth) + 1e-12


def test_critical_kink():
    # The scale falls with c; at this kink its square is two.
    scale = normrelu_constants(lengths.CRITICAL_KINK).scale
    assert scale == pytest.approx(math.sqrt(2.0), rel=1e-14)


UNSTABLE = [
    (-0.35, 254.871871252818),
    (-0.3, 28.1092058154676),
    (-0.2, 4.69533764805249),
    (-0.1, 1.83364158222283),
]


@pytest.mark.parametrize(("c", "expected"), UNSTABLE)
def test_unstable_lengths(c, expected):
    # The fixed point moves by 1e-15 gamma / (slope - 1), where slope - 1 > 4e-3.
    found = lengths.unstable_length(c)
    assert found == pytest.approx(expected, rel=1e-11)
    below, above = np.array([0.9, 1.1]) * found
    assert lengths.normrelu_length(below, c) < below
    assert lengths.normrelu_length(above, c) > above


# --- close to the ends ------------------------------------------------------------------


def _exact_excess(kink):
    """x > 0 with length(1 + x) = 1 + x, at 60 digits from the closed form."""
    with mpmath.workdps(60):
        c = mpmath.mpf(kink)
        upper, density = mpmath.ncdf(-c), mpmath.npdf(c)
        b = c * upper - density
        variance = (1 + c * c) * upper - c * density - b * b

        def growth(log):
            x = mpmath.exp(log)
            s = mpmath.sqrt(1 + x)
            u, p = mpmath.ncdf(-c / s), mpmath.npdf(c / s)
            square = (1 + x + c * c) * u - c * s * p
            return ((square + 2 * b * (s * p - c * u) + b * b) / variance - 1 - x) / x

        # About -5 c near zero, and more further away.
        ends = mpmath.log(-4 * c), mpmath.log(-20000 * c)
        return float(mpmath.exp(mpmath.findroot(growth, ends, "anderson", tol=1e-45)))


@pytest.mark.parametrize(
    "kink", [-0.37, -0.3, -0.2, -0.1, -1e-2, -1e-5, -1e-7, -1e-9, -1e-12]
)
def test_unstable_lengths_keep_their_distance_from_one(kink):
    exact = _exact_excess(kink)
    # At -0.37 the map's slope at the root is 1 - 0.005: 2e-16 of either side over that.
    assert lengths.unstable_length(kink, excess=True) == pytest.approx(exact, rel=1e-12)
    assert lengths.unstable_length(kink) == pytest.approx(1 + exact, rel=1e-12)
    assert lengths.unstable_length([kink], excess=True).tolist() == [
        lengths.unstable_length(kink, excess=True)
    ]


@pytest.mark.parametrize("c", [-30.0, -6.0, KINK, -0.3, 0.0, 3.0])
@pytest.mark.parametrize("gamma", [0.1, 0.5, 1.0 + 1e-9, 1.5, 30.0])
def test_normrelu_closed_forms_keep_their_digits(c, gamma):
    with mpmath.workdps(500):
        k, g = mpmath.mpf(c), mpmath.mpf(gamma)
        upper, density, s = mpmath.ncdf(-k), mpmath.npdf(k), mpmath.sqrt(g)
        b = k * upper - density
        variance = (1 + k * k) * upper - k * density - b * b
        u, p = mpmath.ncdf(-k / s), mpmath.npdf(k / s)
        mean = s * p - k * u + b
        length = (g + k * k) * u - k * s * p + 2 * b * (s * p - k * u) + b * b
        bias = float(mean * mean / length)
        length = float(length / variance)
    assert lengths.normrelu_length(gamma, c) == pytest.approx(length, rel=1e-13)
    # Tails e^{-c^2/2} whose exponent is rounded: c^2 ulp, squared.
    slack = 1e-13 + 4e-16 * c * c
    assert lengths.normrelu_bias(gamma, c) == pytest.approx(bias, rel=slack, abs=1e-300)


# --- shapes and refusals ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "plain"),
    [
        (lambda g: lengths.length_trajectory(TANH, g, 2)[-1], (1.3,)),
        (lambda x, y, r: lengths.joint_trajectory(TANH, x, y, r, 2)[2][-1],
         (1.3, 0.7, 0.4)),
        (lambda g: lengths.generalised_mu(TANH, g), (1.3,)),
        (lambda g: lengths.rest_share(TANH, g), (1.3,)),
        (lengths.odd_correlation_bound, (0.4, 0.1, 0.2)),
        (lambda x, y: lengths.settling_depth(TANH, x, y), (1.3, 0.7)),
        (lambda x, y, d, l: lengths.correlation_bound_any_length(TANH, x, y, d, l),
         (1.3, 0.7, 0.1, 9)),
        (lengths.normrelu_length, (1.3, -0.5)),
        (lengths.normrelu_length_slope, (1.3, -0.5)),
        (lengths.normrelu_bias, (1.3, -0.5)),
        (lengths.unstable_length, (-0.2,)),
        (lambda x, y, d: lengths.normrelu_decay(x, y, d, act.normrelu()).rate,
         (1.3, 0.7, 0.4)),
        (lambda r, l: lengths.NormReLUDecay(0.5, 0.1, 0.2, 0.9).bound(r, l), (0.3, 4)),
    ],
)  # fmt: skip
def test_every_argument_broadcasts(call, plain):
    one = call(*plain)
    assert np.ndim(one) == 0
    for i, value in enumerate(plain):
        args = list(plain)
        args[i] = [value, value]
        assert call(*args).tolist() == [one, one]
        args[i] = [[value]] * 3
        args[i - 1] = [plain[i - 1]] * 2 if i else args[i - 1]
        assert call(*args).tolist() == ([[one, one]] if i else [[one]]) * 3


def test_numbers_in_numbers_out():
    assert type(lengths.settling_depth(TANH, 2.0, 1.0)) is int
    assert type(lengths.normrelu_bias(2.0, -1.0)) is float
    assert lengths.length_trajectory(TANH, [[1.0], [2.0]], 3).shape == (4, 2, 1)


def test_equal_inputs_stay_equal():
    # Their correlation is a quotient of two integrals, each rounded.
    for name in ("tanh", "gelu", "softsign"):
        r = lengths.joint_trajectory(act.CATALOGUE[name], 1.7, 1.7, 1.0, 6)[2]
        assert r.max() <= 1.0
        assert r == pytest.approx(1.0, abs=1e-12)


def test_the_decay_is_its_sum():
    for alpha, rate in (
        (0.9, 0.999),
        (0.9, 0.9),
        (0.95, 0.3),
        (0.9, 0.9 + 1e-13),
        (0.0, 0.6),
    ):
        decay = lengths.NormReLUDecay(alpha, 0.1, 0.5, rate)
        for depth in (0, 1, 2, 50):
            terms = sum(alpha**i * rate ** (depth - 1 - i) for i in range(depth))
            expected = rate**depth * 0.3 + 0.1 * 0.5 * terms
            # 50 powers to order 50, each rounded that often.
            assert decay.bound(-0.3, depth) == pytest.approx(expected, rel=1e-13)
    assert lengths.NormReLUDecay(0.9, 0.1, 0.5, 0.999).bound(0.3, 10**9) == 0.0


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: lengths.rest_share(TANH, -1.0),
            "rest_share: `gamma` must be positive",
        ),
        (
            lambda: lengths.generalised_mu(TANH, 0.0),
            "generalised_mu: `gamma` must be positive",
        ),
        (
            lambda: lengths.rest_share(act.exp, 1e8),
            "rest_share: exp: `gamma` must leave the moments within float64",
        ),
        (
            lambda: lengths.rest_share(NINETEENTH, [1.0, 1e16]),
            "rest_share: `gamma` must keep the result within float64, but 1 of 2 entr",
        ),
        (
            lambda: lengths.odd_correlation_bound(0.5, 1.2, 0.1),
            "odd_correlation_bound: `mu_x` must lie in",
        ),
        (
            lambda: lengths.settling_depth(act.tanh, 2.0, 1.0),
            "settling_depth: `activation` must have unit second moment",
        ),
        (
            lambda: lengths.correlation_bound_any_length(
                -act.sign.normalized(), 1.0, 1.0, 0.1, 5
            ),
            "correlation_bound_any_length: `activation` must be non-decreasing",
        ),
        (
            lambda: lengths.correlation_bound_any_length(
                act.gelu.normalized(), 1.0, 1.0, 0.1, 5
            ),
            "correlation_bound_any_length: `activation` must be odd",
        ),
        (
            lambda: lengths.correlation_bound_any_length(
                act.sin.normalized(), 1.0, 1.0, 0.1, 5
            ),
            "correlation_bound_any_length: `activation` must be non-decreasing",
        ),
        (
            lambda: lengths.correlation_bound_any_length(TANH, 1.0, 1.0, 0.1, -1),
            "correlation_bound_any_length: `depth` must be at least 0",
        ),
        (
            lambda: lengths.correlation_bound_any_length(TANH, 1.0, 1.0, 0.0, 5),
            "correlation_bound_any_length: `delta` must lie in",
        ),
        (
            lambda: lengths.normrelu_decay(1.0, 1.0, 0.5, TANH),
            "normrelu_decay: `activation` must be a NormReLU",
        ),
        (
            lambda: lengths.normrelu_decay(1.0, 1.0, 0.5, act.hard_tanh.normalized()),
            "normrelu_decay: `activation` must be a NormReLU",
        ),
        (
            lambda: lengths.normrelu_decay(1.0, 1.0, 0.5, act.leaky_relu(0.1)),
            "normrelu_decay: `activation` must be a NormReLU",
        ),
        (
            lambda: lengths.normrelu_decay(1.0, 1.0, 0.5, act.relu.normalized()),
            "normrelu_decay: `activation` must have a length map that is concave",
        ),
        (
            lambda: lengths.normrelu_decay(1.0, 1.0, 0.5, act.normrelu(-0.4)),
            "normrelu_decay: `activation` must have a length map that is concave",
        ),
        (
            lambda: lengths.unstable_length(-0.2, excess="yes"),
            "unstable_length: `excess` must be True or False",
        ),
        (
            lambda: lengths.NormReLUDecay(0.5, 0.1, 0.2, 0.9).bound(0.5, -1),
            "NormReLUDecay.bound: `depth` must be at least 0",
        ),
        (
            lambda: lengths.length_trajectory(act.relu_squared, 100.0, 20),
            "length_trajectory: `depth` must keep lengths within float64",
        ),
    ],
)
def test_refused(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_the_decay_wants_a_concave_length_map():
    # It is concave on [1/2, 3/2] as far as its slope falls there.
    for c in (KINK, -1.5975, -0.9):
        slope = lengths.normrelu_length_slope(np.linspace(0.5, 1.5, 41), c)
        assert np.all(np.diff(slope) < 0.0)
        assert lengths.normrelu_decay(0.9, 1.1, 0.5, act.normrelu(c)).alpha < 1.0
    slope = lengths.normrelu_length_slope([1.45, 1.5], -0.4)
    assert slope[1] > slope[0]


def _normrelu_by_the_formula(gamma, c):
    """Length, slope and bias from DC-I.len as it stands, with a thousand digits."""
    with mpmath.workdps(1000):
        g, k = mpmath.mpf(gamma), mpmath.mpf(c)
        s = mpmath.sqrt(g)

        def tail(x):
            return mpmath.erfc(x / mpmath.sqrt(2)) / 2

        shift = k * tail(k) - mpmath.npdf(k)
        scale = 1 / ((1 + k * k) * tail(k) - k * mpmath.npdf(k) - shift**2)
        one = s * mpmath.npdf(k / s) - k * tail(k / s)
        two = (g + k * k) * tail(k / s) - k * s * mpmath.npdf(k / s)
        length = scale * (two + 2 * shift * one + shift**2)
        slope = scale * (tail(k / s) + shift * mpmath.npdf(k / s) / s)
        return float(length), float(slope), float(scale * (one + shift) ** 2 / length)


@pytest.mark.parametrize(
    ("gamma", "c"),
    [
        *((0.9, 37.0), (0.25, 37.0), (0.25, 20.0), (4.1, 37.0), (1.0 + 1e-9, 37.0)),
        *((1e-300, 1.0), (1e100, -37.0), (1e-100, -20.0), (3.9, 6.0), (0.3, -6.0)),
    ],
)
def test_normrelu_lengths_at_kinks_far_from_zero(gamma, c):
    length, slope, bias = _normrelu_by_the_formula(gamma, c)
    # Logarithms of the density, 684 at most, and its ratio to another: 1e-13 each.
    assert lengths.normrelu_length(gamma, c) == pytest.approx(length, rel=2e-13, abs=0)
    assert lengths.normrelu_length_slope(gamma, c) == pytest.approx(
        slope, rel=2e-13, abs=0
    )
    assert lengths.normrelu_bias(gamma, c) == pytest.approx(bias, rel=1e-12, abs=0)


def test_normrelu_lengths_beyond_float64_are_refused():
    for function in (lengths.normrelu_length, lengths.normrelu_bias):
        with pytest.raises(ValueError, match=f"{function.__name__}: `gamma` and `c`"):
            function(1e300, 20.0)


def test_trajectories_of_more_layers_than_there_is_time_for_are_refused():
    with pytest.raises(ValueError, match="`depth` must be at most 100000"):
        lengths.length_trajectory(TANH, 1.0, 2**100)
    with pytest.raises(ValueError, match="`depth` must be at most 10000"):
        lengths.joint_trajectory(TANH, 1.0, 1.0, 0.5, 2**100)


@pytest.mark.parametrize(
    "name", ["erf", "sin", "elu", "selu", "softsign", "hard_swish"]
)
def test_correlations_of_the_shortest_inputs_are_kept(name):
    a = act.CATALOGUE[name]
    # Next to zero a function is its slopes on either side, whatever the scale: 1e-100 is
    # as good as 1e-290, where products of variances are zero.
    for x, y in ((1e-290, 1e-290), (1e-290, 1e-100)):
        _, _, near = lengths.joint_trajectory(a, 1e-100, 1e-100, [-0.5, 0.3, 1.0], 1)
        _, _, found = lengths.joint_trajectory(a, x, y, [-0.5, 0.3, 1.0], 1)
        np.testing.assert_allclose(found[1], near[1], rtol=0.0, atol=1e-12)


def test_unstable_lengths_next_to_a_kink_at_zero():
    slope = lengths.unstable_length(-1e-50, excess=True) / 1e-50
    for c in (-1e-200, -1e-300, -5e-324):
        found = lengths.unstable_length(c, excess=True)
        # The least float has no digits.
        assert found == pytest.approx(-c * slope, rel=1e-12, abs=5e-324)


@pytest.mark.parametrize(
    "activation", [act.step, 3.3 * act.step + 0.2, act.sign, act.relu]
)
def test_parallel_inputs_stay_parallel(activation):
    """The quotient's rounding was a distance, of which jumps took the root."""
    found = lengths.joint_trajectory(activation, [1.0, 0.3], 0.3, 1.0, 6)[2]
    assert found.tolist() == [[1.0, 1.0]] * 7


def test_lengths_that_leave_float64_on_the_way_are_laid_to_depth():
    said = r"`depth` must keep lengths within float64, got inf\. Layer 50"
    with pytest.raises(ValueError, match=said):
        lengths.length_trajectory(act.relu.normalized(), 1e300, 100)


@pytest.mark.parametrize("name", ["erf", "sin", "gelu"])
@pytest.mark.parametrize("gamma", [1e-100, 3.7e-61, 2.2e-17, 0.043, 5.5])
def test_shares_of_nearly_straight_functions_have_their_digits(name, gamma):
    with mpmath.workdps(420):
        g, pi = mpmath.mpf(gamma), mpmath.pi
        mean = mpmath.mpf(0)
        if name == "erf":
            linear, square = (
                4 * g / (pi * (1 + 2 * g)),
                2 / pi * mpmath.asin(2 * g / (1 + 2 * g)),
            )
        elif name == "sin":
            linear, square = g * mpmath.exp(-g), (1 - mpmath.exp(-2 * g)) / 2
        else:
            mean = g / mpmath.sqrt(2 * pi * (1 + g))
            linear, angle = g / 4, mpmath.asin(g / (1 + g))
            bent = 2 * g / ((1 + g) * mpmath.sqrt(1 + 2 * g))
            square = g / 4 + g / (2 * pi) * (angle + bent)
        mu = float(1 - linear / square)
        rest = float(1 - (linear + mean**2) / square)
    unit = getattr(act, name)
    assert lengths.generalised_mu(unit, gamma) == pytest.approx(mu, rel=1e-13, abs=0.0)
    assert lengths.rest_share(unit, gamma) == pytest.approx(rest, rel=1e-13, abs=0.0)


def test_shares_of_an_energy_below_float64_are_zero():
    assert lengths.rest_share(act.erf, 1e-120) == 0.0


def test_a_sign_is_odd_whatever_it_is_at_zero() -> None:
    # One layer brings all lengths to one; mu is 1 - 2 / pi.
    expected = [1.0, 0.5, 0.5 * (1.0 - 0.25 * (1.0 - 2.0 / math.pi))]
    sign = act.sign.normalized()
    for value in (-1.0, 0.0, 1.0):
        own = act.from_function(
            lambda x, value=value: np.where(x == 0.0, value, np.sign(x)), kinks=(0.0,)
        )
        for a in (sign, own):
            found = lengths.correlation_bound_any_length(a, 9.0, 1.0, 0.5, [0, 1, 2])
            np.testing.assert_allclose(found, expected, rtol=1e-14)
