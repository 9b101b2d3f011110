"""Comparisons of numbers and of proved enclosures: tolerances are rounding alone."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from verify.compare.outcomes import Enclosure, Outcome, Verdict


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
