"""What conditioning buys: rates against descent itself, terms against definitions."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theory import activations as act
from theory import optimization as opt


def _least_squares(eigenvalues, start):
    """f(w_t) / f(w_0) of gradient descent with step 1 / lambda_max, exactly."""
    top = max(eigenvalues)

    def loss(step):
        return sum(
            v * s * s * (1 - v / top) ** (2 * step)
            for v, s in zip(eigenvalues, start, strict=True)
        )

    return lambda step: loss(step) / loss(0)


@given(
    st.lists(st.floats(0.01, 1.0), min_size=1, max_size=6),
    st.integers(0, 200),
)
def test_gradient_descent_obeys_its_bound(eigenvalues, step):
    ratio = _least_squares(eigenvalues, [1.0] * len(eigenvalues))
    kappa = max(eigenvalues) / min(eigenvalues)
    bound = opt.gradient_descent_bound(step, kappa)
    assert ratio(step) <= bound * (1 + 1e-12)
    assert bound <= opt.gradient_descent_bound(step, kappa, printed=True)


def test_gradient_descent_bound_is_sharp_for_large_condition_numbers():
    # (1 - 1/kappa)^(2t) over exp(-2t/kappa) is exp(-t/kappa^2): 1e-4 at t = kappa = 1e4.
    exact = (1 - 1e-4) ** 2e4
    assert opt.gradient_descent_bound(1e4, 1e4) == pytest.approx(exact, rel=2e-4)
    assert opt.gradient_descent_bound([0, 5], 5.0).tolist() == [1.0, math.exp(-2.0)]
    assert opt.gradient_descent_bound(5, 5.0, printed=True) == math.exp(-1.0)


@given(st.floats(0.01, 1.0), st.floats(1.0, 100.0), st.integers(1, 5))
def test_kernel_descent_factor_is_attained(low, high, steps):
    # Both extreme residuals shrink by (kappa - 1)/(kappa + 1) with step 2/(low + high).
    eta = 2.0 / (low + high)
    factor = opt.kernel_descent_factor(low, high)
    for value in (low, high):
        assert (1 - eta * value) ** 2 == pytest.approx(factor, rel=1e-9, abs=1e-15)
    middle = 0.5 * (low + high)
    assert (1 - eta * middle) ** 2 <= factor + 1e-15


def test_kernel_descent_in_one_step():
    assert opt.kernel_descent_factor(3.0, 3.0) == 0.0
    assert opt.kernel_descent_factor(1.0, 3.0) == 0.25


def test_sgd_counts():
    assert opt.sgd_steps(100, 1.0, 0.5) == 400
    assert opt.sgd_steps(3, 1.0, 7.0) == 1
    assert opt.sgd_steps(3, np.float64(1.0), np.float32(7.0)) == 1
    assert opt.sgd_restarts(8.0, 1.0) == 3
    assert opt.sgd_restarts(8.1, 1.0) == 4
    assert opt.sgd_restarts(1.0, 8.0) == 0


def test_covariances_that_are_none_are_refused():
    x, theta, eps = np.array([[1.0, 0.0, 0.0]]), np.array([0.0, 1.0, -1.0]), np.ones(1)
    skewed, indefinite = np.eye(3), np.zeros((3, 3))
    skewed[0, 1] = 5.0
    indefinite[1, 2] = indefinite[2, 1] = 1.0
    with pytest.raises(ValueError, match="`covariance` must be symmetric, but 2 of 9"):
        opt.excess_risk_terms(x, skewed, theta, eps)
    # theta' B theta = -2.
    with pytest.raises(ValueError, match="`covariance` must be positive semidefinite"):
        opt.excess_risk_terms(x, indefinite, theta, eps)


def test_sgd_counts_of_numpy_integers_do_not_overflow():
    for integer in (np.int8, np.uint8, np.int64):
        assert opt.sgd_steps(10, integer(100), integer(1)) == 2000
        assert opt.sgd_restarts(integer(100), integer(1)) == 7
    assert opt.sgd_steps(10, np.int64(10**18), np.int64(1)) == 2 * 10**19


@pytest.mark.parametrize(
    ("n", "squared_norm", "min_eigenvalue", "steps"),
    [
        (3, 0.1, 0.2, 3),  # twice a float64 is exact: whole, and 4 in float64
        (3, 0.1, math.nextafter(0.2, 0.0), 4),
        (3, math.nextafter(0.1, 0.0), 0.2, 3),
        (1, Fraction(9, 10), Fraction(3, 10), 6),  # 0.9 / 0.3 is above 3 in float64
        (2**53 + 1, 0.5, 1.0, 2**53 + 1),  # not a float64
        (1, 1e300, 1e-300, math.ceil(2 * Fraction(1e300) / Fraction(1e-300))),
    ],
)
def test_sgd_steps_at_whole_quotients(n, squared_norm, min_eigenvalue, steps):
    assert opt.sgd_steps(n, squared_norm, min_eigenvalue) == steps


@pytest.mark.parametrize("power", [0, 1, 29, 600])
def test_sgd_restarts_at_powers_of_two(power):
    # 0.3 (1 + 2^-52) 2^k needs one restart more than 0.3 2^k; its logarithm rounds to k.
    top = math.ldexp(0.3, power)
    assert opt.sgd_restarts(top, 0.3) == power
    assert opt.sgd_restarts(math.nextafter(top, math.inf), 0.3) == power + 1
    assert opt.sgd_restarts(1e300, 1e-300) == 1994  # 600 log2(10) = 1993.2


def test_correlation_floor():
    # a_2^2 / (mu^2 (2 - mu) m) of the normalised activation.
    for a in (act.relu, act.normrelu(), act.gelu):
        s = a.normalized()
        expected = s.hermite(2)[2] ** 2 / (s.mu**2 * (2 - s.mu) * 100)
        assert opt.correlation_floor(a, 100) == pytest.approx(expected, rel=1e-14)
    assert opt.correlation_floor(act.tanh, [10, 100]).tolist() == [0.0, 0.0]
    assert opt.correlation_floor(act.hermite(2), 50) == pytest.approx(1 / 50, rel=1e-15)
    a2 = 0.0836325416813252  # reference value of NormReLU
    mu = 0.0158583176769851298
    found = opt.correlation_floor(act.normrelu(), 1)
    assert found == pytest.approx(a2**2 / (mu**2 * (2 - mu)), rel=1e-12)


@given(st.floats(0.001, 1.0), st.floats(1e-9, 1.0))
def test_query_lower_bound(tolerance, squared):
    found = opt.query_lower_bound(tolerance, squared)
    assert found == pytest.approx(max(0.0, tolerance**2 / (2 * squared) - 1), rel=1e-12)
    assert found >= 0.0


def test_query_lower_bound_values():
    assert opt.query_lower_bound(0.5, 0.125) == 0.0
    assert opt.query_lower_bound(0.1, 1e-6) == pytest.approx(4999.0, rel=1e-12)


def test_covariance_and_overfitting():
    assert opt.covariance_norm_bound(30.0) == pytest.approx(
        28 / 3 * math.log(80.0) / 30, rel=1e-15
    )
    assert opt.covariance_norm_bound(np.array([10.0, 30.0])).shape == (2,)
    # L_0(0.01) = 10 at mu = 1; log 100 / log 2 = 6.64.
    assert opt.overfitting_depth(0.01, 1.0, 100) == 10 + 7
    assert opt.overfitting_depth(0.01, 1.0, 1) == 10
    # log 2^29 / log 2 is 29.000000000000004 in float64.
    assert opt.overfitting_depth(0.01, 1.0, 2**29) == 10 + 29


def test_excess_risk_terms():
    rng = np.random.default_rng(3)
    x, theta, eps = (
        rng.standard_normal((4, 9)),
        rng.standard_normal(9),
        rng.normal(size=4),
    )
    root = rng.standard_normal((9, 9))
    sigma = root @ root.T
    terms = opt.excess_risk_terms(x, sigma, theta, eps)
    # Minimum-norm interpolation of y = X theta + eps: the error splits in two parts.
    pinv = np.linalg.pinv(x)
    missed, spread = theta - pinv @ (x @ theta), pinv @ eps
    assert terms.bias == pytest.approx(2 * missed @ sigma @ missed, rel=1e-10)
    assert terms.noise == pytest.approx(2 * spread @ sigma @ spread, rel=1e-10)
    assert terms.total == terms.bias + terms.noise
    error = pinv @ (x @ theta + eps) - theta
    assert error @ sigma @ error <= terms.total * (1 + 1e-10)


def test_square_features_leave_no_bias():
    rng = np.random.default_rng(4)
    x, theta, eps = (rng.standard_normal(size) for size in ((5, 5), 5, 5))
    terms = opt.excess_risk_terms(x, np.eye(5), theta, eps)
    assert terms.bias == 0.0
    # (n + d) eps times the condition number, of a square, on both ways.
    allowed = 2 * 2 * 10 * np.finfo(float).eps * np.linalg.cond(x)
    spread = np.linalg.solve(x, eps)
    assert terms.noise == pytest.approx(2 * spread @ spread, rel=allowed)


def test_excess_risk_bound():
    exact = 56 * 4 * math.log(8 * 1e6**2 / 3) / 1e6
    assert opt.excess_risk_bound(1e6, 1.0) == pytest.approx(exact, rel=1e-15)
    values = opt.excess_risk_bound(np.array([1e3, 1e5, 1e7]), 0.0)
    assert (np.diff(values) < 0).all()
    assert values[1] < 1


def test_one_layer_eigenvalues():
    assert opt.one_layer_min_eigenvalue(2, 0.25) == 0.125 / 16
    assert opt.one_layer_min_eigenvalue(2, 0.25, constant=8.0) == 1.0 / 16
    assert opt.arc_min_eigenvalue(1.0) == math.sqrt(2) / (12 * math.pi)
    assert opt.arc_min_eigenvalue([0.0, 0.25]).tolist() == [0.0, opt.ARC_CONSTANT / 8]
    assert opt.separation_event_bound(5, 0.25) == pytest.approx(0.01, rel=1e-15)


def test_the_arc_constant_is_the_limit():
    # Two unit vectors at correlation 1 - delta: the smaller eigenvalue of the ReLU
    # derivative kernel is of order sqrt(delta), that of the ReLU kernel is
    # (E s^2 - dual)/1 ~ delta/4; many points on an arc reach delta^(3/2).
    from theory import kernels

    delta, n = 1e-3, 60
    angle = math.acos(1 - delta)
    t = np.linspace(0.0, angle * (n - 1), n)
    keep = t < math.pi
    x = np.stack([np.cos(t[keep]), np.sin(t[keep])], axis=1)
    least = np.linalg.eigvalsh(kernels.nngp(x, act.relu, 1))[0]
    # Ends of the arc change it by O(1/n).
    assert least == pytest.approx(opt.arc_min_eigenvalue(delta), rel=0.1)


@pytest.mark.parametrize("near", [1e-3, 1e-5, 1e-7])
def test_excess_risk_of_nearly_dependent_features(near, error):
    rng = np.random.default_rng(3)
    x, theta, eps = (
        rng.standard_normal((3, 6)),
        rng.standard_normal(6),
        rng.normal(size=3),
    )
    x[1] = x[0] + near * x[1]
    found = opt.excess_risk_terms(x, np.eye(6), theta, eps)
    with mpmath.workdps(50):
        rows, optimum = mpmath.matrix(x.tolist()), mpmath.matrix(theta.tolist())
        gram = rows * rows.T
        missed = optimum - rows.T * mpmath.lu_solve(gram, rows * optimum)
        spread = rows.T * mpmath.lu_solve(gram, mpmath.matrix(eps.tolist()))
        exact = [2 * mpmath.norm(part) ** 2 for part in (missed, spread)]
    # (n + d) eps times the condition number, a few over `near`.
    allowed = 9 * np.finfo(float).eps * 10.0 / near
    assert error(found.bias, exact[0]) <= allowed
    assert error(found.noise, exact[1]) <= allowed


def test_excess_risk_needs_variances():
    with pytest.raises(ValueError, match="`covariance` must have variances of at"):
        opt.excess_risk_terms([[1.0, 0.0]], -np.eye(2), [1.0, 1.0], [1.0])


def test_bounds_whose_powers_alone_leave_float64():
    assert opt.query_lower_bound(1e200, 1e200) == pytest.approx(5e199, rel=1e-15)
    assert opt.gradient_descent_bound(1e308, 1.0) == 0.0
    found = opt.one_layer_min_eigenvalue(1, 1e-220, constant=1e200)
    assert found == pytest.approx(1e-130, rel=1e-14)
    log = math.log(8 / 3) + 2 * math.log(1e300)
    assert opt.excess_risk_bound(1e300, 1e155) == pytest.approx(56e10 * log, rel=1e-14)


def test_sgd_counts_of_fractions_beyond_float64():
    tiny, huge = Fraction(1, 10**400), Fraction(10**400)
    assert opt.sgd_steps(3, tiny, 4 * tiny) == opt.sgd_steps(3, huge, 4 * huge) == 2
    assert opt.sgd_restarts(8 * huge, huge) == 3
    with pytest.raises(ValueError, match="`initial` must be positive"):
        opt.sgd_restarts(-tiny, 1.0)
