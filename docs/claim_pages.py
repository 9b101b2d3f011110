"""Write one page for every claim of the ledger, with its latest record if any.

Figures are written into the pages as SVG, and into files of their own for other pages
to include.
"""

from html import escape
from pathlib import Path

from verify import figures, ledger, references
from verify import records as recorded
from verify.claim import Claim
from verify.compare import Outcome
from verify.figures import Missing, Picture
from verify.figures.runs import Records, beside
from verify.records import Record
from verify.report import numbers
from verify.report.rows import Row


def write_claim_pages(folder: Path, *, records: Path) -> None:
    """Write ``folder/<claim>.md`` for each claim, figures, and ``folder/index.md``."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.md"):  # of claims that are no more
        old.unlink()
    claims = ledger.load()
    drawn = {picture.name: drawing(picture) for picture in figures.GALLERY}
    said: dict[str, str] = {}
    for picture in filter(lambda picture: picture.from_runs, figures.PICTURES):
        try:
            drawn[picture.name] = drawing(picture, runs=beside(records, "quick"))
        except Missing as error:
            # Paths from the root of the project, where its commands are run.
            reason = str(error).replace(f"{records.parent.parent}/", "")
            said[picture.name] = f"<p>Not drawn yet: {escape(reason)}.</p>"
    for picture in figures.PICTURES:
        body = drawn.get(picture.name) or said.get(picture.name)
        body = body or of_records(picture, claims, records)
        caption = f"<p><em>{picture.caption}</em></p>"
        path = folder / f"figure-{picture.name}.html"
        path.write_text(f"{body}\n{caption}\n", encoding="utf-8")
    for claim in claims:
        text = page(claim, records, drawn)
        (folder / f"{file_name(claim)}.md").write_text(text, encoding="utf-8")
    lines = [
        "# Claims",
        "",
        f"{len(claims)} claims, in the order of the papers.",
        "",
        "```{toctree}",
        ":maxdepth: 1",
        "",
        *(file_name(claim) for claim in claims),
        "```",
        "",
    ]
    (folder / "index.md").write_text("\n".join(lines), encoding="utf-8")


def file_name(claim: Claim) -> str:
    """Return the claim's id as a file name."""
    return claim.id.replace("/", "-")


def page(claim: Claim, records: Path, drawn: dict[str, str]) -> str:
    """Return a claim's page: statement, assumptions, source, evidence, result."""
    parts = [f"# {claim.title}", "", f"`{claim.id}`", ""]
    parts += ["$$", claim.statement, "$$", ""]
    if claim.assumptions:
        parts += ["**Assumptions**", "", *(f"- {a}" for a in claim.assumptions), ""]
    cited = references.full_citation(claim.source.key)
    parts += [f"**Source.** {claim.source.where}. {cited}", ""]
    if claim.open_reason:
        parts += [f"**Open.** {claim.open_reason}", ""]
        return "\n".join(parts)
    kind = claim.evidence
    parts += [
        f"**Evidence.** {kind.value}: *holds* means that {kind.meaning}.",
        "",
        f"**Expected.** {claim.expected.value}",
        "",
    ]
    if claim.finding:
        parts += ["**Finding.** " + claim.finding, ""]
    if claim.uses:
        links = ", ".join(f"[`{i}`]({i.replace('/', '-')}.md)" for i in claim.uses)
        parts += [f"**Rests on** {links}", ""]
    record = recorded.find(claim, records)
    if record is not None:
        parts += result(claim, record)
    parts += [
        "**Run only this claim**",
        "",
        "```bash",
        f"python -m verify run {claim.id}",
        "```",
        "",
    ]
    return "\n".join(parts + figure(claim, record, drawn))


def result(claim: Claim, record: Record) -> list[str]:
    """Return what the latest record says, as lines of Markdown."""
    row = Row(claim=claim, record=record, outcome=record.outcome.value)
    lines = [f"**Found** ({record.profile} profile). {row.verdict}", ""]
    if record.outcome is not Outcome.ERROR:
        names = ("predicted", "measured", "gap", "would have caught", "seconds")
        cells = (
            numbers.predicted_text(row),
            numbers.measured_text(row),
            numbers.gap_text(row),
            numbers.resolves_text(row),
            f"{record.seconds:.1f}",
        )
        lines += [
            f"| {' | '.join(names)} |",
            f"|{' ---: |' * len(names)}",
            f"| {' | '.join(cells)} |",
            "",
        ]
    return [*lines, f"**Control.** {record.control}.", ""]


def figure(claim: Claim, record: Record | None, drawn: dict[str, str]) -> list[str]:
    """Return a claim's figure and its caption as lines; none where there is none."""
    if not claim.figure:
        return []
    picture = figures.named(claim.figure)
    if picture.name in drawn:
        svg = drawn[picture.name]
    elif picture.from_runs:
        return []
    elif record is not None and record.outcome is not Outcome.ERROR:
        svg = drawing(picture, record)
    else:
        return []
    return ["```{raw} html", svg, "```", "", f"*{picture.caption}*", ""]


def of_records(picture: Picture, claims: tuple[Claim, ...], records: Path) -> str:
    """Draw the record with the most cases that a picture can show, or say how to."""
    mine = [claim for claim in claims if claim.figure == picture.name]
    found = [record for c in mine if (record := recorded.find(c, records))]
    drawable = [record for record in found if record.outcome is not Outcome.ERROR]
    if drawable:
        return drawing(picture, max(drawable, key=lambda record: len(record.cases)))
    names = " ".join(claim.id for claim in mine)
    return f"<p>Drawn once <code>python -m verify run {names}</code> has run.</p>"


def drawing(
    picture: Picture, record: Record | None = None, *, runs: Records | None = None
) -> str:
    """Return a picture as SVG whose text has the colour of the page, or a table."""
    svg = picture.markup(record, runs=runs)
    scroll = '<div style="overflow-x: auto; font-size: var(--font-size--small)">'
    svg = svg.replace('<div class="scroll">', scroll, 1)
    style = "--ink: var(--color-foreground-primary); max-width: 40rem; width: 100%"
    return svg.replace("<svg ", f'<svg style="{style}" ', 1)
