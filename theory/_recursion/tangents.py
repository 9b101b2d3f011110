"""Rows at whose lengths an activation is linear on both sides of zero: short or long."""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from theory._recursion.reaches import FARTHEST
from theory.activations import Activation, PiecewisePolynomial, identity

Array = npt.NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)

MOST, MARGIN = 500, 12
"""Octaves of lengths that rows may have, and those by which rounding is gone for sure."""

BEND = 56
"""Octaves from where the bend around zero ends to where nothing of it is left: E of what
it changes is at most its share of the Gaussian, 2^-56 times a little."""

LONG = BEND * math.log(2.0)
"""No row shorter than that, in log length, is long."""


def _beside(activation: Activation, sign: int) -> tuple[Array, list[Array]]:
    """Return points (40,), and s(r x) / r and s'(r x) as rows, r = 1, 2^sign, 4^sign, ...

    No periodic function is the same at all points.
    """
    octaves = sign * np.arange(MOST)[:, None]
    x = FARTHEST * np.cos(np.arange(1.0, 41.0))
    # Powers of two round nothing.
    at = np.ldexp(x, octaves)
    with np.errstate(over="ignore", invalid="ignore"):
        each = [np.ldexp(activation._value(at), -octaves)]
        if math.isfinite(activation.derivative_second_moment):
            each.append(activation.derivative._value(at))
    return x, each


def _last_bent(values: Array, size: Array | float) -> int:
    """Return the last of the octaves at which some value is not the end's to rounding."""
    with np.errstate(over="ignore", invalid="ignore"):
        same = np.abs(values - values[-1]) <= 4.0 * EPS * size
    return int(np.flatnonzero(~same.all(axis=1)).max(initial=0))


@lru_cache(maxsize=64)
def straight(activation: Activation) -> float:
    """Return a whole log length below which all rows are as those of it, -inf if none.

    There s(r x) / r and s'(r x) are those at zero but for a part in 2^60: s is linear on
    both sides of it.
    """
    each = _beside(activation, -1)[1]
    last = max(_last_bent(rows, np.abs(rows[-1])) for rows in each) + MARGIN
    return -math.ceil(last * math.log(2.0)) if last < MOST else -math.inf


@lru_cache(maxsize=64)
def slopes_at_zero(activation: Activation) -> tuple[float, float]:
    """Return the slopes on the left of zero and on the right, of s that vanishes there."""
    return _slopes(activation, -1)


@lru_cache(maxsize=64)
def tangent(activation: Activation) -> Activation:
    """Return what is linear on both sides of zero, and `straight` rows take for s."""
    return _linear(activation, -1) or activation  # says itself that nothing is left


@lru_cache(maxsize=64)
def bend_ends(activation: Activation) -> float:
    r"""Return a log length above which all rows are as those of the `limit`, inf if none.

    There s(r x) / r is linear on both sides of zero to a part in 2^60, and s' is constant
    on them but where E of it is less than that: with :math:`r_0` beyond which s' is, within

    .. math:: P(|Z| < 2 r_0 / r) < 1.6\, r_0 / r .
    """
    x, (values, *slopes) = _beside(activation, 1)
    with np.errstate(over="ignore", invalid="ignore"):
        each = [values / x, *slopes]
        last = each[0][-1]
        alike = np.abs(each[-1][-1] - last) <= 4.0 * EPS * np.abs(last).max()
    if not (slopes and alike.all() and last.any()):
        return math.inf
    octaves = [
        _last_bent(rows, np.abs(last).max()) + more
        for rows, more in zip(each, (MARGIN, BEND), strict=True)
    ]
    return max(octaves) * math.log(2.0) if max(octaves) < MOST else math.inf


@lru_cache(maxsize=64)
def limit(activation: Activation) -> Activation:
    """Return what is linear on both sides of zero: for s of rows beyond `bend_ends`."""
    found = _linear(activation, 1)
    assert found is not None
    return found


def _linear(activation: Activation, sign: int) -> Activation | None:
    """Return what s is at the last octave, None for nothing."""
    left, right = _slopes(activation, sign)
    if not (left or right):
        return None
    if left == right:
        return left * identity
    return PiecewisePolynomial(activation.name, 1, (0.0, left), (0.0,), (right - left,))


def _slopes(activation: Activation, sign: int) -> tuple[float, float]:
    """Return s(x) / x at the last octave, on the left of zero and on the right."""
    x, (values, *_) = _beside(activation, sign)
    ends = np.array([values[-1, k] / x[k] for k in (x.argmin(), x.argmax())])
    if sign > 0:
        # A constant, over the length.
        ends[np.abs(ends) <= EPS * np.abs(ends).max()] = 0.0
    left, right = ends.tolist()
    return left, right
