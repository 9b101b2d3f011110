"""What a record says of learnt initialisations."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical.mmd_init import measures
from empirical.mmd_init.binary_tasks import Images
from empirical.mmd_init.experiments import NOISES, Configuration
from empirical.mmd_init.pretraining import Pretrained
from empirical.networks import Params
from empirical.randomness import shared, torch_generator
from empirical.testbed.records import Draw, Draws
from empirical.testbed.writing import Array, rounded

TOPIC = "mmd-init"
SHOWN = 4
"""Inputs, and perturbations, whose predictions are shown by figure 1."""


@dataclass
class Found:
    """Results of a replicate so far; see `Draw`."""

    status: str = "finished"
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    arrays: dict[str, Array] = field(default_factory=dict[str, Array])


def draws(c: Configuration, found: Sequence[Found]) -> Draws:
    """Return the results of each replicate, by variant and seed."""
    return Draws(
        Draw(keys={**asdict(variant), "seed": seed}, **vars(one))
        for (variant, seed), one in zip(c.runs, found, strict=True)
    )


def streams(c: Configuration, *names: str) -> list[torch.Generator]:
    """Return each run's generator of a name."""
    # By seed alone: variants see the same minibatches and the same noise.
    seeds = (seed for _, seed in c.runs)
    return shared(seeds, lambda seed: torch_generator(seed, TOPIC, *names))


def pretrained(c: Configuration, one: Pretrained) -> Found:
    """Return how a run went: status, windows, and the first of them step by step."""
    window = c.recipe.window
    found = Found(
        status=one.status,
        facts={
            "best": one.best,
            "degenerate": one.degenerate,
            "escalations": asdict(one.escalations),
        },
    )
    for name, values in one.history.items():
        if np.isfinite(values).any():
            whole = values[: len(values) // window * window].reshape(-1, window)
            found.arrays[f"windows/{name}"] = rounded(whole.mean(axis=1))
            # The first window step by step: curves against the logarithm of steps.
            found.arrays[f"first/{name}"] = rounded(values[:window])
    return found


def measured(
    c: Configuration,
    start: Params,
    params: Params,
    found: Images,
    runs: Sequence[Found],
    drawn: int,
) -> None:
    """Add shares, norms and densities of each learnt start; the seed `drawn` is shown."""
    few = found.inputs[:1024]
    constant = measures.constant_shares(
        c.network,
        params,
        found.inputs,
        s=[r.s for r in c.recipes()],
        generators=streams(c, "constant"),
        perturbations=max(c.recipe.perturbations, 64),
        batches=c.minibatches,
    )
    dead = measures.dead_shares(
        c.network,
        params,
        found.inputs,
        generators=streams(c, "dead"),
        batches=c.minibatches,
    )
    norms = measures.jacobian_squares(c.network, params, few)
    detached = measures.detachment(c.network, params, few)
    for index, run in enumerate(runs):
        for name, shares in (("constant", constant), ("dead", dead)):
            # Over minibatches, the first axis.
            run.arrays[f"{name}/mean"] = _digits(shares[index].mean(dim=0))
            run.arrays[f"{name}/std"] = _digits(shares[index].std(dim=0))
        run.arrays["jacobian"] = _digits(norms[index])
        run.facts["detachment"] = float(detached[index])
    if c.densities:
        _densities(c, start, params, found, runs, drawn)


def _densities(
    c: Configuration,
    start: Params,
    params: Params,
    found: Images,
    runs: Sequence[Found],
    drawn: int,
) -> None:
    s, many = c.recipes()[0].s, c.densities
    for when, these in (("before", start), ("after", params)):
        over_noise, over_inputs = (
            measures.predictions(
                c.network,
                these,
                found.inputs[:inputs],
                s=s,
                generators=streams(c, "densities", name),
                perturbations=count,
            )
            for name, inputs, count in (("noise", SHOWN, many), ("inputs", many, SHOWN))
        )
        distances = measures.distance_to_uniform(over_noise)
        spread = over_inputs.std(dim=-1)
        for (index, run), (_, seed) in zip(enumerate(runs), c.runs, strict=True):
            part = {
                "distances": _digits(distances[index]),
                "spread": _digits(spread[index]),
                "medians": _digits(over_inputs[index].median(dim=-1).values),
            }
            # Densities themselves are for a picture: one seed's will do.
            if seed == drawn:
                part["over_noise"] = _sorted(over_noise[index].mT)
                part["over_inputs"] = _sorted(over_inputs[index])
            run.arrays |= {f"densities/{when}/{k}": v for k, v in part.items()}


def around(
    c: Configuration, taken: Mapping[int, Params], found: Images, runs: Sequence[Found]
) -> None:
    """Add L_iod at states on the way, by step, and around them, by level of noise."""
    if not taken:
        return
    few = found.inputs[:256]
    here: list[Tensor] = []
    nearby: dict[float, list[Tensor]] = {s2: [] for s2 in NOISES}
    for params in taken.values():
        moved = tuple(p.to(few) for p in params)
        here.append(measures.detachment(c.network, moved, few))
        for s2, each in nearby.items():
            at = measures.perturbed_detachment(
                c.network,
                moved,
                few,
                s=math.sqrt(s2),
                # The same four perturbations at every step.
                generators=streams(c, "around"),
            )
            each.append(at)
    for index, run in enumerate(runs):
        steps = {
            "step": np.array(list(taken)),
            "here": np.array([h[index] for h in here]),
        }
        run.arrays |= {f"snapshots/{name}": values for name, values in steps.items()}
        for s2, each in nearby.items():
            rows = torch.stack([values[index] for values in each])
            run.arrays[f"snapshots/around/{s2}"] = _digits(rows)


def _sorted(values: Tensor) -> Array:
    kept = values.double().sort().values.cpu().numpy()
    return np.array(np.round(kept, 4), dtype=np.float64)


def _digits(values: Tensor) -> Array:
    return rounded(values.double().cpu().numpy())
