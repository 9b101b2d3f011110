"""What one configuration makes: a problem, trained replicates, a record."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from empirical.mmd_init import networks, records
from empirical.mmd_init.binary_tasks import (
    Images,
    Split,
    draw_splits,
    images,
    random_tasks,
)
from empirical.mmd_init.experiments import Configuration, configurations
from empirical.mmd_init.faults import FAULTS
from empirical.mmd_init.finetuning import FineTuned, finetune
from empirical.mmd_init.pretraining import pretrain_stack
from empirical.mmd_init.random_labels import pretrain_random_labels
from empirical.mmd_init.records import Found
from empirical.networks import Params, joined
from empirical.randomness import numpy_generator, torch_generator
from empirical.testbed.checkpoints import Stopwatch
from empirical.testbed.records import RunRecord, digest
from empirical.testbed.study import CPU, Setting, Study, checkpoints_of
from empirical.testbed.writing import rounded


def images_of(configuration: Configuration, setting: Setting = CPU) -> Images:
    """Return a configuration's images."""
    c = configuration
    return images(
        c.data,
        side=c.side,
        tests=c.tests,
        directory=None if c.embedded else setting.data_folder,
        allow_unverified=setting.allow_unverified,
        cached=not c.embedded,
        embedded=c.embedded,
    )


def run_configuration(
    configuration: Configuration, setting: Setting = CPU
) -> RunRecord:
    """Pre-train, measure, fine-tune, and return the record.

    Returns
    -------
    RunRecord
        Facts: the images' description and the tasks. A replicate for each variant and
        ``seed``, with, as far as they apply: ``windows/`` (means of each term) and
        ``first/`` (its first window), ``constant/`` and ``dead/`` (shares over
        minibatches, ``mean`` and ``std``), ``detachment``, ``jacobian`` (mean squares by
        layer), ``finetuned/N`` (accuracies, one a task), ``reached/N`` (tasks by
        updates), ``densities/``, ``snapshots/`` and ``distances``.

    Examples
    --------
    >>> from empirical.mmd_init.networks import classifier
    >>> from empirical.mmd_init.recipes import Recipe
    >>> tiny = Configuration(
    ...     name="x",
    ...     network=classifier((16, 8, 2)),
    ...     recipe=Recipe(steps=2, window=1, perturbations=8, reference=8),
    ...     seeds=(0, 1),
    ...     minibatches=2,
    ...     embedded=True,
    ...     side=4,
    ... )
    >>> run_configuration(tiny).draws.status
    ['finished', 'finished']
    """
    learning = Stopwatch(setting.device, setting.checkpoint)
    whole = Stopwatch(setting.device, *checkpoints_of(setting.checkpoint))
    c = setting.mine(configuration)
    found = images_of(c, setting)
    found = dataclasses.replace(found, inputs=found.inputs.to(setting.device))
    if c.shuffled:
        order = torch_generator(0, records.TOPIC, "shuffled")
        moved = torch.randperm(len(found.labels), generator=order)
        found = dataclasses.replace(found, labels=found.labels[moved])
    start = _starts(c, setting.device)
    params, buffers, runs, taken = _pretrained(c, start, found, setting)
    pretraining = learning.lap()
    if c.network.norm is None:
        drawn = configuration.seeds[0]
        records.measured(c, start, params, found, runs, drawn)
    records.around(c, taken, found, runs)
    for shots in c.shots:
        _finetune(c, params, buffers, found, runs, setting, shots)
    return STUDY.record(
        configuration,
        setting,
        seconds={"pretraining": pretraining, "all": whole.lap()},
        facts={
            "images": found.source,
            "parameters": c.network.parameters,
            "tasks": _tasks(c).astype(int).tolist(),
        },
        draws=records.draws(c, runs),
    )


def data_of(configuration: Configuration, setting: Setting) -> str:
    """Return a digest of the images; see `Study`."""
    source = images_of(configuration, setting).source
    return digest([source["train_sha256"], source["test_sha256"]])


def _tasks(c: Configuration) -> Any:
    return random_tasks(c.tasks, numpy_generator(0, records.TOPIC, "tasks"))


def _starts(c: Configuration, device: str) -> Params:
    sources = [torch_generator(s, records.TOPIC, "start", c.start) for _, s in c.runs]
    return networks.start(c.network, c.start, sources, device=device)


def _pretrained(
    c: Configuration, start: Params, found: Images, setting: Setting
) -> tuple[Params, Params, list[Found], dict[int, Params]]:
    """Return learnt starts, their statistics and records so far, and starts on the way."""
    runs = [Found() for _ in c.runs]
    if c.method == "none":
        return start, (), runs, {}
    if c.method == "labels":
        made = pretrain_random_labels(
            c.network,
            start,
            found.inputs,
            # One a run: labels are drawn run after run, so that sharing would mix them.
            generators=[
                torch_generator(seed, records.TOPIC, "labels") for _, seed in c.runs
            ],
            recipe=c.recipe,
            progress=setting.progress,
            checkpoint=setting.checkpoint,
        )
        for index, run in enumerate(runs):
            run.status = "diverged" if made.diverged[index] else "finished"
            run.facts["best"] = int(made.best_window[index]) * c.recipe.window
            run.arrays["windows/loss"] = rounded(made.losses[index])
        return made.params, made.buffers, runs, {}

    def shown(done: int, last: int, terms: dict[str, float]) -> None:
        if setting.progress is not None:
            setting.progress(done, last, terms["loss"])

    learnt = pretrain_stack(
        c.network,
        found.inputs,
        c.recipes(),
        params=start,
        generators=records.streams(c, "noise"),
        on_degenerate="record",
        snapshots=_spread(c, len(found.inputs)),
        progress=shown,
        checkpoint=setting.checkpoint,
    )
    runs = [records.pretrained(c, one) for one in learnt]
    taken = {
        at: joined([one.snapshots[at] for one in learnt]) for at in learnt[0].snapshots
    }
    return joined([one.params for one in learnt]), (), runs, taken


def _spread(c: Configuration, inputs: int) -> list[int]:
    """Return the steps of the snapshots: the start, and evenly in the logarithm."""
    if not c.snapshots:
        return []
    last = c.recipe.updates(inputs)
    return sorted({0, *np.geomspace(1, last, c.snapshots).round().astype(int).tolist()})


def _finetune(
    c: Configuration,
    params: Params,
    buffers: Params,
    found: Images,
    runs: Sequence[Found],
    setting: Setting,
    shots: int,
) -> None:
    """Fine-tune every run on every task, with so many examples of each class."""
    made = [
        draw_splits(
            found.labels,
            c.tasks,
            shots,
            numpy_generator(seed, records.TOPIC, "splits", shots),
        )
        for _, seed in c.runs
    ]
    splits = Split(
        train=np.stack([m.train for m in made]),
        validation=np.stack([m.validation for m in made]),
    )
    kept = setting.checkpoint

    def tune(epochs: int, reached: tuple[int, ...]) -> FineTuned:
        return finetune(
            c.network,
            params,
            found,
            _tasks(c),
            splits,
            generators=[
                torch_generator(seed, records.TOPIC, "orders", shots, task)
                for _, seed in c.runs
                for task in range(c.tasks)
            ],
            buffers=buffers,
            recipe=dataclasses.replace(c.finetune, epochs=epochs),
            recorded=c.distances,
            reached=reached,
            progress=setting.progress,
            checkpoint=kept and kept.with_name(f"{kept.name}.{shots}-{epochs}-tuned"),
        )

    epochs, each = c.finetune.epochs, math.ceil(10 * shots / c.finetune.batch)
    # One training does if it is long enough for every entry of `reached`.
    enough = epochs * each >= max(c.reached, default=0)
    tuned = tune(epochs, c.reached if enough else ())
    for index, run in enumerate(runs):
        run.arrays[f"finetuned/{shots}"] = rounded(tuned.test_accuracy[index])
        if tuned.distances is not None:
            run.arrays["distances"] = rounded(tuned.distances[index, 0])
    if not enough:
        tuned = tune(math.ceil(max(c.reached) / each), c.reached)
    if tuned.reached is not None:
        for run, accuracies in zip(runs, tuned.reached, strict=True):
            run.arrays[f"reached/{shots}"] = rounded(accuracies)


def cost_of(configuration: Configuration) -> float:
    """Return an estimate of a configuration's work; see `Study`."""
    c = configuration
    perturbed = c.recipe.perturbations if c.method == "mmd" else 1
    # Of the digits of the paper, where the recipe counts epochs.
    learning = c.recipe.updates(60_000) * c.recipe.batch * perturbed
    tuning = c.tasks * c.finetune.epochs * 10 * sum(c.shots)
    passes = (learning if c.method != "none" else 0) + tuning
    return 3.0 * passes * len(c.runs) * c.network.products


STUDY = Study(
    module="empirical.mmd_init",
    configurations=configurations,
    schema=2,
    data=data_of,
    run=run_configuration,
    cost=cost_of,
    divisible=True,
    faults=FAULTS,
)
