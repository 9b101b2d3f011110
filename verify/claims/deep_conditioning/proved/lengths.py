r"""Appendix D on intervals: lengths at every scale, and NormReLU at every kink.

``E s(sqrt(g) X)^2`` is a mean of ``q(g X^2)`` with ``q(u) = s(sqrt(u))^2``, so that it is
concave where q is: a statement on one variable, whatever the scale and the length.
"""

from collections.abc import Callable
from typing import Any

import flint

from theory import activations as act
from theory import lengths
from verify.claim import Claim, certified, grid
from verify.claims._certified import agree, points
from verify.claims._predictors import always
from verify.claims.deep_conditioning._sources import as_read, ours, quoted
from verify.claims.deep_conditioning.lengths._definitions import predicted_activation
from verify.claims.deep_conditioning.normrelu import _definitions as normrelu
from verify.claims.deep_conditioning.normrelu.constants import (
    _AT_ZERO,
    _measure_increasing,
    _predict_increasing,
)
from verify.claims.deep_conditioning.proved._energies import erf_slope, tanh
from verify.compare import CertifiedAtLeast, CertifiedAtMost, Enclosure
from verify.enclose import BITS, above, below, jet, maximum, minimum, quotient, ratio

_NOUGHT, _ONE = flint.arb(0), flint.arb(1)
_BALLS = "Ball arithmetic (Arb), 160 bits"

# --- Lemma D.3: q'' <= 0 --------------------------------------------------------------
#
# q''(x^2) = (x (s'^2 + s s'') - s s') / (2 x^3). Of each activation: minus that numerator
# over a positive factor, once of x and once of y = 1/x (times y or y^2), x >= 4.


def _asinh(x: Any) -> Any:
    return (x + (1 + x * x).sqrt()).log()


def _far(function: Callable[[Any], Any]) -> Any:
    """All values of an increasing function of limit one on [4, inf)."""
    return function(flint.arb(4)).union(_ONE)


def _selu_side(x: Any) -> Any:
    """SELU below zero, up to its sign and scale; above zero q is linear."""
    return 1 - (-x).exp()


_Bend = tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[Any], Any], int]
_BENDS: dict[str, _Bend] = {
    "tanh": (
        tanh,
        lambda x: tanh(x) - x * (1 - 3 * tanh(x) ** 2),
        lambda y: y * _far(tanh) - 1 + 3 * _far(tanh) ** 2,
        3,
    ),
    "erf": (
        lambda x: x.erf(),
        lambda x: (1 + 2 * x * x) * x.erf() - x * erf_slope(x),
        lambda y: (
            (y * y + 2) * _far(lambda x: x.erf())
            - y * erf_slope(flint.arb(4)).union(_NOUGHT)
        ),
        3,
    ),
    "arctan": (
        lambda x: x.atan(),
        lambda x: x.atan() * (1 + 3 * x * x) - x,
        lambda y: (flint.arb.pi() / 2 - y.atan()) * (y * y + 3) - y,
        3,
    ),
    "asinh": (
        _asinh,
        lambda x: (1 + 2 * x * x) * _asinh(x) - x * (1 + x * x).sqrt(),
        # A lower bound: asinh x is at least asinh 4.
        lambda y: (y * y + 2) * _asinh(flint.arb(4)) - (1 + y * y).sqrt(),
        3,
    ),
    # Of these the slope jumps at zero, and two powers of x divide out.
    "softsign": (lambda x: x / (1 + x), lambda x: 3 * x * x, lambda y: 3 + 0 * y, 2),
    "selu": (
        _selu_side,
        lambda x: _selu_side(x) + x * (2 * _selu_side(x) - 1),
        lambda y: (y + 2) * _far(_selu_side) - 1,
        2,
    ),
}


def _measure_concave(*, name: str) -> Enclosure:
    _, near, far, order = _BENDS[name]
    # Near zero each is well above its value at four; softsign's is three throughout.
    covers = (
        minimum(quotient(near, _NOUGHT, order), ((0.0, 0.5),), tolerance=0.25),
        minimum(lambda x: near(x) / x**order, ((0.5, 4.0),), tolerance=1e-2),
        minimum(far, ((0.0, 0.25),), target=0.0),
    )
    if not covers[2].lower > 0.0:
        raise ArithmeticError(f"{name}: no sign is proved from 4 on")
    ends = (min(c.lower for c in covers[:2]), min(c.upper for c in covers[:2]))
    words = "every scale and length: every x in (0, 4], the sign beyond"
    return Enclosure(*ends, words, sum(len(c.leaves) for c in covers))


def _predict_concave(*, name: str) -> float:
    function = _BENDS[name][0]
    a = act.CATALOGUE[name]
    # On the negative side, where SELU is bent; its scale is that of far inputs.
    scale = abs(float(a(-60.0))) if name == "selu" else 1.0
    agree(lambda x: -float(a(-x)) / scale, function, points((0.1, 4.0)))
    return 0.0


def _wrong_concave(*, name: str) -> float:
    """The curvature at the origin everywhere."""
    _, near, _, order = _BENDS[name]
    return float(quotient(near, _NOUGHT, order)(_NOUGHT))


# --- Theorem D.1 of erf, in closed form -----------------------------------------------
#
# The squared length of erf(a x) is asin(2 a^2 g/(1 + 2 a^2 g)) up to its scale: with
# v = 1/g in [0, 2], all lengths from 1/2 on.


def _length(v: Any, scale: float) -> Any:
    twice = 2 * flint.arb(scale) ** 2
    return (twice / (v + twice)).asin() / (twice / (1 + twice)).asin()


def _chord(scale: float) -> Callable[[Any], Any]:
    fall = quotient(lambda v: 1 - _length(v, scale), _ONE, 1)
    # (length - 1)/(g - 1) = (length - 1) v/(1 - v).
    return lambda v: v * fall(v)


def _highest(scale: float) -> Any:
    """Least upper bound of length - 1."""
    twice = 2 * flint.arb(scale) ** 2
    return flint.arb.pi() / 2 / (twice / (1 + twice)).asin() - 1


def _measure_all(*, scale: float) -> Enclosure:
    cover = maximum(_chord(scale), ((2.0**-10, 2.0),), tolerance=1e-11)
    # Below v = 2^-10 the chord is at most (sup length - 1) v/(1 - v).
    if not _highest(scale) / (2**10 - 1) < cover.upper:
        raise ArithmeticError("long inputs are not covered")
    return cover.enclosure("every gamma >= 1/2")


def _measure_long(*, scale: float) -> Enclosure:
    # slope (1 - v) + v (1 - length) >= 0, with the double zero at one divided out; below
    # v = 2^-10 it is at least slope/2 - v sup(length - 1).
    def fall(v: Any) -> Any:
        return 1 - _length(v, scale)

    with flint.ctx.workprec(BITS):
        slope = jet(fall, (_ONE,), 0, 1)[1]
    room = quotient(lambda v: slope * (1 - v) + v * fall(v), _ONE, 2)
    cover = minimum(room, ((2.0**-10, 1.0),), target=0.0)
    if cover.lower < 0.0 or not slope > 2 * _highest(scale) / 2**10:
        raise ArithmeticError("the tangent at one is not proved to be above")
    # The chord tends to the slope as gamma tends to one.
    words = "every gamma > 1, and gamma -> 1"
    return Enclosure(below(slope), above(slope), words, len(cover.leaves))


def _predict_all(*, scale: float) -> float:
    a = predicted_activation("erf", scale)
    agree(
        a.length_map,
        lambda g: _length(1 / g, scale),
        points((0.5, 9.0)),
        relative=1e-12,
    )
    return lengths.chord_rate(a) + 2e-11


def _predict_long(*, scale: float) -> float:
    """The slope of the length map at one."""
    return predicted_activation("erf", scale).length_map_derivative(1.0) + 2e-11


def _wrong_long(*, scale: float) -> float:
    """The slope at squared length two in the place of one."""
    return predicted_activation("erf", scale).length_map_derivative(2.0)


# --- Eq. 20 and Lemma D.6 of erf ------------------------------------------------------
#
# With y = 2 a^2 g/(1 + 2 a^2 g) = sin z the dual is proportional to asin(rho sqrt(y y'))
# and mu = 1 - sin(z)/z.


def _mu_over_square(z: Any) -> Any:
    return quotient(lambda t: t - t.sin(), _NOUGHT, 3)(z)


def _measure_nonlinearity() -> Enclosure:
    # y of length one is a, that of gamma g a/(1 - a + g a) = sin z: z by its tangent.
    def angle(a: Any, g: Any) -> Any:
        rest = (1 - a).nonnegative_part()
        return flint.arb.atan2(
            g * a, (rest * (rest + 2 * g * a)).nonnegative_part().sqrt()
        )

    def share(a: Any, t: Any) -> Any:
        """mu(gamma)/mu(1) of gamma = 1 + t mu(1)/2, as (y/z)^-2 (z^-2 mu) y^2."""
        first = angle(a, _ONE)
        mu = first * first * _mu_over_square(first)
        g = 1 + t * mu / 2
        z = angle(a, g)
        by = ratio(g * first.sinc(), (1 - a + g * a) * z.sinc())
        return ratio(_mu_over_square(z), _mu_over_square(first)) * by * by

    cover = minimum(share, ((0.0, 1.0), (-1.0, 1.0)), target=0.5)
    return cover.enclosure("every scale, every |gamma - 1| <= mu/2")


def _predict_nonlinearity() -> float:
    def formula(scale: Any, gamma: Any) -> Any:
        twice = 2 * scale * scale * gamma
        y = twice / (1 + twice)
        return 1 - y / y.asin()

    agree(
        lambda s, g: lengths.generalised_mu(act.erf.scaled(s * s), g),
        formula,
        points((0.2, 3.0), (0.5, 1.5)),
        relative=1e-12,
    )
    return 0.5


def _measure_convex(**_: Any) -> Enclosure:
    # log asin(e^u) has the slope tan(z)/z, whose own is (z - sin z cos z)/(z cos z)^2.
    def bend(z: Any) -> Any:
        return quotient(lambda t: t - (2 * t).sin() / 2, _NOUGHT, 3)(z)

    cover = minimum(bend, ((0.0, 1.5707963267948968),), tolerance=1e-9)
    return cover.enclosure("every rho, both lengths, every scale")


def _predict_convex() -> float:
    agree(
        lambda r, x, y: act.erf.dual(r, var_x=x, var_y=y),
        lambda r, x, y: (
            2
            / flint.arb.pi()
            * (2 * r * (x * y).sqrt() / ((1 + 2 * x) * (1 + 2 * y)).sqrt()).asin()
        ),
        points((-1.0, 1.0), (0.1, 4.0), (0.1, 4.0)),
    )
    # At z = pi/2, from the library: 1/z^2, z the arc sine of the limit of long inputs.
    z = act.erf.dual(1.0, var_x=1e16, var_y=1e16) * float(flint.arb.pi()) / 2.0
    return 1.0 / z**2 - 1e-7


# --- NormReLU -------------------------------------------------------------------------


def _predict_stable() -> float:
    # v = lambda^-2 = Phi(-c) + c b - b^2: the slope at one is 1 - c b Phi(c)/v.
    agree(
        lambda c: (lengths.normrelu_length_slope(1.0, c) - 1.0) / c,
        lambda c: ratio(
            -normrelu.shift_of(c) * normrelu.upper_tail(-c),
            normrelu.inverse_scale_squared(c),
        ),
        [*points((-5.0, -0.1)), *points((0.1, 3.0))],
        relative=1e-11,
    )
    return _predict_increasing()


def _claim(**fields: Any) -> Claim:
    """Return a certificate on balls: by default of one case, and from below."""
    settled: dict[str, Any] = {
        "cases": ({},),
        "compare": CertifiedAtLeast(),
        "assumptions": (_BALLS,),
    }
    return certified(**settled | fields)


_SCALES = (0.2, 1.0, 5.0)

CLAIMS = (
    _claim(
        id="dc/lemD.3-certified",
        title="The length maps of six activations as in Lemma D.3 are concave everywhere"
        " (certified)",
        source=as_read("Lemma D.3"),
        statement=r"-2\, w(x)\, \frac{d^2}{du^2} s(\sqrt u)^2 \ge 0,\ u = x^2 > 0"
        r" \;\Rightarrow\; \hat\sigma_0'' \le 0",
        cases=grid(name=tuple(_BENDS)),
        predict=_predict_concave,
        measure=_measure_concave,
        must_refute=_wrong_concave,
        uses=("dc/lemD.3",),
        assumptions=(
            _BALLS,
            "w > 0: what divides out",
            "sigma(0) = 0, as in the lemma",
        ),
    ),
    _claim(
        id="dc/thmD.1-erf",
        title="For erf, squared lengths from 1/2 on converge to one at the chord's"
        " rate (certified)",
        source=as_read("Theorem D.1"),
        statement=r"\frac{\hat\sigma_0(\gamma) - 1}{\gamma - 1} \le \alpha_\sigma ="
        r" 2(1 - \hat\sigma_0(1/2)), \quad \gamma \ge \tfrac12",
        cases=grid(scale=_SCALES),
        larger_cases={"certify": grid(scale=(0.15, 0.5, 20.0))},
        predict=_predict_all,
        measure=_measure_all,
        compare=CertifiedAtMost(),
        must_refute=_predict_long,
        uses=("dc/thmD.1",),
        finding=(
            "The certificate covers every length from 1/2 to infinity, and by induction"
            " every depth."
        ),
    ),
    _claim(
        id="dc/thmD.1-erf-above-one",
        title="For erf, squared lengths above one shrink at the rate of the slope at"
        " one (certified)",
        source=ours("Theorem D.1 (sharpened)"),
        statement=r"\frac{\hat\sigma_0(\gamma) - 1}{\gamma - 1} \le \hat\sigma_0'(1),"
        r" \quad \gamma > 1",
        cases=grid(scale=_SCALES),
        larger_cases={"certify": grid(scale=(0.15, 0.5, 20.0))},
        predict=_predict_long,
        measure=_measure_long,
        compare=CertifiedAtMost(),
        must_refute=_wrong_long,
        uses=("dc/thmD.1-above-one",),
    ),
    _claim(
        id="dc/eq20-erf",
        title="For erf at every scale, the non-linearity near unit length is at least mu/2",
        source=as_read("Equation 20"),
        statement=r"\frac{\mu(\gamma)}{\mu(1)} \ge \tfrac12, \quad"
        r" |\gamma - 1| \le \mu(1)/2",
        predict=_predict_nonlinearity,
        measure=_measure_nonlinearity,
        must_refute=always(1.0, "All of mu in the place of its half."),
        uses=("dc/eq20",),
    ),
    _claim(
        id="dc/lemD.6-erf",
        title="For erf, unequal lengths correlate at most as the geometric mean of equal"
        " ones",
        source=quoted("Lemma D.6"),
        statement=r"\frac{d}{d \log y} \frac{y}{\sqrt{1 - y^2} \arcsin y} \ge 0"
        r" \;\Rightarrow\; \hat\sigma(\rho; \gamma, \gamma')^2 \le"
        r" \hat\sigma(\rho; \gamma, \gamma)\, \hat\sigma(\rho; \gamma', \gamma')",
        predict=_predict_convex,
        measure=_measure_convex,
        must_refute=always(
            2.0 / 3.0, "The limit at short inputs, 2/3, at every length."
        ),
        uses=("dc/lemD.6",),
        assumptions=(_BALLS, "bounded below: (z - sin z cos z)/z^3, z = asin y"),
        finding="With Lemma C.5 at each length, this gives the lemma at every scale.",
    ),
    _claim(
        id="dc/I.len-stable",
        title="Under NormReLU, unit length is stable for every negative kink and for no"
        " other",
        items=("I.len", "E12"),
        source=ours("Appendix I (sharpened)"),
        statement=r"\frac{\hat\sigma_0'(1) - 1}{c\, \Phi(c)} = -\lambda^2 b \ge 1.155,"
        r" \quad c \in \mathbb{R}",
        predict=_predict_stable,
        measure=_measure_increasing,
        must_refute=_AT_ZERO,
        uses=("dc/eq4-increasing", "dc/I.len-proof"),
    ),
)
