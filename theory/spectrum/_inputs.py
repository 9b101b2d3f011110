"""Degrees and dimensions: their checks, and the number of harmonics."""

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks

MOST = 10_000
"""Largest degree: quadrature would take minutes."""

WIDEST = 10**10
"""Largest dimension of a quadrature, whose panels grow in number like its root."""


def degrees(who: str, degree: Any) -> npt.NDArray[np.int64]:
    """Return checked degrees, in the shape they came in."""
    return _checks.counts(who, "degree", degree, 0, MOST).astype(np.int64)


def dimension(who: str, dim: int, most: int = _checks.LARGEST) -> int:
    """Return the dimension of the space around the sphere."""
    return _checks.integer(who, "dim", dim, 2, most)


def largest(k: npt.NDArray[np.int64]) -> int:
    """Return the largest of the degrees, 0 for none."""
    return int(k.max()) if k.size else 0


@lru_cache(maxsize=4096)
def count(k: int, d: int) -> int:
    """Return N(d, k), a whole number."""
    return (2 * k + d - 2) * math.comb(k + d - 3, k - 1) // k if k else 1
