"""Command line: one experiment; what came out, in sentences."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from inspect import signature

from empirical.declared import check_arguments
from empirical.testbed import before, command
from empirical.testbed.ending import finish
from empirical.testbed.options import add_options
from empirical.testbed.study import Setting

SKIPPED = ("device", "directory")
"""Arguments that a setting gives."""

ABOUT = {
    "depth": "Condition numbers of the kernels against depth.",
    "width": "Mean kernels and their spread against width.",
    "norms": "Lengths and cosine of two non-unit inputs at every layer of drawn networks.",
    "chain": "Correlation of two inputs through random deep networks of fixed width.",
    "train": "Gradient descent on random signs: loss curves, rates and condition numbers.",
    "digits": (
        "Minimum-norm interpolation of digits with kernels averaged over drawn networks."
    ),
}
"""What the experiments say of themselves; there without loading them."""

HELP = {
    "activation": "Activation, standardised; any that empirical.conditioning.named knows.",
    "chains": "Independent networks.",
    "data": (
        "Inputs: points of the paper's Assumption A or B, on an arc, or handwritten"
        " digits."
    ),
    "delta": "Separation of the inputs (a, arc), or their smallest eigenvalue (b).",
    "depth": "Hidden layers.",
    "depths": "Numbers of hidden layers, increasing.",
    "draws": "Independent networks.",
    "every": "Steps from one recorded loss to the next.",
    "layers": "Train the top layer, or all.",
    "n": "Training inputs.",
    "noise": "Standard deviation of noise on the targets.",
    "rho": "Correlation of the two inputs.",
    "seed": "Seed of all random numbers.",
    "squared_norms": "Squared norms of the two inputs.",
    "steps": "Steps of gradient descent.",
    "tangent": "Measure tangent kernels too.",
    "tests": "Test inputs.",
    "units": (
        "Draw the units' values instead of the weights, which makes wide and deep"
        " networks cheap."
    ),
    "width": "Units of every hidden layer.",
    "widths": "Numbers of units of every hidden layer.",
}
"""What the arguments of the experiments mean, in all of them the same."""

MOST = 2**30
"""Of more inputs no kernel, which has 8 bytes for each pair of them, has an address."""

NAMED = {"name": "--activation", "m": "--tests"}
"""Options of parameters that are called otherwise."""


def _add(kind: str, parser: argparse.ArgumentParser) -> None:
    # Loaded here, as below: they load PyTorch.
    from empirical.conditioning.experiments import EXPERIMENTS

    add_options(parser, EXPERIMENTS[kind], skip=SKIPPED, said=HELP)
    command.add_output(parser)


def _check(options: argparse.Namespace) -> None:
    """Refuse numbers of things that there must be, and what the others make useless."""
    from empirical.conditioning.experiments import EXPERIMENTS

    check_arguments(options.command, EXPERIMENTS[options.command], vars(options))
    if getattr(options, "n", 0) >= MOST:
        raise ValueError(f"`--n` must be below 2^30, but it is {options.n}")
    if getattr(options, "data", None) == "digits":
        separation = signature(EXPERIMENTS[options.command]).parameters["delta"].default
        before.check_used(options, {"delta": separation}, "with `--data digits`")
    widths = getattr(options, "widths", ())
    if len(set(widths)) < len(widths):
        raise ValueError(
            "`--widths` must differ from each other, but they are"
            f" {' '.join(map(str, widths))}"
        )
    squared = getattr(options, "squared_norms", (1.0, 1.0))
    if len(squared) != 2:
        raise ValueError(
            "`--squared-norms` must be two numbers, one for each input, but it is"
            f" {' '.join(f'{each:g}' for each in squared) or 'none'}"
        )


def _run(kind: str, options: argparse.Namespace, setting: Setting) -> int:
    from empirical.conditioning.ending import ending
    from empirical.conditioning.experiments import EXPERIMENTS, recorded

    before.check_outputs(output=options.output, figure=options.figure)
    _check(options)
    names = signature(EXPERIMENTS[kind]).parameters.keys() - set(SKIPPED)
    arguments = {n: v for n, v in vars(options).items() if n in names}
    run = partial(recorded, kind, arguments, setting)
    # It has no pauses: there is nothing to wait for.
    record = command.alone(run, kind, options.minutes, resumes=False, grace=0.0)
    shown = ending(record, kind)
    finish(record, shown, output=options.output, figure=options.figure)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; see `command.main`."""
    singles = [
        command.Single(
            kind, about, partial(_add, kind), partial(_run, kind), resumes=False
        )
        for kind, about in ABOUT.items()
    ]
    return command.main(
        "empirical.conditioning",
        singles,
        argv,
        about="Measure networks of finite width.",
        batch=False,
        named=NAMED,
    )


if __name__ == "__main__":
    sys.exit(main())
