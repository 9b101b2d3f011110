"""Duals of piecewise polynomials: bivariate normal densities at the kinks."""

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import gaussian
from theory._cached import cached_property

Array = npt.NDArray[np.float64]

NODES = 32
"""Of a panel of the angle."""


def _farther(
    one: tuple[float, float], other: tuple[float, float], sine: Array, cosine: Array
) -> Array:
    """Return by how much the exponent of a pair of kinks exceeds that of another.

    From how far apart the kinks are, so that next to each other all digits are left;
    `sine` and `cosine` are those of half the angle.
    """
    (c, d), a, b = one, other[0] - one[0], other[1] - one[1]
    product = 0.5 * (c * b + d * a + a * b)
    gap = (a - b) * (2.0 * (c - d) + (a - b))
    return gap / (8.0 * np.square(sine * cosine)) + product / np.square(cosine)


def balanced(weights: Iterable[float]) -> bool:
    """Whether weights add up to zero, up to rounding."""
    weights = tuple(weights)
    return abs(math.fsum(weights)) <= 1e-14 * math.fsum(map(abs, weights))


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
    odd: float  # E a(X) (b(X) - b(-X))

    @cached_property
    def _cuts(self) -> tuple[float, ...]:
        """Panels of the angle up to pi/2, narrower towards 0 where two kinks are close.

        The density of a pair of kinks c, d turns over an angle of about |c - d| at 0, and
        over 1 / |c| when they are large.
        """
        close = [abs(c - d) for _, c, d in self.pairs if c != d]
        octaves = max(0, 3 + math.ceil(-math.log2(min(close)))) if close else 0
        big = max((abs(c) + abs(d) for _, c, d in self.pairs), default=0.0)
        inner = np.linspace(0.0, 0.5 * np.pi, 2 + int(0.5 * big))[1:]
        return (0.0, *(inner[0] * 2.0 ** -np.arange(octaves, 0.0, -1.0)), *inner)

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
        is what each differs from that of one pair.
        """
        return bool(self._merged) and balanced(w for w, _, _ in self._merged)

    def _kernel(self, u: Array) -> Array:
        # W(cos u) sin u
        tangent = np.tan(0.25 * u)
        square = tangent * tangent
        sine = 2.0 * tangent / (1.0 + square)
        cosine = (1.0 - tangent) * (1.0 + tangent) / (1.0 + square)
        total = np.zeros_like(u)
        # Where the exponent overflows to infinity, exp(-exponent) is 0, as it should be.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for weight, c, d in self._merged:
                total += weight * np.exp(-_exponent(c, d, sine, cosine))
            if self._balanced:
                small, largest = np.zeros_like(u), np.zeros_like(u)
                first = self._merged[0][1:]
                for weight, *pair in self._merged:
                    more = _farther(first, (pair[0], pair[1]), sine, cosine)
                    small += weight * np.expm1(-more)
                    np.maximum(largest, np.abs(more), out=largest)
                small *= np.exp(-_exponent(*first, sine, cosine))
                total = np.where(largest < 1.0, small, total)
        return total / (2.0 * np.pi)

    def _integral(self, start: Array, stop: Array, power: int) -> Array:
        # int (cos(stop) - cos u)^power / power! W(cos u) sin u du
        x, w = gaussian.legendre(NODES)
        total = np.zeros_like(stop)
        for panel, (low, high) in enumerate(itertools.pairwise(self._cuts)):
            a, b = np.clip(start, low, high), np.clip(stop, low, high)
            # Most panels lie outside the angles between which most points integrate.
            live = a != b
            if not live.any():
                continue
            whole = live & (np.abs(b - a) == high - low)
            at = np.flatnonzero(whole)
            if at.size:
                total[at] += np.sign(b - a)[at] * self._whole(panel, stop[at], power)
            at = np.flatnonzero(live & ~whole)
            if not at.size:
                continue
            first, end = a[at], stop[at]
            half = 0.5 * (b[at] - first)
            u = first + half * (x[:, None] + 1.0)
            values = self._kernel(u)
            if power:
                both = np.sin(0.5 * (u - end)) * np.sin(0.5 * (u + end))
                values *= (2.0 * both) ** power
            total[at] += half * (w @ values)
        return total / math.factorial(power)

    def _whole(self, panel: int, t: Array, power: int) -> Array:
        """Return the integral over a panel, of which the kernel is known, for angles t."""
        values, sine, cosine = (v[panel] for v in self._panels)
        if not power:
            return np.full_like(t, values.sum())
        # sin((u - t) / 2) sin((u + t) / 2): what is lost next to u = t is of the panel.
        one, other = np.outer(sine, np.cos(0.5 * t)), np.outer(cosine, np.sin(0.5 * t))
        both = (one - other) * (one + other)
        return values @ (2.0 * both) ** power

    @cached_property
    def _panels(self) -> tuple[Array, Array, Array]:
        """W sin u with the rule's weights, sin(u/2) and cos(u/2), (panels, nodes)."""
        x, w = gaussian.legendre(NODES)
        cuts = np.array(self._cuts)
        half = 0.5 * np.diff(cuts)[:, None]
        u = cuts[:-1, None] + half * (x + 1.0)
        return half * w * self._kernel(u), np.sin(0.5 * u), np.cos(0.5 * u)

    def remainder(self) -> float:
        """int_0^1 (1 - r)^m / m! W(r) dr = sum_{k>m} a_k^2."""
        out = self._integral(np.full(1, np.pi / 2), np.zeros(1), self.m)
        return -float(out[0])

    def dual(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)]."""
        out = self._either(rho, 1.0, lambda e, r, t: e._anchored(r, t, 0, self.low[0]))
        if not any(self.at_minus_one):  # as of functions that vanish on one side of 0
            below = rho < 0.0
            out[below] = -self._mirror._distance_from_one(1.0 + rho[below])
        return out

    def covariance(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)] - E a E b, without cancellation."""
        return self._either(rho, 1.0, lambda e, r, t: e._anchored(r, t, 0, 0.0))

    def slope(self, rho: Array, t: Array | None = None) -> Array:
        """Return E[a'(X) b'(Y)]; `t` is arccos rho where better known."""
        angle = None if t is None else np.where(rho < 0.0, np.pi - t, t)
        return self._either(rho, -1.0, Truncated._slope, angle)

    def _either(
        self,
        rho: Array,
        sign: float,
        value: Callable[["Truncated", Array, Array], Array],
        angle: Array | None = None,
    ) -> Array:
        """Return values of this engine, or the mirrored one's times a sign at -rho.

        The angle next to -1 has lost digits, which the mirrored one has not.
        """
        flat = np.ravel(rho)
        behind, size = flat < 0.0, np.abs(flat)
        t = np.arccos(size) if angle is None else np.ravel(angle)
        out = np.empty_like(flat)
        for at, e, factor in ((~behind, self, 1.0), (behind, self._mirror, sign)):
            if at.any():
                out[at] = factor * value(e, size[at], t[at])
        return out.reshape(np.shape(rho))

    def _slope(self, rho: Array, t: Array) -> Array:
        if self.m:
            return self._anchored(rho, t, 1, 0.0)
        kernel = self._kernel(t)
        with np.errstate(divide="ignore"):
            # No density at an end without a common jump, which is no 0/0.
            return np.divide(
                kernel, np.sin(t), out=np.zeros_like(kernel), where=kernel != 0.0
            )

    def _anchored(self, rho: Array, t: Array, order: int, mean: float) -> Array:
        """Return the derivative of this order, by Taylor's theorem at 0."""
        out = -self._integral(np.full_like(t, 0.5 * np.pi), t, self.m - order)
        for k in range(self.m, max(order, 1) - 1, -1):
            out += math.perm(k, order) * self.low[k] * rho ** (k - order)
        return out + mean

    @property
    def order(self) -> int:
        """The least k >= 1 with a_k b_k other than 0, as far as m."""
        terms = self.low[1 : self.m + 1]
        return next((k for k, v in enumerate(terms, 1) if v), self.m + 1)

    def mirrored(self) -> "Truncated":
        """Return the engine of the dual at -rho: b(-Y) in the place of b(Y)."""
        return self._mirror

    @cached_property
    def _mirror(self) -> "Truncated":
        # The angle pi - v becomes v.
        sign = (-1.0) ** (self.m + 1)

        def turned(values: tuple[float, ...]) -> tuple[float, ...]:
            return tuple((-1.0) ** k * v for k, v in enumerate(values))

        return Truncated(
            self.m,
            tuple((sign * j, c, -d) for j, c, d in self.pairs),
            turned(self.low),
            turned(self.at_minus_one),
            turned(self.at_one),
            -self.odd,
        )

    def opposite(self, d: Array) -> tuple[Array, Array]:
        """Return dual and slope at rho = -1 + d, relative accuracy kept as d -> 0."""
        shape, d = np.shape(d), np.ravel(d)
        value = self.at_minus_one[0] - self._mirror._distance_from_one(d)
        w = 2.0 * np.arcsin(np.sqrt(0.5 * d))
        if self.m == 0:
            slope = -self._mirror._kernel(w) / np.sqrt(d * (2.0 - d))
        else:
            slope = self._mirror._integral(np.zeros_like(w), w, self.m - 1)
        for k in range(1, self.m + 1):
            slope += self.at_minus_one[k] / math.factorial(k - 1) * d ** (k - 1)
        return value.reshape(shape), slope.reshape(shape)

    def distance(self, delta: Array) -> Array:
        """Return E a^2 - E[a(X) a(Y)] at rho = 1 - delta, without cancellation."""
        d = np.ravel(delta)
        near, out = d < 1.0, np.empty(np.size(delta))
        out[near] = self._distance_from_one(d[near])
        # Where the distance of an even function vanishes again.
        out[~near] = self.beyond(2.0 - d[~near])
        return out.reshape(np.shape(delta))

    def beyond(self, d: Array) -> Array:
        """Return E a^2 - E[a(X) a(Y)] at rho = -1 + d, d < 1, to a relative accuracy."""
        return self.odd + self._mirror._distance_from_one(d)

    def _distance_from_one(self, delta: Array) -> Array:
        t = 2.0 * np.arcsin(np.sqrt(0.5 * delta))
        # What kinks that are nearer than the points do next to one cancels.
        far = t > min((abs(c - d) for _, c, d in self.pairs if c != d), default=np.inf)
        out = np.empty_like(delta)
        for expanded, at in ((self._about_one, ~far), (self._about_rho, far)):
            if at.any():
                out[at] = expanded(delta[at], t[at])
        return out

    def _about_one(self, delta: Array, t: Array) -> Array:
        """Return the distance from one by Taylor's theorem there."""
        out = self._integral(np.zeros_like(t), t, self.m)
        for k in range(1, self.m + 1):
            out -= self.at_one[k] * (-delta) ** k / math.factorial(k)
        return out

    def _about_rho(self, delta: Array, t: Array) -> Array:
        """Return it by Taylor's theorem at 1 - delta."""
        out = -self._integral(t, np.zeros_like(t), self.m)
        for k in range(1, self.m + 1):
            slope = self._anchored(1.0 - delta, t, k, 0.0)
            out += slope * delta**k / math.factorial(k)
        return out


def _exponent(c: float, d: float, sine: Array, cosine: Array) -> Array:
    """(c^2 - 2 c d cos u + d^2) / (2 sin^2 u), |c| <= d, as a sum of positive terms."""
    gap, near = (c - d, cosine) if c > 0.0 else (c + d, sine)
    if c == d:
        z = np.square(sine / cosine) * (0.5 * c * c) + 0.5 * c * c
    else:
        z = np.square((0.5 * gap) / (sine * cosine))
        z += abs(c) * d / np.square(near)
        z *= 0.5
    return np.where(np.isfinite(z), z, np.inf)
