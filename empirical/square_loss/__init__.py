"""Train classifiers with the square loss, and watch norms, margins and features.

The test-bed of Poggio, Liao 2021: many seeds and initial scales of one small network
train at once, with batch or weight normalisation or neither, with weight decay or not.
``python -m empirical.square_loss`` trains any of them and prints the record.
"""

from typing import TYPE_CHECKING

from empirical._lazily import names_of

if TYPE_CHECKING:
    from empirical.square_loss.classifiers import classifier as classifier
    from empirical.square_loss.networks import Params as Params
    from empirical.square_loss.networks import start as start
    from empirical.square_loss.problems import Problem as Problem
    from empirical.square_loss.problems import problem as problem
    from empirical.square_loss.recipes import Recipe as Recipe
    from empirical.square_loss.training import Trained as Trained
    from empirical.square_loss.training import held_out_outputs as held_out_outputs
    from empirical.square_loss.training import normalised_outputs as normalised_outputs
    from empirical.square_loss.training import train as train

__getattr__ = names_of(__name__)
