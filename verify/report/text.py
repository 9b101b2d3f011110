"""The report as a terminal table and as Markdown."""

import io
from collections.abc import Iterator, Sequence

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
WIDE = 120
"""From so many columns on a line says what was measured and predicted, too."""
FULL = 160
"""From so many on it also says the gap, what that resolves, and the seconds it took."""
_HEADS = (
    "outcome",
    "measured (predicted)  outcome",
    "measured (predicted)  gap, resolves, seconds  outcome",
)
_EXPECTED = f", expected: {Outcome.HOLDS.value}"
_NAME = 18
"""Columns for a claim's name; few are longer."""
_TITLE = 30
"""Columns that a title has at least, if it needs them."""


def as_text(rows: Sequence[Row], *, width: int, colour: bool) -> str:
    """Return unsettled claims, a line a claim by paper and chapter, and the counts.

    Parameters
    ----------
    width : int
        Columns; from 120 on the measured and predicted values of the worst case are shown
        too, an effect of training with its interval and unit; from 160 on also the gap,
        what it resolves and the seconds.
    colour : bool
        Whether to write ANSI colours.
    """
    target = io.StringIO()
    console = Console(
        # At a terminal, NO_COLOR decides.
        file=target,
        width=width,
        force_terminal=colour,
        no_color=None if colour else True,
    )
    for row in rows:
        if not row.settled and (row.remark or row.outcome != values.NOT_RUN):
            console.print(Text(f"{row.claim.id}: {row.verdict}", style="bold"))
            for line in (row.claim.title, *reasons(row)):
                console.print(Padding(Text(line), (0, 0, 0, 2)))
    console.print()
    for line in _lines(rows, width=width):
        console.print(line, no_wrap=True, overflow="ignore")
    console.print()
    console.print(_evidence_table(rows, width=width))
    console.print(Text(values.summary(rows), style="bold"))
    # A table pads its lines to the full width; files and diffs are better without.
    return "\n".join(line.rstrip() for line in target.getvalue().splitlines()) + "\n"


def _lines(rows: Sequence[Row], *, width: int) -> Iterator[Text]:
    """Yield a heading for each chapter and a line for each claim.

    What was found stands at the right end, and the title has all the room it leaves.
    """
    head = f"{'claim':{_NAME}} title"
    yield Text(f"{head}{_HEADS[_level(width)]:>{width - len(head)}}", style="bold")
    yield Text("─" * width)
    for number, (paper, chapter, these) in enumerate(values.chapters(rows)):
        if number:
            yield Text()
        above = f"{paper.prefix:{_NAME}} {chapter}"
        yield Text(_cut(above, width), style="bold dim")
        for row in these:
            yield from _line(row, width=width)


def _line(row: Row, *, width: int) -> Iterator[Text]:
    style = _STYLES.get(row.verdict, "bold red")
    if style == "green" and row.besides:
        style = "yellow"
    name = f"{row.claim.id:{_NAME}} "
    # What was expected of the unsettled stands above the table.
    verdict = row.said.replace(_EXPECTED, "")
    rest = ""
    if len(verdict) + len(name) + 2 + _TITLE > width:
        # A title cut to a few letters would be a riddle: other scales and draws get a
        # line of their own.
        verdict, _, rest = verdict.partition("; ")
    found = [] if _level(width) == 0 else [_found(row, full=_level(width) == 2)]
    right = "  ".join(("", *filter(None, found), verdict))
    if len(name) + _TITLE + len(right) > width:
        right = f"  {verdict}"
    room = max(1, width - len(name) - len(right))
    title = f"{_cut(row.claim.title, room):{room}}"
    line = Text(f"{name}{title}{right}"[:width])
    line.stylize(style, len(line) - len(verdict))
    yield line
    if rest:
        yield Text(f"{_cut(rest, width - 2):>{width}}", style=style)


def _level(width: int) -> int:
    """Return how much is said of numbers: nothing, both sides, all."""
    return (width >= WIDE) + (width >= FULL)


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1].rstrip()}…"


def _found(row: Row, *, full: bool) -> str:
    """Return what was measured and, in brackets, what was predicted."""
    if row.worst is None or row.outcome in (values.NOT_RUN, values.STALE):
        return ""
    unit = functions.unit(row.claim)
    measured = numbers.effect_of(row, unit) or numbers.measured_of(row, 4)
    predicted = numbers.predicted_of(row, 4)
    found = f"{measured} ({predicted})" if measured and predicted else measured
    gap, resolves = numbers.gap_of(row), numbers.resolves_of(row)
    if full and gap and row.record is not None:
        found += f"  gap {gap}, resolves {resolves}, {row.record.seconds:.1f} s"
    return found


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
        # Limits of effects are two or three digits, closed forms up to all they have.
        digits = 3 if numbers.effect_of(worst) else 12
        found.append(
            f"expected {numbers.predicted_of(row, digits)}, observed"
            f" {_observed(row)} (gap {numbers.gap_of(row)}) at"
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


def briefly(row: Row) -> list[str]:
    """Return the same, of a traceback only its last line."""
    if row.worst is None or not row.worst.error:
        return reasons(row)
    return [row.worst.error.strip().rpartition("\n")[2]]


def _observed(row: Row) -> str:
    unit = functions.unit(row.claim)
    effect = numbers.effect_of(row, unit)
    measured = numbers.measured_of(row, 12)
    # Of one arm alone the effect is its mean.
    if not effect or numbers.is_alone(row):
        return effect or measured
    return f"{effect}: {measured}"


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
            numbers.predicted_of(row),
            numbers.measured_of(row),
            numbers.gap_of(row),
            numbers.resolves_of(row),
            row.said,
            f"{references.short_citation(source.key)}, {source.where}",
        )
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    lists = {
        "Open": [(r, r.claim.open_reason) for r in rows if r.claim.open_reason],
        "Records that count for nothing": [(r, r.remark) for r in rows if r.refused],
    }
    for head, told in lists.items():
        if told:
            lines += ["", f"{head}:", ""]
            lines += [f"- `{row.claim.id}`: {why}" for row, why in told]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
