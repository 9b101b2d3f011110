"""Normalised probabilists' Hermite polynomials and coefficients."""

import decimal
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks, gaussian

Array = npt.NDArray[np.float64]

MOST = 10**6
"""The highest order: the recurrence runs through all below."""


def hermite(k: int, x: npt.ArrayLike) -> Any:
    """Return h_k(x), the probabilists' Hermite polynomial with E h_j h_k = 1{j = k}."""
    k = _checks.integer("hermite", "k", k, 0, MOST)
    value = _checks.real("hermite", "x", x)
    with np.errstate(over="ignore", invalid="ignore"):
        out = _rows(k, value, np.ones_like(value))[k]
    return _checks.like(x, _checks.result("hermite", out, "k", "x"))


def _rows(order: int, x: Array, start: Array) -> Array:
    out = np.empty((order + 1, *x.shape))
    out[0] = start
    if order:
        out[1] = x * start
    for n in range(1, order):
        out[n + 1] = (x * out[n] - math.sqrt(n) * out[n - 1]) / math.sqrt(n + 1)
    return out


def weighted_at(order: int, x: float) -> tuple[float, ...]:
    """Return ``h_k(x) phi(x)``, k <= order, each to the last digit, also near a zero."""
    who = "weighted_at"
    return _weighted_at(
        _checks.integer(who, "order", order, 0, MOST), _checks.number(who, "x", x)
    )


@lru_cache(maxsize=256)
def _weighted_at(order: int, x: float) -> tuple[float, ...]:
    with decimal.localcontext(prec=40):
        point = decimal.Decimal(x)
        root_two_pi = decimal.Decimal("2.506628274631000502415765284811045253006987")
        low, high = decimal.Decimal(0), (-point * point / 2).exp() / root_two_pi
        roots = [decimal.Decimal(n).sqrt() for n in range(order + 2)]
        out = []
        for n in range(order + 1):
            out.append(float(high))
            low, high = high, (point * high - roots[n] * low) / roots[n + 1]
    return tuple(out)


def weighted_basis(order: int, kinks: Sequence[float] = ()) -> tuple[Array, Array]:
    """Return nodes (m,) and B (order + 1, m), read-only, with ``a = B @ s(nodes)``."""
    return _weighted_basis(*_order_and_kinks("weighted_basis", order, kinks))


def _order_and_kinks(who: str, order: Any, kinks: Any) -> tuple[int, tuple[float, ...]]:
    ends = _checks.vector(who, "kinks", kinks)
    return _checks.integer(who, "order", order, 0, MOST), tuple(ends.tolist())


@lru_cache(maxsize=8)
def _weighted_basis(order: int, kinks: tuple[float, ...]) -> tuple[Array, Array]:
    x, w = gaussian.panels(kinks, 30.0 if order > 100 else 20.0)
    # w_i phi(x_i) h_k(x_i), with half of the Gaussian inside the recurrence.
    root = np.exp(-0.25 * x * x) / math.sqrt(gaussian.SQRT_TWO_PI)
    basis = _rows(order, x, root) * (w * root)
    basis.flags.writeable = False
    return x, basis


def coefficients(
    f: Callable[[Array], Array], order: int, kinks: Sequence[float] = ()
) -> Array:
    """Return E[f(Z) h_k(Z)] for k <= order, with panels that end at the kinks."""
    who = "coefficients"
    _checks.function(who, "f", f)
    x, basis = weighted_basis(*_order_and_kinks(who, order, kinks))
    return basis @ _checks.values(who, "f", f(x), x)


def precise_coefficients(f: Callable[[Any], Any], order: int, digits: int) -> Array:
    """Coefficients of a function analytic in a strip, by the trapezoid rule in mpmath.

    With step 1/24 the error is exp(-48 pi d) for singularities at distance d of the real
    line; nodes to 30 leave exp(-225). For coefficients far below the rounding of f.
    """
    import mpmath as mp

    who = "precise_coefficients"
    _checks.function(who, "f", f)
    order = _checks.integer(who, "order", order, 0, MOST)
    digits = _checks.integer(who, "digits", digits, 1, MOST)
    with mp.workdps(digits):
        h = mp.mpf(1) / 24
        root = [mp.sqrt(n) for n in range(order + 2)]
        total = [mp.mpf(0)] * (order + 1)
        for j in range(24 * 30 + 1):
            x = j * h
            weight = h * mp.npdf(x) / (2 if j == 0 else 1)
            up, down = f(x), f(-x)
            even, odd = up + down, up - down
            low, high = mp.mpf(0), weight
            for n in range(order + 1):
                total[n] += high * (odd if n % 2 else even)
                low, high = high, (x * high - root[n] * low) / root[n + 1]
        return _checks.real(who, "f(x)", [float(t) for t in total])
