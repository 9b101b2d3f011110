"""What is trained at each scale, as it was registered.

Sizes, seeds, rates and steps are choices, made before any result was seen: no formula
says what they are. A digest of all configurations of a scale is entered here by hand; one
that is changed afterwards, or by mistake, is no longer what was registered.
"""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from verify.claim import Claim, grid
from verify.claims._twins import closed
from verify.compare import Identical

Configurations = Callable[[Any], Sequence[Any]]
Registered = Mapping[str, tuple[int, str]]
"""Scale to the number of configurations, and the first digits of their digest."""

SCALES = ("small", "full", "paper")


def protocol(
    configurations: Configurations,
    registered: Registered,
    *,
    faults: Mapping[str, Callable[[Any], Any]],
    **parts: Any,
) -> Claim:
    """Return a claim that configurations are those registered, faults planted too."""
    return closed(
        cases=grid(scale=SCALES),
        compare=Identical(),
        twin=partial(_registered, registered),
        measure=partial(_found, configurations, faults),
        **parts,
    )


def _registered(registered: Registered, *, scale: str, wrong: bool) -> list[int | str]:
    other = SCALES[SCALES.index(scale) - 1]
    return list(registered[other if wrong else scale])


def _found(
    configurations: Configurations,
    faults: Mapping[str, Callable[[Any], Any]],
    *,
    scale: str,
) -> list[int | str]:
    made = configurations(scale)
    every = [*made, *(plant(c) for plant in faults.values() for c in made)]
    text = json.dumps([_plain(c) for c in every], sort_keys=True)
    return [len(made), hashlib.sha256(text.encode()).hexdigest()[:16]]


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: dataclasses by the names of their fields."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"protocol: a configuration holds {type(value).__name__}")
