"""One figure of the paper: what it needs, how it is drawn, what to see."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from verify.figures.identity_map.runs import MODULE, Run, remarks, select
from verify.figures.printed import Printed
from verify.figures.runs import Missing, Records

CNN, PREDICTED = ("cnn-depth-*",), ("curve", "predictions")
"""Of most figures: what they need, and what must have been measured."""

_OWN = "Black and white are each picture's own."
_NOTES: Mapping[tuple[str, ...], str] = {
    PREDICTED: (
        "Pictures are of the first seed; cosines beside them are means over seeds and"
        " over test images at correlations 0 to 1 with the training image."
    ),
    ("pictures",): _OWN,
    ("upper",): f"{_OWN} They are of the first seed, cosines are means over seeds.",
}
"""How to read what is shown, by the sections that it is taken from."""


@dataclass(frozen=True)
class PaperFigure(Printed):
    """A figure of Zhang, Bengio, Hardt, Mozer, Singer 2020; it needs patterns of names.

    Attributes
    ----------
    sections : tuple of str
        What must have been measured.
    also : tuple of str
        Configurations that are shown where they have a record.
    companions : bool
        Whether plain convolutional networks of the same depths belong to a sweep.
    """

    module = MODULE
    needs: tuple[str, ...] = CNN
    sections: tuple[str, ...] = PREDICTED
    also: tuple[str, ...] = ()
    companions: bool = False

    @property
    def words(self) -> str:
        """The whole caption."""
        note = _NOTES.get(self.sections, "")
        parts = (self.caption, note, f"In the paper: {self.paper}")
        return " ".join(part for part in parts if part)

    def runs(self, records: Records) -> list[Run]:
        """Return the runs that the figure shows; each pattern must match a record."""
        needs = _with_biases(self.needs, records)
        absent = [p for p in needs if not select(records, (p,))]
        if absent:
            raise Missing(f"no record of {', '.join(absent)}")
        return select(records, needs + self.also, companions=self.companions)

    def remarks(self, found: Sequence[Run]) -> list[str]:
        """Name networks that diverged, stalled or have not learnt."""
        return remarks(found)


def _with_biases(needs: tuple[str, ...], records: Records) -> tuple[str, ...]:
    """Return patterns of the depth curve's networks with biases, where they are there."""
    biased = "biased-depth-*"
    if not select(records, (biased,)):
        return needs
    return tuple(biased if each == "cnn-depth-*" else each for each in needs)
