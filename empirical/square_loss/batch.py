"""Train configurations: one record each, resumable, also within a run."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from empirical import batch, devices
from empirical.batch import identity, numbers
from empirical.digest import code_digest
from empirical.randomness import torch_generator
from empirical.square_loss import measures
from empirical.square_loss.experiments import Configuration
from empirical.square_loss.networks import start
from empirical.square_loss.problems import Problem, problem
from empirical.square_loss.training import (
    Trained,
    held_out_outputs,
    normalised_outputs,
    train,
)

SCHEMA = 2

Progress = Callable[[int, int, float], None]

# Shapes of distributions: seven digits are plenty, and records are read by people.
_ROUNDED = ("abs_quantiles", "margin_quantiles", "example_residuals")


def problem_of(
    configuration: Configuration,
    *,
    data: str | None = None,
    allow_unverified: bool = False,
) -> Problem:
    """Return a configuration's problem; `data` is the folder of the full data sets."""
    # Digits come from the set that is the same on every machine, unless it is too small.
    c = configuration
    embedded = c.data == "mnist" and c.per_class <= 400 and c.tests <= 100
    return problem(
        c.data,
        c.labels,
        per_class=c.per_class,
        tests=c.tests,
        side=c.side,
        constant=c.constant,
        directory=None if embedded else data,
        allow_unverified=allow_unverified,
        cached=not embedded,
    )


def train_configuration(
    configuration: Configuration,
    *,
    device: str,
    data: str | None = None,
    allow_unverified: bool = False,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> tuple[Trained, Problem]:
    """Train a configuration's draws side by side, in the order of its `draws`.

    Parameters
    ----------
    configuration : Configuration
    device : str
    data : str, optional
        Folder of the full data sets.
    allow_unverified : bool
        See `empirical.data.load`.
    progress, checkpoint
        See `training.train`.
    """
    learnt = problem_of(configuration, data=data, allow_unverified=allow_unverified)
    params = start(
        configuration.network,
        [scale for scale, _ in configuration.draws],
        [
            torch_generator(seed, "square-loss", "weights")
            for _, seed in configuration.draws
        ],
        dtype=getattr(torch, configuration.dtype),
        device=device,
    )
    trained = train(
        configuration.network,
        params,
        learnt,
        configuration.recipe,
        generator=torch_generator(configuration.seeds[0], "square-loss", "batches"),
        progress=progress,
        checkpoint=checkpoint,
    )
    return trained, learnt


def run_configuration(
    configuration: Configuration,
    *,
    device: str = "cpu",
    data: str | None = None,
    allow_unverified: bool = False,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> dict[str, Any]:
    """Train, and return the record; arguments as `train_configuration`.

    Returns
    -------
    dict
        The configuration's entries, the problem's description, ``penalty`` (the lambda
        of the sum of squares), ``epochs`` and ``sparse_epochs``, the quantiles' levels,
        and ``draws``: each with scale, seed, rate, status, steps, diverged,
        interpolated, series (a value an epoch, None after the end), and sorted margins
        of training and test examples.

    Examples
    --------
    >>> from empirical.square_loss import Recipe, classifier
    >>> tiny = Configuration(
    ...     name="x",
    ...     network=classifier("bn", shape=(65,), widths=(4,)),
    ...     recipe=Recipe(epochs=3),
    ...     per_class=5,
    ...     seeds=(0, 1),
    ... )
    >>> record = run_configuration(tiny, device="cpu")
    >>> [draw["status"] for draw in record["draws"]]
    ['finished', 'finished']
    """
    return trained_record(
        configuration,
        device=device,
        data=data,
        allow_unverified=allow_unverified,
        progress=progress,
        checkpoint=checkpoint,
    )[0]


def trained_record(
    configuration: Configuration,
    *,
    device: str = "cpu",
    data: str | None = None,
    allow_unverified: bool = False,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> tuple[dict[str, Any], Trained]:
    """Return the record, and the weights too; arguments as `train_configuration`."""
    start = time.perf_counter()
    trained, learnt = train_configuration(
        configuration,
        device=device,
        data=data,
        allow_unverified=allow_unverified,
        progress=progress,
        checkpoint=checkpoint,
    )
    devices.synchronise(device)
    seconds = time.perf_counter() - start
    count = len(learnt.inputs)
    record = {
        **identity_of(configuration, device),
        "code": code_digest(__name__),
        "environment": devices.describe(device),
        "seconds": {"training": seconds},
        "problem": learnt.source,
        "examples": count,
        "parameters": configuration.network.parameters,
        "penalty": configuration.recipe.penalty(count),
        "epochs": trained.epochs.tolist(),
        "sparse_epochs": trained.sparse_epochs.tolist(),
        "steps_per_epoch": trained.steps_per_epoch,
        "levels": measures.LEVELS,
        "class_levels": measures.CLASS_LEVELS,
        "draws": _draws(configuration, trained, learnt),
    }
    return record, trained


def run_batch(
    configurations: Sequence[Configuration],
    *,
    directory: Path,
    device: str,
    rerun: bool = False,
    data: str | None = None,
    allow_unverified: bool = False,
    report: Callable[[Configuration, str], None] | None = None,
    progress: Progress | None = None,
) -> dict[str, str]:
    """Run what has no record yet; see `empirical.batch.run_batch`.

    A configuration that was interrupted goes on from its checkpoint, which lies beside
    the records until it is done.
    """
    return batch.run_batch(
        configurations,
        directory=directory,
        identity=lambda c: identity_of(c, device),
        run=lambda c, checkpoint: run_configuration(
            c,
            device=device,
            data=data,
            allow_unverified=allow_unverified,
            progress=progress,
            checkpoint=checkpoint,
        ),
        code=code_digest(__name__),
        rerun=rerun,
        report=report,
    )


def identity_of(configuration: Configuration, device: str) -> dict[str, Any]:
    """Return the entries that make a record that of a configuration."""
    return identity(configuration, device=device, schema=SCHEMA)


def _draws(
    configuration: Configuration, trained: Trained, learnt: Problem
) -> list[dict[str, Any]]:
    network, final = configuration.network, trained.final
    train_classes = learnt.classes.to(final[0].device)
    test_classes = learnt.test_classes.to(final[0].device)
    seen = measures.margins(
        normalised_outputs(network, final, learnt.inputs), train_classes
    )
    unseen = measures.margins(held_out_outputs(network, final, learnt), test_classes)
    made: list[dict[str, Any]] = []
    for draw, (scale, seed) in enumerate(configuration.draws):
        test = unseen[draw].double().cpu().numpy()
        ended = trained.status[draw] != "diverged"
        made.append(
            {
                "scale": scale,
                "seed": seed,
                "rate": float(trained.rates[draw]),
                "status": trained.status[draw],
                "steps": int(trained.steps[draw]),
                "diverged": _absent(trained.diverged[draw]),
                "interpolated": _absent(trained.interpolated[draw]),
                "series": {
                    name: numbers(values[:, draw], rounded=name in _ROUNDED)
                    for name, values in sorted(trained.series.items())
                },
                "margins": numbers(np.sort(seen[draw].double().cpu().numpy())),
                "test_margins": numbers(np.sort(test)),
                "test_error": float((test <= 0.0).mean()) if ended else None,
            }
        )
    return made


def _absent(value: Any) -> int | None:
    return None if value < 0 else int(value)
