"""Singular values and row spaces of long matrices, by their short side."""

import numpy as np
import numpy.typing as npt
import scipy.linalg

Array = npt.NDArray[np.float64]


def row_space(matrix: Array) -> tuple[Array, Array, Array]:
    r"""Return U, s, V of the thin decomposition ``X = U diag(s) V^T``.

    The long side is removed by a QR factorisation first, so that no square matrix of the
    long side is formed and small singular values keep their accuracy, ``eps s_1``:
    Gram matrices would lose half of the digits.

    Examples
    --------
    >>> u, s, v = row_space(np.array([[3.0, 4.0]]))
    >>> float(s[0]), u.shape, v.shape
    (5.0, (1, 1), (2, 1))
    """
    x = matrix
    if x.shape[0] < x.shape[1]:
        v, s, u = row_space(x.T)
        return u, s, v
    if x.shape[0] > 1.5 * x.shape[1]:
        q, r = np.linalg.qr(x)
        u, s, vt = _svd(r)
        return q @ u, s, vt.T
    u, s, vt = _svd(x)
    return u, s, vt.T


def _svd(x: Array) -> tuple[Array, Array, Array]:
    out = scipy.linalg.svd(x, full_matrices=False, check_finite=False)
    return out[0], out[1], out[2]


def singular_values(matrix: Array) -> Array:
    """Return the singular values in falling order, as accurate as `row_space`'s.

    Examples
    --------
    >>> singular_values(np.array([[3.0, 4.0]])).tolist()
    [5.0]
    """
    x = np.asarray(matrix, dtype=np.float64)
    x = x.T if x.shape[0] < x.shape[1] else x
    if x.shape[0] > 1.5 * x.shape[1]:
        x = np.linalg.qr(x, mode="r")
    return np.asarray(scipy.linalg.svdvals(x, check_finite=False))
