"""What one configuration makes: a problem, trained replicates, a record."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from empirical.randomness import shared, torch_generator
from empirical.square_loss import measures
from empirical.square_loss.experiments import Configuration, configurations
from empirical.square_loss.faults import FAULTS
from empirical.square_loss.networks import start
from empirical.square_loss.problems import Problem, problem_at
from empirical.square_loss.task import wrong_answers
from empirical.square_loss.training import (
    Trained,
    held_out_outputs,
    normalised_outputs,
    train,
)
from empirical.testbed.checkpoints import Stopwatch
from empirical.testbed.records import Draw, Draws, RunRecord
from empirical.testbed.study import CPU, Setting, Study
from empirical.testbed.writing import rounded

# Shapes of distributions: seven digits are plenty.
_ROUNDED = ("abs_quantiles", "margin_quantiles", "example_residuals")


def problem_of(configuration: Configuration, setting: Setting = CPU) -> Problem:
    """Return a configuration's problem."""
    c = configuration
    found = problem_at(setting, c, c.labels, c.constant)
    return found.shuffled() if c.shuffled else found


def train_configuration(
    configuration: Configuration, setting: Setting = CPU
) -> tuple[Trained, Problem]:
    """Train a configuration's replicates side by side, in the order of its `replicates`."""
    learnt = problem_of(configuration, setting)
    replicates = setting.mine(configuration).replicates
    params = start(
        configuration.network,
        [scale for scale, _ in replicates],
        [torch_generator(seed, "square-loss", "weights") for _, seed in replicates],
        dtype=getattr(torch, configuration.dtype),
        device=setting.device,
    )
    trained = train(
        configuration.network,
        params,
        learnt,
        configuration.recipe,
        generator=_orders(configuration, replicates),
        progress=setting.progress,
        checkpoint=setting.checkpoint,
    )
    return trained, learnt


def _orders(
    configuration: Configuration, replicates: Sequence[tuple[float, int]]
) -> list[torch.Generator]:
    """Return what draws orders: one for all, or where labels are noisy one a seed."""
    noisy, one = configuration.recipe.noise, configuration.seeds[:1]
    seeds = [seed for _, seed in replicates] if noisy else one
    return shared(seeds, lambda seed: torch_generator(seed, "square-loss", "batches"))


def run_configuration(
    configuration: Configuration, setting: Setting = CPU
) -> RunRecord:
    """Train, and return the record.

    Returns
    -------
    RunRecord
        Facts: the problem's description, ``penalty`` (the lambda of the sum of squares),
        the quantiles' levels; series ``epochs`` and ``sparse_epochs``. A replicate for each
        ``scale`` and ``seed``: rate, steps, diverged, interpolated, test_error; series
        with a value an epoch, NaN after the end, and sorted ``margins``.

    Examples
    --------
    >>> from empirical.square_loss import classifier
    >>> from empirical.square_loss.recipes import Recipe
    >>> tiny = Configuration(
    ...     name="x",
    ...     network=classifier("bn", shape=(65,), widths=(4,)),
    ...     recipe=Recipe(epochs=3),
    ...     per_class=5,
    ...     seeds=(0, 1),
    ... )
    >>> run_configuration(tiny).draws.status
    ['finished', 'finished']
    """
    return trained_record(configuration, setting)[0]


def trained_record(
    configuration: Configuration, setting: Setting = CPU
) -> tuple[RunRecord, Trained]:
    """Return the record, and the weights too."""
    stopwatch = Stopwatch(setting.device, setting.checkpoint)
    trained, learnt = train_configuration(configuration, setting)
    seconds = stopwatch.lap()
    count = len(learnt.inputs)
    record = STUDY.record(
        configuration,
        setting,
        seconds={"training": seconds},
        facts={
            "problem": learnt.source,
            "examples": count,
            "parameters": configuration.network.parameters,
            "penalty": configuration.recipe.penalty(count),
            "steps_per_epoch": trained.steps_per_epoch,
            "levels": measures.LEVELS,
            "class_levels": measures.CLASS_LEVELS,
        },
        arrays={"epochs": trained.epochs, "sparse_epochs": trained.sparse_epochs},
        draws=_draws(configuration, setting, trained, learnt),
    )
    return record, trained


def data_of(configuration: Configuration, setting: Setting) -> str:
    """Return a digest of the examples; see `Study`."""
    return problem_of(configuration, setting).digest


def _draws(
    configuration: Configuration, setting: Setting, trained: Trained, learnt: Problem
) -> Draws:
    network, final = configuration.network, trained.final
    train_classes = learnt.classes.to(final[0].device)
    test_classes = learnt.test_classes.to(final[0].device)
    seen = measures.margins(
        normalised_outputs(network, final, learnt.inputs), train_classes
    )
    unseen = held_out_outputs(network, final, learnt)
    wrong = wrong_answers(unseen, learnt.targets(test_classes).to(unseen))
    errors = (wrong.double() / len(test_classes)).tolist()
    series = {
        name: rounded(values) if name in _ROUNDED else values
        for name, values in trained.series.items()
    }
    margins = np.sort(seen.double().cpu().numpy(), axis=1)
    return Draws(
        Draw(
            keys={"scale": scale, "seed": seed},
            status=status,
            facts={
                "rate": float(trained.rates[index]),
                "steps": int(trained.steps[index]),
                "diverged": _absent(trained.diverged[index]),
                "interpolated": _absent(trained.interpolated[index]),
                "test_error": None if status == "diverged" else errors[index],
            },
            arrays={
                **{name: values[:, index] for name, values in series.items()},
                "margins": margins[index],
            },
        )
        for index, ((scale, seed), status) in enumerate(
            zip(setting.mine(configuration).replicates, trained.status, strict=True)
        )
    )


def _absent(value: Any) -> int | None:
    return None if value < 0 else int(value)


def cost_of(configuration: Configuration) -> float:
    """Return an estimate of a configuration's work; see `Study`."""
    c = configuration
    examples = c.per_class * len(c.labels)
    return 3.0 * c.recipe.epochs * examples * len(c.replicates) * c.network.products


STUDY = Study(
    module="empirical.square_loss",
    configurations=configurations,
    schema=3,
    data=data_of,
    run=run_configuration,
    cost=cost_of,
    divisible=True,
    faults=FAULTS,
)
