"""Panels that shrink towards points where a function is steep, and coordinates on them.

Next to a point where a slope is infinite a function is a power or a logarithm of the
distance u, and what it is multiplied with is analytic. In log u both are entire: panels
whose ends are at distances of a large ratio are resolved by few nodes, spaced evenly in
log u, where panels of even spacing would have to be halved.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from theory._panel_edges import LEFT, NODES, ladders, thinned

Array = npt.NDArray[np.float64]
Side = tuple[float, float]
"""A point, and 1 or -1 for the side of it on which a function is steep."""

DEEP = 2.0**12
"""Ratio of the distances of the first and the last panel that shrink to a steep point."""

FALL = 0.25
"""Power of the distance from a steep point with which integrals up to there fall: a third
for the cube root, whose slope is integrable and no more."""

POWER = 16
"""Of s on the last panel of a rule: a slope like u^(-3/4) becomes one like s^3, which is
integrated to 1e-9 of what is left there."""


def graded(edges: Array, kinks: Iterable[float]) -> tuple[Array, Array, list[Side]]:
    """Replace panels that are halved towards a kink by some for even spacing in log u.

    Returns the edges, those of them that belong to no ladder, and the steep sides.

    Examples
    --------
    >>> edges = np.array([0.0, *2.0 ** np.arange(-30.0, 3.0)])
    >>> every, rest, sides = graded(edges, [0.0])
    >>> len(every) < 12, rest.tolist(), sides
    (True, [0.0, 4.0], [(0.0, 1.0)])
    """
    ends = sorted(kinks)
    drop = np.zeros(len(edges), dtype=bool)
    sides: list[Side] = []
    rungs: list[float] = []
    for c, sign, at, u in ladders(edges, ends):
        if u.size and u[-1] > DEEP * u[0]:
            drop[at[:-1]] = True
            sides.append((c, sign))
            rungs += [c + sign * v for v in _ladder(float(u[0]), float(u[-1]))]
    rest = thinned(edges[~drop], ends)
    return np.unique(np.concatenate([rest, rungs])), rest, sides


def next_to(edges: Array, kinks: Iterable[float]) -> Array:
    """Return the other ends of panels that end at a kink.

    Examples
    --------
    >>> next_to(np.array([-1.0, 0.0, 0.5, 2.0]), [0.0]).tolist()
    [-1.0, 0.5]
    """
    at = np.flatnonzero(np.isin(edges, list(kinks)))
    return edges[np.concatenate([at[at > 0] - 1, at[at < len(edges) - 1] + 1])]


def _ladder(bottom: float, top: float) -> list[float]:
    """Distances from `bottom` to below `top`, ratios as large as the rule bears.

    With another singularity twice as far out as a panel ends, of half width h in log u,
    the integrand is analytic in the ellipse through 1 + log(2)/h.
    """
    out, u = list[float](), top
    while True:
        ellipse = (min(u, 1.0) ** FALL / LEFT) ** (0.5 / NODES)
        beyond = max(0.5 * (ellipse + 1.0 / ellipse) - 1.0, 0.1)
        u *= math.exp(-2.0 * math.log(2.0) / beyond)
        if u <= bottom:
            return [*out, bottom]
        out.append(u)


def distances(low: Array, high: Array, sides: Sequence[Side]) -> Array:
    """Return the distance of panels from the nearest steep point they are on the side of.

    Negative, -0.0 too, where the point is on the right; infinite where there is none.
    """
    out = np.full(np.shape(low), np.inf)
    for c, sign in sides:
        d = low - c if sign > 0.0 else c - high
        out = np.where((d >= 0.0) & (d < np.abs(out)), sign * d, out)
    return out


def nearer(d: Array, e: Array) -> Array:
    """Return of two such distances the shorter one."""
    return np.where(np.abs(e) < np.abs(d), e, d)


def spaced(width: Array, d: Array, s: Array, power: int = 1) -> tuple[Array, Array]:
    """Return distances from the near end at shares s in [0, 1], and their derivatives.

    The near end is that towards the steep point. Evenly spaced in the logarithm of the
    distance from it, d + ..., evenly where d is infinite, and as a power where it is 0: for
    a polynomial the first, as one in s would be unbounded where s^power is.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        u = np.abs(d)
        long = np.log1p(width / u)
        out = u * np.expm1(s * long)
        slope = long * (u + out)
    even, last = np.isinf(u), u == 0.0
    out = np.where(last, width * s**power, np.where(even, width * s, out))
    slope = np.where(last, power * width * s ** (power - 1), slope)
    return out, np.where(even, width, slope)


def share(offset: Array, width: Array, d: Array) -> Array:
    """Return s of distances from the near end, the inverse of `spaced` of power 1."""
    with np.errstate(invalid="ignore", divide="ignore"):
        u = np.abs(d)
        whole = offset / width
        out = np.where(np.isinf(u), whole, np.log1p(offset / u) / np.log1p(width / u))
        return np.where(u == 0.0, whole, out)


def rungs(sides: Sequence[Side], reach: float) -> list[float]:
    """Return ends of panels that shrink to steep points from within `reach`, by 32."""
    out = list[float]()
    for c, sign in sides:
        apart = [abs(c - d) for d, _ in sides if d != c]
        top = 0.5 * min([1.0, reach, *apart])
        bottom = max(2.0**-100, 2.0**-46 * abs(c))
        count = max(0, math.ceil(math.log2(top / bottom) / 5.0))
        out += [c + sign * top * 2.0 ** (-5 * k) for k in range(count + 1)]
    return out
