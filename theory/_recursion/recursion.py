r"""Kernels of inputs of any lengths, one layer after another.

A pair is carried as its correlation and its distance from the nearer of +-1, a row as the
logarithm of its length, whose differences keep their digits (`rows`). One layer is
a map of these (`row_maps`); weights, biases and residual connections then add
kernels up: for lengths :math:`R_{p,i}` and distances :math:`\delta_p` of the parts p,

.. math::

   (1 - \rho)\, R_i R_j = \sum_p R_{p,i} R_{p,j}\, \delta_p + \sum_{p < o}
       \frac{(R_{p,i} R_{o,j} - R_{o,i} R_{p,j})^2}{R_i R_j + \sum_p R_{p,i} R_{p,j}},

again a sum of positive terms. A row and its copy stay the same at any depth.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from theory import _one_layer, _twofold
from theory._cached import cached_property
from theory._recursion.closed_maps import ClosedForm, closed
from theory._recursion.layer_maps import Interpolated, sharing
from theory._recursion.layers import Layer
from theory._recursion.row_maps import Pairs, RowMap
from theory._recursion.rows import Index, LogLengths
from theory._recursion.spheres import homogeneity
from theory._recursion.tangents import LONG, bend_ends, limit, straight, tangent
from theory.activations import Activation
from theory.grids import CLOSE

Array = npt.NDArray[np.float64]

LayerMap = ClosedForm | Interpolated
"""One layer at the lengths that rows have there: rows by themselves, and pairs."""

FARTHEST, WITHIN = 10.0, 4.0
"""Deviations of the longest row, within which a function is to be odd or even, and of the
shortest, within which its largest value says what is rounding."""

LOST = 1e-6
"""By which no distance from the nearer end exceeds one, unless its digits are lost."""


@dataclass(frozen=True, eq=False)
class Part:
    """One of the kernels that add up: its lengths, over sqrt(weight), and its weight."""

    rows: LogLengths | None  # none: a constant
    weight: float

    def over(self, whole: LogLengths, at: Index) -> Array:
        """Return log lengths of some rows over others of theirs, the weight included."""
        half, high, low = 0.5 * math.log(self.weight), whole.high[at], whole.low[at]
        if self.rows is None:
            return (half - high) - low
        return (self.rows.high[at] - high) + (self.rows.low[at] - low) + half

    def gaps(self, i: Index, j: Index) -> Array:
        """Return differences of log lengths."""
        return np.zeros(len(i)) if self.rows is None else self.rows.differences(i, j)


def _within(logs: Array) -> None:
    """Raise for log lengths whose squares float64 does not hold."""
    if not np.all(np.abs(logs) < 345.0):
        worst = 2.0 * logs[np.abs(logs).argmax()]
        raise ValueError(
            "`depth` must keep the kernel within float64, got"
            f" e^{worst:.3g} on the diagonal. Use fewer layers, shorter inputs or"
            " `activation.normalized()`."
        )


def total(parts: Sequence[Part], like: LogLengths) -> LogLengths:
    """Log lengths of a sum of kernels."""
    if len(parts) == 1 and parts[0].rows is not None:
        rows = parts[0].rows
        return rows.after(rows.start, rows.gaps, 0.5 * math.log(parts[0].weight))
    n = len(like.high)
    logs = np.array([p.over(like, like.order) for p in parts])
    gain = 0.5 * np.logaddexp.reduce(2.0 * logs, axis=0)
    whole = like.high[like.order] + gain
    _within(whole)
    share = np.exp(2.0 * (logs - gain))[:, :-1]
    gaps = np.array([np.zeros(n - 1) if p.rows is None else p.rows.gaps for p in parts])
    with np.errstate(over="ignore", invalid="ignore"):
        rise = 0.5 * np.log1p((share * np.expm1(2.0 * gaps)).sum(axis=0))
    # Ratios beyond float64: of logarithms so far apart the difference keeps its digits.
    rise = np.where(gaps.max(axis=0) > 350.0, np.diff(whole), rise)
    return like.after(like.start, rise, float(gain[0]))


def combine(
    parts: Sequence[Part],
    sums: LogLengths,
    given: Sequence[tuple[Array, Array]],
    i: Index,
    j: Index,
) -> tuple[Array, Array]:
    """Return correlation and distance from +-1 of a sum of kernels.

    `given` are those of the parts; a constant part has correlation one.
    """
    if len(parts) == 1:
        return given[0]
    left, right = ([np.exp(p.over(sums, k)) for p in parts] for k in (i, j))
    both = np.array([u * v for u, v in zip(left, right, strict=True)])
    rho = np.zeros_like(given[0][0])
    for size, (r, _) in zip(both, given, strict=True):
        rho += size * r
    np.clip(rho, -1.0, 1.0, out=rho)
    d = 1.0 - np.abs(rho)
    near = np.flatnonzero(d < CLOSE)
    if len(near):
        # From -1 the formula is the same: what a part lacks of it is 1 + rho_p.
        end = np.copysign(1.0, rho[near])
        delta = np.zeros(len(near))
        for size, (r, e) in zip(both, given, strict=True):
            same = np.copysign(1.0, r[near]) == end
            delta += size[near] * np.where(same, e[near], 2.0 - e[near])
        gaps = [p.gaps(i[near], j[near]) for p in parts]
        for p, o in itertools.combinations(range(len(parts)), 2):
            turn = (right[p] * left[o])[near] * np.expm1(gaps[p] - gaps[o])
            delta += turn * turn / (1.0 + both.sum(axis=0)[near])
        rho[near], d[near] = end * (1.0 - delta), delta
    return rho, d


def _map(activation: Activation, before: LogLengths, *, many: bool) -> LayerMap:
    if before.high.max() < straight(activation):
        activation = tangent(activation)
    bent, least = None, before.high.min()
    if (
        least > LONG
        and homogeneity(activation) is None
        and least > bend_ends(activation)
    ):
        activation, bent = limit(activation), activation
    alone = RowMap(activation, before, bent)
    return ClosedForm(alone) if closed(activation) else Interpolated(alone, many)


@dataclass(frozen=True, eq=False)
class Step:
    """One layer at the lengths that the rows have there."""

    layer: Layer
    map: LayerMap
    parts: tuple[Part, ...]
    rows: LogLengths  # after it

    @classmethod
    def build(cls, layer: Layer, before: LogLengths, *, many: bool) -> "Step":
        """Build the layer's map for rows of these lengths."""
        each = _map(layer.activation, before, many=many)
        parts = [Part(each.alone.rows, layer.weight_var)]
        if layer.bias_var:
            parts.append(Part(None, layer.bias_var))
        if layer.skip:
            parts.append(Part(before, layer.skip**2))
        return cls(layer, each, tuple(parts), total(parts, before))

    @property
    def every(self) -> Index:
        """All rows."""
        return np.arange(len(self.rows.high))

    @property
    def branch(self) -> tuple[Part, ...]:
        """What adds up beside the residual connection."""
        return self.parts[: 2 if self.layer.bias_var else 1]

    @cached_property
    def slopes(self) -> Array:
        """What the tangent kernel's diagonal is multiplied by."""
        return self.layer.weight_var * self.map.alone.slopes + self.layer.skip**2

    @cached_property
    def fall(self) -> Array:
        """Log lengths before the layer less those after it."""
        before = self.map.alone.before
        return (before.high - self.rows.high) + (before.low - self.rows.low)

    def pairs(
        self, i: Index, j: Index, rho: Array, d: Array, *, tangent: bool
    ) -> Pairs:
        """Take pairs through the activation.

        Opposite rows meet where it is even: a pair has the distance of its mirror image.
        """
        octaves = self.map.alone.before.high / math.log(2.0)
        reach = max(math.ceil(octaves.max() + math.log2(FARTHEST)), 3)
        unit = math.floor(octaves.min() + math.log2(WITHIN))
        parity = _one_layer.parity_of(self.layer.activation, 2.0**reach, 2.0**unit)
        if not parity:
            return self.map.pairs(i, j, rho, d, tangent=tangent)
        after, gap, slope = self.map.pairs(i, j, np.abs(rho), d, tangent=tangent)
        sign = np.where(rho < 0.0, -1.0, 1.0)
        if parity < 0:
            return sign * after, gap, slope
        return after, gap, None if slope is None else sign * slope


@dataclass(frozen=True)
class Stack:
    """Hidden layers, and the weight layers that the tangent kernel sums over, if any."""

    layers: tuple[Layer, ...]
    trained: frozenset[int] = frozenset()


@dataclass(frozen=True, eq=False)
class Recursion:
    """All layers at the lengths of the rows that enter the first."""

    stack: Stack
    start: LogLengths
    steps: tuple[Step, ...]

    @classmethod
    def build(
        cls, stack: Stack, start: LogLengths, *, many: bool = False
    ) -> "Recursion":
        """Build every layer's map; `many` pairs, a few at a time, are to go through it."""
        steps: list[Step] = []
        rows = start
        for layer in stack.layers:
            _within(rows.high)
            steps.append(Step.build(layer, rows, many=many))
            rows = steps[-1].rows
        _within(rows.high)
        at = [k for k, step in enumerate(steps) if isinstance(step.map, Interpolated)]
        maps = [step.map for step in steps if isinstance(step.map, Interpolated)]
        for k, each in zip(at, sharing(maps), strict=True):
            steps[k] = replace(steps[k], map=each)
        return cls(stack, start, tuple(steps))

    @property
    def rows(self) -> LogLengths:
        """Log lengths after the last layer."""
        return self.steps[-1].rows

    @cached_property
    def diagonals(self) -> tuple[Array, ...]:
        """Logarithms of the tangent kernel's diagonal over K's, of each layer (n,)."""
        trained = self.stack.trained
        none = np.full_like(self.start.high, -math.inf)
        logs = [np.zeros_like(none) if 1 in trained else none]
        low = np.zeros_like(none)  # what rounding takes from hundreds of layers' sums
        for number, step in enumerate(self.steps, start=2):
            with np.errstate(divide="ignore", invalid="ignore"):
                slope = np.log(step.slopes) + 2.0 * step.fall
                log, error = _twofold.add_exactly(logs[-1], slope)
            finite = np.isfinite(log)
            low = np.where(finite, low + error, 0.0)
            log[finite], low[finite] = _twofold.add_exactly(log[finite], low[finite])
            if number in trained:
                for part in step.branch:
                    log = np.logaddexp(log, 2.0 * part.over(step.rows, step.every))
            logs.append(log)
        return tuple(logs)

    @property
    def log_tangent(self) -> Array:
        """Logarithms of the tangent kernel's diagonal, (n,)."""
        return self.diagonals[-1] + 2.0 * self.rows.high

    def pairs(
        self, i: Index, j: Index, rho: Array, d: Array
    ) -> tuple[Array, Array | None]:
        """Take pairs of rows, (m,), through all layers.

        Returns correlations and the tangent kernel over the root of its diagonal entries.
        """
        trained, theta = self.stack.trained, None
        one = (np.ones_like(rho), np.zeros_like(rho))
        if trained:
            theta = rho.copy() if 1 in trained else np.zeros_like(rho)
        for number, step in enumerate(self.steps, start=2):
            layer = step.layer
            after, gap, slope = step.pairs(i, j, rho, d, tangent=bool(trained))
            if not np.all((gap >= 0.0) & (gap <= 1.0 + LOST)):
                raise ValueError(
                    "`depth` must leave lengths at which the activation has digits, but"
                    f" {layer.activation.name} has lost them all after layer"
                    f" {number - 2}. Use fewer layers or `activation.normalized()`."
                )
            if theta is not None and slope is not None:
                before, here = self.diagonals[number - 2 : number]
                slope = layer.weight_var * slope + layer.skip**2
                theta *= _ratio(before, here, step.fall, i, j) * slope
                if number in trained:
                    for part, value in zip(step.branch, (after, 1.0), strict=False):
                        size = part.over(step.rows, step.every) - 0.5 * here
                        theta += value * np.exp(size[i] + size[j])
            parts = [(after, gap)]
            parts += [one] if layer.bias_var else []
            parts += [(rho, d)] if layer.skip else []
            rho, d = combine(step.parts, step.rows, parts, i, j)
        return rho, theta


def _ratio(before: Array, here: Array, fall: Array, i: Index, j: Index) -> Array:
    """Roots of what was on the diagonal before over what is there now."""
    with np.errstate(invalid="ignore"):
        rise = np.where(before == -math.inf, -math.inf, 0.5 * (before - here) + fall)
    return np.exp(rise[i] + rise[j])
