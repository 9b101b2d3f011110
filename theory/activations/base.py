"""What every activation offers: Hermite coefficients, duals, maps of lengths."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from numbers import Real
from reprlib import Repr
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from theory import _checks, duals, gaussian
from theory.activations import _engines as engines
from theory.activations import moments
from theory.activations.function import ODD, GaussianFunction

Array = npt.NDArray[np.float64]

LARGEST = 1e307
"""Of a variance, and of its inverse."""

FAR = 39.0
"""Half-width of the axis: beyond it the density is zero in float64."""

_SHORT = Repr()
_SHORT.maxtuple, _SHORT.maxstring, _SHORT.maxother = 8, 200, 200


class Activation(GaussianFunction):
    """A square-integrable function s of a standard Gaussian Z, and what follows from it.

    Moments and coefficients are with respect to Z ~ N(0, 1); a coefficient a_k belongs to
    the normalised probabilists' Hermite polynomial h_k. Activations are immutable and
    hashable; every derived number is computed once.

    Attributes
    ----------
    name : str
    kinks : tuple of float
        Where s or its derivative jumps.
    is_normalized : bool
        Whether E s = 0 and E s^2 = 1 by construction.
    """

    def __repr__(self) -> str:
        """Return its name in `theory.activations`, or what it is made of."""
        from theory.activations import definitions  # made of activations

        for name in definitions.NAMES:
            if getattr(definitions, name) == self:
                return f"activations.{name}"
        given = {f: getattr(self, f.name) for f in fields(cast("Any", self)) if f.repr}
        shown = (
            f"{f.name}={_SHORT.repr(v)}" for f, v in given.items() if v != f.default
        )
        return f"{type(self).__name__}({', '.join(shown)})"

    # --- arithmetic with numbers ----------------------------------------------------

    __array_ufunc__ = None
    """A number of NumPy leaves ``number * s`` to the activation."""

    def __mul__(self, factor: float) -> "Activation":
        """Return x -> factor * s(x), `factor` from -1e154 to 1e154.

        Examples
        --------
        >>> from theory import activations as act
        >>> swing = 2 * act.sigmoid - 1
        >>> swing, float(swing(0.0))
        (2.0 * activations.sigmoid - 1.0, 0.0)
        """
        if not _takes(factor, "*"):
            return NotImplemented
        return self._affine(float(factor), 0.0)

    def __add__(self, shift: float) -> "Activation":
        """Return x -> s(x) + shift, `shift` from -1e154 to 1e154."""
        if not _takes(shift, "+"):
            return NotImplemented
        return self._affine(1.0, float(shift))

    __rmul__, __radd__ = __mul__, __add__

    def __truediv__(self, number: float) -> "Activation":
        """Return x -> s(x) / number."""
        if not _takes(number, "/"):
            return NotImplemented
        return self._affine(1.0 / float(number) if number else math.inf, 0.0)

    def __sub__(self, shift: float) -> "Activation":
        """Return x -> s(x) - shift."""
        if not _takes(shift, "-"):
            return NotImplemented
        return self._affine(1.0, -float(shift))

    def __rsub__(self, number: float) -> "Activation":
        """Return x -> number - s(x)."""
        return -self + number

    def __neg__(self) -> "Activation":
        """Return x -> -s(x)."""
        return self._affine(-1.0, 0.0)

    def _affine(self, scale: float, shift: float) -> "Activation":
        from theory.activations.affine import Affine  # an activation itself

        return Affine(self, scale, shift)

    @abstractmethod
    def _scaled(self, var: float) -> "Activation":
        """Return x -> s(sqrt(var) x)."""

    def _end_slope(self, other: "Activation", sign: float) -> float | None:
        """Return E s'(X) t'(+-X), or None where the dual's table knows it as well."""
        if self != other:
            return None
        whole = self.derivative_second_moment
        if sign > 0.0 or math.isfinite(whole):
            return whole if sign > 0.0 else None
        edges = self._edges(FAR)
        x, _ = gaussian.rule(np.union1d(edges, -edges), FAR)
        parity = engines.parity_at(self._value, x)
        if parity is None:
            return None
        return whole if parity == ODD else -whole

    def _require_slope(self, var: float) -> None:
        """Raise where a slope that was given is not that of s at a variance."""

    @property
    @abstractmethod
    def derivative(self) -> "Activation":
        """S' as an activation; where s jumps it is not square integrable."""

    @property
    def _slope_by_others(self) -> "Activation | None":
        """S' by other values of s, if it is read off values: rounding is what differs."""
        return None

    @property
    def _jumps(self) -> tuple[tuple[float, float], ...]:
        """Where s jumps and by how much, if it is constant between its jumps."""
        return ()

    def _parts(self) -> tuple["Activation", float, float]:
        """Return (b, scale, mean) with s = scale * b + shift and E s = mean."""
        return self, 1.0, self.mean

    def _slope_with(
        self,
        other: "Activation",  # noqa: ARG002
    ) -> Callable[[Array, Array], Array] | None:
        """Return (rho, 1 - rho^2) -> E s'(X) o'(Y), where there is a formula."""
        return None

    def _engine(self, other: "Activation") -> duals.Engine:
        """Return the covariance function of s(X) and t(Y), t another activation."""
        degrees = [f.degree for f in (self, other) if f.degree is not None]
        if degrees:
            n = max(min(degrees), 1)
            return engines.sum_of(self._coefficients(n) * other._coefficients(n))
        if not (self.kinks or other.kinks):
            series = engines.series(self, other)
            if series is not None:
                return series
        return engines.tabulated(self, other)

    def scaled(self, var: float) -> "Activation":
        """Return x -> s(sqrt(var) x), the activation as inputs of variance var see it.

        Raises
        ------
        ValueError
            If `var` is not in the range where moments are known, 1e-300 to 1e12 or
            what closed forms allow; if s is not resolved, or not finite, where a Gaussian
            of that variance is.
        """
        return self._scaled(self._variance("scaled", "var", var))

    def _one(self, var: float) -> "Activation":
        return self if var == 1.0 else self._scaled(var)

    def normalized(self) -> "Activation":
        """Return (s - E s) / sd(s); exactly itself when it is normalised already.

        Raises
        ------
        ValueError
            For a constant, or if the variance or its inverse is not within float64.

        Examples
        --------
        >>> from theory import activations as act
        >>> a = act.sigmoid.normalized()
        >>> a.mean, a.second_moment
        (0.0, 1.0)
        """
        if self.is_normalized:
            return self
        if not self.variance > 0.0:
            raise ValueError(
                f"{self.name}.normalized: activation must not be constant."
            )
        if self.variance < 1.0 / LARGEST or self.variance > LARGEST:
            raise ValueError(
                f"{self.name}.normalized: activation must have a variance from"
                f" {1.0 / LARGEST:g} to {LARGEST:g}, got {self.variance:.3g}."
            )
        from theory.activations.affine import Affine

        scale = 1.0 / math.sqrt(self.variance)
        return Affine(self, scale, -self.mean * scale, is_normalized=True)

    # --- duals --------------------------------------------------------------------

    def dual(self, rho: Any, *, var_x: Any = 1.0, var_y: Any = 1.0) -> Any:
        r"""Return the dual activation :math:`E[s(X) s(Y)]`.

        X and Y are centred Gaussian with variances `var_x`, `var_y` and correlation
        `rho`.

        Parameters
        ----------
        rho : float or array_like
            In [-1, 1]; rounding beyond the ends is clipped.
        var_x, var_y : float or array_like
            Positive; broadcast with `rho`.

        Returns
        -------
        float or array
            Relative error 1e-13 of E s^2, ends included. Thousands of entries are read
            from tables, 0.1 s for a million; each pair of variances has its own, which
            take some 10 ms.

        Raises
        ------
        ValueError
            If an argument is outside its range.

        Notes
        -----
        Daniely, Frostig, Singer (2016); Agarwal, Awasthi, Kale (2020), Definition C.1.

        Examples
        --------
        >>> from theory import activations as act
        >>> act.sign.dual([-1.0, 0.5, 1.0]).round(14).tolist()
        [-1.0, 0.33333333333333, 1.0]
        """

        def values(r: Array, x: float, y: float) -> Array:
            return np.asarray(_entries(self._one(x), self._one(y)).dual(r))

        return self._over("dual", rho, var_x, var_y, values)

    def dual_derivative(self, rho: Any, *, var_x: Any = 1.0, var_y: Any = 1.0) -> Any:
        r"""Return the derivative of `dual` in rho: sqrt(var_x var_y) E[s'(X) s'(Y)].

        Parameters, accuracy and errors as `dual`. At rho = 1 infinite where E s'^2 is, and
        at -1 for odd s; minus infinity there for even s.

        Examples
        --------
        >>> from theory import activations as act
        >>> act.relu.dual_derivative(0.0)
        0.25
        """
        return self._over("dual_derivative", rho, var_x, var_y, self._slopes)

    def _slopes(self, r: Array, x: float, y: float) -> Array:
        a, b = self._one(x), self._one(y)
        slope = np.asarray(_entries(a, b).slope(r))
        # Where s' is infinite at a kink, what knows other correlations errs at the ends.
        (f, p, _), (g, q, _) = a._parts(), b._parts()
        for end in (1.0, -1.0):
            known = f._end_slope(g, end) if np.any(r == end) else None
            slope = slope if known is None else np.where(r == end, p * q * known, slope)
        return slope

    def distance_map(self, delta: Any) -> Any:
        r"""Return one layer's map of the distance ``1 - rho``.

        .. math:: \delta \mapsto 1 - \frac{E[s(X)s(Y)]}{E\,s^2},
                  \qquad \mathrm{corr}(X, Y) = 1 - \delta

        Parameters
        ----------
        delta : float or array_like
            In [0, 2].

        Returns
        -------
        float or array
            Relative error 1e-13 from delta = 1e-18 to 2: iterated over any number of
            layers it still tells near-duplicates apart.

        Raises
        ------
        ValueError
            If `delta` is outside [0, 2]; for an activation that is zero.

        Examples
        --------
        >>> from theory import activations as act
        >>> act.hermite(2).distance_map(1e-18)
        2e-18
        """
        who = f"{self.name}.distance_map"
        d = _checks.interval(who, "delta", delta, 0.0, 2.0)
        if not self.second_moment > 0.0:
            raise ValueError(f"{who}: activation must not be zero.")
        at = self._near_one()
        e = _entries(at, at)
        return _checks.like(delta, np.asarray(e.distance(d) / at.second_moment))

    def _near_one(self) -> "Activation":
        """Return this, times a power of two where E s^2 has few digits left below it."""
        power = math.frexp(self.second_moment)[1] // 2
        return self if abs(power) < 300 else math.ldexp(1.0, -power) * self

    def fixed_point(self) -> float:
        """Return the smallest fixed point in [0, 1] of the dual of s / sqrt(E s^2).

        Correlations converge to it with depth. 0 for a centred activation; 1 when the
        slope there, D / E s^2, is at most one. Absolute accuracy 1e-13, of nearly linear
        activations with kinks that are not piecewise polynomials over D / E s^2 - 1.

        Raises
        ------
        ValueError
            For an activation that is zero.

        Examples
        --------
        >>> from theory import activations as act
        >>> act.tanh.fixed_point(), act.relu.fixed_point()
        (0.0, 1.0)
        >>> round(act.gelu.fixed_point(), 9)
        0.760401905
        """
        if not self.second_moment > 0.0:
            raise ValueError(f"{self.name}.fixed_point: activation must not be zero.")
        if self.mean == 0.0:
            return 0.0
        from theory._bends import bend  # made of activations

        bent = bend(self, both=False)
        if bent is not None and bent.slight:
            return bent.fixed_point()
        excess = self.derivative_second_moment - self.second_moment
        if excess <= 16.0 * math.ulp(self.second_moment):
            return 1.0
        from scipy.optimize import brentq

        # The dual is convex on [0, 1] and above the diagonal at 0: it crosses once. Near
        # zero the correlation is the accurate unknown, near one the distance.
        def above(rho: float) -> float:
            return float(self.dual(rho)) / self.second_moment - rho

        if above(0.5) < 0.0:
            return float(brentq(above, 0.0, 0.5, xtol=1e-300, rtol=1e-15))

        def gap(d: float) -> float:
            return float(self.distance_map(d)) - d

        low = 1e-3
        while gap(low) <= 0.0:
            low /= 8.0
        return 1.0 - float(brentq(gap, low, 1.0, xtol=1e-16, rtol=1e-15))

    # --- lengths ------------------------------------------------------------------

    @property
    def _has_slope(self) -> bool:
        """Whether `derivative` has values, and s is their integral."""
        return True

    def _closed_slopes(self, q: Array) -> tuple[Array, Array] | None:  # noqa: ARG002
        """Return the derivatives in q of E s(sqrt(q) Z) and E s(sqrt(q) Z)^2, if known."""
        return None

    def length_map(self, q: Any) -> Any:
        r"""Return :math:`E\,s(\sqrt q Z)^2`: squared norms from layer to layer.

        Parameters
        ----------
        q : float or array_like
            Positive.

        Returns
        -------
        float or array
            Relative error 1e-12 for q from 1e-8 to 1e8. Many entries are read from a
            Chebyshev series in log q.

        Raises
        ------
        ValueError
            If an entry is not positive, or the activation grows so fast that E s^2 is
            not within float64.

        Examples
        --------
        >>> from theory import activations as act
        >>> act.relu.length_map([1.0, 4.0]).tolist()
        [0.5, 2.0]
        """
        v = self._variances("length_map", "q", q)
        return _checks.like(q, self._lengths(v.ravel()).reshape(v.shape))

    def length_map_derivative(self, q: Any) -> Any:
        r"""Return the derivative of `length_map`, :math:`E[s s'(\sqrt q Z) Z]/\sqrt q`.

        Where s jumps, or s' is not to be had, :math:`E[s(\sqrt q Z)^2 (Z^2 - 1)]/(2q)`.
        For q from 1e-8 to 1e8 the error is 1e-12 of ``E s^2 / q``, then 1e-11.

        Examples
        --------
        >>> from theory import activations as act
        >>> act.relu.length_map_derivative(4.0), act.sign.length_map_derivative(4.0)
        (0.5, 0.0)
        """
        v = self._variances("length_map_derivative", "q", q)
        return _checks.like(q, self._length_slopes(v.ravel()).reshape(v.shape))

    def _lengths(self, q: Array) -> Array:
        if q.size > moments.FEW:
            return moments.lengths(self, q)
        return np.array([self._one(v).second_moment for v in q.tolist()])

    def _length_slopes(self, q: Array) -> Array:
        known = self._closed_slopes(q)
        if known is not None:
            return known[1]
        if q.size > moments.FEW:
            return moments.length_slopes(self, q)
        at = [self._one(v) for v in q.tolist()]
        slopes = [moments.length_slope(a) for a in at]
        return np.array(slopes) / q


def _takes(value: object, sign: str) -> bool:
    """Whether it is a number; TypeError for another activation."""
    if isinstance(value, Activation):
        raise TypeError(
            f"Activation: `{sign}` takes an activation and a number, got two activations,"
            f" a and b. That of both is `from_function(lambda x: a(x) {sign} b(x))`."
        )
    return not isinstance(value, bool) and isinstance(value, Real)


@lru_cache(maxsize=512)
def pair(a: Activation, b: Activation) -> duals.Engine:
    """Return the engine that evaluates E[a(X) b(Y)], whatever the correlation.

    Its ``dual``, ``covariance`` and ``slope``, E[a'(X) b'(Y)], take float64 arrays of
    correlations in [-1, 1], which they do not check. Accuracy as `Activation.dual`.

    Raises
    ------
    ValueError
        If the dual is not known to the tolerance of a or b; if one jumps and the slope of
        the other is not square integrable.

    Examples
    --------
    >>> from theory import activations as act
    >>> half = act.pair(act.step, act.softplus).dual(np.array([0.0]))[0]
    >>> bool(np.isclose(half, 0.5 * act.softplus.mean, rtol=1e-14))
    True
    """
    (f, p, mean_a), (g, q, mean_b) = a._parts(), b._parts()
    if f is a and g is b:
        return f._engine(g)
    return duals.Rescaled(pair(f, g), p * q, mean_a * mean_b)


@lru_cache(maxsize=512)
def _entries(a: Activation, b: Activation) -> duals.Engine:
    """Return the same for arrays of any size: many entries are read from tables."""
    return duals.for_arrays(pair(a, b))
