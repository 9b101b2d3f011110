r"""One linear layer trained on one example: what it predicts, at every step.

The layer is ``f(x) = W x`` with a square W, its target is its input. Source: Zhang,
Bengio, Hardt, Mozer, Singer 2020, Theorem 1, eq. (4) and appendix E.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._quadratic import Loss, curvature_pair
from theory.identity_map import _inputs
from theory.identity_map.descent import _left_after

Array = npt.NDArray[np.float64]


def one_layer_prediction(x: Any, x_train: Any, w0: Any) -> Array:
    r"""Return the output of the trained layer for a test input (Theorem 1).

    .. math:: f(x) = \Pi_\parallel x + W^0\,\Pi_\perp x, \qquad
        \Pi_\parallel x = \frac{\hat x^T x}{\|\hat x\|^2}\,\hat x

    The limit of gradient descent from W0, with or without momentum, by any loss that is
    a multiple of the squared error: along the training example the identity, across it
    still the initial weights.

    Parameters
    ----------
    x : array, shape (d,) or (..., d)
        Test inputs, one a row.
    x_train : array, shape (d,)
        The training example, not zero.
    w0 : array, shape (d, d)
        Initial weights.

    Returns
    -------
    array, shape of `x`

    Raises
    ------
    ValueError
        If shapes do not match, an entry is not finite, or `x_train` is zero.

    Notes
    -----
    Error at most ``4 d eps (1 + ||w0||_F) ||x||`` in norm.

    Examples
    --------
    >>> one_layer_prediction([[2.0, 2.0], [0.0, 1.0]], [1.0, 1.0], np.zeros((2, 2)))
    array([[2. , 2. ],
           [0.5, 0.5]])
    """
    who = "one_layer_prediction"
    _, unit = _inputs.direction(who, "x_train", x_train)
    rows = _rows(who, x, unit.size)
    w = _inputs.matrix(who, "w0", w0, unit.size, unit.size)
    with np.errstate(over="ignore", invalid="ignore"):
        along = np.multiply.outer(rows @ unit, unit)
        out = along + (rows - along) @ w.T
    return _checks.result(who, out, "x", "w0")


def one_layer_weights(
    x_train: Any,
    w0: Any,
    *,
    steps: Any = None,
    learning_rate: Any = None,
    momentum: Any = 0.0,
    loss: Loss = "half_sum",
) -> Array:
    r"""Return the weights after `steps` steps, or in the limit (Theorem 1, eq. 4).

    .. math:: W^t = W^0 + (1 - a_t)\,\frac{(I - W^0)\hat x\,\hat x^T}{\|\hat x\|^2}

    with ``a_t`` of `residual_factors`. The whole path lies on one line.

    Parameters
    ----------
    x_train, w0
        As in `one_layer_prediction`.
    steps : int or array of int, optional
        Steps of full-batch descent; the limit if left out.
    learning_rate : float or array, optional
        Needed with `steps`, against which it broadcasts. Without them it is only
        checked: from `learning_rate_limit` on there is no limit.
    momentum : float or array
        In [0, 1), broadcasts: ``b <- m b + gradient``, ``W <- W - rate b``.
    loss : {"half_sum", "mean"}
        ``|Wx - x|^2 / 2``, or the mean of the d squared errors.

    Returns
    -------
    array, shape (d, d), after the axes of `steps`, `learning_rate` and `momentum`

    Raises
    ------
    ValueError
        If shapes do not match, an entry is not finite, `x_train` is zero, momentum or
        the rate is outside its range, the rate is missing, the limit does not exist, or
        descent leaves float64.

    Notes
    -----
    The residual is ``(W^t - I) x_train = a_t (W^0 - I) x_train``. ``a_t`` is right to
    the last digits at any step, next to the limit of stability too, since the curvature
    keeps twice the digits. What is added to W0 has an error of at most ``(d + 8) eps
    (1 + ||W0||_F)`` in norm.

    Examples
    --------
    Half-way after one step of rate 1/2; a rate of 2 oscillates for ever:

    >>> one_layer_weights([1.0, 0.0], np.zeros((2, 2)), steps=1, learning_rate=0.5)
    array([[0.5, 0. ],
           [0. , 0. ]])
    >>> one_layer_weights([1.0, 0.0], np.zeros((2, 2)))[0, 0]
    np.float64(1.0)
    """
    who = "one_layer_weights"
    example, unit = _inputs.direction(who, "x_train", x_train)
    hint = "`x_train` has as many entries."
    w = _inputs.matrix(who, "w0", w0, unit.size, unit.size, hint)
    _checks.choice(who, "loss", loss, _inputs.LOSSES)
    g, low = curvature_pair(who, loss, example)
    left = _left_after(who, steps, learning_rate, momentum, g, low)
    # 1 - a_t is exact where it cancels.
    done = np.asarray(1.0 if left is None else (1.0 - left[0]) - left[1])
    with np.errstate(over="ignore", invalid="ignore"):
        change = np.outer(unit - w @ unit, unit)
        out = w + done[..., np.newaxis, np.newaxis] * change
    return _checks.result(who, out, "w0", "steps", "learning_rate")


def curvature(x_train: Any, *, loss: Loss = "half_sum") -> float:
    r"""Return the curvature ``g`` along the training example.

    ``|x|^2`` for the half-sum loss, ``2 |x|^2 / d`` for the mean loss: a standardised
    digit has g = 784 in the one case and 2 in the other, hence the rate 0.01 diverges in
    the one (limit 0.0026) and converges in the other (limit 1).

    Raises
    ------
    ValueError
        If `x_train` is zero or not finite, or the loss unknown.

    Examples
    --------
    >>> curvature([3.0, 4.0]), curvature([3.0, 4.0], loss="mean")
    (25.0, 25.0)
    """
    example, _ = _inputs.direction("curvature", "x_train", x_train)
    _checks.choice("curvature", "loss", loss, _inputs.LOSSES)
    return curvature_pair("curvature", loss, example)[0]


def orthogonal_prediction(x: Any, x_train: Any, w0: Any) -> Array:
    r"""Return the first layer's output on inputs orthogonal to the training example.

    .. math:: W^t x = W^0 x \quad\text{for all } t, \text{ if } \hat x^T x = 0

    True at every step and whatever is above: a network's gradient in its first layer is
    ``u x_train^T``, so that training never moves what an orthogonal input sees
    (appendix E). Training only the first layer therefore leaves the whole output.

    Parameters
    ----------
    x : array, shape (d,) or (..., d)
        Inputs with ``|cos(x, x_train)| <= 8 sqrt(d) eps``.
    x_train : array, shape (d,)
    w0 : array, shape (h, d)
        Initial weights of the first layer.

    Returns
    -------
    array, shape (..., h)

    Raises
    ------
    ValueError
        If an input is not orthogonal to `x_train`, which must not be zero.

    Examples
    --------
    >>> orthogonal_prediction([0.0, 2.0], [1.0, 0.0], [[5.0, 7.0]])
    array([14.])
    """
    who = "orthogonal_prediction"
    _, unit = _inputs.direction(who, "x_train", x_train)
    rows = _rows(who, x, unit.size)
    w = _inputs.matrix(who, "w0", w0, None, unit.size)
    part, _ = _inputs.scaled(rows)
    size = np.linalg.norm(part, axis=-1)
    cosine = np.abs(part @ unit) / np.where(size == 0.0, 1.0, size)
    most = 8.0 * math.sqrt(unit.size) * np.finfo(np.float64).eps
    _checks.reject(
        who,
        "x",
        "be orthogonal to `x_train`",
        cosine > most,
        cosine,
        "These are cosines; for other inputs use `one_layer_prediction`.",
    )
    with np.errstate(over="ignore", invalid="ignore"):
        return _checks.result(who, rows @ w.T, "x", "w0")


@dataclass(frozen=True)
class Moments:
    """Mean and variance of one output over the initial weights."""

    mean: float
    variance: float


def orthogonal_law(x: Any, scale: float) -> Moments:
    r"""Return the law of each output pixel for an orthogonal input: a normal law.

    .. math:: (W^0 x)_i \sim N(0, s^2 \|x\|^2), \quad\text{independent over } i

    for weights of standard deviation ``s = scale``, independent and normal (ID-Thm1).

    Raises
    ------
    ValueError
        If `x` is no finite vector or `scale` is not positive.

    Examples
    --------
    >>> orthogonal_law([3.0, 4.0], 0.1)
    Moments(mean=0.0, variance=0.25)
    """
    who = "orthogonal_law"
    return Moments(0.0, _deviation(who, x, scale) ** 2)


def two_layer_orthogonal_law(x: Any, scale: float, readout: Any) -> Moments:
    r"""Return mean and variance of ``alpha^T ReLU(W^t x)`` for an orthogonal input.

    .. math:: E f = \frac{s\|x\|}{\sqrt{2\pi}}\sum_i\alpha_i, \qquad
        \operatorname{Var} f = s^2\|x\|^2\Big(\frac12 - \frac1{2\pi}\Big)\sum_i\alpha_i^2

    over W0 with independent entries N(0, s^2); the readout alpha is fixed and only W is
    trained, at any step t (appendix E, eq. 16; the moments are ours).

    Raises
    ------
    ValueError
        If an argument is not finite or `scale` is not positive.

    Examples
    --------
    >>> two_layer_orthogonal_law([3.0, 4.0], 1.0, [1.0, -1.0]).mean
    0.0
    """
    who = "two_layer_orthogonal_law"
    size = _deviation(who, x, scale)
    alpha = _checks.vector(who, "readout", readout, 1)
    _small(who, "readout", "max(1, `scale` |x|) |readout|", max(1.0, size), alpha)
    spread = 0.5 - 0.5 / math.pi
    return Moments(
        size / math.sqrt(2.0 * math.pi) * math.fsum(alpha),
        spread * math.fsum((size * alpha) ** 2),
    )


def _deviation(who: str, x: Any, scale: Any) -> float:
    s = _checks.scalar(who, "scale", scale, positive=True)
    return _small(who, "x", "`scale` |x|", s, _checks.vector(who, "x", x, 1))


def _small(who: str, name: str, what: str, factor: float, x: Array) -> float:
    """Return ``factor |x|``, whose square must be a float."""
    part, power = _inputs.scaled(x)
    with np.errstate(over="ignore"):
        out = float(np.ldexp(factor * np.linalg.norm(part), power))
    _checks.reject(who, name, f"keep {what} at most 1e150", out > 1e150, out, "")
    return out


def _rows(who: str, x: Any, size: int) -> Array:
    rows = _checks.real(who, "x", x)
    if rows.ndim == 0 or rows.shape[-1] != size:
        raise ValueError(
            f"{who}: `x` must have shape (..., {size}), as `x_train` has {size}"
            f" entries, got {rows.shape}."
        )
    return rows
