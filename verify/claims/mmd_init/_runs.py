"""The initialisations of the claims on training, by name and scale, and what they show."""

import numpy as np
import numpy.typing as npt

from empirical.mmd_init.study import STUDY
from empirical.testbed.records import Draws
from verify.trained import Trainer

Array = npt.NDArray[np.float64]

NETWORKS = Trainer(STUDY)


def runs(name: str, scale: str, **variant: float) -> Draws:
    """Return a configuration's runs of a variant, by seed.

    Raises
    ------
    ValueError
        If there are none, one has diverged, or as `Trainer.record`.
    """
    found = NETWORKS.record(name, scale).where(**variant)
    if not found or "diverged" in found.status:
        raise ValueError(f"{name} ({scale}) {variant}: runs ended as {found.status}")
    return Draws(sorted(found, key=lambda draw: draw.seed))


def accuracy(name: str, scale: str, shots: int, **variant: float) -> Array:
    """Return the test accuracy after fine-tuning, (seeds, tasks).

    Raises
    ------
    ValueError
        If a task diverged.
    """
    values = runs(name, scale, **variant).series(f"finetuned/{shots}")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} ({scale}), N = {shots}: a task diverged")
    return values


def learnt(lam: float) -> str:
    """Return the configuration that learns from Xavier's start with this weight."""
    return "mmd-xavier" if lam else "uniform-xavier"


def constant(name: str, scale: str, **variant: float) -> Array:
    """Return DS, the mean share of perturbed models that miss a class, by seed."""
    return runs(name, scale, **variant).series("constant/mean")


def dead(name: str, scale: str, **variant: float) -> Array:
    """Return the mean share of dead units, (seeds, hidden layers)."""
    return runs(name, scale, **variant).series("dead/mean")


def last_uniformity(name: str, scale: str, **variant: float) -> Array:
    """Return L_uni over the last three windows of training, by seed."""
    windows = runs(name, scale, **variant).series("windows/uniformity")
    return windows[:, -3:].mean(axis=1)
