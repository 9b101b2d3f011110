"""Standard Gaussian: density, tail moments, expectations split at kinks."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from theory import _checks

Array = npt.NDArray[np.float64]
SQRT_TWO_PI = math.sqrt(2.0 * math.pi)


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
    """Return nodes and weights of the n-point Gauss-Legendre rule on [-1, 1]."""
    return _legendre(_checks.integer("legendre", "n", n, 1, 1000))


@lru_cache(maxsize=64)
def _legendre(n: int) -> tuple[Array, Array]:
    x, w = np.polynomial.legendre.leggauss(n)
    return x, w


def scaled_tail_moment(k: int, c: float) -> float:
    """E[(Z - c)_+^k] / phi(c) for k = 0, 1, 2, positive terms only."""
    who = "scaled_tail_moment"
    k = _checks.integer(who, "k", k, 0, 2)
    c = _checks.number(who, "c", c, low=-37.0)  # below, it leaves float64
    if c <= 0.0:
        t = float(cdf(-c)) / float(pdf(c))
        return (t, 1.0 - c * t, (1.0 + c * c) * t - c)[k]
    top = 90.0 / (math.hypot(c, math.sqrt(90.0)) + c)
    x, w = legendre(64)
    u = 0.5 * top * (x + 1.0)
    return float(0.5 * top * np.sum(w * u**k * np.exp(-c * u - 0.5 * u * u)))


def tail_moment(k: int, c: float) -> float:
    """E[(Z - c)_+^k] for k = 0, 1, 2."""
    k = _checks.integer("tail_moment", "k", k, 0, 2)
    c = _checks.number("tail_moment", "c", c, low=-1e150)  # its square stays in range
    if c > 0.0:
        return float(pdf(c)) * scaled_tail_moment(k, c)
    t, p = float(cdf(-c)), float(pdf(c))
    return (t, p - c * t, (1.0 + c * c) * t - c * p)[k]


def panels(kinks: Sequence[float], reach: float = 20.0) -> tuple[Array, Array]:
    """Composite Gauss-Legendre nodes and weights on [-reach, reach], read-only."""
    ends = _checks.vector("panels", "kinks", kinks)
    return _panels(
        tuple(ends.tolist()), _checks.number("panels", "reach", reach, 0.01, 1e4)
    )


@lru_cache(maxsize=256)
def _panels(kinks: tuple[float, ...], reach: float) -> tuple[Array, Array]:
    cuts = {float(v) for v in np.arange(-reach, reach + 0.25, 0.5)}
    for c in {0.0, *kinks}:
        cuts.add(c)
        for j in range(2, 12):
            cuts |= {c - 2.0**-j, c + 2.0**-j}
    edges = np.array(sorted(v for v in cuts if abs(v) <= reach))
    x, w = legendre(20)
    half = 0.5 * np.diff(edges)
    mid = 0.5 * (edges[1:] + edges[:-1])
    nodes = (mid[:, None] + half[:, None] * x).ravel()
    weights = (half[:, None] * w).ravel()
    nodes.flags.writeable = weights.flags.writeable = False
    return nodes, weights


def expectation(f: Callable[[Array], Array], kinks: Sequence[float] = ()) -> float:
    """Return E f(Z), Z standard normal, with panels that end at the kinks."""
    who = "expectation"
    _checks.function(who, "f", f)
    x, w = panels(_checks.vector(who, "kinks", kinks).tolist())
    return math.fsum(w * _checks.values(who, "f", f(x), x) * pdf(x))
