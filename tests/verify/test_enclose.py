import math
from fractions import Fraction

import flint
import pytest

from verify import enclose
from verify.compare import CertifiedAtLeast, CertifiedAtMost, Outcome

SINE = ((0.0, 3.0),)


def sine_over_x(x):
    return enclose.quotient(lambda y: y.sin(), flint.arb(0), 1)(x)


def judge(cover, bound):
    return CertifiedAtLeast().judge(bound, cover.enclosure("x in [0, 3]")).outcome


def test_true_statement_is_certified_and_a_slightly_false_one_is_refuted():
    # min of sin(x)/x on [0, 3] is sin(3)/3, at the right end.
    exact = math.sin(3.0) / 3.0
    cover = enclose.minimum(sine_over_x, SINE, tolerance=1e-9)
    assert judge(cover, exact - 2e-9) is Outcome.HOLDS
    assert judge(cover, exact + 2e-9) is Outcome.REFUTED


def test_exact_equality_is_never_certified_by_luck():
    # sin(x)/x <= 1 with equality at 0: the enclosure holds 1 but cannot go below it.
    cover = enclose.maximum(sine_over_x, SINE, tolerance=1e-9)
    assert cover.lower <= 1.0 <= cover.upper
    found = cover.enclosure("x in [0, 3]")
    assert CertifiedAtMost().judge(1.0 - 1e-8, found).outcome is Outcome.REFUTED
    assert CertifiedAtMost().judge(1.0 + 1e-8, found).outcome is Outcome.HOLDS


def test_a_crude_cover_decides_nothing_about_a_close_call():
    cover = enclose.minimum(sine_over_x, SINE, budget=3)
    assert judge(cover, math.sin(3.0) / 3.0 - 1e-9) is Outcome.UNDECIDED


@pytest.mark.parametrize("gradient", [None, (enclose.partial(lambda x: x.sin(), 0),)])
def test_leaves_cover_the_interval_with_no_gap(gradient):
    interval = (0.1, 7.3)
    cover = enclose.minimum(
        lambda x: x.sin(), (interval,), gradient=gradient, tolerance=1e-3
    )
    assert list(enclose.gaps(cover, interval)) == []
    width = sum(Fraction(high) - Fraction(low) for ((low, high),) in cover.leaves)
    assert width == Fraction(7.3) - Fraction(0.1)


def test_a_missing_leaf_is_noticed():
    cover = enclose.minimum(lambda x: x.sin(), ((0.0, 8.0),), tolerance=1e-2)
    for missing in range(len(cover.leaves)):
        leaves = cover.leaves[:missing] + cover.leaves[missing + 1 :]
        holed = enclose.Cover(leaves, cover.bounds, cover.lower, cover.upper)
        assert list(enclose.gaps(holed, (0.0, 8.0))) == [cover.leaves[missing][0]]


def test_rectangles_fill_the_box_and_bounds_hold_on_each():
    box = ((-1.0, 2.0), (0.5, 1.5))

    def function(x, y):
        return x * x * y - x

    gradient = (enclose.partial(function, 0), enclose.partial(function, 1))
    cover = enclose.minimum(function, box, gradient=gradient, tolerance=1e-6)
    area = sum(
        (Fraction(b) - Fraction(a)) * (Fraction(d) - Fraction(c))
        for (a, b), (c, d) in cover.leaves
    )
    assert area == 3
    # x = 1/(2y) gives -1/(4y), least at y = 1/2: -1/2.
    assert cover.lower <= -0.5 <= cover.upper
    for leaf, bound in zip(cover.leaves, cover.bounds, strict=True):
        for x in (leaf[0][0], sum(leaf[0]) / 2, leaf[0][1]):
            for y in (leaf[1][0], sum(leaf[1]) / 2, leaf[1][1]):
                assert bound <= x * x * y - x + 1e-12
        assert cover.lower <= bound


def test_maximum_mirrors_minimum():
    cover = enclose.maximum(lambda x: x * (1 - x), ((0.0, 1.0),), tolerance=1e-4)
    assert cover.lower <= 0.25 <= cover.upper
    assert min(cover.bounds) <= cover.upper == max(cover.bounds)


def test_target_stops_as_soon_as_the_sign_is_known():
    def function(x):
        return x * x - x + 1

    box = ((0.0, 4.0),)
    full = enclose.minimum(function, box, tolerance=1e-4)
    quick = enclose.minimum(function, box, tolerance=1e-4, target=0.0)
    assert 0.0 <= quick.lower <= 0.75 <= quick.upper
    assert len(quick.leaves) < len(full.leaves)


def test_a_pole_in_the_box_gives_no_bound():
    cover = enclose.minimum(lambda x: 1 / x, ((-1.0, 1.0),), budget=50)
    assert cover.lower == -math.inf
    with pytest.raises(ValueError, match="must be finite"):
        judge(cover, -1e300)


def test_quotient_at_a_double_zero():
    # (1 - cos x)/x^2 is 1/2 at 0 and decreases to 0.2211 at x = 3.
    function = enclose.quotient(lambda x: 1 - x.cos(), flint.arb(0), 2)
    cover = enclose.maximum(function, SINE, tolerance=1e-6)
    assert cover.lower <= 0.5 <= cover.upper
    assert cover.upper < 0.5 + 2e-6


def test_a_series_that_ends_before_tells_no_derivative():
    # x exp(x) / x at 0 is known to one term less: of its last, 1/2, nothing is.
    _, first, second = enclose.jet(lambda x: x * x.exp() / x, [flint.arb(0)], 0, 2)
    assert first == 1
    assert not second.is_finite()


def test_rounding_of_ends_is_outward():
    third = flint.arb(1) / 3
    assert Fraction(enclose.below(third)) < Fraction(1, 3)
    assert Fraction(enclose.above(third)) > Fraction(1, 3)
    assert enclose.below(flint.arb("nan")) == -math.inf


def test_ratio_without_information_is_not_finite():
    around = flint.arb(0).union(flint.arb(1))
    assert not enclose.ratio(flint.arb(1), around).is_finite()
    assert not enclose.jet(lambda x: enclose.ratio(1 + x, x), [around], 0, 1)[
        1
    ].is_finite()


@pytest.mark.parametrize("bad", [(math.nan, 1.0), (0.0, math.inf), (1.0, 0.0)])
def test_bad_box_is_refused(bad):
    with pytest.raises(ValueError, match="`box` must have finite ends"):
        enclose.minimum(lambda x: x, (bad,))


def test_normrelu_derivatives_are_those_of_the_closed_forms():
    from verify.claims.deep_conditioning.normrelu import fact1 as fact

    with flint.ctx.workprec(enclose.BITS):
        at = [flint.arb("0.7"), flint.arb("-1.3")]
        for function in (fact._mean_jet, fact.length_jet):
            closed = function(*at)
            series = enclose.jet(lambda g, c, f=function: f(g, c)[0], at, 0, 2)
            for order, value in enumerate(closed):
                assert (value - math.factorial(order) * series[order]).contains(0)
        bias = enclose.jet(
            lambda g, c: fact._mean_jet(g, c)[0] ** 2 / fact.length_jet(g, c)[0],
            at,
            0,
            2,
        )
        gap = fact._bias_curvature(*at) - 2 * bias[2]
        assert gap.contains(0)
        assert gap.rad() < 1e-30


@pytest.mark.parametrize("name", ["relu", "step", "selu", "hard_tanh", "erf", "asinh"])
def test_enclosed_energies_hold_the_definitions(name):
    from verify import integrals
    from verify.claims.deep_conditioning.proved import certificates

    found, law = certificates.energies(name), integrals.law(name)
    left = flint.arb(1)
    with flint.ctx.workprec(integrals.BITS):
        variance = integrals.arb(law.variance())
        for k, ball in enumerate(found.p[1:], start=1):
            exact = integrals.arb(law.coefficient(k)) ** 2 / variance
            left -= exact
            assert ball.contains(exact)
            assert found.q[k].contains(left)
            assert ball.rad() < 1e-19


@pytest.mark.parametrize("branch", ["near", "far", "middle"])
def test_lemma_c5_certificate_encloses_the_gain_of_step(branch):
    # The dual of the normalised step is (2/pi) asin(rho), by Sheppard's formula.
    from verify.claims.deep_conditioning.proved import certificates

    found = certificates._BRANCHES[branch](certificates.energies("step"))
    exact = {"near": 1.0 / 3.0, "far": 1.0 / 3.0, "middle": 1.0 - 2.0 / math.pi}[branch]
    assert found.lower <= exact <= found.upper
    assert found.upper - found.lower < 1e-3
