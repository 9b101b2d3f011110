r"""Kernels of inputs of any lengths, one layer after another.

For each pair of rows the next covariance is E[s(u) s(v)] with u, v of their own
variances. Only the upper triangle is computed, all pairs at once:

- *smooth* activations by their Hermite series at each length,
  :math:`E[s(u) s(v)] = \sum_k a_k(q_i) a_k(q_j) \rho^k`, or, where lengths make that
  converge slowly, by Fourier series on circles;
- *piecewise linear* ones by their kinks: the second derivative in rho is a sum of
  bivariate normal densities, integrated in the angle;
- functions with a kink at zero by quadrature in polar coordinates;
- any other by the quadrature of `theory.duals`, pair by pair (slow).
"""

import itertools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from theory import gaussian
from theory import hermite as _hermite
from theory.activations import (
    Activation,
    Affine,
    PiecewisePolynomial,
    pair,
)
from theory.activations.exponential import ExponentialUnit

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]
Pairs = Callable[[Index, Index, Array], tuple[Array, Array]]
"""(i, j, rho) -> E[s(u) s(v)] and its derivative in rho."""


def kernels(
    x: Array, activation: Activation, depth: int, *, tangent: bool, relative: bool
) -> tuple[Array, Array | None]:
    """Return (K, T) of the rows of x (n, d); T over its diagonal if `relative`."""
    n = len(x)
    i, j = np.triu_indices(n)
    same = i == j
    q = np.einsum("ij,ij->i", x, x)
    k = (x @ x.T)[i, j]
    k[same] = q
    t = k.copy()
    for _ in range(depth):
        root = np.sqrt(q[i] * q[j])
        rho = np.clip(k / root, -1.0, 1.0)
        rho[same] = 1.0
        k, slope = _pairs(activation, q)(i, j, rho)
        if tangent:
            t = k + t * slope / root
            if not np.isfinite(t).all():
                raise ValueError(
                    "kernels: `depth` must keep the tangent kernel within float64."
                    " Use `activation.normalized()`."
                )
        q = k[same]
    if relative:
        diagonal = np.sqrt(t[same])
        t = t / (diagonal[i] * diagonal[j])
    return _square(k, n), _square(t, n) if tangent else None


def _square(values: Array, n: int) -> Array:
    out = np.empty((n, n))
    i, j = np.triu_indices(n)
    out[i, j] = out[j, i] = values
    return out


def _pairs(activation: Activation, q: Array) -> Pairs:
    """Choose the way for this activation at these lengths."""
    if isinstance(activation, Affine):
        scale, shift = activation.scale, activation.shift
        base, first = _pairs(activation.base, q), _means(activation.base, q)

        def affine(i: Index, j: Index, rho: Array) -> tuple[Array, Array]:
            k, slope = base(i, j, rho)
            rest = shift * (scale * (first[i] + first[j]) + shift)
            return scale * scale * k + rest, scale * scale * slope

        return affine
    if isinstance(activation, PiecewisePolynomial) and activation.m == 1:
        return _piecewise_linear(activation, q)
    if not activation.kinks:
        return _series(activation, q) or _fourier(activation, q)
    if set(activation.kinks) == {0.0}:
        return _polar(activation, q)
    return _one_by_one(activation, q)


def _means(activation: Activation, q: Array) -> Array:
    return np.array([activation.scaled(float(v)).mean for v in q])


def _series(activation: Activation, q: Array) -> Pairs | None:
    """Hermite series; None where lengths make it converge too slowly."""
    order = 400
    nodes, basis = _hermite.weighted_basis(order)
    a = basis @ activation(np.sqrt(q) * nodes[:, None])
    k = np.arange(order + 1)
    energy = a * a
    if float((energy[-20:] * k[-20:, None]).max()) > 1e-17 * float(
        (energy * k[:, None]).sum(axis=0).max()
    ):
        return None
    size = np.abs(a).max(axis=1)
    last = int(np.max(np.nonzero(k * size * size > 1e-18 * float(size.max()) ** 2)[0]))

    def pairs(i: Index, j: Index, rho: Array) -> tuple[Array, Array]:
        value, slope = np.zeros_like(rho), np.zeros_like(rho)
        for order in range(last, -1, -1):
            slope = slope * rho + value
            value = value * rho + a[order][i] * a[order][j]
        return value, slope

    return pairs


def _radii(reach: float = 9.5, count: int = 14) -> tuple[Array, Array]:
    """Nodes and weights of the Rayleigh law, density R exp(-R^2 / 2)."""
    edges = np.array([0.0, 0.25, 0.75, 1.75, 3.0, 4.5, 6.5, reach])
    y, w = gaussian.legendre(count)
    half = 0.5 * np.diff(edges)
    r = (edges[:-1, None] + half[:, None] * (y + 1.0)).ravel()
    return r, (half[:, None] * w).ravel() * r * np.exp(-0.5 * r * r)


def _fourier(activation: Activation, q: Array) -> Pairs:
    """Fourier series on circles: u = R cos p, v = R cos(p - t), t = arccos rho.

    For each radius s(sqrt(q) R cos p) = sum_n c_n cos(n p), so the mean over p of
    s(u) s(v) is c_0 d_0 + sum_n c_n d_n cos(n t) / 2: a matrix product over radii for
    each n, and no quadrature for each pair.
    """
    r, weight = _radii()
    tables = [
        _cosines(f, np.sqrt(q), r, np.sqrt(weight))
        for f in (activation, activation.derivative)
    ]

    def pairs(i: Index, j: Index, rho: Array) -> tuple[Array, Array]:
        out = [np.zeros_like(rho) for _ in tables]
        for total, c in zip(out, tables, strict=True):  # c: (modes, lengths, radii)
            # cos(n t) is the Chebyshev polynomial T_n(rho).
            before, now = rho, np.ones_like(rho)
            for n, mode in enumerate(c):
                if mode.any():
                    total += (0.5 if n else 1.0) * (mode @ mode.T)[i, j] * now
                before, now = now, 2.0 * rho * now - before
        return out[0], np.sqrt(q[i] * q[j]) * out[1]

    return pairs


def _cosines(f: Activation, root: Array, r: Array, weight: Array) -> Array:
    """Weighted cosine coefficients of f(root R cos p), until the last are rounding."""
    from scipy import fft  # loaded when needed: it takes longer than all of theory

    size = np.multiply.outer(root, r)
    modes = 128
    while True:
        p = np.pi * (np.arange(modes) + 0.5) / modes
        values = f(size[..., None] * np.cos(p))
        c = fft.dct(values, type=2, axis=-1) / modes
        c[..., 0] *= 0.5
        c *= weight[:, None]
        top = np.abs(c).max(axis=(0, 1))
        if top[-8:].max() <= 1e-15 * top.max():
            c[..., top <= 1e-17 * top.max()] = 0.0  # the wrong parity, and the tail
            last = int(np.max(np.nonzero(top > 1e-17 * top.max())[0]))
            return np.ascontiguousarray(np.moveaxis(c[..., : last + 1], -1, 0))
        modes *= 2
        if modes > 8192:
            raise ValueError(
                f"kernels: `x` must have lengths at which {f.name} is smooth on the"
                f" scale of its inputs, got {root.max() ** 2:g}. Rescale the inputs."
            )


def _polar(activation: Activation, q: Array) -> Pairs:
    """Polar quadrature with rays at the kinks u = 0 and v = 0."""
    r, weight = _radii()
    # Branches of ELU are entire; others may have a pole just beyond the kink.
    y, w = gaussian.legendre(32 if isinstance(activation, ExponentialUnit) else 64)
    root = np.sqrt(q)
    jumps = not math.isfinite(activation.derivative_second_moment)
    functions = [activation] if jumps else [activation, activation.derivative]

    def chunk(i: Index, j: Index, t: Array) -> list[Array]:
        out = [np.zeros_like(t) for _ in functions]
        cuts = [0.0 * t - 0.5 * np.pi, t - 0.5 * np.pi, 0.0 * t + 0.5 * np.pi]
        cuts += [t + 0.5 * np.pi, 0.0 * t + 1.5 * np.pi]
        for low, high in itertools.pairwise(cuts):
            half = 0.5 * (high - low)
            for node, share in zip(y, w, strict=True):
                p = low + half * (node + 1.0)
                u = (root[i] * np.cos(p))[:, None] * r
                v = (root[j] * np.cos(p - t))[:, None] * r
                for total, f in zip(out, functions, strict=True):
                    total += share * half * ((f(u) * f(v)) @ weight)
        return [total / (2.0 * np.pi) for total in out]

    def pairs(i: Index, j: Index, rho: Array) -> tuple[Array, Array]:
        t = np.arccos(rho)
        parts = [
            chunk(i[at], j[at], t[at])
            for at in np.array_split(np.arange(t.size), 1 + t.size // 1024)
        ]
        value = np.concatenate([p[0] for p in parts])
        if jumps:
            return value, np.zeros_like(value)
        slope = np.concatenate([p[1] for p in parts])
        return value, root[i] * root[j] * slope

    return pairs


def _piecewise_linear(activation: PiecewisePolynomial, q: Array) -> Pairs:
    """Bivariate normal densities at the kinks, integrated twice from rho = 0."""
    root = np.sqrt(q)
    kinks = [c / root for c in activation.kinks]
    mean, linear = np.array(
        [activation.scaled(float(v)).hermite(1) for v in q]
    ).T  # a_0(q), a_1(q)
    jumps = activation.jumps
    gaps = [
        np.abs(a[:, None] - b)
        for a in (*kinks, *(-c for c in kinks))
        for b in (*kinks, *(-c for c in kinks))
    ]
    # Densities turn over an angle of the distance of two kinks: panels reach below it.
    least = min((float(g[g > 0.0].min(initial=1.0)) for g in gaps), default=1.0)
    octaves = min(44, 4 + math.ceil(-math.log2(max(least, 1e-12))))
    big = max((float(np.abs(c).max()) for c in kinks), default=0.0)
    edges = 0.5 * np.pi * (1.0 - 2.0 ** -np.arange(octaves + 1.0))
    fine = 1 + int(0.25 * big)
    cuts = np.concatenate(
        [np.linspace(a, b, fine, endpoint=False) for a, b in itertools.pairwise(edges)]
        + [edges[-1:], [0.5 * np.pi]]
    )
    y, w = gaussian.legendre(14)

    def pairs(i: Index, j: Index, rho: Array) -> tuple[Array, Array]:
        weight = root[i] * root[j]
        end = np.arcsin(np.abs(rho))
        sign = np.where(rho < 0.0, -1.0, 1.0)
        value, slope = np.zeros_like(rho), np.zeros_like(rho)
        for low, high in itertools.pairwise(cuts):
            live = np.nonzero(end > low)[0]
            if not live.size:
                break
            stop = np.minimum(end[live], high)
            half = 0.5 * (stop - low)
            for node, share in zip(y, w, strict=True):
                t = low + half * (node + 1.0)
                s = sign[live] * np.sin(t)
                density = np.zeros_like(t)
                for a, ja in zip(kinks, jumps, strict=True):
                    for b, jb in zip(kinks, jumps, strict=True):
                        p, o = a[i[live]], b[j[live]]
                        exponent = (p - o) ** 2 / (2.0 * np.cos(t) ** 2) + p * o / (
                            1.0 + s
                        )
                        density += ja * jb * np.exp(-exponent)
                density *= share * half / (2.0 * np.pi)
                slope[live] += density
                # |rho| - sin t without cancellation; both factors of one sign.
                e = end[live]
                value[live] += density * (
                    2.0 * np.cos(0.5 * (e + t)) * np.sin(0.5 * (e - t))
                )
        value *= weight
        slope *= weight * sign
        slope += linear[i] * linear[j]
        value += mean[i] * mean[j] + rho * linear[i] * linear[j]
        return value, slope

    return pairs


def _one_by_one(activation: Activation, q: Array) -> Pairs:
    """One quadrature for each pair of distinct lengths."""
    lengths, group = np.unique(q, return_inverse=True)
    scaled = [activation if v == 1.0 else activation.scaled(float(v)) for v in lengths]
    jumps = not math.isfinite(activation.derivative_second_moment)

    def pairs(i: Index, j: Index, rho: Array) -> tuple[Array, Array]:
        value, slope = np.empty_like(rho), np.zeros_like(rho)
        keys = group[i] * len(lengths) + group[j]
        for key in np.unique(keys):
            at = keys == key
            e = pair(scaled[key // len(lengths)], scaled[key % len(lengths)])
            value[at] = e.dual(rho[at])
            if not jumps:
                slope[at] = e.slope(rho[at])
        return value, slope

    return pairs
