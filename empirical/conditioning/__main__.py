"""Command line: one experiment, or ``gpu-batch``; results as JSON."""

import argparse
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from empirical import command
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
    common = command.common_options(unverified=False)
    common.add_argument("--seed", type=int, default=7, help="default: 7")
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
    command.add_batch_options(batch)
    command.add_choice(batch, ("small", "large"), "large")
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
    command.put(
        record if options.output is not None else record["result"], options.output
    )
    return 0


def _batch(options: argparse.Namespace, device: str) -> int:
    chosen = command.chosen(configurations(options.scale), options)
    if options.list:
        sys.stdout.write("".join(f"{c.name}\n" for c in chosen))
        return 0
    bar = command.Bar(len(chosen))

    def run() -> dict[str, str]:
        return run_batch(
            chosen,
            directory=options.out,
            seed=options.seed,
            device=device,
            rerun=options.rerun,
            data=options.directory,
            report=bar.report,
        )

    return bar.run(run, out=options.out)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line: 0, 1 when something failed, 2 on misuse, 130 on Ctrl-C."""
    options = _parser().parse_args(argv)

    def run() -> int:
        device = command.resolved(options)
        return (_batch if options.command == "gpu-batch" else _one)(options, device)

    return command.guarded(run)


if __name__ == "__main__":
    sys.exit(main())
