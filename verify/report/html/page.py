"""The whole page: what its templates show."""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from empirical.testbed.ending import counted
from verify import misprints, references
from verify.claim import FAULTS, Evidence, Profile
from verify.compare import Outcome
from verify.figures.runs import Folder, Records
from verify.items import Paper, papers
from verify.paths import SCALES, folder_of
from verify.reading import Reading
from verify.records import Record, path_of
from verify.report import rows as values
from verify.report.html import pictures
from verify.report.html.templating import SHOWN_CASES, templates
from verify.report.rows import NOT_RUN, STALE, Row

HERE = Path(__file__).parent
OUTCOMES = (
    ("holds", "holds", "found as stated, by a check that notices a wrong prediction"),
    (
        "loose",
        "holds, loosely",
        "a bound that could be half as large in every case, and nobody would notice",
    ),
    (
        "refuted",
        "false, not reproduced",
        (
            "refuted, and the corrected form holds on the same numbers: false as printed,"
            " if the text says so; false as read, if a formula was restored or is one of"
            " several that fit; false, as expected, if the paper does not claim it; not"
            " reproduced, if it is a trend of training"
        ),
    ),
    (
        "undecided",
        "undecided, vacuous",
        "the measurement cannot tell, or the bound is one that nothing could exceed",
    ),
    ("bad", "anything else", "the claim, the code or the control is wrong"),
    ("pending", "stale, not run", "no record of the present sources"),
    ("open", "open", "cannot be checked yet, for the reason given"),
)


def as_html(
    rows: Sequence[Row],
    *,
    profile: Profile = Profile.QUICK,
    whole: bool = True,
    runs: Records | None = None,
    published: Sequence[Folder] = (),
    records: Path | None = None,
) -> str:
    """Return the report as one self-contained HTML page, figures and style included.

    It loads nothing, and is the same text for the same records. Its one script, of search
    and filters, is allowed by its digest; without it all is there.

    Parameters
    ----------
    rows : sequence of Row
        The claims to show.
    profile : Profile
        Named in the page.
    whole : bool
        Whether `rows` are all claims there are. Otherwise what covers the paper is left
        out, and of the figures only those of `rows` are drawn.
    runs : mapping, optional
        Records of trained networks by configuration, which some figures show.
    published : sequence of Folder
        Those of other scales, for figures of which `runs` lack a network.
    records : Path, optional
        Folder of the records, by profile, as seen from the page: claims link to theirs.
    """
    drawn = pictures.draw(rows, whole=whole, runs=runs, published=published)
    papers = tuple(OnTrial.of(rows))
    script = _file("script.js")
    red = sum(not row.settled for row in rows)
    waiting = [r for r in rows if r.outcome in (STALE, NOT_RUN) and not r.refused]
    found = [row.record for row in rows if row.record is not None]
    context: dict[str, Any] = {
        "rows": rows,
        "papers": papers,
        "drawn": drawn,
        "whole": whole,
        "profile": profile.value,
        "scale": SCALES[profile.value],
        "title": f"Ledger: {counted(len(rows), 'claim')}, "
        + (f"{red} not settled" if red else "all as expected"),
        "headline": _headline(papers),
        "style": Markup(_file("style.css")),
        "script": Markup(script),
        "policy": policy(script),
        "places": {name: f"#{name}" for name in ("attention", "counts", "findings")},
        "count": Counter(row.kind for row in rows),
        "counts": values.counts(rows),
        "cases": sum(len(record.cases) for record in found),
        "seconds": sum(record.seconds for record in found),
        "waiting": waiting,
        "wrong": [row for row in rows if not row.settled and row not in waiting],
        "refuted": [row for row in rows if row.claim.expected is Outcome.REFUTED],
        "misprints": [
            (one.paper.key, m) for one in papers for m in misprints.of(one.paper.prefix)
        ],
        "by_evidence": values.by_evidence(rows),
        "meanings": {kind.value: kind.meaning for kind in Evidence},
        "plural": {kind.value: kind.plural for kind in Evidence},
        "verdicts": list(dict.fromkeys(row.verdict for row in rows)),
        "everything": {row.claim.id: row for row in rows},
        "shown_cases": SHOWN_CASES,
        "outcomes": OUTCOMES,
        "evidence": Evidence,
        "readings": Reading,
        "made_with": _made_with(found),
    }
    context["contents"] = _contents(context)
    made = templates().overlay()
    made.filters = {**made.filters, "record_link": partial(_record_link, records)}
    page = _CLOSED.sub("", made.get_template("page.html").render(context))
    return _TAG.sub(_unquoted, _BETWEEN.sub(r"\1", page))


_CLOSED = re.compile(r"</(?:td|th|tr|thead|tbody|tfoot|li|dt|dd|p)>\s*")
"""End tags that HTML lets be left out: of thousands of cells, a tenth of the page.

No paragraph stands in a link, where its end tag would be needed.
"""

_BETWEEN = re.compile(
    r"\s*\n\s*(</?(?:article|details|div|dl|figure|h[2-4]|header|p|section|svg|table|tr|ul)\b)"
)
"""Line breaks before blocks, which nobody sees."""

_TAG = re.compile(r"<[a-z][^<>]*>|<(script|style)>.*?</\1>", re.DOTALL)
_QUOTED = re.compile(r' ([a-z-]+)="([\w.:#/-]*[\w.:#-])"(?=[ >]|(/))')


def _unquoted(tag: re.Match[str]) -> str:
    """Leave out the quotes of attributes that need none, in tags but not in scripts."""
    # A slash would belong to the value.
    return tag[0] if tag[1] else _QUOTED.sub(_bare, tag[0])


def _bare(found: re.Match[str]) -> str:
    return f" {found[1]}={found[2]}{' ' if found[3] else ''}"


def _record_link(folder: Path | None, row: Row) -> str:
    """Return where the record of a row is, empty if nobody said."""
    if folder is None or row.record is None:
        return ""
    place = folder_of(Profile(row.record.profile), folder)
    return path_of(row.claim.id, place).as_posix()


def policy(script: str) -> str:
    """Return the Content-Security-Policy of a page that holds `script` and no other."""
    # As it stands between the tags of the template.
    digest = hashlib.sha256(f"\n{script}".encode()).digest()
    allowed = base64.b64encode(digest).decode()
    return (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:;"
        f" script-src 'sha256-{allowed}'"
    )


@cache
def _file(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


class Item(NamedTuple):
    """An item of a paper, the claims that cover it, and whether anything does."""

    name: str
    rows: tuple[Row, ...]
    covered: bool


@dataclass(frozen=True)
class OnTrial:
    """A paper and its claims, as the page shows them."""

    paper: Paper
    rows: tuple[Row, ...]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Iterator["OnTrial"]:
        """Return the papers that `rows` are claims of, in the order of the ledger."""
        for paper in papers():
            mine = tuple(row for row in rows if row.claim.paper == paper.prefix)
            if mine:
                yield cls(paper, mine)

    @property
    def short(self) -> str:
        """Authors and year."""
        return references.short_citation(self.paper.key)

    @property
    def counts(self) -> Mapping[str, int]:
        """Claims by what was found."""
        return values.counts(self.rows)

    @property
    def finding(self) -> str:
        """What came of the paper, where no claim is otherwise than expected, or pending."""
        kinds = {row.kind for row in self.rows}
        return "" if kinds & {"bad", "pending"} else self.paper.finding

    @property
    def faults(self) -> Iterator[tuple[str, list[Row]]]:
        """The paper's false statements, by the way in which they are false."""
        for fault in FAULTS:
            these = [row for row in self.rows if row.verdict == fault]
            if these and fault != "false, as expected":
                yield fault, these

    @property
    def groups(self) -> Iterator[tuple[str, tuple[Row, ...]]]:
        """The claims by the section of the paper that lists their first item."""
        for _, title, these in values.chapters(self.rows):
            yield title, these

    @property
    def coverage(self) -> Iterator[tuple[str, list[Item]]]:
        """The claims that cover each item, section by section."""
        slips = {m.item for m in misprints.of(self.paper.prefix)}
        for title, names in self.paper.sections:
            items: list[Item] = []
            for name in names:
                these = tuple(row for row in self.rows if name in row.claim.items)
                items.append(Item(name, these, bool(these) or name in slips))
            yield title, items


def _headline(papers: Sequence[OnTrial]) -> str:
    if len(papers) == 1:
        return papers[0].paper.title
    words = {2: "Two", 3: "Three", 4: "Four", 5: "Five"}
    number = words.get(len(papers), str(len(papers)))
    return f"{number} papers on deep learning, on trial" if papers else "Ledger"


def _contents(context: Mapping[str, Any]) -> list[tuple[str, str]]:
    unsettled = context["wrong"] or context["waiting"]
    places = (
        ("papers", "In a minute", True),
        ("attention", "Not settled", unsettled),
        ("figures", "Figures", context["drawn"].gallery),
        ("findings", "What is false", context["refuted"]),
        ("counts", "How it is known", True),
        ("claims", "All claims", True),
        ("sections", "Claim by claim", True),
        ("coverage", "Coverage", context["whole"]),
        ("reading", "How to read this", True),
    )
    return [(name, words) for name, words, there in places if there]


def _made_with(records: Sequence[Record]) -> list[str]:
    """Say on what the records were made, once for each different environment."""
    found = dict.fromkeys(
        f"{r.machine}, {r.device}; "
        + ", ".join(f"{name} {version}" for name, version in r.packages.items())
        for r in records
    )
    return list(found)
