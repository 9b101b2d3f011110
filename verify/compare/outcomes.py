"""What a comparison returns, and what it may be given."""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, fields
from enum import StrEnum
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

FALSE_ALARM_BUDGET = 1e-6
"""Probability that any statistical claim of the quick profile fails by chance."""


class Outcome(StrEnum):
    """What was found.

    A prediction or measurement that raised, or is not finite, is an *error*; a bound
    that nothing could exceed is *vacuous*: it decides nothing.
    """

    VACUOUS = "vacuous"
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
class Contrast:
    """Two arms of independent replicates, of which one differs in what is on trial.

    A number of each replicate, at least two an arm.
    """

    treated: Any
    baseline: Any

    @classmethod
    def alone(cls, values: npt.ArrayLike) -> "Contrast":
        """Return one number a replicate as an effect against nothing.

        >>> Contrast.alone([0.5, 0.25]).baseline.tolist()
        [0.0, 0.0]
        """
        treated = np.asarray(values, dtype=np.float64)
        return cls(treated, np.zeros_like(treated))


@dataclass(frozen=True)
class Enclosure:
    """A rigorous enclosure ``lower <= value <= upper`` of a real number.

    `covers` says in words for which points it was proved, `boxes` how many boxes the
    proof used.

    Raises
    ------
    ValueError
        If the ends are not in order, or no box was used.
    """

    lower: float
    upper: float
    covers: str
    boxes: int

    def __post_init__(self) -> None:
        # What is not finite is an error of the case that measures it.
        if math.inf > self.lower > self.upper > -math.inf:
            raise ValueError(
                "Enclosure: `lower` must be at most `upper`, but they are"
                f" {self.lower} and {self.upper}"
            )
        if self.boxes < 1:
            raise ValueError(f"Enclosure: `boxes` must be at least 1, not {self.boxes}")


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
    slack : float, optional
        Of a bound, the factor by which it could shrink towards the measurement before
        that passed it: 1 where it is attained, infinity where the measurement is zero
        or on its other side. Absent for equalities, for bounds of zero, which have no
        scale, and for what does not hold.
    """

    outcome: Outcome
    gap: float
    resolves: float
    unit: str
    worst: int = 0
    strain: float = 0.0
    slack: float | None = None


def flatten(value: Any) -> list[Any]:
    """Return the entries of nested lists and tuples in order.

    >>> flatten([[1, 2], [3]])
    [1, 2, 3]
    """
    if isinstance(value, list | tuple):
        entries = cast("Sequence[Any]", value)
        return [leaf for entry in entries for leaf in flatten(entry)]
    return [value]


def widened(value: Any) -> Any:
    """Return a side with Python's numbers in place of NumPy's, and lists for tuples.

    Beside a number of float32, NumPy rounds one of Python's to float32 first: it would
    agree with whatever it was rounded from. In a record both are Python's.

    >>> widened((np.float32(0.5), [np.int8(3)]))
    [0.5, [3]]
    """
    if isinstance(value, list | tuple):
        return [widened(each) for each in cast("Sequence[Any]", value)]
    if isinstance(value, Mapping):
        pairs = cast("Mapping[Any, Any]", value).items()
        return {key: widened(each) for key, each in pairs}
    return value.item() if isinstance(value, np.generic) else value


def is_finite(value: Any) -> bool:
    """Whether a value is of a kind whose equality is known, without NaN and infinity.

    Numbers, text, formulas and collections of them are; text and formulas may speak of
    infinity. An object of another class says itself what it equals.

    >>> is_finite([1.0, "inf"]), is_finite(np.array([1.0, np.nan])), is_finite(object())
    (True, False, False)
    """
    if isinstance(value, float):
        return math.isfinite(value)
    if value is None or isinstance(value, int | str | Fraction):
        return True
    if isinstance(value, list | tuple | Set):
        return all(map(is_finite, value))
    if np.ma.is_masked(value):
        return False
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
        return bool(np.isfinite(value).all())
    if isinstance(value, np.ndarray):
        return all(map(is_finite, value.ravel().tolist()))
    if isinstance(value, Mapping):
        return all(map(is_finite, value.items()))
    if isinstance(value, Estimate | Enclosure | Contrast):
        return all(is_finite(getattr(value, f.name)) for f in fields(value))
    if isinstance(value, complex | np.number | np.bool):
        return bool(np.isfinite(value))
    library = type(value).__module__.partition(".")[0]
    if library == "mpmath":
        import mpmath

        return bool(mpmath.isfinite(value))
    if library not in ("sympy", "flint", "decimal"):
        return False
    # SymPy's, which says neither of itself, and may stand in a formula or a matrix.
    if any(type(a).__name__ == "NaN" for a in getattr(value, "atoms", tuple)()):
        return False
    known = getattr(value, "is_finite", None)  # SymPy's property, others' method
    return (known() if callable(known) else known) is not False


def check_finite(**sides: Any) -> None:
    """Raise ValueError, naming the side, unless all of them are finite numbers."""
    for name, value in sides.items():
        if not is_finite(value):
            raise ValueError(
                f"compare: `{name}` must be finite numbers, text or formulas, got"
                f" {value!r:.200}"
            )
    check_no_balls(**sides)


def reals(name: str, value: Any) -> Array:
    """Return a side as numbers; raise ValueError unless all are there and finite.

    Before a mask is lost, and behind what is no number.
    """
    check_finite(**{name: value})
    found = np.asarray(value, dtype=np.float64)
    check_finite(**{name: found})
    return found


def check_no_balls(**sides: Any) -> None:
    """Raise ValueError, naming the side, where it has a ball that is not exact.

    The middle of a ball is not the number that it encloses.
    """
    for name, value in sides.items():
        if _is_wide(value):
            raise ValueError(
                f"compare: `{name}` must be a number, got a ball, {value!r:.200}; give an"
                " Enclosure, or its middle by `verify.integrals.mpf`"
            )


def _is_wide(value: Any) -> bool:
    """Whether one of some values is a ball of python-flint with a radius."""
    if isinstance(value, float):
        return False
    if isinstance(value, list | tuple):
        return any(map(_is_wide, value))
    if isinstance(value, np.ndarray):
        return value.dtype == object and any(map(_is_wide, value.ravel()))
    return type(value).__name__ in ("arb", "acb") and not value.is_exact()


def slack_of(bound: float, value: float, sign: float = 1.0) -> float | None:
    """Return the factor between a bound and what keeps it; see `Verdict`."""
    if bound == 0.0:
        return None
    if bound == value:
        return 1.0
    if sign * (bound - value) < 0.0:
        return 1.0
    # Python's floats: a quotient beyond float64 is infinite, and no warning.
    near, far = sorted((abs(float(bound)), abs(float(value))))
    same_side = (bound > 0.0) == (value > 0.0)
    return far / near if near > 0.0 and same_side else math.inf


def small(value: float) -> str:
    """Return a gap, tolerance or resolving power with two significant digits.

    >>> small(1.234e-9), small(-math.inf)
    ('1.2e−09', '−∞')
    """
    if math.isnan(value):
        return ""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.2g}".replace("-", "−") if value else "0"
