"""Tables of the report: one content, as HTML for pages and as Markdown for files."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

DASH = "–"
"""What stands where there is no number."""


@dataclass(frozen=True)
class Cell:
    """An entry of a table.

    Attributes
    ----------
    text : str
    strong : bool
        Whether it is printed bold.
    """

    text: str = DASH
    strong: bool = False


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows under two lines of headings, with notes below.

    Attributes
    ----------
    heads : tuple of str
        Headings of the leading columns, which name the rows.
    groups : tuple of (str, tuple of str)
        Headings of the others: each group's, and those of its columns.
    rows : tuple of (tuple of str, tuple of Cell)
        Names, one a leading column, and entries, one for each other.
    notes : tuple of str
        Sentences without their full stops.

    Raises
    ------
    ValueError
        If a row has another number of entries than there are headings.

    Examples
    --------
    >>> table = Table(
    ...     heads=("N",),
    ...     groups=(("accuracy", ("paper", "here")),),
    ...     rows=((("5",), (Cell("82.4"), Cell(strong=True))),),
    ... )
    >>> print(table.markdown())
    | N | accuracy: paper | accuracy: here |
    | --- | ---: | ---: |
    | 5 | 82.4 | **–** |
    """

    heads: tuple[str, ...]
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    rows: tuple[tuple[tuple[str, ...], tuple[Cell, ...]], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        wanted = len(self.heads), len(self.columns)
        for names, cells in self.rows:
            if (len(names), len(cells)) != wanted:
                raise ValueError(
                    f"Table: `rows` must have {wanted[0]} names and {wanted[1]} entries"
                    f" each, but {names} has {len(names)} and {len(cells)}"
                )

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Group and heading of each column of entries."""
        return tuple((group, name) for group, names in self.groups for name in names)

    def markdown(self) -> str:
        """Return the table in Markdown; notes are paragraphs below it."""
        headings = [f"{g}: {n}" if g and n else g or n for g, n in self.columns]
        lines = [
            _line([*self.heads, *headings]),
            _line(["---"] * len(self.heads) + ["---:"] * len(headings)),
            *(_line([*names, *map(_marked, cells)]) for names, cells in self.rows),
        ]
        return "\n".join([*lines, *(f"\n{note}." for note in self.notes)])

    def html(self, *, name: str, title: str) -> str:
        """Return the table in HTML.

        Parameters
        ----------
        name : str
            Its id, unique on the page.
        title : str
            What a screen reader says of it.
        """
        body = "".join(
            "<tr>"
            + "".join(f'<th scope="row">{escape(one)}</th>' for one in names)
            + "".join(f'<td class="n">{_tagged(cell)}</td>' for cell in cells)
            + "</tr>"
            for names, cells in self.rows
        )
        notes = " ".join(f"{escape(note)}." for note in self.notes)
        below = f'<p class="where">{notes}</p>' if notes else ""
        return (
            f'<div class="scroll"><table class="beside" id="{name}"'
            f' aria-label="{escape(title)}"><thead>{self._headings()}</thead>'
            f"<tbody>{body}</tbody></table></div>{below}"
        )

    def _headings(self) -> str:
        """Return one row of headings, or two where columns have names of their own."""
        two = any(name for _, name in self.columns)
        span = ' rowspan="2"' if two else ""
        first = "".join(
            f'<th scope="col"{span}>{escape(head)}</th>' for head in self.heads
        )
        for group, names in self.groups:
            scope = f'colgroup" colspan="{len(names)}' if two else "col"
            first += f'<th scope="{scope}" class="n">{escape(group)}</th>'
        second = "".join(
            f'<th scope="col" class="n">{escape(name)}</th>' for _, name in self.columns
        )
        return f"<tr>{first}</tr>" + (f"<tr>{second}</tr>" if two else "")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _marked(cell: Cell) -> str:
    return f"**{cell.text}**" if cell.strong else cell.text


def _tagged(cell: Cell) -> str:
    text = escape(cell.text)
    return f"<strong>{text}</strong>" if cell.strong else text
