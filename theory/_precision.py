"""Digits of mpmath, which all threads share."""

from collections.abc import Generator
from contextlib import contextmanager
from threading import RLock
from typing import Any

_HELD = RLock()


@contextmanager
def digits(count: int) -> Generator[Any]:
    """Yield mpmath at so many digits; other threads wait to set theirs.

    The number is the process's: a thread that took its own back would leave the others
    with as few as there were before them.
    """
    import mpmath

    with _HELD, mpmath.workdps(count):
        yield mpmath
