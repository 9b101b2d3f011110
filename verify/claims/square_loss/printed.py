"""The settings of the paper's three experiments, as their captions print them."""

import math
from functools import partial
from typing import Any

import torch

from empirical.randomness import torch_generator
from empirical.square_loss.experiments import Configuration, Scale, configurations
from empirical.square_loss.faults import FAULTS
from empirical.square_loss.problems import Problem
from empirical.square_loss.study import STUDY
from verify.claim import grid, numeric
from verify.claims._predictors import changed, mistake
from verify.claims._published import published
from verify.claims.square_loss._sources import ours, quoted
from verify.compare import AgreesTo, Identical

_ALIKE = {
    "classes": 2,
    "batch": 128,
    "momentum": 0.9,
    "epochs": 1000,
    "drops": 0,
    "layers": 4,
}
_CAPTIONS = {
    "bn-decay": {"rate": 0.1, "weight decay": 0.01, "norms": [0.1, 1.0, 5.0]},
    "bn-conv": {"rate": 0.01, "weight decay": 0.0, "norms": [0.1, 5.0]},
    "none": {"rate": 0.1, "weight decay": 0.0, "norms": [5.0, 15.0, 30.0]},
}
"""Of Figures 1, 2, 5, 6, 9 and 10."""
_ENDS = {
    **{f"ends of {normalised}": [0.1, 5.0] for normalised in ("bn-decay", "bn-conv")},
    # Of several classes, at the norm between.
    **{f"ends of {several}": [1.0, 1.0] for several in ("classes", "classes-entropy")},
    # Norms of narrow networks are whole multiples of their first.
    "ratios of none": [1.0, 3.0, 6.0],
}
"""Of initial norms at every scale: the least and the largest, or their ratios."""


def _made(experiment: str, scale: Scale) -> list[Configuration]:
    every = configurations(scale)
    # Above the small scale names end with the data, where there are several.
    return [c for c in every if c.name in (experiment, f"{experiment}-{c.data}")]


def _printed(*, what: str, scale: Scale) -> Any:
    del scale
    return _ENDS[what] if what in _ENDS else _ALIKE | _CAPTIONS[what]


def _mistaken(*, what: str, scale: Scale) -> Any:
    """The settings of another experiment, norms that are not normalised, or are."""
    if what == "ratios of none":
        return [1.0, 10.0, 50.0]
    if what in _ENDS:
        return [5.0, 30.0]
    other = "bn-decay" if what == "bn-conv" else "bn-conv"
    return _printed(what=other, scale=scale)


def _configured(*, what: str, scale: Scale) -> Any:
    if " of " in what:
        part, experiment = what.split(" of ")
        (norms,) = {c.scales for c in _made(experiment, scale)}
        least, most = min(norms), max(norms)
        return [least, most] if part == "ends" else [norm / norms[0] for norm in norms]
    (found,) = _made(what, scale)
    return {
        "classes": len(set(found.labels)),
        "batch": found.recipe.batch,
        "momentum": found.recipe.momentum,
        "epochs": found.recipe.epochs,
        "drops": len(found.recipe.schedule),
        "layers": len(found.network.shapes),
        "rate": found.recipe.rate,
        "weight decay": found.recipe.weight_decay,
        "norms": list(found.scales),
    }


SETTINGS = numeric(
    id="sl/fig1-settings",
    items=("Fig1", "Fig2", "Fig5", "Fig6", "Fig9", "Fig10", "ExpC"),
    uses=("sl/expA-examples", "sl/init"),
    title="Experiments are set up, and their networks start, as their captions print",
    statement=(
        r"\text{layers, constant rate, momentum, decay, batch, epochs, initial norms};"
        r"\quad 0.1 \le \lVert W_k \rVert_F \le 5;\quad 5 : 15 : 30"
    ),
    source=quoted("Captions of Figures 1, 2, 5, 6, 9 and 10"),
    cases=(
        *grid(what=tuple(_CAPTIONS), scale="paper"),
        *grid(what=tuple(_ENDS), scale=("small", "full", "paper")),
    ),
    predict=_printed,
    measure=_configured,
    compare=Identical(),
    must_refute=_mistaken,
    version=3,
    assumptions=(
        "below the paper's scale initial norms alone, of experiment C their ratios",
        "experiment C's rate is an upper limit: lowered as a start's curvature asks for",
        "four layers of convolutions: three, and a linear one on what they put out",
    ),
)


def _by_minibatches(*, name: str, scale: Scale, share: float = 1.0) -> list[float]:
    """Return how many updates networks make that are told nothing else."""
    del name
    found: set[float] = set()
    for c in _made("bn-decay", scale):
        examples = len(c.labels) * c.per_class
        per_epoch = math.ceil(examples / (c.recipe.batch or examples))
        found.add(share * c.recipe.epochs * per_epoch)
    return sorted(found)


def _by_all(*, name: str, scale: Scale) -> list[float]:
    made = _made(name, scale)
    assert all(c.recipe.batch is None for c in made)
    return sorted({float(c.recipe.epochs) for c in made})


UPDATES = numeric(
    id="sl/expA-updates",
    items=("ExpA", "ExpC"),
    uses=("sl/fig1-settings",),
    title="With decay, full batches make as many updates as minibatches do",
    statement=r"T=\text{epochs}\,\lceil N/B\rceil",
    source=ours("Captions of Figures 1 and 9; full batches are ours"),
    cases=grid(
        name=("wn-decay", "wn-decay-0.01", "none-decay"),
        scale=("small", "full", "paper"),
    ),
    predict=_by_minibatches,
    measure=_by_all,
    compare=Identical(),
    must_refute=mistake("Half as many.", share=0.5),
)


def _shapes(experiment: str, *, scale: Scale) -> list[list[int]]:
    (shapes, *others) = [c.network.shapes for c in _made(experiment, scale)]
    # Images of several data sets differ in their first layer alone.
    assert all(other[1:] == shapes[1:] for other in others)
    return [list(shape) for shape in shapes]


SAME = numeric(
    id="sl/expC-same",
    items=("ExpC", "ExpA"),
    uses=("sl/fig1-settings",),
    title="Below the paper's scale, experiments A and C train networks of the same sizes",
    statement=r"\text{the same networks, normalised or not}",
    source=ours("Section 2, above Observation 3; the sizes are ours"),
    cases=grid(scale=("small", "full")),
    predict=partial(_shapes, "bn-decay"),
    measure=partial(_shapes, "none"),
    compare=Identical(),
    must_refute=changed(
        partial(_shapes, "bn-conv"),
        "The convolutional networks of the second experiment.",
    ),
)


def _as_said(
    fault: str, rate: float, stable: float | None, epochs: int, *, part: int
) -> list[float]:
    """Return what a fault leaves: rates, epochs, whether hidden layers and labels stay."""
    size = 0.01 if fault == "slow" else 1.0
    rate = 1e-30 if fault == "untrained" else size * rate
    left = {"short": max(1, epochs // part), "untrained": 1}
    kept = [fault == "frozen", fault == "shuffled"]
    return [rate, size * (stable or 0.0), left.get(fault, epochs), *map(float, kept)]


def _planted(*, fault: str, scale: Scale, part: int = 15) -> list[float]:
    found: list[float] = []
    for c in configurations(scale):
        how = c.recipe
        found += _as_said(fault, how.rate, how.stable, how.epochs, part=part)
    order = torch.randperm(12, generator=torch_generator(12, "square-loss", "labels"))
    classes = [int(k) % 3 for k in (order if fault == "shuffled" else range(12))]
    return [*found, *classes, float(fault == "shuffled")]


def _trained_wrongly(*, fault: str, scale: Scale) -> list[float]:
    found: list[float] = []
    for wrong in map(FAULTS[fault], configurations(scale)):
        how = wrong.recipe
        found += [how.rate, how.stable or 0.0, how.epochs, how.frozen, wrong.shuffled]
    x, classes = torch.zeros(12, 1), torch.arange(12) % 3
    made = Problem(
        inputs=x,
        classes=classes,
        test_inputs=x,
        test_classes=classes,
        source={"train_sha256": ""},
    )
    made = made.shuffled() if fault == "shuffled" else made
    assert torch.equal(made.test_classes, classes)
    said = made.source.get("shuffled", False)
    return [*map(float, found), *made.classes.tolist(), float(said)]


FAULTY = numeric(
    id="sl/expA-faults",
    items=("ExpA", "ExpB", "ExpC"),
    uses=("sl/expA-steps",),
    title="Experiments with a fault planted are trained wrongly in what the fault says",
    statement=(
        r"\text{rates}/100,\ \text{updates}/15,\ \text{labels exchanged},"
        r"\ \text{hidden layers frozen},\ \text{none}"
    ),
    source=ours("Section 2; the faults are ours"),
    cases=grid(fault=tuple(FAULTS), scale=("small", "paper")),
    predict=_planted,
    measure=_trained_wrongly,
    # One product or quotient is rounded: to 1.1e-16, and 0.01 itself is.
    compare=AgreesTo(relative=1e-15),
    must_refute=mistake("A fourteenth of the updates.", part=14),
)


PUBLISHED = published(
    STUDY,
    id="sl/fig1-published",
    networks="classifiers by the square loss",
    items=("Fig1", "Fig5", "Fig9"),
    uses=("sl/fig1-settings",),
    ours=ours,
    cases=(
        *grid(scale=("full", "paper"), of="settings"),
        *grid(scale="full", of="images"),
    ),
)


def _announced(**_case: Any) -> dict[str, Any]:
    """Tell of the small scale, and of what stands beside it since: noisy labels."""
    settled = {"batch": 20, "rate": 0.01, "updates": 1200, "drops": [0.8], "seeds": 8}
    return {
        "digits": [160],
        "pixels": [8],
        "batches": [None],
        "first seed": [10],
        "seeds of A and without decay": [18, 18],
        "fewest and most of the others": [5, 9],
        "rates of C": [0.03],
        "decays of the scale": [0.001, 0.01],
        "bn-noise": settled,
        "bn-batches": settled,
        "wn-noise": settled | {"rate": 0.1, "updates": 4800},
        "sizes of the noise": [1.0, 0.0, 0.5],
    }


def _as_configured(**_case: Any) -> dict[str, Any]:
    every = {c.name: c for c in configurations("small")}
    noisy = {n: every[n] for n in ("bn-noise", "bn-batches", "wn-noise")}
    plain = [c for n, c in every.items() if n not in noisy]
    first = [every["bn-decay"], every["bn"]]
    # Four classes are those of A.
    others = [c for c in plain if c not in first and len(c.labels) == 2]

    def settled(c: Configuration) -> dict[str, Any]:
        batch = c.recipe.batch or 1
        per_epoch = -(-len(c.labels) * c.per_class // batch)
        return {
            "batch": batch,
            "rate": c.recipe.rate,
            "updates": c.recipe.epochs * per_epoch,
            "drops": list(c.recipe.schedule),
            "seeds": len(c.seeds),
        }

    counts = [len(c.seeds) for c in others]
    return {
        "digits": sorted({len(c.labels) * c.per_class for c in plain}),
        "pixels": [*{c.side for c in every.values()}],
        "batches": [*{c.recipe.batch for c in plain}],
        "first seed": [*{c.seeds[0] for c in every.values()}],
        "seeds of A and without decay": [len(c.seeds) for c in first],
        "fewest and most of the others": [min(counts), max(counts)],
        "rates of C": [*{every[n].recipe.rate for n in ("none", "none-decay")}],
        "decays of the scale": [
            every[n].recipe.weight_decay for n in ("wn-decay", "wn-decay-0.01")
        ],
        **{name: settled(c) for name, c in noisy.items()},
        "sizes of the noise": [c.recipe.noise for c in noisy.values()],
    }


ANNOUNCED = numeric(
    id="sl/fig1-announced",
    items=("Fig1", "Fig5", "Fig9"),
    uses=("sl/expC-same",),
    title="Small classifiers by the square loss are trained as their protocol announced",
    statement=r"160\text{ digits},\ 8 \times 8,\ 18\text{ seeds of A}",
    source=ours("Protocol of the training claims, docs/trained/square-loss.md"),
    cases=({},),
    predict=_announced,
    measure=_as_configured,
    compare=Identical(),
    must_refute=mistake(
        "Rates of 0.1 for C, as at first.",
        then=lambda said: said | {"rates of C": [0.1]},
    ),
)
