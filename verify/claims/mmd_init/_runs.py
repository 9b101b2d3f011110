"""The initialisations of the claims on training, by name and scale, and what they show.

A replicate is a start: its number is a mean over the tasks, inputs or units nested in it.
Arms hold the same starts in one order, that of their seeds. What is asked of them is
written in ``docs/trained/mmd-init.md``.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from empirical.mmd_init.experiments import REACHED
from empirical.mmd_init.study import STUDY
from empirical.testbed.records import Draws
from verify.claim import Claim, grid, trend
from verify.claims._predictors import Limits, stated
from verify.compare import Array, Contrast, EffectWithin
from verify.trained import NotLearnt, Trainer

NETWORKS = Trainer(STUDY)

CLOSED = (
    *("mmd/eq11-steps", "mmd/prelim-steps", "mmd/prelim-starts", "mmd/prelim-draws"),
    *("mmd/prelim-images", "mmd/tab1-random", "mmd/ds-records", "mmd/tab1-recorded"),
)
"""What every claim on trained networks rests on: their steps and measures."""

OURS = {"lam": 0.4, "xi": 1.0}
ALONE = {"lam": 0.0, "xi": 0.0}

UNLABELLED = {"shuffled": "pre-training sees no labels"}
"""Why its claims withstand a fault."""

CHANCE = 55.0
"""Accuracy in per cent that fine-tuned networks must reach to have learnt anything."""
LEARNT = {"mmd": 65.0, "none": 65.0}
"""What those of the whole method, and of the plain start, must reach; not ablations."""


# --- claims ---------------------------------------------------------------------------


def trained(
    *,
    axes: Mapping[str, tuple[Any, ...]] | None = None,
    small: Mapping[str, tuple[Any, ...]] | None = None,
    full: Mapping[str, tuple[Any, ...]] | None = None,
    quick: bool = False,
    unit: str = "",
    **parts: Any,
) -> Claim:
    """Return a claim on trained networks.

    `axes` are those of its cases beside the scale, `small` and `full` others at these
    scales; the quick profile tries it where it affords the training.
    `unit` is that of its effect.
    """
    every = axes or {}
    few = every if small is None else small
    given: dict[str, Any] = {
        "cases": grid(scale="small", **few) if quick else (),
        "larger_cases": {
            "full": grid(scale="full", **every if full is None else full),
            "gpu": grid(scale="paper", **every),
        },
        "compare": EffectWithin(paired=True, unit=unit),
    }
    parts["uses"] = (*CLOSED, *parts.get("uses", ()))
    return trend(**(given | parts))


def effect(
    measure: Callable[..., Contrast],
    least: float | None,
    most: float | None = None,
    *,
    wrong: Limits = (None, 0.0),
    **parts: Any,
) -> Claim:
    """Return a claim that an effect, paired by start, lies between two limits.

    `wrong` are limits that have to be refuted: of no effect, by default.
    """
    return trained(measure=measure, **stated(least, most, wrong), **parts)


def apart(
    number: Callable[..., Array], over: Mapping[str, Any], under: Mapping[str, Any]
) -> Callable[..., Contrast]:
    """Return the measure of a number with some arguments, against it with others."""
    return partial(_apart, number, over, under)


def _apart(
    number: Callable[..., Array],
    over: Mapping[str, Any],
    under: Mapping[str, Any],
    **case: Any,
) -> Contrast:
    return Contrast(number(**{**case, **over}), number(**{**case, **under}))


# --- records --------------------------------------------------------------------------


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


def series(name: str, scale: str, what: str, **variant: float) -> Array:
    """Return a series of a variant's runs, starts in front."""
    return runs(name, scale, **variant).series(what)


def by_task(name: str, scale: str, shots: int, **variant: float) -> Array:
    """Return test accuracies after fine-tuning in per cent, (starts, tasks).

    Raises
    ------
    ValueError
        If a task diverged.
    NotLearnt
        If they are no better than chance.
    """
    values = 100.0 * series(name, scale, f"finetuned/{shots}", **variant)
    return _checked(values, f"{name} ({scale}), N = {shots}")


def accuracy(name: str, scale: str, shots: int, **variant: float) -> Array:
    """Return mean test accuracies over the tasks in per cent, by start."""
    return by_task(name, scale, shots, **variant).mean(axis=1)


def reached(name: str, scale: str, shots: int, updates: int, **variant: float) -> Array:
    """Return those after so many updates."""
    place = REACHED.index(updates)
    values = 100.0 * series(name, scale, f"reached/{shots}", **variant)[..., place]
    return _checked(values, f"{name} ({scale}), N = {shots}").mean(axis=1)


def _checked(values: Array, who: str) -> Array:
    if not np.isfinite(values).all():
        raise ValueError(f"{who}: a task diverged")
    if values.mean() < LEARNT.get(who.partition("-")[0], CHANCE):
        raise NotLearnt(
            f"{who}: the claim presupposes networks that have learnt their tasks, but"
            f" they get {values.mean():.1f} % right"
        )
    return values


def learnt(lam: float) -> str:
    """Return the configuration that learns from Xavier's start with this weight."""
    return "mmd-xavier" if lam else "uniform-xavier"


def constant(name: str, scale: str, **variant: float) -> Array:
    """Return DS, the mean share of perturbed models that miss a class, in per cent."""
    return 100.0 * series(name, scale, "constant/mean", **variant)


def dead(name: str, scale: str, **variant: float) -> Array:
    """Return the mean share of dead units in per cent, (starts, hidden layers)."""
    return 100.0 * series(name, scale, "dead/mean", **variant)


def window(name: str, scale: str, term: str, at: str, **variant: float) -> Array:
    """Return a loss's mean over the first window of training, or the last three."""
    windows = series(name, scale, f"windows/{term}", **variant)
    return windows[:, 0] if at == "first" else windows[:, -3:].mean(axis=1)
