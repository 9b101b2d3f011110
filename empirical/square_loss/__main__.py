"""Command line: train one stack and print its record, or run the figures' batch."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

from empirical.square_loss.experiments import Configuration, input_shape
from empirical.square_loss.networks import FAMILIES, classifier
from empirical.square_loss.recipes import Recipe
from empirical.square_loss.study import STUDY, trained_record
from empirical.testbed import command
from empirical.testbed.options import add_options, made
from empirical.testbed.study import Setting

EXAMPLE = Configuration(
    name="train",
    network=classifier(
        "bn", shape=input_shape("mnist", None, flat=True), widths=(32, 32, 32)
    ),
    recipe=Recipe(epochs=1000),
    per_class=150,
    side=None,
    scales=(0.1, 1.0, 5.0),
)


def _add_train(parser: argparse.ArgumentParser) -> None:
    add_options(parser, EXAMPLE, skip=("name", "figures", "network"))
    network = parser.add_argument_group("network")
    network.add_argument("--family", choices=FAMILIES, default="bn", help="default: bn")
    text = "hidden units, one a layer; default: 32 32 32"
    network.add_argument(
        "--widths", nargs="*", type=int, default=[32, 32, 32], help=text
    )
    add_options(network, classifier, skip=("family", "shape", "widths", "outputs"))
    text = "convolutions instead of matrices; --widths are channels"
    network.add_argument("--conv", action="store_true", help=text)
    command.add_files(parser)


def _train(options: argparse.Namespace, setting: Setting) -> int:
    outputs = 1 if len(options.labels) == 2 else len(options.labels)
    shape = input_shape(options.data, options.side, flat=not options.conv)
    configuration = made(
        EXAMPLE,
        options,
        network=classifier(
            options.family,
            shape=shape,
            widths=tuple(options.widths),
            outputs=outputs,
            kernel=options.kernel,
            stride=options.stride,
            eps=options.eps,
        ),
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
