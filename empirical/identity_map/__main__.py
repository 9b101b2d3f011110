"""Command line: train one network and look at it, or run the figures' batch."""

import argparse
import dataclasses
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch

from empirical import command
from empirical.batch import remove_checkpoints
from empirical.identity_map import batch, measures
from empirical.identity_map.experiments import Configuration, configurations
from empirical.identity_map.networks import ACTIVATIONS, KINDS, copier
from empirical.identity_map.recipes import RATES, Recipe
from empirical.identity_map.scales import SCALES, SHORT
from empirical.identity_map.task import LOSSES
from empirical.networks import initial

_CHOICES = {
    "optimiser": tuple(RATES),
    "loss": LOSSES,
    "trained": ("all", "bottom"),
}

_TYPES: dict[str, Callable[[str], Any]] = {
    "optimiser": str,
    "loss": str,
    "trained": str,
    "steps": int,
    "limit": int,
    "patience": int,
    "batch": int,
    "retries": int,
    "check": int,
}
"""Of the recipe's fields; the others are numbers."""


def _absent_or(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a converter that takes ``none`` too."""

    def convert(text: str) -> Any:
        return None if text.lower() == "none" else kind(text)

    return convert


def _add_recipe(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "recipe", "Defaults are the short recipe's; 'none' switches a thing off."
    )
    for field in dataclasses.fields(Recipe):
        option = "--" + field.name.replace("_", "-")
        default = getattr(SHORT, field.name)
        text = f"default: {default}"
        if isinstance(default, bool):
            action = argparse.BooleanOptionalAction
            group.add_argument(option, action=action, default=default, help=text)
        elif isinstance(default, tuple):
            group.add_argument(
                option,
                nargs="*",
                type=float,
                default=default,
                help="fractions of the budget at which the rate drops; default: none",
            )
        else:
            kind = _absent_or(_TYPES.get(field.name, float))
            if field.name in _CHOICES:
                text = f"{', '.join(_CHOICES[field.name])}; {text}"
            group.add_argument(option, type=kind, default=default, help=text)


def _add_network(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("network")
    group.add_argument("--kind", default="cnn", help=f"{', '.join(KINDS)}; cnn")
    group.add_argument("--layers", type=int, default=5, help="weight layers; 5")
    group.add_argument("--width", type=int, help="units or channels; 16 for a cnn")
    group.add_argument("--kernel", type=int, default=5, help="odd; 5")
    group.add_argument(
        "--activation", default="relu", help=f"{', '.join(ACTIVATIONS)}; relu"
    )
    group.add_argument("--size", type=int, default=14, help="edge of the images; 14")
    group.add_argument(
        "--schemes",
        nargs="+",
        default=["framework"],
        metavar="SCHEME",
        help=f"initialisations: {', '.join(initial.SCHEMES)}; framework",
    )
    group.add_argument("--seeds", nargs="+", type=int, default=[0], help="0")


def _add_images(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("images")
    text = "mnist, fashion-mnist, cifar10 or channelled (three digits in colour)"
    group.add_argument("--data", default="mnist", help=text)
    text = "train on one example of each of these classes; 7"
    group.add_argument("--labels", nargs="+", type=int, default=[7], help=text)
    text = "examples of each class to pass over; 0"
    group.add_argument("--skip", type=int, default=0, help=text)
    text = "train on so many examples; --labels are then only looked at"
    group.add_argument("--examples", type=int, help=text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m empirical.identity_map",
        description="Train networks to copy images, and show what they learnt.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    common = command.common_options()
    one = commands.add_parser("train", help="one network", parents=[common])
    _add_network(one)
    _add_images(one)
    one.add_argument(
        "--measure",
        nargs="*",
        default=["curve"],
        metavar="NAME",
        help=f"{', '.join(measures.MEASUREMENTS)}; curve",
    )
    one.add_argument("--output", type=Path, help="a file instead of stdout")
    one.add_argument("--weights", type=Path, help="keep first and last weights here")
    one.add_argument("--checkpoint", type=Path, help="go on from here after a kill")
    _add_recipe(one)
    many = commands.add_parser(
        "batch", help="all configurations without a record", parents=[common]
    )
    command.add_batch_options(many)
    command.add_deadline(many)
    listed = commands.add_parser("list", help="print the configurations' names")
    for each in (many, listed):
        command.add_choice(each, SCALES, "small")
        command.add_figures(each)
    return parser


def _configuration(options: argparse.Namespace) -> Configuration:
    colour = options.data in ("cifar10", "channelled")
    width = options.width
    if width is None and options.kind != "residual":
        width = 16 if options.kind == "cnn" else options.size**2
    return Configuration(
        name="train",
        network=copier(
            options.kind,
            shape=(3 if colour else 1, options.size, options.size),
            layers=options.layers,
            width=width,
            kernel=options.kernel,
            activation=options.activation,
        ),
        recipe=Recipe(
            **{f.name: getattr(options, f.name) for f in dataclasses.fields(Recipe)}
        ),
        data=options.data,
        labels=(tuple(options.labels),),
        skip=options.skip,
        examples=options.examples,
        schemes=tuple(options.schemes),
        seeds=tuple(options.seeds),
        measurements=tuple(options.measure),
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
        "checkpoint": options.checkpoint,
        "progress": bar.steps,
    }
    with shown:
        record, trained = batch.trained_record(configuration, **given)
    if options.weights is not None:
        kept = {"initial": list(trained.initial), "final": list(trained.final)}
        torch.save(kept, options.weights)
    command.put(record, options.output)
    if options.checkpoint is not None:
        remove_checkpoints(options.checkpoint)
    bad = [d for g in record["groups"] for d in g["draws"] if d["status"] == "diverged"]
    return 1 if bad else 0


def _batch(options: argparse.Namespace, device: str) -> int:
    chosen = command.chosen(configurations(options.scale), options)
    return command.run_chosen(chosen, batch.run_batch, options, device)


def _list(options: argparse.Namespace) -> int:
    lines = [
        f"{c.name}  figures {' '.join(map(str, sorted(c.figures)))}\n"
        for c in command.chosen(configurations(options.scale), options)
    ]
    sys.stdout.write("".join(lines))
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
