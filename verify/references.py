"""The bibliography that sources refer to: ``verify/references.bib``."""

import re
from functools import cache
from pathlib import Path
from types import MappingProxyType

from verify.items import papers

BIBLIOGRAPHY = Path(__file__).with_name("references.bib")
"""The project's own; papers of other packages bring theirs."""

_ENTRY = re.compile(r"@\w+\{([^,\s]+),(.*?)\n\}", re.DOTALL)
_FIELD = re.compile(r"(\w+)\s*=\s*\{(.*?)\},?\s*$", re.MULTILINE)


@cache
def load() -> MappingProxyType[str, dict[str, str]]:
    """Return the fields of every entry by key.

    >>> load()["agarwal2021deep"]["year"]
    '2021'
    """
    own = BIBLIOGRAPHY.read_text(encoding="utf-8")
    text = "\n".join([own, *(paper.bibliography for paper in papers())])
    entries = {key: dict(_FIELD.findall(body)) for key, body in _ENTRY.findall(text)}
    return MappingProxyType(entries)


def short_citation(key: str) -> str:
    """Return surnames and year.

    >>> short_citation("agarwal2021deep")
    'Agarwal, Awasthi & Kale 2021'
    """
    entry = load()[key]
    names = [name.partition(",")[0] for name in entry["author"].split(" and ")]
    if len(names) > 3:
        who = f"{names[0]} et al."
    elif len(names) > 1:
        who = f"{', '.join(names[:-1])} & {names[-1]}"
    else:
        who = names[0]
    return f"{who} {entry['year']}"


def origin(key: str) -> str:
    """Return the same but for the title, to stand below that."""
    entry = load()[key]
    return full_citation(key).replace(f"{entry['title']}. ", "", 1)


def full_citation(key: str) -> str:
    """Return authors, title, venue, year and note as one line of text."""
    entry = load()[key]
    authors = "; ".join(entry["author"].split(" and "))
    venue = entry.get("booktitle") or entry.get("journal") or entry.get("publisher", "")
    parts = [authors, entry["title"], venue, entry["year"], entry.get("note", "")]
    return ". ".join(part for part in parts if part) + "."
