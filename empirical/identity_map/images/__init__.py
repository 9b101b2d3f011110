"""Images to train on and to test with: digits, mixtures, patterns, any size or colour.

Every picture carries where it comes from, for the record.
"""

from empirical.identity_map.images.own import own
from empirical.identity_map.images.pictures import (
    STANDARDS,
    Pictures,
    checked,
    joined,
    level,
    place,
    resize,
    standardised,
)
from empirical.identity_map.images.sources import (
    MIXED,
    PATTERNS,
    channelled,
    chosen,
    mixture,
    patterns,
    unseen,
)

__all__ = [
    "MIXED",
    "PATTERNS",
    "STANDARDS",
    "Pictures",
    "channelled",
    "checked",
    "chosen",
    "joined",
    "level",
    "mixture",
    "own",
    "patterns",
    "place",
    "resize",
    "standardised",
    "unseen",
]
