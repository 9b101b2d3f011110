"""Inputs of unit norm: images as vectors, and synthetic sets with given geometry."""

import math

import numpy as np
import numpy.typing as npt

from empirical.checks import check_counts
from empirical.testbed.writing import Array

_ROWS = 1024


def unit_rows(images: npt.ArrayLike, *, centre: npt.ArrayLike | None = None) -> Array:
    """Return examples as rows of unit norm, shape (n, d), float64.

    Parameters
    ----------
    images : array, shape (n, ...)
        Flattened to (n, d).
    centre : array, shape (d,), optional
        Subtract this row first, e.g. the training set's mean.

    Raises
    ------
    ValueError
        If an entry is not finite, a row is zero and has no direction, or `centre` is no
        row of finite numbers.

    Examples
    --------
    >>> unit_rows(np.array([[[3, 4]], [[0, 2]]], dtype=np.uint8))
    array([[0.6, 0.8],
           [0. , 1. ]])
    """
    x = np.asarray(images, dtype=np.float64)
    if x.ndim < 2 or not len(x):
        raise ValueError(
            f"unit_rows: `images` must have shape (n, ...), but it has {x.shape}"
        )
    x = x.reshape(len(x), -1)
    if not np.isfinite(x).all():
        raise ValueError("unit_rows: `images` must be finite, but some entries are not")
    if centre is not None:
        row = np.asarray(centre, dtype=np.float64).reshape(-1)
        if row.shape != x.shape[1:] or not np.isfinite(row).all():
            raise ValueError(
                f"unit_rows: `centre` must be {x.shape[1]} finite numbers, but it has "
                f"shape {row.shape}, or an entry is not finite"
            )
        x = x - row
    # By powers of two, which round nothing: squares neither overflow nor vanish.
    exponents = np.frexp(np.abs(x).max(axis=1, initial=0.0))[1]
    x = np.ldexp(x, -exponents[:, None])
    norms = np.linalg.norm(x, axis=1)
    if not norms.all():
        bad = np.flatnonzero(norms == 0.0)
        raise ValueError(
            f"unit_rows: `images` must have no zero row, but {len(bad)} of {len(x)} "
            f"are zero, e.g. row {bad[0]}. Remove them."
        )
    return x / norms[:, None]


def sphere_inputs(n: int, dim: int, *, generator: np.random.Generator) -> Array:
    """Return n >= 1 independent points, uniform on the unit sphere of R^dim.

    Examples
    --------
    >>> x = sphere_inputs(5, 3, generator=np.random.default_rng(7))
    >>> bool(np.allclose((x**2).sum(axis=1), 1.0, rtol=1e-15))
    True
    """
    check_counts("sphere_inputs", n=n, dim=dim)
    return unit_rows(generator.standard_normal((n, dim)))


def pair_inputs(
    rho: float, dim: int = 2, *, generator: np.random.Generator | None = None
) -> Array:
    """Return two unit vectors, shape (2, dim), whose inner product is `rho`.

    Exact up to one rounding of each coordinate; in a random plane when a generator is
    given, otherwise in the plane of the first two coordinates.

    Raises
    ------
    ValueError
        If `rho` is outside [-1, 1] or `dim` is less than two.

    Examples
    --------
    >>> x, y = pair_inputs(0.6)
    >>> x.tolist(), y.tolist()
    ([1.0, 0.0], [0.6, 0.8])
    """
    if not -1.0 <= rho <= 1.0:
        raise ValueError(f"pair_inputs: `rho` must lie in [-1, 1], but it is {rho}")
    check_counts("pair_inputs", 2, dim=dim)
    frame = np.eye(2, dim)
    if generator is not None:
        frame = np.linalg.qr(generator.standard_normal((dim, 2)))[0].T
    # (1 - rho)(1 + rho): accurate at both ends.
    sine = math.sqrt((1.0 - rho) * (1.0 + rho))
    return np.array([[1.0, 0.0], [rho, sine]]) @ frame


def largest_correlation(x: npt.ArrayLike) -> float:
    r"""Return the largest :math:`|x_i \cdot x_j|` over distinct rows of unit norm.

    ``1 - largest_correlation(x)`` is the delta of Assumption A. Of a single row it is 0.

    Raises
    ------
    ValueError
        If there is no row, or an entry is not finite.
    """
    rows = np.asarray(x, dtype=np.float64)
    if rows.ndim != 2 or not len(rows) or not np.isfinite(rows).all():
        raise ValueError(
            "largest_correlation: `x` must be finite and of shape (n, d), but its shape "
            f"is {rows.shape}, or an entry is not finite"
        )
    largest = 0.0
    # Some rows at a time: all pairs of 60,000 are 29 GB.
    for start in range(0, len(rows), _ROWS):
        block = rows[start : start + _ROWS]
        gram = np.abs(block @ rows[: start + len(block)].T)
        np.fill_diagonal(gram[:, start:], 0.0)
        largest = max(largest, float(gram.max()))
    return largest


def assumption_a_inputs(
    n: int, dim: int, delta: float, *, generator: np.random.Generator
) -> Array:
    r"""Return unit inputs with :math:`\max_{i \ne j} |x_i \cdot x_j| = 1 - \delta`.

    Uniform points of a sphere in dim - 1 dimensions share a component along the last
    coordinate, of just the size that makes the most correlated pair reach 1 - delta.
    Shape (n, dim).

    Parameters
    ----------
    n, dim : int
        At least two, and three; a large `delta` needs a large `dim`.
    delta : float
        In (0, 1).
    generator : numpy.random.Generator

    Raises
    ------
    ValueError
        If `delta` is outside (0, 1), or random points are already closer than that.

    References
    ----------
    Agarwal, Awasthi, Kale 2020, Assumption A.

    Examples
    --------
    >>> x = assumption_a_inputs(6, 50, 0.01, generator=np.random.default_rng(7))
    >>> round(1.0 - largest_correlation(x), 12)
    0.01
    """
    _check_delta("assumption_a_inputs", delta)
    check_counts("assumption_a_inputs", 2, n=n)
    check_counts("assumption_a_inputs", 3, dim=dim)
    base = sphere_inputs(n, dim - 1, generator=generator)
    pairs = (base @ base.T)[np.triu_indices(n, 1)]
    if max(pairs.max(), -pairs.min()) > 1.0 - delta:
        raise ValueError(
            f"assumption_a_inputs: `delta` must leave room, but {n} random points in "
            f"{dim - 1} dimensions already correlate by {np.abs(pairs).max():.3g}. "
            "Raise `dim` or lower `delta`."
        )
    # Correlations become t + (1 - t) c, so the largest meets 1 - delta at this t.
    top = pairs.max()
    t = (1.0 - delta - top) / (1.0 - top)
    shared = np.full((n, 1), math.sqrt(t))
    return np.hstack([math.sqrt(1.0 - t) * base, shared])


def assumption_b_inputs(
    n: int, delta: float, *, generator: np.random.Generator
) -> Array:
    r"""Return unit inputs whose Gram matrix has smallest eigenvalue `delta`.

    A singular part, n points of a sphere in n - 1 dimensions, plus an orthogonal part:
    :math:`G = (1 - \delta) U U^T + \delta I`. Shape (n, 2 n - 1).

    Parameters
    ----------
    n : int
        At least two.
    delta : float
        In (0, 1).
    generator : numpy.random.Generator

    References
    ----------
    Agarwal, Awasthi, Kale 2020, Assumption B.

    Examples
    --------
    >>> x = assumption_b_inputs(6, 0.01, generator=np.random.default_rng(7))
    >>> round(float(np.linalg.eigvalsh(x @ x.T)[0]), 12)
    0.01
    """
    _check_delta("assumption_b_inputs", delta)
    check_counts("assumption_b_inputs", 2, n=n)
    base = sphere_inputs(n, n - 1, generator=generator)
    return np.hstack([math.sqrt(1.0 - delta) * base, math.sqrt(delta) * np.eye(n)])


def planar_cluster(n: int, delta: float) -> Array:
    """Return n >= 1 unit vectors on an arc, neighbours with inner product 1 - delta.

    The hardest data for one layer of ReLU features: shape (n, 2).

    References
    ----------
    Agarwal, Awasthi, Kale 2020, Appendix H (there any points under Assumption A).

    Examples
    --------
    >>> x = planar_cluster(3, 0.5)
    >>> (x @ x.T).round(12).tolist()
    [[1.0, 0.5, -0.5], [0.5, 1.0, 0.5], [-0.5, 0.5, 1.0]]
    """
    _check_delta("planar_cluster", delta)
    check_counts("planar_cluster", n=n)
    # 2 asin(sqrt(delta/2)) = arccos(1 - delta) without cancellation.
    angles = 2.0 * math.asin(math.sqrt(delta / 2.0)) * np.arange(n)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _check_delta(who: str, delta: float) -> None:
    if not 0.0 < delta < 1.0:
        raise ValueError(f"{who}: `delta` must lie in (0, 1), but it is {delta}")
