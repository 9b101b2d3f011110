"""Piecewise constants, lines and parabolas, recognised on all of their panels."""

import bisect
import itertools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from theory.activations._engines import rounding_of
from theory.activations._octaves import Octaves
from theory.activations.piecewise import PiecewisePolynomial
from theory.meshes import RESOLVED, Mesh

Array = npt.NDArray[np.float64]
Function = Callable[[Array], Array]

WIDEST = 1e4
"""Deviation of the widest Gaussian within whose reach the pieces are linear."""

ACCURATE = 1e-13
"""Error of a second derivative over the largest with which parabolas are known."""

FAR = 64.0
"""How far out the outer pieces are measured at least."""


def recognise(
    name: str, f: Function, slope: Function | None, octaves: Octaves
) -> PiecewisePolynomial | None:
    """Return the closed form of f, or nothing unless it has one.

    On every panel, out to the reach of a Gaussian of variance 1e8, the Chebyshev
    coefficients above the first order vanish to rounding, and the pieces between the kinks
    are constant or join; or those above the second, and the slopes join as well. Slopes of
    lines are those of the derivative where it is given.

    Raises
    ------
    ValueError
        If the derivative is another function's, of lines.
    """
    near = octaves.at(1.0)
    if not _is_polynomial(near, 2):
        return None
    try:
        wide = octaves.at(WIDEST)
    except ValueError:
        return None
    if wide.rough or not _is_polynomial(wide, 2):
        return None
    kinks = octaves.kinks(WIDEST)
    if not (_is_polynomial(near, 1) and _is_polynomial(wide, 1)):
        return _parabolas(name, f, slope, kinks, (near, wide))
    lines = _lines(f, slope, kinks)
    slopes = [s for _, _, s in lines]
    # Values on either side of every kink, from the points nearest to zero.
    at, joined = list[tuple[float, float]](), True
    for c, ((a, u, s), (b, v, t)) in zip(kinks, itertools.pairwise(lines), strict=True):
        below, above = s * (c - a), t * (c - b)
        at.append((u + below, v + above))
        rounding = 2.0 * RESOLVED * (abs(u) + abs(v) + abs(below) + abs(above))
        joined &= abs(v + above - (u + below)) <= rounding
    if joined:
        first = 0.0 if not kinks or kinks[0] > 0.0 else kinks[0]
        start = float(_at(f, first)) - slopes[0] * first
        bends = tuple(t - s for s, t in itertools.pairwise(slopes))
        out = PiecewisePolynomial(name, 1, (start, slopes[0]), kinks, bends)
    elif not any(slopes):
        jumps = tuple(v - u for u, v in at)
        out = PiecewisePolynomial(name, 0, (lines[0][1],), kinks, jumps)
    else:
        return None
    return out if _agrees(out, f, near) and not _blurred(out, octaves) else None


def _blurred(a: PiecewisePolynomial, octaves: Octaves) -> bool:
    """Whether rounding of values that hardly vary moves a kink that was found in them."""
    if not a.m or set(a.kinks) <= set(octaves.named):
        return False
    return rounding_of(a) > 5.0 * octaves.noise


def _is_polynomial(mesh: Mesh, degree: int) -> bool:
    size = np.abs(mesh.series[:, : degree + 1]).sum(axis=1)
    slope = 2.0 * np.abs(mesh.series[:, 1]) / np.diff(mesh.edges)
    size += np.maximum(np.abs(mesh.edges[1:]), np.abs(mesh.edges[:-1])) * slope
    rest = np.abs(mesh.series[:, degree + 1 :]).max(axis=1)
    return bool((rest <= RESOLVED * size).all())


def _parabolas(
    name: str,
    f: Function,
    slope: Function | None,
    kinks: tuple[float, ...],
    meshes: tuple[Mesh, ...],
) -> PiecewisePolynomial | None:
    """Return the closed form of parabolas that join with their slopes, or nothing.

    From f(0) and the slope there the pieces follow by the changes of f'' at the kinks.
    """
    far = 4.0 * max([1.0, *map(abs, kinks)])
    ends = [-far, *kinks, far]
    bends, errors = zip(*(_bend(f, *e) for e in itertools.pairwise(ends)), strict=True)
    if max(errors) > ACCURATE * max(map(abs, bends)):
        return None
    # Not beyond one: what f'' adds to far values hides the slope at zero.
    first = bisect.bisect_left(kinks, 0.0)
    low, high = max(ends[first], -1.0), min(ends[first + 1], 1.0)
    start, bottom, top = (_at(f, x) for x in (0.0, low, high))
    rise = (top - bottom) / (high - low) - 0.5 * bends[first] * (low + high)
    if abs(rise) * (high - low) <= RESOLVED * (abs(top) + abs(bottom)):
        rise = 0.0
    poly = np.array([start, rise, 0.5 * bends[0]])
    jumps = [t - s for s, t in itertools.pairwise(bends)]
    for c, jump in zip(kinks[:first], jumps[:first], strict=True):
        poly[:2] -= 0.5 * jump * np.array([c * c, -2.0 * c])
    out = PiecewisePolynomial(name, 2, tuple(poly.tolist()), kinks, tuple(jumps))
    if not all(_agrees(out, f, mesh) for mesh in meshes):
        return None
    known = out.derivative
    assert isinstance(known, PiecewisePolynomial)
    if slope is not None and not _agrees(known, slope, meshes[0]):
        return None
    return out


def _bend(f: Function, low: float, high: float) -> tuple[float, float]:
    """Return the second derivative of a piece, and what rounding of f may make of it."""
    x = low + (high - low) * np.array([0.125, 0.5, 0.875])
    y = np.asarray(f(x), dtype=np.float64)
    steps = np.diff(y) / np.diff(x)
    bend = 2.0 * float((steps[1] - steps[0]) / (x[2] - x[0]))
    error = 4.0 * RESOLVED * float(np.abs(y).max()) / (high - low) ** 2
    return (bend, error) if abs(bend) > error else (0.0, 0.0)


def _at(f: Function, x: float) -> float:
    return float(np.asarray(f(np.array([x])), dtype=np.float64)[0])


def _lines(
    f: Function, slope: Function | None, kinks: tuple[float, ...]
) -> list[tuple[float, float, float]]:
    """Return (x, f(x), f') of every piece, x the point measured that is nearest zero."""
    far = max([FAR, *(4.0 * abs(c) for c in kinks)])
    out: list[tuple[float, float, float]] = []
    for low, high in itertools.pairwise([-far, *kinks, far]):
        x = low + (high - low) * np.array([0.125, 0.375, 0.625, 0.875])
        y = np.asarray(f(x), dtype=np.float64)
        s = float((y[-1] - y[0]) / (x[-1] - x[0]))
        if slope is not None:
            given = float(np.median(np.asarray(slope(x), dtype=np.float64)))
            size = float(np.abs(y).max()) / (high - low)
            if not abs(given - s) <= 1e-6 * (abs(s) + abs(given)) + 1e-12 * size:
                raise ValueError(
                    "from_function: `derivative` must be that of f, but between"
                    f" {low:.6g} and {high:.6g} it is {given:.6g} and f rises by {s:.6g}."
                )
            # Automatic differentiation may have constants in single precision.
            s = given if abs(given - s) <= 1e-12 * size else s
        k = int(np.argmin(np.abs(x)))
        out.append((float(x[k]), float(y[k]), s))
    return out


def _agrees(a: PiecewisePolynomial, f: Function, mesh: Mesh) -> bool:
    """Compare the closed form with f inside every panel."""
    x = 0.5 * (mesh.edges[1:] + mesh.edges[:-1])
    y = np.asarray(f(x), dtype=np.float64)
    top = (math.factorial(a.m) * p for p in a.poly[a.m :])
    steepest = max(map(abs, itertools.accumulate((*top, *a.jumps))), default=0.0)
    if a.m == 2:
        steepest *= max([1.0, *map(abs, a.kinks)])
        steepest = steepest + np.abs(a.derivative._value(x))
    size = np.abs(y) + steepest * (1.0 + np.abs(x))
    return bool((np.abs(a._value(x) - y) <= 64.0 * RESOLVED * size).all())
