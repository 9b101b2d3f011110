"""The settings of the paper's three experiments, as their captions print them."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from empirical.randomness import torch_generator
from empirical.square_loss.experiments import Configuration, Scale, configurations
from empirical.square_loss.faults import FAULTS
from empirical.square_loss.problems import Problem
from empirical.square_loss.study import STUDY
from verify.claim import grid, numeric
from verify.claims._predictors import always, changed, mistake
from verify.claims._published import published
from verify.claims.square_loss._sources import ours, quoted
from verify.compare import AgreesTo, Identical

_CAPTIONS = {
    "bn-decay": {"rate": 0.1, "weight decay": 0.01},
    "bn-conv": {"rate": 0.01, "weight decay": 0.0},
    "none": {"rate": 0.1, "weight decay": 0.0},
}
"""Of Figures 1, 5 and 9."""
_NORMS = {"bn-decay": [0.1, 1.0, 5.0], "bn-conv": [0.1, 5.0], "none": [5.0, 15.0, 30.0]}
"""Of Figures 2, 6 and 10."""
_ALIKE = {
    "classes": 2,
    "batch": 128,
    "momentum": 0.9,
    "epochs": 1000,
    "drops": 0,
    "layers": 4,
}


def _made(experiment: str, scale: Scale) -> list[Configuration]:
    every = configurations(scale)
    # Above the small scale names end with the data, where there are several.
    return [c for c in every if c.name in (experiment, f"{experiment}-{c.data}")]


def _printed(*, experiment: str) -> dict[str, Any]:
    return {**_ALIKE, **_CAPTIONS[experiment], "norms": _NORMS[experiment]}


def _configured(*, experiment: str) -> dict[str, Any]:
    (found,) = _made(experiment, "paper")
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
    items=("Fig1", "Fig5", "Fig9"),
    uses=("sl/expA-examples",),
    title="At the paper's scale, experiments are set up as their captions print",
    statement=(
        r"\text{layers, constant rate, momentum, decay, batch, epochs, initial norms}"
    ),
    source=quoted("Captions of Figures 1, 2, 5, 6, 9 and 10"),
    cases=grid(experiment=tuple(_CAPTIONS)),
    predict=_printed,
    measure=_configured,
    compare=Identical(),
    must_refute=mistake(
        "The settings of the convolutional experiment, or for that of the first.",
        experiment=lambda name: "bn-decay" if name == "bn-conv" else "bn-conv",
    ),
    version=2,
    assumptions=(
        "experiment C's rate is an upper limit: lowered as a start's curvature asks for",
        "four layers of convolutions: three, and a linear one on what they put out",
    ),
)


def _printed_ends(*, experiment: str, scale: Scale) -> list[float]:
    del scale
    if experiment.startswith("classes"):
        # Of several classes, at the norm between.
        return [_NORMS["bn-decay"][1]] * 2
    norms = _NORMS[experiment]
    return [norms[0], norms[-1]]


def _configured_ends(*, experiment: str, scale: Scale) -> list[float]:
    (found,) = {(min(c.scales), max(c.scales)) for c in _made(experiment, scale)}
    return list(found)


NORMS = numeric(
    id="sl/fig2-norms",
    items=("Fig2", "Fig6"),
    uses=("sl/init",),
    title="At every scale, normalised networks start as small and as large as printed",
    statement=r"0.1 \le \lVert W_k \rVert_F \le 5",
    source=quoted("Captions of Figures 2 and 6"),
    cases=grid(
        experiment=("bn-decay", "bn-conv", "classes", "classes-entropy"),
        scale=("small", "full", "paper"),
    ),
    predict=_printed_ends,
    measure=_configured_ends,
    compare=Identical(),
    must_refute=mistake("Those of networks without normalisation.", experiment="none"),
)


def _to_first(norms: Sequence[float]) -> list[float]:
    return [norm / norms[0] for norm in norms]


def _configured_ratios(*, scale: Scale) -> list[float]:
    (norms,) = {c.scales for c in _made("none", scale)}
    return _to_first(norms)


RATIOS = numeric(
    id="sl/fig10-ratios",
    items=("Fig10", "ExpC"),
    uses=("sl/fig1-settings",),
    title="At every scale, norms without normalisation start one to three to six",
    statement=r"5 : 15 : 30",
    source=ours("Caption of Figure 10; smaller networks are ours"),
    cases=grid(scale=("small", "full", "paper")),
    predict=always(_to_first(_NORMS["none"])),
    measure=_configured_ratios,
    # Norms of narrow networks are whole multiples of their first.
    compare=Identical(),
    must_refute=always(
        _to_first(_NORMS["bn-decay"]), "Those of normalised networks with decay."
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
