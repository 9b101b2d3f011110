"""How a prediction is judged against a measurement.

Every comparison is tri-state. *Holds* says that a wrong prediction would have been
noticed, *refuted* that this one is wrong, *undecided* that the measurement cannot
tell. Each verdict carries the gap that was seen and the smallest error that would
have been caught (`Verdict.resolves`).
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

FALSE_ALARM_BUDGET = 1e-6
"""Probability that any statistical claim of the quick profile fails by chance."""


class Outcome(StrEnum):
    """What was found; a prediction or measurement that raised is an *error*."""

    HOLDS = "holds"
    UNDECIDED = "undecided"
    REFUTED = "refuted"
    OPEN = "open"
    ERROR = "error"


@dataclass(frozen=True)
class Estimate:
    """A mean over independent replicates, with its standard error.

    `mean` and `stderr` are floats or arrays of one shape; `replicates` counts the
    independent draws behind each entry.
    """

    mean: Any
    stderr: Any
    replicates: int

    @classmethod
    def of(cls, values: npt.ArrayLike) -> "Estimate":
        """Summarise replicates along the first axis.

        >>> Estimate.of([1.0, 2.0, 3.0]).mean
        2.0
        """
        x = np.asarray(values, dtype=np.float64)
        if x.ndim == 0 or len(x) < 2:
            raise ValueError("Estimate.of: `values` must hold at least two replicates")
        mean, stderr = x.mean(axis=0), x.std(axis=0, ddof=1) / math.sqrt(len(x))
        if x.ndim == 1:
            return cls(float(mean), float(stderr), len(x))
        return cls(mean, stderr, len(x))


@dataclass(frozen=True)
class Enclosure:
    """A rigorous enclosure ``lower <= value <= upper`` of a real number.

    `covers` says in words for which points it was proved, `boxes` how many boxes the
    proof used.
    """

    lower: float
    upper: float
    covers: str
    boxes: int


@dataclass(frozen=True)
class Verdict:
    """The judgement of one case.

    Attributes
    ----------
    outcome : Outcome
    gap : float
        What separates measurement and prediction, in the comparison's unit; for an
        inequality, how far the measurement is beyond the bound (negative: inside it).
    resolves : float
        The smallest error that would have been caught, in the same unit.
    unit : str
        What `gap` and `resolves` are measured in.
    worst : int
        Flat index of the worst entry, when arrays were compared.
    strain : float
        How near to refutation, for ranking cases and for the adversarial search: 1 at
        the edge, more beyond it, less inside.
    """

    outcome: Outcome
    gap: float
    resolves: float
    unit: str
    worst: int = 0
    strain: float = 0.0


class Comparison(Protocol):
    """Judges one prediction against one measurement of the same case."""

    def judge(self, predicted: Any, measured: Any) -> Verdict:
        """Return the verdict on `predicted` given `measured`."""
        ...


@dataclass(frozen=True)
class Identical:
    """Exact equality: integers, fractions, text, booleans, SymPy expressions."""

    def judge(self, predicted: Any, measured: Any) -> Verdict:
        """Hold when the two are equal, refute otherwise."""
        same = bool(predicted == measured)
        outcome = Outcome.HOLDS if same else Outcome.REFUTED
        gap = 0.0 if same else math.inf
        return Verdict(outcome, gap, 0.0, "exact", strain=gap)


@dataclass(frozen=True)
class AgreesTo:
    """Two numbers agree within `relative` times `scale`, plus `absolute`.

    The scale is the magnitude of the measurement, or the largest magnitude of the
    measured array when `of_largest` is set. Both tolerances are the sum of the two
    sides' rounding and truncation errors, which the claim derives. When the
    measurement is an mpmath number the difference is taken before rounding to float64.
    """

    relative: float = 0.0
    absolute: float = 0.0
    of_largest: bool = False

    def judge(self, predicted: Any, measured: Any) -> Verdict:
        """Compare entry by entry; the verdict is that of the worst entry."""
        p, m = _paired(predicted, measured)
        difference = np.array([abs(float(a - b)) for a, b in zip(p, m, strict=True)])
        size = np.array([abs(float(b)) for b in m])
        if self.of_largest:
            size = np.full_like(size, size.max())
        allowed = self.relative * size + self.absolute
        if not (np.isfinite(difference).all() and np.isfinite(allowed).all()):
            bad = int(np.argmin(np.isfinite(difference) & np.isfinite(allowed)))
            return Verdict(
                Outcome.REFUTED, math.inf, 0.0, "absolute", bad, strain=math.inf
            )
        with np.errstate(over="ignore"):  # a difference where none is allowed
            ratio = np.where(
                difference == 0.0,
                0.0,
                difference / np.where(allowed > 0.0, allowed, np.finfo(float).tiny),
            )
        worst = int(np.argmax(ratio))
        outcome = Outcome.HOLDS if ratio[worst] <= 1.0 else Outcome.REFUTED
        unit = "relative" if size[worst] > 0.0 and self.relative else "absolute"
        by = size[worst] if unit == "relative" else 1.0
        return Verdict(
            outcome,
            float(difference[worst] / by),
            float(allowed[worst] / by),
            unit,
            worst,
            float(ratio[worst]),
        )


@dataclass(frozen=True)
class AtMost:
    """An upper bound: measurement <= prediction, entry by entry.

    `rounding` is the rounding error of the two sides, absolute; `relative` the same
    relative to the bound. The gap is measurement minus bound: the least slack.
    """

    rounding: float = 0.0
    relative: float = 0.0

    def judge(self, predicted: Any, measured: Any) -> Verdict:
        """Refute when any entry exceeds its bound by more than rounding."""
        return _one_sided(predicted, measured, self.rounding, self.relative, +1.0)


@dataclass(frozen=True)
class AtLeast:
    """A lower bound: measurement >= prediction; see `AtMost`."""

    rounding: float = 0.0
    relative: float = 0.0

    def judge(self, predicted: Any, measured: Any) -> Verdict:
        """Refute when any entry falls below its bound by more than rounding."""
        return _one_sided(predicted, measured, self.rounding, self.relative, -1.0)


@dataclass(frozen=True)
class CertifiedAtLeast:
    """A lower bound proved by an enclosure: ``lower >= prediction``.

    Refuted when even ``upper`` is below the prediction, undecided in between.
    """

    def judge(self, predicted: Any, measured: Enclosure) -> Verdict:
        """Judge the enclosure of a minimum against the predicted lower bound."""
        bound = float(predicted)
        if measured.lower >= bound:
            outcome = Outcome.HOLDS
        elif measured.upper < bound:
            outcome = Outcome.REFUTED
        else:
            outcome = Outcome.UNDECIDED
        return Verdict(
            outcome,
            bound - measured.lower,
            max(0.0, measured.upper - bound),
            "absolute",
            strain=_one_sided_strain(bound, measured.lower, bound - measured.lower),
        )


@dataclass(frozen=True)
class CertifiedAtMost:
    """An upper bound proved by an enclosure: ``upper <= prediction``."""

    def judge(self, predicted: Any, measured: Enclosure) -> Verdict:
        """Judge the enclosure of a maximum against the predicted upper bound."""
        bound = float(predicted)
        if measured.upper <= bound:
            outcome = Outcome.HOLDS
        elif measured.lower > bound:
            outcome = Outcome.REFUTED
        else:
            outcome = Outcome.UNDECIDED
        return Verdict(
            outcome,
            measured.upper - bound,
            max(0.0, bound - measured.lower),
            "absolute",
            strain=_one_sided_strain(bound, measured.upper, measured.upper - bound),
        )


@dataclass(frozen=True)
class Enclosed:
    """A number lies in a rigorous enclosure of radius at most `radius`.

    `rounding` is the float64 error of the prediction.
    """

    radius: float
    rounding: float = 0.0

    def judge(self, predicted: Any, measured: Enclosure) -> Verdict:
        """Refute a number outside; an enclosure wider than `radius` decides nothing."""
        value = float(predicted)
        width = (measured.upper - measured.lower) / 2.0
        gap = max(measured.lower - value, value - measured.upper, 0.0)
        if gap > self.rounding:
            outcome = Outcome.REFUTED
        else:
            outcome = Outcome.HOLDS if width <= self.radius else Outcome.UNDECIDED
        resolves = 2.0 * width + self.rounding
        strain = gap / self.rounding if self.rounding else math.inf if gap else 0.0
        return Verdict(outcome, gap, resolves, "absolute", strain=strain)


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

    def judge(self, predicted: Any, measured: Any) -> Verdict:
        """Judge the sign `predicted` of the trend of `measured`."""
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


SlopeEquals = MeanEquals
"""A fitted slope is an `Estimate` over seeds; its `discrepancy` is the half-width."""


def _paired(predicted: Any, measured: Any) -> tuple[list[Any], list[Any]]:
    # dtype=object keeps mpmath numbers exact until their difference is taken.
    p = np.atleast_1d(np.asarray(predicted, dtype=object))
    m = np.atleast_1d(np.asarray(measured, dtype=object))
    if p.shape != m.shape and p.size != 1:
        raise ValueError(
            f"compare: `predicted` must have the measurement's shape {m.shape} or be a"
            f" scalar, got {p.shape}"
        )
    p = np.broadcast_to(p, m.shape)
    return list(p.ravel()), list(m.ravel())


def _one_sided(
    predicted: Any, measured: Any, rounding: float, relative: float, sign: float
) -> Verdict:
    p, m = _paired(predicted, measured)
    gap = np.array([sign * float(b - a) for a, b in zip(p, m, strict=True)])
    allowed = rounding + relative * np.array([abs(float(a)) for a in p])
    excess = np.where(np.isnan(gap), np.inf, gap - allowed)
    worst = int(np.argmax(excess))
    outcome = Outcome.REFUTED if excess[worst] > 0.0 else Outcome.HOLDS
    # An error of the bound larger than this would have been noticed at that entry.
    resolves = float(max(0.0, allowed[worst] - gap[worst]))
    strain = _one_sided_strain(float(p[worst]), float(m[worst]), float(gap[worst]))
    return Verdict(outcome, float(gap[worst]), resolves, "absolute", worst, strain)


def _one_sided_strain(bound: float, value: float, gap: float) -> float:
    """1 where the bound is attained, less inside it, in units of the larger of both."""
    scale = max(abs(bound), abs(value))
    return 1.0 + gap / scale if scale > 0.0 else 1.0


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
    t = stats.t(df=measured.replicates - 1)
    tail = test.false_fail / mean.size / (2.0 if two_sided else 1.0)
    fails_at = float(t.isf(tail)) * stderr + test.rounding
    gap = mean - bound
    distance = np.abs(gap) if two_sided else gap
    resolves = fails_at + float(t.isf(test.false_pass)) * stderr
    excess = np.where(np.isfinite(distance), distance - fails_at, np.inf)
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
    return Verdict(
        outcome, float(gap[worst]), float(resolves.max()), "absolute", worst, strain
    )
