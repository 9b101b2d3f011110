"""Command line: one experiment, or all of them; results as JSON."""

import argparse
import inspect
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from empirical.conditioning import study
from empirical.conditioning.experiments import EXPERIMENTS
from empirical.conditioning.study import STUDY, Configuration
from empirical.testbed import command
from empirical.testbed.options import add_options, explained
from empirical.testbed.study import Setting

SKIPPED = ("device", "directory")
"""Arguments that a setting gives."""


def _add(function: Callable[..., Any], parser: argparse.ArgumentParser) -> None:
    said = explained(study)
    add_options(parser, function, skip=SKIPPED, said=said)
    parser.add_argument("--output", type=Path, help="a file instead of stdout")


def _run(kind: str, options: argparse.Namespace, setting: Setting) -> int:
    command.check_outputs(options.output)
    names = inspect.signature(EXPERIMENTS[kind]).parameters
    given = {n: v for n, v in vars(options).items() if n in names and n != "seed"}
    made = Configuration(
        name=kind,
        kind=kind,
        arguments={n: v for n, v in given.items() if n not in SKIPPED},
        seed=options.seed,
    )
    record = command.alone(lambda: STUDY.run(made, setting), kind, options.minutes)
    if options.output is not None:
        record.write(options.output)
    else:
        sys.stdout.write(json.dumps(record.fact("result"), indent=1) + "\n")
    return 0


def _single(kind: str, function: Callable[..., Any]) -> command.Single:
    about = (inspect.getdoc(function) or "").split("\n", 1)[0]
    add, run = partial(_add, function), partial(_run, kind)
    return command.Single(kind, about, add, run, resumes=False)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; see `command.main`."""
    return command.main(
        STUDY,
        [_single(kind, function) for kind, function in EXPERIMENTS.items()],
        argv,
        about="Measure networks of finite width; results are JSON.",
    )


if __name__ == "__main__":
    sys.exit(main())
