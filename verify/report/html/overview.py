"""The top of the page: counts, what is false, coverage, the table."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from html import escape

from verify import misprints, references
from verify.claim import FAULTS, Evidence
from verify.compare import Outcome
from verify.items import PAPERS, Paper
from verify.report import rows as values
from verify.report.html.claim import source
from verify.report.html.markup import anchor, formula, kind, label, link, text
from verify.report.rows import NOT_RUN, STALE, Row
from verify.report.text import explain

Group = tuple[Paper, str, list[Row]]

COLOURS: Mapping[str, str] = {
    "hold": "holds",
    "hold, loosely": "loose",
    **dict.fromkeys(FAULTS, "refuted"),
    "undecided": "undecided",
    "not as expected": "bad",
    "in error": "bad",
    "open": "open",
}


def groups(rows: Sequence[Row]) -> Iterator[Group]:
    """Group rows by the section of the paper that lists their first item."""
    for paper in PAPERS:
        mine = [row for row in rows if row.claim.paper == paper.prefix]
        for title, _ in paper.sections:
            these = [r for r in mine if paper.section_of(r.claim.items) == title]
            if these:
                yield paper, title, these


def opening(rows: Sequence[Row], profile: str) -> str:
    """Return the title, the verdict in one sentence, and the counts."""
    papers = [p for p in PAPERS if any(r.claim.paper == p.prefix for r in rows)]
    titles = "".join(f"<h1>{escape(paper.title)}</h1>" for paper in papers)
    cited = "".join(
        f'<p class="cited">{escape(references.full_citation(paper.key))}</p>'
        for paper in papers
    )
    return (
        '<header class="opening"><p class="eyebrow">An executable ledger</p>'
        f"{titles or '<h1>Ledger</h1>'}{cited}<p class=lede>{_sentence(rows)}</p>"
        f'{_tiles(rows)}<p class="profile">{_work(rows, profile)}</p></header>'
    )


def _work(rows: Sequence[Row], profile: str) -> str:
    seconds = sum(row.record.seconds for row in rows if row.record is not None)
    cases = sum(len(row.record.cases) for row in rows if row.record is not None)
    return (
        f"{cases} cases, {seconds:.0f} s of work, profile <em>{escape(profile)}</em>."
    )


def _sentence(rows: Sequence[Row]) -> str:
    count = Counter(kind(row) for row in rows)
    parts = [f"<strong>{count['holds']}</strong> of {len(rows)} claims hold"]
    if count["loose"]:
        parts.append(f"<strong>{count['loose']}</strong> more hold loosely")
    if count["refuted"]:
        verb = "is" if count["refuted"] == 1 else "are"
        parts.append(
            f"<strong>{count['refuted']}</strong> {verb} refuted, as printed or as read,"
            " with a counterexample and a corrected form that holds"
        )
    if count["bad"]:
        parts.append(
            f'<strong class="bad">{count["bad"]}</strong> came out otherwise than'
            " expected"
        )
    if count["undecided"]:
        parts.append(f"{count['undecided']} could not be decided")
    if count["pending"]:
        parts.append(f"{count['pending']} have no current record")
    if count["open"]:
        verb = "stays" if count["open"] == 1 else "stay"
        parts.append(f"{count['open']} {verb} open, for a stated reason")
    return "; ".join(parts) + "."


def _tiles(rows: Sequence[Row]) -> str:
    tiles = "".join(
        f'<li class="{COLOURS.get(name, "pending")}"><b>{count}</b> {escape(name)}</li>'
        for name, count in values.counts(rows).items()
    )
    return f'<ul class="tiles">{tiles}</ul>'


def matrix(rows: Sequence[Row]) -> str:
    """Return claims counted by evidence and verdict, with totals."""
    names = list(values.counts(rows))
    head = "".join(f'<th scope="col" class="n">{escape(n)}</th>' for n in names)
    meanings = {kind.value: kind.meaning for kind in Evidence}
    lines = ""
    for evidence, count in values.by_evidence(rows):
        cells = "".join(_count(name, count[name]) for name in names)
        total = sum(count[name] for name in names)
        lines += (
            f'<tr><th scope="row">{escape(evidence)}<small>'
            f"{escape(meanings[evidence])}</small></th>{cells}"
            f'<td class="n total">{total}</td></tr>'
        )
    sums = "".join(_count(name, n) for name, n in values.counts(rows).items())
    return (
        '<section id="counts"><h2>What was found, by kind of evidence</h2>'
        '<div class="scroll"><table class="matrix"><thead><tr><th scope="col">evidence,'
        f' strongest first</th>{head}<th scope="col" class="n">all</th></tr></thead>'
        f'<tbody>{lines}</tbody><tfoot><tr><th scope="row">all</th>{sums}'
        f'<td class="n total">{len(rows)}</td></tr></tfoot></table></div></section>'
    )


def _count(name: str, count: int) -> str:
    shown = str(count) if count else '<span class="none">·</span>'
    return f'<td class="n {COLOURS.get(name, "pending") if count else ""}">{shown}</td>'


def attention(rows: Sequence[Row]) -> str:
    """Return what is not as it should be, empty when all is well."""
    waiting = [row for row in rows if row.outcome in (STALE, NOT_RUN)]
    wrong = [row for row in rows if not row.settled and row not in waiting]
    if not (wrong or waiting):
        return ""
    items = "".join(
        f"<li>{link(row)} {text(row.claim.title)}<pre>{escape(_reason(row))}</pre></li>"
        for row in wrong
    )
    return (
        '<section id="attention" class="attention"><h2>Not settled</h2>'
        f"<ul>{items}</ul>{_waiting(waiting)}</section>"
    )


def _reason(row: Row) -> str:
    """Say why a row is not green, of a traceback only its last line."""
    if row.worst is not None and row.worst.error:
        return row.worst.error.strip().splitlines()[-1]
    return "\n".join(line.strip() for line in explain(row).splitlines()[1:])


def _waiting(rows: Sequence[Row]) -> str:
    """List what has no current record, in a line: nothing is known to be wrong."""
    if not rows:
        return ""
    links = " ".join(link(row) for row in rows)
    return (
        '<p class="waiting">Without a record of the present sources; run'
        " <code>python -m verify.report</code> without <code>--no-run</code>:"
        f" {links}</p>"
    )


def findings(rows: Sequence[Row]) -> str:
    """Return the statements that are false, as cards, and the misprints below them."""
    false = [r for r in rows if r.claim.expected is Outcome.REFUTED]
    if not false:
        return ""
    cards = "".join(
        f'<li><p class="id">{link(row)} {label(row)}</p>'
        f"<h3>{text(row.claim.title)}</h3>"
        f"{formula(row.claim.statement)}<p>{text(row.claim.finding)}</p>"
        f'<p class="where">{_gap(row)}{source(row.claim)}</p></li>'
        for row in false
    )
    return (
        '<section id="findings"><h2>What is false</h2><p class="intro">Each of these'
        " is refuted by a measurement on every run, and its corrected form holds on the"
        " same measurement. What stands in the text is <em>false as printed</em>; a"
        " formula that was restored, or one of several senses, <em>false as read</em>; a"
        f' trend is <em>not reproduced</em>.</p><ul class="cards">{cards}</ul>'
        f"{_misprints(rows)}</section>"
    )


def _misprints(rows: Sequence[Row]) -> str:
    """Return what the papers misprint, which no measurement decides."""
    papers = {row.claim.paper for row in rows}
    lines = "".join(
        f'<tr><th scope="row">{escape(m.where)}</th>'
        f"<td>{escape(references.short_citation(paper.key))}</td><td>{text(m.printed)}</td>"
        f"<td>{text(m.correct)}</td></tr>"
        for paper in PAPERS
        if paper.prefix in papers
        for m in misprints.of(paper.prefix)
    )
    if not lines:
        return ""
    return (
        "<h3>Misprints</h3><table><thead><tr><th scope=col>where</th>"
        "<th scope=col>paper</th>"
        "<th scope=col>printed</th><th scope=col>to be read</th></tr></thead>"
        f"<tbody>{lines}</tbody></table>"
    )


def _gap(row: Row) -> str:
    if row.worst is None or row.worst.error:
        return ""
    predicted, measured = values.predicted_text(row), values.measured_text(row)
    return f"stated {escape(predicted)}, found {escape(measured)}. "


def coverage(rows: Sequence[Row]) -> str:
    """Return which claims cover which item of each paper, section by section."""
    parts = ['<section id="coverage"><h2>Coverage of the paper</h2>']
    for paper in PAPERS:
        mine = [row for row in rows if row.claim.paper == paper.prefix]
        if not mine:
            continue
        slips = {m.item for m in misprints.of(paper.prefix)}
        bodies = "".join(
            _covered(title, items, mine, slips) for title, items in paper.sections
        )
        parts.append(
            '<table class="coverage"><thead><tr><th scope="col">section</th>'
            '<th scope="col">items and the claims that cover them</th>'
            f'<th scope="col" class="n">covered</th></tr></thead><tbody>{bodies}'
            "</tbody></table>"
        )
    return "".join(parts) + "</section>"


def _covered(
    title: str, items: Sequence[str], rows: Sequence[Row], slips: Set[str]
) -> str:
    chips: list[str] = []
    covered = 0
    for item in items:
        these = [row for row in rows if item in row.claim.items]
        covered += bool(these) or item in slips
        links = " ".join(link(r, r.claim.id.partition("/")[2]) for r in these)
        state = "" if these or item in slips else " missing"
        other = "misprint" if item in slips else "—"
        chips.append(
            f'<li class="item{state}"><b>{escape(item)}</b> {links or other}</li>'
        )
    return (
        f'<tr><th scope="row">{escape(title)}</th>'
        f'<td><ul class="items">{"".join(chips)}</ul></td>'
        f'<td class="n">{covered}/{len(items)}</td></tr>'
    )


def table(rows: Sequence[Row]) -> str:
    """Return one line for each claim, by section."""
    bodies = "".join(
        f'<tbody><tr class="group"><th colspan="7" scope="rowgroup">'
        f"{escape(title)}</th></tr>{''.join(_line(row) for row in these)}</tbody>"
        for _, title, these in groups(rows)
    )
    return (
        '<section id="claims"><h2>All claims</h2><table class="claims"><thead><tr>'
        '<th scope="col">claim</th><th scope="col">evidence</th>'
        '<th scope="col" class="n">predicted</th>'
        '<th scope="col" class="n">measured</th><th scope="col" class="n">gap</th>'
        '<th scope="col" class="n">resolves</th>'
        f'<th scope="col">verdict</th></tr></thead>{bodies}</table></section>'
    )


def _line(row: Row) -> str:
    cells = (
        ("predicted", values.predicted_text(row, 5)),
        ("measured", values.measured_text(row, 5)),
        ("gap", values.gap_text(row)),
        ("resolves", values.resolves_text(row)),
    )
    numbers = "".join(
        f'<td class="n" data-label="{name}">{escape(value)}</td>'
        for name, value in cells
    )
    return (
        f'<tr><td class="name"><a href="#{anchor(row.claim.id)}">{escape(row.claim.id)}'
        f"</a><small>{text(row.claim.title)}</small></td>"
        f'<td class="evidence" data-label="evidence">{row.claim.evidence.value}</td>'
        f'{numbers}<td class="outcome">{label(row)}</td></tr>'
    )
