"""Command line: one experiment, or ``gpu-batch``; results as JSON."""

import argparse
import inspect
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from empirical import devices
from empirical.batch import write_json
from empirical.conditioning.activations import NAMES
from empirical.conditioning.batch import (
    Configuration,
    configurations,
    run_batch,
    run_configuration,
)
from empirical.conditioning.experiments import EXPERIMENTS

_HELP = {
    "activation": f"standardised; one of {', '.join(NAMES)}",
    "chains": "independent networks",
    "data": "a, b (the paper's assumptions), arc or digits",
    "delta": "separation of the inputs (a, arc), smallest eigenvalue (b)",
    "depth": "hidden layers",
    "depths": "hidden layers, increasing",
    "draws": "independent networks",
    "every": "record the loss after so many steps",
    "layers": "top or all",
    "n": "training inputs",
    "noise": "standard deviation of noise on the targets",
    "rho": "correlation of the two inputs",
    "squared_norms": "of the two inputs",
    "steps": "of gradient descent",
    "tangent": "measure tangent kernels too",
    "tests": "test inputs",
    "units": "draw units instead of weights: wide and deep is cheap",
    "width": "units of every hidden layer",
    "widths": "units of every hidden layer",
}

_COMMON = ("seed", "device", "directory")
"""Arguments that every command has."""


def _add_arguments(
    parser: argparse.ArgumentParser, function: Callable[..., Any]
) -> None:
    """Turn keyword arguments with their defaults into options."""
    for name, parameter in inspect.signature(function).parameters.items():
        if name in _COMMON:
            continue
        option, default = "--" + name.replace("_", "-"), parameter.default
        several = isinstance(default, tuple)
        shown = " ".join(str(item) for item in default) if several else default
        text = f"{_HELP[name]}; default: {shown}"
        if isinstance(default, bool):
            action = argparse.BooleanOptionalAction
            parser.add_argument(option, action=action, default=default, help=text)
            continue
        parser.add_argument(
            option,
            nargs="+" if several else None,
            type=type(default[0] if several else default),
            default=default,
            help=text,
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m empirical.conditioning",
        description="Measure networks of finite width; results are JSON.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--seed", type=int, default=7, help="default: 7")
    common.add_argument("--device", default="auto", help="auto, cpu or cuda[:i]")
    common.add_argument(
        "--directory",
        default=os.environ.get("DEEP_LEDGER_DATA"),
        help="folder of the full data sets; default: DEEP_LEDGER_DATA, where set",
    )
    for kind, function in EXPERIMENTS.items():
        text = (inspect.getdoc(function) or "").split("\n", 1)[0]
        one = commands.add_parser(kind, help=text, description=text, parents=[common])
        _add_arguments(one, function)
        one.add_argument("--output", type=Path, help="a file instead of stdout")
    text = "run every configuration that has no record yet"
    batch = commands.add_parser(
        "gpu-batch",
        help=text,
        description=f"{text[0].upper()}{text[1:]}. Ctrl-C keeps what is done.",
        parents=[common],
    )
    batch.add_argument("--out", type=Path, required=True, help="folder of the records")
    batch.add_argument("--scale", choices=("small", "large"), default="large")
    batch.add_argument(
        "--only", nargs="+", metavar="WORD", help="names that hold these"
    )
    batch.add_argument("--rerun", action="store_true", help="also what has a record")
    batch.add_argument("--list", action="store_true", help="print names, run nothing")
    return parser


def _one(options: argparse.Namespace, device: str) -> int:
    names = inspect.signature(EXPERIMENTS[options.command]).parameters
    given = {
        name: value
        for name, value in vars(options).items()
        if name in names and name not in _COMMON
    }
    made = Configuration(name=options.command, kind=options.command, arguments=given)
    record = run_configuration(
        made, seed=options.seed, device=device, directory=options.directory
    )
    if options.output is not None:
        write_json(options.output, record)
    else:
        sys.stdout.write(json.dumps(record["result"], indent=1) + "\n")
    return 0


def _batch(options: argparse.Namespace, device: str) -> int:
    # Loaded here: only this command draws a progress bar.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    chosen = [
        configuration
        for configuration in configurations(options.scale)
        if all(word in configuration.name for word in options.only or ())
    ]
    if not chosen:
        sys.stderr.write(f"error: no configuration holds {options.only}\n")
        return 2
    if options.list:
        sys.stdout.write("".join(f"{c.name}\n" for c in chosen))
        return 0
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=len(chosen))

        def report(configuration: Configuration, outcome: str) -> None:
            bar.update(task, description=configuration.name)
            if outcome != "running":
                bar.advance(task)
            if outcome not in ("running", "kept"):
                bar.console.print(f"{configuration.name}: {outcome}", markup=False)

        try:
            outcomes = run_batch(
                chosen,
                directory=options.out,
                seed=options.seed,
                device=device,
                rerun=options.rerun,
                data=options.directory,
                report=report,
            )
        except KeyboardInterrupt:
            bar.console.print(
                f"interrupted; what is done stays in {options.out}", markup=False
            )
            return 130
    return 1 if any(o.startswith("failed") for o in outcomes.values()) else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line: 0, 1 when something failed, 2 on misuse, 130 on Ctrl-C."""
    options = _parser().parse_args(argv)
    try:
        device = str(devices.resolve(options.device))
        if options.command == "gpu-batch":
            return _batch(options, device)
        return _one(options, device)
    except (OSError, RuntimeError, ValueError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2 if isinstance(error, ValueError) else 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
