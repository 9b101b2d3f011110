"""Predictions that do not depend on the case."""

from functools import partial
from typing import Any

from verify.compare import Outcome

Limits = tuple[float | None, float | None]
"""The least and the most of an effect, either absent."""


def limits(least: float | None, most: float | None, **_case: Any) -> Limits:
    """Predict that an effect lies between two limits."""
    return least, most


def stated(
    least: float | None, most: float | None = None, wrong: Limits = (None, 0.0)
) -> dict[str, Any]:
    """Return the parts of a claim that an effect lies between two limits.

    `wrong` are limits that have to be refuted: of no effect, by default.
    """
    return {
        "predict": partial(limits, least, most),
        "must_refute": partial(limits, *wrong),
    }


def unmet(printed: Limits, found: Limits) -> dict[str, Any]:
    """Return the parts of a claim that an effect is not as printed, but as found."""
    return {
        "predict": partial(limits, *printed),
        "must_hold": partial(limits, *found),
        "expected": Outcome.REFUTED,
    }
