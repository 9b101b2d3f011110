"""NormReLU's squared lengths (appendices I and D.4): values, limits and divergence.

Measurements: the defining Gaussian integrals, enclosed by Arb, for values; a cover of
an unbounded range by boxes (`verify.enclose`) for the divergence.
"""

from dataclasses import replace
from typing import Any

import flint
import mpmath

from theory import activations as act
from theory import conditioning, lengths
from verify import integrals
from verify.claim import certified, grid, numeric
from verify.claims._predictors import always
from verify.claims.deep_conditioning._sources import as_read, ours, quoted
from verify.claims.deep_conditioning._subjects import subject
from verify.claims.deep_conditioning.normrelu import _definitions as normrelu
from verify.compare import AgreesTo, AtMost, CertifiedAtLeast, Enclosure, Outcome
from verify.enclose import minimum, quotient


def _predict_length(*, kink: str, gamma: str) -> list[float]:
    """By its formula, and as the activation's own."""
    c, g = float(kink), float(gamma)
    return [lengths.normrelu_length(g, c), act.normrelu(c).length_map(g)]


def _measure_length(*, kink: str, gamma: str) -> list[Any]:
    return [normrelu.measure_length(kink=kink, gamma=gamma)] * 2


def _wrong_length(*, kink: str, gamma: str) -> list[float]:
    """A kink that moves with the input's scale, which gives gamma itself."""
    return [float(gamma)] * 2


def _measure_length_slope(*, kink: str, gamma: str) -> Any:
    # Central difference: h^2 times the third derivative is 1e-36, rounding 1e-45/h.
    with mpmath.workdps(60):
        g, h = mpmath.mpf(gamma), mpmath.mpf("1e-18")
        high, low = (
            normrelu.moments_at(kink, g + h)[1],
            normrelu.moments_at(kink, g - h)[1],
        )
        return (high - low) / (2 * h)


def _predict_length_slope(*, kink: str, gamma: str) -> float:
    return lengths.normrelu_length_slope(float(gamma), float(kink))


def _wrong_length_slope(*, kink: str, gamma: str) -> float:
    """The slope of a positively homogeneous activation, length / gamma."""
    return lengths.normrelu_length(float(gamma), float(kink)) / float(gamma)


# --- where lengths converge (E1, E12) -------------------------------------------------


def _measure_trajectory_length(*, kink: str, gamma: float, depth: int) -> Any:
    g = mpmath.mpf(gamma)
    for _ in range(depth):
        g = normrelu.moments_at(kink, g)[1]
    return g


def _closed_length(c: Any, b: Any, gamma: Any) -> Any:
    s = mpmath.sqrt(gamma)
    t = c / s
    upper, density = mpmath.ncdf(-t), mpmath.npdf(t)
    one = s * density - c * upper
    return (gamma + c * c) * upper - c * s * density + 2 * b * one + b * b


def _predict_trajectory_length(*, kink: str, gamma: float, depth: int) -> float:
    a = act.normrelu(float(kink))
    return float(lengths.length_trajectory(a, gamma, depth)[-1])


def _unstable_excess(c: Any, low: Any, high: Any) -> Any:
    """Root x > 0 of length(1 + x) = 1 + x between two numbers, in closed form."""
    _, b, variance = normrelu.closed_constants(c)

    def growth(log: Any) -> Any:
        x = mpmath.exp(log)
        # In units of c, of which it is the order.
        return (_closed_length(c, b, 1 + x) / variance - 1 - x) / (x * c)

    ends = mpmath.log(low), mpmath.log(high)
    return mpmath.exp(mpmath.findroot(growth, ends, "anderson", tol=1e-45))


def _measure_alpha_of(*, activation: str) -> Any:
    """2 (1 - E s(sqrt(1/2) X)^2 / E s(X)^2), from the definition."""
    with mpmath.workdps(50):
        half, whole = (
            integrals.at_variance(activation, v).dual(1) for v in ("0.5", "1")
        )
        return 2 * (1 - half / whole)


def _predict_alpha_of(*, activation: str) -> float:
    """The rate of contraction from one half."""
    a = subject(activation)
    return 2.0 * (1.0 - a.length_map(0.5) / a.second_moment)


def _measure_excess(*, kink: str) -> Any:
    """Root x > 0 of length(1 + x) = 1 + x, from the closed form at 60 digits or more."""
    c = mpmath.mpf(float(kink))
    # The length less one cancels, and so does its growth.
    with mpmath.workdps(60 - 2 * int(mpmath.log10(-c))):
        # About -5 c near zero.
        return _unstable_excess(c, -4 * c, -6 * c)


def _predict_excess(*, kink: str) -> float:
    return lengths.unstable_length(float(kink), excess=True)


def _wrong_excess(*, kink: str) -> float:
    """The excess over one from a length rounded to float64."""
    return lengths.unstable_length(float(kink)) - 1.0


def _measure_growth(*, kinks: list[float]) -> Enclosure:
    r"""Enclose min (length(gamma)/gamma - 1) / (1 - v)^2 over gamma >= 1, c = 0.

    v = 1/sqrt(gamma) turns the unbounded range into [0, 1]: for c = 0 the quotient is
    lambda^2 (1/2 + 2 b phi(0) v + b^2 v^2) - 1, with a double zero at v = 1.
    """

    def excess(v: Any) -> Any:
        b = normrelu.shift_of(flint.arb(0))
        density = normrelu.normal_density(flint.arb(0))
        square = (v * b + 2 * density) * (v * b) + flint.arb(1) / 2
        return square / normrelu.inverse_scale_squared(flint.arb(0)) - 1

    def growth(v: Any) -> Any:
        return quotient(excess, flint.arb(1), 2)(v)

    cover = minimum(growth, ((0.0, 1.0),), tolerance=1e-12)
    return cover.enclosure(
        "every gamma in [1, inf), through v = gamma^(-1/2) in [0, 1]"
    )


def _predict_growth(**_: Any) -> float:
    # The coefficient of v^2 is lambda^2 b^2 = 1 / (pi - 1). Rounded down.
    k = conditioning.normrelu_constants(0.0)
    return (k.scale * k.shift) ** 2 - 1e-12


def _wrong_growth(**_: Any) -> float:
    """lambda^2/2, the factor of long inputs, without one taken off."""
    return conditioning.normrelu_constants(0.0).scale ** 2 / 2.0


LENGTH = numeric(
    id="dc/I.len",
    title="NormReLU's length map in closed form",
    statement=r"\hat\sigma_0(\gamma) = \lambda^2[(\gamma + c^2)\Phi(-c/s)"
    r" - cs\varphi(c/s) + 2b(s\varphi(c/s) - c\Phi(-c/s)) + b^2],\quad"
    r" s = \sqrt\gamma",
    source=quoted("Appendix I"),
    # The longest are lambda^2/2 times as long behind a layer, to 1e-15.
    cases=grid(
        kink=("-1.5975", "-1", "0", "2"),
        gamma=("0.03125", "0.5", "1", "1.5", "10", "1e30"),
    ),
    predict=_predict_length,
    measure=_measure_length,
    # Sums of three terms of one size with float64 tail moments: 1e-14 each.
    compare=AgreesTo(relative=1e-13),
    must_refute=_wrong_length,
    uses=("dc/eq4",),
    figure="length_maps",
)

CLAIMS = (
    LENGTH,
    replace(
        LENGTH,
        id="dc/I.len-slope",
        title="The slope of NormReLU's length map in closed form",
        statement=r"\hat\sigma_0'(\gamma) = \lambda^2[\Phi(-c/s) + b\varphi(c/s)/s]",
        cases=grid(kink=("-1.5975", "0", "2"), gamma=("0.5", "1", "1.5", "10")),
        predict=_predict_length_slope,
        measure=_measure_length_slope,
        must_refute=_wrong_length_slope,
        uses=("dc/I.len",),
        figure="",
    ),
    numeric(
        id="dc/E1-as-read",
        title="Squared lengths contract under every activation that meets Theorem D.1 (as"
        " read)",
        statement=r"\alpha_\sigma = 2(1 - \hat\sigma_0(1/2)) < 1",
        source=as_read("Remark D.2 and appendix D.4"),
        assumptions=(
            "non-decreasing, sigma(0) = 0, concave on [0, inf), convex on (-inf, 0]",
            "unit second moment",
            "twice differentiable, but for finitely many kinks (appendix D.4)",
        ),
        # The identity has no kink; appendix D.4 names the other two.
        cases=grid(activation=("identity", "relu", "leaky_relu(0.1)")),
        # alpha < 1, read as below it by a thousandth at least.
        predict=always(0.999),
        measure=_measure_alpha_of,
        # Of the corrected value: a quotient and a difference near one.
        compare=AtMost(rounding=1e-15),
        must_hold=_predict_alpha_of,
        uses=("dc/remD.2",),
        expected=Outcome.REFUTED,
        finding=(
            "The identity, ReLU and leaky ReLU meet the listed hypotheses, but keep every"
            " squared length once they are scaled to unit second moment: alpha = 1. The"
            " remark needs an activation that is not positively homogeneous."
        ),
    ),
    numeric(
        id="dc/E12-lengths",
        items=("E12", "E1"),
        title="Squared lengths under NormReLU do not converge to one from every start",
        statement=r"\gamma_{l+1} = \hat\sigma_0(\gamma_l) \nrightarrow 1",
        source=ours("Appendix D.4 (its counterexample, followed)"),
        cases=(
            {"kink": "0", "gamma": 2.0, "depth": 20},
            {"kink": "0", "gamma": 2.0, "depth": 60},
            {"kink": "0", "gamma": 1.125, "depth": 60},
            {"kink": "-0.2", "gamma": 8.0, "depth": 60},
        ),
        predict=_predict_trajectory_length,
        measure=_measure_trajectory_length,
        # Float64 in the map, amplified by gamma_60/gamma_0 in the worst case.
        compare=AgreesTo(relative=1e-11),
        must_refute=always(1.0, "A squared length of one."),
        uses=("dc/E12-diverges", "dc/E12-unstable"),
        finding=(
            "With kink 0, every start above one diverges (dc/E12-diverges); with a"
            " kink in (-0.3767, 0), every start above an unstable length does"
            " (dc/E12-unstable)."
        ),
        figure="diverging_lengths",
    ),
    certified(
        id="dc/E12-diverges",
        title="Centred, normalised ReLU increases every length above one (certified)",
        statement=r"\frac{\hat\sigma_0(\gamma)}{\gamma} - 1 \ge \frac{1}{\pi - 1}"
        r" (1 - \gamma^{-1/2})^2,\quad \gamma \in [1, \infty),\ c = 0",
        source=ours("Appendix D.4 (its counterexample, made exact)"),
        cases=({"kinks": [0.0, 0.0]},),
        predict=_predict_growth,
        measure=_measure_growth,
        compare=CertifiedAtLeast(),
        must_refute=_wrong_growth,
        uses=("dc/I.len",),
        assumptions=("the unbounded range is mapped onto [0, 1] by gamma^{-1/2}",),
        finding=(
            "Both sides are equal: the length map is gamma lambda^2/2, a multiple of the"
            " root of gamma and a constant. Lengths below one grow as well, towards one."
        ),
    ),
    numeric(
        id="dc/E12-unstable-near-one",
        title="For kinks near zero, lengths diverge from just above one: by how much above",
        statement=r"\hat\sigma_0(1 + x) = 1 + x,\ x > 0; \quad"
        r" x \sim -2\sqrt{2\pi}\, c \text{ as } c \to 0",
        source=ours("Appendix D.4 (sharpened)"),
        cases=grid(kink=("-1e-2", "-1e-5", "-1e-9", "-1e-12", "-1e-120")),
        predict=_predict_excess,
        measure=_measure_excess,
        # Two sums of positive terms to 1e-14 and their quotient; 40 nodes are exact.
        compare=AgreesTo(relative=2e-14),
        must_refute=_wrong_excess,
        uses=("dc/E12-unstable",),
    ),
)
