"""One figure of the paper: what it needs, how it is drawn, what to see."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from verify.figures.identity_map.runs import MODULE, Run, remarks, select
from verify.figures.runs import Missing, Records, told, training_command
from verify.figures.style import Figure, with_remarks

CNN, PREDICTED, MAPPED = ("cnn-depth-*",), ("curve", "predictions"), ("heatmap",)
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
class PaperFigure:
    """A figure of Zhang, Bengio, Hardt, Mozer, Singer 2020, drawn from run records.

    Attributes
    ----------
    number : int
        As printed.
    title : str
    caption : str
        One sentence that says what to see.
    paper : str
        What the printed figure shows.
    plate : callable
        Runs to figure.
    needs : tuple of str
        Configurations, by patterns of their names; each must match a record.
    sections : tuple of str
        What must have been measured.
    also : tuple of str
        Configurations that are shown where they have a record.
    companions : bool
        Whether plain convolutional networks of the same depths belong to a sweep.
    """

    number: int
    title: str
    caption: str
    paper: str
    plate: Callable[[Sequence[Run]], Figure]
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
        """Return the runs that the figure shows.

        Raises
        ------
        Missing
            If there are none; the message names the configurations and the command that
            makes their records.
        """
        needs = _with_biases(self.needs, records)
        absent = [p for p in needs if not select(records, (p,))]
        if absent:
            made = training_command(MODULE, records, f"--figures {self.number}")
            raise Missing(
                f"figure {self.number}: no record of {', '.join(absent)}; `{made}`"
                " makes them"
            )
        return select(records, needs + self.also, companions=self.companions)

    def __call__(self, records: Records) -> Figure:
        """Draw the figure; what diverged or stalled is said below it.

        Raises
        ------
        Missing
            If a record or one of its sections is not there.
        """
        runs = self.runs(records)
        with told(f"figure {self.number}"):
            figure = self.plate(runs)
        return with_remarks(figure, remarks(runs))


def _with_biases(needs: tuple[str, ...], records: Records) -> tuple[str, ...]:
    """Return patterns of the depth curve's networks with biases, where they are there."""
    biased = "biased-depth-*"
    if not select(records, (biased,)):
        return needs
    return tuple(biased if each == "cnn-depth-*" else each for each in needs)
