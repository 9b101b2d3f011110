"""Checks that the recipes of all experiments share, with one wording."""

import math


def check_number(name: str, value: float | None, *, low: float, text: str) -> None:
    """Refuse a number that is not finite and above `low`; None is absent."""
    if value is not None and not (math.isfinite(value) and value > low):
        raise ValueError(f"Recipe: `{name}` must be {text}, but it is {value}")


def check_momentum(value: float) -> None:
    """Refuse momentum outside [0, 1)."""
    if not 0.0 <= value < 1.0:
        raise ValueError(f"Recipe: `momentum` must lie in [0, 1), but it is {value}")


def check_schedule(value: tuple[float, ...]) -> None:
    """Refuse what are not increasing fractions."""
    increasing = value == tuple(sorted(value))
    if not increasing or not all(0.0 < s < 1.0 for s in value):
        raise ValueError(
            "Recipe: `schedule` must be increasing fractions in (0, 1), but it is "
            f"{value}"
        )
