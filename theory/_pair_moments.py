r"""Gaussian averages of products of s and s' at one or two inputs, and their derivatives.

With u Gaussian of covariance K (one or two inputs), the averages of

.. math:: s_a s_b, \qquad s'_a s'_b, \qquad s_c s'_d,

of their products in pairs, and the derivatives of the first two with respect to the
entries of K. Derivatives fall on the density, never on s, so that kinks do no harm:
with w = K^{-1} u and E_i the change of K in direction i,

.. math::

   \partial_i E f = E[f S_i], \quad
   \partial_i \partial_j E f = E[f (S_i S_j + \partial_j S_i)], \quad
   S_i = \tfrac12 (w^T E_i w - \mathrm{tr}\, K^{-1} E_i).
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import gaussian
from theory.activations import Activation

Array = npt.NDArray[np.float64]

NODES = 16
BLOCK = 4096
REACH = 12.0
"""Standard deviations: e^{-72} is left out, times any power that occurs."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Averages over one layer; m pairs of inputs aa, (ab, bb), p inputs.

    Attributes
    ----------
    value, slope : array, (m,)
        E s_a s_b and E s'_a s'_b.
    second : array, (2 m, 2 m)
        Covariances of the products s s, then s' s'.
    value_d, slope_d : array, (m, m)
        Derivatives of `value` and `slope` in the entries of K.
    value_dd, slope_dd : array, (m, m, m)
    mixed : array, (p, p, p, p)
        E[s_c s'_a s_d s'_b] at [c, a, d, b].
    mixed_d : array, (p, p, p)
        E of the derivative of s_c s'_a in u_e, at [c, a, e].
    """

    value: Array
    slope: Array
    second: Array
    value_d: Array
    slope_d: Array
    value_dd: Array
    slope_dd: Array
    mixed: Array
    mixed_d: Array


def pairs(inputs: int) -> tuple[tuple[int, int], ...]:
    """Return the pairs of inputs whose entries make up K: aa, or aa, ab, bb."""
    return tuple(itertools.combinations_with_replacement(range(inputs), 2))


def moments(
    activation: Activation, k: Array, *, tangent: bool, derivatives: bool
) -> Moments:
    """Return the averages for covariance `k`, (p, p); without s' where not `tangent`.

    Without `derivatives` the covariance may be singular; those are zero then.
    """
    u, weights = _nodes(k, activation.kinks)
    index, p = pairs(len(k)), len(k)
    m = len(index)
    inverse: Array | None = None
    if derivatives:
        inverse = np.linalg.inv(k).astype(np.float64)
    # Block by block: what is made of a block stays in the processor's cache.
    shares = [
        _averages(activation, u[:, b], weights[b], inverse, tangent=tangent)
        for b in (slice(i, i + BLOCK) for i in range(0, weights.size, BLOCK))
    ]
    table: Array = np.sum(shares, axis=0)
    n, size = len(table), 2 * m + p * p
    # Without s' its averages stay zero.
    means, squares = np.zeros(size), np.zeros((size, size))
    means[:n], squares[:n, :n] = table[:, 0], table[:, 1 : n + 1]
    first, second = np.zeros((2 * m, m)), np.zeros((2 * m, m, m))
    mixed_d = np.zeros((p, p, p))
    if inverse is not None:
        powers = table[:, n + 1 :]
        of = slice(0, min(n, 2 * m))
        first[of], second[of] = _derivatives(inverse, means[of], powers[of])
        if tangent:
            mixed_d = powers[2 * m :, :p].reshape(p, p, p)
    centred = squares - np.outer(means, means)
    return Moments(
        value=means[:m],
        slope=means[m : 2 * m],
        second=centred[: 2 * m, : 2 * m],
        value_d=first[:m],
        slope_d=first[m:],
        value_dd=second[:m],
        slope_dd=second[m:],
        mixed=squares[2 * m :, 2 * m :].reshape(p, p, p, p),
        mixed_d=mixed_d,
    )


def _averages(
    activation: Activation,
    u: Array,
    weights: Array,
    inverse: Array | None,
    *,
    tangent: bool,
) -> Array:
    """Return the share of some nodes in E f g, of products f by 1, products, powers of w.

    Products are s s, then s' s' and s s'; powers w, w w and their products in pairs.
    """
    index, p = pairs(len(u)), len(u)
    s = [activation(row) for row in u]
    products = [s[a] * s[b] for a, b in index]
    if tangent:
        t = [activation.derivative(row) for row in u]
        products += [t[a] * t[b] for a, b in index]
        products += [s[c] * t[a] for c in range(p) for a in range(p)]
    others = [np.ones_like(weights), *products]
    if inverse is not None:
        w = inverse @ u
        forms = [w[a] * w[b] for a, b in index]
        upper = itertools.combinations_with_replacement(forms, 2)
        others += [*w, *forms, *(f * g for f, g in upper)]
    return (np.array(products) * weights) @ np.array(others).T


def _derivatives(inverse: Array, means: Array, powers: Array) -> tuple[Array, Array]:
    """Return E[f S_i] and E[f (S_i S_j + d_j S_i)], from averages of f by powers of w."""
    p = len(inverse)
    index = pairs(p)
    m = len(index)
    basis = np.zeros((m, p, p))
    squares = np.empty((len(means), p, p))  # E[f w w^T]
    for i, (a, b) in enumerate(index):
        basis[i, a, b] = basis[i, b, a] = 1.0
        squares[:, a, b] = squares[:, b, a] = powers[:, p + i]
    # w^T E_i w, and their products.
    times = basis.sum(axis=(1, 2))
    forms = times * powers[:, p : p + m]
    four = np.empty((len(means), m, m))
    i, j = np.triu_indices(m)
    four[:, i, j] = four[:, j, i] = times[i] * times[j] * powers[:, p + m :]
    traces = np.einsum("ab,iba->i", inverse, basis)
    both = np.einsum("ab,ibc,cd,jda->ij", inverse, basis, inverse, basis)
    turned = np.einsum("fab,iac,cd,jdb->fij", squares, basis, inverse, basis)
    across = forms[:, :, None] * traces
    constant = 0.25 * np.outer(traces, traces) + 0.5 * both
    first = 0.5 * (forms - means[:, None] * traces)
    second = 0.25 * (four - across - across.transpose(0, 2, 1)) - turned
    return first, second + means[:, None, None] * constant


def _nodes(k: Array, kinks: tuple[float, ...]) -> tuple[Array, Array]:
    """Return u at the nodes of a rule, (p, n), and weights: panels end at every kink."""
    root = math.sqrt(k[0, 0])
    at = [c / root for c in kinks]
    if len(k) == 1:
        x, w = _panels(at, at, 2.0**-6)
        return root * x[None], w * gaussian.pdf(x)
    other = math.sqrt(k[1, 1])
    rho = float(np.clip(k[0, 1] / (root * other), -1.0, 1.0))
    sine = math.sqrt((1.0 - rho) * (1.0 + rho))
    beyond = [c / (other * rho) for c in kinks] if rho else []
    if sine == 0.0:
        x, w = _panels(at + beyond, at + beyond, 2.0**-6)
        return np.array([root * x, other * rho * x]), w * gaussian.pdf(x)
    # The inner average is smooth at the scale of the sine around a kink of the second.
    x, wx = _panels(at, at + beyond, sine)
    inner = np.array([(c / other - rho * x) / sine for c in kinks])
    walls = np.full((2, x.size), REACH) * np.array([[-1.0], [1.0]])
    edges = np.sort(
        np.vstack([walls, np.clip(inner.reshape(-1, x.size), -REACH, REACH)]), 0
    )
    y, wy = gaussian.legendre(NODES)
    parts = 24 if not kinks else 16
    unit = (np.arange(parts)[:, None] + 0.5 * (y + 1.0)).ravel() / parts
    widths = np.diff(edges, axis=0)
    z = edges[:-1, :, None] + widths[:, :, None] * unit
    wz = widths[:, :, None] * (np.tile(wy, parts) * 0.5 / parts) * gaussian.pdf(z)
    weights = (wz * (wx * gaussian.pdf(x))[:, None]).ravel()
    across = np.broadcast_to(x[:, None], z.shape)
    kept = weights > 1e-33  # e^{-72}, of a panel's width at the least
    v = other * (rho * across + sine * z)
    return np.array([root * across.ravel()[kept], v.ravel()[kept]]), weights[kept]


def _panels(
    ends: list[float], centres: list[float], scale: float
) -> tuple[Array, Array]:
    """Return Gauss-Legendre nodes and weights on panels that shrink towards centres."""
    levels = min(max(math.ceil(-math.log2(scale)), 1), 24)
    cuts = {float(v) for v in np.arange(-REACH, REACH + 0.5)} | set(ends)
    for c in centres:
        cuts |= {c + sign * 2.0**-j for j in range(1, levels + 1) for sign in (-1, 1)}
    edges = np.array(sorted(v for v in cuts if abs(v) <= REACH))
    x, w = gaussian.legendre(NODES)
    half, mid = 0.5 * np.diff(edges), 0.5 * (edges[1:] + edges[:-1])
    return (mid[:, None] + half[:, None] * x).ravel(), (half[:, None] * w).ravel()
