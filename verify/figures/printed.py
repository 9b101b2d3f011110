"""A figure of a paper: what it needs, how it is drawn, what to see."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from verify.figures.runs import Records, told, training_command
from verify.figures.style import Figure, with_remarks


@dataclass(frozen=True)
class Printed:
    """A figure of a paper, drawn from run records; each paper has a kind of its own.

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
        What is chosen of the records to figure.
    needs : tuple of str
        Configurations; each must have a record.
    """

    module: ClassVar[str]
    """What trains the runs."""

    number: int
    title: str
    caption: str
    paper: str
    plate: Callable[[Any], Figure]
    needs: tuple[str, ...]

    @property
    def words(self) -> str:
        """The whole caption."""
        return f"{self.caption} In the paper: {self.paper}"

    def runs(self, records: Records) -> Any:
        """Return what the figure shows of records.

        Raises
        ------
        Missing
            If one that it needs is not there.
        """
        raise NotImplementedError

    def remarks(self, found: Any) -> list[str]:
        """Return what is said below the figure, in sentences without full stops."""
        raise NotImplementedError

    def __call__(self, records: Records) -> Figure:
        """Draw the figure; what is not as it should be is said below it.

        Raises
        ------
        Missing
            If a record or a part of one is not there; the message names it, and of a
            record the command that makes it.
        """
        who = f"figure {self.number}" if self.number else self.title.lower()
        # Records of no figure are the whole batch's.
        options = f"--figures {self.number}" if self.number else ""
        with told(who, training_command(self.module, records, options)):
            found = self.runs(records)
        with told(who):
            figure = self.plate(found)
        return with_remarks(figure, self.remarks(found))
