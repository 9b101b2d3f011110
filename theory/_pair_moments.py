r"""Gaussian averages of products of s and s' at one or two inputs, and their derivatives.

With u Gaussian of covariance K (one or two inputs), the averages of

.. math:: s_a s_b, \qquad s'_a s'_b, \qquad s_c s'_d,

of their products in pairs, and the derivatives of the first two with respect to the
entries of K. Where `theory._pair_derivatives` does not know them, derivatives fall on the
density, never on s, so that kinks do no harm:
with w = K^{-1} u and E_i the change of K in direction i,

.. math::

   \partial_i E f = E[f S_i], \quad
   \partial_i \partial_j E f = E[f (S_i S_j + \partial_j S_i)], \quad
   S_i = \tfrac12 (w^T E_i w - \mathrm{tr}\, K^{-1} E_i).
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import gaussian
from theory._pair_derivatives import Mixed
from theory._pair_derivatives import derivatives as changes
from theory.activations import Activation
from theory.meshes import RULE

Array = npt.NDArray[np.float64]

NODES = 16
BLOCK = 4096
PART = 2**18
"""Nodes made at a time."""
LEFT = 1e-12
"""What is left out of E s^4, at its largest."""
EVEN = 2.0
"""Width of the widest panels, in deviations."""
REACH = 16.0
"""Standard deviations: e^{-128} is left out, times any power that occurs."""


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
    activation: Activation,
    k: Array,
    *,
    tangent: bool,
    derivatives: bool,
    known: Mixed | None = None,
) -> Moments:
    """Return the averages for covariance `k`, (p, p); without s' where not `tangent`.

    Without `derivatives`, or with those `known`, the covariance may be singular; those
    not asked for are zero.
    """
    index, p = pairs(len(k)), len(k)
    m = len(index)
    inverse: Array | None = None
    if derivatives and known is None:
        inverse = np.linalg.inv(k).astype(np.float64)
    # Block by block: what is made of a block stays in the processor's cache.
    shares = [
        _averages(activation, u[:, b], weights[b], inverse, tangent=tangent)
        for u, weights in _nodes(k, activation, tangent=tangent)
        for b in (slice(i, i + BLOCK) for i in range(0, weights.size, BLOCK))
    ]
    table: Array = np.sum(shares, axis=0)
    n, size = len(table), 2 * m + p * p
    # Without s' its averages stay zero.
    means, squares = np.zeros(size), np.zeros((size, size))
    means[:n], squares[:n, :n] = table[:, 0], table[:, 1 : n + 1]
    first, second = np.zeros((2 * m, m)), np.zeros((2 * m, m, m))
    if known is not None:
        first[:m], second[:m] = changes(known, p, slope=False)
        if tangent:
            first[m:], second[m:] = changes(known, p, slope=True)
    elif inverse is not None:
        of = slice(0, min(n, 2 * m))
        first[of], second[of] = _derivatives(inverse, means[of], table[of, n + 1 :])
    mixed_d = np.zeros((p, p, p))
    if tangent:
        # Of s_c s'_a in u_a and u_c: E s_c s''_a is a derivative of E s_c s_a.
        for a, c in itertools.product(range(p), repeat=2):
            d, own = means[m + index.index((min(a, c), max(a, c)))], index.index((a, a))
            bend = first[index.index((min(a, c), max(a, c))), own]
            mixed_d[c, a, a] += bend - d if a == c else 2.0 * bend
            mixed_d[c, a, c] += d
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
        others += [*forms, *(f * g for f, g in upper)]
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
        squares[:, a, b] = squares[:, b, a] = powers[:, i]
    # w^T E_i w, and their products.
    times = basis.sum(axis=(1, 2))
    forms = times * powers[:, :m]
    four = np.empty((len(means), m, m))
    i, j = np.triu_indices(m)
    four[:, i, j] = four[:, j, i] = times[i] * times[j] * powers[:, m:]
    traces = np.einsum("ab,iba->i", inverse, basis)
    both = np.einsum("ab,ibc,cd,jda->ij", inverse, basis, inverse, basis)
    turned = np.einsum("fab,iac,cd,jdb->fij", squares, basis, inverse, basis)
    across = forms[:, :, None] * traces
    constant = 0.25 * np.outer(traces, traces) + 0.5 * both
    first = 0.5 * (forms - means[:, None] * traces)
    second = 0.25 * (four - across - across.transpose(0, 2, 1)) - turned
    return first, second + means[:, None, None] * constant


def _nodes(
    k: Array, activation: Activation, *, tangent: bool
) -> Iterator[tuple[Array, Array]]:
    """Yield u at nodes of a rule, (p, n), and weights, in parts.

    Panels end where those do on which s, and s' with `tangent`, are resolved.
    """
    roots = np.sqrt(np.diagonal(k))
    reach = REACH * float(roots.max())
    _require_tails(activation, reach)
    far = RULE / REACH * reach
    edges = activation._edges(far)
    if tangent:
        edges = np.union1d(edges, activation.derivative._edges(far))
    root = float(roots[0])
    if len(k) == 1:
        x, w = _panels(edges / root)
        yield root * x[None], w * gaussian.pdf(x)
        return
    other = float(roots[1])
    rho = float(np.clip(k[0, 1] / (root * other), -1.0, 1.0))
    sine = math.sqrt((1.0 - rho) * (1.0 + rho))
    # Of nearly independent pairs the inner average varies over far more than the reach.
    across = other * rho if abs(rho) > 2.0**-30 else math.inf
    if sine == 0.0:
        x, w = _panels(np.append(edges / root, edges / across))
        yield np.array([root * x, across * x]), w * gaussian.pdf(x)
        return
    # The inner average is smooth at the scale of the sine, however uneven the second is:
    # panels shrink to it towards its kinks.
    step = 0.25 * sine / max(abs(rho), sine)
    others = step * np.round(edges / (across * step))
    steps = 2.0 ** -np.arange(1.0, math.ceil(-math.log2(0.25 * sine)) + 1.0)
    centres = np.array(activation.kinks) / across
    graded = np.add.outer(centres, np.concatenate([-steps, steps])).ravel()
    x, wx = _panels(np.concatenate([edges / root, others, graded]))
    even, cuts = _even(EVEN), edges / other
    inner = NODES * (even.size + cuts.size)
    # Of functions without kinks fewer nodes, evenly spaced, tell as much. On a panel of
    # width w there is no singularity within 3 w of the line, no frequency above 2 / w: at
    # half of w, and less beside the density, the rule leaves e^-37 of fourth powers.
    each = np.array([max(root, other * abs(rho)), other * sine])
    spacing = 1.0 / (1.5 + 2.0 * each / np.diff(edges).min())
    nodes = (2.0 * REACH / spacing).prod()
    lattice = not activation.kinks and nodes < x.size * inner
    along = _spaced(spacing[1]) if lattice else None
    if along:
        (x, wx), inner = _spaced(spacing[0]), along[0].size
    rows = max(1, PART // inner)
    for i in range(0, x.size, rows):
        at = x[i : i + rows, None]
        cut = np.clip((cuts - rho * at) / sine, -REACH, REACH)
        z, wz = along or _inner(even, cut)
        weights = wz * gaussian.pdf(z) * (wx[i : i + rows, None] * gaussian.pdf(at))
        kept = weights > 1e-57  # e^{-128}, of a panel's width at the least
        first, second = (np.broadcast_to(v, kept.shape)[kept] for v in (at, z))
        yield (
            np.array([root * first, other * (rho * first + sine * second)]),
            weights[kept],
        )


def _even(step: float) -> Array:
    """Return points a step apart, all that are within `REACH`, and zero."""
    count = math.ceil(REACH / step)
    return step * np.arange(-count, count + 1.0)


def _spaced(step: float) -> tuple[Array, Array]:
    """Return evenly spaced nodes and their weights, the trapezoid rule's."""
    x = _even(step)
    return x, np.full(x.size, step)


def _inner(even: Array, cuts: Array) -> tuple[Array, Array]:
    """Return nodes and weights on panels with some ends of each row's own, (m, n)."""
    ends = np.sort(np.hstack([np.tile(even, (len(cuts), 1)), cuts]), axis=1)
    half, mid = 0.5 * np.diff(ends), 0.5 * (ends[:, 1:] + ends[:, :-1])
    y, w = gaussian.legendre(NODES)
    z = mid[:, :, None] + half[:, :, None] * y
    return z.reshape(len(cuts), -1), (half[:, :, None] * w).reshape(len(cuts), -1)


def _require_tails(activation: Activation, reach: float) -> None:
    """Raise where E s^4 comes from beyond `REACH` deviations, or is infinite."""
    z = np.arange(-REACH, REACH + 0.125, 0.25)
    with np.errstate(over="ignore"):
        share = activation._value(reach / REACH * z) ** 4 * gaussian.pdf(z)
    if not np.all(share[[0, -1]] <= LEFT * share.max()) or np.isinf(share.max()):
        raise ValueError(
            f"{activation.name}: `activation` must grow more slowly for moments of finite"
            f" width, but E s^4 comes from beyond {REACH:g} standard deviations at"
            f" variance {(reach / REACH) ** 2:.3g}."
        )


def _panels(ends: Array) -> tuple[Array, Array]:
    """Return Gauss-Legendre nodes and weights on panels that end there."""
    edges = np.union1d(_even(EVEN), ends)
    return gaussian.composite(edges[np.abs(edges) <= REACH], NODES)
