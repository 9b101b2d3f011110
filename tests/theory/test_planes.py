"""Slopes of a pair by quadrature in the plane, whatever half of it repeats the other."""

import mpmath
import numpy as np
import pytest

from theory import activations as act
from theory import meshes
from theory.activations._engines import slope_of
from theory.duals import Plane

ANGLES = np.array([1e-6, 0.01, 0.3])


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize(
    ("activation", "symmetric"),
    [
        (act.silu, False),
        (act.selu, False),
        (act.log_cosh, True),
        (act.arctan, True),
        (act.log_cosh, False),
    ],
)
def test_a_pair_alone_has_the_slope_that_it_has_among_others(
    activation, symmetric, mirrored
):
    r, other = 12.0, 20.0
    f, g = (slope_of(activation._scaled(v * v)) for v in (r, other))
    widest = float(ANGLES.max())
    among = Plane((f, g), r * other, mirrored, widest)(ANGLES)
    alone = Plane.of_pair(
        f, g, r * other, mirrored=mirrored, widest=widest, symmetric=symmetric
    )(ANGLES)
    assert alone.shape == (3, 1, 1)
    # Last coefficients of the panels that either resolves, three of them at most, of
    # slopes that are r and r' times at most 1.8 (that of SELU) each.
    size = r * other * 1.8**2
    error = 2 * 3 * 4.0 * meshes.RESOLVED * size
    assert np.all(np.abs(alone[:, 0, 0] - among[:, 0, 1]) <= error)


def test_a_function_beside_itself_is_folded():
    f = slope_of(act.silu._scaled(5.0**2))
    assert Plane.of_pair(f, f, 1.0).g == ()
    assert Plane.of_pair(f, slope_of(act.silu._scaled(6.0**2)), 1.0).g


def _even(power, share):
    """|x|^p + c cos x, its slope, and the distance of its dual from that at 1."""

    def f(x):
        return np.abs(x) ** power + share * np.cos(x)

    def slope(x):
        with np.errstate(all="ignore"):
            root = power * np.sign(x) * np.abs(x) ** (power - 1.0)
        return root - share * np.sin(x)

    def dual(rho):
        a, c = mpmath.mpf(power), mpmath.mpf(share)
        half, moment = mpmath.mpf(1) / 2, 2 ** (a / 2) * mpmath.gamma((1 + a) / 2)
        own = moment**2 / mpmath.pi * mpmath.hyp2f1(-a / 2, -a / 2, half, rho**2)
        both = mpmath.hyp1f1((1 + a) / 2, half, -(rho**2) / 2) / mpmath.sqrt(mpmath.pi)
        both *= moment * mpmath.exp((rho**2 - 1) / 2)
        return own + 2 * c * both + c**2 * mpmath.exp(-1) * mpmath.cosh(rho)

    return f, slope, dual


def _odd(power):
    """Sign(x) |x|^p, its slope, and its dual."""

    def slope(x):
        with np.errstate(all="ignore"):
            return power * np.abs(x) ** (power - 1.0)

    def dual(rho):
        a = mpmath.mpf(power)
        whole = 2 ** (a + 1) / mpmath.pi * mpmath.gamma(1 + a / 2) ** 2 * rho
        at = (1 - a) / 2
        return whole * mpmath.hyp2f1(at, at, mpmath.mpf(3) / 2, rho**2)

    return lambda x: np.sign(x) * np.abs(x) ** power, slope, dual


DELTA = np.array([1e-3, 1e-8, 1e-12, 1e-15, 1e-18])


def _distances(dual):
    with mpmath.workdps(50):
        whole = dual(mpmath.mpf(1))
        return [float(1 - dual(1 - mpmath.mpf(d)) / whole) for d in DELTA.tolist()]


@pytest.mark.parametrize(
    ("power", "share", "tolerance"),
    [(0.5, 1.0, 1e-10), (0.45, 0.3, 1e-10), (1 / 3, 1.0, 1e-9), (0.4, 1e-3, 1e-12)],
)
def test_values_rounded_beside_an_infinite_slope(power, share, tolerance):
    f, slope, dual = _even(power, share)
    known = _distances(dual)
    given = act.from_function(f, kinks=0.0, derivative=slope)
    np.testing.assert_allclose(given.distance_map(DELTA), known, rtol=given.tolerance)
    if tolerance > given.tolerance:
        # At once: panels would be halved in rounding for minutes.
        alone = act.from_function(f, kinks=0.0)
        with pytest.raises(
            ValueError, match="must have a `derivative` given, as its slo"
        ):
            alone.dual(0.3)
    a = act.from_function(f, kinks=0.0, tolerance=tolerance)
    np.testing.assert_allclose(a.distance_map(DELTA), known, rtol=tolerance)


@pytest.mark.parametrize("power", [0.26, 0.3, 1 / 3, 0.45])
@pytest.mark.parametrize("given", [False, True])
def test_an_odd_power_is_known_to_its_promise_next_to_one(power, given):
    f, slope, dual = _odd(power)
    a = act.from_function(f, kinks=0.0, derivative=slope if given else None)
    np.testing.assert_allclose(
        a.distance_map(DELTA), _distances(dual), rtol=a.tolerance
    )


def test_rounding_beside_an_infinite_slope_is_not_halved_without_end():
    def f(x):
        return np.abs(x) ** (1 / 3) + np.tanh(3.7 * x + 0.3)

    def slope(x):
        # Next to 0 a chord of values, which are rounded, is known to 1e-10 at 1e-18.
        return (
            np.sign(x) / (3 * np.abs(x) ** (2 / 3)) + 3.7 / np.cosh(3.7 * x + 0.3) ** 2
        )

    a = act.from_function(f, kinks=0.0, tolerance=1e-11)
    plane = Plane((slope_of(a),), a.variance, noise=0.1 * a.tolerance)
    assert len(plane._outer[0]) < 20_000
    known = act.from_function(f, kinks=0.0, derivative=slope).normalized()
    delta = np.array([1e-3, 1e-8, 1e-12, 1e-15])
    found = a.normalized().distance_map(delta)
    np.testing.assert_allclose(found, known.distance_map(delta), rtol=2e-12)
