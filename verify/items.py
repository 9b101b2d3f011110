"""Every numbered item of every paper, in the paper's order: what the ledger must cover.

Those of the project's own papers stand in ``items.toml``. A claim names the items it
covers in ``Claim.items``; `verify.ledger.coverage` compares.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points

from verify.paths import toml_beside
from verify.reading import Reading

Sections = tuple[tuple[str, tuple[str, ...]], ...]
"""Titles of a paper's sections, and the items below each."""


@dataclass(frozen=True)
class Paper:
    """A paper on trial.

    Attributes
    ----------
    prefix, key, title : str
        Of claim ids; in ``references.bib``; as printed.
    sections : tuple
        Titles and the items below them.
    reading : Reading
        How the words of its statements are known, where a claim's source says no other.
    finding : str
        What the trial found, in a sentence or two.
    claims, pictures : str
        Of a paper in another package: the module or package of its claims, and a module
        whose tuple ``PICTURES`` they name.
    bibliography : str
        Its BibTeX: the entry of `key`, and what else its claims cite.
    """

    prefix: str
    key: str
    title: str
    sections: Sections
    reading: Reading = Reading.QUOTED
    finding: str = ""
    claims: str = ""
    pictures: str = ""
    bibliography: str = ""

    @property
    def items(self) -> tuple[str, ...]:
        """All item ids, in the paper's order."""
        return tuple(item for _, items in self.sections for item in items)

    def section_of(self, items: tuple[str, ...]) -> str:
        """Return the title of the section that lists the first of `items`."""
        for title, members in self.sections:
            if items and items[0] in members:
                return title
        raise ValueError(f"{self.prefix}: no section lists the items {items}")


def _declared() -> Iterator[Paper]:
    for prefix, given in toml_beside(__file__).items():
        named = given.pop("sections").items()
        sections = tuple((title, tuple(names.split())) for title, names in named)
        how = Reading(given.pop("reading", Reading.QUOTED))
        yield Paper(prefix=prefix, sections=sections, reading=how, **given)


PAPERS: tuple[Paper, ...] = tuple(_declared())
"""The project's own papers, in the order of the report."""

GROUP = "deep_ledger.papers"
"""Entry points of other packages: each is a `Paper`."""


@cache
def papers() -> tuple[Paper, ...]:
    """Return the project's papers, then those of installed packages, by entry point.

    Raises
    ------
    TypeError
        If an entry point is no `Paper`.
    ValueError
        If two papers have the same prefix.
    """
    found = list(PAPERS)
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        loaded = point.load()
        if not isinstance(loaded, Paper):
            raise TypeError(
                f"papers: the entry point {point.name} of {GROUP} must be a Paper, got"
                f" {type(loaded).__name__}"
            )
        found.append(loaded)
    counted = Counter(each.prefix for each in found)
    if twice := [prefix for prefix, count in counted.items() if count > 1]:
        raise ValueError(f"papers: `prefix` must be unique, but {twice} are not")
    return tuple(found)


def paper(prefix: str) -> Paper:
    """Return the paper of a claim's prefix.

    >>> paper("dc").items[:2]
    ('Eq1', 'Fn1')
    """
    for candidate in papers():
        if candidate.prefix == prefix:
            return candidate
    known = ", ".join(p.prefix for p in papers())
    raise ValueError(f"paper: `prefix` must be one of {known}, got {prefix!r}")


def named(claim: str) -> tuple[str, ...]:
    """Return the item that a claim's id names, spelt as in its paper's list, if any.

    >>> named("dc/lemC.2-sharp"), named("dc/of-our-own")
    (('LemC.2',), ())
    """
    prefix, _, name = claim.partition("/")
    wanted = name.partition("-")[0].lower()
    return tuple(item for item in paper(prefix).items if item.lower() == wanted)


def reading(prefix: str, key: str) -> Reading:
    """Return how statements of a source are known; of other papers, ours to vouch for.

    >>> reading("dc", "agarwal2021deep").value, reading("dc", "lee2019wide").value
    ('forced', 'ours')
    """
    home = paper(prefix)
    return home.reading if key == home.key else Reading.OURS
