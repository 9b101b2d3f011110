"""Roots and minima by cutting intervals, which definitions are solved with.

Of floats or of mpmath's numbers, to whatever digits these have.
"""

from collections.abc import Callable
from typing import Any


def bisected(
    below: Callable[[Any], bool], low: Any, high: Any, halvings: int
) -> tuple[Any, Any]:
    """Return the ends of an interval that is halved so often.

    `below` is to hold up to some place between the ends, and not beyond it.

    >>> bisected(lambda x: x * x < 2.0, 1.0, 2.0, halvings=10)
    (1.4140625, 1.4150390625)
    """
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return low, high


def lowest(function: Callable[[Any], Any], low: Any, high: Any, cuts: int) -> Any:
    """Return where a function with one minimum has it, but for (2/3)^cuts of the interval.

    >>> round(lowest(lambda x: (x - 0.25) ** 2, 0.0, 1.0, cuts=40), 6)
    0.25
    """
    for _ in range(cuts):
        first, second = (2 * low + high) / 3, (low + 2 * high) / 3
        before = function(first) < function(second)
        low, high = (low, second) if before else (first, high)
    return low
