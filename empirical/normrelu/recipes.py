"""What practice adds to descent with momentum: schedule, decay, augmentation, start."""

from dataclasses import dataclass
from typing import Annotated

from empirical.declared import OneOf, Schedule, Weight, check_fields

LARGEST = (2.0 - 2.0**-23) * 2.0**127
"""Of the numbers of single precision."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What practice adds to descent with momentum; none of it by default.

    Attributes
    ----------
    schedule : tuple of float
        Fractions of the epochs after which the rate falls to a tenth.
    decay : float
        Weight decay, of all parameters.
    augmentation : tuple of str
        Of images, drawn anew for each update: "crop" shifts them by up to an eighth of
        their side, over zeros; "flip" mirrors every second one.
    start : str
        Variance of the Gaussian weights: that of the theory for the arm ("arm"),
        2/fan_in ("he") or 2/(fan_in + fan_out) ("glorot").

    Raises
    ------
    ValueError
        If any of these does not fit.

    Examples
    --------
    >>> Recipe(schedule=(0.5, 0.75), decay=5e-4).drops(300)
    (150, 225)
    """

    schedule: Schedule = ()
    decay: Weight = 0.0
    augmentation: tuple[Annotated[str, OneOf(("crop", "flip"))], ...] = ()
    start: Annotated[str, OneOf(("arm", "he", "glorot"))] = "arm"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.decay > LARGEST:
            raise ValueError(
                f"Recipe: `decay` must be at most {LARGEST:.2g}, the largest of the float32"
                f" in which networks are trained, but it is {self.decay}"
            )

    def drops(self, updates: int) -> tuple[int, ...]:
        """Return before which of so many updates the rate falls."""
        return tuple(round(fraction * updates) for fraction in self.schedule)


PLAIN = Recipe()
"""Descent with momentum alone."""
