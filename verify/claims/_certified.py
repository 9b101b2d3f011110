"""What ties a proof to the library: its formula and the library's function, compared.

A certificate or a symbolic proof works on a formula written down a second time, on balls
or symbols. Its prediction calls `agree`, so that the ledger sees an error as soon as the
library computes anything else.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import flint
import numpy as np

from verify.enclose import BITS

Point = Sequence[float]


def points(*box: tuple[float, float], count: int = 12, seed: int = 0) -> list[Point]:
    """Return random points inside a box, at multiples of 2^-10 of its sides.

    >>> all(0.0 < x < 1.0 < y < 3.0 for x, y in points((0.0, 1.0), (1.0, 3.0)))
    True
    """
    rng = np.random.default_rng([977, seed])
    low, high = np.array(box).T
    share = rng.integers(1, 2**10, (count, len(box))) / 2.0**10
    return [[float(v) for v in row] for row in low + share * (high - low)]


def agree(
    library: Callable[..., Any],
    formula: Callable[..., Any],
    where: Iterable[Point],
    *,
    relative: float = 1e-13,
) -> None:
    """Raise ArithmeticError unless the library's function is the formula at all points.

    Parameters
    ----------
    library : callable
        Of floats.
    formula : callable
        Of balls; may return fractions, SymPy numbers or floats as well.
    where : iterable of points
    relative : float
        What the library's rounding may make of the larger of one and the value.
    """
    for point in where:
        found = float(library(*point))
        with flint.ctx.workprec(BITS):
            exact = formula(*map(flint.arb, point))
        value = float(exact)
        if not abs(found - value) <= relative * max(1.0, abs(value)):
            raise ArithmeticError(
                f"the library has {found!r} at {list(point)}, the proof {value!r}"
            )


def common(values: Sequence[float], *, relative: float) -> float:
    """Return the number that all values are, up to rounding.

    Raises
    ------
    ArithmeticError
        If two of them are farther apart: the library's formula is another one.
    """
    first = values[0]
    # Not by the largest and the smallest: comparisons with NaN are false.
    if not all(abs(v - first) <= relative * abs(first) for v in values):
        raise ArithmeticError(f"the library's constant takes the values {values}")
    return first
