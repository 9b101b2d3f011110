r"""Pairs of long rows near +-1, where the slope changes around zero alone.

With lengths r, o, correlation cos t and :math:`a = c / r,\ b = c' / o`, the mean product S
of slopes falls, as in `linear_pieces`, by

.. math:: -\frac{dS}{dt} = \frac{1}{2\pi} \iint s''(c)\, s''(c')
       \exp\Big(-\frac{(a - b)^2}{2 \sin^2 t} - \frac{a b}{2 \cos^2(t/2)}\Big)\,dc\,dc'
   = \frac{\sin t}{(2\pi)^{3/2}} \int e^{-\omega^2 \sin^2 t / 2}
       \sum_m \frac{(-2 \cos^2(t/2))^{-m}}{m!\,(r o)^m}\,
       M_m(\omega / r)\, \overline{M_m(\omega / o)}\,d\omega

where :math:`M_m(k) = \int c^m s''(c) e^{i k c} dc` are transforms of the activation alone.
Of a slope that is analytic beside the real line and constant but for an exponential they
fall like one, and evenly spaced values integrate them.
"""

import itertools
import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from theory import gaussian
from theory._chebyshev import chebyshev, nodes
from theory._recursion import bent_pieces, close_pairs
from theory._recursion.bent_pieces import Pieces
from theory._recursion.bent_slopes import pieces_of
from theory._recursion.linear_pieces import NODES
from theory._recursion.rows import Index
from theory.activations import Activation
from theory.activations.affine import split
from theory.activations.smooth import Smooth

Array = npt.NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)

DIGITS = 40.0
"""Logarithm of what is left out: 4e-18."""

FARTHEST = 100.0
"""Argument at most beyond which the slope is to be constant, over its strip."""

TERMS = 10
"""Powers of a b at most."""

PANEL = 20
"""Chebyshev nodes of a panel in k, which is half as wide as the transforms' strip: they
leave (4 + sqrt 17)^-20, 7e-19."""

APART = 0.55
"""Between values in omega sin t: 2 pi / 0.55, less twice the farthest kink of pieces over
sin t, is where a Gaussian is 3e-18. exp(-9.3^2 / 2) is what 18 values leave out."""

VALUES = 18

WITHIN = 3.0
"""Width of a panel times the farthest kink of pieces: wide angles begin at 1.2 of it."""

FINEST = 0.0625
"""Over the strip of the slope: r sin t below which it is a polynomial of the angle."""

LINEAR = 32.0
"""Times rounding by which a slope may differ from its linear pieces."""

TOGETHER = 1 << 11
"""Angles at which transforms are read together."""


@dataclass(frozen=True, eq=False)
class Bend:
    """Where a slope changes: tables of the transforms M_m.

    `least` is the length of rows from which `TERMS` powers are enough.
    """

    strip: float  # of the slope, zero of pieces
    pieces: Pieces | None
    width: float  # of a panel in k
    table: npt.NDArray[np.complex128]  # (panels, PANEL, TERMS)
    sizes: Array  # of the integrals of |c^m s''|, (TERMS + 1,)

    @property
    def last(self) -> float:
        """K beyond which nothing is left."""
        return self.width * len(self.table)

    @property
    def step(self) -> float:
        """Spacing in k that integrates products of transforms beside any Gaussian."""
        # They are analytic within two widths of a panel of the real line.
        return 2.0 * math.pi * self.width / DIGITS

    def term(self, m: int, both: float) -> float:
        """Return the largest that a term may be, over the first, at least product r o."""
        size = (self.sizes[m] / self.sizes[0]) ** 2 / math.factorial(m)
        return float(size * (0.6 / both) ** m)  # 1 / (2 cos^2(t/2)) is below 0.6

    def terms(self, both: float) -> int:
        """Return how many there are to be, at least product r o."""
        enough = (m for m in range(1, TERMS) if self.term(m, both) < math.exp(-DIGITS))
        return next(enough, TERMS)

    @property
    def least(self) -> float:
        """Length of rows from which the terms left out are nothing."""
        return math.sqrt((self.term(TERMS, 1.0) * math.exp(DIGITS)) ** (1.0 / TERMS))

    def at(self, k: Array, terms: int) -> npt.NDArray[np.complex128]:
        """Return M_m at k of any shape, (terms, ...), zero beyond the last."""
        flat = k.ravel()
        out = np.zeros((terms, len(flat)), dtype=np.complex128)
        inside = np.flatnonzero(flat < self.last)
        panel = (flat[inside] / self.width).astype(np.intp)
        order = np.argsort(panel, kind="stable")
        inside, panel = inside[order], panel[order]
        y = 2.0 * (flat[inside] / self.width - panel) - 1.0
        v = np.polynomial.chebyshev.chebvander(y, PANEL - 1)
        cuts = np.flatnonzero(np.diff(panel, prepend=-1, append=-1))
        for start, stop in itertools.pairwise(cuts.tolist()):
            rows = self.table[panel[start], :, :terms]
            out[:, inside[start:stop]] = (v[start:stop] @ rows).T
        return out.reshape(terms, *k.shape)


@lru_cache(maxsize=64)
def bend_of(activation: Activation) -> Bend | None:
    """Return the transforms; None if the slope is not of this kind."""
    base = split(activation)[0]
    if not isinstance(base, Smooth) or base.order:
        return None
    if base.kinks:
        return _of_pieces(activation)
    strip = base.definition.strip / base._root
    return _of_strip(activation, strip) if math.isfinite(strip) else None


def _of_strip(activation: Activation, strip: float) -> Bend | None:
    """Return transforms of a slope without singularities in a strip."""
    h = math.pi * strip / DIGITS  # twice as fine as for a mean: up to the last k
    count = math.ceil(FARTHEST * strip / h)
    x = h * np.arange(-count, count + 1.0)
    f = activation.derivative._value(x)
    low, high = float(f[0]), float(f[-1])
    constant = np.abs(f - np.where(x < 0.0, low, high)) <= 2.0 * EPS * np.abs(f).max()
    if low == high or not constant[np.abs(x) > 0.75 * x[-1]].all():
        return None
    far = float(np.abs(x[~constant]).max()) + h
    sigma = 0.5 * strip
    ramp = low + (high - low) * gaussian.cdf(x / sigma)
    rest = np.where(np.abs(x) <= max(far, 9.0 * sigma), f - ramp, 0.0)
    bell = (high - low) / sigma * gaussian.pdf(x / sigma)
    powers = x[:, None] ** np.arange(TERMS)
    lower = np.arange(TERMS) * np.roll(powers, 1, axis=1)
    # By parts: the slope of the rest is not needed.
    even = h * (bell[:, None] * powers - rest[:, None] * lower)
    odd = h * rest[:, None] * powers
    each = np.abs(np.diff(f))[:, None] * np.abs(x[1:, None]) ** np.arange(TERMS + 1)
    # The slope is constant but for exp(-36): transforms are analytic in a strip.
    width = 0.5 * 36.0 / far
    table = _table(width, DIGITS / strip, x, even, odd)
    return Bend(strip, None, width, table, each.sum(axis=0))


def _of_pieces(activation: Activation) -> Bend | None:
    """Return transforms of a slope of linear pieces, as far as wide angles need them."""
    found = pieces_of(activation)
    if found is None or found.value or found.slope or not any(found.kinks):
        return None
    kinks, far = np.array(found.kinks), float(np.abs(found.kinks).max())
    x, w = gaussian.composite(np.unique(np.append(kinks, [-2.0 * far, 2.0 * far])), 40)
    # Beyond the last kink rounding of a slope would be multiplied by lengths.
    *bends, _ = found.bends
    pieces = replace(found, bends=(*bends, -sum(bends)))
    f = activation.derivative._value(x)
    if np.abs(f - pieces(x)).max() > LINEAR * EPS * np.abs(f).max():
        return None
    rates = pieces.local[3][np.searchsorted(kinks, x)]
    at, size = np.append(x, kinks), np.append(w * rates, pieces.steps)
    powers = at[:, None] ** np.arange(TERMS + 1)
    width = WITHIN / far
    last = VALUES * 2.0 * math.pi * width / DIGITS
    table = _table(
        width, last, at, size[:, None] * powers[:, :-1], 0.0 * powers[:, :-1]
    )
    each = np.abs(size)[:, None] * np.abs(powers)
    return Bend(0.0, pieces, width, table, each.sum(axis=0))


def _table(
    width: float, last: float, x: Array, even: Array, odd: Array
) -> npt.NDArray[np.complex128]:
    """Return polynomials of sums of (even - i k odd) e^(i k x) on panels up to a last k."""
    panels = np.arange(math.ceil(last / width))[:, None]
    k = width * (panels + 0.5 * (1.0 + nodes(PANEL)))
    waves = np.exp(1j * np.multiply.outer(k, x))
    values = waves @ even - 1j * k[..., None] * (waves @ odd)
    return np.einsum("kj,pjm->pkm", chebyshev(PANEL), values)


def integrals(
    activation: Activation, r: Array, i: Index, j: Index, rho: Array, d: Array
) -> tuple[Array, Array, Array]:
    """Return the integrals of S over [0, rho] and from |rho| to the end, and S.

    Of pairs of rows of lengths r, at least `Bend.least`; `d` is 1 - |rho|, at most 1/4.
    """
    bend = bend_of(activation)
    assert bend is not None
    sign = np.where(rho < 0.0, -1.0, 1.0)
    t = 2.0 * np.arcsin(np.sqrt(0.5 * d))
    short, long = np.minimum(r[i], r[j]), np.maximum(r[i], r[j])
    if bend.pieces is None:
        inner, slope = close_pairs.at_ends(activation, r, i, j, sign)
        first, near, lost = np.zeros_like(t), np.zeros_like(t), np.zeros_like(t)
        finest = FINEST * bend.strip / short
    else:
        # Up to where sums over evenly spaced values take few.
        finest = first = np.minimum(1.2 * APART / bend.step / short, t)
        near = np.where(first < t, 2.0 * np.square(np.sin(0.5 * first)), d)
        start = bent_pieces.integrals(
            bend.pieces, r[i], r[j], sign * (1.0 - near), near
        )
        inner, lost, slope, _ = start
    terms = bend.terms(float((short * long).min(initial=math.inf)))
    counts = np.ceil(np.log2(np.maximum(t / finest, 1.0)))
    fall, left = np.empty_like(rho), np.empty_like(rho)
    for count in np.unique(counts):
        share, weight = gaussian.legendre(NODES)
        every = np.flatnonzero(counts == count)
        step = max(1, TOGETHER // (NODES * int(count + 1)))
        for begin in range(0, len(every), step):
            at = every[begin : begin + step]
            edges = t[at, None] * 2.0 ** np.arange(-count, 1.0)
            edges = np.maximum(np.insert(edges, 0, 0.0, axis=1), first[at, None])
            half = 0.5 * np.diff(edges)[..., None]
            u = (edges[:, :-1, None] + half * (1.0 + share)).reshape(len(at), -1)
            w = _falls(bend, short[at], long[at], sign[at], u, terms)
            w *= (half * weight).reshape(u.shape)
            fall[at] = w.sum(axis=1)
            over = np.sin(0.5 * (t[at, None] + u)) * np.sin(0.5 * (t[at, None] - u))
            left[at] = 2.0 * (w * over).sum(axis=1)
    more = (d - near) * slope - left
    return inner - sign * more, lost + more, slope - fall


def _falls(
    bend: Bend, r: Array, other: Array, sign: Array, u: Array, terms: int
) -> Array:
    """Return -dS/dt at angles u (pairs, n); r are the shorter rows."""
    sigma, out = r[:, None] * np.sin(u), np.empty_like(u)
    wide = sigma * bend.step > APART
    pair, node = np.nonzero(~wide)
    if len(pair):
        k = np.arange(0.0, bend.last, bend.step)
        rows, place = np.unique(pair, return_inverse=True)
        each = _products(
            bend,
            np.broadcast_to(k, (len(rows), len(k))),
            r[rows],
            other[rows],
            sign[rows],
            terms,
        )
        each[..., 1:] *= 2.0
        bell = np.exp(-0.5 * np.square(sigma[pair, node][:, None] * k))
        # All angles of a pair together.
        sums = np.empty((terms, len(pair)))
        for row in range(len(rows)):
            here = np.flatnonzero(place == row)
            sums[:, here] = each[:, row] @ bell[here].T
        out[pair, node] = bend.step * _summed(sums, u[pair, node])
    pair, node = np.nonzero(wide)
    if len(pair):
        y = APART * np.arange(VALUES)
        k = y / sigma[pair, node][:, None]
        each = _products(bend, k, r[pair], other[pair], sign[pair], terms)
        bell = np.exp(-0.5 * y * y)
        bell[1:] *= 2.0
        step = APART / sigma[pair, node]
        out[pair, node] = step * _summed(each @ bell, u[pair, node])
    return out * (sigma / (2.0 * math.pi) ** 1.5)


def _products(
    bend: Bend, k: Array, r: Array, other: Array, sign: Array, terms: int
) -> Array:
    """Return the real part of the products of transforms at k (m, n), (terms, m, n)."""
    first = bend.at(k, terms)
    second = bend.at(k * (r / other)[:, None], terms)
    m = np.arange(terms)[:, None, None]
    # Of s'(-x): minus the conjugate, times (-1)^m.
    near = sign[:, None] > 0.0
    found = first.real * second.real
    both = first.imag * second.imag
    found = np.where(near, found + both, -((-1.0) ** m) * (found - both))
    scale = np.array([1.0 / math.factorial(n) for n in range(terms)])[:, None, None]
    return found * scale * ((1.0 / r / other)[:, None] ** m)


def _summed(terms: Array, u: Array) -> Array:
    """Add up terms (m, n) at angles (n,)."""
    x, out = -0.5 / np.square(np.cos(0.5 * u)), np.zeros_like(u)
    for row in terms[::-1]:
        out = out * x + row
    return out
