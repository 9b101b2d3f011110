"""Panels on which a function is resolved: what is kept of them, and where they end."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from theory import gaussian, meshes
from verify.claim import grid, numeric
from verify.claims._predictors import mistake
from verify.claims.deep_conditioning._sources import ours
from verify.compare import AgreesTo, Array

Function = Callable[[Array], Array]

# --- what is kept ------------------------------------------------------------------------

_NODES = 20
_STEP = 1.0
"""Deviations of a Gaussian that a rule of so many nodes integrates beside a function."""


def _function(
    *, rate: float = 0.0, power: float = 0.0, at: float = 0.0, size: float = 1.0
) -> tuple[Function, tuple[float, ...]]:
    """A wave, or a power with its kink beside what grows far out where there is a rate."""
    if not power:
        return (lambda x: np.sin(rate * x) ** 2), ()
    grown = (lambda x: np.exp(rate * x)) if rate else np.zeros_like
    return (lambda x: size * np.abs(x - at) ** power + grown(x)), (at,)


def _predict_integral(
    *, deviation: float = 1.0, resolved: bool = True, **function: float
) -> float:
    f, kinks = _function(**function)
    reach = meshes.DEVIATIONS * deviation
    own = np.arange(-reach, reach + deviation, _STEP * deviation)
    kept = meshes.resolve(f, kinks, reach=reach).needed(kinks) if resolved else own
    x, w = gaussian.composite(np.union1d(own, kept), _NODES)
    found = float((w * gaussian.pdf(x / deviation) / deviation) @ f(x))
    return found / function.get("size", 1.0)


def _measure_integral(
    *,
    deviation: float = 1.0,
    rate: float = 0.0,
    power: float = 0.0,
    at: float = 0.0,
    size: float = 1.0,
) -> Any:
    """An exponential of the rate, or a confluent hypergeometric function of the kink."""
    del size
    if not power:
        return -mpmath.expm1(-2 * mpmath.mpf(rate * deviation) ** 2) / 2
    with mpmath.workdps(30):
        p, c = mpmath.mpf(power), mpmath.mpf(at)
        front = 2 ** (p / 2) * mpmath.gamma((1 + p) / 2) / mpmath.sqrt(mpmath.pi)
        grown = mpmath.exp(mpmath.mpf(rate) ** 2 / 2) if rate else 0
        return front * mpmath.hyp1f1(-p / 2, 0.5, -(c**2) / 2) + grown


KEPT = numeric(
    id="dc/defC.1-kept-waves",
    title="Integrals of waves and of powers with kinks over the panels that they need",
    statement=r"\mathbb{E}\, \sin(a s Z)^2 = (1 - e^{-2 a^2 s^2}) / 2, \quad"
    r" \mathbb{E}\, |Z - c|^p = \frac{2^{p/2}}{\sqrt\pi}"
    r" \Gamma(\tfrac{1 + p}{2})\, {}_1F_1(-\tfrac p2; \tfrac12; -\tfrac{c^2}{2})",
    source=ours("Definition C.1, of functions that are known by their values"),
    cases=(
        {"rate": 200.0, "deviation": 1.0},
        {"rate": 25.0, "deviation": 8.0},
        {"rate": 1e4, "deviation": 0.02},
        *grid(power=(-0.25, 0.5), at=0.0),
        *grid(power=0.5, at=(0.3, -1.1)),
        # So far out that the density is next to nothing.
        *grid(power=-0.25, at=(6.5, -7.5)),
        # Beside a function that is largest where the density is nothing.
        {"power": 0.5, "at": -1.1, "rate": 2.0},
        # Functions far from unit size.
        {"power": 1.0 / 3.0, "at": 0.0, "size": 1e-25},
        {"power": 0.5, "at": -1.1, "size": 1e20},
    ),
    predict=_predict_integral,
    measure=_measure_integral,
    # Ten thousand terms below one, rounded once each, whose errors are independent.
    compare=AgreesTo(relative=1e-14),
    must_refute=mistake("Panels of the Gaussian alone.", resolved=False),
    uses=("dc/defC.1-callable",),
    version=2,
)

# --- sums over them ----------------------------------------------------------------------


def _terms(*, count: int, size: float, lost: float = 0.0) -> Array:
    """Terms at mirrored nodes, of which those of an odd part cancel."""
    rng = np.random.default_rng(count)
    odd, even = size * rng.standard_normal(count), rng.random(count)
    return np.append((even - odd)[::-1], (1.0 - lost) * (odd + even))


def _predict_sum(**case: Any) -> float:
    return gaussian.total(_terms(**case))


def _measure_sum(**case: Any) -> Fraction:
    return sum(map(Fraction, _terms(**case).tolist()), Fraction(0))


SUMS = replace(
    KEPT,
    id="dc/defC.1-sums",
    title="Sums over mirrored nodes of what cancels, to the last digit",
    statement=r"\sum_i t_i",
    cases=grid(count=(1, 50, 5000), size=(1.0, 1e12)),
    predict=_predict_sum,
    measure=_measure_sum,
    # One rounding.
    compare=AgreesTo(relative=1.2e-16),
    must_refute=mistake("One side a millionth smaller.", lost=1e-6),
    uses=("dc/defC.1-kept-waves",),
)

# --- where they end ----------------------------------------------------------------------

_AT = np.linspace(-7.97, 7.99, 331)
"""Arguments at which no panel ends."""

_FUNCTIONS: dict[str, tuple[Function, tuple[float, ...]]] = {
    "steep": (lambda x: np.tanh(30.0 * (x - 0.2)), ()),
    "wave": (lambda x: np.sin(9.0 * x), ()),
    "spike": (lambda x: np.exp(-0.5 * np.square((x - 3.3) / 0.03)), ()),
    "bump": (lambda x: 1.0 / (1.0 + 25.0 * np.square(x + 1.0)), ()),
    # Between the nodes of a panel from 5 pi / 3 to 10 pi / 3.
    "hidden": (lambda x: 1.0 + np.exp(-0.5 * np.square((x - 2.5 * np.pi) / 0.03)), ()),
    "root": (lambda x: np.sqrt(np.abs(x + 0.5)), (-0.5,)),
    "bent": (lambda x: np.exp(-np.abs(x - 2.0)) * (x - 2.0), (2.0,)),
}


def _predict_read(*, name: str, along: int = 0) -> Array:
    f, kinks = _FUNCTIONS[name]
    mesh = meshes.resolve(f, kinks)
    cell = np.searchsorted(mesh.edges, _AT) - 1
    low, high = mesh.edges[cell], mesh.edges[cell + 1]
    y = ((_AT - low) - (high - _AT)) / (high - low)
    rows = mesh.series[cell + along]
    each = zip(y.tolist(), rows, strict=True)
    return np.array([np.polynomial.chebyshev.chebval(v, c) for v, c in each])


def _measure_read(*, name: str) -> Array:
    return _FUNCTIONS[name][0](_AT)


READ = replace(
    KEPT,
    id="dc/defC.1-panel-series",
    title="Functions read off the series of the panels that resolve them",
    statement=r"\sigma(x) = \sum_{n < 16} c_n T_n(y), \quad x = m + h y",
    cases=grid(name=tuple(_FUNCTIONS)),
    predict=_predict_read,
    measure=_measure_read,
    # Last coefficients of 8 roundings of the size around, and as many of the others.
    compare=AgreesTo(absolute=3e-14),
    must_refute=mistake("The panel beside.", along=1),
)


_PARTS: dict[str, Function] = {
    "tanh": np.tanh,
    "kink": lambda x: np.maximum(x + 2.0, 0.0) ** 2,
    "dent": lambda x: -np.maximum(x - 4.0, 0.0),
    "root": lambda x: np.sqrt(np.abs(x - 0.3)),
    "half": lambda x: np.maximum(x - 0.2, 0.0) ** 1.5,
    "step": lambda x: np.where(x > 1.25, 0.5, 0.0),
    "leap": lambda x: np.where(x > 1.25, 0.5 + np.square(x - 1.25), 0.0),
    "bell": lambda x: np.exp(-x * x / 8.0),
    "small": lambda x: np.where(x > 1.25, 2e-12, 0.0),
    "far": lambda x: np.maximum(-31.0 - x, 0.0),
    # Smooth, and nearly a kink and a step.
    "soft": lambda x: 1e-6 * np.logaddexp(0.0, 1e6 * (x - 0.2)),
    "steep": lambda x: np.tanh(1e6 * (x - 0.2)),
    "slow": lambda x: np.arctan(1e6 * (x - 0.2)),
}


def _broken(parts: str, size: float, x: Array) -> Array:
    return size * sum((_PARTS[part](x) for part in parts.split()), np.zeros_like(x))


def _listed(*places: Sequence[float]) -> list[float]:
    """Return how many of each kind there are, and two of each, zero if there is none."""
    return [v for each in places for v in (len(each), *[*each, 0.0, 0.0][:2])]


def _predict_broken(
    *, parts: str, reach: float = meshes.DEVIATIONS, size: float = 1.0
) -> list[float]:
    farthest = list[float]()

    def f(x: Array) -> Array:
        farthest.append(float(np.abs(x).max()))
        return _broken(parts, size, x)

    mesh = meshes.resolve(f, reach=reach)
    # A root is told to the width of panels that are too narrow to be halved.
    rough = [round(at, 6) for at in mesh.rough]
    return [max(farthest) <= reach, *_listed(rough, mesh.found, mesh.jumps)]


def _measure_broken(*, parts: str, **how: float) -> list[float]:
    """Places that are not resolved, that were found, and those of them that jump.

    And that nothing is asked for beyond the reach.
    """
    del how  # no place depends on it
    jumps = dict.fromkeys(("step", "leap", "small"), 1.25)
    places = {
        "kink": -2.0,
        "dent": 4.0,
        "root": 0.3,
        "half": 0.2,
        "far": -31.0,
        **jumps,
    }

    def among(*kinds: str) -> list[float]:
        return sorted(places[part] for part in parts.split() if part in kinds)

    kinks = among("far", "kink", "dent", *jumps)
    return [True, *_listed(among("root", "half"), kinks, among(*jumps))]


BROKEN = replace(
    KEPT,
    id="dc/defC.1-panel-kinks",
    title="Kinks, steps and roots that nobody named, found by the panels next to them",
    statement=r"\tanh x + (x + 2)_+^2 - (x - 4)_+ + \sqrt{|x - 0.3|}"
    r" + \tfrac12 1\{x > \tfrac54\}",
    cases=(
        *grid(
            parts=(
                *("tanh", "tanh kink", "tanh root", "tanh step", "tanh kink root step"),
                *("tanh kink dent", "half", "soft", "tanh steep", "bell small", "far"),
                "tanh leap",
            )
        ),
        # Of Gaussians much wider than one.
        *grid(parts=("tanh kink root", "slow"), reach=4e5),
        *grid(parts="tanh kink root step", size=(1e-25, -1e25)),
    ),
    predict=_predict_broken,
    measure=_measure_broken,
    compare=AgreesTo(absolute=0.0),
    must_refute=mistake("Arguments between minus one and one alone.", reach=1.0),
)
