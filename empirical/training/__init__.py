"""Full-batch gradient descent on wide networks, and the rates it shows.

Top layer or all layers, square loss, many seeds in one batched step; a run that
diverges is recorded and stops alone.
"""

from empirical.training.descent import (
    EXPLODED,
    Curves,
    step_sizes,
    train_all_layers,
    train_top_layer,
)
from empirical.training.rates import fitted_rates, slowest_rates, steps_to

__all__ = [
    "EXPLODED",
    "Curves",
    "fitted_rates",
    "slowest_rates",
    "step_sizes",
    "steps_to",
    "train_all_layers",
    "train_top_layer",
]
