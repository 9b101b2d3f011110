r"""Where directions come to rest, how far they are from it, and what cannot rest.

Source: Poggio and Liao 2021, eq. (6), Lemma 1 and the remarks after eq. (9).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._arrays import unscaled
from theory.square_loss import _inputs, _passes

Array = npt.NDArray[np.float64]
Weights = tuple[Array, ...]

BLOCK = 2**22
"""Entries of the gradients of single examples that are held at a time."""


def critical_residual(
    rho: Any, directions: Sequence[Any], x: Any, labels: Any
) -> Array:
    r"""Return how far every layer is from a critical point.

    .. math:: r_k = \Big\| \sum_n e_n
        \Big(\frac{\partial f_n}{\partial V_k} - V_k f_n\Big) \Big\|_F,
        \qquad e_n = \rho f_n - y_n

    Half of the direction's speed over rho.

    Parameters
    ----------
    rho : float
        Positive.
    directions : sequence of array, shapes (n_k, n_{k-1})
        Of Frobenius norm 1.
    x : array, shape (N, d)
    labels : array, shape (N,)
        -1 and +1.

    Returns
    -------
    array, shape (L,)

    Raises
    ------
    ValueError
        If shapes do not follow on each other, a direction is not of norm 1, an entry is
        not finite, or a label is not -1 or +1.

    Notes
    -----
    Error at most ``sum_k n_k N eps`` times ``|e|``: below it, the residual is rounding.
    Source: Poggio and Liao 2021, eq. (6).

    Examples
    --------
    >>> critical_residual(1.0, [[[0.6, 0.8]]], [[0.6, 0.8]], [1]).round(12)
    array([0.])
    >>> critical_residual(0.5, [[[0.6, 0.8]]], [[1.0, 0.0]], [1])
    array([0.56])
    """
    size, v, x, y = _given("critical_residual", rho, directions, x, labels)
    with np.errstate(over="ignore", invalid="ignore"):
        hidden, f = _passes.forward(v, x)
        out = _passes.frobenius(_tangent(v, hidden, f, size * f - y))
    return _checks.result("critical_residual", out, "rho", "x")


def per_sample_residual(directions: Sequence[Any], x: Any) -> Array:
    r"""Return how far each example alone is from what Lemma 1.4 says of it.

    .. math:: D_{k,j} = \frac{1}{|f_j|}
        \Big\| \frac{\partial f_j}{\partial V_k} - V_k f_j \Big\|_F
        = \sqrt{\frac{\|\partial f_j / \partial V_k\|_F^2}{f_j^2} - 1}

    A critical point makes only the sum weighted by e vanish. In the last layer two
    examples with outputs of opposite signs cannot both have D = 0: hidden units are not
    negative.

    Parameters
    ----------
    directions : sequence of array, shapes (n_k, n_{k-1})
        Of Frobenius norm 1.
    x : array, shape (N, d)

    Returns
    -------
    array, shape (L, N)
        Infinite where ``f_j = 0``.

    Raises
    ------
    ValueError
        If shapes do not follow on each other, a direction is not of norm 1, or an entry
        is not finite.

    Notes
    -----
    From the difference, not from the root of one, which loses half of the digits near 0:
    absolute error a few eps times ``|df_j/dV_k| / |f_j|``, and again times that where
    ``f_j`` is a small rest of what cancels in it.

    Examples
    --------
    >>> per_sample_residual([[[0.6, 0.8]]], [[0.6, 0.8], [1.0, 0.0]]).round(12)
    array([[0.        , 1.33333333]])
    """
    who = "per_sample_residual"
    v, x = _unit_network(who, directions, x)
    # The length of an example drops out.
    x = unscaled(x, 1)[0]
    with np.errstate(over="ignore", invalid="ignore"):
        hidden, f = _passes.forward(v, x)
        back = _passes.backward(v, hidden, np.ones_like(f))
        rows = [_row_norms(w, a, h, f) for w, a, h in zip(v, back, hidden, strict=True)]
        safe = np.where(f == 0.0, 1.0, np.abs(f))
        out = _checks.result(who, np.stack(rows) / safe, "x")
    return np.where(f == 0.0, np.inf, out)


def projected_kernel(directions: Sequence[Any], x: Any) -> Array:
    r"""Return the tangent kernel of directions that stay on their spheres.

    .. math:: K_{nm} = \sum_k \Big\langle (I - V_k V_k^T)
        \frac{\partial f_n}{\partial V_k}, \frac{\partial f_m}{\partial V_k}\Big\rangle

    Along the flow ``f' = 2 rho K (y - rho f)``.

    Parameters
    ----------
    directions : sequence of array, shapes (n_k, n_{k-1})
        Of Frobenius norm 1.
    x : array, shape (N, d)

    Returns
    -------
    array, shape (N, N)
        Symmetric, positive semidefinite.

    Raises
    ------
    ValueError
        If shapes do not follow on each other, a direction is not of norm 1, or an entry
        is not finite.

    Notes
    -----
    A Gram matrix of projected gradients, so that small eigenvalues are not differences
    of large ones. Memory N times that of the largest layer.

    Examples
    --------
    >>> projected_kernel([[[0.6, 0.8]]], [[0.6, 0.8], [1.0, 0.0]]).round(12)
    array([[0.  , 0.  ],
           [0.  , 0.64]])
    """
    v, x = _unit_network("projected_kernel", directions, x)
    out = np.zeros((len(x), len(x)))
    with np.errstate(over="ignore", invalid="ignore"):
        hidden, f = _passes.forward(v, x)
        back = _passes.backward(v, hidden, np.ones_like(f))
        for w, a, h in zip(v, back, hidden, strict=True):
            rows = (a[:, :, np.newaxis] * h[:, np.newaxis, :]).reshape(len(x), -1)
            rows -= np.multiply.outer(f, w.ravel())
            out += rows @ rows.T
    return _checks.result("projected_kernel", out, "x")


def overshoot_curvature(
    rho: Any, directions: Sequence[Any], x: Any, labels: Any
) -> float:
    r"""Return the second derivative of the norm where it crosses its equilibrium.

    .. math:: \ddot\rho = 4\rho\,\big[2 u^T K u - y^T K u\big], \qquad u = y - \rho f

    with K of `projected_kernel`. Negative, the norm has a peak there, and overshoots:
    whenever ``u^T K u < y^T K u / 2``, as is usual near interpolation. The weight decay
    enters only through where the crossing is.

    Parameters
    ----------
    rho : float
        At the crossing; elsewhere ``-2 A rho'`` is to be added.
    directions, x, labels
        As for `critical_residual`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        As `critical_residual`.

    Notes
    -----
    By two products with gradients, without K. Source: ours; it refutes one sense of
    Observation 1 of Poggio and Liao 2021, that the norm increases monotonically.

    Examples
    --------
    >>> overshoot_curvature(0.5, [[[0.6, 0.8]]], [[1.0, 0.0]], [1]).__round__(12)
    0.3584
    """
    size, v, x, y = _given("overshoot_curvature", rho, directions, x, labels)
    with np.errstate(over="ignore", invalid="ignore"):
        hidden, f = _passes.forward(v, x)
        u = y - size * f
        turn = _tangent(v, hidden, f, u)
        twice = _tangent(v, hidden, f, 2.0 * u - y)
        parts = [float(np.sum(a * b)) for a, b in zip(turn, twice, strict=True)]
    return float(
        _checks.result("overshoot_curvature", 4.0 * size * sum(parts), "rho", "x")
    )


def alignment_gap(direction: Any) -> float:
    r"""Return the least relative residual that this direction of a layer can have.

    .. math:: \frac{\|\partial f / \partial V - V f\|_F}{\|\partial f / \partial V\|_F}
        \ge \sqrt{1 - \|V\|_2^2} = \sqrt{\sigma_2^2 + \sigma_3^2 + \dots}

    whatever the other layers and the input: the gradient of one output has rank one.
    Only a rank-one direction has a gap of 0; an orthogonal matrix over its norm, which
    Poggio and Liao 2021 name as a solution, has ``sqrt(1 - 1/n)``.

    Parameters
    ----------
    direction : array, shape (r, c)
        Of Frobenius norm 1.

    Returns
    -------
    float
        In [0, 1).

    Raises
    ------
    ValueError
        If it is not a finite matrix of Frobenius norm 1.

    Notes
    -----
    From the smaller singular values, without cancellation: absolute error a few eps.

    Examples
    --------
    >>> alignment_gap([[0.36, 0.48], [0.48, 0.64]]) < 1e-15
    True
    >>> round(alignment_gap(np.eye(4) / 2.0) ** 2, 12)
    0.75
    """
    who = "alignment_gap"
    v = _checks.real(who, "direction", direction)
    if v.ndim != 2 or v.size == 0:
        raise _checks.misshapen(who, "direction", "be a matrix", v)
    with np.errstate(over="ignore"):
        norm = np.linalg.norm(v)
    need = "have Frobenius norm 1"
    _checks.reject(who, "direction", need, np.abs(norm - 1.0) > 1e-6, norm, "")
    return float(np.linalg.norm(np.linalg.svd(v / norm, compute_uv=False)[1:]))


def _unit_network(who: str, directions: Sequence[Any], x: Any) -> tuple[Weights, Array]:
    v, rows = _inputs.single_network(who, "directions", directions, x)
    _inputs.unit(who, v)
    return _passes.project(v), rows


def _given(
    who: str, rho: Any, directions: Sequence[Any], x: Any, labels: Any
) -> tuple[float, Weights, Array, Array]:
    size = _checks.scalar(who, "rho", rho, positive=True)
    v, rows = _unit_network(who, directions, x)
    return size, v, rows, _inputs.single_labels(who, labels, len(rows))


def _tangent(v: Weights, hidden: list[Array], f: Array, c: Array) -> Weights:
    """Return ``sum_n c_n (df_n/dV_k - V_k f_n)``."""
    summed = _passes.pull_back(v, hidden, c)
    mean = float(c @ f)
    return tuple(g - w * mean for w, g in zip(v, summed, strict=True))


def _row_norms(w: Array, a: Array, h: Array, f: Array) -> Array:
    """Return ``|a_n h_n^T - f_n W|`` for every example, some at a time."""
    step = max(1, BLOCK // w.size)
    out = np.empty(len(f))
    for low in range(0, len(f), step):
        part = slice(low, low + step)
        gap = a[part, :, np.newaxis] * h[part, np.newaxis, :]
        gap -= f[part, np.newaxis, np.newaxis] * w
        out[part] = np.linalg.norm(gap, axis=(1, 2))
    return out
