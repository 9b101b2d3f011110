r"""NormReLU (section 2 and appendix I): its constants, dual, lengths and Fact 1.

Measurements: the defining Gaussian integrals, enclosed by Arb, for values; covers of
``(gamma, c)`` by boxes (`verify.enclose`) for statements about whole intervals.
"""

# mpmath has no type information:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import flint
import mpmath

from theory import activations as act
from theory import conditioning, lengths
from verify import integrals
from verify.claim import Claim, Evidence, Source, grid
from verify.claims._subjects import subject
from verify.compare import (
    AgreesTo,
    AtMost,
    CertifiedAtLeast,
    CertifiedAtMost,
    Enclosure,
    Outcome,
)
from verify.enclose import Box, maximum, minimum, partial, quotient, ratio

_KEY = "agarwal2021deep"
_SELU = "1.0507009873554805"
_STAR = -1.5907658564412685  # the kink whose scale is SELU's, to the last bit
_PUBLISHED = -1.5975
_RANGE = (-1.9, -0.6)  # kinks for which all of Fact 1 is proved

# --- the constants from the defining integrals (Eq. 4) -------------------------------


@lru_cache(maxsize=64)
def _moments(kink: str) -> tuple[Any, Any, Any]:
    r"""E (X - c)_+^k for k = 0, 1, 2, to 50 digits of every difference below."""
    # Moments at c = 30 are near 1e-200, and at c = -30 the non-linearity is, as the
    # difference of numbers near 900: at most 2 * 650 bits, and 400 to spare.
    bits = 400 + math.ceil(3.0 * float(kink) ** 2)
    with flint.ctx.workprec(bits):
        c = flint.arb(kink)
        reach = math.ceil(math.sqrt(1.4 * bits) + 1.0)  # e^{-reach^2/2} < 2^{-bits}
        ends = [c, flint.arb(0), flint.arb(reach)] if c < 0 else [c, c + reach]
        norm = (2 * flint.arb.pi()).sqrt()
        out: list[Any] = []
        for k in range(3):
            total = flint.acb(0)
            for low, high in pairwise(ends):
                total += flint.acb.integral(
                    lambda x, _, k=k: (x - c) ** k * (-x * x / 2).exp() / norm,
                    low,
                    high,
                    abs_tol=flint.arb(2) ** (-bits),
                )
            out.append(total.real)
        return out[0], out[1], out[2]


def _constants(kink: str) -> dict[str, Any]:
    """Scale, shift, mu and slope of lambda (max(x - c, 0) + b), by definition."""
    zero, one, two = _moments(kink)
    with flint.ctx.workprec(400 + math.ceil(3.0 * float(kink) ** 2)):
        variance = two - one * one
        values = {
            "scale": 1 / variance.sqrt(),
            "shift": -one,
            "mu": 1 - zero * zero / variance,
            "slope": zero / variance,
        }
    for name, value in values.items():
        if value.rel_accuracy_bits() < 170:
            raise ArithmeticError(
                f"normrelu: {name} at {kink} is not known to 50 digits"
            )
    return {name: _mp(value) for name, value in values.items()}


def _mp(x: Any) -> Any:
    with mpmath.workdps(60):
        return mpmath.mpf(x.mid().str(60, radius=False))


def _measure_constant(*, constant: str, kink: str) -> Any:
    return _constants(kink)[constant]


def _predict_constant(*, constant: str, kink: str) -> float:
    return getattr(conditioning.normrelu_constants(float(kink)), constant)


def _wrong_kink(*, constant: str, kink: str) -> float:
    # The kink's sign flipped: max(x + c, 0).
    return getattr(conditioning.normrelu_constants(-float(kink)), constant)


def _kink_of(scale: str) -> Any:
    """Solve ``lambda(c) = scale`` by the secant method, lambda from its integrals."""
    with mpmath.workdps(60):
        target = mpmath.sqrt(2) if scale == "sqrt(2)" else mpmath.mpf(scale)

        def excess(c: Any) -> Any:
            return _constants(str(mpmath.nstr(c, 60)))["scale"] - target

        start = (mpmath.mpf("-1.7"), mpmath.mpf("-0.3"))
        return mpmath.findroot(excess, start, tol=mpmath.mpf(10) ** -90)


def _measure_kink(*, scale: str) -> Any:
    return _kink_of(scale)


def _predict_kink(*, scale: str) -> float:
    if scale == _SELU:
        return act.normrelu().kinks[0]
    value = math.sqrt(2.0) if scale == "sqrt(2)" else float(scale)
    return act.normrelu(scale=value).kinks[0]


def _wrong_scale(*, scale: str) -> float:
    # SELU's other constant, alpha.
    return act.normrelu(scale=1.6732632423543772).kinks[0]


def _predict_critical(*, scale: str) -> float:
    return lengths.CRITICAL_KINK


def _star_kink(**_: Any) -> float:
    return _STAR


def _published_kink(**_: Any) -> float:
    return _PUBLISHED


# --- the dual activation --------------------------------------------------------------


def _law(kink: str) -> integrals.Law:
    return integrals.law(f"normrelu({kink})")


def _measure_dual(*, kink: str, rho: str) -> Any:
    return _law(kink).normalised_dual(mpmath.mpf(float(rho)))


def _predict_dual(*, kink: str, rho: str) -> float:
    return act.normrelu(float(kink)).dual(float(rho))


def _wrong_dual(*, kink: str, rho: str) -> float:
    # sqrt(1 - rho^2) replaced by 1 - rho^2 in the angle asin(rho) = acos of the root.
    r = float(rho)
    return act.normrelu(float(kink)).dual(math.copysign(math.sqrt(2 - r * r) % 1.0, r))


def _measure_dual_slope(*, kink: str, rho: str) -> Any:
    return _law(kink).normalised_slope(mpmath.mpf(float(rho)))


def _predict_dual_slope(*, kink: str, rho: str) -> float:
    return act.normrelu(float(kink)).dual_derivative(float(rho))


def _wrong_dual_slope(*, kink: str, rho: str) -> float:
    # The derivative of ReLU's dual, as if the kink did not matter.
    return act.normrelu(0.0).dual_derivative(float(rho))


def _formula(kink: str, rho: str, *, exponent: int = 1) -> Any:
    r"""Integrate I.dual; `exponent` 2 squares the 1 + sin u by mistake."""
    with mpmath.workdps(40):
        c, r = mpmath.mpf(kink), mpmath.mpf(rho)
        upper = mpmath.ncdf(-c)
        b = c * upper - mpmath.npdf(c)
        variance = (1 + c * c) * upper - c * mpmath.npdf(c) - b * b
        top = mpmath.asin(r)
        # Near u = -pi/2 the integrand vanishes like e^{-2 c^2 / t^2}: split there.
        cuts = [mpmath.mpf(0), top / 2, 3 * top / 4, 7 * top / 8, top]

        def integrand(u: Any) -> Any:
            base = 1 + mpmath.sin(u)
            decay = mpmath.exp(-c * c / base**exponent) if base > 0 else mpmath.mpf(0)
            return (r - mpmath.sin(u)) * decay

        area = mpmath.quad(integrand, cuts)
        return (r * upper**2 + area / (2 * mpmath.pi)) / variance


def _predict_formula(*, kink: str, rho: str) -> Any:
    return _formula(kink, rho)


def _wrong_formula(*, kink: str, rho: str) -> Any:
    return _formula(kink, rho, exponent=2)


# --- lengths --------------------------------------------------------------------------


def _moments_at(kink: str, gamma: Any) -> tuple[Any, Any]:
    r"""E s(sqrt(gamma) X) and E s(sqrt(gamma) X)^2 of NormReLU, by integrals."""
    constants = _constants(kink)
    at = integrals.Pieces(1, (0, 0), (kink,), (1,), variance=gamma)
    with mpmath.workdps(60):
        one, two = at.coefficient(0), at.dual(1)
        scale, shift = constants["scale"], constants["shift"]
        return (
            scale * (one + shift),
            scale**2 * (two + 2 * shift * one + shift * shift),
        )


def _measure_length(*, kink: str, gamma: str) -> Any:
    return _moments_at(kink, mpmath.mpf(gamma))[1]


def _predict_length(*, kink: str, gamma: str) -> float:
    return lengths.normrelu_length(float(gamma), float(kink))


def _predict_length_map(*, kink: str, gamma: str) -> float:
    return act.normrelu(float(kink)).length_map(float(gamma))


def _wrong_length(*, kink: str, gamma: str) -> float:
    # The kink moved with the input's scale: c instead of c / s gives gamma itself.
    return float(gamma)


def _measure_length_slope(*, kink: str, gamma: str) -> Any:
    # Central difference: h^2 times the third derivative is 1e-36, rounding 1e-45/h.
    with mpmath.workdps(60):
        g, h = mpmath.mpf(gamma), mpmath.mpf("1e-18")
        high, low = _moments_at(kink, g + h)[1], _moments_at(kink, g - h)[1]
        return (high - low) / (2 * h)


def _predict_length_slope(*, kink: str, gamma: str) -> float:
    return lengths.normrelu_length_slope(float(gamma), float(kink))


def _wrong_length_slope(*, kink: str, gamma: str) -> float:
    # The slope of a positively homogeneous activation: length / gamma.
    return lengths.normrelu_length(float(gamma), float(kink)) / float(gamma)


def _measure_bias(*, kink: str, gamma: str) -> Any:
    mean, length = _moments_at(kink, mpmath.mpf(gamma))
    with mpmath.workdps(60):
        return mean * mean / length


def _predict_bias(*, kink: str, gamma: str) -> float:
    return lengths.normrelu_bias(float(gamma), float(kink))


def _wrong_bias(*, kink: str, gamma: str) -> float:
    # Without the division by the squared length.
    g, c = float(gamma), float(kink)
    return lengths.normrelu_bias(g, c) * lengths.normrelu_length(g, c)


# --- Fact 1 of appendix I, on boxes of (gamma, c) -------------------------------------
#
# With s = sqrt(gamma), t = c/s, m(gamma) = E s_c(sqrt(gamma) X) / lambda and
# q(gamma) = length / lambda^2, Stein's lemma gives each derivative in closed form; the
# tests compare them with Taylor jets of m and q. The factor lambda^2 > 0 is put back
# where a value is wanted and left out where only a sign is.


def _upper(x: Any) -> Any:
    """P(X > x)."""
    return (x / flint.arb(2).sqrt()).erfc() / 2


def _density(x: Any) -> Any:
    return (-x * x / 2).exp() / (2 * flint.arb.pi()).sqrt()


def _shift(c: Any) -> Any:
    return c * _upper(c) - _density(c)


def _inverse_scale_squared(c: Any) -> Any:
    b = _shift(c)
    return (1 + c * c) * _upper(c) - c * _density(c) - b * b


def _mean_jet(gamma: Any, c: Any) -> tuple[Any, Any, Any]:
    """Return m and its first two derivatives in gamma."""
    s = gamma.sqrt()
    t = c / s
    density = _density(t)
    return (
        s * density - c * _upper(t) + _shift(c),
        density / (2 * s),
        density * (t * t - 1) / (4 * gamma * s),
    )


def _length_jet(gamma: Any, c: Any) -> tuple[Any, Any, Any]:
    """Return q and its first two derivatives in gamma."""
    s = gamma.sqrt()
    t, b = c / s, _shift(c)
    density, upper = _density(t), _upper(t)
    one = s * density - c * upper
    return (
        (gamma + c * c) * upper - c * s * density + 2 * b * one + b * b,
        upper + b * density / s,
        density / (2 * gamma) * (t + b * (t * t - 1) / s),
    )


def _length_slope(gamma: Any, c: Any) -> Any:
    return ratio(_length_jet(gamma, c)[1], _inverse_scale_squared(c))


def _length_curvature(gamma: Any, c: Any) -> Any:
    return ratio(_length_jet(gamma, c)[2], _inverse_scale_squared(c))


def _bias_curvature(gamma: Any, c: Any) -> Any:
    m, m1, m2 = _mean_jet(gamma, c)
    q, q1, q2 = _length_jet(gamma, c)
    # (m^2/q)'' over a common denominator.
    top = 2 * (m1 * m1 + m * m2) * q * q - (4 * m1 * q1 * q + m * q2 * q) * m
    return ratio(top + 2 * m * m * q1 * q1, q**3)


def _square_curvature(gamma: Any, c: Any) -> Any:
    """Second derivative of (E s)^2, not divided by the squared length."""
    m, m1, m2 = _mean_jet(gamma, c)
    return ratio(2 * (m1 * m1 + m * m2), _inverse_scale_squared(c))


def _rest_share(gamma: Any, c: Any) -> Any:
    """1 - (a_0^2 + a_1^2)/q."""
    m, q = _mean_jet(gamma, c)[0], _length_jet(gamma, c)[0]
    return 1 - ratio(m * m + gamma * _upper(c / gamma.sqrt()) ** 2, q)


def _box(kinks: list[float]) -> Box:
    return (0.5, 1.5), (kinks[0], kinks[1])


def _words(kinks: list[float]) -> str:
    low, high = kinks
    which = f"c = {low!r}" if low == high else f"every c in [{low}, {high}]"
    return f"every gamma in [1/2, 3/2], {which}"


def _extremum(find: Callable[..., Any], function: Any, kinks: list[float]) -> Enclosure:
    # One kink: to the last digits. A range of kinks: until the sign is known.
    point = kinks[0] == kinks[1]
    cover = find(
        function,
        _box(kinks),
        gradient=(partial(function, 0), partial(function, 1)),
        tolerance=1e-12,
        target=None if point else 0.0,
    )
    return cover.enclosure(_words(kinks))


def _measure_monotone(*, kinks: list[float]) -> Enclosure:
    return _extremum(minimum, _length_slope, kinks)


def _measure_concave(*, kinks: list[float]) -> Enclosure:
    return _extremum(maximum, _length_curvature, kinks)


def _measure_convex(*, kinks: list[float]) -> Enclosure:
    return _extremum(minimum, _bias_curvature, kinks)


def _measure_square_curvature(*, kinks: list[float]) -> Enclosure:
    return _extremum(minimum, _square_curvature, kinks)


def _measure_rest(*, kinks: list[float]) -> Enclosure:
    return _extremum(minimum, _rest_share, kinks)


def _predict_monotone(*, kinks: list[float]) -> float:
    # Concave, so the slope is least at 3/2. Rounded down by its float64 accuracy.
    if kinks[0] < kinks[1]:
        return 0.0
    return lengths.normrelu_length_slope(1.5, kinks[0]) - 1e-12


def _wrong_monotone(*, kinks: list[float]) -> float:
    # A few parts in 1e9 too large for one kink; the slope at 1/2 for a range.
    return 0.8 if kinks[0] < kinks[1] else _predict_monotone(kinks=kinks) + 4e-9


def _predict_nought(**_: Any) -> float:
    return 0.0


def _wrong_concave(*, kinks: list[float]) -> float:
    # More concave than it is at gamma = 3/2, by 1e-6.
    return {_STAR: -0.1392298, _PUBLISHED: -0.1398068}.get(kinks[0], -0.01)


def _concave_limit(**_: Any) -> float:
    return 0.0147


def _wrong_concave_limit(**_: Any) -> float:
    return 0.0148


def _convex_limit(**_: Any) -> float:
    return -3e-6


def _wrong_convex_limit(**_: Any) -> float:
    return -4e-6


def _wrong_convex(*, kinks: list[float]) -> float:
    return {_STAR: 0.005319, _PUBLISHED: 0.0052522}.get(kinks[0], 2e-3) * (1 + 1e-3)


def _quotient_of_bias(gamma: Any, c: Any) -> Any:
    """beta(gamma)/(gamma - 1)^2, regular at gamma = 1 because m(1) = 0."""
    # The mean value theorem on the hull, by the closed form of m': tighter than a jet.
    m = _mean_jet(gamma.union(flint.arb(1)), c)[1]
    if not (gamma - 1).contains(flint.arb(0)):
        m = m.intersection(_mean_jet(gamma, c)[0] / (gamma - 1))
    return ratio(m**2, _length_jet(gamma, c)[0])


def _measure_minimum(*, kinks: list[float]) -> Enclosure:
    target = None if kinks[0] == kinks[1] else 0.0
    cover = minimum(_quotient_of_bias, _box(kinks), tolerance=1e-11, target=target)
    return cover.enclosure(_words(kinks))


def _predict_minimum(*, kinks: list[float]) -> float:
    if kinks[0] < kinks[1]:
        return 0.0
    return 4.0 * lengths.normrelu_bias(1.5, kinks[0]) - 2e-11


def _wrong_minimum(*, kinks: list[float]) -> float:
    # The quotient at the other end.
    return 4.0 * lengths.normrelu_bias(0.5, kinks[0])


def _measure_alpha(*, kinks: list[float]) -> Enclosure:
    # |q(gamma) - q(1)| / |gamma - 1|; q(1) = 1/lambda^2 exactly.
    def chord(gamma: Any, c: Any) -> Any:
        def rise(g: Any, k: Any) -> Any:
            return _length_jet(g, k)[0] - _inverse_scale_squared(k)

        return ratio(
            quotient(rise, flint.arb(1), 1)(gamma, c), _inverse_scale_squared(c)
        )

    return maximum(chord, _box(kinks), tolerance=1e-11).enclosure(_words(kinks))


def _predict_alpha(*, kinks: list[float]) -> float:
    return lengths.chord_rate(act.normrelu(kinks[0])) + 2e-11


def _wrong_alpha(*, kinks: list[float]) -> float:
    return lengths.chord_rate(act.normrelu(kinks[0])) - 1e-9


def _measure_beta(*, kinks: list[float]) -> Enclosure:
    def chord(gamma: Any, c: Any) -> Any:
        return abs(gamma - 1) * _quotient_of_bias(gamma, c)

    return maximum(chord, _box(kinks), tolerance=1e-12).enclosure(_words(kinks))


def _predict_beta(*, kinks: list[float]) -> float:
    decay = lengths.normrelu_decay(0.5, 1.5, 1.0, act.normrelu(kinks[0]))
    return decay.beta + 2e-12


def _wrong_beta(*, kinks: list[float]) -> float:
    # The other end's chord: 2 beta(3/2).
    return 2.0 * lengths.normrelu_bias(1.5, kinks[0])


def _predict_square_curvature(*, kinks: list[float]) -> float:
    # The specification's figure for c*, at gamma = 1/2, rounded down.
    return -0.0030662


def _predict_rest(*, kinks: list[float]) -> float:
    return lengths.rest_share(act.normrelu(kinks[0]), 0.5) - 1e-11


def _wrong_rest(*, kinks: list[float]) -> float:
    # The share at gamma = 1, the coefficient of non-linearity itself.
    return lengths.rest_share(act.normrelu(kinks[0]), 1.0)


# --- the scale grows with the kink (uniqueness in Eq. 4) ------------------------------


def _growth_of_scale(c: Any) -> Any:
    """(d log lambda / dc) / Phi(c) = -lambda^2 b."""
    return ratio(-_shift(c), _inverse_scale_squared(c))


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


def _wrong_increasing(**_: Any) -> float:
    # The value at c = 0, ReLU: sqrt(2 pi) / (pi - 1).
    return math.sqrt(2.0 * math.pi) / (math.pi - 1.0)


# --- Theorem I.1 and Eq. 28 -----------------------------------------------------------


def _measure_eq28(*, kink: str, which: str) -> Any:
    with mpmath.workdps(50):
        if which == "alpha":
            return 2 * (1 - _measure_length(kink=kink, gamma="0.5"))
        return 2 * max(_measure_bias(kink=kink, gamma=g) for g in ("0.5", "1.5"))


def _predict_eq28(*, kink: str, which: str) -> float:
    a = act.normrelu(float(kink))
    return getattr(lengths.normrelu_decay(0.5, 1.5, 1.0, a), which)


def _wrong_eq28(*, kink: str, which: str) -> float:
    return _predict_eq28(kink=kink, which=which) / 2.0


def _centred_product(kink: str, gamma: tuple[Any, Any], rho: Any) -> Any:
    """E s(sqrt(gamma_x) X) s(sqrt(gamma_y) Y) of the unit NormReLU."""
    x, y = (integrals.Pieces(1, (0, 0), (kink,), (1,), variance=g) for g in gamma)
    constants = _constants(kink)
    with mpmath.workdps(60):
        scale, shift = constants["scale"], constants["shift"]
        both = x.dual(rho, y)
        means = x.coefficient(0) + y.coefficient(0)
        return scale**2 * (both + shift * means + shift * shift)


@lru_cache(maxsize=32)
def _correlations(
    kink: str, gamma_x: float, gamma_y: float, rho: float, depth: int
) -> tuple[Any, ...]:
    with mpmath.workdps(60):
        x, y, r = mpmath.mpf(gamma_x), mpmath.mpf(gamma_y), mpmath.mpf(rho)
        out: list[Any] = []
        for _ in range(depth):
            product = _centred_product(kink, (x, y), r)
            x, y = _moments_at(kink, x)[1], _moments_at(kink, y)[1]
            r = product / mpmath.sqrt(x * y)
            out.append(r)
        return tuple(out)


def _measure_decay(**case: Any) -> list[float]:
    return [abs(float(r)) for r in _correlations(**case)]


def _decay(gamma_x: float, gamma_y: float, rho: float, kink: str) -> Any:
    a = act.normrelu(float(kink))
    return lengths.normrelu_decay(gamma_x, gamma_y, 1.0 - abs(rho), a)


def _predict_decay(
    *, kink: str, gamma_x: float, gamma_y: float, rho: float, depth: int
) -> list[float]:
    decay = _decay(gamma_x, gamma_y, rho, kink)
    return [decay.bound(rho, layer) for layer in range(1, depth + 1)]


def _wrong_decay(
    *, kink: str, gamma_x: float, gamma_y: float, rho: float, depth: int
) -> list[float]:
    # Without the bias of lengths that are not one.
    rate = _decay(gamma_x, gamma_y, rho, kink).rate
    return [rate**layer * abs(rho) for layer in range(1, depth + 1)]


def _measure_trajectory(**case: Any) -> list[Any]:
    return list(_correlations(**case))


def _predict_trajectory(
    *, kink: str, gamma_x: float, gamma_y: float, rho: float, depth: int
) -> list[float]:
    a = act.normrelu(float(kink))
    trajectory = lengths.joint_trajectory(a, gamma_x, gamma_y, rho, depth)
    return [float(r) for r in trajectory[2][1:]]


def _wrong_trajectory(
    *, kink: str, gamma_x: float, gamma_y: float, rho: float, depth: int
) -> list[float]:
    # As if both lengths were one.
    out, r, a = [], rho, act.normrelu(float(kink))
    for _ in range(depth):
        r = a.dual(r)
        out.append(r)
    return out


def _predict_never_increases(
    *, kink: str, gamma_x: float, gamma_y: float, rho: float, depth: int
) -> list[float]:
    return [abs(rho)] * depth


# --- where lengths converge (E1, E12) -------------------------------------------------


def _measure_trajectory_length(*, kink: str, gamma: float, depth: int) -> Any:
    # The closed form of I.len at 50 digits, which dc/I.len ties to the integrals.
    with mpmath.workdps(50):
        c, g = mpmath.mpf(kink), mpmath.mpf(gamma)
        upper = mpmath.ncdf(-c)
        b = c * upper - mpmath.npdf(c)
        variance = (1 + c * c) * upper - c * mpmath.npdf(c) - b * b
        for _ in range(depth):
            g = _closed_length(c, b, g) / variance
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


def _predict_converged(**_: Any) -> float:
    return 1.0


def _unstable(*, kink: str) -> Any:
    with mpmath.workdps(50):
        c = mpmath.mpf(kink)
        upper = mpmath.ncdf(-c)
        b = c * upper - mpmath.npdf(c)
        variance = (1 + c * c) * upper - c * mpmath.npdf(c) - b * b

        def excess(log: Any) -> Any:
            g = mpmath.exp(log)
            return (_closed_length(c, b, g) / variance - g) / (g - 1)

        return mpmath.exp(
            mpmath.findroot(
                excess, (mpmath.mpf("0.05"), mpmath.mpf(9)), solver="anderson"
            )
        )


def _measure_alpha_of(*, activation: str) -> Any:
    """2 (1 - E s(sqrt(1/2) X)^2 / E s(X)^2), from the definition."""
    whole = integrals.PIECES[activation]
    half = replace(whole, variance="0.5")
    with mpmath.workdps(50):
        return 2 * (1 - half.dual(1) / whole.dual(1))


def _predict_contracts(**_: Any) -> float:
    # alpha < 1, read as below it by a thousandth at least.
    return 0.999


def _predict_alpha_of(*, activation: str) -> float:
    a = subject(activation)
    return 2.0 * (1.0 - a.length_map(0.5) / a.second_moment)


def _measure_unstable(*, kink: str) -> Any:
    return _unstable(kink=kink)


def _predict_unstable(*, kink: str) -> float:
    return lengths.unstable_length(float(kink))


def _wrong_unstable(*, kink: str) -> float:
    return lengths.unstable_length(float(kink) + 0.01)


def _measure_growth(*, kinks: list[float]) -> Enclosure:
    r"""Enclose min (length(gamma)/gamma - 1) / (1 - v)^2 over gamma >= 1, c = 0.

    v = 1/sqrt(gamma) turns the unbounded range into [0, 1]: for c = 0 the quotient is
    lambda^2 (1/2 + 2 b phi(0) v + b^2 v^2) - 1, with a double zero at v = 1.
    """

    def excess(v: Any) -> Any:
        b = _shift(flint.arb(0))
        density = _density(flint.arb(0))
        square = (v * b + 2 * density) * (v * b) + flint.arb(1) / 2
        return square / _inverse_scale_squared(flint.arb(0)) - 1

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
    return _predict_growth() * 1.01


_KINKS = ("-30", "-8", "-4", "-1.5975", "-1", "0", "0.5", "3", "8", "30")
_ONE_KINK = ([_STAR, _STAR], [_PUBLISHED, _PUBLISHED])
_ALL_KINKS = (*_ONE_KINK, list(_RANGE))
_STAR_TEXT = "-1.5907658564412685"
_BOXES = ("gamma in [1/2, 3/2]", "Ball arithmetic (Arb) of 160 bits")

CLAIMS = (
    Claim(
        id="dc/eq4",
        items=("Eq4",),
        title="NormReLU's scale, shift, non-linearity and slope for any kink",
        statement=r"\sigma_c(x) = \lambda [\max(x - c, 0) + b],\quad"
        r" b = c\Phi(-c) - \varphi(c),\quad"
        r" \lambda^{-2} = (1 + c^2)\Phi(-c) - c\varphi(c) - b^2,\quad"
        r" \mu = 1 - \lambda^2 \Phi(-c)^2,\quad D = \lambda^2 \Phi(-c)",
        source=Source(_KEY, "Section 2, Eq. 4"),
        evidence=Evidence.NUMERIC,
        cases=grid(constant=("scale", "shift", "mu", "slope"), kink=_KINKS),
        predict=_predict_constant,
        measure=_measure_constant,
        # The library's promise for every kink in [-30, 30].
        compare=AgreesTo(relative=1e-13),
        must_refute=_wrong_kink,
    ),
    Claim(
        id="dc/eq4-kink",
        items=("Eq4", "E10"),
        title="The kink at which NormReLU's scale is a given number, to the last digit",
        statement=r"\lambda(c) = \lambda_{\mathrm{SELU}} = 1.0507009873554805"
        r" \iff c = -1.59076585644126852193\ldots",
        source=Source(_KEY, "Section 2, choice of c"),
        evidence=Evidence.NUMERIC,
        cases=grid(scale=(_SELU, "1.05", "1.2", "2")),
        predict=_predict_kink,
        measure=_measure_kink,
        # The kink is the float64 next to the root: 2^-53 relative.
        compare=AgreesTo(relative=2.0**-53),
        must_refute=_wrong_scale,
        figure="normrelu_selu",
        finding=(
            "The last digit needs the decimal itself: its float64 is 9e-17 off, which"
            " moves the kink by 8e-16."
        ),
    ),
    Claim(
        id="dc/eq4-increasing",
        items=("Eq4",),
        title="NormReLU's scale grows with the kink: a scale fixes it (certified)",
        statement=r"\frac{d \log\lambda}{dc} = -\lambda^2 b\, \Phi(c)"
        r" \ge 1.155\, \Phi(c) > 0,\quad c \in \mathbb{R}",
        source=Source(_KEY, "Section 2, choice of c"),
        evidence=Evidence.CERTIFICATE,
        cases=({},),
        predict=_predict_increasing,
        measure=_measure_increasing,
        compare=CertifiedAtLeast(),
        must_refute=_wrong_increasing,
        assumptions=("Ball arithmetic (Arb) of 160 bits on [-2, 3]",),
        uses=("dc/eq4",),
    ),
    Claim(
        id="dc/I.dual",
        items=("I.dual",),
        title="NormReLU's dual activation, every kink, ends included",
        statement=r"\hat\sigma(\rho) = \lambda^2 \left[\rho \Phi(-c)^2 + \frac{1}{2\pi}"
        r" \int_0^{\arcsin\rho} (\rho - \sin u) e^{-c^2/(1 + \sin u)} du\right]",
        source=Source(_KEY, "Appendix I (closed form ours)"),
        evidence=Evidence.NUMERIC,
        cases=grid(
            kink=("-3", "-1.5975", "-1", "0", "0.5", "2"),
            rho=("-1", "-0.875", "-0.5", "0", "0.25", "0.9", "0.9999", "1"),
        ),
        predict=_predict_dual,
        measure=_measure_dual,
        # The library's promise, relative to the dual's value one at rho = 1.
        compare=AgreesTo(relative=1e-13, absolute=1e-14),
        must_refute=_wrong_dual,
    ),
    Claim(
        id="dc/I.dual-slope",
        items=("I.dual",),
        title="The slope of NormReLU's dual is the dual of its derivative",
        statement=r"\hat\sigma'(\rho) = \lambda^2 \left[\Phi(-c)^2 + \frac{1}{2\pi}"
        r" \int_0^{\arcsin\rho} e^{-c^2/(1 + \sin u)} du\right]",
        source=Source(_KEY, "Appendix I (closed form ours)"),
        evidence=Evidence.NUMERIC,
        cases=grid(
            kink=("-3", "-1.5975", "0", "2"),
            rho=("-1", "-0.5", "0", "0.25", "0.9999", "1"),
        ),
        predict=_predict_dual_slope,
        measure=_measure_dual_slope,
        compare=AgreesTo(relative=1e-13, absolute=1e-14),
        must_refute=_wrong_dual_slope,
    ),
    Claim(
        id="dc/I.dual-formula",
        items=("I.dual",),
        title="The single integral equals the double one to 35 digits",
        statement=r"\lambda^2 \left[\rho \Phi(-c)^2 + \frac{1}{2\pi}"
        r" \int_0^{\arcsin\rho} (\rho - \sin u) e^{-c^2/(1 + \sin u)} du\right]"
        r" = E\,\sigma_c(X)\sigma_c(Y)",
        source=Source(_KEY, "Appendix I (closed form ours)"),
        evidence=Evidence.NUMERIC,
        cases=grid(
            kink=("-1.5975", "0", "2"),
            rho=("-1", "-0.875", "-0.5", "0.25", "0.9375", "1"),
        ),
        predict=_predict_formula,
        measure=_measure_dual,
        # 40 digits of quadrature on pieces where the integrand is analytic; at rho = -1
        # and c = 0 it is a trigonometric polynomial.
        compare=AgreesTo(absolute=1e-35),
        must_refute=_wrong_formula,
    ),
    Claim(
        id="dc/I.len",
        items=("I.len",),
        title="NormReLU's length map in closed form",
        statement=r"\hat\sigma_0(\gamma) = \lambda^2[(\gamma + c^2)\Phi(-c/s)"
        r" - cs\varphi(c/s) + 2b(s\varphi(c/s) - c\Phi(-c/s)) + b^2],\quad"
        r" s = \sqrt\gamma",
        source=Source(_KEY, "Appendix I"),
        evidence=Evidence.NUMERIC,
        cases=grid(
            kink=("-1.5975", "-1", "0", "2"), gamma=("0.03125", "0.5", "1", "1.5", "10")
        ),
        predict=_predict_length,
        measure=_measure_length,
        # Sums of three terms of one size with float64 tail moments: 1e-14 each.
        compare=AgreesTo(relative=1e-13),
        must_refute=_wrong_length,
        figure="length_maps",
    ),
    Claim(
        id="dc/I.len-map",
        items=("I.len",),
        title="The activation's own length map is the same function",
        statement=r"E\,\sigma_c(\sqrt\gamma X)^2 = \hat\sigma_0(\gamma)",
        source=Source(_KEY, "Appendix I"),
        evidence=Evidence.NUMERIC,
        cases=grid(kink=("-1.5975", "0", "2"), gamma=("0.5", "1", "1.5", "10")),
        predict=_predict_length_map,
        measure=_measure_length,
        compare=AgreesTo(relative=1e-13),
        must_refute=_wrong_length,
    ),
    Claim(
        id="dc/I.len-slope",
        items=("I.len",),
        title="The slope of NormReLU's length map in closed form",
        statement=r"\hat\sigma_0'(\gamma) = \lambda^2[\Phi(-c/s) + b\varphi(c/s)/s]",
        source=Source(_KEY, "Appendix I"),
        evidence=Evidence.NUMERIC,
        cases=grid(kink=("-1.5975", "0", "2"), gamma=("0.5", "1", "1.5", "10")),
        predict=_predict_length_slope,
        measure=_measure_length_slope,
        compare=AgreesTo(relative=1e-13),
        must_refute=_wrong_length_slope,
    ),
    Claim(
        id="dc/fact1-monotone",
        items=("Fact1",),
        title="NormReLU's length map is increasing (certified)",
        statement=r"\hat\sigma_0'(\gamma) \ge \hat\sigma_0'(3/2) > 0,\quad"
        r" \gamma \in [1/2, 3/2]",
        source=Source(_KEY, "Appendix I, Fact 1"),
        evidence=Evidence.CERTIFICATE,
        cases=grid(kinks=_ALL_KINKS),
        predict=_predict_monotone,
        measure=_measure_monotone,
        compare=CertifiedAtLeast(),
        must_refute=_wrong_monotone,
        assumptions=_BOXES,
        uses=("dc/I.len", "dc/I.len-slope"),
        finding="Proved for every kink in [-1.9, -0.6], not only the paper's.",
    ),
    Claim(
        id="dc/fact1-concave",
        items=("Fact1",),
        title="NormReLU's length map is concave (certified)",
        statement=r"\hat\sigma_0''(\gamma) \le 0,\quad \gamma \in [1/2, 3/2]",
        source=Source(_KEY, "Appendix I, Fact 1"),
        evidence=Evidence.CERTIFICATE,
        cases=grid(kinks=_ALL_KINKS),
        predict=_predict_nought,
        measure=_measure_concave,
        compare=CertifiedAtMost(),
        must_refute=_wrong_concave,
        assumptions=_BOXES,
        uses=("dc/I.len",),
        finding=(
            "Proved for every kink in [-1.9, -0.6]. It fails at c = -0.5, where the"
            " second derivative at gamma = 3/2 is 0.0147: dc/fact1-concave-limit."
        ),
    ),
    Claim(
        id="dc/fact1-concave-limit",
        items=("Fact1",),
        title="Concavity is no fact of every negative kink: it fails at c = -1/2",
        statement=r"\max_{\gamma \in [1/2, 3/2]} \hat\sigma_0''(\gamma) \ge 0.0147 > 0,"
        r"\quad c = -\tfrac12",
        source=Source(_KEY, "Appendix I, Fact 1 (its limits)"),
        evidence=Evidence.CERTIFICATE,
        cases=grid(kinks=([-0.5, -0.5],)),
        predict=_concave_limit,
        measure=_measure_concave,
        compare=CertifiedAtLeast(),
        must_refute=_wrong_concave_limit,
        assumptions=_BOXES,
        finding="Fact 1 needs a kink below about -0.59.",
    ),
    Claim(
        id="dc/fact1-convex-limit",
        items=("Fact1",),
        title="Convexity of the bias fails for kinks far below the paper's: c = -5/2",
        statement=r"\min_{\gamma \in [1/2, 3/2]} \beta''(\gamma) \le -3 \cdot 10^{-6},"
        r"\quad c = -\tfrac52",
        source=Source(_KEY, "Appendix I, Fact 1 (its limits)"),
        evidence=Evidence.CERTIFICATE,
        cases=grid(kinks=([-2.5, -2.5],)),
        predict=_convex_limit,
        measure=_measure_convex,
        compare=CertifiedAtMost(),
        must_refute=_wrong_convex_limit,
        assumptions=_BOXES,
        finding="Fact 1 needs a kink above about -2.3.",
    ),
    Claim(
        id="dc/fact1-convex",
        items=("Fact1", "E9"),
        title="NormReLU's bias function is convex (certified)",
        statement=r"\beta''(\gamma) \ge 0,\quad"
        r" \beta(\gamma) = \frac{(E\,\sigma(\sqrt\gamma X))^2}{\hat\sigma_0(\gamma)},"
        r"\quad \gamma \in [1/2, 3/2]",
        source=Source(_KEY, "Appendix I, Fact 1"),
        evidence=Evidence.CERTIFICATE,
        cases=grid(kinks=_ALL_KINKS),
        predict=_predict_nought,
        measure=_measure_convex,
        compare=CertifiedAtLeast(),
        must_refute=_wrong_convex,
        assumptions=_BOXES,
        uses=("dc/I.len", "dc/eq28-bias"),
        finding=(
            "Proved for every kink in [-1.9, -0.6], of the bias divided by the squared"
            " length; of the undivided one it is false (dc/E9-as-printed)."
        ),
    ),
    Claim(
        id="dc/fact1-minimum",
        items=("Fact1",),
        title="The bias vanishes at gamma = 1 and only there (certified)",
        statement=r"\beta(\gamma) \ge 4 \beta(3/2) (\gamma - 1)^2,\quad \beta(1) = 0,"
        r"\quad \gamma \in [1/2, 3/2]",
        source=Source(_KEY, "Appendix I, Fact 1 (with a constant)"),
        evidence=Evidence.CERTIFICATE,
        cases=grid(kinks=_ALL_KINKS),
        predict=_predict_minimum,
        measure=_measure_minimum,
        compare=CertifiedAtLeast(),
        must_refute=_wrong_minimum,
        assumptions=(*_BOXES, "a range of kinks: only that the quotient is positive"),
        uses=("dc/eq28-bias",),
    ),
    Claim(
        id="dc/fact1-alpha",
        items=("Fact1", "Eq28"),
        title="Lengths contract at the rate alpha_1 towards one (certified)",
        statement=r"|\hat\sigma_0(\gamma) - 1| \le \alpha_1 |\gamma - 1|,\quad"
        r" \alpha_1 = 2(1 - \hat\sigma_0(1/2)) < 1",
        source=Source(_KEY, "Appendix I, Fact 1 and Eq. 28"),
        evidence=Evidence.CERTIFICATE,
        cases=grid(kinks=_ONE_KINK),
        predict=_predict_alpha,
        measure=_measure_alpha,
        compare=CertifiedAtMost(),
        must_refute=_wrong_alpha,
        assumptions=_BOXES,
        uses=("dc/I.len",),
    ),
    Claim(
        id="dc/fact1-beta",
        items=("Fact1", "Eq28"),
        title="The bias is at most beta_0 times the distance from one (certified)",
        statement=r"\beta(\gamma) \le \beta_0 |\gamma - 1|,\quad"
        r" \beta_0 = 2 \max(\beta(1/2), \beta(3/2))",
        source=Source(_KEY, "Appendix I, Fact 1 and Eq. 28"),
        evidence=Evidence.CERTIFICATE,
        cases=grid(kinks=_ONE_KINK),
        predict=_predict_beta,
        measure=_measure_beta,
        compare=CertifiedAtMost(),
        must_refute=_wrong_beta,
        assumptions=_BOXES,
        uses=("dc/eq28-bias",),
    ),
    Claim(
        id="dc/eq28",
        items=("Eq28",),
        title="The constants alpha_1 and beta_0",
        statement=r"\alpha_1 = 2(1 - \hat\sigma_0(1/2)),\quad"
        r" \beta_0 = 2\max(\beta(1/2), \beta(3/2))",
        source=Source(_KEY, "Appendix I, Eq. 28"),
        evidence=Evidence.NUMERIC,
        cases=grid(kink=(_STAR_TEXT, "-1.5975"), which=("alpha", "beta")),
        predict=_predict_eq28,
        measure=_measure_eq28,
        # beta is the square of a mean of 0.02, a difference of numbers near 1.6 known
        # to 4e-16: relative error 2 * 80 * 4e-16.
        compare=AgreesTo(relative=1e-13),
        must_refute=_wrong_eq28,
    ),
    Claim(
        id="dc/eq28-bias",
        items=("Eq28", "I.len"),
        title="The bias function's values",
        statement=r"\beta(\gamma) = \frac{(E\,\sigma_c(\sqrt\gamma X))^2}"
        r"{\hat\sigma_0(\gamma)}",
        source=Source(_KEY, "Appendix I, Eq. 28"),
        evidence=Evidence.NUMERIC,
        cases=grid(
            kink=(_STAR_TEXT, "-1.5975", "0"), gamma=("0.5", "0.75", "1.5", "4")
        ),
        predict=_predict_bias,
        measure=_measure_bias,
        # As for beta_0; at gamma = 3/4 the mean is half as large.
        compare=AgreesTo(relative=1e-13),
        must_refute=_wrong_bias,
    ),
    Claim(
        id="dc/thmI.1",
        items=("ThmI.1",),
        title="NormReLU drives correlations down from inputs of unequal length",
        statement=r"|\rho_L| \le q^L |\rho_0| + \beta_0 t_0"
        r" \sum_{i<L} \alpha_1^i q^{L-1-i},\quad q = 1 - \mu_-(\delta - S)",
        source=Source(_KEY, "Theorem I.1 (constants ours)"),
        evidence=Evidence.NUMERIC,
        cases=(
            *grid(
                kink=(_STAR_TEXT,),
                gamma_x=(0.5,),
                gamma_y=(0.5, 1.5),
                rho=(0.5, 0.0, -0.9),
                depth=(10,),
            ),
            {
                "kink": "-1.5975",
                "gamma_x": 1.5,
                "gamma_y": 1.0,
                "rho": 0.9,
                "depth": 10,
            },
        ),
        predict=_predict_decay,
        measure=_measure_decay,
        # The first step from rho = 0 and equal lengths attains the bias exactly: the
        # bound's own rounding, as of beta_0.
        compare=AtMost(rounding=1e-15, relative=1e-13),
        must_refute=_wrong_decay,
        uses=("dc/fact1-alpha", "dc/fact1-beta", "dc/thmI.1-rest"),
    ),
    Claim(
        id="dc/thmI.1-rest",
        items=("ThmI.1",),
        title="The least share of energy beyond the linear part (certified)",
        statement=r"1 - \frac{a_0(\gamma)^2 + a_1(\gamma)^2}{\hat\sigma_0(\gamma)}"
        r" \ge \mu_-,\quad \mu_- \text{ its value at } \gamma = 1/2",
        source=Source(_KEY, "Theorem I.1 (constants ours)"),
        evidence=Evidence.CERTIFICATE,
        cases=grid(kinks=_ONE_KINK),
        predict=_predict_rest,
        measure=_measure_rest,
        compare=CertifiedAtLeast(),
        must_refute=_wrong_rest,
        assumptions=_BOXES,
    ),
    Claim(
        id="dc/thmI.1-trajectory",
        items=("ThmI.1", "I.len"),
        title="Correlations of inputs of unequal length, layer by layer",
        statement=r"\rho_{l+1} = \frac{E\,\sigma(\sqrt{\gamma_x} X)"
        r"\sigma(\sqrt{\gamma_y} Y)}"
        r"{\sqrt{\hat\sigma_0(\gamma_x)\hat\sigma_0(\gamma_y)}}",
        source=Source(_KEY, "Appendix I"),
        evidence=Evidence.NUMERIC,
        cases=grid(
            kink=(_STAR_TEXT,),
            gamma_x=(0.5,),
            gamma_y=(0.5, 1.5),
            rho=(0.5, 0.0, -0.9),
            depth=(10,),
        ),
        predict=_predict_trajectory,
        measure=_measure_trajectory,
        # Each layer adds the dual's 1e-14; ten of them, correlations contract.
        compare=AgreesTo(absolute=1e-13),
        must_refute=_wrong_trajectory,
    ),
    Claim(
        id="dc/E9-as-printed",
        items=("E9", "Fact1"),
        title="The squared mean itself is convex (the literal reading of Fact 1)",
        statement=r"\frac{d^2}{d\gamma^2} (E\,\sigma_c(\sqrt\gamma X))^2 \ge 0,\quad"
        r" \gamma \in [1/2, 3/2]",
        source=Source(_KEY, "Appendix I, Fact 1"),
        evidence=Evidence.CERTIFICATE,
        cases=grid(kinks=_ONE_KINK),
        predict=_predict_nought,
        measure=_measure_square_curvature,
        compare=CertifiedAtLeast(),
        must_hold=_predict_square_curvature,
        expected=Outcome.REFUTED,
        assumptions=_BOXES,
        finding=(
            "At gamma = 1/2 the second derivative is -0.0030661. Dividing by the"
            " squared length, as the normalised dot product does, restores convexity:"
            " dc/fact1-convex."
        ),
    ),
    Claim(
        id="dc/E10-as-printed",
        items=("E10", "Eq4"),
        title="The kink -1.5975 has SELU's scale (as read)",
        statement=r"\lambda(-1.5975) = 1.0507009873554805",
        source=Source(_KEY, "Section 2, choice of c"),
        evidence=Evidence.NUMERIC,
        cases=grid(scale=(_SELU,)),
        predict=_published_kink,
        measure=_measure_kink,
        # Half a unit of the last printed digit.
        compare=AgreesTo(absolute=5e-5),
        must_hold=_predict_kink,
        expected=Outcome.REFUTED,
        finding="SELU's scale needs c = -1.590766; -1.5975 belongs to the scale 1.05.",
    ),
    Claim(
        id="dc/E10-corrected",
        items=("E10",),
        title="The kink -1.5975 is that of the scale 1.05",
        statement=r"\lambda(c) = 1.05 \iff c = -1.59750936764707\ldots",
        source=Source(_KEY, "Section 2, choice of c"),
        evidence=Evidence.NUMERIC,
        cases=grid(scale=("1.05",)),
        predict=_published_kink,
        measure=_measure_kink,
        compare=AgreesTo(absolute=5e-5),
        must_refute=_star_kink,
    ),
    Claim(
        id="dc/E11-as-printed",
        items=("E11",),
        title="Normalised dot products never increase (as printed)",
        statement=r"|\rho_{l+1}| \le |\rho_l|",
        source=Source(_KEY, "Section 3.3"),
        evidence=Evidence.NUMERIC,
        cases=({"kink": "0", "gamma_x": 0.5, "gamma_y": 0.5, "rho": 0.0, "depth": 1},),
        predict=_predict_never_increases,
        measure=_measure_decay,
        compare=AtMost(rounding=1e-13),
        must_hold=_predict_trajectory,
        expected=Outcome.REFUTED,
        finding=(
            "Only odd activations have it. NormReLU with kink 0 maps orthogonal inputs"
            " of squared length 1/2 to correlation 0.0741723."
        ),
    ),
    Claim(
        id="dc/E1-as-printed",
        items=("E1",),
        title="Lengths contract for monotone activations with s(0) = 0 (as printed)",
        statement=r"\alpha_\sigma = 2(1 - \hat\sigma_0(1/2)) < 1",
        source=Source(_KEY, "Remark D.2 and appendix D.4"),
        evidence=Evidence.NUMERIC,
        cases=grid(activation=("relu", "leaky_relu(0.1)")),
        predict=_predict_contracts,
        measure=_measure_alpha_of,
        compare=AtMost(rounding=1e-13),
        must_hold=_predict_alpha_of,
        expected=Outcome.REFUTED,
        finding=(
            "ReLU and leaky ReLU meet the listed hypotheses, but multiply every squared"
            " length by the same factor: alpha = 1. The remark needs an activation that"
            " is not positively homogeneous."
        ),
    ),
    Claim(
        id="dc/E12-as-printed",
        items=("E12", "E1"),
        title="Lengths converge to one for any NormReLU (as read from D.4)",
        statement=r"\gamma_L \to 1",
        source=Source(_KEY, "Appendix D.4"),
        evidence=Evidence.NUMERIC,
        cases=(
            {"kink": "0", "gamma": 2.0, "depth": 20},
            {"kink": "0", "gamma": 2.0, "depth": 60},
            {"kink": "0", "gamma": 1.125, "depth": 60},
            {"kink": "-0.2", "gamma": 8.0, "depth": 60},
        ),
        predict=_predict_converged,
        measure=_measure_trajectory_length,
        # Float64 in the map, amplified by gamma_60/gamma_0 in the worst case.
        compare=AgreesTo(relative=1e-11),
        must_hold=_predict_trajectory_length,
        expected=Outcome.REFUTED,
        finding=(
            "With the kink at 0 every start above one diverges (dc/E12-diverges); with"
            " a kink in (-0.3767, 0) every start above an unstable length"
            " (dc/E12-unstable)."
        ),
        figure="diverging_lengths",
    ),
    Claim(
        id="dc/E12-diverges",
        items=("E12",),
        title="Centred, normalised ReLU enlarges every length above one (certified)",
        statement=r"\frac{\hat\sigma_0(\gamma)}{\gamma} - 1 \ge \frac{1}{\pi - 1}"
        r" (1 - \gamma^{-1/2})^2,\quad \gamma \in [1, \infty),\ c = 0",
        source=Source(_KEY, "Appendix D.4 (its counterexample, made exact)"),
        evidence=Evidence.CERTIFICATE,
        cases=({"kinks": [0.0, 0.0]},),
        predict=_predict_growth,
        measure=_measure_growth,
        compare=CertifiedAtLeast(),
        must_refute=_wrong_growth,
        assumptions=("the unbounded range is mapped onto [0, 1] by gamma^{-1/2}",),
    ),
    Claim(
        id="dc/E12-unstable",
        items=("E12", "E1"),
        title="The squared length above which NormReLU's lengths diverge",
        statement=r"\hat\sigma_0(\gamma) = \gamma > 1,\quad c \in (-0.3767, 0)",
        source=Source(_KEY, "Appendix D.4 (sharpened)"),
        evidence=Evidence.NUMERIC,
        cases=grid(kink=("-0.35", "-0.3", "-0.2", "-0.1")),
        predict=_predict_unstable,
        measure=_measure_unstable,
        # A root of a function known to 1e-15 whose slope in log gamma is at least 1e-3.
        compare=AgreesTo(relative=2e-12),
        must_refute=_wrong_unstable,
    ),
    Claim(
        id="dc/E12-critical",
        items=("E12", "E1"),
        title="Lengths stay bounded from every start only below c = -0.37666",
        statement=r"\lim_{\gamma\to\infty} \hat\sigma_0(\gamma)/\gamma"
        r" = \lambda^2/2 < 1 \iff c < -0.376657093117569877\ldots",
        source=Source(_KEY, "Appendix D.4 (sharpened)"),
        evidence=Evidence.NUMERIC,
        cases=grid(scale=("sqrt(2)",)),
        predict=_predict_critical,
        measure=_measure_kink,
        compare=AgreesTo(relative=2e-16),
        must_refute=_wrong_scale,
    ),
)
