r"""Interval certificates: bounds proved at every real point of a box.

A box is a product of closed intervals with float64 ends. `minimum` and `maximum` split
it into smaller ones that share their ends, so that the union of the leaves is the box
itself, and evaluate the function on each with python-flint's ball arithmetic: the
ball that comes back contains every value on the leaf, rounding included.

Three devices make the cover finite where a plain subdivision would not end:

- a partial derivative of constant sign on a leaf moves the extremum to its face, and a
  mean value form shrinks the overestimation quadratically (`partial`);
- at a point where the statement is an equality, `quotient` divides the vanishing factor
  out, as a Taylor coefficient on the hull of the box and the point;
- an unbounded range is mapped onto a bounded one by the caller, who gives the function
  its limit there, or is left to an argument on the tail.
"""

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import flint

from verify.compare import Enclosure

Interval = tuple[float, float]
Box = tuple[Interval, ...]
Function = Callable[..., Any]
"""Takes one ball per coordinate and returns a ball; for `partial`, also jets."""

BITS = 160
"""Precision of all balls: 48 digits, far below any width of interest."""


def ball(interval: Interval) -> Any:
    """Return a ball that contains the interval.

    >>> ball((0.5, 1.5)).contains(flint.arb("1.25"))
    True
    """
    low, high = interval
    return flint.arb(low) if low == high else flint.arb(low).union(flint.arb(high))


def below(x: Any) -> float:
    """Return a float64 below the ball, -inf if the ball is not finite.

    >>> below(flint.arb(1) / 3) < 1 / 3
    True
    """
    if not x.is_finite():
        return -math.inf
    low = x.lower()
    near = float(low)
    # An exact end stays exact: a sharp bound is attained there.
    return near if flint.arb(near) <= low else math.nextafter(near, -math.inf)


def above(x: Any) -> float:
    """Return a float64 above the ball, inf if the ball is not finite."""
    return -below(-x)


def jet(function: Function, box: Sequence[Any], axis: int, order: int) -> Any:
    """Return the Taylor coefficients in one coordinate as a list of balls.

    Entry k encloses the k-th derivative over k! at every point of the box. It is NaN
    where the function's series ends before: a division by ``x`` at 0 costs a term.

    >>> [round(float(c)) for c in jet(lambda x: x * x, [flint.arb(3)], 0, 2)]
    [9, 6, 1]
    """
    arguments = list(box)
    with flint.ctx.workprec(BITS):
        arguments[axis] = flint.arb_series([box[axis], 1], order + 1)
        with _cap(order + 1):
            value = function(*arguments)
        if not isinstance(value, flint.arb_series):
            return [value, *([flint.arb(0)] * order)]
        # Beyond its precision a series reads as zero.
        known = min(int(value.prec), order + 1)
        return [
            *(flint.arb(value[k]) for k in range(known)),
            *([flint.arb.nan()] * (order + 1 - known)),
        ]


class _cap:
    """Series truncated at `length` terms: the context's default is ten."""

    def __init__(self, length: int) -> None:
        self.length, self.before = length, int(flint.ctx.cap)

    def __enter__(self) -> None:
        flint.ctx.cap = self.length

    def __exit__(self, *_: object) -> None:
        flint.ctx.cap = self.before


def ratio(above_line: Any, below_line: Any) -> Any:
    """Divide balls or jets; not finite where the denominator may vanish.

    A series refuses to divide by one whose leading ball contains zero, and by one whose
    leading ball is zero it divides without saying how much is known; on a box that is
    still too wide that is no error but the absence of a bound.
    """
    series = flint.arb_series
    lead = below_line[0] if isinstance(below_line, series) else below_line
    if not (lead > 0 or lead < 0):
        if isinstance(above_line, series) or isinstance(below_line, series):
            length = int(flint.ctx.cap)
            return series([flint.arb.nan()] * length, length)
        return flint.arb.nan()
    return above_line / below_line


def partial(function: Function, axis: int) -> Function:
    """Return the partial derivative, by a jet: exact up to the enclosure's width."""
    return lambda *box: jet(function, box, axis, 1)[1]


def quotient(function: Function, point: Any, order: int) -> Function:
    r"""Return ``f(x) / (x - point)^order`` for an f that vanishes to that order.

    In its first argument; it may have others. By Taylor's theorem the quotient at x is
    ``f^{(order)}(xi) / order!`` for a xi between x and the point (the lower derivatives
    vanish there, which the caller knows), so the jet on the hull of the box and the
    point encloses it. Away from the point the division itself is tighter.

    >>> square = quotient(lambda x: (x - 1) * (x - 1), flint.arb(1), 2)
    >>> round(float(square(flint.arb(1))), 12)
    1.0
    """

    def value(*box: Any) -> Any:
        gap = box[0] - point
        if isinstance(gap, flint.arb_series):
            raise TypeError("quotient: has no jet; give `minimum` no derivatives")
        away = None
        if not gap.contains(flint.arb(0)):
            away = function(*box) / gap**order
        hull = (box[0].union(point), *box[1:])
        near = jet(function, hull, 0, order)[order]
        if away is None or not near.is_finite():
            return near if away is None else away
        return near.intersection(away) if away.is_finite() else near

    return value


@dataclass(frozen=True)
class Cover:
    """A cover of a box by leaves, with a bound of the function on each.

    `lower` and `upper` enclose the minimum over the box; `bounds[i]` is at most every
    value on `leaves[i]`.
    """

    leaves: tuple[Box, ...]
    bounds: tuple[float, ...]
    lower: float
    upper: float

    def enclosure(self, covers: str) -> Enclosure:
        """Return the enclosure for a claim's record."""
        return Enclosure(self.lower, self.upper, covers, len(self.leaves))


def minimum(
    function: Function,
    box: Box,
    *,
    gradient: Sequence[Function] | None = None,
    tolerance: float = 1e-9,
    target: float | None = None,
    budget: int = 20_000,
) -> Cover:
    """Enclose the minimum of a function over a box, by branch and bound.

    Parameters
    ----------
    function : callable
        One ball per coordinate; returns a ball that contains every value.
    box : tuple of (float, float)
        The closed intervals.
    gradient : sequence of callable, optional
        Partial derivatives, for the mean value form and the monotonicity test; they
        take the same arguments. See `partial`.
    tolerance : float
        Stop when the enclosure is that narrow.
    target : float, optional
        Stop as soon as the minimum is known to be at least this, or below it.
    budget : int
        Leaves at most; the enclosure is then what has been reached, still rigorous.

    Returns
    -------
    Cover
        ``lower <= min f <= upper``.

    Raises
    ------
    ValueError
        If an interval is empty or not finite.

    Examples
    --------
    >>> cover = minimum(lambda x: x * (1 - x), ((0.0, 1.0),), tolerance=1e-3)
    >>> cover.lower <= 0.0 <= cover.upper
    True
    """
    for low, high in box:
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise ValueError(f"minimum: `box` must have finite ends, got {box}")
    with flint.ctx.workprec(BITS):
        # Of both halves: bounds ask for it again.
        centre = lru_cache(2)(lambda part: function(*map(ball, _middle(part))))
        bound = _bounder(function, gradient, centre)
        upper = min(above(function(*map(ball, corner))) for corner in _points(box))
        heap = [(bound(box), box)]
        while len(heap) < budget:
            lower = heap[0][0]
            if lower >= upper - tolerance or not math.isfinite(upper):
                break
            if target is not None and (lower >= target or upper < target):
                break
            _, worst = heap[0]
            halves = _halves(worst, box)
            if halves is None:
                break
            for half in halves:
                upper = min(upper, above(centre(half)))
            # A bound of the whole holds on its parts.
            first, second = ((max(lower, bound(half)), half) for half in halves)
            heapq.heapreplace(heap, first)
            heapq.heappush(heap, second)
        ordered = sorted(heap, key=lambda leaf: leaf[1])
        return Cover(
            tuple(leaf for _, leaf in ordered),
            tuple(low for low, _ in ordered),
            heap[0][0],
            max(upper, heap[0][0]),
        )


def maximum(function: Function, box: Box, **options: Any) -> Cover:
    """Enclose the maximum; the cover's bounds are then upper ones. See `minimum`."""
    gradient = options.pop("gradient", None)
    if gradient is not None:
        gradient = [_negative(g) for g in gradient]
    target = options.pop("target", None)
    if target is not None:
        options["target"] = -target
    cover = minimum(_negative(function), box, gradient=gradient, **options)
    return Cover(
        cover.leaves, tuple(-b for b in cover.bounds), -cover.upper, -cover.lower
    )


def gaps(cover: Cover, interval: Interval) -> Iterator[Interval]:
    """Yield the parts of an interval that a one-dimensional cover misses."""
    ends = sorted(leaf[0] for leaf in cover.leaves)
    if not ends:
        yield interval
        return
    if ends[0][0] > interval[0]:
        yield interval[0], ends[0][0]
    for (_, high), (low, _) in pairwise(ends):
        if low > high:
            yield high, low
    if ends[-1][1] < interval[1]:
        yield ends[-1][1], interval[1]


def _negative(function: Function) -> Function:
    return lambda *box: -function(*box)


def _bounder(
    function: Function,
    gradient: Sequence[Function] | None,
    centre: Callable[[Box], Any],
) -> Callable[[Box], float]:
    def plain(box: Box) -> float:
        return below(function(*map(ball, box)))

    def refined(box: Box) -> float:
        assert gradient is not None
        balls = [ball(side) for side in box]
        slopes = [slope(*balls) for slope in gradient]
        face = list(box)
        for axis, slope in enumerate(slopes):
            if slope >= 0:
                face[axis] = (box[axis][0], box[axis][0])
            elif slope <= 0:
                face[axis] = (box[axis][1], box[axis][1])
        # The minimum lies on the face; bound it plainly and by the mean value form.
        value = centre(tuple(face))
        for slope, side in zip(slopes, face, strict=True):
            value += slope * (ball(side) - flint.arb(_centre(side)))
        return max(below(value), plain(tuple(face)))

    return plain if gradient is None else refined


def _centre(side: Interval) -> float:
    return side[0] + (side[1] - side[0]) / 2.0


def _middle(box: Box) -> Box:
    return tuple((_centre(side), _centre(side)) for side in box)


def _points(box: Box) -> list[Box]:
    low = tuple((side[0], side[0]) for side in box)
    high = tuple((side[1], side[1]) for side in box)
    return [low, high, _middle(box)]


def _halves(box: Box, whole: Box) -> tuple[Box, Box] | None:
    """Split the coordinate that is widest relative to the whole, if floats allow."""

    def share(axis: int) -> float:
        width = whole[axis][1] - whole[axis][0]
        return (box[axis][1] - box[axis][0]) / width if width else 0.0

    axis = max(range(len(box)), key=share)
    low, high = box[axis]
    centre = _centre(box[axis])
    if not low < centre < high:
        return None
    return (
        (*box[:axis], (low, centre), *box[axis + 1 :]),
        (*box[:axis], (centre, high), *box[axis + 1 :]),
    )
