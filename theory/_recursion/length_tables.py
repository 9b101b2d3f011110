r"""One layer as a function of both inputs' lengths and of their correlation.

For inputs of lengths :math:`r_i = e^{l_i}` and correlation :math:`\rho = \cos t`, with
:math:`r_i'^2 = E\,s(r_i Z)^2`,

.. math::

   1 - \rho' = \lambda(l_i, l_j) + \frac{r_i r_j}{r_i' r_j'}
       \int_\rho^1 S(l_i, l_j, t)\,d\rho, \qquad
   \lambda = 1 - \frac{E\,s(r_i Z)\,s(r_j Z)}{r_i' r_j'},

where S is the mean product of the slopes, :math:`E\,s'(u) s'(v)`. Both terms are
positive where slopes are alike, so nearly equal inputs keep all digits of their distance;
and :math:`\lambda` is the square of :math:`l_i - l_j` times a function that is smooth.

All are analytic in the logarithms of the lengths as long as the angle is not small, or
kinks are at zero: interpolated between a few lengths, on panels of the angle.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from theory import gaussian
from theory._cached import cached_property
from theory._chebyshev import chebyshev
from theory._recursion import short_rows
from theory._recursion.intervals import Interval
from theory._recursion.reaches import OUTSIDE, VANISHED, reach, rule_of
from theory._recursion.tangents import straight
from theory._recursion.turns import FEWER, RESOLVED, Turns
from theory.activations import Activation, PiecewisePolynomial
from theory.activations.affine import split

Array = npt.NDArray[np.float64]

NODES = 32
"""Nodes in log length of a panel of width one: functions of one length are analytic in
the strip of half-width pi/4, where Gaussian densities of complex length decay."""

MOST = 256
"""Nodes at most."""

EPS = 2e-16

LOST = 1e-11
"""Error of a table over a distance from which it is lost: such pairs go by themselves,"""

SLOW = 1000
"""unless they are more, as it takes some milliseconds each, and kernels do not show it."""

ALONE = 50
"""Pairs of lengths of a layer whose distance is integrated for them alone, at most;"""

MANY = 128
"""of more rows than this layers after them use the same tables, so that only"""

SEVERAL = 4
"""pairs that would be alone in a table are. As few are where `Turns` have the table, which
take as long as three shorter rows by themselves at log lengths up to"""

BRIEF = 2.0
"""this one."""

MOST_ALONG = 12
"""Nodes of a stretch that may be as long as a panel."""

HELD = 1 << 18
"""Numbers held at once in averages over many nodes."""

TINY = -256
"""Exponents of s(r y) / r below which its square is that of a multiple."""

STEEP = 8.0
"""Growth of E s'^2 over half of a panel from which its share of E s^2 is tabulated."""


@dataclass(frozen=True)
class Lengths:
    """Functions of one or two lengths of an activation, on panels of log lengths.

    `rows` is how many rows have such lengths.
    """

    activation: Activation
    rows: int = 1

    def gain(self, logs: Array) -> Array:
        """Return log r' - log r at log lengths of shape (m,)."""
        return self._read(logs, lambda p, x: p.gain(x))

    def mean(self, logs: Array) -> Array:
        """Return E s(r Z) / r'."""
        return self._read(logs, lambda p, x: p.mean(x))

    def slope(self, logs: Array) -> Array:
        """Return E s'(r Z)^2."""
        return self._read(logs, lambda p, x: p.slope(x))

    def growth(self, logs: Array) -> Array:
        """Return the derivative of log r' in log r."""
        return self._read(logs, lambda p, x: p.growth(x))

    def turned(self, low: Array, gap: Array, beside: Array | float = 0.0) -> Array:
        """Return lambda of pairs, from the shorter's log length and the gap, positive.

        A table's rounding is let pass where it is none of the sum with what is `beside`.
        """
        out = np.empty_like(gap)
        short = short_rows.short(self.activation, low + gap)
        at = np.flatnonzero(short)
        if len(at):
            both = low[at], low[at] + gap[at]
            gains = self.gain(both[0]), self.gain(both[1])
            out[at] = short_rows.turned(self.activation, both[0], gap[at], gains)
        at = np.flatnonzero(~short)
        beside = np.broadcast_to(beside, low.shape)[at]
        out[at] = self._tabulated(low[at], gap[at], beside)
        return out

    def _tabulated(self, low: Array, gap: Array, beside: Array) -> Array:
        if _constant_between_kinks(self.activation):
            return self._by_rows(low, gap)
        few = (ALONE, FEWER) if self.rows <= MANY else (SEVERAL, SEVERAL)
        bent = bends_at_zero(self.activation) and bool(low.max(initial=0.0) < BRIEF)
        if len(low) <= (SEVERAL if bent else few[0]):
            return self._by_rows(low, gap)
        out, error = np.empty_like(gap), np.zeros_like(gap)
        edges = _meetings(self.activation)
        edges = np.union1d(np.arange(math.ceil(gap.max()) + 1.0), edges)
        cell, wide = np.floor(low), np.searchsorted(edges, gap) - 1
        both = cell * len(edges) + wide
        for k in np.unique(both):
            at = np.flatnonzero(both == k)
            between = Interval(*edges[wide[at[0]] :][:2].tolist())
            if len(at) <= (few[1] if between.low or not bent else SEVERAL):
                out[at] = self._by_rows(low[at], gap[at])
                continue
            first = panel(self.activation, int(cell[at[0]]))
            out[at], error[at] = first.turned(low[at], gap[at], between)
        lost = error > LOST * (np.abs(out) + beside)
        if np.count_nonzero(lost) > SLOW:
            lost = error > 0.1 * split(self.activation)[0].tolerance
        out[lost] = self._by_rows(low[lost], gap[lost])
        return out

    def _by_rows(self, low: Array, gap: Array) -> Array:
        """Return lambda of few pairs: those of one shorter row share a quadrature."""
        pairs, where = np.unique(low + 1j * gap, return_inverse=True)
        low, gap = pairs.real, pairs.imag
        out = np.empty_like(gap)
        for least in np.unique(low):
            at = low == least
            out[at] = turned(self.activation, float(least), gap[at])
        return out[where]

    def _read(self, logs: Array, f: Callable[["LengthPanel", Array], Array]) -> Array:
        out, own = np.empty_like(logs), np.floor(logs)
        cell = np.maximum(own, straight(self.activation))
        for k in np.unique(cell):
            at = cell == k
            out[at] = f(panel(self.activation, int(k)), logs[at] + (k - own[at]))
        return out


def steep(activation: Activation, interval: Interval) -> bool:
    """Whether slopes grow much over an interval, and no kink but at zero is in the way.

    Where kinks do not meet dead zones would make what is divided by `sizes` too steep.
    """
    if not bends_at_zero(activation):
        return False
    both = Lengths(activation).slope(interval.nodes(2))
    return bool(both.max() > STEEP * both.min())


def sizes(activation: Activation, logs: Array, interval: Interval) -> Array:
    """Return what slopes are divided by in tables of an interval, at log lengths (m,).

    The root of E s'(r Z)^2 where it grows much: polynomials and exponentials then keep
    their digits at short lengths, too.
    """
    if not steep(activation, interval):
        return np.ones_like(logs)
    return np.sqrt(Lengths(activation).slope(logs))


@lru_cache(maxsize=512)
def panel(activation: Activation, k: int) -> "LengthPanel":
    """Return the tables on log lengths from k to k + 1."""
    return LengthPanel(activation, Interval(float(k), float(k + 1)))


@dataclass(frozen=True, eq=False)
class LengthPanel:
    """Functions of one or two lengths, on an interval of log lengths."""

    activation: Activation
    interval: Interval

    @cached_property
    def _sampled(self) -> tuple[Array, Array, Array, Array, int]:
        """Nodes y (m,) for all lengths of the interval, weights, s(r y) / r and s'(r y).

        In units of r, the least length: of hundreds the logarithm has lost digits that
        its differences have. Of tiny s the last two are times two to a power, which comes
        last: their energy is no denormal number then.
        """
        unit = math.exp(self.interval.low)
        far = reach(self.activation, math.exp(self.interval.high))
        most = math.exp(self.interval.high - self.interval.low)
        top = far * most
        count = math.ceil(top)
        edges = [np.arange(-count, count + 1, dtype=np.float64)]
        edges.append(self.activation._edges(top * unit) / unit)
        if self.has_slope:
            edges.append(self.activation.derivative._edges(top * unit) / unit)
        every = np.unique(np.concatenate(edges))
        y, w = gaussian.composite(every[np.abs(every) <= top])
        x = unit * y
        with np.errstate(over="ignore"):
            s, slope = self.activation._value(x) / unit, np.zeros_like(x)
            if self.has_slope:
                slope = self.activation.derivative._value(x)
        size = np.abs(s) * np.exp(-0.25 * np.square(y / most))
        _, power = math.frexp(size[np.isfinite(size)].max(initial=0.0))
        power = -power if power < TINY else 0
        return y, w, np.ldexp(s, power), np.ldexp(slope, power), power

    @property
    def has_slope(self) -> bool:
        """Whether s' is square integrable."""
        return bool(np.isfinite(self.activation.derivative_second_moment))

    @cached_property
    def _rows(self) -> Array:
        """Coefficients of all functions of one length, (nodes, 5).

        They are analytic but for the complex zeros of r'^2, wherever these are: nodes are
        doubled until they are resolved.
        """
        self.activation._require_slope(math.exp(2.0 * self.interval.low))
        n = NODES
        while True:
            values = self._averages(n)
            if self._steep:
                # They may grow like exp(r^2): their share of the energy does not.
                values[:, 4] *= np.exp(-values[:, 0])
            c = chebyshev(n) @ values
            size = np.abs(c).max(axis=0)
            size[1] = max(size[1], 1.0)  # a mean is added to correlations
            if np.all(np.abs(c[-3:]).max(axis=0) <= RESOLVED * size) or n >= MOST:
                return c
            n *= 2

    def _averages(self, n: int) -> Array:
        """Return the functions at n nodes: `gain` and so on, (n, 5)."""
        shares = self.interval.nodes(n) - self.interval.low
        parts = min(n, math.ceil(n * len(self._sampled[0]) / HELD))
        return np.vstack([self._averaged(v) for v in np.array_split(shares, parts)])

    def _averaged(self, shares: Array) -> Array:
        """Return them at some log lengths less the least, in the units of `_sampled`."""
        y, w, s, slope, _ = self._sampled
        r = np.exp(shares)[:, None]
        density = w * gaussian.pdf(y / r) / r
        with np.errstate(over="ignore", invalid="ignore"):
            energy, slopes = (_mean_product(density, f, f) for f in (s, slope))
        if not (np.isfinite(energy).all() and np.isfinite(slopes).all()):
            top = math.exp(self.interval.high)
            raise ValueError(OUTSIDE.format(self.activation.name, top))
        if not energy.all():
            longest = math.exp(self.interval.low) * float(r[energy == 0.0].max())
            raise ValueError(VANISHED.format(self.activation.name, longest))
        gain = np.log(energy) - 2.0 * shares
        mean, growth = density @ s, _mean_product(density, s, y * slope)
        if not self.has_slope:
            # By parts: s may jump.
            growth = 0.5 * _mean_product(density, s, s * (np.square(y / r) - 1.0))
        off = s - mean[:, None]
        variance = _mean_product(density, off, off)
        over = (mean / np.sqrt(energy), variance / energy, growth / energy)
        return np.stack([gain, *over, slopes], axis=1)

    @cached_property
    def _steep(self) -> bool:
        """Whether slopes grow so much that the least of them would lose digits."""
        slopes = self._averages(2)[:, 4]
        return bool(slopes.max() > STEEP * slopes.min())

    def _read(self, which: int, logs: Array) -> Array:
        c = self._rows[:, which]
        return self.interval.basis(logs, len(c)) @ c

    def gain(self, logs: Array) -> Array:
        """Return log r' - log r at log lengths of shape (m,)."""
        return 0.5 * self._read(0, logs) - self._sampled[-1] * math.log(2.0)

    def mean(self, logs: Array) -> Array:
        """Return E s(r Z) / r'."""
        mean, share = self._read(1, logs), self._read(2, logs)
        # Where it is nearly all of s, from the little that is not.
        near = np.sqrt(1.0 - np.minimum(share, 0.5))
        return np.where(share < 0.5, np.copysign(near, mean), mean)

    def growth(self, logs: Array) -> Array:
        """Return the derivative of log r' in log r."""
        return self._read(3, logs)

    def slope(self, logs: Array) -> Array:
        """Return E s'(r Z)^2."""
        # A kink far from short rows leaves less than the rounding of the longest one's.
        found = np.maximum(self._read(4, logs), 0.0)
        if self._steep:
            found = found * np.exp(self._read(0, logs))
        return np.ldexp(found, -2 * self._sampled[-1])

    @cached_property
    def _angles(self) -> dict[Interval, Array]:
        """Lambda in polynomials of the shorter and the gap, (n, n), by the gap's cell."""
        return {}

    def _tabulated(self, cell: Interval) -> Array:
        """Return those of gaps in a cell: from zero on, over (l_i - l_j)^2."""
        n, to = FEWER, chebyshev(FEWER)
        low, gaps = self.interval.nodes(n), cell.nodes(n)
        if self._turns_in(cell):
            both = np.repeat(low, n), np.tile(gaps, n)
            return to @ self._turns.over_square(*both).reshape(n, n) @ to.T
        over = np.ones(n) if cell.low else gaps * gaps
        rows = [turned(self.activation, v, gaps) / over for v in low.tolist()]
        return to @ np.array(rows) @ to.T

    def _turns_in(self, cell: Interval) -> bool:
        """Whether gaps begin at zero and A' has no jump."""
        return not cell.low and bends_at_zero(self.activation)

    @cached_property
    def _turns(self) -> Turns:
        return Turns.resolved(self.activation, self.interval)

    def turned(self, low: Array, gap: Array, cell: Interval) -> tuple[Array, Array]:
        """Return lambda of pairs from the shorter's log length and gaps of one cell.

        One-sided, it is smooth in the gap where kinks do not meet. And its error, by its
        last coefficients and by rounding.
        """
        over, least = np.ones_like(gap) if cell.low else gap * gap, 0.0
        if self._turns_in(cell):
            least = self._turns.error
            if self._turns.nodes > FEWER:  # more than a table has
                return over * self._turns.over_square(low, gap), over * least
        if cell not in self._angles:
            self._angles[cell] = self._tabulated(cell)
        left, right = self.interval.basis(low, FEWER), cell.basis(gap, FEWER)
        found = np.einsum("ma,ma->m", left @ self._angles[cell], right)
        size = np.abs(self._angles[cell])
        error = least + EPS * size.sum() + size[-2:].sum() + size[:, -2:].sum()
        # That of powers is zero: half of its rounding is below.
        return over * np.maximum(found, 0.0), over * error


def _mean_product(density: Array, f: Array, g: Array) -> Array:
    """Return sums of f g by each of densities (n, m); f and g are (m,) or (n, m)."""
    with np.errstate(over="ignore"):
        product = f * g
    if not np.isfinite(product).all():
        # Products of far values leave float64 where their energy does not.
        root = np.sqrt(density)
        return ((root * f) * (root * g)).sum(axis=1)
    if product.ndim == 1:
        return density @ product
    return np.einsum("nm,nm->n", density, product)


@lru_cache(maxsize=64)
def _meetings(activation: Activation) -> Array:
    """Return the positive gaps of log lengths at which kinks of both rows meet."""
    kinks = np.array([c for c in activation.kinks if c])
    with np.errstate(invalid="ignore"):  # of kinks on both sides of zero
        gaps = np.log(np.outer(kinks, 1.0 / kinks))
    return gaps[gaps > 0.0]


def bends_at_zero(activation: Activation) -> bool:
    """Whether the slope is square integrable, and no kink is anywhere but at zero."""
    return math.isfinite(activation.derivative_second_moment) and not any(
        activation.kinks
    )


def _constant_between_kinks(activation: Activation) -> bool:
    base, _, _ = split(activation)
    return isinstance(base, PiecewisePolynomial) and base.m == 0


def turned(activation: Activation, low: float, gaps: Array) -> Array:
    """Return lambda of lengths e^low and e^(low + gap), for positive gaps (m,)."""
    r = np.exp(low + np.concatenate([[0.0], gaps]))
    z, w = rule_of(activation, r)
    first, both = activation._value(r[0] * z), activation._value(r[1:, None] * z)
    far = _constant_between_kinks(activation) or gaps.min() >= 1.0
    change = both - first if far else _change(activation, r, z, gaps, both - first)
    size, other = math.sqrt(first * first @ w), np.sqrt(both * both @ w)
    # Of the change of s, what does not go along with s: with a = s(r_0 z) and
    # b = (1 + share) a + across, 1 - a.b/|a||b| = |across|^2 / |b| (|b| + (1 + share) |a|).
    share = ((change * first) @ w) / (size * size)
    across = change - share[:, None] * first
    along = (1.0 + share) * size
    apart = (across * across) @ w
    return np.where(
        along > 0.0, apart / (other * (other + np.abs(along))), 1.0 - along / other
    )


def _along(edges: Array, start: Array, wide: Array) -> int:
    """Return the nodes of a rule for the slope on stretches beside panels' edges.

    Polynomials of 16 nodes resolve it on panels: no singularity is within 1.9 halves of a
    panel's width, and it is analytic in an ellipse of 3.8 widths over that of a stretch,
    of which n nodes leave the power -2 n.
    """
    if not start.size:
        return 1
    # Those next to the last edges are known to reach as far as stretches do.
    ends = start, start + wide
    edges = np.union1d(edges, [float(f(v)) for f in (np.min, np.max) for v in ends])
    widths = np.diff(edges, prepend=edges[0], append=edges[-1])
    widths[[0, -1]] = widths[[1, -2]]
    at = np.searchsorted(edges, np.stack(ends))
    panels = widths[at].min(axis=0)
    with np.errstate(divide="ignore"):
        least = float((panels / np.abs(wide)).min(initial=math.inf))
    return max(1, min(MOST_ALONG, math.ceil(19.4 / math.log(max(3.8 * least, 2.0)))))


def _change(
    activation: Activation, r: Array, z: Array, gaps: Array, difference: Array
) -> Array:
    """Return s(r z) - s(r_0 z), by a stretch that may have kinks inside, or as it is."""
    start, wide = r[0] * z, (r[0] * z) * np.expm1(gaps)[:, None]
    # A stretch over several panels is not resolved, and long enough for a difference.
    most = float(r.max())
    edges = most * activation._scaled(most**2)._edges(reach(activation, most))
    inner = np.setdiff1d(edges, activation.kinks)
    ends = np.searchsorted(inner, start + wide) - np.searchsorted(inner, start)
    near, change = np.abs(ends) <= 1, difference.copy()
    start, wide = np.broadcast_to(start, near.shape)[near], wide[near]
    # Between kinks the slope of a piecewise polynomial is linear: its middle is its mean.
    polynomial = isinstance(split(activation)[0], PiecewisePolynomial)
    x, share = gaussian.legendre(1 if polynomial else _along(edges, start, wide))
    # A kink at zero stays at zero for every length.
    kinks = [c for c in activation.kinks if c]
    stops = np.stack([np.zeros_like(wide), *[wide] * len(kinks), np.ones_like(wide)])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for stop, c in zip(stops[1:-1], kinks, strict=True):
            stop[:] = np.clip(np.nan_to_num((c - start) / wide), 0.0, 1.0)
    stops[1:-1].sort(axis=0)
    total, slope = np.zeros_like(wide), activation.derivative
    for a, b in itertools.pairwise(stops):
        at = np.flatnonzero(b > a)
        half, first = (0.5 * (b - a) * wide)[at], (start + a * wide)[at]
        mean = np.zeros_like(half)
        for node, weight in zip(x, share, strict=True):
            mean += weight * slope._value(first + (1.0 + node) * half)
        total[at] += half * mean
    change[near] = total
    return change
