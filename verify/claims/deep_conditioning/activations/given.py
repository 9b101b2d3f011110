"""Functions that are known by their values, slopes as functions, and many arguments.

What a closed form would say at once takes panels, tables and series here; the measured
side is the closed form, in mpmath.
"""

from typing import Any

import mpmath
import numpy as np

from theory import activations as act
from verify.claim import grid, numeric
from verify.claims._predictors import mistake, times
from verify.claims.deep_conditioning._sources import ours
from verify.compare import AgreesTo, Array

_DIGITS = 40

# --- slopes of slopes --------------------------------------------------------------------

_PLACES = (-159.9, -3.0, -1.0, -1e-3, 0.0, 0.7, 2.0, 3.5)


def _predict_bend(*, var: float, scale: float = 1.0) -> Array:
    a = act.from_function(np.sin, name="sine").scaled(var)
    return scale * np.asarray(a.derivative.derivative(np.array(_PLACES)))


def _measure_bend(*, var: float) -> list[Any]:
    """-v sin(sqrt(v) x)."""
    v = mpmath.mpf(var)
    return [-v * mpmath.sin(mpmath.sqrt(v) * mpmath.mpf(x)) for x in _PLACES]


BENDS = numeric(
    id="dc/tab2-second-slope",
    title="The second derivative of a sine that is known by its values",
    statement=r"\frac{d^2}{dx^2} \sin(\sqrt v\, x) = -v \sin(\sqrt v\, x)",
    source=ours("Appendix C.4"),
    cases=grid(var=(0.5, 1.0, 3.0)),
    predict=_predict_bend,
    measure=_measure_bend,
    # Two differentiations of an interpolant, each with a factor of the square of the
    # number of nodes over a panel's width.
    compare=AgreesTo(absolute=1e-10),
    must_refute=mistake("A hundredth more.", scale=1.01),
    uses=("dc/lemD.3-callable",),
)

_ALPHA, _SCALE = 1.6732632423543772, 1.0507009873554805
_VAR = 3.0
"""The variance that the unit is taken at before its slope is."""
_SQUARES = (1e-5, 0.3, 1.0, 6.0)


def _predict_unit(*, var: float = _VAR) -> list[float]:
    a = act.selu.scaled(var).derivative
    slopes = [float(a.length_map_derivative(q)) for q in _SQUARES]
    return [*slopes, *(a.scaled(q).normalized().mu for q in _SQUARES)]


def _measure_unit() -> list[Any]:
    """E s'^2 = c^2 v (1/2 + alpha^2 e^{2q} P(Z < -2 sqrt q)), and the share of a_0, a_1."""
    alpha, found = mpmath.mpf(_ALPHA), []

    def below(r: Any) -> Any:
        """E e^{r Z} at Z < 0."""
        return mpmath.exp(r * r / 2) * mpmath.ncdf(-r)

    def energy(q: Any) -> Any:
        return 0.5 + alpha**2 * below(2 * mpmath.sqrt(_VAR * q))

    with mpmath.workdps(_DIGITS):
        squares = [mpmath.mpf(q) for q in _SQUARES]
        slopes = [
            mpmath.mpf(_SCALE) ** 2 * _VAR * mpmath.diff(energy, q) for q in squares
        ]
        for q in squares:
            r = mpmath.sqrt(_VAR * q)
            mean = 0.5 + alpha * below(r)
            # E s' Z, by parts: the jump at zero and the slope below it.
            linear = (1 - alpha) * mpmath.npdf(0) + alpha * r * below(r)
            variance = energy(q) - mean**2
            found.append((variance - linear**2) / variance)
        return [*slopes, *found]


UNIT = numeric(
    id="dc/lemD.3-slopes",
    title="Slopes of an exponential unit as a function: how their lengths change, and mu",
    statement=r"\frac{d}{dq} \mathbb{E}\, s'(\sqrt q Z)^2, \quad"
    r" s(x) = \lambda \sqrt 3\, x (x > 0), \lambda \alpha (e^{\sqrt 3 x} - 1) (x < 0)",
    source=ours("Lemma D.3"),
    cases=({},),
    predict=_predict_unit,
    measure=_measure_unit,
    # The library's promise for slopes and shares.
    compare=AgreesTo(relative=1e-12),
    must_refute=mistake("The unit at variance one.", var=1.0),
    uses=("dc/lemD.3-callable",),
)

# --- ends of panels of lengths ------------------------------------------------------------

_HERMITE = {0: 0.1, 1: 0.2, 2: 0.3, 8: 0.5}
"""Coefficients of a polynomial whose lengths grow too fast for the fewest nodes."""


_VARIANCES = {
    # Where a panel of lengths ends beyond float64.
    "exp": np.linspace(340.0, 352.0, 70),
    "polynomial": np.linspace(1.01, 7.3, 70),
}
"""More variances than are integrated one by one."""
_AT = [0, 30, 69]


def _predict_panels(*, activation: str) -> Array:
    q = _VARIANCES[activation]
    if activation == "exp":
        return (act.exp.normalized().length_map(q) * np.exp(-2.0 * q))[_AT]
    a = act.HermiteMixture(tuple(_HERMITE.get(k, 0.0) for k in range(9))).normalized()
    return np.concatenate([a.length_map(q)[_AT], a.length_map_derivative(q)[_AT]])


def _polynomial_length(q: Any) -> Any:
    """E s(sqrt(q) Z)^2 of the polynomial less its mean, over its deviation at one."""
    powers = [mpmath.mpf(0)] * 9
    for k, a in _HERMITE.items():
        for j in range(k // 2 + 1) if k else ():
            ways = (
                mpmath.factorial(k) / mpmath.factorial(j) / mpmath.factorial(k - 2 * j)
            )
            powers[k - 2 * j] += (
                a * (-0.5) ** j * ways / mpmath.sqrt(mpmath.factorial(k))
            )
    square = [mpmath.mpf(0)] * 17
    for i, a in enumerate(powers):
        for j, b in enumerate(powers):
            square[i + j] += a * b
    even = (v * mpmath.fac2(2 * k - 1) * q**k for k, v in enumerate(square[::2]))
    return mpmath.fsum(even) / mpmath.fsum(a * a for k, a in _HERMITE.items() if k)


def _measure_panels(*, activation: str) -> list[Any]:
    with mpmath.workdps(_DIGITS):
        squares = [mpmath.mpf(float(_VARIANCES[activation][k])) for k in _AT]
        if activation == "exp":
            # E (e^u - m)^2 with m^2 = e, over e^2 - e: beside e^{2q} the rest is nothing.
            return [1 / (mpmath.e**2 - mpmath.e) for _ in squares]
        lengths = [_polynomial_length(v) for v in squares]
        return [*lengths, *(mpmath.diff(_polynomial_length, v) for v in squares)]


PANELS = numeric(
    id="dc/lemD.3-panels",
    title="Length maps at many variances, of an exponential near 1e308 and of a polynomial",
    statement=(
        r"\mathbb{E}\,\sigma(\sqrt q Z)^2, \quad \frac{d}{dq}"
        r" \mathbb{E}\,\sigma(\sqrt q Z)^2"
    ),
    assumptions=("lengths of the exponential over e^{2q}",),
    source=ours("Lemma D.3"),
    cases=grid(activation=("exp", "polynomial")),
    predict=_predict_panels,
    measure=_measure_panels,
    # Chebyshev series in log q, to 1e-13 of the length; a slope is a few times smaller.
    compare=AgreesTo(relative=1e-12),
    must_refute=mistake("Lengths a hundredth larger.", then=times(1.01)),
    uses=("dc/lemD.3-many",),
)
