r"""Linear networks, where the minimum is known: ridge regression, in any depth.

With unit Frobenius norms ``|V_L ... V_1| <= 1``, so that ``rho >= |w|`` for the map w that
the network is: the least penalty on rho is that on w. Source: Poggio and Liao 2021,
footnote on linear networks; the minimiser and the path are ours.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import _checks
from theory._arrays import unscaled
from theory._decomposition import row_space
from theory.square_loss import _inputs, _passes
from theory.square_loss.networks import aligned_directions

Array = npt.NDArray[np.float64]
Weights = tuple[Array, ...]

EPS = float(np.finfo(np.float64).eps)


def ridge_solution(x: Any, y: Any, weight_decay: Any) -> Array:
    r"""Return the ridge solution, or the least-squares solution of least norm.

    .. math:: w = (X^T X + \lambda I)^{-1} X^T y = \sum_i
        \frac{s_i}{s_i^2 + \lambda}\, v_i u_i^T y, \qquad X = \sum_i s_i u_i v_i^T

    Parameters
    ----------
    x : array, shape (N, d)
        One input a row.
    y : array, shape (N,)
        Any targets.
    weight_decay : float
        ``lambda >= 0``; at 0 singular values below ``max(N, d) eps s_1`` count as 0.

    Returns
    -------
    array, shape (d,)

    Raises
    ------
    ValueError
        If lengths differ, an entry is not finite, or `weight_decay` is negative.

    Notes
    -----
    By singular values of X itself, never of its Gram matrix: error a few
    ``max(N, d) eps`` times ``kappa |w| + kappa^2 |y - X w| / s_1`` with ``kappa = s_1 /
    sqrt(s_min^2 + lambda)``, the error that perturbing X by eps would make.

    Examples
    --------
    >>> ridge_solution([[1.0, 0.0], [0.0, 0.5]], [1.0, 1.0], 0.25)
    array([0.8, 1. ])
    >>> ridge_solution([[1.0, 1.0]], [1.0], 0.0).round(15)
    array([0.5, 0.5])
    """
    who = "ridge_solution"
    rows, target = _design(who, x, y, "y")
    penalty = _checks.scalar(who, "weight_decay", weight_decay)
    u, s, v = row_space(rows)
    with np.errstate(over="ignore", invalid="ignore"):
        out = v @ _shrunk(s, np.asarray(penalty), rows.shape, target @ u)
    return _checks.result(who, out, "x", "y")


def linear_minimiser(
    x: Any, labels: Any, weight_decay: Any, widths: Sequence[int]
) -> tuple[float, Weights]:
    r"""Return a global minimiser among linear networks with unit-norm layers.

    .. math:: \rho\, V_L \cdots V_1 = w_{ridge}, \qquad \rho = \|w_{ridge}\|, \qquad
        V_k = v_k v_{k-1}^T

    Parameters
    ----------
    x : array, shape (N, d)
    labels : array, shape (N,)
        -1 and +1.
    weight_decay : float
        ``lambda >= 0``.
    widths : sequence of int
        ``n_1 .. n_{L-1}`` of the hidden layers; empty for one layer.

    Returns
    -------
    rho : float
    directions : tuple of array
        Rank one and aligned; hidden vectors have equal positive entries.

    Raises
    ------
    ValueError
        If an argument is outside its range, or ``X^T y = 0``, where the minimum is the
        zero map, which has no direction.

    Notes
    -----
    Accuracy of `ridge_solution`. No ReLU between the layers.

    Examples
    --------
    >>> rho, directions = linear_minimiser([[1.0, 0.0]], [1], 0.25, (3,))
    >>> round(rho, 12), (rho * directions[1] @ directions[0]).round(12)
    (0.8, array([[0.8, 0. ]]))
    """
    who = "linear_minimiser"
    rows, y = _design(who, x, _inputs.labels(who, labels), "labels")
    hidden = _checks.listed(who, "widths", widths, "the widths of the hidden layers")
    sizes = [_checks.integer(who, "widths", n, 1, 2**31) for n in hidden]
    penalty = _checks.scalar(who, "weight_decay", weight_decay)
    _refuse_uncorrelated(who, rows, y)
    w = ridge_solution(rows, y, penalty)
    rho = float(_passes.lengths(w))
    _refuse_zero(who, np.asarray(rho))
    return rho, aligned_directions([w, *(np.ones(n) for n in sizes), [1.0]])


@dataclass(frozen=True, eq=False)
class RegularisationPath:
    """Global minima of the linear problem over a grid of penalties.

    Attributes
    ----------
    weight_decay : array, shape (G,)
    rho : array, shape (G,)
        ``|w|``; never rises with the weight decay.
    alignment : array, shape (G,)
        ``B = sum y_n f_n``; never falls.
    energy : array, shape (G,)
        ``S = sum f_n^2``; never falls.
    """

    weight_decay: Array
    rho: Array
    alignment: Array
    energy: Array


def regularisation_path(x: Any, labels: Any, weight_decay: Any) -> RegularisationPath:
    r"""Return the norm and the sums S and B of the linear minimum along a grid.

    The minimal loss is concave in ``lambda`` with slope ``rho^2``, so that rho falls and
    B and S rise. True of global minima of any network; of other critical points it need
    not be. One decomposition serves the whole grid.

    Parameters
    ----------
    x : array, shape (N, d)
    labels : array, shape (N,)
        -1 and +1.
    weight_decay : array, shape (G,)
        ``lambda >= 0``.

    Returns
    -------
    RegularisationPath

    Raises
    ------
    ValueError
        If an argument is outside its range or ``X^T y = 0``.

    Notes
    -----
    Accuracy of `ridge_solution`. Source: ours, for Observation 2 of Poggio and Liao 2021.

    Examples
    --------
    >>> x = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]
    >>> path = regularisation_path(x, [1, 1, -1], [0.0, 0.1, 1.0, 10.0])
    >>> bool(np.all(np.diff(path.rho) < 0.0) and np.all(np.diff(path.alignment) > 0.0))
    True
    """
    who = "regularisation_path"
    rows, y = _design(who, x, _inputs.labels(who, labels), "labels")
    grid = np.atleast_1d(_checks.not_negative(who, "weight_decay", weight_decay))
    if grid.ndim != 1 or grid.size == 0:
        raise _checks.misshapen(who, "weight_decay", "be a list of numbers", grid)
    _refuse_uncorrelated(who, rows, y)
    u, s, _ = row_space(rows)
    along = y @ u
    with np.errstate(over="ignore"):
        w = _shrunk(s, grid[:, np.newaxis], rows.shape, along)
    rho = _passes.lengths(w)
    _refuse_zero(who, rho)
    with np.errstate(over="ignore", invalid="ignore"):
        fitted = s * (w / rho[:, np.newaxis])
        sums = fitted @ along, np.sum(fitted * fitted, axis=1)
    _checks.result(who, np.stack(sums), "x")
    return RegularisationPath(grid.copy(), rho, *sums)


def maximum_margin(x: Any, labels: Any) -> tuple[float, Array]:
    r"""Return the largest margin that a linear function of norm 1 has, and its direction.

    .. math:: \max_{\|w\|=1} \min_n y_n w^T x_n = \min_{\alpha\ge0,\,\sum\alpha=1}
        \Big\|\sum_n \alpha_n y_n x_n\Big\|

    the distance of the hull of the ``y_n x_n`` from zero: the support vector machine
    without offset. `linear_minimiser` without decay has it only among interpolators.

    Parameters
    ----------
    x : array, shape (N, d)
    labels : array, shape (N,)
        -1 and +1.

    Returns
    -------
    margin : float
        Positive.
    direction : array, shape (d,)
        Of norm 1; unique.

    Raises
    ------
    ValueError
        If an argument is outside its range, or the classes are not separable through
        zero with a margin above 1e-7 of the longest input.

    Notes
    -----
    Least distance programming by non-negative least squares (Lawson and Hanson 1974,
    chapter 23), an active-set method: relative error a few ``N eps`` over the margin.

    Examples
    --------
    The second point is not needed:

    >>> margin, w = maximum_margin([[1.0, 0.0], [2.0, 1.0], [0.0, -1.0]], [1, 1, -1])
    >>> round(margin, 12), w.round(12)
    (0.707106781187, array([0.70710678, 0.70710678]))
    """
    from scipy.optimize import nnls

    who = "maximum_margin"
    rows, y = _design(who, x, _inputs.labels(who, labels), "labels")
    parts, power = unscaled(rows)
    signed = parts * y[:, np.newaxis]
    target = np.append(np.zeros(rows.shape[1]), 1.0)
    dual, left = nnls(np.vstack([signed.T, np.ones(len(signed))]), target)
    hint = "The margin must exceed 1e-7 of the longest row of `x`; no offset is added."
    longest = float(np.linalg.norm(signed, axis=1).max())
    bad = left <= 1e-7 * longest
    _checks.reject(who, "labels", "be separable", bad, "classes that are not", hint)
    # The least w of margin 1 at the points that hold it: their weighted sum, which is
    # parallel to it, cancels to the order of the margin.
    held = signed[dual > 0.0]
    w = np.asarray(np.linalg.lstsq(held, np.ones(len(held)))[0], dtype=np.float64)
    w /= np.linalg.norm(w)
    return float(np.ldexp((signed @ w).min(), power.item())), w


def _refuse_uncorrelated(who: str, rows: Array, y: Array) -> None:
    """Refuse ``X^T y = 0``, which a decomposition would round to a direction."""
    signed = unscaled(rows)[0] * y[:, np.newaxis]
    noise = len(rows) * EPS * np.abs(signed).sum(axis=0)
    if np.all(np.abs(signed.sum(axis=0)) <= noise):
        _refuse_zero(who, np.asarray(max(abs(math.fsum(v)) for v in signed.T)))


def _refuse_zero(who: str, size: Array) -> None:
    need = "correlate with an input of `x` against `weight_decay`"
    hint = "The minimum is the zero map, and every direction attains it."
    _checks.reject(who, "labels", need, size == 0.0, "X^T y = 0", hint)


def _design(who: str, x: Any, y: Any, name: str) -> tuple[Array, Array]:
    rows = _checks.real(who, "x", x)
    if rows.ndim != 2 or rows.size == 0:
        raise _checks.misshapen(who, "x", "have shape (N, d)", rows)
    hint = f"`x` has shape {rows.shape}."
    return rows, _checks.shaped(who, name, y, (len(rows),), hint)


def _shrunk(s: Array, penalty: Array, shape: tuple[int, ...], along: Array) -> Array:
    """Return ``s a / (s^2 + lambda)``, 0 where s counts as zero."""
    least = max(shape) * EPS * s[0]
    kept = (s > 0.0) & ((penalty > 0.0) | (s > least))
    safe = np.where(kept, s, 1.0)
    # Not s / (s s + lambda): small s would underflow.
    whole = safe + penalty / safe
    # Where the quotient overflows s is below 1, and the penalty is all that counts.
    heavy = np.where(np.isinf(whole), penalty, 1.0)
    out = np.where(np.isinf(whole), safe * along / heavy, along / whole)
    return np.where(kept, out, 0.0)
