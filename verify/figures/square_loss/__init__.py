"""Figures 1 to 11 of the paper on the square loss, from records of trained networks.

`FIGURES` holds each by its number. Calling one with a mapping from configurations to
run records draws it and computes nothing but medians and ranges over seeds;
`verify.figures.runs.Folder` is such a mapping.

Source: Poggio, Liao 2021, *Explicit regularization and implicit bias in deep network
classifiers trained with the square loss*.
"""

from verify.figures.square_loss.flows import overshoot as overshoot
from verify.figures.square_loss.paper import PaperFigure as PaperFigure
from verify.figures.square_loss.table import COLLAPSE as COLLAPSE
from verify.figures.square_loss.table import FAMILIES as FAMILIES
from verify.figures.square_loss.table import FIGURES as FIGURES
