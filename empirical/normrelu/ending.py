"""What is said of an arm that was trained, and its figure."""

import numpy as np
import numpy.typing as npt

from empirical.testbed.ending import Curve, Ending, ended
from empirical.testbed.records import RunRecord

Array = npt.NDArray[np.float64]
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
    size = f"{depth} hidden layers of {width} units"
    if configuration["network"] == "residual":
        size = f"{depth} layers, the first stage of {width} channels,"
    rates = ", ".join(f"{rate:g}" for rate in configuration["rates"])
    said = [
        (
            f"Trained {len(draws)} networks of the arm {configuration['arm']} with"
            f" {size} on {record.fact('examples'):,} images, for"
            f" {configuration['epochs']} epochs at the rate {record.fact('rate'):g}, the"
            f" best of {rates} on images held out."
        )
    ]
    done = draws.ended("finished")
    curves: list[Curve] = []
    if not done:
        said.append(f"{ended(record)}.")
    else:
        train, test = done.series("train_accuracy"), done.series("test_accuracy")
        stable = record.fact("stable")
        largest = f"{stable:g}" if stable else "none of them"
        said.append(
            f"{ended(record)}, with {100 * train[:, -1].mean():.0f} % of the images right"
            f" and {100 * test[:, -1].mean():.0f} % of those it had not seen; the largest"
            f" rate at which no network diverges is {largest}."
        )
        fast = epochs_to(train, FITTED)
        if np.isfinite(fast).all():
            said.append(
                f"{100 * FITTED:.0f} % of the images are fitted after {fast.min():.0f} to"
                f" {fast.max():.0f} epochs."
            )
        epochs = np.arange(train.shape[1])
        for label, each in (("training", train), ("test", test)):
            curves.append(Curve(label, epochs, each.mean(axis=0), each.std(axis=0)))
    return Ending(said=tuple(said), curves=tuple(curves), x="epoch", y="share right")
