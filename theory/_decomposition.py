"""Singular values and row spaces of matrices."""

import numpy as np
import numpy.typing as npt
import scipy.linalg

Array = npt.NDArray[np.float64]


def row_space(matrix: Array) -> tuple[Array, Array, Array]:
    r"""Return U, s, V of the thin decomposition ``X = U diag(s) V^T``.

    Small singular values keep their accuracy, ``eps s_1``: Gram matrices would lose half
    of the digits.

    Examples
    --------
    >>> u, s, v = row_space(np.array([[3.0, 4.0]]))
    >>> float(s[0]), u.shape, v.shape
    (5.0, (1, 1), (2, 1))
    """
    u, s, vt = scipy.linalg.svd(matrix, full_matrices=False, check_finite=False)
    return u, s, vt.T


def singular_values(matrix: Array) -> Array:
    """Return the singular values in falling order, as accurate as `row_space`'s.

    Examples
    --------
    >>> singular_values(np.array([[3.0, 4.0]])).tolist()
    [5.0]
    """
    return np.asarray(scipy.linalg.svdvals(matrix, check_finite=False))
