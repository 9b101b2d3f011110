"""Spectra on the sphere: laws, extremes, references of 40 digits, honest refusals."""

import contextlib
import math
import time
import warnings

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theory import activations as act
from theory import kernels, spectrum
from theory.spectrum import _funk_hecke, _taylor_series, deep

RELU = act.relu.normalized()
ERF = act.erf.normalized()
EPS = np.finfo(float).eps


def relu_eigenvalue(degree, dim):
    """One layer of raw ReLU in 40 digits: a hypergeometric function at one.

    The second derivative of the dual is 1/(2 pi sqrt(1 - t^2)); integrating by parts
    twice, its projection in d + 4 dimensions on degree k - 2 is the eigenvalue up to
    d (d + 2), and its binomial series sums to 2F1(1).
    """
    n, d = degree - 2, dim + 4
    if n % 2:
        return mpmath.mpf(0)
    with mpmath.workdps(40):
        half, h = mpmath.mpf(1) / 2, n // 2
        first = mpmath.rf(half, h) / mpmath.factorial(h) * mpmath.factorial(n)
        first *= mpmath.gamma(half * d) / (
            mpmath.mpf(2) ** n * mpmath.gamma(half * d + n)
        )
        rest = mpmath.hyp2f1(h + half, h + half, half * d + n, 1)
        return first * rest / (2 * mpmath.pi * dim * (dim + 2))


@pytest.mark.parametrize("dim", [2, 3, 10, 100, 1000, 100_000])
def test_one_layer_of_relu_keeps_its_digits_at_any_degree_and_dimension(dim):
    degrees = [2, 4, 10, 40, 200, 1000]
    found = spectrum.nngp_eigenvalues(act.relu, 1, degrees, dim, log=True)
    for k, log in zip(degrees, found, strict=True):
        known = relu_eigenvalue(k, dim)
        # Rounding 1e-15 k and an ulp of a logarithm of up to 5600: 2e-12 at most;
        # continuation from coefficients known to 1e-13, ten times as far out, 1e-12.
        assert abs(float(log - mpmath.log(known))) < 3e-12
    assert spectrum.nngp_eigenvalues(act.relu, 1, 3, dim) == 0.0
    assert spectrum.nngp_eigenvalues(act.relu, 1, 3, dim, log=True) == -math.inf


@pytest.mark.parametrize("dim", [2, 20, 1000])
def test_the_error_of_a_series_that_is_cut_covers_what_is_missing(dim):
    # The dual of erf, (2/pi) asin(2 rho/3), of which 200 orders are looked at.
    i = np.arange(1, 1024)
    binomials = np.cumprod(np.concatenate([[1.0], (2.0 * i - 1.0) / (2.0 * i)]))
    n = np.arange(1024)
    b = np.zeros(2048)
    b[1::2] = 2 / np.pi * binomials / (2 * n + 1) * (2 / 3) ** (2 * n + 1)
    for k in (11, 61, 101, 131):
        log, error = _funk_hecke.by_series(b[:200], k, dim, act.erf.second_moment)
        known = spectrum.series_eigenvalues(b, k, dim, log=True)
        assert abs(log - known) <= error
        # Where it is small it is not larger than need be.
        assert error <= 10.0 * abs(log - known) + 3e-15 * (k + 10)
        found = act.erf, 1, k, dim
        if error < 1e-6:
            value = spectrum.nngp_eigenvalues(*found, log=True)
            assert value == pytest.approx(known, abs=error)
        else:
            with pytest.raises(ValueError, match="must be so low"):
                spectrum.nngp_eigenvalues(*found)


def test_zero_is_told_from_not_known():
    cubic = act.hermite(3)
    assert spectrum.nngp_eigenvalues(cubic, 2, [10, 11, 3000], 5).tolist() == [0.0] * 3
    assert spectrum.nngp_eigenvalues(act.gelu, 1, [3, 301], 5).tolist() == [0.0] * 2
    for activation, degree in ((act.exp, 400), (act.tanh, 301), (act.relu, 4000)):
        with pytest.raises(ValueError, match="must be so low"):
            spectrum.nngp_eigenvalues(activation, 1, degree, 5)


@pytest.mark.parametrize("activation", [RELU, ERF, act.tanh.normalized(), act.relu])
@pytest.mark.parametrize("kernel", ["nngp", "ntk"])
@pytest.mark.parametrize("dim", [3, 30])
def test_series_and_values_give_the_same_spectrum(activation, kernel, dim):
    which = getattr(kernels, f"{kernel}_map")
    deep = getattr(spectrum, f"{kernel}_eigenvalues")
    degrees = np.arange(8)
    by_values = spectrum.eigenvalues(lambda t: which(t, activation, 3), degrees, dim)
    by_series = deep(activation, 3, degrees, dim)
    # Values to 1e-13 of the diagonal, spread over the harmonics of a degree.
    scale = which(1.0, activation, 3) / np.sqrt(spectrum.multiplicity(degrees, dim))
    assert np.all(np.abs(by_values - by_series) < 2e-13 * scale)


@pytest.mark.parametrize(("var", "dim", "k"), [(900.0, 200, 999), (3000.0, 60, 101)])
@pytest.mark.parametrize("which", ["nngp_eigenvalues", "ntk_eigenvalues"])
def test_peaks_that_hide_the_rest_leave_no_digits_to_quadrature(which, var, dim, k):
    # E sin sin = e^-w sinh(w rho), whose values are below 1e-100 almost everywhere: known
    # by Bessel functions (the first, e^-860), and by neither of the two routes.
    with pytest.raises(ValueError, match="`degree` must be so low"):
        getattr(spectrum, which)(act.sin.scaled(var), 1, k, dim, log=True)


def test_no_degrees_have_no_eigenvalues():
    for f in (spectrum.nngp_eigenvalues, spectrum.ntk_eigenvalues):
        assert f(act.relu, 2, [], 5).shape == (0,)
    assert spectrum.degree_shares(act.relu, 2, [], 5).shape == (0,)
    assert spectrum.series_eigenvalues([1.0, 0.5], [], 5).shape == (0,)
    assert spectrum.power_eigenvalues(1.5, [], 5).shape == (0,)
    assert spectrum.eigenvalues(np.exp, [], 5).shape == (0,)
    assert spectrum.multiplicity([], 5).shape == (0,)


@settings(deadline=None, max_examples=60)
@given(
    b=st.lists(st.just(0.0) | st.floats(1e-200, 1e3), min_size=1, max_size=40),
    dim=st.integers(2, 200),
)
def test_a_polynomial_is_put_together_again_from_its_spectrum(b, dim):
    k = np.arange(len(b))
    masses = spectrum.series_eigenvalues(b, k, dim) * spectrum.multiplicity(k, dim)
    assert np.all(masses >= 0.0)
    # The trace; then an interior point, where the zonal polynomials have signs.
    total = math.fsum(b)
    rounding = 1e-14 * (len(b) + 10) * total
    assert abs(math.fsum(masses) - total) <= rounding
    zonal = [spectrum.gegenbauer(int(n), -0.3, dim) for n in k]
    value = math.fsum(c * (-0.3) ** n for n, c in enumerate(b))
    assert abs(math.fsum(masses * zonal) - value) <= rounding


@settings(deadline=None, max_examples=60)
@given(degree=st.integers(0, 60), dim=st.integers(2, 2000), rho=st.floats(-1.0, 1.0))
def test_zonal_polynomials_are_bounded_and_have_their_parity(degree, dim, rho):
    value = spectrum.gegenbauer(degree, rho, dim)
    assert abs(value) <= 1.0 + degree * EPS * 4
    assert spectrum.gegenbauer(degree, -rho, dim) == pytest.approx(
        (-1) ** degree * value, rel=1e-14, abs=1e-300
    )
    assert spectrum.gegenbauer(degree, 1.0, dim) == pytest.approx(
        1.0, abs=4 * EPS * (degree + 1)
    )


def test_zonal_polynomials_are_chebyshev_and_legendre():
    rho = np.linspace(-1.0, 1.0, 41)
    for k in (0, 1, 2, 7):
        # A recurrence of k steps, errors at most k ulps a step.
        allowed = 10 * k * k * EPS + EPS
        wave = np.cos(k * np.arccos(rho))
        assert np.abs(spectrum.gegenbauer(k, rho, 2) - wave).max() <= allowed
        known = np.polynomial.legendre.Legendre.basis(k)(rho)
        assert np.abs(spectrum.gegenbauer(k, rho, 3) - known).max() <= allowed


def test_depth_composes_taylor_series():
    one = spectrum.taylor_coefficients(RELU, 1, 40)
    poly = np.polynomial.Polynomial(one)
    # The series has no constant term: higher powers do not reach lower degrees.
    two = poly(poly).coef[:41]
    found = spectrum.taylor_coefficients(RELU, 2, 40)
    assert found == pytest.approx(two, rel=41 * 41 * EPS, abs=1e-300)
    assert np.all(found >= 0.0)


def test_taylor_coefficients_of_the_tangent_kernel_of_one_layer():
    b = spectrum.taylor_coefficients(act.gelu, 1, 60)
    found = spectrum.taylor_coefficients(act.gelu, 1, 60, kernel="ntk")
    # K + rho K': every coefficient n + 1 times as large.
    assert found == pytest.approx(b * np.arange(1, 62), rel=4 * EPS)


def test_lengths_that_change_with_depth_are_followed():
    b = spectrum.taylor_coefficients(act.sigmoid, 2, 100)
    for rho in (-0.5, 0.0, 0.8):
        value = np.polynomial.polynomial.polyval(rho, b)
        # Both sides to 1e-12; 0.8^100 of a quickly falling rest is left out.
        assert value == pytest.approx(kernels.nngp_map(rho, act.sigmoid, 2), rel=3e-12)


def test_an_odd_function_has_no_even_degrees():
    odd = act.from_function(np.tanh, name="tanh by values").normalized()
    assert spectrum.nngp_eigenvalues(odd, 2, [0, 2, 40], 5).tolist() == [0.0] * 3
    # Coefficients to 1e-16 of the largest: a_3 = 0.15 to 1e-15 of itself.
    known = spectrum.nngp_eigenvalues(act.tanh.normalized(), 2, [1, 3], 5)
    assert spectrum.nngp_eigenvalues(odd, 2, [1, 3], 5) == pytest.approx(
        known, rel=1e-12
    )


def test_a_kernel_that_the_series_cannot_follow_is_integrated():
    # 20 chaotic layers: a spike at one that 2,049 coefficients do not resolve.
    shares = spectrum.degree_shares(RELU, 20, [1, 2, 3], 4)
    values = spectrum.eigenvalues(lambda t: kernels.nngp_map(t, RELU, 20), [1, 2, 3], 4)
    expected = values * spectrum.multiplicity([1, 2, 3], 4)
    assert shares == pytest.approx(expected, rel=1e-9)


def test_what_cannot_be_resolved_is_refused():
    with pytest.raises(ValueError, match=r"nngp_eigenvalues: `degree` must be so low"):
        spectrum.nngp_eigenvalues(RELU, 20, 400, 40)
    shifted = act.from_function(lambda x: np.maximum(x, 0.0) + 1.0, kinks=(0.0,))
    with pytest.raises(ValueError, match="must leave more of the kernel"):
        spectrum.taylor_coefficients(shifted, 12, 2000)
    # The eigenvalues of low degrees do not need the series.
    assert spectrum.nngp_eigenvalues(shifted, 12, 0, 3) > 1.0


@pytest.mark.parametrize("power", [0.5, 1.5])
def test_eigenvalues_of_a_kink_decay_with_its_exponent(power):
    which = spectrum.ntk_eigenvalues if power == 0.5 else spectrum.nngp_eigenvalues
    for dim in (2, 4):
        values = which(act.relu, 3, [400, 800], dim)
        # The law is one in k + (d - 2)/2, with corrections of relative order 1/k^2.
        middle = (dim - 2) / 2
        slope = math.log(values[0] / values[1]) / math.log(
            (800 + middle) / (400 + middle)
        )
        assert slope == pytest.approx(dim - 1 + 2 * power, abs=1e-3)


def test_powers_that_end():
    found = spectrum.power_eigenvalues(2.0, [0, 1, 2, 3], 3)
    # (1 - t)^2 = 1 + 1/3 - 2 P_1 + (2/3) P_2, and lambda_k = c_k / (2 k + 1).
    assert found == pytest.approx([4 / 3, -2 / 3, 2 / 15, 0.0], rel=1e-14, abs=0.0)


def test_large_powers_of_which_little_is_left():
    # Below every float64 over the eigenvalue of degree 0, which is 2^300 here.
    with mpmath.workdps(400):
        p, half = mpmath.mpf(310.5), mpmath.mpf(5) / 2
        first = mpmath.gamma(half) * mpmath.gamma(p + 2) / mpmath.sqrt(mpmath.pi)
        first *= mpmath.mpf(2) ** (p + 3)
        exact = [first * mpmath.rf(-p, k) / mpmath.gamma(p + k + 4) for k in (400, 500)]
    found = spectrum.power_eigenvalues(310.5, [400, 500], 5)
    assert found == pytest.approx([float(v) for v in exact], rel=1e-12, abs=0.0)


def test_ranks_of_simple_kernels():
    assert spectrum.effective_rank(lambda t: 0.0 * t + 2.0, 7) == pytest.approx(1.0)
    # Degree two alone: as many directions as harmonics.
    rank = spectrum.effective_rank(lambda t: spectrum.gegenbauer(2, t, 7), 7)
    assert rank == pytest.approx(spectrum.multiplicity(2, 7), rel=1e-13)


def test_scalars_in_floats_out():
    assert isinstance(spectrum.multiplicity(3, 3), float)
    assert isinstance(spectrum.nngp_eigenvalues(RELU, 1, 2, 3), float)
    assert isinstance(spectrum.eigenvalues(np.exp, 2, 3), float)
    assert isinstance(spectrum.degree_shares(RELU, 1, 2, 3), float)
    assert spectrum.ntk_eigenvalues(RELU, 1, [[0, 1], [2, 4]], 3).shape == (2, 2)
    assert spectrum.eigenvalues(np.exp, np.zeros(0, np.int64), 3).shape == (0,)
    assert spectrum.nngp_eigenvalues(RELU, 1, np.zeros(0, np.int64), 3).shape == (0,)


# What is no degree or dimension at all: test_boundary.py.
@pytest.mark.parametrize("bad", [[0, -2], 10**6])
@pytest.mark.parametrize(
    "call",
    [
        lambda k: spectrum.multiplicity(k, 3),
        lambda k: spectrum.log_multiplicity(k, 3),
        lambda k: spectrum.eigenvalues(np.exp, k, 3),
        lambda k: spectrum.series_eigenvalues([1.0], k, 3),
        lambda k: spectrum.power_eigenvalues(0.5, k, 3),
        lambda k: spectrum.nngp_eigenvalues(RELU, 1, k, 3),
        lambda k: spectrum.ntk_eigenvalues(RELU, 1, k, 3),
        lambda k: spectrum.degree_shares(RELU, 1, k, 3),
    ],
)
def test_bad_degrees(call, bad):
    with pytest.raises(ValueError, match="`degree` must"):
        call(bad)


@pytest.mark.parametrize(
    "call",
    [
        lambda d: spectrum.multiplicity(1, d),
        lambda d: spectrum.log_multiplicity(1, d),
        lambda d: spectrum.gegenbauer(1, 0.5, d),
        lambda d: spectrum.eigenvalues(np.exp, 1, d),
        lambda d: spectrum.series_eigenvalues([1.0], 1, d),
        lambda d: spectrum.power_eigenvalues(0.5, 1, d),
        lambda d: spectrum.nngp_eigenvalues(RELU, 1, 1, d),
        lambda d: spectrum.ntk_eigenvalues(RELU, 1, 1, d),
        lambda d: spectrum.degree_shares(RELU, 1, 1, d),
        lambda d: spectrum.effective_rank(np.exp, d),
    ],
)
def test_a_sphere_has_two_dimensions_at_least(call):
    with pytest.raises(ValueError, match="`dim` must"):
        call(1)


def test_other_bad_input():
    with pytest.raises(ValueError, match="`coefficients` must be at least 0"):
        spectrum.series_eigenvalues([1.0, -1.0], 0, 3)
    with pytest.raises(ValueError, match=r"`coefficients` must have shape"):
        spectrum.series_eigenvalues(1.0, 0, 3)
    with pytest.raises(ValueError, match=r"`kernel\(x\)` must be finite"):
        spectrum.eigenvalues(lambda t: np.full_like(t, np.nan), 0, 3)
    with pytest.raises(ValueError, match="`kernel` must return one number a node"):
        spectrum.eigenvalues(lambda t: 1.0, 0, 3)
    with pytest.raises(ValueError, match="`order` must be at most 2048"):
        spectrum.taylor_coefficients(RELU, 1, 5000)
    with pytest.raises(ValueError, match="`kernel` must be one of"):
        spectrum.taylor_coefficients(RELU, 1, 5, kernel="gp")
    with pytest.raises(
        ValueError, match="ntk_eigenvalues: `activation` must have a square"
    ):
        spectrum.ntk_eigenvalues(act.sign, 1, 1, 3)
    with pytest.raises(ValueError, match="below 1e307"):
        spectrum.multiplicity(1000, 1000)
    with pytest.raises(ValueError, match="`degree` must be at most 10000"):
        spectrum.gegenbauer(10_001, 0.5, 3)
    with pytest.raises(ValueError, match="`power` must lie in"):
        spectrum.power_eigenvalues(-0.5, 1, 3)
    with pytest.raises(ValueError, match=r"`kernel\(1\)` must be positive"):
        spectrum.effective_rank(lambda t: t - 1.0, 3)


@pytest.mark.parametrize("who", ["eigenvalues", "effective_rank"])
@pytest.mark.parametrize(
    "kernel",
    [
        lambda t: t + 1.0j,
        lambda t: t >= 0.0,
        lambda t: np.full(t.shape, "1"),
        lambda t: np.ma.masked_array(t, mask=t < 0.0),
    ],
)
def test_kernels_of_other_than_real_numbers_are_refused(who, kernel):
    given = (kernel, 1, 3) if who == "eigenvalues" else (kernel, 3)
    with pytest.raises(
        ValueError, match=rf"^{who}: `kernel\(x\)` must be real numbers"
    ):
        getattr(spectrum, who)(*given)


@pytest.mark.parametrize("dim", [2, 3, 100])
@pytest.mark.parametrize(
    "kernel",
    [
        lambda t: np.sign(t - 0.3),
        lambda t: np.abs(t - 0.3),
        lambda t: np.cos(3000.0 * t),
    ],
)
def test_kernels_that_panels_do_not_resolve_are_refused(dim, kernel):
    with pytest.raises(ValueError, match="`kernel` must be smooth on both sides of 0"):
        spectrum.eigenvalues(kernel, [0, 1], dim)


def test_kernels_whose_mass_is_where_little_of_the_sphere_is():
    """Poisson's kernel in 200 dimensions: r^k, of a size of 4e7."""
    r, dim, degrees = 0.375, 200, np.array([0, 30, 100])
    found = spectrum.eigenvalues(
        lambda t: (1.0 - r * r) / ((1.0 - r) ** 2 + 2.0 * r * (1.0 - t)) ** (dim / 2),
        degrees,
        dim,
    )
    size = np.sqrt((1.0 - r**4) / (1.0 - r * r) ** dim)
    roots = np.exp(0.5 * spectrum.log_multiplicity(degrees, dim))
    assert np.abs((found - r**degrees) * roots).max() < 1e-13 * size


def test_coefficients_that_underflow_are_not_taken_for_zeros():
    steep = act.HermiteMixture((0.0, 0.25, math.sqrt(0.9375)))
    with pytest.raises(ValueError, match="known to 1e-6"):
        spectrum.nngp_eigenvalues(steep, 300, 1, 2)


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_kernels_of_every_size_have_a_spectrum(size):
    found = spectrum.eigenvalues(lambda t: size * np.abs(t), [0, 1, 2], 3)
    # E |t|, E |t| t and E |t| P_2 for t uniform.
    np.testing.assert_allclose(
        found / size, [1 / 2, 0.0, 1 / 8], rtol=1e-14, atol=1e-15
    )
    rank = spectrum.effective_rank(lambda t: size * t, 20)
    assert rank == pytest.approx(20.0, rel=1e-13)


def _near_one(depth: int, dim: int, function) -> float:
    """E[K(t) f(t)] of normalised ReLU, by its distance map, on a grid in log distance."""
    relu = act.relu.normalized()
    x, w = np.polynomial.legendre.leggauss(40)

    def half(far: bool, low: float, panels: int) -> float:
        ends = np.linspace(low, 0.0, panels + 1)
        u = 0.5 * (ends[1:] + ends[:-1])[:, None] - 0.5 * low / panels * x
        d = np.exp(u.ravel())
        k, t = (d - 1.0, d - 1.0) if far else (1.0 - d, 1.0 - d)
        gap = 2.0 - d if far else d
        for _ in range(depth):
            gap = relu.distance_map(np.minimum(gap, 2.0))
            k = np.where(gap < 0.5, 1.0 - gap, relu.dual(np.clip(k, -1.0, 1.0)))
            gap = np.where(gap < 0.5, gap, 1.0 - k)
        density = d * (d * (2.0 - d)) ** (0.5 * (dim - 3.0))
        values = (k * function(t) * density).reshape(u.shape)
        return -0.5 * low / panels * float((values @ w).sum())

    whole = half(False, -300.0, 600) + half(True, -80.0, 300)
    norm = math.lgamma(0.5 * (dim - 1.0)) - math.lgamma(0.5 * dim)
    return whole / (math.sqrt(math.pi) * math.exp(norm))


@pytest.mark.parametrize("dim", [2, 3, 9])
@pytest.mark.parametrize("depth", [8, 30, 90])
def test_eigenvalues_of_networks_that_tell_neighbouring_floats_apart(depth, dim):
    expected = [
        _near_one(depth, dim, f)
        for f in (
            np.ones_like,
            lambda t: t,
            lambda t: (dim * t * t - 1.0) / (dim - 1.0),
        )
    ]
    found = spectrum.nngp_eigenvalues(act.relu.normalized(), depth, [0, 1, 2], dim)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("depth", [90, 150])
def test_a_kernel_that_float64_does_not_resolve_is_refused(depth):
    relu = act.relu.normalized()
    for who in ("eigenvalues", "effective_rank"):
        function = getattr(spectrum, who)
        given = (lambda t: kernels.nngp_map(t, relu, depth), 1, 2)
        with pytest.raises(ValueError, match=f"^{who}: `kernel` must hardly change"):
            function(*(given if who == "eigenvalues" else given[::2]))


def test_ranks_beyond_float64_are_infinite():
    relu = act.relu.normalized()
    rank = spectrum.effective_rank(lambda t: kernels.nngp_map(t, relu, 10**6), 20)
    assert rank == math.inf


# --- dimensions far beyond those of data ------------------------------------------------


@pytest.mark.parametrize("dim", [2, 784, 10**6, 10**10, 2**100])
@pytest.mark.parametrize(("power", "degree"), [(2, 0), (6, 2), (31, 1)])
def test_a_power_of_the_cosine_keeps_its_digits_in_every_dimension(dim, power, degree):
    with mpmath.workdps(60):
        j, half = (power - degree) // 2, mpmath.mpf(dim) / 2
        exact = mpmath.fac(power) / mpmath.fac(j) / mpmath.mpf(2) ** power
        exact /= mpmath.fprod(half + i for i in range(degree + j))
        log = float(mpmath.log(exact))
    b = np.zeros(power + 1)
    b[-1] = 1.0
    found = spectrum.series_eigenvalues(b, degree, dim, log=True)
    # Logarithms added in extended precision, or ten of them in float64: half an ulp each.
    assert found == pytest.approx(log, rel=2e-15, abs=2e-15)


@pytest.mark.parametrize("dim", [2, 10, 1000, 10**7, 10**15])
@pytest.mark.parametrize("power", [0.0, 0.5, 1.5, 50.5, 1000.0])
def test_eigenvalues_of_powers_at_the_ends_of_their_ranges(dim, power):
    for degree in (0, 1, 7, 100):
        with mpmath.workdps(60):
            p, half = mpmath.mpf(power), mpmath.mpf(1) / 2
            log = (p + dim - 2) * mpmath.log(2) - half * mpmath.log(mpmath.pi)
            log += mpmath.loggamma(half * dim) + mpmath.loggamma(p + half * (dim - 1))
            log -= mpmath.loggamma(p + degree + dim - 1)
            exact = float(mpmath.exp(log) * mpmath.rf(-p, degree))
        found = spectrum.power_eigenvalues(power, degree, dim)
        # Three roundings for each factor, of which there are p/2 and the degree.
        slack = 1e-15 * (degree + power + 10.0)
        assert found == pytest.approx(exact, rel=slack, abs=1e-300)


def test_a_quadrature_in_more_dimensions_than_it_has_panels_for_is_refused():
    for call in (lambda d: spectrum.eigenvalues(np.cos, 1, d),
                 lambda d: spectrum.effective_rank(np.cosh, d)):  # fmt: skip
        with pytest.raises(ValueError, match="`dim` must be at most 10000000000"):
            call(2**100)


def test_a_deep_network_in_more_dimensions_than_quadrature_takes_has_a_series():
    dim = 10**15
    b = spectrum.taylor_coefficients(act.tanh.normalized(), 8, 128, kernel="ntk")
    known = spectrum.series_eigenvalues(b, [1, 3], dim)
    found = spectrum.ntk_eigenvalues(act.tanh.normalized(), 8, [1, 3], dim)
    # Higher powers are worth 1/dim.
    np.testing.assert_allclose(found, known, rtol=1e-11)


# --- series of many layers ----------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["nngp", "ntk"])
@pytest.mark.parametrize("depth", [40, 57])
def test_series_of_many_layers_are_those_of_layer_by_layer(depth, kernel):
    b = spectrum.taylor_coefficients(RELU, depth, 128, kernel=kernel)
    f = spectrum.taylor_coefficients(RELU, 1, 128)
    slope = np.arange(1.0, 129.0) * f[1:]
    correlation, tangent = np.eye(129)[1], np.eye(129)[1]
    for _ in range(depth):
        # Horner's scheme on series, of the dual and its derivative.
        outer = [np.zeros(129), np.zeros(129)]
        for i, series in enumerate((f, slope)):
            for c in series[::-1]:
                outer[i] = np.convolve(outer[i], correlation)[:129]
                outer[i][0] += c
        tangent = outer[0] + np.convolve(outer[1], tangent)[:129]
        correlation = outer[0]
    # Positive terms: 129 roundings a product, nothing lost in any.
    known = correlation if kernel == "nngp" else tangent
    np.testing.assert_allclose(b, known, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("depth", [20, 40])
def test_series_around_a_constant_have_all_terms_that_count(depth):
    """Of 20 layers the last coefficients were off by 1e-4; of 40 they were refused."""
    order, nodes, radius = 128, 768, mpmath.mpf("0.85")
    b = spectrum.taylor_coefficients(act.relu, depth, order)
    with mpmath.workdps(40):
        # Cauchy's integral over a circle, where layers are closed forms.
        values = []
        for k in range(nodes // 2 + 1):
            c = radius * mpmath.expjpi(mpmath.mpf(2 * k) / nodes)
            for _ in range(depth):
                angle = mpmath.pi - mpmath.acos(c)
                c = (mpmath.sqrt(1 - c * c) + c * angle) / mpmath.pi
            values.append(c)
        both = values + [mpmath.conj(c) for c in values[-2:0:-1]]
        for n in (1, 32, 100, order):
            turns = (
                mpmath.expjpi(mpmath.mpf(-2 * k * n) / nodes) for k in range(nodes)
            )
            known = mpmath.re(mpmath.fdot(both, turns)) / nodes / radius**n
            assert b[n] == pytest.approx(float(known) / 2.0**depth, rel=1e-12)


def test_series_are_composed_no_further_than_they_are_asked_for(monkeypatch):
    """Those of a million layers to order 500 took seconds: they went to order 2048."""
    orders = []
    monkeypatch.setattr(
        deep, "series", lambda a, n, k: orders.append(k) or one(a, 1, k)
    )
    one = _taylor_series.series
    for order in (100, 500, 600):
        spectrum.taylor_coefficients(RELU, 2**20, order)
    assert orders == [128, 512, 2048]


def test_series_of_hundreds_of_layers_take_seconds():
    started = time.process_time()
    b = spectrum.taylor_coefficients(RELU, 400, 2048, kernel="ntk")
    assert np.all(b[1:] > 0.0)
    assert time.process_time() - started < 30.0  # it was two minutes


def test_an_nngp_series_needs_no_tangent_kernel():
    # Whose diagonal is 10^333 here.
    b = spectrum.taylor_coefficients(RELU, 2000, 20)
    first = 2000 * math.log(spectrum.taylor_coefficients(RELU, 1, 1)[1])
    assert math.log(b[1]) == pytest.approx(first, rel=1e-13)
    with pytest.raises(
        ValueError,
        match=r"tangent kernel within float64, .* Use fewer",
    ):
        spectrum.taylor_coefficients(RELU, 2000, 20, kernel="ntk")


@pytest.mark.parametrize("pace", [1e-8, 0.02, 0.05])
def test_coefficients_that_hardly_fall_leave_an_eigenvalue_unknown(pace):
    # In three dimensions terms fall no faster; before, an overflow of their orders.
    n = np.arange(2049.0)
    b = np.exp(-1e-5 * n) * np.maximum(n, 1.0) ** -pace
    total = b.sum() / -math.expm1(-2049e-5)
    assert _funk_hecke.by_series(b, 2, 3, total)[1] > 1.0


def test_harmonics_of_many_degrees_take_few_binomial_coefficients(monkeypatch):
    """Each took one of its own: 13 seconds for 5,000 degrees in a million dimensions."""
    degrees = [7, 0, 3, 3, *range(500, 900), 5000]
    true = [
        (2 * k + 1998) * math.comb(k + 1997, k - 1) // k if k else 1 for k in degrees
    ]
    asked: list[int] = []
    comb = math.comb

    def counted(n: int, k: int) -> int:
        asked.append(k)
        return comb(n, k)

    monkeypatch.setattr(math, "comb", counted)
    found = spectrum.log_multiplicity(degrees, 2000)
    assert len(asked) <= 3
    assert found.tolist() == [math.log(v) for v in true]


def test_high_degrees_take_few_nodes_and_keep_their_digits():
    """E arcsin(t) P_k = pi/2 ((k - 2)!! / (k + 1)!!)^2 for odd k in three dimensions."""
    nodes, degree = 0, 10_000

    def kernel(t):
        nonlocal nodes
        nodes = max(nodes, t.size)
        return np.arcsin(t)

    odd = np.arange(1.0, degree)[::2]
    ratios = np.cumprod(np.concatenate([[0.5], odd[:-1] / (odd[:-1] + 3.0)]))
    exact = np.zeros(degree + 1)
    exact[1::2] = 0.5 * math.pi * ratios**2 * np.sqrt(2.0 * odd + 1.0)
    found, rounding = _funk_hecke.by_quadrature(kernel, degree, 3)
    assert np.abs(found - exact).max() < rounding
    assert nodes < 20 * degree


@pytest.mark.parametrize("dim", [2, 3, 100, 10**6, 10**12])
@pytest.mark.parametrize(("name", "first", "log"), [("exp", 0, 1), ("sin", 1, -1)])
def test_eigenvalues_without_singularities_are_bessel_functions(name, first, log, dim):
    """E e^t P_k is Gamma(d/2) 2^(d/2 - 1) I_(k + d/2 - 1)(1), of sinh for odd k."""
    activation = getattr(act, name)
    for k in range(first, 162, 10):
        found = spectrum.nngp_eigenvalues(activation, 1, k, dim, log=True)
        with mpmath.workdps(40):
            nu = mpmath.mpf(dim) / 2 - 1
            known = mpmath.gamma(nu + 1) * 2**nu * mpmath.besseli(k + nu, 1)
            gap = abs(mpmath.mpf(found) - mpmath.log(known) - log)
        assert gap <= 1e-12 + 1e-15 * abs(found), (k, found)


def test_parities_that_are_not_there_have_no_eigenvalues():
    """sigmoid and softplus are odd and even but for a constant and a linear part."""
    assert spectrum.nngp_eigenvalues(act.abs, 7, [1, 3, 5], 3).tolist() == [0.0] * 3
    assert spectrum.ntk_eigenvalues(act.abs, 7, [1, 3, 5], 3).tolist() == [0.0] * 3
    assert spectrum.nngp_eigenvalues(act.sigmoid, 1, [2, 10], 2).tolist() == [0.0] * 2
    assert spectrum.nngp_eigenvalues(act.softplus, 1, [3, 21], 2).tolist() == [0.0] * 2
    assert spectrum.taylor_coefficients(act.sigmoid, 1, 6)[2::2].tolist() == [0.0] * 3
    tiny = act.HermiteMixture((0.0, 1.0, 1e-20))
    assert spectrum.taylor_coefficients(tiny, 1, 3).tolist() == [0.0, 1.0, 1e-40, 0.0]


def test_degrees_out_of_reach_are_refused_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for degree, dim in ((400, 10**4), (160, 10**25)):
            with contextlib.suppress(ValueError):
                spectrum.nngp_eigenvalues(act.exp, 1, degree, dim, log=True)


def test_the_last_degrees_of_a_smooth_activation_are_known_to_a_millionth():
    """Of erf, whose dual is 2 / pi arcsin(2 t / 3), up to where it is refused."""
    dim, refused = 3, 0
    for degree in range(77, 111, 4):
        try:
            found = spectrum.nngp_eigenvalues(act.erf, 1, degree, dim, log=True)
        except ValueError:
            refused += 1
            continue
        assert not refused
        with mpmath.workdps(30):
            total = mpmath.mpf(0)
            for j in range(degree, degree + 400, 2):  # (2/3)^400 is left
                b = mpmath.binomial(j - 1, j // 2) * (mpmath.mpf(2) / 3) ** j
                b *= 2 / (mpmath.pi * j * mpmath.mpf(2) ** (j - 1))
                part = mpmath.rf((j - degree) // 2 + 1, j - (j - degree) // 2)
                part /= mpmath.rf(mpmath.mpf(dim) / 2, (j + degree) // 2)
                total += b * part / mpmath.mpf(2) ** j
            assert abs(found - mpmath.log(total)) < 1e-6
    assert 0 < refused < 9


@pytest.mark.parametrize("dim", [4, 5, 8])
def test_low_degrees_of_a_clipped_unit_have_their_digits(dim):
    # s'' is a difference of two points' masses, so that a_(n+2) is one of h_n(-1), h_n(1)
    # times the density; the series of positive terms is cut where no more is missing.
    unit, top, degree = act.hard_tanh, 20_000, 1
    with mpmath.workdps(30):
        density = mpmath.npdf(1)
        inside = mpmath.erf(1 / mpmath.sqrt(2))
        total = 1 - 2 * density  # E s^2
        left = total - inside**2
        # E t^n P_1 = E t^(n + 1), n odd, of uniform t.
        weight = mpmath.mpf(1) / dim
        found = weight * inside**2
        low, high = mpmath.mpf(0), mpmath.mpf(1)
        for n in range(top):
            if n % 2:
                energy = (2 * high * density) ** 2 / ((n + 1) * (n + 2))
                weight *= mpmath.mpf(n + 2) / (n + 1 + dim)
                found, left = found + weight * energy, left - energy
            low, high = high, (high - mpmath.sqrt(n) * low) / mpmath.sqrt(n + 1)
        cut = float(weight * left / found)
        exact = float(found / total)
    assert cut < 1e-12
    eigenvalue = spectrum.nngp_eigenvalues(unit.normalized(), 1, degree, dim)
    assert eigenvalue == pytest.approx(exact, rel=cut + 1e-12)


@pytest.mark.parametrize("dim", [2, 10])
@pytest.mark.parametrize("kink", [-1.5, 0.7, 3.0])
def test_one_layer_of_normrelu_has_an_integral_without_a_dual(kink, dim):
    r"""The second derivative of its dual is exp(-c^2 / (1 + t)) / sqrt(1 - t^2), a density.

    Integrated by parts twice, its projection in d + 4 dimensions on degree k - 2 is the
    eigenvalue up to d (d + 2): 40 digits by Gauss's rule, whose zonal polynomials are
    those of mpmath.
    """
    unit = act.normrelu(kink)
    # As the docstring has it of kinks elsewhere than at zero.
    for degree, error in ((2, 1e-12), (7, 1e-11), (24, 1e-6)):
        with mpmath.workdps(40):
            c, e = mpmath.mpf(kink), mpmath.mpf(dim + 4)
            tail, density = mpmath.ncdf(-c), mpmath.npdf(c)
            spread = (1 + c * c) * tail - c * density - (c * tail - density) ** 2

            def integrand(angle, c=c, e=e, n=degree - 2):
                t = mpmath.cos(angle)
                zonal = mpmath.gegenbauer(n, e / 2 - 1, t)
                away = 2 * mpmath.cos(angle / 2) ** 2
                return mpmath.exp(-c * c / away) * zonal * mpmath.sin(angle) ** (e - 3)

            ends = mpmath.linspace(0, mpmath.pi, 9)
            total = mpmath.quad(integrand, ends, method="gauss-legendre")
            total /= mpmath.gegenbauer(degree - 2, e / 2 - 1, 1)
            total /= mpmath.beta((e - 1) / 2, mpmath.mpf(1) / 2)
            true = total / (2 * mpmath.pi * spread * dim * (dim + 2))
        found = spectrum.nngp_eigenvalues(unit, 1, degree, dim)
        assert abs(found / true - 1) <= error, (degree, float(found / true - 1))


@pytest.mark.parametrize("dim", [1000, 10_000])
@pytest.mark.parametrize("kink", [-1.5, 3.0])
def test_layers_of_normrelu_have_composed_series(kink, dim, monkeypatch):
    """Coefficients of one layer are Hermite polynomials at the kink; 60 digits in Arb."""
    order, unit = 160, act.normrelu(kink)
    monkeypatch.setattr(flint.ctx, "cap", order)
    with flint.ctx.workprec(250):
        c, root = flint.arb(kink), flint.arb(2).sqrt()
        tail = (c / root).erfc() / 2
        density = (-c * c / 2).exp() / (2 * flint.arb.pi()).sqrt()
        spread = (1 + c * c) * tail - c * density - (c * tail - density) ** 2
        b, low, high = [flint.arb(0), tail**2 / spread], flint.arb(0), flint.arb(1)
        for n in range(2, order):
            b.append((high * density) ** 2 / (spread * n * (n - 1)))
            rest = c * high - flint.arb(n - 2).sqrt() * low
            low, high = high, rest / flint.arb(n - 1).sqrt()
        dual = flint.arb_series(b, order)
        slope = flint.arb_series([n * b[n] for n in range(1, order)], order)
        kernel = dual
        tangent = dual + flint.arb_series([0, 1], order) * slope
        for depth in (1, 2, 3):
            for which, series in (("nngp", kernel), ("ntk", tangent)):
                asked = getattr(spectrum, f"{which}_eigenvalues")
                for degree in (1, 2, 25, 60):
                    total = flint.arb(0)
                    for n in range(degree, order - 1, 2):
                        # E t^n P_k of a uniform t.
                        half = flint.arb(dim) / 2
                        j = (n - degree) // 2
                        weight = flint.arb(n + 1).lgamma() - flint.arb(j + 1).lgamma()
                        weight += half.lgamma() - (half + degree + j).lgamma()
                        total += (weight - n * flint.arb(2).log()).exp() * series[n]
                    found = asked(unit, depth, degree, dim, log=True)
                    assert abs(float(flint.arb(found) - total.log())) <= 1e-12
            tangent, kernel = dual(kernel) + tangent * slope(kernel), dual(kernel)
