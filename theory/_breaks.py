"""Where a function stops being smooth: kinks located by the polynomials on both sides."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory._chebyshev import chebyshev, nodes

Array = npt.NDArray[np.float64]
Function = Callable[[Array], Array]

NODES = 16
"""Chebyshev nodes of a panel."""

_TO_POWERS = np.zeros((NODES, NODES))
"""Row n: T_n(1 - 2 v) in powers of -v, from n 4^k (n + k - 1)! / ((n - k)! (2k)!)."""
_TO_POWERS[0, 0] = 1.0
for _n in range(1, NODES):
    for _k in range(_n + 1):
        _TO_POWERS[_n, _k] = (_n * 4**_k * math.factorial(_n + _k - 1)) // (
            math.factorial(_n - _k) * math.factorial(2 * _k)
        )

EPS = float(np.finfo(np.float64).eps)
CERTAIN = 20.0
"""Times the rounding by which a derivative has to jump."""

HIGHEST = 4
"""Derivatives in which a jump is looked for."""

WIDE = 32.0
"""Smooth range on both sides over the width of the panel that holds the kink."""

FAR = 1.0 / 64.0
"""Ranges over the reach that are looked at besides the widest."""


@dataclass(frozen=True)
class Break:
    """A point where the derivative of this order jumps by `gap`, the function for 0."""

    at: float
    order: int
    gap: float


def series(
    f: Function, low: Array, high: Array, n: int = NODES, *, exact: bool = False
) -> Array:
    """Return the n Chebyshev coefficients (panels, n) of f on [low, high].

    Exactly they are those of the polynomial through the points that nodes are rounded to.
    """
    points = nodes(n)
    half = 0.5 * (high - low)
    # From the nearer end, so that panels next to a kink at zero keep their digits.
    x = np.where(
        points < 0.0,
        low[:, None] + half[:, None] * (1.0 + points),
        high[:, None] - half[:, None] * (1.0 - points),
    )
    with np.errstate(all="ignore"):
        values = np.asarray(f(x.ravel()), dtype=np.float64).reshape(x.shape)
        values = np.where(np.isfinite(values), values, np.nan)
        if not exact:
            # Less a value: rounding of the transform is that of what varies.
            first = values[:, :1]
            c = (values - first) @ chebyshev(n).T
            c[:, :1] += first
            return c
        low, high = low[:, None], high[:, None]
        y = ((x - low) - (high - x)) / (high - low)
        powers = np.polynomial.chebyshev.chebvander(y, n - 1)
        solved = np.linalg.solve(powers, values[..., None])[..., 0]
        return solved.astype(np.float64, copy=False)


def largest_gap(f: Function, low: Array, high: Array, c: Array) -> Array:
    """Return the largest difference of f and its series at points between the nodes."""
    # Irregular points: those of a grid may all miss a feature that is periodic.
    y = np.cos(np.pi * np.modf(np.arange(1, 129) * 0.5 * (math.sqrt(5.0) - 1.0))[0])
    x = 0.5 * (low + high)[:, None] + 0.5 * (high - low)[:, None] * y
    with np.errstate(all="ignore"):
        values = np.asarray(f(x.ravel()), dtype=np.float64).reshape(x.shape)
        read = np.polynomial.chebyshev.chebval(y, c.T)
        return np.abs(values - read).max(axis=1)


@dataclass(frozen=True)
class _Side:
    """The polynomial on one side, as a function of (x - end) / width."""

    taylor: Array  # derivatives over factorials at the end next to the kink
    noise: Array  # and their rounding
    width: float

    def at(self, u: float, order: int) -> float:
        """Return the derivative of this order over order! at `u` widths from the end."""
        k = np.arange(order, NODES)
        binomial = np.array([math.comb(int(j), order) for j in k], dtype=float)
        return float(np.sum(self.taylor[order:] * binomial * u ** (k - order)))


def _side(f: Function, end: float, width: float, noise: float) -> _Side | None:
    """Resolve f on [end, end + width], or downwards for a negative width."""
    low, high = sorted((end, end + width))
    c = series(f, np.array([low]), np.array([high]))[0]
    if not np.isfinite(c).all():
        return None
    slope = float(np.abs(c[1:]).sum()) / abs(width)
    size = float(np.abs(c).max()) + max(abs(low), abs(high)) * slope
    error = max(float(np.abs(c[-3:]).max()), EPS * size)
    if error > noise * size:
        return None
    c = np.where(np.abs(c) > 2.0 * error, c, 0.0)
    degree = max(int(np.max(np.nonzero(c)[0], initial=0)), 1)
    # Powers of the distance from the end next to the kink: at the other side's end they
    # are tiny, so that nothing cancels.
    powers = np.arange(NODES)
    if width > 0.0:
        taylor = (-1.0) ** powers * ((c * (-1.0) ** powers) @ _TO_POWERS)
    else:
        taylor = c @ _TO_POWERS
    grown = error * np.sqrt(np.square(_TO_POWERS[: degree + 1]).sum(axis=0))
    return _Side(taylor, np.maximum(grown, EPS * size), abs(width))


def locate(
    f: Function, low: float, high: float, reach: float, noise: float
) -> Break | None:
    """Find the kink in or next to the panel [low, high], or nothing if there is none.

    Both sides have to be smooth over `WIDE` widths of the panel. The kink is where the
    two polynomials first agree: at a simple root of their difference for a jump of the
    slope, of the difference's (m - 1)-st derivative for a jump of the m-th. Of several m
    that rounding allows the highest counts: shifted by a rounding e, a double root is two
    simple ones, sqrt(e) away.
    """
    width = high - low
    left, right = low - 2.0 * width, high + 2.0 * width
    sides = _sides(f, left, right, WIDE * width, reach, 16.0 * EPS)
    sides = sides or _sides(f, left, right, WIDE * width, reach, max(noise, 64.0 * EPS))
    if not sides:
        return None
    bracket = right - left
    # The widest sides tell the order best, and narrower ones where f grows too much.
    telling = [both for both in sides if both[0].width >= FAR * reach] or sides[-1:]
    for (below, above), order in itertools.product(
        reversed(telling), range(HIGHEST, 0, -1)
    ):
        found = _meeting(below, above, bracket, order)
        if found is None:
            continue
        tried = (_meeting(*both, bracket, order) for both in sides)
        best = min(filter(None, tried), key=lambda met: met.error)
        if abs(best.offset - found.offset) > CERTAIN * found.error:
            # No polynomial is f there: what is steep meets where it is cut.
            return None
        at = left + best.offset
        return Break(_short(at, 4.0 * best.error + EPS * abs(at)), order, found.gap)
    below, above = sides[-1]
    wide = below.width
    jump = above.at(-0.5 * bracket / wide, 0) - below.at(0.5 * bracket / wide, 0)
    if abs(jump) <= CERTAIN * (below.noise[0] + above.noise[0]):
        return None
    return Break(_edge_of_jump(f, left, right, below, above), 0, abs(jump))


@dataclass(frozen=True)
class _Meeting:
    """Where two sides meet, behind the end of the lower, and by what they part there."""

    offset: float
    error: float
    gap: float


def _meeting(below: _Side, above: _Side, bracket: float, order: int) -> _Meeting | None:
    """Return where sides meet but for this derivative.

    Nothing, if the derivative does not jump by more than rounding, or a lower one does.
    """
    wide = below.width
    u = _root(below, above, bracket / wide, order)
    if u is None:
        return None
    orders = range(order + 1)
    gaps = [above.at(u - bracket / wide, i) - below.at(u, i) for i in orders]
    rounding = [below.noise[i] + above.noise[i] for i in orders]
    jumps = [abs(g) > CERTAIN * r for g, r in zip(gaps, rounding, strict=True)]
    if not jumps[order] or any(jumps[:order]):
        return None
    error = rounding[order - 1] / abs(order * gaps[order])
    return _Meeting(u * wide, error * wide, gaps[order])


def _reads(f: Function, side: _Side, end: float, width: float, least: float) -> bool:
    """Whether f is the polynomial at distances from `least` on, but for rounding."""
    u = 0.5 ** np.arange(0.5, max(math.log2(abs(width) / least), 0.0) + 1.0, 0.5)
    with np.errstate(all="ignore"):
        values = np.asarray(f(end + u * width), dtype=np.float64)
    sign = math.copysign(1.0, width)
    read = np.array([side.at(sign * float(v), 0) for v in u])
    return bool((np.abs(values - read) <= CERTAIN * side.noise[0]).all())


def _sides(
    f: Function, left: float, right: float, least: float, reach: float, noise: float
) -> list[tuple[_Side, _Side]]:
    """Return what f is on both sides, from the narrowest to the widest range."""
    out, wide = [], least
    # Upwards: a wide side could step over another kink between two of its nodes.
    while max(abs(left - wide), abs(right + wide)) <= reach:
        below = _side(f, left, -wide, noise)
        above = None if below is None else _side(f, right, wide, noise)
        if below is None or above is None:
            if out:
                break
        # Next to a zero f may round more than its values, as 1 - |x - 1| does.
        elif out or (
            _reads(f, below, left, -wide, least)
            and _reads(f, above, right, wide, least)
        ):
            out.append((below, above))
        else:
            break
        wide *= 2.0
    return out


def _root(below: _Side, above: _Side, bracket: float, order: int) -> float | None:
    """Root in [0, bracket] of the (order - 1)-st derivative of the sides' difference."""
    u = 0.5 * bracket
    for _ in range(8):
        value = above.at(u - bracket, order - 1) - below.at(u, order - 1)
        slope = order * (above.at(u - bracket, order) - below.at(u, order))
        if not slope or abs(value) > abs(slope) * 4.0 * bracket + 1e-300:
            return None
        u -= value / slope
    # The polynomials meet where the kink is up to their rounding.
    return u if -0.5 * bracket <= u <= 1.5 * bracket else None


def _edge_of_jump(
    f: Function, left: float, right: float, below: _Side, above: _Side
) -> float:
    """Halve between values that lie nearer to one side's polynomial or the other's."""
    low, high = left, right
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            # The first float that belongs above and the last below are neighbours.
            return _short(middle, high - low)
        value = float(np.asarray(f(np.array([middle])), dtype=np.float64)[0])
        under = below.at((middle - left) / below.width, 0)
        over = above.at((middle - right) / above.width, 0)
        if abs(value - under) < abs(value - over):
            low = middle
        else:
            high = middle


def _short(x: float, error: float) -> float:
    """Return the shortest decimal within the error of x."""
    if abs(x) <= error:
        return 0.0
    for digits in range(1, 17):
        near = float(f"{x:.{digits}g}")
        if abs(near - x) <= error:
            return near
    return x
