"""Measured numbers in the sentences of documents: cells of the tables that are kept.

A sentence quotes a cell between two comments, ``<!--= TABLE; ROW; COLUMN -->0.73<!--/-->``.
Without a column it is the last one. Behind the column may stand which number of the cell
is meant, counted from 1, and how it is turned: ``percent``, ``exp`` or ``power`` of ten.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence

Rows = list[list[str]]

QUOTED = re.compile(r"<!--= (?P<cell>[^>]*?) -->(?P<said>[^<]*)<!--/-->")
_PARTS = re.compile(r"(?:^|; )[A-Z]\w+: |; | / | \(| to |\)")
"""What stands between the numbers of a cell, or before those of a law of starts."""

TURNED: Mapping[str, Callable[[float], float]] = {
    "percent": lambda value: 100.0 * value,
    "exp": math.exp,
    "power": lambda value: 10.0**value,
}


class Quotes:
    """Cells of kept tables, by the words with which sentences quote them.

    Parameters
    ----------
    tables : mapping
        Of each table's name its head and its rows.

    Examples
    --------
    >>> kept = {"speed": (("arm", "layers", "test"), [["ReLU", "16", "0.35 (0.1 to 0.4)"]])}
    >>> quotes = Quotes(kept)
    >>> quotes.cell("speed; ReLU, 16; test; 1"), quotes.cell("speed; ReLU, 16; test; 3")
    ('0.35', '0.4')
    >>> quotes.cell("speed; ReLU, 16; test; 1; percent")
    '35'
    >>> quotes.filled("It is <!--= speed; ReLU, 16; layers -->?<!--/--> deep.")
    'It is <!--= speed; ReLU, 16; layers -->16<!--/--> deep.'
    """

    def __init__(self, tables: Mapping[str, tuple[Sequence[str], Rows]]) -> None:
        self._tables = tables

    def cell(self, words: str) -> str:
        """Return what a sentence has to say.

        Raises
        ------
        LookupError
            If there is no such table, row, column or number; the message has the words.
        """
        name, key, *more = words.split("; ")
        try:
            head, rows = self._tables[name]
            (row,) = (row for row in rows if _is_of(row, key))
            text = row[list(head).index(more[0])] if more else row[-1]
            if len(more) > 1:
                text = [part for part in _PARTS.split(text) if part][int(more[1]) - 1]
            return _turned(text, TURNED[more[2]]) if len(more) > 2 else text
        except (LookupError, ValueError) as error:
            raise LookupError(f"no table has the cell {words!r}: {error}") from error

    def filled(self, text: str) -> str:
        """Return a document with every number as the tables have it."""
        return QUOTED.sub(
            lambda found: (
                f"<!--= {found['cell']} -->{self.cell(found['cell'])}<!--/-->"
            ),
            text,
        )


def _is_of(row: Sequence[str], key: str) -> bool:
    """Tell whether the first cells of a row, one or more, are what names it."""
    cells = [cell.strip("`") for cell in row]
    return any(", ".join(cells[:end]) == key for end in range(1, len(cells)))


def _turned(text: str, turn: Callable[[float], float]) -> str:
    """Turn a number, and keep two digits; an interval stays only what is linear."""
    parts = text.split(" ± ")
    linear = turn is TURNED["percent"]
    values = [turn(float(part.replace("−", "-"))) for part in parts]
    return " ± ".join(f"{float(f'{value:.2g}'):,g}" for value in values[: 1 + linear])
