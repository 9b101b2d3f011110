"""``python -m verify list | run CLAIM... | show CLAIM``."""

import argparse
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from verify import calibrated, command, index, paths, references
from verify.selecting import named, order

if TYPE_CHECKING:
    from verify.claim import Claim, Profile
    from verify.ledger import Entry


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code (see `verify.report`)."""
    options = _parser().parse_args(argv)
    if options.action != "list":
        return _run_or_show(options)
    try:
        command.put("".join(f"{each}\n" for each in _listed(options)))
    except ValueError as error:
        command.complain(f"error: {error}")
        return command.EXIT_USAGE
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

    try:
        with command.reading():
            entries = ledger.select(options.claims, options.package)
    except ValueError as error:
        command.complain(f"error: {error}")
        return command.EXIT_USAGE
    profile = Profile(options.profile)
    found, entries = entries, ledger.in_profile(entries, profile)
    if not entries:
        command.complain(
            f"error: no claim is left by `{' '.join(options.claims)} --profile {profile}`:"
            f" the {len(found)} asked for have no cases there, only interval certificates"
            " with wider boxes do"
        )
        return command.EXIT_USAGE
    return command.interruptible(
        lambda: _shown(entries, profile, options), kept="finished claims are kept"
    )


def _shown(
    entries: "Sequence[Entry]", profile: "Profile", options: argparse.Namespace
) -> int:
    from verify.report import as_text, build

    folder = paths.folder_of(profile, options.records)
    ran = True
    if options.action == "run":
        ran = command.run_with_progress(
            entries,
            profile=profile,
            folder=folder,
            workers=options.workers,
            scheduler=options.scheduler,
        )
        command.complain(f"records are in {folder}")
    rows = build(entries, folder, profile)
    if options.action == "show":
        command.put("\n".join(describe(e.claim) for e in entries))
    colour, width = sys.stdout.isatty(), shutil.get_terminal_size().columns
    command.put(as_text(rows, width=width, colour=colour))
    return command.exit_code(rows) if ran else command.EXIT_RED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m verify", description="List, run and explain claims."
    )
    actions = parser.add_subparsers(dest="action", required=True)
    for name, what, number in (
        ("list", "list claims", "*"),
        (
            "run",
            "run claims, whether or not they are current, and show the outcome",
            "+",
        ),
        ("show", "say what a claim states, how it is tested, and the outcome", "+"),
    ):
        action = actions.add_parser(name, help=what, description=what)
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
    return parser


def describe(claim: "Claim") -> str:
    """Return what a claim states, and on what it rests, as plain text."""
    # Loaded here: `list` and `--help` do without.
    from verify.report import functions
    from verify.report.plain import formula

    lines = [
        f"{claim.id}  {claim.title}",
        f"  {formula(claim.statement)}",
        *(f"  assuming {assumption}" for assumption in claim.assumptions),
        f"  source: {references.full_citation(claim.source.key)} {claim.source.where}.",
        f"  statement: {claim.reading.value}, {claim.reading.meaning}",
        f"  covers: {', '.join(claim.items)}",
    ]
    if claim.uses:
        lines.append(f"  rests on: {', '.join(claim.uses)}")
    if claim.finding:
        lines.append(f"  finding: {claim.finding}")
    if drawn := calibrated.redrawn(claim.id):
        lines.append(f"  redrawn: {', '.join(drawn)}")
    if claim.compare is None:
        return "\n".join([*lines, f"  open: {claim.open_reason}", ""])
    kind = claim.evidence
    caught, words = functions.control(claim)
    lines += [
        f"  evidence: {kind.value}; holds means: {kind.meaning}",
        f"  expected: {claim.expected.value}",
        f"  refuted if: {claim.compare.criterion()}",
        f"  {caught}: {words}",
        *(f"  {name}: {place}" for name, place in functions.places(claim).items()),
        f"  run only this: {functions.again(claim)}",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
