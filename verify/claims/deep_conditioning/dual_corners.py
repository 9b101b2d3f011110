"""Duals where their digits are easily lost: opposite inputs, waves, steep lengths.

The measured side is the definition: `verify.integrals`, formulas at 60 digits, and
numerical derivatives of these.
"""

import math
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt

from theory import activations as act
from theory import kernels
from verify.claim import Claim, Evidence, Source, grid
from verify.claims.deep_conditioning import _pairs as pairs
from verify.claims.deep_conditioning._subjects import KEY, law, subject
from verify.compare import AgreesTo
from verify.integrals import BITS

Array = npt.NDArray[np.float64]

# --- opposite inputs --------------------------------------------------------------------

_DISTANCES = tuple(2.0**-k for k in (2, 6, 10, 20, 30, 40))
"""Of the correlation from -1: -1 + d is a float64."""


def _predict_opposite(*, activation: str) -> Array:
    return subject(activation).dual_derivative(np.array(_DISTANCES) - 1.0)


def _measure_opposite(*, activation: str) -> list[Any]:
    return [law(activation).slope(d - 1.0) for d in _DISTANCES]


def _wrong_opposite(*, activation: str) -> Array:
    # The angle of half the distance.
    return subject(activation).dual_derivative(0.5 * np.array(_DISTANCES) - 1.0)


OPPOSITE = Claim(
    id="dc/defC.1-opposite",
    items=("DefC.1",),
    title="Slopes of duals keep every digit next to opposite inputs",
    statement=r"\hat\sigma'(-1 + d) = \mathbb{E}[\sigma'(u) \sigma'(v)], \quad"
    r" 2^{-40} \le d \le \tfrac14",
    source=Source(KEY, "Definition C.1"),
    evidence=Evidence.NUMERIC,
    cases=grid(activation=("relu", "relu_squared", "hard_tanh", "leaky_relu(0.1)")),
    predict=_predict_opposite,
    measure=_measure_opposite,
    compare=AgreesTo(relative=1e-12),
    must_refute=_wrong_opposite,
    uses=("dc/defC.1-derivative",),
)

# --- waves ------------------------------------------------------------------------------

_WAVES = (9.0, 40.0)
_RHOS = (-1.0, -0.98, -0.3, 0.2, 0.95, 0.999, 1.0 - 2.0**-20, 1.0)


@lru_cache(maxsize=8)
def _wave(frequency: float) -> act.Activation:
    return act.from_function(
        lambda x: 0.5 * x + np.sin(frequency * x),
        derivative=lambda x: 0.5 + frequency * np.cos(frequency * x),
        name="wave",
    )


def _predict_wave(*, frequency: float) -> Array:
    a, rho = _wave(frequency), np.array(_RHOS)
    return np.concatenate([a.dual(rho), a.dual_derivative(rho) / frequency**2])


def _measure_wave(*, frequency: float) -> list[Any]:
    """E s(u) s(v) from E u sin(wv) = rho w e^(-w^2/2), and the slope's from E cos(wv)."""
    with mpmath.workprec(BITS):
        w, values, slopes = mpmath.mpf(frequency), [], []
        for rho in map(mpmath.mpf, _RHOS):
            ahead, behind = (mpmath.exp(-w * w * (1 - r)) for r in (rho, -rho))
            mixed = rho * w * mpmath.exp(-w * w / 2)
            values.append(rho / 4 + mixed + (ahead - behind) / 2)
            slope = mpmath.mpf(1) / 4 + w * mpmath.exp(-w * w / 2)
            slopes.append(slope / w**2 + (ahead + behind) / 2)
        return values + slopes


def _wrong_wave(*, frequency: float) -> Array:
    # By 64 Gauss-Hermite nodes, which do not see the waves.
    z, weights = np.polynomial.hermite_e.hermegauss(64)
    weights = weights / math.sqrt(2.0 * math.pi)
    a, out = _wave(frequency), list[float]()
    for f, scale in ((a, 1.0), (a.derivative, frequency**2)):
        for rho in _RHOS:
            v = rho * z[:, None] + math.sqrt((1.0 - rho) * (1.0 + rho)) * z
            out.append(float(weights @ (f(z)[:, None] * f(v)) @ weights) / scale)
    return np.array(out)


WAVE = Claim(
    id="dc/defC.1-waves",
    items=("DefC.1",),
    title="Duals of functions with many waves",
    statement=r"\sigma(x) = \tfrac{x}{2} + \sin \omega x, \quad \omega \in \{9, 40\}",
    source=Source(KEY, "Definition C.1"),
    evidence=Evidence.NUMERIC,
    cases=grid(frequency=_WAVES),
    predict=_predict_wave,
    measure=_measure_wave,
    # The library's promise for functions without a formula.
    compare=AgreesTo(relative=1e-12, of_largest=True),
    must_refute=_wrong_wave,
    uses=("dc/defC.1",),
)

# --- how lengths change -----------------------------------------------------------------

_SQUARES = (1e-4, 0.3, 1.0, 4.0, 50.0)


def _predict_slope(*, activation: str) -> Array:
    return np.array([subject(activation).length_map_derivative(q) for q in _SQUARES])


def _measure_slope(*, activation: str) -> list[Any]:
    one = pairs.LAWS[activation].one
    with mpmath.workprec(2 * BITS):
        return [mpmath.diff(lambda q: one(q)[0], mpmath.mpf(q)) for q in _SQUARES]


def _wrong_slope(*, activation: str) -> Array:
    # E s'(u)^2 alone, without E s(u) s''(u).
    with mpmath.workprec(BITS):
        one = pairs.LAWS[activation].one
        return np.array([float(one(mpmath.mpf(q))[1]) for q in _SQUARES])


SLOPE = Claim(
    id="dc/D.0-derivative",
    items=("D.0",),
    title="Derivatives of length maps, of short and long inputs",
    statement=r"\frac{d}{d\gamma} \mathbb{E}\, \sigma(\sqrt\gamma X)^2 ="
    r" \mathbb{E}[\sigma'^2 + \sigma \sigma'']",
    source=Source(KEY, "Appendix D"),
    evidence=Evidence.NUMERIC,
    cases=grid(activation=("erf", "gelu", "sin", "cos", "exp")),
    predict=_predict_slope,
    measure=_measure_slope,
    compare=AgreesTo(relative=1e-12),
    must_refute=_wrong_slope,
    uses=("dc/D.0-scales",),
)

LENGTHS = replace(
    SLOPE,
    id="dc/D.0-waves",
    title="Length maps of waves and exponentials",
    statement=r"\hat\sigma_0(\gamma) = \mathbb{E}\, \sigma(\sqrt\gamma X)^2",
    cases=grid(activation=("cos", "exp")),
    predict=lambda *, activation: np.array(
        [subject(activation).length_map(q) for q in _SQUARES]
    ),
    measure=lambda *, activation: [
        pairs.LAWS[activation].one(mpmath.mpf(q))[0] for q in _SQUARES
    ],
    must_refute=partial(_predict_slope),
)

# --- the tangent kernel of opposite inputs ----------------------------------------------


def _predict_kernel(*, activation: str) -> Array:
    a = subject(activation).normalized()
    return kernels.ntk_map(np.array(_DISTANCES) - 1.0, a, depth=1)


def _measure_kernel(*, activation: str) -> list[Any]:
    found = law(activation)
    with mpmath.workprec(BITS):
        each = [mpmath.mpf(d) - 1 for d in _DISTANCES]
        return [found.normalised_dual(r) + r * found.normalised_slope(r) for r in each]


def _wrong_kernel(*, activation: str) -> Array:
    a = subject(activation).normalized()
    return kernels.ntk_map(0.5 * np.array(_DISTANCES) - 1.0, a, depth=1)


KERNEL = Claim(
    id="dc/eq7-opposite",
    items=("Eq7", "DefC.1"),
    title="Tangent kernels of opposite inputs through one layer",
    statement=r"T(-1 + d) = \hat\sigma(-1 + d) + (-1 + d)\, \hat\sigma'(-1 + d)",
    source=Source(KEY, "Equation 7"),
    evidence=Evidence.NUMERIC,
    cases=grid(activation=("relu", "relu_squared", "hard_tanh", "elu")),
    predict=_predict_kernel,
    measure=_measure_kernel,
    # The library's promise: 1e-12 of the diagonal.
    compare=AgreesTo(absolute=1e-12),
    must_refute=_wrong_kernel,
    uses=("dc/defC.1-opposite",),
)
