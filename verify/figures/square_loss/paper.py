"""One figure of the paper: what it needs, how it is drawn, what to see."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from verify.figures.runs import Records, told, training_command
from verify.figures.square_loss.runs import MODULE, Run, remarks, select
from verify.figures.style import Figure, with_remarks


@dataclass(frozen=True)
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
    plate : callable
        Runs to figure, a list of them for each configuration's data sets.
    needs : tuple of str
        Configurations, without the data set; each must have a record.
    """

    number: int
    title: str
    caption: str
    paper: str
    plate: Callable[[Sequence[Run]], Figure]
    needs: tuple[str, ...]

    @property
    def words(self) -> str:
        """The whole caption."""
        return f"{self.caption} In the paper: {self.paper}"

    def __call__(self, records: Records) -> Figure:
        """Draw the figure; draws that diverged, died or stayed wrong are named below.

        Raises
        ------
        Missing
            If a record or one of its series is not there.
        """
        who = f"figure {self.number}" if self.number else self.title.lower()
        # The families' stacks are not all of a figure: then the whole batch is meant.
        options = f"--figures {self.number}" if self.number else ""
        with told(who, training_command(MODULE, records, options)):
            runs = select(records, self.needs)
        with told(who):
            figure = self.plate(runs)
        return with_remarks(figure, remarks(runs))
