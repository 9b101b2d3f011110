"""Comparisons of means over replicates, and of trends along levels."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from verify.compare.outcomes import (
    Array,
    Estimate,
    Outcome,
    Verdict,
    check_finite,
    slack_of,
    small,
)


@dataclass(frozen=True)
class MeanEquals:
    """A mean equals the prediction, and a `discrepancy` would have been seen.

    `false_fail` is the probability that a true prediction is refuted by chance, split
    evenly over the entries of an array; `false_pass` the probability that an error as
    large as the resolving power goes unnoticed. `rounding` bounds the deterministic
    error (float64, truncation, a finite-width bias), absolute. Student's t is used, so
    replicates must be independent and their mean near normal.
    """

    discrepancy: float
    false_fail: float = 2e-9
    false_pass: float = 1e-3
    rounding: float = 0.0

    def criterion(self) -> str:
        """Say in words which measurement refutes a prediction."""
        return f"the mean differs from the prediction by more than {_chance(self)}"

    def judge(self, predicted: Any, measured: Estimate) -> Verdict:
        """Judge entry by entry; the verdict is that of the worst entry."""
        return _mean_test(predicted, measured, self, two_sided=True)


@dataclass(frozen=True)
class MeanAtMost:
    """A mean is at most the prediction; an excess of `discrepancy` would be seen.

    One-sided form of `MeanEquals`: refuted when the mean exceeds the bound by more than
    chance allows; holds when the upper confidence limit is below bound + `discrepancy`.
    """

    discrepancy: float
    false_fail: float = 2e-9
    false_pass: float = 1e-3
    rounding: float = 0.0

    def criterion(self) -> str:
        """Say in words which measurement refutes a prediction."""
        return f"the mean exceeds the bound by more than {_chance(self)}"

    def judge(self, predicted: Any, measured: Estimate) -> Verdict:
        """Judge entry by entry; the verdict is that of the worst entry."""
        return _mean_test(predicted, measured, self, two_sided=False)


@dataclass(frozen=True)
class RankTrend:
    """A quantity rises (+1) or falls (-1) along a ladder of levels.

    The measurement holds replicates by level, levels in order: seeds by depth, say,
    not necessarily as many at each. Spearman's correlation of value and level is tried
    against `shuffles` random permutations of all values; at a one-sided p-value below
    `level` the direction is settled, and the prediction holds or is refuted. `resolves`
    is the least correlation that would have settled it. Values that are not finite are
    refused.
    """

    level: float = 1e-3
    shuffles: int = 20_000

    def criterion(self) -> str:
        """Say in words which measurement refutes a prediction."""
        return (
            "the values move the other way along the levels, which chance does with"
            f" probability below {small(self.level)}"
        )

    def judge(self, predicted: Any, measured: Any) -> Verdict:
        """Judge the sign `predicted` of the trend of `measured`."""
        check_finite(predicted=predicted)
        rows = [np.ravel(np.asarray(row, dtype=np.float64)) for row in measured]
        values = np.concatenate(rows)
        if len(rows) < 3 or not np.isfinite(values).all():
            raise ValueError(
                "RankTrend: `measured` must hold finite replicates of at least three"
                f" levels, got {len(rows)} levels,"
                f" {np.count_nonzero(~np.isfinite(values))} values not finite"
            )
        levels = np.repeat(np.arange(len(rows)), [row.size for row in rows])
        found, chance = self._correlations(levels, values)
        sign = math.copysign(1.0, float(predicted))
        threshold = float(np.quantile(chance, 1.0 - self.level, method="higher"))
        along = sign * found
        outcome = Outcome.UNDECIDED
        if abs(along) > threshold:
            outcome = Outcome.HOLDS if along > 0.0 else Outcome.REFUTED
        strain = (threshold - along) / (2.0 * threshold) if threshold else 0.5
        return Verdict(outcome, -along, threshold, "rank correlation", strain=strain)

    def _correlations(
        self, levels: npt.NDArray[np.int64], values: Array
    ) -> tuple[float, Array]:
        """Spearman's correlation, and those of shuffled values."""
        from scipy.stats import rankdata

        def standard(x: npt.NDArray[Any]) -> Array:
            r = np.asarray(rankdata(x), dtype=np.float64)
            return (r - r.mean()) / (r.std() or 1.0)

        ladder, ranks = standard(levels), standard(values)
        # Fixed: the same values are always judged alike.
        rng = np.random.default_rng(7)
        shuffled = rng.permuted(np.tile(ranks, (self.shuffles, 1)), axis=1)
        return float(ladder @ ranks) / ranks.size, shuffled @ ladder / ranks.size


@dataclass(frozen=True)
class SignTest:
    """Replicates rise (+1) or fall (-1) together, more often than a coin would.

    The measurement holds one signed change a replicate; zeros count for neither side.
    The prediction holds when its sign has a one-sided p-value below `level`, and is
    refuted when the other sign has. `resolves` is the least share of replicates that
    would have settled it.
    """

    level: float = 1e-2

    def criterion(self) -> str:
        """Say in words which measurement refutes a prediction."""
        return (
            "the changes go the other way in more replicates than a fair coin's would"
            f" with probability {small(self.level)}"
        )

    def judge(self, predicted: Any, measured: Any) -> Verdict:
        """Judge the sign `predicted` of the changes `measured`."""
        from scipy.stats import binom

        changes = _changes_along(predicted, measured)
        count, along = changes.size, int(np.count_nonzero(changes > 0.0))
        needed = int(binom.isf(self.level, count, 0.5)) + 1 if count else 1
        outcome = Outcome.UNDECIDED
        if along >= needed <= count:
            outcome = Outcome.HOLDS
        elif count - along >= needed <= count:
            outcome = Outcome.REFUTED
        share = along / count if count else 0.5
        limit = needed / count if count else 1.0
        return Verdict(
            outcome, -share, limit, "share of replicates", strain=limit - share
        )


@dataclass(frozen=True)
class SignedRankTest:
    """Changes of pairs rise (+1) or fall (-1) on the whole: Wilcoxon's signed ranks.

    As `SignTest`, but sizes count too, by their ranks, so that fewer pairs decide. It
    takes changes for symmetric about their middle. The gap is the rank-biserial
    correlation, the sum of ranks along less that against over both, and `resolves` its
    least value that would have settled it, in the normal limit.
    """

    level: float = 1e-2

    def criterion(self) -> str:
        """Say in words which measurement refutes a prediction."""
        return (
            "the ranks of the changes go the other way by more than chance does with"
            f" probability {small(self.level)}"
        )

    def judge(self, predicted: Any, measured: Any) -> Verdict:
        """Judge the sign `predicted` of the changes `measured`."""
        from scipy.stats import norm, rankdata, wilcoxon

        changes = _changes_along(predicted, measured)
        count = changes.size
        if not count:
            return Verdict(Outcome.UNDECIDED, 0.0, 1.0, "rank-biserial correlation")
        above, below = (
            float(wilcoxon(changes, alternative=way).pvalue)
            for way in ("greater", "less")
        )
        outcome = Outcome.UNDECIDED
        if min(above, below) < self.level:
            outcome = Outcome.HOLDS if above < below else Outcome.REFUTED
        ranks = np.asarray(rankdata(np.abs(changes)), dtype=np.float64)
        along = float(np.sign(changes) @ ranks) / float(ranks.sum())
        spread = math.sqrt((2 * count + 1) / (1.5 * count * (count + 1)))
        limit = min(1.0, float(norm.isf(self.level)) * spread)
        return Verdict(
            outcome,
            -along,
            limit,
            "rank-biserial correlation",
            strain=(limit - along) / (2.0 * limit),
        )


def _changes_along(predicted: Any, measured: Any) -> Array:
    """Return the changes other than 0, positive where they go as predicted."""
    check_finite(predicted=predicted, measured=measured)
    changes = np.ravel(np.asarray(measured, dtype=np.float64))
    return math.copysign(1.0, float(predicted)) * changes[changes != 0.0]


@dataclass(frozen=True)
class RarelyAbove:
    """Values exceed their bounds in at most a share `probability` of the trials.

    One entry a trial, trials independent. Refuted when more exceed than the binomial
    law with that probability allows but for `false_fail`; `resolves` is that share, and
    undecided where it is all of them: trials so few could refute nothing.
    """

    probability: float
    false_fail: float = 2e-9

    def criterion(self) -> str:
        """Say in words which measurement refutes a prediction."""
        return (
            f"more than a share {small(self.probability)} of the trials exceed the bound,"
            f" beyond what chance allows with probability {small(self.false_fail)}"
        )

    def judge(self, predicted: Any, measured: Any) -> Verdict:
        """Count trials in which `measured` exceeds the bound `predicted`."""
        from scipy.stats import binom

        bounds, values = np.broadcast_arrays(
            np.asarray(predicted, dtype=np.float64), np.asarray(measured, np.float64)
        )
        check_finite(predicted=bounds, measured=values)
        allowed = int(binom.ppf(1.0 - self.false_fail, values.size, self.probability))
        above = int(np.count_nonzero(values > bounds))
        outcome = Outcome.HOLDS if above <= allowed else Outcome.REFUTED
        if allowed == values.size:
            outcome = Outcome.UNDECIDED
        share, limit = above / values.size, allowed / values.size
        return Verdict(
            outcome, share, limit, "share of trials", strain=above / (allowed + 0.5)
        )


SlopeEquals = MeanEquals
"""A fitted slope is an `Estimate` over seeds; its `discrepancy` is the half-width."""


def _chance(test: MeanEquals | MeanAtMost) -> str:
    rounding = f"{small(test.rounding)} of rounding plus " if test.rounding else ""
    return (
        f"{rounding}what chance allows with probability {small(test.false_fail)};"
        f" undecided unless an error of {small(test.discrepancy)} would be seen"
    )


def _mean_test(
    predicted: Any,
    measured: Estimate,
    test: MeanEquals | MeanAtMost,
    *,
    two_sided: bool,
) -> Verdict:
    from scipy import stats

    mean = np.atleast_1d(np.asarray(measured.mean, dtype=np.float64)).ravel()
    stderr = np.atleast_1d(np.asarray(measured.stderr, dtype=np.float64)).ravel()
    bound = np.broadcast_to(
        np.asarray(predicted, dtype=np.float64), np.shape(measured.mean)
    ).ravel()
    check_finite(predicted=bound, measured=[mean, stderr])
    t = stats.t(df=measured.replicates - 1)
    tail = test.false_fail / mean.size / (2.0 if two_sided else 1.0)
    fails_at = float(t.isf(tail)) * stderr + test.rounding
    gap = mean - bound
    distance = np.abs(gap) if two_sided else gap
    resolves = fails_at + float(t.isf(test.false_pass)) * stderr
    excess = distance - fails_at
    worst = int(np.argmax(excess))
    margin = float(fails_at[worst] + test.discrepancy)
    strain = 1.0 + float(excess[worst]) / margin
    if excess[worst] > 0.0:
        return Verdict(
            Outcome.REFUTED,
            float(gap[worst]),
            float(resolves[worst]),
            "absolute",
            worst,
            strain,
        )
    if two_sided:
        weakest = int(np.argmax(resolves))
        resolved = resolves[weakest] <= test.discrepancy
    else:
        weakest = int(np.argmax(gap + resolves))
        resolved = gap[weakest] + resolves[weakest] <= test.discrepancy
    outcome = Outcome.HOLDS if resolved else Outcome.UNDECIDED
    slacks = () if two_sided else map(slack_of, bound.tolist(), mean.tolist())
    return Verdict(
        outcome,
        float(gap[worst]),
        float(resolves.max()),
        "absolute",
        worst,
        strain,
        slack=min((each for each in slacks if each is not None), default=None),
    )
