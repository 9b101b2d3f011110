"""Arguments of the bounds, depths as numbers, powers close to one, and scales."""

from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory import _twofold as two
from theory._precision import digits

Array = npt.NDArray[np.float64]

LEAST_DELTA = 5e-324
LEAST_MU = 1e-300
"""Half of a smaller rate is not a float of full precision."""

TINY = 1e-8
"""Below it the logarithm of 1 + b is three terms."""


def size_power(x: Array, axis: Any = None) -> npt.NDArray[np.int32]:
    """Return the power of two next above the largest entry, along axes, which stay."""
    return np.frexp(np.abs(x).max(axis=axis, keepdims=True))[1]


def unscaled(x: Array, axis: Any = None) -> tuple[Array, npt.NDArray[np.int32]]:
    """Return x over its `size_power`, and that.

    It scales without rounding, and keeps squares within range.
    """
    power = size_power(x, axis)
    return np.ldexp(x, -power), power


def separation(who: str, delta: Any) -> Array:
    """Return distances in (0, 1]."""
    return _checks.interval(who, "delta", delta, LEAST_DELTA, 1.0)


def rate(who: str, mu: Any, name: str = "mu") -> Array:
    """Return coefficients in (0, 1]."""
    return _checks.interval(who, name, mu, LEAST_MU, 1.0)


def whole(who: str, name: str, value: Any, least: int) -> Array:
    """Return whole numbers of at least `least` as float64: exact up to 2^53."""
    if not isinstance(value, (list, tuple)) and np.ndim(value) == 0:
        return np.asarray(float(_checks.integer(who, name, value, least)))
    out = _checks.counts(who, name, value, -(2**63), 2**63 - 1)
    _checks.reject(who, name, f"be at least {least}", out < least, out, "")
    return out


def integers(who: str, name: str, out: npt.NDArray[np.object_]) -> Any:
    """Return a Python int, or an int64 array, of Python ints."""
    if out.ndim == 0:
        return out.item()
    most = max((int(v) for v in out.flat), default=0)
    if most >= 2**63:
        raise ValueError(
            f"{who}: `{name}` must leave depths below 2^63 in an array,"
            f" got {most:.3g} layers. Ask for one number at a time."
        )
    return out.astype(np.int64)


def power(base_less_one: Any, exponent: Any) -> Array:
    """Return ``(1 + b)^n`` to 4 ulp, however small b and large n."""
    b, n = np.broadcast_arrays(
        np.asarray(base_less_one, dtype=np.float64),
        np.asarray(exponent, dtype=np.float64),
    )
    base = 1.0 + b
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        # What 1 + b lost by rounding, put back: n times it may be of order one.
        lost = np.where(base > 0.0, (b - (base - 1.0)) / base, 0.0)
        whole = base**n
        held = (whole > 0.0) & np.isfinite(whole)
        large = whole * np.exp(np.where(held, n * lost, 0.0))
        # A small b is mostly lost. n log(1 + b) may be hundreds: its rounding counts.
        log, rest = _product(n, b)
        rest = rest - 0.5 * log * b * (1.0 - b / 1.5)
        small = np.exp(log)
        held = (small > 0.0) & np.isfinite(small)
        small = small * np.exp(np.where(held, rest, 0.0))
    return np.where(np.abs(b) < TINY, small, large)


def _product(x: Array, y: Array) -> tuple[Array, Array]:
    """Return the product rounded, and what rounding left of it, at any scale."""
    (x, p), (y, q) = np.frexp(x), np.frexp(y)
    return two.scale(two.multiply_exactly(x, y), p + q)


def least_layers(size: Any, growth: Any) -> npt.NDArray[np.object_]:
    """Return the least l >= 0 at which ``size (1 + growth)^l`` has come up, or down, to 1.

    Python ints, decided by exact arithmetic in every close call.
    """
    s, g = np.broadcast_arrays(
        np.asarray(size, dtype=np.float64), np.asarray(growth, dtype=np.float64)
    )
    nothing = g == -1.0  # is left by one layer
    rate = np.log1p(np.where(nothing, -0.5, g))
    layers = np.where(nothing, s > 1.0, np.maximum(-np.log(s) / rate, 0.0))
    # The quotient is good to a few ulp; from 1e7 layers on every call is close.
    close = np.abs(layers - np.rint(layers)) <= 1e-9 * (1.0 + layers)
    out = np.array([int(v) for v in np.ceil(layers).flat], dtype=object)
    for i in np.flatnonzero(close & ~nothing & (layers > 0.0)):
        out[i] = _exactly(float(s.flat[i]), float(g.flat[i]), float(layers.flat[i]))
    return out.reshape(s.shape)


def _exactly(size: float, growth: float, about: float) -> int:
    with digits(40 + len(f"{about:.0f}")) as mpmath:
        step = mpmath.log1p(mpmath.mpf(growth))
        layers = -mpmath.log(mpmath.mpf(size)) / step
        # The arguments are rounded: a power that equals one up to their rounding counts
        # as one, unless the rounding is as large as a layer.
        forgiven = min(mpmath.mpf(2) ** -50 / abs(step), mpmath.mpf(1) / 4)
        return max(int(mpmath.ceil(layers - forgiven)), 0)
