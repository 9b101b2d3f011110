r"""Mean products of piecewise linear slopes with steps, next to the ends of the angle.

With steps :math:`J_k` and bends :math:`L_k` of P at :math:`c_k`, those of Q with a prime,
:math:`p = P'` between the kinks and :math:`a = c / r`, :math:`b = c' / o`,

.. math::

   \frac{d}{d\rho} E\,P(r X) Q(o Y) &= \sum_{k,l} J_k J_l' \varphi_2(a_k, b_l)
       + \sum_k J_k \varphi(a_k)\, o\, E[q(o Y) | X = a_k]
       + \sum_l J_l' \varphi(b_l)\, r\, E[p(r X) | Y = b_l] + r o\, U, \\
   \frac{dU}{d\rho} &= \sum_{k,l} L_k L_l' \varphi_2(a_k, b_l), \qquad
   E[q(o Y) | X = a] = q(-\infty) + \sum_l L_l'
       \Phi\Big(\frac{a \cos t - b_l}{\sin t}\Big),

where :math:`U = E\,p(r X)\, q(o Y)` and :math:`\varphi_2` is the density of two Gaussians
of correlation :math:`\rho = \cos t`. At the end of the angle all is an integral over one
variable; from there on over the angle, on panels that are octaves of it.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import gaussian
from theory._cached import cached_property
from theory._recursion.linear_pieces import _octaves

Array = npt.NDArray[np.float64]

NODES = 16
"""Of an octave of the angle, as in `linear_pieces`."""

ACROSS = 28
"""Of an interval between kinks: they integrate a Gaussian over ten deviations to 1e-17."""

REACH = 10.0
"""Deviations beyond which nothing is left: the density is 8e-23."""

TOGETHER = 16384
"""Nodes of all pairs evaluated together."""


@dataclass(frozen=True)
class Pieces:
    """``value + slope x`` left of all kinks, with steps and bends at them, in order."""

    kinks: tuple[float, ...]
    steps: tuple[float, ...]
    bends: tuple[float, ...]
    value: float = 0.0
    slope: float = 0.0

    @cached_property
    def mirrored(self) -> "Pieces":
        """The same of -x."""
        centres, _, value, slope = (float(v[-1]) for v in self.local)
        return Pieces(
            tuple(-c for c in reversed(self.kinks)),
            tuple(-a for a in reversed(self.steps)),
            tuple(reversed(self.bends)),
            value - slope * centres,
            -slope,
        )

    @cached_property
    def local(self) -> tuple[Array, Array, Array, Array]:
        """Of each piece its centre, and there the integral from 0, the value and slope."""
        centres, rows = [0.0], [(0.0, self.value, self.slope)]
        for c, step, bend in zip(self.kinks, self.steps, self.bends, strict=True):
            whole, value, slope = rows[-1]
            y = c - centres[-1]
            more = whole + y * (value + 0.5 * slope * y)
            rows.append((more, value + slope * y + step, slope + bend))
            centres.append(c)
        whole, value, slope = (np.array(v) for v in zip(*rows, strict=True))
        # Near zero relative accuracy: the piece there has zero for its centre.
        k, at = int(np.searchsorted(self.kinks, 0.0)), np.array(centres)
        y, at[k] = -at[k], 0.0
        whole -= whole[k] + y * (value[k] + 0.5 * slope[k] * y)
        whole[k], value[k] = 0.0, value[k] + slope[k] * y
        return at, whole, value, slope

    def __call__(self, x: Array) -> Array:
        """Evaluate at x."""
        centres, _, value, slope = self.local
        k = np.searchsorted(self.kinks, x)
        return value[k] + slope[k] * (x - centres[k])

    def orders(self, r: Array) -> Iterator[Array]:
        """Yield E P(r Z) h_k(Z) for lengths r (n,), k = 0, 1, ... without end."""
        a = np.array(self.kinks)[:, None] / r
        steps, bends = np.array(self.steps), np.outer(self.bends, r)
        density, above = gaussian.pdf(a), gaussian.cdf(-a)
        yield self.value + steps @ above + (bends * (density - a * above)).sum(axis=0)
        yield self.slope * r + steps @ density + (bends * above).sum(axis=0)
        low, high = np.zeros_like(a), density  # h_(k-2) and h_(k-1), times it
        for k in itertools.count(2):
            low, high = high, (a * high - math.sqrt(k - 2) * low) / math.sqrt(k - 1)
            bent = (bends * low).sum(axis=0) / math.sqrt(k * (k - 1.0))
            yield steps @ high / math.sqrt(k) + bent


def integrals(
    pieces: Pieces, r: Array, other: Array, rho: Array, d: Array
) -> tuple[Array, Array, Array, Array]:
    """Return, for pairs (m,), integrals of S over [0, rho] and to the nearer end, and S.

    And the size of what cancels in the second. `d` is 1 - |rho|.
    """
    out = np.empty((4, len(rho)))
    for far, sign in ((rho < 0.0, -1.0), (rho >= 0.0, 1.0)):
        g = pieces.mirrored if sign < 0.0 else pieces
        at = np.flatnonzero(far)
        found = _octaves(pieces.kinks, g.kinks, r[at], other[at], d[at])
        whole = 2.0 ** np.ceil(np.log2(found))
        for count in np.unique(whole):
            here = at[whole == count]
            shares = np.append(0.0, 2.0 ** np.arange(-count, 1.0))
            rule = gaussian.composite(shares, NODES)
            step = max(1, TOGETHER // len(rule[0]))
            for start in range(0, len(here), step):
                some = here[start : start + step]
                out[:, some] = _towards(pieces, g, r[some], other[some], d[some], rule)
        out[0, at] *= sign
    return out[0], out[1], out[2], out[3]


def _towards(
    f: Pieces,
    g: Pieces,
    r: Array,
    other: Array,
    d: Array,
    rule: tuple[Array, Array],
) -> tuple[Array, Array, Array, Array]:
    """Return what `integrals` does of E f(r X) g(o Y), towards correlation 1."""
    whole, end, bent = at_end(f, g, r, other)
    t = 2.0 * np.arcsin(np.sqrt(0.5 * d))
    # Parallel rows are at the end: no angle is left, and any will do for the nodes.
    u, weight = rule[0][:, None] * np.where(t > 0.0, t, 1.0), rule[1][:, None] * t
    with np.errstate(over="ignore"):  # kinks that do not meet, at angles next to none
        steps, bends, size, bent_size = (v * weight for v in _rates(f, g, r, other, u))
    # cos u - cos t.
    left = 2.0 * np.sin(0.5 * (t + u)) * np.sin(0.5 * (t - u))
    both, square = r * other, 0.5 * np.square(left)
    slope = end - steps.sum(axis=0) - both * (d * bent - (bends * left).sum(axis=0))
    lost = d * end - (steps * left).sum(axis=0)
    lost -= both * (0.5 * d * d * bent - (bends * square).sum(axis=0))
    cancels = d * np.abs(end) + (size * left).sum(axis=0)
    cancels += both * (0.5 * d * d * np.abs(bent) + (bent_size * square).sum(axis=0))
    return whole - lost, lost, slope, cancels


def _rates(
    f: Pieces, g: Pieces, r: Array, other: Array, u: Array
) -> tuple[Array, Array, Array, Array]:
    """Return -dS/dt without U and -dU/dt at angles u (nodes, m), and their terms' sizes.

    Left of its kinks f is zero; a mirrored g need not be.
    """
    sine, less = np.sin(u), 2.0 * np.square(np.sin(0.5 * u))
    over, cosine = 1.0 / sine, np.square(1.0 / np.cos(0.5 * u))
    steps, bends, size, bent_size = (np.zeros_like(u) for _ in range(4))

    def add(whole: Array, into: Array, factor: float, term: Array) -> None:
        whole += factor * term
        into += abs(factor) * term

    ours = list(zip(f.kinks, f.steps, f.bends, strict=True))
    theirs = list(zip(g.kinks, g.steps, g.bends, strict=True))
    for c, step, _ in ours if g.slope else ():
        add(steps, size, step * g.slope, sine * other * gaussian.pdf(c / r))
    for c, step, bend in ours:
        for e, more, turn in theirs:
            a, b = c / r, e / other
            gap = a - b
            if step * more or bend * turn:
                # (c - d)^2 / sin^2 + c d / cos^2(t/2): positive terms, where they count.
                density = np.square(gap * over) + (a * b) * cosine
                density = np.exp(-0.5 * density) / (2.0 * math.pi)
                add(steps, size, step * more, density)
                add(bends, bent_size, bend * turn, density)
            if step * turn:
                above = gaussian.cdf((gap - a * less) * over)
                above *= sine * other * gaussian.pdf(a)
                add(steps, size, step * turn, above)
            if bend * more:
                above = gaussian.cdf((-gap - b * less) * over)
                above *= sine * r * gaussian.pdf(b)
                add(steps, size, bend * more, above)
    return steps, bends, size, bent_size


def at_end(f: Pieces, g: Pieces, r: Array, other: Array) -> tuple[Array, Array, Array]:
    """Return the integral of S over [0, 1], S at 1 and U at 1, of pairs (m,)."""
    x, w = gaussian.legendre(ACROSS)
    ends = [np.full_like(r, z) for z in (-REACH, 0.0, REACH)]
    ends += [c / r for c in f.kinks] + [c / other for c in g.kinks]
    edges = np.sort(np.clip(ends, -REACH, REACH), axis=0)
    out = np.empty((3, len(r)))
    step = max(1, TOGETHER // (ACROSS * len(edges)))
    for start in range(0, len(r), step):
        at = slice(start, start + step)
        low, high = edges[:-1, at], edges[1:, at]
        half = 0.5 * (high - low)
        z = low + half * (1.0 + x[:, None, None])
        density = half * w[:, None, None] * gaussian.pdf(z)
        parts: list[tuple[Array, Array, Array]] = []
        for h, v in ((f, r[at]), (g, other[at])):
            centres, whole, value, slope = h.local
            k = np.searchsorted(h.kinks, v * (0.5 * (low + high)))
            y = v * z - centres[k]
            own, rise = value[k] + slope[k] * y, 0.5 * slope[k] * y
            parts.append((whole[k] + y * (own - rise), own, slope[k]))
        (s, p, first), (o, q, second) = parts
        s = s - (density * s).sum(axis=(0, 1))
        out[0, at] = (density * s * o).sum(axis=(0, 1)) / (r[at] * other[at])
        out[1, at] = (density * p * q).sum(axis=(0, 1))
        out[2, at] = (density.sum(axis=0) * first * second).sum(axis=0)
    return out[0], out[1], out[2]
