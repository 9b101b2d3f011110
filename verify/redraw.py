"""Try claims on training with other draws: ``python -m verify.redraw [CLAIM...]``.

A verdict on a few networks may be that of their starts. Here their seeds are moved, with
all that depends on them, training is done anew, and each claim is judged as ever. The
records are kept apart from those of the report.
"""

import argparse
from collections.abc import Sequence

from empirical.testbed.ending import counted
from verify import command, ledger, paths
from verify.claim import Evidence, Profile
from verify.ledger import Entry
from verify.report import build

KEPT = "networks that are trained are kept"
"""What is said when it is interrupted."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line: 0, 1 if a claim could not be run, 2 on misuse, 130 Ctrl-C."""
    options = _parser().parse_args(argv)
    options.profile = Profile(options.profile)
    try:
        entries = trained(ledger.select(options.claims), options.profile)
    except ValueError as error:
        return command.refuse(error)
    return command.interruptible(lambda: _redrawn(entries, options), kept=KEPT)


def _redrawn(entries: Sequence[Entry], options: argparse.Namespace) -> int:
    found: dict[str, list[str]] = {e.claim.id: [] for e in entries}
    root = paths.folder_of(options.profile, options.records)
    for draw in range(1, options.draws + 1):
        folder = root / f"redraw-{draw}"
        if not command.run_with_progress(entries, folder, options, redraw=draw):
            return command.EXIT_RED
        for row in build(entries, folder, options.profile):
            found[row.claim.id].append(row.outcome)
    command.put(as_text(entries, found))
    errors = any("error" in outcomes for outcomes in found.values())
    return command.EXIT_RED if errors else command.EXIT_GREEN


def trained(
    entries: Sequence[Entry], profile: Profile = Profile.QUICK
) -> tuple[Entry, ...]:
    """Return those that look at networks whose seeds can be moved, in a profile.

    Raises
    ------
    ValueError
        If there are none.
    """
    found = tuple(
        e
        for e in entries
        if e.claim.evidence is Evidence.TREND
        and e.claim.cases_for(profile)
        and e.claim.runs is not None
    )
    if not found:
        named = ", ".join(e.claim.id for e in entries[:3])
        more = f" and {len(entries) - 3} more" if len(entries) > 3 else ""
        raise ValueError(
            "CLAIM must name a claim on networks trained for several claims, which none"
            f" is of {named}{more} in the profile {profile}. Try dc/fig, id, sl or mmd."
        )
    return found


def as_text(entries: Sequence[Entry], found: dict[str, list[str]]) -> str:
    """Return a line for each claim that is not as expected in every draw, and a count.

    Examples
    --------
    >>> entries = trained(ledger.select(["mmd/Fig2", "mmd/Fig2-chosen"]))
    >>> found = {"mmd/Fig2": ["holds", "undecided"], "mmd/Fig2-chosen": ["refuted"] * 2}
    >>> print(as_text(entries, found), end="")
    mmd/Fig2          expected holds    found holds, undecided
    1 of 2 claims as expected in every draw (2 draws)
    """
    lines: list[str] = []
    for claim in (e.claim for e in entries):
        outcomes = found[claim.id]
        if set(outcomes) != {claim.expected.value}:
            expected = f"expected {claim.expected.value:<8}"
            lines.append(f"{claim.id:<17} {expected} found {', '.join(outcomes)}")
    draws = max(map(len, found.values()))
    count = f"{len(entries) - len(lines)} of {counted(len(entries), 'claim')}"
    drawn = counted(draws, "draw")
    return "\n".join([*lines, f"{count} as expected in every draw ({drawn})", ""])


def _parser() -> argparse.ArgumentParser:
    what = "Run claims on training with networks of other seeds."
    parser = argparse.ArgumentParser(prog="python -m verify.redraw", description=what)
    parser.add_argument(
        "claims", nargs="*", metavar="CLAIM", help="claims on training; all by default"
    )
    command.add_count(parser, "--draws", 3, "redraws")
    command.add_common_options(parser)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
