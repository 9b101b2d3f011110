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
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from theory import gaussian
from theory._chebyshev import chebyshev, nodes
from theory._recursion import close_pairs
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

APART = 0.7
"""Between values in omega sin t: an even spacing leaves exp(-2 pi^2 / 0.7^2) of a Gaussian,
3e-18, and exp(-9.1^2 / 2), 1e-18, beyond 13 of them."""

VALUES = 14

FINEST = 0.0625
"""Over the strip of the slope: r sin t below which it is a polynomial of the angle."""

TOGETHER = 1 << 11
"""Angles at which transforms are read together."""


@dataclass(frozen=True, eq=False)
class Bend:
    """Where a slope changes: tables of the transforms M_m.

    `least` is the length of rows from which `TERMS` powers are enough.
    """

    strip: float  # of the slope
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
    if not isinstance(base, Smooth) or base.kinks or base.order:
        return None
    strip = base.definition.strip / base._root
    if not math.isfinite(strip):
        return None
    h = math.pi * strip / DIGITS  # twice as fine as for a mean: up to the last k
    count = math.ceil(FARTHEST * strip / h)
    x = h * np.arange(-count, count + 1.0)
    f = activation.derivative._value(x)
    size = np.abs(f).max()
    low, high = f[0], f[-1]
    constant = np.abs(f - np.where(x < 0.0, low, high)) <= 2.0 * EPS * size
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
    # The slope is constant but for exp(-36): transforms are analytic in a strip.
    width = 0.5 * 36.0 / far
    panels = math.ceil(DIGITS / strip / width)
    k = width * (np.arange(panels)[:, None] + 0.5 * (1.0 + nodes(PANEL)))
    waves = np.exp(1j * np.multiply.outer(k, x))
    values = waves @ even - 1j * k[..., None] * (waves @ odd)
    table = np.einsum("kj,pjm->pkm", chebyshev(PANEL), values)
    each = np.abs(np.diff(f))[:, None] * np.abs(x[1:, None]) ** np.arange(TERMS + 1)
    return Bend(strip, width, table, each.sum(axis=0))


def integrals(
    activation: Activation, r: Array, i: Index, j: Index, rho: Array, d: Array
) -> tuple[Array, Array, Array]:
    """Return the integrals of S over [0, rho] and from |rho| to the end, and S.

    Of pairs of rows of lengths r, at least `Bend.least`; `d` is 1 - |rho|, at most 1/4.
    """
    bend = bend_of(activation)
    assert bend is not None
    sign = np.where(rho < 0.0, -1.0, 1.0)
    whole, end = close_pairs.at_ends(activation, r, i, j, sign)
    fall, left = np.empty_like(rho), np.empty_like(rho)
    t = 2.0 * np.arcsin(np.sqrt(0.5 * d))
    short, long = np.minimum(r[i], r[j]), np.maximum(r[i], r[j])
    octaves = np.log2(np.maximum(short * t / (FINEST * bend.strip), 1.0))
    terms = next(
        m
        for m in range(1, TERMS + 1)
        if m == TERMS or bend.term(m, float((short * long).min())) < math.exp(-DIGITS)
    )
    for count in np.unique(np.ceil(octaves)):
        at = np.flatnonzero(np.ceil(octaves) == count)
        shares = np.append(0.0, 2.0 ** np.arange(-count, 1.0))
        share, weight = gaussian.composite(shares, NODES)
        step = max(1, TOGETHER // len(share))
        for start in range(0, len(at), step):
            some = at[start : start + step]
            u = t[some, None] * share
            w = _falls(bend, short[some], long[some], sign[some], u, terms)
            w *= t[some, None] * weight
            fall[some] = w.sum(axis=1)
            apart = np.sin(0.5 * (t[some, None] + u)) * np.sin(
                0.5 * (t[some, None] - u)
            )
            left[some] = 2.0 * (w * apart).sum(axis=1)
    lost = d * end - left
    return whole - sign * lost, lost, end - fall


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
