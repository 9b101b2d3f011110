"""The measured side of linear algebra: matrices of whole numbers, in exact fractions."""

import flint
import numpy as np
import numpy.typing as npt

from verify.compare import Array

Integers = npt.NDArray[np.int64]


def rational(matrix: Integers) -> flint.fmpq_mat:
    """Return whole numbers as fractions."""
    return flint.fmpq_mat(flint.fmpz_mat(matrix.tolist()))


def floats(matrix: flint.fmpq_mat) -> Array:
    """Round fractions to float64, each once."""
    rows = [[int(v.p) / int(v.q) for v in row] for row in matrix.tolist()]
    return np.array(rows, dtype=np.float64)


def pseudo_inverse(matrix: Integers) -> flint.fmpq_mat:
    """Return the Moore-Penrose inverse, by a full-rank factorisation.

    X = B C with C the nonzero rows of the reduced echelon form and B the columns of X
    at its pivots: X+ = C' (B' X C')^-1 B'.
    """
    x = rational(matrix)
    reduced, rank = x.rref()
    table = reduced.tolist()
    pivots = [next(j for j, v in enumerate(table[i]) if v != 0) for i in range(rank)]
    b = rational(matrix[:, pivots])
    c = flint.fmpq_mat(table[:rank])
    inner = b.transpose() * x * c.transpose()
    return c.transpose() * inner.inv() * b.transpose()


def nearest_solution(x: Integers, y: Integers, start: Integers) -> Array:
    """Return the solution of least squares of X W = Y that is nearest to a start."""
    first = rational(start)
    if not x.any():
        return floats(first)
    return floats(first + pseudo_inverse(x) * (rational(y) - rational(x) * first))
