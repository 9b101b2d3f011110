"""Two arms of networks compared: the effect of what they differ in, with its interval."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from verify.compare.outcomes import (
    Contrast,
    Outcome,
    Verdict,
    check_finite,
    reals,
    small,
)

ROUNDING = 1e-12
"""Relative to the largest, replicates that differ by less than this are equal."""


@dataclass(frozen=True)
class EffectWithin:
    """The treated arm's mean less the baseline's lies between two limits.

    The prediction is a pair (least, most), either of them absent (None): the smallest
    effect of interest, say. It holds when the whole interval of the difference lies
    between them, is refuted when the whole interval lies beyond one, and otherwise the
    networks are too few. Replicates are independent networks, not what is nested in them.

    The interval is Welch's, from Student's t, so the arms may vary differently; an arm
    whose replicates all agree has no deviation of its own. Where those of both do, a share
    of 0 or 1 say, there is no interval. The side of a limit they lie on is then decided by
    a test of signs: as many networks would all lie there by chance with probability
    ``2**-count``, which must not exceed the level; on the limit itself it is neither side.
    That is a test of the median: of a network in a hundred that differs it knows nothing,
    and nor does an interval, whose level is that of means near normal. One that is drawn
    and lies far off, a diverged network say, widens the interval more than it moves the
    mean: what the others would decide is undecided then, and it decides nothing alone.
    `gap` is how far the mean difference lies beyond the nearer limit (negative: within),
    `resolves` the interval's half-width.

    Attributes
    ----------
    level : float
        Probability with which the interval leaves out the true difference on one side.
    paired : bool
        Whether the arms are the same networks in one order, before and after: then the
        interval is that of the mean of their differences.
    unit : str
        Of the effect: ``"points"`` of per cent, ``"decades"`` and ``"e-folds"`` of
        differences of decimal and natural logarithms; empty for a pure number.
    """

    level: float = 1e-2
    paired: bool = False
    unit: str = ""

    def criterion(self) -> str:
        """Say in words which measurement refutes a prediction."""
        least = math.ceil(math.log(self.level) / math.log(0.5))
        return (
            "the confidence interval of the difference of means (one-sided level"
            f" {small(self.level)}) lies wholly outside the predicted range; undecided"
            " unless it lies wholly inside or outside (where all networks of an arm are"
            f" alike there is none, and {least} of them or more decide)"
        )

    def judge(self, predicted: Any, measured: Contrast) -> Verdict:
        """Judge the limits `predicted` of a difference.

        Raises
        ------
        ValueError
            If an arm is not one number for each of two replicates or more, a number is
            not finite, there is no limit, or the least is above the most.
        """
        least, most = predicted
        limits = [float(limit) for limit in (least, most) if limit is not None]
        check_finite(predicted=limits)
        treated = reals("measured", measured.treated)
        baseline = reals("measured", measured.baseline)
        numbers = treated.ndim == baseline.ndim == 1
        if not numbers or min(treated.size, baseline.size) < 2 or not limits:
            raise ValueError(
                "EffectWithin: each arm needs a number of two replicates or more, and a"
                f" limit, but they are of shapes {treated.shape} and {baseline.shape},"
                f" and {predicted}"
            )
        if limits[0] > limits[-1]:
            raise ValueError(
                "EffectWithin: the least effect must not be above the most, but they are"
                f" {predicted}"
            )
        if self.paired and treated.size != baseline.size:
            raise ValueError(
                "EffectWithin: paired arms must be as many, but they are"
                f" {treated.size} and {baseline.size}"
            )
        effect = float(treated.mean() - baseline.mean())
        arms = (treated - baseline,) if self.paired else (treated, baseline)
        largest = float(max(np.abs(arm).max() for arm in (treated, baseline)))
        alike = all(np.ptp(arm) <= ROUNDING * largest for arm in arms)
        variances = [arm.var(ddof=1) / arm.size for arm in arms]
        total = 0.0 if alike else float(sum(variances))
        half = 0.0
        if total > 0.0:
            each = zip(variances, arms, strict=True)
            freedom = total**2 / sum(v**2 / (arm.size - 1) for v, arm in each)
            half = -float(stdtrit(freedom, self.level)) * total**0.5
        beyond = [least - effect] if least is not None else []
        beyond += [effect - most] if most is not None else []
        gap = float(max(beyond))
        outcome = Outcome.UNDECIDED
        if alike:
            # Of a gap that is rounding, on neither side.
            apart = abs(gap) > ROUNDING * max(largest, *map(abs, limits))
            if apart and 0.5 ** min(arm.size for arm in arms) <= self.level:
                outcome = Outcome.HOLDS if gap < 0.0 else Outcome.REFUTED
        elif gap + half <= 0.0:
            outcome = Outcome.HOLDS
        elif gap - half > 0.0:
            outcome = Outcome.REFUTED
        scale = half or abs(gap) or 1.0
        return Verdict(outcome, gap, half, "absolute", strain=gap / scale)
