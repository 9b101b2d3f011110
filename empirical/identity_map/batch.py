"""Train and measure configurations: one record each, resumable, also within a run."""

import dataclasses
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from empirical import batch, devices
from empirical.batch import identity, numbers
from empirical.data import Dataset, load
from empirical.digest import code_digest
from empirical.identity_map import images, measures
from empirical.identity_map.experiments import Configuration
from empirical.identity_map.images import Pictures
from empirical.identity_map.networks import image_shape
from empirical.identity_map.training import Trained, train
from empirical.networks import Params
from empirical.randomness import seed_sequence, torch_generator

SCHEMA = 2

Progress = Callable[[int, int, float], None]


@dataclass(frozen=True, kw_only=True)
class Group:
    """Draws that share everything but their seed."""

    labels: tuple[int, ...]
    scheme: str
    rate: float


def groups(configuration: Configuration) -> tuple[Group, ...]:
    """Return the groups in the order of their draws, each a draw for each seed."""
    rates = configuration.rates or (configuration.recipe.learning_rate,)
    product = itertools.product(configuration.labels, configuration.schemes, rates)
    return tuple(Group(labels=x, scheme=s, rate=r) for x, s, r in product)


def train_configuration(
    configuration: Configuration,
    *,
    device: str,
    data: str | None = None,
    allow_unverified: bool = False,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> tuple[Trained, dict[tuple[int, ...], Pictures]]:
    """Train all groups and seeds of a configuration side by side.

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

    Returns
    -------
    trained : Trained
        Draws in order of `groups`, within each of seeds.
    pictures : dict
        The training images of each of the configuration's `labels`, or those that are
        looked at when it trains on many.
    """
    network = configuration.network
    source = _source(configuration, data, allow_unverified=allow_unverified)
    pictures = {
        labels: _pictures(configuration, source, labels)
        for labels in configuration.labels
    }
    made = groups(configuration)
    draws = [(group, seed) for group in made for seed in configuration.seeds]
    params = _stacked(
        [
            network.init(
                group.scheme,
                # The same numbers for every group: what differs is the group alone.
                generator=torch_generator(seed, "identity-map", "weights"),
                dtype=torch.float32,
                device=device,
            )
            for group, seed in draws
        ]
    )
    if configuration.examples is not None:
        inputs = _many(configuration, source)
    elif len(pictures) == 1:
        inputs = next(iter(pictures.values())).pixels
    else:
        inputs = torch.stack([pictures[group.labels].pixels for group, _ in draws])
    trained = train(
        network,
        params,
        inputs.to(device=device, dtype=torch.float32),
        configuration.recipe,
        rates=[group.rate for group, _ in draws],
        generator=torch_generator(configuration.seeds[0], "identity-map", "batches"),
        progress=progress,
        checkpoint=checkpoint,
    )
    return trained, pictures


def run_configuration(
    configuration: Configuration,
    *,
    device: str,
    data: str | None = None,
    allow_unverified: bool = False,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> dict[str, Any]:
    """Train, measure, and return the record; arguments as `train_configuration`.

    Examples
    --------
    >>> from empirical.identity_map import copier
    >>> from empirical.identity_map.recipes import Recipe
    >>> tiny = Configuration(
    ...     name="x",
    ...     network=copier("cnn", shape=(1, 7, 7), layers=2, width=2, kernel=3),
    ...     recipe=Recipe(steps=3),
    ...     seeds=(0, 1),
    ... )
    >>> record = run_configuration(tiny, device="cpu")
    >>> [draw["status"] for draw in record["groups"][0]["draws"]]
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
    device: str,
    data: str | None = None,
    allow_unverified: bool = False,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> tuple[dict[str, Any], Trained]:
    """Return the record, and the weights too; arguments as `train_configuration`."""
    start = time.perf_counter()
    trained, pictures = train_configuration(
        configuration,
        device=device,
        data=data,
        allow_unverified=allow_unverified,
        progress=progress,
        checkpoint=checkpoint,
    )
    devices.synchronise(device)
    trained_at = time.perf_counter()
    settings = measures.Settings(**configuration.settings)
    shown = [
        _group(configuration, trained, index, group, pictures, settings)
        for index, group in enumerate(groups(configuration))
    ]
    record = {
        **identity_of(configuration, device),
        "code": code_digest(__name__),
        "environment": devices.describe(device),
        "seconds": {
            "training": trained_at - start,
            "measuring": time.perf_counter() - trained_at,
        },
        "parameters": configuration.network.parameters,
        "times": trained.times[trained.times < trained.steps.max()].tolist(),
        "groups": shown,
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
    described = configuration.recipe.describe()
    return identity(configuration, device=device, recipe=described, schema=SCHEMA)


def _group(
    configuration: Configuration,
    trained: Trained,
    index: int,
    group: Group,
    pictures: dict[tuple[int, ...], Pictures],
    settings: measures.Settings,
) -> dict[str, Any]:
    """Return a group's part of the record."""
    seeds = configuration.seeds
    rows = slice(index * len(seeds), (index + 1) * len(seeds))
    members, steps = range(len(trained.status))[rows], trained.steps
    draws = [
        {
            "seed": seed,
            "status": trained.status[draw],
            "steps": int(trained.steps[draw]),
            "released": int(trained.released[draw]),
            "final_loss": numbers(trained.final_losses[draw]),
            "starts": trained.starts[draw],
            # Those recorded, one for each of the first times.
            "losses": numbers(trained.losses[draw, trained.times < steps[draw]]),
        }
        for seed, draw in zip(seeds, members, strict=True)
    ]
    measured = measures.measure(
        configuration.network,
        tuple(w[rows] for w in trained.initial),
        tuple(w[rows] for w in trained.final),
        training_images=pictures[group.labels],
        names=configuration.measurements,
        # The same test images for every configuration.
        seed=seed_sequence(0, "identity-map", "tests"),
        settings=settings,
    )
    return {**dataclasses.asdict(group), "draws": draws, "measured": measured}


def _stacked(each: Sequence[Params]) -> Params:
    return tuple(torch.cat(weights) for weights in zip(*each, strict=True))


def _source(
    configuration: Configuration, data: str | None, *, allow_unverified: bool
) -> Dataset:
    name = "mnist" if configuration.data == "channelled" else configuration.data
    # Digits come from the set that is the same on every machine, unless it is too small.
    digits = name == "mnist" and (configuration.examples or 0) <= 4000
    return load(
        name,
        directory=None if digits else data,
        allow_unverified=allow_unverified,
        cached=not digits,
    )


def _pictures(
    configuration: Configuration, source: Dataset, labels: tuple[int, ...]
) -> Pictures:
    found = images.chosen(labels, data=source, skip=configuration.skip)
    if configuration.data == "channelled":
        found = images.channelled(found)
    return found.fitted(image_shape(configuration.network))


def _many(configuration: Configuration, source: Dataset) -> Tensor:
    chosen = source.head(configuration.examples or len(source)).images
    pixels = images.standardised(chosen, data=source.name)
    return images.resize(pixels, image_shape(configuration.network)[1:])
