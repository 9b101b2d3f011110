"""Pages of papers, claims and figures, and the cards of the front page."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, Template
from markupsafe import Markup, escape

from pages import found
from pages.figures import Shown, shown, write_files
from pages.graph import Node, overview, picture
from pages.writing import write_all
from verify import figures, ledger, misprints, references
from verify.claim import FAULTS, Evidence
from verify.compare import Outcome
from verify.items import Paper, papers
from verify.reading import Reading
from verify.report import rows as values
from verify.report.html.markup import anchor, text
from verify.report.html.page import OUTCOMES
from verify.report.html.templating import templates
from verify.report.rows import Row

HERE = Path(__file__).parent
FRONT = "condition_numbers"
"""The picture of the front page, where it is drawn; else the first that is."""
SHOWN_CASES = 6
"""So many cases of a claim are on its page, the worst."""

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#$|~])")


def write_ledger(docs: Path, records: Path) -> None:
    """Write ``docs/claims``, ``papers``, ``figures`` and ``generated``."""
    Site(docs=docs, records=records).write()


@dataclass(frozen=True)
class Site:
    """What the pages are written from.

    Attributes
    ----------
    docs : Path
        Folder of the documents.
    records : Path
        Folder of the records, by profile.
    """

    docs: Path
    records: Path

    @cached_property
    def rows(self) -> dict[str, Row]:
        """Every claim with what was found, in the ledger's order."""
        entries = ledger.entries()
        return {row.claim.id: row for row in found.quick(entries, self.records)}

    @cached_property
    def figures(self) -> dict[str, Shown]:
        """Every picture."""
        return shown(self.records, self.docs / "_build" / "drawn")

    def write(self) -> None:
        """Write every page whose text is another than before."""
        docs = self.docs
        write_files(self.figures.values(), docs / "_build" / "static" / "figures")
        write_all(docs / "claims", dict(map(self._claim, self.rows.values())))
        write_all(docs / "papers", dict(map(self._paper, papers())))
        write_all(docs / "figures", dict(map(self._figure, self.figures.values())))
        drawn = [one for one in self.figures.values() if one.body and not one.is_table]
        fronts = [one for one in drawn if one.picture.name == FRONT] or drawn
        every = {
            "cards.html": self._render(
                "cards.html", "", papers=list(map(self._trial, papers()))
            ),
            "verdict.html": self._verdict(),
            "notice.html": self._render(
                "notice.html", "", without=_without(self.rows.values())
            ),
            "picture.html": self._render("front_figure.html", "", one=fronts[0]),
            "gallery.html": self._render(
                "gallery.html", "", groups=list(self._groups())
            ),
        }
        # For documents that show a figure in their text.
        every |= {
            f"figure-{one.picture.name}.html": self._render(
                "inline_figure.html", "../", one=one
            )
            for one in self.figures.values()
        }
        write_all(docs / "generated", every)

    @cached_property
    def _environments(self) -> dict[str, Environment]:
        """Templates by prefix: each is compiled once, not once a page."""
        return {}

    @cached_property
    def _inline(self) -> "_Inline":
        return _Inline(self.figures)

    def _render(self, template: str, prefix: str, **context: Any) -> str:
        if prefix not in self._environments:
            self._environments[prefix] = _environment(prefix, self.rows)
        environment = self._environments[prefix]
        context |= {
            "everything": self.rows,
            "shown_cases": SHOWN_CASES,
            "scale": "small",
            "outcomes": OUTCOMES,
            "readings": Reading,
        }
        return environment.get_template(template).render(context, prefix=prefix)

    def _verdict(self) -> str:
        """Return what the report says on its first screen, for the front page."""
        rows = list(self.rows.values())
        return self._render(
            "verdict.html",
            "",
            rows=rows,
            count=Counter(row.kind for row in rows),
            counts=values.counts(rows),
            by_evidence=values.by_evidence(rows),
            plural={kind.value: kind.plural for kind in Evidence},
            places={
                **dict.fromkeys(("attention", "counts"), "papers.html"),
                "findings": "findings/index.html",
            },
        )

    # --- a claim -----------------------------------------------------------------------

    def _claim(self, row: Row) -> tuple[str, str]:
        claim = row.claim
        paper = next(p for p in papers() if p.prefix == claim.paper)
        chapter = paper.section_of(claim.items)
        mine = [
            r for _, title, rs in self._chapters(paper) if title == chapter for r in rs
        ]
        at = mine.index(row)
        body = self._render(
            "claim_page.html",
            "../",
            row=row,
            paper=paper,
            chapter=chapter,
            chapter_link=f"../papers/{paper.prefix}.html#{_slug(paper, chapter)}",
            drawn=self._inline,
            used_by=[r for r in self.rows.values() if claim.id in r.claim.uses],
            before=mine[at - 1] if at else None,
            after=mine[at + 1] if at + 1 < len(mine) else None,
        )
        return f"{anchor(claim.id)}.md", _page(claim.title, body, orphan=True)

    def _chapters(self, paper: Paper) -> list[tuple[Paper, str, tuple[Row, ...]]]:
        mine = [row for row in self.rows.values() if row.claim.paper == paper.prefix]
        return list(values.chapters(mine))

    # --- a paper -----------------------------------------------------------------------

    def _trial(self, paper: Paper) -> Mapping[str, Any]:
        mine = [row for row in self.rows.values() if row.claim.paper == paper.prefix]
        faults = [(fault, [r for r in mine if r.verdict == fault]) for fault in FAULTS]
        return {
            "paper": paper,
            "rows": mine,
            "counts": values.counts(mine),
            "faults": [(fault, rows) for fault, rows in faults if rows],
            "untried": [
                r
                for r in mine
                if r.record is None and r.claim.expected is Outcome.REFUTED
            ],
            "slips": misprints.of(paper.prefix),
            "earlier": sum(
                row.remark == values.EARLIER and bool(row.claim.cases) for row in mine
            ),
            "without": _without(mine),
        }

    def _paper(self, paper: Paper) -> tuple[str, str]:
        trial = self._trial(paper)
        prose = HERE / "prose" / f"{paper.prefix}.md"
        said = prose.read_text(encoding="utf-8") if prose.exists() else ""
        mine = self._of_paper(paper)
        shown_by = {s.picture.name: self._naming(s) for s in mine}
        parts = [
            f"# {_escaped(paper.title)}",
            _raw(self._render("paper_head.html", "../", **trial)),
            said.strip(),
            "## What is false, or not reproduced",
            _raw(self._render("paper_faults.html", "../", **trial)),
            "## Claims",
            _raw(
                self._render(
                    "paper_legend.html", "../", graph=self._overview(paper), **trial
                )
            ),
        ]
        for _, chapter, rows in self._chapters(paper):
            parts += [
                f"({_slug(paper, chapter)})=\n### {_escaped(chapter)}",
                _raw(
                    self._render(
                        "paper_chapter.html",
                        "../",
                        rows=rows,
                        title=chapter,
                        graph=self._graph(rows, chapter),
                    )
                ),
            ]
        parts += ["## Figures"] if mine else []
        for one in mine:
            parts.append(
                _raw(
                    self._render(
                        "paper_figure.html",
                        "../",
                        one=one,
                        rows=shown_by[one.picture.name],
                    )
                )
            )
        return f"{paper.prefix}.md", "\n\n".join(parts) + "\n"

    def _naming(self, one: Shown) -> list[Row]:
        return [r for r in self.rows.values() if r.claim.figure == one.picture.name]

    def _overview(self, paper: Paper) -> Markup:
        """Draw every claim of a paper, and what it rests on."""
        chapters = {
            chapter: [_node(row, row.kind, row.claim.uses) for row in rows]
            for _, chapter, rows in self._chapters(paper)
        }
        title = f"All claims of the paper, and what they rest on: {paper.title}"
        return Markup(overview(chapters, title=title))

    def _graph(self, rows: Sequence[Row], chapter: str) -> Markup:
        """Draw a chapter's claims, and those of other chapters that they rest on."""
        mine = {row.claim.id for row in rows}
        used = {name for row in rows for name in row.claim.uses} - mine
        others = [row for name, row in self.rows.items() if name in used]
        nodes = [
            *(_node(row, row.kind, row.claim.uses) for row in rows),
            *(_node(row, f"{row.kind} elsewhere", ()) for row in others),
        ]
        return Markup(picture(nodes, title=f"What claims rest on: {chapter}"))

    # --- a figure ----------------------------------------------------------------------

    def _figure(self, one: Shown) -> tuple[str, str]:
        body = self._render("figure_page.html", "../", one=one, rows=self._naming(one))
        return f"{one.picture.name}.md", _page(one.picture.title, body, orphan=True)

    def _groups(self) -> list[tuple[Paper, list[Shown]]]:
        return [(paper, mine) for paper in papers() if (mine := self._of_paper(paper))]

    def _of_paper(self, paper: Paper) -> list[Shown]:
        claims = [row.claim for row in self.rows.values()]
        return [
            s
            for s in self.figures.values()
            if figures.topic(s.picture, claims) == paper.prefix
        ]


@dataclass(frozen=True)
class _Inline:
    """The figure of a claim's page, in the page's colours, or why there is none."""

    figures: Mapping[str, Shown]

    def of(self, row: Row) -> Markup:
        one = self.figures.get(row.claim.figure)
        if one is None:
            return Markup()
        return Markup(self._template.render(one=one))

    @cached_property
    def _template(self) -> Template:
        return _environment("../", {}).get_template("inline_figure.html")


def _without(rows: Iterable[Row]) -> int:
    """Count claims without a record."""
    return sum(row.outcome == values.NOT_RUN for row in rows)


def _environment(prefix: str, rows: Mapping[str, Row]) -> Environment:
    """Return the report's templates and the site's, with links below `prefix`.

    Ids of `rows` in a text become links.
    """

    def link(row: Row) -> str:
        return f"{prefix}claims/{anchor(row.claim.id)}.html"

    def linked(found: re.Match[str]) -> str:
        row = rows.get(found[1])
        if row is None:
            return found[0]
        title, place = escape(row.claim.title), link(row)
        return (
            f'<a class="ref {row.kind}" href="{place}" title="{title}">{found[1]}</a>'
        )

    def dressed(value: str) -> Markup:
        return Markup(re.sub(r"<code>(\w+/[\w.-]+)</code>", linked, text(value)))

    made = templates().overlay()
    made.loader = ChoiceLoader([FileSystemLoader(HERE / "templates"), made.loader])
    # A copy: the report links within its page.
    made.filters = {
        **made.filters,
        "link": link,
        "dressed": dressed,
        "hint": lambda row: Markup(' title="{}"').format(row.claim.title),
        "short": lambda paper: references.short_citation(paper.key),
    }
    return made


def _page(title: str, body: str, *, orphan: bool) -> str:
    head = "---\norphan: true\n---\n\n" if orphan else ""
    return f"{head}# {_escaped(title)}\n\n{_raw(body)}\n"


def _raw(html: str) -> str:
    # A blank line is harmless inside the fence; a fence of the same length is not.
    return f"````{{raw}} html\n{html.strip()}\n````"


def _escaped(text: str) -> str:
    """Return plain text as Markdown that shows it as it is."""
    return _SPECIAL.sub(r"\\\1", text)


def _node(row: Row, kind: str, uses: tuple[str, ...]) -> Node:
    return Node(
        name=row.claim.id,
        label=row.claim.id.partition("/")[2],
        title=f"{row.claim.title} ({row.verdict})",
        link=f"../claims/{anchor(row.claim.id)}.html",
        kind=kind,
        uses=uses,
    )


def _slug(paper: Paper, chapter: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", chapter.lower()).strip("-")
    return f"{paper.prefix}-{words}"
