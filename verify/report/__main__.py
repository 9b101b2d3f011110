"""``python -m verify.report``: run what has no current record, then render."""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from verify import command, index, ledger, paths
from verify.claim import Evidence, Profile
from verify.compare import Outcome
from verify.items import papers
from verify.report import as_json, as_markdown, as_text
from verify.report.rows import KINDS, NOT_RUN, STALE, Row, build

SUFFIXES = {
    "": "text",
    ".txt": "text",
    ".md": "markdown",
    ".html": "html",
    ".htm": "html",
    ".json": "json",
}
"""Ends of the report's file, and how it is then written unless an option says."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code.

    0: every claim is as expected; 1: some are not; 2: wrong usage; 130: interrupted;
    141: whoever read the output has closed it.
    """
    options = _parser().parse_args(argv)
    if options.format is None:
        suffix = "" if options.output is None else options.output.suffix.lower()
        if suffix not in SUFFIXES:
            ends = ", ".join(filter(None, SUFFIXES))
            return command.refuse(
                f"`--output` must end in one of {ends}, or `--format` say how the"
                f" report is written, but it is {options.output}"
            )
        options.format = SUFFIXES[suffix]
    if options.no_run:
        command.note_absent(options.records)
    options.profile = Profile(options.profile)
    folder = paths.folder_of(options.profile, options.records)
    try:
        with command.reading():
            found = ledger.select(options.claims, options.package)
        entries = _chosen(ledger.in_profile(found, options.profile), options)
    except ValueError as error:
        return command.refuse(error)
    if not entries:
        given = {n: getattr(options, n) for n in ("profile", "paper", "evidence")}
        asked = " ".join(f"--{name} {value}" for name, value in given.items() if value)
        return _nothing(" ".join((*options.claims, asked)), _there(found))
    return command.interruptible(
        lambda: _reported(entries, folder, options),
        kept="finished claims are kept, run again to resume",
    )


def _reported(
    entries: Sequence[ledger.Entry], folder: Path, options: argparse.Namespace
) -> int:
    if options.output is not None:
        command.check_output(options.output)
    ran = _run_missing(entries, folder, options)
    with command.reading():
        rows = build(entries, folder, options.profile)
    shown = [row for row in rows if options.outcome in (None, row.kind)]
    if not shown:
        found = Counter(row.kind for row in rows)
        there = ", ".join(f"{found[kind]} {kind}" for kind in KINDS if found[kind])
        return _nothing(f"--outcome {options.outcome}", there)
    command.deliver(_rendered(shown, folder, options), options.output)
    if options.output is not None:
        command.complain(
            f"report written to {options.output}, claims shown: {len(shown)};"
            f" records are in {folder}"
        )
    if not ran:
        return command.EXIT_RED
    return command.exit_code(rows, strict=options.strict)


def _nothing(asked: str, there: str) -> int:
    """Say that a selection matches no claim, and what there is instead."""
    return command.refuse(f"no claim is left by `{asked}`; there are: {there}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m verify.report",
        description="Run claims without a current record, and show all results.",
        epilog=command.EXITS,
    )
    parser.add_argument(
        "claims",
        nargs="*",
        metavar="CLAIM",
        help="ids, beginnings of ids, or papers (default: all)",
    )
    parser.add_argument(
        "--format",
        choices=("text", "markdown", "html", "json"),
        help="how the report is written (default: by the end of --output, else text)",
    )
    parser.add_argument(
        "--paper",
        choices=[p.prefix for p in papers()],
        help="only claims of this paper",
    )
    parser.add_argument(
        "--evidence",
        choices=[kind.name.lower() for kind in Evidence],
        help="only claims with this kind of evidence",
    )
    parser.add_argument(
        "--outcome",
        choices=tuple(KINDS),
        help="show only claims with this outcome: "
        + "; ".join(f"{kind}, {meaning}" for kind, meaning in KINDS.items()),
    )
    parser.add_argument(
        "--output",
        type=command.output,
        metavar="PATH",
        help="file of the report (default, and -: stdout)",
    )
    which = {
        "--rerun": "run all claims, even if their record is current",
        "--no-run": "show the existing records and run nothing",
    }
    command.add_switches(parser.add_mutually_exclusive_group(), which)
    strict = "count undecided, open, stale and missing claims as failures"
    command.add_switches(parser, {"--strict": strict})
    parser.add_argument(
        "--package", default=index.CLAIMS_PACKAGE, help=argparse.SUPPRESS
    )
    command.add_common_options(parser)
    return parser


def _chosen(
    entries: Sequence[ledger.Entry], options: argparse.Namespace
) -> list[ledger.Entry]:
    """Return the entries of the paper and the kind of evidence that are asked for."""
    return [
        entry
        for entry in entries
        if options.paper in (None, entry.claim.paper)
        and options.evidence in (None, entry.claim.evidence.name.lower())
    ]


def _there(entries: Sequence[ledger.Entry]) -> str:
    """Count the claims that were asked for by paper, and by kind of evidence."""
    kinds = Counter(
        kind
        for entry in entries
        for kind in (entry.claim.paper, entry.claim.evidence.name.lower())
    )
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items())


def _filtered(options: argparse.Namespace) -> bool:
    return any((options.paper, options.evidence, options.outcome))


def _run_missing(
    entries: Sequence[ledger.Entry], folder: Path, options: argparse.Namespace
) -> bool:
    if options.no_run:
        return True
    chosen = entries
    if not options.rerun:
        with command.reading():
            rows = build(entries, folder, options.profile)
        # What went wrong may go right: a full disk, memory, data that were not there.
        again = (NOT_RUN, STALE, Outcome.ERROR)
        pending = {r.claim.id for r in rows if r.outcome in again}
        chosen = [entry for entry in entries if entry.claim.id in pending]
    if not any(entry.claim.cases_for(options.profile) for entry in chosen):
        return True
    return command.run_with_progress(chosen, folder, options)


def _rendered(rows: Sequence[Row], folder: Path, options: argparse.Namespace) -> str:
    if options.format == "json":
        return as_json(rows) + "\n"
    if options.format == "markdown":
        return as_markdown(rows)
    if options.format == "html":
        from verify.figures.runs import beside, published
        from verify.report.html import as_html

        # Of `certify` are the claims alone that have cases of their own there.
        part = (
            options.claims or _filtered(options) or options.profile is Profile.CERTIFY
        )
        with command.reading("drawing the figures"):
            return as_html(
                rows,
                profile=options.profile,
                whole=not part,
                runs=beside(folder, options.profile.value),
                published=published(folder, options.profile.value),
                records=_seen_from(options.output, folder.parent),
            )
    colour = options.output is None and sys.stdout.isatty()
    return as_text(rows, width=command.columns(), colour=colour)


def _seen_from(output: Path | None, folder: Path) -> Path:
    """Return the way from a page to a folder."""
    here = Path.cwd() if output is None else output.parent
    return Path(os.path.relpath(folder, here))


if __name__ == "__main__":
    raise SystemExit(main())
