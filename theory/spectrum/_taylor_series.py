r"""Taylor coefficients of deep duals, by composition of series without negative terms.

Layer l sends the correlation c to :math:`f_l(c)/q_l`, with :math:`f_l(c) = \sum_n a_n^2
c^n` the dual of x -> s(sqrt(q_{l-1}) x) and q_l = f_l(1) the squared length. No
coefficient is negative, so sums and products keep the relative accuracy of every one.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from theory import kernels
from theory._recursion.layers import Layers
from theory._recursion.spheres import sphere
from theory.activations import Activation, Smooth
from theory.activations.affine import split

Array = npt.NDArray[np.float64]

PRECISE = 200
"""Order to which `Activation.hermite` has relative accuracy for smooth functions."""

NOISE = 1e-29
"""Share of E s^2 below which a squared coefficient of higher order is rounding."""

LEFT = 1e-15
"""Share of a coefficient that terms of a series beyond those that are taken add."""

SAFE = 1e4
"""How far above what is left out a coefficient has to be."""

MOST = 8192
"""Coefficients of an activation with kinks that quadrature gives."""

ROUNDING = 2.0 * float(np.finfo(np.float64).eps)
"""How far a length may be from the one before to count as the same."""

CHECK = (0.0, 0.5, 0.9)
"""Correlations at which series and maps are compared."""


@dataclass(frozen=True, eq=False)
class Series:
    """Coefficients of the NNGP and the tangent kernel.

    Attributes
    ----------
    nngp, ntk : array
        As many as are known to relative accuracy, up to the order that was asked; the
        second is empty when the derivative is not square integrable, or its diagonal
        beyond float64.
    agrees : bool
        Whether they reproduce the kernel maps; a kernel of which hardly anything but a
        constant is left asks for more of the activation's coefficients than there are.
    """

    nngp: Array
    ntk: Array
    agrees: bool


@lru_cache(maxsize=32)
def series(activation: Activation, depth: int, order: int) -> Series:
    """Return the Taylor series; ValueError where the kernel maps raise it."""
    kernels.nngp_map(1.0, activation, depth)  # complains about lengths that diverge
    smooth = _has_tangent(activation, depth)
    correlation = np.zeros(order + 1)
    correlation[1:2] = 1.0
    tangent = correlation.copy()
    length, known = 1.0, True
    exact, floor = order, 0.0
    nngp = correlation
    for layer in range(depth):
        here = activation if length == 1.0 else activation._scaled(length)
        # Of an inner function without a constant powers beyond the order leave nothing.
        need = _outer(correlation) if correlation[0] else order
        b, rest = _energies(here, int(min(need, MOST)))
        known = known and (need <= MOST or b.size <= MOST)
        if rest:
            # Higher terms of the outer function reach degrees below their own only by
            # way of the inner one's constant.
            exact = min(exact, 0 if correlation[0] else b.size - 1)
            floor += rest / here.second_moment
        left = depth - layer
        centred = not correlation[0] and not b[0]
        rests = length == 1.0 and abs(here.second_moment - 1.0) <= ROUNDING
        if centred and rests and _faster(left, b.size, order):
            floor += (left - 1) * rest / here.second_moment
            nngp, tangent = _many(b, left, correlation, tangent)
            break
        slopes = np.arange(1, b.size) * b[1:] / length
        nngp, gain = _compose((b, slopes), correlation)
        with np.errstate(over="ignore", invalid="ignore"):
            tangent = nngp + _product(tangent, gain)
        length = here.second_moment
        correlation = nngp / length
    nngp = _cut(nngp, exact, SAFE * floor)
    tangent = _cut(tangent, exact, SAFE * floor) if smooth else np.empty(0)
    known = known and _agree(activation, depth, nngp, tangent)
    return Series(nngp, tangent, known)


def _has_tangent(activation: Activation, depth: int) -> bool:
    """Whether there is a tangent kernel whose diagonal float64 holds."""
    if not math.isfinite(activation.derivative_second_moment):
        return False
    who = "taylor_coefficients"
    deep = sphere(Layers.read(who, activation, depth, 1.0, 0.0, tangent=True), 1.0)
    return deep.map.log_diagonal + math.log(deep.length) <= 709.0


def _faster(count: int, terms: int, order: int) -> bool:
    """Whether squares of layers, of all terms, take fewer products than one by one."""
    return count * math.isqrt(terms) > 2 * count.bit_length() * math.isqrt(order)


def _many(
    b: Array, count: int, correlation: Array, tangent: Array
) -> tuple[Array, Array]:
    """Return NNGP and tangent kernel after equal layers of energies b, by squaring.

    Layers are maps f of correlations with the product p of their slopes and the tangent
    kernel a that they generate from zero, as in `theory.depth_maps`.
    """
    b = np.resize(_padded(b, correlation.size), correlation.size)
    n = np.arange(b.size)
    square = (b, np.append(n[1:] * b[1:], 0.0), b)
    so_far = (correlation, np.zeros_like(b), tangent)
    while count:
        if count % 2:
            so_far = _then(so_far, square)
        count //= 2
        square = _then(square, square) if count else square
    return so_far[0], so_far[2]


def _then(first: tuple[Array, ...], later: tuple[Array, ...]) -> tuple[Array, ...]:
    f, p, a = _compose(later, first[0])
    with np.errstate(over="ignore", invalid="ignore"):
        return f, _product(first[1], p), a + _product(p, first[2])


def _cut(b: Array, exact: int, floor: float) -> Array:
    """Return the coefficients that what is left out of every layer does not reach."""
    if not floor:
        return b
    above = np.flatnonzero(b > floor * b.sum())
    return b[: max(exact, int(above[-1]) if above.size else 0) + 1].copy()


def _outer(inner: Array) -> float:
    """Return how many coefficients of an outer function count in the composition.

    Coefficient n of the power m of the inner series p is at most p(z)^m / z^n, for any z
    between 0 and 1 (Chernoff's bound). From there on it is below `LEFT` of p's own, which
    the outer function's first terms pass on.
    """
    z = 1.0 - np.geomspace(1e-5, 0.9, 120)
    falls = -np.log(np.polynomial.polynomial.polyval(z, inner))
    least = math.log(LEFT) + math.log(inner[inner > 0.0].min())
    wanted = (1.0 - inner.size) * np.log(z) - least
    with np.errstate(divide="ignore", over="ignore"):
        return float(np.min(wanted / np.maximum(falls, 0.0)))


def _energies(activation: Activation, order: int) -> tuple[Array, float]:
    """Return a_n^2, n <= order, as far as known, and the size of those beyond.

    For the relative accuracy of all, orders above 200 are taken from quadrature only
    where they are above its rounding. The second is 0 where nothing is left out: for
    polynomials, and where `order` is reached.
    """
    b = activation.hermite(min(order, PRECISE)) ** 2
    energy = activation.second_moment
    noise = NOISE * energy
    slow = b[-10:].max() > noise or energy - math.fsum(b) > 1e-12 * energy
    if order > PRECISE and slow:
        more = activation.hermite(order) ** 2
        more[more < noise] = 0.0
        b = np.concatenate([b, more[b.size :]])
    if activation.degree is None:
        _quiet(b, 10.0 * noise, smooth=isinstance(split(activation)[0], Smooth))
    b = np.trim_zeros(b, "b") if b.any() else b[:1]
    last = float(b[-10:].max())
    polynomial = b.size <= 0.9 * min(order, PRECISE) and last > 1e-60 * energy
    if b.size >= order or polynomial or not last:
        return b, 0.0
    return b, 100.0 * last


def _quiet(b: Array, noise: float, *, smooth: bool) -> None:
    """Clear what rounding leaves of a parity that is not there, but for a constant.

    Smooth coefficients have digits far below the largest: they are noise beside others.
    """
    beside = NOISE**0.8 * np.maximum(np.append(b[1:], 0.0), np.append(0.0, b[:-1]))
    for start in range(4):
        part = slice(start, None, 2)
        below = start > 1 and np.all(b[part] <= beside[part])
        if below if smooth else b[part].sum() < noise:
            b[part] = 0.0


def _product(a: Array, b: Array) -> Array:
    return np.convolve(a, b)[: a.size]


def _compose(outers: tuple[Array, ...], inner: Array) -> tuple[Array, ...]:
    """Return the outer polynomials of the inner one, truncated to its order.

    Baby steps and giant steps (Brent, Kung 1978): 2 sqrt(m) products for m terms.
    """
    if not inner[0] and inner[1:2] == 1.0 and not inner[2:].any():
        return tuple(np.resize(_padded(b, inner.size), inner.size) for b in outers)
    size = max(1, math.isqrt(max(b.size for b in outers)))
    powers = np.zeros((size, inner.size))
    powers[0, 0] = 1.0
    for i in range(1, size):
        powers[i] = _product(powers[i - 1], inner)
    giant = _product(powers[-1], inner)
    out: list[Array] = []
    for b in outers:
        rows = _padded(b, -(-b.size // size) * size).reshape(-1, size) @ powers
        total = rows[-1]
        for row in rows[-2::-1]:
            total = _product(total, giant) + row
        out.append(total)
    return tuple(out)


def _padded(b: Array, size: int) -> Array:
    return np.concatenate([b, np.zeros(max(0, size - b.size))])


def _agree(activation: Activation, depth: int, nngp: Array, tangent: Array) -> bool:
    """Compare with the maps where the truncation leaves out less than rounding."""
    for b, which in ((nngp, kernels.nngp_map), (tangent, kernels.ntk_map)):
        if not b.size:
            continue
        top = float(which(1.0, activation, depth))
        for rho in CHECK:
            if rho**b.size > 1e-13:
                continue
            value = float(np.polynomial.polynomial.polyval(rho, b))
            known = float(which(rho, activation, depth))
            if abs(value - known) > 1e-10 * top:
                return False
    return True
