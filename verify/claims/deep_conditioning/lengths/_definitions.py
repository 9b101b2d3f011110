"""Activations at any scale by their definition: the quadratures of appendix D's claims.

Panels of Gauss-Legendre nodes that end at the kink, and polar coordinates whose sectors
end where either argument vanishes: nothing is shared with the predictions.
"""

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import special

from theory import activations as act
from verify.claims.deep_conditioning.normrelu._definitions import STAR
from verify.compare import Array

# --- the measured side ----------------------------------------------------------------

FUNCTIONS: Mapping[str, Callable[[Array], Array]] = {
    "tanh": np.tanh,
    "erf": special.erf,
    "arctan": np.arctan,
    "asinh": np.arcsinh,
    "softsign": lambda x: x / (1.0 + np.abs(x)),
    "softsign'": lambda x: (1.0 + np.abs(x)) ** -2,
    "selu": lambda x: np.where(
        x > 0.0,
        1.05070098735548049 * x,
        1.05070098735548049 * 1.67326324235437728 * np.expm1(np.minimum(x, 0.0)),
    ),
    "normrelu": lambda x: np.maximum(x, STAR),
    "relu": lambda x: np.maximum(x, 0.0),
    "sigmoid": special.expit,
    "sin": np.sin,
    "sign": np.sign,
}


def panels(edges: Any, count: int = 20) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights between any two neighbouring edges."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    edges = np.asarray(edges, dtype=np.float64)
    half = np.diff(edges)[:, None] / 2.0
    return (edges[:-1, None] + half + half * nodes).ravel(), (half * weights).ravel()


def gaussian_panels(edges: Any) -> tuple[Array, Array]:
    """The same with standard Gaussian weights."""
    x, weights = panels(edges)
    return x, weights * (np.exp(-x * x / 2.0) / math.sqrt(2.0 * math.pi))


@lru_cache(maxsize=1)
def gaussian_rule() -> tuple[Array, Array]:
    """Nodes and standard Gaussian weights on the line, split at 0."""
    # 20 nodes on panels of 1/8 to 13: the mass beyond is 1e-38; a pole at distance 0.1
    # (tanh at scale 5 and variance 8) leaves (3.5)^-40 = 1e-22 of a panel.
    return gaussian_panels(np.arange(-13.0, 13.0 + 1 / 16, 1 / 8))


def expectation(values: Array) -> float:
    """Mean of the values at the nodes of `gaussian_rule`."""
    return float(gaussian_rule()[1] @ values)


@lru_cache(maxsize=64)
def function(name: str, scale: float) -> Callable[[Array], Array]:
    """Return x -> s(scale x), centred and of unit variance."""
    raw = FUNCTIONS[name]
    values = raw(scale * gaussian_rule()[0])
    mean = expectation(values)
    spread = math.sqrt(expectation((values - mean) ** 2))
    return lambda x: (raw(scale * x) - mean) / spread


def length(name: str, scale: float, gamma: float) -> float:
    """E s(sqrt(gamma) X)^2 of the normalised activation, by quadrature."""
    s = function(name, scale)
    return expectation(s(math.sqrt(gamma) * gaussian_rule()[0]) ** 2)


@lru_cache(maxsize=1)
def _polar() -> tuple[Array, Array, Array, Array]:
    """Radial and angular rules on [0, 13] and [0, 1], graded towards the ends."""
    # Steep activations turn within 1/(scale sqrt(gamma)) >= 1/15 of the origin and,
    # far out, within that over 13 of a sector's edge. With 24 nodes a panel the product
    # differs by 1e-14, with 8 by 2e-12.
    radii = np.concatenate([[0.0], 2.0 ** np.arange(-6.0, 0.0), np.arange(1.0, 13.5)])
    inner = 2.0 ** np.arange(-9.0, 0.0)
    angles = np.concatenate([[0.0], inner, 1.0 - inner[-2::-1], [1.0]])

    (r, wr), (t, wt) = panels(radii, 10), panels(angles, 10)
    return r, wr * r * np.exp(-r * r / 2.0), t, wt


def odd_product(
    name: str, scale: float, gamma_x: float, gamma_y: float, rho: float
) -> float:
    """E s(u) s(v) for an odd s and var u = gamma_x, var v = gamma_y, by polar sectors."""
    s = function(name, scale)
    r, wr, unit, wt = _polar()
    theta, total = math.acos(rho), 0.0
    # The half plane u > 0; the other half repeats it, the product being even.
    for start, end in (
        (theta - math.pi / 2, math.pi / 2),
        (-math.pi / 2, theta - math.pi / 2),
    ):
        t, width = start + (end - start) * unit, end - start
        u = math.sqrt(gamma_x) * r[:, None] * np.cos(t)
        v = math.sqrt(gamma_y) * r[:, None] * np.cos(t - theta)
        total += width * float(wr @ (s(u) * s(v)) @ wt)
    return total / math.pi


def iterated_lengths(name: str, scale: float, gamma: float, depth: int) -> Array:
    """Squared lengths after 0..depth layers, shape (depth + 1,)."""
    found = [gamma]
    for _ in range(depth):
        found.append(length(name, scale, found[-1]))
    return np.array(found)


def iterate(
    name: str, scale: float, gamma_x: float, gamma_y: float, rho: float, depth: int
) -> Array:
    """(gamma_x, gamma_y, rho) after 0..depth layers, shape (depth + 1, 3)."""
    x, y = (iterated_lengths(name, scale, gamma, depth) for gamma in (gamma_x, gamma_y))
    found = [rho]
    for l in range(depth):
        product = odd_product(name, scale, float(x[l]), float(y[l]), found[-1])
        size = math.sqrt(x[l + 1] * y[l + 1])
        found.append(max(-1.0, min(1.0, product / size)))
    return np.stack([x, y, found], axis=1)


# --- the predicted side ---------------------------------------------------------------


def predicted_activation(name: str, scale: float = 1.0) -> act.Activation:
    """Return the library's x -> s(scale x), normalised."""
    if name == "normrelu":
        raw = act.normrelu(STAR)
    elif name.endswith("'"):
        raw = act.CATALOGUE[name[:-1]].derivative
    else:
        raw = act.CATALOGUE[name]
    return (raw if scale == 1.0 else raw.scaled(scale**2)).normalized()


ODD = ("tanh", "erf", "arctan", "asinh", "softsign")
