"""Deep kernels by their recursion, layer by layer at 60 digits: the measured side.

Entry by entry from the laws of `verify.integrals`; nothing here knows of tables, bounds
or float64.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np

from verify.compare import Array
from verify.integrals import BITS, Law


def correlations(law: Law, rho: Any, depth: int) -> list[Any]:
    """Correlations after 0..depth layers of the normalised activation."""
    return _layers(law.normalised_dual, rho, depth)


def uncentred(law: Law, rho: Any, depth: int) -> list[Any]:
    """Correlations after 0..depth layers of s / sqrt(E s^2)."""
    with mpmath.workprec(BITS):
        total = law.moment()
    return _layers(lambda r: law.dual(r) / total, rho, depth)


def _layers(layer: Callable[[Any], Any], rho: Any, depth: int) -> list[Any]:
    out = [mpmath.mpf(rho)]
    with mpmath.workprec(BITS):
        for _ in range(depth):
            out.append(layer(out[-1]))
    return out


def tangent(law: Law, rho: Any, depth: int) -> Any:
    """Tangent kernel of the normalised activation, as the sum over layers it is.

    T = sum_{h=1}^{L+1} s^(h-1)(rho) prod_{l=h}^{L} s'(s^(l-1)(rho)).
    """
    with mpmath.workprec(BITS):
        values = correlations(law, rho, depth)
        # From the last layer on: each term has one slope more.
        total, product = values[-1], mpmath.mpf(1)
        for value in reversed(values[:-1]):
            product *= law.normalised_slope(value)
            total += value * product
        return total


def unit_points(n: int, dim: int, spread: float, seed: int) -> Array:
    """N random unit vectors around the first axis; `spread` large: anywhere."""
    rng = np.random.default_rng(seed)
    points = np.eye(dim)[0] + spread * rng.standard_normal((n, dim))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


@lru_cache(maxsize=64)
def exact_gram(n: int, dim: int, spread: float, seed: int) -> Any:
    """Cosines of `unit_points` at 60 digits, from the float64 coordinates."""
    rows = unit_points(n, dim, spread, seed)
    with mpmath.workprec(BITS):
        exact = [[mpmath.mpf(float(v)) for v in row] for row in rows]
        norms = [mpmath.sqrt(mpmath.fdot(row, row)) for row in exact]
        gram = mpmath.eye(n)
        for i in range(n):
            for j in range(i):
                cosine = mpmath.fdot(exact[i], exact[j]) / (norms[i] * norms[j])
                gram[i, j] = gram[j, i] = cosine
        return gram


def entrywise(gram: Any, function: Any) -> Any:
    """Apply a function to the entries of a symmetric matrix, once for each pair."""
    n = gram.rows
    out = mpmath.matrix(n)
    with mpmath.workprec(BITS):
        diagonal = function(mpmath.mpf(1))
        for i in range(n):
            out[i, i] = diagonal
            for j in range(i):
                out[i, j] = out[j, i] = function(gram[i, j])
    return out


def kernel(law: Law, gram: Any, depth: int) -> Any:
    """Top-layer kernel of unit inputs of this Gram matrix."""
    # Many entries are equal.
    return entrywise(gram, lru_cache(lambda r: correlations(law, r, depth)[-1]))


def tangent_kernel(law: Law, gram: Any, depth: int) -> Any:
    """Tangent kernel of unit inputs of this Gram matrix."""
    return entrywise(gram, lru_cache(lambda r: tangent(law, r, depth)))


def equal_gram(n: int, delta: float) -> Any:
    """Unit diagonal and 1 - delta off it: the smallest eigenvalue is delta."""
    with mpmath.workprec(BITS):
        off = 1 - mpmath.mpf(delta)
        return mpmath.matrix(
            [[1 if i == j else off for j in range(n)] for i in range(n)]
        )


@lru_cache(maxsize=64)
def conditioned(kind: str, n: int, delta: float, seed: int) -> tuple[Any, float]:
    """Return a Gram matrix and its smallest eigenvalue, at most, in float64.

    Of equal correlations, or of random inputs in twice as many dimensions.
    """
    if kind == "equal":
        return equal_gram(n, delta), delta
    gram = exact_gram(n, 2 * n, 1.0, seed)
    return gram, math.nextafter(float(eigenvalues(gram)[0]), 0.0)


def separation(gram: Any) -> Any:
    """Least 1 - |g_ij| off the diagonal: the delta of assumption A."""
    with mpmath.workprec(BITS):
        pairs = ((i, j) for i in range(gram.rows) for j in range(i))
        return min(1 - abs(gram[i, j]) for i, j in pairs)


def burn_in(delta: Any, mu: Any) -> int:
    """L_0, counted: the least l with 2 delta (1 + mu/2)^l >= 1."""
    with mpmath.workprec(BITS):
        return _counted(1 / (2 * mpmath.mpf(delta)), 1 / (1 + mpmath.mpf(mu) / 2))


def shrunk(start: Any, mu: Any) -> int:
    """The least l with start (1 - mu/2)^l <= 1, counted."""
    with mpmath.workprec(BITS):
        return _counted(mpmath.mpf(start), 1 - mpmath.mpf(mu) / 2)


def _counted(left: Any, factor: Any) -> int:
    # A power that is one but for the rounding of its float64 arguments counts as one.
    layers, one = 0, 1 + mpmath.mpf(2) ** -48
    while left > one:
        left *= factor
        layers += 1
    return layers


def eigenvalues(matrix: Any) -> list[Any]:
    """Eigenvalues of a symmetric matrix at 60 digits, ascending."""
    with mpmath.workprec(BITS):
        return sorted(mpmath.eigsy(matrix, eigvals_only=True))


def condition_number(matrix: Any) -> Any:
    """Largest over smallest eigenvalue."""
    values = eigenvalues(matrix)
    with mpmath.workprec(BITS):
        return values[-1] / values[0]
