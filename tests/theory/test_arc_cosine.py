"""Arc-cosine kernels against the integral they solve, and against their quadrature.

Asked for are a few ulp (2.2e-16) of the value, of E s^2 for duals and of the slope at one
for slopes: each is a sum of at most six terms with a few roundings each, none more than
three times the sum.
"""

import time

import mpmath
import numpy as np
import pytest

from theory import activations as act
from theory import duals
from theory.activations import piecewise
from theory.duals.arc_cosine import ArcCosine

ULP = float(np.finfo(np.float64).eps)
FEW = 8 * ULP

odd_square = act.PiecewisePolynomial("odd", 2, (0.0, 0.0, -1.0), (0.0,), (4.0,))
general = act.PiecewisePolynomial("general", 2, (0.3, 0.2, -1.0), (0.0,), (3.0,))
SUBJECTS = {
    a.name: a
    for a in (
        *(act.step, act.sign, act.relu, act.absolute, act.relu_squared),
        *(act.leaky_relu(0.1), act.leaky_relu(-0.7), act.leaky_relu(3.0)),
        *(act.leaky_relu(1 + 1e-12), odd_square, general),
    )
}
SMALL = (1e-300, 1e-100, 1e-18, 1e-9, 1e-3, 0.1, 0.46, 0.7, 0.99999)
DELTAS = (*SMALL, 1.0, *(2.0 - d for d in (0.7, 0.46, 0.1, 1e-3, 1e-9, 4.5e-16)), 2.0)
RHOS = sorted({*(1.0 - d for d in DELTAS), -1e-300, 1e-300, -1e-6, 1e-6, 0.49, 0.51})
NAMES = sorted(SUBJECTS)


def _ramps(m, rho):
    """E (X)_+^m (Y)_+^m, from the printed formula: J_m / 2 pi."""
    t = mpmath.acos(rho)
    sine, cosine, left = mpmath.sin(t), mpmath.cos(t), mpmath.pi - t
    printed = (
        left,
        sine + left * cosine,
        3 * sine * cosine + left * (1 + 2 * cosine**2),
    )
    return printed[m] / (2 * mpmath.pi)


@pytest.mark.parametrize("m", [0, 1, 2])
def test_the_printed_formula_is_the_expectation(m):
    # Price's theorem, m times, leaves the density 1 / 2 pi sqrt(1 - r^2) of r = -cos w:
    # m! times the integral of (rho - r)^m / m! against it.
    with mpmath.workdps(30):
        for rho in (-0.9, 0.0, 0.7, 1.0):
            ends = mpmath.linspace(0, mpmath.acos(-mpmath.mpf(rho)), 4)
            value = mpmath.quad(lambda w, r=rho: (r + mpmath.cos(w)) ** m, ends)
            value *= mpmath.factorial(m) / (2 * mpmath.pi)
            assert abs(_ramps(m, mpmath.mpf(rho)) - value) < 1e-25


def _coefficients(m):
    """E x_+^m h_k(x) / m!, k = 0, 1, 2."""
    moment = [
        2 ** (mpmath.mpf(k) / 2 - 1)
        * mpmath.gamma(mpmath.mpf(k + 1) / 2)
        / mpmath.sqrt(mpmath.pi)
        for k in range(m, m + 3)
    ]
    rows = moment[0], moment[1], (moment[2] - moment[0]) / mpmath.sqrt(2)
    return [v / mpmath.factorial(m) for v in rows]


def _exact(a, b, rho):
    """E a(X) b(Y) from moments of monomials and ramps."""

    def low(poly):
        c = [*map(mpmath.mpf, poly), 0, 0, 0]
        return [c[0] + c[2], c[1], mpmath.sqrt(2) * c[2]]

    m = a.m
    t = _coefficients(m)
    p, q, j, k_ = low(a.poly), low(b.poly), *map(mpmath.mpf, (a.jumps[0], b.jumps[0]))
    total = sum(
        (p[k] * q[k] + k_ * p[k] * t[k] + j * q[k] * t[k]) * rho**k
        for k in range(m + 1)
    )
    return total + j * k_ * _ramps(m, rho) / mpmath.factorial(m) ** 2


@pytest.fixture(autouse=True)
def _many_digits():
    # A distance of 1e-300 is a difference of numbers of size one.
    with mpmath.workdps(330):
        yield


def _value(a):
    return lambda rho: _exact(a, a, mpmath.mpf(rho))


@pytest.mark.parametrize("name", NAMES)
def test_dual_and_slope(name, error):
    a = SUBJECTS[name]
    e, exact = act.pair(a, a), _value(a)
    assert isinstance(e, ArcCosine)
    with mpmath.workdps(50):
        slope = _value(a.derivative) if a.m else None
        for rho in RHOS:
            assert error(e.dual(np.array(rho)), exact(rho), exact(1)) < FEW, rho
            if slope:
                value = e.slope(np.array(rho))
                assert error(value, slope(rho), slope(1)) < FEW, rho


@pytest.mark.parametrize("name", NAMES)
def test_covariance_as_rho_vanishes(name, error):
    a = SUBJECTS[name]
    e, exact = act.pair(a, a), _value(a)
    mean = exact(0)
    # Relative: the lowest power of rho that is there decides.
    for rho in (1e-100, -1e-100, 1e-6, -1e-6, 1e-2, -1e-2, 0.3):
        assert error(e.covariance(np.array(rho)), exact(rho) - mean) < FEW, rho
    for rho in RHOS:
        scale = exact(1) - mean
        assert error(e.covariance(np.array(rho)), exact(rho) - mean, scale) < FEW, rho


@pytest.mark.parametrize("name", NAMES)
def test_distances(name, error):
    a = SUBJECTS[name]
    e, exact = act.pair(a, a), _value(a)
    for delta in DELTAS:
        true = exact(1) - exact(1 - mpmath.mpf(delta))
        # At two nothing is left of an even function but what its own rounding is.
        scale = true if delta < 1.99 or a.parity == 0 else exact(1)
        assert error(e.distance(np.array(delta)), true, scale) < FEW, delta


def test_the_least_number_is_a_distance():
    assert act.sign.distance_map(5e-324) == pytest.approx(
        2.0 * (2.0 * 5e-324) ** 0.5 / np.pi, rel=FEW
    )
    assert act.relu.distance_map(1e-310) == pytest.approx(1e-310, rel=1e-12)
    assert act.absolute.distance_map(2.0) == 0.0


@pytest.mark.parametrize("name", ["step", "relu", "relu_squared"])
def test_opposite(name, error):
    # Duals of ramps vanish at -1, like d^(m + 1/2): relative down to there.
    a = SUBJECTS[name]
    e, exact = act.pair(a, a), _value(a)
    for d in (1e-100, 1e-40, 1e-18, 1e-6, 1e-2, 0.5, 1.0):
        value, slope = e.opposite(np.array(d))
        assert error(value, exact(mpmath.mpf(d) - 1)) < FEW, d
        if a.m:
            true = _exact(a.derivative, a.derivative, mpmath.mpf(d) - 1)
            assert error(slope, true) < FEW, d
        else:
            rho = mpmath.mpf(d) - 1
            assert error(slope, 1 / (2 * mpmath.pi * mpmath.sqrt(1 - rho**2))) < FEW, d


@pytest.mark.parametrize("name", NAMES)
def test_the_quadrature_agrees(name):
    # Truncated's fixed rules: 1e-14 of the largest.
    a = SUBJECTS[name]
    e, other = act.pair(a, a), piecewise._truncated(a, a)
    assert isinstance(other, duals.Truncated)
    rho, delta = np.linspace(-1.0, 1.0, 81), np.linspace(0.0, 2.0, 81)
    for method, x in (("dual", rho), ("covariance", rho), ("distance", delta)):
        gap = getattr(e, method)(x) - getattr(other, method)(x)
        assert np.abs(gap).max() < 1e-14 * a.second_moment, method
    inner = rho[1:-1]
    slope = e.slope(inner)
    size = np.abs(slope).max()
    assert np.abs(slope - other.slope(inner)).max() < 1e-14 * size
    # An angle that is known to an ulp instead of a cosine.
    assert np.abs(e.slope(inner, np.arccos(inner)) - slope).max() < 1e-14 * size


def test_two_functions_and_two_variances(error):
    a, b = act.leaky_relu(0.2).scaled(3.0), act.absolute.scaled(0.1)
    e = act.pair(a, b)
    for rho in (-1.0, -0.8, 0.0, 0.3, 1.0):
        exact = _exact(a, b, mpmath.mpf(rho))
        assert error(e.dual(np.array(rho)), exact, 1) < FEW
        assert error(act.pair(b, a).dual(np.array(rho)), exact, 1) < FEW


def test_shapes():
    e = act.pair(act.relu, act.relu)
    for shape in ((), (0,), (1,), (2, 3), (20_000,), (100, 200)):
        x = np.full(shape, 0.25)
        found = [e.dual(x), e.covariance(x), e.slope(x), e.slope(x, x), e.distance(x)]
        assert [v.shape for v in (*found, *e.opposite(x))] == [shape] * 7


def test_functions_without_a_kink_have_a_finite_series():
    for a in (act.identity, act.hermite(4), act.HermiteMixture((0.2, 1.0, 0.3))):
        assert isinstance(act.pair(a, a), duals.Series)
    # E X Y^2_+ and the like: as many terms as the polynomial has.
    e = act.pair(act.identity, act.relu_squared)
    assert e.dual(np.array(0.5)) == pytest.approx(0.5 * act.relu_squared.hermite(1)[1])


def test_a_million_values_at_once():
    x = np.random.default_rng(0).uniform(-1.0, 1.0, 1_000_000)
    e = act.pair(act.relu, act.relu)
    start = time.process_time()
    e.dual(x)
    # 0.02 s on an idle core; ten times that for a busy one.
    assert time.process_time() - start < 0.2
