"""The whole page, put together from its parts."""

from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path

from verify.claim import Evidence, Profile
from verify.figures.runs import Records
from verify.reading import Reading
from verify.report.html import claim, overview, pictures
from verify.report.rows import Row

STYLESHEET = Path(__file__).with_name("style.css")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""The page runs no script and loads nothing, whatever a record holds."""


def as_html(
    rows: Sequence[Row],
    *,
    profile: Profile = Profile.QUICK,
    whole: bool = True,
    runs: Records | None = None,
) -> str:
    """Return the report as one self-contained HTML page, figures and style included.

    It needs no scripts, loads nothing, and is the same text for the same records.

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
    """
    drawn = pictures.draw(rows, whole=whole, runs=runs)
    body = "\n".join(
        part
        for part in (
            overview.opening(rows, profile.value),
            _contents(rows, drawn, whole=whole),
            overview.attention(rows),
            overview.matrix(rows),
            overview.findings(rows),
            _gallery(drawn),
            overview.coverage(rows) if whole else "",
            overview.table(rows),
            _sections(rows, drawn),
            _reading(rows),
        )
        if part
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{_title(rows)}</title>\n<style>\n{_stylesheet()}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


@cache
def _stylesheet() -> str:
    return STYLESHEET.read_text(encoding="utf-8")


def _title(rows: Sequence[Row]) -> str:
    red = sum(not row.settled for row in rows)
    state = f"{red} not settled" if red else "all as expected"
    return escape(f"Ledger: {len(rows)} claims, {state}")


def _contents(rows: Sequence[Row], drawn: pictures.Pictures, *, whole: bool) -> str:
    places = [("counts", "Counts")]
    if any(not row.settled for row in rows):
        places.insert(0, ("attention", "Not settled"))
    places += [("findings", "What is false")] if overview.findings(rows) else []
    places += [("figures", "Figures")] if drawn.gallery else []
    places += [("coverage", "Coverage")] if whole else []
    places += [
        ("claims", "All claims"),
        ("sections", "Claim by claim"),
        ("reading", "How to read this"),
    ]
    links = "".join(f'<li><a href="#{name}">{words}</a></li>' for name, words in places)
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>'


def _gallery(drawn: pictures.Pictures) -> str:
    if not drawn.gallery:
        return ""
    shown = "\n".join(one.whole() for one in drawn.gallery)
    return (
        '<section id="figures"><h2>Figures</h2>'
        f'<div class="strip">{shown}</div></section>'
    )


def _sections(rows: Sequence[Row], drawn: pictures.Pictures) -> str:
    everything = {row.claim.id: row for row in rows}
    parts = ['<section id="sections"><h2>Claim by claim</h2>']
    for _, title, these in overview.groups(rows):
        parts.append(f'<h2 class="part">{escape(title)}</h2>')
        parts += [claim.section(row, everything, drawn.of(row)) for row in these]
    return "\n".join(parts) + "</section>"


_OUTCOMES = (
    ("holds", "holds", "a wrong prediction would have been noticed, this one was not"),
    (
        "loose",
        "holds, loosely",
        "a bound that could be half as large in every case, and nobody would notice",
    ),
    (
        "refuted",
        "false, not reproduced",
        (
            "as printed, or as read where a formula was restored or several senses fit; the"
            " correction holds on the same numbers"
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


def _reading(rows: Sequence[Row]) -> str:
    outcomes = "".join(
        f'<dt><span class="verdict {kind}">{name}</span></dt><dd>{meaning}.</dd>'
        for kind, name, meaning in _OUTCOMES
    )
    readings = "".join(
        f"<dt>{reading.value}</dt><dd>{escape(reading.meaning)}.</dd>"
        for reading in Reading
    )
    kinds = "".join(
        f"<dt>{kind.value}</dt><dd>{escape(kind.meaning)}.</dd>" for kind in Evidence
    )
    return (
        '<section id="reading" class="reading"><h2>How to read this</h2>'
        f'<h3>Outcomes</h3><dl class="facts">{outcomes}</dl>'
        "<h3>Evidence, strongest first: what <em>holds</em> means</h3>"
        f'<dl class="facts">{kinds}</dl>'
        "<p>The <em>gap</em> separates measurement and prediction in the worst case;"
        " for a bound it is how far the measurement lies beyond it, negative inside."
        " <em>Would have caught</em>, or <em>resolves</em>, is the smallest error that"
        " this measurement would have noticed; for a bound, the factor by which it could"
        " shrink unnoticed. Every claim is also refuted on purpose:"
        " its control is a wrong prediction that has to fail, or, where the statement"
        " is false, a corrected one that has to hold.</p>"
        f"<h3>How the words of a statement are known</h3>"
        f'<dl class="facts">{readings}</dl>'
        f"{_environment(rows)}</section>"
    )


def _environment(rows: Sequence[Row]) -> str:
    """Say on what the records were made, once for each different environment."""
    records = [row.record for row in rows if row.record is not None]
    found = dict.fromkeys(
        f"{r.machine}, {r.device}; "
        + ", ".join(f"{name} {version}" for name, version in r.packages.items())
        for r in records
    )
    lines = "".join(f"<li>{escape(line)}</li>" for line in found)
    return f'<h3>Made with</h3><ul class="made">{lines}</ul>' if lines else ""
