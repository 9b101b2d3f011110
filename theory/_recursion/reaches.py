"""How far out the energy of s(r Z) lies."""

import math
from functools import lru_cache

import numpy as np

from theory.activations import Activation

NEAR, FARTHEST = 20.0, 38.0
"""Half-widths, in standard deviations, of integrals over one variable: at least and at
most. The density is 1e-314 at the last,"""

STEP = 0.25
"""and this far apart are the values that tell how far an energy reaches,"""

FALL = 42.0
"""which ends where it has fallen by so many natural logarithms, to 1e-18."""

OUTSIDE = (
    "`depth` must keep moments within float64 where they are tabulated, but those of {}"
    " leave it below length {:.3g}. Use fewer layers or shorter inputs."
)

VANISHED = (
    "`depth` must leave lengths at which the activation has digits, but values of {} at"
    " length {:.3g} are zero in double precision. Use fewer layers, longer inputs or"
    " `activation.normalized()`."
)


@lru_cache(maxsize=4096)
def reach_of(activation: Activation, r: float) -> float | None:
    """Return the standard deviations within which the energy of s(r Z) lies.

    20 but for functions that grow like exponentials, or overflow before. None if the
    energy does not lie within float64.
    """
    z = np.arange(0.0, FARTHEST + STEP, STEP)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        size = np.abs(activation._value(r * z)) + np.abs(activation._value(-r * z))
        log = 2.0 * np.log(size) - 0.5 * z * z
    finite = int(np.isfinite(size).cumprod().sum())
    inside = np.flatnonzero(log[:finite] > log[:finite].max(initial=-math.inf) - FALL)
    if not len(inside):
        return None
    # A panel more: values are a step apart. Beyond the last all is nothing.
    needed, last = z[inside[-1]] + 1.0, z[finite - 1]
    if needed > last and inside[-1] == finite - 1:
        return None
    return max(min(math.ceil(needed), last), min(NEAR, math.floor(last)))


def reach(activation: Activation, r: float) -> float:
    """Return what `reach_of` does.

    Raises
    ------
    ValueError
        If the energy does not lie within float64.
    """
    found = reach_of(activation, r)
    if found is None:
        with np.errstate(over="ignore", invalid="ignore"):
            values = activation._value(r * np.linspace(-NEAR, NEAR, 9))
        text = OUTSIDE if np.any(values) else VANISHED
        raise ValueError(text.format(activation.name, r))
    return found
