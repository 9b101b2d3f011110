"""What the ledger's tests end with: counts, what is not green, what shows more."""

import textwrap
from collections.abc import Iterator, Sequence

from verify.report.rows import Told, summary

_TOLD = (
    ("bad", "red"),
    ("undecided", "undecided"),
    ("loose", "loose"),
    ("pending", "without a current record"),
)
"""Kinds of verdicts that are listed, and what they are called here."""


def closing(rows: Sequence[Told], *, width: int = 80) -> str:
    """Return the counts of some claims, those that are not green, and a command.

    Parameters
    ----------
    rows : sequence of Told
    width : int
        Columns; ids are broken into lines of so many.
    """
    lines = textwrap.wrap(summary(rows), width)
    for kind, name in _TOLD:
        lines += _listed([row for row in rows if row.kind == kind], kind, name, width)
    some = rows[0].id if rows else "dc/thm3.2"
    lines += [
        "python -m verify.report --no-run shows a line for each claim, and those",
        f"of one kind with --outcome KIND. python -m verify show {some} says all",
        "about one.",
    ]
    return "\n".join(lines) + "\n"


def _listed(these: Sequence[Told], kind: str, name: str, width: int) -> Iterator[str]:
    if not these:
        return
    if kind == "bad":
        for row in these:
            words = f"{name}: {row.id} ({row.verdict}) {row.title}"
            yield from textwrap.wrap(words, width, subsequent_indent="  ")
        return
    ids = " ".join(row.id for row in these)
    yield from textwrap.wrap(
        f"{name} ({len(these)}): {ids}",
        width,
        subsequent_indent="  ",
        break_on_hyphens=False,
        break_long_words=False,
    )
