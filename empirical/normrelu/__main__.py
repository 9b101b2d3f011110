"""Command line: train one arm and say what came out, or run the whole batch."""

import argparse
import sys
from collections.abc import Sequence

from empirical.normrelu.experiments import Configuration
from empirical.testbed import before, command
from empirical.testbed.options import add_options, made
from empirical.testbed.study import Setting

EXAMPLE = Configuration(name="train", arm="normrelu", depth=32)

NAMED = {"name": "--data", "labels": "--data", "function": "--kink"}
"""Options of parameters that are called otherwise."""


def _add_train(parser: argparse.ArgumentParser) -> None:
    add_options(parser, EXAMPLE, skip=("name",))
    command.add_output(parser)


def _train(options: argparse.Namespace, setting: Setting) -> int:
    # Loaded here: `--help` does without.
    from empirical.normrelu.ending import ending
    from empirical.normrelu.study import run_configuration

    def run(configuration: Configuration, setting: Setting) -> tuple[object, None]:
        return run_configuration(configuration, setting), None

    if options.arm != EXAMPLE.arm:
        before.check_used(options, {"kink": EXAMPLE.kink}, f"of the arm {options.arm}")
    configuration = made(EXAMPLE, options)
    command.train_one(run, configuration, options, setting, ending=ending)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; see `command.main`."""
    return command.main(
        "empirical.normrelu",
        [command.Single("train", "train one arm", _add_train, _train)],
        argv,
        about="Train deep networks with NormReLU and its rivals.",
        named=NAMED,
    )


if __name__ == "__main__":
    sys.exit(main())
