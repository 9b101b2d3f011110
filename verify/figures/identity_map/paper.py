"""One figure of the paper: what it needs, how it is drawn, what to see."""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verify.figures.identity_map.runs import (
    Missing,
    Records,
    Run,
    remarks,
    select,
    training_command,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINE, _HEIGHT = 104, 0.135


@dataclass(frozen=True, kw_only=True)
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
    needs : tuple of str
        Configurations, by patterns of their names; each must match a record.
    also : tuple of str
        Configurations that are shown where they have a record.
    sections : tuple of str
        What must have been measured.
    companions : bool
        Whether plain convolutional networks of the same depths belong to a sweep.
    plate : callable
        Runs to figure.
    """

    number: int
    title: str
    caption: str
    paper: str
    needs: tuple[str, ...]
    sections: tuple[str, ...]
    plate: "Callable[[Sequence[Run]], Figure]"
    also: tuple[str, ...] = ()
    companions: bool = False

    @property
    def words(self) -> str:
        """The whole caption."""
        return f"{self.caption} In the paper: {self.paper}"

    def runs(self, records: Records) -> list[Run]:
        """Return the runs that the figure shows.

        Raises
        ------
        Missing
            If there are none; the message names the configurations and the command that
            makes their records.
        """
        absent = [p for p in self.needs if not select(records, (p,))]
        if absent:
            made = training_command(records, f"--figures {self.number}")
            raise Missing(
                f"figure {self.number}: no record of {', '.join(absent)}; `{made}`"
                " makes them"
            )
        return select(records, self.needs + self.also, companions=self.companions)

    def __call__(self, records: Records) -> "Figure":
        """Draw the figure; what diverged or stalled is said below it.

        Raises
        ------
        Missing
            If a record or one of its sections is not there.
        """
        runs = self.runs(records)
        try:
            figure = self.plate(runs)
        except Missing as error:
            raise Missing(f"figure {self.number}: {error}") from error
        return with_remarks(figure, remarks(runs))


def with_remarks(figure: "Figure", said: Sequence[str]) -> "Figure":
    """Write remarks below a figure, which grows by what they need."""
    if not said:
        return figure
    lines = [
        line
        for one in said
        for line in textwrap.wrap(f"{one}.", _LINE, break_on_hyphens=False)
    ]
    extra = _HEIGHT * len(lines) + 0.15
    engine: Any = figure.get_layout_engine()
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + extra)
    share = extra / (height + extra)
    if engine is not None:
        engine.set(rect=(0.0, share, 1.0, 1.0 - share))
    else:
        for ax in figure.axes:
            box = ax.get_position()
            place = (box.x0, share + box.y0 * (1.0 - share))
            ax.set_position((*place, box.width, box.height * (1.0 - share)))
    bottom = 0.05 / (height + extra)
    figure.text(0.01, bottom, "\n".join(lines), fontsize=7.5, va="bottom")
    return figure
