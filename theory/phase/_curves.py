r"""Moments of pre-activations as functions of the log of their variance.

:math:`E\,f(\sqrt q Z)` with f >= 0 is analytic in log q wherever ``|Im log q| < pi/2``,
whatever f is: there the Gaussian density is at most ``(cos arg q)^(-1/2)`` times the one of
variance ``|q| / cos(arg q)``. On a panel of width one a Chebyshev series therefore
converges like ``6.4^-n``, and `NODES` terms leave rounding only, except where a moment
grows by many powers of ten within a panel; such a panel is halved.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _chebyshev, gaussian
from theory._cached import cached_property
from theory.activations import Activation, PiecewisePolynomial
from theory.activations.affine import split
from theory.activations.custom import FromFunction
from theory.activations.moments import TooLarge, together
from theory.activations.smooth import Smooth

Array = npt.NDArray[np.float64]

NODES = 20
LOW, HIGH = -37, 19
"""Range of log q: variances from 8.5e-17 to 1.8e8."""

FINEST = 5
"""How often a panel is halved."""

NOISE = 4e-15
"""Relative error of the tabulated moments: below it a difference has no sign."""

ROUNDING = 1e-14
"""Of a quadrature of what is positive and negative, over the size of that."""

UNRESOLVED = 1e-6
"""Last coefficients of a panel on which the moments are not to be relied on."""


def nodes(low: float, high: float, count: int = NODES) -> Array:
    """Return Chebyshev nodes of an interval."""
    return 0.5 * (low + high) + 0.5 * (high - low) * _chebyshev.nodes(count)


def basis(y: Array, count: int = NODES) -> Array:
    """Return the values at y of the polynomials that are one at one node, (..., count)."""
    # T_k(y) = cos(k arccos y), without a loop.
    angle = np.arccos(np.clip(y, -1.0, 1.0))
    return np.cos(angle[..., None] * np.arange(count)) @ _chebyshev.chebyshev(count)


@dataclass(frozen=True, eq=False)
class _Panel:
    """exp(p (t - middle)) times a series on each part of [k, k + 1]."""

    edges: Array  # (parts + 1,)
    rows: Array  # (parts, NODES)
    power: Array  # (parts,)

    def read(self, t: Array) -> tuple[Array, Array]:
        """Return the function and its derivative in t, at points of the panel."""
        i = np.searchsorted(self.edges[1:-1], t, side="right")
        low, high = self.edges[i], self.edges[i + 1]
        half, middle = 0.5 * (high - low), 0.5 * (low + high)
        y = (t - middle) / half
        rows = np.ascontiguousarray(self.rows.T)[:, i]
        # Clenshaw's recurrence, and its derivative in y.
        b1, b2, d1, d2 = (np.zeros_like(t) for _ in range(4))
        for c in rows[:0:-1]:
            d1, d2 = 2.0 * (b1 + y * d1) - d2, d1
            b1, b2 = 2.0 * y * b1 - b2 + c, b1
        value = y * b1 - b2 + rows[0]
        slope = (b1 + y * d1 - d2) / half
        growth = np.exp(self.power[i] * (t - middle))
        return growth * value, growth * (slope + self.power[i] * value)

    @classmethod
    def joined(cls, panels: Sequence["_Panel"]) -> "_Panel":
        """Return neighbours as one."""
        edges = [panels[0].edges, *(p.edges[1:] for p in panels[1:])]
        return cls(
            np.concatenate(edges),
            np.concatenate([p.rows for p in panels]),
            np.concatenate([p.power for p in panels]),
        )


@dataclass(eq=False)
class Curve:
    """A function of q, tabulated in t = log q panel by panel on demand.

    To rounding of its smallest value on a panel, or, with `signed`, of its largest. By a
    quadrature of what is positive and negative, to rounding of the smallest `size` of what
    is added up: a value that is no more than rounding of its own is zero.
    """

    function: Callable[[Array], Array]
    signed: bool = False
    size: Callable[[Array], Array] | None = None
    panels: dict[int, _Panel | None] = field(default_factory=dict[int, "_Panel | None"])
    runs: dict[tuple[int, int], _Panel] = field(
        default_factory=dict[tuple[int, int], "_Panel"]
    )

    def panel(self, k: int) -> _Panel | None:
        """Return the panel [k, k + 1]; None where the function is not known."""
        if k not in self.panels:
            self.panels[k] = self._build(float(k), float(k + 1), FINEST)
        return self.panels[k]

    def known_to(self, most: int) -> int:
        """Return the end of the range around or below log q = 0 on which it is known."""
        k = 0
        # What is not known of a variance takes long to find out, and no less of larger.
        while k < most and self.panel(k) is not None:
            k += 1
        while k > LOW + 1 and self.panel(k - 1) is None:
            k -= 1
        return k

    def _build(self, low: float, high: float, halvings: int) -> _Panel | None:
        panel, tail = self._series(low, high)
        if panel is None or tail <= 1e-13 or not halvings:
            return panel if tail < UNRESOLVED else None
        middle = 0.5 * (low + high)
        left = self._build(low, middle, halvings - 1)
        right = self._build(middle, high, halvings - 1)
        if left is None or right is None:
            return None
        return _Panel.joined([left, right])

    def _series(self, low: float, high: float) -> tuple[_Panel | None, float]:
        """Return one series and its last coefficients over the scale."""
        t = nodes(low, high)
        values = self.function(np.exp(t))
        if not np.isfinite(values).all():
            return None, math.inf
        size = np.zeros_like(t) if self.size is None else self.size(np.exp(t))
        values[np.abs(values) <= ROUNDING * size] = 0.0
        power, own = 0.0, values if self.size is None else size
        steep = own.min() > 1e-300
        if steep:
            power = math.log(own[0] / own[-1]) / float(t[0] - t[-1])
        growth = np.exp(power * (t - 0.5 * (low + high)))
        flat, sizes = values / growth, np.abs(own / growth)
        row = _chebyshev.chebyshev(NODES) @ flat
        relative = not self.signed or (steep and self.size is not None)
        scale = max(float(sizes.min() if relative else sizes.max()), 1e-300)
        panel = _Panel(np.array([low, high]), row[None, :], np.array([power]))
        return panel, float(np.abs(row[-3:]).max()) / scale

    def read(self, t: Array) -> tuple[Array, Array]:
        """Return the function and its derivative in t; infinite where it is not known."""
        value, slope = np.full(t.shape, np.inf), np.full(t.shape, np.inf)
        which = np.clip(np.floor(t), LOW, HIGH - 1).astype(int)
        known = [k for k in np.unique(which).tolist() if self.panel(k) is not None]
        breaks = [i for i in range(1, len(known)) if known[i] > known[i - 1] + 1]
        for i, j in itertools.pairwise([0, *breaks, len(known)]):
            if i < j:
                low, high = known[i], known[j - 1]
                mask = (which >= low) & (which <= high)
                value[mask], slope[mask] = self._run(low, high).read(t[mask])
        return value, slope

    def _run(self, low: int, high: int) -> _Panel:
        """Return neighbours on all of which the function is known as one panel."""
        if (low, high) not in self.runs:
            panels = [self.panels[k] for k in range(low, high + 1)]
            self.runs[low, high] = _Panel.joined([p for p in panels if p is not None])
        return self.runs[low, high]


@dataclass(eq=False)
class Moments:
    """Moments of one activation at every variance of pre-activations."""

    activation: Activation
    corners: dict[Any, Any] = field(default_factory=dict[Any, Any])
    """Tables of the correlation map, kept by `theory.phase._correlations`."""

    unresolved: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    """At which variances E s^2 is not known, and why: not where it is too large."""

    def at(self, q: float) -> Activation:
        """Return x -> s(sqrt(q) x)."""
        return self.activation._scaled(q)

    @cached_property
    def _by_values(self) -> bool:
        """Whether one rule on values of the function serves a panel of variances.

        Not where closed forms know more: far out on an exponential or a sine, and near
        zero where a shift takes the value there away.
        """
        a, _, shift = split(self.activation)
        if isinstance(a, FromFunction):
            return True
        closed = isinstance(a, Smooth) and a._energy(np.ones(1)) is not None
        return not (shift or closed)

    def _together(self, of: str) -> Callable[[Array], Array]:
        """Return E s^2, E s'^2, E s s' x or its size of variances within a panel."""

        def function(q: Array) -> Array:
            high = float(q.max())
            try:
                self.at(high)  # complains about what is not resolved
                if of == "slope":
                    # Panels on which slopes are known out there; short ones lose digits.
                    most = max(high, 1.0)
                    f = self.at(most).derivative
                    return together(f, np.sqrt(q / most))[0] / most
                found = together(self.activation, np.sqrt(q), slope=of != "value")
                return found[int(of == "size")]
            except TooLarge:
                return np.full(q.shape, np.inf)
            except ValueError as error:
                if of == "value":
                    self.unresolved.append((high, str(error)))
                return np.full(q.shape, np.inf)

        return function

    @cached_property
    def second(self) -> Curve:
        """E s(sqrt(q) Z)^2."""
        if self._by_values:
            return Curve(self._together("value"))
        return Curve(_each(self._resolved))

    def _resolved(self, q: float) -> float:
        """E s^2; infinite, with a note, where a function is not resolved that far out."""
        try:
            return self.at(q).second_moment
        except TooLarge:
            return math.inf
        except ValueError as error:
            self.unresolved.append((q, str(error)))
            return math.inf

    @cached_property
    def slope(self) -> Curve:
        """E s'(sqrt(q) Z)^2."""
        if self._by_values:
            return Curve(self._together("slope"))
        return Curve(_each(lambda q: self.at(q).derivative_second_moment / q))

    @cached_property
    def slope_noise(self) -> float:
        """Relative error of E s'^2: larger where slopes are taken from values."""
        a = self.activation._parts()[0]
        return 1e-12 if isinstance(a, FromFunction) and a.df is None else NOISE

    @cached_property
    def second_slope(self) -> Curve:
        """Derivative of E s^2 in log q, E s s'(sqrt(q) Z) sqrt(q) Z.

        A table of its own: that of E s^2 loses two digits when it is differentiated.
        """
        if self._by_values:
            sizes = self._together("size")
            return Curve(self._together("change"), signed=True, size=sizes)
        a = self.activation
        return Curve(
            _each(lambda q: q * float(a.length_map_derivative(q))), signed=True
        )

    @cached_property
    def _linear(self) -> PiecewisePolynomial | None:
        """The activation if it is piecewise linear, or a multiple of such, shifted."""
        a, scale, shift = split(self.activation)
        if not isinstance(a, PiecewisePolynomial) or a.m != 1:
            return None
        poly = (scale * sum(a.poly[:1]) + shift, *(scale * p for p in a.poly[1:]))
        jumps = tuple(scale * jump for jump in a.jumps)
        return PiecewisePolynomial(a.name, 1, poly, a.kinks, jumps)

    def slopes(self, q: Array) -> Array:
        """Return E s'^2, by closed forms of kinks so far out that no table sees them."""
        out = self.slope.read(np.log(q))[0]
        if self._linear is not None:
            for i in np.flatnonzero(out == 0.0):
                out[i] = self._linear._scaled(q[i]).derivative_second_moment / q[i]
        return out

    def changes(self, q: Array) -> Array:
        """Return the derivative of E s^2 in q."""
        out = self.second_slope.read(np.log(q))[0] / q
        a = self._linear
        if a is None:
            return out
        kinks, root = np.array(a.kinks), np.sqrt(q)[:, np.newaxis]
        bends = np.array(a.jumps) * a._value(kinks) * gaussian.pdf(kinks / root) / root
        slopes = self.slopes(q)
        closed, size = slopes + bends.sum(axis=1), slopes + np.abs(bends).sum(axis=1)
        # The table has what cancels, but no digits where hardly any input passes a kink.
        resolved = (out != 0.0) & (np.abs(out - closed) <= 1e-9 * size)
        return np.where(resolved, out, closed)

    @cached_property
    def at_zero(self) -> tuple[float, float]:
        """Limits of E s^2 and of E s'^2 as q -> 0."""
        sides = np.array([-1e-300, 1e-300])
        a = self.activation
        value = 0.5 * float(np.sum(np.square(a(sides))))
        if not math.isfinite(a.derivative_second_moment):
            return value, math.inf
        with np.errstate(all="ignore"):
            slopes = np.asarray(a.derivative._value(sides))
        slope = 0.5 * float(np.sum(np.square(slopes)))
        return value, slope if math.isfinite(slope) else math.inf

    @cached_property
    def proportional(self) -> float | None:
        """V such that E s(sqrt(q) Z)^2 = V q for every q, or None: ReLU and its kin."""
        a = self._linear
        if a is None or any(c != 0.0 for c in a.kinks) or a.poly[0] != 0.0:
            return None
        return float(a.second_moment)

    @cached_property
    def tangent(self) -> bool:
        """Whether chi_q is chi_1: of piecewise linear functions that vanish at their kinks.

        The map of variances touches the diagonal at the edge then, and leads away above.
        """
        a = self._linear
        return a is not None and not a._value(np.array(a.kinks)).any()

    @cached_property
    def top(self) -> int:
        """The end of the range of log q on which E s^2 is finite."""
        return self.second.known_to(HIGH)

    def rises(self, low: int, high: int) -> bool:
        """Whether E s^2 rises from log q = `low` to `high`, but for rounding."""
        value, slope = self.second.read(np.arange(low + 0.25, high, 0.5))
        return not (slope < -1e-13 * value).any()


@lru_cache(maxsize=16)
def moments(activation: Activation) -> Moments:
    """Return the tables of an activation, empty at first."""
    return Moments(activation)


def _each(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """Return a function of many variances from that of one; infinite once it overflows."""

    def of_many(q: Array) -> Array:
        out = np.full(q.shape, np.inf)
        with np.errstate(all="ignore"):
            for i, v in enumerate(q.tolist()):
                try:
                    out[i] = function(v)
                except OverflowError:
                    break
                if not math.isfinite(out[i]):
                    break
        return out

    return of_many
