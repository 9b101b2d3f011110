"""Records of trained classifiers as the pictures see them.

A record holds draws, each of an initial scale and a seed. Draws that diverged have
nothing to show and are left out of every line; `remarks` names them below each picture,
beside those that died or never got every training example right.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from empirical.data import NAMES
from empirical.testbed import records
from empirical.testbed.records import RunRecord
from verify.figures.runs import Array, Missing, Records, complete

MODULE = "empirical.square_loss"
"""What trains the runs."""

_KINDS = {
    "diverged": "Draws that diverged, left out",
    "dead": "Draws that ended with f = 0 on every example",
    "one-class": "Draws that answer for one class alone",
    "late": "Draws whose training error was never zero",
}


@dataclass(frozen=True, eq=False)
class Draw:
    """One network, of a run."""

    run: str
    found: records.Draw

    @property
    def seed(self) -> int:
        """Number that its Gaussian weights come from."""
        return self.found.seed

    @property
    def scale(self) -> float:
        """Initial Frobenius norm of each layer."""
        return float(self.found.key("scale"))

    @property
    def kind(self) -> str:
        """Its status; ``"late"`` for one that finished without ever making no error."""
        if self.found.status in _KINDS:
            return self.found.status
        return "late" if self.interpolated is None else "finished"

    @property
    def interpolated(self) -> int | None:
        """First epoch without a training error, None if there was none."""
        found = self.found.fact("interpolated")
        return None if found is None else int(found)

    @property
    def margins(self) -> Array:
        """Margins of the training examples at the end, sorted."""
        return self.found.series("margins")

    @property
    def test_error(self) -> float:
        """Share of test examples that are wrong at the end, nan if it diverged."""
        found = self.found.fact("test_error")
        return float("nan") if found is None else float(found)

    def series(self, name: str) -> Array:
        """Return a recorded series, epochs along the first axis, nan where undefined.

        Raises
        ------
        Missing
            If it was not recorded, or at no epoch.
        """
        with complete(self.run, MODULE):
            found = self.found.series(name)
            if not found.size:
                raise Missing(f"an empty series {name!r}")
            return found

    def last(self, name: str) -> float:
        """Return the last entry of a series of numbers."""
        return float(self.series(name)[-1])


@dataclass(frozen=True, eq=False)
class Run:
    """A run's record."""

    record: RunRecord

    @property
    def name(self) -> str:
        """Name of the configuration."""
        return self.record.name

    @property
    def data(self) -> str:
        """Name of the data set."""
        return str(self.record.entry("data"))

    @property
    def epochs(self) -> Array:
        """Epochs at which series were recorded, the first of them 0."""
        return self.record.series("epochs")

    @property
    def examples(self) -> int:
        """Number of training examples."""
        return int(self.record.fact("examples"))

    @property
    def family(self) -> str:
        """``"none"``, ``"bn"``, ``"wn"`` or ``"wn-rows"``."""
        if self.record.entry("network/norm") is not None:
            return "bn-affine" if self.record.entry("network/norm/affine") else "bn"
        weighting = self.record.entry("network/weighting")
        return {"matrix": "wn", "rows": "wn-rows"}.get(weighting, "none")

    @property
    def scales(self) -> tuple[float, ...]:
        """Initial scales, as listed."""
        return tuple(float(scale) for scale in self.record.entry("scales"))

    @property
    def draws(self) -> tuple[Draw, ...]:
        """Every draw, those that diverged too."""
        return tuple(Draw(self.name, draw) for draw in self.record.draws)

    def kept(self, scale: float) -> list[Draw]:
        """Return the draws of a scale that did not diverge."""
        return [d for d in self.draws if d.scale == scale and d.kind != "diverged"]

    def typical(self, scale: float) -> Draw | None:
        """Return the draw of the median final norm, the lower of two.

        Of those that finished; of the dead and the one-class if there are no others,
        None if all diverged.
        """
        kept = self.kept(scale)
        alive = [d for d in kept if d.kind in ("finished", "late")] or kept
        alive.sort(key=lambda draw: draw.last("rho"))
        return alive[(len(alive) - 1) // 2] if alive else None


def select(records: Records, names: Sequence[str]) -> list[Run]:
    """Return the runs of configurations, for each data set where there are several.

    Parameters
    ----------
    records : mapping
        Configuration to record.
    names : sequence of str
        Of configurations, without the data set.

    Raises
    ------
    Missing
        If one of them has no record; the message names it.
    """
    found = {name: matching(records, name) for name in names}
    absent = [name for name, runs in found.items() if not runs]
    if absent:
        raise Missing(f"no record of {', '.join(absent)}")
    return [run for runs in found.values() for run in runs]


def matching(records: Records, name: str) -> list[Run]:
    """Return the runs of one configuration: its own, or one for each data set."""
    # "bn" is no start of "bn-decay" here: what follows must be a data set.
    wanted = (name, *(f"{name}-{data}" for data in NAMES))
    return [Run(records[one]) for one in wanted if one in records]


def remarks(runs: Sequence[Run]) -> list[str]:
    """Return remarks on draws: those that diverged, died or never interpolated.

    Of a kind at most one, with the names of runs, and their scales and seeds.
    """
    found = {kind: [_named(run, kind) for run in runs] for kind in _KINDS}
    named = {kind: [text for text in texts if text] for kind, texts in found.items()}
    return [
        f"{_KINDS[kind]}: {'; '.join(named[kind])}" for kind in _KINDS if named[kind]
    ]


def _named(run: Run, kind: str) -> str:
    """Name the draws of a run that are of a kind, empty if none is."""
    parts: list[str] = []
    for scale in run.scales:
        mine = [draw for draw in run.draws if draw.scale == scale]
        seeds = [str(draw.seed) for draw in mine if draw.kind == kind]
        if seeds:
            word = "seed" if len(seeds) == 1 else "seeds"
            which = "all" if len(seeds) == len(mine) else f"{word} {', '.join(seeds)}"
            parts.append(f"{which} from {scale:g}")
    return f"{run.name} ({', and '.join(parts)})" if parts else ""
