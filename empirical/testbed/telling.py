"""Progress of the task in this process."""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

Progress = Callable[[int, int, float], None]
"""Called with updates made, the most there can be, and a loss: of training, the median."""


class Said(NamedTuple):
    """Progress of a task.

    Attributes
    ----------
    done, last : int
        Updates made, and the most there can be.
    terms : mapping
        What else there is to see, by name: losses, say.
    """

    done: int
    last: int
    terms: Mapping[str, float]

    def __str__(self) -> str:
        terms = [
            f", {name} {value:.2e}"
            for name, value in self.terms.items()
            if not math.isnan(value)
        ]
        return f"{self.done} of at most {self.last} updates" + "".join(terms)


_said: Said | None = None


def tell(done: int, last: int, loss: float = math.nan, **terms: float) -> None:
    """Store the task's progress; to be given to training as `progress`.

    Examples
    --------
    >>> tell(3, 10, 0.25)
    >>> print(said())
    3 of at most 10 updates, loss 2.50e-01
    >>> forget()
    """
    global _said
    _said = Said(int(done), int(last), {"loss": float(loss), **terms})


def said() -> Said | None:
    """Return the progress stored last, if any."""
    return _said


def forget() -> None:
    """Clear the progress, before a new task starts."""
    global _said
    _said = None
