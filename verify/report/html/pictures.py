"""The figures of a page: each drawn once, shown near the top and with its claim."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from verify import figures
from verify.compare import flatten
from verify.figures import Missing, Picture
from verify.figures.compact import Common
from verify.figures.runs import Folder, Records
from verify.records import CaseRecord, Record
from verify.report.html import templating
from verify.report.html.markup import anchor, text
from verify.report.numbers import as_fields
from verify.report.rows import Row

_FALLBACK = re.compile(r", #\w+\)")


@dataclass(frozen=True)
class Drawn:
    """A picture as markup: SVG, a table, or the reason why there is neither.

    `scale` is that of the networks that it shows, where it is not the page's own; it
    `lacks` networks if that is why there is none.
    """

    picture: Picture
    name: str
    body: str
    rows: tuple[Row, ...]
    scale: str = ""
    lacks: bool = False

    def whole(self) -> Markup:
        """Return the figure itself."""
        return self._figure(self.name, Markup(self.body))

    def again(self) -> Markup:
        """Return the figure where it is repeated: a reference to the drawing."""
        if not self.body.startswith("<svg"):
            # No id twice on a page: neither the figure's nor its table's.
            return self._figure(
                "", Markup(self.body.replace(f' id="{self.name}"', "", 1))
            )
        reference = Markup(
            '<svg class="plot" viewBox="{}" role="img" aria-labelledby="{}-caption">'
            '<use href="#{}" width="100%" height="100%"/></svg>'
        )
        view = self.body.split('viewBox="', 1)[1].split('"', 1)[0]
        return self._figure("", reference.format(view, self.name, self.name))

    def _figure(self, name: str, body: Markup) -> Markup:
        template = templating.templates().get_template("figure.html")
        return Markup(
            template.render(name=name, body=body, drawn=self, picture=self.picture)
        )


@dataclass(frozen=True)
class Pictures:
    """All figures of a page: those shown on top, and those only with their claim.

    `common` are the styles and symbols that their drawings share.
    """

    gallery: tuple[Drawn, ...]
    others: dict[str, Drawn]
    common: Common

    @property
    def sheet(self) -> Markup:
        """The drawings' style sheet."""
        # A page has its own colours.
        return Markup(_FALLBACK.sub(")", self.common.sheet("svg")))

    @property
    def symbols(self) -> Markup:
        """Markers and clips that drawings refer to."""
        return Markup(self.common.definitions())

    def of(self, row: Row) -> Markup:
        """Return the figure of a claim's section, empty where it has none."""
        name = row.claim.figure
        if not name:
            return Markup()
        other = self.others.get(row.claim.id)
        if other is not None:
            return other.whole()
        return next(d.again() for d in self.gallery if d.picture.name == name)


def draw(
    rows: Sequence[Row],
    *,
    whole: bool = True,
    runs: Records | None = None,
    published: Sequence[Folder] = (),
) -> Pictures:
    """Draw every picture of theory, and those of the records that there are.

    Unless the rows are not the `whole` ledger: then only the pictures that they name,
    and those of the topic that several of them share. `runs` are the records of trained
    networks, none by default; what they lack is drawn from the first of the `published`
    that has it.
    """
    common = Common(prefix="s")
    gallery: list[Drawn] = []
    others: dict[str, Drawn] = {}
    for picture in figures.pictures():
        mine = [row for row in rows if row.claim.figure == picture.name]
        if not (mine or whole or _shared(picture.topic, rows)):
            continue
        if picture.from_runs:
            gallery.append(_of_runs(picture, common, mine, runs, published))
            continue
        if picture.from_theory:
            gallery.append(_drawn(picture, common, mine))
            continue
        recorded = sorted(
            (row for row in mine if row.record is not None), key=_size, reverse=True
        )
        if not recorded:
            gallery.append(_missing(picture, mine))
            continue
        first, *rest = recorded
        gallery.append(_drawn(picture, common, [first], record=first.record))
        for row in rest:
            name = f"{picture.name}-{anchor(row.claim.id).replace('.', '-')}"
            others[row.claim.id] = _drawn(
                picture, common, [row], record=row.record, name=name
            )
    return Pictures(tuple(gallery), others, common)


def _shared(topic: str, rows: Sequence[Row]) -> bool:
    """Whether there are several rows, all of a topic."""
    same = all(row.claim.id.startswith(topic) for row in rows)
    return bool(topic) and len(rows) > 1 and same


def _of_runs(
    picture: Picture,
    common: Common,
    rows: Sequence[Row],
    runs: Records | None,
    published: Sequence[Folder],
) -> Drawn:
    own = _drawn(picture, common, rows, runs=runs)
    if not own.lacks:
        return own
    others = (
        replace(_drawn(picture, common, rows, runs=each), scale=each.scale)
        for each in published
    )
    return next((other for other in others if not other.lacks), own)


def _drawn(
    picture: Picture,
    common: Common,
    rows: Sequence[Row],
    *,
    record: Record | None = None,
    name: str = "",
    runs: Records | None = None,
) -> Drawn:
    name = name or picture.name
    try:
        body = picture.markup(record, runs=runs, name=name, common=common)
    except Missing as error:
        reason = f"Drawn from trained networks, not all of which are there: {error}."
        body = _note(reason, "pending")
        return Drawn(picture, name, body, tuple(rows), lacks=True)
    except (KeyError, TypeError, ValueError) as error:
        body = _note(f"This figure cannot be drawn: {error}", "bad")
    return Drawn(picture, name, body, tuple(rows))


def _missing(picture: Picture, rows: Sequence[Row]) -> Drawn:
    reason = "Drawn from a record, and none of the claims shown here has one."
    return Drawn(picture, picture.name, _note(reason, "pending"), tuple(rows))


def _note(reason: str, kind: str) -> str:
    # What it quotes, a command say, stands in backticks.
    return str(Markup('<p class="no-figure {}">{}</p>').format(kind, text(reason)))


def _size(row: Row) -> int:
    """How many numbers a record holds: the fullest one is shown on top."""
    assert row.record is not None
    return sum(len(flatten(_mean(case))) for case in row.record.cases)


def _mean(case: CaseRecord) -> Any:
    return as_fields(case.measured).get("mean", case.measured)
