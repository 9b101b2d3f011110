"""Piecewise polynomials: ReLU and its kin, in closed form."""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from theory import _checks, duals, gaussian
from theory import hermite as _hermite
from theory._cached import cached_property
from theory.activations import _taylor_pieces as taylor_pieces
from theory.activations.base import FAR, Activation
from theory.activations.function import EVEN, ODD
from theory.activations.undefined import Undefined
from theory.duals.arc_cosine import REST, ArcCosine

Array = npt.NDArray[np.float64]

LARGEST = 1e150
"""Of values at zero from kinks below it: their squares stay within float64."""

OUTER = 8.0
"""Kinks beyond it are seen by closed forms only: the axis of a quadrature ends at 20."""


@dataclass(frozen=True, repr=False)
class PiecewisePolynomial(Activation):
    """poly(x) + sum_j J_j (x - c_j)_+^m / m!, degree(poly) <= m.

    m is 0, 1 or 2; `poly`, c_j = `kinks` and J_j = `jumps` are tuples of numbers, and as
    many kinks as jumps. ValueError otherwise, and where a kink below zero adds more than
    1e150 to values at zero. Tables of a dual take time that grows with
    the square of the number of kinks: some ten seconds for each layer's with 32 of them.

    Duals are sums over pairs of kinks, and rounding of their terms is left where these
    cancel: of a peak of unit slopes, jumps (1, -2, 1) at kinks h apart, an error over E s^2
    of 1e-14 at h = 0.1, 1e-12 at 0.01, 2e-10 at 1e-3 and 1e-6 at 1e-5.
    """

    name: str
    m: int
    poly: tuple[float, ...]
    kinks: tuple[float, ...] = ()
    jumps: tuple[float, ...] = ()
    is_normalized: bool = False
    known: tuple[float, ...] = ()  # a_0.. a_m when better known than by the formula
    parity: int | None = None

    def __post_init__(self) -> None:
        who = "PiecewisePolynomial"
        _checks.text(who, "name", self.name)
        most = _checks.integer(who, "m", self.m, 0, 2) + 1
        for name in ("poly", "kinks", "jumps", "known"):
            value = _checks.numbers(who, name, getattr(self, name))
            object.__setattr__(self, name, value)
        if len(self.jumps) != len(self.kinks):
            need = f"have {len(self.kinks)} entries, one for each of `kinks`"
            raise _checks.refuse(who, "jumps", need, self.jumps)
        if len(self.poly) > most:
            need = f"have at most m + 1 = {most} entries"
            raise _checks.refuse(who, "poly", need, self.poly)
        for c, j in zip(self.kinks, self.jumps, strict=True):
            if c < 0.0 < self.m and math.prod([-c] * self.m, start=abs(j)) > LARGEST:
                need = f"add at most {LARGEST:g} to values at zero"
                raise _checks.refuse(who, "kinks", need, c, f"Its jump is {j:g}.")
        _checks.flag(who, "is_normalized", self.is_normalized)
        if self.parity is not None:
            _checks.integer(who, "parity", self.parity, EVEN, ODD)

    @property
    def degree(self) -> int | None:  # type: ignore[override]
        """Degree of the polynomial on the Gaussian's support, if no kink is near."""
        return None if self._near.kinks else self.m

    @property
    def _jumps(self) -> tuple[tuple[float, float], ...]:
        return () if self.m else tuple(zip(self.kinks, self.jumps, strict=True))

    @property
    def _far_left(self) -> float:
        """The slope of the polynomial, at most linear: s' to the left of all kinks."""
        return self.poly[1] if len(self.poly) > 1 else 0.0

    @cached_property
    def _local(self) -> tuple[Array, Array, Array]:
        """Kinks in order, and of each piece its centre and its Taylor coefficients there.

        Beyond several kinks the powers (x - c)_+^m cancel; these do not.
        """
        order = np.argsort(self.kinks)
        kinks, jumps = np.array(self.kinks)[order], np.array(self.jumps)[order]
        rows = taylor_pieces.rows(self.m, self.poly, kinks, jumps)
        return kinks, taylor_pieces.centres(kinks), rows

    def _of_pieces(self, rows: Array) -> "PiecewisePolynomial":
        """Return itself, of pieces that are better known than from the sum."""
        kinks = np.sort(np.array(self.kinks, dtype=np.float64))
        vars(self)["_local"] = kinks, taylor_pieces.centres(kinks), rows
        return self

    def _value(self, x: Array) -> Array:
        if len(self.kinks) > 1 or min(self.kinks, default=0.0) < 0.0:
            kinks, centres, rows = self._local
            piece = np.searchsorted(kinks, x, side="left")
            y = x - centres[piece]
            out: Array = rows[piece, self.m]
            for p in range(self.m - 1, -1, -1):
                out = out * y + rows[piece, p]
            # Before the first kink the polynomial is given at zero.
            return np.where(piece == 0, self._polynomial(x), out)
        out = self._polynomial(x)
        for c, j in zip(self.kinks, self.jumps, strict=True):
            up = (x > c) if self.m == 0 else np.maximum(x - c, 0.0) ** self.m
            out = out + j * up / math.factorial(self.m)
        return out

    @cached_property
    def _rising(self) -> "PiecewisePolynomial":
        """Itself, or itself less the constant of the polynomial: what is less at zero."""
        poly = (0.0, *self.poly[1:])
        rising = PiecewisePolynomial(self.name, self.m, poly, self.kinks, self.jumps)
        return min(self, rising, key=lambda f: abs(f._at_zero[0]))

    @property
    def _at_zero(self) -> Array:
        """The coefficients of the piece at zero."""
        kinks, _, rows = self._local
        return rows[np.searchsorted(kinks, 0.0)]

    def _rise(self, x: Array) -> tuple[Array, float]:
        rising = self._rising
        kinks, _, rows = rising._local
        i = int(np.searchsorted(kinks, 0.0))
        start = float(rows[i, 0])
        near = np.polynomial.polynomial.polyval(x, np.array([0.0, *rows[i, 1:]]))
        at_zero = np.searchsorted(kinks, x, side="left") == i
        rise = np.where(at_zero, near, rising._value(x) - start)
        return rise, start if rising is self else math.fsum([*self.poly[:1], start])

    def _polynomial(self, x: Array) -> Array:
        out: Array = np.zeros_like(x)
        for p in reversed(self.poly):
            out = out * x + p
        return out

    def _edges(self, reach: float) -> Array:
        return np.unique([c for c in (-reach, *self.kinks, reach) if abs(c) <= reach])

    def _scaled(self, var: float) -> "PiecewisePolynomial":
        r = math.sqrt(var)
        return PiecewisePolynomial(
            f"{self.name}[var={var:g}]",
            self.m,
            tuple(p * r**i for i, p in enumerate(self.poly)),
            tuple(c / r for c in self.kinks),
            tuple(j * r**self.m for j in self.jumps),
            parity=self.parity,
        )._of_pieces(self._local[2] * r ** np.arange(self.m + 1.0))

    @property
    def _widest(self) -> float:
        # E s^2 has the m-th power of the variance.
        return 10.0 ** (300.0 / self.m) if self.m > 1 else math.inf

    @property
    def derivative(self) -> Activation:
        """s': one order lower, with the same kinks."""
        parity = None if self.parity is None else 1 - self.parity
        if self.m == 0:
            if self.jumps:
                return Undefined(f"{self.name}'")
            return PiecewisePolynomial(f"{self.name}'", 0, (0.0,), parity=parity)
        return PiecewisePolynomial(
            f"{self.name}'",
            self.m - 1,
            tuple(i * p for i, p in enumerate(self.poly))[1:],
            self.kinks,
            self.jumps,
            parity=parity,
        )._of_pieces(self._local[2][:, 1:] * np.arange(1, self.m + 1))

    # --- coefficients -------------------------------------------------------------

    def _low(self) -> Array:
        """a_0, ..., a_m; constants that cancel are summed exactly."""
        terms: list[list[float]] = [[] for _ in range(self.m + 1)]
        # Far below zero a kink is seen from above, (x - c)_+^m being (x - c)^m less or
        # more what is beyond it: the polynomial is that above these kinks.
        kinks, centres, rows = self._local
        i = int(np.searchsorted(kinks, -1.0))
        poly = (
            taylor_pieces.moved(rows[i], -float(centres[i])).tolist()
            if i
            else self.poly
        )
        for i, p in enumerate(poly):
            for k in range(i % 2, i + 1, 2):
                # x^i = sum_k i! / (2^((i-k)/2) ((i-k)/2)! sqrt k!) h_k ...
                half = (i - k) // 2
                root = math.sqrt(math.factorial(k))
                count = 2.0**half * math.factorial(half) * root
                terms[k].append(p * math.factorial(i) / count)
        for c, j in zip(self.kinks, self.jumps, strict=True):
            for k in range(self.m + 1):
                n = self.m - k
                scale = math.factorial(n) * math.sqrt(math.factorial(k))
                if c < -1.0:
                    terms[k].append(
                        j * (-1.0) ** (n + 1) * gaussian.tail_moment(n, -c) / scale
                    )
                else:
                    terms[k] += [j * t / scale for t in gaussian.tail_terms(n, c)]
        out = np.array([math.fsum(t) for t in terms])
        if self.known:
            out[: len(self.known)] = self.known
        if self.is_normalized:
            out[0] = 0.0
        return self._with_parity(out)

    def _with_parity(self, out: Array) -> Array:
        if self.parity is not None:
            out[1 - self.parity :: 2] = 0.0
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
            h = _hermite.weighted_at(order - self.m - 1, self.kinks, self.jumps)
            out[self.m + 1 :] = np.array(h) / np.sqrt(fall)
        return self._with_parity(out)

    # --- moments ------------------------------------------------------------------

    @property
    def quadrature_error(self) -> float:
        """0: every moment has a closed form."""
        return 0.0

    @cached_property
    def _near(self) -> "PiecewisePolynomial":
        """Itself without the kinks that a Gaussian does not see."""
        if all(abs(c) <= FAR for c in self.kinks):
            return self
        kinks, centres, rows = self._local
        first = int(np.searchsorted(kinks, -FAR))
        last = int(np.searchsorted(kinks, FAR, side="right"))
        order = np.argsort(self.kinks)[first:last]
        kept = kinks[first:last]
        poly = taylor_pieces.moved(rows[first], -float(centres[first]))
        # About the first kink that is left, or zero.
        start = taylor_pieces.centres(kept)[0] - centres[first]
        low = taylor_pieces.moved(rows[first], float(start))
        return replace(
            self,
            poly=tuple(self._with_parity(poly).tolist()),
            kinks=tuple(kept.tolist()),
            jumps=tuple(self.jumps[i] for i in order),
        )._of_pieces(np.array([low, *rows[first + 1 : last + 1]]))

    @property
    def _is_homogeneous(self) -> bool:
        return not any(self._near.kinks)

    @property
    def _is_outer(self) -> bool:
        return any(abs(c) > OUTER for c in self.kinks)

    @cached_property
    def variance(self) -> float:
        """Energy above order 0: low orders plus Taylor's remainder of the dual."""
        if self.is_normalized:
            return 1.0
        if self._is_homogeneous or self._is_outer:
            with np.errstate(over="ignore"):  # infinite beyond float64
                return float(np.sum(self._low()[1:] ** 2)) + self._remainder
        return super().variance

    @cached_property
    def second_moment(self) -> float:
        """E s^2; to the last digit when every kink is at zero."""
        if self.is_normalized:
            return 1.0
        if not self._is_homogeneous:
            if self._is_outer:
                return self.variance + float(self._low()[0]) ** 2
            return super().second_moment
        squares = enumerate(self._near._half_squares())
        return math.fsum(v * taylor_pieces.absolute_moment(k) for k, v in squares)

    def _half_squares(self) -> Array:
        """Half of each branch squared, added up: a polynomial of |x|, of kinks at zero."""
        below = np.zeros(self.m + 1)
        below[: len(self.poly)] = self.poly
        above = below.copy()
        above[self.m] += math.fsum(self.jumps) / math.factorial(self.m)
        below *= (-1.0) ** np.arange(self.m + 1)
        return 0.5 * (np.convolve(above, above) + np.convolve(below, below))

    @cached_property
    def _remainder(self) -> float:
        """Energy above order m: Taylor's remainder of the dual at one."""
        if self._is_homogeneous:
            jumps = math.fsum(self._near.jumps)
            return jumps * jumps * REST[self.m]
        return _truncated(self._near, self._near).remainder()

    @cached_property
    def _rest(self) -> float:
        if not self._has_exact_rest and not self._is_outer:
            found = super()._rest
            if found > 1e-4 * self.variance:
                return found
        # Nearly affine: kinks so far out that the densities at them do not cancel.
        a = self._coefficients(max(self.m, 1))
        rest = self._remainder + float(np.sum(a[2:] ** 2))
        return rest if self.m else rest - float(a[1]) ** 2

    @property
    def _has_exact_rest(self) -> bool:
        # Then the remainder is an integral of positive terms, however small.
        same = all(j > 0.0 for j in self.jumps) or all(j < 0.0 for j in self.jumps)
        return self._is_homogeneous or (self.m >= 1 and same)

    @property
    def _linear(self) -> float:
        return 0.0 if self._has_exact_rest else super()._linear

    def _lengths(self, q: Array) -> Array:
        if not self._is_homogeneous or self._near is not self:
            return super()._lengths(q)
        squares = enumerate(self._half_squares())
        moments = [v * taylor_pieces.absolute_moment(k) for k, v in squares]
        return np.asarray(np.polynomial.polynomial.polyval(np.sqrt(q), moments), float)

    @property
    def _has_slope(self) -> bool:
        return self.m > 0 or not self.jumps

    def _closed_slopes(self, q: Array) -> tuple[Array, Array] | None:
        if self.m:
            return None
        # Of a step at c: d/dq P(sqrt(q) Z > c) = r phi(r) / (2 q), r = c / sqrt(q).
        order = np.argsort(self.kinks)
        jumps = np.array(self.jumps)[order]
        levels = sum(self.poly) + np.cumsum([0.0, *jumps])
        r = np.array(self.kinks)[order] / np.sqrt(q)[:, None]
        rates = 0.5 * r * gaussian.pdf(r) / q[:, None]
        return rates @ jumps, rates @ np.diff(levels**2)

    def _engine(self, other: Activation) -> duals.Engine:
        if not isinstance(other, PiecewisePolynomial) or self.m != other.m:
            return super()._engine(other)
        a, b = self._near, other._near
        if not (a.kinks and b.kinks):
            return super()._engine(other)
        if any(a.kinks) or any(b.kinks):
            return _truncated(a, b)
        # Of the polynomials below the first kink.
        rows = [PiecewisePolynomial(f.name, f.m, f.poly)._low() for f in (a, b)]
        tops = [math.fsum(f.jumps) for f in (a, b)]
        return ArcCosine.build(self.m, (rows[0], tops[0]), (rows[1], tops[1]))


def _truncated(a: PiecewisePolynomial, b: PiecewisePolynomial) -> duals.Truncated:
    m = a.m
    low = tuple((a._coefficients(m) * b._coefficients(m)).tolist())
    kinks = (*a.kinks, *b.kinks)
    both = tuple(sorted({*kinks, *(-k for k in kinks)}))
    reach = max([20.0, *(abs(k) + 12.0 for k in kinks)])
    x, w = gaussian.panels(both, reach)
    weight = w * gaussian.pdf(x)
    one, minus = [], []
    f: Activation = a
    g: Activation = b
    for k in range(m + 1):
        fx = f._value(x)
        one.append(float(np.sum(weight * fx * g._value(x))))
        minus.append(float(np.sum(weight * fx * g._value(-x))))
        if k < m:
            f, g = f.derivative, g.derivative
    pairs = tuple(
        (ja * jb, ca, cb)
        for (ca, ja), (cb, jb) in itertools.product(
            zip(a.kinks, a.jumps, strict=True), zip(b.kinks, b.jumps, strict=True)
        )
    )
    # Without the constants, beside which the rest may be small.
    twice = [h._rise(x)[0] - h._rise(-x)[0] for h in (a, b)]
    odd = 0.5 * float(np.sum(weight * twice[0] * twice[1]))
    return duals.Truncated(m, pairs, low, tuple(one), tuple(minus), odd)
