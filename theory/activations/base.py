"""What every activation offers: moments, Hermite coefficients, duals, lengths."""

import math
from abc import ABC, abstractmethod
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks, gaussian, meshes
from theory.duals import Engine

Array = npt.NDArray[np.float64]

LINEAR = 1e-28
"""Non-linear share of the energy below which a function is affine to rounding."""


class Activation(ABC):
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

    name: str
    kinks: tuple[float, ...]
    is_normalized: bool

    # --- what a concrete activation defines ---------------------------------------

    @abstractmethod
    def _value(self, x: Array) -> Array: ...

    @abstractmethod
    def scaled(self, var: float) -> "Activation":
        """Return x -> s(sqrt(var) x), the activation as inputs of variance var see it."""

    @property
    @abstractmethod
    def derivative(self) -> "Activation":
        """S' as an activation; where s jumps it is not square integrable."""

    @abstractmethod
    def _coefficients(self, order: int) -> Array: ...

    def _edges(self, reach: float) -> Array:
        """Edges of panels that resolve s, within [-reach, reach]."""
        return meshes.resolve(self._value, self.kinks, reach=reach).edges

    # --- values -------------------------------------------------------------------

    def __call__(self, x: Any) -> Any:
        """Return s(x); a float for a float, an array for an array.

        Raises
        ------
        ValueError
            If `x` is not finite.
        """
        v = _checks.real(self.name, "x", x)
        return _checks.like(x, np.asarray(self._value(v)))

    def hermite(self, order: int, *, var: float = 1.0) -> Array:
        r"""Return the coefficients :math:`a_k = E[s(\sqrt{var} Z) h_k(Z)]`, k <= order.

        Parameters
        ----------
        order : int
            At least 0; to 200 the accuracy below holds.
        var : float
            Variance of the argument, positive.

        Returns
        -------
        array, (order + 1,)
            Relative error 1e-13, for coefficients that vanish relative to the largest
            one of the tail that starts there.

        Raises
        ------
        ValueError
            For an order that is not a whole number, or a variance that is not positive.

        Examples
        --------
        >>> from theory import activations as act
        >>> act.hermite(3).hermite(4).tolist()
        [0.0, 0.0, 0.0, 1.0, 0.0]
        """
        order = _checks.integer(f"{self.name}.hermite", "order", order, 0)
        return self._at(var, "hermite")._coefficients(order)

    def _at(self, var: float, who: str, name: str = "var") -> "Activation":
        v = float(_checks.positive(f"{self.name}.{who}", name, var))
        return self if v == 1.0 else self.scaled(v)

    # --- moments ------------------------------------------------------------------

    @cached_property
    def mean(self) -> float:
        """E s(Z) = a_0."""
        return 0.0 if self.is_normalized else float(self._coefficients(0)[0])

    @cached_property
    def second_moment(self) -> float:
        """E s(Z)^2; infinite where not square integrable."""
        if self.is_normalized:
            return 1.0
        return gaussian.expectation(lambda x: self._value(x) ** 2, self.kinks)

    @cached_property
    def variance(self) -> float:
        """E s(Z)^2 - (E s(Z))^2, without the cancellation."""
        if self.is_normalized:
            return 1.0
        m = self.mean
        return gaussian.expectation(lambda x: (self._value(x) - m) ** 2, self.kinks)

    @cached_property
    def derivative_second_moment(self) -> float:
        """D = E s'(Z)^2: the slope of the dual at 1; infinite where s jumps."""
        return self.derivative.second_moment

    def _rest_by_quadrature(self) -> float:
        a = self._coefficients(1)
        m, b = float(a[0]), float(a[1])
        return gaussian.expectation(
            lambda x: (self._value(x) - m - b * x) ** 2, self.kinks
        )

    @cached_property
    def _rest(self) -> float:
        """sum_{k>=2} a_k^2."""
        return self._rest_by_quadrature()

    @property
    def _linear(self) -> float:
        """Share of `_rest` that may be rounding; 0 where it is a sum of exact terms."""
        return LINEAR

    @cached_property
    def mu(self) -> float:
        r"""Coefficient of non-linearity of the normalised activation, in (0, 1].

        .. math:: \mu = 1 - \frac{a_1^2}{\mathrm{Var}\,s(Z)}
                      = \frac{\sum_{k \ge 2} a_k^2}{\sum_{k \ge 1} a_k^2}

        Agarwal, Awasthi, Kale (2020), Definition 3.1. Relative accuracy 1e-13, however
        small.

        Raises
        ------
        ValueError
            For a constant, and for an affine activation: depth does nothing to it, and
            no bound of the paper applies.

        Examples
        --------
        >>> from theory import activations as act
        >>> round(act.relu.mu, 12), act.absolute.mu
        (0.266528896538, 1.0)
        """
        if not self.variance > 0.0:
            raise ValueError(f"{self.name}.mu: activation must not be constant.")
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
        return min(self._rest / self.second_moment, 1.0)

    def normalized(self) -> "Activation":
        """Return (s - E s) / sd(s); exactly itself when it is normalised already.

        Raises
        ------
        ValueError
            For a constant.

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
        from theory.activations.affine import Affine

        scale = 1.0 / math.sqrt(self.variance)
        return Affine(self, scale, -self.mean * scale, is_normalized=True)

    # --- duals --------------------------------------------------------------------

    def dual(self, rho: Any, *, var_x: float = 1.0, var_y: float = 1.0) -> Any:
        r"""Return the dual activation :math:`E[s(X) s(Y)]`.

        X and Y are centred Gaussian with variances `var_x`, `var_y` and correlation
        `rho`.

        Parameters
        ----------
        rho : float or array_like
            In [-1, 1]; rounding beyond the ends is clipped.
        var_x, var_y : float
            Positive.

        Returns
        -------
        float or array
            Relative error 1e-13 of E s^2, ends included.

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
        r = _checks.correlation(f"{self.name}.dual", rho)
        e = pair(self._at(var_x, "dual", "var_x"), self._at(var_y, "dual", "var_y"))
        return _checks.like(rho, np.asarray(e.dual(r)))

    def dual_derivative(
        self, rho: Any, *, var_x: float = 1.0, var_y: float = 1.0
    ) -> Any:
        r"""Return the derivative of `dual` in rho: sqrt(var_x var_y) E[s'(X) s'(Y)].

        Parameters, accuracy and errors as `dual`; infinite at rho = 1 where s jumps.

        Examples
        --------
        >>> from theory import activations as act
        >>> act.relu.dual_derivative(0.0)
        0.25
        """
        r = _checks.correlation(f"{self.name}.dual_derivative", rho)
        e = pair(
            self._at(var_x, "dual_derivative", "var_x"),
            self._at(var_y, "dual_derivative", "var_y"),
        )
        return _checks.like(rho, np.asarray(e.slope(r)))

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
            If `delta` is outside [0, 2].

        Examples
        --------
        >>> from theory import activations as act
        >>> act.hermite(2).distance_map(1e-18)
        2e-18
        """
        d = _checks.interval(f"{self.name}.distance_map", "delta", delta, 0.0, 2.0)
        e = pair(self, self)
        return _checks.like(delta, np.asarray(e.distance(d) / self.second_moment))

    def fixed_point(self) -> float:
        """Return the smallest fixed point in [0, 1] of the dual of s / sqrt(E s^2).

        Correlations converge to it with depth. 0 for a centred activation; 1 when the
        slope there, D / E s^2, is at most one. Absolute accuracy 1e-13.

        Examples
        --------
        >>> from theory import activations as act
        >>> act.tanh.fixed_point(), act.relu.fixed_point()
        (0.0, 1.0)
        >>> round(act.gelu.fixed_point(), 9)
        0.760401905
        """
        if self.mean == 0.0:
            return 0.0
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
        return 1.0 - float(brentq(gap, low, 0.5, xtol=1e-16, rtol=1e-15))

    # --- lengths ------------------------------------------------------------------

    def length_map(self, q: Any) -> Any:
        r"""Return :math:`E\,s(\sqrt q Z)^2`: squared norms from layer to layer.

        Parameters
        ----------
        q : float or array_like
            Positive.

        Raises
        ------
        ValueError
            If an entry is not positive.

        Examples
        --------
        >>> from theory import activations as act
        >>> act.relu.length_map([1.0, 4.0]).tolist()
        [0.5, 2.0]
        """
        v = _checks.positive(f"{self.name}.length_map", "q", q)
        out = np.array(
            [self._at(float(s), "length_map").second_moment for s in v.ravel()]
        )
        return _checks.like(q, out.reshape(v.shape))

    def length_map_derivative(self, q: Any) -> Any:
        r"""Return the derivative of `length_map`, :math:`E[s s'(\sqrt q Z) Z]/\sqrt q`."""
        v = _checks.positive(f"{self.name}.length_map_derivative", "q", q)
        slope = self.derivative
        out = np.empty(v.size)
        for k, s in enumerate(v.ravel()):
            root = math.sqrt(s)
            x, w = gaussian.panels(tuple(c / root for c in self.kinks))
            product = self._value(root * x) * slope._value(root * x)
            out[k] = math.fsum(w * gaussian.pdf(x) * product * x) / root
        return _checks.like(q, out.reshape(v.shape))


@lru_cache(maxsize=512)
def pair(a: Activation, b: Activation) -> Engine:
    """Return the engine that evaluates E[a(X) b(Y)], whatever the correlation."""
    from theory.activations.pairs import engine

    return engine(a, b)
