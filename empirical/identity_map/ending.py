"""What is said of networks that were trained to copy images, and their figure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from empirical.identity_map.shown import panels
from empirical.testbed.ending import Curve, Ending, counted, ended, listed, spread
from empirical.testbed.records import Draw, RunRecord

BESIDE = 8
"""So many pictures stand beside the loss curve."""

DONE = ("finished", "floor")
"""Ends of networks that have learnt what they can."""

NEAR = 0.1
"""Correlations closer than this are called equal."""


def ending(record: RunRecord) -> Ending:
    """Say which of the two functions that fit one image the networks are nearer to."""
    configuration, draws = record.configuration, record.draws
    labels, image = configuration["labels"][0], f"{configuration['data']} image"
    classes = f"class{'es' if len(labels) > 1 else ''} {listed(labels)}"
    copied = f"{counted(len(labels), image)} of {classes}"
    if configuration.get("image"):
        copied = f"the picture {configuration['image']}"
    if configuration["examples"] is not None:
        copied = counted(configuration["examples"], image)
    networks = counted(len(draws), f"{configuration['network']['kind']} network")
    said = [
        (
            f"Trained {networks} of {record.fact('parameters'):,} parameters to reproduce"
            f" {copied}."
        )
    ]
    done = draws.ended(*DONE)
    if done:
        losses, steps = done.fact("final_loss"), done.fact("steps")
        said.append(
            f"{ended(record)}, after {spread(steps, '.0f')} updates, with a loss of"
            f" {spread(losses, '.1e')}."
        )
        said += _meaning(record)
    else:
        said.append(f"{ended(record)}: try a smaller `--rate`.")
    times = record.series("times")
    curves = [
        Curve(_name(draw, configuration), times[: len(losses)], losses)
        for draw in draws.having("losses")
        for losses in (draw.series("losses"),)
    ]
    shown = panels(record, BESIDE)
    if shown:
        # What is trained on is input and target at once.
        shown = (replace(shown[0], name=f"{shown[0].name}\n= target"), *shown[1:])
    return Ending(
        said=tuple(said),
        curves=tuple(curves),
        x="update",
        y="training loss",
        log=True,
        panels=shown,
    )


def _name(draw: Draw, configuration: Mapping[str, Any]) -> str:
    """Return by what a network differs from the others: its seed, and its scheme."""
    seed = f"seed {draw.seed}"
    several = len(configuration["schemes"]) > 1
    return f"{draw.keys['scheme']}, {seed}" if several else seed


def _meaning(record: RunRecord) -> list[str]:
    done = record.draws.ended(*DONE).having("curve/identity")
    if not done:
        return []
    same = float(done.series("curve/identity").mean())
    fixed = float(done.series("curve/constant").mean())
    alone = len(record.configuration["labels"][0]) == 1
    image = "the training image" if alone else "the first training image"
    if abs(same - fixed) < NEAR:
        nearer = "between the identity and the constant"
    elif same > fixed:
        nearer = "nearer to the identity: what was learnt is to copy"
    else:
        nearer = f"nearer to the constant: what was learnt is {image}"
    return [
        (
            f"On images that it has not seen the output correlates {same:.2f} with the"
            f" input and {fixed:.2f} with {image}, {nearer}."
        )
    ]
