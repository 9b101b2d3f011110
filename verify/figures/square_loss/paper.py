"""One figure of the paper, or beside it, from the runs of every data set."""

from collections.abc import Sequence
from dataclasses import dataclass

from verify.figures.printed import Printed
from verify.figures.runs import Records
from verify.figures.square_loss.runs import MODULE, Run, remarks, select


@dataclass(frozen=True)
class PaperFigure(Printed):
    """A figure of Poggio and Liao 2021, or beside them; it needs no names of data."""

    module = MODULE

    def runs(self, records: Records) -> list[Run]:
        """Return the runs of each configuration, a list of them for each data set."""
        return select(records, self.needs)

    def remarks(self, found: Sequence[Run]) -> list[str]:
        """Name draws that diverged, died or stayed wrong."""
        return remarks(found)
