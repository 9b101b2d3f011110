"""Networks with a planted fault, of which no claim on training may hold."""

from dataclasses import replace
from functools import partial

from empirical.square_loss.experiments import Configuration
from empirical.testbed import faults


def planted(configuration: Configuration, fault: str) -> Configuration:
    """Return a configuration of the same name with one of `testbed.faults.FAULTS`.

    Examples
    --------
    >>> from empirical.square_loss.experiments import configurations
    >>> first = configurations("small")[0]
    >>> planted(first, "slow").recipe.rate == first.recipe.rate / 100
    True
    """
    recipe, shuffled = configuration.recipe, configuration.shuffled
    match fault:
        case "slow":
            stable = recipe.stable and recipe.stable / 100
            recipe = replace(recipe, rate=recipe.rate / 100, stable=stable)
        case "short":
            recipe = replace(recipe, epochs=max(1, recipe.epochs // faults.FEWER))
        case "frozen":
            recipe = replace(recipe, frozen=True)
        case "untrained":
            # The weights stay as drawn.
            recipe = replace(recipe, epochs=1, rate=1e-30)
        case _:
            shuffled = True
    return replace(configuration, recipe=recipe, shuffled=shuffled)


FAULTS = {fault: partial(planted, fault=fault) for fault in faults.FAULTS}
