"""Phase diagrams: hundreds of networks at once, and where the edge of chaos begins.

The measured side takes one network after another, by the formulas of
`verify.claims.deep_conditioning._pairs`, from iterates that secants sharpen.
"""

from functools import lru_cache
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt

from theory import activations as act
from theory import phase
from verify.claim import Claim, Evidence, Source, grid
from verify.claims.deep_conditioning import _pairs as pairs
from verify.compare import AgreesTo

Array = npt.NDArray[np.float64]

_SOURCE = Source("schoenholz2017deep", "Sections 2 and 3")
_ASSUMPTIONS = ("infinite width", "independent Gaussian weights and biases")
_DIGITS = 50
_WEIGHTS, _BIASES = np.linspace(0.5, 6.0, 45), np.linspace(0.05, 1.0, 25)
_TRIED = ((0, 0), (7, 20), (20, 3), (30, 10), (44, 0), (44, 24))
"""Networks of the grid that are measured: indices of weight and bias variances."""
_NEAR, _FAR = 1e-5, 0.3
_LAYERS = 400

# --- a grid of networks -----------------------------------------------------------------


@lru_cache(maxsize=8)
def _diagram(name: str) -> tuple[Array, ...]:
    """Return q*, 1 - c* and two values of the correlation map for the whole grid."""
    a, w, b = act.CATALOGUE[name], _WEIGHTS[:, None], _BIASES
    return (
        phase.fixed_variance(a, w, b),
        phase.fixed_distance(a, w, b),
        phase.correlation_map(_FAR, a, w, b),
        phase.correlation_distance_map(_NEAR, a, w, b),
    )


def _predict_grid(*, activation: str) -> list[Any]:
    found = _diagram(activation)
    return [float(values[at]) for at in _TRIED for values in found]


def _settled(step: Any, start: Any) -> Any:
    """Iterate a map until it moves by less than 1e-9, and sharpen what it has come to."""
    x = mpmath.mpf(start)
    for _ in range(_LAYERS):
        x, before = step(x), x
        if abs(x - before) < mpmath.mpf(10) ** -9 * abs(x):
            break
    ends = (x, x * (1 + mpmath.mpf(10) ** -9))
    return mpmath.findroot(lambda y: step(y) - y, ends, tol=1e-60)


def _measure_grid(*, activation: str) -> list[Any]:
    law, out = pairs.LAWS[activation], list[Any]()
    with mpmath.workdps(_DIGITS):
        for i, j in _TRIED:
            w, b = mpmath.mpf(float(_WEIGHTS[i])), mpmath.mpf(float(_BIASES[j]))
            q = _settled(lambda q, w=w, b=b: w * law.one(q)[0] + b, 1)

            def distance(d: Any, q: Any = q, w: Any = w, b: Any = b) -> Any:
                return 1 - (w * law.two(q, q, q * (1 - d))[0] + b) / q

            slope = w * law.one(q)[1]
            apart = _settled(distance, 0.5) if slope > 1 else mpmath.mpf(0)
            far = 1 - distance(1 - mpmath.mpf(_FAR))
            out += [q, apart, far, distance(mpmath.mpf(_NEAR))]
    return out


def _wrong_grid(*, activation: str) -> list[Any]:
    """The neighbouring network of the grid."""
    found = _diagram(activation)
    return [float(values[i - 1, j]) for i, j in _TRIED for values in found]


GRID = Claim(
    id="dc/D.0-phase-grid",
    items=("D.0", "Thm3.10"),
    title="Phase diagrams of hundreds of networks agree with each network alone",
    statement=r"q^*, \quad 1 - c^*, \quad c \mapsto \frac{\sigma_w^2\, \mathbb{E}\,"
    r" \sigma(u) \sigma(v) + \sigma_b^2}{q^*}",
    assumptions=_ASSUMPTIONS,
    source=_SOURCE,
    evidence=Evidence.NUMERIC,
    cases=grid(activation=("erf", "sin")),
    predict=_predict_grid,
    measure=_measure_grid,
    # The functions' 1e-13, and 1 - chi > 0.05 at the networks that are measured.
    compare=AgreesTo(relative=1e-12),
    must_refute=_wrong_grid,
    uses=("dc/D.0-phase",),
)

# --- the edge at zero variance ----------------------------------------------------------


def _predict_zero(*, activation: str) -> list[float]:
    edge = phase.edge_points(act.CATALOGUE[activation], 0.0)[0]
    curve = phase.edge_curve([1e-12, 1e-9], act.CATALOGUE[activation])
    return [edge.weight_var, float(edge.stable), *np.asarray(curve.weight_var)]


def _measure_zero(*, activation: str) -> list[Any]:
    """1 / s'(0)^2, and whether E s^2 / q falls from there."""
    law = pairs.LAWS[activation]
    with mpmath.workdps(_DIGITS):
        slope = law.one(mpmath.mpf(10) ** -40)[1]
        q = mpmath.mpf(10) ** -6
        falls = law.one(q)[0] / q < slope
        curve = [1 / law.one(mpmath.mpf(at))[1] for at in ("1e-12", "1e-9")]
        return [1 / slope, mpmath.mpf(bool(falls)), *curve]


def _wrong_zero(*, activation: str) -> list[float]:
    """Every edge at zero stable, as tanh's is."""
    weight, stable, *curve = _predict_zero(activation=activation)
    return [weight, 1.0 - stable, *curve]


ZERO = Claim(
    id="dc/D.0-edge-zero",
    items=("D.0",),
    title="The edge of chaos at zero variance, and on which side of it networks settle",
    statement=r"\sigma_w^2 \to \frac{1}{\sigma'(0)^2} \text{ as } q \to 0,"
    r"\quad\text{stable where } \mathbb{E}\,\sigma(\sqrt q Z)^2 / q \text{ falls}",
    assumptions=_ASSUMPTIONS,
    source=_SOURCE,
    evidence=Evidence.NUMERIC,
    cases=grid(activation=("erf", "sin", "gelu")),
    predict=_predict_zero,
    measure=_measure_zero,
    compare=AgreesTo(relative=1e-12),
    must_refute=_wrong_zero,
    uses=("dc/D.0-edge",),
)
