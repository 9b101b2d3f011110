"""The bounds behind the public ones: with their complements, and from array to array."""

import math
from typing import Any

import numpy as np

from theory import _arrays, _checks
from theory._arrays import Array, power


def schedule(who: str, depth: Any, delta: Any, mu: Any) -> tuple[Array, Array]:
    """Return B and 1 - B, each without cancellation."""
    l = _checks.interval(who, "depth", depth, 0.0, math.inf)
    d, m = _arrays.separation(who, delta), _arrays.rate(who, mu)
    _checks.broadcast(who, depth=l, delta=d, mu=m)
    l, d, m = np.broadcast_arrays(l, d, m)
    start = _arrays.least_layers(2.0 * d, 0.5 * m).astype(np.float64)
    # In two halves, which do not overflow.
    half = power(0.5 * m, 0.5 * np.minimum(l, start))
    early = (d * half) * half
    late = 0.5 * power(-0.5 * m, np.maximum(l - start, 0.0))
    return (
        np.where(l > start, late, 1.0 - early),
        np.where(l > start, 1.0 - late, early),
    )


def printed(who: str, l: Array, delta: Any, mu: Any, n: Array, side: str) -> Array:
    """Return the bounds of Corollaries 3.3 and 3.7."""
    d, m = _arrays.separation(who, delta), _arrays.rate(who, mu)
    _checks.broadcast(who, depth=l, delta=d, mu=m, n=n)
    l, d, m, n = np.broadcast_arrays(l, d, m, n)
    start = _arrays.least_layers(2.0 * d, 0.5 * m).astype(np.float64)
    late = power(-0.5 * m, np.maximum(l - start, 0.0))
    if side == "A":
        first = start + _arrays.least_layers(n, -0.5 * m).astype(np.float64)
        return np.where(l >= first, 1.0 + 2.0 * n * late, math.inf)
    half = power(0.5 * m, 0.5 * np.minimum(l, start))
    distance = (d * half) * half
    with np.errstate(over="ignore"):
        early = n * ((1.0 - distance) / distance)
    return 1.0 + np.where(l > start, n * late, early)


def condition_number(value: Array, gap: Array, n: Array, side: str) -> Array:
    r"""Bound the condition number of a matrix by its largest entry off the diagonal.

    Ones on the diagonal. A: entries at most t in size, ``(1+(n-1)t) / (1-(n-1)t)`` by
    Gershgorin, infinity from ``(n - 1) t = 1`` on; two inputs attain it. B: smallest
    eigenvalue at least ``1 - t``, ``1 + n t/(1 - t)`` by the trace; any number of inputs
    that are all correlated by t attains it.
    """
    with np.errstate(divide="ignore", over="ignore"):
        if side == "B":
            return 1.0 + n * (value / gap)
        # 1 - (n - 1) t without cancellation for two inputs.
        rest = gap - (n - 2.0) * value
        found = 1.0 + 2.0 * (n - 1.0) * value / rest
        return np.where(rest > 0.0, np.where(n > 1.0, found, 1.0), math.inf)
