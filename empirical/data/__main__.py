"""Command line: ``python -m empirical.data fetch mnist``, ``... show mnist``."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from empirical.data.fetch import fetch
from empirical.data.sources import NAMES, load
from empirical.testbed.command import guarded
from empirical.testbed.options import spoken


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m empirical.data",
        description="Fetch data sets, or show what load() finds.",
        epilog="DEEP_LEDGER_DATA, where set, is the default of --data-folder.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for command, text in (
        ("fetch", "download and verify a data set"),
        ("show", "print source, size and digest of what is found"),
    ):
        one = commands.add_parser(command, help=text, description=text)
        one.add_argument("name", choices=NAMES)
        one.add_argument(
            "--data-folder",
            type=Path,
            metavar="FOLDER",
            help="folder that takes the files (default: the user's cache)",
        )
        if command == "show":
            one.add_argument("--split", choices=("train", "test"), default="train")
            one.add_argument("--allow-unverified", action="store_true")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; 0 when all went well, 1 when not, 130 on Ctrl-C.

    141 when whoever read the output has closed it.
    """
    options = _parser().parse_args(argv)
    named = os.environ.get("DEEP_LEDGER_DATA")
    directory = options.data_folder or (Path(named) if named else None)

    def run() -> int:
        if options.command == "fetch":
            told = partial(print, file=sys.stderr)
            fetch(options.name, directory=directory, progress=told)
        found = load(
            options.name,
            getattr(options, "split", "train"),
            directory=directory,
            allow_unverified=getattr(options, "allow_unverified", False),
        )
        sys.stdout.write(json.dumps(found.describe(), indent=1) + "\n")
        return 0

    code = guarded(run, lambda told: spoken(told, options))
    # A file that is not what was published is no misuse.
    return 1 if code == 2 else code


if __name__ == "__main__":
    sys.exit(main())
