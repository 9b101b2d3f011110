"""Duals of other functions: the slope by quadrature, tabulated in the angle."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from theory import gaussian

Array = npt.NDArray[np.float64]
Function = Callable[[Array], Array]
Slope = Callable[[float], float]

NODES = 24
TAIL = 1e-14
"""Last Chebyshev coefficients of a panel that is fine enough, over its first."""
LAYER = 9.0
"""Kinks a distance g apart leave exp(-g^2 / 2t^2) at an angle t: 1e-18 at t = g/9."""


@dataclass(frozen=True, eq=False)
class _Panels:
    """Piecewise Chebyshev series on [0, pi/2], of three functions of the angle."""

    edges: Array  # (panels + 1,)
    slope: Array  # (panels, NODES): the slope g
    to_end: Array  # mean of g over the correlations from cos t to 1
    to_zero: Array  # mean of g over the correlations from 0 to cos t

    @classmethod
    def build(cls, slope: Slope, gap: float) -> "_Panels":
        """Tabulate a slope, bisecting panels until they resolve it; `gap` as in `LAYER`."""
        y = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
        todo, edges, rows, scale = [(0.0, 0.5 * np.pi)], [0.0], [], 0.0
        while todo:
            a, b = todo.pop()
            halves = [(0.5 * (a + b), b), (a, 0.5 * (a + b))]
            if a == 0.0 and b > gap / LAYER:
                todo += halves
                continue
            values = np.array([slope(t) for t in a + 0.5 * (b - a) * (1.0 + y)])
            row = np.polynomial.chebyshev.chebfit(y, values, NODES - 1)
            scale = max(scale, float(np.abs(values).max()))
            # Of a panel as short as b / 8 the rest is rounding.
            if np.abs(row[-3:]).max() > TAIL * scale and b - a > b / 8.0:
                todo += halves
                continue
            edges.append(b)
            rows.append(row)
        return cls._integrated(np.array(edges), np.array(rows), y)

    @classmethod
    def _integrated(cls, edges: Array, rows: Array, y: Array) -> "_Panels":
        # Widths are measured from a panel's two ends, so that the means keep their digits
        # where the interval they are taken over vanishes.
        half = 0.5 * np.diff(edges)[:, None]
        low, high = half * (1.0 + y), half * (1.0 - y)
        start, stop = edges[:-1, None], edges[1:, None]
        table = cls(edges, rows, rows, rows)
        x, w = gaussian.legendre(24)

        def integral(a: Array, width: Array) -> Array:
            u = a[..., None] + 0.5 * width[..., None] * (1.0 + x)
            return 0.5 * width * ((table.read(rows, u) * np.sin(u)) @ w)

        whole = integral(start, 2.0 * half)
        before = np.cumsum(whole) - whole[:, 0]
        after = np.cumsum(whole[::-1])[::-1] - whole[:, 0]
        t = start + low
        to_end = before[:, None] + integral(start, low)
        to_end /= 2.0 * np.sin(0.5 * t) ** 2
        to_zero = after[:, None] + integral(stop - high, high)
        to_zero /= np.sin((stop[-1] - stop) + high)
        fit = np.polynomial.chebyshev.chebfit
        ends, zeros = (fit(y, v.T, NODES - 1).T for v in (to_end, to_zero))
        return cls(edges, rows, np.asarray(ends, float), np.asarray(zeros, float))

    def read(self, rows: Array, t: Array) -> Array:
        """Evaluate one of the tables at the angles t."""
        i = np.searchsorted(self.edges[1:-1], t, side="right")
        low, high = self.edges[i], self.edges[i + 1]
        y = ((t - low) - (high - t)) / (high - low)
        c = np.ascontiguousarray(rows.T)[:, i]
        b1, b2 = np.zeros_like(t), np.zeros_like(t)
        for k in range(len(c) - 1, 0, -1):
            b1, b2 = 2.0 * y * b1 - b2 + c[k], b1
        return y * b1 - b2 + c[0]


@dataclass(frozen=True, eq=False)
class Tabulated:
    """Tables from both ends, rho = 1 and rho = -1, to rho = 0.

    The covariance is rho times the mean slope between 0 and rho, the distance 1 - rho
    times that between rho and 1: both keep their digits as the factor vanishes.
    """

    near: _Panels
    far: _Panels
    mean: float
    odd: float  # E a(X) (b(X) - b(-X))

    @classmethod
    def build(
        cls,
        f: Function,
        g: Function,
        kinks: tuple[tuple[float, ...], tuple[float, ...]],
        *,
        mean: float,
        odd: float,
    ) -> "Tabulated":
        """Tabulate the slope E f(X) g(Y), f = a' and g = b' with the kinks of each."""
        a, b = _Broken(f, kinks[0]), _Broken(g, kinks[1])
        same = f == g and kinks[0] == kinks[1]
        near = _Polygons(a, b, "q" if same else "")
        far = _Polygons(a, b.mirrored(), "p" if same else "")
        ends = _Panels.build(near, near.gap), _Panels.build(far, far.gap)
        return cls(*ends, mean, odd)

    def _either(self, rho: Array, which: str, t: Array | None = None) -> Array:
        flat = rho.ravel()
        angle = np.arccos(np.abs(flat))
        if t is not None:
            angle = np.where(flat < 0.0, np.pi - t.ravel(), t.ravel())
        out = np.empty_like(flat)
        for mask, side in ((flat >= 0.0, self.near), (flat < 0.0, self.far)):
            out[mask] = side.read(getattr(side, which), angle[mask])
        return out.reshape(rho.shape)

    def slope(self, rho: Array, t: Array | None = None) -> Array:
        """Return E[a'(X) b'(Y)]; `t` is arccos rho where better known."""
        return self._either(rho, "slope", t)

    def covariance(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)] - E a E b, without cancellation."""
        return rho * self._either(rho, "to_zero")

    def dual(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)]."""
        return self.mean + self.covariance(rho)

    def distance(self, delta: Array) -> Array:
        """Return E a^2 - E[a(X) a(Y)] at rho = 1 - delta, without cancellation."""
        t = 2.0 * np.arcsin(np.sqrt(0.5 * np.minimum(delta, 1.0)))
        near = delta * self.near.read(self.near.to_end, t)
        # Where the distance of an even function vanishes again.
        rest = np.minimum(2.0 - delta, 1.0)
        t = 2.0 * np.arcsin(np.sqrt(0.5 * rest))
        far = self.odd - rest * self.far.read(self.far.to_end, t)
        return np.where(delta < 1.0, near, far)


@dataclass(frozen=True)
class _Broken:
    """A function with the points where it or a derivative jumps."""

    f: Function
    kinks: tuple[float, ...]

    def mirrored(self) -> "_Broken":
        """Return x -> f(-x)."""
        return _Broken(lambda x: self.f(-x), tuple(sorted(-c for c in self.kinks)))


@dataclass(frozen=True)
class _Polygons:
    r"""E a(X) b(Y) at correlation cos t, 0 < t <= pi/2, over the polygons of the kinks.

    With P, Q independent, X = cos(t/2) P + sin(t/2) Q and Y = cos(t/2) P - sin(t/2) Q.
    The lines X = c and Y = d cut the plane into polygons in which the integrand is smooth
    at any t, and meet where Q = (c - d) / (2 sin(t/2)): panels in P end at the lines,
    panels in Q where lines meet, and nothing is left to resolve as t -> 0.

    even: "q" for b = a and "p" for b = a(-x), half of whose plane repeats the other.
    """

    a: _Broken
    b: _Broken
    even: str = ""

    @property
    def gap(self) -> float:
        """The closest that a line of a and a line of b come, without being the same."""
        gaps = [abs(c - d) for c in self.a.kinks for d in self.b.kinks if c != d]
        return min(gaps, default=math.inf)

    @cached_property
    def _mesh(self) -> tuple[float, float]:
        """Where the integrand is below 1e-18 of its largest, and a panel's width."""
        x = np.linspace(0.0, 18.0, 289)
        both = [np.abs(g.f(v)) for g in (self.a, self.b) for v in (x, -x)]
        size = np.maximum.accumulate(np.max(both, axis=0)) ** 2 * np.exp(-0.5 * x * x)
        reach = max(8.0, 0.5 + float(x[size > 1e-18 * size.max()].max(initial=0.0)))
        width, error = 1.0, self._error(reach, 1.0)
        while error > 4e-15 and width > 0.05:
            finer = self._error(reach, 0.5 * width)
            if finer > 0.25 * error:  # rounding of the functions themselves
                break
            width, error = 0.5 * width, finer
        return reach, width

    def _error(self, reach: float, width: float) -> float:
        # E a^2 and E b^2 against panels of half the width; rounding leaves about 1e-16.
        total = []
        for share in (1.0, 0.5):
            n = math.ceil(2.0 * reach / width / share)
            for g in (self.a, self.b):
                inside = [c for c in g.kinks if abs(c) < reach]
                x, w = _rule([*np.linspace(-reach, reach, n + 1), *inside])
                total.append(float(w * gaussian.pdf(x) @ g.f(x) ** 2))
        coarse, fine = total[:2], total[2:]
        return max(
            abs(c - f) / f if f else 0.0 for c, f in zip(coarse, fine, strict=True)
        )

    def __call__(self, t: float) -> float:
        """Return the expectation."""
        s, co = math.sin(0.5 * t), math.cos(0.5 * t)
        reach, width = self._mesh
        meet = [(c - d) / (2.0 * s) for c in self.a.kinks for d in self.b.kinks]
        # Along a line the other argument moves by 2 sin(t/2) dQ.
        start = 0.0 if self.even == "q" else -reach
        n = math.ceil((reach - start) * max(0.5, 2.0 * s / width))
        inside = [v for v in meet if start < v < reach]
        q, wq = _rule([*np.linspace(start, reach, n + 1), *inside])
        lines = [(c - s * q) / co for c in self.a.kinks]
        lines += [(d + s * q) / co for d in self.b.kinks]
        start = 0.0 if self.even == "p" else -reach
        n = math.ceil((reach - start) / width)
        grid = np.broadcast_to(np.linspace(start, reach, n + 1), (len(q), n + 1))
        cuts = [np.clip(line, start, reach)[:, None] for line in lines]
        edges = np.sort(np.concatenate([grid, *cuts], axis=1), axis=1)
        x, w = gaussian.legendre(16)
        half = 0.5 * np.diff(edges, axis=1)[:, :, None]
        p = (edges[:, :-1, None] + half * (1.0 + x)).reshape(len(q), -1)
        weight = (half * w).reshape(len(q), -1) * gaussian.pdf(p)
        lean = s * q[:, None]
        weight *= self.a.f(co * p + lean) * self.b.f(co * p - lean)
        whole = float(wq * gaussian.pdf(q) @ weight.sum(axis=1))
        return 2.0 * whole if self.even else whole


def _rule(cuts: list[float]) -> tuple[Array, Array]:
    edges = np.array(sorted(set(cuts)))
    x, w = gaussian.legendre(16)
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (1.0 + x)).ravel(), (half * w).ravel()
