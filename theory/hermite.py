"""Normalised probabilists' Hermite polynomials and coefficients."""

import decimal
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks, _precision, gaussian
from theory._naming import publish

Array = npt.NDArray[np.float64]

MOST = 10**6
"""The highest order: the recurrence runs through all below."""

REACH = 30.0
"""Half-width of the axis of a quadrature."""

WAVES = 50.0
"""Radians of a wave, for a unit of its argument, that the nodes of panels resolve: h_k has
sqrt(k) of them."""

STORED = 2000
"""Orders whose values at all nodes are kept for the next function."""


def hermite(k: int, x: npt.ArrayLike) -> Any:
    """Return h_k(x), the probabilists' Hermite polynomial with E h_j h_k = 1{j = k}."""
    k = _checks.integer("hermite", "k", k, 0, MOST)
    value = _checks.real("hermite", "x", x)
    with np.errstate(over="ignore", invalid="ignore"):
        out = _rows(k, value, np.ones_like(value))[k]
    return _checks.like(x, _checks.result("hermite", out, "k", "x"))


def _raised(order: int, x: Array, start: Array) -> Iterator[Array]:
    """Give h_k(x) times a start, k = 0, ..., order."""
    low, high = np.zeros_like(x), start
    for k in range(order + 1):
        yield high
        low, high = high, (x * high - math.sqrt(k) * low) / math.sqrt(k + 1)


def _rows(order: int, x: Array, start: Array) -> Array:
    out = np.empty((order + 1, *x.shape))
    for k, row in enumerate(_raised(order, x, start)):
        out[k] = row
    return out


@lru_cache(maxsize=256)
def weighted_at(
    order: int, points: tuple[float, ...], weights: tuple[float, ...]
) -> tuple[float, ...]:
    """Return ``sum_j w_j h_k(x_j) phi(x_j)``, k <= order, each to the last digit.

    Also near a zero of the polynomial, and where the terms cancel.
    """
    with decimal.localcontext(prec=40):
        root_two_pi = decimal.Decimal("2.506628274631000502415765284811045253006987")
        roots = [decimal.Decimal(n).sqrt() for n in range(order + 2)]
        out = [decimal.Decimal(0)] * (order + 1)
        for x, w in zip(points, weights, strict=True):
            point, weight = decimal.Decimal(x), decimal.Decimal(w)
            low = decimal.Decimal(0)
            high = weight * (-point * point / 2).exp() / root_two_pi
            for n in range(order + 1):
                out[n] += high
                low, high = high, (point * high - roots[n] * low) / roots[n + 1]
    return tuple(map(float, out))


def weighted_basis(order: int, kinks: Sequence[float] = ()) -> tuple[Array, Array]:
    """Return nodes (m,) and B (order + 1, m), read-only, with ``a = B @ s(nodes)``."""
    return _weighted_basis(*_order_and_kinks("weighted_basis", order, kinks))


def _order_and_kinks(who: str, order: Any, kinks: Any) -> tuple[int, tuple[float, ...]]:
    ends = _checks.vector(who, "kinks", kinks)
    return _checks.integer(who, "order", order, 0, MOST), tuple(ends.tolist())


@lru_cache(maxsize=8)
def _weighted_basis(order: int, kinks: tuple[float, ...]) -> tuple[Array, Array]:
    x, w, root = _weighted(order, kinks)
    basis = _rows(order, x, root) * (w * root)
    x.flags.writeable = basis.flags.writeable = False
    return x, basis


def _weighted(order: int, kinks: tuple[float, ...]) -> tuple[Array, Array, Array]:
    """Return nodes, weights and the root of the density, half of the Gaussian."""
    wide = np.arange(-REACH, REACH + 0.25, 0.5)
    edges = np.union1d(wide, gaussian.graded(kinks, REACH))
    # Panels are at most 1/2 wide, and less where a polynomial has many waves.
    parts = max(1, math.ceil(math.sqrt(order) / WAVES))
    each = edges[:-1, None] + np.diff(edges)[:, None] * np.arange(parts) / parts
    x, w = gaussian.composite(np.append(each.ravel(), edges[-1]))
    return x, w, np.exp(-0.25 * x * x) / math.sqrt(gaussian.SQRT_TWO_PI)


def coefficients(
    f: Callable[[Array], Array], order: int, kinks: Sequence[float] = ()
) -> Array:
    """Return E[f(Z) h_k(Z)] for k <= order, with panels that end at the kinks.

    To a few eps of the root of E f^2, of any order, where f is smooth between the kinks on
    panels 1/2 wide.
    """
    who = "coefficients"
    _checks.function(who, "f", f)
    n, ends = _order_and_kinks(who, order, kinks)
    if n <= STORED:
        x, basis = weighted_basis(n, ends)
        return basis @ _checks.values(who, "f", f(x), x)
    x, w, root = _weighted(n, ends)
    half = w * root * _checks.values(who, "f", f(x), x)
    return np.array([row @ half for row in _raised(n, x, root)])


def expansion(
    f: Callable[[Array], Array], order: int, edges: Array, reach: float = REACH
) -> Array:
    """Return E[f(Z) h_k(Z)] for k <= order, with panels that end at the edges.

    Examples
    --------
    >>> (expansion(np.abs, 2, np.zeros(1)).round(14) + 0.0).tolist()
    [0.79788456080287, 0.0, 0.56418958354776]
    """
    order = _checks.integer("expansion", "order", order, 0, MOST)
    x, w = gaussian.rule(edges, reach)
    return np.array([row.sum() for row in _raised(order, x, w * f(x))])


def precise_coefficients(
    f: Callable[[Any], Any], order: int, digits: int, steps: int = 10
) -> Array:
    """Coefficients of a function analytic in a strip, by the trapezoid rule in mpmath.

    With a step of 1 / steps the error is exp(-2 pi d steps) for singularities at
    distance d of the real line. The terms are below exp(-x^2 / 4), and nodes end where
    that has left the digits. For coefficients far below the rounding of f.

    Raises
    ------
    ValueError
        If f returns anything but real, finite numbers; if an argument is malformed.
    """
    who = "precise_coefficients"
    _checks.function(who, "f", f)
    order = _checks.integer(who, "order", order, 0, MOST)
    digits = _checks.integer(who, "digits", digits, 1, MOST)
    steps = _checks.integer(who, "steps", steps, 1, MOST)
    reach = math.ceil(math.sqrt(4.0 * math.log(10.0) * digits))
    # The recursion runs on integers, units of 2^-bits: arrays of them are several times
    # as fast as mpmath's numbers. It begins with exp(-x^2 / 4) in the place of one and
    # stays below 1.1 (Cramer's bound). What is rounded off there grows by exp(x^2 / 4) at
    # most, and the other half of the weight takes that away.
    with _precision.digits(digits + 20) as mp:
        bits = mp.mp.prec

        def fixed(values: Iterable[Any]) -> npt.NDArray[np.object_]:
            return np.array([int(mp.ldexp(v, bits)) for v in values], dtype=object)

        nodes = [mp.mpf(j) / steps for j in range(steps * reach + 1)]
        half = [mp.exp(-x * x / 4) for x in nodes]
        share = [w / (steps * mp.sqrt(2 * mp.pi)) for w in half]
        share[0] /= 2

        def value(x: Any) -> Any:
            out = f(x)
            if isinstance(out, (Real, mp.mpf)) and mp.isfinite(out):
                return out
            need = "return real, finite numbers"
            raise _checks.refuse(who, "f", need, out, f"That is at {float(x):g}.")

        up = [w * value(x) for w, x in zip(share, nodes, strict=True)]
        down = [w * value(-x) for w, x in zip(share, nodes, strict=True)]
        parts = (
            fixed(a + b for a, b in zip(up, down, strict=True)),
            fixed(a - b for a, b in zip(up, down, strict=True)),
        )
        root = [mp.sqrt(n) for n in range(1, order + 2)]
        roots, inverses = fixed([mp.mpf(0), *root]), fixed(1 / r for r in root)
        x, high = fixed(nodes), fixed(half)
        low, found = 0 * high, []
        for n in range(order + 1):
            total = (high * parts[n % 2]).sum()
            found.append(float(mp.ldexp(mp.mpf(total), -2 * bits)))
            following = (x * high - roots[n] * low >> bits) * inverses[n] >> bits
            low, high = high, following
        return _checks.real(who, "f(x)", found)


publish(globals())
