"""Activations given by one definition: a function, its slope, and what is known of it."""

import copyreg
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _precision, duals, meshes
from theory import hermite as _hermite
from theory._cached import cached_property
from theory.activations.base import Activation
from theory.activations.function import ORDER, WIDEST

Array = npt.NDArray[np.float64]
Function = Callable[[Array], Array]

DEGREE = 31
"""Of the Taylor polynomials used within a quarter of the radius: 4^-32 is rounding."""

PRECISE = 256
"""Hermite coefficients up to this order are known to the last digit."""


@dataclass(frozen=True, kw_only=True)
class Closed:
    """Closed forms of s(sqrt(q) Z), as functions of the variance q.

    Attributes
    ----------
    coefficients : callable
        (q, order) -> a_0, ..., a_order.
    first : int
        The coefficients before this one are integrated.
    mean_slope : callable, optional
        The derivative of E s in q, of arrays.
    energy, energy_slope : callable, optional
        E s^2 and its derivative in q.
    variance : callable, optional
    slope_energy : callable, optional
        E (d/dZ s(sqrt(q) Z))^2.
    dual : callable, optional
        (q, q') -> the engine of two variances.
    slope : callable, optional
        Lengths r and o, rho and 1 - rho^2 -> E f'(r X) f'(o Y), where that is all.
    """

    coefficients: Callable[[float, int], Array]
    first: int = 0
    mean_slope: Function | None = None
    energy: Function | None = None
    energy_slope: Function | None = None
    variance: Function | None = None
    slope_energy: Function | None = None
    dual: Callable[[float, float], duals.Engine] | None = None
    slope: Callable[[Array, Array, Array, Array], Array] | None = None


@dataclass(frozen=True, kw_only=True)
class Definition:
    """Everything that is written down of an activation.

    Attributes
    ----------
    name : str
    f, df : callable
        The function and its derivative, of arrays.
    precise : callable
        (mpmath, x) -> f(x) at the working precision: Taylor and high Hermite
        coefficients are made from it.
    parity : int, optional
        `EVEN` (0) or `ODD` (1).
    kinks : tuple of float
        Where the derivative, or one of its derivatives, jumps.
    strip : float
        Distance of the nearest singularity from the real line, kinks aside.
    widest : float
        Largest variance of the argument at which moments are within float64.
    bend : tuple of callable, optional
        For a kink at zero: f(x) - f(0) - f'(0) x to a relative accuracy, and its
        derivative. Elsewhere Taylor's polynomial gives them.
    second : callable, optional
        The second derivative of a function whose first has no jump: it leaves its
        coefficients the digits that those of a kinked function lose, 1 / k^2.
    closed : Closed, optional
    """

    name: str
    f: Function
    df: Function
    precise: Callable[[Any, Any], Any]
    parity: int | None = None
    kinks: tuple[float, ...] = ()
    strip: float = math.inf
    bend: tuple[Function, Function] | None = None
    second: Function | None = None
    closed: Closed | None = None
    widest: float = WIDEST

    @property
    def _radius(self) -> float:
        """Of Taylor's series at zero; 4 for an entire function."""
        least = min([self.strip, *map(abs, self.kinks)])
        return least if math.isfinite(least) else 4.0

    def __repr__(self) -> str:
        if _known(self.name) is self:
            return f"CATALOGUE[{self.name!r}].definition"
        each = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self))
        return f"Definition({', '.join(each)})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a definition of the catalogue by its name: its functions have none."""
        if _known(self.name) is self:
            return _known, (self.name,)
        return copyreg.__newobj__, (Definition,), vars(self)  # type: ignore[attr-defined]


def _known(name: str) -> Definition | None:
    """Return a definition of the catalogue."""
    from theory.activations.definitions import CATALOGUE  # made of definitions

    found = CATALOGUE.get(name)
    return found.definition if isinstance(found, Smooth) else None


@dataclass(frozen=True, repr=False)
class Smooth(Activation):
    """factor * f^(order)(sqrt(var) x), f smooth between its kinks, order 0 or 1."""

    definition: Definition
    var: float = 1.0
    order: int = 0
    factor: float = 1.0
    is_normalized: bool = False

    # A mean that is not zero is known to its last digit.
    rounded = False

    @property
    def name(self) -> str:  # type: ignore[override]
        """The definition's name, with primes and the variance."""
        n = self.definition.name + "'" * self.order
        return n if self.var == 1.0 else f"{n}[var={self.var:g}]"

    @property
    def kinks(self) -> tuple[float, ...]:  # type: ignore[override]
        """Kinks of the definition, divided by sqrt(var)."""
        return tuple(c / self._root for c in self.definition.kinks)

    @property
    def parity(self) -> int | None:  # type: ignore[override]
        """That of the definition, turned over by each derivative."""
        p = self.definition.parity
        return None if p is None else (p + self.order) % 2

    @property
    def _root(self) -> float:
        return math.sqrt(self.var)

    @property
    def _widest(self) -> float:
        return self.definition.widest / self.var

    def _raw(self, u: Array) -> Array:
        return (self.definition.df if self.order else self.definition.f)(u)

    def _value(self, x: Array) -> Array:
        return self.factor * self._raw(self._root * x)

    def _scaled(self, var: float) -> "Smooth":
        return replace(self, var=self.var * var)

    @property
    def derivative(self) -> Activation:
        """The derivative s' as an activation; that of a derivative is not available."""
        if self.order:
            raise ValueError(f"{self.name}.derivative: not available.")
        return replace(self, order=1, factor=self.factor * self._root)

    def _edges(self, reach: float) -> Array:
        octave = max(math.ceil(math.log2(reach * self._root)), 5)
        edges = _mesh(self.definition, self.order, octave) / self._root
        return edges[np.abs(edges) <= reach]

    # --- near zero ----------------------------------------------------------------

    def _rise(self, x: Array) -> tuple[Array, float]:
        return self._without(x, 1), self.factor * float(self._raw(np.zeros(1))[0])

    def _bend(self, x: Array) -> Array:
        # A tangent helps where most of the Gaussian is near zero.
        return self._without(x, 2 if self._root < 1.0 else 1)

    def _without(self, x: Array, terms: int) -> Array:
        """Return s less the first terms of its Taylor polynomial at 0, 1 or 2."""
        d, u, zero = self.definition, self._root * x, np.zeros(1)
        if d.bend is not None:
            # The kink is at zero: what the tangent leaves is known by a formula.
            left = d.bend[self.order](u)
            return self.factor * (
                left + (u * d.df(zero) if terms + self.order < 2 else 0.0)
            )
        reach = 0.25 * d._radius
        if self._root > 0.5 * reach:
            # No digits to lose.
            return self.factor * (self._raw(u) - self._raw(zero))
        c = np.array(_taylor(d, self.order))
        far = self._raw(u) - np.polynomial.polynomial.polyval(u, c[:terms])
        c[:terms] = 0.0
        inside = np.clip(u, -reach, reach)
        near = np.polynomial.polynomial.polyval(inside, c)
        return self.factor * np.where(u == inside, near, far)

    # --- coefficients -------------------------------------------------------------

    def _coefficients(self, order: int) -> Array:
        closed, n = self.definition.closed, order + self.order
        first = 2 if closed is None else closed.first
        if closed is not None and n >= first:
            with np.errstate(over="ignore", invalid="ignore"):
                out = self._lowered(closed.coefficients(self.var, n))
            self._finite(out, "var")
        elif self._needs_digits(n):
            size = 12 if n <= 12 else PRECISE
            found = _precise_coefficients(self.definition, self.var, size)
            out = self._lowered(found[: n + 1])
        else:
            out = self._quadrature_coefficients(order)
        low = min(out.size, first - self.order if closed else first)
        if low > 0:
            # These are known to a relative accuracy however small the variance.
            out[:low] = self._quadrature_coefficients(low - 1)
        return self._with_parity(out)

    def _needs_digits(self, n: int) -> bool:
        """Whether a_n is so far below a_0 that float64 has lost it.

        With a singularity at distance d of the real line it is about e^(-d sqrt(n)), or
        sqrt(n!) / d^n for a larger d.
        """
        d = self.definition.strip / self._root
        if self.definition.kinks or not 1 < n <= PRECISE:
            return False
        return d > 3.3 if n <= 8 else d * math.sqrt(n) > 7.0

    def _lowered(self, a: Array) -> Array:
        """Coefficients of this activation from those of f: sqrt(k) a_k is of its slope."""
        if not self.order:
            return self.factor * a
        scale = self.factor / self._root
        return scale * np.sqrt(np.arange(1.0, len(a))) * a[1:]

    def _quadrature_coefficients(self, order: int) -> Array:
        edges = self._edges(_hermite.REACH)
        out = _hermite.expansion(self._bend, order, edges)
        out[0] = self._samples.mean
        if order:
            out[1] = self._samples.linear
        second, root, less = self.definition.second, self._root, 2 - self.order
        if second is not None and order >= 2:
            # By parts: E f h_k = E f' h_(k-1) / sqrt(k).
            last = np.arange(2.0, order + 1.0)
            high = _hermite.expansion(lambda x: second(root * x), order - less, edges)[
                2 - less :
            ]
            high *= self.factor * (root**less) / np.sqrt(last)
            out[2:] = high / np.sqrt(last - 1.0) if less == 2 else high
        return out

    def _series_coefficients(self) -> Array:
        closed = self.definition.closed
        if closed is None or closed.first:
            return self._with_parity(self._quadrature_coefficients(ORDER))
        a = closed.coefficients(self.var, ORDER + self.order)
        return self._with_parity(self._lowered(a))

    def _with_parity(self, out: Array) -> Array:
        if self.parity is not None:
            out[1 - self.parity :: 2] = 0.0
        return out

    # --- moments ------------------------------------------------------------------

    def _finite(self, values: Array, name: str = "q") -> Array:
        if np.isfinite(values).all():
            return values
        raise ValueError(
            f"{self.definition.name}: `{name}` must leave the moments within float64."
        )

    def _energy(self, q: Array) -> Array | None:
        """E s(sqrt(q) Z)^2 in closed form."""
        closed, v = self.definition.closed, self.var * q
        known = closed and (closed.slope_energy if self.order else closed.energy)
        if not known:
            return None
        with np.errstate(over="ignore"):
            return self.factor**2 * (known(v) / (v if self.order else 1.0))

    @cached_property
    def second_moment(self) -> float:
        """E s(Z)^2; infinite beyond float64."""
        known = self._energy(np.ones(1))
        return super().second_moment if known is None else float(known[0])

    @cached_property
    def variance(self) -> float:
        """E s(Z)^2 - (E s(Z))^2."""
        closed = self.definition.closed
        if self.parity == 1:
            return self.second_moment
        if closed is None or closed.variance is None:
            return super().variance
        if not self.order:
            with np.errstate(over="ignore"):
                return self.factor**2 * float(closed.variance(np.array(self.var)))
        if self.var <= 4.0:
            return super().variance
        return self.second_moment - self.mean**2

    @cached_property
    def _rest(self) -> float:
        closed = self.definition.closed
        if closed is None or closed.variance is None or self.var <= 4.0:
            return super()._rest
        return self.variance - float(self._coefficients(1)[1]) ** 2

    @cached_property
    def derivative_second_moment(self) -> float:
        """D = E s'(Z)^2, of a derivative by its Hermite series."""
        if not self.order:
            return self.derivative.second_moment
        a = self._series_coefficients()
        k = np.arange(len(a))
        total = float(k @ a**2)
        if (
            self.definition.kinks
            or float((k * a**2)[-40:].max()) * ORDER > 1e-16 * total
        ):
            raise ValueError(f"{self.name}.derivative_second_moment: not available.")
        return total

    def _lengths(self, q: Array) -> Array:
        known = self._energy(q)
        return super()._lengths(q) if known is None else self._finite(known)

    @property
    def _has_slope(self) -> bool:
        return not self.order

    def _closed_slopes(self, q: Array) -> tuple[Array, Array] | None:
        closed = self.definition.closed
        if self.order or not (closed and closed.mean_slope and closed.energy_slope):
            return None
        with np.errstate(over="ignore"):
            mean = self.var * closed.mean_slope(self.var * q)
            energy = self.var * closed.energy_slope(self.var * q)
        return self._finite(mean), self._finite(energy)

    def _slope_with(self, other: Activation) -> Callable[[Array, Array], Array] | None:
        closed = self.definition.closed
        if not (closed and closed.slope and isinstance(other, Smooth)):
            return None
        if self.definition != other.definition or self.order or other.order:
            return None
        slope, size = closed.slope, self._root * other._root
        size *= self.factor * other.factor
        r, o = np.array(self._root), np.array(other._root)
        return lambda rho, sine: size * slope(r, o, rho, sine)

    def _engine(self, other: Activation) -> duals.Engine:
        self._finite(np.array([self.second_moment, other.second_moment]), "var")
        closed = self.definition.closed
        if closed and closed.dual and isinstance(other, Smooth):
            same = self.definition == other.definition
            if same and not (self.order or other.order):
                return closed.dual(self.var, other.var)
        return super()._engine(other)


@lru_cache(maxsize=1024)
def _mesh(definition: Definition, order: int, octave: int) -> Array:
    f = definition.df if order else definition.f
    return meshes.resolve(f, definition.kinks, reach=2.0**octave).edges


@lru_cache(maxsize=128)
def _taylor(definition: Definition, order: int) -> tuple[float, ...]:
    """Taylor coefficients at zero, c_0 + c_1 x + ..."""
    with _precision.digits(60) as mp:
        c = mp.taylor(lambda x: definition.precise(mp, x), 0, DEGREE + order)
        if order:
            c = [k * v for k, v in enumerate(c)][1:]
        return tuple(float(v) for v in c)


@lru_cache(maxsize=256)
def _precise_coefficients(definition: Definition, var: float, order: int) -> Array:
    """a_0, ..., a_order of f(sqrt(var) Z) by the trapezoid rule in mpmath."""
    d = definition.strip / math.sqrt(var)
    # Digits below a_0 at which the last one starts, as in `Smooth._needs_digits`.
    if d < math.sqrt(order):
        below = d * math.sqrt(order) / math.log(10.0)
    else:
        below = order * math.log10(d) - 0.5 * math.lgamma(order + 1.0) / math.log(10.0)
    digits = 35 + math.ceil(min(below, 330.0))
    # The rule's error is e^(-2 pi d / h) for a step h. An entire function needs 1/10:
    # of order 256 that leaves 1e-600.
    steps = max(10, math.ceil(digits * math.log(10.0) / (2.0 * math.pi * d)))
    with _precision.digits(digits) as mp:
        r = mp.sqrt(mp.mpf(var))
        f = definition.precise
        return _hermite.precise_coefficients(
            lambda x: f(mp, r * x), order, digits, steps
        )
