"""Comparisons of means over replicates, and of shares of trials."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import stdtrit

from verify.compare.outcomes import (
    Estimate,
    Outcome,
    Verdict,
    reals,
    slack_of,
    small,
)


@dataclass(frozen=True)
class MeanTest:
    """What tests of a mean share.

    `false_fail` is the probability that a true prediction is refuted by chance, split
    evenly over the entries of an array; `false_pass` the probability that an error as
    large as the resolving power goes unnoticed. `rounding` bounds the deterministic error
    (float64, truncation, a finite-width bias), absolute. Student's t is used, so
    replicates must be independent and their mean near normal.
    """

    sign: ClassVar[str] = ""
    refuted: ClassVar[str]

    discrepancy: float
    false_fail: float = 2e-9
    false_pass: float = 1e-3
    rounding: float = 0.0

    def criterion(self) -> str:
        """Say in words which measurement refutes a prediction."""
        error = f"an allowance of {small(self.rounding)} plus " if self.rounding else ""
        return (
            f"the mean {self.refuted} by more than {error}what chance allows with"
            f" probability {small(self.false_fail)}; undecided unless an error of"
            f" {small(self.discrepancy)} would be seen"
        )

    def judge(self, predicted: Any, measured: Estimate) -> Verdict:
        """Judge entry by entry; the verdict is that of the worst entry.

        Of a bound the gap is positive where the mean is beyond it.

        Raises
        ------
        ValueError
            If a number is not finite, or the prediction or the standard error has
            another shape than the mean, a single number aside.
        """
        return _mean_test(predicted, measured, self)


class MeanEquals(MeanTest):
    """A mean equals the prediction, and a `discrepancy` would have been seen."""

    refuted: ClassVar[str] = "differs from the prediction"


class MeanAtMost(MeanTest):
    """A mean is at most the prediction; an excess of `discrepancy` would be seen.

    One-sided form of `MeanEquals`: refuted when the mean exceeds the bound by more than
    chance allows; holds when the upper confidence limit is below bound + `discrepancy`.
    """

    sign: ClassVar[str] = "≤"
    refuted: ClassVar[str] = "exceeds the bound"


class MeanAtLeast(MeanTest):
    """A mean is at least the prediction; see `MeanAtMost`, of which it is the mirror."""

    sign: ClassVar[str] = "≥"
    refuted: ClassVar[str] = "is below the bound"


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

        bounds, values = reals("predicted", predicted), reals("measured", measured)
        if bounds.ndim and bounds.shape != values.shape:
            # A trial would count more than once.
            raise ValueError(
                "RarelyAbove: `predicted` must be one bound for all trials, or one each,"
                f" but it is of shape {bounds.shape}, and the trials of {values.shape}"
            )
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


def _mean_test(predicted: Any, measured: Estimate, test: MeanTest) -> Verdict:
    bound = reals("predicted", predicted)
    mean, stderr = (reals("measured", x) for x in (measured.mean, measured.stderr))
    if stderr.shape != mean.shape or bound.shape not in ((), mean.shape):
        raise ValueError(
            f"{type(test).__name__}: `predicted` and the standard error must have the"
            f" mean's shape {mean.shape}, the former may be one number, but they have"
            f" {bound.shape} and {stderr.shape}"
        )
    bound = np.broadcast_to(bound, mean.shape).ravel()
    mean, stderr, two_sided = mean.ravel(), stderr.ravel(), not test.sign
    if test.sign == "≥":
        mean, bound = -mean, -bound
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
