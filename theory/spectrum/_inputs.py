"""Degrees and dimensions: their checks, and the number of harmonics."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks

MOST = 10_000
"""Largest degree: quadrature would take minutes."""

WIDEST = 10**10
"""Largest dimension of a quadrature, whose panels grow in number like its root."""

NEIGHBOURS = 64
"""Steps from one degree to the next that take less time than a binomial coefficient."""


def degrees(who: str, degree: Any) -> npt.NDArray[np.int64]:
    """Return checked degrees, in the shape they came in."""
    return _checks.counts(who, "degree", degree, 0, MOST).astype(np.int64)


def dimension(who: str, dim: int, most: int = _checks.LARGEST) -> int:
    """Return the dimension of the space around the sphere."""
    return _checks.integer(who, "dim", dim, 2, most)


def largest(k: npt.NDArray[np.int64]) -> int:
    """Return the largest of the degrees, 0 for none."""
    return int(k.max()) if k.size else 0


def counts(k: npt.NDArray[np.int64], d: int) -> list[int]:
    """Return N(d, k) of many degrees, whole numbers: of neighbours one from the other."""
    found, before = {0: 1}, 0
    product = 0  # C(k + d - 3, k - 1)
    for each in np.unique(k[k > 0]).tolist():
        if before and each - before <= NEIGHBOURS:
            for i in range(before, each):
                product = product * (i + d - 2) // i
        else:
            product = math.comb(each + d - 3, each - 1)
        found[each], before = (2 * each + d - 2) * product // each, each
    return [found[v] for v in k.ravel().tolist()]
