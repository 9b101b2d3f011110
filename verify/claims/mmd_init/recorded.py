"""What a record says of learnt starts, put together from its parts (closed claims)."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical.mmd_init import measures
from empirical.mmd_init.binary_tasks import Images, Split, draw_splits, random_tasks
from empirical.mmd_init.classifiers import classifier
from empirical.mmd_init.experiments import Configuration, Variant
from empirical.mmd_init.finetuning import FineTuned, finetune
from empirical.mmd_init.networks import start
from empirical.mmd_init.pretraining import pretrain_stack
from empirical.mmd_init.random_labels import pretrain_random_labels
from empirical.mmd_init.recipes import FinetuneRecipe, Recipe
from empirical.mmd_init.study import images_of, run_configuration
from empirical.networks import Params
from empirical.randomness import numpy_generator, torch_generator
from verify.claim import grid
from verify.claims._twins import closed
from verify.compare import AgreesTo

_DENSITIES, _SHOWN = 20, 4
_STEPS, _NOISES = (0, 1, 5, 30), (0.2, 0.5, 1.0, 2.0)


def _configuration(method: Any) -> Configuration:
    return Configuration(
        name="recorded",
        network=classifier((16, 8, 6, 2)),
        method=method,
        recipe=Recipe(
            steps=30, window=3, batch=8, perturbations=8, reference=8, rate=3e-2
        ),
        variants=(Variant(), Variant(s2=2.0, lam=0.0, xi=0.0)),
        seeds=(3, 5),
        shots=(1, 2),
        tasks=3,
        finetune=FinetuneRecipe(epochs=2, batch=8),
        # Of one label a class two epochs have four updates, of two they have six.
        reached=(2, 6),
        distances=True,
        snapshots=3 if method == "mmd" else 0,
        densities=_DENSITIES,
        minibatches=4,
        embedded=True,
        side=4,
    )


@cache
def _images() -> Images:
    """Return the digits, which are the same whatever the method."""
    return images_of(_configuration("none"))


def _streams(c: Configuration, *names: str) -> list[torch.Generator]:
    """Return a generator for each run: by its seed, whatever the variant."""
    return [torch_generator(seed, "mmd-init", *names) for _, seed in c.runs]


def _learnt(c: Configuration, first: Params, x: Tensor) -> tuple[Params, list[Params]]:
    """Return what the networks learn from their starts, and have learnt on the way."""
    if c.method == "mmd":
        each = pretrain_stack(
            c.network,
            x,
            c.recipes(),
            params=first,
            generators=_streams(c, "noise"),
            on_degenerate="record",
            snapshots=_STEPS,
        )
        on_the_way = [_joined([one.snapshots[t] for one in each]) for t in _STEPS]
        return _joined([one.params for one in each]), on_the_way
    if c.method == "labels":
        own = _streams(c, "labels")
        done = pretrain_random_labels(
            c.network, first, x, generators=own, recipe=c.recipe
        )
        return done.params, []
    return first, []


def _joined(each: list[Params]) -> Params:
    return tuple(torch.cat(parts) for parts in zip(*each, strict=True))


def _predictions(c: Configuration, params: Params, x: Tensor, name: str) -> Tensor:
    """Return predictions at the noise of the first recipe, for all runs alike."""
    few = name == "noise"
    return measures.predictions(
        c.network,
        params,
        x[: _SHOWN if few else _DENSITIES],
        s=c.recipes()[0].s,
        generators=_streams(c, "densities", name),
        perturbations=_DENSITIES if few else _SHOWN,
    )


def _tuned(
    c: Configuration, params: Params, given: Images, shots: int, epochs: int
) -> FineTuned:
    """Fine-tune every run on every task, on examples of its own."""
    each = [
        draw_splits(
            given.labels,
            c.tasks,
            shots,
            numpy_generator(seed, "mmd-init", "splits", shots),
        )
        for _, seed in c.runs
    ]
    return finetune(
        c.network,
        params,
        given,
        random_tasks(c.tasks, numpy_generator(0, "mmd-init", "tasks")),
        Split(
            train=np.stack([one.train for one in each]),
            validation=np.stack([one.validation for one in each]),
        ),
        generators=[
            torch_generator(seed, "mmd-init", "orders", shots, task)
            for _, seed in c.runs
            for task in range(c.tasks)
        ],
        recipe=replace(c.finetune, epochs=epochs),
        recorded=True,
        # The third epoch is for the last of them alone.
        reached=c.reached if epochs == 3 else (),
    )


def _plain_record(*, method: str, wrong: bool) -> list[float]:
    """Learn, measure what is learnt, and fine-tune it.

    Wrong: Starts are measured, and fine-tuned, as they were drawn.
    """
    c, given = _configuration(method), _images()
    x, few = given.inputs, given.inputs[:1024]
    first = start(c.network, c.start, _streams(c, "start", c.start))
    params, on_the_way = _learnt(c, first, x)
    params = first if wrong else params
    constant = measures.constant_shares(
        c.network,
        params,
        x,
        s=[r.s for r in c.recipes()],
        generators=_streams(c, "constant"),
        perturbations=64,
        batches=c.minibatches,
    )
    dead = measures.dead_shares(
        c.network, params, x, generators=_streams(c, "dead"), batches=c.minibatches
    )
    parts: list[Any] = [
        f(dim=1) for one in (constant, dead) for f in (one.mean, one.std)
    ]
    parts += [measures.jacobian_squares(c.network, params, few)]
    parts += [measures.detachment(c.network, params, few)]
    for these in (first, params):
        parts.append(measures.distance_to_uniform(_predictions(c, these, x, "noise")))
        over_inputs = _predictions(c, these, x, "inputs")
        parts += [over_inputs.std(dim=2), over_inputs.median(dim=2).values]
    parts += _around(c, on_the_way, x[:256])
    for shots in c.shots:
        done = _tuned(c, params, given, shots, 2)
        reached = _tuned(c, params, given, shots, 3).reached
        parts += [done.test_accuracy, reached]
        if shots == c.shots[-1]:
            assert done.distances is not None
            parts.append(done.distances[:, 0])
    rows = [np.asarray(part).reshape(len(c.runs), -1) for part in parts]
    return np.concatenate(rows, axis=1).ravel().tolist()


def _around(c: Configuration, on_the_way: list[Params], x: Tensor) -> list[Any]:
    """Return L_iod at states on the way, and at eight around each at four noises."""
    here = [measures.detachment(c.network, params, x) for params in on_the_way]
    return here + [
        measures.perturbed_detachment(
            c.network, params, x, s=s2**0.5, generators=_streams(c, "around")
        )
        for s2 in _NOISES
        for params in on_the_way
    ]


def _found_record(*, method: str) -> list[float]:
    found: list[float] = []
    for draw in run_configuration(_configuration(method)).draws:
        names = ["constant/mean", "constant/std", "dead/mean", "dead/std", "jacobian"]
        for name in names:
            found += draw.arrays[name].ravel().tolist()
        found.append(draw.facts["detachment"])
        for when in ("before", "after"):
            for name in ("distances", "spread", "medians"):
                found += draw.arrays[f"densities/{when}/{name}"].tolist()
        if method == "mmd":
            assert draw.arrays["snapshots/step"].tolist() == list(_STEPS)
            names = ["snapshots/here", *(f"snapshots/around/{s2}" for s2 in _NOISES)]
            found += [v for name in names for v in draw.arrays[name].ravel().tolist()]
        for shots in (1, 2):
            found += draw.arrays[f"finetuned/{shots}"].tolist()
            found += draw.arrays[f"reached/{shots}"].ravel().tolist()
        found += draw.arrays["distances"].tolist()
    return found


RECORD = closed(
    id="mmd/tab1-recorded",
    items=("Tab1", "Tab3", "Fig1", "Fig2", "Eq5"),
    title="Records measure and fine-tune starts as they are learnt, beside those drawn",
    statement=(
        r"\theta_0\to\theta_T:\quad DS(\theta_T),\ \text{dead}(\theta_T),\ \|J\|(\theta_T),"
        r"\ \text{accuracy from }\theta_T;\quad D_{KS}\text{ at }\theta_0,\theta_T"
    ),
    where="Section 4 and appendices B.1 and B.3",
    cases=grid(method=("mmd", "labels", "none")),
    twin=_plain_record,
    measure=_found_record,
    # The same operations; a record has seven digits.
    compare=AgreesTo(relative=5.1e-7),
    uses=("mmd/eq11-steps", "mmd/tab1-random", "mmd/prelim-steps", "mmd/ds-records"),
)
