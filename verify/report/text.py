"""The report as a terminal table and as Markdown."""

import io
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from verify import references
from verify.claim import FAULTS
from verify.compare import Outcome
from verify.report import functions, numbers
from verify.report import rows as values
from verify.report.rows import Row

_STYLES = {
    "holds": "green",
    "holds, loosely": "green",
    **dict.fromkeys(FAULTS, "cyan"),
    "open": "dim",
    "stale": "yellow",
    "not run": "yellow",
}
_COLUMNS = (
    *("claim", "title", "evidence", "predicted", "measured"),
    *("gap", "resolves", "outcome", "source"),
)
_NUMBERS = ("predicted", "measured", "gap", "resolves", "s")
WIDE = 120
"""From so many columns on a line says what was predicted and measured, too."""
_EXPECTED = f", expected: {Outcome.HOLDS.value}"
_NAME = 18
"""Columns for a claim's name where lines are short."""


def as_text(rows: Sequence[Row], *, width: int, colour: bool) -> str:
    """Return unsettled claims, a line a claim by paper and chapter, and the counts.

    Parameters
    ----------
    width : int
        Columns; from 120 on the predicted and measured values of the worst case, the gap
        and what it resolves are shown too.
    colour : bool
        Whether to write ANSI colours.
    """
    target = io.StringIO()
    console = Console(
        file=target, width=width, force_terminal=colour, no_color=not colour
    )
    for row in rows:
        if not row.settled and (row.remark or row.outcome != values.NOT_RUN):
            console.print(Text(f"{row.claim.id}: {row.verdict}", style="bold"))
            for line in (row.claim.title, *reasons(row)):
                console.print(Padding(Text(line), (0, 0, 0, 2)))
    console.print(_table(rows, width=width))
    console.print(_evidence_table(rows, width=width))
    console.print(Text(values.summary(rows), style="bold"))
    # A table pads its lines to the full width; files and diffs are better without.
    return "\n".join(line.rstrip() for line in target.getvalue().splitlines()) + "\n"


def _table(rows: Sequence[Row], *, width: int) -> Table:
    wide = width >= WIDE
    lines = {row.claim.id: _line(row, wide=wide) for row in rows}
    names = ("claim", "title", *(_NUMBERS if wide else ()), "outcome")
    if not wide:
        # Few names are long: on their lines the title has less room, not on all. What
        # was expected of the unsettled stands above the table.
        names = (f"{'claim':{_NAME}} title", "outcome")
        lines = {
            name: [f"{claim:{_NAME}} {title}", verdict.replace(_EXPECTED, "")]
            for name, (claim, title, verdict) in lines.items()
        }
    cells = [names, *lines.values()]
    widths = [max(len(each) for each in column) for column in zip(*cells, strict=True)]
    # The title has what the others leave.
    at = 1 if wide else 0
    left = width - sum(widths) + widths[at] - 3 * len(names)
    widths[at] = max(12, min(widths[at], left))
    table = Table(box=box.SIMPLE_HEAD, expand=False, pad_edge=False)
    for name, size in zip(names, widths, strict=True):
        table.add_column(
            name,
            justify="right" if name in _NUMBERS else "left",
            width=size,
            no_wrap=True,
            overflow="ellipsis",
        )
    for paper, chapter, these in values.chapters(rows):
        table.add_section()
        above = (paper.prefix, chapter)
        table.add_row(
            *(above if wide else (f"{paper.prefix:{_NAME}} {chapter}",)),
            style="bold dim",
        )
        for row in these:
            *start, verdict = lines[row.claim.id]
            style = _STYLES.get(row.verdict, "bold red")
            if style == "green" and row.besides:
                style = "yellow"
            table.add_row(*start, Text(verdict, style=style))
    return table


def _line(row: Row, *, wide: bool) -> list[str]:
    seconds = f"{row.record.seconds:.1f}" if row.record else ""
    each = (
        *(numbers.predicted_text(row, 4), numbers.measured_text(row, 4)),
        *(numbers.gap_text(row), numbers.resolves_text(row), seconds),
    )
    return [row.claim.id, row.claim.title, *(each if wide else ()), row.said]


def explain(row: Row) -> str:
    """Say in words why a row is not green."""
    return "\n  ".join(
        [f"{row.claim.id}: {row.verdict}", row.claim.title, *reasons(row)]
    )


def reasons(row: Row) -> list[str]:
    """Return why a row is not green, in words, a line each."""
    found = [row.remark] if row.remark else []
    worst = row.worst
    if worst is None:
        return found
    case = ", ".join(f"{key} = {value}" for key, value in worst.case.items())
    if worst.error:
        found += worst.error.strip().splitlines()
    else:
        found.append(
            f"expected {numbers.predicted_text(row, 12)}, observed"
            f" {numbers.measured_text(row, 12)} (gap {numbers.gap_text(row)}) at"
            f" {case or 'its only case'}"
        )
    if row.loose and not row.claim.loose:
        found.append(
            f"the bound could be {row.slack:.3g} times as small in every case: add cases"
            " near it, or declare it `loose` and find out why"
        )
    if row.record is not None and not row.record.control_passed:
        _, words = functions.control(row.claim)
        found.append(f"control: {words} ({functions.tried(row.claim, row.record)})")
    return found


def _evidence_table(rows: Sequence[Row], *, width: int) -> Table:
    names = list(values.counts(rows))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("evidence, strongest first")
    if width < WIDE:
        table.add_column("claims")
        for kind, count in values.by_evidence(rows):
            found = ", ".join(f"{count[n]} {n}" for n in names if count[n])
            table.add_row(kind, found)
        return table
    for name in names:
        table.add_column(name, justify="right")
    for kind, count in values.by_evidence(rows):
        table.add_row(kind, *(str(count[n]) if count[n] else "" for n in names))
    return table


def as_markdown(rows: Sequence[Row]) -> str:
    """Return the table as GitHub-flavoured Markdown, the counts first."""
    lines = [
        f"**{values.summary(rows)}**",
        "",
        f"| {' | '.join(_COLUMNS)} |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | --- | --- |",
    ]
    for row in rows:
        source = row.claim.source
        cells = (
            f"`{row.claim.id}`",
            row.claim.title,
            row.claim.evidence.value,
            numbers.predicted_text(row),
            numbers.measured_text(row),
            numbers.gap_text(row),
            numbers.resolves_text(row),
            row.said,
            f"{references.short_citation(source.key)}, {source.where}",
        )
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    opened = [row.claim for row in rows if row.claim.open_reason]
    if opened:
        lines += ["", "Open:", ""]
        lines += [f"- `{claim.id}`: {claim.open_reason}" for claim in opened]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
