"""Train classifiers with the square loss, and watch norms, margins and features.

The test-bed of Poggio, Liao 2021: many seeds and initial scales of one small network
train at once, with batch or weight normalisation or neither, with weight decay or not.
``python -m empirical.square_loss`` trains any of them and prints the record.
"""

from typing import TYPE_CHECKING

from empirical._lazily import names_of

if TYPE_CHECKING:
    from empirical.square_loss.classifiers import classifier
    from empirical.square_loss.networks import Params, start
    from empirical.square_loss.problems import Problem, problem
    from empirical.square_loss.recipes import Recipe
    from empirical.square_loss.training import (
        Trained,
        held_out_outputs,
        normalised_outputs,
        train,
    )

__all__ = [
    "Params",
    "Problem",
    "Recipe",
    "Trained",
    "classifier",
    "held_out_outputs",
    "normalised_outputs",
    "problem",
    "start",
    "train",
]

__getattr__ = names_of(
    __name__, "classifiers", "networks", "problems", "recipes", "training"
)
