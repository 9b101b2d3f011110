"""Descent along one curvature: the recursion itself, its limits, and their checks."""

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory import _twofold as two

Array = npt.NDArray[np.float64]
Steps = npt.NDArray[np.int64]
Loss = Literal["half_sum", "mean"]

MOST_STEPS = 2**52
"""Beyond it a step count is no exact float, and no network trains that long."""


def residual_pair(
    who: str,
    steps: Any,
    learning_rate: Any,
    curvature: Any,
    momentum: Any,
    *,
    low: Any = 0.0,
) -> two.Pair:
    """Return ``a_t`` with twice the digits, for differences such as ``1 - a_t``.

    The curvature is ``curvature + low``: next to the limit of stability two million
    steps magnify the rounding of a sum of squares to 1e-9.
    """
    rate = _checks.positive(who, "learning_rate", learning_rate)
    with np.errstate(over="ignore"):
        product = rate * curvature
    need = "keep its product with the `curvature` at most 1e100"
    _checks.reject(who, "learning_rate", need, product > 1e100, product, "")
    every = np.broadcast_arrays(steps, rate, curvature, momentum, low)
    shape = every[0].shape
    count, rate, g, m, rest = (part.ravel() for part in every)
    # Only their product counts: a power of two keeps the factors from overflowing.
    part, power = np.frexp(rate)
    out = _residual(count, part, two.scale((g, rest), power.astype(np.int64)), m)
    return out[0].reshape(shape), out[1].reshape(shape)


def _residual(count: Steps, rate: Array, g: two.Pair, m: Array) -> two.Pair:
    nought = np.zeros_like(m)
    shrink = two.multiply((rate, nought), g)
    trace = two.add(two.add_exactly(np.ones_like(m), m), (-shrink[0], -shrink[1]))
    # U_k and U_{k+1}, both divided by 2**exponent.
    this, after = (nought, nought.copy()), (np.ones_like(m), nought.copy())
    exponent = np.zeros(m.shape, dtype=np.int64)
    for bit in range(max(1, int(count.max(initial=0)).bit_length()) - 1, -1, -1):
        this, after = _double(this, after, trace, m)
        one_more = (count >> bit) & 1 == 1
        following = _follow(this, after, trace, m)
        this, after = _where(one_more, after, this), _where(one_more, following, after)
        size = np.frexp(np.maximum(np.abs(this[0]), np.abs(after[0])))[1]
        size = size.astype(np.int64)
        # Steps still at zero have U = (0, 1), which doubling keeps as it is.
        exponent = 2 * exponent + size
        this, after = two.scale(this, -size), two.scale(after, -size)
    left = two.multiply(this, (-m, nought))
    # Far outside any float's exponents one infinity or zero is as good as another.
    power = np.clip(exponent, -5000, 5000)
    with np.errstate(over="ignore", under="ignore"):
        high, low = two.scale(two.add(after, left), power)
    return high, np.where(np.isinf(high), 0.0, low)


def _double(this: two.Pair, after: two.Pair, trace: two.Pair, m: Array) -> Any:
    r"""U_{2k} = U_k (2 U_{k+1} - P U_k), U_{2k+1} = U_{k+1}^2 - m U_k^2."""
    back = two.multiply(trace, this)
    inner = two.add((2.0 * after[0], 2.0 * after[1]), (-back[0], -back[1]))
    square = two.multiply(this, this)
    lost = two.multiply(square, (-m, np.zeros_like(m)))
    return two.multiply(this, inner), two.add(two.multiply(after, after), lost)


def _follow(this: two.Pair, after: two.Pair, trace: two.Pair, m: Array) -> two.Pair:
    """U_{k+2} = P U_{k+1} - m U_k."""
    lost = two.multiply(this, (-m, np.zeros_like(m)))
    return two.add(two.multiply(trace, after), lost)


def _where(condition: npt.NDArray[np.bool_], x: two.Pair, y: two.Pair) -> two.Pair:
    return np.where(condition, x[0], y[0]), np.where(condition, x[1], y[1])


def squared_length(x: Array) -> tuple[float, float]:
    """Return ``sum x^2`` as a pair, correctly rounded to twice the digits."""
    power = math.frexp(float(np.abs(x).max()))[1]
    square, error = two.multiply_exactly(*(np.ldexp(x, -power),) * 2)
    parts = [*square.tolist(), *error.tolist()]
    high = math.fsum(parts)
    low = math.fsum([*parts, -high])
    with np.errstate(over="ignore"):
        return float(np.ldexp(high, 2 * power)), float(np.ldexp(low, 2 * power))


def curvature_pair(who: str, loss: Any, x: Array) -> tuple[float, float]:
    """Return the curvature along x as a pair."""
    loss_scale(who, loss, x.size)
    high, low = squared_length(x)
    if math.isinf(high):
        raise ValueError(
            f"{who}: `x_train` must have a finite squared length, got {high}."
        )
    if loss == "half_sum":
        return high, low
    outputs = np.array(float(x.size))
    factor = np.asarray(2.0 / outputs)
    back, error = two.multiply_exactly(factor, outputs)
    scale = (factor, ((2.0 - back) - error) / outputs)
    # Near the largest float a product's exact parts would overflow.
    power = np.frexp(np.array(high))[1].astype(np.int64)
    square = two.scale((np.array(high), np.array(low)), -power)
    out = two.scale(two.multiply(scale, square), power)
    return float(out[0]), float(out[1])


def loss_scale(who: str, loss: Any, outputs: int) -> float:
    """Return the curvature per squared singular value: 1, or 2 / outputs."""
    if loss == "half_sum":
        return 1.0
    if loss == "mean":
        return 2.0 / outputs
    raise ValueError(f"{who}: `loss` must be 'half_sum' or 'mean', got {loss!r:.80}.")


def whole_steps(who: str, steps: Any) -> Steps:
    """Return step counts as integers; floats, bools and negatives are refused."""
    return _checks.counts(who, "steps", steps, 0, MOST_STEPS).astype(np.int64)


def checked_momentum(who: str, momentum: Any) -> Array:
    """Return momentum of [0, 1)."""
    m = _checks.real(who, "momentum", momentum)
    _checks.reject(who, "momentum", "lie in [0, 1)", (m < 0.0) | (m >= 1.0), m, "")
    return m


def rate_limit(curvature: Array, momentum: Array) -> Array:
    """Return the rate from which on descent does not converge."""
    with np.errstate(over="ignore"):
        return np.asarray(2.0 * (1.0 + momentum) / curvature)
