"""NormReLU (section 7 and appendix I): its constants for any kink, and its dual.

Measurements: the defining Gaussian integrals, enclosed by Arb; a cover of all kinks by
boxes (`verify.enclose`) for the growth of the scale.
"""

import math
from typing import Any

import mpmath

from theory import activations as act
from theory import conditioning, gaussian, lengths
from verify import integrals
from verify.claim import certified, grid, numeric
from verify.claims._predictors import always, changed, mistake
from verify.claims.deep_conditioning._sources import as_read, ours, quoted
from verify.claims.deep_conditioning.normrelu import _definitions as normrelu
from verify.compare import AgreesTo, CertifiedAtLeast, Enclosure
from verify.enclose import minimum, partial, ratio

_SELU = "1.0507009873554805"


def _measure_constant(*, constant: str, kink: str) -> Any:
    return normrelu.constants_of(kink)[constant]


def _predict_constant(*, constant: str, kink: str) -> float:
    return getattr(conditioning.normrelu_constants(float(kink)), constant)


def _mirrored(kink: str) -> str:
    return str(-float(kink))


def _measure_tails(*, kink: str) -> list[Any]:
    with mpmath.workdps(60):
        density = mpmath.npdf(mpmath.mpf(kink))
        each = normrelu.tail_moments(kink)
        return [*each, *(value / density for value in each)]


def _predict_tails(*, kink: str) -> list[float]:
    functions = (gaussian.tail_moment, gaussian.scaled_tail_moment)
    return [f(k, float(kink)) for f in functions for k in range(3)]


def _measure_kink(*, scale: str) -> Any:
    """Solve ``lambda(c) = scale`` by the secant method, lambda from its integrals."""
    with mpmath.workdps(60):
        target = mpmath.sqrt(2) if scale == "sqrt(2)" else mpmath.mpf(scale)

        def excess(c: Any) -> Any:
            return normrelu.constants_of(str(mpmath.nstr(c, 60)))["scale"] - target

        start = (mpmath.mpf("-1.7"), mpmath.mpf("-0.3"))
        return mpmath.findroot(excess, start, tol=mpmath.mpf(10) ** -90)


def _predict_kink(*, scale: str) -> float:
    """The kink that gives NormReLU this scale."""
    if scale == _SELU:
        return act.normrelu().kinks[0]
    value = math.sqrt(2.0) if scale == "sqrt(2)" else float(scale)
    return act.normrelu(scale=value).kinks[0]


_OF_ALPHA = changed(
    _predict_kink,
    "The kink of SELU's other constant, alpha.",
    scale="1.6732632423543772",
)


# --- the dual activation --------------------------------------------------------------


def _law(kink: str) -> integrals.Law:
    return integrals.law(f"normrelu({kink})")


def _measure_dual(*, kink: str, rho: str) -> Any:
    return _law(kink).normalised_dual(mpmath.mpf(float(rho)))


def _predict_dual(*, kink: str, rho: str) -> float:
    return act.normrelu(float(kink)).dual(float(rho))


def _measure_dual_slope(*, kink: str, rho: str) -> Any:
    return _law(kink).normalised_slope(mpmath.mpf(float(rho)))


def _predict_dual_slope(*, kink: str, rho: str) -> float:
    return act.normrelu(float(kink)).dual_derivative(float(rho))


def _formula(kink: str, rho: str, *, exponent: int = 1) -> Any:
    r"""Integrate I.dual; `exponent` 2 squares the 1 + sin u by mistake."""
    with mpmath.workdps(40):
        c, r = mpmath.mpf(kink), mpmath.mpf(rho)
        upper, _, variance = normrelu.closed_constants(c)
        top = mpmath.asin(r)
        # Near u = -pi/2 the integrand vanishes like e^{-2 c^2 / t^2}: split there.
        cuts = [mpmath.mpf(0), top / 2, 3 * top / 4, 7 * top / 8, top]

        def integrand(u: Any) -> Any:
            base = 1 + mpmath.sin(u)
            decay = mpmath.exp(-c * c / base**exponent) if base > 0 else mpmath.mpf(0)
            return (r - mpmath.sin(u)) * decay

        area = mpmath.quad(integrand, cuts)
        return (r * upper**2 + area / (2 * mpmath.pi)) / variance


# --- the scale grows with the kink (uniqueness in Eq. 4) ------------------------------


def _growth_of_scale(c: Any) -> Any:
    """(d log lambda / dc) / Phi(c) = -lambda^2 b."""
    return ratio(-normrelu.shift_of(c), normrelu.inverse_scale_squared(c))


def _measure_increasing(**_: Any) -> Enclosure:
    r"""Enclose min over all real c of -lambda^2 b.

    Tails. c <= -2: lambda >= 1, since cutting off shrinks the variance, and -b >= -c:
    at least 2. c >= 3: -lambda^2 b >= m_1/m_2 with m_k = E (X - c)_+^k, and the hazard
    rate of X beyond c is at least c, so m_2/m_1 <= 2/c: at least 3/2.
    """
    cover = minimum(
        _growth_of_scale,
        ((-2.0, 3.0),),
        gradient=(partial(_growth_of_scale, 0),),
        tolerance=1e-9,
    )
    return Enclosure(
        min(cover.lower, 1.5),
        min(cover.upper, 1.5),
        "every real c: boxes on [-2, 3], the tails by log-concavity",
        len(cover.leaves),
    )


def _predict_increasing(**_: Any) -> float:
    from scipy.optimize import minimize_scalar

    def growth(c: float) -> float:
        k = conditioning.normrelu_constants(c)
        return -k.shift * k.scale**2

    # The minimum is flat: the library's 1e-13 and the certificate's 1e-9 below it.
    return float(minimize_scalar(growth, bounds=(-2.0, 3.0)).fun) - 2e-9


_AT_ZERO = always(
    math.sqrt(2.0 * math.pi) / (math.pi - 1.0),
    "The value at the kink c = 0, that of ReLU, in the place of the least one.",
)
_KINKS = ("-8", "-4", "-1.5975", "-1", "0", "0.5", "3", "8")
_CONSTANTS = ("scale", "shift", "mu", "slope")

EQ4 = numeric(
    id="dc/eq4",
    title="NormReLU's scale, shift, non-linearity and slope for any kink",
    statement=r"\sigma_c(x) = \lambda [\max(x - c, 0) + b],\quad"
    r" b = c\Phi(-c) - \varphi(c),\quad"
    r" \lambda^{-2} = (1 + c^2)\Phi(-c) - c\varphi(c) - b^2,\quad"
    r" \mu = 1 - \lambda^2 \Phi(-c)^2,\quad D = \lambda^2 \Phi(-c)",
    source=quoted("Section 7, equation 4, and appendix C.4"),
    # At 30 the Gaussian leaves e^-450 beyond the kink.
    cases=grid(constant=_CONSTANTS, kink=("-30", *_KINKS, "30")),
    predict=_predict_constant,
    measure=_measure_constant,
    # The library's promise for every kink in [-30, 30].
    compare=AgreesTo(relative=1e-13),
    must_refute=mistake("max(x + c, 0), with the kink's sign flipped.", kink=_mirrored),
    uses=("dc/eq2", "dc/eq4-tails"),
)

CLAIMS = (
    EQ4,
    numeric(
        id="dc/eq4-tails",
        title="Moments of a Gaussian variable beyond a kink, near and far",
        statement=r"\mathbb{E} (X - c)_+^k \text{ and the same over } \varphi(c), \quad"
        r" k = 0, 1, 2",
        source=quoted("Appendix I, used for equation 4"),
        cases=grid(kink=("-30", "-1.5", "-0.25", "0", "0.5", "3", "30")),
        predict=_predict_tails,
        measure=_measure_tails,
        # Quadratures of 64 positive terms, rounded a few times each.
        compare=AgreesTo(relative=2e-15),
        must_refute=mistake("The tail on the other side of the kink.", kink=_mirrored),
    ),
    numeric(
        id="dc/eq4-kink",
        items=("Eq4", "E10"),
        title="The kink at which NormReLU has a given scale, to the last digit",
        statement=r"\lambda(c) = \lambda_{\mathrm{SELU}} = 1.0507009873554805"
        r" \iff c = -1.59076585644126852193\ldots",
        source=as_read("Section 7, choice of c"),
        cases=grid(scale=(_SELU, "1.05", "1.2", "2")),
        predict=_predict_kink,
        measure=_measure_kink,
        # The kink is the float64 next to the root: 2^-53 relative.
        compare=AgreesTo(relative=2.0**-53),
        must_refute=_OF_ALPHA,
        uses=("dc/eq4-increasing",),
        figure="normrelu_selu",
        finding=(
            "The last digit needs the decimal itself: its float64 is 5e-17 off, which"
            " moves the kink by 4e-16."
        ),
    ),
    certified(
        id="dc/eq4-increasing",
        title="NormReLU's scale increases with its kink, so that a scale fixes the kink"
        " (certified)",
        statement=r"\frac{d \log\lambda}{dc} = -\lambda^2 b\, \Phi(c)"
        r" \ge 1.155\, \Phi(c) > 0,\quad c \in \mathbb{R}",
        source=ours("Section 7, choice of c"),
        cases=({},),
        predict=_predict_increasing,
        measure=_measure_increasing,
        compare=CertifiedAtLeast(),
        must_refute=_AT_ZERO,
        assumptions=("Ball arithmetic (Arb) of 160 bits on [-2, 3]",),
        uses=("dc/eq4",),
    ),
    numeric(
        id="dc/I.dual",
        title="NormReLU's dual activation for every kink, correlations -1 and 1 included",
        statement=r"\hat\sigma(\rho) = \lambda^2 \left[\rho \Phi(-c)^2 + \frac{1}{2\pi}"
        r" \int_0^{\arcsin\rho} (\rho - \sin u) e^{-c^2/(1 + \sin u)} du\right]",
        source=ours("Appendix I (closed form ours)"),
        cases=grid(
            kink=("-3", "-1.5975", "-1", "0", "0.5", "2"),
            rho=("-1", "-0.875", "-0.5", "0", "0.25", "0.9", "0.9999", "1"),
        ),
        predict=_predict_dual,
        measure=_measure_dual,
        # The library's promise, relative to the dual's value one at rho = 1.
        compare=AgreesTo(relative=1e-13, absolute=1e-14),
        must_refute=mistake("ReLU's dual, whatever the kink.", kink="0"),
        uses=("dc/defC.1", "dc/eq4"),
    ),
    numeric(
        id="dc/I.dual-slope",
        title="The slope of NormReLU's dual is the dual of its derivative",
        statement=r"\hat\sigma'(\rho) = \lambda^2 \left[\Phi(-c)^2 + \frac{1}{2\pi}"
        r" \int_0^{\arcsin\rho} e^{-c^2/(1 + \sin u)} du\right]",
        source=ours("Appendix I (closed form ours)"),
        cases=grid(
            kink=("-3", "-1.5975", "0", "2"),
            rho=("-1", "-0.5", "0", "0.25", "0.9999", "1"),
        ),
        predict=_predict_dual_slope,
        measure=_measure_dual_slope,
        # As dc/I.dual.
        compare=AgreesTo(relative=1e-13, absolute=1e-14),
        must_refute=mistake(
            "The derivative of ReLU's dual, whatever the kink.", kink="0"
        ),
        uses=("dc/I.dual", "dc/defC.1-derivative"),
    ),
    numeric(
        id="dc/I.dual-formula",
        title="NormReLU's dual: the single integral equals the double integral to 38"
        " digits",
        statement=r"\lambda^2 \left[\rho \Phi(-c)^2 + \frac{1}{2\pi}"
        r" \int_0^{\arcsin\rho} (\rho - \sin u) e^{-c^2/(1 + \sin u)} du\right]"
        r" = \mathbb{E}\,\sigma_c(X)\sigma_c(Y)",
        source=ours("Appendix I (closed form ours)"),
        cases=grid(
            kink=("-1.5975", "0", "2"),
            rho=("-1", "-0.875", "-0.5", "0.25", "0.9375", "1"),
        ),
        predict=_formula,
        measure=_measure_dual,
        # 40 digits of quadrature on pieces where the integrand is analytic; at rho = -1
        # and c = 0 it is a trigonometric polynomial.
        compare=AgreesTo(absolute=1e-38),
        must_refute=mistake("The square of 1 + sin u in the exponent.", exponent=2),
        uses=("dc/I.dual",),
    ),
    numeric(
        id="dc/E10-corrected",
        title="The kink c = -1.5975 gives NormReLU the scale 1.05",
        statement=r"\lambda(c) = 1.05 \iff c = -1.59750936764707\ldots",
        source=as_read("Section 7, choice of c"),
        cases=grid(scale="1.05"),
        predict=always(normrelu.PUBLISHED),
        measure=_measure_kink,
        # Half a unit of the last printed digit.
        compare=AgreesTo(absolute=5e-5),
        must_refute=always(
            normrelu.STAR, "The kink whose scale is SELU's, to the last bit."
        ),
        uses=("dc/eq4-kink",),
        finding=(
            "The text before us has lost the number: -1.5975 is how the published paper is"
            " remembered. SELU's scale is 1.05 to two decimals; all of its digits need"
            " c = -1.590766 (dc/eq4-kink)."
        ),
    ),
    numeric(
        id="dc/E12-critical",
        items=("E12", "E1"),
        title="Very long inputs shrink under NormReLU for kinks c < -0.37666, else grow",
        statement=r"\lim_{\gamma\to\infty} \hat\sigma_0(\gamma)/\gamma"
        r" = \lambda^2/2 < 1 \iff c < -0.376657093117569877\ldots",
        source=ours("Appendix D.4 (sharpened)"),
        cases=grid(scale="sqrt(2)"),
        predict=always(lengths.CRITICAL_KINK),
        measure=_measure_kink,
        # The float64 next to the root, as in dc/eq4-kink.
        compare=AgreesTo(relative=2.0**-53),
        must_refute=_OF_ALPHA,
        uses=("dc/eq4-kink", "dc/I.len"),
    ),
)
