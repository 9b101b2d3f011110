"""Theorem 1's inequalities for every number of parameters, and the segment's kernel."""

import math
from typing import Any

import flint

from theory import mmd
from verify.claim import Claim, certified, grid
from verify.claims._certified import agree, common, points
from verify.claims._predictors import always, mistake, times
from verify.claims.mmd_init._sources import ours, quoted
from verify.compare import CertifiedAtLeast, CertifiedAtMost, Enclosure
from verify.enclose import BITS, Cover, maximum, minimum, partial, quotient

_NOUGHT = flint.arb(0)
_BALLS = "Ball arithmetic (Arb), 160 bits"
_QUARTER = (-0.25, 0.25)

# --- Lemma 1 and its proof ------------------------------------------------------------


def _log_moment(lam: Any) -> Any:
    return -lam - (1 - 2 * lam).log() / 2


def _measure_lemma() -> Enclosure:
    cover = maximum(quotient(_log_moment, _NOUGHT, 2), (_QUARTER,), tolerance=1e-6)
    return cover.enclosure("every lambda in [-1/4, 1/4], and lambda -> 0")


def _predict_lemma() -> float:
    agree(mmd.chi_square_log_moment, _log_moment, points(_QUARTER))
    agree(mmd.CHI_SQUARE.log_moment_bound, lambda lam: 2 * lam**2, points(_QUARTER))
    return mmd.CHI_SQUARE.log_moment_bound(0.125) * 64.0


def _measure_step() -> Enclosure:
    def excess(lam: Any) -> Any:
        return lam * lam / (1 - 2 * lam) - _log_moment(lam)

    cover = minimum(quotient(excess, _NOUGHT, 3), (_QUARTER,), tolerance=1e-6)
    return cover.enclosure("every lambda in [-1/4, 1/4], and lambda -> 0")


def _predict_step() -> float:
    agree(mmd.chi_square_log_moment, _log_moment, points(_QUARTER))
    return 0.0


# --- Theorem 1 ------------------------------------------------------------------------
#
# With variances at most alpha, Chernoff's bound at the lambda that is best for m equal
# ones is exp(-(m/2)(eta - log(1 + eta))), whatever the variances: what the theorem has in
# the exponent has to be at most that, over eta^2 up to one and over eta from there on.


def _room(eta: Any) -> Any:
    return eta - (1 + eta).log()


def _near() -> Cover:
    return minimum(quotient(_room, _NOUGHT, 2), ((0.0, 1.0),), tolerance=1e-9)


def _far() -> Cover:
    def share(x: Any) -> Any:
        """Of x = 1/eta: 1 - x log(1 + 1/x); x log x falls up to 1/e."""
        if x.contains(_NOUGHT):
            top = x.upper()
            return 1 - (x * (1 + x).log() + (-top * top.log()).union(_NOUGHT))
        return 1 - x * ((1 + x).log() - x.log())

    return minimum(share, ((0.0, 1.0),), tolerance=1e-9)


def _measure_theorem(*, form: str) -> Enclosure:
    found = _near(), _far()
    # (m/2) room >= (m/8) min(eta^2, eta) wherever room >= min(eta^2, eta)/4; the printed
    # exponent is smaller: min(eta^2, m eta) <= m min(eta^2, eta).
    return Enclosure(
        min(c.lower for c in found),
        min(c.upper for c in found),
        "every m >= 1, all variances, every radius",
        sum(len(c.leaves) for c in found),
    )


def _exponents(form: Any) -> list[float]:
    """Return the library's exponent over (m/2) min(eta^2, eta) at random points."""
    found: list[float] = []
    for eta, share in points((0.01, 4.0), (0.0, 1.0)):
        m = 1 + int(40 * share)
        bound = mmd.tail_bound(math.sqrt(m * (1.0 + eta)), 1.0, m, form=form)
        found.append(-2.0 * math.log(bound) / (m * min(eta, eta * eta)))
        if form == "printed":
            # min(eta^2, m eta) is a smaller part of m min(eta^2, eta).
            found[-1] *= m * min(eta, eta * eta) / min(eta * eta, m * eta)
    return found


def _predict_theorem(*, form: str) -> float:
    # Its own rounding: the excess r^2 - m is a difference.
    return common(_exponents(form), relative=1e-9) * (1.0 - 2e-9)


def _measure_proposition() -> Enclosure:
    # With x = t alpha/nu^2 and lambda alpha = min(x, 1), the exponent over t/alpha is
    # 1/(2x) - 1 beyond x = 1: at most -1/2. z = 1/x.
    def exponent(z: Any) -> Any:
        return z / 2 - 1

    cover = maximum(exponent, ((0.0, 1.0),), gradient=(partial(exponent, 0),))
    return cover.enclosure("every t alpha >= nu^2")


def _predict_proposition() -> float:
    found = [
        math.log(mmd.SubExponential(n, a).tail_bound(share * 9.0 + n / a))
        * a
        / (share * 9.0 + n / a)
        for n, a, share in points((0.5, 9.0), (0.5, 9.0), (0.0, 1.0))
    ]
    return min(found) * (1.0 - 1e-12)


# --- the segment ----------------------------------------------------------------------


def _embedding(p: Any, g: Any) -> Any:
    return g * flint.arb.pi().sqrt() / 2 * ((p / g).erf() + ((1 - p) / g).erf())


def _mean(g: Any) -> Any:
    return g * flint.arb.pi().sqrt() * (1 / g).erf() - g * g * (
        1 - (-((1 / g) ** 2)).exp()
    )


def _measure_centre(*, low: float, high: float) -> Enclosure:
    # h(1/2) - h(p) over (p - 1/2)^2, times g: the slope of h at 1/2 is zero.
    def fall(p: Any, g: Any) -> Any:
        return _embedding(flint.arb(1) / 2, g) - _embedding(p, g)

    share = quotient(fall, flint.arb(1) / 2, 2)
    cover = minimum(share, ((0.0, 1.0), (low, high)), target=0.0)
    return cover.enclosure(f"every prediction, every bandwidth in [{low}, {high}]")


def _predict_centre(*, low: float, high: float) -> float:
    agree(mmd.segment_embedding, _embedding, points((0.0, 1.0), (low, high)))
    return 0.0


def _wrong_centre(*, low: float, high: float) -> float:
    """The chord from the end to the centre of the narrowest kernel, for all."""
    return (
        float(mmd.segment_embedding(0.5, low) - mmd.segment_embedding(0.0, low)) * 4.0
    )


def _measure_positive(*, low: float, high: float) -> Enclosure:
    def discrepancy(p: Any, g: Any) -> Any:
        return 1 - 2 * _embedding(p, g) + _mean(g)

    # The embedding grows up to one half, where its slope exp(-p^2/g^2) -
    # exp(-(1 - p)^2/g^2) changes its sign.
    with flint.ctx.workprec(BITS):
        half = flint.arb(1) / 2

    def at_centre(g: Any) -> Any:
        return discrepancy(half, g)

    slope = partial(at_centre, 0)
    cover = minimum(at_centre, ((low, high),), gradient=(slope,), tolerance=1e-9)
    return cover.enclosure(f"every prediction, every bandwidth in [{low}, {high}]")


def _predict_positive(*, low: float, high: float) -> float:
    agree(
        mmd.segment_point_mmd,
        lambda p, g: 1 - 2 * _embedding(p, g) + _mean(g),
        points((0.0, 1.0), (low, high)),
    )
    return float(mmd.segment_point_mmd(0.5, high)) - 2e-9


def _wrong_positive(*, low: float, high: float) -> float:
    """The value at the end of the segment in the place of its centre."""
    return float(mmd.segment_point_mmd(0.0, high))


def _claim(part: str, title: str, **fields: Any) -> Claim:
    fields.setdefault("compare", CertifiedAtLeast())
    fields.setdefault("cases", ({},))
    fields.setdefault("assumptions", (_BALLS,))
    return certified(id=f"mmd/{part}", title=title, **fields)


CLAIMS = (
    _claim(
        "lem1-certified",
        (
            "A squared normal variable is sub-exponential (4, 4), for every lambda"
            " (certified)"
        ),
        source=quoted("Lemma 1"),
        statement=r"\frac{-\lambda - \tfrac12 \log(1 - 2\lambda)}{\lambda^2} \le 2,"
        r" \quad |\lambda| \le \tfrac14",
        predict=_predict_lemma,
        measure=_measure_lemma,
        compare=CertifiedAtMost(),
        must_refute=mistake("A nu of 2 in the place of nu^2 = 4.", then=times(0.5)),
        uses=("mmd/lem1-moment",),
        finding="The largest value is 1.55, at lambda = 1/4.",
    ),
    _claim(
        "err3-everywhere",
        "The last step of Lemma 1's proof holds above zero and fails below (certified)",
        items=("Err3", "Lem1"),
        source=ours("Equation 24, last line; ours"),
        statement=r"\frac1{\lambda^3} \left(\frac{\lambda^2}{1 - 2\lambda} + \lambda"
        r" + \tfrac12 \log(1 - 2\lambda)\right) > 0, \quad |\lambda| \le \tfrac14",
        predict=_predict_step,
        measure=_measure_step,
        must_refute=always(2.0 / 3.0, "2/3, the limit at lambda = 0, for all."),
        uses=("mmd/err3",),
    ),
    _claim(
        "thm1-certified",
        (
            "Theorem 1 for every number of parameters, printed and with its factor"
            " m (certified)"
        ),
        items=("Thm1", "Err2"),
        source=ours("Theorem 1; ours"),
        statement=r"\frac{\eta - \log(1 + \eta)}{\min\{\eta^2, \eta\}} \ge \tfrac14,"
        r" \quad \eta > 0",
        cases=grid(form=("printed", "sharp")),
        predict=_predict_theorem,
        measure=_measure_theorem,
        must_refute=mistake("A fourth in the place of an eighth.", then=times(2.0)),
        assumptions=(
            _BALLS,
            "Chernoff's bound of a sum of squares, which grows with each variance",
        ),
        uses=("mmd/lem1-moment", "mmd/thm1"),
        finding="The constant could be 0.153 instead of an eighth.",
    ),
    _claim(
        "prop1-certified",
        (
            "The exponential part of a sub-exponential tail, from nu^2/alpha on (certified)"
        ),
        source=ours("Proposition 1, after Wainwright 2019; the step is ours"),
        statement=r"\min_{\lambda \alpha \le 1} \Big(\frac{\lambda^2 \nu^2}2 -"
        r" \lambda t\Big) \le -\frac{t}{2\alpha}, \quad t \alpha \ge \nu^2",
        predict=_predict_proposition,
        measure=_measure_proposition,
        compare=CertifiedAtMost(),
        must_refute=mistake("The exponent without its factor 1/2.", then=times(2.0)),
        uses=("mmd/prop1",),
    ),
    _claim(
        "seg-centre",
        "Of all constant predictions, 1/2 is nearest to uniform in MMD (certified)",
        source=ours("Appendix C.1; the closed form is ours"),
        statement=r"\frac{h_\gamma(\tfrac12) - h_\gamma(p)}{(p - \tfrac12)^2} > 0,"
        r" \quad p \in [0, 1],\ \gamma \in [\gamma_{\min}, \gamma_{\max}]",
        cases=({"low": 0.25, "high": 4.0},),
        larger_cases={
            "certify": ({"low": 0.1875, "high": 0.25}, {"low": 1.0, "high": 32.0})
        },
        predict=_predict_centre,
        measure=_measure_centre,
        must_refute=_wrong_centre,
        uses=("mmd/seg-embedding",),
    ),
    _claim(
        "seg-positive",
        (
            "No constant prediction is uniform: its squared MMD is bounded below"
            " (certified)"
        ),
        items=("Seg", "Eq3"),
        source=ours("Equation 3; the closed form is ours"),
        statement=r"1 - 2 h_\gamma(p) + \mathbb{E}\,k_\gamma(u, u') \ge"
        r" \mathrm{MMD}(\delta_{1/2}, U; \gamma_{\max}) > 0",
        cases=({"low": 0.125, "high": 0.5}, {"low": 0.5, "high": 2.0}),
        larger_cases={
            "certify": ({"low": 0.015625, "high": 0.125}, {"low": 2.0, "high": 8.0})
        },
        predict=_predict_positive,
        measure=_measure_positive,
        must_refute=_wrong_positive,
        uses=("mmd/seg-centre", "mmd/seg-point"),
    ),
)
