"""Panels on which a function is resolved: where its quadratures may end.

In the function's own units: a panel is fine enough when 16 Chebyshev nodes determine the
function on it to rounding. A Gaussian of any variance is then integrated by splitting
its own panels at these edges, however narrow or wide it is beside the function.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import _breaks as breaks
from theory._cached import cached_property
from theory._panel_edges import merged as merged

Array = npt.NDArray[np.float64]
Function = Callable[[Array], Array]

NODES = breaks.NODES
"""Chebyshev nodes of a panel."""

DEVIATIONS = 40.0
"""Reach of a mesh in standard deviations of the widest Gaussian it is for."""

RULE = 20.0
"""Deviations within which rules ask for panels: a mesh resolves no more than twelve of its
own, and further out is a wider Gaussian's."""

RESOLVED = 8.0 * np.finfo(np.float64).eps
"""Last Chebyshev coefficients of a panel that is fine enough, over the function's size."""

NEGLIGIBLE = 1e-18
"""Error over the function's size, both under the root of the density, that is ignored."""

NARROWEST = 2.0**-48
"""Width over ``min(sigma, 1) + |x|`` below which a panel is not halved."""

DEEPEST = 2.0**-100
"""Width over min(sigma, 1) of the last panel next to a kink at zero."""

HIDING = 2.0**-28
"""Width over ``min(sigma, 1) + |x|``, and over the distance from a kink, of panels that
hide one that was not found."""

MANY = 256
"""Panels of one width that may be too wide before those that cannot matter are left."""

MOST = 65_536
"""Panels of one width that may be too wide: more is noise. Half as many resolve sin x for
a Gaussian of variance 1e8."""

ALL = 4 * MOST
"""Panels of all widths: more is noise, too."""

MOST_FOUND = 32
"""Kinks that are searched for: a function with more is refused."""

# Edges that are no round number and not symmetric: a kink that was not named falls inside
# a panel, which shows that it is there.
UP, DOWN = math.pi / 3.0, math.log(3.0)


@dataclass(frozen=True, eq=False)
class Mesh:
    """Edges of the panels in rising order, from -reach to reach, kinks among them.

    `rough` are points next to which the function was not resolved: a singularity that was
    not named, or noise. `found` are kinks that were not named, `jumps` those of them at
    which the function itself jumps. Row i of `series` has the Chebyshev coefficients on
    panel i, and `error[i]` the size of its last ones; both are NaN where the function
    overflows.
    """

    edges: Array
    rough: tuple[float, ...]
    found: tuple[float, ...]
    jumps: tuple[float, ...]
    series: Array
    error: Array

    def needed(self, kinks: tuple[float, ...]) -> Array:
        """Return the edges without which an integral over the Gaussian would suffer.

        Panels so far out that the Gaussian leaves nothing there are joined.
        """
        sigma = self.edges[-1] / DEVIATIONS
        middle = 0.5 * (self.edges[:-1] + self.edges[1:])
        weight = np.exp(-((middle / sigma) ** 2) / 4.0)
        size = np.nan_to_num(np.abs(self.series).max(axis=1) * weight)
        gone = size <= 1e-20 * size.max(initial=0.0)
        drop = gone[:-1] & gone[1:]
        inner = self.edges[1:-1]
        # The last panel at a kink stays: where nothing resolves f, its chord does.
        ends = np.isin(self.edges, kinks)
        keep = ~drop | ends[1:-1] | ends[:-2] | ends[2:]
        return np.concatenate([self.edges[:1], inner[keep], self.edges[-1:]])


def resolve(
    f: Function,
    kinks: tuple[float, ...] = (),
    *,
    reach: float = DEVIATIONS,
    noise: float = 1e-13,
    who: str = "resolve",
) -> Mesh:
    """Halve panels until f is resolved on each, and find the kinks that were not named.

    The size that rounding is measured against at x is the larger of f near x and its root
    mean square over arguments up to ``|x|``: a centred Gaussian has at least as much weight
    there. Where that takes too many panels, they end where the root of the density of
    a Gaussian of deviation reach / 40 makes the rest negligible.

    Parameters
    ----------
    f : callable
        Function of an array.
    kinks : tuple of float
        Points where f is not smooth. Panels end there, and shrink towards them where the
        slope is infinite.
    reach : float
        The panels cover [-reach, reach].
    noise : float
        Error of f over its size that is accepted once halving no longer helps.
    who : str
        Named in messages.

    Raises
    ------
    ValueError
        If there are too many panels or kinks.

    Examples
    --------
    >>> mesh = resolve(np.tanh, reach=1000.0)
    >>> mesh.rough, mesh.found, len(mesh.edges) < 80
    ((), (), True)
    >>> resolve(lambda x: x + 0.1 * np.maximum(x - 0.3, 0.0)).found
    (0.3,)
    """
    named = tuple(sorted({c for c in kinks if abs(c) < reach}))
    sweep = _Sweep(f, reach, noise, who)
    found: dict[float, breaks.Break] = {}
    rejected: list[float] = []
    while True:
        panels = sweep.halve((*named, *found))
        tried = (*named, *found, *rejected)
        new = sweep.searched(panels, tried)
        again = sweep.halve((*named, *found, *new)) if new else panels
        for at, (place, width) in new.items():
            # Next to a kink of a function that is smooth on both sides panels are wide.
            if again.narrowest_at(at) >= 8.0 * width:
                found[at] = place
            else:
                rejected.append(at)
        if len(found) > MOST_FOUND:
            nearest = ", ".join(f"{c:.6g}" for c in sorted(found, key=abs)[:3])
            raise ValueError(
                f"{who}: `f` must have its kinks named, but more than {MOST_FOUND} were"
                f" found within |x| < {reach:g}, e.g. at {nearest}. Give `kinks`."
            )
        if not new:
            break
    # A jump that a Gaussian of this width hardly sees is the end of a panel and no more.
    seen = [p for p in found.values() if p.order or panels.share(p.at, p.gap) > noise]
    middle = 0.5 * (panels.low + panels.high)
    return Mesh(
        np.append(panels.low, panels.high[-1]),
        _one_each(middle[panels.unresolved((*named, *found))]),
        tuple(sorted(p.at for p in seen)),
        tuple(sorted(p.at for p in seen if not p.order)),
        panels.series,
        panels.error,
    )


@dataclass(frozen=True, eq=False)
class _Panels:
    """Panels in rising order with the Chebyshev series on each."""

    low: Array
    high: Array
    series: Array
    error: Array
    fine: npt.NDArray[np.bool_]
    sigma: float

    @cached_property
    def sizes(self) -> Array:
        """Far ends, widths, root mean squares, and sizes under the density's root, rows."""
        largest = np.abs(self.series).max(axis=1)
        # Half the sum of squares of the coefficients is near enough the mean square.
        unit = self.series / np.maximum(largest, 1e-300)[:, None]
        mean_square = 0.5 * np.einsum("ij,ij->i", unit, unit)
        weighed = largest * self._root(0.5 * (self.low + self.high))
        far = np.maximum(np.abs(self.low), np.abs(self.high))
        each = (self.high - self.low, largest * np.sqrt(mean_square), weighed)
        return np.nan_to_num([far, *each])

    @property
    def _top(self) -> float:
        return float(self.sizes[3].max(initial=0.0))

    def _root(self, x: Array) -> Array:
        return np.exp(-((x / self.sigma) ** 2) / 4.0)

    def share(self, x: float, size: float) -> float:
        """Return this much at x over the function's size, as a Gaussian weighs both."""
        return size * float(self._root(np.array(x))) / max(self._top, 1e-300)

    def unresolved(self, known: tuple[float, ...]) -> npt.NDArray[np.bool_]:
        """Mark panels on which f is not resolved, or only by hiding a singularity."""
        middle, width = 0.5 * (self.low + self.high), self.high - self.low
        gap = np.abs(middle[:, None] - np.array([*known, math.inf])).min(axis=1)
        hiding = width < HIDING * np.minimum(min(self.sigma, 1.0) + np.abs(middle), gap)
        change = np.abs(self.series[:, 1:]).max(axis=1)
        size = np.where(self.fine, change, self.error) * self._root(middle)
        return (hiding | ~self.fine) & (size > NEGLIGIBLE * self._top)

    def narrowest_at(self, edge: float) -> float:
        """Return the width of the narrower of the two panels that meet at an edge."""
        width = self.high - self.low
        return float(width[(self.low == edge) | (self.high == edge)].min())

    def kept(
        self, which: npt.NDArray[np.bool_], fine: npt.NDArray[np.bool_]
    ) -> "_Panels":
        """Return some of the panels, and which of them are resolved."""
        low, high, series, error = (
            v[which] for v in (self.low, self.high, self.series, self.error)
        )
        return _Panels(low, high, series, error, fine[which], self.sigma)

    @staticmethod
    def merged(parts: "list[_Panels]") -> "_Panels":
        """Return all panels in rising order."""
        order = np.argsort(np.concatenate([p.low for p in parts]))
        low, high, series, error, fine = (
            np.concatenate([getattr(p, name) for p in parts])[order]
            for name in ("low", "high", "series", "error", "fine")
        )
        return _Panels(low, high, series, error, fine, parts[0].sigma)


def _one_each(points: Array) -> tuple[float, ...]:
    """Return one of the points that lie together, the one in their middle."""
    if not points.size:
        return ()
    apart = np.nonzero(np.diff(points) > 1e-6 * (1.0 + np.abs(points[1:])))[0] + 1
    return tuple(float(v[len(v) // 2]) for v in np.split(points, apart))


def _suspects(panels: _Panels) -> list[int]:
    """Panels that are the narrowest of a ladder that widens to both sides."""
    width = panels.high - panels.low
    padded = np.pad(width, 12)
    widest = np.lib.stride_tricks.sliding_window_view(padded, 12).max(axis=1)
    ladder = np.minimum(widest[: width.size], widest[13:]) >= 8.0 * width
    ladder[1:] &= width[1:] <= width[:-1]
    ladder[:-1] &= width[:-1] <= width[1:]
    at = np.flatnonzero(ladder)
    out: list[int] = []
    for i in at[np.argsort(width[at], kind="stable")].tolist():
        if any(abs(i - j) < 4 for j in out):
            continue
        out.append(i)
        if len(out) > 2 * MOST_FOUND:
            break
    return out


@dataclass(frozen=True)
class _Sweep:
    f: Function
    reach: float
    noise: float
    who: str

    @property
    def _sigma(self) -> float:
        return self.reach / DEVIATIONS

    def halve(self, kinks: tuple[float, ...]) -> _Panels:
        """Return panels that end at the kinks, halved until f is resolved on each."""
        # Down to the function's own unit, however wide the Gaussian is.
        last = max(5.0, math.log2(self.reach))
        octaves = self.reach * 2.0 ** -np.arange(2.0, last + 1.0)
        ends = np.array([-self.reach, self.reach, *kinks])
        edges = np.unique(np.concatenate([ends, UP * octaves, -DOWN * octaves]))
        known = np.array([*sorted(kinks), math.inf])
        low, high = edges[:-1], edges[1:]
        before = np.full(low.size, np.inf)
        done: list[_Panels] = []
        sizes = np.empty((4, 0))
        while low.size:
            new = self._evaluated(low, high)
            every = np.concatenate([sizes, new.sizes], axis=1)
            fine, left = self._judged(every, new, before, known)
            if int((~left).sum()) > MOST or every.shape[1] > ALL:
                x = 0.5 * (low + high)[~left]
                raise ValueError(
                    f"{self.who}: `f` must be smooth between its `kinks`, but"
                    f" {x.size} panels of width {float((high - low)[~left].max()):.1g} do"
                    f" not resolve it within |x| < {self.reach:g}, e.g. at x ="
                    f" {x[np.argmin(np.abs(x))]:.6g}. It is noise, or has too many"
                    " oscillations or kinks; give `kinks`, or a larger `tolerance`."
                )
            done.append(new.kept(left, fine))
            sizes = np.concatenate([sizes, new.sizes[:, left]], axis=1)
            low, high = low[~left], high[~left]
            middle = 0.5 * (low + high)
            low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
            before = np.tile(new.error[~left], 2)
        return _Panels.merged(done)

    def searched(
        self, panels: _Panels, known: tuple[float, ...]
    ) -> dict[float, tuple[breaks.Break, float]]:
        """Return the new kinks next to narrow panels, each with a panel's width."""
        new: dict[float, tuple[breaks.Break, float]] = {}
        for i in _suspects(panels):
            low, high = float(panels.low[i]), float(panels.high[i])
            width = high - low
            if any(low - width <= c <= high + width for c in (*known, *new)):
                continue
            place = breaks.locate(self.f, low, high, self.reach, self.noise)
            if place and all(abs(place.at - c) > width for c in (*known, *new)):
                new[place.at] = (place, width)
        return new

    def _evaluated(self, low: Array, high: Array) -> _Panels:
        series = breaks.series(self.f, low, high)
        error = np.abs(series[:, -3:]).max(axis=1)
        fine = np.zeros(low.size, dtype=bool)
        return _Panels(low, high, series, error, fine, self._sigma)

    def _confirmed(
        self, new: _Panels, fine: npt.NDArray[np.bool_], size: Array
    ) -> npt.NDArray[np.bool_]:
        """Compare f with its series between the nodes, where a narrow bump may hide."""
        out = np.ones(new.low.size, dtype=bool)
        wide = fine & (new.high - new.low > self._sigma / 64.0)
        if wide.any():
            gap = breaks.largest_gap(
                self.f, new.low[wide], new.high[wide], new.series[wide]
            )
            out[wide] = ~(
                gap > np.maximum(16.0 * RESOLVED, 8.0 * self.noise) * size[wide]
            )
        return out

    def _judged(
        self, every: Array, new: _Panels, before: Array, kinks: Array
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Which panels are resolved, and which are not to be halved.

        `every` has the `sizes` of those that are done and of the new ones.
        """
        sigma = self._sigma
        unit = min(sigma, 1.0)
        touching = np.isin(new.low, kinks) | np.isin(new.high, kinks)
        width = new.high - new.low
        gap = np.min(np.abs(0.5 * (new.low + new.high)[:, None] - kinks), axis=1)
        # Next to a kink relative to f there: its slope may be infinite.
        size = _sizes(every, new, np.where(gap < 6.0 * width, 0.0, sigma / 8.0))
        fine = new.error <= RESOLVED * size
        # Halving no longer helps: what is left is noise of f itself. Next to a kink that of
        # a root falls little by little.
        stays = np.where(touching, 0.95, 0.6)
        fine |= (new.error <= self.noise * size) & (new.error >= stays * before)
        fine &= self._confirmed(new, fine, size)
        near, far = np.sort(np.abs([new.low, new.high]), axis=0)
        near = np.where((new.low < 0.0) & (new.high > 0.0), 0.0, near)
        share = new.error * new._root(near)
        ignored = share <= NEGLIGIBLE * every[3].max()
        floor = np.where(gap < 16.0 * width, 4.0 * near, unit + far) * NARROWEST
        narrow = width <= np.maximum(floor, DEEPEST * unit)
        fine |= touching & (ignored | narrow)
        if int((~fine).sum()) > MANY:
            fine |= ignored
        fine |= ~np.isfinite(new.error)
        return fine, fine | narrow


def _sizes(every: Array, new: _Panels, least: Array) -> Array:
    """Return the size of f that its rounding on the new panels is measured against."""
    far, width, size, _ = every[:, np.argsort(every[0], kind="stable")]
    largest = max(float(size.max()), 1e-300)
    mass = np.cumsum(np.square(size / largest) * width)
    x = np.maximum(np.abs(new.low), np.abs(new.high))
    within = np.maximum(x, least)
    last = np.searchsorted(far, within, side="right") - 1
    mean_square = largest * np.sqrt(mass[last] / (2.0 * within))
    scale = np.maximum(mean_square, np.abs(new.series).max(axis=1))
    # An argument is rounded as well: by its rounding times the slope.
    with np.errstate(over="ignore"):
        slope = np.abs(new.series[:, 1:]).sum(axis=1) / (new.high - new.low)
        return scale + x * slope
