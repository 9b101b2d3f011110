"""Slope one (Lemma C.32): how slowly correlations of ReLU, |x| and exp reach one.

With ``u = 1 - rho`` a layer of unit second moment and slope maps u to ``u - f(u)``; a bound
``f(u) >= nu u^2`` or ``f(u) >= 2 c u^(3/2)`` makes 1/u, or 1/sqrt(u), grow by nu, or c, in
every layer, and so by induction in all of them. A line with a kink of weight w at zero has
``f = k (sin t - t cos t)`` with ``rho = cos t`` and ``k = w^2/(2 pi E s^2)``.
"""

import math
from typing import Any

import flint

from theory import conditioning
from verify.claim import certified, grid
from verify.claims._certified import agree, points
from verify.claims._predictors import changed
from verify.claims.deep_conditioning._sources import ours
from verify.claims.deep_conditioning._subjects import mu_of, subject
from verify.compare import CertifiedAtLeast, Enclosure
from verify.enclose import Cover, above, below, minimum, quotient

_QUARTER_TURN = 1.5708  # just beyond pi/2, where rho = 0
_KINKED = {"relu": 0.0, "abs": -1.0, "leaky_relu(0.2)": 0.2, "leaky_relu(0.01)": 0.01}
"""Slope below zero, by name; above it is one."""
_TERMS = 20


def _cube(t: Any) -> Any:
    """(sin t - t cos t)/t^3 = sum_n (-1)^n 2 (n + 1) t^(2n)/(2n + 3)!, alternating."""
    square, total = t * t, flint.arb(0)
    for n in reversed(range(_TERMS)):
        total = total * square + flint.arb((-1) ** n * 2 * (n + 1)) / math.factorial(
            2 * n + 3
        )
    # For t^2 <= 3 the terms fall: the rest is less than the first one left out.
    rest = flint.arb(3) ** _TERMS / math.factorial(2 * _TERMS)
    return total + flint.arb(0, rest)


def _share(t: Any) -> Any:
    """u/t^2 = (sin(t/2)/(t/2))^2/2."""
    return (t / 2).sinc() ** 2 / 2


def _weight(activation: str) -> float:
    """Return k, once the library's dual is found to be the one with it."""
    a = subject(activation)
    jump = float(a.derivative(1.0)) - float(a.derivative(-1.0))
    k = jump**2 / (2.0 * math.pi * a.second_moment)
    agree(
        lambda t: a.dual(math.cos(t)) / a.second_moment,
        lambda t: t.cos() + k * (t.sin() - t * t.cos()),
        points((0.1, 1.5)),
    )
    return k


def _square_root_rate() -> Cover:
    """Enclose the least (sin t - t cos t)/u^(3/2)."""

    def share(t: Any) -> Any:
        root = _share(t).sqrt()
        return _cube(t) / root**3

    return minimum(share, ((0.0, _QUARTER_TURN),), tolerance=1e-6)


def _times(cover: Cover, factor: Any) -> Enclosure:
    words = "every rho in [0, 1), rho -> 1, and so every depth"
    low, high = factor * flint.arb(cover.lower), factor * flint.arb(cover.upper)
    return Enclosure(below(low), above(high), words, len(cover.leaves))


def _defined(activation: str) -> Any:
    """Return k of the definition: w = 1 - s, E s^2 = (1 + s^2)/2."""
    slope = flint.arb(_KINKED[activation])
    return (1 - slope) ** 2 / (flint.arb.pi() * (1 + slope**2))


def _measure_algebraic(*, activation: str) -> Enclosure:
    if activation == "exp":

        def fall(u: Any) -> Any:
            return (-u).exp() - 1 + u

        bend = quotient(fall, flint.arb(0), 2)
        return _times(minimum(bend, ((0.0, 1.0),), tolerance=1e-4), flint.arb(1))

    def over_t(t: Any) -> Any:
        # The numerator is positive, and the quotient unbounded at t = 0.
        return _cube(t) / _share(t) ** 2 / max(t.abs_upper(), flint.arb(2.0**-30))

    cover = minimum(over_t, ((0.0, _QUARTER_TURN),), tolerance=1e-4)
    return _times(cover, _defined(activation))


def _predict_algebraic(*, activation: str) -> float:
    if activation in _KINKED:
        _weight(activation)
    nu = float(subject(activation).nu)
    agree(
        lambda l: conditioning.unit_slope_bound(int(l), nu),
        lambda l: 1 / (1 + flint.arb(nu) * int(float(l))),
        points((1.0, 300.0)),
    )
    return (1.0 / conditioning.unit_slope_bound(1, nu) - 1.0) * (1.0 - 1e-12)


def _measure_square(*, activation: str) -> Enclosure:
    return _times(_square_root_rate(), _defined(activation))


def _predict_square(*, activation: str) -> float:
    # Least for near inputs: (1/3)/(1/2)^(3/2) of k.
    return _weight(activation) * math.sqrt(8.0) / 3.0 * (1.0 - 4e-6)


def _wrong_square(*, activation: str) -> float:
    """The value at orthogonal inputs, at every correlation."""
    a = subject(activation)
    return float(a.dual(0.0)) / a.second_moment


_BALLS = ("E sigma'^2 = E sigma^2", "rho >= 0", "Ball arithmetic (Arb), 160 bits")

CLAIMS = (
    certified(
        id="dc/lemC.32-certified",
        title="Slope one at rho = 1: correlations tend to one at least as fast as 1/(nu L)"
        " (certified)",
        statement=r"\frac{\hat\sigma(1 - u) - (1 - u)}{u^2} \ge \nu,\ 0 < u \le 1"
        r"\;\Rightarrow\; 1 - \hat\sigma^{(L)}(\rho) \le \frac{1}{1 + \nu L}",
        source=ours("Lemma C.32 (constants ours)"),
        cases=grid(activation=(*_KINKED, "exp")),
        predict=_predict_algebraic,
        measure=_measure_algebraic,
        compare=CertifiedAtLeast(),
        must_refute=changed(
            mu_of, "The coefficient mu of the centred activation in the place of nu."
        ),
        uses=("dc/lemC.32",),
        assumptions=_BALLS,
    ),
    certified(
        id="dc/lemC.32-kinked",
        title="Slope one and a kink: correlations tend to one at least as fast as 1/L^2",
        statement=r"\frac{\hat\sigma(1 - u) - (1 - u)}{u^{3/2}} \ge 2c ="
        r" \frac{\sqrt2}{3\pi} \frac{w^2}{\mathbb{E}\,\sigma^2} \;\Rightarrow\;"
        r" 1 - \hat\sigma^{(L)}(\rho) \le \frac{1}{(1 + c L)^2}",
        source=ours("Lemma C.32 (sharpened)"),
        cases=grid(activation=tuple(_KINKED)),
        predict=_predict_square,
        measure=_measure_square,
        compare=CertifiedAtLeast(),
        must_refute=_wrong_square,
        uses=("dc/lemC.32",),
        assumptions=(*_BALLS, "w: the jump of the slope at zero"),
        finding=(
            "For ReLU c = sqrt(2)/(3 pi), and L^2 (1 - rho_L) tends to 1/c^2 = 9 pi^2/2:"
            " 1/L is the rate of smooth activations alone."
        ),
    ),
)
