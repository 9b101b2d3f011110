"""What comparisons report beside their verdict: the gap, what is resolved, the strain."""

import math

import numpy as np
import pytest
from scipy import stats

from verify.compare import (
    AtLeast,
    AtMost,
    CertifiedAtLeast,
    CertifiedAtMost,
    Contrast,
    EffectWithin,
    Enclosed,
    Enclosure,
    Estimate,
    Identical,
    MeanEquals,
    Outcome,
    RarelyAbove,
)


def test_a_certified_bound_reports_its_distance_from_the_near_end():
    proved = Enclosure(2.0, 2.5, "a box", 1)
    found = CertifiedAtLeast().judge(1.5, proved)
    assert (found.gap, found.resolves, found.strain) == (-0.5, 1.0, 0.75)
    assert found.slack == 2.5 / 1.5
    inside = CertifiedAtLeast().judge(2.25, proved)
    assert inside.outcome is Outcome.UNDECIDED
    assert (inside.gap, inside.resolves, inside.strain) == (0.25, 0.25, 1.0 + 1.0 / 9.0)
    found = CertifiedAtMost().judge(4.0, proved)
    assert (found.gap, found.resolves, found.strain) == (-1.5, 2.0, 0.625)
    assert found.slack == 2.0
    inside = CertifiedAtMost().judge(2.25, proved)
    assert inside.outcome is Outcome.UNDECIDED
    assert (inside.gap, inside.resolves, inside.strain) == (0.25, 0.25, 1.1)
    for test, attained in ((CertifiedAtLeast(), 2.0), (CertifiedAtMost(), 2.5)):
        assert test.judge(attained, proved).outcome is Outcome.HOLDS
    assert CertifiedAtLeast().judge(2.6, proved).outcome is Outcome.REFUTED
    assert CertifiedAtMost().judge(1.9, proved).outcome is Outcome.REFUTED


def test_an_enclosure_reports_its_radius_and_how_far_outside_a_number_is():
    proved = Enclosure(2.0, 2.5, "a box", 1)
    for value, gap in ((1.5, 0.5), (2.25, 0.0), (3.5, 1.0)):
        found = Enclosed(radius=0.25, rounding=0.5).judge(value, proved)
        assert (found.gap, found.resolves, found.strain) == (gap, 1.0, 2.0 * gap)
    # At the radius, and at the rounding, it still holds.
    assert Enclosed(radius=0.25).judge(2.25, proved).outcome is Outcome.HOLDS
    assert Enclosed(radius=0.24).judge(2.25, proved).outcome is Outcome.UNDECIDED
    at_edge = Enclosed(radius=0.25, rounding=0.5).judge(1.5, proved)
    assert at_edge.outcome is Outcome.HOLDS
    assert Enclosed(radius=1.0).judge(1.5, proved).strain == math.inf
    assert Enclosed(radius=1.0).judge(2.25, proved).strain == 0.0


def test_exact_equality_reports_no_gap_or_an_infinite_one():
    assert Identical().judge(2, 2).gap == Identical().judge(2, 2).strain == 0.0
    assert Identical().judge(2, 3).gap == Identical().judge(2, 3).strain == math.inf


@pytest.mark.parametrize(
    ("predicted", "measured", "worst"),
    [
        ([[True, False], [False, 0]], [[True, True], [False, 1]], 1),
        ((1, ("a", (2, 3))), (1, ("a", (2, 4))), 3),
        ([1, 2], [1, 2], 0),
        ([1, 2], [1, 2, 3], 0),
        (["cat"], ["dog"], 0),
    ],
)
def test_exact_equality_says_which_entry_is_another(predicted, measured, worst):
    assert Identical().judge(predicted, measured).worst == worst


@pytest.mark.parametrize(
    ("test", "words"),
    [
        (AtMost(), "exceeds the bound"),
        (AtMost(rounding=0.02), "exceeds the bound by more than an allowance of 0.02"),
        (
            AtLeast(rounding=0.02, relative=1e-9),
            "is below the bound by more than an allowance of 0.02 plus 1e−09 of it",
        ),
    ],
)
def test_what_is_allowed_is_not_said_to_be_rounding(test, words):
    """It may be a truncation, or a finite width's bias."""
    assert test.criterion().endswith(words)


def test_what_is_allowed_besides_chance_is_said():
    said = MeanEquals(discrepancy=0.3, rounding=0.1).criterion()
    assert "by more than an allowance of 0.1 plus what chance allows" in said
    assert "allowance" not in MeanEquals(discrepancy=0.3).criterion()


def test_a_share_of_trials_is_reported():
    values = np.array([1.0] * 5 + [0.0] * 95)
    found = RarelyAbove(probability=0.1).judge(0.0, values)
    allowed = int(stats.binom.ppf(1.0 - 2e-9, 100, 0.1))
    assert (found.gap, found.resolves) == (0.05, allowed / 100)
    assert found.strain == 5 / (allowed + 0.5)


def test_a_mean_reports_how_near_to_its_edge_it_is():
    # It fails at 0.1, and would have shown an error of 0.3 beside.
    found = MeanEquals(discrepancy=0.3, rounding=0.1).judge(1.0, Estimate(1.05, 0.0, 9))
    assert found.outcome is Outcome.HOLDS
    assert found.strain == pytest.approx(1.0 - 0.05 / 0.4, rel=1e-12)


def test_a_negative_bound_is_a_scale_by_its_size():
    found = AtLeast().judge(-4.0, -1.0)
    assert (found.gap, found.strain) == (-3.0, 0.25)


def test_a_bound_that_says_nothing_is_not_the_nearest_where_it_is_attained():
    found = AtMost(trivial=1.0).judge([1.0, 0.5], [1.0, 0.25])
    assert (found.outcome, found.worst, found.gap) == (Outcome.HOLDS, 1, -0.25)


def test_what_decides_nothing_is_not_near_to_refutation():
    found = AtMost(trivial=1.0).judge([1.0, 2.0], [0.5, 0.5])
    assert (found.outcome, found.strain) == (Outcome.VACUOUS, 0.0)


def test_as_many_replicates_as_the_level_asks_for_decide():
    alike = Contrast([1.0, 1.0], [0.0, 0.0])
    for level, outcome in ((0.25, Outcome.HOLDS), (0.24, Outcome.UNDECIDED)):
        assert EffectWithin(level).judge((0.5, None), alike).outcome is outcome


@pytest.mark.parametrize("least", [0.1, 0.09])
def test_what_rounding_makes_of_large_numbers_is_no_difference(least: float):
    # Differences of 0.1 and, next to a million, 0.1 to a dozen digits: of one size.
    pairs = Contrast([0.1, 1e6 + 0.1], [0.0, 1e6])
    found = EffectWithin(level=0.25, paired=True).judge((least, None), pairs)
    assert found.resolves == 0.0
    outcome = Outcome.UNDECIDED if least == 0.1 else Outcome.HOLDS
    assert found.outcome is outcome
