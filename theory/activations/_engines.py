"""Duals of two activations without a formula: by Hermite series, or by quadrature."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import duals, gaussian
from theory.activations.function import ORDER

Array = npt.NDArray[np.float64]

FEW = 5
"""A polynomial's degree from which on a single power is faster."""

PARSEVAL = 1e-13
"""Share of the slope's energy that a series may miss."""

PANELS = 512
"""Panels of the axis, at most, of a dual by quadrature in the plane: the work, seconds
there, is their square. The catalogue needs a hundred at any variance."""


def series(a: Any, b: Any) -> duals.Engine | None:
    """Return the series of a_k b_k rho^k; None where its tail is not rounding."""
    x = a._series_coefficients()
    p = x * (x if a == b else b._series_coefficients())
    # Geometric tails: the last entries bound what is missing, relative to the slope.
    k = np.arange(len(p))
    scale = float(k @ np.abs(p))
    if float(np.abs(p[-40:]).max()) * ORDER**2 > 1e-17 * scale:
        return None
    # Energy beyond the last order, which a tail of zeros does not show, is missed.
    for f, c in ((a, x),) if a == b else ((a, x), (b, b._series_coefficients())):
        energy = f.derivative_second_moment
        if not abs(float(k @ (c * c)) - energy) <= PARSEVAL * energy:
            return None
    last = int(np.max(np.nonzero(k * np.abs(p) > 1e-19 * scale)[0], initial=1))
    return sum_of(p[: last + 1])


def sum_of(p: Array) -> duals.Engine:
    """Return the engine of sum_k p_k rho^k."""
    terms = np.flatnonzero(p)
    if len(terms) == 1 and terms[0] >= FEW:
        return duals.Monomial(float(p[terms[0]]), int(terms[0]))
    return duals.Series(tuple(p.tolist()))


def tabulated(a: Any, b: Any) -> duals.Engine:
    """Integrate the slope E a'(X) b'(Y), which is tabulated in the angle."""
    edges = np.union1d(a._edges(20.0), b._edges(20.0))
    if len(edges) > PANELS:
        raise ValueError(
            f"{a.name}.dual: `var_x` and `var_y` must leave an activation that {PANELS}"
            f" panels resolve, but it oscillates so often that it needs {len(edges)}."
        )
    x, w = gaussian.rule(np.union1d(edges, -edges))
    centred = a._value(x) - a.mean
    f = duals.Broken(a.derivative._value, a.kinks, a.derivative._edges)
    g = f if a == b else duals.Broken(b.derivative._value, b.kinks, b.derivative._edges)
    return duals.Tabulated.build(
        (f, g),
        who=f"{a.name}.dual",
        size=math.sqrt(a.variance * b.variance),
        mean=a.mean * b.mean,
        at_one=math.fsum(w * centred * (b._value(x) - b.mean)),
        at_minus_one=math.fsum(w * centred * (b._value(-x) - b.mean)),
    )
