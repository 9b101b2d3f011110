"""Command line: train one network and look at it, or run the figures' batch."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from inspect import signature
from pathlib import Path
from typing import Any

from empirical.testbed import before, command
from empirical.testbed.ending import advised
from empirical.testbed.options import add_options, called, helping, made
from empirical.testbed.study import Setting

SKIPPED = (
    *("name", "figures", "settings", "rates", "network", "labels", "fault"),
    "image",
)

ADVICE = {
    "stalled": "the loss stayed near the first one; try a larger `--rate` or `--limit`"
}
"""What may help networks that ended so."""

NAMED = {"rates": "--rate", "shape": "--size"}
"""Options of parameters that are called otherwise."""


@cache
def _example() -> Any:
    """Return the configuration whose values are the defaults."""
    # Loaded here, as below: they load PyTorch.
    from empirical.identity_map.configuration import Configuration
    from empirical.identity_map.networks import copier
    from empirical.identity_map.scales import SHORT

    network = copier("cnn", shape=(1, 14, 14), layers=5, width=16)
    return Configuration(name="train", network=network, recipe=SHORT, labels=((7,),))


def _add_train(parser: argparse.ArgumentParser) -> None:
    from empirical.identity_map.networks import copier

    add_options(parser, _example(), skip=SKIPPED)
    network = parser.add_argument_group("network")
    usual = partial(copier, kind="cnn", layers=5)
    add_options(network, usual, skip=("shape", "width"))
    text = "units or channels (default: 16 channels, or as many units as pixels)"
    network.add_argument("--width", type=int, metavar="N", help=text)
    text = helping("edge of the images", 14)
    parser.add_argument("--size", type=int, metavar="N", default=14, help=text)
    text = helping("train on one example of each of these classes", 7)
    parser.add_argument(
        "--labels", nargs="+", type=int, metavar="N", default=[7], help=text
    )
    text = "train on this picture instead, scaled to the network's size"
    parser.add_argument("--image", metavar="FILE", default="", help=text)
    text = "draw what the first network makes of pictures to this file"
    parser.add_argument("--pictures", type=Path, metavar="FILE", help=text)
    command.add_files(parser)


def _check(options: argparse.Namespace) -> None:
    """Refuse options that the others make useless."""
    from empirical.identity_map.networks import copier

    example = _example()
    if options.optimiser != "sgd":
        unused = {"momentum": example.recipe.momentum}
        before.check_used(options, unused, f"with `--optimiser {options.optimiser}`")
    if options.kind != "cnn":
        unused = {"kernel": signature(copier).parameters["kernel"].default}
        before.check_used(options, unused, f"with `--kind {options.kind}`")
    if options.image:
        unused = {"data": example.data, "skip": example.skip, "labels": [7]}
        before.check_used(options, unused, "with `--image`")


def _train(options: argparse.Namespace, setting: Setting) -> int:
    from empirical.identity_map.ending import ending
    from empirical.identity_map.images import own
    from empirical.identity_map.networks import copier
    from empirical.identity_map.shown import draw, panels
    from empirical.identity_map.study import trained_record

    _check(options)
    size, width = options.size, options.width
    if width is None and options.kind != "residual":
        width = 16 if options.kind == "cnn" else size**2
    channels = 3 if options.data in ("cifar10", "channelled") else 1
    if options.image:
        try:
            channels = own(options.image).shape[0]
        except (FileNotFoundError, ValueError) as error:
            wrong = str(error).removeprefix("own: ")
            raise ValueError(f"`--image` must be a picture, but {wrong}") from error
    if channels == size == 1:
        raise ValueError(
            "`--size` must be at least 2, as one pixel resembles every other, but it is 1"
        )
    configuration = made(
        _example(),
        options,
        network=called(copier, options, shape=(channels, size, size), width=width),
        labels=(tuple(options.labels),),
        image=options.image,
    )
    if options.pictures is not None or options.figure is not None:
        wanted = (*configuration.measurements, "predictions")
        configuration = replace(
            configuration, measurements=tuple(dict.fromkeys(wanted))
        )

    def run(configuration: Any, setting: Setting) -> tuple[Any, Any]:
        record, trained = trained_record(configuration, setting)
        if options.pictures is not None and panels(record):
            draw(record, options.pictures)
        return record, trained

    def told(record: Any) -> Any:
        found = advised(ending(record), record, ADVICE)
        if options.pictures is None:
            return found
        made = f"What the first network makes of pictures is in {options.pictures}."
        if not panels(record):
            made = "No pictures are drawn, for want of a network that makes any."
        return replace(found, said=(*found.said, made))

    trained = command.train_one(run, configuration, options, setting, ending=told)
    return 1 if "diverged" in trained.status else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; see `command.main`. Divergence in training is 1."""
    return command.main(
        "empirical.identity_map",
        [command.Single("train", "train one network", _add_train, _train)],
        argv,
        about="Train networks to copy images, and show what they learnt.",
        named=NAMED,
    )


if __name__ == "__main__":
    sys.exit(main())
