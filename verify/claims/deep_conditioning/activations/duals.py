"""Duals where their digits are easily lost: opposite inputs, waves, steep lengths.

The measured side is the definition: `verify.integrals`, formulas at 60 digits, and
numerical derivatives of these.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import pairwise, product
from typing import Any

import flint
import mpmath
import numpy as np

from theory import activations as act
from theory import kernels
from verify.claim import grid, numeric
from verify.claims._predictors import mistake
from verify.claims.deep_conditioning._sources import ours, quoted
from verify.claims.deep_conditioning._subjects import (
    ONE_VARIANCE,
    law,
    measured,
    subject,
)
from verify.claims.deep_conditioning.kernels import _pairs as pairs
from verify.compare import AgreesTo, Array
from verify.integrals import BITS, hermite_polynomial, mpf

# --- opposite inputs --------------------------------------------------------------------

_DISTANCES = tuple(2.0**-k for k in (2, 6, 10, 20, 30, 40))
"""Of the correlation from -1: -1 + d is a float64."""


def _predict_opposite(*, activation: str, nearer: float = 1.0) -> Array:
    rho = nearer * np.array(_DISTANCES) - 1.0
    return subject(activation).dual_derivative(rho)


OPPOSITE = numeric(
    id="dc/defC.1-opposite",
    title="Slopes of duals keep every digit next to opposite inputs",
    statement=r"\hat\sigma'(-1 + d) = \mathbb{E}[\sigma'(u) \sigma'(v)], \quad"
    r" 2^{-40} \le d \le \tfrac14",
    source=quoted("Definition C.1"),
    cases=grid(activation=("relu", "relu_squared", "hard_tanh", "leaky_relu(0.1)")),
    predict=_predict_opposite,
    measure=partial(measured, "slope", [d - 1.0 for d in _DISTANCES]),
    # Sums of positive terms: a dozen roundings.
    compare=AgreesTo(relative=2e-15),
    must_refute=mistake("The value at half the distance.", nearer=0.5),
    uses=("dc/defC.1-derivative",),
)

# --- waves ------------------------------------------------------------------------------

_WAVES = (9.0, 32.0, 40.0)
_RHOS = (-1.0, -0.98, -0.3, 0.2, 0.95, 0.999, 1.0 - 2.0**-20, 1.0)


@lru_cache(maxsize=8)
def _wave(frequency: float, even: float) -> act.Activation:
    return act.from_function(
        lambda x: 0.5 * x + even * np.cos(x) + np.sin(frequency * x),
        derivative=lambda x: 0.5 - even * np.sin(x) + frequency * np.cos(frequency * x),
        name="wave",
    )


def _predict_wave(*, frequency: float, even: float = 0.0) -> Array:
    a, rho = _wave(frequency, even), np.array(_RHOS)
    return np.concatenate([a.dual(rho), a.dual_derivative(rho) / frequency**2])


def _measure_wave(*, frequency: float, even: float = 0.0) -> list[Any]:
    """E s(u) s(v) from E u sin(wv) = rho w e^(-w^2/2), and the slope's from E cos(wv).

    What is even has no product with the rest.
    """
    with mpmath.workprec(BITS):
        w, values, slopes = mpmath.mpf(frequency), [], []
        for rho in map(mpmath.mpf, _RHOS):
            ahead, behind = (mpmath.exp(-w * w * (1 - r)) for r in (rho, -rho))
            mixed = rho * w * mpmath.exp(-w * w / 2)
            slow = even**2 / mpmath.e
            values.append(
                rho / 4 + mixed + (ahead - behind) / 2 + slow * mpmath.cosh(rho)
            )
            slope = mpmath.mpf(1) / 4 + w * mpmath.exp(-w * w / 2)
            slope += slow * mpmath.sinh(rho)
            slopes.append(slope / w**2 + (ahead + behind) / 2)
        return values + slopes


def _wrong_wave(*, frequency: float, even: float = 0.0) -> Array:
    """64 Gauss-Hermite nodes, which miss the waves."""
    a = _wave(frequency, even)
    slopes = np.array([_by_nodes(a.derivative, rho) for rho in _RHOS])
    return np.array([*(_by_nodes(a, rho) for rho in _RHOS), *slopes / frequency**2])


def _by_nodes(f: Callable[[Array], Any], rho: float) -> float:
    """E f(u) f(v) by 64 x 64 nodes."""
    z, weights = np.polynomial.hermite_e.hermegauss(64)
    weights = weights / math.sqrt(2.0 * math.pi)
    v = rho * z[:, None] + math.sqrt((1.0 - rho) * (1.0 + rho)) * z
    return float(weights @ (f(z)[:, None] * f(v)) @ weights)


WAVE = numeric(
    id="dc/defC.1-waves",
    title="Duals of functions with many waves",
    statement=r"\sigma(x) = \tfrac{x}{2} + \sin \omega x \;(+ \cos x), \quad"
    r" \omega \in \{9, 32, 40\}",
    source=ours("Definition C.1"),
    # With a cosine there are orders of both parities among the first.
    cases=(*grid(frequency=_WAVES), {"frequency": 32.0, "even": 1.0}),
    predict=_predict_wave,
    measure=_measure_wave,
    # The library's promise for functions without a formula.
    compare=AgreesTo(relative=1e-12, of_largest=True),
    must_refute=_wrong_wave,
    uses=("dc/defC.1",),
)


_NEAR = 0.9999


def _predict_packet(*, frequency: float, size: float = 1.0) -> Array:
    a = act.from_function(
        lambda x: 0.5 * x + size * np.exp(-np.square(x - 1.0)) * np.sin(frequency * x),
        name="packet",
    )
    # Beside its negative a wave has no positive product at any frequency.
    up, down = (
        act.from_function(lambda x, sign=sign: sign * np.sin(2.5 * frequency * x))
        for sign in (1.0, -1.0)
    )
    return np.append(a.dual(np.array(_RHOS)), act.pair(up, down).dual(np.array(_NEAR)))


def _measure_packet(*, frequency: float) -> list[Any]:
    """E e^(-(u - 1)^2 - (v - 1)^2 + iwu - iwv) and its like, Gaussian integrals."""
    with mpmath.workprec(BITS):
        w, one = mpmath.mpf(frequency), mpmath.mpc(2, frequency)

        def both(r: Any, other: Any) -> Any:
            whole = 9 - 4 * r * r
            form = (3 - 2 * r * r) * (one**2 + other**2) + 2 * r * one * other
            return mpmath.exp(form / (2 * whole) - 2) / mpmath.sqrt(whole)

        # E v e^(-(v - 1)^2 + iwv).
        linear = (one / 3 * mpmath.exp(one**2 / 6 - 1) / mpmath.sqrt(3)).imag
        near, more = mpmath.mpf(_NEAR), (mpmath.mpf(5) / 2 * w) ** 2
        waves = -(mpmath.exp(-more * (1 - near)) - mpmath.exp(-more * (1 + near))) / 2
        packets = [
            r / 4 + r * linear + (both(r, 2 - w * 1j) - both(r, one)).real / 2
            for r in map(mpmath.mpf, _RHOS)
        ]
        return [*packets, waves]


PACKET = replace(
    WAVE,
    id="dc/defC.1-packet",
    title="The dual of a line and a short wave, whose energy few Hermite polynomials have",
    statement=r"\sigma(x) = \tfrac x2 + e^{-(x - 1)^2} \sin \omega x; \quad"
    r" -\mathbb{E} \sin \tfrac52 \omega u \sin \tfrac52 \omega v",
    cases=grid(frequency=40.0),
    predict=_predict_packet,
    measure=_measure_packet,
    must_refute=mistake("The line alone.", size=0.0),
    uses=("dc/defC.1-waves",),
)

# --- infinite slopes --------------------------------------------------------------------

_GAPS = (1e-12, 1e-6, 0.1, 1.3)
_AT = (-0.9, 0.3, 0.999)


@lru_cache(maxsize=8)
def _root(
    power: float, scale: float, *, even: bool = False, given: bool = False
) -> act.Activation:
    def function(x: Array, p: float = power) -> Array:
        return scale * (1.0 if even else np.sign(x)) * np.abs(x) ** p

    def slope(x: Array) -> Array:
        return power * function(x, power - 1.0) * np.sign(x)

    known = slope if given else None
    return act.from_function(function, kinks=(0.0,), derivative=known, name="root")


def _predict_steep(*, power: float, scale: float = 1.0, **how: bool) -> list[float]:
    a = _root(power, scale, **how)
    steep = [a.derivative_second_moment] if power > 0.5 else []
    # One by one: the others of an array ask for what a single end may not.
    slopes = [math.atan(a.dual_derivative(r) / scale**2) for r in (0.3, 1.0, -1.0)]
    gaps = a.distance_map(np.array(_GAPS))
    return [a.second_moment, *steep, *a.dual(np.array(_AT)), *gaps, *slopes]


def _measure_steep(
    *, power: float, scale: float = 1.0, even: bool = False, given: bool = False
) -> list[Any]:
    """Moments by the Gamma function; the dual is a Gauss hypergeometric function.

    Its slope at equal inputs is E s'(Z)^2, infinite for p <= 1/2, and at opposite ones
    the same for odd powers, minus it for even ones.
    """
    del given  # of the same function
    with mpmath.workdps(50):
        p, square = mpmath.mpf(power), mpmath.mpf(scale) ** 2

        def absolute(m: Any) -> Any:
            return 2 ** (m / 2) * mpmath.gamma((m + 1) / 2) / mpmath.sqrt(mpmath.pi)

        def dual(r: Any) -> Any:
            half = mpmath.mpf(1) / 2
            if even:
                size = 2**p * mpmath.gamma((p + 1) / 2) ** 2 / mpmath.pi
                return size * mpmath.hyp2f1(-p / 2, -p / 2, half, r * r)
            shape = mpmath.hyp2f1((1 - p) / 2, (1 - p) / 2, 3 * half, r * r)
            return 2 ** (p + 1) * mpmath.gamma(1 + p / 2) ** 2 / mpmath.pi * r * shape

        steep = p * p * absolute(2 * p - 2) if power > 0.5 else mpmath.inf
        out = [absolute(2 * p), *([steep] if power > 0.5 else [])]
        out += [dual(mpmath.mpf(r)) for r in _AT]
        out = [square * moment for moment in out]
        out += [1 - dual(1 - mpmath.mpf(g)) / absolute(2 * p) for g in _GAPS]
        inner = mpmath.diff(dual, mpmath.mpf(0.3))
        ends = (steep, -steep if even else steep)
        return [*out, *map(mpmath.atan, (inner, *ends))]


def _wrong_steep(*, power: float, scale: float = 1.0, **how: bool) -> list[float]:
    """64 Gauss-Hermite nodes, too few near an infinite slope."""
    a = _root(power, scale, **how)
    square = _by_nodes(a, 1.0)
    steep = [_by_nodes(a.derivative, 1.0)] if power > 0.5 else []
    slopes = _predict_steep(power=power, scale=scale, **how)[-3:]
    return [
        *(square, *steep, *(_by_nodes(a, rho) for rho in _AT)),
        *(1.0 - _by_nodes(a, 1.0 - gap) / square for gap in _GAPS),
        *slopes,
    ]


STEEP = numeric(
    id="dc/defC.1-steep",
    title="Duals of odd and even powers with a kink at zero, or an infinite slope",
    statement=r"\sigma(x) = c\, \mathrm{sgn}(x) |x|^p: \ \hat\sigma(\rho) ="
    r" c^2 \frac{2^{p+1} \Gamma(1 + p/2)^2}{\pi} \rho\,"
    r" {}_2F_1(\tfrac{1-p}2, \tfrac{1-p}2; \tfrac32; \rho^2), \quad"
    r" \sigma(x) = |x|^p: \ \frac{2^p\, \Gamma(\frac{p+1}{2})^2}{\pi}"
    r" {}_2F_1(-\tfrac p2, -\tfrac p2; \tfrac12; \rho^2)",
    source=ours("Definition C.1"),
    cases=(
        *grid(power=(0.25, 0.4, 0.6, 0.75, 0.9)),
        # A slope grows at a kink whatever its unit: a small one is far below one there.
        {"power": 0.75, "scale": 1e-3},
        *grid(power=(0.25, 0.5, 0.6, 1.5), even=True),
        {"power": 0.25, "scale": 1e-9, "even": True},
        # Slopes that are infinite, and no chords next to the kink.
        *grid(power=(0.4, 0.6), given=True),
    ),
    predict=_predict_steep,
    measure=_measure_steep,
    # The library's promise for functions without a formula.
    compare=AgreesTo(relative=1e-12),
    must_refute=_wrong_steep,
    uses=("dc/defC.1", "dc/defC.1-distance"),
)

_POWER, _KINK, _SHARE = 0.75, 1.0, 0.5


@lru_cache(maxsize=1)
def _both() -> act.Activation:
    """Return sgn(x) |x|^p + (x - 1)_+ / 2."""
    return act.from_function(
        lambda x: (
            np.sign(x) * np.abs(x) ** _POWER + _SHARE * np.maximum(x - _KINK, 0.0)
        ),
        kinks=(0.0, _KINK),
        name="steep",
    )


def _predict_unequal(*, rho: float, var_x: float, var_y: float) -> float:
    return float(_both().dual(rho, var_x=var_x, var_y=var_y))


def _measure_unequal(*, rho: float, var_x: float, var_y: float) -> Any:
    """E s(u) E[s(v) | u], the inner mean by formulas, the outer one by quadrature."""
    with mpmath.workdps(25):
        p, r, one = mpmath.mpf(_POWER), mpmath.mpf(rho), mpmath.mpf(_KINK)
        root, other = mpmath.sqrt(mpmath.mpf(var_x)), mpmath.sqrt(mpmath.mpf(var_y))
        spread = other * mpmath.sqrt((1 - r) * (1 + r))
        gain = 2 ** (p / 2) * mpmath.gamma(1 + p / 2) * mpmath.sqrt(2 / mpmath.pi)

        def inner(z: Any) -> Any:
            m = other * r * z
            t, far = m / spread, (m - one) / spread
            shape = mpmath.hyp1f1((1 - p) / 2, mpmath.mpf(3) / 2, -t * t / 2)
            beyond = spread * mpmath.npdf(far) + (m - one) * mpmath.ncdf(far)
            return spread**p * gain * t * shape + mpmath.mpf(_SHARE) * beyond

        def outer(z: Any) -> Any:
            u = root * z
            value = mpmath.sign(u) * abs(u) ** p
            value += mpmath.mpf(_SHARE) * max(u - one, 0)
            return value * inner(z) * mpmath.npdf(z)

        return mpmath.quad(outer, [-12, -3, 0, one / root, 4, 12])


STEEP_UNEQUAL = numeric(
    id="dc/defC.1-steep-unequal",
    items=("DefC.1", "D.0"),
    title="Duals of a function with an infinite slope and a kink, of unequal inputs",
    statement=r"\sigma(x) = \mathrm{sgn}(x) |x|^{3/4} + \tfrac12 (x - 1)_+, \quad"
    r" \hat\sigma(\rho; \gamma_1, \gamma_2) = \mathbb{E}[\sigma(z_1) \sigma(z_2)]",
    source=ours("Definition C.1 and Appendix D"),
    cases=grid(rho=(-0.6, 0.5, 0.98), var_x=0.5, var_y=3.0),
    predict=_predict_unequal,
    measure=_measure_unequal,
    compare=AgreesTo(relative=1e-12),
    must_refute=ONE_VARIANCE,
    uses=("dc/defC.1-steep",),
)

# --- a step beside a kink ---------------------------------------------------------------

_STEP, _HINGE = 0.7, -0.4
_BESIDE = (-0.95, -0.3, 0.0, 0.6, 0.999)


def _predict_step(*, step: float, hinge: float) -> Array:
    a = act.from_function(lambda x: 1.0 * (x > step), name="threshold")
    b = act.from_function(lambda x: np.maximum(x - hinge, 0.0), name="hinge")
    both, rho = act.pair(a, b), np.array(_BESIDE)
    return np.concatenate([both.dual(rho), both.slope(rho)])


def _measure_step(*, step: float, hinge: float) -> list[Any]:
    """Over X beyond its step, of what is known of Y given X; and given X at the step."""
    with flint.ctx.workprec(BITS):
        root, values, slopes = flint.acb(2).sqrt(), list[Any](), list[Any]()

        def density(x: Any) -> Any:
            return (-x * x / 2).exp() / (2 * flint.acb.pi()).sqrt()

        for r in map(flint.acb, _BESIDE):
            spread = ((1 - r) * (1 + r)).sqrt()

            def share(x: Any, r: Any = r, spread: Any = spread) -> Any:
                return ((hinge - r * x) / (root * spread)).erfc() / 2

            def mean(x: Any, _: Any, r: Any = r, spread: Any = spread) -> Any:
                m = r * x - hinge
                return density(x) * (spread * density(m / spread) + m * share(x))

            values.append(flint.acb.integral(mean, step, 14).real)
            at = flint.acb(step)
            slopes.append((density(at) * share(at)).real)
        return [mpf(v) for v in (*values, *slopes)]


STEP_BESIDE = numeric(
    id="dc/defC.1-pair",
    title="Products of a threshold unit and a hinge at another place, and of their slopes",
    statement=r"\mathbb{E}\,1\{X > c\}(Y - e)_+, \quad \varphi(c)\, P(Y > e \mid X = c)",
    assumptions=("X and Y are standard normal, of any correlation",),
    source=ours("Definition C.1"),
    cases=({"step": _STEP, "hinge": _HINGE}, {"step": _HINGE, "hinge": _STEP}),
    predict=_predict_step,
    measure=_measure_step,
    # The library's promise for functions without a formula.
    compare=AgreesTo(relative=1e-12, of_largest=True),
    must_refute=mistake("The step at zero.", step=0.0),
    uses=("dc/defC.1",),
)

# --- formulas at any variances ----------------------------------------------------------

_CORRELATIONS = (-1.0, -0.999, -0.3, 0.0, 0.6, 0.999)
_DELTAS = (1e-9, 1e-3, 0.4, 1.0, 1.7, 2.0)


def _predict_formula(*, activation: str, var_x: float, var_y: float) -> Array:
    a, rho = subject(activation), np.array(_CORRELATIONS)
    # Both orders of the variances at once.
    both = {"var_x": [[var_x], [var_y]], "var_y": [[var_y], [var_x]]}
    one = a.normalized()
    each = (a.dual(rho, **both), a.dual_derivative(rho, **both))
    apart = (one.distance_map(np.array(_DELTAS)), one.dual(rho))
    return np.concatenate([*(v.ravel() for v in each), *apart])


def _measure_formula(*, activation: str, var_x: float, var_y: float) -> list[Any]:
    law = pairs.LAWS[activation]
    unit = partial(pairs.Normalised(law).two, mpmath.mpf(1), mpmath.mpf(1))
    with mpmath.workprec(BITS):
        p, q = mpmath.mpf(var_x), mpmath.mpf(var_y)
        root, rhos = mpmath.sqrt(p * q), [mpmath.mpf(r) for r in _CORRELATIONS]
        at = [law.two(p, q, rho * root) for rho in rhos]
        values, slopes = [v for v, _ in at], [root * s for _, s in at]
        gaps = [1 - unit(1 - mpmath.mpf(d))[0] for d in _DELTAS]
        rest = [unit(rho)[0] for rho in rhos]
    return [*values, *values, *slopes, *slopes, *gaps, *rest]


FORMULAS = numeric(
    id="dc/defC.1-formulas",
    items=("DefC.1", "D.0"),
    title="Duals in closed form, their slopes and their distances from one",
    statement=r"\hat\sigma(\rho; \gamma_1, \gamma_2),\quad"
    r" \partial_\rho \hat\sigma(\rho; \gamma_1, \gamma_2),\quad"
    r" 1 - \hat\sigma(1 - \delta)",
    source=quoted("Definition C.1 and Appendix D"),
    cases=grid(
        activation=(
            *("relu", "relu_squared", "erf", "gelu"),
            *("sin", "cos", "exp", "gaussian", "2 sin + cos"),
        ),
        var_x=0.49,
        var_y=(0.49, 1.7),
    ),
    predict=_predict_formula,
    measure=_measure_formula,
    # The library's promise for functions without a formula; of sums that vanish, of the
    # rounding of sizes below ten.
    compare=AgreesTo(relative=1e-12, absolute=1e-15),
    must_refute=ONE_VARIANCE,
    uses=("dc/defC.1", "dc/defC.1-unequal", "dc/defC.1-distance"),
)

# --- how lengths change -----------------------------------------------------------------

_SQUARES = (1e-4, 0.3, 1.0, 4.0, 50.0)
_FAR = [1e-4, 100.0, 784.0, 3072.0, 1e4]
"""Those of real data among them: 784 and 3,072 standardised pixels."""


def _one(
    *, activation: str, normalised: bool = False
) -> Callable[[Any], pairs.Moments]:
    law = pairs.LAWS[activation]
    return (pairs.Normalised(law) if normalised else law).one


def _predict_length(
    *,
    activation: str,
    normalised: bool = False,
    count: int | None = None,
    at: Sequence[float] = _SQUARES,
    further: float = 1.0,
) -> Array:
    a = subject(activation).normalized() if normalised else subject(activation)
    squares = [further * q for q in at]
    slopes = [a.scaled(q).derivative_second_moment for q in squares]
    rates = [a.length_map_derivative(q) for q in squares[:count]]
    return np.array([*map(a.length_map, squares), *slopes, *rates])


def _measure_length(
    *, count: int | None = None, at: Sequence[float] = _SQUARES, **which: Any
) -> list[Any]:
    one, squares = _one(**which), [mpmath.mpf(q) for q in at]
    with mpmath.workprec(2 * BITS):
        values, slopes = zip(*map(one, squares), strict=True)
        slopes = [q * slope for q, slope in zip(squares, slopes, strict=True)]
        rates = [mpmath.diff(lambda q: one(q)[0], q) for q in squares[:count]]
        return [*values, *slopes, *rates]


LENGTHS = numeric(
    id="dc/D.0-derivative",
    title="Length maps and their derivatives, of very short and very long inputs, too",
    statement=r"\hat\sigma_0(\gamma) = \mathbb{E}\, \sigma(\sqrt\gamma X)^2, \quad"
    r" \gamma\, \mathbb{E}\, \sigma'(\sqrt\gamma X)^2, \quad"
    r" \hat\sigma_0'(\gamma) = \mathbb{E}[\sigma'^2 + \sigma \sigma'']",
    source=ours("Appendix D"),
    cases=(
        *grid(activation=("erf", "gelu", "sin", "cos", "exp", "gaussian")),
        *grid(activation="relu_squared"),
        # Their means change with the length, too.
        *grid(activation=("gelu", "cos", "exp"), normalised=True),
        # Its length no longer changes at 50.
        *grid(activation="2 sin + cos", normalised=(False, True), count=4),
        # Very short and very long ones: lengths, and slopes' energies.
        *grid(
            activation=("relu", "erf", "gelu", "tanh", "selu", "sin"),
            count=0,
            at=(_FAR,),
        ),
    ),
    predict=_predict_length,
    measure=_measure_length,
    compare=AgreesTo(relative=1e-12),
    must_refute=mistake("Lengths a thousandth longer.", further=1.001),
    uses=("dc/D.0",),
    version=2,
)

# --- polynomials and steps --------------------------------------------------------------

_HERMITE = {
    "cubic": (0.5, 1.0, -0.3, 0.4),
    "late": (0.0, 0.0, 0.0, 0.0, 0.0, 0.6, 0.0, 0.8),
}
"""Coefficients of polynomials: all of them, and late ones alone."""
_FIRST, _PLACES, _HEIGHTS = 0.5, (1.0, -0.5), (2.0, 1.0)
"""The level on the left, and where what is added to it, not in order."""


def _pieced(shape: str, *, normalised: bool) -> act.Activation:
    a = (
        act.HermiteMixture(_HERMITE[shape])
        if shape in _HERMITE
        else act.PiecewisePolynomial("stairs", 0, (_FIRST,), _PLACES, _HEIGHTS)
    )
    return a.normalized() if normalised else a


def _predict_pieced(
    *, shape: str, normalised: bool, further: float = 1.0
) -> list[float]:
    a = _pieced(shape, normalised=normalised)
    slopes = a.dual_derivative(np.array(_CORRELATIONS[1:]))
    lengths = [a.length_map(further * q) for q in _SQUARES[1:]]
    rates = [a.length_map_derivative(further * q) for q in _SQUARES[1:]]
    return [*lengths, *rates, *slopes]


def _moments(shape: str, q: Any) -> tuple[Any, Any]:
    """E s and E s^2 at variance q."""
    if shape == "step":
        r, places = mpmath.sqrt(q), sorted(zip(_PLACES, _HEIGHTS, strict=True))
        level, total, square = mpmath.mpf(_FIRST), mpmath.mpf(0), mpmath.mpf(0)
        edges = [-mpmath.inf, *(c for c, _ in places), mpmath.inf]
        for (a, b), (_, jump) in zip(pairwise(edges), [*places, (0, 0)], strict=True):
            share = mpmath.ncdf(b / r) - mpmath.ncdf(a / r)
            total, square = total + level * share, square + level**2 * share
            level += jump
        return total, square
    powers = _powers(shape)
    squares = np.convolve(powers, powers)
    means = [
        q ** (n // 2) * mpmath.fac2(n - 1) if n % 2 == 0 else mpmath.mpf(0)
        for n in range(len(squares))
    ]
    return mpmath.fdot(powers, means[: len(powers)]), mpmath.fdot(squares, means)


def _powers(shape: str) -> list[Any]:
    """Return a polynomial's coefficients by powers."""
    total = [mpmath.mpf(0)] * len(_HERMITE[shape])
    for k, value in enumerate(_HERMITE[shape]):
        size = mpmath.mpf(value) / mpmath.sqrt(mpmath.factorial(k))
        for n, c in enumerate(hermite_polynomial(k).coeffs()):
            total[n] += size * mpf(c)
    return total


def _density(c: float, d: float, r: Any) -> Any:
    """Return the density of two standard normals of correlation r."""
    rest = 1 - r * r
    size = mpmath.exp(-(c * c - 2 * r * c * d + d * d) / (2 * rest))
    return size / (2 * mpmath.pi * mpmath.sqrt(rest))


def _measure_pieced(*, shape: str, normalised: bool) -> list[Any]:
    with mpmath.workprec(BITS):
        mean, whole = _moments(shape, mpmath.mpf(1))
        shift, size = (mean, whole - mean**2) if normalised else (0, 1)

        def length(q: Any) -> Any:
            average, square = _moments(shape, q)
            return (square - 2 * shift * average + shift**2) / size

        squares = [mpmath.mpf(q) for q in _SQUARES[1:]]
        rates = [mpmath.diff(length, q) for q in squares]
        rho = [mpmath.mpf(r) for r in _CORRELATIONS[1:]]
        if shape in _HERMITE:
            energies = [mpmath.mpf(a) ** 2 for a in _HERMITE[shape]]
            slopes = [
                sum(k * e * r ** (k - 1) for k, e in enumerate(energies) if k)
                for r in rho
            ]
        else:
            # Jumps multiply the density of both numbers at their places.
            each = list(zip(_PLACES, _HEIGHTS, strict=True))
            slopes = [
                mpmath.fsum(
                    a * b * _density(c, d, r)
                    for (c, a), (d, b) in product(each, repeat=2)
                )
                for r in rho
            ]
        return [*map(length, squares), *rates, *(s / size for s in slopes)]


PIECED = replace(
    LENGTHS,
    id="dc/D.0-pieces",
    title="Lengths, their derivatives and slopes of polynomials and of a staircase",
    statement=r"\gamma \mapsto \mathbb{E}\, \sigma(\sqrt\gamma X)^2, \quad"
    r" \sigma = \sum_{k \le 7} a_k h_k \text{ or } b_0 + \sum_j b_j 1\{x > c_j\}",
    cases=(
        *grid(shape=("cubic", "step"), normalised=(False, True)),
        {"shape": "late", "normalised": False},
    ),
    predict=_predict_pieced,
    measure=_measure_pieced,
    # Of sums that cancel, of the rounding of sizes below a thousand.
    compare=AgreesTo(relative=1e-12, absolute=1e-15),
    must_refute=mistake("Lengths a thousandth longer.", further=1.001),
)

# --- the tangent kernel of opposite inputs ----------------------------------------------


_ENDS = np.array([*(d - 1.0 for d in _DISTANCES), *(1.0 - d for d in _DISTANCES)])


def _predict_kernel(*, activation: str, normalised: bool, nearer: float = 1.0) -> Array:
    a = subject(activation).normalized() if normalised else subject(activation)
    signs = np.sign(_ENDS)
    return kernels.ntk_map(signs + nearer * (_ENDS - signs), a, depth=1)


def _measure_kernel(*, activation: str, normalised: bool) -> list[Any]:
    found = law(activation)
    dual, slope = found.dual, found.slope
    if normalised:
        dual, slope = found.normalised_dual, found.normalised_slope
    with mpmath.workprec(BITS):
        return [dual(r) + r * slope(r) for r in map(mpmath.mpf, _ENDS.tolist())]


KERNEL = numeric(
    id="dc/eq7-opposite",
    items=("Eq7", "DefC.1"),
    title="Tangent kernels of opposite and of close inputs through one layer",
    statement=r"T(\rho) = \hat\sigma(\rho) + \rho\, \hat\sigma'(\rho), \quad"
    r" \rho = \pm(1 - d)",
    source=quoted("Equation 7"),
    cases=(
        *grid(activation=("relu", "relu_squared", "hard_tanh", "elu"), normalised=True),
        *grid(
            activation=("leaky_relu(0.1)", "relu6", "hard_sigmoid"), normalised=False
        ),
    ),
    predict=_predict_kernel,
    measure=_measure_kernel,
    # The library's promise: 1e-12 of the diagonal.
    compare=AgreesTo(absolute=1e-12),
    must_refute=mistake("The kernel at half the distance.", nearer=0.5),
    uses=("dc/defC.1-opposite",),
    version=2,
)
