"""Duals of smooth activations by their Hermite series."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory._cached import cached_property

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Series:
    """Sum of p_k rho^k."""

    p: tuple[float, ...]  # p_0 unused

    @cached_property
    def _c(self) -> Array:
        c = np.array(self.p)
        c[0] = 0.0
        return c

    @property
    def order(self) -> int:
        """The least k >= 1 with a term."""
        return int(np.argmax(self._c != 0.0)) if self._c.any() else 1

    def mirrored(self) -> "Series":
        """Return the series of the dual at -rho."""
        return Series(tuple((-1.0) ** k * p for k, p in enumerate(self.p)))

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
class Monomial:
    """c rho^k, of a Hermite polynomial; a series of one late term."""

    c: float
    k: int

    def dual(self, rho: Array) -> Array:
        """Return E[a(X) b(Y)]."""
        return self.c * _power(rho, self.k)

    covariance = dual

    def slope(self, rho: Array, t: Array | None = None) -> Array:  # noqa: ARG002
        """Return E[a'(X) b'(Y)]; `t` is arccos rho where better known."""
        return self.c * self.k * _power(rho, self.k - 1)

    def distance(self, delta: Array) -> Array:
        """Return E a^2 - E[a(X) a(Y)] at rho = 1 - delta, without cancellation."""
        sign = (-1.0) ** self.k
        with np.errstate(divide="ignore"):  # the logarithm of rho = 0
            less = -np.expm1(self.k * np.log1p(-np.minimum(delta, 2.0 - delta)))
        return self.c * np.where(delta < 1.0, less, 1.0 - sign + sign * less)


def _power(rho: Array, k: int) -> Array:
    # Of positive numbers: powers of negative ones take ten times as long.
    out = np.abs(rho) ** k
    return np.copysign(out, rho) if k % 2 else out
