"""Short rows, at whose lengths an activation is linear on both sides of zero."""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from theory._recursion.reaches import FARTHEST
from theory.activations import Activation, PiecewisePolynomial, identity

Array = npt.NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)

SHORTEST, MARGIN = 500, 12
"""Octaves of lengths that rows may have, and those by which rounding is gone for sure."""


def _beside(activation: Activation) -> tuple[Array, list[Array]]:
    """Return points (39,), and s(r x) / r and s'(r x) for r = 1, 1/2, 1/4, ... as rows."""
    halvings, x = np.arange(SHORTEST)[:, None], np.linspace(-FARTHEST, FARTHEST, 39)
    # Powers of two round nothing.
    at = np.ldexp(x, -halvings)
    with np.errstate(over="ignore", invalid="ignore"):
        each = [np.ldexp(activation._value(at), halvings)]
        if math.isfinite(activation.derivative_second_moment):
            each.append(activation.derivative._value(at))
    return x, each


@lru_cache(maxsize=64)
def straight(activation: Activation) -> float:
    """Return a whole log length below which all rows are as those of it, -inf if none.

    There s(r x) / r and s'(r x) are those at zero but for a part in 2^60: s is linear on
    both sides of it.
    """
    bent = np.zeros(SHORTEST, dtype=bool)
    for values in _beside(activation)[1]:
        same = np.abs(values - values[-1]) <= 4.0 * EPS * np.abs(values[-1])
        bent |= ~same.all(axis=1)
    last = int(np.flatnonzero(bent).max(initial=0)) + MARGIN
    return -math.ceil(last * math.log(2.0)) if last < SHORTEST else -math.inf


@lru_cache(maxsize=64)
def slopes_at_zero(activation: Activation) -> tuple[float, float]:
    """Return the slopes on the left of zero and on the right, of s that vanishes there."""
    x, (values, *_) = _beside(activation)
    return float(values[-1, 0] / x[0]), float(values[-1, -1] / x[-1])


@lru_cache(maxsize=64)
def tangent(activation: Activation) -> Activation:
    """Return what is linear on both sides of zero, and `straight` rows take for s."""
    left, right = slopes_at_zero(activation)
    if not (left or right):
        return activation  # says itself that nothing is left
    if left == right:
        return left * identity
    return PiecewisePolynomial(activation.name, 1, (0.0, left), (0.0,), (right - left,))
