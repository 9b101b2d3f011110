"""A function of a standard Gaussian variable: its values and its moments."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from theory import _checks, gaussian
from theory._cached import cached_property
from theory.activations import moments
from theory.hermite import MOST

Array = npt.NDArray[np.float64]

EVEN, ODD = 0, 1

LINEAR = 1e-28
"""Non-linear share of the energy below which a function is affine to rounding."""

CENTRED = 4.0 * float(np.finfo(np.float64).eps)
"""Mean over root mean square that counts as zero: the constants of SELU, rounded to
float64, leave 1.7e-16."""

NARROWEST, WIDEST = 1e-300, 1e12
"""Range of the variances of an argument, unless closed forms reach further."""

ORDER = 640
"""Last Hermite coefficient of a series."""


class GaussianFunction(ABC):
    """A square-integrable function s of a standard Gaussian Z, and its moments.

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
    parity : int or None
        `EVEN` (0) or `ODD` (1) where that is known.
    degree : int or None
        That of a polynomial.
    """

    name: str
    kinks: tuple[float, ...]
    is_normalized: bool
    parity: int | None = None
    degree: int | None = None
    tolerance: float = 1e-12
    """Error of a dual, over its size, above which it is refused."""
    rounded: ClassVar[bool] = True
    """Whether a mean as small as rounding counts as zero."""

    # --- what a concrete activation defines ---------------------------------------

    @abstractmethod
    def _value(self, x: Array) -> Array: ...

    @abstractmethod
    def _scaled(self, var: float) -> "GaussianFunction":
        """Return x -> s(sqrt(var) x)."""

    @property
    @abstractmethod
    def derivative(self) -> "GaussianFunction":
        """S' as an activation; where s jumps it is not square integrable."""

    @abstractmethod
    def _coefficients(self, order: int) -> Array: ...

    # --- what one may refine ------------------------------------------------------

    @property
    def _widest(self) -> float:
        """Largest variance of the argument at which moments are known."""
        return WIDEST

    def _edges(self, reach: float) -> Array:
        """Return rising points in [-reach, reach] between which s is resolved.

        Kinks among them, in units of the argument of s: on a panel between two, 16
        Chebyshev nodes determine s to rounding.
        """
        return gaussian.graded(self.kinks, reach)

    def _anywhere(self, x: Array) -> Array:
        """Return s(x), also where no standard Gaussian has any weight."""
        return self._value(x)

    def _rise(self, x: Array) -> tuple[Array, float]:
        """Return s(x) - c to a relative accuracy, and a constant c: s(0) where known."""
        return self._value(x), 0.0

    def _bend(self, x: Array) -> Array:
        """Return s(x) less an affine function: its tangent at 0 where known."""
        return self._value(x)

    @property
    def _may_converge(self) -> bool:
        """Whether a Hermite series of order 640 is worth trying."""
        return True

    def _series_coefficients(self) -> Array:
        """Return a_0, ..., a_640 to the rounding of the largest."""
        return self._coefficients(ORDER)

    # --- values -------------------------------------------------------------------

    def __call__(self, x: Any) -> Any:
        """Return s(x); a float for a float, an array for an array.

        Raises
        ------
        ValueError
            If `x` is not finite.
        """
        v = _checks.real(self.name, "x", x)
        with np.errstate(all="ignore"):
            out = np.asarray(self._anywhere(v))
        return _checks.like(x, _checks.result(self.name, out, "x"))

    def _variance(self, who: str, name: str, value: Any) -> float:
        """Return a checked variance of the argument."""
        who = f"{self.name}.{who}"
        return _checks.number(who, name, value, NARROWEST, self._widest)

    def _variances(self, who: str, name: str, value: Any) -> Array:
        """Return an array of them."""
        who = f"{self.name}.{who}"
        return _checks.interval(who, name, value, NARROWEST, self._widest)

    def _over(
        self,
        who: str,
        rho: Any,
        var_x: Any,
        var_y: Any,
        values: Callable[[Array, float, float], Array],
    ) -> Any:
        """Return values at correlations and two variances, arrays that broadcast."""
        r = _checks.correlation(f"{self.name}.{who}", rho)
        x = self._variances(who, "var_x", var_x)
        y = self._variances(who, "var_y", var_y)
        if x.ndim == y.ndim == 0:
            return _checks.like(rho, values(r, float(x), float(y)))
        shape = _checks.broadcast(f"{self.name}.{who}", rho=r, var_x=x, var_y=y)
        flat, *both = (np.broadcast_to(v, shape).ravel() for v in (r, x, y))
        pairs, which = np.unique(np.stack(both), axis=1, return_inverse=True)
        order = np.argsort(which.ravel(), kind="stable")
        ends = np.cumsum(np.bincount(which.ravel(), minlength=pairs.shape[1]))
        out = np.empty(flat.size)
        parts = np.split(order, ends)[:-1]
        for (v, w), at in zip(pairs.T.tolist(), parts, strict=True):
            out[at] = values(flat[at], v, w)
        return out.reshape(shape)

    def hermite(self, order: int, *, var: float = 1.0) -> Array:
        r"""Return the coefficients :math:`a_k = E[s(\sqrt{var} Z) h_k(Z)]`, k <= order.

        Parameters
        ----------
        order : int
            From 0 to 1,000,000; to 200 the accuracy below holds.
        var : float
            Variance of the argument, positive.

        Returns
        -------
        array, (order + 1,)
            Relative error 1e-13, for coefficients that vanish relative to the largest
            one of the tail that starts there; for variances from 1e-8 to 1e8 it is 1e-12
            of that one. Of a function of one's own also 1e-15 of the root mean square, to
            which its values are rounded. The first is `mean`.

        Raises
        ------
        ValueError
            For an order that is no whole number of the range, or a variance that is not
            positive.

        Examples
        --------
        >>> from theory import activations as act
        >>> act.hermite(3).hermite(4).tolist()
        [0.0, 0.0, 0.0, 1.0, 0.0]
        """
        order = _checks.integer(f"{self.name}.hermite", "order", order, 0, MOST)
        v = self._variance("hermite", "var", var)
        at = self if v == 1.0 else self._scaled(v)
        out = np.array(at._coefficients(order))
        out[0] = at.mean
        return out

    # --- moments ------------------------------------------------------------------

    @cached_property
    def _samples(self) -> moments.Samples:
        return moments.sample(self)

    @cached_property
    def mean(self) -> float:
        """E s(Z) = a_0; 0 where it is within four roundings of the root mean square."""
        if self.is_normalized or self.parity == ODD:
            return 0.0
        a = float(self._coefficients(0)[0])
        size = math.sqrt(self.second_moment)
        if self.rounded and math.isfinite(size) and abs(a) <= CENTRED * size:
            return 0.0
        return a

    @cached_property
    def second_moment(self) -> float:
        """E s(Z)^2; infinite where not square integrable."""
        return 1.0 if self.is_normalized else self._samples.second_moment

    @cached_property
    def variance(self) -> float:
        """E s(Z)^2 - (E s(Z))^2, without the cancellation."""
        return 1.0 if self.is_normalized else self._samples.variance

    @cached_property
    def derivative_second_moment(self) -> float:
        """D = E s'(Z)^2: the slope of the dual at 1; infinite where s jumps."""
        return self.derivative.second_moment

    @cached_property
    def _rest(self) -> float:
        """sum_{k>=2} a_k^2."""
        return self._samples.rest

    @property
    def _linear(self) -> float:
        """Share of `_rest` that may be rounding; 0 where it is a sum of exact terms."""
        return LINEAR

    @cached_property
    def mu(self) -> float:
        r"""Coefficient of non-linearity of the normalised activation, in (0, 1].

        .. math:: \mu = 1 - \frac{a_1^2}{\mathrm{Var}\,s(Z)}
                      = \frac{\sum_{k \ge 2} a_k^2}{\sum_{k \ge 1} a_k^2}

        Agarwal, Awasthi, Kale (2020), Definition 3.1. Relative accuracy 1e-13, for the
        catalogue however small.

        Raises
        ------
        ValueError
            For a constant, and for an affine activation: depth does nothing to it, and
            no bound of the paper applies. For a variance beyond float64.

        Examples
        --------
        >>> from theory import activations as act
        >>> round(act.relu.mu, 12), act.absolute.mu
        (0.266528896538, 1.0)
        """
        if not self.variance > 0.0:
            raise ValueError(f"{self.name}.mu: activation must not be constant.")
        self._require_finite("mu", self.variance)
        if self._rest <= self._linear * self.variance:
            raise ValueError(
                f"{self.name}.mu: activation must not be affine; mu would be 0, and no"
                " rate follows from it."
            )
        return min(self._rest / self.variance, 1.0)

    @cached_property
    def nu(self) -> float:
        r"""Coefficient of non-affinity, in [0, 1) for a mean that is not zero.

        .. math:: \nu = 1 - \frac{a_0^2 + a_1^2}{E\,s(Z)^2}

        Agarwal, Awasthi, Kale (2020), Definition C.20; 0 for an affine activation.
        """
        if not self.second_moment > 0.0:
            raise ValueError(f"{self.name}.nu: activation must not be zero.")
        self._require_finite("nu", self.second_moment)
        return min(self._rest / self.second_moment, 1.0)

    def _require_finite(self, what: str, square: float) -> None:
        if not math.isfinite(square):
            raise ValueError(
                f"{self.name}.{what}: activation must have squares within float64, got"
                f" the average {square:g}. Divide it first: shares have no scale."
            )
