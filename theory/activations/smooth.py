"""Smooth activations: the dual is the Hermite series."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import gaussian
from theory import hermite as _hermite
from theory.activations.base import Activation

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Formula:
    """A smooth function with its derivative and, for high orders, in mpmath."""

    name: str
    f: Callable[[Array], Array] = field(compare=False)
    df: Callable[[Array], Array] | None = field(default=None, compare=False)
    parity: int | None = None  # 0 even, 1 odd
    precise: Callable[[Any], Any] | None = field(default=None, compare=False)
    exact: Callable[[float, int], Array] | None = field(default=None, compare=False)
    key: Any = None


@dataclass(frozen=True)
class Smooth(Activation):
    """An entire or meromorphic activation: its dual is its Hermite series."""

    formula: Formula
    var: float = 1.0
    order: int = 0
    is_normalized: bool = False

    @property
    def name(self) -> str:  # type: ignore[override]
        """The formula's name, with primes and the variance."""
        n = self.formula.name + "'" * self.order
        return n if self.var == 1.0 else f"{n}[var={self.var:g}]"

    @property
    def kinks(self) -> tuple[float, ...]:  # type: ignore[override]
        """None."""
        return ()

    def _value(self, x: Array) -> Array:
        r = math.sqrt(self.var)
        return self.formula.f(r * x)

    def scaled(self, var: float) -> "Smooth":
        """Return x -> s(sqrt(var) x)."""
        return Smooth(self.formula, self.var * var, self.order)

    @property
    def derivative(self) -> Activation:
        """The derivative s' as an activation."""
        f = self.formula
        if f.df is None:
            raise ValueError(f"{self.name}.derivative: not available.")
        r = math.sqrt(self.var)
        df = f.df
        p = None if f.parity is None else 1 - f.parity
        g = Formula(
            f"{self.name}'",
            (lambda x, r=r: r * df(r * x)),
            parity=p,
            key=(f, self.var),
        )
        return Smooth(g, 1.0, self.order)

    def _coefficients(self, order: int) -> Array:
        f = self.formula
        # Coefficients that decay below the rounding of the first need more digits; the
        # lowest are read by every moment and have all of theirs.
        if f.exact is not None:
            return f.exact(self.var, order)
        if f.precise is None or not 8 < order <= 256:
            return self._quadrature_coefficients(order)
        out = _precise_coefficients(f, self.var, 256)[: order + 1].copy()
        return self._with_parity(out)

    def _quadrature_coefficients(self, order: int) -> Array:
        if self.formula.exact is not None:
            return self.formula.exact(self.var, order)
        return self._with_parity(_hermite.coefficients(self._value, order))

    def _with_parity(self, out: Array) -> Array:
        if self.formula.parity is not None:
            out[1 - self.formula.parity :: 2] = 0.0
        return out

    @cached_property
    def _energies(self) -> Array | None:
        """a_k^2 to order 640, or nothing when that is not all of the energy."""
        a = self._quadrature_coefficients(640)
        k = np.arange(641.0)
        p = a * a
        if float(np.max(p[-40:])) * 641.0**2 > 1e-17 * float(k @ p):
            return None
        return p

    @cached_property
    def second_moment(self) -> float:
        """E s(Z)^2."""
        if self._energies is None:
            return gaussian.expectation(lambda x: self._value(x) ** 2)
        return math.fsum(self._energies)

    @cached_property
    def variance(self) -> float:
        """E s(Z)^2 - (E s(Z))^2."""
        if self._energies is None:
            m = self.mean
            return gaussian.expectation(lambda x: (self._value(x) - m) ** 2)
        return math.fsum(self._energies[1:])

    @cached_property
    def _rest(self) -> float:
        if self._energies is None:
            return self._rest_by_quadrature()
        return math.fsum(self._energies[2:])

    @cached_property
    def derivative_second_moment(self) -> float:
        """D = E s'(Z)^2."""
        if self._energies is not None:
            return math.fsum(np.arange(641.0) * self._energies)
        if self.formula.df is not None:
            r = math.sqrt(self.var)
            df = self.formula.df
            return gaussian.expectation(lambda x: self.var * df(r * x) ** 2)
        a = self._coefficients(512)
        return float(np.sum(np.arange(513) * a * a))


@lru_cache(maxsize=256)
def _precise_coefficients(f: Formula, var: float, order: int) -> Array:
    import mpmath as mp

    assert f.precise is not None
    g = f.precise
    with mp.workdps(70):
        r = mp.sqrt(mp.mpf(var))
        return _hermite.precise_coefficients(lambda x: g(r * x), order, 70)


@dataclass(frozen=True)
class HermiteMixture(Activation):
    """sum_k a_k h_k with finitely many terms."""

    a: tuple[float, ...]
    name: str = "hermite mixture"
    kinks: tuple[float, ...] = ()
    is_normalized: bool = False

    def _value(self, x: Array) -> Array:
        rows = _hermite._rows(len(self.a) - 1, np.asarray(x), np.ones_like(x))
        return np.tensordot(np.array(self.a), rows, 1)

    def scaled(self, var: float) -> "HermiteMixture":
        """Return x -> s(sqrt(var) x), again with finitely many terms."""
        r = math.sqrt(var)
        a = _hermite.coefficients(lambda x: self._value(r * x), len(self.a) - 1)
        return HermiteMixture(tuple(float(v) for v in a), f"{self.name}[var={var:g}]")

    @property
    def derivative(self) -> Activation:
        """The derivative s' as an activation."""
        b = [math.sqrt(k) * v for k, v in enumerate(self.a)][1:] or [0.0]
        return HermiteMixture(tuple(b), f"{self.name}'")

    def _coefficients(self, order: int) -> Array:
        out = np.zeros(order + 1)
        n = min(order + 1, len(self.a))
        out[:n] = self.a[:n]
        return out

    @cached_property
    def second_moment(self) -> float:
        """E s(Z)^2."""
        return float(np.sum(np.square(self.a)))

    @cached_property
    def variance(self) -> float:
        """E s(Z)^2 - (E s(Z))^2."""
        return float(np.sum(np.square(self.a[1:])))

    @cached_property
    def _rest(self) -> float:
        return float(np.sum(np.square(self.a[2:])))
