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
from functools import cached_property

import numpy as np
import numpy.typing as npt

from theory import gaussian, meshes

Array = npt.NDArray[np.float64]
Function = Callable[[Array], Array]

KAPPAS = 26
"""Nodes in kappa: interpolation leaves 4^-26 of the integral."""
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
        """Return x -> f(-x)."""
        return Broken(
            lambda x: self.f(-x),
            tuple(sorted(-c for c in self.kinks)),
            lambda reach: -self.edges(reach)[::-1],
        )

    @cached_property
    def reach(self) -> float:
        """Where f(x)^2 exp(-x^2/2) has fallen below 1e-18 of its integral's integrand."""
        x = np.linspace(0.0, 20.0, 321)
        cuts = self.edges(20.0)
        x = np.unique(np.concatenate([x, np.abs(cuts)]))
        with np.errstate(over="ignore", invalid="ignore"):
            size = np.maximum(np.abs(self.f(x)), np.abs(self.f(-x)))
        size = np.where(np.isfinite(size), size, 0.0)
        weight = np.maximum.accumulate(size) ** 2 * np.exp(-0.5 * x * x)
        return max(8.0, 0.5 + float(x[weight > 1e-19 * weight.max()].max(initial=0.0)))


@dataclass(frozen=True, eq=False)
class Plane:
    """E f_i(X) f_j(+-Y) at correlations cos t, 0 < t <= pi/2, for many t at once.

    `size` is that of the duals, which errors are measured against. The two orders of a
    pair give the same slope, so that half of the plane repeats the other: that of
    negative q for f_j(Y), of negative p for f_j(-Y).
    """

    f: Sequence[Broken]
    size: float
    mirrored: bool = False

    @cached_property
    def _g(self) -> Sequence[Broken]:
        return [f.mirrored() for f in self.f] if self.mirrored else self.f

    @property
    def gap(self) -> float:
        """The closest that two kinks come, without being the same."""
        ours = [c for f in self.f for c in f.kinks]
        theirs = [c for g in self._g for c in g.kinks]
        gaps = [abs(c - d) for c in ours for d in theirs if c != d]
        return min(gaps, default=math.inf)

    @cached_property
    def _reach(self) -> float:
        return max(f.reach for f in self.f)

    @cached_property
    def _kappas(self) -> Array:
        return 1.5 + 0.5 * np.cos(np.pi * (np.arange(KAPPAS) + 0.5) / KAPPAS)

    @cached_property
    def _across(self) -> tuple[Array, Array, Array]:
        """Panels' edges in p before they move with q: the Gaussian's, f's and g's."""
        start = 0.0 if self.mirrored else -self._reach
        grid = np.linspace(start, self._reach, math.ceil(self._reach - start) + 1)
        far = 2.0 * self._reach
        f, g = (
            meshes.merged(
                [np.union1d([-far, far], h.edges(far)) for h in hs],
                {c for h in hs for c in h.kinks},
            )
            for hs in (self.f, self._g)
        )
        return grid, f, g

    def _meetings(self) -> Array:
        """Points in q where a panel of f passes over one of g, a few for every width.

        While they pass, the inner integral varies over the wider of the two, and has a
        kink where kinks meet.
        """
        _, ef, eg = self._across
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

    def _inner(self, q: Array) -> tuple[Array, Array]:
        """I(q, kappa) + the same for (j, i), shape (len(q), KAPPAS n n), and its size."""
        grid, ef, eg = self._across
        n = len(self.f)
        out, size = np.empty((len(q), KAPPAS * n * n)), np.empty(len(q))
        x, w = gaussian.legendre(meshes.NODES)
        width = len(grid) + len(ef) + len(eg)
        block = max(1, 400_000 // (width * len(x) * n))
        for i in range(0, len(q), block):
            at = q[i : i + block, None]
            cuts = [np.broadcast_to(grid, (len(at), len(grid))), ef - at, eg + at]
            cuts = [np.clip(c, grid[0], grid[-1]) for c in cuts]
            edges = np.sort(np.concatenate(cuts, axis=1), axis=1)
            half = 0.5 * np.diff(edges, axis=1)
            live = np.flatnonzero(half.max(axis=0) > 0.0)
            half = half[:, live, None]
            p = (edges[:, live, None] + half * (1.0 + x)).reshape(len(at), -1)
            weight = (half * w).reshape(len(at), -1)
            left = np.stack([f.f(p + at) for f in self.f], axis=1)
            right = np.stack([g.f(p - at) for g in self._g], axis=1)
            left *= weight[:, None]
            p *= -0.5 * p
            rows = out[i : i + block].reshape(len(at), KAPPAS, n, n)
            part = np.ones_like(p)
            for m, kappa in enumerate(self._kappas):
                part = np.exp(kappa * p)
                both = (left * part[:, None]) @ right.transpose(0, 2, 1)
                rows[:, m] = both + both.transpose(0, 2, 1)
            np.abs(left, out=left)
            left *= part[:, None]
            whole = left @ np.abs(right).transpose(0, 2, 1)
            size[i : i + block] = whole.max(axis=(1, 2))
        return out, 2.0 * size

    @cached_property
    def _outer(self) -> tuple[Array, Array, Array]:
        """Nodes and weights in q, and the inner integral there over kappa."""
        reach = 0.75 * self._reach
        low = -reach if self.mirrored else 0.0
        start = np.unique(np.concatenate([self._meetings(), [low, 0.0, reach]]))
        start = start[(start >= low) & (start <= reach)]
        edges, coefficients = _resolved(self._inner, start, 2.0 * np.pi * self.size)
        # The density of q narrows with t, and is read off the same polynomials.
        least = min(np.abs(edges[edges != 0.0]).min(), 0.01 * self.gap)
        octaves = reach * 2.0 ** -np.arange(
            1.0, math.ceil(math.log2(reach / least)) + 26
        )
        fine = np.concatenate([octaves, np.arange(0.5, reach, 0.5)])
        fine = np.concatenate([fine, -fine[-fine >= low]])
        q, w = rule(np.unique(np.concatenate([edges, fine])))
        cell = np.clip(np.searchsorted(edges, q) - 1, 0, len(edges) - 2)
        y = ((q - edges[cell]) - (edges[cell + 1] - q)) / (
            edges[cell + 1] - edges[cell]
        )
        powers = np.polynomial.chebyshev.chebvander(y, meshes.NODES - 1)
        inner = np.empty((len(q), coefficients.shape[2]))
        for k in np.unique(cell):
            inner[cell == k] = powers[cell == k] @ coefficients[k]
        return q, w, inner

    def __call__(self, t: Array) -> Array:
        """Return the expectations at angles of shape (m,), shape (m, n, n)."""
        q, w, inner = self._outer
        n = len(self.f)
        s, c = np.sin(0.5 * t), np.cos(0.5 * t)
        y = 2.0 / (c * c) - 3.0
        over = np.polynomial.chebyshev.chebvander(y, KAPPAS - 1) @ chebyshev(KAPPAS)
        density = w * np.exp(-0.5 * np.square(q / s[:, None]))
        along = (density @ inner).reshape(len(t), KAPPAS, n * n)
        whole = np.einsum("ik,ikj->ij", over, along) / (2.0 * np.pi * s * c)[:, None]
        return whole.reshape(len(t), n, n)


def chebyshev(n: int) -> Array:
    """Matrix from values at the n Chebyshev nodes (falling) to coefficients."""
    turns = np.outer(np.arange(n), 2 * np.arange(n) + 1) % (4 * n)
    t = np.cos(np.pi * turns / (2 * n)) * (2.0 / n)
    t[0] *= 0.5
    return t


def _resolved(
    f: Callable[[Array], tuple[Array, Array]], start: Array, floor: float
) -> tuple[Array, Array]:
    """Halve panels until a vector-valued f is a polynomial on each.

    Returns edges and Chebyshev coefficients (panels, NODES, components). The size that
    rounding is measured against is the largest at arguments up to |q|, as for a mesh, and
    at least `floor` times exp(q^2), which the density of q takes away again.
    """
    n = meshes.NODES
    y, to = np.cos(np.pi * (np.arange(n) + 0.5) / n), chebyshev(n)
    todo = list(itertools.pairwise(start))
    done: dict[float, tuple[float, Array]] = {}
    at, most = np.zeros(0), np.zeros(0)
    while todo:
        low, high = np.array(todo).T
        half = 0.5 * (high - low)
        q = low[:, None] + half[:, None] * (1.0 + y)
        values, sizes = f(q.ravel())
        c = np.einsum("kj,ijm->ikm", to, values.reshape(len(low), n, -1))
        at = np.concatenate([at, np.abs(q).max(axis=1)])
        most = np.concatenate([most, sizes.reshape(len(low), n).max(axis=1)])
        order = np.argsort(at)
        at, most = at[order], np.maximum.accumulate(most[order])
        scale = most[np.searchsorted(at, np.abs(q).max(axis=1), side="right") - 1]
        nearest = np.where(low * high > 0.0, np.minimum(np.abs(low), np.abs(high)), 0.0)
        scale = np.maximum(scale, floor * np.exp(np.square(nearest)))
        tail = np.abs(c[:, -3:]).max(axis=(1, 2))
        narrow = 2.0 * half <= meshes.NARROWEST * (1.0 + np.abs(low))
        fine = (tail <= 4.0 * meshes.RESOLVED * scale) | narrow
        if np.count_nonzero(~fine) > MOST:
            raise ValueError(
                "dual: the activation must be smooth between its `kinks`, but"
                f" {np.count_nonzero(~fine)} panels of width {2.0 * half.min():.1g} do not"
                " resolve it."
            )
        todo = []
        for i, (a, b) in enumerate(zip(low, high, strict=True)):
            if fine[i]:
                done[a] = b, c[i]
            else:
                middle = 0.5 * (a + b)
                todo += [(a, middle), (middle, b)]
    lows = sorted(done)
    edges = np.array([*lows, done[lows[-1]][0]])
    return edges, np.array([done[a][1] for a in lows])


def rule(edges: Array) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights on the panels between rising edges."""
    x, w = gaussian.legendre(meshes.NODES)
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (1.0 + x)).ravel(), (half * w).ravel()
