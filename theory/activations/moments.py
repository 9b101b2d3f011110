r"""Moments by quadrature on the panels that the function and the Gaussian both need.

At the variance q the map of lengths is :math:`E\,s(\sqrt q Z)^2`. As a function of
log q it is analytic in the strip of half-width pi/2, because the density of
:math:`\sqrt q Z` is: many values are read from Chebyshev series on panels of width 2.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from theory import gaussian
from theory._cached import cached_property
from theory._chebyshev import chebyshev, nodes

Array = npt.NDArray[np.float64]

FEW = 64
"""Lengths up to this many are computed one by one."""

REACHES = (20.0, 37.0)
"""Half-widths of the axis that are tried; the density is 1e-298 at the last."""

NEAR = 12.0
"""One that is tried before for squares and slopes: enough unless they grow fast."""

TAIL = 1e-17
"""Share of the energy that may lie within two of the end of the axis."""

NODES = 32
"""Of a panel of log q of width 2: the Bernstein ellipse of semi-axis 1.5 leaves
(1.5 + sqrt(1 + 1.5^2))^-32 = 1e-17."""

STEEP = 100.0
"""Growth over a panel of which the least values would lose digits to the largest. The
logarithm is interpolated there, whose singularities are complex zeros, by so few or"""

MOST = 256
"""nodes, which leave its last coefficients below"""

LAST = 1e-14
"""of the largest."""

SMOOTH, NARROW = 6, 1e-3
"""Nodes of panels whose half-width over the deviation is below, which leaves 1e-18."""

TOGETHER = 1 << 16
"""Values at once for many lengths: their temporaries stay in cache."""


class Sampled(Protocol):
    """A function whose moments are integrated."""

    @property
    def name(self) -> str:
        """Name shown in messages."""
        ...

    def _value(self, x: Array) -> Array: ...

    def _rise(self, x: Array) -> tuple[Array, float]: ...

    def _bend(self, x: Array) -> Array: ...

    def _edges(self, reach: float) -> Array: ...


@dataclass(frozen=True, eq=False)
class Samples:
    """A function on nodes of the standard Gaussian, (n,) each.

    Attributes
    ----------
    of : Sampled
        The function s.
    x, w : array
        E g(Z) is ``w @ g(x)``.
    s : array
        The values s(x).
    """

    of: Sampled
    x: Array
    w: Array
    s: Array

    @cached_property
    def _rise(self) -> tuple[Array, float]:
        return self.of._rise(self.x)

    @cached_property
    def mean(self) -> float:
        """E s(Z)."""
        rise, start = self._rise
        return math.fsum([start, gaussian.total(self.w * rise)])

    @cached_property
    def linear(self) -> float:
        """E s(Z) Z."""
        return gaussian.total(self.w * self._rise[0] * self.x)

    @property
    def second_moment(self) -> float:
        """E s(Z)^2."""
        # In an order in which squares do not overflow.
        return gaussian.total(self.w * self.s * self.s)

    @property
    def variance(self) -> float:
        """E (s(Z) - E s(Z))^2."""
        rise, _ = self._rise
        about = rise - gaussian.total(self.w * rise)
        return gaussian.total(self.w * about * about)

    @property
    def rest(self) -> float:
        """E (s(Z) - a_0 - a_1 Z)^2."""
        k = self.of._bend(self.x)
        line = gaussian.total(self.w * k) + gaussian.total(self.w * k * self.x) * self.x
        return gaussian.total(self.w * (k - line) * (k - line))


class TooLarge(ValueError):
    """An activation grows so fast that a moment of it is not within float64."""


def sample(a: Sampled) -> Samples:
    """Evaluate an activation where its moments are integrated.

    Raises
    ------
    TooLarge
        If its energy is not inside the axis.
    """
    total = 0.0
    for reach in REACHES:
        x, w = gaussian.rule(a._edges(reach), reach)
        with np.errstate(over="ignore", invalid="ignore"):
            s = a._value(x)
            energy = w * s * s
            total = float(energy.sum())
        outside = float(energy[np.abs(x) > reach - 2.0].sum())
        if math.isfinite(total) and outside <= TAIL * total:
            return Samples(a, x, w, s)
    raise TooLarge(
        f"{a.name}: `var` must leave E s(sqrt(var) Z)^2 within float64, but the"
        f" activation grows too fast: {total:.3g} on |Z| < {REACHES[-1]:g}."
    )


def length_slope(s: Any) -> float:
    """Return E s(Z) s'(Z) Z of an activation: the slope of its map of lengths at 1."""
    total, reaches = 0.0, _reaches(s)
    for reach in reaches:
        x, w = gaussian.rule(_slope_edges(s, reach), reach)
        with np.errstate(over="ignore", invalid="ignore"):
            forms = _slope_forms(s, x, w * _by_parts(s, x))
            f = min(forms, key=lambda form: float(np.abs(form).sum()))
        total = float(np.abs(f).sum())
        outside = float(np.abs(f[np.abs(x) > reach - 2.0]).sum())
        if math.isfinite(total) and (len(reaches) == 1 or outside <= TAIL * total):
            return gaussian.total(f)
    raise TooLarge(
        f"{s.name}.length_map_derivative: `q` must leave E s(sqrt(q) Z)^2 within float64,"
        f" but the activation grows too fast: {total:.3g} on |Z| < {REACHES[-1]:g}."
    )


def _reaches(s: Any, last: float = REACHES[-1], unit: float = 1.0) -> tuple[float, ...]:
    """Return the half-widths to try: beyond a kink that is not reached s may be steep."""
    beyond = [abs(c) / unit for c in s.kinks if abs(c) / unit <= last]
    farthest = max(beyond, default=0.0)
    return tuple(v for v in (NEAR, *REACHES) if farthest <= v - 2.0) or REACHES[-1:]


def _slope_edges(s: Any, reach: float) -> Array:
    edges = s._edges(reach)
    return np.union1d(edges, s.derivative._edges(reach)) if s._has_slope else edges


def _slope_forms(s: Any, x: Array, weight: Array | float = 1.0) -> list[Array]:
    """Return functions that all have the mean E s s' x, times a weight; see `_by_parts`.

    The values of s and s' next to zero add nothing to it, but to its rounding.
    """
    value, (rise, start) = s._value(x), s._rise(x)
    if s._has_slope:
        slope, (bend, _) = s.derivative._value(x), s.derivative._rise(x)
        one, other = weight * value * slope, weight * rise * slope
        return [one * x, (other + weight * start * bend) * x]
    # E (Z^2 - 1) vanishes on each half of the axis, and s may jump at zero.
    near = np.where(x < 0.0, *s._rise(np.array([-1e-100, 1e-100]))[0])
    return [weight * value * value, weight * (rise - near) * (value + near + start)]


def _by_parts(s: Any, z: Array) -> Array | float:
    """Return the weight of these in E s s' x = E s^2 (Z^2 - 1) / 2."""
    return 1.0 if s._has_slope else 0.5 * (z * z - 1.0)


def lengths(a: Any, q: Array) -> Array:
    """Return E s(sqrt(q) Z)^2 for many q, (n,), from Chebyshev series in log q."""
    return _read(a, q, "value", lambda v: a._one(v).second_moment)


def length_slopes(a: Any, q: Array) -> Array:
    """Return its derivative in q."""
    return _read(a, q, "slope", lambda v: length_slope(a._one(v))) / q


def _read(a: Any, q: Array, by: str, alone: Callable[[float], float]) -> Array:
    u = 0.5 * np.log(q)
    cell = np.floor(u).astype(np.int64)
    out = np.empty_like(q)
    for j in np.unique(cell):
        at = cell == j
        found = _panel(a, int(j), by)
        if found is None:
            out[at] = [alone(v) for v in q[at].tolist()]
            continue
        c, steep = found
        y = 2.0 * (u[at] - float(j)) - 1.0
        read = np.polynomial.chebyshev.chebval(y, c)
        out[at] = np.exp(read) if steep else read
    return out


@lru_cache(maxsize=2048)
def _panel(a: Any, j: int, by: str) -> tuple[Array, bool] | None:
    """Chebyshev coefficients of E s(r Z)^2 or E s(r Z) s'(r Z) r Z, r = e^j to e^(j+1).

    Those of the logarithm, and True, where that is steep; nothing where no series is
    resolved, or a part of the panel leaves float64 or the axis.
    """
    for n in (NODES, MOST):
        y = nodes(n)
        try:
            total, _ = together(a, np.exp(j + 0.5 * (1.0 + y)), slope=by == "slope")
        except ValueError:  # what is needed of the panel may be within float64
            return None
        least = float(total.min())
        if not total.all():  # a part of which nothing is seen
            return None
        steep = 0.0 < least < total.max() / STEEP
        values = np.log(total) if steep else total
        c = chebyshev(n) @ values
        if not steep or np.abs(c[-3:]).max() <= LAST * max(1.0, np.abs(c).max()):
            return c, steep
    return None


def together(a: Any, r: Array, *, slope: bool = False) -> Array:
    """Return E s(r Z)^2, or E s(r Z) s'(r Z) r Z, for r within a few octaves, (2, n).

    By one rule for all of them: the function is evaluated once. The second row is the
    mean of the absolute values that are added up.

    Raises
    ------
    TooLarge
        If the energy is not inside the axis.
    """
    low, high = float(r.min()), float(r.max())
    # Of a kink at the end of the axis the energy would be outside.
    for reach in _reaches(a, REACHES[-1] - 4.0, high):
        top = reach * high
        count = math.ceil(top / low)
        own = low * np.arange(-count, count + 1, dtype=np.float64)
        wide = max(top, REACHES[0] * high)  # as far as rules of that Gaussian
        edges = np.union1d(own, _slope_edges(a, wide) if slope else a._edges(wide))
        edges = edges[np.abs(edges) <= top]
        x, w = gaussian.composite(edges)
        step = max(1, TOGETHER // len(r))
        with np.errstate(over="ignore", invalid="ignore"):
            if slope:
                forms = _slope_forms(a._scaled(low * low), x / low, w)
            else:
                forms = [w * a._value(x) ** 2]
            x, forms = _fewer(edges, x, forms, low)
            far = np.abs(x) > top - 2.0 * low
            sums = np.zeros((3, len(forms), len(r)))
            for at in (slice(i, i + step) for i in range(0, len(x), step)):
                z = x[at] / r[:, None]
                density = gaussian.pdf(z) / r[:, None]
                if slope:
                    density *= _by_parts(a, z)
                size, beyond = np.abs(density), far[at]
                for each, f in zip(sums.transpose(1, 0, 2), forms, strict=True):
                    each[0] += (density * f[at]).sum(axis=1)
                    each[1] += size @ np.abs(f[at])
                    each[2] += size[:, beyond] @ np.abs(f[at][beyond])
            # Of functions with the same means that of which most is left.
            total, size, outside = min(
                sums.transpose(1, 0, 2), key=lambda s: float(np.sum(s[1]))
            )
        if np.isfinite(total).all() and np.all(outside <= TAIL * size):
            return np.array([total, size])
    raise TooLarge(
        f"{a.name}.length_map: `q` must leave E s(sqrt(q) Z)^2 within float64, but the"
        f" activation grows too fast for {high * high:.3g}."
    )


def _fewer(
    edges: Array, x: Array, forms: list[Array], low: float
) -> tuple[Array, list[Array]]:
    """Move what narrow panels hold to a few nodes of each, by its moments.

    Densities of deviations from `low` on are polynomials of degree `SMOOTH` - 1 there.
    """
    half, middle = 0.5 * np.diff(edges), 0.5 * (edges[1:] + edges[:-1])
    narrow = half < NARROW * low
    fine, coarse = (
        np.polynomial.legendre.legvander(gaussian.legendre(n)[0], SMOOTH - 1)
        for n in (20, SMOOTH)
    )
    moved = fine @ np.linalg.inv(coarse)
    nodes = middle[narrow, None] + half[narrow, None] * gaussian.legendre(SMOOTH)[0]

    def joined(kept: Array, new: Array) -> Array:
        return np.concatenate([kept.reshape(-1, 20)[~narrow].ravel(), new.ravel()])

    return joined(x, nodes), [
        joined(f, f.reshape(-1, 20)[narrow] @ moved) for f in forms
    ]
