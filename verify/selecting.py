"""Ids of claims: which ones a word names, and in which order they stand."""

import difflib
import re
from collections.abc import Sequence

from verify.items import papers
from verify.retired import RETIRED


def named(selector: str, known: Sequence[str]) -> set[str]:
    """Return the ids that `selector` names: an id, a paper, or the start of an id.

    A start never ends inside a number: ``dc/thm3`` finds ``dc/thm3.2``, but ``dc/eq1``
    not ``dc/eq14``. Upper and lower case are the same.

    Raises
    ------
    ValueError
        If nothing matches, with near ids, or what it names is retired, with the reason.
    """
    if selector in RETIRED:
        raise ValueError(f"{selector} is retired: {RETIRED[selector]}")
    same = {each for each in known if each.lower() == selector.lower()}
    if same:
        return {selector} & same or same
    start = re.compile(re.escape(selector) + r"(?!(?<=\d)\d)", re.IGNORECASE)
    matching = {each for each in known if selector and start.match(each)}
    if matching:
        return matching
    near = _near(selector, known)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    prefixes = ", ".join(paper.prefix for paper in papers())
    raise ValueError(
        f"CLAIM must be an id, the beginning of one or a paper ({prefixes}), but no claim"
        f" is called {selector!r}.{hint} `python -m verify list` shows every id."
    )


def _near(selector: str, known: Sequence[str]) -> list[str]:
    """Return what may have been meant: a name of a paper, the start of a pattern, ids."""
    start = selector.rstrip("*/").lower()
    for paper in papers():
        if start in (paper.prefix, paper.key, paper.title.lower()):
            return [paper.prefix]
    cut = start and start != selector.lower()
    if cut and any(each.lower().startswith(start) for each in known):
        return [start]
    ids = {each.lower(): each for each in known}
    near = difflib.get_close_matches(selector.lower(), ids, n=3, cutoff=0.5)
    return [ids[each] for each in near]


def order(claim: str) -> tuple[int, list[tuple[int, int, str]], str]:
    """Return the key by which ids are sorted: the paper, then numbers as numbers."""
    prefixes = [p.prefix for p in papers()]
    parts = re.split(r"(\d+)", claim.lower())
    natural = [(1, int(p), "") if p.isdigit() else (0, 0, p) for p in parts]
    return prefixes.index(claim.partition("/")[0]), natural, claim
