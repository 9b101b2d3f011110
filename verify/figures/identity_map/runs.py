"""Records of trained runs as the pictures see them: checked, ordered, draws marked.

A record is what one configuration of the experiments left. Draws that diverged stay in
it: they are undefined in every number here, left out of means, and named by `remarks`,
which every picture carries.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt

from empirical.testbed.records import Draws, RunRecord
from verify.figures.runs import Array, Missing, Records, complete

MODULE = "empirical.identity_map"
"""What trains the runs."""


_DIVERGED = "Draws that diverged, left out"
_STALLED = "Draws that never left the plateau"
_LATE = "Losses still above a tenth of the first"

_LEARNT = 0.1
"""Share of the first loss above which a network is said not to copy its images yet."""


@dataclass(frozen=True, eq=False)
class Group:
    """Draws of a run that share everything but their seed."""

    run: "Run"
    draws: Draws

    @property
    def statuses(self) -> tuple[str, ...]:
        """How the training of each draw ended."""
        return tuple(self.draws.status)

    @property
    def labels(self) -> tuple[int, ...]:
        """Classes of the training images."""
        return tuple(self.draws[0].key("labels"))

    @property
    def scheme(self) -> str:
        """Name of the initialisation."""
        return str(self.draws[0].key("scheme"))

    @property
    def rate(self) -> float:
        """Learning rate."""
        return float(self.draws[0].key("rate"))

    @property
    def diverged(self) -> npt.NDArray[np.bool_]:
        """Of each draw, whether it has nothing to show."""
        pairs = zip(self.statuses, self.draws.fact("finite"), strict=True)
        return np.array([status == "diverged" or not fine for status, fine in pairs])

    @property
    def remaining(self) -> Array:
        """Of each draw that did not diverge, the final loss in units of the first."""
        last = np.array(self.draws.fact("final_loss"), dtype=np.float64)
        first = np.array([draw.series("losses")[0] for draw in self.draws])
        # A first loss of zero leaves nothing to learn.
        shares = last / np.where(first > 0.0, first, np.inf)
        return np.where(self.diverged, np.nan, shares)

    def fact(self, name: str) -> Any:
        """Return a setting of the measurements, as ``sizes/sizes``.

        Raises
        ------
        Missing
            If it was not measured, or could not be.
        """
        section = name.partition("/")[0]
        # Groups on different images each say what was theirs.
        own = self.draws[0]
        source = own if section in own.facts else self.run.record
        with complete(self.run.name, MODULE):
            if section not in source.facts:
                raise Missing(f"no section {section!r}")
        found = source.fact(section)
        if set(found) == {"reason"}:
            raise Missing(f"the record {self.run.name} has no '{section}': {found}")
        return source.fact(name)

    def has(self, section: str) -> bool:
        """Whether a section was measured, or why it could not be is said."""
        return section in self.run.record.facts or section in self.draws[0].facts

    def every(self, name: str) -> Array:
        """Return numbers with draws along the first axis, those that diverged too.

        Raises
        ------
        Missing
            As `fact`.
        """
        self.fact(name.partition("/")[0])
        with complete(self.run.name, MODULE):
            return self.draws.series(name)

    def numbers(self, name: str) -> Array:
        """Return `every`, nan where undefined."""
        values = self.every(name).copy()
        values[self.diverged] = np.nan
        return values

    def first(self, name: str) -> Array:
        """Return numbers of the first draw; raises as `every`."""
        self.fact(name.partition("/")[0])
        with complete(self.run.name, MODULE):
            return self.draws[0].series(name)

    def curve(self, field: str) -> Array:
        """Return a mean over test images for each draw: of the curve, first image."""
        return self.numbers(f"curve/{field}")[:, 0]


@dataclass(frozen=True, eq=False)
class Run:
    """A run's record."""

    record: RunRecord

    @property
    def name(self) -> str:
        """Name of the configuration."""
        return self.record.name

    def network(self, field: str) -> Any:
        """Return a field of the specification."""
        return self.record.entry(f"network/{field}")

    @property
    def kind(self) -> str:
        """``"fcn"``, ``"cnn"`` or ``"residual"``."""
        kind = str(self.network("kind"))
        return {"fully connected": "fcn", "convolutional": "cnn"}.get(kind, kind)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width of a training image."""
        field = "image" if self.kind == "fcn" else "shape"
        channels, height, width = self.network(field)
        return channels, height, width

    @property
    def units(self) -> tuple[int, ...]:
        """Units or channels of hidden layers."""
        if self.kind == "residual":
            return (int(np.prod(self.shape)),) * (2 * self.network("blocks") - 1)
        widths = tuple(self.network("widths"))
        return widths[1:-1] if self.kind == "fcn" else widths

    @property
    def layers(self) -> int:
        """Weight layers."""
        return len(self.units) + 1

    @property
    def width(self) -> int:
        """Units or channels of hidden layers; of an image where there is no other."""
        return self.units[0] if self.units else int(np.prod(self.shape))

    @property
    def kernel(self) -> int:
        """Edge of the kernels; 0 where there are none."""
        return int(self.network("kernel")) if self.kind == "cnn" else 0

    @property
    def size(self) -> int:
        """Edge of the training image."""
        return self.shape[-1]

    @property
    def groups(self) -> tuple[Group, ...]:
        """What was trained side by side, as listed in the configuration."""
        draws, count = self.record.draws, len(self.record.entry("seeds"))
        starts = range(0, len(draws), count)
        return tuple(Group(self, Draws(draws[k : k + count])) for k in starts)

    @property
    def group(self) -> Group:
        """The first group; the only one of most runs."""
        return self.groups[0]

    def image(self, pixels: Any) -> Array:
        """Return rows of pixels as an image, (H, W) or (H, W, channels)."""
        rows = np.array(pixels, dtype=np.float64)
        channels = self.shape[0]
        parts = rows.reshape(channels, -1, rows.shape[-1])
        return parts[0] if channels == 1 else np.moveaxis(parts, 0, -1)


def select(
    records: Records, patterns: Sequence[str], *, companions: bool = False
) -> list[Run]:
    """Return the runs whose names match one of the patterns, smallest networks first.

    Parameters
    ----------
    records : mapping
        Configuration to record.
    patterns : sequence of str
        As for file names: ``cnn-depth-*``.
    companions : bool
        Also the plain convolutional networks of the same depths, where they are what a
        sweep varies in one property.
    """
    names = [n for n in records if any(fnmatchcase(n, p) for p in patterns)]
    found = [Run(records[name]) for name in names]
    if companions:
        plain = dict.fromkeys(f"cnn-depth-{run.layers}" for run in found)
        others = [Run(records[name]) for name in plain if name in records]
        found += [one for one in others if any(_beside(one, run) for run in found)]
    return sorted(found, key=lambda r: (r.layers, r.size, r.kernel, r.width, r.name))


def _beside(one: Run, other: Run) -> bool:
    """Whether two networks of a depth differ in one property alone."""
    pairs = ((one.size, other.size), (one.kernel, other.kernel))
    pairs += ((one.width, other.width),)
    return one.layers == other.layers and sum(a != b for a, b in pairs) == 1


def remarks(runs: Sequence[Run]) -> list[str]:
    """Return remarks on networks that have not learnt what they were trained on.

    Of a kind at most one: those that diverged, that never left the plateau, and whose
    loss is still above a tenth of the first, each with its name.
    """
    found: dict[str, list[str]] = {}
    for group in (group for run in runs for group in run.groups):
        kind = variant(group)
        name = group.run.name + (f", {kind}" if kind else "")
        total = len(group.statuses)
        if bad := int(group.diverged.sum()):
            found.setdefault(_DIVERGED, []).append(f"{name} ({bad} of {total})")
        stalled = np.array([status == "stalled" for status in group.statuses])
        if idle := int(stalled.sum()):
            found.setdefault(_STALLED, []).append(f"{name} ({idle} of {total})")
        late = group.remaining[~stalled & (group.remaining > _LEARNT)]
        if late.size:
            most = 100.0 * float(late.max())
            found.setdefault(_LATE, []).append(f"{name} ({most:.0f} %)")
    kinds = (_DIVERGED, _STALLED, _LATE)
    return [f"{kind}: {'; '.join(found[kind])}" for kind in kinds if kind in found]


def variant(group: Group) -> str:
    """Return what tells a group from the others of its run, empty for an only one."""
    others = group.run.groups
    parts: list[str] = []
    if len({other.scheme for other in others}) > 1:
        parts.append(group.scheme)
    if len({other.rate for other in others}) > 1:
        parts.append(f"rate {group.rate:g}")
    if len({other.labels for other in others}) > 1:
        parts.append("trained on " + ", ".join(map(str, group.labels)))
    return ", ".join(parts)


def mean(values: Array, axis: int = 0) -> Array:
    """Average what is finite; nan where nothing is.

    Examples
    --------
    >>> mean(np.array([[1.0, np.nan], [3.0, np.nan]]))
    array([ 2., nan])
    """
    fine = np.isfinite(values)
    count = fine.sum(axis=axis)
    total = np.where(fine, values, 0.0).sum(axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def nearest(runs: Sequence[Run], layers: int) -> Run:
    """Return the run whose depth is closest to `layers`, the deeper of two."""
    return min(runs, key=lambda run: (abs(run.layers - layers), -run.layers))
