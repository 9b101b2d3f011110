"""Faults planted in training; claims about trained networks must notice them."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

FAULTS = {
    "slow": "learning rates / 100",
    "short": "a fifteenth of the updates",
    "shuffled": "labels shuffled",
    "frozen": "hidden layers frozen",
    "untrained": "no update at all",
}
"""Names, and what they mean; a `empirical.testbed.study.Study` plants them."""

FEWER = 15
"""Too few updates are one in so many."""


def planting(*faults: str) -> dict[str, Callable[[Any], Any]]:
    """Return functions that plant faults in configurations with a field ``fault``.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Configuration:
    ...     name: str
    ...     fault: str = ""
    >>> planting("slow", "short")["slow"](Configuration("a"))
    Configuration(name='a', fault='slow')
    """
    return {fault: partial(replace, fault=fault) for fault in faults}
