"""Kinks that few pre-activations reach, or that are next to each other.

Far out a moment falls by many orders of magnitude within one table; next to each other,
what kinks contribute cancels. The measured side sums lines in closed form, to 100 digits.
"""

import itertools
import math
from dataclasses import replace
from typing import Any

import mpmath as mp
import numpy as np

from theory import activations as act
from theory import phase
from theory.activations.piecewise import PiecewisePolynomial
from verify import integrals
from verify.claim import Source, grid, numeric
from verify.claims._predictors import mistake, times
from verify.claims.deep_conditioning.phase.command import averages
from verify.compare import AgreesTo

_DIGITS = 100
_LINES: dict[str, tuple[float, tuple[float, ...], tuple[float, ...]]] = {
    # Slope at minus infinity, kinks, changes of slope; zero at zero.
    "threshold": (0.0, (1.0,), (1.0,)),
    "ReLU to six": (0.0, (0.0, 6.0), (1.0, -1.0)),
    "from minus one": (0.0, (-1.0, 0.0), (1.0, 0.5)),
    "on both sides": (1.0, (-1.5, 1.0), (-1.0, 2.0)),
    "far out": (1.0, (-50.0, 60.0), (-0.5, 1.0)),
}
_NORMALISED = "normalised gelu"
_PARABOLA = "parabola from one"

# --- the measured side ------------------------------------------------------------------


def _of_lines(name: str, q: Any) -> tuple[Any, Any, Any]:
    """E s^2, E s'^2 and the derivative of E s^2 in q, line by line in closed form."""
    left, kinks, jumps = _LINES[name]
    root, slope = mp.sqrt(q), mp.mpf(left)
    # To the left of all kinks; a function that is zero at zero.
    bends = list(zip(kinks, jumps, strict=True))
    shift = -mp.fsum(-mp.mpf(c) * j for c, j in bends if c < 0.0)
    out = [mp.mpf(0)] * 3
    edges = [-mp.inf, *(c / root for c in kinks), mp.inf]
    for (low, high), (c, jump) in zip(
        itertools.pairwise(edges), [*bends, (0.0, 0.0)], strict=True
    ):
        # Moments of Z between the two.
        zero, one, two = _powers_between(low, high, 2)
        line = slope * root
        out[0] += shift**2 * zero + 2 * shift * line * one + line**2 * two
        out[1] += slope**2 * zero
        out[2] += slope * (shift * one + line * two) / root
        shift -= jump * mp.mpf(c)
        slope += jump
    return out[0], out[1], out[2]


def _of_gelu(q: Any) -> tuple[Any, Any, Any]:
    """The same of GELU less its mean at one, in deviations: E s = q / sqrt(2 pi (1+q))."""
    square, rise, change = averages("gelu", float(q))
    root = math.sqrt(2.0 * math.pi * (1.0 + q))
    mean, slope = q / root, (1.0 - 0.5 * q / (1.0 + q)) / root
    at_one = 0.5 / math.sqrt(math.pi)
    variance = averages("gelu", 1.0)[0] - at_one**2
    about = square - 2.0 * at_one * mean + at_one**2
    return about / variance, rise / variance, (change - 2.0 * at_one * slope) / variance


def _of_parabola(q: Any) -> tuple[Any, Any, Any]:
    """The same of (x - 1)^2 / 2 above one: E s s' x = E (x - 1)_+^3 (x - 1 + 1) / 2."""
    c, root = 1 / mp.sqrt(q), mp.sqrt(q)
    # E (x - 1)_+^n over the root's powers, by parts.
    above = [mp.ncdf(-c), mp.npdf(c) - c * mp.ncdf(-c)]
    for n in range(2, 5):
        above.append((n - 1) * above[n - 2] - c * above[n - 1])
    two, three, four = (root**n * above[n] for n in (2, 3, 4))
    return four / 4, two, (four + three) / (2 * q)


def _averages(name: str, q: Any) -> tuple[Any, Any, Any]:
    if name == _PARABOLA:
        return _of_parabola(q)
    return _of_gelu(q) if name == _NORMALISED else _of_lines(name, q)


def _measure_state(
    *, name: str, weight_var: float, bias_var: float, start: float, scale: float = 1.0
) -> list[Any]:
    """q*, and the slopes of the maps of variances and of correlations there."""
    with mp.workdps(_DIGITS):
        w, b = scale**2 * mp.mpf(weight_var), mp.mpf(bias_var)
        q = mp.findroot(
            lambda q: w * _averages(name, q)[0] + b - q,
            (start, 1.01 * start),
            tol=1e-40,
        )
        _, rise, change = _averages(name, q)
        return [q, w * change, w * rise]


# --- the predicted side -----------------------------------------------------------------


def _subject(name: str) -> act.Activation:
    if name == _NORMALISED:
        return act.gelu.normalized()
    if name == _PARABOLA:
        return PiecewisePolynomial(name, 2, (), (1.0,), (1.0,))
    left, kinks, jumps = _LINES[name]
    # Right of all kinks left of zero the value at zero is not zero yet.
    at_zero = sum(-c * j for c, j in zip(kinks, jumps, strict=True) if c < 0.0)
    return PiecewisePolynomial(name, 1, (-at_zero, left), kinks, jumps)


def _predict_state(
    *, name: str, weight_var: float, bias_var: float, start: float, scale: float = 1.0
) -> list[float]:
    a = _subject(name) if scale == 1.0 else scale * _subject(name)
    p = phase.classify(a, weight_var, bias_var, start=start)
    return [p.variance, p.chi_q, p.chi_1]


def _net(name: str, weight_var: float, bias_var: float, start: float) -> dict[str, Any]:
    return {
        "name": name,
        "weight_var": weight_var,
        "bias_var": bias_var,
        "start": start,
    }


STATE = numeric(
    id="dc/D.0-phase-kinks",
    items=("D.0", "Thm3.10"),
    title="Networks with biases whose functions have kinks that few units reach",
    statement=r"q^* = \sigma_w^2\, \mathbb{E}\, \sigma(\sqrt{q^*} Z)^2 + \sigma_b^2,"
    r" \quad \chi_q, \quad \chi_1 = \sigma_w^2\, \mathbb{E}\, \sigma'(\sqrt{q^*} Z)^2",
    assumptions=("infinite width", "independent Gaussian weights and biases"),
    source=Source("schoenholz2017deep", "Section 2"),
    cases=(
        # The kink is 3, 7, 14 and 38 deviations out.
        *(_net("threshold", 2.0, b, b) for b in (0.1, 0.02, 0.005, 7e-4)),
        # And of a multiple of the function.
        {**_net("threshold", 0.5, 0.005, 0.005), "scale": -2.0},
        # Another fixed point is 6, 6 and 10 % longer: a grid of eight in a factor e may
        # miss both.
        _net("threshold", 1545.24767, 0.0832070411, 0.0925),
        _net("threshold", 1174.97805, 0.0869708962, 0.0975),
        _net("threshold", 1339.39589, 0.0846962773, 0.093),
        # No slope is left of a parabola that begins 10 and 100 deviations out.
        *(_net(_PARABOLA, 2.0, b, b) for b in (0.2, 0.01, 1e-4)),
        *(_net("ReLU to six", 1.6, b, 5.0 * b) for b in (1e-3, 0.4)),
        *(_net("from minus one", 0.4, b, 2.9 * b) for b in (1e-4, 0.1)),
        *(_net("on both sides", 0.2, b, 0.1 * b) for b in (1e-3, 0.2)),
        *(_net("far out", 0.2, b, 1.1 * b) for b in (2.0, 900.0)),
        *(_net(_NORMALISED, 0.5, b, 2.0 * b) for b in (0.05, 0.2)),
    ),
    predict=_predict_state,
    measure=_measure_state,
    # Rounding of one layer, 1e-14, over 1 - chi_q > 0.1, times half the squared distance
    # of a kink in deviations, 100; what is 30 deviations out may be lost.
    compare=AgreesTo(relative=1e-12, absolute=1e-200),
    must_refute=mistake("Weights of half their variance.", weight_var=times(0.5)),
    uses=("dc/D.0-phase",),
)


# --- next to each other -----------------------------------------------------------------


def _predict_ramp(*, gap: float, delta: float) -> float:
    ramp = PiecewisePolynomial("ramp", 1, (0.0,), (0.0, gap), (1.0, -1.0))
    return float(ramp.distance_map(delta))


def _measure_ramp(*, gap: float, delta: float) -> Any:
    """Of min(max(X, 0), gap): the mean of one given the other in closed form."""
    with mp.workdps(20):
        e, rho = mp.mpf(gap), 1 - mp.mpf(delta)
        spread = mp.sqrt(1 - rho**2)

        def above(m: Any) -> Any:
            """E max(m + spread Z, 0)."""
            return m * mp.ncdf(m / spread) + spread * mp.npdf(m / spread)

        def ramp(x: Any) -> Any:
            return min(x, e)

        def both(x: Any) -> Any:
            mean = above(rho * x) - above(rho * x - e)
            return ramp(x) * mean * mp.npdf(x)

        near = [k * e for k in range(3)]
        edges = [*near, *(3 * e + k * spread for k in range(1, 4)), 4, 8, 14]
        edges = sorted({v for v in edges if v <= 14})
        square: Any = mp.quad(lambda x: ramp(x) ** 2 * mp.npdf(x), [*near, 1, 4, 14])
        return 1 - mp.quad(both, edges) / square


RAMP = replace(
    STATE,
    id="dc/defC.1-ramp",
    items=("DefC.1",),
    title="Distances of a steep ramp: kinks nearer to each other than inputs are",
    statement=r"1 - \frac{\mathbb{E}\,\sigma(X)\sigma(Y)}{\mathbb{E}\,\sigma(X)^2},"
    r" \quad \sigma(x) = \min(\max(x, 0), \epsilon)",
    assumptions=(),
    source=Source("agarwal2021deep", "Definition C.1"),
    cases=(
        *grid(gap=0.01, delta=(1e-5, 0.3, 1.6)),
        *grid(gap=0.5, delta=0.3),
    ),
    predict=_predict_ramp,
    measure=_measure_ramp,
    # The distance is a sum of positive terms to 1e-14, over a second moment of the same.
    compare=AgreesTo(relative=3e-14),
    must_refute=mistake("Twice as far apart.", delta=lambda d: min(2.0 * d, 1.9)),
    uses=("dc/defC.1",),
)


# --- beyond all inputs ------------------------------------------------------------------

_RHOS = (-0.9, 0.3, 0.99)


def _predict_beyond(*, m: int, kink: float, bent: float = 0.25) -> list[float]:
    """Bent at -45 as well, and at 60."""
    kinks, jumps = (-45.0, kink, 60.0), (bent, 1.0, -2.0)
    a = PiecewisePolynomial("beyond", m, (0.5, -0.125)[: m + 1], kinks, jumps)
    return [a.mean, a.second_moment, a.variance, a.mu, *a.dual(np.array(_RHOS))]


def _measure_beyond(*, m: int, kink: float) -> list[Any]:
    """With the branch between -45 and the kink for everything below."""
    line = ("11.75", "0.125") if m else ("0.75", 0)
    found = integrals.of_pieces(integrals.Pieces(m, line, (kink,), (1,)))
    mean = found.coefficient(0)
    with mp.workprec(integrals.BITS):
        second = found.dual(1)
        variance = second - mean**2
        mu = 1 - found.coefficient(1) ** 2 / variance
    return [mean, second, variance, mu, *(found.dual(rho) for rho in _RHOS)]


BEYOND = replace(
    RAMP,
    id="dc/defC.1-beyond",
    title="Kinks that no input reaches bend nothing, but for the branch between them",
    statement=r"\sigma(x) = p(x) + \tfrac14 \frac{(x + 45)_+^m}{m!}"
    r" + \frac{(x - c)_+^m}{m!} - 2 \frac{(x - 60)_+^m}{m!}",
    cases=grid(m=(0, 1), kink=(-0.75, 0.0, 0.5)),
    predict=_predict_beyond,
    measure=_measure_beyond,
    # The library's promise for duals and moments.
    compare=AgreesTo(relative=1e-12),
    must_refute=mistake("The far kink bends by a tenth less.", bent=0.225),
)


# --- energies ---------------------------------------------------------------------------

_Pieces = tuple[int, tuple[float, ...], tuple[float, ...], tuple[float, ...]]
_PIECES: dict[str, _Pieces] = {
    # Degree, a polynomial, places, and jumps of the last derivative there.
    "a far kink": (1, (0.0, 1.0), (9.0,), (2.0,)),
    "near and far": (1, (0.5, 0.0), (0.5, 9.0), (1.0, -0.3)),
    "far on both sides": (1, (0.0, 1.0), (-9.5, 9.0), (1.5, -1.0)),
    "stairs": (0, (0.25,), (-0.5, 9.0), (1.0, 2.0)),
    "parabolas": (2, (0.1, 0.2, 0.3), (0.0, 0.7, 8.5), (1.0, -2.0, 1.5)),
    # Beyond what a quadrature reaches, and steep enough to matter.
    "steep far out": (1, (0.0, 1.0), (0.5, 25.0), (1.0, 1e140)),
    "at the end": (1, (0.0,), (35.5,), (1.0,)),
    # Nearly a step, whose two kinks are a thousand times as large as what is left.
    "a steep ramp": (1, (0.0,), (0.2, 0.2001), (1e4, -1e4)),
    "a steep bend": (1, (0.0, 1.0), (0.2, 0.2001, 1.0), (1e4, -1e4, -0.5)),
    # Nearly lines: of two kinks that take back most of each other, and beside a few units.
    "a dent": (1, (0.0, 1.0), (0.5, 0.51), (1.0, -1.0)),
    "a late dent": (1, (0.0, 1.0), (5.0, 6.0), (1.0, -1.0)),
}


def _predict_energies(*, name: str, share: float = 1.0) -> list[float]:
    m, poly, kinks, jumps = _PIECES[name]
    a = PiecewisePolynomial(name, m, poly, kinks, tuple(share * j for j in jumps))
    mean = a.mean / math.sqrt(a.second_moment)
    rises = [a.length_map_derivative(q) for q in (1.0, np.ones(65))]
    return [1.0 + mean, a.variance, a.second_moment, a.mu, *map(np.max, rises)]


def _measure_energies(*, name: str) -> list[Any]:
    """Mean, energies, the share of Var s that no line has, and how lengths rise."""
    m, poly, kinks, jumps = _PIECES[name]
    with mp.workdps(5 * _DIGITS):  # steps of 1e140, squared
        powers = [mp.mpf(v) for v in (*poly, *[0.0] * (m + 1 - len(poly)))]
        edges = [-mp.inf, *map(mp.mpf, kinks), mp.inf]
        mean, linear, square, fourth = (mp.mpf(0) for _ in range(4))
        bends = [*zip(kinks, jumps, strict=True), (0.0, 0.0)]
        for (low, high), (c, jump) in zip(
            itertools.pairwise(edges), bends, strict=True
        ):
            each = _powers_between(low, high, 2 * m + 2)
            mean += mp.fdot(powers, each[: m + 1])
            linear += mp.fdot(powers, each[1 : m + 2])
            for i, v in enumerate(powers):
                square += mp.fsum(v * w * each[i + j] for j, w in enumerate(powers))
                fourth += mp.fsum(v * w * each[i + j + 2] for j, w in enumerate(powers))
            for k in range(m + 1):
                rise = mp.binomial(m, k) * (-mp.mpf(c)) ** (m - k)
                powers[k] += mp.mpf(jump) / mp.factorial(m) * rise
        variance = square - mean**2
        share = 1 + mean / mp.sqrt(square)
        # By parts, E s(r Z)^2 rises by E s^2 (Z^2 - 1) / 2 at r = 1.
        rise = (fourth - square) / 2
        return [share, variance, square, 1 - linear**2 / variance, rise, rise]


def _powers_between(low: Any, high: Any, most: int) -> list[Any]:
    """E Z^n at Z between two numbers, n <= most."""
    ends = [(t, mp.npdf(t)) for t in (low, high)]
    out = [mp.ncdf(high) - mp.ncdf(low), ends[0][1] - ends[1][1]]
    for n in range(2, most + 1):
        first, last = (0 if mp.isinf(t) else t ** (n - 1) * d for t, d in ends)
        out.append((n - 1) * out[n - 2] + first - last)
    return out


ENERGIES = replace(
    RAMP,
    id="dc/tab2-far-kinks",
    items=("Tab2",),
    title="Energies of pieces whose kinks a quadrature does not see",
    statement=r"1 + \mathbb{E}\,\sigma / (\mathbb{E}\,\sigma^2)^{1/2}, \quad"
    r" \mathrm{Var}\,\sigma, \quad \mathbb{E}\,\sigma^2, \quad"
    r" \mu = 1 - a_1^2 / \mathrm{Var}\,\sigma, \quad"
    r" \mathbb{E}\,\sigma^2 (Z^2 - 1) / 2",
    source=Source("agarwal2021deep", "Appendix C.4"),
    cases=grid(name=tuple(_PIECES)),
    predict=_predict_energies,
    measure=_measure_energies,
    # The library's promise; mu of what is nearly a line is as small as 1e-18.
    compare=AgreesTo(relative=1e-12),
    must_refute=mistake("Kinks a thousandth weaker.", share=0.999),
    uses=("dc/tab2",),
)
