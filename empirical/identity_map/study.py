"""What one configuration makes: trained networks, what they do, a record."""

import itertools
import math
from collections.abc import Mapping
from typing import Any

import torch

from empirical.data import Dataset, load
from empirical.identity_map import images, measures
from empirical.identity_map.configuration import FAULTS, Configuration, faulty
from empirical.identity_map.experiments import configurations
from empirical.identity_map.images import Pictures
from empirical.identity_map.networks import image_shape
from empirical.identity_map.training import Trained, train
from empirical.networks import joined
from empirical.randomness import seed_sequence, torch_generator
from empirical.testbed.checkpoints import Stopwatch
from empirical.testbed.faults import planting
from empirical.testbed.records import Draw, Draws, RunRecord, digest
from empirical.testbed.study import CPU, Setting, Study
from empirical.testbed.writing import Array


def groups(configuration: Configuration) -> list[dict[str, Any]]:
    """Return labels, scheme and rate of the groups: draws that share all but the seed.

    In the order of their replicates, of which a group has one for each seed.
    """
    c, names = configuration, ("labels", "scheme", "rate")
    rates = c.rates or (c.recipe.learning_rate,)
    every = itertools.product(c.labels, c.schemes, rates)
    return [dict(zip(names, each, strict=True)) for each in every]


def train_configuration(
    configuration: Configuration, setting: Setting = CPU
) -> tuple[Trained, dict[tuple[int, ...], Pictures]]:
    """Train all groups and seeds of a configuration side by side.

    Returns
    -------
    trained : Trained
        Replicates in order of `groups`, within each of seeds.
    pictures : dict
        The training images of each of the configuration's `labels`, or those that are
        looked at when it trains on many.
    """
    network = configuration.network
    source = _source(configuration, setting)
    pictures = {
        labels: _pictures(configuration, source, labels)
        for labels in configuration.labels
    }
    seeds = setting.mine(configuration).seeds
    replicates = [(g, seed) for g in groups(configuration) for seed in seeds]
    params = joined(
        [
            network.init(
                group["scheme"],
                # The same numbers for every group: what differs is the group alone.
                generator=torch_generator(seed, "identity-map", "weights"),
                dtype=torch.float32,
                device=setting.device,
            )
            for group, seed in replicates
        ]
    )
    if configuration.examples is not None:
        many = source.head(configuration.examples).images
        pixels = images.standardised(many, data=source.name)
        inputs = images.resize(pixels, image_shape(network)[1:])
    elif len(pictures) == 1:
        inputs = next(iter(pictures.values())).pixels
    else:
        inputs = torch.stack(
            [pictures[group["labels"]].pixels for group, _ in replicates]
        )
    recipe, factor = faulty(configuration)
    trained = train(
        network,
        params,
        inputs.to(device=setting.device, dtype=torch.float32),
        recipe,
        rates=[factor * group["rate"] for group, _ in replicates],
        generator=torch_generator(configuration.seeds[0], "identity-map", "batches"),
        progress=setting.progress,
        checkpoint=setting.checkpoint,
    )
    return trained, pictures


def run_configuration(
    configuration: Configuration, setting: Setting = CPU
) -> RunRecord:
    """Train, measure, and return the record.

    Returns
    -------
    RunRecord
        Facts: what `measures.by_replicate` says of all networks; series ``times``. One
        for each ``labels``, ``scheme``, ``rate`` and ``seed``: steps, released,
        final_loss, starts, finite; ``losses``, one for each of the first times, and what
        was measured.

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
    >>> run_configuration(tiny).draws.status
    ['finished', 'finished']
    """
    return trained_record(configuration, setting)[0]


def trained_record(
    configuration: Configuration, setting: Setting = CPU
) -> tuple[RunRecord, Trained]:
    """Return the record, and the weights too."""
    stopwatch = Stopwatch(setting.device, setting.checkpoint)
    trained, pictures = train_configuration(configuration, setting)
    seconds = {"training": stopwatch.lap()}
    before = setting.rows[0] if setting.rows else 0
    shared, draws = _draws(setting.mine(configuration), trained, pictures, before)
    record = STUDY.record(
        configuration,
        setting,
        seconds={**seconds, "measuring": stopwatch.lap()},
        facts={"parameters": configuration.network.parameters, **shared},
        arrays={"times": trained.times},
        draws=draws,
    )
    return record, trained


def data_of(configuration: Configuration, setting: Setting) -> str:
    """Return a digest of the images; see `Study`."""
    c = configuration
    if c.image:
        return digest([origin["sha256"] for origin in images.own(c.image).origins])
    source = _source(c, setting)
    shown = [images.chosen(x, data=source, skip=c.skip).origins for x in c.labels]
    learnt = None if c.examples is None else source.head(c.examples).sha256
    return digest([[[origin["sha256"] for origin in each] for each in shown], learnt])


def _draws(
    c: Configuration,
    trained: Trained,
    pictures: Mapping[tuple[int, ...], Pictures],
    before: int,
) -> tuple[dict[str, Any], Draws]:
    """Return what measuring says of all groups alike, and each network's results.

    In each group so many of its networks come `before` these.
    """
    measured = [
        _measured(c, trained, index, pictures[group["labels"]], before)
        for index, group in enumerate(groups(c))
    ]
    said = [facts for facts, _ in measured]
    shared = {n: v for n, v in said[0].items() if all(one[n] == v for one in said)}
    rows = [
        (group, {n: v for n, v in facts.items() if n not in shared}, seed, arrays)
        for group, (facts, each) in zip(groups(c), measured, strict=True)
        for seed, arrays in zip(c.seeds, each, strict=True)
    ]
    steps = trained.steps
    return shared, Draws(
        Draw(
            keys={**group, "seed": seed},
            status=trained.status[row],
            facts={
                "steps": int(steps[row]),
                "released": int(trained.released[row]),
                "final_loss": _finite(float(trained.final_losses[row])),
                "starts": trained.starts[row],
                "finite": all(bool(w[row].isfinite().all()) for w in trained.final),
                **facts,
            },
            arrays={
                "losses": trained.losses[row, trained.times < steps[row]],
                **arrays,
            },
        )
        for row, (group, facts, seed, arrays) in enumerate(rows)
    )


def _measured(
    c: Configuration, trained: Trained, index: int, pictures: Pictures, before: int
) -> tuple[dict[str, Any], list[dict[str, Array]]]:
    rows = slice(index * len(c.seeds), (index + 1) * len(c.seeds))
    found = measures.measure(
        c.network,
        tuple(w[rows] for w in trained.initial),
        tuple(w[rows] for w in trained.final),
        training_images=pictures,
        names=c.measurements,
        # The same test images for every configuration.
        seed=seed_sequence(0, "identity-map", "tests"),
        settings=measures.Settings(**c.settings),
        before=before,
    )
    return measures.by_replicate(found)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _source(configuration: Configuration, setting: Setting) -> Dataset:
    c, name = configuration, configuration.data.replace("channelled", "mnist")
    each = max(c.skip + labels.count(label) for labels in c.labels for label in labels)
    # Digits come from the set that is the same on every machine, unless it is too small.
    digits = name == "mnist" and (c.examples or 0) <= 4000 and each <= 400
    return load(
        name,
        directory=None if digits else setting.data_folder,
        allow_unverified=setting.allow_unverified,
        cached=not digits,
    )


def _pictures(
    configuration: Configuration, source: Dataset, labels: tuple[int, ...]
) -> Pictures:
    if configuration.image:
        return images.own(configuration.image).fitted(
            image_shape(configuration.network)
        )
    found = images.chosen(labels, data=source, skip=configuration.skip)
    if configuration.data == "channelled":
        found = images.channelled(found)
    return found.fitted(image_shape(configuration.network))


def cost_of(configuration: Configuration) -> float:
    """Return an estimate of a configuration's work; see `Study`."""
    c = configuration
    examples = c.recipe.batch or len(c.labels[0])
    replicates = len(groups(c)) * len(c.seeds)
    return 3.0 * c.recipe.steps * examples * replicates * c.network.products


STUDY = Study(
    module="empirical.identity_map",
    configurations=configurations,
    schema=3,
    data=data_of,
    run=run_configuration,
    cost=cost_of,
    divisible=True,
    faults=planting(*FAULTS),
)
