"""One figure or table of the paper: what it needs, how it is made, what to see."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verify.figures.mmd_init.runs import (
    TRAINING,
    Stacks,
    how_to_train,
    remarks,
    select,
)
from verify.figures.runs import Missing, Records
from verify.figures.style import with_remarks
from verify.figures.tables import DASH, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True)
class PaperFigure:
    """A figure of Lee and Cho 2023, drawn from run records.

    Attributes
    ----------
    number : int
        As printed.
    title : str
    caption : str
        What to see, and how the picture shows it.
    paper : str
        What the printed figure shows.
    needs : tuple of str
        Configurations; each must have a record.
    plate : callable
        Records by configuration to figure.
    sizes : tuple of str
        What it depends on; see `runs.remarks`.
    """

    number: int
    title: str
    caption: str
    paper: str
    needs: tuple[str, ...]
    plate: "Callable[[Stacks], Figure]"
    sizes: tuple[str, ...] = (*TRAINING, "runs")

    @property
    def words(self) -> str:
        """The whole caption."""
        return f"{self.caption} In the paper: {self.paper}"

    def __call__(self, records: Records) -> "Figure":
        """Draw the figure; other sizes and runs that diverged are named below.

        Raises
        ------
        Missing
            If a record or a part of one is not there.
        """
        who = f"figure {self.number}"
        try:
            stacks = select(records, self.needs)
        except Missing as error:
            made = how_to_train(records, f"--figures {self.number}")
            raise Missing(f"{who}: {error}; {made}") from error
        try:
            figure = self.plate(stacks)
        except Missing as error:
            raise Missing(f"{who}: {error}") from error
        return with_remarks(figure, remarks(stacks, self.sizes))


@dataclass(frozen=True, kw_only=True)
class PaperTable:
    """A table of Lee and Cho 2023, its numbers beside those of run records.

    Attributes
    ----------
    number : int
        As printed.
    title, caption : str
    needs : tuple of str
        Configurations; each must have a record.
    content : callable
        Records by configuration to table.
    sizes : tuple of str
        What its numbers depend on; see `runs.remarks`.
    also : tuple of str
        Configurations without whose records their rows are empty.
    """

    number: int
    title: str
    caption: str
    needs: tuple[str, ...]
    content: "Callable[[Stacks, tuple[str, ...]], Table]"
    sizes: tuple[str, ...] = (*TRAINING, "runs")
    also: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The whole caption."""
        return self.caption

    def __call__(self, records: Records) -> Table:
        """Make the table; other sizes and runs that diverged are named in its notes.

        Raises
        ------
        Missing
            If a record or a part of one is not there.
        """
        who = f"table {self.number}"
        try:
            stacks = select(records, self.needs)
        except Missing as error:
            # One by its name; of several, those there are stay as they are.
            absent = [name for name in self.needs if name not in records]
            options = f"--only {absent[0]}" if len(absent) == 1 else ""
            raise Missing(
                f"{who}: {error}; {how_to_train(records, options)}"
            ) from error
        there = [name for name in self.also if name in records]
        stacks |= select(records, there)
        try:
            notes = remarks(stacks, self.sizes)
            if absent := [name for name in self.also if name not in there]:
                said = f"{DASH}: no record of {', '.join(absent)}"
                notes.append(f"{said}; {how_to_train(records)}")
            return self.content(stacks, tuple(notes))
        except Missing as error:
            raise Missing(f"{who}: {error}") from error
