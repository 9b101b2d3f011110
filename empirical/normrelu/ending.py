"""What is said of an arm that was trained, and its figure."""

import numpy as np

from empirical.testbed.ending import Curve, Ending, ended
from empirical.testbed.records import RunRecord


def ending(record: RunRecord) -> Ending:
    """Say how well an arm has fitted its digits, at which rate."""
    configuration, draws = record.configuration, record.draws
    rates = ", ".join(f"{rate:g}" for rate in configuration["rates"])
    said = [
        (
            f"Trained {len(draws)} networks of the arm {configuration['arm']} with"
            f" {configuration['depth']} hidden layers of {configuration['width']} units"
            f" on {record.fact('examples'):,} digits, for {configuration['epochs']} epochs"
            f" at the rate {record.fact('rate'):g}, the best of {rates} on digits held"
            " out."
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
            f"{ended(record)}, with {100 * train[:, -1].mean():.0f} % of the digits right"
            f" and {100 * test[:, -1].mean():.0f} % of those it had not seen; the largest"
            f" rate at which no network diverges is {largest}."
        )
        epochs = np.arange(train.shape[1])
        for label, each in (("training", train), ("test", test)):
            curves.append(Curve(label, epochs, each.mean(axis=0), each.std(axis=0)))
    return Ending(said=tuple(said), curves=tuple(curves), x="epoch", y="share right")
