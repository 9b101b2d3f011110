"""Faults planted in training, for claims that must not hold of what they leave.

Networks learn less, or nothing, of what a claim presupposes, before fine-tuning and in it
alike; see `Study.faults`.
"""

import math
from dataclasses import replace
from functools import partial

from empirical.mmd_init.experiments import Configuration
from empirical.testbed import faults

_RATES = {"slow": 1e-2, "untrained": 1e-30}
"""Factors of the rates; the second moves no weight."""


def planted(configuration: Configuration, fault: str) -> Configuration:
    """Return a configuration of the same name with one of `testbed.faults.FAULTS`.

    Examples
    --------
    >>> from empirical.mmd_init.experiments import configurations
    >>> c = planted(configurations("small")[0], "short")
    >>> c.recipe.steps, c.finetune.epochs, c.reached
    (26, 1, (1, 2, 3, 6))
    """
    c = configuration
    if fault == "shuffled":
        return replace(c, shuffled=True)
    if fault == "short":
        # Epochs are those of the paper's 60,000 digits.
        steps = max(1, c.recipe.updates(60_000) // faults.FEWER)
        return replace(
            c,
            recipe=replace(c.recipe, steps=steps, window=min(c.recipe.window, steps)),
            finetune=replace(
                c.finetune, epochs=max(1, c.finetune.epochs // faults.FEWER)
            ),
            reached=tuple(math.ceil(t / faults.FEWER) for t in c.reached),
        )
    factor, frozen = _RATES.get(fault, 1.0), fault == "frozen"
    recipe, finetune = (
        replace(r, rate=r.rate * factor, frozen=r.frozen or frozen)
        for r in (c.recipe, c.finetune)
    )
    return replace(c, recipe=recipe, finetune=finetune)


FAULTS = {fault: partial(planted, fault=fault) for fault in faults.FAULTS}
"""Every fault by its name."""
