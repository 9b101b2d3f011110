"""What the papers misprint: statements that contradict their own tables, text or units.

No measurement decides these, so they are no claims: each stands in ``misprints.toml`` with
what is printed and what it should be.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from verify.paths import toml_beside


@dataclass(frozen=True)
class Misprint:
    """A slip of the pen.

    Attributes
    ----------
    paper, item : str
        The paper's prefix and the item of its specification.
    where, printed, correct : str
        The place, what stands there, and what it should be, or how one can tell.
    """

    paper: str
    item: str
    where: str
    printed: str
    correct: str


def _read() -> Iterator[Misprint]:
    for paper, slips in toml_beside(__file__).items():
        yield from (Misprint(paper, **slip) for slip in slips)


MISPRINTS: tuple[Misprint, ...] = tuple(_read())


def of(paper: str) -> tuple[Misprint, ...]:
    """Return the misprints of a paper.

    >>> [misprint.item for misprint in of("sl")]
    ['Err8', 'Err9', 'Err10']
    """
    return tuple(misprint for misprint in MISPRINTS if misprint.paper == paper)
