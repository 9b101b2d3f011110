"""What a record says of learnt initialisations, in JSON's terms."""

import dataclasses
import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical.mmd_init import measures
from empirical.mmd_init.experiments import NOISES, Configuration
from empirical.mmd_init.networks import State
from empirical.mmd_init.pretraining import Pretrained
from empirical.mmd_init.tasks import Images
from empirical.randomness import torch_generator
from empirical.testbed.writing import numbers

TOPIC = "mmd-init"
SHOWN = 4
"""Inputs, and perturbations, whose predictions are shown by figure 1."""


def streams(c: Configuration, *names: str) -> list[torch.Generator]:
    """Return each run's generator of a name."""
    # By seed alone: variants see the same minibatches and the same noise.
    by_seed = {seed: torch_generator(seed, TOPIC, *names) for seed in c.seeds}
    return [by_seed[seed] for _, seed in c.runs]


def pretrained(c: Configuration, one: Pretrained) -> dict[str, Any]:
    """Return how a run went: status, windows, and the first of them step by step."""
    window = c.recipe.window
    terms = {k: v for k, v in one.history.items() if np.isfinite(v).any()}
    return {
        "status": one.status,
        "best": one.best,
        "degenerate": one.degenerate,
        "escalations": dataclasses.asdict(one.escalations),
        "windows": {
            name: numbers(_window_means(values, window), rounded=True)
            for name, values in terms.items()
        },
        # The first window step by step: curves against the logarithm of steps.
        "first": {
            name: numbers(values[:window], rounded=True)
            for name, values in terms.items()
        },
    }


def _window_means(values: Any, window: int) -> Any:
    whole = len(values) // window * window
    return values[:whole].reshape(-1, window).mean(axis=1)


def measured(
    c: Configuration,
    start: State,
    state: State,
    found: Images,
    runs: list[dict[str, Any]],
) -> None:
    """Add shares, norms and densities of each learnt start."""
    few = found.inputs[:1024]
    constant = measures.constant_shares(
        c.network,
        state,
        found.inputs,
        s=[r.s for r in c.recipes()],
        generators=streams(c, "constant"),
        perturbations=max(c.recipe.perturbations, 64),
        batches=c.minibatches,
    )
    dead = measures.dead_shares(
        c.network,
        state,
        found.inputs,
        generators=streams(c, "dead"),
        batches=c.minibatches,
    )
    norms = measures.jacobian_squares(c.network, state, few)
    detached = measures.detachment(c.network, state, few)
    for index, run in enumerate(runs):
        run["constant"] = _summary(constant[index])
        run["dead"] = _summary(dead[index])
        run["jacobian"] = _digits(norms[index])
        run["detachment"] = float(detached[index])
    if c.densities:
        _densities(c, start, state, found, runs)


def _densities(
    c: Configuration,
    start: State,
    state: State,
    found: Images,
    runs: list[dict[str, Any]],
) -> None:
    shown = found.inputs[:SHOWN], found.inputs[: c.densities]
    s = c.recipes()[0].s
    for when, these in (("before", start), ("after", state)):
        over_noise = measures.predictions(
            c.network,
            these,
            shown[0],
            s=s,
            generators=streams(c, "densities", "noise"),
            perturbations=c.densities,
        )
        over_inputs = measures.predictions(
            c.network,
            these,
            shown[1],
            s=s,
            generators=streams(c, "densities", "inputs"),
            perturbations=SHOWN,
        )
        distances = measures.distance_to_uniform(over_noise)
        spread = over_inputs.std(dim=-1)
        for index, run in enumerate(runs):
            part = run.setdefault("densities", {}).setdefault(when, {})
            part["distances"] = _digits(distances[index])
            part["spread"] = _digits(spread[index])
            part["medians"] = _digits(over_inputs[index].median(dim=-1).values)
            # Densities themselves are for a picture: one seed's will do.
            if run["seed"] == c.seeds[0]:
                part["over_noise"] = _sorted(over_noise[index].mT)
                part["over_inputs"] = _sorted(over_inputs[index])


def around(
    c: Configuration,
    at: int,
    state: State,
    found: Images,
    runs: list[dict[str, Any]],
) -> None:
    """Add L_iod at a state on the way and around it, for each level of noise."""
    few = found.inputs[:256]
    here = measures.detachment(c.network, state, few)
    around = {
        s2: measures.perturbed_detachment(
            c.network,
            state,
            few,
            s=math.sqrt(s2),
            # The same four perturbations at every step.
            generators=streams(c, "around"),
        )
        for s2 in NOISES
    }
    for index, run in enumerate(runs):
        entry: dict[str, Any] = {"step": at, "here": float(here[index])}
        entry["around"] = {str(s2): _digits(v[index]) for s2, v in around.items()}
        run.setdefault("snapshots", []).append(entry)


def _summary(shares: Tensor) -> dict[str, Any]:
    """Return mean and standard deviation over minibatches, the first axis."""
    return {
        "mean": _digits(shares.mean(dim=0)),
        "std": _digits(shares.std(dim=0)),
    }


def _sorted(values: Tensor) -> list[Any]:
    return [[float(f"{v:.4f}") for v in row.sort().values.tolist()] for row in values]


def _digits(values: Tensor) -> Any:
    return numbers(values.double().cpu().numpy(), rounded=True)
