"""What one configuration makes: a rate, networks trained at it, a record."""

import math
from functools import partial

import numpy as np
from torch import Tensor

from empirical.networks import Network
from empirical.normrelu.experiments import Configuration, configurations
from empirical.normrelu.networks import arm_of
from empirical.normrelu.training import Course, Examples, trained
from empirical.square_loss.problems import Problem, problem_at
from empirical.testbed.checkpoints import Stopwatch
from empirical.testbed.faults import FAULTS, planting
from empirical.testbed.records import Draw, Draws, RunRecord
from empirical.testbed.study import CPU, Setting, Study
from empirical.testbed.writing import rounded


def problem_of(configuration: Configuration, setting: Setting = CPU) -> Problem:
    """Return a configuration's examples, inputs of unit norm."""
    return problem_at(setting, configuration, range(10))


def network_of(configuration: Configuration, found: Problem) -> Network:
    """Return the specification of a configuration's networks."""
    c, arm = configuration, arm_of(configuration.arm, configuration.kink)
    if c.network == "residual":
        shape = tuple(found.inputs.shape[1:])
        return arm.residual(shape=shape, width=c.width, depth=c.depth)
    size = found.inputs[0].numel()
    return arm.network(inputs=size, width=c.width, depth=c.depth)


def examples_of(
    configuration: Configuration, found: Problem, held_out: int = 0
) -> Examples:
    """Return inputs of norm sqrt(d), images for residual networks, vectors for others.

    With some of each class held out, these are the test, and the others the training.
    """

    def scaled(images: Tensor) -> Tensor:
        flat = (images * math.sqrt(images[0].numel())).float()
        return flat if configuration.network == "residual" else flat.flatten(1)

    inputs, classes = scaled(found.inputs), found.classes
    tests, test_classes = scaled(found.test_inputs), found.test_classes
    if held_out:
        # Classes stand in turn.
        parts = [len(inputs) - held_out * found.count, held_out * found.count]
        (inputs, tests), (classes, test_classes) = (
            inputs.split(parts),
            classes.split(parts),
        )
    return Examples(
        inputs=inputs, classes=classes, test_inputs=tests, test_classes=test_classes
    )


def run_configuration(
    configuration: Configuration, setting: Setting = CPU
) -> RunRecord:
    """Choose a rate, train at it, and return the record.

    Returns
    -------
    RunRecord
        Facts: ``rate``, the one chosen; ``grid``, for each rate the accuracies on the
        examples held out (0 of networks that diverged); ``stable``, the largest rate at
        which none diverged, absent where there is none. A draw for each seed, with series
        as `training.Course` has them.

    Examples
    --------
    >>> tiny = Configuration(
    ...     name="x", arm="selu", depth=2, width=8, rates=(0.01,), epochs=1,
    ...     per_class=10, tests=2, held_out=2, seeds=(5, 6),
    ... )
    >>> run_configuration(tiny).draws.series("test_accuracy").shape
    (2, 2)
    """
    c = configuration
    arm, found = arm_of(c.arm, c.kink), problem_of(c, setting)
    network, kept = network_of(c, found), setting.checkpoint
    rates_kept = kept and kept.with_name(f"{kept.name}.0-rates")
    stopwatch = Stopwatch(setting.device, rates_kept)
    run = partial(
        trained,
        arm,
        network,
        batch=c.batch,
        recipe=c.recipe,
        device=setting.device,
        progress=setting.progress,
    )
    grid = run(
        examples_of(c, found, c.held_out),
        rates=c.rates,
        seeds=c.chosen_by,
        epochs=max(1, c.epochs // 2),
        every_epoch=False,
        checkpoint=rates_kept,
    )
    if "test_accuracy" not in grid.series:
        # None is left where the rates are compared.
        raise RuntimeError(
            "train: every network diverged at every rate of `--rates"
            f" {' '.join(f'{rate:g}' for rate in c.rates)}`. Give smaller ones"
        )
    # A planted fault begins after the rate has been chosen.
    last = np.nan_to_num(grid.series["test_accuracy"][-1])
    ended = np.array(grid.status).reshape(len(c.rates), -1) == "finished"
    scores = np.where(ended, last.reshape(ended.shape), 0.0)
    best = int(scores.mean(axis=1).argmax())
    seconds = {"choice": stopwatch.lap()}
    stopwatch = Stopwatch(setting.device, kept)
    course = run(
        examples_of(c, found),
        rates=c.rates[best : best + 1],
        seeds=c.seeds,
        epochs=c.epochs,
        fault=c.fault,
        checkpoint=kept,
    )
    seconds["training"] = stopwatch.lap()
    stable = [rate for rate, each in zip(c.rates, ended, strict=True) if each.all()]
    return STUDY.record(
        c,
        setting,
        seconds=seconds,
        facts={
            "rate": c.rates[best],
            "grid": scores.tolist(),
            "stable": max(stable, default=None),
            "examples": len(found.inputs),
            "parameters": network.parameters,
            "problem": found.source,
        },
        draws=_draws(c, course),
    )


def _draws(configuration: Configuration, course: Course) -> Draws:
    # In single precision, layer by layer four digits.
    by_layer = ("cosines", "lengths")
    kept = {
        name: rounded(v, 4) if name in by_layer else v.astype(np.float32)
        for name, v in course.series.items()
    }
    return Draws(
        Draw(
            keys={"seed": seed},
            status=course.status[index],
            arrays={name: values[:, index] for name, values in kept.items()},
        )
        for index, seed in enumerate(configuration.seeds)
    )


def data_of(configuration: Configuration, setting: Setting) -> str:
    """Return a digest of the examples; see `Study`."""
    return problem_of(configuration, setting).digest


def cost_of(configuration: Configuration) -> float:
    """Return an estimate of a configuration's work; see `Study`."""
    c = configuration
    trials = len(c.rates) * len(c.chosen_by) / 2 + len(c.seeds)
    products = float(c.depth * c.width**2)
    if c.network == "residual":
        # Three stages of as many products each, 9 a weight, at every spot of the first.
        products *= 9 * (c.side or 32) ** 2
    return 3.0 * c.epochs * 10 * c.per_class * trials * products


STUDY = Study(
    module="empirical.normrelu",
    configurations=configurations,
    schema=1,
    data=data_of,
    run=run_configuration,
    cost=cost_of,
    faults=planting(*FAULTS),
)
