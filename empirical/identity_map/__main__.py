"""Command line: train one network and look at it, or run the figures' batch."""

import argparse
import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch

from empirical import devices
from empirical.batch import write_json
from empirical.identity_map import batch, initial, measures, optimisers
from empirical.identity_map.experiments import Configuration, configurations
from empirical.identity_map.gradients import LOSSES
from empirical.identity_map.networks import ACTIVATIONS, KINDS, Network
from empirical.identity_map.recipes import Recipe
from empirical.identity_map.scales import SCALES, SHORT

_CHOICES = {
    "optimiser": tuple(optimisers.RATES),
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
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--device", default="auto", help="auto, cpu or cuda[:i]")
    common.add_argument(
        "--directory",
        default=os.environ.get("DEEP_LEDGER_DATA"),
        help="folder of the full data sets; default: DEEP_LEDGER_DATA, where set",
    )
    common.add_argument(
        "--allow-unverified",
        action="store_true",
        help="take CIFAR-10 files whose pixels nothing vouches for",
    )
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
    many.add_argument("--out", type=Path, required=True, help="folder of the records")
    many.add_argument("--rerun", action="store_true", help="also what has a record")
    many.add_argument(
        "--minutes",
        type=float,
        help="stop after so long; the next call goes on from there",
    )
    listed = commands.add_parser("list", help="print the configurations' names")
    for command in (many, listed):
        command.add_argument("--scale", choices=SCALES, default="small")
        command.add_argument("--only", nargs="+", metavar="WORD", help="names with all")
        text = "every n-th configuration from the i-th: n processes share the work"
        command.add_argument("--shard", metavar="I/N", default="1/1", help=text)
        command.add_argument("--figures", nargs="+", type=int, help="for one of these")
    return parser


def _configuration(options: argparse.Namespace) -> Configuration:
    colour = options.data in ("cifar10", "channelled")
    width = options.width
    if width is None and options.kind != "residual":
        width = 16 if options.kind == "cnn" else options.size**2
    return Configuration(
        name="train",
        network=Network(
            kind=options.kind,
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


class _Bar:
    """A progress bar on stderr, and the deadline."""

    def __init__(self, total: int, minutes: float | None = None) -> None:
        # Loaded here: `list` and `--help` draw nothing.
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[shown]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
        )
        self.all = self.bar.add_task("all", total=total, shown=f"0/{total}")
        self.one = self.bar.add_task("", total=None, shown="")
        self.until = None if minutes is None else time.monotonic() + 60.0 * minutes
        self.done = 0

    def steps(self, done: int, last: int, loss: float) -> None:
        """Show updates; at the deadline, interrupt."""
        shown = f"{done} of at most {last} updates, loss {loss:.2e}"
        self.bar.update(self.one, completed=done, total=last, shown=shown)
        if self.until is not None and time.monotonic() > self.until:
            raise KeyboardInterrupt

    def report(self, configuration: Configuration, outcome: str) -> None:
        """Show the start or the end of a configuration."""
        if outcome == "running":
            self.bar.reset(self.one, description=configuration.name, shown="")
            return
        self.done += 1
        total = self.bar.tasks[0].total
        self.bar.update(self.all, advance=1, shown=f"{self.done}/{total:g}")
        if outcome != "kept":
            self.bar.console.print(f"{configuration.name}: {outcome}", markup=False)


def _one(options: argparse.Namespace, device: str) -> int:
    configuration = _configuration(options)
    bar = _Bar(1)
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
    if options.output is not None:
        write_json(options.output, record)
    else:
        text = json.dumps(batch.plain(record), indent=1, allow_nan=False)
        sys.stdout.write(text + "\n")
    bad = [d for g in record["groups"] for d in g["draws"] if d["status"] == "diverged"]
    return 1 if bad else 0


def _chosen(options: argparse.Namespace) -> list[Configuration]:
    chosen = [
        c
        for c in configurations(options.scale)
        if all(word in c.name for word in options.only or ())
        and (options.figures is None or set(options.figures) & set(c.figures))
    ]
    index, _, count = options.shard.partition("/")
    if not (index + count).isdecimal() or not 1 <= int(index) <= int(count):
        raise ValueError(
            f"batch: `--shard` must be I/N with 1 <= I <= N, but it is {options.shard}"
        )
    chosen = chosen[int(index) - 1 :: int(count)]
    if not chosen:
        raise ValueError(
            f"batch: no configuration of scale {options.scale} has the words "
            f"{options.only} and one of the figures {options.figures}"
        )
    return chosen


def _batch(options: argparse.Namespace, device: str) -> int:
    chosen = _chosen(options)
    bar = _Bar(len(chosen), options.minutes)
    with bar.bar:
        try:
            outcomes = batch.run_batch(
                chosen,
                directory=options.out,
                device=device,
                rerun=options.rerun,
                data=options.directory,
                allow_unverified=options.allow_unverified,
                report=bar.report,
                progress=bar.steps,
            )
        except KeyboardInterrupt:
            bar.bar.console.print(
                f"interrupted; what is done stays in {options.out}", markup=False
            )
            return 130
    return 1 if any(o.startswith("failed") for o in outcomes.values()) else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line: 0, 1 on failure or divergence, 2 on misuse, 130 Ctrl-C."""
    options = _parser().parse_args(argv)
    try:
        if options.command == "list":
            lines = [
                f"{c.name}  figures {' '.join(map(str, sorted(c.figures)))}\n"
                for c in _chosen(options)
            ]
            sys.stdout.write("".join(lines))
            return 0
        device = str(devices.resolve(options.device))
        return (_batch if options.command == "batch" else _one)(options, device)
    except (OSError, RuntimeError, ValueError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2 if isinstance(error, ValueError) else 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
