"""Command line: train one network and look at it, or run the figures' batch."""

import argparse
import sys
from collections.abc import Sequence

from empirical.identity_map.experiments import Configuration
from empirical.identity_map.networks import Network
from empirical.identity_map.scales import SHORT
from empirical.identity_map.study import STUDY, trained_record
from empirical.testbed import command
from empirical.testbed.options import add_options, made
from empirical.testbed.study import Setting

EXAMPLE = Configuration(
    name="train",
    network=Network(kind="cnn", shape=(1, 14, 14), layers=5, width=16, kernel=5),
    recipe=SHORT,
    labels=((7,),),
)

SKIPPED = ("name", "figures", "settings", "rates", "shape", "labels", "width")


def _add_train(parser: argparse.ArgumentParser) -> None:
    add_options(parser, EXAMPLE, skip=SKIPPED)
    text = "units or channels; default: 16 channels, or as many units as pixels"
    parser.add_argument("--width", type=int, help=text)
    text = "edge of the images; default: 14"
    parser.add_argument("--size", type=int, default=14, help=text)
    text = "train on one example of each of these classes; default: 7"
    parser.add_argument("--labels", nargs="+", type=int, default=[7], help=text)
    command.add_files(parser)


def _train(options: argparse.Namespace, setting: Setting) -> int:
    size, width = options.size, options.width
    if width is None and options.kind != "residual":
        width = 16 if options.kind == "cnn" else size**2
    channels = 3 if options.data in ("cifar10", "channelled") else 1
    configuration = made(
        EXAMPLE,
        options,
        network=made(
            EXAMPLE.network, options, shape=(channels, size, size), width=width
        ),
        labels=(tuple(options.labels),),
    )
    trained = command.train_one(trained_record, configuration, options, setting)
    return 1 if "diverged" in trained.status else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; see `command.main`. Divergence in training is 1."""
    return command.main(
        STUDY,
        [command.Single("train", "train one network", _add_train, _train)],
        argv,
        about="Train networks to copy images, and show what they learnt.",
    )


if __name__ == "__main__":
    sys.exit(main())
