"""Chebyshev nodes, and the coefficients of a series from values at them."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@lru_cache(maxsize=256)
def nodes(n: int) -> Array:
    """Return the n nodes cos(pi (k + 1/2) / n) of [-1, 1], falling; read-only."""
    out = np.cos(np.pi * (np.arange(n) + 0.5) / n)
    out.flags.writeable = False
    return out


@lru_cache(maxsize=256)
def chebyshev(n: int) -> Array:
    """Return the matrix from values at the `nodes` to coefficients, (n, n); read-only."""
    # Angles as whole multiples of pi / 2n, reduced before they are rounded.
    turns = np.outer(np.arange(n), 2 * np.arange(n) + 1) % (4 * n)
    t = np.cos(np.pi * turns / (2 * n)) * (2.0 / n)
    t[0] *= 0.5
    t.flags.writeable = False
    return t
