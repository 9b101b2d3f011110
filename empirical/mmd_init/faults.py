"""Faults planted in training, for claims that must not hold of what they leave.

Each takes a configuration to one of the same name whose networks learn less, or nothing,
of what a claim presupposes, before fine-tuning and in it alike; see `Study.faults`.
"""

import math
from dataclasses import replace

from empirical.mmd_init.experiments import Configuration

PART = 15
"""Of the updates, one in so many is made."""


def _rates(c: Configuration, factor: float) -> Configuration:
    recipe, finetune = (
        replace(r, rate=r.rate * factor) for r in (c.recipe, c.finetune)
    )
    return replace(c, recipe=recipe, finetune=finetune)


def slow(configuration: Configuration) -> Configuration:
    """Take a hundredth of the rates."""
    return _rates(configuration, 1e-2)


def untrained(configuration: Configuration) -> Configuration:
    """Take rates too small to move a weight."""
    return _rates(configuration, 1e-30)


def short(configuration: Configuration) -> Configuration:
    """Make a fifteenth of the updates, at least one.

    Examples
    --------
    >>> from empirical.mmd_init.experiments import configurations
    >>> c = short(configurations("small")[0])
    >>> c.recipe.steps, c.finetune.epochs, c.reached
    (26, 1, (1, 2, 3, 6))
    """
    c = configuration
    # Epochs are those of the paper's 60,000 digits.
    steps = max(1, c.recipe.updates(60_000) // PART)
    return replace(
        c,
        recipe=replace(c.recipe, steps=steps, window=min(c.recipe.window, steps)),
        finetune=replace(c.finetune, epochs=max(1, c.finetune.epochs // PART)),
        reached=tuple(math.ceil(t / PART) for t in c.reached),
    )


def frozen(configuration: Configuration) -> Configuration:
    """Leave all layers but the last as they are."""
    c = configuration
    return replace(
        c,
        recipe=replace(c.recipe, frozen=True),
        finetune=replace(c.finetune, frozen=True),
    )


def shuffled(configuration: Configuration) -> Configuration:
    """Shuffle the labels of the training images among them."""
    return replace(configuration, shuffled=True)


FAULTS = {f.__name__: f for f in (slow, short, shuffled, frozen, untrained)}
"""Every fault by its name."""
