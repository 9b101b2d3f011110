"""Figures 1 to 43 of the paper on copying networks, from records of trained runs.

`FIGURES` holds each by its number. Calling one with a mapping from configurations to
run records draws it and computes nothing but means; `verify.figures.runs.Folder` is
such a mapping.

References
----------
Zhang, Bengio, Hardt, Mozer, Singer 2020, *Identity Crisis: Memorization and
Generalization under Extreme Overparameterization*, ICLR.
"""

from verify.figures.identity_map.paper import PaperFigure as PaperFigure
from verify.figures.identity_map.table import FIGURES as FIGURES
from verify.figures.identity_map.table import MAIN as MAIN
