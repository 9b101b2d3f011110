"""Constants of the paper and of our tables, each in a proved enclosure."""

import math
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import flint

from theory import activations as act
from theory import lengths
from verify.claim import certified, grid
from verify.claims._predictors import always, changed, mistake
from verify.claims.deep_conditioning._sources import ours, quoted
from verify.claims.deep_conditioning._subjects import (
    NORMRELU,
    fixed_point_of,
    mu_of,
    nu_of,
    subject,
)
from verify.claims.deep_conditioning.normrelu._definitions import (
    PUBLISHED,
    inverse_scale_squared,
)
from verify.claims.deep_conditioning.normrelu.fact1 import length_jet
from verify.claims.deep_conditioning.proved._energies import (
    CATALOGUE,
    SLOPED,
    coefficients,
    energies_with_mean,
    powers,
    slope_energy,
)
from verify.compare import Enclosed, Enclosure
from verify.enclose import BITS, above, below

_SETTING = ("Ball arithmetic (Arb): integrals at 100 bits, tails included",)
_WORDS = "this number"


def _ball(value: Any) -> Enclosure:
    return Enclosure(below(value), above(value), _WORDS, 1)


# --- table 2 --------------------------------------------------------------------------


def _measure_mu(*, activation: str) -> Enclosure:
    a, square = coefficients(activation)
    with flint.ctx.workprec(BITS):
        variance = square - a[0] * a[0]
        return _ball(1 - a[1] * a[1] / variance)


def _measure_nu(*, activation: str) -> Enclosure:
    a, square = coefficients(activation)
    with flint.ctx.workprec(BITS):
        return _ball(1 - (a[0] * a[0] + a[1] * a[1]) / square)


def _uncentred_mu(*, activation: str) -> float:
    """The uncentred activation's mu, the mean's energy left in."""
    a = subject(activation)
    return a.nu + a.mean**2 / a.second_moment


def _measure_moment(*, activation: str, quantity: str) -> Enclosure:
    a, square = coefficients(activation)
    with flint.ctx.workprec(BITS):
        variance = square - a[0] * a[0]
        return _ball(a[0] if quantity == "mean" else variance)


def _predict_moment(*, activation: str, quantity: str) -> float:
    a = subject(activation)
    return a.mean if quantity == "mean" else a.second_moment - a.mean**2


def _second_moment(*, activation: str, quantity: str) -> float:
    """The mean square for the variance, the next Hermite coefficient for the mean."""
    a = subject(activation)
    return a.second_moment if quantity == "variance" else float(a.hermite(1)[1])


def _measure_slope(*, activation: str) -> Enclosure:
    a, square = coefficients(activation)
    with flint.ctx.workprec(BITS):
        return _ball(slope_energy(activation) / (square - a[0] * a[0]))


def _predict_slope(*, activation: str) -> float:
    return subject(activation).normalized().derivative_second_moment


def _uncentred_slope(*, activation: str) -> float:
    """The slope over the mean square in the place of the variance."""
    a = subject(activation)
    return a.derivative_second_moment / a.second_moment


# --- roots ----------------------------------------------------------------------------


def _bisected(sign: Any, low: float, high: float, steps: int) -> Enclosure:
    """Enclose the point at which `sign`, a ball valued function, turns negative."""
    with flint.ctx.workprec(BITS):
        if not (sign(flint.arb(low)) > 0 and sign(flint.arb(high)) < 0):
            raise ArithmeticError(f"no change of sign is proved on [{low}, {high}]")
        for _ in range(steps):
            middle = low + (high - low) / 2.0
            found = sign(flint.arb(middle))
            if found > 0:
                low = middle
            elif found < 0:
                high = middle
            else:
                break
    return Enclosure(low, high, "the only root between the ends of the case", 2)


def order_of(activation: str) -> int:
    """Return after how many energies, those left out weigh 1e-9 or less at the root."""
    return 84 if activation == "step" else 32


@lru_cache(maxsize=64)
def fixed_point_enclosed(activation: str) -> Enclosure:
    """Return an enclosure of the only fixed point below one."""
    found = energies_with_mean(activation, order_of(activation))
    polynomial = powers(found.p)

    def above_diagonal(rho: Any) -> Any:
        # What is left out is between zero and q rho^K.
        rest = found.q[-1] * rho ** len(found.p)
        return polynomial(rho) + rest.union(flint.arb(0)) - rho

    return _bisected(above_diagonal, 0.0, 0.95, 60)


def _quadratic_fixed_point(*, activation: str) -> float:
    """The fixed point if all energy beyond the linear part were quadratic."""
    a = subject(activation)
    return a.mean**2 / a.second_moment / a.nu


def _kink_sign(scale: float) -> Any:
    return lambda c: inverse_scale_squared(c) - 1 / flint.arb(scale) ** 2


def _measure_kink(*, scale: float) -> Enclosure:
    return _bisected(_kink_sign(scale), -6.0, 4.0, 100)


def _predict_kink(*, scale: float) -> float:
    return act.normrelu(scale=scale).kinks[0]


def _predict_unstable(*, c: float) -> float:
    return math.log(lengths.unstable_length(c))


def _measure_unstable(*, c: float) -> Enclosure:
    def shrinks(x: Any) -> Any:
        gamma, kink = x.exp(), flint.arb(c)
        return gamma * inverse_scale_squared(kink) - length_jet(gamma, kink)[0]

    return replace(_bisected(shrinks, 0.2, 8.0, 100), covers="a root above one")


_UNCENTRED = ("gelu", "silu", "mish", "elu", "step", "relu_squared")

_by_integrals = partial(certified, assumptions=_SETTING)

CLAIMS = (
    _by_integrals(
        id="dc/def3.1-enclosed",
        items=("Def3.1", "C.4", "LemC.2", "Tab1", "Tab2"),
        title="The coefficient of non-linearity mu of 33 activations, enclosed",
        statement=(
            r"\mu = 1 - \frac{(\mathbb{E}\,X\sigma(X))^2}{\operatorname{Var}\sigma(X)}"
        ),
        source=quoted("Definition 3.1"),
        cases=grid(activation=CATALOGUE),
        predict=mu_of,
        measure=_measure_mu,
        # One minus a share of at most one, from moments of a few ulp.
        compare=Enclosed(radius=1e-15, rounding=4e-15),
        must_refute=changed(nu_of, "The coefficient of non-affinity, nu."),
        uses=("dc/def3.1",),
    ),
    _by_integrals(
        id="dc/defC.20-enclosed",
        items=("DefC.20", "LemC.21", "Tab2"),
        title="The coefficient of non-affinity nu of 32 activations, enclosed",
        statement=r"\nu = 1 - \frac{(\mathbb{E}\,\sigma(X))^2 + (\mathbb{E}\,X\sigma(X))^2}"
        r"{\mathbb{E}\,\sigma(X)^2} \in (0, 1]",
        source=quoted("Definition C.20"),
        cases=grid(activation=tuple(n for n in CATALOGUE if n != NORMRELU)),
        predict=nu_of,
        measure=_measure_nu,
        # As dc/def3.1-enclosed.
        compare=Enclosed(radius=1e-15, rounding=4e-15),
        must_refute=_uncentred_mu,
        uses=("dc/defC.20",),
    ),
    _by_integrals(
        id="dc/tab2-enclosed",
        items=("Tab2", "Eq2"),
        title="Means and variances of 31 activations, enclosed",
        statement=r"\mathbb{E}\,\sigma(X), \quad \operatorname{Var}\sigma(X)",
        source=ours("Equation 2; the table is ours"),
        # The pieces of SELU and NormReLU are enclosed up to their scale alone.
        cases=grid(
            activation=tuple(n for n in CATALOGUE if n not in ("selu", NORMRELU)),
            quantity=("mean", "variance"),
        ),
        predict=_predict_moment,
        measure=_measure_moment,
        # Numbers up to five; a variance is a difference of numbers below eight.
        compare=Enclosed(radius=1e-15, rounding=1e-14),
        must_refute=_second_moment,
        uses=("dc/tab2",),
    ),
    _by_integrals(
        id="dc/tab2-slopes-enclosed",
        items=("Tab2", "Eq7", "E7"),
        title="Growth of the tangent kernel per layer for 23 activations, enclosed",
        statement=r"D = \frac{\mathbb{E}\,\sigma'(X)^2}{\operatorname{Var}\sigma(X)}",
        source=ours("Equation 7; the table is ours"),
        cases=grid(activation=SLOPED),
        predict=_predict_slope,
        measure=_measure_slope,
        # A quotient below three, of moments of a few ulp.
        compare=Enclosed(radius=1e-15, rounding=4e-15),
        must_refute=_uncentred_slope,
        uses=("dc/tab2",),
    ),
    certified(
        id="dc/lemC.26-enclosed",
        items=("LemC.26", "Thm3.10"),
        title="Fixed points of the duals of uncentred activations, enclosed",
        statement=(
            r"\mathbb{E}\,\sigma'^2 > \mathbb{E}\,\sigma^2 \;\Rightarrow\;"
            r" \hat\sigma(\bar\rho) = \bar\rho < 1"
        ),
        source=quoted("Lemma C.26"),
        cases=grid(activation=_UNCENTRED),
        predict=fixed_point_of,
        measure=fixed_point_enclosed,
        # What is left of the sum moves the root by its size over 1 - slope.
        compare=Enclosed(radius=1e-9, rounding=1e-12),
        must_refute=_quadratic_fixed_point,
        assumptions=(*_SETTING, "The dual is convex on [0, 1]: one root below one"),
        uses=("dc/lemC.23", "dc/lemC.26"),
    ),
    certified(
        id="dc/E10-kink",
        items=("E10", "Eq4"),
        title="The kink of the NormReLU of a given scale, enclosed",
        statement=r"\lambda(c) = \lambda,\quad"
        r" \lambda(c)^{-2} = (1 + c^2)\Phi(-c) - c\varphi(c) - b(c)^2",
        source=quoted("Equation 4"),
        cases=grid(scale=(1.0507009873554805, 1.05, 1.5)),
        larger_cases={"certify": grid(scale=(1.001, 1.1, 2.0, 10.0))},
        predict=_predict_kink,
        measure=_measure_kink,
        # A scale of sixteen digits is read as its decimals: 1e-16 over the slope of the
        # scale, which is 0.003 at 1.001.
        compare=Enclosed(radius=1e-15, rounding=1e-13),
        must_refute=always(
            PUBLISHED,
            "The kink remembered as the paper's, whose text before us has lost it.",
        ),
        uses=("dc/eq4-increasing",),
        finding=(
            "SELU's scale gives -1.59077, and 1.05 gives -1.59751. The paper's kink is lost"
            " in the text before us; -1.5975, as it is remembered, is that of a scale"
            " rounded to three digits."
        ),
    ),
    certified(
        id="dc/E12-threshold",
        items=("E12", "I.len"),
        title="The kink below which NormReLU keeps lengths bounded, enclosed",
        statement=r"\lim_{\gamma \to \infty} \frac{\hat\sigma_0(\gamma)}{\gamma}"
        r" = \frac{\lambda^2}{2} < 1 \iff c < -0.37666",
        source=ours("Appendix D.4 (sharpened)"),
        cases=({},),
        predict=partial(_predict_kink, scale=2.0**0.5),
        # The limit of length(gamma)/gamma is lambda^2/2: below one for scales below
        # sqrt(2).
        measure=partial(_measure_kink, scale=2.0**0.5),
        # The last digit, and a scale read to sixteen, 1e-16 over lambda' = 0.6.
        compare=Enclosed(radius=1e-15, rounding=5e-16),
        must_refute=always(
            0.0, "The kink at which the length map's slope at one is one."
        ),
        uses=("dc/eq4-increasing",),
    ),
    certified(
        id="dc/E12-unstable",
        version=2,
        items=("E12", "E1"),
        title="The squared length above which lengths diverge under NormReLU, enclosed",
        statement=r"\log\gamma:\quad \hat\sigma_0(\gamma) = \gamma > 1,\quad"
        r" c \in (-0.3767, 0)",
        source=ours("Appendix D.4 (sharpened)"),
        cases=grid(c=(-0.35, -0.3, -0.2, -0.1)),
        larger_cases={"certify": grid(c=(-0.36, -0.25, -0.15, -0.09))},
        predict=_predict_unstable,
        measure=_measure_unstable,
        # Of the excess 2e-14, as in dc/E12-unstable-near-one, and the logarithm's rounding:
        # it is below 8.
        compare=Enclosed(radius=1e-14, rounding=3e-14),
        must_refute=mistake(
            "The length in the place of its square.", then=lambda log: log / 2.0
        ),
        uses=("dc/I.len",),
        assumptions=("a root is proved, not that it is the only one",),
    ),
)
