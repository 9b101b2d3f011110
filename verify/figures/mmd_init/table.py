"""The paper's figures and tables by their numbers."""

from collections.abc import Mapping

from verify.figures.mmd_init import content, laws, steps
from verify.figures.mmd_init.paper import PaperFigure, PaperTable
from verify.figures.mmd_init.runs import TRAINING

_FIGURES = (
    PaperFigure(
        number=1,
        title="Predictions before and after learning uniformity alone",
        caption=(
            "(a) The probability p of the first class over 1,024 perturbations of the"
            " start, at four inputs: after training its distribution function lies near"
            " the diagonal; D, before and after, is the largest distance between them."
            " (b) The same over 1,024 inputs for four perturbed models, sd its standard"
            " deviation: a steep step is a model that answers every input alike. The"
            " first seed."
        ),
        paper=(
            "densities, uniform in (a) and spikes in (b): uniformity alone is reached"
            " by constant models."
        ),
        needs=("uniform-xavier",),
        plate=laws.laws,
        sizes=TRAINING,
    ),
    PaperFigure(
        number=2,
        title="Detachment at the start and around it",
        caption=(
            "Only the loss against detachment at the start θ₀ is minimised. Dashed: that"
            " loss; solid: at four perturbed starts, of which the band is the standard"
            " deviation; thin lines are other runs. With more noise, less of the fall, if"
            " any, is seen around the start."
        ),
        paper="the perturbed curves fall too, less as s² grows.",
        needs=("detachment",),
        plate=steps.detachment,
        sizes=("images", "training", "network", "steps", "rate"),
    ),
    PaperFigure(
        number=3,
        title="Uniformity against steps, by noise and weight",
        caption=(
            "The loss L_uni against steps: means over bins of single steps that grow with"
            " the step (an estimate, which may be negative), then over windows; the axis"
            " is linear below 0.01. Bands are standard deviations over runs."
        ),
        paper=(
            "near 0 for λ up to 0.4, above it for λ = 1, and not monotone there for s²"
            " of 1 and 2."
        ),
        needs=("sweep",),
        plate=steps.uniformity,
    ),
)

FIGURES: Mapping[int, PaperFigure] = {one.number: one for one in _FIGURES}
"""Every figure of the paper by its number."""

_OF_TASKS = (*TRAINING, "tasks", "runs")

_TABLES = (
    PaperTable(
        number=1,
        title="Test accuracy after fine-tuning",
        caption=(
            "Mean accuracy in % over binary tasks with 10 N examples each, and its"
            " standard deviation over runs; bold is the best of a start, in the paper"
            " and here."
        ),
        needs=content.BY_TASK,
        also=content.NORMALISED,
        content=content.accuracy,
        sizes=_OF_TASKS,
    ),
    PaperTable(
        number=2,
        title="How much accuracy differs between tasks",
        caption=(
            "Standard deviation of the accuracy in % over the tasks: mean and"
            " standard deviation over runs; bold is the least of a start."
        ),
        needs=content.BY_TASK,
        also=content.NORMALISED,
        content=content.spread,
        sizes=_OF_TASKS,
    ),
    PaperTable(
        number=3,
        title="Perturbed models that miss a class",
        caption=(
            "Degenerate softmax (DS): share of perturbed models that never predict one"
            " of the classes in a minibatch, by the weights λ and ξ of the two"
            " regularisers; mean and standard deviation over minibatches, which here"
            " are those of all runs."
        ),
        needs=("mmd-xavier", "uniform-xavier"),
        content=content.constant,
        sizes=(*TRAINING, "minibatches"),
    ),
    PaperTable(
        number=4,
        title="Dead units",
        caption=(
            "Share of hidden units that are off on a whole minibatch, at the learnt"
            " start, by layer and the weights λ and ξ of the two regularisers; mean and"
            " standard deviation over minibatches, which here are those of all runs."
        ),
        needs=("mmd-xavier", "uniform-xavier"),
        content=content.dead,
        sizes=(*TRAINING, "minibatches"),
    ),
    PaperTable(
        number=5,
        title="Noise and weight",
        caption=(
            "Degenerate softmax (DS) and input-output detachment (IOD, the largest of"
            " the hidden layers' mean shares of dead units) by s² and λ, ξ = 1: mean and"
            " standard deviation over runs, the mean alone where there is one run."
        ),
        needs=("sweep",),
        content=content.sweep,
        sizes=(*TRAINING, "minibatches", "runs"),
    ),
)

TABLES: Mapping[int, PaperTable] = {one.number: one for one in _TABLES}
"""Every table of the paper by its number."""

MAIN = tuple(FIGURES)
"""Figures that the report shows."""
