"""Roots of many functions of one variable at once, from signs on a common grid."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Function = Callable[[Array], tuple[Array, Array]]
"""Values and derivatives at one point each."""

STEPS = 100


def signs(values: Array, noise: Array) -> npt.NDArray[np.int8]:
    """Return signs along the last axis; what is noise takes its left neighbour's.

    Noise at the left end takes the sign of what follows; rows of noise alone are zero.
    """
    s = np.sign(np.where(np.abs(values) <= noise, 0.0, values)).astype(np.int8)
    index = np.arange(s.shape[-1])
    last = np.maximum.accumulate(np.where(s != 0, index, -1), axis=-1)
    first = np.argmax(s != 0, axis=-1)[..., None]
    return np.take_along_axis(s, np.where(last >= 0, last, first), axis=-1)


def refine(function: Function, low: Array, high: Array) -> Array:
    """Return a root in each bracket: Newton's steps, halving where they leave it."""
    low, high = low.copy(), high.copy()
    x = 0.5 * (low + high)
    rising = function(high)[0] > 0.0
    for _ in range(STEPS):
        value, slope = function(x)
        below = (value < 0.0) == rising
        low, high = np.where(below, x, low), np.where(below, high, x)
        with np.errstate(all="ignore"):
            step = x - value / slope
        inside = (step > low) & (step < high)
        new = np.where(inside, step, 0.5 * (low + high))
        new = np.where(value == 0.0, x, new)
        moved = np.abs(new - x)
        x = new
        if (moved <= 1e-15 * (1.0 + np.abs(x))).all():
            break
    return x
