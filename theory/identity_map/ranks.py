r"""How many directions data spans, decided with a margin.

Source: Zhang, Bengio, Hardt, Mozer, Singer 2020, Lemmas 1 and 2, which assume full rank;
here any rank is one case, and a rank that rounding could change is called so.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks

Array = npt.NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Rank:
    r"""The rank of a data matrix and how far the decision is from rounding.

    A singular value counts if it exceeds ``threshold``, by default ``max(shape, 16) eps
    sigma_max``. Values between a quarter and 16 times the threshold (but never those
    below ``8 eps sigma_max``, which rounding makes) are too close to call: with one of
    them `decided` is false. A caller's own tolerance is final.
    """

    rank: int
    columns: int
    threshold: float
    decided: bool
    singular_values: Array = field(repr=False, compare=False)

    @property
    def nullity(self) -> int:
        """Directions of weight space that no row sees, ``n = columns - rank``."""
        return self.columns - self.rank

    @property
    def full(self) -> bool:
        """Whether the rows span the whole space: ``n = 0``."""
        return self.nullity == 0

    @property
    def gap(self) -> float:
        """Least kept singular value over the largest dropped one.

        Infinite if none is dropped, or only exact zeros; 1 if all are zero.
        """
        s = self.singular_values
        if self.rank == 0:
            return 1.0
        dropped = float(s[self.rank]) if self.rank < s.size else 0.0
        return float(s[self.rank - 1]) / dropped if dropped else np.inf

    @property
    def condition(self) -> float:
        """Largest over least kept singular value; 1 at rank 0."""
        s = self.singular_values
        return float(s[0] / s[self.rank - 1]) if self.rank else 1.0

    def require_decided(self, who: str) -> None:
        """Raise ValueError if the rank is too close to call."""
        if self.decided:
            return
        s = self.singular_values
        near = s[np.argmin(np.abs(np.log(np.maximum(s, 1e-300) / self.threshold)))]
        raise ValueError(
            f"{who}: the rank is too close to call: the singular value {near:.3g} is"
            f" near the threshold {self.threshold:.3g} (rank {self.rank} of"
            f" {self.columns}). Pass `rank_tolerance`, relative to the largest singular"
            f" value {s[0]:.3g}, to decide it."
        )


def decide_rank(
    singular_values: Any, shape: tuple[int, int], rank_tolerance: float | None = None
) -> Rank:
    """Return the `Rank` of a matrix of this shape from its singular values.

    Parameters
    ----------
    singular_values : array, shape (at most min(shape),)
        Not negative; in any order.
    shape : (int, int)
        Rows and columns of the matrix.
    rank_tolerance : float, optional
        Threshold relative to the largest singular value, in [0, 1); the default is
        ``max(shape, 16) eps`` with a margin around it.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> decide_rank([2.0, 1.0, 0.0], (3, 5)).rank
    2
    >>> decide_rank([1.0, 1e-14], (40, 2)).decided
    False
    >>> decide_rank([1.0, 1e-14], (40, 2), rank_tolerance=1e-10).decided
    True
    """
    who = "decide_rank"
    sides = _checks.listed(who, "shape", shape, "rows and columns")
    if len(sides) != 2:
        raise _checks.refuse(who, "shape", "be (rows, columns)", shape)
    rows, columns = (_checks.integer(who, "shape", v, 1) for v in sides)
    s = np.atleast_1d(_checks.not_negative(who, "singular_values", singular_values))
    if s.ndim > 1 or s.size > min(rows, columns):
        raise ValueError(
            f"{who}: `singular_values` must have shape (at most {min(rows, columns)},)"
            f" for a matrix of `shape` ({rows}, {columns}), got {s.shape}."
        )
    s = np.sort(s)[::-1]
    top = float(s[0]) if s.size else 0.0
    relative = _tolerance(who, rank_tolerance)
    if relative is not None:
        threshold, close = relative * top, np.zeros(s.shape, dtype=bool)
    else:
        threshold = max(rows, columns, 16) * EPS * top
        close = (s > max(0.25 * threshold, 8.0 * EPS * top)) & (s < 16.0 * threshold)
    rank = int((s > threshold).sum())
    return Rank(rank, columns, threshold, not bool(close.any()), s)


def _tolerance(who: str, rank_tolerance: Any) -> float | None:
    if rank_tolerance is None:
        return None
    out = _checks.scalar(who, "rank_tolerance", rank_tolerance)
    _checks.reject(who, "rank_tolerance", "lie in [0, 1)", out >= 1.0, out, "")
    return out
