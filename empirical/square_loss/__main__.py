"""Command line: train one stack and print its record, or run the figures' batch."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

from empirical.square_loss.experiments import Configuration, input_shape
from empirical.square_loss.networks import Network
from empirical.square_loss.recipes import Recipe
from empirical.square_loss.study import STUDY, trained_record
from empirical.testbed import command
from empirical.testbed.options import add_options, made
from empirical.testbed.study import Setting

EXAMPLE = Configuration(
    name="train",
    network=Network(
        family="bn",
        shape=input_shape("mnist", None, flat=True),
        widths=(32, 32, 32),
    ),
    recipe=Recipe(epochs=1000),
    per_class=150,
    side=None,
    scales=(0.1, 1.0, 5.0),
)


def _add_train(parser: argparse.ArgumentParser) -> None:
    add_options(parser, EXAMPLE, skip=("name", "figures", "shape", "outputs"))
    text = "convolutions instead of matrices; --widths are channels"
    parser.add_argument("--conv", action="store_true", help=text)
    command.add_files(parser)


def _train(options: argparse.Namespace, setting: Setting) -> int:
    outputs = 1 if len(options.labels) == 2 else len(options.labels)
    shape = input_shape(options.data, options.side, flat=not options.conv)
    configuration = made(
        EXAMPLE,
        options,
        network=made(EXAMPLE.network, options, shape=shape, outputs=outputs),
        constant=None if options.conv else options.constant,
    )
    trained = command.train_one(trained_record, configuration, options, setting)
    return 0 if set(trained.status) == {"finished"} else 1


def _add_batch(parser: argparse.ArgumentParser) -> None:
    text = "fewer examples of each class than the scale's"
    parser.add_argument("--per-class", type=int, help=text)


def _fewer(configuration: Configuration, options: argparse.Namespace) -> Configuration:
    given = configuration.per_class
    return replace(configuration, per_class=min(options.per_class or given, given))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; see `command.main`. Divergence in training is 1."""
    return command.main(
        STUDY,
        [command.Single("train", "train one stack", _add_train, _train)],
        argv,
        about="Train classifiers with the square loss; results are JSON.",
        changed=_fewer,
        add=_add_batch,
    )


if __name__ == "__main__":
    sys.exit(main())
