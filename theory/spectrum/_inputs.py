"""Degrees and dimensions: their checks, and the number of harmonics."""

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


def counts(k: npt.NDArray[np.int64], d: int) -> list[int]:
    """Return N(d, k) of many degrees, whole numbers: C(i + d - 3, i - 1) from the last."""
    wanted, found, product = set(k.ravel().tolist()), {0: 1}, 1
    for i in range(1, largest(k) + 1):
        if i in wanted:
            found[i] = (2 * i + d - 2) * product // i
        product = product * (i + d - 2) // i
    return [found[v] for v in k.ravel().tolist()]
