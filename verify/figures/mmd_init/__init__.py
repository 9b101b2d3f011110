"""Figures 1 to 3 and tables 1 to 5 of the paper on learnt initialisations, and two more.

`FIGURES` and `TABLES` hold each by its number. Calling one with a mapping from
configurations to run records draws it, or sets the paper's numbers beside the records',
and computes nothing but means and standard deviations; `verify.figures.runs.Folder` is
such a mapping. `degeneracy_floor` and `vacuous_tail` are of theory.

Source: Lee, Cho 2023, *Unsupervised Learning of Initialization in Deep Neural Networks
via Maximum Mean Discrepancy*.
"""

from verify.figures.mmd_init.bounds import degeneracy_floor as degeneracy_floor
from verify.figures.mmd_init.bounds import vacuous_tail as vacuous_tail
from verify.figures.mmd_init.paper import PaperFigure as PaperFigure
from verify.figures.mmd_init.paper import PaperTable as PaperTable
from verify.figures.mmd_init.table import FIGURES as FIGURES
from verify.figures.mmd_init.table import TABLES as TABLES
