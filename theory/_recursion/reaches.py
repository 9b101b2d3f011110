"""How far out the energy of s(r Z) lies, and nodes that integrate it."""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from theory import gaussian, meshes
from theory.activations import Activation

Array = npt.NDArray[np.float64]

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


def rule_of(
    activation: Activation,
    r: Array,
    step: float = 0.5,
    nodes: int = meshes.NODES,
    *,
    mirrored: bool = False,
) -> tuple[Array, Array]:
    """Return z and w with ``E f(Z) = w @ f(z)`` for functions of s(r Z), at all r (m,).

    Panels are at most a `step` wide and end at the edges of s(r z), within `reach`. With
    `mirrored` at those of s(-r z) as well, and -z are the same nodes in falling order.
    """
    far = reach(activation, float(r.max()))
    grid = np.arange(-far, far + step, step)
    ends = [-far, far]
    each = [activation._scaled(v * v) for v in r.tolist()]
    own = [np.union1d(ends, a._edges(far)) for a in each]
    kinks = {c for a in each for c in a.kinks}
    edges = np.union1d(grid, meshes.merged(own, kinks))
    if mirrored:
        edges = np.union1d(edges, -edges)
    z, w = gaussian.composite(edges, nodes)
    return z, w * gaussian.pdf(z)
