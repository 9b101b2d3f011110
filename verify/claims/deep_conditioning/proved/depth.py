r"""What follows from one layer for all: theorems over every depth, mu, delta and n.

A bound that is kept from layer to layer holds at every depth by induction; each
certificate is the step, over all values of the two numbers that it depends on.
"""

import math
from typing import Any

import flint

from theory import conditioning as dc
from theory import kernels, optimization
from verify.claim import certified, grid
from verify.claims._certified import agree, common, points
from verify.claims._predictors import always, mapped, mistake, times
from verify.claims.deep_conditioning._sources import as_read, forced, ours, quoted
from verify.claims.deep_conditioning._subjects import mu_of, subject
from verify.claims.deep_conditioning.proved._energies import (
    SLOPED,
    coefficients,
    powers,
    slope_energy,
)
from verify.compare import CertifiedAtLeast, CertifiedAtMost, Enclosure
from verify.enclose import (
    BITS,
    Box,
    Cover,
    above,
    maximum,
    minimum,
    partial,
    quotient,
    ratio,
)

_UNIT = (0.0, 1.0)
_HALF = (0.0, 0.5)


def _most(function: Any, box: Box) -> Cover:
    gradient = tuple(partial(function, axis) for axis in range(len(box)))
    return maximum(function, box, gradient=gradient, tolerance=1e-12)


# --- Theorem 3.2: the schedule --------------------------------------------------------
#
# No layer maps r to more than r (1 - mu (1 - r)), or a distance d to less than
# d (1 + mu (1 - d)): dc/lemC.5-certificate. The schedule's own steps are smaller.


def _largest(d: float, mu: float) -> float:
    return dc.one_layer_bound(d, mu, middle=True)


def _gain(x: Any, _: Any) -> Any:
    """What a layer gains over mu: 1 - layer(r)/r, and (1 - layer(1 - d))/d - 1."""
    return 1 - x


def _measure_schedule(*, stage: str) -> Enclosure:
    cover = minimum(_gain, (_HALF, _UNIT), target=0.5)
    return cover.enclosure(f"every step of the {stage} stage, every mu in (0, 1]")


def _steps(stage: str) -> list[float]:
    """Return what the library's schedule gains in a layer, over mu, at random points."""
    far, near = points((0.1, 0.5), (0.1, 1.0)), points((0.1, 0.5), (0.1, 1.0), seed=1)
    agree(lambda r, m: (1.0 - _largest(1.0 - r, m) / r) / m, _gain, far)
    agree(lambda d, m: ((1.0 - _largest(d, m)) / d - 1.0) / m, _gain, near)
    found: list[float] = []
    for mu, share in points((0.01, 1.0), (0.05, 0.9)):
        delta = 1e-3 * share
        start = dc.burn_in_depth(delta, mu)
        for depth in (0, start // 2) if stage == "early" else (start + 1, start + 9):
            low, high = (dc.correlation_bound(depth + k, delta, mu) for k in (0, 1))
            if stage == "early" and depth + 1 <= start:
                found.append(((1.0 - high) / (1.0 - low) - 1.0) / mu)
            elif stage == "late":
                found.append((1.0 - high / low) / mu)
    # At the end of the early stage r is at most 1/2, where the late one starts.
    for mu, share in points((0.01, 1.0), (0.05, 0.9), seed=1):
        if dc.correlation_bound(dc.burn_in_depth(share, mu), share, mu) > 0.5:
            raise ArithmeticError("the schedule waits too short")
    return found


def _predict_schedule(*, stage: str) -> float:
    # Differences of numbers near one lose 1e-16/(delta mu).
    return common(_steps(stage), relative=1e-9) * (1.0 - 2e-9)


# --- Theorem 3.4: the tangent kernel --------------------------------------------------
#
# T_L / T_11 is a mean of c_h = r_h g(r_h) ... g(r_{L-1}) with g = f'/D, f = dual and r_h
# the correlations; where g(r) is at most f(r)/r no c_h exceeds c_L = r_L. f(r)/r - g(r) is
# sum_k p_k (1 - k/D) r^(k-1), which vanishes at one: the factor 1 - r leaves the sums
# of the first coefficients, which are positive since their signs change once.

_ORDER = 12


def _measure_tangent(*, activation: str) -> Enclosure:
    a, square = coefficients(activation)
    with flint.ctx.workprec(BITS):
        variance = square - a[0] * a[0]
        slope = slope_energy(activation) / variance
        sums, total = [], flint.arb(0)
        for k in range(1, _ORDER):
            total += a[k] * a[k] / variance * (1 - k / slope)
            # Non-negative by the change of signs: zero past the last energy.
            sums.append(total.nonnegative_part() if k > 1 else total)
        f = powers(tuple(sums))
        cover = minimum(f, (_UNIT,), gradient=(partial(f, 0),))
        return Enclosure(
            cover.lower,
            above(sums[0]),
            "every rho in [0, 1), and rho -> 1",
            len(cover.leaves),
        )


def _predict_tangent(*, activation: str) -> float:
    a = subject(activation).normalized()
    # Attained as rho tends to zero; to the rounding of mu and D.
    return (1.0 - a.mu) * (1.0 - 1.0 / a.derivative_second_moment) - 2e-14


# --- condition numbers ----------------------------------------------------------------
#
# With entries off the diagonal at most t: Gershgorin's discs give, for every matrix,
# (kappa - 1)/(n t) <= 2 (1 - 1/n)/(1 - (n - 1) t), and the trace (kappa - 1)/(n t) <=
# 1/(1 - t) where the smallest eigenvalue is at least 1 - t.


def _gershgorin(x: Any, u: Any) -> Any:
    """Of x = n t and u = 1/n."""
    return ratio(2 * (1 - u), 1 - x * (1 - u))


def _measure_rows(**_: Any) -> Enclosure:
    cover = _most(_gershgorin, (_HALF, _HALF))
    return cover.enclosure("every matrix, every n >= 2 and n -> inf, every n t <= 1/2")


def _measure_trace(**_: Any) -> Enclosure:
    cover = _most(lambda t: ratio(1 + 0 * t, 1 - t), (_HALF,))
    return cover.enclosure("every matrix, every n, every t <= 1/2")


def _bounds(kind: str, assumption: Any) -> list[float]:
    """Return (bound - 1)/(n t) of the library, t its own bound on an entry."""
    agree(
        lambda t, n: (1.0 + (n - 1.0) * t) / (1.0 - (n - 1.0) * t) - 1.0,
        lambda t, n: _gershgorin(n * t, 1 / n) * n * t,
        points((0.0, 0.05), (2.0, 9.0)),
    )
    found: list[float] = []
    for mu, d, share in points((0.05, 1.0), (0.001, 0.999), _UNIT):
        n = 2 + int(60 * share)
        if kind == "nngp":
            first = dc.depth_for_condition_number(d, mu, n, assumption=assumption)
            depth = max(first, dc.burn_in_depth(d, mu) + 1)
            entry = dc.correlation_bound(depth, d, mu)
            bound = dc.nngp_condition_bound(depth, d, mu, n, assumption=assumption)
        else:
            depth = max(dc.ntk_threshold_depth(d, mu, n, assumption=assumption), 1) + 1
            entry = 2.0 * dc.correlation_bound(depth / 2.0, d, mu)
            bound = dc.ntk_condition_bound(depth, d, mu, n, assumption=assumption)
        if not n * entry <= (0.5 if assumption == "A" else 0.5 * n) * (1.0 + 1e-12):
            raise ArithmeticError(f"too early: n t = {n * entry} at depth {depth}")
        if bound - 1.0 > 1e-6:  # below, the difference is rounding
            found.append((bound - 1.0) / (n * entry))
    return found


def _predict_condition(*, kind: str, assumption: str) -> float:
    # One is subtracted from a bound that is above 1 + 1e-6.
    return common(_bounds(kind, assumption), relative=1e-9) * (1.0 + 2e-9)


# --- one constant each ----------------------------------------------------------------


def _measure_wait() -> Enclosure:
    def growth(nu: Any) -> Any:
        return quotient(lambda x: (1 + x / 2).log(), flint.arb(0), 1)(nu)

    return minimum(growth, (_UNIT,), tolerance=1e-9).enclosure("every nu in (0, 1]")


def _predict_wait() -> float:
    # The least layers for each factor of ten, by the library, at nu = 1.
    far, near = dc.burn_in_depth(1e-300, 1.0), dc.burn_in_depth(1e-10, 1.0)
    return math.log(1e290) / (far - near + 1.0)


def _measure_descent() -> Enclosure:
    # x = lambda/lambda_max: one step leaves the share 1 - x of a residual.
    def room(x: Any) -> Any:
        return quotient(lambda z: z - 1 + (-z).exp(), flint.arb(0), 2)(x)

    cover = minimum(room, (_UNIT,), tolerance=1e-13)
    return cover.enclosure("every eigenvalue, and x -> 0")


def _predict_descent() -> float:
    agree(
        lambda t, x: optimization.gradient_descent_bound(t, 1.0 / x),
        lambda t, x: (-2 * t * x).exp(),
        points((0.0, 9.0), (0.01, 1.0)),
    )
    # Least at x = 1, where e^{-x} is the root of the loss's factor.
    return optimization.gradient_descent_bound(0.5, 1.0) * (1.0 - 1e-12)


def _gap(t: Any) -> Any:
    """The least eigenvalue of two points at an angle of t."""
    pi = flint.arb.pi()
    return (pi - t.sin() - (pi - t) * t.cos()) / (2 * pi)


def _measure_two_points() -> Enclosure:
    def share(t: Any) -> Any:
        # 1 - cos t = t^2 sinc(t/2)^2 / 2.
        return quotient(_gap, flint.arb(0), 2)(t) / ((t / 2).sinc() ** 2 / 2)

    # The end is just beyond pi/2, where delta = 1.
    cover = minimum(share, ((0.0, 1.5707963267948968),), tolerance=1e-6)
    return cover.enclosure("every delta in (0, 1], and delta -> 0")


def _predict_two_points() -> float:
    relu = subject("relu")

    def least(t: float) -> float:
        k = kernels.nngp([[1.0, 0.0], [math.cos(t), math.sin(t)]], relu, 1)
        return float(k[0, 0] - k[0, 1])

    agree(least, _gap, points((0.1, 1.5)))
    return least(math.acos(0.0)) * (1.0 - 1e-5)


_BALLS = ("Ball arithmetic (Arb), 160 bits",)

CLAIMS = (
    certified(
        id="dc/thm3.2-induction",
        items=("Thm3.2", "LemC.7", "B"),
        title="Every layer preserves the correlation bound B, for every mu and delta",
        statement=r"|\hat\sigma(\rho)| \le |\rho| (1 - \mu (1 - |\rho|)),\ |\rho| \le"
        r" B(L, \delta) \;\Rightarrow\; |\hat\sigma(\rho)| \le B(L + 1, \delta)",
        source=quoted("Theorem 3.2 and Lemma C.7"),
        cases=grid(stage=("early", "late")),
        predict=_predict_schedule,
        measure=_measure_schedule,
        compare=CertifiedAtLeast(),
        must_refute=mistake("The rate mu in the place of mu/2.", then=times(2.0)),
        assumptions=(*_BALLS, "gains of a layer over mu: d (1 - d), r (1 - r)"),
        uses=("dc/lemC.5-certificate", "dc/B"),
        finding="With the certificate of Lemma C.5 this gives the theorem at every depth.",
    ),
    certified(
        id="dc/thm3.4-induction",
        items=("Thm3.4", "E6"),
        title="No layer lets the tangent ratio exceed the correlation: 23 activations"
        " (certified)",
        statement=r"\frac{1}{1 - \rho} \left(\frac{\hat\sigma(\rho)}{\rho} -"
        r" \frac{\hat\sigma'(\rho)}{D}\right) \ge (1 - \mu)\left(1 - \frac1D\right),"
        r"\ 0 < \rho < 1 \;\Rightarrow\; \frac{|T_{ij}|}{T_{11}} \le"
        r" \hat\sigma^{(L)}(|x_i \cdot x_j|)",
        source=ours("Theorem 3.4 (sharpened)"),
        cases=grid(activation=SLOPED),
        predict=_predict_tangent,
        measure=_measure_tangent,
        compare=CertifiedAtLeast(),
        must_refute=mapped(
            mu_of, "1 - mu, without the factor 1 - 1/D.", lambda mu: 1.0 - mu
        ),
        assumptions=(*_BALLS, "energies are non-negative: signs change once"),
        uses=("dc/tab2-slopes-enclosed", "dc/lemC.5-certificate"),
    ),
    *(
        certified(
            id=f"dc/{item.lower()}-matrices",
            items=(item, assume),
            title=title,
            statement=statement,
            source=place(item.replace("Cor", "Corollary ")),
            cases=({"kind": kind, "assumption": assume[-1]},),
            predict=_predict_condition,
            measure=_measure_rows if assume == "AsmA" else _measure_trace,
            compare=CertifiedAtMost(),
            must_refute=mistake(
                "Half of the condition number's excess over one.", then=times(0.5)
            ),
            assumptions=(
                *_BALLS,
                "L at least the corollary's depth",
                "unit diagonal; B bounds entries off it, or 1 less the least eigenvalue",
                "B: B(L, delta), or 2 B(L/2, delta) of tangent kernels",
            ),
            uses=(uses,),
        )
        for item, assume, kind, place, uses, title, statement in (
            (
                *("Cor3.3", "AsmA", "nngp", forced, "dc/thm3.2-induction"),
                (
                    "Corollary 3.3: from bounds on entries to condition numbers, for every"
                    " matrix and n"
                ),
                r"\frac{\kappa(K) - 1}{n B} \le 4, \quad n B \le \tfrac12",
            ),
            (
                *("Cor3.5", "AsmA", "ntk", as_read, "dc/thm3.4"),
                (
                    "Corollary 3.5: from tangent ratios to condition numbers, for every"
                    " matrix and n"
                ),
                r"\frac{\kappa(T) - 1}{n t} \le 4, \quad n t \le \tfrac12",
            ),
            (
                *("Cor3.7", "AsmB", "nngp", as_read, "dc/thm3.6"),
                (
                    "Corollary 3.7: from the least eigenvalue to condition numbers, for"
                    " every matrix and n"
                ),
                r"\frac{\kappa(K) - 1}{n B} \le 2, \quad B \le \tfrac12",
            ),
            (
                *("Cor3.9", "AsmB", "ntk", as_read, "dc/thm3.8"),
                (
                    "Corollary 3.9: from the least tangent eigenvalue to condition numbers,"
                    " every matrix"
                ),
                r"\frac{\kappa(T) - 1}{n t} \le 2, \quad t \le \tfrac12",
            ),
        )
    ),
    certified(
        id="dc/B-order",
        title="The burn-in takes at most log(1/delta) / (nu log(3/2)) layers",
        statement=r"\frac{\log(1 + \nu/2)}{\nu} \ge \log\tfrac32, \quad 0 < \nu \le 1",
        source=ours("After the definition of L_0 (constant ours)"),
        cases=({},),
        predict=_predict_wait,
        measure=_measure_wait,
        compare=CertifiedAtLeast(),
        must_refute=always(0.5, "1/2 in the place of log(3/2)."),
        uses=("dc/B",),
        assumptions=_BALLS,
    ),
    certified(
        id="dc/thmE.8-step",
        title="One step of gradient descent shrinks every residual at least by"
        " e^(-1/kappa)",
        statement=r"\frac{e^{-x} - (1 - x)}{x^2} \ge e^{-1}, \quad"
        r" x = \lambda / \lambda_{\max} \in (0, 1]",
        source=ours("Theorem E.8 (one step)"),
        cases=({},),
        predict=_predict_descent,
        measure=_measure_descent,
        compare=CertifiedAtLeast(),
        must_refute=always(
            0.5, "The share 1/2 at every step size, its limit at small steps."
        ),
        uses=("dc/thmE.8-values",),
        assumptions=_BALLS,
    ),
    certified(
        id="dc/thmH.1-two-points-bound",
        title="Two points at any distance: the ReLU kernel's least eigenvalue, at least"
        " 0.34 delta",
        statement=r"\frac{\lambda_{\min}}{\delta} \ge \frac{\pi - 1}{2 \pi},"
        r"\quad 0 < \delta \le 1",
        source=ours("Theorem H.1 (for two points)"),
        cases=({},),
        predict=_predict_two_points,
        measure=_measure_two_points,
        compare=CertifiedAtLeast(),
        must_refute=always(0.5, "The limit at coinciding points, at every distance."),
        uses=("dc/thmH.1-two-points", "dc/tab1"),
        assumptions=(*_BALLS, "x . y = 1 - delta: opposite signs leave more"),
        finding="Attained by orthogonal points; close points have nearly delta/2.",
    ),
)
