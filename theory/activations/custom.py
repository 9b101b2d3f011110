"""Activations from the caller's own function: NumPy, torch, SymPy or plain Python."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from theory._cached import cached_property
from theory.activations import _engines as engines
from theory.activations import _recognition as recognition
from theory.activations import _requirements as requirements
from theory.activations._callables import as_numpy
from theory.activations._half_weighted import Factor, HalfWeighted, product_moment
from theory.activations._octaves import Octaves
from theory.activations.base import Activation
from theory.activations.function import LINEAR, WIDEST
from theory.activations.interpolated import SEEN, Differentiated
from theory.meshes import DEVIATIONS, RULE

Array = npt.NDArray[np.float64]
Function = Callable[[Array], Array]

TOLERANCE = 1e-12
"""Error of the dual over E s^2 that is promised unless the caller accepts more."""

EPS = float(np.finfo(np.float64).eps)

OTHERS = 16
"""Nodes of interpolants beside which rounding of a slope is seen."""

LOW = 64
"""Hermite coefficients from which the error of the dual is estimated."""


@dataclass(frozen=True, repr=False)
class FromFunction(Activation):
    """A function with its kinks; build it with `from_function`.

    factor * f(sqrt(var) x), with `kinks` in the units of x.

    Attributes
    ----------
    found : tuple of float
        Those of the kinks that were not named but found.
    quadrature_error : float
        Estimated error of the dual over E s^2.
    """

    name: str
    f: Function = field(repr=False)
    df: Function | None = field(repr=False)
    _octaves: Octaves = field(compare=False, repr=False)
    kinks: tuple[float, ...] = ()
    var: float = 1.0
    is_normalized: bool = False
    factor: float = 1.0
    found: tuple[float, ...] = field(default=(), compare=False)
    tolerance: float = TOLERANCE
    of: "FromFunction | None" = field(default=None, compare=False, repr=False)

    def _value(self, x: Array) -> Array:
        out = np.asarray(self.f(self._root * x), dtype=np.float64)
        return out if self.factor == 1.0 else self.factor * out

    def _anywhere(self, x: Array) -> Array:
        if not isinstance(self.f, Differentiated):
            return self._value(x)
        return self.factor * self.f(self._root * x, within=SEEN)

    @property
    def _root(self) -> float:
        return math.sqrt(self.var)

    # --- where it is not smooth ---------------------------------------------------

    def _edges(self, reach: float) -> Array:
        """Sorted ends of panels within [-reach, reach] on which s is resolved.

        In the units of x, kinks among them. Panels that no integral over a standard
        Gaussian needs are joined.
        """
        sigma = self._root * max(reach / RULE, 1.0)
        kinks = self._octaves.kinks(sigma)
        edges = self._octaves.at(sigma).needed(kinks) / self._root
        parts = [edges, self.kinks, [-reach, reach]]
        if self.of is not None and not isinstance(self.f, Differentiated):
            parts.append(self.of._edges(reach))
        every = np.unique(np.concatenate(parts))
        return every[np.abs(every) <= reach]

    @property
    def _widest(self) -> float:
        return WIDEST / self.var

    def _scaled(self, var: float) -> "FromFunction":
        total = self.var * var
        root, octaves = math.sqrt(total), self._octaves
        kinks, mesh = octaves.kinks(root), octaves.at(root)
        if self.of is None:
            where = f" at variance {total:g}"
            requirements.resolved(self.name, mesh.rough, mesh.jumps, kinks, where)
        found = {*octaves.found, *mesh.found}
        f = self.f
        return replace(
            self,
            f=replace(f, sigma=root) if isinstance(f, Differentiated) else f,
            kinks=tuple(c / root for c in kinks),
            found=tuple(c / root for c in kinks if c in found),
            var=total,
            is_normalized=False,
            _octaves=octaves,
            of=None if self.of is None else self.of._scaled(var),
        )

    @cached_property
    def _slope(self) -> "FromFunction":
        if isinstance(self.f, Differentiated):
            df: Function = replace(self.f, order=self.f.order + 1)
            own = self._octaves
        elif self.df is None:
            own = self._octaves
            df = Differentiated(own, sigma=self._root)
        else:
            df, known = self.df, self._octaves
            kinks = tuple(sorted({*known.named, *known.found}))
            own = Octaves(df, kinks, known.noise, f"{self.name}'")
        return FromFunction(
            f"{self.name}'",
            df,
            None,
            own,
            self.kinks,
            self.var,
            factor=self.factor * self._root,
            tolerance=self.tolerance,
            of=self,
        )

    @property
    def derivative(self) -> Activation:
        """s': the given one, or that of the Chebyshev interpolants on the panels."""
        return self._slope

    @property
    def _slope_by_others(self) -> "FromFunction | None":
        slope = self._slope
        if not isinstance(slope.f, Differentiated):
            return None
        return replace(slope, f=replace(slope.f, nodes=OTHERS))

    def _end_slope(self, other: Activation, sign: float) -> float | None:
        """Return E s'(X) t'(+-X) of functions of one's own."""
        if not isinstance(other, FromFunction):
            return super()._end_slope(other, sign)
        f, g = self._slope, other._slope
        each = [f._edges(DEVIATIONS), g._edges(DEVIATIONS)]
        return product_moment(
            self.name,
            f._factor,
            g._factor if sign > 0.0 else g._factor.mirrored(),
            np.union1d(each[0], sign * each[1]),
            sorted({*self.kinks, *(sign * c for c in other.kinks)}),
            self.tolerance,
        )

    # --- moments ------------------------------------------------------------------

    @cached_property
    def _own_samples(self) -> HalfWeighted:
        """Values at the nodes of a rule whose panels end where those of the mesh do."""
        return self._sampled(20)

    def _sampled(self, nodes: int) -> HalfWeighted:
        out = HalfWeighted.of(self._value, self._edges(DEVIATIONS), nodes)
        need = out.trouble(is_slope=self.of is not None)
        if need:
            raise ValueError(f"{self.name}: {need} at variance {self.var:g}.")
        return out

    @cached_property
    def _factor(self) -> Factor:
        root, known = self._root, self._octaves.kinks(self._root)
        sides = self.f.chords if isinstance(self.f, Differentiated) else ()
        chords = frozenset((c / root, side) for c, side in sides)
        return Factor(self._value, chords, root, {c / root: c for c in known})

    @property
    def _may_converge(self) -> bool:
        # Hermite polynomials of order 640 have 35 zeros a deviation at most.
        return engines.slope_of(self).panels(RULE) <= engines.PANELS

    def _coefficients(self, order: int) -> Array:
        return self._own_samples.coefficients(order)

    @cached_property
    def mean(self) -> float:
        """E s(Z) = a_0."""
        return 0.0 if self.is_normalized else self._own_samples.mean()

    @cached_property
    def second_moment(self) -> float:
        """E s(Z)^2; infinite where not square integrable at a kink.

        Raises
        ------
        ValueError
            If s grows so fast towards a kink that the accuracy promised is out of reach,
            or is not square integrable at infinity.
        """
        _ = self._own_samples  # says what is wrong with the values
        edges, f = self._edges(DEVIATIONS), self._factor
        return product_moment(self.name, f, f, edges, self.kinks, self.tolerance)

    @cached_property
    def variance(self) -> float:
        """E s(Z)^2 - (E s(Z))^2, without the cancellation."""
        return self._own_samples.energy_about(self.mean, 0.0)

    def _rest_of(self, samples: HalfWeighted) -> float:
        m, b = samples.coefficients(1).tolist()
        # Once more, so that the rounding of the first two is gone.
        m += samples.mean_about(m, b)
        return samples.energy_about(m, b)

    @cached_property
    def _rest(self) -> float:
        """sum_{k>=2} a_k^2; ValueError where rounding of f hides it."""
        rest = self._rest_of(self._own_samples)
        if not rest > LINEAR * self.variance:
            return rest
        # Values have a relative error of EPS. The part of this error that looks like a
        # non-linear function averages out over the nodes, of which some 64 matter.
        error = 2.0 * EPS / 8.0 * math.sqrt(self.second_moment / rest)
        error = max(error, abs(self._rest_of(self._sampled(16)) / rest - 1.0))
        if error > self.tolerance:
            raise ValueError(
                f"{self.name}: `f` must be further from affine for `mu` and `nu` to be"
                f" known to {self.tolerance:g}: its non-linear part is"
                f" {math.sqrt(rest / self.second_moment):.1g} of its size, and values in"
                f" double precision leave it with an error of {error:.1g}. Give a"
                " larger `tolerance`, or the non-linear part alone."
            )
        return rest

    # --- accuracy -----------------------------------------------------------------

    @cached_property
    def quadrature_error(self) -> float:
        """Estimated error of the dual over E s^2, at the correlation where it is largest.

        From Hermite coefficients by two rules that share no node, from those of the
        derivative, whose dual is the slope of the dual, and from E s^2 and E s(Z) s(-Z)
        for the ends. At least the rounding of a few units in the last place.
        """
        return max(self._errors)

    @cached_property
    def _errors(self) -> tuple[float, float]:
        """Of the values, and of the derivative against them."""
        whole = self._own_samples.energy_about(0.0, 0.0)
        if not whole:
            return 0.0, 0.0
        other = self._sampled(16)
        a, b = self._own_samples.coefficients(LOW) ** 2, other.coefficients(LOW) ** 2
        ends = [
            abs(other.energy_about(0.0, 0.0) - whole),
            abs(self._own_samples.opposite(self._value) - other.opposite(self._value)),
        ]
        powers = 0.9 ** np.arange(LOW + 1)
        values = max([*ends, float(powers @ np.abs(a - b)), 4.0 * EPS * whole])
        slopes = 0.0
        if math.isfinite(self.derivative_second_moment):
            c = self._slope._coefficients(LOW - 1) ** 2 / np.arange(1, LOW + 1)
            slopes = float(powers[1:] @ np.abs(a[1:] - c))
        return values / whole, slopes / whole

    def _require_slope(self, var: float) -> None:
        """Raise where a slope that was given is not that of f at a variance.

        What is rounding beside f' at unit variance may be all of it at a tiny one.
        """
        if self.df is None:
            return
        error = (self if var == 1.0 else self._scaled(var))._errors[1]
        if error > self.tolerance:
            raise ValueError(
                f"{self.name}: `derivative` must be that of f at variance {var:.3g} too,"
                f" but the dual by it is {error:.1g} of E f^2 off, more than"
                f" {self.tolerance:g}. Leave it away, or give more of its digits."
            )


def from_function(
    f: Any,
    *,
    kinks: float | Iterable[float] = (),
    name: str | None = None,
    derivative: Callable[[Any], Any] | None = None,
    tolerance: float = TOLERANCE,
) -> Activation:
    """Make an activation of any square-integrable function.

    Parameters
    ----------
    f : callable or SymPy expression
        A function of a NumPy array, of a torch tensor, of a Python float, or a SymPy
        expression in one symbol. Neither torch nor SymPy is imported for the others.
    kinks : float or iterable of float
        Points where f is not smooth: every quadrature is split there. Points where f or
        one of its first derivatives jumps are found if they are not named, up to 32
        within the reach of the Gaussian, 40 standard deviations; a point where the slope
        is infinite has to be named. Those of a SymPy expression (Abs, Max, Min, sign,
        Heaviside, Piecewise of linear arguments) are read off.
    name : str, optional
        Shown in messages and reports.
    derivative : callable, optional
        f', taking what f takes. Without it: that of the SymPy expression, automatic
        differentiation for torch, otherwise that of Chebyshev interpolants between the
        kinks, with an error of about 1e-12 of the derivative's size.
    tolerance : float
        Error of the dual over E f^2 that is accepted, from 1e-14 to 0.01; of the
        covariance over Var f where f is nearly constant. More than the
        default for a function whose values are less accurate than double precision.

    Returns
    -------
    Activation
        A `FromFunction` with `kinks`, those of them that were `found`, and
        `quadrature_error`, the estimated error of its dual over E f^2, at most
        `tolerance`. Moments, Hermite coefficients and lengths have the same accuracy at
        every variance at which f can be resolved: sin x + x^2 up to 1e8, in kernels of
        unequal lengths up to 1e4. Piecewise constant and continuous piecewise linear
        functions, and chains of parabolas with a continuous slope, are recognised on all
        of the panels and get their closed form, a `PiecewisePolynomial`. A feature
        narrower than about 0.02, however quick f is beside it, may lie between all points
        where f is asked for: name its ends as kinks, or its middle.

    Raises
    ------
    ValueError
        If f is not finite somewhere, not square integrable against exp(-x^2/2), not of a
        size from 1e-150 to 1e150 (zero is), or so rough between the kinks that
        `tolerance` is out of reach (noise, too many oscillations or kinks, a singularity
        that is not named); if it jumps without being piecewise constant; if `derivative`
        is not that of f; if an argument is malformed; if kinks are closer than 1e-150.
        Later, kernels of inputs so short that `derivative` is not that of f there; `mu`
        and `nu` of a function so close to affine that rounding of its values hides the
        rest: with the default, below about mu = 3e-9. Duals and kernels where there is a
        kink other than zero and E f'^2 is infinite, or f so steep next to that kink that
        rounding of arguments leaves more of E f'^2 than the tolerance; where it is
        infinite at zero, no `derivative` is given, and rounding of values as large as
        f(0) leaves more than the tolerance of distances of 1e-18: ``abs(x)**0.5 + cos x``.
    TypeError
        If f is neither callable nor an expression in one symbol.

    Examples
    --------
    >>> import numpy as np
    >>> a = from_function(lambda x: np.sin(x) + x**2, name="sin + square")
    >>> round(a.mean, 12), round(a.second_moment, 9)
    (1.0, 3.432332358)
    >>> from_function(lambda x: np.tanh(x) + np.maximum(x - 0.3, 0.0)).found
    (0.3,)
    """
    who = "from_function"
    accepted = requirements.tolerance(tolerance)
    named = requirements.kinks(kinks)
    given_name = requirements.name(name)
    known, slope, read = as_numpy(f, derivative)
    points = tuple(sorted({*named, *read}))
    requirements.apart(points)
    own_name = f.name if isinstance(f, Activation) else type(f).__name__
    label = given_name or getattr(f, "__name__", own_name)
    label = "f" if label in ("<lambda>", "function") else str(label)
    requirements.values(known, points, "f")
    if slope is not None:
        requirements.values(slope, points, "derivative")
    octaves = Octaves(known, points, 0.1 * accepted, who)
    mesh = octaves.at(1.0)
    requirements.resolved(who, mesh.rough, (), points)
    every = octaves.kinks(1.0)
    exact = recognition.recognise(label, known, slope, octaves)
    if exact is not None:
        return exact
    requirements.resolved(who, (), mesh.jumps)
    requirements.no_jumps(known, every)
    out = FromFunction(
        label,
        known,
        slope,
        octaves,
        every,
        found=mesh.found,
        tolerance=accepted,
    )
    if slope is not None and derivative is None and out._errors[1] > accepted:
        # Automatic differentiation may have constants in single precision.
        out = replace(out, df=None)
    _refuse_errors(out, given=derivative is not None)
    return out


def _refuse_errors(a: FromFunction, *, given: bool) -> None:
    """Raise where the error of the dual is above the tolerance."""
    values, slopes = a._errors
    if values > a.tolerance:
        raise ValueError(
            f"from_function: `f` must be smooth between its `kinks`, but two quadrature"
            f" rules put its dual {values:.1g} of E f^2 apart, more than {a.tolerance:g}."
            " Give the points where f or its derivative jumps, or a larger `tolerance`."
        )
    if slopes > a.tolerance:
        what = (
            "`derivative` must be that of f, but the dual by it"
            if given
            else "`derivative` must be given, as the dual by that of an interpolant"
        )
        raise ValueError(
            f"from_function: {what} is {slopes:.1g} of E f^2 off, more than"
            f" {a.tolerance:g}."
        )
