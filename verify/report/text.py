"""The report as a terminal table and as Markdown."""

import io
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from verify import references
from verify.claim import FAULTS
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
    *("claim", "evidence", "predicted", "measured"),
    *("gap", "resolves", "outcome", "source"),
)
NARROW = 110
"""Below this many columns the table drops what the wide one adds."""


def as_text(rows: Sequence[Row], *, width: int, colour: bool) -> str:
    """Return the table of all rows and the counts below it.

    Parameters
    ----------
    width : int
        Columns; from 110 on the predicted and measured values of the worst case and the
        source are shown too.
    colour : bool
        Whether to write ANSI colours.
    """
    target = io.StringIO()
    console = Console(
        file=target, width=width, force_terminal=colour, no_color=not colour
    )
    console.print(_table(rows, wide=width >= NARROW))
    for row in rows:
        if not row.settled:
            console.print(_explained(row))
    console.print(_evidence_table(rows))
    console.print(Text(values.summary(rows), style="bold"))
    # A table pads its lines to the full width; files and diffs are better without.
    return "\n".join(line.rstrip() for line in target.getvalue().splitlines()) + "\n"


def _table(rows: Sequence[Row], *, wide: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, expand=False, pad_edge=False)
    table.add_column("claim", no_wrap=True, overflow="fold")
    if wide:
        table.add_column("evidence")
        table.add_column("predicted", justify="right")
        table.add_column("measured", justify="right")
    table.add_column("gap", justify="right", no_wrap=True)
    table.add_column("resolves", justify="right", no_wrap=True)
    if wide:
        table.add_column("s", justify="right", no_wrap=True)
    table.add_column("outcome", min_width=12)
    if wide:
        table.add_column("source", overflow="fold")
    for row in rows:
        gap, resolves = values.gap_text(row), values.resolves_text(row)
        verdict = Text(row.verdict, style=_STYLES.get(row.verdict, "bold red"))
        start: list[str | Text] = [row.claim.id]
        if wide:
            seconds = f"{row.record.seconds:.1f}" if row.record else ""
            start += [row.claim.evidence.value]
            start += [values.predicted_text(row), values.measured_text(row)]
            start += [gap, resolves, seconds, verdict, row.claim.source.where]
        else:
            start += [gap, resolves, verdict]
        table.add_row(*start)
    return table


def explain(row: Row) -> str:
    """Say in words why a row is not green."""
    return _explained(row).plain


def _explained(row: Row) -> Text:
    """Why a row is not green, in words."""
    text = Text(f"{row.claim.id}: {row.verdict}", style="bold")
    worst = row.worst
    if row.remark:
        text.append(f"\n  {row.remark}", style="not bold")
    if worst is None:
        return text
    case = ", ".join(f"{key} = {value}" for key, value in worst.case.items())
    if worst.error:
        text.append(f"\n{worst.error.strip()}", style="not bold")
    else:
        text.append(
            f"\n  expected {values.predicted_text(row, 12)}, observed"
            f" {values.measured_text(row, 12)}"
            f" (gap {values.gap_text(row)}) at {case or 'its only case'}",
            style="not bold",
        )
    if row.record is not None and not row.record.control_passed:
        text.append(f"\n  control: {row.record.control}", style="not bold")
    return text


def _evidence_table(rows: Sequence[Row]) -> Table:
    names = list(values.counts(rows))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("evidence, strongest first")
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
        "| --- | --- | ---: | ---: | ---: | ---: | --- | --- |",
    ]
    for row in rows:
        source = row.claim.source
        cells = (
            f"`{row.claim.id}`",
            row.claim.evidence.value,
            values.predicted_text(row),
            values.measured_text(row),
            values.gap_text(row),
            values.resolves_text(row),
            row.verdict,
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
