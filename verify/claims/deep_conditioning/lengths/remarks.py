"""Remarks on inputs of any length: D.2, D.4, I.2, and equations 17 to 19 and 29."""

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from theory import activations as act
from theory import lengths
from verify.claim import adversarial, grid, numeric
from verify.claims._predictors import always, mistake
from verify.claims._searches import searched
from verify.claims.deep_conditioning._sources import as_read, ours, quoted
from verify.claims.deep_conditioning.lengths._definitions import (
    FUNCTIONS,
    ODD,
    Array,
    length,
    odd_product,
    predicted_activation,
)
from verify.claims.deep_conditioning.lengths.layers import decay_from, deviations
from verify.claims.deep_conditioning.normrelu._definitions import (
    STAR_TEXT,
    correlations,
)
from verify.compare import AgreesTo, AtMost, Outcome

# --- Theorem D.1 from any length ----------------------------------------------------------


REM_D2 = adversarial(
    id="dc/remD.2",
    items=("RemD.2", "ThmD.1"),
    title="Squared lengths above any constant c contract to one at the rate of its chord",
    statement=r"\gamma_0 \ge c \;\Rightarrow\; |\gamma_L - 1| \le"
    r" \left(\frac{1 - \hat\sigma_0(c)}{1 - c}\right)^L |\gamma_0 - 1|",
    assumptions=("as Theorem D.1", "0 < c < 1"),
    source=as_read("Remark D.2"),
    # Attained by one layer from c itself.
    cases=tuple(
        {"name": name, "scale": s, "least": c, "gamma": gamma, "depth": 5}
        for name, s in (("tanh", 1.0), ("erf", 2.0), ("softsign", 0.7), ("selu", 1.0))
        for c, gamma in ((0.1, 0.1), (0.1, 0.3), (0.25, 0.25), (0.9, 0.9), (0.9, 4.0))
    ),
    predict=decay_from,
    measure=deviations,
    # Length maps to 1e-13, five times.
    compare=AtMost(rounding=1e-12),
    must_refute=mistake(
        "The rate from one half, whatever the input's length.", least=0.5
    ),
    uses=("dc/thmD.1",),
    examples=searched(
        lambda case: case["gamma"] >= case["least"],
        name=st.sampled_from(ODD),
        scale=st.floats(0.1, 5.0),
        least=st.floats(0.02, 0.95),
        gamma=st.floats(0.02, 8.0),
        depth=st.just(5),
    ),
    max_examples=60,
)

# --- D.4: the sigmoid ---------------------------------------------------------------------


def _at_zero(*, name: str) -> float:
    return float(FUNCTIONS[name](np.zeros(1))[0])


def _value_at_zero(*, name: str) -> float:
    """The value that the activation has at zero."""
    return float(act.CATALOGUE[name](0.0))


D4_SIGMOID_READ = numeric(
    id="dc/D.4-sigmoid-as-read",
    title="The sigmoid vanishes at zero, as the theorem on lengths requires (as read)",
    statement=r"\sigma(0) = 0, \quad \sigma(x) = \frac{1}{1 + e^{-x}}",
    source=as_read("Appendix D.4, list of activations covered"),
    cases=({"name": "sigmoid"},),
    predict=always(0.0),
    measure=_at_zero,
    compare=AgreesTo(absolute=0.0),
    must_hold=_value_at_zero,
    uses=("dc/D.4-sigmoid",),
    expected=Outcome.REFUTED,
    finding=(
        "The sigmoid is 1/2 at zero. Minus its mean it is odd, and the theorem covers"
        " it: dc/D.4-sigmoid."
    ),
)

D4_SIGMOID = numeric(
    id="dc/D.4-sigmoid",
    items=("D.4", "ThmD.1"),
    title="The centred sigmoid is covered by the theorem on lengths: they contract to one",
    statement=r"\sigma = \frac{s - 1/2}{\mathrm{sd}\, s(X)} \;\Rightarrow\;"
    r" |\gamma_L - 1| \le \alpha_\sigma^L |\gamma_0 - 1|",
    assumptions=("s the sigmoid", "squared lengths of 1/2 and more"),
    source=ours("Appendix D.4 (corrected)"),
    cases=grid(
        name="sigmoid", scale=(0.3, 1.0, 4.0), least=0.5, gamma=(0.5, 0.8, 3.0), depth=6
    ),
    predict=decay_from,
    measure=deviations,
    # As dc/remD.2.
    compare=AtMost(rounding=1e-12),
    must_refute=mistake(
        "The slope at one in the place of the chord's, too fast from below.",
        least=1.0 - 1e-6,
    ),
    uses=("dc/remD.2",),
)

# --- equations 17 to 19 -------------------------------------------------------------------


def _predict_chain(*, name: str, scale: float, gamma: float, rho: float) -> list[float]:
    mu, r = lengths.generalised_mu(predicted_activation(name, scale), gamma), abs(rho)
    return [(1.0 - mu) * r + mu * r**3, r * (1.0 - mu * (1.0 - r))]


def _measure_chain(*, name: str, scale: float, gamma: float, rho: float) -> list[float]:
    found = abs(odd_product(name, scale, gamma, gamma, rho)) / length(
        name, scale, gamma
    )
    return [found, found]


EQ17 = adversarial(
    id="dc/eq17",
    items=("Eq17", "Eq18", "Eq19"),
    title="One layer of an odd activation at any length: at most a linear part and a"
    " cubic rest",
    statement=r"\frac{|\hat\sigma(\rho; \gamma, \gamma)|}{\hat\sigma_0(\gamma)} \le"
    r" (1 - \mu(\gamma)) |\rho| + \mu(\gamma) |\rho|^3 \le"
    r" |\rho| (1 - \mu(\gamma) (1 - |\rho|))",
    assumptions=("odd activation", "mu(gamma): dc/lemD.6-mu"),
    source=quoted("Equations 17 to 19; the bound with the cube is ours"),
    cases=grid(
        name=("tanh", "erf", "arctan"),
        scale=(1.0, 3.0),
        gamma=(0.5, 2.0),
        rho=(0.7, -0.95),
    ),
    predict=_predict_chain,
    measure=_measure_chain,
    # As dc/lemD.6.
    compare=AtMost(rounding=1.1e-12),
    must_refute=mistake("The value of mu at unit length, at every length.", gamma=1.0),
    uses=("dc/lemD.6",),
    examples=searched(
        name=st.sampled_from(ODD),
        scale=st.floats(0.1, 5.0),
        gamma=st.floats(0.05, 8.0),
        rho=st.floats(-1.0, 1.0),
    ),
    max_examples=30,
)

# --- NormReLU: equation 29 and Remark I.2 -------------------------------------------------


def _side(a: act.Activation, c: float, gamma: float, r: float) -> float:
    bias, rest = lengths.normrelu_bias(gamma, c), lengths.rest_share(a, gamma)
    return bias + r * (1.0 - bias - rest * (1.0 - r))


def _predict_step(*, kink: str, gammas: list[float], rho: float) -> float:
    c = float(kink)
    one, two = (_side(act.normrelu(c), c, gamma, abs(rho)) for gamma in gammas)
    return math.sqrt(one * two)


def _wrong_step(*, kink: str, gammas: list[float], rho: float) -> float:
    """A layer without biases, as at unit length."""
    c, r = float(kink), abs(rho)
    rests = [lengths.rest_share(act.normrelu(c), gamma) for gamma in gammas]
    return math.prod(math.sqrt(r * (1.0 - rest * (1.0 - r))) for rest in rests)


def _measure_step(*, kink: str, gammas: list[float], rho: float) -> float:
    return abs(float(correlations(kink, *gammas, rho, 1)[0]))


EQ29 = adversarial(
    id="dc/eq29",
    items=("Eq29", "ThmI.1"),
    title="One NormReLU layer at any two lengths: bound by bias, linear part and rest",
    statement=r"|\rho_{l+1}| \le \sqrt{S(\gamma_x, |\rho_l|)\, S(\gamma_y, |\rho_l|)},"
    r" \quad S(\gamma, r) = \beta(\gamma) + r \left(1 - \beta(\gamma)"
    r" - \mu_{\mathrm{rest}}(\gamma)(1 - r)\right)",
    assumptions=(
        "beta: dc/eq28-bias",
        "mu_rest: the share of energy beyond constant and linear part, dc/thmI.1-rest",
    ),
    source=as_read("Equation 29"),
    # Attained at correlation zero, where the means alone are left.
    cases=grid(
        kink=(STAR_TEXT, "-1"),
        gammas=([0.5, 0.5], [0.5, 1.5], [1.2, 0.7]),
        rho=(0.0, 0.3, -0.8, 0.99),
    ),
    predict=_predict_step,
    measure=_measure_step,
    # At correlation zero the product of two means, 0.02 each, differences of numbers of
    # size one, to 1e-15; else the bound is a few operations on numbers of size one.
    compare=AtMost(rounding=2e-15),
    must_refute=_wrong_step,
    uses=("dc/eq28-bias",),
    examples=searched(
        kink=st.sampled_from((STAR_TEXT, "-1", "0.5")),
        gammas=st.lists(st.floats(0.1, 4.0), min_size=2, max_size=2),
        rho=st.floats(-1.0, 1.0),
    ),
    max_examples=25,
)


def _constants(kink: str, least: float, gammas: list[float], rho: float) -> Any:
    """Theorem I.1's constants for squared lengths in [c, 2 - c]."""
    c, most = float(kink), 2.0 - least
    a = act.normrelu(c)
    alpha = lengths.chord_rate(a, least=least)
    biases = [lengths.normrelu_bias(g, c) / abs(g - 1.0) for g in (least, most)]
    start = max(abs(g - 1.0) for g in gammas)
    apart = 1.0 - abs(rho) - max(biases) * start / (1.0 - alpha)
    rest = min(lengths.rest_share(a, g) for g in np.linspace(least, most, 9))
    return lengths.NormReLUDecay(alpha, max(biases), start, 1.0 - rest * apart)


def _predict_range(
    *, kink: str, least: float, gammas: list[float], rho: float, depth: int
) -> Array:
    found = _constants(kink, least, gammas, rho)
    return np.asarray(found.bound(rho, np.arange(1, depth + 1)))


def _wrong_range(
    *, kink: str, gammas: list[float], rho: float, depth: int, **_: Any
) -> Array:
    """The constants of [1/2, 3/2] beyond it, biases left out."""
    found = _constants(kink, 0.5, gammas, rho)
    return found.rate ** np.arange(1, depth + 1) * abs(rho)


def _measure_range(
    *, kink: str, gammas: list[float], rho: float, depth: int, **_case: Any
) -> Array:
    return np.array([abs(float(r)) for r in correlations(kink, *gammas, rho, depth)])


REM_I2 = numeric(
    id="dc/remI.2",
    items=("RemI.2", "ThmI.1"),
    title="NormReLU decorrelates inputs from other ranges of lengths, with other constants",
    statement=r"\gamma \in [c, 2 - c] \;\Rightarrow\; |\rho_L| \le q^L |\rho_0| + \beta_c"
    r" t_0 \sum_{i < L} \alpha_c^i q^{L - 1 - i}",
    assumptions=(
        "|cos| <= 1 - delta, delta > S = beta_c t_0 / (1 - alpha_c), |gamma - 1| <= t_0",
        "alpha_c = (1 - length map at c) / (1 - c)",
        "beta_c = max(beta(c), beta(2 - c)) / (1 - c)",
        "q = 1 - mu_- (delta - S), mu_- the least share as in dc/thmI.1-rest",
    ),
    source=ours("Remark I.2"),
    cases=tuple(
        {"kink": kink, "least": c, "gammas": gammas, "rho": rho, "depth": 10}
        for kink in (STAR_TEXT, "-1.2")
        for c, gammas, rho in (
            (0.25, [0.25, 1.75], 0.5),
            (0.25, [0.25, 0.25], 0.001),
            (0.8, [0.8, 1.2], -0.6),
        )
    ),
    predict=_predict_range,
    measure=_measure_range,
    # Four constants to 1e-13 each, as in dc/thmI.1-constants, over ten layers.
    compare=AtMost(rounding=1e-12),
    must_refute=_wrong_range,
    uses=("dc/thmI.1",),
)
