r"""Slopes of duals by quadrature in the plane, for many angles and lengths at once.

The slope is :math:`S(t) = E\,f(X) g(Y)` with f = a', g = b' and correlation cos t. With
P, Q independent, P of variance :math:`\cos^2(t/2)` and Q of :math:`\sin^2(t/2)`,

.. math:: X = P + Q, \quad Y = P - Q, \qquad
   S(t) = \int \varphi_{\sin(t/2)}(q)\, I(q, \kappa)\, dq, \qquad
   I(q, \kappa) = \int f(p + q)\, g(p - q)\, e^{-\kappa p^2/2}\, dp,

with :math:`\kappa = 1/\cos^2(t/2)` between 1 and 2. The inner integral does not know t but
through kappa, in which it is analytic: it is evaluated once for all angles, on panels of
p that end where f(p + q) or g(p - q) need it and panels of q on which it is resolved.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import gaussian, meshes
from theory._cached import cached_property
from theory._chebyshev import chebyshev, nodes
from theory.duals import _graded as graded
from theory.duals._panels import NEAREST

Array = npt.NDArray[np.float64]
Function = Callable[[Array], Array]

KAPPAS = 26
"""Nodes in kappa between 1 and 2: interpolation leaves (3 + sqrt 8)^-26 of the integral,
which is analytic up to kappa = 0."""
DEVIATIONS = 12.0
"""Of q, beyond which its density is nothing even beside growth of the inner integral."""
FARTHEST = 37.0
"""Deviations at which anything is looked for: the density is 1e-298 there."""
FALL = 43.7
"""Logarithms below its maximum at which a function is nothing: to 1e-19."""
CLOSE = 1e-6
"""Of q, below which it is small angles alone, down to `NEAREST`, that a panel matters to:
it may be known to ten times the noise, and to more as its share of those falls."""
MOST = 4096
"""Panels that one round may leave unresolved: more is noise."""


@dataclass(frozen=True)
class Broken:
    """A function with the points where it or a derivative jumps, and panels' edges.

    `edges(reach)` are points in [-reach, reach] between which it is resolved.
    """

    f: Function
    kinks: tuple[float, ...]
    edges: Callable[[float], Array]

    def mirrored(self) -> "Broken":
        """Return the function x -> f(-x)."""
        return Broken(
            lambda x: self.f(-x),
            tuple(sorted(-c for c in self.kinks)),
            lambda reach: -self.edges(reach)[::-1],
        )

    def halved(self, parity: int) -> "Broken":
        """Return what it is for x >= 0, and the same below, times -1 for parity 1.

        Exactly odd or even where f is: what rounding leaves of either side does not add.
        """

        def value(x: Array) -> Array:
            out = self.f(np.abs(x))
            return np.copysign(1.0, x) * out if parity else out

        def edges(reach: float) -> Array:
            out = self.edges(reach)
            out = out[out >= 0.0]
            return np.unique(np.concatenate([-out, out]))

        return Broken(value, self.kinks, edges)

    def panels(self, reach: float) -> int:
        """Return the number of panels that a Gauss rule needs within [-reach, reach]."""
        return len(graded.graded(self.edges(reach), self.kinks)[0])

    @cached_property
    def reach(self) -> float:
        """Distance beyond which f(x)^2 exp(-x^2/2) is below 1e-19 of its maximum."""
        x = np.linspace(0.0, FARTHEST, 593)
        cuts = self.edges(FARTHEST)
        x = np.unique(np.concatenate([x, np.abs(cuts)]))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            size = np.maximum(np.abs(self.f(x)), np.abs(self.f(-x)))
            size = np.where(np.isfinite(size), size, 0.0)
            log = 2.0 * np.log(np.maximum.accumulate(size)) - 0.5 * x * x
        return max(8.0, 0.5 + float(x[log > log.max() - FALL].max(initial=0.0)))


@dataclass(frozen=True, eq=False)
class Plane:
    """E f_i(X) f_j(+-Y) at correlations cos t, 0 < t <= `widest`, for many t at once.

    `size` is that of the duals, which errors are measured against. The two orders of a
    pair give the same slope, so that half of the plane repeats the other: that of
    negative q for f_j(Y), of negative p for f_j(-Y); if the functions are `symmetric`,
    all even or all odd, that of negative p for f_j(Y) too. `noise` is the error of the
    inner integral, over its size, that is accepted once halving panels no longer helps.

    With functions `g` of their own the slopes are E f_i(X) g_j(+-Y), and only if they are
    `symmetric` does a half repeat the other, that of negative q. One f and one g then have
    their panels on a side of their own, half as many, and half as many values there.
    """

    f: Sequence[Broken]
    size: float
    mirrored: bool = False
    widest: float = 0.5 * math.pi
    symmetric: bool = False
    noise: float = 0.0
    g: Sequence[Broken] = ()

    @classmethod
    def of_pair(
        cls,
        f: Broken,
        g: Broken,
        size: float,
        *,
        mirrored: bool = False,
        widest: float = 0.5 * math.pi,
        symmetric: bool = False,
        noise: float = 0.0,
    ) -> "Plane":
        """Return the plane of one f and one g, folded where they are the same."""
        apart = () if f is g else (g,)
        return cls((f,), size, mirrored, widest, symmetric, noise, apart)

    @cached_property
    def _g(self) -> Sequence[Broken]:
        theirs = self.g or self.f
        return [g.mirrored() for g in theirs] if self.mirrored else theirs

    @property
    def _folded(self) -> bool:
        """Whether both orders of a pair are among the functions."""
        return not self.g

    @property
    def gap(self) -> float:
        """The closest that two kinks come, without being the same."""
        ours = [c for f in self.f for c in f.kinks]
        theirs = [c for g in self._g for c in g.kinks]
        gaps = [abs(c - d) for c in ours for d in theirs if c != d]
        return min(gaps, default=math.inf)

    @cached_property
    def _reach(self) -> float:
        return max(h.reach for h in (*self.f, *self.g))

    @property
    def _half(self) -> float:
        """Half the range of kappa at angles up to `widest`: it begins at 1."""
        return 0.5 * math.tan(0.5 * self.widest) ** 2

    @cached_property
    def _kappas(self) -> Array:
        """Nodes in kappa, less 1 + `_half`, as many as leave what `KAPPAS` leave to 2."""
        rate = math.acosh(3.0) / math.acosh(1.0 + 1.0 / self._half)
        n = max(2, math.ceil(KAPPAS * rate - 1e-9))
        return self._half * nodes(n)

    @cached_property
    def _across(self) -> tuple[Array, Array, Array]:
        """Panels' edges in p before they move with q: the Gaussian's, f's and g's."""
        half = self._folded and (self.mirrored or self.symmetric)
        start = 0.0 if half else -self._reach
        grid = np.linspace(start, self._reach, math.ceil(self._reach - start) + 1)
        (f, _, ours), (g, _, theirs) = self._edges
        # Half way between two steep points a panel's other end is no nearer to either.
        between = [0.5 * (c + d) for c, _ in ours for d, _ in theirs]
        inside = [p for p in between if start < p < self._reach]
        return np.union1d(grid, inside), f, g

    @cached_property
    def _edges(self) -> list[tuple[Array, Array, list[graded.Side]]]:
        """Edges of panels on which a Gauss rule integrates every f, and every g."""
        far, out = 2.0 * self._reach, list[tuple[Array, Array, list[graded.Side]]]()
        for hs in (self.f, self._g):
            kinks = {c for h in hs for c in h.kinks}
            each = [np.union1d([-far, far], h.edges(far)) for h in hs]
            every, rest, sides = graded.graded(meshes.merged(each, kinks), kinks)
            if sides:
                # On its last panel at a kink a slope is a chord's: that ends where it does.
                last = [graded.next_to(edges, kinks) for edges in each]
                every = np.union1d(every, np.concatenate(last))
            out.append((every, rest, sides))
        return out

    def _meetings(self) -> Array:
        """Points in q where a panel of f passes over one of g, a few for every width.

        While they pass, the inner integral varies over the wider of the two, and has a
        kink where kinks meet.
        """
        (_, ef, _), (_, eg, _) = self._edges
        wide = np.maximum.outer(*(np.diff(e) for e in (ef, eg)))
        at = 0.5 * np.subtract.outer(ef[:-1], eg[:-1])
        octave = np.floor(np.log2(wide))
        ours = {c for f in self.f for c in f.kinks}
        theirs = {c for g in self._g for c in g.kinks}
        out = [0.5 * (c - d) for c in ours for d in theirs]
        for k in np.unique(octave):
            width = 2.0**k
            out += (width * np.unique(np.round(at[octave == k] / width))).tolist()
        return np.concatenate([out, np.negative(out)])

    @cached_property
    def _steep(self) -> list[graded.Side]:
        """Points in q where a kink passes over one at which a slope is infinite."""
        (_, _, ours), (_, _, theirs) = self._edges
        f = {c for h in self.f for c in h.kinks}
        g = {c for h in self._g for c in h.kinks}
        at = {0.5 * (c - d) for c, _ in ours for d in g}
        at |= {0.5 * (c - d) for c in f for d, _ in theirs}
        return [
            (z, sign) for z in sorted(at | {-z for z in at}) for sign in (-1.0, 1.0)
        ]

    def _nodes(self, q: Array) -> tuple[Array, Array, Array]:
        """Nodes p + q and p - q for every q (m, 1), and the rule's weights: (m, nodes).

        What begins where f or g needs it begins exactly there: a panel next to a kink may
        be far narrower than the rounding of p.
        """
        grid, ef, eg = self._across
        whole = np.broadcast_to(grid, (len(q), len(grid)))
        p = np.concatenate([whole, ef - q, eg + q], axis=1)
        source = np.repeat([0, 1, 2], [len(grid), len(ef), len(eg)])
        source = np.where((p > grid[0]) & (p < grid[-1]), source, 0)
        p = np.clip(p, grid[0], grid[-1])
        own = np.concatenate(self._across)
        first = np.where(source == 1, own, p + q)
        second = np.where(source == 2, own, p - q)
        order = np.argsort(p, axis=1, kind="stable")
        p, first, second, source = (
            np.take_along_axis(v, order, axis=1) for v in (p, first, second, source)
        )
        same = np.where(source[:, 1:] == source[:, :-1], source[:, 1:], 0)
        width = np.choose(same, [np.diff(v, axis=1) for v in (p, first, second)])
        live = np.flatnonzero(width.max(axis=0) > 0.0)
        width = width[:, live, None]
        y, w = gaussian.legendre(meshes.NODES)
        ends = [(v[:, live, None], v[:, live + 1, None]) for v in (first, second)]
        (_, _, ours), (_, _, theirs) = self._edges
        near = [
            graded.distances(*v, sides)
            for v, sides in zip(ends, (ours, theirs), strict=True)
        ]
        d = graded.nearer(*near)
        if not (ours or theirs):
            offset, slope = 0.5 * width * (1.0 + y), width
        else:
            offset, slope = graded.spaced(width, d, 0.5 * (1.0 + y), graded.POWER)
        left = [
            np.where(np.signbit(d), high - offset, low + offset).reshape(len(q), -1)
            for low, high in ends
        ]
        return left[0], left[1], (0.5 * slope * w).reshape(len(q), -1)

    def _inner(self, q: Array) -> tuple[Array, Array]:
        """I(q, kappa), with that of (j, i) if folded, (len(q), kappas n m); its size."""
        n, m = len(self.f), len(self._g)
        kappas, half_range = self._kappas, self._half
        count = len(kappas)
        out, size = np.empty((len(q), count * n * m)), np.empty(len(q))
        width = sum(map(len, self._across))
        block = max(1, 40_000 // (width * meshes.NODES * n))
        for i in range(0, len(q), block):
            at = q[i : i + block, None]
            first, second, weight = self._nodes(at)
            left = np.stack([f.f(first) for f in self.f], axis=1)
            right = np.stack([g.f(second) for g in self._g], axis=1)
            p = first - at
            p *= -0.5 * p
            left *= (weight * np.exp((1.0 + half_range) * p))[:, None]
            rows = out[i : i + block].reshape(len(at), count, n, m)
            for k, kappa in enumerate(kappas):
                both = (left * np.exp(kappa * p)[:, None]) @ right.transpose(0, 2, 1)
                rows[:, k] = both + both.transpose(0, 2, 1) if self._folded else both
            np.abs(left, out=left)
            left *= np.exp(-half_range * p)[:, None]
            whole = left @ np.abs(right).transpose(0, 2, 1)
            size[i : i + block] = whole.max(axis=(1, 2))
        return out, 2.0 * size if self._folded else size

    @cached_property
    def _outer(self) -> tuple[Array, Array, Array]:
        """Nodes and weights in q, and the inner integral there over kappa."""
        deviation = math.sin(0.5 * self.widest)
        reach = 0.75 * self._reach * math.sqrt(2.0) * deviation
        half = not self.mirrored if self._folded else self.symmetric
        low = 0.0 if half else -reach
        rungs = graded.rungs(self._steep, reach)
        start = np.concatenate([self._meetings(), rungs, [low, 0.0, reach]])
        start = np.unique(start[(start >= low) & (start <= reach)])
        edges, coefficients = _resolved(
            self._inner, start, 2.0 * np.pi * self.size, self._steep, self.noise
        )
        # The density of q narrows with t, and is read off the same polynomials.
        least = min(np.abs(edges[edges != 0.0]).min(), 0.01 * self.gap)
        octaves = reach * 2.0 ** -np.arange(
            1.0, math.ceil(math.log2(reach / least)) + 26
        )
        step = min(0.5, deviation)
        fine = np.concatenate([octaves, np.arange(step, reach, step)])
        fine = np.concatenate([fine, -fine[-fine >= low]])
        every = np.unique(np.concatenate([edges, fine]))
        q, w = gaussian.composite(every, meshes.NODES)
        cell = np.clip(np.searchsorted(edges, q) - 1, 0, len(edges) - 2)
        y = _coordinate(q, edges[cell], edges[cell + 1], self._steep)
        powers = np.polynomial.chebyshev.chebvander(y, meshes.NODES - 1)
        inner = np.empty((len(q), coefficients.shape[2]))
        for k in np.unique(cell):
            inner[cell == k] = powers[cell == k] @ coefficients[k]
        return q, w, inner

    def __call__(self, t: Array) -> Array:
        """Return the expectations at angles, (len(t), len(f), len(g))."""
        q, w, inner = self._outer
        n, m = len(self.f), len(self._g)
        s, c = np.sin(0.5 * t), np.cos(0.5 * t)
        kappas = len(self._kappas)
        y = 2.0 * np.square(np.tan(0.5 * t) / math.tan(0.5 * self.widest)) - 1.0
        over = np.polynomial.chebyshev.chebvander(y, kappas - 1) @ chebyshev(kappas)
        most = DEVIATIONS * float(s.max())
        live = slice(*np.searchsorted(q, [-most, most]).tolist())
        density = w[live] * np.exp(-0.5 * np.square(q[live] / s[:, None]))
        along = (density @ inner[live]).reshape(len(t), kappas, n * m)
        halves = 2.0 if self.symmetric and not (self._folded and self.mirrored) else 1.0
        over *= halves / (2.0 * np.pi * s * c)[:, None]
        whole = np.einsum("ik,ikj->ij", over, along)
        return whole.reshape(len(t), n, m)


def apart(f: Broken, other: Broken) -> float:
    """Return the share of E f(X) f(Y) by which another differs, at angles of `NEAREST`.

    The largest at a few of them, as one may be the same by chance.
    """
    q = NEAREST * 2.0 ** np.arange(-6.0, 4.0, 0.2)
    near = NEAREST * 2.0 ** np.arange(-2.0, 3.0)
    one, two = (Plane((h,), 1.0)._inner(q)[0][:, 0] for h in (f, other))
    # The rule of even spacing in log q.
    density = q * np.exp(-2.0 * np.square(q / near[:, None]))
    return float(np.abs(density @ (one - two) / (density @ one)).max())


def _resolved(
    f: Callable[[Array], tuple[Array, Array]],
    start: Array,
    floor: float,
    steep: Sequence[graded.Side],
    noise: float,
) -> tuple[Array, Array]:
    """Halve panels until a vector-valued f is a polynomial on each.

    A polynomial of the `_coordinate`. Returns edges and Chebyshev coefficients (panels,
    NODES, components). The size that rounding is measured against is the panel's own, and
    at least `floor` times exp(q^2), which the density of q takes away again. A share
    `noise` of it is left once halving no longer helps, and more nearer to 0 than `CLOSE`.
    """
    n = meshes.NODES
    y, to = nodes(n), chebyshev(n)
    todo = list(itertools.pairwise(start))
    done: dict[float, tuple[float, Array]] = {}
    before = np.full(len(todo), np.inf)
    while todo:
        low, high = np.array(todo).T
        q = _points(low[:, None], high[:, None], y, steep)
        values, sizes = f(q.ravel())
        c = np.einsum("kj,ijm->ikm", to, values.reshape(len(low), n, -1))
        own = sizes.reshape(len(low), n).max(axis=1)
        nearest = np.where(low * high > 0.0, np.minimum(np.abs(low), np.abs(high)), 0.0)
        scale = np.maximum(own, floor * np.exp(np.square(nearest)))
        tail = np.abs(c[:, -3:]).max(axis=(1, 2))
        narrow = high - low <= meshes.NARROWEST * (1.0 + np.abs(low))
        fine = (tail <= 4.0 * meshes.RESOLVED * scale) | narrow
        far = np.maximum(np.abs(low), np.abs(high))
        share = np.where(far > CLOSE, 1.0, np.minimum(0.1, far / NEAREST))
        fine |= (share * tail <= noise * scale) & (tail >= 0.6 * before)
        if np.count_nonzero(~fine) > MOST:
            raise ValueError(
                "dual: the activation must be smooth between its `kinks`, but"
                f" {np.count_nonzero(~fine)} panels of width {(high - low).min():.1g} do"
                " not resolve it."
            )
        todo = []
        for i, (a, b) in enumerate(zip(low, high, strict=True)):
            if fine[i]:
                done[a] = b, c[i]
            else:
                ends = (np.array(a), np.array(b))
                middle = float(_points(*ends, np.array(0.0), steep))
                todo += [(a, middle), (middle, b)]
        before = np.repeat(tail[~fine], 2)
    lows = sorted(done)
    edges = np.array([*lows, done[lows[-1]][0]])
    return edges, np.array([done[a][1] for a in lows])


def _points(low: Array, high: Array, y: Array, steep: Sequence[graded.Side]) -> Array:
    """Return the points of panels at coordinates y in [-1, 1], the inverse of that."""
    d = graded.distances(low, high, steep)
    offset, _ = graded.spaced(
        high - low, d, 0.5 * np.where(np.signbit(d), 1.0 - y, 1.0 + y)
    )
    return np.where(np.signbit(d), high - offset, low + offset)


def _coordinate(
    q: Array, low: Array, high: Array, steep: Sequence[graded.Side]
) -> Array:
    """Return where points are on their panels, in [-1, 1], logarithmically if graded."""
    d = graded.distances(low, high, steep)
    s = graded.share(np.where(np.signbit(d), high - q, q - low), high - low, d)
    return np.where(np.signbit(d), 1.0 - 2.0 * s, 2.0 * s - 1.0)
