"""How the words of a statement are known."""

from enum import Enum


class Reading(Enum):
    """How the words of a statement are known.

    The conditioning paper reached us without its formulas: they were restored from its
    proofs, so that none of its statements is quoted.
    """

    QUOTED = "quoted"
    FORCED = "forced"
    READING = "reading"
    OURS = "ours"

    @property
    def meaning(self) -> str:
        """What the word says, in one sentence."""
        return {
            Reading.QUOTED: "it stands so in the text before us",
            Reading.FORCED: "the formula is restored: the proof leaves only this one",
            Reading.READING: "one of several formulas or senses that fit the words",
            Reading.OURS: "a sharpening, correction or addition that is not in the paper",
        }[self]
