"""What comparisons report beside their verdict: the gap, what is resolved, the strain."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from verify.compare import (
    CertifiedAtLeast,
    CertifiedAtMost,
    Enclosed,
    Enclosure,
    Identical,
    Outcome,
    RankTrend,
    RarelyAbove,
    SignedRankTest,
    SignTest,
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


def test_a_trend_reports_its_rank_correlation():
    rng = np.random.default_rng(5)
    rows = [level + 2.0 * rng.standard_normal(10) for level in range(4)]
    levels = np.repeat(np.arange(4), 10)
    known = float(stats.spearmanr(levels, np.concatenate(rows)).statistic)
    for sign in (1.0, -1.0):
        found = RankTrend().judge(sign, rows)
        assert math.isclose(found.gap, -sign * known, rel_tol=1e-12)
        # Of 40 values the correlation by chance is nearly normal: 3.09 deviations.
        assert abs(found.resolves - 3.09 / math.sqrt(39.0)) < 0.04
        strain = (found.resolves - sign * known) / (2.0 * found.resolves)
        assert math.isclose(found.strain, strain, rel_tol=1e-12)
    # Three values in order are one of six orders: chance does as well.
    assert RankTrend().judge(1, [[1.0], [2.0], [3.0]]).outcome is Outcome.UNDECIDED


@pytest.mark.parametrize(("up", "down"), [(9, 1), (15, 5), (20, 0), (3, 17)])
def test_a_sign_test_reports_shares(up, down):
    count, changes = up + down, np.array([1.0] * up + [-2.0] * down + [0.0] * 3)
    tails = [
        Fraction(sum(math.comb(count, j) for j in range(k, count + 1)), 2**count)
        for k in range(count + 2)
    ]
    needed = next(k for k, tail in enumerate(tails) if tail <= Fraction(1, 100))
    found = SignTest(level=0.01).judge(1, changes)
    assert (found.gap, found.resolves) == (-up / count, needed / count)
    assert found.strain == needed / count - up / count
    sides = (Outcome.HOLDS, up), (Outcome.REFUTED, down)
    wanted = [outcome for outcome, n in sides if n >= needed] or [Outcome.UNDECIDED]
    assert [found.outcome] == wanted
    assert SignTest(level=0.01).judge(-1, changes).gap == -down / count


def test_a_signed_rank_test_reports_its_correlation():
    ranks = np.arange(1.0, 9.0)
    limit = float(stats.norm.isf(0.01)) * math.sqrt(17.0 / (1.5 * 8.0 * 9.0))
    for flipped, along in (
        (0, 1.0),
        (3, 1.0 - 2.0 * 3.0 / 36.0),
        (8, 1.0 - 16.0 / 36.0),
    ):
        changes = np.where(ranks == flipped, -ranks, ranks)
        found = SignedRankTest(level=0.01).judge(1, changes)
        assert math.isclose(found.gap, -along, rel_tol=1e-14)
        assert math.isclose(found.resolves, limit, rel_tol=1e-14)
        assert math.isclose(
            found.strain, (limit - along) / (2.0 * limit), rel_tol=1e-13
        )
    test = SignedRankTest(level=0.01)
    # All eight one way: 1 of 256.
    assert test.judge(1, ranks).outcome is Outcome.HOLDS
    assert test.judge(-1, ranks).outcome is Outcome.REFUTED
    assert test.judge(-1, -ranks).outcome is Outcome.HOLDS
    assert test.judge(1, ranks[:3]).outcome is Outcome.UNDECIDED
    at_level = SignedRankTest(level=1.0 / 256.0)
    assert at_level.judge(1, ranks).outcome is Outcome.UNDECIDED


def test_a_share_of_trials_is_reported():
    values = np.array([1.0] * 5 + [0.0] * 95)
    found = RarelyAbove(probability=0.1).judge(0.0, values)
    allowed = int(stats.binom.ppf(1.0 - 2e-9, 100, 0.1))
    assert (found.gap, found.resolves) == (0.05, allowed / 100)
    assert found.strain == 5 / (allowed + 0.5)
