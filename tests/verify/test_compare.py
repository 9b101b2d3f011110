"""Each comparison on both sides of its edge."""

import math
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
from flint import acb, arb, fmpq
from mpmath import mpc, mpf, workdps
from scipy import stats

from verify.compare import (
    AgreesTo,
    AtLeast,
    AtMost,
    CertifiedAtLeast,
    CertifiedAtMost,
    Comparison,
    Contrast,
    EffectWithin,
    Enclosed,
    Enclosure,
    Estimate,
    Identical,
    MeanAtLeast,
    MeanAtMost,
    MeanEquals,
    Outcome,
    RarelyAbove,
)
from verify.compare.outcomes import is_finite

HOLDS, REFUTED, UNDECIDED = Outcome.HOLDS, Outcome.REFUTED, Outcome.UNDECIDED


@pytest.mark.parametrize(
    ("predicted", "measured", "outcome"),
    [
        (Fraction(1, 3), Fraction(2, 6), HOLDS),
        (Fraction(1, 3), Fraction(1, 2), REFUTED),
        ("even", "odd", REFUTED),
        (True, True, HOLDS),
        ((1, [2]), [1, (2,)], HOLDS),
        (np.float32(0.1), 0.1, REFUTED),
        ({"a": [np.float32(0.1)]}, {"a": [0.1]}, REFUTED),
    ],
)
def test_identical(predicted: object, measured: object, outcome: Outcome) -> None:
    verdict = Identical().judge(predicted, measured)
    assert verdict.outcome is outcome
    assert verdict.unit == "exact"
    assert (verdict.gap == 0.0) == (outcome is HOLDS)


@pytest.mark.parametrize("many", [False, True])
def test_a_number_of_float32_is_not_what_it_was_rounded_from(many: bool) -> None:
    sides = ([np.float32(0.1)], [0.1]) if many else (np.float32(0.1), 0.1)
    for predicted, measured in (sides, sides[::-1]):
        verdict = AgreesTo(relative=1e-12).judge(predicted, measured)
        assert verdict.outcome is REFUTED
        assert verdict.gap == pytest.approx(
            float(np.float32(0.1)) / 0.1 - 1.0, rel=1e-6
        )


# All numbers are powers of two, so that the edge itself is exact.
@pytest.mark.parametrize(
    ("predicted", "outcome"), [(4.25, HOLDS), (4.2500001, REFUTED), (3.75, HOLDS)]
)
def test_agrees_to_relative(predicted: float, outcome: Outcome) -> None:
    verdict = AgreesTo(relative=2.0**-4).judge(predicted, 4.0)
    assert verdict.outcome is outcome
    assert verdict.unit == "relative"
    assert verdict.resolves == 2.0**-4
    assert (verdict.strain <= 1.0) == (outcome is HOLDS)


def test_agrees_to_absolute_counts_beside_relative() -> None:
    both = AgreesTo(relative=2.0**-4, absolute=0.25)
    assert both.judge(4.5, 4.0).outcome is HOLDS
    assert both.judge(4.51, 4.0).outcome is REFUTED


def test_a_value_below_its_absolute_tolerance_has_no_relative_gap() -> None:
    verdict = AgreesTo(relative=2.0**-4, absolute=0.25).judge(0.125, 2.0**-60)
    assert verdict.outcome is HOLDS
    assert verdict.unit == "absolute"
    assert (verdict.gap, verdict.resolves) == (0.125, 0.25)


def test_agrees_to_of_largest_excuses_small_entries_only_when_asked() -> None:
    predicted, measured = np.array([8.0, 0.25]), np.array([8.0, 0.0])
    assert AgreesTo(relative=2.0**-4).judge(predicted, measured).outcome is REFUTED
    large = AgreesTo(relative=2.0**-4, of_largest=True).judge(predicted, measured)
    assert large.outcome is HOLDS
    assert large.worst == 1


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    ("comparison", "predicted", "measured"),
    [
        (Identical(), 1.0, 1.0),
        (Identical(), {"a": [1.0]}, {"a": [1.0]}),
        (AgreesTo(absolute=1e9), [1.0, 1.0], [1.0, 1.0]),
        (AtMost(), 1.0, 1.0),
        (AtLeast(), 1.0, 1.0),
        (CertifiedAtMost(), 1.0, Enclosure(0.0, 1.0, "x", 1)),
        (CertifiedAtLeast(), 1.0, Enclosure(1.0, 2.0, "x", 1)),
        (Enclosed(radius=9.0), 1.0, Enclosure(0.0, 2.0, "x", 1)),
        (MeanEquals(discrepancy=9.0), 1.0, Estimate(1.0, 0.1, 10)),
        (MeanAtMost(discrepancy=9.0), 1.0, Estimate(1.0, 0.1, 10)),
        (MeanAtLeast(discrepancy=9.0), 1.0, Estimate(1.0, 0.1, 10)),
        (RarelyAbove(0.05), np.ones(20), np.zeros(20)),
    ],
)
def test_what_is_not_finite_is_no_evidence(
    comparison: Comparison, predicted: Any, measured: Any, bad: float
) -> None:
    def spoilt(side: Any) -> Any:
        if isinstance(side, Estimate):
            return replace(side, stderr=bad)
        if isinstance(side, Enclosure):
            return replace(side, upper=bad)
        if isinstance(side, dict):
            return {"a": [bad]}
        return bad if np.ndim(side) == 0 else [bad, *side[1:]]

    comparison.judge(predicted, measured)
    with pytest.raises(ValueError, match="finite"):
        comparison.judge(predicted, spoilt(measured))
    vacuous = {AtMost: math.inf, AtLeast: -math.inf}.get(type(comparison))
    if bad != vacuous:
        with pytest.raises(ValueError, match="finite"):
            comparison.judge(spoilt(predicted), measured)


class _Equal:
    def __eq__(self, _other: object) -> bool:
        return True

    __hash__ = object.__hash__


@pytest.mark.parametrize(
    "value",
    [
        *(mpf("nan"), [mpf("inf")], sympy.zoo, sympy.oo, sympy.nan, arb("nan")),
        *(1j * math.inf, np.ma.array([1.0, 2.0], mask=[False, True]), [np.ma.masked]),
        *({math.nan}, frozenset([("a", math.nan)]), {math.nan: 1}),
        *(sympy.Matrix([sympy.nan]), sympy.FiniteSet(sympy.nan), Decimal("nan")),
        *(np.array([(1.0, math.nan)], dtype="f8,f8"), np.longdouble("nan")),
        # Whose equality is their own affair.
        *(iter([1.0]), _Equal(), [_Equal()], np.array([_Equal()])),
    ],
)
def test_libraries_say_what_is_not_finite(value: Any) -> None:
    assert not is_finite(value)
    assert is_finite(
        [
            *(mpf(1), sympy.Symbol("x"), arb(1), 1j, "nan", None, True, 10**400),
            *({"a", 1.0}, Fraction(1, 3), fmpq(1, 3), np.float16(1), np.True_),
            *(-0.0, 5e-324, np.longdouble(1), sympy.Matrix([1]), np.array(["a"])),
        ]
    )


@pytest.mark.parametrize("side", [arb(1, 1e-3), acb(arb(1, 1e-3)), [1, arb(1, 1e-3)]])
@pytest.mark.parametrize(
    "comparison", [AgreesTo(absolute=1e-6), AtMost(), AtLeast(), Identical()]
)
def test_a_ball_is_not_taken_for_its_middle(comparison: Comparison, side: Any) -> None:
    number = [1.0] * np.size(side)
    for sides in ((side, number), (number, side)):
        with pytest.raises(ValueError, match="must be a number, got a ball"):
            comparison.judge(*sides)
    assert AgreesTo().judge(1.0, arb(1)).outcome is HOLDS


def test_agrees_to_takes_the_difference_before_rounding() -> None:
    with workdps(40):
        one = mpf(1)
        near = one + mpf(10) ** -30
        verdict = AgreesTo(absolute=1e-31).judge(one, near)
        assert verdict.outcome is REFUTED
        # One rounding of the difference to float64.
        assert verdict.gap == pytest.approx(1e-30, rel=1e-9)


@pytest.mark.parametrize("comparison", [AgreesTo(relative=1e-3), AtMost()])
def test_numbers_that_are_zero_in_float64_are_told_apart(
    comparison: Comparison,
) -> None:
    one, other = mpf("1e-400"), mpf("2e-400")
    assert comparison.judge(one, other).outcome is Outcome.REFUTED
    assert AtLeast().judge(other, one).outcome is Outcome.REFUTED
    assert AtLeast().judge(one, other).outcome is Outcome.HOLDS
    assert comparison.judge(0.0, other).outcome is Outcome.REFUTED
    assert comparison.judge(other, other).outcome is Outcome.HOLDS


def test_a_difference_of_numbers_beyond_float64_is_relative() -> None:
    verdict = AgreesTo(relative=1e-3).judge(mpf("1e400"), mpf("1.25e400"))
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.gap == pytest.approx(0.2)


@pytest.mark.parametrize("value", [1j, mpc(0, 1)])
def test_complex_numbers_are_refused(value: Any) -> None:
    """A record keeps real ones."""
    with pytest.raises(TypeError):
        AgreesTo(relative=1e-3).judge(value, value)


def test_arrays_of_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"measurement's shape \(3,\)"):
        AgreesTo(absolute=1.0).judge([1.0, 2.0], [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("comparison", "inside", "edge", "outside"),
    [
        (AtMost(rounding=0.5), 1.0, 2.5, 2.5000001),
        (AtMost(relative=0.25), 1.0, 2.5, 2.5000001),
        (AtLeast(rounding=0.5), 3.0, 1.5, 1.4999999),
        (AtLeast(relative=0.25), 3.0, 1.5, 1.4999999),
    ],
)
def test_bounds(
    comparison: AtMost | AtLeast, inside: float, edge: float, outside: float
) -> None:
    kept = comparison.judge(2.0, inside)
    assert kept.outcome is HOLDS
    assert kept.gap < 0.0
    # The slack and the allowance: an error of the bound larger than both is caught.
    assert kept.resolves == 1.5
    assert comparison.judge(2.0, edge).outcome is HOLDS
    assert comparison.judge(2.0, outside).outcome is REFUTED


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_bound_that_nothing_could_exceed_decides_nothing(sign: float) -> None:
    kind = AtMost if sign > 0 else AtLeast
    nothing = kind(trivial=sign * 1.0)
    for bound in (1.0, 2.0, math.inf):
        assert nothing.judge(sign * bound, sign * 0.5).outcome is Outcome.VACUOUS
    assert kind().judge(sign * math.inf, sign * 0.5).outcome is Outcome.VACUOUS
    assert nothing.judge(sign * 1.0, sign * 1.5).outcome is REFUTED
    verdict = nothing.judge([sign, sign * 0.75], [sign * 0.99, sign * 0.5])
    assert (verdict.outcome, verdict.worst, verdict.slack) == (HOLDS, 1, 1.5)


@pytest.mark.parametrize(
    ("bound", "value", "slack"),
    [
        (2.0, 1.0, 2.0),
        (1.0, 1.0, 1.0),
        (-1.0, -4.0, 4.0),
        (2.0, 0.0, math.inf),
        (2.0, -1.0, math.inf),
        (1.0, 1e-313, math.inf),
        (0.0, -1.0, None),
        (0.0, 0.0, None),
    ],
)
def test_slack_is_the_factor_that_a_bound_could_lose(
    bound: float, value: float, slack: float | None
) -> None:
    for kind, sign in ((AtMost, 1.0), (AtLeast, -1.0)):
        verdict = kind().judge(sign * bound, sign * value)
        assert verdict.outcome is HOLDS
        assert verdict.slack == slack


def test_bounds_judge_the_worst_entry() -> None:
    verdict = AtMost().judge([1.0, 1.0, 1.0], [0.5, 1.25, 0.75])
    assert (verdict.outcome, verdict.worst, verdict.gap) == (REFUTED, 1, 0.25)


@pytest.mark.parametrize(
    ("lower", "upper", "outcome"),
    [(1.0, 2.0, HOLDS), (0.9, 1.1, UNDECIDED), (0.5, 0.9, REFUTED)],
)
def test_certified_at_least(lower: float, upper: float, outcome: Outcome) -> None:
    enclosure = Enclosure(lower, upper, covers="[0, 1]", boxes=3)
    assert CertifiedAtLeast().judge(1.0, enclosure).outcome is outcome


@pytest.mark.parametrize(
    ("lower", "upper", "outcome"),
    [(0.0, 1.0, HOLDS), (0.9, 1.1, UNDECIDED), (1.1, 1.5, REFUTED)],
)
def test_certified_at_most(lower: float, upper: float, outcome: Outcome) -> None:
    enclosure = Enclosure(lower, upper, covers="[0, 1]", boxes=3)
    assert CertifiedAtMost().judge(1.0, enclosure).outcome is outcome


@pytest.mark.parametrize(
    ("value", "radius", "outcome"),
    [(1.0, 0.25, HOLDS), (1.0, 0.2, UNDECIDED), (1.5, 0.25, REFUTED)],
)
def test_enclosed(value: float, radius: float, outcome: Outcome) -> None:
    enclosure = Enclosure(0.75, 1.25, covers="a point", boxes=1)
    assert Enclosed(radius=radius).judge(value, enclosure).outcome is outcome


@pytest.mark.parametrize("kind", [mpf, Fraction])
def test_enclosed_does_not_round_what_is_outside_to_inside(kind: Any) -> None:
    with workdps(60):
        beyond = kind(1) + kind(1) / kind(10**30)
    assert float(beyond) == 1.0
    proved = Enclosure(0.0, 1.0, "a box", 1)
    found = Enclosed(radius=1.0).judge(beyond, proved)
    assert (found.outcome, found.strain) == (REFUTED, math.inf)
    assert Enclosed(radius=1.0, rounding=2e-30).judge(beyond, proved).outcome is HOLDS


def test_mean_equals_on_both_sides_of_its_edges() -> None:
    replicates, stderr = 10, 0.1
    t = stats.t(df=replicates - 1)
    chance = float(t.isf(5e-4)) * stderr  # two-sided, false_fail 1e-3
    power = float(t.isf(1e-2)) * stderr
    fair = MeanEquals(
        discrepancy=(chance + power) * 1.001, false_fail=1e-3, false_pass=1e-2
    )
    estimate = Estimate(1.0, stderr, replicates)
    held = fair.judge(1.0 + 0.999 * chance, estimate)
    assert held.outcome is HOLDS
    # Both are the same sum of two quantiles; it rounds a few times.
    assert held.resolves == pytest.approx(chance + power, rel=1e-12)
    assert fair.judge(1.0 + 1.001 * chance, estimate).outcome is REFUTED
    assert fair.judge(1.0 - 1.001 * chance, estimate).outcome is REFUTED
    weak = MeanEquals(
        discrepancy=(chance + power) * 0.999, false_fail=1e-3, false_pass=1e-2
    )
    assert weak.judge(1.0, estimate).outcome is UNDECIDED


def test_mean_equals_divides_its_alarm_over_the_entries() -> None:
    # A gap that refutes a single mean is within chance among a thousand of them.
    t = stats.t(df=9)
    gap = float(t.isf(5e-4)) * 1.01
    test = MeanEquals(discrepancy=1e9, false_fail=1e-3)
    assert test.judge(0.0, Estimate(gap, 1.0, 10)).outcome is REFUTED
    many = Estimate(np.full(1000, gap), np.ones(1000), 10)
    assert test.judge(0.0, many).outcome is HOLDS


def test_mean_equals_allows_for_rounding_without_spread() -> None:
    exact = Estimate(1.0, 0.0, 5)
    test = MeanEquals(discrepancy=0.1, rounding=2.0**-20)
    assert test.judge(1.0 + 2.0**-20, exact).outcome is HOLDS
    assert test.judge(1.0 + 2.0**-19, exact).outcome is REFUTED


def test_mean_at_most_is_one_sided() -> None:
    t = stats.t(df=9)
    chance = float(t.isf(1e-3)) * 0.1
    power = float(t.isf(1e-2)) * 0.1
    test = MeanAtMost(discrepancy=chance + power, false_fail=1e-3, false_pass=1e-2)
    assert test.judge(1.0, Estimate(-5.0, 0.1, 10)).outcome is HOLDS
    assert test.judge(1.0, Estimate(1.0 + 1.001 * chance, 0.1, 10)).outcome is REFUTED
    assert test.judge(1.0, Estimate(1.0 + 0.5 * chance, 0.1, 10)).outcome is UNDECIDED


@pytest.mark.parametrize("mean", [0.8, 0.99, 0.999, 1.0, 7.0])
def test_mean_at_least_is_the_mirror_of_mean_at_most(mean: float) -> None:
    given = {"discrepancy": 0.5, "false_fail": 1e-3, "rounding": 1e-3}
    bounds, stderr = np.array([1.0, 0.5]), np.array([0.01, 0.002])
    means = np.array([mean, 0.6])
    found = MeanAtLeast(**given).judge(bounds, Estimate(means, stderr, 10))
    mirror = MeanAtMost(**given).judge(-bounds, Estimate(-means, stderr, 10))
    assert found == mirror
    assert found.outcome is (REFUTED if mean < 0.9 else HOLDS)
    # As of other lower bounds, the gap is how far the bound is above the mean.
    assert (found.gap > 0.0) == (found.worst == 0 and mean < 1.0)


def test_estimate_of_replicates() -> None:
    estimate = Estimate.of([[1.0, 0.0], [3.0, 0.0]])
    assert estimate.mean.tolist() == [2.0, 0.0]
    assert estimate.stderr.tolist() == [1.0, 0.0]
    with pytest.raises(ValueError, match="at least two replicates"):
        Estimate.of([1.0])


def _hidden(values: Any) -> Any:
    """Return numbers of which the last is masked."""
    return np.ma.array(values, mask=[False] * (len(values) - 1) + [True])


# --- shares of trials -----------------------------------------------------------------


@pytest.mark.parametrize(
    "comparison", [MeanEquals(9.0), MeanAtMost(9.0), MeanAtLeast(9.0)]
)
def test_nothing_in_the_place_of_a_number_is_no_evidence(comparison: Any) -> None:
    with pytest.raises(ValueError, match="finite"):
        comparison.judge(None, Estimate(1.0, 0.1, 10))
    with pytest.raises(ValueError, match="finite"):
        RarelyAbove(0.05).judge(np.ones(2000), [None] * 2000)


@pytest.mark.parametrize(
    ("comparison", "predicted", "measured"),
    [
        (RarelyAbove(0.05), 1.0, _hidden([*np.zeros(50), 9.0])),
        (MeanEquals(9.0), 1.0, Estimate(_hidden([1.0, 9.0]), np.zeros(2), 10)),
        (MeanEquals(9.0), 1.0, Estimate(np.ones(2), _hidden([0.0, 9.0]), 10)),
        (EffectWithin(), (0.0, None), Contrast(_hidden([1.0, 1.1, 9.0]), np.zeros(3))),
    ],
)
def test_what_a_mask_hides_is_no_evidence(
    comparison: Comparison, predicted: Any, measured: Any
) -> None:
    with pytest.raises(ValueError, match="finite"):
        comparison.judge(predicted, measured)


@pytest.mark.parametrize("predicted", [[1.0, 2.0], [[1.0], [1.0]], [1.0]])
def test_means_are_compared_entry_by_entry(predicted: Any) -> None:
    """A row for a table would be compared with every row."""
    table = Estimate(np.array([[1.0, 2.0], [1.0, 2.0]]), np.zeros((2, 2)), 10)
    for comparison in (MeanEquals(9.0), MeanAtMost(9.0), MeanAtLeast(9.0)):
        with pytest.raises(ValueError, match=r"mean's shape \(2, 2\)"):
            comparison.judge(predicted, table)
    assert MeanAtMost(9.0).judge(3.0, table).outcome is HOLDS


def test_trials_that_could_all_exceed_a_bound_decide_nothing() -> None:
    # All five by chance: 3e-7, which is more than 2e-9.
    few = RarelyAbove(0.05).judge(np.ones(5), np.zeros(5))
    assert few.outcome is Outcome.UNDECIDED
    assert few.resolves == 1.0


def test_a_trial_counts_once_however_many_bounds_it_is_given() -> None:
    with pytest.raises(ValueError, match="one bound for all trials, or one each"):
        RarelyAbove(probability=0.05).judge(np.ones((50, 1)), np.zeros(50))


def test_bounds_may_be_exceeded_as_often_as_stated() -> None:
    compare = RarelyAbove(0.05, false_fail=1e-6)
    bounds = np.ones(200)
    few, many = np.zeros(200), np.zeros(200)
    few[:27], many[:28] = 2.0, 2.0  # the binomial quantile is 27
    assert compare.judge(bounds, few).outcome is Outcome.HOLDS
    verdict = compare.judge(bounds, many)
    assert verdict.outcome is Outcome.REFUTED
    assert (verdict.gap, verdict.resolves) == (28 / 200, 27 / 200)


def test_slack_is_told_of_the_distance_to_the_origin() -> None:
    assert AtMost().judge(1.5, 1.1).slack == pytest.approx(1.5 / 1.1)
    assert AtMost(origin=1.0).judge(1.5, 1.1).slack == pytest.approx(5.0)
    assert AtLeast(origin=1.0).judge(0.5, 0.75).slack == pytest.approx(2.0)


def test_what_is_refuted_has_no_slack() -> None:
    assert AtMost().judge([1.0, 1.0], [0.5, 2.0]).slack is None
    enclosure = Enclosure(2.0, 3.0, "x", 1)
    assert CertifiedAtMost().judge(1.0, enclosure).slack is None
    assert CertifiedAtLeast().judge(4.0, enclosure).slack is None
    assert CertifiedAtMost().judge(4.0, enclosure).slack == 2.0


def test_a_mean_below_a_bound_has_slack_too() -> None:
    estimate = Estimate(np.array([1.0, 3.0]), np.array([1e-3, 1e-3]), 10)
    verdict = MeanAtMost(discrepancy=1.0).judge([4.0, 6.0], estimate)
    assert (verdict.outcome, verdict.slack) == (HOLDS, 2.0)
    assert MeanEquals(discrepancy=1.0).judge([1.0, 3.0], estimate).slack is None


# --- two arms --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("treated", "limits", "outcome"),
    [
        ((1.2, 1.3, 1.25, 1.22), (0.1, None), Outcome.HOLDS),
        ((1.2, 1.3, 1.25, 1.22), (0.5, None), Outcome.REFUTED),
        ((1.2, 1.3, 1.25, 1.22), (None, 0.0), Outcome.REFUTED),
        ((1.0, 1.9, 0.6, 1.5), (0.1, None), Outcome.UNDECIDED),
        ((1.01, 1.02, 0.98, 0.99), (-0.1, 0.1), Outcome.HOLDS),
        ((1.2, 1.3, 1.25, 1.22), (-0.1, 0.1), Outcome.REFUTED),
        # Arms without any spread: there is no interval, and seven of a side decide.
        ((1.5,) * 6, (0.1, None), Outcome.UNDECIDED),
        ((1.5,) * 7, (0.1, None), Outcome.HOLDS),
        ((1.05,) * 7, (0.1, None), Outcome.REFUTED),
    ],
)
def test_an_effect_lies_within_limits(
    treated: Any, limits: Any, outcome: Outcome
) -> None:
    same = len(set(treated)) == 1
    baseline = (1.0,) * len(treated) if same else (1.0, 1.03, 0.98, 0.99)
    verdict = EffectWithin().judge(limits, Contrast(treated, baseline))
    assert verdict.outcome is outcome


@pytest.mark.parametrize("paired", [True, False])
def test_networks_that_all_agree_decide_by_their_number(paired: bool) -> None:
    """Ten shares of 1 are no interval of width 0, and on a limit they are of no side."""
    compare = EffectWithin(paired=paired)
    full, none = np.ones(10), np.zeros(10)
    assert compare.judge((1.0, None), Contrast(full, none)).outcome is Outcome.UNDECIDED
    assert compare.judge((0.5, None), Contrast(full, none)).outcome is Outcome.HOLDS
    few = Contrast(full[:5], none[:5])
    assert compare.judge((0.5, None), few).outcome is Outcome.UNDECIDED
    # Rounding is no spread.
    nearly = full + 1e-16 * np.arange(10) * (-1.0) ** np.arange(10)
    assert compare.judge((1.5, None), Contrast(nearly, none)).outcome is Outcome.REFUTED


@pytest.mark.parametrize("limits", [(0.3, None), (None, 0.3)])
@pytest.mark.parametrize("arms", [(0.8, 0.5), (0.4, 0.1)])
def test_a_limit_that_rounding_alone_parts_from_is_met(limits: Any, arms: Any) -> None:
    treated, baseline = (np.full(8, value) for value in arms)
    verdict = EffectWithin().judge(limits, Contrast(treated, baseline))
    assert verdict.gap != 0.0
    assert verdict.outcome is Outcome.UNDECIDED


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("shift", [-50.0, 50.0, 1e6])
@pytest.mark.parametrize("count", [8, 20])
def test_a_network_far_off_takes_a_verdict_and_gives_none(
    paired: bool, shift: float, count: int
) -> None:
    """Its t is at most about one, whichever arm it is of and wherever it lies."""
    rng = np.random.default_rng(5)
    outlier = np.append(np.zeros(count - 1), shift)
    treated, baseline = rng.standard_normal((2, count))
    compare = EffectWithin(paired=paired)
    for effect, limits, alone in (
        (12.0, (9.0, None), HOLDS),
        (0.0, (-3.0, 3.0), HOLDS),
        (12.0, (None, 9.0), REFUTED),
    ):
        arms = treated + effect, baseline
        assert compare.judge(limits, Contrast(*arms)).outcome is alone
        for moved in (outlier, 0.0), (0.0, outlier):
            off = (arm + more for arm, more in zip(arms, moved, strict=True))
            assert compare.judge(limits, Contrast(*off)).outcome is UNDECIDED


@pytest.mark.parametrize("test", [MeanEquals(2.0, 1e-2), MeanAtMost(2.0, 1e-2)])
def test_a_mean_with_a_replicate_far_off_is_undecided(test: Comparison) -> None:
    values = np.random.default_rng(5).standard_normal(40)
    assert test.judge(0.0, Estimate.of(values)).outcome is HOLDS
    for shift in (-200.0, 200.0):
        off = Estimate.of(np.append(values, shift))
        assert test.judge(0.0, off).outcome is UNDECIDED


def test_welchs_interval_is_scipys() -> None:
    rng = np.random.default_rng(3)
    treated, baseline = rng.normal(1.0, 2.0, 7), rng.normal(0.0, 0.3, 5)
    found = EffectWithin(level=0.02).judge((0.0, None), Contrast(treated, baseline))
    test = stats.ttest_ind(treated, baseline, equal_var=False)
    interval = test.confidence_interval(0.96)
    assert found.resolves == pytest.approx((interval.high - interval.low) / 2.0)
    assert found.gap == pytest.approx(baseline.mean() - treated.mean())


def test_pairs_are_told_by_their_differences() -> None:
    before, after = np.array([1.0, 5.0, 9.0, 13.0]), np.array([0.9, 4.85, 8.9, 12.88])
    arms = Contrast(before, after)
    assert EffectWithin().judge((0.05, None), arms).outcome is Outcome.UNDECIDED
    paired = EffectWithin(paired=True).judge((0.05, None), arms)
    assert paired.outcome is Outcome.HOLDS
    interval = stats.ttest_1samp(before - after, 0.0).confidence_interval(0.98)
    assert paired.resolves == pytest.approx((interval.high - interval.low) / 2.0)
    with pytest.raises(ValueError, match="must be as many"):
        EffectWithin(paired=True).judge((0.0, None), Contrast(before, after[1:]))


def test_two_arms_of_one_law_are_decided_no_more_often_than_the_level() -> None:
    rng = np.random.default_rng(5)
    arms = (
        rng.normal(size=(1500, 2, 6)) ** 3
    )  # heavier tails than Student's t allows for
    test = EffectWithin(level=0.05)
    outcomes = [test.judge((0.0, None), Contrast(*pair)).outcome for pair in arms]
    for outcome in (Outcome.HOLDS, Outcome.REFUTED):
        # Beyond 0.05 by chance once in a million: 5 standard errors.
        assert outcomes.count(outcome) / 1500 < 0.05 + 5.0 * (0.05 * 0.95 / 1500) ** 0.5


@pytest.mark.parametrize(
    ("treated", "limits"),
    [
        ((1.0,), (0.1, None)),
        ((1.0, np.nan), (0.1, None)),
        ((1.0, 2.0), (None, None)),
        # Three images of two networks are no six networks.
        (np.ones((2, 3)), (0.1, None)),
        ((1.0, 2.0), (0.2, 0.1)),
    ],
)
def test_what_is_no_effect_or_limit_is_refused(treated: Any, limits: Any) -> None:
    with pytest.raises(ValueError, match=r"EffectWithin|finite"):
        EffectWithin().judge(limits, Contrast(treated, (1.0, 2.0)))


def test_an_enclosure_has_its_ends_in_order_and_a_proof() -> None:
    with pytest.raises(ValueError, match="`lower` must be at most `upper`"):
        Enclosure(1.0, 0.5, "x in [0, 1]", 3)
    with pytest.raises(ValueError, match="`boxes` must be at least 1"):
        Enclosure(0.5, 1.0, "x in [0, 1]", 0)


def test_the_entry_that_is_known_least_decides_what_a_mean_resolves() -> None:
    test = MeanEquals(discrepancy=0.5)
    known = test.judge([1.0, 1.0], Estimate([1.0, 1.0], [0.01, 0.01], 50))
    assert known.outcome is HOLDS
    for stderr in ([0.01, 1.0], [1.0, 0.01]):
        verdict = test.judge([1.0, 1.0], Estimate([1.0, 1.0], stderr, 50))
        assert verdict.outcome is UNDECIDED


def test_one_arm_without_spread_is_no_agreement_of_all() -> None:
    constant, spread = (0.0,) * 8, (0.0, 2.0) * 4
    for treated, baseline in ((constant, spread), (spread, constant)):
        test = EffectWithin()
        # By an interval of some 1.1 on either side of the difference of 1.
        verdict = test.judge((-2.0, 2.0), Contrast(treated, baseline))
        assert verdict.outcome is UNDECIDED


def test_one_ball_among_exact_numbers_is_noticed() -> None:
    ball = arb(1, 1e-3)
    for values in ([1.0, ball], np.array([1.0, ball], dtype=object)):
        with pytest.raises(ValueError, match="must be a number, got a ball"):
            AgreesTo(1e-6).judge([1.0, 1.0], values)


def test_a_mean_is_judged_without_half_a_second_of_imports() -> None:
    program = (
        "import sys\n"
        "from verify.compare import *\n"
        "EffectWithin().judge((0.0, None), Contrast([1.0, 2.0], [0.0, 0.5]))\n"
        "MeanEquals(1.0).judge(0.0, Estimate.of([1.0, 2.0]))\n"
        "sys.exit('scipy.stats' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
