"""Standard Gaussian: density, tail moments, expectations split at kinks."""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
SQRT_TWO_PI = math.sqrt(2.0 * math.pi)


def pdf(x: npt.ArrayLike) -> Array:
    """Return the standard normal density."""
    x = np.asarray(x, dtype=np.float64)
    return np.exp(-0.5 * x * x) / SQRT_TWO_PI


def cdf(x: npt.ArrayLike) -> Array:
    """Return the standard normal distribution function."""
    from scipy.special import ndtr

    return ndtr(np.asarray(x, dtype=np.float64))


@lru_cache(maxsize=64)
def legendre(n: int) -> tuple[Array, Array]:
    """Return nodes and weights of the n-point Gauss-Legendre rule on [-1, 1]."""
    x, w = np.polynomial.legendre.leggauss(n)
    return x, w


def scaled_tail_moment(k: int, c: float) -> float:
    """E[(Z - c)_+^k] / phi(c), positive terms only."""
    if c <= 0.0:
        t = float(cdf(-c)) / float(pdf(c)) if c > -37 else math.inf
        if k == 0:
            return t
        if k == 1:
            return 1.0 - c * t
        return (1.0 + c * c) * t - c
    top = math.sqrt(c * c + 90.0) - c
    x, w = legendre(64)
    u = 0.5 * top * (x + 1.0)
    return float(0.5 * top * np.sum(w * u**k * np.exp(-c * u - 0.5 * u * u)))


def tail_moment(k: int, c: float) -> float:
    """E[(Z - c)_+^k] for k = 0, 1, 2."""
    if c > 0.0:
        return float(pdf(c)) * scaled_tail_moment(k, c)
    t, p = float(cdf(-c)), float(pdf(c))
    return (t, p - c * t, (1.0 + c * c) * t - c * p)[k]


@lru_cache(maxsize=256)
def panels(kinks: tuple[float, ...], reach: float = 20.0) -> tuple[Array, Array]:
    """Composite Gauss-Legendre nodes and weights on [-reach, reach], read-only."""
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


def expectation(f: Callable[[Array], Array], kinks: tuple[float, ...] = ()) -> float:
    """Return E f(Z), Z standard normal, with panels that end at the kinks."""
    x, w = panels(tuple(kinks))
    return math.fsum(w * f(x) * pdf(x))
