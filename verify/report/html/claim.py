"""One section of the page: what a claim states, what was found, how to refute it."""

from collections.abc import Mapping
from html import escape

from empirical.digest import ROOT
from verify import references
from verify.claim import Claim
from verify.compare import Outcome
from verify.records import CaseRecord, Record, badness
from verify.report import rows as values
from verify.report.html.markup import anchor, arguments, formula, label, link, text
from verify.report.rows import Row

SHOWN_CASES = 40
"""So many cases are listed, the worst ones; the JSON format has the others."""


def section(row: Row, everything: Mapping[str, Row], figure: str) -> str:
    """Return a claim's section; `figure` is markup, empty where there is none."""
    claim = row.claim
    place = anchor(claim.id)
    parts = [
        f'<article class="claim" id="{place}"><header>',
        f'<p class="id"><a href="#{place}">{escape(claim.id)}</a></p>{label(row)}',
        f"<h3>{text(claim.title)}</h3></header>",
        formula(claim.statement),
    ]
    if claim.finding:
        parts.append(f'<p class="finding">{text(claim.finding)}</p>')
    if claim.open_reason:
        parts.append(f'<p class="finding">Open: {text(claim.open_reason)}</p>')
    parts += [_results(row), figure, _facts(row, everything), _cases(row)]
    if not claim.open_reason:
        parts.append(_command(claim))
    parts.append("</article>")
    return "\n".join(part for part in parts if part)


def _results(row: Row) -> str:
    """Return the worst case's numbers as a row of labelled figures."""
    record, worst = row.record, row.worst
    if record is None or worst is None:
        return ""
    if worst.error:
        return (
            f'<p class="where">In error at {escape(arguments(worst.case))}</p>'
            f'<pre class="error">{escape(_local(worst.error))}</pre>'
        )
    unit = (
        "" if worst.unit in ("", "exact") else f" <small>{escape(worst.unit)}</small>"
    )
    cells = (
        ("predicted", escape(values.predicted_text(row))),
        ("measured", escape(values.measured_text(row))),
        ("gap", escape(_bare(values.gap_text(row))) + unit),
        (
            "would have caught",
            escape(values.resolves_text(row)) + (unit if row.slack is None else ""),
        ),
        ("time", f"{record.seconds:.1f} s"),
    )
    shown = "".join(f"<div><dt>{n}</dt><dd>{v}</dd></div>" for n, v in cells)
    return (
        f'<dl class="numbers">{shown}</dl><p class="where">{_where(record, worst)}</p>'
    )


def _local(traceback: str) -> str:
    """Name files by their place in the project, not on the machine that ran them."""
    return traceback.strip().replace(f"{ROOT}/", "")


def _bare(gap: str) -> str:
    return gap.removesuffix(" rel")


def _where(record: Record, worst: CaseRecord) -> str:
    count = len(record.cases)
    tried = "its only case" if count == 1 else f"the worst of {count} cases"
    if record.search is not None:
        tried += f" and {record.search.examples} searched ones"
    at = escape(arguments(worst.case)) or "no arguments"
    return f"In {tried}: {at}"


def _facts(row: Row, everything: Mapping[str, Row]) -> str:
    claim = row.claim
    facts: list[tuple[str, str]] = []
    if claim.assumptions:
        items = "".join(f"<li>{text(a)}</li>" for a in claim.assumptions)
        facts.append(("Assuming", f"<ul>{items}</ul>"))
    facts.append(("Source", source(claim)))
    reading = claim.reading
    facts.append(("Statement", f"{reading.value}: {escape(reading.meaning)}"))
    facts.append(("Covers", escape(", ".join(claim.items))))
    if claim.uses:
        known = [
            link(everything[u]) if u in everything else escape(u) for u in claim.uses
        ]
        facts.append(("Rests on", ", ".join(known)))
    if claim.compare is not None:
        kind = claim.evidence
        facts.append(
            ("Evidence", f"{kind.value}; <em>holds</em> means: {escape(kind.meaning)}")
        )
        facts.append(("Refuted if", escape(claim.compare.criterion())))
        facts.append(("Control", control(claim, row.record)))
    shown = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts)
    return f'<dl class="facts">{shown}</dl>'


def source(claim: Claim) -> str:
    """Return where the statement stands, with its citation."""
    cited = escape(references.short_citation(claim.source.key))
    full = escape(references.full_citation(claim.source.key))
    return f'<cite title="{full}">{cited}</cite>, {text(claim.source.where)}'


def control(claim: Claim, record: Record | None) -> str:
    """Say how the claim is refuted on purpose, and what happened."""
    holds = claim.expected is Outcome.HOLDS
    function = claim.must_refute if holds else claim.must_hold
    name = getattr(function, "__name__", "").strip("_").replace("_", " ")
    what = "a prediction known to be wrong" if holds else "the corrected prediction"
    tried = f"{what} (<i>{escape(name)}</i>)" if name else what
    if record is None:
        return f"{tried}; not run yet"
    passed = "" if record.control_passed else ' <strong class="bad">It failed.</strong>'
    return f"{tried}: {escape(record.control)}.{passed}"


def _cases(row: Row) -> str:
    record = row.record
    if record is None or len(record.cases) < 2:
        return ""
    worst_first = sorted(record.cases, key=badness, reverse=True)
    lines = "".join(_case(case) for case in worst_first[:SHOWN_CASES])
    left = len(record.cases) - SHOWN_CASES
    more = f"<p>{left} more are in the record.</p>" if left > 0 else ""
    return (
        f"<details><summary>All {len(record.cases)} cases, the worst first</summary>"
        '<div class="scroll"><table class="cases"><thead><tr>'
        "<th>case</th><th>predicted</th><th>measured</th><th>gap</th>"
        "<th>would have caught</th><th>outcome</th><th>control</th>"
        f"</tr></thead><tbody>{lines}</tbody></table></div>{more}</details>"
    )


def _case(case: CaseRecord) -> str:
    cells = (
        values.predicted_of(case),
        values.measured_of(case),
        values.gap_of(case),
        values.resolves_of(case),
    )
    numbers = "".join(f'<td class="n">{escape(cell)}</td>' for cell in cells)
    return (
        f"<tr><td>{escape(arguments(case.case))}</td>{numbers}"
        f"<td>{case.outcome.value}</td><td>{escape(case.control)}</td></tr>"
    )


def _command(claim: Claim) -> str:
    return (
        '<p class="again">Run only this: '
        f"<code>python -m verify run {escape(claim.id)}</code></p>"
    )
