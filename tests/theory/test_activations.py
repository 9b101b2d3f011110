"""Activations against 50-digit references: moments, shares, fixed points, lengths.

The requirement is a relative error of 1e-13, some 450 ulp: sums of a few thousand
rounded terms stay below 10 ulp and the cancellation that the closed forms leave costs
at most a factor of 30.
"""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theory import activations as act
from verify import integrals

TOLERANCE = 1e-13

REFERENCED = sorted(set(act.CATALOGUE) - {"softsign"})
NORMAL = {"normrelu", "hermite(2)", "hermite(3)", "hermite(4)"}
JUMPS = {"step", "sign"}
NON_LINEAR = [name for name in REFERENCED if name != "identity"]

VARIANCES = (0.01, 0.5, 2.0, 9.0)


def test_catalogue_is_keyed_by_name():
    wrong = {
        key: a.name
        for key, a in act.CATALOGUE.items()
        if key not in ("elu", "normrelu") and a.name != key
    }
    assert wrong == {}
    assert len(act.CATALOGUE) >= 28


def test_other_names_in_use():
    assert act.abs is act.abs_ is act.absolute is act.CATALOGUE["abs"]
    assert act.swish is act.silu
    assert act.heaviside is act.step
    assert (act.atan, act.arcsinh) == (act.arctan, act.asinh)


@pytest.mark.parametrize(
    ("name", "meant"), [("ReLU", "relu"), ("soft_plus", "softplus")]
)
def test_a_near_miss_of_a_name_is_told_the_name(name, meant):
    with pytest.raises(AttributeError, match=f"'{name}': did you mean .*{meant}"):
        getattr(act, name)


VALUES = {
    "identity": lambda x: x,
    "relu": lambda x: max(x, 0.0),
    "abs": abs,
    "step": lambda x: float(x > 0),
    "sign": lambda x: math.copysign(1.0, x),
    "hard_tanh": lambda x: max(-1.0, min(1.0, x)),
    "relu_squared": lambda x: max(x, 0.0) ** 2,
    "leaky_relu(0.01)": lambda x: x if x > 0 else 0.01 * x,
    "erf": math.erf,
    "tanh": math.tanh,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "gelu": lambda x: x * math.erfc(-x / math.sqrt(2)) / 2,
    "silu": lambda x: x / (1 + math.exp(-x)),
    "softplus": lambda x: math.log1p(math.exp(x)),
    "exp": math.exp,
    "sin": math.sin,
    "cos": math.cos,
    "arctan": math.atan,
    "asinh": math.asinh,
    "mish": lambda x: x * math.tanh(math.log1p(math.exp(x))),
    "gaussian": lambda x: math.exp(-x * x / 2),
    "softsign": lambda x: x / (1 + abs(x)),
    "selu": lambda x: (
        1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * math.expm1(x))
    ),
    "elu": lambda x: x if x > 0 else math.expm1(x),
    "normrelu": lambda x: (
        1.0507009873554805 * (max(x + 1.59076585644126852, 0.0) - 1.61451860134731268)
    ),
    "relu6": lambda x: min(max(x, 0.0), 6.0),
    "hard_sigmoid": lambda x: min(max(x + 3.0, 0.0), 6.0) / 6.0,
    "hard_swish": lambda x: x * min(max(x + 3.0, 0.0), 6.0) / 6.0,
    "quick_gelu": lambda x: x / (1 + math.exp(-1.702 * x)),
    "log_cosh": lambda x: float(mpmath.log(mpmath.cosh(x))),
    "hermite(2)": lambda x: (x * x - 1) / math.sqrt(2),
    "hermite(3)": lambda x: (x**3 - 3 * x) / math.sqrt(6),
    "hermite(4)": lambda x: (x**4 - 6 * x * x + 3) / math.sqrt(24),
}


@pytest.mark.parametrize("name", sorted(act.CATALOGUE))
def test_values(name):
    # Each formula rounds a few times; near a zero relative to the largest value.
    x = np.array([-6.0, -2.5, -1.0, -0.3, 1e-9, 0.7, 1.0, 3.0, 8.0])
    expected = np.array([VALUES[name](v) for v in x])
    scale = 1e-15 * np.maximum(1.0, np.abs(expected)) * 8
    assert np.all(np.abs(act.CATALOGUE[name](x) - expected) <= scale)
    one = act.CATALOGUE[name](0.7)
    assert isinstance(one, float)
    assert one == act.CATALOGUE[name](x)[5]
    assert act.CATALOGUE[name](x.reshape(3, 3)).shape == (3, 3)


def test_values_next_to_zero_keep_their_digits():
    x = np.array([-1e-3, -1e-9, -1e-300, 0.0, 1e-17, 1e-9])
    for a in (act.identity, act.hard_tanh):
        assert a(x).tolist() == x.tolist()
    assert act.relu6(x).tolist() == np.maximum(x, 0.0).tolist()
    slope = act.hard_tanh.length_map_derivative(1e-20)
    assert slope == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("name", REFERENCED)
def test_moments(name, law, error):
    a, ref = act.CATALOGUE[name], law(name)
    if name == "normrelu":
        a = act.Affine(a, 1.0, 0.0)  # by integration, not by construction
        scale = mpmath.sqrt(ref.variance())
        assert error(a.second_moment, mpmath.mpf(1)) < TOLERANCE
        assert error(a.derivative_second_moment * scale**2, ref.slope(1)) < TOLERANCE
        return
    assert error(a.mean, ref.coefficient(0), mpmath.sqrt(ref.moment())) < TOLERANCE
    assert error(a.second_moment, ref.moment()) < TOLERANCE
    assert error(a.variance, ref.variance()) < TOLERANCE
    if name in JUMPS:
        assert a.derivative_second_moment == math.inf
    else:
        assert error(a.derivative_second_moment, ref.slope(1)) < TOLERANCE


@pytest.mark.parametrize("name", NON_LINEAR)
def test_shares(name, law, error):
    a, ref = act.CATALOGUE[name], law(name)
    assert error(a.mu, ref.mu()) < TOLERANCE
    nu = ref.mu() if name == "normrelu" else ref.nu()
    assert error(a.nu, nu) < TOLERANCE


# Reference table of the restated paper: E s, Var s, mu, nu, D / E s^2 of softsign.
def test_softsign(error):
    a = act.softsign
    assert a.mean == pytest.approx(0.0, abs=1e-16)
    assert error(a.variance, mpmath.mpf("0.1830140212665474991")) < TOLERANCE
    assert error(a.mu, mpmath.mpf("0.0691053522730831559")) < TOLERANCE
    slope = a.derivative_second_moment / a.second_moment
    assert error(slope, mpmath.mpf("1.244010370607586654")) < TOLERANCE


def _fixed_point(law):
    """Smallest root of dual(r)/dual(1) = r in [0, 1], by bracketing at 60 digits."""
    moment = law.moment()
    if law.coefficient(0) == 0:
        return mpmath.mpf(0)

    def gap(r):
        return law.dual(r) / moment - r

    top = 1 - mpmath.mpf(10) ** -6
    if gap(top) >= 0:
        return mpmath.mpf(1)
    return mpmath.findroot(
        gap, (mpmath.mpf(0), top), solver="anderson", tol=mpmath.mpf(10) ** -36
    )


CENTRED = {"identity", "sign", "hard_tanh", "erf", "tanh", "sin", "arctan", "asinh"}


@pytest.mark.parametrize("name", sorted(set(REFERENCED) - CENTRED - NORMAL - {"selu"}))
def test_fixed_points(name, law, error):
    a = act.CATALOGUE[name]
    assert error(a.fixed_point(), _fixed_point(law(name))) < TOLERANCE


@pytest.mark.parametrize("name", sorted(CENTRED | NORMAL))
def test_centred_activations_settle_at_zero(name):
    assert act.CATALOGUE[name].fixed_point() == 0.0


@pytest.mark.parametrize(
    ("mean", "bend"),
    [
        (1e-6, 1e-5),
        (1e-8, 1.1e-8),
        (1e-9, 1e-4),
        (1e-5, 1e-5 * (1.0 + 1e-9)),
        (1e-5, 1e-5),
    ],
)
def test_fixed_points_of_nearly_linear_activations(mean, bend):
    """The roots of rho = p_0 + (1 - p_0 - p_2) rho + p_2 rho^2 are one and p_0 / p_2."""
    found = act.HermiteMixture((mean, 1.0, bend)).fixed_point()
    exact = min(mpmath.mpf(mean) ** 2 / mpmath.mpf(bend) ** 2, 1)
    assert abs(found / exact - 1) < 1e-14


def test_zero_has_no_fixed_point():
    zero = act.from_function(lambda x: 0.0 * x, name="zero")
    with pytest.raises(ValueError, match=r"^zero.fixed_point: activation must not be"):
        zero.fixed_point()


def test_selu_settles_near_zero():
    # Its two constants are rounded: E s is 1e-16, and the map's slope at 0 is 1 - mu.
    assert 0.0 <= act.selu.fixed_point() < 1e-28


@pytest.mark.parametrize("name", sorted(act.CATALOGUE))
def test_normalized(name):
    a = act.CATALOGUE[name].normalized()
    assert a.is_normalized
    assert (a.mean, a.second_moment, a.variance) == (0.0, 1.0, 1.0)
    assert a.hermite(2)[0] == 0.0
    assert a.normalized() is a
    # Not by construction only: the values themselves are centred and scaled.
    x, w = np.polynomial.hermite_e.hermegauss(180)
    w = w / np.sqrt(2.0 * np.pi)
    # Gauss-Hermite with 180 nodes leaves 1/sqrt(180) of a jump, 1/180 of a slope's:
    # up to 3.3, for abs.
    rough = 0.1 if name in JUMPS else 2e-2
    assert abs(w @ a(x)) < rough
    assert abs(w @ a(x) ** 2 - 1.0) < rough


@pytest.mark.parametrize("name", NON_LINEAR)
def test_mu_and_slope_of_the_normalised(name, law, error):
    a, ref = act.CATALOGUE[name].normalized(), law(name)
    assert error(a.mu, ref.mu()) < TOLERANCE
    assert error(a.nu, ref.mu()) < TOLERANCE
    if name not in JUMPS:
        expected = ref.slope(1) / ref.variance()
        assert error(a.derivative_second_moment, expected) < TOLERANCE
    for rho in (-1.0, -0.4, 0.6):
        assert error(a.dual(rho), ref.normalised_dual(rho), 1) < TOLERANCE


@pytest.mark.parametrize("name", sorted(act.CATALOGUE))
@pytest.mark.parametrize("var", [0.25, 3.0])
def test_scaled_is_the_activation_of_a_scaled_argument(name, var):
    a = act.CATALOGUE[name]
    x = np.array([-2.0, -0.4, 0.3, 1.7])
    expected = a(math.sqrt(var) * x)
    # A Hermite mixture sums terms of size up to 20, with 4 ulp each.
    near = 2e-14 if name.startswith("hermite") else 1e-15
    assert np.allclose(a.scaled(var)(x), expected, rtol=1e-14, atol=near)
    twice = a.scaled(var).scaled(1.0 / var)
    assert np.allclose(twice(x), a(x), rtol=1e-14, atol=near)


@pytest.mark.parametrize("name", sorted(set(act.CATALOGUE) - JUMPS))
def test_derivative_is_the_slope(name):
    a = act.CATALOGUE[name]
    x = np.array([-2.1, -0.4, 0.3, 1.7])
    h = 1e-5  # error h^2 |s'''| / 6 + ulp / h: 1e-10 and 1e-11, for |s'''| up to 6
    slope = (a(x + h) - a(x - h)) / (2.0 * h)
    assert np.allclose(a.derivative(x), slope, rtol=3e-9, atol=3e-9)
    # E s'^2 two ways: from the derivative as an activation, and as the dual's slope.
    d = a.derivative.second_moment
    assert d == pytest.approx(a.derivative_second_moment, rel=TOLERANCE)
    assert a.dual_derivative(1.0) == pytest.approx(d, rel=TOLERANCE)


def test_second_derivatives():
    assert act.relu_squared.derivative.derivative([-1.0, 1.0]).tolist() == [0.0, 2.0]
    assert act.hermite(2).derivative.derivative(0.3) == pytest.approx(2**0.5, rel=1e-15)
    with pytest.raises(ValueError, match=r"tanh'\.derivative: not available"):
        _ = act.tanh.derivative.derivative


@pytest.mark.parametrize("name", sorted(JUMPS))
def test_a_jump_has_no_derivative(name):
    with pytest.raises(ValueError, match=f"{name}': a function with a jump"):
        act.CATALOGUE[name].derivative(0.5)


SMOOTH = sorted(set(integrals.SMOOTH) - {"identity"})


def _length(name, q):
    if name in integrals.SMOOTH:
        a = integrals.smooth_coefficients(name, repr(q))
        return integrals.Series.of(a, a).dual(1)
    base = integrals.PIECES[name]
    fields = {**vars(base), "variance": repr(q)}
    return integrals.Pieces(**fields).dual(1)


@pytest.mark.parametrize("name", sorted({*integrals.SMOOTH, *integrals.PIECES}))
def test_length_map(name, error):
    a = act.leaky_relu(float(name[11:-1])) if name[:5] == "leaky" else None
    a = a or act.CATALOGUE[name]
    # Poles at distance d/sqrt(q): the reference series is good to 1e-16 for q <= 2.
    for q in VARIANCES[:3]:
        assert error(a.length_map(q), _length(name, q)) < TOLERANCE
    assert np.array_equal(
        a.length_map([0.5, 2.0]), [a.length_map(0.5), a.length_map(2.0)]
    )


@pytest.mark.parametrize("name", sorted(set(REFERENCED) - JUMPS))
def test_length_map_derivative(name):
    # Five-point difference: error h^4 q^(5) / 30 + 2 ulp / h with h = 2e-3: 5e-13 each,
    # and fifth derivatives of these maps are below 40 except those of exp.
    a, h = act.CATALOGUE[name], 2e-3
    if name == "exp":
        for q in (0.5, 1.0):
            expected = 2.0 * math.exp(2.0 * q)
            assert a.length_map_derivative(q) == pytest.approx(expected, rel=TOLERANCE)
        return
    for q in (0.5, 1.0):
        m = [a.length_map(q + j * h) for j in (-2, -1, 1, 2)]
        slope = (m[0] - 8 * m[1] + 8 * m[2] - m[3]) / (12 * h)
        assert a.length_map_derivative(q) == pytest.approx(slope, rel=1e-9)


@pytest.mark.parametrize("name", sorted(JUMPS))
def test_lengths_do_not_move_when_values_are_constant(name):
    a = act.CATALOGUE[name]
    assert a.length_map([0.1, 1.0, 7.0]).tolist() == [a.second_moment] * 3
    for one in (a, a.normalized(), a.scaled(3.0)):
        assert one.length_map_derivative([0.1, 1.0, 7.0]).tolist() == [0.0] * 3


def test_what_is_zero_has_no_map_of_distances():
    with pytest.raises(ValueError, match=r"^nothing\.distance_map: .*not be zero"):
        act.PiecewisePolynomial("nothing", 1, (0.0,)).distance_map(0.5)


@pytest.mark.parametrize("a", [act.log_cosh.scaled(1e-155), act.relu.scaled(1e308)])
def test_what_is_too_small_or_large_to_be_normalised_is_said_so(a):
    need = r"\.normalized: activation must have a variance from 1e-307 to 1e\+307, got"
    with pytest.raises(ValueError, match=need):
        a.normalized()


def test_duals_below_float64_are_rounded():
    # E log cosh(X) log cosh(Y) = (1 + 2 rho^2) v^2 / 4 + O(v^3), at 53 - 20 bits.
    a = act.log_cosh.scaled(1e-155)
    assert a.dual(0.5) == pytest.approx(3.75e-311, rel=1e-9)
    assert act.log_cosh.scaled(1e-300).dual(0.5) == 0.0


def test_equality_and_hash():
    assert act.leaky_relu(0.1) == act.leaky_relu(0.1)
    assert hash(act.leaky_relu(0.1)) == hash(act.leaky_relu(0.1))
    assert act.leaky_relu(0.1) != act.leaky_relu(0.2)
    assert act.hermite(3) == act.CATALOGUE["hermite(3)"]
    assert act.normrelu() == act.CATALOGUE["normrelu"]
    assert act.tanh.normalized() == act.tanh.normalized()
    assert act.tanh.scaled(2.0) == act.tanh.scaled(2.0) != act.tanh
    distinct = set(act.CATALOGUE.values())
    assert len(distinct) == len(act.CATALOGUE)


def test_activations_are_immutable():
    with pytest.raises(AttributeError):
        act.relu.m = 2


@settings(deadline=None, max_examples=40)
@given(st.floats(-3.0, 3.0))
def test_leaky_relu_moments(slope):
    a = act.leaky_relu(slope)
    # E s^2 = (1 + a^2)/2 and E s = (1 - a)/sqrt(2 pi), each a few roundings.
    assert a.second_moment == pytest.approx((1 + slope**2) / 2, rel=1e-15)
    assert a.mean == pytest.approx((1 - slope) / math.sqrt(2 * math.pi), rel=4e-16)


@pytest.mark.parametrize("k", range(1, 9))
def test_hermite_activations(k):
    a = act.hermite(k)
    assert (a.mean, a.second_moment) == (0.0, 1.0)
    assert a.derivative_second_moment == pytest.approx(k, rel=5e-16)  # sqrt(k)^2
    assert a.dual(0.5) == 0.5**k
    if k > 1:
        assert (a.mu, a.nu) == (1.0, 1.0)
    else:
        with pytest.raises(ValueError, match=r"hermite\(1\)\.mu: .*affine"):
            _ = a.mu


@pytest.mark.parametrize("factor", [1e-154, 1e-150, 1e-120, 1e120, 1e153])
@pytest.mark.parametrize("name", ["relu", "step", "tanh", "sigmoid", "elu", "gelu"])
def test_distances_do_not_see_a_factor(name, factor):
    """A distance of 1e-18 of an energy of 1e-300 had six digits, of 1e-308 none."""
    delta = [1e-18, 1e-9, 0.1, 1.0, 1.9]
    found = (factor * act.CATALOGUE[name]).distance_map(delta)
    np.testing.assert_allclose(
        found, act.CATALOGUE[name].distance_map(delta), rtol=1e-13
    )


@pytest.mark.parametrize("alpha", [1.0, -2.0, 1e8])
@pytest.mark.parametrize("var", [3.9, 4.1, 1e4, 1e12])
def test_exponential_units_of_long_arguments(alpha, var):
    """Of a line and alpha times another only what is bounded is left below zero."""
    a = act.elu(alpha)._scaled(var)
    with mpmath.workdps(60):
        r, start = mpmath.sqrt(var), mpmath.npdf(0)
        c = mpmath.exp(r * r / 2) * mpmath.ncdf(-r)
        # x for x > 0, alpha (e^(r x) - 1) below; integrated by parts from k = 2 on.
        low = alpha * r * r
        both = [
            r * start + alpha * (c - mpmath.mpf(1) / 2),
            r / 2 + alpha * r * c,
            (r * (1 - alpha) * start + low * c) / mpmath.sqrt(2),
            low * (r * c - start) / mpmath.sqrt(6),
        ]
        true = [float(v) for v in both]
    gap = np.abs(a.hermite(3) - true).max()
    assert gap <= 1e-13 * math.sqrt(a.second_moment)


def test_what_overflows_is_refused_without_a_warning():
    with pytest.raises(ValueError, match="grows too fast"):
        act.normrelu(37.0).length_map(1e10)
    far = act.from_function(
        lambda v: np.tanh(v) + np.maximum(v - 1e300, 0.0), kinks=1e300
    )
    assert far.dual(0.5) == pytest.approx(act.tanh.dual(0.5), rel=1e-13)


@pytest.mark.parametrize(
    ("m", "kinks", "jumps"),
    [
        (2, (1.0, 1e160), (1.0, -3.0)),
        (2, (1.0, 1e200, 1.1e200), (1.0, 2.0, -2.0)),
        (1, (1.0, 1e300), (1.0, 1e10)),
    ],
)
def test_kinks_that_no_input_reaches_change_nothing(m, kinks, jumps):
    far = act.PiecewisePolynomial("far", m, (0.5,), kinks, jumps)
    near = act.PiecewisePolynomial("near", m, (0.5,), kinks[:1], jumps[:1])
    for what in ("mean", "second_moment", "variance", "mu", "nu"):
        assert getattr(far, what) == pytest.approx(getattr(near, what), rel=1e-15)
    assert far(2.0) == near(2.0)


@pytest.mark.parametrize(("m", "kink"), [(1, -1e200), (2, -1e100), (2, -5.4e286)])
def test_kinks_that_leave_squares_infinite_are_refused(m, kink):
    with pytest.raises(
        ValueError, match="PiecewisePolynomial: `kinks` must add at most"
    ):
        act.PiecewisePolynomial("wide", m, (0.0,), (kink,), (1.0,))


@pytest.mark.parametrize("m", [1, 2])
def test_functions_whose_squares_leave_float64_have_their_mean(m):
    huge = act.PiecewisePolynomial("huge", m, (0.0,), (0.0,), (1e160,))
    mean = 1e160 / math.sqrt(2.0 * math.pi) if m == 1 else 2.5e159
    assert huge.mean == pytest.approx(mean, rel=1e-15)
    assert huge.variance == huge.second_moment == math.inf
    for what in ("mu", "nu"):
        with pytest.raises(ValueError, match=f"{what}: activation must have squares"):
            getattr(huge, what)
