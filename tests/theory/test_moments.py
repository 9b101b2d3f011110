"""Moments at variances from 1e-8 to 1e8, against Gauss-Legendre sums at 77 digits.

Panels are at most half a standard deviation wide, and a quarter, or an eighth of the
distance from zero, in the function's own units: 24 nodes leave (1/8)^48 of functions whose
singularities are at a distance of one, far below the 1e-12 that is asked for.
"""

import itertools
import math
from functools import lru_cache

import flint
import mpmath
import numpy as np
import pytest

from theory import activations as act
from theory.activations import closed, moments
from verify import integrals

TOLERANCE = 1e-12
VARIANCES = (1e-8, 1e-4, 0.3, 30.0, 1e4, 1e8)
TWINS = {*integrals.SMOOTH, *integrals.PIECES, *integrals.ODD}
NAMES = sorted(set(act.CATALOGUE) & TWINS, key=lambda n: (act.CATALOGUE[n].kinks, n))
WAVES = {"sin", "cos"}
"""At large variances there are too many waves to sum, and closed forms to compare with."""


@lru_cache(maxsize=1)
def _rule():
    with flint.ctx.workprec(integrals.BITS):
        return [flint.arb.legendre_p_root(24, k, weight=True) for k in range(24)]


def _function(name, middle):
    """Return the function that is the activation on a panel about `middle`."""
    if name in integrals.SMOOTH:
        return integrals.SMOOTH[name]
    if name in integrals.ODD:
        f, _ = integrals.ODD[name]
        return lambda x: f(abs(x)) * x.sgn()
    branch = integrals._branch(integrals.PIECES[name], middle, 0)
    return branch or (lambda _: flint.arb(0))


def _edges(root, kinks):
    """Ends of panels in the function's own units, to 16 standard deviations."""
    top = 16.0 * root
    own = [k / 4 for k in range(33)]
    while own[-1] < top:
        own += [own[-1] * (1.0 + j / 8) for j in range(1, 9)]
    cuts = {root * k / 2 for k in range(33)} | {v for v in own if v < top}
    return sorted({*cuts, *(-v for v in cuts), *(c for c in kinks if abs(c) < top)})


class Grid:
    """Nodes of all panels, standardised, with weights and Hermite polynomials."""

    def __init__(self, var, kinks):
        root = integrals.arb(var).sqrt()
        self.panels, self.w, self.z = [], [], []
        for a, b in itertools.pairwise(_edges(math.sqrt(var), kinks)):
            low, high = integrals.arb(a), integrals.arb(b)
            half, middle = (high - low) / 2, (high + low) / 2
            self.panels.append((middle, [middle + half * x for x, _ in _rule()]))
            z = [x / root for x in self.panels[-1][1]]
            self.z += z
            self.w += [
                half / root * weight * integrals._density(y)
                for y, (_, weight) in zip(z, _rule(), strict=True)
            ]
        low, high, rows = [flint.arb(0)] * len(self.z), self.w, []
        for n in range(10):
            rows += high
            up, down = flint.arb(n + 1).sqrt(), flint.arb(n).sqrt()
            both = zip(self.z, high, low, strict=True)
            low, high = high, [(z * v - down * u) / up for z, v, u in both]
        self.rows = flint.arb_mat(10, len(self.z), rows)


# Tests of activations with the same kinks follow each other.
_grid = lru_cache(maxsize=len(VARIANCES))(Grid)


class Reference:
    """Sums over nodes: values, their slopes, weights and standardised arguments."""

    def __init__(self, name, var):
        root = integrals.arb(var).sqrt()
        h = integrals.arb("1e-22")  # of mean and difference of two values: 1e-44
        step = root / (2 * h)
        self.grid = _grid(var, act.CATALOGUE[name].kinks)
        self.s, self.slope, self.z = [], [], self.grid.z
        for middle, nodes in self.grid.panels:
            f = _function(name, middle)
            both = [(f(x + h), f(x - h)) for x in nodes]
            self.s += [(above + below) / 2 for above, below in both]
            self.slope += [step * (above - below) for above, below in both]

    def mean(self, values):
        terms = zip(self.grid.w, values, strict=True)
        return sum((w * v for w, v in terms), flint.arb(0))

    def coefficients(self):
        found = self.grid.rows * flint.arb_mat(len(self.s), 1, self.s)
        return found.entries()


def _cases():
    for name in NAMES:
        for var in VARIANCES:
            if (name == "exp" and var > 1.0) or (name in WAVES and var > 30.0):
                continue
            yield name, var


@pytest.mark.parametrize(("name", "var"), list(_cases()))
def test_moments(name, var, error):
    a = act.CATALOGUE[name].scaled(var)
    with flint.ctx.workprec(integrals.BITS):
        ref = Reference(name, var)
        exact = ref.coefficients()
        moments = {
            "second_moment": ref.mean([s * s for s in ref.s]),
            "variance": ref.mean([(s - exact[0]) ** 2 for s in ref.s]),
            "derivative_second_moment": ref.mean([v * v for v in ref.slope]),
            "_rest": ref.mean(
                [
                    (s - exact[0] - exact[1] * z) ** 2
                    for s, z in zip(ref.s, ref.z, strict=True)
                ]
            ),
        }
        if name in ("step", "sign"):
            moments.pop("derivative_second_moment")
        if moments["_rest"] < integrals.arb("1e-50"):
            moments.pop("_rest")  # affine, or as far as the sums can tell
        found = {k: error(getattr(a, k), integrals.mpf(v)) for k, v in moments.items()}
        # The sums end where e^(-16^2 / 2) = 1e-56 is left, 1e-47 with h_8: they know
        # 1e-28 of the root mean square to the tolerance.
        floor = mpmath.sqrt(integrals.mpf(moments["second_moment"])) * 1e-28
        tails = [
            max(abs(integrals.mpf(v)) for v in exact[k:]) + floor for k in range(9)
        ]
        coefficients = a.hermite(8)
        for k, (value, tail) in enumerate(zip(exact[:9], tails, strict=True)):
            found[f"a_{k}"] = error(coefficients[k], integrals.mpf(value), tail)
        found["mean"] = error(a.mean, integrals.mpf(exact[0]), tails[0])
    assert max(found.values()) < TOLERANCE, found


@pytest.mark.parametrize("name", ["sigmoid", "softplus", "silu", "gelu", "elu", "mish"])
@pytest.mark.parametrize("var", [1e-8, 1e-3])
def test_small_means_and_variances_are_relative(name, var, error):
    # What is left of s when s(0) is taken away: E s = s(0) + s''(0) var / 2 + ...
    a = act.CATALOGUE[name].scaled(var)
    with flint.ctx.workprec(integrals.BITS):
        ref = Reference(name, var)
        exact = ref.coefficients()
        variance = ref.mean([(s - exact[0]) ** 2 for s in ref.s])
        assert error(a.mean, integrals.mpf(exact[0])) < TOLERANCE
        assert error(a.variance, integrals.mpf(variance)) < TOLERANCE


@pytest.mark.parametrize("var", [1e3, 1e6, 1e8])
def test_waves_at_large_variances(var):
    # E cos^2 = (1 + e^(-2 q)) / 2 and the rest underflows; the slope is sqrt(q) of it.
    for a in (act.sin, act.cos):
        s = a.scaled(var)
        assert (s.second_moment, s.variance) == (0.5, 0.5)
        assert 0.0 <= s.mean <= math.exp(-0.5 * var)
        assert s.derivative_second_moment == pytest.approx(0.5 * var, rel=1e-15)
        assert s.mu == 1.0


def test_what_grows_too_fast_is_named():
    # E e^(2 sqrt(q) Z) = e^(2 q) is within float64 to q = 354.
    assert act.exp.length_map(354.0) == pytest.approx(math.exp(708.0), rel=TOLERANCE)
    with pytest.raises(
        ValueError, match=r"exp.scaled: `var` must lie in \[1e-300, 354\]"
    ):
        _ = act.exp.scaled(1500.0).mean
    with pytest.raises(ValueError, match=r"exp.length_map: `q` must lie in \[1e-300,"):
        act.exp.length_map([1.0, 400.0])
    grows = act.from_function(lambda x: np.exp(x * x / 8.0), name="grows")
    # E e^(q Z^2 / 4) = (1 - q / 2)^(-1/2).
    assert grows.length_map(1.0) == pytest.approx(2**0.5, rel=TOLERANCE)
    with pytest.raises(ValueError, match="grows: `f` must be square integrable"):
        grows.length_map(3.0)


# --- maps of lengths ------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(act.CATALOGUE))
def test_many_lengths_are_those_of_each(name):
    # The table has 32 Chebyshev terms, each known to 1e-15 of values that change by up
    # to e^6 over a panel; one by one 1e-13.
    a = act.CATALOGUE[name]
    q = np.geomspace(1e-8, 1e8 if name != "exp" else 300.0, 100)
    many, each = a.length_map(q), np.array([a.length_map(float(v)) for v in q])
    assert np.abs(many / each - 1.0).max() < 5e-13
    many = a.length_map_derivative(q)
    slopes = np.array([a.length_map_derivative(float(v)) for v in q])
    assert np.abs((many - slopes) * q / each).max() < 5e-13


# Activations without closed form of the slope in q, by mpmath: s and its kinks.
SLOPES = {
    "sigmoid": (act.sigmoid, lambda x: 1 / (1 + mpmath.exp(-x)), ()),
    "softplus": (act.softplus, lambda x: mpmath.log1p(mpmath.exp(x)), ()),
    "tanh": (act.tanh, mpmath.tanh, ()),
    "tanh'": (act.tanh.derivative, lambda x: mpmath.sech(x) ** 2, ()),
    "elu'": (act.elu(2.0).derivative, lambda x: 1 if x > 0 else 2 * mpmath.exp(x), ()),
    "hard_tanh": (act.hard_tanh, lambda x: max(-1, min(x, 1)), (-1, 1)),
    "hard_sigmoid": (
        act.hard_sigmoid,
        lambda x: max(0, min(x + 3, 6)) / mpmath.mpf(6),
        (-3, 3),
    ),
}


@pytest.mark.parametrize("name", SLOPES)
@pytest.mark.parametrize("q", [1e-12, 1e-5, 0.3, 40.0, 1e7])
def test_slopes_of_lengths_keep_their_digits(name, q):
    # By parts, d/dq E s^2 = E s^2 (Z^2 - 1) / (2 q): on panels that double away from
    # zero, where s bends, and at the kinks. Tanh-sinh sums agree to 3e-31.
    a, f, kinks = SLOPES[name]
    with mpmath.workdps(40):
        v, root = mpmath.mpf(q), mpmath.sqrt(q)
        top = 16 * root
        cuts = {mpmath.mpf(2) ** j for j in range(-6, 20)}
        cuts |= {root * t for t in (0.5, 1, 2, 3, 5, 8, 11)} | {top}
        ends = {s * c for s in (-1, 1) for c in cuts if c <= top}
        ends |= {mpmath.mpf(c) for c in kinks if abs(c) < top}
        exact = mpmath.quad(
            lambda x: f(x) ** 2 * ((x / root) ** 2 - 1) * mpmath.npdf(x / root) / root,
            sorted({*ends, 0}),
            method="gauss-legendre",
        ) / (2 * v)
        # Rounding of some 1,000 terms. Next to a jump the change of s is a difference of
        # values, rounded by 2e-16 of them: E s^2 and not q times its slope.
        size = abs(exact) + (2e-2 * f(1) ** 2 / v if name == "elu'" else 0)
        assert abs(a.length_map_derivative(q) - exact) < 1e-14 * size
        # Tables of 32 terms.
        many = a.length_map_derivative(np.full(65, q))
        assert abs(many[3] - exact) < 5e-13 * size


def test_kinks_a_long_way_out_are_seen_by_no_moment():
    """At a variance of 1e-300 the kinks of a hard sigmoid are 3e150 deviations away."""
    a = act.hard_sigmoid.scaled(1e-300)
    assert a.hermite(1).tolist() == pytest.approx([0.5, 1e-150 / 6.0], rel=1e-13)
    assert a.length_map(1.0) == pytest.approx(0.25, rel=1e-13)


@pytest.mark.parametrize("q", [0.02, 0.3, 40.0, 1e7])
def test_slopes_of_the_lengths_of_steps_are_densities(q):
    # E 1{|x| < c}^2 = erf(c / sqrt(2 q)).
    for a, c, height in ((act.hard_tanh, 1, 1), (act.hard_sigmoid, 3, 1 / 6)):
        with mpmath.workdps(40):
            r = c / mpmath.sqrt(q)
            exact = -(mpmath.mpf(height) ** 2) * r * mpmath.npdf(r) / q
            for found in (
                a.derivative.length_map_derivative(q),
                a.derivative.length_map_derivative(np.full(65, q))[3],
            ):
                # exp of -r^2 / 2, rounded.
                assert abs(found - exact) < (1e-15 + 3e-16 * r * r) * abs(exact)


@pytest.mark.parametrize("name", sorted(act.CATALOGUE))
def test_the_length_of_one_is_the_second_moment(name):
    a = act.CATALOGUE[name]
    assert a.length_map(1.0) == a.second_moment
    assert a.length_map(np.ones(100)) == pytest.approx(a.second_moment, rel=5e-13)


# --- nearly affine, nearly centred ------------------------------------------------------


@pytest.mark.parametrize("bend", [1e-12, -1e-12, 1e-13, -1e-13, 1e-9])
def test_nearly_linear_leaky_relu(bend, error):
    # s = slope x + J x_+ has the rest J^2 (1/4 - 1 / 2 pi), and J = 1 - slope exactly.
    a = act.leaky_relu(1.0 + bend)
    jump = 1 - mpmath.mpf(1.0 + bend)
    rest = jump**2 * (mpmath.mpf(1) / 4 - 1 / (2 * mpmath.pi))
    variance = (1 + mpmath.mpf(1.0 + bend) ** 2) / 2 - jump**2 / (2 * mpmath.pi)
    assert error(a.mu, rest / variance) < 1e-13


def test_selu_is_centred():
    # Klambauer et al. 2017 choose its constants so: what is left is their rounding.
    assert act.selu.mean == act.selu.hermite(3)[0] == 0.0
    assert act.selu.scaled(1.001).mean != 0.0
    wide = act.from_function(lambda x: x + 1e-12 * x**2, name="wide")
    assert wide.mean == pytest.approx(1e-12, rel=1e-3)
    wide = act.from_function(lambda x: np.sinh(x / 4) + 1e-17, name="odd")
    assert abs(wide.mean) <= 4.0 * np.finfo(float).eps * wide.second_moment**0.5


@pytest.mark.parametrize("var", [1e-8, 1e-3, 1.0, 1e4, 1e8])
def test_kinks_far_out_and_close_together(var):
    # hard_tanh is x for small lengths, and nearly a sign for large ones: of its energy
    # 2 phi(0) / r (1 - 1/3) is lost, less a term in r^-3.
    a = act.hard_tanh.scaled(var)
    assert a.mean == 0.0
    if var < 1e-2:
        assert a.second_moment == pytest.approx(var, rel=1e-15)
        assert a.dual(0.3) == pytest.approx(0.3 * var, rel=1e-14)
    if var > 1.0:
        lost = math.sqrt(2.0 / math.pi / var) * 2.0 / 3.0
        assert a.second_moment == pytest.approx(1.0 - lost, abs=0.1 / var**1.5 + 1e-15)


@pytest.mark.parametrize("q", [1.0, 30.0, 100.0, 150.0])
def test_lengths_after_a_shifted_exponential(q, error):
    # s^2 has its weight at 2 sqrt(q) deviations.
    a, x = act.Affine(act.exp, 0.5, -0.3), mpmath.mpf(q)
    c, h = mpmath.mpf(0.5), mpmath.mpf(-0.3)
    mixed = c * h * mpmath.exp(x / 2)
    true = c * c * mpmath.exp(2 * x) + 2 * mixed + h * h
    assert error(a.length_map(q), true) <= TOLERANCE
    slope = 2 * c * c * mpmath.exp(2 * x) + mixed
    assert error(a.length_map_derivative(q), slope) <= TOLERANCE


# --- coefficients at large variances ----------------------------------------------------


@pytest.mark.parametrize(("q", "k"), [(1e3, 900), (2e3, 1501), (1e4, 9801), (3e3, 5)])
def test_coefficients_of_waves_are_roots_of_poisson_weights(q, k):
    wave = closed.sine if k % 2 else closed.cosine
    with mpmath.workdps(40):
        v = mpmath.mpf(q)
        true = mpmath.exp((k * mpmath.log(v) - v - mpmath.loggamma(k + 1)) / 2)
        # Beyond q = 1400 the exponent, of terms of k log q, is rounded.
        assert (
            abs(abs(wave(q, k)[k]) - true) <= 1e-15 * k * mpmath.log(v) * true + 1e-300
        )


def test_coefficients_far_out_are_those_of_limits():
    # erf becomes sign, and GELU a ramp.
    one = act.sign.hermite(9)
    assert act.erf.scaled(1e50).hermite(9) == pytest.approx(one, rel=1e-13, abs=1e-300)
    ramp = closed.gaussian_linear(1e280, 8) / 1e140
    assert ramp == pytest.approx(act.relu.hermite(8), rel=1e-13, abs=1e-300)


FAST = {
    "cosh": (
        act.from_function(np.cosh, name="cosh"),
        lambda q: 0.5 * (1.0 + np.exp(2.0 * q)),
    ),
    "e^(2x)": (
        act.from_function(lambda x: np.exp(2.0 * x), name="e^(2x)"),
        lambda q: np.exp(8.0 * q),
    ),
    # Zeros at complex q: E s^2 = 15!! q^8 + q.
    "x^8 - x": (
        act.from_function(lambda x: x**8 - x, name="x^8 - x"),
        lambda q: 2027025.0 * q**8 + q,
    ),
    # (e^(2x) - e^2)^2 / (e^8 - e^4), of which no closed form is asked.
    "normalized exp": (
        act.exp.scaled(4.0).normalized(),
        lambda q: (
            (np.exp(8.0 * q) - 2.0 * np.exp(2.0 + 2.0 * q) + np.exp(4.0))
            / (math.exp(8.0) - math.exp(4.0))
        ),
    ),
}


@pytest.mark.parametrize("name", sorted(FAST))
def test_many_lengths_of_functions_that_grow_fast_keep_their_digits(name: str) -> None:
    """Over a panel of log q the mean square grows by up to e^50."""
    activation, known = FAST[name]
    q = np.linspace(1.01, 7.3, 70)
    np.testing.assert_allclose(activation.length_map(q), known(q), rtol=1e-12)


def test_slopes_of_many_lengths_of_a_polynomial_keep_their_digits() -> None:
    a = act.HermiteMixture((0.1, 0.2, 0.3, 0, 0, 0, 0, 0, 0.5)).normalized()
    q = np.linspace(1.01, 7.3, 70)
    each = [a.length_map_derivative(v) for v in q.tolist()]
    np.testing.assert_allclose(a.length_map_derivative(q), each, rtol=1e-12)


def test_lengths_are_known_where_a_panel_leaves_float64() -> None:
    """Up to e^708 of 1e308, among lengths up to e^4 of which a panel is made."""
    a = act.exp.normalized()
    q = np.linspace(340.0, 352.0, 70)
    size = math.exp(2.0) - math.exp(1.0)
    np.testing.assert_allclose(a.length_map(q), np.exp(2.0 * q) / size, rtol=2e-12)


# --- functions that vanish about zero --------------------------------------------------


def _beyond(m, c):
    """E (Z - c)_+^m for m = 0, 1, 2, to 60 digits."""
    c = mpmath.mpf(c)
    tail, density = mpmath.erfc(c / mpmath.sqrt(2)) / 2, mpmath.npdf(c)
    return (tail, density - c * tail, (1 + c * c) * tail - c * density)[m]


@pytest.mark.parametrize("place", [0.3, 0.7, 1.9])
@pytest.mark.parametrize("deviations", [4.0, 7.0, 9.3, 15.0, 26.1, 34.0])
def test_moments_of_functions_that_vanish_about_zero(place, deviations):
    # The soft threshold, ternary values and a ramp that ends below zero: what is written
    # down from the left cancels about zero, and all of what is left lies in the tails.
    var = (place / deviations) ** 2
    soft = act.PiecewisePolynomial(
        "soft", 1, (place, 1.0), (-place, place), (-1.0, 1.0)
    )
    ternary = act.PiecewisePolynomial(
        "ternary", 0, (-1.0,), (-place, place), (1.0, 1.0)
    )
    ramp = act.PiecewisePolynomial("ramp", 1, (place, 1.0), (-place,), (-1.0,))
    with mpmath.workdps(60):
        root = mpmath.sqrt(mpmath.mpf(var))
        tails = [_beyond(m, mpmath.mpf(place) / root) for m in range(3)]
        density = mpmath.npdf(mpmath.mpf(place) / root)
        expected = [
            (soft, 0, 2 * var * tails[2], 2 * root * tails[0]),
            (ternary, 0, 2 * tails[0], 2 * density),
            (ramp, -root * tails[1], var * tails[2], root * tails[0]),
        ]
        # A rounding of the kink in deviations moves a tail by its square.
        error = 1e-14 + 3e-16 * deviations**2
        for a, mean, energy, first in expected:
            size, at = float(mpmath.sqrt(energy)), a.scaled(var)
            assert at.second_moment == pytest.approx(float(energy), rel=error, abs=0.0)
            assert at.dual(1.0) == pytest.approx(float(energy), rel=error, abs=0.0)
            assert abs(at.mean - float(mean)) <= 1e-15 * size
            assert abs(at.hermite(1)[1] - float(first)) <= 1e-14 * size
            assert a.length_map(var) == pytest.approx(float(energy), rel=error, abs=0.0)
            many = a.length_map(np.full(80, var))
            assert many == pytest.approx(float(energy), rel=1e-12, abs=0.0)
        # Where s is not zero it is linear: E s s' Z is the second moment of s' there.
        slope = soft.length_map_derivative([var] * 80)
        assert slope == pytest.approx(float(2 * tails[0]), rel=1e-12, abs=0.0)
        assert soft.length_map_derivative(var) == pytest.approx(
            float(2 * tails[0]), rel=error, abs=0.0
        )


def test_panels_far_out_are_there_for_the_widest_gaussian():
    """They were joined as for one half as wide: slopes of waves were 4e-11 off."""
    wave = act.from_function(
        lambda x: x + np.sin(3.0 * x), derivative=lambda x: 1.0 + 3.0 * np.cos(3.0 * x)
    )
    r = np.array([math.exp(7.5)])
    # E (x + sin 3x)^2 = q + 1/2, up to e^(-9 q / 2).
    assert moments.together(wave, r)[0] == pytest.approx(r * r + 0.5, rel=1e-15)
    assert moments.together(wave, r, slope=True)[0] == pytest.approx(r * r, rel=1e-13)
