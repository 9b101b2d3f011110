"""Unevaluated sums of two floats: twice the digits, on whole arrays.

The algorithms are those of Dekker (1971) and Knuth; a number is the pair (high, low) with
``|low| <= ulp(high) / 2``. Relative errors are a few units of 2**-104 an operation, as
long as nothing under- or overflows: callers keep exponents apart.
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Pair = tuple[Array, Array]

_SPLIT = 2.0**27 + 1.0


def add_exactly(a: Array, b: Array) -> Pair:
    """Return the rounded sum and its rounding error."""
    total = a + b
    b_part = total - a
    return total, (a - (total - b_part)) + (b - b_part)


def multiply_exactly(a: Array, b: Array) -> Pair:
    """Return the rounded product and its rounding error."""
    product = a * b
    a_high = _SPLIT * a - (_SPLIT * a - a)
    b_high = _SPLIT * b - (_SPLIT * b - b)
    a_low, b_low = a - a_high, b - b_high
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + (
        a_low * b_low
    )
    return product, error


def add(x: Pair, y: Pair) -> Pair:
    """Return x + y; the error is relative to the sum, cancellation included."""
    high, error = add_exactly(x[0], y[0])
    low, rest = add_exactly(x[1], y[1])
    high, error = add_exactly(high, error + low)
    return add_exactly(high, error + rest)


def multiply(x: Pair, y: Pair) -> Pair:
    """Return x * y."""
    high, error = multiply_exactly(x[0], y[0])
    return add_exactly(high, error + (x[0] * y[1] + x[1] * y[0]))


def scale(x: Pair, exponent: npt.NDArray[np.int64]) -> Pair:
    """Return x * 2**exponent."""
    return np.ldexp(x[0], exponent), np.ldexp(x[1], exponent)
