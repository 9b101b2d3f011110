"""``python -m verify list | run CLAIM... | show CLAIM | remeasure``."""

import argparse
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from verify import command, index, paths
from verify.selecting import named, order

if TYPE_CHECKING:
    from verify.claim import Profile
    from verify.ledger import Entry


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code (see `verify.report`)."""
    options = _parser().parse_args(argv)
    if options.action != "list":
        return _run_or_show(options)
    try:
        command.put("".join(f"{each}\n" for each in _listed(options)))
    except ValueError as error:
        return command.refuse(error)
    except BrokenPipeError:
        return command.EXIT_PIPE
    except OSError as error:
        command.complain(f"error: {error}")
        return command.EXIT_RED
    return command.EXIT_GREEN


def _listed(options: argparse.Namespace) -> list[index.Listed]:
    """Return what the index says of the claims that are asked for."""
    known = {each.id: each for each in index.listed(options.package)}
    wanted = {name for s in options.claims for name in named(s, [*known])}
    chosen = wanted if options.claims else known
    return [known[name] for name in sorted(chosen, key=order)]


def _run_or_show(options: argparse.Namespace) -> int:
    # Loaded here: claims take seconds, which `list` and `--help` should not.
    from verify import ledger
    from verify.claim import Profile

    if options.action != "run":
        command.note_absent(options.records)
    try:
        with command.reading():
            entries = ledger.select(options.claims, options.package)
    except ValueError as error:
        return command.refuse(error)
    if options.action == "remeasure":
        return command.interruptible(
            lambda: _remeasured(entries, options.records, renew=options.renew),
            kept="records that said the same again are kept"
            if options.renew
            else "nothing is written",
        )
    profile = Profile(options.profile)
    entries = ledger.in_profile(entries, profile)
    if not entries:
        return command.refuse(
            f"no claim is left by `{' '.join(options.claims)} --profile {profile}`:"
            " none of those asked for has cases there, only interval certificates"
            " with wider boxes do"
        )
    return command.interruptible(
        lambda: _shown(entries, profile, options), kept="finished claims are kept"
    )


def _shown(
    entries: "Sequence[Entry]", profile: "Profile", options: argparse.Namespace
) -> int:
    from verify.report import as_text, build
    from verify.report.rows import summary
    from verify.report.shown import describe

    folder = paths.folder_of(profile, options.records)
    ran, width = True, command.columns()
    if options.action == "run":
        done = set[str]()
        ran = command.run_with_progress(entries, folder, options, done=done)
        # An earlier record is not what was found now.
        entries = [
            e for e in entries if e.claim.id in done or not e.claim.cases_for(profile)
        ]
        if not entries:
            return command.EXIT_RED
        command.complain(f"records are in {folder}")
    rows = build(entries, folder, profile)
    if options.action == "show":
        each = [describe(row, folder.parent, width=width) for row in rows]
        counted = [textwrap.fill(summary(rows), width) + "\n"] if len(rows) > 1 else []
        command.put("\n".join((*each, *counted)))
    else:
        command.put(as_text(rows, width=width, colour=sys.stdout.isatty()))
    return command.exit_code(rows) if ran else command.EXIT_RED


def _remeasured(entries: "Sequence[Entry]", root: Path, *, renew: bool) -> int:
    """Say of each published record whether its networks still show what it says."""
    from verify import records, remeasure

    told: list[remeasure.Again] = []
    try:
        for entry, profile, record in remeasure.published(entries, root):
            again = remeasure.remeasured(entry, profile, record, root)
            if renew:
                remeasure.renew(again, record, root)
            told.append(again)
            command.put(f"{again}\n")
    except records.RecordError as error:
        command.complain(str(error))
        return command.EXIT_RED
    if not told:
        asked = "any claim" if len(entries) != 1 else entries[0].claim.id
        return command.refuse(f"no record of {asked} is published below {root}")
    same = sum(each.same for each in told)
    command.put(
        f"{same} of {len(told)} published records are what was measured again\n"
    )
    return command.EXIT_GREEN if same == len(told) else command.EXIT_RED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m verify",
        description="List, run and explain claims.",
        epilog="Each has a --help of its own. python -m verify.report shows the results"
        " of all claims, python -m verify.figures draws them.",
    )
    actions = parser.add_subparsers(dest="action", required=True)
    for name, what, number in (
        ("list", "list claims by id, with their titles", "*"),
        (
            "run",
            "run claims, whether or not they are current, and show the outcome",
            "+",
        ),
        ("show", "say what a claim states, how it is tested, and the outcome", "+"),
        (
            "remeasure",
            "measure published claims again, from the networks beside their records",
            "*",
        ),
    ):
        said = f"{what[0].upper()}{what[1:]}."
        end = command.EXITS if name != "list" else None
        action = actions.add_parser(name, help=what, description=said, epilog=end)
        text = "ids (dc/thm3.2), beginnings of ids (dc/thm) or papers (dc)"
        action.add_argument("claims", nargs=number, metavar="CLAIM", help=text)
        action.add_argument(
            "--package", default=index.CLAIMS_PACKAGE, help=argparse.SUPPRESS
        )
        # The list is of what there is, and what is shown is not run.
        if name == "show":
            command.add_place_options(action)
        elif name == "run":
            command.add_common_options(action)
        elif name == "remeasure":
            command.add_records_option(action)
            text = "write what says the same again, as measured by the present code"
            action.add_argument("--renew", action="store_true", help=text)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
