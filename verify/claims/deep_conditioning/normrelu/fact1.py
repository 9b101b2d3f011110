r"""Fact 1 of appendix I: the shape of NormReLU's length map and bias.

Measurements: covers of ``(gamma, c)`` by boxes (`verify.enclose`), for statements about
whole intervals.
"""

import functools
from collections.abc import Callable
from typing import Any

import flint

from theory import activations as act
from theory import conditioning, lengths
from verify.claim import Claim, certified, grid
from verify.claims._certified import agree, points
from verify.claims._predictors import Prediction, always, mistake
from verify.claims.deep_conditioning._sources import as_read, ours
from verify.claims.deep_conditioning.normrelu import _definitions as normrelu
from verify.compare import CertifiedAtLeast, CertifiedAtMost, Enclosure, Outcome
from verify.enclose import Box, maximum, minimum, partial, quotient, ratio

_RANGE = (-1.9, -0.6)  # kinks for which all of Fact 1 is proved
_STEEP, _OPEN = 0.3, 1e-6
"""What is proved of all of them: the slope's and the bias's least, of (gamma - 1)^2."""

# --- Fact 1 of appendix I, on boxes of (gamma, c) -------------------------------------
#
# With s = sqrt(gamma), t = c/s, m(gamma) = E s_c(sqrt(gamma) X) / lambda and
# q(gamma) = length / lambda^2, Stein's lemma gives each derivative in closed form; the
# tests compare them with Taylor jets of m and q. The factor lambda^2 > 0 is put back
# where a value is wanted and left out where only a sign is.


def _jets(gamma: Any, c: Any) -> tuple[tuple[Any, Any, Any], tuple[Any, Any, Any]]:
    """Return m and q, each with its first two derivatives in gamma."""
    s = gamma.sqrt()
    t, b = c / s, normrelu.shift_of(c)
    density, upper = normrelu.normal_density(t), normrelu.upper_tail(t)
    one, square = s * density - c * upper, density * (t * t - 1)
    return (
        (one + b, density / (2 * s), square / (4 * gamma * s)),
        (
            (gamma + c * c) * upper - c * s * density + 2 * b * one + b * b,
            upper + b * density / s,
            (density * t + b * square / s) / (2 * gamma),
        ),
    )


def _mean_jet(gamma: Any, c: Any) -> tuple[Any, Any, Any]:
    return _jets(gamma, c)[0]


def length_jet(gamma: Any, c: Any) -> tuple[Any, Any, Any]:
    return _jets(gamma, c)[1]


def _length(gamma: Any, c: Any) -> Any:
    return ratio(length_jet(gamma, c)[0], normrelu.inverse_scale_squared(c))


def _bias(gamma: Any, c: Any) -> Any:
    (m, _, _), (q, _, _) = _jets(gamma, c)
    return ratio(m * m, q)


def _length_slope(gamma: Any, c: Any) -> Any:
    return ratio(length_jet(gamma, c)[1], normrelu.inverse_scale_squared(c))


def _length_curvature(gamma: Any, c: Any) -> Any:
    return ratio(length_jet(gamma, c)[2], normrelu.inverse_scale_squared(c))


def _bias_curvature(gamma: Any, c: Any) -> Any:
    (m, m1, m2), (q, q1, q2) = _jets(gamma, c)
    # (m^2/q)'' over a common denominator.
    top = 2 * (m1 * m1 + m * m2) * q * q - (4 * m1 * q1 * q + m * q2 * q) * m
    return ratio(top + 2 * m * m * q1 * q1, q**3)


def _square_curvature(gamma: Any, c: Any) -> Any:
    """Second derivative of (E s)^2, not divided by the squared length."""
    m, m1, m2 = _mean_jet(gamma, c)
    return ratio(2 * (m1 * m1 + m * m2), normrelu.inverse_scale_squared(c))


def _rest_share(gamma: Any, c: Any) -> Any:
    """1 - (a_0^2 + a_1^2)/q."""
    (m, _, _), (q, _, _) = _jets(gamma, c)
    return 1 - ratio(m * m + gamma * normrelu.upper_tail(c / gamma.sqrt()) ** 2, q)


def _shape(bound: float) -> Prediction:
    """Return a bound, once the library's functions are those on the boxes."""

    def predict(**_: Any) -> float:
        where = points((0.5, 1.5), (-2.5, -0.5))
        agree(lengths.normrelu_length_slope, _length_slope, where)
        agree(lengths.normrelu_length, _length, where)
        agree(lengths.normrelu_bias, _bias, where)
        return bound

    return predict


def _box(kinks: list[float]) -> Box:
    return (0.5, 1.5), (kinks[0], kinks[1])


def _words(kinks: list[float]) -> str:
    low, high = kinks
    which = f"c = {low!r}" if low == high else f"every c in [{low}, {high}]"
    return f"every gamma in [1/2, 3/2], {which}"


def _extremum(
    find: Callable[..., Any], function: Any, kinks: list[float], *, target: float = 0.0
) -> Enclosure:
    # One kink: to the last digits. A range of kinks: until the sign is known.
    point = kinks[0] == kinks[1]
    cover = find(
        function,
        _box(kinks),
        gradient=(partial(function, 0), partial(function, 1)),
        tolerance=1e-12,
        target=None if point else target,
    )
    return cover.enclosure(_words(kinks))


def _predict_monotone(*, kinks: list[float]) -> float:
    # Concave, so the slope is least at 3/2. Rounded down by its float64 accuracy.
    if kinks[0] < kinks[1]:
        return _shape(_STEEP)()
    return lengths.normrelu_length_slope(1.5, kinks[0]) - 1e-12


def _wrong_monotone(*, kinks: list[float]) -> float:
    """The slope at the other end, gamma = 1/2."""
    return lengths.normrelu_length_slope(0.5, kinks[0])


def _wrong_concave(*, kinks: list[float]) -> float:
    """The mean of the second derivative in the place of its largest value."""
    ends = (lengths.normrelu_length_slope(gamma, kinks[0]) for gamma in (1.5, 0.5))
    return next(ends) - next(ends)


def _wrong_concave_limit(**_: Any) -> float:
    """The second derivative of ReLU's length map, of the kink zero."""
    relu = conditioning.normrelu_constants(0.0)
    return (relu.scale * relu.shift) ** 2 * 2.0**0.5


def _wrong_convex_limit(**_: Any) -> float:
    """The second difference of the squared mean, not over the squared length."""
    low, middle, high = (
        lengths.normrelu_bias(gamma, -2.5) * lengths.normrelu_length(gamma, -2.5)
        for gamma in (0.5, 0.55, 0.6)
    )
    return (low - 2.0 * middle + high) / 0.05**2


def _wrong_convex(*, kinks: list[float]) -> float:
    """The second difference over the interval in the place of the least derivative."""
    ends = (lengths.normrelu_bias(gamma, kinks[0]) for gamma in (0.5, 1.5))
    return 4.0 * sum(ends)


def _quotient_of_bias(gamma: Any, c: Any) -> Any:
    """beta(gamma)/(gamma - 1)^2, regular at gamma = 1 because m(1) = 0."""
    # The mean value theorem on the hull, by the closed form of m': tighter than a jet.
    m = _mean_jet(gamma.union(flint.arb(1)), c)[1]
    (mean, _, _), (square, _, _) = _jets(gamma, c)
    if not (gamma - 1).contains(flint.arb(0)):
        m = m.intersection(mean / (gamma - 1))
    return ratio(m**2, square)


def _measure_minimum(*, kinks: list[float]) -> Enclosure:
    target = None if kinks[0] == kinks[1] else _OPEN
    cover = minimum(_quotient_of_bias, _box(kinks), tolerance=1e-11, target=target)
    return cover.enclosure(_words(kinks))


def _predict_minimum(*, kinks: list[float]) -> float:
    if kinks[0] < kinks[1]:
        return _shape(_OPEN)()
    return 4.0 * lengths.normrelu_bias(1.5, kinks[0]) - 2e-11


def _wrong_minimum(*, kinks: list[float]) -> float:
    """The quotient at the other end."""
    return 4.0 * lengths.normrelu_bias(0.5, kinks[0])


def _measure_alpha(*, kinks: list[float]) -> Enclosure:
    # |q(gamma) - q(1)| / |gamma - 1|; q(1) = 1/lambda^2 exactly.
    def chord(gamma: Any, c: Any) -> Any:
        def rise(g: Any, k: Any) -> Any:
            return length_jet(g, k)[0] - normrelu.inverse_scale_squared(k)

        return ratio(
            quotient(rise, flint.arb(1), 1)(gamma, c), normrelu.inverse_scale_squared(c)
        )

    return maximum(chord, _box(kinks), tolerance=1e-11).enclosure(_words(kinks))


def _predict_alpha(*, kinks: list[float]) -> float:
    return lengths.chord_rate(act.normrelu(kinks[0])) + 2e-11


def _wrong_alpha(*, kinks: list[float]) -> float:
    """The slope at one in the place of the chord's."""
    return lengths.normrelu_length_slope(1.0, kinks[0])


def _measure_beta(*, kinks: list[float]) -> Enclosure:
    def chord(gamma: Any, c: Any) -> Any:
        return abs(gamma - 1) * _quotient_of_bias(gamma, c)

    return maximum(chord, _box(kinks), tolerance=1e-12).enclosure(_words(kinks))


def _predict_beta(*, kinks: list[float]) -> float:
    decay = lengths.normrelu_decay(0.5, 1.5, 1.0, act.normrelu(kinks[0]))
    return decay.beta + 2e-12


def _wrong_beta(*, kinks: list[float]) -> float:
    """The chord at the other end, 2 beta(3/2)."""
    return 2.0 * lengths.normrelu_bias(1.5, kinks[0])


def _predict_rest(
    *, kinks: list[float], gamma: float = 0.5, rounding: float = 1e-11
) -> float:
    return lengths.rest_share(act.normrelu(kinks[0]), gamma) - rounding


_ONE_KINK = ([normrelu.STAR, normrelu.STAR], [normrelu.PUBLISHED, normrelu.PUBLISHED])
_ALL_KINKS = (*_ONE_KINK, list(_RANGE))
_BOXES = ("gamma in [1/2, 3/2]", "Ball arithmetic (Arb) of 160 bits")


def _on_boxes(**fields: Any) -> Claim:
    """Return a claim on the stated boxes: by default of Fact 1, for all its kinks."""
    settled: dict[str, Any] = {
        "items": ("Fact1",),
        "source": as_read("Appendix I, Fact 1"),
        "cases": grid(kinks=_ALL_KINKS),
        "assumptions": _BOXES,
    }
    return certified(**settled | fields)


CLAIMS = (
    _on_boxes(
        id="dc/fact1-monotone",
        title="NormReLU's length map is increasing between 1/2 and 3/2 (certified)",
        statement=r"\hat\sigma_0'(\gamma) \ge \hat\sigma_0'(3/2) > 0,\quad"
        r" \gamma \in [1/2, 3/2]",
        predict=_predict_monotone,
        measure=functools.partial(_extremum, minimum, _length_slope, target=_STEEP),
        compare=CertifiedAtLeast(),
        must_refute=_wrong_monotone,
        assumptions=(*_BOXES, f"of a range of kinks: a slope of {_STEEP} and more"),
        uses=("dc/I.len", "dc/I.len-slope"),
        finding="Proved for every kink in [-1.9, -0.6], not only the paper's.",
    ),
    _on_boxes(
        id="dc/fact1-concave",
        title="NormReLU's length map is concave between 1/2 and 3/2 (certified)",
        statement=r"\hat\sigma_0''(\gamma) \le 0,\quad \gamma \in [1/2, 3/2]",
        predict=_shape(0.0),
        measure=functools.partial(_extremum, maximum, _length_curvature),
        compare=CertifiedAtMost(),
        must_refute=_wrong_concave,
        uses=("dc/I.len",),
        finding=(
            "Proved for every kink in [-1.9, -0.6]. It fails at c = -0.5, where the"
            " second derivative at gamma = 3/2 is 0.0147: dc/fact1-concave-limit."
        ),
    ),
    _on_boxes(
        id="dc/fact1-concave-limit",
        title="NormReLU's length map is not concave for every negative kink: c = -1/2",
        statement=r"\max_{\gamma \in [1/2, 3/2]} \hat\sigma_0''(\gamma) \ge 0.0147 > 0,"
        r"\quad c = -\tfrac12",
        source=ours("Appendix I, Fact 1 (its limits)"),
        cases=grid(kinks=([-0.5, -0.5],)),
        predict=_shape(0.0147),
        measure=functools.partial(_extremum, maximum, _length_curvature),
        compare=CertifiedAtLeast(),
        must_refute=_wrong_concave_limit,
        uses=("dc/fact1-concave",),
        finding="Fact 1 needs a kink below about -0.585.",
    ),
    _on_boxes(
        id="dc/fact1-convex-limit",
        title="NormReLU's bias function is not convex for kinks far below the paper's: c ="
        " -5/2",
        statement=r"\min_{\gamma \in [1/2, 3/2]} \beta''(\gamma) \le -3 \cdot 10^{-6},"
        r"\quad c = -\tfrac52",
        source=ours("Appendix I, Fact 1 (its limits)"),
        cases=grid(kinks=([-2.5, -2.5],)),
        predict=_shape(-3e-06),
        measure=functools.partial(_extremum, minimum, _bias_curvature),
        compare=CertifiedAtMost(),
        must_refute=_wrong_convex_limit,
        uses=("dc/fact1-convex",),
        finding="Fact 1 needs a kink above about -2.43.",
    ),
    _on_boxes(
        id="dc/fact1-convex",
        items=("Fact1", "E9"),
        title="NormReLU's bias function is convex between 1/2 and 3/2 (certified)",
        statement=r"\beta''(\gamma) \ge 0,\quad"
        r" \beta(\gamma) = \frac{(\mathbb{E}\,\sigma(\sqrt\gamma"
        r" X))^2}{\hat\sigma_0(\gamma)},"
        r"\quad \gamma \in [1/2, 3/2]",
        predict=_shape(0.0),
        measure=functools.partial(_extremum, minimum, _bias_curvature),
        compare=CertifiedAtLeast(),
        must_refute=_wrong_convex,
        uses=("dc/I.len", "dc/eq28-bias"),
        finding=(
            "Proved for every kink in [-1.9, -0.6], of the bias divided by the squared"
            " length; of the undivided one it is false (dc/E9-as-read)."
        ),
    ),
    _on_boxes(
        id="dc/fact1-minimum",
        title="NormReLU's bias vanishes at gamma = 1 and only there (certified)",
        statement=r"\beta(\gamma) \ge 4 \beta(3/2) (\gamma - 1)^2,\quad \beta(1) = 0,"
        r"\quad \gamma \in [1/2, 3/2]",
        source=ours("Appendix I, Fact 1 (with a constant)"),
        predict=_predict_minimum,
        measure=_measure_minimum,
        compare=CertifiedAtLeast(),
        must_refute=_wrong_minimum,
        assumptions=(*_BOXES, f"of a range of kinks: {_OPEN:g} for 4 beta(3/2)"),
        uses=("dc/eq28-bias",),
    ),
    _on_boxes(
        id="dc/fact1-alpha",
        items=("Fact1", "Eq28"),
        title="Under NormReLU, squared lengths contract to one at the rate alpha_1"
        " (certified)",
        statement=r"|\hat\sigma_0(\gamma) - 1| \le \alpha_1 |\gamma - 1|,\quad"
        r" \alpha_1 = 2(1 - \hat\sigma_0(1/2)) < 1",
        source=as_read("Appendix I, Fact 1 and Eq. 28"),
        cases=grid(kinks=_ONE_KINK),
        predict=_predict_alpha,
        measure=_measure_alpha,
        compare=CertifiedAtMost(),
        must_refute=_wrong_alpha,
        uses=("dc/I.len",),
    ),
    _on_boxes(
        id="dc/fact1-beta",
        items=("Fact1", "Eq28"),
        title="NormReLU's bias is at most beta_0 times the distance of gamma from one"
        " (certified)",
        statement=r"\beta(\gamma) \le \beta_0 |\gamma - 1|,\quad"
        r" \beta_0 = 2 \max(\beta(1/2), \beta(3/2))",
        source=as_read("Appendix I, Fact 1 and Eq. 28"),
        cases=grid(kinks=_ONE_KINK),
        predict=_predict_beta,
        measure=_measure_beta,
        compare=CertifiedAtMost(),
        must_refute=_wrong_beta,
        uses=("dc/eq28-bias",),
    ),
    _on_boxes(
        id="dc/thmI.1-rest",
        items=("ThmI.1",),
        title="The least share of NormReLU's energy beyond its linear part (certified)",
        statement=r"1 - \frac{a_0(\gamma)^2 + a_1(\gamma)^2}{\hat\sigma_0(\gamma)}"
        r" \ge \mu_-,\quad \mu_- \text{ its value at } \gamma = 1/2",
        source=ours("Theorem I.1 (constants ours)"),
        cases=grid(kinks=_ONE_KINK),
        predict=_predict_rest,
        measure=functools.partial(_extremum, minimum, _rest_share),
        compare=CertifiedAtLeast(),
        must_refute=mistake(
            "The share at gamma = 1, the coefficient of non-linearity itself.",
            gamma=1.0,
            rounding=0.0,
        ),
        uses=("dc/lemD.6-mu", "dc/eq28-bias"),
    ),
    _on_boxes(
        id="dc/E9-as-read",
        items=("E9", "Fact1"),
        title="NormReLU's squared mean is convex in the squared length (one reading of"
        " Fact 1)",
        statement=r"\frac{d^2}{d\gamma^2} (\mathbb{E}\,\sigma_c(\sqrt\gamma"
        r" X))^2 \ge 0,\quad"
        r" \gamma \in [1/2, 3/2]",
        cases=grid(kinks=_ONE_KINK),
        predict=_shape(0.0),
        measure=functools.partial(_extremum, minimum, _square_curvature),
        compare=CertifiedAtLeast(),
        must_hold=always(
            -0.0030662, "The second derivative at gamma = 1/2, rounded down."
        ),
        uses=("dc/fact1-convex",),
        expected=Outcome.REFUTED,
        finding=(
            "The text has lost the bias function. At gamma = 1/2 the second derivative of"
            " the squared mean is -0.0030661. Divided by the"
            " squared length, as in the normalised dot product, the function is"
            " convex: dc/fact1-convex."
        ),
    ),
)
