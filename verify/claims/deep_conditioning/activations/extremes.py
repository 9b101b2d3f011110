"""Functions at the edge of what has a dual: diverging norms, tiny coefficients.

The measured side is a closed form of the divergent integral, or ball arithmetic with a
few hundred digits.
"""

import math
from typing import Any

import flint
import mpmath
import numpy as np

from theory import activations as act
from theory import kernels
from verify import integrals
from verify.claim import grid, numeric
from verify.claims._predictors import mistake, plus
from verify.claims.deep_conditioning._sources import ours, quoted
from verify.claims.deep_conditioning._subjects import subject
from verify.claims.deep_conditioning.lengths._definitions import panels
from verify.compare import AgreesTo, Array

# --- square integrable functions --------------------------------------------------------


def _growing(rate: float, *, one_sided: bool) -> act.Activation | None:
    """Return exp(rate x^2), for positive x alone or for all; None where refused."""

    def function(x: Array) -> Array:
        return np.exp(rate * np.square(np.maximum(x, 0.0) if one_sided else x))

    try:
        return act.from_function(function, kinks=(0.0,), name="growing")
    except ValueError:
        return None


def _predict_norm(*, rate: float, one_sided: bool) -> float:
    """One over E s^2, zero where the function is refused."""
    found = _growing(rate, one_sided=one_sided)
    return 0.0 if found is None else 1.0 / found.second_moment


def _measure_norm(*, rate: float, one_sided: bool) -> float:
    """E exp(2 rate Z^2) = (1 - 4 rate)^(-1/2), infinite from 1/4 on."""
    if rate >= 0.25:
        return 0.0
    half = 1.0 / math.sqrt(1.0 - 4.0 * rate)
    return 2.0 / (1.0 + half) if one_sided else 1.0 / half


def _cut_norm(*, rate: float, one_sided: bool) -> float:
    """The integral up to eight deviations, which is finite at every rate."""
    x, weights = panels((0.0, 8.0), 400)
    grows = float(weights @ np.exp((2.0 * rate - 0.5) * x * x))
    half = grows / math.sqrt(2.0 * math.pi)
    return 1.0 / (half + (0.5 if one_sided else half))


NORM = numeric(
    id="dc/eq2-norm",
    items=("Eq2", "DefC.1"),
    uses=("dc/eq2",),
    title="Functions without a second moment are refused, on whichever side they grow",
    statement=r"\mathbb{E}\, e^{2 c Z^2} = (1 - 4 c)^{-1/2} \text{ for } c < \tfrac14,"
    r" \quad \infty \text{ for } c \ge \tfrac14",
    source=ours("Definition C.1"),
    cases=grid(rate=(-1.0, 0.1, 0.2, 0.25, 0.3), one_sided=(False, True)),
    predict=_predict_norm,
    measure=_measure_norm,
    # The library's promise for functions without a formula, 1e-12.
    compare=AgreesTo(absolute=1e-12),
    must_refute=_cut_norm,
)

# --- correlations that vanish -----------------------------------------------------------

_LAYERS, _RHO = 13_000, 0.5


def _predict_vanishing(*, activation: str, var: float, depth: int) -> float:
    layer = subject(activation).scaled(var).normalized()
    return float(kernels.nngp_map(_RHO, layer, depth))


def _measure_vanishing(*, activation: str, var: float, depth: int) -> Any:
    """The dual in closed form, layer by layer until it is linear to the last digit."""
    with mpmath.workdps(40):
        q, r = mpmath.mpf(var), mpmath.mpf(_RHO)
        share = 2 * q / (1 + 2 * q)
        dual, slope = {
            "sin": (lambda t: mpmath.sinh(q * t) / mpmath.sinh(q), q / mpmath.sinh(q)),
            "erf": (
                lambda t: mpmath.asin(share * t) / mpmath.asin(share),
                share / mpmath.asin(share),
            ),
        }[activation]
        for layer in range(depth):
            if r < 1e-16:
                return r * slope ** (depth - layer)
            r = dual(r)
        return r


VANISHING = numeric(
    id="dc/eq1-vanishing",
    uses=("dc/eq1",),
    title="Correlations that thousands of layers leave keep their digits",
    statement=r"K^{(L)} \approx c\, \hat\sigma'(0)^L \approx 10^{-260}, \quad"
    r" \hat\sigma = \frac{\sinh q \rho}{\sinh q}, \ \frac{\arcsin s \rho}{\arcsin s}",
    source=ours("Equation 1"),
    cases=(
        {"activation": "sin", "var": 1.0, "depth": 3_700},
        {"activation": "erf", "var": 0.5, "depth": _LAYERS},
    ),
    predict=_predict_vanishing,
    measure=_measure_vanishing,
    # The slope at zero is rounded once, by 1.1e-16 at most, and so is each of its squares.
    compare=AgreesTo(relative=2 * _LAYERS * 1.1e-16),
    must_refute=mistake("A layer more.", depth=plus(1)),
)

# --- coefficients of high order ---------------------------------------------------------

_REACH, _BITS = 45, 1200
"""Deviations: beyond them 1e-440 is left."""


def _predict_coefficient(*, activation: str, var: float, order: int) -> float:
    found = act.CATALOGUE[activation].scaled(var).hermite(order)
    return float(found[order])


def _measure_coefficient(*, activation: str, var: float, order: int) -> float:
    """An integral in ball arithmetic, 1e-330 of it certain."""
    function = integrals.SMOOTH[activation]
    with flint.ctx.workprec(_BITS):
        root = flint.arb(var).sqrt()
        he = integrals.hermite_polynomial(order)
        scale = flint.arb(order).fac().sqrt() * (2 * flint.arb.pi()).sqrt()

        def integrand(z: Any, _: Any) -> Any:
            return function(root * z) * he(z) * (-z * z / 2).exp()

        panels = range(-_REACH, _REACH, 5)
        parts = (flint.acb.integral(integrand, a, a + 5).real for a in panels)
        found = sum(parts, flint.arb(0)) / scale
        if found.rel_accuracy_bits() < 100:
            raise ArithmeticError(f"the integral is known to {found} alone")
        return float(found)


def _first_order(*, activation: str, var: float, order: int) -> float:
    """Coefficients of functions that a small variance leaves unchanged but for scale."""
    found = act.CATALOGUE[activation].hermite(order)[order]
    return float(found * var ** (order / 2))


HIGH = numeric(
    id="dc/defC.1-high-order",
    uses=("dc/tab2-coefficients",),
    title="Hermite coefficients far below the largest keep their digits",
    statement=r"a_k = \mathbb{E}\, \sigma(\sqrt v Z)\, h_k(Z), \quad"
    r" 10^{-42} < |a_k| < 10^{-3}",
    source=quoted("Definition C.1"),
    cases=(
        {"activation": "sigmoid", "var": 0.75, "order": 11},
        {"activation": "sigmoid", "var": 0.0625, "order": 101},
        {"activation": "silu", "var": 0.0625, "order": 12},
        {"activation": "quick_gelu", "var": 0.0625, "order": 12},
        # A pole half a deviation from the axis.
        {"activation": "arctan", "var": 4.0, "order": 199},
    ),
    predict=_predict_coefficient,
    measure=_measure_coefficient,
    # Rounding of the result, and of the weights that scale it.
    compare=AgreesTo(relative=1e-13),
    must_refute=_first_order,
)
