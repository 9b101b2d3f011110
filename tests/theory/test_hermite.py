"""Hermite polynomials and coefficients to order 200."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theory import activations as act
from theory import gaussian
from theory.hermite import (
    coefficients,
    expansion,
    hermite,
    precise_coefficients,
    weighted_basis,
)
from verify import integrals

ORDER = 200
TOLERANCE = 1e-13
# exp grows so fast that the references lose their digits; it has a test of its own.
REFERENCED = sorted(set(act.CATALOGUE) - {"softsign", "exp"})


FLOOR = 1e-48
"""Absolute accuracy of the references."""


def _worst(values, reference, vanishing=TOLERANCE):
    """Largest error of a_k relative to |a_k|; to the tail's largest where it vanishes.

    A coefficient vanishes when its share of the tail's largest is below `vanishing`: no
    sum in float64 knows it better than the tail.
    """
    tails = np.maximum.accumulate([float(abs(r)) for r in reference][::-1])[::-1]
    worst = (0.0, -1)
    for k, (value, ref) in enumerate(zip(values, reference, strict=True)):
        gap = float(abs(mpmath.mpf(float(value)) - ref))
        share = float(abs(ref))
        scale = share if share > vanishing * tails[k] else tails[k]
        if gap > FLOOR:
            worst = max(worst, (gap / scale, k))
    return worst


@pytest.mark.parametrize("name", REFERENCED)
def test_coefficients(name, law):
    a, ref = act.CATALOGUE[name], law(name)
    exact = [ref.coefficient(k) for k in range(ORDER + 1)]
    if name == "normrelu":
        scale = mpmath.sqrt(ref.variance())
        exact = [mpmath.mpf(0), *(v / scale for v in exact[1:])]
    worst, k = _worst(a.hermite(ORDER), exact)
    assert worst < TOLERANCE, f"a_{k}"


@pytest.mark.parametrize("k", [3, 99, 175])
def test_coefficients_of_softsign(k, law):
    """Far below a_1, as of every function with a kink: they keep their own digits."""
    true = law("softsign").coefficient(k)
    slope = act.softsign.derivative.hermite(k - 1)[-1] / math.sqrt(k)
    for found in (act.softsign.hermite(k)[-1], slope):
        assert abs(mpmath.mpf(float(found)) / true - 1) < TOLERANCE


@pytest.mark.parametrize("kink", [-30.0, -8.0, -2.5, -0.3, 0.0, 0.7, 3.0, 30.0])
def test_coefficients_of_shifted_kinks(kink):
    a, ref = act.normrelu(kink), integrals.of_pieces(integrals.normrelu(kink))
    with mpmath.workdps(500):  # the variance at c = -30 is 1 - 1e-196
        scale = mpmath.sqrt(_variance(mpmath.mpf(kink)))
    exact = [ref.coefficient(k) / scale for k in range(ORDER + 1)]
    exact[0] = mpmath.mpf(0)
    worst, k = _worst(a.hermite(ORDER), exact)
    assert worst < TOLERANCE, f"a_{k}"


def _variance(c):
    tail, density = mpmath.ncdf(-c), mpmath.npdf(c)
    first = density - c * tail
    return (1 + c * c) * tail - c * density - first**2


@pytest.mark.parametrize(
    ("name", "var"),
    [("tanh", 2.0), ("softplus", 0.25), ("gelu", 2.0), ("erf", 0.25), ("sin", 2.0)],
)
def test_coefficients_at_other_variances(name, var):
    balls = integrals.smooth_coefficients(name, repr(var))
    exact = [integrals.mpf(b) for b in balls[: ORDER + 1]]
    worst, k = _worst(act.CATALOGUE[name].hermite(ORDER, var=var), exact)
    assert worst < TOLERANCE, f"a_{k}"


# A kink c / sqrt(var) is rounded by an ulp, which moves a_k by sqrt(k) ulp of the tail's
# largest: 1.6e-15 at k = 200, 1e-13 of a coefficient that is 1/60 of it.
ROUNDED = 0.1


@pytest.mark.parametrize("name", ["relu", "hard_tanh", "elu", "relu_squared", "sign"])
@pytest.mark.parametrize("var", [0.25, 2.0])
def test_kinked_coefficients_at_other_variances(name, var):
    piece = integrals.PIECES[name]
    scaled = integrals.Pieces(**{**vars(piece), "variance": var})
    exact = [scaled.coefficient(k) for k in range(ORDER + 1)]
    worst, k = _worst(act.CATALOGUE[name].hermite(ORDER, var=var), exact, ROUNDED)
    assert worst < TOLERANCE, f"a_{k}"


CLOSED = {
    # E e^Z h_k = e^(1/2) / sqrt(k!); sin and cos are its imaginary and real part at i.
    "exp": lambda k: mpmath.exp(0.5) / mpmath.sqrt(mpmath.factorial(k)),
    "sin": lambda k: (
        (k % 2) * (-1) ** (k // 2) * mpmath.exp(-0.5) / mpmath.sqrt(mpmath.factorial(k))
    ),
    "cos": lambda k: (
        (1 - k % 2)
        * (-1) ** (k // 2)
        * mpmath.exp(-0.5)
        / mpmath.sqrt(mpmath.factorial(k))
    ),
}


@pytest.mark.parametrize("name", sorted(CLOSED))
def test_coefficients_far_below_the_references(name, error):
    # Order 150: 1 / sqrt(150!) = 1e-131, still far from underflow.
    values = act.CATALOGUE[name].hermite(150)
    exact = [mpmath.mpf(CLOSED[name](k)) for k in range(151)]
    assert max(error(v, e) for v, e in zip(values, exact, strict=True)) < TOLERANCE


def test_shorter_requests_are_prefixes():
    for name in ("relu", "tanh", "gelu", "selu", "hermite(3)"):
        a = act.CATALOGUE[name]
        full = a.hermite(60)
        for order in (0, 1, 5, 30):
            short = a.hermite(order)
            assert short.shape == (order + 1,)
            assert np.allclose(short, full[: order + 1], rtol=0, atol=2e-15)


@pytest.mark.parametrize("k", [0, 1, 2, 7, 50, 200])
@pytest.mark.parametrize("x", [-5.0, -0.3, 0.0, 1.0, 12.0])
def test_polynomials(k, x):
    # sum_j (-1)^j k! x^(k-2j) / (2^j j! (k-2j)! sqrt(k!)), exactly; the recurrence
    # rounds 3 times a step and the size of h_k bounds what that adds up to.
    with mpmath.workdps(400):
        exact = sum(
            (-1) ** j
            * mpmath.factorial(k)
            / (mpmath.factorial(j) * mpmath.factorial(k - 2 * j) * mpmath.mpf(2) ** j)
            * mpmath.mpf(x) ** (k - 2 * j)
            for j in range(k // 2 + 1)
        ) / mpmath.sqrt(mpmath.factorial(k))
        scale = max(abs(exact), mpmath.exp(mpmath.mpf(x) ** 2 / 4))
        gap = abs(mpmath.mpf(hermite(k, x)) - exact)
    assert gap / scale < 3 * (k + 1) * 2.2e-16


def test_polynomials_are_orthonormal():
    # Gauss-Hermite with 130 nodes is exact to degree 259; the sums have 130 terms.
    x, w = np.polynomial.hermite_e.hermegauss(130)
    rows = np.array([hermite(k, x) for k in range(101)])
    gram = (rows * (w / math.sqrt(2 * math.pi))) @ rows.T
    assert np.abs(gram - np.eye(101)).max() < 1e-12


def test_the_basis_integrates_polynomials_exactly():
    x, basis = weighted_basis(30)
    rows = np.array([hermite(k, x) for k in range(31)])
    assert np.abs(basis @ rows.T - np.eye(31)).max() < TOLERANCE
    assert basis.shape == (31, x.size)
    with pytest.raises(ValueError, match="read-only"):  # cached
        x[0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        basis[0, 0] = 0.0


def test_coefficients_split_at_kinks():
    cut = 0.37
    found = coefficients(lambda x: np.maximum(x - cut, 0.0), 40, (cut,))
    piece = integrals.normrelu(cut)
    exact = [piece.coefficient(k) for k in range(41)]
    gaps = [
        abs(float(mpmath.mpf(float(v)) - e)) for v, e in zip(found, exact, strict=True)
    ]
    assert max(gaps) < 1e-15


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(-5.0, 5.0), min_size=1, max_size=12), st.floats(-4.0, 4.0))
def test_mixtures_are_their_coefficients(values, x):
    a = act.HermiteMixture(tuple(values))
    assert a.hermite(len(values) - 1).tolist() == values
    assert a.hermite(len(values) + 2).tolist() == [*values, 0.0, 0.0, 0.0]
    direct = math.fsum(v * hermite(k, x) for k, v in enumerate(values))
    size = math.fsum(abs(v * hermite(k, x)) for k, v in enumerate(values))
    assert abs(a(x) - direct) <= 1e-14 * size + 1e-300


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 60), st.floats(-6.0, 6.0))
def test_derivative_lowers_the_order(k, x):
    # h_k' = sqrt(k) h_{k-1}; the recurrence's rounding is bounded by e^{x^2/4}.
    if k:
        value = act.hermite(k).derivative(x)
        slack = 1e-14 * (k + 1) * max(abs(hermite(k - 1, x)), math.exp(x * x / 4))
        assert value == pytest.approx(
            math.sqrt(k) * hermite(k - 1, x), rel=1e-13, abs=slack * math.sqrt(k)
        )


@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize(
    "c", [-1e150, -36.9, -5.0, -0.1, 0.0, 0.1, 2.1, 7.0, 9.3, 25.1, 35.3, 37.3]
)
def test_tail_moments(k, c, error):
    with mpmath.workdps(500):
        x = mpmath.mpf(c)
        tail, density = mpmath.ncdf(-x), mpmath.npdf(x)
        exact = (tail, density - x * tail, (1 + x * x) * tail - x * density)[k]
        scaled = exact / density
    # Sums of 64 positive terms, and a few roundings of each.
    assert error(gaussian.tail_moment(k, c), exact) < 2e-15
    if abs(c) < 37.0:
        assert error(gaussian.scaled_tail_moment(k, c), scaled) < 2e-15


@pytest.mark.parametrize("n", [1, 2, 5, 20, 64, 97])
def test_gauss_legendre_weights_keep_their_digits_to_the_ends(n, error):
    x, w = gaussian.legendre(n)
    assert (x == -x[::-1]).all()
    assert (w == w[::-1]).all()
    for node, weight in zip(x.tolist(), w.tolist(), strict=True):
        near = mpmath.mpf(node), mpmath.mpf(node) + mpmath.mpf(2) ** -60
        root = mpmath.findroot(lambda t: mpmath.legendre(n, t), near)
        assert abs(node - root) <= 2.0**-53
        slope = n * mpmath.legendre(n - 1, root) / (1 - root * root)
        assert error(weight, 2 / ((1 - root * root) * slope**2)) <= 1e-14


def test_precise_coefficients_keep_their_digits_far_below_the_first():
    # E[exp(c Z) h_n(Z)] = exp(c^2 / 2) c^n / sqrt(n!): 1e-267 at n = 150.
    c = mpmath.mpf(1) / 8
    found = precise_coefficients(lambda x: mpmath.exp(c * x), 150, 330)
    for n in (0, 1, 2, 17, 80, 149, 150):
        exact = mpmath.exp(c * c / 2) * c**n / mpmath.sqrt(mpmath.factorial(n))
        assert abs(found[n] / exact - 1) < 1e-15, n


@pytest.mark.parametrize("value", [math.nan, mpmath.inf, 1j, mpmath.mpc(1), "1", None])
def test_precise_coefficients_are_of_numbers(value):
    with pytest.raises(
        ValueError, match=r"^precise_coefficients: `f` must return real"
    ):
        precise_coefficients(lambda x: value, 2, 20)


def test_rules_are_read_only():
    # They are kept, and the next to ask gets the same.
    for rule in (gaussian.legendre(3), gaussian.panels((0.3,))):
        assert not any(v.flags.writeable for v in rule)


@pytest.mark.parametrize("order", [2000, 6000, 10_000])
def test_coefficients_of_high_orders_are_those_of_the_closed_form(order: int):
    """At order 10,000 panels had fewer than three nodes a wave: off by three per cent."""
    found = coefficients(np.abs, order, [0.0])
    n = order // 2
    # (-1)^(n+1) sqrt(2/pi) sqrt((2n)!) / (2^n n! (2n - 1)).
    log = 0.5 * math.lgamma(2 * n + 1) - n * math.log(2.0) - math.lgamma(n + 1)
    true = (-1) ** (n + 1) * math.sqrt(2.0 / math.pi) * math.exp(log) / (2 * n - 1)
    # Sums of thousands of terms below one.
    assert abs(found[order] - true) <= 1e-15


def test_an_expansion_of_too_high_an_order_is_refused():
    """It filled the memory."""
    with pytest.raises(ValueError, match="expansion: `order` must be at most"):
        expansion(np.abs, 2**63, np.zeros(1))
