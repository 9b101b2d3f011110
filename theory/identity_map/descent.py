r"""Gradient descent on a quadratic, step by step in closed form.

Along an eigenvector of curvature g, the distance to the minimum is ``a_t`` times what it
was at the start. With learning rate :math:`\eta` and momentum m,

.. math:: b_{t+1} = m\,b_t + g\,a_t,\qquad a_{t+1} = a_t - \eta\,b_{t+1},\qquad
    a_0 = 1,\; b_0 = 0,

so that ``a_{t+1} = (1 + m - \eta g) a_t - m a_{t-1}``. Source: Zhang, Bengio, Hardt,
Mozer, Singer 2020, proof of Theorem 1 (plain descent); momentum is ours.
"""

from typing import Any

import numpy as np

from theory import _checks
from theory._quadratic import checked_momentum, rate_limit, residual_pair


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
        If an argument is outside its range or not finite.

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
    high, low = residual_pair(
        "residual_factors", steps, learning_rate, curvature, momentum
    )
    out = np.asarray(high + low)
    scalar = not any(map(np.ndim, (steps, learning_rate, curvature, momentum)))
    return float(out) if scalar else out


def learning_rate_limit(curvature: Any, momentum: Any = 0.0) -> Any:
    r"""Return the learning rate from which on descent does not converge.

    .. math:: 0 < \eta < \frac{2(1+m)}{g}

    Parameters
    ----------
    curvature : float or array
        The largest curvature g > 0.
    momentum : float or array
        In [0, 1).

    Returns
    -------
    float or array
        Positive; to 2 ulp.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    The half-sum loss of a digit with ``|x|^2 = 784`` needs a rate below 0.0026:

    >>> round(learning_rate_limit(784.0), 6), round(learning_rate_limit(784.0, 0.9), 6)
    (0.002551, 0.004847)
    """
    who = "learning_rate_limit"
    g = _checks.positive(who, "curvature", curvature)
    out = rate_limit(g, checked_momentum(who, momentum))
    return _checks.like(curvature if np.ndim(curvature) else momentum, out)
