"""The activations on trial, once from the library and once from their definitions.

A subject is JSON: a name (``"relu"``, ``"leaky_relu(0.1)"``, ``"normrelu(-1)"``,
``"hermite(3)"``), Hermite coefficients ``{"a": [...]}``, or a continuous piecewise linear
function ``{"line": [b0, b1], "kinks": [...], "jumps": [...]}``.
"""

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from theory import activations as act
from verify import integrals
from verify.claims._predictors import mistake
from verify.claims.deep_conditioning.normrelu._definitions import STAR_TEXT
from verify.compare import Array

Subject = str | Mapping[str, Any]

# The cases of most claims stay what they were: what joined the catalogue since is in the
# table of activations, `dc/tab2`, alone.
NEWER = ("quick_gelu", "log_cosh", "relu6", "hard_sigmoid", "hard_swish")
SMOOTH = tuple(n for n in integrals.SMOOTH if n not in NEWER)
KINKED = tuple(n for n in integrals.PIECES if n not in NEWER)
NORMRELU = f"normrelu({STAR_TEXT})"
NONLINEAR = tuple(n for n in (*SMOOTH, *KINKED, NORMRELU) if n != "identity")
DIFFERENTIABLE = tuple(n for n in NONLINEAR if n not in ("step", "sign"))

ONE_VARIANCE = mistake(
    "The geometric mean for both variances, right for homogeneous functions only.",
    var_x=lambda x, *, var_y: math.sqrt(x * var_y),
    var_y=lambda y, *, var_x: math.sqrt(var_x * y),
)


def subject(spec: Subject) -> act.Activation:
    """Return the library's activation, raw."""
    if isinstance(spec, str):
        return _named(spec)
    if "a" in spec:
        return _mixture(tuple(spec["a"]))
    return _linear(tuple(spec["line"]), tuple(spec["kinks"]), tuple(spec["jumps"]))


def normalised(spec: Subject) -> act.Activation:
    """Return the library's activation with mean zero and unit variance."""
    return subject(spec).normalized()


def law(spec: Subject) -> integrals.Law:
    """Return the same from its definition, never from the library."""
    if isinstance(spec, str):
        return integrals.law(spec)
    if "a" in spec:
        return _mixture_law(tuple(spec["a"]))
    return _linear_law(tuple(spec["line"]), tuple(spec["kinks"]), tuple(spec["jumps"]))


def mu_of(activation: Subject) -> float:
    """Return the library's coefficient of non-linearity."""
    return subject(activation).mu


def measured_mu(*, activation: Subject) -> Any:
    """Return mu as `law` has it."""
    return law(activation).mu()


def measured(method: str, points: Iterable[Any], *, activation: Subject) -> list[Any]:
    """Return a function of `law` at points."""
    function = getattr(law(activation), method)
    return [function(point) for point in points]


def nu_of(activation: Subject) -> float:
    """Return the library's coefficient of non-affinity."""
    return subject(activation).nu


def fixed_point_of(activation: Subject) -> float:
    """Return the library's fixed point of the dual."""
    return subject(activation).fixed_point()


def energies(spec: Subject, *, centred: bool, order: int = 8) -> Array:
    """Return the library's a_k^2 up to an order, as shares of E s^2 or of the variance."""
    a = subject(spec)
    return a.hermite(order) ** 2 / (a.variance if centred else a.second_moment)


def energy_from(*, activation: Subject, centred: bool, first: int = 2) -> float:
    """Return the share of the energies a_k^2 of orders from `first` to 8."""
    return float(energies(activation, centred=centred)[first:].sum())


@lru_cache(maxsize=128)
def _named(name: str) -> act.Activation:
    base, _, argument = name.rstrip(")").partition("(")
    if base == "hermite":
        return act.hermite(int(argument))
    if base == "leaky_relu":
        return act.leaky_relu(float(argument))
    if base == "normrelu":
        return act.normrelu(float(argument))

    if base == "2 sin + cos":
        # Known to the library by its values and those of its slope alone.
        return act.from_function(
            lambda x: 2.0 * np.sin(x) + np.cos(x),
            derivative=lambda x: 2.0 * np.cos(x) - np.sin(x),
            name=base,
        )
    if base == "bent at 1/2":
        # The library finds the kink.
        return act.from_function(lambda x: x + np.maximum(x - 0.5, 0.0) ** 2, name=base)
    if base == "ramp at 1/4":
        return act.PiecewisePolynomial(base, 2, (0.0, 0.5), (0.25,), (2.0,))
    if base == "ramp, parabola and sine":
        return act.from_function(
            lambda x: (
                np.maximum(x + 0.5, 0.0)
                + 0.5 * np.maximum(x - 0.5, 0.0) ** 2
                + np.sin(x)
            ),
            derivative=lambda x: (x >= -0.5) + np.maximum(x - 0.5, 0.0) + np.cos(x),
            kinks=(-0.5, 0.5),
            name=base,
        )
    if base == "elu":
        return act.elu()
    return _OF_EXPERIMENTS.get(base) or act.CATALOGUE[base]


_OF_EXPERIMENTS = {"tanh3": act.tanh.scaled(9.0), "hermite2": act.hermite(2)}
"""What `empirical` calls otherwise."""


@lru_cache(maxsize=256)
def _mixture(a: tuple[float, ...]) -> act.Activation:
    # He_k / sqrt(k!) by its own recurrence; the library sees a callable, no coefficients.
    def function(x: Array) -> Array:
        low, high = np.zeros_like(x), np.ones_like(x)
        total = a[0] * high
        for k, value in enumerate(a[1:], start=1):
            low, high = high, (x * high - np.sqrt(k - 1) * low) / np.sqrt(k)
            total = total + value * high
        return total

    def slope(x: Array) -> Array:
        low, high = np.zeros_like(x), np.ones_like(x)
        total = np.zeros_like(x)
        for k, value in enumerate(a[1:], start=1):
            total = total + value * np.sqrt(k) * high
            low, high = high, (x * high - np.sqrt(k - 1) * low) / np.sqrt(k)
        return total

    return act.from_function(function, derivative=slope, name="mixture")


@lru_cache(maxsize=256)
def _linear(
    line: tuple[float, float], kinks: tuple[float, ...], jumps: tuple[float, ...]
) -> act.Activation:
    def function(x: Array) -> Array:
        out = line[0] + line[1] * x
        for c, jump in zip(kinks, jumps, strict=True):
            out = out + jump * np.maximum(x - c, 0.0)
        return out

    def slope(x: Array) -> Array:
        out = np.full_like(x, line[1])
        for c, jump in zip(kinks, jumps, strict=True):
            out = out + jump * (x > c)
        return out

    return act.from_function(function, kinks=kinks, derivative=slope, name="pieces")


@lru_cache(maxsize=256)
def _mixture_law(a: tuple[float, ...]) -> integrals.Law:
    return integrals.of_coefficients(a)


@lru_cache(maxsize=256)
def _linear_law(*parts: Any) -> integrals.Law:
    return integrals.of_pieces(integrals.Pieces(1, *parts))


# --- searched activations ------------------------------------------------------------


def mixtures(*, centred: bool = False) -> st.SearchStrategy[Any]:
    """Hermite mixtures: flat, sparse, and nearly linear down to mu about 1e-4."""
    size = st.floats(-1.0, 1.0, allow_subnormal=False).map(lambda v: round(v, 6))

    def build(parts: tuple[float, list[float], float, float]) -> dict[str, Any]:
        mean, rest, linear, shrink = parts
        rest = [shrink * v for v in rest]
        # Never affine: the last coefficient stays away from zero.
        rest[-1] = shrink if abs(rest[-1]) < 0.1 * shrink else rest[-1]
        return {"a": [0.0 if centred else mean, linear, *rest]}

    return st.tuples(
        size,
        st.lists(size, min_size=1, max_size=12),
        size,
        st.sampled_from((1.0, 0.1, 0.01)),
    ).map(build)


BENT = mixtures(centred=True).filter(
    lambda a: sum(v * v for v in a["a"][2:]) > 0.1 * sum(v * v for v in a["a"])
)
"""Not too near affine: depth grows like 1/mu."""


def piecewise_linear() -> st.SearchStrategy[Any]:
    """Continuous piecewise linear functions with one to four kinks in [-3, 3]."""
    number = st.integers(-48, 48).map(lambda v: v / 16)
    jump = st.integers(1, 32).flatmap(lambda v: st.sampled_from((v / 16, -v / 16)))
    return st.lists(
        st.tuples(number, jump), min_size=1, max_size=4, unique_by=lambda kink: kink[0]
    ).flatmap(
        lambda kinks: st.tuples(number, number).map(
            lambda line: {
                "line": list(line),
                "kinks": sorted(c for c, _ in kinks),
                "jumps": [jump for _, jump in sorted(kinks)],
            }
        )
    )


def nonlinear(*, names: tuple[str, ...] = NONLINEAR) -> st.SearchStrategy[Any]:
    """Any activation that is not affine."""
    return st.one_of(mixtures(), piecewise_linear(), st.sampled_from(names))


def separations() -> st.SearchStrategy[float]:
    """Delta in (0, 1]: the ends, one half, near-duplicates, and anything between."""
    return st.one_of(
        st.sampled_from((1.0, 0.5, 1e-9, 1e-6, 0.5 + 2.0**-40, 0.5 - 2.0**-40)),
        st.floats(-9.0, 0.0).map(lambda e: 10.0**e),
        st.floats(1e-6, 1.0),
    )
