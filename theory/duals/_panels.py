"""Slopes tabulated in the angle, with their means towards both ends."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import gaussian
from theory._chebyshev import chebyshev, nodes
from theory._threads import one_thread
from theory.grids import clenshaw

Array = npt.NDArray[np.float64]

NODES = 24
TAIL = 1e-14
"""Last Chebyshev coefficients of a panel that is fine enough, over its largest value."""
NEAREST = 1e-9
"""Angles from which means of the slope keep their digits: distances of 1e-18."""
VANISHING = 1e-6
"""Slopes over the largest product of a slope and its angle that count as none."""
LAYER = 9.0
"""Kinks a distance g apart leave exp(-g^2 / 2t^2) at an angle t: 1e-18 at t = g/9."""


@dataclass(frozen=True, eq=False)
class Panels:
    """Piecewise Chebyshev series on [0, end], of three functions of the angle.

    Arrays are of shape (panels, NODES, ...): coefficients of any number of slopes.
    """

    edges: Array  # (panels + 1,)
    slope: Array
    to_end: Array  # mean of the slope over the correlations from cos t to 1
    to_zero: Array  # its integral from cos(end) to cos t, over cos t: a mean at pi/2

    @classmethod
    @one_thread()
    def build(
        cls,
        slope: Callable[[Array], Array],
        *,
        gap: float,
        start: float = 0.0,
        end: float = 0.5 * np.pi,
    ) -> "Panels":
        """Tabulate slopes of shape (m, ...), halving panels until they resolve them.

        `gap` as in `LAYER`. Panels below `start` are left as they are.
        """
        y = nodes(NODES)
        to = chebyshev(NODES)
        todo, done = [(0.0, end)], dict[float, tuple[float, Array]]()
        most = 0.0
        while todo:
            low, high = np.array(todo).T
            t = low[:, None] + 0.5 * (high - low)[:, None] * (1.0 + y)
            values = slope(t.ravel())
            values = values.reshape(*t.shape, *values.shape[1:])
            rows = np.einsum("kj,ij...->ik...", to, values)
            other = tuple(range(1, values.ndim))
            each = np.abs(values).max(axis=other[1:]) if other[1:] else np.abs(values)
            most = max(most, float((each * t).max()))
            # A slope that vanishes there counts by what it adds to the dual, another by
            # what its integral from there adds to that to `NEAREST`.
            own = each.max(axis=1)
            adds = np.where(
                own > VANISHING * most, own * np.square(NEAREST / high), np.inf
            )
            size = np.maximum(own, np.minimum(1e-3 * most / high, adds))
            tail = np.abs(rows[:, -3:]).max(axis=other)
            # Of a panel as short as an eighth of its end the rest is rounding.
            fine = (tail <= TAIL * size) | (high - low <= high / 8.0)
            fine &= (low > 0.0) | (high <= gap / LAYER)
            fine |= high <= start
            todo = []
            for i, (a, b) in enumerate(zip(low, high, strict=True)):
                if fine[i]:
                    done[a] = b, rows[i]
                else:
                    middle = 0.5 * (a + b)
                    todo += [(a, middle), (middle, b)]
        lows = sorted(done)
        edges = np.array([*lows, end])
        return cls._integrated(edges, np.array([done[a][1] for a in lows]), y)

    @classmethod
    def _integrated(cls, edges: Array, rows: Array, y: Array) -> "Panels":
        # Widths are measured from a panel's two ends, so that the means keep their digits
        # where the interval they are taken over vanishes.
        x, w = gaussian.legendre(24)
        start, stop = edges[:-1, None], edges[1:, None]
        half = 0.5 * (stop - start)
        vander = np.polynomial.chebyshev.chebvander

        def integrals(width: Array, *, from_stop: bool) -> Array:
            """Integral of slope times sine over a share `width` (in 0..1) of a panel."""
            part = 0.5 * width[:, None] * (1.0 + x)  # (nodes, 24), share of the panel
            v = vander(1.0 - 2.0 * part if from_stop else 2.0 * part - 1.0, NODES - 1)
            long = 2.0 * half[..., None] * part  # (panels, nodes, 24)
            u = stop[..., None] - long if from_stop else start[..., None] + long
            weight = half[..., None] * width[:, None] * w * np.sin(u)
            to = np.einsum("pkx,kxc->pkc", weight, v)
            return np.einsum("pkc,pc...->pk...", to, rows)

        whole = integrals(np.ones(1), from_stop=False)
        before = np.cumsum(whole, axis=0) - whole
        after = np.cumsum(whole[::-1], axis=0)[::-1] - whole
        low, high = 0.5 * (1.0 + y), 0.5 * (1.0 - y)
        t = start + 2.0 * half * low
        more = (...,) + (None,) * (rows.ndim - 2)
        to_end = before + integrals(low, from_stop=False)
        to_end = to_end / (2.0 * np.square(np.sin(0.5 * t)))[more]
        to_zero = after + integrals(high, from_stop=True)
        to_zero = to_zero / np.sin((0.5 * np.pi - stop) + 2.0 * half * high)[more]
        fit = chebyshev(NODES)
        ends, zeros = (np.einsum("kj,pj...->pk...", fit, v) for v in (to_end, to_zero))
        return cls(edges, rows, ends, zeros)

    def negated(self) -> "Panels":
        """Return the tables of the slope's negative."""
        return Panels(self.edges, -self.slope, -self.to_end, -self.to_zero)

    def locate(self, t: Array) -> tuple[npt.NDArray[np.intp], Array]:
        """Return each angle's panel and its place there, in [-1, 1]."""
        i = np.searchsorted(self.edges[1:-1], t, side="right")
        low, high = self.edges[i], self.edges[i + 1]
        return i, ((t - low) - (high - t)) / (high - low)

    def read(self, rows: Array, t: Array) -> Array:
        """Evaluate one of the tables, of one slope, at the angles t."""
        i, y = self.locate(np.ravel(t))
        found = clenshaw(np.ascontiguousarray(rows.T), i, y)
        return found.reshape(np.shape(t))[()]
