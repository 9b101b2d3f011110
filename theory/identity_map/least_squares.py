r"""Least squares by gradient descent, from any start and at any rank.

Source: Zhang, Bengio, Hardt, Mozer, Singer 2020, Lemmas 1 and 2 (appendix D). Lemma 1
prints N <= d for N <= D, and its Y as N x 1; both lemmas are one formula here.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._quadratic import (
    Loss,
    check_convergence,
    loss_scale,
    residual_pair,
    whole_steps,
)
from theory.identity_map import _inputs
from theory.identity_map._decomposition import row_space
from theory.identity_map.ranks import decide_rank

Array = npt.NDArray[np.float64]


def least_squares_weights(
    x: Any,
    y: Any,
    w0: Any,
    *,
    steps: Any = None,
    learning_rate: float | None = None,
    momentum: float = 0.0,
    loss: Loss = "half_sum",
    rank_tolerance: float | None = None,
) -> Array:
    r"""Return the weights that gradient descent reaches, or those after `steps` steps.

    .. math:: W^\infty = W^0 + X^+(Y - XW^0), \qquad
        W^t = W^0 + \sum_i \frac{1-a_t(\sigma_i)}{\sigma_i}\,v_i u_i^T (Y - XW^0)

    for ``f(x) = W^T x``. With full row rank it is Lemma 1, ``X^+ = X^T (XX^T)^-1``; with
    full column rank Lemma 2, ``(X^T X)^-1 X^T Y`` whatever W0 is.

    Parameters
    ----------
    x : array, shape (n, D)
        Inputs, one a row.
    y : array, shape (n, p)
        Targets.
    w0 : array, shape (D, p)
        Initial weights.
    steps : int or array of int, optional
        Steps of full-batch descent; the limit if left out.
    learning_rate, momentum, loss
        As in `one_layer_weights`; the mean is over the ``n p`` residuals.
    rank_tolerance : float, optional
        Singular values up to this part of the largest count as zero; see `Rank`.

    Returns
    -------
    array, shape ``np.shape(steps) + (D, p)``

    Raises
    ------
    ValueError
        If shapes do not match, an entry is not finite, the rank is too close to call,
        the rate is missing or, for the limit, too large.

    Notes
    -----
    Normal-wise error of order ``eps kappa``, with kappa the `Rank.condition` of x;
    ``eps kappa^2`` times the residual if y is not reached.

    Examples
    --------
    Inputs that repeat, a deficient case that neither lemma covers:

    >>> x, y = [[1.0, 0.0], [1.0, 0.0]], [[1.0], [3.0]]
    >>> least_squares_weights(x, y, [[0.0], [7.0]]).round(12)
    array([[2.],
           [7.]])
    """
    who = "least_squares_weights"
    data = _checks.real(who, "x", x)
    if data.ndim != 2 or data.size == 0:
        raise ValueError(f"{who}: `x` must have shape (n, D), got {data.shape}.")
    target = _inputs.matrix(who, "y", y, data.shape[0], None)
    start = _inputs.matrix(who, "w0", w0, data.shape[1], target.shape[1])
    scale = loss_scale(who, loss, target.size)
    u, s, v = row_space(data)
    rank = decide_rank(s, (data.shape[0], data.shape[1]), rank_tolerance)
    rank.require_decided(who)
    r = rank.rank
    wrong = u[:, :r].T @ (target - data @ start)
    if steps is None:
        check_convergence(who, max(scale * s[0] ** 2, 5e-324), learning_rate, momentum)
        return start + v[:, :r] @ (wrong / s[:r, np.newaxis])
    count = whole_steps(who, steps)[..., np.newaxis]
    high, low = residual_pair(who, count, learning_rate, scale * s[:r] ** 2, momentum)
    done = ((1.0 - high) - low) / s[:r]
    return start + v[:, :r] @ (done[..., np.newaxis] * wrong)
