"""Piecewise polynomials: ReLU and its kin, in closed form."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from theory import duals, gaussian
from theory import hermite as _hermite
from theory.activations.base import Activation, pair

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PiecewisePolynomial(Activation):
    """poly(x) + sum_j J_j (x - c_j)_+^m / m!, degree(poly) <= m."""

    name: str
    m: int
    poly: tuple[float, ...]
    kinks: tuple[float, ...] = ()
    jumps: tuple[float, ...] = ()
    is_normalized: bool = False
    known: tuple[float, ...] = ()  # a_0.. a_m when better known than by the formula

    def _value(self, x: Array) -> Array:
        out: Array = np.zeros_like(x)
        for p in reversed(self.poly):
            out = out * x + p
        for c, j in zip(self.kinks, self.jumps, strict=True):
            up = (x > c) if self.m == 0 else np.maximum(x - c, 0.0) ** self.m
            out = out + j * up / math.factorial(self.m)
        return out

    def scaled(self, var: float) -> "PiecewisePolynomial":
        """Return x -> s(sqrt(var) x): kinks divided by sqrt(var)."""
        r = math.sqrt(var)
        return PiecewisePolynomial(
            f"{self.name}[var={var:g}]",
            self.m,
            tuple(p * r**i for i, p in enumerate(self.poly)),
            tuple(c / r for c in self.kinks),
            tuple(j * r**self.m for j in self.jumps),
        )

    @property
    def derivative(self) -> Activation:
        """s': one order lower, with the same kinks."""
        if self.m == 0:
            if self.jumps:
                return Undefined(f"{self.name}'")
            return PiecewisePolynomial(f"{self.name}'", 0, (0.0,))
        return PiecewisePolynomial(
            f"{self.name}'",
            self.m - 1,
            tuple(i * p for i, p in enumerate(self.poly))[1:],
            self.kinks,
            self.jumps,
        )

    def _low(self) -> Array:
        out = np.zeros(self.m + 1)
        for i, p in enumerate(self.poly):
            for k in range(i % 2, i + 1, 2):
                # x^i = sum_k i! / (2^((i-k)/2) ((i-k)/2)! sqrt k!) h_k ...
                half = (i - k) // 2
                out[k] += (
                    p
                    * math.factorial(i)
                    / (2.0**half * math.factorial(half) * math.sqrt(math.factorial(k)))
                )
        for c, j in zip(self.kinks, self.jumps, strict=True):
            for k in range(self.m + 1):
                n = self.m - k
                out[k] += (
                    j
                    * gaussian.tail_moment(n, c)
                    / math.factorial(n)
                    / math.sqrt(math.factorial(k))
                )
        if self.is_normalized:
            out[0] = 0.0
        if self.known:
            out[: len(self.known)] = self.known
        return out

    def _coefficients(self, order: int) -> Array:
        out = np.zeros(order + 1)
        low = self._low()
        n = min(order, self.m) + 1
        out[:n] = low[:n]
        if order > self.m:
            k = np.arange(self.m + 1, order + 1)
            fall = np.ones(len(k))
            for i in range(self.m + 1):
                fall *= k - i
            for c, j in zip(self.kinks, self.jumps, strict=True):
                h = np.array(_hermite.weighted_at(order - self.m - 1, c))
                out[self.m + 1 :] += j * h / np.sqrt(fall)
        return out

    @property
    def quadrature_error(self) -> float:
        """0: every moment has a closed form."""
        return 0.0

    @cached_property
    def variance(self) -> float:
        """Energy above order 0: low orders plus Taylor's remainder of the dual."""
        if self.is_normalized:
            return 1.0
        return float(np.sum(self._low()[1:] ** 2)) + self._remainder

    @cached_property
    def second_moment(self) -> float:
        """E s^2; to the last digit when every kink is at zero."""
        if self.is_normalized:
            return 1.0
        if any(self.kinks):
            return self.variance + self.mean**2
        below = np.zeros(self.m + 1)
        below[: len(self.poly)] = self.poly
        above = below.copy()
        above[self.m] += sum(self.jumps) / math.factorial(self.m)
        below *= (-1.0) ** np.arange(self.m + 1)
        # Half the energy of each branch, a polynomial of |Z|.
        squares = np.convolve(above, above) + np.convolve(below, below)
        return 0.5 * math.fsum(v * _absolute_moment(k) for k, v in enumerate(squares))

    @cached_property
    def _remainder(self) -> float:
        """Energy above order m: Taylor's remainder of the dual at one."""
        e = pair(self, self)
        assert isinstance(e, duals.Truncated)
        return e.remainder()

    @cached_property
    def _rest(self) -> float:
        if not self.kinks:
            return float(self._low()[2] ** 2) if self.m >= 2 else 0.0
        if self._is_convex:
            return self._remainder + float(np.sum(self._low()[2:] ** 2))
        return self._rest_by_quadrature()

    @property
    def _is_convex(self) -> bool:
        # Then the remainder is an integral of positive terms, however small.
        return self.m >= 1 and all(j > 0 for j in self.jumps)

    @property
    def _linear(self) -> float:
        return 0.0 if self._is_convex else super()._linear


def _absolute_moment(k: int) -> float:
    """E |Z|^k: (k - 1)!! for even k, sqrt(2/pi) (k - 1)!! for odd k."""
    return float(math.prod(range(k - 1, 0, -2))) * (
        math.sqrt(2.0 / math.pi) if k % 2 else 1.0
    )


@dataclass(frozen=True)
class Undefined(Activation):
    """The derivative of a function with a jump: not square integrable."""

    name: str
    kinks: tuple[float, ...] = ()
    is_normalized: bool = False

    def _value(self, x: Array) -> Array:  # noqa: ARG002
        raise ValueError(f"{self.name}: a function with a jump has no derivative.")

    def scaled(self, var: float) -> "Undefined":  # noqa: ARG002
        """Return x -> s(sqrt(var) x)."""
        return self

    @property
    def derivative(self) -> Activation:
        """Itself."""
        return self

    def _coefficients(self, order: int) -> Array:  # noqa: ARG002
        return self._value(np.zeros(1))

    @cached_property
    def second_moment(self) -> float:
        """Infinite."""
        return math.inf
