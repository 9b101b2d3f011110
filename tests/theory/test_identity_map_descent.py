"""One layer on one example: the closed forms against eigenvalues and exact fractions."""

import math
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theory import identity_map as idm

EPS = float(np.finfo(float).eps)


def by_eigenvalues(steps, rate, curvature, momentum):
    """a_t from the roots of z^2 - (1 + m - h) z + m, at 80 digits."""
    with mpmath.workdps(80):
        h = mpmath.mpf(rate) * mpmath.mpf(curvature)
        m = mpmath.mpf(momentum)
        trace = 1 + m - h
        root = mpmath.sqrt(mpmath.mpc(trace * trace - 4 * m))
        one, two = (trace + root) / 2, (trace - root) / 2
        return (((1 - h - two) * one**steps - (1 - h - one) * two**steps) / root).real


RATES = [
    (1e-6, 0.0),
    (0.3, 0.0),
    (1.999999, 0.0),
    (2.0 - 1e-9, 0.0),
    (1e-5, 0.9),
    (0.01, 0.9),
    # Next to the double root (1 - sqrt(m))^2, on both sides.
    ((1 - math.sqrt(0.9)) ** 2 * (1 + 1e-9), 0.9),
    ((1 - math.sqrt(0.9)) ** 2 * (1 - 1e-9), 0.9),
    (3.7999999, 0.9),
    (0.5, 0.999),
    (3.0, 0.1),
]


@pytest.mark.parametrize("steps", [1, 2, 3, 10, 999, 12345, 2_000_000])
@pytest.mark.parametrize(("rate", "momentum"), RATES)
def test_residual_factors_have_all_digits(rate, momentum, steps, error):
    found = idm.residual_factors(
        steps, learning_rate=rate / 3.0, curvature=3.0, momentum=momentum
    )
    exact = by_eigenvalues(steps, rate / 3.0, 3.0, momentum)
    if abs(exact) > 1e300:
        assert abs(found) > 1e300
    elif abs(exact) < 1e-300:
        assert abs(found) < 1e-299
    else:
        # Twice the digits inside, one rounding at the end.
        assert error(found, exact) <= EPS


@given(
    st.integers(0, 40),
    st.fractions(Fraction(1, 64), 4, max_denominator=64),
    st.fractions(0, Fraction(63, 64), max_denominator=64),
)
def test_residual_factors_follow_the_recursion(steps, h, m):
    # The definition in fractions, with the floats as they are.
    rate, mom = float(h), float(m)
    a, b = Fraction(1), Fraction(0)
    for _ in range(steps):
        b = Fraction(mom) * b + a
        a = a - Fraction(rate) * b
    found = idm.residual_factors(steps, learning_rate=rate, curvature=1.0, momentum=mom)
    assert abs(Fraction(found) - a) <= Fraction(EPS) * abs(a)


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
def test_the_limit_separates_convergence_from_divergence(momentum):
    limit = idm.learning_rate_limit(7.0, momentum)
    for factor, converges in ((0.999, True), (1.001, False)):
        left = idm.residual_factors(
            200_000, learning_rate=factor * limit, curvature=7.0, momentum=momentum
        )
        assert (abs(left) < 1e-6) is converges
        assert (abs(left) > 1e6) is not converges


def test_shapes_and_kinds():
    left = idm.residual_factors(
        np.arange(5)[:, np.newaxis], learning_rate=0.5, curvature=[0.0, 1.0, 2.0, 4.0]
    )
    assert left.shape == (5, 4)
    assert left[:, 0].tolist() == [1.0] * 5
    assert left[:, 2].tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert left[:, 3].tolist() == [1.0, -1.0, 1.0, -1.0, 1.0]
    assert isinstance(idm.residual_factors(3, learning_rate=1.0, curvature=0.5), float)
    assert idm.residual_factors(10**6, learning_rate=1.0, curvature=9.0) == math.inf
    assert idm.residual_factors(
        np.arange(0), learning_rate=1.0, curvature=9.0
    ).shape == (0,)


def _descend(x, w0, steps, rate, momentum, scale):
    """Gradient descent itself, in fractions."""
    d = len(x)
    w = [[Fraction(v) for v in row] for row in w0]
    b = [[Fraction(0)] * d for _ in range(d)]
    for _ in range(steps):
        wrong = [sum(w[i][j] * x[j] for j in range(d)) - x[i] for i in range(d)]
        for i in range(d):
            for j in range(d):
                b[i][j] = momentum * b[i][j] + scale * wrong[i] * x[j]
                w[i][j] -= rate * b[i][j]
    return w


@pytest.mark.parametrize("loss", ["half_sum", "mean"])
@pytest.mark.parametrize("momentum", [0, Fraction(1, 2), Fraction(3, 4)])
def test_weights_are_those_of_descent_at_every_step(loss, momentum):
    x, rate = [Fraction(3), Fraction(-1), Fraction(2), Fraction(1)], Fraction(1, 32)
    w0 = np.arange(16.0).reshape(4, 4) % 5 - 2
    steps = np.arange(9)
    found = idm.one_layer_weights(
        [float(v) for v in x],
        w0,
        steps=steps,
        learning_rate=float(rate),
        momentum=float(momentum),
        loss=loss,
    )
    assert found.shape == (9, 4, 4)
    scale = Fraction(1) if loss == "half_sum" else Fraction(2, 4)
    for t in steps:
        exact = np.array(_descend(x, w0, int(t), rate, momentum, scale), dtype=float)
        # |W| <= 4 and |1 - a| <= 2; g = 15 rounds in its last digit: t h eps more.
        assert np.abs(found[t] - exact).max() <= (64 + 8 * t) * EPS


@pytest.mark.parametrize("loss", ["half_sum", "mean"])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("below", [1e-6, 0.5, 1.9999])
def test_weights_after_two_million_steps(loss, momentum, below):
    # Next to the limit of stability, where a rounded curvature would cost seven digits.
    rng = np.random.default_rng(3)
    x, w0 = rng.standard_normal(7), rng.standard_normal((7, 7))
    square = sum(mpmath.mpf(v) ** 2 for v in x.tolist())
    g = square if loss == "half_sum" else 2 * square / 7
    rate = float((2 - below) * (1 + momentum) / g)
    how = {"learning_rate": rate, "momentum": momentum, "loss": loss}
    for steps in (1, 1999, 2_000_000):
        left = by_eigenvalues(steps, rate, g, momentum)
        found = idm.one_layer_weights(x, w0, steps=steps, **how) - w0
        for i in range(7):
            gap = x[i] - sum(mpmath.mpf(a) * b for a, b in zip(w0[i], x, strict=True))
            for j in range(7):
                exact = (1 - left) * gap * mpmath.mpf(x[j]) / square
                assert abs(found[i, j] - exact) <= 15 * EPS * (1 + np.linalg.norm(w0))


def test_the_limit_is_theorem_1():
    rng = np.random.default_rng(1)
    x, w0 = rng.standard_normal(30), rng.standard_normal((30, 30))
    limit = idm.one_layer_weights(x, w0)
    # The closed form divides by |x|^2 once, the steps arrive there.
    late = idm.one_layer_weights(x, w0, steps=2_000_000, learning_rate=0.01)
    np.testing.assert_allclose(late, limit, rtol=0, atol=1e-14 * 30)
    tests = rng.standard_normal((3, 5, 30))
    seen = idm.one_layer_prediction(tests, x, w0)
    bound = 4 * 30 * EPS * (1 + np.linalg.norm(w0)) * np.linalg.norm(tests, axis=-1)
    gap = np.linalg.norm(seen - tests @ limit.T, axis=-1)
    assert (gap <= 2 * bound).all()
    # What was learnt is exact, what was not is untouched.
    np.testing.assert_allclose(idm.one_layer_prediction(x, x, w0), x, rtol=1e-12)
    assert seen.shape == tests.shape


@given(
    st.lists(st.integers(-9, 9), min_size=2, max_size=5).filter(any),
    st.randoms(use_true_random=False),
)
def test_predictions_to_all_digits(pixels, random):
    d = len(pixels)
    test = [random.randint(-9, 9) for _ in range(d)]
    w0 = [[random.randint(-9, 9) for _ in range(d)] for _ in range(d)]
    found = idm.one_layer_prediction(test, pixels, w0)
    along = Fraction(
        sum(a * b for a, b in zip(test, pixels, strict=True)),
        sum(a * a for a in pixels),
    )
    rest = [a - along * b for a, b in zip(test, pixels, strict=True)]
    for i in range(d):
        exact = along * pixels[i] + sum(w0[i][j] * rest[j] for j in range(d))
        size = (1 + np.linalg.norm(w0)) * np.linalg.norm(test)
        assert abs(Fraction(float(found[i])) - exact) <= 4 * d * EPS * size


def test_huge_and_tiny_pixels_are_no_trouble():
    w0 = np.array([[1.0, 2.0], [3.0, 4.0]])
    plain = idm.one_layer_prediction([1.0, 5.0], [3.0, 4.0], w0)
    for scale in (2.0**600, 2.0**-600):
        again = idm.one_layer_prediction([1.0, 5.0], [3.0 * scale, 4.0 * scale], w0)
        assert again.tolist() == plain.tolist()


def test_a_digit_diverges_at_the_paper_rate_for_the_half_sum_loss():
    # 784 standardised pixels of mean square near one: g = 784 against 2.
    x = np.ones(784)
    assert idm.curvature(x) == pytest.approx(784.0, rel=1e-14)
    assert idm.curvature(x, loss="mean") == pytest.approx(2.0, rel=1e-14)
    assert idm.learning_rate_limit(784.0, 0.9) < 0.01 < idm.learning_rate_limit(2.0)
    w0 = np.zeros((784, 784))
    with pytest.raises(ValueError, match=r"`learning_rate` must be below 0\.00255102"):
        idm.one_layer_weights(x, w0, learning_rate=0.01)
    limit = idm.one_layer_weights(x, w0, learning_rate=0.01, momentum=0.9, loss="mean")
    assert limit[0, 0] == pytest.approx(1 / 784, rel=1e-12)


def test_orthogonal_inputs_see_the_initial_weights():
    rng = np.random.default_rng(2)
    x, w0 = rng.standard_normal(20), rng.standard_normal((7, 20))
    z = rng.standard_normal((4, 20))
    z -= np.outer(z @ x / (x @ x), x)
    z -= np.outer(z @ x / (x @ x), x)
    np.testing.assert_array_equal(idm.orthogonal_prediction(z, x, w0), z @ w0.T)
    square = rng.standard_normal((20, 20))
    limit = idm.one_layer_prediction(z, x, square)
    np.testing.assert_allclose(limit, z @ square.T, rtol=0, atol=1e-12)
    assert idm.orthogonal_prediction(np.zeros(20), x, w0).tolist() == [0.0] * 7
    with pytest.raises(ValueError, match=r"`x` must be orthogonal to `x_train`, but 4"):
        idm.orthogonal_prediction(z + 1e-12 * x, x, w0)


def test_orthogonal_laws(error):
    x, alpha, s = [3.0, 4.0, 12.0], [0.5, -2.0, 1.0], 0.3
    law = idm.orthogonal_law(x, s)
    assert law.mean == 0.0
    assert error(law.variance, (mpmath.mpf(s) * 13) ** 2) <= 4 * EPS
    # Moments of a rectified normal by quadrature.
    deviation = mpmath.mpf(s) * 13
    first, second = (
        mpmath.quad(
            lambda v, k=k: v**k * mpmath.npdf(v, 0, deviation),
            mpmath.linspace(0, 20 * deviation, 9),
        )
        for k in (1, 2)
    )
    two = idm.two_layer_orthogonal_law(x, s, alpha)
    assert error(two.mean, first * sum(alpha)) <= 1e-14
    assert error(two.variance, (second - first**2) * (0.25 + 4 + 1)) <= 1e-14
    # The square of the deviation alone is below every float.
    tiny = idm.two_layer_orthogonal_law([1e-100], 1e-100, [1e150])
    one = idm.two_layer_orthogonal_law([1.0], 1.0, [1.0])
    assert tiny.variance == pytest.approx(1e-100 * one.variance, rel=1e-14)


COSINES = [
    (dim, scale, rho)
    for dim in (2, 3, 10, 49, 784, 3072)
    for scale in (1.0 / dim, dim**-0.5, 0.7, 5.0)
    for rho in (1e-8, 0.1, 0.5, 0.9, 1 - 1e-9)
]


@pytest.mark.parametrize(("dim", "scale", "rho"), COSINES)
def test_expected_cosines(dim, scale, rho, error):
    r, b = mpmath.mpf(rho), mpmath.mpf(dim) / 2 + 1
    kappa = r / (mpmath.mpf(scale) * mpmath.sqrt(1 - r * r))
    front = kappa * mpmath.gammaprod([b - 0.5], [b]) / mpmath.sqrt(2)
    mean = front * mpmath.hyp1f1(0.5, b, -kappa * kappa / 2)
    square = 1 - mpmath.mpf(dim - 1) / dim * mpmath.hyp1f1(1, b, -kappa * kappa / 2)
    case = {"scale": scale, "dim": dim}
    # Cumulative products of up to 60,000 factors, of rounding eps each, at random.
    assert error(idm.expected_cosine_to_train(rho, **case), mean) <= 1e-13
    assert error(idm.expected_cosine_to_train(-rho, **case), -mean) <= 1e-13
    assert error(idm.expected_cosine_to_input(rho, **case), r * mean) <= 1e-13
    assert error(idm.expected_squared_cosine_to_train(rho, **case), square) <= 1e-13


@pytest.mark.parametrize("dim", [99, 10**5 + 1, 10**7])
@pytest.mark.parametrize("rho", [0.0, 1e-3, 0.5])
def test_small_squared_cosines_keep_their_digits(dim, rho, error):
    # Next to 1/d, which the difference of one and nearly one would lose.
    r, b = mpmath.mpf(rho), mpmath.mpf(dim) / 2 + 1
    half = (r / 30) ** 2 / (1 - r * r) / 2
    square = 1 - mpmath.mpf(dim - 1) / dim * mpmath.hyp1f1(1, b, -half)
    found = idm.expected_squared_cosine_to_train(rho, scale=30.0, dim=dim)
    assert error(found, square) <= 1e-15


@pytest.mark.parametrize("dim", [2, 3, 6])
def test_expected_cosines_by_their_definition(dim):
    # E over the angle of a normal vector with mean (kappa, 0, ..., 0), in polar
    # coordinates: Gauss-Legendre nodes enough for an entire function.
    rho, scale = 0.6, 0.5
    kappa = 0.6 / (0.5 * 0.8)
    node, weight = np.polynomial.legendre.leggauss(150)
    angle, radius = 0.5 * math.pi * (node + 1), 7.0 * (node + 1)
    cosine = np.cos(angle)[:, np.newaxis]
    radial = radius ** (dim - 1) * np.exp(-0.5 * radius**2 + kappa * radius * cosine)
    density = (radial @ weight) * np.sin(angle) ** (dim - 2) * weight
    total, first, second = (float(density @ np.cos(angle) ** k) for k in range(3))
    case = {"scale": scale, "dim": dim}
    found = idm.expected_cosine_to_train(rho, **case)
    assert found == pytest.approx(first / total, rel=1e-12)
    found = idm.expected_squared_cosine_to_train(rho, **case)
    assert found == pytest.approx(second / total, rel=1e-12)


@settings(max_examples=60)
@given(st.floats(-1, 1), st.floats(0.01, 3.0), st.integers(2, 900))
def test_cosines_keep_to_their_range(rho, scale, dim):
    case = {"scale": scale, "dim": dim}
    train = idm.expected_cosine_to_train(rho, **case)
    assert abs(train) <= 1.0
    assert train * rho >= 0.0
    square = idm.expected_squared_cosine_to_train(rho, **case)
    assert train**2 <= square * (1 + 1e-12)
    # By Jensen's inequality for 1/sqrt, the ratio is wrong in either direction by the
    # variance of the squared norm, which is at most 4/d of its mean squared, or 2/d.
    norm = idm.expected_squared_norm(rho, **case)
    ratio = idm.expected_cosine_to_train(rho, form="ratio", **case)
    assert ratio == pytest.approx(rho / math.sqrt(norm), rel=1e-12, abs=1e-300)
    if dim > 50:
        assert abs(train - ratio) <= 8.0 / dim


def test_cosines_at_the_ends():
    case = {"scale": 0.05, "dim": 784}
    ends = idm.expected_cosine_to_train([-1.0, 0.0, 1.0], **case)
    assert ends.tolist() == [-1.0, 0.0, 1.0]
    assert idm.expected_squared_norm(0.0, **case) == pytest.approx(1.96, rel=1e-14)


def test_cosines_at_any_scale():
    ratio = partial(idm.expected_cosine_to_train, dim=4, form="ratio")
    assert ratio([0.0, 1.0], scale=1e200).tolist() == [0.0, 1.0]
    assert ratio([0.5, 1.0], scale=1.7e308).tolist() == [0.0, 1.0]
    assert ratio(0.5, scale=1e200) == pytest.approx(0.25e-200 / 0.75**0.5, rel=1e-15)
    assert ratio([0.0, 1e-200], scale=1e-200) == pytest.approx([0.0, 0.2**0.5])
    assert idm.expected_squared_norm(1.0, scale=1e200, dim=4) == 1.0


def test_cosines_of_more_pixels_than_sums_can_take():
    for cosine in (idm.expected_cosine_to_train, idm.expected_squared_cosine_to_train):
        with pytest.raises(ValueError, match="`dim` must be at most 16777216, got"):
            cosine(0.5, scale=0.1, dim=10**12)
    found = idm.expected_cosine_to_train(0.5, scale=1e-6, dim=10**12, form="ratio")
    assert found == pytest.approx(0.5, rel=1e-12)


def test_descent_that_leaves_float64_is_refused():
    wild = {"steps": 5000, "learning_rate": 1e3}
    with pytest.raises(
        ValueError, match=r"one_layer_weights: .*4 of 4 entries are not"
    ):
        idm.one_layer_weights([1.0, 0.0], np.zeros((2, 2)), **wild)
    with pytest.raises(ValueError, match=r"least_squares_weights: .* within float64"):
        idm.least_squares_weights(np.eye(2), [[1.0], [0.0]], [[0.0], [0.0]], **wild)
    with pytest.raises(ValueError, match="one_layer_prediction: `x` and `w0` must"):
        idm.one_layer_prediction([1e200, 1e200], [1.0, 0.0], np.full((2, 2), 1e200))


def test_rates_as_large_as_curvatures_are_small(error):
    found = idm.residual_factors(3, learning_rate=1.6e308, curvature=1e-308)
    exact = (1 - Fraction(1.6e308) * Fraction(1e-308)) ** 3
    assert error(found, mpmath.mpf(exact.numerator) / exact.denominator) <= 1e-15
