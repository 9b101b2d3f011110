"""What is said of an arm that was trained, and its figure."""

import numpy as np

from empirical.testbed.ending import Curve, Ending, counted, ended, spread
from empirical.testbed.records import RunRecord
from empirical.testbed.writing import Array

FITTED = 0.9
"""Share of the training examples that counts as fitted."""


def epochs_to(accuracy: Array, level: float) -> Array:
    """Return after how many epochs each network first reaches an accuracy, else infinity.

    Parameters
    ----------
    accuracy : array, shape (networks, 1 + epochs)
        The start first; NaN after a network's end.
    level : float

    Examples
    --------
    >>> epochs_to(np.array([[0.1, 0.8, 0.95], [0.1, 0.2, np.nan]]), 0.9).tolist()
    [2.0, inf]
    """
    reached = accuracy >= level
    return np.where(reached.any(axis=1), reached.argmax(axis=1), np.inf)


def ending(record: RunRecord) -> Ending:
    """Say how well an arm has fitted its images, at which rate and how fast."""
    configuration, draws = record.configuration, record.draws
    depth, width = configuration["depth"], configuration["width"]
    size = f"{counted(depth, 'hidden layer')} of {width} units"
    if configuration["network"] == "residual":
        size = f"{depth} layers, the first stage of {width} channels,"
    rates = configuration["rates"]
    chosen = f"{record.fact('rate'):g}"
    if len(rates) > 1:
        tried = ", ".join(f"{rate:g}" for rate in rates)
        chosen += f", the best of {tried} on images held out"
    said = [
        (
            f"Trained {counted(len(draws), 'network')} of the arm"
            f" {configuration['arm']} with {size} on {record.fact('examples'):,} images,"
            f" for {counted(configuration['epochs'], 'epoch')} at the rate {chosen}."
        )
    ]
    done = draws.ended("finished")
    curves: list[Curve] = []
    if not done:
        said.append(f"{ended(record)}.")
    else:
        train, test = done.series("train_accuracy"), done.series("test_accuracy")
        stable = record.fact("stable")
        largest = "the largest rate at which no network diverges is "
        largest += f"{stable:g}" if stable else "none of them"
        if stable == max(rates):
            largest = "no network diverged at any rate that was tried"
        said.append(
            f"{ended(record)}, with {100 * train[:, -1].mean():.0f} % of the images right"
            f" and {100 * test[:, -1].mean():.0f} % of those they had not seen; {largest}."
        )
        fast = epochs_to(train, FITTED)
        if np.isfinite(fast).all():
            said.append(
                f"{100 * FITTED:.0f} % of the images are fitted after"
                f" {spread(fast, '.0f')} epochs."
            )
        epochs = np.arange(train.shape[1])
        for label, each in (("training", train), ("test", test)):
            curves.append(Curve(label, epochs, each.mean(axis=0), each.std(axis=0)))
    return Ending(
        said=tuple(said),
        curves=tuple(curves),
        x="epoch",
        y="share right",
        error="deviation over networks",
    )
