"""Width corrections: linear networks, closed forms of ReLU, limits and refusals."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theory import activations as act
from theory import kernels, width
from theory._pair_derivatives import mixed
from theory._pair_moments import moments

RELU = act.relu.scaled(2.0)
LINEAR = act.identity
N = 1000


@settings(deadline=None, max_examples=15)
@given(rho=st.floats(-0.99, 0.99), depth=st.integers(1, 5))
def test_linear_networks_are_products_of_wishart_matrices(rho, depth):
    # A layer multiplies the Gram matrix by an independent Wishart matrix of mean one:
    # (1 + rho^2)/n of variance a layer, to leading order, and no change of the mean.
    assert width.nngp_variance(rho, LINEAR, depth, N) == pytest.approx(
        depth * (1.0 + rho**2) / N, rel=1e-12 / (1.0 - rho**2)
    )
    limit = kernels.nngp_map(rho, LINEAR, depth)
    assert limit == pytest.approx(rho, rel=1e-13, abs=1e-14)
    assert width.nngp_mean(rho, LINEAR, depth, N) == pytest.approx(
        limit, abs=1e-12 / (1.0 - rho**2) ** 2 / N
    )


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_linear_tangent_kernels(depth):
    # On the diagonal every term of the tangent kernel is a product of L independent
    # chi-squares over n, of mean one.
    assert width.ntk_mean(1.0, LINEAR, depth, N) == pytest.approx(depth + 1, rel=1e-13)
    if depth == 1:
        # |W x|^2/n + |v|^2/n, independent: 2/n each.
        assert width.ntk_variance(1.0, LINEAR, 1, N) == pytest.approx(
            4.0 / N, rel=1e-13
        )


def gaussian_product_moments(rho):
    """E s(u)^2 s(v)^2 for ReLU of unit variance, from its arc-cosine kernel of order 2."""
    angle = math.acos(rho)
    order_two = 3 * math.sin(angle) * rho + (math.pi - angle) * (1 + 2 * rho**2)
    return order_two / (2 * math.pi)


@pytest.mark.parametrize("rho", [-1.0, -0.9, 0.0, 0.5, 0.999, 1.0])
def test_one_layer_of_relu_from_arc_cosine_kernels(rho):
    product = act.relu.dual(rho)
    gate = (math.pi - math.acos(rho)) / (2 * math.pi)
    fourth = gaussian_product_moments(rho)
    known = fourth - product**2
    assert width.nngp_variance(rho, act.relu, 1, 7) == pytest.approx(
        known / 7, rel=1e-12, abs=1e-16
    )
    # s s s' s' = s s, and s'^2 = s'.
    both = known + 2 * rho * (product - product * gate) + rho**2 * (3 * gate - gate**2)
    assert width.ntk_variance(rho, act.relu, 1, 7) == pytest.approx(
        both / 7, rel=1e-12, abs=1e-16
    )


@pytest.mark.parametrize("depth", [1, 2, 3, 7, 20])
def test_relu_on_the_diagonal(depth):
    # (1 + 5/n)^L to first order, and the tangent kernel's L (11 L + 7)/(3 (L + 1)).
    assert width.nngp_variance(1.0, RELU, depth, N) == pytest.approx(
        5.0 * depth / N, rel=1e-12
    )
    known = depth * (11 * depth + 7) / (3 * (depth + 1)) * (depth + 1) ** 2 / N
    assert width.ntk_variance(1.0, RELU, depth, N) == pytest.approx(known, rel=1e-12)
    assert width.length_moment(act.relu, depth, N) == pytest.approx(
        1.005**depth, rel=1e-13
    )


def test_the_exact_moment_agrees_with_the_leading_order():
    s, n = act.leaky_relu(0.2), 10**7
    scale = float(kernels.nngp_map(1.0, s, 4)) ** 2
    layer = width.nngp_variance(1.0, s, 4, n) / scale / 4
    # Compared with one: an ulp of it.
    assert width.length_moment(s, 4, n) == pytest.approx((1 + layer) ** 4, rel=4e-16)
    assert layer > 1e-7


@pytest.mark.parametrize(
    "activation", [RELU, act.relu.normalized(), act.tanh, act.hard_tanh, act.gelu]
)
def test_infinite_width_is_the_limit_and_entries_are_continuous(activation):
    for rho in (-0.7, 0.0, 0.6, 1.0):
        assert width.ntk_mean(rho, activation, 3, 10**15) == pytest.approx(
            kernels.ntk_map(rho, activation, 3), rel=1e-12, abs=1e-12
        )
    for f in (width.nngp_mean, width.nngp_variance, width.ntk_mean, width.ntk_variance):
        on, near = f(1.0, activation, 3, 1), f(1.0 - 1e-4, activation, 3, 1)
        # Entries move with the root of the distance at most, 0.01, times a few layers'
        # slopes.
        assert near == pytest.approx(on, rel=0.1, abs=0.05)


def test_antipodes_of_odd_and_even_functions():
    odd, even = act.tanh.normalized(), act.absolute
    for f, sign in ((width.nngp_mean, -1.0), (width.ntk_mean, -1.0)):
        assert f(-1.0, odd, 3, 50) == sign * f(1.0, odd, 3, 50)
        assert f(-1.0, even, 3, 50) == f(1.0, even, 3, 50)
    assert width.ntk_variance(-1.0, odd, 3, 50) == width.ntk_variance(1.0, odd, 3, 50)


def test_shapes_and_types():
    rho = np.array([[0.1, 0.5], [1.0, -0.3]])
    found = width.nngp_variance(rho, RELU, 2, 30)
    assert found.shape == (2, 2)
    assert found[0, 1] == width.nngp_variance(0.5, RELU, 2, 30)
    assert isinstance(width.ntk_mean(0.5, RELU, 2, 30), float)


FUNCTIONS = [
    width.nngp_mean,
    width.nngp_variance,
    width.ntk_mean,
    width.ntk_variance,
]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_bad_input(f):
    name = f.__name__
    with pytest.raises(ValueError, match=rf"{name}: `rho` must lie in"):
        f(1.5, RELU, 1, 10)
    for bad in (0, 1.0, True, None):
        with pytest.raises(ValueError, match=rf"{name}: `depth` must"):
            f(0.5, RELU, bad, 10)
        with pytest.raises(ValueError, match=rf"{name}: `width` must"):
            f(0.5, RELU, 1, bad)
    with pytest.raises(ValueError, match=rf"{name}: `depth` must leave inputs apart"):
        f(0.5, act.hard_sigmoid, 30, 10)
    # Of a smooth function nothing is lost where they have met.
    assert f(0.5, act.sigmoid, 30, 10) == pytest.approx(f(1.0, act.sigmoid, 30, 10))


def test_other_bad_input():
    with pytest.raises(ValueError, match="square-integrable derivative"):
        width.ntk_variance(0.5, act.sign, 1, 10)
    # The NNGP of the same network has no slope in it.
    assert width.nngp_variance(0.5, act.sign, 1, 10) == pytest.approx(
        (1.0 - (1.0 / 3.0) ** 2) / 10, rel=1e-12
    )
    # E s^4 infinite, and one to which the far tails add.
    growing = act.from_function(lambda x: np.exp(x * x / 5.0))
    for quick, rho in [(growing, 1.0), (act.exp.scaled(9.0), 0.3)]:
        with pytest.raises(ValueError, match="`activation` must grow more slowly"):
            width.nngp_variance(rho, quick, 1, 10)
    with pytest.raises(ValueError, match="positively homogeneous of degree one"):
        width.length_moment(act.tanh, 1, 10)
    with pytest.raises(ValueError, match="`width` must"):
        width.length_moment(act.relu, 1, 0)
    with pytest.raises(ValueError, match="`depth` and `width` must keep"):
        width.length_moment(act.relu, 1_000_000, 1000)


@pytest.mark.parametrize(("k", "depth"), [(2, 60), (3, 40), (4, 200)])
def test_lengths_whose_map_is_steep_stay_at_rest(k, depth):
    # E h_k(sqrt(q) Z)^2 has the slope k at its fixed point q = 1, where rounding would grow
    # like k^depth. One input: V' = Var h_k^2 + k^2 V.
    a = act.hermite(k)
    with mpmath.workdps(50):
        root = mpmath.sqrt(mpmath.factorial(k))
        fourth = mpmath.quad(
            lambda x: (
                (
                    mpmath.hermite(k, x / mpmath.sqrt(2))
                    / 2 ** (mpmath.mpf(k) / 2)
                    / root
                )
                ** 4
                * mpmath.npdf(x)
            ),
            mpmath.linspace(-20, 20, 41),
        )
        exact = (fourth - 1) * (mpmath.mpf(k) ** (2 * depth) - 1) / (k * k - 1)
        found = width.nngp_variance(1.0, a, depth, 10)
        # Some ten roundings a layer, and those of the quadrature once.
        assert abs(10 * found / exact - 1) < 1e-15 * depth + 1e-13
    assert width.nngp_mean(1.0, a, 1, 10) == 1.0


def test_gradients_of_two_outputs_meet_as_in_drawn_networks():
    # The tangent kernel between outputs 1 and 2 has mean zero: its value at inputs (a, b),
    # squared, and times the one at (b, a). Of opposite sides, the layer below adds little.
    rho, n, rng = -0.3, 100, np.random.default_rng(31)
    found = np.empty((6000, 2))
    for products in found:
        u, other = rng.standard_normal((2, n))
        u = np.stack([u, rho * u + math.sqrt(1.0 - rho**2) * other])
        w, v = rng.standard_normal((n, n)), rng.standard_normal((2, n))
        first = math.sqrt(2.0) * np.maximum(u, 0.0)
        z = first @ w.T / math.sqrt(n)
        slopes, gates = (math.sqrt(2.0) * (x > 0.0) for x in (z, u))
        # Of outputs by units of the first layer, (inputs, outputs, n).
        back = (slopes[:, None] * v) @ w / math.sqrt(n)
        middle = np.mean(v[0] * v[1] * slopes[0] * slopes[1]) * np.mean(
            first[0] * first[1]
        )
        both = rho * gates[0] * gates[1]
        here = middle + np.mean(both * back[0, 0] * back[1, 1])
        turned = middle + np.mean(both * back[1, 0] * back[0, 1])
        products[:] = here * here, here * turned
    state = width._after(RELU, 2, rho, tangent=True)
    mean, error = n * found.mean(axis=0), n * found.std(axis=0) / math.sqrt(len(found))
    expected = np.array([state.same[1], state.turned[1]])
    # Five standard errors, and the next order in 1/n. They are apart by a factor of three.
    assert np.all(np.abs(mean - expected) <= 5.0 * error + 10.0 / n * expected)
    assert np.all(error <= 0.05 * expected)


def test_depths_that_would_take_hours_are_refused_at_once():
    with pytest.raises(ValueError, match="nngp_mean: `depth` must be at most 10000"):
        width.nngp_mean(0.5, RELU, 10**6, 64)


@pytest.mark.parametrize("omega", [1.0, 8.0, 20.0])
def test_quick_waves_have_the_closed_form(omega):
    # sin^2 = (1 - cos 2x)/2, and cosines of Gaussians have averages in closed form.
    wave, w = act.sin.scaled(omega**2), omega**2

    def spread(k):
        return (1.0 + math.exp(-8.0 * w * k)) / 8.0 - math.exp(-4.0 * w * k) / 4.0

    assert width.nngp_variance(1.0, wave, 1, N) == pytest.approx(
        spread(1.0) / N, rel=1e-12
    )
    k = (1.0 - math.exp(-2.0 * w)) / 2.0
    slope = w * math.exp(-2.0 * w * k)
    assert width.nngp_variance(1.0, wave, 2, N) == pytest.approx(
        (spread(k) + slope**2 * spread(1.0)) / N, rel=1e-12
    )
    near, far = math.exp(-0.7 * w), math.exp(-1.3 * w)  # rho = 0.3
    both = 1.0 - 2.0 * math.exp(-2.0 * w) + (near**4 + far**4) / 2.0
    assert width.nngp_variance(0.3, wave, 1, N) == pytest.approx(
        (both - (near - far) ** 2) / 4.0 / N, rel=1e-12
    )


@pytest.mark.parametrize("rho", [-0.9, 0.0, 0.9, 0.99, 0.999, 0.9999, 0.99998])
def test_the_correction_of_relu_has_the_digits_of_its_terms(rho):
    with mpmath.workdps(50):
        r = mpmath.mpf(rho)
        angle = mpmath.acos(r)

        def product(a, b, c):  # E s_a s_b of sqrt(2) relu
            root = mpmath.sqrt(a * c)
            turn = mpmath.acos(b / root)
            return (root * mpmath.sin(turn) + (mpmath.pi - turn) * b) / mpmath.pi

        def fourth(
            p,
        ):  # 4 E s_a^p s_b^(4 - p): E R^4 = 8, and an integral over the angle
            ends = [angle - mpmath.pi / 2, mpmath.pi / 2]
            arc = mpmath.quad(
                lambda t: mpmath.cos(t) ** p * mpmath.cos(t - angle) ** (4 - p), ends
            )
            return 16 * arc / mpmath.pi

        k = [mpmath.mpf(1), product(1, r, 1), mpmath.mpf(1)]
        even = [6, fourth(3), fourth(2)]
        second = [even, [even[1], even[2], even[1]], even[::-1]]
        terms = []
        for i, j in itertools.product(range(3), repeat=2):
            orders = tuple((i == n) + (j == n) for n in range(3))
            bend = mpmath.diff(product, tuple(k), orders)
            terms.append((second[i][j] - k[i] * k[j]) * bend / 2)
        limit = kernels.nngp_map(rho, act.relu.scaled(2.0), 2)
        found = width.nngp_mean(rho, act.relu.scaled(2.0), 2, 1) - limit
        size = float(sum(map(abs, terms)))
        # The sum with the limit is rounded.
        assert abs(found - float(sum(terms))) < 1e-13 * size + 4e-16


PLACES = [(0, 0), (0, 1), (1, 1)]


@pytest.mark.parametrize("apart", [0.3, 1e-3, 1e-6, 1e-11])
def test_derivatives_of_close_inputs_have_their_digits(apart):
    # tanh^(n) is a polynomial in tanh; the trapezoid rule leaves e^(-pi^2 / h), e^-65,
    # times (2 pi / h)^7 of a pole of the eighth order: 1e-17.
    polynomials = [np.polynomial.Polynomial([0, 1])]
    for _ in range(5):
        polynomials.append(
            polynomials[-1].deriv() * np.polynomial.Polynomial([1, 0, -1])
        )
    with mpmath.workdps(40):
        r, h = 1 - mpmath.mpf(apart), mpmath.mpf("0.15")
        sine = mpmath.sqrt(1 - r**2)
        grid = [h * i for i in range(-60, 61)]
        weights = [h * mpmath.npdf(x) for x in grid]
        orders = [(1, 1), (2, 0), (2, 2), (3, 1), (4, 0), (3, 3), (4, 2), (5, 1)]
        exact = dict.fromkeys(orders, mpmath.mpf(0))

        def at(t):
            return [
                mpmath.polyval([int(c) for c in p.coef[::-1]], t) for p in polynomials
            ]

        for x, w in zip(grid, weights, strict=True):
            inner = [mpmath.mpf(0)] * 6
            for z, v in zip(grid, weights, strict=True):
                value = at(mpmath.tanh(r * x + sine * z))
                inner = [a + v * b for a, b in zip(inner, value, strict=True)]
            outer = at(mpmath.tanh(x))
            for i, j in orders:
                exact[i, j] += w * outer[i] * inner[j]
    k = np.array([[1.0, 1.0 - apart], [1.0 - apart, 1.0]])
    known = mixed(act.tanh, k, apart)
    found = moments(act.tanh, k, tangent=True, derivatives=True, known=known)
    for first, second, up in (
        (found.value_d[1], found.value_dd[1], 0),
        (found.slope_d[1], found.slope_dd[1], 1),
    ):
        for i, one in enumerate(PLACES):
            half, order = _order(up, one)
            assert first[i] == pytest.approx(half * float(exact[order]), rel=1e-13)
            for j, other in enumerate(PLACES):
                half, order = _order(up, one, other)
                assert second[i, j] == pytest.approx(
                    half * float(exact[order]), rel=1e-13
                )


def _order(up, *changes):
    """Return the factor and the order of derivatives that changes of K come to."""
    counts = [sum(c.count(n) for c in changes) + up for n in (0, 1)]
    return 0.5 ** sum(a == b for a, b in changes), (max(counts), min(counts))


@pytest.mark.parametrize("apart", [1.4, 0.3, 1e-6])
@pytest.mark.parametrize("other", [1.0, 1.7])
def test_derivatives_of_straight_pieces_have_their_digits(apart, other):
    # From E s'' s'', a sum of densities, upwards in K_ab: d/dK_ab raises both orders,
    # d/dK_aa twice that of a. Independent inputs have products of means.
    kinks, jumps, poly = (-1.0, 0.3, 2.0), (1.0, -0.5, 0.75), (0.25, 0.125)
    with mpmath.workdps(40):
        p, q = mpmath.mpf(1), mpmath.mpf(other) ** 2
        c = (1 - mpmath.mpf(apart)) * other

        def density(p, c, q):
            root, total = p * q - c * c, mpmath.mpf(0)
            for x, i in zip(kinks, jumps, strict=True):
                for y, j in zip(kinks, jumps, strict=True):
                    form = q * x * x - 2 * c * x * y + p * y * y
                    total += i * j * mpmath.exp(-form / (2 * root))
            return total / (2 * mpmath.pi * mpmath.sqrt(root))

        def means(p):  # E s, E s'
            root, value, slope = (
                mpmath.sqrt(p),
                mpmath.mpf(poly[0]),
                mpmath.mpf(poly[1]),
            )
            for x, i in zip(kinks, jumps, strict=True):
                up = mpmath.ncdf(-x / root)
                value += i * (root * mpmath.npdf(x / root) - x * up)
                slope += i * up
            return value, slope

        def below(n, weight):  # the n-th derivative in p, integrated from independence
            def integrand(t):
                size = mpmath.sqrt(p * q)
                at = size * mpmath.sin(t)
                slope = (
                    mpmath.diff(lambda v: density(v, at, q), p, n)
                    if n
                    else density(p, at, q)
                )
                return (c - at) ** weight * slope * size * mpmath.cos(t)

            return mpmath.quad(
                integrand, mpmath.linspace(0, mpmath.asin(c / mpmath.sqrt(p * q)), 5)
            )

        def start(which, n):
            return mpmath.diff(lambda v: means(v)[which], p, n) * means(q)[which]

        exact = {
            (1, 1): means(p)[1] * means(q)[1] + below(0, 0),
            (2, 0): 2 * (start(0, 1) + c * start(1, 1) + below(1, 1)),
            (4, 0): 4 * (start(0, 2) + c * start(1, 2) + below(2, 1)),
            (3, 1): 2 * (start(1, 1) + below(1, 0)),
            (5, 1): 4 * (start(1, 2) + below(2, 0)),
            (2, 2): density(p, c, q),
            (3, 3): mpmath.diff(lambda v: density(p, v, q), c),
            (4, 2): 2 * mpmath.diff(lambda v: density(v, c, q), p),
        }
    bent = act.PiecewisePolynomial("bent", 1, poly, kinks, jumps)
    c = (1.0 - apart) * other
    known = mixed(2.0 * bent + 0.0, np.array([[1.0, c], [c, other**2]]), apart)
    assert known is not None
    for order, value in exact.items():
        # Of terms that cancel at most to a tenth; orders are those of the first input.
        assert known.pair(*order) == pytest.approx(4.0 * float(value), rel=1e-13), order


def _waves(rho, omega, depth):
    """Return corrections of order 1/width for sin(omega x), in closed form."""
    with mpmath.workdps(60):
        w = mpmath.mpf(omega) ** 2
        k, v, m = (
            [mpmath.mpf(1), mpmath.mpf(rho), mpmath.mpf(1)],
            mpmath.zeros(3),
            [0] * 3,
        )

        def products(units, k):  # E of sines at these inputs: a sum of cosines
            total = mpmath.mpf(0)
            for s in itertools.product((1, -1), repeat=len(units)):
                n = [
                    sum(a for a, u in zip(s, units, strict=True) if u == i)
                    for i in (0, 1)
                ]
                form = n[0] ** 2 * k[0] + 2 * n[0] * n[1] * k[1] + n[1] ** 2 * k[2]
                total += math.prod(s) * mpmath.exp(-w * form / 2)
            return total * (-1) ** (len(units) // 2) / 2 ** len(units)

        for layer in range(depth):
            mean = [products(pair, k) for pair in PLACES]
            fresh = mpmath.matrix(3)
            for i, j in itertools.product(range(3), repeat=2):
                fresh[i, j] = products(PLACES[i] + PLACES[j], k) - mean[i] * mean[j]
            jac = mpmath.matrix(3)
            bent = [mpmath.mpf(0)] * 3
            if layer:
                for i, pair in enumerate(PLACES):
                    f = lambda *k, pair=pair: products(pair, k)  # noqa: E731
                    for a in range(3):
                        jac[i, a] = mpmath.diff(
                            f, tuple(k), tuple(int(a == n) for n in range(3))
                        )
                        for b in range(3):
                            order = tuple((a == n) + (b == n) for n in range(3))
                            bent[i] += mpmath.diff(f, tuple(k), order) * v[a, b] / 2
            m = [sum(jac[i, a] * m[a] for a in range(3)) + bent[i] for i in range(3)]
            v = fresh + jac * v * jac.T
            k = mean
        return k[1], m[1], v[1, 1]


@pytest.mark.parametrize("apart", [0.5, 1e-3, 1e-6, 1e-10])
def test_corrections_of_waves_of_close_inputs_have_their_digits(apart):
    omega, depth = 1.5, 3
    rho, wave = 1.0 - apart, act.sin.scaled(omega**2)
    limit, mean, variance = map(float, _waves(rho, omega, depth))
    # Terms of the mean are of the order of its own size.
    assert width.nngp_mean(rho, wave, depth, 1) == pytest.approx(
        limit + mean, rel=1e-13
    )
    found = width.nngp_variance(rho, wave, depth, 1)
    assert found == pytest.approx(variance, rel=1e-12)


def test_slopes_of_a_wave_by_values_count_wherever_its_argument_lies():
    def wave(x):
        return 30.0 * (np.sin(5.0 * x) + x)

    by_values = act.from_function(wave)
    given = act.from_function(wave, derivative=lambda x: 150.0 * np.cos(5.0 * x) + 30.0)
    for of in (width.ntk_mean, width.ntk_variance):
        assert of(1.0, by_values, 2, N) == pytest.approx(
            of(1.0, given, 2, N), rel=1e-12
        )


def test_quick_waves_take_few_values():
    asked = []

    def wave(x):
        asked.append(x.size)
        return np.sin(20.0 * x)

    own = act.from_function(wave, derivative=lambda x: 20.0 * np.cos(20.0 * x))
    kernels.nngp_map(0.3, own, 1)
    asked.clear()
    width.nngp_variance(0.3, own, 1, N)
    # Frequencies up to 80, of fourth powers, in 32 deviations take some thousand nodes for
    # a side, panels of 16 each ten thousand.
    assert sum(asked) < 10_000_000


@pytest.mark.parametrize("f", [np.tanh, lambda x: 1.0 / (1.0 + 4.0 * x * x)])
def test_even_spacing_is_as_accurate_as_panels(f):
    # A kink that is named, and is none, has panels end there.
    spaced, panels = act.from_function(f), act.from_function(f, kinks=0.0)
    for of in (
        width.nngp_mean,
        width.nngp_variance,
        width.ntk_mean,
        width.ntk_variance,
    ):
        for rho in (-0.9, 1e-3, 0.4):
            # Corrections to the mean are multiplied by the width.
            found, known = (of(rho, a, 3, 1) for a in (spaced, panels))
            assert found == pytest.approx(known, rel=3e-11)


@pytest.mark.parametrize("rho", [0.0, 1.0])
def test_narrow_bumps_and_steep_steps_are_resolved(rho):
    bump = act.from_function(lambda x: np.exp(-((10.0 * (x - 1.0)) ** 2)))
    one, two, four = (
        math.exp(-a / (1 + 2 * a)) / math.sqrt(1 + 2 * a) for a in (100, 200, 400)
    )
    known = four - two**2 if rho else two**2 - one**4
    assert width.nngp_variance(rho, bump, 1, N) == pytest.approx(known / N, rel=1e-12)
    # With h = 1 - s^2, of height one and width 1e-6: E h and E h^2, to a relative 1e-12.
    steep, density = act.tanh.scaled(1e12), 1.0 / math.sqrt(2.0 * math.pi)
    h, squared = 2e-6 * density, 4e-6 / 3.0 * density
    known = squared - h**2 if rho else (1.0 - h) ** 2
    assert width.nngp_variance(rho, steep, 1, N) == pytest.approx(known / N, rel=1e-9)


def test_high_powers_have_their_far_tails():
    # h_12^4 is largest near seven standard deviations, and not nothing at twelve.
    x, w = np.polynomial.hermite_e.hermegauss(40)
    values = act.hermite(12)(x)
    known = float(w @ values**4) / math.sqrt(2.0 * math.pi) - 1.0
    found = width.nngp_variance(1.0, act.hermite(12), 1, N)
    assert found == pytest.approx(known / N, rel=1e-12)
