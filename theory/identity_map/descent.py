r"""Gradient descent on a quadratic, step by step in closed form.

Along an eigenvector of curvature g, the distance to the minimum is ``a_t`` times what it
was at the start. With learning rate :math:`\eta` and momentum m,

.. math:: b_{t+1} = m\,b_t + g\,a_t,\qquad a_{t+1} = a_t - \eta\,b_{t+1},\qquad
    a_0 = 1,\; b_0 = 0,

so that ``a_{t+1} = (1 + m - \eta g) a_t - m a_{t-1}``. Source: Zhang, Bengio, Hardt,
Mozer, Singer 2020, proof of Theorem 1 (plain descent) and Lemmas 1 and 2 (least squares);
momentum is ours. Lemma 1 prints N <= d for N <= D, and its Y as N x 1; both lemmas are
one formula here.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory import _twofold as two
from theory._decomposition import row_space
from theory._quadratic import (
    Loss,
    checked_momentum,
    loss_scale,
    rate_limit,
    residual_pair,
    whole_steps,
)
from theory.identity_map import _inputs
from theory.identity_map.patch_matrix import decide_rank

Array = npt.NDArray[np.float64]


def residual_factors(
    steps: Any, *, learning_rate: Any, curvature: Any, momentum: Any = 0.0
) -> Any:
    r"""Return ``a_t``, what is left of the initial error after t steps.

    .. math:: a_t = U_{t+1} - m\,U_t, \qquad U_{t+1} = (1+m-\eta g)\,U_t - m\,U_{t-1},
        \quad U_0 = 0,\; U_1 = 1

    Plain descent is ``(1 - eta g)^t``. The sequence U is doubled as Lucas sequences are,
    with twice the digits of a float: in ``log2(t)`` products of arrays.

    Parameters
    ----------
    steps : int or array of int
        At least 0; broadcasts against the other arguments.
    learning_rate, curvature : float or array
        ``eta > 0`` and ``g >= 0``.
    momentum : float or array
        In [0, 1).

    Returns
    -------
    float or array
        In [-1, 1] for plain descent below `learning_rate_limit`; grows beyond any bound
        (to an infinity at last) above the limit.

    Raises
    ------
    ValueError
        If an argument is outside its range or not finite, or shapes do not broadcast.

    Notes
    -----
    Relative error below 1e-15 for t up to 2,000,000, next to the limit and to the zeros
    of an oscillation included, for the floats `learning_rate`, `curvature` and
    `momentum` as they are given; below 1e-300 the error is absolute.

    Examples
    --------
    >>> residual_factors([0, 1, 2, 3], learning_rate=0.5, curvature=1.0).tolist()
    [1.0, 0.5, 0.25, 0.125]
    >>> residual_factors(2, learning_rate=0.5, curvature=1.0, momentum=0.5)
    0.0
    """
    who = "residual_factors"
    count = whole_steps(who, steps)
    rate = _checks.positive(who, "learning_rate", learning_rate)
    g = _checks.not_negative(who, "curvature", curvature)
    m = checked_momentum(who, momentum)
    _checks.broadcast(who, steps=count, learning_rate=rate, curvature=g, momentum=m)
    high, low = residual_pair(who, count, rate, g, m)
    out = high + low
    return _checks.plain(out)


def learning_rate_limit(curvature: Any, momentum: Any = 0.0) -> Any:
    r"""Return the learning rate from which on descent does not converge.

    .. math:: 0 < \eta < \frac{2(1+m)}{g}

    Parameters
    ----------
    curvature : float or array
        The largest curvature g > 0.
    momentum : float or array
        In [0, 1); broadcasts.

    Returns
    -------
    float or array
        Positive; to 2 ulp.

    Raises
    ------
    ValueError
        If an argument is outside its range, or shapes do not broadcast.

    Examples
    --------
    The half-sum loss of a digit with ``|x|^2 = 784`` needs a rate below 0.0026:

    >>> round(learning_rate_limit(784.0), 6), round(learning_rate_limit(784.0, 0.9), 6)
    (0.002551, 0.004847)
    """
    who = "learning_rate_limit"
    g = _checks.positive(who, "curvature", curvature)
    m = checked_momentum(who, momentum)
    _checks.broadcast(who, curvature=g, momentum=m)
    return _checks.plain(_checks.result(who, rate_limit(g, m), "curvature"))


def least_squares_weights(
    x: Any,
    y: Any,
    w0: Any,
    *,
    steps: Any = None,
    learning_rate: Any = None,
    momentum: Any = 0.0,
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
    steps, learning_rate, momentum, loss
        As in `one_layer_weights`; the mean is over the ``n p`` residuals.
    rank_tolerance : float, optional
        Singular values up to this part of the largest count as zero; see `Rank`.

    Returns
    -------
    array, shape (D, p), after the axes of `steps`, `learning_rate` and `momentum`

    Raises
    ------
    ValueError
        As `one_layer_weights`, and if the rank is too close to call.

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
    data = _inputs.matrix(who, "x", x, None, None)
    _inputs.within(who, "x", data)
    target = _inputs.matrix(who, "y", y, data.shape[0], None)
    hint = "Its rows are the columns of `x`, its columns those of `y`."
    start = _inputs.matrix(who, "w0", w0, data.shape[1], target.shape[1], hint)
    _checks.choice(who, "loss", loss, _inputs.LOSSES)
    scale = loss_scale(who, loss, target.size)
    u, s, v = row_space(data)
    relative = _inputs.tolerance(who, rank_tolerance)
    rank = decide_rank(s, (data.shape[0], data.shape[1]), relative)
    rank.require_decided(who)
    u, s, v = u[:, : rank.rank], s[: rank.rank], v[:, : rank.rank]
    left = _left_after(who, steps, learning_rate, momentum, scale * s**2)
    done = np.ones(rank.rank) if left is None else (1.0 - left[0]) - left[1]
    with np.errstate(over="ignore", invalid="ignore"):
        wrong = u.T @ (target - data @ start)
        out = start + v @ ((done / s)[..., np.newaxis] * wrong)
    return _checks.result(who, out, "y", "w0", "steps", "learning_rate")


def _left_after(
    who: str,
    steps: Any,
    learning_rate: Any,
    momentum: Any,
    curvatures: Any,
    low: Any = 0.0,
) -> two.Pair | None:
    """Return ``a_t`` of each curvature, or None for the limit: nothing is left.

    The curvatures' axes come last; those of the other arguments broadcast before them.
    """
    m = checked_momentum(who, momentum)
    if learning_rate is None:
        if steps is not None:
            raise ValueError(f"{who}: `learning_rate` must be given with `steps`.")
        return None
    rate = _checks.positive(who, "learning_rate", learning_rate)
    if steps is None:
        _checks.broadcast(who, learning_rate=rate, momentum=m)
        _check_convergence(who, rate, m, float(np.max(curvatures, initial=0.0)))
        return None
    count = whole_steps(who, steps)
    _checks.broadcast(who, steps=count, learning_rate=rate, momentum=m)
    axes = (..., *[np.newaxis] * np.ndim(curvatures))
    return residual_pair(who, count[axes], rate[axes], curvatures, m[axes], low=low)


def _check_convergence(who: str, rate: Array, momentum: Array, top: float) -> None:
    """Refuse a limit that descent with this rate does not have."""
    # With a curvature below the normal floats there is no rate that diverges.
    limit = rate_limit(np.asarray(max(top, 1e-307)), momentum)
    bad = rate >= limit
    if bad.any():
        _checks.reject(
            who,
            "learning_rate",
            f"be below {np.broadcast_to(limit, bad.shape)[bad].flat[0]:.6g}",
            bad,
            rate,
            "Descent diverges there and has no limit; `steps` gives its iterates.",
        )


def scheduled_factors(
    learning_rates: Any, *, curvature: float, momentum: float = 0.0
) -> npt.NDArray[np.float64]:
    r"""Return ``a_0 .. a_T``, what is left of the error, for rates that vary.

    .. math:: b_{t+1} = m\,b_t + g\,a_t, \qquad a_{t+1} = a_t - \eta_t\,b_{t+1}, \quad
        a_0 = 1,\; b_0 = 0

    Parameters
    ----------
    learning_rates : array, shape (T,)
        ``eta_t > 0`` of each step.
    curvature : float
        ``g >= 0``.
    momentum : float
        m in [0, 1).

    Returns
    -------
    array, shape (T + 1,)
        With constant rates those of `residual_factors`.

    Raises
    ------
    ValueError
        If an argument is outside its range, or descent leaves float64.

    Notes
    -----
    By the recursion: absolute error a few ``T eps`` times the largest ``|a_t|``.
    Source: Zhang et al. 2020, Theorem 1 and appendix A, whose rates drop three times.

    Examples
    --------
    >>> scheduled_factors([0.5, 0.1, 0.1], curvature=1.0)
    array([1.   , 0.5  , 0.45 , 0.405])
    """
    who = "scheduled_factors"
    rates = _checks.positive(who, "learning_rates", learning_rates)
    if rates.ndim != 1:
        raise _checks.misshapen(who, "learning_rates", "be a list of rates", rates)
    g = _checks.scalar(who, "curvature", curvature)
    m = float(checked_momentum(who, _checks.number(who, "momentum", momentum)))
    out, velocity = np.ones(len(rates) + 1), 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for t, rate in enumerate(rates):
            velocity = m * velocity + g * out[t]
            out[t + 1] = out[t] - rate * velocity
    return _checks.result(who, out, "learning_rates", "curvature")
