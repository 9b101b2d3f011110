r"""Section 3's lemmas on activations with a mean, proved between their ends.

With the energies ``p_k = a_k^2 / E s^2``, which are non-negative and sum to one, and the
fixed point ``b`` of ``f(x) = sum_k p_k x^k`` in a ball, every bound is one on a divided
difference of f: a power series in the correlation with non-negative coefficients, with
the factors that vanish at ``b`` and at one divided out,

    f[x, 1]    = sum_j q_j x^j,                       q_j = p_{j+1} + p_{j+2} + ...
    f[x, b]    = sum_k p_k (x^(k-1) + ... + b^(k-1)),
    f[x, b, 1] = sum_k p_k h_{k-2}(x, b, 1),   f[x, b, b] = sum_k p_k h_{k-2}(x, b, b)

(h_n: all monomials of degree n). The terms left out are non-negative and bounded by what
is left of the energy.
"""

from functools import partial
from typing import Any

import flint
import numpy as np

from theory import conditioning
from verify.claim import Claim, certified, grid
from verify.claims._predictors import always, mapped, mistake, times
from verify.claims.deep_conditioning._sources import as_read, ours, quoted
from verify.claims.deep_conditioning._subjects import energies, nu_of, subject
from verify.claims.deep_conditioning.proved import _energies
from verify.claims.deep_conditioning.proved._energies import energies_with_mean, powers
from verify.claims.deep_conditioning.proved.constants import (
    fixed_point_enclosed,
    order_of,
)
from verify.compare import CertifiedAtLeast, CertifiedAtMost, Enclosure
from verify.enclose import BITS, Cover, above, ball, below, maximum, minimum
from verify.enclose import partial as slope

_EXPANDING = ("gelu", "silu", "mish", "elu", "step", "relu_squared")


def _setting(activation: str) -> tuple[_energies.Energies, Any]:
    found = fixed_point_enclosed(activation)
    shares = energies_with_mean(activation, order_of(activation))
    return shares, ball((found.lower, found.upper))


def _divided(found: _energies.Energies, at: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the coefficients in x of the sum of p_k h_{k-n}(x, at), n of them at."""
    coefficients = list(found.p)
    for point in at:
        # Synthetic division by (x - point), the remainder dropped.
        total, out = flint.arb(0), []
        for c in reversed(coefficients[1:]):
            total = c + total * point
            out.append(total)
        coefficients = out[::-1]
    return tuple(coefficients)


def _cover(find: Any, coefficients: tuple[Any, ...], low: Any, high: Any) -> Cover:
    f = powers(coefficients)
    return find(f, ((below(low), above(high)),), gradient=(slope(f, 0),))


# --- Lemma C.24 and the parts of Lemma C.28 -------------------------------------------


def _measure_parabola(*, activation: str) -> Enclosure:
    with flint.ctx.workprec(BITS):
        found, b = _setting(activation)
        coefficients = _divided(found, (b, flint.arb(1)))
        cover = _cover(minimum, coefficients, b, flint.arb(1))
        # At x = b, where it is least: h_{k-2}(b, b, 1) is at most (1 - b)^-2.
        upper = above(powers(coefficients)(b) + found.q[-1] / (1 - b) ** 2)
    words = "every rho in [fixed point, 1]"
    return Enclosure(cover.lower, upper, words, len(cover.leaves))


def _predict_parabola(*, activation: str) -> float:
    return subject(activation).nu * (1.0 - 1e-12)


_WHOLE = "nu in the place of nu / 2 times the distance of the fixed point from one."


def _measure_near_one(*, activation: str) -> Enclosure:
    with flint.ctx.workprec(BITS):
        found, b = _setting(activation)
        half = (1 + b) / 2
        cover = _cover(minimum, found.q, half, flint.arb(1))
        upper = above(
            powers(found.q)(half) + found.q[-1] * half ** len(found.q) / (1 - half)
        )
    words = "every delta in [0, bar_delta / 2]"
    return Enclosure(cover.lower, upper, words, len(cover.leaves))


def _predict_slope(*, activation: str, rates: float) -> float:
    """One, and so many times nu (1 - point)/2."""
    a = subject(activation)
    return 1.0 + rates * (a.nu * (1.0 - a.fixed_point()) / 2.0)


def _measure_rate(words: str, *, activation: str, start: float | None) -> Enclosure:
    # Of the largest f[x, b] from a start, or from the fixed point, half way to one.
    with flint.ctx.workprec(BITS):
        found, b = _setting(activation)
        half = (1 + b) / 2
        coefficients = _divided(found, (b,))
        low = b if start is None else flint.arb(start)
        cover = _cover(maximum, coefficients, low, half)
        lower = below(powers(coefficients)(half))
        # What is left out, for b <= x: k x^(k-1) falls from k = n on.
        n = len(found.p)
        rest = found.q[-1] * n * half ** (n - 1)
        upper = above(flint.arb(cover.upper) + rest)
    return Enclosure(lower, upper, words, len(cover.leaves))


def _measure_below(*, activation: str) -> Enclosure:
    with flint.ctx.workprec(BITS):
        found, b = _setting(activation)
        coefficients = _divided(found, (b, b))
        cover = _cover(minimum, coefficients, flint.arb(0), b)
        # h_{k-2}(0, b, b) = (k - 1) b^(k-2), which falls from k = n on.
        n = len(found.p)
        rest = found.q[-1] * n * b ** (n - 2)
        upper = above(coefficients[0] + rest)
    words = "every rho in [0, fixed point)"
    return Enclosure(cover.lower, upper, words, len(cover.leaves))


def _wrong_below(*, activation: str) -> float:
    """Half of the dual's curvature at the fixed point, at every correlation."""
    k, b = np.arange(2, 101), subject(activation).fixed_point()
    p = energies(activation, centred=False, order=100)[2:]
    return float(p @ (k * (k - 1) / 2.0 * b ** (k - 2)))


def _measure_negative(*, activation: str) -> Enclosure:
    # (f(-r) + r - p_0 (1 + r))/r = sum_{k >= 2} p_k (1 + (-1)^k r^(k-1)), where the
    # terms of odd k are non-negative and those of even k at least p_k.
    with flint.ctx.workprec(BITS):
        found = energies_with_mean(activation, order_of(activation))
        least = sum(found.p[2::2], flint.arb(0)).nonnegative_part()
        upper = above(sum(found.p[2:], found.q[-1]))
    return Enclosure(below(least), upper, "every rho in [-1, 0), and rho -> 0", 1)


def _wrong_negative(*, activation: str) -> float:
    """All energy but that of the linear part, the mean's not taken off."""
    return 1.0 - energies(activation, centred=False, order=1)[1]


def _predict_contraction(*, activation: str) -> float:
    return conditioning.fixed_point_convergence(subject(activation), 0.5).rate


def _wrong_contraction(*, activation: str) -> float:
    """The squared slope at the fixed point, from every start."""
    a = subject(activation)
    return (a.dual_derivative(a.fixed_point()) / a.second_moment) ** 2


_ASSUMPTIONS = (
    "energies are squares and sum to E sigma^2 (Parseval)",
    "Ball arithmetic (Arb): integrals at 100 bits, boxes at 160",
)


def _claim(*, id: str, **fields: Any) -> Claim:
    """Return a certificate over the activations that expand, resting on its plain claim."""
    settled: dict[str, Any] = {
        "assumptions": _ASSUMPTIONS,
        "cases": grid(activation=_EXPANDING),
        "uses": (id.removesuffix("-certified"), "dc/lemC.26-enclosed"),
    }
    return certified(id=id, **settled | fields)


CLAIMS = (
    _claim(
        id="dc/lemC.24-certified",
        title="Above its fixed point the dual lies below a parabola, everywhere"
        " (certified)",
        source=quoted("Lemma C.24"),
        statement=r"\frac{\rho - \hat\sigma(\rho)}{(\rho - \bar\rho)(1 - \rho)} \ge \nu,"
        r"\quad \bar\rho < \rho < 1",
        predict=_predict_parabola,
        measure=_measure_parabola,
        compare=CertifiedAtLeast(),
        must_refute=mistake(
            "Twice the coefficient nu of the second-order term.", then=times(2.0)
        ),
    ),
    _claim(
        id="dc/lemC.28-near-one-certified",
        title="Uncentred activations: one layer moves near-duplicates apart (certified)",
        source=quoted("Lemma C.28 (1)"),
        statement=r"\frac{1 - \hat\sigma(1 - \delta)}{\delta} \ge"
        r" 1 + \frac{\nu \bar\delta}{2}, \quad 0 < \delta \le \bar\delta / 2",
        predict=partial(_predict_slope, rates=1.0),
        measure=_measure_near_one,
        compare=CertifiedAtLeast(),
        must_refute=mapped(nu_of, _WHOLE, lambda nu: 1.0 + nu),
    ),
    _claim(
        id="dc/lemC.28-above-certified",
        title="Uncentred activations: correlations above the fixed point contract to"
        " it (certified)",
        source=quoted("Lemma C.28 (2)"),
        statement=r"\frac{\hat\sigma(\rho) - \bar\rho}{\rho - \bar\rho} \le"
        r" 1 - \frac{\nu \bar\delta}{2}, \quad \bar\rho < \rho \le (1 + \bar\rho) / 2",
        predict=partial(_predict_slope, rates=-1.0),
        measure=partial(
            _measure_rate,
            "every rho in (fixed point, (1 + fixed point) / 2]",
            start=None,
        ),
        compare=CertifiedAtMost(),
        must_refute=mapped(nu_of, _WHOLE, lambda nu: 1.0 - nu),
    ),
    _claim(
        id="dc/lemC.28-below-certified",
        title="Uncentred activations: below the fixed point, the dual is above its"
        " tangent (certified)",
        source=as_read("Lemma C.28 (3)"),
        statement=r"\frac{\hat\sigma'(\bar\rho)(\bar\rho - \rho) -"
        r" (\bar\rho - \hat\sigma(\rho))}{(\bar\rho - \rho)^2} \ge 0,"
        r"\quad 0 \le \rho < \bar\rho",
        predict=always(0.0),
        measure=_measure_below,
        compare=CertifiedAtLeast(),
        must_refute=_wrong_below,
    ),
    _claim(
        id="dc/lemC.28-negative-certified",
        title="Uncentred activations: negative correlations rise by the mean's energy"
        " (certified)",
        source=ours("Lemma C.28 (4), sharpened"),
        statement=r"\frac{\hat\sigma(\rho) - \rho - a_0^2 (1 - \rho)}{|\rho|} \ge 0,"
        r"\quad -1 \le \rho < 0",
        cases=grid(activation=(*_EXPANDING, "relu", "softplus", "exp", "cos")),
        uses=("dc/lemC.28-negative",),
        predict=always(0.0),
        measure=_measure_negative,
        compare=CertifiedAtLeast(),
        must_refute=_wrong_negative,
        finding="The quotient tends to nu as the correlation tends to zero.",
    ),
    _claim(
        id="dc/thm3.10-certified",
        title="Uncentred activations: every layer contracts to the fixed point (certified)",
        items=("Thm3.10", "LemC.30"),
        source=ours("Theorem 3.10 and Lemma C.30 (constants ours)"),
        statement=r"|\hat\sigma^{(L)}(\rho) - \bar\rho| \le q^L |\rho - \bar\rho|,\quad"
        r" q = \max(1 - \nu \bar\delta / 2, \hat\sigma'(\bar\rho)),\quad"
        r" 0 \le \rho \le (1 + \bar\rho) / 2",
        predict=_predict_contraction,
        measure=partial(
            _measure_rate,
            "every rho in [0, (1 + fixed point) / 2], and so every depth",
            start=0.0,
        ),
        compare=CertifiedAtMost(),
        must_refute=_wrong_contraction,
        finding="The contraction of one layer maps the interval into itself.",
    ),
)
