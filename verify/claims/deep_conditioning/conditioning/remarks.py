"""Remarks on rates, widths and random features: E.4, E.7, equations 22, 23 and 27."""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np

from theory import conditioning as dc
from theory import optimization as rates
from verify.claim import grid, numeric
from verify.claims._predictors import mistake, plus
from verify.claims.deep_conditioning import _recursions as recursion
from verify.claims.deep_conditioning._sources import as_read, ours
from verify.claims.deep_conditioning._subjects import subject
from verify.claims.deep_conditioning.conditioning.correlations import (
    exact_burn_in,
    exact_shrunk,
    quadratic_law,
)
from verify.claims.deep_conditioning.lengths._definitions import FUNCTIONS, panels
from verify.claims.deep_conditioning.spectrum.nonsingularity import (
    smallest_arc_eigenvalue,
)
from verify.compare import Array, AtLeast, AtMost
from verify.integrals import BITS

# --- Remark E.4: rates at any depth -------------------------------------------------------


def _predict_descent(*, mu: float, n: int, delta: float, depth: int, t: int) -> float:
    kappa = dc.nngp_condition_bound(
        depth, delta, mu, n, assumption="B", form="attained"
    )
    return math.log(rates.gradient_descent_bound(t, kappa))


def _measure_descent(*, mu: float, n: int, delta: float, depth: int, t: int) -> float:
    """Log f(w_t) / f(w_0) with step 1/lambda_max, from the slowest direction."""
    gram = recursion.equal_gram(n, delta)
    kernel = recursion.kernel(quadratic_law(mu), gram, depth)
    with mpmath.workprec(BITS):
        top = recursion.eigenvalues(kernel)[-1]
        residual = mpmath.matrix([1, -1, *[0] * (n - 2)])
        start = (residual.T * residual)[0]
        for _ in range(t):
            residual = residual - kernel * residual / top
        return float(mpmath.log((residual.T * residual)[0] / start))


REM_E4 = numeric(
    id="dc/remE.4",
    items=("RemE.4", "ThmE.2"),
    title="The rate of gradient descent at any depth, from the kernel's condition number",
    statement=r"f(w_t) \le e^{-2t/\kappa_L} f(w_0), \quad"
    r" \kappa_L = 1 + \frac{n r_L}{1 - r_L}",
    assumptions=(
        "infinite width",
        "equal correlations 1 - delta",
        "step n / lambda_max",
    ),
    source=ours("Remark E.4 (with the attained condition number)"),
    # 2 log(1 - 1/kappa) a step: nearly -2/kappa where the kernel is badly conditioned.
    cases=grid(mu=(0.2665, 1.0), n=(2, 7), delta=0.01, depth=(0, 2, 5), t=(1, 40)),
    predict=_predict_descent,
    measure=_measure_descent,
    compare=AtMost(relative=1e-12),
    must_refute=mistake("The condition number one layer further on.", depth=plus(1)),
    uses=("dc/thmE.8", "dc/cor3.7-attained"),
)

# --- Remark E.7: exponentials in a logarithmic depth --------------------------------------


def _predict_power(*, delta: str, mu: str, n: int, base: float) -> float:
    d, m = float(Fraction(delta)), float(Fraction(mu))
    early, late = math.log1p(m / 2.0), -math.log1p(-m / 2.0)
    log = math.log(base)
    # (1/(2 delta))^2a (2 n)^2b and three layers for the ceilings, as a logarithm.
    first = max(math.log(1.0 / (2.0 * d)), 0.0) * log / early
    return 2.0 * (first + math.log(2.0 * n) * log / late) + 3.0 * log


def _measure_power(*, delta: str, mu: str, n: int, base: float) -> float:
    """Log base^L of Corollary 3.5's depth L, counted layer by layer in fractions."""
    layers = 2 * exact_burn_in(delta=delta, mu=mu) + exact_shrunk(4 * n * n, mu)
    return layers * math.log(base)


REM_E7 = numeric(
    id="dc/remE.7",
    title="A width exponential in the prescribed depth is polynomial in n and 1/delta",
    statement=r"C^L \le C^3 \left(\frac{1}{2\delta}\right)^{2a} (2n)^{2b}, \quad"
    r" a = \frac{\log C}{\log(1 + \mu/2)}, \; b = \frac{\log C}{-\log(1 - \mu/2)}",
    assumptions=("delta <= 1/2", "L: the depth from which Corollary 3.5 holds"),
    source=as_read("Remark E.7 (exponents ours)"),
    cases=grid(
        delta=("1/100", "1/100000", "1/2"),
        mu=("1/64", "4/15", "1"),
        n=(2, 100, 1000),
        base=(2.0, 25.7),
    ),
    predict=_predict_power,
    measure=_measure_power,
    compare=AtMost(relative=1e-12),
    must_refute=mistake(
        "The depth without its ceilings.",
        then=lambda power, *, base: power - 3.0 * math.log(base),
    ),
    uses=("dc/cor3.5-values",),
    finding=(
        "The exponents are large: with 25.7 a layer, the 4 C^4 of normalised tanh in"
        " dc/lemE.1, and its mu of 0.07 the width grows like n^184."
    ),
)

# --- equations 22 and 23: concentration ---------------------------------------------------

_TIMES = (-3.0, -0.3, 0.01, 0.3, 3.0)
_ANGLES = 1200
_RANGES = {"sign": 1.0, "sin": 2.0 / (1.0 - math.exp(-2.0))}
"""Squares of the largest value, C^2, of the normalised activation."""


@lru_cache(maxsize=1)
def _plane() -> tuple[Array, Array, Array]:
    """Radii, angles and weights of the standard Gaussian plane."""
    r, wr = panels((0.0, 12.0), 80)
    # A twelfth of a turn is a whole number of them: no jump at rho = 0 or 1/2 is between.
    t = 2.0 * np.pi * (np.arange(_ANGLES) + 0.5) / _ANGLES
    return r, t, wr * r * np.exp(-r * r / 2.0) / _ANGLES


def _measure_log_mgf(*, activation: str, rho: float) -> list[float]:
    """Log E e^{t (Y - E Y)} for a product and for a square of units, at several t."""
    r, t, weights = _plane()
    turn, s = math.acos(rho), FUNCTIONS[activation]
    scale = _RANGES[activation] if activation == "sin" else 1.0
    u, v = (s(r[:, None] * np.cos(angle)) for angle in (t, t - turn))
    out = []
    for y in (scale * u * v, scale * u * u):
        mean = float(weights @ y.sum(axis=1))
        for time in _TIMES:
            value = float(weights @ np.expm1(time * (y - mean)).sum(axis=1))
            out.append(math.log1p(value))
    return out


def _predict_log_mgf(*, activation: str, **_: Any) -> list[float]:
    # Hoeffding's lemma: (range)^2 t^2 / 8, of ranges 2 C^2 and C^2.
    top = subject(activation).variance ** -2
    return [w * top * t * t / 2.0 for w in (1.0, 0.25) for t in _TIMES]


EQ22 = numeric(
    id="dc/eq22",
    items=("Eq22", "Eq23"),
    title="Products and squares of bounded units are sub-exponential, as Bernstein's bound"
    " needs",
    statement=r"\log \mathbb{E}\, e^{t (\sigma(u)\sigma(v) - \hat\sigma(\rho))} \le"
    r" \frac{C^4 t^2}{2}, \quad \log \mathbb{E}\, e^{t (\sigma(u)^2 - 1)} \le"
    r" \frac{C^4 t^2}{8}",
    assumptions=("|sigma| <= C; the paper's constant is not specified",),
    source=as_read("Equations 22 and 23"),
    # Attained for t -> 0 by the sign of uncorrelated units.
    cases=(
        *grid(activation=("sign", "sin"), rho=(0.0, 0.5, -0.5)),
        *grid(activation="sin", rho=-0.9),
    ),
    predict=_predict_log_mgf,
    measure=_measure_log_mgf,
    # Rounding of a logarithm below 10 of sums of 3e6 positive terms, added in pairs.
    compare=AtMost(rounding=1e-13),
    must_refute=mistake(
        "The range of a square in the place of that of a product.",
        then=lambda both: both[len(_TIMES) :] * 2,
    ),
    uses=("dc/eq21",),
    finding=(
        "Sums over m units then deviate by eps with probability at most 2 e^{-m eps^2 /"
        " (2 C^4)}: the constant c of both equations, for bounded activations."
    ),
)

# --- equation 27 ------------------------------------------------------------------------


def _predict_window(*, n: int, delta: float) -> float:
    return math.sqrt(delta / (8.0 * math.pi)) / n


def _wrong_window(*, n: int, delta: float) -> float:
    """A density of one half at zero."""
    return math.sqrt(delta) / (4.0 * n)


def _measure_window(*, n: int, delta: float) -> float:
    with mpmath.workdps(30):
        theta = mpmath.sqrt(delta) / (4 * n)
        return float(mpmath.erf(theta / mpmath.sqrt(2 * (1 - theta**2))))


EQ27 = numeric(
    id="dc/eq27",
    items=("Eq27", "LemH.3"),
    title="A Gaussian falls into Lemma H.3's window at least as often as its length"
    " suggests",
    statement=r"\Pr(|g_1| \le \theta) \ge \frac{\sqrt{\delta}}{\sqrt{8\pi}\, n},"
    r" \quad \theta = \frac{\sqrt{\delta}}{4n}, \; g_1 \sim N(0, 1 - \theta^2)",
    source=as_read("Equation 27 (with its constant)"),
    cases=grid(n=(2, 3, 50), delta=(1.0, 0.1, 1e-8)),
    predict=_predict_window,
    measure=_measure_window,
    compare=AtLeast(relative=1e-14),
    must_refute=_wrong_window,
)

# --- the note after Theorem H.1 ---------------------------------------------------------

_PANIGRAHI = 0.1


def _predict_note(*, n: int, delta: str) -> float:
    return _PANIGRAHI * float(delta) ** 1.5 / math.log(n) ** 1.5


def _wrong_note(*, n: int, delta: str) -> float:
    """The square root of delta, as for features that jump."""
    return _PANIGRAHI * float(delta) ** 0.5 / math.log(n) ** 1.5


NOTE_H1 = numeric(
    id="dc/thmH.1-logarithms",
    items=("NoteH.1", "ThmH.1"),
    title="The cited bound on the ReLU kernel, logarithmic in n, holds for points on arcs",
    statement=r"\lambda_{\min} \ge \frac{0.1\, \delta^{3/2}}{\log^{3/2} n}",
    assumptions=("infinite width", "equally spaced points on an arc; constant ours"),
    source=as_read("Note after Theorem H.1, citing Panigrahi et al."),
    cases=(
        *grid(n=(2, 3, 4, 6, 8, 20), delta="1e-6"),
        *grid(n=(2, 4), delta=("0.3", "1e-2")),
    ),
    predict=_predict_note,
    measure=smallest_arc_eigenvalue,
    # The eigenvalue is proved to 1e-12.
    compare=AtLeast(relative=2e-12),
    must_refute=_wrong_note,
    uses=("dc/thmH.1-arc-law",),
)
