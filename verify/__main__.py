"""``python -m verify list | run CLAIM... | show CLAIM``."""

import argparse
import functools
import inspect
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from verify import command, index, paths, references
from verify.selecting import named, order

if TYPE_CHECKING:
    from verify.claim import Claim


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code (see `verify.report`)."""
    options = _parser().parse_args(argv)
    if options.action != "list":
        return _run_or_show(options)
    try:
        lines = [f"{each}\n" for each in _listed(options)]
    except ValueError as error:
        command.complain(str(error))
        return command.EXIT_USAGE
    sys.stdout.write("".join(lines))
    return command.EXIT_GREEN


def _listed(options: argparse.Namespace) -> list[index.Listed]:
    """Return what the index says of the claims that are asked for."""
    known = {each.id: each for each in index.listed(options.package)}
    wanted = {name for s in options.claims for name in named(s, [*known])}
    chosen = wanted if options.claims else known
    return [known[name] for name in sorted(chosen, key=order)]


def _run_or_show(options: argparse.Namespace) -> int:
    # Loaded here: claims take seconds, which `list` and `--help` should not.
    from empirical.testbed.signals import Ended
    from verify import ledger
    from verify.claim import Profile
    from verify.report import as_text, build

    try:
        entries = ledger.select(options.claims, options.package)
    except ValueError as error:
        command.complain(str(error))
        return command.EXIT_USAGE
    profile = Profile(options.profile)
    folder = paths.folder_of(profile, options.records)
    try:
        ran = True
        if options.action == "run":
            ran = command.run_with_progress(
                entries,
                profile=profile,
                folder=folder,
                workers=options.workers,
                scheduler=options.scheduler,
            )
        rows = build(entries, folder, profile)
    except Ended as ended:
        command.complain("interrupted; finished claims are kept")
        return ended.exit_code
    except KeyboardInterrupt:
        command.complain("interrupted; finished claims are kept")
        return command.EXIT_INTERRUPTED
    if options.action == "show":
        sys.stdout.write("\n".join(describe(e.claim) for e in entries) + "\n")
    colour, width = sys.stdout.isatty(), shutil.get_terminal_size().columns
    sys.stdout.write(as_text(rows, width=width, colour=colour))
    return command.exit_code(rows) if ran else command.EXIT_RED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m verify", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    for name, what, number in (
        ("list", "list claims", "*"),
        ("run", "run claims, current or not, and show what was found", "+"),
        ("show", "say what a claim states and what was found", "+"),
    ):
        action = actions.add_parser(name, help=what, description=what)
        action.add_argument("claims", nargs=number, metavar="CLAIM")
        action.add_argument(
            "--package", default=index.CLAIMS_PACKAGE, help=argparse.SUPPRESS
        )
        command.add_common_options(action)
    return parser


def describe(claim: "Claim") -> str:
    """Return what a claim states, and on what it rests, as plain text."""
    # Loaded here: it takes a moment.
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
    if claim.compare is None:
        return "\n".join([*lines, f"  open: {claim.open_reason}", ""])
    kind = claim.evidence
    lines += [
        f"  evidence: {kind.value}; holds means: {kind.meaning}",
        f"  expected: {claim.expected.value}",
        f"  refuted if: {claim.compare.criterion()}",
        *_parts(claim),
        f"  run only this: python -m verify run {claim.id}",
        "",
    ]
    return "\n".join(lines)


def _parts(claim: "Claim") -> list[str]:
    """Return the functions of a claim, and where they stand."""
    from empirical.digest import ROOT

    lines: list[str] = []
    for name in ("predict", "measure", "must_refute", "must_hold", "examples", "runs"):
        function = getattr(claim, name)
        if function is None:
            continue
        bound = ""
        if isinstance(function, functools.partial):
            settled = [*function.args, *function.keywords.values()]
            bound = f", of {', '.join(_named(each) for each in settled)}"
            function = function.func
        code = inspect.unwrap(function).__code__
        file = Path(code.co_filename)
        place = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
        lines.append(
            f"  {name}: {function.__qualname__}{bound} ({place}:{code.co_firstlineno})"
        )
    return lines


def _named(value: object) -> str:
    name = getattr(value, "__qualname__", repr(value))
    return name if len(name) < 60 else f"{name[:57]}..."


if __name__ == "__main__":
    raise SystemExit(main())
