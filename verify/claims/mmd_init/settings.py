"""How networks are pre-trained and fine-tuned where nothing else is asked for."""

from typing import Any

from empirical.mmd_init.recipes import FinetuneRecipe, Recipe
from verify.claim import numeric
from verify.claims._predictors import always, mistake
from verify.claims.mmd_init._sources import quoted
from verify.compare import Identical

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
