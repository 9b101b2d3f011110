"""What a comparison returns, and what it may be given."""

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
