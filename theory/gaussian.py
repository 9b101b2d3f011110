"""Standard Gaussian: density, tail moments, expectations split at kinks."""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._naming import publish

Array = npt.NDArray[np.float64]
SQRT_TWO_PI = math.sqrt(2.0 * math.pi)

MANY = 2**15
"""Terms from which on a sum is not exact."""

NOTHING = 1e-40
"""Share of the largest term that an exact sum goes without."""


def pdf(x: npt.ArrayLike) -> Array:
    """Return the standard normal density."""
    x = _checks.real("pdf", "x", x)
    with np.errstate(over="ignore"):  # far out: the density is 0
        return np.exp(-0.5 * x * x) / SQRT_TWO_PI


def cdf(x: npt.ArrayLike) -> Array:
    """Return the standard normal distribution function."""
    from scipy.special import ndtr

    return ndtr(_checks.real("cdf", "x", x))


def legendre(n: int) -> tuple[Array, Array]:
    """Return nodes and weights of the n-point Gauss-Legendre rule on [-1, 1], read-only.

    Correctly rounded where `numpy.longdouble` has more digits, within 40 eps where not.
    """
    return _legendre(_checks.integer("legendre", "n", n, 1, 1000))


@lru_cache(maxsize=64)
def _legendre(n: int) -> tuple[Array, Array]:
    # By Newton's steps for y = 1 - x, to relative accuracy: of a rule by the eigenvalues
    # of a matrix the weights next to the ends are good to 1e-12 only.
    t = np.pi * (np.arange(1.0, n / 2 + 1).astype(np.longdouble) - 0.25) / (n + 0.5)
    y = weight = 2.0 * np.sin(0.5 * t) ** 2
    for _ in range(6):
        p, less = 1.0 - y, -y  # P_k, and P_k - P_(k-1)
        for k in range(1, n):
            less = (k * less - (2 * k + 1) * y * p) / (k + 1)
            p = p + less
        square, slope = y * (2.0 - y), n * (y * p - less)
        y, weight = y + p * square / slope, 2.0 * square / slope**2
    half, rest = (1.0 - y).astype(np.float64), n // 2
    half[rest:] = 0.0
    x = np.concatenate([-half[:rest], half[::-1]])
    w = np.concatenate([weight[:rest], weight[::-1]]).astype(np.float64)
    x.flags.writeable = w.flags.writeable = False
    return x, w


def _most(c: float) -> float:
    """P(Z > c) for c <= 0, to a rounding or two; SciPy need not be loaded for it."""
    return 0.5 * math.erfc(c / math.sqrt(2.0))


def _density(c: float) -> float:
    """phi(c) for one number, to a few roundings far out too: there c^2 keeps all digits."""
    size = min(abs(c), 64.0)  # beyond which it is 0
    near = round(size * 2.0**20) * 2.0**-20  # whose square is exact
    rest = (size - near) * (size + near)
    return math.exp(-0.5 * near * near) * math.exp(-0.5 * rest) / SQRT_TWO_PI


def scaled_tail_moment(k: int, c: float) -> float:
    """E[(Z - c)_+^k] / phi(c) for k = 0, 1, 2, positive terms only."""
    who = "scaled_tail_moment"
    k = _checks.integer(who, "k", k, 0, 2)
    c = _checks.number(who, "c", c, low=-37.0)  # below, it leaves float64
    if c <= 0.0:
        t = _most(c) / _density(c)
        return (t, 1.0 - c * t, (1.0 + c * c) * t - c)[k]
    top = 90.0 / (math.hypot(c, math.sqrt(90.0)) + c)
    x, w = legendre(64)
    u = 0.5 * top * (x + 1.0)
    return float(0.5 * top * np.sum(w * u**k * np.exp(-c * u - 0.5 * u * u)))


def tail_moment(k: int, c: float) -> float:
    """E[(Z - c)_+^k] for k = 0, 1, 2."""
    k = _checks.integer("tail_moment", "k", k, 0, 2)
    c = _checks.number("tail_moment", "c", c, low=-1e154)  # its square stays in range
    if c > 0.0:
        return _density(c) * scaled_tail_moment(k, c)
    t, p = _most(c), _density(c)
    return (t, p - c * t, (1.0 + c * c) * t - c * p)[k]


def tail_terms(k: int, c: float) -> tuple[float, ...]:
    """Return numbers whose sum is E[(Z - c)_+^k] for k = 0, 1, 2.

    Near zero the value at c = 0 stands apart: over kinks that cancel, an exact sum
    (`math.fsum`) leaves what the distances of the kinks make of it.
    """
    if abs(c) > 1.0:
        return (tail_moment(k, c),)
    # P(Z > c) = 1/2 - e and phi(c) = phi(0) + f.
    e, p = 0.5 * math.erf(c / math.sqrt(2.0)), 1.0 / SQRT_TWO_PI
    f = p * math.expm1(-0.5 * c * c)
    if k == 0:
        return (0.5, -e)
    if k == 1:
        return (p, f, -0.5 * c, c * e)
    square = c * c
    return (0.5, -e, 0.5 * square, -square * e, -c * p, -c * f)


def panels(kinks: Sequence[float], reach: float = 20.0) -> tuple[Array, Array]:
    """Composite Gauss-Legendre nodes and weights on [-reach, reach], read-only."""
    ends = _checks.vector("panels", "kinks", kinks)
    return _panels(
        tuple(ends.tolist()), _checks.number("panels", "reach", reach, 0.01, 1e4)
    )


@lru_cache(maxsize=256)
def _panels(kinks: tuple[float, ...], reach: float) -> tuple[Array, Array]:
    edges = np.union1d(np.arange(-reach, reach + 0.25, 0.5), graded(kinks, reach))
    nodes, weights = composite(edges[np.abs(edges) <= reach])
    nodes.flags.writeable = weights.flags.writeable = False
    return nodes, weights


def graded(kinks: tuple[float, ...], reach: float) -> Array:
    """Return cuts that halve towards 0 and the kinks, and stop at 2^-11 of them."""
    steps = np.concatenate([[0.0], 2.0 ** -np.arange(2.0, 12.0)])
    centres = np.array(sorted({0.0, *kinks}))[:, None]
    cuts = np.unique(np.concatenate([centres - steps, centres + steps]))
    return cuts[np.abs(cuts) <= reach]


def rule(edges: Array, reach: float = 20.0) -> tuple[Array, Array]:
    """Return nodes x and weights w with ``E f(Z) = w @ f(x)``, Z standard normal.

    Panels end at the `edges`, in [-reach, reach], and are at most 1/2 wide: the density
    is resolved on them, and f where it is a polynomial of degree 24 between the edges.

    Examples
    --------
    >>> x, w = rule(np.array([0.0]))
    >>> abs(float(w @ np.maximum(x, 0.0) ** 2) - 0.5) < 1e-15
    True
    """
    own = np.arange(-reach, reach + 0.25, 0.5)
    nodes, weights = composite(np.union1d(own, edges))
    return nodes, weights * pdf(nodes)


def composite(edges: Array, nodes: int = 20) -> tuple[Array, Array]:
    """Return Gauss-Legendre nodes on each panel between edges, and their weights."""
    x, w = legendre(nodes)
    half = 0.5 * np.diff(edges)
    mid = 0.5 * (edges[1:] + edges[:-1])
    return (mid[:, None] + half[:, None] * x).ravel(), (half[:, None] * w).ravel()


def total(terms: Array) -> float:
    """Sum terms at mirrored nodes: those of an odd function cancel exactly.

    The last digit is right; of `MANY` terms, which take long to add exactly, 64 are added
    at a time. Terms that are nothing beside the largest are left out: the time of an exact
    sum grows with the range of sizes.

    Examples
    --------
    >>> cubes = np.linspace(0.0, 1.0, 50_000) ** 3
    >>> total(np.concatenate([-cubes[::-1], cubes]))
    0.0
    """
    if terms.size < MANY:
        size = np.abs(terms)
        kept = np.flatnonzero(~(size < NOTHING * size.max(initial=0.0)))
        # Largest first: the same sum in a fourth of the time, for its parts stay few.
        return math.fsum(terms[kept[np.argsort(-size[kept])]].tolist())
    pairs = 0.5 * (terms + terms[::-1])
    return math.fsum(np.add.reduceat(pairs, np.arange(0, pairs.size, 64)))


publish(globals(), "SQRT_TWO_PI")
