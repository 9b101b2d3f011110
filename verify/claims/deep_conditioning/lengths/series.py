"""Hermite polynomials and coefficients at other variances than one (appendix D)."""

import math
from fractions import Fraction
from functools import cache, partial
from typing import Any

import mpmath
import numpy as np

from theory import activations as act
from verify.claim import grid, numeric
from verify.claims._predictors import mistake
from verify.claims.deep_conditioning._sources import ours, quoted
from verify.claims.deep_conditioning.lengths._definitions import (
    FUNCTIONS,
    Array,
    gaussian_panels,
    predicted_activation,
)
from verify.claims.deep_conditioning.normrelu._definitions import STAR
from verify.compare import AgreesTo
from verify.integrals import BITS, hermite_polynomial


def _kinked_rule(kink: float) -> tuple[Array, Array]:
    """Like `gaussian_rule`, with panels that end at `kink` as well."""
    return gaussian_panels(np.union1d(np.arange(-13.0, 13.1, 1 / 4), kink))


def coefficients(name: str, gamma: float, order: int) -> Array:
    """a_k(gamma) = E s(sqrt(gamma) X) h_k(X) of the normalised activation."""
    kink = STAR if name == "normrelu" else 0.0
    raw, root = FUNCTIONS[name], math.sqrt(gamma)
    x, weights = _kinked_rule(kink)
    mean = float(weights @ raw(x))
    variance = float(weights @ (raw(x) - mean) ** 2)
    x, weights = _kinked_rule(kink / root)
    weighted = weights * (raw(root * x) - mean) / math.sqrt(variance)
    low, high, found = np.zeros_like(x), np.ones_like(x), list[float]()
    for k in range(order + 1):
        found.append(float(weighted @ high))
        low, high = high, (x * high - math.sqrt(k) * low) / math.sqrt(k + 1)
    return np.array(found)


_POINTS = (Fraction(-7, 2), Fraction(-1), Fraction(0), Fraction(2, 3), Fraction(5, 2))


def _measure_generating(*, order: int, gamma: str) -> Array:
    """J! times the t^j coefficient of exp(tz - gamma t^2/2), exactly, normalised."""
    g, values = Fraction(gamma), []
    for z in _POINTS:
        total = Fraction(0)
        for i in range(order // 2 + 1):
            ways = Fraction(
                math.factorial(order), math.factorial(order - 2 * i) * math.factorial(i)
            )
            total += ways * z ** (order - 2 * i) * (-g / 2) ** i
        values.append(float(total) / math.sqrt(float(g**order) * math.factorial(order)))
    return np.array(values)


def _predict_generating(*, order: int, gamma: str) -> Array:
    z = np.array([float(point) for point in _POINTS])
    return np.asarray(act.hermite(order)(z / math.sqrt(float(Fraction(gamma)))))


def _wrong_generating(*, order: int, gamma: str) -> Array:
    """The variance gamma taken for a standard deviation."""
    z = np.array([float(point) for point in _POINTS])
    return np.asarray(act.hermite(order)(z / float(Fraction(gamma))))


_DEGREES = 8


def _measure_orthogonality(*, root_x: str, root_y: str, rho: str) -> Array:
    """E h_j(u/sqrt(gamma_x)) h_k(v/sqrt(gamma_y)) by exact Gaussian moments."""
    x, y = Fraction(root_x), Fraction(root_y)
    covariance = Fraction(rho) * x * y

    @cache
    def moment(a: int, b: int) -> Fraction:
        # Wick: pair one factor u with another u or with a v.
        if a == 0:
            if b % 2:
                return Fraction(0)
            return math.prod(range(1, b, 2), start=Fraction(1)) * y**b
        total = (a - 1) * x**2 * moment(a - 2, b) if a > 1 else Fraction(0)
        return total + (b * covariance * moment(a - 1, b - 1) if b else Fraction(0))

    def polynomial(degree: int, root: Fraction) -> list[Fraction]:
        # He_j(u / root), coefficients of powers of u.
        whole = hermite_polynomial(degree).coeffs()
        return [int(c.unique_fmpz()) / root**n for n, c in enumerate(whole)]

    table = np.empty((_DEGREES, _DEGREES))
    for j in range(_DEGREES):
        for k in range(_DEGREES):
            p, q = polynomial(j, x), polynomial(k, y)
            total = sum(
                (
                    a * b * moment(i, l)
                    for i, a in enumerate(p)
                    for l, b in enumerate(q)
                    if a and b
                ),
                start=Fraction(0),
            )
            size = math.sqrt(math.factorial(j) * math.factorial(k))
            table[j, k] = float(total) / size
    return table


def _predict_orthogonality(*, root_x: str, root_y: str, rho: str) -> Array:
    duals = [act.hermite(j).dual(float(Fraction(rho))) for j in range(1, _DEGREES)]
    return np.diag([1.0, *(float(value) for value in duals)])


def _wrong_orthogonality(*, root_x: str, root_y: str, rho: str) -> Array:
    """The covariance in the place of the correlation."""
    covariance = float(Fraction(rho) * Fraction(root_x) * Fraction(root_y))
    return np.diag([covariance**j for j in range(_DEGREES)])


_ORDER = 30


def _predict_coefficients(*, name: str, gamma: float) -> Array:
    return np.asarray(predicted_activation(name).scaled(gamma).hermite(_ORDER))


def _measure_series(*, name: str, gamma_x: float, gamma_y: float, rho: float) -> float:
    order = 150
    a, b = coefficients(name, gamma_x, order), coefficients(name, gamma_y, order)
    return float((a * b) @ rho ** np.arange(order + 1))


def _predict_dual(*, name: str, gamma_x: float, gamma_y: float, rho: float) -> float:
    return float(predicted_activation(name).dual(rho, var_x=gamma_x, var_y=gamma_y))


EQ14 = numeric(
    id="dc/eq14",
    title="Generating function of the Hermite polynomials of variance gamma",
    statement=r"e^{t z - \gamma t^2 / 2} = \sum_{j} \frac{t^j}{j!} H_j^{\gamma}(z),"
    r" \quad H_j^{\gamma}(z) = \sqrt{\gamma^j j!}\, h_j(z / \sqrt{\gamma})",
    source=quoted("Equation 14"),
    cases=grid(order=(1, 2, 3, 7, 20), gamma=("1/4", "1", "9/4", "4")),
    predict=_predict_generating,
    measure=_measure_generating,
    # Exact rationals against a three-term recurrence: order * a few ulp of the largest
    # term, which exceeds the value near zeros; 1e-13 of the largest of five points.
    compare=AgreesTo(relative=1e-13, of_largest=True),
    must_refute=_wrong_generating,
    uses=("dc/defC.1-polynomials",),
)
LEM_D5 = numeric(
    id="dc/lemD.5",
    title="Hermite polynomials of two variances are orthogonal under correlated Gaussians",
    statement=r"\mathbb{E}\, h_j^{\gamma_1}(z_1) h_k^{\gamma_2}(z_2)"
    r" = \rho^j\, 1\{j = k\}",
    assumptions=("exact Gaussian moments in rational arithmetic, degrees below 8",),
    source=quoted("Lemma D.5"),
    cases=(
        {"root_x": "2", "root_y": "3/2", "rho": "1/2"},
        {"root_x": "1/3", "root_y": "5", "rho": "-7/8"},
        {"root_x": "1", "root_y": "1", "rho": "1"},
        {"root_x": "4", "root_y": "1/4", "rho": "-1"},
    ),
    predict=_predict_orthogonality,
    measure=_measure_orthogonality,
    # Exact rationals, one square root and one division; powers up to seven: an ulp each.
    compare=AgreesTo(absolute=1e-15),
    must_refute=_wrong_orthogonality,
    uses=("dc/eq14",),
)
EQ15 = numeric(
    id="dc/eq15",
    title="Hermite coefficients of an activation at input variance gamma",
    statement=r"a_k(\gamma) = \mathbb{E}\, \sigma(\sqrt{\gamma} X) h_k(X)",
    source=quoted("Appendix D.2, before equation 15"),
    cases=(
        *grid(name=("tanh", "relu", "normrelu", "selu"), gamma=(0.5, 1.0, 3.0)),
        # Not smooth at zero.
        *grid(name=("softsign", "softsign'"), gamma=2.0),
    ),
    predict=_predict_coefficients,
    measure=partial(coefficients, order=_ORDER),
    # Prediction 1e-13 of the largest; quadrature: sums of 2,080 terms of either sign
    # round to 46 ulps, 5e-15 a coefficient.
    compare=AgreesTo(relative=1.05e-13, of_largest=True),
    must_refute=mistake("The coefficients at variance one.", gamma=1.0),
    uses=("dc/tab2-coefficients",),
)
EQ16 = numeric(
    id="dc/eq16",
    items=("Eq15", "Eq16", "D.0"),
    title="The dual at two variances is the series of products of Hermite coefficients",
    statement=r"\hat\sigma(\rho; \gamma_1, \gamma_2)"
    r" = \sum_k a_k(\gamma_1) a_k(\gamma_2) \rho^k, \quad"
    r" \hat\sigma_0(\gamma) = \sum_k a_k(\gamma)^2",
    source=quoted("Equations 15 and 16"),
    cases=(
        *grid(
            name=("tanh", "relu", "normrelu"),
            gamma_x=0.5,
            gamma_y=(0.5, 3.0),
            rho=(-0.8, 0.0, 0.6),
        ),
        # Equation 16, of the one whose coefficients fall fast enough.
        *({"name": "tanh", "gamma_x": g, "gamma_y": g, "rho": 1.0} for g in (0.5, 1.0)),
    ),
    predict=_predict_dual,
    measure=_measure_series,
    # Truncation after order 150: 0.8^151 = 2e-15 of sqrt(E s^2 E s^2) <= 3; at rho = 1
    # the energies of tanh fall like e^{-pi sqrt(k / gamma)}, e^-38. Quadrature:
    # dot products of 2,080 terms of either sign round to 46 ulps, 5e-15 a coefficient, of
    # two sequences of size 1.7 to 2e-14. Prediction 1e-13, as in dc/D.0.
    compare=AgreesTo(absolute=1.3e-13),
    must_refute=mistake(
        "The geometric mean for both variances.",
        gamma_x=lambda x, *, gamma_y: math.sqrt(x * gamma_y),
        gamma_y=lambda y, *, gamma_x: math.sqrt(gamma_x * y),
    ),
    uses=("dc/eq15", "dc/lemD.5", "dc/defC.1-unequal"),
)

# --- in closed form, and of values ------------------------------------------------------


def _bump_energy(gamma: Any, order: int) -> list[Any]:
    """(1 + g)^(-1/2) (-g / 2(1 + g))^j sqrt((2j)!) / j!, of exp(-x^2 / 2), k = 2j."""
    t = -gamma / (2 * (1 + gamma))
    return [
        0
        if k % 2
        else t ** (k // 2)
        * mpmath.sqrt(mpmath.factorial(k) / (1 + gamma))
        / mpmath.factorial(k // 2)
        for k in range(order + 1)
    ]


def _exponential_unit(gamma: Any, count: int) -> list[Any]:
    """Coefficients of x for x > 0 and e^x - 1 below, by parts.

    Those of the slope at x < 0, e^x, are I_k, with I_0 = e^(g/2) P(X < -sqrt(g)): from
    sqrt(k) h_k phi = -(h_{k-1} phi)' the step at zero cancels, and the slope's k-th is
    sqrt(g / k) I_{k-1}.
    """
    root = mpmath.sqrt(gamma)
    below = [mpmath.exp(gamma / 2) * mpmath.ncdf(-root)]
    a = [root * mpmath.npdf(0) + below[0] - 0.5, root * (below[0] + 0.5)]
    low, high = mpmath.mpf(0), mpmath.mpf(1)  # h_{k-2}(0) and h_{k-1}(0)
    for k in range(1, count - 1):
        step = -high * mpmath.npdf(0)
        below.append((step + root * below[-1]) / mpmath.sqrt(k))
        a.append(gamma * below[k - 1] / mpmath.sqrt(k * (k + 1)))
        low, high = high, -mpmath.sqrt(k - 1) * low / mpmath.sqrt(k)
    return a


ENTIRE = {"exp": (1, 1, 1, 1), "sin": (0, 1, 0, -1), "cos": (1, 0, -1, 0)}
"""Signs of four coefficients, and so of all."""


def entire_coefficient(name: str, gamma: Any, k: int) -> Any:
    """e^(+-g/2) g^(k/2) / sqrt(k!) of exp, sin, cos, with its sign."""
    top = mpmath.exp(gamma / 2 if name == "exp" else -gamma / 2)
    return ENTIRE[name][k % 4] * top * mpmath.sqrt(gamma**k / mpmath.factorial(k))


def _measure_closed(*, name: str, gamma: float, order: int) -> list[Any]:
    """Coefficients; those of the slope follow: sqrt(k + 1) a_{k+1} / sqrt(g)."""
    with mpmath.workprec(BITS):
        g, count = mpmath.mpf(gamma), order + 2
        if name == "gaussian":
            a = _bump_energy(g, count)
        elif name == "elu":
            a = _exponential_unit(g, count)
        else:
            a = [entire_coefficient(name, g, k) for k in range(count)]
        slopes = [mpmath.sqrt((k + 1) / g) * a[k + 1] for k in range(order + 1)]
        return [*a[: order + 1], *slopes]


def _predict_closed(*, name: str, gamma: float, order: int) -> Array:
    a = act.CATALOGUE[name]
    # The derivative of the scaled activation has the factor sqrt(gamma).
    slopes = a.derivative.scaled(gamma).hermite(order)
    return np.concatenate([a.scaled(gamma).hermite(order), slopes])


CLOSED = numeric(
    id="dc/eq15-formulas",
    title="Hermite coefficients of exponentials and waves and of their slopes",
    statement=r"a_k(\gamma) = e^{\gamma/2} \gamma^{k/2} / \sqrt{k!}, \quad"
    r" \mathbb{E}\, \sigma'(\sqrt\gamma X) h_k(X) = \sqrt{(k+1)/\gamma}\,"
    r" a_{k+1}(\gamma)",
    assumptions=(
        "the first formula is that of exp(x)",
        "sin(x), cos(x), exp(-x^2/2) and ELU by their own",
    ),
    source=ours("Appendix D.2, the coefficients of equation 15"),
    cases=(
        *grid(name=("exp", "sin", "cos", "gaussian", "elu"), gamma=(0.3, 2.5), order=9),
        # Powers of lengths beyond the range of factorials.
        *grid(name=("sin", "cos"), gamma=1450.0, order=1460),
    ),
    predict=_predict_closed,
    measure=_measure_closed,
    # Formulas of a few operations; long ones by logarithms of about 1e4.
    compare=AgreesTo(relative=1e-11, of_largest=True),
    must_refute=mistake("The coefficients at variance one.", gamma=1.0),
    uses=("dc/eq15",),
)
