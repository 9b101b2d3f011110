"""Pictures for the report: of a claim's record, of trained runs, or of theory alone.

`PICTURES` lists them by name; ``Claim.figure`` is such a name. A picture of a record
draws what was measured and predicted when the claim ran and computes nothing new; one
of runs draws what trained networks left, and is of several claims or of none; a picture
of theory shows closed forms, and its caption says so. A table counts as a picture of
runs: it has their numbers beside a paper's.
"""

import difflib
import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Protocol

from verify.claim import Claim
from verify.figures import (
    identity_map,
    measured,
    mmd_init,
    normrelu,
    square_loss,
    theoretical,
)
from verify.figures.compact import Common
from verify.figures.identity_map.table import DEPTH_CURVE
from verify.figures.runs import Missing as Missing
from verify.figures.runs import Records
from verify.figures.style import Figure, as_svg, settled, styled
from verify.figures.tables import Table
from verify.items import papers
from verify.records import Record


@dataclass(frozen=True)
class Picture:
    """A figure or a table of the report.

    Attributes
    ----------
    name, title : str
    caption : str
        One sentence that says what to see.
    of_record, of_runs, of_theory : callable, optional
        ``of_record(record)``, ``of_runs(runs)`` (a mapping from configurations to run
        records; it may be a table) or ``of_theory()``; exactly one is given.
    topic : str
        Start of the ids of claims whose reports show it even if none of them names it.
    """

    name: str
    title: str
    caption: str
    _: KW_ONLY
    of_record: Callable[[Record], Figure] | None = None
    of_runs: Callable[[Records], Figure | Table] | None = None
    of_theory: Callable[[], Figure] | None = None
    topic: str = ""

    def __post_init__(self) -> None:
        given = (self.of_record, self.of_runs, self.of_theory)
        if sum(one is not None for one in given) != 1:
            raise ValueError(
                f"Picture: {self.name} must be of a record, of runs or of theory"
            )

    @property
    def command(self) -> str:
        """Command that draws it, from records where it needs any."""
        return f"python -m verify.figures {self.name} --out figures"

    @property
    def from_theory(self) -> bool:
        """Whether it can be drawn without a record."""
        return self.of_theory is not None

    @property
    def from_runs(self) -> bool:
        """Whether it is made from the records of trained runs."""
        return self.of_runs is not None

    def __call__(
        self, record: Record | None = None, *, runs: Records | None = None
    ) -> Figure | Table:
        """Draw the picture, or make the table.

        Raises
        ------
        Missing
            If it shows runs and these have no record; a ValueError that says in one
            sentence which, and what makes them.
        ValueError
            If it shows a record and none is given, or the record holds nothing that
            this picture shows.
        """
        with styled():
            if self.of_theory is not None:
                return settled(self.of_theory())
            if self.of_runs is not None:
                made = self.of_runs({} if runs is None else runs)
                return made if isinstance(made, Table) else settled(made)
            assert self.of_record is not None
            if record is None:
                raise ValueError(f"{self.name}: `record` must be given to be drawn")
            return settled(self.of_record(record))

    def markup(
        self,
        record: Record | None = None,
        *,
        runs: Records | None = None,
        name: str = "",
        common: Common | None = None,
    ) -> str:
        """Return the picture as SVG, or the table as HTML, for a page.

        `name` is its id there, its own if empty; `common` are the page's styles and
        symbols, see `verify.figures.style.as_svg`.

        Raises
        ------
        Missing, ValueError
            As calling it does.
        """
        made = self(record, runs=runs)
        if isinstance(made, Table):
            return made.html(name=name or self.name, title=self.title)
        return as_svg(
            made,
            name=name or self.name,
            title=self.title,
            description=self.caption,
            common=common,
        )


class Numbered(Protocol):
    """A figure or table of a paper, made from run records."""

    @property
    def title(self) -> str:
        """Title without its number."""
        ...

    @property
    def words(self) -> str:
        """The whole caption."""
        ...

    def __call__(self, records: Records) -> Any:
        """Return a Matplotlib figure or a `Table`, or raise `Missing`."""
        ...


def _of_runs(name: str, made: Numbered, topic: str, kind: str = "") -> Picture:
    """Return the picture of a paper's figure or table, `kind` before its title."""
    return Picture(name, kind + made.title, made.words, of_runs=made, topic=topic)


def _numbered(
    name: str, made: Mapping[int, Numbered], topic: str, shown: Iterable[int] = ()
) -> Iterator[Picture]:
    """Yield a paper's figures or tables, ``<topic>_figure`` or so: all, or those shown."""
    kind = name.rpartition("_")[2].title()
    for number in shown or made:
        yield _of_runs(f"{name}_{number}", made[number], topic, f"{kind} {number}: ")


PICTURES: tuple[Picture, ...] = (
    Picture(
        "condition_numbers",
        "Condition number against depth",
        "Measured condition numbers fall with depth, below the bound, to a"
        " plateau that is set by the width and larger than one.",
        of_record=measured.condition_numbers,
    ),
    Picture(
        "ntk_ratio",
        "The tangent kernel becomes diagonal twice as fast as stated",
        "Off-diagonal over diagonal entry of the tangent kernel: that of ReLU"
        " is below the largest possible one, which is below the sharp bound,"
        " which falls twice as fast as the printed one (drawn from theory).",
        of_theory=theoretical.ntk_ratio,
    ),
    Picture(
        "correlation_floor",
        "Random networks of fixed width keep a correlation",
        "Correlations of random networks settle at a floor of order one over the"
        " width when a₂ ≠ 0, and vanish with depth when a₂ = 0.",
        of_record=measured.correlation_floor,
    ),
    Picture(
        "diverging_lengths",
        "Lengths that diverge under NormReLU",
        "With a kink above −0.3767, inputs beyond an unstable length diverge;"
        " with a kink below, every length tends to one (drawn from theory).",
        of_theory=theoretical.diverging_lengths,
    ),
    Picture(
        "finite_width",
        "Kernel error against width",
        "The error of a random network's kernel falls like one over the square root"
        " of the width, at the predicted constant.",
        of_record=measured.finite_width,
    ),
    Picture(
        "dual_activations",
        "Dual activations",
        "The further a dual lies below the diagonal, the more correlation one"
        " layer removes; μ is the share of the activation that is not linear"
        " (drawn from theory).",
        of_theory=theoretical.dual_activations,
    ),
    Picture(
        "length_maps",
        "Length maps",
        "If the map crosses the diagonal from above to below at one, squared"
        " lengths return to one; a steeper map drives them away (drawn from"
        " theory).",
        of_theory=theoretical.length_maps,
    ),
    Picture(
        "normrelu_selu",
        "NormReLU beside SELU",
        "NormReLU with SELU's scale is nearly SELU, and removes a little over"
        " half as much correlation per layer (drawn from theory).",
        of_theory=theoretical.normrelu_selu,
    ),
    *_numbered("normrelu_figure", normrelu.FIGURES, "dc/fig"),
    _of_runs("identity_depth_curve", DEPTH_CURVE, "id/"),
    *_numbered("identity_figure", identity_map.FIGURES, "id/", identity_map.MAIN),
    _of_runs("square_loss_families", square_loss.FAMILIES, "sl/"),
    Picture(
        "square_loss_overshoot",
        "The norm overshoots its equilibrium",
        "Two flows from a small norm and a positive average margin rise until they"
        " meet the equilibrium of their directions, which still falls, and fall with"
        " it: the printed monotone rise is refuted (drawn from theory).",
        of_theory=square_loss.overshoot,
        topic="sl/",
    ),
    *_numbered("square_loss_figure", square_loss.FIGURES, "sl/"),
    _of_runs("square_loss_collapse", square_loss.COLLAPSE, "sl/"),
    *_numbered("mmd_figure", mmd_init.FIGURES, "mmd/"),
    *_numbered("mmd_table", mmd_init.TABLES, "mmd/"),
    Picture(
        "mmd_degeneracy_floor",
        "The degeneracy loss prefers a constant predictor",
        "From three classes on, the constant that gives each class the same"
        " probability, and never decides, has a lower loss than a classifier that is"
        " certain and uses all classes equally often; no predictor is below it (drawn"
        " from theory).",
        of_theory=mmd_init.degeneracy_floor,
        topic="mmd/",
    ),
    Picture(
        "mmd_vacuous_tail",
        "Theorem 1 covers only perturbations that never occur",
        "The noise of a 784-392-392-392-2 network has a length of 24.3, give or take"
        " 0.03; the bound as printed, and its sharper form, say nothing below 392.6,"
        " where an earlier step of its proof has long fallen (drawn from"
        " theory, the tail itself from random numbers).",
        of_theory=mmd_init.vacuous_tail,
        topic="mmd/",
    ),
)
"""Every picture, in the order of the report."""

_LEFT_OUT = sorted(set(identity_map.FIGURES) - set(identity_map.MAIN))

EVERYTHING: tuple[Picture, ...] = (
    *PICTURES,
    *_numbered("identity_figure", identity_map.FIGURES, "id/", _LEFT_OUT),
)
"""Those that the report leaves out as well: all that can be drawn."""


def pictures(*, everything: bool = False) -> tuple[Picture, ...]:
    """Return the report's pictures, or everything, and those of other packages' papers."""
    modules = [paper.pictures for paper in papers() if paper.pictures]
    others = (importlib.import_module(name).PICTURES for name in modules)
    own = EVERYTHING if everything else PICTURES
    return own + tuple(picture for each in others for picture in each)


def named(name: str) -> Picture:
    """Return the picture called `name`.

    Raises
    ------
    ValueError
        If there is none; near names are suggested.

    Examples
    --------
    >>> named("length_maps").title
    'Length maps'
    """
    every = {picture.name: picture for picture in pictures(everything=True)}
    if name in every:
        return every[name]
    near = difflib.get_close_matches(name, every, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    # Numbered ones by their first.
    known = {re.sub(r"_\d+$", "_1, ...", each) for each in every}
    raise ValueError(
        f"figures: `name` must be a paper, one of {', '.join(p.prefix for p in papers())},"
        f" or a picture, one of {', '.join(sorted(known))}, got {name!r}{hint}"
    )


def topic(picture: Picture, claims: Iterable[Claim]) -> str:
    """Return the paper that a picture belongs to, by its topic or those who name it."""
    if picture.topic:
        return picture.topic.partition("/")[0]
    naming = {claim.paper for claim in claims if claim.figure == picture.name}
    return min(naming, default="dc")
