"""Command line: train one stack and say what came out, or run the figures' batch."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from inspect import signature
from typing import Any

from empirical.checks import check_positive
from empirical.testbed import before, command
from empirical.testbed.ending import advised
from empirical.testbed.options import add_options, called, made
from empirical.testbed.study import Setting

_SMALLER = "try a smaller `--rate` or `--weight-decay`"

ADVICE = {
    "dead": f"the output is zero on every example; {_SMALLER}",
    "one-class": f"the output is zero on most examples of a class; {_SMALLER}",
}
"""What may help networks that ended so."""


@cache
def _example() -> Any:
    """Return the configuration whose values are the defaults."""
    # Loaded here, as below: they load PyTorch.
    from empirical.square_loss.classifiers import classifier
    from empirical.square_loss.experiments import Configuration, input_shape
    from empirical.square_loss.recipes import Recipe

    shape = input_shape("mnist", None, flat=True)
    return Configuration(
        name="train",
        network=classifier("bn", shape=shape, widths=(32, 32, 32)),
        recipe=Recipe(epochs=1000),
        per_class=150,
        side=None,
        scales=(0.1, 1.0, 5.0),
    )


def _add_train(parser: argparse.ArgumentParser) -> None:
    from empirical.square_loss.classifiers import classifier

    add_options(parser, _example(), skip=("name", "figures", "network"))
    network = parser.add_argument_group("network")
    usual = partial(classifier, family="bn", widths=(32, 32, 32))
    add_options(network, usual, skip=("shape", "outputs"))
    text = "convolutions instead of matrices; --widths are channels"
    network.add_argument("--conv", action="store_true", help=text)
    command.add_files(parser)


def _check(options: argparse.Namespace) -> None:
    """Refuse options that mean nothing, or nothing with the others."""
    from empirical.square_loss.classifiers import classifier

    defaults = {n: p.default for n, p in signature(classifier).parameters.items()}
    if options.conv:
        unused = {"constant": _example().constant}
        before.check_used(options, unused, "with `--conv`")
    else:
        unused = {name: defaults[name] for name in ("kernel", "stride")}
        before.check_used(options, unused, "without `--conv`")
        if options.constant is None:
            raise ValueError(
                "`--constant` must be a number without `--conv`, but it is none; 0 is as"
                " good"
            )
    if options.family.startswith("bn"):
        check_positive("train", eps=options.eps)
    else:
        before.check_used(
            options, {"eps": defaults["eps"]}, f"with `--family {options.family}`"
        )
    if len(options.labels) < 2:
        raise ValueError(
            "`--labels` must name two classes or more, but they are"
            f" {' '.join(map(str, options.labels)) or 'none'}"
        )


def _train(options: argparse.Namespace, setting: Setting) -> int:
    from empirical.square_loss.classifiers import classifier
    from empirical.square_loss.ending import ending
    from empirical.square_loss.experiments import input_shape
    from empirical.square_loss.study import trained_record

    _check(options)
    outputs = 1 if len(options.labels) == 2 else len(options.labels)
    shape = input_shape(options.data, options.side, flat=not options.conv)
    configuration = made(
        _example(),
        options,
        network=called(classifier, options, shape=shape, outputs=outputs),
        constant=None if options.conv else options.constant,
    )
    trained = command.train_one(
        trained_record,
        configuration,
        options,
        setting,
        ending=lambda record: advised(ending(record), record, ADVICE),
    )
    return 1 if {"diverged", "dead"} & set(trained.status) else 0


def _add_batch(parser: argparse.ArgumentParser) -> None:
    text = "fewer examples of each class than the scale's"
    parser.add_argument("--per-class", type=int, metavar="N", help=text)


def _fewer(configuration: Any, options: argparse.Namespace) -> Any:
    given, wanted = configuration.per_class, options.per_class
    if wanted is None:
        return configuration
    if wanted < 1:
        raise ValueError(f"`--per-class` must be at least 1, but it is {wanted}")
    return replace(configuration, per_class=min(wanted, given))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; see `command.main`. Divergence in training is 1."""
    return command.main(
        "empirical.square_loss",
        [command.Single("train", "train one stack", _add_train, _train)],
        argv,
        about="Train classifiers with the square loss.",
        changed=_fewer,
        add=_add_batch,
    )


if __name__ == "__main__":
    sys.exit(main())
