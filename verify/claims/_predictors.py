"""Predictions that do not depend on the case."""

from typing import Any


def up(**_case: Any) -> int:
    """Predict a trend upwards."""
    return 1


def down(**_case: Any) -> int:
    """Predict a trend downwards."""
    return -1


def constantly(value: float, **_case: Any) -> float:
    """Predict a number, with `functools.partial`."""
    return value
