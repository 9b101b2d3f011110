"""Where a paper's statements stand, by how their words are known."""

from collections.abc import Callable
from functools import partial

from verify.claim import Source
from verify.reading import Reading

Place = Callable[[str], Source]
"""Where a statement stands in a paper to its source."""


def readings(key: str) -> tuple[Place, Place, Place, Place]:
    """Return the places of a paper: as quoted, as read, as forced, and of what is ours.

    `key` is that of ``references.bib``; what each word says is a `Reading`'s meaning.
    """
    return (
        partial(Source, key),
        partial(Source, key, reading=Reading.READING),
        partial(Source, key, reading=Reading.FORCED),
        partial(Source, key, reading=Reading.OURS),
    )
