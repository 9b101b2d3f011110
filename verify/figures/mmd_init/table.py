"""The paper's figures and tables by their numbers."""

from collections.abc import Mapping

from verify.figures.mmd_init import content, laws, steps
from verify.figures.mmd_init.paper import PaperFigure, PaperTable
from verify.figures.mmd_init.runs import TRAINING

_FIGURES = (
    PaperFigure(
        1,
        "Predictions before and after learning uniformity alone",
        "(a) The probability p of the first class over 1,024 perturbations of the"
        " start, at four inputs: after training its distribution function lies near"
        " the diagonal; D, before and after, is the largest distance between them."
        " (b) The same over 1,024 inputs for four perturbed models, sd its standard"
        " deviation: a steep step is a model that answers every input alike. The"
        " first seed.",
        "densities, uniform in (a) and spikes in (b): uniformity alone is reached"
        " by constant models.",
        laws.laws,
        needs=("uniform-xavier",),
        sizes=TRAINING,
    ),
    PaperFigure(
        2,
        "Detachment at the start and around it",
        "Only the loss against detachment at the start θ₀ is minimised. Dashed: that"
        " loss; solid: at four perturbed starts, of which the band is the standard"
        " deviation; thin lines are other runs. With more noise, less of the fall, if"
        " any, is seen around the start.",
        "the perturbed curves fall too, less as s² grows.",
        steps.detachment,
        needs=("detachment",),
        sizes=("images", "training", "network", "steps", "rate"),
    ),
    PaperFigure(
        3,
        "Uniformity against steps, by noise and weight",
        "The loss L_uni against steps: means over bins of single steps that grow with"
        " the step (an estimate, which may be negative), then over windows; the axis"
        " is linear below 0.01. Bands are standard deviations over runs.",
        "near 0 for λ up to 0.4, above it for λ = 1, and not monotone there for s²"
        " of 1 and 2.",
        steps.uniformity,
        needs=("sweep",),
    ),
)

FIGURES: Mapping[int, PaperFigure] = {one.number: one for one in _FIGURES}
"""Every figure of the paper by its number."""

_OF_TASKS = (*TRAINING, "tasks", "runs")

_TABLES = (
    PaperTable(
        1,
        "Test accuracy after fine-tuning",
        "Mean accuracy in % over binary tasks with 10 N examples each, and its"
        " standard deviation over runs; bold is the best of a start, in the paper"
        " and here.",
        content.accuracy,
        needs=content.BY_TASK,
        also=content.NORMALISED,
        sizes=_OF_TASKS,
    ),
    PaperTable(
        2,
        "How much accuracy differs between tasks",
        "Standard deviation of the accuracy in % over the tasks: mean and"
        " standard deviation over runs; bold is the least of a start.",
        content.spread,
        needs=content.BY_TASK,
        also=content.NORMALISED,
        sizes=_OF_TASKS,
    ),
    PaperTable(
        3,
        "Perturbed models that miss a class",
        "Degenerate softmax (DS): share of perturbed models that never predict one"
        " of the classes in a minibatch, by the weights λ and ξ of the two"
        " regularisers; mean and standard deviation over minibatches, which here"
        " are those of all runs.",
        content.constant,
        needs=("mmd-xavier", "uniform-xavier"),
        sizes=(*TRAINING, "minibatches"),
    ),
    PaperTable(
        4,
        "Dead units",
        "Share of hidden units that are off on a whole minibatch, at the learnt"
        " start, by layer and the weights λ and ξ of the two regularisers; mean and"
        " standard deviation over minibatches, which here are those of all runs.",
        content.dead,
        needs=("mmd-xavier", "uniform-xavier"),
        sizes=(*TRAINING, "minibatches"),
    ),
    PaperTable(
        5,
        "Noise and weight",
        "Degenerate softmax (DS) and input-output detachment (IOD, the largest of"
        " the hidden layers' mean shares of dead units) by s² and λ, ξ = 1: mean and"
        " standard deviation over runs, the mean alone where there is one run.",
        content.sweep,
        needs=("sweep",),
        sizes=(*TRAINING, "minibatches", "runs"),
    ),
)

TABLES: Mapping[int, PaperTable] = {one.number: one for one in _TABLES}
"""Every table of the paper by its number."""
