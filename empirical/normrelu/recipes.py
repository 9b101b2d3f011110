"""What practice adds to descent with momentum: schedule, decay, augmentation, start."""

from dataclasses import dataclass

from empirical.checks import check_choice, check_schedule, check_weights

AUGMENTATIONS = ("crop", "flip")
STARTS = ("arm", "he", "glorot")

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

    schedule: tuple[float, ...] = ()
    decay: float = 0.0
    augmentation: tuple[str, ...] = ()
    start: str = "arm"

    def __post_init__(self) -> None:
        who = "Recipe"
        check_schedule(who, self.schedule)
        check_weights(who, decay=self.decay)
        if self.decay > LARGEST:
            raise ValueError(
                f"Recipe: `decay` must be at most {LARGEST:.2g}, the largest of the float32"
                f" in which networks are trained, but it is {self.decay}"
            )
        check_choice(who, "start", self.start, STARTS)
        for kind in self.augmentation:
            check_choice(who, "augmentation", kind, AUGMENTATIONS)

    def drops(self, updates: int) -> tuple[int, ...]:
        """Return before which of so many updates the rate falls."""
        return tuple(round(fraction * updates) for fraction in self.schedule)


PLAIN = Recipe()
"""Descent with momentum alone."""
