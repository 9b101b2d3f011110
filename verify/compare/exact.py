"""Comparisons of numbers and of proved enclosures, in which there is no chance."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from verify.compare.outcomes import (
    Enclosure,
    Outcome,
    Verdict,
    check_finite,
    check_no_balls,
    flatten,
    slack_of,
    small,
    widened,
)


@dataclass(frozen=True)
class Identical:
    """Exact equality: integers, fractions, text, booleans, SymPy expressions."""

    def criterion(self) -> str:
        """Say in words which measurement refutes a prediction."""
        return "the two sides differ at all"

    def judge(self, predicted: Any, measured: Any) -> Verdict:
        """Hold when the two are equal, refute otherwise; the worst is the first other."""
        check_finite(predicted=predicted, measured=measured)
        predicted, measured = widened(predicted), widened(measured)
        same = bool(predicted == measured)
        outcome = Outcome.HOLDS if same else Outcome.REFUTED
        gap = 0.0 if same else math.inf
        pairs = enumerate(zip(flatten(predicted), flatten(measured), strict=False))
        worst = next((at for at, (one, other) in pairs if one != other), 0)
        return Verdict(outcome, gap, 0.0, "exact", worst, strain=gap)


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

    def criterion(self) -> str:
        """Say in words which measurement refutes a prediction."""
        of = "the largest measured entry" if self.of_largest else "the measured value"
        terms = [f"{small(self.relative)} of {of}"] if self.relative else []
        terms += [small(self.absolute)] if self.absolute else []
        return f"the two sides differ by more than {' plus '.join(terms) or '0'}"

    def judge(self, predicted: Any, measured: Any) -> Verdict:
        """Compare entry by entry; the verdict is that of the worst entry."""
        check_finite(predicted=predicted, measured=measured)
        p, m = _paired(predicted, measured)
        # In the numbers' own arithmetic: some of mpmath's are zero in float64.
        difference = [_apart(a, b) for a, b in zip(p, m, strict=True)]
        size = [abs(b) for b in m]
        if self.of_largest:
            size = [max(size)] * len(size)
        allowed = [self.relative * each + self.absolute for each in size]
        ratio = [_share(d, a) for d, a in zip(difference, allowed, strict=True)]
        worst = int(np.argmax(ratio))
        outcome = Outcome.HOLDS if ratio[worst] <= 1.0 else Outcome.REFUTED
        # Of a value that rounding alone makes, a share says nothing.
        unit = (
            "relative" if self.relative and allowed[worst] < size[worst] else "absolute"
        )
        by = size[worst] if unit == "relative" else 1.0
        return Verdict(
            outcome,
            float(difference[worst] / by),
            float(allowed[worst] / by),
            unit,
            worst,
            ratio[worst],
        )


@dataclass(frozen=True)
class AtMost:
    """An upper bound: measurement <= prediction, entry by entry.

    `rounding` is what is allowed for the two sides' errors, absolute: rounding and, where
    the claim says so, truncation; `relative` the same relative to the bound. The gap is
    measurement minus bound: the least slack. A bound of at least `trivial` says nothing
    about what is measured. The slack is told of the distance to `origin`: 1 for a condition
    number, which is never below it.
    """

    sign: ClassVar[str] = "≤"

    rounding: float = 0.0
    relative: float = 0.0
    trivial: float = math.inf
    origin: float = 0.0

    def criterion(self) -> str:
        """Say in words which measurement refutes a prediction."""
        return f"the measured value exceeds the bound{_allowance(self)}"

    def judge(self, predicted: Any, measured: Any) -> Verdict:
        """Refute when any entry exceeds its bound by more than is allowed."""
        return _one_sided(predicted, measured, self, +1.0)

    def telling(self, predicted: Any, control: Any) -> Any:
        """Return the control, made to say nothing wherever the prediction says nothing.

        It also says nothing where no measurement could have its value: at `origin` or
        beyond.
        """
        return _silenced(predicted, control, self, +1.0)


@dataclass(frozen=True)
class AtLeast:
    """A lower bound: measurement >= prediction; see `AtMost`.

    A bound of at most `trivial` says nothing.
    """

    sign: ClassVar[str] = "≥"

    rounding: float = 0.0
    relative: float = 0.0
    trivial: float = -math.inf
    origin: float = 0.0

    def criterion(self) -> str:
        """Say in words which measurement refutes a prediction."""
        return f"the measured value is below the bound{_allowance(self)}"

    def judge(self, predicted: Any, measured: Any) -> Verdict:
        """Refute when any entry falls below its bound by more than is allowed."""
        return _one_sided(predicted, measured, self, -1.0)

    def telling(self, predicted: Any, control: Any) -> Any:
        """Return a control that says nothing where the prediction says nothing."""
        return _silenced(predicted, control, self, -1.0)


@dataclass(frozen=True)
class CertifiedAtLeast:
    """A lower bound proved by an enclosure: ``lower >= prediction``.

    Refuted when even ``upper`` is below the prediction, undecided in between.
    """

    sign: ClassVar[str] = "≥"

    def criterion(self) -> str:
        """Say in words which measurement refutes a prediction."""
        return "the proved enclosure lies below the bound"

    def judge(self, predicted: Any, measured: Enclosure) -> Verdict:
        """Judge the enclosure of a minimum against the predicted lower bound."""
        check_finite(predicted=predicted, measured=measured)
        bound = float(predicted)
        if measured.lower >= bound:
            outcome = Outcome.HOLDS
        elif measured.upper < bound:
            outcome = Outcome.REFUTED
        else:
            outcome = Outcome.UNDECIDED
        holds = outcome is Outcome.HOLDS
        return Verdict(
            outcome,
            bound - measured.lower,
            max(0.0, measured.upper - bound),
            "absolute",
            strain=_one_sided_strain(bound, measured.lower, bound - measured.lower),
            slack=slack_of(bound, measured.upper, -1.0) if holds else None,
        )


@dataclass(frozen=True)
class CertifiedAtMost:
    """An upper bound proved by an enclosure: ``upper <= prediction``."""

    sign: ClassVar[str] = "≤"

    def criterion(self) -> str:
        """Say in words which measurement refutes a prediction."""
        return "the proved enclosure lies above the bound"

    def judge(self, predicted: Any, measured: Enclosure) -> Verdict:
        """Judge the enclosure of a maximum against the predicted upper bound."""
        check_finite(predicted=predicted, measured=measured)
        bound = float(predicted)
        if measured.upper <= bound:
            outcome = Outcome.HOLDS
        elif measured.lower > bound:
            outcome = Outcome.REFUTED
        else:
            outcome = Outcome.UNDECIDED
        holds = outcome is Outcome.HOLDS
        return Verdict(
            outcome,
            measured.upper - bound,
            max(0.0, bound - measured.lower),
            "absolute",
            strain=_one_sided_strain(bound, measured.upper, measured.upper - bound),
            slack=slack_of(bound, measured.lower, +1.0) if holds else None,
        )


@dataclass(frozen=True)
class Enclosed:
    """A number lies in a rigorous enclosure of radius at most `radius`.

    `rounding` is the float64 error of the prediction. A prediction of more digits, or a
    fraction, is compared as it is.
    """

    radius: float
    rounding: float = 0.0

    def criterion(self) -> str:
        """Say in words which measurement refutes a prediction."""
        return "the prediction lies outside the proved enclosure"

    def judge(self, predicted: Any, measured: Enclosure) -> Verdict:
        """Refute a number outside; an enclosure wider than `radius` decides nothing."""
        check_finite(predicted=predicted, measured=measured)
        width = (measured.upper - measured.lower) / 2.0
        apart = _outside(predicted, measured)
        gap = float(apart)
        if apart > self.rounding:
            outcome = Outcome.REFUTED
        else:
            outcome = Outcome.HOLDS if width <= self.radius else Outcome.UNDECIDED
        resolves = 2.0 * width + self.rounding
        strain = _share(apart, self.rounding)
        return Verdict(outcome, gap, resolves, "absolute", strain=strain)


def _allowance(test: AtMost | AtLeast) -> str:
    terms = [small(test.rounding)] if test.rounding else []
    terms += [f"{small(test.relative)} of it"] if test.relative else []
    return f" by more than an allowance of {' plus '.join(terms)}" if terms else ""


def _outside(predicted: Any, measured: Enclosure) -> Any:
    """Return how far a number lies outside an enclosure, in its own arithmetic."""
    value = np.asarray(predicted, dtype=object).item()
    if not hasattr(value, "_mpf_"):
        # A fraction less a float is a float; of floats it is exact.
        value = Fraction(value if isinstance(value, int | Fraction) else float(value))
    kind = Fraction if isinstance(value, Fraction) else float
    return max(kind(measured.lower) - value, value - kind(measured.upper), kind(0))


def _apart(one: Any, other: Any) -> Any:
    """Return how far two numbers are apart; those that are not real have no `float`."""
    difference = one - other
    float(difference)
    return abs(difference)


def _share(difference: Any, allowed: Any) -> float:
    """Return a difference in units of what is allowed, infinite where that is nothing."""
    if difference == 0:
        return 0.0
    with np.errstate(over="ignore"):
        return float(difference / allowed) if allowed > 0 else math.inf


def _paired(predicted: Any, measured: Any) -> tuple[list[Any], list[Any]]:
    # dtype=object keeps mpmath numbers exact until their difference is taken.
    p = np.atleast_1d(np.asarray(widened(predicted), dtype=object))
    m = np.atleast_1d(np.asarray(widened(measured), dtype=object))
    if p.shape != m.shape and p.size != 1:
        raise ValueError(
            f"compare: `predicted` must have the measurement's shape {m.shape} or be a"
            f" scalar, got {p.shape}"
        )
    one_each = p.ravel().tolist() if p.shape == m.shape else [p.item()] * m.size
    return one_each, m.ravel().tolist()


def _silenced(predicted: Any, control: Any, test: AtMost | AtLeast, sign: float) -> Any:
    p, c = (np.asarray(side, dtype=np.float64) for side in (predicted, control))
    silent = sign * p >= sign * test.trivial
    # What is never measured is refuted by anything.
    if test.origin:
        silent = silent | (sign * (c - test.origin) <= 0.0)
    return np.where(silent, sign * np.inf, c)


def _one_sided(
    predicted: Any, measured: Any, test: AtMost | AtLeast, sign: float
) -> Verdict:
    p, m = _paired(predicted, measured)
    check_no_balls(predicted=p)
    bounds = np.array([float(a) for a in p])
    vacuous = sign * bounds >= sign * test.trivial
    # A bound that is infinite on the other side could hold for nothing.
    check_finite(predicted=bounds[~vacuous], measured=m)
    gap = np.array([sign * float(b - a) for a, b in zip(p, m, strict=True)])
    size = np.abs(np.where(np.isinf(bounds), 0.0, bounds))
    allowed = test.rounding + test.relative * size
    excess = np.where(np.isinf(bounds), -np.inf, gap - allowed)
    # What float64 calls no difference may be one.
    over = [sign * (b - a) > 0 for a, b in zip(p, m, strict=True)]
    excess[(gap == 0.0) & (allowed == 0.0) & over] = np.finfo(float).tiny
    outcome = Outcome.REFUTED if excess.max() > 0.0 else Outcome.HOLDS
    if outcome is Outcome.HOLDS and vacuous.all():
        return Verdict(Outcome.VACUOUS, float(gap.max()), math.inf, "absolute")
    # Of the bounds that say something, the one nearest to being passed.
    at = int(np.argmax(np.where(vacuous & (excess <= 0.0), -np.inf, excess)))
    # An error of the bound larger than this would have been noticed at that entry.
    resolves = float(max(0.0, allowed[at] - gap[at]))
    strain = _one_sided_strain(float(p[at]), float(m[at]), float(gap[at]))
    slacks = [
        slack_of(bound - test.origin, float(value) - test.origin, sign)
        for bound, value, said in zip(bounds, m, ~vacuous, strict=True)
        if said
    ]
    told = [each for each in slacks if each is not None]
    slack = min(told) if told and outcome is Outcome.HOLDS else None
    return Verdict(outcome, float(gap[at]), resolves, "absolute", at, strain, slack)


def _one_sided_strain(bound: float, value: float, gap: float) -> float:
    """1 where the bound is attained, less inside it, in units of the larger of both."""
    scale = max(abs(bound), abs(value))
    return 1.0 + gap / scale if scale > 0.0 else 1.0
