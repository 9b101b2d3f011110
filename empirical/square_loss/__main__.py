"""Command line: train one stack and print its record, or run the figures' batch."""

import argparse
import dataclasses
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch

from empirical import command
from empirical.data import NAMES
from empirical.square_loss import batch
from empirical.square_loss.experiments import (
    DTYPES,
    SCALES,
    Configuration,
    configurations,
    input_shape,
)
from empirical.square_loss.networks import FAMILIES, classifier
from empirical.square_loss.recipes import DECAYED, Recipe

_TYPES: dict[str, Callable[[str], Any]] = {
    "epochs": int,
    "batch": int,
    "check": int,
    "decayed": str,
}
"""Of the recipe's fields; the others are numbers."""

_EPOCHS = 1000


def _add_recipe(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("recipe")
    for field in dataclasses.fields(Recipe):
        option = "--" + field.name.replace("_", "-")
        default = _EPOCHS if field.name == "epochs" else field.default
        given: dict[str, Any] = {"type": _TYPES.get(field.name, float)}
        text = f"default: {default}"
        if field.name == "decayed":
            given["choices"] = DECAYED
        elif field.name == "schedule":
            given["nargs"] = "*"
            text = "fractions of the epochs at which the rate drops; default: none"
        elif field.name == "batch":
            text = "examples a step; default: all"
        elif default is None:
            text = "default: off"
        group.add_argument(option, default=default, help=text, **given)


def _add_network(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("network")
    group.add_argument("--family", default="bn", help=f"{', '.join(FAMILIES)}; bn")
    text = "hidden units, or channels with --conv, one a layer; 32 32 32"
    group.add_argument("--widths", nargs="*", type=int, default=[32] * 3, help=text)
    text = "convolutions instead of matrices"
    group.add_argument("--conv", action="store_true", help=text)
    group.add_argument("--kernel", type=int, default=3, help="odd; 3")
    group.add_argument("--stride", type=int, default=2, help="2")
    group.add_argument("--eps", type=float, default=1e-12, help="of variances; 1e-12")
    text = "initial Frobenius norms of the layers; 0.1 1 5"
    group.add_argument(
        "--scales", nargs="+", type=float, default=[0.1, 1.0, 5.0], help=text
    )
    group.add_argument("--seeds", nargs="+", type=int, default=[0], help="0")
    group.add_argument("--dtype", choices=DTYPES, default="float64", help="float64")


def _add_problem(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("problem")
    group.add_argument("--data", default="mnist", help=f"{', '.join(NAMES)}; mnist")
    text = "two classes, or more for an output each; 3 8"
    group.add_argument("--labels", nargs="+", type=int, default=[3, 8], help=text)
    text = "training examples of each class; 150"
    group.add_argument("--per-class", type=int, default=150, help=text)
    text = "test examples of each class; 50"
    group.add_argument("--tests", type=int, default=50, help=text)
    group.add_argument("--side", type=int, help="shrink images to this edge")
    text = "a coordinate beside the pixels in [0, 1], without --conv; 0.25"
    group.add_argument("--constant", type=float, default=0.25, help=text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m empirical.square_loss",
        description="Train classifiers with the square loss; results are JSON.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    common = command.common_options()
    one = commands.add_parser("train", help="one stack", parents=[common])
    _add_network(one)
    _add_problem(one)
    one.add_argument("--output", type=Path, help="a file instead of stdout")
    one.add_argument("--weights", type=Path, help="keep first and last weights here")
    one.add_argument("--checkpoint", type=Path, help="go on from here after a kill")
    _add_recipe(one)
    many = commands.add_parser(
        "batch", help="all configurations without a record", parents=[common]
    )
    command.add_batch_options(many)
    command.add_deadline(many)
    many.add_argument(
        "--per-class", type=int, help="fewer examples of each class than the scale's"
    )
    listed = commands.add_parser("list", help="print the configurations' names")
    for each in (many, listed):
        command.add_choice(each, SCALES, "small")
        command.add_figures(each)
    return parser


def _configuration(options: argparse.Namespace) -> Configuration:
    labels = tuple(options.labels)
    shape = input_shape(options.data, options.side, flat=not options.conv)
    return Configuration(
        name="train",
        network=classifier(
            options.family,
            shape=shape,
            widths=tuple(options.widths),
            outputs=1 if len(labels) == 2 else len(labels),
            kernel=options.kernel,
            stride=options.stride,
            eps=options.eps,
        ),
        recipe=Recipe(
            **{f.name: getattr(options, f.name) for f in dataclasses.fields(Recipe)}
        ),
        data=options.data,
        labels=labels,
        per_class=options.per_class,
        tests=options.tests,
        side=options.side,
        constant=None if options.conv else options.constant,
        scales=tuple(options.scales),
        seeds=tuple(options.seeds),
        dtype=options.dtype,
    )


def _one(options: argparse.Namespace, device: str) -> int:
    configuration = _configuration(options)
    bar = command.Bar(1)
    quiet = not sys.stderr.isatty()
    shown: AbstractContextManager[Any] = nullcontext() if quiet else bar.bar
    given: dict[str, Any] = {
        "device": device,
        "data": options.directory,
        "allow_unverified": options.allow_unverified,
    }
    with shown:
        record, trained = batch.trained_record(
            configuration, **given, progress=bar.steps, checkpoint=options.checkpoint
        )
    if options.weights is not None:
        kept = {"initial": list(trained.initial), "final": list(trained.final)}
        torch.save(kept, options.weights)
    command.put(record, options.output)
    if options.checkpoint is not None:
        options.checkpoint.unlink(missing_ok=True)
    return 0 if set(trained.status) == {"finished"} else 1


def _batch(options: argparse.Namespace, device: str) -> int:
    chosen = command.chosen(configurations(options.scale), options)
    if options.per_class is not None:
        few = options.per_class
        chosen = [
            dataclasses.replace(c, per_class=min(few, c.per_class)) for c in chosen
        ]
    return command.run_chosen(chosen, batch.run_batch, options, device)


def _list(options: argparse.Namespace) -> int:
    for c in command.chosen(configurations(options.scale), options):
        figures = f"  figures {' '.join(map(str, c.figures))}" if c.figures else ""
        sys.stdout.write(f"{c.name}  {len(c.draws)} draws{figures}\n")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line: 0, 1 on failure or divergence, 2 on misuse, 130 Ctrl-C."""
    options = _parser().parse_args(argv)

    def run() -> int:
        if options.command == "list":
            return _list(options)
        device = command.resolved(options)
        return (_batch if options.command == "batch" else _one)(options, device)

    return command.guarded(run)


if __name__ == "__main__":
    sys.exit(main())
