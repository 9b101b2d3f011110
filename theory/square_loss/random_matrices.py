r"""How orthogonal a random matrix is: moments and spectrum of its Gram matrix.

For W with r rows, c columns and independent entries N(0, 1/r), ``W^T W`` is a Wishart
matrix over r. Source: remark on random initial weights in Poggio and Liao 2021, who call
such W approximately orthogonal; the moments are ours.
"""

import math
from typing import Any

from theory import _checks


def gram_deviation_mean(rows: int, columns: int) -> float:
    r"""Return the mean squared distance of the Gram matrix from the identity.

    .. math:: E\,\|W^T W - I\|_F^2 = \frac{c(c+1)}{r}

    Parameters
    ----------
    rows, columns : int
        r and c, at least 1.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If a count is not a positive whole number.

    Notes
    -----
    Correctly rounded. Off-diagonal entries have variance 1/r, diagonal ones 2/r: small
    each, yet a square matrix is ``sqrt(c + 1)`` away from orthogonal.

    Examples
    --------
    >>> gram_deviation_mean(100, 100)
    101.0
    """
    r, c = _sizes("gram_deviation_mean", rows, columns)
    return c * (c + 1) / r


def gram_deviation_variance(rows: int, columns: int) -> float:
    r"""Return the variance of the squared distance from the identity.

    .. math:: \mathrm{Var}\,\|W^T W - I\|_F^2
        = \frac{4c\,\big[(c+1)\,r + 2c^2 + 5c + 5\big]}{r^3}

    Parameters
    ----------
    rows, columns : int
        r and c, at least 1.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If a count is not a positive whole number.

    Notes
    -----
    Correctly rounded. With A = r W^T W it is ``Var tr A^2 / r^4 + 4 Var tr A / r^2 - 4
    Cov(tr A^2, tr A) / r^3``, where ``Var tr A^2 = 4rc (2r^2 + 5rc + 2c^2 + 5r + 5c + 5)``
    and, as ``tr A`` is a chi square independent of ``A / tr A``, the covariance is ``4 E
    tr A^2 = 4rc (r + c + 1)``.

    Examples
    --------
    One entry: the variance of ``(Z^2 - 1)^2``, which is 60 - 4.

    >>> gram_deviation_variance(1, 1)
    56.0
    """
    r, c = _sizes("gram_deviation_variance", rows, columns)
    return 4 * c * ((c + 1) * r + 2 * c * c + 5 * c + 5) / r**3


def gram_offdiagonal_rms(rows: int) -> float:
    r"""Return the root mean square of the Gram matrix's off-diagonal entries.

    .. math:: \sqrt{E\,(W^T W)_{ij}^2} = 1/\sqrt{r}, \qquad i \ne j

    whatever the number of columns: entry by entry W is nearly orthogonal.

    Parameters
    ----------
    rows : int
        r, at least 1.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the count is not a positive whole number.

    Examples
    --------
    >>> gram_offdiagonal_rms(100)
    0.1
    """
    return 1.0 / math.sqrt(_checks.integer("gram_offdiagonal_rms", "rows", rows, 1))


def gram_spectrum_edges(rows: int, columns: int) -> tuple[float, float]:
    r"""Return the limits between which the spectrum of the Gram matrix lies.

    .. math:: \big(1 - \sqrt{c/r}\big)^2,\quad \big(1 + \sqrt{c/r}\big)^2

    The law of Marchenko and Pastur, as both sizes grow. With more columns than rows the
    other ``c - r`` eigenvalues are 0.

    Parameters
    ----------
    rows, columns : int
        r and c, at least 1.

    Returns
    -------
    lower, upper : float

    Raises
    ------
    ValueError
        If a count is not a positive whole number.

    Notes
    -----
    Relative error at most 6 eps, the lower edge of nearly square matrices included.
    Finite matrices leave the interval by about ``r^(-2/3)``.

    Examples
    --------
    A square matrix is not near orthogonal: singular values fill (0, 2).

    >>> gram_spectrum_edges(500, 500)
    (0.0, 4.0)
    >>> gram_spectrum_edges(400, 100)
    (0.25, 2.25)
    """
    r, c = _sizes("gram_spectrum_edges", rows, columns)
    # 1 - sqrt(c/r) by the exact difference of the sizes.
    root = math.sqrt(r) * (math.sqrt(r) + math.sqrt(c))
    return ((r - c) / root) ** 2, (1.0 + math.sqrt(c / r)) ** 2


def _sizes(who: str, rows: Any, columns: Any) -> tuple[int, int]:
    return (
        _checks.integer(who, "rows", rows, 1),
        _checks.integer(who, "columns", columns, 1),
    )
