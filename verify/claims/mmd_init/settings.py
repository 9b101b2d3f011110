"""How networks are pre-trained and fine-tuned where nothing else is asked for."""

import math
from typing import Any

from empirical.mmd_init.experiments import Configuration, Scale, configurations
from empirical.mmd_init.faults import FAULTS
from empirical.mmd_init.recipes import FinetuneRecipe, Recipe
from verify.claim import grid, numeric
from verify.claims._predictors import always, mistake
from verify.claims.mmd_init._sources import ours, quoted
from verify.compare import AgreesTo, Identical

_IMAGES = 60_000

_said = always(
    {
        "pre-training": {"rate": 2e-4, "batch": 32, "epochs": 5, "updates": 9375},
        "models": {"perturbations": 256, "reference": 256, "window": 100},
        "fine-tuning": {"rate": 1e-3, "batch": 50, "epochs": 10},
    }
)


def _assumed() -> dict[str, Any]:
    recipe, tuned = Recipe(), FinetuneRecipe()

    def of(each: Any, *names: str) -> dict[str, Any]:
        return {name: getattr(each, name) for name in names}

    return {
        "pre-training": of(recipe, "rate", "batch", "epochs")
        | {"updates": recipe.updates(_IMAGES)},
        "models": of(recipe, "perturbations", "reference", "window"),
        "fine-tuning": of(tuned, "rate", "batch", "epochs"),
    }


SETTINGS = numeric(
    id="mmd/tab1-settings",
    items=("Tab1", "Prelim"),
    title="What recipes leave unsaid is what the text says",
    statement=(
        r"\text{five passes through 60,000 digits, 32 at a time, 256 perturbations and"
        r" 256 points; at most ten passes, 50 at a time}"
    ),
    source=quoted("Section 4, pre-training and fine-tuning"),
    cases=({},),
    predict=_said,
    measure=_assumed,
    compare=Identical(),
    must_refute=mistake(
        "Half as many perturbations.",
        then=lambda said: said | {"models": said["models"] | {"perturbations": 128}},
    ),
    uses=("mmd/eq11-steps",),
)


def _told(c: Configuration) -> list[float]:
    """Return rates, updates, windows and epochs, and what is frozen or shuffled."""
    before, after = c.recipe, c.finetune
    rates, updates = [before.rate, after.rate], [before.updates(_IMAGES), before.window]
    kept = [before.frozen, after.frozen, c.shuffled]
    return [*rates, *updates, after.epochs, *map(float, kept), *c.reached]


def _planted(*, fault: str, scale: Scale, part: int = 15) -> list[float]:
    found: list[float] = []
    for c in configurations(scale):
        one, two, updates, window, epochs, *_ = _told(c)
        reached = list(c.reached)
        if fault == "short":
            updates, epochs = (max(1, math.floor(n / part)) for n in (updates, epochs))
            window = min(window, updates)
            reached = [math.ceil(n / part) for n in reached]
        size = {"slow": 0.01, "untrained": 1e-30}.get(fault, 1.0)
        kept = [fault == "frozen", fault == "frozen", fault == "shuffled"]
        found += [size * one, size * two, updates, window, epochs]
        found += [*map(float, kept), *reached]
    return found


def _trained_wrongly(*, fault: str, scale: Scale) -> list[float]:
    return [n for c in configurations(scale) for n in _told(FAULTS[fault](c))]


FAULTY = numeric(
    id="mmd/tab1-faults",
    items=("Tab1", "Prelim"),
    uses=("mmd/tab1-settings",),
    title="Starts with a fault planted are learnt, and trained from, as the fault says",
    statement=(
        r"\text{rates}/100,\ \text{updates}/15,\ \text{labels exchanged},"
        r"\ \text{hidden layers frozen},\ \text{none}"
    ),
    source=ours("Section 4; the faults are ours"),
    cases=grid(fault=tuple(FAULTS), scale=("small", "paper")),
    predict=_planted,
    measure=_trained_wrongly,
    # One product or quotient is rounded: to 1.1e-16, and 0.01 itself is.
    compare=AgreesTo(relative=1e-15),
    must_refute=mistake("A fourteenth of the updates.", part=14),
)
