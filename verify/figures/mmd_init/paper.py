"""One figure or table of the paper: what it needs, how it is made, what to see."""

from collections.abc import Callable
from dataclasses import dataclass

from verify.figures.mmd_init.runs import MODULE, TRAINING, Stacks, remarks, select
from verify.figures.printed import Printed
from verify.figures.runs import Missing, Records, told, training_command
from verify.figures.tables import DASH, Table


@dataclass(frozen=True)
class PaperFigure(Printed):
    """A figure of Lee and Cho 2023, drawn from run records.

    Attributes
    ----------
    sizes : tuple of str
        What it depends on; see `runs.remarks`.
    """

    module = MODULE
    sizes: tuple[str, ...] = (*TRAINING, "runs")

    def runs(self, records: Records) -> Stacks:
        """Return the records by configuration."""
        return select(records, self.needs)

    def remarks(self, found: Stacks) -> list[str]:
        """Name sizes that are not the paper's, and runs that diverged."""
        return remarks(found, self.sizes)


@dataclass(frozen=True)
class PaperTable:
    """A table of Lee and Cho 2023, its numbers beside those of run records.

    Attributes
    ----------
    number : int
        As printed.
    title, caption : str
    content : callable
        Records by configuration to table.
    needs : tuple of str
        Configurations; each must have a record.
    sizes : tuple of str
        What its numbers depend on; see `runs.remarks`.
    also : tuple of str
        Configurations without whose records their rows are empty.
    """

    number: int
    title: str
    caption: str
    content: "Callable[[Stacks, tuple[str, ...]], Table]"
    needs: tuple[str, ...]
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
        # One by its name; of several, those there are stay as they are.
        absent = [name for name in self.needs if name not in records]
        options = f"--only {absent[0]}" if len(absent) == 1 else ""
        with told(who, training_command(MODULE, records, options)):
            stacks = select(records, self.needs)
        there = [name for name in self.also if name in records]
        stacks |= select(records, there)
        with told(who):
            notes = remarks(stacks, self.sizes)
            if absent := [name for name in self.also if name not in there]:
                said = f"{DASH}: no record of {', '.join(absent)}"
                notes.append(str(Missing(said, training_command(MODULE, records))))
            return self.content(stacks, tuple(notes))
