"""One figure of the paper: what it needs, how it is drawn, what to see."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verify.figures.runs import Missing, Records
from verify.figures.square_loss.runs import Run, how_to_train, remarks, select
from verify.figures.style import with_remarks

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True)
class PaperFigure:
    """A figure of Poggio and Liao 2021, or beside them, drawn from run records.

    Attributes
    ----------
    number : int
        As printed; 0 for one that the paper does not have.
    title : str
    caption : str
        What to see, and how the picture shows it.
    paper : str
        What the printed figure shows.
    needs : tuple of str
        Configurations, without the data set; each must have a record.
    plate : callable
        Runs to figure, a list of them for each configuration's data sets.
    """

    number: int
    title: str
    caption: str
    paper: str
    needs: tuple[str, ...]
    plate: "Callable[[Sequence[Run]], Figure]"

    @property
    def words(self) -> str:
        """The whole caption."""
        return f"{self.caption} In the paper: {self.paper}"

    def __call__(self, records: Records) -> "Figure":
        """Draw the figure; draws that diverged, died or stayed wrong are named below.

        Raises
        ------
        Missing
            If a record or one of its series is not there.
        """
        who = f"figure {self.number}" if self.number else self.title.lower()
        # The families' stacks are not all of a figure: then the whole batch is meant.
        options = f"--figures {self.number}" if self.number else ""
        try:
            runs = select(records, self.needs)
        except Missing as error:
            made = how_to_train(records, options)
            raise Missing(f"{who}: {error}; {made}") from error
        try:
            figure = self.plate(runs)
        except Missing as error:
            raise Missing(f"{who}: {error}") from error
        return with_remarks(figure, remarks(runs))
