"""Duals of piecewise polynomials: bivariate normal densities at the kinks."""

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from theory import gaussian

Array = npt.NDArray[np.float64]


CHUNK = 8192
"""Points evaluated together: a quadrature's temporaries stay in cache."""


def _chunks(x: Array) -> list[Array]:
    return np.array_split(x.ravel(), -(-x.size // CHUNK))


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

    @cached_property
    def _merged(self) -> tuple[tuple[float, float, float], ...]:
        """Pairs of the same density, which (c, d), (d, c) and (-c, -d) share, as one."""
        weights: dict[tuple[float, float], float] = {}
        for weight, c, d in self.pairs:
            low, high = sorted((c, d), key=abs)
            key = (low, high) if high > 0.0 else (-low + 0.0, -high + 0.0)
            weights[key] = weights.get(key, 0.0) + weight
        return tuple((w, c, d) for (c, d), w in weights.items() if w)

    @cached_property
    def _balanced(self) -> bool:
        """Whether weights add up to zero, as those of bounded functions do.

        Next to each other the kinks' densities nearly cancel, and what is left of them
        is what is left of each less one.
        """
        weights = [w for w, _, _ in self._merged]
        size = math.fsum(map(abs, weights))
        return abs(math.fsum(weights)) <= 1e-14 * size

    @property
    def _nodes(self) -> int:
        # With every kink at zero the density is constant: a trigonometric polynomial on
        # half a turn is left, and 14 nodes leave (pi/4)^28 / 28! = 1e-32.
        return 32 if any(c or d for _, c, d in self.pairs) else 14

    def _kernel(self, u: Array) -> Array:
        # W(cos u) sin u
        total, small = np.zeros_like(u), np.zeros_like(u)
        largest = np.zeros_like(u)
        for weight, c, d in self._merged:
            if c == d:
                z = (c * np.tan(0.5 * u)) ** 2 / 2.0 + 0.5 * c * c
            else:
                # (c^2 - 2 c d cos u + d^2) / (2 sin^2 u), as a sum of positive terms.
                gap = c - d if c * d > 0.0 else c + d
                near = np.cos if c * d > 0.0 else np.sin
                # Beyond what a float holds it is infinite, and what it is for is 0.
                with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                    z = 0.5 * (gap / np.sin(u)) ** 2
                    z += 0.5 * abs(c * d) / near(0.5 * u) ** 2
                z = np.where(np.isfinite(z), z, np.inf)
            total += weight * np.exp(-z)
            if self._balanced:
                small += weight * np.expm1(-z)
                np.maximum(largest, z, out=largest)
        if self._balanced:
            total = np.where(largest < 1.0, small, total)
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
