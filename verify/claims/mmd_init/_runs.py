"""The initialisations of the claims on training, by name and scale, and what they show."""

from typing import Any

import numpy as np
import numpy.typing as npt

from empirical.mmd_init.study import STUDY
from verify.claims._trained import Trainer

Array = npt.NDArray[np.float64]

NETWORKS = Trainer(STUDY)


def runs(name: str, scale: str, **variant: float) -> list[dict[str, Any]]:
    """Return a configuration's runs of a variant, by seed; trained now if need be.

    Raises
    ------
    ValueError
        If there are none, one has diverged, or as `Trainer.record`.
    """
    found = [
        run
        for run in NETWORKS.record(name, scale)["runs"]
        if all(run[key] == value for key, value in variant.items())
    ]
    if not found or any(run.get("status") == "diverged" for run in found):
        status = [run.get("status") for run in found]
        raise ValueError(f"{name} ({scale}) {variant}: runs ended as {status}")
    return sorted(found, key=lambda run: run["seed"])


def accuracy(name: str, scale: str, shots: int, **variant: float) -> Array:
    """Return the test accuracy after fine-tuning, (seeds, tasks).

    Raises
    ------
    ValueError
        If a task diverged.
    """
    found = [r["finetuned"][str(shots)] for r in runs(name, scale, **variant)]
    values = np.array(found, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} ({scale}), N = {shots}: a task diverged")
    return values


def learnt(lam: float) -> str:
    """Return the configuration that learns from Xavier's start with this weight."""
    return "mmd-xavier" if lam else "uniform-xavier"


def constant(name: str, scale: str, **variant: float) -> Array:
    """Return DS, the mean share of perturbed models that miss a class, by seed."""
    return np.array([r["constant"]["mean"] for r in runs(name, scale, **variant)])


def dead(name: str, scale: str, **variant: float) -> Array:
    """Return the mean share of dead units, (seeds, hidden layers)."""
    return np.array([r["dead"]["mean"] for r in runs(name, scale, **variant)])


def last_uniformity(name: str, scale: str, **variant: float) -> Array:
    """Return L_uni over the last three windows of training, by seed."""
    found = [r["windows"]["uniformity"][-3:] for r in runs(name, scale, **variant)]
    return np.array(found, dtype=np.float64).mean(axis=1)
