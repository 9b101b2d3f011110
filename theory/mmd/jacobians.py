r"""Jacobians of the logits at every layer: the recursion, their loss and random weights.

For a fully connected ReLU network ``x_{l+1} = W_{l+1} relu(x_l) + b_{l+1}`` (the input
x_0 enters without ReLU) with logits x_L, rows of ``J_l = d x_L / d x_l`` measure how much
a class hears of layer l. Source: Lee and Cho 2023, section 3.2.2, Theorem 3; the variance,
the chain and Xavier's case are ours.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory.mmd import _inputs

Array = npt.NDArray[np.float64]

Start = Literal["he", "xavier"]

STARTS = ("he", "xavier")


@dataclass(frozen=True)
class RowMoments:
    """Mean and variance of the squared norm of a row of a Jacobian."""

    mean: float
    variance: float


def jacobian_row_moments(
    inputs: int, weight_variance: float | None = None, *, active: float = 0.5
) -> RowMoments:
    r"""Return the moments of ``|W_k 1(x > 0)|^2`` for one layer (Theorem 3).

    For independent ``W_kj ~ N(0, sigma^2)`` and units that are on with probability q,

    .. math:: E = n q \sigma^2, \qquad \mathrm{Var} = n \sigma^4 (3q - q^2)

    which are 1 and exactly ``5 / n`` for He's ``sigma^2 = 2 / n`` and q = 1/2.

    Parameters
    ----------
    inputs : int
        n, the units that feed the row.
    weight_variance : float, optional
        sigma^2 > 0; ``2 / n`` if left out.
    active : float
        q, in [0, 1]; 1 for the first layer, which no ReLU masks.

    Returns
    -------
    RowMoments
        To a few eps.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    The theorem prints the norm of the matrix times the mask, which is a vector of norm
    ``sqrt(n_out)``, and means this row.

    Examples
    --------
    >>> jacobian_row_moments(400)
    RowMoments(mean=1.0, variance=0.0125)
    """
    who = "jacobian_row_moments"
    n = _checks.integer(who, "inputs", inputs, 1)
    share = _checks.number(who, "active", active, 0.0, 1.0) + 0.0  # -0.0 is 0
    # n sigma^2 first: 2 / n times n would round.
    total = 2.0
    if weight_variance is not None:
        name = "weight_variance"
        total = n * _checks.scalar(who, name, weight_variance, positive=True)
    # One factor behind the quotient: the square alone may leave float64.
    variance = share * (3.0 - share) * total / n * total
    _checks.result(who, variance, "weight_variance")
    return RowMoments(share * total, variance)


def jacobian_chain(
    widths: Sequence[int],
    start: Start | Literal["minimum"] = "he",
    *,
    noise: float = 0.0,
) -> Array:
    r"""Return the mean squared row norms of ``J_0, ..., J_{L-1}`` at random weights.

    .. math:: E\|J_l^{(i)}\|^2 = \prod_{k=l+1}^{L} n_{k-1} q_{k-1} \sigma_k^2, \qquad
        q_0 = 1,\; q_k = \tfrac12

    with ``sigma_k^2 = 2 / n_{k-1}`` (He) or ``2 / (n_{k-1} + n_k)`` (Xavier, normal), to
    which noise of `noise_rule` adds ``s^2 / n_{k-1}``. At the minimum of the loss every
    product is 1 before noise, in the mean.

    Parameters
    ----------
    widths : sequence of int
        Inputs, hidden layers and classes.
    start : {"he", "xavier", "minimum"}
    noise : float
        ``s^2 >= 0``.

    Returns
    -------
    array, shape (L,)
        From the input on. He gives 1 everywhere but 2 at the input, which no ReLU masks.

    Raises
    ------
    ValueError
        If there are fewer than 2 classes, a width is not a positive whole number or the
        start unknown.

    Notes
    -----
    Exact for zero biases and masks independent of the weights that follow, each unit on
    half of the time; an eps of rounding a layer.

    Examples
    --------
    >>> jacobian_chain((784, 392, 392, 392, 2))
    array([2., 1., 1., 1.])
    >>> jacobian_chain((784, 392, 392, 392, 2), "xavier").round(5).tolist()
    [0.33164, 0.24873, 0.49746, 0.99492]
    >>> jacobian_chain((784, 392, 392, 392, 2), "minimum", noise=0.5).round(5).tolist()
    [2.92969, 1.95312, 1.5625, 1.25]
    """
    return _chain("jacobian_chain", widths, start, noise)


def _chain(who: str, widths: Sequence[int], start: str, noise: float = 0.0) -> Array:
    sizes = _inputs.widths(who, widths)
    rule = _checks.choice(who, "start", start, (*STARTS, "minimum"))
    s2 = _checks.scalar(who, "noise", noise)
    factors: list[float] = []
    for k, (before, after) in enumerate(itertools.pairwise(sizes)):
        total = 2.0 * before / (before + after) if rule == "xavier" else 2.0
        if rule == "minimum" and k == 0:
            total = 1.0
        factors.append((total + s2) if k == 0 else 0.5 * (total + s2))
    backwards = np.array(factors[::-1], dtype=np.float64)
    with np.errstate(over="ignore"):
        out = np.cumprod(backwards, dtype=np.float64)[::-1].copy()
    return np.asarray(_checks.result(who, out, "noise"))


def detachment_limit(widths: Sequence[int], start: Start = "he") -> float:
    r"""Return the limit of L_iod at random weights of a wide network.

    .. math:: \max_l \Big(1 - \sqrt{E\|J_l^{(i)}\|^2}\Big)^2

    Parameters
    ----------
    widths, start
        As in `jacobian_chain`.

    Returns
    -------
    float
        ``(sqrt(2) - 1)^2`` for He, from the input alone.

    Raises
    ------
    ValueError
        As `jacobian_chain` does.

    Examples
    --------
    >>> sizes = (784, 392, 392, 392, 2)
    >>> round(detachment_limit(sizes), 5), round(detachment_limit(sizes, "xavier"), 5)
    (0.17157, 0.25127)
    """
    _checks.choice("detachment_limit", "start", start, STARTS)
    means = _chain("detachment_limit", widths, start)
    return float(np.max((1.0 - np.sqrt(means)) ** 2))


def layer_jacobians(
    weights: Sequence[Any], biases: Sequence[Any], x: Any
) -> tuple[Array, ...]:
    r"""Return the Jacobians of the logits at the input and at every hidden layer.

    .. math:: J_{L-1} = W_L D_{L-1}, \qquad J_{l-1} = (J_l W_l) D_{l-1}, \qquad D_0 = I

    with ``D_l = diag 1(x_l > 0)`` for hidden layers; J_l includes D_l.

    Parameters
    ----------
    weights : sequence of arrays, shapes (n_k, n_{k-1})
        First layer first; the last has as many rows as there are classes.
    biases : sequence of arrays, shapes (n_k,)
    x : array, shape (inputs, n_0)
        One input a row.

    Returns
    -------
    tuple of arrays, shapes (inputs, classes, n_l)
        For l = 0, ..., L - 1. At a kink of ReLU its slope is 0, as in PyTorch.

    Raises
    ------
    ValueError
        If shapes do not follow on each other, an entry is not finite, or there are fewer
        than 2 classes.

    Examples
    --------
    The second of two hidden units is off:

    >>> w = [[[1.0], [-1.0]], [[2.0, 3.0], [4.0, 5.0]]]
    >>> j = layer_jacobians(w, [[0.0, 0.0], [0.0, 0.0]], [[1.0]])
    >>> j[0][0].tolist(), j[1][0].tolist()
    ([[2.0], [4.0]], [[2.0, 0.0], [4.0, 0.0]])
    """
    who = "layer_jacobians"
    layers, shifts, rows = _network(who, weights, biases, x)
    masks: list[Array] = []
    with np.errstate(over="ignore", invalid="ignore"):
        for w, b in zip(layers[:-1], shifts[:-1], strict=True):
            rows = _checks.result(who, rows @ w.T + b, "weights", "biases", "x")
            masks.append((rows > 0.0).astype(np.float64))
            rows = rows * masks[-1]
        found = [np.broadcast_to(layers[-1], (len(rows), *layers[-1].shape)).copy()]
        for w, mask in zip(layers[-2::-1], masks[::-1], strict=True):
            found[-1] = found[-1] * mask[:, np.newaxis, :]
            found.append(_checks.result(who, found[-1] @ w, "weights"))
    return tuple(found[::-1])


def detachment_loss(jacobians: Sequence[Any]) -> float:
    r"""Return L_iod, how far row norms of the Jacobians are from 1 (eq. 22).

    .. math:: E_x\, \frac1d \sum_i \max_l \big(1 - \|J_l^{(i)}(x)\|\big)^2

    Parameters
    ----------
    jacobians : sequence of arrays, shapes (inputs, classes, n_l)
        Those of `layer_jacobians`.

    Returns
    -------
    float
        At least 0; 0 if and only if every row has norm 1.

    Raises
    ------
    ValueError
        If there are none, their first axes differ, one is empty, an entry is not finite
        or there are fewer than 2 classes.

    Examples
    --------
    A network that does not hear its input has loss 1:

    >>> detachment_loss([np.zeros((1, 2, 3)), np.eye(2)[np.newaxis]])
    1.0
    """
    who = "detachment_loss"
    parts = _arrays(who, "jacobians", jacobians)
    shapes = [j.shape for j in parts]
    if not parts or any(
        len(s) != 3 or 0 in s or s[:2] != shapes[0][:2] for s in shapes
    ):
        raise ValueError(
            f"{who}: `jacobians` must have shapes (inputs, classes, n_l) with none of them"
            f" 0, got {shapes}."
        )
    if shapes[0][1] < 2:
        raise ValueError(
            f"{who}: `jacobians` must have at least 2 classes, got {shapes[0][1]}."
        )
    with np.errstate(over="ignore"):
        gaps = [(1.0 - np.linalg.norm(j, axis=-1)) ** 2 for j in parts]
    _checks.result(who, np.max(gaps, axis=0), "jacobians")
    return math.fsum(np.max(gaps, axis=0).ravel()) / gaps[0].size


def _network(
    who: str, weights: Any, biases: Any, x: Any
) -> tuple[list[Array], list[Array], Array]:
    layers = _arrays(who, "weights", weights)
    shifts = _arrays(who, "biases", biases)
    rows = _checks.real(who, "x", x)
    if rows.ndim != 2 or rows.size == 0:
        raise _checks.misshapen(who, "x", "have shape (inputs, n_0)", rows)
    if not layers or len(shifts) != len(layers):
        raise ValueError(
            f"{who}: `biases` must have one entry a layer, got {len(shifts)} for"
            f" {len(layers)} layers in `weights`."
        )
    before = rows.shape[1]
    for k, (w, b) in enumerate(zip(layers, shifts, strict=True)):
        if w.ndim != 2 or w.shape[1] != before or w.size == 0:
            raise ValueError(
                f"{who}: `weights[{k}]` must have shape (n, {before}), got {w.shape}."
                " The network must be fully connected, first layer first, and `x` as"
                " wide as its inputs."
            )
        if b.shape != (len(w),):
            raise ValueError(
                f"{who}: `biases[{k}]` must have shape ({len(w)},), got {b.shape}."
            )
        before = len(w)
    if before < 2:
        raise ValueError(f"{who}: `weights` must end in at least 2 classes, got 1.")
    return layers, shifts, rows


def _arrays(who: str, name: str, value: Any) -> list[Array]:
    entries = _checks.listed(who, name, value, "one array a layer")
    return [_checks.real(who, f"{name}[{k}]", entry) for k, entry in enumerate(entries)]
