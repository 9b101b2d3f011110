"""Dual activations by three engines: piecewise polynomial, series, quadrature."""

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from theory import gaussian

Array = npt.NDArray[np.float64]


CHUNK = 8192
"""Points evaluated together: a quadrature's temporaries stay in cache."""


def _chunks(x: Array) -> list[Array]:
    return np.array_split(x.ravel(), -(-x.size // CHUNK))


class Engine(Protocol):
    """What evaluates the dual of a pair of activations, rho in [-1, 1]."""

    def dual(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)]."""
        ...

    def covariance(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)] - E a E b, without cancellation."""
        ...

    def slope(self, rho: Array, t: Array | None = None) -> Array:
        """Return E[a'(X) b'(Y)]; `t` is arccos rho where better known."""
        ...

    def distance(self, delta: Array) -> Array:
        """Return E a^2 - E[a(X) a(Y)] at rho = 1 - delta, without cancellation."""
        ...


@dataclass(frozen=True)
class Series:
    """Sum of p_k rho^k."""

    p: tuple[float, ...]  # p_0 unused

    @cached_property
    def _c(self) -> Array:
        c = np.array(self.p)
        c[0] = 0.0
        return c

    @staticmethod
    def _poly(c: Array, rho: Array) -> Array:
        square = rho * rho
        even = np.polynomial.polynomial.polyval(square, c[0::2])
        odd = np.polynomial.polynomial.polyval(square, c[1::2]) if len(c) > 1 else 0.0
        return even + rho * odd

    def covariance(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)] - E a E b, without cancellation."""
        return self._poly(self._c, rho)

    def dual(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)]."""
        return self._poly(np.array(self.p), rho)

    def slope(self, rho: Array, t: Array | None = None) -> Array:  # noqa: ARG002
        """Return E[a'(X) b'(Y)]; `t` is arccos rho where better known."""
        return self._poly(self._c[1:] * np.arange(1, len(self._c)), rho)

    def distance(self, delta: Array) -> Array:
        """Return E a^2 - E[a(X) a(Y)] at rho = 1 - delta, without cancellation."""
        # 1 - rho^k = delta (1 + rho + ... + rho^(k-1)); tails S_j = sum_{k>j} p_k.
        tails = np.cumsum(self._c[::-1])[::-1][1:]
        rho = 1.0 - delta
        # S_j - |rho| S_{j+1} = p_{j+1} + (1 - |rho|) S_{j+1}
        if len(tails) % 2:
            tails = np.append(tails, 0.0)
        e, o = tails[0::2], tails[1::2]
        square = rho * rho
        pos = self._poly(tails, rho)
        one = np.polynomial.polynomial.polyval(square, e - o)
        two = np.polynomial.polynomial.polyval(square, o)
        neg = one + (2.0 - delta) * two
        return delta * np.where(rho >= 0.0, pos, neg)


@dataclass(frozen=True)
class Truncated:
    """sum_k J_k (x - c_k)_+^m / m! against the same with other kinks: m-th order.

    low: products a_k b_k for k <= m; at_one, at_minus_one: the k-th derivatives of
    the covariance at rho = 1 and -1 for k <= m (finite). odd: the dual at 1 less that
    at -1.
    """

    m: int
    pairs: tuple[tuple[float, float, float], ...]  # (J_i K_j, c_i, d_j)
    low: tuple[float, ...]
    at_one: tuple[float, ...]
    at_minus_one: tuple[float, ...]
    variance: float
    odd: float  # E a(X) (b(X) - b(-X))

    @cached_property
    def _cuts(self) -> tuple[float, ...]:
        """Panels of the angle, narrower towards 0 and pi where two kinks are close.

        The density of a pair of kinks c, d turns over an angle of about |c - d| at 0
        and |c + d| at pi, and over 1 / |c| when they are large.
        """
        close = [abs(v) for _, c, d in self.pairs for v in (c - d, c + d) if v]
        octaves = min(50, max(0, 3 + math.ceil(-math.log2(min(close))))) if close else 0
        big = max((abs(c) + abs(d) for _, c, d in self.pairs), default=0.0)
        inner = np.linspace(0.0, 0.5 * np.pi, 2 + int(0.5 * big))[1:]
        graded = inner[0] * 2.0 ** -np.arange(octaves, 0.0, -1.0)
        half = [0.0, *graded, *inner]
        return (*half, *(np.pi - v for v in reversed(half[:-1])))

    @property
    def _nodes(self) -> int:
        # With every kink at zero the density is constant: a trigonometric polynomial on
        # half a turn is left, and 14 nodes leave (pi/4)^28 / 28! = 1e-32.
        return 32 if any(c or d for _, c, d in self.pairs) else 14

    def _kernel(self, u: Array) -> Array:
        # W(cos u) sin u
        total = np.zeros_like(u)
        for weight, c, d in self.pairs:
            if c == d:
                z = (c * np.tan(0.5 * u)) ** 2 / 2.0
                total += weight * math.exp(-0.5 * c * c) * np.exp(-z)
            else:
                # (c^2 - 2 c d cos u + d^2) / (2 sin^2 u), as a sum of positive terms.
                gap = c - d if c * d > 0.0 else c + d
                near = np.cos if c * d > 0.0 else np.sin
                with np.errstate(divide="ignore", invalid="ignore"):
                    z = 0.5 * (gap / np.sin(u)) ** 2
                    z += 0.5 * abs(c * d) / near(0.5 * u) ** 2
                total += weight * np.where(np.isfinite(z), np.exp(-z), 0.0)
        return total / (2.0 * np.pi)

    def _integral(self, start: Array, stop: Array, rho: Array, power: int) -> Array:
        # int (rho - cos u)^power / power! W(cos u) sin u du
        x, w = gaussian.legendre(self._nodes)
        total = np.zeros_like(rho)
        for low, high in itertools.pairwise(self._cuts):
            a, b = np.clip(start, low, high), np.clip(stop, low, high)
            half = 0.5 * (b - a)
            if not half.any():
                continue
            for xi, wi in zip(x, w, strict=True):
                u = a + half * (xi + 1.0)
                factor = (
                    2.0 * np.sin(0.5 * (u - stop)) * np.sin(0.5 * (u + stop))
                ) ** power
                total += wi * half * factor * self._kernel(u)
        return total / math.factorial(power)

    def remainder(self) -> float:
        """int_0^1 (1 - r)^m / m! W(r) dr = sum_{k>m} a_k^2."""
        zero, half = np.zeros(1), np.full(1, np.pi / 2)
        out = self._integral(half, zero, np.ones(1), self.m)
        return -float(out[0])

    def dual(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)]."""
        return self._anchored(rho, np.arccos(rho), 0, self.low[0])

    def covariance(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)] - E a E b, without cancellation."""
        return self._anchored(rho, np.arccos(rho), 0, 0.0)

    def slope(self, rho: Array, t: Array | None = None) -> Array:
        """Return E[a'(X) b'(Y)]; `t` is arccos rho where better known."""
        t = np.arccos(rho) if t is None else t
        if self.m == 0:
            with np.errstate(divide="ignore"):
                return self._kernel(t) / np.sqrt((1.0 - rho) * (1.0 + rho))
        return self._anchored(rho, t, 1, 0.0)

    def _anchored(self, rho: Array, t: Array, order: int, mean: float) -> Array:
        """Return the derivative of this order, by Taylor's theorem at 0 and at -1.

        Of the two, the one with less cancellation: the smaller sum of magnitudes.
        """
        if rho.size <= CHUNK:
            return self._anchored_chunk(rho, t, order, mean)
        flat = zip(_chunks(rho), _chunks(t), strict=True)
        parts = [self._anchored_chunk(r, angle, order, mean) for r, angle in flat]
        return np.concatenate(parts).reshape(rho.shape)

    def _anchored_chunk(self, rho: Array, t: Array, order: int, mean: float) -> Array:
        power, s = self.m - order, 1.0 + rho
        terms = range(max(order, 1), self.m + 1)
        base = [mean + 0.0 * rho] if order == 0 else []
        base += [math.perm(k, order) * self.low[k] * rho ** (k - order) for k in terms]
        base += [-self._integral(np.full_like(t, 0.5 * np.pi), t, rho, power)]
        start = self.at_minus_one[0] - (self.low[0] - mean)
        other = [start + 0.0 * rho] if order == 0 else []
        other += [
            self.at_minus_one[k] * s ** (k - order) / math.factorial(k - order)
            for k in terms
        ]
        other += [-self._integral(np.full_like(t, np.pi), t, rho, power)]
        near, far = sum(base, np.zeros_like(rho)), sum(other, np.zeros_like(rho))
        size = [sum((np.abs(v) for v in parts), 0.0 * rho) for parts in (base, other)]
        return np.where(size[1] < 0.5 * size[0], far, near)

    @cached_property
    def _mirror(self) -> "Truncated":
        """b(-Y) for b(Y): the angle pi - v becomes v."""
        return replace(self, pairs=tuple((j, c, -d) for j, c, d in self.pairs))

    def opposite(self, d: Array) -> tuple[Array, Array]:
        """Return dual and slope at rho = -1 + d, relative accuracy kept as d -> 0."""
        w = 2.0 * np.arcsin(np.sqrt(0.5 * d))
        out: list[Array] = []
        for order in (0, 1):
            power = self.m - order
            if power < 0:
                out.append(self._mirror._kernel(w) / np.sqrt(d * (2.0 - d)))
                continue
            rest = self._mirror._integral(np.zeros_like(w), w, d, power)
            total = (-1.0) ** power * rest
            for k in range(order, self.m + 1):
                share = self.at_minus_one[k] / math.factorial(k - order)
                total += share * d ** (k - order)
            out.append(total)
        return out[0], out[1]

    def distance(self, delta: Array) -> Array:
        """Return E a^2 - E[a(X) a(Y)] at rho = 1 - delta, without cancellation."""
        flat = delta.ravel()
        parts = (
            [self._distance_chunk(d) for d in _chunks(flat)] if flat.size else [flat]
        )
        return np.concatenate(parts).reshape(delta.shape)

    def _distance_chunk(self, delta: Array) -> Array:
        out = np.empty_like(delta)
        near, far = delta < 1.0, delta >= 1.6
        out[near] = self._distance_from_one(delta[near])
        out[far] = self._distance_from_minus_one(delta[far])
        between = ~(near | far)
        out[between] = self.variance - self.covariance(1.0 - delta[between])
        return out

    def _distance_from_one(self, delta: Array) -> Array:
        t = 2.0 * np.arcsin(np.sqrt(0.5 * delta))
        out = self._integral(np.zeros_like(t), t, 1.0 - delta, self.m)
        for k in range(1, self.m + 1):
            out -= self.at_one[k] * (-delta) ** k / math.factorial(k)
        return out

    def _distance_from_minus_one(self, delta: Array) -> Array:
        # Where the distance of an even function vanishes again.
        t = 2.0 * np.arcsin(np.sqrt(0.5 * delta))
        out = self.odd + self._integral(np.full_like(t, np.pi), t, 1.0 - delta, self.m)
        for k in range(1, self.m + 1):
            out -= self.at_minus_one[k] * (2.0 - delta) ** k / math.factorial(k)
        return out


@dataclass(frozen=True)
class Arcsine:
    """2/pi asin(kappa rho), of the error function (Williams 1997)."""

    var_x: float
    var_y: float

    @property
    def _kappa(self) -> tuple[float, float]:
        # kappa = 2 sqrt(v w / ((1 + 2v)(1 + 2w))) and 1 - kappa^2, without cancellation
        whole = (1.0 + 2.0 * self.var_x) * (1.0 + 2.0 * self.var_y)
        kappa = 2.0 * math.sqrt(self.var_x * self.var_y / whole)
        return kappa, (1.0 + 2.0 * self.var_x + 2.0 * self.var_y) / whole

    def _cosine(self, rho: Array) -> Array:
        kappa, rest = self._kappa
        return np.sqrt(rest + kappa**2 * (1.0 - rho) * (1.0 + rho))

    def dual(self, rho: Array) -> Array:
        """Return E s(X) s(Y)."""
        sine = self._kappa[0] * rho
        return 2.0 / np.pi * np.arctan2(sine, self._cosine(rho))

    covariance = dual

    def slope(self, rho: Array, t: Array | None = None) -> Array:  # noqa: ARG002
        """Return the derivative in rho."""
        return 2.0 / np.pi * self._kappa[0] / self._cosine(rho)

    def distance(self, delta: Array) -> Array:
        """Return the dual at 1 less that at 1 - delta."""
        kappa, rest = self._kappa
        rho = 1.0 - delta
        # sin(a - b) by the sum of positive terms; for rho < 0 the angles add.
        lower = self._cosine(rho) + np.maximum(rho, 0.0) * math.sqrt(rest)
        near = np.arcsin(np.minimum(kappa * delta * (1.0 + rho) / lower, 1.0))
        one = self.dual(np.ones(()))
        return np.where(rho < 0.0, one - self.dual(rho), 2.0 / np.pi * near)


@dataclass(frozen=True)
class Rescaled:
    """A multiple of another engine, with a mean product of its own."""

    base: Engine
    factor: float
    mean: float

    def covariance(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)] - E a E b, without cancellation."""
        return self.factor * self.base.covariance(rho)

    def dual(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)]."""
        return self.mean + self.covariance(rho)

    def slope(self, rho: Array, t: Array | None = None) -> Array:
        """Return E[a'(X) b'(Y)]; `t` is arccos rho where better known."""
        return self.factor * self.base.slope(rho, t)

    def distance(self, delta: Array) -> Array:
        """Return E a^2 - E[a(X) a(Y)] at rho = 1 - delta, without cancellation."""
        return self.factor * self.base.distance(delta)


@dataclass(frozen=True, eq=False)
class Tabulated:
    """Slope as piecewise Chebyshev in t = arccos rho, integrated by Gauss-Legendre."""

    coefs: Array  # (panels, degree + 1)
    at_one: float
    at_minus: float
    mean: float
    ends: tuple[float, float]

    @classmethod
    def build(cls, f, at_one, at_minus, mean, ends, panels=6, degree=22):  # type: ignore[no-untyped-def]
        """Tabulate the slope f(t), t = arccos rho, with the ends given."""
        nodes = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
        edges = np.linspace(0.0, np.pi, panels + 1)
        coefs = []
        for a, b in itertools.pairwise(edges):
            t = 0.5 * (a + b) + 0.5 * (b - a) * nodes
            y = f(t)
            coefs.append(np.polynomial.chebyshev.chebfit(nodes, y, degree))
        return cls(np.array(coefs), at_one, at_minus, mean, ends)

    def _slope(self, t: Array) -> Array:
        n = len(self.coefs)
        i = np.clip((t * (n / np.pi)).astype(int), 0, n - 1)
        x = 2.0 * (t * (n / np.pi) - i) - 1.0
        c = self.coefs[i]
        b1 = np.zeros_like(t)
        b2 = np.zeros_like(t)
        for k in range(c.shape[-1] - 1, 0, -1):
            b1, b2 = 2.0 * x * b1 - b2 + c[..., k], b1
        return x * b1 - b2 + c[..., 0]

    def _between(self, a: Array, width: Array) -> Array:
        """Integrate slope times sine from a to a + width."""
        x, w = gaussian.legendre(24)
        n = 4
        total = np.zeros(np.broadcast(a, width).shape)
        for i in range(n):
            lo = a + width * (i / n)
            half = width / (2 * n)
            for xi, wi in zip(x, w, strict=True):
                u = lo + half * (xi + 1.0)
                total = total + wi * half * self._slope(u) * np.sin(u)
        return total

    def slope(self, rho: Array, t: Array | None = None) -> Array:
        """Return E[a'(X) b'(Y)]; `t` is arccos rho where better known."""
        t = np.arccos(rho) if t is None else t
        out = self._slope(t)
        out = np.where(rho == 1.0, self.ends[0], out)
        return np.where(rho == -1.0, self.ends[1], out)

    def covariance(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)] - E a E b, without cancellation."""
        # The width arcsin rho keeps its digits as rho -> 0, where pi/2 - arccos does not.
        near = -self._between(np.full_like(rho, np.pi / 2), -np.arcsin(rho))
        t = np.arccos(rho)
        far = self.at_minus - self.mean + self._between(t, np.pi - t)
        return np.where(rho < -0.6, far, near)

    def dual(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)]."""
        t = np.arccos(rho)
        far = self.at_minus + self._between(t, np.pi - t)
        return np.where(rho < -0.6, far, self.mean + self.covariance(rho))

    def distance(self, delta: Array) -> Array:
        """Return E a^2 - E[a(X) a(Y)] at rho = 1 - delta, without cancellation."""
        t = 2.0 * np.arcsin(np.sqrt(0.5 * delta))
        return self._between(np.zeros_like(t), t)


def polar_expectation(f, g, t):  # type: ignore[no-untyped-def]
    """E f(X) g(Y) with X = R cos p, Y = R cos(p - t); rays at the kinks at zero."""
    x, w = gaussian.legendre(20)
    edges = np.array([0.0, 0.02, 0.1, 0.3, 0.7, 1.2, 2, 3, 4, 5, 6, 7, 8.5, 10, 12, 15])
    half = 0.5 * np.diff(edges)
    r = (edges[:-1, None] + half[:, None] * (x + 1.0)).ravel()
    wr = (half[:, None] * w).ravel() * r * np.exp(-0.5 * r * r)
    y, v = gaussian.legendre(40)
    out = []
    for s in np.atleast_1d(t):
        total = 0.0
        cuts = [-np.pi / 2, s - np.pi / 2, np.pi / 2, s + np.pi / 2, 1.5 * np.pi]
        for a, b in itertools.pairwise(cuts):
            if b <= a:
                continue
            p = 0.5 * (a + b) + 0.5 * (b - a) * y
            values = f(r[:, None] * np.cos(p)) * g(r[:, None] * np.cos(p - s))
            total += 0.5 * (b - a) * float(wr @ values @ v)
        out.append(total / (2.0 * np.pi))
    return np.array(out)


def strip_expectation(ka, kb):  # type: ignore[no-untyped-def]
    """E f(X) g(Y) for kinks anywhere: outer panels in x, inner split at the kinks."""

    def pair(f, g, t):  # type: ignore[no-untyped-def]
        x, w = gaussian.panels(tuple(ka), 12.0)
        weight = w * gaussian.pdf(x)
        y, v = gaussian.legendre(16)
        out = []
        for s in np.atleast_1d(t):
            rho, omega = np.cos(s), np.sin(s)
            cut = np.clip((np.array(kb)[None, :] - rho * x[:, None]) / omega, -12, 12)
            cut.sort(axis=1)
            grid = np.broadcast_to(np.linspace(-12, 12, 17), (len(x), 17))
            edges = np.sort(np.concatenate([grid, cut], axis=1), axis=1)
            half = 0.5 * np.diff(edges, axis=1)
            z = edges[:, :-1, None] + half[:, :, None] * (y + 1.0)
            inner = np.sum(
                half[:, :, None]
                * v
                * gaussian.pdf(z)
                * g(rho * x[:, None, None] + omega * z),
                axis=(1, 2),
            )
            out.append(float(np.sum(weight * f(x) * inner)))
        return np.array(out)

    return pair
