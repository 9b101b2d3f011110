"""Duals, their slopes and the map of distances, ends included.

Required: 1e-13 relative to E s^2 for duals and slopes (to the slope at one), and 1e-13
relative for distances, however small.
"""

import functools
import math
import tracemalloc

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theory import activations as act
from theory import duals
from theory.activations import Activation, PiecewisePolynomial
from theory.activations.function import EVEN
from verify import integrals

TOLERANCE = 1e-13
JUMPS = {"step", "sign"}
REFERENCED = sorted(set(act.CATALOGUE) - {"softsign"})
RHOS = (-1.0, -1 + 1e-15, -0.6, 0.0, 0.4, 0.95, 1 - 1e-12, 1.0)
DELTAS = (1e-18, 1e-6, 0.01, 0.7, 1.3, 1.999, 2.0)


@pytest.mark.parametrize("name", REFERENCED)
def test_dual(name, law, error):
    a, ref = act.CATALOGUE[name], law(name)
    dual = ref.normalised_dual if name == "normrelu" else ref.dual
    scale = 1 if name == "normrelu" else ref.moment()
    for rho in RHOS:
        assert error(a.dual(rho), dual(rho), scale) < TOLERANCE, rho


@pytest.mark.parametrize("name", sorted(set(REFERENCED) - JUMPS))
def test_dual_derivative(name, law, error):
    a, ref = act.CATALOGUE[name], law(name)
    slope = ref.normalised_slope if name == "normrelu" else ref.slope
    for rho in RHOS:
        assert error(a.dual_derivative(rho), slope(rho), slope(1)) < TOLERANCE, rho


@pytest.mark.parametrize("jump", [1, 2])
def test_slope_of_a_jump(jump, error):
    # J^2 / (2 pi sqrt(1 - rho^2)) (Price's theorem), infinite at the ends.
    a = act.step if jump == 1 else act.sign
    for rho in (-0.9, -0.2, 0.0, 0.5, 0.999):
        exact = jump**2 / (2 * mpmath.pi * mpmath.sqrt(1 - mpmath.mpf(rho) ** 2))
        assert error(a.dual_derivative(rho), exact) < TOLERANCE
    assert a.dual_derivative([-1.0, 1.0]).tolist() == [math.inf, math.inf]


@pytest.mark.parametrize("name", REFERENCED)
def test_distance_map(name, law, error):
    a, ref = act.CATALOGUE[name], law(name)
    exact = ref.normalised_distance if name == "normrelu" else ref.distance
    for delta in DELTAS:
        true = exact(delta)
        # Balls leave 1e-77 of a distance that is zero, of an even function at 2.
        gap = error(a.distance_map(delta), true, max(abs(true), 1e-60))
        assert gap < TOLERANCE, delta
    assert a.distance_map(0.0) == 0.0


@pytest.mark.parametrize("name", sorted(act.CATALOGUE))
def test_distances_agree_with_duals(name):
    # 1 - dual / E s^2 has an absolute error of 1e-13 from the dual.
    a = act.CATALOGUE[name]
    delta = np.linspace(0.0, 2.0, 41)
    gap = a.distance_map(delta) - (1.0 - a.dual(1.0 - delta) / a.second_moment)
    assert np.abs(gap).max() < 2 * TOLERANCE


# --- softsign: no closed form and no entire series ------------------------------------


gauss = functools.partial(mpmath.quad, method="gauss-legendre")


def _softsign_dual(rho):
    # E s(X) s(Y) = 2/pi int_0^inf int r phi ... in polar coordinates is two-dimensional;
    # the conditional mean is smooth between kinks, so two nested Gauss rules suffice.
    r = mpmath.mpf(rho)
    spread = mpmath.sqrt(1 - r * r)

    def s(x):
        return x / (1 + abs(x))

    def inner(x):
        cut = -r * x / spread
        points = sorted({-9, cut, 9}) if abs(cut) < 9 else [-9, 9]
        return gauss(lambda z: s(r * x + spread * z) * mpmath.npdf(z), points)

    # As nested tanh-sinh sums, to 20 digits.
    return 2 * gauss(lambda x: s(x) * inner(x) * mpmath.npdf(x), [0, 2, 9])


def test_softsign(error):
    a = act.softsign
    with mpmath.workdps(16):
        exact = _softsign_dual(0.5)
    assert error(a.dual(0.5), exact, a.second_moment) < TOLERANCE
    assert a.dual(1.0) == pytest.approx(a.second_moment, rel=TOLERANCE)
    assert a.dual(-1.0) == pytest.approx(-a.second_moment, rel=TOLERANCE)
    assert a.dual(-0.5) == pytest.approx(-a.dual(0.5), rel=TOLERANCE)


# --- unequal variances ---------------------------------------------------------------

VARIANCES = ((0.3, 2.0), (1.0, 1.0 + 1e-9), (1e-4, 1.0))


def _pieces(name, var):
    return integrals.Pieces(**{**vars(integrals.PIECES[name]), "variance": var})


@pytest.mark.parametrize(
    "name", ["relu", "abs", "relu_squared", "hard_tanh", "elu", "selu", "sign"]
)
@pytest.mark.parametrize(("var_x", "var_y"), VARIANCES)
def test_unequal_variances_of_pieces(name, var_x, var_y, error):
    a = act.CATALOGUE[name]
    x, y = _pieces(name, var_x), _pieces(name, var_y)
    scale = mpmath.sqrt(x.dual(1) * y.dual(1))
    for rho in (-1.0, -0.7, 1 - 1e-10, 1.0):
        value = a.dual(rho, var_x=var_x, var_y=var_y)
        assert error(value, x.dual(rho, y), scale) < TOLERANCE, rho
        assert value == pytest.approx(
            a.dual(rho, var_x=var_y, var_y=var_x), abs=TOLERANCE * float(scale)
        )


@pytest.mark.parametrize("name", ["relu", "relu_squared", "hard_tanh", "elu"])
@pytest.mark.parametrize(("var_x", "var_y"), VARIANCES)
def test_unequal_slopes_of_pieces(name, var_x, var_y, error):
    a = act.CATALOGUE[name]
    x, y = _pieces(name, var_x), _pieces(name, var_y)
    scale = mpmath.sqrt(x.slope(1) * y.slope(1))
    for rho in (-1.0, -0.7, 1.0):
        value = a.dual_derivative(rho, var_x=var_x, var_y=var_y)
        assert error(value, x.slope(rho, y), scale) < TOLERANCE, rho


# Variances at which kinks +-1/sqrt(var) come close without meeting.
@pytest.mark.parametrize("gap", [1e-14, 1e-6, 1e-2])
def test_hard_tanh_with_nearly_coincident_kinks(gap, error):
    x, y = _pieces("hard_tanh", 1.0), _pieces("hard_tanh", 1.0 + gap)
    scale = x.dual(1)
    for rho in (-1.0, -1 + gap, 1 - gap, 1.0):
        value = act.hard_tanh.dual(rho, var_y=1.0 + gap)
        assert error(value, x.dual(rho, y), scale) < TOLERANCE, rho
        slope = act.hard_tanh.dual_derivative(rho, var_y=1.0 + gap)
        assert error(slope, x.slope(rho, y), x.slope(1)) < 2 * TOLERANCE, rho


@pytest.mark.parametrize("name", ["tanh", "erf", "gelu", "sin", "softplus", "silu"])
@pytest.mark.parametrize(("var_x", "var_y"), [*VARIANCES[:2], (4.0, 0.25)])
def test_unequal_variances_of_smooth(name, var_x, var_y, error):
    # At variance 4 the poles of tanh leave 1e-22^(1/2) of the reference's series.
    a = act.CATALOGUE[name]
    x = integrals.smooth_coefficients(name, repr(var_x))
    y = integrals.smooth_coefficients(name, repr(var_y))
    both = integrals.Series.of(x, y)
    scale = mpmath.sqrt(
        integrals.Series.of(x, x).dual(1) * integrals.Series.of(y, y).dual(1)
    )
    for rho in (-1.0, -0.7, 0.0, 0.5, 1.0):
        value = a.dual(rho, var_x=var_x, var_y=var_y)
        assert error(value, both.dual(rho), scale) < TOLERANCE, rho


@pytest.mark.parametrize("name", ["erf", "sin", "exp", "tanh", "hard_swish"])
@pytest.mark.parametrize("var", [1e-300, 1e-170])
def test_at_tiny_variances_duals_are_lines(name, var):
    """Next to zero a function is its tangent, whose variances' product is no float."""
    a = act.CATALOGUE[name]
    line = a.scaled(var).derivative_second_moment
    for rho in (-0.5, 0.3, 1.0):
        off = a.dual(rho, var_x=var, var_y=var) - a.scaled(var).mean ** 2
        if name != "exp":
            assert off == pytest.approx(line * rho, rel=1e-13, abs=0.0), rho
        slope = a.dual_derivative(rho, var_x=var, var_y=var)
        assert slope == pytest.approx(line, rel=1e-13, abs=0.0), rho


def test_erf_has_its_arcsine(error):
    # 2/pi asin(2 q / sqrt((1 + 2 v)(1 + 2 w))), Williams 1997.
    for v, w in ((1.0, 1.0), (0.01, 50.0), (100.0, 100.0)):
        for rho in RHOS:
            cov = rho * mpmath.sqrt(mpmath.mpf(v) * w)
            exact = (
                2
                / mpmath.pi
                * mpmath.asin(2 * cov / mpmath.sqrt((1 + 2 * v) * (1 + 2 * w)))
            )
            value = act.erf.dual(rho, var_x=v, var_y=w)
            scale = mpmath.sqrt(act.erf.length_map(v) * act.erf.length_map(w))
            assert error(value, exact, scale) < TOLERANCE, (v, w, rho)


# --- NormReLU for every kink ----------------------------------------------------------


def _normrelu(c, rho):
    """Normalised dual: 1/(2 pi V) int_0^{asin rho} (rho - sin u) e^{-c^2/(1+sin u)} du.

    Price's theorem twice, plus a_1^2 rho; V is the variance.
    """
    c, r = mpmath.mpf(c), mpmath.mpf(rho)
    tail, density = mpmath.ncdf(-c), mpmath.npdf(c)
    first = density - c * tail
    variance = (1 + c * c) * tail - c * density - first**2
    ends = mpmath.linspace(0, mpmath.asin(r), 5)
    rest = mpmath.quad(
        lambda u: (r - mpmath.sin(u)) * mpmath.exp(-c * c / (1 + mpmath.sin(u))), ends
    )
    return (tail**2 * r + rest / (2 * mpmath.pi)) / variance


KINKS = (-30.0, -12.0, -3.0, -1.59076585644126852, -0.2, 0.0, 0.9, 4.0, 15.0, 30.0)


@pytest.mark.parametrize("c", KINKS)
def test_normrelu(c):
    # Digits: mu at c = -30 and the variance at 30 are e^-450, left by cancellation.
    a = act.normrelu(c)
    with mpmath.workdps(30 + int(c * c / 4)):
        for rho in (-0.9, 0.5) if abs(c) > 10 else (-0.9, -0.3, 1e-3, 0.5, 0.99):
            assert abs(a.dual(rho) - _normrelu(c, rho)) < TOLERANCE, rho
        assert abs(a.dual(1.0) - 1) < TOLERANCE
        tail, density = mpmath.ncdf(-mpmath.mpf(c)), mpmath.npdf(mpmath.mpf(c))
        first = density - c * tail
        variance = (1 + mpmath.mpf(c) ** 2) * tail - c * density - first**2
        k = act.normrelu_constants(c)
        for value, exact in (
            (k.scale, 1 / mpmath.sqrt(variance)),
            (k.shift, -first),
            (k.mu, 1 - tail**2 / variance),
            (k.slope, tail / variance),
        ):
            assert abs(value - exact) < TOLERANCE * abs(exact)
        assert abs(a.mu / k.mu - 1) < TOLERANCE
        assert abs(a.derivative_second_moment / k.slope - 1) < TOLERANCE
        assert abs(a.dual_derivative(1.0) / k.slope - 1) < TOLERANCE


@settings(deadline=None, max_examples=40)
@given(st.floats(-30.0, 30.0))
def test_normrelu_constants(c):
    with mpmath.workdps(30 + int(c * c / 4)):
        z = mpmath.mpf(c)
        tail, density = mpmath.ncdf(-z), mpmath.npdf(z)
        first = density - z * tail
        variance = (1 + z * z) * tail - z * density - first**2
        k = act.normrelu_constants(c)
        mu = 1 - tail**2 / variance
        assert abs(k.scale * mpmath.sqrt(variance) - 1) < TOLERANCE
        assert abs(k.shift / -first - 1) < TOLERANCE
        assert abs(k.slope * variance / tail - 1) < TOLERANCE
        assert abs(k.mu / mu - 1) < TOLERANCE


def test_the_default_kink_has_the_scale_of_selu():
    # To the last digit: the root of a function with 60 digits, rounded once.
    with mpmath.workdps(60):
        target = mpmath.mpf("1.0507009873554805")

        def gap(z):
            tail, density = mpmath.ncdf(-z), mpmath.npdf(z)
            first = density - z * tail
            return ((1 + z * z) * tail - z * density - first**2) * target**2 - 1

        root = mpmath.findroot(gap, (-1.6, -1.5), solver="anderson", tol=1e-50)
        assert act.normrelu().kinks == (float(root),)
    assert act.normrelu(scale=1.0507009873554805).kinks == act.normrelu().kinks
    scale = act.normrelu_constants(act.normrelu().kinks[0]).scale
    assert scale == pytest.approx(1.0507009873554805, rel=TOLERANCE)


@pytest.mark.parametrize("name", ["hard_tanh", "relu6", "normrelu"])
def test_values_beside_minus_one(name, law, error):
    # The dual and its slope at -1 + d, d too small to be told in a float.
    a, ref = act.CATALOGUE[name], law(name)
    e = act.pair(a, a)
    scale = 1 / ref.variance() if name == "normrelu" else 1
    shift = ref.coefficient(0) ** 2 if name == "normrelu" else 0
    for d in (1e-20, 1e-9, 1e-3, 0.2):
        value, slope = e.opposite(np.array(d))
        rho = mpmath.mpf(d) - 1
        assert error(value, (ref.dual(rho) - shift) * scale, 1) < TOLERANCE, d
        assert error(slope, ref.slope(rho) * scale, 1) < TOLERANCE, d


def test_an_even_function_is_as_far_from_opposite_points():
    a = MANY["trapezium"]
    rest = 2.0 - (2.0 - np.geomspace(1e-15, 0.4, 200))
    # Before, from the angle at 2 - d: 4e-9 at d = 2e-15.
    found, exact = a.distance_map(2.0 - rest), a.distance_map(rest)
    assert np.all(np.abs(found - exact) <= TOLERANCE * exact)


# --- many values ----------------------------------------------------------------------

CALLABLES = {
    "smooth callable": act.from_function(lambda x: np.sin(3.0 * x) + x**2, kinks=()),
    "kinked callable": act.from_function(
        lambda x: np.abs(x - 0.5) + np.sin(x) * (x > 0.0), kinks=(0.0, 0.5)
    ),
    "even callable": act.from_function(lambda x: np.exp(-np.abs(x)), kinks=(0.0,)),
}
PIECES = {
    "two steps": PiecewisePolynomial("two steps", 0, (0.3,), (-1.0, 1.0), (0.5, 1.0)),
    "trapezium": PiecewisePolynomial(
        *("trapezium", 1, (0.0,), (-2.0, -1.0, 1.0, 2.0), (1.0, -1.0, -1.0, 1.0)),
        parity=EVEN,
    ).normalized(),
}
MANY = {
    **act.CATALOGUE,
    **CALLABLES,
    **PIECES,
    "normrelu(-0.5)": act.normrelu(c=-0.5),
    "elu(0.5)": act.elu(0.5),
    "hermite(7)": act.hermite(7),
    "hermite(100)": act.hermite(100),
    "softplus, wide": act.softplus.scaled(9.0),
    **{
        f"normalized {name}": act.CATALOGUE[name].normalized()
        for name in ("relu6", "gelu", "selu", "cos", "abs", "log_cosh")
    },
}
CLOSE = np.geomspace(1e-16, 0.5, 300)
CORRELATIONS = np.concatenate(
    [1.0 - CLOSE, CLOSE - 1.0, CLOSE, -CLOSE, np.linspace(-1.0, 1.0, 301)]
)
DISTANCES = np.concatenate(
    [np.geomspace(1e-19, 2.0, 600), 2.0 - np.geomspace(1e-15, 1.0, 300), [0.0, 2.0]]
)


def many(function, x):
    """Values at x, asked for among 20,000."""
    return function(np.resize(x, 20_000))[: len(x)]


def apart(found, exact):
    """Largest difference, equal infinities being none."""
    return np.abs(found[found != exact] - exact[found != exact]).max(initial=0.0)


@pytest.mark.parametrize("name", MANY)
def test_many_values_are_those_of_few(name):
    a = MANY[name]
    found, exact = many(a.dual, CORRELATIONS), a.dual(CORRELATIONS)
    assert apart(found, exact) <= TOLERANCE * a.second_moment
    inside = CORRELATIONS[np.abs(CORRELATIONS) < 1.0]
    exact = a.dual_derivative(inside)
    scale = min(a.dual_derivative(1.0), np.abs(exact).max())
    assert apart(many(a.dual_derivative, inside), exact) <= TOLERANCE * scale
    ends = np.array([-1.0, 1.0])
    exact = a.dual_derivative(ends)
    assert apart(many(a.dual_derivative, ends), exact) <= TOLERANCE * scale
    found, exact = many(a.distance_map, DISTANCES), a.distance_map(DISTANCES)
    assert np.all(np.abs(found - exact) <= TOLERANCE * exact)


@pytest.mark.parametrize(
    "name",
    [
        *("tanh", "hard_tanh", "sin", "hermite(7)", "hermite(100)"),
        *(f"normalized {name}" for name in ("cos", "abs", "log_cosh", "gelu")),
    ],
)
def test_many_values_keep_their_digits_where_the_dual_vanishes(name):
    a = MANY[name]
    rho = np.concatenate([np.geomspace(1e-40, 0.1, 200), -np.geomspace(1e-40, 0.1, 99)])
    for function in (a.dual, a.dual_derivative):
        exact = function(rho)
        assert np.all(np.abs(many(function, rho) - exact) <= TOLERANCE * np.abs(exact))


@pytest.mark.parametrize("name", ["hard_tanh", "softplus", "tanh"])
def test_many_values_of_unequal_variances(name):
    a = act.CATALOGUE[name]
    for function in (a.dual, a.dual_derivative):

        def values(rho, function=function):
            return function(rho, var_x=0.3, var_y=2.5)

        exact = values(CORRELATIONS)
        scale = np.abs(exact).max()
        assert apart(many(values, CORRELATIONS), exact) <= TOLERANCE * scale


@pytest.mark.parametrize(
    "name", ["hard_tanh", "two steps", "tanh", "softplus", "selu", "even callable"]
)
def test_mirrored_engines(name):
    # Of a(X) b(-Y), which correlations of the other sign belong to.
    a = MANY[name]
    b: Activation = a.scaled(2.0)
    e = act.pair(a, b)
    m = e.mirrored()
    rho = np.linspace(-0.99, 0.99, 41)
    size = math.sqrt(a.second_moment * b.second_moment)
    for function in ("dual", "covariance"):
        found, exact = getattr(m, function)(rho), getattr(e, function)(-rho)
        assert apart(found, exact) <= TOLERANCE * size
    steep = np.abs(e.slope(rho)).max()
    assert apart(m.slope(rho), -e.slope(-rho)) <= TOLERANCE * steep
    exact = e.dual(np.array(-1.0)) - e.dual(-rho)
    assert apart(m.distance(1.0 - rho), exact) <= 2 * TOLERANCE * size


@pytest.mark.parametrize("function", ["dual", "dual_derivative", "distance_map"])
def test_many_values_cost_the_engine_a_table(function, monkeypatch):
    asked = []

    def counted(method):
        def counting(self, x, *more):
            asked.append(np.size(x))
            return method(self, x, *more)

        return counting

    for name in ("covariance", "dual", "slope", "distance"):
        method = getattr(duals.Truncated, name)
        monkeypatch.setattr(duals.Truncated, name, counted(method))
    a = act.hard_tanh.scaled(1.7)
    x = np.geomspace(1e-18, 1e-3, 100_000)
    getattr(a, function)(x)
    # 96 nodes an octave of 64, towards both ends, and the ends themselves.
    assert sum(asked) <= 2 * 96 * 64 + 4
    asked.clear()
    getattr(a, function)(x)
    assert sum(asked) <= 4


def test_many_values_take_little_memory():
    rho = np.linspace(-1.0, 1.0, 1_000_000)
    act.tanh.dual(rho[:20_000])
    tracemalloc.start()
    act.tanh.dual(rho)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The result, the clipped argument, its checks, and chunks.
    assert peak < 4 * rho.nbytes


@pytest.mark.parametrize(
    ("kinks", "jumps", "slope"),
    [
        ((5.0,), (1.0,), 0.0),
        ((25.0,), (1.0,), 0.0),
        ((-5.0, 5.0), (1.0, 1.0), math.inf),
        ((-5.0, 5.0), (1.0, -1.0), -math.inf),
        ((-0.01, 0.0, 0.01), (1.0, -2.0, 1.0), math.inf),
    ],
)
def test_jumps_that_few_points_tell_apart_have_their_slope_at_minus_one(
    kinks, jumps, slope
):
    """Of steps that 30 points on (0, 3] took for even it was minus infinity."""
    steps = act.PiecewisePolynomial("steps", 0, (0.0,), kinks, jumps)
    assert steps.dual_derivative(-1.0) == slope


def test_a_step_without_a_common_jump_has_no_slope_at_minus_one():
    step = PiecewisePolynomial("step at 1", 0, (0.0,), (1.0,), (1.0,))
    assert step.dual_derivative([-1.0, 1.0]).tolist() == [0.0, math.inf]


def _clipped(low: float, high: float, rho: float) -> mpmath.mpf:
    """The dual of x clipped to [low, high], less `low`, by one integral over x."""
    with mpmath.workdps(40):
        a, b, r = mpmath.mpf(low), mpmath.mpf(high), mpmath.mpf(rho)
        s = mpmath.sqrt(1 - r**2)

        def above(mean: mpmath.mpf) -> mpmath.mpf:
            return mean * mpmath.ncdf(mean / s) + s * mpmath.npdf(mean / s)

        def given_x(x: mpmath.mpf) -> mpmath.mpf:
            return (above(r * x - a) - above(r * x - b)) * mpmath.npdf(x)

        # As tanh-sinh sums, to 1e-35.
        rising = gauss(lambda x: (x - a) * given_x(x), [a, (a + b) / 2, b])
        return rising + (b - a) * gauss(given_x, [b, b + 1, b + 3, b + 6, b + 12])


@pytest.mark.parametrize("rho", [-0.95, -0.7, -0.2, 0.5])
@pytest.mark.parametrize("high", [1e-8, 1e-4, 1e-2])
def test_a_narrow_step_at_zero_keeps_its_digits(high: float, rho: float) -> None:
    """Kinks next to each other, of weights that add up to zero, at either sign."""
    clip = PiecewisePolynomial("clip", 1, (0.0, 0.0), (0.0, high), (1.0, -1.0))
    assert clip.dual(rho) == pytest.approx(float(_clipped(0.0, high, rho)), rel=1e-13)
    wide = act.relu6.dual(rho, var_x=(6.0 / high) ** 2, var_y=(6.0 / high) ** 2)
    assert wide == pytest.approx(36.0 / high**2 * clip.dual(rho), rel=1e-13)


@pytest.mark.parametrize("width", [1e-2, 1e-3, 1e-4])
def test_a_narrow_step_off_zero_loses_digits_in_proportion(width: float) -> None:
    low, high = 0.3, 0.3 + width
    clip = PiecewisePolynomial("clip", 1, (0.0, 0.0), (low, high), (1.0, -1.0))
    for rho in (-0.7, -0.2, 0.5, 0.9):
        off = clip.dual(rho) - float(_clipped(low, high, rho))
        assert abs(off) < 1e-16 / width * clip.second_moment


@pytest.mark.parametrize("delta", [1e-18, 1e-6, 0.5, 1.7, 2.0])
@pytest.mark.parametrize("var", [1e60, 1e200])
def test_distances_of_a_clip_far_steeper_than_they_are_those_of_a_sign(delta, var):
    clip = act.hard_tanh.scaled(var)
    sign = act.sign.distance_map(delta)
    assert clip.distance_map(delta) == pytest.approx(sign, rel=1e-13)


@pytest.mark.parametrize("var", [1e8, 1e20])
@pytest.mark.parametrize("delta", [1e-10, 1e-2, 0.7])
def test_distances_of_a_steep_clip_keep_their_digits(var, delta):
    law = _pieces("hard_tanh", var)
    with mpmath.workprec(integrals.BITS):
        exact = 1 - law.dual(1 - mpmath.mpf(delta)) / law.dual(1)
    found = act.hard_tanh.scaled(var).distance_map(delta)
    assert found == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize("rho", [-1.0, 1.0])
@pytest.mark.parametrize("var", [1e8, 1e20, 1e40, 1e300])
def test_the_slope_of_a_steep_clip_is_its_energy_at_both_ends(rho, var):
    exact = var * mpmath.erf(1 / mpmath.sqrt(2 * mpmath.mpf(var)))
    found = act.hard_tanh.scaled(var).dual_derivative(rho)
    assert found == pytest.approx(float(exact), rel=1e-13)


def test_slopes_of_a_steep_odd_clip_are_alike_at_both_ends():
    a, d = act.hard_tanh.scaled(1e12), 2.0 ** -np.arange(1.0, 50.0)
    ahead, behind = a.dual_derivative(1.0 - d), a.dual_derivative(-1.0 + d)
    assert behind == pytest.approx(ahead, rel=1e-13)


def test_an_even_and_an_odd_function_have_no_covariance():
    """Their kinks' weights cancel, all of them."""
    engine = act.pair(act.absolute, act.hard_tanh)
    assert np.abs(engine.dual(np.array([-1.0, -0.3, 0.0, 0.6, 1.0]))).max() < 1e-16


@pytest.mark.parametrize("name", ["relu6", "hard_tanh"])
def test_many_values_of_a_steep_clip_are_those_of_few(name):
    a = act.CATALOGUE[name].scaled(1e12)
    delta = np.concatenate([2.0 - 2.0 ** -np.linspace(0.0, 50.0, 4000), np.ones(4000)])
    for at in (delta, 2.0 - delta):
        few, rho = at[:4000:50], 1.0 - at
        assert a.distance_map(at)[:4000:50] == pytest.approx(
            a.distance_map(few), rel=1e-13
        )
        off = a.dual(rho)[:4000:50] - a.dual(1.0 - few)
        assert np.abs(off).max() < 1e-13 * a.second_moment


def test_a_narrow_pulse_keeps_its_digits_next_to_minus_one():
    """To E s^2, which is small: P(0 < X < e, 0 < Y < e), by the density there."""
    e, d = 1e-6, 2.0**-48
    pulse = PiecewisePolynomial("pulse", 0, (0.0,), (0.0, e), (1.0, -1.0))
    with mpmath.workdps(30):
        rho = mpmath.mpf(d) - 1
        s = mpmath.sqrt(1 - rho**2)

        def given_x(x):
            p = mpmath.ncdf((e - rho * x) / s) - mpmath.ncdf(-rho * x / s)
            return p * mpmath.npdf(x)

        exact = mpmath.quad(given_x, [0, e / 2, e])
    assert abs(pulse.dual(d - 1.0) - exact) < 1e-13 * pulse.second_moment


@pytest.mark.parametrize("delta", [0.5, 1.1, 1.5, 1.8])
def test_distances_of_what_is_nearly_constant_keep_their_digits(delta):
    """A constant adds to E s^2 alone."""
    kinks, jumps = (0.0, 1e-6), (1.0, -1.0)
    clip = PiecewisePolynomial("clip", 1, (0.0,), kinks, jumps)
    high = PiecewisePolynomial("high", 1, (1.0,), kinks, jumps)
    share = clip.distance_map(delta) * clip.second_moment / high.second_moment
    assert high.distance_map(delta) == pytest.approx(share, rel=1e-13)


CORRELATED = np.array([-1.0, -1 + 1e-12, -0.6, 0.0, 0.3, 1 - 1e-9, 1.0])


@pytest.mark.parametrize("c", [-1.25, 0.0, 3.0])
def test_a_step_beside_a_smooth_function(c):
    """E 1{X > c} e^Y = e^(1/2) P(Z < rho - c), and its slope is a density."""
    step = PiecewisePolynomial("step", 0, (0.0,), (c,), (1.0,))
    for engine in (act.pair(step, act.exp), act.pair(act.exp, step)):
        root = math.sqrt(math.e)
        exact = np.array([root * float(mpmath.ncdf(r - c)) for r in CORRELATED])
        slopes = np.array([root * float(mpmath.npdf(r - c)) for r in CORRELATED])
        assert apart(engine.dual(CORRELATED), exact) <= TOLERANCE * math.e
        assert apart(engine.slope(CORRELATED), slopes) <= TOLERANCE * slopes.max()


def test_jumps_beside_a_kink_at_one_of_them():
    steps = PiecewisePolynomial("steps", 0, (0.3,), (-0.5, 1.25), (1.0, -2.5))
    ramp = PiecewisePolynomial("ramp", 1, (0.0,), (1.25,), (1.0,))
    engine = act.pair(steps, ramp)
    for rho in (-0.9, 0.2, 1 - 1e-6):
        width = mpmath.sqrt(1 - mpmath.mpf(rho) ** 2)

        def density(y, rho=rho, width=width):
            share = mpmath.ncdf((rho * y + 0.5) / width)
            share -= 2.5 * mpmath.ncdf((rho * y - 1.25) / width)
            return (mpmath.mpf(0.3) + share) * (y - 1.25) * mpmath.npdf(y)

        exact = mpmath.quad(density, [1.25, 1.25 + width, 1.26, 1.4, 2, 4, 8, 14])
        assert abs(engine.dual(np.array(rho)) - exact) <= TOLERANCE, rho


def test_a_jump_beside_an_infinite_slope_is_refused():
    root = act.from_function(np.cbrt, kinks=0.0)
    with pytest.raises(ValueError, match="square integrable slope beside one that jum"):
        act.pair(act.step, root)


def test_coefficients_of_a_pair_are_integrated_once(monkeypatch):
    asked = []
    integrate = type(act.tanh)._series_coefficients

    def counted(self):
        asked.append(self)
        return integrate(self)

    monkeypatch.setattr(type(act.tanh), "_series_coefficients", counted)
    a, b = act.tanh.scaled(0.31), act.tanh.scaled(0.32)
    act.pair(a, b)
    assert asked == [a, b]


@pytest.mark.parametrize("name", ["silu", "quick_gelu", "mish"])
@pytest.mark.parametrize("var", [1e6, 1e10, 1e12])
def test_slopes_of_steep_functions_end_at_their_energy(name: str, var: float) -> None:
    # E s'(X)^2 is an integral over one variable, the slope is read off a table. 1e-14 is
    # what is left of a panel.
    a = act.CATALOGUE[name]._scaled(var)
    found = a.dual_derivative(1.0)
    assert found == pytest.approx(a.derivative_second_moment, rel=2e-14, abs=0.0)


@pytest.mark.parametrize("rho", [-0.95, -0.9, -0.75, -0.5, -0.1])
@pytest.mark.parametrize("order", [0, 1])
def test_little_is_left_of_opposite_inputs_to_one_side_of_zero(rho, order, error):
    """Beyond a kink at one 1e-9 of a ramp is left at -0.9: 1e-17 of E s^2 is 6e-9 of it."""
    with mpmath.workdps(30):
        r = mpmath.mpf(rho)
        s = mpmath.sqrt(1 - r * r)

        def beside(x):
            """Return s(x) times E s(Y) at X = x, and its density."""
            m = r * x - 1
            rest = mpmath.ncdf(m / s)
            if order:
                rest = s * mpmath.npdf(m / s) + m * rest
            return (x - 1) ** order * rest * mpmath.npdf(x)

        exact = mpmath.quad(beside, [1, 1.25, 1.5, 2, 3, 5, 9, 20])
    a = PiecewisePolynomial("far", order, (0.0,), (1.0,), (1.0,))
    # Exponents of up to 40, rounded a few times.
    assert error(a.dual(rho), exact) <= 4e-14
