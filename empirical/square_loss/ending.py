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
        last, rest = (spread(done.series(s)[:, -1]) for s in ("rho", "rho_eq"))
        said.append(
            f"The norm rho of the network ended at {last}; the equilibrium of its"
            f" directions lies at {rest}{_other_law(record)}."
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


def _other_law(record: RunRecord) -> str:
    """Say so where weight decay acts on factors of rho: that equilibrium is not theirs."""
    network, recipe = (record.configuration[name] for name in ("network", "recipe"))
    whole = network["norm"] is not None or network["weighting"] == "matrix"
    if (
        whole
        or recipe["weight_decay"] == 0.0
        or record.draws.series("norms").shape[-1] < 2
    ):
        return ""
    if recipe["decayed"] == "last":
        return " if rho as a whole decays, but here the last layer does alone"
    said = (
        " if rho as a whole decays, but here each layer does: they rest at another norm"
    )
    law = " (theory.square_loss.unnormalised_equilibrium)"
    return said + law * (recipe.get("loss", "square") == "square")
