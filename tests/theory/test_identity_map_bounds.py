"""Bounds against 50 digits and exact tails; constructions and counts to the last one."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from theory import identity_map as idm
from theory import mmd

EPS = float(np.finfo(float).eps)

counts = st.integers(1, 60)
channels_ = st.integers(1, 4)
deltas = st.floats(1e-12, 1.0)


# --- the chi-square tail --------------------------------------------------------------


@pytest.mark.parametrize("dof", [1, 2, 3, 16, 128])
@pytest.mark.parametrize("zeta", [1.0, 1.0 + 1e-9, 1.3, 2.0, 5.0, 40.0])
def test_tails_to_all_digits(dof, zeta, error):
    c, z = mpmath.mpf(dof), mpmath.mpf(zeta)
    chernoff = mpmath.exp(-c / 2 * (z - 1 - mpmath.log(z)))
    exact = mpmath.gammainc(c / 2, c * z / 2, mpmath.inf, regularized=True)
    bound = idm.chi_square_tail_bound(zeta, dof)
    # The exponent C (zeta - 1)/2 carries the error.
    # Below the normal floats it is absolute.
    size = max(chernoff, mpmath.mpf(1e-300))
    assert error(bound, chernoff, size) <= (2 + dof * zeta) * EPS
    if exact > 1e-100:
        assert error(idm.chi_square_tail(zeta, dof), exact) <= 1e-12
    assert exact <= chernoff


@pytest.mark.parametrize(("dof", "zeta"), [(2343, 1.438), (3453, 1.477), (5900, 1.401)])
def test_tails_far_above_the_mean_of_thousands_of_degrees(dof, zeta, error):
    c, z = mpmath.mpf(dof), mpmath.mpf(zeta)
    exact = mpmath.gammainc(c / 2, c * z / 2, mpmath.inf, regularized=True)
    # SciPy's exponent is a log x - x - log Gamma(a), terms of up to 26,000: each is
    # rounded by 2e-12 at most.
    assert exact > 1e-100
    assert error(idm.chi_square_tail(zeta, dof), exact) <= 1e-11


@pytest.mark.parametrize("dof", [1e-300, 1e-100, 1e-20, 1e-8, 2e-3, 0.02])
@pytest.mark.parametrize("zeta", [1e-320, 1e-300, 1e-150, 1e-3, 10.0])
def test_tails_of_hardly_any_degree_of_freedom(dof, zeta, error):
    with mpmath.workdps(700):
        a = mpmath.mpf(dof) / 2
        x = a * mpmath.mpf(zeta)
        # 1 - x^a / Gamma(1 + a) M(a, 1 + a, -x), whose terms fall for x < 1.
        terms = (a / (a + k) * (-x) ** k / mpmath.factorial(k) for k in range(200))
        exact = 1 - x**a / mpmath.gamma(1 + a) * sum(terms)
        assert exact > 1e-299
        assert error(idm.chi_square_tail(zeta, dof), exact) <= 1e-12


@given(st.floats(1.0, 1e3), st.integers(1, 300))
def test_the_bound_bounds(zeta, dof):
    bound = idm.chi_square_tail_bound(zeta, dof)
    assert idm.chi_square_tail(zeta, dof) <= bound * (1 + 1e-12) <= 1 + 2e-12


def test_tails_of_arrays():
    assert idm.chi_square_tail_bound([1.0, 2.0], 3).shape == (2,)
    assert idm.chi_square_tail(1.5, [1.0, 2.0]).shape == (2,)
    assert idm.chi_square_tail(0.0, 4) == 1.0
    # Two degrees of freedom: an exponential law.
    assert idm.chi_square_tail(1.5, 2) == pytest.approx(math.exp(-1.5), rel=1e-14)


@pytest.mark.parametrize("dof", [1, 30, 2465, 29241])
@pytest.mark.parametrize("delta", [1e-6, 0.05, 0.5])
def test_quantiles_of_large_nullities(dof, delta, error):
    # One direction: the sharp form is the quantile of chi^2_C itself.
    found = idm.direction_bound(1, dof, delta, form="sharp")
    tail = mpmath.gammainc(
        mpmath.mpf(dof) / 2, mpmath.mpf(found) / 2, mpmath.inf, regularized=True
    )
    density = (
        mpmath.exp(
            (mpmath.mpf(dof) / 2 - 1) * mpmath.log(mpmath.mpf(found) / 2)
            - mpmath.mpf(found) / 2
            - mpmath.loggamma(mpmath.mpf(dof) / 2)
        )
        / 2
    )
    assert abs(tail - mpmath.mpf(delta)) / density <= 1e-12 * found


def test_quantiles_of_a_bound_that_fails_nearly_always(error):
    # chi^2_2 is exponential: F(q)^2 = 1 - delta = 3 / 2^52 at q = -2 log(1 - F(q)).
    found = idm.direction_bound(2, 2, 1.0 - 3.0 * 2.0**-52, form="sharp")
    exact = -2 * mpmath.log1p(-mpmath.sqrt(3) * mpmath.mpf(2) ** -26)
    # The logarithm of F(q), -17.5, is rounded.
    assert error(found, exact) <= 20 * EPS


# --- constants and probabilities ------------------------------------------------------


@given(counts, channels_, deltas)
def test_the_least_constant(n, channels, delta):
    m = idm.least_constant(n, channels, delta)
    with mpmath.workdps(60):
        y = mpmath.mpf(2) / channels * mpmath.log(n / mpmath.mpf(delta))
        exact = -mpmath.lambertw(-mpmath.exp(-1 - y), -1).real if y else mpmath.mpf(1)
        # log(n/delta) rounds in eps; where M is near one, d M = M dy / (M - 1).
        slack = 8 * EPS * (1 + y) * exact / max(exact - 1, mpmath.mpf(EPS) ** 0.5)
        assert abs(m - exact) <= slack + 4 * EPS * exact
    if m > 1.0 + 1e-6:
        found = idm.least_failure_probability(n, channels, m)
        assert found == pytest.approx(delta, rel=1e-9)
        # zeta = M there, so that eq. (11) is C M.
        bound = idm.direction_bound(n, channels, delta)
        assert bound == pytest.approx(channels * m, rel=1e-12)


@given(counts, channels_, st.floats(1.0 + 1e-6, 100.0))
def test_the_printed_probability_is_larger(n, channels, m):
    exact = idm.least_failure_probability(n, channels, m)
    printed = idm.least_failure_probability(n, channels, m, form="printed")
    assert exact <= printed * (1 + 1e-12)


def test_the_printed_probability_can_exceed_one(error):
    x = (mpmath.mpf(9) - mpmath.log(10)) / 2
    exact = idm.least_failure_probability(10, 1, 10.0)
    printed = idm.least_failure_probability(10, 1, 10.0, form="printed")
    assert error(exact, 10 * mpmath.exp(-x)) <= 1e-14
    assert error(printed, 10 / x) <= 1e-14
    assert (round(exact, 3), round(printed, 2)) == (0.351, 2.99)
    assert idm.least_failure_probability(0, 3, 2.0) == 0.0


@given(counts, channels_, st.floats(1e-9, 0.5), st.floats(1.0, 4.0))
def test_direction_bounds_hold_by_the_exact_law(n, channels, delta, larger):
    # n independent chi-square variables all stay below b with probability F(b)^n.
    def failure(b):
        tail = idm.chi_square_tail(b / channels, channels)
        return -math.expm1(n * math.log1p(-tail))

    m = larger * idm.least_constant(n, channels, delta)
    printed = idm.direction_bound(n, channels, delta)
    loose = idm.direction_bound(n, channels, delta, constant=m)
    sharp = idm.direction_bound(n, channels, delta, form="sharp")
    assert failure(printed) <= delta
    assert failure(sharp) == pytest.approx(delta, rel=1e-9)
    assert sharp <= printed <= loose * (1 + 1e-12)


# --- the bound of Theorem 2 -----------------------------------------------------------


GRID = list(itertools.product((1, 7, 57), (3, 15), (1, 3), (1e-6, 0.05, 0.9)))


@pytest.mark.parametrize(("n", "kernel", "channels", "delta"), GRID)
def test_mse_bound_by_its_formula(n, kernel, channels, delta, error):
    n = min(n, kernel**2 * channels)
    case = {"pixel_bound": 2.8, "scale": 0.11, "delta": delta}
    d, c = mpmath.mpf(delta), channels
    y = 2 * mpmath.log(n / d) / c
    m = -mpmath.lambertw(-mpmath.exp(-1 - y), -1).real
    rho = 2 * mpmath.log(n / d) + c * (1 + mpmath.log(m))
    patch = mpmath.mpf(2.8) ** 2 * kernel**2
    s = mpmath.mpf(0.11)
    total = (mpmath.sqrt(n * s**2 * rho) + mpmath.sqrt(n * c)) ** 2 * patch
    bound = idm.mse_bound(n, kernel, channels, **case)
    assert error(bound.total, total) <= 1e-12
    assert (bound.channels, bound.delta) == (channels, delta)
    assert error(bound.selector, mpmath.sqrt(n * c)) <= 2 * EPS
    assert error(bound.patch**2, patch * c) <= 1e-14
    # Sharp: the quantile of chi^2_{nC}, found from the tail's own definition.
    guess = stats.chi2.isf(delta, n * c)
    root = mpmath.findroot(
        lambda q: (
            mpmath.gammainc(mpmath.mpf(n * c) / 2, q / 2, mpmath.inf, regularized=True)
            - d
        ),
        mpmath.mpf(float(guess)),
    )
    spectral = mpmath.sqrt(n) + mpmath.sqrt(c) + mpmath.sqrt(-2 * mpmath.log(d))
    total = (s * min(mpmath.sqrt(root), spectral) + 1) ** 2 * patch
    sharp = idm.mse_bound(n, kernel, channels, form="sharp", **case)
    assert error(sharp.total, total) <= 1e-12
    assert sharp.total < bound.total


def test_mse_bound_with_a_constant_of_ones_own():
    case = {"pixel_bound": 1.0, "scale": 0.5, "delta": 0.4}
    own = idm.mse_bound(10, 5, 1, constant=10.0, **case)
    rho = 2 * math.log(10 / 0.4) + 1 + math.log(10)
    assert own.weights == pytest.approx(0.5 * math.sqrt(10 * rho), rel=1e-14)
    with pytest.raises(ValueError, match=r"`delta` must be at least delta_0 = 0\.351"):
        idm.mse_bound(10, 5, 1, constant=10.0, pixel_bound=1.0, scale=0.5, delta=0.35)


@given(st.integers(0, 27), st.floats(1e-9, 1.0), st.floats(1e-4, 10.0))
def test_sharp_is_sharper(n, delta, scale):
    case = {"pixel_bound": 1.0, "scale": scale, "delta": delta}
    printed = idm.mse_bound(n, 3, 3, **case)
    sharp = idm.mse_bound(n, 3, 3, form="sharp", **case)
    assert sharp.total <= printed.total
    if n == 0:
        assert printed.total == 0.0


@pytest.mark.parametrize(("side", "kernel", "channels"), [(2, 3, 1), (3, 5, 2)])
def test_errors_exceed_the_sharp_bound_no_oftener_than_allowed(side, kernel, channels):
    rng = np.random.default_rng(4)
    image = rng.uniform(-1, 1, (side, side, channels))
    test = np.sign(rng.standard_normal((9, 9, channels)))
    scale, draws, delta = 0.3, 2000, 0.2
    w0 = scale * rng.standard_normal((draws, kernel**2 * channels, channels))
    n = idm.patch_rank(image, kernel).nullity
    assert n > 0
    case = {"pixel_bound": 1.0, "scale": scale, "delta": delta}
    bound = idm.mse_bound(n, kernel, channels, form="sharp", **case)
    mse = idm.one_layer_conv_mse(image, test, w0)
    worst = [idm.worst_patch_error(image, kernel, w) for w in w0[:200]]
    failures = int(np.sum(np.array(worst) > (bound.weights + bound.selector) ** 2))
    # Clopper-Pearson at 1e-6: the failure probability is at most delta.
    assert stats.binomtest(failures, 200, delta, alternative="greater").pvalue > 1e-6
    assert mse.max() < idm.mse_bound(n, kernel, channels, **case).total
    expected = idm.expected_mse(image, kernel, test, scale=scale)
    z = (mse.mean() - expected) / (mse.std(ddof=1) / math.sqrt(draws))
    assert abs(z) < 4.9


@pytest.mark.parametrize(("dim", "channels"), [(3, 1), (5, 4), (40, 3)])
def test_the_projector_bound_is_attained(dim, channels):
    # n = 1: the centre tap itself is unseen; n = K^2 C: everything is.
    assert idm.selector_norm_bound(1, channels) == 1.0
    assert idm.selector_norm_bound(dim, channels) == math.sqrt(min(dim, channels))
    printed = idm.selector_norm_bound(dim, channels, form="printed")
    assert printed == math.sqrt(dim * channels)
    assert idm.selector_norm_bound(0, channels) == 0.0


def test_selector_norms_of_real_projectors():
    rng = np.random.default_rng(5)
    for side, kernel, channels in ((2, 3, 1), (3, 5, 2), (1, 3, 3)):
        image = rng.standard_normal((side, side, channels))
        rank = idm.patch_rank(image, kernel)
        x = idm.patches(image, kernel)
        off = idm.centre_selector(kernel, channels)
        off = off - np.linalg.pinv(x) @ (x @ off)
        bound = idm.selector_norm_bound(rank.nullity, channels)
        assert np.linalg.norm(off) <= bound * (1 + 1e-12)


def test_patch_norms():
    image = np.full((7, 7, 4), -0.5)
    norms = np.linalg.norm(idm.patches(image, 3), axis=1)
    assert norms.max() == idm.patch_norm_bound(3, 4, 0.5) == 3.0
    assert norms.min() == 2.0


def test_more_channels_raise_the_order():
    # m = K^2 C^2 parameters, m (m/C - r) / C.
    for kernel, channels, rank in ((3, 1, 4), (5, 3, 49), (7, 2, 98)):
        m = kernel**2 * channels**2
        found = idm.mse_order(kernel, channels, rank)
        assert found == m * (m / channels - rank) / channels
    fixed_rank = [idm.mse_order(3, c, 4) for c in (1, 2, 4)]
    fixed_nullity = [idm.mse_order(3, c, 9 * c - 4) for c in (1, 2, 4)]
    assert fixed_rank == [45.0, 252.0, 1152.0]
    assert fixed_nullity == [36.0, 72.0, 144.0]


# --- constructions --------------------------------------------------------------------


def dense(weights, x, *, relu):
    for i, w in enumerate(weights):
        x = w @ x
        if relu and i < len(weights) - 1:
            x = np.maximum(x, 0.0)
    return x


def convolved(weights, image, *, relu):
    for i, theta in enumerate(weights):
        kernel = theta.shape[-1]
        out = idm.patches(image, kernel) @ idm.weights_from_framework(theta)
        image = out.reshape(*image.shape[:2], -1)
        if relu and i < len(weights) - 1:
            image = np.maximum(image, 0.0)
    return image


@pytest.mark.parametrize("layers", [1, 2, 3, 6])
@pytest.mark.parametrize("spare", [0, 5])
def test_identities_are_exact(layers, spare):
    rng = np.random.default_rng(6)
    x = rng.standard_normal((4, 8)) * 10.0 ** rng.integers(-300, 300, (4, 8))
    linear = idm.linear_identity(4, layers, width=4 + spare)
    assert dense(linear, x, relu=False).tolist() == x.tolist()
    relu = idm.relu_identity(4, layers, width=8 + spare)
    assert dense(relu, x, relu=True).tolist() == x.tolist()
    assert len(linear) == len(relu) == layers
    for size in ((1, 1), (7, 3), (28, 28)):
        image = rng.standard_normal((*size, 2))
        net = idm.linear_convolution_identity(5, 2, layers, channels=2 + spare)
        assert convolved(net, image, relu=False).tolist() == image.tolist()
        net = idm.relu_convolution_identity(3, 2, layers, channels=4 + spare)
        assert convolved(net, image, relu=True).tolist() == image.tolist()


def test_shapes_are_those_of_a_framework():
    net = idm.relu_convolution_identity(5, 1, 4, channels=128)
    shapes = [(128, 1, 5, 5), (128, 128, 5, 5), (128, 128, 5, 5), (1, 128, 5, 5)]
    assert [w.shape for w in net] == shapes
    assert sum(w.size for w in net) == idm.cnn_parameter_count(5, 128, 4)
    net = idm.relu_identity(3, 3, width=10)
    assert [w.shape for w in net] == [(10, 3), (10, 10), (3, 10)]
    assert sum(w.size for w in net) == idm.fcn_parameter_count(3, 10, 3)
    split, *_, merge = idm.relu_identity(2, 3)
    assert split.tolist() == [[1, 0], [0, 1], [-1, 0], [0, -1]]
    assert merge.tolist() == split.T.tolist()


# --- counts ---------------------------------------------------------------------------

FCN = {
    (784, 1): 614656,
    (784, 2): 1229312,
    (784, 4): 2458624,
    (784, 6): 3687936,
    (784, 8): 4917248,
    (784, 10): 6146560,
    (2048, 2): 3211264,
    (2048, 4): 11599872,
    (2048, 6): 19988480,
    (2048, 8): 28377088,
    (2048, 10): 36765696,
}

CNN = """
1 25 25 - 49 49 -
3 375 416000 - 735 815360 -
5 825 1235200 78694400 1617 2420992 154241024
6 1050 1644800 - 2058 3223808 -
7 1275 2054400 131123200 2499 4026624 257001472
8 1500 2464000 - 2940 4829440 -
9 1725 2873600 - 3381 5632256 -
10 1950 3283200 - 3822 6435072 -
11 2175 3692800 - 4263 7237888 -
12 2400 4102400 262195200 4704 8040704 513902592
13 2625 4512000 - 5145 8843520 -
14 2850 4921600 314624000 5586 9646336 616663040
15 3075 5331200 - 6027 10449152 -
16 3300 5740800 - 6468 11251968 -
17 3525 6150400 - 6909 12054784 -
19 3975 6969600 - 7791 13660416 -
20 4200 7379200 471910400 8232 14463232 924944384
24 5100 9017600 - 9996 17674496 -
"""

WIDE = {
    9: 4002048,
    13: 8349952,
    17: 14278912,
    25: 30880000,
    29: 41552128,
    57: 160526592,
}


def test_every_count_of_table_1():
    for (width, layers), count in FCN.items():
        assert idm.fcn_parameter_count(784, width, layers) == count
    seen = 0
    for line in CNN.split("\n")[1:-1]:
        layers, *row = line.split()
        kinds = itertools.product((5, 7), (3, 128, 1024))
        for (kernel, channels), count in zip(kinds, row, strict=True):
            if count != "-":
                found = idm.cnn_parameter_count(kernel, channels, int(layers))
                assert found == int(count)
                seen += 1
    assert seen == 18 * 4 + 2 * 5
    for kernel, count in WIDE.items():
        assert idm.cnn_parameter_count(kernel, 128, 5) == count


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 5), st.integers(1, 9))
def test_counts_are_sums_over_layers(inputs, width, layers, outputs):
    sizes = [inputs, *[width] * (layers - 1), outputs]
    total = sum(a * b for a, b in itertools.pairwise(sizes))
    assert idm.fcn_parameter_count(inputs, width, layers, outputs) == total
    sizes[-1] = inputs
    total = 9 * sum(a * b for a, b in itertools.pairwise(sizes))
    assert idm.cnn_parameter_count(3, width, layers, inputs) == total


# --- initialisation and coverage ------------------------------------------------------


@pytest.mark.parametrize(("i", "o"), [(1, 1), (25, 3200), (3200, 25), (784, 2048)])
def test_variances(i, o, error):
    i_, o_ = mpmath.mpf(i), mpmath.mpf(o)
    expected = {
        "default": 1 / (i_ * o_),
        "default-sqrt": 1 / mpmath.sqrt(i_ * o_),
        "framework": (2 / mpmath.sqrt(i_)) ** 2 / 12,
        "xavier-normal": 2 / (i_ + o_),
        "xavier-uniform": (2 * mpmath.sqrt(6 / (i_ + o_))) ** 2 / 12,
        "kaiming-normal": 2 / i_,
        "kaiming-uniform": (2 * mpmath.sqrt(6 / i_)) ** 2 / 12,
        "orthogonal": min(i_, o_) / (i_ * o_),
    }
    assert tuple(expected) == idm.SCHEMES
    for scheme, variance in expected.items():
        found = idm.initial_variance(scheme, i, o)
        assert error(found, variance) <= 4 * EPS
        shrink = mpmath.sqrt(i_ * variance / 2)
        assert error(idm.relu_shrink(scheme, i, o), shrink) <= 4 * EPS


def test_the_printed_default_lets_signals_die():
    deviation = math.sqrt(idm.initial_variance("default", 3200, 3200))
    assert deviation == pytest.approx(3.125e-4, rel=1e-12)
    shrink = idm.relu_shrink("default", 3200, 3200)
    assert shrink == pytest.approx(0.0125, rel=1e-12)
    assert shrink**19 < 1e-36
    # Its other readings keep a signal for twenty layers in float32.
    for scheme in ("default-sqrt", "framework"):
        assert idm.relu_shrink(scheme, 3200, 3200) ** 19 > 1e-12


def test_orthogonal_variance_is_that_of_a_rotation():
    # The squares of an orthogonal matrix's rows add up to one.
    q = np.linalg.qr(np.random.default_rng(7).standard_normal((6, 4)))[0]
    assert np.mean(q**2) == pytest.approx(idm.initial_variance("orthogonal", 6, 4))


@given(
    st.integers(1, 12), st.integers(1, 12), st.sampled_from([1, 3, 7, 23]), st.data()
)
def test_coverage_by_counting(height, width, kernel, data):
    i = data.draw(st.integers(0, height - 1))
    j = data.draw(st.integers(0, width - 1))
    row, column = np.indices((height, width))
    half = kernel // 2
    seen = (abs(row - i) <= half) & (abs(column - j) <= half)
    assert idm.coverage(kernel, height, width, i, j) == seen.mean()


def test_a_29_filter_sees_less_than_half_from_a_corner():
    assert idm.coverage(29, 28, 28, 0, 0) == 225 / 784
    assert idm.coverage(29, 28, 28, 0, 0) == pytest.approx(0.287, abs=5e-4)
    everywhere = {
        kernel: min(
            idm.coverage(kernel, 28, 28, i, j) for i in range(28) for j in range(28)
        )
        for kernel in (29, 53, 55, 57)
    }
    assert everywhere[29] < 0.5
    assert everywhere[53] < 1.0
    assert everywhere[55] == everywhere[57] == 1.0


@given(st.sampled_from([1, 3, 5]), st.integers(1, 4))
def test_receptive_field_by_an_impulse(kernel, layers):
    size = idm.receptive_field(kernel, layers)
    image = np.zeros((size + 2, size + 2))
    image[(size + 2) // 2, (size + 2) // 2] = 1.0
    for _ in range(layers):
        image = (idm.patches(image, kernel) @ np.ones(kernel**2)).reshape(image.shape)
    assert int(np.count_nonzero(image)) == size**2


@pytest.mark.parametrize("above", [1e-12, 1e-9, 1e-5, 1e-3, 0.5, 1.0, 30.0])
def test_constants_next_to_one(above, error):
    m = 1.0 + above
    with mpmath.workdps(60):
        excess = mpmath.mpf(m) - 1 - mpmath.log(mpmath.mpf(m))
        printed, channels = 20 / excess, max(1, int(4 / excess))
        sharp = 10 * mpmath.exp(-channels * excess / 2)
        bound = mpmath.exp(-channels * excess / 2)
    found = idm.least_failure_probability(10, 1, m, form="printed")
    assert error(found, printed) <= 2e-15
    assert error(idm.least_failure_probability(10, channels, m), sharp) <= 1e-14
    assert error(idm.chi_square_tail_bound(m, channels), bound) <= 1e-14


def test_bounds_beyond_float64():
    assert idm.chi_square_tail_bound(1e200, 1e200) == 0.0
    tails = idm.chi_square_tail([0.5, 1.0, 1.2, 1.5, 2.0, 1e10], 1e308)
    np.testing.assert_array_equal(tails, [1.0, 0.5, 0.0, 0.0, 0.0, 0.0])
    # 2 (log 2^200 + 300 log 10) and a little more; the quotient is no float.
    assert 1600.0 < idm.direction_bound(2**200, 1, 1e-300) < 1700.0
    with pytest.raises(ValueError, match="direction_bound: `nullity` and `delta`"):
        idm.direction_bound(2**200, 1, 1e-300, form="sharp")
    with pytest.raises(ValueError, match="mse_order: `kernel_size` and `channels`"):
        idm.mse_order(2**199 + 1, 2**199, 0)


@pytest.mark.parametrize("dof", [2 * 10**5 + 1, 10**6, 10**8, 10**10])
@pytest.mark.parametrize("below", [4.1, 5.0, 6.0, 8.0, 40.0])
def test_tails_far_below_the_mean_of_many_degrees(dof, below, error):
    zeta = 1.0 - below * math.sqrt(2.0 / dof)
    with mpmath.workdps(40):
        a = mpmath.mpf(dof) / 2
        x, step = a * mpmath.mpf(zeta), mpmath.sqrt(a) / 2
        ends = [x - k * step for k in range(12, -1, -1)]

        def density(t):
            return mpmath.exp((a - 1) * mpmath.log(t) - t - mpmath.loggamma(a))

        exact = 1 - mpmath.quad(density, ends)
    assert error(idm.chi_square_tail(zeta, dof), exact) <= 1e-15
    assert error(mmd.norm_tail(math.sqrt(dof * zeta), dof), exact) <= 2e-13
