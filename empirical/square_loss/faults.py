"""Networks with a planted fault, of which no claim on training may hold."""

from dataclasses import replace
from typing import Any

from empirical.square_loss.experiments import Configuration

FEWER = 15
"""A fault of too few updates leaves one in so many."""


def _with(configuration: Configuration, **changes: Any) -> Configuration:
    return replace(configuration, recipe=replace(configuration.recipe, **changes))


def slow(configuration: Configuration) -> Configuration:
    """Train at a hundredth of the rates.

    Examples
    --------
    >>> from empirical.square_loss.experiments import configurations
    >>> first = configurations("small")[0]
    >>> slow(first).recipe.rate == first.recipe.rate / 100
    True
    """
    recipe = configuration.recipe
    stable = None if recipe.stable is None else recipe.stable / 100
    return _with(configuration, rate=recipe.rate / 100, stable=stable)


def short(configuration: Configuration) -> Configuration:
    """Train for a fifteenth of the epochs."""
    return _with(configuration, epochs=max(1, configuration.recipe.epochs // FEWER))


def frozen(configuration: Configuration) -> Configuration:
    """Train the last layer only."""
    return _with(configuration, frozen=True)


def shuffled(configuration: Configuration) -> Configuration:
    """Give the training examples each other's labels."""
    return replace(configuration, shuffled=True)


def untrained(configuration: Configuration) -> Configuration:
    """Make one update at the rate 1e-30: the weights stay as drawn."""
    return _with(configuration, epochs=1, rate=1e-30)


FAULTS = {f.__name__: f for f in (slow, short, shuffled, frozen, untrained)}
