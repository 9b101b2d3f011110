"""What is said of classifiers trained with the square loss, and their figure."""

import numpy as np

from empirical.testbed.ending import Curve, Ending, counted, ended, listed, spread
from empirical.testbed.records import RunRecord


def ending(record: RunRecord) -> Ending:
    """Say how large the networks have grown, and where their equilibrium is."""
    configuration, network = record.configuration, record.configuration["network"]
    widths = "-".join(map(str, network["widths"]))
    labels = listed(configuration["labels"])
    scales = ", ".join(f"{scale:g}" for scale in configuration["scales"])
    said = [
        (
            f"Trained {counted(len(record.draws), network['kind'] + ' network')}"
            f" ({widths}) from weights scaled by {scales}, on {record.fact('examples')}"
            f" images of {configuration['data']} {labels}, for"
            f" {counted(configuration['recipe']['epochs'], 'epoch')}."
        )
    ]
    done = record.draws.ended("finished")
    if not done:
        said.append(f"{ended(record)}: try a smaller `--rate`.")
    else:
        errors = [100.0 * error for error in done.fact("test_error")]
        said.append(
            f"{ended(record)}; of the tests {spread(errors)} % are misclassified."
        )
        last = done.series("rho")[:, -1]
        said.append(
            f"The norm rho of the network ended at {spread(last)}; the equilibrium of its"
            f" directions lies at {spread(done.series('rho_eq')[:, -1])}."
        )
    epochs = record.series("epochs")
    curves: list[Curve] = []
    for scale in configuration["scales"]:
        mine = done.where(scale=scale)
        if mine:
            middle = np.median(mine.series("rho"), axis=0)
            curves.append(Curve(f"weights times {scale:g}", epochs, middle))
    return Ending(
        said=tuple(said), curves=tuple(curves), x="epoch", y="norm ρ, median of seeds"
    )
