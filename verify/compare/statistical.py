"""Comparisons of means over replicates, and of shares of trials."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import stdtrit

from verify.compare.outcomes import (
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
    large as the resolving power goes unnoticed. `rounding` bounds the deterministic error
    (float64, truncation, a finite-width bias), absolute. Student's t is used, so
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

    sign: ClassVar[str] = "≤"

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
class MeanAtLeast:
    """A mean is at least the prediction; see `MeanAtMost`, of which it is the mirror."""

    sign: ClassVar[str] = "≥"

    discrepancy: float
    false_fail: float = 2e-9
    false_pass: float = 1e-3
    rounding: float = 0.0

    def criterion(self) -> str:
        """Say in words which measurement refutes a prediction."""
        return f"the mean is below the bound by more than {_chance(self)}"

    def judge(self, predicted: Any, measured: Estimate) -> Verdict:
        """Judge entry by entry; the gap is positive where the mean is below the bound."""
        mean = -np.asarray(measured.mean, dtype=np.float64)
        mirrored = Estimate(mean, measured.stderr, measured.replicates)
        bound = -np.asarray(predicted, dtype=np.float64)
        return _mean_test(bound, mirrored, self, two_sided=False)


@dataclass(frozen=True)
class RarelyAbove:
    """Values exceed their bounds in at most a share `probability` of the trials.

    One entry a trial, trials independent. Refuted when more exceed than the binomial
    law with that probability allows but for `false_fail`; `resolves` is that share, and
    undecided where it is all of them: trials so few could refute nothing.
    """

    sign: ClassVar[str] = "≤"

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

        bounds = np.asarray(predicted, dtype=np.float64)
        values = np.asarray(measured, dtype=np.float64)
        if bounds.ndim and bounds.shape != values.shape:
            # A trial would count more than once.
            raise ValueError(
                "RarelyAbove: `predicted` must be one bound for all trials, or one each,"
                f" but it is of shape {bounds.shape}, and the trials of {values.shape}"
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


def _chance(test: MeanEquals | MeanAtMost | MeanAtLeast) -> str:
    error = f"an allowance of {small(test.rounding)} plus " if test.rounding else ""
    return (
        f"{error}what chance allows with probability {small(test.false_fail)};"
        f" undecided unless an error of {small(test.discrepancy)} would be seen"
    )


def _mean_test(
    predicted: Any,
    measured: Estimate,
    test: MeanEquals | MeanAtMost | MeanAtLeast,
    *,
    two_sided: bool,
) -> Verdict:
    mean = np.atleast_1d(np.asarray(measured.mean, dtype=np.float64)).ravel()
    stderr = np.atleast_1d(np.asarray(measured.stderr, dtype=np.float64)).ravel()
    bound = np.broadcast_to(
        np.asarray(predicted, dtype=np.float64), np.shape(measured.mean)
    ).ravel()
    check_finite(predicted=bound, measured=[mean, stderr])
    freedom = measured.replicates - 1
    tail = test.false_fail / mean.size / (2.0 if two_sided else 1.0)
    # Student's t quantile; `scipy.stats` takes half a second to import.
    fails_at = test.rounding - float(stdtrit(freedom, tail)) * stderr
    gap = mean - bound
    distance = np.abs(gap) if two_sided else gap
    resolves = fails_at - float(stdtrit(freedom, test.false_pass)) * stderr
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
